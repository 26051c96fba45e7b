/* SPDX-License-Identifier: MIT */
/*
 * The management firmware: boot, address spaces, contexts, scheduling, faults, log. It is never in
 * the path of an instruction or a job.
 *
 * One loop (main.c) waits for an interrupt and lets each part look at what is new. All state is in
 * struct firmware, so that a test can have as many as it likes.
 */
#ifndef FW_FIRMWARE_H
#define FW_FIRMWARE_H

#include "hw.h"

/* The build says which version this is. */
#ifndef FW_VERSION_MAJOR
#define FW_VERSION_MAJOR	0u
#define FW_VERSION_MINOR	0u
#define FW_VERSION_PATCH	0u
#endif

#define FW_MAX_CONTEXTS		256
#define FW_MAX_VMS		64
/* Job cycles: one millisecond of the nominal clock. */
#define FW_DEFAULT_SLICE	1000000u

/* What wakes the core. */
#define FW_IRQS	(ONPU_CORE_IRQ_STATUS_REQUEST__MASK | ONPU_CORE_IRQ_STATUS_RESPONSE__MASK | \
		 ONPU_CORE_IRQ_STATUS_DOORBELL__MASK | ONPU_CORE_IRQ_STATUS_FAULT__MASK | \
		 ONPU_CORE_IRQ_STATUS_SWITCHED__MASK | ONPU_CORE_IRQ_STATUS_IDLE__MASK | \
		 ONPU_CORE_IRQ_STATUS_SLICE__MASK)

struct fw_vm {
	bool used;
	uint32_t asid;
	uint32_t contexts;	/* that are in this address space */
};

struct fw_context {
	bool used;
	uint8_t queue;		/* HW_NO_QUEUE: not bound */
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
	uint32_t index;		/* ours: head of requests, tail of responses */
};

struct fw_counts {
	uint64_t beats, requests, switches, faults;
	uint64_t idle_cycles;
	uint32_t contexts, queues, vms, errors;
};

struct firmware {
	bool failed;
	uint32_t num_queues, num_vms;
	uint32_t irq_enable;
	struct fw_ring requests, responses;
	struct fw_log log;
	struct fw_counts counts;
	struct fw_vm vms[FW_MAX_VMS];
	struct fw_context contexts[FW_MAX_CONTEXTS];
	uint16_t bound[ONPU_MAX_QUEUES];	/* index of the context plus 1; 0: none */
	uint32_t ready[2];			/* queues that may have work */
	uint32_t running;			/* RUN_QUEUE as it was last written */
	uint32_t slice;
	union onpu_msg message;			/* the DMA's place for messages */
};

/* main.c */
void fw_start(struct firmware *fw);
void fw_turn(struct firmware *fw);
/* Tell the driver that nothing goes on, and why. */
void fw_fail(struct firmware *fw, uint32_t detail);

/* log.c: a line of text, a number in hexadecimal behind it */
void log_start(struct firmware *fw);
void log_line(struct firmware *fw, enum onpu_log_level level, const char *text);
void log_value(struct firmware *fw, enum onpu_log_level level, const char *text, uint32_t value);

/* mailbox.c */
void mailbox_start(struct firmware *fw);
void mailbox_poll(struct firmware *fw);
bool mailbox_room(struct firmware *fw);
/* Send fw->message; there is room. */
void mailbox_send(struct firmware *fw);

/* request.c: turns fw->message into its response */
void request_handle(struct firmware *fw);

/* vm.c, context.c: handlers of requests */
uint32_t vm_create(struct firmware *fw, const struct onpu_msg_vm *m);
uint32_t vm_destroy(struct firmware *fw, const struct onpu_msg_vm *m);
uint32_t context_create(struct firmware *fw, const struct onpu_msg_ctx_create *m);
uint32_t context_destroy(struct firmware *fw, const struct onpu_msg_ctx *m);
uint32_t context_kill(struct firmware *fw, const struct onpu_msg_ctx *m);
uint32_t context_bind(struct firmware *fw, const struct onpu_msg_queue *m);
uint32_t context_unbind(struct firmware *fw, const struct onpu_msg_queue *m);

/* sched.c */
void sched_start(struct firmware *fw);
void sched_set_slice(struct firmware *fw, uint32_t cycles);
void sched_poll(struct firmware *fw);
void sched_forget(struct firmware *fw, uint32_t queue);
/* Make a queue that has no work leave the CP; false: it has got some. */
bool sched_evict(struct firmware *fw, uint32_t queue);

/* fault.c */
void fault_poll(struct firmware *fw);

#endif
