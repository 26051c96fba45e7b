/* SPDX-License-Identifier: MIT */
/* onpu-smi: declarations that its commands share: exit codes, options, messages, results. */
#ifndef ONPU_TOOLS_SMI_SMI_H
#define ONPU_TOOLS_SMI_SMI_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "text.h"

/* The exit codes of the program; wrong usage is EX_USAGE, 64. */
enum exit_code {
	DONE = 0,
	WRONG = 1,  /* there is no device, or check has found a problem */
	FAILED = 2, /* the request could not be carried out */
};

/* The options that all commands have. */
struct options {
	/* As given: a PCI address, or the name of a node; NULL: all devices, or the only one. */
	const char *device;
	bool json;
};

/* A parser that a command's own parser has as a child; its input is struct options. */
extern const struct argp common_argp;

/* Parses a command line with only the options of all commands. */
void parse_common(int argc, char **argv, const char *doc, struct options *options);

/*
 * Parse and return a number of the command line; they end the program with a message when the text
 * is no number.
 */
double parse_seconds(const char *text, const char *option, struct argp_state *state);
unsigned int parse_count(const char *text, const char *option, struct argp_state *state);

/* Waits for this time, also when signals arrive. */
void wait_seconds(double seconds);

/* Prints "onpu-smi: …" and returns @code. */
int complain(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints @root, which is taken over; NULL: memory was exhausted. Returns DONE; FAILED, after a
 * message, if @root is NULL or cannot be printed.
 */
int write_json(json_t *root, size_t flags);

/*
 * Returns the list with room for one more item of @size bytes; ends the program when there is no
 * memory.
 */
void *grow_list(void *list, size_t size, size_t count, size_t *room);

/*
 * Returns the text of a file, or of standard input for "-"; the caller frees it. NULL after a
 * message, with an exit code in *ret.
 */
char *read_text(const char *name, int *ret);

/* The commands. They return an exit code. */
int command_info(int argc, char **argv);
int command_top(int argc, char **argv);
int command_check(int argc, char **argv);
int command_reset(int argc, char **argv);
int command_fwlog(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_trace(int argc, char **argv);

#endif
