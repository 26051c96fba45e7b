// SPDX-License-Identifier: MIT
/*
 * Fast quantisation in runs of elements that share a scale, or that have a scale each, one chunk at
 * a time. Rounding adds and subtracts a number so large that no fraction is left.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"

#define CHUNK 256

/* The operands of a node that quantises or dequantises runs of elements. */
struct run {
	const struct ir_node *node;
	enum ir_dtype real, integer;
	const void *in, *scale, *zero;
	void *out;
	bool narrow; /* the integers have at most 8 bits */
};

struct chunk {
	float scale[CHUNK];
	int32_t zero[CHUNK]; /* bits of 32-bit integers; uint32 has the same bits */
};

static void load_reals(enum ir_dtype dtype, const void *p, int64_t at, int64_t n, float *to)
{
	if (dtype == IR_F32) {
		memcpy(to, (const float *)p + at, (size_t)n * sizeof(*to));
		return;
	}
	for (int64_t i = 0; i < n; i++)
		to[i] = wnn_half_to_float(((const uint16_t *)p)[at + i]);
}

/* Loads 4-bit elements by whole bytes; the first and the last may be half a byte. */
static void load_nibbles(enum ir_dtype dtype, const void *p, int64_t at, int64_t n, int32_t *to)
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
		to[i] = (to[i] ^ 8) - 8;
}

/* Stores 4-bit elements. The upper half of the last byte is 0 until its element is stored. */
static void store_nibbles(void *p, int64_t at, int64_t n, const uint32_t *from)
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
	switch (dtype) {
	case IR_I8:
		for (int64_t i = 0; i < n; i++)
			to[i] = ((const int8_t *)p)[at + i];
		break;
	case IR_U8:
		for (int64_t i = 0; i < n; i++)
			to[i] = ((const uint8_t *)p)[at + i];
		break;
	case IR_I32:
	case IR_U32:
		memcpy(to, (const int32_t *)p + at, (size_t)n * sizeof(*to));
		break;
	default:
		load_nibbles(dtype, p, at, n, to);
	}
}

static void store_integers(enum ir_dtype dtype, void *p, int64_t at, int64_t n,
			   const uint32_t *from)
{
	switch (dtype) {
	case IR_I8:
	case IR_U8:
		for (int64_t i = 0; i < n; i++)
			((uint8_t *)p)[at + i] = (uint8_t)from[i];
		break;
	case IR_I32:
	case IR_U32:
		memcpy((uint32_t *)p + at, from, (size_t)n * sizeof(*from));
		break;
	default:
		store_nibbles(p, at, n, from);
	}
}

/* Returns the number whose bits are those of a 32-bit integer type. */
static double widen(enum ir_dtype dtype, int32_t bits)
{
	return dtype == IR_U32 ? (double)(uint32_t)bits : (double)bits;
}

/*
 * Quantises to at most 8 bits in float32: its 24 bits suffice, as numbers beyond 1000 saturate with
 * any zero point.
 */
static void quantize_narrow(const float *x, const struct chunk *c, float lo, float hi, int64_t n,
			    uint32_t *to)
{
	const float whole = 0x1.8p23f;

	for (int64_t i = 0; i < n; i++) {
		float q = x[i] / c->scale[i];
		uint32_t bits;

		q = q != q ? 0 : q;
		q = q < -1000 ? -1000 : q;
		q = q > 1000 ? 1000 : q;
		q = (q + whole) - whole + (float)c->zero[i];
		q = q < lo ? lo : q;
		q = q > hi ? hi : q;
		q += whole;
		memcpy(&bits, &q, sizeof(bits));
		to[i] = bits;
	}
}

static void quantize_wide(const float *x, const struct chunk *c, enum ir_dtype dtype, int64_t n,
			  uint32_t *to)
{
	double lo = (double)cpu_int_min(dtype), hi = (double)cpu_int_max(dtype);
	const double whole = 0x1.8p52;

	for (int64_t i = 0; i < n; i++) {
		double q = x[i] / c->scale[i];
		uint64_t bits;

		q = q != q ? 0 : q;
		q = q < -0x1p34 ? -0x1p34 : q;
		q = q > 0x1p34 ? 0x1p34 : q;
		q = (q + whole) - whole + widen(dtype, c->zero[i]);
		q = q < lo ? lo : q;
		q = q > hi ? hi : q;
		q += whole;
		memcpy(&bits, &q, sizeof(bits));
		to[i] = (uint32_t)bits;
	}
}

static void quantize_chunk(const struct run *r, const struct chunk *c, int64_t at, int64_t n)
{
	uint32_t to[CHUNK];
	float x[CHUNK];

	load_reals(r->real, r->in, at, n, x);
	if (r->narrow)
		quantize_narrow(x, c, (float)cpu_int_min(r->integer),
				(float)cpu_int_max(r->integer), n, to);
	else
		quantize_wide(x, c, r->integer, n, to);
	store_integers(r->integer, r->out, at, n, to);
}

/*
 * Dequantises a chunk. Differences of integers of at most 8 bits are exact in float, others in
 * double; the product is rounded once.
 */
static void dequantize_chunk(const struct run *r, const struct chunk *c, int64_t at, int64_t n)
{
	float *y = (float *)r->out + at;
	int32_t x[CHUNK];

	load_integers(r->integer, r->in, at, n, x);
	if (r->real == IR_F32 && r->narrow) {
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(x[i] - c->zero[i]) * c->scale[i];
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		double v = (widen(r->integer, x[i]) - widen(r->integer, c->zero[i])) *
			   (double)c->scale[i];

		cpu_store(r->real, r->out, at + i, v);
	}
}

/*
 * Loads scales and zero points of a chunk: with `each` those from k on, one for each element; else
 * that at k for all elements.
 */
static void load_chunk(const struct run *r, struct chunk *c, int64_t k, int64_t n, bool each)
{
	load_reals(r->real, r->scale, k, each ? n : 1, c->scale);
	load_integers(r->integer, r->zero, k, each ? n : 1, c->zero);
	for (int64_t i = 1; !each && i < n; i++) {
		c->scale[i] = c->scale[0];
		c->zero[i] = c->zero[0];
	}
}

/*
 * Iterates over the elements in runs that are contiguous in all operands. With `each` the elements
 * of a run have consecutive scales, else all have one scale. Each dimension outside of the runs is
 * divided into blocks of the scale and elements of a block, and these are counted like the digits
 * of a number.
 */
struct walk {
	int digits;
	int64_t size[2 * IR_MAX_RANK], stride[2 * IR_MAX_RANK], digit[2 * IR_MAX_RANK];
	int64_t length; /* elements of a run */
	bool each;
	int64_t k; /* offset of the scale of the current run */
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

static void walk_next(struct walk *w)
{
	for (int d = w->digits; d-- > 0;) {
		w->k += w->stride[d];
		if (++w->digit[d] < w->size[d])
			return;
		w->k -= w->stride[d] * w->size[d];
		w->digit[d] = 0;
	}
}

static int quantization(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			void *const *out, struct wnn_error *err)
{
	bool quantize = node->op == IR_OP_QUANTIZE;
	struct cpu_shape x = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape scale = cpu_shape_of(&node->operands[1]->type);
	struct walk w = walk_begin(&x, &scale);
	struct run r = { node,
			 node->operands[1]->type.dtype,
			 node->operands[2]->type.dtype,
			 in[0],
			 in[1],
			 in[2],
			 out[0],
			 false };
	struct chunk chunk;

	(void)cpu;
	(void)err;
	r.narrow = ir_dtype_bits(r.integer) <= 8;
	for (int64_t i = 0; i < x.count; i += w.length, walk_next(&w))
		for (int64_t at = 0; at < w.length; at += CHUNK) {
			int64_t n = w.length - at < CHUNK ? w.length - at : CHUNK;

			if (w.each || !at)
				load_chunk(&r, &chunk, w.each ? w.k + at : w.k, n, w.each);
			if (quantize)
				quantize_chunk(&r, &chunk, i + at, n);
			else
				dequantize_chunk(&r, &chunk, i + at, n);
		}
	return 0;
}

enum { QUANTIZE, DEQUANTIZE };

static const struct cpu_fast_kernel kernels[] = {
	[QUANTIZE] = { .name = "cpu/quantize", .run = quantization },
	[DEQUANTIZE] = { .name = "cpu/dequantize", .run = quantization },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	return &kernels[node->op == IR_OP_QUANTIZE ? QUANTIZE : DEQUANTIZE];
}

const struct cpu_fast_family cpu_fast_quantize = CPU_FAST_FAMILY(kernels, find);
