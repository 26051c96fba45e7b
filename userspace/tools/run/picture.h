/* SPDX-License-Identifier: MIT */
/* webnn-run: pictures, from PNG and JPEG to the elements of an input. */
#ifndef ONPU_TOOLS_RUN_PICTURE_H
#define ONPU_TOOLS_RUN_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;

struct picture_options {
	/*
	 * Width 0: scale to the size of the input, or not at all when the picture is cropped.
	 * Height 0: the width is the size of the shorter side.
	 */
	uint32_t resize_width, resize_height;
	/* 0: crop only if --resize leaves more than the size of the input. */
	uint32_t crop_width, crop_height;
	bool has_scale; /* otherwise the scale is 1/255, or 1 for integers */
	double scale, mean[3], deviation[3];
	const char *layout; /* "nchw", "nhwc", or NULL: the shape decides */
	bool bgr;
};

/* Returns whether a file with these first bytes is a picture. */
bool picture_is(const uint8_t *head, size_t size);

/* Fills @value, whose shape is set. Returns 0, or an exit code after a message. */
int picture_read(const char *path, const struct picture_options *options, struct value *value);

#endif
