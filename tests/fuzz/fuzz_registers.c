// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the whole device: registers, firmware, message rings, page tables, job rings,
 * resets.
 *
 * The input is a byte of flags, then moves, each an opcode byte with its operands. With START the
 * firmware runs and two contexts are ready before the first move, as a driver would make them;
 * without it, the device is in reset. With TWICE the same moves are made once more on a device with
 * scalar code, and host memory, interrupts and the device clock must be the same.
 */
#include "firmware_image.h"
#include "host.h"

#define FLAG_START    0x01
#define FLAG_DAMAGED  0x02 /* up to four records of the input change the image */
#define FLAG_UNFIXED  0x04 /* with START: the image's checksum is left as it is */
#define FLAG_OWN_CODE 0x08 /* the code comes from the input */
#define FLAG_STICKY   0x10
#define FLAG_TWICE    0x20

#define MAX_MOVES      48
#define MAX_CYCLES     (1u << 17) /* most cycles of one move */
#define OWN_CODE_BYTES 128
/*
 * A program has one template. There are PROGRAMS programs, at addresses that follow from their
 * numbers.
 */
#define PROGRAM_INSNS 4
#define PROGRAM_SLOTS 16
#define PROGRAMS      8

enum move {
	MOVE_RUN,
	MOVE_WRITE,
	MOVE_READ,
	MOVE_ACCESS,
	MOVE_POKE,
	MOVE_PTE,
	MOVE_INVALIDATE,
	MOVE_REQUEST,
	MOVE_ANY_REQUEST,
	MOVE_SUBMIT,
	MOVE_SUBMIT_CHANGED,
	MOVE_RESET,
	MOVE_PARITY,
	MOVE_SAVED,
	MOVE_BOOT,
	MOVE_PREEMPT,
	MOVE_COUNT
};

/* Registers whose accesses have effects; MOVE_ACCESS reaches the others. */
static const uint32_t registers[] = {
	ONPU_REG_STATUS,
	ONPU_REG_RESET,
	ONPU_REG_FW_ADDRESS_LO,
	ONPU_REG_FW_ADDRESS_HI,
	ONPU_REG_FW_SIZE,
	ONPU_REG_BOOT,
	ONPU_REG_CYCLE_LO,
	ONPU_REG_CYCLE_HI,
	ONPU_REG_INT_STATUS,
	ONPU_REG_INT_ENABLE,
	ONPU_REG_INT_QUEUE_PENDING(0),
	ONPU_REG_INT_QUEUE_PENDING(1),
	ONPU_REG_INV_ASID,
	ONPU_REG_INV_PAGES,
	ONPU_REG_INV_VA_LO,
	ONPU_REG_INV_VA_HI,
	ONPU_REG_INV_REQ,
	ONPU_REG_INV_DONE,
	ONPU_REG_QUEUE_RETIRED_LO(0),
	ONPU_REG_QUEUE_RUN_CYCLES_LO(1),
	ONPU_REG_QUEUE_HEAD(0),
	ONPU_REG_QUEUE_STATE(0),
	ONPU_REG_QUEUE_STATE(63),
	ONPU_REG_REQUEST_BASE_LO,
	ONPU_REG_REQUEST_BASE_HI,
	ONPU_REG_REQUEST_SIZE,
	ONPU_REG_REQUEST_TAIL,
	ONPU_REG_REQUEST_HEAD,
	ONPU_REG_RESPONSE_BASE_LO,
	ONPU_REG_RESPONSE_SIZE,
	ONPU_REG_RESPONSE_TAIL,
	ONPU_REG_RESPONSE_HEAD,
	ONPU_REG_LOG_BASE_LO,
	ONPU_REG_LOG_SIZE,
	ONPU_REG_LOG_TAIL,
	ONPU_REG_DOORBELL_TAIL(0),
	ONPU_REG_DOORBELL_TAIL(1),
	ONPU_REG_DOORBELL_TAIL(2),
	ONPU_REG_DOORBELL_TAIL(63),
	ONPU_REG_CAP_SAVE_BYTES,
	ONPU_REG_CAP_FEATURES,
	ONPU_REG_FW_ABI,
	ONPU_REG_FW_VERSION,
};

/* ---- Moves of several steps ---- */

static void any_request(struct host *h, struct fuzz_input *in)
{
	uint32_t words[ONPU_MSG_SIZE / 4] = { 0 };
	uint8_t count = fuzz_u8(in);

	words[0] = fuzz_u8(in) % (ONPU_MSG_SCHED_CONFIG + 2);
	for (unsigned int i = 1; i < ONPU_MSG_SIZE / 4 && i <= (count & 15); i++)
		words[i] = fuzz_u32(in);
	host_request(h, words);
}

/*
 * Sends a request about the objects that host_contexts() made, with small numbers from the input.
 */
static void request(struct host *h, struct fuzz_input *in)
{
	static const uint8_t types[] = {
		ONPU_MSG_CTX_KILL,     ONPU_MSG_QUEUE_UNBIND, ONPU_MSG_QUEUE_BIND,
		ONPU_MSG_CTX_DESTROY,  ONPU_MSG_VM_DESTROY,   ONPU_MSG_HEARTBEAT,
		ONPU_MSG_TELEMETRY,    ONPU_MSG_LOG_CONFIG,   ONPU_MSG_SCHED_CONFIG,
		ONPU_MSG_SCHED_CONFIG,
	};
	uint8_t a = fuzz_u8(in), b = fuzz_u8(in);
	union onpu_msg m = { .words = { types[a % sizeof(types)], b } };

	switch (m.header.type) {
	case ONPU_MSG_QUEUE_BIND:
	case ONPU_MSG_QUEUE_UNBIND:
		m.queue.context = b & 1;
		m.queue.queue = b >> 1 & 3;
		break;
	case ONPU_MSG_SCHED_CONFIG:
		m.sched_config.slice = b * 16u;
		break;
	case ONPU_MSG_LOG_CONFIG:
		m.log_config.level = b & 3;
		m.log_config.interrupt = b >> 2 & 1;
		break;
	case ONPU_MSG_CTX_KILL:
	case ONPU_MSG_CTX_DESTROY:
	case ONPU_MSG_VM_DESTROY:
		m.ctx.context = b & 1;
		break;
	}
	host_request(h, &m);
}

/*
 * Writes a program with one template and, with @preempt, a preemption point before it and one after
 * it.
 */
static void program(struct host *h, struct fuzz_input *in, unsigned int number, bool preempt)
{
	uint32_t insn[PROGRAM_INSNS][ONPU_INSN_WORDS];
	union onpu_slot slot[1 + ONPU_OPERAND_COUNT];
	const struct onpu_insn end = { .op = ONPU_OP_END, .code = 1 };
	const struct onpu_insn point = { .op = ONPU_OP_PREEMPT, .live = 0x1000 };
	struct template t;
	int bad = 0;

	template_make(in, (enum onpu_op)(fuzz_u8(in) % ONPU_OP_COUNT), 1, &t);
	template_program_slot(in, &slot[0]);
	memcpy(&slot[1], t.slot, sizeof(t.slot));
	bad |= onpu_insn_pack(preempt ? &point : &t.insn, insn[0]);
	bad |= onpu_insn_pack(preempt ? &t.insn : &end, insn[1]);
	bad |= onpu_insn_pack(preempt ? &point : &end, insn[2]);
	bad |= onpu_insn_pack(&end, insn[3]);
	FUZZ_CHECK(!bad, "%s does not pack", onpu_op_info[t.insn.op].name);
	host_put(h, HOST_USER + number * (uint32_t)sizeof(insn), insn, sizeof(insn));
	host_put(h,
		 HOST_USER + (TEMPLATE_SLOTS_VA - TEMPLATE_PROGRAM_VA) +
			 number * PROGRAM_SLOTS * ONPU_SLOT_SIZE,
		 slot, sizeof(slot));
}

static void submit(struct host *h, struct fuzz_input *in, bool changed, bool preempt)
{
	unsigned int number = (unsigned int)h->seqno % PROGRAMS, context = fuzz_u8(in) & 1;
	struct onpu_ring_job job = {
		.type = ONPU_ENTRY_JOB,
		.program_va = TEMPLATE_PROGRAM_VA + number * PROGRAM_INSNS * ONPU_INSN_BYTES,
		.num_insns = PROGRAM_INSNS,
		.num_slots = 1 + ONPU_OPERAND_COUNT,
		.slots_va = TEMPLATE_SLOTS_VA + number * PROGRAM_SLOTS * ONPU_SLOT_SIZE,
		.profile_va = TEMPLATE_PROFILE_VA,
		.profile_size = TEMPLATE_PROFILE_SIZE,
		.seqno = ++h->seqno,
		.cycle_limit = MAX_CYCLES,
	};

	program(h, in, number, preempt);
	if (changed)
		template_flip(in, &job, sizeof(job));
	host_submit(h, context, &job);
}

static void page_table(struct host *h, struct fuzz_input *in)
{
	static const uint32_t tables[] = { HOST_USER_L0, HOST_KERNEL_L0, HOST_USER_L1,
					   HOST_KERNEL_L1, HOST_ROOT };
	uint8_t which = fuzz_u8(in);
	uint32_t at = tables[which % 5] + (which / 5 & 31) * 8;
	uint64_t change = fuzz_u64(in), pte;

	memcpy(&pte, h->memory + at, sizeof(pte));
	pte ^= change;
	host_put(h, at, &pte, sizeof(pte));
}

static void invalidate(struct host *h, struct fuzz_input *in)
{
	host_write_register(h, ONPU_REG_INV_ASID, fuzz_u32(in));
	host_write_register(h, ONPU_REG_INV_VA_LO, fuzz_u32(in));
	host_write_register(h, ONPU_REG_INV_PAGES, fuzz_u16(in));
	host_write_register(h, ONPU_REG_INV_REQ, fuzz_u8(in));
}

static void any_access(struct host *h, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);
	uint32_t offset = fuzz_u32(in) & (kind & 0x40 ? 0x7ffff : UINT32_MAX);
	unsigned int size = 1u << (kind & 3);

	if (kind & 0x80)
		onpu_device_mmio_read(h->device, offset, size);
	else
		onpu_device_mmio_write(h->device, offset, size, fuzz_u64(in));
}

static void start(struct host *h, struct fuzz_input *in, uint8_t flags)
{
	uint32_t size = sizeof(firmware_image);
	uint8_t code[OWN_CODE_BYTES];

	memcpy(h->memory + HOST_FIRMWARE, firmware_image, sizeof(firmware_image));
	if (flags & FLAG_OWN_CODE) {
		fuzz_bytes(in, code, sizeof(code));
		memcpy(h->memory + HOST_FIRMWARE + ONPU_FW_HEADER_SIZE, code, sizeof(code));
	}
	for (unsigned int i = fuzz_u8(in) & 3; flags & FLAG_DAMAGED && i < 4; i++)
		template_flip(in, h->memory + HOST_FIRMWARE, size);
	host_map(h);
	if (!(flags & FLAG_START))
		return;
	host_boot(h, size, !(flags & FLAG_UNFIXED));
	host_contexts(h);
}

static void make_move(struct host *h, struct fuzz_input *in)
{
	uint8_t move = fuzz_u8(in) % MOVE_COUNT, a;
	const uint32_t count = sizeof(registers) / sizeof(registers[0]);

	switch ((enum move)move) {
	case MOVE_RUN:
		onpu_device_run(h->device, fuzz_u16(in) * 2u);
		break;
	case MOVE_WRITE:
		a = fuzz_u8(in);
		host_write_register(h, registers[a % count], fuzz_u32(in));
		break;
	case MOVE_READ:
		onpu_device_mmio_read(h->device, registers[fuzz_u8(in) % count], 4);
		break;
	case MOVE_ACCESS:
		any_access(h, in);
		break;
	case MOVE_POKE:
		template_flip(in, h->memory + fuzz_u16(in) % (HOST_BYTES >> 12) * 0x1000u, 0x1000);
		break;
	case MOVE_PTE:
		page_table(h, in);
		break;
	case MOVE_INVALIDATE:
		invalidate(h, in);
		break;
	case MOVE_REQUEST:
		request(h, in);
		break;
	case MOVE_ANY_REQUEST:
		any_request(h, in);
		break;
	case MOVE_SUBMIT:
	case MOVE_SUBMIT_CHANGED:
	case MOVE_PREEMPT:
		submit(h, in, move == MOVE_SUBMIT_CHANGED, move == MOVE_PREEMPT);
		break;
	case MOVE_RESET:
		onpu_device_reset(h->device);
		break;
	case MOVE_PARITY:
		onpu_device_inject_parity(h->device);
		break;
	case MOVE_SAVED:
		a = fuzz_u8(in) & 1;
		template_flip(in, h->memory + HOST_KERNEL + a * HOST_CONTEXT + HOST_SAVE_OFFSET,
			      2048);
		break;
	case MOVE_BOOT:
		host_boot(h, sizeof(firmware_image), true);
		host_contexts(h);
		break;
	case MOVE_COUNT:
		break;
	}
}

/*
 * The host memories of the device with scalar code and of that with the best vector code; all
 * inputs use them.
 */
static uint8_t memories[2][HOST_BYTES];

static void play(struct host *h, struct fuzz_input in, uint8_t flags, int simd)
{
	host_create(h, memories[simd < 0], flags & FLAG_STICKY, simd);
	start(h, &in, flags);
	for (unsigned int i = 0; in.left && i < MAX_MOVES; i++)
		make_move(h, &in);
	onpu_device_run(h->device, MAX_CYCLES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_u8(&in);
	struct host a, b;

	play(&a, in, flags, -1);
	if (flags & FLAG_TWICE) {
		play(&b, in, flags, 0);
		FUZZ_CHECK(onpu_device_cycle(a.device) == onpu_device_cycle(b.device),
			   "the clock is %llu and %llu",
			   (unsigned long long)onpu_device_cycle(a.device),
			   (unsigned long long)onpu_device_cycle(b.device));
		FUZZ_CHECK(a.interrupts == b.interrupts, "%u and %u interrupts", a.interrupts,
			   b.interrupts);
		FUZZ_CHECK(!memcmp(a.memory, b.memory, HOST_BYTES), "memory differs");
		host_destroy(&b);
	}
	host_destroy(&a);
	return 0;
}
