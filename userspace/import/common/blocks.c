// SPDX-License-Identifier: MIT
/* Unpacks the blocks of quantised tensors into floats, or into integers with scales and offsets. */
#include "blocks.h"

#include <string.h>
#include <strings.h>

/* ---- floats */

static uint16_t word(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static float from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static float read_single(const uint8_t *bytes)
{
	return from_bits(word(bytes) | (uint32_t)word(bytes + 2) << 16);
}

static float read_brain(const uint8_t *bytes)
{
	return from_bits((uint32_t)word(bytes) << 16);
}

static float read_half(const uint8_t *bytes)
{
	uint32_t half = word(bytes), sign = (half & 0x8000) << 16, rest = half & 0x7fff;

	if (rest >= 0x7c00)
		return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
	if (rest >= 0x400)
		return from_bits(sign | ((rest << 13) + (112u << 23)));
	return sign ? -(float)rest * 0x1p-24f : (float)rest * 0x1p-24f;
}

/* ---- blocks of 32 with one scale */

/* Unpacks 16 bytes: their low halves are the first 16 numbers, their high halves the others. */
static void unpack_halves(const uint8_t *bytes, int8_t *number)
{
	for (int i = 0; i < 16; i++) {
		number[i] = (int8_t)(bytes[i] & 15);
		number[i + 16] = (int8_t)(bytes[i] >> 4);
	}
}

static void unpack_q4_0(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = 0;
	unpack_halves(bytes + 2, block->number);
	for (int i = 0; i < 32; i++)
		block->number[i] = (int8_t)(block->number[i] - 8);
}

static void unpack_q4_1(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = read_half(bytes + 2);
	unpack_halves(bytes + 4, block->number);
}

/* Adds the fifth bit of each number: these bits are in four bytes of their own. */
static void unpack_fives(const uint8_t *high, int8_t *number)
{
	unpack_halves(high + 4, number);
	for (int i = 0; i < 32; i++)
		number[i] = (int8_t)(number[i] | (high[i / 8] >> i % 8 & 1) << 4);
}

static void unpack_q5_0(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = 0;
	unpack_fives(bytes + 2, block->number);
	for (int i = 0; i < 32; i++)
		block->number[i] = (int8_t)(block->number[i] - 16);
}

static void unpack_q5_1(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = read_half(bytes + 2);
	unpack_fives(bytes + 4, block->number);
}

static void unpack_q8_0(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = 0;
	memcpy(block->number, bytes + 2, 32);
}

/* ---- blocks of 256 with scales of 6 or 8 bits */

/*
 * Unpacks twelve bytes, which have eight scales and eight offsets of 6 bits: the first four of each
 * are the low six bits of bytes 0 to 7, the others have their low four bits in bytes 8 to 11, and
 * their high two in the high bits of bytes 0 to 7.
 */
static void unpack_scales(const uint8_t *bytes, struct import_block *block)
{
	float scale = read_half(bytes), offset = read_half(bytes + 2);
	const uint8_t *s = bytes + 4;

	for (int i = 0; i < 8; i++) {
		int a, b;

		if (i < 4) {
			a = s[i] & 63;
			b = s[i + 4] & 63;
		} else {
			a = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
			b = s[i + 4] >> 4 | s[i] >> 6 << 4;
		}
		block->scale[i] = scale * (float)a;
		block->offset[i] = -(offset * (float)b);
	}
}

/* Unpacks Q4_K: 32 bytes have 64 numbers, first the low halves of all bytes, then the high ones. */
static void unpack_q4_k(const uint8_t *bytes, struct import_block *block)
{
	unpack_scales(bytes, block);
	for (int i = 0; i < 256; i++)
		block->number[i] =
			(int8_t)(bytes[16 + i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15);
}

static void unpack_q5_k(const uint8_t *bytes, struct import_block *block)
{
	unpack_scales(bytes, block);
	for (int i = 0; i < 256; i++) {
		int low = bytes[48 + i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;

		block->number[i] = (int8_t)(low | (bytes[16 + i % 32] >> i / 32 & 1) << 4);
	}
}

/* Unpacks Q6_K: 64 bytes have the low halves of 128 numbers, 32 bytes their high two bits. */
static void unpack_q6_k(const uint8_t *bytes, struct import_block *block)
{
	float scale = read_half(bytes + 208);

	for (int i = 0; i < 256; i++) {
		int part = i / 32 % 4;
		int low = bytes[i / 128 * 64 + i % 64] >> part / 2 * 4 & 15;
		int high = bytes[128 + i / 128 * 32 + i % 32] >> part * 2 & 3;

		block->number[i] = (int8_t)((low | high << 4) - 32);
	}
	for (int i = 0; i < 16; i++) {
		block->scale[i] = scale * (float)(int8_t)bytes[192 + i];
		block->offset[i] = 0;
	}
}

/* ---- numbers of 4 bits that stand for others */

static void look_up(const int8_t *table, int8_t *number, int count)
{
	for (int i = 0; i < count; i++)
		number[i] = table[number[i]];
}

/* The numbers lie closer together around 0, where most weights are. */
static const int8_t nonlinear[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				      1,    13,	  25,  38,  53,	 69,  89,  113 };

static void unpack_iq4_nl(const uint8_t *bytes, struct import_block *block)
{
	block->scale[0] = read_half(bytes);
	block->offset[0] = 0;
	unpack_halves(bytes + 2, block->number);
	look_up(nonlinear, block->number, 32);
}

/*
 * Unpacks IQ4_XS. Each of eight scales is a number of 6 bits minus 32: four bytes have the low four
 * bits of each, and a word has the high two.
 */
static void unpack_iq4_xs(const uint8_t *bytes, struct import_block *block)
{
	float scale = read_half(bytes);

	for (int i = 0; i < 8; i++) {
		int low = bytes[4 + i / 2] >> i % 2 * 4 & 15;
		int high = word(bytes + 2) >> 2 * i & 3;

		block->scale[i] = scale * (float)((low | high << 4) - 32);
		block->offset[i] = 0;
		unpack_halves(bytes + 8 + 16 * i, block->number + 32 * i);
	}
	look_up(nonlinear, block->number, 256);
}

/* Twice the floats of 4 bits that OCP's microscaling formats call E2M1. */
static const int8_t twice_e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/*
 * Unpacks MXFP4: the first byte is the exponent of a power of two with bias 127, the scale of the
 * floats.
 */
static void unpack_mxfp4(const uint8_t *bytes, struct import_block *block)
{
	/*
	 * The scale is half of the power of two; for the two least exponents it is a subnormal
	 * float.
	 */
	uint32_t bits = bytes[0] < 2 ? 0x200000u << bytes[0] : (uint32_t)(bytes[0] - 1) << 23;

	block->scale[0] = from_bits(bits);
	block->offset[0] = 0;
	unpack_halves(bytes + 1, block->number);
	look_up(twice_e2m1, block->number, 32);
}

/* ---- the table */

#define FLOAT(number, name, bytes, element) \
	{ number, name, 1, bytes, 0, 0, 0, false, NULL, element }
#define OTHER(number, name, elements, bytes) \
	{ number, name, elements, bytes, 0, 0, 0, false, NULL, NULL }

static const struct import_block_type types[] = {
	FLOAT(0, "F32", 4, read_single),
	FLOAT(1, "F16", 2, read_half),
	{ 2, "Q4_0", 32, 18, 32, -8, 7, false, unpack_q4_0, NULL },
	{ 3, "Q4_1", 32, 20, 32, 0, 15, true, unpack_q4_1, NULL },
	{ 6, "Q5_0", 32, 22, 32, -16, 15, false, unpack_q5_0, NULL },
	{ 7, "Q5_1", 32, 24, 32, 0, 31, true, unpack_q5_1, NULL },
	{ 8, "Q8_0", 32, 34, 32, -128, 127, false, unpack_q8_0, NULL },
	OTHER(9, "Q8_1", 32, 36),
	OTHER(10, "Q2_K", 256, 84),
	OTHER(11, "Q3_K", 256, 110),
	{ 12, "Q4_K", 256, 144, 32, 0, 15, true, unpack_q4_k, NULL },
	{ 13, "Q5_K", 256, 176, 32, 0, 31, true, unpack_q5_k, NULL },
	{ 14, "Q6_K", 256, 210, 16, -32, 31, false, unpack_q6_k, NULL },
	OTHER(15, "Q8_K", 256, 292),
	OTHER(16, "IQ2_XXS", 256, 66),
	OTHER(17, "IQ2_XS", 256, 74),
	OTHER(18, "IQ3_XXS", 256, 98),
	OTHER(19, "IQ1_S", 256, 50),
	{ 20, "IQ4_NL", 32, 18, 32, -127, 113, false, unpack_iq4_nl, NULL },
	OTHER(21, "IQ3_S", 256, 110),
	OTHER(22, "IQ2_S", 256, 82),
	{ 23, "IQ4_XS", 256, 136, 32, -127, 113, false, unpack_iq4_xs, NULL },
	OTHER(24, "I8", 1, 1),
	OTHER(25, "I16", 1, 2),
	OTHER(26, "I32", 1, 4),
	OTHER(27, "I64", 1, 8),
	OTHER(28, "F64", 1, 8),
	OTHER(29, "IQ1_M", 256, 56),
	FLOAT(30, "BF16", 2, read_brain),
	OTHER(34, "TQ1_0", 256, 54),
	OTHER(35, "TQ2_0", 256, 66),
	{ 39, "MXFP4", 32, 17, 32, -12, 12, false, unpack_mxfp4, NULL },
};

const struct import_block_type *import_block_type(uint32_t number)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

const struct import_block_type *import_block_named(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcasecmp(types[i].name, name))
			return &types[i];
	return NULL;
}

bool import_block_is_read(const struct import_block_type *type)
{
	return type->unpack || type->element;
}

void import_blocks_read(const struct import_block_type *type, const uint8_t *data, uint64_t first,
			uint64_t count, float *values)
{
	struct import_block block;

	data += first / type->elements * type->bytes;
	for (uint64_t at = 0; at < count; at += type->elements, data += type->bytes) {
		if (type->element) {
			values[at] = type->element(data);
			continue;
		}
		type->unpack(data, &block);
		for (uint32_t i = 0; i < type->elements; i++) {
			uint32_t group = i / type->group;

			values[at + i] =
				block.scale[group] * (float)block.number[i] + block.offset[group];
		}
	}
}
