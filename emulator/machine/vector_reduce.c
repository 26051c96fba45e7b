// SPDX-License-Identifier: MIT
/*
 * Reductions. The architecture defines the order: element i of the reduced dimensions, row-major,
 * goes to lane i mod 16, and a fixed tree combines the lanes. The implementation chooses which
 * outputs it computes together: with a dense kept dimension, a vector of outputs takes one element
 * each at a time; otherwise one output takes 16 elements at a time.
 */
#include <string.h>

#include "machine/sim.h"
#include "math/types.h"
#include "machine/walk.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0

/* The least length of a kept dimension for which a vector of outputs pays. */
#define VECTOR_MIN 8
/* The least number of reduced elements for which a loop for each output pays. */
#define ALONG_MIN 64

struct reduce {
	const struct sim_context *c;
	const struct sim_work *w;
	enum kernel_reduce op, join;
	bool floats, across; /* across: compute vectors of outputs */
	const struct kernel_int *type;
	unsigned int rank; /* number of reduced dimensions; their arrays have the outermost first */
	uint32_t dim[ONPU_MAX_RANK];
	int64_t stride[ONPU_MAX_RANK];
	uint64_t count;
	int64_t lane_stride; /* stride of the lanes in the operand that holds them */
};

/* The lanes of a block, of floats or integers: [lane][output]. */
union lanes {
	float f[ONPU_REDUCE_LANES][KERNEL_CHUNK];
	int64_t s[ONPU_REDUCE_LANES][KERNEL_CHUNK];
};

static float identity_f32(enum kernel_reduce op)
{
	switch (op) {
	case RED_PROD:
		return 1.0f;
	case RED_MAX:
		return -__builtin_inff();
	case RED_MIN:
		return __builtin_inff();
	default:
		return 0.0f;
	}
}

static int64_t identity_s64(enum kernel_reduce op, const struct kernel_int *type)
{
	switch (op) {
	case RED_PROD:
		return 1;
	case RED_MAX:
		return type->min;
	case RED_MIN:
		return type->max;
	default:
		return 0;
	}
}

/*
 * Loads lanes from an operand whose last dimension is the lanes: S0 of an instruction with .lanes,
 * or DST of one with .part.acc.
 */
static void load_lanes(const struct reduce *r, const struct walk_block *p, unsigned int operand,
		       union lanes *lanes)
{
	const struct sim_tensor *t = &r->w->t[operand];
	struct walk_block q = *p;
	size_t n = walk_block_size(p);

	for (int l = 0; l < ONPU_REDUCE_LANES; l++, q.at[operand] += r->lane_stride) {
		if (r->floats) {
			const float *x = walk_load_f32(r->c, t, &q, operand, lanes->f[l]);

			if (x != lanes->f[l])
				memcpy(lanes->f[l], x, n * sizeof(*x));
		} else {
			const int64_t *x = walk_load_s64(r->c, t, &q, operand, lanes->s[l]);

			if (x != lanes->s[l])
				memcpy(lanes->s[l], x, n * sizeof(*x));
		}
	}
}

static void store_lanes(const struct reduce *r, const struct walk_block *p,
			const union lanes *lanes)
{
	struct walk_block q = *p;

	for (int l = 0; l < ONPU_REDUCE_LANES; l++, q.at[DST] += r->lane_stride) {
		if (r->floats)
			walk_store_f32(r->c, &r->w->t[DST], &q, DST, lanes->f[l]);
		else
			walk_store_s64(r->c, &r->w->t[DST], &q, DST, lanes->s[l]);
	}
}

static void start_lanes(const struct reduce *r, size_t n, union lanes *lanes)
{
	float f = identity_f32(r->op);
	int64_t s = identity_s64(r->op, r->type);

	for (int l = 0; l < ONPU_REDUCE_LANES; l++) {
		for (size_t i = 0; i < n; i++) {
			if (r->floats)
				lanes->f[l][i] = f;
			else
				lanes->s[l][i] = s;
		}
	}
}

static void combine_lanes(const struct reduce *r, size_t n, union lanes *lanes)
{
	const struct onpu_kernels *k = r->c->kernels;

	for (int w = ONPU_REDUCE_LANES / 2; w; w /= 2) {
		for (int j = 0; j < w; j++) {
			if (r->floats)
				k->accumulate[r->join](lanes->f[j], lanes->f[j + w], n);
			else
				k->s64_accumulate[r->join](lanes->s[j], lanes->s[j + w], n,
							   r->type);
		}
	}
}

/* Returns the offset of the next reduced element; at[] are its coordinates. */
static int64_t next_offset(const struct reduce *r, uint32_t *at, int64_t offset)
{
	for (unsigned int d = r->rank; d-- > 0;) {
		offset += r->stride[d];
		if (++at[d] < r->dim[d])
			break;
		offset -= r->stride[d] * r->dim[d];
		at[d] = 0;
	}
	return offset;
}

/* Reduces for a vector of outputs: each step takes one element for each of them. */
static void reduce_across(const struct reduce *r, const struct walk_block *p, union lanes *lanes)
{
	const struct onpu_kernels *k = r->c->kernels;
	const struct sim_tensor *s = &r->w->t[S0];
	uint32_t at[ONPU_MAX_RANK] = { 0 };
	struct walk_block q = *p;
	size_t n = walk_block_size(p);
	int64_t offset = 0;
	union {
		float f[KERNEL_CHUNK];
		int64_t s[KERNEL_CHUNK];
	} buf;

	for (uint64_t i = 0; i < r->count && !sim_stop(r->c, i); i++) {
		q.at[S0] = p->at[S0] + offset;
		if (r->floats)
			k->accumulate[r->op](lanes->f[i % ONPU_REDUCE_LANES],
					     walk_load_f32(r->c, s, &q, S0, buf.f), n);
		else
			k->s64_accumulate[r->op](lanes->s[i % ONPU_REDUCE_LANES],
						 walk_load_s64(r->c, s, &q, S0, buf.s), n, r->type);
		offset = next_offset(r, at, offset);
	}
}

/*
 * The next of the elements of S0 that are reduced to one output. They are copied into dense chunks;
 * each chunk but the last has a multiple of ONPU_REDUCE_LANES elements.
 */
struct gather {
	uint32_t at[ONPU_MAX_RANK]; /* index in the reduced dimensions */
	int64_t position;	    /* address */
	uint64_t left;		    /* number of elements that are not read yet */
};

static uint32_t gather_row(const struct reduce *r, struct gather *g, uint32_t room)
{
	unsigned int last = r->rank - 1;
	uint32_t n = r->dim[last] - g->at[last];

	n = n < room ? n : room;
	g->at[last] += n - 1;
	g->position += r->stride[last] * (int64_t)(n - 1);
	g->position = next_offset(r, g->at, g->position);
	g->left -= n;
	return n;
}

static void reduce_along_f32(const struct reduce *r, struct gather *g, float *lane)
{
	const struct onpu_kernels *k = r->c->kernels;
	const struct sim_tensor *s = &r->w->t[S0];
	kernel_load_f32 load = k->load_f32[s->dtype - ONPU_DT_F16];
	int64_t step = r->stride[r->rank - 1];
	float buf[KERNEL_CHUNK];

	if (r->rank == 1 && s->dtype == ONPU_DT_F32 && step == sizeof(float)) {
		k->lanes[r->op](lane, (const float *)sim_at(r->c, g->position), g->left);
		return;
	}
	for (uint64_t round = 0; g->left && !sim_stop(r->c, round); round++) {
		uint32_t n = 0;

		while (g->left && n < KERNEL_CHUNK) {
			const char *src = sim_at(r->c, g->position);
			uint32_t row = gather_row(r, g, KERNEL_CHUNK - n);

			load(buf + n, src, step, row);
			n += row;
		}
		k->lanes[r->op](lane, buf, n);
	}
}

static void reduce_along_s64(const struct reduce *r, struct gather *g, int64_t *lane)
{
	const struct onpu_kernels *k = r->c->kernels;
	kernel_load_s64 load = k->load_s64[r->w->t[S0].dtype];
	int64_t step = r->stride[r->rank - 1];
	int64_t buf[KERNEL_CHUNK];

	for (uint64_t round = 0; g->left && !sim_stop(r->c, round); round++) {
		uint32_t n = 0;

		while (g->left && n < KERNEL_CHUNK) {
			const char *src = sim_at(r->c, g->position);
			uint32_t row = gather_row(r, g, KERNEL_CHUNK - n);

			load(buf + n, src, step, row);
			n += row;
		}
		k->s64_lanes[r->op](lane, buf, n, r->type);
	}
}

/* Reduces for one output after the other, ONPU_REDUCE_LANES elements at a time. */
static void reduce_along(const struct reduce *r, const struct walk_block *p, union lanes *lanes)
{
	for (uint32_t i = 0; i < p->rows * p->columns; i++) {
		struct gather g = {
			.position = p->at[S0] + i / p->columns * p->row_step[S0] +
				    i % p->columns * p->step[S0],
			.left = r->count,
		};
		float f[ONPU_REDUCE_LANES];
		int64_t s[ONPU_REDUCE_LANES];

		if (r->floats) {
			for (int l = 0; l < ONPU_REDUCE_LANES; l++)
				f[l] = lanes->f[l][i];
			reduce_along_f32(r, &g, f);
			for (int l = 0; l < ONPU_REDUCE_LANES; l++)
				lanes->f[l][i] = f[l];
		} else {
			for (int l = 0; l < ONPU_REDUCE_LANES; l++)
				s[l] = lanes->s[l][i];
			reduce_along_s64(r, &g, s);
			for (int l = 0; l < ONPU_REDUCE_LANES; l++)
				lanes->s[l][i] = s[l];
		}
	}
}

static void reduce_block(void *arg, const struct walk_block *p)
{
	const struct reduce *r = arg;
	size_t n = walk_block_size(p);
	union lanes lanes;

	if (r->w->insn.lanes) {
		load_lanes(r, p, S0, &lanes);
	} else {
		if (r->w->insn.acc)
			load_lanes(r, p, DST, &lanes);
		else
			start_lanes(r, n, &lanes);
		(r->across ? reduce_across : reduce_along)(r, p, &lanes);
	}
	if (r->w->insn.part) {
		store_lanes(r, p, &lanes);
		return;
	}
	combine_lanes(r, n, &lanes);
	if (r->floats)
		walk_store_f32(r->c, &r->w->t[DST], p, DST, lanes.f[0]);
	else
		walk_store_s64(r->c, &r->w->t[DST], p, DST, lanes.s[0]);
}

/* Lists the reduced dimensions in order; neighbours merge where S0's strides allow it. */
static void reduced_dims(struct reduce *r, const struct sim_tensor *s, unsigned int axes)
{
	r->count = 1;
	for (unsigned int i = 0; i < s->rank; i++) {
		unsigned int last = r->rank - 1;

		if (!(axes >> i & 1) || s->dim[i] == 1)
			continue;
		r->count *= s->dim[i];
		if (r->rank && r->stride[last] == s->stride[i] * (int64_t)s->dim[i] &&
		    (uint64_t)r->dim[last] * s->dim[i] <= UINT32_MAX) {
			r->dim[last] *= s->dim[i];
			r->stride[last] = s->stride[i];
			continue;
		}
		r->dim[r->rank] = s->dim[i];
		r->stride[r->rank++] = s->stride[i];
	}
	if (!r->rank) {
		r->rank = 1;
		r->dim[0] = 1;
		r->stride[0] = 0;
	}
}

static enum kernel_reduce reduce_of(enum onpu_op op)
{
	switch (op) {
	case ONPU_OP_RSUM:
		return RED_SUM;
	case ONPU_OP_RPROD:
		return RED_PROD;
	case ONPU_OP_RMAX:
		return RED_MAX;
	case ONPU_OP_RMIN:
		return RED_MIN;
	case ONPU_OP_RSUMABS:
		return RED_SUMABS;
	default:
		return RED_SUMSQ;
	}
}

/* Sets up the walk over the outputs: the dimensions of S0 that @axes does not name. */
static void kept_walk(struct walk *walk, const struct sim_work *w, unsigned int rank,
		      unsigned int axes)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	uint32_t dim[ONPU_MAX_RANK];
	int64_t dst[ONPU_MAX_RANK], src[ONPU_MAX_RANK];
	unsigned int kept = 0;

	for (unsigned int i = 0; i < rank; i++) {
		if (axes >> i & 1)
			continue;
		dim[kept] = s->dim[i];
		dst[kept] = d->stride[i];
		src[kept++] = s->stride[i];
	}
	walk_init(walk, kept, dim);
	walk_operand(walk, d->start, dst);
	walk_operand(walk, s->start, src);
}

void sim_reduce(struct sim_context *c, const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	unsigned int q = s->rank - w->insn.lanes;
	struct reduce r = {
		.c = c,
		.w = w,
		.op = reduce_of(w->insn.op),
		.floats = sim_is_float(s->dtype),
		.type = sim_int_type(s->dtype),
	};
	struct walk walk;

	r.join = r.op == RED_SUMABS || r.op == RED_SUMSQ ? RED_SUM : r.op;
	if (w->insn.lanes)
		r.lane_stride = s->stride[q];
	else if (w->insn.part)
		r.lane_stride = d->stride[q];
	reduced_dims(&r, s, w->insn.lanes ? 0 : w->insn.axes);
	kept_walk(&walk, w, q, w->insn.axes);
	walk_simplify(&walk);
	r.across = walk.dim[walk.rank - 1] >= VECTOR_MIN &&
		   (walk.stride[S0][walk.rank - 1] == s->esize ||
		    r.stride[r.rank - 1] != s->esize || r.count < ALONG_MIN);
	walk_run(&walk, c, true, reduce_block, &r);
}

/* ---- Index of the extreme ---- */

struct arg {
	const struct sim_context *c;
	const struct sim_work *w;
	uint32_t count;
	int64_t stride, base;
	bool last, least;
	int is_unsigned;
};

static bool better_f32(const struct arg *r, float a, float b)
{
	if (b != b)
		return a == a || r->last;
	if (a != a)
		return false;
	return (r->least ? b < a : b > a) || (r->last && a == b);
}

static bool better_s64(const struct arg *r, int64_t a, int64_t b)
{
	const uint64_t flip = (uint64_t)r->is_unsigned << 63;
	int64_t x = (int64_t)((uint64_t)a ^ flip), y = (int64_t)((uint64_t)b ^ flip);

	return (r->least ? y < x : y > x) || (r->last && x == y);
}

static uint32_t best_f32(const struct arg *r, const char *src)
{
	kernel_load_f32 load = r->c->kernels->load_f32[r->w->t[S0].dtype - ONPU_DT_F16];
	float buf[KERNEL_CHUNK], best = 0;
	uint32_t index = 0;

	for (uint32_t i = 0; i < r->count && !sim_stop(r->c, i / KERNEL_CHUNK); i += KERNEL_CHUNK) {
		uint32_t n = r->count - i < KERNEL_CHUNK ? r->count - i : KERNEL_CHUNK;

		load(buf, src + i * r->stride, r->stride, n);
		for (uint32_t j = 0; j < n; j++) {
			if (i + j && !better_f32(r, best, buf[j]))
				continue;
			best = buf[j];
			index = i + j;
		}
	}
	return index;
}

static uint32_t best_s64(const struct arg *r, const char *src)
{
	kernel_load_s64 load = r->c->kernels->load_s64[r->w->t[S0].dtype];
	int64_t buf[KERNEL_CHUNK], best = 0;
	uint32_t index = 0;

	for (uint32_t i = 0; i < r->count && !sim_stop(r->c, i / KERNEL_CHUNK); i += KERNEL_CHUNK) {
		uint32_t n = r->count - i < KERNEL_CHUNK ? r->count - i : KERNEL_CHUNK;

		load(buf, src + i * r->stride, r->stride, n);
		for (uint32_t j = 0; j < n; j++) {
			if (i + j && !better_s64(r, best, buf[j]))
				continue;
			best = buf[j];
			index = i + j;
		}
	}
	return index;
}

static void arg_block(void *arg, const struct walk_block *p)
{
	const struct arg *r = arg;
	bool floats = sim_is_float(r->w->t[S0].dtype);
	int64_t out[KERNEL_CHUNK];

	for (uint32_t i = 0; i < p->rows * p->columns; i++) {
		const char *src = sim_at(r->c, p->at[S0] + i / p->columns * p->row_step[S0] +
						       i % p->columns * p->step[S0]);
		uint32_t index = floats ? best_f32(r, src) : best_s64(r, src);

		out[i] = (int64_t)((uint64_t)r->base + index);
	}
	walk_store_s64(r->c, &r->w->t[DST], p, DST, out);
}

void sim_arg(struct sim_context *c, const struct sim_work *w)
{
	const struct sim_tensor *s = &w->t[S0];
	struct arg r = {
		.c = c,
		.w = w,
		.count = s->dim[w->insn.axis],
		.stride = s->stride[w->insn.axis],
		.base = w->has_param ? (int64_t)w->param.scalar.alpha : 0,
		.last = w->insn.last,
		.least = w->insn.op == ONPU_OP_RARGMIN,
		.is_unsigned = sim_int_type(s->dtype)->is_unsigned,
	};
	struct walk walk;

	kept_walk(&walk, w, s->rank, 1u << w->insn.axis);
	walk_run(&walk, c, true, arg_block, &r);
}

/* ---- Cumulative sum ---- */

struct scan {
	const struct sim_context *c;
	const struct sim_work *w;
	uint32_t count;
	int64_t src, dst; /* strides along the axis, negative when reversed */
};

static void scan_f32(void *arg, const struct walk_block *block)
{
	const struct scan *r = arg;
	const struct sim_work *w = r->w;
	struct walk_block p = *block;
	size_t n = walk_block_size(block);
	float acc[KERNEL_CHUNK] = { 0 }, buf[KERNEL_CHUNK];

	if (w->t[2].present) {
		const float *carry = walk_load_f32(r->c, &w->t[2], &p, 2, acc);

		if (carry != acc)
			memcpy(acc, carry, n * sizeof(*acc));
	}
	for (uint32_t i = 0; i < r->count && !sim_stop(r->c, i); i++) {
		const float *x = walk_load_f32(r->c, &w->t[S0], &p, S0, buf);

		if (w->insn.excl)
			walk_store_f32(r->c, &w->t[DST], &p, DST, acc);
		r->c->kernels->accumulate[RED_SUM](acc, x, n);
		if (!w->insn.excl)
			walk_store_f32(r->c, &w->t[DST], &p, DST, acc);
		p.at[S0] += r->src;
		p.at[DST] += r->dst;
	}
	if (w->t[2].present)
		walk_store_f32(r->c, &w->t[2], &p, 2, acc);
}

static void scan_s64(void *arg, const struct walk_block *block)
{
	const struct scan *r = arg;
	const struct sim_work *w = r->w;
	const struct kernel_int *type = sim_int_type(w->t[S0].dtype);
	struct walk_block p = *block;
	size_t n = walk_block_size(block);
	int64_t acc[KERNEL_CHUNK] = { 0 }, buf[KERNEL_CHUNK];

	if (w->t[2].present) {
		const int64_t *carry = walk_load_s64(r->c, &w->t[2], &p, 2, acc);

		if (carry != acc)
			memcpy(acc, carry, n * sizeof(*acc));
	}
	for (uint32_t i = 0; i < r->count && !sim_stop(r->c, i); i++) {
		const int64_t *x = walk_load_s64(r->c, &w->t[S0], &p, S0, buf);

		if (w->insn.excl)
			walk_store_s64(r->c, &w->t[DST], &p, DST, acc);
		r->c->kernels->s64_accumulate[RED_SUM](acc, x, n, type);
		if (!w->insn.excl)
			walk_store_s64(r->c, &w->t[DST], &p, DST, acc);
		p.at[S0] += r->src;
		p.at[DST] += r->dst;
	}
	if (w->t[2].present)
		walk_store_s64(r->c, &w->t[2], &p, 2, acc);
}

void sim_scan(struct sim_context *c, const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0], *carry = &w->t[2];
	unsigned int axis = w->insn.axis;
	struct scan r = {
		.c = c,
		.w = w,
		.count = s->dim[axis],
		.src = w->insn.rev ? -s->stride[axis] : s->stride[axis],
		.dst = w->insn.rev ? -d->stride[axis] : d->stride[axis],
	};
	int64_t skip_src = w->insn.rev ? s->stride[axis] * (int64_t)(r.count - 1) : 0;
	int64_t skip_dst = w->insn.rev ? d->stride[axis] * (int64_t)(r.count - 1) : 0;
	int64_t strides[ONPU_MAX_RANK];
	unsigned int kept = 0;
	struct walk walk;

	kept_walk(&walk, w, s->rank, 1u << axis);
	walk.start[S0] += skip_src;
	walk.start[DST] += skip_dst;
	for (unsigned int i = 0; i < s->rank; i++) {
		if (i != axis)
			strides[kept++] = carry->present ? carry->stride[i] : 0;
	}
	walk_operand(&walk, carry->start, strides);
	walk_run(&walk, c, true, sim_is_float(s->dtype) ? scan_f32 : scan_s64, &r);
}
