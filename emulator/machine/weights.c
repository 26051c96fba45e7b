// SPDX-License-Identifier: MIT
/*
 * Values of short elements with shared scales, which the matrix unit computes where they enter the
 * array (isa.xml: #weights).
 */
#include <math.h>

#include "machine/sim.h"
#include "math/types.h"

/* The number of values that are computed at a time. */
#define LINE 256

/* Returns the value of a float with few bits: a sign, @exponent bits and @fraction bits. */
static float small_float(unsigned int x, unsigned int exponent, unsigned int fraction, int bias)
{
	unsigned int e = x >> fraction & ((1u << exponent) - 1), f = x & ((1u << fraction) - 1);
	float v = e ? ldexpf((float)(f + (1u << fraction)), (int)e - bias - (int)fraction) :
		      ldexpf((float)f, 1 - bias - (int)fraction);

	return x >> (exponent + fraction) & 1 ? -v : v;
}

static float value_of(unsigned int dtype, unsigned int x)
{
	switch (dtype) {
	case ONPU_DT_I8:
		return (int8_t)x;
	case ONPU_DT_I4:
		return (float)((int)(x & 15) - (x & 8 ? 16 : 0));
	case ONPU_DT_U4:
		return (float)(x & 15);
	case ONPU_DT_F8E4M3:
		return (x & 0x7f) == 0x7f ? NAN : small_float(x, 4, 3, 7);
	case ONPU_DT_F8E5M2:
		/* The high byte of a binary16 number. */
		return onpu_f16_to_f32((uint16_t)(x << 8));
	case ONPU_DT_F4E2M1:
		return small_float(x & 15, 2, 1, 1);
	case ONPU_DT_F8E8M0:
		return x == 255 ? NAN : ldexpf(1, (int)x - 127);
	default:
		return (float)x;
	}
}

void sim_weights_init(struct sim_weights *s, const struct sim_work *w)
{
	const struct sim_tensor *z = &w->t[ONPU_OPERAND_S2];

	s->t = &w->t[ONPU_OPERAND_S1];
	s->scales = z->present ? z : NULL;
	s->brain = w->t[ONPU_OPERAND_S0].dtype == ONPU_DT_BF16;
	s->block = 1;
	if (z->present)
		s->block = s->t->dim[s->t->rank - 2] / z->dim[z->rank - 2];
	for (unsigned int x = 0; x < 256; x++) {
		s->value[x] = value_of(s->t->dtype, x);
		s->scale[x] = value_of(ONPU_DT_F8E8M0, x);
	}
}

/* Converts @n scales, or zero points, that are @stride bytes apart. */
static void load_scales(const struct sim_context *c, const struct sim_weights *s, int64_t at,
			int64_t stride, uint32_t n, float *out)
{
	const char *from = sim_at(c, at);

	if (s->scales->dtype == ONPU_DT_F8E8M0)
		for (uint32_t i = 0; i < n; i++)
			out[i] = s->scale[(uint8_t)from[stride * i]];
	else
		c->kernels->load_f32[s->scales->dtype - ONPU_DT_F16](out, from, stride, n);
}

/*
 * Applies zero points and scales to values, the first at row @k and column @j. The others are below
 * it in the same block of rows if @along_k is true, and right of it in row @k if not.
 */
static void apply_scales(const struct sim_context *c, const struct sim_weights *s, uint32_t k,
			 uint32_t j, bool along_k, uint32_t n, float *value)
{
	const struct sim_tensor *z = s->scales;
	const int64_t *stride = z->stride + z->rank - 2;
	int64_t at = (int64_t)z->start + stride[0] * (k / s->block) + stride[1] * j;
	float scale[LINE];

	if (z->rank == 3) {
		load_scales(c, s, at + z->stride[0], along_k ? 0 : stride[1], n, scale);
		for (uint32_t i = 0; i < n; i++)
			value[i] -= scale[i];
	}
	load_scales(c, s, at, along_k ? 0 : stride[1], n, scale);
	for (uint32_t i = 0; i < n; i++)
		value[i] *= scale[i];
}

static void load_values(const struct sim_context *c, const struct sim_weights *s, int64_t at,
			int64_t stride, uint32_t n, float *value)
{
	if (!sim_is_nibble(s->t->dtype)) {
		for (uint32_t i = 0; i < n; i++)
			value[i] = s->value[(uint8_t)*sim_at(c, at + stride * i)];
		return;
	}
	for (uint32_t i = 0; i < n; i++, at += stride)
		value[i] = s->value[(uint8_t)*sim_at(c, at >> 1) >> (at & 1) * 4 & 15];
}

void sim_weights_line(const struct sim_context *c, const struct sim_weights *s, int64_t at,
		      uint32_t k, uint32_t j, bool along_k, uint32_t n, float *out, size_t step)
{
	int64_t stride = s->t->stride[s->t->rank - (along_k ? 2 : 1)];
	float value[LINE];

	while (n) {
		uint32_t some = n < LINE ? n : LINE, left = s->block - k % s->block;

		if (along_k && s->scales && some > left)
			some = left;
		load_values(c, s, at, stride, some, value);
		if (s->scales)
			apply_scales(c, s, k, j, along_k, some, value);
		for (uint32_t i = 0; i < some; i++)
			out[step * i] = s->brain ? onpu_bf16_to_f32(onpu_f32_to_bf16(value[i])) :
						   onpu_f16_to_f32(onpu_f32_to_f16(value[i]));
		at += stride * some;
		out += step * some;
		*(along_k ? &k : &j) += some;
		n -= some;
	}
}
