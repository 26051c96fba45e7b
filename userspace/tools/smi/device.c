// SPDX-License-Identifier: MIT
/* onpu-smi: finds the devices of this machine, and reads what driver and device report. */
#include "device.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include <onpu/registers.h>

#include "tree.h"

#define DEVICES "/sys/bus/pci/devices"

static const struct {
	const char *name, *text;
} states[] = {
	[STATE_READY] = { "ready", "it answers" },
	[STATE_GONE] = { "gone", "it does not answer on the bus; onpu-smi check tells what helps" },
	[STATE_WEDGED] = { "wedged", "the driver has given it up; onpu-smi reset may revive it" },
	[STATE_NO_DRIVER] = { "no-driver", "it has no driver; onpu-smi check tells why" },
	[STATE_OTHER_DRIVER] = { "other-driver", "it was given to another driver" },
	[STATE_NO_NODE] = { "no-node", "its driver has made no node; onpu-smi check tells why" },
	[STATE_NO_PERMISSION] = { "no-permission", "this user may not open its node; onpu-smi "
						   "check tells what helps" },
	[STATE_UNKNOWN] = { "unknown", "it was not asked, or did not answer" },
};

const char *device_state_name(enum device_state state)
{
	return states[state].name;
}

const char *device_state_text(enum device_state state)
{
	return states[state].text;
}

uint32_t device_cap(const struct device *device, uint32_t reg)
{
	uint32_t at = (reg - ONPU_REG_CAP_MACHINE) / 4;

	return at < DEVICE_CAPS ? device->caps[at] : 0;
}

/* ---- what sysfs tells */

/* Returns whether a device is gone: reads of its configuration return all ones then. */
static bool is_gone(const struct device *device)
{
	size_t size = 0;
	char *config = tree_read(&size, DEVICES "/%s/config", device->address);
	const bool gone = config && size >= 4 && !memcmp(config, "\xff\xff\xff\xff", 4);

	free(config);
	return gone;
}

static void read_numbers(struct device *device)
{
	const char *at = device->address;

	device->revision = (uint32_t)tree_number(0, DEVICES "/%s/revision", at);
	device->link_width = (uint32_t)tree_number(0, DEVICES "/%s/current_link_width", at);
	device->busy_us = tree_number(0, DEVICES "/%s/npu_busy_time_us", at);
	device->memory = tree_number(0, DEVICES "/%s/npu_memory_utilization", at);
	device->clock_mhz = tree_number(0, DEVICES "/%s/npu_current_frequency_mhz", at);
	device->max_clock_mhz = tree_number(0, DEVICES "/%s/npu_max_frequency_mhz", at);
	device->resets = tree_number(0, DEVICES "/%s/reset_count", at);
}

void device_read(struct device *device)
{
	struct tree_names names;
	char path[PATH_MAX], text[16];

	if (tree_link(path, sizeof(path), DEVICES "/%s/driver", device->address))
		path[0] = '\0';
	snprintf(device->driver, sizeof(device->driver), "%s", tree_base(path));
	names = tree_list(DEVICES "/%s/accel", device->address);
	snprintf(device->node, sizeof(device->node), "%s", names.count ? names.names[0] : "");
	tree_names_free(&names);
	names = tree_list(DEVICES "/%s/msi_irqs", device->address);
	device->vectors = (uint32_t)names.count;
	tree_names_free(&names);
	tree_line(device->firmware, sizeof(device->firmware), DEVICES "/%s/fw_version",
		  device->address);
	tree_line(device->power, sizeof(device->power), DEVICES "/%s/power_state", device->address);
	tree_line(device->link_speed, sizeof(device->link_speed), DEVICES "/%s/current_link_speed",
		  device->address);
	device->numa_node = -1;
	if (!tree_line(text, sizeof(text), DEVICES "/%s/numa_node", device->address))
		device->numa_node = atoi(text);
	read_numbers(device);
	if (is_gone(device))
		device->state = STATE_GONE;
	else if (!*device->driver)
		device->state = STATE_NO_DRIVER;
	else if (strcmp(device->driver, "onpu"))
		device->state = STATE_OTHER_DRIVER;
	else
		device->state = *device->node ? STATE_UNKNOWN : STATE_NO_NODE;
}

/* ---- what the device answers */

int device_open(const struct device *device)
{
	char path[PATH_MAX];
	int fd = open(tree_path(path, "/dev/accel/%s", device->node), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int ask(int fd, uint32_t type, void *answer, size_t size)
{
	struct drm_onpu_dev_query query = {
		.type = type,
		.size = (uint32_t)size,
		.pointer = (uintptr_t)answer,
	};

	return drmIoctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &query) ? -errno : 0;
}

static int ask_all(int fd, struct device *device)
{
	int ret = ask(fd, DRM_ONPU_DEV_QUERY_INFO, &device->info, sizeof(device->info));

	if (!ret)
		ret = ask(fd, DRM_ONPU_DEV_QUERY_CAPS, device->caps, sizeof(device->caps));
	if (!ret)
		ret = ask(fd, DRM_ONPU_DEV_QUERY_FIRMWARE, &device->firmware_info,
			  sizeof(device->firmware_info));
	if (!ret)
		ret = ask(fd, DRM_ONPU_DEV_QUERY_COUNTERS, &device->counters,
			  sizeof(device->counters));
	return ret;
}

static void ask_device(struct device *device)
{
	int fd, ret;

	device->error = ENODATA;
	if (device->state != STATE_UNKNOWN || tree_is_copy())
		return;
	fd = device_open(device);
	ret = fd < 0 ? fd : ask_all(fd, device);
	if (fd >= 0)
		close(fd);
	device->error = -ret;
	if (!ret)
		device->state = STATE_READY;
	else if (ret == -ENODEV)
		device->state = STATE_WEDGED;
	else if (ret == -EACCES || ret == -EPERM)
		device->state = STATE_NO_PERMISSION;
}

/* ---- lists of them */

struct devices devices_find(bool want_answers)
{
	struct tree_names names = tree_list(DEVICES);
	struct devices devices = { calloc(names.count + 1, sizeof(*devices.list)), 0 };

	if (!devices.list)
		errx(2, "memory is exhausted");
	for (size_t i = 0; i < names.count; i++) {
		struct device *device = &devices.list[devices.count];
		const char *name = names.names[i];

		if (tree_number(0, DEVICES "/%s/vendor", name) != ONPU_PCI_VENDOR ||
		    tree_number(0, DEVICES "/%s/device", name) != ONPU_PCI_DEVICE)
			continue;
		snprintf(device->address, sizeof(device->address), "%s", name);
		device_read(device);
		device->error = ENODATA;
		if (want_answers)
			ask_device(device);
		devices.count++;
	}
	tree_names_free(&names);
	return devices;
}

void devices_free(struct devices *devices)
{
	free(devices->list);
	devices->list = NULL;
	devices->count = 0;
}
