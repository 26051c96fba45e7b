// SPDX-License-Identifier: MIT
/*
 * Scheduling. The queue that runs is one of the highest priority that has work. Those of equal
 * priority take turns: a turn ends when the queue has no more work, when it has used up the slice
 * and another one of its priority waits, or when a queue of higher priority wants to run. The next
 * turn then goes to the next queue, not to the one that was interrupted: otherwise a client of
 * high priority that comes back more often than a slice is long would let the same queue of a
 * lower one begin its slice again and again, and its neighbours would starve.
 *
 * Why no wake-up is lost. What a queue is up to is always read from the CP; `ready` only says for
 * which queues it is worth looking, and errs on the side of looking:
 *  - A doorbell updates the queue's tail first, then its bit in DOORBELL. take_doorbells() clears
 *    the bit before anything reads the queue's state: a doorbell before the clearing is in the
 *    state that is read later, one after it sets the bit anew, and the line stays high.
 *  - is_ready() forgets a queue only when the CP says that it has no work; from then on nothing
 *    but a doorbell gives it any.
 *  - The resident queue's end of work, end of slice and fault come as IDLE, SLICE and FAULT. They
 *    are cleared at the beginning of a turn of the loop, before the state is read. SLICE may have
 *    come and gone while nobody else waited: SLICE_USED still tells when somebody comes.
 *  - WFI returns at once when the line is high already.
 */
#include "firmware.h"

static uint32_t word_of(uint32_t queue)
{
	return queue / 32;
}

static uint32_t bit_of(uint32_t queue)
{
	return UINT32_C(1) << queue % 32;
}

void sched_set_slice(struct firmware *fw, uint32_t cycles)
{
	fw->sched.slice = cycles;
	hw_write(ONPU_REG_CORE_SLICE, cycles);
}

void sched_start(struct firmware *fw)
{
	fw->sched.running = ONPU_NO_QUEUE;
	for (uint32_t priority = 0; priority < ONPU_PRIORITY_COUNT; priority++)
		fw->sched.last[priority] = fw->num_queues - 1;
	sched_set_slice(fw, FW_DEFAULT_SLICE);
}

static uint32_t current_queue(void)
{
	return (hw_read(ONPU_REG_CORE_CURRENT) & ONPU_CORE_CURRENT_QUEUE__MASK) >>
	       ONPU_CORE_CURRENT_QUEUE__SHIFT;
}

static enum onpu_queue_state state_of(uint32_t queue)
{
	return (enum onpu_queue_state)hw_read(ONPU_REG_CORE_CONTEXT_STATE(queue));
}

static bool has_work(uint32_t queue)
{
	enum onpu_queue_state state = state_of(queue);

	return state == ONPU_QUEUE_READY || state == ONPU_QUEUE_RUNNING;
}

/*
 * Count the change to the queue that RUN_QUEUE names, once. A queue can only fault while it is
 * resident, so one that has faulted has been resident, even if it no longer is.
 */
static void note_arrival(struct firmware *fw)
{
	struct fw_sched *s = &fw->sched;

	if (s->running == ONPU_NO_QUEUE || s->arrived)
		return;
	if (current_queue() != s->running && state_of(s->running) != ONPU_QUEUE_FAULTED)
		return;
	s->arrived = true;
	fw->counts.switches++;
	log_value(fw, ONPU_LOG_DEBUG, "resident queue", s->running);
}

/*
 * Looking for an arrival before and after RUN_QUEUE is written misses none: the CP takes longer for
 * a change than these few instructions take.
 */
static void set_running(struct firmware *fw, uint32_t queue)
{
	struct fw_sched *s = &fw->sched;
	bool resident;

	if (s->running == queue)
		return;
	note_arrival(fw);
	/*
	 * note_arrival() writes to the log, and when the log cannot be reached, the firmware fails
	 * and has stopped the CP already.
	 */
	if (fw->failed)
		return;
	resident = current_queue() == queue;
	hw_write(ONPU_REG_CORE_RUN_QUEUE, queue);
	note_arrival(fw);
	s->running = queue;
	s->arrived = resident && current_queue() == queue;
	note_arrival(fw);
}

/* No more turns for a queue until its next doorbell. */
static void stop(struct firmware *fw, uint32_t queue)
{
	fw->sched.ready[word_of(queue)] &= ~bit_of(queue);
	if (fw->sched.running == queue)
		set_running(fw, ONPU_NO_QUEUE);
}

/* A queue that has a job to go on with needs no doorbell. */
void sched_add(struct firmware *fw, uint32_t queue, uint32_t priority, bool ready)
{
	fw->sched.bound[priority][word_of(queue)] |= bit_of(queue);
	if (ready)
		fw->sched.ready[word_of(queue)] |= bit_of(queue);
}

void sched_remove(struct firmware *fw, uint32_t queue)
{
	stop(fw, queue);
	for (uint32_t priority = 0; priority < ONPU_PRIORITY_COUNT; priority++)
		fw->sched.bound[priority][word_of(queue)] &= ~bit_of(queue);
}

static void take_doorbells(struct firmware *fw)
{
	for (uint32_t i = 0; i < FW_QUEUE_WORDS; i++) {
		uint32_t rung = hw_read(ONPU_REG_CORE_DOORBELL_PENDING(i));

		if (!rung)
			continue;
		hw_write(ONPU_REG_CORE_DOORBELL_PENDING(i), rung);
		fw->sched.ready[i] |= rung;
	}
}

static bool is_ready(struct firmware *fw, uint32_t queue)
{
	uint32_t *ready = &fw->sched.ready[word_of(queue)];

	if (!(*ready & bit_of(queue)))
		return false;
	if (has_work(queue))
		return true;
	*ready &= ~bit_of(queue);
	return false;
}

static bool anybody(const struct firmware *fw, uint32_t priority)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < FW_QUEUE_WORDS; i++)
		found |= fw->sched.bound[priority][i] & fw->sched.ready[i];
	return found;
}

/* The next ready queue of a priority, in turn: the queue that ran last is looked at last. */
static uint32_t next_ready(struct firmware *fw, uint32_t priority)
{
	uint32_t queue = fw->sched.last[priority];

	if (!anybody(fw, priority))
		return ONPU_NO_QUEUE;
	for (uint32_t i = 0; i < fw->num_queues; i++) {
		queue = queue + 1 < fw->num_queues ? queue + 1 : 0;
		if (fw->sched.bound[priority][word_of(queue)] & bit_of(queue) &&
		    is_ready(fw, queue))
			return queue;
	}
	return ONPU_NO_QUEUE;
}

/* Whether the running queue is of this priority and its turn has not ended. */
static bool turn_lasts(struct firmware *fw, uint32_t priority)
{
	const struct fw_sched *s = &fw->sched;
	uint32_t queue = s->running;

	if (queue == ONPU_NO_QUEUE || !(s->bound[priority][word_of(queue)] & bit_of(queue)) ||
	    !is_ready(fw, queue))
		return false;
	if (!s->slice || !s->arrived)
		return true;
	return hw_read(ONPU_REG_CORE_CONTEXT_SLICE_USED(queue)) < s->slice;
}

void sched_poll(struct firmware *fw)
{
	struct fw_sched *s = &fw->sched;

	take_doorbells(fw);
	note_arrival(fw);
	for (uint32_t priority = ONPU_PRIORITY_COUNT; priority-- > 0;) {
		uint32_t next;

		if (turn_lasts(fw, priority))
			return;
		next = next_ready(fw, priority);
		if (next != ONPU_NO_QUEUE) {
			s->last[priority] = next;
			set_running(fw, next);
			return;
		}
	}
	/* No queue has work: leave the last one resident, in case it is the next to have some. */
}

static bool has_left(uint32_t queue)
{
	return current_queue() != queue;
}

static bool is_killed(uint32_t queue)
{
	(void)queue;
	return hw_read(ONPU_REG_CORE_IRQ_STATUS) & ONPU_CORE_IRQ_STATUS_KILLED__MASK;
}

static bool wait_until(bool (*done)(uint32_t queue), uint32_t queue, uint32_t patience)
{
	uint64_t start = hw_cycle();

	while (!done(queue))
		if (hw_cycle() - start > patience)
			return false;
	return true;
}

/*
 * A doorbell may come after the first has_work() and before the CP has left the queue, and the CP
 * may then have begun with the job. The second has_work() sees that.
 */
bool sched_evict(struct firmware *fw, uint32_t queue)
{
	if (has_work(queue))
		return false;
	stop(fw, queue);
	if (wait_until(has_left, queue, FW_CP_PATIENCE) && !has_work(queue))
		return true;
	fw->sched.ready[word_of(queue)] |= bit_of(queue);
	return false;
}

/*
 * The CP leaves a running job at its next preemption point, or ends it when SWITCH_LIMIT is over. As
 * the queue is no longer the one to run, nothing makes it resident again.
 */
bool sched_preempt(struct firmware *fw, uint32_t queue)
{
	stop(fw, queue);
	if (wait_until(has_left, queue, ONPU_CORE_SWITCH_LIMIT__RESET + FW_CP_PATIENCE))
		return true;
	fw->sched.ready[word_of(queue)] |= bit_of(queue);
	return false;
}

/*
 * Write RUN_QUEUE before KILL: otherwise a queue that the CP is about to make resident could become
 * so after KILL has looked at it.
 */
bool sched_kill(struct firmware *fw, uint32_t queue)
{
	stop(fw, queue);
	hw_write(ONPU_REG_CORE_IRQ_STATUS, ONPU_CORE_IRQ_STATUS_KILLED__MASK);
	hw_write(ONPU_REG_CORE_KILL, queue);
	return wait_until(is_killed, queue, FW_CP_PATIENCE);
}
