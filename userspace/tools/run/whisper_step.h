/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: a decoder with a past, changed so that its caches are updated in place. */
#ifndef ONPU_TOOLS_RUN_WHISPER_STEP_H
#define ONPU_TOOLS_RUN_WHISPER_STEP_H

#include <webnn/onnx.h>

/*
 * Inputs that the change adds: where rows go in all caches, int32 [1, heads, 1, 3] with [0, head,
 * position]; the position of the token, int32 [1]; what is added to the scores of each position of
 * the caches, 0 where it has a token, in the type of the caches.
 */
#define WHISPER_ROWS	 "transcribe/rows"
#define WHISPER_POSITION "transcribe/position"
#define WHISPER_MASK	 "transcribe/mask"
/* The names of inputs with a past, and what their outputs have in place of it. */
#define WHISPER_PAST "past_key_values."
#define WHISPER_NEXT "transcribe/"

/* Sizes of the decoder, as config.json has them. */
struct whisper_sizes {
	uint32_t positions, width, heads; /* width: of all heads together */
};

/*
 * Loads a decoder that takes a past, or the branch of a merged one that does, with caches of all
 * positions. Its outputs are logits and, for each input WHISPER_PAST N.decoder.key and .value, the
 * output WHISPER_NEXT N.decoder.key and .value, which updates it. Returns DONE, or an exit code
 * after a message; *model is NULL then.
 */
int whisper_step_load(const char *path, const struct whisper_sizes *sizes, WNNOnnxModel *model);

#endif
