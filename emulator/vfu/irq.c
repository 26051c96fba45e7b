// SPDX-License-Identifier: MIT
/*
 * Interrupts of the function. A vector that cannot be sent stays pending: without a descriptor or
 * bus mastering until that changes; when the kernel lacks memory, until the vector is raised again.
 */
#define _GNU_SOURCE
#include "vfu/irq.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TYPES (VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_DATA_EVENTFD)
#define ACTIONS \
	(VFIO_IRQ_SET_ACTION_MASK | VFIO_IRQ_SET_ACTION_UNMASK | VFIO_IRQ_SET_ACTION_TRIGGER)

bool vfu_irqs_init(struct vfu_irqs *irqs, unsigned int vectors)
{
	memset(irqs, 0, sizeof(*irqs));
	pthread_mutex_init(&irqs->lock, NULL);
	irqs->sets[VFIO_PCI_MSI_IRQ_INDEX].count = 1;
	irqs->sets[VFIO_PCI_MSIX_IRQ_INDEX].count = vectors;
	/* The device never raises this vector. A client may attach to it all the same. */
	irqs->sets[VFIO_PCI_ERR_IRQ_INDEX].count = 1;
	for (unsigned int i = 0; i < VFIO_PCI_NUM_IRQS; i++)
		memset(irqs->sets[i].fds, -1, sizeof(irqs->sets[i].fds));
	irqs->empty = memfd_create("empty", MFD_CLOEXEC);
	return irqs->empty >= 0 && !syscall(SYS_io_setup, 1, &irqs->aio);
}

void vfu_irqs_destroy(struct vfu_irqs *irqs)
{
	vfu_irqs_clear(irqs);
	if (irqs->aio)
		syscall(SYS_io_destroy, irqs->aio);
	if (irqs->empty >= 0)
		close(irqs->empty);
	pthread_mutex_destroy(&irqs->lock);
}

/* ---- with the lock held */

static void attach(struct vfu_irq_set *set, unsigned int vector, int fd)
{
	if (set->fds[vector] >= 0)
		close(set->fds[vector]);
	set->fds[vector] = fd;
}

static void disarm(struct vfu_irq_set *set)
{
	for (unsigned int i = 0; i < set->count; i++)
		attach(set, i, -1);
	set->armed = false;
}

/*
 * Returns the vectors of MSI-X, or of MSI with its one vector, or NULL if the client uses neither.
 */
static struct vfu_irq_set *in_use(struct vfu_irqs *irqs)
{
	struct vfu_irq_set *msix = &irqs->sets[VFIO_PCI_MSIX_IRQ_INDEX];
	struct vfu_irq_set *msi = &irqs->sets[VFIO_PCI_MSI_IRQ_INDEX];

	if (msix->armed)
		return msix;
	return msi->armed ? msi : NULL;
}

/*
 * Raises an eventfd of the client by an asynchronous read, at whose end the kernel signals it;
 * returns whether that worked. A write() would sleep while the counter is full; the client can fill
 * it, and it can clear O_NONBLOCK. The kernel's own signal never sleeps. When the counter is full
 * nothing is lost: the client has not read it since the last interrupt.
 */
static bool fire(const struct vfu_irqs *irqs, int fd)
{
	struct iocb nothing = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)irqs->empty,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)fd,
	};
	struct iocb *list[] = { &nothing };
	struct io_event end;

	/*
	 * The read has ended when io_submit() returns. Take its event out, otherwise the ring has
	 * no room for the next one.
	 */
	if (syscall(SYS_io_submit, irqs->aio, 1L, list) != 1)
		return false;
	while (syscall(SYS_io_getevents, irqs->aio, 1L, 1L, &end, NULL) < 0 && errno == EINTR)
		;
	return true;
}

static void raise_vector(struct vfu_irqs *irqs, unsigned int vector)
{
	const struct vfu_irq_set *set = in_use(irqs);
	int fd;

	if (!set)
		return;
	fd = set->fds[set->count > 1 ? vector : 0];
	irqs->pending[vector] = !irqs->enabled || fd < 0 || !fire(irqs, fd);
}

static void retry(struct vfu_irqs *irqs)
{
	for (unsigned int i = 0; i < VFU_MAX_VECTORS; i++)
		if (irqs->pending[i])
			raise_vector(irqs, i);
}

/* ---- SET_IRQS */

bool vfu_is_eventfd(int fd)
{
	char name[32], target[32];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !strcmp(target, "anon_inode:[eventfd]");
}

static bool one_bit(uint32_t bits)
{
	return bits && !(bits & (bits - 1));
}

static int check_set(const struct vfu_irqs *irqs, const struct vfio_irq_set *head, size_t size,
		     const int *fds, unsigned int num_fds)
{
	const struct vfu_irq_set *set;

	if (head->index >= VFIO_PCI_NUM_IRQS)
		return EINVAL;
	set = &irqs->sets[head->index];
	if (head->start > set->count || head->count > set->count - head->start)
		return EINVAL;
	if (head->flags & ~(uint32_t)(TYPES | ACTIONS) || !one_bit(head->flags & TYPES) ||
	    !one_bit(head->flags & ACTIONS))
		return EINVAL;
	/* The client itself masks MSI and MSI-X: this server neither masks nor unmasks. */
	if (!(head->flags & VFIO_IRQ_SET_ACTION_TRIGGER))
		return ENOTSUP;
	if (head->flags & VFIO_IRQ_SET_DATA_BOOL && size < head->count)
		return EINVAL;
	if (!(head->flags & VFIO_IRQ_SET_DATA_EVENTFD))
		return num_fds ? EINVAL : 0;
	if (!head->count || (num_fds && num_fds != head->count))
		return EINVAL;
	for (unsigned int i = 0; i < num_fds; i++)
		if (!vfu_is_eventfd(fds[i]))
			return EINVAL;
	return 0;
}

static void attach_all(struct vfu_irq_set *set, const struct vfio_irq_set *head, int *fds,
		       unsigned int num_fds)
{
	for (unsigned int i = 0; i < head->count; i++) {
		attach(set, head->start + i, num_fds ? fds[i] : -1);
		if (num_fds)
			fds[i] = -1;
	}
	set->armed = true;
}

/* Raises vectors on the client's request, for its tests. */
static void trigger(const struct vfu_irqs *irqs, const struct vfio_irq_set *head,
		    const uint8_t *data)
{
	const struct vfu_irq_set *set = &irqs->sets[head->index];
	bool all = head->flags & VFIO_IRQ_SET_DATA_NONE;

	for (unsigned int i = 0; i < head->count; i++)
		if ((all || data[i]) && set->fds[head->start + i] >= 0)
			fire(irqs, set->fds[head->start + i]);
}

int vfu_irqs_set(struct vfu_irqs *irqs, const struct vfio_irq_set *head, const uint8_t *data,
		 size_t size, int *fds, unsigned int num_fds)
{
	int error = check_set(irqs, head, size, fds, num_fds);
	struct vfu_irq_set *set;

	if (error)
		return error;
	set = &irqs->sets[head->index];
	pthread_mutex_lock(&irqs->lock);
	if (head->flags & VFIO_IRQ_SET_DATA_EVENTFD) {
		attach_all(set, head, fds, num_fds);
		retry(irqs);
	} else if (head->flags & VFIO_IRQ_SET_DATA_NONE && !head->count) {
		disarm(set);
		if (!in_use(irqs))
			memset(irqs->pending, 0, sizeof(irqs->pending));
	} else {
		trigger(irqs, head, data);
	}
	pthread_mutex_unlock(&irqs->lock);
	return 0;
}

void vfu_irqs_clear(struct vfu_irqs *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	for (unsigned int i = 0; i < VFIO_PCI_NUM_IRQS; i++)
		disarm(&irqs->sets[i]);
	memset(irqs->pending, 0, sizeof(irqs->pending));
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_forget_pending(struct vfu_irqs *irqs)
{
	pthread_mutex_lock(&irqs->lock);
	memset(irqs->pending, 0, sizeof(irqs->pending));
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_enable(struct vfu_irqs *irqs, bool enabled)
{
	pthread_mutex_lock(&irqs->lock);
	irqs->enabled = enabled;
	retry(irqs);
	pthread_mutex_unlock(&irqs->lock);
}

void vfu_irqs_raise(struct vfu_irqs *irqs, unsigned int vector)
{
	pthread_mutex_lock(&irqs->lock);
	if (vector < VFU_MAX_VECTORS)
		raise_vector(irqs, vector);
	pthread_mutex_unlock(&irqs->lock);
}

bool vfu_irqs_pending(struct vfu_irqs *irqs, unsigned int vector)
{
	bool pending;

	pthread_mutex_lock(&irqs->lock);
	pending = irqs->pending[vector];
	pthread_mutex_unlock(&irqs->lock);
	return pending;
}
