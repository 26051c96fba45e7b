/* SPDX-License-Identifier: MIT */
/*
 * webnn-run generate --server: the requests that wait and those that are computed. One thread
 * computes: for each request that has a slot, in turn, a block of its prompt or one token.
 */
#ifndef ONPU_TOOLS_RUN_JOBS_H
#define ONPU_TOOLS_RUN_JOBS_H

#include <microhttpd.h>
#include <pthread.h>

#include "bytes.h"
#include "language.h"
#include "reply.h"

enum job_state {
	JOB_NEW,     /* the request is being received */
	JOB_WAITING, /* in the queue */
	JOB_RUNNING, /* has a slot */
	JOB_DONE,    /* the reply is complete */
};

/* A request, from its first byte to the last one of its reply. */
struct job {
	struct jobs *jobs; /* the server's jobs, to which it is submitted */
	struct job *next;  /* the next job in the queue */
	enum job_state state;
	struct MHD_Connection *connection;
	int socket;
	/*
	 * suspended: libmicrohttpd leaves the connection alone until there is something to send.
	 * gone: the client or the connection is gone, and the job is given up.
	 */
	bool suspended, gone;
	struct bytes body;
	size_t received; /* bytes of the body that came, also those that were not kept */
	struct request request;
	struct answer answer;
	struct reply reply;
	unsigned int status; /* HTTP status of the reply, when it is no stream */
	size_t streamed;     /* bytes of the answer that are in the reply */
	struct bytes out;    /* the reply; of a stream, what was not sent yet, and @sent bytes */
	size_t sent;	     /* bytes of @out that libmicrohttpd has */
};

struct slot {
	struct gguf_caches caches;
	bool unchecked; /* the caches may have numbers that are not finite; for the thread alone */
	struct job *job;
};

struct jobs {
	/* protects the queue, the slots, their counts, @stopping, and jobs that were submitted */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool started, stopping;
	struct language *language;
	struct slot *slots;
	size_t slot_count, next_slot, busy;
	struct job *first, **last;
	size_t waiting, most_waiting;
	size_t held; /* jobs that were submitted and not released */
};

/*
 * Makes the slots and starts the thread. Returns DONE, or an exit code after a message; call
 * jobs_exit() in both cases.
 */
int jobs_init(struct jobs *jobs, struct language *language, size_t slot_count, size_t most_waiting);
/*
 * Ends the thread. Jobs without a complete reply end with a refusal; waits for a short time until
 * all jobs are released.
 */
void jobs_stop(struct jobs *jobs);
void jobs_exit(struct jobs *jobs);

/*
 * Puts a job, whose answer has its prompt, into the queue. Returns 0, or -1 with a refusal: too
 * many wait already, or the server is being stopped.
 */
int job_submit(struct job *job, struct refusal *refusal);
/* Frees a job; a running one is freed when the thread has left it. */
void job_release(struct job *job);
/*
 * Appends an object to the reply: as an event if the reply is a stream. The object is taken over in
 * any case. Returns 0; -1: memory is exhausted, also when the object is NULL.
 */
int job_add(struct job *job, json_t *root);
/* Writes a refusal as the whole reply of a job. */
void job_refuse(struct job *job, const struct refusal *refusal);
/* Suspends the connection until the thread has something to send. The lock is held. */
void job_suspend(struct job *job);

#endif
