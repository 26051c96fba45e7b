// SPDX-License-Identifier: MIT
/*
 * Fast quantisation in runs of elements that share a scale, or that have a scale each, one chunk at
 * a time. Rounding adds and subtracts a number so large that no fraction is left.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

/* The least elements of an item of work; even, since two elements may share a byte. */
#define GRAIN 16384
#define CHUNK 1024

/* The operands of a node that quantises or dequantises runs of elements. */
struct run {
	const struct cpu_simd *simd;
	enum ir_dtype real, integer;
	const void *in, *scale, *zero;
	void *out;
	bool narrow; /* the integers have at most 8 bits */
};

struct chunk {
	float scale[CHUNK];
	int32_t zero[CHUNK]; /* zero points; those of uint32 as bits */
	bool each; /* each element has its scale and zero point; else all have the first */
};

/* Returns floats from element `at` on: the elements themselves, or `to` with converted ones. */
static const float *reals(const struct run *r, const void *p, int64_t at, int64_t n, float *to)
{
	if (r->real == IR_F32)
		return (const float *)p + at;
	r->simd->from_halves(to, (const uint16_t *)p + at, n);
	return to;
}

/* Loads 4-bit elements by whole bytes; the first and the last may be half a byte. */
static void load_nibbles(enum ir_dtype dtype, const void *p, int64_t at, int64_t n, uint8_t *to)
{
	int64_t head = at & 1 && n, pairs = (n - head) / 2;
	const uint8_t *from = (const uint8_t *)p + (at + head) / 2;

	if (head)
		to[0] = ((const uint8_t *)p)[at / 2] >> 4;
	for (int64_t i = 0; i < pairs; i++) {
		to[head + 2 * i] = from[i] & 15;
		to[head + 2 * i + 1] = from[i] >> 4;
	}
	if (head + 2 * pairs < n)
		to[n - 1] = from[pairs] & 15;
	/* The values 8 to 15 of int4 are -8 to -1. */
	for (int64_t i = 0; dtype == IR_I4 && i < n; i++)
		to[i] = (uint8_t)((to[i] ^ 8) - 8);
}

/* Stores 4-bit elements. The upper half of the last byte is 0 until its element is stored. */
static void store_nibbles(void *p, int64_t at, int64_t n, const uint8_t *from)
{
	int64_t head = at & 1 && n, pairs = (n - head) / 2;
	uint8_t *to = (uint8_t *)p + (at + head) / 2;

	if (head)
		cpu_store_nibble(p, at, from[0]);
	for (int64_t i = 0; i < pairs; i++)
		to[i] = (uint8_t)((from[head + 2 * i] & 15) | from[head + 2 * i + 1] << 4);
	if (head + 2 * pairs < n)
		to[pairs] = from[n - 1] & 15;
}

static void load_integers(enum ir_dtype dtype, const void *p, int64_t at, int64_t n, int32_t *to)
{
	uint8_t bytes[CHUNK];
	const uint8_t *from = (const uint8_t *)p + at;

	if (ir_dtype_bits(dtype) == 32) {
		memcpy(to, (const int32_t *)p + at, (size_t)n * sizeof(*to));
		return;
	}
	if (ir_dtype_bits(dtype) < 8) {
		load_nibbles(dtype, p, at, n, bytes);
		from = bytes;
	}
	for (int64_t i = 0; i < n; i++)
		to[i] = ir_dtype_is_unsigned(dtype) ? from[i] : (int8_t)from[i];
}

/* Returns the number of a 32-bit integer type that has these bits. */
static double widen(enum ir_dtype dtype, int32_t bits)
{
	return dtype == IR_U32 ? (double)(uint32_t)bits : (double)bits;
}

static void quantize_wide(const float *x, const struct chunk *c, enum ir_dtype dtype, int64_t n,
			  uint32_t *to)
{
	double lo = (double)cpu_int_min(dtype), hi = (double)cpu_int_max(dtype);
	const double whole = 0x1.8p52;

	for (int64_t i = 0; i < n; i++) {
		int64_t k = c->each ? i : 0;
		double q = x[i] / c->scale[k];
		uint64_t bits;

		q = q != q ? 0 : q;
		q = q < -0x1p34 ? -0x1p34 : q;
		q = q > 0x1p34 ? 0x1p34 : q;
		q = (q + whole) - whole + widen(dtype, c->zero[k]);
		q = q < lo ? lo : q;
		q = q > hi ? hi : q;
		q += whole;
		memcpy(&bits, &q, sizeof(bits));
		to[i] = (uint32_t)bits;
	}
}

static struct cpu_quanta quanta_of(const struct run *r, const struct chunk *c)
{
	return (struct cpu_quanta){ .scale = c->scale,
				    .zero = c->zero,
				    .each = c->each,
				    .is_signed = !ir_dtype_is_unsigned(r->integer),
				    .least = (float)cpu_int_min(r->integer),
				    .most = (float)cpu_int_max(r->integer) };
}

static void quantize_chunk(const struct run *r, const struct chunk *c, int64_t at, int64_t n)
{
	const struct cpu_quanta quanta = quanta_of(r, c);
	uint8_t bytes[CHUNK];
	float own[CHUNK];
	const float *x = reals(r, r->in, at, n, own);

	if (!r->narrow) {
		quantize_wide(x, c, r->integer, n, (uint32_t *)r->out + at);
	} else if (ir_dtype_bits(r->integer) == 8) {
		r->simd->quantize(&quanta, (uint8_t *)r->out + at, x, n);
	} else {
		r->simd->quantize(&quanta, bytes, x, n);
		store_nibbles(r->out, at, n, bytes);
	}
}

/*
 * Dequantises a chunk. Differences of integers of at most 8 bits are exact in float, and so are
 * their products with a scale of float16, so that results are rounded once. Differences of 32-bit
 * integers are exact in double, in which their products are computed.
 */
static void dequantize_chunk(const struct run *r, const struct chunk *c, int64_t at, int64_t n)
{
	const struct cpu_quanta quanta = quanta_of(r, c);
	const uint8_t *x = (const uint8_t *)r->in + at;
	uint8_t bytes[CHUNK];
	float own[CHUNK], *y = r->real == IR_F32 ? (float *)r->out + at : own;

	if (!r->narrow) {
		for (int64_t i = 0; i < n; i++) {
			int64_t k = c->each ? i : 0;
			double v = widen(r->integer, ((const int32_t *)r->in)[at + i]) -
				   widen(r->integer, c->zero[k]);

			cpu_store(r->real, r->out, at + i, v * (double)c->scale[k]);
		}
		return;
	}
	if (ir_dtype_bits(r->integer) < 8) {
		load_nibbles(r->integer, r->in, at, n, bytes);
		x = bytes;
	}
	r->simd->dequantize(&quanta, y, x, n);
	if (r->real != IR_F32)
		r->simd->to_halves((uint16_t *)r->out + at, y, n);
}

/* Loads scales and zero points of a chunk from k on, or with `each` false those at k. */
static void load_chunk(const struct run *r, struct chunk *c, int64_t k, int64_t n, bool each)
{
	const float *scale = reals(r, r->scale, k, each ? n : 1, c->scale);

	if (scale != c->scale)
		memcpy(c->scale, scale, (size_t)(each ? n : 1) * sizeof(*scale));
	load_integers(r->integer, r->zero, k, each ? n : 1, c->zero);
	c->each = each;
}

/*
 * Divides the elements into runs that are contiguous in all operands. With `each` the elements of a
 * run have consecutive scales, else all have one scale. Each dimension outside of the runs is
 * divided into blocks of the scale and elements of a block, and these are the digits of a run's
 * number.
 */
struct walk {
	int digits;
	int64_t size[2 * IR_MAX_RANK], stride[2 * IR_MAX_RANK];
	int64_t length; /* elements of a run */
	bool each;
};

static void add_digit(struct walk *w, int64_t size, int64_t stride)
{
	if (size == 1)
		return;
	/* Merges adjacent dimensions along which the scale does not change. */
	if (w->digits && !stride && !w->stride[w->digits - 1]) {
		w->size[w->digits - 1] *= size;
		return;
	}
	w->size[w->digits] = size;
	w->stride[w->digits++] = stride;
}

static struct walk walk_begin(const struct cpu_shape *x, const struct cpu_shape *scale)
{
	struct walk w = { .length = 1 };

	for (uint32_t d = 0; d < x->rank; d++) {
		add_digit(&w, scale->dim[d], scale->stride[d]);
		add_digit(&w, x->dim[d] / scale->dim[d], 0);
	}
	if (w.digits) {
		w.digits--;
		w.length = w.size[w.digits];
		w.each = w.stride[w.digits] != 0;
	}
	return w;
}

/* Returns the offset of the first scale of a run. */
static int64_t scale_of(const struct walk *w, int64_t run)
{
	int64_t k = 0;

	for (int d = w->digits; d-- > 0; run /= w->size[d])
		k += run % w->size[d] * w->stride[d];
	return k;
}

struct quantization {
	struct run run;
	struct walk walk;
	void (*convert)(const struct run *run, const struct chunk *chunk, int64_t at, int64_t n);
};

static void convert_range(void *argument, int64_t begin, int64_t end)
{
	const struct quantization *q = argument;
	const struct walk *w = &q->walk;
	struct chunk chunk;

	for (int64_t i = begin, n; i < end; i += n) {
		int64_t run = i / w->length, at = i - run * w->length, rest = w->length - at;
		int64_t k = scale_of(w, run) + (w->each ? at : 0);

		n = rest < end - i ? rest : end - i;
		n = n < CHUNK ? n : CHUNK;
		load_chunk(&q->run, &chunk, k, n, w->each);
		q->convert(&q->run, &chunk, i, n);
	}
}

int cpu_quantization(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape scale = cpu_shape_of(&node->operands[1]->type);
	struct quantization q = {
		.run = { .simd = cpu->simd,
			 .real = node->operands[1]->type.dtype,
			 .integer = node->operands[2]->type.dtype,
			 .in = in[0],
			 .scale = in[1],
			 .zero = in[2],
			 .out = out[0] },
		.walk = walk_begin(&x, &scale),
		.convert = node->op == IR_OP_QUANTIZE ? quantize_chunk : dequantize_chunk,
	};

	(void)err;
	q.run.narrow = ir_dtype_bits(q.run.integer) <= 8;
	cpu_parallel_ranges(cpu, x.count, GRAIN, convert_range, &q);
	return 0;
}
