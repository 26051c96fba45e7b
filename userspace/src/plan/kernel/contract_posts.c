// SPDX-License-Identifier: MIT
/*
 * Emits the prologue of a contraction's tiles, which writes the bias that sums begin with, and the
 * epilogue: bias, scales, activation, addition of another operand, rounding.
 */
#include "plan/kernel/contract_event.h"
#include "plan/kernel/vprog.h"

#include <string.h>

void contract_add_function(struct contract *c, const struct ir_unary_attrs *unary)
{
	struct unary_step steps[UNARY_MAX_STEPS];
	uint32_t count;

	if (unary->kind == IR_UNARY_NONE)
		return;
	count = unary_steps(unary, ONPU_DT_F32, steps);
	for (uint32_t i = 0; i < count; i++)
		c->post[c->num_posts++] = (struct contract_post){
			.op = steps[i].op,
			.has_param = steps[i].has_param,
			.param = steps[i].param,
			.extra = -1,
			.to_spare = i + 1 < count,
			.from_spare = i > 0,
			.by_sums = steps[i].by_operand,
		};
}

/* Returns the slice of a further operand that a tile needs; sets dim[] to its extents. */
static struct npu_view extra_slice(const struct contract_extra *extra,
				   const struct contract_event *e, int64_t *dim)
{
	int64_t begin[CD_RANK];

	for (int i = 0; i < CD_RANK; i++) {
		bool varies = extra->mem.dim[i] > 1;

		begin[i] = varies ? e->begin[i] : 0;
		dim[i] = varies ? e->dim[i] : 1;
	}
	return view_slice(&extra->mem, begin, dim);
}

/* Returns a number that tells the slices of a further operand apart, for its pool. */
static int64_t extra_key(const struct contract_extra *extra, const struct contract_event *e)
{
	int64_t key = 0;

	for (int i = 0; i < CD_RANK; i++)
		if (extra->mem.dim[i] > 1)
			key = key * extra->mem.dim[i] + e->begin[i];
	return key;
}

void contract_load_extra(struct contract_state *st, struct contract_event *e, uint32_t i)
{
	const struct contract_extra *extra = &st->c->extra[i];
	struct npu_view src, dst;
	int64_t dim[CD_RANK];
	bool hit;

	if (extra->here)
		return;
	e->extra[i] = pool_get(&st->extra[i], extra_key(extra, e), &hit);
	if (hit)
		return;
	src = extra_slice(extra, e, dim);
	dst = view_sram(e->extra[i], src.dtype, CD_RANK, dim, extra->mem.stride);
	plan_transfer(st->plan, dst, src, false);
}

/* Returns the view broadcast to `dim`. */
static struct npu_view spread(const struct npu_view *view, const int64_t *dim)
{
	struct npu_view out = *view;

	for (int i = 0; i < CD_RANK; i++) {
		if (view->dim[i] == 1)
			out.stride[i] = 0;
		out.dim[i] = dim[i];
	}
	return out;
}

/* Returns the slice of further operand `i` in SRAM, neither scaled nor dequantised. */
static struct npu_view plain_operand(const struct contract_state *st,
				     const struct contract_event *e, int i, int64_t *dim)
{
	const struct contract_extra *extra = &st->c->extra[i];
	struct npu_view view = extra_slice(extra, e, dim);

	if (extra->here)
		return view;
	return view_sram(e->extra[i], extra->mem.dtype, CD_RANK, dim, extra->mem.stride);
}

static void dequantize_operand(struct contract_state *st, const struct contract_event *e,
			       const struct contract_extra *extra, const struct npu_view *to,
			       const struct npu_view *from)
{
	struct npu_view dst = *to, src = *from, scale, zero;
	struct npu_view *all[4] = { &dst, &src, &scale, &zero };
	int64_t dim[CD_RANK];

	scale = plain_operand(st, e, extra->real_scale - 1, dim);
	scale = spread(&scale, dst.dim);
	zero = plain_operand(st, e, extra->real_zero - 1, dim);
	zero = spread(&zero, dst.dim);
	views_simplify(all, 4);
	plan_emit(st->plan, &(struct plan_insn){ .op = ONPU_OP_DEQUANT,
						 .dst = &dst,
						 .s0 = &src,
						 .s1 = &scale,
						 .s2 = &zero });
}

/*
 * Returns the slice of further operand `i` in SRAM, broadcast to the tile. Emits the instruction
 * that dequantises it, or that multiplies it by its factor, if it has one.
 */
static struct npu_view extra_operand(struct contract_state *st, const struct contract_event *e,
				     uint32_t i)
{
	const struct contract_extra *extra = &st->c->extra[i];
	struct plan_param param = plan_param_make(PLAN_SCALAR);
	struct npu_view view, scaled;
	int64_t dim[CD_RANK];

	view = plain_operand(st, e, (int)i, dim);
	if (extra->scale == 1 && !extra->real_scale)
		return spread(&view, e->dim);
	scaled = view_sram(st->scaled[i], ONPU_DT_F32, CD_RANK, dim, extra->mem.stride);
	if (extra->real_scale) {
		dequantize_operand(st, e, extra, &scaled, &view);
		return spread(&scaled, e->dim);
	}
	memcpy(&param.scalar.alpha, &extra->scale, sizeof(extra->scale));
	plan_emit(st->plan,
		  &(struct plan_insn){
			  .op = ONPU_OP_VLINEAR, .dst = &scaled, .s0 = &view, .param = &param });
	return spread(&scaled, e->dim);
}

/*
 * Writes the bias as a matrix product: a column of ones (positions x 1) times the row of biases
 * (1 x channels).
 */
void contract_begin(struct contract_state *st, const struct contract_event *e,
		    const struct npu_view *acc)
{
	struct npu_view d = *acc, one, bias, *all[1] = { &d };
	int64_t channels = e->dim[CD_G], stride = d.stride[CD_G], between, dim[CD_RANK];

	bias = plain_operand(st, e, st->c->begin - 1, dim);
	one = plain_operand(st, e, st->c->begin_one - 1, dim);
	d.dim[CD_G] = 1;
	views_simplify(all, 1);
	one.rank = bias.rank = d.rank;
	memcpy(one.dim, d.dim, sizeof(one.dim));
	memcpy(bias.dim, d.dim, sizeof(bias.dim));
	memset(one.stride, 0, sizeof(one.stride));
	between = bias.stride[CD_G];
	memset(bias.stride, 0, sizeof(bias.stride));
	view_append(&d, channels, stride);
	view_append(&one, 1, 0);
	view_append(&bias, 1, 0);
	view_append(&bias, channels, between);
	plan_emit(st->plan,
		  &(struct plan_insn){ .op = ONPU_OP_MMA_F32, .dst = &d, .s0 = &one, .s1 = &bias });
}

/*
 * Emits bias, activation and the rounding to the result's type. Instructions overwrite the sums,
 * and the last one writes to `out`. Numbers that are rounded before an addition are in the bytes of
 * `out` until they are dequantised.
 */
void contract_posts(struct contract_state *st, const struct contract_event *e, struct npu_view acc,
		    struct npu_view out)
{
	const struct contract *c = st->c;
	struct npu_view round = out, spare = acc;
	bool rounded = false;

	if (c->again)
		round.dtype = c->rounded_dtype;
	if (st->t->spare_bytes)
		spare = view_sram(st->spare, ONPU_DT_F32, CD_RANK, e->dim, c->out.stride);
	for (uint32_t i = 0; i < c->num_posts; i++) {
		const struct contract_post *post = &c->post[i];
		struct npu_view src = rounded ? round : acc, dst = src, second = acc, third;
		struct npu_view *all[4] = { &dst, &src, &second, &third };
		uint32_t operands = 2;

		/* Converts sums that are whole numbers to integers in place. */
		if (post->op == ONPU_OP_CVT)
			dst.dtype = acc.dtype = ONPU_DT_I32;
		if (post->op == ONPU_OP_REQUANT) {
			dst = round;
			rounded = true;
		}
		/* The dequantised numbers overwrite the sums that they were rounded from. */
		if (post->op == ONPU_OP_DEQUANT) {
			acc.dtype = ONPU_DT_F32;
			dst = acc;
			rounded = false;
		}
		if (post->from_spare)
			src = spare;
		if (post->to_spare)
			dst = spare;
		if (i + 1 == c->num_posts)
			dst = out;
		if (post->by_sums)
			operands = 3;
		if (post->extra >= 0) {
			second = extra_operand(st, e, post->extra);
			operands = 3;
		}
		if (post->third) {
			third = extra_operand(st, e, post->third - 1);
			operands = 4;
		}
		views_simplify(all, operands);
		plan_emit(st->plan, &(struct plan_insn){
					    .op = post->op,
					    .dst = &dst,
					    .s0 = &src,
					    .s1 = operands > 2 ? &second : NULL,
					    .s2 = operands > 3 ? &third : NULL,
					    .param = post->has_param ? &post->param : NULL,
				    });
	}
	if (!c->num_posts && !st->t->direct) {
		struct npu_view *all[2] = { &out, &acc };

		views_simplify(all, 2);
		plan_emit(st->plan,
			  &(struct plan_insn){ .op = ONPU_OP_VMOV, .dst = &out, .s0 = &acc });
	}
}
