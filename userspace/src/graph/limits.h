/* SPDX-License-Identifier: MIT */
/* The limits of a context: the values of opSupportLimits, and the checks that follow from them. */
#ifndef WNN_GRAPH_LIMITS_H
#define WNN_GRAPH_LIMITS_H

#include "graph/op_table.h"
#include "ir/ir.h"
#include "util/error.h"

/* The largest dimension, and the most elements of a tensor: the largest signed 32-bit number. */
#define WNN_MAX_DIMENSION 2147483647
/* The most operands of concat, and the most results of split. */
#define WNN_MAX_TENSOR_COUNT 8192

struct wnn_limits {
	/* set of 1 << enum ir_op: operators that the back ends can execute */
	uint64_t ir_ops;
	uint64_t max_tensor_bytes;		/* 0: WNN_DEFAULT_MAX_TENSOR_BYTES */
	WNNInputOperandLayout preferred_layout; /* Undefined: the default, nchw */
	/* whether int4 and uint4 are allowed, also where they are extension types (op_table.h) */
	bool four_bit;
};

#define WNN_DEFAULT_MAX_TENSOR_BYTES (UINT64_C(2147483647) * 8)

/* Whether the back ends can execute all IR operators that an operator becomes. */
bool wnn_limits_has_op(const struct wnn_limits *limits, enum wnn_op op);

uint64_t wnn_limits_tensor_bytes(const struct wnn_limits *limits);

/*
 * wnn_limits_fill - fill in the answer of opSupportLimits
 *
 * An operator that cannot be executed has no data types and ranks from 0 to 0. The function does
 * not touch nextInChain.
 */
void wnn_limits_fill(const struct wnn_limits *limits, WNNOpSupportLimits *out);

/*
 * Returns the types that a call may use for an operand: those of the specification, and with
 * `four_bit` the extension types.
 */
WNNOperandDataTypeSet wnn_limits_types(const struct wnn_limits *limits,
				       const struct wnn_op_operand *operand);

/*
 * wnn_limits_probe - reduce the answer of opSupportLimits to what a back end can run
 * @limits: the limits with which @out was filled in
 * @can: called with nodes for every combination of types and for every rank
 * @count: receives how many calls of operators were tried; may be NULL
 *
 * Returns 0, or -1 when out of memory.
 */
int wnn_limits_probe(const struct wnn_limits *limits,
		     bool (*can)(const struct ir_node *node, void *userdata), void *userdata,
		     WNNOpSupportLimits *out, uint32_t *count, struct wnn_error *err);

/*
 * wnn_limits_check_type - "check dimensions" of the specification
 * @what: begins the message: "input \"x\""; "conv2d \"stem\": the output"
 *
 * The rank may be at most IR_MAX_RANK, dimensions and number of elements 1 to 2^31 - 1, bytes at
 * most the limit. Returns 0, or -1 with TypeError. The dimensions of @type may be any 64-bit
 * numbers.
 */
int wnn_limits_check_type(const struct wnn_limits *limits, const struct ir_type *type,
			  const char *what, struct wnn_error *err);

/*
 * wnn_limits_type_of - convert a descriptor to an IR type, and check it
 *
 * The caller checks the chain of the descriptor. Returns 0, or -1 with TypeError.
 */
int wnn_limits_type_of(const struct wnn_limits *limits, WNNOperandDataType data_type,
		       WNNUint32Array shape, const char *what, struct ir_type *type,
		       struct wnn_error *err);

/* Writes a shape for messages, such as "[2,3,4]"; returns buffer. */
const char *wnn_shape_text(const struct ir_type *type, char *buffer, size_t size);

/* Bytes that are enough for the text of every shape. */
#define WNN_SHAPE_TEXT_SIZE (IR_MAX_RANK * 21 + 3)

/* Writes the names of a set of types, such as "float32, float16"; returns buffer. */
const char *wnn_types_text(WNNOperandDataTypeSet types, char *buffer, size_t size);

#endif
