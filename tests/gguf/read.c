// SPDX-License-Identifier: MIT
/*
 * Reads a file of GGUF for tests. gguf-read values FILE TENSOR writes the elements of a tensor as
 * floats. gguf-read tokens FILE FLAGS reads a text from standard input and prints its tokens;
 * gguf-read text FILE FLAGS does the reverse. Flags: e, with the tokens at both ends; s, special
 * tokens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/blocks.h>
#include <gguf/vocabulary.h>

static int values(const struct gguf *gguf, const char *name)
{
	const struct gguf_tensor *tensor = gguf_tensor(gguf, name);
	float *data;

	if (!tensor || !import_block_is_read(tensor->type)) {
		fprintf(stderr, "there is no such tensor, or its type is not read\n");
		return 1;
	}
	data = calloc(tensor->elements, sizeof(*data));
	if (!data)
		return 1;
	import_blocks_read(tensor->type, tensor->data, 0, tensor->elements, data);
	fwrite(data, sizeof(*data), tensor->elements, stdout);
	free(data);
	return 0;
}

static int tokens(const struct gguf_vocabulary *v, const char *flags, struct gguf_error *error)
{
	struct gguf_tokens list = { 0 };
	char *text = NULL;
	size_t room = 0;
	/* A text in UTF-8 never has the byte 255, so that this reads all of the input. */
	ssize_t size = getdelim(&text, &room, 255, stdin);
	int ret = gguf_encode(v, (struct gguf_text){ text, size > 0 ? (size_t)size : 0 },
			      strchr(flags, 'e'), strchr(flags, 's'), &list, error);

	for (size_t i = 0; !ret && i < list.count; i++)
		printf("%u\n", list.items[i]);
	gguf_tokens_free(&list);
	free(text);
	return ret;
}

static int text(const struct gguf_vocabulary *v, const char *flags)
{
	unsigned int token;

	while (scanf("%u", &token) == 1) {
		char *bytes;

		if (token >= v->count)
			return 1;
		bytes = malloc(v->texts[token].size + 1);
		if (!bytes)
			return 1;
		fwrite(bytes, 1, gguf_piece(v, token, strchr(flags, 's'), bytes), stdout);
		free(bytes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct gguf_vocabulary v = { 0 };
	struct gguf_error error = { .text = "" };
	struct gguf gguf;
	int ret;

	if (argc < 4)
		return 64;
	ret = gguf_open(&gguf, argv[2], &error);
	if (!ret && !strcmp(argv[1], "values"))
		ret = values(&gguf, argv[3]);
	else if (!ret)
		ret = gguf_vocabulary_init(&v, &gguf, &error);
	if (!ret && !strcmp(argv[1], "tokens"))
		ret = tokens(&v, argv[3], &error);
	if (!ret && !strcmp(argv[1], "text"))
		ret = text(&v, argv[3]);
	if (ret)
		fprintf(stderr, "%s\n", error.text);
	gguf_vocabulary_exit(&v);
	gguf_close(&gguf);
	return ret ? 2 : 0;
}
