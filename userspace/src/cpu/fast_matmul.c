// SPDX-License-Identifier: MIT
/* Fast matrix products for float32: one OpenBLAS call a batch item, bias and activation after it. */
#include "cpu/element.h"
#include "cpu/fast.h"

static void add_bias(const struct cpu_shape *y, const struct ir_node *node, const float *bias,
		     int64_t batch, float *out)
{
	struct cpu_shape c = cpu_shape_of(&node->operands[2]->type);
	int64_t n = y->dim[y->rank - 1], m = y->dim[y->rank - 2], stride[IR_MAX_RANK];
	float beta = node->attrs.matmul.beta;

	cpu_broadcast_strides(&c, y, stride);
	bias += cpu_offset(y, batch * m * n, stride);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			out[i * n + j] += beta * bias[i * stride[y->rank - 2] +
						      j * stride[y->rank - 1]];
}

static int matmul(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK], m = y.dim[y.rank - 2], n = y.dim[y.rank - 1];
	int64_t k = a.dim[a.rank - (attrs->a_transpose ? 2 : 1)];

	(void)err;
	cpu_broadcast_strides(&a, &y, sa);
	cpu_broadcast_strides(&b, &y, sb);
	for (int64_t batch = 0; batch < y.count / (m * n); batch++) {
		float *c = (float *)out[0] + batch * m * n;
		int64_t at = batch * m * n;

		cpu_sgemm(cpu, attrs->a_transpose, attrs->b_transpose, m, n, k, attrs->alpha,
			  (const float *)in[0] + cpu_offset(&y, at, sa), a.dim[a.rank - 1],
			  (const float *)in[1] + cpu_offset(&y, at, sb), b.dim[b.rank - 1], 0, c, n);
		if (node->num_operands > 2 && node->operands[2])
			add_bias(&y, node, in[2], batch, c);
		cpu_activate(&attrs->act, c, m * n);
	}
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_matmul(const struct ir_node *node)
{
	static const struct cpu_fast_kernel kernel = { "cpu/matmul-openblas", matmul };

	return node->results[0]->type.dtype == IR_F32 ? &kernel : NULL;
}
