/* SPDX-License-Identifier: MIT */
/*
 * WNNOperand. Operands belong to their builder and live exactly as long as it: a reference to an
 * operand is a reference to its builder.
 */
#ifndef WNN_GRAPH_OPERAND_H
#define WNN_GRAPH_OPERAND_H

#include <webnn/webnn.h>

#include "ir/ir.h"

struct wnn_builder;

struct WNNOperandImpl {
	struct wnn_builder *builder;
	/* value in the graph under construction; NULL once the graph is built */
	struct ir_value *value;
	/* The operand's descriptor, which the operand keeps when the graph is built. */
	WNNOperandDataType data_type;
	uint32_t rank;
	uint32_t shape[IR_MAX_RANK];
	struct WNNOperandImpl *next; /* next operand in the builder's list */
};

/* Converts an element type: the types of the API and of the IR have the same order. */
static inline enum ir_dtype wnn_dtype_to_ir(WNNOperandDataType type)
{
	_Static_assert(WNNOperandDataType_Float32 - 1 == IR_F32 &&
			       WNNOperandDataType_Float16 - 1 == IR_F16 &&
			       WNNOperandDataType_Int32 - 1 == IR_I32 &&
			       WNNOperandDataType_Uint32 - 1 == IR_U32 &&
			       WNNOperandDataType_Int64 - 1 == IR_I64 &&
			       WNNOperandDataType_Uint64 - 1 == IR_U64 &&
			       WNNOperandDataType_Int8 - 1 == IR_I8 &&
			       WNNOperandDataType_Uint8 - 1 == IR_U8 &&
			       WNNOperandDataType_Int4 - 1 == IR_I4 &&
			       WNNOperandDataType_Uint4 - 1 == IR_U4,
		       "element types of API and IR differ");
	return (enum ir_dtype)(type - 1);
}

static inline WNNOperandDataType wnn_dtype_from_ir(enum ir_dtype type)
{
	return (WNNOperandDataType)(type + 1);
}

#endif
