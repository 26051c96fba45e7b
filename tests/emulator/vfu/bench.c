// SPDX-License-Identifier: MIT
/* Implements bench.h, the bench of the vfio-user tests. */
#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATIENCE_MS 60000

struct vfu_server_config bench_config(void)
{
	struct vfu_server_config config = {
		.function = { .device = onpu_device_config_default(), .msix = true },
		.patience_ms = 1000,
		.quiet = true,
	};

	config.function.device.sim.sram_bytes = BENCH_SRAM;
	config.function.device.sim.num_queues = BENCH_QUEUES;
	return config;
}

unsigned int bench_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

void bench_expect_descriptors(unsigned int count)
{
	for (unsigned int i = 0; bench_descriptors() > count; i++) {
		if (i == 60000)
			fail_msg("%u descriptors are open, not %u", bench_descriptors(), count);
		usleep(1000);
	}
}

int bench_memfd(size_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return fd;
}

static void *server_main(void *arg)
{
	struct bench *b = arg;

	while (vfu_server_poll(&b->server, -1))
		;
	vfu_server_destroy(&b->server);
	return NULL;
}

void bench_start(struct bench *b, const struct vfu_server_config *config)
{
	const char *error = "";
	int listening;

	memset(b, 0, sizeof(*b));
	strcpy(b->folder, "/tmp/vfu-XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	snprintf(b->path, sizeof(b->path), "%s/socket", b->folder);
	b->client.fd = -1;
	b->stop = eventfd(0, EFD_CLOEXEC);
	b->memory_fd = bench_memfd(RIG_MEMORY);
	b->memory = mmap(NULL, RIG_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, b->memory_fd, 0);
	assert_true(b->memory != MAP_FAILED);
	for (unsigned int i = 0; i < BENCH_VECTORS; i++)
		b->vectors[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	listening = vfu_listen(b->path);
	assert_true(listening >= 0);
	if (!vfu_server_init(&b->server, config, listening, b->stop, &error))
		fail_msg("no server: %s", error);
	assert_int_equal(pthread_create(&b->thread, NULL, server_main, b), 0);
}

void bench_stop(struct bench *b)
{
	assert_int_equal(eventfd_write(b->stop, 1), 0);
	pthread_join(b->thread, NULL);
	if (b->client.fd >= 0)
		client_close(&b->client);
	for (unsigned int i = 0; i < BENCH_VECTORS; i++)
		close(b->vectors[i]);
	munmap(b->memory, RIG_MEMORY);
	close(b->memory_fd);
	close(b->stop);
	unlink(b->path);
	rmdir(b->folder);
}

/* ---- the rig through the socket */

static uint32_t bar0_read(void *ctx, uint32_t offset)
{
	struct bench *b = ctx;

	return client_read32(&b->client, VFIO_PCI_BAR0_REGION_INDEX, offset);
}

static void bar0_write(void *ctx, uint32_t offset, uint32_t value)
{
	struct bench *b = ctx;

	client_write32(&b->client, VFIO_PCI_BAR0_REGION_INDEX, offset, value);
}

static void pass(void *ctx)
{
	(void)ctx;
	usleep(500);
}

void bench_connect(struct bench *b)
{
	const struct rig_io io = { b, bar0_read, bar0_write, pass };

	client_open(&b->client, b->path);
	assert_int_equal(client_version(&b->client), 0);
	memset(b->memory, 0, RIG_MEMORY);
	rig_attach(&b->rig, &io, b->memory);
}

void bench_enable(struct bench *b)
{
	client_set_config16(&b->client, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void bench_lend(struct bench *b)
{
	assert_int_equal(client_dma_map(&b->client, RIG_BUS, RIG_MEMORY, b->memory_fd, 0,
					VFU_DMA_READABLE | VFU_DMA_WRITABLE),
			 0);
}

void bench_attach_vectors(struct bench *b)
{
	const uint32_t flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
	struct vfio_irq_info info = client_irq_info(&b->client, VFIO_PCI_MSIX_IRQ_INDEX);

	if (!info.count)
		info = client_irq_info(&b->client, VFIO_PCI_MSI_IRQ_INDEX);
	assert_true(info.count <= BENCH_VECTORS);
	assert_int_equal(client_set_irqs(&b->client, flags, info.index, 0, info.count, b->vectors,
					 info.count),
			 0);
}

void bench_attach(struct bench *b)
{
	bench_connect(b);
	bench_lend(b);
	bench_enable(b);
	bench_attach_vectors(b);
}

void bench_boot(struct bench *b)
{
	uint32_t status = 0;

	rig_setup(&b->rig);
	rig_write(&b->rig, ONPU_REG_INT_ENABLE,
		  ONPU_INT_STATUS_STATUS__MASK | ONPU_INT_STATUS_INVALIDATED__MASK);
	rig_write(&b->rig, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	for (unsigned int i = 0; i < 20000 && (!status || status == ONPU_STATE_BOOTING); i++) {
		pass(b);
		status = rig_read(&b->rig, ONPU_REG_STATUS);
	}
	assert_int_equal(status, ONPU_STATE_READY);
}

bool bench_interrupted(struct bench *b, unsigned int vector, int timeout)
{
	struct pollfd fd = { .fd = b->vectors[vector], .events = POLLIN };
	eventfd_t count;

	if (poll(&fd, 1, timeout) != 1)
		return false;
	assert_int_equal(eventfd_read(b->vectors[vector], &count), 0);
	return true;
}

void bench_wait(struct bench *b, const struct rig_context *c, uint64_t seqno)
{
	const struct onpu_completion *page = rig_at(&b->rig, c->completion);

	while (__atomic_load_n(&page->seqno, __ATOMIC_ACQUIRE) < seqno)
		if (!bench_interrupted(b, c->queue + 1, PATIENCE_MS))
			fail_msg("no interrupt for job %llu", (unsigned long long)seqno);
}
