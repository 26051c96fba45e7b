/* SPDX-License-Identifier: MIT */
/* webnn-run: what its commands share: exit codes, options, messages. */
#ifndef ONPU_TOOLS_RUN_RUN_H
#define ONPU_TOOLS_RUN_RUN_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <webnn/webnn.h>

#include "../json_text.h"
#include "picture.h"

/* The exit codes of the program; wrong usage is EX_USAGE, 64. */
enum exit_code {
	DONE = 0,
	DIFFERENT = 1,	/* compare: outputs differ */
	UNWELL = 1,	/* doctor: something does not work */
	BAD_MODEL = 2,	/* it cannot be read or cannot become a graph */
	BAD_FILE = 3,	/* another file cannot be read, written or used */
	BAD_DEVICE = 4, /* it is not there, or failed, or memory is exhausted */
};

/* NAME=TEXT of the command line; the name is empty where only TEXT was given. */
struct pair {
	char *name;
	const char *text;
};

struct pairs {
	struct pair *items;
	size_t count;
};

struct options {
	const char *model;
	/* NULL: as WEBNN_DEVICE says. */
	const char *device;
	uint32_t threads;
	bool npu_only, full, profile;
	const char *firmware;
	uint64_t sram_bytes;
	/* For a program on several ranks: how many a replica has; 0: as the program says. */
	size_t partitions;
	/* How often a loop of a program may iterate; 0: the default of libwebnn-stablehlo. */
	uint64_t loop_limit;
	/* The node of the NPU; NULL: the first that opens. */
	const char *node;
	struct pairs dims, shapes, inputs, fills;
	bool random;
	uint64_t seed;
	/* The seed of the numbers that the model itself draws. */
	uint64_t draw_seed;
	/* Where the model is cut; the texts are in pairs. */
	struct pairs cuts;
	struct picture_options picture;
	/* NULL: no JSON; "-": to standard output instead of text. */
	const char *json;
};

/* The option --json for the list of a command; its key goes to options_json(). */
#define JSON_KEY 0x200
#define JSON_OPTION \
	{ "json", JSON_KEY, "FILE", 0, "Write the result as JSON; -: instead of text", 0 }

/* Parsers for the children of a command's own; their input is struct options. */
extern const struct argp model_argp; /* the model, its dimensions, the device */
extern const struct argp input_argp; /* the values of its inputs */

void options_free(struct options *options);

/*
 * Adds NAME=TEXT, or TEXT alone where @name_needed is false; ends the program when that is wrong.
 */
void pairs_add(struct pairs *pairs, const char *argument, bool name_needed, const char *option,
	       struct argp_state *state);
void pairs_free(struct pairs *pairs);
/* The pair of this name, or NULL. */
const struct pair *pairs_find(const struct pairs *pairs, WNNStringView name);

/*
 * Parses numbers of the command line; ends the program with a message when they are none, or beyond
 * @most.
 */
uint64_t parse_number(const char *text, uint64_t least, uint64_t most, const char *option,
		      struct argp_state *state);
double parse_real(const char *text, const char *option, struct argp_state *state);

/* Prints "webnn-run: …" and returns @code. */
int complain(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the rank to messages from now on; -1: does not. */
void complain_as(int rank);
/* complain() with the library's message at the end; libwebnn-onnx's when @onnx. */
int complain_wnn(enum exit_code code, bool onnx, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the time of a clock that is never set. */
uint64_t nanoseconds(void);

bool same_text(WNNStringView view, const char *text);
/* Whether text is wanted beside JSON. */
bool text_wanted(const struct options *options);
/* Takes @root over; does nothing when no JSON is wanted. */
int write_json(const struct options *options, json_t *root);

/* The commands. They return an exit code. */
int command_info(int argc, char **argv);
int command_run(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_extract(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_compile(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_doctor(int argc, char **argv);

#endif
