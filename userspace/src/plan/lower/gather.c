// SPDX-License-Identifier: MIT
/*
 * Lowers gather and scatter, which the DMA engines do from memory to memory; they clamp indices and
 * count negative ones from the end. A transfer that is too long for one instruction is divided
 * along the dims of the gather's result or the scatter's updates, the outermost dim first, so that
 * updates keep their order.
 */
#include "plan/list/cost.h"
#include "plan/list/plan.h"
#include "plan/lower/lower.h"
#include "plan/place/place.h"

#include <string.h>

/* The most cycles of an instruction: shorter ones keep both DMA engines busy. */
#define CHUNK_COST (1u << 16)

/*
 * The mapping of dims between the operands: `part` is the result of a gather, or the updates of a
 * scatter; `full` is the tensor that the indices point into. Each dim of `part` is a dim of `full`,
 * a dim of `index`, or, for element-wise gathers, a dim of both.
 */
struct indexed {
	struct plan *plan;
	enum onpu_op op;
	uint8_t axis;
	bool scatter;
	bool staged; /* operands overlap in memory: `part` and a scatter's index go through SRAM */
	bool on_st;
	int8_t full_dim[IR_MAX_RANK], index_dim[IR_MAX_RANK]; /* by dim of part; -1: none */
};

/* The views of an instruction, or of the whole transfer. */
struct slices {
	struct npu_view part, full, index;
};

static void map_dims(struct indexed *x, const struct ir_node *node, const struct slices *all)
{
	int8_t axis = (int8_t)x->axis, index_rank = (int8_t)all->index.rank;
	int8_t lead = index_rank - 1;
	int8_t rest = x->op == ONPU_OP_DMA_GATHER_ND || x->op == ONPU_OP_DMA_SCATTER_ND ?
			      (int8_t)all->index.dim[lead] - lead :
			      0;

	for (int8_t d = 0; d < (int8_t)all->part.rank; d++) {
		x->full_dim[d] = x->index_dim[d] = d;
		switch (node->attrs.gather.kind) {
		case IR_GATHER_AXIS:
			if (d < axis || d >= axis + index_rank) {
				x->index_dim[d] = -1;
				x->full_dim[d] = d < axis ? d : d - index_rank + 1;
			} else {
				x->index_dim[d] = d - axis;
				x->full_dim[d] = -1;
			}
			break;
		case IR_GATHER_ELEMENTS:
			x->full_dim[d] = d == axis ? -1 : d;
			break;
		case IR_GATHER_ND:
			x->index_dim[d] = d < lead ? d : -1;
			x->full_dim[d] = d < lead ? -1 : d + rest;
			break;
		}
	}
}

/* ---- one instruction */

static struct plan_insn make_insn(const struct indexed *x, const struct slices *p,
				  const struct plan_param *param)
{
	return (struct plan_insn){
		.op = x->op,
		.on_st = x->on_st,
		.param = param,
		.s1 = &p->index,
		.dst = x->scatter ? &p->full : &p->part,
		.s0 = x->scatter ? &p->part : &p->full,
		.neg = true,
		.clamp = true,
	};
}

static struct plan_param make_param(const struct indexed *x)
{
	struct plan_param param = plan_param_make(PLAN_INDEX);

	param.index.axis = x->axis;
	return param;
}

static uint64_t tile_bytes(const struct npu_view *view)
{
	return plan_align(view_elements(view) * plan_dtype_bytes(view->dtype));
}

/* Returns the bytes of SRAM that a transfer through SRAM needs. */
static uint64_t staged_bytes(const struct indexed *x, const struct slices *p)
{
	return tile_bytes(&p->part) + (x->scatter ? tile_bytes(&p->index) : 0);
}

static struct npu_view tile_of(const struct npu_view *view, uint64_t address)
{
	return view_sram((uint32_t)address, view->dtype, view->rank, view->dim, view->stride);
}

static void emit_staged(struct indexed *x, const struct slices *p)
{
	uint64_t address = plan_take_sram(x->plan, staged_bytes(x, p));
	struct plan_param param = make_param(x);
	struct slices tile = *p;
	struct plan_insn insn;

	tile.part = tile_of(&p->part, address);
	if (x->scatter) {
		tile.index = tile_of(&p->index, address + tile_bytes(&p->part));
		plan_transfer(x->plan, tile.part, p->part, false);
		plan_transfer(x->plan, tile.index, p->index, false);
	}
	insn = make_insn(x, &tile, &param);
	plan_emit(x->plan, &insn);
	if (!x->scatter)
		plan_transfer(x->plan, p->part, tile.part, true);
}

static void emit(struct indexed *x, const struct slices *p)
{
	struct plan_param param = make_param(x);
	struct plan_insn insn = make_insn(x, p, &param);

	plan_tiles(x->plan, 1);
	if (x->staged) {
		emit_staged(x, p);
		return;
	}
	plan_emit(x->plan, &insn);
	x->on_st ^= !x->scatter; /* scatters stay on one engine: updates must keep their order */
}

/* ---- several instructions */

/* Returns the first or second half of a view along a dim; with dim -1, the whole view. */
static struct npu_view half_of(const struct npu_view *view, int dim, bool second)
{
	int64_t begin[IR_MAX_RANK] = { 0 }, size[IR_MAX_RANK];

	if (dim < 0)
		return *view;
	memcpy(size, view->dim, sizeof(size));
	size[dim] /= 2;
	if (second) {
		begin[dim] = size[dim];
		size[dim] = view->dim[dim] - size[dim];
	}
	return view_slice(view, begin, size);
}

/* Returns true if one instruction can do the transfer. */
static bool fits(const struct indexed *x, const struct slices *p)
{
	struct plan_param param = make_param(x);
	struct plan_insn insn = make_insn(x, p, &param);
	uint64_t most = plan_sram(x->plan) / 2;

	return plan_cost_insn(x->plan->caps, &insn) <= CHUNK_COST &&
	       (!x->staged || (staged_bytes(x, p) <= most &&
			       plan_cost_dma(x->plan->caps, &p->part, NULL) <= CHUNK_COST));
}

static void emit_all(struct indexed *x, const struct slices *p)
{
	uint32_t d = 0;

	while (d < p->part.rank && p->part.dim[d] == 1)
		d++;
	if (d == p->part.rank || fits(x, p)) {
		emit(x, p);
		return;
	}
	for (int i = 0; i < 2 && !x->plan->report.failed; i++) {
		struct slices half = { half_of(&p->part, (int)d, i),
				       half_of(&p->full, x->full_dim[d], i),
				       half_of(&p->index, x->index_dim[d], i) };

		emit_all(x, &half);
	}
}

static void lower_indexed(struct plan *plan, const struct ir_node *node, bool scatter,
			  const struct slices *all)
{
	static const enum onpu_op gathers[] = {
		[IR_GATHER_AXIS] = ONPU_OP_DMA_GATHER_AXIS,
		[IR_GATHER_ELEMENTS] = ONPU_OP_DMA_GATHER_ELEM,
		[IR_GATHER_ND] = ONPU_OP_DMA_GATHER_ND,
	};
	static const enum onpu_op scatters[] = {
		[IR_GATHER_ELEMENTS] = ONPU_OP_DMA_SCATTER_ELEM,
		[IR_GATHER_ND] = ONPU_OP_DMA_SCATTER_ND,
	};
	bool nd = node->attrs.gather.kind == IR_GATHER_ND;
	struct indexed x = {
		.plan = plan,
		.scatter = scatter,
		.on_st = scatter,
		.op = (scatter ? scatters : gathers)[node->attrs.gather.kind],
		.axis = nd ? 0 : (uint8_t)node->attrs.gather.axis,
	};
	const struct npu_view *dst = scatter ? &all->full : &all->part;
	const struct npu_view *src = scatter ? &all->part : &all->full;

	x.staged = views_overlap(dst, src) || views_overlap(dst, &all->index);
	map_dims(&x, node, all);
	plan_kernel(plan, node->attrs.gather.in_place ? "dma scatter in place" :
			  scatter		      ? "dma scatter" :
							"dma gather");
	emit_all(&x, all);
}

void lower_gather(struct plan *plan, const struct ir_node *node)
{
	struct slices all = {
		.part = values_view(plan, node->results[0]),
		.full = values_view(plan, node->operands[0]),
		.index = values_view(plan, node->operands[1]),
	};

	lower_indexed(plan, node, false, &all);
}

void lower_scatter(struct plan *plan, const struct ir_node *node)
{
	struct npu_view input = values_view(plan, node->operands[0]);
	struct slices all = {
		.part = values_view(plan, node->operands[2]),
		.full = values_view(plan, node->results[0]),
		.index = values_view(plan, node->operands[1]),
	};

	if (!node->attrs.gather.in_place)
		plan_move(plan, all.full, input);
	lower_indexed(plan, node, true, &all);
}
