/* SPDX-License-Identifier: MIT */
/*
 * Sizes of convolutions, and planes (copies of an image's rows from which windows are read), which
 * the kernels of convolutions, depthwise convolutions and pools share.
 */
#ifndef WNN_CPU_CONV_H
#define WNN_CPU_CONV_H

#include "cpu/fast.h"

struct cpu_conv {
	const struct ir_conv_attrs *attrs;
	const struct ir_type *filter;
	int64_t batch, in_c, in_h, in_w, out_c, out_h, out_w;
	int64_t kh, kw, in_per_group, out_per_group;
	bool nhwc;
};

/*
 * Returns whether kernels that multiply padding by the filter may use a packed filter: false when
 * there is padding and the filter is a constant with NaN or infinities.
 */
bool cpu_conv_can_pack(const struct ir_node *node);

/*
 * Whether the kernel that computes several pixels of a depthwise 3x3 filter at a time takes the
 * convolution, and is the fastest at the context's level.
 */
bool cpu_conv_by_pixels(const struct cpu_context *cpu, const struct ir_node *node);

struct cpu_conv cpu_conv_of(const struct ir_node *node);

/*
 * Returns the distance in elements from one pixel to the next in the result of a convolution in
 * channels-last layout, of which @strides has the strides; 0: its pixels are not evenly spaced, or
 * their channels not contiguous.
 */
int64_t cpu_conv_pitch(const struct ir_node *node, const int64_t *strides);

/* Sets the strides of the filter in elements: output channel, input channel, row, column. */
void cpu_conv_filter_strides(const struct cpu_conv *conv, int64_t stride[4]);

/* Whether a product has no bias, or a bias of one number for each column, without a factor. */
bool cpu_matmul_bias_is_plain(const struct ir_node *node);
/* Adds a bias of the type and shape `type`, which is broadcast, to the result of a product. */
void cpu_matmul_add_bias(const struct ir_node *node, const struct ir_type *type, const float *bias,
			 float *out);
/*
 * Returns how many consecutive matrices of the first operand are multiplied with one matrix of the
 * second: they are rows of one product.
 */
int64_t cpu_matmul_repeats(const struct ir_node *node);

/*
 * A matrix product as a 1x1 convolution: the rows of `a` are the pixels of an nhwc image.
 * cpu_matmul_as_conv() returns false for the reasons that cpu_matmul_no_conv() gives, such as
 * several matrices `b`. `conv` points to the other members, so that the structure must not be
 * copied.
 */
struct cpu_as_conv {
	struct ir_conv_attrs attrs;
	struct ir_type filter;
	struct cpu_conv conv;
};

bool cpu_matmul_as_conv(const struct ir_node *node, struct cpu_as_conv *as);

/* Returns the reason why cpu_matmul_as_conv() returns false; NULL when it returns true. */
const char *cpu_matmul_no_conv(const struct ir_node *node);

/* Sets the limits of an activation; false when the activation is more than a pair of limits. */
bool cpu_act_limits(const struct ir_unary_attrs *act, float *lo, float *hi);

/*
 * Windows along one axis. The phase of an input is its position modulo the stride: when each phase
 * is stored separately, neighbouring outputs read contiguous inputs for every tap.
 */
struct cpu_axis {
	int64_t in, out, taps, stride, dilation, pad;
	int64_t phases, reach; /* number of phases that taps read; the largest jump */
	/*
	 * [taps]: the phase that a tap reads, and its distance from the output's position in that
	 * phase.
	 */
	int64_t *phase, *jump;
	int64_t *first; /* [phases]: position of the first input of a phase, with padding counted */
};

/*
 * Whether a dilated window is not much larger than the input. The fast kernels store whole windows;
 * the reference reads only the elements inside the image, so that it computes larger windows.
 */
static inline bool cpu_window_is_small(int64_t in, int64_t taps, int64_t dilation)
{
	return (taps - 1) * dilation < 16 * in + 4096;
}

/*
 * The rows and columns of a phase that lie inside the image, and the position of the first of these
 * in the image.
 */
struct cpu_inside {
	int64_t line, rows_end, column, columns_end, first;
};

/*
 * The pixels, with padding, that a block of output rows of one channel reads: [row phase][column
 * phase][lines + reach][width].
 */
struct cpu_planes {
	struct cpu_axis h, w;
	/*
	 * Output rows of the block; floats of a row of the planes: its output columns, and the
	 * columns beyond them that only taps read.
	 */
	int64_t lines, width;
	int64_t phase_size, size; /* floats of one phase, and of all phases */
	/* [h.taps * w.taps]: the offset in the planes that each tap reads for output 0 */
	int64_t *at;
	/*
	 * [h.phases * w.phases]: the part of each phase that lies inside the image, for output rows
	 * from 0 on
	 */
	struct cpu_inside *inside;
	float fill; /* value of the padding */
};

/* Returns the bytes that cpu_planes_init() needs for its tables. */
size_t cpu_planes_tables(int64_t kh, int64_t kw);
/*
 * Computes the members of @planes that the caller has not set; the caller sets `fill`, and in, out,
 * taps, stride, dilation and pad of both axes. @lines: output rows of a block.
 */
void cpu_planes_init(struct cpu_planes *planes, int64_t lines, void *tables);
/*
 * Fills the padding of the planes `to` for output rows from `row` on. All channels have the same
 * padding.
 */
void cpu_planes_pad(const struct cpu_planes *planes, int64_t row, float *to);
/*
 * Copies the pixels of one channel to the planes `to`, whose padding is that for output row `row`.
 */
void cpu_planes_fill(const struct cpu_simd *simd, const struct cpu_planes *planes, const float *x,
		     int64_t row, float *to);

#endif
