/* SPDX-License-Identifier: MIT */
/* The limits of a context: the values of opSupportLimits, and the checks that follow from them. */
#ifndef WNN_GRAPH_LIMITS_H
#define WNN_GRAPH_LIMITS_H

#include "graph/op_table.h"
#include "ir/ir.h"
#include "util/error.h"

/* Largest dimension and number of elements: those of a signed 32-bit number. */
#define WNN_MAX_DIMENSION 2147483647
/* The most operands of concat, and the most results of split. */
#define WNN_MAX_TENSOR_COUNT 8192

struct wnn_limits {
	uint64_t ir_ops;	   /* bit 1 << enum ir_op: what the back ends can execute */
	uint64_t max_tensor_bytes; /* 0: WNN_DEFAULT_MAX_TENSOR_BYTES */
	WNNInputOperandLayout preferred_layout; /* Undefined: nchw */
	bool four_bit;				/* int4 and uint4, where the operators know them */
};

#define WNN_DEFAULT_MAX_TENSOR_BYTES (UINT64_C(2147483647) * 8)

/* Whether the back ends can execute all that an operator is made of. */
bool wnn_limits_has_op(const struct wnn_limits *limits, enum wnn_op op);

uint64_t wnn_limits_tensor_bytes(const struct wnn_limits *limits);

/*
 * wnn_limits_fill - the answer of opSupportLimits
 *
 * An operator that cannot be executed lists no data types and the rank range 0 to 0. nextInChain is
 * left alone.
 */
void wnn_limits_fill(const struct wnn_limits *limits, WNNOpSupportLimits *out);

/* The types that a call may give an operand. */
WNNOperandDataTypeSet wnn_limits_types(const struct wnn_limits *limits,
				       const struct wnn_op_operand *operand);

/*
 * wnn_limits_probe - leave in the answer of opSupportLimits only what a back end can run
 * @limits: what @out was filled with
 * @can: asked about nodes of every combination of types, and of every rank
 * @count: when not NULL, receives how many calls of operators were tried
 *
 * Returns 0 or -1, out of memory.
 */
int wnn_limits_probe(const struct wnn_limits *limits,
		     bool (*can)(const struct ir_node *node, void *userdata), void *userdata,
		     WNNOpSupportLimits *out, uint32_t *count, struct wnn_error *err);

/*
 * wnn_limits_check_type - "check dimensions" of the specification
 * @what: begins the message: "input \"x\""; "conv2d \"stem\": the output"
 *
 * Rank at most IR_MAX_RANK, dimensions and number of elements from 1 to 2^31 - 1, bytes within the
 * limit. The dimensions of @type may be any 64-bit numbers.
 */
int wnn_limits_check_type(const struct wnn_limits *limits, const struct ir_type *type,
			  const char *what, struct wnn_error *err);

/*
 * wnn_limits_type_of - the type that a descriptor means, checked
 *
 * Whatever is in the chain of the descriptor is the caller's to judge.
 */
int wnn_limits_type_of(const struct wnn_limits *limits, WNNOperandDataType data_type,
		       WNNUint32Array shape, const char *what, struct ir_type *type,
		       struct wnn_error *err);

/* "[2,3,4]" for messages; returns buffer. */
const char *wnn_shape_text(const struct ir_type *type, char *buffer, size_t size);

/* Enough for every shape. */
#define WNN_SHAPE_TEXT_SIZE (IR_MAX_RANK * 21 + 3)

/* "float32, float16" of a set of data types; returns buffer. */
const char *wnn_types_text(WNNOperandDataTypeSet types, char *buffer, size_t size);

#endif
