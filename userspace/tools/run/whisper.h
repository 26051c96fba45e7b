/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: a Whisper model on a device. */
#ifndef ONPU_TOOLS_RUN_WHISPER_H
#define ONPU_TOOLS_RUN_WHISPER_H

#include <gguf/vocabulary.h>

#include "bytes.h"
#include "subject.h"
#include "whisper_step.h"

/* A graph with its tensors, which belong to whisper.tensors. */
struct whisper_stage {
	WNNOnnxModel model;
	WNNGraph graph;
	WNNNamedTensor *inputs, *outputs;
	size_t input_count, output_count;
};

/* A tensor that one stage or the program writes, and another stage or the program reads. */
struct whisper_tensor {
	char *name;
	WNNTensor tensor;
	WNNOperandDataType type;
	size_t elements;
	bool cache; /* has rows of past tokens */
};

/* What is used of config.json, generation_config.json and preprocessor_config.json. */
struct whisper_config {
	struct whisper_sizes sizes;
	uint32_t mels, frames; /* of the spectrogram */
	bool multilingual;
	json_t *suppressed, *first_suppressed; /* arrays of tokens, or NULL */
};

struct whisper {
	char *encoder_path, *cross_path, *step_path;
	struct whisper_config config;
	struct bytes keys;
	struct gguf gguf;
	struct gguf_vocabulary vocabulary;
	char *piece; /* room for the text of any token */
	struct target target;
	/*
	 * encoder: encodes the audio; cross: computes each layer's keys and values from its result;
	 * step: takes a token and computes the logits of the next one. encoder and cross run once
	 * for each config.frames of the spectrogram.
	 */
	struct whisper_stage encoder, cross, step;
	struct whisper_tensor *tensors;
	size_t tensor_count;
	uint32_t rows; /* number of logits */
	float *logits, *input;
	void *scratch;
	uint32_t used; /* positions of the caches with tokens */
};

/*
 * Reads the files of a folder, or of its folder "onnx". All return DONE, or an exit code after a
 * message; whisper_close() is called in any case.
 */
int whisper_read(struct whisper *whisper, const char *folder);
/* Opens the device of the options and builds the graphs. */
int whisper_build(struct whisper *whisper, const struct options *options);
/* Listens to samples, at most config.frames * MEL_HOP, before the first of their tokens. */
int whisper_listen(struct whisper *whisper, const float *samples, size_t count);
/* Appends a token, and writes the logits of the next one to whisper.logits. */
int whisper_feed(struct whisper *whisper, uint32_t token);
void whisper_close(struct whisper *whisper);

#endif
