/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: a decoder with a past, changed so that its caches are updated in place. */
#ifndef ONPU_TOOLS_RUN_WHISPER_STEP_H
#define ONPU_TOOLS_RUN_WHISPER_STEP_H

#include <webnn/onnx.h>

#include "change.h"

/* The input that the change adds beside those of change_outputs(): the position, int32 [1]. */
#define WHISPER_POSITION CHANGE_NEXT "position"
#define WHISPER_PAST	 "past_key_values."

/* Sizes of the decoder, as config.json has them. */
struct whisper_sizes {
	uint32_t positions, width, heads; /* width: of all heads together */
};

/*
 * Loads a decoder that takes a past, or the branch of a merged one that does, with caches of all
 * positions. Its outputs are logits and, for each input WHISPER_PAST N.decoder.key and .value, the
 * output CHANGE_NEXT and its name, which updates it. Returns DONE, or an exit code after a message;
 * *model is NULL then.
 */
int whisper_step_load(const char *path, const struct whisper_sizes *sizes, WNNOnnxModel *model);

#endif
