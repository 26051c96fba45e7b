// SPDX-License-Identifier: MIT
/* Loads oneDNN, runs the self-test, and has the functions that the kernels on oneDNN share. */
#include "cpu/onednn/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpu/room.h"

/*
 * The bits of dnnl_cpu_isa_t for instructions that multiply 8-bit integers and add in 32 bits
 * (VNNI). Other processors add pairs of products in 16 bits, which saturate.
 */
#define VNNI                                             \
	((dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2) | \
	 (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core))

#define AMX (dnnl_cpu_isa_avx512_core_amx & ~dnnl_cpu_isa_avx512_core_fp16)

static struct onednn library;
static const struct onednn *loaded;
/* why the self-test failed; only set when it did */
static struct wnn_error verdict;
static atomic_bool is_wrong;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns the name of a function that the library lacks; NULL: it has all. */
static const char *find_functions(void *handle)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
#define ONEDNN_FUNCTION(name) { "dnnl_" #name, &library.name },
		ONEDNN_FUNCTIONS(ONEDNN_FUNCTION)
#undef ONEDNN_FUNCTION
			{ "omp_set_num_threads", &library.set_threads },
		{ "omp_get_max_threads", &library.get_threads },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return functions[i].name;
		*(void **)functions[i].to = function;
	}
	return NULL;
}

/*
 * Address space that oneDNN maps when it is loaded. When only a part of it is free, the C library
 * ends the process because it cannot allocate thread-local data.
 */
#define ROOM_BYTES (128 * CPU_MIB)

static char absent[512]; /* why oneDNN is not used, unless it failed the self-test */
const char *cpu_onednn_absent = absent;

/* Opens oneDNN and finds its functions. Returns false, with the reason in `absent`, on failure. */
static bool open_library(void)
{
	const char *missing;
	uint64_t limit;
	void *handle;

	if (!cpu_has_room(ROOM_BYTES, &limit)) {
		snprintf(absent, sizeof(absent),
			 "the layer onednn needs %d MiB of addresses, which this process does not "
			 "get: raise the limit (ulimit -v), or end other programs",
			 (int)(ROOM_BYTES / CPU_MIB));
		return false;
	}
	handle = dlopen(ONEDNN_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		snprintf(
			absent, sizeof(absent),
			"the layer onednn needs oneDNN, which cannot be loaded: %.300s; install it",
			dlerror());
		return false;
	}
	missing = find_functions(handle);
	if (missing || library.version()->major != DNNL_VERSION_MAJOR)
		snprintf(absent, sizeof(absent),
			 "the layer onednn needs oneDNN %d with OpenMP, but %.300s is another "
			 "library%s%s: install that version",
			 DNNL_VERSION_MAJOR, cpu_library_file(handle, ONEDNN_SONAME),
			 missing ? ", as it has no function " : "", missing ? missing : "");
	return !absent[0];
}

/*
 * Loads oneDNN and checks it. It is never unloaded, because OpenMP's run-time library must not be.
 */
static void load(void)
{
	const dnnl_version_t *version;
	int threads;

	if (!open_library())
		return;
	version = library.version();
	/*
	 * Names the form of packed operands: oneDNN chooses layouts by its version and instruction
	 * set; the last number counts our own changes of packing, after which saved graphs differ.
	 */
	snprintf(library.form, sizeof(library.form), "onednn-%d.%d.%d-%x-9", version->major,
		 version->minor, version->patch, (unsigned int)library.get_effective_cpu_isa());
	library.exact_integers = library.get_effective_cpu_isa() & VNNI;
	library.has_amx = library.get_effective_cpu_isa() & AMX;
	threads = onednn_enter(&library);
	if (!library.engine_create(&library.engine, dnnl_cpu, 0)) {
		if (!onednn_check(&library, &verdict))
			loaded = &library;
		atomic_store(&is_wrong, verdict.status == WNN_NOT_SUPPORTED);
	}
	if (!loaded)
		snprintf(absent, sizeof(absent),
			 "the layer onednn finds too little memory: end other programs, or raise "
			 "the limit (ulimit -v)");
	onednn_leave(&library, threads);
}

const struct onednn *onednn_get(void)
{
	pthread_once(&once, load);
	return loaded;
}

int onednn_failed(struct wnn_error *err)
{
	return wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"oneDNN failed to compute a convolution or product, most likely for lack of "
		"memory: end other programs, or set WEBNN_CPU_LAYER=openblas to do without it");
}

bool onednn_is_fast(const struct onednn *dnn, const_dnnl_primitive_desc_t desc)
{
	const char *name = NULL;

	if (dnn->primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) || !name)
		return false;
	return !strstr(name, "ref") && !strstr(name, "gemm");
}

int onednn_make_attributes(const struct onednn *dnn, dnnl_primitive_attr_t *attr)
{
	return dnn->primitive_attr_create(attr) ||
	       dnn->primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
}

const char *cpu_onednn_form(void)
{
	const struct onednn *dnn = onednn_get();

	return dnn ? dnn->form : NULL;
}

const char *cpu_onednn_complaint(void)
{
	return atomic_load(&is_wrong) ? verdict.message : NULL;
}
