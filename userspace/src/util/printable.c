// SPDX-License-Identifier: MIT
/* Copies UTF-8 text with escapes for characters that must not be printed. */
#include "util/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT 0xfffd

/*
 * Returns the first character of the text at p, which has `left` bytes, and sets *used to the
 * number of its bytes. When these are not valid UTF-8, returns REPLACEMENT for the first byte
 * alone.
 */
static uint32_t decode(const unsigned char *p, size_t left, size_t *used)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = p[0];
	size_t bytes = c < 0x80		  ? 1 :
		       (c & 0xe0) == 0xc0 ? 2 :
		       (c & 0xf0) == 0xe0 ? 3 :
		       (c & 0xf8) == 0xf0 ? 4 :
					    0;

	*used = 1;
	if (bytes == 1)
		return c;
	if (!bytes || bytes > left)
		return REPLACEMENT;
	c &= 0x7f >> bytes;
	for (size_t i = 1; i < bytes; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return REPLACEMENT;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return REPLACEMENT;
	*used = bytes;
	return c;
}

static bool deceptive(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c;
}

size_t wnn_text_printable(char *buffer, size_t size, const char *data, size_t length)
{
	size_t out = 0, used;
	char piece[8];

	for (size_t in = 0; in < length; in += used) {
		uint32_t c = decode((const unsigned char *)data + in, length - in, &used);
		size_t bytes;

		if (deceptive(c)) {
			bytes = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", (unsigned int)c);
		} else if (c == REPLACEMENT) {
			bytes = 3;
			memcpy(piece, "\xef\xbf\xbd", bytes);
		} else {
			bytes = used;
			memcpy(piece, data + in, bytes);
		}
		if (bytes >= size - out)
			break;
		memcpy(buffer + out, piece, bytes);
		out += bytes;
	}
	buffer[out] = '\0';
	return out;
}

size_t wnn_text_character(const char *data, size_t length)
{
	size_t used;
	uint32_t c = decode((const unsigned char *)data, length, &used);

	return c == REPLACEMENT && used == 1 ? 0 : used;
}
