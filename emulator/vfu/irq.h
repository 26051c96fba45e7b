/* SPDX-License-Identifier: MIT */
/* Interrupts of the function: eventfds that the client attached to its vectors. */
#ifndef ONPU_VFU_IRQ_H
#define ONPU_VFU_IRQ_H

#include <linux/aio_abi.h>
#include <linux/vfio.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu/registers.h"

#define VFU_MAX_VECTORS (ONPU_MAX_QUEUES + 1)

/**
 * struct vfu_irq_set - the vectors of one kind, as VFIO_DEVICE_SET_IRQS left them
 * @count: number of vectors
 * @armed: the client uses this kind
 * @fds: descriptor attached to each vector; -1: none
 */
struct vfu_irq_set {
	unsigned int count;
	bool armed;
	int fds[VFU_MAX_VECTORS];
};

/**
 * struct vfu_irqs - the interrupts of the function
 * @enabled: the function may send messages
 * @pending: vectors that were raised and could not be sent
 * @aio: context of the asynchronous reads of @empty that raise the eventfds
 * @empty: descriptor of an empty file
 */
struct vfu_irqs {
	pthread_mutex_t lock;
	struct vfu_irq_set sets[VFIO_PCI_NUM_IRQS];
	bool enabled;
	bool pending[VFU_MAX_VECTORS];
	aio_context_t aio;
	int empty;
};

/* Returns whether a descriptor is an eventfd, the only kind that can be raised. */
bool vfu_is_eventfd(int fd);

/*
 * Creates the interrupts: @vectors of MSI-X (0: none) and one of MSI. Returns false if the kernel
 * has no asynchronous I/O for this process; then only vfu_irqs_destroy() may be called.
 */
bool vfu_irqs_init(struct vfu_irqs *irqs, unsigned int vectors);
void vfu_irqs_destroy(struct vfu_irqs *irqs);

/*
 * Executes VFIO_DEVICE_SET_IRQS with @size bytes after the header. It takes descriptors over by
 * replacing them with -1. Returns 0 or an errno.
 */
int vfu_irqs_set(struct vfu_irqs *irqs, const struct vfio_irq_set *head, const uint8_t *data,
		 size_t size, int *fds, unsigned int num_fds);
/* Detaches all descriptors. */
void vfu_irqs_clear(struct vfu_irqs *irqs);
void vfu_irqs_forget_pending(struct vfu_irqs *irqs);
void vfu_irqs_enable(struct vfu_irqs *irqs, bool enabled);

void vfu_irqs_raise(struct vfu_irqs *irqs, unsigned int vector);
bool vfu_irqs_pending(struct vfu_irqs *irqs, unsigned int vector);

#endif
