/* SPDX-License-Identifier: MIT */
/*
 * The space of a vector program seen as rows: kept dims, and the reduced dims flattened into one
 * that is walked in chunks. For reductions, scans and argmin/argmax whose rows do not fit into
 * SRAM.
 */
#ifndef WNN_PLAN_ROWSPACE_H
#define WNN_PLAN_ROWSPACE_H

#include "plan/kernel/vprog.h"

struct rowspace {
	const struct vprog *prog;
	uint8_t axes; /* dims of the program that are flattened */
	uint32_t kept, reduced;
	uint32_t kept_dim[IR_MAX_RANK], reduced_dim[IR_MAX_RANK]; /* their numbers in the program */
	int64_t tile[IR_MAX_RANK], grid[IR_MAX_RANK];		  /* of the kept dims */
	int64_t total, chunk, chunks; /* elements of a row; 16 divides chunk */
	uint64_t tiles;
};

/* One tile of rows and one chunk of them. */
struct row_tile {
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK + 1]; /* dim[kept] is the chunk's length */
	int64_t from;					  /* of the chunk, in the flattened row */
};

void rowspace_init(struct rowspace *rs, const struct vprog *prog, uint8_t axes);
/* Sizes for which `bytes` (of everything at once in SRAM) fits; false with the plan failed if none
 * do. */
bool rowspace_choose(struct rowspace *rs, struct plan *plan,
		     uint64_t (*bytes)(const struct rowspace *rs, const void *arg),
		     const void *arg);
void rowspace_tile(const struct rowspace *rs, uint64_t tile, int64_t chunk, struct row_tile *out);
bool rowspace_in_chunks(const struct rowspace *rs, const struct vp_reg *reg);
uint64_t rowspace_bytes(const struct rowspace *rs, const struct vp_reg *reg);
/* A register's tile in SRAM: the kept dims whose extent in the tile is not 1, then the chunk. */
struct npu_view rowspace_view(const struct rowspace *rs, const struct vp_reg *reg, uint64_t address,
			      const struct row_tile *t);
/* Loads an input's tile, or stores an output's. */
void rowspace_transfer(struct plan *plan, const struct rowspace *rs, const struct vp_reg *reg,
		       const struct npu_view *tile, const struct row_tile *t, bool store);

#endif
