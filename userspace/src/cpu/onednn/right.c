// SPDX-License-Identifier: MIT
/* Tells which convolutions oneDNN computes right; others have another kernel. */
#include "cpu/kernel/conv.h"
#include "cpu/onednn/onednn.h"

/* Whether some window has only padding under its taps, along rows (axis 0) or columns (axis 1). */
static bool sees_only_padding(const struct cpu_conv *g, int axis)
{
	const struct ir_conv_attrs *a = g->attrs;
	int64_t in = axis ? g->in_w : g->in_h, out = axis ? g->out_w : g->out_h;
	int64_t taps = axis ? g->kw : g->kh;

	for (int64_t i = 0; i < out; i++) {
		int64_t at = i * a->strides[axis] - a->padding[2 * axis], tap = 0;

		while (tap < taps && (at < 0 || at >= in)) {
			at += a->dilations[axis];
			tap++;
		}
		if (tap == taps)
			return true;
	}
	return false;
}

static bool has_single_channel(const struct cpu_conv *g)
{
	return g->in_per_group == 1 && (g->attrs->groups == 1 || g->out_per_group > 1);
}

/* Whether the result is a strided column: oneDNN 3.7 computes wrong sums for some of these. */
static bool is_strided_column(const struct cpu_conv *g)
{
	return g->out_w == 1 && g->kw > 1 && g->attrs->strides[1] > 1;
}

/*
 * Whether oneDNN's sums are reliable for this convolution. Version 3.7 reads beyond a single
 * channel, also after the last pixel, and beyond the input where a window covers only padding: its
 * sums of integers then vary, and those of floats may read unmapped memory. With AMX it also adds
 * stale contents of its scratchpad to the sums of a strided column, and to those of groups whose
 * input has a zero point.
 */
bool onednn_sums_are_right(const struct onednn *dnn, const struct cpu_conv *g, bool zero_point)
{
	bool groups = g->attrs->groups > 1 && g->out_per_group > 1 && zero_point;

	return !has_single_channel(g) && !sees_only_padding(g, 0) && !sees_only_padding(g, 1) &&
	       !(dnn->has_amx && (is_strided_column(g) || groups));
}

/*
 * Whether oneDNN's sums of floats are right. Version 3.7 computes noise with AVX-512 for strided
 * columns of a single channel, and may read unmapped memory where a window covers only padding.
 */
bool onednn_floats_are_right(const struct cpu_conv *g)
{
	return !(has_single_channel(g) && is_strided_column(g)) && !sees_only_padding(g, 0) &&
	       !sees_only_padding(g, 1);
}
