// SPDX-License-Identifier: MIT
/* Joins the ranks that mpirun has started, and exchanges notes with them. */
#include "ranks.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* the only world of the process, because MPI begins and ends once in a process */
static struct WNNStablehloWorldImpl *only;

/* ---- loading the module that has MPI */

/*
 * Opens the module beside this library, or where the build puts it. Returns its handle, or NULL and
 * the reason in @why.
 */
static void *open_module(char *why, size_t room)
{
	static const char *const places[] = { "webnn-npu", "mpi" };
	char path[4096];
	const char *end;
	void *handle = NULL;
	Dl_info own;

	if (!dladdr(&only, &own) || !own.dli_fname)
		own.dli_fname = "";
	end = strrchr(own.dli_fname, '/');
	snprintf(why, room, "it is not there, or cannot be read");
	for (size_t i = 0; !handle && i < 2; i++) {
		snprintf(path, sizeof(path), "%.*s/%s/stablehlo-mpi.so",
			 end ? (int)(end - own.dli_fname) : 1, end ? own.dli_fname : ".",
			 places[i]);
		if (access(path, R_OK))
			continue;
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (!handle)
			snprintf(why, room, "%s", dlerror());
	}
	return handle;
}

static const struct shlo_transport *load(char *why, size_t room)
{
	void *handle = open_module(why, room);
	const struct shlo_transport *transport = handle ? dlsym(handle, SHLO_TRANSPORT_SYMBOL) :
							  NULL;

	if (handle && (!transport || transport->version != SHLO_TRANSPORT_VERSION)) {
		snprintf(why, room, "it is of another version than this library");
		return NULL;
	}
	return transport;
}

WNNBool wnnStablehloWorldIsStarted(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK");
}

/* Sets the error of a lack of memory. Returns its status. */
static WNNStatus lack_memory(void)
{
	return shlo_set_error(
		WNNStatus_UnknownError,
		"too little memory is free for messages between ranks: end other programs, or "
		"start fewer ranks on this machine");
}

WNNStatus wnnStablehloWorldJoin(WNNStablehloWorld *world)
{
	struct WNNStablehloWorldImpl *ranks = only;
	char why[600];
	const char *error;

	if (!world)
		return shlo_set_error(
			WNNStatus_TypeError,
			"wnnStablehloWorldJoin: the argument world is NULL: give the address of a "
			"WNNStablehloWorld, in which the function stores the ranks");
	*world = ranks;
	if (ranks && ranks->refs) {
		ranks->refs++;
		return WNNStatus_Success;
	}
	*world = NULL;
	if (ranks)
		return shlo_set_error(
			WNNStatus_InvalidStateError,
			"this process has released its ranks (world), and a process cannot get "
			"them a second time: keep them until the process ends");
	ranks = import_alloc(sizeof(*ranks));
	if (!ranks)
		return lack_memory();
	ranks->transport = load(why, sizeof(why));
	if (!ranks->transport) {
		import_free(ranks);
		return shlo_set_error(
			WNNStatus_NotSupportedError,
			"a program on several ranks needs the module stablehlo-mpi.so, which does "
			"not load: %s; install the package webnn-stablehlo-mpi of this library's "
			"release",
			why);
	}
	error = ranks->transport->join(&ranks->seat);
	if (error) {
		import_free(ranks);
		return shlo_set_error(
			WNNStatus_OperationError,
			"MPI does not start in this process: %s; start the program with mpirun, "
			"and if it was, mend what MPI names",
			error);
	}
	if (!ranks->seat.rank) {
		ranks->office = shlo_office_new(ranks->seat.count);
		if (!ranks->office) {
			import_free(ranks);
			return lack_memory();
		}
	}
	ranks->refs = 1;
	ranks->gone = -1;
	ranks->crowded = ranks->seat.local_count > (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	only = ranks;
	*world = ranks;
	return WNNStatus_Success;
}

/* ---- notes */

__attribute__((format(printf, 2, 3))) static void note_failure(struct WNNStablehloWorldImpl *ranks,
							       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!ranks->failed)
		vsnprintf(ranks->reason, sizeof(ranks->reason), format, args);
	va_end(args);
	ranks->failed = true;
}

static void take(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note)
{
	switch (note->kind) {
	case SHLO_NOTE_FAIL:
		/* A failure that is older than this run does not concern it. */
		if (note->numbers[0] >= ranks->begun)
			note_failure(
				ranks,
				"rank %u reports an error, which ends the run on all ranks: %.*s",
				note->from, (int)sizeof(note->text) - 1, note->text);
		break;
	case SHLO_NOTE_GO:
		ranks->gone = note->numbers[0];
		ranks->left_over = note->numbers[1];
		break;
	case SHLO_NOTE_MATCH:
		ranks->match = *note;
		ranks->matched = true;
		break;
	case SHLO_NOTE_FED:
		ranks->fed = *note;
		ranks->is_fed = true;
		break;
	default:
		if (ranks->office)
			shlo_office_take(ranks, note);
		break;
	}
}

_Noreturn static void throw_failure(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard)
{
	shlo_throw(guard, WNNStatus_OperationError, "%s", ranks->reason);
}

_Noreturn static void lost(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard)
{
	note_failure(ranks,
		     "MPI exchanges no more data with the other ranks: %s; start the program again",
		     ranks->transport->error());
	throw_failure(ranks, guard);
}

static void hear_all(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard)
{
	struct shlo_note note;
	int ret;

	while ((ret = ranks->transport->hear(&note)) > 0)
		take(ranks, &note);
	if (ret < 0)
		lost(ranks, guard);
	if (ranks->failed)
		throw_failure(ranks, guard);
}

static void tell(struct WNNStablehloWorldImpl *ranks, uint32_t to, const struct shlo_note *note,
		 struct shlo_guard *guard)
{
	if (ranks->transport->tell(to, note))
		lost(ranks, guard);
}

/*
 * A rank that waits first polls, then yields the processor, because there may be fewer processors
 * than ranks, and finally sleeps. A long wait is reported to rank 0, which finds out when all ranks
 * wait for each other.
 */
struct pause {
	bool answer; /* waits for an answer of rank 0 */
	unsigned int rounds, reports;
	int64_t sleeps, reporting; /* when it begins to sleep, when it reports next; 0: it polls */
};

#define ROUNDS_OF_ASKING  200	  /* rounds of polling before a rank yields the processor */
#define ROUNDS_IN_A_CROWD 20	  /* rounds of polling when there are more ranks than processors */
#define NS_OF_YIELD	  5000000 /* how long a rank yields before it sleeps */
#define NS_OF_NAP	  50000	  /* length of one sleep */
#define NS_OF_SECOND	  INT64_C(1000000000)

/*
 * Returns the rank at the other end of the first transfer that is not done; this rank if all are.
 */
static int64_t peer_of(const struct WNNStablehloWorldImpl *ranks)
{
	size_t transfer = ranks->transport->pending();

	return transfer < ranks->transfers ? ranks->peers[transfer] : ranks->seat.rank;
}

static void report(struct WNNStablehloWorldImpl *ranks, struct pause *pause,
		   struct shlo_guard *guard)
{
	struct shlo_note note = { .kind = SHLO_NOTE_STALLED };

	pause->reports++;
	note.numbers[0] = ranks->waits;
	note.numbers[1] = (int64_t)ranks->key;
	note.numbers[2] = pause->answer ? -1 : peer_of(ranks);
	tell(ranks, 0, &note, guard);
}

static void rest(struct WNNStablehloWorldImpl *ranks, struct pause *pause, struct shlo_guard *guard)
{
	static const struct timespec nap = { 0, NS_OF_NAP };
	struct timespec clock;
	int64_t now;

	if (++pause->rounds < (ranks->crowded ? ROUNDS_IN_A_CROWD : ROUNDS_OF_ASKING))
		return;
	/* Time counts, and not rounds: on a machine that does other work, a yield can take long. */
	clock_gettime(CLOCK_MONOTONIC, &clock);
	now = clock.tv_sec * NS_OF_SECOND + clock.tv_nsec;
	if (!pause->sleeps) {
		pause->sleeps = now + NS_OF_YIELD;
		pause->reporting = now + 2 * NS_OF_SECOND;
	}
	if (now < pause->sleeps)
		sched_yield();
	else
		nanosleep(&nap, NULL);
	if (now < pause->reporting)
		return;
	pause->reporting = now + NS_OF_SECOND;
	report(ranks, pause, guard);
}

static void go_on(struct WNNStablehloWorldImpl *ranks, const struct pause *pause,
		  struct shlo_guard *guard)
{
	struct shlo_note note = { .kind = SHLO_NOTE_MOVING };

	ranks->waits++;
	if (pause->reports)
		tell(ranks, 0, &note, guard);
}

static void begin(struct WNNStablehloWorldImpl *ranks, size_t peer, struct shlo_guard *guard)
{
	size_t room = ranks->peer_room ? ranks->peer_room * 2 : 16;
	uint32_t *more = ranks->peers;

	if (ranks->transfers == ranks->peer_room) {
		more = import_realloc(more, room * sizeof(*more));
		if (!more)
			shlo_throw(
				guard, WNNStatus_UnknownError,
				"too little memory is free for messages between ranks: end other "
				"programs, or start fewer ranks on this machine");
		ranks->peers = more;
		ranks->peer_room = room;
	}
	more[ranks->transfers++] = (uint32_t)peer;
}

void shlo_ranks_send(struct WNNStablehloWorldImpl *ranks, size_t to, uint64_t key, const void *data,
		     size_t size, struct shlo_guard *guard)
{
	begin(ranks, to, guard);
	if (ranks->transport->send((uint32_t)to, key, data, size))
		lost(ranks, guard);
}

void shlo_ranks_receive(struct WNNStablehloWorldImpl *ranks, size_t from, uint64_t key, void *data,
			size_t size, struct shlo_guard *guard)
{
	begin(ranks, from, guard);
	if (ranks->transport->receive((uint32_t)from, key, data, size))
		lost(ranks, guard);
}

void shlo_ranks_wait(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard)
{
	struct pause pause = { 0 };
	int done;

	while (!(done = ranks->transport->test(ranks->transfers))) {
		/* Notes are rare, and polling for them costs as much as polling for values. */
		if (pause.rounds % 8 == 7)
			hear_all(ranks, guard);
		rest(ranks, &pause, guard);
	}
	if (done < 0)
		lost(ranks, guard);
	ranks->transport->clear();
	ranks->transfers = 0;
	go_on(ranks, &pause, guard);
}

uint64_t shlo_ranks_key(struct WNNStablehloWorldImpl *ranks, uint64_t key, struct shlo_guard *guard)
{
	struct shlo_occurrence *more = ranks->occurrences;
	size_t i = 0;

	while (i < ranks->occurrence_count && more[i].key != key)
		i++;
	if (i == ranks->occurrence_count) {
		more = import_realloc(more, (i + 1) * sizeof(*more));
		if (!more)
			shlo_throw(
				guard, WNNStatus_UnknownError,
				"too little memory is free for messages between ranks: end other "
				"programs, or start fewer ranks on this machine");
		ranks->occurrences = more;
		more[i] = (struct shlo_occurrence){ key, 0 };
		ranks->occurrence_count++;
	}
	key += ++more[i].count * UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

void shlo_ranks_ask(struct WNNStablehloWorldImpl *ranks, struct shlo_note *note,
		    const bool *answered, struct shlo_guard *guard)
{
	struct pause pause = { .answer = true };

	tell(ranks, 0, note, guard);
	for (;;) {
		hear_all(ranks, guard);
		if (*answered)
			break;
		rest(ranks, &pause, guard);
	}
	go_on(ranks, &pause, guard);
}

void shlo_ranks_arrive(struct WNNStablehloWorldImpl *ranks, enum shlo_stage stage, uint64_t of,
		       struct shlo_guard *guard)
{
	struct shlo_note note = { .kind = SHLO_NOTE_ARRIVE };
	struct pause pause = { .answer = true };

	if (stage != SHLO_STAGE_END)
		ranks->begun += 2;
	ranks->serial = ranks->begun + (stage == SHLO_STAGE_END);
	note.numbers[0] = ranks->serial;
	note.numbers[1] = stage;
	note.numbers[2] = (int64_t)of;
	note.numbers[3] = ranks->transfers > 0;
	/* When all ranks begin something new, an earlier failure does not count any more. */
	if (stage != SHLO_STAGE_END)
		ranks->failed = false;
	tell(ranks, 0, &note, guard);
	for (;;) {
		hear_all(ranks, guard);
		if (ranks->gone >= ranks->serial)
			break;
		rest(ranks, &pause, guard);
	}
	go_on(ranks, &pause, guard);
	if (!ranks->left_over)
		return;
	note_failure(
		ranks,
		"a run failed before in the middle of a transfer between ranks, so no other can "
		"follow: start the program again on all ranks");
	throw_failure(ranks, guard);
}

void shlo_ranks_fail(struct WNNStablehloWorldImpl *ranks, const char *reason)
{
	struct shlo_note note = { .kind = SHLO_NOTE_FAIL, .numbers = { ranks->begun } };

	/* A rank that has learned of a failure from another rank does not pass it on. */
	if (ranks->failed)
		return;
	note_failure(ranks, "%s", reason);
	snprintf(note.text, sizeof(note.text), "%s", reason);
	for (uint32_t i = 0; i < ranks->seat.count; i++)
		if (i != ranks->seat.rank)
			ranks->transport->tell(i, &note);
}

/* ---- the public functions */

WNNStablehloWorldInfo wnnStablehloWorldGetInfo(WNNStablehloWorld world)
{
	return (WNNStablehloWorldInfo){ world->seat.rank, world->seat.count,
					world->seat.local_rank };
}

WNNStatus wnnStablehloWorldAgreeSync(WNNStablehloWorld world)
{
	struct shlo_guard guard;

	if (!world)
		return shlo_set_error(
			WNNStatus_TypeError,
			"wnnStablehloWorldAgreeSync: the argument world is NULL: give the ranks "
			"that wnnStablehloWorldJoin has stored");
	if (setjmp(guard.jump))
		return shlo_set_error(guard.status, "%s", guard.message);
	shlo_ranks_arrive(world, SHLO_STAGE_AGREE, 0, &guard);
	return WNNStatus_Success;
}

void wnnStablehloWorldFail(WNNStablehloWorld world, WNNStringView reason)
{
	char text[sizeof(world->reason)];

	if (!world)
		return;
	snprintf(text, sizeof(text), "%.*s",
		 (int)(reason.length == WNN_STRLEN ? strlen(reason.data) : reason.length),
		 reason.data ? reason.data : "");
	shlo_ranks_fail(world, text);
}

void wnnStablehloWorldRelease(WNNStablehloWorld world)
{
	if (!world || --world->refs)
		return;
	/* Other ranks may wait for this one after a failure: all are ended. */
	if (world->failed)
		world->transport->abort();
	world->transport->leave();
	shlo_office_destroy(world->office);
	import_free(world->occurrences);
	import_free(world->peers);
	/* The structure is not freed: it shows that MPI has ended in this process. */
}
