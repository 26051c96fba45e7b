// SPDX-License-Identifier: MIT
/*
 * Divides the rows of a vector program into tiles and chunks: chooses their sizes, makes their
 * views, and transfers ranges of several flattened dims.
 */
#include "plan/kernel/rowspace.h"

#include <onpu/slots.h>
#include <stdlib.h>
#include <string.h>

/* A reduction that is split at multiples of this number of elements keeps its bits. */
#define LANES	 ONPU_REDUCE_LANES
#define MAX_KEPT 6 /* only so many innermost kept dims of a tile may exceed 1 */

static void set_grid(struct rowspace *rs)
{
	rs->tiles = 1;
	for (uint32_t i = 0; i < rs->kept; i++) {
		int64_t extent = rs->prog->dim[rs->kept_dim[i]];

		rs->grid[i] = (int64_t)wnn_div_up(extent, rs->tile[i]);
		rs->tiles *= rs->grid[i];
	}
	rs->chunks = (int64_t)wnn_div_up(rs->total, rs->chunk);
}

void rowspace_init(struct rowspace *rs, const struct vprog *prog, uint8_t axes)
{
	memset(rs, 0, sizeof(*rs));
	rs->prog = prog;
	rs->axes = axes;
	rs->total = 1;
	for (uint32_t i = 0; i < prog->rank; i++) {
		if (axes >> i & 1) {
			rs->reduced_dim[rs->reduced++] = i;
			rs->total *= prog->dim[i];
		} else {
			rs->tile[rs->kept] = 1;
			rs->kept_dim[rs->kept++] = i;
		}
	}
	rs->chunk = LANES;
	set_grid(rs);
}

/* Takes the sizes of `next` if they fit into SRAM; false: they do not. */
static bool try_sizes(struct rowspace *rs, const struct plan *plan, struct rowspace next,
		      uint64_t (*bytes)(const struct rowspace *, const void *), const void *arg)
{
	set_grid(&next);
	if (bytes(&next, arg) > plan_sram(plan))
		return false;
	*rs = next;
	return true;
}

/*
 * Doubles the tile along kept dim `i`, if it is below `limit` and the double fits. Returns false if
 * the tile stays.
 */
static bool grow_tile(struct rowspace *rs, const struct plan *plan, uint32_t i, int64_t limit,
		      uint64_t (*bytes)(const struct rowspace *, const void *), const void *arg)
{
	struct rowspace next = *rs;
	int64_t extent = rs->prog->dim[rs->kept_dim[i]];

	if (rs->kept - i > MAX_KEPT || rs->tile[i] == extent || rs->tile[i] >= limit)
		return false;
	next.tile[i] = rs->tile[i] * 2 < extent ? rs->tile[i] * 2 : extent;
	return try_sizes(rs, plan, next, bytes, arg);
}

static bool grow_chunk(struct rowspace *rs, const struct plan *plan,
		       uint64_t (*bytes)(const struct rowspace *, const void *), const void *arg)
{
	struct rowspace next = *rs;
	int64_t whole = (int64_t)wnn_align_up(rs->total, LANES);

	if (rs->chunk >= whole)
		return false;
	next.chunk = rs->chunk * 2 < whole ? rs->chunk * 2 : whole;
	return try_sizes(rs, plan, next, bytes, arg);
}

bool rowspace_choose(struct rowspace *rs, struct plan *plan,
		     uint64_t (*bytes)(const struct rowspace *rs, const void *arg), const void *arg)
{
	if (bytes(rs, arg) > plan_sram(plan)) {
		plan_no_tile(plan, rs->prog->kernel, bytes(rs, arg));
		return false;
	}
	/* Grow the innermost dim first, if it is kept, as it makes runs; then chunks; then rows. */
	if (rs->kept && rs->kept_dim[rs->kept - 1] == rs->prog->rank - 1)
		while (grow_tile(rs, plan, rs->kept - 1, 64, bytes, arg))
			;
	while (grow_chunk(rs, plan, bytes, arg))
		;
	for (uint32_t i = rs->kept; i-- > 0;)
		while (grow_tile(rs, plan, i, INT64_MAX, bytes, arg))
			;
	return true;
}

void rowspace_tile(const struct rowspace *rs, uint64_t tile, int64_t chunk, struct row_tile *out)
{
	for (uint32_t i = rs->kept; i-- > 0;) {
		int64_t extent = rs->prog->dim[rs->kept_dim[i]];

		out->begin[i] = tile % rs->grid[i] * rs->tile[i];
		tile /= rs->grid[i];
		out->dim[i] = extent - out->begin[i] < rs->tile[i] ? extent - out->begin[i] :
								     rs->tile[i];
	}
	out->from = chunk * rs->chunk;
	out->dim[rs->kept] = rs->total - out->from < rs->chunk ? rs->total - out->from : rs->chunk;
}

bool rowspace_in_chunks(const struct rowspace *rs, const struct vp_reg *reg)
{
	return reg->mask & rs->axes;
}

uint64_t rowspace_bytes(const struct rowspace *rs, const struct vp_reg *reg)
{
	uint64_t bytes = plan_dtype_bytes(reg->dtype);

	for (uint32_t i = 0; i < rs->kept; i++)
		if (reg->mask >> rs->kept_dim[i] & 1)
			bytes *= rs->tile[i];
	if (rowspace_in_chunks(rs, reg))
		bytes *= rs->chunk;
	return plan_align(bytes);
}

struct npu_view rowspace_view(const struct rowspace *rs, const struct vp_reg *reg, uint64_t address,
			      const struct row_tile *t)
{
	int64_t dim[IR_MAX_RANK], like[IR_MAX_RANK];
	uint32_t rank = 0;

	for (uint32_t i = 0; i < rs->kept; i++) {
		if (t->dim[i] == 1)
			continue;
		dim[rank] = reg->mask >> rs->kept_dim[i] & 1 ? t->dim[i] : 1;
		like[rank++] = reg->mem.stride[rs->kept_dim[i]];
	}
	dim[rank] = rowspace_in_chunks(rs, reg) ? t->dim[rs->kept] : 1;
	/* The tile in SRAM runs forwards, also for an operand that runs backwards. */
	like[rank] = llabs(reg->mem.stride[rs->reduced_dim[rs->reduced - 1]]);
	return view_sram(address, reg->dtype, rank + 1, dim, like);
}

/* A transfer between memory and the SRAM tile of a register. */
struct transfer {
	struct plan *plan;
	const struct rowspace *rs;
	const struct vp_reg *reg;
	bool store;
	struct npu_view tile, mem; /* with the kept dims; transfer_range() adds reduced dims */
	int64_t chunk_stride;
};

static void transfer_box(const struct transfer *tr, struct npu_view tile, struct npu_view mem)
{
	if (!tile.rank) {
		tile.rank = mem.rank = 1;
		tile.dim[0] = mem.dim[0] = 1;
	}
	plan_transfer(tr->plan, tr->store ? mem : tile, tr->store ? tile : mem, tr->store);
}

/*
 * Transfers elements [lo, hi) of the flattened reduced dims from `level` on. With a row for each
 * index of dim `level`, these are the rest of a first row, whole rows as one box, and the begin of
 * a last row; a call for the next level transfers the first and the last row.
 */
static void transfer_range(const struct transfer *tr, uint32_t level, int64_t lo, int64_t hi,
			   struct npu_view tile, struct npu_view mem)
{
	const struct rowspace *rs = tr->rs;
	int64_t inner = 1, stride = tr->reg->mem.stride[rs->reduced_dim[level]];
	int64_t first, last;

	for (uint32_t i = level + 1; i < rs->reduced; i++)
		inner *= rs->prog->dim[rs->reduced_dim[i]];
	first = lo / inner;
	last = hi / inner;
	if (lo % inner) {
		struct npu_view part = mem;
		int64_t end = hi < (first + 1) * inner ? hi : (first + 1) * inner;

		part.offset += first * stride;
		transfer_range(tr, level + 1, lo - first * inner, end - first * inner, tile, part);
		tile.offset += (end - lo) * tr->chunk_stride;
		first++;
	}
	if (last > first) {
		struct npu_view box = tile, from = mem;

		from.offset += first * stride;
		for (uint32_t i = level; i < rs->reduced; i++) {
			int64_t extent = i == level ? last - first :
						      rs->prog->dim[rs->reduced_dim[i]];
			int64_t below = 1;

			for (uint32_t j = i + 1; j < rs->reduced; j++)
				below *= rs->prog->dim[rs->reduced_dim[j]];
			box.dim[box.rank] = from.dim[from.rank] = extent;
			box.stride[box.rank++] = below * tr->chunk_stride;
			from.stride[from.rank++] = tr->reg->mem.stride[rs->reduced_dim[i]];
		}
		transfer_box(tr, box, from);
		tile.offset += (last - first) * inner * tr->chunk_stride;
	}
	if (hi % inner && last >= first) {
		mem.offset += last * stride;
		transfer_range(tr, level + 1, 0, hi - last * inner, tile, mem);
	}
}

void rowspace_transfer(struct plan *plan, const struct rowspace *rs, const struct vp_reg *reg,
		       const struct npu_view *tile, const struct row_tile *t, bool store)
{
	struct transfer tr = { .plan = plan,
			       .rs = rs,
			       .reg = reg,
			       .store = store,
			       .tile = *tile,
			       .mem = reg->mem,
			       .chunk_stride = tile->stride[tile->rank - 1] };
	uint32_t at = 0;

	tr.tile.rank = tr.mem.rank = 0;
	for (uint32_t i = 0; i < rs->kept; i++) {
		bool varies = reg->mask >> rs->kept_dim[i] & 1;

		if (varies)
			tr.mem.offset += t->begin[i] * reg->mem.stride[rs->kept_dim[i]];
		if (t->dim[i] == 1)
			continue;
		tr.tile.dim[tr.tile.rank] = tr.mem.dim[tr.mem.rank] = tile->dim[at];
		tr.tile.stride[tr.tile.rank++] = tile->stride[at++];
		tr.mem.stride[tr.mem.rank++] = reg->mem.stride[rs->kept_dim[i]];
	}
	if (rowspace_in_chunks(rs, reg))
		transfer_range(&tr, 0, t->from, t->from + t->dim[rs->kept], tr.tile, tr.mem);
	else
		transfer_box(&tr, tr.tile, tr.mem);
}
