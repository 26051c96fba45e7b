/* SPDX-License-Identifier: MIT */
/*
 * The client's memory: ranges of bus addresses that the client lends, mapped from the descriptors
 * that it passes. The device's thread uses them and the protocol's thread changes them.
 */
#ifndef ONPU_VFU_DMA_H
#define ONPU_VFU_DMA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vfu_map {
	uint64_t address, size;
	uint8_t *base; /* NULL: the device cannot access this range */
	/* The mapping that contains the range: of whole huge pages if the file has them. */
	uint8_t *mapping;
	size_t mapping_size;
	bool readable, writable;
};

struct vfu_dma {
	pthread_mutex_t lock;
	struct vfu_map *maps; /* sorted by address */
	unsigned int count, room;
	unsigned int last; /* index of the range of the last access */
	bool enabled;	   /* the function may be master of the bus */
};

/* Calls vfu_dma_handle_sigbus(), too. */
void vfu_dma_init(struct vfu_dma *dma);
/*
 * Makes the process survive SIGBUS, which an access to memory that has vanished raises; for callers
 * who have set another handler since vfu_dma_init().
 */
void vfu_dma_handle_sigbus(void);
void vfu_dma_destroy(struct vfu_dma *dma);

/**
 * vfu_dma_add - add a range of memory that the client lends
 * @fd: file of that memory, -1: none; remains the caller's
 * @offset: offset of the range in the file
 * @backed: whether the device can reach it. It cannot without a descriptor, nor when the file is no
 *	memory. When the memory vanishes later, accesses to the whole range are bus errors.
 *
 * Return: 0 or an errno.
 */
int vfu_dma_add(struct vfu_dma *dma, const struct vfu_map *range, int fd, uint64_t offset,
		bool *backed);
/*
 * Removes all ranges within these addresses; removes none and returns an errno if there is none or
 * one lies there only in part. When it returns, no access to them is under way.
 */
int vfu_dma_remove(struct vfu_dma *dma, uint64_t address, uint64_t size);
void vfu_dma_clear(struct vfu_dma *dma);
void vfu_dma_enable(struct vfu_dma *dma, bool enabled);

/*
 * Copy from and to the client's memory. Return 0, or -EIO (a bus error) for an address that is not
 * lent, or not for this kind of access.
 */
int vfu_dma_read(struct vfu_dma *dma, uint64_t address, void *dst, size_t len);
int vfu_dma_write(struct vfu_dma *dma, uint64_t address, const void *src, size_t len);

#endif
