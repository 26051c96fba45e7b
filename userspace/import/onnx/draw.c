// SPDX-License-Identifier: MIT
/*
 * The random generator, which Documentation/onnx.rst describes. It has no state: each number is a
 * function of the seed, the dispatch, the input and the index of the element, equal on every
 * machine.
 */
#include "draw.h"

#include <math.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* Returns the random number for a state of the generator SplitMix64: its output function. */
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
		return draw->a + (draw->b - draw->a) * (double)(first >> 40) * 0x1p-24;
	case DRAW_NORMAL:
		return draw->a + draw->b * sqrt(-2 * log(open_unit(first))) *
					 cos(6.283185307179586 * open_unit(second));
	default:
		return -log(-log(open_unit(first)));
	}
}

static double rounded_to(int type, double number)
{
	uint64_t element;
	struct onnx_value value = { .type = type, .data = &element };

	onnx_put_float(type, &element, 0, number);
	return onnx_value_float(&value, 0);
}

/* Returns a number rounded to the type in the model and then to the type of the graph's input. */
static double rounded(const struct onnx_random *random, double number)
{
	return rounded_to(random->type, rounded_to(random->own_type, number));
}

/*
 * Rounds a number. Where this would give the upper bound of a uniform distribution or more, returns
 * the largest number below the bound; the lower bound if the type has no number between both.
 */
static double below(const struct onnx_random *random, double number)
{
	double low = random->draw.a, high = number, bound = random->draw.b, middle;

	if (random->draw.kind != DRAW_UNIFORM || bound <= low || rounded(random, number) < bound)
		return rounded(random, number);
	/* Bisects for the largest number that is rounded to less than the bound. */
	while ((middle = low + (high - low) / 2) > low && middle < high) {
		if (rounded(random, middle) < bound)
			low = middle;
		else
			high = middle;
	}
	return rounded(random, low);
}

void onnx_draw_fill(const struct onnx_random *random, uint64_t seed, uint64_t dispatch, void *data)
{
	int64_t elements = onnx_shape_elements(&random->shape);
	uint64_t key = mix(seed + STEP);

	key = mix(key ^ (dispatch + STEP));
	key = mix(key ^ (random->number << 32 | random->draw.own_seed));
	for (int64_t i = 0; i < elements; i++)
		onnx_put_float(random->type, data, (size_t)i,
			       below(random, draw(&random->draw, key, (uint64_t)i)));
}
