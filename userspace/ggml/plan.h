/* SPDX-License-Identifier: MIT */
/* Graphs of ggml as graphs of WebNN, which are kept for the next time. Callers hold onpu.lock. */
#ifndef ONPU_GGML_PLAN_H
#define ONPU_GGML_PLAN_H

#include "emit.h"

/* supports.c: returns whether the device computes the operator of a tensor. */
bool onpu_supports(const struct gg_tensor *op);

/* plan.c: computes a graph of operators that are supported. Returns 0, or -1 after onpu_say(). */
int onpu_compute(struct gg_graph *graph);
/* Forgets all that is kept, before weights change or memory goes. */
void onpu_forget(void);

/* step.c: a part of a graph of ggml, computed by one dispatch or moved by the host. */
struct onpu_step;
/* Returns a step that moves elements; NULL after onpu_say(). */
struct onpu_step *onpu_step_move(const struct gg_tensor *node);
/*
 * Returns a step that computes the values of e, of which those that later ones overwrite are not
 * kept; NULL after onpu_say(). Takes over what e has, in any case.
 */
struct onpu_step *onpu_step_build(struct onpu_emit *e);
/* Returns 0, or -1 after onpu_say(). */
int onpu_step_run(struct onpu_step *step);
/* Frees a step. Returns the next one. */
struct onpu_step *onpu_step_free(struct onpu_step *step);
/* Returns the place of the pointer to the next step. */
struct onpu_step **onpu_step_next(struct onpu_step *step);

#endif
