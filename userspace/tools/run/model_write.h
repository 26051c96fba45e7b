/* SPDX-License-Identifier: MIT */
/* webnn-run: models written as ONNX files. */
#ifndef ONPU_TOOLS_RUN_MODEL_WRITE_H
#define ONPU_TOOLS_RUN_MODEL_WRITE_H

#include "model_file.h"

/*
 * Copies external data, from files in or below the folder of the model's own file @from, into the
 * model, because a model in another folder cannot refer to them. Returns DONE, or an exit code
 * after a message.
 */
int model_take_data(Onnx__ModelProto *model, const char *from);

/*
 * Writes the model to a file; an existing file is replaced only when the new one is complete. Sets
 * *size. Returns DONE, or an exit code after a message.
 */
int model_write(const Onnx__ModelProto *model, const char *path, size_t *size);

#endif
