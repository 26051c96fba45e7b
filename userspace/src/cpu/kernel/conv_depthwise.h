/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions in channels-last layout, row by row, also for a caller that has only some
 * rows of the input at a time (tile_rows.c).
 */
#ifndef WNN_CPU_CONV_DEPTHWISE_H
#define WNN_CPU_CONV_DEPTHWISE_H

#include "cpu/kernel/conv.h"

struct cpu_depthwise {
	const struct cpu_simd *simd;
	struct cpu_conv conv;
	const float *filter, *bias; /* filter: [tap][channel]; bias: [channel] or NULL */
	const float *zeros;	    /* a zero for each channel, read as padding */
	float lo, hi;
	bool limited; /* whether the limits lo and hi are the whole activation */
};

/* A ring buffer of rows of an image: row i is at index i modulo `count`. */
struct cpu_image_rows {
	const float *first;
	int64_t count;
};

/*
 * Packs the filter for cpu_depthwise_row() as [tap][channel], or for nchw images as
 * [channel][tap]. The packed filter has the size of the original.
 */
void cpu_depthwise_pack(const struct cpu_conv *conv, const float *from, float *to);

/* Whether cpu_depthwise_row() computes several pixels of this convolution at a time. */
bool cpu_depthwise_by_pixels(const struct cpu_simd *simd, const struct cpu_conv *conv);

/* Computes row `row` of the results of an image. @taps: scratch memory for one pointer per tap. */
void cpu_depthwise_row(const struct cpu_depthwise *d, const struct cpu_image_rows *x, int64_t row,
		       float *y, const float **taps);

#endif
