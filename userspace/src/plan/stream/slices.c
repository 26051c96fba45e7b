// SPDX-License-Identifier: MIT
/*
 * Computes the slices of all results of a group that a block needs, from the slice of the last
 * result backwards.
 */
#include "plan/stream/slices.h"

#include <string.h>

const struct ir_node *stream_node(const struct plan *plan, uint32_t n)
{
	return plan->graph->nodes[plan->first + n];
}

bool stream_in_range(const struct plan *plan, const struct ir_node *node)
{
	return node && node->id >= plan->first && node->id < plan->first + plan->count;
}

static bool contains(const struct stream_set *set, uint32_t n)
{
	for (uint32_t i = 0; i < set->num; i++)
		if (set->node[i] == n)
			return true;
	return false;
}

bool stream_is_internal(const struct plan *plan, const struct stream_set *set,
			const struct ir_value *value)
{
	return stream_in_range(plan, value->def) && contains(set, value->def->id - plan->first) &&
	       value != stream_node(plan, set->node[set->num - 1])->results[0];
}

uint32_t stream_index(const struct plan *plan, const struct stream_set *set,
		      const struct ir_value *value)
{
	uint32_t n = value->def->id - plan->first, i = 0;

	while (set->node[i] != n)
		i++;
	return i;
}

/*
 * Returns the new rows of a slice that begins inside the slice `before` and ends after its end; or
 * the whole slice, when the two do not overlap in this way along exactly one axis.
 */
static struct box without(const struct box *slice, const struct box *before, uint32_t rank)
{
	struct box fresh = *slice;
	uint32_t axis = rank;
	int64_t end;

	for (uint32_t i = 0; i < rank; i++) {
		if (slice->begin[i] == before->begin[i] && slice->dim[i] == before->dim[i])
			continue;
		if (axis != rank)
			return fresh;
		axis = i;
	}
	if (axis == rank || slice->begin[axis] < before->begin[axis])
		return fresh;
	end = before->begin[axis] + before->dim[axis];
	if (slice->begin[axis] >= end || slice->begin[axis] + slice->dim[axis] <= end)
		return fresh;
	fresh.begin[axis] = end;
	fresh.dim[axis] = slice->begin[axis] + slice->dim[axis] - end;
	return fresh;
}

bool stream_find_slices(const struct plan *plan, const struct stream_set *set,
			const struct box *last, const struct stream_slice *before,
			struct stream_slice *slices)
{
	bool used[STREAM_MAX_NODES] = { false };

	slices[set->num - 1].need = *last;
	used[set->num - 1] = true;
	for (uint32_t i = set->num; i-- > 0;) {
		const struct ir_node *node = stream_node(plan, set->node[i]);
		struct stream_slice *slice = &slices[i];

		if (!used[i])
			return false;
		slice->fresh = slice->need;
		if (before && i + 1 < set->num)
			slice->fresh =
				without(&slice->need, &before[i].need, node->results[0]->type.rank);
		for (uint32_t k = 0; k < node->num_operands; k++) {
			const struct ir_value *value = node->operands[k];
			struct box want;
			uint32_t at;

			if (!value)
				continue;
			if (!box_operand(node, k, &slice->fresh, &want))
				return false;
			if (!stream_is_internal(plan, set, value))
				continue;
			at = stream_index(plan, set, value);
			slices[at].need =
				used[at] ? box_union(&slices[at].need, &want, value->type.rank) :
					   want;
			used[at] = true;
		}
	}
	return true;
}

/* Sets *box to block number `block` of a result, in row-major order. */
static void block_at(const struct ir_type *type, const int64_t *size, uint64_t block,
		     struct box *box)
{
	*box = (struct box){ { 0 }, { 0 } };
	for (uint32_t i = type->rank; i-- > 0;) {
		int64_t whole = ir_type_dim(type, i), at;
		uint64_t count = wnn_div_up((uint64_t)whole, (uint64_t)size[i]);

		at = (int64_t)(block % count) * size[i];
		block /= count;
		box->begin[i] = at;
		box->dim[i] = whole - at < size[i] ? whole - at : size[i];
	}
}

uint64_t stream_steps(const struct stream_group *group)
{
	return group->keys ? group->num_blocks * group->keys : group->num_blocks;
}

bool stream_slices(const struct plan *plan, const struct stream_group *group, uint64_t block,
		   const struct stream_slice *before, struct stream_slice *slices)
{
	struct stream_set set = { .num = group->num_nodes };
	uint32_t keys = group->keys ? group->keys : 1;
	struct box last;

	memcpy(set.node, group->nodes, set.num * sizeof(*set.node));
	block_at(&stream_node(plan, set.node[set.num - 1])->results[0]->type, group->block,
		 block / keys, &last);
	if (group->keys)
		return stream_is_attention(plan, &set) &&
		       stream_attend_slices(plan, &set, &last, keys, (uint32_t)(block % keys),
					    slices);
	return stream_find_slices(plan, &set, &last, group->carry ? before : NULL, slices);
}
