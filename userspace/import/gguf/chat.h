/* SPDX-License-Identifier: MIT */
/* Puts messages into the form in which a model was trained to answer. */
#ifndef GGUF_CHAT_H
#define GGUF_CHAT_H

#include "gguf.h"

enum gguf_role {
	GGUF_SYSTEM,
	GGUF_USER,
	GGUF_ASSISTANT,
	GGUF_ROLES,
};

struct gguf_message {
	enum gguf_role role;
	struct gguf_text text;
};

/*
 * Returns the text of a conversation, up to where the answer begins, in the form of the file's
 * template, and sets *size to its bytes; gguf_free() frees it. NULL, with *error: the file has no
 * template or an unknown one, its template allows no system message where @messages has one, or
 * memory is exhausted.
 */
char *gguf_chat(const struct gguf *gguf, const struct gguf_message *messages, size_t count,
		size_t *size, struct gguf_error *error);

#endif
