/* SPDX-License-Identifier: MIT */
/*
 * Sizes, windows and planes that the kernels of convolutions, depthwise convolutions and pools
 * share.
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

/* Whether its constant filter may be packed, for kernels that multiply padding by it. */
bool cpu_conv_can_pack(const struct ir_node *node);

/* Whether a node is best computed by the fast layer's depthwise 3x3 in channels-last order. */
bool cpu_conv_by_pixels(const struct cpu_context *cpu, const struct ir_node *node);

/* Whether the fast layer's windows in channels-last order take less time than oneDNN. */
bool cpu_conv_by_windows(const struct cpu_context *cpu, const struct ir_node *node);

struct cpu_conv cpu_conv_of(const struct ir_node *node);

/* Strides of the filter in elements, for o, i, h, w. */
void cpu_conv_filter_strides(const struct cpu_conv *conv, int64_t stride[4]);

/* Whether a product has at most a bias of one number for each column. */
bool cpu_matmul_bias_is_plain(const struct ir_node *node);
/* Adds a bias of any shape and type `type` to the whole result of a product. */
void cpu_matmul_add_bias(const struct ir_node *node, const struct ir_type *type, const float *bias,
			 float *out);
/*
 * Returns how many consecutive matrices of the first operand are multiplied with one matrix of the
 * second: they are rows of one product.
 */
int64_t cpu_matmul_repeats(const struct ir_node *node);

/*
 * A matrix product as a convolution of 1x1: rows of a are the pixels of an nhwc image. False where
 * b is not one matrix for all rows, or the bias not one for each column. Points into itself.
 */
struct cpu_as_conv {
	struct ir_conv_attrs attrs;
	struct ir_type filter;
	struct cpu_conv conv;
};

bool cpu_matmul_as_conv(const struct ir_node *node, struct cpu_as_conv *as);

/* An activation as a pair of limits; false when it is none. */
bool cpu_act_limits(const struct ir_unary_attrs *act, float *lo, float *hi);

/*
 * Windows along one axis. The phase of an input is its position modulo the stride: when each phase
 * is stored separately, neighbouring outputs read contiguous inputs for every tap.
 */
struct cpu_axis {
	int64_t in, out, taps, stride, dilation, pad;
	int64_t phases, reach; /* reach: the longest jump */
	/* [taps]: the phase that a tap reads, and its distance from the output. */
	int64_t *phase, *jump;
	int64_t *first; /* [phases]: position of its first input, padding counted */
};

/*
 * Whether a dilated window is not much larger than the input: the fast kernels store whole windows,
 * while the reference reads only what lies inside.
 */
static inline bool cpu_window_is_small(int64_t in, int64_t taps, int64_t dilation)
{
	return (taps - 1) * dilation < 16 * in + 4096;
}

/*
 * Kernels for 8-bit integers: maxima, which belong to the pools, and averages, which belong to the
 * operators on integers.
 */
bool cpu_pool_integer_takes(const struct ir_node *node);
int cpu_pool_integer(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err);

/*
 * The rows and columns of a phase that lie inside the image, and the position of the first of these
 * in the image.
 */
struct cpu_inside {
	int64_t line, lines_end, column, columns_end, first;
};

/* A block of output rows of one channel: [row phase][column phase][lines + reach][width]. */
struct cpu_planes {
	struct cpu_axis h, w;
	/* Output rows; floats of a row, with what taps reach beyond it. */
	int64_t lines, width;
	int64_t phase_size, size;  /* floats */
	int64_t *at;		   /* [h.taps * w.taps]: where taps read for output 0 */
	struct cpu_inside *inside; /* [h.phases * w.phases]: for output rows from 0 on */
	float fill;		   /* for padding */
};

/* Bytes that cpu_planes_init() needs for its tables. */
size_t cpu_planes_tables(int64_t kh, int64_t kw);
/* @planes: in, out, taps, stride, dilation and pad of both axes and fill are set. */
void cpu_planes_init(struct cpu_planes *planes, int64_t lines, void *tables);
/* Fills the padding for output rows from `row` on, which is equal for all channels. */
void cpu_planes_pad(const struct cpu_planes *planes, int64_t row, float *to);
/* Fills `to`, which has the padding of that row, from one channel. */
void cpu_planes_fill(const struct cpu_simd *simd, const struct cpu_planes *planes, const float *x,
		     int64_t row, float *to);

#endif
