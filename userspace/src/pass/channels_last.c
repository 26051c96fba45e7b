// SPDX-License-Identifier: MIT
/*
 * Changes images to channels-last layout (nhwc) where the CPU's convolutions are faster on it: not
 * node by node, but for whole regions of the graph, which data enters and leaves through
 * transposes.
 *
 * Precondition: a verified graph after the passes that fuse nodes. Postcondition: each region of
 * convolutions and the nodes after them, down to nodes whose layout cannot change, works in
 * channels-last layout if that is worth the transposes at its border. An image that has one channel
 * or one pixel is only reshaped, and a transpose of the application at the border that changes the
 * layout itself is dropped.
 *
 *	%2 = conv(%0, %1) nchw		%4 = transpose(%0) [0, 2, 3, 1]
 *	%3 = unary(%2) sqrt	->	%2 = conv(%4, %1) nhwc
 *					%5 = unary(%2) sqrt
 *					%3 = transpose(%5) [0, 3, 1, 2]
 */

#include "pass/rewrite.h"

#include <string.h>

#include "util/malloc.h"

struct layout_change {
	struct rewrite *rw;
	bool *last; /* by old node id: whether the node works in channels-last order */
	/*
	 * by old node id: a node of its region that is nearer to the one that represents the
	 * region, or the node itself: see region_of()
	 */
	uint32_t *region;
	/*
	 * by old node id, valid for the node that represents a region. work: the multiplications of
	 * the region; border: the elements that transposes at its border must move, minus those of
	 * transposes that are dropped
	 */
	int64_t *work, *border;
	/* By old value id: the new value in channels-last order, or NULL. */
	struct ir_value **permuted;
};

static const uint32_t to_last[4] = { 0, 2, 3, 1 }, to_first[4] = { 0, 3, 1, 2 };

/* --- Nodes whose layout can change --- */

static bool moves_nothing(const struct ir_type *type)
{
	return ir_type_dim(type, 1) == 1 || ir_type_dim(type, 2) * ir_type_dim(type, 3) == 1;
}

static bool is_picture(const struct ir_value *value)
{
	return value->type.rank == 4 &&
	       (value->kind != IR_VALUE_CONSTANT || moves_nothing(&value->type));
}

/*
 * Whether operand i must change its layout with the node; the node reads other operands in their
 * own layout.
 */
static bool permutes_operand(const struct ir_node *node, uint32_t i)
{
	switch (node->op) {
	case IR_OP_CONCAT:
		return true;
	case IR_OP_BINARY:
		return node->operands[i]->type.rank == 4;
	case IR_OP_QBINARY:
		return i == 0 || i == 3;
	default:
		return i == 0;
	}
}

/*
 * Whether the operator broadcasts its operands, so that an operand that keeps its layout must be a
 * single number.
 */
static bool broadcasts(enum ir_op op)
{
	return op == IR_OP_BINARY || op == IR_OP_QBINARY || op == IR_OP_QUNARY ||
	       op == IR_OP_QUANTIZE || op == IR_OP_DEQUANTIZE;
}

static bool operands_permute(const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (!value)
			continue;
		if (permutes_operand(node, i) ?
			    !is_picture(value) :
			    broadcasts(node->op) && ir_type_elements(&value->type) != 1)
			return false;
	}
	return true;
}

static bool is_start(const struct ir_node *node)
{
	bool conv = node->op == IR_OP_QCONV ||
		    (node->op == IR_OP_CONV && node->operands[0]->type.dtype == IR_F32);

	return conv && node->attrs.conv.layout == IR_NCHW && !node->attrs.conv.transposed &&
	       node->operands[1]->kind == IR_VALUE_CONSTANT;
}

static bool can_permute(const struct ir_node *node)
{
	if (node->num_results != 1 || node->results[0]->type.rank != 4 || !operands_permute(node))
		return false;
	switch (node->op) {
	case IR_OP_CONV:
	case IR_OP_QCONV:
		return is_start(node);
	case IR_OP_POOL:
	case IR_OP_QPOOL:
		return node->attrs.pool.layout == IR_NCHW;
	case IR_OP_UNARY:
	case IR_OP_BINARY:
	case IR_OP_QUNARY:
	case IR_OP_QBINARY:
	case IR_OP_QUANTIZE:
	case IR_OP_DEQUANTIZE:
	case IR_OP_CONCAT:
	case IR_OP_SLICE:
	case IR_OP_REDUCE:
	case IR_OP_BATCHNORM:
		return true;
	default:
		return false;
	}
}

/* --- Regions --- */

static uint32_t region_of(const struct layout_change *t, uint32_t node)
{
	while (t->region[node] != node)
		node = t->region[node] = t->region[t->region[node]];
	return node;
}

/*
 * Finds regions. A region begins at each convolution that is_start() accepts. A node whose layout
 * can change belongs to the region of the node that makes one of its operands; when several
 * operands come from regions, these become one region.
 */
static void find_regions(struct layout_change *t)
{
	const struct ir_graph *graph = t->rw->from;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];

		t->region[n] = n;
		if (!can_permute(node))
			continue;
		t->last[n] = is_start(node);
		for (uint32_t i = 0; i < node->num_operands; i++) {
			const struct ir_value *value = node->operands[i];

			if (!value || !value->def || !t->last[value->def->id] ||
			    !permutes_operand(node, i))
				continue;
			t->last[n] = true;
			t->region[region_of(t, value->def->id)] = region_of(t, n);
		}
	}
}

static int64_t moved_elements(const struct ir_value *value)
{
	return moves_nothing(&value->type) ? 0 : ir_type_elements(&value->type);
}

static int64_t work_of(const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type;

	if (node->op != IR_OP_CONV && node->op != IR_OP_QCONV)
		return 0;
	return ir_type_elements(y) / ir_type_dim(y, 1) * ir_type_elements(&node->operands[1]->type);
}

static bool transposes(const struct ir_node *node, const uint32_t *perm)
{
	return node && node->op == IR_OP_TRANSPOSE && node->results[0]->type.rank == 4 &&
	       !memcmp(node->attrs.transpose.perm, perm, sizeof(to_last));
}

/*
 * Whether a reduction removes axes such that the remaining axes have the same order in both
 * layouts.
 */
static bool reduces_in_order(const struct ir_node *node)
{
	uint32_t axes = node->attrs.reduce.axes;

	return node->op == IR_OP_REDUCE && !node->attrs.reduce.keep_dims &&
	       ((axes & 2) || (axes & 12) == 12);
}

/*
 * Adds an operand that enters or leaves a region to the cost of the region's border. A transpose of
 * the application that changes the layout there is dropped, which counts as a gain.
 */
static void count_border(struct layout_change *t, const struct ir_node *node, uint32_t i)
{
	const struct ir_value *value = node->operands[i];
	bool made_last = value->def && t->last[value->def->id];
	bool used_last = t->last[node->id] && permutes_operand(node, i);
	int64_t moved = moved_elements(value);

	if (made_last && !used_last && !reduces_in_order(node))
		t->border[region_of(t, value->def->id)] += transposes(node, to_last) ? -moved :
										       moved;
	if (used_last && !made_last && value->kind != IR_VALUE_CONSTANT)
		t->border[region_of(t, node->id)] += transposes(value->def, to_first) ? -moved :
											moved;
}

/*
 * Leaves regions unchanged in which too little is computed for the elements that must be moved at
 * the border.
 */
static void drop_small_regions(struct layout_change *t, uint32_t work_per_element)
{
	const struct ir_graph *graph = t->rw->from;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];

		if (t->last[n])
			t->work[region_of(t, n)] += work_of(node);
		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i])
				count_border(t, node, i);
	}
	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		const struct ir_value *value = graph->outputs[i].value;

		if (value->def && t->last[value->def->id])
			t->border[region_of(t, value->def->id)] += moved_elements(value);
	}
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		uint32_t region = region_of(t, n);

		if (t->work[region] / work_per_element < t->border[region])
			t->last[n] = false;
	}
}

/* --- The new graph --- */

static struct ir_type permuted_type(const struct ir_type *type, const uint32_t *perm)
{
	struct ir_type permuted = *type;

	for (uint32_t i = 0; i < 4; i++)
		permuted.dim[i] = type->dim[perm[i]];
	return permuted;
}

/*
 * Returns the constant with another type; NULL when out of memory. The elements keep their order in
 * memory, as the constant has one channel or one pixel.
 */
static struct ir_value *permute_constant(struct layout_change *t, struct ir_value *value,
					 const struct ir_type *type)
{
	struct ir_value *permuted =
		ir_add_constant(t->rw->to, type, ir_constant_ref(value->constant));

	if (!permuted)
		ir_constant_unref(value->constant);
	return permuted;
}

static struct ir_value *permute(struct layout_change *t, struct ir_value *value,
				const uint32_t *perm)
{
	struct ir_type type = permuted_type(&value->type, perm);
	/* The one of the two types that is in channels-first order. */
	const struct ir_type *first = perm == to_last ? &value->type : &type;
	union ir_attrs attrs = { 0 };
	struct ir_node *node;

	if (value->kind == IR_VALUE_CONSTANT)
		return permute_constant(t, value, &type);
	if (moves_nothing(first)) {
		node = ir_add_node(t->rw->to, IR_OP_RESHAPE, &value, 1, &type, 1, NULL, "",
				   "reshape");
	} else {
		memcpy(attrs.transpose.perm, perm, sizeof(to_last));
		node = ir_add_node(t->rw->to, IR_OP_TRANSPOSE, &value, 1, &type, 1, &attrs, "",
				   "transpose");
	}
	return node ? node->results[0] : NULL;
}

/*
 * Returns the new value of an old one in channels-last order (`last`) or channels-first order; NULL
 * when out of memory.
 */
static struct ir_value *value_in(struct layout_change *t, const struct ir_value *old, bool last)
{
	struct ir_value **first_value = &t->rw->value[old->id], **permuted = &t->permuted[old->id];

	if (last && !*permuted && transposes(old->def, to_first))
		*permuted = t->rw->value[old->def->operands[0]->id];
	if (last && !*permuted)
		*permuted = permute(t, *first_value, to_last);
	else if (!last && !*first_value)
		*first_value = permute(t, *permuted, to_first);
	return last ? *permuted : *first_value;
}

static void permute_slice(struct ir_slice_attrs *slice)
{
	const struct ir_slice_attrs from = *slice;

	for (uint32_t i = 0; i < 4; i++) {
		slice->starts[i] = from.starts[to_last[i]];
		slice->strides[i] = from.strides[to_last[i]];
	}
}

static uint32_t permuted_axes(uint32_t axes)
{
	uint32_t permuted = 0;

	for (uint32_t i = 0; i < 4; i++)
		permuted |= (axes >> to_last[i] & 1) << i;
	return permuted;
}

static void permute_attributes(enum ir_op op, union ir_attrs *attrs)
{
	switch (op) {
	case IR_OP_CONV:
	case IR_OP_QCONV:
		attrs->conv.layout = IR_NHWC;
		break;
	case IR_OP_POOL:
	case IR_OP_QPOOL:
		attrs->pool.layout = IR_NHWC;
		break;
	case IR_OP_CONCAT:
		attrs->axis = to_first[attrs->axis];
		break;
	case IR_OP_SLICE:
		permute_slice(&attrs->slice);
		break;
	case IR_OP_REDUCE:
		attrs->reduce.axes = permuted_axes(attrs->reduce.axes);
		break;
	case IR_OP_BATCHNORM:
		attrs->norm.axis = to_first[attrs->norm.axis];
		break;
	default:
		break;
	}
}

static int emit_permuted(struct layout_change *t, const struct ir_node *node)
{
	struct rewrite *rw = t->rw;
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type type = permuted_type(&node->results[0]->type, to_last);
	union ir_attrs attrs = node->attrs;
	struct ir_node *emitted = NULL;
	bool complete = operands != NULL;

	for (uint32_t i = 0; i < node->num_operands && complete; i++) {
		if (!node->operands[i])
			continue;
		operands[i] = value_in(t, node->operands[i], permutes_operand(node, i));
		complete = operands[i] != NULL;
	}
	permute_attributes(node->op, &attrs);
	if (complete)
		emitted = ir_add_node(rw->to, node->op, operands, node->num_operands, &type, 1,
				      &attrs, node->label, node->source);
	wnn_free(operands);
	if (!emitted)
		return rewrite_nomem(rw);
	t->permuted[node->results[0]->id] = emitted->results[0];
	rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_KEPT, emitted->id };
	return 0;
}

static bool is_permuted_result(const struct layout_change *t, const struct ir_value *value)
{
	return value->kind == IR_VALUE_RESULT && t->last[value->def->id];
}

/*
 * Emits a reduction of a channels-last operand, whose result has the same order in both layouts.
 * Returns 0 or -1.
 */
static int emit_reduction(struct layout_change *t, const struct ir_node *node)
{
	union ir_attrs attrs = node->attrs;

	permute_attributes(node->op, &attrs);
	return rewrite_emit(t->rw, node->op, &t->permuted[node->operands[0]->id], 1, &attrs, node,
			    NULL) ?
		       0 :
		       -1;
}

static int emit(struct layout_change *t, const struct ir_node *node)
{
	if (t->last[node->id])
		return emit_permuted(t, node);
	if (transposes(node, to_last) && is_permuted_result(t, node->operands[0])) {
		rewrite_bypass(t->rw, node, t->permuted[node->operands[0]->id], WNN_FATE_VIEW);
		return 0;
	}
	if (reduces_in_order(node) && is_permuted_result(t, node->operands[0]))
		return emit_reduction(t, node);
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && !value_in(t, node->operands[i], false))
			return rewrite_nomem(t->rw);
	return rewrite_copy(t->rw, node);
}

static int rebuild(struct layout_change *t)
{
	const struct ir_graph *from = t->rw->from;

	for (uint32_t n = 0; n < from->num_nodes; n++)
		if (emit(t, from->nodes[n]))
			return -1;
	for (uint32_t i = 0; i < from->num_outputs; i++)
		if (!value_in(t, from->outputs[i].value, false))
			return rewrite_nomem(t->rw);
	return 0;
}

int pass_channels_last(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t nodes = rw->from->num_nodes + 1;
	struct layout_change t = {
		.rw = rw,
		.last = wnn_calloc(nodes, sizeof(*t.last)),
		.region = wnn_calloc(nodes, sizeof(*t.region)),
		.work = wnn_calloc(nodes, sizeof(*t.work)),
		.border = wnn_calloc(nodes, sizeof(*t.border)),
		.permuted = wnn_calloc(rw->from->num_values + 1, sizeof(*t.permuted)),
	};
	int ret;

	if (t.last && t.region && t.work && t.border && t.permuted) {
		find_regions(&t);
		drop_small_regions(&t, ctx->options->channels_last_work);
		ret = rebuild(&t);
	} else {
		ret = rewrite_nomem(rw);
	}
	wnn_free(t.last);
	wnn_free(t.region);
	wnn_free(t.work);
	wnn_free(t.border);
	wnn_free(t.permuted);
	return ret;
}
