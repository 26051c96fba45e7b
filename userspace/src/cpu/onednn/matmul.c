// SPDX-License-Identifier: MIT
/*
 * Products of float32 on oneDNN. For two computed matrices, a call of oneDNN multiplies some rows
 * of a matrix, or several whole matrices when these are contiguous. For a constant matrix that is
 * larger than the rows it is multiplied with, a call has some columns, so that all calls together
 * read it once. (Other constant matrices are filters of convolutions, conv.c.) The division
 * depends on the shape alone.
 */
#include "cpu/onednn/onednn.h"

#include <stdatomic.h>
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/element.h"
#include "cpu/onednn/form.h"
#include "util/malloc.h"
#include "cpu/onednn/kernels.h"

/*
 * CALLS: calls that the work of a node is divided into if it is large enough. MIN_ROWS: the least
 * rows of a call.
 */
#define CALLS	 4
#define MIN_ROWS 64
/*
 * COLUMNS: where columns are divided, their number in each call but the last is a multiple of this.
 * MAX_PARTS: the most calls that divide the columns.
 */
#define COLUMNS	  64
#define MAX_PARTS 8
/* Products of fewer rows with a computed matrix take mostly less time on OpenBLAS. */
#define MIN_LINES 8

/*
 * The primitive for calls with this number of rows and columns. A matrix has calls of at most two
 * forms: forms[1] is for its last calls when these have fewer rows or columns.
 */
struct form {
	int64_t rows, columns;
	dnnl_memory_desc_t src, weights, dst, bias;
	dnnl_primitive_desc_t desc;
	dnnl_primitive_t primitive;
	const_dnnl_memory_desc_t packed, scratch; /* `packed` and `scratch` belong to `desc` */
	struct onednn_form operand;		  /* layout of the packed constant matrix */
};

struct memories {
	dnnl_memory_t src, weights, dst, scratch, bias;
};

struct matmul {
	struct cpu_plan base;
	const struct onednn *dnn;
	const struct ir_matmul_attrs *attrs;
	struct cpu_shape y;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];
	int64_t m, n, k, batches;
	/*
	 * together: matrices of a call; rows: rows of a call; parts: calls for the rows of a
	 * matrix; columns: columns of a call; across: calls for the columns of a matrix.
	 */
	int64_t together, rows, parts, columns, across;
	/* Whether the second matrix is constant: it is packed, each call's columns separately. */
	bool constant;
	size_t part_bytes;
	bool has_bias;
	struct form forms[2];
	size_t scratch_bytes; /* scratch memory of each thread */
	unsigned int threads;
	struct memories *memories; /* [thread][2] */
	dnnl_stream_t *streams;	   /* [thread] */
};

struct run {
	struct matmul *mm;
	struct cpu_context *cpu;
	const float *a, *b, *bias;
	const char *packed;
	float *c;
	char *scratch;
	atomic_bool failed;
};

static void finish_row(const struct run *run, float *c, int64_t n)
{
	const struct ir_matmul_attrs *attrs = run->mm->attrs;
	const struct cpu_simd *simd = run->cpu->simd;

	if (attrs->alpha != 1)
		simd->binary(IR_MUL, c, c, 1, &attrs->alpha, 0, n);
	cpu_activate(simd, &attrs->act, c, n);
}

/*
 * Applies the factor and the activation to the results of a call, which may have only some columns
 * of each row.
 */
static void finish(const struct run *run, const struct form *form, float *c)
{
	const struct matmul *mm = run->mm;
	int64_t lines = mm->together * form->rows;

	for (int64_t i = 0; i < lines && form->columns < mm->n; i++)
		finish_row(run, c + i * mm->n, form->columns);
	if (form->columns == mm->n)
		finish_row(run, c, lines * mm->n);
}

/* The position in the result at which a call begins, and its second matrix. */
struct place {
	int64_t column, row, at; /* at: offset of the first result of the call's first matrix */
	const void *b;
};

static struct place position_of(const struct run *run, int64_t item)
{
	const struct matmul *mm = run->mm;
	int64_t part = item % mm->across, rows = item / mm->across;
	struct place p = { .column = part * mm->columns,
			   .row = rows % mm->parts * mm->rows,
			   .at = rows / mm->parts * mm->together * mm->m * mm->n };

	if (mm->constant)
		p.b = run->packed + (size_t)part * mm->part_bytes;
	else
		p.b = run->b + cpu_offset(&mm->y, p.at, mm->sb);
	return p;
}

static void run_call(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	struct matmul *mm = run->mm;
	const struct onednn *dnn = mm->dnn;
	struct place p = position_of(run, item);
	int which = mm->m - p.row < mm->rows || mm->n - p.column < mm->columns;
	const struct form *form = &mm->forms[which];
	struct memories *m = &mm->memories[2 * worker + (unsigned int)which];
	const float *a = run->a + (mm->constant ? 0 : cpu_offset(&mm->y, p.at, mm->sa)) +
			 p.row * (mm->attrs->a_transpose ? 1 : mm->k);
	float *c = run->c + p.at + p.row * mm->n + p.column;
	const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, m->src },
					 { DNNL_ARG_WEIGHTS, m->weights },
					 { DNNL_ARG_DST, m->dst },
					 { DNNL_ARG_SCRATCHPAD, m->scratch },
					 { DNNL_ARG_BIAS, m->bias } };
	char *scratch = mm->scratch_bytes ? run->scratch + worker * mm->scratch_bytes : NULL;
	int threads = onednn_enter(dnn);

	if (dnn->memory_set_data_handle(m->src, (void *)a) ||
	    dnn->memory_set_data_handle(m->weights, (void *)p.b) ||
	    dnn->memory_set_data_handle(m->dst, c) ||
	    dnn->memory_set_data_handle(m->scratch, scratch) ||
	    (mm->has_bias &&
	     dnn->memory_set_data_handle(m->bias, (void *)(run->bias + p.column))) ||
	    dnn->primitive_execute(form->primitive, mm->streams[worker], mm->has_bias ? 5 : 4,
				   args))
		atomic_store(&run->failed, true);
	onednn_leave(dnn, threads);
	finish(run, form, c);
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	struct matmul *mm = (struct matmul *)plan;
	struct run r = { .mm = mm,
			 .cpu = cpu,
			 .a = in[0],
			 .b = in[1],
			 .bias = mm->has_bias ? in[2] : NULL,
			 .packed = packed,
			 .c = out[0] };
	if (mm->scratch_bytes) {
		r.scratch = cpu_scratch(cpu, mm->threads * mm->scratch_bytes);
		if (!r.scratch)
			return wnn_error_nomem(err, "a product");
	}
	cpu_threads_run(cpu->workers, mm->batches / mm->together * mm->parts * mm->across, run_call,
			&r);
	return atomic_load(&r.failed) ? onednn_failed(err) : 0;
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct matmul *mm = (const struct matmul *)plan;
	bool transposed = mm->attrs->b_transpose;
	const int64_t strides[] = { 0, transposed ? 1 : mm->n, transposed ? mm->k : 1 };

	(void)err;
	memset(to, 0, mm->base.packed_bytes);
	for (int64_t i = 0; i < mm->across; i++) {
		int64_t column = i * mm->columns;
		const struct form *form = &mm->forms[mm->n - column < mm->columns];

		onednn_form_pack(&form->operand, (const float *)from + column * strides[2], strides,
				 (char *)to + (size_t)i * mm->part_bytes);
	}
	return 0;
}

static void destroy(struct cpu_plan *plan)
{
	struct matmul *mm = (struct matmul *)plan;
	const struct onednn *dnn = mm->dnn;

	for (unsigned int i = 0; mm->memories && i < 2 * mm->threads; i++) {
		dnn->memory_destroy(mm->memories[i].src);
		dnn->memory_destroy(mm->memories[i].weights);
		dnn->memory_destroy(mm->memories[i].dst);
		dnn->memory_destroy(mm->memories[i].scratch);
		dnn->memory_destroy(mm->memories[i].bias);
	}
	for (unsigned int t = 0; mm->streams && t < mm->threads; t++)
		dnn->stream_destroy(mm->streams[t]);
	for (int i = 0; i < 2; i++) {
		dnn->primitive_destroy(mm->forms[i].primitive);
		dnn->primitive_desc_destroy(mm->forms[i].desc);
		dnn->memory_desc_destroy(mm->forms[i].src);
		dnn->memory_desc_destroy(mm->forms[i].weights);
		dnn->memory_desc_destroy(mm->forms[i].dst);
		dnn->memory_desc_destroy(mm->forms[i].bias);
	}
	wnn_free(mm->memories);
	wnn_free(mm->streams);
	wnn_free(mm);
}

static int describe(const struct matmul *mm, struct form *form)
{
	const struct onednn *dnn = mm->dnn;
	const struct ir_matmul_attrs *a = mm->attrs;
	const dnnl_dims_t src = { mm->together, form->rows, mm->k };
	const dnnl_dims_t weights = { mm->together, mm->k, form->columns };
	const dnnl_dims_t dst = { mm->together, form->rows, form->columns };
	const dnnl_dims_t bias = { 1, 1, form->columns };
	const dnnl_dims_t src_steps = { mm->m * mm->k, a->a_transpose ? 1 : mm->k,
					a->a_transpose ? mm->m : 1 };
	const dnnl_dims_t weight_steps = { mm->k * mm->n, a->b_transpose ? 1 : mm->n,
					   a->b_transpose ? mm->k : 1 };
	const dnnl_dims_t dst_steps = { mm->m * mm->n, mm->n, 1 };

	return dnn->memory_desc_create_with_strides(&form->src, 3, src, dnnl_f32, src_steps) ||
	       dnn->memory_desc_create_with_strides(&form->weights, 3, weights, dnnl_f32,
						    weight_steps) ||
	       dnn->memory_desc_create_with_strides(&form->dst, 3, dst, dnnl_f32, dst_steps) ||
	       dnn->memory_desc_create_with_tag(&form->bias, 3, bias, dnnl_f32, dnnl_abc);
}

static int make_form(struct matmul *mm, struct form *form, const_dnnl_primitive_attr_t attr)
{
	const struct onednn *dnn = mm->dnn;
	const dnnl_dims_t weights = { 1, mm->k, form->columns };
	dnnl_memory_desc_t any = NULL;
	size_t bytes;
	int ret;

	if (describe(mm, form) ||
	    (mm->constant &&
	     dnn->memory_desc_create_with_tag(&any, 3, weights, dnnl_f32, dnnl_format_tag_any)))
		return -1;
	ret = dnn->matmul_primitive_desc_create(&form->desc, dnn->engine, form->src,
						mm->constant ? any : form->weights,
						mm->has_bias ? form->bias : NULL, form->dst, attr);
	dnn->memory_desc_destroy(any);
	if (ret || !onednn_is_fast(dnn, form->desc) ||
	    dnn->primitive_create(&form->primitive, form->desc))
		return -1;
	form->packed = dnn->primitive_desc_query_md(form->desc, dnnl_query_weights_md, 0);
	form->scratch = dnn->primitive_desc_query_md(form->desc, dnnl_query_scratchpad_md, 0);
	bytes = cpu_round_up(dnn->memory_desc_get_size(form->scratch));
	if (bytes > mm->scratch_bytes)
		mm->scratch_bytes = bytes;
	if (mm->constant &&
	    !onednn_form_read(dnn, form->packed, (struct onednn_input){ 0 }, &form->operand))
		return -1;
	bytes = cpu_round_up(dnn->memory_desc_get_size(form->packed));
	if (bytes > mm->part_bytes)
		mm->part_bytes = bytes;
	return 0;
}

static int make_memories(struct matmul *mm)
{
	const struct onednn *dnn = mm->dnn;

	for (unsigned int t = 0; t < mm->threads; t++) {
		if (dnn->stream_create(&mm->streams[t], dnn->engine, dnnl_stream_default_flags))
			return -1;
		for (unsigned int i = 0; i < 2 && mm->forms[i].rows; i++) {
			struct memories *m = &mm->memories[2 * t + i];

			if (onednn_make_memory(dnn, &m->src, mm->forms[i].src) ||
			    onednn_make_memory(dnn, &m->weights, mm->forms[i].packed) ||
			    onednn_make_memory(dnn, &m->dst, mm->forms[i].dst) ||
			    onednn_make_memory(dnn, &m->scratch, mm->forms[i].scratch) ||
			    onednn_make_memory(dnn, &m->bias, mm->forms[i].bias))
				return -1;
		}
	}
	return 0;
}

static int make(struct matmul *mm)
{
	const struct onednn *dnn = mm->dnn;
	dnnl_primitive_attr_t attr = NULL;
	int ret;

	mm->memories = wnn_calloc(2 * (size_t)mm->threads, sizeof(*mm->memories));
	mm->streams = wnn_calloc(mm->threads, sizeof(dnnl_stream_t));
	if (!mm->memories || !mm->streams)
		return -1;
	mm->forms[0].rows = mm->rows;
	mm->forms[0].columns = mm->columns;
	/* Either rows or columns are divided, not both. */
	mm->forms[1].rows = mm->across > 1 ? mm->rows : mm->m % mm->rows;
	mm->forms[1].columns = mm->across > 1 ? mm->n % mm->columns : mm->columns;
	if (!mm->forms[1].columns)
		mm->forms[1].rows = 0;
	ret = onednn_make_attributes(dnn, &attr);
	for (int i = 0; i < 2 && mm->forms[i].rows && !ret; i++)
		ret = make_form(mm, &mm->forms[i], attr);
	dnn->primitive_attr_destroy(attr);
	return ret ? -1 : make_memories(mm);
}

/* Whether all matrices are contiguous in both operands. */
static bool is_dense(const struct matmul *mm)
{
	for (int64_t i = 0; i < mm->batches; i++) {
		int64_t at = i * mm->m * mm->n;

		if (cpu_offset(&mm->y, at, mm->sa) != i * mm->m * mm->k ||
		    cpu_offset(&mm->y, at, mm->sb) != i * mm->k * mm->n)
			return false;
	}
	return true;
}

static void divide(struct matmul *mm, int64_t part_work)
{
	int64_t calls = CALLS, most;

	mm->together = mm->across = 1;
	mm->rows = mm->m;
	mm->columns = mm->n;
	if (mm->constant) {
		int64_t rows = mm->m < MIN_LINES ? MIN_LINES : mm->m;

		/* Reading the matrix takes about as long as multiplying MIN_LINES rows with it. */
		calls = rows * mm->n * mm->k / (part_work / 2);
		calls = calls > MAX_PARTS ? MAX_PARTS : calls > 1 ? calls : 1;
		mm->columns = (mm->n + calls * COLUMNS - 1) / (calls * COLUMNS) * COLUMNS;
		mm->columns = mm->columns < mm->n ? mm->columns : mm->n;
		mm->across = (mm->n + mm->columns - 1) / mm->columns;
	} else if (mm->batches >= CALLS && is_dense(mm)) {
		while (mm->batches % calls)
			calls++;
		mm->together = mm->batches / calls;
	} else if (mm->batches < CALLS) {
		most = mm->m * mm->n * mm->k / part_work;
		calls = calls > most ? most : calls;
		calls = calls > mm->m / MIN_ROWS ? mm->m / MIN_ROWS : calls;
		calls = calls > 1 ? calls : 1;
		mm->rows = (mm->m + calls - 1) / calls;
	}
	mm->parts = (mm->m + mm->rows - 1) / mm->rows;
}

/*
 * Sets up a product with one constant matrix for all rows; false when there is none, or when the
 * matrix has no more elements than the rows and the results together.
 */
static bool set_constant(struct matmul *mm, const struct ir_node *node)
{
	struct cpu_as_conv as;

	if (!cpu_matmul_as_conv(node, &as))
		return false;
	mm->constant = true;
	mm->batches = 1;
	mm->m = as.conv.out_w;
	return mm->k * mm->n > mm->m * (mm->k + mm->n);
}

/* Sets sizes and strides; false when this kernel does not take the node. */
static bool set_shape(struct matmul *mm, const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);

	mm->attrs = attrs;
	mm->y = cpu_shape_of(&node->results[0]->type);
	mm->m = mm->y.dim[mm->y.rank - 2] * cpu_matmul_repeats(node);
	mm->n = mm->y.dim[mm->y.rank - 1];
	mm->k = a.dim[a.rank - (attrs->a_transpose ? 2 : 1)];
	mm->batches = mm->y.count / (mm->m * mm->n);
	cpu_broadcast_strides(&a, &mm->y, mm->sa);
	cpu_broadcast_strides(&b, &mm->y, mm->sb);
	mm->has_bias = node->num_operands > 2 && node->operands[2];
	if (node->operands[1]->kind == IR_VALUE_CONSTANT)
		return set_constant(mm, node);
	/* oneDNN adds the bias before the factor is applied, so they exclude each other. */
	return mm->m >= MIN_LINES && cpu_matmul_bias_is_plain(node) &&
	       (mm->attrs->alpha == 1 || !mm->has_bias);
}

struct cpu_plan *onednn_matmul_plan(const struct onednn *dnn, const struct cpu_context *cpu,
				    const struct ir_node *node)
{
	struct matmul *mm;
	int threads, ret;

	if (node->op != IR_OP_MATMUL || node->operands[0]->type.dtype != IR_F32)
		return NULL;
	mm = wnn_calloc(1, sizeof(*mm));
	if (!mm)
		return NULL;
	mm->base = (struct cpu_plan){ .run = run, .destroy = destroy };
	mm->dnn = dnn;
	mm->threads = cpu->threads;
	if (!set_shape(mm, node)) {
		wnn_free(mm);
		return NULL;
	}
	divide(mm, cpu->part_work);
	threads = onednn_enter(dnn);
	ret = make(mm);
	onednn_leave(dnn, threads);
	if (ret) {
		destroy(&mm->base);
		return NULL;
	}
	if (mm->constant) {
		mm->base.pack = pack;
		mm->base.packed_bytes = (size_t)mm->across * mm->part_bytes;
	}
	return &mm->base;
}

const char *cpu_onednn_matmul_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	struct matmul mm = { 0 };
	const char *no_conv;

	if (node->operands[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (set_shape(&mm, node))
		return NULL;
	if (node->operands[1]->kind == IR_VALUE_CONSTANT) {
		no_conv = cpu_matmul_no_conv(node);
		if (no_conv)
			return no_conv;
	}
	if (mm.constant)
		return "its constant matrix has no more elements than its rows and results "
		       "together";
	if (mm.m < MIN_LINES)
		return "it has fewer than 8 rows";
	return cpu_matmul_bias_is_plain(node) ?
		       "it has both a bias and a factor" :
		       "its bias has a factor, or is not one number for each column";
}

struct cpu_plan *cpu_onednn_matmul_plan(const struct cpu_ask *ask)
{
	return onednn_matmul_plan(onednn_get(), ask->cpu, ask->node);
}
