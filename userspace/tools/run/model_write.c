// SPDX-License-Identifier: MIT
/* webnn-run: writes models as ONNX files. */
#include "model_write.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/folder.h>

#include "run.h"

/* ---- data in other files */

static const char *entry(const Onnx__TensorProto *tensor, const char *key)
{
	for (size_t i = 0; i < tensor->n_external_data; i++)
		if (!strcmp(tensor->external_data[i]->key, key))
			return tensor->external_data[i]->value;
	return NULL;
}

static int read_data(const char *path, const Onnx__TensorProto *tensor, uint8_t **data,
		     size_t *size)
{
	const char *offset = entry(tensor, "offset"), *length = entry(tensor, "length");
	uint64_t begin = offset ? strtoull(offset, NULL, 10) : 0, end;
	FILE *file = fopen(path, "rb");
	struct stat stat;
	bool good;

	if (!file || fstat(fileno(file), &stat)) {
		int error = errno;

		if (file)
			fclose(file);
		return complain(
			BAD_MODEL,
			"%s: this file, which holds the data of tensor \"%s\", cannot be opened: "
			"%s",
			path, tensor->name, strerror(error));
	}
	end = (uint64_t)stat.st_size;
	if (begin > end || (length && strtoull(length, NULL, 10) > end - begin)) {
		fclose(file);
		return complain(
			BAD_MODEL,
			"%s: the file is too short for the data of tensor \"%s\"; copy it again, "
			"or use the file of this model",
			path, tensor->name);
	}
	*size = length ? (size_t)strtoull(length, NULL, 10) : (size_t)(end - begin);
	*data = malloc(*size + 1);
	if (!*data) {
		fclose(file);
		return complain(
			BAD_DEVICE,
			"%s: too little memory is free for the %zu bytes of tensor \"%s\": end "
			"other programs, or raise the limit (ulimit -v)",
			path, *size, tensor->name);
	}
	good = !fseeko(file, (off_t)begin, SEEK_SET) && fread(*data, 1, *size, file) == *size;
	fclose(file);
	if (good)
		return DONE;
	free(*data);
	return complain(
		BAD_MODEL,
		"%s: the data of tensor \"%s\" cannot be read from this file: copy it again", path,
		tensor->name);
}

static int take_tensor(Onnx__TensorProto *tensor, const char *folder)
{
	const char *location = entry(tensor, "location");
	uint8_t *data = NULL;
	size_t size = 0;
	char *path;
	int ret;

	if (tensor->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
		return DONE;
	if (!location || !import_stays_below(location))
		return complain(
			BAD_MODEL,
			"tensor \"%s\" names no file for its data, or one by an absolute path or "
			"outside of the model's folder; save the model again with its data in its "
			"folder",
			tensor->name);
	if (asprintf(&path, "%s/%s", folder, location) < 0)
		return complain_memory(folder);
	ret = read_data(path, tensor, &data, &size);
	free(path);
	if (ret)
		return ret;
	for (size_t i = 0; i < tensor->n_external_data; i++)
		onnx__string_string_entry_proto__free_unpacked(tensor->external_data[i], NULL);
	free(tensor->external_data);
	tensor->external_data = NULL;
	tensor->n_external_data = 0;
	tensor->has_data_location = false;
	tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
	tensor->has_raw_data = true;
	tensor->raw_data = (ProtobufCBinaryData){ size, data };
	return DONE;
}

static int take_graph(const Onnx__GraphProto *graph, const char *folder)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < graph->n_initializer; i++)
		ret = take_tensor(graph->initializer[i], folder);
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; !ret && k < graph->node[i]->n_attribute; k++) {
			const Onnx__AttributeProto *attribute = graph->node[i]->attribute[k];

			if (attribute->t)
				ret = take_tensor(attribute->t, folder);
			if (!ret && attribute->g)
				ret = take_graph(attribute->g, folder);
		}
	return ret;
}

int model_take_data(Onnx__ModelProto *model, const char *from)
{
	char *copy = strdup(from);
	int ret = copy ? take_graph(model->graph, dirname(copy)) : complain_memory(from);

	free(copy);
	return ret;
}

/* ---- writing */

/* A buffer that writes to a file what the packer of protobuf-c appends to it. */
struct sink {
	ProtobufCBuffer base;
	FILE *file;
	bool failed;
};

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data)
{
	struct sink *sink = (struct sink *)buffer;

	sink->failed |= fwrite(data, 1, length, sink->file) != length;
}

int model_write(const Onnx__ModelProto *model, const char *path, size_t *size)
{
	struct sink sink = { .base.append = append };
	struct stat stat_of;
	char *part;
	int error;

	*size = onnx__model_proto__get_packed_size(model);
	if (*size > INT32_MAX)
		return complain(
			BAD_FILE,
			"%s: this file would have %zu bytes, but an ONNX file has at most "
			"2147483647; write it to the folder of the model, where it refers to the "
			"weights instead of holding them",
			path, *size);
	if (!stat(path, &stat_of) && !S_ISREG(stat_of.st_mode))
		return complain(
			BAD_FILE,
			"%s: --output names something here that is no regular file, such as a folder "
			"or a device; give a regular file or a new name",
			path);
	if (asprintf(&part, "%s.part", path) < 0)
		return complain_memory(path);
	sink.file = fopen(part, "wb");
	error = errno;
	if (sink.file) {
		onnx__model_proto__pack_to_buffer(model, &sink.base);
		sink.failed |= fflush(sink.file) != 0;
		error = errno;
		if ((fclose(sink.file) || sink.failed || rename(part, path)) && !sink.failed) {
			sink.failed = true;
			error = errno;
		}
		if (sink.failed)
			unlink(part);
	}
	free(part);
	if (!sink.file || sink.failed)
		return complain(BAD_FILE, "%s: cannot be written: %s", path, strerror(error));
	return DONE;
}
