/* SPDX-License-Identifier: MIT */
/* A text that grows, for printing. */
#ifndef SHLO_TEXT_H
#define SHLO_TEXT_H

#include "module.h"

#define SHLO_MAX_TEXT ((size_t)1 << 28)

struct shlo_text {
	struct shlo_arena *arena;
	char *data; /* ends with a NUL */
	size_t length, room;
};

void shlo_text_add(struct shlo_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds the shortest decimal number that reads back as the same value, which is finite. */
void shlo_text_add_real(struct shlo_text *text, double value);
void shlo_text_add_type(struct shlo_text *text, const struct shlo_type *type);
/*
 * Adds a string in quotes. A quote, a backslash, and a byte that is no printable ASCII become a
 * backslash with two hexadecimal digits.
 */
void shlo_text_add_string(struct shlo_text *text, const char *string, size_t length);
/* Adds the attribute @name of the operation @op. */
void shlo_text_add_attr(struct shlo_text *text, const char *op, const char *name,
			const struct shlo_attr *attr);
/*
 * Adds the text @before and attributes of the operation @op such as "{a = 1, b}", in the order of
 * their names and without those that have their default; adds nothing when none remains.
 */
void shlo_text_add_attrs(struct shlo_text *text, const char *before, const char *op,
			 const struct shlo_attr *attrs);

#endif
