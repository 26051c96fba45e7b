// SPDX-License-Identifier: MIT
/*
 * Implements the command processor of fake.h, cycle by cycle, as the domain ONPU_CORE of
 * registers.xml describes it.
 */
#include "fake.h"

#define SWITCH_COST 8u /* cycles; more than the firmware takes between two reads of the state */
#define JOB_COST    2u

void fake_cp_reset(struct fake *f)
{
	f->cp = (struct fake_cp){ .run_queue = ONPU_NO_QUEUE, .current = ONPU_NO_QUEUE };
}

bool fake_cp_may_run(const struct fake *f, uint32_t queue)
{
	return queue < f->num_queues && !f->queues[queue].faulted &&
	       f->queues[queue].control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK;
}

bool fake_cp_has_work(const struct fake *f, uint32_t queue)
{
	const struct fake_queue *q = &f->queues[queue];

	return q->suspended || q->head != q->tail || (f->cp.running && f->cp.current == queue);
}

static uint32_t target(const struct fake *f)
{
	return fake_cp_may_run(f, f->cp.run_queue) ? f->cp.run_queue : ONPU_NO_QUEUE;
}

bool fake_cp_switching(const struct fake *f)
{
	return target(f) != f->cp.current;
}

enum onpu_queue_state fake_cp_state(const struct fake *f, uint32_t queue)
{
	const struct fake_queue *q = &f->queues[queue];
	bool work = fake_cp_has_work(f, queue);

	if (!(q->control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK))
		return ONPU_QUEUE_UNBOUND;
	if (q->faulted)
		return ONPU_QUEUE_FAULTED;
	if (f->cp.current != queue)
		return work ? ONPU_QUEUE_READY : ONPU_QUEUE_IDLE;
	return work ? ONPU_QUEUE_RUNNING : ONPU_QUEUE_RESIDENT;
}

static void set_current(struct fake *f, uint32_t queue)
{
	struct fake_cp *cp = &f->cp;

	if (cp->current == queue)
		return;
	cp->current = queue;
	cp->used = 0;
	cp->slice_raised = false;
	cp->idle_raised = false;
	cp->busy = SWITCH_COST;
	f->irq_status |= ONPU_CORE_IRQ_STATUS_SWITCHED__MASK;
	if (queue == ONPU_NO_QUEUE)
		return;
	cp->arrivals++;
	if (f->num_runs < FAKE_TRACE)
		f->trace[f->num_runs++] = (struct fake_run){ .queue = queue, .start = f->now };
}

void fake_cp_fault(struct fake *f, uint32_t queue, enum onpu_fault code)
{
	struct fake_cp *cp = &f->cp;

	f->queues[queue].faulted = true;
	f->queues[queue].suspended = false;
	FAKE_CHECK(cp->num_faults < f->num_queues, "a fault record is lost");
	cp->faults[cp->num_faults++] = (struct onpu_fault_record){
		.code = code,
		.context = (uint16_t)f->queues[queue].id,
		.queue = (uint16_t)queue,
		.seqno = f->queues[queue].completed + 1,
	};
	if (cp->current == queue) {
		cp->running = false;
		set_current(f, ONPU_NO_QUEUE);
	}
}

static void run_job(struct fake *f)
{
	struct fake_cp *cp = &f->cp;
	struct fake_queue *q = &f->queues[cp->current];

	cp->job_time++;
	cp->used++;
	q->run_cycles++;
	if (f->num_runs)
		f->trace[f->num_runs - 1].cycles++;
	if (cp->job_time == q->jobs.fault_at) {
		fake_cp_fault(f, cp->current, ONPU_FAULT_TRAP);
	} else if (cp->job_time >= q->jobs.cycles) {
		cp->running = false;
		cp->busy = JOB_COST;
		q->completed++;
		if (q->jobs.endless)
			q->tail++;
	} else if (q->jobs.point && cp->job_time % q->jobs.point == 0 && fake_cp_switching(f)) {
		q->suspended = true;
		q->saved_time = cp->job_time;
		cp->running = false;
		set_current(f, ONPU_NO_QUEUE);
	}
}

static void start_job(struct fake *f)
{
	struct fake_cp *cp = &f->cp;
	struct fake_queue *q = &f->queues[cp->current];

	cp->busy = JOB_COST;
	if (!q->suspended && q->tail - q->head > q->ring_size && !q->jobs.endless) {
		fake_cp_fault(f, cp->current, ONPU_FAULT_SLOT_FORMAT);
		return;
	}
	cp->job_time = q->suspended ? q->saved_time : 0;
	q->head += !q->suspended;
	q->suspended = false;
	cp->running = true;
	cp->idle_raised = false;
}

static void end_kill(struct fake *f)
{
	struct fake_cp *cp = &f->cp;

	cp->kill_under_way = false;
	f->irq_status |= ONPU_CORE_IRQ_STATUS_KILLED__MASK;
}

/* Stops the queue at once; its accesses are complete kill_delay cycles later. */
void fake_cp_kill(struct fake *f, uint32_t queue)
{
	struct fake_cp *cp = &f->cp;
	struct fake_queue *q = &f->queues[queue];

	FAKE_CHECK(queue < f->num_queues, "KILL of queue %u", queue);
	FAKE_CHECK(!cp->kill_under_way, "KILL during a KILL");
	if (q->control & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK) {
		q->faulted = true;
		q->suspended = false;
		if (cp->current == queue) {
			cp->running = false;
			set_current(f, ONPU_NO_QUEUE);
		}
	}
	cp->killing = queue;
	cp->kill_left = cp->kill_delay;
	cp->kill_under_way = true;
	if (!cp->kill_left)
		end_kill(f);
}

static void check_slice(struct fake *f)
{
	struct fake_cp *cp = &f->cp;

	if (cp->slice && cp->used >= cp->slice && !cp->slice_raised &&
	    cp->current != ONPU_NO_QUEUE) {
		cp->slice_raised = true;
		f->irq_status |= ONPU_CORE_IRQ_STATUS_SLICE__MASK;
	}
}

/*
 * Returns whether the command processor changes nothing more until the firmware accesses a
 * register.
 */
bool fake_cp_at_rest(const struct fake *f)
{
	const struct fake_cp *cp = &f->cp;

	if (cp->busy || cp->running || fake_cp_switching(f))
		return false;
	if (cp->kill_under_way && cp->kill_left != UINT32_MAX)
		return false;
	return cp->current == ONPU_NO_QUEUE ||
	       (!fake_cp_has_work(f, cp->current) && cp->idle_raised);
}

void fake_cp_cycle(struct fake *f)
{
	struct fake_cp *cp = &f->cp;

	if (cp->kill_under_way && cp->kill_left != UINT32_MAX && !--cp->kill_left)
		end_kill(f);
	check_slice(f);
	if (cp->busy) {
		cp->busy--;
		return;
	}
	if (cp->running) {
		run_job(f);
	} else if (fake_cp_switching(f)) {
		set_current(f, target(f));
	} else if (cp->current == ONPU_NO_QUEUE) {
		return;
	} else if (fake_cp_has_work(f, cp->current)) {
		start_job(f);
	} else if (!cp->idle_raised) {
		cp->idle_raised = true;
		f->irq_status |= ONPU_CORE_IRQ_STATUS_IDLE__MASK;
	}
}
