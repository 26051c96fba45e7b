// SPDX-License-Identifier: MIT
/* Parses numbers and sizes of memory as people write them, such as 64K. */
#include "size_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool number_text_read(const char *text, uint64_t *number, const char **end)
{
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *after;

	/* strtoull() would take a sign and blanks. */
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &after, hex ? 16 : 10);
	*end = after;
	return !errno;
}

bool size_text_read(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit, *end;
	uint64_t number;
	unsigned int shift = 0;

	if (!number_text_read(text, &number, &end))
		return false;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
	}
	if (*end || number > UINT64_MAX >> shift)
		return false;
	*bytes = number << shift;
	return true;
}
