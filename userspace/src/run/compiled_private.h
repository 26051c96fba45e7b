/* SPDX-License-Identifier: MIT */
/* The state of a compiled graph, for the files that compile, dispatch, store and print it. */
#ifndef WNN_RUN_COMPILED_PRIVATE_H
#define WNN_RUN_COMPILED_PRIVATE_H

#include <stdatomic.h>

#include "run/compiled.h"

/*
 * Dispatches that may be in flight at the same time; each has an arena and a slot table of its own
 * (struct run_instance).
 */
#define RUN_RING 3

enum run_where {
	RUN_NOWHERE,  /* no memory: only inside a step, or unused */
	RUN_CONSTANT, /* memory of the ir_constant of value `index` */
	RUN_INPUT,    /* memory of the tensor of input `index` */
	RUN_OUTPUT,   /* memory of the tensor of output `index` */
	RUN_ARENA,    /* memory in the arena of the instance */
};

/* The use of plans: see cpu_plan_create(). */
#define RUN_CPU_USE (CPU_PACKS | CPU_KEEPS)

/* The memory of a value while the graph runs. */
struct run_location {
	enum run_where where;
	uint32_t index;
	uint64_t offset; /* bytes from the start of that memory */
	/*
	 * The steps that compute the value and last use it; first is UINT32_MAX when no step
	 * computes it.
	 */
	uint32_t first, last;
	bool needed; /* whether a CPU node, another step or an output needs it in memory */
};

/* The value whose memory a value lies in, and the offset there. */
struct run_home {
	uint32_t value;
	uint64_t at;
};

/*
 * One NPU program, or one or two CPU nodes. The second CPU node reads the result of the first while
 * it is in the cache.
 */
struct run_step {
	struct npu_program *program; /* NULL: the step runs on the CPU */
	/* the step's nodes: graph->nodes[first] to [first + count - 1] */
	uint32_t first, count;
	uint64_t insns, constants; /* offsets in run_compiled.code */
	uint64_t slots;		   /* offset in run_instance.slots */
	uint64_t scratch;	   /* offset in run_instance.arena */
	uint64_t records;	   /* offset in run_instance.records */
	uint32_t branch;	   /* the step runs when this branch is taken; NPU: RUN_ALWAYS */
	struct cpu_plan *plan;	   /* CPU: the kernel of the node, or of both; else NULL */
	void *packed;		   /* CPU: operand 1 in the layout of the kernel, or NULL */
	size_t packed_bytes;
};

/* The branch that contains all nodes. */
#define RUN_ALWAYS 0

/*
 * One side of the selections (`where`) by a condition of a single element. A dispatch leaves out
 * the steps of a branch that is not taken. A branch is taken when its parent is and the condition
 * is as `taken` says.
 */
struct run_branch {
	const struct ir_value *condition; /* NULL for RUN_ALWAYS */
	bool taken;			  /* true: the side for a condition other than 0 */
	uint32_t parent;		  /* the branch whose selections these are */
	uint32_t depth;			  /* how many branches contain it */
	uint32_t next;			  /* another branch of the condition; 0: this is the last */
};

/*
 * An output that is filled by a copy, because its value is also another output, an input or a
 * constant, or lies in a larger value.
 */
struct run_copy {
	uint32_t output;
	const struct ir_value *value;
};

/*
 * An input that an output updates in place. Steps use the memory of the output for both: when the
 * tensors differ, a dispatch begins with a copy of the input.
 */
struct run_update {
	uint32_t input, output;
};

/* The memory that a dispatch in flight needs for itself. */
struct run_instance {
	struct run_buffer arena, slots;
	struct run_buffer records; /* time stamps, if the device profiles */
	bool busy;
};

struct run_compiled {
	atomic_uint refs;
	struct run_device *device;
	struct ir_graph *graph;
	struct run_home *homes; /* by value id: the value whose memory it lies in */
	/* by node: it needs no step, as its result lies in its operand, or the other way round */
	bool *is_view;
	/* by node: the plan that strides.c has made, until a step takes it over; or NULL */
	struct cpu_plan **early;
	/* by value id; views have one only after run_place_views() */
	struct run_location *locations;
	uint32_t num_steps;
	struct run_step *steps;
	uint32_t num_branches; /* 0: no selection has branches */
	struct run_branch *branches;
	size_t num_blocks, block_room;
	struct run_block **blocks; /* of device->pool, with packed operands of steps */
	/*
	 * The number by which the device recognises data that step 0 left in SRAM (`keep` in the
	 * slot of a program); step s has first_keep + s. No other graph has these numbers.
	 */
	uint64_t first_keep;
	uint32_t num_copies;
	struct run_copy *copies;
	uint32_t num_updates;
	struct run_update *updates;
	uint64_t code_bytes, slots_bytes, arena_bytes, record_bytes;
	struct run_buffer code; /* the programs and their constants */
	struct run_instance ring[RUN_RING];
	uint32_t ring_made;
	/*
	 * For a graph loaded from a file: the memory of its constants and packed operands; else
	 * NULL.
	 */
	void *owner;
	void (*release)(void *owner);
};

/* Returns the location of the memory in which a value lies. */
static inline struct run_location *run_home_location(const struct run_compiled *c, uint32_t value)
{
	return &c->locations[c->homes[value].value];
}

/* ---- views.c */
/*
 * Finds the CPU values that lie in the memory of another value, and the nodes that need no step
 * because their results, or the operands of a concat, are such values. Returns 0, or -1 with *err.
 */
int run_find_views(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/* Gives views the locations of the values that they lie in. */
void run_place_views(struct run_compiled *c);

/* ---- branches.c */
/*
 * Finds the branches and sets the branch of each step; call it when the steps are made. Returns 0,
 * or -1 with *err.
 */
int run_find_branches(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);

/* ---- compile.c: all that can be computed from the graph and its programs */
/*
 * Makes the steps: one for each run of consecutive NPU nodes; one for each CPU node, or for two
 * that are fused; none for views. CPU nodes must have valid shapes. Returns 0 or -1.
 */
int run_make_steps(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/* Chooses the location of each value; call it when the steps are made. Returns 0 or -1. */
int run_locate_values(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/*
 * Sets the offsets of a step's program, constants, slots and time stamps; call it in the order of
 * steps.
 */
void run_set_offsets(struct run_compiled *c, struct run_step *step);
/*
 * Sets the offsets in the arena of values that must be in memory, and of the scratch memory of
 * programs. Returns 0 or -1.
 */
int run_make_arena(struct run_compiled *c, struct wnn_error *err);

#endif
