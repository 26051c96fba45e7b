// SPDX-License-Identifier: MIT
/*
 * Quantised tensors: translated to quantizeLinear and dequantizeLinear, which devices fuse into
 * integer arithmetic.
 */
#include <string.h>

#include "move.h"
#include "ops.h"

#define EXACT 258 /* a sum of 258 products of two integers up to 255 is below 2^24 */

/*
 * Returns a constant of any type of WebNN whose elements are all @number; NULL: refused, or no
 * memory.
 */
WNNOperand onnx_filled(struct onnx_node *node, WNNOperandDataType type,
		       const struct onnx_shape *shape, int64_t number)
{
	int own = (int)onnx_type_of(type);
	int64_t elements = onnx_shape_elements(shape);
	uint8_t *data;

	if (elements < 0 || onnx_work(node, (uint64_t)elements))
		return NULL;
	data = onnx_node_alloc(node, onnx_data_size(own, elements) + 1);
	for (int64_t i = 0; data && i < elements; i++)
		onnx_put_int(own, data, (size_t)i, number);
	return data ? x_constant(node, type, shape, data) : NULL;
}

/* Returns a scale or zero point with the rank of the tensor @like. A constant stays a constant. */
WNNOperand onnx_fit_scale(struct onnx_node *node, size_t input, const struct onnx_shape *like,
			  int64_t axis)
{
	struct onnx_shape shape = { like->rank, { 0 } }, own = *onnx_in_shape(node, input);
	struct onnx_value *value;

	if (!onnx_has(node, input) || node->inputs[input]->sequence ||
	    (own.rank == like->rank && own.rank != 1))
		return onnx_in(node, input);
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = 1;
	axis += axis < 0 ? like->rank : 0;
	if (onnx_shape_elements(&own) != 1) {
		if (axis < 0 || axis >= like->rank || own.rank != 1) {
			onnx_refuse(node, "axis",
				    "axis is %lld and input %zu has shape %s: a scale or zero "
				    "point must have one number, or one for each index of that "
				    "dimension of %s",
				    (long long)axis, input,
				    onnx_shape_text(node->import->arena, &own),
				    onnx_shape_text(node->import->arena, like));
			return NULL;
		}
		shape.dim[axis] = own.dim[0];
	}
	value = node->inputs[input];
	if (onnx_type_bits(value->type) < 8 && !value->data && !onnx_shape_same(&own, &shape)) {
		onnx_refuse_variable(node, input, "a zero point of four bits");
		return NULL;
	}
	value = onnx_move_reshape(node, value, &shape);
	return value ? onnx_operand(node, value) : NULL;
}

/*
 * Returns a zero point with the rank of the tensor @like; without the input, 0 in the shape of the
 * scale.
 */
static WNNOperand zero_point(struct onnx_node *node, size_t input, WNNOperand scale, int type,
			     const struct onnx_shape *like, int64_t axis)
{
	struct onnx_shape shape;

	if (onnx_has(node, input))
		return onnx_fit_scale(node, input, like, axis);
	if (!scale)
		return NULL;
	if (onnx_type_webnn(type) == WNNOperandDataType_Undefined) {
		onnx_refuse(node, "", "WebNN has no type for %s",
			    onnx_type_text(node->import->arena, type));
		return NULL;
	}
	shape = x_shape(scale);
	return onnx_filled(node, onnx_type_webnn(type), &shape, 0);
}

/* Returns an integer tensor as the floats that it stands for. With ONNX_NO_SCALE the scale is 1. */
WNNOperand onnx_dequantise_at(struct onnx_node *node, size_t input, size_t scale_at, size_t zero_at,
			      int64_t axis)
{
	WNNOperand x = onnx_in(node, input), scale, zero;
	struct onnx_shape shape, own, other;

	if (!x)
		return NULL;
	shape = x_shape(x);
	own = shape;
	for (uint32_t i = 0; i < own.rank; i++)
		own.dim[i] = 1;
	scale = scale_at == ONNX_NO_SCALE ? onnx_filled(node, WNNOperandDataType_Float32, &own, 1) :
					    onnx_fit_scale(node, scale_at, &shape, axis);
	zero = zero_point(node, zero_at, scale, onnx_in_type(node, input), &shape, axis);
	if (!scale || !zero)
		return NULL;
	/* WebNN wants scale and zero point in one shape. */
	own = x_shape(scale);
	other = x_shape(zero);
	if (!onnx_shape_same(&own, &other) && onnx_shape_broadcast(&own, &other, &own)) {
		scale = x_expand(node, scale, &own);
		zero = x_expand(node, zero, &own);
	}
	return wnnGraphBuilderDequantizeLinear(node->b, x, scale, zero, &node->options);
}

/*
 * Dequantises input @first, with the scale of input first + 1 and the zero point of input first +
 * 2.
 */
WNNOperand onnx_dequantise(struct onnx_node *node, size_t first, int64_t axis)
{
	return onnx_dequantise_at(node, first, first + 1, first + 2, axis);
}

/*
 * Quantises x with the scale of input @scale_at and the zero point of the input after that. The
 * type of the zero point is that of the result; @type if it is absent.
 */
WNNOperand onnx_quantise(struct onnx_node *node, WNNOperand x, size_t scale_at, int64_t axis,
			 int type)
{
	WNNOperand scale, zero;
	struct onnx_shape shape;

	if (!x)
		return NULL;
	shape = x_shape(x);
	scale = onnx_fit_scale(node, scale_at, &shape, axis);
	zero = zero_point(node, scale_at + 1, scale, type, &shape, axis);
	if (!scale || !zero)
		return NULL;
	return wnnGraphBuilderQuantizeLinear(
		node->b, x, x_cast(node, scale, wnnOperandGetDataType(x)), zero, &node->options);
}

/*
 * Converts a value that has one item for each block of a dimension to one item for each element;
 * the last block may be shorter. NULL: refused.
 */
static struct onnx_value *stretch(struct onnx_node *node, struct onnx_value *value, uint32_t axis,
				  int64_t block, int64_t size)
{
	struct onnx_shape shape = value->shape;
	int64_t inner = 1, own = shape.dim[axis], elements, *places;
	struct onnx_value *result;
	uint8_t *data;

	shape.dim[axis] = size;
	elements = onnx_shape_elements(&shape);
	if (elements < 0 || onnx_work(node, (uint64_t)elements))
		return NULL;
	if (!value->data) {
		places = onnx_node_alloc(node, (size_t)size * sizeof(*places));
		for (int64_t i = 0; places && i < size; i++)
			places[i] = i / block;
		return places ? onnx_value_of(node,
					      x_gather(node, onnx_operand(node, value),
						       x_constant_ints(node, (size_t)size, places),
						       axis),
					      value->type) :
				NULL;
	}
	result = onnx_new_value(node);
	data = onnx_node_alloc(node, onnx_data_size(value->type, elements) + 1);
	if (!result || !data)
		return NULL;
	for (uint32_t i = axis + 1; i < shape.rank; i++)
		inner *= shape.dim[i];
	for (int64_t i = 0; i < elements; i++) {
		int64_t outer = i / (size * inner), at = i / inner % size;

		onnx_copy_element(value->type, data, (size_t)i, value->data,
				  (size_t)((outer * own + at / block) * inner + i % inner));
	}
	*result = (struct onnx_value){ .type = value->type, .shape = shape, .data = data };
	return result;
}

/*
 * Handles a last block that is shorter than the others, which WebNN does not allow: replaces scale
 * and zero point, inputs 1 and 2, by one item for each element. Returns 0; -1: they do not fit the
 * shape, and the node is refused.
 */
static int stretch_blocks(struct onnx_node *node)
{
	int64_t block = onnx_attr_int(node, "block_size", 0), size;
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	uint32_t axis;

	if (block < 1 || !onnx_has(node, 0) || !onnx_has(node, 1))
		return 0;
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 1), shape.rank, &axis))
		return -1;
	size = shape.dim[axis];
	for (size_t i = 1; size % block && i < 3 && i < node->input_count; i++) {
		const struct onnx_shape *own = onnx_in_shape(node, i);

		if (!node->inputs[i] || node->inputs[i]->sequence)
			continue;
		if (own->rank != shape.rank || own->dim[axis] != size / block + 1)
			return onnx_refuse(node, "block_size",
					   "block_size is %lld: input %zu has shape %s, but a "
					   "scale or zero point needs %lld blocks along "
					   "dimension %u",
					   (long long)block, i,
					   onnx_shape_text(node->import->arena, own),
					   (long long)size / block + 1, axis);
		node->inputs[i] = stretch(node, node->inputs[i], axis, block, size);
		if (!node->inputs[i])
			return -1;
	}
	return 0;
}

int onnx_op_dequantize(struct onnx_node *node)
{
	int64_t axis = onnx_attr_int(node, "axis", 1);
	int type = (int)onnx_attr_int(node, "output_dtype", onnx_in_type(node, 1));
	WNNOperand x;

	if (stretch_blocks(node))
		return -1;
	if (!onnx_has(node, 1))
		return onnx_refuse(node, "", "input 1 is missing");
	if (!onnx_type_is_float(type))
		return onnx_attr(node, "output_dtype") ?
			       onnx_refuse(node, "output_dtype",
					   "output_dtype must be a type of floats") :
			       onnx_refuse(node, "", "the scale is of type %s instead of float",
					   onnx_type_text(node->import->arena, type));
	x = onnx_type_is_float(onnx_in_type(node, 0)) ? onnx_dequantise_few(node, axis) :
							onnx_dequantise(node, 0, axis);
	return onnx_out_as(node, 0, x ? x_cast(node, x, onnx_type_webnn(type)) : NULL, type);
}

int onnx_op_quantize(struct onnx_node *node)
{
	int type = (int)onnx_attr_int(node, "output_dtype", 0);
	int64_t axis = onnx_attr_int(node, "axis", 1);
	WNNOperand x;

	if (stretch_blocks(node))
		return -1;
	type = onnx_has(node, 2) ? onnx_in_type(node, 2) : type ? type : ONNX_UINT8;
	if (onnx_type_webnn(type) == WNNOperandDataType_Undefined)
		return onnx_refuse(node, "output_dtype", "WebNN has no type for %s",
				   onnx_type_text(node->import->arena, type));
	x = onnx_type_is_carried(type) ? onnx_quantise_few(node, axis, type) :
					 onnx_quantise(node, onnx_in(node, 0), 1, axis, type);
	return onnx_out_as(node, 0, x, type);
}

int onnx_op_qlinear_matmul(struct onnx_node *node)
{
	WNNOperand a = onnx_dequantise(node, 0, -2), b = a ? onnx_dequantise(node, 3, -1) : NULL;

	return onnx_out(node, 0,
			b ? onnx_quantise(node, onnx_matmul(node, a, b), 6, -2,
					  onnx_in_type(node, 7)) :
			    NULL);
}

/*
 * Translates QLinearConv. The bias is an integer, with the product of the scales of image and
 * filter as its scale. With channels_last, which ONNX Runtime's optimiser sets for processors, the
 * channels of image and result are the last dimension; the filter has the order of ONNX all the
 * same.
 */
int onnx_op_qlinear_conv(struct onnx_node *node)
{
	bool last = onnx_attr_int(node, "channels_last", 0);
	WNNOperand x = onnx_dequantise(node, 0, last ? -1 : 1), w, bias = NULL, scale;

	w = x ? onnx_dequantise(node, 3, 0) : NULL;
	if (w && onnx_has(node, 8)) {
		struct onnx_shape shape = *onnx_in_shape(node, 8), one = { 1, { 1 } };

		scale = x_mul(node, x_reshape(node, onnx_in(node, 1), &one),
			      onnx_fit_scale(node, 4, &shape, 0));
		bias = x_mul(node, x_cast(node, onnx_in(node, 8), WNNOperandDataType_Float32),
			     scale);
	}
	if (!w)
		return onnx_out(node, 0, NULL);
	x = onnx_conv(node, last ? x_channels_first(node, x) : x, w, bias);
	x = last ? x_channels_last(node, x) : x;
	return onnx_out(node, 0, onnx_quantise(node, x, 6, last ? -1 : 1, onnx_in_type(node, 7)));
}

/* Whether only Casts to floats use the first output, in which case its integers may be rounded. */
static bool becomes_float(const struct onnx_node *node)
{
	const struct onnx_model *model = node->import->model;
	const Onnx__GraphProto *graph = model->proto->graph;
	const char *name;

	if (node->import->depth || !node->proto->n_output)
		return false;
	name = node->proto->output[0];
	/* The program may have chosen other outputs than those of the file. */
	for (size_t i = 0; i < model->output_count; i++)
		if (!strcmp(model->outputs[i]->name, name))
			return false;
	for (size_t i = 0; i < graph->n_node; i++) {
		struct onnx_node user = { .proto = graph->node[i] };
		bool cast = user.proto->op_type && !strcmp(user.proto->op_type, "Cast") &&
			    onnx_type_is_float((int)onnx_attr_int(&user, "to", 0));

		/* The graph of a node may use the name, too. */
		for (size_t k = 0; k < user.proto->n_attribute; k++)
			if (user.proto->attribute[k]->g)
				return false;
		for (size_t k = 0; k < user.proto->n_input; k++)
			if (!cast && !strcmp(user.proto->input[k], name))
				return false;
	}
	return true;
}

/*
 * Returns how many of @size terms, each of which is the sum of @each products, have a sum that is
 * exact in float32: at most @size.
 */
static int64_t exact_terms(int64_t size, int64_t each)
{
	int64_t terms = EXACT / each;

	return terms < size ? terms : size;
}

/*
 * Returns the convolution of integers with groups or large kernels as int32: the sum of
 * convolutions, each of which has some weights of each filter and 0 instead of the others.
 */
static WNNOperand conv_in_sums(struct onnx_node *node, WNNOperand x, WNNOperand filter)
{
	struct onnx_shape shape = x_shape(filter);
	WNNOperand sum = NULL;
	int64_t size, terms;

	shape.dim[0] = 1;
	size = onnx_shape_elements(&shape);
	terms = exact_terms(size, 1);
	if (onnx_unroll(node, 4 * (uint64_t)((size + terms - 1) / terms)))
		return NULL;
	for (int64_t at = 0; at < size; at += terms) {
		float *left = onnx_node_alloc(node, (size_t)size * sizeof(*left));
		WNNOperand y = filter;

		if (!left || onnx_work(node, (uint64_t)size))
			return NULL;
		for (int64_t i = 0; i < size; i++)
			left[i] = i >= at && i < at + terms ? 1 : 0;
		if (terms < size)
			y = x_mul(node, y,
				  x_constant(node, WNNOperandDataType_Float32, &shape, left));
		y = x_cast(node, onnx_conv(node, x, y, NULL), WNNOperandDataType_Int32);
		sum = sum ? x_add(node, sum, y) : y;
		if (!sum)
			return NULL;
	}
	return sum;
}

/*
 * Returns the product of integers as int32. Sums that may reach 2^24, where float32 has gaps, are
 * computed as partial sums, which are added as int32.
 */
static WNNOperand product_in_sums(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	bool conv = node->op->variant;
	struct onnx_shape left = x_shape(a), right = x_shape(b);
	uint32_t from = conv ? 1 : left.rank - 1,
		 to = conv || right.rank < 2 ? conv : right.rank - 2;
	int64_t size = left.dim[from], each = 1, terms;
	WNNOperand sum = NULL;

	for (uint32_t i = 2; conv && i < right.rank; i++)
		each *= right.dim[i];
	if (each > EXACT || (conv && right.dim[1] != size))
		return conv_in_sums(node, a, b);
	terms = exact_terms(size, each);
	if (onnx_unroll(node, 4 * (uint64_t)((size + terms - 1) / terms)))
		return NULL;
	for (int64_t at = 0; at < size; at += terms) {
		int64_t count = at + terms < size ? terms : size - at;
		WNNOperand x = x_slice_axis(node, a, from, at, count, 1);
		WNNOperand y = x_slice_axis(node, b, to, at, count, 1);

		x = conv ? onnx_conv(node, x, y, NULL) : onnx_matmul(node, x, y);
		x = x_cast(node, x, WNNOperandDataType_Int32);
		sum = sum ? x_add(node, sum, x) : x;
		if (!sum)
			return NULL;
	}
	return sum;
}

/* Whether the operands have a common dimension that product_in_sums() can divide. */
static bool can_divide(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	struct onnx_shape left = x_shape(a), right = x_shape(b);

	if (node->op->variant)
		return left.rank > 2 && left.rank == right.rank;
	return left.rank && right.rank &&
	       left.dim[left.rank - 1] == right.dim[right.rank > 1 ? right.rank - 2 : 0];
}

/*
 * Translates MatMulInteger and ConvInteger: integers minus their zero points, computed in float32.
 * A result that is only cast to floats is one product, which the compiler fuses with scales; this
 * product is exact only while its sums are below 2^24. All other results are exact.
 */
int onnx_op_integer_product(struct onnx_node *node)
{
	bool conv = node->op->variant;
	WNNOperand a = onnx_dequantise_at(node, 0, ONNX_NO_SCALE, 2, conv ? 1 : -2), b;

	b = a ? onnx_dequantise_at(node, 1, ONNX_NO_SCALE, 3, conv ? 0 : -1) : NULL;

	if (!b)
		return onnx_out(node, 0, NULL);
	if (can_divide(node, a, b) && !becomes_float(node))
		return onnx_out(node, 0, product_in_sums(node, a, b));
	a = conv ? onnx_conv(node, a, b, NULL) : onnx_matmul(node, a, b);
	return onnx_out(node, 0, a ? x_cast(node, a, WNNOperandDataType_Int32) : NULL);
}

/* Returns @number with the rank of x and dimensions of 1, as quantizeLinear wants. */
static WNNOperand with_rank(struct onnx_node *node, WNNOperand x, WNNOperand number)
{
	struct onnx_shape ones = { x_shape(x).rank, { 0 } };

	for (uint32_t i = 0; i < ones.rank; i++)
		ones.dim[i] = 1;
	return x_reshape(node, number, &ones);
}

int onnx_range(struct onnx_node *node, WNNOperand x, struct onnx_dynamic *d)
{
	uint32_t axes[ONNX_MAX_RANK], rank = x_shape(x).rank;
	WNNOperand low, high;

	for (uint32_t i = 0; i < rank; i++)
		axes[i] = i;
	low = x_min(node, x_reduce(node, X_MIN, x, rank, axes, false), x_like(node, x, 0));
	high = x_max(node, x_reduce(node, X_MAX, x, rank, axes, false), x_like(node, x, 0));
	d->scale = x_div(node, x_sub(node, high, low), x_like(node, x, 255));
	d->zero = x_round(node, x_clamp(node, x_div(node, x_neg(node, low), d->scale), 0, 255));
	d->zero = x_cast(node, d->zero, WNNOperandDataType_Uint8);
	d->full_scale = with_rank(node, x, d->scale);
	d->full_zero = with_rank(node, x, d->zero);
	if (!d->full_scale || !d->full_zero)
		return -1;
	d->integers = wnnGraphBuilderQuantizeLinear(node->b, x, d->full_scale, d->full_zero,
						    &node->options);
	return d->integers ? 0 : -1;
}

/*
 * Sets the outputs of DynamicQuantizeLinear for no elements: their range is 0 to 0, for which the
 * scale is 1, as in ONNX Runtime, and the zero point 0. Returns 0 or -1.
 */
static int quantise_nothing(struct onnx_node *node)
{
	struct onnx_shape single = { 0 };
	float *scale = onnx_out_constant(node, 1, ONNX_FLOAT, &single);
	uint8_t *zero = scale ? onnx_out_constant(node, 2, ONNX_UINT8, &single) : NULL;

	if (!zero)
		return -1;
	*scale = 1;
	*zero = 0;
	return onnx_out_empty(node, 0, ONNX_UINT8, onnx_in_shape(node, 0));
}

int onnx_op_dynamic_quantize(struct onnx_node *node)
{
	struct onnx_dynamic d;
	WNNOperand x;

	if (onnx_is_empty(node, 0))
		return quantise_nothing(node);
	x = onnx_in(node, 0);
	if (!x || onnx_range(node, x, &d) || onnx_out(node, 0, d.integers) ||
	    onnx_out(node, 1, d.scale))
		return -1;
	return onnx_out(node, 2, d.zero);
}
