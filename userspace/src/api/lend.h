/* SPDX-License-Identifier: MIT */
/* Memory that the application lends to the library. */
#ifndef WNN_API_LEND_H
#define WNN_API_LEND_H

#include "api/tensor.h"

/* Kernels read elements where they are, so they must be aligned. */
bool lend_aligned(const void *data, WNNOperandDataType type);

/* TypeError unless the memory can be the tensor's; @what begins the message. */
int lend_check(WNNTensor tensor, const WNNTensorHostMemory *memory, const char *what,
	       struct wnn_error *err);

/*
 * Whether the memory of an output overlaps that of another tensor of a dispatch; call it with the
 * context's lock held.
 */
bool lend_overlaps(WNNTensor const *tensors, uint32_t count, uint32_t output);

#endif
