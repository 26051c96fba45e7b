/* SPDX-License-Identifier: MIT */
/* onpu-smi: the devices of this machine, and what driver and device report about them. */
#ifndef ONPU_TOOLS_SMI_DEVICE_H
#define ONPU_TOOLS_SMI_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/onpu_accel.h>

enum device_state {
	STATE_READY,	     /* the device answers */
	STATE_GONE,	     /* the device does not answer on the bus */
	STATE_WEDGED,	     /* the driver has given it up */
	STATE_NO_DRIVER,     /* no driver is bound to the device */
	STATE_OTHER_DRIVER,  /* another driver is bound, such as vfio-pci */
	STATE_NO_NODE,	     /* the driver is bound, but there is no device node */
	STATE_NO_PERMISSION, /* this user may not open the device node */
	STATE_UNKNOWN,	     /* the device was not asked, or did not answer */
};

#define DEVICE_CAPS 64

struct device {
	char address[16];  /* PCI address, such as 0000:01:00.0 */
	char driver[32];   /* empty: no driver is bound */
	char node[16];	   /* such as accel0; empty: none */
	char firmware[64]; /* version as the driver shows it; empty: it does not */
	char power[16];	   /* power state, such as D0; empty: the kernel does not tell */
	char link_speed[32];
	uint32_t link_width, revision;
	int32_t numa_node; /* -1: none */
	uint32_t vectors;  /* number of interrupt vectors */
	/* From sysfs, readable by everybody; valid when our driver is bound. */
	uint64_t busy_us, memory, clock_mhz, max_clock_mhz, resets;

	enum device_state state;
	int error; /* errno of the attempt to query the device; 0: it has answered */
	/* The device's answers. */
	struct drm_onpu_dev_info info;
	struct drm_onpu_firmware_info firmware_info;
	struct drm_onpu_counters counters;
	uint32_t caps[DEVICE_CAPS];
};

/* The first returns a name such as "ready" or "wedged", the second its meaning and what to do. */
const char *device_state_name(enum device_state state);
const char *device_state_text(enum device_state state);

/* Returns a capability register; 0: the device does not have it. */
uint32_t device_cap(const struct device *device, uint32_t reg);

struct devices {
	struct device *list;
	size_t count;
};

/* Returns all Open NPUs, sorted by address; with @ask, each is queried for its properties. */
struct devices devices_find(bool ask);
void devices_free(struct devices *devices);

/* Opens the device node. Returns a file descriptor, or a negative errno. */
int device_open(const struct device *device);

/* Reads the fields from sysfs again. */
void device_read(struct device *device);

/*
 * Keeps the devices that --device names, or all when it was not given. Returns DONE, or an exit
 * code after a message when there are none.
 */
int devices_choose(struct devices *devices, const char *wanted);

#endif
