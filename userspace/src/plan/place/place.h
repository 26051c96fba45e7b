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
 * Begins a node: notes the SRAM that its kernel may use, and emits the padding around the resident
 * images whose first node it is.
 */
void residents_begin(struct plan *plan);

/* ---- pinned.c: constants that stay in SRAM from one job to the next */
/*
 * Lists the constants of a range that kernels can read from SRAM, to pin them; none when they have
 * too many bytes. Returns 0, or -1: no memory; call pinned_release() in both cases.
 */
int pinned_find(const struct plan *plan, struct plan_pinned *pinned);
void pinned_release(struct plan_pinned *pinned);
/*
 * Adds the bytes of a pinned constant, as SRAM has them, to the constants of the program; returns
 * their offset.
 */
uint64_t pinned_pack(struct plan *plan, const struct plan_pin *pin);
/* Returns true if a value is a constant that kernels read from SRAM. */
bool values_pinned(const struct plan *plan, const struct ir_value *value);

/* ---- slices.c: values that products read in slices, from the operands of a concat */
#define VALUES_MAX_SLICES 4

struct value_slices {
	uint32_t count, axis; /* number of slices, 0 without slices; the axis that is divided */
	struct npu_view view[VALUES_MAX_SLICES];
};

/* Sets *slices to the slices of a value; its count is 0 when the value is not read in slices. */
void values_slices(struct plan *plan, const struct ir_value *value, struct value_slices *slices);

/* ---- values.c: the memory of every value of the range */
/* Chooses the memory of all values. Returns 0, or -1 with the plan failed. */
int values_locate(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
void values_destroy(struct plan_values *values);
/* Returns the view of a value's memory. */
struct npu_view values_view(struct plan *plan, const struct ir_value *value);
/*
 * Sets halo[0] to the rows of padding before and after an image that stays in SRAM, and halo[1] to
 * the columns; all 0 without padding. Returns the bits of a padding element.
 */
uint64_t values_halo(const struct plan *plan, const struct ir_value *value, int64_t halo[2][2]);
#define NOT_FUSED UINT32_MAX
/*
 * A convolution may be fused with the addition that alone reads its result: then the node of the
 * addition computes both, and has the other addend as an operand. For each of two such nodes,
 * returns the index of the other in the range; NOT_FUSED: the node is not fused.
 */
uint32_t values_fused(const struct plan *plan, uint32_t node);
/*
 * values_in_memory() returns true if a value is in memory rather than SRAM; values_live_out(), if
 * it is read after the program.
 */
bool values_in_memory(const struct plan *plan, const struct ir_value *value);
bool values_live_out(const struct plan *plan, const struct ir_value *value);
/* Returns true if a value has no memory, because all products that read it read its slices. */
bool values_in_slices(const struct plan *plan, const struct ir_value *value);
/* Returns true if one value is a view of the other, so that no data moves between them. */
bool values_shared(const struct plan *plan, const struct ir_value *a, const struct ir_value *b);
/* Returns the bindings of the program, and sets their number; the plan owns them. */
const struct npu_binding *values_bindings(const struct plan *plan, uint32_t *count);
/*
 * Returns the bytes of the arena: the memory of intermediate values that do not stay in SRAM, and
 * the scratch memory of nodes.
 */
uint64_t values_arena_bytes(const struct plan *plan);
/* Returns the offset in the arena of the scratch memory of the node that is being lowered. */
uint64_t values_scratch(const struct plan *plan);

#endif
