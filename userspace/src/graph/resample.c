// SPDX-License-Identifier: MIT
/* The rule of resample2d: it checks a call, infers the type of its result and emits an IR node. */
#include <math.h>

#include "graph/rules.h"

/* Sets and checks the scales, also when sizes override them. Returns 0 or -1. */
static int check_scales(struct wnn_rule *rule, WNNFloatArray list, double scales[2])
{
	if (list.data && list.count != 2)
		return rule_error(rule, "options.scales has %zu items, expected 2", list.count);
	for (int i = 0; i < 2; i++) {
		scales[i] = list.data ? (double)list.data[i] : 1;
		if (scales[i] <= 0)
			return rule_error(rule,
					  "options.scales[%d] is %g; it must be greater than "
					  "0",
					  i, scales[i]);
	}
	return 0;
}

int rule_resample2d(struct wnn_rule *rule)
{
	static const uint32_t default_axes[2] = { 2, 3 };
	const WNNResample2dOptions *options = rule_options(rule, WNNResample2dOptions);
	struct ir_type type = *rule_type(rule, 0);
	WNNUint32Array axes = { 2, default_axes };
	union ir_attrs attrs = { .resample = {
					 .linear = options->mode == WNNInterpolationMode_Linear,
				 } };
	uint32_t sizes[2], mask;
	double scales[2];

	if (check_scales(rule, options->scales, scales) ||
	    rule_list(rule, "options.sizes", options->sizes, 2, 1, false, sizes))
		return -1;
	if (options->axes.data)
		axes = options->axes;
	if (axes.count != 2)
		return rule_error(rule, "options.axes has %zu items, expected 2", axes.count);
	if (rule_axes(rule, axes, type.rank, &mask))
		return -1;
	for (int i = 0; i < 2; i++) {
		struct ir_dim *dim = &type.dim[axes.data[i]];
		double scaled = floor((double)dim->value * scales[i]);

		attrs.resample.axes[i] = axes.data[i];
		if (options->sizes.data)
			dim->value = sizes[i];
		else
			dim->value = scaled < 0x1p31 ? (int64_t)scaled : INT64_C(1) << 31;
	}
	return rule_emit_call(rule, IR_OP_RESAMPLE, &type, &attrs);
}
