// SPDX-License-Identifier: MIT
/* Hardware queues: their registers, ring entries, start and end of jobs. */
#include "device/device.h"

#include <stddef.h>
#include <string.h>

#include "onpu/isa.h"

enum onpu_queue_state queue_state(const struct onpu_device *d, unsigned int queue)
{
	const struct queue *q = &d->queues[queue];
	bool work = q->suspended || q->head != q->tail;

	if (!(q->control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK))
		return ONPU_QUEUE_UNBOUND;
	if (q->faulted)
		return ONPU_QUEUE_FAULTED;
	if (queue != d->cp.current)
		return work ? ONPU_QUEUE_READY : ONPU_QUEUE_IDLE;
	return work || d->cp.running ? ONPU_QUEUE_RUNNING : ONPU_QUEUE_RESIDENT;
}

static bool is_running(const struct onpu_device *d, unsigned int queue)
{
	return queue == d->cp.current && d->cp.running;
}

/*
 * Returns how many instructions the queue's ended jobs and its running or suspended job have
 * executed.
 */
uint64_t queue_retired(const struct onpu_device *d, unsigned int queue)
{
	const struct queue *q = &d->queues[queue];

	if (is_running(d, queue))
		return q->retired + onpu_machine_pc(d->machine);
	return q->retired + (q->suspended ? q->suspended_issued : 0);
}

/*
 * Returns the cycles of a queue's jobs. Accesses that are served inside an instruction advance the
 * clock, but the job makes no progress then: it counts up to the time at which the step began.
 */
uint64_t queue_run_cycles(const struct onpu_device *d, unsigned int queue)
{
	const struct queue *q = &d->queues[queue];

	if (is_running(d, queue))
		return q->run_cycles + (d->inside ? d->cp.shown : cp_job_time(d));
	return q->run_cycles + (q->suspended ? q->suspended_time : 0);
}

void queue_bind(struct onpu_device *d, unsigned int queue, bool resume)
{
	struct queue *q = &d->queues[queue];

	q->faulted = false;
	q->suspended = resume;
	q->resumed = resume;
	q->suspended_time = 0;
	q->suspended_issued = 0;
	q->suspended_index = 0;
	q->head = 0;
	q->tail = 0;
	q->last_seqno = 0;
	q->retired = 0;
	q->run_cycles = 0;
	d->doorbell[queue] = 0;
	d->regs.doorbell[queue / 32] &= ~(1u << queue % 32);
	irq_core_update(d);
	cp_target_changed(d);
}

void queue_unbind(struct onpu_device *d, unsigned int queue)
{
	struct queue *q = &d->queues[queue];

	q->faulted = false;
	q->suspended = false;
	d->regs.doorbell[queue / 32] &= ~(1u << queue % 32);
	irq_core_update(d);
	cp_target_changed(d);
}

/* Ends a queue's job with a fault that its ring entry has caused, and no instruction. */
static void entry_fault(struct onpu_device *d, int code, uint64_t address)
{
	struct onpu_fault_record fault = {
		.code = code,
		.engine = ONPU_ENG_CP,
		.operand = ONPU_OPERAND_NONE,
		.address = address,
	};

	queue_end_job(d, &fault);
}

static bool entry_valid(const struct onpu_ring_job *job, uint64_t last_seqno)
{
	if (job->type != ONPU_ENTRY_JOB || job->flags || job->mbz_3c)
		return false;
	if (job->program_va % ONPU_INSN_BYTES || job->slots_va % ONPU_SLOT_SIZE)
		return false;
	if (!job->num_slots || job->num_slots > ONPU_MAX_SLOTS)
		return false;
	if ((job->profile_va | job->profile_size) % sizeof(struct onpu_profile_record))
		return false;
	return job->seqno > last_seqno;
}

static void begin(struct onpu_device *d, const struct onpu_ring_job *entry)
{
	struct cp *cp = &d->cp;
	struct onpu_job job = {
		.program_va = entry->program_va,
		.num_insns = entry->num_insns,
		.num_slots = entry->num_slots,
		.slots_va = entry->slots_va,
		.profile_va = entry->profile_va,
		.profile_size = entry->profile_size,
		.cycle_limit = entry->cycle_limit,
	};

	onpu_machine_begin(d->machine, &cp->engine_memory, &job);
	cp->running = true;
	cp->outcome = ONPU_STEP_RUNNING;
	cp->base = cp->busy_until;
	cp->slice_from = 0;
	cp->idle_raised = false;
	counters_take_job(d);
}

/* Takes the next entry of the resident queue, whose ring is not empty, and starts its job. */
void queue_start_job(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	struct queue *q = &d->queues[cp->current];
	uint64_t va = q->ring + (uint64_t)(q->head & (q->ring_size - 1)) * sizeof(q->job);
	int fault;

	cp_charge(d, sizeof(q->job));
	memset(&q->job, 0, sizeof(q->job));
	if (q->tail - q->head > q->ring_size) {
		entry_fault(d, ONPU_FAULT_SLOT_FORMAT, va);
		return;
	}
	q->head++;
	fault = cp->ring_memory.read(cp->ring_memory.ctx, va, &q->job, sizeof(q->job));
	if (fault) {
		memset(&q->job, 0, sizeof(q->job));
		entry_fault(d, fault, cp->ring_port.fault_va);
	} else if (q->job.type == ONPU_ENTRY_NOP) {
		cp->idle_raised = false;
	} else if (!entry_valid(&q->job, q->last_seqno)) {
		entry_fault(d, ONPU_FAULT_SLOT_FORMAT, va);
	} else {
		begin(d, &q->job);
	}
}

/*
 * Writes the completion page; returns 0 or an enum onpu_fault. The order matters to a reader that
 * polls: first the sequence number of the counters, then the figures, last the sequence number of
 * the completion. A reader that finds both numbers equal has the figures of one job.
 */
static int write_completion(struct onpu_device *d, const struct onpu_completion *c,
			    const struct onpu_job_counters *counters, bool faulted)
{
	const struct onpu_mem *mem = &d->cp.ring_memory;
	uint64_t va = d->queues[d->cp.current].completion;
	const size_t body = offsetof(struct onpu_completion, error);
	const size_t record = offsetof(struct onpu_completion, fault);
	int fault = mem->write(
		mem->ctx, va + ONPU_COMPLETION_COUNTERS + offsetof(struct onpu_job_counters, seqno),
		&c->seqno, sizeof(c->seqno));

	if (!fault)
		fault = mem->write(mem->ctx, va + body, (const uint8_t *)c + body,
				   offsetof(struct onpu_completion, mbz_30) - body);
	if (!fault && faulted)
		fault = mem->write(mem->ctx, va + record, c->fault, sizeof(c->fault));
	if (!fault)
		fault = mem->write(mem->ctx, va + ONPU_COMPLETION_COUNTERS, counters,
				   offsetof(struct onpu_job_counters, seqno));
	if (!fault)
		fault = mem->write(mem->ctx, va, &c->seqno, sizeof(c->seqno));
	return fault;
}

static struct onpu_job_counters job_counters(const struct onpu_device *d)
{
	const struct onpu_counters *c = &onpu_machine_result(d->machine)->counters;
	struct onpu_job_counters counters = { .stall_fifo = c->stall_fifo };

	if (!d->cp.running)
		return (struct onpu_job_counters){ .stall_fifo = 0 };
	memcpy(counters.busy, c->busy, sizeof(counters.busy));
	memcpy(counters.stall_sem, c->stall_sem, sizeof(counters.stall_sem));
	counters.bytes_ld = c->bytes_ld;
	counters.bytes_st = c->bytes_st;
	counters.macs = c->macs;
	counters.elements = c->elements;
	return counters;
}

/*
 * Accounts for the cycles and instructions of the job that ends, whether it has finished or was
 * aborted.
 */
static void account(struct onpu_device *d, struct onpu_completion *c)
{
	struct cp *cp = &d->cp;
	struct queue *q = &d->queues[cp->current];
	const struct onpu_job_result *result = onpu_machine_result(d->machine);

	if (cp->running) {
		c->cycles = cp_job_time(d);
		c->code = result->code;
		c->profile_records = (uint32_t)result->profile_records;
		q->retired += onpu_machine_pc(d->machine);
		cp->slice_used += c->cycles - cp->slice_from;
	}
	q->run_cycles += c->cycles;
	c->total_cycles = q->run_cycles;
	c->end_cycle = device_now(d);
	if (q->job.seqno > q->last_seqno)
		q->last_seqno = q->job.seqno;
	c->seqno = q->last_seqno;
}

static void stop_queue(struct onpu_device *d, const struct onpu_fault_record *fault)
{
	d->queues[d->cp.current].faulted = true;
	cp_push_fault(d, fault);
	cp_set_current(d, ONPU_NO_QUEUE);
}

/*
 * Ends the job of the resident queue: with @fault or, if @fault is NULL, without an error. If no
 * job is running, @fault is an error of the ring.
 */
void queue_end_job(struct onpu_device *d, const struct onpu_fault_record *fault)
{
	struct cp *cp = &d->cp;
	unsigned int queue = cp->current;
	struct onpu_fault_record record = { .code = ONPU_FAULT_NONE };
	struct onpu_completion c = { .seqno = 0 };
	struct onpu_job_counters counters = job_counters(d);
	int unwritten;

	if (fault)
		record = *fault;
	account(d, &c);
	counters_add_job(d);
	record.context = (uint16_t)d->queues[queue].id;
	record.queue = (uint16_t)queue;
	record.seqno = d->queues[queue].job.seqno;
	c.error = record.code;
	memcpy(c.fault, &record, sizeof(record));
	cp->running = false;
	cp_charge(d, sizeof(c) + sizeof(counters));
	unwritten = write_completion(d, &c, &counters, fault);
	if (unwritten && !fault) {
		record.code = unwritten;
		record.engine = ONPU_ENG_CP;
		record.operand = ONPU_OPERAND_NONE;
		record.address = cp->ring_port.fault_va;
		record.cycle = c.cycles;
	}
	irq_complete(d, queue);
	if (record.code)
		stop_queue(d, &record);
	cp_target_changed(d);
}
