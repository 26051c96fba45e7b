/* SPDX-License-Identifier: MIT */
/*
 * A device with a host around it: memory, page tables, rings, and the driver's side of the
 * messages. Everything runs in one thread: the device's time passes only when a test lets it.
 */
#ifndef TESTS_DEVICE_RIG_H
#define TESTS_DEVICE_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "onpu/registers.h"
#include "onpu_device.h"
#include "program.h"

#define RIG_BUS	      UINT64_C(0x4000000000)
#define RIG_MEMORY    (96u << 20)
#define RIG_RING      16u
#define RIG_KERNEL_VA (UINT64_C(1) << 37)
#define RIG_EVENTS    64
#define RIG_VECTORS   (ONPU_MAX_QUEUES + 1)

/* The flags of a page table entry for a page of the user, and for one of the kernel. */
#define RIG_USER   (ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_W | ONPU_PTE_U | ONPU_PTE_A | ONPU_PTE_D)
#define RIG_KERNEL (RIG_USER & ~ONPU_PTE_U)

/*
 * Accesses to a device that the rig did not make: @read and @write access its registers, and @pass
 * lets that device work for a while.
 */
struct rig_io {
	void *ctx;
	uint32_t (*read)(void *ctx, uint32_t offset);
	void (*write)(void *ctx, uint32_t offset, uint32_t value);
	void (*pass)(void *ctx);
};

struct rig {
	struct onpu_device *device; /* NULL: the device is reached through io */
	struct rig_io io;
	struct onpu_device_config config;
	uint8_t *memory;
	uint64_t used;
	unsigned int interrupts[RIG_VECTORS];
	uint64_t image; /* bus address of the firmware, 0: not loaded */
	uint32_t image_size;
	uint64_t requests, responses, log;
	uint32_t request_tail, response_head, id;
	struct onpu_msg_event_fault events[RIG_EVENTS];
	unsigned int num_events;
	uint64_t bus_hole; /* the device's accesses to this page, by bus address, fail; 0: none */
	/* Called at every read of memory by the device, unless NULL; may write registers. */
	void (*on_read)(struct rig *rig, uint64_t addr);
};

struct rig_vm {
	uint64_t root;
	uint32_t index, asid;
};

struct rig_context {
	struct rig_vm *vm;
	uint32_t id, queue;
	uint64_t ring, completion, save; /* bus addresses */
	uint64_t ring_va, completion_va, save_va;
	uint32_t tail;
	uint64_t seqno;
	uint64_t data; /* bus address of the program's data */
	size_t data_size;
};

/*
 * Makes a device in the state RESET. sram_bytes or num_queues of 0 stands for the default; @sticky
 * makes the TLB keep entries until they are invalidated.
 */
void rig_init(struct rig *rig, uint32_t sram_bytes, uint32_t num_queues, bool sticky);
/*
 * Makes a rig for a device that the caller has made, with RIG_MEMORY zeroed bytes of memory at
 * RIG_BUS.
 */
void rig_attach(struct rig *rig, const struct rig_io *io, void *memory);
void rig_destroy(struct rig *rig);

/*
 * rig_alloc() returns the bus address of unused memory, which begins at a page. rig_at() returns
 * the memory at a bus address. They fail the test if no memory is left or the address is not in the
 * memory.
 */
uint64_t rig_alloc(struct rig *rig, size_t size);
void *rig_at(struct rig *rig, uint64_t bus);
/*
 * rig_read() and rig_write() access the register at an offset in BAR0; rig_read64() reads two
 * registers, the low half first.
 */
uint32_t rig_read(struct rig *rig, uint32_t offset);
void rig_write(struct rig *rig, uint32_t offset, uint32_t value);
uint64_t rig_read64(struct rig *rig, uint32_t offset);

/* Lets the device's time pass until it has nothing more to do. */
void rig_settle(struct rig *rig);

/*
 * rig_setup() writes the registers of rings and firmware; rig_boot() also boots up to the state
 * READY; rig_start() also calls rig_init().
 */
void rig_setup(struct rig *rig);
void rig_boot(struct rig *rig);
void rig_start(struct rig *rig, uint32_t sram_bytes, uint32_t num_queues, bool sticky);

/* Sends the request *m and waits for the response, which it puts in *m; returns the status. */
uint32_t rig_request(struct rig *rig, union onpu_msg *m);
/*
 * Sends a request of @type whose first two words after the header are @first and @second; returns
 * the status.
 */
uint32_t rig_simple(struct rig *rig, uint32_t type, uint32_t first, uint32_t second);
/* Takes all messages from the response ring; those that answer no request are added to events[]. */
void rig_collect(struct rig *rig);

/*
 * Maps memory at the bus address @bus to @va, with the flags of page table entries; with large
 * pages where they fit.
 */
void rig_map(struct rig *rig, const struct rig_vm *vm, uint64_t va, uint64_t bus, size_t size,
	     uint64_t flags);
/* Returns the leaf page table entry of an address, for tests that change it. */
uint64_t *rig_leaf(struct rig *rig, const struct rig_vm *vm, uint64_t va);
/*
 * Creates an address space, or a context with its queue, by requests to the firmware, which must
 * succeed.
 */
void rig_vm_create(struct rig *rig, struct rig_vm *vm, uint32_t index);
void rig_context_create(struct rig *rig, struct rig_context *c, struct rig_vm *vm, uint32_t id,
			uint32_t queue);

/* Puts a program and its data in the memory of a context. */
void rig_load(struct rig *rig, struct rig_context *c, const struct program *p);
/*
 * rig_job() returns the ring entry for a program. rig_submit() writes an entry into the ring and,
 * if @ring is true, writes the doorbell.
 */
struct onpu_ring_job rig_job(const struct program *p);
void rig_submit(struct rig *rig, struct rig_context *c, const struct onpu_ring_job *job, bool ring);
void rig_doorbell(struct rig *rig, const struct rig_context *c);
struct onpu_completion rig_completion(struct rig *rig, const struct rig_context *c);
struct onpu_fault_record rig_fault(struct rig *rig, const struct rig_context *c);

#endif
