/* SPDX-License-Identifier: MIT */
/*
 * The management core: an RV32IM_Zicsr_Zifencei_Zicntr hart with machine mode
 * only, as a deterministic interpreter. The caller embeds struct onpu_rv32,
 * gives it a bus and runs it for a number of cycles. There is no allocation
 * and no global state, and nothing a program does can make the host do
 * something undefined.
 *
 * Architecture, where the RISC-V manuals leave a choice:
 *  - Instructions are fetched from the tightly coupled memory (TCM) only; a
 *    fetch from elsewhere is an instruction access fault. There is no
 *    instruction cache: a store is seen by the next fetch, FENCE.I is a no-op.
 *  - Misaligned loads and stores trap, before any access fault is looked for.
 *    A misaligned jump target traps at the jump, with the target in mtval.
 *  - mtval: the address for address faults and EBREAK, the 32-bit word for an
 *    illegal instruction (also when its low bits say that it is shorter), 0
 *    for ECALL and interrupts.
 *  - mtvec modes are direct and vectored, bit 1 reads as zero. mepc has its
 *    two low bits zero, mcause holds bit 31 and bits 4:0. MPP is always 3.
 *    mip is read-only: its bits are the lines of onpu_rv32_set_irq().
 *  - mhpmcounter3..31 and their events are read-only zero. `time` counts
 *    cycles of the device clock and stops for nothing. Every CSR not named in
 *    riscv_csr.c is an illegal instruction.
 *  - A write to a counter takes the place of that instruction's own step.
 *  - Lock-up: an exception in the first instruction of the exception handler
 *    would repeat for ever. The core halts until reset; the CSRs keep the
 *    first exception, halt_cause and halt_tval the second.
 */
#ifndef ONPU_DEVICE_RISCV_H
#define ONPU_DEVICE_RISCV_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Cycles per instruction. An instruction that is not listed takes ONPU_RV32_COST_BASE. An
 * instruction that raises an exception costs the trap entry alone; so does taking an interrupt,
 * between two instructions.
 */
enum onpu_rv32_cost {
	ONPU_RV32_COST_BASE = 1, /* also loads and stores in TCM */
	ONPU_RV32_COST_JUMP = 2, /* taken branch, JAL, JALR, MRET */
	ONPU_RV32_COST_MUL = 3,
	ONPU_RV32_COST_BUS = 4, /* loads and stores outside TCM */
	ONPU_RV32_COST_TRAP = 4,
	ONPU_RV32_COST_DIV = 34, /* DIV, DIVU, REM, REMU */
};

/* Interrupt lines: the bits of mip and mie. */
#define ONPU_RV32_IRQ_SOFTWARE (1u << 3)
#define ONPU_RV32_IRQ_TIMER    (1u << 7)
#define ONPU_RV32_IRQ_EXTERNAL (1u << 11)
#define ONPU_RV32_IRQ_ALL      (ONPU_RV32_IRQ_SOFTWARE | ONPU_RV32_IRQ_TIMER | ONPU_RV32_IRQ_EXTERNAL)

/*
 * The bus of the core. @load and @store serve every data access outside the TCM; @size is 1, 2 or 4
 * and @addr a multiple of it. They return false for an access fault; when @load or @store is NULL,
 * each of its accesses faults. The TCM is little-endian. Its base and size are multiples of four
 * and it does not wrap round the address space.
 *
 * A callback may call onpu_rv32_set_irq() and onpu_rv32_yield(), nothing else of this interface.
 */
struct onpu_rv32_bus {
	void *ctx;
	bool (*load)(void *ctx, uint32_t addr, unsigned int size, uint32_t *val);
	bool (*store)(void *ctx, uint32_t addr, unsigned int size, uint32_t val);
	uint8_t *tcm;
	uint32_t tcm_base;
	uint32_t tcm_size;
};

/* The reason why onpu_rv32_run() returned. */
enum onpu_rv32_stop {
	ONPU_RV32_BUDGET,  /* @cycle reached @until */
	ONPU_RV32_PARKED,  /* in WFI; it goes on when an enabled line rises */
	ONPU_RV32_YIELDED, /* a callback called onpu_rv32_yield() */
	ONPU_RV32_HALTED,  /* locked up; only reset helps */
};

/* A counter CSR. Its value is @base while it is inhibited, otherwise @base plus the raw count. */
struct onpu_rv32_counter {
	uint64_t base;
	bool inhibited;
};

/*
 * The caller may read every member, and write @x and @pc between runs (@pc a
 * multiple of four).
 */
struct onpu_rv32 {
	uint32_t x[32];
	uint32_t pc;	  /* address of the next instruction */
	uint64_t cycle;	  /* device clock; firmware cannot write it */
	uint64_t retired; /* instructions since reset */
	/* Clock at which the inner loop stops; 0: it checks for interrupts at once. */
	uint64_t slice_end;

	uint32_t mstatus;
	uint32_t mie;
	uint32_t mip;
	uint32_t mtvec;
	uint32_t mscratch;
	uint32_t mepc;
	uint32_t mcause;
	uint32_t mtval;
	uint32_t hartid;
	struct onpu_rv32_counter mcycle;
	struct onpu_rv32_counter minstret;

	bool parked;
	bool yield;
	bool halted;
	bool excepted;	      /* the last trap was an exception ... */
	uint64_t excepted_at; /* ... at this count of retired instructions */
	uint32_t halt_cause;
	uint32_t halt_tval;

	struct onpu_rv32_bus bus;
};

/*
 * Sets up a core at cycle 0 with all lines low, reset to @pc. Returns false when the TCM of @bus is
 * not as described above.
 */
bool onpu_rv32_init(struct onpu_rv32 *core, const struct onpu_rv32_bus *bus, uint32_t hartid,
		    uint32_t pc);

/*
 * Starts again at @pc (its two low bits are ignored) with all registers zero. The device clock runs
 * on, the lines keep their level, the TCM its content.
 */
void onpu_rv32_reset(struct onpu_rv32 *core, uint32_t pc);

/*
 * Executes while the clock is below @until; the last instruction may end beyond. Returns why it has
 * stopped. A core that parks leaves the clock where it parked: see onpu_rv32_advance().
 */
enum onpu_rv32_stop onpu_rv32_run(struct onpu_rv32 *core, uint64_t until);

/* Lets a core that does nothing (parked, halted, held) catch up with the clock. */
void onpu_rv32_advance(struct onpu_rv32 *core, uint64_t cycle);

/* Drives the lines of @mask to @level; other bits of @mask are ignored. */
void onpu_rv32_set_irq(struct onpu_rv32 *core, uint32_t mask, bool level);

/*
 * Called from a bus callback: makes onpu_rv32_run() return when the instruction is complete, so
 * that other parts of the device can react to it.
 */
void onpu_rv32_yield(struct onpu_rv32 *core);

/*
 * Returns whether onpu_rv32_run() would execute: the core is not halted, and is not parked without
 * a pending line.
 */
bool onpu_rv32_runnable(const struct onpu_rv32 *core);

#endif /* ONPU_DEVICE_RISCV_H */
