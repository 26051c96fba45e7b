// SPDX-License-Identifier: MIT
/* Checks of the functions on weights of 4 and 8 bits. */
#include "simd_check.h"

/*
 * The weights of one panel. Bytes, scales and zero points are each in guarded memory of their own.
 */
struct panel {
	struct cpu_weights w;
	int64_t columns;
	struct guard memory[3];
};

static struct panel make_panel(int vecs)
{
	struct panel p = { .columns = vecs * simd->lanes };
	int64_t blocks = between(1, 4), count, scales;

	p.w.nibbles = vecs == 2 && random_below(2);
	p.w.block = random_below(3) ? between(1, 40) : between(120, 300);
	p.w.depth = blocks * p.w.block;
	count = p.columns * blocks * (p.w.nibbles ? (p.w.block + 7) / 8 * 4 : p.w.block);
	scales = blocks * p.columns;
	p.w.q = (const int8_t *)bytes(&p.memory[0], count);
	p.memory[1] = floats(scales);
	for (int64_t i = 0; i < scales; i++)
		p.memory[1].data[i] = (float)between(-1000, 1000) / 4096;
	p.w.scale = p.memory[1].data;
	p.w.zero = (const int8_t *)bytes(&p.memory[2], scales);
	if (random_below(2)) {
		p.w.zero = NULL;
		p.w.same_zero = (int8_t)between(-8, 7);
	}
	return p;
}

static void free_panel(struct panel *p)
{
	for (int i = 0; i < 3; i++)
		guard_free(&p->memory[i]);
}

static float weight(const struct panel *p, int64_t k, int64_t column)
{
	int64_t shared = k / p->w.block * p->columns + column;
	int q;

	if (p->w.nibbles) {
		int64_t eight = k / p->w.block * ((p->w.block + 7) / 8) + k % p->w.block / 8;
		int64_t at = (eight * p->columns + column) * 4 + k % p->w.block % 8 / 2;

		q = (uint8_t)p->w.q[at] >> k % p->w.block % 2 * 4 & 15;
		q = q < 8 ? q : q - 16;
	} else {
		q = p->w.q[k * p->columns + column];
	}
	return (float)(q - (p->w.zero ? p->w.zero[shared] : p->w.same_zero)) * p->w.scale[shared];
}

void check_widen_weights(void)
{
	int vecs = (int)between(1, 2);
	struct panel p = make_panel(vecs);
	struct guard to = floats(p.w.depth * p.columns);

	simd->widen_weights(&p.w, vecs, to.data);
	for (int64_t i = 0; i < p.w.depth * p.columns; i++)
		expect("widen_weights", i, (double)to.data[i],
		       (double)weight(&p, i / p.columns, i % p.columns), 0);
	guard_free(&to);
	free_panel(&p);
}

void check_weigh(void)
{
	int vecs = (int)between(1, 2);
	struct panel p = make_panel(vecs);
	int64_t lines = between(1, CPU_WEIGHED_ROWS), lda = p.w.depth + random_below(5);
	int64_t ldy = p.columns + random_below(5);
	struct guard a = floats((lines - 1) * lda + p.w.depth), bias = floats(p.columns);
	struct guard y = floats((lines - 1) * ldy + p.columns);
	bool limited = random_below(2);
	struct cpu_weighted t = { .lines = lines,
				  .lda = lda,
				  .ldy = ldy,
				  .a = a.data,
				  .bias = random_below(2) ? bias.data : NULL,
				  .y = y.data,
				  .lo = limited ? -2 : -__builtin_inff(),
				  .hi = limited ? 30 : __builtin_inff() };

	simd->weigh(&p.w, &t, vecs);
	for (int64_t i = 0; i < lines * p.columns; i++) {
		int64_t line = i / p.columns, column = i % p.columns;
		double sum = t.bias ? (double)t.bias[column] : 0, most = 1;

		for (int64_t k = 0; k < p.w.depth; k++) {
			double product =
				(double)a.data[line * lda + k] * (double)weight(&p, k, column);

			sum += product;
			most += product < 0 ? -product : product;
		}
		if (limited)
			sum = sum < -2 ? -2 : sum > 30 ? 30 : sum;
		expect("weigh", i, (double)y.data[line * ldy + column], sum, 1e-6 * most);
	}
	guard_free(&a);
	guard_free(&bias);
	guard_free(&y);
	free_panel(&p);
}
