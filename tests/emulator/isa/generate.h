/* SPDX-License-Identifier: MIT */
/*
 * Random valid operands for one instruction: types, shapes, strides, windows, addresses, contents
 * and parameters. Each family of instructions has a generator of its own.
 */
#ifndef ISA_GENERATE_H
#define ISA_GENERATE_H

#include "isa_rig.h"

struct gen {
	struct rng random;
	struct rig_job *job;
	struct onpu_insn insn;
	const struct onpu_op_info *info;
	bool has[ONPU_OPERAND_COUNT];
	unsigned int dtype[4];
	union onpu_slot slot[ONPU_OPERAND_COUNT];
	bool failed;	 /* the operands did not fit: generate again */
	uint64_t budget; /* most elements of the larger operands */
	/* bytes, or nibbles of a 4-bit type, by which the taps move an operand down and up */
	int64_t taps_low[3], taps_high[3];
	/* first free byte of SRAM and of memory */
	uint64_t sram_free, memory_free;
};

/*
 * Values for the argument @zero of gen_source(): a mask of the dimensions that are repeated with
 * stride 0, or STRIDES_RANDOM.
 */
#define STRIDES_RANDOM	(1u << 8)
#define STRIDES_NO_ZERO 0u

/* Functions of generate.c. generate() draws the size of the machine, too. */
void generate(struct gen *g, enum onpu_op op);
void generate_size(struct gen *g, enum onpu_op op, enum rig_size size);
unsigned int gen_rank(struct gen *g, unsigned int low, unsigned int high);
void gen_dims(struct gen *g, unsigned int rank, uint64_t budget, uint32_t *dims);
void gen_types(struct gen *g);
void gen_written(struct gen *g, unsigned int x, unsigned int rank, const uint32_t *dims);
void gen_source(struct gen *g, unsigned int x, unsigned int rank, const uint32_t *dims,
		unsigned int zero_strides);
void gen_fill(struct gen *g, unsigned int x, unsigned int style);
void gen_scalar(struct gen *g, unsigned int dtype);
void gen_taps(struct gen *g, unsigned int max_taps, bool moving);
uint64_t gen_bits(struct gen *g, unsigned int dtype, unsigned int style);
void gen_set_bits(struct gen *g, unsigned int x, const uint32_t *index, uint64_t bits);

enum {
	FILL_ANY,     /* random bits */
	FILL_SPECIAL, /* extremes, NaN, infinities, zeros of both signs, subnormal numbers */
	FILL_PLAIN,   /* numbers near one; integers of one digit */
	FILL_WIDE,    /* numbers of all magnitudes */
	FILL_STYLES
};

/* Functions of generate_dma.c and generate_compute.c, one for each family of instructions. */
void generate_dma(struct gen *g);
void generate_mma(struct gen *g);
void generate_window(struct gen *g);
void generate_elementwise(struct gen *g);
void generate_reduce(struct gen *g);
void generate_argreduce(struct gen *g);
void generate_scan(struct gen *g);
void generate_resample(struct gen *g);

/* Function of mutate.c: changes a valid instruction once or twice. */
void mutate(struct gen *g);

#endif
