// SPDX-License-Identifier: MIT
/*
 * Holds memory of the device for guest_memory.sh: memory NODE MIB [UID] creates a buffer, as the
 * user UID if it is given, and prints "ready" or "error ERRNO". It ends when its standard input
 * does.
 */
#include "npu.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct drm_onpu_bo_create create = { .flags = DRM_ONPU_BO_NO_MMAP };
	int fd, error;

	must(argc > 2);
	create.size = strtoull(argv[2], NULL, 10) << 20;
	/* The driver charges the real user; the node is opened as root. */
	must(argc == 3 || !setreuid((uid_t)atoi(argv[3]), 0));
	fd = npu_open_node(argv[1]);
	error = npu_ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &create);
	if (error)
		printf("error %d\n", error);
	else
		puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
