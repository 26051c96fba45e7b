// SPDX-License-Identifier: MIT
/* A text that grows, and types as MLIR writes them. */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shlo_text_add(struct shlo_text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (text->length + (size_t)length >= text->room) {
		size_t room = 2 * (text->length + (size_t)length) + 64;
		char *data;

		/* The memory ends with a NUL. */
		if (text->length + (size_t)length > SHLO_MAX_TEXT)
			shlo_throw(text->arena->guard, WNNStatus_OperationError,
				   "the text of the program has more than 2^28 bytes");
		if (room > SHLO_MAX_TEXT + 1)
			room = SHLO_MAX_TEXT + 1;
		data = shlo_arena_alloc(text->arena, room, 1);
		if (text->length)
			memcpy(data, text->data, text->length);
		text->data = data;
		text->room = room;
	}
	va_start(args, format);
	vsnprintf(text->data + text->length, text->room - text->length, format, args);
	va_end(args);
	text->length += (size_t)length;
}

void shlo_text_add_real(struct shlo_text *text, double value)
{
	char number[40];
	int digits = 1;

	do
		snprintf(number, sizeof(number), "%.*g", digits, value);
	while (strtod(number, NULL) != value && ++digits <= 17);
	/* Without a point or exponent, MLIR would read the number as an integer. */
	if (!strpbrk(number, ".e"))
		strcat(number, ".0");
	shlo_text_add(text, "%s", number);
}

void shlo_text_add_string(struct shlo_text *text, const char *string, size_t length)
{
	shlo_text_add(text, "\"");
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)string[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			shlo_text_add(text, "\\%02X", c);
		else
			shlo_text_add(text, "%c", c);
	}
	shlo_text_add(text, "\"");
}

static void add_element(struct shlo_text *text, const struct shlo_type *type)
{
	const struct shlo_quant *quant = type->quant;
	unsigned int bits;
	bool is_unsigned;

	if (!quant) {
		shlo_text_add(text, "%s", shlo_elements[type->element].text);
		return;
	}
	bits = shlo_elements[quant->storage].bits;
	is_unsigned = shlo_class(quant->storage) == SHLO_UNSIGNED;
	shlo_text_add(text, "!quant.uniform<%s%u", is_unsigned ? "u" : "i", bits);
	if (quant->least != (is_unsigned ? 0 : INT64_MIN >> (64 - bits)) ||
	    quant->most !=
		    (is_unsigned ? (int64_t)(UINT64_MAX >> (64 - bits)) : INT64_MAX >> (64 - bits)))
		shlo_text_add(text, "<%lld:%lld>", (long long)quant->least, (long long)quant->most);
	shlo_text_add(text, ":%s", shlo_elements[quant->expressed].text);
	if (quant->axis >= 0)
		shlo_text_add(text, ":%d, {", quant->axis);
	for (size_t i = 0; i < quant->count; i++) {
		shlo_text_add(text, i || quant->axis < 0 ? ", " : "");
		shlo_text_add_real(text, quant->scales[i]);
		if (quant->zeros[i])
			shlo_text_add(text, ":%lld", (long long)quant->zeros[i]);
	}
	shlo_text_add(text, quant->axis >= 0 ? "}>" : ">");
}

static void add_list(struct shlo_text *text, size_t count, const struct shlo_type *const *types)
{
	for (size_t i = 0; i < count; i++) {
		shlo_text_add(text, i ? ", " : "");
		shlo_text_add_type(text, types[i]);
	}
}

static void add_tensor(struct shlo_text *text, const struct shlo_type *type)
{
	shlo_text_add(text, type->rank < 0 ? "tensor<*x" : "tensor<");
	for (int i = 0; i < type->rank; i++)
		if (type->dims[i] == SHLO_DYNAMIC)
			shlo_text_add(text, "?x");
		else
			shlo_text_add(text, "%lldx", (long long)type->dims[i]);
	add_element(text, type);
	for (int i = 0; type->bounds && i < type->rank; i++) {
		shlo_text_add(text, i ? ", " : ", #stablehlo.bounds<");
		if (type->bounds[i] == SHLO_DYNAMIC)
			shlo_text_add(text, "?");
		else
			shlo_text_add(text, "%lld", (long long)type->bounds[i]);
	}
	shlo_text_add(text, type->bounds && type->rank > 0 ? ">>" : ">");
}

void shlo_text_add_type(struct shlo_text *text, const struct shlo_type *type)
{
	switch (type->kind) {
	case SHLO_TOKEN:
		shlo_text_add(text, "!stablehlo.token");
		return;
	case SHLO_OPAQUE:
		shlo_text_add(text, "%s", type->text);
		return;
	case SHLO_FUNCTION:
		shlo_text_add(text, "(");
		add_list(text, type->item_count, type->items);
		shlo_text_add(text, ") -> (");
		add_list(text, type->result_count, type->results);
		shlo_text_add(text, ")");
		return;
	case SHLO_TUPLE:
	case SHLO_FUTURE:
		shlo_text_add(text, type->kind == SHLO_TUPLE ? "tuple<" : "!stablehlo.future<");
		add_list(text, type->item_count, type->items);
		shlo_text_add(text, ">");
		return;
	default:
		add_tensor(text, type);
	}
}

const char *shlo_type_text(struct shlo_arena *arena, const struct shlo_type *type)
{
	struct shlo_text text = { .arena = arena };

	shlo_text_add_type(&text, type);
	return text.data;
}
