// SPDX-License-Identifier: MIT
/* onpu-smi: chooses the device that the option --device names. */
#include <string.h>

#include "device.h"
#include "smi.h"
#include "tree.h"

/*
 * Returns whether the option means this device. The address may lack its domain, the node's name
 * may have folders, and npu:1 is the library's name for accel1.
 */
static bool is_wanted(const struct device *device, const char *wanted)
{
	return !strcmp(device->address, wanted) ||
	       (!strncmp(device->address, "0000:", 5) && !strcmp(device->address + 5, wanted)) ||
	       (*device->node && !strcmp(device->node, tree_base(wanted))) ||
	       (!strncmp(device->node, "accel", 5) && !strncmp(wanted, "npu:", 4) &&
		!strcmp(device->node + 5, wanted + 4));
}

int devices_choose(struct devices *devices, const char *wanted)
{
	size_t kept = 0;

	if (!devices->count)
		return complain(WRONG,
				"there is no Open NPU among the PCI devices of this machine; "
				"onpu-smi check tells what helps");
	for (size_t i = 0; wanted && i < devices->count; i++)
		if (is_wanted(&devices->list[i], wanted))
			devices->list[kept++] = devices->list[i];
	if (!wanted)
		return DONE;
	devices->count = kept;
	if (kept)
		return DONE;
	return complain(WRONG,
			"--device %s is not an Open NPU; onpu-smi info lists those of "
			"this machine",
			wanted);
}
