// SPDX-License-Identifier: MIT
/*
 * Makes a picture larger, and sharper than by plain scaling, with a network for super-resolution.
 *
 *	cc upscale.c $(pkg-config --cflags --libs webnn-onnx libpng) -lm -o upscale
 *	./upscale super_resolution.onnx small.png large.png
 *
 * Such a network takes only brightness, and only pictures of one size. So the program cuts the
 * picture into tiles of that size. They overlap by more than the network sees around a pixel, which
 * leaves no seams. Colours are scaled by plain interpolation, which nobody notices. While the
 * device computes a tile, the next one already waits there.
 */
#include <argp.h>
#include <err.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#define MARGIN 8 /* pixels at an edge of a tile that count only at an edge of the picture */
#define QUEUED 2 /* tiles at the device */

struct options {
	const char *device;
	const char *file[3]; /* model, picture, result */
};

/* Brightness and two differences of colour, as in JPEG, from 0 to 1. */
struct picture {
	uint32_t width, height;
	float *plane[3];
};

struct network {
	WNNContext context;
	WNNGraph graph;
	uint32_t width, height, factor; /* size of a tile */
	WNNNamedTensor in[QUEUED], out[QUEUED];
};

struct tile {
	uint32_t x, y; /* position in the small picture */
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

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		errx(1, "memory is exhausted");
	return memory;
}

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 3)
			argp_usage(state);
		o->file[state->arg_num] = value;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 3)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- pictures */

static struct picture make_picture(uint32_t width, uint32_t height)
{
	struct picture p = { width, height, { NULL, NULL, NULL } };

	for (int c = 0; c < 3; c++)
		p.plane[c] = allocate((size_t)width * height, sizeof(float));
	return p;
}

static void free_picture(struct picture *p)
{
	for (int c = 0; c < 3; c++)
		free(p->plane[c]);
}

static struct picture read_png(const char *path)
{
	const png_color black = { 0, 0, 0 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	struct picture p;
	uint8_t *rgb;

	if (!png_image_begin_read_from_file(&image, path))
		errx(1, "%s: %s", path, image.message);
	image.format = PNG_FORMAT_RGB;
	rgb = allocate(PNG_IMAGE_SIZE(image), 1);
	if (!png_image_finish_read(&image, &black, rgb, 0, NULL))
		errx(1, "%s: %s", path, image.message);
	p = make_picture(image.width, image.height);
	for (size_t i = 0; i < (size_t)p.width * p.height; i++) {
		float r = (float)rgb[3 * i] / 255, g = (float)rgb[3 * i + 1] / 255;
		float b = (float)rgb[3 * i + 2] / 255;

		p.plane[0][i] = 0.299f * r + 0.587f * g + 0.114f * b;
		p.plane[1][i] = (b - p.plane[0][i]) / 1.772f;
		p.plane[2][i] = (r - p.plane[0][i]) / 1.402f;
	}
	free(rgb);
	return p;
}

static uint8_t to_byte(float value)
{
	return (uint8_t)roundf(255 * fminf(fmaxf(value, 0), 1));
}

static void write_png(const char *path, const struct picture *p)
{
	png_image image = { .version = PNG_IMAGE_VERSION,
			    .width = p->width,
			    .height = p->height,
			    .format = PNG_FORMAT_RGB };
	uint8_t *rgb = allocate((size_t)p->width * p->height, 3);

	for (size_t i = 0; i < (size_t)p->width * p->height; i++) {
		float y = p->plane[0][i], blue = p->plane[1][i], red = p->plane[2][i];

		rgb[3 * i] = to_byte(y + 1.402f * red);
		rgb[3 * i + 1] = to_byte(y - 0.344136f * blue - 0.714136f * red);
		rgb[3 * i + 2] = to_byte(y + 1.772f * blue);
	}
	if (!png_image_write_to_file(&image, path, 0, rgb, 0, NULL))
		errx(1, "%s: %s", path, image.message);
	free(rgb);
}

/* Scales a plane by plain interpolation between four pixels. */
static void scale_plane(const struct picture *from, const struct picture *to, int c)
{
	const float factor = (float)from->width / (float)to->width;

	for (uint32_t y = 0; y < to->height; y++) {
		for (uint32_t x = 0; x < to->width; x++) {
			float left = fmaxf(((float)x + 0.5f) * factor - 0.5f, 0);
			float top = fmaxf(((float)y + 0.5f) * factor - 0.5f, 0);
			uint32_t x0 = (uint32_t)left, x1 = x0 + 1 < from->width ? x0 + 1 : x0;
			uint32_t y0 = (uint32_t)top, y1 = y0 + 1 < from->height ? y0 + 1 : y0;
			const float *upper = from->plane[c] + (size_t)y0 * from->width;
			const float *lower = from->plane[c] + (size_t)y1 * from->width;
			float dx = left - (float)x0, dy = top - (float)y0;

			to->plane[c][(size_t)y * to->width + x] =
				(upper[x0] * (1 - dx) + upper[x1] * dx) * (1 - dy) +
				(lower[x0] * (1 - dx) + lower[x1] * dx) * dy;
		}
	}
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

static void network_open(struct network *n, WNNContext context, const char *path)
{
	const WNNNamedOperandDescriptor *in, *out;
	WNNOnnxModel model;

	n->context = context;
	check_onnx(wnnOnnxLoadFile(WNN_STR(path), NULL, &model));
	check_onnx(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &n->graph));
	wnnOnnxModelRelease(model);
	in = wnnGraphGetInputs(n->graph).data;
	out = wnnGraphGetOutputs(n->graph).data;
	if (wnnGraphGetInputs(n->graph).count != 1 || wnnGraphGetOutputs(n->graph).count != 1 ||
	    in->shape.count != 4 || out->shape.count != 4 || in->shape.data[1] != 1 ||
	    out->shape.data[2] % in->shape.data[2] ||
	    out->shape.data[2] / in->shape.data[2] * in->shape.data[3] != out->shape.data[3])
		errx(1, "%s: it does not make brightness larger by a whole factor", path);
	n->height = in->shape.data[2];
	n->width = in->shape.data[3];
	n->factor = out->shape.data[2] / n->height;
	if (n->width <= 2 * MARGIN || n->height <= 2 * MARGIN)
		errx(1, "%s: its pictures are too small", path);
	for (int i = 0; i < QUEUED; i++) {
		n->in[i] = make_tensor(context, in);
		n->out[i] = make_tensor(context, out);
	}
}

static void network_close(struct network *n)
{
	for (int i = 0; i < QUEUED; i++) {
		wnnTensorRelease(n->in[i].tensor);
		wnnTensorRelease(n->out[i].tensor);
	}
	wnnGraphRelease(n->graph);
}

/* ---- tiles */

/* Returns where tile @i of a row or column of tiles begins; the last one ends with the picture. */
static uint32_t tile_start(uint32_t i, uint32_t tile, uint32_t size)
{
	const uint32_t start = i * (tile - 2 * MARGIN);

	return size <= tile ? 0 : start + tile > size ? size - tile : start;
}

static uint32_t tile_count(uint32_t tile, uint32_t size)
{
	return size <= tile ? 1 : (size - 2 * MARGIN + tile - 2 * MARGIN - 1) / (tile - 2 * MARGIN);
}

/* Queues a tile. If the picture is smaller than a tile, its last row and column are repeated. */
static void queue_tile(const struct network *n, const struct picture *p, struct tile t, size_t slot)
{
	const size_t bytes = (size_t)n->width * n->height * sizeof(float);
	float *tile = allocate(1, bytes);

	for (uint32_t y = 0; y < n->height; y++) {
		uint32_t row = t.y + y < p->height ? t.y + y : p->height - 1;

		for (uint32_t x = 0; x < n->width; x++) {
			uint32_t column = t.x + x < p->width ? t.x + x : p->width - 1;

			tile[(size_t)y * n->width + x] =
				p->plane[0][(size_t)row * p->width + column];
		}
	}
	check(wnnContextWriteTensor(n->context, n->in[slot].tensor, tile, bytes));
	check(wnnContextDispatch(n->context, n->graph, 1, &n->in[slot], 1, &n->out[slot]));
	free(tile);
}

/* Waits for a tile. Its left and upper margins are those of its neighbours and are left out. */
static void take_tile(const struct network *n, const struct picture *large, struct tile t,
		      size_t slot)
{
	const uint32_t width = n->width * n->factor, height = n->height * n->factor;
	const size_t bytes = (size_t)width * height * sizeof(float);
	const uint32_t left = t.x ? MARGIN * n->factor : 0, top = t.y ? MARGIN * n->factor : 0;
	float *tile = allocate(1, bytes);

	check(wnnContextReadTensorIntoSync(n->context, n->out[slot].tensor, tile, bytes,
					   WNN_WAIT_FOREVER));
	for (uint32_t y = top; y < height && t.y * n->factor + y < large->height; y++)
		for (uint32_t x = left; x < width && t.x * n->factor + x < large->width; x++)
			large->plane[0][(size_t)(t.y * n->factor + y) * large->width +
					t.x * n->factor + x] = tile[(size_t)y * width + x];
	free(tile);
}

/*
 * Returns the enlarged picture. Tiles are computed from left to right and down, and each overwrites
 * the right and lower margins of those before it.
 */
static struct picture upscale(const struct network *n, const struct picture *p)
{
	const uint32_t columns = tile_count(n->width, p->width);
	const size_t count = (size_t)columns * tile_count(n->height, p->height);
	struct picture large = make_picture(p->width * n->factor, p->height * n->factor);
	struct tile *tiles = allocate(count, sizeof(*tiles));

	for (size_t i = 0; i < count + QUEUED; i++) {
		if (i >= QUEUED)
			take_tile(n, &large, tiles[i - QUEUED], i % QUEUED);
		if (i >= count)
			continue;
		tiles[i].x = tile_start((uint32_t)(i % columns), n->width, p->width);
		tiles[i].y = tile_start((uint32_t)(i / columns), n->height, p->height);
		queue_tile(n, p, tiles[i], i % QUEUED);
	}
	scale_plane(p, &large, 1);
	scale_plane(p, &large, 2);
	free(tiles);
	return large;
}

int main(int argc, char **argv)
{
	const struct argp argp = { argp_options,
				   parse_option,
				   "MODEL.onnx SMALL.png LARGE.png",
				   "Makes a picture larger.",
				   NULL,
				   NULL,
				   NULL };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct options options = { 0 };
	struct picture small, large;
	struct network network;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	small = read_png(options.file[1]);
	network_open(&network, open_device(instance, options.device), options.file[0]);
	large = upscale(&network, &small);
	write_png(options.file[2], &large);
	free_picture(&small);
	free_picture(&large);
	network_close(&network);
	wnnContextRelease(network.context);
	wnnInstanceRelease(instance);
	return 0;
}
