/* SPDX-License-Identifier: MIT */
/*
 * Declares the functions that fill in the table of a level; each file that is compiled for every
 * level defines one.
 */
#ifndef WNN_CPU_SIMD_FILL_H
#define WNN_CPU_SIMD_FILL_H

#include "cpu/simd/simd.h"
#include "cpu/simd/vector.h"

#define CPU_FILLS(level)                                       \
	void cpu_fill_gemm_##level(struct cpu_simd *simd);     \
	void cpu_fill_window_##level(struct cpu_simd *simd);   \
	void cpu_fill_map_##level(struct cpu_simd *simd);      \
	void cpu_fill_fold_##level(struct cpu_simd *simd);     \
	void cpu_fill_winograd_##level(struct cpu_simd *simd); \
	void cpu_fill_half_##level(struct cpu_simd *simd);     \
	void cpu_fill_integer_##level(struct cpu_simd *simd);  \
	void cpu_fill_weights_##level(struct cpu_simd *simd);  \
	void cpu_fill_whole_##level(struct cpu_simd *simd);    \
	void cpu_fill_softmax_##level(struct cpu_simd *simd)

CPU_FILLS(base);
CPU_FILLS(avx2);
CPU_FILLS(avx512);
void cpu_fill_dots_avx512(struct cpu_simd *simd);
void cpu_fill_pairs_avx2(struct cpu_simd *simd);
void cpu_fill_pairs_avx512(struct cpu_simd *simd);

#endif
