/* SPDX-License-Identifier: MIT */
/* A model on a device, and the tokens of each text that it has seen. */
#ifndef GGUF_SESSION_H
#define GGUF_SESSION_H

#include "llama.h"

/* A graph for a number of tokens, with the tensors that only it uses. */
struct gguf_step {
	uint32_t tokens;
	WNNGraph graph;
	WNNTensor x, cosine, sine, mask, pick, place;
};

/*
 * The keys and values of the tokens of one text: a cache of each for every layer, which dispatches
 * update in place.
 */
struct gguf_caches {
	WNNTensor *tensors;
	uint32_t used; /* positions with tokens */
};

struct gguf_session {
	const struct gguf_llama *model;
	WNNContext context;
	uint32_t length;	     /* positions of each cache */
	struct gguf_step block, one; /* for a part of the prompt, and for one token */
	WNNTensor logits;
	WNNNamedTensor *inputs, *outputs;
	char (*names)[16];
	float *scratch; /* memory in which the inputs of a dispatch are made */
};

/*
 * Builds the graphs for up to @length tokens, of which prompts are read in blocks of @block, 1 to
 * @length; the length is rounded up to whole blocks. Returns 0, or -1 with a message; call
 * gguf_session_close() in both cases, before model and context end.
 */
int gguf_session_open(struct gguf_session *session, const struct gguf_llama *model,
		      WNNContext context, uint32_t length, uint32_t block,
		      struct gguf_error *error);
void gguf_session_close(struct gguf_session *session);

/*
 * Makes the caches of a text without tokens. Returns 0, or -1 with a message; call
 * gguf_caches_close() in both cases, before the session ends.
 */
int gguf_caches_open(struct gguf_caches *caches, const struct gguf_session *session,
		     struct gguf_error *error);
void gguf_caches_close(struct gguf_caches *caches, const struct gguf_session *session);
/*
 * Fills the caches with zeros, for a text without tokens. If all numbers in the caches are finite,
 * it is enough to set caches->used to 0. Returns 0, or -1 with a message.
 */
int gguf_caches_clear(struct gguf_caches *caches, const struct gguf_session *session,
		      struct gguf_error *error);

/*
 * Appends tokens, at least one, to a text and writes the logits after the last of them, a float for
 * each token of the model; @logits may be NULL. Results do not depend on how a text is divided into
 * calls if all calls but the last have whole blocks. Returns 0, or -1 with a message, also when the
 * caches are full; after a failure on the device, some of the tokens may be in the caches.
 */
int gguf_session_feed(struct gguf_session *session, struct gguf_caches *caches,
		      const uint32_t *tokens, size_t count, float *logits,
		      struct gguf_error *error);

#endif
