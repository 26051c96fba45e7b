// SPDX-License-Identifier: MIT
/*
 * Scatter operators. With a reduction, indices may repeat: every element of the result is compared
 * with all updates, which takes elements times updates comparisons.
 */
#include <string.h>

#include "ops.h"
#include "select.h"

#define MAX_COMPARISONS ((int64_t)1 << 26)

static const char *const reductions[] = { "none", "add", "mul", "max", "min" };
enum reduction { NONE, ADD, MUL, MAX, MIN };

static WNNOperand combine(struct onnx_node *node, enum reduction how, WNNOperand a, WNNOperand b)
{
	return how == ADD ? x_add(node, a, b) :
	       how == MUL ? x_mul(node, a, b) :
	       how == MAX ? x_max(node, a, b) :
			    x_min(node, a, b);
}

static WNNOperand neutral(struct onnx_node *node, enum reduction how, WNNOperandDataType type)
{
	return how == ADD || how == MUL ? x_number(node, type, how == MUL) :
					  onnx_extreme(node, type, how == MIN);
}

/*
 * Reduces updates [a, updates, b] to [a, elements, b] and returns x combined with the result; NULL:
 * refused, as for too many comparisons. Indices [a, updates, 1] or [a, updates, b] name the element
 * of each update.
 */
static WNNOperand reduce_into(struct onnx_node *node, enum reduction how, WNNOperand x,
			      WNNOperand indices, WNNOperand updates)
{
	static const enum x_reduction kinds[] = { X_SUM, X_SUM, X_PRODUCT, X_MAX, X_MIN };
	WNNOperandDataType type;
	struct onnx_shape shape;
	int64_t elements;
	WNNOperand hit;

	if (!x || !indices || !updates)
		return NULL;
	type = wnnOperandGetDataType(x);
	shape = x_shape(updates);
	elements = x_shape(x).dim[1];
	if (onnx_shape_elements(&shape) > MAX_COMPARISONS / elements) {
		onnx_refuse(node, "reduction",
			    "a reduction of %s into %lld elements is too big: the product is at "
			    "most %lld",
			    onnx_shape_text(node->import->arena, &shape), (long long)elements,
			    (long long)MAX_COMPARISONS);
		return NULL;
	}
	hit = x_equal(node, x_unsqueeze(node, indices, 1), onnx_iota(node, 4, 1, elements));
	hit = x_where(node, hit, x_unsqueeze(node, updates, 1), neutral(node, how, type));
	hit = x_reduce1(node, kinds[how], hit, 2, false);
	return combine(node, how, x, hit);
}

/* Returns x in a wider type when WebNN does not reduce the type of x. */
static WNNOperand widen(struct onnx_node *node, WNNOperand x)
{
	WNNOperandDataType type = wnnOperandGetDataType(x);

	return type == WNNOperandDataType_Int8 || type == WNNOperandDataType_Uint8 ?
		       x_cast(node, x, WNNOperandDataType_Int32) :
		       x;
}

/*
 * Returns the indices as int32; negative ones, which count from the end, become indices from the
 * start.
 */
static WNNOperand from_start(struct onnx_node *node, WNNOperand indices, int64_t size)
{
	WNNOperand zero = x_integer(node, WNNOperandDataType_Int32, 0);

	indices = x_cast(node, indices, WNNOperandDataType_Int32);
	return x_where(node, x_less(node, indices, zero),
		       x_add(node, indices, x_integer(node, WNNOperandDataType_Int32, size)),
		       indices);
}

static WNNOperand reduce_elements(struct onnx_node *node, enum reduction how, WNNOperand x,
				  WNNOperand indices, WNNOperand updates, uint32_t axis)
{
	struct onnx_shape shape = x_shape(x), flat = { 3, { 1, shape.dim[axis], 1 } }, more;

	for (uint32_t i = 0; i < shape.rank; i++)
		if (i != axis)
			flat.dim[i < axis ? 0 : 2] *= shape.dim[i];
	more = flat;
	more.dim[1] = x_shape(indices).dim[axis];
	indices = from_start(node, x_reshape(node, indices, &more), shape.dim[axis]);
	x = reduce_into(node, how, x_reshape(node, x, &flat), indices,
			x_reshape(node, updates, &more));
	return x_reshape(node, x, &shape);
}

/* Returns x with @part in place of its first elements along each dimension. */
static WNNOperand restore(struct onnx_node *node, WNNOperand x, WNNOperand part)
{
	struct onnx_shape whole = x_shape(x), have = x_shape(part);
	int64_t start[ONNX_MAX_RANK] = { 0 };

	for (uint32_t i = whole.rank; part && i--;) {
		struct onnx_shape size = have;

		if (have.dim[i] == whole.dim[i])
			continue;
		start[i] = have.dim[i];
		size.dim[i] = whole.dim[i] - have.dim[i];
		part = x_concat(node, 2,
				(WNNOperand[]){ part, x_slice(node, x, start, size.dim, NULL) }, i);
		start[i] = 0;
		have.dim[i] = whole.dim[i];
	}
	return part;
}

static int scatter_elements(struct onnx_node *node, enum reduction how, WNNOperand x,
			    WNNOperand indices, WNNOperand updates)
{
	static const int64_t start[ONNX_MAX_RANK];
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), size = x_shape(indices), same = x_shape(updates);
	WNNOperand part;

	if (shape.rank != size.rank || !onnx_shape_same(&size, &same))
		return onnx_refuse(
			node, "", "the shapes of its inputs do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), shape.rank, &options.axis))
		return -1;
	for (uint32_t i = 0; i < shape.rank; i++)
		if (i != options.axis && size.dim[i] > shape.dim[i])
			return onnx_refuse(node, "indices",
					   "indices is longer than the input in dimension %u", i);
	options.label = node->options.label;
	size.dim[options.axis] = shape.dim[options.axis];
	part = x_slice(node, x, start, size.dim, NULL);
	if (!part)
		return onnx_out(node, 0, NULL);
	part = how ? reduce_elements(node, how, part, indices, updates, options.axis) :
		     wnnGraphBuilderScatterElements(node->b, part, indices, updates, &options);
	part = part ? restore(node, x, part) : NULL;
	part = part ? x_cast(node, part, onnx_type_webnn(onnx_in_type(node, 0))) : NULL;
	return onnx_out_as(node, 0, part, onnx_in_type(node, 0));
}

/*
 * Reduces for ScatterND: merges the dimensions that a tuple of indices selects from into one.
 * Returns x with the updates; NULL: refused.
 */
static WNNOperand reduce_nd(struct onnx_node *node, enum reduction how, WNNOperand x,
			    WNNOperand indices, WNNOperand updates)
{
	struct onnx_shape shape = x_shape(x), tuples = x_shape(indices), flat, line, more;
	uint32_t last = tuples.rank - 1;
	int64_t stride = 1, count, length;
	WNNOperand sum = NULL;

	if (!tuples.rank || tuples.dim[last] > shape.rank) {
		onnx_refuse(node, "indices", "indices has more items than the input dimensions");
		return NULL;
	}
	length = tuples.dim[last];
	count = onnx_shape_elements(&tuples) / length;
	for (int64_t i = length; i--; stride *= shape.dim[i]) {
		WNNOperand one = x_slice_axis(node, indices, last, i, 1, 1);

		one = from_start(node, one, shape.dim[i]);
		one = x_mul(node, one, x_integer(node, WNNOperandDataType_Int32, stride));
		sum = sum ? x_add(node, sum, one) : one;
	}
	flat = (struct onnx_shape){ 3, { 1, stride, onnx_shape_elements(&shape) / stride } };
	line = (struct onnx_shape){ 3, { 1, count, 1 } };
	more = (struct onnx_shape){ 3, { 1, count, flat.dim[2] } };
	x = reduce_into(node, how, x_reshape(node, x, &flat), x_reshape(node, sum, &line),
			x_reshape(node, updates, &more));
	return x_reshape(node, x, &shape);
}

int onnx_op_scatter(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), indices, updates;
	int how = onnx_attr_choice(node, "reduction", "none", reductions, MIN + 1);

	if (how < 0 || !x || !(indices = onnx_in(node, 1)) || !(updates = onnx_in(node, 2)))
		return -1;
	if (how) {
		x = widen(node, x);
		updates = widen(node, updates);
	}
	if (!x || !updates)
		return onnx_out(node, 0, NULL);
	if (!node->op->variant)
		return scatter_elements(node, (enum reduction)how, x, indices, updates);
	x = how ? reduce_nd(node, (enum reduction)how, x, indices, updates) :
		  wnnGraphBuilderScatterND(node->b, x, indices, updates, &node->options);
	x = x ? x_cast(node, x, onnx_type_webnn(onnx_in_type(node, 0))) : NULL;
	if (onnx_out_as(node, 0, x, onnx_in_type(node, 0)))
		return -1;
	if (!how)
		onnx_note_update(node, 0, 0);
	return 0;
}
