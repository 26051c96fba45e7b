// SPDX-License-Identifier: MIT
/*
 * Scheduling. The CP runs a queue of the highest priority that has work. Queues of equal priority
 * share the CP in time slices: a slice ends when the queue has no more work, when its cycles are
 * used up and another queue of its priority waits, or when a queue of higher priority wants to run.
 *
 * No priority starves. A priority that has had work for FW_STARVED slices while others ran gets one
 * slice that those above it do not interrupt.
 *
 * The next slice belongs to the client, that is, the address space, that has used the least time,
 * so that clients share the device whatever number of queues they have, and however far their
 * instructions exceed the slice. Unused time is not owed: a client that comes back after a pause is
 * ahead of the others by a slice at most. The queues of an address space run in rotation, and a
 * queue that was interrupted is not the next one: otherwise a client of high priority that comes
 * back more often than a slice is long would let one queue of a lower priority begin its slice
 * again and again, and the queues beside it would starve.
 *
 * Why no wake-up is lost: the state of a queue is always read from the CP; `ready` only says which
 * queues are worth checking, and may also name queues without work:
 *  - A doorbell updates the queue's tail first, then its bit in DOORBELL. take_doorbells() clears
 *    the bit before anything reads the queue's state: a doorbell before the clearing is in the
 *    state that is read later, one after it sets the bit anew, and the line stays high.
 *  - is_ready() forgets a queue only when the CP says that it has no work; from then on only a
 *    doorbell gives it work.
 *  - The resident queue's end of work, end of slice and fault come as the interrupts IDLE, SLICE
 *    and FAULT. These are cleared at the beginning of an iteration of the loop, before the state is
 *    read. SLICE may have been raised and cleared while no other queue waited: SLICE_USED still
 *    tells when one comes.
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

/* Sets the number of cycles at which the resident queue's time slice ends. */
static void write_slice(struct firmware *fw, uint32_t cycles)
{
	fw->sched.written_slice = cycles;
	hw_write(ONPU_REG_CORE_SLICE, cycles);
}

void sched_set_slice(struct firmware *fw, uint32_t cycles)
{
	fw->sched.slice = cycles;
	write_slice(fw, cycles);
}

void sched_start(struct firmware *fw)
{
	fw->sched.running = ONPU_NO_QUEUE;
	fw->sched.owed = ONPU_PRIORITY_COUNT;
	sched_set_slice(fw, FW_DEFAULT_SLICE);
}

void sched_forget_vm(struct firmware *fw, uint32_t vm)
{
	for (uint32_t priority = 0; priority < ONPU_PRIORITY_COUNT; priority++) {
		struct fw_shares *shares = &fw->sched.shares[priority];

		shares->vms[vm] = (struct fw_share){ .last = UINT8_MAX };
		shares->present[word_of(vm)] &= ~bit_of(vm);
	}
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

/* Returns the share of the client of a queue. */
static struct fw_share *share_of(struct firmware *fw, uint32_t queue)
{
	const struct fw_sched *s = &fw->sched;

	return &fw->sched.shares[s->priority[queue]].vms[s->vm[queue]];
}

/* Charges the running queue's client for the cycles that the queue used since the last call. */
static void charge_running(struct firmware *fw)
{
	struct fw_sched *s = &fw->sched;
	uint32_t used;

	if (s->running == ONPU_NO_QUEUE || !s->arrived)
		return;
	/* The register reads zero when the queue is not resident any more. */
	used = hw_read(ONPU_REG_CORE_CONTEXT_SLICE_USED(s->running));
	if (used > s->charged) {
		share_of(fw, s->running)->used += used - s->charged;
		s->charged = used;
	}
}

/* Charges the client of the queue that has left for the time that the CP took to leave it. */
static void charge_leaving(struct fw_sched *s)
{
	if (s->leaving)
		s->leaving->used += hw_cycle() - s->left_at;
	s->leaving = NULL;
}

/*
 * Notes, once, that the queue that RUN_QUEUE names has become resident. A queue can only fault
 * while it is resident, so a queue that has faulted was resident, even if it no longer is.
 */
static void note_arrival(struct firmware *fw)
{
	struct fw_sched *s = &fw->sched;

	if (s->running == ONPU_NO_QUEUE || s->arrived)
		return;
	if (current_queue() != s->running && state_of(s->running) != ONPU_QUEUE_FAULTED)
		return;
	s->arrived = true;
	charge_leaving(s);
	fw->counts.switches++;
	log_value(fw, ONPU_LOG_DEBUG, "resident queue", s->running);
}

/*
 * Writes RUN_QUEUE. Checking for an arrival before and after the write misses none: the CP takes
 * longer for a switch than these few instructions take.
 */
static void set_running(struct firmware *fw, uint32_t queue)
{
	struct fw_sched *s = &fw->sched;
	bool resident;

	if (s->running == queue)
		return;
	note_arrival(fw);
	/*
	 * note_arrival() writes to the log. When the log cannot be reached, the firmware fails, and
	 * the CP is stopped already.
	 */
	if (fw->failed)
		return;
	charge_running(fw);
	/* A queue that has work goes on until the CP comes to a preemption point. */
	if (s->running != ONPU_NO_QUEUE && s->arrived && has_work(s->running)) {
		s->leaving = share_of(fw, s->running);
		s->left_at = hw_cycle();
	}
	resident = current_queue() == queue;
	s->charged = 0;
	if (queue == ONPU_NO_QUEUE) {
		s->leaving = NULL;
	} else if (resident) {
		/* The queue was about to leave, and now stays. */
		charge_leaving(s);
		s->charged = hw_read(ONPU_REG_CORE_CONTEXT_SLICE_USED(queue));
	}
	hw_write(ONPU_REG_CORE_RUN_QUEUE, queue);
	note_arrival(fw);
	s->running = queue;
	s->arrived = resident && current_queue() == queue;
	note_arrival(fw);
}

/* Gives a queue no more slices until its next doorbell, and ends the slice that it has. */
static void stop(struct firmware *fw, uint32_t queue)
{
	fw->sched.ready[word_of(queue)] &= ~bit_of(queue);
	if (fw->sched.running == queue)
		set_running(fw, ONPU_NO_QUEUE);
}

/* Adds a bound queue. With `ready`, it has an interrupted job, which needs no doorbell. */
void sched_add(struct firmware *fw, uint32_t queue, uint32_t vm, uint32_t priority, bool ready)
{
	fw->sched.vm[queue] = (uint8_t)vm;
	fw->sched.priority[queue] = (uint8_t)priority;
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

/*
 * Returns whether queue `first` comes before `second` in the rotation of a client's queues, which
 * goes on after the last one that ran.
 */
static bool comes_before(const struct fw_share *share, uint32_t first, uint32_t second)
{
	return (first > share->last) == (second > share->last) ? first < second :
								 first > share->last;
}

/* Returns the number of the first set bit at or after `from`; 32 * FW_VM_WORDS if there is none. */
static uint32_t next_bit(const uint32_t *words, uint32_t from)
{
	for (uint32_t i = word_of(from); i < FW_VM_WORDS; i++, from = 32 * i) {
		uint32_t bits = words[i] >> from % 32;

		for (; bits; bits >>= 1, from++)
			if (bits & 1)
				return from;
	}
	return 32 * FW_VM_WORDS;
}

/*
 * Sets the bits in `vms` of the clients with ready queues of this priority, and notes the next
 * queue of each client. Returns the number of ready queues.
 */
static uint32_t find_ready(struct firmware *fw, uint32_t priority, uint32_t *vms)
{
	const struct fw_sched *s = &fw->sched;
	uint32_t count = 0;

	for (uint32_t i = 0; i < FW_QUEUE_WORDS; i++) {
		uint32_t bits = s->bound[priority][i] & s->ready[i];

		for (uint32_t queue = 32 * i; bits; queue++, bits >>= 1) {
			uint32_t vm = s->vm[queue];
			struct fw_share *share = share_of(fw, queue);

			if (!(bits & 1) || !is_ready(fw, queue))
				continue;
			if (!(vms[word_of(vm)] & bit_of(vm)) ||
			    comes_before(share, queue, share->next))
				share->next = (uint8_t)queue;
			vms[word_of(vm)] |= bit_of(vm);
			count++;
		}
	}
	return count;
}

/*
 * Advances the clock to the least share of the clients that have been ready or running since the
 * last slice began.
 */
static void advance_clock(struct fw_shares *shares, const uint32_t *vms)
{
	uint64_t least = UINT64_MAX;
	uint32_t stayed[FW_VM_WORDS];

	for (uint32_t i = 0; i < FW_VM_WORDS; i++)
		stayed[i] = vms[i] & shares->present[i];
	for (uint32_t i = 0; (i = next_bit(stayed, i)) < ONPU_REG_CORE_VM__LENGTH; i++)
		if (shares->vms[i].used < least)
			least = shares->vms[i].used;
	if (least != UINT64_MAX && least > shares->clock)
		shares->clock = least;
}

/*
 * Returns the share with which a client that was not ready starts: @used, limited to a slice before
 * the clock and two slices after it.
 */
static uint64_t clamp_share(const struct firmware *fw, const struct fw_shares *shares,
			    uint64_t used)
{
	uint64_t slice = fw->sched.slice;
	uint64_t first = shares->clock > slice ? shares->clock - slice : 0;
	uint64_t last = shares->clock + 2 * slice;

	return used < first ? first : used > last ? last : used;
}

/*
 * Returns the queue of this priority that gets the next slice, or ONPU_NO_QUEUE. Sets *alone to
 * whether no other queue of this priority is ready.
 */
static uint32_t next_ready(struct firmware *fw, uint32_t priority, bool *alone)
{
	struct fw_shares *shares = &fw->sched.shares[priority];
	struct fw_share *best = NULL;
	uint32_t vms[FW_VM_WORDS] = { 0 };
	uint32_t count;

	count = find_ready(fw, priority, vms);
	if (count)
		charge_running(fw);
	advance_clock(shares, vms);
	for (uint32_t i = 0; (i = next_bit(vms, i)) < ONPU_REG_CORE_VM__LENGTH; i++) {
		struct fw_share *share = &shares->vms[i];

		if (!(shares->present[word_of(i)] & bit_of(i)))
			share->used = clamp_share(fw, shares, share->used);
		if (!best || share->used < best->used)
			best = share;
	}
	for (uint32_t i = 0; i < FW_VM_WORDS; i++)
		shares->present[i] = vms[i];
	*alone = count == 1;
	if (!best)
		return ONPU_NO_QUEUE;
	best->last = best->next;
	return best->next;
}

/* Returns whether the running queue is of this priority and its slice has not ended. */
static bool slice_lasts(struct firmware *fw, uint32_t priority)
{
	const struct fw_sched *s = &fw->sched;
	uint32_t queue = s->running;

	if (queue == ONPU_NO_QUEUE || !(s->bound[priority][word_of(queue)] & bit_of(queue)) ||
	    !is_ready(fw, queue))
		return false;
	if (!s->slice || !s->arrived)
		return true;
	return hw_read(ONPU_REG_CORE_CONTEXT_SLICE_USED(queue)) < s->written_slice;
}

static bool may_have_work(const struct fw_sched *s, uint32_t priority)
{
	for (uint32_t i = 0; i < FW_QUEUE_WORDS; i++)
		if (s->bound[priority][i] & s->ready[i])
			return true;
	return false;
}

/*
 * Returns, as bits, the priorities that may have work, without the running queue's own, and notes
 * for each of them since when it has waited.
 */
static uint32_t note_waiting(struct fw_sched *s)
{
	uint32_t running = s->running == ONPU_NO_QUEUE ? ONPU_PRIORITY_COUNT :
							 s->priority[s->running];
	uint32_t waiting = 0;

	for (uint32_t p = 0; p < ONPU_PRIORITY_COUNT; p++) {
		if (p == running || !may_have_work(s, p))
			continue;
		if (!(s->waiting & bit_of(p)))
			s->waits_since[p] = hw_cycle();
		waiting |= bit_of(p);
	}
	s->waiting = waiting;
	return waiting;
}

/*
 * Returns the lowest priority that has waited so long that it gets the next slice, or
 * ONPU_PRIORITY_COUNT.
 */
static uint32_t starved(const struct fw_sched *s)
{
	const uint64_t longest = (uint64_t)FW_STARVED * s->slice;

	for (uint32_t p = 0; longest && p < ONPU_PRIORITY_COUNT - 1; p++)
		if (s->waiting & bit_of(p) && hw_cycle() - s->waits_since[p] > longest)
			return p;
	return ONPU_PRIORITY_COUNT;
}

/*
 * Starts a slice. A queue that goes on while others wait gets another slice; a queue that is alone
 * keeps its old slice, and gives way as soon as another queue is ready.
 */
static void begin_slice(struct firmware *fw, uint32_t queue, bool alone)
{
	struct fw_sched *s = &fw->sched;

	if (s->running != queue) {
		if (s->written_slice != s->slice)
			write_slice(fw, s->slice);
		set_running(fw, queue);
	} else if (!alone && s->slice) {
		write_slice(fw, s->charged + s->slice);
	}
}

/* Gives the next slice to a queue of this priority; returns whether one runs now. */
static bool give_slice(struct firmware *fw, uint32_t priority)
{
	uint32_t next;
	bool alone;

	if (slice_lasts(fw, priority))
		return true;
	next = next_ready(fw, priority, &alone);
	if (next == ONPU_NO_QUEUE)
		return false;
	/* If lower priorities wait, the slice has to end, so that starved() is checked. */
	begin_slice(fw, next, alone && !(note_waiting(&fw->sched) & (bit_of(priority) - 1)));
	return true;
}

void sched_poll(struct firmware *fw)
{
	struct fw_sched *s = &fw->sched;

	take_doorbells(fw);
	note_arrival(fw);
	if (s->slice && s->owed < ONPU_PRIORITY_COUNT && slice_lasts(fw, s->owed))
		return;
	note_waiting(s);
	s->owed = starved(s);
	if (s->owed < ONPU_PRIORITY_COUNT && give_slice(fw, s->owed))
		return;
	s->owed = ONPU_PRIORITY_COUNT;
	for (uint32_t priority = ONPU_PRIORITY_COUNT; priority-- > 0;)
		if (give_slice(fw, priority))
			return;
	/* No queue has work: leave the last one resident, in case it gets work first. */
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
 * Makes a queue without work leave the CP. Returns false if it has work or does not leave; then it
 * stays ready. A doorbell may come after the first has_work() and before the CP has left the queue,
 * and the CP may then have begun with the job. The second has_work() sees that.
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
 * Makes a queue leave the CP. Returns false if it has not left in time; then it stays ready. The CP
 * leaves a running job at its next preemption point, or ends it when SWITCH_LIMIT is over. As
 * RUN_QUEUE names the queue no longer, it does not become resident again.
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
 * Aborts the job of a queue. Returns false if the CP has not confirmed it in time. RUN_QUEUE is
 * written before KILL: otherwise a queue that the CP is about to make resident could become so
 * after KILL has checked it.
 */
bool sched_kill(struct firmware *fw, uint32_t queue)
{
	stop(fw, queue);
	/* Wait for an earlier KILL, whose end would be taken for that of this one. */
	if (fw->sched.killing && !wait_until(is_killed, queue, FW_CP_PATIENCE))
		return false;
	hw_write(ONPU_REG_CORE_IRQ_STATUS, ONPU_CORE_IRQ_STATUS_KILLED__MASK);
	hw_write(ONPU_REG_CORE_KILL, queue);
	fw->sched.killing = !wait_until(is_killed, queue, FW_CP_PATIENCE);
	return !fw->sched.killing;
}
