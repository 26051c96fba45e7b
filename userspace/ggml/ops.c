// SPDX-License-Identifier: MIT
/* Translates operators of ggml, but those of attention.c, to operators of WebNN, in float32. */
#include <stdlib.h>
#include <string.h>

#include "emit.h"

#define MOST_EXPERTS 512 /* of MUL_MAT_ID: each is a product of the graph */

typedef WNNOperand (*emit_function)(struct onpu_emit *e, const struct gg_tensor *op);

static const char *name_of(const struct gg_tensor *op)
{
	return base.op_name(op->op);
}

static bool is_named(const struct gg_tensor *op, const char *name)
{
	return !strcmp(name_of(op), name);
}

float onpu_number(const struct gg_tensor *op, int index)
{
	float number;

	memcpy(&number, &op->params[index], sizeof(number));
	return number;
}

/* ---- operators of single elements */

/*
 * Returns x, which has the sizes of @tensor, repeated until WebNN can broadcast it to the sizes of
 * @to: dimensions of size 1 stay. Refuses @to when its sizes are no multiples of those of @tensor.
 */
static WNNOperand repeat(struct onpu_emit *e, WNNOperand x, const struct gg_tensor *tensor,
			 const struct gg_tensor *to)
{
	struct onpu_shape copies = SHAPE(1, 1, 1, 1);
	bool is_needed = false;

	for (uint32_t i = 0; i < GG_DIMS; i++) {
		if (to->ne[i] % tensor->ne[i])
			return onpu_refuse(e, "an operand is not repeated a whole number of times");
		if (tensor->ne[i] == 1)
			continue;
		copies.dim[3 - i] = (uint32_t)(to->ne[i] / tensor->ne[i]);
		is_needed |= copies.dim[3 - i] != 1;
	}
	if (!is_needed || !x)
		return x;
	return wnnGraphBuilderTile(e->builder, x, (WNNUint32Array){ 4, copies.dim }, NULL);
}

static WNNOperand emit_binary(struct onpu_emit *e, const struct gg_tensor *op)
{
	static const struct {
		const char *name;
		onpu_binary function;
	} table[] = {
		{ "ADD", wnnGraphBuilderAdd },
		{ "SUB", wnnGraphBuilderSub },
		{ "MUL", wnnGraphBuilderMul },
		{ "DIV", wnnGraphBuilderDiv },
	};
	WNNOperand a = onpu_float(e, op->src[0]);
	WNNOperand b = repeat(e, onpu_float(e, op->src[1]), op->src[1], op);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (is_named(op, table[i].name))
			return x_binary(e, table[i].function, a, b);
	return onpu_refuse(e, "there is no such operator");
}

static WNNOperand scaled(struct onpu_emit *e, WNNOperand x, double factor, double summand)
{
	if (factor != 1)
		x = x_mul(e, x, x_number(e, WNNOperandDataType_Float32, factor));
	if (summand != 0)
		x = x_add(e, x, x_number(e, WNNOperandDataType_Float32, summand));
	return x;
}

static WNNOperand emit_scale(struct onpu_emit *e, const struct gg_tensor *op)
{
	return scaled(e, onpu_float(e, op->src[0]), onpu_number(op, 0), onpu_number(op, 1));
}

static WNNOperand emit_clamp(struct onpu_emit *e, const struct gg_tensor *op)
{
	WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
	WNNOperand x = onpu_float(e, op->src[0]);

	options.minValue = WNN_NUMBER_DOUBLE(onpu_number(op, 0));
	options.maxValue = WNN_NUMBER_DOUBLE(onpu_number(op, 1));
	return x ? wnnGraphBuilderClamp(e->builder, x, &options) : NULL;
}

static WNNOperand sqr(struct onpu_emit *e, WNNOperand x)
{
	return x_mul(e, x, x);
}

static WNNOperand silu(struct onpu_emit *e, WNNOperand x)
{
	return x_mul(e, x, x_unary(e, wnnGraphBuilderSigmoid, x));
}

static WNNOperand gelu_quick(struct onpu_emit *e, WNNOperand x)
{
	return x_mul(e, x, x_unary(e, wnnGraphBuilderSigmoid, scaled(e, x, 1.702, 0)));
}

/* Returns gelu(x) = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
static WNNOperand gelu(struct onpu_emit *e, WNNOperand x)
{
	WNNOperand inner = x_mul(
		e, x, scaled(e, sqr(e, x), 0.044715 * 0.79788456080286536, 0.79788456080286536));

	return x_mul(e, scaled(e, x, 0.5, 0),
		     scaled(e, x_unary(e, wnnGraphBuilderTanh, inner), 1, 1));
}

/* Functions of one element, by the names of ggml: one operator of WebNN, or several. */
static const struct function {
	const char *name;
	onpu_unary function;
	WNNOperand (*composed)(struct onpu_emit *e, WNNOperand x);
} functions[] = {
	{ "SQR", NULL, sqr },
	{ "SQRT", wnnGraphBuilderSqrt, NULL },
	{ "LOG", wnnGraphBuilderLog, NULL },
	{ "SIN", wnnGraphBuilderSin, NULL },
	{ "COS", wnnGraphBuilderCos, NULL },
	{ "ABS", wnnGraphBuilderAbs, NULL },
	{ "SGN", wnnGraphBuilderSign, NULL },
	{ "NEG", wnnGraphBuilderNeg, NULL },
	{ "TANH", wnnGraphBuilderTanh, NULL },
	{ "RELU", wnnGraphBuilderRelu, NULL },
	{ "SIGMOID", wnnGraphBuilderSigmoid, NULL },
	{ "GELU", NULL, gelu },
	{ "GELU_QUICK", NULL, gelu_quick },
	{ "GELU_ERF", wnnGraphBuilderGelu, NULL },
	{ "SILU", NULL, silu },
	{ "HARDSWISH", wnnGraphBuilderHardSwish, NULL },
	{ "EXP", wnnGraphBuilderExp, NULL },
	{ "SOFTPLUS", wnnGraphBuilderSoftplus, NULL },
	{ "FLOOR", wnnGraphBuilderFloor, NULL },
	{ "CEIL", wnnGraphBuilderCeil, NULL },
};

static WNNOperand apply(struct onpu_emit *e, const char *name, WNNOperand x)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, name))
			continue;
		if (functions[i].composed)
			return functions[i].composed(e, x);
		return x_unary(e, functions[i].function, x);
	}
	return onpu_refuse(e, "the device does not compute this function of one element");
}

static WNNOperand emit_unary(struct onpu_emit *e, const struct gg_tensor *op)
{
	const char *name = name_of(op);

	if (!strcmp(name, "UNARY"))
		name = base.unary_op_name((uint32_t)op->params[0]);
	return apply(e, name, onpu_float(e, op->src[0]));
}

/* Returns f(a) * b, where a and b are the halves of each row, or two tensors. */
static WNNOperand emit_glu(struct onpu_emit *e, const struct gg_tensor *op)
{
	static const char *const table[][2] = {
		{ "REGLU", "RELU" },
		{ "GEGLU", "GELU" },
		{ "SWIGLU", "SILU" },
		{ "GEGLU_ERF", "GELU_ERF" },
		{ "GEGLU_QUICK", "GELU_QUICK" },
	};
	const char *name = base.glu_op_name((uint32_t)op->params[0]);
	struct onpu_shape shape = onpu_shape(op->src[0]);
	WNNOperand x = onpu_float(e, op->src[0]), factor;
	uint32_t half = shape.dim[3] / 2, is_swapped = op->params[1] ? 1 : 0;

	if (op->src[1]) {
		factor = onpu_float(e, op->src[1]);
	} else {
		factor = x_slice_last(e, x, shape, is_swapped ? 0 : half, half);
		x = x_slice_last(e, x, shape, is_swapped ? half : 0, half);
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i][0], name))
			return x_mul(e, apply(e, table[i][1], x), factor);
	return onpu_refuse(e, "the device does not compute this gated function");
}

/* ---- operators of rows */

static WNNOperand emit_norm(struct onpu_emit *e, const struct gg_tensor *op)
{
	WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
	WNNOperand x = onpu_float(e, op->src[0]);
	uint32_t axis = 3;

	if (is_named(op, "NORM")) {
		options.axes = (WNNUint32Array){ 1, &axis };
		options.epsilon = onpu_number(op, 0);
		return x ? wnnGraphBuilderLayerNormalization(e->builder, x, &options) : NULL;
	}
	return x_binary(
		e, wnnGraphBuilderDiv, x,
		x_unary(e, wnnGraphBuilderSqrt,
			scaled(e, x_sum(e, sqr(e, x), true, axis, true), 1, onpu_number(op, 0))));
}

static WNNOperand emit_sum_rows(struct onpu_emit *e, const struct gg_tensor *op)
{
	return x_sum(e, onpu_float(e, op->src[0]), is_named(op, "MEAN"), 3, true);
}

/*
 * Returns a matrix whose type WebNN does not have: an input of float32, into which its elements are
 * turned before each dispatch, as they may change.
 */
static WNNOperand of_quantised(struct onpu_emit *e, const struct gg_tensor *a)
{
	const struct gg_type_traits *traits = base.get_type_traits(a->type);

	if (!traits->to_float || !onpu_is_contiguous(a))
		return onpu_refuse(
			e, "a matrix is not contiguous, or ggml cannot convert its type to floats");
	if (onpu_count(a) > INT32_MAX)
		return onpu_refuse(e, "a matrix has more than 2^31 - 1 elements");
	return x_reshape(
		e, onpu_input(e, a->data, WNNOperandDataType_Float32, (uint32_t)onpu_count(a), a),
		onpu_shape(a));
}

/*
 * Returns b, [T, K], times the transpose of a, [N, K]. Where b has more matrices than a, equally
 * many of b in a row share each matrix of a.
 */
static WNNOperand emit_mul_mat(struct onpu_emit *e, const struct gg_tensor *op)
{
	const struct gg_tensor *a = op->src[0], *b = op->src[1];
	bool is_float = onpu_data_type(a) != WNNOperandDataType_Undefined;
	WNNOperand x = onpu_float(e, b), matrix;
	uint32_t group = (uint32_t)(b->ne[2] / a->ne[2]);

	if (!e->check && onpu_weights_take(a))
		return onpu_emit_weights(e, a, x);
	if (a->ne[3] != b->ne[3] && (a->ne[3] != 1 || group != 1))
		return onpu_refuse(e, "a matrix is repeated in two dimensions, or in the fourth "
				      "from more than one");
	matrix = is_float ? onpu_float(e, a) : of_quantised(e, a);
	if (group != 1)
		x = x_reshape(e, x,
			      SHAPE((uint32_t)b->ne[3], (uint32_t)a->ne[2],
				    group * (uint32_t)b->ne[1], (uint32_t)b->ne[0]));
	return x_matmul(e, x, x_transpose(e, matrix, SHAPE(0, 1, 3, 2)));
}

/*
 * Returns the product of x, [T, K], and the transpose of matrix i of a, [N, K]. @all has the
 * operand of a if a graph computes a, or turns it into floats; else it is NULL, and each matrix is
 * an operand of its own.
 */
static WNNOperand expert(struct onpu_emit *e, const struct gg_tensor *a, WNNOperand all, int64_t i,
			 WNNOperand x)
{
	struct onpu_shape one = SHAPE((uint32_t)a->ne[1], (uint32_t)a->ne[0]);
	struct gg_tensor own = *a;

	if (all) {
		all = x_slice(e, all, SHAPE(0, (uint32_t)i, 0, 0),
			      SHAPE(1, 1, one.dim[0], one.dim[1]));
		return x_matmul(e, x, x_transpose(e, x_reshape(e, all, one), SHAPE(1, 0)));
	}
	own.ne[2] = 1;
	if (own.data)
		own.data = (char *)own.data + (size_t)i * own.nb[2];
	if (!e->check && onpu_weights_take(&own))
		return onpu_emit_weights(e, &own, x);
	return x_matmul(e, x, x_transpose(e, x_reshape(e, onpu_float(e, &own), one), SHAPE(1, 0)));
}

/* Returns a flag for each of @count experts: whether one of the indices names it. */
static WNNOperand used_experts(struct onpu_emit *e, WNNOperand indices, uint32_t rows,
			       uint32_t count)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	int32_t *numbers = calloc(count, sizeof(*numbers));
	uint32_t axis = 0;
	WNNOperand all;

	if (!numbers)
		return onpu_refuse(e, "memory is exhausted");
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = (int32_t)i;
	all = x_constant(e, WNNOperandDataType_Int32, SHAPE(1, count), numbers);
	free(numbers);
	all = x_binary(e, wnnGraphBuilderEqual, x_reshape(e, indices, SHAPE(rows, 1)), all);
	all = x_cast(e, all, WNNOperandDataType_Int32);
	options.axes = (WNNUint32Array){ 1, &axis };
	all = all ? wnnGraphBuilderReduceMax(e->builder, all, &options) : NULL;
	return x_cast(e, all, WNNOperandDataType_Uint8);
}

static WNNOperand x_where(struct onpu_emit *e, WNNOperand condition, WNNOperand a, WNNOperand b)
{
	return condition && a && b ? wnnGraphBuilderWhere(e->builder, condition, a, b, NULL) : NULL;
}

/*
 * Returns the products of rows of b, [T, U or 1, K], and of transposed matrices of a, [E, N, K],
 * which the indices, [T, U], select: [T, U, N]. All rows are multiplied with each matrix that is
 * selected at all; the CPU leaves out the others, since a flag of one element selects whether a
 * product counts.
 */
static WNNOperand emit_mul_mat_id(struct onpu_emit *e, const struct gg_tensor *op)
{
	const struct gg_tensor *a = op->src[0], *b = op->src[1], *ids = op->src[2];
	uint32_t tokens = (uint32_t)ids->ne[1], used = (uint32_t)ids->ne[0];
	uint32_t columns = (uint32_t)a->ne[1], each = (uint32_t)b->ne[1];
	struct onpu_shape whole = SHAPE(tokens, used, columns);
	bool is_float = onpu_data_type(a) != WNNOperandDataType_Undefined;
	struct gg_tensor first = *a;
	WNNOperand all = NULL, x = onpu_float(e, b), y, flags, indices = onpu_value(e, ids);

	if (a->ne[3] * b->ne[3] * ids->ne[2] * ids->ne[3] != 1 || a->ne[2] > MOST_EXPERTS)
		return onpu_refuse(e, "there are more than 512 experts, or batches of them");
	if (each != 1 && each != used)
		return onpu_refuse(e,
				   "rows are repeated otherwise than for all experts of a token");
	first.ne[2] = 1;
	if (!is_float && (e->check || !onpu_weights_take(&first)))
		all = of_quantised(e, a);
	else if (is_float && (a->view_src || onpu_value_has(e, a)))
		all = onpu_float(e, a);
	if (e->refusal)
		return NULL;
	x = x_reshape(e, x, SHAPE(tokens * each, (uint32_t)b->ne[0]));
	indices = x_reshape(e, indices, SHAPE(tokens, used, 1));
	flags = used_experts(e, indices, tokens * used, (uint32_t)a->ne[2]);
	y = x_expand(e, x_number(e, WNNOperandDataType_Float32, 0), whole);
	for (int64_t i = 0; i < a->ne[2]; i++) {
		WNNOperand product =
			x_reshape(e, expert(e, a, all, i, x), SHAPE(tokens, each, columns));
		WNNOperand is_own = x_binary(e, wnnGraphBuilderEqual, indices,
					     x_number(e, WNNOperandDataType_Int32, (double)i));
		WNNOperand flag = x_slice(e, flags, SHAPE((uint32_t)i), SHAPE(1));

		y = x_where(e, flag, x_where(e, is_own, product, y), y);
	}
	return y;
}

/* Returns the places of the elements of each row, in ascending or descending order. */
static WNNOperand emit_argsort(struct onpu_emit *e, const struct gg_tensor *op)
{
	WNNArgMinMaxDetails details = WNN_ARG_MIN_MAX_DETAILS_INIT;
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand x = onpu_float(e, op->src[0]);

	details.count = (uint32_t)op->ne[0];
	options.nextInChain = &details.chain;
	options.keepDimensions = true;
	options.outputDataType = WNNOperandDataType_Int32;
	if (!x)
		return NULL;
	return op->params[0] ? wnnGraphBuilderArgMax(e->builder, x, 3, &options) :
			       wnnGraphBuilderArgMin(e->builder, x, 3, &options);
}

/*
 * Returns rows of a batch of tables: these become one table, and indices count from its first row.
 */
static WNNOperand emit_get_rows(struct onpu_emit *e, const struct gg_tensor *op)
{
	const struct gg_tensor *table = op->src[0], *rows = op->src[1];
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x = onpu_value(e, table), indices = onpu_value(e, rows);
	struct onpu_shape shape = onpu_shape(rows);
	uint32_t batches = shape.dim[1] * shape.dim[2];

	if (shape.dim[0] != 1)
		return onpu_refuse(e, "the indices have four dimensions; three are the most");
	x = x_reshape(e, x, SHAPE(batches * (uint32_t)table->ne[1], (uint32_t)table->ne[0]));
	indices = x_reshape(e, indices, SHAPE(batches, shape.dim[3]));
	if (batches > 1) {
		int32_t *first = calloc(batches, sizeof(*first));

		if (!first)
			return onpu_refuse(e, "memory is exhausted");
		for (uint32_t i = 0; i < batches; i++)
			first[i] = (int32_t)(i * (uint32_t)table->ne[1]);
		indices = x_add(e, indices,
				x_constant(e, WNNOperandDataType_Int32, SHAPE(batches, 1), first));
		free(first);
	}
	return x && indices ? wnnGraphBuilderGather(e->builder, x, indices, &options) : NULL;
}

/* ---- operators that move elements */

static WNNOperand emit_concat(struct onpu_emit *e, const struct gg_tensor *op)
{
	return x_concat(e, onpu_value(e, op->src[0]), onpu_value(e, op->src[1]),
			3 - (uint32_t)op->params[0]);
}

static WNNOperand emit_repeat(struct onpu_emit *e, const struct gg_tensor *op)
{
	return x_expand(e, repeat(e, onpu_value(e, op->src[0]), op->src[0], op), onpu_shape(op));
}

static WNNOperand emit_copy(struct onpu_emit *e, const struct gg_tensor *op)
{
	return x_unary(e, wnnGraphBuilderIdentity,
		       x_cast(e, onpu_value(e, op->src[0]), onpu_data_type(op)));
}

/* ---- all */

static emit_function find_function(const char *name)
{
	static const struct {
		const char *name;
		emit_function function;
	} table[] = {
#define OP(name, function) { name, function },
#include "ops.def"
#undef OP
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return table[i].function;
	return NULL;
}

enum onpu_kind onpu_kind(const struct gg_tensor *op)
{
	static const char *const views[] = { "NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE" };
	const char *name = name_of(op);

	if (!name)
		return KIND_NONE;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (!strcmp(name, views[i]))
			return KIND_VIEW;
	if (onpu_can_move(op))
		return KIND_MOVE;
	return find_function(name) ? KIND_GRAPH : KIND_NONE;
}

WNNOperand onpu_emit_op(struct onpu_emit *e, const struct gg_tensor *op)
{
	WNNOperandDataType type = onpu_data_type(op);
	emit_function function = find_function(name_of(op));

	if (!function)
		return onpu_refuse(e, "the device does not compute this operator");
	if (type == WNNOperandDataType_Undefined)
		return onpu_refuse(e, "the type of the result is not f32, f16, i32 or i64");
	if (!onpu_is_contiguous(op))
		return onpu_refuse(e, "the result has gaps or another order of dimensions");
	return x_reshape(e, x_cast(e, function(e, op), type), onpu_shape(op));
}
