/* SPDX-License-Identifier: MIT */
/* Mapped files and lent memory, which live as long as the model or a graph reads from them. */
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
	bool copied; /* from the caller's memory instead of mapped */
	bool lent;   /* all memory of the caller, from address 0 on, until release() runs */
	WNNReleaseConstantCallback release;
	void *userdata1, *userdata2;
	char *name;
	struct onnx_file *next; /* of the same model */
};

/* Maps a file or copies memory; the last error says why not. */
WNNStatus onnx_file_open(const char *name, struct onnx_file **file);
WNNStatus onnx_file_lend(WNNReleaseConstantCallback release, void *userdata1, void *userdata2,
			 struct onnx_file **file);
WNNStatus onnx_file_copy(const void *data, size_t size, struct onnx_file **file);
/* The process needs no memory for this part of a mapped file for now. */
void onnx_file_forget(struct onnx_file *file, const void *data, size_t size);
void onnx_file_get(struct onnx_file *file);
void onnx_file_put(struct onnx_file *file); /* on any thread */

#endif
