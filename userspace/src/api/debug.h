/* SPDX-License-Identifier: MIT */
/*
 * The debug layer, which the environment variable WEBNN_DEBUG enables: it knows every object that
 * the application has, and where it was created, so that handles that are stale, or of another
 * type, are reported instead of used. When it is off, it costs only tests of debug_on.
 */
#ifndef WNN_API_DEBUG_H
#define WNN_API_DEBUG_H

#include <stdbool.h>
#include <webnn/webnn_npu.h>

#include "util/error.h"

extern bool debug_on;

enum debug_kind {
	DEBUG_INSTANCE,
	DEBUG_CONTEXT,
	DEBUG_TENSOR,
	DEBUG_GRAPH_BUILDER,
	DEBUG_OPERAND,
	DEBUG_GRAPH,
};

#define DEBUG_FRAMES 16

/* The position in the application that called the library. */
struct debug_location {
	const char *function; /* name of the library's function; NULL: unknown */
	int count;
	void *frames[DEBUG_FRAMES];
};

/* Reads the environment, once. */
void debug_init(void);

/* Fills in the position of the call in which the thread is; @function is a string literal. */
void debug_here(struct debug_location *location, const char *function);

/*
 * Adds a record of an object that the application gets with one reference; @owner is the builder of
 * an operand.
 */
void debug_made(enum debug_kind kind, const void *object, const void *owner,
		const struct debug_location *location);
/* Stores the label of an object for reports; @label: result of object_label_text(). */
void debug_labelled(const void *object, const char *label);

/*
 * debug_verify - check that the application may use an object
 * @object: not NULL; it is not dereferenced
 * @what: begins the message
 *
 * Returns 0, or -1 with a TypeError, which is also written to stderr with the positions of the
 * calls.
 */
int debug_verify(enum debug_kind kind, const void *object, const char *what, struct wnn_error *err);

/*
 * Count the application's references. They return false when a misuse was reported; the object must
 * not be used then.
 */
bool debug_add_ref(enum debug_kind kind, const void *object, const char *function);
bool debug_release(enum debug_kind kind, const void *object, const char *function);

/* Frees the memory of an object later, so that no new object gets its address for a while. */
void debug_free(void *object);
/* Marks the operands of a builder as released. */
void debug_owner_gone(const void *owner);

/*
 * Reports the message of a failed call and its position, unless the failure was reported as a
 * misuse. @location is NULL for the thread's current call.
 */
void debug_failed(const char *message, const struct debug_location *location);

#endif
