// SPDX-License-Identifier: MIT
/*
 * Lowers topk: the indices of the first k elements of each row in order. Each element becomes an
 * entry, an integer whose high half is the key of the element and whose low half is the element's
 * distance from the end of the row. Larger entries come first; no two are equal, and of equal
 * elements the first comes first. Rows of entries are cut into chunks, and each chunk is sorted by
 * a bitonic network; then the better half of each pair of chunks stays, until one is left. A step
 * of the network is a maximum and a minimum of all pairs, so that the time does not depend on data.
 */
#include "plan/kernel/vprog.h"
#include "plan/list/plan.h"
#include "plan/lower/lower.h"
#include "plan/place/place.h"

#include <string.h>

/* The most elements of a row whose indices fit into 16 bits, beside keys of 16 bits. */
#define SHORT_ROW UINT16_MAX
/* Numbers that instructions broadcast from SRAM: 1, 0, and the entry that comes last. */
enum { NUMBER_ONE, NUMBER_ZERO, NUMBER_LAST, NUMBERS };

enum { MARKS = 3 }; /* arrays of truth values, for compare() and float_keys() */

struct topk {
	struct plan *plan;
	bool max;
	bool wide;     /* keys have 64 bits, and the positions are in arrays of their own */
	uint32_t axis; /* its elements are a row */
	/*
	 * The types of a key, of an entry (with wide keys, the key), and of a position, which
	 * counts from the end of the row.
	 */
	uint8_t key, entry, position;
	int64_t size;	     /* bytes of an entry */
	int64_t n, k, chunk; /* elements and results of a row; entries of a chunk, a power of 2 */
	struct npu_view src, dst;
	int64_t tile[IR_MAX_RANK]; /* the extents of a tile of the input */
	int64_t rows, length;	   /* rows of a tile; the most entries of one of its rows */
	uint64_t tiles;		   /* tiles along all dims but the axis */
	/*
	 * Addresses of the current tile: a step reads entries and positions with index `from`, and
	 * writes the others. The NUMBER_ constants serve all tiles.
	 */
	uint64_t entries[2], positions[2], in, out, mark[MARKS], numbers;
	int from;
};

static void choose_types(struct topk *t)
{
	uint32_t bytes = plan_dtype_bytes(t->src.dtype);

	t->wide = bytes == 8;
	t->key = t->entry = ONPU_DT_I64;
	t->position = ONPU_DT_I32;
	if (bytes <= 2 && t->n <= SHORT_ROW) {
		t->key = ONPU_DT_I16;
		t->entry = ONPU_DT_I32;
		t->position = ONPU_DT_U16;
	} else if (!t->wide) {
		t->key = ONPU_DT_I32;
	}
	t->size = plan_dtype_bytes(t->entry);
}

/* ---- tiles */

/* Assigns addresses from `at` on to what a tile needs; returns their end. */
static uint64_t lay_out(struct topk *t, uint64_t at)
{
	bool is_sliced = t->tile[t->axis] < t->n;
	int64_t elements = t->tile[t->axis], entries;

	t->rows = 1;
	for (uint32_t i = 0; i < t->src.rank; i++)
		if (i != t->axis)
			t->rows *= t->tile[i];
	/* The first chunk of a slice of a row has the best entries of the slices before. */
	t->length = ((int64_t)wnn_div_up(elements, t->chunk) + is_sliced) * t->chunk;
	entries = t->rows * t->length;
	for (int i = 0; i < 2; i++) {
		t->entries[i] = at;
		at += plan_align(entries * t->size);
		t->positions[i] = at;
		at += t->wide ? plan_align(entries * 4) : 0;
	}
	t->in = at;
	/* float_keys() writes reversed keys over the loaded elements. */
	at += plan_align(t->rows * elements *
			 (plan_dtype_bytes(t->src.dtype) > plan_dtype_bytes(t->key) ?
				  plan_dtype_bytes(t->src.dtype) :
				  plan_dtype_bytes(t->key)));
	t->out = at;
	at += plan_align(t->rows * t->k * plan_dtype_bytes(t->dst.dtype));
	for (int i = 0; i < MARKS; i++) {
		t->mark[i] = at;
		at += i && !t->wide ? 0 : plan_align(entries);
	}
	return at;
}

/* Divides the rows, and at last each row, until a tile fits; false: none does. */
static bool choose_tile(struct topk *t, uint64_t budget)
{
	uint32_t d;

	memcpy(t->tile, t->src.dim, sizeof(t->tile));
	while (lay_out(t, 0) > budget) {
		for (d = 0; d < t->src.rank && (d == t->axis || t->tile[d] == 1); d++)
			;
		if (d == t->src.rank) {
			d = t->axis;
			if (t->tile[d] <= t->chunk)
				return false;
			t->tile[d] = (int64_t)wnn_align_up(t->tile[d] / 2, t->chunk);
		} else {
			t->tile[d] = (t->tile[d] + 1) / 2;
		}
	}
	t->tiles = 1;
	for (d = 0; d < t->src.rank; d++)
		if (d != t->axis)
			t->tiles *= wnn_div_up(t->src.dim[d], t->tile[d]);
	return true;
}

/* ---- views */

/*
 * Some entries of each row: `blocks` blocks of `count` entries; the first block begins at entry
 * `first`, and each other one `step` entries after the one before.
 */
struct range {
	int64_t blocks, step, first, count;
	bool backward;
};

static struct npu_view array_view(const struct topk *t, uint64_t address, uint8_t dtype,
				  const struct range *r)
{
	int64_t size = plan_dtype_bytes(dtype);
	struct npu_view view = {
		.base = NPU_BASE_NONE,
		.dtype = dtype,
		.rank = 3,
		.window = address,
		.window_bytes = (uint64_t)(t->rows * t->length * size),
		.offset = (r->first + (r->backward ? r->count - 1 : 0)) * size,
		.dim = { t->rows, r->blocks, r->count },
		.stride = { t->length * size, r->step * size, r->backward ? -size : size },
	};

	return view;
}

static struct npu_view entries_at(const struct topk *t, int buffer, const struct range *r)
{
	return array_view(t, t->entries[buffer], t->entry, r);
}

static struct npu_view positions_at(const struct topk *t, int buffer, const struct range *r)
{
	return array_view(t, t->positions[buffer], t->position, r);
}

/*
 * Returns the keys or the positions of entries: parts of each entry, or with wide keys one of the
 * two arrays.
 */
static struct npu_view half_of(const struct topk *t, struct npu_view entries,
			       struct npu_view positions, bool key)
{
	if (t->wide)
		return key ? entries : positions;
	entries.dtype = key ? t->key : t->position;
	entries.offset += key ? t->size / 2 : 0;
	return entries;
}

/* Returns a view of rows with the dims of a tile of values. */
static struct npu_view as_tile(const struct topk *t, struct npu_view view, const int64_t *dim)
{
	int64_t row = view.stride[0], element = view.stride[2];

	view.rank = t->src.rank;
	for (uint32_t i = view.rank; i-- > 0;) {
		view.dim[i] = dim[i];
		view.stride[i] = i == t->axis ? element : row;
		row *= i == t->axis ? 1 : dim[i];
	}
	return view;
}

/* Returns a view of a NUMBER_ constant, broadcast to the dims of another view. */
static struct npu_view number_like(const struct topk *t, int number, uint8_t dtype,
				   const struct npu_view *like)
{
	struct npu_view view = *like;

	view.dtype = dtype;
	view.window = t->numbers + (uint64_t)number * 8;
	view.window_bytes = 8;
	view.offset = 0;
	memset(view.stride, 0, sizeof(view.stride));
	return view;
}

/* ---- instructions */

static void emit(const struct topk *t, enum onpu_op op, const struct npu_view *dst,
		 const struct npu_view *a, const struct npu_view *b, const struct npu_view *c)
{
	plan_emit(t->plan, &(struct plan_insn){ .op = op, .dst = dst, .s0 = a, .s1 = b, .s2 = c });
}

/* Emits dst = alpha * x + beta; for floats, alpha and beta are the bits of float32 numbers. */
static void emit_linear(const struct topk *t, const struct npu_view *dst, const struct npu_view *x,
			int64_t alpha, int64_t beta)
{
	struct plan_param param = plan_param_make(PLAN_SCALAR);

	param.scalar.alpha = (uint64_t)alpha;
	param.scalar.beta = (uint64_t)beta;
	plan_emit(t->plan, &(struct plan_insn){
				   .op = ONPU_OP_VLINEAR, .dst = dst, .s0 = x, .param = &param });
}

/* ---- entries */

/*
 * Makes keys of floats: the bits of positive ones, and those of negative ones with their order
 * reversed. Adding 0 makes -0 equal to 0, and every NaN the one whose bits are above infinity's.
 */
static void float_keys(const struct topk *t, const struct npu_view *keys, const struct npu_view *in)
{
	bool half = keys->dtype == ONPU_DT_I16;
	struct npu_view floats = *keys, negative, reversed, zero;

	floats.dtype = half ? ONPU_DT_F16 : ONPU_DT_F32;
	emit_linear(t, &floats, in, (int64_t)vp_f32(1), 0);
	zero = number_like(t, NUMBER_ZERO, keys->dtype, keys);
	negative = view_sram((uint32_t)t->mark[0], ONPU_DT_U8, in->rank, in->dim, in->stride);
	reversed = view_sram((uint32_t)t->in, keys->dtype, in->rank, in->dim, in->stride);
	emit(t, ONPU_OP_VLT, &negative, keys, &zero, NULL);
	emit_linear(t, &reversed, keys, -1, half ? INT16_MAX : INT32_MAX);
	emit(t, ONPU_OP_VWHERE, keys, &negative, &reversed, keys);
}

/* Makes keys of the loaded elements: signed integers, of which the largest comes first. */
static void make_keys(const struct topk *t, struct npu_view keys, struct npu_view in)
{
	switch (in.dtype) {
	case ONPU_DT_F32:
	case ONPU_DT_F16:
		float_keys(t, &keys, &in);
		break;
	case ONPU_DT_U32:
		in.dtype = ONPU_DT_I32;
		emit_linear(t, &keys, &in, 1, INT32_MIN);
		break;
	case ONPU_DT_U64:
		in.dtype = ONPU_DT_I64;
		emit_linear(t, &keys, &in, 1, INT64_MIN);
		break;
	default:
		emit(t, ONPU_OP_CVT, &keys, &in, NULL, NULL);
	}
	if (!t->max)
		emit_linear(t, &keys, &keys, -1, -1);
}

/* Fills entries with the one that comes last. */
static void clear_entries(const struct topk *t, const struct range *r)
{
	struct npu_view entries = entries_at(t, t->from, r),
			positions = positions_at(t, t->from, r);
	struct npu_view number;

	if (!r->count)
		return;
	number = number_like(t, NUMBER_LAST, t->entry, &entries);
	emit(t, ONPU_OP_VMOV, &entries, &number, NULL, NULL);
	if (t->wide) {
		number = number_like(t, NUMBER_ZERO, t->position, &positions);
		emit(t, ONPU_OP_VMOV, &positions, &number, NULL, NULL);
	}
}

/*
 * Loads a slice of a tile's rows and makes entries of it, from entry `lead` on; returns the number
 * of chunks. `begin` and `dim` are those of the slice.
 */
static int64_t load(const struct topk *t, const int64_t *begin, const int64_t *dim, int64_t lead)
{
	int64_t count = dim[t->axis], used;
	struct range r = { 1, 0, lead, count, false };
	struct npu_view entries = entries_at(t, t->from, &r),
			positions = positions_at(t, t->from, &r);
	struct npu_view in, one;

	in = view_sram((uint32_t)t->in, t->src.dtype, t->src.rank, dim, t->src.stride);
	plan_transfer(t->plan, in, view_slice(&t->src, begin, dim), false);
	make_keys(t, as_tile(t, half_of(t, entries, positions, true), dim), in);

	/* Sums of ones from the end of a row on are the distances to the end. */
	positions = half_of(t, entries, positions, false);
	one = number_like(t, NUMBER_ONE, t->position, &positions);
	plan_emit(t->plan, &(struct plan_insn){ .op = ONPU_OP_SCAN_SUM,
						.dst = &positions,
						.s0 = &one,
						.axis = 2,
						.rev = true });
	if (begin[t->axis] + count < t->n)
		emit_linear(t, &positions, &positions, 1, t->n - begin[t->axis] - count);

	used = (int64_t)wnn_align_up(lead + count, t->chunk);
	r = (struct range){ 1, 0, lead + count, used - lead - count, false };
	clear_entries(t, &r);
	return used / t->chunk;
}

/* ---- the network */

/* Sets mark 0 where entry b comes before entry a; only for entries with wide keys. */
static void compare(const struct topk *t, const struct npu_view *a, const struct npu_view *b,
		    const struct npu_view *position_a, const struct npu_view *position_b,
		    struct npu_view *mark)
{
	struct npu_view marks[MARKS];
	int64_t like[IR_MAX_RANK] = { 4, 2, 1 };

	for (int i = 0; i < MARKS; i++)
		marks[i] = view_sram((uint32_t)t->mark[i], ONPU_DT_U8, 3, a->dim, like);
	emit(t, ONPU_OP_VLT, &marks[0], a, b, NULL);
	emit(t, ONPU_OP_VEQ, &marks[1], a, b, NULL);
	emit(t, ONPU_OP_VLT, &marks[2], position_a, position_b, NULL);
	emit(t, ONPU_OP_VAND, &marks[1], &marks[1], &marks[2], NULL);
	emit(t, ONPU_OP_VOR, &marks[0], &marks[0], &marks[1], NULL);
	*mark = marks[0];
}

/*
 * Compares entries of two ranges one by one, and puts those that come first at the positions of the
 * first range in the other buffer; with `both`, the others go to the positions of the second.
 */
static void exchange(const struct topk *t, const struct range *first, const struct range *second,
		     bool both)
{
	int from = t->from, to = !t->from;
	struct npu_view a = entries_at(t, from, first), b = entries_at(t, from, second),
			better = entries_at(t, to, first), worse = entries_at(t, to, second),
			position_a, position_b, mark;

	if (t->wide) {
		position_a = positions_at(t, from, first);
		position_b = positions_at(t, from, second);
		compare(t, &a, &b, &position_a, &position_b, &mark);
	}
	emit(t, ONPU_OP_VMAX, &better, &a, &b, NULL);
	if (both)
		emit(t, ONPU_OP_VMIN, &worse, &a, &b, NULL);
	if (t->wide) {
		better = positions_at(t, to, first);
		worse = positions_at(t, to, second);
		emit(t, ONPU_OP_VWHERE, &better, &mark, &position_b, &position_a);
		if (both)
			emit(t, ONPU_OP_VWHERE, &worse, &mark, &position_a, &position_b);
	}
}

/*
 * Exchanges the halves of all blocks of `size` entries; backward: reads the second half from its
 * end.
 */
static void exchange_halves(struct topk *t, int64_t chunks, int64_t size, bool backward)
{
	struct range first = { chunks * t->chunk / size, size, 0, size / 2, false };
	struct range second = { first.blocks, size, size / 2, size / 2, backward };

	exchange(t, &first, &second, true);
	t->from = !t->from;
}

static void sort_chunks(struct topk *t, int64_t chunks)
{
	for (int64_t size = 2; size <= t->chunk; size *= 2) {
		exchange_halves(t, chunks, size, true);
		for (int64_t part = size / 2; part > 1; part /= 2)
			exchange_halves(t, chunks, part, false);
	}
}

/*
 * Keeps the better half of the entries of the first and the last chunk, of the second and the last
 * but one, and so on. Returns the number of chunks that are left.
 */
static int64_t merge_chunks(struct topk *t, int64_t chunks)
{
	int64_t pairs = chunks / 2, rest = chunks - pairs, count = pairs * t->chunk;
	struct range first = { 1, 0, 0, count, false };
	struct range second = { 1, 0, rest * t->chunk, count, true };
	struct range middle = { 1, 0, count, (rest - pairs) * t->chunk, false };

	exchange(t, &first, &second, false);
	if (middle.count) {
		struct npu_view dst = entries_at(t, !t->from, &middle),
				src = entries_at(t, t->from, &middle);

		emit(t, ONPU_OP_VMOV, &dst, &src, NULL, NULL);
		dst = positions_at(t, !t->from, &middle);
		src = positions_at(t, t->from, &middle);
		if (t->wide)
			emit(t, ONPU_OP_VMOV, &dst, &src, NULL, NULL);
	}
	t->from = !t->from;
	for (int64_t part = t->chunk; part > 1; part /= 2)
		exchange_halves(t, rest, part, false);
	return rest;
}

/* ---- rows */

/* Stores the indices of the first k entries. */
static void store(const struct topk *t, const int64_t *begin, const int64_t *dim)
{
	struct range r = { 1, 0, 0, t->k, false };
	struct npu_view entries = entries_at(t, t->from, &r),
			positions = positions_at(t, t->from, &r);
	int64_t at[IR_MAX_RANK], extent[IR_MAX_RANK];
	struct npu_view out;

	memcpy(at, begin, sizeof(at));
	memcpy(extent, dim, sizeof(extent));
	at[t->axis] = 0;
	extent[t->axis] = t->k;
	out = view_sram((uint32_t)t->out, t->dst.dtype, t->dst.rank, extent, t->dst.stride);
	positions = as_tile(t, half_of(t, entries, positions, false), extent);
	emit(t, ONPU_OP_CVT, &out, &positions, NULL, NULL);
	emit_linear(t, &out, &out, -1, t->n);
	plan_transfer(t->plan, view_slice(&t->dst, at, extent), out, true);
}

/* Emits the rows of a tile, slice by slice; `begin` and `dim` are those of the whole rows. */
static void emit_rows(struct topk *t, int64_t *begin, int64_t *dim)
{
	int64_t part = t->tile[t->axis], lead = part < t->n ? t->chunk : 0;

	t->from = 0;
	t->rows = 1;
	for (uint32_t i = 0; i < t->src.rank; i++)
		t->rows *= i == t->axis ? 1 : dim[i];
	clear_entries(t, &(struct range){ 1, 0, 0, lead, false });
	for (int64_t at = 0; at < t->n && !t->plan->report.failed; at += part) {
		int64_t chunks;

		begin[t->axis] = at;
		dim[t->axis] = part < t->n - at ? part : t->n - at;
		chunks = load(t, begin, dim, lead);
		sort_chunks(t, chunks);
		while (chunks > 1)
			chunks = merge_chunks(t, chunks);
		plan_tiles(t->plan, 1);
	}
	store(t, begin, dim);
}

static void load_numbers(const struct topk *t)
{
	uint64_t numbers[NUMBERS] = { [NUMBER_ONE] = 1 };
	const int64_t bytes = sizeof(numbers), stride = 1;
	struct npu_view to, from;

	/* The least signed integer, of 32 or 64 bits. */
	numbers[NUMBER_LAST] = UINT64_C(1) << (8 * t->size - 1);
	to = view_sram((uint32_t)t->numbers, ONPU_DT_U8, 1, &bytes, &stride);
	from = to;
	from.base = NPU_BASE_CONST;
	from.window = plan_constant(t->plan, numbers, sizeof(numbers));
	plan_transfer(t->plan, to, from, false);
}

/*
 * Chooses tiles; returns how many have room in SRAM at the same time: with two, the next one is
 * loaded while the current one is sorted. 0: no tile fits.
 */
static uint32_t choose(struct topk *t)
{
	uint64_t room = plan_sram(t->plan) - plan_align(NUMBERS * 8);

	if (choose_tile(t, room) && t->tiles == 1)
		return 1;
	return choose_tile(t, room / 2) ? 2 : choose_tile(t, room);
}

void lower_topk(struct plan *plan, const struct ir_node *node)
{
	struct topk t = {
		.plan = plan,
		.max = node->attrs.arg.max,
		.axis = node->attrs.arg.axis,
		.src = values_view(plan, node->operands[0]),
		.dst = values_view(plan, node->results[0]),
	};
	uint64_t bytes;
	uint32_t buffers;

	t.n = t.src.dim[t.axis];
	t.k = t.dst.dim[t.axis];
	for (t.chunk = 1; t.chunk < t.k;)
		t.chunk *= 2;
	choose_types(&t);
	buffers = choose(&t);
	bytes = lay_out(&t, 0);
	plan_kernel(plan, "vector topk");
	if (!buffers) {
		plan_no_tile(plan, "topk", bytes + plan_align(NUMBERS * 8));
		return;
	}
	t.numbers = plan_take_sram(plan, plan_align(NUMBERS * 8) + buffers * bytes);
	load_numbers(&t);
	for (uint64_t i = 0; i < t.tiles && !plan->report.failed; i++) {
		int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK];
		uint64_t at = t.numbers + plan_align(NUMBERS * 8) + i % buffers * bytes, index = i;

		lay_out(&t, at);
		/*
		 * Notes where the values of the tile begin: keys and positions are interleaved, so
		 * that no write fills a range of SRAM.
		 */
		plan_birth(plan, (int64_t)at, (int64_t)(at + bytes));
		for (uint32_t d = t.src.rank; d-- > 0;) {
			int64_t count = d == t.axis ? 1 :
						      (int64_t)wnn_div_up((uint64_t)t.src.dim[d],
									  (uint64_t)t.tile[d]);

			begin[d] = (int64_t)(index % (uint64_t)count) * t.tile[d];
			dim[d] = t.src.dim[d] - begin[d];
			dim[d] = dim[d] < t.tile[d] ? dim[d] : t.tile[d];
			index /= (uint64_t)count;
		}
		emit_rows(&t, begin, dim);
	}
}
