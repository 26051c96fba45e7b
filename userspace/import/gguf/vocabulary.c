// SPDX-License-Identifier: MIT
/*
 * Reads the tokenizer of a file: tokens, scores or ranks of merges, and special tokens. Converts
 * tokens to text.
 */
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/memory.h"

/* ---- tables */

static size_t hash(struct gguf_text text)
{
	uint64_t value = 0xcbf29ce484222325; /* FNV-1a */

	for (size_t i = 0; i < text.size; i++)
		value = (value ^ (uint8_t)text.data[i]) * 0x100000001b3;
	return (size_t)(value ^ value >> 32);
}

static uint32_t *find_slot(const struct gguf_table *table, struct gguf_text text)
{
	size_t at = hash(text) & (table->size - 1);

	while (table->slots[at] && gguf_text_compare(table->texts[table->slots[at] - 1], text))
		at = (at + 1) & (table->size - 1);
	return &table->slots[at];
}

int gguf_table_init(struct gguf_table *table, const struct gguf_text *texts, size_t count,
		    bool last, struct gguf_error *error)
{
	*table = (struct gguf_table){ .texts = texts, .size = 2 };
	while (table->size < 2 * count)
		table->size *= 2;
	table->slots = import_alloc(table->size * sizeof(*table->slots));
	if (!table->slots)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < count; i++) {
		uint32_t *slot = find_slot(table, texts[i]);

		if (!*slot || last)
			*slot = (uint32_t)(i + 1);
	}
	return 0;
}

uint32_t gguf_table_find(const struct gguf_table *table, struct gguf_text text)
{
	return table->size ? *find_slot(table, text) - 1 : GGUF_NO_TOKEN;
}

uint32_t gguf_token(const struct gguf_vocabulary *v, struct gguf_text text)
{
	return gguf_table_find(&v->tokens, text);
}

/* ---- tokens */

int gguf_tokens_add(struct gguf_tokens *tokens, uint32_t token, struct gguf_error *error)
{
	if (tokens->count == tokens->room) {
		size_t room = tokens->room ? 2 * tokens->room : 64;
		uint32_t *items = import_realloc(tokens->items, room * sizeof(*items));

		if (!items)
			return gguf_fail_memory(error);
		tokens->items = items;
		tokens->room = room;
	}
	tokens->items[tokens->count++] = token;
	return 0;
}

void gguf_tokens_free(struct gguf_tokens *tokens)
{
	import_free(tokens->items);
	*tokens = (struct gguf_tokens){ 0 };
}

enum gguf_token_type gguf_token_type(const struct gguf_vocabulary *v, uint32_t token)
{
	int32_t type = GGUF_TOKEN_NORMAL;

	if (v->types)
		memcpy(&type, v->types + (size_t)token * sizeof(type), sizeof(type));
	return (enum gguf_token_type)type;
}

float gguf_token_score(const struct gguf_vocabulary *v, uint32_t token)
{
	float score = 0;

	if (v->scores)
		memcpy(&score, v->scores + (size_t)token * sizeof(score), sizeof(score));
	return score;
}

/* ---- bytes and their characters */

/*
 * Converts between a byte and the character that stands for it in a token: printable characters of
 * Latin-1 stand for themselves, and characters from U+0100 on for all other bytes, in order.
 * Returns the byte for the character @wanted (@is_character), or @wanted itself, and sets
 * *character to the byte's character; 256: no byte has this character.
 */
static uint32_t find_byte(uint32_t wanted, bool is_character, uint32_t *character)
{
	uint32_t other = 256;

	for (uint32_t byte = 0; byte < 256; byte++) {
		bool itself = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);

		*character = itself ? byte : other;
		other += !itself;
		if (wanted == (is_character ? *character : byte))
			return byte;
	}
	return 256;
}

size_t gguf_byte_text(uint8_t byte, char *text)
{
	uint32_t character;

	find_byte(byte, false, &character);
	if (character < 128) {
		text[0] = (char)character;
		return 1;
	}
	text[0] = (char)(0xc0 | character >> 6);
	text[1] = (char)(0x80 | (character & 63));
	return 2;
}

/*
 * Writes the bytes of a token of byte pairs, and returns their number; characters that stand for no
 * byte stay.
 */
static size_t bytes_of_pairs(struct gguf_text text, char *bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < text.size;) {
		uint32_t character = (uint8_t)text.data[i], byte;
		size_t size = 1;

		if (character >= 0xc0 && character < 0xe0 && i + 1 < text.size) {
			character = (character & 31) << 6 | ((uint8_t)text.data[i + 1] & 63);
			size = 2;
		}
		byte = find_byte(character, true, &character);
		if (byte < 256)
			bytes[count++] = (char)byte;
		else
			for (size_t k = 0; k < size; k++)
				bytes[count++] = text.data[i + k];
		i += size;
	}
	return count;
}

/* Writes the bytes of a token of characters, and returns their number; U+2581 becomes a space. */
static size_t bytes_of_characters(struct gguf_text text, char *bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < text.size; i++) {
		if (i + 3 <= text.size && !memcmp(text.data + i, "\xe2\x96\x81", 3)) {
			bytes[count++] = ' ';
			i += 2;
		} else {
			bytes[count++] = text.data[i];
		}
	}
	return count;
}

/* Returns whether a text is the name of a byte, such as <0x0A>, and sets *byte to it. */
static bool is_byte(struct gguf_text text, unsigned int *byte)
{
	char name[7] = { 0 }, end;

	if (text.size != 6)
		return false;
	memcpy(name, text.data, 6);
	return sscanf(name, "<0x%2x%c", byte, &end) == 2 && end == '>';
}

size_t gguf_piece(const struct gguf_vocabulary *v, uint32_t token, bool special, char *bytes)
{
	struct gguf_text text = v->texts[token];
	enum gguf_token_type type = gguf_token_type(v, token);
	unsigned int byte;

	if (type == GGUF_TOKEN_CONTROL && !special)
		return 0;
	if (type == GGUF_TOKEN_BYTE && is_byte(text, &byte)) {
		bytes[0] = (char)byte;
		return 1;
	}
	if (type == GGUF_TOKEN_CONTROL || type == GGUF_TOKEN_USER) {
		memcpy(bytes, text.data, text.size);
		return text.size;
	}
	return v->pairs ? bytes_of_pairs(text, bytes) : bytes_of_characters(text, bytes);
}

/* ---- the file */

static int read_tokens(struct gguf_vocabulary *v, const struct gguf *gguf, struct gguf_error *error)
{
	v->texts = gguf_strings(gguf, "tokenizer.ggml.tokens", &v->count, error);
	if (!v->texts)
		return -1;
	if (!v->count || v->count > INT32_MAX)
		return gguf_fail(error, "tokenizer.ggml.tokens has %zu tokens; allowed are 1 to %d",
				 v->count, INT32_MAX);
	error->text[0] = 0;
	v->scores = gguf_items(gguf, "tokenizer.ggml.scores", GGUF_FLOAT32, v->count, error);
	v->types = gguf_items(gguf, "tokenizer.ggml.token_type", GGUF_INT32, v->count, error);
	if (error->text[0])
		return -1;
	if (gguf_table_init(&v->tokens, v->texts, v->count, true, error))
		return -1;
	if (!v->pairs)
		return 0;
	v->merges = gguf_strings(gguf, "tokenizer.ggml.merges", &v->merge_count, error);
	if (!v->merges)
		return -1;
	if (v->merge_count > INT32_MAX)
		return gguf_fail(error, "tokenizer.ggml.merges has %zu merges; %d are the most",
				 v->merge_count, INT32_MAX);
	return gguf_table_init(&v->ranks, v->merges, v->merge_count, false, error);
}

/*
 * Sets *token to the number of a token; without the key, *token stays. A number beyond all tokens
 * becomes GGUF_NO_TOKEN. Returns 0; -1: the value of the key is no such number.
 */
static int read_id(struct gguf_vocabulary *v, const struct gguf *gguf, const char *key,
		   uint32_t *token, struct gguf_error *error)
{
	uint64_t value = *token;

	if (gguf_number(gguf, key, UINT32_MAX, &value, error))
		return -1;
	/* Files of models without such a token have a number beyond all tokens. */
	*token = value < v->count ? (uint32_t)value : GGUF_NO_TOKEN;
	return 0;
}

/* Tokens with which models end an answer; files give the number of only one of them. */
static const char *const end_texts[] = {
	"<|eot_id|>",	 "<|im_end|>",	    "<|end|>",	       "<end_of_turn>",
	"<|endoftext|>", "<|end_of_text|>", "<|eom_id|>",      "<EOT>",
	"_<EOT>",	 "<|end_of_turn|>", "<|endofprompt|>",
};

static int read_ends(struct gguf_vocabulary *v, const struct gguf *gguf, struct gguf_error *error)
{
	static const char *const keys[] = { "tokenizer.ggml.eot_token_id",
					    "tokenizer.ggml.eom_token_id" };

	v->ends = import_alloc(v->count * sizeof(*v->ends));
	if (!v->ends)
		return gguf_fail_memory(error);
	if (v->eos != GGUF_NO_TOKEN)
		v->ends[v->eos] = true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint32_t token = GGUF_NO_TOKEN;

		if (read_id(v, gguf, keys[i], &token, error))
			return -1;
		if (token != GGUF_NO_TOKEN)
			v->ends[token] = true;
	}
	for (size_t i = 0; i < sizeof(end_texts) / sizeof(end_texts[0]); i++) {
		uint32_t token =
			gguf_token(v, (struct gguf_text){ end_texts[i], strlen(end_texts[i]) });

		if (token != GGUF_NO_TOKEN && gguf_token_type(v, token) == GGUF_TOKEN_CONTROL)
			v->ends[token] = true;
	}
	return 0;
}

static int compare_specials(const void *a, const void *b, void *data)
{
	const struct gguf_vocabulary *v = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t size_x = v->texts[x].size, size_y = v->texts[y].size;

	return size_x != size_y ? (size_x < size_y) - (size_x > size_y) : (x > y) - (x < y);
}

/*
 * Returns whether texts are searched for a token's name. A name that is a part of a character would
 * cut characters.
 */
static bool is_special(const struct gguf_vocabulary *v, uint32_t token)
{
	enum gguf_token_type type = gguf_token_type(v, token);
	struct gguf_error ignored;

	return v->texts[token].size &&
	       (type == GGUF_TOKEN_CONTROL || type == GGUF_TOKEN_USER ||
		type == GGUF_TOKEN_UNKNOWN) &&
	       !gguf_check_text(&v->splitter, v->texts[token], &ignored);
}

static int read_specials(struct gguf_vocabulary *v, struct gguf_error *error)
{
	v->specials = import_alloc(v->count * sizeof(*v->specials));
	if (!v->specials)
		return gguf_fail_memory(error);
	for (uint32_t i = 0; i < v->count; i++)
		if (is_special(v, i))
			v->specials[v->special_count++] = i;
	qsort_r(v->specials, v->special_count, sizeof(*v->specials), compare_specials, v);
	return 0;
}

static void find_bytes(struct gguf_vocabulary *v)
{
	for (unsigned int i = 0; i < 256; i++) {
		char name[8], raw = (char)i;
		int size = snprintf(name, sizeof(name), "<0x%02X>", i);

		v->bytes[i] = gguf_token(v, (struct gguf_text){ name, (size_t)size });
		if (v->bytes[i] == GGUF_NO_TOKEN)
			v->bytes[i] = gguf_token(v, (struct gguf_text){ &raw, 1 });
	}
}

static int read_splitter(struct gguf_vocabulary *v, const struct gguf *gguf,
			 struct gguf_error *error)
{
	struct gguf_text pre = { "default", 7 };

	if (gguf_string(gguf, "tokenizer.ggml.pre", &pre, error))
		return -1;
	return gguf_splitter_init(&v->splitter, v->pairs ? &pre : NULL, error);
}

int gguf_vocabulary_init(struct gguf_vocabulary *v, const struct gguf *gguf,
			 struct gguf_error *error)
{
	struct gguf_text model = { "", 0 };

	*v = (struct gguf_vocabulary){ .add_space = true };
	if (gguf_string(gguf, "tokenizer.ggml.model", &model, error))
		return -1;
	if (!model.size)
		return gguf_fail(error,
				 "it has no tokenizer: there is no key tokenizer.ggml.model");
	v->pairs = gguf_text_is(model, "gpt2");
	if (!v->pairs && !gguf_text_is(model, "llama"))
		return gguf_fail(error,
				 "tokenizer.ggml.model is \"%.*s\", which cannot be used; gpt2 and "
				 "llama can",
				 GGUF_ARGS(model));
	v->bos = v->pairs ? GGUF_NO_TOKEN : 1;
	v->eos = v->pairs ? GGUF_NO_TOKEN : 2;
	v->unknown = v->pairs ? GGUF_NO_TOKEN : 0;
	if (read_splitter(v, gguf, error) || read_tokens(v, gguf, error) ||
	    read_id(v, gguf, "tokenizer.ggml.bos_token_id", &v->bos, error) ||
	    read_id(v, gguf, "tokenizer.ggml.eos_token_id", &v->eos, error) ||
	    read_id(v, gguf, "tokenizer.ggml.unknown_token_id", &v->unknown, error))
		return -1;
	v->add_bos = v->splitter.add_bos;
	if (gguf_flag(gguf, "tokenizer.ggml.add_bos_token", &v->add_bos, error) ||
	    gguf_flag(gguf, "tokenizer.ggml.add_eos_token", &v->add_eos, error) ||
	    gguf_flag(gguf, "tokenizer.ggml.add_space_prefix", &v->add_space, error))
		return -1;
	find_bytes(v);
	return read_ends(v, gguf, error) || read_specials(v, error) ? -1 : 0;
}

void gguf_vocabulary_exit(struct gguf_vocabulary *v)
{
	gguf_splitter_exit(&v->splitter);
	import_free(v->texts);
	import_free(v->merges);
	import_free(v->tokens.slots);
	import_free(v->ranks.slots);
	import_free(v->specials);
	import_free(v->ends);
	*v = (struct gguf_vocabulary){ 0 };
}
