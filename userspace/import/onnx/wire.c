// SPDX-License-Identifier: MIT
/* Rewrites a serialised model without its weights. */
#include "wire.h"

#include <string.h>

#include "../common/memory.h"

#define MAX_DEPTH   48
#define LENGTH_SIZE 5 /* bytes in which each length is written */

/* The fields that hold messages, by their numbers in onnx.proto. */
static const struct {
	enum onnx_message outer;
	uint32_t field;
	enum onnx_message inner;
} nesting[] = {
	{ ONNX_MODEL, 7, ONNX_GRAPH },	       { ONNX_MODEL, 25, ONNX_FUNCTION },
	{ ONNX_GRAPH, 1, ONNX_NODE },	       { ONNX_GRAPH, 5, ONNX_TENSOR },
	{ ONNX_GRAPH, 11, ONNX_VALUE_INFO },   { ONNX_GRAPH, 12, ONNX_VALUE_INFO },
	{ ONNX_GRAPH, 13, ONNX_VALUE_INFO },   { ONNX_GRAPH, 15, ONNX_SPARSE },
	{ ONNX_NODE, 5, ONNX_ATTRIBUTE },      { ONNX_ATTRIBUTE, 5, ONNX_TENSOR },
	{ ONNX_ATTRIBUTE, 6, ONNX_GRAPH },     { ONNX_ATTRIBUTE, 10, ONNX_TENSOR },
	{ ONNX_ATTRIBUTE, 11, ONNX_GRAPH },    { ONNX_ATTRIBUTE, 14, ONNX_TYPE },
	{ ONNX_ATTRIBUTE, 15, ONNX_TYPE },     { ONNX_ATTRIBUTE, 22, ONNX_SPARSE },
	{ ONNX_ATTRIBUTE, 23, ONNX_SPARSE },   { ONNX_SPARSE, 1, ONNX_TENSOR },
	{ ONNX_SPARSE, 2, ONNX_TENSOR },       { ONNX_FUNCTION, 7, ONNX_NODE },
	{ ONNX_FUNCTION, 11, ONNX_ATTRIBUTE }, { ONNX_FUNCTION, 12, ONNX_VALUE_INFO },
	{ ONNX_VALUE_INFO, 2, ONNX_TYPE },     { ONNX_TYPE, 4, ONNX_INNER_TYPE },
	{ ONNX_TYPE, 5, ONNX_INNER_TYPE },     { ONNX_TYPE, 9, ONNX_INNER_TYPE },
	{ ONNX_INNER_TYPE, 1, ONNX_TYPE },     { ONNX_INNER_TYPE, 2, ONNX_TYPE },
};

#define FIELD_TRAINING 20 /* field of ONNX_MODEL with training data, which is dropped */
#define FIELD_RAW_DATA 9  /* field of ONNX_TENSOR */

struct slimmer {
	const uint8_t *begin;
	uint8_t *out;
	size_t used, room;
	const char *wrong; /* how the message is damaged; NULL: it is not */
};

static WNNStatus damaged(struct slimmer *s, const char *what)
{
	s->wrong = what;
	return WNNStatus_OperationError;
}

static uint8_t *grow(struct slimmer *s, size_t more)
{
	if (s->room - s->used < more) {
		size_t room = (s->used + more) * 2;
		uint8_t *out = import_realloc(s->out, room);

		if (!out)
			return NULL;
		s->out = out;
		s->room = room;
	}
	s->used += more;
	return s->out + s->used - more;
}

static WNNStatus put(struct slimmer *s, const void *data, size_t size)
{
	uint8_t *out = grow(s, size);

	if (!out)
		return WNNStatus_UnknownError;
	memcpy(out, data, size);
	return WNNStatus_Success;
}

size_t onnx_wire_number(const uint8_t *data, size_t size, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < size && i < 10; i++) {
		*value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		if (!(data[i] & 0x80))
			return i + 1;
	}
	return 0;
}

static void put_length(uint8_t *out, size_t length)
{
	for (int i = 0; i < LENGTH_SIZE; i++)
		out[i] = (uint8_t)((length >> (7 * i) & 0x7f) | (i < LENGTH_SIZE - 1 ? 0x80 : 0));
}

static int inner_kind(enum onnx_message outer, uint64_t field)
{
	for (size_t i = 0; i < sizeof(nesting) / sizeof(nesting[0]); i++)
		if (nesting[i].outer == outer && nesting[i].field == field)
			return (int)nesting[i].inner;
	return -1;
}

static WNNStatus slim(struct slimmer *s, enum onnx_message kind, const uint8_t *data, size_t size,
		      int depth);

/*
 * Writes the slim form of a field with a length: its tag of @tag_size bytes, the new length, then
 * the slim form of the @length bytes at @data. Fields for training are left out. Returns an error
 * when memory is exhausted, or when the bytes are damaged.
 */
static WNNStatus slim_field(struct slimmer *s, enum onnx_message kind, uint64_t tag,
			    const uint8_t *tag_bytes, size_t tag_size, const uint8_t *data,
			    size_t length, int depth)
{
	int inner = inner_kind(kind, tag >> 3);
	size_t length_at, begin;
	WNNStatus status;

	if (kind == ONNX_MODEL && tag >> 3 == FIELD_TRAINING)
		return WNNStatus_Success;
	status = put(s, tag_bytes, tag_size);
	length_at = s->used;
	if (status != WNNStatus_Success || !grow(s, LENGTH_SIZE))
		return WNNStatus_UnknownError;
	begin = s->used;
	if (kind == ONNX_TENSOR && tag >> 3 == FIELD_RAW_DATA) {
		struct onnx_span span = { (uint64_t)(data - s->begin), length };

		status = put(s, &span, sizeof(span));
	} else if (inner >= 0) {
		status = slim(s, (enum onnx_message)inner, data, length, depth + 1);
	} else {
		status = put(s, data, length);
	}
	if (status != WNNStatus_Success)
		return status;
	if (s->used - begin > INT32_MAX)
		return damaged(s, "a message in it has more than 2 GiB, even without its weights");
	put_length(s->out + length_at, s->used - begin);
	return WNNStatus_Success;
}

static WNNStatus slim(struct slimmer *s, enum onnx_message kind, const uint8_t *data, size_t size,
		      int depth)
{
	size_t at = 0;

	if (depth > MAX_DEPTH)
		return damaged(s, "messages are nested too deeply");
	while (at < size) {
		size_t begin = at, tag_size, used;
		uint64_t tag, value;
		WNNStatus status;

		tag_size = onnx_wire_number(data + at, size - at, &tag);
		if (!tag_size || tag >> 3 == 0 || tag >> 32)
			return damaged(s, "a field has no valid number");
		at += tag_size;
		if ((tag & 7) == 2 || (tag & 7) == 0) {
			used = onnx_wire_number(data + at, size - at, &value);
			if (!used)
				return damaged(s, size - at < 10 ?
							  "it ends within a number" :
							  "a number has more than 10 bytes");
			at += used;
		} else if ((tag & 7) == 1 || (tag & 7) == 5) {
			value = (tag & 7) == 1 ? 8 : 4;
			if (size - at < value)
				return damaged(s, "it ends within a number");
			at += value;
		} else {
			return damaged(s, "a field is of an unknown kind");
		}
		if ((tag & 7) != 2) {
			status = put(s, data + begin, at - begin);
		} else if (value > size - at) {
			return damaged(s, "a field is longer than the message around it");
		} else {
			status = slim_field(s, kind, tag, data + begin, tag_size, data + at,
					    (size_t)value, depth);
			at += (size_t)value;
		}
		if (status != WNNStatus_Success)
			return status;
	}
	return WNNStatus_Success;
}

WNNStatus onnx_wire_slim(enum onnx_message kind, const uint8_t *data, size_t size, uint8_t **out,
			 size_t *out_size, const char **wrong)
{
	struct slimmer s = { .begin = data };
	WNNStatus status;

	*wrong = NULL;
	if (!grow(&s, 1))
		return WNNStatus_UnknownError;
	s.used = 0;
	status = slim(&s, kind, data, size, 0);
	if (status != WNNStatus_Success) {
		import_free(s.out);
		*wrong = s.wrong;
		return status;
	}
	*out = s.out;
	*out_size = s.used;
	return WNNStatus_Success;
}
