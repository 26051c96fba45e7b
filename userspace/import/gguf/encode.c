// SPDX-License-Identifier: MIT
/*
 * Converts text to tokens: finds the names of special tokens first, then merges the text between
 * these.
 */
#include <string.h>

#include "../common/memory.h"
#include "vocabulary.h"

/* U+2581, which stands for a space in vocabularies that give each text a score (SentencePiece). */
#define SPACE	   "\xe2\x96\x81"
#define SPACE_SIZE 3

struct encoding {
	const struct gguf_vocabulary *v;
	struct gguf_tokens *tokens;
	struct gguf_error *error;
	/*
	 * special: names of control tokens become these tokens, too. after_special: the next part
	 * is the first of the text, or follows a special token.
	 */
	bool special, after_special;
};

/*
 * Appends the tokens of a word to e->tokens: turns each byte into the character that stands for it,
 * then merges pairs. Returns 0, or -1 with a message: a character has no token, or memory is
 * exhausted.
 */
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

/*
 * Appends the tokens of a text to e->tokens: turns each space into U+2581, then merges by scores.
 * Returns 0, or -1 with a message, as encode_word() does.
 */
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

/*
 * A part of the text that is still to be encoded. @token: the special token before it, or
 * GGUF_NO_TOKEN at the beginning of the text. @at: the number of the special token from which on
 * the part is searched for names.
 */
struct rest {
	struct gguf_text text;
	size_t at;
	uint32_t token;
};

/*
 * Finds the first special token from number @rest->at on whose name is in the text, sets *token to
 * it, and moves rest->at to its number. Returns where the name is, or NULL.
 */
static const char *find_special(const struct encoding *e, struct rest *rest, uint32_t *token)
{
	for (; rest->text.size && rest->at < e->v->special_count; rest->at++) {
		struct gguf_text name = e->v->texts[e->v->specials[rest->at]];
		const char *found = NULL;

		*token = e->v->specials[rest->at];
		if (e->special || gguf_token_type(e->v, *token) == GGUF_TOKEN_USER)
			found = memmem(rest->text.data, rest->text.size, name.data, name.size);
		if (found)
			return found;
	}
	return NULL;
}

/* A stack of texts that are still to be encoded; the one on top comes first in the whole text. */
struct rests {
	struct rest *items;
	size_t count, room;
};

static int push(struct rests *rests, struct rest rest, struct gguf_error *error)
{
	if (rests->count == rests->room) {
		size_t room = 2 * rests->room + 16;
		struct rest *items = import_realloc(rests->items, room * sizeof(*items));

		if (!items)
			return gguf_fail_memory(error);
		rests->items = items;
		rests->room = room;
	}
	rests->items[rests->count++] = rest;
	return 0;
}

/*
 * Encodes @now, and then all texts on the stack @rests. The stack is in allocated memory, as a file
 * can have so many special tokens that a recursion would exhaust the thread's stack. Returns 0; -1:
 * an error.
 */
static int encode_rests(struct encoding *e, struct rest now, struct rests *rests)
{
	for (;;) {
		uint32_t token;
		const char *found = find_special(e, &now, &token);

		if (found) {
			size_t before = (size_t)(found - now.text.data);
			size_t end = before + e->v->texts[token].size;
			struct gguf_text after = { now.text.data + end, now.text.size - end };

			if (push(rests, (struct rest){ after, now.at, token }, e->error))
				return -1;
			now.text.size = before;
			now.at++;
			continue;
		}
		if (encode_plain(e, now.text))
			return -1;
		if (!rests->count)
			return 0;
		now = rests->items[--rests->count];
		if (gguf_tokens_add(e->tokens, now.token, e->error))
			return -1;
		e->after_special = true;
	}
}

int gguf_encode(const struct gguf_vocabulary *v, struct gguf_text text, bool ends, bool special,
		struct gguf_tokens *tokens, struct gguf_error *error)
{
	struct encoding e = { v, tokens, error, special, true };
	struct rests rests = { 0 };
	int ret;

	if (gguf_check_text(&v->splitter, text, error))
		return -1;
	if (ends && v->add_bos && v->bos != GGUF_NO_TOKEN && gguf_tokens_add(tokens, v->bos, error))
		return -1;
	ret = encode_rests(&e, (struct rest){ text, 0, GGUF_NO_TOKEN }, &rests);
	import_free(rests.items);
	if (ret)
		return -1;
	if (ends && v->add_eos && v->eos != GGUF_NO_TOKEN)
		return gguf_tokens_add(tokens, v->eos, error);
	return 0;
}
