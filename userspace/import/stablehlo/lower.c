// SPDX-License-Identifier: MIT
/* Decides which operations become operators of a graph, and in which types. */
#include "lower.h"

WNNOperandDataType shlo_held_type(enum shlo_element element)
{
	switch (element) {
	case SHLO_F32:
		return WNNOperandDataType_Float32;
	case SHLO_I32:
		return WNNOperandDataType_Int32;
	case SHLO_UI32:
		return WNNOperandDataType_Uint32;
	case SHLO_I64:
		return WNNOperandDataType_Int64;
	case SHLO_UI64:
	case SHLO_F64:
	case SHLO_C64:
		return WNNOperandDataType_Uint64;
	case SHLO_I8:
	case SHLO_I4:
	case SHLO_I2:
		return WNNOperandDataType_Int8;
	case SHLO_F16:
	case SHLO_BF16:
	case SHLO_I16:
	case SHLO_UI16:
		return WNNOperandDataType_Float16;
	default:
		return WNNOperandDataType_Uint8;
	}
}

bool shlo_is_computed(enum shlo_element element)
{
	switch (element) {
	case SHLO_F32:
	case SHLO_F16:
	case SHLO_I32:
	case SHLO_UI32:
	case SHLO_I64:
	case SHLO_UI64:
	case SHLO_I8:
	case SHLO_UI8:
		return true;
	default:
		return false;
	}
}

bool shlo_is_held(const struct shlo_type *type)
{
	if (type->kind != SHLO_TENSOR || type->quant || type->element == SHLO_C128 ||
	    type->rank < 0 || type->rank > 8 || !shlo_type_is_static(type))
		return false;
	return shlo_type_count(type) > 0;
}

/* For operations that have no operators in a graph; always returns false. */
bool shlo_lower_none(struct shlo_lower *l, WNNOperand *out)
{
	(void)l;
	(void)out;
	return false;
}

bool shlo_can_lower(const struct shlo_op *op)
{
	struct shlo_lower l = { .op = op };

	if (!op->result_count || op->result_count > SHLO_MOST_LOWERED || !op->operand_count)
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (!shlo_is_held(op->operands[i]->type))
			return false;
	for (size_t i = 0; i < op->result_count; i++)
		if (!shlo_is_held(op->results[i]->type))
			return false;
	return op->kind->lower(&l, NULL);
}

bool shlo_lower(struct shlo_lower *l)
{
	WNNOperand out[SHLO_MOST_LOWERED] = { 0 };
	bool all = true;

	l->op->kind->lower(l, out);
	for (size_t i = 0; i < l->op->result_count; i++) {
		l->operands[l->op->results[i]->slot] = out[i];
		all = all && out[i];
	}
	return all;
}

int shlo_lower_ints(const struct shlo_lower *l, const char *name, int64_t *numbers)
{
	return (int)shlo_ints_of(shlo_attr_find(&l->op->attrs, name), numbers, SHLO_MAX_RANK);
}

void shlo_sizes_init(struct shlo_sizes *sizes, const int64_t *numbers, int count)
{
	for (int i = 0; i < count && i < 8; i++)
		sizes->data[i] = (uint32_t)numbers[i];
	sizes->array = (WNNUint32Array){ (size_t)count, sizes->data };
}

WNNOperand shlo_lower_list(const struct shlo_lower *l, WNNOperandDataType type, const void *data,
			   int64_t count, size_t size)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, &count, 1);
	descriptor.dataType = type;
	descriptor.shape = sizes.array;
	return wnnGraphBuilderConstant(l->b, &descriptor, data, (size_t)count * size);
}

WNNOperand shlo_lowered(const struct shlo_lower *l, size_t operand)
{
	return l->operands[l->op->operands[operand]->slot];
}

static WNNOperand narrow_of(const struct shlo_lower *l, size_t operand)
{
	return l->narrow ? l->narrow[l->op->operands[operand]->slot] : NULL;
}

WNNOperand shlo_lowered_narrow(const struct shlo_lower *l, size_t operand)
{
	WNNOperand narrow = narrow_of(l, operand);

	for (size_t i = 0; narrow && i < l->op->operand_count; i++)
		if (i != operand && !narrow_of(l, i) &&
		    shlo_type_count(shlo_operand_type(l, i)) ==
			    shlo_type_count(shlo_result_type(l)))
			return narrow;
	return shlo_lowered(l, operand);
}

WNNOperand shlo_lower_reshape(const struct shlo_lower *l, WNNOperand x, const int64_t *dims,
			      int rank)
{
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, dims, rank);
	return x ? wnnGraphBuilderReshape(l->b, x, sizes.array, &l->options) : NULL;
}

WNNOperand shlo_lower_transpose(const struct shlo_lower *l, WNNOperand x, const int64_t *order,
				int rank)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, order, rank);
	options.label = l->options.label;
	options.permutation = sizes.array;
	return x ? wnnGraphBuilderTranspose(l->b, x, &options) : NULL;
}
