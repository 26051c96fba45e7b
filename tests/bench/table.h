/* SPDX-License-Identifier: MIT */
/* Networks of the benchmarks from tables of layers, which cpu/models.py and npu/networks.py make. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>

#include <webnn/webnn_npu.h>

#define BENCH_MAX_OUTPUTS 4

/* Ends the program with the last error of the library. */
void bench_fail(const char *what) __attribute__((noreturn));
void bench_check(bool ok, const char *what);

/*
 * The graph of a table in a file: input "x", outputs "y", "y1", ... The weights are lent to the
 * library as long as the graph lives.
 */
WNNGraph bench_table_build(WNNContext context, const char *table, const float *weights,
			   uint32_t rank, const uint32_t *input);

#endif
