/* SPDX-License-Identifier: MIT */
/* Threads of the library: detached, without signals, with the caller's allocator. */
#ifndef WNN_UTIL_THREAD_H
#define WNN_UTIL_THREAD_H

/*
 * wnn_thread_start - run a function on a detached thread with all signals blocked
 *
 * Threads of the library are never joined: a thread that drops the last reference to an object must
 * not wait. The thread uses the allocator of the caller. Returns 0 or -1.
 */
int wnn_thread_start(void *(*run)(void *), void *argument);

/* Returns the number of processors that the calling thread may run on, at least 1. */
unsigned int wnn_thread_processors(void);

/* Names the calling thread for debuggers: at most 15 characters. */
void wnn_thread_name(const char *name);

#endif
