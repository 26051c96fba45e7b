// SPDX-License-Identifier: MIT
/*
 * The random generator, which Documentation/onnx.rst describes. It has no state but a counter: each
 * number is a function of the seed, the dispatch, the input and the index of the element, equal on
 * every machine.
 */
#include "draw.h"

#include <math.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* The output function of SplitMix64. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Returns a number above 0 and below 1. */
static double open_unit(uint64_t bits)
{
	return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

static double draw(const struct onnx_draw *draw, uint64_t key, uint64_t index)
{
	uint64_t first = mix(key + (2 * index + 1) * STEP);
	uint64_t second = mix(key + (2 * index + 2) * STEP);

	switch (draw->kind) {
	case DRAW_UNIFORM:
		/*
		 * 24 bits are exact in float32, so that from 0 to 1 rounding never gives the upper
		 * bound itself.
		 */
		return draw->a + (draw->b - draw->a) * (double)(first >> 40) * 0x1p-24;
	case DRAW_NORMAL:
		return draw->a + draw->b * sqrt(-2 * log(open_unit(first))) *
					 cos(6.283185307179586 * open_unit(second));
	default:
		return -log(-log(open_unit(first)));
	}
}

void onnx_draw_fill(const struct onnx_random *random, uint64_t seed, uint64_t dispatch, void *data)
{
	int64_t elements = onnx_shape_elements(&random->shape);
	uint64_t key = mix(seed + STEP);

	key = mix(key ^ (dispatch + STEP));
	key = mix(key ^ (random->number << 32 | random->draw.own_seed));
	for (int64_t i = 0; i < elements; i++)
		onnx_put_float(random->type, data, (size_t)i,
			       draw(&random->draw, key, (uint64_t)i));
}
