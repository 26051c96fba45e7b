/* SPDX-License-Identifier: MIT */
/*
 * 3x3 convolutions by Winograd's algorithm, and the interface of a library that computes their
 * products instead of our own tiles.
 */
#ifndef WNN_CPU_WINOGRAD_H
#define WNN_CPU_WINOGRAD_H

#include "cpu/fast.h"

struct cpu_winograd_shape {
	int64_t points;	     /* products of a call, [tiles][in_c] * [in_c][out_c] each */
	int64_t tiles, rest; /* of a chunk, and of the last one; 0: there is no other */
	int64_t in_c, out_c;
	unsigned int threads;
};

/*
 * The operands of a call: v and m of all its points are contiguous; the filter is in the form that
 * turn() gave it.
 */
struct cpu_winograd_call {
	unsigned int worker;
	int64_t tiles;
	const float *v;
	const char *filter;
	float *m;
	char *scratch; /* the worker's own */
};

struct cpu_winograd_products {
	void *state;	      /* NULL: products are on our own tiles */
	size_t filter_bytes;  /* of a call */
	size_t scratch_bytes; /* of a thread */
	bool (*multiply)(void *state, const struct cpu_winograd_call *call);
	/*
	 * Converts the filter of a call, [points][in_c][out_c], to the form of its products, or
	 * back.
	 */
	void (*turn)(void *state, float *points, char *packed, bool back);
	/* Sets the error of a multiply() that returned false; always -1. */
	int (*fail)(struct wnn_error *err);
	void (*destroy)(void *state);
};

/* Returns 0, with @products unchanged where our own tiles are faster; -1: it failed. */
typedef int (*cpu_winograd_make_fn)(const void *library, const struct cpu_winograd_shape *shape,
				    struct cpu_winograd_products *products);

/*
 * Returns NULL for a node that is no such convolution. @make NULL: products are on our own tiles.
 */
struct cpu_prepared *cpu_winograd_prepare(const struct cpu_context *cpu, const struct ir_node *node,
					  cpu_winograd_make_fn make, const void *library);

#endif
