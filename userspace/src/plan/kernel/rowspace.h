/* SPDX-License-Identifier: MIT */
/*
 * The iteration space of a vector program as rows: the kept dims number the rows, and the reduced
 * dims, flattened into one, are processed in chunks. For reductions, scans, argmin and argmax whose
 * rows do not fit into SRAM.
 */
#ifndef WNN_PLAN_ROWSPACE_H
#define WNN_PLAN_ROWSPACE_H

#include "plan/kernel/vprog.h"

struct rowspace {
	const struct vprog *prog;
	uint8_t axes;		/* mask of the program's dims that are reduced */
	uint32_t kept, reduced; /* numbers of dims that are kept and reduced */
	uint32_t kept_dim[IR_MAX_RANK], reduced_dim[IR_MAX_RANK]; /* their indices in the program */
	int64_t tile[IR_MAX_RANK], grid[IR_MAX_RANK]; /* by kept dim: extent and number of tiles */
	/* elements of a row; elements of a chunk, a multiple of 16; chunks of a row */
	int64_t total, chunk, chunks;
	uint64_t tiles;
};

/* A tile of rows and a chunk of each of them. */
struct row_tile {
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK + 1]; /* dim[kept] is the chunk's length */
	int64_t from; /* the first element of the chunk in the flattened row */
};

/* Initialises *rs with the smallest tile and chunk. */
void rowspace_init(struct rowspace *rs, const struct vprog *prog, uint8_t axes);
/*
 * Chooses large tiles and chunks that fit into SRAM; bytes() returns the bytes that sizes need.
 * False after failing the plan: no sizes fit.
 */
bool rowspace_choose(struct rowspace *rs, struct plan *plan,
		     uint64_t (*bytes)(const struct rowspace *rs, const void *arg),
		     const void *arg);
/* Sets *out to the position and size of a tile and a chunk, by their numbers. */
void rowspace_tile(const struct rowspace *rs, uint64_t tile, int64_t chunk, struct row_tile *out);
/* Returns true if a register has an element for each element of a row; false: one for each row. */
bool rowspace_in_chunks(const struct rowspace *rs, const struct vp_reg *reg);
/* Returns the bytes of SRAM of a register's tile. */
uint64_t rowspace_bytes(const struct rowspace *rs, const struct vp_reg *reg);
/*
 * Returns the view of a register's tile in SRAM: the kept dims whose extent in the tile is not 1,
 * then the chunk.
 */
struct npu_view rowspace_view(const struct rowspace *rs, const struct vp_reg *reg, uint64_t address,
			      const struct row_tile *t);
/* Emits the load of an input's tile, or the store of an output's. */
void rowspace_transfer(struct plan *plan, const struct rowspace *rs, const struct vp_reg *reg,
		       const struct npu_view *tile, const struct row_tile *t, bool store);

#endif
