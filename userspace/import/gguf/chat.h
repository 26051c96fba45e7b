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
 * template; gguf_free() frees it. NULL after a failure: the file has no template, one that is
 * unknown, or one without a place for a message.
 */
char *gguf_chat(const struct gguf *gguf, const struct gguf_message *messages, size_t count,
		size_t *size, struct gguf_error *error);

#endif
