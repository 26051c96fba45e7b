/* SPDX-License-Identifier: MIT */
/*
 * Wire format of vfio-user, version 0.0, as QEMU's document interop/vfio-user defines it; little
 * endian. Region, interrupt and device information have the structures of <linux/vfio.h>.
 */
#ifndef ONPU_VFU_PROTOCOL_H
#define ONPU_VFU_PROTOCOL_H

#include <stdint.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP,
	VFU_DMA_UNMAP,
	VFU_DEVICE_GET_INFO,
	VFU_DEVICE_GET_REGION_INFO,
	VFU_DEVICE_GET_REGION_IO_FDS,
	VFU_DEVICE_GET_IRQ_INFO,
	VFU_DEVICE_SET_IRQS,
	VFU_REGION_READ,
	VFU_REGION_WRITE,
	VFU_DMA_READ,
	VFU_DMA_WRITE,
	VFU_DEVICE_RESET,
	VFU_REGION_WRITE_MULTI,
};

#define VFU_FLAG_TYPE	  0x0fu
#define VFU_TYPE_COMMAND  0x00u
#define VFU_TYPE_REPLY	  0x01u
#define VFU_FLAG_NO_REPLY 0x10u
#define VFU_FLAG_ERROR	  0x20u

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size; /* bytes of the message, including this header */
	uint32_t flags;
	uint32_t error; /* errno, with VFU_FLAG_ERROR */
};

#define VFU_MAJOR 0
#define VFU_MINOR 0

/* The version; capabilities follow it as JSON, ended by a NUL. */
struct vfu_version {
	uint16_t major, minor;
};

#define VFU_DMA_READABLE 0x1u
#define VFU_DMA_WRITABLE 0x2u

struct vfu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset; /* in the file whose descriptor comes with the message */
	uint64_t address, size;
};

#define VFU_DMA_UNMAP_BITMAP 0x1u
#define VFU_DMA_UNMAP_ALL    0x2u

struct vfu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t address, size;
};

/*
 * Header of REGION_READ, REGION_WRITE and their replies; data follows it in a write and in the
 * reply to a read.
 */
struct vfu_region_access {
	uint64_t offset;
	uint32_t region, count;
};

/* Limits of this server, which it tells the client. */
#define VFU_MAX_DATA	(1u << 20)
#define VFU_MAX_FDS	16u
#define VFU_MAX_MAPS	32768u /* about half of a process's default limit, vm.max_map_count */
#define VFU_MAX_PAYLOAD (sizeof(struct vfu_region_access) + VFU_MAX_DATA)

#endif
