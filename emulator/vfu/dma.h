/* SPDX-License-Identifier: MIT */
/*
 * The client's memory: ranges of bus addresses that it lends, mapped from the descriptors that it
 * passed. Used by the device's thread and changed by the protocol's.
 */
#ifndef ONPU_VFU_DMA_H
#define ONPU_VFU_DMA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vfu_map {
	uint64_t address, size;
	uint8_t *base; /* NULL: nothing that the device could reach */
	bool readable, writable;
};

struct vfu_dma {
	pthread_mutex_t lock;
	struct vfu_map *maps; /* by address */
	unsigned int count, room;
	unsigned int last; /* where the last access was */
	bool enabled;	   /* the function may be master of the bus */
};

void vfu_dma_init(struct vfu_dma *dma);
void vfu_dma_destroy(struct vfu_dma *dma);

/**
 * vfu_dma_add - a range that the client lends
 * @fd: memory behind it, -1: none; remains the caller's
 * @offset: where it starts there
 * @backed: whether the device can reach it. It cannot without a descriptor, nor when the file may
 *	shrink or has huge pages, which could end this process with SIGBUS.
 *
 * Return: 0 or an errno.
 */
int vfu_dma_add(struct vfu_dma *dma, const struct vfu_map *range, int fd, uint64_t offset,
		bool *backed);
/*
 * Takes back all ranges within these addresses, or none if there is none or one is so in part. When it
 * returns, no access of them is under way.
 */
int vfu_dma_remove(struct vfu_dma *dma, uint64_t address, uint64_t size);
void vfu_dma_clear(struct vfu_dma *dma);
void vfu_dma_enable(struct vfu_dma *dma, bool enabled);

/* Copy; what is not lent, or not for that, is a bus error: -EIO. */
int vfu_dma_read(struct vfu_dma *dma, uint64_t address, void *dst, size_t len);
int vfu_dma_write(struct vfu_dma *dma, uint64_t address, const void *src, size_t len);

#endif
