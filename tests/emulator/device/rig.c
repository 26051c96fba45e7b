// SPDX-License-Identifier: MIT
/* Implements rig.h, the rig of the device's tests. */
#include "rig.h"

#define PAGE	 4096u
#define LARGE	 (2u << 20)
#define LOG_SIZE 4096u

static bool in_memory(const struct rig *rig, uint64_t addr, size_t len)
{
	if (rig->bus_hole && addr < rig->bus_hole + PAGE && addr + len > rig->bus_hole)
		return false;
	return addr >= RIG_BUS && addr - RIG_BUS <= RIG_MEMORY &&
	       len <= RIG_MEMORY - (addr - RIG_BUS);
}

static int bus_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct rig *rig = ctx;

	if (!in_memory(rig, addr, len))
		return -1;
	if (rig->on_read)
		rig->on_read(rig, addr);
	memcpy(dst, rig->memory + (addr - RIG_BUS), len);
	return 0;
}

static int bus_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct rig *rig = ctx;

	if (!in_memory(rig, addr, len))
		return -1;
	memcpy(rig->memory + (addr - RIG_BUS), src, len);
	return 0;
}

static void interrupt(void *ctx, unsigned int vector)
{
	struct rig *rig = ctx;

	assert_true(vector < RIG_VECTORS);
	rig->interrupts[vector]++;
}

static uint32_t own_read(void *ctx, uint32_t offset)
{
	struct rig *rig = ctx;

	return (uint32_t)onpu_device_mmio_read(rig->device, offset, 4);
}

static void own_write(void *ctx, uint32_t offset, uint32_t value)
{
	struct rig *rig = ctx;

	onpu_device_mmio_write(rig->device, offset, 4, value);
}

static void own_pass(void *ctx)
{
	struct rig *rig = ctx;

	onpu_device_run(rig->device, 1000);
}

void rig_init(struct rig *rig, uint32_t sram_bytes, uint32_t num_queues, bool sticky)
{
	const struct onpu_host_ops host = {
		.ctx = rig,
		.read = bus_read,
		.write = bus_write,
		.interrupt = interrupt,
	};
	const char *error = NULL;

	memset(rig, 0, sizeof(*rig));
	rig->io = (struct rig_io){ rig, own_read, own_write, own_pass };
	rig->config = onpu_device_config_default();
	rig->config.tlb_sticky = sticky;
	if (sram_bytes)
		rig->config.sim.sram_bytes = sram_bytes;
	if (num_queues)
		rig->config.sim.num_queues = num_queues;
	rig->memory = calloc(1, RIG_MEMORY);
	assert_non_null(rig->memory);
	rig->device = onpu_device_create(&rig->config, &host, &error);
	if (!rig->device)
		fail_msg("no device: %s", error);
}

void rig_attach(struct rig *rig, const struct rig_io *io, void *memory)
{
	memset(rig, 0, sizeof(*rig));
	rig->io = *io;
	rig->memory = memory;
}

void rig_destroy(struct rig *rig)
{
	if (!rig->device)
		return;
	onpu_device_destroy(rig->device);
	free(rig->memory);
}

uint64_t rig_alloc(struct rig *rig, size_t size)
{
	uint64_t at = rig->used;

	rig->used += (size + PAGE - 1) / PAGE * PAGE;
	assert_true(rig->used <= RIG_MEMORY);
	return RIG_BUS + at;
}

void *rig_at(struct rig *rig, uint64_t bus)
{
	assert_true(bus >= RIG_BUS && bus < RIG_BUS + RIG_MEMORY);
	return rig->memory + (bus - RIG_BUS);
}

uint32_t rig_read(struct rig *rig, uint32_t offset)
{
	return rig->io.read(rig->io.ctx, offset);
}

void rig_write(struct rig *rig, uint32_t offset, uint32_t value)
{
	rig->io.write(rig->io.ctx, offset, value);
}

uint64_t rig_read64(struct rig *rig, uint32_t offset)
{
	uint64_t low = rig_read(rig, offset);

	return low | (uint64_t)rig_read(rig, offset + 4) << 32;
}

static void write64(struct rig *rig, uint32_t offset, uint64_t value)
{
	rig_write(rig, offset, (uint32_t)value);
	rig_write(rig, offset + 4, (uint32_t)(value >> 32));
}

void rig_settle(struct rig *rig)
{
	for (unsigned int i = 0; i < 100000; i++)
		if (onpu_device_run(rig->device, 1u << 16) == ONPU_PROGRESS_IDLE)
			return;
	fail_msg("the device does not come to rest");
}

static void load_image(struct rig *rig)
{
	const char *path = getenv("ONPU_FIRMWARE");
	FILE *file = fopen(path ? path : "", "rb");
	static uint8_t buffer[1 << 18];
	size_t size;

	if (!file)
		fail_msg("ONPU_FIRMWARE does not name the firmware's image");
	size = fread(buffer, 1, sizeof(buffer), file);
	fclose(file);
	rig->image = rig_alloc(rig, size);
	rig->image_size = (uint32_t)size;
	memcpy(rig_at(rig, rig->image), buffer, size);
}

void rig_setup(struct rig *rig)
{
	if (!rig->image)
		load_image(rig);
	if (!rig->requests) {
		rig->requests = rig_alloc(rig, RIG_RING * ONPU_MSG_SIZE);
		rig->responses = rig_alloc(rig, RIG_RING * ONPU_MSG_SIZE);
		rig->log = rig_alloc(rig, LOG_SIZE);
	}
	rig->request_tail = 0;
	rig->response_head = 0;
	write64(rig, ONPU_REG_REQUEST_BASE_LO, rig->requests);
	rig_write(rig, ONPU_REG_REQUEST_SIZE, RIG_RING);
	write64(rig, ONPU_REG_RESPONSE_BASE_LO, rig->responses);
	rig_write(rig, ONPU_REG_RESPONSE_SIZE, RIG_RING);
	write64(rig, ONPU_REG_LOG_BASE_LO, rig->log);
	rig_write(rig, ONPU_REG_LOG_SIZE, LOG_SIZE);
	write64(rig, ONPU_REG_FW_ADDRESS_LO, rig->image);
	rig_write(rig, ONPU_REG_FW_SIZE, rig->image_size);
}

void rig_boot(struct rig *rig)
{
	rig_setup(rig);
	rig_write(rig, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	rig_settle(rig);
}

void rig_start(struct rig *rig, uint32_t sram_bytes, uint32_t num_queues, bool sticky)
{
	rig_init(rig, sram_bytes, num_queues, sticky);
	rig_boot(rig);
	assert_int_equal(rig_read(rig, ONPU_REG_STATUS), ONPU_STATE_READY);
}

/* Takes one message from the response ring into *m; returns false when the ring is empty. */
static bool take_response(struct rig *rig, union onpu_msg *m)
{
	if (rig->response_head == rig_read(rig, ONPU_REG_RESPONSE_TAIL))
		return false;
	memcpy(m, rig_at(rig, rig->responses + rig->response_head % RIG_RING * ONPU_MSG_SIZE),
	       sizeof(*m));
	rig_write(rig, ONPU_REG_RESPONSE_HEAD, ++rig->response_head);
	return true;
}

static void keep_event(struct rig *rig, const union onpu_msg *m)
{
	assert_int_equal(m->header.type, ONPU_MSG_EVENT_FAULT);
	assert_true(rig->num_events < RIG_EVENTS);
	rig->events[rig->num_events++] = m->event_fault;
}

void rig_collect(struct rig *rig)
{
	union onpu_msg m;

	while (take_response(rig, &m))
		keep_event(rig, &m);
}

uint32_t rig_request(struct rig *rig, union onpu_msg *m)
{
	uint32_t type = m->header.type, id = ++rig->id;
	uint32_t at = rig->request_tail++ % RIG_RING;

	m->header.id = id;
	memcpy(rig_at(rig, rig->requests + at * ONPU_MSG_SIZE), m, sizeof(*m));
	rig_write(rig, ONPU_REG_REQUEST_TAIL, rig->request_tail);
	for (unsigned int i = 0; i < 100000; i++) {
		while (take_response(rig, m)) {
			if (m->header.type == (type | ONPU_MSG_RESPONSE)) {
				assert_int_equal(m->header.id, id);
				return m->header.status;
			}
			keep_event(rig, m);
		}
		rig->io.pass(rig->io.ctx);
	}
	fail_msg("no response to message %#x", type);
	return 0;
}

uint32_t rig_simple(struct rig *rig, uint32_t type, uint32_t first, uint32_t second)
{
	union onpu_msg m = { .words = { type, 0, 0, 0, first, second } };

	return rig_request(rig, &m);
}

/* Returns the page table entry of @va at a level; makes missing tables above it. */
static uint64_t *entry_at(struct rig *rig, const struct rig_vm *vm, uint64_t va, unsigned int level)
{
	uint64_t table = vm->root;

	for (unsigned int l = 2;; l--) {
		uint64_t *pte = (uint64_t *)rig_at(rig, table) + (va >> (12 + 9 * l) & 511);

		if (l == level)
			return pte;
		if (!(*pte & ONPU_PTE_V)) {
			uint64_t next = rig_alloc(rig, PAGE);

			*pte = next >> 12 << ONPU_PTE_PPN_SHIFT | ONPU_PTE_V;
		}
		table = *pte >> ONPU_PTE_PPN_SHIFT << 12;
	}
}

uint64_t *rig_leaf(struct rig *rig, const struct rig_vm *vm, uint64_t va)
{
	return entry_at(rig, vm, va, 0);
}

void rig_map(struct rig *rig, const struct rig_vm *vm, uint64_t va, uint64_t bus, size_t size,
	     uint64_t flags)
{
	for (size_t done = 0; done < size;) {
		bool large = !((va + done) % LARGE) && !((bus + done) % LARGE) &&
			     size - done >= LARGE;

		*entry_at(rig, vm, va + done, large) = (bus + done) >> 12 << ONPU_PTE_PPN_SHIFT |
						       flags;
		done += large ? LARGE : PAGE;
	}
}

void rig_vm_create(struct rig *rig, struct rig_vm *vm, uint32_t index)
{
	union onpu_msg m = { .vm = { .type = ONPU_MSG_VM_CREATE } };

	vm->index = index;
	vm->asid = 1000 + index;
	vm->root = rig_alloc(rig, PAGE);
	m.vm.vm = index;
	m.vm.asid = vm->asid;
	m.vm.root = vm->root;
	assert_int_equal(rig_request(rig, &m), ONPU_MSG_OK);
}

static uint64_t kernel_memory(struct rig *rig, struct rig_context *c, uint64_t va, size_t size)
{
	uint64_t bus = rig_alloc(rig, size);

	rig_map(rig, c->vm, va, bus, size, RIG_KERNEL);
	return bus;
}

void rig_context_create(struct rig *rig, struct rig_context *c, struct rig_vm *vm, uint32_t id,
			uint32_t queue)
{
	uint32_t save_bytes = rig_read(rig, ONPU_REG_CAP_SAVE_BYTES);
	union onpu_msg m = { .ctx_create = { .type = ONPU_MSG_CTX_CREATE } };

	memset(c, 0, sizeof(*c));
	c->vm = vm;
	c->id = id;
	c->queue = queue;
	c->ring_va = RIG_KERNEL_VA + ((uint64_t)id << 30);
	c->completion_va = c->ring_va + (1 << 20);
	c->save_va = c->ring_va + (4 << 20);
	c->ring = kernel_memory(rig, c, c->ring_va, RIG_RING * sizeof(struct onpu_ring_job));
	c->completion = kernel_memory(rig, c, c->completion_va, PAGE);
	c->save = kernel_memory(rig, c, c->save_va, save_bytes);
	m.ctx_create.context = id;
	m.ctx_create.vm = vm->index;
	m.ctx_create.ring = c->ring_va;
	m.ctx_create.ring_size = RIG_RING;
	m.ctx_create.completion = c->completion_va;
	m.ctx_create.save = c->save_va;
	m.ctx_create.vector = queue + 1;
	m.ctx_create.priority = ONPU_PRIORITY_NORMAL;
	assert_int_equal(rig_request(rig, &m), ONPU_MSG_OK);
	assert_int_equal(rig_simple(rig, ONPU_MSG_QUEUE_BIND, id, queue), ONPU_MSG_OK);
}

static uint64_t user_memory(struct rig *rig, struct rig_context *c, uint64_t va, const void *from,
			    size_t size)
{
	uint64_t bus = rig_alloc(rig, size);

	memcpy(rig_at(rig, bus), from, size);
	rig_map(rig, c->vm, va, bus, size, RIG_USER);
	return bus;
}

void rig_load(struct rig *rig, struct rig_context *c, const struct program *p)
{
	user_memory(rig, c, PROGRAM_VA, p->insns, p->num_insns * sizeof(p->insns[0]));
	user_memory(rig, c, SLOTS_VA, p->slots, p->num_slots * sizeof(p->slots[0]));
	user_memory(rig, c, PROFILE_VA, p->profile, sizeof(p->profile));
	c->data_size = p->data_size;
	c->data = p->data_size ? user_memory(rig, c, DATA_VA, p->data, p->data_size) : 0;
}

struct onpu_ring_job rig_job(const struct program *p)
{
	return (struct onpu_ring_job){
		.type = ONPU_ENTRY_JOB,
		.program_va = PROGRAM_VA,
		.num_insns = p->num_insns,
		.num_slots = p->num_slots,
		.slots_va = SLOTS_VA,
		.profile_va = PROFILE_VA,
		.profile_size = sizeof(p->profile) & ~31u,
		.cycle_limit = p->job.cycle_limit,
	};
}

void rig_submit(struct rig *rig, struct rig_context *c, const struct onpu_ring_job *job, bool ring)
{
	struct onpu_ring_job entry = *job;

	if (!entry.seqno)
		entry.seqno = ++c->seqno;
	memcpy(rig_at(rig, c->ring + c->tail++ % RIG_RING * sizeof(entry)), &entry, sizeof(entry));
	if (ring)
		rig_doorbell(rig, c);
}

void rig_doorbell(struct rig *rig, const struct rig_context *c)
{
	rig_write(rig, ONPU_REG_DOORBELL_TAIL(c->queue), c->tail);
}

struct onpu_completion rig_completion(struct rig *rig, const struct rig_context *c)
{
	struct onpu_completion completion;

	memcpy(&completion, rig_at(rig, c->completion), sizeof(completion));
	return completion;
}

struct onpu_fault_record rig_fault(struct rig *rig, const struct rig_context *c)
{
	struct onpu_completion completion = rig_completion(rig, c);
	struct onpu_fault_record fault;

	memcpy(&fault, completion.fault, sizeof(fault));
	return fault;
}
