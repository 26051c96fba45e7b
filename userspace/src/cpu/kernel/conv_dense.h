/* SPDX-License-Identifier: MIT */
/*
 * Dense convolutions as matrix products over packed filters, in two forms: pixels as columns, with
 * vectors along rows of an nchw image, or pixels as rows, with vectors along output channels.
 */
#ifndef WNN_CPU_CONV_DENSE_H
#define WNN_CPU_CONV_DENSE_H

#include "cpu/kernel/conv.h"

/* The division of n into slices of at most `most`, whose sizes differ by at most one. */
struct cpu_split {
	/* parts: number of slices; the first `longer` ones have size + 1, the others `size` */
	int64_t parts, size, longer;
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

/* The operands of one dense convolution. The filter is packed. */
struct cpu_conv_run {
	struct cpu_context *cpu;
	struct cpu_conv conv;
	int64_t depth; /* in_per_group * kh * kw */
	const float *x, *filter, *bias;
	float *y;
	float lo, hi;
	bool limited; /* whether the limits lo and hi are the whole activation */
};

/* Whether pixels as columns are faster than pixels as rows. */
bool cpu_conv_by_columns(const struct cpu_simd *simd, const struct cpu_conv *conv);

size_t cpu_conv_columns_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *conv);
void cpu_conv_columns_pack(const struct cpu_simd *simd, const struct cpu_conv *conv,
			   const float *from, float *to);
size_t cpu_conv_rows_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *conv);
void cpu_conv_rows_pack(const struct cpu_simd *simd, const struct cpu_conv *conv, const float *from,
			float *to);

/*
 * Compute a convolution. When run->filter is NULL they pack the filter for this call, from
 * `unpacked`. Return 0 or -1.
 */
int cpu_conv_columns(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err);
int cpu_conv_rows(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err);

#endif
