/* SPDX-License-Identifier: MIT */
/* Checks the names of files that a model refers to, such as those of its weights. */
#ifndef IMPORT_COMMON_FOLDER_H
#define IMPORT_COMMON_FOLDER_H

#include <stdbool.h>
#include <string.h>

/* Returns whether a file stays below the folder that its name is relative to. */
static inline bool import_stays_below(const char *name)
{
	if (!*name || *name == '/')
		return false;
	for (const char *part = name; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return false;
	}
	return true;
}

#endif
