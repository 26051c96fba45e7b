/* SPDX-License-Identifier: MIT */
/* Puts a message into the form in which a model was trained to answer. */
#ifndef GGUF_CHAT_H
#define GGUF_CHAT_H

#include "gguf.h"

/*
 * Returns the text of a conversation with one message, up to where the answer begins, in the form
 * of the file's template; gguf_free() frees it. NULL after a failure: the file has no template, or
 * one that is unknown.
 */
char *gguf_chat(const struct gguf *gguf, struct gguf_text message, size_t *size,
		struct gguf_error *error);

#endif
