// SPDX-License-Identifier: MIT
/*
 * Makes oneDNN compute wrong numbers, for tests of what notices that. When it is preloaded, this
 * library takes the place of the one that the process loads under the name in BROKEN_ONEDNN.
 * Functions call the real oneDNN, and each primitive then changes the fourth byte of its result,
 * which has the sign and exponent of a float32.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

typedef void *(*open_fn)(const char *name, int flags);
typedef dnnl_status_t (*execute_fn)(const_dnnl_primitive_t, dnnl_stream_t, int,
				    const dnnl_exec_arg_t *);

/* dlsym() gives an object pointer; ISO C has no conversion from it to that of a function. */
static void next(void *function, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(function, &found, sizeof(found));
}

void *dlopen(const char *name, int flags)
{
	open_fn open;
	Dl_info self;

	next(&open, "dlopen");
	if (name && !strcmp(name, BROKEN_ONEDNN) &&
	    dladdr((const void *)dnnl_primitive_execute, &self))
		name = self.dli_fname;
	return open(name, flags);
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
				     int count, const dnnl_exec_arg_t *args)
{
	execute_fn execute;
	dnnl_status_t status;
	void *result = NULL;

	next(&execute, "dnnl_primitive_execute");
	status = execute(primitive, stream, count, args);
	for (int i = 0; i < count; i++)
		if (args[i].arg == DNNL_ARG_DST &&
		    !dnnl_memory_get_data_handle(args[i].memory, &result))
			((unsigned char *)result)[3] ^= 0x40;
	return status;
}
