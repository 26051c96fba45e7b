// SPDX-License-Identifier: MIT
/* Text to tokens: names of special tokens are found first, then what lies between is merged. */
#include <string.h>

#include "../common/memory.h"
#include "vocabulary.h"

/* U+2581, which stands for a space in texts of characters with scores. */
#define SPACE	   "\xe2\x96\x81"
#define SPACE_SIZE 3

struct encoding {
	const struct gguf_vocabulary *v;
	struct gguf_tokens *tokens;
	struct gguf_error *error;
	bool special, after_special;
};

/* A word of byte pairs: each byte becomes the character that stands for it. */
static int encode_word(void *data, struct gguf_text word)
{
	struct encoding *e = data;
	struct gguf_merge merge = { e->v, { 0 }, e->tokens, e->error };
	char *text = import_alloc(2 * word.size);
	uint32_t token = GGUF_NO_TOKEN;
	int ret;

	if (!text)
		return gguf_fail_memory(e->error);
	merge.text.data = text;
	for (size_t i = 0; i < word.size; i++)
		merge.text.size += gguf_byte_text((uint8_t)word.data[i], text + merge.text.size);
	if (e->v->splitter.whole)
		token = gguf_token(e->v, merge.text);
	ret = token == GGUF_NO_TOKEN ? gguf_merge(&merge) :
				       gguf_tokens_add(e->tokens, token, e->error);
	import_free(text);
	return ret;
}

/* A text of characters with scores: each space becomes a character of its own. */
static int encode_characters(struct encoding *e, struct gguf_text raw)
{
	struct gguf_merge merge = { e->v, { 0 }, e->tokens, e->error };
	char *text = import_alloc(SPACE_SIZE * (raw.size + 1)), *end = text;
	int ret;

	if (!text)
		return gguf_fail_memory(e->error);
	if (e->v->add_space && e->after_special)
		end = mempcpy(end, SPACE, SPACE_SIZE);
	for (size_t i = 0; i < raw.size; i++)
		if (raw.data[i] == ' ')
			end = mempcpy(end, SPACE, SPACE_SIZE);
		else
			*end++ = raw.data[i];
	merge.text = (struct gguf_text){ text, (size_t)(end - text) };
	ret = gguf_merge(&merge);
	import_free(text);
	return ret;
}

static int encode_plain(struct encoding *e, struct gguf_text text)
{
	int ret;

	if (!text.size)
		return 0;
	ret = e->v->pairs ? gguf_split(&e->v->splitter, text, encode_word, e, e->error) :
			    encode_characters(e, text);
	e->after_special = false;
	return ret;
}

/* Finds special token number @at and those after it, which are no longer, in a text. */
static int encode_specials(struct encoding *e, struct gguf_text text, size_t at)
{
	while (text.size && at < e->v->special_count) {
		uint32_t token = e->v->specials[at];
		struct gguf_text name = e->v->texts[token];
		const char *found = NULL;

		if (e->special || gguf_token_type(e->v, token) == GGUF_TOKEN_USER)
			found = memmem(text.data, text.size, name.data, name.size);
		if (!found) {
			at++;
			continue;
		}
		if (encode_specials(e, (struct gguf_text){ text.data, (size_t)(found - text.data) },
				    at + 1) ||
		    gguf_tokens_add(e->tokens, token, e->error))
			return -1;
		e->after_special = true;
		text.size -= (size_t)(found - text.data) + name.size;
		text.data = found + name.size;
	}
	return encode_plain(e, text);
}

int gguf_encode(const struct gguf_vocabulary *v, struct gguf_text text, bool ends, bool special,
		struct gguf_tokens *tokens, struct gguf_error *error)
{
	struct encoding e = { v, tokens, error, special, true };

	if (gguf_check_text(&v->splitter, text, error))
		return -1;
	if (ends && v->add_bos && v->bos != GGUF_NO_TOKEN && gguf_tokens_add(tokens, v->bos, error))
		return -1;
	if (encode_specials(&e, text, 0))
		return -1;
	if (ends && v->add_eos && v->eos != GGUF_NO_TOKEN)
		return gguf_tokens_add(tokens, v->eos, error);
	return 0;
}
