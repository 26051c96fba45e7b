// SPDX-License-Identifier: MIT
/* webnn-run: prints messages, and writes results as JSON. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <webnn/onnx.h>

#include "run.h"

static int speaker = -1;

void complain_as(int rank)
{
	speaker = rank;
}

int complain(enum exit_code code, const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "webnn-run: ");
	if (speaker >= 0)
		fprintf(stderr, "rank %d: ", speaker);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return (int)code;
}

int complain_unread(const char *path, int error)
{
	return complain(BAD_FILE, "%s: cannot be read: %s", path,
			error ? strerror(error) : "it got shorter while it was read");
}

int complain_unwritten(const char *path, int error)
{
	return complain(BAD_FILE, "%s: cannot be written: %s", path,
			error ? strerror(error) : "memory is exhausted");
}

int complain_memory(const char *path)
{
	return complain(
		BAD_DEVICE,
		"%s: too little memory is free for this file or folder; end other programs, or "
		"raise the limit (ulimit -v)",
		path);
}

enum exit_code code_of(enum exit_code code, WNNStatus status)
{
	return code == BAD_MODEL && status == WNNStatus_UnknownError ? BAD_DEVICE : code;
}

int complain_wnn(enum exit_code code, bool onnx, const char *format, ...)
{
	WNNError error = WNN_ERROR_INIT;
	char about[1000];
	size_t length;
	va_list ap;

	if (onnx)
		wnnOnnxGetLastError(&error);
	else
		wnnGetLastError(&error);
	va_start(ap, format);
	vsnprintf(about, sizeof(about), format, ap);
	va_end(ap);
	code = code_of(code, error.status);
	/* A message about a file already begins with its name. */
	length = strlen(about);
	if (error.message.length >= length && !memcmp(error.message.data, about, length))
		return complain(code, "%.*s", (int)error.message.length, error.message.data);
	return complain(code, "%s: %.*s", about, (int)error.message.length, error.message.data);
}

uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool same_view(WNNStringView a, WNNStringView b)
{
	return a.length == b.length && (!a.length || !memcmp(a.data, b.data, a.length));
}

bool same_text(WNNStringView view, const char *text)
{
	return same_view(view, WNN_VALUE(WNNStringView, { text, strlen(text) }));
}

bool text_wanted(const struct options *options)
{
	return !options->json || strcmp(options->json, "-");
}

int write_json(const struct options *options, json_t *root)
{
	const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(12);
	bool wrong = false;

	if (!root)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the text of --json: end other programs, or "
			"leave out --json");
	if (!text_wanted(options))
		wrong = json_dumpf(root, stdout, flags) || putchar('\n') == EOF || fflush(stdout);
	else if (options->json)
		wrong = json_dump_file(root, options->json, flags) != 0;
	json_decref(root);
	if (wrong)
		return complain(BAD_FILE, "--json %s: the result cannot be written there: %s",
				options->json, strerror(errno));
	return DONE;
}
