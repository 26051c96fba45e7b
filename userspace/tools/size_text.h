/* SPDX-License-Identifier: MIT */
/* Sizes of memory as people write them. */
#ifndef ONPU_TOOLS_SIZE_TEXT_H
#define ONPU_TOOLS_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads a number of bytes, decimal or with 0x, and a K, M or G behind it for that many KiB, MiB or GiB.
 * Returns false when @text is none, or beyond 2^64.
 */
bool size_text_read(const char *text, uint64_t *bytes);

#endif
