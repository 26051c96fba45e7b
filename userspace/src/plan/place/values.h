/* SPDX-License-Identifier: MIT */
/*
 * The memory of each value of a range: the state that values.c, resident.c, slices.c and pinned.c
 * share.
 */
#ifndef WNN_PLAN_VALUES_H
#define WNN_PLAN_VALUES_H

#include "plan/place/place.h"

#define NO_PARENT UINT32_MAX

struct value_location {
	bool used, live_out;
	enum npu_base base; /* NPU_BASE_NONE: the value stays in SRAM */
	uint32_t binding;   /* with NPU_BASE_VALUE: index of the binding */
	uint32_t parent;    /* id of the value that this one is a view into; NO_PARENT: no view */
	int64_t offset;	    /* offset in the parent's memory, or without a parent in the base */
	bool strided;	    /* stride[] may differ from that of a dense value */
	int64_t stride[IR_MAX_RANK];
	uint32_t begin, end;   /* live range, in nodes of the range */
	uint32_t uses;	       /* number of uses as an operand */
	bool in_slices;	       /* it has no memory: products read the operands of the concat */
	uint32_t whole;	       /* in_slices: id of the concat's result */
	uint32_t slice_axis;   /* in_slices: the axis of this value that is divided into slices */
	bool placed;	       /* constants: it is among the program's constants already */
	uint64_t bytes;	       /* roots: bytes of memory, with the padding of an image */
	int64_t origin;	       /* offset of element 0 in these bytes */
	int64_t halo[2][2];    /* rows and columns of padding before and after an image */
	uint64_t halo_value;   /* bits of a padding element */
	uint8_t image_axis[4]; /* images laid out by rows: the axes N, C, H, W */
};

struct plan_values {
	struct value_location *location; /* by value id */
	struct npu_binding *bindings;
	size_t num_bindings, cap_bindings;
	uint64_t *scratch; /* by node of the range: offset in the arena */
	uint32_t *fused;   /* by node of the range: see values_fused() */
	uint64_t arena_bytes;
	uint32_t *resident; /* ids of the values that stay in SRAM, in the order of first nodes */
	uint32_t num_resident, next_resident;
	/* By node: the end of the SRAM of values that are live there; NULL: no values stay. */
	uint64_t *node_base;
};

/* Returns the id of the value whose memory a value is in; of itself when it is no view. */
uint32_t values_root(const struct plan *plan, uint32_t id);
/* Returns true if a node can write its result with strides, between other data. */
bool values_writes_strided(const struct ir_node *node);
/* Finds the values that products read in slices; call it before values share memory. */
void slices_find(struct plan *plan);
/* Gives the constants of plan->sram.pinned their addresses. */
void pinned_place(struct plan *plan);
/*
 * Chooses the roots in the arena that stay in SRAM instead; their location->base becomes
 * NPU_BASE_NONE. Returns 0, or -1: no memory.
 */
int residents_choose(struct plan *plan);

#endif
