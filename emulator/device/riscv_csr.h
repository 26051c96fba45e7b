/* SPDX-License-Identifier: MIT */
/*
 * The machine-mode part of the management core, shared by riscv.c and
 * riscv_csr.c: control and status registers, traps, counters.
 */
#ifndef ONPU_DEVICE_RISCV_CSR_H
#define ONPU_DEVICE_RISCV_CSR_H

#include "device/riscv.h"

/* Registers to their reset values, counters to zero. */
void onpu_rv32_csr_reset(struct onpu_rv32 *core);

/* Execute one Zicsr instruction, to its end: retired or trapped. */
void onpu_rv32_csr_insn(struct onpu_rv32 *core, uint32_t insn);

/* Raise an exception at the current instruction. */
void onpu_rv32_exception(struct onpu_rv32 *core, uint32_t cause, uint32_t tval);

/* Take the most urgent interrupt that is pending and enabled, if any. */
void onpu_rv32_take_interrupt(struct onpu_rv32 *core);

void onpu_rv32_mret(struct onpu_rv32 *core);

/* Have the inner loop stop after this instruction and look round. */
static inline void onpu_rv32_look_round(struct onpu_rv32 *core)
{
	core->slice_end = 0;
}

/* Complete an instruction. */
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
