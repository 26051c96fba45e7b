// SPDX-License-Identifier: MIT
/* Reading and writing .npy files: a magic number, a Python dictionary as text, the elements. */
#include "npy.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	char text[4];
	WNNOperandDataType type;
	unsigned char size;
} types[] = {
	{ "<f4", WNNOperandDataType_Float32, 4 }, { "<f2", WNNOperandDataType_Float16, 2 },
	{ "<i4", WNNOperandDataType_Int32, 4 },	  { "<u4", WNNOperandDataType_Uint32, 4 },
	{ "<i8", WNNOperandDataType_Int64, 8 },	  { "<u8", WNNOperandDataType_Uint64, 8 },
	{ "|i1", WNNOperandDataType_Int8, 1 },	  { "|u1", WNNOperandDataType_Uint8, 1 },
	{ "|b1", WNNOperandDataType_Uint8, 1 },
};

#define NUM_TYPES (sizeof(types) / sizeof(types[0]))

/* Types that WebNN lacks, and the types to which their elements are converted. */
static const struct {
	char text[4];
	const char *name;
	WNNOperandDataType type;
	unsigned char size;
} converted[] = {
	{ "<f8", "float64", WNNOperandDataType_Float32, 8 },
	{ "<i2", "int16", WNNOperandDataType_Int32, 2 },
	{ "<u2", "uint16", WNNOperandDataType_Uint32, 2 },
};

/*
 * The characters of a type that a message shows, such as '<f4' or '<M8[ns]'. Others are not
 * printed: a damaged file could have control sequences for the terminal.
 */
#define TYPE_CHARACTERS "'<>|=[]0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static int bad(const char *path, const char *what)
{
	warnx("%s: %s", path, what);
	return -1;
}

static int parse_shape(struct npy *array, const char *text)
{
	char *end;

	array->rank = 0;
	array->count = 1;
	for (;;) {
		unsigned long dim;

		while (*text == ' ' || *text == ',')
			text++;
		if (*text == ')')
			return 0;
		dim = strtoul(text, &end, 10);
		if (end == text || dim > INT32_MAX || array->rank == NPY_MAX_RANK ||
		    (dim && array->count > SIZE_MAX / 8 / dim))
			return -1;
		array->dim[array->rank++] = (uint32_t)dim;
		array->count *= dim;
		text = end;
	}
}

/* Returns the size of an element of this type; 0: the type is not supported. */
static size_t parse_type(struct npy *array, const char *descr)
{
	char type[4] = { 0 };

	descr += strspn(descr, " ");
	if (*descr != '\'' || strnlen(descr, 5) < 5 || descr[4] != '\'')
		return 0;
	memcpy(type, descr + 1, 3);
	array->big_endian = *type == '>';
	if (array->big_endian)
		*type = '<';
	for (size_t i = 0; i < sizeof(converted) / sizeof(converted[0]); i++) {
		if (strncmp(type, converted[i].text, 3))
			continue;
		array->type = converted[i].type;
		array->was = converted[i].name;
		return converted[i].size;
	}
	for (size_t i = 0; i < NUM_TYPES; i++) {
		if (strncmp(type, types[i].text, 3))
			continue;
		array->type = types[i].type;
		return types[i].size;
	}
	return 0;
}

/*
 * Prints a message about a type that is not allowed; always returns -1. @type is a text in quotes
 * unless elements are structures.
 */
static int bad_type(const char *path, const char *type)
{
	type += strspn(type, " ");
	if (*type != '\'')
		type = "structures";
	warnx("%s: its elements are %.*s; allowed are float32, float16, int64, uint64, int32, "
	      "uint32, int8, uint8 and bool (float64 becomes float32, int16 and uint16 become "
	      "int32 and uint32); in Python, "
	      "numpy.save(FILE, x.astype(numpy.float32)) writes one",
	      path, (int)strspn(type, TYPE_CHARACTERS), type);
	return -1;
}

static int parse_header(struct npy *array, const char *header, const char *path)
{
	const char *descr = strstr(header, "'descr':"), *shape = strstr(header, "'shape':");
	size_t size;

	if (!descr || !shape || !(shape = strchr(shape, '(')))
		return bad(path, "not a .npy header");
	array->fortran = strstr(header, "'fortran_order': True") != NULL;
	size = parse_type(array, descr + strlen("'descr':"));
	if (!size)
		return bad_type(path, descr + strlen("'descr':"));
	if (parse_shape(array, shape + 1))
		return bad(path, "its shape must be a list of up to 8 sizes below 2^31, with "
				 "fewer than 2^61 elements");
	array->bytes = array->count * size;
	return 0;
}

/* Makes the elements little endian. */
static void swap_bytes(struct npy *array)
{
	size_t size = array->count ? array->bytes / array->count : 1;

	for (char *at = array->data, *end = at + array->bytes; at < end; at += size)
		for (size_t i = 0; i < size / 2; i++) {
			char byte = at[i];

			at[i] = at[size - 1 - i];
			at[size - 1 - i] = byte;
		}
}

/*
 * Replaces float64 by the nearest float32, and integers of 16 bits by those of 32. Returns 0 or -1.
 */
static int convert(struct npy *array, const char *path)
{
	bool is_double = array->type == WNNOperandDataType_Float32;
	bool is_signed = array->type == WNNOperandDataType_Int32;
	size_t size = is_double ? 8 : 2;
	char *data = malloc(4 * array->count + 1);

	if (!data)
		return bad(path, "out of memory");
	for (size_t i = 0; i < array->count; i++) {
		const char *from = (char *)array->data + size * i;
		double wide;
		uint16_t bits;
		uint32_t number;
		float near;

		if (is_double) {
			memcpy(&wide, from, 8);
			near = (float)wide;
			memcpy(data + 4 * i, &near, 4);
			continue;
		}
		memcpy(&bits, from, 2);
		number = is_signed ? (uint32_t)(int16_t)bits : bits;
		memcpy(data + 4 * i, &number, 4);
	}
	free(array->data);
	array->data = data;
	array->bytes = 4 * array->count;
	return 0;
}

/*
 * Reorders elements of a file in Fortran order, in which the first dimension is contiguous, to C
 * order. Returns 0 or -1.
 */
static int to_c_order(struct npy *array, const char *path)
{
	size_t size = array->count ? array->bytes / array->count : 1, at = 0;
	size_t strides[NPY_MAX_RANK], step = 1;
	uint32_t index[NPY_MAX_RANK] = { 0 };
	char *data = malloc(array->bytes + 1);

	if (!data)
		return bad(path, "out of memory");
	for (uint32_t i = 0; i < array->rank; i++) {
		strides[i] = step;
		step *= array->dim[i];
	}
	for (size_t i = 0; i < array->count; i++) {
		memcpy(data + i * size, (char *)array->data + at * size, size);
		for (uint32_t k = array->rank; k--;) {
			at += strides[k];
			if (++index[k] < array->dim[k])
				break;
			at -= strides[k] * array->dim[k];
			index[k] = 0;
		}
	}
	free(array->data);
	array->data = data;
	return 0;
}

static int read_array(struct npy *array, FILE *f, const char *path)
{
	unsigned char magic[10], more[2];
	char header[4096];
	struct stat stat;
	size_t size;

	if (fread(magic, 1, sizeof(magic), f) != sizeof(magic) || memcmp(magic, "\x93NUMPY", 6))
		return bad(path, "not a .npy file");
	if (!magic[6] || magic[6] > 3) {
		warnx("%s: it has version %u of the format; allowed are 1 to 3", path, magic[6]);
		return -1;
	}
	size = magic[8] | (size_t)magic[9] << 8;
	/* From version 2 on, the header may be longer; from 3 on, it is UTF-8. */
	if (magic[6] >= 2) {
		if (fread(more, 1, 2, f) != 2)
			return bad(path, "truncated header");
		size |= (size_t)more[0] << 16 | (size_t)more[1] << 24;
	}
	if (size >= sizeof(header) || fread(header, 1, size, f) != size)
		return bad(path, "truncated or oversized header");
	header[size] = 0;
	if (parse_header(array, header, path))
		return -1;
	/* A file that is too short is refused before memory is allocated for its shape. */
	if (fileno(f) >= 0 && !fstat(fileno(f), &stat) && S_ISREG(stat.st_mode) &&
	    (uint64_t)stat.st_size < array->bytes)
		return bad(path, "it has fewer elements than its shape says");
	array->data = malloc(array->bytes + 1);
	if (!array->data)
		return bad(path, "out of memory");
	if (fread(array->data, 1, array->bytes, f) != array->bytes) {
		npy_free(array);
		return bad(path, "it has fewer elements than its shape says");
	}
	if (array->big_endian)
		swap_bytes(array);
	if ((array->was && convert(array, path)) ||
	    (array->fortran && array->rank > 1 && to_c_order(array, path))) {
		npy_free(array);
		return -1;
	}
	return 0;
}

int npy_read(struct npy *array, FILE *f, const char *path)
{
	memset(array, 0, sizeof(*array));
	return read_array(array, f, path);
}

int npy_load(struct npy *array, const char *path)
{
	FILE *f = fopen(path, "rb");
	int ret;

	memset(array, 0, sizeof(*array));
	if (!f)
		return bad(path, strerror(errno));
	ret = read_array(array, f, path);
	fclose(f);
	return ret;
}

void npy_free(struct npy *array)
{
	free(array->data);
	array->data = NULL;
}

/* Writes magic number and dictionary, padded so that the elements are aligned. Returns 0 or 1. */
static int write_head(const struct npy *array, const char *type, FILE *f)
{
	char head[400];
	int size = snprintf(head, sizeof(head),
			    "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
	size_t padded;

	for (uint32_t i = 0; i < array->rank; i++)
		size += snprintf(head + size, sizeof(head) - (size_t)size, "%" PRIu32 ",%s",
				 array->dim[i], i + 1 < array->rank ? " " : "");
	size += snprintf(head + size, sizeof(head) - (size_t)size, "), }");
	padded = ((size_t)size + 11 + 63) / 64 * 64 - 10;
	memset(head + size, ' ', padded - (size_t)size);
	head[padded - 1] = '\n';
	return fwrite("\x93NUMPY\x01\x00", 1, 8, f) != 8 || fputc((int)(padded & 255), f) == EOF ||
	       fputc((int)(padded >> 8), f) == EOF || fwrite(head, 1, padded, f) != padded;
}

int npy_save(const struct npy *array, const char *path)
{
	const char *type = NULL;
	bool wrong;
	FILE *f;

	for (size_t i = 0; i < NUM_TYPES && !type; i++)
		if (types[i].type == array->type)
			type = types[i].text;
	if (!type)
		return bad(path, "a .npy file has no elements of 4 bits");
	f = fopen(path, "wb");
	if (!f)
		return bad(path, strerror(errno));
	wrong = write_head(array, type, f) ||
		fwrite(array->data, 1, array->bytes, f) != array->bytes;
	wrong |= fclose(f) != 0;
	return wrong ? bad(path, strerror(errno)) : 0;
}
