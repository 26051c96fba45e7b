/* SPDX-License-Identifier: MIT */
/* Private interface of machine/: a decoded instruction, and the state with which it is executed. */
#ifndef ONPU_MACHINE_SIM_H
#define ONPU_MACHINE_SIM_H

#include <stdatomic.h>

#include "math/kernels.h"
#include "onpu/isa.h"
#include "onpu/registers.h"
#include "onpu/slots.h"
#include "onpu_sim.h"
#include "machine/threads.h"

__extension__ typedef __int128 sim_s128;
__extension__ typedef unsigned __int128 sim_u128;

/*
 * A tensor operand. Units of offset, stride and start are bytes, for 4-bit types nibbles.
 * Strides of dimensions of size 1 are zero here, so that nothing depends on them.
 */
struct sim_tensor {
	bool present;
	uint8_t dtype;
	uint8_t esize; /* units of one element: 1 for 4-bit types */
	uint8_t rank;
	uint8_t space;
	uint16_t slot;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t stride[ONPU_MAX_RANK];
	uint64_t base, size, offset;
	uint64_t start; /* position of element 0 in its space */
};

/* An instruction on its way through an engine. */
struct sim_work {
	struct onpu_insn insn;
	const struct onpu_op_info *info;
	uint32_t words[ONPU_INSN_WORDS];
	uint32_t pc;
	uint8_t engine;
	bool has_param;
	struct sim_tensor t[4]; /* DST, S0, S1, S2 */
	union onpu_slot param;
	uint64_t issue; /* cycle at which the instruction reached its FIFO, or the CP took it */
	uint64_t cost;
};

struct sim_fault {
	int code; /* enum onpu_fault, 0: none */
	uint32_t operand;
	uint64_t address;
};

/* Iterations, some microseconds in all, between two checks whether the job is given up. */
#define SIM_LOOK_EVERY 64

/* A callback that can give a job up in the middle of an instruction. */
struct sim_watch {
	/* Called again and again by the thread that steps the machine; true: give up. */
	bool (*look)(void *ctx);
	void *ctx;
	atomic_bool stop; /* the job is given up */
};

/* The state that instructions are executed with. */
struct sim_context {
	uint8_t *sram;
	uint32_t sram_bytes; /* bytes of SRAM that the program declares */
	const struct onpu_sim_config *config;
	const struct onpu_kernels *kernels;
	const onpu_fn_array *functions;
	const struct onpu_mem *mem;
	struct onpu_pool *pool;
	struct sim_watch *watch;
	struct sim_fault fault;
	struct onpu_counters *counters;
	uint64_t energy; /* femtojoules of the job's instructions, see execute.c */
	struct onpu_sim_memory memory;
	/* Scratch memory of instructions, grown on demand; the cost limit bounds it. */
	void *scratch;
	size_t scratch_size;
};

static inline bool sim_is_float(unsigned int dtype)
{
	return dtype >= ONPU_DT_F16 && dtype <= ONPU_DT_F32;
}

static inline bool sim_is_nibble(unsigned int dtype)
{
	return dtype == ONPU_DT_I4 || dtype == ONPU_DT_U4 || dtype == ONPU_DT_F4E2M1;
}

/* Returns the bytes of an element; 4-bit types count nibbles and have 1. */
static inline unsigned int sim_esize(unsigned int dtype)
{
	unsigned int bits = onpu_dtype_bits(dtype);

	return bits < 8 ? 1 : bits / 8;
}

static inline enum kernel_size sim_size(unsigned int esize)
{
	return esize == 1 ? SIZE_1 : esize == 2 ? SIZE_2 : esize == 4 ? SIZE_4 : SIZE_8;
}

const struct kernel_int *sim_int_type(unsigned int dtype);

static inline uint64_t sim_elements(const struct sim_tensor *t)
{
	uint64_t n = 1;

	for (unsigned int i = 0; i < t->rank; i++)
		n *= t->dim[i];
	return n;
}

/* Returns the element at a byte position in SRAM; slots.c has checked that it is inside. */
static inline char *sim_at(const struct sim_context *c, int64_t position)
{
	return (char *)c->sram + position;
}

static inline uint32_t sim_tap_count(const struct sim_work *w)
{
	const struct onpu_slot_param_taps *p = &w->param.taps;

	/* The product cannot overflow: the check of the cost bounds it. */
	return w->has_param ? p->loop[0].count * p->loop[1].count * p->loop[2].count : 1;
}

/* Returns whether taps move the destination. */
static inline bool sim_taps_move(const struct sim_work *w)
{
	const struct onpu_slot_param_taps_loop *l = w->param.taps.loop;

	return w->has_param && (l[0].dst_step || l[1].dst_step || l[2].dst_step);
}

/* Returns the bytes by which the tap number (@i, @j, @k) moves an operand. */
static inline int64_t sim_tap_offset(const struct sim_work *w, unsigned int operand, uint32_t i,
				     uint32_t j, uint32_t k)
{
	const struct onpu_slot_param_taps_loop *l = w->param.taps.loop;
	const uint32_t at[ONPU_TAPS_LOOPS] = { i, j, k };
	int64_t offset = 0;

	for (unsigned int n = 0; n < ONPU_TAPS_LOOPS; n++) {
		int64_t step = operand == ONPU_OPERAND_DST ? l[n].dst_step :
			       operand == ONPU_OPERAND_S0  ? l[n].s0_step :
							     l[n].s1_step;

		/* A loop of one iteration never takes its step, which may be any number. */
		offset += at[n] ? step * at[n] : 0;
	}
	return offset;
}

/* Returns whether the job is given up: then the rest of the instruction need not be done. */
static inline bool sim_given_up(const struct sim_context *c)
{
	struct sim_watch *w = c->watch;

	if (atomic_load_explicit(&w->stop, memory_order_relaxed))
		return true;
	if (!w->look || onpu_pool_helper() || !w->look(w->ctx))
		return false;
	atomic_store(&w->stop, true);
	return true;
}

/*
 * Returns whether a loop is to stop because the job is given up: checks every SIM_LOOK_EVERY values
 * of @n, a counter.
 */
static inline bool sim_stop(const struct sim_context *c, uint64_t n)
{
	return !(n % SIM_LOOK_EVERY) && sim_given_up(c);
}

/* execute.c: sim_given_up() as a callback for onpu_pool_run(), which waits for other threads. */
void sim_idle(const void *context);

/* slots.c: where sim_decode() reads the slots of a program. */
struct sim_slot_source {
	void *ctx;
	uint32_t count;
	/* Copies a slot; false: the context's fault tells why. */
	bool (*read)(void *ctx, uint32_t index, union onpu_slot *slot);
};
/*
 * Decodes the operands of w->insn, and makes all checks that need no execution. Returns false after
 * a fault, which is in c->fault.
 */
bool sim_decode(struct sim_context *c, struct sim_work *w, const struct sim_slot_source *slots);

/* shapes.c: checks an instruction's rules about dimensions; returns the operand at fault or -1. */
int sim_check_shape(const struct sim_work *w);
/* Returns whether a resample stays inside of S0. */
bool sim_resample_inside(const struct sim_work *w);
/*
 * Computes the units [low, high) that an operand touches, including moves by taps, relative to its
 * window.
 */
void sim_extent(const struct sim_work *w, unsigned int operand, sim_s128 *low, sim_s128 *high);

/* Returns the cost in cycles; saturates above ONPU_MAX_COST. */
uint64_t sim_cost(const struct sim_work *w, const struct onpu_sim_config *config);

/*
 * execute.c: executes a decoded instruction. Returns false after a fault, which is in c->fault, or
 * when the job is given up.
 */
bool sim_execute(struct sim_context *c, const struct sim_work *w);

static inline bool sim_fail(struct sim_context *c, int code, uint32_t operand, uint64_t address)
{
	c->fault.code = code;
	c->fault.operand = operand;
	c->fault.address = address;
	return false;
}

/* Returns at least @size bytes, aligned to 64, or NULL after a fault, when there is no memory. */
void *sim_scratch(struct sim_context *c, size_t size);

/*
 * space.c: copies bytes from or to memory (space VA). Both return false after a fault, which names
 * @operand.
 */
bool sim_read(struct sim_context *c, unsigned int operand, uint64_t address, void *dst,
	      size_t size);
bool sim_write(struct sim_context *c, unsigned int operand, uint64_t address, const void *src,
	       size_t size);

/*
 * matrix.c, vector*.c, dma*.c: each function executes a kind of instruction. Those that can fail
 * return false after a fault, which is in c->fault, or when the job is given up.
 */
bool sim_matrix(struct sim_context *c, const struct sim_work *w);
/*
 * weights.c: the values of short elements with scales (isa.xml: #weights). A table has the value of
 * each pattern of bits of a type.
 */
struct sim_weights {
	const struct sim_tensor *t, *scales; /* S1; S2 or NULL */
	/* values by pattern of bits: of S1's type, and of F8E8M0 */
	float value[256], scale[256];
	uint32_t block; /* elements along k that share a scale */
	bool brain;	/* S0 is bfloat16, and not binary16 */
};
void sim_weights_init(struct sim_weights *s, const struct sim_work *w);
/*
 * Computes @n values of S1, the first at row @k and column @j. The others are below it in column
 * @j if @along_k is true, and right of it in row @k if not. Writes them to @out, @step floats
 * apart. @at is the position of the first value, in the units of S1's strides.
 */
void sim_weights_line(const struct sim_context *c, const struct sim_weights *s, int64_t at,
		      uint32_t k, uint32_t j, bool along_k, uint32_t n, float *out, size_t step);
void sim_unary(struct sim_context *c, const struct sim_work *w);
void sim_binary(struct sim_context *c, const struct sim_work *w);
void sim_ternary(struct sim_context *c, const struct sim_work *w);
void sim_reduce(struct sim_context *c, const struct sim_work *w);
void sim_arg(struct sim_context *c, const struct sim_work *w);
void sim_scan(struct sim_context *c, const struct sim_work *w);
void sim_convert(struct sim_context *c, const struct sim_work *w);
void sim_window(struct sim_context *c, const struct sim_work *w);
bool sim_resample(struct sim_context *c, const struct sim_work *w);
void sim_tri(struct sim_context *c, const struct sim_work *w);
bool sim_dma(struct sim_context *c, const struct sim_work *w);
bool sim_gather(struct sim_context *c, const struct sim_work *w);

#endif
