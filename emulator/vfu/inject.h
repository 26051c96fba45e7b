/* SPDX-License-Identifier: MIT */
/*
 * Injects faults of the hardware between the device and its client: interrupts, register accesses
 * and messages are passed on, lost, corrupted or delayed, as was asked for. At first no fault is
 * armed.
 */
#ifndef ONPU_VFU_INJECT_H
#define ONPU_VFU_INJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most delayed events; when this many wait, the next event is not delayed. */
#define VFU_INJECT_DELAYED 64

/**
 * enum vfu_fault - the faults that can be injected
 *
 * Each fault waits for the event that the comment above its group names, and hits it.
 */
enum vfu_fault {
	/* at an interrupt */
	VFU_FAULT_LOST_INTERRUPT,
	VFU_FAULT_DOUBLED_INTERRUPT, /* the interrupt comes once more, ms later */
	VFU_FAULT_LATE_INTERRUPT,    /* the interrupt comes ms later */
	/* at a request of the driver to the firmware */
	VFU_FAULT_LATE_MESSAGE,	   /* the request comes ms later */
	VFU_FAULT_MISSING_MESSAGE, /* this request and all later ones are lost until a reset */
	/* at an answer or event of the firmware */
	VFU_FAULT_CORRUPT_MESSAGE,
	/* at a doorbell */
	VFU_FAULT_STUCK_ENGINE,
	VFU_FAULT_DEAD_FIRMWARE,
	VFU_FAULT_PARITY,
	/* at an access to a register */
	VFU_FAULT_ALL_ONES, /* registers read as all ones until the function is reset, or for ms */
	/*
	 * The function loses registers, configuration, memory and interrupts, for ms or for ever,
	 * and resets.
	 */
	VFU_FAULT_LINK_DOWN,
	VFU_FAULTS
};

/**
 * struct vfu_arm - a fault that is to be injected
 * @after: number of events to let through before
 * @times: number of events that the fault hits; 0: all from then on
 * @ms: milliseconds, where the fault has a duration
 * @vector: the interrupt vector that it hits; -1: any
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
	/* Injects a fault that a doorbell triggers. */
	void (*fault)(void *ctx, enum vfu_fault fault);
	void (*link)(void *ctx); /* takes the link down during the access of the calling thread */
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
		unsigned int hits; /* number since the fault was armed */
	} faults[VFU_FAULTS];
	struct vfu_delayed delayed[VFU_INJECT_DELAYED];
	unsigned int num_delayed;
	bool deaf, ones, down;
	uint32_t tail;		     /* index of the last request that the firmware has seen */
	uint64_t ones_end, down_end; /* times at which these faults end; 0: they do not end */
	uint64_t responses, response_bytes;
};

/* Starts the thread that delivers delayed events. Returns false if it cannot be started. */
bool vfu_inject_init(struct vfu_injector *in, const struct vfu_inject_ops *ops);
void vfu_inject_destroy(struct vfu_injector *in);

/* Arms a fault, in place of a fault of the same kind that is armed already. */
void vfu_inject_arm(struct vfu_injector *in, const struct vfu_arm *arm);
/* Returns the number of events that a fault has hit since it was armed. */
unsigned int vfu_inject_hits(struct vfu_injector *in, enum vfu_fault fault);
/* Drops all faults that are armed or in effect, and delivers delayed events at once. */
void vfu_inject_clear(struct vfu_injector *in);

/*
 * Parses a line such as "late-interrupt,vector=1,ms=300" or "none"; the latter gives VFU_FAULTS.
 * Returns NULL, or a message about the error.
 */
const char *vfu_inject_parse(const char *text, struct vfu_arm *arm);

/* ---- events that pass through */

/* Passes on an interrupt of the device through the operations: now, later or never. */
void vfu_inject_interrupt(struct vfu_injector *in, unsigned int vector);
/* Passes on a write to a register of BAR0 through the operations, or drops it. */
void vfu_inject_write(struct vfu_injector *in, uint32_t offset, uint32_t value);
/* Return whether a read of BAR0, or of configuration space, gives all ones. */
bool vfu_inject_ones(struct vfu_injector *in);
bool vfu_inject_link_down(struct vfu_injector *in);
/* Corrupts data that the device writes to memory if it is a message that a fault hits. */
void vfu_inject_memory(struct vfu_injector *in, uint64_t address, uint8_t *data, size_t size);
/* Returns whether vfu_inject_memory() may change anything. */
bool vfu_inject_spoils(struct vfu_injector *in);
/* Must be called when the function is reset. */
void vfu_inject_reset(struct vfu_injector *in);

#endif
