/* SPDX-License-Identifier: MIT */
/* Formats text into new memory. */
#ifndef ONPU_TOOLS_SMI_TEXT_H
#define ONPU_TOOLS_SMI_TEXT_H

/*
 * Returns a text as of printf(), which the caller frees; ends the program when there is no memory.
 */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
