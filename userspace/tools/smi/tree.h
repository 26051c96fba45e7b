/* SPDX-License-Identifier: MIT */
/* onpu-smi: the files of the system, or of a copy of one. Paths are printf formats and absolute. */
#ifndef ONPU_TOOLS_SMI_TREE_H
#define ONPU_TOOLS_SMI_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes all functions look below @root, which must stay valid. */
void tree_set_root(const char *root);

/*
 * Returns whether the files are a copy; then the devices may not be queried, because devices of
 * this machine would answer.
 */
bool tree_is_copy(void);

/* Writes the path of a file below the root. Returns @path, which has PATH_MAX bytes. */
char *tree_path(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool tree_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Reads the first line without its line end, cut off if @text is too short. Returns 0, or a
 * negative errno.
 */
int tree_line(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns a number, decimal or with 0x; @otherwise when the file has none. */
uint64_t tree_number(uint64_t otherwise, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns a whole file, terminated by NUL, which the caller frees; *size, unless @size is NULL,
 * becomes the number of bytes before that NUL. NULL with errno when the file cannot be read.
 */
char *tree_read(size_t *size, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a text. Returns 0, or a negative errno. */
int tree_write(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the target of a link, as it is stored. Returns 0, or a negative errno. */
int tree_link(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the last component of a path. */
const char *tree_base(const char *path);

struct tree_names {
	char **names;
	size_t count;
};

/*
 * Returns the sorted names in a folder, without those that begin with a dot. The member `names` is
 * NULL, with errno set, when the folder cannot be read.
 */
struct tree_names tree_list(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tree_names_free(struct tree_names *names);

#endif
