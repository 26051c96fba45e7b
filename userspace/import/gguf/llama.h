/* SPDX-License-Identifier: MIT */
/*
 * Language models of the architecture llama, and their graphs over the public interface of WebNN.
 */
#ifndef GGUF_LLAMA_H
#define GGUF_LLAMA_H

#include <webnn/webnn_npu.h>

#include "weight.h"

struct gguf_layer {
	struct import_matrix query, key, value, output, gate, up, down;
	float *attention_norm, *feed_norm;
};

struct gguf_llama {
	const struct gguf *gguf;
	uint32_t layer_count;
	uint32_t width;	     /* size of a token's vector */
	uint32_t hidden;     /* size of the hidden layer of the feed-forward part */
	uint32_t size;	     /* size of a head */
	uint32_t rotated;    /* how many numbers of a head are rotated by their position (RoPE) */
	uint32_t heads;	     /* heads of the queries */
	uint32_t key_heads;  /* heads of the keys, and of the values */
	uint32_t context;    /* most tokens that the model was trained for */
	uint32_t vocabulary; /* number of tokens */
	float epsilon;
	double *frequencies; /* by which each pair is rotated, in radians per position */
	struct gguf_layer *layers;
	struct import_matrix logits;
	float *norm;
	const struct gguf_tensor *embedding;
};

/*
 * Reads the model from a file, which has to live as long as it. Returns 0, or -1 with a message;
 * call gguf_llama_exit() in both cases, once no graph of the model is left.
 */
int gguf_llama_init(struct gguf_llama *model, const struct gguf *gguf, struct gguf_error *error);
void gguf_llama_exit(struct gguf_llama *model);

/* Writes the vector of a token. */
void gguf_llama_embed(const struct gguf_llama *model, uint32_t token, float *vector);

/*
 * Builds the graph for @tokens tokens at once, with caches of @length positions, a multiple of
 * @tokens. The graph's first token stands at a multiple of @tokens. Its inputs, all float32 but for
 * the last one:
 *
 *   x [tokens, width]: vectors of the tokens
 *   cos, sin [1, tokens, rotated / 2]: angles of their positions
 *   mask [1, tokens, length]: 0 where a token sees a position, else a large negative number
 *   pick [1, tokens]: 1 for the token whose logits are wanted, 0 for others
 *   place [key heads, 2] of int32: for each head, its number and that of the part of the caches
 *     that the tokens go to, counted in parts of @tokens
 *   kN, vN [key heads, length, size]: the caches of layer N
 *
 * and outputs logits [1, vocabulary] and KN, VN: the caches with the tokens in them, which update
 * kN and vN in place (wnnGraphBuilderUpdateInput()). The graph reads its constants from the model,
 * which must outlive it. Returns 0, or -1 with a message.
 */
int gguf_llama_build(const struct gguf_llama *model, WNNContext context, uint32_t tokens,
		     uint32_t length, WNNGraph *graph, struct gguf_error *error);

/* Writes a message of @what and the last error of WebNN in this thread, and returns -1. */
int gguf_fail_last(struct gguf_error *error, const char *what);

#endif
