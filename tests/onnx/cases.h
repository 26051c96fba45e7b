/* SPDX-License-Identifier: MIT */
/* Runs models on recorded inputs and compares with recorded outputs. */
#ifndef TESTS_ONNX_CASES_H
#define TESTS_ONNX_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <webnn/onnx.h>

#define MAX_VALUES 64

/*
 * A tensor of a .pb file. Its elements are dense and have the type of the file, two of 4 bits in a
 * byte.
 */
struct pb_tensor {
	int type; /* type number of ONNX */
	uint32_t rank;
	uint32_t shape[16];
	uint8_t *data;
	size_t size;
};

struct pb_values {
	size_t count; /* number of tensors; a sequence has several */
	bool sequence;
	struct pb_tensor items[MAX_VALUES];
};

/*
 * Reads a TensorProto, a SequenceProto or an OptionalProto: the kind of @info says which. Returns
 * false when the file holds no such message. The caller frees @values with pb_free().
 */
bool pb_read(const char *path, const WNNOnnxValueInfo *info, struct pb_values *values);
/* Returns whether a tensor has finite doubles that float32, which replaces double, cannot hold. */
bool pb_is_beyond(const struct pb_tensor *tensor);
void pb_free(struct pb_values *values);
/*
 * Returns the elements for a graph, in another type that carries them when WebNN lacks the type.
 * The caller frees them; *size becomes their bytes.
 */
uint8_t *pb_to_graph(const struct pb_tensor *tensor, size_t *size);
/*
 * Returns a graph's result as elements of the type of @want, which the caller frees; sets *size to
 * their bytes.
 */
uint8_t *pb_from_graph(const struct pb_tensor *want, const void *data, size_t *size);
/*
 * Returns whether two tensors are equal up to rounding, integers up to @steps; otherwise @why says
 * where they differ.
 */
bool pb_same(const struct pb_tensor *want, const void *got, size_t size, double relative,
	     double absolute, int64_t steps, char *why, size_t room);
/*
 * Returns the relative tolerance: for bfloat16, as in ONNX's own runner, and float16 it is at least
 * two steps of the type, as recorded results of several nodes were rounded once for each node.
 */
double pb_relative(const struct pb_tensor *tensor, double relative);
/*
 * Returns the largest finite element minus the smallest; the largest magnitude when all are equal.
 */
double pb_range(const struct pb_tensor *tensor);

#endif
