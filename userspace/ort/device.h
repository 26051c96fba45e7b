/* SPDX-License-Identifier: MIT */
/* Checks the names of devices in options of the provider and of onpu-ort-preload.so. */
#ifndef ONPU_ORT_DEVICE_H
#define ONPU_ORT_DEVICE_H

#include <stdbool.h>
#include <string.h>

#define ONPU_DEVICES "npu, npu:NUMBER, sim or cpu"

/* Returns whether a device may have this name; only the library knows whether it exists. */
static inline bool onpu_is_device(const char *name)
{
	if (!strncmp(name, "npu:", 4))
		return name[4] && strspn(name + 4, "0123456789") == strlen(name + 4);
	return !strcmp(name, "npu") || !strcmp(name, "sim") || !strcmp(name, "cpu");
}

#endif
