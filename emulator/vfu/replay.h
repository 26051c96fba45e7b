/* SPDX-License-Identifier: MIT */
/* Replays a recording: the device gets what it got, and what it does is compared. */
#ifndef ONPU_VFU_REPLAY_H
#define ONPU_VFU_REPLAY_H

#include <stddef.h>
#include <stdint.h>

enum vfu_replay_result {
	VFU_REPLAY_SAME,
	VFU_REPLAY_DIFFERS,
	VFU_REPLAY_REFUSED, /* it is no whole recording, or the device cannot be made */
};

/* A sentence without its end about what came of it. */
struct vfu_replay_report {
	uint64_t events; /* that were the same */
	char text[512];
};

/* A recording in memory. */
enum vfu_replay_result vfu_replay_bytes(const void *bytes, size_t size,
					struct vfu_replay_report *report);
enum vfu_replay_result vfu_replay_file(const char *path, struct vfu_replay_report *report);

#endif
