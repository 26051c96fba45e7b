// SPDX-License-Identifier: MIT
/*
 * Chooses the memory of each value of a range: constants are among the constants of the program,
 * values that enter or leave the range are bindings, and other values are in the arena. Results of
 * reshapes, identities, slices, transposes and expands, and operands of a concat share the memory
 * of another value, so that these nodes need no instructions. plan_locate() calls
 * values_locate() before any node is lowered.
 */
#include "plan/operators.h"
#include "plan/place/values.h"
#include "util/malloc.h"

#include <string.h>

void values_destroy(struct plan_values *values)
{
	if (!values)
		return;
	wnn_free(values->location);
	wnn_free(values->scratch);
	wnn_free(values->fused);
	wnn_free(values->bindings);
	wnn_free(values->resident);
	wnn_free(values->node_base);
	wnn_free(values);
}

const struct npu_binding *values_bindings(const struct plan *plan, uint32_t *count)
{
	*count = plan->values->num_bindings;
	return plan->values->bindings;
}

uint64_t values_arena_bytes(const struct plan *plan)
{
	return plan->values->arena_bytes;
}

uint64_t values_scratch(const struct plan *plan)
{
	return plan->values->scratch[plan->report.node];
}

static void dense_strides(const struct ir_type *type, int64_t *stride)
{
	int64_t bytes = plan_dtype_bytes(plan_dtype(type->dtype));

	for (uint32_t i = type->rank; i-- > 0;) {
		stride[i] = bytes;
		bytes *= ir_type_dim(type, i);
	}
}

/* Makes a value a binding of the program. */
static void bind(struct plan *plan, const struct ir_value *value, bool written)
{
	struct plan_values *values = plan->values;
	struct value_location *location = &values->location[value->id];

	if (plan_grow(plan, &values->bindings, &values->cap_bindings, values->num_bindings + 1,
		      sizeof(*values->bindings)))
		return;
	location->base = NPU_BASE_VALUE;
	location->binding = values->num_bindings;
	values->bindings[values->num_bindings++] = (struct npu_binding){
		.value_id = value->id,
		.bytes = ir_type_bytes(&value->type),
		.written = written,
	};
}

/*
 * Notes that a node uses (or with `defined`, defines) a value; at the first use, chooses the kind
 * of its memory.
 */
static void introduce(struct plan *plan, const struct ir_value *value, uint32_t node, bool defined)
{
	struct value_location *location = &plan->values->location[value->id];

	if (!location->used) {
		location->used = true;
		location->parent = NO_PARENT;
		location->begin = node;
		location->bytes = (uint64_t)ir_type_bytes(&value->type);
		dense_strides(&value->type, location->stride);
		if (value->kind == IR_VALUE_CONSTANT)
			location->base = NPU_BASE_CONST;
		else if (!defined || location->live_out)
			bind(plan, value, defined);
		else
			location->base = NPU_BASE_ARENA;
	}
	location->end = node;
}

uint32_t values_root(const struct plan *plan, uint32_t id)
{
	while (plan->values->location[id].parent != NO_PARENT)
		id = plan->values->location[id].parent;
	return id;
}

/* Makes `child` a view into the memory of `parent`, from byte `offset` on. */
static void attach(struct plan *plan, const struct ir_value *child, const struct ir_value *parent,
		   int64_t offset)
{
	struct value_location *c = &plan->values->location[child->id];

	c->parent = parent->id;
	c->offset = offset;
}

/* Returns true if a value has memory in the arena and is no view of another one. */
static bool in_arena(const struct plan *plan, const struct ir_value *value)
{
	const struct value_location *location = &plan->values->location[value->id];

	return location->used && location->parent == NO_PARENT && location->base == NPU_BASE_ARENA;
}

static bool moves_only(enum ir_op op)
{
	return op == IR_OP_RESHAPE || op == IR_OP_COPY;
}

/* Returns false for reshapes, copies, slices and pads, which can only copy to dense buffers. */
bool values_writes_strided(const struct ir_node *node)
{
	return !moves_only(node->op) && node->op != IR_OP_SLICE && node->op != IR_OP_PAD;
}

static void set_strides(struct value_location *location, uint32_t rank, const int64_t *stride)
{
	memcpy(location->stride, stride, rank * sizeof(*stride));
	location->strided = true;
}

/*
 * Makes operands of a concat views into the result, so that their nodes write there. Called for the
 * last node first, so that the result of a nested concat has its strides already.
 */
static void attach_concat(struct plan *plan, const struct ir_node *node)
{
	struct value_location *result = &plan->values->location[node->results[0]->id];
	int64_t at = 0;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];
		bool once = true;

		for (uint32_t j = 0; j < node->num_operands; j++)
			once &= j == i || node->operands[j] != value;
		if (once && in_arena(plan, value) && !plan->values->location[value->id].strided &&
		    value->def && values_writes_strided(value->def)) {
			attach(plan, value, node->results[0], at);
			set_strides(&plan->values->location[value->id], value->type.rank,
				    result->stride);
		}
		at += ir_type_dim(&value->type, node->attrs.axis) *
		      result->stride[node->attrs.axis];
	}
}

/* Makes the result of a reshape or identity, and its operand, share memory if both are dense. */
static void attach_reshape(struct plan *plan, const struct ir_node *node)
{
	const struct ir_value *from = node->operands[0], *to = node->results[0];
	struct value_location *f = &plan->values->location[from->id],
			      *t = &plan->values->location[to->id];

	if (f->strided || t->strided)
		return;
	if (in_arena(plan, to))
		attach(plan, to, from, 0);
	else if (t->base == NPU_BASE_VALUE && t->parent == NO_PARENT && in_arena(plan, from))
		attach(plan, from, to, 0);
}

/* Makes the result of a slice a view into its operand. */
static void attach_slice(struct plan *plan, const struct ir_node *node)
{
	const struct ir_value *from = node->operands[0], *to = node->results[0];
	const struct ir_slice_attrs *slice = &node->attrs.slice;
	struct value_location *f = &plan->values->location[from->id],
			      *t = &plan->values->location[to->id];
	int64_t stride[IR_MAX_RANK], offset = 0;

	if (!in_arena(plan, to) || t->strided)
		return;
	for (uint32_t i = 0; i < from->type.rank; i++) {
		offset += slice->starts[i] * f->stride[i];
		stride[i] = f->stride[i] * slice->strides[i];
	}
	attach(plan, to, from, offset);
	set_strides(t, to->type.rank, stride);
}

/*
 * Makes the operand of a transpose a view into the result, if only the transpose uses the operand
 * and the operand's node can write it with any strides; otherwise makes the result a view of the
 * operand.
 */
static void attach_transpose(struct plan *plan, const struct ir_node *node)
{
	const struct ir_value *from = node->operands[0], *to = node->results[0];
	struct value_location *f = &plan->values->location[from->id],
			      *t = &plan->values->location[to->id];
	const uint32_t *perm = node->attrs.transpose.perm;
	bool back = in_arena(plan, from) && !f->strided && f->uses == 1 && from->def &&
		    plan_operators[from->def->op].tiles;
	int64_t stride[IR_MAX_RANK];

	if (!back && (!in_arena(plan, to) || t->strided))
		return;
	for (uint32_t i = 0; i < to->type.rank; i++) {
		if (back)
			stride[perm[i]] = t->stride[i];
		else
			stride[i] = f->stride[perm[i]];
	}
	attach(plan, back ? from : to, back ? to : from, 0);
	set_strides(back ? f : t, to->type.rank, stride);
}

/* Makes the result of an expand a view of its operand, with stride 0 along broadcast dims. */
static void attach_expand(struct plan *plan, const struct ir_node *node)
{
	const struct ir_value *from = node->operands[0], *to = node->results[0];
	struct value_location *f = &plan->values->location[from->id],
			      *t = &plan->values->location[to->id];
	uint32_t lead = to->type.rank - from->type.rank;
	int64_t stride[IR_MAX_RANK] = { 0 };

	if (!in_arena(plan, to) || t->strided)
		return;
	for (uint32_t i = lead; i < to->type.rank; i++)
		if (ir_type_dim(&from->type, i - lead) == ir_type_dim(&to->type, i))
			stride[i] = f->stride[i - lead];
	attach(plan, to, from, 0);
	set_strides(t, to->type.rank, stride);
}

/* ---- convolutions that are computed with the addition after them */

/* Returns true if a scale and a zero point are for all elements. */
static bool is_whole(struct ir_value *const *scale_and_zero)
{
	return ir_type_elements(&scale_and_zero[0]->type) == 1 &&
	       ir_type_elements(&scale_and_zero[1]->type) == 1;
}

/*
 * Returns the other operand of an addition to `sum`, if the convolution that computes `sum` can do
 * the addition; otherwise NULL.
 */
static const struct ir_value *other_addend(const struct ir_node *add, const struct ir_value *sum)
{
	uint32_t second = add->op == IR_OP_QBINARY ? 3 : 1;
	const struct ir_value *other;

	if ((add->op != IR_OP_BINARY && add->op != IR_OP_QBINARY) ||
	    add->attrs.binary.kind != IR_ADD)
		return NULL;
	other = add->operands[add->operands[0] == sum ? second : 0];
	if (other == sum || (add->operands[0] != sum && add->operands[second] != sum) ||
	    !ir_type_same_shape(&other->type, &sum->type) ||
	    !ir_type_same_shape(&sum->type, &add->results[0]->type))
		return NULL;
	if (add->op == IR_OP_BINARY)
		return other->type.dtype == IR_F32 ? other : NULL;
	return is_whole(&add->operands[1]) && is_whole(&add->operands[4]) &&
			       is_whole(&add->operands[6]) ?
		       other :
		       NULL;
}

/*
 * Returns true if a convolution can be fused with the addition after it without a change of bits:
 * its result is float32, which a store would not change, or integers, to which it is rounded before
 * the addition.
 */
static bool may_fuse(const struct plan *plan, const struct ir_node *conv, const struct ir_node *add)
{
	const struct value_location *location = &plan->values->location[conv->results[0]->id];
	int act = conv->attrs.conv.act.kind;

	if (location->uses != 1 || location->live_out || !other_addend(add, conv->results[0]))
		return false;
	if (conv->op == IR_OP_QCONV)
		return add->op == IR_OP_QBINARY && !conv->attrs.conv.transposed;
	return conv->op == IR_OP_CONV && add->op == IR_OP_BINARY && !conv->attrs.conv.transposed &&
	       (act == IR_UNARY_NONE || ir_unary_is_gate(act)) &&
	       conv->results[0]->type.dtype == IR_F32;
}

/* Extends the live ranges of a node's operands to node `when`. */
static void read_later(struct plan *plan, const struct ir_node *node, uint32_t when)
{
	for (uint32_t i = 0; i < node->num_operands; i++) {
		struct value_location *location =
			node->operands[i] ? &plan->values->location[node->operands[i]->id] : NULL;

		if (location && location->end < when)
			location->end = when;
	}
}

static void find_fused(struct plan *plan)
{
	uint32_t *fused = plan->values->fused;

	for (uint32_t i = 0; i < plan->count; i++)
		fused[i] = NOT_FUSED;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *add = plan->graph->nodes[plan->first + i];

		for (uint32_t k = 0; k < add->num_operands && fused[i] == NOT_FUSED; k++) {
			const struct ir_value *sum = add->operands[k];
			uint32_t at = sum && sum->def ? sum->def->id - plan->first : NOT_FUSED;

			if (at >= i || !may_fuse(plan, sum->def, add))
				continue;
			fused[i] = at;
			fused[at] = i;
			read_later(plan, sum->def, i);
		}
	}
}

uint32_t values_fused(const struct plan *plan, uint32_t node)
{
	return plan->values->fused[node];
}

/* Makes the result of a fused convolution a view of the addition's result. */
static void attach_fused(struct plan *plan, uint32_t conv)
{
	const struct ir_value *sum = plan->graph->nodes[plan->first + conv]->results[0];
	uint32_t add = plan->values->fused[conv];
	const struct ir_value *result = plan->graph->nodes[plan->first + add]->results[0];

	attach(plan, sum, result, 0);
	set_strides(&plan->values->location[sum->id], sum->type.rank,
		    plan->values->location[result->id].stride);
}

/* Makes the results of scatters that update an input in place views of their operands. */
static void attach_updates(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		if (ir_updates_in_place(node))
			attach(plan, node->results[0], node->operands[0], 0);
	}
}

/* Notes that the program writes the bindings that it updates in place. */
static void note_updates(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];
		const struct value_location *root;

		if (!ir_updates_in_place(node))
			continue;
		root = &plan->values->location[values_root(plan, node->results[0]->id)];
		if (root->base == NPU_BASE_VALUE)
			plan->values->bindings[root->binding].written = true;
	}
}

static void attach_all(struct plan *plan)
{
	/* Updates are first: nothing else may move their results to other memory. */
	attach_updates(plan);
	for (uint32_t i = plan->count; i-- > 0;) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		if (node->op == IR_OP_CONCAT && !values_in_slices(plan, node->results[0]))
			attach_concat(plan, node);
	}
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		if (moves_only(node->op))
			attach_reshape(plan, node);
		else if (node->op == IR_OP_SLICE)
			attach_slice(plan, node);
		else if (node->op == IR_OP_TRANSPOSE)
			attach_transpose(plan, node);
		else if (node->op == IR_OP_EXPAND)
			attach_expand(plan, node);
	}
	/* Fused convolutions are last, when the strides of all results are known. */
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->values->fused[i] != NOT_FUSED && plan->values->fused[i] > i)
			attach_fused(plan, i);
}

/* Returns the bytes of scratch memory that a node needs. */
static uint64_t scratch_bytes(const struct ir_node *node)
{
	const struct plan_operator *operator= & plan_operators[node->op];

	return operator->scratch ? operator->scratch(node) : 0;
}

/*
 * Lists the live range of each node's scratch memory; with `placed`, stores the offsets that
 * memory_pack() found instead. Returns the number of live ranges.
 */
static uint32_t pack_scratch(struct plan *plan, struct memory_interval *intervals, bool placed)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		uint64_t bytes = scratch_bytes(plan->graph->nodes[plan->first + i]);

		if (!bytes)
			continue;
		if (placed)
			plan->values->scratch[i] = intervals[count].offset;
		else
			intervals[count] =
				(struct memory_interval){ .bytes = bytes, .begin = i, .end = i };
		count++;
	}
	return count;
}

/* Extends the live ranges of roots to those of all their views. */
static void extend_roots(struct plan *plan)
{
	struct plan_values *values = plan->values;

	for (uint32_t id = 0; id < plan->graph->num_values; id++) {
		struct value_location *location = &values->location[id], *root;

		if (!location->used)
			continue;
		root = &values->location[values_root(plan, id)];
		if (location->begin < root->begin)
			root->begin = location->begin;
		if (location->end > root->end)
			root->end = location->end;
	}
}

/*
 * Undoes attach_all(): each value of the arena has memory of its own again. Values that stay in
 * SRAM are left alone.
 */
static void detach_all(struct plan *plan)
{
	for (uint32_t id = 0; id < plan->graph->num_values; id++) {
		struct value_location *location = &plan->values->location[id];

		if (!location->used || location->base != NPU_BASE_ARENA)
			continue;
		location->parent = NO_PARENT;
		location->offset = 0;
		location->strided = false;
		dense_strides(&plan->graph->values[id]->type, location->stride);
	}
}

/*
 * Chooses the offsets of values and scratch memory in the arena. Returns 0, or -1 when out of
 * memory.
 */
static int pack_arena(struct plan *plan)
{
	struct plan_values *values = plan->values;
	uint32_t num = plan->graph->num_values, count = 0, first_scratch;
	struct memory_interval *intervals =
		wnn_calloc((size_t)num + plan->count + 1, sizeof(*intervals));
	uint32_t *index = wnn_calloc(num + 1, sizeof(*index));
	int ret = intervals && index ? 0 : -1;

	for (uint32_t id = 0; !ret && id < num; id++) {
		struct value_location *location = &values->location[id];

		if (!location->used || location->in_slices || location->parent != NO_PARENT ||
		    location->base != NPU_BASE_ARENA)
			continue;
		index[id] = count;
		intervals[count++] = (struct memory_interval){
			.bytes = ir_type_bytes(&plan->graph->values[id]->type),
			.begin = location->begin,
			.end = location->end,
		};
	}
	first_scratch = count;
	if (!ret)
		count += pack_scratch(plan, intervals + first_scratch, false);
	if (!ret)
		ret = memory_pack(intervals, count, &values->arena_bytes);
	if (!ret)
		pack_scratch(plan, intervals + first_scratch, true);
	for (uint32_t id = 0; !ret && id < num; id++) {
		struct value_location *location = &values->location[id];

		if (location->used && !location->in_slices && location->parent == NO_PARENT &&
		    location->base == NPU_BASE_ARENA)
			location->offset = intervals[index[id]].offset;
	}
	wnn_free(intervals);
	wnn_free(index);
	return ret;
}

int values_locate(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out)
{
	plan->values = wnn_calloc(1, sizeof(*plan->values));
	if (plan->values) {
		plan->values->location =
			wnn_calloc(plan->graph->num_values + 1, sizeof(struct value_location));
		plan->values->scratch = wnn_calloc(plan->count + 1, sizeof(uint64_t));
		plan->values->fused = wnn_calloc(plan->count + 1, sizeof(uint32_t));
	}
	if (!plan->values || !plan->values->location || !plan->values->scratch ||
	    !plan->values->fused) {
		plan_nomem(plan);
		return -1;
	}
	for (uint32_t i = 0; i < num_live_out; i++)
		plan->values->location[live_out[i]].live_out = true;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		for (uint32_t o = 0; o < node->num_operands; o++)
			if (node->operands[o]) {
				introduce(plan, node->operands[o], i, false);
				plan->values->location[node->operands[o]->id].uses++;
			}
		for (uint32_t r = 0; r < node->num_results; r++)
			introduce(plan, node->results[r], i, true);
	}
	pinned_place(plan);
	slices_find(plan);
	find_fused(plan);
	attach_all(plan);
	note_updates(plan);
	extend_roots(plan);
	if (plan->sram.keep) {
		if (residents_choose(plan))
			return -1;
		/* Views into resident values have other strides now. */
		detach_all(plan);
		attach_all(plan);
		extend_roots(plan);
	}
	if (pack_arena(plan))
		plan_nomem(plan);
	return plan->report.failed ? -1 : 0;
}

/*
 * Adds a constant to those of the program when a kernel first reads it, so that constants have the
 * order of their first use.
 */
static void place_constant(struct plan *plan, const struct ir_value *value,
			   struct value_location *location)
{
	if (location->placed)
		return;
	location->offset = (int64_t)plan_constant_of(plan, value->constant);
	location->placed = true;
}

struct npu_view values_view(struct plan *plan, const struct ir_value *value)
{
	const struct value_location *location = &plan->values->location[value->id];
	uint32_t root = values_root(plan, value->id);
	struct value_location *home = &plan->values->location[root];
	struct npu_view view = {
		.base = home->base,
		.binding = home->binding,
		.dtype = plan_dtype(value->type.dtype),
		.rank = value->type.rank,
		.window_bytes = home->bytes,
		.offset = home->origin,
	};

	if (home->base == NPU_BASE_CONST)
		place_constant(plan, plan->graph->values[root], home);
	for (uint32_t id = value->id; id != root; id = plan->values->location[id].parent)
		view.offset += plan->values->location[id].offset;
	view.window = home->base == NPU_BASE_VALUE ? 0 : home->offset;
	for (uint32_t i = 0; i < view.rank; i++) {
		view.dim[i] = ir_type_dim(&value->type, i);
		view.stride[i] = location->stride[i];
	}
	return view;
}

bool values_in_memory(const struct plan *plan, const struct ir_value *value)
{
	return plan->values->location[values_root(plan, value->id)].base != NPU_BASE_NONE;
}

bool values_live_out(const struct plan *plan, const struct ir_value *value)
{
	return plan->values->location[value->id].live_out;
}

bool values_in_slices(const struct plan *plan, const struct ir_value *value)
{
	return plan->values->location[value->id].in_slices;
}

bool values_shared(const struct plan *plan, const struct ir_value *a, const struct ir_value *b)
{
	return plan->values->location[a->id].parent == b->id ||
	       plan->values->location[b->id].parent == a->id;
}

uint64_t values_halo(const struct plan *plan, const struct ir_value *value, int64_t halo[2][2])
{
	const struct ir_value *root = plan->graph->values[values_root(plan, value->id)];
	const struct value_location *home = &plan->values->location[root->id];

	memset(halo, 0, sizeof(home->halo));
	if (home->base != NPU_BASE_NONE || value->type.rank != root->type.rank)
		return 0;
	/* A view with all rows of its root has the root's padding rows; so it is with columns. */
	for (int i = 0; i < 2; i++) {
		uint8_t axis = home->image_axis[2 + i];

		if (ir_type_dim(&value->type, axis) == ir_type_dim(&root->type, axis) &&
		    plan->values->location[value->id].stride[axis] == home->stride[axis])
			memcpy(halo[i], home->halo[i], sizeof(halo[i]));
	}
	return home->halo_value;
}
