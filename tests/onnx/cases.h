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

/* Reads a TensorProto, or with @sequence a SequenceProto or OptionalProto; false: it is neither. */
bool pb_read(const char *path, WNNOnnxKind kind, struct pb_values *values);
void pb_free(struct pb_values *values);
/* Whether two tensors are the same up to rounding, integers up to @steps; else says in @why where they differ. */
bool pb_same(const struct pb_tensor *want, const void *got, size_t size, double relative,
	     double absolute, int64_t steps, char *why, size_t room);
/* The largest element minus the smallest; the largest magnitude when all are equal. */
double pb_range(const struct pb_tensor *tensor);

#endif
