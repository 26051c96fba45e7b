// SPDX-License-Identifier: MIT
/* The context of the CPU back end, and the functions on plans, whose kernels choose.c chooses. */
#include "cpu/cpu.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"
#include "cpu/tuning.h"
#include "util/malloc.h"
#include "util/thread.h"

#define DEFAULT_CACHE (256 << 10)
#define PART_WORK     (2 << 20)
/*
 * The least multiplications per moved element from which on channels-last layout makes a graph
 * faster: convolutions take at least a tenth less time in it, on oneDNN or on our own tiles, and
 * moving an element takes the time of some 40 multiplications.
 */
#define CHANNELS_LAST_WORK 400

/*
 * Returns half of the size of the second-level cache, or of DEFAULT_CACHE if that is larger: the
 * other half is for data that is read or written once.
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

	if (!cpu)
		return NULL;
	if (!threads)
		threads = wnn_thread_processors();
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
	size_t count;

	cpu_kernels(node->op, &count);
	return count > 0;
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
	const char *level = cpu->simd->name;

	/* Processors with VNNI have other kernels of integers at this level than those without. */
	if (cpu->simd->pairs && !strcmp(level, "avx512"))
		level = "avx512-without-vnni";
	if (!form && cpu_tuning(cpu)->tiles)
		form = "tiles";
	if (!form)
		return level;
	snprintf(cpu->form, sizeof(cpu->form), "%s+%s", level, form);
	return cpu->form;
}

/* ---- plans */

struct cpu_ask cpu_ask_for(const struct cpu_context *cpu, const struct ir_node *node,
			   unsigned int use)
{
	bool constant = node->num_operands > 1 && node->operands[1] &&
			node->operands[1]->kind == IR_VALUE_CONSTANT;

	return (struct cpu_ask){ .cpu = cpu,
				 .node = node,
				 .packs = use & CPU_PACKS && constant,
				 .keeps = use & CPU_KEEPS };
}

struct cpu_plan *cpu_plan_create(struct cpu_context *cpu, const struct ir_node *node,
				 unsigned int use, struct wnn_error *err)
{
	struct cpu_ask ask = cpu_ask_for(cpu, node, use);

	ask.err = err;
	return cpu_choose(&ask);
}

struct cpu_plan *cpu_plan_named(struct cpu_context *cpu, const struct ir_node *node,
				const char *name, uint32_t version, struct wnn_error *err)
{
	struct cpu_ask ask = cpu_ask_for(cpu, node, CPU_PACKS | CPU_KEEPS);
	struct cpu_plan *plan;

	ask.err = err;
	plan = cpu_choose_named(&ask, name);
	if (plan && plan->kernel->version == version)
		return plan;
	cpu_plan_destroy(plan);
	return NULL;
}

struct cpu_plan *cpu_plan_arrangeable(struct cpu_context *cpu, const struct ir_node *node)
{
	const struct cpu_ask ask = cpu_ask_for(cpu, node, CPU_PACKS | CPU_KEEPS);
	struct cpu_plan *plan;

	if (node->op == IR_OP_MATMUL)
		return cpu_tile_matmul_gains(&ask) ? cpu_choose_named(&ask, "cpu/matmul-tiles") :
						     NULL;
	plan = cpu_may_arrange(&ask) ? cpu_choose(&ask) : NULL;
	if (plan && plan->arrange)
		return plan;
	cpu_plan_destroy(plan);
	return NULL;
}

void cpu_plan_destroy(struct cpu_plan *plan)
{
	if (plan && plan->destroy)
		plan->destroy(plan);
	else
		wnn_free(plan);
}

const char *cpu_plan_name(const struct cpu_plan *plan)
{
	return plan->kernel->name;
}

uint32_t cpu_plan_version(const struct cpu_plan *plan)
{
	return plan->kernel->version;
}

bool cpu_plan_fuse(struct cpu_plan *plan, const struct cpu_context *cpu, const struct ir_node *next)
{
	return plan->fuse && plan->fuse(plan, cpu, next);
}

bool cpu_plan_arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		      const int64_t *strides)
{
	return plan->arrange && plan->arrange(plan, node, operand, strides);
}

size_t cpu_plan_pack_bytes(const struct cpu_plan *plan)
{
	return plan->packed_bytes;
}

int cpu_plan_pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	return plan->pack(plan, from, to, err);
}

int cpu_plan_run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		 const void *const *in, void *const *out, struct wnn_error *err)
{
	return plan->run(plan, cpu, packed, in, out, err);
}

int cpu_run_node(struct cpu_context *cpu, enum cpu_layer layer, const struct ir_node *node,
		 const void *const *in, void *const *out, struct wnn_error *err)
{
	struct cpu_ask ask = cpu_ask_for(cpu, node, 0);
	struct cpu_plan *plan;
	int ret = -1;

	ask.err = err;
	plan = layer == CPU_REFERENCE ? cpu_choose_reference(&ask) : cpu_choose(&ask);
	if (plan)
		ret = cpu_plan_run(plan, cpu, NULL, in, out, err);
	cpu_plan_destroy(plan);
	return ret;
}
