// SPDX-License-Identifier: MIT
/*
 * Fuzz target of files from which webnn-run reads values. The first byte of the input says what the
 * rest is: a .npy file, an archive of such files with an array "x", an ONNX tensor, which is
 * recognised by its content, or a picture.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/subject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Replaces the function of webnn-run: formats the message, so that its arguments are read, drops
 * it, and returns @code.
 */
int complain(enum exit_code code, const char *format, ...)
{
	char text[1000];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return (int)code;
}

int complain_unread(const char *path, int error)
{
	return complain(BAD_FILE, "%s: %s", path, strerror(error));
}

static void load(const char *path)
{
	struct value value = { 0 };

	if (value_load(path, "x", &value))
		return;
	for (size_t i = 0; i < value.count; i++)
		value_set(&value, i, value_get(&value, i));
	value_exit(&value);
}

static void read_picture(const char *path)
{
	const struct picture_options options = { .deviation = { 1, 1, 1 } };
	const uint32_t shape[] = { 3, 9, 7 };
	struct value value;

	if (value_init(&value, WNN_STR("x"), WNNOperandDataType_Float32, 3, shape))
		abort();
	picture_read(path, &options, &value);
	value_exit(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	char path[40];

	if (file < 0) {
		file = memfd_create("value", MFD_CLOEXEC);
		/* This drops messages of npy.c; libFuzzer uses a stream of its own by now. */
		stderr = fopen("/dev/null", "w");
	}
	if (!size || file < 0 || ftruncate(file, 0) ||
	    pwrite(file, data + 1, size - 1, 0) != (ssize_t)(size - 1))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (*data & 1)
		read_picture(path);
	else
		load(path);
	return 0;
}
