// SPDX-License-Identifier: MIT
/*
 * Chooses the kernel of a node, by operator, layer and shape, and runs it. run/ calls this for each
 * CPU node.
 */
#include "cpu/cpu.h"

#include <stdio.h>
#include <unistd.h>

#include "cpu/kernel/elementwise.h"
#include "cpu/fast.h"
#include "cpu/kernel/integer_dots.h"
#include "cpu/ref/reference.h"
#include "cpu/kernel/tile_matmul.h"
#include "util/malloc.h"
#include "util/number.h"

#define DEFAULT_CACHE (256 << 10)
#define PART_WORK     (2 << 20)
/*
 * The least multiplications per element from which on channels-last layout makes a graph faster:
 * convolutions take at least a tenth less time in it, on oneDNN or on our own tiles, and moving an
 * element takes the time of some 40 multiplications.
 */
#define CHANNELS_LAST_WORK 400

static const struct {
	const char *name;		    /* name of the reference kernel */
	cpu_reference_fn reference;	    /* NULL: cpu_ref_recurrent() */
	const struct cpu_fast_family *fast; /* NULL: none */
} operators[] = {
#define CPU_OPERATOR(op, name, function, family) [IR_OP_##op] = { name, function, family },
#define CPU_RECURRENT(op, name, family)		 [IR_OP_##op] = { name, NULL, family },
#include "cpu/operators.def"
#undef CPU_OPERATOR
#undef CPU_RECURRENT
};
_Static_assert(ARRAY_SIZE(operators) == IR_OP_COUNT, "a row for every operator");

/*
 * Returns half of the size of the second-level cache: the other half is for data that is read or
 * written once.
 */
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
	cpu->layer = CPU_ONEDNN;
	cpu->threads = threads;
	cpu->simd = cpu_simd_best();
	cpu->cache = cache_bytes();
	cpu->part_work = PART_WORK;
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

void cpu_set_spin(struct cpu_context *cpu, uint32_t microseconds)
{
	cpu_threads_set_patience(cpu->workers, microseconds * (uint64_t)1000);
}

void cpu_begin(struct cpu_context *cpu)
{
	cpu_threads_expect(cpu->workers, true);
}

void cpu_end(struct cpu_context *cpu)
{
	cpu_threads_expect(cpu->workers, false);
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

int cpu_set_layer(struct cpu_context *cpu, enum cpu_layer layer, struct wnn_error *err)
{
	if (layer == CPU_ONEDNN && !cpu_onednn_form())
		return wnn_error_set(err, WNN_NOT_SUPPORTED, "%s",
				     cpu_onednn_complaint() ? cpu_onednn_complaint() :
							      cpu_onednn_absent);
	cpu->layer = layer;
	return 0;
}

const char *cpu_complaint(const struct cpu_context *cpu)
{
	return cpu->layer == CPU_ONEDNN ? cpu_onednn_complaint() : NULL;
}

void cpu_set_level(struct cpu_context *cpu, const struct cpu_simd *level)
{
	cpu->simd = level;
}

uint32_t cpu_channels_last_work(const struct cpu_context *cpu, const struct ir_graph *graph)
{
	bool onednn = cpu->layer == CPU_ONEDNN && cpu_onednn_form();

	return onednn || cpu_conv_gains(cpu, graph) ? CHANNELS_LAST_WORK : 0;
}

const char *cpu_pack_form(struct cpu_context *cpu)
{
	const char *form = cpu->layer == CPU_ONEDNN ? cpu_onednn_form() : NULL;

	if (!form && cpu_conv_prepares(cpu))
		form = "tiles";
	if (!form)
		return cpu->simd->name;
	snprintf(cpu->form, sizeof(cpu->form), "%s+%s", cpu->simd->name, form);
	return cpu->form;
}

struct cpu_prepared *cpu_prepare(struct cpu_context *cpu, const struct ir_node *node)
{
	struct cpu_prepared *prepared = cpu_integer_dots_prepare(cpu->simd, node);

	if (!prepared)
		prepared = cpu_tile_matmul_prepare(cpu, node);
	if (prepared)
		return prepared;
	/*
	 * cpu_onednn_form() loads oneDNN. For other operators cpu_onednn_prepare() loads it if it
	 * may take the node.
	 */
	if (cpu->layer == CPU_ONEDNN && (node->op != IR_OP_CONV || cpu_onednn_form()))
		return cpu_onednn_prepare(cpu, node);
	return cpu_conv_prepare(cpu, node);
}

void cpu_prepared_destroy(struct cpu_prepared *prepared)
{
	if (prepared)
		prepared->destroy(prepared);
}

const char *cpu_prepared_name(const struct cpu_prepared *prepared)
{
	return prepared->name;
}

bool cpu_prepared_fuse(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		       const struct ir_node *next)
{
	return prepared->fuse && prepared->fuse(prepared, cpu, next);
}

struct cpu_prepared *cpu_prepare_arrangeable(struct cpu_context *cpu, const struct ir_node *node)
{
	if (node->op == IR_OP_MATMUL)
		return cpu_tile_matmul_arrangeable(cpu, node);
	return cpu_elementwise_arrangeable(node);
}

bool cpu_prepared_arrange(struct cpu_prepared *prepared, const struct ir_node *node, int operand,
			  const int64_t *strides)
{
	return prepared->arrange && prepared->arrange(prepared, node, operand, strides);
}

size_t cpu_prepared_pack_bytes(const struct cpu_prepared *prepared)
{
	return prepared->packed_bytes;
}

int cpu_prepared_pack(const struct cpu_prepared *prepared, const void *from, void *to,
		      struct wnn_error *err)
{
	return prepared->pack(prepared, from, to, err);
}

int cpu_prepared_run(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
		     const void *const *in, void *const *out, struct wnn_error *err)
{
	return prepared->run(prepared, cpu, packed, in, out, err);
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

int cpu_require(const struct cpu_context *cpu, const struct ir_node *node, struct wnn_error *err)
{
	bool products = node->op == IR_OP_MATMUL || node->op == IR_OP_QMATMUL;
	bool needed = node->op == IR_OP_GRU || node->op == IR_OP_LSTM ||
		      (products && cpu_matmul_needs_blas(node));

	return needed && cpu_fast_find(node) ? cpu_blas_load(cpu, err) : 0;
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
