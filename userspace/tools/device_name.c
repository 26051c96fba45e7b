// SPDX-License-Identifier: MIT
/* Checks and writes the names of devices. */
#include "device_name.h"

#include <stdio.h>
#include <string.h>

#define NODE "/dev/accel/accel"

bool device_name_is_npu(const char *name)
{
	if (!strcmp(name, "npu"))
		return true;
	return !strncmp(name, "npu:", 4) && name[4] &&
	       strspn(name + 4, "0123456789") == strlen(name + 4);
}

bool device_name_is(const char *name)
{
	return device_name_is_npu(name) || !strcmp(name, "sim") || !strcmp(name, "cpu");
}

void device_name_of(const WNNDeviceInfo *info, const char *asked, char *text, size_t size)
{
	const WNNStringView *node = &info->nodePath;
	const size_t prefix = sizeof(NODE) - 1;

	snprintf(text, size, "%.*s", (int)info->device.length, info->device.data);
	if (strcmp(text, "npu") || node->length <= prefix || memcmp(node->data, NODE, prefix))
		return;
	if (!strncmp(node->data, NODE "0", node->length) && !(asked && strchr(asked, ':')))
		return;
	snprintf(text, size, "npu:%.*s", (int)(node->length - prefix), node->data + prefix);
}
