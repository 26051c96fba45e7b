/* SPDX-License-Identifier: MIT */
/* Starting of threads. */
#define _GNU_SOURCE
#include "util/thread.h"

#include <pthread.h>
#include <signal.h>

int wnn_thread_start(void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	if (pthread_attr_init(&attr))
		return -1;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The application's signal handlers must run on its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&thread, &attr, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return ret ? -1 : 0;
}

void wnn_thread_name(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}
