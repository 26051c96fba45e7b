// SPDX-License-Identifier: MIT
/*
 * Compares every RV32IM instruction of the management core, one at a time, with the independent
 * reference: corner values and random operands, every register as source and destination, every
 * immediate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rv32_reference.h"
#include "rv32_rig.h"

#define PC	     (RIG_TCM_BASE + 0x1000)
#define RANDOM_PAIRS 20000

static const uint32_t corners[] = {
	0,	    1,		2,	    3,		4,	    31,		32,
	33,	    0x7f,	0x80,	    0xff,	0x7fff,	    0x8000,	0xffff,
	0x10000,    0x55555555, 0xaaaaaaaa, 0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000,
	0x80000001, 0xffff7fff, 0xffff8000, 0xffffff80, 0xfffffffe, 0xffffffff,
};

#define CORNER_COUNT (sizeof(corners) / sizeof(corners[0]))

static struct rig rig;
static struct rng rng;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	rng.state = 0x9e3779b97f4a7c15;
	return 0;
}

static void random_registers(void)
{
	unsigned int i;

	for (i = 1; i < 32; i++)
		rig.core.x[i] = rig_random_operand(&rng);
}

/*
 * Executes @word at PC: @rd must hold @value, all other registers what they held, and pc, clock and
 * count of instructions must be right.
 */
static void expect(const struct ref_insn *insn, uint32_t word, unsigned int rd, uint32_t value,
		   uint32_t next_pc, unsigned int cycles)
{
	struct onpu_rv32 *core = &rig.core;
	uint64_t cycle = core->cycle, retired = core->retired;
	uint32_t x[32];
	unsigned int i;

	memcpy(x, core->x, sizeof(x));
	if (rd)
		x[rd] = value;
	if (rig_execute(&rig, PC, word) != ONPU_RV32_BUDGET)
		fail_msg("%s (%08x): the run did not end by its budget", insn->name, word);
	for (i = 0; i < 32; i++)
		if (core->x[i] != x[i])
			fail_msg("%s (%08x): x%u = %#x, not %#x", insn->name, word, i, core->x[i],
				 x[i]);
	if (core->pc != next_pc)
		fail_msg("%s (%08x): pc = %#x, not %#x", insn->name, word, core->pc, next_pc);
	if (core->cycle - cycle != cycles || core->retired - retired != 1)
		fail_msg("%s (%08x): %u cycles, not %u; %u retired", insn->name, word,
			 (unsigned int)(core->cycle - cycle), cycles,
			 (unsigned int)(core->retired - retired));
}

/* Expects that an instruction traps and changes no register. */
static void expect_trap(const struct ref_insn *insn, uint32_t word, uint32_t cause, uint32_t tval)
{
	struct onpu_rv32 *core = &rig.core;
	uint64_t cycle = core->cycle, retired = core->retired;
	uint32_t x[32];

	memcpy(x, core->x, sizeof(x));
	rig_execute(&rig, PC, word);
	rig_expect_trap(&rig, PC, cause, tval);
	if (memcmp(x, core->x, sizeof(x)))
		fail_msg("%s (%08x): trapped and changed a register", insn->name, word);
	if (core->cycle - cycle != ONPU_RV32_COST_TRAP || core->retired != retired)
		fail_msg("%s (%08x): trap took %u cycles", insn->name, word,
			 (unsigned int)(core->cycle - cycle));
}

static void one_op(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, unsigned int rs2,
		   uint32_t a, uint32_t b)
{
	random_registers();
	if (rs1)
		rig.core.x[rs1] = a;
	if (rs2)
		rig.core.x[rs2] = b;
	a = rig.core.x[rs1];
	b = rig.core.x[rs2];
	expect(insn, ref_encode_r(insn, rd, rs1, rs2), rd, insn->f(a, b), PC + 4, insn->cycles);
}

static void check_op(const struct ref_insn *insn)
{
	unsigned int rd, rs1, rs2, i, j;

	for (i = 0; i < CORNER_COUNT; i++)
		for (j = 0; j < CORNER_COUNT; j++)
			one_op(insn, 3, 1, 2, corners[i], corners[j]);
	for (i = 0; i < RANDOM_PAIRS; i++)
		one_op(insn, 31, 30, 29, rig_random_operand(&rng), rig_random_operand(&rng));
	for (rd = 0; rd < 32; rd++)
		for (rs1 = 0; rs1 < 32; rs1++)
			for (rs2 = 0; rs2 < 32; rs2++)
				one_op(insn, rd, rs1, rs2, rig_random_operand(&rng),
				       rig_random_operand(&rng));
}

static void one_op_imm(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, uint32_t a,
		       int32_t imm)
{
	random_registers();
	if (rs1)
		rig.core.x[rs1] = a;
	a = rig.core.x[rs1];
	expect(insn, ref_encode_i(insn, rd, rs1, imm), rd, insn->f(a, (uint32_t)imm), PC + 4, 1);
}

static void check_op_imm(const struct ref_insn *insn)
{
	unsigned int rd, rs1, i;
	int32_t imm;

	for (imm = -2048; imm < 2048; imm++) {
		for (i = 0; i < CORNER_COUNT; i++)
			one_op_imm(insn, 3, 1, corners[i], imm);
		/* Comparisons change their result where the operand equals the immediate. */
		one_op_imm(insn, 3, 1, (uint32_t)imm, imm);
		one_op_imm(insn, 4, 4, rig_random_operand(&rng), imm);
	}
	for (rd = 0; rd < 32; rd++)
		for (rs1 = 0; rs1 < 32; rs1++)
			one_op_imm(insn, rd, rs1, rng_u32(&rng),
				   (int32_t)(rng_u32(&rng) % 4096) - 2048);
}

static void one_shift(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, uint32_t a,
		      unsigned int shamt)
{
	random_registers();
	if (rs1)
		rig.core.x[rs1] = a;
	a = rig.core.x[rs1];
	expect(insn, ref_encode_shift(insn, rd, rs1, shamt), rd, insn->f(a, shamt), PC + 4, 1);
}

static void check_shift(const struct ref_insn *insn)
{
	unsigned int rd, rs1, i, shamt;

	for (shamt = 0; shamt < 32; shamt++) {
		for (i = 0; i < CORNER_COUNT; i++)
			one_shift(insn, 3, 1, corners[i], shamt);
		for (i = 0; i < 1000; i++)
			one_shift(insn, 3, 1, rng_u32(&rng), shamt);
	}
	for (rd = 0; rd < 32; rd++)
		for (rs1 = 0; rs1 < 32; rs1++)
			one_shift(insn, rd, rs1, rng_u32(&rng), rng_u32(&rng) % 32);
}

static void test_integer(void **state)
{
	unsigned int checked = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ref_insn_count; i++) {
		const struct ref_insn *insn = &ref_insns[i];

		if (insn->kind == REF_OP)
			check_op(insn);
		else if (insn->kind == REF_OP_IMM)
			check_op_imm(insn);
		else if (insn->kind == REF_SHIFT_IMM)
			check_shift(insn);
		else
			continue;
		checked++;
	}
	assert_int_equal(checked, 10 + 8 + 6 + 3);
}

static void test_upper_immediates(void **state)
{
	const struct ref_insn *lui = ref_find("lui");
	const struct ref_insn *auipc = ref_find("auipc");
	uint32_t imm;

	(void)state;
	random_registers();
	for (imm = 0; imm < 1u << 20; imm++) {
		unsigned int rd = imm % 32;

		expect(lui, ref_encode_u(lui, rd, imm), rd, imm << 12, PC + 4, 1);
		expect(auipc, ref_encode_u(auipc, rd, imm), rd, PC + (imm << 12), PC + 4, 1);
	}
}

static void test_jal(void **state)
{
	const struct ref_insn *jal = ref_find("jal");
	int32_t offset;

	(void)state;
	random_registers();
	for (offset = -(1 << 20); offset < 1 << 20; offset += 2) {
		unsigned int rd = (uint32_t)offset / 4 % 32;
		uint32_t word = ref_encode_j(jal, rd, offset);

		if (offset % 4)
			expect_trap(jal, word, 0, PC + (uint32_t)offset);
		else
			expect(jal, word, rd, PC + 4, PC + (uint32_t)offset, 2);
	}
}

static void one_jalr(unsigned int rd, unsigned int rs1, uint32_t base, int32_t imm)
{
	const struct ref_insn *jalr = ref_find("jalr");
	uint32_t word = ref_encode_i(jalr, rd, rs1, imm);
	uint32_t target;

	random_registers();
	if (rs1)
		rig.core.x[rs1] = base;
	target = (rig.core.x[rs1] + (uint32_t)imm) & 0xfffffffe;
	if (target & 2)
		expect_trap(jalr, word, 0, target);
	else
		expect(jalr, word, rd, PC + 4, target, 2);
}

static void test_jalr(void **state)
{
	unsigned int rd, rs1;
	int32_t imm;
	uint32_t low;

	(void)state;
	for (imm = -2048; imm < 2048; imm++)
		for (low = 0; low < 4; low++)
			one_jalr(1, 2, 0x20000 + low, imm);
	/* The link register may be the base: the base is read first. */
	for (rd = 0; rd < 32; rd++)
		for (rs1 = 0; rs1 < 32; rs1++)
			one_jalr(rd, rs1, rng_u32(&rng), 16);
	one_jalr(1, 2, 0xfffffff0, 0x20);
	one_jalr(1, 0, 0, -4);
}

static void one_branch(const struct ref_insn *insn, unsigned int rs1, unsigned int rs2, uint32_t a,
		       uint32_t b, int32_t offset)
{
	uint32_t word = ref_encode_b(insn, rs1, rs2, offset);

	if (rs1)
		rig.core.x[rs1] = a;
	if (rs2)
		rig.core.x[rs2] = b;
	if (!insn->f(rig.core.x[rs1], rig.core.x[rs2]))
		expect(insn, word, 0, 0, PC + 4, 1);
	else if (offset % 4)
		expect_trap(insn, word, 0, PC + (uint32_t)offset);
	else
		expect(insn, word, 0, 0, PC + (uint32_t)offset, 2);
}

static void check_branch(const struct ref_insn *insn)
{
	unsigned int i, j;
	int32_t offset;

	random_registers();
	for (i = 0; i < CORNER_COUNT; i++)
		for (j = 0; j < CORNER_COUNT; j++)
			one_branch(insn, 1, 2, corners[i], corners[j], 64);
	for (i = 0; i < RANDOM_PAIRS; i++)
		one_branch(insn, 1, 2, rig_random_operand(&rng), rig_random_operand(&rng), -64);
	for (offset = -4096; offset < 4096; offset += 2) {
		one_branch(insn, 5, 6, 1, 1, offset);
		one_branch(insn, 5, 6, 1, 2, offset);
		one_branch(insn, 5, 6, 2, 1, offset);
		one_branch(insn, 5, 6, 0xffffffff, 1, offset);
	}
	for (i = 0; i < 32; i++)
		for (j = 0; j < 32; j++)
			one_branch(insn, i, j, rig_random_operand(&rng), rig_random_operand(&rng),
				   128);
}

static void test_branches(void **state)
{
	unsigned int checked = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ref_insn_count; i++)
		if (ref_insns[i].kind == REF_BRANCH) {
			check_branch(&ref_insns[i]);
			checked++;
		}
	assert_int_equal(checked, 6);
}

/* Tests a load at one address, which is in the TCM, in the device or nowhere. */
static void one_load(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, uint32_t addr,
		     int32_t imm)
{
	uint32_t word = ref_encode_i(insn, rd, rs1, imm);
	uint32_t raw = 0;
	unsigned int i;

	random_registers();
	if (rs1)
		rig.core.x[rs1] = addr - (uint32_t)imm;
	addr = rig.core.x[rs1] + (uint32_t)imm;
	rig_poke(&rig, PC, word);
	if (addr % insn->size) {
		expect_trap(insn, word, 4, addr);
		return;
	}
	if (addr >= RIG_DEV_BASE && addr < RIG_DEV_BASE + RIG_DEV_SIZE) {
		/* The device may answer with more bits than the load asked for. */
		rig.answer = rng_u32(&rng);
		raw = rig.answer & (0xffffffffu >> (32 - 8 * insn->size));
		expect(insn, word, rd, insn->f(raw, 0), PC + 4, 4);
		if (rig.addr != addr || rig.size != insn->size)
			fail_msg("%s: device saw %#x, %u bytes", insn->name, rig.addr, rig.size);
	} else if (addr >= RIG_TCM_BASE && addr < RIG_TCM_BASE + RIG_TCM_SIZE) {
		for (i = 0; i < insn->size; i++)
			raw |= (uint32_t)rig.tcm[addr - RIG_TCM_BASE + i] << (8 * i);
		expect(insn, word, rd, insn->f(raw, 0), PC + 4, 1);
	} else {
		expect_trap(insn, word, 5, addr);
	}
}

static void check_load(const struct ref_insn *insn)
{
	unsigned int rd, rs1, loads;
	uint32_t addr;
	int32_t imm;

	for (addr = RIG_TCM_BASE - 8; addr < RIG_TCM_BASE + 64; addr++)
		one_load(insn, 3, 1, addr, 0);
	for (addr = RIG_TCM_BASE + RIG_TCM_SIZE - 8; addr < RIG_TCM_BASE + RIG_TCM_SIZE + 8; addr++)
		one_load(insn, 3, 1, addr, 0);
	for (imm = -2048; imm < 2048; imm++) {
		one_load(insn, 3, 1, RIG_TCM_BASE + 0x2000, imm);
		one_load(insn, 3, 1, RIG_TCM_BASE + 0x2000 + (uint32_t)imm, imm);
	}
	loads = rig.loads;
	for (addr = RIG_DEV_BASE - 8; addr < RIG_DEV_BASE + RIG_DEV_SIZE + 8; addr++)
		one_load(insn, 3, 1, addr, 4);
	assert_int_equal(rig.loads - loads, (RIG_DEV_SIZE + 16) / insn->size);
	for (rd = 0; rd < 32; rd++)
		for (rs1 = 0; rs1 < 32; rs1++)
			one_load(insn, rd, rs1, RIG_TCM_BASE + 4 * (rng_u32(&rng) % 1024), 8);
	one_load(insn, 3, 1, 0, 4);
	one_load(insn, 3, 1, 0xfffffffc, -4);
	one_load(insn, 3, 1, 0xffffffff, 0);
}

static void test_loads(void **state)
{
	unsigned int checked = 0;
	size_t i;

	(void)state;
	for (i = 0; i < RIG_TCM_SIZE; i++)
		rig.tcm[i] = (uint8_t)rng_u32(&rng);
	for (i = 0; i < ref_insn_count; i++)
		if (ref_insns[i].kind == REF_LOAD) {
			check_load(&ref_insns[i]);
			checked++;
		}
	assert_int_equal(checked, 5);
}

static void one_store(const struct ref_insn *insn, unsigned int rs2, unsigned int rs1,
		      uint32_t addr, int32_t imm)
{
	static uint8_t before[RIG_TCM_SIZE];
	uint32_t word = ref_encode_s(insn, rs2, rs1, imm);
	uint32_t value, kept = insn->size == 4 ? UINT32_MAX : (1u << (8 * insn->size)) - 1;
	unsigned int i, stores = rig.stores;

	random_registers();
	if (rs1)
		rig.core.x[rs1] = addr - (uint32_t)imm;
	addr = rig.core.x[rs1] + (uint32_t)imm;
	value = rig.core.x[rs2];
	rig_poke(&rig, PC, word);
	memcpy(before, rig.tcm, sizeof(before));
	if (addr % insn->size) {
		expect_trap(insn, word, 6, addr);
		assert_int_equal(rig.stores, stores);
	} else if (addr >= RIG_DEV_BASE && addr < RIG_DEV_BASE + RIG_DEV_SIZE) {
		expect(insn, word, 0, 0, PC + 4, 4);
		if (rig.addr != addr || rig.size != insn->size || rig.value != (value & kept))
			fail_msg("%s: device saw %#x, %u bytes, %#x", insn->name, rig.addr,
				 rig.size, rig.value);
	} else if (addr >= RIG_TCM_BASE && addr < RIG_TCM_BASE + RIG_TCM_SIZE) {
		for (i = 0; i < insn->size; i++)
			before[addr - RIG_TCM_BASE + i] = (uint8_t)(value >> (8 * i));
		expect(insn, word, 0, 0, PC + 4, 1);
		assert_int_equal(rig.stores, stores);
	} else {
		expect_trap(insn, word, 7, addr);
	}
	if (memcmp(before, rig.tcm, sizeof(before)))
		fail_msg("%s to %#x: TCM differs", insn->name, addr);
}

static void check_store(const struct ref_insn *insn)
{
	unsigned int rs1, rs2;
	uint32_t addr;
	int32_t imm;

	for (addr = RIG_TCM_BASE - 8; addr < RIG_TCM_BASE + 64; addr++)
		one_store(insn, 3, 1, addr, 0);
	for (addr = RIG_TCM_BASE + RIG_TCM_SIZE - 8; addr < RIG_TCM_BASE + RIG_TCM_SIZE + 8; addr++)
		one_store(insn, 3, 1, addr, 0);
	for (imm = -2048; imm < 2048; imm++)
		one_store(insn, 3, 1, RIG_TCM_BASE + 0x2000 + ((uint32_t)imm & 0xfff), imm);
	for (addr = RIG_DEV_BASE - 8; addr < RIG_DEV_BASE + RIG_DEV_SIZE + 8; addr++)
		one_store(insn, 3, 1, addr, -4);
	for (rs1 = 0; rs1 < 32; rs1++)
		for (rs2 = 0; rs2 < 32; rs2++)
			one_store(insn, rs2, rs1, RIG_TCM_BASE + 4 * (rng_u32(&rng) % 512), 8);
	one_store(insn, 3, 1, 0, 4);
	one_store(insn, 3, 1, 0xfffffffc, -4);
	one_store(insn, 3, 1, 0xffffffff, 0);
}

static void test_stores(void **state)
{
	unsigned int checked = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ref_insn_count; i++)
		if (ref_insns[i].kind == REF_STORE) {
			check_store(&ref_insns[i]);
			checked++;
		}
	assert_int_equal(checked, 3);
}

/* Both fences do nothing, whatever their reserved fields hold. */
static void test_fences(void **state)
{
	const struct ref_insn *fences[] = { ref_find("fence"), ref_find("fence.i") };
	unsigned int i, n;

	(void)state;
	random_registers();
	for (i = 0; i < 2; i++) {
		expect(fences[i], fences[i]->match, 0, 0, PC + 4, 1);
		for (n = 0; n < 1000; n++)
			expect(fences[i], fences[i]->match | (rng_u32(&rng) & ~fences[i]->mask), 0,
			       0, PC + 4, 1);
	}
	expect(fences[0], 0x8330000f, 0, 0, PC + 4, 1); /* FENCE.TSO */
}

/*
 * A store writes the next instruction but one, which is executed; FENCE.I is between, as software
 * does it.
 */
static void test_self_modifying(void **state)
{
	const uint32_t program[] = {
		ref_encode_s(ref_find("sw"), 1, 2, 0),
		ref_find("fence.i")->match,
		0,
	};

	(void)state;
	rig_program(&rig, PC, program, 3);
	rig.core.x[1] = ref_encode_i(ref_find("addi"), 3, 0, 77);
	rig.core.x[2] = PC + 8;
	assert_int_equal(onpu_rv32_run(&rig.core, 3), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC + 12);
	assert_int_equal(rig.core.x[3], 77);
}

/* Some encodings are words known from the manual, so that table and core cannot err together. */
static void test_known_words(void **state)
{
	(void)state;
	assert_int_equal(ref_encode_i(ref_find("addi"), 0, 0, 0), 0x00000013); /* nop */
	assert_int_equal(ref_encode_i(ref_find("jalr"), 0, 1, 0), 0x00008067); /* ret */
	assert_int_equal(ref_encode_i(ref_find("addi"), 2, 2, -16), 0xff010113);
	assert_int_equal(ref_encode_s(ref_find("sw"), 1, 2, 12), 0x00112623);
	assert_int_equal(ref_encode_b(ref_find("bne"), 10, 11, -8), 0xfeb51ce3);
	assert_int_equal(ref_encode_j(ref_find("jal"), 1, 2048), 0x001000ef);
	assert_int_equal(ref_encode_u(ref_find("lui"), 5, 0x12345), 0x123452b7);
	assert_int_equal(ref_encode_r(ref_find("mulhsu"), 7, 8, 9), 0x029423b3);
	assert_int_equal(ref_encode_csr("csrrw", 0, 5, 0x305), 0x30529073); /* csrw mtvec, t0 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_known_words, setup),
		cmocka_unit_test_setup(test_integer, setup),
		cmocka_unit_test_setup(test_upper_immediates, setup),
		cmocka_unit_test_setup(test_jal, setup),
		cmocka_unit_test_setup(test_jalr, setup),
		cmocka_unit_test_setup(test_branches, setup),
		cmocka_unit_test_setup(test_loads, setup),
		cmocka_unit_test_setup(test_stores, setup),
		cmocka_unit_test_setup(test_fences, setup),
		cmocka_unit_test_setup(test_self_modifying, setup),
	};

	ref_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
