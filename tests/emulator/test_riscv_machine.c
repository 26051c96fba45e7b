// SPDX-License-Identifier: MIT
/*
 * Tests the machine mode of the management core: CSRs and their legal values, counters, traps and
 * their return, interrupts, WFI, lock-up, and the interface to the caller.
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

#define PC	(RIG_TCM_BASE + 0x1000)
#define HANDLER (RIG_TCM_BASE + 0x2000)
#define NOP	0x00000013u
#define ECALL	0x00000073u
#define EBREAK	0x00100073u
#define MRET	0x30200073u
#define WFI	0x10500073u

enum {
	MSTATUS = 0x300,
	MISA = 0x301,
	MIE = 0x304,
	MTVEC = 0x305,
	MSTATUSH = 0x310,
	MCOUNTINHIBIT = 0x320,
	MSCRATCH = 0x340,
	MEPC = 0x341,
	MCAUSE = 0x342,
	MTVAL = 0x343,
	MIP = 0x344,
	MCYCLE = 0xb00,
	MINSTRET = 0xb02,
	MCYCLEH = 0xb80,
	MINSTRETH = 0xb82,
	CYCLE = 0xc00,
	TIME = 0xc01,
	INSTRET = 0xc02,
	CYCLEH = 0xc80,
	TIMEH = 0xc81,
	INSTRETH = 0xc82,
};

#define BIT_MIE	 0x8u
#define BIT_MPIE 0x80u
#define MPP	 0x1800u

static struct rig rig;

static int setup(void **state)
{
	uint32_t addr;

	(void)state;
	rig_init(&rig);
	for (addr = RIG_TCM_BASE; addr < RIG_TCM_BASE + RIG_TCM_SIZE; addr += 4)
		rig_poke(&rig, addr, NOP);
	rig.core.pc = PC;
	rig_csr_write(&rig, MTVEC, HANDLER);
	return 0;
}

/* The test changes the registers, CSRs and states that a program can change, and then resets. */
static void test_reset_state(void **state)
{
	static const uint32_t csrs[] = { MIE, MTVEC, MSCRATCH, MEPC, MCAUSE, MTVAL };
	struct onpu_rv32 *core = &rig.core;
	unsigned int i;

	(void)state;
	for (i = 1; i < 32; i++)
		core->x[i] = 0x01010101 * i;
	for (i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++)
		rig_csr_write(&rig, csrs[i], 0xffffffff);
	rig_csr_write(&rig, MSTATUS, BIT_MIE | BIT_MPIE);
	onpu_rv32_yield(core);
	onpu_rv32_reset(core, PC + 3);
	assert_int_equal(core->pc, PC);
	assert_true(core->retired == 0);
	for (i = 0; i < 32; i++)
		assert_int_equal(core->x[i], 0);
	assert_int_equal(rig_csr_read(&rig, MSTATUS), MPP);
	for (i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++)
		assert_int_equal(rig_csr_read(&rig, csrs[i]), 0);
	/* The reset has dropped the yield that was asked for before. */
	assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
	assert_int_equal(core->pc, PC + 4);
}

/* A reset starts the counters anew; the device clock, the interrupt lines and the TCM stay. */
static void test_reset_keeps_clock(void **state)
{
	uint64_t cycle;

	(void)state;
	rig_csr_write(&rig, MCOUNTINHIBIT, 5);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
	onpu_rv32_advance(&rig.core, 1000);
	cycle = rig.core.cycle;
	assert_true(cycle >= 1000);
	rig_poke(&rig, PC, ECALL);
	onpu_rv32_reset(&rig.core, PC);
	assert_true(rig.core.cycle == cycle);
	assert_int_equal(rig_peek(&rig, PC), ECALL);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), 0);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), 1);
	assert_int_equal(rig_csr_read(&rig, TIME), (uint32_t)cycle + 2);
	assert_int_equal(rig_csr_read(&rig, MCOUNTINHIBIT), 0);
	assert_int_equal(rig_csr_read(&rig, MIP), ONPU_RV32_IRQ_TIMER);
}

static void test_init_refuses_bad_tcm(void **state)
{
	static uint8_t tcm[64];
	static const struct {
		uint8_t *tcm;
		uint32_t base, size;
		bool good;
	} rows[] = {
		{ tcm, 0x1000, 64, true },
		{ tcm, 0xffffffc0, 64, true },	/* ends at the end of the address space */
		{ NULL, 0, 0, true },		/* no TCM */
		{ tcm, 0xffffffc4, 64, false }, /* wraps round */
		{ tcm, 0x1002, 32, false },
		{ tcm, 0x1000, 62, false },
		{ tcm, 0x1001, 61, false },
		{ NULL, 0x1000, 64, false },
	};
	struct onpu_rv32 core;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct onpu_rv32_bus bus = {
			.tcm = rows[i].tcm,
			.tcm_base = rows[i].base,
			.tcm_size = rows[i].size,
		};

		if (onpu_rv32_init(&core, &bus, 0, 0) != rows[i].good)
			fail_msg("row %u: TCM %#x, %#x", i, rows[i].base, rows[i].size);
	}
}

/* The TCM ends where addresses do: its last word runs, the next fetch wraps to no memory. */
static void test_tcm_at_the_end(void **state)
{
	static uint8_t tcm[64];
	struct onpu_rv32_bus bus = { .tcm = tcm, .tcm_base = 0xffffffc0, .tcm_size = 64 };
	struct onpu_rv32 core;

	(void)state;
	tcm[60] = NOP;
	assert_true(onpu_rv32_init(&core, &bus, 0, 0xfffffffc));
	assert_int_equal(onpu_rv32_run(&core, 1), ONPU_RV32_BUDGET);
	assert_int_equal(core.pc, 0);
	core.mtvec = 0xffffffc0;
	assert_int_equal(onpu_rv32_run(&core, 2), ONPU_RV32_BUDGET);
	assert_int_equal(core.mcause, 1);
	assert_int_equal(core.mepc, 0);
	assert_int_equal(core.mtval, 0);
	assert_int_equal(core.pc, 0xffffffc0);
}

struct csr_row {
	uint32_t csr, written, read;
};

static void test_csr_legal_values(void **state)
{
	static const struct csr_row rows[] = {
		{ MSTATUS, 0xffffffff, MPP | BIT_MPIE | BIT_MIE },
		{ MSTATUS, 0, MPP },
		{ MSTATUS, BIT_MPIE, MPP | BIT_MPIE },
		{ MSTATUSH, 0xffffffff, 0 },
		{ MISA, 0, 0x40001100 },
		{ MISA, 0xffffffff, 0x40001100 },
		{ MIE, 0xffffffff, 0x888 },
		{ MIE, 0, 0 },
		{ MTVEC, 0xffffffff, 0xfffffffd },
		{ MTVEC, 0x12345678, 0x12345678 },
		{ MTVEC, 0x12345679, 0x12345679 },
		{ MTVEC, 0x1234567a, 0x12345678 },
		{ MSCRATCH, 0xdeadbeef, 0xdeadbeef },
		{ MEPC, 0xffffffff, 0xfffffffc },
		{ MCAUSE, 0xffffffff, 0x8000001f },
		{ MCAUSE, 0x8000000b, 0x8000000b },
		{ MTVAL, 0xcafef00d, 0xcafef00d },
		{ MIP, 0xffffffff, 0 },
		{ MCOUNTINHIBIT, 0xffffffff, 5 },
		{ MCOUNTINHIBIT, 0, 0 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t value;

		rig_csr_write(&rig, rows[i].csr, rows[i].written);
		value = rig_csr_read(&rig, rows[i].csr);
		if (value != rows[i].read)
			fail_msg("row %u, CSR %#x: wrote %#x, read %#x, not %#x", i, rows[i].csr,
				 rows[i].written, value, rows[i].read);
	}
}

/* mhpm* and the identity registers exist, have fixed values and ignore writes or refuse them. */
static void test_csr_constants(void **state)
{
	uint32_t csr, zeros = 0;

	(void)state;
	for (csr = 0; csr < 4096; csr++) {
		bool event = csr >= 0x323 && csr <= 0x33f;
		bool counter = (csr & ~0x80u) >= 0xb03 && (csr & ~0x80u) <= 0xb1f;
		bool id = csr >= 0xf11 && csr <= 0xf15 && csr != 0xf14;

		if (!event && !counter && !id)
			continue;
		if (!id)
			rig_csr_write(&rig, csr, 0xffffffff);
		assert_int_equal(rig_csr_read(&rig, csr), 0);
		zeros++;
	}
	assert_int_equal(zeros, 29 + 2 * 29 + 4);
	assert_int_equal(rig_csr_read(&rig, 0xf14), RIG_HARTID);
}

/* The six CSR instructions on mscratch: what is written, and what rd gets. */
static void test_csr_instructions(void **state)
{
	static const struct {
		const char *name;
		bool immediate;
		uint32_t old, operand, result;
	} rows[] = {
		{ "csrrw", false, 0x0ff0, 0xf00f0000, 0xf00f0000 },
		{ "csrrs", false, 0x0ff0, 0xf00f00ff, 0xf00f0fff },
		{ "csrrc", false, 0x0ff0, 0xf00f00ff, 0x00000f00 },
		{ "csrrwi", true, 0x0ff0, 0x15, 0x15 },
		{ "csrrsi", true, 0x0ff0, 0x1f, 0x0fff },
		{ "csrrci", true, 0x0fff, 0x15, 0x0fea },
		{ "csrrwi", true, 0x0ff0, 0, 0 },
	};
	unsigned int i, rd;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (rd = 0; rd < 32; rd++) {
			uint32_t field = rows[i].immediate ? rows[i].operand : 9;

			rig_csr_write(&rig, MSCRATCH, rows[i].old);
			rig.core.x[9] = rows[i].operand;
			rig_execute(&rig, PC, ref_encode_csr(rows[i].name, rd, field, MSCRATCH));
			assert_int_equal(rig.core.pc, PC + 4);
			assert_int_equal(rig.core.x[rd], rd ? rows[i].old : 0);
			if (rig_csr_read(&rig, MSCRATCH) != rows[i].result)
				fail_msg("%s rd=x%u: mscratch is %#x", rows[i].name, rd,
					 rig_csr_read(&rig, MSCRATCH));
		}
}

/*
 * Set and clear with x0 or immediate 0 do not write: a write would stop the step of a counter, and
 * trap on a read-only register.
 */
static void test_csr_no_write(void **state)
{
	static const char *const names[] = { "csrrs", "csrrc", "csrrsi", "csrrci" };
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		rig_csr_write(&rig, MINSTRET, 100);
		rig_execute(&rig, PC, ref_encode_csr(names[i], 2, 0, MINSTRET));
		assert_int_equal(rig.core.x[2], 100);
		assert_int_equal(rig_csr_read(&rig, MINSTRET), 101);
		rig_execute(&rig, PC, ref_encode_csr(names[i], 2, 0, 0xf14));
		assert_int_equal(rig.core.x[2], RIG_HARTID);
		/* With any register but x0, the CSR is written, even if the register holds 0. */
		rig.core.x[4] = 0;
		rig_execute(&rig, PC, ref_encode_csr(names[i], 2, 4, 0xf14));
		rig_expect_trap(&rig, PC, 2, ref_encode_csr(names[i], 2, 4, 0xf14));
		assert_int_equal(rig.core.x[2], RIG_HARTID);
	}
}

/* The instruction that writes a counter is not counted; writing one half keeps the other. */
static void test_counters(void **state)
{
	(void)state;
	rig_csr_write(&rig, MINSTRETH, 7);
	rig_csr_write(&rig, MINSTRET, 0xfffffffe);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), 0xfffffffe);
	assert_int_equal(rig_csr_read(&rig, INSTRET), 0xffffffff);
	assert_int_equal(rig_csr_read(&rig, INSTRETH), 8);
	assert_int_equal(rig_csr_read(&rig, MINSTRETH), 8);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), 2);

	rig_csr_write(&rig, MCYCLEH, 0xffffffff);
	rig_csr_write(&rig, MCYCLE, 0xfffffff0);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), 0xfffffff0);
	rig_execute(&rig, PC, ref_encode_r(ref_find("div"), 1, 2, 3));
	assert_int_equal(rig_csr_read(&rig, CYCLE), 0xfffffff0 + 1 + 34);
	assert_int_equal(rig_csr_read(&rig, CYCLEH), 0);
	assert_int_equal(rig_csr_read(&rig, MCYCLEH), 0);
}

static void test_counters_inhibited(void **state)
{
	uint32_t cycle, instret, time;

	(void)state;
	rig_csr_write(&rig, MCOUNTINHIBIT, 5);
	cycle = rig_csr_read(&rig, MCYCLE);
	instret = rig_csr_read(&rig, MINSTRET);
	time = rig_csr_read(&rig, TIME);
	onpu_rv32_advance(&rig.core, rig.core.cycle + 1000);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), cycle);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), instret);
	assert_int_equal(rig_csr_read(&rig, TIME) - time, 1003);
	rig_csr_write(&rig, MCYCLE, 500);
	rig_csr_write(&rig, MINSTRETH, 3);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), 500);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), instret);
	assert_int_equal(rig_csr_read(&rig, MINSTRETH), 3);
	/* One counter runs at a time; each goes on from its value. */
	rig_csr_write(&rig, MCOUNTINHIBIT, 4);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), 500);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), 501);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), instret);
	rig_csr_write(&rig, MCOUNTINHIBIT, 1);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), instret);
	assert_int_equal(rig_csr_read(&rig, MINSTRET), instret + 1);
	assert_int_equal(rig_csr_read(&rig, MCYCLE), rig_csr_read(&rig, MCYCLE));
}

/* The time CSRs are the device clock in its full width. */
static void test_time(void **state)
{
	(void)state;
	onpu_rv32_advance(&rig.core, UINT64_C(0x123456789a));
	assert_int_equal(rig_csr_read(&rig, TIME), 0x3456789a);
	assert_int_equal(rig_csr_read(&rig, TIMEH), 0x12);
	onpu_rv32_advance(&rig.core, 5); /* the clock never goes back */
	assert_int_equal(rig_csr_read(&rig, TIMEH), 0x12);
}

static void test_exceptions(void **state)
{
	uint32_t lw = ref_encode_i(ref_find("lw"), 5, 6, 0);
	uint32_t sw = ref_encode_s(ref_find("sw"), 5, 6, 0);

	(void)state;
	rig_execute(&rig, PC, ECALL);
	rig_expect_trap(&rig, PC, 11, 0);
	rig_execute(&rig, PC, EBREAK);
	rig_expect_trap(&rig, PC, 3, PC);
	rig.core.x[6] = RIG_NOWHERE;
	rig_execute(&rig, PC, lw);
	rig_expect_trap(&rig, PC, 5, RIG_NOWHERE);
	rig_execute(&rig, PC, sw);
	rig_expect_trap(&rig, PC, 7, RIG_NOWHERE);
	/* A misaligned address is found before the access fault, without access to the bus. */
	rig.loads = rig.stores = 0;
	rig.core.x[6] = RIG_NOWHERE + 2;
	rig_execute(&rig, PC, lw);
	rig_expect_trap(&rig, PC, 4, RIG_NOWHERE + 2);
	rig_execute(&rig, PC, sw);
	rig_expect_trap(&rig, PC, 6, RIG_NOWHERE + 2);
	assert_int_equal(rig.loads + rig.stores, 0);
	/* Instruction fetches reach the TCM only. */
	rig.core.pc = RIG_DEV_BASE;
	rig_step(&rig);
	rig_expect_trap(&rig, RIG_DEV_BASE, 1, RIG_DEV_BASE);
	rig.core.pc = RIG_TCM_BASE + RIG_TCM_SIZE;
	rig_step(&rig);
	rig_expect_trap(&rig, RIG_TCM_BASE + RIG_TCM_SIZE, 1, RIG_TCM_BASE + RIG_TCM_SIZE);
	assert_int_equal(rig.loads + rig.stores, 0);
}

/* Trap and return push and pop the two interrupt enables. */
static void test_trap_and_return(void **state)
{
	(void)state;
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_execute(&rig, PC, ECALL);
	assert_int_equal(rig_csr_read(&rig, MSTATUS), MPP | BIT_MPIE);
	rig_execute(&rig, HANDLER, MRET);
	assert_int_equal(rig.core.pc, PC);
	assert_int_equal(rig_csr_read(&rig, MSTATUS), MPP | BIT_MPIE | BIT_MIE);

	rig_csr_write(&rig, MSTATUS, BIT_MPIE);
	rig_execute(&rig, PC, ECALL);
	assert_int_equal(rig_csr_read(&rig, MSTATUS), MPP);
	rig_csr_write(&rig, MEPC, PC + 0x100);
	rig_execute(&rig, HANDLER, MRET);
	assert_int_equal(rig.core.pc, PC + 0x100);
	assert_int_equal(rig_csr_read(&rig, MSTATUS), MPP | BIT_MPIE);
}

/* Exceptions go to the base in vectored mode, too. */
static void test_vectored(void **state)
{
	static const struct {
		uint32_t line, number;
	} rows[] = {
		{ ONPU_RV32_IRQ_SOFTWARE, 3 },
		{ ONPU_RV32_IRQ_TIMER, 7 },
		{ ONPU_RV32_IRQ_EXTERNAL, 11 },
	};
	unsigned int i, vectored;

	(void)state;
	rig_csr_write(&rig, MIE, 0x888);
	for (vectored = 0; vectored < 2; vectored++)
		for (i = 0; i < 3; i++) {
			uint32_t entry = HANDLER + (vectored ? 4 * rows[i].number : 0);

			rig_csr_write(&rig, MTVEC, HANDLER | vectored);
			rig_execute(&rig, PC, ECALL);
			assert_int_equal(rig.core.pc, HANDLER);
			rig_csr_write(&rig, MSTATUS, BIT_MIE);
			rig.core.pc = PC;
			onpu_rv32_set_irq(&rig.core, rows[i].line, true);
			rig_step(&rig);
			assert_int_equal(rig.core.pc, entry);
			assert_int_equal(rig.core.mepc, PC);
			assert_int_equal(rig.core.mcause, 0x80000000 | rows[i].number);
			assert_int_equal(rig.core.mtval, 0);
			assert_int_equal(rig.core.mstatus, BIT_MPIE);
			onpu_rv32_set_irq(&rig.core, rows[i].line, false);
		}
}

static void test_interrupt_priority(void **state)
{
	(void)state;
	rig_csr_write(&rig, MIE, 0x888);
	/* Bits that are no interrupt line have no effect. */
	onpu_rv32_set_irq(&rig.core, 0xffffffff, true);
	assert_int_equal(rig_csr_read(&rig, MIP), 0x888);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_step(&rig);
	assert_int_equal(rig.core.mcause, 0x8000000b);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_EXTERNAL, false);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_step(&rig);
	assert_int_equal(rig.core.mcause, 0x80000003);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_SOFTWARE, false);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_step(&rig);
	assert_int_equal(rig.core.mcause, 0x80000007);
	onpu_rv32_set_irq(&rig.core, 0xffffffff, false);
	assert_int_equal(rig_csr_read(&rig, MIP), 0);
}

/* No interrupt comes from a line whose enable is clear, or while MIE is clear. */
static void test_interrupt_masked(void **state)
{
	(void)state;
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
	rig_csr_write(&rig, MIE, ONPU_RV32_IRQ_EXTERNAL | ONPU_RV32_IRQ_SOFTWARE);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_execute(&rig, PC, NOP);
	assert_int_equal(rig.core.pc, PC + 4);
	rig_csr_write(&rig, MSTATUS, 0);
	rig_csr_write(&rig, MIE, 0x888);
	rig_execute(&rig, PC, NOP);
	assert_int_equal(rig.core.pc, PC + 4);
}

/*
 * The instruction that enables an interrupt is the last one before it, also in the middle of a run:
 * through mstatus, through mie, and through MRET.
 */
static void test_interrupt_when_enabled(void **state)
{
	uint32_t words[3] = {
		ref_encode_csr("csrrsi", 0, BIT_MIE, MSTATUS),
		ref_encode_csr("csrrs", 0, 9, MIE),
		MRET,
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		uint32_t resume = i == 2 ? PC + 0x100 : PC + 4;

		onpu_rv32_reset(&rig.core, PC);
		rig.core.mtvec = HANDLER;
		rig.core.mie = i == 1 ? 0 : ONPU_RV32_IRQ_TIMER;
		rig.core.mstatus = i == 1 ? BIT_MIE : BIT_MPIE;
		rig.core.mepc = PC + 0x100;
		rig.core.x[9] = ONPU_RV32_IRQ_TIMER;
		onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
		rig_poke(&rig, PC, words[i]);
		onpu_rv32_run(&rig.core, rig.core.cycle + 20);
		assert_int_equal(rig.core.mcause, 0x80000007);
		assert_int_equal(rig.core.mepc, resume);
		assert_true(rig.core.pc > HANDLER);
	}
}

/* When a store raises an interrupt line, the interrupt follows at once. */
static void test_interrupt_from_bus(void **state)
{
	(void)state;
	rig_csr_write(&rig, MIE, ONPU_RV32_IRQ_EXTERNAL);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig.core.x[6] = RIG_DEV_BASE;
	rig.raise = ONPU_RV32_IRQ_EXTERNAL;
	rig_poke(&rig, PC, ref_encode_s(ref_find("sw"), 5, 6, 0));
	assert_int_equal(onpu_rv32_run(&rig.core, rig.core.cycle + 20), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.mcause, 0x8000000b);
	assert_int_equal(rig.core.mepc, PC + 4);
	/* 4 cycles for the store, 4 for the entry, 12 NOPs */
	assert_int_equal(rig.core.pc, HANDLER + 4 * 12);
}

static void test_yield(void **state)
{
	uint64_t start = rig.core.cycle;

	(void)state;
	rig.core.x[6] = RIG_DEV_BASE;
	rig.yield = true;
	rig_poke(&rig, PC + 8, ref_encode_s(ref_find("sb"), 5, 6, 0));
	assert_int_equal(onpu_rv32_run(&rig.core, start + 100), ONPU_RV32_YIELDED);
	assert_int_equal(rig.core.pc, PC + 12);
	assert_int_equal(rig.core.cycle - start, 1 + 1 + 4);
	assert_int_equal(onpu_rv32_run(&rig.core, start + 100), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.cycle - start, 100);
}

static void test_budget(void **state)
{
	uint64_t start = rig.core.cycle;

	(void)state;
	assert_int_equal(onpu_rv32_run(&rig.core, start), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC);
	assert_int_equal(onpu_rv32_run(&rig.core, start + 10), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.cycle - start, 10);
	assert_int_equal(rig.core.pc, PC + 40);
	/* The last instruction of a run may exceed the budget. */
	rig_poke(&rig, PC + 40, ref_encode_r(ref_find("divu"), 1, 2, 3));
	onpu_rv32_run(&rig.core, start + 11);
	assert_int_equal(rig.core.cycle - start, 10 + 34);
	/* A budget in the past does nothing. */
	assert_int_equal(onpu_rv32_run(&rig.core, start), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.cycle - start, 10 + 34);
}

/* Tests that the result does not depend on the budgets into which a run is divided. */
static void test_slices(void **state)
{
	struct onpu_rv32 whole;
	uint64_t start = rig.core.cycle;
	unsigned int i;
	const uint32_t program[] = {
		ref_encode_i(ref_find("addi"), 1, 1, 3),
		ref_encode_r(ref_find("mul"), 2, 1, 1),
		ref_encode_r(ref_find("rem"), 3, 2, 1),
		ref_encode_s(ref_find("sw"), 2, 6, 0),
		ECALL,
	};

	(void)state;
	rig_poke(&rig, HANDLER, ref_encode_j(ref_find("jal"), 0, (int32_t)(PC - HANDLER)));
	rig_program(&rig, PC, program, 5);
	rig.core.x[6] = RIG_DEV_BASE;
	onpu_rv32_run(&rig.core, start + 10000);
	whole = rig.core;

	setup(NULL);
	rig_poke(&rig, HANDLER, ref_encode_j(ref_find("jal"), 0, (int32_t)(PC - HANDLER)));
	rig_program(&rig, PC, program, 5);
	rig.core.x[6] = RIG_DEV_BASE;
	for (i = 1; i <= 10000; i++)
		onpu_rv32_run(&rig.core, start + i);
	assert_memory_equal(whole.x, rig.core.x, sizeof(whole.x));
	assert_int_equal(whole.pc, rig.core.pc);
	assert_true(whole.cycle == rig.core.cycle && whole.retired == rig.core.retired);
	assert_true(whole.retired > 1000);
}

static void test_wfi_parks(void **state)
{
	uint64_t parked_at;

	(void)state;
	rig_csr_write(&rig, MIE, ONPU_RV32_IRQ_TIMER);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig_poke(&rig, PC + 4, WFI);
	parked_at = rig.core.cycle + 2;
	assert_true(onpu_rv32_runnable(&rig.core));
	assert_int_equal(onpu_rv32_run(&rig.core, rig.core.cycle + 100), ONPU_RV32_PARKED);
	assert_true(rig.core.cycle == parked_at);
	assert_int_equal(rig.core.pc, PC + 8);
	assert_false(onpu_rv32_runnable(&rig.core));
	/* An interrupt line that is not enabled does not wake the core. */
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_EXTERNAL, true);
	assert_false(onpu_rv32_runnable(&rig.core));
	assert_int_equal(onpu_rv32_run(&rig.core, rig.core.cycle + 100), ONPU_RV32_PARKED);
	assert_true(rig.core.cycle == parked_at);
	/* The timer wakes the core, and the timer's interrupt comes after the WFI. */
	onpu_rv32_advance(&rig.core, parked_at + 500);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
	assert_true(onpu_rv32_runnable(&rig.core));
	assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.mcause, 0x80000007);
	assert_int_equal(rig.core.mepc, PC + 8);
	assert_int_equal(rig.core.pc, HANDLER);
	assert_true(rig.core.cycle == parked_at + 500 + 4);
}

/* With mstatus.MIE clear, WFI waits for an interrupt too, but no handler runs after it. */
static void test_wfi_without_mie(void **state)
{
	(void)state;
	rig_csr_write(&rig, MIE, ONPU_RV32_IRQ_TIMER);
	assert_int_equal(rig_execute(&rig, PC, WFI), ONPU_RV32_PARKED);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
	assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC + 8);
	/* An interrupt that is pending already: WFI does not wait, and retires once. */
	assert_int_equal(rig_execute(&rig, PC, WFI), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC + 4);
	assert_false(rig.core.parked);
}

static void test_reset_unparks(void **state)
{
	(void)state;
	assert_int_equal(rig_execute(&rig, PC, WFI), ONPU_RV32_PARKED);
	onpu_rv32_reset(&rig.core, PC + 4);
	assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC + 8);
}

/* An exception at the handler's first instruction locks up; the CSRs keep the one before. */
static void test_lockup(void **state)
{
	uint64_t cycle;

	(void)state;
	rig_poke(&rig, HANDLER, 0);
	rig_poke(&rig, PC, ECALL);
	assert_int_equal(onpu_rv32_run(&rig.core, rig.core.cycle + 100), ONPU_RV32_HALTED);
	assert_true(rig.core.halted);
	assert_int_equal(rig.core.mcause, 11);
	assert_int_equal(rig.core.mepc, PC);
	assert_int_equal(rig.core.pc, HANDLER);
	assert_int_equal(rig.core.halt_cause, 2);
	assert_int_equal(rig.core.halt_tval, 0);
	/* Interrupts do not revive the core, a reset does. */
	cycle = rig.core.cycle;
	rig.core.mie = 0x888;
	rig.core.mstatus = BIT_MIE;
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_ALL, true);
	assert_false(onpu_rv32_runnable(&rig.core));
	assert_int_equal(onpu_rv32_run(&rig.core, cycle + 100), ONPU_RV32_HALTED);
	assert_true(rig.core.cycle == cycle);
	onpu_rv32_reset(&rig.core, PC + 4);
	assert_true(onpu_rv32_runnable(&rig.core));
	assert_int_equal(rig.core.halt_cause, 0);
	assert_int_equal(rig.core.halt_tval, 0);
	assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
	assert_int_equal(rig.core.pc, PC + 8);
}

/* An exception later in the handler is an ordinary nested trap. */
static void test_nested_exception(void **state)
{
	(void)state;
	rig_poke(&rig, PC, ECALL);
	rig_poke(&rig, HANDLER + 4, EBREAK);
	onpu_rv32_run(&rig.core, rig.core.cycle + 4 + 1 + 4);
	assert_false(rig.core.halted);
	rig_expect_trap(&rig, HANDLER + 4, 3, HANDLER + 4);
	/* An exception at the first instruction of an interrupt handler is a nested trap, too. */
	rig_csr_write(&rig, MTVEC, HANDLER | 1);
	rig_csr_write(&rig, MIE, ONPU_RV32_IRQ_TIMER);
	rig_csr_write(&rig, MSTATUS, BIT_MIE);
	rig.core.pc = PC + 8;
	rig_poke(&rig, HANDLER + 28, EBREAK);
	onpu_rv32_set_irq(&rig.core, ONPU_RV32_IRQ_TIMER, true);
	onpu_rv32_run(&rig.core, rig.core.cycle + 4 + 1);
	rig_expect_trap(&rig, HANDLER + 28, 3, HANDLER + 28);
}

/* Going back to the handler's first instruction after other instructions is no lock-up. */
static void test_handler_loop(void **state)
{
	(void)state;
	rig.core.x[6] = RIG_TCM_BASE;
	rig_poke(&rig, PC, ECALL);
	rig_poke(&rig, HANDLER, ref_encode_i(ref_find("lw"), 5, 6, 0));
	rig_poke(&rig, HANDLER + 4, ref_encode_i(ref_find("addi"), 6, 6, 2));
	rig_poke(&rig, HANDLER + 8, ref_encode_j(ref_find("jal"), 0, -8));
	onpu_rv32_run(&rig.core, rig.core.cycle + 4 + 1 + 1 + 2 + 4);
	assert_false(rig.core.halted);
	rig_expect_trap(&rig, HANDLER, 4, RIG_TCM_BASE + 2);
	/* The second time, no other instruction runs before the handler's first instruction. */
	assert_int_equal(rig_step(&rig), ONPU_RV32_HALTED);
	assert_int_equal(rig.core.halt_cause, 4);
}

/*
 * A reset clears the record of the last exception: an exception at the first instruction after the
 * reset, at the handler's address, counts as the first again.
 */
static void test_exception_after_reset(void **state)
{
	uint64_t cycle;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		onpu_rv32_reset(&rig.core, 0);
		cycle = rig.core.cycle;
		assert_int_equal(rig_step(&rig), ONPU_RV32_BUDGET);
		rig_expect_trap(&rig, 0, 1, 0);
		assert_int_equal(rig_step(&rig), ONPU_RV32_HALTED);
		assert_true(rig.core.cycle - cycle == 8);
	}
}

/* A jump out of the TCM without any handler ends in lock-up, not in an endless loop. */
static void test_nothing_to_run(void **state)
{
	(void)state;
	onpu_rv32_reset(&rig.core, RIG_NOWHERE);
	assert_int_equal(onpu_rv32_run(&rig.core, UINT64_MAX), ONPU_RV32_HALTED);
	assert_int_equal(rig.core.mcause, 1);
	assert_int_equal(rig.core.mepc, RIG_NOWHERE);
	assert_int_equal(rig.core.halt_cause, 1);
	assert_int_equal(rig.core.halt_tval, 0);
}

/* Without callbacks everything outside the TCM faults. */
static void test_no_bus(void **state)
{
	(void)state;
	rig.core.bus.load = NULL;
	rig.core.bus.store = NULL;
	rig.core.x[6] = RIG_DEV_BASE;
	rig_execute(&rig, PC, ref_encode_i(ref_find("lbu"), 5, 6, 1));
	rig_expect_trap(&rig, PC, 5, RIG_DEV_BASE + 1);
	rig_execute(&rig, PC, ref_encode_s(ref_find("sb"), 5, 6, 1));
	rig_expect_trap(&rig, PC, 7, RIG_DEV_BASE + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reset_state, setup),
		cmocka_unit_test_setup(test_reset_keeps_clock, setup),
		cmocka_unit_test_setup(test_init_refuses_bad_tcm, setup),
		cmocka_unit_test_setup(test_tcm_at_the_end, setup),
		cmocka_unit_test_setup(test_csr_legal_values, setup),
		cmocka_unit_test_setup(test_csr_constants, setup),
		cmocka_unit_test_setup(test_csr_instructions, setup),
		cmocka_unit_test_setup(test_csr_no_write, setup),
		cmocka_unit_test_setup(test_counters, setup),
		cmocka_unit_test_setup(test_counters_inhibited, setup),
		cmocka_unit_test_setup(test_time, setup),
		cmocka_unit_test_setup(test_exceptions, setup),
		cmocka_unit_test_setup(test_trap_and_return, setup),
		cmocka_unit_test_setup(test_vectored, setup),
		cmocka_unit_test_setup(test_interrupt_priority, setup),
		cmocka_unit_test_setup(test_interrupt_masked, setup),
		cmocka_unit_test_setup(test_interrupt_when_enabled, setup),
		cmocka_unit_test_setup(test_interrupt_from_bus, setup),
		cmocka_unit_test_setup(test_yield, setup),
		cmocka_unit_test_setup(test_budget, setup),
		cmocka_unit_test_setup(test_slices, setup),
		cmocka_unit_test_setup(test_wfi_parks, setup),
		cmocka_unit_test_setup(test_wfi_without_mie, setup),
		cmocka_unit_test_setup(test_reset_unparks, setup),
		cmocka_unit_test_setup(test_lockup, setup),
		cmocka_unit_test_setup(test_nested_exception, setup),
		cmocka_unit_test_setup(test_handler_loop, setup),
		cmocka_unit_test_setup(test_exception_after_reset, setup),
		cmocka_unit_test_setup(test_nothing_to_run, setup),
		cmocka_unit_test_setup(test_no_bus, setup),
	};

	ref_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
