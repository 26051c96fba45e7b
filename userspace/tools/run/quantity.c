// SPDX-License-Identifier: MIT
/* webnn-run: formats numbers for people, with a unit that keeps them short. */
#include "quantity.h"

#include <inttypes.h>
#include <stdio.h>

char *quantity_count(char text[QUANTITY_TEXT], uint64_t count)
{
	static const char units[] = " kMGTP";
	double rest = (double)count;
	int unit = 0, digits;

	while (rest >= 999.5 && units[unit + 1]) {
		rest /= 1000;
		unit++;
	}
	digits = rest < 9.995 ? 2 : rest < 99.95 ? 1 : 0;
	if (unit)
		snprintf(text, QUANTITY_TEXT, "%.*f %c", digits, rest, units[unit]);
	else
		snprintf(text, QUANTITY_TEXT, "%" PRIu64, count);
	return text;
}
