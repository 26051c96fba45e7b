/* SPDX-License-Identifier: MIT */
/*
 * oneDNN's kernels, for choose.c. A build without oneDNN has onednn/absent.c in their place. The
 * functions *_refuses() load no library: a node that they do not refuse has no plan (NULL) when
 * oneDNN has no fast kernel for it.
 */
#ifndef WNN_CPU_ONEDNN_KERNELS_H
#define WNN_CPU_ONEDNN_KERNELS_H

#include "cpu/plan.h"

const char *cpu_onednn_conv_refuses(const struct cpu_ask *ask);
struct cpu_plan *cpu_onednn_conv_plan(const struct cpu_ask *ask);
const char *cpu_onednn_matmul_refuses(const struct cpu_ask *ask);
struct cpu_plan *cpu_onednn_matmul_plan(const struct cpu_ask *ask);
/*
 * Returns a plan with oneDNN's products; NULL when there is none. The node must be one for which
 * cpu_winograd_refuses() returns NULL.
 */
struct cpu_plan *cpu_onednn_winograd_plan(const struct cpu_ask *ask);

#endif
