/* SPDX-License-Identifier: MIT */
/*
 * Removes the weights from a serialised model before it is unpacked, so that they are not copied:
 * the raw_data of each tensor is replaced by its offset and size in the file. Also bounds the
 * nesting depth of messages.
 */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <webnn/webnn.h>

/* Stands in place of a tensor's raw_data: the range in the file, in the byte order of the host. */
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

/*
 * Sets *out to the slim form of a message of kind @kind, which the caller frees with import_free(),
 * and *out_size to its bytes. After a failure *wrong says what is damaged in @data; NULL: memory is
 * exhausted. Sets no last error, because programs contain this function, too.
 */
WNNStatus onnx_wire_slim(enum onnx_message kind, const uint8_t *data, size_t size, uint8_t **out,
			 size_t *out_size, const char **wrong);

/*
 * Reads a number of protobuf (varint), which takes at most 10 bytes. Returns how many bytes it
 * takes; 0 when there is no such number.
 */
size_t onnx_wire_number(const uint8_t *data, size_t size, uint64_t *value);

#endif
