/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the tests of the CPU back end share: random numbers, and a graph of one node whose
 * results several layers compute.
 *
 * Environment: WNN_CPU_SEED is the seed of random numbers, WNN_CPU_ROUNDS the number of rounds of
 * each test. With WNN_CPU_ONEDNN=1, rig_compare() compares only the layer onednn with the
 * reference; our own kernels on that layer then use the best level without dot products of bytes.
 */
#ifndef TESTS_CPU_RIG_H
#define TESTS_CPU_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/cpu.h"

#define RIG_MAX 12

/* random_below() returns a random number below n, between() one from lo to hi. */
uint32_t random_below(uint32_t n);
uint32_t between(uint32_t lo, uint32_t hi);
/* Returns the number of rounds of a test: WNN_CPU_ROUNDS or a default. */
int rounds(void);
/* Returns whether the test has few rounds, so that large shapes should come only once. */
bool is_short(void);

struct rig {
	struct ir_graph *graph;
	struct ir_value *operand[RIG_MAX];
	void *data[RIG_MAX];
	uint32_t num_operands;
	bool by_largest; /* the tolerance is multiplied by 1 + the largest magnitude of a result */
};

void rig_init(struct rig *rig);

/*
 * Adds the next operand, with random elements: floats from -1 to 1, integers of any bits. Returns
 * the elements, which the rig owns.
 */
void *rig_add(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims);
/* Does the same as rig_add(), with elements from lo to hi. */
void *rig_add_between(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		      double lo, double hi);
/* Adds an operand with a copy of the given elements. */
void rig_add_data(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		  const void *data);
void rig_make_constant(struct rig *rig, uint32_t operand);
void rig_skip(struct rig *rig); /* leaves an optional operand out */

/* Read and write element i of data of a type. */
double rig_get(enum ir_dtype dtype, const void *data, int64_t i);
void rig_put(enum ir_dtype dtype, void *data, int64_t i, double value);

/*
 * rig_compare - run the node on the reference layer, on the fast one at every level of vector
 * instructions that the host has, and on the layer onednn, with one thread and with several, and
 * end the test where they differ
 * @tolerance: the allowed error divided by 1 + |expected|; for integers the allowed error. Results
 * with any number of threads must have the same bits.
 *
 * Calls rig_exit(). Returns false when the reference kernel computes the node in a plan without
 * CPU_KEEPS, so that the comparison says nothing about a fast kernel.
 */
bool rig_compare(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, uint32_t num_results,
		 const struct ir_type *types, double tolerance);

/*
 * Compares the layer onednn with the reference for a node with one result, at the best level
 * without dot products of bytes; for IR_OP_QCONV also at the best level, where our own products of
 * integers take the place of those of oneDNN. Calls rig_exit().
 */
void rig_compare_onednn(struct rig *rig, enum ir_op op, const union ir_attrs *attrs,
			const struct ir_type *type, double tolerance);

/* Returns the name of the kernel of the last plan with CPU_KEEPS; NULL: there was no such plan. */
const char *rig_kept_name(void);

/*
 * Checks that rig_compare() met every fast kernel of the operators in a mask (1 << op), except
 * kernels that need a plan with CPU_KEEPS, or instructions that this processor lacks. With
 * IR_OP_CONV and a working oneDNN, checks that there was a plan with CPU_KEEPS.
 */
void rig_expect_all_seen(uint64_t ops);

#define RIG_OPS_INTEGER                                                                            \
	(UINT64_C(1) << IR_OP_QCONV | UINT64_C(1) << IR_OP_QMATMUL | UINT64_C(1) << IR_OP_QUNARY | \
	 UINT64_C(1) << IR_OP_QBINARY | UINT64_C(1) << IR_OP_WMATMUL | UINT64_C(1) << IR_OP_QPOOL)

#define RIG_OPS_SELECT                                                                           \
	(UINT64_C(1) << IR_OP_COMPARE | UINT64_C(1) << IR_OP_WHERE | UINT64_C(1) << IR_OP_CAST | \
	 UINT64_C(1) << IR_OP_ARG | UINT64_C(1) << IR_OP_TOPK)

#define RIG_OPS_ELEMENTWISE (UINT64_C(1) << IR_OP_UNARY | UINT64_C(1) << IR_OP_BINARY)

#define RIG_OPS_ROWS                                                                          \
	(UINT64_C(1) << IR_OP_PAD | UINT64_C(1) << IR_OP_TILE | UINT64_C(1) << IR_OP_CUMSUM | \
	 UINT64_C(1) << IR_OP_TRIANGULAR)

/* The operators of test_cpu_fast.c. test_cpu_indexed.c tests those that are in no mask here. */
#define RIG_OPS_FAST                                                                            \
	(1u << IR_OP_CONV | 1u << IR_OP_POOL | 1u << IR_OP_MATMUL | 1u << IR_OP_CONCAT |        \
	 1u << IR_OP_TRANSPOSE | 1u << IR_OP_SLICE | 1u << IR_OP_SOFTMAX | 1u << IR_OP_REDUCE | \
	 1u << IR_OP_BATCHNORM | 1u << IR_OP_INSTNORM | 1u << IR_OP_LAYERNORM |                 \
	 1u << IR_OP_EXPAND | 1u << IR_OP_REVERSE)

/* Runs the node on one layer; returns the first result, which the caller frees. */
void *rig_run(struct rig *rig, enum cpu_layer layer, enum ir_op op, const union ir_attrs *attrs,
	      uint32_t num_results, const struct ir_type *types);
void rig_exit(struct rig *rig);

/* Returns a random function to be fused with a node; its kind may be IR_UNARY_NONE. */
struct ir_unary_attrs rig_random_act(void);

/*
 * Calls @one for each round of a test. The test fails if a call returns false, which means that
 * only the reference took the node: see rig_compare().
 */
void run_rounds(bool (*one)(void));

#define FAMILY(name)                          \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run_rounds(name##_round);     \
	}

#endif
