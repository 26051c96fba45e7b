// SPDX-License-Identifier: MIT
/* Grows arrays; see array.h. */
#include "util/array.h"

#include <stdint.h>
#include <string.h>

#include "util/malloc.h"

#define FIRST_ROOM 16

int wnn_array_grow(void *array, size_t *room, size_t need, size_t size)
{
	size_t bigger = *room ? *room : FIRST_ROOM;
	void *elements, *grown;

	while (bigger < need)
		if (__builtin_mul_overflow(bigger, 2, &bigger))
			return -1;
	/* `array` points to a pointer of any type: memcpy() reads it without knowing the type. */
	memcpy(&elements, array, sizeof(elements));
	grown = wnn_reallocarray(elements, bigger, size);
	if (!grown)
		return -1;
	memcpy(array, &grown, sizeof(grown));
	*room = bigger;
	return 0;
}
