/* SPDX-License-Identifier: MIT */
/* Computes graphs of ggml by graphs of WebNN, which are kept. Callers hold onpu.lock. */
#ifndef ONPU_GGML_PLAN_H
#define ONPU_GGML_PLAN_H

#include "emit.h"

/* supports.c: returns whether the device computes the operator of a tensor. */
bool onpu_supports(const struct gg_tensor *op);

/* plan.c: computes a graph of operators that are supported. Returns 0, or -1 after onpu_say(). */
int onpu_compute(struct gg_graph *graph);
/*
 * Forgets the graphs that use a part of this memory, and repacked weights of it, before weights
 * change or memory is freed.
 */
void onpu_forget(const void *data, size_t size);

/* step.c: a part of a graph of ggml, computed by one dispatch or moved by the host. */
struct onpu_step;
/* Returns a step that moves elements; NULL after onpu_say(). */
struct onpu_step *onpu_step_move(const struct gg_tensor *node);
/*
 * Returns a step that computes the values of e and writes them to ggml's memory, but for values
 * that later ones overwrite; NULL after onpu_say(). What e holds is taken over in any case.
 */
struct onpu_step *onpu_step_build(struct onpu_emit *e);
/* Runs a step. Returns 0, or -1 after onpu_say(). */
int onpu_step_run(struct onpu_step *step);
/* Frees a step. Returns the next one. */
struct onpu_step *onpu_step_free(struct onpu_step *step);
/* Returns whether the host computes a step. */
bool onpu_step_is_move(const struct onpu_step *step);
/* Returns where a step has the pointer to the next one. */
struct onpu_step **onpu_step_next(struct onpu_step *step);

#endif
