// SPDX-License-Identifier: MIT
/*
 * The management core: fetch, decode and execution of RV32IM, and the run loop. Arithmetic is on
 * uint32_t throughout, so that it wraps as the architecture defines.
 */
#include "device/riscv.h"

#include <string.h>

#include "device/riscv_csr.h"
#include "device/riscv_decode.h"

static uint32_t get_le(const uint8_t *p, unsigned int size)
{
	uint32_t value = p[0];

	if (size >= 2)
		value |= (uint32_t)p[1] << 8;
	if (size == 4)
		value |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return value;
}

static void put_le(uint8_t *p, unsigned int size, uint32_t value)
{
	p[0] = (uint8_t)value;
	if (size >= 2)
		p[1] = (uint8_t)(value >> 8);
	if (size == 4) {
		p[2] = (uint8_t)(value >> 16);
		p[3] = (uint8_t)(value >> 24);
	}
}

static void illegal(struct onpu_rv32 *core, uint32_t insn)
{
	onpu_rv32_exception(core, RV_CAUSE_ILLEGAL, insn);
}

/* Completes an instruction that writes its result to rd. */
static void retire_value(struct onpu_rv32 *core, uint32_t insn, uint32_t value, unsigned int cost)
{
	onpu_rv32_set_x(core, rv_rd(insn), value);
	onpu_rv32_retire(core, core->pc + 4, cost);
}

static bool signed_less(uint32_t a, uint32_t b)
{
	return (a ^ 0x80000000) < (b ^ 0x80000000);
}

/*
 * Returns @a shifted right by @by bits as a signed number. In C the compiler chooses the result of
 * >> for a negative number, so this function shifts an unsigned one and fills in the sign.
 */
static uint32_t shift_right_arith(uint32_t a, unsigned int by)
{
	uint32_t sign = 0 - (a >> 31);

	return ((a ^ sign) >> by) ^ sign;
}

/*
 * Returns the result of the operation @funct3, of the opcodes OP and OP-IMM, on @a and @b; @alt
 * selects SUB instead of ADD and SRA instead of SRL.
 */
static uint32_t alu(uint32_t funct3, bool alt, uint32_t a, uint32_t b)
{
	switch (funct3) {
	case RV_F3_ADD:
		return alt ? a - b : a + b;
	case RV_F3_SLL:
		return a << (b & 31);
	case RV_F3_SLT:
		return signed_less(a, b);
	case RV_F3_SLTU:
		return a < b;
	case RV_F3_XOR:
		return a ^ b;
	case RV_F3_SRL:
		return alt ? shift_right_arith(a, b & 31) : a >> (b & 31);
	case RV_F3_OR:
		return a | b;
	default:
		return a & b;
	}
}

static uint32_t high_word(uint64_t value)
{
	return (uint32_t)(value >> 32);
}

static uint32_t multiply(uint32_t funct3, uint32_t a, uint32_t b)
{
	uint64_t product = (uint64_t)a * b;

	/*
	 * Read as unsigned, a negative factor is too large by 2^32, and the product too large by
	 * 2^32 times the other factor.
	 */
	switch (funct3) {
	case RV_F3_MUL:
		return (uint32_t)product;
	case RV_F3_MULH:
		return high_word(product) - (a >> 31 ? b : 0) - (b >> 31 ? a : 0);
	case RV_F3_MULHSU:
		return high_word(product) - (a >> 31 ? b : 0);
	default:
		return high_word(product);
	}
}

static uint32_t negate_if(bool negative, uint32_t value)
{
	return negative ? 0 - value : value;
}

/*
 * Divides, and returns quotient or remainder. Signed division divides magnitudes; the overflowing
 * INT_MIN / -1 then has the results of the architecture: quotient INT_MIN, remainder 0.
 */
static uint32_t divide(uint32_t funct3, uint32_t a, uint32_t b)
{
	bool is_signed = funct3 == RV_F3_DIV || funct3 == RV_F3_REM;
	bool is_quotient = funct3 == RV_F3_DIV || funct3 == RV_F3_DIVU;
	bool a_negative = is_signed && a >> 31;
	bool b_negative = is_signed && b >> 31;
	uint32_t magnitude_a = negate_if(a_negative, a);
	uint32_t magnitude_b = negate_if(b_negative, b);

	if (b == 0)
		return is_quotient ? UINT32_MAX : a;
	if (is_quotient)
		return negate_if(a_negative != b_negative, magnitude_a / magnitude_b);
	return negate_if(a_negative, magnitude_a % magnitude_b);
}

static void exec_op(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t a = core->x[rv_rs1(insn)];
	uint32_t b = core->x[rv_rs2(insn)];
	uint32_t funct3 = rv_funct3(insn);

	switch (rv_funct7(insn)) {
	case RV_F7_BASE:
		retire_value(core, insn, alu(funct3, false, a, b), ONPU_RV32_COST_BASE);
		return;
	case RV_F7_ALT:
		if (funct3 != RV_F3_ADD && funct3 != RV_F3_SRL)
			break;
		retire_value(core, insn, alu(funct3, true, a, b), ONPU_RV32_COST_BASE);
		return;
	case RV_F7_MULDIV:
		if (funct3 < RV_F3_DIV)
			retire_value(core, insn, multiply(funct3, a, b), ONPU_RV32_COST_MUL);
		else
			retire_value(core, insn, divide(funct3, a, b), ONPU_RV32_COST_DIV);
		return;
	}
	illegal(core, insn);
}

static void exec_op_imm(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t a = core->x[rv_rs1(insn)];
	uint32_t funct3 = rv_funct3(insn);
	uint32_t funct7 = rv_funct7(insn);
	bool alt = false;

	/* The upper bits of a shift's immediate are an opcode. */
	if (funct3 == RV_F3_SLL || funct3 == RV_F3_SRL) {
		alt = funct3 == RV_F3_SRL && funct7 == RV_F7_ALT;
		if (!alt && funct7 != RV_F7_BASE) {
			illegal(core, insn);
			return;
		}
	}
	retire_value(core, insn, alu(funct3, alt, a, rv_imm_i(insn)), ONPU_RV32_COST_BASE);
}

/* Returns where @addr is in the TCM, for an aligned access; NULL if it lies outside. */
static uint8_t *tcm_at(const struct onpu_rv32 *core, uint32_t addr)
{
	uint32_t offset = addr - core->bus.tcm_base;

	return offset < core->bus.tcm_size ? core->bus.tcm + offset : NULL;
}

static uint32_t zero_extend(uint32_t value, unsigned int size)
{
	return size == 4 ? value : value & ((1u << 8 * size) - 1);
}

static bool bus_load(struct onpu_rv32 *core, uint32_t addr, unsigned int size, uint32_t *value)
{
	*value = 0;
	if (!core->bus.load || !core->bus.load(core->bus.ctx, addr, size, value))
		return false;
	*value = zero_extend(*value, size);
	return true;
}

static bool bus_store(struct onpu_rv32 *core, uint32_t addr, unsigned int size, uint32_t value)
{
	return core->bus.store &&
	       core->bus.store(core->bus.ctx, addr, size, zero_extend(value, size));
}

static void exec_load(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t addr = core->x[rv_rs1(insn)] + rv_imm_i(insn);
	uint32_t funct3 = rv_funct3(insn);
	unsigned int size = 1u << (funct3 & 3);
	unsigned int cost = ONPU_RV32_COST_BASE;
	const uint8_t *tcm = tcm_at(core, addr);
	uint32_t value;

	if (funct3 > RV_F3_LHU || size > 4) {
		illegal(core, insn);
		return;
	}
	if (addr & (size - 1)) {
		onpu_rv32_exception(core, RV_CAUSE_LOAD_MISALIGNED, addr);
		return;
	}
	if (tcm) {
		value = get_le(tcm, size);
	} else {
		cost = ONPU_RV32_COST_BUS;
		if (!bus_load(core, addr, size, &value)) {
			onpu_rv32_exception(core, RV_CAUSE_LOAD_ACCESS, addr);
			return;
		}
	}
	if (funct3 == RV_F3_LB || funct3 == RV_F3_LH)
		value = rv_sign_extend(value, 8 * size);
	retire_value(core, insn, value, cost);
}

static void exec_store(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t addr = core->x[rv_rs1(insn)] + rv_imm_s(insn);
	uint32_t value = core->x[rv_rs2(insn)];
	uint32_t funct3 = rv_funct3(insn);
	unsigned int size = 1u << (funct3 & 3);
	unsigned int cost = ONPU_RV32_COST_BASE;
	uint8_t *tcm = tcm_at(core, addr);

	if (funct3 > RV_F3_SW) {
		illegal(core, insn);
		return;
	}
	if (addr & (size - 1)) {
		onpu_rv32_exception(core, RV_CAUSE_STORE_MISALIGNED, addr);
		return;
	}
	if (tcm) {
		put_le(tcm, size, value);
	} else {
		cost = ONPU_RV32_COST_BUS;
		if (!bus_store(core, addr, size, value)) {
			onpu_rv32_exception(core, RV_CAUSE_STORE_ACCESS, addr);
			return;
		}
	}
	onpu_rv32_retire(core, core->pc + 4, cost);
}

/* Jumps to @target and writes the return address to rd, or traps and leaves rd unchanged. */
static void jump(struct onpu_rv32 *core, uint32_t target, unsigned int rd)
{
	uint32_t link = core->pc + 4;

	if (target & 3) {
		onpu_rv32_exception(core, RV_CAUSE_FETCH_MISALIGNED, target);
		return;
	}
	onpu_rv32_set_x(core, rd, link);
	onpu_rv32_retire(core, target, ONPU_RV32_COST_JUMP);
}

static void exec_jalr(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t target = (core->x[rv_rs1(insn)] + rv_imm_i(insn)) & ~1u;

	if (rv_funct3(insn) != 0)
		illegal(core, insn);
	else
		jump(core, target, rv_rd(insn));
}

static void exec_branch(struct onpu_rv32 *core, uint32_t insn)
{
	uint32_t a = core->x[rv_rs1(insn)];
	uint32_t b = core->x[rv_rs2(insn)];
	bool condition;

	switch (rv_funct3(insn) & ~1u) {
	case RV_F3_BEQ:
		condition = a == b;
		break;
	case RV_F3_BLT:
		condition = signed_less(a, b);
		break;
	case RV_F3_BLTU:
		condition = a < b;
		break;
	default:
		illegal(core, insn);
		return;
	}
	/* The low bit of funct3 inverts the condition. */
	if (condition != (rv_funct3(insn) & 1))
		jump(core, core->pc + rv_imm_b(insn), 0);
	else
		onpu_rv32_retire(core, core->pc + 4, ONPU_RV32_COST_BASE);
}

/*
 * Executes FENCE and FENCE.I, which do nothing here, because memory is in order and the next fetch
 * sees stores. Unused fields of the instructions are ignored, as the manual demands.
 */
static void exec_misc_mem(struct onpu_rv32 *core, uint32_t insn)
{
	switch (rv_funct3(insn)) {
	case RV_F3_FENCE:
	case RV_F3_FENCE_I:
		onpu_rv32_retire(core, core->pc + 4, ONPU_RV32_COST_BASE);
		break;
	default:
		illegal(core, insn);
	}
}

/* Parks the core; the run loop decides whether it stays parked. */
static void exec_wfi(struct onpu_rv32 *core)
{
	onpu_rv32_retire(core, core->pc + 4, ONPU_RV32_COST_BASE);
	core->parked = true;
	onpu_rv32_look_round(core);
}

static void exec_system(struct onpu_rv32 *core, uint32_t insn)
{
	switch (rv_funct3(insn)) {
	case RV_F3_CSRRW:
	case RV_F3_CSRRS:
	case RV_F3_CSRRC:
	case RV_F3_CSRRWI:
	case RV_F3_CSRRSI:
	case RV_F3_CSRRCI:
		onpu_rv32_csr_insn(core, insn);
		return;
	}
	switch (insn) {
	case RV_INSN_ECALL:
		onpu_rv32_exception(core, RV_CAUSE_ECALL_M, 0);
		break;
	case RV_INSN_EBREAK:
		onpu_rv32_exception(core, RV_CAUSE_BREAKPOINT, core->pc);
		break;
	case RV_INSN_MRET:
		onpu_rv32_mret(core);
		break;
	case RV_INSN_WFI:
		exec_wfi(core);
		break;
	default:
		illegal(core, insn);
	}
}

static void execute(struct onpu_rv32 *core, uint32_t insn)
{
	switch (rv_opcode(insn)) {
	case RV_OP_LUI:
		retire_value(core, insn, rv_imm_u(insn), ONPU_RV32_COST_BASE);
		break;
	case RV_OP_AUIPC:
		retire_value(core, insn, core->pc + rv_imm_u(insn), ONPU_RV32_COST_BASE);
		break;
	case RV_OP_JAL:
		jump(core, core->pc + rv_imm_j(insn), rv_rd(insn));
		break;
	case RV_OP_JALR:
		exec_jalr(core, insn);
		break;
	case RV_OP_BRANCH:
		exec_branch(core, insn);
		break;
	case RV_OP_LOAD:
		exec_load(core, insn);
		break;
	case RV_OP_STORE:
		exec_store(core, insn);
		break;
	case RV_OP_OP_IMM:
		exec_op_imm(core, insn);
		break;
	case RV_OP_OP:
		exec_op(core, insn);
		break;
	case RV_OP_MISC_MEM:
		exec_misc_mem(core, insn);
		break;
	case RV_OP_SYSTEM:
		exec_system(core, insn);
		break;
	default:
		illegal(core, insn);
	}
}

static void step(struct onpu_rv32 *core)
{
	const uint8_t *tcm = tcm_at(core, core->pc);

	if (tcm)
		execute(core, get_le(tcm, 4));
	else
		onpu_rv32_exception(core, RV_CAUSE_FETCH_ACCESS, core->pc);
}

bool onpu_rv32_runnable(const struct onpu_rv32 *core)
{
	return !core->halted && (!core->parked || (core->mip & core->mie));
}

enum onpu_rv32_stop onpu_rv32_run(struct onpu_rv32 *core, uint64_t until)
{
	for (;;) {
		if (core->halted)
			return ONPU_RV32_HALTED;
		if (core->yield) {
			core->yield = false;
			return ONPU_RV32_YIELDED;
		}
		if (!onpu_rv32_runnable(core))
			return ONPU_RV32_PARKED;
		core->parked = false;
		if (core->cycle >= until)
			return ONPU_RV32_BUDGET;
		onpu_rv32_take_interrupt(core);
		core->slice_end = until;
		while (core->cycle < core->slice_end)
			step(core);
	}
}

void onpu_rv32_advance(struct onpu_rv32 *core, uint64_t cycle)
{
	if (core->cycle < cycle)
		core->cycle = cycle;
}

void onpu_rv32_set_irq(struct onpu_rv32 *core, uint32_t mask, bool level)
{
	mask &= ONPU_RV32_IRQ_ALL;
	if (level)
		core->mip |= mask;
	else
		core->mip &= ~mask;
	onpu_rv32_look_round(core);
}

void onpu_rv32_yield(struct onpu_rv32 *core)
{
	core->yield = true;
	onpu_rv32_look_round(core);
}

void onpu_rv32_reset(struct onpu_rv32 *core, uint32_t pc)
{
	memset(core->x, 0, sizeof(core->x));
	core->pc = pc & ~3u;
	core->retired = 0;
	core->parked = false;
	core->yield = false;
	core->halted = false;
	core->excepted = false;
	core->excepted_at = 0;
	core->halt_cause = 0;
	core->halt_tval = 0;
	onpu_rv32_csr_reset(core);
}

bool onpu_rv32_init(struct onpu_rv32 *core, const struct onpu_rv32_bus *bus, uint32_t hartid,
		    uint32_t pc)
{
	uint64_t end = (uint64_t)bus->tcm_base + bus->tcm_size;

	if ((bus->tcm_base | bus->tcm_size) & 3 || end > UINT64_C(1) << 32)
		return false;
	if (bus->tcm_size && !bus->tcm)
		return false;
	memset(core, 0, sizeof(*core));
	core->bus = *bus;
	core->hartid = hartid;
	onpu_rv32_reset(core, pc);
	return true;
}
