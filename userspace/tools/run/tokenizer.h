/* SPDX-License-Identifier: MIT */
/* webnn-run generate: the tokenizer of a model of ONNX, from the files beside it. */
#ifndef ONPU_TOOLS_RUN_TOKENIZER_H
#define ONPU_TOOLS_RUN_TOKENIZER_H

#include <gguf/gguf.h>
#include <jansson.h>

#include "bytes.h"

/*
 * Returns the JSON of a file in the model's folder or the one above it, which the caller gives back
 * with json_decref(); NULL on failure, with a message unless there is no such file.
 */
json_t *tokenizer_json(const char *model, const char *name, struct gguf_error *error);

/*
 * Reads tokenizer.json, and what config.json and tokenizer_config.json say of special tokens and
 * conversations, from the folder of a model or the one above it. Appends a file of GGUF that has
 * the keys for it and no tensors, for the tokenizers of import/gguf. Returns 0, or -1 with a
 * message.
 */
int tokenizer_read(const char *model, struct bytes *file, struct gguf_error *error);

#endif
