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

/* One line times a matrix: its memory is what takes the time, so that threads share it. */
struct line {
	const struct cpu_simd *simd;
	const float *x, *matrix;
	float *y;
	int64_t depth, ld;
	bool transposed;
};

static void line_range(void *argument, int64_t begin, int64_t end)
{
	const struct line *l = argument;

	if (l->transposed)
		l->simd->dot(l->y + begin, l->x, l->matrix + begin * l->ld, l->ld, end - begin,
			     l->depth);
	else
		l->simd->combine(l->y + begin, l->x, l->matrix + begin, l->ld, l->depth, end - begin);
}

static void multiply_line(struct cpu_context *cpu, const struct ir_matmul_attrs *attrs, int64_t n,
			  int64_t k, const float *a, const float *b, int64_t ldb, float *c)
{
	struct line line = { cpu->simd, a, b, c, k, ldb, attrs->b_transpose };

	cpu_parallel_ranges(cpu, n, k < 4096 ? 64 * (4096 / k + 1) : 64, line_range, &line);
	for (int64_t j = 0; j < n && attrs->alpha != 1; j++)
		c[j] *= attrs->alpha;
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
		const float *from_a = (const float *)in[0] + cpu_offset(&y, at, sa);
		const float *from_b = (const float *)in[1] + cpu_offset(&y, at, sb);

		if (m == 1)	/* one line, transposed or not */
			multiply_line(cpu, attrs, n, k, from_a, from_b, b.dim[b.rank - 1], c);
		else
			cpu_sgemm(cpu, attrs->a_transpose, attrs->b_transpose, m, n, k,
				  attrs->alpha, from_a, a.dim[a.rank - 1], from_b,
				  b.dim[b.rank - 1], 0, c, n);
		if (node->num_operands > 2 && node->operands[2])
			add_bias(&y, node, in[2], batch, c);
		cpu_activate(cpu->simd, &attrs->act, c, m * n);
	}
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_matmul(const struct ir_node *node)
{
	static const struct cpu_fast_kernel kernel = { .name = "cpu/matmul-openblas", .run = matmul };

	return node->results[0]->type.dtype == IR_F32 ? &kernel : NULL;
}
