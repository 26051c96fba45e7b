// SPDX-License-Identifier: MIT
/*
 * Emits vector programs whose rows do not fit into SRAM, in several passes over the chunks of a
 * row: a reduction that depends on an earlier one needs another pass (softmax: maximum, sum,
 * quotient). Partial results keep the lanes of the machine's reductions, and rows are split at
 * multiples of the number of lanes, so that the bits equal those of the whole row. Values that have
 * an element for each element of a row are not kept from pass to pass: each pass computes again
 * those that it needs.
 */
#include "plan/kernel/rowspace.h"

#include <onpu/slots.h>

struct split {
	struct plan *plan;
	const struct vprog *prog;
	struct rowspace rs;
	int level[VP_MAX_REGS]; /* by register: the number of passes that must end before it */
	int passes;
	uint64_t address[VP_MAX_REGS][2];
	uint64_t lanes[VP_MAX_OPS]; /* by reduction: SRAM address of its partial results */
	bool needed[VP_MAX_OPS];    /* by operation: the current pass emits it for each chunk */
};

static bool in_chunks(const struct split *sp, int reg)
{
	return rowspace_in_chunks(&sp->rs, &sp->prog->reg[reg]);
}

/* Returns the number of bytes of SRAM for the partial results of a reduction. */
static uint64_t lanes_bytes(const struct rowspace *rs, const struct vp_op *op)
{
	struct vp_reg row = rs->prog->reg[op->dst];

	/* Partial results of floats are float32; those of integers have their type. */
	if (plan_dtype_is_float(row.dtype))
		row.dtype = ONPU_DT_F32;
	return rowspace_bytes(rs, &row) * ONPU_REDUCE_LANES;
}

/*
 * Returns the bytes of SRAM of all registers and partial results; with `sp`, assigns addresses and
 * returns the end.
 */
static uint64_t lay_out(const struct rowspace *rs, struct split *sp)
{
	uint64_t at = sp ? sp->plan->sram.base : 0;

	for (uint32_t r = 0; r < rs->prog->num_regs; r++) {
		const struct vp_reg *reg = &rs->prog->reg[r];
		uint64_t bytes = rowspace_bytes(rs, reg);
		uint32_t slots = reg->kind == VP_TEMP ? 1 : 2;

		if (sp) {
			sp->address[r][0] = at;
			sp->address[r][1] = at + bytes * (slots - 1);
		}
		at += bytes * slots;
	}
	for (uint32_t i = 0; i < rs->prog->num_ops; i++) {
		if (!vp_is_reduction(rs->prog->op[i].op))
			continue;
		if (sp)
			sp->lanes[i] = at;
		at += lanes_bytes(rs, &rs->prog->op[i]);
	}
	return at;
}

static uint64_t bytes_of(const struct rowspace *rs, const void *arg)
{
	(void)arg;
	return lay_out(rs, NULL);
}

/* Sets the number of passes that must end before each register, and the number of all passes. */
static void find_levels(struct split *sp)
{
	for (uint32_t i = 0; i < sp->prog->num_ops; i++) {
		const struct vp_op *op = &sp->prog->op[i];
		int level = 0;

		for (int s = 0; s < 3 && op->src[s] >= 0; s++)
			if (sp->level[op->src[s]] > level)
				level = sp->level[op->src[s]];
		sp->level[op->dst] = level + vp_is_reduction(op->op);
		if (sp->level[op->dst] > sp->passes)
			sp->passes = sp->level[op->dst];
	}
}

/*
 * Finds the operations on chunks that a pass needs: its reductions, in the last pass the operations
 * with outputs in chunks, and those that compute operands of these. Returns false if there are
 * none.
 */
static bool find_needed(struct split *sp, int pass)
{
	bool wanted[VP_MAX_REGS] = { false }, any = false;

	for (int i = sp->prog->num_ops - 1; i >= 0; i--) {
		const struct vp_op *op = &sp->prog->op[i];
		bool reduction = vp_is_reduction(op->op);

		sp->needed[i] = reduction ? sp->level[op->src[0]] == pass :
					    in_chunks(sp, op->dst) &&
						    (wanted[op->dst] ||
						     (sp->prog->reg[op->dst].kind == VP_OUTPUT &&
						      pass == sp->passes));
		for (int s = 0; sp->needed[i] && s < 3 && op->src[s] >= 0; s++)
			wanted[op->src[s]] = true;
		any |= sp->needed[i];
	}
	return any;
}

/* Returns true if the current pass reads a register. */
static bool reads(const struct split *sp, int reg)
{
	for (uint32_t i = 0; i < sp->prog->num_ops; i++)
		for (int s = 0; sp->needed[i] && s < 3; s++)
			if (sp->prog->op[i].src[s] == reg)
				return true;
	return false;
}

static struct npu_view tile_of(const struct split *sp, int reg, uint32_t slot,
			       const struct row_tile *t)
{
	return rowspace_view(&sp->rs, &sp->prog->reg[reg], sp->address[reg][slot % 2], t);
}

/*
 * Loads the inputs with an element for each element of a row, as far as the pass reads them; with
 * `chunks` false, all inputs with one element for each row.
 */
static void load(struct split *sp, const struct row_tile *t, bool chunks, uint32_t slot)
{
	for (uint32_t r = 0; r < sp->prog->num_regs; r++) {
		struct npu_view tile;

		if (sp->prog->reg[r].kind != VP_INPUT || in_chunks(sp, r) != chunks ||
		    (chunks && !reads(sp, r)))
			continue;
		tile = tile_of(sp, r, slot, t);
		rowspace_transfer(sp->plan, &sp->rs, &sp->prog->reg[r], &tile, t, false);
	}
}

static uint32_t slot_of(const struct split *sp, int reg, uint64_t tile, uint64_t event)
{
	return in_chunks(sp, reg) ? event : tile;
}

static void emit_elementwise(struct split *sp, const struct vp_op *op, const struct row_tile *t,
			     uint64_t tile, uint64_t event)
{
	struct npu_view view[4], *list[4];
	uint32_t count = 1;

	view[0] = tile_of(sp, op->dst, slot_of(sp, op->dst, tile, event), t);
	list[0] = &view[0];
	for (int s = 0; s < 3 && op->src[s] >= 0; s++, count++) {
		struct npu_view src =
			tile_of(sp, op->src[s], slot_of(sp, op->src[s], tile, event), t);

		view[count] = vp_stretch(&src, view[0].rank, view[0].dim);
		list[count] = &view[count];
	}
	views_simplify(list, count);
	plan_emit(sp->plan, &(struct plan_insn){
				    .op = op->op,
				    .dst = &view[0],
				    .s0 = &view[1],
				    .s1 = count > 2 ? &view[2] : NULL,
				    .s2 = count > 3 ? &view[3] : NULL,
				    .param = op->has_param ? &op->param : NULL,
			    });
}

/* Returns the partial results of a reduction: the dims of its result, then the lanes. */
static struct npu_view lanes_view(const struct split *sp, uint32_t op, const struct row_tile *t)
{
	struct vp_reg row = sp->prog->reg[sp->prog->op[op].dst];
	struct npu_view view;

	if (plan_dtype_is_float(row.dtype))
		row.dtype = ONPU_DT_F32;
	view = rowspace_view(&sp->rs, &row, 0, t);
	for (uint32_t i = 0; i < view.rank; i++)
		view.stride[i] *= ONPU_REDUCE_LANES;
	view.window = sp->lanes[op];
	view.window_bytes *= ONPU_REDUCE_LANES;
	view.dim[view.rank] = ONPU_REDUCE_LANES;
	view.stride[view.rank++] = plan_dtype_bytes(view.dtype);
	return view;
}

/* Emits the reduction of a chunk, which is combined with the results of the chunks before. */
static void accumulate(struct split *sp, uint32_t i, const struct row_tile *t, uint64_t tile,
		       uint64_t event)
{
	const struct vp_op *op = &sp->prog->op[i];
	struct npu_view dst = lanes_view(sp, i, t);
	struct npu_view src = tile_of(sp, op->src[0], slot_of(sp, op->src[0], tile, event), t);

	if (t->from % ONPU_REDUCE_LANES)
		plan_inexact(sp->plan, NPU_SPLIT_REDUCE);
	plan_emit(sp->plan, &(struct plan_insn){ .op = op->op,
						 .dst = &dst,
						 .s0 = &src,
						 .axes = 1u << (src.rank - 1),
						 .part = true,
						 .acc = t->from > 0 });
}

/* Emits the reduction of the partial results to the result. */
static void combine(struct split *sp, uint32_t i, const struct row_tile *t, uint64_t tile)
{
	const struct vp_op *op = &sp->prog->op[i];
	struct npu_view src = lanes_view(sp, i, t), dst = tile_of(sp, op->dst, tile, t);

	plan_emit(sp->plan, &(struct plan_insn){ .op = op->op,
						 .dst = &dst,
						 .s0 = &src,
						 .axes = 1u << (dst.rank - 1),
						 .lanes = true });
}

/*
 * Emits the operations with one result per row that are possible after pass number `pass`; -1:
 * before the first pass.
 */
static void finish_pass(struct split *sp, int pass, const struct row_tile *t, uint64_t tile)
{
	for (uint32_t i = 0; i < sp->prog->num_ops; i++) {
		const struct vp_op *op = &sp->prog->op[i];

		if (in_chunks(sp, op->dst) || sp->level[op->dst] != pass + 1)
			continue;
		if (vp_is_reduction(op->op))
			combine(sp, i, t, tile);
		else
			emit_elementwise(sp, op, t, tile, 0);
	}
}

static void store(struct split *sp, const struct row_tile *t, bool chunks, uint32_t slot)
{
	for (uint32_t r = 0; r < sp->prog->num_regs; r++) {
		struct npu_view tile;

		if (sp->prog->reg[r].kind != VP_OUTPUT || in_chunks(sp, r) != chunks)
			continue;
		tile = tile_of(sp, r, slot, t);
		rowspace_transfer(sp->plan, &sp->rs, &sp->prog->reg[r], &tile, t, true);
	}
}

static void run_chunk(struct split *sp, int pass, const struct row_tile *t, uint64_t tile,
		      uint64_t event)
{
	for (uint32_t i = 0; i < sp->prog->num_ops; i++) {
		if (!sp->needed[i])
			continue;
		if (vp_is_reduction(sp->prog->op[i].op))
			accumulate(sp, i, t, tile, event);
		else
			emit_elementwise(sp, &sp->prog->op[i], t, tile, event);
	}
	if (pass == sp->passes)
		store(sp, t, true, event);
}

static void run_pass(struct split *sp, int pass, uint64_t tile, uint64_t *event)
{
	struct row_tile now, next;

	rowspace_tile(&sp->rs, tile, 0, &now);
	if (find_needed(sp, pass)) {
		load(sp, &now, true, *event);
		for (int64_t c = 0; c < sp->rs.chunks && !sp->plan->report.failed;
		     c++, (*event)++) {
			rowspace_tile(&sp->rs, tile, c, &now);
			if (c + 1 < sp->rs.chunks) {
				rowspace_tile(&sp->rs, tile, c + 1, &next);
				load(sp, &next, true, *event + 1);
			}
			run_chunk(sp, pass, &now, tile, *event);
		}
	}
	finish_pass(sp, pass, &now, tile);
}

void vsplit_emit(struct plan *plan, const struct vprog *prog)
{
	struct split sp = { .plan = plan, .prog = prog };
	uint64_t event = 0;

	rowspace_init(&sp.rs, prog, prog->whole);
	if (!rowspace_choose(&sp.rs, plan, bytes_of, NULL))
		return;
	lay_out(&sp.rs, &sp);
	find_levels(&sp);
	for (uint64_t tile = 0; tile < sp.rs.tiles && !plan->report.failed; tile++) {
		struct row_tile t;

		rowspace_tile(&sp.rs, tile, 0, &t);
		load(&sp, &t, false, tile);
		finish_pass(&sp, -1, &t, tile);
		for (int pass = 0; pass <= sp.passes; pass++)
			run_pass(&sp, pass, tile, &event);
		store(&sp, &t, false, tile);
	}
	plan_tiles(plan, sp.rs.tiles * sp.rs.chunks);
}
