/* SPDX-License-Identifier: MIT */
/*
 * The machine-mode part of the management core, shared by riscv.c and
 * riscv_csr.c: control and status registers, traps, counters.
 */
#ifndef ONPU_DEVICE_RISCV_CSR_H
#define ONPU_DEVICE_RISCV_CSR_H

#include "device/riscv.h"

/* Sets registers to their reset values and counters to zero. */
void onpu_rv32_csr_reset(struct onpu_rv32 *core);

/* Executes one Zicsr instruction completely: it retires or traps. */
void onpu_rv32_csr_insn(struct onpu_rv32 *core, uint32_t insn);

/* Raises an exception at the current instruction. */
void onpu_rv32_exception(struct onpu_rv32 *core, uint32_t cause, uint32_t tval);

/* Takes the most urgent interrupt that is pending and enabled, if there is one. */
void onpu_rv32_take_interrupt(struct onpu_rv32 *core);

void onpu_rv32_mret(struct onpu_rv32 *core);

/* Makes the inner loop stop after this instruction, to check lines and callbacks. */
static inline void onpu_rv32_look_round(struct onpu_rv32 *core)
{
	core->slice_end = 0;
}

/* Completes an instruction: sets the next PC, charges its cycles and counts it. */
static inline void onpu_rv32_retire(struct onpu_rv32 *core, uint32_t next_pc, unsigned int cost)
{
	core->pc = next_pc;
	core->cycle += cost;
	core->retired++;
}

static inline void onpu_rv32_set_x(struct onpu_rv32 *core, unsigned int reg, uint32_t value)
{
	core->x[reg] = value;
	core->x[0] = 0;
}

#endif /* ONPU_DEVICE_RISCV_CSR_H */
