// SPDX-License-Identifier: MIT
/*
 * Fuzz target of language models: the input is a file of GGUF. A file that is read without an error
 * has all its keys, strings and tensors inside of it; its tokenizer turns a text into tokens and
 * back, and its weights are packed. No graph is built.
 */
#include <stdlib.h>
#include <string.h>

#include <gguf/chat.h>
#include <gguf/llama.h>
#include <gguf/vocabulary.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the sum of all bytes: reads each, so that a sanitizer reports one out of bounds. */
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
	static float values[IMPORT_MAX_BLOCK];
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
		if (import_block_is_read(tensor->type))
			import_blocks_read(tensor->type, tensor->data,
					   tensor->elements - tensor->type->elements,
					   tensor->type->elements, values);
	}
	return total;
}

/* Encodes a text, and a conversation in the form of the file's template. */
static void encode(const struct gguf *gguf, const struct gguf_vocabulary *v, struct gguf_text text,
		   struct gguf_tokens *tokens)
{
	struct gguf_error error;
	size_t size;
	static const struct gguf_message messages[] = {
		{ GGUF_USER, { "a", 1 } },
		{ GGUF_ASSISTANT, { "b", 1 } },
		{ GGUF_USER, { "", 0 } },
	};
	char *chat = gguf_chat(gguf, messages, 3, &size, &error);

	gguf_encode(v, text, true, true, tokens, &error);
	if (chat)
		gguf_encode(v, (struct gguf_text){ chat, size }, true, true, tokens, &error);
	gguf_free(chat);
}

static void tokenise(const struct gguf *gguf)
{
	static const char text[] = "The end <|im_start|> \xc3\xa9\xe2\x82\xac 1234's\n\n  ab";
	struct gguf_tokens tokens = { 0 };
	struct gguf_vocabulary v = { 0 };
	struct gguf_error error;

	if (!gguf_vocabulary_init(&v, gguf, &error))
		encode(gguf, &v, (struct gguf_text){ text, sizeof(text) - 1 }, &tokens);
	for (size_t i = 0; i < tokens.count; i++) {
		size_t room = v.texts[tokens.items[i]].size;
		char *bytes = malloc(room ? room : 1);

		if (!bytes || gguf_piece(&v, tokens.items[i], true, bytes) > room)
			abort();
		free(bytes);
	}
	gguf_tokens_free(&tokens);
	gguf_vocabulary_exit(&v);
}

static void pack(const struct gguf *gguf)
{
	struct gguf_llama model;
	struct gguf_error error;

	gguf_llama_init(&model, gguf, &error);
	gguf_llama_exit(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Memory of exactly this size, so that reading past it is found. */
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
		tokenise(&gguf);
		pack(&gguf);
		gguf_close(&gguf);
	}
	free(copy);
	return 0;
}
