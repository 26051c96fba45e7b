// SPDX-License-Identifier: MIT
/*
 * Lowers data movement: transpose, concat, slice, expand, reverse, tile, pad, and reshapes whose
 * result does not share the operand's memory. The DMA engines copy long runs from memory to memory;
 * short runs go through SRAM, where the vector unit reorders them.
 */
#include "plan/list/cost.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/place/place.h"

#include <string.h>

#define SHORT_RUN  64	      /* bytes; with shorter runs, reordering in SRAM is faster */
#define CHUNK_COST (1u << 16) /* the most cycles of a copy: shorter ones keep both engines busy */

/* Returns the bytes of the contiguous runs of a copy. */
static uint64_t run_bytes(const struct npu_view *dst, const struct npu_view *src)
{
	uint64_t bytes = plan_dtype_bytes(dst->dtype);
	uint32_t last = dst->rank - 1;

	if (dst->dim[last] == 1 || dst->stride[last] != (int64_t)bytes ||
	    src->stride[last] != (int64_t)bytes)
		return bytes;
	return bytes * dst->dim[last];
}

static struct npu_view half_of(const struct npu_view *view, uint32_t axis, bool second)
{
	int64_t begin[IR_MAX_RANK] = { 0 }, dim[IR_MAX_RANK];

	memcpy(dim, view->dim, sizeof(dim));
	dim[axis] = view->dim[axis] / 2;
	if (second) {
		begin[axis] = dim[axis];
		dim[axis] = view->dim[axis] - dim[axis];
	}
	return view_slice(view, begin, dim);
}

/*
 * Returns the outermost dim whose extent is above 1, along which a view can be halved; the last dim
 * when no extent is above 1.
 */
static uint32_t cut_axis(const struct npu_view *view)
{
	uint32_t axis = 0;

	while (axis + 1 < view->rank && view->dim[axis] == 1)
		axis++;
	return axis;
}

/* Emits copies by both DMA engines in alternation; halves a copy until it is short enough. */
static void copy_direct(struct plan *plan, const struct npu_view *dst, const struct npu_view *src,
			bool *on_st)
{
	uint32_t axis = cut_axis(dst);

	if (plan_cost_dma(plan->caps, dst, src) <= CHUNK_COST || dst->dim[axis] == 1) {
		plan_emit(plan,
			  &(struct plan_insn){
				  .op = ONPU_OP_DMA_COPY, .on_st = *on_st, .dst = dst, .s0 = src });
		plan_tiles(plan, 1);
		*on_st = !*on_st;
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct npu_view d = half_of(dst, axis, i), s = half_of(src, axis, i);

		copy_direct(plan, &d, &s, on_st);
	}
}

static void copy_through_sram(struct plan *plan, const struct npu_view *dst,
			      const struct npu_view *src)
{
	struct vprog prog;
	int in, out;

	vp_begin(&prog, "vector move", dst->rank, dst->dim);
	in = vp_input(&prog, src);
	out = vp_output(&prog, dst);
	vp_add(&prog, ONPU_OP_VMOV, out, in, -1, -1);
	vp_emit(plan, &prog);
}

void plan_move(struct plan *plan, struct npu_view dst, struct npu_view src)
{
	struct npu_view *both[2] = { &dst, &src };
	bool on_st = false;

	if (!dst.rank) {
		dst.rank = src.rank = 1;
		dst.dim[0] = src.dim[0] = 1;
	}
	views_simplify(both, 2);
	/* The device refuses a DMA copy between interleaved slices of one buffer as overlapping. */
	if ((run_bytes(&dst, &src) < SHORT_RUN && view_elements(&dst) > 64) ||
	    views_overlap(&dst, &src)) {
		copy_through_sram(plan, &dst, &src);
		return;
	}
	plan_kernel(plan, "dma copy");
	copy_direct(plan, &dst, &src, &on_st);
}

/* ---- operators */

static void lower_concat(struct plan *plan, const struct ir_node *node)
{
	struct npu_view result = values_view(plan, node->results[0]);
	int64_t begin[IR_MAX_RANK] = { 0 };

	for (uint32_t i = 0; i < node->num_operands; i++) {
		struct npu_view src = values_view(plan, node->operands[i]);

		if (!values_shared(plan, node->operands[i], node->results[0]))
			plan_move(plan, view_slice(&result, begin, src.dim), src);
		begin[node->attrs.axis] += src.dim[node->attrs.axis];
	}
}

/*
 * Emits the copy of a reshape. Elements keep their order, so that the dense view, of result or
 * operand, gets the shape of the other view.
 */
static void lower_reshape(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			src = values_view(plan, node->operands[0]);
	struct npu_view *dense = view_is_dense(&dst) ? &dst : &src,
			*shape = dense == &dst ? &src : &dst;
	int64_t stride = plan_dtype_bytes(dst.dtype);

	dense->rank = shape->rank;
	for (uint32_t i = shape->rank; i-- > 0;) {
		dense->dim[i] = shape->dim[i];
		dense->stride[i] = stride;
		stride *= shape->dim[i];
	}
	plan_move(plan, dst, src);
}

static void lower_transpose(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			from = values_view(plan, node->operands[0]);
	struct npu_view src = from;

	for (uint32_t i = 0; i < dst.rank; i++) {
		src.dim[i] = from.dim[node->attrs.transpose.perm[i]];
		src.stride[i] = from.stride[node->attrs.transpose.perm[i]];
	}
	plan_move(plan, dst, src);
}

static void lower_slice(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			src = values_view(plan, node->operands[0]);

	for (uint32_t i = 0; i < dst.rank; i++) {
		src.offset += node->attrs.slice.starts[i] * src.stride[i];
		src.stride[i] *= node->attrs.slice.strides[i];
		src.dim[i] = dst.dim[i];
	}
	plan_move(plan, dst, src);
}

static void lower_expand(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			from = values_view(plan, node->operands[0]);
	struct npu_view src = from;
	uint32_t lead = dst.rank - from.rank;

	src.rank = dst.rank;
	for (uint32_t i = 0; i < dst.rank; i++) {
		src.dim[i] = dst.dim[i];
		src.stride[i] = i < lead || from.dim[i - lead] == 1 ? 0 : from.stride[i - lead];
	}
	plan_move(plan, dst, src);
}

static void lower_reverse(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			src = values_view(plan, node->operands[0]);

	for (uint32_t i = 0; i < src.rank; i++) {
		if (!(node->attrs.axes >> i & 1))
			continue;
		src.offset += (src.dim[i] - 1) * src.stride[i];
		src.stride[i] = -src.stride[i];
	}
	plan_move(plan, dst, src);
}

/*
 * Emits a tile operator as a copy. A repetition is a dim with stride 0 in the source; dims beyond
 * the rank of a view become a loop of copies.
 */
static void lower_tile(struct plan *plan, const struct ir_node *node)
{
	struct npu_view to = values_view(plan, node->results[0]),
			from = values_view(plan, node->operands[0]);
	int64_t dim[2 * IR_MAX_RANK], ds[2 * IR_MAX_RANK], ss[2 * IR_MAX_RANK], loops = 1;
	struct npu_view dst = to, src = from;
	uint32_t count = 0, outer;

	for (uint32_t i = 0; i < to.rank; i++) {
		int64_t repeat = to.dim[i] / from.dim[i];

		if (repeat > 1) {
			dim[count] = repeat;
			ds[count] = to.stride[i] * from.dim[i];
			ss[count++] = 0;
		}
		if (from.dim[i] > 1) {
			dim[count] = from.dim[i];
			ds[count] = to.stride[i];
			ss[count++] = from.stride[i];
		}
	}
	if (!count) {
		dim[0] = 1;
		ds[0] = ss[0] = 0;
		count = 1;
	}
	outer = count > IR_MAX_RANK ? count - IR_MAX_RANK : 0;
	dst.rank = src.rank = count - outer;
	for (uint32_t i = outer; i < count; i++) {
		dst.dim[i - outer] = src.dim[i - outer] = dim[i];
		dst.stride[i - outer] = ds[i];
		src.stride[i - outer] = ss[i];
	}
	for (uint32_t i = 0; i < outer; i++)
		loops *= dim[i];
	for (int64_t n = 0; n < loops; n++) {
		struct npu_view d = dst, s = src;
		int64_t rest = n;

		for (uint32_t i = outer; i-- > 0; rest /= dim[i]) {
			d.offset += rest % dim[i] * ds[i];
			s.offset += rest % dim[i] * ss[i];
		}
		plan_move(plan, d, s);
	}
}

/* ---- padding */

struct padding {
	struct plan *plan;
	enum ir_pad_mode mode;
	uint64_t value;
};

/* Fills a view with the padding value; halves the view until no instruction takes too long. */
static void fill(const struct padding *p, const struct npu_view *dst)
{
	struct plan_param param = plan_param_make(PLAN_FILL);
	uint32_t axis = cut_axis(dst);

	if (plan_cost_dma(p->plan->caps, dst, NULL) > CHUNK_COST && dst->dim[axis] > 1) {
		for (int i = 0; i < 2; i++) {
			struct npu_view half = half_of(dst, axis, i);

			fill(p, &half);
		}
		return;
	}
	param.fill.value = p->value;
	plan_emit(p->plan,
		  &(struct plan_insn){
			  .op = ONPU_OP_DMA_FILL, .on_st = true, .dst = dst, .param = &param });
}

/* Returns the row of the source that row `at` of the border repeats. */
static int64_t border_row(enum ir_pad_mode mode, int64_t at, int64_t extent)
{
	switch (mode) {
	case IR_PAD_EDGE:
		return at < 0 ? 0 : extent - 1;
	case IR_PAD_REFLECTION:
		return at < 0 ? -at : 2 * (extent - 1) - at;
	default:
		return at < 0 ? -at - 1 : 2 * extent - 1 - at;
	}
}

static struct npu_view rows(const struct npu_view *view, uint32_t axis, int64_t begin,
			    int64_t count)
{
	int64_t at[IR_MAX_RANK] = { 0 }, dim[IR_MAX_RANK];

	memcpy(dim, view->dim, sizeof(dim));
	at[axis] = begin;
	dim[axis] = count;
	return view_slice(view, at, dim);
}

static void pad(const struct padding *p, const struct npu_view *dst, const struct npu_view *src,
		uint32_t axis, const uint32_t *lo);

/*
 * Pads a view that takes too long for one instruction: along a dim, the rows with data in two
 * halves, and each row of the border by itself.
 */
static void pad_rows(const struct padding *p, const struct npu_view *dst,
		     const struct npu_view *src, uint32_t axis, const uint32_t *lo)
{
	int64_t extent = src->dim[axis], half = extent / 2;
	uint32_t inner[IR_MAX_RANK];

	memcpy(inner, lo, sizeof(inner));
	inner[axis] = 0;
	for (int64_t i = 0; i < dst->dim[axis]; i++) {
		int64_t at = i - (int64_t)lo[axis];
		struct npu_view d = rows(dst, axis, i, 1), s;

		if (at >= 0 && at < extent)
			continue;
		if (p->mode == IR_PAD_CONSTANT) {
			fill(p, &d);
			continue;
		}
		s = rows(src, axis, border_row(p->mode, at, extent), 1);
		pad(p, &d, &s, axis + 1, inner);
	}
	for (int i = 0; i < 2; i++) {
		int64_t begin = i ? half : 0, count = i ? extent - half : half;
		struct npu_view d, s;

		if (!count)
			continue;
		d = rows(dst, axis, lo[axis] + begin, count);
		s = rows(src, axis, begin, count);
		pad(p, &d, &s, count > 1 ? axis : axis + 1, inner);
	}
}

static void pad(const struct padding *p, const struct npu_view *dst, const struct npu_view *src,
		uint32_t axis, const uint32_t *lo)
{
	struct plan_param param = plan_param_make(PLAN_PAD);

	if (axis < dst->rank && plan_cost_dma(p->plan->caps, dst, NULL) > CHUNK_COST) {
		pad_rows(p, dst, src, axis, lo);
		return;
	}
	param.pad.mode = p->mode;
	param.pad.value = p->value;
	memcpy(param.pad.lo, lo, sizeof(param.pad.lo));
	plan_emit(p->plan, &(struct plan_insn){ .op = ONPU_OP_DMA_PAD,
						.on_st = false,
						.dst = dst,
						.s0 = src,
						.param = &param });
	plan_tiles(p->plan, 1);
}

static void lower_pad(struct plan *plan, const struct ir_node *node)
{
	struct npu_view dst = values_view(plan, node->results[0]),
			src = values_view(plan, node->operands[0]);
	struct padding p = { .plan = plan, .mode = node->attrs.pad.mode };
	uint32_t lo[IR_MAX_RANK] = { 0 };

	if (p.mode == IR_PAD_CONSTANT)
		p.value = node->attrs.pad.value;
	if (!dst.rank) {
		dst.rank = src.rank = 1;
		dst.dim[0] = src.dim[0] = 1;
	}
	for (uint32_t i = 0; i < node->results[0]->type.rank; i++)
		lo[i] = node->attrs.pad.begin[i];
	plan_kernel(plan, "dma pad");
	pad(&p, &dst, &src, 0, lo);
}

void lower_move(struct plan *plan, const struct ir_node *node)
{
	static void (*const lower[IR_OP_COUNT])(struct plan *, const struct ir_node *) = {
		[IR_OP_CONCAT] = lower_concat,	 [IR_OP_RESHAPE] = lower_reshape,
		[IR_OP_COPY] = lower_reshape,	 [IR_OP_TRANSPOSE] = lower_transpose,
		[IR_OP_SLICE] = lower_slice,	 [IR_OP_EXPAND] = lower_expand,
		[IR_OP_REVERSE] = lower_reverse, [IR_OP_TILE] = lower_tile,
		[IR_OP_PAD] = lower_pad,
	};

	plan_kernel(plan, NULL); /* a node that moves nothing has no kernel */
	if (values_in_slices(plan, node->results[0]) ||
	    (node->op != IR_OP_CONCAT && values_shared(plan, node->operands[0], node->results[0])))
		return;
	lower[node->op](plan, node);
}
