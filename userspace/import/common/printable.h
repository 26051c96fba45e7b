/* SPDX-License-Identifier: MIT */
/* Makes names of files printable in messages of the importers. */
#ifndef IMPORT_COMMON_PRINTABLE_H
#define IMPORT_COMMON_PRINTABLE_H

/* Replaces control characters by '?': they may be commands for a terminal. */
void import_printable(char *text);

#endif
