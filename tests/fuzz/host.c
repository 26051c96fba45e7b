// SPDX-License-Identifier: MIT
/* Implements host.h. */
#include "host.h"

#define LEAF   (ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_W | ONPU_PTE_A | ONPU_PTE_D)
#define BUDGET (1u << 20) /* cycles within which a request is answered */

static int bus_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct host *h = ctx;
	uint64_t at = addr - HOST_BUS;

	if (at >= HOST_BYTES || len > HOST_BYTES - at)
		return 1;
	memcpy(dst, h->memory + at, len);
	return 0;
}

static int bus_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct host *h = ctx;
	uint64_t at = addr - HOST_BUS;

	if (at >= HOST_BYTES || len > HOST_BYTES - at)
		return 1;
	memcpy(h->memory + at, src, len);
	return 0;
}

static void interrupt(void *ctx, unsigned int vector)
{
	struct host *h = ctx;

	FUZZ_CHECK(vector <= HOST_QUEUES, "vector %u", vector);
	h->interrupts++;
}

void host_create(struct host *h, uint8_t *memory, bool sticky, int simd)
{
	const struct onpu_host_ops ops = {
		.ctx = h,
		.read = bus_read,
		.write = bus_write,
		.interrupt = interrupt,
	};
	struct onpu_device_config config = onpu_device_config_default();
	const char *error = "";

	memset(h, 0, sizeof(*h));
	config.tlb_sticky = sticky;
	config.sim.sram_bytes = TEMPLATE_SRAM;
	config.sim.lanes = 8;
	config.sim.mxu_rows = 8;
	config.sim.mxu_cols = 8;
	config.sim.dma_bytes_per_cycle = 8;
	config.sim.num_queues = HOST_QUEUES;
	config.sim.simd = simd;
	h->memory = memory;
	memset(memory, 0, HOST_BYTES);
	h->device = onpu_device_create(&config, &ops, &error);
	FUZZ_CHECK(h->device, "%s", error);
}

void host_destroy(struct host *h)
{
	onpu_device_destroy(h->device);
}

void host_write_register(struct host *h, uint32_t offset, uint32_t value)
{
	onpu_device_mmio_write(h->device, offset, 4, value);
}

static void set_entry(struct host *h, uint32_t table, unsigned int index, uint32_t to,
		      uint64_t bits)
{
	uint64_t pte = (uint64_t)(HOST_BUS + to) >> 12 << ONPU_PTE_PPN_SHIFT | bits;

	host_put(h, table + index * (uint32_t)sizeof(pte), &pte, sizeof(pte));
}

void host_map(struct host *h)
{
	set_entry(h, HOST_ROOT, TEMPLATE_PROGRAM_VA >> 30, HOST_USER_L1, ONPU_PTE_V);
	set_entry(h, HOST_USER_L1, TEMPLATE_PROGRAM_VA >> 21 & 511, HOST_USER_L0, ONPU_PTE_V);
	for (uint32_t i = 0; i < TEMPLATE_MEMORY >> 12; i++)
		set_entry(h, HOST_USER_L0, i, HOST_USER + (i << 12), LEAF | ONPU_PTE_U);
	set_entry(h, HOST_ROOT, HOST_KERNEL_VA >> 30, HOST_KERNEL_L1, ONPU_PTE_V);
	set_entry(h, HOST_KERNEL_L1, 0, HOST_KERNEL_L0, ONPU_PTE_V);
	for (uint32_t i = 0; i < HOST_CONTEXTS * HOST_CONTEXT >> 12; i++)
		set_entry(h, HOST_KERNEL_L0, i, HOST_KERNEL + (i << 12), LEAF);
}

static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

void host_boot(struct host *h, uint32_t image_size, bool fix)
{
	struct onpu_fw_header *header = (struct onpu_fw_header *)(h->memory + HOST_FIRMWARE);

	if (fix) {
		header->image_size = image_size - ONPU_FW_HEADER_SIZE;
		header->crc =
			crc32(h->memory + HOST_FIRMWARE + ONPU_FW_HEADER_SIZE, header->image_size);
	}
	host_write_register(h, ONPU_REG_REQUEST_BASE_LO, HOST_BUS + HOST_REQUESTS);
	host_write_register(h, ONPU_REG_REQUEST_SIZE, HOST_MESSAGES);
	host_write_register(h, ONPU_REG_RESPONSE_BASE_LO, HOST_BUS + HOST_RESPONSES);
	host_write_register(h, ONPU_REG_RESPONSE_SIZE, HOST_MESSAGES);
	host_write_register(h, ONPU_REG_LOG_BASE_LO, HOST_BUS + HOST_LOG);
	host_write_register(h, ONPU_REG_LOG_SIZE, 4096);
	host_write_register(h, ONPU_REG_INT_ENABLE, UINT32_MAX);
	host_write_register(h, ONPU_REG_FW_ADDRESS_LO, HOST_BUS + HOST_FIRMWARE);
	host_write_register(h, ONPU_REG_FW_SIZE, image_size);
	host_write_register(h, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	onpu_device_run(h->device, BUDGET / 8);
}

void host_request(struct host *h, const void *message)
{
	uint32_t at = HOST_REQUESTS + h->requests % HOST_MESSAGES * ONPU_MSG_SIZE;

	host_put(h, at, message, ONPU_MSG_SIZE);
	host_write_register(h, ONPU_REG_REQUEST_TAIL, ++h->requests);
	host_write_register(h, ONPU_REG_RESPONSE_HEAD,
			    (uint32_t)onpu_device_mmio_read(h->device, ONPU_REG_RESPONSE_TAIL, 4));
}

void host_contexts(struct host *h)
{
	union onpu_msg m = { .vm = {
				     .type = ONPU_MSG_VM_CREATE,
				     .id = 1,
				     .vm = 1,
				     .asid = 1,
				     .root = HOST_BUS + HOST_ROOT,
			     } };

	host_request(h, &m);
	for (uint32_t i = 0; i < HOST_CONTEXTS; i++) {
		uint64_t va = HOST_KERNEL_VA + i * HOST_CONTEXT;

		m = (union onpu_msg){ .ctx_create = {
					      .type = ONPU_MSG_CTX_CREATE,
					      .id = 2 + i,
					      .context = i,
					      .vm = 1,
					      .ring = va + HOST_RING_OFFSET,
					      .save = va + HOST_SAVE_OFFSET,
					      .completion = va + HOST_COMPLETION_OFFSET,
					      .ring_size = HOST_RING_ENTRIES,
					      .vector = 1 + i,
					      .priority = ONPU_PRIORITY_NORMAL,
				      } };
		host_request(h, &m);
		m = (union onpu_msg){ .queue = {
					      .type = ONPU_MSG_QUEUE_BIND,
					      .id = 4 + i,
					      .context = i,
					      .queue = i,
				      } };
		host_request(h, &m);
	}
	onpu_device_run(h->device, BUDGET);
}

void host_submit(struct host *h, unsigned int context, const void *entry)
{
	uint32_t ring = HOST_KERNEL + context * HOST_CONTEXT + HOST_RING_OFFSET;
	uint32_t at = h->submitted[context]++ % HOST_RING_ENTRIES;

	host_put(h, ring + at * (uint32_t)sizeof(struct onpu_ring_job), entry,
		 sizeof(struct onpu_ring_job));
	host_write_register(h, ONPU_REG_DOORBELL_TAIL(context), h->submitted[context]);
}
