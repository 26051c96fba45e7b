/* SPDX-License-Identifier: MIT */
/* Casting of numbers in options to an element type ("cast" of MLNumber in the specification). */
#ifndef WNN_GRAPH_NUMBER_H
#define WNN_GRAPH_NUMBER_H

#include <stdint.h>
#include <webnn/webnn.h>

#include "ir/ir.h"

/*
 * wnn_number_bits - the element that a number becomes, in the low bytes
 * @number: not of kind None
 *
 * Floating point: rounded to nearest even, out of range infinite. Integers: NaN is 0, rounded
 * half to even, out of range saturates.
 */
uint64_t wnn_number_bits(enum ir_dtype dtype, const WNNNumber *number);

/* A number cast to a floating-point type, as a float, which holds every value of both. */
float wnn_number_float(enum ir_dtype dtype, const WNNNumber *number);

/* An option of type double cast to a floating-point type. */
float wnn_double_cast(enum ir_dtype dtype, double value);

#endif
