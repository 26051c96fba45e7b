// SPDX-License-Identifier: MIT
/* Tests the rules of element-wise operators. */
#include "fixture.h"

#include <math.h>

typedef WNNOperand (*unary_fn)(WNNGraphBuilder, WNNOperand, WNNOperatorOptions const *);
typedef WNNOperand (*binary_fn)(WNNGraphBuilder, WNNOperand, WNNOperand,
				WNNOperatorOptions const *);

#define FLOATS                                           \
	(WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32) | \
	 WNN_DATA_TYPE_BIT(WNNOperandDataType_Float16))
#define SIGNED                                                  \
	(FLOATS | WNN_DATA_TYPE_BIT(WNNOperandDataType_Int32) | \
	 WNN_DATA_TYPE_BIT(WNNOperandDataType_Int64) | WNN_DATA_TYPE_BIT(WNNOperandDataType_Int8))
#define ANY   0x1feu
#define BYTES WNN_DATA_TYPE_BIT(WNNOperandDataType_Uint8)

static void unary_functions(void **state)
{
	static const struct {
		unary_fn call;
		int kind;
		uint32_t types;
		bool to_uint8;
	} cases[] = {
		{ wnnGraphBuilderAbs, IR_ABS, SIGNED, false },
		{ wnnGraphBuilderNeg, IR_NEG, SIGNED, false },
		{ wnnGraphBuilderSign, IR_SIGN, SIGNED, false },
		{ wnnGraphBuilderRelu, IR_RELU, SIGNED, false },
		{ wnnGraphBuilderCeil, IR_CEIL, FLOATS, false },
		{ wnnGraphBuilderCos, IR_COS, FLOATS, false },
		{ wnnGraphBuilderErf, IR_ERF, FLOATS, false },
		{ wnnGraphBuilderExp, IR_EXP, FLOATS, false },
		{ wnnGraphBuilderFloor, IR_FLOOR, FLOATS, false },
		{ wnnGraphBuilderLog, IR_LOG, FLOATS, false },
		{ wnnGraphBuilderReciprocal, IR_RECIPROCAL, FLOATS, false },
		{ wnnGraphBuilderRoundEven, IR_ROUND_EVEN, FLOATS, false },
		{ wnnGraphBuilderSin, IR_SIN, FLOATS, false },
		{ wnnGraphBuilderSqrt, IR_SQRT, FLOATS, false },
		{ wnnGraphBuilderTan, IR_TAN, FLOATS, false },
		{ wnnGraphBuilderGelu, IR_GELU, FLOATS, false },
		{ wnnGraphBuilderHardSwish, IR_HARD_SWISH, FLOATS, false },
		{ wnnGraphBuilderSigmoid, IR_SIGMOID, FLOATS, false },
		{ wnnGraphBuilderSoftplus, IR_SOFTPLUS, FLOATS, false },
		{ wnnGraphBuilderSoftsign, IR_SOFTSIGN, FLOATS, false },
		{ wnnGraphBuilderTanh, IR_TANH, FLOATS, false },
		{ wnnGraphBuilderLogicalNot, IR_LOGICAL_NOT, BYTES, true },
		{ wnnGraphBuilderIsNaN, IR_IS_NAN, FLOATS, true },
		{ wnnGraphBuilderIsInfinite, IR_IS_INFINITE, FLOATS, true },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t t = 1; t <= 8; t++) {
			WNNOperand x = fixture_input(f, t, DIMS(2, 3));
			WNNOperand y = cases[i].call(f->b, x, NULL);

			if (!(cases[i].types >> t & 1)) {
				assert_type_error(y, "; allowed are ");
				continue;
			}
			assert_operand(y, cases[i].to_uint8 ? WNNOperandDataType_Uint8 : t,
				       DIMS(2, 3));
			assert_int_equal(y->value->def->op, IR_OP_UNARY);
			assert_int_equal(y->value->def->attrs.unary.kind, cases[i].kind);
		}
}

static void parameters_are_cast(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float16, 3);
	WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
	WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
	WNNHardSigmoidOptions hard = WNN_HARD_SIGMOID_OPTIONS_INIT;
	WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;
	const struct ir_unary_attrs *a;

	elu.alpha = 65519.99;
	a = &wnnGraphBuilderElu(f->b, x, &elu)->value->def->attrs.unary;
	assert_int_equal(a->kind, IR_ELU);
	assert_true(a->alpha == 65504);
	a = &wnnGraphBuilderLeakyRelu(f->b, x, NULL)->value->def->attrs.unary;
	assert_int_equal(a->kind, IR_LEAKY_RELU);
	assert_true(a->alpha == 0.01000213623046875f);
	a = &wnnGraphBuilderHardSigmoid(f->b, x, NULL)->value->def->attrs.unary;
	assert_int_equal(a->kind, IR_HARD_SIGMOID);
	assert_true(a->alpha == 0.199951171875f && a->beta == 0.5f);
	a = &wnnGraphBuilderLinear(f->b, x, NULL)->value->def->attrs.unary;
	assert_int_equal(a->kind, IR_LINEAR);
	assert_true(a->alpha == 1 && a->beta == 0);

	elu.alpha = NAN;
	assert_type_error(wnnGraphBuilderElu(f->b, x, &elu), "options.alpha is nan");
	leaky.alpha = INFINITY;
	assert_type_error(wnnGraphBuilderLeakyRelu(f->b, x, &leaky), "options.alpha is inf");
	hard.beta = -INFINITY;
	assert_type_error(wnnGraphBuilderHardSigmoid(f->b, x, &hard), "options.beta is -inf");
	linear.beta = NAN;
	assert_type_error(wnnGraphBuilderLinear(f->b, x, &linear), "options.beta is nan");
	assert_type_error(wnnGraphBuilderLinear(f->b, INPUT(f, Int8, 3), NULL),
			  "input has type int8");
}

static const struct ir_unary_attrs *clamp(struct fixture *f, WNNOperand x, WNNNumber lo,
					  WNNNumber hi)
{
	WNNClampOptions o = WNN_CLAMP_OPTIONS_INIT;
	WNNOperand y;

	o.minValue = lo;
	o.maxValue = hi;
	y = wnnGraphBuilderClamp(f->b, x, &o);
	if (!y)
		return NULL;
	assert_int_equal(y->value->def->attrs.unary.kind, IR_CLAMP);
	return &y->value->def->attrs.unary;
}

static void clamp_bounds(void **state)
{
	struct fixture *f = *state;
	const WNNNumber none = WNN_NUMBER_INIT;
	WNNOperand x = INPUT(f, Float32, 3), i8 = INPUT(f, Int8, 3), u32 = INPUT(f, Uint32, 3);
	WNNOperand i64 = INPUT(f, Int64, 3), u64 = INPUT(f, Uint64, 3);
	const struct ir_unary_attrs *a = clamp(f, x, none, none);

	assert_true(a->alpha == -INFINITY && a->beta == INFINITY);
	a = clamp(f, x, WNN_NUMBER_DOUBLE(NAN), WNN_NUMBER_INT64(6));
	assert_true(a->alpha == -INFINITY && a->beta == 6);
	a = clamp(f, x, WNN_NUMBER_DOUBLE(1), WNN_NUMBER_DOUBLE(1));
	assert_true(a->alpha == 1 && a->beta == 1);
	a = clamp(f, i8, none, none);
	assert_true(a->ilo == INT8_MIN && a->ihi == INT8_MAX);
	a = clamp(f, i8, WNN_NUMBER_DOUBLE(-2.5), WNN_NUMBER_DOUBLE(1e9));
	assert_true(a->ilo == -2 && a->ihi == INT8_MAX);
	a = clamp(f, u32, WNN_NUMBER_INT64(-1), WNN_NUMBER_DOUBLE(4294967290.0));
	assert_true(a->ulo == 0 && a->uhi == 4294967290u);
	a = clamp(f, i64, WNN_NUMBER_INT64(INT64_MIN + 1), none);
	assert_true(a->ilo == INT64_MIN + 1 && a->ihi == INT64_MAX);
	a = clamp(f, u64, none, WNN_NUMBER_UINT64(UINT64_MAX - 1));
	assert_true(a->ulo == 0 && a->uhi == UINT64_MAX - 1);

	assert_null(clamp(f, x, WNN_NUMBER_DOUBLE(2), WNN_NUMBER_DOUBLE(1)));
	assert_refused(NULL, WNN_TYPE_ERROR, "clamp: minValue 2 is greater than maxValue 1");
	assert_null(clamp(f, x, WNN_NUMBER_DOUBLE(1 + 0x1p-23), WNN_NUMBER_DOUBLE(1)));
	assert_refused(NULL, WNN_TYPE_ERROR, "minValue 1.00000012 is greater than maxValue 1");
	assert_null(clamp(f, i8, WNN_NUMBER_INT64(3), WNN_NUMBER_DOUBLE(2.5)));
	assert_refused(NULL, WNN_TYPE_ERROR, "minValue 3 is greater than maxValue 2");
	assert_null(clamp(f, u64, WNN_NUMBER_UINT64(UINT64_MAX), WNN_NUMBER_INT64(5)));
	assert_refused(NULL, WNN_TYPE_ERROR, "minValue 18446744073709551615 is greater than");
	/* The limits are equal after the cast. */
	assert_non_null(clamp(f, u64, WNN_NUMBER_DOUBLE(0x1p80), WNN_NUMBER_DOUBLE(0x1p64)));
	assert_null(clamp(f, x, (WNNNumber){ 9, 0, 0, 0 }, none));
	assert_refused(NULL, WNN_TYPE_ERROR, "kind of options.minValue is 9");
}

static void binary_functions(void **state)
{
	static const struct {
		binary_fn call;
		int kind;
		uint32_t types;
		bool compare;
	} cases[] = {
		{ wnnGraphBuilderAdd, IR_ADD, ANY, false },
		{ wnnGraphBuilderSub, IR_SUB, ANY, false },
		{ wnnGraphBuilderMul, IR_MUL, ANY, false },
		{ wnnGraphBuilderDiv, IR_DIV, ANY, false },
		{ wnnGraphBuilderMax, IR_MAX, ANY, false },
		{ wnnGraphBuilderMin, IR_MIN, ANY, false },
		{ wnnGraphBuilderPow, IR_POW, ANY, false },
		{ wnnGraphBuilderPrelu, IR_PRELU, SIGNED, false },
		{ wnnGraphBuilderLogicalAnd, IR_AND, BYTES, false },
		{ wnnGraphBuilderLogicalOr, IR_OR, BYTES, false },
		{ wnnGraphBuilderLogicalXor, IR_XOR, BYTES, false },
		{ wnnGraphBuilderEqual, IR_EQ, ANY, true },
		{ wnnGraphBuilderNotEqual, IR_NE, ANY, true },
		{ wnnGraphBuilderGreater, IR_GT, ANY, true },
		{ wnnGraphBuilderGreaterOrEqual, IR_GE, ANY, true },
		{ wnnGraphBuilderLesser, IR_LT, ANY, true },
		{ wnnGraphBuilderLesserOrEqual, IR_LE, ANY, true },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t t = 1; t <= 8; t++) {
			WNNOperand a = fixture_input(f, t, DIMS(4, 1, 3));
			WNNOperand b = fixture_input(f, t, DIMS(2, 1));
			WNNOperand other = fixture_input(f, t % 8 + 1, DIMS(1));
			WNNOperand y = cases[i].call(f->b, a, b, NULL);

			if (!(cases[i].types >> t & 1)) {
				assert_type_error(y, "; allowed are ");
				continue;
			}
			assert_operand(y, cases[i].compare ? WNNOperandDataType_Uint8 : t,
				       DIMS(4, 2, 3));
			assert_int_equal(y->value->def->op,
					 cases[i].compare ? IR_OP_COMPARE : IR_OP_BINARY);
			assert_int_equal(y->value->def->attrs.binary.kind, cases[i].kind);
			assert_int_equal(y->value->def->attrs.binary.act.kind, IR_UNARY_NONE);
			assert_type_error(cases[i].call(f->b, a, other, NULL), " has type ");
			assert_type_error(cases[i].call(f->b, a, fixture_input(f, t, DIMS(2)),
							NULL),
					  "cannot be broadcast together: 3 and 2 differ");
		}
}

/* Tests a chained structure that names the function of integers. */
static void functions_of_integers(void **state)
{
	static const struct {
		binary_fn call;
		WNNIntegerFunction function;
		int kind; /* -1: the call is refused */
	} cases[] = {
		{ wnnGraphBuilderLogicalAnd, WNNIntegerFunction_Bits, IR_BIT_AND },
		{ wnnGraphBuilderLogicalOr, WNNIntegerFunction_Bits, IR_BIT_OR },
		{ wnnGraphBuilderLogicalXor, WNNIntegerFunction_Bits, IR_BIT_XOR },
		{ wnnGraphBuilderMul, WNNIntegerFunction_Bits, IR_SHIFT_LEFT },
		{ wnnGraphBuilderDiv, WNNIntegerFunction_Bits, IR_SHIFT_RIGHT },
		{ wnnGraphBuilderDiv, WNNIntegerFunction_Remainder, IR_REMAINDER },
		{ wnnGraphBuilderDiv, WNNIntegerFunction_FlooredRemainder, IR_FLOORED_REMAINDER },
		{ wnnGraphBuilderMul, WNNIntegerFunction_Remainder, -1 },
		{ wnnGraphBuilderLogicalOr, WNNIntegerFunction_FlooredRemainder, -1 },
		{ wnnGraphBuilderDiv, 0, -1 },
		{ wnnGraphBuilderLogicalAnd, 4, -1 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		WNNIntegerDetails details = WNN_INTEGER_DETAILS_INIT, second = details;
		WNNOperatorOptions o = WNN_OPERATOR_OPTIONS_INIT;

		details.function = cases[i].function;
		o.nextInChain = &details.chain;
		for (uint32_t t = 1; t <= 8; t++) {
			WNNOperand a = fixture_input(f, t, DIMS(4, 1, 3));
			WNNOperand b = fixture_input(f, t, DIMS(2, 1));
			WNNOperand y = cases[i].call(f->b, a, b, &o);

			if (t <= WNNOperandDataType_Float16) {
				assert_type_error(y, "; allowed are int32, uint32, int64, uint64, "
						     "int8, uint8");
				continue;
			}
			if (cases[i].kind < 0) {
				assert_type_error(y, cases[i].call == wnnGraphBuilderDiv ?
							     "; allowed are Bits, Remainder and "
							     "FlooredRemainder" :
							     "; allowed are Bits alone");
				continue;
			}
			assert_operand(y, t, DIMS(4, 2, 3));
			assert_int_equal(y->value->def->op, IR_OP_BINARY);
			assert_int_equal(y->value->def->attrs.binary.kind, cases[i].kind);
			assert_int_equal(y->value->def->attrs.binary.act.kind, IR_UNARY_NONE);
			assert_type_error(cases[i].call(f->b, a,
							fixture_input(f, t % 8 + 1, DIMS(1)), &o),
					  " has type ");
			assert_type_error(cases[i].call(f->b, a, fixture_input(f, t, DIMS(2)), &o),
					  "cannot be broadcast together: 3 and 2 differ");
		}
		details.chain.next = &second.chain;
		assert_type_error(cases[i].call(f->b, SCALAR(f, Uint8), SCALAR(f, Uint8), &o),
				  "is not known for this operator, or given twice");
		details.chain.next = NULL;
		assert_type_error(wnnGraphBuilderAdd(f->b, SCALAR(f, Uint8), SCALAR(f, Uint8), &o),
				  "is not known for this operator");
	}
}

static void scalars_broadcast(void **state)
{
	struct fixture *f = *state;
	WNNOperand scalar = SCALAR(f, Float32), x = INPUT(f, Float32, 2, 3);

	assert_shape(wnnGraphBuilderAdd(f->b, scalar, x, NULL), Float32, 2, 3);
	assert_operand(wnnGraphBuilderAdd(f->b, scalar, scalar, NULL), WNNOperandDataType_Float32,
		       0, NULL);
}

static void broadcasting_has_a_limit(void **state)
{
	struct fixture *f = *state;

	assert_type_error(wnnGraphBuilderAdd(f->b, INPUT(f, Int8, 65536, 1),
					     INPUT(f, Int8, 1, 65536), NULL),
			  "add: the output has more than the 2147483647 elements");
}

static void where_selects(void **state)
{
	struct fixture *f = *state;
	WNNOperand c = INPUT(f, Uint8, 3, 1), t = INPUT(f, Int64, 4), e = SCALAR(f, Int64);

	assert_shape(wnnGraphBuilderWhere(f->b, c, t, e, NULL), Int64, 3, 4);
	assert_type_error(wnnGraphBuilderWhere(f->b, INPUT(f, Int8, 3, 1), t, e, NULL),
			  "condition has type int8; allowed are uint8");
	assert_type_error(wnnGraphBuilderWhere(f->b, c, t, SCALAR(f, Int32), NULL),
			  "falseValue has type int32, but trueValue has int64");
	assert_type_error(wnnGraphBuilderWhere(f->b, c, t, INPUT(f, Int64, 3), NULL),
			  "trueValue of shape [4] and falseValue of shape [3] cannot be broadcast");
	assert_type_error(wnnGraphBuilderWhere(f->b, INPUT(f, Uint8, 3), t, e, NULL),
			  "the values of shape [4] and condition of shape [3] cannot be broadcast");
}

static void cast_and_identity(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float32, 2, 3), y;

	for (uint32_t t = 1; t <= 8; t++)
		assert_operand(wnnGraphBuilderCast(f->b, x, t, NULL), t, DIMS(2, 3));
	assert_type_error(wnnGraphBuilderCast(f->b, x, 11, NULL), "dataType is 11");
	assert_type_error(wnnGraphBuilderCast(f->b, x, WNNOperandDataType_Int4, NULL),
			  "dataType is int4; allowed are float32, float16");
	assert_type_error(wnnGraphBuilderCast(f->b, x, 0, NULL), "dataType is 0");
	y = wnnGraphBuilderIdentity(f->b, x, NULL);
	assert_shape(y, Float32, 2, 3);
	assert_ptr_not_equal(y, x);
	assert_int_equal(y->value->def->op, IR_OP_COPY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(unary_functions),	   GRAPH_TEST(parameters_are_cast),
		GRAPH_TEST(clamp_bounds),	   GRAPH_TEST(binary_functions),
		GRAPH_TEST(scalars_broadcast),	   GRAPH_TEST(broadcasting_has_a_limit),
		GRAPH_TEST(where_selects),	   GRAPH_TEST(cast_and_identity),
		GRAPH_TEST(functions_of_integers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
