/* SPDX-License-Identifier: MIT */
/*
 * The replaced kernel of test_drm.c: the linker redirects libdrm's functions to kernel.c (--wrap),
 * and the device node is a file in memory, from which all buffers are mapped. Jobs compute nothing.
 */
#ifndef TESTS_WINSYS_KERNEL_H
#define TESTS_WINSYS_KERNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <drm/onpu_accel.h>

#define PAGE	     UINT64_C(4096)
#define MEMORY	     (UINT64_C(256) << 20)
#define MAX_BOS	     256u
#define MAX_CONTEXTS 4u

/* The state of the replaced kernel: what the library has asked for, and which calls must fail. */
struct kernel {
	pthread_mutex_t lock;
	pthread_cond_t gone; /* signalled when a context is destroyed */
	int memory;	     /* the file that replaces the device node */
	struct {
		uint64_t offset, size;
	} bos[MAX_BOS]; /* indexed by handle */
	uint32_t num_bos, syncobjs;
	uint64_t used; /* bytes of memory in use */
	uint32_t powers[MAX_CONTEXTS], num_contexts, destroyed;
	uint64_t seqno; /* number of the newest context's last job; only that context has jobs */
	uint64_t page;	/* offset of the newest context's completion page in the file */
	bool shows;	/* the completion page shows each job as ended at once */
	bool resets;	/* the driver does not look at the page, as in a reset */
	uint32_t waits; /* calls that wait for a syncobj */
	int no_wait;	/* error of these calls; 0: they succeed */
	int no_file;	/* error of calls that export a sync file; 0: they succeed */
	int ends_with;	/* error of the next job; 0: it succeeds */
	bool no_record; /* the device has recorded no fault */
	int unknown;	/* number of unexpected calls */
	uint32_t features;
	/* numbers of syncs for the device (0) and for the processor (1) */
	uint32_t syncs[2];
	uint32_t minor;			 /* minor version of the interface */
	int refuses;			 /* error of BO_WRAP; 0: it succeeds */
	int no_context;			 /* error of CTX_CREATE; 0: it succeeds */
	uint32_t wraps;			 /* calls of BO_WRAP */
	struct drm_onpu_bo_wrap wrapped; /* the last buffer of BO_WRAP; handle 0: it is closed */
};

extern struct kernel kernel;

#endif
