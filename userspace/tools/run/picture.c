// SPDX-License-Identifier: MIT
/*
 * webnn-run: reads PNG and JPEG pictures as elements of an input. Scaling is bilinear, with a
 * filter that widens when it reduces, so that every pixel contributes.
 */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* jpeglib.h needs FILE of stdio.h. */
#include <jpeglib.h>

#include "run.h"
#include "value.h"

#define COLOURS 3

/* A picture of red, green and blue from 0 to 255. */
struct picture {
	uint32_t width, height;
	float *pixels;
};

bool picture_is(const uint8_t *head, size_t size)
{
	return size >= 4 && (!memcmp(head, "\x89PNG", 4) || !memcmp(head, "\xff\xd8\xff", 3));
}

static int no_memory(const char *path)
{
	return complain(
		BAD_DEVICE,
		"%s: the picture, or what it is scaled to, has more than 2^26 pixels, or too little "
		"memory is free for it; make the picture smaller, or the size that it is scaled to",
		path);
}

static int make(struct picture *picture, uint32_t width, uint32_t height)
{
	*picture = (struct picture){ width, height, NULL };
	if ((uint64_t)width * height <= UINT64_C(1) << 26)
		picture->pixels = malloc((size_t)width * height * COLOURS * sizeof(float));
	return picture->pixels ? 0 : -1;
}

static void take_row(struct picture *picture, uint32_t y, const uint8_t *row)
{
	float *to = picture->pixels + (size_t)y * picture->width * COLOURS;

	for (size_t i = 0; i < (size_t)picture->width * COLOURS; i++)
		to[i] = row[i];
}

/* ---- files */

static int read_png(const char *path, struct picture *picture)
{
	const png_color black = { 0, 0, 0 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	uint8_t *rows;
	int ret = DONE;

	if (!png_image_begin_read_from_file(&image, path))
		return complain(BAD_FILE, "%s: %s", path, image.message);
	image.format = PNG_FORMAT_RGB;
	rows = make(picture, image.width, image.height) ? NULL : malloc(PNG_IMAGE_SIZE(image));
	if (!rows) {
		png_image_free(&image);
		return no_memory(path);
	}
	if (png_image_finish_read(&image, &black, rows, 0, NULL))
		for (uint32_t y = 0; y < picture->height; y++)
			take_row(picture, y, rows + (size_t)y * picture->width * COLOURS);
	else
		ret = complain(BAD_FILE, "%s: %s", path, image.message);
	free(rows);
	return ret;
}

/* The error state of libjpeg, which leaves its functions by a jump when a file is damaged. */
struct jpeg_errors {
	struct jpeg_error_mgr manager; /* must be first: libjpeg passes a pointer to it */
	jmp_buf way_out;
	char message[JMSG_LENGTH_MAX];
};

static void jpeg_failed(j_common_ptr jpeg)
{
	struct jpeg_errors *errors = (struct jpeg_errors *)jpeg->err;

	jpeg->err->format_message(jpeg, errors->message);
	longjmp(errors->way_out, 1);
}

/* Treats warnings as errors: they mean that the file is damaged or cut off. */
static void jpeg_warned(j_common_ptr jpeg, int level)
{
	if (level < 0)
		jpeg_failed(jpeg);
}

/*
 * Decodes a JPEG file; *row is freed by the caller. Returns DONE, BAD_FILE or BAD_DEVICE. A
 * function of libjpeg that fails jumps to setjmp(): all values that must survive the jump are in
 * the arguments.
 */
static int decode_jpeg(struct jpeg_decompress_struct *jpeg, struct jpeg_errors *errors, FILE *file,
		       struct picture *picture, uint8_t **row)
{
	if (setjmp(errors->way_out))
		return BAD_FILE;
	jpeg_create_decompress(jpeg);
	jpeg_stdio_src(jpeg, file);
	jpeg_read_header(jpeg, TRUE);
	jpeg->out_color_space = JCS_RGB;
	jpeg_start_decompress(jpeg);
	*row = malloc((size_t)jpeg->output_width * COLOURS);
	if (!*row || make(picture, jpeg->output_width, jpeg->output_height))
		return BAD_DEVICE;
	while (jpeg->output_scanline < jpeg->output_height) {
		uint32_t y = jpeg->output_scanline;

		jpeg_read_scanlines(jpeg, row, 1);
		take_row(picture, y, *row);
	}
	jpeg_finish_decompress(jpeg);
	return DONE;
}

static int read_jpeg(const char *path, struct picture *picture)
{
	struct jpeg_decompress_struct jpeg = { 0 };
	struct jpeg_errors errors = { 0 };
	FILE *file = fopen(path, "rb");
	uint8_t *row = NULL;
	int ret;

	if (!file)
		return complain(BAD_FILE, "%s: %s", path, strerror(errno));
	jpeg.err = jpeg_std_error(&errors.manager);
	errors.manager.error_exit = jpeg_failed;
	errors.manager.emit_message = jpeg_warned;
	ret = decode_jpeg(&jpeg, &errors, file, picture, &row);
	if (ret == BAD_FILE)
		complain(BAD_FILE, "%s: %s", path, errors.message);
	else if (ret)
		no_memory(path);
	jpeg_destroy_decompress(&jpeg);
	free(row);
	fclose(file);
	return ret;
}

/* ---- scaling */

/*
 * Computes the weights of the source pixels from *first on for pixel @at of @size; returns their
 * number.
 */
static uint32_t weigh(uint32_t at, uint32_t size, uint32_t from, float *weights, uint32_t *first)
{
	double ratio = (double)from / size, reach = ratio > 1 ? ratio : 1;
	double centre = (at + 0.5) * ratio, sum = 0;
	double low = floor(centre - reach + 0.5), high = floor(centre + reach + 0.5);
	uint32_t count;

	*first = low < 0 ? 0 : (uint32_t)low;
	count = (uint32_t)(high > from ? from : high) - *first;
	for (uint32_t i = 0; i < count; i++) {
		double weight = 1 - fabs(*first + i + 0.5 - centre) / reach;

		weights[i] = weight > 0 ? (float)weight : 0;
		sum += (double)weights[i];
	}
	for (uint32_t i = 0; i < count; i++)
		weights[i] = (float)((double)weights[i] / sum);
	return count;
}

/*
 * Scales a picture along one direction, for @lines lines; steps[0] is the distance of pixels,
 * steps[1] that of lines.
 */
static void scale_lines(const float *from, float *to, uint32_t from_size, uint32_t to_size,
			uint32_t lines, const size_t from_steps[2], const size_t to_steps[2],
			float *weights)
{
	for (uint32_t at = 0; at < to_size; at++) {
		uint32_t first, count = weigh(at, to_size, from_size, weights, &first);

		for (uint32_t line = 0; line < lines; line++)
			for (uint32_t c = 0; c < COLOURS; c++) {
				const float *in =
					from + first * from_steps[0] + line * from_steps[1] + c;
				double sum = 0;

				for (uint32_t i = 0; i < count; i++)
					sum += (double)weights[i] * (double)in[i * from_steps[0]];
				to[at * to_steps[0] + line * to_steps[1] + c] = (float)sum;
			}
	}
}

static int resize(struct picture *picture, uint32_t width, uint32_t height)
{
	uint32_t longest = picture->width > picture->height ? picture->width : picture->height;
	float *weights = malloc(((size_t)longest + 2) * sizeof(*weights));
	struct picture narrow, result = { 0 };

	if (!weights || make(&narrow, width, picture->height)) {
		free(weights);
		return -1;
	}
	scale_lines(picture->pixels, narrow.pixels, picture->width, width, picture->height,
		    (size_t[]){ COLOURS, (size_t)picture->width * COLOURS },
		    (size_t[]){ COLOURS, (size_t)width * COLOURS }, weights);
	if (!make(&result, width, height))
		scale_lines(narrow.pixels, result.pixels, picture->height, height, width,
			    (size_t[]){ (size_t)width * COLOURS, COLOURS },
			    (size_t[]){ (size_t)width * COLOURS, COLOURS }, weights);
	free(weights);
	free(narrow.pixels);
	free(picture->pixels);
	*picture = result;
	return result.pixels ? 0 : -1;
}

static void crop(struct picture *picture, uint32_t width, uint32_t height)
{
	uint32_t left = (picture->width - width) / 2, top = (picture->height - height) / 2;

	for (uint32_t y = 0; y < height; y++)
		memmove(picture->pixels + (size_t)y * width * COLOURS,
			picture->pixels + ((size_t)(top + y) * picture->width + left) * COLOURS,
			(size_t)width * COLOURS * sizeof(float));
	picture->width = width;
	picture->height = height;
}

/* ---- to elements */

/* Where the pixels of a picture go in the elements of an input. */
struct layout {
	uint32_t height, width, channels;
	size_t row, column, channel; /* strides */
};

static bool is_colours(uint32_t channels)
{
	return channels == 1 || channels == COLOURS;
}

static int find_layout(const char *path, const char *wanted, const struct value *value,
		       struct layout *layout)
{
	const uint32_t *last = value->shape + value->rank;
	bool nchw, nhwc, fits;
	char text[200];

	value_describe(value, text, sizeof(text));
	nchw = value->rank >= 3 && value->rank <= 4 && is_colours(last[-3]);
	nhwc = value->rank >= 3 && value->rank <= 4 && is_colours(last[-1]);
	fits = nchw || nhwc;
	if (wanted) {
		nchw &= !strcmp(wanted, "nchw");
		nhwc &= !strcmp(wanted, "nhwc");
	}
	if (value->rank == 2)
		*layout = (struct layout){ last[-2], last[-1], 1, last[-1], 1, 0 };
	else if (nchw)
		*layout = (struct layout){ last[-2], last[-1], last[-3],
					   last[-1], 1,	       (size_t)last[-1] * last[-2] };
	else if (nhwc)
		*layout = (struct layout){ last[-3], last[-2],
					   last[-1], (size_t)last[-2] * last[-1],
					   last[-1], 1 };
	else
		return complain(
			BAD_FILE,
			"%s: input \"%s\" is %s and takes no picture: pictures need the shape "
			"[1, C, H, W] or [1, H, W, C], also without the 1, or [H, W], with 1 or 3 "
			"channels C%s",
			path, value->name, text,
			fits ? "; this shape fits, but --layout names the other one: leave out --layout" :
			       "");
	if (value->rank == 4 && value->shape[0] != 1)
		return complain(
			BAD_FILE,
			"%s: this is one picture, but input \"%s\" takes a batch of %u: give a "
			".npy file with the whole batch, or, if the model leaves that size open, set it to "
			"1 with --dim or --shape",
			path, value->name, value->shape[0]);
	return DONE;
}

/*
 * Sets the size to scale to. @options may give both sides, or a width alone, which the shorter side
 * gets. If they give neither, the picture keeps its size when they crop it, and gets that of the
 * layout when not.
 */
static void target_size(const struct picture_options *options, const struct picture *picture,
			const struct layout *layout, uint32_t *width, uint32_t *height)
{
	uint32_t shorter = picture->width < picture->height ? picture->width : picture->height;
	double ratio = (double)options->resize_width / shorter;

	*width = options->resize_width;
	*height = options->resize_height;
	if (*width && !*height) {
		*width = (uint32_t)lround(picture->width * ratio);
		*height = (uint32_t)lround(picture->height * ratio);
	} else if (!*width && options->crop_width) {
		*width = picture->width;
		*height = picture->height;
	} else if (!*width) {
		*width = layout->width;
		*height = layout->height;
	}
}

/*
 * Resizes and crops a picture to what the layout of input @name takes. Returns DONE, or the exit
 * code after a message.
 */
static int fit(const char *path, const struct picture_options *options, const struct layout *layout,
	       const char *name, struct picture *picture)
{
	uint32_t width, height;

	if (options->crop_width &&
	    (options->crop_width != layout->width || options->crop_height != layout->height))
		return complain(
			BAD_FILE,
			"%s: --crop %ux%u is not the size of input \"%s\", which takes %ux%u "
			"pixels: give that size, or leave out --crop",
			path, options->crop_width, options->crop_height, name, layout->width,
			layout->height);
	target_size(options, picture, layout, &width, &height);
	if ((width != picture->width || height != picture->height) &&
	    resize(picture, width, height))
		return no_memory(path);
	width = layout->width;
	height = layout->height;
	if (width > picture->width || height > picture->height)
		return complain(
			BAD_FILE,
			"%s: the picture has %ux%u pixels%s, but %ux%u are to be cut out of its middle: "
			"give --resize %ux%u or more",
			path, picture->width, picture->height,
			options->resize_width ? " after --resize" : "", width, height, width,
			height);
	crop(picture, width, height);
	return DONE;
}

static void fill(const struct picture *picture, const struct picture_options *options,
		 const struct layout *layout, struct value *value)
{
	double scale = options->has_scale ? options->scale : value_is_float(value) ? 1 / 255.0 : 1;
	const float *pixel = picture->pixels;

	for (uint32_t y = 0; y < layout->height; y++)
		for (uint32_t x = 0; x < layout->width; x++, pixel += COLOURS)
			for (uint32_t c = 0; c < layout->channels; c++) {
				double number = (double)pixel[options->bgr ? COLOURS - 1 - c : c];

				if (layout->channels == 1)
					number = 0.299 * (double)pixel[0] +
						 0.587 * (double)pixel[1] +
						 0.114 * (double)pixel[2];
				number =
					(number * scale - options->mean[c]) / options->deviation[c];
				value_set(value,
					  y * layout->row + x * layout->column +
						  c * layout->channel,
					  number);
			}
}

int picture_read(const char *path, const struct picture_options *options, struct value *value)
{
	struct picture picture = { 0 };
	struct layout layout = { 0 };
	uint8_t head[4] = { 0 };
	FILE *file;
	int ret;

	errno = 0;
	file = fopen(path, "rb");
	if (!file || fread(head, 1, sizeof(head), file) != sizeof(head)) {
		ret = complain_unread(path, errno);
		if (file)
			fclose(file);
		return ret;
	}
	fclose(file);
	ret = find_layout(path, options->layout, value, &layout);
	if (ret)
		return ret;
	ret = head[0] == 0x89 ? read_png(path, &picture) : read_jpeg(path, &picture);
	if (!ret)
		ret = fit(path, options, &layout, value->name, &picture);
	if (!ret)
		fill(&picture, options, &layout, value);
	free(picture.pixels);
	return ret;
}
