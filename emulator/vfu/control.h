/* SPDX-License-Identifier: MIT */
/*
 * Control lines that ask for faults while the server runs: an argument of --inject, "none", or
 * "hits FAULT". Each line is answered by a line.
 */
#ifndef ONPU_VFU_CONTROL_H
#define ONPU_VFU_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "vfu/inject.h"

/**
 * struct vfu_control - the streams of control lines and answers
 * @in: descriptor of the lines; -1: none
 * @out: receives "ok", with the number of hits if it was asked for, or "error: " and a sentence
 */
struct vfu_control {
	int in, out;
	char line[256];
	/* Bytes of the next line that have come; the end of a line that is too long is lost. */
	size_t length;
};

void vfu_control_init(struct vfu_control *control);
/* Reads and executes the lines that have come. At the end of the input, @in becomes unused. */
void vfu_control_read(struct vfu_control *control, struct vfu_injector *injector);

#endif
