/* SPDX-License-Identifier: MIT */
/* Helpers for the checks of the functions in struct cpu_simd, a level of vector instructions. */
#ifndef TESTS_CPU_SIMD_CHECK_H
#define TESTS_CPU_SIMD_CHECK_H

#include "cpu/simd/simd.h"
#include "guard.h"
#include "rig.h"

extern const struct cpu_simd *simd; /* the level under test */
extern bool low;		    /* an inaccessible page is before memory, not after it */

/* Returns n random floats from -1 to 1, guarded as `low` says. */
struct guard floats(int64_t n);
/* Returns n random bytes that end at an inaccessible page or, with `low`, begin after one. */
uint8_t *bytes(struct guard *memory, int64_t n);
/* Puts NaN, infinities, zeros, subnormal and large numbers in random places. */
void put_odd_values(struct guard *g, int64_t n);
/*
 * Fails the test unless @actual and @expected differ by @bound at most. NaN must be NaN, infinities
 * must be equal, and with a bound of 0 zeros must have the same sign.
 */
void expect(const char *what, int64_t i, double actual, double expected, double bound);

/*
 * Each check tests the function of its name in the table `simd`; check_functions() tests unary()
 * with exp, sigmoid, tanh and erf.
 */
void check_winograd_in(void);
void check_winograd_out(void);
void check_to_halves(void);
void check_from_halves(void);
void check_round_halves(void);
void check_functions(void);
void check_exp_sum(void);
void check_softmax(void);
void check_softmax_columns(void);

void check_finish(void);
void check_dots(void);
void check_channel_dots(void);
void check_widen_row(void);
void check_finish_floats(void);
void check_widen(void);
void check_add_floats(void);
void check_quantize(void);
void check_dequantize(void);
void check_integers(void);
void check_interleave(void);

void check_whole_unary(void);
void check_whole_binary(void);
void check_says(void);

void check_widen_weights(void);
void check_weigh(void);

#endif
