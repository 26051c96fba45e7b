/* SPDX-License-Identifier: MIT */
/* Strings of the application: labels and names. */
#ifndef WNN_GRAPH_LABEL_H
#define WNN_GRAPH_LABEL_H

#include <stddef.h>
#include <webnn/webnn.h>

struct wnn_arena;

/* Returns the number of bytes of a string view. */
size_t wnn_view_length(const WNNStringView *view);

/*
 * Compares two names byte by byte; bytes that are not UTF-8 count as U+FFFD. Returns a number below
 * 0, 0 for equal names, or a number above 0.
 */
int wnn_view_compare(const WNNStringView *a, const WNNStringView *b);

/*
 * wnn_label_copy - copy a label or name as a C string
 *
 * Bytes that are not UTF-8, and NUL, become U+FFFD, as USVString demands. Control characters stay,
 * because the text belongs to the application; code that prints it uses wnn_label_printable(). NULL
 * when out of memory.
 */
char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view);

/*
 * Copies a label like wnn_label_copy(), with escapes for characters that must not be printed
 * (wnn_text_printable()). NULL when out of memory.
 */
char *wnn_label_printable(struct wnn_arena *arena, const WNNStringView *view);

#endif
