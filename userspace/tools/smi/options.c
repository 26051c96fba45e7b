// SPDX-License-Identifier: MIT
/* onpu-smi: options of all commands, messages, and results as JSON. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smi.h"
#include "tree.h"

enum { KEY_JSON = 0x300, KEY_ROOT };

static const struct argp_option common_options[] = {
	{ "device", 'd', "DEVICE", 0,
	  "This device only: its PCI address, such as 0000:01:00.0, its node, such as accel0, or "
	  "the library's name, such as npu:0",
	  10 },
	{ "json", KEY_JSON, NULL, 0, "Write the result as JSON", 10 },
	{ "root", KEY_ROOT, "FOLDER", 0,
	  "Look at the copy of a system that is in FOLDER; its devices are not asked themselves",
	  10 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		options->device = arg;
		break;
	case KEY_JSON:
		options->json = true;
		break;
	case KEY_ROOT:
		tree_set_root(arg);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is too much: this command takes options alone", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp common_argp = { .options = common_options, .parser = parse };

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = state->input;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

void parse_common(int argc, char **argv, const char *doc, struct options *options)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	const struct argp argp = { .parser = parse_nothing, .doc = doc, .children = children };

	argp_parse(&argp, argc, argv, 0, NULL, options);
}

double parse_seconds(const char *text, const char *option, struct argp_state *state)
{
	double value;
	char *end;

	value = strtod(text, &end);
	if (!*text || *end || !(value >= 0.01 && value <= 86400))
		argp_error(state, "%s %s: seconds from 0.01 to 86400 are needed", option, text);
	return value;
}

unsigned int parse_count(const char *text, const char *option, struct argp_state *state)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || !*text || *end || *text == '-' || !value || value > 1000000000)
		argp_error(state, "%s %s: a number from 1 to 1000000000 is needed", option, text);
	return (unsigned int)value;
}

void wait_seconds(double seconds)
{
	struct timespec time = { .tv_sec = (time_t)seconds };

	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

int complain(enum exit_code code, const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "onpu-smi: ");
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return (int)code;
}

int write_json(json_t *root, size_t flags)
{
	int wrong;

	if (!root)
		return complain(FAILED, "memory is exhausted");
	wrong = json_dumpf(root, stdout, flags | JSON_REAL_PRECISION(9)) || putchar('\n') == EOF ||
		fflush(stdout);
	json_decref(root);
	if (wrong)
		return complain(FAILED, "the result cannot be written: %s", strerror(errno));
	return DONE;
}

void *grow_list(void *list, size_t size, size_t count, size_t *room)
{
	if (count < *room)
		return list;
	*room = *room * 2 + 64;
	list = realloc(list, *room * size);
	if (!list)
		exit(complain(FAILED, "memory is exhausted"));
	return list;
}

char *read_text(const char *name, int *ret)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "rbe") : stdin;
	char *text = NULL;
	size_t room = 0;

	if (!file) {
		*ret = complain(FAILED, "%s: %s", name, strerror(errno));
		return NULL;
	}
	/* The whole file is read, because text from the kernel has no NUL. */
	errno = 0;
	if (getdelim(&text, &room, '\0', file) < 0) {
		*ret = complain(FAILED, "%s: %s", name, errno ? strerror(errno) : "it is empty");
		free(text);
		text = NULL;
	}
	if (file != stdin)
		fclose(file);
	return text;
}
