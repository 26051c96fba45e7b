/* SPDX-License-Identifier: MIT */
/* Mapped files and lent memory. They live as long as the model or a graph reads from them. */
#ifndef ONNX_FILE_H
#define ONNX_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <webnn/webnn_npu.h>

struct onnx_file {
	atomic_uint references;
	const uint8_t *data;
	size_t size;
	bool copied; /* data is a copy of the caller's memory, not a mapping */
	/* data is the caller's memory, with offsets from address 0, until release() runs */
	bool lent;
	WNNReleaseConstantCallback release;
	void *userdata1, *userdata2;
	char *name;
	/* device, inode, size, and times of the last change of contents and of the inode */
	uint64_t identity[5];
	struct onnx_file *next; /* the next file of the same model */
};

/*
 * Each sets *file to an object with one reference: onnx_file_open() maps a file, which is a model
 * or, if not @is_model, holds tensors of one; onnx_file_lend() makes an object for memory that the
 * caller lends, onnx_file_copy() copies memory. They return WNNStatus_Success; after a failure the
 * last error has the reason.
 */
WNNStatus onnx_file_open(const char *name, bool is_model, struct onnx_file **file);
WNNStatus onnx_file_lend(WNNReleaseConstantCallback release, void *userdata1, void *userdata2,
			 struct onnx_file **file);
WNNStatus onnx_file_copy(const void *data, size_t size, struct onnx_file **file);
/* Tells the kernel that a range of a mapped file need not stay in memory for now. */
void onnx_file_forget(struct onnx_file *file, const void *data, size_t size);
void onnx_file_get(struct onnx_file *file);
void onnx_file_put(struct onnx_file *file); /* may run on any thread */

#endif
