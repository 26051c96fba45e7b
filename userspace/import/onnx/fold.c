// SPDX-License-Identifier: MIT
/*
 * Computes small constants at import; exported models compute shapes with these operators. Each
 * function onnx_fold_...() returns 0; -1: refused; 1: the constants are too big or the operator is
 * not computed here, and the node becomes an operator of the graph.
 */
#include <math.h>
#include <string.h>

#include "carrier.h"
#include "move.h"
#include "ops.h"

static bool all_small(const struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++)
		if (node->inputs[i] &&
		    (node->inputs[i]->sequence || !onnx_is_small(node->inputs[i])))
			return false;
	return node->input_count && node->inputs[0];
}

static double unary(int variant, double x)
{
	switch (variant) {
	case U_ABS:
		return fabs(x);
	case U_CEIL:
		return ceil(x);
	case U_FLOOR:
		return floor(x);
	case U_NEG:
		return -x;
	case U_RECIPROCAL:
		return 1 / x;
	case U_ROUND:
		return nearbyint(x);
	case U_RELU:
		return x < 0 ? 0 : x;
	case U_SIGN:
		return (x > 0) - (x < 0);
	case U_SQRT:
		return sqrt(x);
	case U_EXP:
		return exp(x);
	case U_LOG:
		return log(x);
	default:
		return x == 0;
	}
}

int onnx_fold_unary(struct onnx_node *node)
{
	int variant = node->op->variant;
	const struct onnx_value *x = node->inputs[0];
	int64_t elements;
	void *data;

	if (!all_small(node) ||
	    !(variant <= U_ABS || variant == U_CEIL || variant == U_FLOOR || variant == U_NEG ||
	      variant == U_RECIPROCAL || variant == U_ROUND || variant == U_SIGN ||
	      variant == U_RELU || variant == U_SQRT || variant == U_EXP || variant == U_LOG ||
	      variant == U_NOT))
		return 1;
	elements = onnx_shape_elements(&x->shape);
	data = onnx_out_constant(node, 0, x->type, &x->shape);
	for (int64_t i = 0; data && i < elements; i++) {
		size_t at = (size_t)i;
		int64_t n;

		if (onnx_type_is_float(x->type)) {
			onnx_put_float(x->type, data, at, unary(variant, onnx_value_float(x, at)));
			continue;
		}
		n = onnx_value_int(x, at);
		n = variant == U_NEG || (variant == U_ABS && n < 0 && x->type != ONNX_UINT64) ?
			    (int64_t)(0 - (uint64_t)n) :
		    variant == U_RELU && n < 0 && x->type != ONNX_UINT64 ? 0 :
		    variant == U_SIGN					 ? (n > 0) - (n < 0) :
		    variant == U_NOT					 ? !n :
									   n;
		onnx_put_int(x->type, data, at, n);
	}
	return data ? 0 : -1;
}

static double binary_float(int variant, double a, double b)
{
	switch (variant) {
	case B_ADD:
	case B_MEAN:
		return a + b;
	case B_SUB:
		return a - b;
	case B_MUL:
		return a * b;
	case B_DIV:
		return a / b;
	case B_MAX:
		return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
	case B_MIN:
		return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
	case B_POW:
		return pow(a, b);
	case B_EQUAL:
		return a == b;
	case B_GREATER:
		return a > b;
	case B_GREATER_OR_EQUAL:
		return a >= b;
	case B_LESS:
		return a < b;
	default:
		return a <= b;
	}
}

/*
 * Computes one integer of an operator. Integers wrap around. A division by 0 gives 0, and so does
 * its remainder.
 */
static int64_t binary_int(int variant, bool truncate, int64_t a, int64_t b)
{
	int64_t rest;

	switch (variant) {
	case B_ADD:
	case B_MEAN:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case B_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case B_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case B_DIV:
		return !b ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
	case B_MOD:
		rest = !b || b == -1 ? 0 : a % b;
		return rest && !truncate && (rest < 0) != (b < 0) ? rest + b : rest;
	case B_MAX:
		return a > b ? a : b;
	case B_MIN:
		return a < b ? a : b;
	case B_AND:
		return a && b;
	case B_OR:
		return a || b;
	case B_XOR:
		return !a != !b;
	default:
		return (int64_t)binary_float(variant, (double)a, (double)b);
	}
}

/*
 * Returns the index of the element of a broadcast operand that element @index of the result uses.
 */
static size_t broadcast_at(const struct onnx_shape *shape, const struct onnx_shape *own,
			   size_t index)
{
	size_t at = 0, step = 1;

	for (uint32_t i = shape->rank, k = own->rank; i-- && k--;) {
		size_t digit = index % (size_t)shape->dim[i];

		index /= (size_t)shape->dim[i];
		at += own->dim[k] == 1 ? 0 : digit * step;
		step *= (size_t)own->dim[k];
	}
	return at;
}

static struct onnx_value *binary(struct onnx_node *node, struct onnx_value *a, struct onnx_value *b)
{
	int variant = node->op->variant, type = variant >= B_EQUAL ? ONNX_BOOL : a->type;
	bool truncate = onnx_attr_int(node, "fmod", 0);
	struct onnx_shape shape;
	int64_t elements;
	void *data;

	if (!onnx_shape_broadcast(&a->shape, &b->shape, &shape)) {
		onnx_refuse(node, "", "%s and %s cannot be broadcast",
			    onnx_shape_text(node->import->arena, &a->shape),
			    onnx_shape_text(node->import->arena, &b->shape));
		return NULL;
	}
	elements = onnx_shape_elements(&shape);
	data = onnx_out_constant(node, 0, type, &shape);
	for (int64_t i = 0; data && i < elements; i++) {
		size_t at = broadcast_at(&shape, &a->shape, (size_t)i);
		size_t bt = broadcast_at(&shape, &b->shape, (size_t)i);

		if (onnx_type_is_float(a->type))
			onnx_put_float(type, data, (size_t)i,
				       binary_float(variant, onnx_value_float(a, at),
						    onnx_value_float(b, bt)));
		else
			onnx_put_int(type, data, (size_t)i,
				     binary_int(variant, truncate, onnx_value_int(a, at),
						onnx_value_int(b, bt)));
	}
	return data ? node->outputs[0] : NULL;
}

int onnx_fold_binary(struct onnx_node *node)
{
	struct onnx_value *sum = node->inputs[0];
	int variant = node->op->variant;

	if (!all_small(node) || node->version < 7 || sum->type == ONNX_UINT64 ||
	    variant == B_MEAN || (variant == B_MOD && onnx_type_is_float(sum->type)))
		return 1;
	for (size_t i = 1; i < node->input_count; i++)
		if (!node->inputs[i] || (variant != B_POW && node->inputs[i]->type != sum->type))
			return 1;
	if (node->input_count == 1)
		return onnx_out_value(node, 0, sum);
	for (size_t i = 1; sum && i < node->input_count; i++)
		sum = binary(node, sum, node->inputs[i]);
	return sum ? 0 : -1;
}

int onnx_fold_where(struct onnx_node *node)
{
	struct onnx_shape shape;
	const struct onnx_value *source;
	int64_t elements;
	uint8_t *data;
	size_t size;

	if (!all_small(node) || node->input_count != 3 || !node->inputs[1] || !node->inputs[2] ||
	    node->inputs[1]->type != node->inputs[2]->type)
		return 1;
	if (!onnx_shape_broadcast(&node->inputs[1]->shape, &node->inputs[2]->shape, &shape) ||
	    !onnx_shape_broadcast(&shape, &node->inputs[0]->shape, &shape))
		return onnx_refuse(
			node, "", "the shapes of its inputs cannot be broadcast: the inputs are %s",
			onnx_inputs_text(node));
	elements = onnx_shape_elements(&shape);
	size = onnx_type_bits(node->inputs[1]->type) / 8;
	data = onnx_out_constant(node, 0, node->inputs[1]->type, &shape);
	for (int64_t i = 0; data && i < elements; i++) {
		size_t at = broadcast_at(&shape, &node->inputs[0]->shape, (size_t)i);

		source = node->inputs[onnx_value_int(node->inputs[0], at) ? 1 : 2];
		at = broadcast_at(&shape, &source->shape, (size_t)i);
		memcpy(data + (size_t)i * size, (const uint8_t *)source->data + at * size, size);
	}
	return data ? 0 : -1;
}

int onnx_fold_cast(struct onnx_node *node)
{
	const struct onnx_value *x = node->inputs[0];
	int rounding = onnx_rounding_of(node);
	bool saturate = onnx_saturates(node);
	int64_t to, elements;
	void *data;

	if (rounding < 0)
		return -1;
	if (!x || x->sequence || !x->data || onnx_shape_elements(&x->shape) > ONNX_SMALL ||
	    (node->op->variant && !onnx_has(node, 1)))
		return 1;
	to = node->op->variant ? node->inputs[1]->type : onnx_attr_int(node, "to", 0);
	if (to <= 0 || to > ONNX_FLOAT6E3M2 || !onnx_type_bits((int)to))
		return 1;
	elements = onnx_shape_elements(&x->shape);
	data = onnx_out_constant(node, 0, (int)to, &x->shape);
	for (int64_t i = 0; data && i < elements; i++) {
		if (onnx_type_is_float(x->type) || onnx_type_is_float((int)to))
			onnx_put_rounded((int)to, data, (size_t)i, onnx_value_float(x, (size_t)i),
					 saturate, (enum onnx_rounding)rounding);
		else
			onnx_put_int((int)to, data, (size_t)i, onnx_value_int(x, (size_t)i));
	}
	return data ? 0 : -1;
}

/*
 * Computes the product, sum, maximum or minimum of a vector of constant integers, by which models
 * compute the sizes of flattened tensors. Returns 0; -1: an error; 1: the node is no such
 * reduction, and becomes an operator of the graph.
 */
int onnx_fold_reduce(struct onnx_node *node)
{
	const struct onnx_value *x = node->inputs[0];
	enum x_reduction kind = (enum x_reduction)node->op->variant;
	struct onnx_shape shape = { 0 };
	int64_t elements, sum = kind == X_PRODUCT;
	void *data;

	if (!all_small(node) || onnx_type_is_float(x->type) || x->shape.rank != 1 ||
	    !x->shape.dim[0] || x->type == ONNX_UINT64 ||
	    (kind != X_PRODUCT && kind != X_SUM && kind != X_MAX && kind != X_MIN) ||
	    (node->input_count > 1 && node->inputs[1] && !node->inputs[1]->shape.dim[0]) ||
	    onnx_attr_int(node, "noop_with_empty_axes", 0))
		return 1;
	elements = onnx_shape_elements(&x->shape);
	if (onnx_attr_int(node, "keepdims", 1))
		shape = (struct onnx_shape){ 1, { 1 } };
	for (int64_t i = 0; i < elements; i++) {
		int64_t n = onnx_value_int(x, (size_t)i);

		sum = kind == X_PRODUCT		   ? (int64_t)((uint64_t)sum * (uint64_t)n) :
		      kind == X_SUM		   ? (int64_t)((uint64_t)sum + (uint64_t)n) :
		      !i			   ? n :
		      (kind == X_MAX) == (n > sum) ? n :
						     sum;
	}
	data = onnx_out_constant(node, 0, x->type, &shape);
	if (data)
		onnx_put_int(x->type, data, 0, sum);
	return data ? 0 : -1;
}

/*
 * Computes Clip of small constants, with which models limit sizes. Returns 0; -1: an error; 1: the
 * inputs are no such constants, and the node becomes an operator of the graph.
 */
int onnx_fold_clip(struct onnx_node *node)
{
	const struct onnx_value *x = node->inputs[0], *bound;
	int64_t elements;
	void *data;

	if (!all_small(node) || node->version < 11 || x->type == ONNX_UINT64)
		return 1;
	for (size_t i = 1; i < node->input_count; i++)
		if (node->inputs[i] && onnx_shape_elements(&node->inputs[i]->shape) != 1)
			return 1;
	elements = onnx_shape_elements(&x->shape);
	data = onnx_out_constant(node, 0, x->type, &x->shape);
	for (int64_t i = 0; data && i < elements; i++) {
		double number = onnx_value_float(x, (size_t)i);
		int64_t whole = onnx_value_int(x, (size_t)i);

		for (size_t k = 1; k < 3 && k < node->input_count; k++) {
			bound = node->inputs[k];
			if (!bound)
				continue;
			if ((k == 1) == (number < onnx_value_float(bound, 0)))
				number = onnx_value_float(bound, 0);
			if ((k == 1) == (whole < onnx_value_int(bound, 0)))
				whole = onnx_value_int(bound, 0);
		}
		if (onnx_type_is_float(x->type))
			onnx_put_float(x->type, data, (size_t)i, number);
		else
			onnx_put_int(x->type, data, (size_t)i, whole);
	}
	return data ? 0 : -1;
}

int onnx_fold_range(struct onnx_node *node)
{
	struct onnx_shape shape = { 1, { 0 } };
	double start = 0, limit = 0, delta = 1, count;
	int64_t first, step;
	void *data;
	int type;

	/* In com.microsoft's domain delta may be absent; the step is then 1. */
	if (!onnx_has(node, 0) || !onnx_has(node, 1) || (!onnx_has(node, 2) && !*node->op->domain))
		return onnx_refuse(node, "", "start, limit or delta is missing");
	if (onnx_in_float(node, 0, "start", &start) || onnx_in_float(node, 1, "limit", &limit) ||
	    onnx_in_float(node, 2, "delta", &delta))
		return -1;
	count = ceil((limit - start) / delta);
	if (delta == 0 || isnan(count) || count > 1e9)
		return onnx_refuse(
			node, "delta",
			"the range from %g to %g in steps of %g has no end, or over 10^9 elements",
			start, limit, delta);
	type = node->inputs[0]->type;
	first = onnx_value_int(node->inputs[0], 0);
	step = onnx_has(node, 2) ? onnx_value_int(node->inputs[2], 0) : 1;
	shape.dim[0] = count > 0 ? (int64_t)count : 0;
	data = onnx_out_constant(node, 0, type, &shape);
	for (int64_t i = 0; data && i < shape.dim[0]; i++) {
		if (onnx_type_is_float(type))
			onnx_put_float(type, data, (size_t)i, start + (double)i * delta);
		else
			onnx_put_int(type, data, (size_t)i,
				     (int64_t)((uint64_t)first + (uint64_t)i * (uint64_t)step));
	}
	return data ? 0 : -1;
}

int onnx_fold_non_zero(struct onnx_node *node)
{
	const struct onnx_value *x = node->inputs[0];
	struct onnx_shape shape = { 2, { 0 } };
	int64_t elements, found = 0, *data;

	if (!all_small(node))
		return onnx_refuse(node, "",
				   "it is computed at import, for inputs of up to %d elements",
				   ONNX_SMALL);
	elements = onnx_shape_elements(&x->shape);
	for (int64_t i = 0; i < elements; i++)
		shape.dim[1] += onnx_value_float(x, (size_t)i) != 0;
	shape.dim[0] = x->shape.rank;
	data = onnx_out_constant(node, 0, ONNX_INT64, &shape);
	for (int64_t i = 0; data && i < elements; i++) {
		int64_t rest = i;

		if (onnx_value_float(x, (size_t)i) == 0)
			continue;
		for (uint32_t k = x->shape.rank; k--; rest /= x->shape.dim[k])
			data[k * shape.dim[1] + found] = rest % x->shape.dim[k];
		found++;
	}
	return data ? 0 : -1;
}
