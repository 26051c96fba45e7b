// SPDX-License-Identifier: MIT
/* webnn-run: recognises StableHLO programs: files whose names end with .mlir, and MLIR bytecode. */
#include <stdio.h>
#include <string.h>

#include "program.h"

bool program_is(const char *path)
{
	static const char magic[4] = { 'M', 'L', '\xef', 'R' };
	const char *end = strrchr(path, '.');
	char first[sizeof(magic)];
	bool is = end && !strcmp(end, ".mlir");
	FILE *file = is ? NULL : fopen(path, "rb");

	if (!file)
		return is;
	is = fread(first, 1, sizeof(first), file) == sizeof(first) &&
	     !memcmp(first, magic, sizeof(magic));
	fclose(file);
	return is;
}
