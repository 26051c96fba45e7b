// SPDX-License-Identifier: MIT
/* webnn-run: reads a model's file itself, for information that the library does not give. */
#include "model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

int model_file_load(const char *path, Onnx__ModelProto **model)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat stat;

	*model = NULL;
	if (fd >= 0 && !fstat(fd, &stat))
		bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return complain(BAD_MODEL, "%s: %s", path, strerror(error));
	}
	*model = onnx__model_proto__unpack(NULL, (size_t)stat.st_size, bytes);
	munmap(bytes, (size_t)stat.st_size);
	close(fd);
	if (*model && (*model)->graph)
		return DONE;
	return complain(
		BAD_MODEL,
		"%s: this file is not an ONNX model or is cut off, or too little memory is free to "
		"read it",
		path);
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
