// SPDX-License-Identifier: MIT
/*
 * Finds the faces in a picture.
 *
 *	cc detect.c $(pkg-config --cflags --libs webnn-onnx libpng libjpeg) -lm -o detect
 *	./detect ultraface_version-RFB-320.onnx photo.jpg
 *
 * The network, Ultraface, looks at 4420 places. For each it tells how likely there is a face, and
 * the box of the face. Boxes of the same face overlap: only the likeliest of them counts.
 */
#include <argp.h>
#include <err.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
/* jpeglib.h needs FILE, so it comes after the headers above, which include stdio.h. */
#include <jpeglib.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#define MEAN	  127.0f /* what the network was trained with */
#define DEVIATION 128.0f
#define OVERLAP	  0.3f /* common area by joint area, from which on two boxes are of one face */

struct options {
	const char *device;
	const char *file[2]; /* model, picture */
	float threshold;
};

struct picture {
	uint32_t width, height;
	uint8_t *pixels; /* red, green, blue */
};

/* The coordinates are fractions of the picture's width and height, from 0 to 1. */
struct face {
	float left, top, right, bottom, probability;
};

struct network {
	WNNContext context;
	WNNGraph graph;
	uint32_t width, height; /* size of the pictures that the network takes */
	uint32_t places;
	WNNNamedTensor in, out[2]; /* boxes and scores */
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

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "threshold", 't', "P", 0, "A face has at least this probability (default: 0.7)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case 't':
		o->threshold = strtof(value, NULL);
		if (!(o->threshold > 0 && o->threshold < 1))
			argp_error(state, "--threshold=%s is not between 0 and 1", value);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 2)
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

/*
 * Returns the output @name of the graph, which must have @columns numbers for each place; ends the
 * program when there is none.
 */
static const WNNNamedOperandDescriptor *find_output(WNNGraph graph, const char *name,
						    uint32_t columns)
{
	const WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(graph);

	for (size_t i = 0; i < outputs.count; i++) {
		const WNNNamedOperandDescriptor *o = &outputs.data[i];

		if (o->name.length == strlen(name) && !memcmp(o->name.data, name, o->name.length) &&
		    o->shape.count == 3 && o->shape.data[2] == columns)
			return o;
	}
	errx(1, "the network has no output \"%s\" of %u columns: it is another one", name, columns);
}

static void network_open(struct network *n, WNNContext context, const char *path)
{
	const WNNNamedOperandDescriptor *input, *boxes, *scores;
	WNNOnnxModel model;

	n->context = context;
	check_onnx(wnnOnnxLoadFile(WNN_STR(path), NULL, &model));
	check_onnx(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &n->graph));
	wnnOnnxModelRelease(model);
	input = wnnGraphGetInputs(n->graph).data;
	boxes = find_output(n->graph, "boxes", 4);
	scores = find_output(n->graph, "scores", 2);
	if (input->shape.count != 4 || input->shape.data[1] != 3)
		errx(1, "%s: its input is no picture", path);
	n->height = input->shape.data[2];
	n->width = input->shape.data[3];
	n->places = boxes->shape.data[1];
	n->in = make_tensor(context, input);
	n->out[0] = make_tensor(context, boxes);
	n->out[1] = make_tensor(context, scores);
}

static void network_close(struct network *n)
{
	wnnTensorRelease(n->in.tensor);
	wnnTensorRelease(n->out[0].tensor);
	wnnTensorRelease(n->out[1].tensor);
	wnnGraphRelease(n->graph);
}

static void write_picture(struct network *n, const struct picture *p)
{
	const size_t plane = (size_t)n->width * n->height;
	float *input = malloc(3 * plane * sizeof(*input));

	if (!input)
		errx(1, "memory is exhausted");
	for (uint32_t y = 0; y < n->height; y++) {
		for (uint32_t x = 0; x < n->width; x++) {
			float colours[3];

			scaled_pixel(p, n->width, n->height, x, y, colours);
			for (size_t c = 0; c < 3; c++)
				input[c * plane + (size_t)y * n->width + x] =
					(colours[c] - MEAN) / DEVIATION;
		}
	}
	check(wnnContextWriteTensor(n->context, n->in.tensor, input, 3 * plane * sizeof(*input)));
	free(input);
}

/* ---- faces */

static int likelier(const void *a, const void *b)
{
	const struct face *p = a, *q = b;

	return (p->probability < q->probability) - (p->probability > q->probability);
}

static float overlap(const struct face *a, const struct face *b)
{
	float width = fminf(a->right, b->right) - fmaxf(a->left, b->left);
	float height = fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top);
	float common = fmaxf(width, 0) * fmaxf(height, 0);
	float joint = (a->right - a->left) * (a->bottom - a->top) +
		      (b->right - b->left) * (b->bottom - b->top) - common;

	return common / fmaxf(joint, 1e-9f);
}

/*
 * Sorts the faces, the likeliest first, and removes those that overlap a likelier one; returns how
 * many are left.
 */
static size_t choose(struct face *faces, size_t count)
{
	size_t kept = 0;

	qsort(faces, count, sizeof(*faces), likelier);
	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (j < kept && overlap(&faces[j], &faces[i]) <= OVERLAP)
			j++;
		if (j == kept)
			faces[kept++] = faces[i];
	}
	return kept;
}

/* Returns the faces, the likeliest first, in an array that the caller frees. */
static struct face *find_faces(struct network *n, float threshold, size_t *count)
{
	const size_t size = n->places * sizeof(float);
	struct face *faces = malloc((n->places + 1) * sizeof(*faces));
	float *boxes = malloc(4 * size), *scores = malloc(2 * size);

	if (!faces || !boxes || !scores)
		errx(1, "memory is exhausted");
	check(wnnContextDispatch(n->context, n->graph, 1, &n->in, 2, n->out));
	check(wnnContextReadTensorIntoSync(n->context, n->out[0].tensor, boxes, 4 * size,
					   WNN_WAIT_FOREVER));
	check(wnnContextReadTensorIntoSync(n->context, n->out[1].tensor, scores, 2 * size,
					   WNN_WAIT_FOREVER));
	*count = 0;
	for (size_t i = 0; i < n->places; i++) {
		const float *box = boxes + 4 * i;

		/* The first score is that of the background. */
		if (scores[2 * i + 1] >= threshold)
			faces[(*count)++] =
				(struct face){ box[0], box[1], box[2], box[3], scores[2 * i + 1] };
	}
	*count = choose(faces, *count);
	free(boxes);
	free(scores);
	return faces;
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		argp_options,
		parse_option,
		"MODEL.onnx PICTURE",
		"Prints left, top, right and bottom of each face in a picture (PNG or JPEG), "
		"in pixels, and its probability.",
		NULL,
		NULL,
		NULL
	};
	WNNInstance instance = wnnCreateInstance(NULL);
	struct options options = { .threshold = 0.7f };
	struct picture picture;
	struct network network;
	struct face *faces;
	size_t count;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	picture = read_picture(options.file[1]);
	network_open(&network, open_device(instance, options.device), options.file[0]);
	write_picture(&network, &picture);
	faces = find_faces(&network, options.threshold, &count);
	for (size_t i = 0; i < count; i++)
		printf("%.1f %.1f %.1f %.1f %.6f\n", (double)faces[i].left * picture.width,
		       (double)faces[i].top * picture.height,
		       (double)faces[i].right * picture.width,
		       (double)faces[i].bottom * picture.height, (double)faces[i].probability);
	free(faces);
	free(picture.pixels);
	network_close(&network);
	wnnContextRelease(network.context);
	wnnInstanceRelease(instance);
	return 0;
}
