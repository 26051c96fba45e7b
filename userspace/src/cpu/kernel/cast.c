// SPDX-License-Identifier: MIT
/*
 * Fast casts between all types of 8 bits and more but float64. float16 is converted through
 * float32, which holds all of its values.
 */
#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

#define GRAIN 16384
#define CHUNK 1024

/* --- To float32, rounded once --- */

#define TO_FLOAT(type)                                                     \
	static void float_of_##type(float *y, const void *from, int64_t n) \
	{                                                                  \
		const type *x = from;                                      \
                                                                           \
		for (int64_t i = 0; i < n; i++)                            \
			y[i] = (float)x[i];                                \
	}

TO_FLOAT(float)
TO_FLOAT(int8_t)
TO_FLOAT(uint8_t)
TO_FLOAT(int32_t)
TO_FLOAT(uint32_t)
TO_FLOAT(int64_t)
TO_FLOAT(uint64_t)

static void (*const to_float[])(float *y, const void *x, int64_t n) = {
	[IR_F32] = float_of_float,    [IR_I8] = float_of_int8_t,    [IR_U8] = float_of_uint8_t,
	[IR_I32] = float_of_int32_t,  [IR_U32] = float_of_uint32_t, [IR_I64] = float_of_int64_t,
	[IR_U64] = float_of_uint64_t,
};

/* --- From float32: values out of range saturate, NaN becomes 0 --- */

#define FROM_FLOAT(type, low, high, least, greatest)                     \
	static void type##_of_float(void *to, const float *x, int64_t n) \
	{                                                                \
		type *y = to;                                            \
                                                                         \
		for (int64_t i = 0; i < n; i++)                          \
			y[i] = x[i] != x[i]   ? 0 :                      \
			       x[i] <= (low)  ? (least) :                \
			       x[i] >= (high) ? (greatest) :             \
						(type)x[i];              \
	}

FROM_FLOAT(int8_t, -0x1p7f, 0x1p7f, INT8_MIN, INT8_MAX)
FROM_FLOAT(uint8_t, 0, 0x1p8f, 0, UINT8_MAX)
FROM_FLOAT(int32_t, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
FROM_FLOAT(uint32_t, 0, 0x1p32f, 0, UINT32_MAX)
FROM_FLOAT(int64_t, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX)
FROM_FLOAT(uint64_t, 0, 0x1p64f, 0, UINT64_MAX)

static void float_of_itself(void *to, const float *x, int64_t n)
{
	memcpy(to, x, (size_t)n * sizeof(*x));
}

static void (*const from_float[])(void *to, const float *x, int64_t n) = {
	[IR_F32] = float_of_itself,   [IR_I8] = int8_t_of_float,    [IR_U8] = uint8_t_of_float,
	[IR_I32] = int32_t_of_float,  [IR_U32] = uint32_t_of_float, [IR_I64] = int64_t_of_float,
	[IR_U64] = uint64_t_of_float,
};

/* --- Between integers: keep the low bits --- */

#define WIDTH(from, bits)                                                                 \
	static void from##_to_##bits(void *to, const void *x, int64_t n)                  \
	{                                                                                 \
		for (int64_t i = 0; i < n; i++)                                           \
			((uint##bits##_t *)to)[i] = (uint##bits##_t)((const from *)x)[i]; \
	}
#define WIDTHS(from) WIDTH(from, 8) WIDTH(from, 32) WIDTH(from, 64)

WIDTHS(int8_t)
WIDTHS(uint8_t)
WIDTHS(int32_t)
WIDTHS(uint32_t)
WIDTHS(uint64_t)

typedef void (*integer_fn)(void *to, const void *x, int64_t n);

#define ROW(from) { from##_to_8, from##_to_32, from##_to_64 }
static const integer_fn integers[][3] = {
	[IR_I8] = ROW(int8_t),	  [IR_U8] = ROW(uint8_t),   [IR_I32] = ROW(int32_t),
	[IR_U32] = ROW(uint32_t), [IR_I64] = ROW(uint64_t), [IR_U64] = ROW(uint64_t),
};

struct cast {
	const struct cpu_simd *simd;
	enum ir_dtype from, to;
	const char *x;
	char *y;
};

/*
 * Casts through float32, when one type or both are floats. Elements of other types are converted to
 * or from a buffer of float32; float32 needs none.
 */
static void cast_floats(const struct cast *c, char *y, const char *x, int64_t n)
{
	float own[CHUNK], *chunk = c->to == IR_F32 ? (float *)y : own;

	if (c->from == IR_F32)
		chunk = (float *)x;
	else if (c->from == IR_F16)
		c->simd->from_halves(chunk, (const uint16_t *)x, n);
	else
		to_float[c->from](chunk, x, n);
	if (c->to == IR_F16)
		c->simd->to_halves((uint16_t *)y, chunk, n);
	else if (chunk != (float *)y)
		from_float[c->to](y, chunk, n);
}

static void cast_range(void *argument, int64_t begin, int64_t end)
{
	const struct cast *c = argument;
	size_t in = ir_dtype_bits(c->from) / 8, out = ir_dtype_bits(c->to) / 8;
	const char *x = c->x + (size_t)begin * in;
	char *y = c->y + (size_t)begin * out;

	if (!ir_dtype_is_float(c->from) && !ir_dtype_is_float(c->to)) {
		integers[c->from][out == 1 ? 0 : out == 4 ? 1 : 2](y, x, end - begin);
		return;
	}
	for (int64_t i = begin; i < end; i += CHUNK) {
		int64_t n = end - i < CHUNK ? end - i : CHUNK;

		cast_floats(c, y, x, n);
		x += (size_t)n * in;
		y += (size_t)n * out;
	}
}

int cpu_cast(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	     void *const *out, struct wnn_error *err)
{
	struct cast c = { .simd = cpu->simd,
			  .from = node->operands[0]->type.dtype,
			  .to = node->results[0]->type.dtype,
			  .x = in[0],
			  .y = out[0] };

	(void)err;
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), GRAIN, cast_range, &c);
	return 0;
}

static bool is_whole(enum ir_dtype dtype)
{
	return ir_dtype_bits(dtype) >= 8 && dtype != IR_F64;
}

const char *cpu_cast_refuses(const struct cpu_ask *ask)
{
	return is_whole(ask->node->operands[0]->type.dtype) &&
			       is_whole(ask->node->results[0]->type.dtype) ?
		       NULL :
		       "one of its types is float64 or has fewer than 8 bits";
}
