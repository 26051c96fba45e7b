/* SPDX-License-Identifier: MIT */
/*
 * The whole device behind its PCI BAR0: registers, boot ROM, management core running the firmware,
 * command processor with its contexts, MMU, and the machine of onpu_sim.h.
 *
 * There is no global state. One thread at a time calls onpu_device_run(); all other functions may
 * be called from any thread at any time: accesses are queued, take effect between two steps of the
 * device in the order in which they came, and are stamped with the device clock. The behaviour of
 * the device is a function of its configuration, the host's memory and the stamped accesses alone.
 *
 * An access that comes while the host executes an instruction is served inside it, and is marked
 * so: after each such access the management core goes on for a while before the command processor
 * does. So a KILL, a reset and an invalidation take effect even while the host executes a long
 * instruction.
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

/**
 * struct onpu_device_config - configuration of a device
 * @sim: the machine; sram_bytes is a multiple of 4096, num_queues is 1 to ONPU_MAX_QUEUES
 * @tlb_sticky: the TLB drops translations only on request, so that a missing invalidation shows
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
	/*
	 * onpu_device_inject_parity(), onpu_device_inject_stuck() and
	 * onpu_device_inject_dead_core()
	 */
	ONPU_ACCESS_PARITY,
	ONPU_ACCESS_STUCK,
	ONPU_ACCESS_DEAD_CORE,
	/*
	 * The next three depend on when the host's threads run. RUN: onpu_device_run() begins; the
	 * halves of its budget are in offset and value. AGAIN: onpu_device_run() goes on only
	 * because accesses wait. LOOK: it interrupts an instruction for accesses that wait.
	 */
	ONPU_ACCESS_RUN,
	ONPU_ACCESS_AGAIN,
	ONPU_ACCESS_LOOK,
	/* a flag, added to the other values: the access was served inside an instruction */
	ONPU_ACCESS_INSIDE = 0x100,
};

/**
 * struct onpu_host_ops - functions of the host that the device calls
 * @ctx: passed to the functions
 * @read: reads @len bytes of memory at the bus address @addr; returns 0 or a bus error
 * @write: writes @len bytes of memory; returns 0 or a bus error
 * @interrupt: raises an interrupt vector
 * @wake: an access waits for onpu_device_run(); may be NULL
 * @trace: an access, or another event of enum onpu_access, takes effect at @cycle. With @read,
 *	@write and @interrupt it has all that onpu_device_replay() needs; may be NULL
 *
 * All but @wake are called with the device locked: they must not call functions of the device,
 * except onpu_device_point(). The device accesses memory only through @read and @write, with
 * addresses below 2^56.
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
 * enum onpu_progress - the result of onpu_device_run()
 * @ONPU_PROGRESS_BUSY: the budget is used up
 * @ONPU_PROGRESS_IDLE: nothing happens, and no time passes, before the next access
 */
enum onpu_progress {
	ONPU_PROGRESS_BUSY,
	ONPU_PROGRESS_IDLE,
};

struct onpu_device;

/** onpu_device_config_default - returns the configuration of the default machine, with a TLB that evicts */
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
/**
 * onpu_device_create_in - make a device with memory from other functions than the C library's
 *
 * @memory is copied; NULL: the C library. All else is as described at onpu_device_create().
 */
struct onpu_device *onpu_device_create_in(const struct onpu_sim_memory *memory,
					  const struct onpu_device_config *config,
					  const struct onpu_host_ops *host, const char **error);
void onpu_device_destroy(struct onpu_device *device);

/**
 * onpu_device_mmio_read - read a register of BAR0
 * @size: bytes, 4 for registers
 *
 * Takes effect after all earlier accesses, so the call may wait for the device's current step.
 *
 * Return: the value, all ones for another size or an offset that is not aligned.
 */
uint64_t onpu_device_mmio_read(struct onpu_device *device, uint64_t offset, unsigned int size);

/** onpu_device_mmio_write - write a register of BAR0; posted, as PCI writes are */
void onpu_device_mmio_write(struct onpu_device *device, uint64_t offset, unsigned int size,
			    uint64_t value);

/** onpu_device_reset - function level reset, like the register RESET; returns when it is done */
void onpu_device_reset(struct onpu_device *device);

/**
 * onpu_device_run - let at most about @budget cycles pass
 *
 * Return: whether the budget is used up, or nothing is left to do before the next access.
 */
enum onpu_progress onpu_device_run(struct onpu_device *device, uint64_t budget);

/**
 * onpu_device_stop - let no more time pass, not even for the instruction under way
 *
 * From now on onpu_device_run() returns at once, and a running call returns soon. Call this before
 * destroying a device that another thread runs.
 */
void onpu_device_stop(struct onpu_device *device);

/**
 * struct onpu_device_event - an event of a trace
 * @point: onpu_device_point() at the event
 * @kind: enum onpu_access
 * @offset: offset in the trace
 * @value: value in the trace
 */
struct onpu_device_event {
	uint64_t point;
	unsigned int kind;
	uint32_t offset, value;
};

/**
 * onpu_device_point - the number of the point at which an access takes effect
 *
 * Only the host's functions @read, @write, @interrupt and @trace call this. The device makes no
 * step between two accesses with the same number. The numbers depend on the number of threads.
 */
uint64_t onpu_device_point(const struct onpu_device *device);

/**
 * onpu_device_replay - repeat a recording, instead of onpu_device_run() and accesses
 * @next: gives the next event of the trace, and gives it again until @trace has reported it; false:
 *	that event is for a later point than @point, or there is none
 *
 * The device must be in the state that the recorded one had before its first event; both have one
 * thread. The replay ends when @next has no event for a point that is reached outside of a run, or
 * after onpu_device_stop().
 */
void onpu_device_replay(struct onpu_device *device,
			bool (*next)(void *ctx, uint64_t point, struct onpu_device_event *event));

/** onpu_device_cycle - return the device's clock in cycles */
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
 * The running job, or else the next one, makes no progress, and its cycles do not increase, until
 * it is killed, is ended because it does not leave the CP in time for another one, or the device is
 * reset.
 */
void onpu_device_inject_stuck(struct onpu_device *device);

/**
 * onpu_device_inject_dead_core - let the management core hang, without a change of STATUS
 *
 * The core hangs until the device is reset. Jobs in the ring of the resident queue run all the
 * same.
 */
void onpu_device_inject_dead_core(struct onpu_device *device);

#ifdef __cplusplus
}
#endif

#endif
