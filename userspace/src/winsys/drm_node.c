// SPDX-License-Identifier: MIT
/* Finds the nodes of NPUs in /dev/accel, and opens them. */
#include "winsys/drm_node.h"

#include <drm/onpu_accel.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "winsys/winsys.h"

#define MAX_NODES 64u

/*
 * Returns 0 if a node belongs to the driver onpu; ENXIO when it belongs to another driver, or
 * EPROTO when its driver has another major version of the interface.
 */
static int check_driver(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	int ret = ENXIO;

	if (!version)
		return ENXIO;
	if (!strcmp(version->name, "onpu"))
		ret = version->version_major == DRM_ONPU_DRIVER_MAJOR ? 0 : EPROTO;
	drmFreeVersion(version);
	return ret;
}

/* Opens a device node. Returns its file descriptor, or a negative errno. */
static int open_node(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = check_driver(fd);
	if (!ret)
		return fd;
	close(fd);
	return -ret;
}

static const char *open_error(int why)
{
	switch (why) {
	case EACCES:
		return "permission denied; its group, usually render, must include this user";
	case ENODEV:
		return "the NPU was removed, or its driver has given it up after failed resets; "
		       "onpu-smi check tells whether it is back";
	case EPERM:
		return "operation not permitted; the container or service in which this program "
		       "runs must allow the device";
	case ENOSPC:
		return "the driver allows this user, or all users together, no more open files or "
		       "memory of the NPU; end other programs that use the NPU";
	case EPROTO:
		return "its driver speaks another version of the interface; install onpu-dkms and "
		       "libwebnn-npu1 of one release";
	case ENXIO:
		return "it is not a node of the driver onpu";
	default:
		return strerror(why);
	}
}

int winsys_drm_next(unsigned int number)
{
	char path[64];

	for (; number < MAX_NODES; number++) {
		int fd;

		snprintf(path, sizeof(path), WINSYS_NODE, number);
		fd = open_node(path);
		if (fd < 0)
			continue;
		close(fd);
		return (int)number;
	}
	return -1;
}

/*
 * Sets the error of a node that does not open. When no NPU is behind the node, the message lists
 * the NPUs that open.
 */
static void set_open_error(const char *node, int why, struct wnn_error *err)
{
	char list[256] = "";
	size_t length = 0;
	int number;

	if (why != ENOENT && why != ENXIO) {
		wnn_error_set(err, WNN_NOT_SUPPORTED, "the NPU's node %s does not open: %s", node,
			      open_error(why));
		return;
	}
	for (number = winsys_drm_next(0); number >= 0 && length < sizeof(list);
	     number = winsys_drm_next((unsigned int)number + 1))
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%snpu:%d",
					   length ? ", " : "", number);
	wnn_error_set(err, WNN_NOT_SUPPORTED,
		      "the NPU's node %s does not open: %s; NPUs that open: %s", node,
		      open_error(why), length ? list : "none");
}

int drm_node_find(const char *node, char path[64], struct wnn_error *err)
{
	char denied[64] = "";
	int fd, why = 0;

	if (node) {
		fd = open_node(node);
		if (fd < 0)
			set_open_error(node, -fd, err);
		snprintf(path, 64, "%s", node);
		return fd < 0 ? -1 : fd;
	}
	for (unsigned int i = 0; i < MAX_NODES; i++) {
		snprintf(path, 64, WINSYS_NODE, i);
		fd = open_node(path);
		if (fd >= 0)
			return fd;
		if (fd != -ENOENT && fd != -ENXIO && !why) {
			why = -fd;
			memcpy(denied, path, sizeof(denied));
		}
	}
	if (why)
		wnn_error_set(err, WNN_NOT_SUPPORTED, "the NPU's node %s does not open: %s", denied,
			      open_error(why));
	else
		wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"no node of the driver onpu is in /dev/accel, so there is no NPU to use; "
			"onpu-smi check tells why");
	return -1;
}
