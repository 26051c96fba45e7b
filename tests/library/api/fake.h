/* SPDX-License-Identifier: MIT */
/*
 * A device that fails: the winsys of fake.c replaces the device model. It computes nothing, checks
 * what the library passes to it, and fails when told to.
 */
#ifndef TESTS_API_FAKE_H
#define TESTS_API_FAKE_H

#include "fixture.h"

#include <pthread.h>

#include "winsys/winsys.h"

#define MAX_BOS 256

/* The only device, and the failures that it is told to make. */
extern struct fake {
	struct winsys base;
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct winsys_bo *bos[MAX_BOS];
	size_t num_bos;
	uint64_t next_va;
	unsigned int contexts, jobs, runs, bad_slots;
	bool alive;
	/* The number of the job or call that fails, counted from 1; 0: none fails. */
	unsigned int fault_at, lose_at, fail_bo_at, fail_ctx_at, fail_submit_at;
	unsigned int made_bos, made_contexts;
	unsigned int cancels; /* how many of the next runs end as cancelled by a reset */
	bool hold;	      /* no job ends until release_jobs() */
	uint32_t max_slots;   /* slots that a job may have; 0: as many as an operand can name */
	uint32_t isa_major;   /* major version of the device's instruction set */
} fake;

struct fixture {
	WNNInstance instance;
	WNNContext context;
	struct notes *notes;
};

/*
 * setup() opens the fixture of a test; teardown() releases it and checks that nothing of the test's
 * device is left. Both return 0.
 */
int setup(void **state);
int teardown(void **state);

void release_jobs(void);
/*
 * Waits until the device is released with all that was made on it; fails the test after a minute.
 */
void wait_for_the_end(void);

#endif
