// SPDX-License-Identifier: MIT
/* Chooses and runs the kernel of a node. */
#include "cpu/cpu.h"

#include <unistd.h>

#include "cpu/fast.h"
#include "cpu/reference.h"
#include "util/malloc.h"
#include "util/number.h"

#define DEFAULT_CACHE (256 << 10)

/* The kernels of each operator. A new operator is a new row. */
static const struct {
	const char *name; /* of the reference kernel */
	cpu_reference_fn reference;
	const struct cpu_fast_family *fast; /* NULL: none */
} operators[] = {
	[IR_OP_CONV] = { "cpu/ref-conv", cpu_ref_conv, &cpu_fast_conv },
	[IR_OP_MATMUL] = { "cpu/ref-matmul", cpu_ref_matmul, &cpu_fast_matmul },
	[IR_OP_POOL] = { "cpu/ref-pool", cpu_ref_pool, &cpu_fast_pool },
	[IR_OP_UNARY] = { "cpu/ref-unary", cpu_ref_unary, &cpu_fast_elementwise },
	[IR_OP_BINARY] = { "cpu/ref-binary", cpu_ref_binary, &cpu_fast_elementwise },
	[IR_OP_COMPARE] = { "cpu/ref-compare", cpu_ref_compare, NULL },
	[IR_OP_WHERE] = { "cpu/ref-where", cpu_ref_where, NULL },
	[IR_OP_CAST] = { "cpu/ref-cast", cpu_ref_cast, NULL },
	[IR_OP_COPY] = { "cpu/copy", cpu_ref_copy, NULL },
	[IR_OP_RESHAPE] = { "cpu/copy", cpu_ref_copy, NULL },
	[IR_OP_TRANSPOSE] = { "cpu/ref-transpose", cpu_ref_transpose, &cpu_fast_move },
	[IR_OP_CONCAT] = { "cpu/ref-concat", cpu_ref_concat, &cpu_fast_move },
	[IR_OP_SLICE] = { "cpu/ref-slice", cpu_ref_slice, &cpu_fast_move },
	[IR_OP_EXPAND] = { "cpu/ref-expand", cpu_ref_expand, &cpu_fast_move },
	[IR_OP_PAD] = { "cpu/ref-pad", cpu_ref_pad, NULL },
	[IR_OP_REVERSE] = { "cpu/ref-reverse", cpu_ref_reverse, &cpu_fast_move },
	[IR_OP_TILE] = { "cpu/ref-tile", cpu_ref_tile, NULL },
	[IR_OP_REDUCE] = { "cpu/ref-reduce", cpu_ref_reduce, &cpu_fast_reduce },
	[IR_OP_SOFTMAX] = { "cpu/ref-softmax", cpu_ref_softmax, &cpu_fast_softmax },
	[IR_OP_ARG] = { "cpu/ref-arg", cpu_ref_arg, NULL },
	[IR_OP_CUMSUM] = { "cpu/ref-cumsum", cpu_ref_cumsum, NULL },
	[IR_OP_TRIANGULAR] = { "cpu/ref-triangular", cpu_ref_triangular, NULL },
	[IR_OP_BATCHNORM] = { "cpu/ref-batchnorm", cpu_ref_batchnorm, &cpu_fast_reduce },
	[IR_OP_INSTNORM] = { "cpu/ref-instnorm", cpu_ref_instnorm, &cpu_fast_reduce },
	[IR_OP_LAYERNORM] = { "cpu/ref-layernorm", cpu_ref_layernorm, &cpu_fast_reduce },
	[IR_OP_RESAMPLE] = { "cpu/ref-resample", cpu_ref_resample, &cpu_fast_resample },
	[IR_OP_QUANTIZE] = { "cpu/ref-quantize", cpu_ref_quantize, &cpu_fast_quantize },
	[IR_OP_DEQUANTIZE] = { "cpu/ref-dequantize", cpu_ref_dequantize, &cpu_fast_quantize },
	[IR_OP_GATHER] = { "cpu/ref-gather", cpu_ref_gather, &cpu_fast_index },
	[IR_OP_SCATTER] = { "cpu/ref-scatter", cpu_ref_scatter, &cpu_fast_index },
	/* These two need memory: run_recurrent(). */
	[IR_OP_GRU] = { "cpu/ref-gru", NULL, &cpu_fast_recurrent },
	[IR_OP_LSTM] = { "cpu/ref-lstm", NULL, &cpu_fast_recurrent },
};
_Static_assert(ARRAY_SIZE(operators) == IR_OP_COUNT, "a row for every operator");

/* Half of the second-level cache: the rest is for what streams by. */
static int64_t cache_bytes(void)
{
	long size = -1;

#ifdef _SC_LEVEL2_CACHE_SIZE
	size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
	if (size < (long)DEFAULT_CACHE)
		size = DEFAULT_CACHE;
	return size / 2;
}

struct cpu_context *cpu_context_create(unsigned int threads)
{
	struct cpu_context *cpu = wnn_calloc(1, sizeof(*cpu));
	long online;

	if (!cpu)
		return NULL;
	if (!threads) {
		online = sysconf(_SC_NPROCESSORS_ONLN);
		threads = online > 0 ? (unsigned int)online : 1;
	}
	cpu->threads = threads;
	cpu->simd = cpu_simd_best();
	cpu->cache = cache_bytes();
	cpu->workers = cpu_threads_create(threads);
	if (!cpu->workers) {
		wnn_free(cpu);
		return NULL;
	}
	return cpu;
}

void cpu_context_destroy(struct cpu_context *cpu)
{
	if (!cpu)
		return;
	cpu_threads_destroy(cpu->workers);
	wnn_free(cpu->scratch);
	wnn_free(cpu);
}

void *cpu_scratch(struct cpu_context *cpu, size_t size)
{
	if (size <= cpu->scratch_size)
		return cpu->scratch;
	wnn_free(cpu->scratch);
	cpu->scratch_size = 0;
	size = (size + 63) & ~(size_t)63;
	cpu->scratch = wnn_aligned_alloc(64, size);
	if (cpu->scratch)
		cpu->scratch_size = size;
	return cpu->scratch;
}

struct ranges {
	cpu_range_fn work;
	void *argument;
	int64_t n, part;
};

static void run_range(void *argument, int64_t item, unsigned int worker)
{
	const struct ranges *r = argument;
	int64_t begin = item * r->part, end = begin + r->part;

	(void)worker;
	r->work(r->argument, begin, end < r->n ? end : r->n);
}

void cpu_parallel_ranges(struct cpu_context *cpu, int64_t n, int64_t grain, cpu_range_fn work,
			 void *argument)
{
	int64_t grains = (n + grain - 1) / grain, parts = 4 * (int64_t)cpu->threads;
	struct ranges r = { work, argument, n, 0 };

	if (cpu->threads == 1 || grains <= 1) {
		work(argument, 0, n);
		return;
	}
	r.part = (grains + parts - 1) / parts * grain;
	cpu_threads_run(cpu->workers, (n + r.part - 1) / r.part, run_range, &r);
}

bool cpu_supports(const struct ir_node *node)
{
	return operators[node->op].name != NULL;
}

const struct cpu_fast_family *cpu_fast_family(enum ir_op op)
{
	return operators[op].fast;
}

const struct cpu_fast_kernel *cpu_fast_find(const struct ir_node *node)
{
	return operators[node->op].fast ? operators[node->op].fast->find(node) : NULL;
}

const char *cpu_kernel_name(enum cpu_layer layer, const struct ir_node *node)
{
	const struct cpu_fast_kernel *kernel = layer == CPU_FAST ? cpu_fast_find(node) : NULL;

	return kernel ? kernel->name : operators[node->op].name;
}

static int run_recurrent(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			 void *const *out, struct wnn_error *err)
{
	double *state = cpu_scratch(cpu, cpu_ref_recurrent_state(node) * sizeof(*state));

	if (!state)
		return wnn_error_nomem(err, "the states of a recurrent network");
	cpu_ref_recurrent(node, in, out, state);
	return 0;
}

size_t cpu_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node)
{
	const struct cpu_fast_kernel *kernel = cpu_fast_find(node);

	return kernel && kernel->pack ? kernel->pack_bytes(cpu, node) : 0;
}

void cpu_pack(const struct cpu_context *cpu, const struct ir_node *node, const void *from, void *to)
{
	cpu_fast_find(node)->pack(cpu, node, from, to);
}

int cpu_run_packed(struct cpu_context *cpu, const struct ir_node *node, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err)
{
	int ret;

	cpu->packed = packed;
	ret = cpu_run_node(cpu, CPU_FAST, node, in, out, err);
	cpu->packed = NULL;
	return ret;
}

int cpu_run_node(struct cpu_context *cpu, enum cpu_layer layer, const struct ir_node *node,
		 const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct cpu_fast_kernel *kernel = layer == CPU_FAST ? cpu_fast_find(node) : NULL;

	if (kernel)
		return kernel->run(cpu, node, in, out, err);
	if (!cpu_supports(node))
		return wnn_error_set(err, WNN_NOT_SUPPORTED, "%s has no CPU kernel", node->source);
	if (!operators[node->op].reference)
		return run_recurrent(cpu, node, in, out, err);
	operators[node->op].reference(node, in, out);
	return 0;
}
