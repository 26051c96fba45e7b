// SPDX-License-Identifier: MIT
/* Functions that the compiler may call and that a freestanding program must define. */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);

void *memcpy(void *to, const void *from, size_t size)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (size--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int value, size_t size)
{
	unsigned char *t = to;

	while (size--)
		*t++ = (unsigned char)value;
	return to;
}
