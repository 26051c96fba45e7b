// SPDX-License-Identifier: MIT
/*
 * The instruction list. Kernels emit instructions in an order that is right when each runs after
 * the one before; this file adds what the machine needs to run them at the same time: waits between
 * engines and preemption points.
 */
#include "plan/list/cost.h"
#include "plan/list/hazards.h"
#include "plan/list/plan.h"
#include "plan/list/schedule.h"
#include "plan/list/timeline.h"

#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

/*
 * The cycles since the last preemption point from which on another is put before the first
 * instruction of a node, where it costs little. Points at shorter distances would only drain the
 * engines more often.
 */
#define PREEMPT_SPACING (ONPU_PREEMPT_CYCLES / 2)

/* A transfer of more cycles than this is split between both DMA engines. */
#define LONG_TRANSFER 1024

static const struct ir_node *node_at_hand(const struct plan *plan)
{
	return plan->graph->nodes[plan->first + plan->report.node];
}

void plan_fail(struct plan *plan, const char *fmt, ...)
{
	char name[IR_NODE_NAME_SIZE];
	va_list args;

	if (plan->report.failed)
		return;
	va_start(args, fmt);
	vsnprintf(plan->report.why, sizeof(plan->report.why), fmt, args);
	va_end(args);
	if (!plan->report.refused)
		wnn_error_set(plan->report.err, WNN_OPERATION_ERROR, "%s: %s",
			      ir_node_name(node_at_hand(plan), name, sizeof(name)),
			      plan->report.why);
	plan->report.failed = true;
}

void plan_nomem(struct plan *plan)
{
	if (!plan->report.failed)
		wnn_error_nomem(plan->report.err, "compiling for the NPU");
	plan->report.failed = plan->report.nomem = true;
}

void plan_no_tile(struct plan *plan, const char *kernel, uint64_t least)
{
	if (least > plan_sram(plan))
		plan_fail(plan,
			  "the smallest part of the operator needs %llu bytes of SRAM, but the NPU "
			  "has %u for it (kernel %s)",
			  (unsigned long long)least, plan_sram(plan), kernel);
	else
		plan_fail(
			plan,
			"each part of the operator that fits into the %u bytes of SRAM has an "
			"instruction that takes longer than the NPU allows (kernel %s), so the NPU "
			"cannot run it",
			plan_sram(plan), kernel);
}

void plan_too_long(struct plan *plan)
{
	plan_fail(plan,
		  "in %u bytes of SRAM, the operator needs more than the %u instructions that are "
		  "allowed, so the NPU cannot run it",
		  plan_sram(plan), plan_node_insns(plan));
}

int plan_grow(struct plan *plan, void *array, size_t *cap, size_t need, size_t size)
{
	if (!wnn_array_reserve(array, cap, need, size))
		return 0;
	plan_nomem(plan);
	return -1;
}

void plan_constant_section(struct plan *plan, const struct plan_section *section, size_t size)
{
	if (!plan->constants.dry && constants_add(&plan->constants, section, size))
		plan_nomem(plan);
}

uint64_t plan_constant_of(struct plan *plan, struct ir_constant *constant)
{
	uint64_t at = constants_take(&plan->constants, constant->bytes);

	plan_constant_section(plan,
			      &(struct plan_section){
				      .at = at, .bytes = constant->bytes, .source = { constant } },
			      0);
	return at;
}

uint64_t plan_constant(struct plan *plan, const void *data, uint64_t bytes)
{
	struct ir_constant *copy;
	uint64_t at;

	if (plan->constants.dry)
		return constants_take(&plan->constants, bytes);
	copy = ir_constant_copy(data, bytes);
	if (!copy) {
		plan_nomem(plan);
		return 0;
	}
	at = plan_constant_of(plan, copy);
	ir_constant_unref(copy);
	return at;
}

/*
 * Returns the index of a view in plan.list.views; -1: it is NULL or only counted (list.unlisted),
 * or the plan has failed.
 */
static int32_t add_view(struct plan *plan, const struct npu_view *view)
{
	struct npu_view clean;

	if (!view)
		return -1;
	if (plan->list.unlisted) {
		plan->list.views.uses++;
		return -1;
	}
	/* plan_set_add() compares views byte by byte: unused dims and padding must be zero. */
	memset(&clean, 0, sizeof(clean));
	clean.base = view->base;
	clean.binding = view->base == NPU_BASE_VALUE ? view->binding : 0;
	clean.dtype = view->dtype;
	clean.rank = view->rank;
	clean.window = view->window;
	clean.window_bytes = view->window_bytes;
	clean.offset = view->offset;
	memcpy(clean.dim, view->dim, view->rank * sizeof(*view->dim));
	memcpy(clean.stride, view->stride, view->rank * sizeof(*view->stride));
	return plan_set_add(plan, &plan->list.views, &clean, sizeof(clean));
}

static int32_t add_param(struct plan *plan, const struct plan_param *param)
{
	if (!param)
		return -1;
	if (plan->list.unlisted) {
		plan->list.params.uses++;
		return -1;
	}
	return plan_set_add(plan, &plan->list.params, param, sizeof(*param));
}

static struct plan_op *add_op(struct plan *plan)
{
	struct plan_op *op;

	if (plan_grow(plan, &plan->list.ops, &plan->list.cap_ops, plan->list.num_ops + 1,
		      sizeof(*plan->list.ops)))
		return NULL;
	op = &plan->list.ops[plan->list.num_ops++];
	*op = (struct plan_op){ .view = { -1, -1, -1, -1 },
				.param = -1,
				.node = plan->report.node };
	return op;
}

/*
 * Sets access->run to the length of the view's runs of adjacent bytes, and access->pitch to the
 * greatest common divisor of the distances between runs and the steps of a window, when that is
 * larger than a run.
 */
static void find_columns(const struct npu_view *view, const int64_t *steps,
			 struct hazard_access *access)
{
	int64_t run = plan_dtype_bytes(view->dtype), pitch = 0;
	uint32_t inner = 0;

	if (plan_dtype_is_nibble(view->dtype))
		return;
	/* Dims that continue the run, in any order, make it longer. */
	for (uint32_t taken = 0; inner < view->rank; inner++) {
		uint32_t i = 0;

		while (i < view->rank &&
		       (taken >> i & 1 || view->dim[i] == 1 || view->stride[i] != run))
			i++;
		if (i == view->rank) {
			for (i = 0; i < view->rank; i++)
				if (!(taken >> i & 1) && view->dim[i] > 1)
					pitch = wnn_gcd(pitch, view->stride[i]);
			break;
		}
		taken |= 1u << i;
		run *= view->dim[i];
	}
	for (int i = 0; i < 3; i++)
		pitch = wnn_gcd(pitch, steps[i]);
	if (pitch > run) {
		access->pitch = pitch;
		access->run = run;
	}
}

/* Returns the bytes that an operand (0 DST, 1 S0, 2 S1, 3 S2) touches, at all taps of a window. */
static struct hazard_access access_of(const struct npu_view *view, const struct plan_param *param,
				      int operand, bool write)
{
	struct hazard_access access = { .base = view->base,
					.binding = view->binding,
					.write = write };

	int64_t steps[3] = { 0 };

	view_range(view, &access.lo, &access.hi);
	for (int i = 0; param && param->schema == PLAN_TAPS && i < 3; i++) {
		const struct plan_loop *loop = &param->taps[i];
		int64_t step = operand == 0 ? loop->dst_step :
			       operand == 1 ? loop->s0_step :
			       operand == 2 ? loop->s1_step :
					      0;
		int64_t span = step * ((int64_t)loop->count - 1);

		steps[i] = loop->count > 1 ? step : 0;
		if (span < 0)
			access.lo += span;
		else
			access.hi += span;
	}
	find_columns(view, steps, &access);
	return access;
}

/* Returns the cycle at which the last of the needed instructions ends by the cost model. */
static uint64_t ready_time(const struct plan *plan, const uint32_t need[ONPU_ENG_COUNT])
{
	uint64_t ready = 0;

	for (int e = 0; e < ONPU_ENG_COUNT; e++)
		if (need[e]) {
			const struct plan_op *op = &plan->list.ops[need[e] - 1];

			if (op->start + op->cost > ready)
				ready = op->start + op->cost;
		}
	return ready;
}

/* Returns false, and fails the plan, when an operand leaves the window of its view or the SRAM. */
static bool check_access(struct plan *plan, const struct npu_view *view,
			 const struct hazard_access *access)
{
	if (access->lo >= (int64_t)view->window &&
	    access->hi <= (int64_t)(view->window + view->window_bytes) &&
	    (view->base != NPU_BASE_NONE || access->hi <= (int64_t)plan->caps->sram_bytes))
		return true;
	plan_fail(plan, "internal error, please report it: an operand leaves its window");
	return false;
}

/*
 * Adds the bytes that an instruction loads and stores to bytes_ld and bytes_st of the node, as the
 * device counts them.
 */
static void count_bytes(struct plan *plan, const struct plan_insn *insn)
{
	struct npu_node_info *info = &plan->report.nodes[plan->report.node];
	/* A scatter writes as many bytes as its updates have. */
	bool scatter = insn->op == ONPU_OP_DMA_SCATTER_ELEM || insn->op == ONPU_OP_DMA_SCATTER_ND;
	bool constant = insn->op == ONPU_OP_DMA_PAD && insn->param->pad.mode == IR_PAD_CONSTANT;
	uint64_t moved = view_bytes(scatter ? insn->s0 : insn->dst);

	if (insn->s0 && insn->s0->base != NPU_BASE_NONE)
		info->bytes_ld += constant ? view_bytes(insn->s0) : moved;
	if (insn->s1 && insn->s1->base != NPU_BASE_NONE)
		info->bytes_ld += view_bytes(insn->s1);
	if (insn->dst->base != NPU_BASE_NONE)
		info->bytes_st += moved;
}

/* Returns true if no instruction of the program writes this memory: reads of it need no waits. */
static bool never_written(const struct plan *plan, const struct npu_view *view)
{
	return view->base == NPU_BASE_CONST ||
	       (view->base == NPU_BASE_VALUE && plan->list.bindings &&
		!plan->list.bindings[view->binding].written);
}

/*
 * Lists the bytes that an instruction reads and writes, and returns the number of accesses. When
 * `checked` is not NULL and an operand leaves its window, fails that plan and returns 0.
 */
static uint32_t list_accesses(const struct plan *plan, const struct npu_view *const views[4],
			      const struct plan_param *param, uint16_t op, bool acc,
			      struct hazard_access *access, struct plan *checked)
{
	uint32_t count = 0;

	for (int i = 0; i < 4; i++) {
		if (!views[i] || (i && !checked && never_written(plan, views[i])))
			continue;
		access[count] = access_of(views[i], param, i, i == 0);
		if (checked && !check_access(checked, views[i], &access[count]))
			return 0;
		if (i && never_written(plan, views[i]))
			continue;
		count++;
		/* The carry of a scan and an accumulator are read and written: two accesses. */
		if ((i == 2 && op == ONPU_OP_SCAN_SUM) || (i == 0 && acc)) {
			access[count] = access[count - 1];
			access[count].write = i == 2;
			count++;
		}
	}
	return count;
}

/*
 * Lists the bytes that an instruction touches, and returns the number of accesses; 0: the plan has
 * failed.
 */
static uint32_t collect_accesses(struct plan *plan, const struct plan_insn *insn,
				 struct hazard_access *access)
{
	const struct npu_view *const views[4] = { insn->dst, insn->s0, insn->s1, insn->s2 };

	return list_accesses(plan, views, insn->param, insn->op, insn->acc, access, plan);
}

uint32_t plan_accesses(const struct plan *plan, const struct plan_op *op,
		       struct hazard_access access[PLAN_MAX_ACCESSES])
{
	const struct npu_view *views[4];

	for (int i = 0; i < 4; i++)
		views[i] = op->view[i] < 0 ? NULL : plan_view(plan, op->view[i]);
	return list_accesses(plan, views, plan_param_of(plan, op), op->op, op->acc, access, NULL);
}

static struct plan_op *add_insn(struct plan *plan, const struct plan_insn *insn, uint64_t cost,
				uint64_t ready)
{
	uint8_t engine = onpu_op_info[insn->op].engine;
	struct plan_op *op = add_op(plan);
	bool on_st = false;

	if (!op)
		return NULL;
	if (engine == ONPU_ENG_DMA) {
		on_st = timeline_prefers_st(plan, insn->on_st, ready);
		engine = on_st ? ONPU_ENG_ST : ONPU_ENG_LD;
	}
	*op = (struct plan_op){
		.op = insn->op,
		.engine = engine,
		.axes = insn->axes,
		.axis = insn->axis,
		.piece = insn->piece,
		.on_st = on_st,
		.acc = insn->acc,
		.part = insn->part,
		.lanes = insn->lanes,
		.last = insn->last,
		.excl = insn->excl,
		.rev = insn->rev,
		.neg = insn->neg,
		.clamp = insn->clamp,
		.node = plan->report.node,
		.cost = cost,
		.view = { add_view(plan, insn->dst), add_view(plan, insn->s0),
			  add_view(plan, insn->s1), add_view(plan, insn->s2) },
		.param = add_param(plan, insn->param),
	};
	return plan->report.failed ? NULL : op;
}

/*
 * Adds the waits to an instruction, and the signals to the earlier instructions that it waits for;
 * a dry plan needs neither, as it never runs. Returns 0, or -1 when out of memory.
 */
static int add_waits(struct plan *plan, struct plan_op *op, const uint32_t need[ONPU_ENG_COUNT])
{
	size_t after[ONPU_ENG_COUNT];

	if (plan->constants.dry)
		return 0;
	if (hazards_wait(plan->list.hazards, op->engine, plan->list.num_ops - 1, need, &op->waits,
			 after))
		return -1;
	for (int e = 0; e < ONPU_ENG_COUNT; e++)
		if (op->waits & 1u << e)
			plan->list.ops[after[e]].signals |= 1u << op->engine;
	return 0;
}

void plan_emit(struct plan *plan, const struct plan_insn *insn)
{
	uint64_t cost = plan_cost_insn(plan->caps, insn);
	struct hazard_access access[PLAN_MAX_ACCESSES];
	uint32_t count, number, need[ONPU_ENG_COUNT];
	struct plan_op *op;
	uint64_t ready;

	if (plan->report.failed)
		return;
	if (cost > ONPU_MAX_COST) {
		plan_fail(plan, "internal error, please report it: %s takes %llu cycles",
			  onpu_op_info[insn->op].name, (unsigned long long)cost);
		return;
	}
	if (plan->list.num_ops - plan->list.node_begin >= plan_node_insns(plan)) {
		plan_too_long(plan);
		return;
	}
	if (plan->list.since_preempt + cost + PLAN_SEMAPHORES_OF_PAUSE > ONPU_PREEMPT_CYCLES ||
	    (plan->list.at_boundary && plan->list.since_preempt > PREEMPT_SPACING))
		plan_preempt(plan);
	plan->list.at_boundary = false;
	number = (uint32_t)plan->list.num_ops;
	count = collect_accesses(plan, insn, access);
	if (!count)
		return;
	if (depend_add(plan->list.depend, access, count, number)) {
		plan_nomem(plan);
		return;
	}
	hazards_find(plan->list.hazards, plan->list.ops, plan->list.depend, number, need);
	ready = ready_time(plan, need);
	op = add_insn(plan, insn, cost, ready);
	if (!op)
		return;
	timeline_add(plan, op, ready);
	plan->list.since_preempt += cost + PLAN_SEMAPHORES_OF_ONE;
	count_bytes(plan, insn);
	if (add_waits(plan, op, need))
		plan_nomem(plan);
}

uint64_t plan_take_sram(struct plan *plan, uint64_t bytes)
{
	uint64_t base = plan->sram.next;

	if (base < plan->sram.base || bytes > plan->caps->sram_bytes - base)
		base = plan->sram.base;
	plan->sram.next = base + bytes;
	return base;
}

void plan_birth(struct plan *plan, int64_t lo, int64_t hi)
{
	if (plan_grow(plan, &plan->list.births, &plan->list.cap_births, plan->list.num_births + 1,
		      sizeof(*plan->list.births)))
		return;
	plan->list.births[plan->list.num_births++] =
		(struct plan_birth){ .op = plan->list.num_ops, .lo = lo, .hi = hi };
}

/*
 * Returns the number of instructions of a transfer: both DMA engines share a long one, so that
 * instructions that wait for it begin earlier.
 */
static int64_t insns_of_copy(const struct plan *plan, const struct npu_view *dst,
			     const struct npu_view *src)
{
	uint64_t cost;

	if (!dst->rank || plan_dtype_is_nibble(dst->dtype))
		return 1;
	cost = plan_cost_dma(plan->caps, dst, src);
	if (cost <= LONG_TRANSFER)
		return 1;
	return cost <= ONPU_MAX_COST ? 2 : (int64_t)wnn_div_up(cost, ONPU_MAX_COST / 2);
}

void plan_transfer(struct plan *plan, struct npu_view dst, struct npu_view src, bool on_st)
{
	const struct plan_insn insn = {
		.op = ONPU_OP_DMA_COPY, .on_st = on_st, .dst = &dst, .s0 = &src
	};
	struct npu_view *both[2] = { &dst, &src };
	int64_t parts, part, unit, whole;

	views_simplify(both, 2);
	parts = insns_of_copy(plan, &dst, &src);
	if (parts == 1) {
		plan_emit(plan, &insn);
		return;
	}
	whole = dst.dim[0];
	unit = dst.rank > 1 ? 1 : PLAN_ALIGN / plan_dtype_bytes(dst.dtype);
	part = (int64_t)wnn_div_up((uint64_t)whole, (uint64_t)(parts * unit)) * unit;
	for (int64_t at = 0; at < whole; at += part) {
		dst.dim[0] = src.dim[0] = whole - at < part ? whole - at : part;
		plan_emit(plan, &insn);
		dst.offset += part * dst.stride[0];
		src.offset += part * src.stride[0];
	}
}

void plan_preempt(struct plan *plan)
{
	struct plan_op *op;

	if (plan->report.failed ||
	    (plan->list.num_ops && plan->list.ops[plan->list.num_ops - 1].op == ONPU_OP_PREEMPT))
		return;
	op = add_op(plan);
	if (!op)
		return;
	op->op = ONPU_OP_PREEMPT;
	op->engine = ONPU_ENG_CP;
	op->cost = 1;
	plan->list.since_preempt = 0;
	timeline_drain(plan, op);
	hazards_pause(plan->list.hazards, plan->list.num_ops - 1);
	if (schedule_fills_window(plan, plan->list.num_ops - 1)) {
		plan->list.window = plan->list.num_ops;
		depend_forget(plan->list.depend);
	}
}

/*
 * Marks a range of SRAM as live or dead, one bit for each line of 64 bytes. plan_finish() goes
 * through the instructions backwards: bytes are live when a later instruction reads them before one
 * writes them. A preemption point saves the bytes from 0 to the end of the last live line.
 */
static void mark_lines(uint64_t *lines, int64_t lo, int64_t hi, bool alive)
{
	/* A line of 64 bytes is live when any of its bytes is, and dead only when all are written. */
	uint64_t first = alive ? (uint64_t)lo / PLAN_ALIGN : wnn_div_up(lo, PLAN_ALIGN);
	uint64_t last = alive ? wnn_div_up(hi, PLAN_ALIGN) : (uint64_t)hi / PLAN_ALIGN;

	for (uint64_t word = first / 64; first < last && word <= (last - 1) / 64; word++) {
		uint64_t bits = UINT64_MAX;

		if (word == first / 64)
			bits <<= first % 64;
		if (word == (last - 1) / 64)
			bits &= UINT64_MAX >> (63 - (last - 1) % 64);
		lines[word] = alive ? lines[word] | bits : lines[word] & ~bits;
	}
}

/* Returns the bytes from 0 to the end of the last live line. */
static uint64_t bytes_alive(const uint64_t *lines, size_t words)
{
	while (words && !lines[words - 1])
		words--;
	return words ? (words * 64 - (uint64_t)__builtin_clzll(lines[words - 1])) * PLAN_ALIGN : 0;
}

/* Returns true if an instruction overwrites every byte between the first and last of its result. */
static bool fills_range(const struct plan_op *op, const struct npu_view *view)
{
	int64_t lo, hi, elements = view_elements(view);

	view_range(view, &lo, &hi);
	if (plan_dtype_is_nibble(view->dtype))
		return (hi - lo) * 2 == elements;
	return !op->acc && hi - lo == elements * plan_dtype_bytes(view->dtype);
}

uint32_t plan_touches(const struct plan *plan, const struct plan_op *op, struct plan_touch touch[4])
{
	const struct plan_param *param = plan_param_of(plan, op);
	const struct npu_view *dst = plan_view(plan, op->view[0]);
	uint32_t count = 0;

	if (dst->base == NPU_BASE_NONE && (op->acc || fills_range(op, dst))) {
		struct hazard_access access = access_of(dst, param, 0, true);

		touch[count++] = (struct plan_touch){ access.lo, access.hi, op->acc };
	}
	for (int i = 1; i < 4; i++) {
		struct hazard_access access;

		if (op->view[i] < 0 || plan_view(plan, op->view[i])->base != NPU_BASE_NONE)
			continue;
		access = access_of(plan_view(plan, op->view[i]), param, i, false);
		touch[count++] = (struct plan_touch){ access.lo, access.hi, true };
	}
	return count;
}

void plan_finish(struct plan *plan)
{
	size_t words = plan->caps->sram_bytes / PLAN_ALIGN / 64 + 1;
	uint64_t *lines = wnn_calloc(words, sizeof(*lines));

	if (!lines) {
		plan_nomem(plan);
		return;
	}
	for (size_t i = plan->list.num_ops, birth = plan->list.num_births; i-- > 0;) {
		struct plan_op *op = &plan->list.ops[i];

		for (; birth && plan->list.births[birth - 1].op > i; birth--)
			mark_lines(lines, plan->list.births[birth - 1].lo,
				   plan->list.births[birth - 1].hi, false);
		if (op->op != ONPU_OP_PREEMPT) {
			struct plan_touch touch[4];
			uint32_t touches = plan_touches(plan, op, touch);

			for (uint32_t k = 0; k < touches; k++)
				mark_lines(lines, touch[k].lo, touch[k].hi, touch[k].read);
			continue;
		}
		op->live = bytes_alive(lines, words);
	}
	wnn_free(lines);
}

void plan_kernel(struct plan *plan, const char *name)
{
	plan->report.nodes[plan->report.node].kernel = name;
}

void plan_tiles(struct plan *plan, uint64_t tiles)
{
	plan->report.nodes[plan->report.node].num_tiles += tiles;
}

void plan_macs(struct plan *plan, uint64_t macs)
{
	plan->report.nodes[plan->report.node].macs += macs;
}

void plan_inexact(struct plan *plan, enum npu_exactness why)
{
	plan->report.nodes[plan->report.node].exactness = why;
}
