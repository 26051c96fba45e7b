// SPDX-License-Identifier: MIT
/* webnn-run: reads recorded values by the names of their tensors. */
#include "recorded.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../npz.h"

static bool is_folder(const char *path)
{
	struct stat stat_of;

	return !stat(path, &stat_of) && S_ISDIR(stat_of.st_mode);
}

bool recorded_is(const char *path)
{
	return npz_is(path) || is_folder(path);
}

bool recorded_has(const char *path, const char *name)
{
	char *file;
	bool has;

	if (!is_folder(path))
		return npz_has(path, name);
	file = value_path(path, name);
	has = file && !access(file, F_OK);
	free(file);
	return has;
}

int recorded_load(const char *path, const char *name, struct value *value)
{
	char *file;
	int ret;

	if (!is_folder(path))
		return value_load(path, name, value);
	file = value_path(path, name);
	ret = file ? value_load(file, name, value) : complain_memory(path);
	free(file);
	return ret;
}
