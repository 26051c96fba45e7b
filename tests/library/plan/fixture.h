/* SPDX-License-Identifier: MIT */
/*
 * Random graphs compiled for devices with little and much SRAM and run on the device model: every
 * node must be exact, all sizes must give the same bits, close to those of the reference kernels of
 * the CPU, and move as many bytes as the plan says.
 */
#ifndef TEST_PLAN_FIXTURE_H
#define TEST_PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "codegen/program.h"

/* 16 KiB, 64 KiB, 512 KiB, 4 MiB */
#define NUM_SIZES 4
#define MAX_DATA  16

struct test_graph {
	struct ir_graph *graph;
	struct ir_value *input[MAX_DATA]; /* graph inputs and constants, with their data */
	void *data[MAX_DATA];
	uint32_t num_inputs;
	struct ir_value *output[MAX_DATA];
	uint32_t num_outputs;
	double tolerance; /* relative to the largest magnitude around; 0: same bits */
	bool split_keys; /* attention may meet its keys in blocks: bits differ between sizes of SRAM */
};

/* cmocka group setup and teardown: the devices. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

void random_seed(uint64_t seed);
uint32_t random_below(uint32_t n);
uint32_t between(uint32_t lo, uint32_t hi);

void graph_init(struct test_graph *t);
void graph_free(struct test_graph *t);
/* Random values; floats in -2..2, integers over a small range, or constants at random when
 * `may_fold`. */
struct ir_value *add_operand(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
			     const int64_t *dims, bool constant);
struct ir_node *add_node(struct test_graph *t, enum ir_op op, struct ir_value *const *operands,
			 uint32_t num_operands, enum ir_dtype dtype, uint32_t rank,
			 const int64_t *dims, const union ir_attrs *attrs);
void add_result(struct test_graph *t, const struct ir_node *node);
void add_output(struct test_graph *t, struct ir_value *value);
/* For one SRAM size; the program is the caller's. */
struct npu_program *compile_graph(struct test_graph *t, void *state, int size);
/* Compiles for every size, runs, compares. */
void check_graph(struct test_graph *t, void *state);
/* Moves the job to another machine at every preemption point; returns their number. */
uint32_t check_preempted(struct test_graph *t, void *state, int size);
/* Compiles for jobs of few slots, runs, compares with one job; returns the number of jobs. */
uint32_t check_split(struct test_graph *t, void *state, int size, uint32_t max_slots);
/*
 * Bytes that the engines move out of memory and into it in a run for one SRAM size, and how long it
 * takes; of the first run, and of one that follows it and finds what that has left in SRAM.
 */
struct traffic {
	uint64_t loaded, stored, cycles;
	uint64_t later_loaded, later_cycles;
};
struct traffic count_traffic(struct test_graph *t, void *state, int size);
/* Runs for one SRAM size; out[i] has room for output i. */
void run_graph(struct test_graph *t, void *state, int size, void **out);
/* The program's text for one SRAM size; free it. */
char *plan_text(struct test_graph *t, void *state, int size);

#endif
