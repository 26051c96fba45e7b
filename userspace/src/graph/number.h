/* SPDX-License-Identifier: MIT */
/* Casts numbers in options to an element type ("cast" of MLNumber in the specification). */
#ifndef WNN_GRAPH_NUMBER_H
#define WNN_GRAPH_NUMBER_H

#include <stdint.h>
#include <webnn/webnn.h>

#include "ir/ir.h"

/*
 * wnn_number_bits - the element that a number becomes, in the low bytes
 * @number: not of kind None
 *
 * Floating-point types: rounds to nearest even; a number out of range becomes infinite. Integer
 * types: rounds half to even; NaN becomes 0, a number out of range saturates.
 */
uint64_t wnn_number_bits(enum ir_dtype dtype, const WNNNumber *number);

/*
 * Returns a number cast to float32 or float16, as a float, which can hold all numbers of both
 * types.
 */
float wnn_number_float(enum ir_dtype dtype, const WNNNumber *number);

/* Returns an option of type double cast to a floating-point type. */
float wnn_double_cast(enum ir_dtype dtype, double value);

#endif
