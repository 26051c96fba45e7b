// SPDX-License-Identifier: MIT
/*
 * Describes a context's kernels: level, layer, and the libraries below it; for reports and
 * webnn-run doctor.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/fast.h"
#include "cpu/openblas/openblas.h"

/* oneDNN's names for the levels of its code, by the bits of dnnl_cpu_isa_t. */
static const struct {
	unsigned int bits;
	const char *name;
} onednn_levels[] = {
	{ 0x1, "SSE41" },
	{ 0x3, "AVX" },
	{ 0x7, "AVX2" },
	{ 0xf, "AVX2_VNNI" },
	{ 0x1f, "AVX2_VNNI_2" },
	{ 0x27, "AVX512_CORE" },
	{ 0x67, "AVX512_CORE_VNNI" },
	{ 0xe7, "AVX512_CORE_BF16" },
	{ 0x1ef, "AVX10_1_512" },
	{ 0xfef, "AVX10_1_512_AMX" },
	{ 0x1fef, "AVX10_1_512_AMX_FP16" },
};

/*
 * Reads oneDNN's version and level from `form`, the name of the layout of packed operands, which
 * begins with both.
 */
static void describe_onednn(const char *form, struct cpu_description *d)
{
	unsigned int bits;

	if (sscanf(form, "onednn-%31[0-9.]-%x", d->onednn_version, &bits) != 2)
		return;
	snprintf(d->onednn_level, sizeof(d->onednn_level), "%#x", bits);
	for (size_t i = 0; i < sizeof(onednn_levels) / sizeof(onednn_levels[0]); i++)
		if (onednn_levels[i].bits == bits)
			snprintf(d->onednn_level, sizeof(d->onednn_level), "%s",
				 onednn_levels[i].name);
}

static void describe_openblas(const struct cpu_context *cpu, struct cpu_description *d)
{
	struct wnn_error err = { 0 };

	if (cpu_blas_load(cpu, &err)) {
		snprintf(d->openblas_problem, sizeof(d->openblas_problem), "%.*s",
			 (int)sizeof(d->openblas_problem) - 1, err.message);
		return;
	}
	/* get_config() returns "OpenBLAS 0.3.29 DYNAMIC_ARCH …". */
	if (sscanf(openblas.get_config(), "OpenBLAS %31s", d->openblas_version) != 1)
		snprintf(d->openblas_version, sizeof(d->openblas_version), "unknown");
	snprintf(d->openblas_core, sizeof(d->openblas_core), "%s", openblas.get_corename());
}

void cpu_describe(const struct cpu_context *cpu, struct cpu_description *d)
{
	const char *form = cpu->layer == CPU_ONEDNN ? cpu_onednn_form() : NULL;
	const char *complaint = cpu_complaint(cpu);
	size_t length = strlen(cpu->simd->name);

	memset(d, 0, sizeof(*d));
	d->level = cpu->simd->name;
	cpu_simd_list(d->levels, sizeof(d->levels));
	d->best = !strcmp(d->levels + strlen(d->levels) - length, d->level);
	d->layer = form ? "onednn" : "openblas";
	d->threads = cpu->threads;
	d->onednn_broken = complaint != NULL;
	d->onednn_problem = complaint ? complaint : "";
	if (form)
		describe_onednn(form, d);
	else if (cpu->layer == CPU_ONEDNN && !complaint)
		d->onednn_problem = cpu_onednn_absent;
	describe_openblas(cpu, d);
}
