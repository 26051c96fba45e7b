/* SPDX-License-Identifier: MIT */
/*
 * Dense convolutions as matrix products over packed filters, in two forms: pixels as columns, with
 * vectors along rows of an nchw image, or pixels as rows, with vectors along output channels.
 */
#ifndef WNN_CPU_CONV_DENSE_H
#define WNN_CPU_CONV_DENSE_H

#include "cpu/conv.h"

/* Splits n into parts of at most `most`, whose sizes differ by one at the most. */
struct cpu_split {
	int64_t parts, size, longer; /* the first `longer` parts have one more than size */
};

static inline struct cpu_split cpu_split(int64_t n, int64_t most)
{
	int64_t parts = (n + most - 1) / most;

	return (struct cpu_split){ parts, n / parts, n % parts };
}

static inline int64_t cpu_split_first(const struct cpu_split *split, int64_t part)
{
	return part * split->size + (part < split->longer ? part : split->longer);
}

static inline int64_t cpu_split_size(const struct cpu_split *split, int64_t part)
{
	return split->size + (part < split->longer);
}

/* The operands of one dense convolution; filter is packed. */
struct cpu_conv_run {
	struct cpu_context *cpu;
	struct cpu_conv conv;
	int64_t depth; /* in_per_group * kh * kw */
	const float *x, *filter, *bias;
	float *y;
	float lo, hi;
	bool limited; /* the activation is lo and hi */
};

/* Whether the form with pixels as columns is the faster one. */
bool cpu_conv_by_columns(const struct cpu_simd *simd, const struct cpu_conv *conv);

size_t cpu_conv_columns_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *conv);
void cpu_conv_columns_pack(const struct cpu_simd *simd, const struct cpu_conv *conv,
			   const float *from, float *to);
size_t cpu_conv_rows_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *conv);
void cpu_conv_rows_pack(const struct cpu_simd *simd, const struct cpu_conv *conv, const float *from,
			float *to);

/* With run->filter NULL the filter is packed for this call, from `unpacked`. */
int cpu_conv_columns(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err);
int cpu_conv_rows(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err);

/* Transposed convolutions, a kernel of the fast layer with its functions for packing. */
int cpu_conv_transposed(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			void *const *out, struct wnn_error *err);
size_t cpu_conv_transposed_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node);
void cpu_conv_transposed_pack(const struct cpu_context *cpu, const struct ir_node *node,
			      const void *from, void *to);

#endif
