// SPDX-License-Identifier: MIT
/* Operations that move elements, reductions and products, as operators of WebNN. */
#include "lower.h"

#include <string.h>

#include "numbers.h"
#include "sharding.h"

static const struct shlo_type *type_of(const struct shlo_lower *l, size_t operand)
{
	return l->op->operands[operand]->type;
}

static const struct shlo_type *result_of(const struct shlo_lower *l)
{
	return l->op->results[0]->type;
}

static int ints(const struct shlo_lower *l, const char *name, int64_t *numbers)
{
	return (int)shlo_ints_of(shlo_attr_find(&l->op->attrs, name), numbers, SHLO_MAX_RANK);
}

/* reshape; bitcast_convert where a graph holds both types as the same. */
bool shlo_lower_reshaped(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *to = result_of(l);

	if (shlo_held_type(type_of(l, 0)->element) != shlo_held_type(to->element) ||
	    shlo_elements[to->element].bits != shlo_elements[type_of(l, 0)->element].bits)
		return false;
	if (l->b)
		*out = shlo_lower_reshape(l, shlo_lowered(l, 0), to->dims, to->rank);
	return true;
}

bool shlo_lower_barrier(struct shlo_lower *l, WNNOperand *out)
{
	if (l->b)
		*out = wnnGraphBuilderIdentity(l->b, shlo_lowered(l, 0), &l->options);
	return true;
}

bool shlo_lower_mark(struct shlo_lower *l, WNNOperand *out)
{
	bool gives;

	return shlo_is_mark(shlo_attr_text(l->op, "call_target_name", ""), &gives) &&
	       l->op->operand_count == 1 && shlo_lower_barrier(l, out);
}

bool shlo_lower_transposed(struct shlo_lower *l, WNNOperand *out)
{
	int64_t order[SHLO_MAX_RANK];
	int rank = ints(l, "permutation", order);

	if (l->b)
		*out = shlo_lower_transpose(l, shlo_lowered(l, 0), order, rank);
	return true;
}

bool shlo_lower_reverse(struct shlo_lower *l, WNNOperand *out)
{
	WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, dims, ints(l, "dimensions", dims));
	options.label = l->options.label;
	options.axes = sizes.array;
	if (l->b)
		*out = wnnGraphBuilderReverse(l->b, shlo_lowered(l, 0), &options);
	return true;
}

bool shlo_lower_concatenate(struct shlo_lower *l, WNNOperand *out)
{
	WNNOperand inputs[64];

	if (l->op->operand_count > 64)
		return false;
	for (size_t i = 0; l->b && i < l->op->operand_count; i++)
		inputs[i] = shlo_lowered(l, i);
	if (l->b)
		*out = wnnGraphBuilderConcat(l->b, l->op->operand_count, inputs,
					     (uint32_t)shlo_attr_int(l->op, "dimension", 0),
					     &l->options);
	return true;
}

bool shlo_lower_slice(struct shlo_lower *l, WNNOperand *out)
{
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	int64_t start[SHLO_MAX_RANK], limit[SHLO_MAX_RANK], stride[SHLO_MAX_RANK];
	struct shlo_sizes starts, sizes, strides;
	int rank = type_of(l, 0)->rank;

	ints(l, "start_indices", start);
	ints(l, "limit_indices", limit);
	ints(l, "strides", stride);
	/* WebNN says how far a slice reaches before strides. */
	for (int i = 0; i < rank; i++)
		limit[i] -= start[i];
	shlo_sizes_init(&starts, start, rank);
	shlo_sizes_init(&sizes, limit, rank);
	shlo_sizes_init(&strides, stride, rank);
	options.label = l->options.label;
	options.strides = strides.array;
	if (l->b)
		*out = wnnGraphBuilderSlice(l->b, shlo_lowered(l, 0), starts.array, sizes.array,
					    &options);
	return true;
}

/* Without room between elements; the value comes by a place that is selected from its own tensor. */
bool shlo_lower_pad(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_attr *value = NULL;
	const struct shlo_op *from = l->op->operands[1]->op;
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];
	WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
	enum shlo_element element = type_of(l, 0)->element;
	struct shlo_sizes begin, end;
	struct shlo_num number;
	int rank = type_of(l, 0)->rank;

	ints(l, "edge_padding_low", low);
	ints(l, "edge_padding_high", high);
	ints(l, "interior_padding", interior);
	for (int i = 0; i < rank; i++)
		if (low[i] < 0 || high[i] < 0 || interior[i])
			return false;
	if (from && from->kind && from->kind->family == SHLO_CONSTANT)
		value = shlo_attr_find(&from->attrs, "value");
	if (!value || value->kind != SHLO_ATTR_DENSE ||
	    (!shlo_is_computed(element) && element != SHLO_I1))
		return false;
	if (!l->b)
		return true;
	number = shlo_load(element, value->data, 0);
	shlo_sizes_init(&begin, low, rank);
	shlo_sizes_init(&end, high, rank);
	options.label = l->options.label;
	if (shlo_is_float(element)) {
		options.value.kind = WNNNumberKind_Double;
		options.value.doubleValue = number.re;
	} else {
		options.value.kind = shlo_class(element) == SHLO_SIGNED ? WNNNumberKind_Int64 :
									  WNNNumberKind_Uint64;
		options.value.int64Value = number.i;
		options.value.uint64Value = number.u;
	}
	*out = wnnGraphBuilderPad(l->b, shlo_lowered(l, 0), begin.array, end.array, &options);
	return true;
}

bool shlo_lower_broadcast_in_dim(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *x = type_of(l, 0), *to = result_of(l);
	int64_t map[SHLO_MAX_RANK], order[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	WNNOperand value;
	struct shlo_sizes sizes;
	bool sorted = true;
	int count = 0;

	if (!l->b)
		return true;
	ints(l, "broadcast_dimensions", map);
	value = shlo_lowered(l, 0);
	/* Dimensions in the order of the result, then those that are new as 1, then stretched. */
	for (int i = 0; i < to->rank; i++) {
		dims[i] = 1;
		for (int k = 0; k < x->rank; k++)
			if (map[k] == i) {
				sorted = sorted && k == count;
				order[count++] = k;
				dims[i] = x->dims[k];
			}
	}
	if (!sorted)
		value = shlo_lower_transpose(l, value, order, x->rank);
	value = shlo_lower_reshape(l, value, dims, to->rank);
	shlo_sizes_init(&sizes, to->dims, to->rank);
	*out = value ? wnnGraphBuilderExpand(l->b, value, sizes.array, &l->options) : NULL;
	return true;
}

/* ---- reductions */

typedef WNNOperand (*reduce_fn)(WNNGraphBuilder, WNNOperand, WNNReduceOptions const *);

/* Of a region that is one operation on its two arguments: which. */
int shlo_only_binary(const struct shlo_region *region)
{
	const struct shlo_block *block = &region->block;
	const struct shlo_op *op = block->op_count == 2 ? block->ops[0] : NULL;

	if (!op || block->argument_count != 2 || op->kind->family != SHLO_BINARY ||
	    block->ops[1]->operands[0] != op->results[0])
		return -1;
	if ((op->operands[0] != block->arguments[0] || op->operands[1] != block->arguments[1]) &&
	    (op->operands[0] != block->arguments[1] || op->operands[1] != block->arguments[0]))
		return -1;
	return op->kind->code;
}

/* Sums and products of floats depend on their order, which is the specification's on the CPU. */
static bool reducer(int op, enum shlo_element element, reduce_fn *reduce, shlo_combine_fn *combine)
{
	bool exact = !shlo_is_float(element);
	bool wide = element == SHLO_I32 || element == SHLO_UI32 || element == SHLO_I64 ||
		    element == SHLO_UI64;

	if (element == SHLO_I1) {
		bool any = op == SHLO_B_OR || op == SHLO_B_MAXIMUM || op == SHLO_B_ADD;

		if (!any && op != SHLO_B_AND && op != SHLO_B_MINIMUM && op != SHLO_B_MULTIPLY)
			return false;
		*reduce = any ? wnnGraphBuilderReduceMax : wnnGraphBuilderReduceMin;
		*combine = any ? wnnGraphBuilderLogicalOr : wnnGraphBuilderLogicalAnd;
		return true;
	}
	if (!shlo_is_computed(element))
		return false;
	switch (op) {
	case SHLO_B_MAXIMUM:
		*reduce = wnnGraphBuilderReduceMax;
		*combine = wnnGraphBuilderMax;
		return true;
	case SHLO_B_MINIMUM:
		*reduce = wnnGraphBuilderReduceMin;
		*combine = wnnGraphBuilderMin;
		return true;
	case SHLO_B_ADD:
		*reduce = wnnGraphBuilderReduceSum;
		*combine = wnnGraphBuilderAdd;
		return exact && wide;
	case SHLO_B_MULTIPLY:
		*reduce = wnnGraphBuilderReduceProduct;
		*combine = wnnGraphBuilderMul;
		return exact && wide;
	default:
		return false;
	}
}

bool shlo_lower_reduce(struct shlo_lower *l, WNNOperand *out)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	enum shlo_element element = type_of(l, 0)->element;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_sizes axes;
	reduce_fn reduce;
	shlo_combine_fn combine;
	WNNOperand x;

	if (l->op->operand_count != 2 || result_of(l)->element != element ||
	    !reducer(shlo_only_binary(l->op->regions[0]), element, &reduce, &combine))
		return false;
	shlo_sizes_init(&axes, dims, ints(l, "dimensions", dims));
	options.label = l->options.label;
	options.axes = axes.array;
	if (!l->b)
		return true;
	x = reduce(l->b, shlo_lowered(l, 0), &options);
	*out = x ? combine(l->b, x, shlo_lowered(l, 1), &l->options) : NULL;
	return true;
}

/* ---- products */

static int64_t product(const struct shlo_type *x, const struct shlo_list *dims)
{
	int64_t size = 1;

	for (int i = 0; i < dims->count; i++)
		size *= x->dims[dims->at[i]];
	return size;
}

/* One side as [batch, rows, columns]: what is contracted comes last on the left, first on the right. */
static WNNOperand as_matrices(const struct shlo_lower *l, size_t side,
			      const struct shlo_dot_numbers *n, int64_t *free_size)
{
	const struct shlo_type *x = type_of(l, side);
	const struct shlo_list *batch = &n->batch[side], *contract = &n->contract[side];
	struct shlo_list order = *batch, free = { 0 };
	int64_t dims[3];

	for (int i = 0; i < x->rank; i++)
		if (!shlo_list_has(batch, i) && !shlo_list_has(contract, i))
			free.at[free.count++] = i;
	for (int k = 0; k < 2; k++) {
		const struct shlo_list *part = (k == 0) == (side == 0) ? &free : contract;

		for (int i = 0; i < part->count; i++)
			order.at[order.count++] = part->at[i];
	}
	*free_size = product(x, &free);
	dims[0] = product(x, batch);
	dims[1] = side ? product(x, contract) : *free_size;
	dims[2] = side ? *free_size : product(x, contract);
	return shlo_lower_reshape(
		l, shlo_lower_transpose(l, shlo_lowered(l, side), order.at, x->rank), dims, 3);
}

/*
 * Products of f32 whose inner dimension is long: their sums are the matrix unit's. Short ones have sums in
 * the order of the specification, which the reference kernel gives to the bit.
 */
#define LEAST_INNER 16

bool shlo_lower_dot(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = type_of(l, 0)->element;
	const struct shlo_type *to = result_of(l);
	struct shlo_dot_numbers n;
	WNNOperand a, b, c;
	int64_t size;

	shlo_dot_numbers(l->op, &n);
	if ((element != SHLO_F32 && element != SHLO_F16) || to->element != element ||
	    type_of(l, 1)->element != element ||
	    product(type_of(l, 0), &n.contract[0]) < LEAST_INNER)
		return false;
	if (!l->b)
		return true;
	a = as_matrices(l, 0, &n, &size);
	b = as_matrices(l, 1, &n, &size);
	c = a && b ? wnnGraphBuilderMatmul(l->b, a, b, &l->options) : NULL;
	*out = shlo_lower_reshape(l, c, to->dims, to->rank);
	return true;
}
