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
 * Compares two names as memcmp() does, with U+FFFD for bytes that are no UTF-8; 0: they are equal.
 */
int wnn_view_compare(const WNNStringView *a, const WNNStringView *b);

/*
 * wnn_label_copy - copy a label or name as a C string; bytes that are no UTF-8, and NUL, become
 * U+FFFD (USVString)
 *
 * Control characters stay: the text is the application's. Code that prints it uses
 * wnn_label_printable().
 */
char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view);

/* wnn_label_copy() made fit for messages (wnn_text_printable). */
char *wnn_label_printable(struct wnn_arena *arena, const WNNStringView *view);

#endif
