// SPDX-License-Identifier: MIT
/* Activations that take parameters, and functions of one argument that are composed of others. */
#include <math.h>

#include "ops.h"

/* defaults of Selu from operator set 6 on */
#define SELU_ALPHA 1.67326319217681884765625
#define SELU_GAMMA 1.05070102214813232421875

/* Returns ln(1 + u), precise for small u. */
static WNNOperand log1p_of(struct onnx_node *node, WNNOperand u)
{
	WNNOperand one = x_like(node, u, 1);
	WNNOperand w = x_add(node, u, one);
	WNNOperand exact = x_equal(node, w, one);
	WNNOperand below = x_where(node, exact, one, x_sub(node, w, one));

	/*
	 * For a u from 1e9 on, ln(w) needs no correction, and the factor would be infinity /
	 * infinity.
	 */
	WNNOperand large = x_greater(node, u, x_like(node, u, 1e9));
	WNNOperand factor = x_where(node, large, one, x_div(node, u, below));

	return x_where(node, exact, u, x_mul(node, x_log(node, w), factor));
}

/*
 * Returns atan(x). Halving the angle twice leaves at most tan(pi / 8), for which nine terms of the
 * series are as exact as float32.
 */
static WNNOperand atan_of(struct onnx_node *node, WNNOperand x)
{
	WNNOperand one = x_like(node, x, 1), t, square, sum = NULL;

	t = x_clamp(node, x, -1e9, 1e9);
	for (int i = 0; i < 2; i++) {
		square = x_mul(node, t, t);
		t = x_div(node, t, x_add(node, one, x_sqrt(node, x_add(node, one, square))));
	}
	square = x_mul(node, t, t);
	for (int i = 17; i >= 1; i -= 2) {
		double term = (i & 2 ? -4.0 : 4.0) / i;

		sum = sum ? x_add(node, x_mul(node, sum, square), x_like(node, x, term)) :
			    x_like(node, x, term);
	}
	return x_mul(node, t, sum);
}

/* Returns ln(2 * x) for a large x, whose square may be beyond the range, and @near for other x. */
static WNNOperand log_twice(struct onnx_node *node, WNNOperand x, WNNOperand near)
{
	WNNOperand far = x_add(node, x_log(node, x), x_like(node, x, 0.6931471805599453));

	return x_where(node, x_greater(node, x, x_like(node, x, 1e9)), far, near);
}

static WNNOperand composed(struct onnx_node *node, int variant, WNNOperand x)
{
	WNNOperand one = x_like(node, x, 1), half = x_like(node, x, 0.5);
	WNNOperand square, size, near;

	switch (variant) {
	case F_ATAN:
		return atan_of(node, x);
	case F_ASIN:
		square = x_sqrt(node, x_sub(node, one, x_mul(node, x, x)));
		return x_mul(node, x_like(node, x, 2),
			     atan_of(node, x_div(node, x, x_add(node, one, square))));
	case F_ACOS:
		square = x_div(node, x_sub(node, one, x), x_add(node, one, x));
		return x_mul(node, x_like(node, x, 2), atan_of(node, x_sqrt(node, square)));
	case F_ATANH:
		square = x_div(node, x_add(node, x, x), x_sub(node, one, x));
		return x_mul(node, half, log1p_of(node, square));
	case F_ASINH:
		size = x_abs(node, x);
		near = x_clamp(node, size, 0, 1e9);
		square = x_mul(node, near, near);
		square = x_div(node, square,
			       x_add(node, one, x_sqrt(node, x_add(node, one, square))));
		near = log1p_of(node, x_add(node, near, square));
		return x_mul(node, x_sign(node, x), log_twice(node, size, near));
	case F_ACOSH:
		near = x_sub(node, x_clamp(node, x, -1e9, 1e9), one);
		square = x_mul(node, near, x_add(node, near, x_like(node, x, 2)));
		near = log1p_of(node, x_add(node, near, x_sqrt(node, square)));
		return log_twice(node, x, near);
	case F_COSH:
	case F_SINH:
		/*
		 * exp(x) may be infinite where exp(x) / 2 is not: multiplies by exp(x / 2) twice
		 * instead.
		 */
		size = x_exp(node, x_mul(node, half, x_abs(node, x)));
		size = x_add(node, x_mul(node, x_mul(node, half, size), size),
			     x_div(node, x_div(node, half, size), size));
		return variant == F_COSH ? size : x_mul(node, x_tanh(node, x), size);
	case F_MISH:
		return x_mul(node, x, x_tanh(node, x_softplus(node, x)));
	default:
		return NULL;
	}
}

int onnx_op_function(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);
	WNNOperandDataType type = wnnOperandGetDataType(x);

	if (!x)
		return -1;
	if (!onnx_type_is_float(onnx_in_type(node, 0)))
		return onnx_refuse(node, "", "its input is of type %s instead of float",
				   onnx_type_name(onnx_in_type(node, 0)));
	/* Float16 is computed in float32: intermediate results need its range. */
	x = composed(node, node->op->variant, x_cast(node, x, WNNOperandDataType_Float32));
	return onnx_out(node, 0, x ? x_cast(node, x, type) : NULL);
}

static WNNOperand elu(struct onnx_node *node, WNNOperand x, double alpha)
{
	WNNEluOptions options = WNN_ELU_OPTIONS_INIT;

	options.label = node->options.label;
	options.alpha = alpha;
	return x ? wnnGraphBuilderElu(node->b, x, &options) : NULL;
}

static WNNOperand leaky_relu(struct onnx_node *node, WNNOperand x, double alpha)
{
	WNNLeakyReluOptions options = WNN_LEAKY_RELU_OPTIONS_INIT;

	options.label = node->options.label;
	options.alpha = alpha;
	return x ? wnnGraphBuilderLeakyRelu(node->b, x, &options) : NULL;
}

static WNNOperand hard_sigmoid(struct onnx_node *node, WNNOperand x, double alpha, double beta)
{
	WNNHardSigmoidOptions options = WNN_HARD_SIGMOID_OPTIONS_INIT;

	options.label = node->options.label;
	options.alpha = alpha;
	options.beta = beta;
	return x ? wnnGraphBuilderHardSigmoid(node->b, x, &options) : NULL;
}

static WNNOperand thresholded_relu(struct onnx_node *node, WNNOperand x, double alpha)
{
	return x_where(node, x_greater(node, x, x_like(node, x, alpha)), x, x_like(node, x, 0));
}

int onnx_op_elu(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand x = onnx_in(node, 0);

	return x ? onnx_out(node, 0, elu(node, x, alpha)) : -1;
}

static WNNOperand selu(struct onnx_node *node, WNNOperand x, double alpha, double gamma)
{
	return x_linear(node, elu(node, x, alpha), gamma, 0);
}

/* Translates Celu as max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). */
int onnx_op_celu(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand x = onnx_in(node, 0);

	if (!x)
		return -1;
	if (alpha <= 0)
		return onnx_refuse(node, "alpha", "alpha is not above 0");
	x = elu(node, x_div(node, x, x_like(node, x, alpha)), 1);
	return onnx_out(node, 0, x_mul(node, x, x_like(node, x, alpha)));
}

int onnx_op_selu(struct onnx_node *node)
{
	bool old = node->version < 6;
	double alpha = onnx_attr_float(node, "alpha", old ? 1.6732 : SELU_ALPHA);
	double gamma = onnx_attr_float(node, "gamma", old ? 1.0507 : SELU_GAMMA);
	WNNOperand x = onnx_in(node, 0);

	return x ? onnx_out(node, 0, selu(node, x, alpha, gamma)) : -1;
}

int onnx_op_leaky_relu(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 0.01);
	WNNOperand x = onnx_in(node, 0);

	return x ? onnx_out(node, 0, leaky_relu(node, x, alpha)) : -1;
}

int onnx_op_thresholded_relu(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand x = onnx_in(node, 0);

	return x ? onnx_out(node, 0, thresholded_relu(node, x, alpha)) : -1;
}

int onnx_op_hard_sigmoid(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 0.2);
	double beta = onnx_attr_float(node, "beta", 0.5);
	WNNOperand x = onnx_in(node, 0);

	return x ? onnx_out(node, 0, hard_sigmoid(node, x, alpha, beta)) : -1;
}

/*
 * Returns a parameter of a fused activation: item @index of the attribute activation_params, or
 * else the attribute @name.
 */
static double parameter(struct onnx_node *node, size_t index, const char *name, double fallback)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, "activation_params");

	if (attr && attr->n_floats > index)
		return (double)attr->floats[index];
	return onnx_attr_float(node, name, fallback);
}

/*
 * Returns y after the activation of a fused operator of com.microsoft; y itself without one; NULL:
 * refused. Parameters that are absent have the defaults of the operator that was fused.
 */
WNNOperand onnx_activate(struct onnx_node *node, WNNOperand y)
{
	enum { RELU, TANH, SIGMOID, SOFTPLUS, SOFTSIGN, CLIP, LEAKY, ELU, SELU, HARD, LIMIT };
	static const char *const names[] = { [RELU] = "Relu",
					     [TANH] = "Tanh",
					     [SIGMOID] = "Sigmoid",
					     [SOFTPLUS] = "Softplus",
					     [SOFTSIGN] = "Softsign",
					     [CLIP] = "Clip",
					     [LEAKY] = "LeakyRelu",
					     [ELU] = "Elu",
					     [SELU] = "Selu",
					     [HARD] = "HardSigmoid",
					     [LIMIT] = "ThresholdedRelu" };
	static const double usual[][2] = {
		[CLIP] = { -INFINITY, INFINITY },    [LEAKY] = { 0.01 },    [ELU] = { 1 },
		[SELU] = { SELU_ALPHA, SELU_GAMMA }, [HARD] = { 0.2, 0.5 }, [LIMIT] = { 1 }
	};
	double first, second;
	int kind;

	if (!*onnx_attr_string(node, "activation", ""))
		return y;
	kind = onnx_attr_choice(node, "activation", "", names, LIMIT + 1);
	if (kind < 0)
		return NULL;
	first = parameter(node, 0, kind == CLIP ? "activation_min" : "activation_alpha",
			  usual[kind][0]);
	second = parameter(node, 1,
			   kind == CLIP ? "activation_max" :
			   kind == SELU ? "activation_gamma" :
					  "activation_beta",
			   usual[kind][1]);
	switch (kind) {
	case RELU:
		return x_relu(node, y);
	case TANH:
		return x_tanh(node, y);
	case SIGMOID:
		return x_sigmoid(node, y);
	case SOFTPLUS:
		return x_softplus(node, y);
	case SOFTSIGN:
		return wnnGraphBuilderSoftsign(node->b, y, &node->options);
	case CLIP:
		return x_clamp(node, y, first, second);
	case LEAKY:
		return leaky_relu(node, y, first);
	case ELU:
		return elu(node, y, first);
	case SELU:
		return selu(node, y, first, second);
	case HARD:
		return hard_sigmoid(node, y, first, second);
	default:
		return thresholded_relu(node, y, first);
	}
}

WNNOperand onnx_gelu(struct onnx_node *node, WNNOperand x, bool approximate)
{
	WNNOperandDataType type;
	WNNOperand cube;

	if (!approximate)
		return wnnGraphBuilderGelu(node->b, x, &node->options);
	type = wnnOperandGetDataType(x);
	x = x_cast(node, x, WNNOperandDataType_Float32);
	cube = x_mul(node, x, x_mul(node, x, x));
	cube = x_add(node, x, x_mul(node, cube, x_like(node, x, 0.044715)));
	cube = x_tanh(node, x_mul(node, cube, x_like(node, x, 0.7978845608028654)));
	cube = x_add(node, cube, x_like(node, x, 1));
	x = x_mul(node, x_mul(node, x, x_like(node, x, 0.5)), cube);
	return x ? x_cast(node, x, type) : NULL;
}

int onnx_op_gelu(struct onnx_node *node)
{
	static const char *const names[] = { "none", "tanh" };
	int tanh_form = onnx_attr_choice(node, "approximate", "none", names, 2);
	WNNOperand x = onnx_in(node, 0);

	if (!x || tanh_form < 0)
		return -1;
	return onnx_out(node, 0, onnx_gelu(node, x, tanh_form));
}

/*
 * Translates Gelu, BiasGelu and FastGelu of com.microsoft: applies the function to the sum of input
 * and bias.
 */
int onnx_op_bias_gelu(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);

	if (x && onnx_has(node, 1))
		x = x_add(node, x, onnx_in(node, 1));
	return x ? onnx_out(node, 0, onnx_gelu(node, x, node->op->variant)) : -1;
}

/* Translates QuickGelu of com.microsoft as x * sigmoid(alpha * x). */
int onnx_op_quick_gelu(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);

	if (!x)
		return -1;
	return onnx_out(node, 0,
			x_mul(node, x,
			      x_sigmoid(node, x_linear(node, x,
						       onnx_attr_float(node, "alpha", 1.702), 0))));
}

int onnx_op_shrink(struct onnx_node *node)
{
	double lambda = onnx_attr_float(node, "lambd", 0.5),
	       bias = onnx_attr_float(node, "bias", 0);
	WNNOperand x = onnx_in(node, 0);
	WNNOperand above, below;

	if (!x)
		return -1;
	if (!onnx_type_is_float(onnx_in_type(node, 0)))
		return onnx_refuse(node, "", "its input is of type %s instead of float",
				   onnx_type_name(onnx_in_type(node, 0)));
	below = x_where(node, x_less(node, x, x_like(node, x, -lambda)),
			x_add(node, x, x_like(node, x, bias)), x_like(node, x, 0));
	above = x_greater(node, x, x_like(node, x, lambda));
	return onnx_out(node, 0,
			x_where(node, above, x_sub(node, x, x_like(node, x, bias)), below));
}

int onnx_op_prelu(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);
	WNNOperand slope = x ? onnx_in(node, 1) : NULL;
	struct onnx_shape shape;

	if (!slope)
		return -1;
	shape = x_shape(slope);
	/* Before operator set 7 the slope has one item for each channel. */
	if (node->version < 7 && shape.rank == 1 && shape.dim[0] > 1) {
		shape.rank = x_shape(x).rank - 1;
		for (uint32_t i = 1; i < shape.rank; i++)
			shape.dim[i] = 1;
		slope = x_reshape(node, slope, &shape);
	}
	if (onnx_in_type(node, 0) == ONNX_UINT32 || onnx_in_type(node, 0) == ONNX_UINT64)
		return onnx_out_value(node, 0, node->inputs[0]);
	return onnx_out(node, 0, wnnGraphBuilderPrelu(node->b, x, slope, &node->options));
}

int onnx_op_is_inf(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), sign;
	bool positive = onnx_attr_int(node, "detect_positive", 1);
	bool negative = onnx_attr_int(node, "detect_negative", 1);

	if (!x)
		return -1;
	sign = wnnGraphBuilderIsInfinite(node->b, x, &node->options);
	if (!positive)
		sign = x_and(node, sign, x_less(node, x, x_like(node, x, 0)));
	if (!negative)
		sign = x_and(node, sign, x_greater(node, x, x_like(node, x, 0)));
	return onnx_out_bool(node, 0, sign);
}

/*
 * Translates Swish. Variant 1 is SwiGLU, which multiplies the second input by swish of the first.
 */
int onnx_op_swish(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand x = onnx_in(node, 0), y, value = NULL;

	if (!x || (node->op->variant && !(value = onnx_in(node, 1))))
		return -1;
	if (value && !onnx_shape_same(onnx_in_shape(node, 0), onnx_in_shape(node, 1)))
		return onnx_refuse(node, "", "gate and value have different shapes");
	y = x_mul(node, x, x_sigmoid(node, alpha == 1 ? x : x_linear(node, x, alpha, 0)));
	return onnx_out(node, 0, value ? x_mul(node, y, value) : y);
}
