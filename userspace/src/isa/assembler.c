// SPDX-License-Identifier: MIT
/*
 * Translates instructions from text to words and back, with the tables that the generator makes
 * from isa.xml. The tool onpu-isa, tests and dumps of programs call it.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/assembler.h"

/* The position in a line; `at` never goes beyond `end`, where a comment or the NUL is. */
struct reader {
	const char *line;
	const char *at;
	const char *end;
	struct onpu_asm_error *err;
};

static bool is_word_char(int c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && isspace((unsigned char)*r->at))
		r->at++;
}

static size_t token_length(const struct reader *r)
{
	const char *p = r->at;

	while (p < r->end && !isspace((unsigned char)*p) && *p != ',')
		p++;
	return p == r->at && p < r->end ? 1 : (size_t)(p - r->at);
}

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *format, ...)
{
	va_list args;

	r->err->column = (unsigned int)(r->at - r->line) + 1;
	snprintf(r->err->token, sizeof(r->err->token), "%.*s", (int)token_length(r), r->at);
	va_start(args, format);
	vsnprintf(r->err->message, sizeof(r->err->message), format, args);
	va_end(args);
	return -1;
}

/* Returns false when the reader is inside a word; `last`: the character before the reader. */
static bool ends_word(const struct reader *r, char last)
{
	return !is_word_char(last) || r->at == r->end || !is_word_char(*r->at);
}

/*
 * Returns the position after the text when the line has it at the reader, else NULL. A space in
 * the text stands for any number of spaces in the line; when the text ends in a letter or digit, no
 * letter or digit may follow it in the line.
 */
static const char *match_text(const struct reader *r, const char *text)
{
	struct reader probe = *r;
	char last = 0;

	for (; *text; text++) {
		if (*text == ' ' && !ends_word(&probe, last))
			return NULL;
		if (*text == ' ' || (ispunct((unsigned char)*text) && *text != '.'))
			skip_space(&probe);
		last = *text;
		if (*text == ' ')
			continue;
		if (probe.at == probe.end || *probe.at != *text)
			return NULL;
		probe.at++;
	}
	return ends_word(&probe, last) ? probe.at : NULL;
}

/*
 * Lists the texts of an enum for messages: all if they are few, otherwise the second and the last;
 * the first may be empty.
 */
static void list_values(const struct onpu_enum_info *info, const char *between, char list[128])
{
	bool few = info->num_values <= 8;
	size_t length = 0;
	uint32_t i;

	list[0] = 0;
	if (!few)
		between = " to ";
	for (i = 0; i < info->num_values; i++) {
		const char *text = info->values[i].display;

		text += strspn(text, " ");
		if (*text && (few || i == 1 || i + 1 == info->num_values))
			length += (size_t)snprintf(list + length, 128 - length, "%s%.*s",
						   length ? between : "", (int)strcspn(text, " "),
						   text);
	}
}

/* Returns the syntax of the instruction, for messages. */
static const char *syntax(const struct onpu_op_info *op, char text[ONPU_TEXT_MAX])
{
	char list[128];
	bool named = false;
	size_t length = 0;
	uint32_t i;

	for (i = 0; i < op->num_tokens && length < ONPU_TEXT_MAX; i++) {
		const struct onpu_text_token *token = &op->tokens[i];
		const struct onpu_field_info *field = token->field < 0 ? NULL :
									 &op->fields[token->field];
		const char *format = "%s", *piece = token->text;

		if (!field && !piece) {
			named = true;
			piece = op->name;
		} else if (field && field->type == ONPU_FIELD_BOOL) {
			format = "[%s]";
			piece = field->display;
		} else if (field && field->type == ONPU_FIELD_ENUM) {
			list_values(field->values, "|", list);
			format = *field->values->values[0].display ? "%s" : "[%s]";
			piece = list;
		} else if (field) {
			piece = field->name;
		}
		/* Leaves out the fields that all instructions have, before the name and after it. */
		if (named && !(field && field->low >= 96))
			length += (size_t)snprintf(text + length, ONPU_TEXT_MAX - length, format,
						   piece);
	}
	return text;
}

/*
 * Reads a literal of the syntax. Unlike with match_text(), a field may follow without a gap, as in
 * "d12", where "d" is the literal. Returns 0 or -1.
 */
static int read_literal(struct reader *r, const struct onpu_op_info *op, const char *text)
{
	char form[ONPU_TEXT_MAX];

	for (; *text; text++) {
		if (*text == ' ' || ispunct((unsigned char)*text))
			skip_space(r);
		if (*text == ' ')
			continue;
		if (r->at == r->end || *r->at != *text)
			return fail(r, "expected '%c' as in: %s", *text, syntax(op, form));
		r->at++;
	}
	return 0;
}

static int read_number(struct reader *r, const struct onpu_field_info *field, uint32_t *value)
{
	uint64_t limit = (1ull << (field->high - field->low + 1)) - 1;
	unsigned int base = field->type == ONPU_FIELD_HEX ? 16 : 10;
	const char *p = r->at;
	uint64_t number = 0;
	bool digits = false;

	if (base == 10 && r->end - p > 2 && p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	for (; p < r->end && isxdigit((unsigned char)*p); p++) {
		char zero = isdigit((unsigned char)*p) ? '0' : 'a' - 10;
		unsigned int digit = (unsigned int)(tolower((unsigned char)*p) - zero);

		if (digit >= base)
			break;
		number = number * base + digit;
		digits = true;
		if (number > limit)
			return fail(r, "%s must be at most %llu", field->name,
				    (unsigned long long)limit);
	}
	if (!digits || (p < r->end && is_word_char(*p)))
		return fail(r, "%s must be a %s number from 0 to %llu", field->name,
			    base == 16 ? "hexadecimal" : "decimal", (unsigned long long)limit);
	*value = (uint32_t)number;
	r->at = p;
	return 0;
}

static int fail_enum(struct reader *r, const struct onpu_field_info *field)
{
	char list[128];

	list_values(field->values, ", ", list);
	skip_space(r);
	return fail(r, "%s must be one of: %s", field->name, list);
}

/*
 * Returns true if the line continues with the mark, such as '!', with which only the texts of this
 * enum begin.
 */
static bool has_mark(const struct reader *r, const struct onpu_enum_info *info)
{
	struct reader probe = *r;
	const char *text = info->values[info->num_values - 1].display;

	text += strspn(text, " ");
	skip_space(&probe);
	return ispunct((unsigned char)*text) && *text != '.' && probe.at < probe.end &&
	       *probe.at == *text;
}

static int read_enum(struct reader *r, const struct onpu_field_info *field, uint32_t *value)
{
	const struct onpu_enum_info *info = field->values;
	bool found = false;
	const char *end = r->at;
	uint32_t i;

	for (i = 0; i < info->num_values; i++) {
		const char *text = info->values[i].display;
		const char *behind = *text ? match_text(r, text) : r->at;

		if (behind && (behind > end || (!found && !*text && !has_mark(r, info)))) {
			found = true;
			*value = info->values[i].value;
			end = behind;
		}
	}
	if (!found)
		return fail_enum(r, field);
	r->at = end;
	return 0;
}

static int read_field(struct reader *r, const struct onpu_field_info *field, struct onpu_insn *insn)
{
	uint32_t value = 0;
	const char *behind;

	switch (field->type) {
	case ONPU_FIELD_BOOL:
		behind = match_text(r, field->display);
		if (behind) {
			value = 1;
			r->at = behind;
		}
		break;
	case ONPU_FIELD_ENUM:
		if (read_enum(r, field, &value))
			return -1;
		break;
	default:
		if (read_number(r, field, &value))
			return -1;
	}
	onpu_insn_set(insn, (enum onpu_field)field->id, value);
	return 0;
}

/*
 * Returns how many letters must be inserted, removed or changed to make a from b (Levenshtein
 * distance); 99: too long.
 */
static unsigned int distance(const char *a, size_t na, const char *b)
{
	unsigned int row[40];
	size_t nb = strlen(b), i, j;

	if (na > 32 || nb > 32)
		return 99;
	for (j = 0; j <= nb; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= na; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (j = 1; j <= nb; j++) {
			unsigned int best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

static int fail_unknown(struct reader *r)
{
	size_t length = token_length(r);
	unsigned int best = 99;
	const char *near = NULL;
	uint32_t i;

	if (!length)
		return fail(r, "expected an instruction, such as: vadd d1, d2, d3");
	for (i = 0; i < ONPU_OP_COUNT; i++) {
		unsigned int d = distance(r->at, length, onpu_op_info[i].name);

		if (d < best) {
			best = d;
			near = onpu_op_info[i].name;
		}
	}
	if (near && best <= 3)
		return fail(r, "no such instruction; is it %s?", near);
	return fail(r, "no such instruction; they look like: vadd d1, d2, d3");
}

/*
 * Returns the instruction whose name is at the reader, and of several the one with the longest
 * name; NULL: there is none.
 */
static const struct onpu_op_info *find_op(const struct reader *r)
{
	const struct onpu_op_info *best = NULL;
	const char *end = NULL;
	uint32_t i;

	for (i = 0; i < ONPU_OP_COUNT; i++) {
		const char *behind = match_text(r, onpu_op_info[i].name);

		if (behind && behind > end) {
			best = &onpu_op_info[i];
			end = behind;
		}
	}
	return best;
}

/*
 * Reads the fields before the name, which are equal in all instructions: those of nop. Returns 0 or
 * -1.
 */
static int read_prefix(struct reader *r, struct onpu_insn *insn)
{
	const struct onpu_op_info *op = &onpu_op_info[0];
	uint32_t i;

	for (i = 0; i < op->num_tokens && (op->tokens[i].text || op->tokens[i].field >= 0); i++)
		if (op->tokens[i].field >= 0 &&
		    read_field(r, &op->fields[op->tokens[i].field], insn))
			return -1;
	skip_space(r);
	return 0;
}

static int read_instruction(struct reader *r, uint32_t w[ONPU_INSN_WORDS])
{
	struct onpu_insn insn = { 0 };
	const struct onpu_op_info *op;
	char form[ONPU_TEXT_MAX];
	bool named = false;
	uint32_t i;

	if (read_prefix(r, &insn))
		return -1;
	op = find_op(r);
	if (!op)
		return fail_unknown(r);
	insn.op = (enum onpu_op)(op - onpu_op_info);
	r->at += strlen(op->name);
	for (i = 0; i < op->num_tokens; i++) {
		const struct onpu_text_token *token = &op->tokens[i];

		if (!token->text && token->field < 0)
			named = true;
		else if (!named)
			continue;
		else if (token->text ? read_literal(r, op, token->text) :
				       read_field(r, &op->fields[token->field], &insn))
			return -1;
	}
	skip_space(r);
	if (r->at < r->end)
		return fail(r, "expected the end of the line after: %s", syntax(op, form));
	if (onpu_insn_pack(&insn, w))
		return fail(r, "the values do not fit: %s", syntax(op, form));
	return 1;
}

static int read_raw(struct reader *r, uint32_t w[ONPU_INSN_WORDS])
{
	static const struct onpu_field_info word = { "word", 0, 0, 31, ONPU_FIELD_UINT, NULL, NULL };
	uint32_t i;

	for (i = 0; i < ONPU_INSN_WORDS; i++) {
		skip_space(r);
		if (r->at == r->end)
			return fail(r,
				    ".word needs four numbers, such as: .word 0x0 0x0 0x0 0x10000");
		if (read_number(r, &word, &w[i]))
			return -1;
	}
	skip_space(r);
	return r->at < r->end ? fail(r, "expected the end of the line after four words") : 1;
}

int onpu_asm_line(const char *line, uint32_t w[ONPU_INSN_WORDS], struct onpu_asm_error *err)
{
	struct reader r = { line, line, line + strcspn(line, ";#\n"), err };
	const char *behind;

	memset(err, 0, sizeof(*err));
	skip_space(&r);
	if (r.at == r.end)
		return 0;
	behind = match_text(&r, ".word");
	if (!behind)
		return read_instruction(&r, w);
	r.at = behind;
	return read_raw(&r, w);
}

/* The text that is written so far; it is cut off at `size`, as by snprintf(). */
struct writer {
	char *text;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *out, const char *format, ...)
{
	size_t room = out->length < out->size ? out->size - out->length : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? out->text + out->length : NULL, room, format, args);
	va_end(args);
	if (n > 0)
		out->length += (size_t)n;
}

static void put_field(struct writer *out, const struct onpu_field_info *field, uint32_t value)
{
	uint32_t i;

	switch (field->type) {
	case ONPU_FIELD_BOOL:
		if (value)
			put(out, "%s", field->display);
		break;
	case ONPU_FIELD_HEX:
		put(out, "%x", value);
		break;
	case ONPU_FIELD_UINT:
		put(out, "%u", value);
		break;
	default:
		for (i = 0; i < field->values->num_values; i++)
			if (field->values->values[i].value == value)
				put(out, "%s", field->values->values[i].display);
	}
}

enum onpu_fault onpu_disasm(const uint32_t w[ONPU_INSN_WORDS], char *text, size_t size)
{
	struct writer out = { text, size, 0 };
	const struct onpu_op_info *op;
	struct onpu_insn insn;
	enum onpu_fault fault;
	uint32_t i;

	fault = onpu_insn_unpack(w, &insn);
	if (fault) {
		put(&out, ".word 0x%08x 0x%08x 0x%08x 0x%08x", w[0], w[1], w[2], w[3]);
		return fault;
	}
	op = &onpu_op_info[insn.op];
	for (i = 0; i < op->num_tokens; i++) {
		const struct onpu_text_token *token = &op->tokens[i];
		const struct onpu_field_info *field =
			&op->fields[token->field < 0 ? 0 : token->field];

		if (token->text)
			put(&out, "%s", token->text);
		else if (token->field < 0)
			put(&out, "%s", op->name);
		else
			put_field(&out, field, onpu_insn_get(&insn, (enum onpu_field)field->id));
	}
	return ONPU_FAULT_NONE;
}
