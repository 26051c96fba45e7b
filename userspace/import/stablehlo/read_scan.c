// SPDX-License-Identifier: MIT
/* Reads characters of MLIR text: white space, words, strings, positions. */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shlo_location shlo_read_location(struct shlo_reader *r)
{
	shlo_skip(r);
	return (struct shlo_location){ r->line, (unsigned int)(r->at - r->line_start) + 1 };
}

void shlo_read_error(struct shlo_reader *r, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* MLIR text within bytecode has no line numbers. */
	if (!r->line)
		shlo_throw(r->arena->guard, WNNStatus_OperationError, "bytecode: %s", text);
	shlo_throw(r->arena->guard, WNNStatus_OperationError, "line %u, column %u: %s", r->line,
		   (unsigned int)(r->at - r->line_start) + 1, text);
}

static void next_line(struct shlo_reader *r)
{
	/* Text within bytecode has no line numbers, even if it has several lines. */
	r->line += r->line > 0;
	r->line_start = r->at + 1;
}

void shlo_skip(struct shlo_reader *r)
{
	for (; r->at < r->end; r->at++) {
		char c = *r->at;

		if (c == '/' && r->at + 1 < r->end && r->at[1] == '/') {
			while (r->at + 1 < r->end && r->at[1] != '\n')
				r->at++;
			continue;
		}
		if (c == '\n')
			next_line(r);
		else if (c != ' ' && c != '\t' && c != '\r')
			return;
	}
}

char shlo_peek(struct shlo_reader *r)
{
	shlo_skip(r);
	return r->at < r->end ? *r->at : 0;
}

static bool is_at(struct shlo_reader *r, const char *text)
{
	size_t length = strlen(text);

	shlo_skip(r);
	return (size_t)(r->end - r->at) >= length && !memcmp(r->at, text, length);
}

bool shlo_take(struct shlo_reader *r, const char *text)
{
	if (!is_at(r, text))
		return false;
	r->at += strlen(text);
	return true;
}

void shlo_expect(struct shlo_reader *r, const char *text)
{
	if (!shlo_take(r, text))
		shlo_read_error(r, "expected '%s' here", text);
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

bool shlo_peek_word(struct shlo_reader *r, const char *word)
{
	size_t length = strlen(word);

	return is_at(r, word) && (r->at + length == r->end || !in_word(r->at[length]));
}

bool shlo_take_word(struct shlo_reader *r, const char *word)
{
	if (!shlo_peek_word(r, word))
		return false;
	r->at += strlen(word);
	return true;
}

const char *shlo_read_word(struct shlo_reader *r)
{
	const char *start;

	shlo_skip(r);
	start = r->at;
	/* A dash is part of the names of values and aliases, but not of "->". */
	while (r->at < r->end && (in_word(*r->at) || (*r->at == '-' && r->at > start &&
						      r->at + 1 < r->end && in_word(r->at[1]))))
		r->at++;
	return r->at == start ? NULL : shlo_arena_text(r->arena, start, (size_t)(r->at - start));
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

const char *shlo_read_string(struct shlo_reader *r, size_t *length)
{
	const char *start, *at;
	char *text, *to;

	shlo_expect(r, "\"");
	start = r->at;
	for (at = start; at < r->end && *at != '"' && *at != '\n'; at++)
		at += *at == '\\' && at + 1 < r->end;
	if (at >= r->end || *at != '"')
		shlo_read_error(r, "this string has no end");
	to = text = shlo_arena_alloc(r->arena, (size_t)(at - start) + 1, 1);
	for (const char *from = start; from < at; from++) {
		if (*from != '\\') {
			*to++ = *from;
		} else if (from + 2 < at && hex_digit(from[1]) >= 0 && hex_digit(from[2]) >= 0) {
			*to++ = (char)(hex_digit(from[1]) * 16 + hex_digit(from[2]));
			from += 2;
		} else {
			from++;
			*to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
		}
	}
	r->at = at + 1;
	if (length)
		*length = (size_t)(to - text);
	return text;
}

const char *shlo_read_symbol(struct shlo_reader *r)
{
	const char *word;

	shlo_expect(r, "@");
	if (r->at < r->end && *r->at == '"')
		return shlo_read_string(r, NULL);
	word = shlo_read_word(r);
	if (!word)
		shlo_read_error(r, "expected the name of a symbol here");
	return word;
}

/* Strings are skipped as a whole, so that brackets in them do not count. */
void shlo_skip_balanced(struct shlo_reader *r)
{
	const char *start, *line_start;
	unsigned int line;
	int depth = 0;

	shlo_skip(r);
	start = r->at;
	line = r->line;
	line_start = r->line_start;
	for (;;) {
		char c = shlo_peek(r);

		if (!c) {
			/* The position of the error is that of the bracket, not the end of the text. */
			r->at = start;
			r->line = line;
			r->line_start = line_start;
			shlo_read_error(r, depth ? "this bracket is not closed" :
						   "expected a bracket here");
		}
		if (c == '"') {
			shlo_read_string(r, NULL);
			continue;
		}
		r->at++;
		if (c == '-' && r->at < r->end && *r->at == '>')
			r->at++;
		else if (strchr("([{<", c))
			depth++;
		else if (strchr(")]}>", c) && --depth <= 0)
			return;
	}
}

void shlo_skip_location(struct shlo_reader *r)
{
	if (shlo_take_word(r, "loc"))
		shlo_skip_balanced(r);
}

int64_t shlo_read_integer(struct shlo_reader *r)
{
	char digits[24];
	size_t length = 0;
	bool minus = shlo_take(r, "-");
	uint64_t number;

	shlo_skip(r);
	while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
		if (length + 1 >= sizeof(digits))
			shlo_read_error(r, "this number does not fit into 64 bits");
		digits[length++] = *r->at++;
	}
	if (!length)
		shlo_read_error(r, "expected a whole number here");
	digits[length] = 0;
	errno = 0;
	number = strtoull(digits, NULL, 10);
	if (errno || (minus && number > (uint64_t)INT64_MAX + 1))
		shlo_read_error(r, "this number does not fit into 64 bits");
	return (int64_t)(minus ? 0 - number : number);
}

int shlo_read_axis(struct shlo_reader *r)
{
	int64_t axis = shlo_read_integer(r);

	if (axis < 0 || axis >= SHLO_MAX_RANK)
		shlo_read_error(r, "the scales are for dimension %lld; allowed are 0 to %d",
				(long long)axis, SHLO_MAX_RANK - 1);
	return (int)axis;
}

void shlo_enter(struct shlo_reader *r)
{
	if (++r->depth > SHLO_MAX_DEPTH)
		shlo_read_error(r, "this is nested more than %d deep", SHLO_MAX_DEPTH);
}

void shlo_leave(struct shlo_reader *r)
{
	r->depth--;
}
