/* SPDX-License-Identifier: MIT */
/*
 * Types that WebNN has not. A value of such a type is in the graph as a carrier: numbers of a type of
 * WebNN that holds all of them (float32 for bfloat16 and double, float16 for floats of 4 to 8 bits,
 * int32 and uint32 for 16 bits, int4 and uint4 for 2 bits). Translators of operators compute with
 * carriers, and what they make gets its own type afterwards.
 */
#ifndef ONNX_CARRIER_H
#define ONNX_CARRIER_H

#include "node.h"

/* Puts carriers in the place of a node's inputs, unless its translator looks at types itself. */
int onnx_carry(struct onnx_node *node);
/* Gives the outputs their types again, and wraps integers that went beyond 16 bits. */
int onnx_uncarry(struct onnx_node *node);
/* Returns the value in the type of its carrier; NULL when refused. */
struct onnx_value *onnx_carrier(struct onnx_node *node, struct onnx_value *value);

/* A constant as one of another type. */
struct onnx_value *onnx_converted(struct onnx_node *node, const struct onnx_value *value, int type);

/* The float32 that is nearest to x among the numbers of a float type. */
WNNOperand onnx_round_to(struct onnx_node *node, WNNOperand x, int type, bool saturate,
			 enum onnx_rounding rounding);
/* Integers of int32 or uint32 modulo 2^bits, of the type's signs; int32. */
WNNOperand onnx_wrap(struct onnx_node *node, WNNOperand x, int type);
/* The largest power of two up to a number that is neither infinite nor negative, and at least 2^least. */
WNNOperand onnx_power_below(struct onnx_node *node, WNNOperand x, int least);
/* Powers of two from 2^-149 on, at positions of int32 that begin with 0. */
WNNOperand onnx_powers(struct onnx_node *node, WNNOperand positions);
/* Whole float32 numbers that are in range as int4 or uint4. */
WNNOperand onnx_to_four_bits(struct onnx_node *node, WNNOperand x, WNNOperandDataType type);
/* int4 or uint4 as float32. */
WNNOperand onnx_from_four_bits(struct onnx_node *node, WNNOperand x);

/* Attributes saturate and round_mode of Cast and QuantizeLinear. */
bool onnx_saturates(struct onnx_node *node);
enum onnx_rounding onnx_rounding_of(struct onnx_node *node);

#endif
