/* SPDX-License-Identifier: MIT */
/* Depthwise convolutions in channels-last order, line by line, for those who have only some lines of the input. */
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

/* Lines of an image; line i lies at the place i modulo `count`. */
struct cpu_image_lines {
	const float *first;
	int64_t count;
};

/* The form in which the filter is read; for nchw images, [channel][tap]. As many floats as before. */
void cpu_depthwise_pack(const struct cpu_conv *conv, const float *from, float *to);

/* Whether a convolution is one that cpu_depthwise_line() takes three pixels at once of. */
bool cpu_depthwise_by_pixels(const struct cpu_simd *simd, const struct cpu_conv *conv);

/* Line `row` of the results of an image. @taps: room for a pointer for each. */
void cpu_depthwise_line(const struct cpu_depthwise *d, const struct cpu_image_lines *x, int64_t row,
			float *y, const float **taps);

#endif
