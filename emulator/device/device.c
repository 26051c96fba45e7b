// SPDX-License-Identifier: MIT
/*
 * The device as a whole: creation, reset, register accesses of the host, and the loop that advances
 * the clock. There are three locks. `step` is held during one step of the device. `accesses.lock`
 * guards the queue of posted writes, so that a write never waits for a long instruction. `gate`
 * gives threads that wait for `step` their turn: without it the running thread would take `step`
 * back at once.
 */
#include "device/device.h"

#include <string.h>

#include "onpu_memory.h"

/* The most cycles that the management core runs between two checks for accesses of the host. */
#define CORE_STRETCH 16384
/*
 * While the machine executes one instruction, which may take the host long, accesses of the host
 * are served and the management core goes on, ahead of the machine. This many cycles after the last
 * access the core waits for the instruction to end, so that its lead is bounded.
 */
#define AHEAD 65536

struct onpu_device_config onpu_device_config_default(void)
{
	return (struct onpu_device_config){ .sim = onpu_sim_config_default() };
}

static void lock_step(struct onpu_device *d)
{
	atomic_fetch_add(&d->waiting, 1);
	pthread_mutex_lock(&d->gate);
	pthread_mutex_lock(&d->step);
	pthread_mutex_unlock(&d->gate);
	atomic_fetch_sub(&d->waiting, 1);
}

static void unlock_step(struct onpu_device *d)
{
	pthread_mutex_unlock(&d->step);
}

static void repeat(struct onpu_device *d);

/* Lets threads that wait for `step` have it first; called between two steps. */
static void give_way(struct onpu_device *d)
{
	repeat(d);
	if (!atomic_load(&d->waiting))
		return;
	unlock_step(d);
	pthread_mutex_lock(&d->gate);
	pthread_mutex_lock(&d->step);
	pthread_mutex_unlock(&d->gate);
}

static bool config_valid(const struct onpu_device_config *config, const char **error)
{
	if (config->sim.sram_bytes % ONPU_PAGE_SIZE) {
		*error = "the SRAM of a device is a multiple of 4096 bytes";
		return false;
	}
	if (!config->sim.num_queues || config->sim.num_queues > ONPU_MAX_QUEUES) {
		*error = "a device has 1 to 64 queues";
		return false;
	}
	return true;
}

static bool look(void *ctx);

static bool init_parts(struct onpu_device *d, const char **error)
{
	struct mmu_bus bus = { d->host.ctx, d->host.read, d->host.write };
	struct onpu_rv32_bus core_bus = {
		.ctx = d,
		.load = core_bus_load,
		.store = core_bus_store,
		.tcm = d->tcm,
		.tcm_base = ONPU_CORE_TCM_BASE,
		.tcm_size = ONPU_CAP_TCM_BYTES__RESET,
	};

	d->machine = onpu_machine_create_in(&d->memory, &d->config.sim, error);
	if (!d->machine)
		return false;
	onpu_machine_watch(d->machine, look, d);
	d->config.sim = *onpu_machine_config(d->machine);
	*error = "too little memory is free";
	return mmu_init(&d->mmu, &d->memory, &bus, d->config.tlb_sticky) &&
	       onpu_rv32_init(&d->core, &core_bus, 0, ONPU_CORE_TCM_BASE);
}

struct onpu_device *onpu_device_create(const struct onpu_device_config *config,
				       const struct onpu_host_ops *host, const char **error)
{
	return onpu_device_create_in(NULL, config, host, error);
}

struct onpu_device *onpu_device_create_in(const struct onpu_sim_memory *from,
					  const struct onpu_device_config *config,
					  const struct onpu_host_ops *host, const char **error)
{
	const struct onpu_sim_memory memory = from ? *from : (struct onpu_sim_memory){ 0 };
	struct onpu_device *d;
	const char *unused;

	error = error ? error : &unused;
	*error = "too little memory is free";
	d = sim_calloc(&memory, 1, sizeof(*d));
	if (!d)
		return NULL;
	d->memory = memory;
	d->config = config ? *config : onpu_device_config_default();
	d->host = *host;
	pthread_mutex_init(&d->gate, NULL);
	pthread_mutex_init(&d->step, NULL);
	pthread_mutex_init(&d->accesses.lock, NULL);
	if (!config_valid(&d->config, error) || !init_parts(d, error)) {
		onpu_device_destroy(d);
		return NULL;
	}
	device_reset_state(d);
	return d;
}

void onpu_device_destroy(struct onpu_device *d)
{
	struct onpu_sim_memory memory;

	if (!d)
		return;
	if (d->machine)
		onpu_machine_destroy(d->machine);
	mmu_destroy(&d->mmu);
	pthread_mutex_destroy(&d->accesses.lock);
	pthread_mutex_destroy(&d->step);
	pthread_mutex_destroy(&d->gate);
	memory = d->memory;
	sim_free(&memory, d);
}

void device_reset_state(struct onpu_device *d)
{
	cp_reset(d);
	tlb_flush(&d->mmu.tlb);
	memset(d->tcm, 0, sizeof(d->tcm));
	memset(&d->boot, 0, sizeof(d->boot));
	memset(&d->irq, 0, sizeof(d->irq));
	memset(&d->inv, 0, sizeof(d->inv));
	memset(&d->request, 0, sizeof(d->request));
	memset(&d->response, 0, sizeof(d->response));
	memset(&d->log, 0, sizeof(d->log));
	memset(d->doorbell, 0, sizeof(d->doorbell));
	memset(d->vms, 0, sizeof(d->vms));
	memset(d->queues, 0, sizeof(d->queues));
	d->cycle_high = 0;
	d->core_started = false;
	core_bus_reset(d);
	onpu_rv32_reset(&d->core, ONPU_CORE_TCM_BASE);
	irq_core_update(d);
}

static void trace(struct onpu_device *d, unsigned int kind, uint32_t offset, uint32_t value)
{
	if (d->inside)
		kind |= ONPU_ACCESS_INSIDE;
	if (d->host.trace)
		d->host.trace(d->host.ctx, device_now(d), kind, offset, value);
}

static bool take_access(struct onpu_device *d, struct access *access)
{
	struct access_queue *q = &d->accesses;
	bool some;

	if (!atomic_load(&q->pending))
		return false;
	pthread_mutex_lock(&q->lock);
	some = q->count;
	if (some) {
		*access = q->entries[q->head];
		q->head = (q->head + 1) % DEVICE_ACCESSES;
		q->count--;
		atomic_store(&q->pending, q->count);
	}
	pthread_mutex_unlock(&q->lock);
	return some;
}

static void apply(struct onpu_device *d, const struct access *access)
{
	d->ahead_end = device_now(d) + AHEAD;
	trace(d, access->kind, access->offset, access->value);
	if (access->kind == ONPU_ACCESS_RESET)
		device_reset_state(d);
	else
		bar0_write(d, access->offset, access->value);
}

static uint32_t apply_read(struct onpu_device *d, uint32_t offset)
{
	uint32_t value = bar0_read(d, offset);

	trace(d, ONPU_ACCESS_READ, offset, value);
	return value;
}

static void apply_fault(struct onpu_device *d, unsigned int kind)
{
	trace(d, kind, 0, 0);
	switch (kind) {
	case ONPU_ACCESS_PARITY:
		d->cp.parity = true;
		break;
	case ONPU_ACCESS_STUCK:
		d->cp.stuck = true;
		break;
	default:
		/*
		 * The core is as before its boot: neither instructions nor the timer have an
		 * effect.
		 */
		d->core_started = false;
	}
}

/*
 * Returns the event of a recording that is due at this point, an enum onpu_access, or
 * ONPU_ACCESS_INSIDE when no event is due.
 */
static unsigned int due(struct onpu_device *d, struct onpu_device_event *event)
{
	if (!d->replay || !d->replay(d->host.ctx, d->points, event))
		return ONPU_ACCESS_INSIDE;
	return event->kind & ~(unsigned int)ONPU_ACCESS_INSIDE;
}

/* Repeats the accesses of a recording that are due at this point. */
static void repeat(struct onpu_device *d)
{
	struct onpu_device_event event;
	unsigned int kind = due(d, &event);

	for (; kind <= ONPU_ACCESS_DEAD_CORE; kind = due(d, &event)) {
		const struct access access = { kind, event.offset, event.value };

		if (kind == ONPU_ACCESS_READ)
			apply_read(d, event.offset);
		else if (kind <= ONPU_ACCESS_RESET)
			apply(d, &access);
		else
			apply_fault(d, kind);
	}
}

/*
 * Returns whether an event happens that depends on when threads of the host run: @now, or in a
 * replay whether the recording has it here.
 */
static bool happens(struct onpu_device *d, enum onpu_access kind, bool now)
{
	struct onpu_device_event event;

	if (d->replay)
		now = due(d, &event) == kind;
	if (now)
		trace(d, kind, 0, 0);
	return now;
}

/* Applies the writes and resets that were posted. */
static void drain(struct onpu_device *d)
{
	struct access access;

	repeat(d);
	while (take_access(d, &access))
		apply(d, &access);
}

static bool put_access(struct onpu_device *d, const struct access *access)
{
	struct access_queue *q = &d->accesses;
	bool room;

	pthread_mutex_lock(&q->lock);
	room = q->count < DEVICE_ACCESSES;
	if (room) {
		q->entries[(q->head + q->count) % DEVICE_ACCESSES] = *access;
		q->count++;
		atomic_store(&q->pending, q->count);
	}
	pthread_mutex_unlock(&q->lock);
	return room;
}

static void post(struct onpu_device *d, const struct access *access)
{
	while (!put_access(d, access)) {
		lock_step(d);
		drain(d);
		unlock_step(d);
	}
	/*
	 * Another thread that holds `step` may have drained the queue before this access was in it.
	 * So wake the thread that runs the device in any case.
	 */
	if (!pthread_mutex_trylock(&d->step)) {
		drain(d);
		unlock_step(d);
	}
	if (d->host.wake)
		d->host.wake(d->host.ctx);
}

static bool is_register(uint64_t offset, unsigned int size)
{
	return size == 4 && !(offset % 4) && offset < ONPU_BAR0_SIZE;
}

uint64_t onpu_device_mmio_read(struct onpu_device *d, uint64_t offset, unsigned int size)
{
	uint32_t value;

	if (!is_register(offset, size))
		return size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
	lock_step(d);
	drain(d);
	value = apply_read(d, (uint32_t)offset);
	unlock_step(d);
	return value;
}

void onpu_device_mmio_write(struct onpu_device *d, uint64_t offset, unsigned int size,
			    uint64_t value)
{
	struct access access = { ONPU_ACCESS_WRITE, (uint32_t)offset, (uint32_t)value };

	if (is_register(offset, size))
		post(d, &access);
}

void onpu_device_reset(struct onpu_device *d)
{
	const struct access access = { .kind = ONPU_ACCESS_RESET };

	post(d, &access);
	lock_step(d);
	drain(d);
	unlock_step(d);
}

uint64_t onpu_device_cycle(struct onpu_device *d)
{
	uint64_t cycle;

	lock_step(d);
	cycle = device_now(d);
	unlock_step(d);
	return cycle;
}

static void inject(struct onpu_device *d, enum onpu_access kind)
{
	lock_step(d);
	apply_fault(d, kind);
	unlock_step(d);
}

void onpu_device_inject_parity(struct onpu_device *d)
{
	inject(d, ONPU_ACCESS_PARITY);
}

void onpu_device_inject_stuck(struct onpu_device *d)
{
	inject(d, ONPU_ACCESS_STUCK);
}

void onpu_device_inject_dead_core(struct onpu_device *d)
{
	inject(d, ONPU_ACCESS_DEAD_CORE);
}

/*
 * Returns the time when the timer line rises, or DEVICE_NEVER: the line is high already, or a
 * parked core has not enabled it.
 */
static uint64_t timer_next(const struct onpu_device *d)
{
	bool awaited = d->core.mie & ONPU_RV32_IRQ_TIMER || !d->core.parked;

	return awaited && d->regs.mtimecmp > device_now(d) ? d->regs.mtimecmp : DEVICE_NEVER;
}

static void run_core(struct onpu_device *d, uint64_t until)
{
	enum onpu_rv32_stop stop = onpu_rv32_run(&d->core, until);

	if (stop == ONPU_RV32_HALTED)
		boot_set_status(d, ONPU_STATE_HALTED, ONPU_BOOT_ERROR_NONE,
				d->core.halt_cause & 0xffff);
}

/* Runs the management core until @until at most. Returns false if it has nothing to do. */
static bool core_step(struct onpu_device *d, uint64_t until)
{
	if (d->regs.stall) {
		/* The core stands still while its DMA transfer, or the boot ROM's, is under way. */
		uint64_t part = device_earlier(d->regs.stall, until - device_now(d));

		d->regs.stall -= part;
		onpu_rv32_advance(&d->core, device_now(d) + part);
		return true;
	}
	if (!d->core_started || !onpu_rv32_runnable(&d->core))
		return false;
	run_core(d, device_earlier(until, device_now(d) + CORE_STRETCH));
	return true;
}

/*
 * Does the next action that is due before @end. Returns false if none will be due until the host
 * accesses the device.
 */
static bool device_step(struct onpu_device *d, uint64_t end)
{
	uint64_t next;

	if (inv_poll(d) || cp_poll(d))
		return true;
	irq_core_update(d);
	next = device_earlier(inv_next(d), cp_next(d));
	if (d->core_started && !d->core.halted)
		next = device_earlier(next, timer_next(d));
	if (core_step(d, device_earlier(next, end)))
		return true;
	if (next == DEVICE_NEVER)
		return false;
	onpu_rv32_advance(&d->core, device_earlier(next, end));
	return true;
}

static bool run(struct onpu_device *d, uint64_t budget)
{
	bool busy = true;
	uint64_t end;

	trace(d, ONPU_ACCESS_RUN, (uint32_t)(budget >> 32), (uint32_t)budget);
	end = budget > DEVICE_NEVER - device_now(d) ? DEVICE_NEVER : device_now(d) + budget;
	while (busy && device_now(d) < end && !atomic_load(&d->stop)) {
		d->points++;
		drain(d);
		busy = device_step(d, end) ||
		       happens(d, ONPU_ACCESS_AGAIN, atomic_load(&d->accesses.pending));
		d->points++;
		give_way(d);
	}
	d->points++;
	return busy && !atomic_load(&d->stop);
}

enum onpu_progress onpu_device_run(struct onpu_device *d, uint64_t budget)
{
	bool busy;

	lock_step(d);
	busy = run(d, budget);
	unlock_step(d);
	return busy ? ONPU_PROGRESS_BUSY : ONPU_PROGRESS_IDLE;
}

uint64_t onpu_device_point(const struct onpu_device *d)
{
	return d->points;
}

void onpu_device_replay(struct onpu_device *d,
			bool (*next)(void *ctx, uint64_t point, struct onpu_device_event *event))
{
	struct onpu_device_event event;

	lock_step(d);
	d->replay = next;
	for (repeat(d); due(d, &event) == ONPU_ACCESS_RUN && !atomic_load(&d->stop); repeat(d))
		run(d, (uint64_t)event.offset << 32 | event.value);
	unlock_step(d);
}

/* ---- Inside an instruction ---- */

/*
 * Does a step of the core or an invalidation while the command processor is inside an instruction.
 * Returns false if there is no more to do until the instruction ends.
 */
static bool step_ahead(struct onpu_device *d)
{
	if (inv_poll(d))
		return true;
	irq_core_update(d);
	if (device_now(d) >= d->ahead_end)
		return false;
	if (core_step(d, device_earlier(inv_next(d), d->ahead_end)))
		return true;
	if (inv_next(d) >= d->ahead_end)
		return false;
	onpu_rv32_advance(&d->core, inv_next(d));
	return true;
}

/*
 * The machine calls this every few microseconds while it executes an instruction, which may take
 * the host seconds. It serves accesses of the host and lets the core go on, so that a KILL, a reset
 * or an invalidation does not have to wait. Returns true when the job is given up.
 */
static bool look(void *ctx)
{
	struct onpu_device *d = ctx;

	d->points++;
	if (!happens(d, ONPU_ACCESS_LOOK,
		     atomic_load(&d->accesses.pending) || atomic_load(&d->waiting)) &&
	    !atomic_load(&d->stop))
		return false;
	do {
		d->points++;
		drain(d);
		give_way(d);
	} while (d->cp.running && !atomic_load(&d->stop) && step_ahead(d));
	return !d->cp.running || atomic_load(&d->stop);
}

enum onpu_step device_step_machine(struct onpu_device *d)
{
	enum onpu_step step;

	d->cp.shown = cp_job_time(d);
	d->inside = true;
	d->ahead_end = device_now(d) + AHEAD;
	step = onpu_machine_step(d->machine);
	d->inside = false;
	return step;
}

void onpu_device_stop(struct onpu_device *d)
{
	atomic_store(&d->stop, true);
}
