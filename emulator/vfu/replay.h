/* SPDX-License-Identifier: MIT */
/* Replays a recording: gives the device the recorded inputs, and compares its actions. */
#ifndef ONPU_VFU_REPLAY_H
#define ONPU_VFU_REPLAY_H

#include <stddef.h>
#include <stdint.h>

enum vfu_replay_result {
	VFU_REPLAY_SAME,
	VFU_REPLAY_DIFFERS,
	/* The recording is incomplete or damaged, or the device cannot be created. */
	VFU_REPLAY_REFUSED,
};

/* The report of a replay. */
struct vfu_replay_report {
	uint64_t events; /* the number of events that were equal */
	char text[512];	 /* how it ended: a sentence without its full stop */
};

/* Replay a recording in memory, or in a file. Set *report and return how the replay has ended. */
enum vfu_replay_result vfu_replay_bytes(const void *bytes, size_t size,
					struct vfu_replay_report *report);
enum vfu_replay_result vfu_replay_file(const char *path, struct vfu_replay_report *report);

#endif
