/* SPDX-License-Identifier: MIT */
/*
 * The state that values.c, resident.c, pieces.c and pinned.c share: the memory of each value of a
 * range.
 */
#ifndef WNN_PLAN_VALUES_H
#define WNN_PLAN_VALUES_H

#include "plan/place/place.h"

#define NO_PARENT UINT32_MAX

struct place {
	bool used, live_out;
	enum npu_base base; /* NPU_BASE_NONE: it stays in SRAM */
	uint32_t binding;
	uint32_t parent; /* value whose memory this one is a view into */
	int64_t offset;	 /* in the parent; in the base when there is none */
	bool strided;	 /* strides[] differ from dense */
	int64_t stride[IR_MAX_RANK];
	uint32_t begin, end;   /* live range, in nodes of the range */
	uint32_t uses;	       /* as an operand */
	bool in_pieces;	       /* without memory: products read the operands of the concat */
	uint32_t whole;	       /* the concat's result, by id, when in_pieces */
	uint32_t piece_axis;   /* the axis of this value along which the slices follow each other */
	bool placed;	       /* constants: the program's constants have it already */
	uint64_t bytes;	       /* of a root, with the padding around it */
	int64_t origin;	       /* of element 0 within them */
	int64_t halo[2][2];    /* rows and columns of padding around it */
	uint64_t halo_value;   /* bits of an element of that */
	uint8_t image_axis[4]; /* when it has a halo: axes N, C, H, W */
};

struct plan_values {
	struct place *place; /* by value id */
	struct npu_binding *bindings;
	size_t num_bindings, cap_bindings;
	uint64_t *scratch; /* by node of the range: offset in the arena */
	uint32_t *joined;  /* by node of the range: see values_joined() */
	uint64_t arena_bytes;
	uint32_t *resident; /* values that stay in SRAM, by their first node */
	uint32_t num_resident, next_resident;
	/* For each node: end of the resident values that are alive at it; NULL: none. */
	uint64_t *node_base;
};

/* The value in whose memory this one lies. */
uint32_t values_root(const struct plan *plan, uint32_t id);
/* Whether a node can write its result between other data. */
bool values_writes_strided(const struct ir_node *node);
/* Finds the values that products read in slices; call it before values share memory. */
void pieces_find(struct plan *plan);
/* Gives the constants of plan->sram.pinned their addresses. */
void pinned_place(struct plan *plan);
/*
 * Chooses the values that stay in SRAM among the roots in the arena; their place->base becomes
 * NPU_BASE_NONE.
 */
int residents_choose(struct plan *plan);

#endif
