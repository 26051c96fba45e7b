/* SPDX-License-Identifier: MIT */
/*
 * The management firmware: boot, address spaces, contexts, scheduling, faults, log. It chooses the
 * queue that is resident; the CP runs the jobs of that queue and reports their ends by itself. One
 * loop (main.c) waits for an interrupt and then calls each part. All state is in struct firmware,
 * so that a test can have several.
 */
#ifndef FW_FIRMWARE_H
#define FW_FIRMWARE_H

#include "hw.h"

/* The build says which version this is. */
#ifndef FW_VERSION_MAJOR
#define FW_VERSION_MAJOR 0u
#define FW_VERSION_MINOR 0u
#define FW_VERSION_PATCH 0u
#endif

#define FW_MAX_CONTEXTS 256
#define FW_QUEUE_WORDS	(ONPU_MAX_QUEUES / 32)
#define FW_VM_WORDS	(ONPU_REG_CORE_VM__LENGTH / 32)
/* Job cycles: one millisecond of the nominal clock. */
#define FW_DEFAULT_SLICE ONPU_CAP_CLOCK_KHZ__RESET
/* Slices that a priority with work waits for at most. */
#define FW_STARVED 32
/* Cycles that the CP may take to abort a job or to leave an idle queue. */
#define FW_CP_PATIENCE (UINT32_C(1) << 20)

/* Interrupts that wake the core. KILLED is not among them, since sched_kill() polls for it. */
#define FW_IRQS                                                                     \
	(ONPU_CORE_IRQ_STATUS_REQUEST__MASK | ONPU_CORE_IRQ_STATUS_RESPONSE__MASK | \
	 ONPU_CORE_IRQ_STATUS_DOORBELL__MASK | ONPU_CORE_IRQ_STATUS_FAULT__MASK |   \
	 ONPU_CORE_IRQ_STATUS_SWITCHED__MASK | ONPU_CORE_IRQ_STATUS_IDLE__MASK |    \
	 ONPU_CORE_IRQ_STATUS_SLICE__MASK)

struct fw_vm {
	bool used;
	uint32_t asid;
	uint32_t contexts; /* that are in this address space */
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
	uint32_t index; /* ours: head of requests, tail of responses */
};

struct fw_counts {
	uint64_t beats, requests, switches, faults;
	uint64_t idle_cycles;
	uint32_t contexts, queues, vms, errors;
};

/* The share of one client at one priority. */
struct fw_share {
	uint64_t used;	    /* job cycles */
	uint8_t last, next; /* of its queues, who had the last turn and who has the next one */
};

/* All clients at one priority, by their address spaces. */
struct fw_shares {
	uint64_t clock;		       /* what one who comes counts as having had */
	uint32_t present[FW_VM_WORDS]; /* who was ready when a turn was last given */
	struct fw_share vms[ONPU_REG_CORE_VM__LENGTH];
};

struct fw_sched {
	/* By priority: the queues bound with it, and their clients. */
	uint32_t bound[ONPU_PRIORITY_COUNT][FW_QUEUE_WORDS];
	struct fw_shares shares[ONPU_PRIORITY_COUNT];
	uint32_t ready[FW_QUEUE_WORDS];				/* queues that may have work */
	uint8_t vm[ONPU_MAX_QUEUES], priority[ONPU_MAX_QUEUES]; /* of queues that are bound */
	uint32_t running; /* RUN_QUEUE as it was last written */
	bool arrived;	  /* it has been resident since RUN_QUEUE was written */
	uint32_t charged; /* cycles of its turn that its client was charged for */
	struct fw_share
		*leaving; /* client of the queue that was running before, until the CP left it */
	uint64_t left_at; /* when RUN_QUEUE was written then */
	uint32_t slice;
	uint32_t turn; /* SLICE as it was last written */
	/* The priorities that may have work while another one runs, as bits, and since when. */
	uint32_t waiting;
	uint64_t waits_since[ONPU_PRIORITY_COUNT];
	uint32_t owed; /* the priority whose turn is not interrupted; ONPU_PRIORITY_COUNT: none */
	bool killing;  /* the CP has not told the end of the last KILL in time */
};

struct firmware {
	bool failed;
	bool more;	/* there is something to do without a new interrupt */
	bool answering; /* message is a response that waits for room */
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
/* One round of the loop: sleep unless there is more to do, then look at everything. */
void fw_step(struct firmware *fw);
/* Stop the CP and tell the driver that nothing goes on, and why. */
void fw_fail(struct firmware *fw, uint32_t detail);

/* log.c: a line of text with a number in hexadecimal behind it */
void log_start(struct firmware *fw);
void log_value(struct firmware *fw, enum onpu_log_level level, const char *text, uint32_t value);

/* mailbox.c */
void mailbox_start(struct firmware *fw);
/* Take one request at most; true: there is another one that can be taken. */
bool mailbox_poll(struct firmware *fw);
bool mailbox_room(struct firmware *fw);
/* Put a message into the response ring; there is room. */
void mailbox_send(struct firmware *fw, const union onpu_msg *message);

/* request.c: turns fw->message into its response */
void request_handle(struct firmware *fw);

/* vm.c, context.c: handlers of requests */
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
/* The entry of the VM table gets another client, who has had nothing. */
void sched_forget_vm(struct firmware *fw, uint32_t vm);
void sched_poll(struct firmware *fw);
/* Add a bound queue to the scheduler, or remove it. */
void sched_add(struct firmware *fw, uint32_t queue, uint32_t vm, uint32_t priority, bool ready);
void sched_remove(struct firmware *fw, uint32_t queue);
/* Make a queue that has no work leave the CP; false: work has come for it, and it stays ready. */
bool sched_evict(struct firmware *fw, uint32_t queue);
/*
 * Make a queue that has work leave the CP; its state stays in the save area, its jobs in the ring.
 */
bool sched_preempt(struct firmware *fw, uint32_t queue);
/* Abort the job of a queue and stop it; false: the CP has not done it in time. */
bool sched_kill(struct firmware *fw, uint32_t queue);

/* fault.c */
void fault_poll(struct firmware *fw);

#endif
