/* SPDX-License-Identifier: MIT */
/* Kinds of files that people take for models of ONNX. */
#ifndef ONNX_KIND_H
#define ONNX_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "JSON: …", which follows "it is"; NULL when the file is of no kind that is known. */
const char *onnx_kind_of_file(const uint8_t *data, size_t size);

#endif
