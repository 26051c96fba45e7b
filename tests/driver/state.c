// SPDX-License-Identifier: MIT
/*
 * Asks for the state of an idle context again and again, for guest_queues.sh: driver-state NODE
 * SECONDS. Prints how often.
 */
#include "npu.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	unsigned long calls = 0;
	struct npu_ctx ctx;
	time_t end;
	int fd;

	must(argc == 3);
	fd = npu_open_node(argv[1]);
	ctx = npu_ctx(fd, 0);
	end = time(NULL) + atoi(argv[2]);
	for (; time(NULL) < end; calls++) {
		struct drm_onpu_ctx_get_state args = { .ctx_id = ctx.id };

		must(!npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &args));
	}
	printf("%lu\n", calls);
	return 0;
}
