/* SPDX-License-Identifier: MIT */
/*
 * Encodings of the public RISC-V instruction set: the RV32I base, M, Zicsr,
 * Zifencei and the machine-mode part of the privileged architecture. Names
 * follow the RISC-V manuals.
 */
#ifndef ONPU_DEVICE_RISCV_DECODE_H
#define ONPU_DEVICE_RISCV_DECODE_H

#include <stdint.h>

/* Major opcodes, bits 6:0; the two low bits of a 32-bit instruction are 11. */
enum rv_opcode {
	RV_OP_LOAD = 0x03,
	RV_OP_MISC_MEM = 0x0f,
	RV_OP_OP_IMM = 0x13,
	RV_OP_AUIPC = 0x17,
	RV_OP_STORE = 0x23,
	RV_OP_OP = 0x33,
	RV_OP_LUI = 0x37,
	RV_OP_BRANCH = 0x63,
	RV_OP_JALR = 0x67,
	RV_OP_JAL = 0x6f,
	RV_OP_SYSTEM = 0x73,
};

/* funct3 */
enum rv_funct3 {
	RV_F3_LB = 0,
	RV_F3_LH = 1,
	RV_F3_LW = 2,
	RV_F3_LBU = 4,
	RV_F3_LHU = 5,
	RV_F3_SB = 0,
	RV_F3_SH = 1,
	RV_F3_SW = 2,
	RV_F3_ADD = 0,
	RV_F3_SLL = 1,
	RV_F3_SLT = 2,
	RV_F3_SLTU = 3,
	RV_F3_XOR = 4,
	RV_F3_SRL = 5,
	RV_F3_OR = 6,
	RV_F3_AND = 7,
	RV_F3_MUL = 0,
	RV_F3_MULH = 1,
	RV_F3_MULHSU = 2,
	RV_F3_MULHU = 3,
	RV_F3_DIV = 4,
	RV_F3_DIVU = 5,
	RV_F3_REM = 6,
	RV_F3_REMU = 7,
	RV_F3_BEQ = 0,
	RV_F3_BNE = 1,
	RV_F3_BLT = 4,
	RV_F3_BGE = 5,
	RV_F3_BLTU = 6,
	RV_F3_BGEU = 7,
	RV_F3_FENCE = 0,
	RV_F3_FENCE_I = 1,
	RV_F3_PRIV = 0,
	RV_F3_CSRRW = 1,
	RV_F3_CSRRS = 2,
	RV_F3_CSRRC = 3,
	RV_F3_CSRRWI = 5,
	RV_F3_CSRRSI = 6,
	RV_F3_CSRRCI = 7,
};

/* funct7 of OP and of the immediate shifts */
enum rv_funct7 {
	RV_F7_BASE = 0x00,
	RV_F7_MULDIV = 0x01,
	RV_F7_ALT = 0x20, /* SUB, SRA, SRAI */
};

/* Whole words of the SYSTEM instructions without operands */
enum rv_system_insn {
	RV_INSN_ECALL = 0x00000073,
	RV_INSN_EBREAK = 0x00100073,
	RV_INSN_MRET = 0x30200073,
	RV_INSN_WFI = 0x10500073,
};

enum rv_csr {
	RV_CSR_MSTATUS = 0x300,
	RV_CSR_MISA = 0x301,
	RV_CSR_MIE = 0x304,
	RV_CSR_MTVEC = 0x305,
	RV_CSR_MSTATUSH = 0x310,
	RV_CSR_MCOUNTINHIBIT = 0x320,
	RV_CSR_MHPMEVENT3 = 0x323,
	RV_CSR_MHPMEVENT31 = 0x33f,
	RV_CSR_MSCRATCH = 0x340,
	RV_CSR_MEPC = 0x341,
	RV_CSR_MCAUSE = 0x342,
	RV_CSR_MTVAL = 0x343,
	RV_CSR_MIP = 0x344,
	RV_CSR_MCYCLE = 0xb00,
	RV_CSR_MINSTRET = 0xb02,
	RV_CSR_MHPMCOUNTER3 = 0xb03,
	RV_CSR_MHPMCOUNTER31 = 0xb1f,
	RV_CSR_MCYCLEH = 0xb80,
	RV_CSR_MINSTRETH = 0xb82,
	RV_CSR_MHPMCOUNTER3H = 0xb83,
	RV_CSR_MHPMCOUNTER31H = 0xb9f,
	RV_CSR_CYCLE = 0xc00,
	RV_CSR_TIME = 0xc01,
	RV_CSR_INSTRET = 0xc02,
	RV_CSR_CYCLEH = 0xc80,
	RV_CSR_TIMEH = 0xc81,
	RV_CSR_INSTRETH = 0xc82,
	RV_CSR_MVENDORID = 0xf11,
	RV_CSR_MARCHID = 0xf12,
	RV_CSR_MIMPID = 0xf13,
	RV_CSR_MHARTID = 0xf14,
	RV_CSR_MCONFIGPTR = 0xf15,
};

#define RV_MSTATUS_MIE	(1u << 3)
#define RV_MSTATUS_MPIE (1u << 7)
#define RV_MSTATUS_MPP	(3u << 11)

#define RV_MTVEC_VECTORED 1u

#define RV_MCOUNTINHIBIT_CY (1u << 0)
#define RV_MCOUNTINHIBIT_IR (1u << 2)

/* MXL = 32 bits, extensions I and M */
#define RV_MISA_RV32IM ((1u << 30) | (1u << 8) | (1u << 12))

/* mcause */
#define RV_CAUSE_INTERRUPT (1u << 31)

enum rv_cause {
	RV_CAUSE_FETCH_MISALIGNED = 0,
	RV_CAUSE_FETCH_ACCESS = 1,
	RV_CAUSE_ILLEGAL = 2,
	RV_CAUSE_BREAKPOINT = 3,
	RV_CAUSE_LOAD_MISALIGNED = 4,
	RV_CAUSE_LOAD_ACCESS = 5,
	RV_CAUSE_STORE_MISALIGNED = 6,
	RV_CAUSE_STORE_ACCESS = 7,
	RV_CAUSE_ECALL_M = 11,
};

static inline uint32_t rv_opcode(uint32_t insn)
{
	return insn & 0x7f;
}

static inline uint32_t rv_rd(uint32_t insn)
{
	return (insn >> 7) & 31;
}

static inline uint32_t rv_funct3(uint32_t insn)
{
	return (insn >> 12) & 7;
}

static inline uint32_t rv_rs1(uint32_t insn)
{
	return (insn >> 15) & 31;
}

static inline uint32_t rv_rs2(uint32_t insn)
{
	return (insn >> 20) & 31;
}

static inline uint32_t rv_funct7(uint32_t insn)
{
	return insn >> 25;
}

static inline uint32_t rv_csr_number(uint32_t insn)
{
	return insn >> 20;
}

/* Returns the low @bits bits of @value, sign-extended. */
static inline uint32_t rv_sign_extend(uint32_t value, unsigned int bits)
{
	uint32_t sign = 1u << (bits - 1);

	return ((value & (sign + sign - 1)) ^ sign) - sign;
}

static inline uint32_t rv_imm_i(uint32_t insn)
{
	return rv_sign_extend(insn >> 20, 12);
}

static inline uint32_t rv_imm_s(uint32_t insn)
{
	return rv_sign_extend((insn >> 25 << 5) | rv_rd(insn), 12);
}

static inline uint32_t rv_imm_b(uint32_t insn)
{
	return rv_sign_extend((insn >> 31 << 12) | ((insn >> 7 & 1) << 11) |
				      ((insn >> 25 & 0x3f) << 5) | ((insn >> 8 & 0xf) << 1),
			      13);
}

static inline uint32_t rv_imm_u(uint32_t insn)
{
	return insn & 0xfffff000;
}

static inline uint32_t rv_imm_j(uint32_t insn)
{
	return rv_sign_extend((insn >> 31 << 20) | ((insn >> 12 & 0xff) << 12) |
				      ((insn >> 20 & 1) << 11) | ((insn >> 21 & 0x3ff) << 1),
			      21);
}

#endif /* ONPU_DEVICE_RISCV_DECODE_H */
