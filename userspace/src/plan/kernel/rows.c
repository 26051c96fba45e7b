// SPDX-License-Identifier: MIT
/*
 * Emits scans, argmin and argmax over rows that do not fit into SRAM, one chunk of a row after the
 * other. The carry of a scan, or the best element so far, stays in SRAM.
 */
#include "plan/kernel/rows.h"

#include "plan/kernel/rowspace.h"

/*
 * The values in SRAM that the kernels need beside the registers of the program, one element for
 * each row. A scan has its carry in ROW_BEST and needs no other.
 */
enum {
	ROW_BEST,
	ROW_INDEX,
	ROW_COND,
	ROW_NAN,
	ROW_KEEP,
	ROW_CHUNK_BEST,
	ROW_CHUNK_INDEX,
	ROW_COUNT
};

struct rows {
	struct plan *plan;
	const struct vprog *prog;
	const struct vp_op *op;
	struct rowspace rs;
	uint64_t in[2], out[2], row[ROW_COUNT];
	uint8_t row_dtype[ROW_COUNT];
	uint32_t num_rows;
};

/*
 * Returns the bytes of SRAM for all values; with `to`, assigns their addresses and returns the end.
 */
static uint64_t lay_out(const struct rowspace *rs, const struct rows *rows, struct rows *to)
{
	const struct vp_reg *in = &rs->prog->reg[rows->op->src[0]],
			    *out = &rs->prog->reg[rows->op->dst];
	uint64_t at = to ? to->plan->sram.base : 0;

	for (int i = 0; i < 2; i++) {
		if (to)
			to->in[i] = at;
		at += rowspace_bytes(rs, in);
		if (to)
			to->out[i] = at;
		at += rowspace_bytes(rs, out);
	}
	for (uint32_t i = 0; i < rows->num_rows; i++) {
		struct vp_reg row = *in;

		row.mask &= ~rs->axes;
		row.dtype = rows->row_dtype[i];
		if (to)
			to->row[i] = at;
		at += rowspace_bytes(rs, &row);
	}
	return at;
}

static uint64_t bytes_of(const struct rowspace *rs, const void *arg)
{
	return lay_out(rs, arg, NULL);
}

/* Chooses the sizes of tiles and chunks; false: the plan has failed. */
static bool prepare(struct rows *rows)
{
	rowspace_init(&rows->rs, rows->prog, rows->op->axes);
	if (!rowspace_choose(&rows->rs, rows->plan, bytes_of, rows))
		return false;
	lay_out(&rows->rs, rows, rows);
	plan_tiles(rows->plan, rows->rs.tiles * rows->rs.chunks);
	return true;
}

static struct npu_view row_view(const struct rows *rows, int which, const struct row_tile *t)
{
	struct vp_reg row = rows->prog->reg[rows->op->src[0]];

	row.mask &= ~rows->rs.axes;
	row.dtype = rows->row_dtype[which];
	return rowspace_view(&rows->rs, &row, rows->row[which], t);
}

static struct npu_view load(struct rows *rows, const struct row_tile *t, uint64_t slot)
{
	const struct vp_reg *in = &rows->prog->reg[rows->op->src[0]];
	struct npu_view tile = rowspace_view(&rows->rs, in, rows->in[slot % 2], t);

	rowspace_transfer(rows->plan, &rows->rs, in, &tile, t, false);
	return tile;
}

/* ---- scan */

static void scan_chunk(struct rows *rows, const struct row_tile *t, const struct npu_view *in,
		       uint64_t slot)
{
	const struct vp_reg *reg = &rows->prog->reg[rows->op->dst];
	struct npu_view out = rowspace_view(&rows->rs, reg, rows->out[slot % 2], t);
	struct npu_view carry = row_view(rows, ROW_BEST, t);

	plan_emit(rows->plan, &(struct plan_insn){ .op = ONPU_OP_SCAN_SUM,
						   .dst = &out,
						   .s0 = in,
						   .s1 = &carry,
						   .axis = in->rank - 1,
						   .excl = rows->op->excl,
						   .rev = rows->op->rev });
	rowspace_transfer(rows->plan, &rows->rs, reg, &out, t, true);
}

static void clear(struct rows *rows, const struct row_tile *t)
{
	struct plan_param zero = plan_param_make(PLAN_FILL);
	struct npu_view carry = row_view(rows, ROW_BEST, t), *list[1] = { &carry };

	views_simplify(list, 1);
	plan_emit(rows->plan,
		  &(struct plan_insn){ .op = ONPU_OP_DMA_FILL, .dst = &carry, .param = &zero });
}

void rows_scan(struct plan *plan, const struct vprog *prog)
{
	struct rows rows = { .plan = plan, .prog = prog, .op = &prog->op[0], .num_rows = 1 };
	uint8_t dtype = prog->reg[rows.op->src[0]].dtype;
	uint64_t slot = 0;

	rows.row_dtype[ROW_BEST] = plan_dtype_is_float(dtype) ? ONPU_DT_F32 : dtype;
	if (!prepare(&rows))
		return;
	for (uint64_t tile = 0; tile < rows.rs.tiles; tile++) {
		for (int64_t c = 0; c < rows.rs.chunks && !plan->report.failed; c++, slot++) {
			struct row_tile t;
			struct npu_view in;

			rowspace_tile(&rows.rs, tile, rows.op->rev ? rows.rs.chunks - 1 - c : c,
				      &t);
			if (!c)
				clear(&rows, &t);
			in = load(&rows, &t, slot);
			scan_chunk(&rows, &t, &in, slot);
		}
	}
}

/* ---- argmin, argmax */

/* Emits an instruction over values of rows (ROW_*); -1: it has no such source. */
static void emit_rows(struct rows *rows, const struct row_tile *t, enum onpu_op op, int dst, int a,
		      int b, int c)
{
	struct npu_view view[4], *list[4];
	const int row[4] = { dst, a, b, c };
	uint32_t count = 0;

	for (; count < 4 && row[count] >= 0; count++) {
		view[count] = row_view(rows, row[count], t);
		list[count] = &view[count];
	}
	views_simplify(list, count);
	plan_emit(rows->plan, &(struct plan_insn){ .op = op,
						   .dst = &view[0],
						   .s0 = &view[1],
						   .s1 = count > 2 ? &view[2] : NULL,
						   .s2 = count > 3 ? &view[3] : NULL });
}

/*
 * Replaces the best element so far, and its index, by the best of a chunk where that beats it. NaN
 * beats all numbers. The first of equal elements, or of several NaNs, wins; with `last`, the last.
 */
static void merge_chunk(struct rows *rows, const struct row_tile *t)
{
	bool max = rows->op->op == ONPU_OP_RARGMAX, last = rows->op->last;
	enum onpu_op beats = max ? (last ? ONPU_OP_VGE : ONPU_OP_VGT) :
				   (last ? ONPU_OP_VLE : ONPU_OP_VLT);

	emit_rows(rows, t, beats, ROW_COND, ROW_CHUNK_BEST, ROW_BEST, -1);
	if (plan_dtype_is_float(rows->row_dtype[ROW_BEST])) {
		emit_rows(rows, t, ONPU_OP_VISNAN, ROW_NAN, ROW_CHUNK_BEST, -1, -1);
		if (!last) {
			emit_rows(rows, t, ONPU_OP_VISNAN, ROW_KEEP, ROW_BEST, -1, -1);
			emit_rows(rows, t, ONPU_OP_VNOT, ROW_KEEP, ROW_KEEP, -1, -1);
			emit_rows(rows, t, ONPU_OP_VAND, ROW_NAN, ROW_NAN, ROW_KEEP, -1);
		}
		emit_rows(rows, t, ONPU_OP_VOR, ROW_COND, ROW_COND, ROW_NAN, -1);
	}
	emit_rows(rows, t, ONPU_OP_VWHERE, ROW_BEST, ROW_COND, ROW_CHUNK_BEST, ROW_BEST);
	emit_rows(rows, t, ONPU_OP_VWHERE, ROW_INDEX, ROW_COND, ROW_CHUNK_INDEX, ROW_INDEX);
}

static void arg_chunk(struct rows *rows, const struct row_tile *t, const struct npu_view *in)
{
	bool max = rows->op->op == ONPU_OP_RARGMAX, first = !t->from;
	struct plan_param base = plan_param_make(PLAN_SCALAR);
	struct npu_view best = row_view(rows, first ? ROW_BEST : ROW_CHUNK_BEST, t);
	struct npu_view index = row_view(rows, first ? ROW_INDEX : ROW_CHUNK_INDEX, t);

	base.scalar.alpha = t->from;
	plan_emit(rows->plan, &(struct plan_insn){ .op = max ? ONPU_OP_RMAX : ONPU_OP_RMIN,
						   .dst = &best,
						   .s0 = in,
						   .axes = 1u << (in->rank - 1) });
	plan_emit(rows->plan, &(struct plan_insn){ .op = rows->op->op,
						   .dst = &index,
						   .s0 = in,
						   .param = &base,
						   .axis = in->rank - 1,
						   .last = rows->op->last });
	if (!first)
		merge_chunk(rows, t);
}

/* Copies the indices of a tile of rows to the output's tile, and stores that. */
static void store_index(struct rows *rows, const struct row_tile *t, uint64_t tile)
{
	const struct vp_reg *reg = &rows->prog->reg[rows->op->dst];
	struct npu_view out = rowspace_view(&rows->rs, reg, rows->out[tile % 2], t), dst = out;
	struct npu_view index = row_view(rows, ROW_INDEX, t), *both[2] = { &dst, &index };

	views_simplify(both, 2);
	plan_emit(rows->plan, &(struct plan_insn){ .op = ONPU_OP_VMOV, .dst = &dst, .s0 = &index });
	rowspace_transfer(rows->plan, &rows->rs, reg, &out, t, true);
}

void rows_arg(struct plan *plan, const struct vprog *prog)
{
	struct rows rows = { .plan = plan, .prog = prog, .op = &prog->op[0], .num_rows = ROW_COUNT };
	uint8_t dtype = prog->reg[rows.op->src[0]].dtype, index = prog->reg[rows.op->dst].dtype;
	struct row_tile t;
	uint64_t slot = 0;

	rows.row_dtype[ROW_BEST] = rows.row_dtype[ROW_CHUNK_BEST] = dtype;
	rows.row_dtype[ROW_INDEX] = rows.row_dtype[ROW_CHUNK_INDEX] = index;
	rows.row_dtype[ROW_COND] = rows.row_dtype[ROW_NAN] = rows.row_dtype[ROW_KEEP] = ONPU_DT_U8;
	if (!prepare(&rows))
		return;
	for (uint64_t tile = 0; tile < rows.rs.tiles; tile++) {
		for (int64_t c = 0; c < rows.rs.chunks && !plan->report.failed; c++, slot++) {
			struct npu_view in;

			rowspace_tile(&rows.rs, tile, c, &t);
			in = load(&rows, &t, slot);
			arg_chunk(&rows, &t, &in);
		}
		store_index(&rows, &t, tile);
	}
}
