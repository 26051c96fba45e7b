/* SPDX-License-Identifier: MIT */
/*
 * Factors and summands for the weights and the bias of a product, accumulated from several rules
 * (rule_scale.c).
 */
#ifndef WNN_PASS_SCALING_H
#define WNN_PASS_SCALING_H

#include "pass/rules.h"

/* result = out_scale * (weights * (in_scale * input + in_shift) + bias) + out_shift, by channels */
struct rules_scaling {
	int64_t outs, ins;
	double *out_scale, *out_shift, *in_scale, *in_shift;
	double *largest; /* of the weights of each channel of the result, as they are */
	bool in_front, behind,
		shifts_input; /* whether there are factors at all, and summands in front */
};

/*
 * Returns a copy of the scaling of a product so far, so that nothing is changed when a rule does
 * not apply in the end. NULL when out of memory. The weights must be constant floats.
 */
struct rules_scaling *scaling_begin(struct rules *rules, const struct ir_node *product);
/*
 * Whether the product's constants stay finite, and none of the largest weights becomes too small
 * for its type; false as well when out of memory.
 */
bool scaling_fits(struct rules *rules, const struct ir_node *product,
		  const struct rules_scaling *s);

#endif
