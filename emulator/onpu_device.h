/* SPDX-License-Identifier: MIT */
/*
 * The whole device behind its PCI BAR0: registers, boot ROM, management core running the firmware,
 * command processor with its contexts, MMU, and the machine of onpu_sim.h.
 *
 * No global state. onpu_device_run() is called by one thread at a time; everything else may be
 * called from any thread at any time: accesses are queued, take effect between two steps of the
 * device, in the order in which they came, and are stamped with the device clock. What the device
 * does is a function of its configuration, the host's memory and the stamped accesses alone.
 *
 * An access that comes while the host is inside an instruction is served there, and has a mark: the
 * management core then goes on for a while before the command processor does, after each access
 * anew. So a KILL, a reset and an invalidation take effect in an instruction that takes the host
 * long.
 */
#ifndef ONPU_DEVICE_H
#define ONPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** struct onpu_device_config - what to build
 * @sim: the machine; sram_bytes is a multiple of 4096, num_queues is 1 to ONPU_MAX_QUEUES
 * @tlb_sticky: the TLB forgets translations only when told to, so that a forgotten
 *	invalidation is seen
 */
struct onpu_device_config {
	struct onpu_sim_config sim;
	bool tlb_sticky;
};

/** enum onpu_access - an access of the host, for the trace */
enum onpu_access {
	ONPU_ACCESS_READ,
	ONPU_ACCESS_WRITE,
	ONPU_ACCESS_RESET,
	/* onpu_device_inject_parity() and the others */
	ONPU_ACCESS_PARITY,
	ONPU_ACCESS_STUCK,
	ONPU_ACCESS_DEAD_CORE,
	/*
	 * Events that depend on when the host's threads run: onpu_device_run() begins, with a
	 * budget whose halves are in offset and value; it goes on only because accesses wait; it
	 * interrupts an instruction for them.
	 */
	ONPU_ACCESS_RUN,
	ONPU_ACCESS_AGAIN,
	ONPU_ACCESS_LOOK,
	/* added: it was served inside an instruction */
	ONPU_ACCESS_INSIDE = 0x100,
};

/**
 * struct onpu_host_ops - what the device needs of its host
 * @ctx: passed to the functions
 * @read: reads @len bytes of memory at the bus address @addr; 0 or a bus error
 * @write: writes them
 * @interrupt: raises an interrupt vector
 * @wake: an access waits for onpu_device_run(); may be NULL
 * @trace: an access, or what else is in enum onpu_access, takes effect at @cycle. With @read, @write and
 *	@interrupt it is all that onpu_device_replay() needs; may be NULL
 *
 * All but @wake are called with the device locked and must not call it. @read and @write are all
 * that the device knows of memory; they see addresses below 2^56 only.
 */
struct onpu_host_ops {
	void *ctx;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	int (*write)(void *ctx, uint64_t addr, const void *src, size_t len);
	void (*interrupt)(void *ctx, unsigned int vector);
	void (*wake)(void *ctx);
	void (*trace)(void *ctx, uint64_t cycle, unsigned int kind, uint32_t offset,
		      uint32_t value);
};

/**
 * enum onpu_progress - what remains to be done
 * @ONPU_PROGRESS_BUSY: the budget is used up
 * @ONPU_PROGRESS_IDLE: nothing happens, and no time passes, before the next access
 */
enum onpu_progress {
	ONPU_PROGRESS_BUSY,
	ONPU_PROGRESS_IDLE,
};

struct onpu_device;

/** onpu_device_config_default - onpu-ref1, a TLB that evicts */
struct onpu_device_config onpu_device_config_default(void);

/**
 * onpu_device_create - make a device in the state RESET
 * @config: NULL for the default
 * @host: copied; read, write and interrupt are needed
 * @error: receives a sentence when it fails; may be NULL
 *
 * Return: the device or NULL.
 */
struct onpu_device *onpu_device_create(const struct onpu_device_config *config,
				       const struct onpu_host_ops *host, const char **error);
/** onpu_device_create_in - the same, with memory from elsewhere; @memory is copied, NULL: the C library */
struct onpu_device *onpu_device_create_in(const struct onpu_sim_memory *memory,
					  const struct onpu_device_config *config,
					  const struct onpu_host_ops *host, const char **error);
void onpu_device_destroy(struct onpu_device *device);

/**
 * onpu_device_mmio_read - read a register of BAR0
 * @size: bytes, 4 for registers; a read of another size or off alignment is all ones
 *
 * Comes after all earlier accesses, so it may wait for the device's current step.
 */
uint64_t onpu_device_mmio_read(struct onpu_device *device, uint64_t offset, unsigned int size);

/** onpu_device_mmio_write - write a register of BAR0; posted, as PCI writes are */
void onpu_device_mmio_write(struct onpu_device *device, uint64_t offset, unsigned int size,
			    uint64_t value);

/** onpu_device_reset - function level reset: as the register RESET; returns when it is done */
void onpu_device_reset(struct onpu_device *device);

/** onpu_device_run - let at most about @budget cycles pass */
enum onpu_progress onpu_device_run(struct onpu_device *device, uint64_t budget);

/**
 * onpu_device_stop - no more time passes, also not for the instruction under way
 *
 * onpu_device_run() returns soon, and at once from then on. For those who are about to destroy the
 * device.
 */
void onpu_device_stop(struct onpu_device *device);

/**
 * struct onpu_device_event - something that the trace had
 * @point: onpu_device_point() then
 * @kind: enum onpu_access
 * @offset: as in the trace, as is @value
 */
struct onpu_device_event {
	uint64_t point;
	unsigned int kind;
	uint32_t offset, value;
};

/**
 * onpu_device_point - where accesses may take effect, counted
 *
 * For the host's functions @read, @write, @interrupt and @trace. Two accesses with one number have no step
 * of the device between them. The numbers depend on the number of threads.
 */
uint64_t onpu_device_point(const struct onpu_device *device);

/**
 * onpu_device_replay - do what was recorded again, instead of onpu_device_run() and accesses
 * @next: gives the event of the trace that comes next, and leaves it there until @trace has it again;
 *	false: it is for a later point than @point, or there is none
 *
 * The device has to be as the recorded one was before its first event, with one thread, as that had. Ends when
 * @next has nothing for the point that is reached outside of a run, or after onpu_device_stop().
 */
void onpu_device_replay(struct onpu_device *device,
			bool (*next)(void *ctx, uint64_t point, struct onpu_device_event *event));

/** onpu_device_cycle - the device clock */
uint64_t onpu_device_cycle(struct onpu_device *device);

/**
 * onpu_device_inject_parity - report a memory error
 *
 * The running job ends with PARITY at its next event, or else the next job does.
 */
void onpu_device_inject_parity(struct onpu_device *device);

/**
 * onpu_device_inject_stuck - let an engine hang
 *
 * The running job, or else the next one, comes no further, and neither do its cycles, until it is killed,
 * does not make room in time for another one, or the device is reset.
 */
void onpu_device_inject_stuck(struct onpu_device *device);

/**
 * onpu_device_inject_dead_core - let the management core stand still, without a word in STATUS
 *
 * Until the device is reset. Jobs that are in the ring of the resident queue run all the same.
 */
void onpu_device_inject_dead_core(struct onpu_device *device);

#ifdef __cplusplus
}
#endif

#endif
