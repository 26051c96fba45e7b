/* SPDX-License-Identifier: MIT */
/* The state of emitting a contraction, shared by contract_emit.c and contract_posts.c. */
#ifndef WNN_PLAN_CONTRACT_EVENT_H
#define WNN_PLAN_CONTRACT_EVENT_H

#include "plan/kernel/contract.h"
#include "plan/kernel/pool.h"

/* A contraction that is being emitted, with the addresses of its tiles in SRAM. */
struct contract_state {
	struct plan *plan;
	const struct contract *c;
	const struct contract_tile *t;
	struct pool a, b, wide, extra[CONTRACT_MAX_EXTRAS];
	uint64_t scaled[CONTRACT_MAX_EXTRAS], real, spare, acc, out;
	const struct contract_prepared *p;
	int64_t summed; /* number of terms that the current tile's sum has so far */
};

/* A step of the sum of one tile of the result, with the addresses and views of its operands. */
struct contract_event {
	int64_t begin[CD_RANK], dim[CD_RANK];
	uint64_t tile, step;
	int64_t index[CD_RANK];
	struct contract_step s;
	uint64_t a, b, extra[CONTRACT_MAX_EXTRAS];
	struct npu_view a_view, b_view;
};

/* Loads the slice of further operand `i` that a tile needs, unless SRAM has it already. */
void contract_load_extra(struct contract_state *st, struct contract_event *e, uint32_t i);
/* Emits the prologue: writes the bias to the accumulators of a tile. */
void contract_begin(struct contract_state *st, const struct contract_event *e,
		    const struct npu_view *acc);
/* Emits the epilogue of a tile whose sum is complete. */
void contract_posts(struct contract_state *st, const struct contract_event *e, struct npu_view acc,
		    struct npu_view out);

#endif
