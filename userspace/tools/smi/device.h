/* SPDX-License-Identifier: MIT */
/* onpu-smi: the devices of this machine, and what driver and device tell of themselves. */
#ifndef ONPU_TOOLS_SMI_DEVICE_H
#define ONPU_TOOLS_SMI_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/onpu_accel.h>

/* The state of a device. */
enum device_state {
	STATE_READY,	     /* it answers */
	STATE_GONE,	     /* it does not answer on the bus */
	STATE_WEDGED,	     /* the driver has given it up */
	STATE_NO_DRIVER,     /* no driver is bound to it */
	STATE_OTHER_DRIVER,  /* one that is not ours, such as vfio-pci */
	STATE_NO_NODE,	     /* the driver is bound, but there is no node */
	STATE_NO_PERMISSION, /* this user may not open its node */
	STATE_UNKNOWN,	     /* it was not asked, or did not answer */
};

#define DEVICE_CAPS 64

struct device {
	char address[16];  /* 0000:01:00.0 */
	char driver[32];   /* empty: none */
	char node[16];	   /* accel0; empty: none */
	char firmware[64]; /* as the driver shows it; empty: it does not */
	char power[16];	   /* D0; empty: the kernel does not tell */
	char link_speed[32];
	uint32_t link_width, revision;
	int32_t numa_node; /* -1: none */
	uint32_t vectors;  /* interrupts */
	/* From sysfs, for everybody; valid when the driver is ours. */
	uint64_t busy_us, memory, clock_mhz, max_clock_mhz, resets;

	enum device_state state;
	int error; /* of the attempt to ask it, an errno; 0: it has answered */
	/* Its answers. */
	struct drm_onpu_dev_info info;
	struct drm_onpu_firmware_info firmware_info;
	struct drm_onpu_counters counters;
	uint32_t caps[DEVICE_CAPS];
};

/* One of "ready", "wedged" and so on; and what it means, with what helps. */
const char *device_state_name(enum device_state state);
const char *device_state_text(enum device_state state);

/* The value of a capability register; 0 where the device has no such. */
uint32_t device_cap(const struct device *device, uint32_t reg);

struct devices {
	struct device *list;
	size_t count;
};

/* All Open NPUs, in the order of their addresses; with @ask, each is asked for its properties. */
struct devices devices_find(bool ask);
void devices_free(struct devices *devices);

/* Opens its node; a negative errno on failure. */
int device_open(const struct device *device);

/* Reads what sysfs tells of a device again. */
void device_read(struct device *device);

/*
 * Leaves those that the option --device means, or all when it was not given. Returns DONE, or an
 * exit code after a message when there are none.
 */
int devices_choose(struct devices *devices, const char *wanted);

#endif
