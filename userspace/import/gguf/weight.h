/* SPDX-License-Identifier: MIT */
/* Matrices and vectors of a model, found by their names. */
#ifndef GGUF_WEIGHT_H
#define GGUF_WEIGHT_H

#include "../common/matrix.h"
#include "gguf.h"

/*
 * The heads of a matrix whose rows are reordered: pairs of neighbours among the rotated rows become
 * pairs of a row of the first half and one of the second. With count 0, rows keep their order.
 */
struct gguf_heads {
	uint32_t count, size, rotated;
};

/*
 * Reads the tensor of this name, which must be [columns, depth] in the file. Returns 0, or -1 with
 * a message; call import_matrix_exit() in both cases.
 */
int gguf_weight_init(struct import_matrix *matrix, const struct gguf *gguf, const char *name,
		     uint32_t depth, uint32_t columns, struct gguf_heads heads,
		     struct gguf_error *error);

/* Returns @count floats of a vector, which gguf_free() frees; NULL after a failure. */
float *gguf_vector(const struct gguf *gguf, const char *name, uint32_t count,
		   struct gguf_error *error);

#endif
