// SPDX-License-Identifier: MIT
/* webnn-run: reads a model's file itself, for information that the library does not give. */
#include "model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/memory.h>
#include <onnx/wire.h>

#include "run.h"

/*
 * Returns the mapped file, or MAP_FAILED with errno; for a folder that is EISDIR, for an empty file
 * ENODATA.
 */
static void *map(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	void *bytes = MAP_FAILED;
	struct stat stat;

	if (fd < 0)
		return bytes;
	if (!fstat(fd, &stat)) {
		*size = (size_t)stat.st_size;
		errno = S_ISDIR(stat.st_mode) ? EISDIR : ENODATA;
		if (*size && !S_ISDIR(stat.st_mode))
			bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	error = errno;
	close(fd);
	errno = error;
	return bytes;
}

int model_file_load(const char *path, Onnx__ModelProto **model)
{
	size_t size;
	void *bytes = map(path, &size);

	*model = NULL;
	if (bytes == MAP_FAILED)
		return complain(errno == ENOMEM ? BAD_DEVICE : BAD_MODEL, "%s: %s", path,
				strerror(errno));
	*model = onnx__model_proto__unpack(NULL, size, bytes);
	munmap(bytes, size);
	if (*model && (*model)->graph)
		return DONE;
	return complain(
		BAD_MODEL,
		"%s: this file is not an ONNX model or is cut off, or too little memory is free to "
		"read it",
		path);
}

/* ---- a model whose weights stay in the file */

/* The fewest bytes of a weight that stays in the file. */
#define LARGE 1024

struct placing {
	const uint8_t *bytes; /* of the file */
	const char *name;     /* of the file, without its folder */
	bool full;	      /* memory is exhausted */
};

static Onnx__StringStringEntryProto *make_entry(const char *key, const char *value)
{
	Onnx__StringStringEntryProto *entry = malloc(sizeof(*entry));

	if (!entry)
		return NULL;
	onnx__string_string_entry_proto__init(entry);
	entry->key = strdup(key);
	entry->value = strdup(value);
	if (entry->key && entry->value)
		return entry;
	onnx__string_string_entry_proto__free_unpacked(entry, NULL);
	return NULL;
}

/* Makes the data of a tensor external data, in the file that it comes from. */
static void refer(struct placing *p, Onnx__TensorProto *tensor, struct onnx_span span)
{
	const char *const keys[] = { "location", "offset", "length" };
	char offset[24], length[24];
	const char *const values[] = { p->name, offset, length };

	/* A damaged file may have entries, too. */
	for (size_t i = 0; i < tensor->n_external_data; i++)
		onnx__string_string_entry_proto__free_unpacked(tensor->external_data[i], NULL);
	free(tensor->external_data);
	tensor->n_external_data = 0;
	snprintf(offset, sizeof(offset), "%" PRIu64, span.offset);
	snprintf(length, sizeof(length), "%" PRIu64, span.size);
	tensor->external_data = calloc(3, sizeof(Onnx__StringStringEntryProto *));
	p->full |= !tensor->external_data;
	for (size_t i = 0; i < 3 && !p->full; i++) {
		tensor->external_data[i] = make_entry(keys[i], values[i]);
		if (tensor->external_data[i])
			tensor->n_external_data++;
		else
			p->full = true;
	}
	tensor->has_data_location = true;
	tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/*
 * Gives a tensor its data again, where onnx_wire_slim() has left a struct onnx_span, the place of
 * the data in the file. With @large, data of LARGE bytes and more stay in the file, and the tensor
 * refers to them.
 */
static void place_tensor(struct placing *p, Onnx__TensorProto *tensor, bool large)
{
	struct onnx_span span;

	if (!tensor || !tensor->has_raw_data || tensor->raw_data.len != sizeof(span))
		return;
	memcpy(&span, tensor->raw_data.data, sizeof(span));
	free(tensor->raw_data.data);
	tensor->raw_data = (ProtobufCBinaryData){ 0 };
	if (large && span.size >= LARGE) {
		tensor->has_raw_data = false;
		refer(p, tensor, span);
		return;
	}
	tensor->raw_data.data = malloc(span.size + 1);
	if (!tensor->raw_data.data) {
		p->full = true;
		return;
	}
	memcpy(tensor->raw_data.data, p->bytes + span.offset, span.size);
	tensor->raw_data.len = span.size;
}

static void place_sparse(struct placing *p, Onnx__SparseTensorProto *sparse)
{
	if (!sparse)
		return;
	place_tensor(p, sparse->values, false);
	place_tensor(p, sparse->indices, false);
}

static void place_graph(struct placing *p, Onnx__GraphProto *graph);

static void place_attribute(struct placing *p, Onnx__AttributeProto *attribute)
{
	place_tensor(p, attribute->t, false);
	place_sparse(p, attribute->sparse_tensor);
	if (attribute->g)
		place_graph(p, attribute->g);
	for (size_t i = 0; i < attribute->n_tensors; i++)
		place_tensor(p, attribute->tensors[i], false);
	for (size_t i = 0; i < attribute->n_sparse_tensors; i++)
		place_sparse(p, attribute->sparse_tensors[i]);
	for (size_t i = 0; i < attribute->n_graphs; i++)
		place_graph(p, attribute->graphs[i]);
}

static void place_nodes(struct placing *p, Onnx__NodeProto **nodes, size_t count)
{
	for (size_t n = 0; n < count; n++)
		for (size_t i = 0; i < nodes[n]->n_attribute; i++)
			place_attribute(p, nodes[n]->attribute[i]);
}

static void place_graph(struct placing *p, Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_initializer; i++)
		place_tensor(p, graph->initializer[i], true);
	for (size_t i = 0; i < graph->n_sparse_initializer; i++)
		place_sparse(p, graph->sparse_initializer[i]);
	place_nodes(p, graph->node, graph->n_node);
}

static void place_model(struct placing *p, Onnx__ModelProto *model)
{
	if (model->graph)
		place_graph(p, model->graph);
	for (size_t f = 0; f < model->n_functions; f++) {
		Onnx__FunctionProto *function = model->functions[f];

		place_nodes(p, function->node, function->n_node);
		for (size_t i = 0; i < function->n_attribute_proto; i++)
			place_attribute(p, function->attribute_proto[i]);
	}
}

int model_file_refer(const char *path, Onnx__ModelProto **model, struct gguf_error *error)
{
	const char *slash = strrchr(path, '/'), *wrong;
	struct placing p = { .name = slash ? slash + 1 : path };
	size_t size, slim_size;
	void *bytes = map(path, &size);
	WNNStatus status;
	uint8_t *slim;

	*model = NULL;
	if (bytes == MAP_FAILED && errno == ENOMEM)
		return gguf_fail_memory(error);
	if (bytes == MAP_FAILED)
		return gguf_fail(error, "%s", strerror(errno));
	p.bytes = bytes;
	status = onnx_wire_slim(ONNX_MODEL, bytes, size, &slim, &slim_size, &wrong);
	if (status == WNNStatus_Success) {
		*model = onnx__model_proto__unpack(NULL, slim_size, slim);
		import_free(slim);
		if (*model)
			place_model(&p, *model);
	}
	munmap(bytes, size);
	if (p.full || status == WNNStatus_UnknownError)
		return gguf_fail_memory(error);
	return *model && (*model)->graph ?
		       0 :
		       gguf_fail(error, "it is not a model of ONNX, or memory is exhausted");
}

int complain_model(const char *path, const struct gguf_error *error)
{
	return complain(error->machine ? BAD_DEVICE : BAD_MODEL, "%s: %s", path, error->text);
}

void model_file_free(Onnx__ModelProto *model)
{
	if (model)
		onnx__model_proto__free_unpacked(model, NULL);
}

const char *node_label(const Onnx__NodeProto *node)
{
	if (node->name && *node->name)
		return node->name;
	return node->n_output && node->output[0] ? node->output[0] : "";
}
