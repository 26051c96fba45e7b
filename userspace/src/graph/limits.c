// SPDX-License-Identifier: MIT
/*
 * Computes opSupportLimits from what the back ends support, and checks tensors against the limits.
 */
#include "graph/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/operand.h"
#include "graph/rules.h"

bool wnn_limits_has_op(const struct wnn_limits *limits, enum wnn_op op)
{
	return limits->ir_ops >> wnn_op_ir(op) & 1;
}

uint64_t wnn_limits_tensor_bytes(const struct wnn_limits *limits)
{
	return limits->max_tensor_bytes ? limits->max_tensor_bytes : WNN_DEFAULT_MAX_TENSOR_BYTES;
}

static void clear_operator(WNNOpSupportLimits *out, enum wnn_op op)
{
	const struct wnn_op_info *info = &wnn_op_info[op];
	const WNNTensorLimits none = WNN_TENSOR_LIMITS_INIT;

	for (uint32_t i = 0; i < info->operand_count; i++)
		*(WNNTensorLimits *)wnn_op_operand_limits(out, op, &info->operands[i]) = none;
	for (uint32_t i = 0; i < info->output_count; i++)
		*(WNNTensorLimits *)wnn_op_operand_limits(out, op, &info->outputs[i]) = none;
}

WNNOperandDataTypeSet wnn_limits_types(const struct wnn_limits *limits,
				       const struct wnn_op_operand *operand)
{
	return operand->types | (limits->four_bit ? operand->extension_types : 0);
}

static void add_extension_types(const struct wnn_op_operand *operands, uint32_t count,
				enum wnn_op op, WNNOpSupportLimits *out)
{
	for (uint32_t i = 0; i < count; i++) {
		WNNTensorLimits *limits =
			(WNNTensorLimits *)wnn_op_operand_limits(out, op, &operands[i]);

		limits->dataTypes |= operands[i].extension_types;
	}
}

void wnn_limits_fill(const struct wnn_limits *limits, WNNOpSupportLimits *out)
{
	WNNTensorLimits any = { .rankRange = { 0, IR_MAX_RANK } };
	WNNOperandDataType last = limits->four_bit ? WNNOperandDataType_Uint4 :
						     WNNOperandDataType_Uint8;

	for (WNNOperandDataType t = WNNOperandDataType_Float32; t <= last; t++)
		any.dataTypes |= WNN_DATA_TYPE_BIT(t);
	out->preferredInputLayout = limits->preferred_layout ? limits->preferred_layout :
							       WNNInputOperandLayout_Nchw;
	out->maxTensorByteLength = wnn_limits_tensor_bytes(limits);
	out->input = out->constant = out->output = any;
	wnn_op_limits(out, IR_MAX_RANK);
	for (int op = 0; op < WNN_OP_COUNT; op++) {
		const struct wnn_op_info *info = &wnn_op_info[op];

		if (limits->four_bit) {
			add_extension_types(info->operands, info->operand_count, op, out);
			add_extension_types(info->outputs, info->output_count, op, out);
		}
		if (!wnn_limits_has_op(limits, op))
			clear_operator(out, op);
	}
}

int wnn_limits_check_type(const struct wnn_limits *limits, const struct ir_type *type,
			  const char *what, struct wnn_error *err)
{
	uint64_t max_bytes = wnn_limits_tensor_bytes(limits);
	int64_t count = 1;

	if (type->rank > IR_MAX_RANK)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has rank %" PRIu32 "; ranks up to %d are supported", what,
				     type->rank, IR_MAX_RANK);
	for (uint32_t i = 0; i < type->rank; i++) {
		int64_t dim = ir_type_dim(type, i);

		if (dim < 1 || dim > WNN_MAX_DIMENSION)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "%s has size %" PRId64 " in dimension %" PRIu32
					     "; sizes from 1 to %d are allowed",
					     what, dim, i, WNN_MAX_DIMENSION);
	}
	for (uint32_t i = 0; i < type->rank; i++) {
		count *= ir_type_dim(type, i);
		if (count > WNN_MAX_DIMENSION)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "%s has more than the %d elements that are allowed",
					     what, WNN_MAX_DIMENSION);
	}
	if ((uint64_t)ir_type_bytes(type) > max_bytes)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has %" PRId64 " bytes; maxTensorByteLength is %" PRIu64,
				     what, ir_type_bytes(type), max_bytes);
	return 0;
}

int wnn_limits_type_of(const struct wnn_limits *limits, WNNOperandDataType data_type,
		       WNNUint32Array shape, const char *what, struct ir_type *type,
		       struct wnn_error *err)
{
	if (!wnn_enum_name(&wnn_enum_operand_data_type, data_type))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has dataType %u, which is no value of WNNOperandDataType",
				     what, (unsigned int)data_type);
	if (data_type > WNNOperandDataType_Uint8 && !limits->four_bit)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has type %s, which this context does not support", what,
				     wnn_enum_name(&wnn_enum_operand_data_type, data_type));
	if (shape.count && !shape.data)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has a shape of %zu items, but its data is NULL", what,
				     shape.count);
	if (shape.count > IR_MAX_RANK)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s has rank %zu; ranks up to %d are supported", what,
				     shape.count, IR_MAX_RANK);
	memset(type, 0, sizeof(*type));
	type->dtype = wnn_dtype_to_ir(data_type);
	type->rank = (uint32_t)shape.count;
	for (uint32_t i = 0; i < type->rank; i++)
		type->dim[i].value = shape.data[i];
	return wnn_limits_check_type(limits, type, what, err);
}

const char *wnn_shape_text(const struct ir_type *type, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, "[");

	for (uint32_t i = 0; i < type->rank && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, i ? "," : "",
					 ir_type_dim(type, i));
	if (used < size)
		snprintf(buffer + used, size - used, "]");
	return buffer;
}

const char *wnn_types_text(WNNOperandDataTypeSet types, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (uint32_t t = 1; t < wnn_enum_operand_data_type.count && used < size; t++)
		if (types & WNN_DATA_TYPE_BIT(t))
			used += (size_t)snprintf(buffer + used, size - used, "%s%s",
						 used ? ", " : "",
						 wnn_enum_name(&wnn_enum_operand_data_type, t));
	return buffer;
}
