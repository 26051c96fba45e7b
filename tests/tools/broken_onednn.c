// SPDX-License-Identifier: MIT
/*
 * Makes oneDNN compute wrong numbers, to test what detects that. When this library is preloaded,
 * dlopen() returns it for the name in BROKEN_ONEDNN. Its functions call the real oneDNN; after each
 * primitive they change the fourth byte of the result, which has the sign and exponent of a
 * float32.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

typedef void *(*open_fn)(const char *name, int flags);
typedef dnnl_status_t (*execute_fn)(const_dnnl_primitive_t, dnnl_stream_t, int,
				    const dnnl_exec_arg_t *);

/*
 * Sets *@function to the function of this name in the next library. dlsym() returns an object
 * pointer, which ISO C cannot convert to a function pointer, so it is copied.
 */
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
