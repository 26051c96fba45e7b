/* SPDX-License-Identifier: MIT */
/*
 * Factors and summands for the weights and the bias of a product, collected from several rules
 * (rule_scale.c).
 */
#ifndef WNN_PASS_SCALING_H
#define WNN_PASS_SCALING_H

#include "pass/rules.h"

/* result = out_scale * (weights * (in_scale * input + in_shift) + bias) + out_shift, by channels */
struct rules_scaling {
	int64_t outs, ins;
	double *out_scale, *out_shift, *in_scale, *in_shift;
	/* the largest absolute value of the unscaled weights of each result channel */
	double *largest;
	/*
	 * has_in, has_out: whether there are factors of the input and of the result; shifts_input:
	 * whether there are summands of the input
	 */
	bool has_in, has_out, shifts_input;
};

/*
 * Returns a copy of the scaling that a product has so far, so that nothing changes if the rule does
 * not apply in the end. NULL when out of memory. The weights must be constant floats.
 */
struct rules_scaling *scaling_begin(struct rules *rules, const struct ir_node *product);
/*
 * Whether the scaled constants of a product are finite, and no largest weight of a channel is too
 * small for its type; also false when out of memory.
 */
bool scaling_fits(struct rules *rules, const struct ir_node *product,
		  const struct rules_scaling *s);

#endif
