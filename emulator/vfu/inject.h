/* SPDX-License-Identifier: MIT */
/*
 * Faults of the hardware that are made on purpose, between the device and its client: what goes through
 * here is passed on, lost, spoilt or kept for a while, as was asked for. It starts with nothing armed.
 */
#ifndef ONPU_VFU_INJECT_H
#define ONPU_VFU_INJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Beyond that many things that wait for their time, the next one comes in time. */
#define VFU_INJECT_DELAYED 64

/**
 * enum vfu_fault - what can go wrong
 *
 * Each waits for its event, and hits it.
 */
enum vfu_fault {
	/* at an interrupt */
	VFU_FAULT_LOST_INTERRUPT,
	VFU_FAULT_DOUBLED_INTERRUPT, /* comes once more, ms later */
	VFU_FAULT_LATE_INTERRUPT,    /* comes ms later */
	/* at a request of the driver to the firmware */
	VFU_FAULT_LATE_MESSAGE,	   /* comes ms later */
	VFU_FAULT_MISSING_MESSAGE, /* and none after it, until a reset */
	/* at an answer or event of the firmware */
	VFU_FAULT_CORRUPT_MESSAGE,
	/* at a doorbell */
	VFU_FAULT_STUCK_ENGINE,
	VFU_FAULT_DEAD_FIRMWARE,
	VFU_FAULT_PARITY,
	/* at an access to a register */
	VFU_FAULT_ALL_ONES, /* registers, until the function is reset, or ms */
	/* It takes registers, configuration, memory and interrupts, for ms or for ever, and resets. */
	VFU_FAULT_LINK_DOWN,
	VFU_FAULTS
};

/**
 * struct vfu_arm - a fault to come
 * @after: events that are let through before
 * @times: events that it hits; 0: all from then on
 * @ms: milliseconds, where the fault has a time
 * @vector: the interrupt that is meant; -1: any
 */
struct vfu_arm {
	enum vfu_fault fault;
	unsigned int after, times, ms;
	int vector;
};

/* Calls by which the injector causes faults: made by any thread, without the injector's lock. */
struct vfu_inject_ops {
	void *ctx;
	void (*interrupt)(void *ctx, unsigned int vector);
	void (*write)(void *ctx, uint32_t offset, uint32_t value);
	void (*fault)(void *ctx, enum vfu_fault fault); /* one at a doorbell */
	void (*link)(void *ctx); /* it goes down, with the access of the calling thread */
};

struct vfu_delayed {
	uint64_t due; /* ms of CLOCK_MONOTONIC */
	enum vfu_fault fault;
	uint32_t value; /* vector, or index of the request ring */
};

struct vfu_injector {
	struct vfu_inject_ops ops;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stop;
	struct {
		bool armed;
		struct vfu_arm arm;
		unsigned int hits; /* since it was armed */
	} faults[VFU_FAULTS];
	struct vfu_delayed delayed[VFU_INJECT_DELAYED];
	unsigned int num_delayed;
	bool deaf, ones, down;
	uint32_t tail;		     /* the last request that the firmware has learned of */
	uint64_t ones_end, down_end; /* 0: none */
	uint64_t responses, response_bytes;
};

/* A thread of its own lets what was kept come. false: it does not start. */
bool vfu_inject_init(struct vfu_injector *in, const struct vfu_inject_ops *ops);
void vfu_inject_destroy(struct vfu_injector *in);

/* Arm a fault; it replaces one of its kind. */
void vfu_inject_arm(struct vfu_injector *in, const struct vfu_arm *arm);
/* The events that a fault has hit since it was armed. */
unsigned int vfu_inject_hits(struct vfu_injector *in, enum vfu_fault fault);
/* Forget all that is armed, under way or kept. */
void vfu_inject_clear(struct vfu_injector *in);

/*
 * Read a line such as "late-interrupt,vector=1,ms=300" or "none"; the latter gives VFU_FAULTS. NULL, or
 * what is wrong with it.
 */
const char *vfu_inject_parse(const char *text, struct vfu_arm *arm);

/* ---- what passes through */

/* An interrupt of the device; it is raised by way of the operations, now, later or never. */
void vfu_inject_interrupt(struct vfu_injector *in, unsigned int vector);
/* A register of BAR0 is written; it is passed on by way of the operations, or not. */
void vfu_inject_write(struct vfu_injector *in, uint32_t offset, uint32_t value);
/* Whether a read of BAR0 gives all ones, and one of configuration space. */
bool vfu_inject_ones(struct vfu_injector *in);
bool vfu_inject_link_down(struct vfu_injector *in);
/* Spoils what the device writes to memory, if it is a message that is to be; data may be changed. */
void vfu_inject_memory(struct vfu_injector *in, uint64_t address, uint8_t *data, size_t size);
/* Whether vfu_inject_memory() may do something. */
bool vfu_inject_spoils(struct vfu_injector *in);
/* The function was reset. */
void vfu_inject_reset(struct vfu_injector *in);

#endif
