// SPDX-License-Identifier: MIT
/*
 * Says which kernel computes a node. Each operator has a list of kernels, in the order in which
 * they are asked. The node is for the first kernel that can compute it (it does not refuse) and is
 * not slower than a later one (it does not lose), unless that is a kernel of oneDNN and makes no
 * plan. The last kernel is the reference, which takes every node.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"
#include "cpu/onednn/kernels.h"
#include "util/malloc.h"
#include "util/number.h"

#define REFUSES(function)   .refuses = cpu_##function##_refuses
#define LOSES(function)	    .loses = cpu_##function##_loses
#define PLAN(function)	    .plan = cpu_##function##_plan
#define REFERENCE(function) .reference = cpu_ref_##function

static const struct cpu_kernel conv[] = {
	{ "cpu/conv-depthwise", REFUSES(depthwise), LOSES(depthwise), PLAN(depthwise) },
	{ "cpu/conv-lines", REFUSES(tile_rows), LOSES(tile_rows), PLAN(tile_rows), .keeps = true,
	  .arranges = true },
	{ "cpu/winograd-onednn", REFUSES(winograd), PLAN(onednn_winograd), .keeps = true,
	  .onednn = true, .arranges = true },
	{ "cpu/winograd", REFUSES(winograd_tiles), LOSES(winograd), PLAN(winograd), .keeps = true,
	  .arranges = true },
	{ "cpu/conv-packed", REFUSES(conv_packed), LOSES(conv_packed), PLAN(conv_packed) },
	{ "cpu/conv-onednn", REFUSES(onednn_conv), PLAN(onednn_conv), .keeps = true,
	  .onednn = true },
	/*
	 * The next two kernels are above as well, with .loses. Here they have none: they take nodes
	 * that no kernel of oneDNN takes.
	 */
	{ "cpu/conv-depthwise", REFUSES(depthwise), PLAN(depthwise) },
	{ "cpu/conv-packed", REFUSES(conv_packed), PLAN(conv_packed) },
	{ "cpu/conv-transposed", REFUSES(conv_transposed), PLAN(conv_transposed) },
	{ "cpu/ref-conv", REFERENCE(conv) },
};

static const struct cpu_kernel matmul[] = {
	{ "cpu/matmul-tiles", REFUSES(tile_matmul), LOSES(tile_matmul), PLAN(tile_matmul),
	  .keeps = true },
	{ "cpu/matmul-lines", REFUSES(tile_rows), LOSES(tile_rows), PLAN(tile_rows), .keeps = true,
	  .onednn = true },
	{ "cpu/matmul-onednn", REFUSES(onednn_matmul), PLAN(onednn_matmul), .keeps = true,
	  .onednn = true },
	/* Computes a product with a constant matrix as a convolution of single pixels. */
	{ "cpu/matmul-onednn", REFUSES(onednn_conv), PLAN(onednn_conv), .keeps = true,
	  .onednn = true },
	{ "cpu/matmul-packed", REFUSES(matmul_packed), PLAN(matmul_packed) },
	{ "cpu/matmul-line", REFUSES(matmul_line), .run = cpu_matmul },
	{ "cpu/matmul-openblas", REFUSES(matmul), .run = cpu_matmul, .blas = true },
	{ "cpu/ref-matmul", REFERENCE(matmul) },
};

static const struct cpu_kernel wmatmul[] = {
	{ "cpu/matmul-weights", REFUSES(weights), PLAN(weights) },
	{ "cpu/dequantize-matmul", PLAN(dequantize_matmul) },
	{ "cpu/ref-wmatmul", REFERENCE(wmatmul) },
};

static const struct cpu_kernel qconv[] = {
	{ "cpu/integer-dots", REFUSES(integer_dots), PLAN(integer_dots), .version = 1 },
	{ "cpu/integer-pairs", REFUSES(integer_pairs), PLAN(integer_dots) },
	{ "cpu/conv-onednn", REFUSES(onednn_conv), PLAN(onednn_conv), .keeps = true,
	  .onednn = true },
	{ "cpu/integer-product", REFUSES(integer_product), PLAN(integer_product) },
	{ "cpu/ref-qconv", REFERENCE(qconv) },
};

static const struct cpu_kernel qmatmul[] = {
	{ "cpu/integer-dots", REFUSES(integer_dots), PLAN(integer_dots), .version = 1 },
	{ "cpu/integer-pairs", REFUSES(integer_pairs), PLAN(integer_dots) },
	{ "cpu/matmul-onednn", REFUSES(onednn_conv), PLAN(onednn_conv), .keeps = true,
	  .onednn = true },
	{ "cpu/integer-product", REFUSES(integer_product), PLAN(integer_product) },
	{ "cpu/ref-qmatmul", REFERENCE(qmatmul) },
};

static const struct cpu_kernel qpool[] = {
	{ "cpu/integer-average", REFUSES(pool_integer), .run = cpu_pool_integer },
	{ "cpu/ref-qpool", REFERENCE(qpool) },
};

static const struct cpu_kernel qunary[] = {
	{ "cpu/integer-table", .run = cpu_integer_unary },
	{ "cpu/ref-qunary", REFERENCE(qunary) },
};

static const struct cpu_kernel qbinary[] = {
	{ "cpu/integer-binary", REFUSES(integer_binary), .run = cpu_integer_binary },
	{ "cpu/ref-qbinary", REFERENCE(qbinary) },
};

static const struct cpu_kernel unary[] = {
	{ "cpu/unary", REFUSES(elementwise), PLAN(elementwise), .arranges = true },
	{ "cpu/unary-integers", REFUSES(whole), .run = cpu_unary_whole },
	{ "cpu/unary-says", REFUSES(unary_says), .run = cpu_unary_says },
	{ "cpu/ref-unary", REFERENCE(unary) },
};

static const struct cpu_kernel binary[] = {
	{ "cpu/binary", REFUSES(elementwise), PLAN(elementwise), .arranges = true },
	{ "cpu/binary-integers", REFUSES(whole), .run = cpu_binary_whole },
	{ "cpu/ref-binary", REFERENCE(binary) },
};

static const struct cpu_kernel pool[] = {
	{ "cpu/pool-integer", REFUSES(pool_integer), .run = cpu_pool_integer },
	{ "cpu/pool", REFUSES(pool), .run = cpu_pool },
	{ "cpu/ref-pool", REFERENCE(pool) },
};

static const struct cpu_kernel reduce[] = {
	{ "cpu/reduce", REFUSES(reduce), .run = cpu_reduce },
	{ "cpu/reduce-integers", REFUSES(reduce_integers), .run = cpu_reduce_integers },
	{ "cpu/ref-reduce", REFERENCE(reduce) },
};

static const struct cpu_kernel batchnorm[] = {
	{ "cpu/normalize", REFUSES(normalize), .run = cpu_normalize },
	{ "cpu/normalize-channels", REFUSES(normalize_channels), .run = cpu_normalize_channels },
	{ "cpu/ref-batchnorm", REFERENCE(batchnorm) },
};

/*
 * ONE() defines the list of an operator with one fast kernel before its reference kernel, NONE() a
 * list with the reference kernel alone.
 */
#define ONE(list, name, refusal, function, ref)                  \
	static const struct cpu_kernel list[] = {                \
		{ name, .refuses = refusal, .run = function },   \
		{ "cpu/ref-" #ref, .reference = cpu_ref_##ref }, \
	};
#define NONE(list, name, function) \
	static const struct cpu_kernel list[] = { { name, .reference = function } };

ONE(instnorm, "cpu/normalize", cpu_normalize_refuses, cpu_normalize, instnorm)
ONE(layernorm, "cpu/normalize", cpu_normalize_refuses, cpu_normalize, layernorm)
ONE(softmax, "cpu/softmax", cpu_softmax_refuses, cpu_softmax, softmax)
ONE(arg, "cpu/arg", cpu_arg_refuses, cpu_arg, arg)
ONE(topk, "cpu/topk", cpu_topk_refuses, cpu_topk, topk)
ONE(cumsum, "cpu/cumsum", cpu_cumsum_refuses, cpu_cumsum, cumsum)
ONE(compare, "cpu/compare", cpu_select_refuses, cpu_select, compare)
ONE(where, "cpu/where", cpu_select_refuses, cpu_select, where)
ONE(cast, "cpu/cast", cpu_cast_refuses, cpu_cast, cast)
ONE(quantize, "cpu/quantize", NULL, cpu_quantization, quantize)
ONE(dequantize, "cpu/dequantize", NULL, cpu_quantization, dequantize)
ONE(transpose, "cpu/transpose", cpu_move_refuses, cpu_transpose, transpose)
ONE(concat, "cpu/concat", cpu_move_refuses, cpu_concat, concat)
ONE(slice, "cpu/slice", cpu_move_refuses, cpu_slice, slice)
ONE(expand, "cpu/expand", cpu_move_refuses, cpu_expand, expand)
ONE(reverse, "cpu/reverse", cpu_move_refuses, cpu_reverse, reverse)
ONE(pad, "cpu/pad", cpu_rows_refuses, cpu_pad, pad)
ONE(tile, "cpu/tile", cpu_rows_refuses, cpu_tile_copies, tile)
ONE(triangular, "cpu/triangular", cpu_rows_refuses, cpu_triangular, triangular)
ONE(gather, "cpu/gather", cpu_move_refuses, cpu_gather, gather)
ONE(scatter, "cpu/scatter", cpu_move_refuses, cpu_scatter, scatter)
NONE(copy, "cpu/copy", cpu_ref_copy)
NONE(rotary, "cpu/ref-rotary", cpu_ref_rotary)

static const char *is_linear(const struct cpu_ask *ask)
{
	return ask->node->attrs.resample.linear ? "it interpolates linearly" : NULL;
}

static const struct cpu_kernel resample[] = {
	{ "cpu/resample-nearest", .refuses = is_linear, .run = cpu_resample },
	{ "cpu/resample-linear", .run = cpu_resample },
	{ "cpu/ref-resample", REFERENCE(resample) },
};

static int run_recurrent(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			 void *const *out, struct wnn_error *err)
{
	double *state = cpu_scratch(cpu, cpu_ref_recurrent_state(node) * sizeof(*state));

	if (!state)
		return wnn_error_nomem(err, "the states of a recurrent network");
	cpu_ref_recurrent(node, in, out, state);
	return 0;
}

static const struct cpu_kernel gru[] = {
	{ "cpu/gru-openblas", .run = cpu_recurrent_network, .blas = true },
	{ "cpu/ref-gru", .run = run_recurrent },
};

static const struct cpu_kernel lstm[] = {
	{ "cpu/lstm-openblas", .run = cpu_recurrent_network, .blas = true },
	{ "cpu/ref-lstm", .run = run_recurrent },
};

static const struct {
	const struct cpu_kernel *kernels;
	size_t count;
} lists[] = {
#define LIST(op, list) [IR_OP_##op] = { list, ARRAY_SIZE(list) }
	LIST(CONV, conv),
	LIST(MATMUL, matmul),
	LIST(WMATMUL, wmatmul),
	LIST(POOL, pool),
	LIST(UNARY, unary),
	LIST(BINARY, binary),
	LIST(COMPARE, compare),
	LIST(WHERE, where),
	LIST(CAST, cast),
	LIST(COPY, copy),
	LIST(RESHAPE, copy),
	LIST(TRANSPOSE, transpose),
	LIST(CONCAT, concat),
	LIST(SLICE, slice),
	LIST(EXPAND, expand),
	LIST(PAD, pad),
	LIST(REVERSE, reverse),
	LIST(TILE, tile),
	LIST(REDUCE, reduce),
	LIST(SOFTMAX, softmax),
	LIST(ARG, arg),
	LIST(TOPK, topk),
	LIST(CUMSUM, cumsum),
	LIST(TRIANGULAR, triangular),
	LIST(BATCHNORM, batchnorm),
	LIST(INSTNORM, instnorm),
	LIST(LAYERNORM, layernorm),
	LIST(RESAMPLE, resample),
	LIST(QUANTIZE, quantize),
	LIST(DEQUANTIZE, dequantize),
	LIST(QCONV, qconv),
	LIST(QMATMUL, qmatmul),
	LIST(QPOOL, qpool),
	LIST(QUNARY, qunary),
	LIST(QBINARY, qbinary),
	LIST(ROTARY, rotary),
	LIST(GATHER, gather),
	LIST(SCATTER, scatter),
	LIST(GRU, gru),
	LIST(LSTM, lstm),
#undef LIST
};
_Static_assert(ARRAY_SIZE(lists) == IR_OP_COUNT, "a list for every operator");

const struct cpu_kernel *cpu_kernels(enum ir_op op, size_t *count)
{
	*count = lists[op].count;
	return lists[op].kernels;
}

/* ---- plans without state */

static int run_node(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		    const void *const *in, void *const *out, struct wnn_error *err)
{
	(void)packed;
	return plan->kernel->run(cpu, plan->node, in, out, err);
}

static int run_reference(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
			 const void *const *in, void *const *out, struct wnn_error *err)
{
	(void)cpu;
	(void)packed;
	(void)err;
	plan->kernel->reference(plan->node, in, out);
	return 0;
}

struct cpu_plan *cpu_plan_simple(size_t packed_bytes,
				 int (*pack)(const struct cpu_plan *plan, const void *from,
					     void *to, struct wnn_error *err),
				 int (*run)(struct cpu_plan *plan, struct cpu_context *cpu,
					    const void *packed, const void *const *in,
					    void *const *out, struct wnn_error *err))
{
	struct cpu_plan *plan = wnn_calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	plan->packed_bytes = packed_bytes;
	plan->pack = pack;
	plan->run = run;
	return plan;
}

/* ---- the choice */

/* Returns why a kernel cannot compute a node, without loading a library; NULL when it can. */
static const char *cannot(const struct cpu_kernel *kernel, const struct cpu_ask *ask)
{
	if (kernel->onednn && ask->cpu->layer != CPU_ONEDNN)
		return "the layer is openblas";
	if (kernel->keeps && !ask->keeps)
		return "it is computed once";
	return kernel->refuses ? kernel->refuses(ask) : NULL;
}

/* Returns why a kernel does not take a node: it cannot, or a later one is faster. */
static const char *objection(const struct cpu_kernel *kernel, const struct cpu_ask *ask)
{
	const char *why = cannot(kernel, ask);

	return !why && kernel->loses ? kernel->loses(ask) : why;
}

static struct cpu_plan *plan_with(const struct cpu_kernel *kernel, const struct cpu_ask *ask)
{
	struct cpu_plan *plan;

	if (kernel->onednn && !cpu_onednn_form())
		return NULL;
	if (kernel->blas && cpu_blas_load(ask->cpu, ask->err))
		return NULL;
	plan = kernel->plan ? kernel->plan(ask) :
			      cpu_plan_simple(0, NULL, kernel->run ? run_node : run_reference);
	if (!plan) {
		/*
		 * A kernel of oneDNN may return no plan to leave the node to the next kernel; the
		 * others return none only when memory runs out.
		 */
		if (!kernel->onednn && (!ask->err || !ask->err->status))
			wnn_error_nomem(ask->err, "the plan of an operator");
		return NULL;
	}
	plan->kernel = kernel;
	plan->cpu = ask->cpu;
	plan->node = ask->node;
	return plan;
}

struct cpu_plan *cpu_choose(const struct cpu_ask *ask)
{
	const struct cpu_kernel *kernels = lists[ask->node->op].kernels;
	struct wnn_error problem = { 0 };
	struct cpu_ask asked = *ask;

	asked.err = &problem;
	for (size_t i = 0; i < lists[ask->node->op].count; i++) {
		struct cpu_plan *plan =
			objection(&kernels[i], ask) ? NULL : plan_with(&kernels[i], &asked);

		if (plan)
			return plan;
		if (problem.status) {
			if (ask->err)
				*ask->err = problem;
			return NULL;
		}
	}
	return NULL;
}

bool cpu_may_arrange(const struct cpu_ask *ask)
{
	const struct cpu_kernel *kernel = lists[ask->node->op].kernels;

	while (objection(kernel, ask))
		kernel++;
	return kernel->arranges;
}

struct cpu_plan *cpu_choose_named(const struct cpu_ask *ask, const char *name)
{
	const struct cpu_kernel *kernels = lists[ask->node->op].kernels;
	struct cpu_plan *plan = NULL;

	for (size_t i = 0; i < lists[ask->node->op].count && !plan; i++)
		if (!strcmp(kernels[i].name, name) && !cannot(&kernels[i], ask))
			plan = plan_with(&kernels[i], ask);
	return plan;
}

struct cpu_plan *cpu_choose_reference(const struct cpu_ask *ask)
{
	const struct cpu_kernel *last =
		&lists[ask->node->op].kernels[lists[ask->node->op].count - 1];

	return plan_with(last, ask);
}

/*
 * Appends "not NAME, because WHY" to a text of `length` bytes in a buffer of `size` bytes; returns
 * the new length, at most size - 1.
 */
static size_t add(char *text, size_t size, size_t length, const char *name, const char *why)
{
	int n = snprintf(text + length, size - length, "%snot %s, because %s", length ? "; " : "",
			 name, why);

	return length + (size_t)n < size ? length + (size_t)n : size - 1;
}

/*
 * Returns whether a kernel before this one in the list has the same name; the text then has a
 * reason for that name already.
 */
static bool is_repeated(const struct cpu_kernel *kernels, const struct cpu_kernel *kernel)
{
	for (const struct cpu_kernel *before = kernels; before != kernel; before++)
		if (!strcmp(before->name, kernel->name))
			return true;
	return false;
}

void cpu_plan_explain(const struct cpu_plan *plan, char *text, size_t size)
{
	const struct cpu_kernel *kernels = lists[plan->node->op].kernels;
	const struct cpu_ask ask = cpu_ask_for(plan->cpu, plan->node, CPU_PACKS | CPU_KEEPS);
	size_t length = 0;

	text[0] = 0;
	for (const struct cpu_kernel *kernel = kernels; kernel != plan->kernel; kernel++) {
		const char *why = objection(kernel, &ask);

		if (is_repeated(kernels, kernel) || !strcmp(kernel->name, plan->kernel->name))
			continue;
		if (!why)
			why = !kernel->onednn	? "the saved graph was made with another kernel" :
			      cpu_onednn_form() ? "oneDNN has no fast kernel for it" :
						  "oneDNN cannot be loaded, or computes wrong here";
		length = add(text, size, length, kernel->name, why);
	}
}
