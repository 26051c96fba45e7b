/* SPDX-License-Identifier: MIT */
/* The tokenizer of a language model: text to tokens, and tokens to text. */
#ifndef GGUF_VOCABULARY_H
#define GGUF_VOCABULARY_H

#include "gguf.h"
#include "split.h"

/* The numbers of tokenizer.ggml.token_type. */
enum gguf_token_type {
	GGUF_TOKEN_NORMAL = 1,
	GGUF_TOKEN_UNKNOWN = 2,
	GGUF_TOKEN_CONTROL = 3,
	GGUF_TOKEN_USER = 4,
	GGUF_TOKEN_UNUSED = 5,
	GGUF_TOKEN_BYTE = 6,
};

#define GGUF_NO_TOKEN UINT32_MAX

/* Texts and the numbers that they have. */
struct gguf_table {
	const struct gguf_text *texts; /* borrowed */
	uint32_t *slots;	       /* an index + 1; 0: free */
	size_t size;		       /* a power of two, at least twice the number of texts */
};

struct gguf_vocabulary {
	bool pairs; /* byte pairs with ranks (BPE), else characters with scores (SentencePiece) */
	size_t count, merge_count, special_count;
	struct gguf_text *texts, *merges;
	struct gguf_table tokens, ranks;
	const uint8_t *scores, *types; /* float and int32 of each token, unaligned; or NULL */
	uint32_t *specials;	       /* tokens that are found in text, the longest first */
	uint32_t bos, eos, unknown;    /* or GGUF_NO_TOKEN */
	bool add_bos, add_eos, add_space;
	uint32_t bytes[256]; /* the token of each byte alone, or GGUF_NO_TOKEN */
	bool *ends;	     /* whether generation ends with this token */
	struct gguf_splitter splitter;
};

struct gguf_tokens {
	uint32_t *items;
	size_t count, room;
};

/*
 * Reads the tokenizer of a file. Returns 0, or -1 with a message; call gguf_vocabulary_exit() in
 * both cases; it also takes an object of zeros.
 */
int gguf_vocabulary_init(struct gguf_vocabulary *v, const struct gguf *gguf,
			 struct gguf_error *error);
void gguf_vocabulary_exit(struct gguf_vocabulary *v);

/* Appends a token. Returns 0, or -1 with a message: memory is exhausted. */
int gguf_tokens_add(struct gguf_tokens *tokens, uint32_t token, struct gguf_error *error);
void gguf_tokens_free(struct gguf_tokens *tokens);

/*
 * Appends the tokens of a text of UTF-8. @ends: with the tokens that begin and end a text, if the
 * model has them. @special: names of control tokens in the text become these tokens, as those of
 * tokens that users added always do. Returns 0 or -1 with a message.
 */
int gguf_encode(const struct gguf_vocabulary *v, struct gguf_text text, bool ends, bool special,
		struct gguf_tokens *tokens, struct gguf_error *error);

/* Returns the number of a token by its text, or GGUF_NO_TOKEN. */
uint32_t gguf_token(const struct gguf_vocabulary *v, struct gguf_text text);
enum gguf_token_type gguf_token_type(const struct gguf_vocabulary *v, uint32_t token);

/*
 * Writes the bytes that a token stands for, which may be a part of a character, and returns their
 * number, which is no more than that of the token's text. Control tokens stand for no bytes, unless
 * @special.
 */
size_t gguf_piece(const struct gguf_vocabulary *v, uint32_t token, bool special, char *bytes);

/* ---- for the parts of the tokenizer */

/*
 * Fills a table. A text that occurs more than once gets the index of its last occurrence with
 * @last, otherwise that of its first. Returns 0, or -1 with a message; the caller frees the slots.
 */
int gguf_table_init(struct gguf_table *table, const struct gguf_text *texts, size_t count,
		    bool last, struct gguf_error *error);
/* Returns the index of a text, or GGUF_NO_TOKEN. */
uint32_t gguf_table_find(const struct gguf_table *table, struct gguf_text text);

/* Writes the character that stands for a byte in texts of byte pairs; returns its size, 1 or 2. */
size_t gguf_byte_text(uint8_t byte, char *text);
float gguf_token_score(const struct gguf_vocabulary *v, uint32_t token);

/* A text, and the list to which gguf_merge() appends its tokens. */
struct gguf_merge {
	const struct gguf_vocabulary *v;
	struct gguf_text text;
	struct gguf_tokens *tokens;
	struct gguf_error *error;
};

/* Appends the tokens of a text that is merged as a whole. Returns 0, or -1 with a message. */
int gguf_merge(const struct gguf_merge *merge);

#endif
