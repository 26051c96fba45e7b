// SPDX-License-Identifier: MIT
/* onpu-smi: reads files of the system, or of a copy of one. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *tree_root = "";

void tree_set_root(const char *root)
{
	tree_root = root;
}

bool tree_is_copy(void)
{
	return *tree_root;
}

static char *make_path(char *path, const char *format, va_list ap)
{
	int length = snprintf(path, PATH_MAX, "%s", tree_root);

	/* A path that does not fit is truncated, and names no existing file. */
	if (length >= 0 && length < PATH_MAX)
		vsnprintf(path + length, PATH_MAX - (size_t)length, format, ap);
	return path;
}

#define MAKE_PATH(path, format)                  \
	do {                                     \
		va_list ap;                      \
                                                 \
		va_start(ap, format);            \
		make_path((path), (format), ap); \
		va_end(ap);                      \
	} while (0)

char *tree_path(char *path, const char *format, ...)
{
	MAKE_PATH(path, format);
	return path;
}

bool tree_exists(const char *format, ...)
{
	char path[PATH_MAX];

	MAKE_PATH(path, format);
	return !access(path, F_OK);
}

/* Reads the start of a file. Returns the number of bytes, or -1 with errno. */
static ssize_t read_some(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t got;
	int error;

	if (fd < 0)
		return -1;
	got = read(fd, text, size);
	error = errno;
	close(fd);
	errno = error;
	return got;
}

int tree_line(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	ssize_t got;

	MAKE_PATH(path, format);
	got = read_some(path, text, size - 1);
	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return got < 0 ? -errno : 0;
}

uint64_t tree_number(uint64_t otherwise, const char *format, ...)
{
	char path[PATH_MAX], text[64], *end;
	uint64_t value;
	ssize_t got;

	MAKE_PATH(path, format);
	got = read_some(path, text, sizeof(text) - 1);
	if (got <= 0)
		return otherwise;
	text[got] = '\0';
	errno = 0;
	value = strtoull(text, &end, 0);
	return errno || end == text || (*end && *end != '\n') ? otherwise : value;
}

static char *read_stream(FILE *file, size_t *size)
{
	size_t room = 0, used = 0, got;
	char *text = NULL;

	do {
		if (room - used < 4096) {
			char *grown = realloc(text, room = room * 2 + 65536);

			if (!grown)
				break;
			text = grown;
		}
		got = fread(text + used, 1, room - used - 1, file);
		used += got;
		if (!got && !ferror(file)) {
			text[used] = '\0';
			*size = used;
			return text;
		}
	} while (got);
	free(text);
	return NULL;
}

char *tree_read(size_t *size, const char *format, ...)
{
	char path[PATH_MAX], *text;
	size_t ignored;
	FILE *file;
	int error;

	MAKE_PATH(path, format);
	file = fopen(path, "rbe");
	if (!file)
		return NULL;
	text = read_stream(file, size ? size : &ignored);
	error = errno;
	fclose(file);
	errno = error;
	return text;
}

int tree_write(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	int fd, error = 0;

	MAKE_PATH(path, format);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

int tree_link(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	ssize_t got;

	MAKE_PATH(path, format);
	got = readlink(path, text, size - 1);
	text[got > 0 ? got : 0] = '\0';
	return got < 0 ? -errno : 0;
}

const char *tree_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

struct tree_names tree_list(const char *format, ...)
{
	struct tree_names names = { NULL, 0 };
	struct dirent **entries;
	char path[PATH_MAX];
	int count;

	MAKE_PATH(path, format);
	count = scandir(path, &entries, is_visible, versionsort);
	if (count < 0)
		return names;
	names.names = calloc((size_t)count + 1, sizeof(*names.names));
	for (int i = 0; i < count; i++) {
		char *name = names.names ? strdup(entries[i]->d_name) : NULL;

		if (name)
			names.names[names.count++] = name;
		free(entries[i]);
	}
	free(entries);
	errno = 0;
	return names;
}

void tree_names_free(struct tree_names *names)
{
	while (names->count)
		free(names->names[--names->count]);
	free(names->names);
	names->names = NULL;
}
