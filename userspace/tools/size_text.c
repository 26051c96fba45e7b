// SPDX-License-Identifier: MIT
/* Parses sizes of memory as people write them, such as 64K. */
#include "size_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool size_text_read(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	unsigned long long number;
	const char *unit;
	unsigned int shift = 0;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (end == text || errno || strchr(text, '-'))
		return false;
	unit = *end ? strchr(units, toupper(*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
	}
	if (*end || number > UINT64_MAX >> shift)
		return false;
	*bytes = (uint64_t)number << shift;
	return true;
}
