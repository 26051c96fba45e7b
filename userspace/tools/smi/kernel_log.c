// SPDX-License-Identifier: MIT
/* onpu-smi: reads the kernel's log. */
#include "kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"

/* The largest record of the kernel; a read returns one record. */
#define RECORD_MAX 8192

/* Parses a record, "LEVEL,NUMBER,TIME,FLAGS…;TEXT". Returns false when the text is no record. */
static bool parse_record(char *text, struct log_line *line)
{
	char *at = strchr(text, ';'), *comma;

	if (!at)
		return false;
	*at = '\0';
	line->text = at + 1;
	line->level = (int)(strtoul(text, NULL, 10) & 7);
	comma = strchr(text, ',');
	comma = comma ? strchr(comma + 1, ',') : NULL;
	line->us = comma ? strtoull(comma + 1, NULL, 10) : 0;
	return true;
}

/*
 * Calls @line for each line of a record; lines that begin with a space are its properties and are
 * skipped. Returns false when @line did.
 */
static bool take_lines(char *text, log_line_fn line, void *ctx)
{
	while (text && *text) {
		char *end = strchr(text, '\n');
		struct log_line parsed;

		if (end)
			*end++ = '\0';
		if (*text != ' ' && parse_record(text, &parsed) && !line(ctx, &parsed))
			return false;
		text = end;
	}
	return true;
}

/* Reads the log of a copied system, a file with many records. Returns 0 or a negative errno. */
static int read_copy(log_line_fn line, void *ctx)
{
	char *text = tree_read(NULL, "/dev/kmsg");

	if (!text)
		return -errno;
	take_lines(text, line, ctx);
	free(text);
	return 0;
}

int kernel_log_read(bool follow, log_line_fn line, void *ctx)
{
	char record[RECORD_MAX + 1];
	struct pollfd wait = { .events = POLLIN };
	int ret = 0;

	if (tree_is_copy())
		return read_copy(line, ctx);
	wait.fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (wait.fd < 0)
		return -errno;
	for (;;) {
		ssize_t got = read(wait.fd, record, RECORD_MAX);

		if (got > 0) {
			record[got] = '\0';
			if (!take_lines(record, line, ctx))
				break;
		} else if (got < 0 && (errno == EPIPE || errno == EINTR)) {
			/*
			 * The next record was overwritten meanwhile: continues with those after it.
			 */
			continue;
		} else if (got < 0 && errno != EAGAIN) {
			ret = -errno;
			break;
		} else if (!follow) {
			break;
		} else if (poll(&wait, 1, -1) < 0 && errno != EINTR) {
			ret = -errno;
			break;
		}
	}
	close(wait.fd);
	return ret;
}

const char *kernel_log_about(const struct log_line *line, const char *address)
{
	const char *text = line->text;
	size_t length = strlen(address);

	if (strncmp(text, "onpu ", 5) || strncmp(text + 5, address, length) ||
	    strncmp(text + 5 + length, ": ", 2))
		return NULL;
	text += 5 + length + 2;
	if (!strncmp(text, "[drm] ", 6))
		text += 6;
	return text;
}
