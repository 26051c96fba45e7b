/* SPDX-License-Identifier: MIT */
/*
 * Declares a host of the device under test: memory on the bus, page tables, and what a driver does
 * with the device. The fuzzer may change any byte of the memory.
 */
#ifndef ONPU_FUZZ_HOST_H
#define ONPU_FUZZ_HOST_H

#include "onpu_device.h"
#include "template.h"

/* Bus address and size of the host memory. */
#define HOST_BUS   0x40000000u
#define HOST_BYTES 0x178000u

/* Offsets in host memory. */
#define HOST_FIRMWARE  0x00000u
#define HOST_REQUESTS  0x20000u
#define HOST_RESPONSES 0x20400u
#define HOST_LOG       0x21000u
#define HOST_ROOT      0x22000u /* page tables: root, then one chain for each half */
#define HOST_USER_L1   0x23000u
#define HOST_USER_L0   0x24000u
#define HOST_KERNEL_L1 0x25000u
#define HOST_KERNEL_L0 0x26000u
/* The kernel's pages of both contexts: ring, completion page, save area. */
#define HOST_KERNEL  0x28000u
#define HOST_CONTEXT 0x80000u  /* bytes for each context */
#define HOST_USER    0x128000u /* user pages with programs: TEMPLATE_MEMORY bytes */

#define HOST_KERNEL_VA	       (UINT64_C(1) << 37)
#define HOST_RING_OFFSET       0x0000u
#define HOST_COMPLETION_OFFSET 0x1000u
#define HOST_SAVE_OFFSET       0x2000u

#define HOST_CONTEXTS	  2u
#define HOST_QUEUES	  4u
#define HOST_MESSAGES	  16u /* entries of a message ring */
#define HOST_RING_ENTRIES 16u

struct host {
	struct onpu_device *device;
	uint8_t *memory;
	unsigned int interrupts;
	uint32_t requests;
	uint32_t submitted[HOST_CONTEXTS];
	uint64_t seqno;
};

/* Makes a device in the state RESET with HOST_BYTES of memory, which the function zeroes. */
void host_create(struct host *h, uint8_t *memory, bool sticky, int simd);
void host_destroy(struct host *h);

static inline void host_put(struct host *h, uint32_t at, const void *bytes, size_t size)
{
	if (at < HOST_BYTES && size <= HOST_BYTES - at)
		memcpy(h->memory + at, bytes, size);
}

void host_write_register(struct host *h, uint32_t offset, uint32_t value);
/* Makes tables that map TEMPLATE_MEMORY for users and HOST_CONTEXT twice for the kernel. */
void host_map(struct host *h);
/* Boots the image at HOST_FIRMWARE; @fix: makes its sizes and checksum right. */
void host_boot(struct host *h, uint32_t image_size, bool fix);
/* Sends a request as the driver does. */
void host_request(struct host *h, const void *message);
/* Makes an address space and two contexts, each with its queue. */
void host_contexts(struct host *h);
/* Puts an entry into a context's ring and rings the doorbell. */
void host_submit(struct host *h, unsigned int context, const void *entry);

#endif
