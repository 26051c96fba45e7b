/* SPDX-License-Identifier: MIT */
/*
 * Fake hardware for the firmware's unit tests and its fuzzer: registers, DMA and a small command
 * processor whose jobs do nothing but take time. Every access of the firmware is checked and takes
 * a cycle; a hook is called before it, so that events can happen at any moment. When the firmware
 * sleeps and nothing will wake it, no work may be left.
 *
 * It uses no test library: a check that fails aborts.
 */
#ifndef TESTS_FIRMWARE_FAKE_H
#define TESTS_FIRMWARE_FAKE_H

#include "firmware.h"

#define FAKE_BUS       UINT64_C(0x4000000000)
#define FAKE_RING      8u
#define FAKE_LOG       4096u
#define FAKE_REQUESTS  FAKE_BUS
#define FAKE_RESPONSES (FAKE_BUS + 4096)
#define FAKE_LOG_BASE  (FAKE_BUS + 8192)
#define FAKE_MEMORY    (8192 + FAKE_LOG)
#define FAKE_QUEUES    8u
#define FAKE_VMS       16u
#define FAKE_ASIDS     4096u
#define FAKE_TRACE     4096

#define FAKE_CHECK(condition, ...) \
	((condition) ? (void)0 : fake_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* Properties of a queue's jobs. */
struct fake_jobs {
	uint32_t cycles;   /* cycles of each job */
	uint32_t point;	   /* cycles between preemption points; 0: none */
	uint32_t fault_at; /* job cycle at which it faults; 0: it does not */
	bool endless;	   /* another job always follows */
};

struct fake_queue {
	uint32_t control, id, ring_size;
	uint64_t ring, save, completion;
	struct fake_jobs jobs;
	uint32_t head, tail;
	bool faulted, suspended;
	uint32_t saved_time;
	uint64_t run_cycles, completed;
};

struct fake_cp {
	uint32_t run_queue, current, slice, busy;
	uint32_t job_time, used;
	bool running, slice_raised, idle_raised;
	uint32_t kill_delay;	     /* cycles until KILLED; UINT32_MAX: never */
	uint32_t killing, kill_left; /* queue that is being aborted, and cycles until KILLED */
	bool kill_under_way;
	struct onpu_fault_record faults[ONPU_MAX_QUEUES];
	uint32_t num_faults;
	uint64_t arrivals; /* how often a queue became resident */
};

struct fake_ring {
	uint64_t base;
	uint32_t size, head, tail;
};

/* A period during which a queue was resident. */
struct fake_run {
	uint32_t queue;
	uint64_t start, cycles;
};

struct fake {
	struct firmware fw;
	uint8_t memory[FAKE_MEMORY];
	uint64_t now, accesses, run_until;
	uint32_t num_queues, num_vms, num_asids;
	struct fake_ring requests, responses, log;
	uint32_t head_seen; /* RESPONSE_HEAD as the firmware last read it */
	uint32_t irq_status, irq_enable, doorbell[2];
	uint32_t status, abi, version;
	uint32_t int_raised;	   /* all bits ever written to INT_RAISE */
	unsigned int int_requests; /* how often REQUEST was written to INT_RAISE */
	bool wakes, asleep;
	uint64_t dma_host;
	uint32_t dma_length, dma_error;
	void *dma_local;
	uint64_t dmas, dma_fails; /* DMAs fail from this one on, counted from 1; 0: none fails */
	uint64_t vm_root[FAKE_VMS];
	uint32_t vm_control[FAKE_VMS];
	bool refuses_binding;
	struct fake_queue queues[ONPU_MAX_QUEUES];
	struct fake_cp cp;
	void (*hook)(struct fake *f);
	uint64_t hook_at; /* access at which the hook acts; only the hook uses it */
	struct fake_run trace[FAKE_TRACE];
	uint32_t num_runs;
	uint32_t id;	     /* id of the last request */
	bool rest_unchecked; /* the test may leave work behind */
};

void fake_failed(const char *file, int line, const char *condition, const char *format, ...)
	__attribute__((noreturn, format(printf, 4, 5)));

/* Makes @f the hardware that the firmware sees, with rings as a driver sets them up. */
void fake_init(struct fake *f);
/* Starts the firmware. */
void fake_boot(struct fake *f);
uint32_t fake_state(const struct fake *f);
uint32_t fake_detail(const struct fake *f);

/*
 * fake_settle() runs the firmware until it sleeps and nothing will wake it, and aborts when that
 * takes too long; fake_run() runs it for about @cycles, or until then; fake_pass() lets @cycles of
 * the hardware pass without the firmware.
 */
void fake_settle(struct fake *f);
void fake_run(struct fake *f, uint64_t cycles);
void fake_pass(struct fake *f, uint32_t cycles);

/* The driver's side: put a request into the ring, write TAIL or HEAD, ring a doorbell. */
void fake_put(struct fake *f, const union onpu_msg *m);
void fake_write_tail(struct fake *f, uint32_t tail);
void fake_write_head(struct fake *f, uint32_t head);
void fake_doorbell(struct fake *f, uint32_t queue, uint32_t tail);
/* Takes the message at the response ring's head; returns false when there is none. */
bool fake_take(struct fake *f, union onpu_msg *m);

/* fake_cp.c */
void fake_cp_reset(struct fake *f);
void fake_cp_cycle(struct fake *f);
bool fake_cp_at_rest(const struct fake *f);
bool fake_cp_switching(const struct fake *f);
bool fake_cp_may_run(const struct fake *f, uint32_t queue);
bool fake_cp_has_work(const struct fake *f, uint32_t queue);
enum onpu_queue_state fake_cp_state(const struct fake *f, uint32_t queue);
void fake_cp_kill(struct fake *f, uint32_t queue);
/* Stops a queue as if its job had faulted; the queue need not run. */
void fake_cp_fault(struct fake *f, uint32_t queue, enum onpu_fault code);

#endif
