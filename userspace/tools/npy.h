/* SPDX-License-Identifier: MIT */
/*
 * Arrays in .npy files (versions 1.0 and 2.0, little endian, C order) of the types that WebNN has
 * but for those of 4 bits; bool is read as uint8.
 */
#ifndef ONPU_TOOLS_NPY_H
#define ONPU_TOOLS_NPY_H

#include <stddef.h>
#include <stdint.h>

#include <webnn/webnn.h>

#define NPY_MAX_RANK 8

struct npy {
	WNNOperandDataType type;
	uint32_t rank;
	uint32_t dim[NPY_MAX_RANK];
	size_t count, bytes;
	void *data; /* malloc'ed */
};

/* Returns 0, or -1 after a message on stderr that names the file and what is wrong with it. */
int npy_load(struct npy *array, const char *path);
void npy_free(struct npy *array);

/* As npy_load(). */
int npy_save(const struct npy *array, const char *path);

#endif
