/* SPDX-License-Identifier: MIT */
/* Where the values of a range lie, for kernels and lowering. */
#ifndef WNN_PLAN_PLACE_PLACE_H
#define WNN_PLAN_PLACE_PLACE_H

#include "plan/list/plan.h"

/* ---- resident.c: values that stay in SRAM between nodes */
/* A node begins: SRAM that is left to it, and zeros around the values that it is the first to write. */
void residents_begin(struct plan *plan);

/* ---- pinned.c: constants that stay in SRAM from one job to the next */
/* Those of a range, when it is worth it; -1: there is no memory. Released in either case. */
int pinned_find(const struct plan *plan, struct plan_pinned *pinned);
void pinned_release(struct plan_pinned *pinned);
/* Puts the bytes that shall lie there among the constants of the program; returns where they begin. */
uint64_t pinned_pack(struct plan *plan, const struct plan_pin *pin);
/* Whether kernels find a constant in SRAM. */
bool values_pinned(const struct plan *plan, const struct ir_value *value);

/* ---- pieces.c: values that products read in pieces, where the operands of a concat lie */
#define PLACE_MAX_PIECES 4

struct value_pieces {
	uint32_t count, axis; /* 0: the value lies somewhere as a whole */
	struct npu_view view[PLACE_MAX_PIECES];
};

void values_pieces(struct plan *plan, const struct ir_value *value, struct value_pieces *pieces);

/* ---- values.c: where every value of the range lies */
int values_place(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
void values_destroy(struct plan_values *values);
struct npu_view values_view(struct plan *plan, const struct ir_value *value);
/*
 * Padding before and behind the rows and columns of an image that stays in SRAM; none: all 0. Returns
 * the bits of an element of it.
 */
uint64_t values_halo(const struct plan *plan, const struct ir_value *value, int64_t halo[2][2]);
#define NOT_JOINED UINT32_MAX
/*
 * A convolution whose result only another one is added to is computed by the node of that addition, with the
 * other operand as one more operand of its own: for each of the two nodes, the index of the other in the range, or
 * NOT_JOINED.
 */
uint32_t values_joined(const struct plan *plan, uint32_t node);
/* Whether a value is loaded and stored, rather than kept in SRAM; and whether it is read after the program. */
bool values_in_memory(const struct plan *plan, const struct ir_value *value);
bool values_live_out(const struct plan *plan, const struct ir_value *value);
/* Whether a value has no memory, as all that use it read its pieces. */
bool values_in_pieces(const struct plan *plan, const struct ir_value *value);
/* True when one lies inside the other, so that moving data between them is no work. */
bool values_shared(const struct plan *plan, const struct ir_value *a, const struct ir_value *b);
const struct npu_binding *values_bindings(const struct plan *plan, uint32_t *count);
uint64_t values_arena_bytes(const struct plan *plan);
/* Where the node being lowered has its scratch memory in the arena. */
uint64_t values_scratch(const struct plan *plan);

#endif
