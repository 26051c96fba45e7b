// SPDX-License-Identifier: MIT
/*
 * Computes Unique at import, where the number of distinct elements must be known, because it is a
 * dimension of the result.
 */
#include <math.h>
#include <stdlib.h>

#include "move.h"
#include "ops.h"

struct unique {
	const struct onnx_value *x;
	/* @count slices along the axis, each of outer * inner elements, are compared */
	int64_t outer, count, inner;
};

struct item {
	const struct unique *u;
	int64_t index, group;
};

static int compare_elements(const struct onnx_value *x, size_t a, size_t b)
{
	double p = onnx_value_float(x, a), q = onnx_value_float(x, b);
	int64_t m = onnx_value_int(x, a), n = onnx_value_int(x, b);

	if (!onnx_type_is_float(x->type))
		return x->type == ONNX_UINT64 ?
			       ((uint64_t)m > (uint64_t)n) - ((uint64_t)m < (uint64_t)n) :
			       (m > n) - (m < n);
	/* NaN comes after all numbers, and all NaN are equal. */
	return isnan(p) || isnan(q) ? !isnan(q) - !isnan(p) : (p > q) - (p < q);
}

static int compare_slices(const struct unique *u, int64_t a, int64_t b)
{
	int result = 0;

	for (int64_t i = 0; !result && i < u->outer; i++)
		for (int64_t k = 0; !result && k < u->inner; k++)
			result = compare_elements(u->x, (size_t)((i * u->count + a) * u->inner + k),
						  (size_t)((i * u->count + b) * u->inner + k));
	return result;
}

static int by_value(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	int result = compare_slices(a->u, a->index, b->index);

	return result ? result : (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

/*
 * Numbers the slices so that equal slices have equal numbers; @firsts gets the first slice of each
 * number. Returns how many numbers there are.
 */
static int64_t group_slices(const struct unique *u, struct item *items, struct item *firsts)
{
	int64_t found = 0;

	for (int64_t i = 0; i < u->count; i++)
		items[i] = (struct item){ u, i, 0 };
	qsort(items, (size_t)u->count, sizeof(*items), by_value);
	for (int64_t i = 0; i < u->count; i++) {
		if (!i || compare_slices(u, items[i - 1].index, items[i].index)) {
			firsts[found] = (struct item){ u, items[i].index, found };
			found++;
		}
		items[i].group = found - 1;
	}
	return found;
}

static int make_outputs(struct onnx_node *node, const struct unique *u, struct item *items,
			struct item *firsts, int64_t found)
{
	struct onnx_shape some = { 1, { found } }, all = { 1, { u->count } };
	int64_t *data[3], *position = onnx_node_alloc(node, (size_t)found * sizeof(*position));

	if (!onnx_attr_int(node, "sorted", 1))
		qsort(firsts, (size_t)found, sizeof(*firsts), by_index);
	for (size_t i = 0; i < 3; i++)
		data[i] = onnx_out_constant(node, 1 + i, ONNX_INT64, i == 1 ? &all : &some);
	if (!position || !data[0] || !data[1] || !data[2])
		return -1;
	for (int64_t i = 0; i < found; i++) {
		data[0][i] = firsts[i].index;
		position[firsts[i].group] = i;
	}
	for (int64_t i = 0; i < u->count; i++) {
		data[1][items[i].index] = position[items[i].group];
		data[2][position[items[i].group]]++;
	}
	return 0;
}

int onnx_fold_unique(struct onnx_node *node)
{
	struct onnx_value *x = node->inputs[0], *indices, *y;
	struct unique u = { .outer = 1, .count = 1, .inner = 1 };
	struct onnx_shape flat = { 1, { 0 } };
	struct item *items, *firsts;
	uint32_t axis = 0;
	int64_t found;

	if (!x || x->sequence || !onnx_is_small(x))
		return onnx_refuse(node, "",
				   "it is computed at import, for inputs of up to %d elements",
				   ONNX_SMALL);
	if (!onnx_attr(node, "axis")) {
		flat.dim[0] = onnx_shape_elements(&x->shape);
		x = onnx_move_reshape(node, x, &flat);
	} else if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), x->shape.rank, &axis)) {
		return -1;
	}
	if (!x)
		return -1;
	for (uint32_t i = 0; i < x->shape.rank; i++)
		*(i < axis ? &u.outer : i > axis ? &u.inner : &u.count) *= x->shape.dim[i];
	u.x = x;
	items = onnx_node_alloc(node, (size_t)u.count * sizeof(*items) + 1);
	firsts = onnx_node_alloc(node, (size_t)u.count * sizeof(*firsts) + 1);
	indices = onnx_new_value(node);
	if (!items || !firsts || !indices)
		return -1;
	found = group_slices(&u, items, firsts);
	if (make_outputs(node, &u, items, firsts, found))
		return -1;
	flat.dim[0] = found;
	*indices = (struct onnx_value){ .type = ONNX_INT64, .shape = flat };
	indices->data = onnx_node_alloc(node, (size_t)found * sizeof(int64_t) + 1);
	for (int64_t i = 0; indices->data && i < found; i++)
		onnx_put_int(ONNX_INT64, (void *)indices->data, (size_t)i, firsts[i].index);
	y = indices->data ? onnx_move_gather(node, x, indices, axis) : NULL;
	return y ? onnx_out_value(node, 0, y) : -1;
}
