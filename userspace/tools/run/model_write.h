/* SPDX-License-Identifier: MIT */
/* webnn-run: models written as ONNX files. */
#ifndef ONPU_TOOLS_RUN_MODEL_WRITE_H
#define ONPU_TOOLS_RUN_MODEL_WRITE_H

#include "model_file.h"

/*
 * Takes data that lie in files beside @from, the model's own, into the model, as a file in another
 * folder cannot refer to them. Returns DONE, or an exit code after a message.
 */
int model_take_data(Onnx__ModelProto *model, const char *from);

/*
 * Writes a file, and replaces one of that name only when the new one is complete. Fills @size.
 * Returns DONE, or an exit code after a message.
 */
int model_write(const Onnx__ModelProto *model, const char *path, size_t *size);

#endif
