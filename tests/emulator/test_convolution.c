// SPDX-License-Identifier: MIT
/*
 * Tests convolutions by mma.f32 with taps, in shapes that take different paths through the matrix
 * unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "program.h"

#define SRAM	 (64u << 10)
#define DIM(...) ((const uint32_t[]){ __VA_ARGS__ })

/* A 3x3 convolution with results of @h by @w pixels, from @c channels to @n. */
struct convolution {
	uint32_t h, w, c, n;
	uint32_t gap;	/* unused channels between two pixels */
	uint32_t w_gap; /* unused numbers between two taps of the filter */
	uint8_t piece;
};

/*
 * Returns a result by the definition: the outer loop is over taps, the inner over k, with one
 * rounding each; with @piece, the partial sums of each tap are added in order.
 */
static float convolve(const struct convolution *s, const float *in, const float *filter, uint32_t y,
		      uint32_t x, uint32_t n)
{
	uint32_t pixel = s->c + s->gap, tap_size = s->c * s->n + s->w_gap;
	uint32_t piece = s->piece ? (uint32_t)ONPU_PIECE_UNIT << s->piece : s->c;
	float acc = 0.0f;

	for (uint32_t tap = 0; tap < 9; tap++) {
		const float *a = in + ((y + tap / 3) * (s->w + 2) + x + tap % 3) * pixel;
		const float *b = filter + tap * tap_size + n;
		float part = 0.0f;

		for (uint32_t k = 0; k < s->c; k++) {
			float *sum = s->piece ? &part : &acc;

			*sum = __builtin_fmaf(a[k], b[k * s->n], *sum);
			if (s->piece && (k + 1 == s->c || !((k + 1) % piece))) {
				acc += part;
				part = 0.0f;
			}
		}
	}
	return acc != acc ? __builtin_nanf("") : acc;
}

static void check_convolution(struct onpu_machine *m, const struct convolution *s)
{
	static float in[SRAM / sizeof(float)];
	struct program *p = program_create(SRAM, 0);
	uint32_t pixel = s->c + s->gap, row = (s->w + 2) * pixel, size = (s->h + 2) * row;
	uint32_t tap_size = s->c * s->n + s->w_gap, all = size + 9 * tap_size;
	struct onpu_slot_param_taps taps = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };
	const int64_t a_stride[] = { row * 4, pixel * 4, 4 }, b_stride[] = { 0, 0, s->n * 4, 4 };
	struct onpu_insn insn = { .op = ONPU_OP_MMA_F32, .piece = s->piece };
	const uint32_t nan = 0xffc12345;
	struct onpu_slot_tensor t;
	const float *out;

	assert_true((all + s->h * s->w * s->n) * 4 <= sizeof(in));
	for (uint32_t i = 0; i < all; i++)
		in[i] = (float)((int)(i * 37 % 101) - 50) * 0.0137f;
	memcpy(&in[size / 2], &nan, sizeof(nan));
	t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 3, DIM(s->h, s->w, s->c), a_stride);
	t.size = size * 4;
	insn.s0 = program_slot(p, &t);
	t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, size * 4, 4, DIM(s->h, s->w, s->c, s->n),
			   b_stride);
	t.size = 9 * tap_size * 4;
	insn.s1 = program_slot(p, &t);
	insn.dst =
		program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, all * 4, 3, DIM(s->h, s->w, s->n));
	taps.loop[0] = (struct onpu_slot_param_taps_loop){ 3, 0, row * 4, 3 * tap_size * 4, 0 };
	taps.loop[1] = (struct onpu_slot_param_taps_loop){ 3, 0, pixel * 4, tap_size * 4, 0 };
	taps.loop[2].count = 1;
	insn.param = program_slot(p, &taps);
	program_insn(p, insn);
	program_end(p);
	p->sram = in;
	p->sram_size = all * 4;
	assert_true(program_run(p, m));
	out = (const float *)onpu_machine_sram(m) + all;
	assert_int_equal(p->result.counters.macs, s->h * s->w * s->n * 9 * s->c);
	for (uint32_t i = 0; i < s->h * s->w * s->n; i++) {
		float expected =
			convolve(s, in, in + size, i / (s->w * s->n), i / s->n % s->w, i % s->n);

		if (memcmp(&out[i], &expected, sizeof(expected)))
			fail_msg(
				"%ux%u, %u to %u channels, gaps %u %u, piece %u: element %u is %a, not %a",
				s->h, s->w, s->c, s->n, s->gap, s->w_gap, s->piece, i, out[i],
				expected);
	}
	program_destroy(p);
}

static void test_convolution(void **state)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	struct onpu_machine *m;
	static const struct convolution shapes[] = {
		{ 6, 5, 7, 19, 0, 0, 0 },
		/* Taps are contiguous in both operands, in one of them, in none. */
		{ 9, 7, 3, 32, 0, 0, 0 },
		{ 9, 7, 3, 32, 1, 0, 0 },
		{ 9, 7, 3, 32, 0, 5, 0 },
		{ 9, 7, 3, 32, 1, 5, 0 },
		/* One column, more columns than a panel, fewer columns than a vector. */
		{ 4, 4, 5, 1, 0, 0, 0 },
		{ 5, 5, 16, 33, 0, 0, 0 },
		{ 7, 7, 4, 5, 0, 0, 0 },
		/* More rows than a block. */
		{ 17, 16, 4, 16, 0, 0, 0 },
		/*
		 * Partial sums: complete ones, with an incomplete last one, and fewer products than
		 * one needs.
		 */
		{ 5, 5, 16, 33, 0, 0, 1 },
		{ 5, 5, 22, 16, 0, 0, 1 },
		{ 5, 5, 3, 16, 0, 0, 1 },
		{ 4, 4, 35, 24, 2, 0, 3 },
		/*
		 * More products than are packed at a time: from several taps, and from contiguous
		 * taps.
		 */
		{ 2, 2, 130, 8, 1, 0, 0 },
		{ 2, 2, 130, 8, 0, 0, 3 },
		{ 2, 2, 350, 2, 0, 0, 0 },
	};

	(void)state;
	config.sram_bytes = SRAM;
	m = onpu_machine_create(&config, NULL);
	assert_non_null(m);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		check_convolution(m, &shapes[i]);
	onpu_machine_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_convolution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
