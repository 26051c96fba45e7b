// SPDX-License-Identifier: MIT
/*
 * Packs, loads and dequantises the filters of contractions that are integers. In memory a tile has
 * its integers, two in a byte when they have 4 bits, then its scales, then its zero points, so that
 * one transfer loads all. The vector unit dequantises a tile in SRAM while the matrix unit works on
 * the tile before, unless the matrix unit reads packed tiles: then zero points have the type of
 * scales, and numbers may be short floats.
 */
#include "plan/kernel/contract.h"

#include <string.h>

#include "util/float16.h"

/* The layout of a packed tile: integers from offset 0 on, then scales, then zero points. */
struct layout {
	int64_t rows, granule;	     /* rows of scales; elements along k that share a row of them */
	uint64_t scale, zero, bytes; /* offsets of scales and of zero points; bytes of all */
};

static uint64_t packed_bytes(uint8_t dtype, uint64_t elements)
{
	return plan_dtype_is_nibble(dtype) ? (elements + 1) / 2 : elements;
}

/*
 * Returns the layout of a tile of ks x n elements. Along k, tiles begin at multiples of t->k, and
 * blocks at multiples of their size: the greatest common divisor of both is the number of elements
 * that surely share a scale.
 */
static struct layout lay_out(const struct contract *c, const struct contract_tile *t, int64_t ks,
			     int64_t n)
{
	const struct contract_weights *w = c->weights;
	struct layout l = { .granule = w->block ? wnn_gcd(w->block, t->k) : ks };
	uint64_t scales;

	l.rows = ks / l.granule;
	scales = (uint64_t)(l.rows * n);
	l.scale = plan_align(packed_bytes(w->packed, (uint64_t)(ks * n)));
	l.zero = l.bytes = l.scale;
	if (w->scale)
		l.zero = l.bytes = l.scale + plan_align(scales * plan_dtype_bytes(c->b.dtype));
	if (w->zero)
		l.bytes = l.zero + (w->direct ? l.zero - l.scale :
						plan_align(packed_bytes(w->dtype, scales)));
	return l;
}

uint64_t weights_bytes(const struct contract *c, const struct contract_tile *t, int64_t ks,
		       int64_t n)
{
	return lay_out(c, t, ks, n).bytes;
}

static uint8_t element(uint8_t dtype, const uint8_t *data, int64_t i)
{
	return plan_dtype_is_nibble(dtype) ? data[i / 2] >> (i % 2 * 4) & 15 : data[i];
}

/* Writes elements one after the other. It never reads the memory, as that may be slow. */
struct sink {
	uint8_t dtype, low; /* low: the first of the two 4-bit elements of a byte */
	uint8_t *to;
	int64_t count;
};

static void put_element(struct sink *sink, uint8_t value)
{
	int64_t i = sink->count++;

	if (!plan_dtype_is_nibble(sink->dtype))
		sink->to[i] = value;
	else if (i % 2)
		sink->to[i / 2] = (uint8_t)(sink->low | value << 4);
	else
		sink->low = value;
}

/* Writes zeros after the last element, up to byte `end`. */
static void fill_up(struct sink *sink, uint64_t end)
{
	uint64_t bytes = packed_bytes(sink->dtype, (uint64_t)sink->count);

	if (plan_dtype_is_nibble(sink->dtype) && sink->count % 2)
		put_element(sink, 0);
	memset(sink->to + bytes, 0, end - bytes);
}

struct recipe {
	struct contract_weights w;
	struct layout l;
	struct contract_step s;
	int64_t n, ns;
	uint32_t size; /* bytes of a scale */
};

/* Returns the index of the scale and the zero point of a column, for a row of the tile's scales. */
static int64_t scale_at(const struct recipe *r, int64_t row, int64_t column)
{
	const struct contract_weights *w = &r->w;
	int64_t block = w->block ? (r->s.k + row * r->l.granule) / w->block : 0;

	return block * w->k_scale_stride + (r->n + column) / w->n_block * w->n_scale_stride;
}

/* Returns the bits of the E2M1 number that is half of @twice. */
static uint8_t e2m1_of(int8_t twice)
{
	static const uint8_t code[13] = { 0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7 };

	return (uint8_t)(code[twice < 0 ? -twice : twice] | (twice < 0 ? 8 : 0));
}

/* Returns the E4M3 number that is equal to a float16 one, see ir_constant_few(). */
static uint8_t e4m3_of(uint16_t h)
{
	uint16_t magnitude = h & 0x7fff, exponent = magnitude >> 10;
	/* The biases are 7 and 15; below 2^-6 the fraction counts steps of 2^-9. */
	unsigned int code = exponent >= 9 ? (magnitude >> 7) - (8 << 3) :
			    exponent	  ? ((magnitude & 0x3ff) | 0x400) >> (16 - exponent) :
					    0;

	return (uint8_t)(code | (h >> 8 & 0x80));
}

/* Returns element `i` of the constant in the type of packed tiles. */
static uint8_t packed_element(const struct contract_weights *w, int64_t i)
{
	const uint16_t *half = w->data->data;

	switch (w->packed) {
	case ONPU_DT_F4E2M1:
		return e2m1_of(((const int8_t *)w->data->data)[i]);
	case ONPU_DT_F8E4M3:
		return e4m3_of(half[i]);
	case ONPU_DT_F8E5M2:
		return (uint8_t)(half[i] >> 8);
	default:
		return element(w->dtype, w->data->data, i);
	}
}

static void write_elements(const struct recipe *r, uint8_t *to)
{
	const struct contract_weights *w = &r->w;
	struct sink sink = { .dtype = w->packed, .to = to };

	for (int64_t k = 0; k < r->s.ks; k++)
		for (int64_t j = 0; j < r->ns; j++)
			put_element(&sink, packed_element(w, (r->s.k + k) * w->k_stride +
								     (r->n + j) * w->n_stride));
	fill_up(&sink, r->l.scale);
}

static void write_scales(const struct recipe *r, uint8_t *to)
{
	const uint8_t *scale = r->w.scale->data;
	uint64_t bytes = (uint64_t)(r->l.rows * r->ns) * r->size;

	for (int64_t row = 0; row < r->l.rows; row++) {
		for (int64_t j = 0; j < r->ns; j++) {
			const uint8_t *from = scale + scale_at(r, row, j) * r->size;
			uint16_t half;

			memcpy(&half, from, sizeof(half));
			/* The E2M1 numbers are halves of the integers: scales double. */
			if (r->w.packed == ONPU_DT_F4E2M1) {
				half = wnn_float_to_half(2 * wnn_half_to_float(half));
				from = (const uint8_t *)&half;
			}
			memcpy(to + (row * r->ns + j) * r->size, from, r->size);
		}
	}
	memset(to + bytes, 0, r->l.zero - r->l.scale - bytes);
}

static void write_zeros(const struct recipe *r, uint8_t *to)
{
	struct sink sink = { .dtype = r->w.dtype, .to = to };

	for (int64_t row = 0; row < r->l.rows; row++)
		for (int64_t j = 0; j < r->ns; j++)
			put_element(&sink,
				    element(r->w.dtype, r->w.zero->data, scale_at(r, row, j)));
	fill_up(&sink, r->l.bytes - r->l.zero);
}

/* Writes zero points as float16, which holds all integers of 8 bits. */
static void write_real_zeros(const struct recipe *r, uint8_t *to)
{
	bool is_signed = r->w.dtype == ONPU_DT_I8 || r->w.dtype == ONPU_DT_I4;
	int sign = plan_dtype_is_nibble(r->w.dtype) ? 8 : 128;

	memset(to, 0, r->l.bytes - r->l.zero);
	for (int64_t row = 0; row < r->l.rows; row++) {
		for (int64_t j = 0; j < r->ns; j++) {
			int zero = element(r->w.dtype, r->w.zero->data, scale_at(r, row, j));
			uint16_t half;

			if (is_signed && zero >= sign)
				zero -= 2 * sign;
			half = wnn_float_to_half((float)zero);
			memcpy(to + (row * r->ns + j) * sizeof(half), &half, sizeof(half));
		}
	}
}

static void write_tile(const struct plan_section *section, uint8_t *to)
{
	const struct recipe *r = section->recipe;

	write_elements(r, to);
	if (r->w.scale)
		write_scales(r, to + r->l.scale);
	if (r->w.zero && r->w.direct)
		write_real_zeros(r, to + r->l.zero);
	else if (r->w.zero)
		write_zeros(r, to + r->l.zero);
}

void weights_pack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		  const struct contract_step *s, int64_t n, int64_t ns, uint64_t at)
{
	struct recipe recipe = {
		.w = *c->weights,
		.l = lay_out(c, t, s->ks, ns),
		.s = *s,
		.n = n,
		.ns = ns,
		.size = plan_dtype_bytes(c->b.dtype),
	};

	plan_constant_section(
		plan,
		&(struct plan_section){ .at = at,
					.bytes = recipe.l.bytes,
					.source = { recipe.w.data, recipe.w.scale, recipe.w.zero },
					.write = write_tile,
					.recipe = &recipe },
		sizeof(recipe));
}

static struct npu_view byte_view(enum npu_base base, uint64_t window, uint64_t window_bytes,
				 uint64_t offset, uint64_t bytes)
{
	return (struct npu_view){ .base = base,
				  .dtype = ONPU_DT_U8,
				  .rank = 1,
				  .window = window,
				  .window_bytes = window_bytes,
				  .offset = (int64_t)offset,
				  .dim = { (int64_t)bytes },
				  .stride = { 1 } };
}

void weights_load(struct plan *plan, uint64_t address, uint64_t bytes,
		  const struct contract_prepared *p, uint64_t offset)
{
	plan_transfer(plan, byte_view(NPU_BASE_NONE, address, bytes, 0, bytes),
		      byte_view(NPU_BASE_CONST, p->packed_base, p->packed_bytes, offset, bytes),
		      false);
}

/*
 * Returns a view of integers, scales or zero points of a tile with three dims: rows of scales,
 * elements along k that share such a row, columns. With `repeats`, the second dim has stride 0.
 * Strides count nibbles for 4-bit types, otherwise bytes.
 */
static struct npu_view tile_section(uint8_t dtype, uint64_t address, uint64_t bytes,
				    const struct layout *l, int64_t n, bool repeats)
{
	int64_t size = plan_dtype_is_nibble(dtype) ? 1 : plan_dtype_bytes(dtype);

	return (struct npu_view){
		.base = NPU_BASE_NONE,
		.dtype = dtype,
		.rank = 3,
		.window = address,
		.window_bytes = bytes,
		.dim = { l->rows, l->granule, n },
		.stride = { (repeats ? 1 : l->granule) * n * size, repeats ? 0 : n * size, size },
	};
}

struct npu_view weights_view(const struct contract *c, const struct contract_tile *t,
			     const int64_t *dim, uint64_t address)
{
	struct layout l = lay_out(c, t, dim[CB_K], dim[CB_N]);
	int64_t n = dim[CB_N];

	return (struct npu_view){
		.base = NPU_BASE_NONE,
		.dtype = c->weights->packed,
		.rank = 5,
		.window = address,
		.window_bytes = l.scale,
		.dim = { dim[0], dim[1], dim[2], dim[CB_K], n },
		/* An element has one byte or one nibble. */
		.stride = { dim[CB_K] * n, dim[CB_K] * n, dim[CB_K] * n, n, 1 },
	};
}

struct npu_view weights_scales(const struct contract *c, const struct contract_tile *t, int64_t ks,
			       int64_t n, uint64_t address)
{
	struct layout l = lay_out(c, t, ks, n);
	int64_t size = plan_dtype_bytes(c->b.dtype);
	struct npu_view view = {
		.base = NPU_BASE_NONE,
		.dtype = c->b.dtype,
		.rank = 3,
		.window = address + l.scale,
		.window_bytes = l.bytes - l.scale,
		.dim = { 2, l.rows, n },
		.stride = { (int64_t)(l.zero - l.scale), n * size, size },
	};

	if (c->weights->zero)
		return view;
	view.rank = 2;
	memmove(view.dim, view.dim + 1, 2 * sizeof(view.dim[0]));
	memmove(view.stride, view.stride + 1, 2 * sizeof(view.stride[0]));
	return view;
}

void weights_unpack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		    const struct npu_view *wide, uint64_t packed)
{
	const struct contract_weights *w = c->weights;
	int64_t ks = wide->dim[CB_K], n = wide->dim[CB_N];
	struct layout l = lay_out(c, t, ks, n);
	struct npu_view dst =
		tile_section(wide->dtype, wide->window, wide->window_bytes, &l, n, false);
	struct npu_view src = tile_section(w->dtype, packed, l.scale, &l, n, false);
	struct npu_view scale =
		tile_section(c->b.dtype, packed + l.scale, l.zero - l.scale, &l, n, true);
	struct npu_view zero =
		tile_section(w->dtype, packed + l.zero, l.bytes - l.zero, &l, n, true);
	struct npu_view *all[4] = { &dst, &src, &scale, &zero };

	views_simplify(all, w->zero ? 4 : 3);
	plan_emit(plan, &(struct plan_insn){ .op = ONPU_OP_DEQUANT,
					     .dst = &dst,
					     .s0 = &src,
					     .s1 = &scale,
					     .s2 = w->zero ? &zero : NULL });
}
