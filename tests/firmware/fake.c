// SPDX-License-Identifier: MIT
/*
 * Implements fake.h, except for the command processor: registers, DMA and sleep of the hardware,
 * and the driver's side of the rings.
 */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALID	    ONPU_CORE_CONTEXT_CONTROL_VALID__MASK
#define LOCAL_TOKEN 0x1000u

static struct fake *hardware;

void fake_failed(const char *file, int line, const char *condition, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "FINDING %s:%d: %s: ", file, line, condition);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void fake_init(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	hardware = f;
	f->num_queues = FAKE_QUEUES;
	f->num_vms = FAKE_VMS;
	f->num_asids = FAKE_ASIDS;
	f->requests = (struct fake_ring){ .base = FAKE_REQUESTS, .size = FAKE_RING };
	f->responses = (struct fake_ring){ .base = FAKE_RESPONSES, .size = FAKE_RING };
	f->log = (struct fake_ring){ .base = FAKE_LOG_BASE, .size = FAKE_LOG };
	fake_cp_reset(f);
}

void fake_boot(struct fake *f)
{
	fw_start(&f->fw);
}

uint32_t fake_state(const struct fake *f)
{
	return (f->status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT;
}

uint32_t fake_detail(const struct fake *f)
{
	return (f->status & ONPU_STATUS_DETAIL__MASK) >> ONPU_STATUS_DETAIL__SHIFT;
}

void fake_pass(struct fake *f, uint32_t cycles)
{
	while (cycles--) {
		f->now++;
		fake_cp_cycle(f);
	}
}

static uint32_t irq_status(const struct fake *f)
{
	return f->irq_status |
	       (f->doorbell[0] | f->doorbell[1] ? ONPU_CORE_IRQ_STATUS_DOORBELL__MASK : 0) |
	       (f->cp.num_faults ? ONPU_CORE_IRQ_STATUS_FAULT__MASK : 0);
}

static void tick(struct fake *f)
{
	/*
	 * An access after the last sleep comes from the test, not from the firmware, and does not
	 * count.
	 */
	if (!f->asleep) {
		f->accesses++;
		if (f->hook)
			f->hook(f);
	}
	fake_pass(f, 1);
}

/* ---- Registers ---- */

static uint32_t half(uint64_t value, uint32_t offset)
{
	return (uint32_t)(offset & 4 ? value >> 32 : value);
}

static void set_half(uint64_t *value, uint32_t offset, uint32_t word)
{
	unsigned int shift = offset & 4 ? 32 : 0;

	*value = (*value & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)word << shift;
}

static bool read_ring(struct fake *f, uint32_t reg, uint32_t *value)
{
	switch (reg) {
	case ONPU_REG_CORE_REQUEST_BASE_LO:
	case ONPU_REG_CORE_REQUEST_BASE_HI:
		*value = half(f->requests.base, reg);
		return true;
	case ONPU_REG_CORE_REQUEST_SIZE:
		*value = f->requests.size;
		return true;
	case ONPU_REG_CORE_REQUEST_TAIL:
		*value = f->requests.tail;
		return true;
	case ONPU_REG_CORE_RESPONSE_BASE_LO:
	case ONPU_REG_CORE_RESPONSE_BASE_HI:
		*value = half(f->responses.base, reg);
		return true;
	case ONPU_REG_CORE_RESPONSE_SIZE:
		*value = f->responses.size;
		return true;
	case ONPU_REG_CORE_RESPONSE_HEAD:
		f->head_seen = f->responses.head;
		*value = f->head_seen;
		return true;
	case ONPU_REG_CORE_LOG_BASE_LO:
	case ONPU_REG_CORE_LOG_BASE_HI:
		*value = half(f->log.base, reg);
		return true;
	case ONPU_REG_CORE_LOG_SIZE:
		*value = f->log.size;
		return true;
	default:
		return false;
	}
}

static bool read_system(const struct fake *f, uint32_t reg, uint32_t *value)
{
	switch (reg) {
	case ONPU_REG_CORE_MTIME_LO:
	case ONPU_REG_CORE_MTIME_HI:
		*value = half(f->now, reg);
		return true;
	case ONPU_REG_CORE_IRQ_STATUS:
		*value = irq_status(f);
		return true;
	case ONPU_REG_CORE_DOORBELL_PENDING(0):
	case ONPU_REG_CORE_DOORBELL_PENDING(1):
		*value = f->doorbell[(reg - ONPU_REG_CORE_DOORBELL_PENDING(0)) / 4];
		return true;
	case ONPU_REG_CORE_NUM_QUEUES:
		*value = f->num_queues;
		return true;
	case ONPU_REG_CORE_NUM_VMS:
		*value = f->num_vms;
		return true;
	case ONPU_REG_CORE_NUM_ASIDS:
		*value = f->num_asids;
		return true;
	case ONPU_REG_CORE_SAVE_BYTES:
		*value = ONPU_CAP_SAVE_BYTES__RESET;
		return true;
	case ONPU_REG_CORE_DMA_ERROR:
		*value = f->dma_error;
		return true;
	default:
		return false;
	}
}

static bool read_cp(const struct fake *f, uint32_t reg, uint32_t *value)
{
	const struct fake_cp *cp = &f->cp;
	uint32_t word = (reg - ONPU_REG_CORE_FAULT_WORD(0)) / 4;

	if (reg == ONPU_REG_CORE_CURRENT) {
		*value = cp->current << ONPU_CORE_CURRENT_QUEUE__SHIFT |
			 (fake_cp_switching(f) ? ONPU_CORE_CURRENT_SWITCHING__MASK : 0);
	} else if (reg == ONPU_REG_CORE_FAULT_COUNT) {
		*value = cp->num_faults;
	} else if (reg >= ONPU_REG_CORE_FAULT_WORD(0) && word < ONPU_REG_CORE_FAULT__LENGTH) {
		FAKE_CHECK(cp->num_faults, "there is no fault record to read");
		memcpy(value, (const uint8_t *)&cp->faults[0] + word * 4, 4);
	} else {
		return false;
	}
	return true;
}

static uint32_t queue_of(uint32_t reg)
{
	return (reg - ONPU_REG_CORE_CONTEXT_CONTROL(0)) / ONPU_REG_CORE_CONTEXT__STRIDE;
}

static bool is_context(uint32_t reg)
{
	return reg >= ONPU_REG_CORE_CONTEXT_CONTROL(0) &&
	       reg < ONPU_REG_CORE_CONTEXT_CONTROL(ONPU_REG_CORE_CONTEXT__LENGTH);
}

static uint32_t read_context(const struct fake *f, uint32_t reg)
{
	uint32_t queue = queue_of(reg);

	FAKE_CHECK(queue < f->num_queues, "register %#x of queue %u", reg, queue);
	switch (reg - queue * ONPU_REG_CORE_CONTEXT__STRIDE) {
	case ONPU_REG_CORE_CONTEXT_CONTROL(0):
		return f->queues[queue].control;
	case ONPU_REG_CORE_CONTEXT_HEAD(0):
		return f->queues[queue].head;
	case ONPU_REG_CORE_CONTEXT_STATE(0):
		return fake_cp_state(f, queue);
	case ONPU_REG_CORE_CONTEXT_SLICE_USED(0):
		return queue == f->cp.current ? f->cp.used : 0;
	default:
		fake_failed(__FILE__, __LINE__, "a register to read", "%#x", reg);
	}
}

uint32_t hw_read(uint32_t reg)
{
	struct fake *f = hardware;
	uint32_t value;

	tick(f);
	if (is_context(reg))
		return read_context(f, reg);
	if (!read_ring(f, reg, &value) && !read_system(f, reg, &value) && !read_cp(f, reg, &value))
		fake_failed(__FILE__, __LINE__, "a register to read", "%#x", reg);
	return value;
}

static void write_control(struct fake *f, uint32_t queue, uint32_t value)
{
	struct fake_queue *q = &f->queues[queue];

	if (q->control & VALID) {
		if (!(value & VALID) && f->cp.current != queue) {
			q->control = 0;
			q->suspended = false;
			q->faulted = false;
			f->doorbell[queue / 32] &= ~(UINT32_C(1) << queue % 32);
		}
		return;
	}
	q->control = f->refuses_binding ? 0 : value;
	q->head = 0;
	q->tail = 0;
	q->completed = 0;
	q->faulted = false;
	q->suspended = q->control & ONPU_CORE_CONTEXT_CONTROL_RESUME__MASK;
	f->doorbell[queue / 32] &= ~(UINT32_C(1) << queue % 32);
}

static void write_context(struct fake *f, uint32_t reg, uint32_t value)
{
	uint32_t queue = queue_of(reg);
	struct fake_queue *q = &f->queues[queue];

	FAKE_CHECK(queue < f->num_queues, "register %#x of queue %u", reg, queue);
	reg -= queue * ONPU_REG_CORE_CONTEXT__STRIDE;
	FAKE_CHECK(!(q->control & VALID) || reg == ONPU_REG_CORE_CONTEXT_CONTROL(0),
		   "register %#x of queue %u, which is bound", reg, queue);
	switch (reg) {
	case ONPU_REG_CORE_CONTEXT_CONTROL(0):
		write_control(f, queue, value);
		break;
	case ONPU_REG_CORE_CONTEXT_ID(0):
		q->id = value;
		break;
	case ONPU_REG_CORE_CONTEXT_RING_LO(0):
	case ONPU_REG_CORE_CONTEXT_RING_HI(0):
		set_half(&q->ring, reg, value);
		break;
	case ONPU_REG_CORE_CONTEXT_RING_SIZE(0):
		q->ring_size = value;
		break;
	case ONPU_REG_CORE_CONTEXT_SAVE_LO(0):
	case ONPU_REG_CORE_CONTEXT_SAVE_HI(0):
		set_half(&q->save, reg, value);
		break;
	case ONPU_REG_CORE_CONTEXT_COMPLETION_LO(0):
	case ONPU_REG_CORE_CONTEXT_COMPLETION_HI(0):
		set_half(&q->completion, reg, value);
		break;
	default:
		fake_failed(__FILE__, __LINE__, "a register to write", "%#x", reg);
	}
}

static bool vm_in_use(const struct fake *f, uint32_t vm)
{
	for (uint32_t i = 0; i < f->num_queues; i++) {
		uint32_t control = f->queues[i].control;

		if (control & VALID && (control & ONPU_CORE_CONTEXT_CONTROL_VM__MASK) >>
						       ONPU_CORE_CONTEXT_CONTROL_VM__SHIFT ==
					       vm)
			return true;
	}
	return false;
}

static bool write_vm(struct fake *f, uint32_t reg, uint32_t value)
{
	uint32_t vm = (reg - ONPU_REG_CORE_VM_ROOT_LO(0)) / ONPU_REG_CORE_VM__STRIDE;

	if (reg < ONPU_REG_CORE_VM_ROOT_LO(0) || vm >= ONPU_REG_CORE_VM__LENGTH)
		return false;
	FAKE_CHECK(vm < f->num_vms, "register %#x of VM %u", reg, vm);
	FAKE_CHECK(!vm_in_use(f, vm), "a change of VM %u while a bound queue uses it", vm);
	if (reg - vm * ONPU_REG_CORE_VM__STRIDE == ONPU_REG_CORE_VM_CONTROL(0))
		f->vm_control[vm] = value;
	else
		set_half(&f->vm_root[vm], reg, value);
	return true;
}

static bool within(const struct fake_ring *ring, uint32_t unit, uint64_t start, uint64_t size)
{
	uint64_t bytes = (uint64_t)ring->size * unit;

	return start >= ring->base && start - ring->base <= bytes &&
	       size <= bytes - (start - ring->base);
}

/* Checks that the firmware transfers only between the host's rings or log and its own state. */
static void check_dma(const struct fake *f, uint32_t command)
{
	const uint8_t *local = f->dma_local, *fw = (const uint8_t *)&f->fw;
	bool inside = local >= fw && local < fw + sizeof(f->fw);

	FAKE_CHECK(command == ONPU_DMA_READ || command == ONPU_DMA_WRITE, "DMA command %u",
		   command);
	FAKE_CHECK(!(f->dma_host % 4) && !(f->dma_length % 4) && f->dma_length &&
			   f->dma_length <= 4096,
		   "%u bytes at %#llx", f->dma_length, (unsigned long long)f->dma_host);
	FAKE_CHECK(!((uintptr_t)local % 4), "DMA with %p", f->dma_local);
	FAKE_CHECK(!inside || ((local == (const uint8_t *)&f->fw.message ||
				local == (const uint8_t *)&f->fw.event) &&
			       f->dma_length <= ONPU_MSG_SIZE),
		   "DMA into the firmware's state");
	if (command == ONPU_DMA_READ)
		FAKE_CHECK(within(&f->requests, ONPU_MSG_SIZE, f->dma_host, f->dma_length),
			   "a read outside the request ring");
	else
		FAKE_CHECK(within(&f->responses, ONPU_MSG_SIZE, f->dma_host, f->dma_length) ||
				   within(&f->log, 1, f->dma_host, f->dma_length),
			   "a write outside the rings");
}

static void transfer(struct fake *f, uint32_t command)
{
	uint64_t at = f->dma_host - FAKE_BUS;

	check_dma(f, command);
	f->dmas++;
	f->dma_error = f->dma_host < FAKE_BUS || at > FAKE_MEMORY ||
		       f->dma_length > FAKE_MEMORY - at ||
		       (f->dma_fails && f->dmas >= f->dma_fails);
	if (f->dma_error) {
		/* The bytes of a read that failed are undefined. */
		if (command == ONPU_DMA_READ)
			memset(f->dma_local, 0xa5, f->dma_length);
	} else if (command == ONPU_DMA_READ) {
		memcpy(f->dma_local, f->memory + at, f->dma_length);
	} else {
		memcpy(f->memory + at, f->dma_local, f->dma_length);
	}
}

static bool write_system(struct fake *f, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case ONPU_REG_CORE_IRQ_STATUS:
		f->irq_status &= ~value;
		return true;
	case ONPU_REG_CORE_IRQ_ENABLE:
		f->irq_enable = value;
		return true;
	case ONPU_REG_CORE_DOORBELL_PENDING(0):
	case ONPU_REG_CORE_DOORBELL_PENDING(1):
		f->doorbell[(reg - ONPU_REG_CORE_DOORBELL_PENDING(0)) / 4] &= ~value;
		return true;
	case ONPU_REG_CORE_STATUS:
		f->status = value;
		return true;
	case ONPU_REG_CORE_FW_ABI:
		f->abi = value;
		return true;
	case ONPU_REG_CORE_FW_VERSION:
		f->version = value;
		return true;
	case ONPU_REG_CORE_INT_RAISE:
		f->int_raised |= value;
		f->int_requests += !!(value & ONPU_INT_STATUS_REQUEST__MASK);
		return true;
	case ONPU_REG_CORE_REQUEST_HEAD:
		FAKE_CHECK(value == f->requests.head + 1, "REQUEST_HEAD jumps");
		f->requests.head = value;
		return true;
	case ONPU_REG_CORE_RESPONSE_TAIL:
		FAKE_CHECK(value == f->responses.tail + 1, "RESPONSE_TAIL jumps");
		FAKE_CHECK(value - f->head_seen <= f->responses.size, "a response too many");
		f->responses.tail = value;
		return true;
	case ONPU_REG_CORE_LOG_TAIL:
		f->log.tail = value;
		return true;
	default:
		return false;
	}
}

static void write_rest(struct fake *f, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case ONPU_REG_CORE_DMA_HOST_LO:
	case ONPU_REG_CORE_DMA_HOST_HI:
		set_half(&f->dma_host, reg, value);
		break;
	case ONPU_REG_CORE_DMA_LOCAL:
		FAKE_CHECK(value == LOCAL_TOKEN, "DMA_LOCAL is not hw_local()'s");
		break;
	case ONPU_REG_CORE_DMA_LENGTH:
		f->dma_length = value;
		break;
	case ONPU_REG_CORE_DMA_COMMAND:
		transfer(f, value);
		break;
	case ONPU_REG_CORE_RUN_QUEUE:
		f->cp.run_queue = value;
		break;
	case ONPU_REG_CORE_SLICE:
		f->cp.slice = value;
		f->cp.slice_raised = false;
		break;
	case ONPU_REG_CORE_KILL:
		fake_cp_kill(f, value);
		break;
	case ONPU_REG_CORE_FAULT_POP:
		FAKE_CHECK(f->cp.num_faults, "FAULT_POP of nothing");
		f->cp.num_faults--;
		memmove(&f->cp.faults[0], &f->cp.faults[1],
			f->cp.num_faults * sizeof(f->cp.faults[0]));
		break;
	default:
		fake_failed(__FILE__, __LINE__, "a register to write", "%#x", reg);
	}
}

void hw_write(uint32_t reg, uint32_t value)
{
	struct fake *f = hardware;

	tick(f);
	if (is_context(reg))
		write_context(f, reg, value);
	else if (!write_vm(f, reg, value) && !write_system(f, reg, value))
		write_rest(f, reg, value);
}

uint32_t hw_local(const void *object)
{
	hardware->dma_local = (void *)(uintptr_t)object;
	return LOCAL_TOKEN;
}

void hw_enable_wake(void)
{
	hardware->wakes = true;
}

/* ---- Sleep ---- */

/*
 * Checks that a firmware that sleeps, and that nothing will wake, has left no work: no queue with
 * jobs, and, if the response ring has a free entry, no request, fault or response.
 */
static void check_rest(const struct fake *f)
{
	uint32_t waiting = f->responses.tail - f->responses.head;
	bool room = waiting < f->responses.size;

	for (uint32_t q = 0; q < f->num_queues; q++)
		FAKE_CHECK(!fake_cp_may_run(f, q) || !fake_cp_has_work(f, q),
			   "queue %u has work and is left behind", q);
	FAKE_CHECK(!room || f->requests.head == f->requests.tail, "a request is left behind");
	FAKE_CHECK(!room || !f->cp.num_faults, "a fault is left behind");
	FAKE_CHECK(!room || !f->fw.answering, "a response is left behind");
}

void hw_wait(void)
{
	struct fake *f = hardware;

	FAKE_CHECK(f->wakes, "sleep with nothing that wakes");
	while (!(irq_status(f) & f->irq_enable)) {
		if (fake_cp_at_rest(f)) {
			if (!f->rest_unchecked)
				check_rest(f);
			f->asleep = true;
			return;
		}
		if (f->now >= f->run_until)
			return;
		fake_pass(f, 1);
	}
}

void fake_settle(struct fake *f)
{
	fake_run(f, 50000000);
	FAKE_CHECK(f->asleep || f->fw.failed, "the firmware does not come to rest");
}

void fake_run(struct fake *f, uint64_t cycles)
{
	f->run_until = f->now + cycles;
	f->asleep = false;
	while (f->now < f->run_until && !f->asleep && !f->fw.failed)
		fw_step(&f->fw);
}

/* ---- The driver ---- */

void fake_write_tail(struct fake *f, uint32_t tail)
{
	f->requests.tail = tail;
	f->irq_status |= ONPU_CORE_IRQ_STATUS_REQUEST__MASK;
}

void fake_write_head(struct fake *f, uint32_t head)
{
	f->responses.head = head;
	f->irq_status |= ONPU_CORE_IRQ_STATUS_RESPONSE__MASK;
}

void fake_put(struct fake *f, const union onpu_msg *m)
{
	uint32_t at = f->requests.tail % FAKE_RING * ONPU_MSG_SIZE;

	memcpy(f->memory + (FAKE_REQUESTS - FAKE_BUS) + at, m, sizeof(*m));
	fake_write_tail(f, f->requests.tail + 1);
}

void fake_doorbell(struct fake *f, uint32_t queue, uint32_t tail)
{
	if (!(f->queues[queue].control & VALID))
		return;
	f->queues[queue].tail = tail;
	f->doorbell[queue / 32] |= UINT32_C(1) << queue % 32;
}

bool fake_take(struct fake *f, union onpu_msg *m)
{
	uint32_t at = f->responses.head % FAKE_RING * ONPU_MSG_SIZE;

	if (f->responses.head == f->responses.tail)
		return false;
	memcpy(m, f->memory + (FAKE_RESPONSES - FAKE_BUS) + at, sizeof(*m));
	fake_write_head(f, f->responses.head + 1);
	return true;
}
