/* SPDX-License-Identifier: MIT */
/* Memory of the application in which tensors and constants lie. */
#ifndef WNN_API_LEND_H
#define WNN_API_LEND_H

#include "api/tensor.h"

/* Whether memory is aligned for elements of a type, as kernels need it. */
bool lend_aligned(const void *data, WNNOperandDataType type);

/*
 * Checks that a tensor can be in this memory. Returns 0, or -1 with TypeError. @what begins the
 * message.
 */
int lend_check(WNNTensor tensor, const WNNTensorHostMemory *memory, const char *what,
	       struct wnn_error *err);

/*
 * Whether the memory of tensors[output] overlaps that of another tensor. An input that the output
 * updates may have the tensor of the output, which then does not count as another one. Call it with
 * the context's lock held.
 */
bool lend_overlaps(WNNTensor const *tensors, uint32_t count, uint32_t output);

#endif
