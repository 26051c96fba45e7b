// SPDX-License-Identifier: MIT
/*
 * A plugin that passes each call to another plugin, and records how large JAX's structures are: for
 * each function that is called, its name, the size that the caller gives, and the size that we
 * declare, as lines of the file ONPU_PJRT_SIZES. ONPU_PJRT_BEHIND is the path of the other plugin.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../userspace/pjrt/pjrt.h"

static const struct pjrt_api *real;
static struct pjrt_api table;

static void note(atomic_bool *is_known, const char *name, size_t theirs, size_t ours)
{
	FILE *file;

	if (atomic_exchange(is_known, true))
		return;
	file = fopen(getenv("ONPU_PJRT_SIZES"), "a");
	if (!file)
		abort();
	fprintf(file, "%s %zu %zu\n", name, theirs, ours);
	fclose(file);
}

#define HAVE(name, last, ...)                                                    \
	static struct pjrt_error *record_##name(struct pjrt_##name##_args *args) \
	{                                                                        \
		static atomic_bool is_known;                                     \
		note(&is_known, #name, args->struct_size, sizeof(*args));        \
		return real->name(args);                                         \
	}
#define LACK(name)
#include "../../userspace/pjrt/slots.def"
#undef HAVE
#undef LACK

const struct pjrt_api *GetPjrtApi(void);

__attribute__((visibility("default"))) const struct pjrt_api *GetPjrtApi(void)
{
	void *library = dlopen(getenv("ONPU_PJRT_BEHIND"), RTLD_NOW);
	const struct pjrt_api *(*get)(void);

	if (!library)
		return NULL;
	*(void **)&get = dlsym(library, "GetPjrtApi");
	real = get();
	table = *real;
#define HAVE(name, last, ...) table.name = record_##name;
#define LACK(name)
#include "../../userspace/pjrt/slots.def"
#undef HAVE
#undef LACK
	return &table;
}
