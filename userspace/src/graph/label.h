/* SPDX-License-Identifier: MIT */
/* Strings of the application: labels and names. */
#ifndef WNN_GRAPH_LABEL_H
#define WNN_GRAPH_LABEL_H

#include <stddef.h>
#include <webnn/webnn.h>

struct wnn_arena;

/* Number of bytes of a string view. */
size_t wnn_view_length(const WNNStringView *view);

/* The order of two names as memcmp has it, with U+FFFD for what is no UTF-8; 0: they are the same. */
int wnn_view_compare(const WNNStringView *a, const WNNStringView *b);

/*
 * wnn_label_copy - a label or name as a C string: what is no UTF-8 and NUL become U+FFFD (USVString)
 *
 * Control characters stay: the text is the application's. What prints it uses wnn_label_printable.
 */
char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view);

/* The same, fit for messages (wnn_text_printable). */
char *wnn_label_printable(struct wnn_arena *arena, const WNNStringView *view);

#endif
