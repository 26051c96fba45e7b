/* SPDX-License-Identifier: MIT */
/* webnn-run: the contents of a model's file, for information that the library does not give. */
#ifndef ONPU_TOOLS_RUN_MODEL_FILE_H
#define ONPU_TOOLS_RUN_MODEL_FILE_H

#include <gguf/gguf.h>

#include "onnx.pb-c.h"

/*
 * Parses a model's file into *model, which model_file_free() frees. Only for files that
 * wnnOnnxLoadFile() has accepted, because that limits their nesting depth. Returns DONE, or an exit
 * code after a message.
 */
int model_file_load(const char *path, Onnx__ModelProto **model);
/*
 * Does what model_file_load() does, for any file, and without a copy of the large weights: they
 * become external data, whose file is the one at @path. To load a model that is packed from *model,
 * give the folder of that file. Returns 0, or -1 with a message; the caller calls model_file_free()
 * in both cases.
 */
int model_file_refer(const char *path, Onnx__ModelProto **model, struct gguf_error *error);
void model_file_free(Onnx__ModelProto *model);

/*
 * Complains of a model, with the message of @error. Returns BAD_DEVICE when memory is exhausted or
 * the device failed, else BAD_MODEL.
 */
int complain_model(const char *path, const struct gguf_error *error);

/* Returns the library's name of a node: the node's own name, or the name of its first output. */
const char *node_label(const Onnx__NodeProto *node);

#endif
