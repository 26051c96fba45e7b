/* SPDX-License-Identifier: MIT */
/*
 * Arrays in .npy files (of versions 1 to 3, any byte order, C or Fortran order), of all types of
 * WebNN except 4-bit ones; bool is read as uint8, float64 as float32, int16 and uint16 as int32
 * and uint32.
 */
#ifndef ONPU_TOOLS_NPY_H
#define ONPU_TOOLS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <webnn/webnn.h>

#define NPY_MAX_RANK 8

struct npy {
	WNNOperandDataType type;
	uint32_t rank;
	uint32_t dim[NPY_MAX_RANK];
	size_t count, bytes;
	void *data;	 /* allocated with malloc() */
	const char *was; /* type of the file, if it was converted: "float64", "int16", "uint16" */
	bool fortran;	 /* whether the file is in Fortran order */
	bool big_endian; /* whether the elements in the file are big endian */
};

/*
 * Reads a file. Returns 0, and npy_free() frees the elements; or -1 after a message on stderr that
 * names the file and what is wrong with it.
 */
int npy_load(struct npy *array, const char *path);
/* Reads an array from an open file; @path is for messages. Returns 0 or -1. */
int npy_read(struct npy *array, FILE *f, const char *path);
void npy_free(struct npy *array);

/* Writes an array, but none of a 4-bit type. Returns 0 or -1, like npy_load(). */
int npy_save(const struct npy *array, const char *path);

#endif
