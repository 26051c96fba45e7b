/* SPDX-License-Identifier: MIT */
/* Splits text into words, as byte-pair tokenizers do before they merge. */
#ifndef GGUF_SPLIT_H
#define GGUF_SPLIT_H

#include "gguf.h"

#define GGUF_MAX_PATTERNS 4

/*
 * The patterns that split a text: the first splits the text, each other one the pieces of the one
 * before.
 */
struct gguf_splitter {
	void *codes[GGUF_MAX_PATTERNS], *match; /* objects of PCRE2 */
	void *utf8;				/* an empty pattern: matching it checks a text */
	size_t count;
	bool whole;   /* a word that is a token becomes this token, whatever the merges are */
	bool add_bos; /* a text begins with the token BOS, unless the file says otherwise */
};

/* A function that gguf_split() calls for each piece, in order. It returns 0, or -1 to end. */
typedef int (*gguf_piece_fn)(void *data, struct gguf_text piece);

/*
 * Takes the patterns of this name, the value of tokenizer.ggml.pre. NULL: no patterns, for a
 * tokenizer that only checks texts. Returns 0, or -1 with a message; call gguf_splitter_exit() in
 * both cases.
 */
int gguf_splitter_init(struct gguf_splitter *splitter, const struct gguf_text *name,
		       struct gguf_error *error);
void gguf_splitter_exit(struct gguf_splitter *splitter);

/* Checks that a text is UTF-8. Returns 0, or -1 with a message. */
int gguf_check_text(const struct gguf_splitter *splitter, struct gguf_text text,
		    struct gguf_error *error);
/*
 * Splits a text of UTF-8 and calls @fn for each piece. Returns 0; -1: PCRE2 failed, with a message,
 * or @fn returned -1.
 */
int gguf_split(const struct gguf_splitter *splitter, struct gguf_text text, gguf_piece_fn fn,
	       void *data, struct gguf_error *error);

#endif
