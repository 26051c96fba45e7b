/* SPDX-License-Identifier: MIT */
/* webnn-run doctor: the checks of the library and its dependencies. */
#ifndef ONPU_TOOLS_RUN_DOCTOR_H
#define ONPU_TOOLS_RUN_DOCTOR_H

#include <webnn/webnn_npu.h>

#include "../smi/check.h"

/* Checks the processor, the kernels and libraries that compute on it, threads, and huge pages. */
void doctor_cpu(struct check *check, WNNInstance instance);

/* Checks the NPUs of this machine, and what the library reports about its devices. */
void doctor_devices(struct check *check, WNNInstance instance);

#endif
