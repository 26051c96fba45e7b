// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Jobs: positions of entries in the ring, impossible completion pages and indices, and detection of
 * jobs without progress.
 */
#include "fake.h"

struct job_test {
	struct onpu_device *onpu;
	struct onpu_vm vm;
	struct onpu_ctx ctx;
	struct onpu_ring_job ring[ONPU_RING_SIZE];
	struct onpu_completion page;
};

static int job_init(struct kunit *test)
{
	struct job_test *t;
	int ret = fake_init_with(test, sizeof(*t));

	if (ret)
		return ret;
	t = test->priv;
	t->ctx.onpu = t->onpu;
	t->ctx.vm = &t->vm;
	t->vm.onpu = t->onpu;
	t->ctx.ring.vaddr = t->ring;
	t->ctx.page.vaddr = &t->page;
	t->ctx.timeout = HZ;
	spin_lock_init(&t->ctx.lock);
	INIT_LIST_HEAD(&t->ctx.jobs);
	INIT_LIST_HEAD(&t->ctx.queued);
	INIT_LIST_HEAD(&t->ctx.runnable);
	return 0;
}

/*
 * Writes a job of @count entries, of which the hardware has taken @taken before, and returns
 * whether the others are in the ring from @tail on, and nothing else is.
 */
static bool entries_are_written(struct job_test *t, u32 tail, u32 count, u32 taken)
{
	struct onpu_job *job = kzalloc(struct_size(job, entries, count), GFP_KERNEL);
	unsigned int in_place = 0, others = 0;

	if (!job)
		return false;
	job->count = count;
	job->taken = taken;
	for (u32 i = 0; i < count; i++)
		job->entries[i].seqno = 1000 + i;
	memset(t->ring, 0, sizeof(t->ring));
	t->ctx.tail = tail;
	write_entries(&t->ctx, job);
	kfree(job);
	for (u32 i = taken; i < count; i++)
		in_place += t->ring[((u64)tail + i - taken) % ONPU_RING_SIZE].seqno == 1000 + i;
	for (u32 i = 0; i < ONPU_RING_SIZE; i++)
		others += !!t->ring[i].seqno;
	return in_place == count - taken && others == in_place &&
	       t->ctx.tail == tail + count - taken;
}

static void ring(struct kunit *test)
{
	const u32 tails[] = { 0, 1, ONPU_RING_SIZE - 1, ONPU_RING_SIZE, 1000, U32_MAX - 5,
			      U32_MAX };
	const u32 counts[] = { 1, 2, 5, ONPU_RING_SIZE - 1, ONPU_RING_SIZE };

	for (unsigned int i = 0; i < ARRAY_SIZE(tails) * ARRAY_SIZE(counts); i++) {
		u32 tail = tails[i % ARRAY_SIZE(tails)], count = counts[i / ARRAY_SIZE(tails)];

		for (u32 taken = 0; taken <= count; taken += 1 + count / 3)
			KUNIT_EXPECT_TRUE(test,
					  entries_are_written(test->priv, tail, count, taken));
	}
}

/*
 * Sets up a state: the hardware has got ten jobs, five of them have ended, and the first job in its
 * present ring was the fourth.
 */
static void begin(struct job_test *t)
{
	t->ctx.queue = 0;
	t->ctx.before = 3;
	t->ctx.fed = 10;
	t->ctx.completed = 5;
	t->ctx.in_ring = 5;
	t->page = (struct onpu_completion) { .seqno = 5 };
}

/*
 * Tests which indices of the hardware are possible: it may have taken the jobs that have ended, and
 * at most one more.
 */
static void what_the_hardware_says_to_have_taken(struct kunit *test)
{
	struct job_test *t = test->priv;

	for (u32 head = 0; head < 20; head++) {
		bool possible;

		begin(t);
		scoped_guard(spinlock, &t->ctx.lock)
			possible = onpu_job_unfeed(&t->ctx, head);
		KUNIT_EXPECT_EQ(test, possible, head == 2 || head == 3);
		if (possible) {
			KUNIT_EXPECT_EQ(test, t->ctx.resume, head == 3);
			KUNIT_EXPECT_EQ(test, t->ctx.fed, 5);
		} else {
			KUNIT_EXPECT_EQ(test, t->ctx.fed, 10);
		}
	}
	begin(t);
	scoped_guard(spinlock, &t->ctx.lock)
		KUNIT_EXPECT_FALSE(test, onpu_job_unfeed(&t->ctx, U32_MAX));
}

static void a_page_that_cannot_be(struct kunit *test)
{
	const u64 numbers[] = { 0, 4, 5, 6, 10, 11, BIT_ULL(32) + 6, BIT_ULL(63), U64_MAX };
	struct job_test *t = test->priv;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		bool possible = numbers[i] > 5 && numbers[i] <= 10;

		begin(t);
		t->page.seqno = numbers[i];
		scoped_guard(spinlock, &t->ctx.lock)
			onpu_job_reap(&t->ctx);
		KUNIT_EXPECT_EQ(test, t->ctx.completed, possible ? numbers[i] : 5);
		KUNIT_EXPECT_FALSE(test, t->ctx.dead);
	}
}

/* ---- hangs */

static void set_state(struct job_test *t, unsigned int queue, u32 state)
{
	fake_set(t->onpu, ONPU_REG_QUEUE_STATE(queue), state);
}

/* Sets the times of the last progress to this long ago. */
static void ago(struct job_test *t, unsigned long when, unsigned long moved)
{
	t->ctx.progress.when = jiffies - when;
	t->ctx.progress.moved = jiffies - moved;
}

/* Expects that the last of @checks checks finds a hang, and the earlier ones find none. */
static void check_until_it_hangs(struct kunit *test, unsigned int checks)
{
	struct job_test *t = test->priv;

	for (unsigned int i = 1; i < checks; i++)
		KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	KUNIT_EXPECT_TRUE(test, onpu_job_hangs(&t->ctx));
}

static void begin_running(struct job_test *t)
{
	begin(t);
	t->ctx.progress = (struct onpu_progress) { .completed = 5 };
	fake_set(t->onpu, ONPU_REG_QUEUE_RETIRED_LO(0), 0);
	fake_set(t->onpu, ONPU_REG_QUEUE_RUN_CYCLES_LO(0), 0);
	set_state(t, 0, ONPU_QUEUE_RUNNING);
	ago(t, 2 * HZ, 2 * HZ);
}

/* Tests that a hang needs both: time without progress, and a number of checks within it. */
static void no_progress(struct kunit *test)
{
	struct job_test *t = test->priv;

	begin_running(t);
	check_until_it_hangs(test, HANG_CHECKS);
	begin_running(t);
	ago(t, 0, 0);
	for (unsigned int i = 0; i < 3 * HANG_CHECKS; i++) {
		/* Without time between the checks, even many of them find no hang. */
		t->ctx.progress.when = jiffies;
		KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	}
	ago(t, HZ, HZ);
	check_until_it_hangs(test, 1);
}

static void each_kind_of_progress(struct kunit *test)
{
	const u32 regs[] = { ONPU_REG_QUEUE_RETIRED_LO(0), ONPU_REG_QUEUE_RETIRED_LO(0) + 4,
			     ONPU_REG_QUEUE_RUN_CYCLES_LO(0), ONPU_REG_QUEUE_RUN_CYCLES_LO(0) + 4 };
	struct job_test *t = test->priv;

	for (unsigned int i = 0; i <= ARRAY_SIZE(regs); i++) {
		begin_running(t);
		for (unsigned int k = 1; k < HANG_CHECKS; k++)
			KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
		if (i < ARRAY_SIZE(regs))
			fake_set(t->onpu, regs[i], 7 + i);
		else
			t->ctx.completed++;
		KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
		/* Any progress starts time and checks anew. */
		ago(t, 2 * HZ, 2 * HZ);
		check_until_it_hangs(test, HANG_CHECKS);
		if (i < ARRAY_SIZE(regs))
			fake_set(t->onpu, regs[i], 0);
	}
}

/* A job that the device has not begun does not hang, unless it waits for too long. */
static void others_run(struct kunit *test)
{
	struct job_test *t = test->priv;

	begin_running(t);
	set_state(t, 0, ONPU_QUEUE_READY);
	set_state(t, 3, ONPU_QUEUE_RUNNING);
	for (unsigned int i = 0; i < 3 * HANG_CHECKS; i++)
		KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	ago(t, 0, t->onpu->limits.wait + 1);
	check_until_it_hangs(test, 1);
	/* A job hangs when its queue is ready and no other queue runs. */
	set_state(t, 3, ONPU_QUEUE_READY);
	begin_running(t);
	set_state(t, 0, ONPU_QUEUE_READY);
	check_until_it_hangs(test, HANG_CHECKS);
	/*
	 * Without a queue, a job hangs only when it has waited for longer than the limit of waits.
	 */
	begin_running(t);
	t->ctx.queue = -1;
	ago(t, 0, t->onpu->limits.wait + 1);
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	list_add(&t->vm.link, &t->ctx.runnable);
	check_until_it_hangs(test, 1);
	ago(t, 2 * HZ, t->onpu->limits.wait / 2);
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	list_del_init(&t->vm.link);
}

static bool is_overdue(struct onpu_ctx *ctx)
{
	guard(spinlock)(&ctx->lock);
	return onpu_job_overdue(ctx);
}

/*
 * A job that has been ready for longer than the limit of fences counts as hanging, even when it
 * makes progress, unless its context is for long work.
 */
static void a_fence_waits_for_long(struct kunit *test)
{
	struct job_test *t = test->priv;
	struct onpu_job *job = kzalloc(struct_size(job, entries, 1), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, job);
	list_add(&job->link, &t->ctx.jobs);
	begin_running(t);
	ago(t, 0, 0);
	job->ready = jiffies - t->onpu->limits.fence / 2;
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	job->ready = jiffies - t->onpu->limits.fence - 1;
	for (unsigned int i = 0; i < 3; i++) {
		fake_set(t->onpu, ONPU_REG_QUEUE_RETIRED_LO(0), 7 + i);
		KUNIT_EXPECT_TRUE(test, onpu_job_hangs(&t->ctx));
		KUNIT_EXPECT_TRUE(test, is_overdue(&t->ctx));
	}
	t->ctx.long_running = true;
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	/* The time counts without a queue, too. */
	t->ctx.queue = -1;
	list_add(&t->vm.link, &t->ctx.runnable);
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	t->ctx.long_running = false;
	KUNIT_EXPECT_TRUE(test, onpu_job_hangs(&t->ctx));
	list_del_init(&t->vm.link);
	list_del(&job->link);
	kfree(job);
}

/* A job that waits for fences is not overdue, whatever the time when it became ready says. */
static void what_waits_is_not_overdue(struct kunit *test)
{
	struct job_test *t = test->priv;
	struct onpu_job *job = kzalloc(struct_size(job, entries, 1), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, job);
	job->ready = jiffies - t->onpu->limits.fence - 1;
	list_add(&job->link, &t->ctx.jobs);
	list_add(&job->next, &t->ctx.queued);
	KUNIT_EXPECT_FALSE(test, is_overdue(&t->ctx));
	list_move(&job->next, &t->ctx.runnable);
	KUNIT_EXPECT_TRUE(test, is_overdue(&t->ctx));
	list_del(&job->next);
	KUNIT_EXPECT_TRUE(test, is_overdue(&t->ctx));
	list_del(&job->link);
	kfree(job);
}

static void what_never_hangs(struct kunit *test)
{
	struct job_test *t = test->priv;

	begin_running(t);
	t->ctx.progress.checks = HANG_CHECKS;
	t->ctx.dead = true;
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	t->ctx.dead = false;
	t->onpu->ctx->stopped = true;
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	t->onpu->ctx->stopped = false;
	t->ctx.fed = t->ctx.completed;
	KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
	t->ctx.fed = 10;
	check_until_it_hangs(test, 1);
}

/* Jobs that are fed after one that hangs do not count as progress. */
static void jobs_that_follow_hide_nothing(struct kunit *test)
{
	struct job_test *t = test->priv;
	struct onpu_job *job = kzalloc(struct_size(job, entries, 1), GFP_KERNEL);
	unsigned long when;

	KUNIT_ASSERT_TRUE(test, job);
	/* A job is already running, so the heartbeat is not started. */
	t->onpu->usage.running = 1;
	begin_running(t);
	for (unsigned int i = 1; i < HANG_CHECKS; i++) {
		KUNIT_EXPECT_FALSE(test, onpu_job_hangs(&t->ctx));
		job->count = 1;
		job->seqno = 10 + i;
		when = t->ctx.progress.when;
		scoped_guard(spinlock, &t->ctx.lock) {
			list_add(&job->next, &t->ctx.runnable);
			onpu_job_feed(&t->ctx);
		}
		KUNIT_EXPECT_EQ(test, t->ctx.fed, job->seqno);
		KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_DOORBELL_TAIL(0)), t->ctx.tail);
		KUNIT_EXPECT_EQ(test, t->ctx.progress.when, when);
	}
	KUNIT_EXPECT_TRUE(test, onpu_job_hangs(&t->ctx));
	/* The first job after a pause has the whole time. */
	t->ctx.completed = t->ctx.fed;
	t->ctx.in_ring = 0;
	ago(t, 2 * HZ, 2 * HZ);
	job->seqno++;
	scoped_guard(spinlock, &t->ctx.lock) {
		list_add(&job->next, &t->ctx.runnable);
		onpu_job_feed(&t->ctx);
	}
	KUNIT_EXPECT_EQ(test, t->ctx.progress.checks, 0);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, t->ctx.progress.when + HZ));
	kfree(job);
}

/*
 * Tests that a dump has the entries of the jobs that the hardware has, also those that the ring no
 * longer has because an earlier queue has taken them.
 */
static void what_a_dump_has_of_the_ring(struct kunit *test)
{
	struct job_test *t = test->priv;
	struct onpu_ring_job entries[4] = {};
	struct onpu_job *jobs[3];

	t->ctx.completed = 3;
	t->ctx.fed = 7;
	for (u32 i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = kzalloc(struct_size(jobs[i], entries, 2), GFP_KERNEL);
		KUNIT_ASSERT_TRUE(test, jobs[i]);
		jobs[i]->count = 2;
		jobs[i]->seqno = 5 + 2 * i;
		for (u32 k = 0; k < 2; k++)
			jobs[i]->entries[k].seqno = jobs[i]->seqno - 1 + k;
		list_add_tail(&jobs[i]->link, &t->ctx.jobs);
	}
	guard(spinlock)(&t->ctx.lock);
	onpu_job_fed(&t->ctx, entries, 3);
	for (u32 i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, entries[i].seqno, i < 3 ? 4 + i : 0);
	onpu_job_fed(&t->ctx, entries, 4);
	KUNIT_EXPECT_EQ(test, entries[3].seqno, 7);
	/* The hardware does not have the later jobs. */
	memset(entries, 0, sizeof(entries));
	t->ctx.fed = 5;
	onpu_job_fed(&t->ctx, entries, 4);
	KUNIT_EXPECT_EQ(test, entries[1].seqno, 5);
	KUNIT_EXPECT_EQ(test, entries[2].seqno, 0);
	for (u32 i = 0; i < ARRAY_SIZE(jobs); i++) {
		list_del(&jobs[i]->link);
		kfree(jobs[i]);
	}
}

static struct kunit_case job_cases[] = {
	KUNIT_CASE(ring),
	KUNIT_CASE(what_the_hardware_says_to_have_taken),
	KUNIT_CASE(a_page_that_cannot_be),
	KUNIT_CASE(no_progress),
	KUNIT_CASE(each_kind_of_progress),
	KUNIT_CASE(others_run),
	KUNIT_CASE(a_fence_waits_for_long),
	KUNIT_CASE(what_waits_is_not_overdue),
	KUNIT_CASE(what_never_hangs),
	KUNIT_CASE(jobs_that_follow_hide_nothing),
	KUNIT_CASE(what_a_dump_has_of_the_ring),
	{}
};

struct kunit_suite onpu_job_suite = {
	.name = "onpu_job",
	.init = job_init,
	.exit = fake_exit_with,
	.test_cases = job_cases,
};
