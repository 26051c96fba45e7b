// SPDX-License-Identifier: MIT
/* Starts threads. */
#include "util/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/malloc.h"

unsigned int wnn_thread_processors(void)
{
	cpu_set_t set;
	long online;

	/* Fails where the machine may have more processors than a cpu_set_t has bits. */
	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned int)online : 1;
}

struct start {
	void *(*run)(void *);
	void *argument;
	struct wnn_allocator allocator;
};

static void *start_thread(void *argument)
{
	struct start start = *(struct start *)argument;

	wnn_free(argument);
	wnn_allocator_use(&start.allocator);
	return start.run(start.argument);
}

int wnn_thread_start(void *(*run)(void *), void *argument)
{
	struct start *start = wnn_malloc(sizeof(*start));
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	if (!start || pthread_attr_init(&attr)) {
		wnn_free(start);
		return -1;
	}
	*start = (struct start){ run, argument, wnn_allocator_current() };
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/*
	 * Threads of the library block all signals, so that the application's handlers run on its
	 * own threads.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&thread, &attr, start_thread, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (ret)
		wnn_free(start);
	return ret ? -1 : 0;
}

void wnn_thread_name(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}
