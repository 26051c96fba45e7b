// SPDX-License-Identifier: MIT
/* onpu-smi check: checks one device: whether it is bound, who may open it, whether it answers. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "kernel_log.h"
#include "text.h"
#include "tree.h"

/* ---- the function on the bus */

static void check_gone(struct check *check, const struct device *device)
{
	check_add_device(check, device, "link", BROKEN,
			 text_of("the device does not answer on the bus: it reads all ones"),
			 text_of("See that it is in its slot and has power; then as root: echo 1 > "
				 "/sys/bus/pci/devices/%s/remove, and echo 1 > /sys/bus/pci/rescan",
				 device->address));
}

/* ---- why it is not bound */

struct reason {
	const char *address;
	char text[256]; /* the last error message of the driver */
};

static bool look_for_reason(void *ctx, const struct log_line *line)
{
	struct reason *reason = ctx;
	const char *text = kernel_log_about(line, reason->address);

	if (text && !strncmp(text, "*ERROR* ", 8))
		snprintf(reason->text, sizeof(reason->text), "%s", text + 8);
	return true;
}

static bool has_flag(const char *flags, const char *flag)
{
	char *text = tree_read(NULL, "/proc/cpuinfo"), *line, *at;
	bool found = false;

	line = text ? strstr(text, flags) : NULL;
	if (line) {
		line[strcspn(line, "\n")] = '\0';
		at = strstr(line, flag);
		found = at && at[-1] == ' ' && (at[strlen(flag)] == ' ' || !at[strlen(flag)]);
	}
	free(text);
	return found;
}

/* Returns why the device cannot reach memory of its driver; NULL: this is not known to be so. */
static const char *memory_reason(const struct reason *reason)
{
	if (has_flag("flags", "tdx_guest"))
		return "this is an encrypted guest (TDX)";
	if (strstr(reason->text, "cannot reach memory of its driver"))
		return "this is an encrypted guest, or its DMA is restricted to a pool";
	return NULL;
}

static void check_memory(struct check *check, const struct device *device, const char *why)
{
	check_add_device(check, device, "memory", BROKEN,
			 text_of("the device cannot reach memory of its driver: %s", why),
			 text_of("Encrypted guests cannot use the device. Elsewhere, remove the "
				 "restricted-dma-pool from the device tree"));
}

static void check_unbound(struct check *check, const struct device *device)
{
	struct reason reason = { .address = device->address };
	const int error = kernel_log_read(false, look_for_reason, &reason);
	const char *memory = memory_reason(&reason);
	char override[64];

	tree_line(override, sizeof(override), "/sys/bus/pci/devices/%s/driver_override",
		  device->address);
	if (*override && strcmp(override, "(null)") && strcmp(override, "onpu"))
		check_add_device(check, device, "binding", BROKEN,
				 text_of("it is kept for the driver %s", override),
				 text_of("As root: echo > /sys/bus/pci/devices/%s/driver_override, "
					 "then onpu-smi reset --rebind",
					 device->address));
	else if (!check->loaded)
		check_add_device(check, device, "binding", BROKEN,
				 text_of("it has no driver, as the module is not loaded"),
				 text_of("See what is wrong above"));
	else if (memory)
		check_memory(check, device, memory);
	else if (*reason.text)
		check_add_device(check, device, "binding", BROKEN,
				 text_of("the driver has refused it: %s", reason.text),
				 text_of("When that is mended, as root: onpu-smi reset --rebind"));
	else
		check_add_device(
			check, device, "binding", BROKEN,
			text_of("the driver is loaded and not bound to it%s",
				error ? "; why, this user may not read" : ""),
			error ? text_of("sudo onpu-smi check reads it in the kernel's log") :
				text_of("As root: onpu-smi reset --rebind. If it fails, dmesg "
					"tells why"));
}

/* ---- who may open it */

/* Returns the name of a group from /etc/group, of the system or its copy; else its number. */
static char *group_name(gid_t gid)
{
	char *text = tree_read(NULL, "/etc/group"), *line, *end, *name = NULL;

	for (line = text; line && *line && !name; line = end) {
		char *fields[3] = { line };

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		for (int i = 1; i < 3 && fields[i - 1]; i++) {
			fields[i] = strchr(fields[i - 1], ':');
			if (fields[i])
				*fields[i]++ = '\0';
		}
		if (fields[2] && strtoul(fields[2], NULL, 10) == gid)
			name = text_of("%s", line);
	}
	free(text);
	return name ? name : text_of("%u", (unsigned int)gid);
}

static void check_permission(struct check *check, const struct device *device,
			     const struct stat *status)
{
	char *group = group_name(status->st_gid);
	const unsigned int mode = status->st_mode & 0777;

	if ((mode & 060) != 060 || !status->st_gid)
		check_add_device(
			check, device, "permission", BROKEN,
			text_of("/dev/accel/%s is for the group %s with mode %03o, and not for this "
				"user",
				device->node, group, mode),
			text_of("Install the package onpu-dkms, whose rule for udev gives it to the "
				"group render; then as root: udevadm trigger /dev/accel/%s",
				device->node));
	else
		check_add_device(
			check, device, "permission", BROKEN,
			text_of("/dev/accel/%s is for the group %s, which this user is not in",
				device->node, group),
			text_of("As root: adduser USER %s. The user has to log in again after that; "
				"id tells the groups",
				group));
	free(group);
}

/* Reports a missing or forbidden device node; returns whether this user may open the node. */
static bool check_node(struct check *check, const struct device *device)
{
	char path[PATH_MAX];
	struct stat status;

	tree_path(path, "/dev/accel/%s", device->node);
	if (!*device->node || stat(path, &status)) {
		check_add_device(check, device, "node", BROKEN,
				 text_of("its node in /dev/accel is missing"),
				 text_of("See that /dev is a devtmpfs, and in a container that "
					 "/dev/accel was given to it"));
		return false;
	}
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS)) {
		check_permission(check, device, &status);
		return false;
	}
	check_add_device(check, device, "permission", FINE,
			 text_of("this user may open /dev/accel/%s", device->node), NULL);
	return true;
}

/* ---- whether it answers */

static void check_answer(struct check *check, const struct device *device)
{
	if (device->state == STATE_READY)
		check_add_device(check, device, "answer", FINE, text_of("the device answers"),
				 NULL);
	else if (device->state == STATE_WEDGED)
		check_add_device(
			check, device, "answer", BROKEN,
			text_of("the driver has given up the device, after resets that failed"),
			text_of("As root: onpu-smi reset -d %s, or with --rebind. dmesg tells what "
				"failed",
				device->address));
	else if (device->error == ENOSPC)
		check_add_device(
			check, device, "answer", BROKEN,
			text_of("the device has no address space left, or this user no memory"),
			text_of("onpu-smi top tells who has what; end programs that are not "
				"needed"));
	else if (!tree_is_copy())
		check_add_device(check, device, "answer", BROKEN,
				 text_of("its node does not open or answer: %s",
					 strerror(device->error)),
				 text_of("See what dmesg tells of the driver onpu"));
}

static void check_history(struct check *check, const struct device *device)
{
	if (device->resets)
		check_add_device(check, device, "resets", HINT,
				 text_of("it was reset %" PRIu64
					 " times since the driver was bound",
					 device->resets),
				 text_of("dmesg | grep 'onpu .*reset:' tells when and why"));
	else
		check_add_device(check, device, "resets", FINE, text_of("it was never reset"),
				 NULL);
}

void check_device(struct check *check, const struct device *device)
{
	if (device->state == STATE_GONE) {
		check_gone(check, device);
		return;
	}
	if (device->state == STATE_OTHER_DRIVER) {
		check_add_device(
			check, device, "binding", BROKEN,
			text_of("it was given to the driver %s, perhaps for a virtual machine",
				device->driver),
			text_of("As root: echo %s > /sys/bus/pci/drivers/%s/unbind, then "
				"onpu-smi reset --rebind",
				device->address, device->driver));
		return;
	}
	if (device->state == STATE_NO_DRIVER) {
		check_unbound(check, device);
		return;
	}
	check_add_device(check, device, "binding", FINE, text_of("the driver is bound to it"),
			 NULL);
	if (check_node(check, device))
		check_answer(check, device);
	check_history(check, device);
}
