// SPDX-License-Identifier: MIT
/* Loads oneDNN. */
#include "cpu/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "cpu/conv.h"

/* Processors with VNNI, in the bits of dnnl_cpu_isa_t: others add pairs of products in 16 bits, which saturate. */
#define VNNI                                             \
	((dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2) | \
	 (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core))

static struct onednn library;
static const struct onednn *loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_functions(void *handle)
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
			return false;
		*(void **)functions[i].to = function;
	}
	return true;
}

/* It is never unloaded: OpenMP's run time must not be. */
static void load(void)
{
	void *handle = dlopen(ONEDNN_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const dnnl_version_t *version;
	int threads;

	if (!handle || !find_functions(handle))
		return;
	version = library.version();
	if (version->major != DNNL_VERSION_MAJOR)
		return;
	snprintf(library.form, sizeof(library.form), "onednn-%d.%d.%d-%x", version->major,
		 version->minor, version->patch, (unsigned int)library.get_effective_cpu_isa());
	library.exact_integers = library.get_effective_cpu_isa() & VNNI;
	threads = onednn_enter(&library);
	if (!library.engine_create(&library.engine, dnnl_cpu, 0))
		loaded = &library;
	onednn_leave(&library, threads);
}

const struct onednn *onednn_get(void)
{
	pthread_once(&once, load);
	return loaded;
}

const char cpu_onednn_absent[] = "the layer onednn needs " ONEDNN_SONAME
				 ", which cannot be loaded: install it, or use the layer openblas";

const char *cpu_onednn_form(void)
{
	const struct onednn *dnn = onednn_get();

	return dnn ? dnn->form : NULL;
}

struct cpu_prepared *cpu_onednn_prepare(const struct cpu_context *cpu, const struct ir_node *node)
{
	switch (node->op) {
	case IR_OP_CONV:
		if (!cpu_conv_can_pack(node))
			return NULL;
		__attribute__((fallthrough));
	case IR_OP_MATMUL:
	case IR_OP_QCONV:
	case IR_OP_QMATMUL:
		return onednn_get() ? onednn_conv_prepare(onednn_get(), cpu, node) : NULL;
	default:
		return NULL;
	}
}
