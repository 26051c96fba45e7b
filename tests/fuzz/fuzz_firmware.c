// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the firmware's code, on the fake hardware of tests/firmware, which checks every
 * access. The input decides what the driver writes into rings and registers, and when.
 *
 * The input is a byte of flags; with FLAG_HOSTILE, the ring registers; then moves, each an opcode
 * byte with its operands. MOVE_LATER chooses an access that the firmware makes in a move after it:
 * a further move is read from the input then, and interrupts the firmware.
 */
#include "fake.h"
#include "fuzz.h"

#define FLAG_HOSTILE 0x01 /* the ring registers come from the input */
#define FLAG_READY   0x02 /* address spaces, contexts and queues exist from the start */
#define FLAG_DEBUG   0x04 /* the log has every level */

#define MAX_MOVES 96
#define DRIVER_VA (UINT64_C(1) << 37)

enum move {
	MOVE_RUN,
	MOVE_SETTLE,
	MOVE_REQUEST,
	MOVE_ANY_REQUEST,
	MOVE_TAKE,
	MOVE_DOORBELL,
	MOVE_JOBS,
	MOVE_TAIL,
	MOVE_HEAD,
	MOVE_FAULT,
	MOVE_DMA_ERROR,
	MOVE_KILL_DELAY,
	MOVE_REFUSE,
	MOVE_LATER,
	MOVE_MEMORY,
	MOVE_INTERRUPT,
	MOVE_COUNT
};

static struct fake fake;
static struct fuzz_input in;
/* the registers and memory may be anything, so that responses need not make sense */
static bool hostile;

static void make_move(struct fake *f, enum move move);

/* Makes the postponed move before an access of the firmware. */
static void hook(struct fake *f)
{
	if (f->accesses < f->hook_at)
		return;
	f->hook = NULL;
	make_move(f, (enum move)(fuzz_u8(&in) % MOVE_LATER));
}

/* Sends a request that mostly makes sense: its numbers are small. */
static void request(struct fake *f)
{
	static const uint8_t types[] = {
		ONPU_MSG_QUEUE_BIND,  ONPU_MSG_QUEUE_UNBIND, ONPU_MSG_CTX_KILL,
		ONPU_MSG_CTX_DESTROY, ONPU_MSG_VM_DESTROY,   ONPU_MSG_HEARTBEAT,
		ONPU_MSG_TELEMETRY,   ONPU_MSG_LOG_CONFIG,   ONPU_MSG_SCHED_CONFIG,
		ONPU_MSG_VM_CREATE,   ONPU_MSG_CTX_CREATE,
	};
	uint8_t which = fuzz_u8(&in), a = fuzz_u8(&in), b = fuzz_u8(&in);
	union onpu_msg m = { .words = { types[which % sizeof(types)], which } };

	switch (m.header.type) {
	case ONPU_MSG_CTX_CREATE:
		m.ctx_create = (struct onpu_msg_ctx_create){
			.type = ONPU_MSG_CTX_CREATE,
			.context = a % 16,
			.vm = b % 4,
			.ring = DRIVER_VA,
			.save = DRIVER_VA,
			.completion = DRIVER_VA,
			.ring_size = 64,
			.vector = b % 4,
			.priority = b % 3,
		};
		break;
	case ONPU_MSG_VM_CREATE:
		m.vm.asid = b % 8;
		m.vm.vm = a % 4;
		break;
	case ONPU_MSG_HEARTBEAT:
	case ONPU_MSG_TELEMETRY:
		break;
	case ONPU_MSG_SCHED_CONFIG:
		m.sched_config.slice = a * 4u;
		break;
	case ONPU_MSG_QUEUE_BIND:
	case ONPU_MSG_QUEUE_UNBIND:
	case ONPU_MSG_LOG_CONFIG:
		m.words[5] = b % 8;
		m.words[4] = a % 16;
		break;
	default:
		m.words[4] = a % 16;
	}
	if (f->requests.tail - f->requests.head < FAKE_RING)
		fake_put(f, &m);
}

static void any_request(struct fake *f)
{
	union onpu_msg m;

	fuzz_bytes(&in, &m, sizeof(m));
	if (f->requests.tail - f->requests.head < FAKE_RING)
		fake_put(f, &m);
}

static void take(struct fake *f, unsigned int count)
{
	union onpu_msg m;

	while (count-- && fake_take(f, &m))
		FUZZ_CHECK(hostile || m.header.type & ONPU_MSG_RESPONSE ||
				   m.header.type == ONPU_MSG_EVENT_FAULT,
			   "message %#x", m.header.type);
}

static void set_jobs(struct fake *f)
{
	uint8_t queue = fuzz_u8(&in) % f->num_queues;

	f->queues[queue].jobs = (struct fake_jobs){
		.cycles = fuzz_u8(&in),
		.point = fuzz_u8(&in),
		.fault_at = fuzz_u8(&in),
	};
}

static void make_move(struct fake *f, enum move move)
{
	uint8_t a;

	switch (move) {
	case MOVE_RUN:
	case MOVE_SETTLE:
		/* These two moves cannot be made from inside the firmware. */
		if (f->asleep && move == MOVE_RUN)
			fake_run(f, fuzz_u16(&in));
		else if (f->asleep)
			fake_settle(f);
		break;
	case MOVE_REQUEST:
		request(f);
		break;
	case MOVE_ANY_REQUEST:
		any_request(f);
		break;
	case MOVE_TAKE:
		take(f, fuzz_u8(&in));
		break;
	case MOVE_DOORBELL:
		a = fuzz_u8(&in) % f->num_queues;
		fake_doorbell(f, a, f->queues[a].tail + fuzz_u8(&in));
		break;
	case MOVE_JOBS:
		set_jobs(f);
		break;
	case MOVE_TAIL:
		fake_write_tail(f, fuzz_u32(&in));
		break;
	case MOVE_HEAD:
		hostile = true;
		fake_write_head(f, fuzz_u32(&in));
		break;
	case MOVE_FAULT:
		if (f->cp.current != ONPU_NO_QUEUE)
			fake_cp_fault(f, f->cp.current, fuzz_u8(&in) % ONPU_FAULT_COUNT);
		break;
	case MOVE_DMA_ERROR:
		f->dma_fails = f->dmas + 1 + fuzz_u8(&in);
		break;
	case MOVE_KILL_DELAY:
		f->cp.kill_delay = fuzz_u8(&in) * 4u;
		break;
	case MOVE_REFUSE:
		f->refuses_binding = fuzz_u8(&in) & 1;
		break;
	case MOVE_LATER:
		f->hook_at = f->accesses + fuzz_u8(&in);
		f->hook = hook;
		break;
	case MOVE_MEMORY:
		a = fuzz_u8(&in);
		f->memory[(a * 16u + a % 16) % FAKE_MEMORY] ^= fuzz_u8(&in);
		break;
	case MOVE_INTERRUPT:
		f->irq_status |= fuzz_u8(&in) & ~ONPU_CORE_IRQ_STATUS_KILLED__MASK & FW_IRQS;
		break;
	case MOVE_COUNT:
		break;
	}
}

static uint64_t hostile_address(uint64_t usual)
{
	uint8_t kind = fuzz_u8(&in);

	return kind < 0x80 ? usual + (kind & 0x3f) * 4 : fuzz_u64(&in);
}

static uint32_t hostile_size(void)
{
	uint8_t kind = fuzz_u8(&in);

	return kind < 0x80 ? UINT32_C(1) << kind % 32 : fuzz_u32(&in);
}

static void set_registers(struct fake *f)
{
	f->num_queues = 1 + fuzz_u8(&in) % ONPU_MAX_QUEUES;
	f->num_vms = 1 + fuzz_u8(&in) % FAKE_VMS;
	f->requests.base = hostile_address(FAKE_REQUESTS);
	f->requests.size = hostile_size();
	f->responses.base = hostile_address(FAKE_RESPONSES);
	f->responses.size = hostile_size();
	f->log.base = hostile_address(FAKE_LOG_BASE);
	f->log.size = hostile_size();
}

static void exchange(struct fake *f, const union onpu_msg *m)
{
	fake_put(f, m);
	fake_settle(f);
	take(f, 1);
}

static void make_ready(struct fake *f, bool debug)
{
	exchange(f, &(union onpu_msg){ .vm = { .type = ONPU_MSG_VM_CREATE } });
	for (uint32_t i = 0; i < 6; i++) {
		exchange(f, &(union onpu_msg){
				    .ctx_create = { .type = ONPU_MSG_CTX_CREATE,
						    .context = i,
						    .ring = DRIVER_VA,
						    .save = DRIVER_VA,
						    .completion = DRIVER_VA,
						    .ring_size = 64,
						    .priority = i % ONPU_PRIORITY_COUNT } });
		exchange(f, &(union onpu_msg){ .queue = { .type = ONPU_MSG_QUEUE_BIND,
							  .context = i,
							  .queue = i } });
		f->queues[i].jobs = (struct fake_jobs){ .cycles = 20 * i + 9, .point = i };
	}
	if (debug)
		exchange(f, &(union onpu_msg){ .log_config = { .type = ONPU_MSG_LOG_CONFIG,
							       .level = ONPU_LOG_DEBUG,
							       .interrupt = 1 } });
}

/* Checks that the firmware still answers a request, unless it has failed and reported why. */
static void check_alive(struct fake *f)
{
	uint32_t waiting = f->requests.tail - f->requests.head, before;

	f->hook = NULL;
	/*
	 * The firmware may take TAIL for more requests than the driver has written, up to a ring's
	 * size.
	 */
	if (waiting > ONPU_MAX_RING_SIZE)
		waiting = ONPU_MAX_RING_SIZE;
	waiting += ONPU_MAX_QUEUES + 2 * FAKE_RING;
	for (uint32_t i = 0; i < waiting && !f->fw.failed; i++) {
		fake_settle(f);
		take(f, 1);
	}
	fake_write_head(f, f->responses.tail);
	if (!f->fw.failed) {
		before = f->responses.tail;
		exchange(f, &(union onpu_msg){ .header = { .type = ONPU_MSG_HEARTBEAT } });
		FUZZ_CHECK(f->fw.failed || f->responses.tail == before + 1, "no heartbeat");
	}
	FUZZ_CHECK(fake_state(f) == (f->fw.failed ? ONPU_STATE_FAILED : ONPU_STATE_READY),
		   "status %#x", f->status);
	FUZZ_CHECK(!f->fw.failed || (fake_detail(f) && f->cp.run_queue == ONPU_NO_QUEUE),
		   "the CP goes on after the end");
	FUZZ_CHECK(f->fw.failed || f->fw.counts.switches == f->cp.arrivals,
		   "%llu changes of queue, %llu counted", (unsigned long long)f->cp.arrivals,
		   (unsigned long long)f->fw.counts.switches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake *f = &fake;
	uint8_t flags;

	in = (struct fuzz_input){ data, size };
	flags = fuzz_u8(&in);
	fake_init(f);
	hostile = flags & FLAG_HOSTILE;
	if (hostile)
		set_registers(f);
	fake_boot(f);
	f->asleep = true;
	if (flags & FLAG_READY && !hostile)
		make_ready(f, flags & FLAG_DEBUG);
	for (unsigned int i = 0; in.left && i < MAX_MOVES && !f->fw.failed; i++) {
		f->asleep = true;
		make_move(f, (enum move)(fuzz_u8(&in) % MOVE_COUNT));
	}
	check_alive(f);
	return 0;
}
