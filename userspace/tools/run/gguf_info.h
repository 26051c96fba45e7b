/* SPDX-License-Identifier: MIT */
/* webnn-run: describes language models in files of GGUF. */
#ifndef ONPU_TOOLS_RUN_GGUF_INFO_H
#define ONPU_TOOLS_RUN_GGUF_INFO_H

#include "run.h"

/* Prints what a file of GGUF holds, as text or JSON. Returns an exit code. */
int gguf_info(const struct options *options);

#endif
