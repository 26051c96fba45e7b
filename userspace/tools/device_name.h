/* SPDX-License-Identifier: MIT */
/* Names of devices as users write them: npu, npu:NUMBER, sim, cpu. */
#ifndef ONPU_TOOLS_DEVICE_NAME_H
#define ONPU_TOOLS_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include <webnn/webnn_npu.h>

#define DEVICE_NAMES "npu, npu:NUMBER, sim and cpu"

/* Returns whether a device may have this name; the library tells whether there is one. */
bool device_name_is(const char *name);

/* Returns whether the name is that of an NPU, with or without a number. */
bool device_name_is_npu(const char *name);

/*
 * Writes the name of the device that @info describes: "npu:1" for the NPU behind /dev/accel/accel1,
 * "sim" or "cpu". The NPU behind accel0 is "npu", unless the user, who wrote @asked, gave its
 * number; @asked may be NULL.
 */
void device_name_of(const WNNDeviceInfo *info, const char *asked, char *text, size_t size);

#endif
