// SPDX-License-Identifier: MIT
/* Implements client.h: loads ggml and looks up its functions. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

struct client gg;

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint32_t number_of(const char *(*name_of)(uint32_t), const char *name)
{
	for (uint32_t i = 0; i < 40; i++)
		if (name_of(i) && !strcmp(name_of(i), name))
			return i;
	fail("ggml has no %s", name);
}

uint32_t type_number(const char *name)
{
	return number_of(gg.ggml_type_name, name);
}

void client_load(const char *folder, const char *library)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/libllama.v0.5.0.so", folder);
	if (access(path, R_OK)) {
		puts("SKIP: ggml of npm is not there; scripts/fetch-samples.sh fetches it");
		exit(77);
	}
	/* The symbols are local, as in programs that load ggml as a module. */
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fail("%s", dlerror());
#define CALL(result, name, arguments)              \
	*(void **)&gg.name = dlsym(handle, #name); \
	if (!gg.name)                              \
		fail("there is no function " #name);
#include "calls.def"
#undef CALL
	snprintf(path, sizeof(path), "%s/libggml-cpu-x64.so", folder);
	if (!gg.ggml_backend_load(path))
		fail("%s is not loaded", path);
	if (!gg.ggml_backend_load(library))
		fail("%s is not loaded", library);
	gg.cpu = gg.ggml_backend_dev_by_name("CPU");
	gg.onpu = gg.ggml_backend_dev_by_name("ONPU0");
	if (!gg.cpu || !gg.onpu)
		fail("ggml does not list the device %s", gg.cpu ? "ONPU0" : "CPU");
}
