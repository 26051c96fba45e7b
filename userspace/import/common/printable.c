// SPDX-License-Identifier: MIT
/* Makes names of files printable in messages of the importers. */
#include "printable.h"

void import_printable(char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)text[0], next = (unsigned char)text[1];

		if (byte < ' ' || byte == 0x7f)
			text[0] = '?';
		else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) /* U+0080 to U+009F */
			text[0] = text[1] = '?';
	}
}
