/* SPDX-License-Identifier: MIT */
/*
 * Private interface of device/: the state, one structure for each file, and the functions that the
 * files call of each other. All of them are called with the lock `step` held (see device.c).
 */
#ifndef ONPU_DEVICE_DEVICE_H
#define ONPU_DEVICE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/mmu.h"
#include "onpu/registers.h"
#include "onpu_device.h"
#include "device/riscv.h"

#define DEVICE_NEVER	     UINT64_MAX
#define DEVICE_ACCESSES	     256
#define DEVICE_INVALIDATIONS 32

/* Sets one half of a 64-bit register pair. */
static inline void device_set_low(uint64_t *pair, uint32_t value)
{
	*pair = (*pair & ~(uint64_t)UINT32_MAX) | value;
}

static inline void device_set_high(uint64_t *pair, uint32_t value)
{
	*pair = (uint64_t)value << 32 | (uint32_t)*pair;
}

/* A write or a reset by the host that waits for the next step. */
struct access {
	enum onpu_access kind;
	uint32_t offset, value;
};

struct access_queue {
	pthread_mutex_t lock;
	struct access entries[DEVICE_ACCESSES];
	unsigned int head, count;
	atomic_uint pending; /* number of accesses, which can be read without the lock */
};

/* A ring between driver and firmware: one of them writes head, the other tail. */
struct message_ring {
	uint64_t base;
	uint32_t size;
	uint32_t head, tail;
};

struct boot_regs {
	uint32_t status;
	uint64_t address;
	uint32_t size;
	uint32_t abi, version;
};

struct irq_regs {
	uint32_t status; /* without COMPLETION, which is set while a bit of @queue is */
	uint32_t enable;
	uint32_t queue[2];
	uint32_t raised; /* status & enable when vector 0 was last checked */
};

struct invalidation {
	uint32_t name;
	uint64_t due;
};

struct inv_regs {
	uint32_t asid, pages;
	uint64_t va;
	uint32_t request, done;
	struct invalidation waiting[DEVICE_INVALIDATIONS];
	unsigned int count;
};

/* Registers that only the firmware can access. */
struct core_regs {
	uint64_t mtimecmp;
	uint32_t irq_status; /* without DOORBELL and FAULT */
	uint32_t irq_enable;
	uint32_t doorbell[2];
	uint64_t dma_host;
	uint32_t dma_local, dma_length, dma_error;
	uint64_t stall; /* cycles that a DMA transfer of the core, or the boot ROM, still takes */
};

struct vm_entry {
	uint64_t root;
	uint32_t control;
};

/* A hardware queue and the context bound to it. */
struct queue {
	/* values that the firmware wrote */
	uint32_t control, id;
	uint64_t ring, save, completion;
	uint32_t ring_size;

	bool faulted;
	uint32_t head, tail;
	uint64_t last_seqno;
	uint64_t retired;    /* instructions of the jobs that ended */
	uint64_t run_cycles; /* cycles of the jobs that ended */
	/* The cycles, instructions issued and next instruction of a job in the save area. */
	uint64_t suspended_time;
	uint64_t suspended_issued;
	uint64_t suspended_index;
	bool suspended;
	/*
	 * The job was suspended before its queue was bound: only the save area tells which job it
	 * is.
	 */
	bool resumed;
	struct onpu_ring_job job; /* the running or suspended job */
};

/* The memory of one queue: as its engines access it, or (privileged) as the CP itself does. */
struct port {
	struct onpu_device *device;
	unsigned int queue;
	bool privileged;
	uint64_t fault_va;
};

struct cp {
	uint32_t run_queue, slice, switch_limit;
	unsigned int current;
	bool running;  /* the machine has a job of the current queue */
	uint64_t base; /* device clock of that job's cycle 0 */
	/* Outcome of the machine's last step; takes effect at event_time(). */
	enum onpu_step outcome;
	uint64_t shown; /* job cycles when the machine's last step began */
	/* Device clock until which the CP is busy fetching, completing or switching. */
	uint64_t busy_until;
	bool switch_wanted; /* another queue shall run: the job has to leave by the deadline */
	uint64_t switch_deadline;
	uint64_t slice_used; /* cycles used by jobs that ended while the queue was resident */
	uint64_t slice_from; /* job cycle at which the running job became resident */
	bool slice_raised;
	bool idle_raised;
	/* a memory error was injected: it ends the running job, or else the next one */
	bool parity;
	bool stuck; /* injected: the running job, or else the next one, makes no progress */
	struct port engine_port, ring_port;
	struct onpu_mem engine_memory, ring_memory;
	struct onpu_fault_record faults[ONPU_MAX_QUEUES];
	unsigned int fault_head, fault_count;
};

/* The registers COUNTER of jobs, without the part of the running job since @seen. */
struct counters {
	uint64_t total[ONPU_COUNTER_COUNT];
	uint64_t seen[ONPU_COUNTER_COUNT]; /* what @total already has of the running job */
};

struct onpu_device {
	struct onpu_sim_memory memory;
	struct onpu_device_config config;
	struct onpu_host_ops host;
	pthread_mutex_t gate; /* taken first, so that the last owner of `step` waits in turn */
	pthread_mutex_t step; /* guards the members below, except accesses and atomics */
	atomic_uint waiting;
	struct access_queue accesses;

	atomic_bool stop; /* onpu_device_stop() was called */
	uint64_t points;  /* see onpu_device_point() */
	bool (*replay)(void *ctx, uint64_t point, struct onpu_device_event *event); /* or NULL */

	struct onpu_machine *machine;
	bool inside;	    /* a step of the machine is under way */
	uint64_t ahead_end; /* clock up to which the core may run during that step */
	struct mmu mmu;
	struct onpu_rv32 core;
	bool core_started;
	uint8_t tcm[ONPU_CAP_TCM_BYTES__RESET];

	struct boot_regs boot;
	struct irq_regs irq;
	struct inv_regs inv;
	uint32_t cycle_high; /* high half of the clock, latched by a read of the low half */
	struct message_ring request, response, log;
	uint32_t doorbell[ONPU_MAX_QUEUES];
	struct core_regs regs;
	struct vm_entry vms[ONPU_CAP_NUM_VMS__RESET];
	struct queue queues[ONPU_MAX_QUEUES];
	struct cp cp;
	struct counters counters; /* keep their values over resets */
};

static inline uint64_t device_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the device clock: that of the management core, which counts even while it is parked. */
static inline uint64_t device_now(const struct onpu_device *d)
{
	return d->core.cycle;
}

static inline unsigned int device_vectors(const struct onpu_device *d)
{
	return d->config.sim.num_queues + 1;
}

static inline uint32_t device_save_bytes(const struct onpu_device *d)
{
	return ONPU_SAVE_HEADER_SIZE + d->config.sim.sram_bytes;
}

/* device.c: resets all registers and memory of the device, but not its clock and counters. */
void device_reset_state(struct onpu_device *d);
/*
 * Executes the machine's next step and returns its outcome; accesses of the host are served
 * meanwhile.
 */
enum onpu_step device_step_machine(struct onpu_device *d);

/*
 * bar0.c: accesses of the host to the registers of BAR0, at @offset, which is a multiple of 4.
 * bar0_read() returns the register's value, 0 where no register is.
 */
uint32_t bar0_read(struct onpu_device *d, uint32_t offset);
void bar0_write(struct onpu_device *d, uint32_t offset, uint32_t value);

/*
 * inv.c: invalidation of translations. inv_request() drops the translations that the registers name
 * and notes the request @name. inv_next() returns the device clock at which the oldest request is
 * answered, DEVICE_NEVER if none waits. inv_poll() answers that request and returns true, or
 * returns false if no answer is due.
 */
void inv_request(struct onpu_device *d, uint32_t name);
uint64_t inv_next(const struct onpu_device *d);
bool inv_poll(struct onpu_device *d);

/*
 * boot.c: boot_start() loads the firmware's image and starts the core; it does nothing unless the
 * state is RESET. boot_set_status() sets the register STATUS and tells the host of a change.
 * boot_state() returns the state in it (enum onpu_state).
 */
void boot_start(struct onpu_device *d);
void boot_set_status(struct onpu_device *d, uint32_t state, uint32_t error, uint32_t detail);
uint32_t boot_state(const struct onpu_device *d);

/*
 * irq.c: interrupts to the host. irq_status() returns INT_STATUS. irq_complete() tells the host
 * that a job of @queue has completed, also by the queue's own vector. irq_clear_queues() clears
 * @bits of the register @word that says which queues have completed jobs.
 */
uint32_t irq_status(const struct onpu_device *d);
void irq_set(struct onpu_device *d, uint32_t bits);
void irq_acknowledge(struct onpu_device *d, uint32_t bits);
void irq_enable(struct onpu_device *d, uint32_t bits);
void irq_complete(struct onpu_device *d, unsigned int queue);
void irq_clear_queues(struct onpu_device *d, unsigned int word, uint32_t bits);
/*
 * Interrupts to the management core. irq_core_status() returns CORE_IRQ_STATUS. irq_core_update()
 * sets the core's interrupt lines from the registers and the timer; the device calls it before the
 * core runs.
 */
uint32_t irq_core_status(const struct onpu_device *d);
void irq_core_set(struct onpu_device *d, uint32_t bits);
void irq_core_update(struct onpu_device *d);

/*
 * core_bus.c: the core's accesses to registers. core_bus_load() and core_bus_store() get the device
 * as @ctx, and return false if @addr is outside the registers or @size is not 4.
 */
bool core_bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value);
bool core_bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value);
void core_bus_reset(struct onpu_device *d);

/*
 * context.c: the VM and context tables, at offsets of the core's registers. Writes to the entry of
 * a bound context, or of a VM in use, are ignored, except that CONTROL unbinds a context that is
 * not resident. context_doorbell() handles the host's write of @tail to a doorbell. context_port()
 * connects the machine and the command processor to the memory of a queue.
 */
uint32_t context_read(const struct onpu_device *d, uint32_t offset);
void context_write(struct onpu_device *d, uint32_t offset, uint32_t value);
uint32_t context_vm_read(const struct onpu_device *d, uint32_t offset);
void context_vm_write(struct onpu_device *d, uint32_t offset, uint32_t value);
void context_doorbell(struct onpu_device *d, unsigned int queue, uint32_t tail);
void context_port(struct onpu_device *d, unsigned int queue);

/*
 * queue.c: registers of a queue; start and end of jobs. queue_bind() prepares the queue of a
 * context that was just bound; with @resume, the context's save area has an interrupted job.
 */
enum onpu_queue_state queue_state(const struct onpu_device *d, unsigned int queue);
uint64_t queue_retired(const struct onpu_device *d, unsigned int queue);
uint64_t queue_run_cycles(const struct onpu_device *d, unsigned int queue);
void queue_bind(struct onpu_device *d, unsigned int queue, bool resume);
void queue_unbind(struct onpu_device *d, unsigned int queue);
void queue_start_job(struct onpu_device *d);
void queue_end_job(struct onpu_device *d, const struct onpu_fault_record *fault);

/*
 * counters.c: the registers COUNTER. counters_add_job() adds a job's counters before the machine
 * loses the job. counters_take_job() notes what a job that the machine gets has been counted for.
 */
void counters_add_job(struct onpu_device *d);
void counters_take_job(struct onpu_device *d);
uint64_t counters_read(const struct onpu_device *d, unsigned int counter);

/*
 * cp.c: the command processor. cp_poll() does the next action that is due now, and returns false if
 * no action is due. cp_next() returns the device clock of the next action; DEVICE_NEVER if only the
 * host or the firmware can cause one.
 */
void cp_reset(struct onpu_device *d);
bool cp_poll(struct onpu_device *d);
uint64_t cp_next(const struct onpu_device *d);
/* Keeps the CP busy for the time of a transfer of @bytes. */
void cp_charge(struct onpu_device *d, size_t bytes);
/*
 * Makes a queue resident, or none with ONPU_NO_QUEUE, and interrupts the core if that is a change.
 */
void cp_set_current(struct onpu_device *d, unsigned int queue);
/* Must be called when another queue may have become the one that shall be resident. */
void cp_target_changed(struct onpu_device *d);
/* Returns whether another queue than the resident one, or none, shall be resident. */
bool cp_switching(const struct onpu_device *d);
void cp_set_slice(struct onpu_device *d, uint32_t cycles);
/* Returns the cycles of its slice that the resident queue has used. */
uint64_t cp_slice_used(const struct onpu_device *d);
/* Returns the job's own cycles up to now, which include those before an interruption. */
uint64_t cp_job_time(const struct onpu_device *d);
/* Ends the job of a queue without a completion, marks the queue as faulted, interrupts the core. */
void cp_kill(struct onpu_device *d, uint32_t queue);
/*
 * cp_push_fault() adds a record to the list that the firmware reads; a full list drops it.
 * cp_pop_fault() removes the oldest record.
 */
void cp_push_fault(struct onpu_device *d, const struct onpu_fault_record *fault);
void cp_pop_fault(struct onpu_device *d);

#endif
