// SPDX-License-Identifier: MIT
/* Chooses among the levels of vector instructions that this build and this processor have. */
#include "cpu/simd/fill.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef CPU_SIMD_X86
#include <cpuid.h>
#endif

static struct cpu_simd levels[CPU_LEVEL_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define FILL(table, level)                        \
	do {                                      \
		cpu_fill_gemm_##level(table);     \
		cpu_fill_window_##level(table);   \
		cpu_fill_map_##level(table);      \
		cpu_fill_fold_##level(table);     \
		cpu_fill_winograd_##level(table); \
		cpu_fill_half_##level(table);     \
		cpu_fill_integer_##level(table);  \
		cpu_fill_weights_##level(table);  \
		cpu_fill_whole_##level(table);    \
		cpu_fill_softmax_##level(table);  \
	} while (0)

static void fill_levels(void)
{
	FILL(&levels[CPU_LEVEL_BASE], base);
#ifdef CPU_SIMD_X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("f16c")) {
		FILL(&levels[CPU_LEVEL_AVX2], avx2);
		cpu_fill_pairs_avx2(&levels[CPU_LEVEL_AVX2]);
	}
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("fma"))
		FILL(&levels[CPU_LEVEL_AVX512], avx512);
	if (levels[CPU_LEVEL_AVX512].name && __builtin_cpu_supports("avx512vnni"))
		cpu_fill_dots_avx512(&levels[CPU_LEVEL_AVX512]);
	else if (levels[CPU_LEVEL_AVX512].name)
		cpu_fill_pairs_avx512(&levels[CPU_LEVEL_AVX512]);
#endif
}

const struct cpu_simd *cpu_simd_level(enum cpu_level level)
{
	pthread_once(&once, fill_levels);
	return levels[level].name ? &levels[level] : NULL;
}

/*
 * Whether QEMU emulates the processor: its fused multiply-adds are computed in software, some ten
 * times slower than a product and a sum.
 */
static bool is_emulated(void)
{
#ifdef CPU_SIMD_X86
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & 1u << 31))
		return false;
	/* The name of QEMU's emulator: "TCGTCGTCGTCG". */
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	return ebx == 0x54474354 && ecx == 0x43544743 && edx == 0x47435447;
#else
	return false;
#endif
}

const struct cpu_simd *cpu_simd_best(void)
{
	int level = is_emulated() ? CPU_LEVEL_BASE : CPU_LEVEL_COUNT - 1;

	while (!cpu_simd_level((enum cpu_level)level))
		level--;
	return &levels[level];
}

const struct cpu_simd *cpu_simd_named(const char *name)
{
	for (int level = 0; level < CPU_LEVEL_COUNT; level++) {
		const struct cpu_simd *simd = cpu_simd_level((enum cpu_level)level);

		if (simd && !strcmp(simd->name, name))
			return simd;
	}
	return NULL;
}

void cpu_simd_list(char *text, size_t size)
{
	const char *names[CPU_LEVEL_COUNT];
	size_t count = 0, length = 0;

	for (int level = 0; level < CPU_LEVEL_COUNT; level++)
		if (cpu_simd_level((enum cpu_level)level))
			names[count++] = levels[level].name;
	for (size_t i = 0; i < count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   !i		 ? "" :
					   i + 1 < count ? ", " :
							   " and ",
					   names[i]);
}
