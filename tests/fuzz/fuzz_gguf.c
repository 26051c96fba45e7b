// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the reader of GGUF: the input is a file. What is read without an error has all its
 * keys, strings and tensors inside of the file.
 */
#include <stdlib.h>
#include <string.h>

#include <gguf/type.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all bytes, so that a sanitizer finds those that are outside. */
static unsigned int sum(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	unsigned int total = 0;

	for (size_t i = 0; i < size; i++)
		total += bytes[i];
	return total;
}

static unsigned int look(const struct gguf *gguf)
{
	static float values[GGUF_MAX_BLOCK];
	struct gguf_error error;
	unsigned int total = 0;

	for (size_t i = 0; i < gguf->key_count; i++) {
		const struct gguf_key *key = &gguf->keys[i];
		char name[200];
		size_t count = 0;
		struct gguf_text *texts;

		if (key->name.size >= sizeof(name))
			continue;
		memcpy(name, key->name.data, key->name.size);
		name[key->name.size] = 0;
		texts = gguf_strings(gguf, name, &count, &error);
		for (size_t k = 0; texts && k < count; k++)
			total += sum(texts[k].data, texts[k].size);
		gguf_free(texts);
	}
	for (size_t i = 0; i < gguf->tensor_count; i++) {
		const struct gguf_tensor *tensor = &gguf->tensors[i];

		total += sum(tensor->data, tensor->bytes);
		if (gguf_type_is_read(tensor->type))
			gguf_dequantise(tensor->type, tensor->data,
					tensor->elements - tensor->type->elements,
					tensor->type->elements, values);
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Memory of exactly this size, so that reading behind it is found. */
	uint8_t *copy = malloc(size ? size : 1);
	volatile unsigned int total;
	struct gguf_error error;
	struct gguf gguf;

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (!gguf_read(&gguf, copy, size, &error)) {
		total = look(&gguf);
		(void)total;
		gguf_close(&gguf);
	}
	free(copy);
	return 0;
}
