/* SPDX-License-Identifier: MIT */
/* Puts a message into the form in which a model was trained to answer. */
#ifndef GGUF_CHAT_H
#define GGUF_CHAT_H

#include "gguf.h"

/*
 * Returns the text of a conversation with one message, up to where the answer begins, in the form of
 * the file's template; gguf_free() frees it. NULL after a failure: there is no template, or none
 * that is known.
 */
char *gguf_chat(const struct gguf *gguf, struct gguf_text message, size_t *size,
		struct gguf_error *error);

#endif
