// SPDX-License-Identifier: MIT
/* onpu-smi reset: resets a device (function-level reset), or binds the driver again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "device.h"
#include "smi.h"
#include "tree.h"

enum { KEY_REBIND = 0x500 };

#define DRIVER "/sys/bus/pci/drivers/onpu"

static const struct argp_option reset_options[] = {
	{ "rebind", KEY_REBIND, NULL, 0,
	  "Take the driver from the device and bind it again, which loads the firmware's file anew; "
	  "programs that have it open lose it",
	  0 },
	{ 0 }
};

struct reset {
	struct options common;
	bool rebind;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct reset *reset = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &reset->common;
		break;
	case KEY_REBIND:
		reset->rebind = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int complain_write(const struct device *device, const char *what, int error)
{
	if (error == -EACCES || error == -EPERM)
		return complain(FAILED,
				"%s: only root may reset a device: sudo onpu-smi reset -d %s",
				device->address, device->address);
	if (error == -ENOENT)
		return complain(FAILED,
				"%s: no %s is possible: the driver is not loaded (modprobe onpu), "
				"its firmware is missing (dmesg tells), or the device or kernel "
				"does not offer it",
				device->address, what);
	return complain(FAILED,
			"%s: the %s failed: %s; the kernel's log (dmesg) or onpu-smi check tells "
			"more",
			device->address, what, strerror(-error));
}

static int reset_function(const struct device *device)
{
	int error = tree_write("1", "/sys/bus/pci/devices/%s/reset", device->address);

	return error ? complain_write(device, "function reset", error) : DONE;
}

static int rebind(const struct device *device)
{
	int error = 0;

	if (!strcmp(device->driver, "onpu"))
		error = tree_write(device->address, DRIVER "/unbind");
	if (!error)
		error = tree_write(device->address, DRIVER "/bind");
	return error ? complain_write(device, "new binding", error) : DONE;
}

static size_t files_open(const struct device *device)
{
	struct clients clients = clients_find();
	size_t count = 0;

	for (size_t i = 0; i < clients.count; i++)
		count += !strcmp(clients.list[i].address, device->address);
	clients_free(&clients);
	return count;
}

/*
 * Prints the state of the device after the reset, and how many open files have it. Returns DONE, or
 * FAILED after a message when the device does not work.
 */
static int tell(const struct reset *reset, const struct device *old)
{
	struct devices devices = devices_find(true);
	int ret = devices_choose(&devices, old->address);
	const struct device *device = devices.list;
	size_t files;

	if (ret != DONE) {
		devices_free(&devices);
		return ret;
	}
	files = files_open(device);
	if (device->state == STATE_WEDGED || device->state == STATE_GONE ||
	    device->state == STATE_NO_DRIVER || device->state == STATE_NO_NODE)
		ret = complain(FAILED, "%s: it is %s after the reset: %s", device->address,
			       device_state_name(device->state), device_state_text(device->state));
	else if (reset->common.json)
		ret = write_json(json_pack("{s:s, s:s, s:s, s:I, s:I}", "address", device->address,
					   "method", reset->rebind ? "rebind" : "function", "state",
					   device_state_name(device->state), "resets",
					   (json_int_t)device->resets, "files", (json_int_t)files),
				 JSON_INDENT(2));
	else
		printf("%s was %s and is %s now. %zu open file%s it; jobs under way were "
		       "cancelled.\n",
		       device->address, reset->rebind ? "bound anew" : "reset",
		       device_state_name(device->state), files, files == 1 ? " has" : "s have");
	devices_free(&devices);
	return ret;
}

static int reset_one(const struct reset *reset, const struct device *device)
{
	int ret;

	if (device->state == STATE_OTHER_DRIVER)
		return complain(
			FAILED,
			"%s: it belongs to the driver %s, which has to reset it, or to let it go",
			device->address, device->driver);
	/* A reset of such a device would block in the kernel for more than a minute. */
	if (device->state == STATE_GONE)
		return complain(FAILED,
				"%s: it does not answer on the bus, so it cannot be reset; "
				"onpu-smi check tells what helps",
				device->address);
	/* Without a driver nothing uses the device, so that a reset helps nobody. */
	if (!reset->rebind && device->state == STATE_NO_DRIVER)
		return complain(FAILED,
				"%s: it has no driver; onpu-smi reset --rebind tries to bind "
				"it, onpu-smi check tells why it is not bound",
				device->address);
	ret = reset->rebind ? rebind(device) : reset_function(device);
	return ret == DONE ? tell(reset, device) : ret;
}

int command_reset(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = reset_options,
		.parser = parse,
		.doc = "Reset a device and start its firmware anew, as root. Jobs under way are "
		       "cancelled; contexts go on. It also revives a device that is wedged. Which "
		       "one has to be said where there are several.",
		.children = children,
	};
	struct reset reset = { .rebind = false };
	struct devices devices;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &reset);
	devices = devices_find(false);
	ret = devices_choose(&devices, reset.common.device);
	if (ret == DONE && devices.count > 1)
		ret = complain(FAILED, "there are %zu devices: say which one with --device",
			       devices.count);
	if (ret == DONE)
		ret = reset_one(&reset, devices.list);
	devices_free(&devices);
	return ret;
}
