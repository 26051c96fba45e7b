// SPDX-License-Identifier: MIT
/*
 * Rules for elements that are chosen by constant indices, and for values that are repeated.
 *
 *	%1 = constant 0
 *	%2 = gather(%0, %1) axis=1	->	%3 = slice(%0) starts=0,0,0
 *						%2 = reshape(%3)
 *
 * A slice needs no table of indices, and often no copy. All results keep their bits.
 */
#include "pass/rules.h"

/* ---- gathers */

/* The most indices that are examined. */
#define MAX_INDICES 4096

/* Sets *index to element i of constant indices; false when they have another type. */
static bool read_index(const struct ir_value *indices, int64_t i, int64_t *index)
{
	const void *data = ir_constant_data(indices->constant);

	if (!data)
		return false;
	switch (indices->type.dtype) {
	case IR_I32:
		*index = ((const int32_t *)data)[i];
		return true;
	case IR_U32:
		*index = ((const uint32_t *)data)[i];
		return true;
	case IR_I64:
		*index = ((const int64_t *)data)[i];
		return true;
	default:
		return false;
	}
}

/*
 * Whether indices are constant, follow each other like 3, 4, 5, and all lie in an axis of `size`
 * elements; those below 0 count from its end. Sets *first to the first.
 */
static bool are_range(const struct ir_value *indices, int64_t size, int64_t *first)
{
	int64_t count = ir_type_elements(&indices->type), index;

	if (indices->kind != IR_VALUE_CONSTANT || count < 1 || count > MAX_INDICES)
		return false;
	for (int64_t i = 0; i < count; i++) {
		if (!read_index(indices, i, &index))
			return false;
		index += index < 0 ? size : 0;
		*first = i ? *first : index;
		if (index != *first + i)
			return false;
	}
	return *first >= 0 && *first + count <= size;
}

/* Replaces a gather of neighbours by a slice. Constants are left to gathers, which are folded. */
struct ir_value *rule_gather_range(struct rules *rules, struct ir_node *node)
{
	struct ir_value *value = node->operands[0];
	const struct ir_type *wanted = &node->results[0]->type;
	uint32_t axis = node->attrs.gather.axis;
	union ir_attrs attrs = { .slice = { .starts = { 0 } } };
	struct ir_type type = value->type;
	int64_t first;

	if (node->attrs.gather.kind != IR_GATHER_AXIS || value->kind == IR_VALUE_CONSTANT ||
	    ir_dtype_bits(type.dtype) < 8 || type.dim[axis].symbol ||
	    !are_range(node->operands[1], ir_type_dim(&type, axis), &first))
		return NULL;
	for (uint32_t i = 0; i < type.rank; i++)
		attrs.slice.strides[i] = 1;
	attrs.slice.starts[axis] = (uint32_t)first;
	type.dim[axis].value = ir_type_elements(&node->operands[1]->type);
	value = rules_emit(rules, IR_OP_SLICE, &value, 1, &type, &attrs, node, NULL);
	if (!value || ir_type_same_shape(&type, wanted))
		return value;
	return rules_emit(rules, IR_OP_RESHAPE, &value, 1, wanted, NULL, node, NULL);
}

/* ---- expands */

#define LONG_ROW 256

/* Whether each dimension of the result is that of an operand, to which others are repeated. */
static bool fill(struct ir_value *const *operands, uint32_t count, const struct ir_type *result)
{
	for (uint32_t axis = 0; axis < result->rank; axis++) {
		bool found = false;

		for (uint32_t i = 0; i < count; i++) {
			const struct ir_type *type = &operands[i]->type;
			uint32_t missing = result->rank - type->rank;

			found |= axis >= missing &&
				 type->dim[axis - missing].value == result->dim[axis].value &&
				 type->dim[axis - missing].symbol == result->dim[axis].symbol;
		}
		if (!found)
			return false;
	}
	return true;
}

/*
 * Whether a function repeats an operand as fast as a copy of it would be read: the operand has the
 * last axes of the result, or one element for each of its rows, which are long.
 */
static bool repeats_well(const struct ir_type *type, const struct ir_type *result)
{
	uint32_t missing = result->rank - type->rank, first = 0, last = type->rank;
	int64_t row = 1;

	while (first < type->rank && ir_type_dim(type, first) == 1)
		first++;
	while (last > first && ir_type_dim(type, last - 1) == 1)
		last--;
	for (uint32_t i = first; i < last; i++)
		if (ir_type_dim(type, i) != ir_type_dim(result, missing + i))
			return false;
	for (uint32_t i = last; i < type->rank; i++)
		row *= ir_type_dim(result, missing + i);
	for (uint32_t i = 0; i < missing + first && row > 1; i++)
		if (ir_type_dim(result, i) != 1)
			return false;
	return row == 1 || row >= LONG_ROW;
}

/*
 * Takes off the expand in front of a function of several operands, which repeats the elements of a
 * smaller operand itself, where another operand has the size that the expand gave.
 */
struct ir_value *rule_expand_before_function(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[3] = { NULL };
	const struct ir_type *result = &node->results[0]->type;
	bool found = false;

	for (uint32_t i = 0; i < node->num_operands; i++)
		operands[i] = node->operands[i];
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_node *expand = rules_maker(operands[i], IR_OP_EXPAND);

		if (!expand || !repeats_well(&expand->operands[0]->type, result))
			continue;
		operands[i] = expand->operands[0];
		if (fill(operands, node->num_operands, result))
			found = true;
		else
			operands[i] = node->operands[i];
	}
	return found ? rules_emit(rules, node->op, operands, node->num_operands, result,
				  &node->attrs, node, NULL) :
		       NULL;
}
