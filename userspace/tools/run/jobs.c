// SPDX-License-Identifier: MIT
/* webnn-run generate --server: computes the answers to several requests by turns. */
#include "jobs.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds that jobs_stop() waits for clients to take their replies. */
#define LAST_SECONDS 2

/* ---- replies */

static void job_free(struct job *job)
{
	answer_exit(&job->answer);
	request_exit(&job->request);
	free(job->body.data);
	free(job->out.data);
	free(job);
}

void job_suspend(struct job *job)
{
	job->suspended = true;
	MHD_suspend_connection(job->connection);
}

static void job_resume(struct job *job)
{
	if (!job->suspended)
		return;
	job->suspended = false;
	MHD_resume_connection(job->connection);
}

int job_add(struct job *job, json_t *root)
{
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	bool stream = job->request.stream;
	int ret = -1;

	if (text)
		ret = bytes_add(&job->out, "data: ", stream ? 6 : 0) ||
				      bytes_add(&job->out, text, strlen(text)) ||
				      bytes_add(&job->out, "\n\n", stream ? 2 : 1) ?
			      -1 :
			      0;
	free(text);
	json_decref(root);
	return ret;
}

void job_refuse(struct job *job, const struct refusal *refusal)
{
	job->status = refusal->status;
	job_add(job, reply_refusal(refusal));
}

/* Returns the number of bytes of a text of UTF-8 up to its last complete character. */
static size_t whole_characters(const char *text, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		uint8_t byte = (uint8_t)text[size - back];

		if (byte >= 0xc0)
			return back < 2 + (size_t)(byte >= 0xe0) + (byte >= 0xf0) ? size - back :
										    size;
		if (byte < 0x80)
			break;
	}
	return size;
}

/* Appends the text that an answer has and the stream has not, and the end. Returns 0 or -1. */
static int stream_more(struct job *job, const struct reply_text *text)
{
	const struct answer *a = &job->answer;
	size_t sure = generated_sure(&a->text, a->end, a->stops);
	int ret = 0;

	if (!a->end)
		sure = whole_characters(a->text.bytes.data, sure);
	if (sure > job->streamed) {
		ret = job_add(job, reply_part(&job->reply, a->text.bytes.data + job->streamed,
					      sure - job->streamed));
		job->streamed = sure;
	}
	if (!a->end || ret)
		return ret;
	if (job_add(job, reply_last(&job->reply, a->end)) ||
	    (job->request.usage && job_add(job, reply_usage(&job->reply, text))))
		return -1;
	return bytes_add(&job->out, "data: [DONE]\n\n", 14);
}

/* Brings the reply up to what was computed. Returns 0; -1: memory is exhausted. */
static int publish(struct job *job)
{
	const struct answer *a = &job->answer;
	const struct reply_text text = { a->text.bytes.data, a->text.bytes.size, a->tokens.count,
					 a->count, a->end };

	if (job->request.stream)
		return stream_more(job, &text);
	if (!a->end)
		return 0;
	job->status = 200;
	return job_add(job, reply_whole(&job->reply, &text));
}

/* ---- the queue */

static void dequeue(struct jobs *jobs, struct job **at)
{
	struct job *job = *at;

	*at = job->next;
	if (jobs->last == &job->next)
		jobs->last = at;
	jobs->waiting--;
}

/* Ends a job that waited or ran. Its reply is complete, or its client is gone. */
static void finish(struct job *job)
{
	job->state = JOB_DONE;
	job_resume(job);
}

static void leave(struct jobs *jobs, struct slot *slot)
{
	slot->job = NULL;
	jobs->busy--;
}

/*
 * Returns whether the client has closed the connection. The caller holds the lock: job_release()
 * takes it, too, and the socket may be closed after that.
 */
static bool hung_up(const struct job *job)
{
	struct pollfd socket = { job->socket, POLLRDHUP, 0 };

	return poll(&socket, 1, 0) > 0 && socket.revents;
}

/* Gives up all jobs whose clients are gone. */
static void sweep(struct jobs *jobs)
{
	for (struct job **at = &jobs->first; *at;) {
		struct job *job = *at;

		if (!hung_up(job)) {
			at = &job->next;
			continue;
		}
		dequeue(jobs, at);
		job->gone = true;
		finish(job);
	}
	for (size_t i = 0; i < jobs->slot_count; i++) {
		struct job *job = jobs->slots[i].job;

		if (!job || (!job->gone && !hung_up(job)))
			continue;
		leave(jobs, &jobs->slots[i]);
		/* A job that was released meanwhile has no connection any more. */
		if (!job->connection) {
			job_free(job);
			continue;
		}
		job->gone = true;
		finish(job);
	}
}

static void admit(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->slot_count && jobs->first; i++) {
		struct slot *slot = &jobs->slots[i];
		struct job *job = jobs->first;

		if (slot->job)
			continue;
		dequeue(jobs, &jobs->first);
		slot->job = job;
		slot->caches.used = 0;
		job->answer.caches = &slot->caches;
		job->state = JOB_RUNNING;
		jobs->busy++;
		if (job->request.stream && job->request.chat)
			job_add(job, reply_first(&job->reply));
	}
}

static void fail(struct job *job, unsigned int status, const char *text)
{
	struct refusal refusal;

	refuse(&refusal, status, NULL, "%s", text);
	job_refuse(job, &refusal);
	finish(job);
}

/* Fills in the refusal of a request that the stop of the server ends. Returns what refuse() does. */
static int refuse_stopped(struct refusal *refusal)
{
	return refuse(refusal, 503, NULL,
		      "the server is being stopped, so it does not complete this request: send it "
		      "again when the server runs");
}

static void fail_stopped(struct job *job)
{
	struct refusal refusal;

	refuse_stopped(&refusal);
	job_refuse(job, &refusal);
	finish(job);
}

/* Computes one step of a slot's answer; the lock is released meanwhile. */
static void step(struct jobs *jobs, struct slot *slot)
{
	struct job *job = slot->job;
	struct gguf_error error;
	int ret = 0;

	pthread_mutex_unlock(&jobs->lock);
	/*
	 * NaN and infinities that an earlier text left in the caches would reach the results, even
	 * from masked positions: the caches are cleared.
	 */
	if (slot->unchecked && !job->answer.fed)
		ret = language_caches_clear(&slot->caches, jobs->language, &error);
	if (!ret)
		ret = answer_step(&job->answer, jobs->language, &error);
	/*
	 * Finite logits, without which answer_step() fails, show that the caches are finite, too.
	 * Logits are read after the last token of the prompt and after each later token, but not
	 * after other blocks of the prompt.
	 */
	slot->unchecked = ret || job->answer.fed < job->answer.tokens.count;
	pthread_mutex_lock(&jobs->lock);
	/* The next sweep() ends the job. */
	if (job->gone)
		return;
	if (!ret && !publish(job)) {
		if (!job->answer.end) {
			if (job->out.size > job->sent)
				job_resume(job);
			return;
		}
		finish(job);
	} else {
		fail(job, 500, ret ? error.text : "memory is exhausted");
	}
	leave(jobs, slot);
}

static void *work(void *data)
{
	struct jobs *jobs = data;

	pthread_mutex_lock(&jobs->lock);
	while (!jobs->stopping) {
		sweep(jobs);
		admit(jobs);
		if (!jobs->busy) {
			pthread_cond_wait(&jobs->wake, &jobs->lock);
			continue;
		}
		do
			jobs->next_slot = (jobs->next_slot + 1) % jobs->slot_count;
		while (!jobs->slots[jobs->next_slot].job);
		step(jobs, &jobs->slots[jobs->next_slot]);
	}
	while (jobs->first) {
		struct job *job = jobs->first;

		dequeue(jobs, &jobs->first);
		fail_stopped(job);
	}
	sweep(jobs);
	for (size_t i = 0; i < jobs->slot_count; i++) {
		if (!jobs->slots[i].job)
			continue;
		fail_stopped(jobs->slots[i].job);
		leave(jobs, &jobs->slots[i]);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

int job_submit(struct job *job, struct refusal *refusal)
{
	struct jobs *jobs = job->jobs;
	int ret = 0;

	pthread_mutex_lock(&jobs->lock);
	if (jobs->stopping) {
		ret = refuse_stopped(refusal);
	} else if (jobs->busy + jobs->waiting >= jobs->slot_count + jobs->most_waiting) {
		ret = refuse(
			refusal, 503, NULL,
			"the server has as many requests as --slots (%zu) and --queue (%zu) allow: "
			"try again later, or start the server with a larger --queue",
			jobs->slot_count, jobs->most_waiting);
	} else {
		job->state = JOB_WAITING;
		job->next = NULL;
		*jobs->last = job;
		jobs->last = &job->next;
		jobs->waiting++;
		jobs->held++;
		pthread_cond_broadcast(&jobs->wake);
	}
	pthread_mutex_unlock(&jobs->lock);
	return ret;
}

void job_release(struct job *job)
{
	struct jobs *jobs = job->jobs;
	struct job **at = &jobs->first;
	bool running;

	pthread_mutex_lock(&jobs->lock);
	if (job->state == JOB_WAITING) {
		while (*at != job)
			at = &(*at)->next;
		dequeue(jobs, at);
	}
	running = job->state == JOB_RUNNING;
	if (running) {
		job->gone = true;
		job->connection = NULL;
	}
	if (job->state != JOB_NEW) {
		jobs->held--;
		pthread_cond_broadcast(&jobs->wake);
	}
	pthread_mutex_unlock(&jobs->lock);
	if (!running)
		job_free(job);
}

/* ---- start and end */

int jobs_init(struct jobs *jobs, struct language *l, size_t slot_count, size_t most_waiting)
{
	struct gguf_error error;
	int ret;

	*jobs = (struct jobs){ .lock = PTHREAD_MUTEX_INITIALIZER,
			       .wake = PTHREAD_COND_INITIALIZER,
			       .language = l,
			       .most_waiting = most_waiting };
	jobs->last = &jobs->first;
	jobs->slots = calloc(slot_count, sizeof(*jobs->slots));
	if (!jobs->slots)
		return complain(
			BAD_DEVICE,
			"the server has too little free memory to start: end other programs, or "
			"raise the limit (ulimit -v)");
	for (jobs->slot_count = 0; jobs->slot_count < slot_count;)
		if (language_caches_open(&jobs->slots[jobs->slot_count++].caches, l, &error))
			return complain(
				BAD_DEVICE,
				"%s: the caches of slot %zu of %zu cannot be made: %s; give fewer "
				"--slots or a smaller --context",
				l->path, jobs->slot_count, slot_count, error.text);
	ret = pthread_create(&jobs->thread, NULL, work, jobs);
	if (ret)
		return complain(
			BAD_DEVICE,
			"the server cannot start a thread: %s; end other programs, or raise the "
			"limits of threads (ulimit -u) and memory (ulimit -v)",
			strerror(ret));
	jobs->started = true;
	return DONE;
}

void jobs_stop(struct jobs *jobs)
{
	struct timespec end;
	int late = 0;

	if (!jobs->started)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	pthread_cond_broadcast(&jobs->wake);
	pthread_mutex_unlock(&jobs->lock);
	pthread_join(jobs->thread, NULL);
	jobs->started = false;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LAST_SECONDS;
	pthread_mutex_lock(&jobs->lock);
	while (jobs->held && !late)
		late = pthread_cond_timedwait(&jobs->wake, &jobs->lock, &end);
	pthread_mutex_unlock(&jobs->lock);
}

void jobs_exit(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->slot_count; i++)
		language_caches_close(&jobs->slots[i].caches, jobs->language);
	free(jobs->slots);
}
