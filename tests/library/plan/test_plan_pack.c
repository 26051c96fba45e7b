// SPDX-License-Identifier: MIT
/*
 * Tests the change of the layout of constants: every element is at the position that the strides
 * give, and nothing else is written.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "plan/kernel/pack.h"
#include "../../random.h"

#define RUNS 600

/*
 * Draws the strides, in bytes, of dimensions that are in memory in a random order; with @flip, some
 * run backwards. Sets *first to the offset of the first element, and returns the bytes that the
 * elements span.
 */
static int64_t draw_strides(struct rng *rng, const int64_t *dim, int64_t size, bool flip,
			    int64_t *stride, int64_t *first)
{
	int order[PACK_RANK] = { 0, 1, 2, 3, 4 };
	int64_t bytes = size;

	for (int i = PACK_RANK - 1; i > 0; i--) {
		int other = (int)(rng_bits(rng) % (uint64_t)(i + 1)), at = order[i];

		order[i] = order[other];
		order[other] = at;
	}
	*first = 0;
	for (int i = 0; i < PACK_RANK; i++) {
		int d = order[i];

		stride[d] = bytes;
		bytes *= dim[d];
		if (flip && rng_bits(rng) % 4 == 0) {
			*first += (dim[d] - 1) * stride[d];
			stride[d] = -stride[d];
		}
	}
	return bytes;
}

static void check(const uint8_t *to, const int64_t *to_stride, const uint8_t *from,
		  const int64_t *from_stride, const int64_t *dim, size_t size)
{
	int64_t at[PACK_RANK] = { 0 };

	for (int d = 0; d >= 0;) {
		int64_t t = 0, f = 0;

		for (int i = 0; i < PACK_RANK; i++) {
			t += at[i] * to_stride[i];
			f += at[i] * from_stride[i];
		}
		assert_memory_equal(to + t, from + f, size);
		for (d = PACK_RANK - 1; d >= 0 && ++at[d] == dim[d]; d--)
			at[d] = 0;
	}
}

static void test_orders(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 4, 8, 12 };
	struct rng rng = { 7 };

	(void)state;
	for (int run = 0; run < RUNS; run++) {
		uint32_t size = sizes[rng_bits(&rng) % 5];
		int64_t dim[PACK_RANK], to_stride[PACK_RANK], from_stride[PACK_RANK], first, bytes;
		uint8_t *from, *to;

		for (int i = 0; i < PACK_RANK; i++)
			dim[i] = 1 + (int64_t)(rng_bits(&rng) % (rng_bits(&rng) % 3 ? 4 : 40));
		bytes = draw_strides(&rng, dim, size, false, to_stride, &first);
		draw_strides(&rng, dim, size, true, from_stride, &first);
		/*
		 * The source has exactly these bytes, so that the sanitizer finds accesses beyond
		 * them. The destination has one more, which must stay as it is.
		 */
		from = malloc((size_t)bytes);
		to = malloc((size_t)bytes + 1);
		assert_true(from && to);
		for (int64_t i = 0; i < bytes; i++)
			from[i] = (uint8_t)rng_bits(&rng);
		to[bytes] = 0xa5;
		pack_copy(to, to_stride, from + first, from_stride, dim, size);
		check(to, to_stride, from + first, from_stride, dim, size);
		assert_int_equal(to[bytes], 0xa5);
		free(from);
		free(to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
