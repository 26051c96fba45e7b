/* SPDX-License-Identifier: MIT */
/* Graphs of ggml as graphs of WebNN, which are kept for the next time. Callers hold onpu.lock. */
#ifndef ONPU_GGML_PLAN_H
#define ONPU_GGML_PLAN_H

#include "backend.h"

/* Returns whether the device computes the operator of a tensor. */
bool onpu_supports(const struct gg_tensor *op);

/* Computes a graph of operators that are supported. Returns 0, or -1 with a line on stderr. */
int onpu_compute(struct gg_graph *graph);

#endif
