/* SPDX-License-Identifier: MIT */
/* The types of the tensors of ggml and of files of GGUF, and how their blocks are unpacked. */
#ifndef IMPORT_COMMON_BLOCKS_H
#define IMPORT_COMMON_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Most elements and most scales that a block has. */
#define IMPORT_MAX_BLOCK  256
#define IMPORT_MAX_SCALES 16

/* A block whose element i is scale[i / group] * number[i] + offset[i / group]. */
struct import_block {
	int8_t number[IMPORT_MAX_BLOCK];
	float scale[IMPORT_MAX_SCALES], offset[IMPORT_MAX_SCALES];
};

struct import_block_type {
	uint32_t number; /* the number of the type in a file */
	const char *name;
	uint32_t elements, bytes; /* number of elements and of bytes of a block */
	/*
	 * For types of integers with scales: the form of what unpack() returns; otherwise 0 and
	 * NULL.
	 */
	uint32_t group;	     /* elements with the same scale */
	int lowest, highest; /* the range of the numbers */
	bool offsets;	     /* whether an offset may be other than 0 */
	void (*unpack)(const uint8_t *bytes, struct import_block *block);
	/* For types of floats: returns the value of an element; otherwise NULL. */
	float (*element)(const uint8_t *bytes);
};

/* Returns the type that has @number in files; NULL: no known type has it. */
const struct import_block_type *import_block_type(uint32_t number);
/* Returns the type with a name, such as "Q4_K", in letters of any case; NULL: there is none. */
const struct import_block_type *import_block_named(const char *name);

/* Returns whether import_blocks_read() can read the type. */
bool import_block_is_read(const struct import_block_type *type);

/*
 * Writes @count elements as floats, beginning at element @first; both are multiples of the number
 * of elements of a block. The type is one that import_block_is_read() accepts.
 */
void import_blocks_read(const struct import_block_type *type, const uint8_t *data, uint64_t first,
			uint64_t count, float *values);

#endif
