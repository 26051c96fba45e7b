/* SPDX-License-Identifier: MIT */
/*
 * An independent reference for RV32IM, written from the RISC-V unprivileged manual alone. Each
 * instruction has the bit pattern that the manual prints and a C function for its result; there are
 * also a small encoder and a function that executes one instruction. It shares no code with the
 * emulator.
 */
#ifndef RV32_REFERENCE_H
#define RV32_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ref_kind {
	REF_OP,	       /* rd = f(rs1, rs2) */
	REF_OP_IMM,    /* rd = f(rs1, imm) */
	REF_SHIFT_IMM, /* rd = f(rs1, shamt) */
	REF_LUI,
	REF_AUIPC,
	REF_JAL,
	REF_JALR,
	REF_BRANCH, /* taken if f(rs1, rs2) */
	REF_LOAD,   /* rd = f(memory, 0) */
	REF_STORE,
	REF_FENCE,
	REF_ECALL,
	REF_EBREAK,
	REF_MRET,
	REF_WFI,
	REF_CSR,
};

struct ref_insn {
	const char *name;
	const char *pattern; /* bits 31..0; '-' is free, blanks are ignored */
	enum ref_kind kind;
	uint32_t (*f)(uint32_t a, uint32_t b);
	unsigned int size;    /* bytes that a load or store accesses */
	unsigned int cycles;  /* cycles when it neither traps nor jumps */
	uint32_t mask, match; /* made from @pattern */
};

/* The table of instructions; call ref_init() before using it. */
extern struct ref_insn ref_insns[];
extern const size_t ref_insn_count;

void ref_init(void);

/* Returns the instruction with that name; fails the test when there is none. */
const struct ref_insn *ref_find(const char *name);

/* Returns the instruction that a word encodes, or NULL. CSR numbers are not checked. */
const struct ref_insn *ref_decode(uint32_t word);

/*
 * Returns whether an RV32IM core with machine mode only, such as the management core, has the CSR.
 */
bool ref_csr_exists(uint32_t csr);

/* Returns whether this Zicsr word is legal: the CSR exists, and is not written if read-only. */
bool ref_csr_legal(uint32_t word);

/* Encoders return the word; a field that does not fit is a bug of the test and fails it. */
uint32_t ref_encode_r(const struct ref_insn *insn, unsigned int rd, unsigned int rs1,
		      unsigned int rs2);
uint32_t ref_encode_i(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, int32_t imm);
uint32_t ref_encode_shift(const struct ref_insn *insn, unsigned int rd, unsigned int rs1,
			  unsigned int shamt);
uint32_t ref_encode_s(const struct ref_insn *insn, unsigned int rs2, unsigned int rs1, int32_t imm);
uint32_t ref_encode_b(const struct ref_insn *insn, unsigned int rs1, unsigned int rs2, int32_t imm);
uint32_t ref_encode_u(const struct ref_insn *insn, unsigned int rd, uint32_t imm20);
uint32_t ref_encode_j(const struct ref_insn *insn, unsigned int rd, int32_t imm);
uint32_t ref_encode_csr(const char *name, unsigned int rd, unsigned int operand, uint32_t csr);

/* A machine with flat little-endian memory; accesses outside of it fault. */
struct ref_machine {
	uint32_t x[32];
	uint32_t pc;
	uint8_t *mem;
	uint32_t mem_base, mem_size;
};

/* The effects of one instruction. */
struct ref_outcome {
	const struct ref_insn *insn; /* NULL: illegal encoding */
	bool traps;
	uint32_t cause, tval;
	unsigned int cycles; /* cycles when it does not trap */
};

/*
 * Executes @word at the machine's pc; returns the instruction and its trap or cycles. On a trap
 * nothing changes. Legal CSR instructions and WFI only advance pc, and MRET changes nothing: the
 * caller does the rest.
 */
struct ref_outcome ref_step(struct ref_machine *m, uint32_t word);

#endif
