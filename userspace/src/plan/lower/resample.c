// SPDX-License-Identifier: MIT
/*
 * Lowers resampling along two dims, in tiles of the result: loads the slice of the input that a
 * tile depends on, computes and stores the tile. Coordinates are those of the whole image, so that
 * every tiling gives equal bits.
 */
#include "plan/list/cost.h"
#include "plan/list/plan.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"

#include <string.h>

bool supports_resample(const struct ir_node *node, struct npu_reason *reason)
{
	for (int e = 0; e < 2; e++) {
		uint32_t axis = node->attrs.resample.axes[e];

		if (ir_type_dim(&node->operands[0]->type, axis) > ONPU_MAX_RESAMPLE_SIZE ||
		    ir_type_dim(&node->results[0]->type, axis) > ONPU_MAX_RESAMPLE_SIZE)
			return supports_not(
				reason, NPU_REASON_SIZE,
				"the image is resampled from or to a height or width above 2^30, "
				"the most that the NPU takes");
	}
	return supports_insn_takes(ONPU_OP_RESAMPLE_LINEAR, node->operands[0]->type.dtype) ||
	       supports_not(
		       reason, NPU_REASON_DATA_TYPE,
		       "the NPU resamples only float32, float16, int8 and uint8: cast the input to "
		       "one of these types");
}

struct resample {
	struct plan *plan;
	enum onpu_op op;
	uint32_t axis[2];
	struct npu_view dst, src;
	int64_t tile[IR_MAX_RANK], grid[IR_MAX_RANK];
	uint64_t tiles, dst_bytes, src_bytes, cycles;
};

/* The input elements along an axis that a range of results reads. */
struct span {
	int64_t begin, count;
};

/*
 * Returns the first input element that result `o` reads. With O the size of the result, coordinates
 * are whole multiples of 1 / 2O of an input element, so that they are computed exactly.
 */
static int64_t first_source(const struct resample *r, int e, int64_t o)
{
	int64_t in = r->src.dim[r->axis[e]], out = r->dst.dim[r->axis[e]], at;

	if (r->op == ONPU_OP_RESAMPLE_NEAREST)
		at = (int64_t)wnn_div_up((2 * o + 1) * in, 2 * out) - 1;
	else
		at = (2 * o + 1) * in < out ? 0 : ((2 * o + 1) * in - out) / (2 * out);
	return at < 0 ? 0 : at > in - 1 ? in - 1 : at;
}

/* Returns the input elements that results first to first + count - 1 along axis e read. */
static struct span span_of(const struct resample *r, int e, int64_t first, int64_t count)
{
	int64_t begin = first_source(r, e, first);
	int64_t last = first_source(r, e, first + count - 1);

	if (r->op == ONPU_OP_RESAMPLE_LINEAR && last + 1 < r->src.dim[r->axis[e]])
		last++;
	return (struct span){ begin, last + 1 - begin };
}

static int64_t longest_span(const struct resample *r, int e)
{
	int64_t out = r->dst.dim[r->axis[e]], tile = r->tile[r->axis[e]], longest = 0;

	for (int64_t at = 0; at < out; at += tile) {
		struct span span = span_of(r, e, at, out - at < tile ? out - at : tile);

		if (span.count > longest)
			longest = span.count;
	}
	return longest;
}

static uint64_t bytes_of(const struct resample *r, const int64_t *dim)
{
	uint64_t bytes = plan_dtype_bytes(r->dst.dtype);

	for (uint32_t i = 0; i < r->dst.rank; i++)
		bytes *= dim[i];
	return plan_align(bytes);
}

static uint64_t max3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t m = a > b ? a : b;

	return m > c ? m : c;
}

/* Computes the bytes and the estimated cycles of a tile; false: the tile cannot be used. */
static bool evaluate(struct resample *r)
{
	static const int64_t zero[IR_MAX_RANK];
	struct npu_view tile, in, mem;
	int64_t need[IR_MAX_RANK];
	uint64_t ld, st, vpu;

	r->tiles = 1;
	for (uint32_t i = 0; i < r->dst.rank; i++) {
		r->grid[i] = (int64_t)wnn_div_up(r->dst.dim[i], r->tile[i]);
		r->tiles *= r->grid[i];
	}
	memcpy(need, r->tile, sizeof(need));
	for (int e = 0; e < 2; e++)
		need[r->axis[e]] = longest_span(r, e);
	r->dst_bytes = bytes_of(r, r->tile);
	r->src_bytes = bytes_of(r, need);
	if (2 * (r->dst_bytes + r->src_bytes) > plan_sram(r->plan))
		return false;
	tile = view_sram(0, r->dst.dtype, r->dst.rank, r->tile, r->dst.stride);
	in = view_sram(0, r->src.dtype, r->src.rank, need, r->src.stride);
	mem = view_slice(&r->src, zero, need);
	ld = plan_cost_copy(r->plan->caps, in, mem);
	mem = view_slice(&r->dst, zero, r->tile);
	st = plan_cost_copy(r->plan->caps, mem, tile);
	vpu = plan_cost_insn(r->plan->caps,
			     &(struct plan_insn){ .op = r->op, .dst = &tile, .s0 = &in });
	r->cycles = ld + st + vpu + r->tiles * max3(ld, st, vpu);
	return max3(ld, st, vpu) <= ONPU_MAX_COST;
}

/*
 * Doubles the tile along the dim where that gives the fewest cycles, at most to the whole extent;
 * false: no larger tile can be used.
 */
static bool grow(struct resample *r)
{
	struct resample best = { .cycles = UINT64_MAX };

	for (uint32_t i = r->dst.rank; i-- > 0;) {
		struct resample next = *r;

		if (r->tile[i] == r->dst.dim[i])
			continue;
		next.tile[i] = r->tile[i] * 2 < r->dst.dim[i] ? r->tile[i] * 2 : r->dst.dim[i];
		if (evaluate(&next) && next.cycles < best.cycles)
			best = next;
	}
	if (best.cycles == UINT64_MAX)
		return false;
	*r = best;
	return true;
}

/*
 * Chooses the tile with the fewest cycles. The first, of one result, always fits, as it reads at
 * most four elements of the input.
 */
static void choose(struct resample *best)
{
	struct resample r;

	for (uint32_t i = 0; i < best->dst.rank; i++)
		best->tile[i] = 1;
	evaluate(best);
	r = *best;
	while (grow(&r))
		if (r.cycles <= best->cycles)
			*best = r;
}

static void emit_tile(struct resample *r, uint64_t index, uint64_t base)
{
	struct plan_param param = plan_param_make(PLAN_RESAMPLE);
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK], from[IR_MAX_RANK], need[IR_MAX_RANK];
	uint64_t address = base + index % 2 * (r->dst_bytes + r->src_bytes);
	struct npu_view out, in;

	for (uint32_t i = r->dst.rank; i-- > 0; index /= r->grid[i]) {
		begin[i] = from[i] = (int64_t)(index % r->grid[i]) * r->tile[i];
		dim[i] = r->dst.dim[i] - begin[i];
		dim[i] = need[i] = dim[i] < r->tile[i] ? dim[i] : r->tile[i];
	}
	for (int e = 0; e < 2; e++) {
		uint32_t a = r->axis[e];
		struct span span = span_of(r, e, begin[a], dim[a]);

		from[a] = span.begin;
		need[a] = span.count;
		param.resample.axis[e] = (uint8_t)a;
		param.resample.in_size[e] = (uint32_t)r->src.dim[a];
		param.resample.out_size[e] = (uint32_t)r->dst.dim[a];
		param.resample.in_base[e] = (uint32_t)span.begin;
		param.resample.out_base[e] = (uint32_t)begin[a];
	}
	in = view_sram((uint32_t)address, r->src.dtype, r->src.rank, need, r->src.stride);
	out = view_sram((uint32_t)(address + r->src_bytes), r->dst.dtype, r->dst.rank, dim,
			r->dst.stride);
	plan_transfer(r->plan, in, view_slice(&r->src, from, need), false);
	plan_emit(r->plan,
		  &(struct plan_insn){ .op = r->op, .dst = &out, .s0 = &in, .param = &param });
	plan_transfer(r->plan, view_slice(&r->dst, begin, dim), out, true);
}

void lower_resample(struct plan *plan, const struct ir_node *node)
{
	bool linear = node->attrs.resample.linear;
	struct resample r = {
		.plan = plan,
		.op = linear ? ONPU_OP_RESAMPLE_LINEAR : ONPU_OP_RESAMPLE_NEAREST,
		.axis = { node->attrs.resample.axes[0], node->attrs.resample.axes[1] },
		.dst = values_view(plan, node->results[0]),
		.src = values_view(plan, node->operands[0]),
	};
	uint64_t base;

	choose(&r);
	plan_kernel(plan, linear ? "vector resample linear" : "vector resample nearest");
	base = plan_take_sram(plan, 2 * (r.dst_bytes + r.src_bytes));
	for (uint64_t i = 0; i < r.tiles && !plan->report.failed; i++)
		emit_tile(&r, i, base);
	plan_tiles(plan, r.tiles);
}
