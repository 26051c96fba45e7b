/* SPDX-License-Identifier: MIT */
/* webnn-run: what ONNX Runtime computes of a model, where it is installed for python3. */
#ifndef ONPU_TOOLS_RUN_ONNX_RUNTIME_H
#define ONPU_TOOLS_RUN_ONNX_RUNTIME_H

#include "subject.h"

struct onnx_runtime {
	char folder[4096]; /* empty: there is none */
	char *result;	   /* an archive of numpy with the values */
	char version[32];
};

/*
 * Computes these tensors of the main graph with the values of @subject. Types that .npy files do
 * not hold are left out. Returns DONE, or an exit code after a message.
 */
int onnx_runtime_run(struct onnx_runtime *runtime, const struct subject *subject,
		     const char *const *names, size_t count);
void onnx_runtime_close(struct onnx_runtime *runtime);

#endif
