// SPDX-License-Identifier: MIT
/* Loads OpenBLAS when a kernel first needs it. */
#include "cpu/openblas/openblas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "cpu/fast.h"
#include "cpu/room.h"

/*
 * Address space that OpenBLAS maps: its code, and a buffer and a stack for each of its threads and
 * each calling thread.
 */
#define IMAGE_BYTES  (64 * CPU_MIB)
#define BUFFER_BYTES (136 * CPU_MIB)

struct openblas openblas;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

/* Returns the number of threads that OpenBLAS will use, with the calling one. */
static uint64_t own_threads(void)
{
	const char *wanted = getenv("OPENBLAS_NUM_THREADS");
	int n = wanted ? atoi(wanted) : 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return n > 0 ? (uint64_t)n : 1;
	return n > 0 && n < CPU_COUNT(&set) ? (uint64_t)n : (uint64_t)CPU_COUNT(&set);
}

/*
 * Checks that the address space is available, because OpenBLAS retries for ever when it cannot map
 * memory. Returns 0 or -1.
 */
static int check_room(const struct cpu_context *cpu, struct wnn_error *err)
{
	uint64_t bytes = IMAGE_BYTES + (own_threads() - 1 + cpu->threads) * BUFFER_BYTES;
	uint64_t limit;

	if (cpu_has_room(bytes, &limit))
		return 0;
	return wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"this process may have %llu MiB of address space (ulimit -v), but OpenBLAS needs "
		"%llu MiB more: raise the limit, or set OPENBLAS_NUM_THREADS=1 and give the "
		"device cpu fewer threads",
		(unsigned long long)(limit / CPU_MIB), (unsigned long long)(bytes / CPU_MIB));
}

static int find_functions(void *handle, struct wnn_error *err)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "cblas_sgemm", &openblas.sgemm },
		{ "cblas_sgemv", &openblas.sgemv },
		{ "openblas_get_num_threads", &openblas.get_num_threads },
		{ "openblas_set_num_threads", &openblas.set_num_threads },
		{ "openblas_get_config", &openblas.get_config },
		{ "openblas_get_corename", &openblas.get_corename },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return wnn_error_set(
				err, WNN_UNKNOWN_ERROR,
				"%s, which was loaded as %s, has no function %s, so it is not the "
				"OpenBLAS that is needed: install the package libopenblas0, and "
				"let no other file of this name be found before it "
				"(LD_LIBRARY_PATH, update-alternatives)",
				cpu_library_file(handle, OPENBLAS_SONAME), OPENBLAS_SONAME,
				functions[i].name);
		*(void **)functions[i].to = function;
	}
	return 0;
}

static int load(const struct cpu_context *cpu, struct wnn_error *err)
{
	void *handle;

	if (check_room(cpu, err))
		return -1;
	/* OpenBLAS is never unloaded, because its threads run on. */
	handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"OpenBLAS, the library of matrix products, cannot be loaded: %s; install "
			"the package libopenblas0, or if memory or file descriptors are lacking, "
			"end other programs",
			dlerror());
	return find_functions(handle, err);
}

int cpu_blas_load(const struct cpu_context *cpu, struct wnn_error *err)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		ret = load(cpu, err);
	loaded = !ret;
	pthread_mutex_unlock(&lock);
	return ret;
}
