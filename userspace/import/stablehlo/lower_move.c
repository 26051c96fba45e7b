// SPDX-License-Identifier: MIT
/* Translates operations that move elements to operators of WebNN. */
#include "lower.h"

#include <string.h>

#include "numbers.h"
#include "sharding.h"

/*
 * Translates reshape, and bitcast_convert where a graph holds both types alike. Returns false for
 * types that it holds differently, or that have different numbers of bits.
 */
bool shlo_lower_reshaped(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *to = shlo_result_type(l);

	if (shlo_held_type(shlo_operand_type(l, 0)->element) != shlo_held_type(to->element) ||
	    shlo_elements[to->element].bits != shlo_elements[shlo_operand_type(l, 0)->element].bits)
		return false;
	if (l->b)
		*out = shlo_lower_reshape(l, shlo_lowered(l, 0), to->dims, to->rank);
	return true;
}

bool shlo_lower_barrier(struct shlo_lower *l, WNNOperand *out)
{
	for (size_t i = 0; l->b && i < l->op->operand_count; i++)
		out[i] = wnnGraphBuilderIdentity(l->b, shlo_lowered(l, i), &l->options);
	return l->op->operand_count <= SHLO_MOST_LOWERED;
}

/* Translates custom calls that mark a sharding, as identities. Returns false for other calls. */
bool shlo_lower_mark(struct shlo_lower *l, WNNOperand *out)
{
	bool gives;

	return shlo_is_mark(shlo_attr_text(l->op, "call_target_name", ""), &gives) &&
	       shlo_lower_barrier(l, out);
}

bool shlo_lower_transposed(struct shlo_lower *l, WNNOperand *out)
{
	int64_t order[SHLO_MAX_RANK];
	int rank = shlo_lower_ints(l, "permutation", order);

	if (l->b)
		*out = shlo_lower_transpose(l, shlo_lowered(l, 0), order, rank);
	return true;
}

bool shlo_lower_reverse(struct shlo_lower *l, WNNOperand *out)
{
	WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, dims, shlo_lower_ints(l, "dimensions", dims));
	options.label = l->options.label;
	options.axes = sizes.array;
	if (l->b)
		*out = wnnGraphBuilderReverse(l->b, shlo_lowered(l, 0), &options);
	return true;
}

bool shlo_lower_concatenate(struct shlo_lower *l, WNNOperand *out)
{
	uint32_t axis = (uint32_t)shlo_attr_int(l->op, "dimension", 0);
	WNNOperand inputs[64];
	size_t count = 0;

	if (!l->b)
		return true;
	for (size_t i = 0; i < l->op->operand_count; i++) {
		if (count == 64) {
			inputs[0] = wnnGraphBuilderConcat(l->b, count, inputs, axis, &l->options);
			count = 1;
		}
		inputs[count++] = shlo_lowered(l, i);
		if (!inputs[0])
			return true;
	}
	*out = wnnGraphBuilderConcat(l->b, count, inputs, axis, &l->options);
	return true;
}

bool shlo_lower_slice(struct shlo_lower *l, WNNOperand *out)
{
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	int64_t start[SHLO_MAX_RANK], limit[SHLO_MAX_RANK], stride[SHLO_MAX_RANK];
	struct shlo_sizes starts, sizes, strides;
	int rank = shlo_operand_type(l, 0)->rank;

	shlo_lower_ints(l, "start_indices", start);
	shlo_lower_ints(l, "limit_indices", limit);
	shlo_lower_ints(l, "strides", stride);
	/* WebNN's sizes of a slice count elements before strides are applied. */
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

/*
 * Translates pads by a constant, without interior or negative padding. Other pads go to
 * shlo_lower_pad_between().
 */
bool shlo_lower_pad(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_attr *value = NULL;
	const struct shlo_op *from = l->op->operands[1]->op;
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];
	WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	struct shlo_sizes begin, end;
	struct shlo_num number;
	int rank = shlo_operand_type(l, 0)->rank;

	shlo_lower_ints(l, "edge_padding_low", low);
	shlo_lower_ints(l, "edge_padding_high", high);
	shlo_lower_ints(l, "interior_padding", interior);
	for (int i = 0; i < rank; i++)
		if (low[i] < 0 || high[i] < 0 || interior[i])
			return shlo_lower_pad_between(l, out);
	if (from && from->kind && from->kind->family == SHLO_CONSTANT)
		value = shlo_attr_find(&from->attrs, "value");
	if (!value || value->kind != SHLO_ATTR_DENSE ||
	    (!shlo_is_computed(element) && element != SHLO_I1))
		return shlo_lower_pad_between(l, out);
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
	const struct shlo_type *x = shlo_operand_type(l, 0), *to = shlo_result_type(l);
	int64_t map[SHLO_MAX_RANK], order[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	WNNOperand value;
	struct shlo_sizes sizes;
	bool sorted = true;
	int count = 0;

	if (!l->b)
		return true;
	/* Without a list, the operand's dimensions are the last ones of the result. */
	if (shlo_lower_ints(l, "broadcast_dimensions", map) < 0)
		for (int i = 0; i < x->rank; i++)
			map[i] = to->rank - x->rank + i;
	value = shlo_lowered(l, 0);
	/* Puts dimensions in the order of the result, inserts new ones as 1, and expands. */
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
	if (l->narrow)
		l->narrow[l->op->results[0]->slot] = value;
	return true;
}
