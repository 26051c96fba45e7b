/* SPDX-License-Identifier: MIT */
/* webnn-run: results of ONNX Runtime for a model, where python3 has it installed. */
#ifndef ONPU_TOOLS_RUN_ONNX_RUNTIME_H
#define ONPU_TOOLS_RUN_ONNX_RUNTIME_H

#include "subject.h"

struct onnx_runtime {
	char folder[4096]; /* path of a folder for temporary files; empty: there is none */
	char *result;	   /* path of the .npz file with the values */
	char version[32];
};

/*
 * Computes these tensors of the main graph for the values of @subject. Tensors of other elements
 * than real numbers and booleans, such as strings, are left out. Returns DONE, or an exit code
 * after a message.
 */
int onnx_runtime_run(struct onnx_runtime *runtime, const struct subject *subject,
		     const char *const *names, size_t count);
void onnx_runtime_close(struct onnx_runtime *runtime);

#endif
