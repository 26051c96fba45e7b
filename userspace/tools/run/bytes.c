// SPDX-License-Identifier: MIT
/* webnn-run: bytes that are appended to. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

int bytes_add(struct bytes *bytes, const void *data, size_t size)
{
	if (size > bytes->room - bytes->size) {
		size_t room = 2 * (bytes->size + size);
		char *larger = realloc(bytes->data, room);

		if (!larger)
			return -1;
		bytes->data = larger;
		bytes->room = room;
	}
	if (size)
		memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}
