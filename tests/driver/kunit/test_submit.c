// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compares the checks of SUBMIT's arguments with arithmetic that cannot overflow, and tests its
 * groups of jobs.
 */
#include "fake.h"

static u64 edge(struct rnd_state *random)
{
	const u64 edges[] = { 0, 16, 32, 128, SZ_1M, BIT_ULL(31), BIT_ULL(32), BIT_ULL(37),
			      BIT_ULL(38), BIT_ULL(63), U64_MAX };
	u64 number = edges[prandom_u32_state(random) % ARRAY_SIZE(edges)];

	switch (prandom_u32_state(random) % 4) {
	case 0:
		return number - 16 * (prandom_u32_state(random) % 9);
	case 1:
		return number + 128 * (prandom_u32_state(random) % 3);
	case 2:
		return number + prandom_u32_state(random) % 33;
	default:
		return number;
	}
}

/* Returns a number that is aligned most of the time. */
static u64 aligned(struct rnd_state *random, u64 align)
{
	return round_down(edge(random), prandom_u32_state(random) % 8 ? align : 1);
}

static bool within(u64 va, u128 size, u64 align, u64 limit)
{
	return !(va & (align - 1)) && va < limit && va + size <= limit;
}

static bool job_is_good(const struct drm_onpu_job *job, u64 limit)
{
	const u32 record = sizeof(struct onpu_profile_record);
	bool profile = job->profile_va || job->profile_size;

	if (job->flags || job->instr_count == 0 || job->slot_count == 0 ||
	    job->slot_count > ONPU_MAX_SLOTS)
		return false;
	if (profile && (!job->profile_va || !job->profile_size || job->profile_size % record))
		return false;
	return within(job->program_va, (u128)job->instr_count * 16, 16, limit) &&
	       within(job->slots_va, (u128)job->slot_count * ONPU_SLOT_SIZE,
		      ONPU_SLOT_SIZE, limit) &&
	       (!profile || within(job->profile_va, job->profile_size, record, limit));
}

static void jobs(struct kunit *test)
{
	const u64 limit = BIT_ULL(37);
	unsigned int good = 0;
	struct rnd_state random;

	prandom_seed_state(&random, FAKE_SEED);
	for (unsigned int i = 0; i < 200000; i++) {
		bool profile = prandom_u32_state(&random) % 2;
		struct drm_onpu_job job = {
			.program_va = aligned(&random, 16),
			.slots_va = aligned(&random, 128),
			.instr_count = edge(&random) % (profile ? 64 : U32_MAX),
			.slot_count = edge(&random) % (ONPU_MAX_SLOTS + 2),
			.profile_va = profile ? round_down(edge(&random), 32) : 0,
			.profile_size = profile ? edge(&random) : 0,
			.flags = prandom_u32_state(&random) % 16 == 0,
		};
		bool wanted = job_is_good(&job, limit);

		KUNIT_ASSERT_EQ(test, job_ok(&job, limit), wanted);
		good += wanted;
	}
	/* Both accepted and refused arguments were tested. */
	KUNIT_EXPECT_TRUE(test, good > 1000);
	KUNIT_EXPECT_TRUE(test, good < 199000);
}

/* Tries each value of the flags; a point is allowed for a timeline only. */
static void syncs(struct kunit *test)
{
	for (unsigned int flags = 0; flags < 64; flags++) {
		for (u64 point = 0; point < 3; point++) {
			struct drm_onpu_sync sync = { .handle = 1, .flags = flags, .point = point };
			bool one = (flags & 3) == 1 || (flags & 3) == 2;
			bool wanted = one && flags < 8 && (flags >= 4) == (point > 0);

			KUNIT_EXPECT_EQ(test, sync_ok(&sync), wanted);
		}
	}
}

/*
 * Returns whether exactly @count jobs from @first on must be one group: only its first job may wait
 * and only its last one may signal, and the next job cannot join. @kinds has the flags of each
 * job's sync, 0: none.
 */
static bool is_group(const u32 *kinds, u32 num_jobs, u32 first, u32 count)
{
	u32 end = first + count;

	for (u32 i = first; i < end; i++) {
		if (i > first && kinds[i] & DRM_ONPU_SYNC_WAIT)
			return false;
		if (i < end - 1 && kinds[i] & DRM_ONPU_SYNC_SIGNAL)
			return false;
	}
	return end == num_jobs || kinds[end - 1] & DRM_ONPU_SYNC_SIGNAL ||
	       kinds[end] & DRM_ONPU_SYNC_WAIT;
}

/* Some jobs have a sync, which waits or signals; others have none. */
static void groups(struct kunit *test)
{
	struct drm_onpu_job some[16] = {};
	struct drm_onpu_sync their[16];
	struct onpu_submit submit = { .jobs = some, .num_jobs = ARRAY_SIZE(some) };
	struct rnd_state random;
	u32 kinds[16];

	prandom_seed_state(&random, FAKE_SEED);
	for (unsigned int round = 0; round < 2000; round++) {
		const struct drm_onpu_sync *sync = their;
		u32 num_syncs = 0;

		for (u32 i = 0; i < submit.num_jobs; i++) {
			kinds[i] = prandom_u32_state(&random) % 3;
			some[i].syncs.count = !!kinds[i];
			if (kinds[i])
				their[num_syncs++] = (struct drm_onpu_sync) { .flags = kinds[i] };
		}
		for (u32 first = 0, count; first < submit.num_jobs; first += count) {
			count = group_size(&submit, first, sync);
			KUNIT_ASSERT_TRUE(test, count && first + count <= submit.num_jobs);
			KUNIT_ASSERT_TRUE(test, is_group(kinds, submit.num_jobs, first, count));
			for (u32 i = first; i < first + count; i++)
				sync += some[i].syncs.count;
		}
	}
}

static struct kunit_case submit_cases[] = {
	KUNIT_CASE(jobs),
	KUNIT_CASE(syncs),
	KUNIT_CASE(groups),
	{}
};

struct kunit_suite onpu_submit_suite = {
	.name = "onpu_submit",
	.test_cases = submit_cases,
};
