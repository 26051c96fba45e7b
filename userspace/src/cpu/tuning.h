/* SPDX-License-Identifier: MIT */
/*
 * The limits from which on one kernel is faster than another, for each level of vector
 * instructions. They change speed and rounding, but not what a kernel can compute.
 */
#ifndef WNN_CPU_TUNING_H
#define WNN_CPU_TUNING_H

#include "cpu/fast.h"

struct cpu_tuning {
	/*
	 * Whether convolutions and products with constants on our own tiles, in channels-last
	 * layout, were measured to take less time than oneDNN's. The members up to max_direct are
	 * used only if this is true.
	 */
	bool tiles;
	/*
	 * The least rows and columns of a product with a constant matrix: with fewer rows, reading
	 * the matrix takes most of the time; with fewer columns, and fewer than the matrix has
	 * rows, oneDNN is as fast.
	 */
	int64_t min_rows, min_columns;
	/*
	 * Convolutions that take 4 to 13 % less time on the kernel conv-packed than on oneDNN: at
	 * least window_results output channels and min_window_pixels pixels of the result; and at
	 * most few_channels input channels, or at most max_window_pixels pixels of the result with
	 * a filter of at least large_filter elements.
	 */
	int64_t window_results, few_channels, min_window_pixels, max_window_pixels, large_filter;
	/*
	 * The most floats of a matrix for which rows are multiplied as they lie in memory: packing
	 * them takes longer than it saves. 0: rows are always packed.
	 */
	int64_t max_direct;
	/* Whether products of two computed matrices on our own tiles are ever faster. */
	bool matmul_tiles;
	/*
	 * Products of two computed matrices: the least rows of the first one, since for fewer
	 * packing the second one takes longer than the product; the most elements of a row, since
	 * with more neither a panel nor the rows of a tile stay in the near caches; and the most
	 * multiplications of dense matrices.
	 */
	int64_t min_lines, max_depth, max_work;
};

const struct cpu_tuning *cpu_tuning_of(const struct cpu_simd *simd);

static inline const struct cpu_tuning *cpu_tuning(const struct cpu_context *cpu)
{
	return cpu_tuning_of(cpu->simd);
}

#endif
