// SPDX-License-Identifier: MIT
/* webnn-run: joins the other ranks, ends with them, and names files for each rank. */
#include "ranks.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <webnn/stablehlo.h>

static int complain_ranks(void)
{
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	return complain(BAD_DEVICE, "the ranks of this program cannot work together: %.*s",
			(int)error.message.length, error.message.data);
}

int ranks_join(struct ranks *ranks)
{
	WNNStablehloWorldInfo info;

	*ranks = (struct ranks){ .count = 1 };
	if (!wnnStablehloWorldIsStarted())
		return DONE;
	if (wnnStablehloWorldJoin(&ranks->world) != WNNStatus_Success)
		return complain_ranks();
	info = wnnStablehloWorldGetInfo(ranks->world);
	ranks->rank = info.rank;
	ranks->count = info.rankCount;
	ranks->local_rank = info.localRank;
	complain_as(ranks->count > 1 ? (int)ranks->rank : -1);
	return DONE;
}

int ranks_agree(const struct ranks *ranks)
{
	if (!ranks->world || wnnStablehloWorldAgreeSync(ranks->world) == WNNStatus_Success)
		return DONE;
	return complain_ranks();
}

void ranks_leave(struct ranks *ranks, int ret)
{
	char text[60];

	if (ranks->world && ret) {
		snprintf(text, sizeof(text), "webnn-run ends with %d", ret);
		wnnStablehloWorldFail(ranks->world, WNN_STR(text));
	}
	wnnStablehloWorldRelease(ranks->world);
	ranks->world = NULL;
}

/* Returns whether an accelerator is an NPU; nodes of other accelerators are in the same folder. */
static bool is_npu(const char *node)
{
	char link[200], driver[400];
	ssize_t length;

	snprintf(link, sizeof(link), "/sys/class/accel/%s/device/driver", strrchr(node, '/') + 1);
	length = readlink(link, driver, sizeof(driver) - 1);
	driver[length < 0 ? 0 : length] = 0;
	return strrchr(driver, '/') && !strcmp(strrchr(driver, '/'), "/onpu");
}

bool ranks_node(const struct ranks *ranks, const char *device, char *node, size_t room)
{
	const char *wanted = device ? device : getenv("WEBNN_DEVICE");
	glob_t found = { 0 };
	size_t count = 0;

	if (ranks->count < 2 || !wanted || strcmp(wanted, "npu") ||
	    glob("/dev/accel/accel[0-9]*", 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++)
		count += is_npu(found.gl_pathv[i]);
	for (size_t i = 0, left = count > 1 ? ranks->local_rank % count + 1 : 0; left; i++)
		if (is_npu(found.gl_pathv[i]) && !--left)
			snprintf(node, room, "%s", found.gl_pathv[i]);
	globfree(&found);
	return count > 1;
}

bool ranks_has_number(const char *path)
{
	return strstr(path, "%r");
}

char *ranks_path(const struct ranks *ranks, const char *path)
{
	char *name = calloc(1, strlen(path) * 6 + 1), *to = name;

	if (!name || !ranks->world)
		return name ? strcpy(name, path) : NULL;
	while (*path) {
		if (strncmp(path, "%r", 2)) {
			*to++ = *path++;
			continue;
		}
		to += sprintf(to, "%u", ranks->rank);
		path += 2;
	}
	return name;
}
