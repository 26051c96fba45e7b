// SPDX-License-Identifier: MIT
/*
 * Finds the results of concats that need no memory, because products read the operands of the
 * concat instead. A decoder's step appends the keys and values of a new token to those of earlier
 * tokens, which are inputs: copying all of them into one buffer would take as long as the product
 * that reads the buffer. A result that is an output of the program must be in memory; the product
 * reads it there, which takes no longer, as a copy from memory to memory reads and writes at the
 * same time.
 *
 * values.c calls slices_find() before values share memory; the lowering of products calls
 * values_slices().
 */
#include "plan/place/values.h"

#include <string.h>

#include "util/malloc.h"

#define NO_CONCAT UINT32_MAX

/* The findings of slices_find() about a value that is a concat's result or a view of one. */
struct note {
	uint32_t concat;  /* value id of the concat's result */
	uint32_t axis;	  /* the axis of this value along which the slices are concatenated */
	int64_t elements; /* number of distinct elements */
	bool strided;	  /* the value is a view that is not dense */
	/* Only for the concat's result itself: */
	bool refused;  /* a node that cannot read slices reads the result */
	uint32_t last; /* the last node of the range that reads the result */
	int64_t read;  /* number of elements that all readers together read */
};

/* ---- views of a value in slices */

/*
 * Returns the axis of the result that corresponds to axis `from` of the operand, for a reshape that
 * only adds or drops dims of 1. UINT32_MAX: the reshape does more than that.
 */
static uint32_t axis_after_reshape(const struct ir_type *x, const struct ir_type *y, uint32_t from)
{
	uint32_t at = UINT32_MAX, i = 0, j = 0;

	while (i < x->rank || j < y->rank) {
		if (i < x->rank && j < y->rank && ir_type_dim(x, i) == ir_type_dim(y, j)) {
			if (i == from)
				at = j;
			i++;
			j++;
		} else if (j < y->rank && ir_type_dim(y, j) == 1) {
			j++;
		} else if (i < x->rank && ir_type_dim(x, i) == 1) {
			i++;
		} else {
			return UINT32_MAX;
		}
	}
	return at;
}

/*
 * Returns the axis of the slices in a node's result, which is a view of its operand; UINT32_MAX
 * when the result is no such view.
 */
static uint32_t axis_after(const struct ir_node *node, uint32_t axis)
{
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;

	switch (node->op) {
	case IR_OP_TRANSPOSE:
		for (uint32_t i = 0; i < y->rank; i++)
			if (node->attrs.transpose.perm[i] == axis)
				return i;
		return UINT32_MAX;
	case IR_OP_SLICE:
		return ir_type_dim(x, axis) == ir_type_dim(y, axis) ? axis : UINT32_MAX;
	case IR_OP_EXPAND:
		return y->rank - x->rank + axis;
	case IR_OP_RESHAPE:
	case IR_OP_COPY:
		return axis_after_reshape(x, y, axis);
	default:
		return UINT32_MAX;
	}
}

/* Applies the view operator of a node to the view of one slice of its operand. */
static void look_through(const struct ir_node *node, struct npu_view *view)
{
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	struct npu_view from = *view;

	view->rank = y->rank;
	for (uint32_t i = 0; i < y->rank; i++) {
		uint32_t lead = y->rank > x->rank ? y->rank - x->rank : 0;

		switch (node->op) {
		case IR_OP_TRANSPOSE:
			view->dim[i] = from.dim[node->attrs.transpose.perm[i]];
			view->stride[i] = from.stride[node->attrs.transpose.perm[i]];
			break;
		case IR_OP_SLICE:
			/* Along the concatenated axis, a slice operator keeps all elements. */
			view->offset += node->attrs.slice.starts[i] * from.stride[i];
			view->stride[i] = from.stride[i] * node->attrs.slice.strides[i];
			if (ir_type_dim(x, i) != ir_type_dim(y, i))
				view->dim[i] = ir_type_dim(y, i);
			break;
		case IR_OP_EXPAND:
			view->stride[i] = 0;
			view->dim[i] = ir_type_dim(y, i);
			if (i >= lead && ir_type_dim(x, i - lead) == ir_type_dim(y, i)) {
				view->dim[i] = from.dim[i - lead];
				view->stride[i] = from.stride[i - lead];
			}
			break;
		default:
			view->dim[i] = 1;
			view->stride[i] = 0;
		}
	}
	if (node->op != IR_OP_RESHAPE && node->op != IR_OP_COPY)
		return;
	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t at = axis_after_reshape(x, y, i);

		if (at == UINT32_MAX)
			continue;
		view->dim[at] = from.dim[i];
		view->stride[at] = from.stride[i];
	}
}

/* Returns the view of slice number `i` of a value, which is a concat's result or a view of one. */
static struct npu_view slice_of(struct plan *plan, const struct ir_value *value, uint32_t i)
{
	struct npu_view view;

	if (value->def->op == IR_OP_CONCAT)
		return values_view(plan, value->def->operands[i]);
	view = slice_of(plan, value->def->operands[0], i);
	look_through(value->def, &view);
	return view;
}

void values_slices(struct plan *plan, const struct ir_value *value, struct value_slices *slices)
{
	const struct value_location *location = &plan->values->location[value->id];

	*slices = (struct value_slices){ .axis = location->slice_axis };
	if (!location->in_slices)
		return;
	slices->count = plan->graph->values[location->whole]->def->num_operands;
	for (uint32_t i = 0; i < slices->count; i++)
		slices->view[i] = slice_of(plan, value, i);
}

/* ---- the values that are read in slices */

/*
 * Returns true if a concat would have to copy an operand, which cannot be written into its result.
 */
static bool is_copied(const struct plan *plan, const struct ir_value *value)
{
	const struct value_location *location = &plan->values->location[value->id];

	if (location->base != NPU_BASE_ARENA || !value->def || !values_writes_strided(value->def))
		return true;
	/* A view is copied if the value that it views is. */
	return (value->def->op == IR_OP_TRANSPOSE || value->def->op == IR_OP_EXPAND) &&
	       is_copied(plan, value->def->operands[0]);
}

/*
 * Returns true if a node is a concat of at most VALUES_MAX_SLICES operands that would copy more
 * than half of its result, and the result is not an output.
 */
static bool is_candidate(const struct plan *plan, const struct ir_node *node)
{
	int64_t copied = 0, all = ir_type_elements(&node->results[0]->type);

	if (node->op != IR_OP_CONCAT || node->num_operands > VALUES_MAX_SLICES ||
	    node->num_operands < 2 || plan->values->location[node->results[0]->id].live_out)
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (is_copied(plan, node->operands[i]))
			copied += ir_type_elements(&node->operands[i]->type);
	return 2 * copied > all;
}

/*
 * Returns true if a node is a product that can read this operand in slices: only its second
 * operand, divided along one of the last two axes.
 */
static bool reads_slices(const struct ir_node *node, uint32_t operand, uint32_t axis)
{
	return (node->op == IR_OP_MATMUL || node->op == IR_OP_QMATMUL) && operand == 1 &&
	       axis + 2 >= node->operands[1]->type.rank;
}

/* Notes how node `n` uses an operand: in a product, as a view, or in a way that refuses slices. */
static void note_use(struct plan *plan, struct note *notes, uint32_t n, uint32_t operand)
{
	const struct ir_node *node = plan->graph->nodes[plan->first + n];
	const struct ir_value *from = node->operands[operand], *to = node->results[0];
	struct note *note = &notes[from->id], *whole;
	uint32_t axis;

	if (note->concat == NO_CONCAT)
		return;
	whole = &notes[note->concat];
	if (reads_slices(node, operand, note->axis)) {
		whole->last = n;
		whole->read += note->elements;
		return;
	}
	axis = operand ? UINT32_MAX : axis_after(node, note->axis);
	/* A reshape of a view that is not dense would be a copy. */
	if (axis == UINT32_MAX || plan->values->location[to->id].live_out ||
	    (note->strided && (node->op == IR_OP_RESHAPE || node->op == IR_OP_COPY))) {
		whole->refused = true;
		return;
	}
	notes[to->id] = (struct note){
		.concat = note->concat,
		.axis = axis,
		.elements = node->op == IR_OP_EXPAND ? note->elements : ir_type_elements(&to->type),
		.strided = note->strided || (node->op != IR_OP_RESHAPE && node->op != IR_OP_COPY),
	};
}

/*
 * Returns true if products shall read a concat's result in slices. A value that is read several
 * times is copied once instead, to SRAM if it fits there, which is faster.
 */
static bool is_settled(const struct plan *plan, const struct note *notes, uint32_t id)
{
	const struct note *whole = &notes[id];

	return !whole->refused && whole->read > 0 &&
	       whole->read <= ir_type_elements(&plan->graph->values[id]->type);
}

/* Extends the live ranges of the concat's operands to the last product that reads them. */
static void keep_slices(struct plan *plan, const struct ir_node *concat, uint32_t last)
{
	for (uint32_t i = 0; i < concat->num_operands; i++) {
		struct value_location *location = &plan->values->location[concat->operands[i]->id];

		if (location->end < last)
			location->end = last;
	}
}

static void settle(struct plan *plan, const struct note *notes, uint32_t id)
{
	struct value_location *location = &plan->values->location[id];
	const struct note *note = &notes[id];

	if (note->concat == NO_CONCAT || !is_settled(plan, notes, note->concat))
		return;
	location->in_slices = true;
	location->slice_axis = note->axis;
	location->whole = note->concat;
	if (note->concat == id)
		keep_slices(plan, plan->graph->values[id]->def, note->last);
}

void slices_find(struct plan *plan)
{
	uint32_t num = plan->graph->num_values;
	struct note *notes = wnn_calloc(num + 1, sizeof(*notes));

	if (!notes) {
		plan_nomem(plan);
		return;
	}
	for (uint32_t id = 0; id < num; id++)
		notes[id].concat = NO_CONCAT;
	for (uint32_t n = 0; n < plan->count; n++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + n];
		const struct ir_value *result = node->results[0];

		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i])
				note_use(plan, notes, n, i);
		if (is_candidate(plan, node))
			notes[result->id] = (struct note){
				.concat = result->id,
				.axis = node->attrs.axis,
				.elements = ir_type_elements(&result->type),
			};
	}
	for (uint32_t id = 0; id < num; id++)
		settle(plan, notes, id);
	wnn_free(notes);
}
