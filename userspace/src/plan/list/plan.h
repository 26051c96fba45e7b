/* SPDX-License-Identifier: MIT */
/*
 * The plan of a program: machine instructions over views of memory, in an order that is correct
 * when executed one after the other. plan_emit() finds the instructions that each one has to wait
 * for; nothing here knows encodings or slots.
 */
#ifndef WNN_PLAN_PLAN_H
#define WNN_PLAN_PLAN_H

#include <onpu/isa.h>
#include <onpu/registers.h>

#include <string.h>

#include "plan/list/constants.h"
#include "plan/list/view.h"
#include "util/intervals.h"
#include "util/number.h"

#define PLAN_ALIGN MEMORY_ALIGN /* bytes; alignment of every buffer, in SRAM and in memory */

static inline uint64_t plan_align(uint64_t bytes)
{
	return wnn_align_up(bytes, PLAN_ALIGN);
}

enum plan_schema {
	PLAN_SCALAR,
	PLAN_FILL,
	PLAN_PAD,
	PLAN_TAPS,
	PLAN_TRI,
	PLAN_INDEX,
	PLAN_RESAMPLE
};

struct plan_loop {
	uint32_t count;
	int64_t s0_step, s1_step, dst_step;
};

struct plan_param {
	enum plan_schema schema;
	union {
		struct {
			uint64_t alpha, beta, gamma;
		} scalar;
		struct {
			uint64_t value;
		} fill;
		struct {
			uint8_t mode;
			uint64_t value;
			uint32_t lo[IR_MAX_RANK];
		} pad;
		struct {
			struct plan_loop taps[3];
			int32_t zero_a, zero_b; /* mma.i8 */
		};
		struct {
			bool upper;
			int64_t diagonal;
		} tri;
		struct {
			uint8_t axis, batch_dims;
		} index;
		struct {
			uint8_t axis[2];
			uint32_t in_size[2], out_size[2], in_base[2], out_base[2];
		} resample;
	};
};

/*
 * Returns parameters of this schema with all other bytes zero, padding included: sets compare
 * parameters byte by byte.
 */
static inline struct plan_param plan_param_make(enum plan_schema schema)
{
	struct plan_param param;

	memset(&param, 0, sizeof(param));
	param.schema = schema;
	return param;
}

/* The operands of plan_emit(): absent ones are NULL. */
struct plan_insn {
	enum onpu_op op;
	bool on_st; /* DMA: use the ST engine when LD and ST can begin at the same time */
	const struct npu_view *dst, *s0, *s1, *s2;
	const struct plan_param *param;
	uint8_t axes, axis, piece;
	bool acc, part, lanes, last, excl, rev, neg, clamp;
};

struct plan_op {
	uint16_t op;
	uint8_t engine;
	uint8_t axes, axis, piece;
	bool on_st, acc, part, lanes, last, excl, rev, neg, clamp;
	/*
	 * masks of engines: those that the instruction waits for, and those that it signals at its
	 * end
	 */
	uint8_t waits, signals;
	int32_t view[4]; /* DST, S0, S1, S2: index into plan.list.views or -1 */
	int32_t param;
	uint32_t node;	      /* index in the compiled range */
	uint32_t live;	      /* preemption point: how many bytes of SRAM, from 0 on, it saves */
	bool cut;	      /* a new job begins with this instruction */
	bool again;	      /* it is a prefetch for the next job */
	uint64_t cost, start; /* by the cost model: its cycles, the cycle of its start */
};

/*
 * The start of a value's live range in SRAM: neither instruction `op` nor a later one reads what
 * bytes [lo, hi) held before `op`.
 */
struct plan_birth {
	size_t op;
	int64_t lo, hi;
};

/* A set of distinct items of one size, in the order of their first use. */
struct plan_set {
	void *items;
	size_t num, cap, uses;
	uint32_t *hash; /* open addressing: 1 + index, or 0 */
	size_t hash_size;
};

struct plan_timeline {
	uint64_t free[ONPU_ENG_COUNT]; /* the cycle at which each engine becomes idle */
	/*
	 * The cycle of the last preemption point; the cycle at which the command processor has
	 * issued all instructions; the cycle at which all instructions have ended.
	 */
	uint64_t drained, issued, last;
};

struct contract_choices;
struct plan_depend;
struct plan_hazards;
struct plan_values;

/* The instructions, in order. */
struct plan_list {
	struct plan_op *ops;
	size_t num_ops, cap_ops;
	/* the instructions as kernels emitted them, before plan_schedule() */
	struct plan_op *emitted;
	size_t num_emitted;
	/* number of first loads, which a job skips when the job before ran the same program */
	uint32_t ahead;
	struct plan_set views, params; /* sets of struct npu_view and of struct plan_param */
	/* the bindings, with whether the program writes each; NULL: it may write all */
	const struct npu_binding *bindings;
	bool unlisted; /* a candidate: views and parameters are only counted, in `uses` */
	struct plan_depend *depend; /* dependences in the order in which kernels emit */
	struct plan_depend
		*ordered; /* dependences in the order of execution; NULL before plan_schedule() */
	size_t window;	  /* begin of the instructions that plan_schedule() orders together */
	struct plan_hazards *hazards;
	struct plan_timeline timeline;
	bool at_boundary;	/* the current node has no instruction yet */
	size_t node_begin;	/* the first instruction of the current node */
	uint64_t since_preempt; /* cycles of all engines since the last preemption point */
	struct plan_birth *births;
	size_t num_births, cap_births;
	size_t paused_at; /* uses of views and parameters when plan_pause() last returned true */
};

/* A constant that stays in SRAM from one job to the next. */
struct plan_pin {
	const struct ir_value *value;
	uint32_t node; /* the first node that uses it: its index in the compiled range */
	/*
	 * The product for which the constant is dequantised: SRAM has floats. NULL: SRAM has the
	 * constant's own bytes.
	 */
	const struct ir_node *wide;
	uint64_t address, bytes;
};

/* All pinned constants; they are in SRAM from address 0 on. */
struct plan_pinned {
	struct plan_pin *item;
	uint32_t count;
	uint64_t bytes;
};

/* How the SRAM is shared between kernels and values. */
struct plan_sram {
	const struct plan_pinned *pinned; /* NULL: none */
	bool keep;			  /* values may stay in SRAM from one node to another */
	uint64_t base; /* values that stay are before this address; kernels use the rest */
	uint64_t next; /* the end of the bytes that the last kernel took */
};

/* Reports of the nodes, and errors of those that do not compile. */
struct plan_nodes {
	struct npu_node_info *nodes; /* one per node of the range */
	uint32_t node;		     /* the node being lowered */
	struct wnn_error *err;
	bool failed;		/* the plan has failed; plan_refuse() may clear it */
	bool nomem;		/* the plan failed for lack of memory, not because of a node */
	char why[NPU_WHY_SIZE]; /* why the current node failed */
	uint32_t refused;	/* number of earlier nodes that failed */
	struct npu_refusals *refusals;
};

/*
 * The number of levels of eagerness: level 0 has no preference, the last one prefers positions that
 * have all their channels early, and those between prefer short first tiles.
 */
#define PLAN_EAGERNESS 4

/* When kernels expect constant filters in SRAM. */
enum plan_early {
	PLAN_EARLY, /* before the kernel begins: filters are loaded while earlier nodes compute */
	/* like PLAN_EARLY, with two kernels in SRAM at once: each takes at most half of the SRAM */
	PLAN_EARLY_BESIDE,
	PLAN_EARLY_NOT, /* the first tile waits for its filter */
	PLAN_EARLY_COUNT
};

struct plan {
	const struct npu_caps *caps;
	const struct ir_graph *graph;
	uint32_t first, count; /* range of nodes */
	/*
	 * How strongly kernels prefer early first results, with which the next node can begin, to
	 * fewer cycles of their own; below PLAN_EAGERNESS.
	 */
	uint8_t eager;
	uint8_t early; /* enum plan_early */
	/* by node of the range: its manner (plan_set_manner()); NULL: one manner for all nodes */
	const uint8_t *manners;
	/* by node of the range: plan_schedule() sets the cycle at which it ends; NULL: it does not */
	uint64_t *ends;
	bool first_form; /* tiles are chosen as if the matrix array had only its first form */
	/* cache of the tiles that plans of this range have chosen; NULL: there is no cache */
	struct contract_choices *choices;
	struct plan_list list;
	struct plan_constants constants;
	struct plan_sram sram;
	struct plan_values *values; /* the address of each value: place/ */
	struct plan_nodes report;
};

/*
 * A manner is a combination of plan->eager and plan->early; the search compares plans that have
 * different manners.
 */
#define PLAN_MANNERS (PLAN_EAGERNESS * PLAN_EARLY_COUNT)

static inline void plan_set_manner(struct plan *plan, uint8_t manner)
{
	plan->eager = manner % PLAN_EAGERNESS;
	plan->early = manner / PLAN_EAGERNESS;
}

/* Returns the number of slots that a job can have; the program takes one of them. */
static inline uint32_t plan_max_slots(const struct plan *plan)
{
	return plan->caps->max_slots ? plan->caps->max_slots : ONPU_MAX_SLOTS;
}

/*
 * plan_view() returns a view by its index; plan_param_of() returns the parameters of an
 * instruction, or NULL.
 */
static inline const struct npu_view *plan_view(const struct plan *plan, int32_t index)
{
	return (const struct npu_view *)plan->list.views.items + index;
}

static inline const struct plan_param *plan_param_of(const struct plan *plan,
						     const struct plan_op *op)
{
	return op->param < 0 ? NULL :
			       (const struct plan_param *)plan->list.params.items + op->param;
}

/* ---- set.c */
/* Adds an item unless an equal one is there; returns its index, or -1 after failing the plan. */
int32_t plan_set_add(struct plan *plan, struct plan_set *set, const void *item, size_t size);
void plan_set_release(struct plan_set *set);

/*
 * The most instructions of one node: compiling them takes less than a second, and a node with more
 * has tiles that are too small for the NPU to be worth it. A dry plan fails earlier, at
 * PLAN_DRY_INSNS: with more, planning takes so long that no candidates are worth a try.
 */
#define PLAN_NODE_INSNS (1u << 19)
#define PLAN_DRY_INSNS	(1u << 16)

/* Returns the most instructions that a node of this plan may have. */
static inline uint32_t plan_node_insns(const struct plan *plan)
{
	return plan->constants.dry ? PLAN_DRY_INSNS : PLAN_NODE_INSNS;
}

/* ---- plan.c: the instruction list */
/* Appends an instruction, with the waits and preemption point that it needs. */
void plan_emit(struct plan *plan, const struct plan_insn *insn);
/*
 * Takes `bytes` of SRAM for a kernel and returns their address: after the SRAM of the last kernel
 * when they fit there, so that a node's first loads need not wait until the node before has
 * finished with its tiles.
 */
uint64_t plan_take_sram(struct plan *plan, uint64_t bytes);
/*
 * Emits a copy between views of equal dims, as several instructions when it is long. The dims are
 * sorted first, so that elements are copied in the order in which they lie in the memory of @dst.
 */
void plan_transfer(struct plan *plan, struct npu_view dst, struct npu_view src, bool on_st);
/* Returns the bytes of SRAM that a kernel of the current node may take. */
static inline uint32_t plan_sram(const struct plan *plan)
{
	return plan->caps->sram_bytes - (uint32_t)plan->sram.base;
}
/* Notes that no later instruction reads what bytes [lo, hi) of SRAM hold now. */
void plan_birth(struct plan *plan, int64_t lo, int64_t hi);
/* Appends a preemption point, unless the last instruction is one. */
void plan_preempt(struct plan *plan);
/*
 * The cycles that are reserved for semaphore instructions: _OF_ONE beside each instruction,
 * _OF_PAUSE before a preemption point.
 */
#define PLAN_SEMAPHORES_OF_ONE	 4
#define PLAN_SEMAPHORES_OF_PAUSE 16
/* Sets the bytes of SRAM that each preemption point must save. */
void plan_finish(struct plan *plan);
/* Bytes [lo, hi) of SRAM that an instruction reads, or overwrites completely. */
struct plan_touch {
	int64_t lo, hi;
	bool read;
};
/*
 * Lists the ranges of SRAM that an instruction reads or overwrites completely, and returns their
 * number. Writes come before reads, because the callers go through instructions backwards.
 */
uint32_t plan_touches(const struct plan *plan, const struct plan_op *op,
		      struct plan_touch touch[4]);
/* Fails the plan: the current node does not compile. The text says why, without the node's name. */
void plan_fail(struct plan *plan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails the plan: no tile of a kernel can be used; the smallest takes `least` bytes of SRAM. */
void plan_no_tile(struct plan *plan, const char *kernel, uint64_t least);
/* Fails the plan: the current node takes too many instructions. */
void plan_too_long(struct plan *plan);
/* Fails the plan: memory is exhausted. */
void plan_nomem(struct plan *plan);
/* Adds a copy of these bytes to the constants; returns their offset. */
uint64_t plan_constant(struct plan *plan, const void *data, uint64_t bytes);
/* Adds a constant of the graph, by reference, to the constants; returns its offset. */
uint64_t plan_constant_of(struct plan *plan, struct ir_constant *constant);
/* Calls constants_add(), unless the plan is dry; lack of memory fails the plan. */
void plan_constant_section(struct plan *plan, const struct plan_section *section, size_t size);
/* Grows *array to hold `need` elements. Returns 0, or -1 after plan_nomem(). */
int plan_grow(struct plan *plan, void *array, size_t *cap, size_t need, size_t size);

/* ---- refusals.c */
/*
 * If the current node failed, notes why in the refusals and clears the failure, so that planning
 * goes on and finds all nodes that fail. Without refusals, without memory, or when values may stay
 * in SRAM, the plan stays failed.
 */
void plan_refuse(struct plan *plan);

/* ---- what lowering reports about the current node */
void plan_kernel(struct plan *plan, const char *name);
void plan_tiles(struct plan *plan, uint64_t tiles);
void plan_macs(struct plan *plan, uint64_t macs);
/* Reports that the bits of the node's result depend on the size of its tiles; `why` says how. */
void plan_inexact(struct plan *plan, enum npu_exactness why);

#endif
