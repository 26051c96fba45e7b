/* SPDX-License-Identifier: MIT */
/*
 * Compiles random graphs for devices with little and much SRAM, and runs them on the device model:
 * every node must be exact, all sizes of SRAM must give the same bits (but see split_keys), the
 * results must be close to those of the CPU's reference kernels, and the device must move as many
 * bytes as the plan says.
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

/* The sizes of SRAM are 16 KiB, 64 KiB, 512 KiB and 4 MiB. */
#define NUM_SIZES 4
#define MAX_DATA  16

struct test_graph {
	struct ir_graph *graph;
	struct ir_value *input[MAX_DATA]; /* graph inputs and constants; data has their content */
	void *data[MAX_DATA];
	uint32_t num_inputs;
	struct ir_value *output[MAX_DATA];
	uint32_t num_outputs;
	double tolerance; /* relative to the largest magnitude of an output; 0: same bits */
	bool split_keys;  /* attention may process its keys in blocks, which changes bits between
			  * sizes of SRAM */
};

/* Names of machines. */
#define REF1 "onpu-ref1"
#define REF2 "onpu-ref2"

/*
 * Group setup and teardown for cmocka, which return 0. The state is the devices, one for each size
 * of SRAM, of the machine that WEBNN_SIM_MACHINE names or of the default one.
 */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Sets up the devices as fixture_setup() does, with onpu-ref1, for tests of its figures. */
int fixture_setup_ref1(void **state);
/* Returns the name of the machine. */
const char *fixture_machine(void *state);

void random_seed(uint64_t seed);
uint32_t random_below(uint32_t n);
uint32_t between(uint32_t lo, uint32_t hi);

void graph_init(struct test_graph *t);
void graph_free(struct test_graph *t);
/*
 * Returns a new operand with random values: floats in -2..2, integers in a small range. With
 * @constant, the operand is a constant; otherwise it is an input.
 */
struct ir_value *add_operand(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
			     const int64_t *dims, bool constant);
struct ir_node *add_node(struct test_graph *t, enum ir_op op, struct ir_value *const *operands,
			 uint32_t num_operands, enum ir_dtype dtype, uint32_t rank,
			 const int64_t *dims, const union ir_attrs *attrs);
void add_result(struct test_graph *t, const struct ir_node *node);
void add_output(struct test_graph *t, struct ir_value *value);
/*
 * Returns the graph's program for one size of SRAM, which the caller frees; an error fails the
 * test.
 */
struct npu_program *compile_graph(struct test_graph *t, void *state, int size);
/*
 * Compiles the graph for every size of SRAM, runs it, and compares the results with the reference
 * and with each other.
 */
void check_graph(struct test_graph *t, void *state);
/*
 * Runs the job without preemption, and again with a move to another machine at every preemption
 * point; the results must have the same bits. Returns the number of preemption points.
 */
uint32_t check_preempted(struct test_graph *t, void *state, int size);
/*
 * Compiles for jobs with at most @max_slots slots and runs them; the results must have the bits of
 * a program without that limit. Returns the number of jobs.
 */
uint32_t check_split(struct test_graph *t, void *state, int size, uint32_t max_slots);
/*
 * Bytes that the engines load and store in a first run with one size of SRAM, and its cycles.
 * later_*: numbers of a run that finds in SRAM the weights that the run before it kept there; those
 * of the first run when the program keeps none.
 */
struct traffic {
	uint64_t loaded, stored, cycles;
	uint64_t later_loaded, later_cycles;
};
struct traffic count_traffic(struct test_graph *t, void *state, int size);
/*
 * Compiles for one size of SRAM, and runs the program there and on another named machine with as
 * much SRAM: the results must have the same bits. traffic[1] is that of the other machine.
 */
void check_machine(struct test_graph *t, void *state, int size, const char *machine,
		   struct traffic traffic[2]);
/* Checks like check_machine(), with a program of its own for each machine. */
void check_machines(struct test_graph *t, void *state, int size, const char *machine,
		    struct traffic traffic[2]);
/* Runs the graph with one size of SRAM; writes output i to out[i], which must have space for it. */
void run_graph(struct test_graph *t, void *state, int size, void **out);
/* Returns the program's text for one size of SRAM; the caller frees it. */
char *plan_text(struct test_graph *t, void *state, int size);

#endif
