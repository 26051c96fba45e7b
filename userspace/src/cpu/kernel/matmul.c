// SPDX-License-Identifier: MIT
/*
 * Fast matrix products for float32. A constant matrix is packed, and the product runs as a 1x1
 * convolution with it as the filter and the rows of the other operand as pixels. For computed
 * matrices OpenBLAS multiplies the matrices of a batch, or our own loops when the first ones have
 * a single row; bias and activation follow.
 */
#include "cpu/kernel/conv_dense.h"
#include "cpu/element.h"
#include "cpu/kernel/kernels.h"

/*
 * With at least this many matrices in a batch, each matrix runs on one thread; with fewer, all
 * threads share each matrix.
 */
#define SHARED_BATCHES 4

static void add_bias(const struct cpu_shape *y, const struct ir_node *node,
		     const struct ir_type *type, const float *bias, int64_t batch, int64_t m,
		     float *out)
{
	struct cpu_shape c = cpu_shape_of(type);
	int64_t n = y->dim[y->rank - 1], stride[IR_MAX_RANK];
	float beta = node->attrs.matmul.beta;

	cpu_broadcast_strides(&c, y, stride);
	bias += cpu_offset(y, batch * m * n, stride);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			out[i * n + j] +=
				beta * bias[i * stride[y->rank - 2] + j * stride[y->rank - 1]];
}

void cpu_matmul_add_bias(const struct ir_node *node, const struct ir_type *type, const float *bias,
			 float *out)
{
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	int64_t size = y.dim[y.rank - 1] * y.dim[y.rank - 2];

	for (int64_t batch = 0; batch < y.count / size; batch++)
		add_bias(&y, node, type, bias, batch, y.dim[y.rank - 2], out + batch * size);
}

/* One row times a matrix: reading the matrix takes the time, so threads divide it. */
struct line {
	const struct cpu_simd *simd;
	const float *x, *matrix;
	float *y;
	int64_t depth, ld;
	bool transposed;
};

static void row_range(void *argument, int64_t begin, int64_t end)
{
	const struct line *l = argument;

	if (l->transposed)
		l->simd->dot(l->y + begin, l->x, l->matrix + begin * l->ld, l->ld, end - begin,
			     l->depth);
	else
		l->simd->combine(l->y + begin, l->x, l->matrix + begin, l->ld, l->depth,
				 end - begin);
}

static void multiply_row(struct cpu_context *cpu, const struct ir_matmul_attrs *attrs, int64_t n,
			 int64_t k, const float *a, const float *b, int64_t ldb, float *c)
{
	struct line line = { cpu->simd, a, b, c, k, ldb, attrs->b_transpose };

	cpu_parallel_ranges(cpu, n, k < 4096 ? 64 * (4096 / k + 1) : 64, row_range, &line);
	for (int64_t j = 0; j < n && attrs->alpha != 1; j++)
		c[j] *= attrs->alpha;
}

int64_t cpu_matmul_repeats(const struct ir_node *node)
{
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK], repeats = 1;

	if (node->op != IR_OP_MATMUL || node->attrs.matmul.a_transpose ||
	    (node->num_operands > 2 && node->operands[2] && !cpu_matmul_bias_is_plain(node)))
		return 1;
	cpu_broadcast_strides(&a, &y, sa);
	cpu_broadcast_strides(&b, &y, sb);
	for (uint32_t d = y.rank - 2; d-- > 0;) {
		if (y.dim[d] == 1)
			continue;
		if (sb[d] || sa[d] != repeats * a.dim[a.rank - 2] * a.dim[a.rank - 1])
			break;
		repeats *= y.dim[d];
	}
	return repeats;
}

static bool is_row(const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type;

	return ir_type_dim(y, y->rank - 2) == 1 && cpu_matmul_repeats(node) == 1;
}

/* --- With a packed matrix --- */

static void init_conv(struct cpu_as_conv *c, const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	const struct ir_type *y = &node->results[0]->type, *a = &node->operands[0]->type;
	int64_t n = ir_type_dim(y, y->rank - 1), k = ir_type_dim(a, a->rank - 1);

	c->attrs = (struct ir_conv_attrs){
		.strides = { 1, 1 },
		.dilations = { 1, 1 },
		.groups = 1,
		.layout = IR_NHWC,
		.filter_layout = attrs->b_transpose ? IR_OHWI : IR_HWIO,
		.act = attrs->act,
	};
	c->filter = attrs->b_transpose ? ir_type_make(IR_F32, 4, (int64_t[]){ n, 1, 1, k }) :
					 ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, k, n });
	c->conv = (struct cpu_conv){
		.attrs = &c->attrs,
		.filter = &c->filter,
		.batch = 1,
		.in_c = k,
		.in_h = 1,
		.in_w = ir_type_elements(y) / n,
		.out_c = n,
		.out_h = 1,
		.out_w = ir_type_elements(y) / n,
		.kh = 1,
		.kw = 1,
		.in_per_group = k,
		.out_per_group = n,
		.nhwc = true,
	};
}

bool cpu_matmul_bias_is_plain(const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type;
	/* Operand 2 of a QMATMUL is a scale; every bias of a QMATMUL counts as plain. */
	uint32_t at = node->op == IR_OP_WMATMUL ? 4 : 2;
	const struct ir_value *bias =
		node->op != IR_OP_QMATMUL && node->num_operands > at ? node->operands[at] : NULL;
	int64_t n = ir_type_dim(y, y->rank - 1);

	return !bias || (node->attrs.matmul.beta == 1 && bias->type.rank &&
			 ir_type_elements(&bias->type) == n &&
			 ir_type_dim(&bias->type, bias->type.rank - 1) == n);
}

/*
 * Whether there are several rows, all of them multiplied with one matrix, and the bias, if any, has
 * one number per column.
 */
static bool packable(const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type, *a = &node->operands[0]->type;
	const struct ir_type *b = &node->operands[1]->type;
	int64_t n = ir_type_dim(y, y->rank - 1), k;

	if (node->attrs.matmul.a_transpose || !cpu_matmul_bias_is_plain(node))
		return false;
	k = ir_type_dim(a, a->rank - 1);
	return ir_type_elements(y) > n && ir_type_elements(b) == n * k &&
	       ir_type_elements(a) / k == ir_type_elements(y) / n;
}

bool cpu_matmul_as_conv(const struct ir_node *node, struct cpu_as_conv *as)
{
	if (cpu_matmul_no_conv(node))
		return false;
	init_conv(as, node);
	return true;
}

const char *cpu_matmul_no_conv(const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type;

	if (node->attrs.matmul.alpha != 1)
		return "it has a factor";
	if (node->attrs.matmul.a_transpose)
		return "its first matrix is transposed";
	if (!cpu_matmul_bias_is_plain(node))
		return "its bias has a factor, or is not one number for each column";
	if (ir_type_elements(y) <= ir_type_dim(y, y->rank - 1))
		return "it has one row";
	return packable(node) ? NULL : "its rows are not all multiplied by one matrix";
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	float alpha = plan->node->attrs.matmul.alpha, *packed = to;
	int64_t floats = (int64_t)(plan->packed_bytes / sizeof(*packed));
	struct cpu_as_conv c;

	(void)err;
	init_conv(&c, plan->node);
	cpu_conv_rows_pack(plan->cpu->simd, &c.conv, from, to);
	/* The factor alpha is applied to the packed matrix once, not to each result. */
	for (int64_t i = 0; i < floats && alpha != 1; i++)
		packed[i] *= alpha;
	return 0;
}

static int run_packed(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		      const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_node *node = plan->node;
	struct cpu_as_conv c;
	struct cpu_conv_run run = {
		.cpu = cpu,
		.x = in[0],
		.filter = packed,
		.bias = node->num_operands > 2 ? in[2] : NULL,
		.y = out[0],
	};

	init_conv(&c, node);
	run.conv = c.conv;
	run.depth = c.conv.in_c;
	run.limited = cpu_act_limits(&c.attrs.act, &run.lo, &run.hi);
	return cpu_conv_rows(&run, NULL, err);
}

/* --- With computed matrices --- */

struct matmul {
	struct cpu_context *cpu;
	const struct ir_node *node;
	struct cpu_shape y;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];
	struct cpu_product product; /* operands and sizes of the product of batch 0 */
	const float *bias;
};

static struct cpu_product product_of(const struct matmul *mm, int64_t batch)
{
	struct cpu_product p = mm->product;
	int64_t at = batch * p.m * p.n;

	p.a += cpu_offset(&mm->y, at, mm->sa);
	p.b += cpu_offset(&mm->y, at, mm->sb);
	p.c += at;
	return p;
}

static void finish(const struct matmul *mm, int64_t batch, const struct cpu_product *p)
{
	if (mm->bias)
		add_bias(&mm->y, mm->node, &mm->node->operands[2]->type, mm->bias, batch, p->m,
			 p->c);
	cpu_activate(mm->cpu->simd, &mm->node->attrs.matmul.act, p->c, p->m * p->n);
}

static void multiply_batches(void *argument, int64_t begin, int64_t end)
{
	const struct matmul *mm = argument;

	for (int64_t batch = begin; batch < end; batch++) {
		struct cpu_product p = product_of(mm, batch);

		cpu_blas_multiply(&p);
		finish(mm, batch, &p);
	}
}

int cpu_matmul(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct matmul mm = { .cpu = cpu,
			     .node = node,
			     .y = cpu_shape_of(&node->results[0]->type),
			     .bias = node->num_operands > 2 ? in[2] : NULL };
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	int64_t m = mm.y.dim[mm.y.rank - 2] * cpu_matmul_repeats(node);
	int64_t n = mm.y.dim[mm.y.rank - 1];
	int64_t k = a.dim[a.rank - (attrs->a_transpose ? 2 : 1)], batches = mm.y.count / (m * n);

	(void)err;
	cpu_broadcast_strides(&a, &mm.y, mm.sa);
	cpu_broadcast_strides(&b, &mm.y, mm.sb);
	mm.product = (struct cpu_product){
		.ta = attrs->a_transpose,
		.tb = attrs->b_transpose,
		.m = m,
		.n = n,
		.k = k,
		.lda = a.dim[a.rank - 1],
		.ldb = b.dim[b.rank - 1],
		.ldc = n,
		.alpha = attrs->alpha,
		.a = in[0],
		.b = in[1],
		.c = out[0],
	};
	if (m > 1 && batches >= SHARED_BATCHES) {
		cpu_blas_enter();
		cpu_parallel_ranges(cpu, batches, CPU_THREAD_MACS / (m * n * k) + 1,
				    multiply_batches, &mm);
		cpu_blas_leave();
		return 0;
	}
	for (int64_t batch = 0; batch < batches; batch++) {
		struct cpu_product p = product_of(&mm, batch);

		if (m == 1) /* a matrix of one row has the same data as its transpose */
			multiply_row(cpu, attrs, n, k, p.a, p.b, p.ldb, p.c);
		else
			cpu_sgemm(cpu, &p);
		finish(&mm, batch, &p);
	}
	return 0;
}

/* ---- what choose.c asks */

const char *cpu_matmul_refuses(const struct cpu_ask *ask)
{
	return ask->node->results[0]->type.dtype == IR_F32 ? NULL : "its type is not float32";
}

const char *cpu_matmul_line_refuses(const struct cpu_ask *ask)
{
	return is_row(ask->node) ? cpu_matmul_refuses(ask) : "it has more than one row";
}

const char *cpu_matmul_packed_refuses(const struct cpu_ask *ask)
{
	if (!ask->packs)
		return "its second matrix is not constant";
	return packable(ask->node) ? cpu_matmul_refuses(ask) :
				     "it has one row, a transposed first matrix, several second "
				     "matrices, or a bias that has a factor or is not one number "
				     "for each column";
}

struct cpu_plan *cpu_matmul_packed_plan(const struct cpu_ask *ask)
{
	struct cpu_as_conv c;

	init_conv(&c, ask->node);
	return cpu_plan_simple(cpu_conv_rows_pack_bytes(ask->cpu->simd, &c.conv), pack, run_packed);
}
