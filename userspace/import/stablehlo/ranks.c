// SPDX-License-Identifier: MIT
/* Joins the ranks that mpirun has started, and carries their notes. */
#include "ranks.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct WNNStablehloWorldImpl *only; /* MPI begins once in a process, and ends once */

/* ---- loading the module that has MPI */

/* Beside this library when it is installed, and where the build leaves it. */
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
	snprintf(why, room, "it is not there");
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

WNNStatus wnnStablehloWorldJoin(WNNStablehloWorld *world)
{
	struct WNNStablehloWorldImpl *ranks = only;
	char why[600];
	const char *error;

	if (!world)
		return shlo_set_error(WNNStatus_TypeError, "world is missing");
	*world = ranks;
	if (ranks && ranks->refs) {
		ranks->refs++;
		return WNNStatus_Success;
	}
	*world = NULL;
	if (ranks)
		return shlo_set_error(
			WNNStatus_InvalidStateError,
			"this process has left the other ranks, which is once and for all");
	ranks = import_alloc(sizeof(*ranks));
	if (!ranks)
		return shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
	ranks->transport = load(why, sizeof(why));
	if (!ranks->transport) {
		import_free(ranks);
		return shlo_set_error(
			WNNStatus_NotSupportedError,
			"several ranks need the module stablehlo-mpi.so, in Debian the "
			"package webnn-stablehlo-mpi: %s",
			why);
	}
	error = ranks->transport->join(&ranks->rank, &ranks->count, &ranks->local_rank);
	if (!error && !ranks->rank) {
		ranks->office = shlo_office_new();
		error = ranks->office ? NULL : "memory is exhausted";
	}
	if (error) {
		import_free(ranks);
		return shlo_set_error(WNNStatus_OperationError, "MPI does not begin: %s", error);
	}
	ranks->refs = 1;
	ranks->gone = -1;
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
		/* What is over is over. */
		if (note->numbers[0] >= ranks->begun)
			note_failure(ranks, "rank %u has failed: %.*s", note->from,
				     (int)sizeof(note->text) - 1, note->text);
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

void shlo_ranks_lost(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard)
{
	note_failure(ranks, "MPI has failed, or ranks have values of different sizes: %s",
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
		shlo_ranks_lost(ranks, guard);
	if (ranks->failed)
		throw_failure(ranks, guard);
}

/*
 * Who waits asks at first again and again, then lets others have the processor, which may be fewer than
 * ranks, and after a while sleeps.
 */
struct pause {
	unsigned int rounds;
};

#define ROUNDS_OF_ASKING 100
#define ROUNDS_OF_YIELD	 10000

static void rest(struct pause *pause)
{
	static const struct timespec nap = { 0, 50000 };

	if (++pause->rounds < ROUNDS_OF_ASKING)
		return;
	if (pause->rounds < ROUNDS_OF_YIELD)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

void shlo_ranks_wait(struct WNNStablehloWorldImpl *ranks, size_t count, struct shlo_guard *guard)
{
	struct pause pause = { 0 };
	int done;

	while (!(done = ranks->transport->test(count))) {
		/* Notes are rare, and asking for them costs as much as asking for values. */
		if (pause.rounds % 8 == 7)
			hear_all(ranks, guard);
		rest(&pause);
	}
	if (done < 0)
		shlo_ranks_lost(ranks, guard);
}

static void tell(struct WNNStablehloWorldImpl *ranks, uint32_t to, const struct shlo_note *note,
		 struct shlo_guard *guard)
{
	if (ranks->transport->tell(to, note))
		shlo_ranks_lost(ranks, guard);
}

void shlo_ranks_ask(struct WNNStablehloWorldImpl *ranks, struct shlo_note *note,
		    const bool *answered, struct shlo_guard *guard)
{
	struct pause pause = { 0 };

	tell(ranks, 0, note, guard);
	for (;;) {
		hear_all(ranks, guard);
		if (*answered)
			return;
		rest(&pause);
	}
}

void shlo_ranks_arrive(struct WNNStablehloWorldImpl *ranks, enum shlo_stage stage, uint64_t of,
		       struct shlo_guard *guard)
{
	struct shlo_note note = { .kind = SHLO_NOTE_ARRIVE };
	struct pause pause = { 0 };

	if (stage != SHLO_STAGE_END)
		ranks->begun += 2;
	ranks->serial = ranks->begun + (stage == SHLO_STAGE_END);
	note.numbers[0] = ranks->serial;
	note.numbers[1] = stage;
	note.numbers[2] = (int64_t)of;
	note.numbers[3] = ranks->busy;
	/* A failure of before is over when all begin something new. */
	if (stage != SHLO_STAGE_END)
		ranks->failed = false;
	tell(ranks, 0, &note, guard);
	for (;;) {
		hear_all(ranks, guard);
		if (ranks->gone >= ranks->serial)
			break;
		rest(&pause);
	}
	if (!ranks->left_over)
		return;
	note_failure(
		ranks,
		"a rank has failed before, in the middle of a transfer: the ranks cannot go on");
	throw_failure(ranks, guard);
}

void shlo_ranks_fail(struct WNNStablehloWorldImpl *ranks, const char *reason)
{
	struct shlo_note note = { .kind = SHLO_NOTE_FAIL, .numbers = { ranks->begun } };

	/* Who has it from another does not pass it on. */
	if (ranks->failed)
		return;
	note_failure(ranks, "%s", reason);
	snprintf(note.text, sizeof(note.text), "%s", reason);
	for (uint32_t i = 0; i < ranks->count; i++)
		if (i != ranks->rank)
			ranks->transport->tell(i, &note);
}

/* ---- the public functions */

WNNStablehloWorldInfo wnnStablehloWorldGetInfo(WNNStablehloWorld world)
{
	return (WNNStablehloWorldInfo){ world->rank, world->count, world->local_rank };
}

WNNStatus wnnStablehloWorldAgreeSync(WNNStablehloWorld world)
{
	struct shlo_guard guard;

	if (!world)
		return shlo_set_error(WNNStatus_TypeError, "world is missing");
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
	/* Others may wait for this one, so that they have to be ended as well. */
	if (world->failed)
		world->transport->abort();
	world->transport->leave();
	shlo_office_destroy(world->office);
	import_free(world->heads);
	/* The struct stays: it says that there was one. */
}
