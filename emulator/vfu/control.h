/* SPDX-License-Identifier: MIT */
/*
 * Lines by which somebody asks for faults while the server runs: one such as --inject has, "none", or
 * "hits FAULT". Each is answered by a line.
 */
#ifndef ONPU_VFU_CONTROL_H
#define ONPU_VFU_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "vfu/inject.h"

/**
 * struct vfu_control - where they come from
 * @in: -1: nowhere
 * @out: receives "ok", with the number of hits if they were asked for, or "error: " and a sentence
 */
struct vfu_control {
	int in, out;
	char line[256];
	size_t length; /* of what has come of the next line; the end of one that is too long is lost */
};

void vfu_control_init(struct vfu_control *control);
/* Reads what has come. At the end of the input, nothing more is read. */
void vfu_control_read(struct vfu_control *control, struct vfu_injector *injector);

#endif
