// SPDX-License-Identifier: MIT
/*
 * Provokes every fault code and each check that all instructions share. Code, operand, address,
 * instruction and cycle must be as isa.xml says, and nothing may be written where isa.xml says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static struct rig_job job;
static struct gen g;
static unsigned int failures, checks, seen[ONPU_FAULT_COUNT];

static const char *const operand_names[] = { "DST", "S0", "S1", "S2", "PARAM" };

/* Generates a valid case of the instruction in which every possible operand is present. */
static void valid(enum onpu_op op, unsigned int variant)
{
	uint64_t state = ((uint64_t)op << 32) + variant;
	bool all;

	do {
		memset(&g, 0, sizeof(g));
		g.random.state = state += 7919;
		g.job = &job;
		generate(&g, op);
		all = job.size == (g.info->feature ? RIG_ODD : RIG_SMALL);
		for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++)
			all &= g.has[x] == (g.info->operands[x].present != 0);
	} while (!all);
}

static unsigned int index_of(unsigned int x)
{
	const unsigned int index[] = { g.insn.dst, g.insn.s0, g.insn.s1, g.insn.s2, g.insn.param };

	return index[x];
}

static union onpu_slot *slot_of(unsigned int x)
{
	return rig_slot(&job, index_of(x));
}

static void report(const char *what, unsigned int x)
{
	printf("%s: %s%s%s\n", onpu_op_info[g.insn.op].name, what, x < 5 ? " of " : "",
	       x < 5 ? operand_names[x] : "");
	failures++;
}

/* Checks that the machine does what the reference does, fault or not. */
static void check(const char *what, unsigned int x)
{
	checks++;
	if (!rig_check(&job))
		report(what, x);
	seen[job.expected.fault.code]++;
}

static void check_fault(const char *what, unsigned int x, enum onpu_fault code,
			unsigned int operand)
{
	checks++;
	if (!rig_check_fault(&job, code, operand))
		report(what, x);
	seen[job.expected.fault.code]++;
}

static bool on_compute_engine(void)
{
	return g.info->engine == ONPU_ENG_MXU || g.info->engine == ONPU_ENG_VPU;
}

static void test_space(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++) {
		valid(op, x);
		if (!g.has[x] || !on_compute_engine())
			continue;
		slot_of(x)->tensor.space = ONPU_SPACE_VA;
		check_fault("space", x, ONPU_FAULT_SPACE, x);
	}
}

static void test_dtype(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++)
		for (unsigned int dtype = 0; dtype < 256; dtype += dtype < 16 ? 1 : 48) {
			valid(op, x);
			if (!g.has[x])
				break;
			slot_of(x)->tensor.dtype = (uint8_t)dtype;
			check("type", x);
		}
	valid(op, 0);
	if (g.has[0] && !(g.info->operands[0].dtypes >> ONPU_DT_I4 & 1)) {
		slot_of(0)->tensor.dtype = ONPU_DT_I4;
		if (op == ONPU_OP_DMA_FILL)
			slot_of(ONPU_OPERAND_PARAM)->fill.value = 0;
		if (op == ONPU_OP_DMA_PAD)
			slot_of(ONPU_OPERAND_PARAM)->pad.value = 0;
		check_fault("4-bit type", 0, ONPU_FAULT_DTYPE, ONPU_OPERAND_DST);
	}
}

static void test_shape(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++)
		for (unsigned int variant = 0; variant < 4; variant++) {
			struct onpu_slot_tensor *t;

			valid(op, variant);
			if (!g.has[x])
				break;
			t = &slot_of(x)->tensor;
			if (t->rank == 8)
				continue;
			/* The operand gets one more dimension, or a longer one. */
			if (t->rank == 0 || variant % 2)
				t->dim[t->rank++] = 1;
			else
				t->dim[t->rank - 1]++;
			check("shape", x);
		}
}

/* The window that ends with the operand's last byte is valid; one that is a byte shorter is not. */
static void test_bounds(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++)
		for (unsigned int variant = 0; variant < 3; variant++) {
			struct onpu_slot_tensor *t;
			ref_int low, high;

			valid(op, variant);
			if (!g.has[x])
				break;
			rig_check(&job);
			ref_range(&job.expected.step[0].op, x, &low, &high);
			t = &slot_of(x)->tensor;
			t->size = (uint64_t)high - t->base;
			check_fault("exact window", x, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
			t->size--;
			check_fault("window too short", x, ONPU_FAULT_BOUNDS, x);
			t->size = (uint64_t)(1ull << 63) + (1ull << 62);
			t->base += t->size;
			check("window far away", x);
		}
}

static void test_window_low(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++) {
		struct onpu_slot_tensor *t;
		ref_int low, high;
		uint64_t by;

		valid(op, x + 5);
		if (!g.has[x])
			continue;
		rig_check(&job);
		ref_range(&job.expected.step[0].op, x, &low, &high);
		t = &slot_of(x)->tensor;
		/* The window begins 8 bytes above the lowest byte. */
		by = (uint64_t)low + 8 - t->base;
		if (ref_is_nibble(t->dtype))
			continue;
		t->base += by;
		t->offset -= by;
		check("window begins too late", x);
	}
}

static void test_sram_size(enum onpu_op op)
{
	uint64_t end = 0;

	valid(op, 9);
	for (unsigned int x = 0; x < 4; x++) {
		const struct onpu_slot_tensor *t = &slot_of(x)->tensor;

		if (g.has[x] && t->space == ONPU_SPACE_SRAM && t->base + t->size > end)
			end = t->base + t->size;
	}
	if (!end)
		return;
	rig_slot(&job, 0)->program.sram_bytes = (uint32_t)end;
	check_fault("SRAM of the program", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
	rig_slot(&job, 0)->program.sram_bytes = (uint32_t)end - 1;
	check("SRAM of the program too small", 9);
	if (job.expected.fault.code != ONPU_FAULT_BOUNDS)
		report("SRAM of the program too small: no BOUNDS", 9);
}

static void test_index(enum onpu_op op)
{
	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
		uint16_t *index[] = {
			&g.insn.dst, &g.insn.s0, &g.insn.s1, &g.insn.s2, &g.insn.param,
		};

		valid(op, x);
		if (!g.has[x])
			continue;
		*index[x] = (uint16_t)job.program.num_slots;
		rig_put_insn(&job, 0, &g.insn);
		check_fault("slot index", x, ONPU_FAULT_SLOT_INDEX, x);
		*index[x] = 0xffff;
		rig_put_insn(&job, 0, &g.insn);
		check_fault("slot index", x, ONPU_FAULT_SLOT_INDEX, x);
		*index[x] = 0;
		rig_put_insn(&job, 0, &g.insn);
		if (g.info->operands[x].optional)
			check("no slot", x);
		else
			check_fault("no slot", x, ONPU_FAULT_SLOT_INDEX, x);
	}
}

static void test_slot_bytes(enum onpu_op op)
{
	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
		valid(op, x);
		if (!g.has[x])
			continue;
		for (unsigned int i = 0; i < ONPU_SLOT_SIZE; i++) {
			uint8_t *byte = &slot_of(x)->bytes[i], old = *byte;

			*byte = old ? 0 : 1;
			check("slot byte", x);
			*byte = old ^ 0x80;
			check("slot byte", x);
			*byte = old;
		}
		slot_of(x)->bytes[0] = ONPU_SLOT_EMPTY;
		check_fault("slot kind", x, ONPU_FAULT_SLOT_FORMAT, x);
		slot_of(x)->bytes[0] = x == ONPU_OPERAND_PARAM ? ONPU_SLOT_TENSOR : ONPU_SLOT_PARAM;
		check_fault("slot kind", x, ONPU_FAULT_SLOT_FORMAT, x);
	}
}

static void test_alignment(enum onpu_op op)
{
	for (unsigned int x = 0; x < 4; x++) {
		struct onpu_slot_tensor *t;

		valid(op, x + 11);
		t = &slot_of(x)->tensor;
		if (!g.has[x] || ref_bits(t->dtype) < 16)
			continue;
		t->offset++;
		check_fault("offset", x, ONPU_FAULT_SLOT_FORMAT, x);
		t->offset--;
		if (!t->rank)
			continue;
		t->stride[t->rank - 1]++;
		check_fault("stride", x, ONPU_FAULT_SLOT_FORMAT, x);
	}
}

/* Flips each bit of the word. */
static void test_word(enum onpu_op op)
{
	uint32_t *w = (uint32_t *)(void *)(job.memory + RIG_PROGRAM);

	valid(op, 3);
	for (unsigned int bit = 0; bit < 128; bit++) {
		w[bit / 32] ^= 1u << bit % 32;
		if (bit < 112 && g.info->fixed[bit / 32] >> bit % 32 & 1)
			check_fault("reserved bit", 9, ONPU_FAULT_RESERVED_BITS, ONPU_OPERAND_NONE);
		else
			check("bit", 9);
		w[bit / 32] ^= 1u << bit % 32;
	}
}

static void test_opcodes(void)
{
	unsigned int legal = 0;

	for (uint32_t opcode = 0; opcode < 1 << 16; opcode++) {
		const uint32_t end[ONPU_INSN_WORDS] = { 0, 0, 0, 0x01000000 };
		const uint32_t w[ONPU_INSN_WORDS] = { 0, 0, 0, opcode << 16 };

		if (opcode % 5 && opcode > 0x4000)
			continue;
		rig_clear(&job, RIG_ODD, RIG_DATA);
		rig_put_words(&job, 0, w);
		rig_put_words(&job, 1, end);
		check("opcode", 9);
		legal += opcode <= 0x4000 && job.expected.fault.code != ONPU_FAULT_ILLEGAL_OPCODE;
	}
	checks++;
	if (legal != ONPU_OP_COUNT) {
		printf("%u opcodes are legal, there should be %d\n", legal, ONPU_OP_COUNT);
		failures++;
	}
}

/* Puts sources at the destination's address, where some instructions allow it, and next to it. */
static void test_overlap(enum onpu_op op)
{
	for (unsigned int x = 1; x < 4; x++)
		for (unsigned int variant = 0; variant < 6; variant++) {
			struct onpu_slot_tensor *t, *dst;

			valid(op, variant);
			if (!g.has[x] || !g.has[0])
				break;
			t = &slot_of(x)->tensor;
			dst = &slot_of(0)->tensor;
			t->space = dst->space;
			t->base = dst->base;
			t->size = dst->size;
			t->offset = dst->offset;
			if (t->rank == dst->rank)
				memcpy(t->stride, dst->stride, sizeof(t->stride));
			check("same place", x);
			t->offset += ref_size(t->dtype);
			check("one element on", x);
			t->offset -= 2 * ref_size(t->dtype);
			check("one element before", x);
		}
}

static void test_destination(enum onpu_op op)
{
	for (unsigned int variant = 0; variant < 8; variant++) {
		struct onpu_slot_tensor *dst;

		valid(op, variant);
		if (!g.has[0])
			return;
		dst = &slot_of(0)->tensor;
		for (unsigned int d = 0; d < dst->rank; d++) {
			int64_t old = dst->stride[d];
			bool fault = dst->dim[d] > 1;

			dst->stride[d] = 0;
			if (fault)
				check_fault("stride 0", 0, ONPU_FAULT_SHAPE, ONPU_OPERAND_DST);
			else
				check("stride 0", 0);
			dst->stride[d] = ref_size(dst->dtype);
			check("stride of one element", 0);
			dst->stride[d] = old;
		}
	}
}

static void test_every_instruction(void)
{
	for (unsigned int op = ONPU_OP_DMA_COPY; op < ONPU_OP_COUNT; op++) {
		test_space(op);
		test_dtype(op);
		test_shape(op);
		test_bounds(op);
		test_window_low(op);
		test_sram_size(op);
		test_index(op);
		test_slot_bytes(op);
		test_alignment(op);
		test_word(op);
		test_overlap(op);
		test_destination(op);
	}
}

static void tensor(unsigned int index, unsigned int dtype, unsigned int space, uint64_t base,
		   unsigned int rank, const uint32_t *dims, const int64_t *strides)
{
	union onpu_slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.tensor.kind = ONPU_SLOT_TENSOR;
	slot.tensor.dtype = (uint8_t)dtype;
	slot.tensor.space = (uint8_t)space;
	slot.tensor.rank = (uint8_t)rank;
	slot.tensor.base = base;
	slot.tensor.size = ref_size(dtype);
	for (unsigned int d = 0; d < rank; d++) {
		slot.tensor.dim[d] = dims[d];
		slot.tensor.stride[d] = strides[d];
		slot.tensor.size += (uint64_t)strides[d] * (dims[d] - 1);
	}
	rig_put_slot(&job, index, &slot);
}

static void vector(unsigned int index, unsigned int dtype, unsigned int space, uint64_t base,
		   uint32_t n)
{
	tensor(index, dtype, space, base, 1, &n, (const int64_t[]){ ref_size(dtype) });
}

static void program(const struct onpu_insn *insns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rig_put_insn(&job, i, &insns[i]);
	g.insn = insns[0];
}

#define PROGRAM(...)                                             \
	do {                                                     \
		const struct onpu_insn list[] = { __VA_ARGS__ }; \
		program(list, sizeof(list) / sizeof(*list));     \
	} while (0)
#define END { .op = ONPU_OP_END }

/*
 * Taps that move the destination cost a whole block each: 144 + 16381 * 64 cycles are allowed, one
 * tap more is not.
 */
static void test_moving_cost(void)
{
	for (uint32_t taps = 16381; taps <= 16382; taps++) {
		union onpu_slot param;

		rig_clear(&job, RIG_SMALL, RIG_DATA);
		memset(&param, 0, sizeof(param));
		param.param.kind = ONPU_SLOT_PARAM;
		param.param.schema = ONPU_SCHEMA_TAPS;
		for (unsigned int l = 0; l < ONPU_TAPS_LOOPS; l++)
			param.taps.loop[l].count = 1;
		param.taps.loop[1].count = taps;
		/* A step counts as moving the destination even if it is never taken. */
		param.taps.loop[0].dst_step = 64;
		tensor(1, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 1, (uint32_t[]){ 1 }, (int64_t[]){ 4 });
		tensor(2, ONPU_DT_F32, ONPU_SPACE_SRAM, 64, 1, (uint32_t[]){ 16 },
		       (int64_t[]){ 0 });
		tensor(3, ONPU_DT_F32, ONPU_SPACE_SRAM, 128, 2, (uint32_t[]){ 16, 1 },
		       (int64_t[]){ 0, 4 });
		rig_put_slot(&job, 4, &param);
		PROGRAM({ .op = ONPU_OP_MMA_F32, .dst = 1, .s0 = 2, .s1 = 3, .param = 4, .acc = 1 },
			END);
		check_fault("cost of moving taps", 9,
			    taps == 16381 ? ONPU_FAULT_NONE : ONPU_FAULT_SHAPE, ONPU_OPERAND_NONE);
	}
}

/* 2^20 cycles are allowed, and one step of the depth more is too many. */
static void test_cost(void)
{
	for (uint32_t k = 262108; k <= 262109; k++) {
		rig_clear(&job, RIG_SMALL, RIG_DATA);
		tensor(1, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 1, (uint32_t[]){ 1 }, (int64_t[]){ 4 });
		tensor(2, ONPU_DT_F32, ONPU_SPACE_SRAM, 64, 1, &k, (int64_t[]){ 0 });
		tensor(3, ONPU_DT_F32, ONPU_SPACE_SRAM, 128, 2, (uint32_t[]){ k, 1 },
		       (int64_t[]){ 0, 4 });
		PROGRAM({ .op = ONPU_OP_MMA_F32, .dst = 1, .s0 = 2, .s1 = 3 }, END);
		check_fault("cost", 9, k == 262108 ? ONPU_FAULT_NONE : ONPU_FAULT_SHAPE,
			    ONPU_OPERAND_NONE);
	}
	test_moving_cost();
	/* Numbers whose product is beyond 64 bits. */
	rig_clear(&job, RIG_SMALL, RIG_DATA);
	tensor(1, ONPU_DT_U8, ONPU_SPACE_SRAM, 0, 8, (uint32_t[]){ 1, 1, 1, 1, 1, 1, 1, 1 },
	       (int64_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 });
	tensor(2, ONPU_DT_U8, ONPU_SPACE_SRAM, 64, 8,
	       (uint32_t[]){ ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u },
	       (int64_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 });
	PROGRAM({ .op = ONPU_OP_RSUM, .dst = 1, .s0 = 2, .axes = 255 }, END);
	check_fault("cost", 9, ONPU_FAULT_SHAPE, ONPU_OPERAND_NONE);
}

static void put_index(unsigned int at, int64_t v)
{
	memcpy(job.sram + 256 + 8 * at, &v, 8);
}

/* Runs a gather or scatter of four elements whose index @at is v; @bad: v is out of range. */
static void index_case(enum onpu_op op, bool neg, bool clamp, int64_t v, unsigned int at, bool bad)
{
	bool nd = op == ONPU_OP_DMA_GATHER_ND || op == ONPU_OP_DMA_SCATTER_ND;
	bool scatter = op == ONPU_OP_DMA_SCATTER_ND || op == ONPU_OP_DMA_SCATTER_ELEM;
	union onpu_slot param;

	rig_clear(&job, RIG_SMALL, RIG_DATA + 4096);
	for (unsigned int i = 0; i < 4; i++)
		put_index(i, i);
	put_index(at, v);
	vector(1, ONPU_DT_I16, ONPU_SPACE_SRAM, 0, scatter ? 6 : 4);
	vector(2, ONPU_DT_I16, ONPU_SPACE_VA, RIG_BASE + RIG_DATA, scatter ? 4 : 6);
	if (nd)
		tensor(3, ONPU_DT_I64, ONPU_SPACE_SRAM, 256, 2, (uint32_t[]){ 4, 1 },
		       (int64_t[]){ 8, 8 });
	else
		vector(3, ONPU_DT_I64, ONPU_SPACE_SRAM, 256, 4);
	memset(&param, 0, sizeof(param));
	param.param.kind = ONPU_SLOT_PARAM;
	param.param.schema = ONPU_SCHEMA_INDEX;
	rig_put_slot(&job, 4, &param);
	PROGRAM({ .op = op, .dst = 1, .s0 = 2, .s1 = 3, .param = 4, .neg = neg, .clamp = clamp },
		END);
	check_fault("index", 9, bad ? ONPU_FAULT_INDEX_RANGE : ONPU_FAULT_NONE,
		    bad ? ONPU_OPERAND_S1 : ONPU_OPERAND_NONE);
}

static void test_index_range(void)
{
	for (unsigned int op = ONPU_OP_DMA_GATHER_AXIS; op <= ONPU_OP_DMA_SCATTER_ND; op++)
		for (unsigned int at = 0; at < 4; at++) {
			index_case(op, false, false, 6, at, true);
			index_case(op, false, false, -1, at, true);
			index_case(op, false, false, INT64_MIN, at, true);
			index_case(op, false, false, 5, at, false);
			index_case(op, true, false, -6, at, false);
			index_case(op, true, false, -7, at, true);
			index_case(op, true, false, INT64_MIN, at, true);
			index_case(op, true, false, 6, at, true);
			index_case(op, false, true, INT64_MAX, at, false);
			index_case(op, false, true, -1, at, true);
			index_case(op, true, true, INT64_MIN, at, false);
			index_case(op, true, true, 1ll << 32, at, false);
		}
}

static void empty(void)
{
	rig_clear(&job, RIG_SMALL, RIG_DATA + 4096);
}

static struct onpu_insn sem(enum onpu_op op, unsigned int eng, unsigned int s, unsigned int count)
{
	return (struct onpu_insn){
		.op = op,
		.eng = (uint8_t)eng,
		.sem = (uint8_t)s,
		.count = (uint16_t)count,
	};
}

#define WAIT   ONPU_OP_SEM_WAIT
#define SIGNAL ONPU_OP_SEM_SIGNAL

static void test_semaphores(void)
{
	empty();
	PROGRAM(sem(SIGNAL, ONPU_ENG_LD, 5, 65535), END);
	check_fault("count of 65535", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
	empty();
	PROGRAM(sem(SIGNAL, ONPU_ENG_LD, 5, 65535), sem(SIGNAL, ONPU_ENG_LD, 5, 1), END);
	check_fault("overflow", 9, ONPU_FAULT_SEM_OVERFLOW, ONPU_OPERAND_NONE);
	empty();
	rig_slot(&job, 0)->program.sem_init[63] = 255;
	PROGRAM(sem(SIGNAL, ONPU_ENG_VPU, 63, 65280), { .op = ONPU_OP_NOP, .sv = 1 },
		sem(SIGNAL, ONPU_ENG_VPU, 63, 1), END);
	check_fault("overflow", 9, ONPU_FAULT_SEM_OVERFLOW, ONPU_OPERAND_NONE);
	for (unsigned int a = 0; a < ONPU_ENG_COUNT; a++)
		for (unsigned int b = 0; b < ONPU_ENG_COUNT; b++) {
			enum onpu_fault code = a == b ? ONPU_FAULT_NONE : ONPU_FAULT_SEM_OWNER;

			empty();
			PROGRAM(sem(SIGNAL, a, 7, 1), sem(SIGNAL, b, 7, 1), END);
			check_fault("two signallers", 9, code, ONPU_OPERAND_NONE);
			empty();
			PROGRAM(sem(WAIT, a, 7, 0), sem(WAIT, b, 7, 0), END);
			check_fault("two waiters", 9, code, ONPU_OPERAND_NONE);
			empty();
			rig_slot(&job, 0)->program.sem_init[9] = 2;
			PROGRAM(sem(WAIT, a, 9, 1), sem(SIGNAL, b, 9, 3), END);
			check_fault("waiter and signaller", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
		}
	empty();
	PROGRAM({ .op = ONPU_OP_NOP, .wv = 1, .wsem = 3 }, END);
	check_fault("CP waits for ever", 9, ONPU_FAULT_DEADLOCK, ONPU_OPERAND_NONE);
}

static void test_deadlocks(void)
{
	for (unsigned int e = 0; e < ONPU_ENG_COUNT; e++) {
		empty();
		PROGRAM(sem(SIGNAL, ONPU_ENG_ST, 1, 3), sem(WAIT, e, 1, 4), END);
		check_fault("one token too few", 9, ONPU_FAULT_DEADLOCK, ONPU_OPERAND_NONE);
	}
	empty();
	PROGRAM(sem(WAIT, ONPU_ENG_VPU, 2, 1), sem(WAIT, ONPU_ENG_MXU, 1, 1),
		sem(SIGNAL, ONPU_ENG_MXU, 2, 1), sem(SIGNAL, ONPU_ENG_VPU, 1, 1), END);
	check_fault("circle", 9, ONPU_FAULT_DEADLOCK, ONPU_OPERAND_NONE);
	if (job.expected.engine != ONPU_ENG_MXU || job.expected.pc != 1)
		report("circle: wrong instruction named", 9);
	empty();
	PROGRAM(sem(WAIT, ONPU_ENG_LD, 2, 1), { .op = ONPU_OP_BARRIER, .mask = 2 },
		sem(SIGNAL, ONPU_ENG_ST, 2, 1), END);
	check_fault("barrier", 9, ONPU_FAULT_DEADLOCK, ONPU_OPERAND_NONE);
	empty();
	for (unsigned int i = 0; i < 40; i++)
		rig_put_insn(&job, i,
			     &(struct onpu_insn){
				     .op = WAIT, .eng = ONPU_ENG_LD, .sem = 4, .count = 1 });
	rig_put_insn(
		&job, 40,
		&(struct onpu_insn){ .op = SIGNAL, .eng = ONPU_ENG_ST, .sem = 4, .count = 40 });
	rig_put_insn(&job, 41, &(struct onpu_insn)END);
	check_fault("full queue", 9, ONPU_FAULT_DEADLOCK, ONPU_OPERAND_NONE);
}

static void test_limit_and_trap(void)
{
	for (unsigned int limit = 1; limit < 16; limit++) {
		empty();
		vector(1, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 8);
		PROGRAM({ .op = ONPU_OP_VEXP, .dst = 1, .s0 = 1 }, { .op = ONPU_OP_NOP },
			{ .op = ONPU_OP_VEXP, .dst = 1, .s0 = 1 }, END);
		job.program.cycle_limit = limit;
		check("limit", 9);
	}
	job.program.cycle_limit = 1;
	check_fault("limit", 9, ONPU_FAULT_TIMEOUT, ONPU_OPERAND_NONE);
	empty();
	PROGRAM({ .op = ONPU_OP_NOP }, { .op = ONPU_OP_TRAP, .code = 0xabcd }, END);
	check_fault("trap", 9, ONPU_FAULT_TRAP, ONPU_OPERAND_NONE);
	if (job.expected.fault.address != 0xabcd)
		report("trap: code", 9);
	empty();
	PROGRAM({ .op = ONPU_OP_NOP });
	check_fault("no end", 9, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_OPERAND_NONE);
	empty();
	PROGRAM({ .op = ONPU_OP_PREEMPT, .live = rig_sram_bytes(RIG_SMALL) }, END);
	check_fault("all live", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
	empty();
	PROGRAM({ .op = ONPU_OP_PREEMPT, .live = rig_sram_bytes(RIG_SMALL) + 1 }, END);
	check_fault("live", 9, ONPU_FAULT_BOUNDS, ONPU_OPERAND_NONE);
}

static void test_program_slot(void)
{
	for (unsigned int i = 0; i < ONPU_SLOT_SIZE; i++) {
		empty();
		PROGRAM(END);
		rig_slot(&job, 0)->bytes[i] ^= 1;
		check("PROGRAM slot", 9);
		rig_slot(&job, 0)->bytes[i] ^= 0x81;
		check("PROGRAM slot", 9);
	}
	empty();
	PROGRAM(END);
	job.program.num_slots = 0;
	check_fault("no slots", 9, ONPU_FAULT_SLOT_INDEX, ONPU_OPERAND_NONE);
	empty();
	PROGRAM(END);
	job.program.program_va += 8;
	check_fault("program address", 9, ONPU_FAULT_SLOT_FORMAT, ONPU_OPERAND_NONE);
	empty();
	PROGRAM(END);
	job.program.slots_va += 64;
	check_fault("slots address", 9, ONPU_FAULT_SLOT_FORMAT, ONPU_OPERAND_NONE);
	empty();
	PROGRAM(END);
	rig_slot(&job, 0)->program.sram_bytes = rig_sram_bytes(RIG_SMALL) + 1;
	check_fault("SRAM", 9, ONPU_FAULT_BOUNDS, ONPU_OPERAND_NONE);
}

/* Tests pages of program, slots and data that are not present or not writable. */
static void test_pages(void)
{
	const uint64_t end = RIG_BASE + RIG_DATA + 4096;

	empty();
	PROGRAM(END);
	job.program.program_va = end;
	check_fault("program page", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_NONE);
	empty();
	PROGRAM(END);
	job.program.slots_va = end;
	check_fault("slot page", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_NONE);
	empty();
	job.program.slots_va = end - 128;
	memcpy(job.memory + job.memory_size - 128, rig_slot(&job, 0), 128);
	job.program.num_slots = 4;
	PROGRAM({ .op = ONPU_OP_VADD, .dst = 2, .s0 = 1, .s1 = 3 }, END);
	check_fault("slot page", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_DST);
	for (unsigned int channel = 0; channel < 2; channel++) {
		const uint8_t ch = (uint8_t)channel;

		empty();
		vector(1, ONPU_DT_U16, ONPU_SPACE_SRAM, 0, 100);
		vector(2, ONPU_DT_U16, ONPU_SPACE_VA, end - 120, 100);
		PROGRAM({ .op = ONPU_OP_DMA_COPY, .dst = 1, .s0 = 2, .ch = ch }, END);
		check_fault("read past the end", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_S0);
		PROGRAM({ .op = ONPU_OP_DMA_COPY, .dst = 2, .s0 = 1, .ch = ch }, END);
		check_fault("write past the end", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_DST);
		job.readonly_base = RIG_BASE + RIG_DATA + 2000;
		job.readonly_size = 1000;
		vector(2, ONPU_DT_U16, ONPU_SPACE_VA, end - 4096 + 1900, 100);
		PROGRAM({ .op = ONPU_OP_DMA_COPY, .dst = 2, .s0 = 1, .ch = ch }, END);
		check_fault("write protected", 9, ONPU_FAULT_MMU_PERM, ONPU_OPERAND_DST);
		PROGRAM({ .op = ONPU_OP_DMA_COPY, .dst = 1, .s0 = 2, .ch = ch }, END);
		check_fault("reading is allowed", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
	}
	empty();
	vector(1, ONPU_DT_U64, ONPU_SPACE_VA, end - 16, 6);
	PROGRAM({ .op = ONPU_OP_TIMESTAMP, .dst = 1 }, END);
	check_fault("timestamp", 9, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_OPERAND_DST);
}

/* A record that does not fit is dropped; one that cannot be written is a fault. */
static void test_profile(void)
{
	for (unsigned int room = 0; room < 80; room++) {
		empty();
		vector(1, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 8);
		PROGRAM({ .op = ONPU_OP_VEXP, .dst = 1, .s0 = 1, .ts = 1 },
			{ .op = ONPU_OP_NOP, .ts = 1 }, { .op = ONPU_OP_NOP, .ts = 1 }, END);
		job.program.profile_size = room;
		check_fault("room for records", 9, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
		if (job.expected.num_records != 3)
			report("records not counted", 9);
		job.program.profile_size = 96;
		job.program.profile_va = RIG_BASE + job.memory_size - room;
		check_fault("records past the end", 9, ONPU_FAULT_MMU_NOT_PRESENT,
			    ONPU_OPERAND_NONE);
		job.program.profile_va = RIG_BASE + RIG_PROFILE;
		job.readonly_base = RIG_BASE + RIG_PROFILE + room;
		job.readonly_size = 1;
		check_fault("records on a page that is protected", 9, ONPU_FAULT_MMU_PERM,
			    ONPU_OPERAND_NONE);
	}
}

/* Runs random DMA whose data reaches into missing or protected memory. */
static void test_random_pages(void)
{
	for (unsigned int op = ONPU_OP_DMA_COPY; op <= ONPU_OP_DMA_SCATTER_ND; op++)
		for (unsigned int variant = 0; variant < 150; variant++) {
			unsigned int x;

			valid(op, variant + 100);
			x = (unsigned int)rng_below(&g.random, 3);
			if (!g.has[x] || slot_of(x)->tensor.space != ONPU_SPACE_VA)
				continue;
			job.any_address = true;
			if (x == 0 && variant % 2) {
				job.readonly_base = slot_of(0)->tensor.base +
						    rng_below(&g.random, slot_of(0)->tensor.size);
				job.readonly_size = 1 + rng_below(&g.random, 16);
			} else {
				/* Only this operand reaches beyond the end. */
				uint64_t size = slot_of(x)->tensor.size;
				uint64_t over = 1 + rng_below(&g.random, size);
				uint64_t move = RIG_BASE + job.memory_size + over -
						(slot_of(x)->tensor.base + size);

				slot_of(x)->tensor.base += (move + 7) / 8 * 8;
			}
			check("missing page", x);
		}
}

/* Fills @dst with 0x5a, which is no saved state; returns 0, like a read that succeeds. */
static int no_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	(void)addr;
	memset(dst, 0x5a, len);
	return 0;
}

/* Resuming from a save area without a saved state: the one fault that no instruction raises. */
static void test_parity(void)
{
	struct onpu_machine *machine = onpu_machine_create(NULL, NULL);
	struct onpu_mem mem = { .read = no_memory };

	checks++;
	if (onpu_machine_restore(machine, &mem, &mem, 0) != ONPU_FAULT_PARITY) {
		printf("a save area of garbage is no parity error\n");
		failures++;
	}
	seen[ONPU_FAULT_PARITY]++;
	onpu_machine_destroy(machine);
}

int main(void)
{
	rig_open();
	test_opcodes();
	test_every_instruction();
	test_cost();
	test_index_range();
	test_semaphores();
	test_deadlocks();
	test_limit_and_trap();
	test_program_slot();
	test_pages();
	test_profile();
	test_random_pages();
	test_parity();
	rig_close();
	for (unsigned int code = 0; code < ONPU_FAULT_COUNT; code++) {
		printf("fault code %2u: %u times\n", code, seen[code]);
		if (!seen[code])
			failures++;
	}
	printf("%u checks, %u failed\n", checks, failures);
	return failures ? 1 : 0;
}
