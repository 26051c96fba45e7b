/* SPDX-License-Identifier: MIT */
/* Kinds of files that users take for ONNX models. */
#ifndef ONNX_KIND_H
#define ONNX_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns a text such as "JSON: …", which completes "it is …"; NULL: the file is of no known kind.
 */
const char *onnx_kind_of_file(const uint8_t *data, size_t size);

/* Returns a text as onnx_kind_of_file() does, for a folder, by the files in it. */
const char *onnx_kind_of_folder(const char *path);

#endif
