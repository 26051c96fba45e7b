// SPDX-License-Identifier: MIT
/* Says what errors of the kernel's driver mean. */
#include "winsys/drm_error.h"

#include <errno.h>
#include <string.h>

int drm_gone_error(struct wnn_error *err)
{
	return wnn_error_set(err, WNN_UNKNOWN_ERROR,
			     "the NPU is gone: it was removed, its driver was unbound, or the "
			     "driver gave it up after failed resets; make a new context when it is "
			     "back");
}

const char *drm_bo_error(int ret)
{
	return ret == -ENOSPC ? "the NPU's driver gives this user, or all users together, no more "
				"than its limits of memory" :
				strerror(-ret);
}

int drm_ctx_error(const struct drm_onpu_dev_info *info, int why, struct wnn_error *err)
{
	switch (why) {
	case ENOSPC:
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"the NPU gives this user no more contexts: all of its programs together "
			"may have %u, and limited memory; release contexts, or end other programs "
			"that use the NPU",
			/* Drivers before 1.1 have a limit of each file alone. */
			info->max_user_contexts ? info->max_user_contexts : info->max_contexts);
	case ENODEV:
		return drm_gone_error(err);
	default:
		return wnn_error_set(err, WNN_UNKNOWN_ERROR,
				     "the driver cannot make a context on the NPU: %s",
				     why == EPERM ? "this user is banned for some minutes; dmesg "
						    "tells why" :
						    strerror(why));
	}
}

int drm_submit_error(const struct drm_onpu_dev_info *info, int why, struct wnn_error *err)
{
	switch (why) {
	case EIO:
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"the context on the NPU is lost, as an earlier job of this user failed; "
			"make a new context, and if that is refused, wait until the ban ends that "
			"dmesg tells of");
	case ENODEV:
		return drm_gone_error(err);
	case ENOMEM:
		return wnn_error_nomem(err, "a job of the NPU");
	case ENOSPC:
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: a context has more than the %u jobs "
			"that the NPU takes at a time",
			info->max_queued_jobs);
	default:
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"the driver refuses a job of the NPU: %s; install onpu-dkms and "
			"libwebnn-npu1 of one release",
			strerror(why));
	}
}
