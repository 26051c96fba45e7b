/* SPDX-License-Identifier: MIT */
/* Which instructions must follow which: from the bytes that they touch. */
#ifndef WNN_PLAN_DEPEND_H
#define WNN_PLAN_DEPEND_H

#include "plan/list/plan.h"

struct depend_edge {
	uint32_t from, to;
	bool data; /* `to` reads what `from` writes, and does not only overwrite it */
};

struct depend_graph {
	struct depend_edge *edges; /* sorted by `to` */
	size_t num_edges;
};

/*
 * depend_find - find what each instruction of a list must follow
 * @ops: the list, in an order that is right, without preemption points
 * @graph: takes the edges, between indexes in @ops; released with depend_release() in every case
 *
 * Edges that follow from others may be missing. Returns 0, or -1 when memory is exhausted.
 */
int depend_find(const struct plan *plan, const struct plan_op *ops, uint32_t count,
		struct depend_graph *graph);
void depend_release(struct depend_graph *graph);

#endif
