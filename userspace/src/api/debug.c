// SPDX-License-Identifier: MIT
/* The debug layer: keeps a table of the application's objects, and reports their misuse. */
#include "api/debug.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include) && __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAS_BACKTRACE 1
#else
#define HAS_BACKTRACE 0
#endif

#include "api/error.h"
#include "util/alloc.h"
#include "util/malloc.h"
#include "util/number.h"

#define DEBUG_VARIABLE "WEBNN_DEBUG"

#define BUCKETS	     4096
#define KEPT	     4096 /* number of released objects whose memory is not freed yet */
#define SHOWN_FRAMES 4
#define SHOWN_LEAKS  10

/* An object that the application has or had. */
struct record {
	struct record *next;
	const void *object, *owner;
	enum debug_kind kind;
	uint32_t refs; /* references of the application; of an operand one more, its builder's */
	bool gone;
	char label[72]; /* empty, or a blank and the quoted label */
	struct debug_location made, released;
};

bool debug_on;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records[BUCKETS];
static void *kept[KEPT];
static size_t num_kept;

/* The last misuse that this thread reported; the call then fails with this message. */
static _Thread_local char reported[sizeof(((struct wnn_error *)0)->message)];

static const char *const kind_names[] = {
	[DEBUG_INSTANCE] = "WNNInstance", [DEBUG_CONTEXT] = "WNNContext",
	[DEBUG_TENSOR] = "WNNTensor",	  [DEBUG_GRAPH_BUILDER] = "WNNGraphBuilder",
	[DEBUG_OPERAND] = "WNNOperand",	  [DEBUG_GRAPH] = "WNNGraph",
};

/* --- Positions in the application --- */

void debug_here(struct debug_location *location, const char *function)
{
	location->function = function;
	location->count = 0;
#if HAS_BACKTRACE
	location->count = backtrace(location->frames, DEBUG_FRAMES);
#endif
}

/* Whether a stack frame lies in the library; false when the library is linked statically. */
static bool is_own(const Dl_info *info)
{
	Dl_info own;

	return dladdr(&debug_on, &own) && strstr(own.dli_fname, "libwebnn-npu") &&
	       own.dli_fbase == info->dli_fbase;
}

static void print_location(const char *what, const struct debug_location *location)
{
	int shown = 0;

	fprintf(stderr, "webnn:   %s%s%s\n", what, location->function ? " by " : "",
		location->function ? location->function : "");
	for (int i = 0; i < location->count && shown < SHOWN_FRAMES; i++) {
		uintptr_t at = (uintptr_t)location->frames[i];
		Dl_info info;

		if (!dladdr(location->frames[i], &info) || is_own(&info))
			continue;
		fprintf(stderr, "webnn:     in %s", info.dli_fname);
		if (info.dli_sname)
			fprintf(stderr, ", %s+%#zx", info.dli_sname,
				(size_t)(at - (uintptr_t)info.dli_saddr));
		/*
		 * This address is for addr2line -e FILE, which translates it to a line of source.
		 */
		fprintf(stderr, " (%#zx)\n", (size_t)(at - (uintptr_t)info.dli_fbase));
		shown++;
	}
}

static void print_here(void)
{
	struct debug_location here;

	debug_here(&here, NULL);
	print_location("called", &here);
}

/* --- Records, under the lock --- */

static struct record **find(const void *object)
{
	size_t bucket = (size_t)(((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
	struct record **link = &records[bucket % BUCKETS];

	while (*link && (*link)->object != object)
		link = &(*link)->next;
	return link;
}

/*
 * Returns memory of zeros from the C library; NULL: out of memory. Records live longer than
 * instances, so that they cannot use an instance's allocator.
 */
static void *own_memory(size_t size)
{
	struct wnn_allocator allocator = wnn_allocator_current();
	void *memory;

	wnn_allocator_use(NULL);
	memory = wnn_calloc(1, size);
	wnn_allocator_use(&allocator);
	return memory;
}

static struct record *record_of(const void *object)
{
	struct record **link = find(object);

	if (!*link)
		*link = own_memory(sizeof(struct record));
	if (*link)
		(*link)->object = object;
	return *link;
}

void debug_made(enum debug_kind kind, const void *object, const void *owner,
		const struct debug_location *location)
{
	struct record *record, *next;

	pthread_mutex_lock(&lock);
	record = record_of(object);
	if (record) {
		next = record->next;
		*record = (struct record){ .next = next,
					   .object = object,
					   .owner = owner,
					   .kind = kind,
					   .refs = 1,
					   .made = *location };
	}
	pthread_mutex_unlock(&lock);
}

void debug_labelled(const void *object, const char *label)
{
	struct record *record;

	pthread_mutex_lock(&lock);
	record = *find(object);
	if (record)
		snprintf(record->label, sizeof(record->label), "%s", label);
	pthread_mutex_unlock(&lock);
}

/* --- Reports --- */

/* Writes what an object is or was, such as: a WNNTensor "camera". Returns buffer. */
static const char *describe(const struct record *record, char *buffer, size_t size)
{
	snprintf(buffer, size, "a %s%s", kind_names[record->kind], record->label);
	return buffer;
}

static void print_record(const struct record *record)
{
	print_location("made", &record->made);
	if (record->released.function)
		print_location("released", &record->released);
	print_here();
}

/*
 * Checks that an object exists and has the right kind. Returns 0, or -1 with the message in *err,
 * after a report on stderr. Call it with the lock held.
 */
static int check(enum debug_kind kind, const void *object, const char *what, struct wnn_error *err)
{
	const struct record *record = *find(object);
	char text[128];

	if (record && record->kind == kind && !record->gone)
		return 0;
	if (!record)
		wnn_error_set(err, WNN_TYPE_ERROR,
			      "%s: %p is no object of the library, a %s is expected", what, object,
			      kind_names[kind]);
	else if (record->gone)
		wnn_error_set(err, WNN_TYPE_ERROR, "%s: %p was %s, which was released", what,
			      object, describe(record, text, sizeof(text)));
	else
		wnn_error_set(err, WNN_TYPE_ERROR, "%s: %p is %s, a %s is expected", what, object,
			      describe(record, text, sizeof(text)), kind_names[kind]);
	memcpy(reported, err->message, sizeof(reported));
	fprintf(stderr, "webnn: misuse: %s\n", err->message);
	if (record)
		print_record(record);
	else
		print_here();
	return -1;
}

int debug_verify(enum debug_kind kind, const void *object, const char *what, struct wnn_error *err)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = check(kind, object, what, err);
	pthread_mutex_unlock(&lock);
	return ret;
}

bool debug_add_ref(enum debug_kind kind, const void *object, const char *function)
{
	struct wnn_error err = { 0 };
	bool good;

	pthread_mutex_lock(&lock);
	good = !check(kind, object, function, &err);
	if (good)
		(*find(object))->refs++;
	pthread_mutex_unlock(&lock);
	if (!good)
		api_error_reported(&err);
	return good;
}

bool debug_release(enum debug_kind kind, const void *object, const char *function)
{
	struct wnn_error err = { 0 };
	struct record *record;
	bool good;

	pthread_mutex_lock(&lock);
	good = !check(kind, object, function, &err);
	record = *find(object);
	/* The first reference to an operand belongs to its builder. */
	if (good && kind == DEBUG_OPERAND && record->refs == 1) {
		fprintf(stderr, "webnn: misuse: %s: %p was never given to wnnOperandAddRef\n",
			function, object);
		print_record(record);
		wnn_error_set(&err, WNN_TYPE_ERROR,
			      "%s: the operand was never given to wnnOperandAddRef", function);
		good = false;
	} else if (good && !--record->refs) {
		record->gone = true;
		debug_here(&record->released, function);
	}
	pthread_mutex_unlock(&lock);
	if (!good)
		api_error_reported(&err);
	return good;
}

void debug_owner_gone(const void *owner)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct record *r = records[i]; r; r = r->next)
			if (r->owner == owner && !r->gone) {
				r->gone = true;
				debug_here(&r->released, "the release of its builder");
			}
	pthread_mutex_unlock(&lock);
}

/*
 * Removes the record of an object that was released long ago, and the records of a builder's
 * operands. Call it with the lock held.
 */
static void forget(const void *object)
{
	struct record *record;

	for (size_t i = 0; object && i < BUCKETS; i++)
		for (struct record **link = &records[i]; (record = *link);) {
			if (record->object != object && record->owner != object) {
				link = &record->next;
				continue;
			}
			*link = record->next;
			wnn_free(record);
		}
}

void debug_free(void *object)
{
	void *oldest;

	/*
	 * Memory of the application's own allocator is freed at once, as the application may expect
	 * it back before the instance ends.
	 */
	if (wnn_allocator_current().allocate) {
		wnn_free(object);
		return;
	}
	pthread_mutex_lock(&lock);
	oldest = kept[num_kept % KEPT];
	kept[num_kept++ % KEPT] = object;
	forget(oldest);
	pthread_mutex_unlock(&lock);
	wnn_free(oldest);
}

void debug_failed(const char *message, const struct debug_location *location)
{
	if (!strcmp(message, reported)) {
		reported[0] = '\0';
		return;
	}
	pthread_mutex_lock(&lock);
	fprintf(stderr, "webnn: failed: %s\n", message);
	if (location)
		print_location("begun", location);
	else
		print_here();
	pthread_mutex_unlock(&lock);
}

/* --- Start and exit --- */

static void tell_leaks(void)
{
	char text[128];
	int shown = 0;

	if (api_forked())
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct record *r = records[i]; r; r = r->next) {
			if (r->gone || r->kind == DEBUG_OPERAND || shown++ >= SHOWN_LEAKS)
				continue;
			fprintf(stderr, "webnn: %s was not released\n",
				describe(r, text, sizeof(text)));
			print_location("made", &r->made);
		}
	if (shown > SHOWN_LEAKS)
		fprintf(stderr, "webnn: number of further objects that were not released: %d\n",
			shown - SHOWN_LEAKS);
	pthread_mutex_unlock(&lock);
}

static void look_at_environment(void)
{
	const char *wanted = secure_getenv(DEBUG_VARIABLE);

	if (!wanted || !*wanted || !strcmp(wanted, "0"))
		return;
	debug_on = true;
	atexit(tell_leaks);
}

void debug_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_at_environment);
}
