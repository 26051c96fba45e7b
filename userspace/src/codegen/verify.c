// SPDX-License-Identifier: MIT
/*
 * Verifies a compiled program by decoding its words and slots, so that a defect of the planner
 * shows here and not as a fault of the device. It shares no code with the encoder.
 */
#include "codegen/program.h"
#include "plan/list/cost.h"
#include "plan/list/plan.h"

#include <onpu/slots.h>

#include <inttypes.h>
#include <string.h>

#include "util/malloc.h"

#define MAX_SPAN     (INT64_C(1) << 42) /* the most bytes or nibbles that an operand spans */
#define MAX_ELEMENTS (INT64_C(1) << 34) /* far more than an instruction can process in time */

struct verifier {
	const struct npu_program *program; /* the program, with the instructions of one job */
	uint32_t first_insn, first_slot;   /* begin of the job in the whole program */
	const struct npu_caps *caps;
	uint32_t *insn; /* receives the number of the wrong instruction in the whole program */
	struct wnn_error *err;
	const union onpu_slot *slots;
	uint8_t *patched;      /* by slot: 1 + enum npu_base of its patch; 0: it has none */
	uint32_t *patch_value; /* by slot: npu_patch.value */
};

/* An instruction as the device sees it. */
struct decoded {
	struct onpu_insn insn;
	enum onpu_engine engine;
	bool present[4];
	struct npu_view view[4]; /* DST, S0, S1, S2 */
	bool has_param;
	struct plan_param param;
	uint64_t cost;
};

static int bad(const struct verifier *v, uint32_t pc, const char *what)
{
	struct onpu_insn insn;
	bool known = onpu_insn_unpack(v->program->insns[pc], &insn) == ONPU_FAULT_NONE;

	*v->insn = v->first_insn + pc;
	return wnn_error_set(v->err, WNN_OPERATION_ERROR,
			     "internal error, please report it: instruction %" PRIu32 " (%s): %s",
			     v->first_insn + pc, known ? onpu_op_info[insn.op].name : "?", what);
}

/* ---- patches */

static uint64_t region_bytes(const struct verifier *v, enum npu_base base, uint32_t value)
{
	switch (base) {
	case NPU_BASE_CONST:
		return v->program->constant_bytes;
	case NPU_BASE_ARENA:
		return v->program->arena_bytes;
	case NPU_BASE_VALUE:
		return value < v->program->num_bindings ? v->program->bindings[value].bytes : 0;
	default:
		return v->caps->sram_bytes;
	}
}

static int check_patches(struct verifier *v)
{
	for (uint32_t i = 0; i < v->program->num_patches; i++) {
		const struct npu_patch *patch = &v->program->patches[i];
		uint32_t slot = patch->slot - v->first_slot;

		if (patch->slot < v->first_slot || slot >= v->program->num_slots)
			continue; /* the patch belongs to another job */
		if (!slot || v->patched[slot])
			return wnn_error_set(v->err, WNN_OPERATION_ERROR,
					     "internal error, please report it: patch %" PRIu32
					     " names slot %" PRIu32,
					     i, patch->slot);
		v->patched[slot] = 1 + patch->base;
		v->patch_value[slot] = patch->value;
	}
	for (uint32_t i = 1; i < v->program->num_slots; i++) {
		bool va = v->slots[i].tensor.kind == ONPU_SLOT_TENSOR &&
			  v->slots[i].tensor.space == ONPU_SPACE_VA;

		if (va != (v->patched[i] != 0))
			return wnn_error_set(v->err, WNN_OPERATION_ERROR,
					     "internal error, please report it: slot %" PRIu32
					     " and its patch disagree",
					     i);
	}
	return 0;
}

/* ---- operands */

/* Returns true if the numbers of a view are so small that computing with them cannot overflow. */
static bool is_countable(const struct npu_view *view)
{
	int64_t elements = 1;

	if (view->offset < -MAX_SPAN || view->offset > MAX_SPAN)
		return false;
	for (uint32_t i = 0; i < view->rank; i++) {
		int64_t most = MAX_SPAN / view->dim[i];

		if (view->stride[i] < -most || view->stride[i] > most ||
		    view->dim[i] > MAX_ELEMENTS / elements)
			return false;
		elements *= view->dim[i];
	}
	return true;
}

static int read_tensor(const struct verifier *v, uint32_t pc, uint32_t index, struct npu_view *view)
{
	const struct onpu_slot_tensor *slot = &v->slots[index].tensor;
	uint64_t limit;

	if (index >= v->program->num_slots || slot->kind != ONPU_SLOT_TENSOR ||
	    slot->rank > ONPU_MAX_RANK)
		return bad(v, pc, "an operand is no tensor slot");
	*view = (struct npu_view){
		.base = slot->space == ONPU_SPACE_SRAM ? NPU_BASE_NONE : v->patched[index] - 1,
		.binding = v->patch_value[index],
		.dtype = slot->dtype,
		.rank = slot->rank,
		.window = slot->base,
		.window_bytes = slot->size,
		.offset = slot->offset,
	};
	for (uint32_t i = 0; i < view->rank; i++) {
		view->dim[i] = slot->dim[i];
		view->stride[i] = slot->stride[i];
		if (!slot->dim[i])
			return bad(v, pc, "a dimension is zero");
	}
	if (!is_countable(view))
		return bad(v, pc, "an operand is bigger than any memory");
	limit = region_bytes(v, view->base, view->binding);
	if (slot->size > limit || slot->base > limit - slot->size)
		return bad(v, pc, "a window leaves its memory");
	return 0;
}

static int read_param(const struct verifier *v, uint32_t pc, const struct onpu_insn *insn,
		      struct decoded *d)
{
	const union onpu_slot *slot = &v->slots[insn->param];

	if (insn->param >= v->program->num_slots || slot->param.kind != ONPU_SLOT_PARAM ||
	    slot->param.schema != onpu_op_info[insn->op].schema)
		return bad(v, pc, "the parameter slot has another form");
	d->has_param = true;
	d->param = plan_param_make(PLAN_SCALAR);
	if (slot->param.schema == ONPU_SCHEMA_INDEX) {
		d->param.schema = PLAN_INDEX;
		d->param.index.axis = slot->index.axis;
		d->param.index.batch_dims = slot->index.batch_dims;
	}
	if (slot->param.schema != ONPU_SCHEMA_TAPS)
		return 0;
	d->param.schema = PLAN_TAPS;
	for (int i = 0; i < ONPU_TAPS_LOOPS; i++)
		d->param.taps[i] = (struct plan_loop){
			slot->taps.loop[i].count,
			slot->taps.loop[i].s0_step,
			slot->taps.loop[i].s1_step,
			slot->taps.loop[i].dst_step,
		};
	for (int i = 0; i < ONPU_TAPS_LOOPS; i++) {
		const struct plan_loop *loop = &d->param.taps[i];
		const int64_t step[] = { loop->s0_step, loop->s1_step, loop->dst_step };

		for (int k = 0; k < 3; k++)
			if (loop->count < 1 || step[k] > MAX_SPAN / loop->count ||
			    step[k] < -MAX_SPAN / loop->count)
				return bad(v, pc, "its taps reach beyond any memory");
	}
	return 0;
}

/* Sets [*lo, *hi) to the bytes that an operand touches, at all taps of a window. */
static void touched_range(const struct decoded *d, int operand, int64_t *lo, int64_t *hi)
{
	view_range(&d->view[operand], lo, hi);
	for (int i = 0; d->has_param && d->param.schema == PLAN_TAPS && i < 3 && operand < 3; i++) {
		const struct plan_loop *loop = &d->param.taps[i];
		const int64_t step[3] = { loop->dst_step, loop->s0_step, loop->s1_step };
		int64_t span = step[operand] * ((int64_t)loop->count - 1);

		*(span < 0 ? lo : hi) += span;
	}
}

static int check_range(const struct verifier *v, uint32_t pc, const struct decoded *d, int operand)
{
	const struct npu_view *view = &d->view[operand];
	int64_t lo, hi;

	touched_range(d, operand, &lo, &hi);
	if (lo < (int64_t)view->window || hi > (int64_t)(view->window + view->window_bytes))
		return bad(v, pc, "an operand leaves its window");
	if (view->base != NPU_BASE_NONE && d->engine != ONPU_ENG_LD && d->engine != ONPU_ENG_ST)
		return bad(v, pc, "a compute operand is outside SRAM");
	for (uint32_t i = 0; !operand && i < view->rank; i++)
		if (view->dim[i] > 1 && !view->stride[i])
			return bad(v, pc, "the destination overlaps itself");
	if (!operand &&
	    (view->base == NPU_BASE_CONST ||
	     (view->base == NPU_BASE_VALUE && !v->program->bindings[view->binding].written)))
		return bad(v, pc, "the destination is read-only");
	return 0;
}

static int check_operands(const struct verifier *v, uint32_t pc, struct decoded *d)
{
	const uint16_t index[4] = { d->insn.dst, d->insn.s0, d->insn.s1, d->insn.s2 };
	const struct onpu_op_info *info = &onpu_op_info[d->insn.op];

	if (info->feature & ~v->caps->features)
		return bad(v, pc, "the machine does not have the instruction");
	for (int i = 0; i < 4; i++) {
		const struct onpu_operand_info *operand = &info->operands[ONPU_OPERAND_DST + i];

		if (!operand->present)
			continue;
		if (!index[i] && !operand->optional)
			return bad(v, pc, "a required operand is missing");
		d->present[i] = index[i] != 0;
		if (d->present[i] && read_tensor(v, pc, index[i], &d->view[i]))
			return -1;
		if (d->present[i] && (!onpu_dtype_bits(d->view[i].dtype) ||
				      !(operand->dtypes >> d->view[i].dtype & 1)))
			return bad(v, pc, "an operand has a type the instruction does not take");
	}
	if (d->insn.param && read_param(v, pc, &d->insn, d))
		return -1;
	for (int i = 0; i < 4; i++)
		if (d->present[i] && check_range(v, pc, d, i))
			return -1;
	return 0;
}

/* Returns true if the ranks of a gather or scatter are valid, so that its cost can be computed. */
static bool gather_ranks_fit(const struct decoded *d)
{
	const struct npu_view *dst = &d->view[0], *s0 = &d->view[1], *index = &d->view[2];
	bool from = d->insn.op == ONPU_OP_DMA_GATHER_ND;
	int64_t slice;

	if (d->insn.op == ONPU_OP_DMA_GATHER_AXIS)
		slice = (int64_t)s0->rank - d->param.index.axis - 1;
	else if (from || d->insn.op == ONPU_OP_DMA_SCATTER_ND)
		slice = (int64_t)(from ? s0 : dst)->rank - d->param.index.batch_dims -
			(index->rank ? index->dim[index->rank - 1] : INT32_MAX);
	else
		return true;
	return d->has_param && slice >= 0 && slice <= s0->rank && slice <= dst->rank;
}

/*
 * Returns true if the ranks of an instruction's operands are valid, so that its cost can be
 * computed.
 */
static bool ranks_fit(const struct decoded *d)
{
	switch (onpu_op_info[d->insn.op].cost) {
	case ONPU_COST_DMA:
		return d->insn.op != ONPU_OP_DMA_COPY || d->view[0].rank == d->view[1].rank;
	case ONPU_COST_GATHER:
		return gather_ranks_fit(d);
	case ONPU_COST_MMA:
		return d->view[0].rank && d->view[1].rank == d->view[0].rank &&
		       d->view[2].rank == d->view[0].rank + 1;
	default:
		return true;
	}
}

static int decode(const struct verifier *v, uint32_t pc, struct decoded *d)
{
	memset(d, 0, sizeof(*d));
	if (onpu_insn_unpack(v->program->insns[pc], &d->insn) != ONPU_FAULT_NONE)
		return bad(v, pc, "the word is no instruction");
	d->engine = onpu_insn_engine(&d->insn);
	if (check_operands(v, pc, d))
		return -1;
	if (!ranks_fit(d))
		return bad(v, pc, "the ranks of its operands do not fit each other");
	d->cost = plan_cost_insn(v->caps, &(struct plan_insn){
						  .op = d->insn.op,
						  .dst = d->present[0] ? &d->view[0] : NULL,
						  .s0 = d->present[1] ? &d->view[1] : NULL,
						  .s1 = d->present[2] ? &d->view[2] : NULL,
						  .s2 = d->present[3] ? &d->view[3] : NULL,
						  .param = d->has_param ? &d->param : NULL,
					  });
	if (d->cost > ONPU_MAX_COST)
		return bad(v, pc, "the instruction takes more than 2^20 cycles");
	return 0;
}

/* ---- semaphores and queues: simulates the order of instructions, without times */

/* The engine and the semaphores of an instruction. */
struct step {
	uint8_t engine;
	int8_t wait, signal; /* number of a semaphore, or -1 */
	uint16_t count;	     /* tokens of the wait or signal */
};

struct queues {
	/* by engine: instructions that are issued but have not begun, a ring of fifo_depth */
	uint32_t *item[ONPU_ENG_COUNT];
	uint32_t head[ONPU_ENG_COUNT], used[ONPU_ENG_COUNT];
	int64_t tokens[ONPU_NUM_SEMAPHORES];
	int signaller[ONPU_NUM_SEMAPHORES], waiter[ONPU_NUM_SEMAPHORES];
};

/*
 * Notes `engine` as the engine on one side of a semaphore. Returns 0, or -1 with an error when
 * another engine is there already.
 */
static int own(const struct verifier *v, uint32_t pc, int *owner, uint8_t engine)
{
	if (*owner >= 0 && *owner != engine)
		return bad(v, pc, "a semaphore has two engines on one side");
	*owner = engine;
	return 0;
}

static int add_step(const struct verifier *v, uint32_t pc, const struct decoded *d,
		    struct queues *q, struct step *step)
{
	const struct onpu_insn *insn = &d->insn;

	*step = (struct step){ .engine = d->engine,
			       .wait = insn->wv ? insn->wsem : -1,
			       .signal = insn->sv ? insn->ssem : -1,
			       .count = 1 };
	if (insn->op == ONPU_OP_SEM_WAIT) {
		step->wait = insn->sem;
		step->count = insn->count;
	} else if (insn->op == ONPU_OP_SEM_SIGNAL) {
		step->signal = insn->sem;
		step->count = insn->count;
	}
	if (step->wait >= 0 && own(v, pc, &q->waiter[step->wait], step->engine))
		return -1;
	return step->signal >= 0 ? own(v, pc, &q->signaller[step->signal], step->engine) : 0;
}

/* Runs the first instruction of an engine's queue; false: there is none, or it has to wait. */
static bool run_head(struct queues *q, const struct step *steps, uint8_t engine, uint32_t depth)
{
	const struct step *step;

	if (!q->used[engine])
		return false;
	step = &steps[q->item[engine][q->head[engine]]];
	if (step->wait >= 0) {
		if (q->tokens[step->wait] < step->count)
			return false;
		q->tokens[step->wait] -= step->count;
	}
	if (step->signal >= 0)
		q->tokens[step->signal] += step->count;
	q->head[engine] = (q->head[engine] + 1) % depth;
	q->used[engine]--;
	return true;
}

static bool run_engines(struct queues *q, const struct step *steps, uint32_t depth)
{
	bool any = false;

	for (uint8_t e = ONPU_ENG_LD; e < ONPU_ENG_COUNT; e++)
		while (run_head(q, steps, e, depth))
			any = true;
	return any;
}

/*
 * Simulates a job that begins with instruction `first`. Returns 0, or -1 when it would block or
 * keep tokens. Engines run only when a queue is full or all instructions are issued. That blocks
 * where any other order would: each semaphore has one engine that signals and one that waits.
 */
static int run_program(const struct verifier *v, const struct step *steps, struct queues *q,
		       uint32_t first)
{
	uint32_t depth = v->caps->fifo_depth;

	for (int s = 0; s < ONPU_NUM_SEMAPHORES; s++)
		q->tokens[s] = v->slots[0].program.sem_init[s];
	for (uint32_t pc = first; pc < v->program->num_insns; pc++) {
		uint8_t e = steps[pc].engine;

		if (e == ONPU_ENG_CP)
			continue;
		while (q->used[e] == depth)
			if (!run_engines(q, steps, depth))
				return bad(v, pc, "the queues fill up and nothing can run");
		q->item[e][(q->head[e] + q->used[e]++) % depth] = pc;
	}
	while (run_engines(q, steps, depth))
		;
	for (uint8_t e = 0; e < ONPU_ENG_COUNT; e++)
		if (q->used[e])
			return bad(v, q->item[e][q->head[e]], "it waits for ever");
	for (int s = 0; s < ONPU_NUM_SEMAPHORES; s++)
		if (q->tokens[s])
			return wnn_error_set(
				v->err, WNN_OPERATION_ERROR,
				"internal error, please report it: semaphore %d keeps %" PRId64
				" tokens at the end",
				s, q->tokens[s]);
	return 0;
}

/* ---- the program */

static int check_insns(const struct verifier *v, struct step *steps, struct queues *q)
{
	uint64_t since_preempt = 0;

	for (uint32_t pc = 0; pc < v->program->num_insns; pc++) {
		struct decoded d;

		if (decode(v, pc, &d) || add_step(v, pc, &d, q, &steps[pc]))
			return -1;
		if ((d.insn.op == ONPU_OP_END) != (pc + 1 == v->program->num_insns))
			return bad(v, pc, "the program ends here or not where it should");
		if (d.insn.op == ONPU_OP_PREEMPT) {
			since_preempt = 0;
			if (d.insn.live > v->caps->sram_bytes)
				return bad(v, pc, "more is live than there is SRAM");
			continue;
		}
		since_preempt += d.cost;
		if (since_preempt > ONPU_PREEMPT_CYCLES && since_preempt != d.cost)
			return bad(v, pc, "no preemption point for 2^20 cycles");
	}
	return 0;
}

/* ---- SRAM that a job finds filled when the job before it ran the same program */

/* The bytes of SRAM that one of the first loads writes, and its slots. */
struct kept {
	int64_t lo, hi;
	uint16_t dst, s0;
	bool there; /* the instructions that were checked so far leave its bytes in SRAM */
};

static int check_first(const struct verifier *v, uint32_t pc, const struct decoded *d,
		       int64_t tokens[ONPU_NUM_SEMAPHORES])
{
	const struct onpu_insn *insn = &d->insn;
	bool last = pc + 1 == v->slots[0].program.keep_start;

	switch (insn->op) {
	case ONPU_OP_SEM_WAIT:
		tokens[insn->sem] -= insn->count;
		if (!insn->wv && !insn->sv)
			return 0;
		break;
	case ONPU_OP_DMA_COPY:
		if (d->view[0].base == NPU_BASE_NONE && d->view[1].base == NPU_BASE_CONST &&
		    !insn->wv && (!insn->sv || !tokens[insn->ssem]))
			return 0;
		break;
	case ONPU_OP_SEM_SIGNAL:
		if (d->engine != ONPU_ENG_CP && !insn->wv && !insn->sv && !tokens[insn->sem])
			return 0;
		break;
	case ONPU_OP_PREEMPT:
		if (last)
			return 0;
		break;
	default:
		break;
	}
	return bad(v, pc, "it is none of those that bring the first weights to SRAM");
}

/*
 * Notes for each of the first loads whether its bytes are still in SRAM after an instruction that
 * overwrites them: they are when the instruction is the same load.
 */
static void check_write(const struct decoded *d, int operand, struct kept *kept, uint32_t count)
{
	int64_t lo, hi;

	if (!d->present[operand] || d->view[operand].base != NPU_BASE_NONE)
		return;
	touched_range(d, operand, &lo, &hi);
	for (uint32_t k = 0; k < count; k++)
		if (lo < kept[k].hi && hi > kept[k].lo)
			kept[k].there = d->insn.op == ONPU_OP_DMA_COPY &&
					d->insn.dst == kept[k].dst && d->insn.s0 == kept[k].s0;
}

static int list_kept(const struct verifier *v, struct kept *kept, uint32_t *count)
{
	int64_t tokens[ONPU_NUM_SEMAPHORES];

	for (int s = 0; s < ONPU_NUM_SEMAPHORES; s++)
		tokens[s] = v->slots[0].program.sem_init[s];
	for (uint32_t pc = 0; pc < v->program->num_insns; pc++) {
		bool first = pc < v->slots[0].program.keep_start;
		struct decoded d;

		if (decode(v, pc, &d) || (first && check_first(v, pc, &d, tokens)))
			return -1;
		check_write(&d, 0, kept, *count);
		if (d.insn.op == ONPU_OP_SCAN_SUM)
			check_write(&d, 2, kept, *count);
		if (first && d.insn.op == ONPU_OP_DMA_COPY) {
			struct kept *more = &kept[(*count)++];

			*more = (struct kept){ .dst = d.insn.dst, .s0 = d.insn.s0, .there = true };
			touched_range(&d, 0, &more->lo, &more->hi);
		}
	}
	return 0;
}

/*
 * Checks KEEP_START, the instruction at which a job begins that finds the bytes of the first loads
 * in SRAM: all these bytes must be in SRAM at the end of a job, and semaphores must begin with the
 * tokens that the first loads signal. Returns 0 or -1.
 */
static int check_keep(const struct verifier *v)
{
	uint32_t start = v->slots[0].program.keep_start, count = 0;
	struct kept *kept;
	int ret;

	if (v->slots[0].program.keep)
		return wnn_error_set(
			v->err, WNN_OPERATION_ERROR,
			"internal error, please report it: the program names what it keeps in "
			"SRAM");
	if (start >= v->program->num_insns)
		return wnn_error_set(
			v->err, WNN_OPERATION_ERROR,
			"internal error, please report it: the program starts behind its end");
	if (!start)
		return 0;
	kept = wnn_malloc(start * sizeof(*kept));
	if (!kept)
		return wnn_error_nomem(v->err, "the program verifier");
	ret = list_kept(v, kept, &count);
	for (uint32_t k = 0; k < count && !ret; k++)
		if (!kept[k].there)
			ret = wnn_error_set(v->err, WNN_OPERATION_ERROR,
					    "internal error, please report it: load %" PRIu32
					    " of the first ones is not in SRAM at the end",
					    k);
	wnn_free(kept);
	return ret;
}

static int run_checks(struct verifier *v, struct step *steps, struct queues *q)
{
	uint32_t start = v->slots[0].program.keep_start;

	for (int s = 0; s < ONPU_NUM_SEMAPHORES; s++)
		q->signaller[s] = q->waiter[s] = -1;
	if (v->slots[0].program.kind != ONPU_SLOT_PROGRAM ||
	    v->slots[0].program.sram_bytes > v->caps->sram_bytes)
		return wnn_error_set(
			v->err, WNN_OPERATION_ERROR,
			"internal error, please report it: slot 0 does not describe the program");
	if (check_patches(v) || check_insns(v, steps, q) || check_keep(v))
		return -1;
	return run_program(v, steps, q, 0) || (start && run_program(v, steps, q, start)) ? -1 : 0;
}

static int verify_job(const struct npu_program *program, const struct npu_job *job,
		      const struct npu_caps *caps, uint32_t *insn, struct wnn_error *err)
{
	const union onpu_slot *slots = (const union onpu_slot *)program->slots + job->first_slot;
	struct npu_program part = *program;
	struct verifier v = { .program = &part,
			      .caps = caps,
			      .insn = insn,
			      .err = err,
			      .slots = slots,
			      .first_insn = job->first_insn,
			      .first_slot = job->first_slot };
	struct step *steps = wnn_calloc(job->num_insns + 1, sizeof(*steps));
	struct queues *q = wnn_calloc(1, sizeof(*q));
	uint32_t depth = caps->fifo_depth ? caps->fifo_depth : 1;
	uint32_t *items = wnn_calloc((size_t)depth * ONPU_ENG_COUNT, sizeof(*items));
	int ret;

	part.insns += job->first_insn;
	part.num_insns = job->num_insns;
	part.num_slots = job->num_slots;
	v.patched = wnn_calloc(job->num_slots + 1, 1);
	v.patch_value = wnn_calloc(job->num_slots + 1, sizeof(*v.patch_value));
	if (!steps || !q || !items || !v.patched || !v.patch_value) {
		ret = wnn_error_nomem(err, "the program verifier");
	} else {
		for (int e = 0; e < ONPU_ENG_COUNT; e++)
			q->item[e] = items + (size_t)e * depth;
		ret = run_checks(&v, steps, q);
	}
	wnn_free(steps);
	wnn_free(q);
	wnn_free(items);
	wnn_free(v.patched);
	wnn_free(v.patch_value);
	return ret;
}

/* Returns true if every instruction and slot belongs to exactly one job, in their order. */
static bool jobs_cover(const struct npu_program *program)
{
	uint32_t insn = 0, slot = 0;

	for (uint32_t i = 0; i < program->num_jobs; i++) {
		const struct npu_job *job = &program->jobs[i];

		if (job->first_insn != insn || job->first_slot != slot || !job->num_insns ||
		    !job->num_slots)
			return false;
		insn += job->num_insns;
		slot += job->num_slots;
	}
	return insn == program->num_insns && slot == program->num_slots;
}

int npu_program_verify(const struct npu_program *program, const struct npu_caps *caps,
		       uint32_t *insn, struct wnn_error *err)
{
	*insn = UINT32_MAX;
	if (!program->num_jobs || !caps->fifo_depth)
		return wnn_error_set(err, WNN_OPERATION_ERROR,
				     "internal error, please report it: the program is empty");
	if (!jobs_cover(program))
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: the last job does not end where the "
			"program ends");
	for (uint32_t i = 0; i < program->num_patches; i++)
		if (program->patches[i].slot >= program->num_slots)
			return wnn_error_set(err, WNN_OPERATION_ERROR,
					     "internal error, please report it: patch %" PRIu32
					     " names slot %" PRIu32,
					     i, program->patches[i].slot);
	for (uint32_t i = 0; i < program->num_jobs; i++)
		if (verify_job(program, &program->jobs[i], caps, insn, err))
			return -1;
	return 0;
}
