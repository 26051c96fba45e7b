/* SPDX-License-Identifier: MIT */
/*
 * 3x3 convolutions by Winograd's algorithm, and the interface of a library that can compute their
 * products instead of our own tiles.
 */
#ifndef WNN_CPU_WINOGRAD_H
#define WNN_CPU_WINOGRAD_H

#include "cpu/plan.h"

struct cpu_winograd_shape {
	int64_t points; /* points: products of a call; each is [tiles][in_c] * [in_c][out_c] */
	/* tiles: tiles of a chunk; rest: tiles of the last chunk if it has fewer, else 0 */
	int64_t tiles, rest;
	int64_t in_c, out_c;
	unsigned int threads;
};

/*
 * The operands of a call: v and m of all its points are contiguous; the filter is in the layout
 * that repack() made.
 */
struct cpu_winograd_call {
	unsigned int worker;
	int64_t tiles;
	const float *v;
	const char *filter;
	float *m;
	char *scratch; /* scratch memory of the worker */
};

struct cpu_winograd_products {
	/* the library's state; NULL: products are computed on our own tiles */
	void *state;
	size_t filter_bytes;  /* filter bytes of a call */
	size_t scratch_bytes; /* scratch memory of a thread */
	bool (*multiply)(void *state, const struct cpu_winograd_call *call);
	/*
	 * Converts the filter of a call, [points][in_c][out_c], to the layout of its products, or
	 * back.
	 */
	void (*repack)(void *state, float *points, char *packed, bool back);
	/* Sets the error when a multiply() has returned false; always returns -1. */
	int (*fail)(struct wnn_error *err);
	void (*destroy)(void *state);
};

/*
 * Fills in @products and returns 0, or returns 0 with @products unchanged when the library has no
 * fast function for them; -1: it failed.
 */
typedef int (*cpu_winograd_make_fn)(const void *library, const struct cpu_winograd_shape *shape,
				    struct cpu_winograd_products *products);

/*
 * Plans a node for which cpu_winograd_refuses() returns NULL, with the products of a library. @make
 * NULL: products are computed on our own tiles. Returns NULL when the library has no fast function
 * for the products or fails, or when out of memory.
 */
struct cpu_plan *cpu_winograd_make(const struct cpu_ask *ask, cpu_winograd_make_fn make,
				   const void *library);

#endif
