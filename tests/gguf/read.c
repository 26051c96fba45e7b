// SPDX-License-Identifier: MIT
/*
 * Reads a file of GGUF for tests: gguf-read values FILE TENSOR writes the elements of a tensor as
 * floats.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gguf/type.h>

static int values(const struct gguf *gguf, const char *name)
{
	const struct gguf_tensor *tensor = gguf_tensor(gguf, name);
	float *data;

	if (!tensor || !gguf_type_is_read(tensor->type)) {
		fprintf(stderr, "there is no such tensor, or its type is not read\n");
		return 1;
	}
	data = calloc(tensor->elements, sizeof(*data));
	if (!data)
		return 1;
	gguf_dequantise(tensor->type, tensor->data, 0, tensor->elements, data);
	fwrite(data, sizeof(*data), tensor->elements, stdout);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	struct gguf_error error;
	struct gguf gguf;
	int ret = 1;

	if (argc < 4)
		return 64;
	if (gguf_open(&gguf, argv[2], &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 2;
	}
	if (!strcmp(argv[1], "values"))
		ret = values(&gguf, argv[3]);
	gguf_close(&gguf);
	return ret;
}
