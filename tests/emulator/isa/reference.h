/* SPDX-License-Identifier: MIT */
/*
 * A second, plain implementation of the instruction set, written from the text of isa.xml and
 * functions.rst alone: element by element, no tricks. The tests compare the machine with it.
 */
#ifndef ISA_REFERENCE_H
#define ISA_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "onpu/isa.h"
#include "onpu/registers.h"
#include "onpu/slots.h"

/* Integers in isa.xml are unbounded; these types can hold every number that the tests make. */
typedef __int128 ref_int;
typedef unsigned __int128 ref_uint;

/* Larger than every limit that a count is compared with. */
#define REF_HUGE ((ref_int)1 << 100)

/* Sizes of the machine, the memory it works on, and the program's SRAM. */
struct ref_machine {
	uint64_t lanes, rows, cols, forms, packing, weights, fifo_depth, dma_bytes;
	uint64_t sram_bytes;
	uint64_t program_sram;
	uint8_t *sram;
	uint8_t *memory; /* addresses [memory_base, memory_base + memory_size) */
	uint64_t memory_base, memory_size;
	uint64_t readonly_base, readonly_size; /* writes there: MMU_PERM */
};

/* A decoded TENSOR slot. A tap (isa.xml: #taps) has moved the operand by @shift. */
struct ref_tensor {
	unsigned int dtype, rank, space;
	uint64_t base, size, offset;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t stride[ONPU_MAX_RANK];
	ref_int shift;
};

/* An instruction with its slots. Operands are numbered by enum onpu_operand. */
struct ref_op {
	struct onpu_insn insn;
	const struct onpu_op_info *info;
	unsigned int index[ONPU_OPERAND_COUNT];
	bool has[ONPU_OPERAND_COUNT];
	struct ref_tensor x[4];
	union onpu_slot slot[ONPU_OPERAND_COUNT];
};

struct ref_fault {
	enum onpu_fault code;
	unsigned int operand;
	uint64_t address;
};

typedef uint32_t ref_index[ONPU_MAX_RANK];

/* Functions of reference_types.c: elements, addresses, conversions. */
bool ref_is_float(unsigned int dtype);
bool ref_is_signed(unsigned int dtype);
bool ref_is_nibble(unsigned int dtype);
unsigned int ref_size(unsigned int dtype); /* in bytes; 4-bit types: in nibbles */
unsigned int ref_bits(unsigned int dtype);
ref_int ref_least(unsigned int dtype);
ref_int ref_greatest(unsigned int dtype);
ref_int ref_limit(ref_int v, ref_int low, ref_int high);
ref_int ref_saturate(ref_int v, unsigned int dtype);
ref_int ref_wrap(uint64_t bits, unsigned int dtype);
ref_int ref_mul(ref_int a, ref_int b); /* product of two counts, at most REF_HUGE */
ref_int ref_ceil_div(ref_int a, ref_int b);
ref_int ref_count(const struct ref_tensor *x);
ref_int ref_product(const uint32_t *dims, unsigned int rank);
bool ref_next(const uint32_t *dims, unsigned int rank, uint32_t *index);
float ref_from_half(uint16_t h);
uint16_t ref_to_half(float f);
float ref_from_bfloat(uint16_t h);
float ref_from_small(unsigned int dtype, unsigned int x); /* floats of 4 and 8 bits */
bool ref_is_small(unsigned int dtype);
uint16_t ref_to_bfloat(float f);
float ref_float_of(uint32_t bits);
uint32_t ref_bits_of(float f);
float ref_integer_to_float(ref_int v);
ref_int ref_round_to_integer(float v); /* to nearest even; beyond every range: +-REF_HUGE */

/*
 * Functions of reference_memory.c: accesses to memory and SRAM. A function with @fault stores the
 * fault of an access there, unless a fault is stored already.
 */
uint8_t *ref_byte(struct ref_machine *m, unsigned int space, uint64_t address, bool write,
		  struct ref_fault *fault, unsigned int operand);
void ref_touch(struct ref_machine *m, const struct ref_op *op, unsigned int x, const uint32_t *i,
	       struct ref_fault *fault);
uint64_t ref_load_bits(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i);
float ref_load_float(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i);
ref_int ref_load_int(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i);
void ref_store_bits(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i,
		    uint64_t bits);
void ref_store_float(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i, float v);
void ref_store_int(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i, ref_int v);

/* Functions of reference_functions.c: the architected functions of functions.rst. */
float ref_fn_exp(float x);
float ref_fn_log(float x);
float ref_fn_sin(float x);
float ref_fn_cos(float x);
float ref_fn_tan(float x);
float ref_fn_tanh(float x);
float ref_fn_erf(float x);
float ref_fn_sigmoid(float x);
float ref_fn_gelu(float x);
float ref_fn_softplus(float x);
float ref_fn_softsign(float x);
float ref_fn_elu(float x, float alpha);
float ref_fn_recip(float x);
float ref_fn_sqrt(float x);
float ref_fn_rsqrt(float x);
float ref_fn_pow(float x, float y);
float ref_max(float a, float b);
float ref_min(float a, float b);

/* Functions of reference_check.c: all checks of an instruction at its issue. */
void ref_range(const struct ref_op *op, unsigned int x, ref_int *low, ref_int *high);
struct ref_fault ref_decode_slots(const struct ref_machine *m, struct ref_op *op,
				  uint32_t num_slots, const union onpu_slot *slots);
struct ref_fault ref_check(const struct ref_machine *m, const struct ref_op *op);
struct ref_fault ref_check_shape(const struct ref_op *op);
struct ref_fault ref_check_resample(const struct ref_op *op);

/* reference_cost.c */
ref_int ref_cost(const struct ref_machine *m, const struct ref_op *op);
ref_int ref_taps(const struct ref_op *op);
ref_int ref_macs(const struct ref_op *op);

/* The families: each function executes an instruction for which ref_check() found no fault. */
void ref_elementwise(struct ref_machine *m, const struct ref_op *op);
void ref_convert(struct ref_machine *m, const struct ref_op *op);
void ref_tri(struct ref_machine *m, const struct ref_op *op);
void ref_reduce(struct ref_machine *m, const struct ref_op *op);
void ref_argreduce(struct ref_machine *m, const struct ref_op *op);
void ref_scan(struct ref_machine *m, const struct ref_op *op);
void ref_mma(struct ref_machine *m, const struct ref_op *op);
void ref_window(struct ref_machine *m, const struct ref_op *op);
void ref_resample_nearest(struct ref_machine *m, const struct ref_op *op);
void ref_resample_linear(struct ref_machine *m, const struct ref_op *op);
struct ref_fault ref_dma(struct ref_machine *m, const struct ref_op *op);

/* Executes any instruction but those of the CP and the semaphores; returns the fault, if any. */
struct ref_fault ref_execute(struct ref_machine *m, const struct ref_op *op);

/*
 * Iterator of reference_window.c: ref_tap_first() sets it to the first tap, ref_tap_next() to the
 * next one, or returns false after the last.
 */
struct ref_tap {
	const struct onpu_slot_param_taps *taps;
	uint32_t t[ONPU_TAPS_LOOPS];
};
void ref_tap_first(struct ref_tap *tap, const struct ref_op *op);
bool ref_tap_next(struct ref_tap *tap);
bool ref_moving(const struct ref_op *op); /* some step moves DST */
/* Returns operand @x as the tap moves it. */
struct ref_tensor ref_moved(const struct ref_tap *tap, const struct ref_op *op, unsigned int x);

#endif
