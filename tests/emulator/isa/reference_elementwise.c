// SPDX-License-Identifier: MIT
/*
 * Executes unary, binary and ternary vector instructions for the reference (isa.xml: #elementwise).
 */
#include "reference.h"

#include <math.h>

static float alpha_float(const struct ref_op *op)
{
	return ref_float_of((uint32_t)op->slot[ONPU_OPERAND_PARAM].scalar.alpha);
}

static float beta_float(const struct ref_op *op)
{
	return ref_float_of((uint32_t)op->slot[ONPU_OPERAND_PARAM].scalar.beta);
}

static ref_int scalar_int(uint64_t bits, unsigned int dtype)
{
	return ref_is_signed(dtype) ? (ref_int)(int64_t)bits : (ref_int)bits;
}

/*
 * Returns x with its sign bit cleared or flipped, also if x is NaN, which becomes canonical when it
 * is stored.
 */
static float with_sign_bit(float x, uint32_t clear, uint32_t flip)
{
	return ref_float_of((ref_bits_of(x) & ~clear) ^ flip);
}

static float keep_zero_sign(float rounded, float x)
{
	return rounded == 0 ? copysignf(0, x) : rounded;
}

static float round_even(float x)
{
	if (isnan(x) || fabsf(x) >= 0x1p23f)
		return x;
	return keep_zero_sign((float)(int64_t)ref_round_to_integer(x), x);
}

static float hard_sigmoid(const struct ref_op *op, float x)
{
	float product = alpha_float(op) * x;

	return ref_max(0.0f, ref_min(1.0f, product + beta_float(op)));
}

static float unary_plain(const struct ref_op *op, float x)
{
	switch (op->insn.op) {
	case ONPU_OP_VMOV:
		return x;
	case ONPU_OP_VABS:
		return with_sign_bit(x, 0x80000000, 0);
	case ONPU_OP_VNEG:
		return with_sign_bit(x, 0, 0x80000000);
	case ONPU_OP_VSIGN:
		return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f;
	case ONPU_OP_VCEIL:
		return keep_zero_sign(ceilf(x), x);
	case ONPU_OP_VFLOOR:
		return keep_zero_sign(floorf(x), x);
	case ONPU_OP_VROUNDEVEN:
		return round_even(x);
	case ONPU_OP_VLEAKYRELU:
		return x < 0 ? alpha_float(op) * x : x;
	case ONPU_OP_VHARDSIGMOID:
		return hard_sigmoid(op, x);
	case ONPU_OP_VHARDSWISH:
		return x * ref_max(0.0f, ref_min(6.0f, x + 3.0f)) / 6.0f;
	case ONPU_OP_VRELU:
		return isnan(x) || x > 0 ? x : 0.0f;
	case ONPU_OP_VCLAMP:
		return ref_min(ref_max(x, alpha_float(op)), beta_float(op));
	case ONPU_OP_VLINEAR: {
		float product = alpha_float(op) * x;

		return product + beta_float(op);
	}
	default:
		__builtin_trap();
	}
}

static float unary_float(const struct ref_op *op, float x)
{
	switch (op->insn.op) {
	case ONPU_OP_VRECIP:
		return ref_fn_recip(x);
	case ONPU_OP_VSQRT:
		return ref_fn_sqrt(x);
	case ONPU_OP_VRSQRT:
		return ref_fn_rsqrt(x);
	case ONPU_OP_VEXP:
		return ref_fn_exp(x);
	case ONPU_OP_VLOG:
		return ref_fn_log(x);
	case ONPU_OP_VSIN:
		return ref_fn_sin(x);
	case ONPU_OP_VCOS:
		return ref_fn_cos(x);
	case ONPU_OP_VTAN:
		return ref_fn_tan(x);
	case ONPU_OP_VTANH:
		return ref_fn_tanh(x);
	case ONPU_OP_VERF:
		return ref_fn_erf(x);
	case ONPU_OP_VSIGMOID:
		return ref_fn_sigmoid(x);
	case ONPU_OP_VGELU:
		return ref_fn_gelu(x);
	case ONPU_OP_VSOFTPLUS:
		return ref_fn_softplus(x);
	case ONPU_OP_VSOFTSIGN:
		return ref_fn_softsign(x);
	case ONPU_OP_VELU:
		return ref_fn_elu(x, alpha_float(op));
	default:
		return unary_plain(op, x);
	}
}

static ref_int unary_int(const struct ref_op *op, ref_int x, unsigned int dtype)
{
	ref_int alpha = scalar_int(op->slot[ONPU_OPERAND_PARAM].scalar.alpha, dtype);
	ref_int beta = scalar_int(op->slot[ONPU_OPERAND_PARAM].scalar.beta, dtype);

	switch (op->insn.op) {
	case ONPU_OP_VABS:
		return x < 0 ? -x : x;
	case ONPU_OP_VNEG:
		return -x;
	case ONPU_OP_VSIGN:
		return x > 0 ? 1 : x < 0 ? -1 : 0;
	case ONPU_OP_VRELU:
		return x > 0 ? x : 0;
	case ONPU_OP_VNOT:
		return x == 0;
	case ONPU_OP_VCLAMP:
		x = x > alpha ? x : alpha;
		return x < beta ? x : beta;
	case ONPU_OP_VLINEAR:
		return (ref_int)((ref_uint)alpha * (ref_uint)x + (ref_uint)beta);
	default:
		__builtin_trap();
	}
}

static float binary_float(const struct ref_op *op, float x, float y)
{
	switch (op->insn.op) {
	case ONPU_OP_VADD:
		return x + y;
	case ONPU_OP_VSUB:
		return x - y;
	case ONPU_OP_VMUL:
		return x * y;
	case ONPU_OP_VDIV:
		return x / y;
	case ONPU_OP_VMAX:
		return ref_max(x, y);
	case ONPU_OP_VMIN:
		return ref_min(x, y);
	case ONPU_OP_VPOW:
		return ref_fn_pow(x, y);
	case ONPU_OP_VPRELU:
		return x < 0 ? x * y : x;
	default:
		__builtin_trap();
	}
}

static ref_int int_pow(ref_int x, ref_int y)
{
	uint64_t power = 1, base = (uint64_t)x;

	if (y < 0)
		return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
	/* The loop squares once for each bit: the exponent has up to 64 bits. */
	for (uint64_t left = (uint64_t)y; left; left >>= 1) {
		if (left & 1)
			power *= base;
		base *= base;
	}
	return power;
}

static ref_int binary_int(const struct ref_op *op, ref_int x, ref_int y)
{
	switch (op->insn.op) {
	case ONPU_OP_VADD:
		return x + y;
	case ONPU_OP_VSUB:
		return x - y;
	case ONPU_OP_VMUL:
		return (ref_int)((ref_uint)x * (ref_uint)y);
	case ONPU_OP_VDIV:
		return y ? x / y : 0;
	case ONPU_OP_VMAX:
		return x > y ? x : y;
	case ONPU_OP_VMIN:
		return x < y ? x : y;
	case ONPU_OP_VPOW:
		return int_pow(x, y);
	case ONPU_OP_VPRELU:
		return x < 0 ? x * y : x;
	case ONPU_OP_VAND:
		return x != 0 && y != 0;
	case ONPU_OP_VOR:
		return x != 0 || y != 0;
	case ONPU_OP_VXOR:
		return (x != 0) != (y != 0);
	default:
		__builtin_trap();
	}
}

#define COMPARE(op, x, y)                   \
	((op) == ONPU_OP_VEQ ? (x) == (y) : \
	 (op) == ONPU_OP_VNE ? (x) != (y) : \
	 (op) == ONPU_OP_VGT ? (x) > (y) :  \
	 (op) == ONPU_OP_VGE ? (x) >= (y) : \
	 (op) == ONPU_OP_VLT ? (x) < (y) :  \
			       (x) <= (y))

static bool is_compare(enum onpu_op op)
{
	return op >= ONPU_OP_VEQ && op <= ONPU_OP_VLE;
}

static void store_one(struct ref_machine *m, const struct ref_op *op, const uint32_t *i)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2], *s2 = &op->x[3];
	enum onpu_op what = op->insn.op;

	if (what == ONPU_OP_VWHERE) {
		const struct ref_tensor *from = ref_load_int(m, s0, i) ? s1 : s2;

		ref_store_bits(m, dst, i, ref_load_bits(m, from, i));
	} else if (what == ONPU_OP_VMOV && dst->dtype == s0->dtype) {
		ref_store_bits(m, dst, i, ref_load_bits(m, s0, i));
	} else if (ref_is_float(s0->dtype)) {
		float x = ref_load_float(m, s0, i);
		float y = op->has[2] ? ref_load_float(m, s1, i) : 0;

		if (what == ONPU_OP_VISNAN)
			ref_store_int(m, dst, i, isnan(x) ? 1 : 0);
		else if (what == ONPU_OP_VISINF)
			ref_store_int(m, dst, i, isinf(x) ? 1 : 0);
		else if (is_compare(what))
			ref_store_int(m, dst, i, COMPARE(what, x, y));
		else if (what == ONPU_OP_VFMA)
			ref_store_float(m, dst, i, fmaf(x, y, ref_load_float(m, s2, i)));
		else
			ref_store_float(m, dst, i,
					op->has[2] ? binary_float(op, x, y) : unary_float(op, x));
	} else {
		ref_int x = ref_load_int(m, s0, i);
		ref_int y = op->has[2] ? ref_load_int(m, s1, i) : 0;

		if (is_compare(what))
			ref_store_int(m, dst, i, COMPARE(what, x, y));
		else if (what == ONPU_OP_VFMA)
			ref_store_int(m, dst, i,
				      (ref_int)((ref_uint)x * (ref_uint)y +
						(ref_uint)ref_load_int(m, s2, i)));
		else
			ref_store_int(m, dst, i,
				      op->has[2] ? binary_int(op, x, y) :
						   unary_int(op, x, s0->dtype));
	}
}

void ref_elementwise(struct ref_machine *m, const struct ref_op *op)
{
	ref_index i = { 0 };

	do {
		store_one(m, op, i);
	} while (ref_next(op->x[0].dim, op->x[0].rank, i));
}

void ref_tri(struct ref_machine *m, const struct ref_op *op)
{
	const struct onpu_slot_param_tri *tri = &op->slot[ONPU_OPERAND_PARAM].tri;
	const struct ref_tensor *dst = &op->x[0];
	ref_index i = { 0 };

	do {
		ref_int row = i[dst->rank - 2], column = i[dst->rank - 1];
		ref_int bound = row + tri->diagonal;
		bool keep = tri->flags & ONPU_TRI_UPPER ? column >= bound : column <= bound;

		ref_store_bits(m, dst, i, keep ? ref_load_bits(m, &op->x[1], i) : 0);
	} while (ref_next(dst->dim, dst->rank, i));
}

static ref_int truncate(float x)
{
	if (isnan(x))
		return 0;
	if (fabsf(x) >= 0x1p100f)
		return x < 0 ? -REF_HUGE : REF_HUGE;
	return (ref_int)x;
}

static void convert_one(struct ref_machine *m, const struct ref_op *op, const uint32_t *i)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	float y = op->has[2] ? ref_load_float(m, &op->x[2], i) : 0;
	ref_int z = op->has[3] ? ref_load_int(m, &op->x[3], i) : 0;

	switch (op->insn.op) {
	case ONPU_OP_CVT:
		if (ref_is_float(dst->dtype))
			ref_store_float(m, dst, i, ref_load_float(m, s0, i));
		else if (ref_is_float(s0->dtype))
			ref_store_int(m, dst, i,
				      ref_saturate(truncate(ref_load_float(m, s0, i)), dst->dtype));
		else
			ref_store_int(m, dst, i, ref_load_int(m, s0, i));
		break;
	case ONPU_OP_QUANT:
		y = ref_load_float(m, s0, i) / y;
		ref_store_int(m, dst, i, ref_saturate(ref_round_to_integer(y) + z, dst->dtype));
		break;
	case ONPU_OP_DEQUANT:
		ref_store_float(m, dst, i, ref_integer_to_float(ref_load_int(m, s0, i) - z) * y);
		break;
	default: /* requant */
		y = ref_integer_to_float(ref_load_int(m, s0, i)) * y;
		ref_store_int(m, dst, i, ref_saturate(ref_round_to_integer(y) + z, dst->dtype));
		break;
	}
}

void ref_convert(struct ref_machine *m, const struct ref_op *op)
{
	ref_index i = { 0 };

	do {
		convert_one(m, op, i);
	} while (ref_next(op->x[0].dim, op->x[0].rank, i));
}
