/* SPDX-License-Identifier: MIT */
/* A model on a device, and the tokens that it has seen. */
#ifndef GGUF_SESSION_H
#define GGUF_SESSION_H

#include "llama.h"

/* A graph for a number of tokens, with the tensors that only it uses. */
struct gguf_step {
	uint32_t tokens;
	WNNGraph graph;
	WNNTensor x, cosine, sine, mask, pick, place;
};

struct gguf_session {
	const struct gguf_llama *model;
	WNNContext context;
	uint32_t length, used;	     /* positions of the caches; those with tokens */
	struct gguf_step block, one; /* for a block of the prompt's tokens, and for one token */
	WNNTensor logits, *caches;   /* 2 caches for each layer, updated in place */
	WNNNamedTensor *inputs, *outputs;
	char (*names)[16];
	float *scratch; /* memory in which the inputs of a dispatch are made */
};

/*
 * Builds the graphs for up to @length tokens, of which prompts are read in blocks of @block; both
 * are at least 1, and the length is rounded up to whole blocks. Returns 0, or -1 with a message;
 * gguf_session_close() is called in both cases, before model and context end.
 */
int gguf_session_open(struct gguf_session *session, const struct gguf_llama *model,
		      WNNContext context, uint32_t length, uint32_t block,
		      struct gguf_error *error);
void gguf_session_close(struct gguf_session *session);

/*
 * Appends tokens, at least one, and writes the logits of the token after the last of them, a float
 * for each token of the model. Returns 0, or -1 with a message: also when the caches are full.
 */
int gguf_session_feed(struct gguf_session *session, const uint32_t *tokens, size_t count,
		      float *logits, struct gguf_error *error);

#endif
