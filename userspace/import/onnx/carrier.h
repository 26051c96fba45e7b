/* SPDX-License-Identifier: MIT */
/*
 * Types that WebNN lacks. A value of such a type is in the graph as a carrier: numbers of a type of
 * WebNN that holds all of them, except for double (float32 for bfloat16, float8e8m0 and double,
 * float16 for other floats of 4 to 8 bits, int32 and uint32 for 16 bits, int4 and uint4 for 2
 * bits). Translators of operators compute with carriers, and their results get the type of the
 * model afterwards.
 */
#ifndef ONNX_CARRIER_H
#define ONNX_CARRIER_H

#include "node.h"

/*
 * Replaces a node's inputs by carriers, unless its translator handles such types. Returns 0 or -1.
 */
int onnx_carry(struct onnx_node *node);
/*
 * Gives the outputs the types that the model says, and wraps integers that went beyond 16 bits.
 * Returns 0 or -1.
 */
int onnx_uncarry(struct onnx_node *node);
/* Returns the value in the type of its carrier; NULL when refused. */
struct onnx_value *onnx_carrier(struct onnx_node *node, struct onnx_value *value);

/* Returns a constant whose elements are those of @value, converted to another type. */
struct onnx_value *onnx_converted(struct onnx_node *node, const struct onnx_value *value, int type);

/*
 * Returns x rounded to the nearest numbers of a float type, as float32. @rounding counts only for
 * float8e8m0, whose numbers are powers of two.
 */
WNNOperand onnx_round_to(struct onnx_node *node, WNNOperand x, int type, bool saturate,
			 enum onnx_rounding rounding);
/*
 * Wraps int32 or uint32 integers around to the range of the integer @type, which has fewer than 32
 * bits. The result is int32.
 */
WNNOperand onnx_wrap(struct onnx_node *node, WNNOperand x, int type);
/*
 * Returns the largest power of two that is not above x, and at least 2^least. x must be neither
 * infinite nor negative.
 */
WNNOperand onnx_power_below(struct onnx_node *node, WNNOperand x, int least);
/* Returns 2^(position - 149) as float32. The positions are int32, from 0 to 276. */
WNNOperand onnx_powers(struct onnx_node *node, WNNOperand positions);
/*
 * Converts whole float32 numbers, which must be in range, to int4 or uint4. Returns NULL after a
 * refusal.
 */
WNNOperand onnx_to_four_bits(struct onnx_node *node, WNNOperand x, WNNOperandDataType type);
/* Converts int4 or uint4 to float32; returns NULL after a refusal. */
WNNOperand onnx_from_four_bits(struct onnx_node *node, WNNOperand x);

/* Returns the attribute saturate of Cast and QuantizeLinear. */
bool onnx_saturates(struct onnx_node *node);
/*
 * Returns the attribute round_mode as enum onnx_rounding; -1: it has another value, and the node is
 * refused.
 */
int onnx_rounding_of(struct onnx_node *node);

#endif
