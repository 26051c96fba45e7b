/* SPDX-License-Identifier: MIT */
/*
 * Takes the weights out of a serialised model before it is unpacked, so that they are not copied:
 * the raw_data of every tensor becomes its place in the file. It also bounds the depth of messages.
 */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <webnn/webnn.h>

/*
 * Replaces the bytes of a tensor's raw_data: their place in the file, as two numbers in the byte
 * order of the host.
 */
struct onnx_span {
	uint64_t offset, size;
};

enum onnx_message {
	ONNX_MODEL,
	ONNX_TENSOR,
	ONNX_GRAPH,
	ONNX_NODE,
	ONNX_ATTRIBUTE,
	ONNX_SPARSE,
	ONNX_FUNCTION,
	ONNX_VALUE_INFO,
	ONNX_TYPE,
	ONNX_INNER_TYPE
};

/* out is freed with import_free(). */
WNNStatus onnx_wire_slim(enum onnx_message kind, const uint8_t *data, size_t size, uint8_t **out,
			 size_t *out_size);

#endif
