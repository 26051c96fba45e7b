// SPDX-License-Identifier: MIT
/*
 * Computes float16 on the CPU in float32, for which there are fast kernels: values are float32, but
 * only have numbers that float16 has, because each node rounds its result to float16
 * (ir_unary_attrs.half), or only a cast to float16 uses the result. Weights are converted once,
 * when the graph is built; data is converted where it enters and leaves the graph.
 *
 * Precondition: a verified graph after the passes that fuse nodes, all of which runs on the CPU.
 * Postcondition: the operators listed here have no float16 operand or result; nodes that only move
 * elements have the type of their operands. Results are those of float16, except where float32
 * rounds to the middle between two numbers of float16.
 *
 *	%3 = conv(%0, %1) act=relu ; f16	%4 = cast(%0) ; f32
 *	%5 = gather(%3, %2)		->	%3 = conv(%4, %1) act=relu(0,0)half ; f32
 *						%6 = cast(%3) ; f16
 *						%5 = gather(%6, %2)
 */

#include "pass/rewrite.h"

#include <math.h>

#include "util/float16.h"
#include "util/malloc.h"

enum way {
	NARROW, /* stays in float16 */
	FOLLOW, /* only moves elements: the result has the type of the operands */
	FINISH, /* has an activation, which rounds the result */
	CHOOSE, /* returns elements of its operands, which need no rounding */
	ROUND,	/* is rounded later: by a cast to float16, or by a node added before its users */
};

struct widening {
	struct rewrite *rw;
	bool *updates; /* by node: whether it updates an input in place and so keeps its type */
	bool *early;   /* by node: whether it moves elements that all its users want as float32 */
	struct ir_value **wide; /* by old value id: the new value as float32, or NULL */
	struct ir_value **raw;	/* by old value id: the new value before it is rounded, or NULL */
};

static enum way way_of(const struct ir_node *node)
{
	switch (node->op) {
	case IR_OP_CONV:
	case IR_OP_MATMUL:
	case IR_OP_WMATMUL:
	case IR_OP_BINARY:
	case IR_OP_UNARY:
		return FINISH;
	case IR_OP_POOL:
		return node->attrs.pool.kind == IR_POOL_MAX ? CHOOSE : ROUND;
	case IR_OP_REDUCE:
	case IR_OP_SOFTMAX:
	case IR_OP_BATCHNORM:
	case IR_OP_INSTNORM:
	case IR_OP_LAYERNORM:
	case IR_OP_RESAMPLE:
		return ROUND;
	case IR_OP_RESHAPE:
	case IR_OP_TRANSPOSE:
	case IR_OP_CONCAT:
	case IR_OP_SLICE:
	case IR_OP_EXPAND:
		return FOLLOW;
	default:
		return NARROW;
	}
}

static bool is_half(const struct ir_value *value)
{
	return value->type.dtype == IR_F16;
}

/* Whether an operand stays integer: weights of 4 or 8 bits and their zero points. */
static bool stays_integer(const struct ir_node *node, uint32_t operand)
{
	return node->op == IR_OP_WMATMUL && (operand == 1 || operand == 3);
}

static bool is_all_halves(const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && !stays_integer(node, i) && !is_half(node->operands[i]))
			return false;
	return node->num_results == 1 && is_half(node->results[0]);
}

static bool has_wide_operand(const struct widening *t, const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && node->operands[i]->kind != IR_VALUE_CONSTANT &&
		    (t->wide[node->operands[i]->id] || t->raw[node->operands[i]->id]))
			return true;
	return false;
}

static bool becomes_wide(const struct widening *t, const struct ir_node *node)
{
	enum way way = way_of(node);

	return is_all_halves(node) && !t->updates[node->id] && way != NARROW &&
	       (way != FOLLOW || t->early[node->id] || has_wide_operand(t, node));
}

/*
 * Whether a node that moves elements of a float16 value may as well move them as float32, when all
 * users of its result want that: not one that takes a small part of the value, nor a concat, whose
 * operands would need a cast each.
 */
static bool moves_all(const struct ir_node *node, const int64_t *sliced)
{
	const struct ir_value *from = node->operands[0];

	return node->op != IR_OP_CONCAT &&
	       (node->op != IR_OP_SLICE || sliced[from->id] >= ir_type_elements(&from->type));
}

/*
 * Finds the nodes that move elements in front of wide nodes and become wide, too, so that the casts
 * to float32 come before them and no cast is left between them and the nodes that can be fused with
 * them. Returns 0, or -1 when out of memory.
 */
static int find_early(struct widening *t)
{
	const struct ir_graph *graph = t->rw->from;
	int64_t *sliced = wnn_calloc(graph->num_values + 1, sizeof(*sliced));
	bool *kept = wnn_calloc(graph->num_values + 1, sizeof(*kept));
	int ret = sliced && kept ? 0 : -1;

	for (uint32_t n = 0; n < graph->num_nodes && !ret; n++)
		if (graph->nodes[n]->op == IR_OP_SLICE)
			sliced[graph->nodes[n]->operands[0]->id] +=
				ir_type_elements(&graph->nodes[n]->results[0]->type);
	for (uint32_t n = graph->num_nodes; n-- > 0 && !ret;) {
		const struct ir_node *node = graph->nodes[n];
		const struct ir_value *result = node->results[0];

		if (way_of(node) == FOLLOW)
			t->early[n] = moves_all(node, sliced) && !kept[result->id] &&
				      t->rw->uses[result->id] && !t->rw->is_output[result->id];
		for (uint32_t i = 0; i < node->num_operands && !becomes_wide(t, node); i++)
			if (node->operands[i])
				kept[node->operands[i]->id] = true;
	}
	wnn_free(sliced);
	wnn_free(kept);
	return ret;
}

static struct ir_type with_dtype(const struct ir_type *type, enum ir_dtype dtype)
{
	struct ir_type changed = *type;

	changed.dtype = dtype;
	return changed;
}

static struct ir_value *cast(struct widening *t, struct ir_value *value, enum ir_dtype dtype)
{
	struct ir_type type = with_dtype(&value->type, dtype);
	struct ir_node *node =
		ir_add_node(t->rw->to, IR_OP_CAST, &value, 1, &type, 1, NULL, "", "cast");

	return node ? node->results[0] : NULL;
}

static struct ir_value *widen_constant(struct widening *t, const struct ir_value *old)
{
	struct ir_type type = with_dtype(&old->type, IR_F32);
	int64_t count = ir_type_elements(&type);
	const uint16_t *from = ir_constant_data(old->constant);
	size_t bytes = (size_t)count * sizeof(float);
	float *data = from ? wnn_malloc(bytes) : NULL;
	struct ir_constant *constant;
	struct ir_value *value = NULL;

	if (!data)
		return NULL;
	for (int64_t i = 0; i < count; i++)
		data[i] = wnn_half_to_float(from[i]);
	constant = ir_constant_own(data, bytes);
	if (constant)
		value = ir_add_constant(t->rw->to, &type, constant);
	if (!value)
		ir_constant_unref(constant);
	return value;
}

static struct ir_value *rounded(struct widening *t, const struct ir_node *node,
				struct ir_value *value)
{
	const union ir_attrs attrs = {
		.unary = { .kind = IR_CLAMP, .alpha = -INFINITY, .beta = INFINITY, .half = true }
	};
	struct ir_node *rounding = ir_add_node(t->rw->to, IR_OP_UNARY, &value, 1, &value->type, 1,
					       &attrs, node->label, node->source);

	return rounding ? rounding->results[0] : NULL;
}

/* Returns the new value of an old float16 one as float32; NULL when out of memory. */
static struct ir_value *wide_value(struct widening *t, const struct ir_value *old)
{
	struct ir_value **wide = &t->wide[old->id], *raw = t->raw[old->id];

	if (!*wide)
		*wide = old->kind == IR_VALUE_CONSTANT ? widen_constant(t, old) :
			raw			       ? rounded(t, old->def, raw) :
							 cast(t, t->rw->value[old->id], IR_F32);
	return *wide;
}

/* Returns the new value of an old one in its own type; NULL when out of memory. */
static struct ir_value *own_value(struct widening *t, const struct ir_value *old)
{
	struct ir_value **value = &t->rw->value[old->id], *raw = t->raw[old->id];

	if (!*value)
		*value = cast(t, raw ? raw : t->wide[old->id], IR_F16);
	return *value;
}

/*
 * Sets the flag for rounding to float16 (ir_unary_attrs.half) in the attributes of an operator with
 * an activation.
 */
static void round_result(enum ir_op op, union ir_attrs *attrs)
{
	switch (op) {
	case IR_OP_CONV:
		attrs->conv.act.half = true;
		break;
	case IR_OP_MATMUL:
	case IR_OP_WMATMUL:
		attrs->matmul.act.half = true;
		break;
	case IR_OP_BINARY:
		attrs->binary.act.half = true;
		break;
	default:
		attrs->unary.half = true;
		break;
	}
}

static int emit_wide(struct widening *t, const struct ir_node *node)
{
	struct rewrite *rw = t->rw;
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type type = with_dtype(&node->results[0]->type, IR_F32);
	union ir_attrs attrs = node->attrs;
	struct ir_node *emitted = NULL;
	bool complete = operands != NULL;

	for (uint32_t i = 0; i < node->num_operands && complete; i++) {
		if (!node->operands[i])
			continue;
		operands[i] = stays_integer(node, i) ? own_value(t, node->operands[i]) :
						       wide_value(t, node->operands[i]);
		complete = operands[i] != NULL;
	}
	if (way_of(node) == FINISH)
		round_result(node->op, &attrs);
	if (complete)
		emitted = ir_add_node(rw->to, node->op, operands, node->num_operands, &type, 1,
				      &attrs, node->label, node->source);
	wnn_free(operands);
	if (!emitted)
		return rewrite_nomem(rw);
	(way_of(node) == ROUND ? t->raw : t->wide)[node->results[0]->id] = emitted->results[0];
	rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_KEPT, emitted->id };
	return 0;
}

static int emit(struct widening *t, const struct ir_node *node)
{
	if (becomes_wide(t, node))
		return emit_wide(t, node);
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && !own_value(t, node->operands[i]))
			return rewrite_nomem(t->rw);
	return rewrite_copy(t->rw, node);
}

int pass_widen(struct rewrite *rw, const struct pass_context *ctx)
{
	struct widening t = {
		.rw = rw,
		.updates = ir_find_updates(rw->from),
		.early = wnn_calloc(rw->from->num_nodes + 1, sizeof(*t.early)),
		.wide = wnn_calloc(rw->from->num_values + 1, sizeof(*t.wide)),
		.raw = wnn_calloc(rw->from->num_values + 1, sizeof(*t.raw)),
	};
	int ret = t.updates && t.early && t.wide && t.raw && !find_early(&t) ? 0 :
									       rewrite_nomem(rw);

	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		ret = emit(&t, rw->from->nodes[n]);
	for (uint32_t i = 0; i < rw->from->num_outputs && !ret; i++)
		if (!own_value(&t, rw->from->outputs[i].value))
			ret = rewrite_nomem(rw);
	wnn_free(t.updates);
	wnn_free(t.early);
	wnn_free(t.wide);
	wnn_free(t.raw);
	return ret;
}
