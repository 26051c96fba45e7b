// SPDX-License-Identifier: MIT
/* Checks of the dot products of bytes, which only some levels have, against plain loops. */
#include <math.h>
#include <string.h>

#include "cpu/kernel/kernels.h"
#include "cpu/ref/requantize.h"
#include "simd_check.h"

/* How sums become bytes: a type, random limits, and a random scale and bias for each column. */
struct end {
	enum ir_dtype dtype;
	struct ir_integer_attrs attrs;
	struct guard scale, bias;
	struct cpu_finish finish;
};

static void end_init(struct end *end, int64_t n)
{
	int32_t lo;

	end->dtype = random_below(2) ? IR_I8 : IR_U8;
	lo = (int32_t)cpu_int_min(end->dtype);
	end->attrs = (struct ir_integer_attrs){ .zero = lo + (int32_t)random_below(256),
						.lo = lo + (int32_t)random_below(20),
						.hi = lo + 255 - (int32_t)random_below(20) };
	end->scale = floats(n);
	end->bias = floats(n);
	end->finish = (struct cpu_finish){ .scale = end->scale.data,
					   .bias = (int32_t *)end->bias.data,
					   .zero = (float)end->attrs.zero,
					   .lo = (float)end->attrs.lo,
					   .hi = (float)end->attrs.hi };
	for (int64_t i = 0; i < n; i++) {
		/* Powers of two give results that are halfway between two integers. */
		end->scale.data[i] = 0.5f / (float)(1 << random_below(14));
		((int32_t *)end->bias.data)[i] = (int32_t)random_below(20000) - 10000;
	}
}

/* Sets the zero point to 0 and the limits to those of the type, as t.plain promises a tile. */
static void make_plain(struct end *end)
{
	end->attrs.zero = 0;
	end->attrs.lo = cpu_int_min(end->dtype);
	end->attrs.hi = cpu_int_max(end->dtype);
	end->finish.zero = 0;
	end->finish.lo = (float)end->attrs.lo;
	end->finish.hi = (float)end->attrs.hi;
}

static void end_free(struct end *end)
{
	guard_free(&end->scale);
	guard_free(&end->bias);
}

static uint8_t result(const struct end *end, int64_t sum, int64_t i)
{
	return (uint8_t)cpu_requantize(&end->attrs, end->dtype, sum, end->scale.data[i]);
}

/*
 * Returns a random operation that a tile applies to its bytes of the type of `end`: an addition of
 * other bytes (t.addend), or a conversion to another scale when there are none.
 */
static struct cpu_integers random_after(const struct end *end)
{
	bool is_signed = random_below(2);
	struct cpu_integers op = {
		.kind = IR_ADD,
		.a_signed = end->dtype == IR_I8,
		.b_signed = random_below(2),
		.a_zero = (int32_t)cpu_int_min(end->dtype) + (int32_t)random_below(256),
		.b_zero = (int32_t)random_below(256) - 128,
		.a_scale = 1.0f / (float)between(1, 64),
		.b_scale = 1.0f / (float)between(1, 64),
		.scale = random_below(2) ? 1.0f / (float)(1 << random_below(6)) :
					   0.01f * (float)between(1, 300),
		.zero = (float)random_below(128),
		.lo = -INFINITY,
		.hi = INFINITY,
		.least = is_signed ? INT8_MIN : 0,
		.most = is_signed ? INT8_MAX : UINT8_MAX,
	};

	return cpu_integers_are_tame(&op) ? op : random_after(end);
}

/*
 * Returns the result of the operation for byte a of a tile and the byte *b; b is NULL without one.
 */
static uint8_t after(const struct cpu_integers *o, uint8_t a, const uint8_t *b)
{
	float v = (float)((o->a_signed ? (int8_t)a : a) - o->a_zero) * o->a_scale;

	if (b)
		v += (float)((o->b_signed ? (int8_t)*b : *b) - o->b_zero) * o->b_scale;
	v = nearbyintf(v / o->scale) + o->zero;
	return (uint8_t)(int32_t)fminf(fmaxf(v, o->least), o->most);
}

/*
 * Returns the rows of a tile, widened to 16 bits, for a level with pairs, and sets *memory to what
 * the caller frees; returns NULL at other levels.
 */
static int16_t *widened(const struct cpu_dots *t, struct guard *memory)
{
	int64_t length = t->taps * t->depth;
	int16_t *wide, *to;

	if (!simd->pairs)
		return NULL;
	wide = (int16_t *)(void *)bytes(memory, t->count * length * (int64_t)sizeof(*wide));
	to = wide;
	for (int r = 0; r < t->count; r++)
		for (int64_t tap = 0; tap < t->taps; tap++, to += t->depth) {
			const uint8_t *from = t->rows[tap * CPU_DOT_ROWS + r];

			for (int64_t k = 0; k < t->depth; k++)
				to[k] = from[k] ^ t->flip;
		}
	return wide;
}

/* Returns the index of the weight of element k of a row and element i of the columns. */
static int64_t weight_index(const struct cpu_dots *t, int64_t k, int64_t i, int64_t columns)
{
	if (simd->pairs)
		return (i / 16 * t->taps * t->depth / 2 + k / 2) * 32 + i % 16 * 2 + k % 2;
	return (k / 4 * columns + i) * 4 + k % 4;
}

static void check_tile(int vecs)
{
	/* Some rows are longer than the 512 elements that a tile of pairs reads at a time. */
	int64_t taps = between(1, 4), columns = vecs * 16;
	int64_t depth = 4 * between(1, random_below(20) ? 9 : 200);
	int rows = simd->dot_rows[vecs];
	struct guard weight_memory, result_memory, addend_memory, x_memory[CPU_DOT_ROWS];
	struct guard wide_memory;
	const uint8_t *table[4 * CPU_DOT_ROWS];
	int8_t *weights = (int8_t *)bytes(&weight_memory, taps * depth * columns);
	struct cpu_dots t = { .rows = table,
			      .taps = taps,
			      .depth = depth,
			      .weights = weights,
			      .next = weights,
			      .spread = 4 << random_below(5),
			      .flip = random_below(2) ? 0x80 : 0,
			      .raw = random_below(3) == 0,
			      .count = (int)between(1, (uint32_t)rows),
			      .columns = (int)(columns - random_below(16)) };
	struct cpu_integers op;
	const uint8_t *addend;
	struct end end;
	uint8_t *y;

	end_init(&end, columns);
	t.plain = random_below(3) == 0;
	if (t.plain)
		make_plain(&end);
	op = random_after(&end);
	t.after = random_below(2) ? &op : NULL;
	t.addend_step = t.columns + random_below(5);
	addend = bytes(&addend_memory, (t.count - 1) * t.addend_step + t.columns);
	t.addend = random_below(3) ? addend : NULL;
	t.finish = end.finish;
	t.is_signed = end.dtype == IR_I8;
	t.out_step = t.raw ? columns * 4 : t.columns;
	y = bytes(&result_memory, t.out_step * t.count);
	t.out = y;
	for (int r = 0; r < rows; r++) {
		const uint8_t *x = bytes(&x_memory[r], taps * depth);

		/* Pointers of rows after the count-th must be valid, too: they repeat it. */
		for (int64_t tap = 0; tap < taps; tap++)
			table[tap * CPU_DOT_ROWS + r] =
				r < t.count ? x + tap * depth :
					      table[tap * CPU_DOT_ROWS + t.count - 1];
	}
	t.wide = widened(&t, &wide_memory);
	simd->dots[vecs][t.count](&t);
	for (int r = 0; r < t.count; r++)
		for (int64_t i = 0; i < columns; i++) {
			int64_t column = cpu_dot_channel(simd, (int)i, vecs);
			int64_t sum = end.finish.bias[i];
			uint8_t byte;
			int32_t raw;

			if (column >= t.columns && !t.raw)
				continue;
			for (int64_t k = 0; k < taps * depth; k++)
				sum += (int64_t)(table[k / depth * CPU_DOT_ROWS + r][k % depth] ^
						 t.flip) *
				       weights[weight_index(&t, k, i, columns)];
			byte = result(&end, sum, i);
			if (t.after && !t.raw)
				byte = after(&op, byte,
					     t.addend ? addend + r * t.addend_step + column : NULL);
			if (!t.raw) {
				expect("dots", column, y[r * t.out_step + column], byte, 0.5);
				continue;
			}
			memcpy(&raw, y + r * t.out_step + i * 4, sizeof(raw));
			expect("raw dots", i, raw, (double)sum, 0.5);
		}
	for (int r = 0; r < rows; r++)
		guard_free(&x_memory[r]);
	if (simd->pairs)
		guard_free(&wide_memory);
	guard_free(&weight_memory);
	guard_free(&result_memory);
	guard_free(&addend_memory);
	end_free(&end);
}

void check_widen_row(void)
{
	int64_t n = between(1, 70);
	struct guard from_memory, to_memory;
	uint8_t flip = random_below(2) ? 0x80 : 0;
	const uint8_t *from;
	int16_t *to;

	if (!simd->pairs)
		return;
	from = bytes(&from_memory, n);
	to = (int16_t *)(void *)bytes(&to_memory, n * (int64_t)sizeof(*to));
	simd->widen_row(to, from, flip, n);
	for (int64_t i = 0; i < n; i++)
		expect("widen_row", i, to[i], from[i] ^ flip, 0.5);
	guard_free(&from_memory);
	guard_free(&to_memory);
}

void check_dots(void)
{
	for (int vecs = 1; vecs <= 4; vecs++)
		if (simd->dots[vecs][1]) {
			expect("dot_rows", vecs, CPU_DOT_ROWS % simd->dot_rows[vecs], 0, 0.5);
			check_tile(vecs);
		}
}

void check_channel_dots(void)
{
	int shared = simd->pairs ? 0 : (int)random_below(3), unit = simd->pairs ? 2 : 4;
	int64_t taps = shared ? 12 : between(1, random_below(4) ? 26 : 60), groups = (taps + 3) / 4,
		channels = between(1, 64);
	int64_t count = between(1, 5), apart = between(1, 45);
	/* Columns that pixels share are `apart` bytes apart. */
	int64_t step = shared ? apart * (3 - shared) : between(1, 90),
		far = shared ? 2 * apart + 3 : 0;
	struct guard x_memory, weight_memory, result_memory, padding_memory;
	const uint8_t *x[60], *padding = bytes(&padding_memory, channels);
	int64_t steps[60];
	int8_t *weights = (int8_t *)bytes(&weight_memory, groups * 256);
	uint8_t *data = bytes(&x_memory, (count - 1) * step + far + channels), *y;
	struct cpu_channel_dots d = { .x = x,
				      .step = steps,
				      .taps = taps,
				      .shared = shared,
				      .weights = weights,
				      .flip = random_below(2) ? 0x80 : 0,
				      .channels = channels,
				      .count = count,
				      .out_step = channels + random_below(9) };
	struct end end;

	if (simd->channel_dots) {
		int64_t outside = random_below(5); /* the row that is padding */

		end_init(&end, 64);
		d.finish = end.finish;
		d.is_signed = end.dtype == IR_I8;
		y = bytes(&result_memory, (count - 1) * d.out_step + channels);
		d.out = y;
		for (int64_t t = 0; t < 4 * groups; t++) {
			bool padded = shared ? t % 4 == outside : random_below(4) == 0;

			x[t] = padded ? padding : data + (shared ? t / 4 * apart + t % 4 : 0);
			steps[t] = padded ? 0 : step;
		}
		simd->channel_dots(&d);
		for (int64_t p = 0; p < count; p++)
			for (int i = 0; i < 64; i++) {
				int channel = cpu_dot_channel(simd, i, 4);
				int64_t sum = end.finish.bias[i];

				if (channel >= channels)
					continue;
				/* Taps that fill the last unit have weights, too, and are added. */
				for (int64_t t = 0; t < (taps + unit - 1) / unit * unit;
				     t += shared && t % 4 == 2 ? 2 : 1)
					sum += (int64_t)(x[t][p * steps[t] + channel] ^ d.flip) *
					       weights[(t / unit * 64 + i) * unit + t % unit];
				expect("channel_dots", channel, y[p * d.out_step + channel],
				       result(&end, sum, i), 0.5);
			}
		guard_free(&result_memory);
		end_free(&end);
	}
	guard_free(&x_memory);
	guard_free(&weight_memory);
	guard_free(&padding_memory);
}
