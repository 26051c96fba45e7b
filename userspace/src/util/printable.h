/* SPDX-License-Identifier: MIT */
/* Makes text from outside printable, for messages. */
#ifndef WNN_UTIL_PRINTABLE_H
#define WNN_UTIL_PRINTABLE_H

#include <stddef.h>

/*
 * wnn_text_printable - copy UTF-8 text so that it cannot deceive the reader of a log
 * @buffer: receives the result with a NUL; what does not fit is cut off between characters
 * @size: bytes of @buffer, not 0
 * @data: the text; may be NULL when @length is 0
 *
 * Control characters, separators of lines (U+2028, U+2029), and characters that change the
 * direction of writing become \u escapes; invalid UTF-8 becomes U+FFFD. Returns the length of the
 * result.
 */
size_t wnn_text_printable(char *buffer, size_t size, const char *data, size_t length);

/*
 * Returns the bytes of the UTF-8 character at the start of @data; 0 when there is none. @length is
 * not 0.
 */
size_t wnn_text_character(const char *data, size_t length);

#endif
