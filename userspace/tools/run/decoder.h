/* SPDX-License-Identifier: MIT */
/* webnn-run generate: a decoder of ONNX, with inputs and outputs for keys and values. */
#ifndef ONPU_TOOLS_RUN_DECODER_H
#define ONPU_TOOLS_RUN_DECODER_H

#include <gguf/session.h>
#include <webnn/onnx.h>

#include "decoder_change.h"

/*
 * An input with past keys or values [1, heads, positions, size], and the output that also has those
 * of the new tokens.
 */
struct decoder_cache {
	WNNStringView past, present;
	char moved[24]; /* the name of this cache as an output of decoder.move */
	WNNOperandDataType type;
	uint32_t heads, size;
};

/* A graph for a number of tokens, with the tensors that only it uses. */
struct decoder_step {
	uint32_t tokens;
	WNNGraph graph;
	WNNTensor ids, positions, rows, bias, pick;
};

struct decoder {
	struct decoder_change change;
	WNNOnnxModel model; /* change.model */
	size_t count;
	struct decoder_cache *caches;
	uint32_t rows; /* number of logits, one for each token of the vocabulary */
	/* Members from decoder_open() on. */
	WNNContext context;
	struct decoder_step block, one; /* block.graph may be NULL; block.tokens is 1 then */
	WNNGraph move;			/* copies the new rows of caches; NULL: steps update them */
	uint32_t length;		/* positions of caches */
	WNNTensor mask, logits, place, *presents;
	WNNNamedTensor *inputs, *outputs; /* room for the tensors of a dispatch */
	void *scratch;
	WNNOperandDataType id_type, mask_type, position_type, logit_type;
	bool has_positions;
	/* whether the caches that come out of the step built last have as many positions as asked */
	bool fits;
};

/*
 * Loads a model. The names of its caches begin with @past as inputs and with @present as outputs,
 * and go on alike. Returns 0, or -1 with a message; call decoder_close() in both cases.
 */
int decoder_read(struct decoder *decoder, const char *path, const char *past, const char *present,
		 struct gguf_error *error);
/*
 * Builds the graphs for texts of up to @length tokens; prompts are read in blocks of @block tokens
 * if the model can. Returns 0, or -1 with a message.
 */
int decoder_open(struct decoder *decoder, WNNContext context, uint32_t length, uint32_t block,
		 struct gguf_error *error);
void decoder_close(struct decoder *decoder);

/*
 * Each does what the function of gguf/session.h does that has gguf_ in place of decoder_;
 * decoder_feed() does what gguf_session_feed() does.
 */
int decoder_caches_open(struct gguf_caches *caches, const struct decoder *decoder,
			struct gguf_error *error);
int decoder_caches_clear(struct gguf_caches *caches, const struct decoder *decoder,
			 struct gguf_error *error);
void decoder_caches_close(struct gguf_caches *caches, const struct decoder *decoder);
int decoder_feed(struct decoder *decoder, struct gguf_caches *caches, const uint32_t *tokens,
		 size_t count, float *logits, struct gguf_error *error);

#endif
