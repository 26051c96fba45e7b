// SPDX-License-Identifier: MIT
/*
 * Functions without an object: names, sizes, versions, addresses; and functions under their older
 * names.
 */
#define WNN_DEPRECATED(instead)

#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "graph/label.h"
#include "graph/op_table.h"

/* The commit of the specification, see webnn.json. */
#define SPECIFICATION "07d09bb"

void wnnGetVersion(WNNVersion *version)
{
	if (!api_check(version, "wnnGetVersion", "version"))
		return;
	version->major = WNN_VERSION_MAJOR;
	version->minor = WNN_VERSION_MINOR;
	version->patch = WNN_VERSION_PATCH;
	version->text = api_view(WNN_VERSION_TEXT);
	version->specification = api_view(SPECIFICATION);
}

static WNNStringView enum_name(const struct wnn_enum *values, uint32_t value)
{
	const char *name = wnn_enum_name(values, value);

	return api_view(name ? name : "");
}

WNNStringView wnnStatusGetName(WNNStatus status)
{
	return enum_name(&wnn_enum_status, status);
}

WNNStringView wnnOperandDataTypeGetName(WNNOperandDataType dataType)
{
	return enum_name(&wnn_enum_operand_data_type, dataType);
}

size_t wnnOperandDataTypeGetSize(WNNOperandDataType dataType)
{
	return wnn_data_type_size(dataType);
}

#include "api/webnn_aliases.inc"

static const struct proc {
	const char *name;
	WNNProc proc;
} procs[] = {
#include "api/webnn_procs.inc"
};

static int compare_proc(const void *key, const void *item)
{
	const WNNStringView *name = key;
	const char *other = ((const struct proc *)item)->name;
	size_t length = strlen(other);
	int order = memcmp(name->data, other, name->length < length ? name->length : length);

	return order ? order : (name->length > length) - (name->length < length);
}

WNNProc wnnGetProcAddress(WNNStringView name)
{
	WNNStringView key = { name.data ? name.data : "", wnn_view_length(&name) };
	const struct proc *proc = bsearch(&key, procs, sizeof(procs) / sizeof(procs[0]),
					  sizeof(procs[0]), compare_proc);

	return proc ? proc->proc : NULL;
}
