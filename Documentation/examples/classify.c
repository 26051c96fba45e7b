// SPDX-License-Identifier: MIT
/*
 * Tells what is in a picture, by any network in an ONNX file that takes a picture and gives a
 * number for each class.
 *
 *	cc classify.c $(pkg-config --cflags --libs webnn-onnx libpng libjpeg) -lm -o classify
 *	./classify squeezenet.onnx photo.jpg labels.txt --mean 127.5 --deviation 127.5
 */
#include <argp.h>
#include <err.h>
#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
/* jpeglib.h needs FILE, so it comes after the headers above, which include stdio.h. */
#include <jpeglib.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

struct options {
	const char *device;
	const char *file[3]; /* model, picture, labels */
	float mean[3], deviation[3];
	unsigned long top;
	bool softmax;
};

struct picture {
	uint32_t width, height;
	uint8_t *pixels; /* red, green, blue */
};

struct network {
	WNNContext context;
	WNNGraph graph;
	uint32_t width, height, channels;
	bool channels_last;
};

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

/* Ends the program with the last error of the importer, which keeps one of its own, on failure. */
static void check_onnx(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnOnnxGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

/* ---- options */

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "mean", 'm', "X[,Y,Z]", 0,
	  "Subtract this from the colours, which are 0 to 255 (default: 0)", 0 },
	{ "deviation", 's', "X[,Y,Z]", 0, "Then divide them by this (default: 255)", 0 },
	{ "softmax", 'p', NULL, 0, "The network does not make probabilities by itself", 0 },
	{ "top", 't', "N", 0, "Print the N best classes (default: 5)", 0 },
	{ 0 }
};

/* Reads one number for all colours, or three. */
static void parse_colours(const char *text, float *colours, struct argp_state *state)
{
	if (sscanf(text, "%f,%f,%f", &colours[0], &colours[1], &colours[2]) == 3)
		return;
	if (strchr(text, ',') || sscanf(text, "%f", &colours[0]) != 1)
		argp_error(state, "\"%s\" is neither one number nor three", text);
	colours[1] = colours[2] = colours[0];
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case 'm':
		parse_colours(value, o->mean, state);
		return 0;
	case 's':
		parse_colours(value, o->deviation, state);
		return 0;
	case 'p':
		o->softmax = true;
		return 0;
	case 't':
		o->top = strtoul(value, NULL, 10);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 3)
			argp_usage(state);
		o->file[state->arg_num] = value;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- pictures */

static struct picture read_png(const char *path)
{
	const png_color black = { 0, 0, 0 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	struct picture p;

	if (!png_image_begin_read_from_file(&image, path))
		errx(1, "%s: %s", path, image.message);
	image.format = PNG_FORMAT_RGB;
	p = (struct picture){ image.width, image.height, malloc(PNG_IMAGE_SIZE(image)) };
	if (!p.pixels)
		errx(1, "memory is exhausted");
	if (!png_image_finish_read(&image, &black, p.pixels, 0, NULL))
		errx(1, "%s: %s", path, image.message);
	return p;
}

/*
 * Reads a JPEG file and returns its pixels, three bytes each. For a damaged file, libjpeg itself
 * prints a message and ends the program.
 */
static struct picture read_jpeg(FILE *file)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct picture p;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_stdio_src(&jpeg, file);
	jpeg_read_header(&jpeg, TRUE);
	jpeg.out_color_space = JCS_RGB;
	jpeg_start_decompress(&jpeg);
	p = (struct picture){ jpeg.output_width, jpeg.output_height, NULL };
	p.pixels = malloc((size_t)p.width * p.height * 3);
	if (!p.pixels)
		errx(1, "memory is exhausted");
	while (jpeg.output_scanline < p.height) {
		uint8_t *row = p.pixels + (size_t)jpeg.output_scanline * p.width * 3;

		jpeg_read_scanlines(&jpeg, &row, 1);
	}
	jpeg_finish_decompress(&jpeg);
	jpeg_destroy_decompress(&jpeg);
	return p;
}

static struct picture read_picture(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct picture p;
	int first;

	if (!file)
		err(1, "%s", path);
	first = fgetc(file);
	rewind(file);
	p = first == 0xff ? read_jpeg(file) : read_png(path);
	fclose(file);
	return p;
}

/*
 * Computes one pixel of the picture scaled to @width x @height: the mean of the pixels around it,
 * weighted by a triangle, which is wider when the picture shrinks.
 */
static void scaled_pixel(const struct picture *p, uint32_t width, uint32_t height, uint32_t x,
			 uint32_t y, float *colours)
{
	const float x_scale = (float)p->width / (float)width, x_reach = fmaxf(x_scale, 1);
	const float y_scale = (float)p->height / (float)height, y_reach = fmaxf(y_scale, 1);
	const float x_middle = ((float)x + 0.5f) * x_scale, y_middle = ((float)y + 0.5f) * y_scale;
	const uint32_t left = (uint32_t)fmaxf(x_middle - x_reach, 0);
	const uint32_t top = (uint32_t)fmaxf(y_middle - y_reach, 0);
	float sum = 0;

	memset(colours, 0, 3 * sizeof(*colours));
	for (uint32_t i = top; i < p->height && (float)i < y_middle + y_reach; i++) {
		for (uint32_t j = left; j < p->width && (float)j < x_middle + x_reach; j++) {
			const float dx = fabsf((float)j + 0.5f - x_middle) / x_reach;
			const float dy = fabsf((float)i + 0.5f - y_middle) / y_reach;
			const float weight = fmaxf(1 - dx, 0) * fmaxf(1 - dy, 0);
			const uint8_t *pixel = p->pixels + ((size_t)i * p->width + j) * 3;

			for (int c = 0; c < 3; c++)
				colours[c] += weight * (float)pixel[c];
			sum += weight;
		}
	}
	for (int c = 0; c < 3; c++)
		colours[c] /= sum;
}

/*
 * Scales the picture to the network's input and returns the normalised numbers in allocated memory:
 * planes of colours, pixels of colours, or one plane of greys, as the network wants it.
 */
static float *make_input(const struct network *n, const struct picture *p, const struct options *o)
{
	const size_t plane = (size_t)n->width * n->height;
	float *input = malloc(plane * n->channels * sizeof(*input));

	if (!input)
		errx(1, "memory is exhausted");
	for (uint32_t y = 0; y < n->height; y++) {
		for (uint32_t x = 0; x < n->width; x++) {
			const size_t at = (size_t)y * n->width + x;
			float colours[3];

			scaled_pixel(p, n->width, n->height, x, y, colours);
			if (n->channels == 1)
				colours[0] = 0.299f * colours[0] + 0.587f * colours[1] +
					     0.114f * colours[2];
			for (uint32_t c = 0; c < n->channels; c++)
				input[n->channels_last ? at * n->channels + c : c * plane + at] =
					(colours[c] - o->mean[c]) / o->deviation[c];
		}
	}
	return input;
}

/* ---- the network */

static WNNContext open_device(WNNInstance instance, const char *name)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	if (name)
		device.device = WNN_STR(name);
	options.nextInChain = &device.chain;
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context));
	return context;
}

/* Sets the shape for one picture, and finds out the layout: which dimension is 1 or 3. */
static void set_shape(struct network *n, WNNOnnxModel model, const char *path)
{
	const WNNOnnxValueInfoArray inputs = wnnOnnxModelGetInputs(model);
	uint32_t shape[4];

	if (inputs.count != 1 || inputs.data[0].rank != 4)
		errx(1, "%s: its input is no picture", path);
	for (int i = 0; i < 4; i++) {
		int64_t size = inputs.data[0].dimensions[i].size;

		shape[i] = size == WNN_ONNX_DIMENSION_UNKNOWN && !i ? 1 : (uint32_t)size;
		if (size == WNN_ONNX_DIMENSION_UNKNOWN && i)
			errx(1, "%s: it does not say how big its pictures are", path);
	}
	n->channels_last = shape[3] == 1 || shape[3] == 3;
	n->channels = n->channels_last ? shape[3] : shape[1];
	n->height = n->channels_last ? shape[1] : shape[2];
	n->width = n->channels_last ? shape[2] : shape[3];
	if (shape[0] != 1 || (n->channels != 1 && n->channels != 3))
		errx(1, "%s: its input is not one picture in grey or in colours", path);
	check_onnx(wnnOnnxModelSetInputShape(model, inputs.data[0].name, WNN_UINT32_ARRAY(shape)));
}

static void network_open(struct network *n, WNNContext context, const char *path)
{
	WNNOnnxModel model;

	n->context = context;
	check_onnx(wnnOnnxLoadFile(WNN_STR(path), NULL, &model));
	set_shape(n, model, path);
	check_onnx(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &n->graph));
	if (wnnGraphGetOutputs(n->graph).count != 1)
		errx(1, "%s: it has more than one output", path);
	wnnOnnxModelRelease(model);
}

static WNNNamedTensor make_tensor(WNNContext context, const WNNNamedOperandDescriptor *operand)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNNamedTensor tensor = { operand->name, NULL };

	descriptor.dataType = operand->dataType;
	descriptor.shape = operand->shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor.tensor));
	return tensor;
}

/* Returns an array with a number for each class, which the caller frees. */
static float *network_run(const struct network *n, const float *input, size_t *classes)
{
	const WNNNamedOperandDescriptor *output = wnnGraphGetOutputs(n->graph).data;
	const size_t bytes = (size_t)n->width * n->height * n->channels * sizeof(*input);
	WNNNamedTensor in = make_tensor(n->context, wnnGraphGetInputs(n->graph).data);
	WNNNamedTensor out = make_tensor(n->context, output);
	float *scores;

	*classes = 1;
	for (size_t i = 0; i < output->shape.count; i++)
		*classes *= output->shape.data[i];
	scores = malloc(*classes * sizeof(*scores));
	if (!scores)
		errx(1, "memory is exhausted");
	check(wnnContextWriteTensor(n->context, in.tensor, input, bytes));
	check(wnnContextDispatch(n->context, n->graph, 1, &in, 1, &out));
	check(wnnContextReadTensorIntoSync(n->context, out.tensor, scores,
					   *classes * sizeof(*scores), WNN_WAIT_FOREVER));
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	return scores;
}

/* ---- classes */

static void make_probabilities(float *scores, size_t classes)
{
	float largest = scores[0], sum = 0;

	for (size_t i = 1; i < classes; i++)
		largest = fmaxf(largest, scores[i]);
	for (size_t i = 0; i < classes; i++) {
		scores[i] = expf(scores[i] - largest);
		sum += scores[i];
	}
	for (size_t i = 0; i < classes; i++)
		scores[i] /= sum;
}

/*
 * Returns line number @line of the file, counted from 0, which the caller frees; NULL if there is
 * none.
 */
static char *read_label(const char *path, size_t line)
{
	FILE *file = fopen(path, "r");
	char *label = NULL;
	ssize_t length = 0;
	size_t size = 0;

	if (!file)
		err(1, "%s", path);
	for (size_t i = 0; i <= line && length >= 0; i++)
		length = getline(&label, &size, file);
	fclose(file);
	if (length < 0) {
		free(label);
		return NULL;
	}
	label[strcspn(label, "\r\n")] = '\0';
	return label;
}

/* Prints the best @top classes, the best first. Changes the scores of those to -INFINITY. */
static void print_best(float *scores, size_t classes, size_t top, const char *labels)
{
	for (size_t n = 0; n < top && n < classes; n++) {
		size_t best = 0;
		char *label;

		for (size_t i = 1; i < classes; i++)
			if (scores[i] > scores[best])
				best = i;
		label = labels ? read_label(labels, best) : NULL;
		printf("%.6f %zu%s%s\n", (double)scores[best], best, label ? " " : "",
		       label ? label : "");
		free(label);
		scores[best] = -INFINITY;
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		argp_options,
		parse_option,
		"MODEL.onnx PICTURE [LABELS]",
		"Prints what is in a picture (PNG or JPEG).\vLABELS has the name of a class in each line.",
		NULL,
		NULL,
		NULL
	};
	struct options options = { .deviation = { 255, 255, 255 }, .top = 5 };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct picture picture;
	struct network network;
	float *input, *scores;
	size_t classes;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	picture = read_picture(options.file[1]);
	network_open(&network, open_device(instance, options.device), options.file[0]);
	input = make_input(&network, &picture, &options);
	scores = network_run(&network, input, &classes);
	if (options.softmax)
		make_probabilities(scores, classes);
	print_best(scores, classes, options.top, options.file[2]);
	free(scores);
	free(input);
	free(picture.pixels);
	wnnGraphRelease(network.graph);
	wnnContextRelease(network.context);
	wnnInstanceRelease(instance);
	return 0;
}
