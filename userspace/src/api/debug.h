/* SPDX-License-Identifier: MIT */
/*
 * The debug layer, which the environment variable WEBNN_DEBUG switches on: it knows every object that
 * the application has, and where it came from, so that handles which are no longer or something else
 * are reported instead of used. Off, it costs a look at debug_on.
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

/* Where the application called from. */
struct debug_place {
	const char *function; /* of the library; NULL: not known */
	int count;
	void *frames[DEBUG_FRAMES];
};

/* Looks at the environment, once. */
void debug_init(void);

/* The place of the call that the thread is in; @function is a literal. */
void debug_here(struct debug_place *place, const char *function);

/* The application gets an object with one reference; @owner is the builder of an operand. */
void debug_made(enum debug_kind kind, const void *object, const void *owner,
		const struct debug_place *place);
/* @label: as object_label_text() gives it. */
void debug_labelled(const void *object, const char *label);

/*
 * debug_verify - whether the application may use an object
 * @object: not NULL; it is not touched
 * @what: begins the message
 *
 * 0, or -1 with a TypeError, which is written to stderr with the places.
 */
int debug_verify(enum debug_kind kind, const void *object, const char *what, struct wnn_error *err);

/* Counts the application's references; false: reported, and the object must not be touched. */
bool debug_add_ref(enum debug_kind kind, const void *object, const char *function);
bool debug_release(enum debug_kind kind, const void *object, const char *function);

/* The memory of an object is given up: it is kept for a while, so that no other is in its place. */
void debug_free(void *object);
/* The operands of a builder are no longer. */
void debug_owner_gone(const void *owner);

/* A call failed: the message with the place, which is that of the thread's call when NULL. */
void debug_failed(const char *message, const struct debug_place *place);

#endif
