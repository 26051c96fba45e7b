/* SPDX-License-Identifier: MIT */
/* webnn-run: keeps the graphs of a model, and of its parts, as files of a folder for later runs. */
#ifndef ONPU_TOOLS_RUN_KEPT_H
#define ONPU_TOOLS_RUN_KEPT_H

#include "subject.h"

/*
 * Builds target->graph like wnnOnnxModelBuildSync(), or takes an equal graph from the folder of
 * --keep. A graph that is built is put there; a failure to do so is told and is no failure of the
 * build. A graph with ranges of dimensions is neither taken from there nor put there.
 */
WNNStatus kept_build(struct target *target, struct subject *subject);

#endif
