/* SPDX-License-Identifier: MIT */
/* Marks that the benchmark's program leaves in its code and the QEMU plugin finds there. */
#ifndef BENCH_MARKERS_H
#define BENCH_MARKERS_H

/* The displacement of a 7-byte NOP of the x86 holds these bytes and a number. */
#define MARKER_BYTES  { 0x0f, 0x1f, 0x80, 0, 0x55, 0x50, 0x4e }
#define MARKER_SIZE   7
#define MARKER_NUMBER 3 /* index of the byte that is the number */

enum marker {
	MARKER_SUBMIT_ONE = 1, /* next: SUBMIT of one job; counted up to the doorbell */
	MARKER_SUBMIT_MANY,    /* next: SUBMIT of a batch; counted up to the doorbell */
	MARKER_TRIVIAL,	       /* next: the trivial ioctl; counted up to MARKER_END */
	MARKER_END,
	MARKER_COUNT
};

#define MARK(number) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, %c0, 0x55, 0x50, 0x4e" ::"i"(number) : "memory")

#endif
