/* SPDX-License-Identifier: MIT */
/*
 * The management firmware: boot, address spaces, contexts, scheduling, faults, log. It chooses the
 * queue that is resident, that is, the queue whose jobs the CP (command processor) runs; the CP
 * reports their ends by itself. One loop (main.c) waits for an interrupt and then calls the
 * functions below that end in _poll. All state is in struct firmware, so that a test can have
 * several.
 */
#ifndef FW_FIRMWARE_H
#define FW_FIRMWARE_H

#include "hw.h"

/* The build defines the version of the firmware. */
#ifndef FW_VERSION_MAJOR
#define FW_VERSION_MAJOR 0u
#define FW_VERSION_MINOR 0u
#define FW_VERSION_PATCH 0u
#endif

#define FW_MAX_CONTEXTS 256
#define FW_QUEUE_WORDS	(ONPU_MAX_QUEUES / 32)
#define FW_VM_WORDS	(ONPU_REG_CORE_VM__LENGTH / 32)
/*
 * The length of a time slice in cycles of jobs, until SCHED_CONFIG changes it: one millisecond of
 * the nominal clock.
 */
#define FW_DEFAULT_SLICE ONPU_CAP_CLOCK_KHZ__RESET
/* A priority with work gets a slice after about this many slices of others. */
#define FW_STARVED 32
/* Cycles that the CP may take to abort a job or to leave an idle queue. */
#define FW_CP_PATIENCE (UINT32_C(1) << 20)

/* Interrupts that wake the core. KILLED is not one of them, since sched_kill() polls for it. */
#define FW_IRQS                                                                     \
	(ONPU_CORE_IRQ_STATUS_REQUEST__MASK | ONPU_CORE_IRQ_STATUS_RESPONSE__MASK | \
	 ONPU_CORE_IRQ_STATUS_DOORBELL__MASK | ONPU_CORE_IRQ_STATUS_FAULT__MASK |   \
	 ONPU_CORE_IRQ_STATUS_SWITCHED__MASK | ONPU_CORE_IRQ_STATUS_IDLE__MASK |    \
	 ONPU_CORE_IRQ_STATUS_SLICE__MASK)

struct fw_vm {
	bool used;
	uint32_t asid;
	uint32_t contexts; /* number of contexts in this address space */
};

struct fw_context {
	bool used;
	uint8_t queue; /* ONPU_NO_QUEUE: not bound */
	uint16_t id;
	uint32_t vm;
	uint64_t ring, save, completion;
	uint32_t ring_size, vector, priority;
};

struct fw_log {
	uint64_t base;
	uint32_t size, tail;
	enum onpu_log_level level;
	bool interrupt;
};

struct fw_ring {
	uint64_t base;
	uint32_t size;
	uint32_t index; /* the index that the firmware moves: head of requests, tail of responses */
};

struct fw_counts {
	uint64_t beats, requests, switches, faults;
	uint64_t idle_cycles;
	uint32_t contexts, queues, vms, errors;
};

/* The share of the device that one client has used at one priority. */
struct fw_share {
	uint64_t used;	    /* cycles that its queues have used, limited by clamp_share() */
	uint8_t last, next; /* the client's queues of the last time slice and of the next one */
};

/* The shares of all clients at one priority, by the index of their address spaces. */
struct fw_shares {
	uint64_t clock;		       /* virtual time: a new client's share begins near it */
	uint32_t present[FW_VM_WORDS]; /* clients that were ready when a time slice last began */
	struct fw_share vms[ONPU_REG_CORE_VM__LENGTH];
};

struct fw_sched {
	/* Arrays by priority: the queues bound with it, and the shares of their clients. */
	uint32_t bound[ONPU_PRIORITY_COUNT][FW_QUEUE_WORDS];
	struct fw_shares shares[ONPU_PRIORITY_COUNT];
	uint32_t ready[FW_QUEUE_WORDS];				/* queues that may have work */
	uint8_t vm[ONPU_MAX_QUEUES], priority[ONPU_MAX_QUEUES]; /* by queue, while it is bound */
	uint32_t running; /* the value last written to RUN_QUEUE */
	bool arrived;	  /* the queue in RUN_QUEUE has become resident, see note_arrival() */
	/* Cycles of its time slice that the running queue's client was charged for. */
	uint32_t charged;
	struct fw_share
		*leaving; /* client of the queue that was running before, until the CP left it */
	uint64_t left_at; /* the time when RUN_QUEUE was written to make that queue leave */
	uint32_t slice;
	uint32_t written_slice; /* the value last written to SLICE */
	/* The priorities that may have work while another one runs, as bits. */
	uint32_t waiting;
	/* By priority: since when a priority of @waiting has waited. */
	uint64_t waits_since[ONPU_PRIORITY_COUNT];
	/* A starved priority, whose time slice is not interrupted; ONPU_PRIORITY_COUNT: none. */
	uint32_t owed;
	bool killing; /* the CP has not reported the end of the last KILL in time */
};

struct firmware {
	bool failed;
	bool more;	/* there is work to do without a new interrupt */
	bool answering; /* `message` is a response that waits for room */
	uint32_t num_queues, num_vms, num_asids;
	uint32_t irq_enable;
	struct fw_ring requests, responses;
	struct fw_log log;
	struct fw_counts counts;
	struct fw_sched sched;
	struct fw_vm vms[ONPU_REG_CORE_VM__LENGTH];
	struct fw_context contexts[FW_MAX_CONTEXTS];
	uint16_t bound[ONPU_MAX_QUEUES]; /* index of the context plus 1; 0: none */
	/* Buffers of the DMA: a request, which becomes its response in place, and an event. */
	union onpu_msg message, event;
};

/* main.c */
void fw_start(struct firmware *fw);
/* One iteration of the loop: sleeps unless there is more to do, then handles all events. */
void fw_step(struct firmware *fw);
/* Stops the CP and sets the device's status to failed, for the reason @detail. */
void fw_fail(struct firmware *fw, uint32_t detail);

/* log.c */
void log_start(struct firmware *fw);
/* Writes a line of text with the value behind it in hexadecimal, if the log shows @level. */
void log_value(struct firmware *fw, enum onpu_log_level level, const char *text, uint32_t value);

/* mailbox.c */
void mailbox_start(struct firmware *fw);
/* Takes at most one request; returns true when another one can be taken. */
bool mailbox_poll(struct firmware *fw);
bool mailbox_room(struct firmware *fw);
/* Puts a message into the response ring, which must have room. */
void mailbox_send(struct firmware *fw, const union onpu_msg *message);

/* request.c: replaces the request fw->message by its response */
void request_handle(struct firmware *fw);

/* vm.c, context.c: handlers of requests, which return the response's status */
uint32_t vm_create(struct firmware *fw, const struct onpu_msg_vm *m);
uint32_t vm_destroy(struct firmware *fw, const struct onpu_msg_vm *m);
uint32_t context_create(struct firmware *fw, const struct onpu_msg_ctx_create *m);
uint32_t context_destroy(struct firmware *fw, const struct onpu_msg_ctx *m);
uint32_t context_kill(struct firmware *fw, const struct onpu_msg_ctx *m);
uint32_t context_bind(struct firmware *fw, const struct onpu_msg_queue *m);
uint32_t context_unbind(struct firmware *fw, const struct onpu_msg_queue *m, uint32_t *head);

/* sched.c */
void sched_start(struct firmware *fw);
void sched_set_slice(struct firmware *fw, uint32_t cycles);
/* Resets the shares of an entry of the VM table, which gets another client. */
void sched_forget_vm(struct firmware *fw, uint32_t vm);
void sched_poll(struct firmware *fw);
/* Add a bound queue to the scheduler, or remove it. */
void sched_add(struct firmware *fw, uint32_t queue, uint32_t vm, uint32_t priority, bool ready);
void sched_remove(struct firmware *fw, uint32_t queue);
/*
 * Makes a queue without work leave the CP. Returns false if it has work, or if the CP did not leave
 * it in time.
 */
bool sched_evict(struct firmware *fw, uint32_t queue);
/*
 * Makes a queue that has work leave the CP: its state goes to the save area, its jobs stay in the
 * ring. Returns false if the CP has not left it in time.
 */
bool sched_preempt(struct firmware *fw, uint32_t queue);
/*
 * Aborts the job of a queue and stops the queue. Returns false if the CP has not done so in time.
 */
bool sched_kill(struct firmware *fw, uint32_t queue);

/* fault.c */
void fault_poll(struct firmware *fw);

#endif
