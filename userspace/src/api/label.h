/* SPDX-License-Identifier: MIT */
/* Labels that the application gives to objects, for messages. */
#ifndef WNN_API_LABEL_H
#define WNN_API_LABEL_H

#include <webnn/webnn.h>

#include "util/error.h"

struct label_text;

/* Any thread may set it while others read: older texts stay until the object ends. */
struct object_label {
	_Atomic(struct label_text *) text;
};

/* 0, or -1 when memory is exhausted. An empty label is none. */
int object_label_set(struct object_label *label, WNNStringView text, struct wnn_error *err);
/* Makes a label that of another object, too. */
int object_label_copy(struct object_label *to, struct object_label *from, struct wnn_error *err);
/*
 * Returns the text behind the kind of the object in messages: empty, or a blank and the quoted
 * label.
 */
const char *object_label_text(struct object_label *label);
void object_label_exit(struct object_label *label);

#endif
