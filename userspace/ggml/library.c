// SPDX-License-Identifier: MIT
/*
 * Finds the functions of ggml in the libraries that the program has loaded.
 *
 * Programs load ggml under different file names, and its symbols need not be global. The caller of
 * ggml_backend_init() is linked with libggml-base or contains it, so that a search which begins at
 * the caller's library finds it.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"

struct onpu_base base;
static enum onpu_type types[256]; /* by ggml's number */

/*
 * Versions whose structures are those of ggml.h. The number of the interface does not tell them
 * apart: it is 2 for other layouts, too.
 */
#define KNOWN                     \
	RANGE(0, 10, 0, 0, 21, 0) \
	SINGLE(0, 25, 1)

static const struct {
	int first[3], last[3];
} known[] = {
#define RANGE(a, b, c, d, e, f) { { a, b, c }, { d, e, f } },
#define SINGLE(a, b, c)		RANGE(a, b, c, a, b, c)
	KNOWN
#undef RANGE
#undef SINGLE
};
#define RANGE(a, b, c, d, e, f) " " #a "." #b "." #c " to " #d "." #e "." #f ";"
#define SINGLE(a, b, c)		" " #a "." #b "." #c ";"
static const char known_text[] = KNOWN;
#undef RANGE
#undef SINGLE

void onpu_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	flockfile(stderr);
	fputs("onpu: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(args);
}

void onpu_say_error(const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	onpu_say("%s: %.*s", what, (int)error.message.length, error.message.data);
}

static int compare(const int a[3], const int b[3])
{
	for (int i = 0; i < 3; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static bool is_known(const char *text)
{
	int version[3];

	if (sscanf(text, "%d.%d.%d", &version[0], &version[1], &version[2]) != 3)
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (compare(version, known[i].first) >= 0 && compare(version, known[i].last) <= 0)
			return true;
	return false;
}

static void name_types(void)
{
	static const char *const names[TYPE_COUNT] = {
		[TYPE_F32] = "f32",
		[TYPE_F16] = "f16",
		[TYPE_I32] = "i32",
		[TYPE_I64] = "i64",
	};

	/* All of these types have numbers below 32. A number that is out of use has no name. */
	for (uint32_t i = 0; i < 32; i++)
		for (int type = TYPE_OTHER + 1; type < TYPE_COUNT; type++)
			if (base.type_name(i) && !strcmp(base.type_name(i), names[type]))
				types[i] = (enum onpu_type)type;
}

enum onpu_type onpu_type_of(const struct gg_tensor *tensor)
{
	return tensor->type < sizeof(types) / sizeof(types[0]) ? types[tensor->type] : TYPE_OTHER;
}

bool onpu_library_find(const void *address)
{
	void *handle = RTLD_DEFAULT;
	bool found = true;
	Dl_info info;

	if (dladdr(address, &info) && info.dli_fname) {
		void *caller = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

		if (caller && dlsym(caller, "ggml_version"))
			handle = caller;
	}
	if (base.version) {
		void *version = dlsym(handle, "ggml_version");

		if (!version || version == *(void **)&base.version)
			return true;
		onpu_say("the process has loaded a second ggml: use it in another process");
		return false;
	}
	if (!dlsym(handle, "ggml_version")) {
		onpu_say("ggml has no function ggml_version: libggml-base is not found, or is too "
			 "old");
		return false;
	}
#define BASE(result, name, arguments)                                    \
	if (found) {                                                     \
		*(void **)&base.name = dlsym(handle, "ggml_" #name);     \
		if (!base.name) {                                        \
			onpu_say("ggml has no function ggml_%s", #name); \
			found = false;                                   \
		}                                                        \
	}
#include "base.def"
#undef BASE
	if (found && !is_known(base.version())) {
		onpu_say("ggml %s is not used, as it may have other structures; known "
			 "versions:%.*s",
			 base.version(), (int)sizeof(known_text) - 2, known_text);
		found = false;
	}
	if (found)
		name_types();
	else
		memset(&base, 0, sizeof(base));
	return found;
}
