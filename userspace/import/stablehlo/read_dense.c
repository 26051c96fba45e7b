// SPDX-License-Identifier: MIT
/* dense<…>: elements as nested lists, one for all, or bytes in hexadecimal digits. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

struct dense {
	struct shlo_reader *r;
	enum shlo_element element;
	const struct shlo_type *type;
	void *data;
	int64_t count, at;
};

/* One integer or float of @element; bits when written in hexadecimal. */
static struct shlo_num read_part(struct shlo_reader *r, enum shlo_element element)
{
	const char *start;
	char *end;
	struct shlo_num number = { 0 };
	bool minus;

	if (shlo_take_word(r, "true"))
		return shlo_convert(element, SHLO_I64, shlo_int(1));
	if (shlo_take_word(r, "false"))
		return shlo_convert(element, SHLO_I64, shlo_int(0));
	minus = shlo_peek(r) == '-';
	start = r->at;
	if (start + 2 < r->end && start[minus] == '0' && start[minus + 1] == 'x') {
		uint64_t bits = strtoull(start + minus, &end, 16);

		if (shlo_is_float(element))
			number.re = shlo_float_value(element, bits);
		else
			number.u = minus ? 0 - bits : bits;
	} else if (shlo_is_float(element)) {
		number.re = strtod(start, &end);
		/* Through the decimal digits at once: a double between would round f32 twice. */
		if (element == SHLO_F32)
			number.re = (double)strtof(start, NULL);
	} else {
		number.u = minus ? 0 - strtoull(start + 1, &end, 10) : strtoull(start, &end, 10);
	}
	if (end == start || end > r->end)
		shlo_read_error(r, "here should be a number");
	if (!shlo_is_float(element) && *end == '.')
		shlo_read_error(r, "an integer has no fraction");
	r->at = end;
	return number;
}

static struct shlo_num read_element(struct shlo_reader *r, enum shlo_element element)
{
	enum shlo_element part = shlo_element_part(element);
	struct shlo_num number = { 0 };

	if (element == part)
		return read_part(r, element);
	if (!shlo_take(r, "(")) {
		number.re = read_part(r, part).re;
		return number;
	}
	number.re = read_part(r, part).re;
	shlo_expect(r, ",");
	number.im = read_part(r, part).re;
	shlo_expect(r, ")");
	return number;
}

static void read_nested(struct dense *d, int level)
{
	int64_t items = 0;

	if (level == d->type->rank) {
		if (d->at == d->count)
			shlo_read_error(d->r, "there are more elements than the type has");
		shlo_store(d->element, d->data, (size_t)d->at++, read_element(d->r, d->element));
		return;
	}
	shlo_expect(d->r, "[");
	while (!shlo_take(d->r, "]")) {
		if (items)
			shlo_expect(d->r, ",");
		if (items == d->type->dims[level])
			shlo_read_error(d->r, "there are more elements than the type has");
		read_nested(d, level + 1);
		items++;
	}
	if (items != d->type->dims[level])
		shlo_read_error(d->r, "there are %lld elements where the type has %lld",
				(long long)items, (long long)d->type->dims[level]);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

/* Bits of booleans are packed where there are that few bytes. */
static void unpack_bits(struct dense *d, const uint8_t *bytes)
{
	for (int64_t i = 0; i < d->count; i++)
		((uint8_t *)d->data)[i] = bytes[i / 8] >> (i % 8) & 1;
}

static void read_bytes(struct dense *d, struct shlo_attr *attr)
{
	size_t length, size, whole = (size_t)d->count * shlo_elements[d->element].bytes;
	const char *text = shlo_read_string(d->r, &length);
	uint8_t *bytes;

	if (length < 2 || text[0] != '0' || text[1] != 'x' || length % 2)
		shlo_read_error(d->r, "bytes are written as \"0x…\" with two digits each");
	size = length / 2 - 1;
	bytes = shlo_arena_alloc(d->r->arena, size, 1);
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 + 2 * i]), low = hex_digit(text[3 + 2 * i]);

		if (high < 0 || low < 0)
			shlo_read_error(d->r, "bytes are written in hexadecimal digits");
		bytes[i] = (uint8_t)(high * 16 + low);
	}
	if (size == whole) {
		for (int64_t i = 0; i < d->count; i++)
			shlo_store(d->element, d->data, (size_t)i,
				   shlo_load(d->element, bytes, (size_t)i));
		/* Not by way of numbers: NaN keep their bits. */
		if (shlo_elements[d->element].bits % 8 == 0)
			memcpy(d->data, bytes, size);
	} else if (d->element == SHLO_I1 && d->count && size == (size_t)(d->count + 7) / 8) {
		unpack_bits(d, bytes);
	} else if (size == shlo_elements[d->element].bytes && d->count) {
		memcpy(d->data, bytes, size);
		attr->splat = true;
	} else {
		shlo_read_error(d->r, "there are %zu bytes where the type has %zu", size, whole);
	}
}

const struct shlo_attr *shlo_read_dense(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_DENSE);
	struct shlo_reader body, after;
	struct dense d = { .r = r };

	if (!shlo_take_word(r, "dense"))
		shlo_read_error(r, "elements in a resource outside of the text are not read");
	/* The type comes last, but says how to read what comes first. */
	body = *r;
	shlo_skip_balanced(r);
	shlo_expect(r, ":");
	d.type = shlo_read_type(r);
	after = *r;
	if (d.type->kind != SHLO_TENSOR || !shlo_type_is_static(d.type))
		shlo_read_error(r, "elements have a type with known dimensions");
	d.element = d.type->element;
	d.count = shlo_type_count(d.type);
	attr->type = d.type;
	*r = body;
	shlo_expect(r, "<");
	/* One element for all takes the memory of one. */
	attr->splat = shlo_peek(r) != '[' && shlo_peek(r) != '"' && shlo_peek(r) != '>';
	if (shlo_peek(r) != '>' && !attr->splat && d.count > r->end - r->text)
		shlo_read_error(r, "there are fewer elements than the type has");
	d.data = shlo_arena_alloc(r->arena, attr->splat ? 1 : (size_t)d.count,
				  shlo_elements[d.element].bytes);
	attr->data = d.data;
	if (shlo_peek(r) == '"') {
		read_bytes(&d, attr);
	} else if (attr->splat) {
		shlo_store(d.element, d.data, 0, read_element(r, d.element));
	} else if (shlo_peek(r) == '[') {
		read_nested(&d, 0);
	} else if (d.count) {
		shlo_read_error(r, "elements are missing");
	}
	shlo_expect(r, ">");
	*r = after;
	return attr;
}
