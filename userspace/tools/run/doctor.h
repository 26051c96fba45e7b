/* SPDX-License-Identifier: MIT */
/* webnn-run doctor: the checks of the library and its dependencies. */
#ifndef ONPU_TOOLS_RUN_DOCTOR_H
#define ONPU_TOOLS_RUN_DOCTOR_H

#include <webnn/webnn_npu.h>

#include "../smi/check.h"

/* The processor, what it computes with, threads, pages of memory. */
void doctor_cpu(struct check *check, WNNInstance instance);

/* The NPUs of this machine, and what the library says of its devices. */
void doctor_devices(struct check *check, WNNInstance instance);

#endif
