// SPDX-License-Identifier: MIT
/* Sliding windows and resampling. */
#include <string.h>

#include "math/resample_axis.h"
#include "machine/sim.h"
#include "machine/walk.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0
#define S1  ONPU_OPERAND_S1

struct window {
	const struct sim_context *c;
	const struct sim_work *w;
	enum kernel_reduce op;
	bool mac;
};

static void accumulate_f32(const struct window *r, bool first, float *acc, const float *x,
			   const float *factor, size_t n)
{
	const struct onpu_kernels *k = r->c->kernels;

	if (r->mac)
		k->mac(acc, x, factor, n);
	else if (first && r->op == RED_MAX)
		memcpy(acc, x, n * sizeof(*acc));
	else
		k->accumulate[r->op](acc, x, n);
}

static void window_tap_f32(const struct window *r, const struct walk_block *p, bool first,
			   float *acc)
{
	const struct sim_tensor *t = r->w->t;
	float in[2][KERNEL_CHUNK];

	if (!walk_has_rows(&t[S0], p, S0) || (r->mac && !walk_has_rows(&t[S1], p, S1))) {
		const float *x = walk_load_f32(r->c, &t[S0], p, S0, in[0]);
		const float *y = r->mac ? walk_load_f32(r->c, &t[S1], p, S1, in[1]) : NULL;

		accumulate_f32(r, first, acc, x, y, walk_block_size(p));
		return;
	}
	for (uint32_t row = 0; row < p->rows; row++)
		accumulate_f32(r, first, acc + (size_t)row * p->columns, walk_row(r->c, p, S0, row),
			       r->mac ? walk_row(r->c, p, S1, row) : NULL, p->columns);
}

static void window_tap_s64(const struct window *r, const struct walk_block *p, bool first,
			   int64_t *acc)
{
	int64_t in[KERNEL_CHUNK];
	const int64_t *x = walk_load_s64(r->c, &r->w->t[S0], p, S0, in);
	size_t n = walk_block_size(p);

	if (first)
		memcpy(acc, x, n * sizeof(*acc));
	else
		r->c->kernels->s64_accumulate[RED_MAX](acc, x, n, sim_int_type(r->w->t[S0].dtype));
}

/* Accumulates all taps into @f or @s, whichever is not NULL. */
static void window_taps(const struct window *r, const struct walk_block *p, float *f, int64_t *s)
{
	const struct onpu_slot_param_taps_loop *l = r->w->param.taps.loop;
	bool first = !r->w->insn.acc;
	uint64_t done = 0;
	struct walk_block q = *p;

	for (uint32_t i = 0; i < l[0].count; i++) {
		for (uint32_t j = 0; j < l[1].count; j++) {
			for (uint32_t k = 0; k < l[2].count; k++) {
				if (sim_stop(r->c, done++))
					return;
				q.at[S0] = p->at[S0] + sim_tap_offset(r->w, S0, i, j, k);
				if (r->mac)
					q.at[S1] = p->at[S1] + sim_tap_offset(r->w, S1, i, j, k);
				if (f)
					window_tap_f32(r, &q, first, f);
				else
					window_tap_s64(r, &q, first, s);
				first = false;
			}
		}
	}
}

static void window_f32(void *arg, const struct walk_block *p)
{
	const struct window *r = arg;
	const struct sim_tensor *d = &r->w->t[DST];
	float acc[KERNEL_CHUNK];
	size_t n = walk_block_size(p);

	if (r->w->insn.acc) {
		const float *old = walk_load_f32(r->c, d, p, DST, acc);

		if (old != acc)
			memcpy(acc, old, n * sizeof(*acc));
	} else {
		memset(acc, 0, n * sizeof(*acc));
	}
	window_taps(r, p, acc, NULL);
	walk_store_f32(r->c, d, p, DST, acc);
}

static void window_s64(void *arg, const struct walk_block *p)
{
	const struct window *r = arg;
	const struct sim_tensor *d = &r->w->t[DST];
	int64_t acc[KERNEL_CHUNK];

	if (r->w->insn.acc) {
		const int64_t *old = walk_load_s64(r->c, d, p, DST, acc);

		if (old != acc)
			memcpy(acc, old, walk_block_size(p) * sizeof(*acc));
	}
	window_taps(r, p, NULL, acc);
	walk_store_s64(r->c, d, p, DST, acc);
}

void sim_window(struct sim_context *c, const struct sim_work *w)
{
	struct window r = {
		.c = c,
		.w = w,
		.op = w->insn.op == ONPU_OP_WIN_MAX ? RED_MAX :
		      w->insn.op == ONPU_OP_WIN_SUM ? RED_SUM :
						      RED_SUMSQ,
		.mac = w->insn.op == ONPU_OP_WIN_MAC,
	};
	struct walk walk;

	walk_init(&walk, w->t[DST].rank, w->t[DST].dim);
	walk_tensor(&walk, &w->t[DST]);
	walk_tensor(&walk, &w->t[S0]);
	if (r.mac)
		walk_tensor(&walk, &w->t[S1]);
	walk.takes_rows = w->t[DST].dtype == ONPU_DT_F32 && w->t[S0].dtype == ONPU_DT_F32 &&
			  (!r.mac || w->t[S1].dtype == ONPU_DT_F32);
	walk_run(&walk, c, true, sim_is_float(w->t[DST].dtype) ? window_f32 : window_s64, &r);
}

/* ---- Resampling: walks over the other dimensions, for each pair of coordinates ---- */

/* Byte offsets in S0 of the two neighbours along an axis, and the weight of the second. */
struct neighbours {
	int64_t first, second;
	float fraction;
	int64_t rest; /* the fraction in units of 1 / (2 * out_size) */
};

struct resample {
	const struct sim_context *c;
	const struct sim_work *w;
	bool linear;
	const struct neighbours *axis[2];
};

static void resample_copy(const struct resample *r, const struct walk_block *p)
{
	const struct sim_tensor *d = &r->w->t[DST], *s = &r->w->t[S0];
	kernel_copy copy = r->c->kernels->copy[sim_size(d->esize)];
	float buf[KERNEL_CHUNK];

	if (d->dtype != s->dtype) {
		walk_store_f32(r->c, d, p, DST, walk_load_f32(r->c, s, p, S0, buf));
		return;
	}
	for (uint32_t i = 0; i < p->rows; i++)
		copy(sim_at(r->c, p->at[DST] + i * p->row_step[DST]), p->step[DST],
		     sim_at(r->c, p->at[S0] + i * p->row_step[S0]), p->step[S0], p->columns);
}

static struct walk_block corner(const struct walk_block *p, int64_t offset)
{
	struct walk_block q = *p;

	q.at[S0] += offset;
	return q;
}

static void lerp_floats(const struct resample *r, const struct walk_block *p,
			const struct neighbours *a, const struct neighbours *b)
{
	const struct onpu_kernels *k = r->c->kernels;
	const struct sim_tensor *d = &r->w->t[DST], *s = &r->w->t[S0];
	float in[2][KERNEL_CHUNK], weight[KERNEL_CHUNK], row[2][KERNEL_CHUNK];
	size_t n = walk_block_size(p);

	for (size_t i = 0; i < n; i++)
		weight[i] = b->fraction;
	for (unsigned int i = 0; i < 2; i++) {
		int64_t at = i ? a->second : a->first;
		struct walk_block x0 = corner(p, at + b->first), x1 = corner(p, at + b->second);

		k->lerp(row[i], walk_load_f32(r->c, s, &x0, S0, in[0]),
			walk_load_f32(r->c, s, &x1, S0, in[1]), weight, n);
	}
	for (size_t i = 0; i < n; i++)
		weight[i] = a->fraction;
	k->lerp(row[0], row[0], row[1], weight, n);
	walk_store_f32(r->c, d, p, DST, row[0]);
}

/*
 * Interpolates integers exactly: the sums are in units of 1 / (units[0] * units[1]), and rounded
 * once.
 */
static void lerp_integers(const struct resample *r, const struct walk_block *p,
			  const struct neighbours *a, const struct neighbours *b)
{
	const struct sim_tensor *d = &r->w->t[DST], *s = &r->w->t[S0];
	int64_t buf[2][KERNEL_CHUNK], out[KERNEL_CHUNK], units[2];
	resample_s128 sum[KERNEL_CHUNK] = { 0 };
	size_t n = walk_block_size(p);

	for (unsigned int e = 0; e < 2; e++)
		units[e] = 2 * (int64_t)r->w->param.resample.out_size[e];
	for (unsigned int i = 0; i < 2; i++) {
		int64_t at = i ? a->second : a->first;
		int64_t row = i ? a->rest : units[0] - a->rest;
		struct walk_block x0 = corner(p, at + b->first), x1 = corner(p, at + b->second);
		const int64_t *u = walk_load_s64(r->c, s, &x0, S0, buf[0]);
		const int64_t *v = walk_load_s64(r->c, s, &x1, S0, buf[1]);

		for (size_t k = 0; k < n; k++)
			sum[k] +=
				(resample_s128)row * ((units[1] - b->rest) * u[k] + b->rest * v[k]);
	}
	for (size_t k = 0; k < n; k++)
		out[k] = sim_resample_round(sum[k], (resample_s128)units[0] * units[1]);
	walk_store_s64(r->c, d, p, DST, out);
}

static void resample_block(void *arg, const struct walk_block *p)
{
	const struct resample *r = arg;
	const struct onpu_slot_param_resample *param = &r->w->param.resample;
	const struct sim_tensor *d = &r->w->t[DST];
	struct walk_block q = *p;

	for (uint32_t i = 0; i < d->dim[param->axis0]; i++) {
		for (uint32_t j = 0; j < d->dim[param->axis1] && !sim_stop(r->c, j); j++) {
			const struct neighbours *a = &r->axis[0][i], *b = &r->axis[1][j];

			q.at[DST] = p->at[DST] + i * d->stride[param->axis0] +
				    j * d->stride[param->axis1];
			q.at[S0] = p->at[S0];
			if (!r->linear) {
				q = corner(&q, a->first + b->first);
				resample_copy(r, &q);
			} else if (sim_is_float(d->dtype)) {
				lerp_floats(r, &q, a, b);
			} else {
				lerp_integers(r, &q, a, b);
			}
		}
	}
}

static void fill_axis(const struct sim_work *w, unsigned int e, bool linear, struct neighbours *out)
{
	const struct onpu_slot_param_resample *p = &w->param.resample;
	const struct sim_resample_axis axis = { p->in_size[e], p->out_size[e] };
	unsigned int d = e ? p->axis1 : p->axis0;
	int64_t stride = w->t[S0].stride[d];

	for (uint32_t i = 0; i < w->t[DST].dim[d]; i++) {
		uint32_t o = p->out_base[e] + i;
		struct sim_resample_pair pair;

		if (linear) {
			pair = sim_resample_linear(&axis, o);
		} else {
			pair.i0 = pair.i1 = sim_resample_nearest(&axis, o);
			pair.fraction = 0.0f;
			pair.rest = 0;
		}
		out[i].first = stride * (int64_t)(pair.i0 - p->in_base[e]);
		out[i].second = stride * (int64_t)(pair.i1 - p->in_base[e]);
		out[i].fraction = pair.fraction;
		out[i].rest = pair.rest;
	}
}

bool sim_resample(struct sim_context *c, const struct sim_work *w)
{
	const struct onpu_slot_param_resample *p = &w->param.resample;
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	uint32_t rows = d->dim[p->axis0], columns = d->dim[p->axis1];
	struct neighbours *table = sim_scratch(c, ((size_t)rows + columns) * sizeof(*table));
	struct resample r = { c, w, w->insn.op == ONPU_OP_RESAMPLE_LINEAR, { table, table } };
	uint32_t dim[ONPU_MAX_RANK];
	int64_t dst[ONPU_MAX_RANK], src[ONPU_MAX_RANK];
	unsigned int rank = 0;
	struct walk walk;

	if (!table)
		return false;
	r.axis[1] = table + rows;
	fill_axis(w, 0, r.linear, table);
	fill_axis(w, 1, r.linear, table + rows);
	for (unsigned int i = 0; i < d->rank; i++) {
		if (i == p->axis0 || i == p->axis1)
			continue;
		dim[rank] = d->dim[i];
		dst[rank] = d->stride[i];
		src[rank++] = s->stride[i];
	}
	walk_init(&walk, rank, dim);
	walk_operand(&walk, d->start, dst);
	walk_operand(&walk, s->start, src);
	walk_run(&walk, c, true, resample_block, &r);
	return true;
}
