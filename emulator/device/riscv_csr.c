// SPDX-License-Identifier: MIT
/*
 * The machine-mode part of the management core: control and status registers
 * with their legal values, counters, trap entry and return.
 */
#include "device/riscv_csr.h"

#include "device/riscv_decode.h"

#define MSTATUS_WRITABLE       (RV_MSTATUS_MIE | RV_MSTATUS_MPIE)
#define MCOUNTINHIBIT_WRITABLE (RV_MCOUNTINHIBIT_CY | RV_MCOUNTINHIBIT_IR)
#define MTVEC_WRITABLE	       (~2u)
#define MEPC_WRITABLE	       (~3u)
#define MCAUSE_WRITABLE	       (RV_CAUSE_INTERRUPT | 31u)

static uint64_t counter_read(const struct onpu_rv32_counter *counter, uint64_t raw)
{
	return counter->inhibited ? counter->base : counter->base + raw;
}

static void counter_write(struct onpu_rv32_counter *counter, uint64_t raw, uint64_t value)
{
	counter->base = counter->inhibited ? value : value - raw;
}

static void counter_inhibit(struct onpu_rv32_counter *counter, uint64_t raw, bool inhibit)
{
	uint64_t value = counter_read(counter, raw);

	counter->inhibited = inhibit;
	counter_write(counter, raw, value);
}

static uint64_t read_mcycle(const struct onpu_rv32 *core)
{
	return counter_read(&core->mcycle, core->cycle);
}

static uint64_t read_minstret(const struct onpu_rv32 *core)
{
	return counter_read(&core->minstret, core->retired);
}

/*
 * Writes the counter of cycles. The counter leaves out the instruction that writes it, so that the
 * next instruction reads the written value.
 */
static void write_mcycle(struct onpu_rv32 *core, uint64_t value)
{
	counter_write(&core->mcycle, core->cycle + ONPU_RV32_COST_BASE, value);
}

static void write_minstret(struct onpu_rv32 *core, uint64_t value)
{
	counter_write(&core->minstret, core->retired + 1, value);
}

static void write_mcountinhibit(struct onpu_rv32 *core, uint32_t value)
{
	counter_inhibit(&core->mcycle, core->cycle + ONPU_RV32_COST_BASE,
			value & RV_MCOUNTINHIBIT_CY);
	counter_inhibit(&core->minstret, core->retired + 1, value & RV_MCOUNTINHIBIT_IR);
}

static uint32_t read_mcountinhibit(const struct onpu_rv32 *core)
{
	return (core->mcycle.inhibited ? RV_MCOUNTINHIBIT_CY : 0) |
	       (core->minstret.inhibited ? RV_MCOUNTINHIBIT_IR : 0);
}

static uint64_t with_low(uint64_t value, uint32_t low)
{
	return (value & ~(uint64_t)UINT32_MAX) | low;
}

static uint64_t with_high(uint64_t value, uint32_t high)
{
	return (uint64_t)high << 32 | (uint32_t)value;
}

static bool in_range(uint32_t csr, uint32_t first, uint32_t last)
{
	return csr >= first && csr <= last;
}

/* Returns whether a register exists and is zero whatever is written. */
static bool is_zero_csr(uint32_t csr)
{
	return csr == RV_CSR_MSTATUSH || in_range(csr, RV_CSR_MHPMEVENT3, RV_CSR_MHPMEVENT31) ||
	       in_range(csr, RV_CSR_MHPMCOUNTER3, RV_CSR_MHPMCOUNTER31) ||
	       in_range(csr, RV_CSR_MHPMCOUNTER3H, RV_CSR_MHPMCOUNTER31H) ||
	       in_range(csr, RV_CSR_MVENDORID, RV_CSR_MIMPID) || csr == RV_CSR_MCONFIGPTR;
}

static bool read_counter_csr(const struct onpu_rv32 *core, uint32_t csr, uint32_t *value)
{
	switch (csr) {
	case RV_CSR_MCYCLE:
	case RV_CSR_CYCLE:
		*value = (uint32_t)read_mcycle(core);
		return true;
	case RV_CSR_MCYCLEH:
	case RV_CSR_CYCLEH:
		*value = (uint32_t)(read_mcycle(core) >> 32);
		return true;
	case RV_CSR_MINSTRET:
	case RV_CSR_INSTRET:
		*value = (uint32_t)read_minstret(core);
		return true;
	case RV_CSR_MINSTRETH:
	case RV_CSR_INSTRETH:
		*value = (uint32_t)(read_minstret(core) >> 32);
		return true;
	case RV_CSR_TIME:
		*value = (uint32_t)core->cycle;
		return true;
	case RV_CSR_TIMEH:
		*value = (uint32_t)(core->cycle >> 32);
		return true;
	case RV_CSR_MCOUNTINHIBIT:
		*value = read_mcountinhibit(core);
		return true;
	}
	return false;
}

/* Reads a register to *@value. Returns false if it does not exist. */
static bool read_csr(const struct onpu_rv32 *core, uint32_t csr, uint32_t *value)
{
	*value = 0;
	switch (csr) {
	case RV_CSR_MSTATUS:
		*value = core->mstatus | RV_MSTATUS_MPP;
		return true;
	case RV_CSR_MISA:
		*value = RV_MISA_RV32IM;
		return true;
	case RV_CSR_MIE:
		*value = core->mie;
		return true;
	case RV_CSR_MTVEC:
		*value = core->mtvec;
		return true;
	case RV_CSR_MSCRATCH:
		*value = core->mscratch;
		return true;
	case RV_CSR_MEPC:
		*value = core->mepc;
		return true;
	case RV_CSR_MCAUSE:
		*value = core->mcause;
		return true;
	case RV_CSR_MTVAL:
		*value = core->mtval;
		return true;
	case RV_CSR_MIP:
		*value = core->mip;
		return true;
	case RV_CSR_MHARTID:
		*value = core->hartid;
		return true;
	}
	return read_counter_csr(core, csr, value) || is_zero_csr(csr);
}

static void write_counter_csr(struct onpu_rv32 *core, uint32_t csr, uint32_t value)
{
	switch (csr) {
	case RV_CSR_MCYCLE:
		write_mcycle(core, with_low(read_mcycle(core), value));
		break;
	case RV_CSR_MCYCLEH:
		write_mcycle(core, with_high(read_mcycle(core), value));
		break;
	case RV_CSR_MINSTRET:
		write_minstret(core, with_low(read_minstret(core), value));
		break;
	case RV_CSR_MINSTRETH:
		write_minstret(core, with_high(read_minstret(core), value));
		break;
	case RV_CSR_MCOUNTINHIBIT:
		write_mcountinhibit(core, value & MCOUNTINHIBIT_WRITABLE);
		break;
	}
}

/* Writes a register that exists and is not read-only; bits that may not be written are ignored. */
static void write_csr(struct onpu_rv32 *core, uint32_t csr, uint32_t value)
{
	switch (csr) {
	case RV_CSR_MSTATUS:
		core->mstatus = value & MSTATUS_WRITABLE;
		onpu_rv32_look_round(core);
		break;
	case RV_CSR_MIE:
		core->mie = value & ONPU_RV32_IRQ_ALL;
		onpu_rv32_look_round(core);
		break;
	case RV_CSR_MTVEC:
		core->mtvec = value & MTVEC_WRITABLE;
		break;
	case RV_CSR_MSCRATCH:
		core->mscratch = value;
		break;
	case RV_CSR_MEPC:
		core->mepc = value & MEPC_WRITABLE;
		break;
	case RV_CSR_MCAUSE:
		core->mcause = value & MCAUSE_WRITABLE;
		break;
	case RV_CSR_MTVAL:
		core->mtval = value;
		break;
	default:
		write_counter_csr(core, csr, value);
	}
}

static bool is_read_only(uint32_t csr)
{
	return csr >> 10 == 3;
}

void onpu_rv32_csr_insn(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t csr = rv_csr_number(insn);
	uint32_t funct3 = rv_funct3(insn);
	/* CSRRW, CSRRS or CSRRC, with a register or an immediate operand. */
	uint32_t swap = funct3 & 3;
	uint32_t operand = funct3 & 4 ? rv_rs1(insn) : core->x[rv_rs1(insn)];
	/* Set and clear write only when their operand field is not zero. */
	bool writes = swap == RV_F3_CSRRW || rv_rs1(insn) != 0;
	uint32_t old, value;

	if (!read_csr(core, csr, &old) || (writes && is_read_only(csr))) {
		onpu_rv32_exception(core, RV_CAUSE_ILLEGAL, insn);
		return;
	}
	if (swap == RV_F3_CSRRW)
		value = operand;
	else if (swap == RV_F3_CSRRS)
		value = old | operand;
	else
		value = old & ~operand;
	if (writes)
		write_csr(core, csr, value);
	onpu_rv32_set_x(core, rv_rd(insn), old);
	onpu_rv32_retire(core, core->pc + 4, ONPU_RV32_COST_BASE);
}

static void enter_trap(struct onpu_rv32 *core, uint32_t cause, uint32_t tval, uint32_t handler)
{
	core->mepc = core->pc;
	core->mcause = cause;
	core->mtval = tval;
	core->mstatus = core->mstatus & RV_MSTATUS_MIE ? RV_MSTATUS_MPIE : 0;
	core->pc = handler;
	core->cycle += ONPU_RV32_COST_TRAP;
}

static uint32_t vector_base(const struct onpu_rv32 *core)
{
	return core->mtvec & ~3u;
}

/* Returns whether the handler's first instruction fails: none has retired since the exception. */
static bool locked_up(const struct onpu_rv32 *core)
{
	return core->excepted && core->excepted_at == core->retired &&
	       core->pc == vector_base(core);
}

void onpu_rv32_exception(struct onpu_rv32 *core, uint32_t cause, uint32_t tval)
{
	if (locked_up(core)) {
		core->halted = true;
		core->halt_cause = cause;
		core->halt_tval = tval;
		core->cycle += ONPU_RV32_COST_TRAP;
		onpu_rv32_look_round(core);
		return;
	}
	core->excepted = true;
	core->excepted_at = core->retired;
	enter_trap(core, cause, tval, vector_base(core));
}

/*
 * Returns the bit number of the most urgent line of @lines; the order is external, software, timer.
 */
static uint32_t most_urgent(uint32_t lines)
{
	if (lines & ONPU_RV32_IRQ_EXTERNAL)
		return 11;
	return lines & ONPU_RV32_IRQ_SOFTWARE ? 3 : 7;
}

void onpu_rv32_take_interrupt(struct onpu_rv32 *core)
{
	uint32_t lines = core->mip & core->mie;
	uint32_t handler = vector_base(core);
	uint32_t number;

	if (!lines || !(core->mstatus & RV_MSTATUS_MIE))
		return;
	number = most_urgent(lines);
	if (core->mtvec & RV_MTVEC_VECTORED)
		handler += 4 * number;
	enter_trap(core, RV_CAUSE_INTERRUPT | number, 0, handler);
}

void onpu_rv32_mret(struct onpu_rv32 *core)
{
	uint32_t mie = core->mstatus & RV_MSTATUS_MPIE ? RV_MSTATUS_MIE : 0;

	core->mstatus = RV_MSTATUS_MPIE | mie;
	onpu_rv32_retire(core, core->mepc, ONPU_RV32_COST_JUMP);
	onpu_rv32_look_round(core);
}

void onpu_rv32_csr_reset(struct onpu_rv32 *core)
{
	core->mstatus = 0;
	core->mie = 0;
	core->mtvec = 0;
	core->mscratch = 0;
	core->mepc = 0;
	core->mcause = 0;
	core->mtval = 0;
	core->mcycle.inhibited = false;
	core->minstret.inhibited = false;
	counter_write(&core->mcycle, core->cycle, 0);
	counter_write(&core->minstret, core->retired, 0);
}
