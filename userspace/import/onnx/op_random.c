// SPDX-License-Identifier: MIT
/* Operators that draw random numbers. The numbers are inputs of the graph. */
#include <string.h>

#include "ops.h"
#include "probe.h"

/* Returns a value that becomes an input of the graph when it is used; NULL: refused. */
static struct onnx_value *drawn(struct onnx_node *node, enum onnx_draw_kind kind, double a,
				double b, int type, const struct onnx_shape *shape)
{
	struct onnx_value *value = onnx_new_value(node);
	struct onnx_draw *draw = onnx_node_alloc(node, sizeof(*draw));
	const Onnx__AttributeProto *seed = onnx_attr(node, "seed");

	if (!value || !draw || onnx_probe_refuses_draw(node))
		return NULL;
	*draw = (struct onnx_draw){ .kind = kind, .a = a, .b = b };
	if (seed && seed->has_f)
		memcpy(&draw->own_seed, &seed->f, sizeof(draw->own_seed));
	value->type = type;
	value->shape = *shape;
	value->draw = draw;
	if (node->import->draws_nothing)
		value->operand = x_expand(node, x_number(node, onnx_type_webnn(type), 0), shape);
	return value;
}

/* Sets the shape from an attribute, or from the input. Returns 0 or -1. */
static int random_shape(struct onnx_node *node, bool like, struct onnx_shape *shape)
{
	const int64_t *given;
	size_t count;

	*shape = (struct onnx_shape){ 0 };
	if (like) {
		if (!onnx_has(node, 0) || node->inputs[0]->sequence)
			return onnx_refuse(node, "", "input 0 is missing");
		*shape = node->inputs[0]->shape;
		return 0;
	}
	given = onnx_attr_ints(node, "shape", &count);
	if (count > ONNX_MAX_RANK)
		return onnx_refuse(node, "shape", "the result would have %zu dimensions", count);
	for (size_t i = 0; i < count; i++)
		shape->dim[shape->rank++] = given[i];
	if (onnx_shape_is_too_big(shape))
		return onnx_too_big(node, "shape", shape);
	if (onnx_shape_elements(shape) < 0)
		return onnx_refuse(node, "shape", "the shape %s has a negative size",
				   onnx_shape_text(node->import->arena, shape));
	return 0;
}

int onnx_op_random(struct onnx_node *node)
{
	bool normal = node->op->variant & R_NORMAL, like = node->op->variant & R_LIKE;
	double a = onnx_attr_float(node, normal ? "mean" : "low", 0);
	double b = onnx_attr_float(node, normal ? "scale" : "high", 1);
	int type = (int)onnx_attr_int(node, "dtype", like ? onnx_in_type(node, 0) : ONNX_FLOAT);
	struct onnx_value *value;
	struct onnx_shape shape;

	if (random_shape(node, like, &shape))
		return -1;
	if (!onnx_type_is_float(type) || onnx_type_webnn(type) == WNNOperandDataType_Undefined)
		return onnx_refuse(node, "dtype", "random numbers of type %s are not supported",
				   onnx_type_text(node->import->arena, type));
	if (!onnx_shape_elements(&shape))
		value = onnx_empty_value(node, type, &shape);
	else
		value = drawn(node, normal ? DRAW_NORMAL : DRAW_UNIFORM, a, b, type, &shape);
	if (!value)
		return -1;
	/* When all numbers are equal, the result is a constant. */
	if (normal ? b == 0 : a == b)
		return onnx_out(node, 0,
				x_expand(node, x_number(node, onnx_type_webnn(type), a), &shape));
	return onnx_out_value(node, 0, value);
}

/* Translates Bernoulli: 1 with the probability that the input gives. */
int onnx_op_bernoulli(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), y;
	int type = (int)onnx_attr_int(node, "dtype", onnx_in_type(node, 0));
	struct onnx_value *value;
	struct onnx_shape shape;

	if (!x)
		return -1;
	if (onnx_type_webnn(type) == WNNOperandDataType_Undefined)
		return onnx_refuse(node, "dtype", "random numbers of type %s are not supported",
				   onnx_type_text(node->import->arena, type));
	shape = x_shape(x);
	value = drawn(node, DRAW_UNIFORM, 0, 1, ONNX_FLOAT, &shape);
	if (!value)
		return -1;
	y = x_less(node, onnx_operand(node, value), x_cast(node, x, WNNOperandDataType_Float32));
	return onnx_out_as(node, 0, y ? x_cast(node, y, onnx_type_webnn(type)) : NULL, type);
}

/* Translates Multinomial: the argmax of logits plus Gumbel noise is a sample. */
int onnx_op_multinomial(struct onnx_node *node)
{
	int64_t samples = onnx_attr_int(node, "sample_size", 1);
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	int type = (int)onnx_attr_int(node, "dtype", ONNX_INT32);
	WNNOperand x = onnx_in(node, 0);
	struct onnx_value *value;
	struct onnx_shape shape;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (shape.rank != 2)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 2",
				   shape.rank);
	if (samples < 1 || samples > ONNX_INDICES / shape.dim[0] / shape.dim[1])
		return onnx_refuse(node, "sample_size", "sample_size is %lld instead of 1 to %lld",
				   (long long)samples,
				   (long long)(ONNX_INDICES / shape.dim[0] / shape.dim[1]));
	if (type != ONNX_INT32 && type != ONNX_INT64)
		return onnx_refuse(
			node, "dtype",
			"samples of type %s are not supported: allowed are int32 and int64",
			onnx_type_text(node->import->arena, type));
	shape = (struct onnx_shape){ 3, { shape.dim[0], samples, shape.dim[1] } };
	value = drawn(node, DRAW_GUMBEL, 0, 1, ONNX_FLOAT, &shape);
	if (!value)
		return -1;
	x = x_unsqueeze(node, x_cast(node, x, WNNOperandDataType_Float32), 1);
	x = x_add(node, x, onnx_operand(node, value));
	options.label = node->options.label;
	options.outputDataType = onnx_type_webnn(type);
	return onnx_out(node, 0, x ? wnnGraphBuilderArgMax(node->b, x, 2, &options) : NULL);
}
