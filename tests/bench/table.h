/* SPDX-License-Identifier: MIT */
/*
 * Builds WebNN graphs for the benchmarks from tables of layers, which cpu/models.py and
 * npu/networks.py write.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>

#include <webnn/webnn_npu.h>

#define BENCH_MAX_OUTPUTS 4

/*
 * bench_fail() prints @what and the library's last error, and exits with 1. bench_check() does the
 * same when @ok is false.
 */
void bench_fail(const char *what) __attribute__((noreturn));
void bench_check(bool ok, const char *what);

/* The types of the values and the weights of a network. */
enum bench_type {
	BENCH_F32,
	BENCH_F16,
	BENCH_INT8, /* uint8 values as ONNX Runtime has, int8 weights with a scale per channel */
	BENCH_W8,   /* float16 values, int8 weights with a scale per channel */
	BENCH_W4,   /* float16 values, int4 weights with a scale per block of 32 */
	BENCH_F8,   /* float16 values, float16 weights that are numbers of E4M3 */
	BENCH_MX, /* float16 values, int8 weights, twice a number of E2M1, a scale per block of 32 */
};

/* Returns the type of that name as an enum bench_type, or -1. */
int bench_type_find(const char *name);

/*
 * Returns the graph of the table in the file @table: inputs "x", "x1", ..., outputs "y", "y1", ...
 * Exits on an error. @input: the @rank dimensions of "x". @weights must live as long as the graph.
 * @mapped: the weights are a mapped file, and their pages are given back to the kernel as soon as
 * the library no longer needs them.
 */
WNNGraph bench_table_build(WNNContext context, const char *table, const float *weights, bool mapped,
			   enum bench_type type, uint32_t rank, const uint32_t *input);

#endif
