/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions in channels-last layout, row by row, for callers that have only some rows
 * of the input (tile_lines.c).
 */
#ifndef WNN_CPU_CONV_DEPTHWISE_H
#define WNN_CPU_CONV_DEPTHWISE_H

#include "cpu/conv.h"

struct cpu_depthwise {
	const struct cpu_simd *simd;
	struct cpu_conv conv;
	const float *filter, *bias; /* [tap][channel]; [channel] or NULL */
	const float *zeros;	    /* one for each channel */
	float lo, hi;
	bool limited; /* the activation is lo and hi */
};

/* Rows of an image in a ring: row i is at index i modulo `count`. */
struct cpu_image_lines {
	const float *first;
	int64_t count;
};

/* Packs the filter for cpu_depthwise_line(); for nchw images, as [channel][tap]. The size stays. */
void cpu_depthwise_pack(const struct cpu_conv *conv, const float *from, float *to);

/* Whether cpu_depthwise_line() computes several pixels of this convolution at a time. */
bool cpu_depthwise_by_pixels(const struct cpu_simd *simd, const struct cpu_conv *conv);

/* Computes row `row` of the results of an image. @taps: room for a pointer for each tap. */
void cpu_depthwise_line(const struct cpu_depthwise *d, const struct cpu_image_lines *x, int64_t row,
			float *y, const float **taps);

#endif
