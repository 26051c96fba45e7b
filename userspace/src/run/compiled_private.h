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
	RUN_NOWHERE,  /* inside an NPU program, or unused */
	RUN_CONSTANT, /* in the ir_constant of value `index` */
	RUN_INPUT,    /* in the tensor of input `index` */
	RUN_OUTPUT,   /* in the tensor of output `index` */
	RUN_ARENA,    /* in the arena of the instance */
};

/* The memory of a value while the graph runs. */
struct run_location {
	enum run_where where;
	uint32_t index;
	uint64_t offset; /* bytes from the begin of that */
	/* The steps that make and last use it; UINT32_MAX as first: none does. */
	uint32_t first, last;
	bool needed; /* by a CPU node, another step or an output */
};

/* The value whose memory a value lies in, and the offset there. */
struct run_home {
	uint32_t value;
	uint64_t at;
};

/*
 * One NPU program, or one or two CPU nodes: the second reads the product of the first while it is
 * in the cache.
 */
struct run_step {
	struct npu_program *program;   /* NULL: CPU */
	uint32_t first, count;	       /* of graph->nodes */
	uint64_t insns, constants;     /* offsets in code */
	uint64_t slots;		       /* offset in the slots of an instance */
	uint64_t scratch;	       /* offset in its arena */
	uint64_t records;	       /* offset in its time stamps */
	struct cpu_prepared *prepared; /* CPU: what its kernel keeps, or NULL */
	void *packed;		       /* CPU: operand 1 in the form of its kernel, or NULL */
	size_t packed_bytes;
};

/* Memory in which packed operands are stored one behind the other. */
struct run_block {
	void *memory;
	size_t size;
};

/* An output to fill by a copy: its value is also another output, or it is an input or constant. */
struct run_copy {
	uint32_t output;
	const struct ir_value *value;
};

/* The memory that a dispatch in flight needs for itself. */
struct run_instance {
	struct run_buffer arena, slots;
	struct run_buffer records; /* time stamps, when the device profiles */
	bool busy;
};

struct run_compiled {
	atomic_uint refs;
	struct run_device *device;
	struct ir_graph *graph;
	struct run_home *homes; /* by value id: itself, or the one that it is a view of */
	bool *is_view;		/* by node: its result is a view, so that it needs no step */
	struct cpu_prepared *
		*early; /* by node: prepared before there are steps; NULL, or none is left */
	struct run_location *locations; /* by value id; of views only after run_place_views() */
	uint32_t num_steps;
	struct run_step *steps;
	size_t num_blocks, block_room;
	struct run_block *blocks;
	/* Names of the data that steps keep in SRAM, unique among graphs; that of step 0. */
	uint64_t first_keep;
	uint32_t num_copies;
	struct run_copy *copies;
	uint64_t code_bytes, slots_bytes, arena_bytes, record_bytes;
	struct run_buffer code; /* programs and their constants */
	struct run_instance ring[RUN_RING];
	uint32_t ring_made;
	/*
	 * For a graph that was loaded: the memory of its constants and packed operands; else NULL.
	 */
	void *owner;
	void (*release)(void *owner);
};

/* Returns the location of the memory that a value lies in. */
static inline struct run_location *run_home_location(const struct run_compiled *c, uint32_t value)
{
	return &c->locations[c->homes[value].value];
}

/* ---- views.c */
/*
 * Finds the CPU values that lie in the memory of others, and the nodes that therefore need no step.
 */
int run_find_views(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/* Gives views the locations of the values that they lie in. */
void run_place_views(struct run_compiled *c);

/* ---- compile.c: everything that follows from the graph and the programs alone */
/*
 * Makes the steps: one for each run of consecutive NPU nodes; for CPU nodes, which must have valid
 * shapes, one for each or for two that are fused, and none for views.
 */
int run_make_steps(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/* Chooses the location of each value; call it when the steps are made. */
int run_locate_values(struct run_compiled *c, const bool *on_npu, struct wnn_error *err);
/*
 * Sets the offsets of a step's program, constants, slots and time stamps; call it in the order of
 * steps.
 */
void run_set_offsets(struct run_compiled *c, struct run_step *step);
/*
 * Sets the offsets in the arena of values that several steps use, and of the scratch memory of
 * programs.
 */
int run_make_arena(struct run_compiled *c, struct wnn_error *err);

#endif
