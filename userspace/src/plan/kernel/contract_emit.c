// SPDX-License-Identifier: MIT
/*
 * Emits a contraction step by step. The loads of a step come before the instructions of the step
 * before, so that they overlap. Tiles of data and filter stay in a few slots of SRAM and are loaded
 * again only after they were evicted.
 */
#include "plan/list/split.h"
#include "plan/kernel/contract_event.h"
#include "plan/kernel/pack.h"

#include <string.h>

#include "util/malloc.h"

/* ---- events in loop order */

/* Fills in *e for event `number` of the loops: the tile of the result and the step of its sum. */
static void event_at(const struct contract *c, const struct contract_tile *t, uint64_t number,
		     struct contract_event *e)
{
	static const int order[2][CD_RANK] = {
		{ CD_G, CD_N, CD_B, CD_H, CD_W },
		{ CD_G, CD_B, CD_H, CD_W, CD_N },
	};

	e->step = number % t->steps;
	e->tile = number / t->steps;
	e->s = contract_step_at(c, t, e->step);
	number = e->tile;
	for (int i = CD_RANK - 1; i >= 0; i--) {
		int d = order[t->n_inner][i];

		e->index[d] = number % t->grid[d];
		number /= t->grid[d];
		e->begin[d] = e->index[d] * t->tile[d];
		e->dim[d] = c->dim[d] - e->begin[d] < t->tile[d] ? c->dim[d] - e->begin[d] :
								   t->tile[d];
	}
}

/* ---- data: the slice of the operand that a tile reads, with padding around it */

/* Maps the positions of a data tile along one axis to rows of the operand. */
struct axis_map {
	int64_t count;		      /* number of positions */
	int64_t first, inside, every; /* the positions that hold data: first, number, distance */
	/* the operand's row for position `first`, and the rows from one position to the next */
	int64_t row, row_step;
};

static struct axis_map map_axis(const struct contract *c, int axis, int64_t begin, int64_t out,
				int64_t tap, int64_t taps)
{
	struct axis_map map = { .every = 1 };
	int64_t distance, up = c->up[axis], at, end = (c->in[axis] - 1) * up;

	map.count = contract_rows(c, axis, out, taps, &distance);
	at = begin * c->step[axis] + tap * c->dilation[axis] - c->pad[axis];
	while (map.first < map.count &&
	       (at + map.first * distance < 0 || (at + map.first * distance) % up))
		map.first++;
	at += map.first * distance;
	map.every = up / wnn_gcd(distance, up);
	map.row = at / up;
	map.row_step = distance * map.every / up;
	if (map.first < map.count && at <= end) {
		int64_t by_space = (int64_t)wnn_div_up(map.count - map.first, map.every);
		int64_t by_data = (end - at) / (distance * map.every) + 1;

		map.inside = by_space < by_data ? by_space : by_data;
	}
	return map;
}

static void fill_tile(struct contract_state *st, const struct npu_view *tile)
{
	struct plan_param param = plan_param_make(PLAN_FILL);
	struct npu_view view = *tile, *list[1] = { &view };

	param.fill.value = st->c->pad_value;
	views_simplify(list, 1);
	plan_emit(st->plan,
		  &(struct plan_insn){ .op = ONPU_OP_DMA_FILL, .dst = &view, .param = &param });
}

static void pad_tile(struct contract_state *st, struct npu_view tile, struct npu_view src,
		     const struct axis_map *map)
{
	struct plan_param param = plan_param_make(PLAN_PAD);
	struct npu_view *both[2] = { &tile, &src };
	uint32_t order[5] = { 0, 1, 2, 3, 4 };

	param.pad.value = st->c->pad_value;
	views_sort(both, 2, order);
	for (int i = 0; i < 5; i++)
		param.pad.lo[i] = order[i] == CA_H ? map[0].first :
				  order[i] == CA_W ? map[1].first :
						     0;
	plan_emit(st->plan,
		  &(struct plan_insn){
			  .op = ONPU_OP_DMA_PAD, .dst = &tile, .s0 = &src, .param = &param });
}

/* Sets e->a_view to the slice of data in SRAM that a tile reads, padding around it included. */
static void find_data(const struct contract *c, struct contract_event *e)
{
	const int64_t tap[2] = { e->s.kh, e->s.kw }, taps[2] = { e->s.khs, e->s.kws };
	int64_t distance;

	e->a_view = c->a;
	e->a_view.offset += e->begin[CD_G] * c->a.stride[CA_G] +
			    e->begin[CD_B] * c->a.stride[CA_B] + e->s.k * c->a.stride[CA_K];
	e->a_view.dim[CA_G] = c->a.stride[CA_G] ? e->dim[CD_G] : 1;
	e->a_view.dim[CA_B] = c->a.stride[CA_B] ? e->dim[CD_B] : 1;
	e->a_view.dim[CA_K] = e->s.ks;
	for (int i = 0; i < 2; i++) {
		int64_t at = e->begin[CD_H + i] * c->step[i] + tap[i] * c->dilation[i] - c->pad[i];

		e->a_view.offset += at * c->a.stride[CA_H + i];
		e->a_view.dim[CA_H + i] = contract_rows(c, i, e->dim[CD_H + i], taps[i], &distance);
		e->a_view.stride[CA_H + i] *= distance;
	}
}

/*
 * Sets e->a_view to the tile of data, and emits its load and padding unless SRAM has the tile
 * (`hit`).
 */
static void load_data(struct contract_state *st, struct contract_event *e, bool hit)
{
	const struct contract *c = st->c;
	struct axis_map map[2];
	struct npu_view src = c->a, inside;
	int64_t dim[5], part[5] = { e->begin[CD_G], e->begin[CD_B], 0, 0, e->s.k };

	map[0] = map_axis(c, 0, e->begin[CD_H], e->dim[CD_H], e->s.kh, e->s.khs);
	map[1] = map_axis(c, 1, e->begin[CD_W], e->dim[CD_W], e->s.kw, e->s.kws);
	/* An operand that repeats over groups or images is loaded once. */
	dim[CA_G] = c->a.stride[CA_G] ? e->dim[CD_G] : 1;
	dim[CA_B] = c->a.stride[CA_B] ? e->dim[CD_B] : 1;
	dim[CA_H] = contract_pitch(c, 0, map[0].count);
	dim[CA_W] = contract_pitch(c, 1, map[1].count);
	dim[CA_K] = e->s.ks;
	e->a_view = view_sram(e->a, c->a.dtype, 5, dim, c->a.stride);
	if (hit)
		return;
	if (map[0].inside < map[0].count || map[1].inside < map[1].count) {
		if (map[0].every > 1 || map[1].every > 1 || !map[0].inside || !map[1].inside)
			fill_tile(st, &e->a_view);
		if (!map[0].inside || !map[1].inside)
			return;
	}
	part[CA_H] = map[0].row;
	part[CA_W] = map[1].row;
	src = view_slice(&c->a, part, dim);
	inside = e->a_view;
	for (int i = 0; i < 2; i++) {
		src.dim[CA_H + i] = inside.dim[CA_H + i] = map[i].inside;
		src.stride[CA_H + i] *= map[i].row_step;
		inside.offset += map[i].first * inside.stride[CA_H + i];
		inside.stride[CA_H + i] *= map[i].every;
	}
	if (map[0].every == 1 && map[1].every == 1 &&
	    (map[0].inside < map[0].count || map[1].inside < map[1].count))
		pad_tile(st, e->a_view, src, map);
	else
		plan_transfer(st->plan, inside, src, false);
}

/* ---- filter: constants are packed so that the bytes of a tile are contiguous */

static void b_tile_dims(const struct contract_event *e, int64_t *dim)
{
	dim[CB_G] = e->dim[CD_G];
	dim[CB_KH] = e->s.khs;
	dim[CB_KW] = e->s.kws;
	dim[CB_K] = e->s.ks;
	dim[CB_N] = e->dim[CD_N];
}

/*
 * Returns the view of a filter tile in SRAM. A packed filter has its dims in the order in which the
 * instruction reads them: matrix instructions have the channels of the result (CB_N) innermost and
 * groups outermost; window instructions have these channels innermost, then groups. Other filters
 * keep the order of their strides.
 */
struct npu_view contract_filter_view(const struct contract *c, uint64_t address, const int64_t *dim)
{
	static const int64_t mma[5] = { 5, 4, 3, 2, 1 }, window[5] = { 2, 5, 4, 3, 1 };

	return view_sram(address, c->b.dtype, 5, dim,
			 !c->b_constant && !c->weights ? c->b.stride :
			 contract_is_mma(c)	       ? mma :
							 window);
}

/* How a tile is copied from a constant filter: byte offset, strides of both sides, dims. */
struct recipe {
	int64_t from, stride[PACK_RANK], to_stride[PACK_RANK], dim[PACK_RANK];
	uint32_t size; /* bytes of an element */
};

static void write_packed(const struct plan_section *section, uint8_t *to)
{
	const struct recipe *r = section->recipe;

	pack_copy(to, r->to_stride, (const uint8_t *)section->source[0]->data + r->from, r->stride,
		  r->dim, r->size);
}

void contract_pack(struct plan *plan, const struct contract *c, const struct npu_view *tile,
		   int64_t from, uint64_t at)
{
	struct recipe recipe = { .from = from, .size = plan_dtype_bytes(c->b.dtype) };

	memcpy(recipe.stride, c->b.stride, sizeof(recipe.stride));
	memcpy(recipe.to_stride, tile->stride, sizeof(recipe.to_stride));
	memcpy(recipe.dim, tile->dim, sizeof(recipe.dim));
	plan_constant_section(plan,
			      &(struct plan_section){ .at = at,
						      .bytes = tile->window_bytes,
						      .source = { c->b_constant },
						      .write = write_packed,
						      .recipe = &recipe },
			      sizeof(recipe));
}

static void pack_tile(struct plan *plan, const struct contract *c, const struct contract_event *e,
		      uint64_t at)
{
	const int64_t begin[5] = { e->begin[CD_G], e->s.kh, e->s.kw, e->s.k, e->begin[CD_N] };
	struct npu_view tile;
	int64_t dim[5], from = c->b_offset;

	b_tile_dims(e, dim);
	for (int i = 0; i < 5; i++)
		from += begin[i] * c->b.stride[i];
	tile = contract_filter_view(c, 0, dim);
	contract_pack(plan, c, &tile, from, at);
}

static uint64_t b_tile_index(const struct contract_tile *t, const struct contract_event *e)
{
	return (e->index[CD_G] * t->grid[CD_N] + e->index[CD_N]) * t->steps + e->step;
}

/*
 * Sets p->packed[b_tile_index()] to the offset of each filter tile: the tiles lie one after the
 * other in the order in which the loops read them. Adds the bytes of all tiles to p->packed_bytes.
 * Returns 0, or -1: no memory.
 */
static int place_filter(const struct contract *c, const struct contract_tile *order, uint64_t count,
			struct contract_prepared *p)
{
	p->packed = wnn_calloc(count, sizeof(*p->packed));
	for (uint64_t i = 0; p->packed && i < count; i++) {
		struct contract_event e;
		int64_t dim[5];

		event_at(c, order, i, &e);
		b_tile_dims(&e, dim);
		p->packed[b_tile_index(&p->t, &e)] = p->packed_bytes;
		p->packed_bytes += c->weights ? weights_bytes(c, &p->t, e.s.ks, e.dim[CD_N]) :
						contract_filter_view(c, 0, dim).window_bytes;
	}
	return p->packed ? 0 : -1;
}

static void pack_tiles(struct plan *plan, const struct contract *c, struct contract_prepared *p)
{
	const struct contract_tile *t = &p->t;
	uint64_t count = t->grid[CD_G] * t->grid[CD_N] * t->steps;
	struct contract_tile one = *t;

	one.grid[CD_B] = one.grid[CD_H] = one.grid[CD_W] = 1;
	if (place_filter(c, &one, count, p)) {
		plan_nomem(plan);
		return;
	}
	p->packed_base = constants_take(&plan->constants, p->packed_bytes);
	for (uint64_t i = 0; !plan->constants.dry && i < count; i++) {
		struct contract_event e;
		uint64_t at;

		event_at(c, &one, i, &e);
		at = p->packed_base + p->packed[b_tile_index(t, &e)];
		if (c->weights)
			weights_pack(plan, c, t, &e.s, e.begin[CD_N], e.dim[CD_N], at);
		else
			pack_tile(plan, c, &e, at);
	}
}

/*
 * Loads a packed filter tile, unless SRAM has it (`hit`), and dequantises it, unless SRAM has the
 * dequantised tile or the matrix unit reads packed tiles.
 */
static void load_weights(struct contract_state *st, struct contract_event *e, const int64_t *dim,
			 bool hit)
{
	uint64_t tile = b_tile_index(st->t, e);
	bool is_wide = st->c->weights->direct;

	e->b_view = is_wide ?
			    weights_view(st->c, st->t, dim, e->b) :
			    contract_filter_view(st->c,
						 pool_get(&st->wide, (int64_t)tile, &is_wide), dim);
	if (!hit)
		weights_load(st->plan, e->b, weights_bytes(st->c, st->t, e->s.ks, e->dim[CD_N]),
			     st->p, st->p->packed[tile]);
	if (!is_wide)
		weights_unpack(st->plan, st->c, st->t, &e->b_view, e->b);
}

/* Loads a filter tile from all slices of the filter that it overlaps. */
static void load_slices(struct contract_state *st, const struct contract_event *e,
			const int64_t *begin, const int64_t *dim)
{
	const struct contract_slices *slices = st->c->slices;
	int axis = slices->axis;
	int64_t at = 0, end = begin[axis] + dim[axis];

	for (uint32_t i = 0; i < slices->count; i++) {
		const struct npu_view *slice = &slices->view[i];
		int64_t next = at + slice->dim[axis], to[5] = { 0 }, from[5], part[5];
		int64_t lo = begin[axis] > at ? begin[axis] : at, hi = end < next ? end : next;

		memcpy(from, begin, sizeof(from));
		memcpy(part, dim, sizeof(part));
		from[axis] = lo - at;
		to[axis] = lo - begin[axis];
		part[axis] = hi - lo;
		at = next;
		if (lo < hi)
			plan_transfer(st->plan, view_slice(&e->b_view, to, part),
				      view_slice(slice, from, part), false);
	}
}

static void load_filter(struct contract_state *st, struct contract_event *e, bool hit)
{
	const struct contract *c = st->c;
	int64_t begin[5] = { e->begin[CD_G], e->s.kh, e->s.kw, e->s.k, e->begin[CD_N] }, dim[5];
	struct npu_view src;

	b_tile_dims(e, dim);
	if (c->b_here) {
		e->b_view = view_slice(&c->b, begin, dim);
		return;
	}
	if (c->weights) {
		load_weights(st, e, dim, hit);
		return;
	}
	e->b_view = contract_filter_view(c, e->b, dim);
	if (hit)
		return;
	if (c->slices) {
		load_slices(st, e, begin, dim);
		return;
	}
	src = e->b_view;
	if (c->b_constant) {
		src.base = NPU_BASE_CONST;
		src.window = st->p->packed_base;
		src.window_bytes = st->p->packed_bytes;
		src.offset = st->p->packed[b_tile_index(st->t, e)];
	} else {
		src = view_slice(&c->b, begin, dim);
	}
	plan_transfer(st->plan, e->b_view, src, false);
}

static void load_event(struct contract_state *st, struct contract_event *e)
{
	const struct contract_tile *t = st->t;
	uint64_t place = ((e->index[CD_G] * t->grid[CD_B] + e->index[CD_B]) * t->grid[CD_H] +
			  e->index[CD_H]) *
				 t->grid[CD_W] +
			 e->index[CD_W];
	bool hit;

	/*
	 * The filter comes first: most filters are constants, whose transfer need not wait for an
	 * earlier node.
	 */
	if (st->c->b.rank) {
		e->b = pool_get(&st->b, b_tile_index(t, e), &hit);
		load_filter(st, e, hit);
	}
	for (uint32_t i = 0; i < st->c->num_extras; i++)
		contract_load_extra(st, e, i);
	if (st->c->a_here) {
		find_data(st->c, e);
		return;
	}
	e->a = pool_get(&st->a, place * t->steps + e->step, &hit);
	load_data(st, e, hit);
}

/* ---- computing */

/*
 * Returns a view of the data with the dims of the result: for each result, the element under its
 * first tap.
 */
static struct npu_view walk_data(const struct contract *c, const struct contract_event *e)
{
	struct npu_view view = e->a_view;

	for (int i = CA_G; i <= CA_B; i++) {
		if (view.dim[i] == 1)
			view.stride[i] = 0;
		view.dim[i] = e->dim[i];
	}
	for (int i = 0; i < 2; i++) {
		int64_t distance;

		contract_rows(c, i, 1, i ? e->s.kws : e->s.khs, &distance);
		view.dim[CA_H + i] = e->dim[CD_H + i];
		view.stride[CA_H + i] *= c->step[i] / distance;
	}
	return view;
}

static struct plan_param tap_loops(const struct contract *c, const struct contract_event *e)
{
	struct plan_param param = plan_param_make(PLAN_TAPS);
	const int64_t count[2] = { e->s.khs, e->s.kws };

	param.zero_a = c->zero_a;
	param.zero_b = c->zero_b;
	param.taps[0].count = 1;
	for (int i = 0; i < 2; i++) {
		struct plan_loop *loop = &param.taps[1 + i];

		loop->count = count[i];
		if (count[i] == 1)
			continue;
		loop->s0_step = c->dilation[i] * e->a_view.stride[CA_H + i];
		loop->s1_step = c->b.rank ? e->b_view.stride[CB_KH + i] : 0;
	}
	return param;
}

static void emit_mma(struct contract_state *st, const struct contract_event *e,
		     const struct npu_view *dst)
{
	struct npu_view d = *dst, a = walk_data(st->c, e), b = e->b_view;
	struct npu_view *all[3] = { &d, &a, &b };
	struct plan_param param = tap_loops(st->c, e);
	int64_t n_stride = d.stride[CD_N], k_stride = a.stride[CA_K];
	bool has_param = e->s.khs * e->s.kws > 1 || param.zero_a || param.zero_b;
	bool scales = st->c->op == ONPU_OP_MMA_W && st->c->weights->scale;
	struct npu_view scale;

	/* Merges the dims of positions first; then appends n and k. */
	for (int i = 0; i < 4; i++) {
		b.dim[i] = d.dim[i];
		b.stride[i] = i == CD_G ? e->b_view.stride[CB_G] : 0;
	}
	d.rank = a.rank = b.rank = 4;
	views_simplify(all, 3);
	view_append(&d, e->dim[CD_N], n_stride);
	view_append(&a, e->s.ks, k_stride);
	view_append(&b, e->s.ks, e->b_view.stride[CB_K]);
	view_append(&b, e->dim[CD_N], e->b_view.stride[CB_N]);
	if (scales)
		scale = weights_scales(st->c, st->t, e->s.ks, e->dim[CD_N], e->b);
	plan_emit(st->plan, &(struct plan_insn){
				    .op = st->c->op,
				    .dst = &d,
				    .s0 = &a,
				    .s1 = &b,
				    .s2 = scales ? &scale : NULL,
				    .piece = st->c->piece,
				    .acc = e->step > 0,
				    .param = has_param ? &param : NULL,
			    });
}

/* Returns a further operand of one element, repeated over the dims of `data`. */
static struct npu_view repeat_extra(const struct contract_state *st, const struct contract_event *e,
				    int i, const struct npu_view *data)
{
	struct npu_view view = *data, one;
	const int64_t dim[CD_RANK] = { 1, 1, 1, 1, 1 };

	one = view_sram(e->extra[i], st->c->extra[i].mem.dtype, CD_RANK, dim,
			st->c->extra[i].mem.stride);
	memcpy(one.dim, view.dim, sizeof(one.dim));
	memset(one.stride, 0, sizeof(one.stride));
	return one;
}

/*
 * Emits the dequantisation of a data tile to float32: window instructions add up floats only, no
 * integers.
 */
static void convert_data(struct contract_state *st, struct contract_event *e)
{
	struct npu_view real = view_sram(st->real, ONPU_DT_F32, 5, e->a_view.dim, st->c->a.stride);
	struct npu_view dst = real, src = e->a_view;
	struct npu_view scale = repeat_extra(st, e, st->c->real_scale - 1, &src);
	struct npu_view zero = repeat_extra(st, e, st->c->real_zero - 1, &src);
	struct npu_view *all[4] = { &dst, &src, &scale, &zero };

	views_simplify(all, 4);
	plan_emit(st->plan, &(struct plan_insn){ .op = ONPU_OP_DEQUANT,
						 .dst = &dst,
						 .s0 = &src,
						 .s1 = &scale,
						 .s2 = &zero });
	e->a_view = real;
}

static void emit_window(struct contract_state *st, const struct contract_event *event,
			const struct npu_view *dst)
{
	struct contract_event here = *event, *e = &here;
	struct npu_view d = *dst, a, b = e->b_view;
	struct npu_view *all[3] = { &d, &a, &b };
	struct plan_param param;
	bool filter = st->c->b.rank > 0;

	if (st->c->real_scale)
		convert_data(st, e);
	param = tap_loops(st->c, e);
	a = walk_data(st->c, e);

	a.dim[CD_N] = d.dim[CD_N];
	a.stride[CD_N] = 0;
	for (int i = 0; i < CD_RANK; i++) {
		b.dim[i] = d.dim[i];
		b.stride[i] = i == CD_G ? e->b_view.stride[CB_G] :
			      i == CD_N ? e->b_view.stride[CB_N] :
					  0;
	}
	b.rank = CD_RANK;
	views_simplify(all, filter ? 3 : 2);
	plan_emit(st->plan, &(struct plan_insn){
				    .op = st->c->op,
				    .dst = &d,
				    .s0 = &a,
				    .s1 = filter ? &b : NULL,
				    .param = &param,
				    .acc = e->step > 0 || st->c->begin,
			    });
}

/*
 * Reports a node as inexact when a sum of several instructions may have other bits than that of a
 * single one. The bits are equal when the terms keep their order and no partial sum is divided, or
 * when the sum is exact.
 */
static void note_order(struct contract_state *st, const struct contract_event *e)
{
	const struct contract *c = st->c;
	const struct contract_step *s = &e->s;
	bool together = (s->ks == c->k || s->khs * s->kws == 1) &&
			(s->kws == c->taps[1] || s->khs == 1);

	if (c->exact)
		return;
	if (!e->step)
		st->summed = 0;
	if (!together || (c->piece && s->k % (ONPU_PIECE_UNIT << c->piece)) ||
	    st->summed != (s->kh * c->taps[1] + s->kw) * c->k + s->k)
		plan_inexact(st->plan, NPU_SPLIT_K);
	st->summed += s->khs * s->kws * s->ks;
}

/* Emits a step of the sum of a tile; after the last step, also the epilogue and the store. */
static void run_event(struct contract_state *st, const struct contract_event *e)
{
	const struct contract *c = st->c;
	const struct contract_tile *t = st->t;
	uint32_t slot = e->tile % t->acc_slots;
	bool same = contract_in_place(c);
	struct npu_view acc, out, mem = view_slice(&c->out, e->begin, e->dim);

	out = view_sram((same ? st->acc + slot * t->acc_bytes : st->out + slot * t->out_bytes),
			c->out.dtype, CD_RANK, e->dim, c->out.stride);
	if (c->out_here)
		out = mem;
	acc = t->direct ? out :
			  view_sram(st->acc + slot * t->acc_bytes, c->acc_dtype, CD_RANK, e->dim,
				    c->out.stride);
	if (same)
		acc.dtype = c->acc_dtype;
	note_order(st, e);
	if (c->begin && !e->step)
		contract_begin(st, e, &acc);
	if (contract_is_mma(c))
		emit_mma(st, e, &acc);
	else
		emit_window(st, e, &acc);
	if (e->step + 1 < t->steps)
		return;
	contract_posts(st, e, acc, out);
	if (!c->out_here)
		plan_transfer(st->plan, mem, out, true);
}

/* Assigns SRAM addresses to all tiles of the contraction. Returns 0, or not 0: no memory. */
static int place(struct contract_state *st)
{
	const struct contract_tile *t = st->t;
	uint64_t at = plan_take_sram(st->plan, t->bytes);
	int ret;

	ret = pool_init(&st->a, &at, t->a_bytes, t->a_slots);
	ret |= pool_init(&st->b, &at, t->b_bytes, t->b_slots);
	ret |= pool_init(&st->wide, &at, t->wide_bytes, t->wide_bytes ? WEIGHTS_SLOTS : 0);
	for (uint32_t i = 0; i < st->c->num_extras; i++) {
		ret |= pool_init(&st->extra[i], &at, t->extra_bytes[i], t->extra_slots[i]);
		st->scaled[i] = at;
		at += t->scaled_bytes[i];
	}
	st->real = at;
	st->spare = at += t->real_bytes;
	st->acc = at += t->spare_bytes;
	at += t->acc_bytes * t->acc_slots;
	st->out = at;
	return ret;
}

/* Forgets all loaded tiles: the program may be cut at a pause, after which SRAM is empty. */
static void forget_operands(struct contract_state *st)
{
	pool_forget(&st->a);
	pool_forget(&st->b);
	pool_forget(&st->wide);
	for (uint32_t i = 0; i < st->c->num_extras; i++)
		pool_forget(&st->extra[i]);
}

static void run_events(struct contract_state *st)
{
	uint64_t count = st->t->tiles * st->t->steps;
	struct contract_event now, next;

	event_at(st->c, st->t, 0, &now);
	load_event(st, &now);
	for (uint64_t i = 0; i < count && !st->plan->report.failed; i++) {
		bool pause = (i + 1) % st->t->steps == 0 && plan_pause(st->plan);

		if (i + 1 < count) {
			event_at(st->c, st->t, i + 1, &next);
			if (!pause)
				load_event(st, &next);
		}
		run_event(st, &now);
		if (i + 1 < count && pause) {
			forget_operands(st);
			load_event(st, &next);
		}
		now = next;
	}
}

/* Returns true if no tap reaches beyond the data in SRAM and the padding that is around it. */
static bool reaches_data(const struct contract *c)
{
	for (int i = 0; i < 2; i++) {
		int64_t lo = c->pad[i], hi = (c->dim[CD_H + i] - 1) * c->step[i] +
					     (c->taps[i] - 1) * c->dilation[i] - c->pad[i] -
					     (c->in[i] - 1);

		if (c->up[i] != 1 || lo > c->halo[i][0] || hi > c->halo[i][1] ||
		    ((lo > 0 || hi > 0) && c->pad_value != c->halo_value))
			return false;
	}
	return true;
}

void contract_find_resident(struct contract *c)
{
	c->a_here = c->a.base == NPU_BASE_NONE && reaches_data(c);
	c->b_here = c->b.rank && !c->b_constant && !c->weights && !c->slices &&
		    c->b.base == NPU_BASE_NONE;
	c->out_here = c->out.base == NPU_BASE_NONE &&
		      !(c->a_here && views_share_window(&c->out, &c->a)) &&
		      !(c->b_here && views_share_window(&c->out, &c->b));
	for (uint32_t i = 0; i < c->num_extras; i++)
		c->extra[i].here = c->extra[i].mem.base == NPU_BASE_NONE &&
				   !(c->out_here && views_share_window(&c->out, &c->extra[i].mem));
}

bool contract_prepare(struct plan *plan, const struct contract *c, struct contract_prepared *p)
{
	*p = (struct contract_prepared){ .packed = NULL };
	plan_kernel(plan, c->kernel);
	if (!contract_choose(plan, c, &p->t))
		plan_no_tile(plan, c->kernel, p->t.bytes);
	else if (p->t.tiles * p->t.steps > plan_node_insns(plan))
		plan_too_long(plan);
	else if (c->b_constant || c->weights)
		pack_tiles(plan, c, p);
	return !plan->report.failed;
}

void contract_run(struct plan *plan, const struct contract *c, const struct contract_prepared *p)
{
	struct contract_state st = { .plan = plan, .c = c, .t = &p->t, .p = p };

	if (place(&st))
		plan_nomem(plan);
	else
		run_events(&st);
	plan_tiles(plan, p->t.tiles);
	pool_free(&st.a);
	pool_free(&st.b);
	pool_free(&st.wide);
	for (uint32_t i = 0; i < c->num_extras; i++)
		pool_free(&st.extra[i]);
}

void contract_done(struct contract_prepared *p)
{
	wnn_free(p->packed);
}

void contract_emit(struct plan *plan, const struct contract *c)
{
	struct contract_prepared prepared;
	struct contract known = *c;

	contract_find_resident(&known);
	if (contract_prepare(plan, &known, &prepared))
		contract_run(plan, &known, &prepared);
	contract_done(&prepared);
}

void contract_emit_again(struct plan *plan, const struct contract *c, struct contract_prepared *p)
{
	struct contract known = *c;

	contract_find_resident(&known);
	/*
	 * Tiles that were chosen for data in memory do not fit data in SRAM, nor the other way
	 * round.
	 */
	if (!p->t.tiles || !p->t.a_bytes != known.a_here) {
		if (!contract_prepare(plan, &known, p))
			return;
	}
	contract_run(plan, &known, p);
}
