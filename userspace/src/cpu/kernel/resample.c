// SPDX-License-Identifier: MIT
/*
 * Fast resampling. With the two axes in ascending order the tensor is [outer, A, middle, B, inner].
 * Linear: two blocks of A are blended into one, then the elements of B in that block; integers are
 * blended one by one, exactly. Nearest: runs of `inner` are copied.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

struct position {
	int64_t lo, hi;
	float weight; /* weight of hi */
	int64_t rest; /* weight of hi in units of 1 / (2 * out) */
};

struct plan {
	enum ir_dtype dtype;
	size_t element;
	int64_t outer, a_in, a_out, middle, b_in, b_out, inner;
	struct position *a, *b;
	/* linear only, as floats: two blocks of the input, their blend, a block of the output */
	float *row[2], *blend, *result;
};

/*
 * Sets the positions from which the `out` results are computed. Result i lies at (i + 0.5) * in /
 * out - 0.5, limited to the elements that exist. 2 * out times this number is an integer, so that
 * halves are exact.
 */
static void set_positions(struct position *p, int64_t in, int64_t out, bool linear)
{
	for (int64_t i = 0; i < out; i++) {
		int64_t doubled = (2 * i + 1) * in, at = doubled - out, most = (in - 1) * 2 * out;

		if (linear) {
			at = at < 0 ? 0 : at > most ? most : at;
			p[i].lo = at / (2 * out);
			p[i].rest = at % (2 * out);
			p[i].weight = (float)((double)p[i].rest / (double)(2 * out));
			p[i].hi = p[i].lo + (p[i].rest > 0);
			continue;
		}
		/* ceil(doubled / (2 * out) - 1): a half is rounded down. */
		at = (doubled + 2 * out - 1) / (2 * out) - 1;
		p[i] = (struct position){ at, at, 0, 0 };
	}
}

static void load_block(const char *p, int64_t n, float *to)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = wnn_half_to_float(((const uint16_t *)p)[i]);
}

static void store_block(const float *from, int64_t n, char *p)
{
	for (int64_t i = 0; i < n; i++)
		((uint16_t *)p)[i] = wnn_float_to_half(from[i]);
}

/*
 * Blends two rows. With a weight of 0 it leaves `hi` out: an infinite element times 0 would be NaN.
 */
static void blend_line(const float *lo, const float *hi, float weight, float *to, int64_t n)
{
	if (weight == 0) {
		memcpy(to, lo, (size_t)n * sizeof(*to));
		return;
	}
	for (int64_t i = 0; i < n; i++)
		to[i] = lo[i] * (1 - weight) + hi[i] * weight;
}

static void blend_row(const struct plan *p, const float *from, float *to)
{
	if (p->inner > 1) {
		for (int64_t b = 0; b < p->b_out; b++)
			blend_line(from + p->b[b].lo * p->inner, from + p->b[b].hi * p->inner,
				   p->b[b].weight, to + b * p->inner, p->inner);
		return;
	}
	for (int64_t b = 0; b < p->b_out; b++) {
		float weight = p->b[b].weight, lo = from[p->b[b].lo];

		to[b] = weight == 0 ? lo : lo * (1 - weight) + from[p->b[b].hi] * weight;
	}
}

/*
 * Returns block @index of the input as floats. A block of float16 is converted to a row of
 * p->row[]; @held has the indices of the blocks in these rows, at first -1. Calls ask for blocks in
 * ascending order, so that a block stays for the next result.
 */
static const float *block(struct plan *p, const char *x, int64_t index, int64_t *held)
{
	int64_t n = p->middle * p->b_in * p->inner;
	int slot = held[0] == index ? 0 : 1;

	if (p->dtype == IR_F32)
		return (const float *)x + index * n;
	if (held[slot] != index) {
		/* Blocks are requested in ascending order, so the lower one is not needed again. */
		slot = held[0] < held[1] ? 0 : 1;
		load_block(x + (size_t)(index * n) * p->element, n, p->row[slot]);
		held[slot] = index;
	}
	return p->row[slot];
}

static void linear_item(struct plan *p, const char *x, char *y)
{
	int64_t in = p->b_in * p->inner, out = p->b_out * p->inner, held[2] = { -1, -1 };

	for (int64_t a = 0; a < p->a_out; a++) {
		const float *lo = block(p, x, p->a[a].lo, held);
		const float *hi = block(p, x, p->a[a].hi, held);
		float *to = p->dtype == IR_F32 ? (float *)y : p->result;

		blend_line(lo, hi, p->a[a].weight, p->blend, p->middle * in);
		for (int64_t m = 0; m < p->middle; m++)
			blend_row(p, p->blend + m * in, to + m * out);
		if (p->dtype != IR_F32)
			store_block(to, p->middle * out, y);
		y += (size_t)(p->middle * out) * p->element;
	}
}

/* Returns n / d for d > 0, rounded to the nearest integer, ties to even. */
#define DIVIDE(type)                                                                \
	static int64_t divide_##type(type n, type d)                                \
	{                                                                           \
		type whole = n / d - (n % d < 0), twice = 2 * (n - whole * d);      \
                                                                                    \
		return (int64_t)(whole + (twice > d || (twice == d && whole % 2))); \
	}

__extension__ typedef __int128 wide;

DIVIDE(int64_t)
DIVIDE(wide)

/* Returns one integer result. It is rounded once, at the end, so that ties are exact. */
static int64_t blend_integers(const struct plan *p, const struct position *a,
			      const struct position *b, const int64_t at[4])
{
	int64_t a_units = 2 * p->a_out, b_units = 2 * p->b_out;
	int64_t lo = at[0] * (b_units - b->rest) + at[1] * b->rest;
	int64_t hi = at[2] * (b_units - b->rest) + at[3] * b->rest;

	/*
	 * If the units are small enough, 64 bits hold every number here: the largest is an 8-bit
	 * integer times both units.
	 */
	if (p->a_out < INT32_MAX >> 7 && p->b_out < INT32_MAX >> 7)
		return divide_int64_t(lo * (a_units - a->rest) + hi * a->rest, a_units * b_units);
	return divide_wide((wide)lo * (a_units - a->rest) + (wide)hi * a->rest,
			   (wide)a_units * b_units);
}

static void integer_item(const struct plan *p, const char *x, char *y)
{
	int64_t line = p->b_in * p->inner, block = p->middle * line;

	for (int64_t a = 0; a < p->a_out; a++) {
		const char *rows[2] = { x + p->a[a].lo * block, x + p->a[a].hi * block };

		for (int64_t i = 0; i < p->middle * p->b_out * p->inner; i++) {
			const struct position *b = &p->b[i / p->inner % p->b_out];
			int64_t from = i / p->inner / p->b_out * line + i % p->inner, at[4];

			for (int k = 0; k < 4; k++)
				at[k] = cpu_load_int(p->dtype, rows[k / 2],
						     from + (k % 2 ? b->hi : b->lo) * p->inner);
			*y++ = (char)blend_integers(p, &p->a[a], b, at);
		}
	}
}

#define PICK(bytes)                            \
	for (int64_t b = 0; b < p->b_out; b++) \
	memcpy(y + (size_t)b * (bytes), x + (size_t)p->b[b].lo * (bytes), bytes)

static void pick_row(const struct plan *p, const char *x, char *y)
{
	size_t run = (size_t)p->inner * p->element;

	/* Copies of a constant size are single instructions. */
	switch (run) {
	case 1:
		PICK(1);
		break;
	case 2:
		PICK(2);
		break;
	case 4:
		PICK(4);
		break;
	default:
		PICK(run);
	}
}

static void nearest_item(struct plan *p, const char *x, char *y)
{
	size_t in = (size_t)(p->b_in * p->inner) * p->element;
	size_t out = (size_t)(p->b_out * p->inner) * p->element, size = (size_t)p->middle * out;

	for (int64_t a = 0; a < p->a_out; a++, y += size) {
		const char *from = x + (size_t)(p->a[a].lo * p->middle) * in;

		if (a && p->a[a].lo == p->a[a - 1].lo) {
			memcpy(y, y - size, size);
			continue;
		}
		for (int64_t m = 0; m < p->middle; m++)
			pick_row(p, from + (size_t)m * in, y + (size_t)m * out);
	}
}

/* Allocates all scratch memory in one block; -1: no memory. */
static int allocate(struct cpu_context *cpu, struct plan *p, bool linear, struct wnn_error *err)
{
	size_t in = (size_t)(p->middle * p->b_in * p->inner);
	size_t out = (size_t)(p->middle * p->b_out * p->inner), floats = 0;
	size_t positions = (size_t)(p->a_out + p->b_out);

	if (linear && ir_dtype_is_float(p->dtype))
		floats = p->dtype == IR_F32 ? in : 3 * in + out;
	p->a = cpu_scratch(cpu, positions * sizeof(*p->a) + floats * sizeof(float));
	if (!p->a)
		return wnn_error_nomem(err, "the rows of resample2d");
	p->b = p->a + p->a_out;
	p->blend = (float *)(p->a + positions);
	p->row[0] = p->blend + in;
	p->row[1] = p->row[0] + in;
	p->result = p->row[1] + in;
	return 0;
}

int cpu_resample(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		 void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	uint32_t a = node->attrs.resample.axes[0], b = node->attrs.resample.axes[1];
	bool linear = node->attrs.resample.linear;
	struct plan p = { .dtype = node->results[0]->type.dtype };
	int64_t x_item, y_item;

	if (a > b) {
		uint32_t t = a;

		a = b;
		b = t;
	}
	p.element = ir_dtype_bits(p.dtype) / 8;
	p.a_in = x.dim[a];
	p.a_out = y.dim[a];
	p.b_in = x.dim[b];
	p.b_out = y.dim[b];
	p.inner = x.stride[b];
	p.middle = x.stride[a] / (p.b_in * p.inner);
	x_item = p.a_in * x.stride[a];
	y_item = p.a_out * y.stride[a];
	p.outer = x.count / x_item;
	if (allocate(cpu, &p, linear, err))
		return -1;
	set_positions(p.a, p.a_in, p.a_out, linear);
	set_positions(p.b, p.b_in, p.b_out, linear);
	for (int64_t o = 0; o < p.outer; o++) {
		const char *from = (const char *)in[0] + (size_t)(o * x_item) * p.element;
		char *to = (char *)out[0] + (size_t)(o * y_item) * p.element;

		if (!linear)
			nearest_item(&p, from, to);
		else if (ir_dtype_is_float(p.dtype))
			linear_item(&p, from, to);
		else
			integer_item(&p, from, to);
	}
	return 0;
}
