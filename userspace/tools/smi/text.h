/* SPDX-License-Identifier: MIT */
/* Formats text into new memory. */
#ifndef ONPU_TOOLS_SMI_TEXT_H
#define ONPU_TOOLS_SMI_TEXT_H

/* A printf() into memory; ends the program when there is none. The caller frees it. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
