// SPDX-License-Identifier: MIT
/* Reading .npy files: a magic number, a Python dictionary as text, the elements. */
#include "npy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
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
		if (end == text || !dim || dim > INT32_MAX || array->rank == NPY_MAX_RANK ||
		    array->count > SIZE_MAX / 8 / dim)
			return -1;
		array->dim[array->rank++] = (uint32_t)dim;
		array->count *= dim;
		text = end;
	}
}

static int parse_header(struct npy *array, const char *header, const char *path)
{
	const char *descr = strstr(header, "'descr':"), *shape = strstr(header, "'shape':");

	if (!descr || !shape || !(shape = strchr(shape, '(')))
		return bad(path, "not a .npy header");
	if (!strstr(header, "'fortran_order': False"))
		return bad(path, "Fortran order; only C order is read");
	if (strstr(descr, "'<f4'"))
		array->type = 'f';
	else if (strstr(descr, "'|u1'"))
		array->type = 'u';
	else
		return bad(path, "neither float32 ('<f4') nor uint8 ('|u1')");
	if (parse_shape(array, shape + 1))
		return bad(path, "bad shape");
	array->bytes = array->count * (array->type == 'f' ? 4 : 1);
	return 0;
}

static int read_array(struct npy *array, FILE *f, const char *path)
{
	unsigned char magic[10], more[2];
	char header[4096];
	size_t size;

	if (fread(magic, 1, sizeof(magic), f) != sizeof(magic) || memcmp(magic, "\x93NUMPY", 6))
		return bad(path, "not a .npy file");
	size = magic[8] | (size_t)magic[9] << 8;
	if (magic[6] == 2) {
		if (fread(more, 1, 2, f) != 2)
			return bad(path, "truncated header");
		size |= (size_t)more[0] << 16 | (size_t)more[1] << 24;
	}
	if (size >= sizeof(header) || fread(header, 1, size, f) != size)
		return bad(path, "truncated or oversized header");
	header[size] = 0;
	if (parse_header(array, header, path))
		return -1;
	array->data = malloc(array->bytes);
	if (!array->data)
		return bad(path, "out of memory");
	if (fread(array->data, 1, array->bytes, f) != array->bytes) {
		npy_free(array);
		return bad(path, "fewer elements than its shape says");
	}
	return 0;
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
