/* SPDX-License-Identifier: MIT */
/* Parts of values that a block of a streamed group needs, and which of them it computes itself. */
#ifndef WNN_PLAN_STREAM_PARTS_H
#define WNN_PLAN_STREAM_PARTS_H

#include "plan/stream/stream.h"

/* Nodes of a group, as indices in the range, in order. */
struct stream_set {
	uint32_t node[STREAM_MAX_NODES], num;
};

const struct ir_node *stream_node(const struct plan *plan, uint32_t n);
bool stream_in_range(const struct plan *plan, const struct ir_node *node);
/* Whether the value lies inside of the group alone. */
bool stream_is_internal(const struct plan *plan, const struct stream_set *set,
			const struct ir_value *value);
/* Which node of the set makes an internal value. */
uint32_t stream_index(const struct plan *plan, const struct stream_set *set,
		      const struct ir_value *value);

/*
 * From the part of the last result back to those of all others; false when an operator cannot be cut so.
 * With @before, the parts of the block before, rows that it has are not computed again.
 */
bool stream_find_parts(const struct plan *plan, const struct stream_set *set,
		       const struct box *last, const struct stream_part *before,
		       struct stream_part *parts);

#endif
