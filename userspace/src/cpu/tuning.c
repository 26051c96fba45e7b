// SPDX-License-Identifier: MIT
/* The tuning table: one row for each level of vector instructions. */
#include "cpu/tuning.h"

static const struct cpu_tuning table[CPU_LEVEL_COUNT] = {
	[CPU_LEVEL_BASE] = { .max_work = INT64_MAX },
	/* Measured on a Zen 3. */
	[CPU_LEVEL_AVX2] = { .tiles = true,
			     .min_rows = 8,
			     .min_columns = 64,
			     .window_results = 64,
			     .few_channels = 4,
			     .min_window_pixels = 16,
			     .max_window_pixels = 64,
			     .large_filter = 1 << 20,
			     .max_direct = 416 * 1024,
			     .matmul_tiles = true,
			     .min_lines = 32,
			     .max_depth = 2048,
			     .max_work = INT64_MAX },
	/*
	 * Measured on an Emerald Rapids. For products of computed matrices with more
	 * multiplications than max_work, oneDNN takes a twentieth to a fifth less time.
	 */
	[CPU_LEVEL_AVX512] = { .tiles = true,
			       .min_rows = 8,
			       .min_columns = 64,
			       .window_results = INT64_MAX,
			       .max_direct = 416 * 1024,
			       .matmul_tiles = true,
			       .min_lines = 8,
			       .max_depth = 2048,
			       .max_work = 64 * 64 * 64 },
};

const struct cpu_tuning *cpu_tuning_of(const struct cpu_simd *simd)
{
	int level = CPU_LEVEL_COUNT - 1;

	while (level > CPU_LEVEL_BASE && simd != cpu_simd_level((enum cpu_level)level))
		level--;
	return &table[level];
}
