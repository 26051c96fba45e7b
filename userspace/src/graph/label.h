/* SPDX-License-Identifier: MIT */
/* Strings of the application: labels and names. */
#ifndef WNN_GRAPH_LABEL_H
#define WNN_GRAPH_LABEL_H

#include <stddef.h>
#include <webnn/webnn.h>

struct wnn_arena;

/* Number of bytes of a string view. */
size_t wnn_view_length(const WNNStringView *view);

/*
 * wnn_label_copy - a label as a C string: what is no UTF-8 and NUL become U+FFFD (USVString)
 *
 * Control characters stay: the label is the application's. What prints it uses wnn_label_printable.
 */
char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view);

/* The same, fit for messages (wnn_text_printable). */
char *wnn_label_printable(struct wnn_arena *arena, const WNNStringView *view);

#endif
