// SPDX-License-Identifier: MIT
/*
 * The cost model of the machine, as the instruction set defines it: computes the cycles of an
 * instruction from its views.
 */
#include "plan/list/cost.h"
#include "plan/list/plan.h"

/*
 * Tiles for a form of the matrix array other than the first must save more than 1/FORM_MARGIN of
 * the cycles. Such tiles are small or narrow, and the estimate of a tile leaves out what that costs
 * elsewhere in the plan.
 */
#define FORM_MARGIN 32

uint64_t plan_cost_dma(const struct npu_caps *caps, const struct npu_view *dst,
		       const struct npu_view *src)
{
	struct npu_view d = *dst, s = src ? *src : *dst;
	struct npu_view *both[2] = { &d, &s };
	uint64_t bytes = plan_dtype_bytes(d.dtype), run = bytes, runs = 1;
	uint32_t rank;

	views_merge(both, 2);
	rank = d.rank;
	if (rank && (d.dim[rank - 1] == 1 || (d.stride[rank - 1] == (int64_t)bytes &&
					      s.stride[rank - 1] == (int64_t)bytes))) {
		run *= d.dim[rank - 1];
		rank--;
	}
	for (uint32_t i = 0; i < rank; i++)
		runs *= d.dim[i];
	return ONPU_CYCLES_DMA + runs * wnn_div_up(run, caps->dma_bytes_per_cycle);
}

uint64_t plan_cost_copy(const struct npu_caps *caps, struct npu_view dst, struct npu_view src)
{
	struct npu_view *both[2] = { &dst, &src };

	views_simplify(both, 2);
	return plan_cost_dma(caps, &dst, &src);
}

/* Returns the cycles of matrix products in one form of the array. */
static uint64_t form_cost(uint64_t blocks, uint64_t depth, uint64_t rows, uint64_t cols)
{
	return ONPU_CYCLES_MMA + rows + cols + blocks * depth;
}

/*
 * Returns the cycles that the matrix array takes for each term of its sums, for elements of a type.
 */
static unsigned int mma_factor(const struct npu_caps *caps, uint8_t dtype)
{
	return npu_factor(caps, dtype == ONPU_DT_F32  ? ONPU_OP_MMA_F32 :
				dtype == ONPU_DT_F16  ? ONPU_OP_MMA_F16 :
				dtype == ONPU_DT_BF16 ? ONPU_OP_MMA_BF16 :
							ONPU_OP_MMA_I8);
}

/* The cycles of matrix products in the first form of the array, and in the best one. */
struct mma_cycles {
	uint64_t first, best;
};

static struct mma_cycles mma_cycles(const struct npu_caps *caps, uint64_t batch, uint64_t m,
				    uint64_t n, uint64_t k_taps, uint8_t dtype)
{
	uint64_t depth = k_taps * mma_factor(caps, dtype);
	int forms = (int)npu_mxu_forms(caps);
	struct mma_cycles cycles = { 0, UINT64_MAX };

	if (depth < caps->mxu_rows)
		depth = caps->mxu_rows;
	/* The machine takes the cheapest form; form i has 2^i times the rows of the first one. */
	for (int i = -forms; i <= forms; i++) {
		uint32_t times = 1u << (i < 0 ? -i : i);
		uint64_t rows = i < 0 ? caps->mxu_rows / times : caps->mxu_rows * times;
		uint64_t cols = i < 0 ? caps->mxu_cols * times : caps->mxu_cols / times;
		uint64_t cost;

		if ((i < 0 ? caps->mxu_rows : caps->mxu_cols) % times)
			continue;
		cost = form_cost(batch * wnn_div_up(m, rows) * wnn_div_up(n, cols), depth, rows,
				 cols);
		cycles.best = cost < cycles.best ? cost : cycles.best;
		cycles.first = i ? cycles.first : cost;
	}
	return cycles;
}

uint64_t plan_cost_mma(const struct npu_caps *caps, uint64_t batch, uint64_t m, uint64_t n,
		       uint64_t k_taps, uint8_t dtype)
{
	return mma_cycles(caps, batch, m, n, k_taps, dtype).best;
}

uint64_t plan_weigh_mma(const struct plan *plan, uint64_t batch, uint64_t m, uint64_t n,
			uint64_t k_taps, uint8_t dtype)
{
	struct mma_cycles cycles = mma_cycles(plan->caps, batch, m, n, k_taps, dtype);
	uint64_t best = cycles.best + cycles.best / FORM_MARGIN;

	return best < cycles.first && !plan->first_form ? best : cycles.first;
}

/*
 * Returns the cycles of the runs of one slice, without the fixed cycles of an instruction; a slice
 * is the last `rank` dims of both views.
 */
static uint64_t slice_cost(const struct npu_caps *caps, const struct npu_view *dst,
			   const struct npu_view *src, uint32_t rank)
{
	struct npu_view d = *dst, s = *src;

	if (!rank)
		return 1;
	d.rank = s.rank = rank;
	for (uint32_t i = 0; i < rank; i++) {
		d.dim[i] = s.dim[i] = dst->dim[dst->rank - rank + i];
		d.stride[i] = dst->stride[dst->rank - rank + i];
		s.stride[i] = src->stride[src->rank - rank + i];
	}
	return plan_cost_dma(caps, &d, &s) - ONPU_CYCLES_DMA;
}

static uint64_t gather_insn(const struct npu_caps *caps, const struct plan_insn *insn)
{
	const struct npu_view *index = insn->s1, *full = insn->s0;
	uint64_t slices = view_elements(index), rank = 0, bytes;

	bytes = slices * plan_dtype_bytes(index->dtype);
	if (insn->op == ONPU_OP_DMA_GATHER_AXIS) {
		rank = full->rank - insn->param->index.axis - 1;
		for (uint32_t i = 0; i < insn->param->index.axis; i++)
			slices *= full->dim[i];
	} else if (insn->op == ONPU_OP_DMA_GATHER_ND || insn->op == ONPU_OP_DMA_SCATTER_ND) {
		uint64_t coordinates = index->dim[index->rank - 1];

		full = insn->op == ONPU_OP_DMA_GATHER_ND ? insn->s0 : insn->dst;
		rank = full->rank - insn->param->index.batch_dims - coordinates;
		slices /= coordinates;
	}
	return ONPU_CYCLES_DMA + wnn_div_up(bytes, caps->dma_bytes_per_cycle) +
	       slices * slice_cost(caps, insn->dst, insn->s0, (uint32_t)rank);
}

static uint64_t taps_of(const struct plan_param *param)
{
	if (!param || param->schema != PLAN_TAPS)
		return 1;
	return (uint64_t)param->taps[0].count * param->taps[1].count * param->taps[2].count;
}

static bool taps_move(const struct plan_param *param)
{
	return param && param->schema == PLAN_TAPS &&
	       (param->taps[0].dst_step || param->taps[1].dst_step || param->taps[2].dst_step);
}

static uint64_t mma_insn(const struct npu_caps *caps, const struct plan_insn *insn)
{
	const struct npu_view *b = insn->s1, *a = insn->s0;
	uint64_t batch = 1, m = 1, taps = taps_of(insn->param);

	for (uint32_t i = 0; i + 1 < insn->dst->rank; i++) {
		if (b->stride[i] && b->dim[i] > 1)
			batch *= b->dim[i];
		else
			m *= a->dim[i];
	}
	/* Each tap that moves the destination counts as a separate product. */
	if (taps_move(insn->param)) {
		batch *= taps;
		taps = 1;
	}
	return plan_cost_mma(caps, batch, m, insn->dst->dim[insn->dst->rank - 1],
			     taps * a->dim[a->rank - 1], a->dtype);
}

uint64_t plan_cost_lanes(const struct npu_caps *caps, uint64_t elements, uint32_t bytes)
{
	if (bytes < 4 && !(caps->features & ONPU_CAP_FEATURES_PACKING__MASK))
		bytes = 4;
	return wnn_div_up(elements * bytes, (uint64_t)caps->lanes * 4);
}

/*
 * Returns the bytes of the lanes that an element of an instruction occupies: those of the widest
 * operand, but at least a whole lane in functions, and in reductions, scans and windows of floats.
 */
static uint32_t lane_bytes(const struct plan_insn *insn, unsigned int factor)
{
	const struct onpu_op_info *info = &onpu_op_info[insn->op];
	const struct npu_view *views[4] = { insn->dst, insn->s0, insn->s1, insn->s2 };
	uint32_t most = 1;

	if (info->cost == ONPU_COST_VECTOR ? factor > 1 :
					     insn->s0 && plan_dtype_is_float(insn->s0->dtype))
		most = 4;
	for (int i = 0; i < 4; i++)
		if (views[i] && plan_dtype_bytes(views[i]->dtype) > most)
			most = plan_dtype_bytes(views[i]->dtype);
	return most;
}

uint64_t plan_cost_insn(const struct npu_caps *caps, const struct plan_insn *insn)
{
	const struct onpu_op_info *info = &onpu_op_info[insn->op];
	unsigned int factor = npu_factor(caps, insn->op);
	uint32_t bytes = lane_bytes(insn, factor);
	uint64_t out = insn->dst ? plan_cost_lanes(caps, view_elements(insn->dst), bytes) : 0;

	switch (info->cost) {
	case ONPU_COST_DMA:
		return plan_cost_dma(caps, insn->dst,
				     insn->op == ONPU_OP_DMA_COPY ? insn->s0 : NULL);
	case ONPU_COST_GATHER:
		return gather_insn(caps, insn);
	case ONPU_COST_MMA:
		return mma_insn(caps, insn);
	case ONPU_COST_VECTOR:
	case ONPU_COST_SCAN:
		return ONPU_CYCLES_VECTOR + out * factor;
	case ONPU_COST_WINDOW:
		return ONPU_CYCLES_VECTOR + out * taps_of(insn->param);
	case ONPU_COST_REDUCE:
		return ONPU_CYCLES_VECTOR + plan_cost_lanes(caps, view_elements(insn->s0), bytes) +
		       out * factor;
	default:
		return 1;
	}
}
