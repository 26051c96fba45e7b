// SPDX-License-Identifier: MIT
/*
 * Filters of integers in a contraction: each tile lies in memory as its integers, two to a byte when they
 * have 4 bits, then its scales, then its zero points, so that one transfer brings all. The vector unit
 * dequantises it in SRAM while the matrix unit works on the one before.
 */
#include "plan/kernel/contract.h"

#include <string.h>

/* Offsets of the parts of a tile from its beginning. */
struct layout {
	int64_t rows, granule; /* rows of scales, and for how many elements along k each is */
	uint64_t scale, zero, bytes;
};

static int64_t gcd(int64_t a, int64_t b)
{
	return b ? gcd(b, a % b) : a;
}

static uint64_t packed_bytes(uint8_t dtype, uint64_t elements)
{
	return plan_dtype_is_nibble(dtype) ? (elements + 1) / 2 : elements;
}

/* Tiles begin at multiples of t->k. */
static struct layout lay_out(const struct contract *c, const struct contract_tile *t, int64_t ks,
			     int64_t n)
{
	const struct contract_weights *w = c->weights;
	struct layout l = { .granule = w->block ? gcd(w->block, t->k) : ks };

	l.rows = ks / l.granule;
	l.scale = plan_align(packed_bytes(w->dtype, (uint64_t)(ks * n)));
	l.zero = l.scale + plan_align((uint64_t)(l.rows * n) * plan_dtype_bytes(c->b.dtype));
	l.bytes =
		l.zero + (w->zero ? plan_align(packed_bytes(w->dtype, (uint64_t)(l.rows * n))) : 0);
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

static void put_element(uint8_t dtype, uint8_t *data, int64_t i, uint8_t value)
{
	if (plan_dtype_is_nibble(dtype))
		data[i / 2] |= (uint8_t)(value << (i % 2 * 4));
	else
		data[i] = value;
}

void weights_pack(const struct contract *c, const struct contract_tile *t,
		  const struct contract_step *s, int64_t n, int64_t ns, uint8_t *to)
{
	const struct contract_weights *w = c->weights;
	struct layout l = lay_out(c, t, s->ks, ns);
	uint32_t size = plan_dtype_bytes(c->b.dtype);

	memset(to, 0, l.bytes);
	for (int64_t k = 0; k < s->ks; k++)
		for (int64_t j = 0; j < ns; j++)
			put_element(w->dtype, to, k * ns + j,
				    element(w->dtype, w->data,
					    (s->k + k) * w->k_stride + (n + j) * w->n_stride));
	for (int64_t row = 0; row < l.rows; row++)
		for (int64_t j = 0; j < ns; j++) {
			int64_t block = w->block ? (s->k + row * l.granule) / w->block : 0;
			int64_t from = block * w->k_scale_stride +
				       (n + j) / w->n_block * w->n_scale_stride;

			memcpy(to + l.scale + (row * ns + j) * size, w->scale + from * size, size);
			if (w->zero)
				put_element(w->dtype, to + l.zero, row * ns + j,
					    element(w->dtype, w->zero, from));
		}
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

/* Rows of scales, elements that share one, columns; strides count elements, or bytes of wider types. */
static struct npu_view part(uint8_t dtype, uint64_t address, uint64_t bytes, const struct layout *l,
			    int64_t n, bool repeats)
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

void weights_unpack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		    const struct npu_view *wide, uint64_t packed)
{
	const struct contract_weights *w = c->weights;
	int64_t ks = wide->dim[CB_K], n = wide->dim[CB_N];
	struct layout l = lay_out(c, t, ks, n);
	struct npu_view dst = part(wide->dtype, wide->window, wide->window_bytes, &l, n, false);
	struct npu_view src = part(w->dtype, packed, l.scale, &l, n, false);
	struct npu_view scale = part(c->b.dtype, packed + l.scale, l.zero - l.scale, &l, n, true);
	struct npu_view zero = part(w->dtype, packed + l.zero, l.bytes - l.zero, &l, n, true);
	struct npu_view *all[4] = { &dst, &src, &scale, &zero };

	views_simplify(all, w->zero ? 4 : 3);
	plan_emit(plan, &(struct plan_insn){ .op = ONPU_OP_DEQUANT,
					     .dst = &dst,
					     .s0 = &src,
					     .s1 = &scale,
					     .s2 = w->zero ? &zero : NULL });
}
