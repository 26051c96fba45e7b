// SPDX-License-Identifier: MIT
/* Tests the messages that QEMU sends when it attaches, and each command against the protocol. */
#include "bench.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <unistd.h>

#define CONFIG VFIO_PCI_CONFIG_REGION_INDEX
#define BAR0   VFIO_PCI_BAR0_REGION_INDEX
#define BAR2   VFIO_PCI_BAR2_REGION_INDEX

static struct bench b;

static int setup(void **state)
{
	const struct vfu_server_config config = bench_config();

	(void)state;
	bench_start(&b, &config);
	client_open(&b.client, b.path);
	return 0;
}

static int setup_without_msix(void **state)
{
	struct vfu_server_config config = bench_config();

	(void)state;
	config.function.msix = false;
	bench_start(&b, &config);
	client_open(&b.client, b.path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_stop(&b);
	return 0;
}

static void expect_info(void)
{
	struct vfio_device_info info = { .argsz = 16 };

	assert_int_equal(client_call(&b.client, VFU_DEVICE_GET_INFO, &info, 16, NULL, 0), 0);
	assert_int_equal(b.client.size, 16);
	memcpy(&info, b.client.data, 16);
	assert_int_equal(info.argsz, 16);
	assert_int_equal(info.flags, VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI);
	assert_int_equal(info.num_regions, 9);
	assert_int_equal(info.num_irqs, 5);
}

static void expect_region(uint32_t index, uint64_t size)
{
	struct vfio_region_info info = client_region_info(&b.client, index);
	const uint32_t access = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;

	assert_int_equal(info.argsz, sizeof(info));
	assert_int_equal(info.index, index);
	assert_int_equal(info.size, size);
	/* The region cannot be mapped, and has no capabilities. */
	assert_int_equal(info.flags, size ? access : 0);
	assert_int_equal(info.cap_offset, 0);
}

static void expect_irqs(uint32_t index, uint32_t count)
{
	struct vfio_irq_info info = client_irq_info(&b.client, index);

	assert_int_equal(info.count, count);
	assert_int_equal(info.flags, VFIO_IRQ_INFO_EVENTFD);
}

/* Sends two maps before it reads the first reply. */
static void pipelined_maps(void)
{
	struct {
		struct vfu_header header;
		struct vfu_dma_map map;
	} messages[2] = { 0 };

	for (unsigned int i = 0; i < 2; i++) {
		messages[i].header = (struct vfu_header){
			.id = (uint16_t)(100 + i),
			.command = VFU_DMA_MAP,
			.size = sizeof(messages[i]),
		};
	}
	messages[0].map = (struct vfu_dma_map){ 32, 3, 0, RIG_BUS, RIG_MEMORY };
	messages[1].map = (struct vfu_dma_map){ 32, 1, 0, 0xfffc0000, 0x40000 };
	assert_true(client_send(&b.client, &messages[0], sizeof(messages[0]), &b.memory_fd, 1));
	assert_true(client_send(&b.client, &messages[1], sizeof(messages[1]), NULL, 0));
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(client_receive(&b.client));
		assert_int_equal(b.client.reply.id, 100 + i);
		assert_int_equal(b.client.reply.flags, VFU_TYPE_REPLY);
		assert_int_equal(b.client.size, 0);
	}
}

static void test_attach(void **state)
{
	static const uint64_t sizes[9] = { ONPU_BAR0_SIZE, 0, 0x2000, 0, 0, 0, 0, 4096, 0 };
	uint8_t config[4096];

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	assert_true(b.client.size + sizeof(b.client.reply) <= 214);
	assert_memory_equal(b.client.data, "\0\0\0\0{\"capabilities\":{", 21);
	assert_int_equal(b.client.data[b.client.size - 1], 0);
	assert_non_null(strstr((const char *)b.client.data + 4, "\"max_dma_maps\":32768"));
	pipelined_maps();
	expect_info();
	for (uint32_t i = 0; i < 9; i++)
		expect_region(i, sizes[i]);
	expect_irqs(VFIO_PCI_INTX_IRQ_INDEX, 0);
	expect_irqs(VFIO_PCI_MSI_IRQ_INDEX, 1);
	expect_irqs(VFIO_PCI_MSIX_IRQ_INDEX, BENCH_VECTORS);
	expect_irqs(VFIO_PCI_ERR_IRQ_INDEX, 1);
	expect_irqs(VFIO_PCI_REQ_IRQ_INDEX, 0);
	assert_int_equal(client_read(&b.client, CONFIG, 0, config, sizeof(config)), 0);
	assert_int_equal(config[0] | config[1] << 8, ONPU_PCI_VENDOR);
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	for (unsigned int i = 0; i < 6; i++)
		client_write32(&b.client, CONFIG, PCI_BASE_ADDRESS_0 + 4 * i, 0);
	assert_int_equal(client_dma_unmap(&b.client, 0xfffc0000, 0x40000), 0);
	assert_int_equal(b.client.size, sizeof(struct vfu_dma_unmap));
	assert_int_equal(client_dma_unmap(&b.client, 0xfffc0000, 0x40000), ENOENT);
}

static void test_without_msix(void **state)
{
	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	expect_region(BAR0, ONPU_BAR0_SIZE);
	expect_region(BAR2, 0);
	expect_irqs(VFIO_PCI_MSI_IRQ_INDEX, 1);
	expect_irqs(VFIO_PCI_MSIX_IRQ_INDEX, 0);
	assert_int_equal(client_read(&b.client, BAR2, 0, &(uint32_t){ 0 }, 4), EINVAL);
}

static void test_bar0(void **state)
{
	uint32_t words[4] = { 0 };
	uint64_t wide = 0;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	/* The function does not answer memory accesses yet. */
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_ID), UINT32_MAX);
	client_write32(&b.client, BAR0, ONPU_REG_FW_SIZE, 77);
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_FW_SIZE), 0);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_ID), ONPU_ID_MAGIC);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_CAP_VECTORS), BENCH_VECTORS);
	client_write32(&b.client, BAR0, ONPU_REG_FW_SIZE, 77);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_FW_SIZE), 77);
	/* Accesses have other widths, span several registers, are not aligned, or have no bytes. */
	assert_int_equal(client_read(&b.client, BAR0, ONPU_REG_ID, &wide, 8), 0);
	assert_true(wide == UINT64_MAX);
	assert_int_equal(client_read(&b.client, BAR0, ONPU_REG_ID, words, 16), 0);
	assert_int_equal(words[0] & words[3], UINT32_MAX);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_ID + 2), UINT32_MAX);
	assert_int_equal(client_write(&b.client, BAR0, ONPU_REG_FW_SIZE, words, 16), 0);
	assert_int_equal(client_write(&b.client, BAR0, ONPU_REG_FW_SIZE, words, 2), 0);
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_FW_SIZE), 77);
	assert_int_equal(client_read(&b.client, BAR0, 0, words, 0), 0);
	assert_int_equal(client_write(&b.client, BAR0, ONPU_REG_FW_SIZE, words, 0), 0);
	assert_int_equal(client_read(&b.client, BAR0, ONPU_BAR0_SIZE, words, 0), 0);
}

static void test_msix_bar(void **state)
{
	const uint32_t pba = 0x1000;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	for (unsigned int i = 0; i < BENCH_VECTORS; i++)
		assert_int_equal(client_read32(&b.client, BAR2, i * 16 + 12), 1);
	assert_int_equal(client_read32(&b.client, BAR2, BENCH_VECTORS * 16 + 12), 0);
	client_write32(&b.client, BAR2, 16, 0xfee00000);
	client_write32(&b.client, BAR2, pba, UINT32_MAX);
	client_write32(&b.client, BAR2, 0x1ffc, UINT32_MAX);
	assert_int_equal(client_read32(&b.client, BAR2, 16), 0xfee00000);
	assert_int_equal(client_read32(&b.client, BAR2, pba), 0);
	assert_int_equal(client_read32(&b.client, BAR2, 0x1ffc), 0);
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	assert_int_equal(client_read32(&b.client, BAR2, 16), 0);
}

/* A posted write gets no reply: the next reply is that of the next command. */
static void test_posted_write(void **state)
{
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
		uint32_t value;
	} __attribute__((packed)) m = {
		.header = { .id = 9,
			    .command = VFU_REGION_WRITE,
			    .size = sizeof(m),
			    .flags = VFU_FLAG_NO_REPLY },
		.access = { ONPU_REG_FW_SIZE, BAR0, 4 },
		.value = 4711,
	};

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	assert_true(client_send(&b.client, &m, sizeof(m), NULL, 0));
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_FW_SIZE), 4711);
	/* An error of a posted write gets no reply either. */
	m.access.offset = ONPU_BAR0_SIZE;
	assert_true(client_send(&b.client, &m, sizeof(m), NULL, 0));
	assert_int_equal(client_read32(&b.client, BAR0, ONPU_REG_FW_SIZE), 4711);
}

static void test_unmap_all(void **state)
{
	struct vfu_dma_unmap unmap = { sizeof(unmap), VFU_DMA_UNMAP_ALL, 0, 0 };

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, -1, 0, 3), 0);
	assert_int_equal(client_dma_map(&b.client, 8192, 4096, -1, 0, 3), 0);
	assert_int_equal(client_dma_map(&b.client, 8192, 4096, -1, 0, 3), EEXIST);
	/* Flags that this server does not know are no reason to refuse memory. */
	assert_int_equal(client_dma_map(&b.client, 16384, 4096, -1, 0, 3 | 1u << 2 | 1u << 31), 0);
	assert_int_equal(client_dma_unmap(&b.client, 16384, 4096), 0);
	assert_int_equal(client_call(&b.client, VFU_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0), 0);
	assert_int_equal(client_dma_unmap(&b.client, 0, 4096), ENOENT);
	assert_int_equal(client_dma_map(&b.client, 0, 65536, -1, 0, 1), 0);
	unmap.size = 4096;
	assert_int_equal(client_call(&b.client, VFU_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0),
			 EINVAL);
	unmap.flags = VFU_DMA_UNMAP_BITMAP;
	assert_int_equal(client_call(&b.client, VFU_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0),
			 ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_attach, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_msix, setup_without_msix, teardown),
		cmocka_unit_test_setup_teardown(test_bar0, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msix_bar, setup, teardown),
		cmocka_unit_test_setup_teardown(test_posted_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmap_all, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
