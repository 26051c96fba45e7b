// SPDX-License-Identifier: MIT
/* Translates values of types that WebNN does not have, and rounds to those types in the graph. */
#include "carrier.h"

#include <math.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "move.h"
#include "ops.h"

#define LEAST_POWER  (-149)
#define POWERS	     277    /* powers of two, from 2^-149 to 2^127 */
#define LEAST_NORMAL (-119) /* below 2^-119, rounding to bfloat16 would need subnormal numbers */
/* elements of the largest constant that is converted in the import's arena */
#define MAX_COPY 65536u

/*
 * Whether an operator's translator handles types that WebNN lacks by itself: it keeps types, moves
 * elements of any type, or sets the types of its outputs.
 */
static bool looks_at_types(const struct onnx_op *op)
{
	static int (*const those[])(struct onnx_node *) = {
		onnx_op_bit_cast,
		onnx_op_cast,
		onnx_op_concat,
		onnx_op_concat_from_sequence,
		onnx_op_constant,
		onnx_op_constant_of_shape,
		onnx_op_dequantize,
		onnx_op_expand,
		onnx_op_flatten,
		onnx_op_flex_attention,
		onnx_op_gather,
		onnx_op_identity,
		onnx_op_if,
		onnx_op_loop,
		onnx_op_optional,
		onnx_op_optional_has,
		onnx_op_quantize,
		onnx_op_reshape,
		onnx_op_scan,
		onnx_op_scan_batches,
		onnx_op_sequence_at,
		onnx_op_sequence_construct,
		onnx_op_sequence_edit,
		onnx_op_sequence_length,
		onnx_op_sequence_map,
		onnx_op_shape,
		onnx_op_size,
		onnx_op_slice,
		onnx_op_split,
		onnx_op_split_to_sequence,
		onnx_op_squeeze,
		onnx_op_tile,
		onnx_op_transpose,
		onnx_op_unsqueeze,
	};

	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (op->translate == those[i])
			return true;
	return false;
}

static void release(const void *data, size_t size, void *memory, void *unused)
{
	(void)data;
	(void)size;
	(void)unused;
	import_free(memory);
}

static void convert(const struct onnx_value *from, int type, void *data, size_t elements)
{
	for (size_t i = 0; i < elements; i++) {
		if (onnx_type_is_float(type))
			onnx_put_rounded(type, data, i, onnx_value_float(from, i), false,
					 ONNX_NEAREST);
		else
			onnx_put_int(type, data, i, onnx_value_int(from, i));
	}
}

/*
 * Makes the operand of a big constant at once: the graph borrows the converted elements, so that
 * memory holds them only once. Returns 0 or -1.
 */
static int carry_weights(struct onnx_node *node, const struct onnx_value *from,
			 struct onnx_value *to, size_t elements)
{
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[ONNX_MAX_RANK];
	void *data;

	if (elements > INT32_MAX)
		return onnx_refuse(
			node, "",
			"a constant of shape %s has more than the %d elements that are allowed",
			onnx_shape_text(node->import->arena, &from->shape), INT32_MAX);
	data = import_alloc(onnx_data_size(to->type, (int64_t)elements));
	if (!data)
		return onnx_fail(node);
	convert(from, to->type, data, elements);
	for (uint32_t i = 0; i < to->shape.rank; i++)
		shape[i] = (uint32_t)to->shape.dim[i];
	loan.releaseCallback = release;
	loan.userdata1 = data;
	descriptor.nextInChain = &loan.chain;
	descriptor.dataType = onnx_type_webnn(to->type);
	descriptor.shape = (WNNUint32Array){ to->shape.rank, shape };
	to->operand = wnnGraphBuilderConstant(node->b, &descriptor, data,
					      onnx_data_size(to->type, (int64_t)elements));
	to->data = NULL;
	return to->operand ? 0 : onnx_out(node, 0, NULL);
}

struct onnx_value *onnx_converted(struct onnx_node *node, const struct onnx_value *value, int type)
{
	int64_t elements = onnx_shape_elements(&value->shape);
	struct onnx_value *made = onnx_new_value(node);
	void *data = onnx_node_alloc(node, onnx_data_size(type, elements) + 1);

	if (!made || !data)
		return NULL;
	convert(value, type, data, (size_t)elements);
	made->type = type;
	made->shape = value->shape;
	made->data = data;
	return made;
}

struct onnx_value *onnx_carrier(struct onnx_node *node, struct onnx_value *value)
{
	int64_t elements = onnx_shape_elements(&value->shape);
	int type = (int)onnx_type_of(onnx_type_webnn(value->type));
	struct onnx_value *carrier;

	if (value->carrier)
		return value->carrier;
	node->import->doubles = node->import->doubles || value->type == ONNX_DOUBLE;
	/* A random value becomes an operand first, so that all uses see the same numbers. */
	if (value->draw && !onnx_operand(node, value))
		return NULL;
	if (value->data && elements <= MAX_COPY) {
		value->carrier = onnx_converted(node, value, type);
		return value->carrier;
	}
	carrier = onnx_new_value(node);
	if (!carrier)
		return NULL;
	*carrier = *value;
	carrier->type = type;
	if (value->data && !value->operand && carry_weights(node, value, carrier, (size_t)elements))
		return NULL;
	carrier->data = NULL;
	value->carrier = carrier;
	return carrier;
}

/*
 * Returns the 8-bit type as which elements of four bits or less are moved, because WebNN moves no
 * int4 or uint4; 0: the type needs no such conversion.
 */
static int byte_type(int type)
{
	if (onnx_type_bits(type) >= 8 || onnx_type_is_float(type))
		return 0;
	return onnx_type_is_unsigned(type) ? ONNX_UINT8 : ONNX_INT8;
}

/*
 * Whether an operator only moves elements. Operators that only change the shape are left out for a
 * constant, whose elements then stay packed.
 */
static bool moves(const struct onnx_op *op, bool is_constant)
{
	static int (*const shapes[])(struct onnx_node *) = {
		onnx_op_flatten,
		onnx_op_reshape,
		onnx_op_squeeze,
		onnx_op_unsqueeze,
	};
	static int (*const those[])(struct onnx_node *) = {
		onnx_op_compress,
		onnx_op_concat,
		onnx_op_concat_from_sequence,
		onnx_op_depth_space,
		onnx_op_expand,
		onnx_op_gather,
		onnx_op_gather_elements,
		onnx_op_gather_nd,
		onnx_op_pad,
		onnx_op_scatter,
		onnx_op_slice,
		onnx_op_split,
		onnx_op_tensor_scatter,
		onnx_op_tile,
		onnx_op_transpose,
		onnx_op_where,
		onnx_op_reverse_sequence,
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (op->translate == shapes[i])
			return !is_constant;
	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (op->translate == those[i])
			return true;
	return false;
}

/* Returns a value of four bits or less as a value of 8-bit elements. */
static struct onnx_value *as_bytes(struct onnx_node *node, struct onnx_value *value)
{
	int type = byte_type(value->type);
	WNNOperand x;

	if (value->data)
		return onnx_converted(node, value, type);
	x = onnx_from_four_bits(node, onnx_operand(node, value));
	return x ? onnx_value_of(node, x_cast(node, x, onnx_type_webnn(type)), type) :
		   onnx_value_of(node, NULL, 0);
}

/* Returns the index of the input whose type the outputs have. */
static size_t leading_input(const struct onnx_op *op)
{
	return op->translate == onnx_op_where ? 1 : op->translate == onnx_op_one_hot ? 2 : 0;
}

int onnx_carry(struct onnx_node *node)
{
	size_t leading = leading_input(node->op);

	node->carried = 0;
	for (size_t i = 0; i < node->input_count; i++) {
		struct onnx_value *value = node->inputs[i];
		bool bytes;

		if (!value || value->sequence || value->absent)
			continue;
		bytes = byte_type(value->type) && moves(node->op, value->data != NULL);
		if (!bytes && (looks_at_types(node->op) || !onnx_type_is_carried(value->type)))
			continue;
		if (i == leading)
			node->carried = value->type;
		node->inputs[i] = bytes ? as_bytes(node, value) : onnx_carrier(node, value);
		if (!node->inputs[i])
			return -1;
	}
	return 0;
}

/* Whether the results of an operator may be beyond the range of its inputs' type. */
static bool goes_beyond(const struct onnx_op *op)
{
	static const char *const those[] = {
		"Abs",	     "Add",
		"BitShift",  "BitwiseNot",
		"CumProd",   "CumSum",
		"Div",	     "Einsum",
		"Gemm",	     "MatMul",
		"Mul",	     "Neg",
		"Pow",	     "Range",
		"ReduceL1",  "ReduceProd",
		"ReduceSum", "ReduceSumSquare",
		"Scatter",   "ScatterElements",
		"ScatterND", "Sub",
		"Sum",
	};

	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (!strcmp(op->name, those[i]))
			return true;
	return false;
}

int onnx_uncarry(struct onnx_node *node)
{
	int type = node->carried, own;

	if (!type)
		return 0;
	own = byte_type(type) ? byte_type(type) : (int)onnx_type_of(onnx_type_webnn(type));
	for (size_t i = 0; i < node->output_count; i++) {
		struct onnx_value *from = node->outputs[i], *to;

		if (!from || from->sequence || from->type != own)
			continue;
		if (!from->data && byte_type(type)) {
			WNNOperand x =
				onnx_to_four_bits(node, from->operand, onnx_type_webnn(type));

			if (onnx_out_as(node, i, x, type))
				return -1;
			continue;
		}
		if (!from->data && onnx_type_bits(type) == 16 && !onnx_type_is_float(type) &&
		    goes_beyond(node->op)) {
			WNNOperand x = onnx_wrap(node, from->operand, type);

			if (onnx_out_as(node, i, x_cast(node, x, onnx_type_webnn(type)), type))
				return -1;
			continue;
		}
		if (from->data) {
			node->outputs[i] = onnx_converted(node, from, type);
			if (!node->outputs[i])
				return -1;
			continue;
		}
		to = onnx_new_value(node);
		if (!to)
			return -1;
		*to = *from;
		to->type = type;
		to->carrier = from;
		node->outputs[i] = to;
	}
	return 0;
}

WNNOperand onnx_powers(struct onnx_node *node, WNNOperand positions)
{
	struct onnx_shape shape = { 1, { POWERS } };
	float powers[POWERS];

	for (int i = 0; i < POWERS; i++)
		powers[i] = ldexpf(1, i + LEAST_POWER);
	return positions ?
		       x_gather(node, x_constant(node, WNNOperandDataType_Float32, &shape, powers),
				positions, 0) :
		       NULL;
}

WNNOperand onnx_power_below(struct onnx_node *node, WNNOperand x, int least)
{
	WNNOperand at, power, twice;

	/* The logarithm may be off by a little; the comparisons below correct the exponent. */
	at = x_linear(node, x_log(node, x_clamp(node, x, ldexp(1, -126), INFINITY)), 1 / M_LN2, 0);
	at = x_clamp(node, x_floor(node, at), -126, 127);
	at = x_cast(node, x_linear(node, at, 1, -LEAST_POWER), WNNOperandDataType_Int32);
	power = onnx_powers(node, at);
	power = x_where(node, x_greater(node, power, x), x_linear(node, power, 0.5, 0), power);
	twice = x_linear(node, power, 2, 0);
	power = x_where(node, x_not(node, x_greater(node, twice, x)), twice, power);
	return x_clamp(node, power, ldexp(1, least), INFINITY);
}

/* Returns the number to which numbers beyond the range of a format are rounded. */
static double too_big(const struct onnx_format *f, bool saturate)
{
	if (saturate || (!f->infinities && !f->nan))
		return f->largest;
	return f->infinities ? INFINITY : NAN;
}

/*
 * Rounds numbers without sign to powers of two; @power is the largest power of two that is not
 * above x. Results beyond 2^127 become 2^127 with @saturate, else NaN.
 */
static WNNOperand round_to_power(struct onnx_node *node, WNNOperand x, WNNOperand power,
				 bool saturate, enum onnx_rounding rounding)
{
	WNNOperand up, twice = x_linear(node, power, 2, 0);
	double over = rounding == ONNX_NEAREST ? 0x1.8p127 : 0x1p127;

	if (rounding == ONNX_UP) {
		up = x_greater(node, x, power);
		power = x_where(node, up, twice, power);
	} else if (rounding == ONNX_NEAREST) {
		up = x_less(node, x, x_linear(node, power, 1.5, 0));
		power = x_where(node, up, power, twice);
	}
	if (rounding != ONNX_DOWN)
		up = rounding == ONNX_UP ? x_greater(node, x, x_like(node, x, over)) :
					   x_not(node, x_less(node, x, x_like(node, x, over)));
	else
		return power;
	return x_where(node, up, x_like(node, x, saturate ? 0x1p127 : (double)NAN), power);
}

WNNOperand onnx_round_to(struct onnx_node *node, WNNOperand x, int type, bool saturate,
			 enum onnx_rounding rounding)
{
	static const struct onnx_format bfloat = { 7, 127, -126, 0x1.fep127, true, true, false };
	const struct onnx_format *f = type == ONNX_BFLOAT16 ? &bfloat : onnx_format_of(type);
	WNNOperand size, finite, power, step, y, none;
	int least;

	x = x_cast(node, x, WNNOperandDataType_Float32);
	if (!f || !x)
		return x;
	least = f->least < LEAST_NORMAL ? f->mantissa ? LEAST_NORMAL : -126 : f->least;
	size = x_abs(node, x);
	none = x_like(node, x, 0);
	finite = x_less(node, size, x_like(node, x, INFINITY));
	power = onnx_power_below(node, x_where(node, finite, size, none), least);
	if (!f->mantissa) {
		y = round_to_power(node, size, power, saturate, rounding);
		return x_where(node, finite, y, x_like(node, x, NAN));
	}
	step = x_linear(node, power, ldexp(1, -f->mantissa), 0);
	y = x_mul(node, x_round(node, x_div(node, size, step)), step);
	if (f->least < least)
		y = x_where(node, x_less(node, size, x_like(node, x, ldexp(1, least))), size, y);
	y = x_where(node, x_greater(node, y, x_like(node, x, f->largest)),
		    x_like(node, x, too_big(f, saturate)), y);
	y = x_where(node, x_less(node, x, none), x_neg(node, y), y);
	return x_where(node, x_equal(node, x, x), y, x_like(node, x, f->nan ? (double)NAN : 0));
}

WNNOperand onnx_wrap(struct onnx_node *node, WNNOperand x, int type)
{
	int64_t count = INT64_C(1) << onnx_type_bits(type);
	WNNOperandDataType whole = WNNOperandDataType_Uint32, own = WNNOperandDataType_Int32;
	WNNOperand many = x_integer(node, whole, count);

	x = x_cast(node, x, whole);
	x = x_sub(node, x, x_mul(node, x_div(node, x, many), many));
	x = x_cast(node, x, own);
	if (onnx_type_is_unsigned(type))
		return x;
	return x_where(node, x_less(node, x, x_integer(node, own, count / 2)), x,
		       x_sub(node, x, x_integer(node, own, count)));
}

/*
 * Converts numbers from @type, int4 or uint4, or to it, and returns the result; NULL after a
 * refusal. WebNN does not cast these types, so this dequantises or quantises with a scale of 1.
 */
static WNNOperand four_bits(struct onnx_node *node, WNNOperand x, WNNOperandDataType type,
			    bool from)
{
	struct onnx_shape shape;
	WNNOperand scale, zero;

	if (!x)
		return NULL;
	shape = x_shape(x);
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = 1;
	scale = x_expand(node, x_number(node, WNNOperandDataType_Float32, 1), &shape);
	zero = onnx_filled(node, type, &shape, 0);
	return from ? wnnGraphBuilderDequantizeLinear(node->b, x, scale, zero, &node->options) :
		      wnnGraphBuilderQuantizeLinear(node->b, x, scale, zero, &node->options);
}

WNNOperand onnx_to_four_bits(struct onnx_node *node, WNNOperand x, WNNOperandDataType type)
{
	return four_bits(node, x_cast(node, x, WNNOperandDataType_Float32), type, false);
}

WNNOperand onnx_from_four_bits(struct onnx_node *node, WNNOperand x)
{
	return x ? four_bits(node, x, wnnOperandGetDataType(x), true) : NULL;
}

bool onnx_saturates(struct onnx_node *node)
{
	return onnx_attr_int(node, "saturate", 1) != 0;
}

int onnx_rounding_of(struct onnx_node *node)
{
	static const char *const modes[] = {
		[ONNX_NEAREST] = "nearest",
		[ONNX_UP] = "up",
		[ONNX_DOWN] = "down",
	};

	return onnx_attr_choice(node, "round_mode", "up", modes, ONNX_DOWN + 1);
}
