// SPDX-License-Identifier: MIT
/* webnn-run: parses the options that several commands share. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../device_name.h"
#include "../size_text.h"
#include "run.h"

/* ---- numbers and pairs */

uint64_t parse_number(const char *text, uint64_t least, uint64_t most, const char *option,
		      struct argp_state *state)
{
	uint64_t number = 0;
	const char *end;

	if (!number_text_read(text, &number, &end) || *end || number < least || number > most)
		argp_error(state, "%s takes a number from %llu to %llu, not '%s'", option,
			   (unsigned long long)least, (unsigned long long)most, text);
	return number;
}

/* The sizes that the library takes for the on-chip memory of sim: multiples of this, to 1 GiB. */
#define SRAM_ALIGN 64
#define MAX_SRAM   (UINT64_C(1) << 30)

static uint64_t parse_sram(const char *text, struct argp_state *state)
{
	uint64_t bytes = 0;

	if (!size_text_read(text, &bytes) || !bytes || bytes > MAX_SRAM || bytes % SRAM_ALIGN)
		argp_error(
			state,
			"--sram takes a multiple of %d bytes up to 1G, with K, M or G behind the "
			"number for KiB, MiB or GiB, not '%s'",
			SRAM_ALIGN, text);
	return bytes;
}

double parse_real(const char *text, const char *option, struct argp_state *state)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !isfinite(number))
		argp_error(state, "%s takes a number, not '%s'", option, text);
	return number;
}

void pairs_add(struct pairs *pairs, const char *argument, bool name_needed, const char *option,
	       struct argp_state *state)
{
	const char *equals = strchr(argument, '=');
	struct pair *items = realloc(pairs->items, (pairs->count + 1) * sizeof(*items));
	struct pair *pair;

	if (!items)
		argp_failure(state, BAD_DEVICE, ENOMEM, "%s", option);
	pairs->items = items;
	if (name_needed && (!equals || equals == argument))
		argp_error(state, "%s takes NAME=VALUE, not '%s'", option, argument);
	pair = &items[pairs->count];
	pair->name = equals ? strndup(argument, (size_t)(equals - argument)) : strdup("");
	pair->text = equals ? equals + 1 : argument;
	if (!pair->name)
		argp_failure(state, BAD_DEVICE, ENOMEM, "%s", option);
	pairs->count++;
}

void pairs_free(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		free(pairs->items[i].name);
	free(pairs->items);
	*pairs = (struct pairs){ 0 };
}

const struct pair *pairs_find(const struct pairs *pairs, WNNStringView name)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (same_text(name, pairs->items[i].name))
			return &pairs->items[i];
	return NULL;
}

void options_free(struct options *options)
{
	pairs_free(&options->dims);
	pairs_free(&options->ranges);
	pairs_free(&options->shapes);
	pairs_free(&options->inputs);
	pairs_free(&options->fills);
	pairs_free(&options->cuts);
}

/* ---- the model and the device */

enum {
	KEY_DIM = 0x300,
	KEY_SHAPE,
	KEY_NPU_ONLY,
	KEY_SRAM,
	KEY_FULL,
	KEY_FIRMWARE,
	KEY_OUTPUTS,
	KEY_SEED
};

static const struct argp_option model_options[] = {
	{ NULL, 0, NULL, 0, "Model and device:", 1 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 1 },
	{ "dim", KEY_DIM, "NAME=N|MIN..MAX", 0,
	  "The size of all dimensions of this name, or the range for which one graph is built; with "
	  "both, the graph runs at the size",
	  1 },
	{ "shape", KEY_SHAPE, "INPUT=N,N,...", 0, "The shape of an input", 1 },
	{ "outputs", KEY_OUTPUTS, "TENSORS", 0,
	  "Cut the model: its outputs are these tensors, with commas between", 1 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random numbers that the model draws (default: 0)",
	  1 },
	{ "threads", 't', "N", 0, "Threads of the CPU and of sim (default: one for each processor)",
	  1 },
	{ "npu-only", KEY_NPU_ONLY, NULL, 0, "Fail rather than use the CPU", 1 },
	{ "sram", KEY_SRAM, "BYTES", 0, "On sim: the size of the on-chip memory, such as 1M", 1 },
	{ "full", KEY_FULL, NULL, 0, "On sim: with firmware, registers and page tables", 1 },
	{ "firmware", KEY_FIRMWARE, "FILE", 0, "The image of --full (default: the installed one)",
	  1 },
	{ 0 }
};

static void set_device(struct options *options, const char *name, struct argp_state *state)
{
	if (!device_name_is(name))
		argp_error(state, "there is no device '%s'; there are " DEVICE_NAMES, name);
	options->device = name;
}

/* Adds the range NAME=MIN..MAX of --dim. */
static void add_range(struct options *options, char *arg, struct argp_state *state)
{
	const char *text, *end;
	char low[32];

	pairs_add(&options->ranges, arg, true, "--dim", state);
	text = options->ranges.items[options->ranges.count - 1].text;
	end = strstr(text, "..");
	if (!end || (size_t)(end - text) >= sizeof(low)) {
		argp_error(state, "--dim %s: a range is NAME=MIN..MAX", arg);
		return;
	}
	snprintf(low, sizeof(low), "%.*s", (int)(end - text), text);
	if (parse_number(low, 1, INT32_MAX, "--dim NAME=MIN..", state) >
	    parse_number(end + 2, 1, INT32_MAX, "--dim NAME=MIN..MAX", state))
		argp_error(state, "--dim %s: the range ends below its start", arg);
}

static error_t parse_model(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		set_device(options, arg, state);
		return 0;
	case KEY_DIM:
		if (strstr(arg, "..")) {
			add_range(options, arg, state);
			return 0;
		}
		pairs_add(&options->dims, arg, true, "--dim", state);
		parse_number(options->dims.items[options->dims.count - 1].text, 1, INT32_MAX,
			     "--dim NAME=", state);
		return 0;
	case KEY_SHAPE:
		pairs_add(&options->shapes, arg, true, "--shape", state);
		return 0;
	case 't':
		options->threads = (uint32_t)parse_number(arg, 1, 1024, "--threads", state);
		return 0;
	case KEY_NPU_ONLY:
		options->npu_only = true;
		return 0;
	case KEY_SRAM:
		options->sram_bytes = parse_sram(arg, state);
		return 0;
	case KEY_OUTPUTS:
		pairs_add(&options->cuts, "", false, "--outputs", state);
		options->cuts.items[options->cuts.count - 1].text = arg;
		return 0;
	case KEY_SEED:
		options->draw_seed = parse_number(arg, 0, UINT64_MAX, "--seed", state);
		return 0;
	case KEY_FULL:
		options->full = true;
		return 0;
	case KEY_FIRMWARE:
		options->firmware = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->model)
			argp_error(state, "only one model can be given; '%s' is a second one", arg);
		options->model = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->model)
			argp_error(state, "a model is needed: give its file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp model_argp = { model_options, parse_model, NULL, NULL, NULL, NULL, NULL };

/* ---- the values of inputs */

enum {
	KEY_FILL = 0x400,
	KEY_RESIZE,
	KEY_CROP,
	KEY_SCALE,
	KEY_MEAN,
	KEY_DEVIATION,
	KEY_LAYOUT,
	KEY_COLOURS
};

static const struct argp_option input_options[] = {
	{ NULL, 0, NULL, 0, "Inputs:", 2 },
	{ "input", 'i', "[INPUT=]FILE", 0,
	  ".npy, a tensor of ONNX (.pb), a picture (PNG, JPEG) or else the bare bytes", 2 },
	{ "fill", KEY_FILL, "INPUT=NUMBER", 0, "All elements of an input have this value", 2 },
	{ "random", 'r', "SEED", 0, "Random values for all other inputs", 2 },
	{ NULL, 0, NULL, 0, "Pictures:", 3 },
	{ "resize", KEY_RESIZE, "N|WxH", 0,
	  "Scale the shorter side to N, or to WxH (default: to the input's size)", 3 },
	{ "crop", KEY_CROP, "N|WxH", 0, "Then take the middle", 3 },
	{ "scale", KEY_SCALE, "X", 0,
	  "Multiply with this (default: 1/255, for inputs of integers 1)", 3 },
	{ "mean", KEY_MEAN, "X[,Y,Z]", 0, "Then subtract this, for each channel", 3 },
	{ "deviation", KEY_DEVIATION, "X[,Y,Z]", 0, "Then divide by this, for each channel", 3 },
	{ "layout", KEY_LAYOUT, "NAME", 0, "nchw or nhwc (default: as the shape of the input says)",
	  3 },
	{ "colours", KEY_COLOURS, "ORDER", 0, "rgb (the default) or bgr", 3 },
	{ 0 }
};

#define MAX_SIDE 99999 /* pixels */

/* Parses "WxH"; a single "N" sets @width, and @height to 0. */
static void parse_size(const char *text, uint32_t *width, uint32_t *height, const char *option,
		       struct argp_state *state)
{
	const char *x = strchr(text, 'x');
	unsigned long w = strtoul(text, NULL, 10), h = x ? strtoul(x + 1, NULL, 10) : 0;
	bool good = strspn(text, "0123456789x") == strlen(text) && (!x || !strchr(x + 1, 'x'));

	if (!good || !w || w > MAX_SIDE || (x && (!h || h > MAX_SIDE)))
		argp_error(state, "%s takes N or WxH, numbers from 1 to %d, not '%s'", option,
			   MAX_SIDE, text);
	*width = (uint32_t)w;
	*height = (uint32_t)h;
}

static void parse_channels(const char *text, double numbers[3], const char *option,
			   struct argp_state *state)
{
	const char *at = text;
	double n[3];
	int count = 0;

	for (char *end;; at = end + 1) {
		n[count] = strtod(at, &end);
		if (end == at || !isfinite(n[count++]))
			count = 0;
		if (!count || count == 3 || *end != ',') {
			at = end;
			break;
		}
	}
	if (*at || !count || count == 2)
		argp_error(state, "%s takes one number or three with commas between, not '%s'",
			   option, text);
	if (count == 1)
		n[1] = n[2] = n[0];
	memcpy(numbers, n, sizeof(n));
}

static error_t parse_picture(int key, char *arg, struct argp_state *state)
{
	struct picture_options *picture = &((struct options *)state->input)->picture;

	switch (key) {
	case KEY_RESIZE:
		parse_size(arg, &picture->resize_width, &picture->resize_height, "--resize", state);
		return 0;
	case KEY_CROP:
		parse_size(arg, &picture->crop_width, &picture->crop_height, "--crop", state);
		if (!picture->crop_height)
			picture->crop_height = picture->crop_width;
		return 0;
	case KEY_SCALE:
		picture->scale = parse_real(arg, "--scale", state);
		picture->has_scale = true;
		return 0;
	case KEY_MEAN:
		parse_channels(arg, picture->mean, "--mean", state);
		return 0;
	case KEY_DEVIATION:
		parse_channels(arg, picture->deviation, "--deviation", state);
		for (int i = 0; i < 3; i++)
			if (picture->deviation[i] == 0)
				argp_error(state, "--deviation must not be 0");
		return 0;
	case KEY_LAYOUT:
		if (strcmp(arg, "nchw") && strcmp(arg, "nhwc"))
			argp_error(state, "--layout must be nchw or nhwc, not '%s'", arg);
		picture->layout = arg;
		return 0;
	case KEY_COLOURS:
		if (strcmp(arg, "rgb") && strcmp(arg, "bgr"))
			argp_error(state, "--colours must be rgb or bgr, not '%s'", arg);
		picture->bgr = *arg == 'b';
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_input(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (int i = 0; i < 3; i++)
			options->picture.deviation[i] = 1;
		return 0;
	case 'i':
		pairs_add(&options->inputs, arg, false, "--input", state);
		return 0;
	case KEY_FILL:
		pairs_add(&options->fills, arg, true, "--fill", state);
		parse_real(options->fills.items[options->fills.count - 1].text,
			   "--fill INPUT=", state);
		return 0;
	case 'r':
		options->seed = parse_number(arg, 0, UINT64_MAX, "--random", state);
		options->random = true;
		return 0;
	default:
		return parse_picture(key, arg, state);
	}
}

const struct argp input_argp = { input_options, parse_input, NULL, NULL, NULL, NULL, NULL };
