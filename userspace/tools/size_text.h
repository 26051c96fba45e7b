/* SPDX-License-Identifier: MIT */
/* Numbers and sizes of memory as people write them. */
#ifndef ONPU_TOOLS_SIZE_TEXT_H
#define ONPU_TOOLS_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads the number at the start of @text: hexadecimal after 0x, otherwise decimal, even after a 0.
 * Sets *@end to what follows. Returns false when no number is there, or it is 2^64 or more.
 */
bool number_text_read(const char *text, uint64_t *number, const char **end);

/*
 * Reads a number of bytes, as number_text_read() does. A K, M or G after it stands for KiB, MiB or
 * GiB. Returns false when @text is no such number, or is 2^64 or more.
 */
bool size_text_read(const char *text, uint64_t *bytes);

#define SIZE_TEXT 32

/*
 * Writes a text such as "4 MiB", "1.5 GiB", "32 bytes"; returns @text, which has SIZE_TEXT bytes.
 */
static inline char *size_text(char *text, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT, "%u bytes", (unsigned int)bytes);
		return text;
	}
	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	/* An exact value has no decimals, others have one. */
	if (value == (double)(uint64_t)value)
		snprintf(text, SIZE_TEXT, "%.0f %s", value, units[unit]);
	else
		snprintf(text, SIZE_TEXT, "%.1f %s", value, units[unit]);
	return text;
}

#endif
