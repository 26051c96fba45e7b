// SPDX-License-Identifier: MIT
/* The operator table, generated from webnn.json, and the functions that look it up. */
#include "graph/op_table.h"

#include <string.h>

#include "util/number.h"

#include "graph/webnn_ops.inc"

enum wnn_op wnn_op_find(const char *name)
{
	for (int op = 0; op < WNN_OP_COUNT; op++)
		if (!strcmp(wnn_op_info[op].name, name))
			return op;
	return WNN_OP_COUNT;
}

const char *wnn_enum_name(const struct wnn_enum *values, uint32_t value)
{
	return value < values->count ? values->names[value] : NULL;
}

uint32_t wnn_enum_find(const struct wnn_enum *values, const char *name)
{
	for (uint32_t value = 0; value < values->count; value++)
		if (values->names[value] && !strcmp(values->names[value], name))
			return value;
	return 0;
}

size_t wnn_data_type_size(WNNOperandDataType type)
{
	switch (type) {
	case WNNOperandDataType_Int8:
	case WNNOperandDataType_Uint8:
	case WNNOperandDataType_Int4:
	case WNNOperandDataType_Uint4:
		return 1;
	case WNNOperandDataType_Float16:
		return 2;
	case WNNOperandDataType_Float32:
	case WNNOperandDataType_Int32:
	case WNNOperandDataType_Uint32:
		return 4;
	case WNNOperandDataType_Int64:
	case WNNOperandDataType_Uint64:
		return 8;
	default:
		return 0;
	}
}

static size_t operand_offset(enum wnn_op op, const struct wnn_op_operand *operand)
{
	return wnn_op_info[op].limits_offset + operand->limits_offset;
}

static void fill_operands(WNNOpSupportLimits *limits, enum wnn_op op,
			  const struct wnn_op_operand *operands, uint32_t count, uint32_t max_rank)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct wnn_op_operand *operand = &operands[i];
		WNNTensorLimits *member = (void *)((char *)limits + operand_offset(op, operand));

		member->dataTypes = operand->types;
		member->rankRange.min = operand->rank_min;
		member->rankRange.max = operand->rank_max < max_rank ? operand->rank_max : max_rank;
	}
}

void wnn_op_limits(WNNOpSupportLimits *limits, uint32_t max_rank)
{
	for (int op = 0; op < WNN_OP_COUNT; op++) {
		const struct wnn_op_info *info = &wnn_op_info[op];

		fill_operands(limits, op, info->operands, info->operand_count, max_rank);
		fill_operands(limits, op, info->outputs, info->output_count, max_rank);
	}
}

const WNNTensorLimits *wnn_op_operand_limits(const WNNOpSupportLimits *limits, enum wnn_op op,
					     const struct wnn_op_operand *operand)
{
	return (const void *)((const char *)limits + operand_offset(op, operand));
}
