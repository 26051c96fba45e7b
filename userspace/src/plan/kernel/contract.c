// SPDX-License-Identifier: MIT
/*
 * Chooses the tiles of a contraction: it estimates all sensible sizes with the cost model and takes
 * the fastest one. The sum of a tile is divided into several steps only when the operands of the
 * whole sum do not fit into SRAM, or an instruction would take too long. contract_prepare() calls
 * contract_choose(), which calls contract_search() unless the cache of choices.c has the tile.
 */
#include "plan/list/cost.h"
#include "plan/kernel/contract.h"

#include <string.h>

#define MAX_SIZES 24
/*
 * Limits of add_slots(): a contraction gets at most MOST_EARLY slots for filter tiles, as each load
 * searches all of them, and takes at most 1/EARLY_SHARE of the SRAM.
 */
#define MOST_EARLY  64
#define EARLY_SHARE 4

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool contract_is_mma(const struct contract *c)
{
	return onpu_op_info[c->op].cost == ONPU_COST_MMA;
}

void contract_make_window(struct contract *c)
{
	const struct npu_view row = c->a, matrix = c->b;
	int64_t n = c->dim[CD_N], k = c->k;

	c->op = ONPU_OP_WIN_MAC;
	c->kernel = "win.mac";
	c->dim[CD_G] = n;
	c->dim[CD_N] = 1;
	c->k = 1;
	c->taps[0] = c->in[0] = k;
	c->in[1] = 1;
	c->a = matrix;
	memcpy(c->a.dim, (int64_t[]){ n, 1, k, 1, 1 }, 5 * sizeof(*c->a.dim));
	memcpy(c->a.stride, (int64_t[]){ matrix.stride[CB_N], 0, matrix.stride[CB_K], 0, 0 },
	       5 * sizeof(*c->a.stride));
	c->b = row;
	memcpy(c->b.dim, (int64_t[]){ n, k, 1, 1, 1 }, 5 * sizeof(*c->b.dim));
	memcpy(c->b.stride, (int64_t[]){ 0, row.stride[CA_K], 0, 0, 0 }, 5 * sizeof(*c->b.stride));
	view_swap_dims(&c->out, CD_G, CD_N);
	for (uint32_t i = 0; i < c->num_extras; i++)
		view_swap_dims(&c->extra[i].mem, CD_G, CD_N);
}

/*
 * Returns the length of the partial sums of mma.f32 as an ONPU_PIECE value (0: one sum). Partial
 * sums as long as the square root of the number of products round best. Short partial sums cost the
 * device model time; with few channels all would be short, so that the sum is not divided.
 */
uint8_t contract_piece(enum onpu_op op, int64_t k, int64_t taps)
{
	if (op != ONPU_OP_MMA_F32 || k <= (ONPU_PIECE_UNIT << ONPU_PIECE_BY8))
		return 0;
	return k * taps <= 64 ? ONPU_PIECE_BY8 : ONPU_PIECE_BY32;
}

struct contract_step contract_step_at(const struct contract *c, const struct contract_tile *t,
				      uint64_t step)
{
	struct contract_step s = { 0, c->taps[0], 0, c->taps[1], 0, c->k };
	uint64_t chunks = wnn_div_up(c->k, t->k);

	if (t->cut == CUT_K) {
		s.k = step % chunks * t->k;
		s.ks = c->k - s.k < t->k ? c->k - s.k : t->k;
		step /= chunks;
	}
	if (t->cut >= CUT_TAPS) {
		uint64_t steps_of_row = wnn_div_up(c->taps[1], t->kw);

		s.kw = step % steps_of_row * t->kw;
		s.kws = c->taps[1] - s.kw < t->kw ? c->taps[1] - s.kw : t->kw;
		step /= steps_of_row;
	}
	if (t->cut >= CUT_ROWS) {
		s.kh = step;
		s.khs = 1;
	}
	return s;
}

/*
 * Returns true if loading all columns takes fewer cycles than skipping those that a stride leaves
 * out.
 */
static bool fill_gaps(const struct contract *c, int axis)
{
	int64_t size = plan_dtype_bytes(c->a.dtype);

	return axis == 1 && c->a.stride[CA_W] == size && c->step[1] * size < CONTRACT_SHORT_RUN;
}

int64_t contract_rows(const struct contract *c, int axis, int64_t out, int64_t taps,
		      int64_t *distance)
{
	*distance = taps == 1 && !fill_gaps(c, axis) ? c->step[axis] : 1;
	return ((out - 1) * c->step[axis] + (taps - 1) * c->dilation[axis]) / *distance + 1;
}

int64_t contract_pitch(const struct contract *c, int axis, int64_t rows)
{
	return (int64_t)wnn_div_up(rows, c->up[axis]) * c->up[axis];
}

static int64_t tile_rows(const struct contract *c, int axis, int64_t out, int64_t taps)
{
	int64_t distance;

	return contract_pitch(c, axis, contract_rows(c, axis, out, taps, &distance));
}

/* Returns the number of steps in which the sum of a tile is computed. */
static uint64_t steps_of(const struct contract *c, const struct contract_tile *t)
{
	switch (t->cut) {
	case CUT_NONE:
		return 1;
	case CUT_ROWS:
		return c->taps[0];
	default:
		return c->taps[0] * wnn_div_up(c->taps[1], t->kw) * wnn_div_up(c->k, t->k);
	}
}

/* ---- bytes */

static uint64_t extra_tile_bytes(const struct contract_extra *extra, const int64_t *tile,
				 uint32_t size)
{
	uint64_t bytes = size;

	for (int i = 0; i < CD_RANK; i++)
		if (extra->mem.dim[i] > 1)
			bytes *= tile[i];
	return plan_align(bytes);
}

static void measure_extras(const struct contract *c, struct contract_tile *t)
{
	for (uint32_t e = 0; e < c->num_extras; e++) {
		const struct contract_extra *extra = &c->extra[e];
		uint64_t distinct = 1;

		for (int i = 0; i < CD_RANK; i++)
			if (extra->mem.dim[i] > 1)
				distinct *= t->grid[i];
		t->extra_slots[e] = distinct > 1 ? 2 : 1;
		t->extra_bytes[e] = extra->here ?
					    0 :
					    extra_tile_bytes(extra, t->tile,
							     plan_dtype_bytes(extra->mem.dtype));
		t->scaled_bytes[e] = extra->scale == 1 && !extra->real_scale ?
					     0 :
					     extra_tile_bytes(extra, t->tile, 4);
		t->bytes += t->extra_bytes[e] * t->extra_slots[e] + t->scaled_bytes[e];
	}
}

/* Returns the number of data elements that a tile reads in one step. */
static uint64_t data_elements(const struct contract *c, const struct contract_tile *t,
			      const struct contract_step *s)
{
	return (uint64_t)(t->tile[CD_G] * t->tile[CD_B] * tile_rows(c, 0, t->tile[CD_H], s->khs) *
			  tile_rows(c, 1, t->tile[CD_W], s->kws) * s->ks);
}

bool contract_in_place(const struct contract *c)
{
	return c->acc_dtype == c->out.dtype ||
	       (c->num_posts && plan_dtype_bytes(c->acc_dtype) == plan_dtype_bytes(c->out.dtype));
}

/* Returns true if the epilogue has a function of several instructions, which needs a spare tile. */
static bool has_gate(const struct contract *c)
{
	for (uint32_t i = 0; i < c->num_posts; i++)
		if (c->post[i].to_spare)
			return true;
	return false;
}

/* Computes the grid of a tile size and the bytes of SRAM for everything but data and filter. */
static void measure(const struct contract *c, struct contract_tile *t)
{
	struct contract_step s = contract_step_at(c, t, 0);
	uint64_t results = 1, data;

	t->tiles = 1;
	for (int i = 0; i < CD_RANK; i++) {
		t->grid[i] = wnn_div_up(c->dim[i], t->tile[i]);
		t->tiles *= t->grid[i];
		results *= t->tile[i];
	}
	t->steps = steps_of(c, t);
	data = data_elements(c, t, &s);
	t->a_bytes = c->a_here ? 0 : plan_align(data * plan_dtype_bytes(c->a.dtype));
	t->real_bytes = c->real_scale ? plan_align(data * plan_dtype_bytes(ONPU_DT_F32)) : 0;
	t->b_bytes = !c->b.rank || c->b_here ?
			     0 :
			     plan_align(t->tile[CD_G] * s.khs * s.kws * s.ks * t->tile[CD_N] *
					plan_dtype_bytes(c->b.dtype));
	t->wide_bytes = 0;
	if (c->weights) {
		t->wide_bytes = c->weights->direct ? 0 : t->b_bytes;
		t->b_bytes = weights_bytes(c, t, s.ks, t->tile[CD_N]);
	}
	t->direct = contract_in_place(c) || (t->steps == 1 && !c->num_posts);
	t->acc_bytes = t->direct && (c->out_here || !contract_in_place(c)) ?
			       0 :
			       plan_align(results * plan_dtype_bytes(c->acc_dtype));
	t->out_bytes = c->out_here || contract_in_place(c) ?
			       0 :
			       plan_align(results * plan_dtype_bytes(c->out.dtype));
	t->acc_slots = t->tiles > 1 ? 2 : 1;
	t->spare_bytes = has_gate(c) ? plan_align(results * plan_dtype_bytes(ONPU_DT_F32)) : 0;
	t->bytes = (t->acc_bytes + t->out_bytes) * t->acc_slots + t->real_bytes + t->spare_bytes +
		   WEIGHTS_SLOTS * t->wide_bytes;
	measure_extras(c, t);
}

/* ---- cycles */

/*
 * The cycles of one tile or step: loading data, filter and further operands; writing the bias;
 * the sum; the epilogue; storing the result.
 */
struct contract_cost {
	uint64_t a, b, extra, begin, compute, post, out;
};

static uint64_t a_cost(const struct plan *plan, const struct contract *c,
		       const struct contract_tile *t, const struct contract_step *s)
{
	struct npu_view src = c->a, dst;
	int64_t distance[2];
	int64_t dim[5] = {
		t->tile[CD_G],
		t->tile[CD_B],
		contract_rows(c, 0, t->tile[CD_H], s->khs, &distance[0]),
		contract_rows(c, 1, t->tile[CD_W], s->kws, &distance[1]),
		s->ks,
	};

	dst = view_sram(0, c->a.dtype, 5, dim, c->a.stride);
	for (int i = 0; i < 5; i++)
		src.dim[i] = dim[i];
	src.stride[CA_H] *= distance[0];
	src.stride[CA_W] *= distance[1];
	return plan_cost_copy(plan->caps, dst, src);
}

static uint64_t b_cost(const struct plan *plan, const struct contract *c,
		       const struct contract_tile *t, const struct contract_step *s)
{
	int64_t dim[5] = { t->tile[CD_G], s->khs, s->kws, s->ks, t->tile[CD_N] };
	struct npu_view dst, src = c->b;

	if (!c->b.rank)
		return 0;
	if (c->b_constant || c->weights)
		return ONPU_CYCLES_DMA + wnn_div_up(t->b_bytes, plan->caps->dma_bytes_per_cycle);
	dst = view_sram(0, c->b.dtype, 5, dim, c->b.stride);
	memcpy(src.dim, dim, sizeof(dim));
	return plan_cost_copy(plan->caps, dst, src);
}

static uint64_t begin_cost(const struct plan *plan, const struct contract *c,
			   const struct contract_tile *t)
{
	if (!c->begin)
		return 0;
	return plan_cost_mma(plan->caps, 1, t->tile[CD_B] * t->tile[CD_H] * t->tile[CD_W],
			     t->tile[CD_G], 1, ONPU_DT_F32);
}

static uint64_t compute_cost(const struct plan *plan, const struct contract *c,
			     const struct contract_tile *t, const struct contract_step *s)
{
	uint64_t results = 1, cost = 0;
	uint32_t bytes;

	if (contract_is_mma(c))
		return plan_weigh_mma(plan, t->tile[CD_G],
				      t->tile[CD_B] * t->tile[CD_H] * t->tile[CD_W], t->tile[CD_N],
				      s->khs * s->kws * s->ks, c->a.dtype);
	for (int i = 0; i < CD_RANK; i++)
		results *= t->tile[i];
	if (c->real_scale)
		cost = ONPU_CYCLES_VECTOR + wnn_div_up(data_elements(c, t, s), plan->caps->lanes);
	/* Sums of floats take a whole lane. */
	bytes = plan_dtype_is_float(c->a.dtype) ? plan_dtype_bytes(ONPU_DT_F32) :
						  plan_dtype_bytes(c->acc_dtype);
	return cost + ONPU_CYCLES_VECTOR +
	       plan_cost_lanes(plan->caps, results, bytes) * s->khs * s->kws;
}

static uint64_t post_cost(const struct plan *plan, const struct contract *c,
			  const struct contract_tile *t)
{
	uint64_t results = 1, cost = 0;

	for (int i = 0; i < CD_RANK; i++)
		results *= t->tile[i];
	for (uint32_t i = 0; i < c->num_posts; i++)
		cost += ONPU_CYCLES_VECTOR + wnn_div_up(results, plan->caps->lanes) *
						     npu_factor(plan->caps, c->post[i].op);
	for (uint32_t e = 0; e < c->num_extras; e++)
		if (t->scaled_bytes[e])
			cost += ONPU_CYCLES_VECTOR +
				wnn_div_up(t->scaled_bytes[e] / 4, plan->caps->lanes);
	return cost + (t->direct ? 0 : ONPU_CYCLES_VECTOR + wnn_div_up(results, plan->caps->lanes));
}

static uint64_t out_cost(const struct plan *plan, const struct contract *c,
			 const struct contract_tile *t)
{
	struct npu_view dst = c->out,
			src = view_sram(0, c->out.dtype, CD_RANK, t->tile, c->out.stride);

	memcpy(dst.dim, t->tile, sizeof(t->tile));
	return plan_cost_copy(plan->caps, dst, src);
}

static uint64_t extra_cost(const struct plan *plan, const struct contract_tile *t,
			   uint32_t num_extras)
{
	uint64_t cost = 0;

	for (uint32_t e = 0; e < num_extras; e++)
		if (t->extra_slots[e] > 1)
			cost += ONPU_CYCLES_DMA +
				wnn_div_up(t->extra_bytes[e], plan->caps->dma_bytes_per_cycle);
	return cost;
}

/*
 * Counts the loads of data tiles and filter tiles, given the order of the loops and how many tiles
 * stay in SRAM.
 */
static void count_loads(const struct contract_tile *t, uint64_t *a_loads, uint64_t *b_loads)
{
	uint64_t positions = t->grid[CD_B] * t->grid[CD_H] * t->grid[CD_W], g = t->grid[CD_G],
		 n = t->grid[CD_N];
	uint64_t a_period = t->n_inner ? t->steps : positions * t->steps;
	uint64_t b_period = t->n_inner ? n * t->steps : t->steps;

	*a_loads = g * positions * t->steps * (t->a_slots >= a_period ? 1 : n);
	*b_loads = g * n * t->steps * (t->b_slots >= b_period ? 1 : positions);
}

/*
 * Returns the cycles that a long first tile costs in addition, because the next node waits for it.
 * How much the wait matters depends on the nodes around, so that the search tries each level of
 * eagerness (plan->eager) for the whole plan.
 */
static uint64_t waiting(const struct plan *plan, bool mma, uint64_t compute, uint64_t post)
{
	switch (plan->eager) {
	case 0:
		return 0;
	case 1:
		return mma ? compute / 8 : compute + post;
	case 2:
		return (compute + post) / 4;
	default:
		return 0; /* until_row() counts the cycles */
	}
}

/* Returns true if filter tiles can be loaded before the nodes that make the data have ended. */
static bool is_early(const struct plan *plan, const struct contract *c)
{
	return plan->early != PLAN_EARLY_NOT && (c->b_constant || c->weights);
}

/* The cycles of a contraction that do not depend on which tiles stay in SRAM. */
struct contract_times {
	/*
	 * cycles if this engine is the busiest: all its work, and the work of other engines on one
	 * tile, for which it waits; dma: only the work on one tile, with half of its loads and
	 * stores, as the two DMA engines share these
	 */
	uint64_t mxu, vpu, dma;
	uint64_t beside; /* cycles to add to those of the busiest engine */
};

static struct contract_times fixed_times(const struct plan *plan, const struct contract *c,
					 const struct contract_tile *t,
					 const struct contract_cost *cost)
{
	bool mma = contract_is_mma(c);
	uint64_t moved = cost->a + (is_early(plan, c) ? 0 : cost->b) + cost->out;
	uint64_t once = moved + cost->begin + cost->compute + cost->post;

	return (struct contract_times){
		.mxu = t->tiles * (cost->begin + (mma ? t->steps * cost->compute : 0)) + once -
		       cost->begin - (mma ? cost->compute : 0),
		.vpu = t->tiles * (cost->post + (mma ? 0 : t->steps * cost->compute)) + once -
		       cost->post - (mma ? 0 : cost->compute),
		.dma = once - moved / 2,
		/* The command processor takes time to issue instructions and fetch slots. */
		.beside = waiting(plan, mma, t->steps * cost->compute, cost->post) +
			  (t->tiles * (2 + c->num_posts) + t->tiles * t->steps) * 8,
	};
}

/* Returns the cycles of dequantising a filter tile, without the fixed ones of an instruction. */
static uint64_t widen_cost(const struct plan *plan, const struct contract *c,
			   const struct contract_tile *t)
{
	uint32_t bytes = plan_dtype_bytes(c->b.dtype);

	return plan_cost_lanes(plan->caps, t->wide_bytes / bytes, bytes);
}

/*
 * Returns the cycles that it costs in addition, at the highest eagerness, that the first position
 * of the result has all its channels late: the next node then waits although tiles are short. When
 * the loop over channels is outside, nearly all tiles come before.
 */
static uint64_t until_row(const struct plan *plan, const struct contract_tile *t,
			  const struct contract_cost *cost)
{
	uint64_t positions = t->grid[CD_B] * t->grid[CD_H] * t->grid[CD_W], n = t->grid[CD_N];
	uint64_t tiles = t->n_inner ? n : (n - 1) * positions + 1;

	if (plan->eager + 1 < PLAN_EAGERNESS)
		return 0;
	return tiles * (t->steps * cost->compute + cost->post) / 4;
}

/*
 * Returns true if all filter tiles are in SRAM before the kernel begins: each has a slot, and the
 * kernel leaves room for the kernels before it.
 */
static bool all_early(const struct plan *plan, const struct contract *c,
		      const struct contract_tile *t, uint64_t b_loads)
{
	return is_early(plan, c) && t->b_slots >= b_loads &&
	       (plan->early == PLAN_EARLY_BESIDE || t->bytes <= plan_sram(plan) / EARLY_SHARE);
}

/* Returns the cycles if the DMA engines are the busiest. */
static uint64_t dma_time(const struct plan *plan, const struct contract *c,
			 const struct contract_tile *t, const struct contract_cost *cost,
			 const struct contract_times *times, uint64_t a_loads, uint64_t b_loads)
{
	uint64_t data = a_loads * cost->a + t->tiles * (cost->extra + cost->out);
	uint64_t all = data + b_loads * cost->b;
	bool few_a = a_loads > 2 && t->a_slots < 3, few_b = b_loads > 2 && t->b_slots < 3;

	/*
	 * Both DMA engines share the loads and stores. When SRAM holds two tiles of an operand, one
	 * of which is in use, only one can be loaded, so that the engines rarely work together.
	 */
	if (few_a || few_b)
		all += all / 2;
	if (!all_early(plan, c, t, b_loads))
		return all / 2 + times->dma;
	if (few_a)
		data += data / 2;
	return max_of(all / 2, data ? data / 2 + times->dma : 0);
}

/* Returns the estimated cycles of the contraction with a tile size and numbers of slots. */
static uint64_t estimate(const struct plan *plan, const struct contract *c,
			 const struct contract_tile *t, const struct contract_cost *cost,
			 const struct contract_times *times)
{
	uint64_t a_loads, b_loads, dma, vpu = times->vpu;

	count_loads(t, &a_loads, &b_loads);
	dma = dma_time(plan, c, t, cost, times, a_loads, b_loads);
	if (t->wide_bytes)
		vpu += b_loads * (ONPU_CYCLES_VECTOR + widen_cost(plan, c, t));
	return max_of(max_of(dma, times->mxu), vpu) + times->beside + until_row(plan, t, cost) +
	       ((c->a_here ? 0 : a_loads) + b_loads) * 8;
}

/* ---- the search */

/*
 * Returns the number of slots for tiles of an operand in SRAM: 2 or 3, for one tile in use and one
 * or two in flight (choices 0 and 1), or one more than `period`, the tiles after which the loops
 * come back to the first one (choice 2); at most `all`.
 */
static uint32_t slots_of(int choice, uint64_t period, uint64_t all)
{
	uint64_t want = choice == 0 ? 2 : choice == 1 ? 3 : period + 1;

	if (want < 2)
		want = 2;
	return (uint32_t)(want < all ? want : all);
}

#define SLOT_CHOICES 3
#define MOST_SLOTS   4096

/*
 * Lists the numbers of slots to try; 0 in place of a number that is in the list already. A `period`
 * of MOST_SLOTS or more adds no number of its own.
 */
static void list_slots(uint64_t period, uint64_t all, uint32_t *slots)
{
	for (int choice = 0; choice < SLOT_CHOICES; choice++) {
		uint32_t number = slots_of(choice, period < MOST_SLOTS ? period : 1, all);

		slots[choice] = number;
		for (int i = 0; i < choice; i++)
			if (slots[i] == number)
				slots[choice] = 0;
	}
}

/*
 * Tries all numbers of slots for data and filter tiles, in both loop orders, and sets *best when
 * one of these is faster.
 */
static void try_slots(const struct plan *plan, const struct contract *c, struct contract_tile *t,
		      const struct contract_cost *cost, struct contract_tile *best)
{
	uint64_t positions = t->grid[CD_B] * t->grid[CD_H] * t->grid[CD_W];
	uint64_t a_all = t->grid[CD_G] * positions * t->steps,
		 b_all = t->grid[CD_G] * t->grid[CD_N] * t->steps;
	struct contract_times times = fixed_times(plan, c, t, cost);
	uint32_t a[2][SLOT_CHOICES], b[2][SLOT_CHOICES];
	uint64_t base = t->bytes;

	if (max_of(times.mxu, times.vpu) + times.beside >= best->cycles)
		return;
	for (int n = 0; n < 2; n++) {
		list_slots(n ? t->steps : positions * t->steps, a_all, a[n]);
		list_slots(n ? t->grid[CD_N] * t->steps : t->steps, b_all, b[n]);
	}
	for (int choice = 0; choice < 2 * SLOT_CHOICES * SLOT_CHOICES; choice++) {
		int n = !(choice & 1), i = choice / 2 % SLOT_CHOICES, k = choice / 2 / SLOT_CHOICES;
		uint64_t cycles;

		if (!a[n][i] || !b[n][k])
			continue;
		t->n_inner = n;
		t->a_slots = a[n][i];
		t->b_slots = b[n][k];
		t->bytes = base + t->a_slots * t->a_bytes + t->b_slots * t->b_bytes;
		if (t->bytes >
		    (plan->early == PLAN_EARLY_BESIDE ? plan_sram(plan) / 2 : plan_sram(plan)))
			continue;
		cycles = estimate(plan, c, t, cost, &times);
		if (cycles < best->cycles) {
			*best = *t;
			best->cycles = cycles;
		}
	}
	t->bytes = base;
}

/*
 * Returns the least bytes of SRAM for a tile size: two slots for data and two for filters, or one
 * where there is only one tile.
 */
static uint64_t least_bytes(const struct contract_tile *t)
{
	uint64_t positions = t->grid[CD_G] * t->grid[CD_B] * t->grid[CD_H] * t->grid[CD_W];
	uint64_t filters = t->grid[CD_G] * t->grid[CD_N];

	return t->bytes + t->a_bytes * (positions * t->steps > 1 ? 2 : 1) +
	       t->b_bytes * (filters * t->steps > 1 ? 2 : 1);
}

/* Computes the cycles of a tile; false when an instruction of it would take too long. */
static bool price(const struct plan *plan, const struct contract *c, const struct contract_tile *t,
		  struct contract_cost *cost)
{
	struct contract_step s = contract_step_at(c, t, 0);

	cost->a = c->a_here ? 0 : a_cost(plan, c, t, &s);
	cost->b = c->b_here ? 0 : b_cost(plan, c, t, &s);
	cost->begin = begin_cost(plan, c, t);
	cost->compute = compute_cost(plan, c, t, &s);
	cost->post = post_cost(plan, c, t);
	cost->out = c->out_here ? 0 : out_cost(plan, c, t);
	cost->extra = extra_cost(plan, t, c->num_extras);
	/*
	 * Padding may shorten runs, which adds cycles: only half of ONPU_MAX_COST is allowed here.
	 */
	return max_of(max_of(cost->a, cost->b),
		      max_of(max_of(cost->begin + cost->compute, cost->post), cost->out)) <=
	       ONPU_MAX_COST / 2;
}

/*
 * Halves the taps, or the channels of a tap, that a step covers; false when that is impossible. A
 * step has at least one tap, and at least one partial sum: dividing a partial sum would change the
 * bits of the result.
 */
static bool cut_finer(const struct contract *c, struct contract_tile *t)
{
	int64_t *part = t->cut == CUT_TAPS ? &t->kw : &t->k, least = 1, unit = 16;

	if (t->cut == CUT_K && c->piece)
		least = ONPU_PIECE_UNIT << c->piece;
	if (unit < least)
		unit = least;
	if (*part <= least)
		return false;
	*part /= 2;
	if (t->cut == CUT_K && *part > unit)
		*part = *part / unit * unit;
	else
		*part = *part > least ? *part / least * least : least;
	return true;
}

/*
 * Finds the coarsest division of the sum into steps with which a tile fits into SRAM and no
 * instruction takes too long, and tries it; *best becomes the tile when it is the fastest so far.
 */
static void try_tile(const struct plan *plan, const struct contract *c, struct contract_tile *t,
		     struct contract_tile *best)
{
	struct contract_cost cost;

	for (int cut = CUT_NONE; cut <= CUT_K; cut++) {
		if ((cut == CUT_ROWS && c->taps[0] == 1) ||
		    (cut == CUT_TAPS && c->taps[1] == 1 && c->taps[0] > 1) ||
		    (cut == CUT_TAPS && c->taps[0] * c->taps[1] == 1) ||
		    (cut == CUT_K && c->k == 1))
			continue;
		t->cut = cut;
		t->k = c->k;
		t->kw = cut == CUT_K ? 1 : c->taps[1];
		while (cut < CUT_TAPS || cut_finer(c, t)) {
			uint64_t least;

			measure(c, t);
			least = least_bytes(t);
			if (best->cycles == UINT64_MAX && least < best->bytes)
				best->bytes = least;
			if (least <= plan_sram(plan) && price(plan, c, t, &cost)) {
				try_slots(plan, c, t, &cost, best);
				return;
			}
			if (cut < CUT_TAPS)
				break;
		}
	}
}

/*
 * Lists the tile extents to try along a dim: the whole extent, and repeated halves of it, of which
 * those above `unit` are rounded up to its multiples; returns how many.
 */
static int sizes_of(int64_t extent, int64_t unit, int64_t *size)
{
	int count = 0;

	for (int64_t n = extent; count < MAX_SIZES; n = wnn_div_up(n, 2)) {
		int64_t rounded = n > unit && n < extent ? (int64_t)wnn_div_up(n, unit) * unit : n;

		if (!count || rounded < size[count - 1])
			size[count++] = rounded;
		if (n == 1)
			break;
	}
	return count;
}

/*
 * Returns the least number of rows from `rows` to twice `rows` at which the positions fill the rows
 * of the matrix array; 0 when `rows` fills them, when no number does, or when the contraction has
 * no gate or is not computed by the matrix unit. The vector unit computes the gates of a tile while
 * the matrix unit computes the next tile, so that large tiles are worse, and tiles of few rows
 * waste more of the array.
 */
static int64_t full_rows(const struct plan *plan, const struct contract *c, int64_t rows)
{
	if (!has_gate(c) || !contract_is_mma(c))
		return 0;
	for (int64_t n = rows; n < 2 * rows && n < c->dim[CD_H]; n++)
		if (n * c->dim[CD_W] % plan->caps->mxu_rows == 0)
			return n == rows ? 0 : n;
	return 0;
}

/* Tries tiles of several images, of some rows of an image, and of some columns of a row. */
static void try_positions(const struct plan *plan, const struct contract *c,
			  struct contract_tile *t, struct contract_tile *best)
{
	int64_t h[MAX_SIZES], w[MAX_SIZES], b[MAX_SIZES];
	int hs = sizes_of(c->dim[CD_H], 1, h), bs = sizes_of(c->dim[CD_B], 1, b);
	int ws = sizes_of(c->dim[CD_W], c->dim[CD_H] == 1 ? plan->caps->mxu_rows : 1, w);

	t->tile[CD_H] = c->dim[CD_H];
	t->tile[CD_W] = c->dim[CD_W];
	for (int i = 0; i < bs; i++) {
		t->tile[CD_B] = b[i];
		try_tile(plan, c, t, best);
	}
	t->tile[CD_B] = 1;
	for (int i = 1; i < hs; i++) {
		t->tile[CD_H] = h[i];
		try_tile(plan, c, t, best);
		t->tile[CD_H] = full_rows(plan, c, h[i]);
		if (t->tile[CD_H])
			try_tile(plan, c, t, best);
	}
	t->tile[CD_H] = 1;
	for (int i = 1; i < ws; i++) {
		t->tile[CD_W] = w[i];
		try_tile(plan, c, t, best);
	}
}

/*
 * Gives filter tiles more slots, so that more of them are loaded early, as long as the contraction
 * takes at most 1/EARLY_SHARE of the SRAM: other nodes' filters need room, too.
 */
static void add_slots(const struct plan *plan, struct contract_tile *t)
{
	uint64_t all = t->grid[CD_G] * t->grid[CD_N] * t->steps;

	while (t->b_bytes && t->b_slots < all && t->b_slots < MOST_EARLY &&
	       t->bytes + t->b_bytes <= plan_sram(plan) / EARLY_SHARE) {
		t->b_slots++;
		t->bytes += t->b_bytes;
	}
}

bool contract_search(const struct plan *plan, const struct contract *c, struct contract_tile *best)
{
	int64_t n[MAX_SIZES], g[MAX_SIZES];
	int ns = sizes_of(c->dim[CD_N], plan->caps->mxu_cols, n);
	int gs = sizes_of(c->dim[CD_G], contract_is_mma(c) ? 1 : 16, g);
	struct contract_tile t = { .bytes = 0 };

	best->cycles = best->bytes = UINT64_MAX;
	for (int i = 0; i < gs; i++) {
		for (int j = 0; j < ns; j++) {
			memset(&t, 0, sizeof(t));
			t.tile[CD_G] = g[i];
			t.tile[CD_N] = n[j];
			try_positions(plan, c, &t, best);
		}
	}
	if (best->cycles == UINT64_MAX)
		return false;
	if (is_early(plan, c))
		add_slots(plan, best);
	return true;
}
