/* SPDX-License-Identifier: MIT */
/* The types of GGUF's tensors, and how their blocks are unpacked. */
#ifndef GGUF_TYPE_H
#define GGUF_TYPE_H

#include "gguf.h"

/* Most elements and most scales that a block has. */
#define GGUF_MAX_BLOCK	256
#define GGUF_MAX_SCALES 16

/* A block whose element i is scale[i / group] * number[i] + offset[i / group]. */
struct gguf_block {
	int8_t number[GGUF_MAX_BLOCK];
	float scale[GGUF_MAX_SCALES], offset[GGUF_MAX_SCALES];
};

struct gguf_type {
	uint32_t number; /* as in the file */
	const char *name;
	uint32_t elements, bytes; /* of a block */
	/* For types of integers with scales, what unpack() gives; else 0 and NULL. */
	uint32_t group;	     /* elements with the same scale */
	int lowest, highest; /* the range of the numbers */
	bool offsets;	     /* whether an offset may be other than 0 */
	void (*unpack)(const uint8_t *bytes, struct gguf_block *block);
	/* For types of floats, what gives the value of an element; else NULL. */
	float (*element)(const uint8_t *bytes);
};

/* Returns NULL for a number that no known type has. */
const struct gguf_type *gguf_type(uint32_t number);

/* Whether gguf_dequantise() can read the type. */
bool gguf_type_is_read(const struct gguf_type *type);

/*
 * Writes @count elements as floats, beginning at element @first; both are whole blocks of the type.
 * The type is one that gguf_type_is_read() accepts.
 */
void gguf_dequantise(const struct gguf_type *type, const uint8_t *data, uint64_t first,
		     uint64_t count, float *values);

#endif
