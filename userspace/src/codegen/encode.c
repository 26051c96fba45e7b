// SPDX-License-Identifier: MIT
/*
 * Encodes a plan: views and parameters become slots (equal ones share a slot), and operations
 * become instruction words. An instruction can wait for one semaphore and signal one; further waits
 * and signals become instructions before and after it. A program with too many slots for a job
 * becomes several jobs.
 */
#include "plan/list/schedule.h"
#include "plan/list/split.h"
#include "plan/place/place.h"
#include "codegen/encode.h"

#include <onpu/slots.h>

#include <string.h>

#include "util/hash.h"
#include "util/malloc.h"

struct encoder {
	struct plan *plan;
	bool profile;
	union onpu_slot *slots;
	size_t num_slots, cap_slots;
	enum npu_base *base; /* by slot: the memory whose address is added before the job runs */
	uint32_t *binding;   /* by slot: with NPU_BASE_VALUE, index of the binding */
	size_t cap_base, cap_binding;
	uint32_t *hash; /* open addressing: number of a slot, or 0 */
	size_t hash_size;
	uint32_t (*insns)[4];
	uint32_t *insn_node, node; /* the node of each instruction; the current node */
	size_t num_insns, cap_insns, cap_insn_node;
	struct npu_job *jobs;
	size_t num_jobs, cap_jobs;
	uint32_t max_slots; /* the most slots of a job */
	bool overflow;	    /* a job needs more slots than max_slots */
};

static struct npu_job *job_of(struct encoder *enc)
{
	return &enc->jobs[enc->num_jobs - 1];
}

static uint64_t hash_slot(const union onpu_slot *slot, enum npu_base base, uint32_t binding)
{
	return wnn_hash_words(WNN_HASH_SEED ^ base ^ (uint64_t)binding << 8, slot->bytes,
			      sizeof(slot->bytes));
}

/* Doubles the hash table of the slots of the current job. Returns 0, or -1 when out of memory. */
static int rehash(struct encoder *enc)
{
	size_t size = enc->hash_size ? enc->hash_size * 2 : 1024;
	uint32_t *hash = wnn_calloc(size, sizeof(*hash));

	if (!hash) {
		plan_nomem(enc->plan);
		return -1;
	}
	for (uint32_t i = job_of(enc)->first_slot + 1; i < enc->num_slots; i++) {
		size_t at = hash_slot(&enc->slots[i], enc->base[i], enc->binding[i]) % size;

		while (hash[at])
			at = (at + 1) % size;
		hash[at] = i;
	}
	wnn_free(enc->hash);
	enc->hash = hash;
	enc->hash_size = size;
	return 0;
}

static int add_slot(struct encoder *enc, const union onpu_slot *slot, enum npu_base base,
		    uint32_t binding)
{
	struct plan *plan = enc->plan;
	size_t n = enc->num_slots;

	if (plan_grow(plan, &enc->slots, &enc->cap_slots, n + 1, sizeof(*enc->slots)) ||
	    plan_grow(plan, &enc->base, &enc->cap_base, n + 1, sizeof(*enc->base)) ||
	    plan_grow(plan, &enc->binding, &enc->cap_binding, n + 1, sizeof(*enc->binding)))
		return -1;
	enc->slots[n] = *slot;
	enc->base[n] = base;
	enc->binding[n] = binding;
	enc->num_slots++;
	return 0;
}

/*
 * Returns the number, in the current job, of the slot with this content; adds the slot when the job
 * has none. Returns 0 on failure, or when the job has too many slots (enc->overflow).
 */
static uint16_t intern(struct encoder *enc, const union onpu_slot *slot, enum npu_base base,
		       uint32_t binding)
{
	uint32_t first = job_of(enc)->first_slot;
	size_t at, n = enc->num_slots;

	if ((n - first) * 2 >= enc->hash_size && rehash(enc))
		return 0;
	for (at = hash_slot(slot, base, binding) % enc->hash_size; enc->hash[at];
	     at = (at + 1) % enc->hash_size) {
		uint32_t i = enc->hash[at];

		if (enc->base[i] == base && enc->binding[i] == binding &&
		    !memcmp(&enc->slots[i], slot, sizeof(*slot)))
			return (uint16_t)(i - first);
	}
	if (n - first >= enc->max_slots) {
		enc->overflow = true;
		return 0;
	}
	if (add_slot(enc, slot, base, binding))
		return 0;
	enc->hash[at] = (uint32_t)n;
	return (uint16_t)(n - first);
}

static uint16_t view_slot(struct encoder *enc, const struct npu_view *v)
{
	union onpu_slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.tensor.kind = ONPU_SLOT_TENSOR;
	slot.tensor.dtype = v->dtype;
	slot.tensor.rank = v->rank;
	slot.tensor.space = v->base == NPU_BASE_NONE ? ONPU_SPACE_SRAM : ONPU_SPACE_VA;
	slot.tensor.base = v->window;
	slot.tensor.size = v->window_bytes;
	slot.tensor.offset = v->offset;
	for (uint32_t i = 0; i < v->rank; i++) {
		slot.tensor.dim[i] = v->dim[i];
		slot.tensor.stride[i] = v->stride[i];
	}
	return intern(enc, &slot, v->base, v->base == NPU_BASE_VALUE ? v->binding : 0);
}

static uint16_t tensor_slot(struct encoder *enc, int32_t view)
{
	return view < 0 ? 0 : view_slot(enc, plan_view(enc->plan, view));
}

static void put_taps(struct onpu_slot_param_taps *slot, const struct plan_param *param)
{
	slot->zero_a = param->zero_a;
	slot->zero_b = param->zero_b;
	for (int i = 0; i < ONPU_TAPS_LOOPS; i++) {
		slot->loop[i].count = param->taps[i].count;
		slot->loop[i].s0_step = param->taps[i].s0_step;
		slot->loop[i].s1_step = param->taps[i].s1_step;
		slot->loop[i].dst_step = param->taps[i].dst_step;
	}
}

static void put_resample(struct onpu_slot_param_resample *slot, const struct plan_param *param)
{
	slot->axis0 = param->resample.axis[0];
	slot->axis1 = param->resample.axis[1];
	memcpy(slot->in_size, param->resample.in_size, sizeof(slot->in_size));
	memcpy(slot->out_size, param->resample.out_size, sizeof(slot->out_size));
	memcpy(slot->in_base, param->resample.in_base, sizeof(slot->in_base));
	memcpy(slot->out_base, param->resample.out_base, sizeof(slot->out_base));
}

static uint16_t param_slot(struct encoder *enc, const struct plan_param *param)
{
	static const uint8_t schema[] = {
		[PLAN_SCALAR] = ONPU_SCHEMA_SCALAR,	[PLAN_FILL] = ONPU_SCHEMA_FILL,
		[PLAN_PAD] = ONPU_SCHEMA_PAD,		[PLAN_TAPS] = ONPU_SCHEMA_TAPS,
		[PLAN_TRI] = ONPU_SCHEMA_TRI,		[PLAN_INDEX] = ONPU_SCHEMA_INDEX,
		[PLAN_RESAMPLE] = ONPU_SCHEMA_RESAMPLE,
	};
	union onpu_slot slot;

	if (!param)
		return 0;
	memset(&slot, 0, sizeof(slot));
	slot.scalar.kind = ONPU_SLOT_PARAM;
	slot.scalar.schema = schema[param->schema];
	switch (param->schema) {
	case PLAN_SCALAR:
		slot.scalar.alpha = param->scalar.alpha;
		slot.scalar.beta = param->scalar.beta;
		slot.scalar.gamma = param->scalar.gamma;
		break;
	case PLAN_FILL:
		slot.fill.value = param->fill.value;
		break;
	case PLAN_PAD:
		slot.pad.mode = param->pad.mode;
		slot.pad.value = param->pad.value;
		memcpy(slot.pad.lo, param->pad.lo, sizeof(slot.pad.lo));
		break;
	case PLAN_TAPS:
		put_taps(&slot.taps, param);
		break;
	case PLAN_TRI:
		slot.tri.flags = param->tri.upper ? ONPU_TRI_UPPER : 0;
		slot.tri.diagonal = param->tri.diagonal;
		break;
	case PLAN_INDEX:
		slot.index.axis = param->index.axis;
		slot.index.batch_dims = param->index.batch_dims;
		break;
	case PLAN_RESAMPLE:
		put_resample(&slot.resample, param);
		break;
	}
	return intern(enc, &slot, NPU_BASE_NONE, 0);
}

/* Appends an instruction of the current node. */
static void put(struct encoder *enc, const struct onpu_insn *insn)
{
	struct plan *plan = enc->plan;

	if (plan_grow(plan, &enc->insns, &enc->cap_insns, enc->num_insns + 1,
		      sizeof(*enc->insns)) ||
	    plan_grow(plan, &enc->insn_node, &enc->cap_insn_node, enc->num_insns + 1,
		      sizeof(*enc->insn_node)))
		return;
	enc->insn_node[enc->num_insns] = enc->node;
	if (enc->node < plan->count)
		plan->report.nodes[enc->node].num_insns++;
	if (onpu_insn_pack(insn, enc->insns[enc->num_insns]))
		plan_fail(plan, "internal error, please report it: %s cannot be encoded",
			  onpu_op_info[insn->op].name);
	enc->num_insns++;
}

static void put_semaphore(struct encoder *enc, enum onpu_op op, uint8_t engine,
			  unsigned int semaphore, uint16_t count)
{
	put(enc,
	    &(struct onpu_insn){
		    .op = op, .sem = semaphore, .eng = engine, .count = count, .ts = enc->profile });
}

/* Removes the lowest bit of a mask; returns its number. */
static uint8_t take(uint8_t *mask)
{
	uint8_t bit = 0;

	while (!(*mask >> bit & 1))
		bit++;
	*mask &= *mask - 1;
	return bit;
}

/* Appends an operation, with semaphore instructions for its further waits and signals. */
static void put_op(struct encoder *enc, const struct plan_op *op)
{
	uint8_t waits = op->waits, signals = op->signals;
	struct onpu_insn insn = { .op = op->op, .ts = enc->profile };

	if (op->op == ONPU_OP_PREEMPT) {
		insn.live = op->live;
		put(enc, &insn);
		return;
	}
	insn.dst = tensor_slot(enc, op->view[0]);
	insn.s0 = tensor_slot(enc, op->view[1]);
	insn.s1 = tensor_slot(enc, op->view[2]);
	insn.s2 = tensor_slot(enc, op->view[3]);
	insn.param = param_slot(enc, plan_param_of(enc->plan, op));
	insn.axes = op->axes;
	insn.axis = op->axis;
	insn.piece = op->piece;
	insn.acc = op->acc;
	insn.part = op->part;
	insn.lanes = op->lanes;
	insn.last = op->last;
	insn.excl = op->excl;
	insn.rev = op->rev;
	insn.neg = op->neg;
	insn.clamp = op->clamp;
	insn.ch = op->on_st;
	if (waits) {
		insn.wv = 1;
		insn.wsem = SEMAPHORE(take(&waits), op->engine);
	}
	while (waits)
		put_semaphore(enc, ONPU_OP_SEM_WAIT, op->engine,
			      SEMAPHORE(take(&waits), op->engine), 1);
	if (signals) {
		insn.sv = 1;
		insn.ssem = SEMAPHORE(op->engine, take(&signals));
	}
	put(enc, &insn);
	while (signals)
		put_semaphore(enc, ONPU_OP_SEM_SIGNAL, op->engine,
			      SEMAPHORE(op->engine, take(&signals)), 1);
}

/*
 * Begins a job and adds its slot 0, which describes the program. Returns 0, or -1 when out of
 * memory.
 */
static int begin_job(struct encoder *enc)
{
	union onpu_slot slot;

	if (plan_grow(enc->plan, &enc->jobs, &enc->cap_jobs, enc->num_jobs + 1, sizeof(*enc->jobs)))
		return -1;
	enc->jobs[enc->num_jobs++] = (struct npu_job){
		.first_insn = (uint32_t)enc->num_insns,
		.first_slot = (uint32_t)enc->num_slots,
	};
	if (enc->hash_size)
		memset(enc->hash, 0, enc->hash_size * sizeof(*enc->hash));
	memset(&slot, 0, sizeof(slot));
	slot.program.kind = ONPU_SLOT_PROGRAM;
	slot.program.isa_major = ONPU_ISA_MAJOR;
	slot.program.sram_bytes = enc->plan->caps->sram_bytes;
	return add_slot(enc, &slot, NPU_BASE_NONE, 0);
}

static void end_job(struct encoder *enc)
{
	struct npu_job *job = job_of(enc);

	enc->node = enc->plan->count;
	put(enc, &(struct onpu_insn){ .op = ONPU_OP_END, .ts = enc->profile });
	job->num_insns = (uint32_t)enc->num_insns - job->first_insn;
	job->num_slots = (uint32_t)enc->num_slots - job->first_slot;
}

static struct npu_view bytes_view(enum npu_base base, uint64_t window, uint64_t bytes)
{
	return (struct npu_view){ .base = base,
				  .dtype = ONPU_DT_U8,
				  .rank = 1,
				  .window = window,
				  .window_bytes = bytes,
				  .dim = { (int64_t)bytes },
				  .stride = { 1 } };
}

/* The least bytes of a pinned constant of which each DMA engine loads a half. */
#define SPLIT_LOAD 8192

/* Appends the load of some bytes of a pinned constant, which is at @constant in memory. */
static void put_load(struct encoder *enc, const struct plan_pin *pin, uint64_t constant,
		     uint64_t begin, uint64_t end, bool on_st)
{
	struct npu_view src = bytes_view(NPU_BASE_CONST, constant + begin, end - begin);
	struct npu_view dst = bytes_view(NPU_BASE_NONE, pin->address + begin, end - begin);

	put(enc, &(struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
				      .dst = view_slot(enc, &dst),
				      .s0 = view_slot(enc, &src),
				      .ch = on_st,
				      .ts = enc->profile });
}

/*
 * Appends the loads of pinned constants; each DMA engine loads a half of the large ones. A job that
 * finds the constants in SRAM begins after these loads.
 */
static void put_pinned(struct encoder *enc)
{
	const struct plan_pinned *pinned = enc->plan->sram.pinned;
	struct plan *plan = enc->plan;
	uint64_t engine[2] = { 0, 0 };

	if (!pinned || !pinned->count)
		return;
	for (uint32_t i = 0; i < pinned->count; i++) {
		const struct plan_pin *pin = &pinned->item[i];
		uint64_t at = pinned_pack(plan, pin);
		bool on_st = engine[1] < engine[0];
		uint64_t first = pin->bytes < SPLIT_LOAD ? pin->bytes : plan_align(pin->bytes / 2);

		enc->node = plan->report.node = pin->node;
		plan->report.nodes[pin->node].bytes_ld += pin->bytes;
		engine[on_st] += first;
		put_load(enc, pin, at, 0, first, on_st);
		if (first == pin->bytes)
			continue;
		engine[!on_st] += pin->bytes - first;
		put_load(enc, pin, at, first, pin->bytes, !on_st);
	}
	put(enc, &(struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = (uint32_t)pinned->bytes });
	enc->slots[0].program.keep_start = (uint32_t)enc->num_insns;
}

/*
 * Sets the initial semaphore tokens to those that the first loads signal, for jobs that begin
 * after these loads. A job that begins with the loads must not have these tokens twice, so that it
 * begins with instructions that wait for, and so remove, the initial ones.
 */
static void put_first_waits(struct encoder *enc)
{
	const struct plan_list *list = &enc->plan->list;
	uint8_t *tokens = enc->slots[0].program.sem_init;

	for (uint32_t i = 0; i < list->ahead; i++)
		for (uint8_t signals = list->ops[i].signals; signals;)
			tokens[SEMAPHORE(list->ops[i].engine, take(&signals))]++;
	if (list->ahead)
		enc->node = list->ops[0].node;
	for (uint8_t s = 0; s < ONPU_NUM_SEMAPHORES; s++)
		if (tokens[s])
			put_semaphore(enc, ONPU_OP_SEM_WAIT, SEMAPHORE_WAITER(s), s, tokens[s]);
}

/* Appends all operations of the plan, and begins a job at each cut. */
static void put_ops(struct encoder *enc)
{
	struct plan *plan = enc->plan;

	if (begin_job(enc))
		return;
	put_pinned(enc);
	put_first_waits(enc);
	for (size_t i = 0; i < plan->list.num_ops && !plan->report.failed && !enc->overflow; i++) {
		const struct plan_op *op = &plan->list.ops[i];

		if (op->cut) {
			end_job(enc);
			if (begin_job(enc))
				return;
		}
		enc->node = plan->report.node = op->node;
		put_op(enc, op);
		if (i + 1 == plan->list.ahead)
			enc->slots[0].program.keep_start = (uint32_t)enc->num_insns;
	}
	end_job(enc);
}

/* Encodes the plan as one job if its slots suffice, otherwise as several. */
static void put_jobs(struct encoder *enc)
{
	put_ops(enc);
	if (!enc->overflow || enc->plan->report.failed)
		return;
	if (enc->plan->sram.pinned) {
		/* The caller has a program without pinned weights, and reads no reason. */
		enc->plan->report.failed = true;
		return;
	}
	enc->overflow = false;
	enc->num_slots = enc->num_insns = enc->num_jobs = 0;
	for (uint32_t i = 0; i < enc->plan->count; i++)
		enc->plan->report.nodes[i].num_insns = 0;
	plan_unschedule(enc->plan);
	/* Slot 0 of each job describes the program. */
	if (!plan_split(enc->plan, enc->max_slots - 1))
		put_ops(enc);
	if (enc->overflow)
		plan_fail(enc->plan,
			  "internal error, please report it: a job has more than %u slots",
			  enc->max_slots);
}

/*
 * Adds the bytes of prefetches to bytes_ld in the reports of their nodes, beside those of the loads
 * at the begin: a job that does not find the bytes in SRAM executes both.
 */
static void count_loads_ahead(struct plan *plan)
{
	for (size_t i = 0; plan->list.ahead && i < plan->list.num_ops; i++) {
		const struct plan_op *op = &plan->list.ops[i];

		if (op->again)
			plan->report.nodes[op->node].bytes_ld +=
				view_bytes(plan_view(plan, op->view[0]));
	}
}

/* Lists the slots to which the address of a memory is added before a job runs. */
static void put_patches(struct encoder *enc, struct npu_program *program)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < enc->num_slots; i++) {
		if (enc->base[i] == NPU_BASE_NONE)
			continue;
		if (plan_grow(enc->plan, &program->patches, &cap, program->num_patches + 1,
			      sizeof(*program->patches)))
			return;
		program->patches[program->num_patches++] = (struct npu_patch){
			.slot = i,
			.base = enc->base[i],
			.value = enc->binding[i],
		};
	}
}

int encode_plan(struct plan *plan, bool profile, struct npu_program *program)
{
	struct encoder enc = { .plan = plan,
			       .profile = profile,
			       .max_slots = plan_max_slots(plan) };

	put_jobs(&enc);
	if (!plan->report.failed) {
		count_loads_ahead(plan);
		put_patches(&enc, program);
	}
	program->jobs = enc.jobs;
	program->num_jobs = enc.num_jobs;
	program->insns = enc.insns;
	program->insn_node = enc.insn_node;
	program->num_insns = enc.num_insns;
	program->slots = enc.slots;
	program->num_slots = enc.num_slots;
	wnn_free(enc.base);
	wnn_free(enc.binding);
	wnn_free(enc.hash);
	return plan->report.failed ? -1 : 0;
}
