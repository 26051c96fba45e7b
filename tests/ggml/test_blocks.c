// SPDX-License-Identifier: MIT
/*
 * Compares the elements that import/common/blocks reads, and those of matrices that
 * import/common/matrix packs, with those of ggml's own functions. They are equal, but for the sign
 * of zeros. Blocks have random bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"
#include "client.h"
#include "import/common/matrix.h"

#define BLOCKS	4
#define COLUMNS 5

static bool is_same(float a, float b)
{
	return isnan(a) ? isnan(b) : a == b;
}

/* Returns element k of a column of a matrix. */
static float element_of(const struct import_matrix *matrix, size_t k, size_t column)
{
	size_t at = k * matrix->columns + column;
	size_t group = k / matrix->group * matrix->columns + column;
	int number = matrix->numbers[at], zero = matrix->zeros[group];

	if (matrix->type == WNNOperandDataType_Uint4) {
		number = matrix->numbers[at / 2] >> at % 2 * 4 & 15;
		zero = matrix->zeros[group / 2] >> group % 2 * 4 & 15;
	}
	return (float)(number - zero) * matrix->scales[group] +
	       (matrix->offsets ? matrix->offsets[group] : 0);
}

static void compare(const char *name, const struct import_block_type *type, struct rng *rng,
		    bool is_finite)
{
	size_t depth = (size_t)BLOCKS * type->elements, count = depth * COLUMNS;
	size_t size = (size_t)BLOCKS * COLUMNS * type->bytes;
	const struct gg_type_traits *traits = gg.ggml_get_type_traits(type_number(name));
	struct import_rows rows = { .type = type,
				    .stride = (size_t)BLOCKS * type->bytes,
				    .depth = (uint32_t)depth,
				    .columns = COLUMNS };
	float *wanted = malloc(count * sizeof(float)), *got = malloc(count * sizeof(float));
	uint8_t *data = malloc(size);
	struct import_matrix matrix;
	enum import_packed packed;

	/* Half floats without the bit 0x4000 are finite, wherever they lie in a block. */
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(rng_below(rng, 256) & (is_finite ? 0xbf : 0xff));
	traits->to_float(data, wanted, (int64_t)count);
	import_blocks_read(type, data, 0, count, got);
	rows.data = data;
	packed = import_matrix_init(&matrix, &rows);
	if (is_finite && packed != IMPORT_PACKED)
		fail("%s: a matrix is not packed", name);
	for (size_t i = 0; i < count; i++) {
		float element;

		if (!is_same(wanted[i], got[i]))
			fail("%s: element %zu is %a, but ggml has %a", name, i, got[i], wanted[i]);
		if (packed != IMPORT_PACKED || matrix.values)
			continue;
		element = element_of(&matrix, i % depth, i / depth);
		if (element != wanted[i])
			fail("%s: element %zu of a matrix is %a, but ggml has %a", name, i, element,
			     wanted[i]);
	}
	import_matrix_exit(&matrix);
	free(wanted);
	free(got);
	free(data);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "f16",    "bf16",	 "q4_0", "q4_1", "q5_0",
					     "q5_1",   "q8_0",	 "q4_K", "q5_K", "q6_K",
					     "iq4_nl", "iq4_xs", "mxfp4" };
	struct rng rng = { 44 };

	if (argc != 3)
		fail("usage: %s LIBRARY FOLDER", argv[0]);
	client_load(argv[2], argv[1]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct import_block_type *type = import_block_named(names[i]);

		if (!type || type->number != type_number(names[i]) || !import_block_is_read(type))
			fail("%s is not read", names[i]);
		if (type->elements != gg.ggml_get_type_traits(type->number)->block ||
		    type->bytes != gg.ggml_get_type_traits(type->number)->size)
			fail("%s has blocks of another size", names[i]);
		for (int round = 0; round < 200; round++)
			compare(names[i], type, &rng, round % 2);
	}
	printf("ok: blocks of %zu types have the elements that ggml reads\n",
	       sizeof(names) / sizeof(names[0]));
	return 0;
}
