/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow. The owner keeps the pointer, the number of elements and the capacity, and frees
 * the elements with wnn_free().
 */
#ifndef WNN_UTIL_ARRAY_H
#define WNN_UTIL_ARRAY_H

#include <stddef.h>

/* Does the work of wnn_array_reserve(), which calls it when there is too little room. */
int wnn_array_grow(void *array, size_t *room, size_t need, size_t size);

/*
 * wnn_array_reserve - make room for `need` elements in an array
 * @array: address of the pointer to its elements, which may be NULL at first
 * @room: the capacity in elements; grows by doubling, so that adding one element at a time is cheap
 * @size: bytes of an element
 *
 * Returns 0, or -1 when memory is exhausted; then array and room are as before.
 */
static inline int wnn_array_reserve(void *array, size_t *room, size_t need, size_t size)
{
	return need <= *room ? 0 : wnn_array_grow(array, room, need, size);
}

#endif
