// SPDX-License-Identifier: MIT
/*
 * Decides which engine waits for which. Each engine executes in order, so one number per engine,
 * the last instruction known to have ended, is all that an engine knows of another (a vector
 * clock). After it waits for an instruction, an engine knows what that instruction's engine knew.
 */
#include "plan/list/hazards.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

/*
 * By engine, the last instruction that is known to have ended. Instructions are numbered from 1
 * here; 0 is "none".
 */
struct clock {
	uint32_t seen[ONPU_ENG_COUNT];
};

struct plan_hazards {
	size_t first;	      /* the instruction after the last preemption point */
	struct clock *clocks; /* by instruction: what its engine knows when it has ended */
	size_t cap_clocks;
	struct clock known[ONPU_ENG_COUNT]; /* by engine: what it knows now */
};

struct plan_hazards *hazards_create(void)
{
	return wnn_calloc(1, sizeof(struct plan_hazards));
}

void hazards_destroy(struct plan_hazards *hazards)
{
	if (!hazards)
		return;
	wnn_free(hazards->clocks);
	wnn_free(hazards);
}

void hazards_reset(struct plan_hazards *hazards)
{
	hazards->first = 0;
	memset(hazards->known, 0, sizeof(hazards->known));
}

void hazards_pause(struct plan_hazards *hazards, size_t op)
{
	hazards->first = op + 1;
}

void hazards_find(const struct plan_hazards *hazards, const struct plan_op *ops,
		  const struct plan_depend *depend, uint32_t op, uint32_t need[ONPU_ENG_COUNT])
{
	size_t count;
	const struct depend_edge *edges = depend_edges(depend, op, &count);

	memset(need, 0, ONPU_ENG_COUNT * sizeof(*need));
	for (size_t e = 0; e < count; e++) {
		uint32_t from = edges[e].from, *last = &need[ops[from].engine];

		if (from >= hazards->first && from + 1 > *last)
			*last = from + 1;
	}
}

/* Sets clock->seen[] of each engine to the larger one of both clocks. */
static void learn(struct clock *clock, const struct clock *from)
{
	for (int e = 0; e < ONPU_ENG_COUNT; e++)
		if (from->seen[e] > clock->seen[e])
			clock->seen[e] = from->seen[e];
}

/*
 * Sets *waits to the engines that `engine` must wait for, and after[] to their instructions.
 * Chooses waits for the latest instructions first: their engines have themselves waited for many
 * earlier instructions, for which no further wait is necessary then. Returns 0, or -1 when out of
 * memory.
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
