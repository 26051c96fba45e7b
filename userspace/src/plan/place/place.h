/* SPDX-License-Identifier: MIT */
/*
 * Addresses of the values of a range, in SRAM, the arena, constants and bindings: the interface
 * that kernels and lowering use.
 */
#ifndef WNN_PLAN_PLACE_PLACE_H
#define WNN_PLAN_PLACE_PLACE_H

#include "plan/list/plan.h"

/* ---- resident.c: values that stay in SRAM between nodes */
/*
 * Begins a node: notes which SRAM is left to its kernel, and emits the zeros around the values that
 * it is the first to write.
 */
void residents_begin(struct plan *plan);

/* ---- pinned.c: constants that stay in SRAM from one job to the next */
/*
 * Finds the constants of a range to pin, when pinning is worth it; -1: no memory. Released by
 * pinned_release() in either case.
 */
int pinned_find(const struct plan *plan, struct plan_pinned *pinned);
void pinned_release(struct plan_pinned *pinned);
/*
 * Adds the bytes of a pinned constant, as SRAM has them, to the constants of the program; returns
 * their offset.
 */
uint64_t pinned_pack(struct plan *plan, const struct plan_pin *pin);
/* Whether kernels find the constant in SRAM. */
bool values_pinned(const struct plan *plan, const struct ir_value *value);

/* ---- pieces.c: values that products read in slices, from the operands of a concat */
#define PLACE_MAX_PIECES 4

struct value_pieces {
	uint32_t count, axis; /* count 0: the value lies in one stretch of memory */
	struct npu_view view[PLACE_MAX_PIECES];
};

void values_pieces(struct plan *plan, const struct ir_value *value, struct value_pieces *pieces);

/* ---- values.c: where every value of the range lies */
int values_place(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
void values_destroy(struct plan_values *values);
struct npu_view values_view(struct plan *plan, const struct ir_value *value);
/*
 * Sets the padding before and behind the rows and columns of an image that stays in SRAM, all 0
 * without padding. Returns the bits of a padding element.
 */
uint64_t values_halo(const struct plan *plan, const struct ir_value *value, int64_t halo[2][2]);
#define NOT_JOINED UINT32_MAX
/*
 * When only an addition reads the result of a convolution, the node of the addition computes both
 * (they are fused) and has the other addend as an operand. For each of the two nodes, returns the
 * index of the other in the range, or NOT_JOINED.
 */
uint32_t values_joined(const struct plan *plan, uint32_t node);
/*
 * Whether a value is loaded and stored, rather than kept in SRAM; whether it is read after the
 * program.
 */
bool values_in_memory(const struct plan *plan, const struct ir_value *value);
bool values_live_out(const struct plan *plan, const struct ir_value *value);
/* Whether a value has no memory of its own, because all that read it read its slices. */
bool values_in_pieces(const struct plan *plan, const struct ir_value *value);
/* True when one value is a view of the other, so that moving data between them is no work. */
bool values_shared(const struct plan *plan, const struct ir_value *a, const struct ir_value *b);
const struct npu_binding *values_bindings(const struct plan *plan, uint32_t *count);
uint64_t values_arena_bytes(const struct plan *plan);
/* Returns the offset in the arena of the scratch memory of the node that is being lowered. */
uint64_t values_scratch(const struct plan *plan);

#endif
