// SPDX-License-Identifier: MIT
/*
 * Dependencies between instructions. For every byte of SRAM and memory this remembers who wrote it
 * last and who read it since. Engines are in order, so one number per engine, the last instruction
 * known to have ended, says all that an engine knows; waiting for an instruction teaches what that
 * one knew.
 */
#include "plan/list/hazards.h"
#include "plan/list/plan.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

/* Instructions are numbered from 1 here; 0 is "none". */
struct interval {
	int64_t lo, hi;
	uint32_t writer;
	uint8_t writer_engine;
	uint32_t reader[ONPU_ENG_COUNT];
};

struct clock {
	uint32_t seen[ONPU_ENG_COUNT];
};

struct plan_hazards {
	struct interval *list; /* sorted, disjoint; bytes that are in none were not touched */
	size_t count, cap;
	struct clock *clocks; /* of every instruction, at its end */
	size_t cap_clocks;
	struct clock known[ONPU_ENG_COUNT];
};

struct plan_hazards *hazards_create(void)
{
	return wnn_calloc(1, sizeof(struct plan_hazards));
}

void hazards_destroy(struct plan_hazards *hazards)
{
	if (!hazards)
		return;
	wnn_free(hazards->list);
	wnn_free(hazards->clocks);
	wnn_free(hazards);
}

void hazards_forget(struct plan_hazards *hazards)
{
	hazards->count = 0;
}

/* First interval that ends above `at`. */
static size_t find(const struct plan_hazards *hazards, int64_t at)
{
	size_t lo = 0, hi = hazards->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (hazards->list[mid].hi <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert(struct plan_hazards *hazards, size_t at, const struct interval *interval)
{
	if (wnn_array_reserve(&hazards->list, &hazards->cap, hazards->count + 1,
			      sizeof(*hazards->list)))
		return -1;
	memmove(hazards->list + at + 1, hazards->list + at,
		(hazards->count - at) * sizeof(*hazards->list));
	hazards->list[at] = *interval;
	hazards->count++;
	return 0;
}

static void erase(struct plan_hazards *hazards, size_t at, size_t count)
{
	memmove(hazards->list + at, hazards->list + at + count,
		(hazards->count - at - count) * sizeof(*hazards->list));
	hazards->count -= count;
}

/* Makes `at` a border between intervals. */
static int split(struct plan_hazards *hazards, int64_t at)
{
	size_t i = find(hazards, at);
	struct interval upper;

	if (i == hazards->count || hazards->list[i].lo >= at)
		return 0;
	upper = hazards->list[i];
	upper.lo = at;
	hazards->list[i].hi = at;
	return insert(hazards, i + 1, &upper);
}

static void need_op(uint32_t need[ONPU_ENG_COUNT], uint8_t engine, uint32_t op)
{
	if (op > need[engine])
		need[engine] = op;
}

/* What the access must wait for, before the interval list changes. */
static void collect(const struct plan_hazards *hazards, int64_t lo, int64_t hi, bool write,
		    uint32_t need[ONPU_ENG_COUNT])
{
	for (size_t i = find(hazards, lo); i < hazards->count && hazards->list[i].lo < hi; i++) {
		const struct interval *interval = &hazards->list[i];

		need_op(need, interval->writer_engine, interval->writer);
		for (uint8_t e = 0; write && e < ONPU_ENG_COUNT; e++)
			need_op(need, e, interval->reader[e]);
	}
}

static int record_write(struct plan_hazards *hazards, int64_t lo, int64_t hi, uint8_t engine,
			uint32_t op)
{
	struct interval fresh = { .lo = lo, .hi = hi, .writer = op, .writer_engine = engine };
	size_t first = find(hazards, lo), last = first;

	while (last < hazards->count && hazards->list[last].lo < hi)
		last++;
	if (last > first) {
		hazards->list[first] = fresh;
		erase(hazards, first + 1, last - first - 1);
		return 0;
	}
	return insert(hazards, first, &fresh);
}

static int record_read(struct plan_hazards *hazards, int64_t lo, int64_t hi, uint8_t engine,
		       uint32_t op)
{
	int64_t at = lo;
	size_t i = find(hazards, lo);

	/* Bytes that nobody touched yet get an interval of their own. */
	for (; at < hi; i++) {
		struct interval gap = { .lo = at, .hi = hi };

		if (i < hazards->count && hazards->list[i].lo < hi)
			gap.hi = hazards->list[i].lo;
		if (gap.hi > at) {
			if (insert(hazards, i, &gap))
				return -1;
		}
		hazards->list[i].reader[engine] = op;
		at = hazards->list[i].hi;
	}
	return 0;
}

static int record(struct plan_hazards *hazards, const struct hazard_access *access, uint8_t engine,
		  uint32_t op)
{
	int64_t lo = hazard_key(access) + access->lo, hi = hazard_key(access) + access->hi;

	if (split(hazards, lo) || split(hazards, hi))
		return -1;
	if (access->write)
		return record_write(hazards, lo, hi, engine, op);
	return record_read(hazards, lo, hi, engine, op);
}

static void learn(struct clock *clock, const struct clock *from)
{
	for (int e = 0; e < ONPU_ENG_COUNT; e++)
		if (from->seen[e] > clock->seen[e])
			clock->seen[e] = from->seen[e];
}

void hazards_find(const struct plan_hazards *hazards, const struct hazard_access *access,
		  uint32_t count, uint32_t need[ONPU_ENG_COUNT])
{
	memset(need, 0, ONPU_ENG_COUNT * sizeof(*need));
	for (uint32_t i = 0; i < count; i++)
		collect(hazards, hazard_key(&access[i]) + access[i].lo,
			hazard_key(&access[i]) + access[i].hi, access[i].write, need);
}

/*
 * Waits for the latest instructions first: their engines had waited themselves for much of what is left, which need
 * not be waited for again.
 */
int hazards_wait(struct plan_hazards *hazards, uint8_t engine, size_t op,
		 const uint32_t need[ONPU_ENG_COUNT], uint8_t *waits, size_t after[ONPU_ENG_COUNT])
{
	struct clock *known = &hazards->known[engine];

	if (wnn_array_reserve(&hazards->clocks, &hazards->cap_clocks, op + 1,
			      sizeof(*hazards->clocks)))
		return -1;
	*waits = 0;
	for (;;) {
		int best = -1;

		for (int e = 0; e < ONPU_ENG_COUNT; e++)
			if (e != engine && need[e] > known->seen[e] &&
			    (best < 0 || need[e] > need[best]))
				best = e;
		if (best < 0)
			break;
		*waits |= 1u << best;
		after[best] = need[best] - 1;
		learn(known, &hazards->clocks[need[best] - 1]);
	}
	known->seen[engine] = op + 1;
	hazards->clocks[op] = *known;
	return 0;
}

int hazards_record(struct plan_hazards *hazards, uint8_t engine, size_t op,
		   const struct hazard_access *access, uint32_t count)
{
	/* Reads first: a write of the same bytes by the same instruction then stands for both. */
	for (int write = 0; write < 2; write++)
		for (uint32_t i = 0; i < count; i++)
			if (access[i].write == (bool)write &&
			    record(hazards, &access[i], engine, op + 1))
				return -1;
	return 0;
}
