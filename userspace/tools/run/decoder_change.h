/* SPDX-License-Identifier: MIT */
/*
 * webnn-run generate: changes a decoder of ONNX so that it takes several tokens at once and updates
 * its caches in place.
 */
#ifndef ONPU_TOOLS_RUN_DECODER_CHANGE_H
#define ONPU_TOOLS_RUN_DECODER_CHANGE_H

#include <gguf/gguf.h>
#include <webnn/onnx.h>

#include "change.h"

/* The input that the change adds: the index of the token that gets logits, int32 [1]. */
#define DECODER_PICK CHANGE_NEXT "pick"

struct decoder_change {
	WNNOnnxModel model;
	/*
	 * Whether the caches are updated in place, by the inputs and outputs of change_outputs().
	 * If they are not, @reason says why.
	 */
	bool in_place;
	struct gguf_error reason;
	bool sums;		     /* the graph computes positions from the mask */
	char from[CHANGE_NAME_SIZE]; /* DECODER_PICK takes a row of this tensor, in dimension 1 */
};

/*
 * Loads a decoder whose caches are the inputs that begin with @past, and changes it to give logits
 * of one token. Its other outputs are updated caches if @in_place and that is possible, else those
 * of the file that begin with @present and are caches. Returns 0, or -1 with a message; the caller
 * releases change->model, which may be NULL.
 */
int decoder_change_load(struct decoder_change *change, const char *path, const char *past,
			const char *present, bool in_place, struct gguf_error *error);

#endif
