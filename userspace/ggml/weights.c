// SPDX-License-Identifier: MIT
/*
 * Repacks weights of ggml, [N, K], whose rows are blocks of 32 elements, and multiplies with them.
 *
 * A weight of 4 bits becomes uint4 with zero point 8, one of 8 bits int8. Both are [K, N], with a
 * float32 scale for each 32 of K, as dequantizeLinear takes them. Q4_1 adds a number m to each
 * block; the product gets the sum of x over the block times m. Other types become floats. All
 * graphs that use a matrix share its repacked form.
 */
#include <stdlib.h>
#include <string.h>

#include "emit.h"

#define BLOCK 32

struct pack {
	struct pack *next;
	const void *data; /* of the matrix; a view of its first rows has it, too */
	uint32_t number;  /* of its type, in ggml */
	int64_t size[2];
	enum onpu_type type;
	uint8_t *numbers; /* uint4 or int8, [K, N] */
	uint8_t *zeros;	  /* zero points, [K / 32, N] */
	float *scales;	  /* [K / 32, N] */
	float *added;	  /* [K / 32, N]; NULL without */
	float *floats;	  /* [K, N], instead of all those */
};

static struct pack *packs[1024];

static struct pack **slot_of(const void *data)
{
	return &packs[(uintptr_t)data / 64 % (sizeof(packs) / sizeof(packs[0]))];
}

static void free_pack(struct pack *pack)
{
	free(pack->numbers);
	free(pack->zeros);
	free(pack->scales);
	free(pack->added);
	free(pack->floats);
	free(pack);
}

void onpu_weights_forget(void)
{
	for (size_t i = 0; i < sizeof(packs) / sizeof(packs[0]); i++) {
		while (packs[i]) {
			struct pack *pack = packs[i];

			packs[i] = pack->next;
			free_pack(pack);
		}
	}
}

/* Reads a row of blocks of 4 bits. The low halves of 16 bytes are the first 16 elements. */
static void read_row4(struct pack *pack, const uint8_t *row, size_t k_count, size_t n,
		      size_t n_count)
{
	size_t head = pack->type == TYPE_Q4_1 ? 4 : 2;

	for (size_t block = 0; block < k_count / BLOCK; block++, row += head + BLOCK / 2) {
		uint16_t half[2] = { 0 };
		float number[2];

		memcpy(half, row, head);
		base.fp16_to_fp32_row(half, number, 2);
		pack->scales[block * n_count + n] = number[0];
		if (pack->added)
			pack->added[block * n_count + n] = number[1] + 8 * number[0];
		for (size_t i = 0; i < BLOCK; i++) {
			uint8_t bits = row[head + i % 16] >> (i / 16 * 4) & 15;
			size_t at = (block * BLOCK + i) * n_count + n;

			pack->numbers[at / 2] |= (uint8_t)(bits << (at % 2 * 4));
		}
	}
}

static void read_row8(struct pack *pack, const uint8_t *row, size_t k_count, size_t n,
		      size_t n_count)
{
	for (size_t block = 0; block < k_count / BLOCK; block++, row += 2 + BLOCK) {
		uint16_t half;

		memcpy(&half, row, sizeof(half));
		base.fp16_to_fp32_row(&half, &pack->scales[block * n_count + n], 1);
		for (size_t i = 0; i < BLOCK; i++)
			pack->numbers[(block * BLOCK + i) * n_count + n] = row[2 + i];
	}
}

static int read_floats(struct pack *pack, const struct gg_tensor *matrix)
{
	size_t k_count = (size_t)matrix->ne[0], n_count = (size_t)matrix->ne[1];
	const struct gg_type_traits *traits = base.get_type_traits(matrix->type);
	float *row = malloc(k_count * sizeof(*row));

	pack->floats = malloc(k_count * n_count * sizeof(*pack->floats));
	if (!row || !pack->floats) {
		free(row);
		return -1;
	}
	for (size_t n = 0; n < n_count; n++) {
		traits->to_float((const char *)matrix->data + n * matrix->nb[1], row,
				 matrix->ne[0]);
		for (size_t k = 0; k < k_count; k++)
			pack->floats[k * n_count + n] = row[k];
	}
	free(row);
	return 0;
}

static int read_blocks(struct pack *pack, const struct gg_tensor *matrix)
{
	size_t k_count = (size_t)matrix->ne[0], n_count = (size_t)matrix->ne[1];
	size_t scales = k_count / BLOCK * n_count;
	bool is_byte = pack->type == TYPE_Q8_0;

	pack->numbers = calloc((k_count * n_count + 1) / (is_byte ? 1 : 2), 1);
	pack->zeros = malloc(scales);
	pack->scales = malloc(scales * sizeof(*pack->scales));
	if (pack->type == TYPE_Q4_1)
		pack->added = malloc(scales * sizeof(*pack->added));
	if (!pack->numbers || !pack->zeros || !pack->scales ||
	    (pack->type == TYPE_Q4_1 && !pack->added))
		return -1;
	memset(pack->zeros, is_byte ? 0 : 0x88, scales);
	for (size_t n = 0; n < n_count; n++) {
		const uint8_t *row = (const uint8_t *)matrix->data + n * matrix->nb[1];

		if (is_byte)
			read_row8(pack, row, k_count, n, n_count);
		else
			read_row4(pack, row, k_count, n, n_count);
	}
	return 0;
}

static struct pack *find_pack(struct onpu_emit *e, const struct gg_tensor *matrix)
{
	struct pack **slot = slot_of(matrix->data), *pack;
	int error;

	for (pack = *slot; pack; pack = pack->next)
		if (pack->data == matrix->data && pack->number == matrix->type &&
		    !memcmp(pack->size, matrix->ne, sizeof(pack->size)))
			return pack;
	pack = calloc(1, sizeof(*pack));
	if (pack) {
		pack->data = matrix->data;
		pack->number = matrix->type;
		memcpy(pack->size, matrix->ne, sizeof(pack->size));
		pack->type = onpu_type_of(matrix);
		error = pack->type == TYPE_OTHER ? read_floats(pack, matrix) :
						   read_blocks(pack, matrix);
		if (!error) {
			pack->next = *slot;
			*slot = pack;
			return pack;
		}
		free_pack(pack);
	}
	onpu_refuse(e, "memory is exhausted");
	return NULL;
}

/* Adds to a product the sums of x over blocks of Q4_1, times the numbers m of these. */
static WNNOperand add_blocks(struct onpu_emit *e, const struct pack *pack, WNNOperand x,
			     WNNOperand product, struct onpu_shape scales)
{
	WNNUint32Array shape = x ? wnnOperandGetShape(x) : (WNNUint32Array){ 0, NULL };
	struct onpu_shape blocks = { .rank = (uint32_t)shape.count + 1 };
	WNNOperand added = x_borrow(e, WNNOperandDataType_Float32, scales, pack->added);

	if (!x)
		return NULL;
	memcpy(blocks.dim, shape.data, (shape.count - 1) * sizeof(*shape.data));
	blocks.dim[shape.count - 1] = scales.dim[0];
	blocks.dim[shape.count] = BLOCK;
	x = x_sum(e, x_reshape(e, x, blocks), false, (uint32_t)shape.count, false);
	return x_add(e, product, x_matmul(e, x, added));
}

WNNOperand onpu_emit_weights(struct onpu_emit *e, const struct gg_tensor *matrix, WNNOperand x)
{
	uint32_t k_count = (uint32_t)matrix->ne[0], n_count = (uint32_t)matrix->ne[1];
	struct onpu_shape scales = SHAPE(k_count / BLOCK, n_count);
	WNNOperandDataType type = WNNOperandDataType_Uint4;
	const struct pack *pack = find_pack(e, matrix);
	WNNOperand weights;

	if (!pack)
		return NULL;
	if (pack->floats)
		return x_matmul(e, x,
				x_borrow(e, WNNOperandDataType_Float32, SHAPE(k_count, n_count),
					 pack->floats));
	if (pack->type == TYPE_Q8_0)
		type = WNNOperandDataType_Int8;
	weights = wnnGraphBuilderDequantizeLinear(
		e->builder, x_borrow(e, type, SHAPE(k_count, n_count), pack->numbers),
		x_borrow(e, WNNOperandDataType_Float32, scales, pack->scales),
		x_borrow(e, type, scales, pack->zeros), NULL);
	weights = x_matmul(e, x, weights);
	return pack->added ? add_blocks(e, pack, x, weights, scales) : weights;
}
