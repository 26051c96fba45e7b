/* SPDX-License-Identifier: MIT */
/* webnn-run: values of inputs and outputs of any type. */
#ifndef ONPU_TOOLS_RUN_VALUE_H
#define ONPU_TOOLS_RUN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <webnn/webnn.h>

#define VALUE_MAX_RANK 8

struct value {
	char *name;
	WNNOperandDataType type;
	uint32_t rank, shape[VALUE_MAX_RANK];
	size_t count, size; /* number of elements; bytes */
	void *data;
	const char *was; /* type of its file, if the elements were converted, else NULL */
	bool missing;	 /* the value was not given, but may not be needed */
	bool given;	 /* given by the user: it may become a constant */
};

/*
 * Makes a value with all elements 0. Returns 0, or -1 when memory is exhausted, @rank is above
 * VALUE_MAX_RANK, or there are more than INT32_MAX elements.
 */
int value_init(struct value *value, WNNStringView name, WNNOperandDataType type, uint32_t rank,
	       const uint32_t *shape);
/*
 * Makes a value like value_init(), but reports a failure by a message that begins with @about.
 * Returns DONE, BAD_DEVICE when memory is exhausted, or else @code.
 */
int value_make(struct value *value, int code, const char *about, WNNStringView name,
	       WNNOperandDataType type, uint32_t rank, const uint32_t *shape);
void value_exit(struct value *value);

bool value_is_float(const struct value *value);
/*
 * Return and set an element. value_get() rounds 64-bit integers to double; value_set() rounds to a
 * number that the type has, and clamps to the range of an integer type (for uint64 to that from 0
 * to the largest int64).
 */
double value_get(const struct value *value, size_t index);
void value_set(struct value *value, size_t index, double number);

/* Fills in random numbers from -1 to 1; integers are 0 or 1, mostly valid as indices, too. */
void value_randomise(struct value *value, uint64_t seed);

/* Write a text such as "float32 [1, 3, 224, 224]". */
void value_describe(const struct value *value, char *text, size_t room);
void describe_type(WNNOperandDataType type, uint32_t rank, const uint32_t *shape, char *text,
		   size_t room);

/* Prints all elements, a line for each row. */
void value_print(const struct value *value, FILE *file);

#endif
