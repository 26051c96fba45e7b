// SPDX-License-Identifier: MIT
/*
 * The command processor's part in scheduling: which queue is resident, when that changes, and what
 * a change saves and restores. The machine runs ahead of the device clock by one step. The outcome
 * of a step takes effect when the clock has reached the step's time, so that host, firmware and
 * jobs see one order of events.
 */
#include "device/device.h"

#include <stddef.h>
#include <string.h>

#include "math/divide.h"

#define IRQ_SWITCHED ONPU_CORE_IRQ_STATUS_SWITCHED__MASK
#define IRQ_IDLE     ONPU_CORE_IRQ_STATUS_IDLE__MASK
#define IRQ_SLICE    ONPU_CORE_IRQ_STATUS_SLICE__MASK
#define IRQ_KILLED   ONPU_CORE_IRQ_STATUS_KILLED__MASK

void cp_reset(struct onpu_device *d)
{
	counters_add_job(d);
	onpu_machine_abort(d->machine);
	d->cp = (struct cp){
		.run_queue = ONPU_CORE_RUN_QUEUE__RESET,
		.switch_limit = ONPU_CORE_SWITCH_LIMIT__RESET,
		.current = ONPU_NO_QUEUE,
	};
}

void cp_charge(struct onpu_device *d, size_t bytes)
{
	d->cp.busy_until =
		device_now(d) + ONPU_COST_TRANSFER + onpu_div_up(bytes, ONPU_COST_TRANSFER_BYTES);
}

static bool may_run(const struct onpu_device *d, unsigned int queue)
{
	return queue < d->config.sim.num_queues && !d->queues[queue].faulted &&
	       d->queues[queue].control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK;
}

/* Returns the queue that shall be resident, or ONPU_NO_QUEUE. */
static unsigned int target(const struct onpu_device *d)
{
	return may_run(d, d->cp.run_queue) ? d->cp.run_queue : ONPU_NO_QUEUE;
}

bool cp_switching(const struct onpu_device *d)
{
	return target(d) != d->cp.current;
}

/*
 * Called when another queue may have to run. If one has to, the running job has SWITCH_LIMIT cycles
 * to come to a preemption point.
 */
void cp_target_changed(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	bool wanted = cp->running && cp_switching(d);

	if (wanted && !cp->switch_wanted)
		cp->switch_deadline = device_now(d) + cp->switch_limit;
	cp->switch_wanted = wanted;
}

void cp_set_current(struct onpu_device *d, unsigned int queue)
{
	struct cp *cp = &d->cp;

	if (cp->current == queue)
		return;
	cp->current = queue;
	onpu_machine_forget(d->machine);
	cp->slice_used = 0;
	cp->slice_from = 0;
	cp->slice_raised = false;
	cp->idle_raised = false;
	if (queue != ONPU_NO_QUEUE)
		context_port(d, queue);
	irq_core_set(d, IRQ_SWITCHED);
}

/* Returns the device clock at which the outcome of the machine's last step takes effect. */
static uint64_t event_time(const struct onpu_device *d)
{
	const struct cp *cp = &d->cp;

	if (cp->outcome == ONPU_STEP_DONE || cp->outcome == ONPU_STEP_FAULT)
		return cp->base + onpu_machine_result(d->machine)->cycles;
	return cp->base + onpu_machine_time(d->machine);
}

uint64_t cp_job_time(const struct onpu_device *d)
{
	const struct cp *cp = &d->cp;
	uint64_t reached = event_time(d) - cp->base;
	uint64_t passed = device_now(d) - cp->base;

	if (!cp->running || device_now(d) < cp->busy_until)
		return cp->slice_from;
	return passed < reached ? passed : reached;
}

uint64_t cp_slice_used(const struct onpu_device *d)
{
	const struct cp *cp = &d->cp;

	return cp->slice_used + (cp->running ? cp_job_time(d) - cp->slice_from : 0);
}

void cp_set_slice(struct onpu_device *d, uint32_t cycles)
{
	d->cp.slice = cycles;
	d->cp.slice_raised = false;
}

/* Returns the device clock at which the resident queue has used up its slice. */
static uint64_t slice_end(const struct onpu_device *d)
{
	const struct cp *cp = &d->cp;
	uint64_t left;

	if (!cp->slice || cp->slice_raised || cp->current == ONPU_NO_QUEUE)
		return DEVICE_NEVER;
	if (cp->slice_used >= cp->slice)
		return cp->busy_until;
	left = cp->slice - cp->slice_used;
	return cp->running ? cp->base + cp->slice_from + left : DEVICE_NEVER;
}

uint64_t cp_next(const struct onpu_device *d)
{
	const struct cp *cp = &d->cp;
	uint64_t next = DEVICE_NEVER;

	if (device_now(d) < cp->busy_until)
		return cp->busy_until;
	if (cp->running && (!cp->stuck || cp->parity))
		next = event_time(d);
	if (cp->running && cp->switch_wanted)
		next = device_earlier(next, cp->switch_deadline);
	/* A slice counts the job's cycles, and a stuck job has no more of them. */
	return cp->running && cp->stuck ? next : device_earlier(next, slice_end(d));
}

/* Ends the running job with the fault @code, which none of its instructions has caused. */
static void abort_job(struct onpu_device *d, enum onpu_fault code)
{
	struct onpu_fault_record fault = {
		.code = code,
		.pc = onpu_machine_index(d->machine),
		.engine = ONPU_ENG_CP,
		.operand = ONPU_OPERAND_NONE,
		.cycle = cp_job_time(d),
	};

	d->cp.stuck = false;
	queue_end_job(d, &fault);
	onpu_machine_abort(d->machine);
}

/* Ends, with a fault, a job that cannot be saved or restored. */
static void save_fault(struct onpu_device *d, int code, uint64_t address)
{
	struct queue *q = &d->queues[d->cp.current];
	struct onpu_fault_record fault = {
		.code = code,
		.pc = q->suspended_index,
		.engine = ONPU_ENG_CP,
		.operand = ONPU_OPERAND_NONE,
		.address = address,
		.cycle = q->suspended_time,
	};

	/*
	 * queue_end_job() adds what the machine has issued to what the queue has retired. After a
	 * failed restore that is not the job's, so correct for the difference here.
	 */
	q->retired += q->suspended_issued - onpu_machine_pc(d->machine);
	queue_end_job(d, &fault);
	onpu_machine_abort(d->machine);
}

/*
 * Suspends the job at a preemption point: writes it to its save area and makes no queue resident.
 */
static void suspend(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	struct queue *q = &d->queues[cp->current];
	const struct onpu_mem *mem = &cp->ring_memory;
	size_t size = onpu_machine_state_size(d->machine);
	int fault;

	q->suspended_time = onpu_machine_time(d->machine);
	q->suspended_issued = onpu_machine_pc(d->machine);
	q->suspended_index = onpu_machine_index(d->machine);
	fault = onpu_machine_save(d->machine, mem, q->save);
	if (!fault)
		fault = mem->write(mem->ctx, q->save + offsetof(struct onpu_save_header, seqno),
				   &q->job.seqno, sizeof(q->job.seqno));
	if (fault) {
		save_fault(d, fault, cp->ring_port.fault_va);
		return;
	}
	counters_add_job(d);
	onpu_machine_abort(d->machine);
	q->suspended = true;
	cp->running = false;
	cp->switch_wanted = false;
	cp_charge(d, size);
	cp_set_current(d, ONPU_NO_QUEUE);
}

/*
 * Takes over a job that was interrupted before its queue was bound: the save area alone tells which
 * job it is. Returns 0 or an enum onpu_fault.
 */
static int adopt(struct onpu_device *d, struct queue *q)
{
	const struct onpu_mem *mem = &d->cp.ring_memory;

	q->resumed = false;
	memset(&q->job, 0, sizeof(q->job));
	q->suspended_time = onpu_machine_time(d->machine);
	q->suspended_issued = onpu_machine_pc(d->machine);
	q->suspended_index = onpu_machine_index(d->machine);
	return mem->read(mem->ctx, q->save + offsetof(struct onpu_save_header, seqno),
			 &q->job.seqno, sizeof(q->job.seqno));
}

static void resume(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	struct queue *q = &d->queues[cp->current];
	int fault = onpu_machine_restore(d->machine, &cp->engine_memory, &cp->ring_memory, q->save);
	uint64_t address;

	if (!fault && q->resumed)
		fault = adopt(d, q);
	address = cp->ring_port.fault_va;
	q->suspended = false;
	if (!fault && (onpu_machine_time(d->machine) != q->suspended_time ||
		       onpu_machine_pc(d->machine) != q->suspended_issued ||
		       onpu_machine_index(d->machine) != q->suspended_index)) {
		fault = ONPU_FAULT_PARITY;
		address = q->save;
	}
	cp->running = true;
	cp->outcome = ONPU_STEP_RUNNING;
	cp->slice_from = q->suspended_time;
	counters_take_job(d);
	if (fault) {
		save_fault(d, fault, fault == ONPU_FAULT_PARITY ? q->save : address);
		return;
	}
	cp_charge(d, onpu_machine_state_size(d->machine));
	cp->base = cp->busy_until - q->suspended_time;
	cp_target_changed(d);
}

static void make_resident(struct onpu_device *d, unsigned int queue)
{
	cp_charge(d, 0);
	cp_set_current(d, queue);
	if (queue != ONPU_NO_QUEUE && d->queues[queue].suspended)
		resume(d);
}

static void end_step(struct onpu_device *d)
{
	struct cp *cp = &d->cp;

	switch (cp->outcome) {
	case ONPU_STEP_PREEMPT_POINT:
		if (cp_switching(d)) {
			suspend(d);
			return;
		}
		break;
	case ONPU_STEP_DONE:
		queue_end_job(d, NULL);
		return;
	case ONPU_STEP_FAULT:
		queue_end_job(d, &onpu_machine_result(d->machine)->fault);
		return;
	case ONPU_STEP_RUNNING:
	case ONPU_STEP_IDLE:
		break;
	}
	cp->outcome = device_step_machine(d);
}

static bool poll_job(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	uint64_t at = event_time(d);

	if (cp->switch_wanted && cp->switch_deadline <= device_now(d) &&
	    (cp->switch_deadline < at || cp->stuck)) {
		abort_job(d, ONPU_FAULT_TIMEOUT);
		return true;
	}
	if (at > device_now(d))
		return false;
	if (cp->parity) {
		cp->parity = false;
		abort_job(d, ONPU_FAULT_PARITY);
		return true;
	}
	if (cp->stuck)
		return false;
	end_step(d);
	return true;
}

/* Does the next action that is due now. Returns false if no action is due. */
bool cp_poll(struct onpu_device *d)
{
	struct cp *cp = &d->cp;
	const struct queue *q;

	if (device_now(d) < cp->busy_until)
		return false;
	/*
	 * The device clock may be ahead of the job, and a slice counts the job's own cycles: wait
	 * until the job has used those up.
	 */
	if (slice_end(d) <= device_now(d) && cp_slice_used(d) >= cp->slice) {
		cp->slice_raised = true;
		irq_core_set(d, IRQ_SLICE);
		return true;
	}
	if (cp->running)
		return poll_job(d);
	if (cp_switching(d)) {
		make_resident(d, target(d));
		return true;
	}
	if (cp->current == ONPU_NO_QUEUE)
		return false;
	q = &d->queues[cp->current];
	if (q->head != q->tail) {
		queue_start_job(d);
		return true;
	}
	if (cp->idle_raised)
		return false;
	cp->idle_raised = true;
	irq_core_set(d, IRQ_IDLE);
	return true;
}

void cp_kill(struct onpu_device *d, uint32_t queue)
{
	struct cp *cp = &d->cp;
	bool bound = queue < d->config.sim.num_queues &&
		     d->queues[queue].control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK;

	if (bound) {
		d->queues[queue].retired = queue_retired(d, queue);
		d->queues[queue].run_cycles = queue_run_cycles(d, queue);
		d->queues[queue].faulted = true;
		d->queues[queue].suspended = false;
	}
	if (bound && queue == cp->current) {
		counters_add_job(d);
		onpu_machine_abort(d->machine);
		cp->running = false;
		cp->stuck = false;
		cp_set_current(d, ONPU_NO_QUEUE);
	}
	cp_target_changed(d);
	irq_core_set(d, IRQ_KILLED);
}

void cp_push_fault(struct onpu_device *d, const struct onpu_fault_record *fault)
{
	struct cp *cp = &d->cp;

	/*
	 * Bound queues that fault again and again, while the firmware takes no record, can fill the
	 * list. Then drop the newest record.
	 */
	if (cp->fault_count < d->config.sim.num_queues) {
		unsigned int at = (cp->fault_head + cp->fault_count) % ONPU_MAX_QUEUES;

		cp->faults[at] = *fault;
		cp->fault_count++;
	}
	irq_core_update(d);
}

void cp_pop_fault(struct onpu_device *d)
{
	struct cp *cp = &d->cp;

	if (cp->fault_count) {
		cp->fault_head = (cp->fault_head + 1) % ONPU_MAX_QUEUES;
		cp->fault_count--;
	}
	irq_core_update(d);
}
