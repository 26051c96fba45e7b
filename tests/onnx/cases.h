/* SPDX-License-Identifier: MIT */
/* Running models on recorded inputs and comparing with recorded outputs. */
#ifndef TESTS_ONNX_CASES_H
#define TESTS_ONNX_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <webnn/onnx.h>

#define MAX_VALUES 64

/* A tensor of a .pb file: the elements as WebNN has them. */
struct pb_tensor {
	int type; /* of ONNX */
	uint32_t rank;
	uint32_t shape[16];
	uint8_t *data;
	size_t size;
};

struct pb_values {
	size_t count; /* of items; a sequence has several */
	bool sequence;
	struct pb_tensor items[MAX_VALUES];
};

/* Reads a TensorProto, a SequenceProto or an OptionalProto, as the kind of @info says; false: it is none. */
bool pb_read(const char *path, const WNNOnnxValueInfo *info, struct pb_values *values);
/* Whether it has finite numbers that float32, which stands for double, cannot hold. */
bool pb_is_beyond(const struct pb_tensor *tensor);
void pb_free(struct pb_values *values);
/* Elements as a graph has them, in the carrier of a type that WebNN has not; to be freed. */
uint8_t *pb_to_graph(const struct pb_tensor *tensor, size_t *size);
/* Converts a graph's result to elements of the type of @want; the caller frees it. */
uint8_t *pb_from_graph(const struct pb_tensor *want, const void *data, size_t *size);
/* Whether two tensors are the same up to rounding, integers up to @steps; else says in @why where they differ. */
bool pb_same(const struct pb_tensor *want, const void *got, size_t size, double relative,
	     double absolute, int64_t steps, char *why, size_t room);
/*
 * A relative tolerance, which is at least two steps of bfloat16 for that, as in ONNX's own runner, and
 * of float16: recorded results of several nodes have been rounded as often.
 */
double pb_relative(const struct pb_tensor *tensor, double relative);
/* The largest finite element minus the smallest; the largest magnitude when all are equal. */
double pb_range(const struct pb_tensor *tensor);

#endif
