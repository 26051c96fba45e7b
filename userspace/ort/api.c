// SPDX-License-Identifier: MIT
/* Copies the functions that the provider calls out of the tables of ONNX Runtime. */
#include "ort.h"

#include <stdlib.h>
#include <string.h>

#define BIT_Api		   0
#define BIT_EpApi	   1
#define BIT_ModelEditorApi 2

/*
 * Sets *function to an entry of a table, copied as bytes, since C has no cast from data to
 * functions; to NULL if @there is false or there is no table.
 */
static void take(void *function, const void *table, size_t index, bool there)
{
	memset(function, 0, sizeof(void (*)(void)));
	if (table && there)
		memcpy(function, (const char *)table + index * sizeof(void (*)(void)),
		       sizeof(void (*)(void)));
}

bool ort_api_open(struct ort_api *api, const struct ort_api_base *base)
{
	const char *text = base->GetVersionString();
	const char *minor = text ? strchr(text, '.') : NULL;
	unsigned long version = minor ? strtoul(minor + 1, NULL, 10) : 0;
	const void *tables[3] = { NULL };
	const void *(*get_ep_api)(void);
	const void *(*get_editor)(void);

	if (version < ORT_OLDEST)
		return false;
	api->version = version < ORT_NEWEST ? (uint32_t)version : ORT_NEWEST;
	tables[0] = base->GetApi(api->version);
	if (!tables[0])
		return false;
	take(&get_editor, tables[0], 291, true);
	take(&get_ep_api, tables[0], 317, true);
	tables[1] = get_ep_api();
	tables[2] = get_editor();
#define SLOT(table, index, since, result, name, arguments) \
	take(&api->name, tables[BIT_##table], index, api->version >= (since));
#include "slots.def"
#undef SLOT
	return tables[1] != NULL;
}
