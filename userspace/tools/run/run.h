/* SPDX-License-Identifier: MIT */
/* webnn-run: declarations that its commands share: exit codes, options, messages. */
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
	DIFFERENT = 1, /* compare: outputs differ */
	UNWELL = 1,    /* doctor: something does not work */
	BAD_MODEL = 2, /* a model cannot be read, or cannot become a graph */
	BAD_FILE = 3,  /* another file cannot be read, written or used */
	/*
	 * the device is absent or failed, memory is exhausted, or something else is missing that
	 * the command needs: the server's address, python3 with ONNX Runtime, the other ranks
	 */
	BAD_DEVICE = 4,
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
	/* NULL: the device of WEBNN_DEVICE. */
	const char *device;
	uint32_t threads;
	bool npu_only, full, profile;
	const char *firmware;
	uint64_t sram_bytes;
	/*
	 * For a StableHLO program on several ranks: partitions of each replica; 0: as the program
	 * demands.
	 */
	size_t partitions;
	/*
	 * Most iterations of a loop in a StableHLO program; 0: the default of libwebnn-stablehlo.
	 */
	uint64_t loop_limit;
	/* Device node of the NPU; NULL: the one with the number of the device, or the first. */
	const char *node;
	struct pairs dims, ranges, shapes, inputs, fills; /* ranges: NAME=MIN..MAX of --dim */
	bool random;
	uint64_t seed;
	/* The seed of the numbers that the model itself draws. */
	uint64_t draw_seed;
	/*
	 * The arguments of --outputs, each as the text of a pair without a name: a tensor at which
	 * the model is cut, or several with commas between.
	 */
	struct pairs cuts;
	struct picture_options picture;
	/* The folder in which graphs are kept for later runs; NULL: none. */
	const char *kept;
	/* NULL: no JSON; "-": JSON on standard output instead of text. */
	const char *json;
};

/* The option --json of a command, whose own parser stores the argument in options.json. */
#define JSON_KEY 0x200
#define JSON_OPTION \
	{ "json", JSON_KEY, "FILE", 0, "Write the result as JSON; -: instead of text", 0 }

/* Parsers that a command's own parser has as children; their input is struct options. */
extern const struct argp model_argp; /* options for the model, its dimensions, the device */
extern const struct argp input_argp; /* options for the values of inputs */

void options_free(struct options *options);

/*
 * Adds NAME=TEXT, or a TEXT alone unless @name_needed; ends the program with a message when the
 * argument is wrong or memory is exhausted.
 */
void pairs_add(struct pairs *pairs, const char *argument, bool name_needed, const char *option,
	       struct argp_state *state);
void pairs_free(struct pairs *pairs);
/* Returns the pair of this name, or NULL. */
const struct pair *pairs_find(const struct pairs *pairs, WNNStringView name);

/*
 * Parse and return numbers of the command line; they end the program with a message when the text
 * is no number, or is not in the range: parse_number() from @least to @most.
 */
uint64_t parse_number(const char *text, uint64_t least, uint64_t most, const char *option,
		      struct argp_state *state);
double parse_real(const char *text, const char *option, struct argp_state *state);

/* Prints "webnn-run: …" and returns @code. */
int complain(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Complains that a file was not read or not written, with the system's reason, the value of errno;
 * 0: the system gave none. Both return BAD_FILE.
 */
int complain_unread(const char *path, int error);
int complain_unwritten(const char *path, int error);
/* Complains that memory is too little for a file or folder. Returns BAD_DEVICE. */
int complain_memory(const char *path);
/* Adds the rank to all further messages; -1: no rank. */
void complain_as(int rank);
/*
 * Prints like complain(), followed by the library's last message, libwebnn-onnx's if @onnx; a
 * message that begins with the formatted text is printed alone. Returns @code, or what code_of()
 * makes of it.
 */
int complain_wnn(enum exit_code code, bool onnx, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Returns @code for a failure of a library; BAD_DEVICE in place of BAD_MODEL when memory is
 * exhausted or the device failed.
 */
enum exit_code code_of(enum exit_code code, WNNStatus status);

/* Returns the time of a monotonic clock, in nanoseconds. */
uint64_t nanoseconds(void);

/*
 * Returns whether two views have the same bytes. Both must have their length: views of WNN_STR()
 * have not.
 */
bool same_view(WNNStringView a, WNNStringView b);
bool same_text(WNNStringView view, const char *text);
/* Returns whether a command prints text: false if JSON goes to standard output. */
bool text_wanted(const struct options *options);
/*
 * Writes @root as JSON, if JSON was requested; takes @root over. @root is NULL when memory is
 * exhausted, which is an error. Returns DONE or an exit code.
 */
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
int command_generate(int argc, char **argv);
int command_transcribe(int argc, char **argv);
int command_doctor(int argc, char **argv);

#endif
