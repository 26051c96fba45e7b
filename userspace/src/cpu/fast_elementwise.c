// SPDX-License-Identifier: MIT
/* Fast element-wise functions for float32: loops that the compiler vectorises. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/reference.h"

static bool is_simple(int kind)
{
	return kind == IR_UNARY_NONE || kind == IR_RELU || kind == IR_CLAMP || kind == IR_LINEAR ||
	       kind == IR_ABS || kind == IR_NEG || kind == IR_LEAKY_RELU;
}

static void simple(const struct ir_unary_attrs *act, const float *x, float *y, int64_t n)
{
	float alpha = act->alpha, beta = act->beta;

	switch (act->kind) {
	case IR_RELU:
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] <= 0 ? 0 : x[i];
		break;
	case IR_CLAMP:
		for (int64_t i = 0; i < n; i++) {
			float v = x[i] < alpha ? alpha : x[i];

			y[i] = v > beta ? beta : v;
		}
		break;
	case IR_LINEAR:
		for (int64_t i = 0; i < n; i++)
			y[i] = alpha * x[i] + beta;
		break;
	case IR_ABS:
		for (int64_t i = 0; i < n; i++)
			y[i] = fabsf(x[i]);
		break;
	case IR_NEG:
		for (int64_t i = 0; i < n; i++)
			y[i] = -x[i];
		break;
	case IR_LEAKY_RELU:
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] < 0 ? alpha * x[i] : x[i];
		break;
	default:
		break;
	}
}

void cpu_activate(const struct ir_unary_attrs *act, float *x, int64_t n)
{
	if (act->kind == IR_UNARY_NONE)
		return;
	if (is_simple(act->kind)) {
		simple(act, x, x, n);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)cpu_apply_unary(act, x[i]);
}

static int unary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		 void *const *out, struct wnn_error *err)
{
	(void)cpu;
	(void)err;
	simple(&node->attrs.unary, in[0], out[0], ir_type_elements(&node->results[0]->type));
	return 0;
}

/* One line of the result; a step of 0 broadcasts. */
static void line(enum ir_binary kind, const float *a, int64_t sa, const float *b, int64_t sb, float *y,
		 int64_t n)
{
	switch (kind) {
	case IR_ADD:
		for (int64_t i = 0; i < n; i++)
			y[i] = a[i * sa] + b[i * sb];
		break;
	case IR_SUB:
		for (int64_t i = 0; i < n; i++)
			y[i] = a[i * sa] - b[i * sb];
		break;
	case IR_MUL:
		for (int64_t i = 0; i < n; i++)
			y[i] = a[i * sa] * b[i * sb];
		break;
	default:
		for (int64_t i = 0; i < n; i++)
			y[i] = a[i * sa] / b[i * sb];
		break;
	}
}

/* Merges dims that both operands walk like one, so that lines are long. */
static void collapse(struct cpu_shape *s, int64_t *sa, int64_t *sb)
{
	uint32_t r = 0;

	if (!s->rank) {
		s->rank = 1;
		s->dim[0] = 1;
		sa[0] = sb[0] = 0;
		return;
	}
	for (uint32_t i = 1; i < s->rank; i++) {
		if (sa[r] == sa[i] * s->dim[i] && sb[r] == sb[i] * s->dim[i]) {
			s->dim[r] *= s->dim[i];
		} else {
			r++;
			s->dim[r] = s->dim[i];
		}
		sa[r] = sa[i];
		sb[r] = sb[i];
	}
	s->rank = r + 1;
}

static int binary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK], n, last;
	float *to = out[0];

	(void)cpu;
	(void)err;
	cpu_broadcast_strides(&a, &y, sa);
	cpu_broadcast_strides(&b, &y, sb);
	collapse(&y, sa, sb);
	last = y.rank - 1;
	n = y.dim[last];
	for (int64_t i = 0; i < y.count; i += n)
		line(node->attrs.binary.kind, (const float *)in[0] + cpu_offset(&y, i, sa), sa[last],
		     (const float *)in[1] + cpu_offset(&y, i, sb), sb[last], to + i, n);
	cpu_activate(&node->attrs.binary.act, to, y.count);
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_elementwise(const struct ir_node *node)
{
	static const struct cpu_fast_kernel unary_kernel = { "cpu/unary", unary };
	static const struct cpu_fast_kernel binary_kernel = { "cpu/binary", binary };

	if (node->results[0]->type.dtype != IR_F32)
		return NULL;
	if (node->op == IR_OP_UNARY)
		return is_simple(node->attrs.unary.kind) ? &unary_kernel : NULL;
	return node->attrs.binary.kind <= IR_DIV ? &binary_kernel : NULL;
}
