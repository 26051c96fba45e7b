// SPDX-License-Identifier: MIT
/* Reads dense<…>: elements as nested lists, one element for all, or bytes as hexadecimal digits. */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The most characters of a number that a message quotes. */
#define MAX_DIGITS 40

struct dense {
	struct shlo_reader *r;
	enum shlo_element element;
	const struct shlo_type *type;
	void *data;
	int64_t count, at;
};

/*
 * Reads an integer, whose sign is at the reader's place and whose digits are after it, and sets its
 * end. As in MLIR, iN takes what N bits hold with or without a sign.
 */
static uint64_t read_integer(struct shlo_reader *r, enum shlo_element element, bool minus, int base,
			     char **end)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	uint64_t most = UINT64_MAX >> (64 - info->bits);
	uint64_t least = info->class == SHLO_UNSIGNED ? 0 : most / 2 + 1;
	uint64_t size;

	errno = 0;
	size = strtoull(r->at + minus, end, base);
	if (*end > r->end)
		shlo_read_error(r, "expected a number here");
	if (errno || size > (minus ? least : most))
		shlo_read_error(r, "%.*s does not fit into %s, whose range is %s%llu to %llu",
				*end - r->at < MAX_DIGITS ? (int)(*end - r->at) : MAX_DIGITS, r->at,
				info->text, least ? "-" : "", (unsigned long long)least,
				(unsigned long long)most);
	return minus ? 0 - size : size;
}

/*
 * Reads and returns an integer, float or boolean as a number of @element; hexadecimal digits are
 * its bits.
 */
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
		if (shlo_is_float(element))
			number.re = shlo_float_value(element, strtoull(start + minus, &end, 16));
		else
			number.u = read_integer(r, element, minus, 16, &end);
	} else if (shlo_is_float(element)) {
		number.re = strtod(start, &end);
		/* Reads decimal digits as float; going through double would round twice. */
		if (element == SHLO_F32)
			number.re = (double)strtof(start, NULL);
	} else if (start + minus < r->end && start[minus] >= '0' && start[minus] <= '9') {
		number.u = read_integer(r, element, minus, 10, &end);
	} else {
		/* strtoull() would take a second sign, and blanks. */
		shlo_read_error(r, "expected a number here");
	}
	if (end == start || end > r->end)
		shlo_read_error(r, "expected a number here");
	if (!shlo_is_float(element) && *end == '.')
		shlo_read_error(r, "an element of integer type cannot have a fraction");
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

bool shlo_dense_fill(struct shlo_arena *arena, struct shlo_attr *attr, const uint8_t *bytes,
		     size_t size)
{
	enum shlo_element element = attr->type->element;
	size_t count = (size_t)shlo_type_count(attr->type), one = shlo_elements[element].bytes;
	/* Booleans are bits, eight in a byte, if there are just as many bytes as these need. */
	bool packed = element == SHLO_I1 && count && size != count && size == (count + 7) / 8;
	uint8_t *data;

	/* MLIR writes the bytes of one element for equal elements, and also for none at all. */
	if (!count && size == one)
		size = 0;
	attr->splat = !packed && size == one && size != count * one && count;
	if (!packed && !attr->splat && size != count * one)
		return false;
	data = shlo_arena_alloc(arena, attr->splat ? 1 : count, one);
	attr->data = data;
	if (packed) {
		for (size_t i = 0; i < count; i++)
			data[i] = bytes[i / 8] >> (i % 8) & 1;
		return true;
	}
	if (size)
		memcpy(data, bytes, size);
	/*
	 * The file's bytes may hold any bits: stores each element again, so that a boolean is 0 or
	 * 1 and small integers have their sign extended.
	 */
	for (size_t i = 0; shlo_elements[element].bits % 8 && i < size; i++)
		shlo_store(element, data, i, shlo_load(element, bytes, i));
	return true;
}

const uint8_t *shlo_hex_bytes(struct shlo_reader *r, const char *text, size_t length)
{
	size_t size = length / 2 - 1;
	uint8_t *bytes;

	if (length < 2 || text[0] != '0' || text[1] != 'x' || length % 2)
		shlo_read_error(r, "bytes are written as \"0x…\" with two digits each");
	bytes = shlo_arena_alloc(r->arena, size, 1);
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 + 2 * i]), low = hex_digit(text[3 + 2 * i]);

		if (high < 0 || low < 0)
			shlo_read_error(r, "bytes are written in hexadecimal digits");
		bytes[i] = (uint8_t)(high * 16 + low);
	}
	return bytes;
}

static void read_bytes(struct shlo_reader *r, struct shlo_attr *attr)
{
	size_t length;
	const char *text = shlo_read_string(r, &length);
	const uint8_t *bytes = shlo_hex_bytes(r, text, length);

	if (!shlo_dense_fill(r->arena, attr, bytes, length / 2 - 1))
		shlo_read_error(r, "there are %zu bytes for the elements of %s, which take %zu",
				length / 2 - 1, shlo_type_text(r->arena, attr->type),
				shlo_type_bytes(attr->type));
}

const struct shlo_attr *shlo_read_dense(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_DENSE);
	struct shlo_reader body, after;
	struct dense d = { .r = r };

	if (shlo_take_word(r, "dense_resource"))
		return shlo_read_dense_resource(r);
	if (!shlo_take_word(r, "dense"))
		shlo_read_error(r, "expected dense<...> here");
	/* The type comes last, but determines how to read the elements before it. */
	body = *r;
	shlo_skip_balanced(r);
	shlo_expect(r, ":");
	d.type = shlo_read_type(r);
	after = *r;
	if (d.type->kind != SHLO_TENSOR || !shlo_type_is_static(d.type))
		shlo_read_error(r, "elements need a tensor type with known dimensions, not %s",
				shlo_type_text(r->arena, d.type));
	d.element = d.type->element;
	d.count = shlo_type_count(d.type);
	attr->type = d.type;
	*r = body;
	shlo_expect(r, "<");
	/* One element for all is stored once. */
	attr->splat = shlo_peek(r) != '[' && shlo_peek(r) != '"' && shlo_peek(r) != '>';
	if (shlo_peek(r) == '[' && d.count > r->end - r->text)
		shlo_read_error(r, "there are fewer elements than the type has");
	if (shlo_peek(r) == '"') {
		read_bytes(r, attr);
		shlo_expect(r, ">");
		*r = after;
		return attr;
	}
	d.data = shlo_arena_alloc(r->arena, attr->splat ? 1 : (size_t)d.count,
				  shlo_elements[d.element].bytes);
	attr->data = d.data;
	if (attr->splat) {
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
