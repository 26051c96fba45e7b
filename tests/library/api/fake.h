/* SPDX-License-Identifier: MIT */
/*
 * A device that fails: the winsys of fake.c stands in the place of the device model. It computes
 * nothing, checks what it is given, and fails when told to.
 */
#ifndef TESTS_API_FAKE_H
#define TESTS_API_FAKE_H

#include "fixture.h"

#include <pthread.h>

#include "winsys/winsys.h"

#define MAX_BOS 256

/* The one device, and what it is to do. */
extern struct fake {
	struct winsys base;
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct winsys_bo *bos[MAX_BOS];
	size_t num_bos;
	uint64_t next_va;
	unsigned int contexts, jobs, runs, bad_slots;
	bool alive;
	/* Counted from 1; 0: never. */
	unsigned int fault_at, lose_at, fail_bo_at, fail_ctx_at, fail_submit_at;
	unsigned int made_bos, made_contexts;
	bool hold;	    /* nothing ends */
	uint32_t max_slots; /* of a job */
	uint32_t isa_major; /* of its instruction set */
} fake;

struct fixture {
	WNNInstance instance;
	WNNContext context;
	struct notes *notes;
};

/*
 * Setup and teardown of each test: it begins with a device, of which nothing may be left at the
 * end.
 */
int setup(void **state);
int teardown(void **state);

void release_jobs(void);
/* The device is given back with all that was made of it. */
void wait_for_the_end(void);

#endif
