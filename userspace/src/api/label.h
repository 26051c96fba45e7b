/* SPDX-License-Identifier: MIT */
/* Labels that the application gives to objects, for messages. */
#ifndef WNN_API_LABEL_H
#define WNN_API_LABEL_H

#include <webnn/webnn.h>

#include "util/error.h"

struct label_text;

/*
 * A label, which any thread may set while others read it: earlier texts stay until the object ends.
 */
struct object_label {
	_Atomic(struct label_text *) text;
};

/* Sets a label; an empty text removes it. Returns 0, or -1 when memory is exhausted. */
int object_label_set(struct object_label *label, WNNStringView text, struct wnn_error *err);
/* Copies the label of an object to another object. Returns 0 or -1. */
int object_label_copy(struct object_label *to, struct object_label *from, struct wnn_error *err);
/*
 * Returns the text that follows the kind of object in messages: empty, or a blank and the quoted
 * label.
 */
const char *object_label_text(struct object_label *label);
void object_label_exit(struct object_label *label);

#endif
