// SPDX-License-Identifier: MIT
/* Implements rv32_reference.h, the independent RV32IM reference. */
#include "rv32_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Each function returns the result of an instruction of chapter 2, RV32I: integer computation. */
static uint32_t f_add(uint32_t a, uint32_t b)
{
	return a + b;
}

static uint32_t f_sub(uint32_t a, uint32_t b)
{
	return a - b;
}

static uint32_t f_sll(uint32_t a, uint32_t b)
{
	return a << (b % 32);
}

static uint32_t f_slt(uint32_t a, uint32_t b)
{
	return (int32_t)a < (int32_t)b ? 1 : 0;
}

static uint32_t f_sltu(uint32_t a, uint32_t b)
{
	return a < b ? 1 : 0;
}

static uint32_t f_xor(uint32_t a, uint32_t b)
{
	return a ^ b;
}

static uint32_t f_srl(uint32_t a, uint32_t b)
{
	return a >> (b % 32);
}

/* The shift is arithmetic: gcc and clang define >> of a negative number as an arithmetic shift. */
static uint32_t f_sra(uint32_t a, uint32_t b)
{
	return (uint32_t)((int32_t)a >> (b % 32));
}

static uint32_t f_or(uint32_t a, uint32_t b)
{
	return a | b;
}

static uint32_t f_and(uint32_t a, uint32_t b)
{
	return a & b;
}

/* Each function returns 1 if its branch is taken, else 0. */
static uint32_t f_eq(uint32_t a, uint32_t b)
{
	return a == b;
}

static uint32_t f_ne(uint32_t a, uint32_t b)
{
	return a != b;
}

static uint32_t f_lt(uint32_t a, uint32_t b)
{
	return (int32_t)a < (int32_t)b;
}

static uint32_t f_ge(uint32_t a, uint32_t b)
{
	return (int32_t)a >= (int32_t)b;
}

static uint32_t f_ltu(uint32_t a, uint32_t b)
{
	return a < b;
}

static uint32_t f_geu(uint32_t a, uint32_t b)
{
	return a >= b;
}

/* Each function returns the word that a load makes of the bytes @a read from memory. */
static uint32_t f_lb(uint32_t a, uint32_t b)
{
	(void)b;
	return (uint32_t)(int32_t)(int8_t)(uint8_t)a;
}

static uint32_t f_lh(uint32_t a, uint32_t b)
{
	(void)b;
	return (uint32_t)(int32_t)(int16_t)(uint16_t)a;
}

static uint32_t f_same(uint32_t a, uint32_t b)
{
	(void)b;
	return a;
}

/*
 * Each function returns the result of an instruction of the M extension: products are computed in
 * 64 bits, and divisions follow the manual's table of special cases.
 */
static uint32_t f_mul(uint32_t a, uint32_t b)
{
	return a * b;
}

static uint32_t f_mulh(uint32_t a, uint32_t b)
{
	int64_t product = (int64_t)(int32_t)a * (int64_t)(int32_t)b;

	return (uint32_t)((uint64_t)product >> 32);
}

static uint32_t f_mulhsu(uint32_t a, uint32_t b)
{
	int64_t product = (int64_t)(int32_t)a * (int64_t)(uint64_t)b;

	return (uint32_t)((uint64_t)product >> 32);
}

static uint32_t f_mulhu(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * (uint64_t)b >> 32);
}

static uint32_t f_div(uint32_t a, uint32_t b)
{
	if (b == 0)
		return 0xffffffff;
	if (a == 0x80000000 && b == 0xffffffff)
		return 0x80000000;
	return (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t f_divu(uint32_t a, uint32_t b)
{
	return b == 0 ? 0xffffffff : a / b;
}

static uint32_t f_rem(uint32_t a, uint32_t b)
{
	if (b == 0)
		return a;
	if (a == 0x80000000 && b == 0xffffffff)
		return 0;
	return (uint32_t)((int32_t)a % (int32_t)b);
}

static uint32_t f_remu(uint32_t a, uint32_t b)
{
	return b == 0 ? a : a % b;
}

#define INSN(n, p, k, fn, s, c) \
	{ .name = n, .pattern = p, .kind = k, .f = fn, .size = s, .cycles = c }

/* The manual's tables of instructions, in the manual's order. */
struct ref_insn ref_insns[] = {
	INSN("lui", "-------------------- ----- 0110111", REF_LUI, NULL, 0, 1),
	INSN("auipc", "-------------------- ----- 0010111", REF_AUIPC, NULL, 0, 1),
	INSN("jal", "-------------------- ----- 1101111", REF_JAL, NULL, 0, 2),
	INSN("jalr", "------------ ----- 000 ----- 1100111", REF_JALR, NULL, 0, 2),
	INSN("beq", "------- ----- ----- 000 ----- 1100011", REF_BRANCH, f_eq, 0, 1),
	INSN("bne", "------- ----- ----- 001 ----- 1100011", REF_BRANCH, f_ne, 0, 1),
	INSN("blt", "------- ----- ----- 100 ----- 1100011", REF_BRANCH, f_lt, 0, 1),
	INSN("bge", "------- ----- ----- 101 ----- 1100011", REF_BRANCH, f_ge, 0, 1),
	INSN("bltu", "------- ----- ----- 110 ----- 1100011", REF_BRANCH, f_ltu, 0, 1),
	INSN("bgeu", "------- ----- ----- 111 ----- 1100011", REF_BRANCH, f_geu, 0, 1),
	INSN("lb", "------------ ----- 000 ----- 0000011", REF_LOAD, f_lb, 1, 1),
	INSN("lh", "------------ ----- 001 ----- 0000011", REF_LOAD, f_lh, 2, 1),
	INSN("lw", "------------ ----- 010 ----- 0000011", REF_LOAD, f_same, 4, 1),
	INSN("lbu", "------------ ----- 100 ----- 0000011", REF_LOAD, f_same, 1, 1),
	INSN("lhu", "------------ ----- 101 ----- 0000011", REF_LOAD, f_same, 2, 1),
	INSN("sb", "------- ----- ----- 000 ----- 0100011", REF_STORE, NULL, 1, 1),
	INSN("sh", "------- ----- ----- 001 ----- 0100011", REF_STORE, NULL, 2, 1),
	INSN("sw", "------- ----- ----- 010 ----- 0100011", REF_STORE, NULL, 4, 1),
	INSN("addi", "------------ ----- 000 ----- 0010011", REF_OP_IMM, f_add, 0, 1),
	INSN("slti", "------------ ----- 010 ----- 0010011", REF_OP_IMM, f_slt, 0, 1),
	INSN("sltiu", "------------ ----- 011 ----- 0010011", REF_OP_IMM, f_sltu, 0, 1),
	INSN("xori", "------------ ----- 100 ----- 0010011", REF_OP_IMM, f_xor, 0, 1),
	INSN("ori", "------------ ----- 110 ----- 0010011", REF_OP_IMM, f_or, 0, 1),
	INSN("andi", "------------ ----- 111 ----- 0010011", REF_OP_IMM, f_and, 0, 1),
	INSN("slli", "0000000 ----- ----- 001 ----- 0010011", REF_SHIFT_IMM, f_sll, 0, 1),
	INSN("srli", "0000000 ----- ----- 101 ----- 0010011", REF_SHIFT_IMM, f_srl, 0, 1),
	INSN("srai", "0100000 ----- ----- 101 ----- 0010011", REF_SHIFT_IMM, f_sra, 0, 1),
	INSN("add", "0000000 ----- ----- 000 ----- 0110011", REF_OP, f_add, 0, 1),
	INSN("sub", "0100000 ----- ----- 000 ----- 0110011", REF_OP, f_sub, 0, 1),
	INSN("sll", "0000000 ----- ----- 001 ----- 0110011", REF_OP, f_sll, 0, 1),
	INSN("slt", "0000000 ----- ----- 010 ----- 0110011", REF_OP, f_slt, 0, 1),
	INSN("sltu", "0000000 ----- ----- 011 ----- 0110011", REF_OP, f_sltu, 0, 1),
	INSN("xor", "0000000 ----- ----- 100 ----- 0110011", REF_OP, f_xor, 0, 1),
	INSN("srl", "0000000 ----- ----- 101 ----- 0110011", REF_OP, f_srl, 0, 1),
	INSN("sra", "0100000 ----- ----- 101 ----- 0110011", REF_OP, f_sra, 0, 1),
	INSN("or", "0000000 ----- ----- 110 ----- 0110011", REF_OP, f_or, 0, 1),
	INSN("and", "0000000 ----- ----- 111 ----- 0110011", REF_OP, f_and, 0, 1),
	INSN("fence", "------------ ----- 000 ----- 0001111", REF_FENCE, NULL, 0, 1),
	INSN("fence.i", "------------ ----- 001 ----- 0001111", REF_FENCE, NULL, 0, 1),
	INSN("ecall", "000000000000 00000 000 00000 1110011", REF_ECALL, NULL, 0, 0),
	INSN("ebreak", "000000000001 00000 000 00000 1110011", REF_EBREAK, NULL, 0, 0),
	INSN("mret", "0011000 00010 00000 000 00000 1110011", REF_MRET, NULL, 0, 2),
	INSN("wfi", "0001000 00101 00000 000 00000 1110011", REF_WFI, NULL, 0, 1),
	INSN("csrrw", "------------ ----- 001 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("csrrs", "------------ ----- 010 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("csrrc", "------------ ----- 011 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("csrrwi", "------------ ----- 101 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("csrrsi", "------------ ----- 110 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("csrrci", "------------ ----- 111 ----- 1110011", REF_CSR, NULL, 0, 1),
	INSN("mul", "0000001 ----- ----- 000 ----- 0110011", REF_OP, f_mul, 0, 3),
	INSN("mulh", "0000001 ----- ----- 001 ----- 0110011", REF_OP, f_mulh, 0, 3),
	INSN("mulhsu", "0000001 ----- ----- 010 ----- 0110011", REF_OP, f_mulhsu, 0, 3),
	INSN("mulhu", "0000001 ----- ----- 011 ----- 0110011", REF_OP, f_mulhu, 0, 3),
	INSN("div", "0000001 ----- ----- 100 ----- 0110011", REF_OP, f_div, 0, 34),
	INSN("divu", "0000001 ----- ----- 101 ----- 0110011", REF_OP, f_divu, 0, 34),
	INSN("rem", "0000001 ----- ----- 110 ----- 0110011", REF_OP, f_rem, 0, 34),
	INSN("remu", "0000001 ----- ----- 111 ----- 0110011", REF_OP, f_remu, 0, 34),
};

const size_t ref_insn_count = sizeof(ref_insns) / sizeof(ref_insns[0]);

static void parse_pattern(struct ref_insn *insn)
{
	unsigned int bits = 0;
	const char *p;

	insn->mask = 0;
	insn->match = 0;
	for (p = insn->pattern; *p; p++) {
		if (*p == ' ')
			continue;
		insn->mask = insn->mask << 1 | (*p != '-');
		insn->match = insn->match << 1 | (*p == '1');
		bits++;
	}
	if (bits != 32)
		fail_msg("%s: pattern has %u bits", insn->name, bits);
}

void ref_init(void)
{
	size_t i, j;

	for (i = 0; i < ref_insn_count; i++)
		parse_pattern(&ref_insns[i]);
	for (i = 0; i < ref_insn_count; i++)
		for (j = 0; j < i; j++)
			if (!((ref_insns[i].match ^ ref_insns[j].match) & ref_insns[i].mask &
			      ref_insns[j].mask))
				fail_msg("%s and %s overlap", ref_insns[i].name, ref_insns[j].name);
}

const struct ref_insn *ref_find(const char *name)
{
	size_t i;

	for (i = 0; i < ref_insn_count; i++)
		if (!strcmp(ref_insns[i].name, name))
			return &ref_insns[i];
	fail_msg("no instruction %s", name);
	return NULL;
}

const struct ref_insn *ref_decode(uint32_t word)
{
	size_t i;

	for (i = 0; i < ref_insn_count; i++)
		if ((word & ref_insns[i].mask) == ref_insns[i].match)
			return &ref_insns[i];
	return NULL;
}

/* The first and the last number of each range of CSRs that exist. */
static const uint16_t csr_ranges[][2] = {
	{ 0x300, 0x301 }, /* mstatus, misa */
	{ 0x304, 0x305 }, /* mie, mtvec */
	{ 0x310, 0x310 }, /* mstatush */
	{ 0x320, 0x320 }, /* mcountinhibit */
	{ 0x323, 0x33f }, /* mhpmevent3..31 */
	{ 0x340, 0x344 }, /* mscratch, mepc, mcause, mtval, mip */
	{ 0xb00, 0xb00 }, /* mcycle */
	{ 0xb02, 0xb1f }, /* minstret, mhpmcounter3..31 */
	{ 0xb80, 0xb80 }, /* mcycleh */
	{ 0xb82, 0xb9f }, /* minstreth, mhpmcounter3h..31h */
	{ 0xc00, 0xc02 }, /* cycle, time, instret */
	{ 0xc80, 0xc82 }, /* cycleh, timeh, instreth */
	{ 0xf11, 0xf15 }, /* mvendorid, marchid, mimpid, mhartid, mconfigptr */
};

bool ref_csr_exists(uint32_t csr)
{
	size_t i;

	for (i = 0; i < sizeof(csr_ranges) / sizeof(csr_ranges[0]); i++)
		if (csr >= csr_ranges[i][0] && csr <= csr_ranges[i][1])
			return true;
	return false;
}

bool ref_csr_legal(uint32_t word)
{
	uint32_t csr = word >> 20;
	bool swaps = (word >> 12 & 3) == 1;
	bool writes = swaps || (word >> 15 & 31) != 0;

	return ref_csr_exists(csr) && !(writes && csr >= 0xc00);
}

static void check_field(const struct ref_insn *insn, bool fits)
{
	if (!fits)
		fail_msg("%s: operand does not fit its field", insn->name);
}

uint32_t ref_encode_r(const struct ref_insn *insn, unsigned int rd, unsigned int rs1,
		      unsigned int rs2)
{
	check_field(insn, rd < 32 && rs1 < 32 && rs2 < 32);
	return insn->match | rs2 << 20 | rs1 << 15 | rd << 7;
}

uint32_t ref_encode_i(const struct ref_insn *insn, unsigned int rd, unsigned int rs1, int32_t imm)
{
	check_field(insn, rd < 32 && rs1 < 32 && imm >= -2048 && imm < 2048);
	return insn->match | (uint32_t)imm << 20 | rs1 << 15 | rd << 7;
}

uint32_t ref_encode_shift(const struct ref_insn *insn, unsigned int rd, unsigned int rs1,
			  unsigned int shamt)
{
	return ref_encode_r(insn, rd, rs1, shamt);
}

uint32_t ref_encode_s(const struct ref_insn *insn, unsigned int rs2, unsigned int rs1, int32_t imm)
{
	uint32_t u = (uint32_t)imm;

	check_field(insn, rs2 < 32 && rs1 < 32 && imm >= -2048 && imm < 2048);
	return insn->match | (u >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | (u & 0x1f) << 7;
}

uint32_t ref_encode_b(const struct ref_insn *insn, unsigned int rs1, unsigned int rs2, int32_t imm)
{
	uint32_t u = (uint32_t)imm;

	check_field(insn, rs2 < 32 && rs1 < 32 && imm >= -4096 && imm < 4096 && !(imm & 1));
	return insn->match | (u >> 12 & 1) << 31 | (u >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 |
	       (u >> 1 & 0xf) << 8 | (u >> 11 & 1) << 7;
}

uint32_t ref_encode_u(const struct ref_insn *insn, unsigned int rd, uint32_t imm20)
{
	check_field(insn, rd < 32 && imm20 < 1u << 20);
	return insn->match | imm20 << 12 | rd << 7;
}

uint32_t ref_encode_j(const struct ref_insn *insn, unsigned int rd, int32_t imm)
{
	uint32_t u = (uint32_t)imm;

	check_field(insn, rd < 32 && imm >= -(1 << 20) && imm < 1 << 20 && !(imm & 1));
	return insn->match | (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 |
	       (u >> 12 & 0xff) << 12 | rd << 7;
}

uint32_t ref_encode_csr(const char *name, unsigned int rd, unsigned int operand, uint32_t csr)
{
	const struct ref_insn *insn = ref_find(name);

	check_field(insn, rd < 32 && operand < 32 && csr < 4096);
	return insn->match | csr << 20 | operand << 15 | rd << 7;
}

/*
 * Returns the immediate of @word, sign-extended from @bits bits: bit @lowest + i of the immediate
 * is bit @to[i] of the word, and the bits below @lowest are zero.
 */
static int32_t gather(uint32_t word, const uint8_t *to, unsigned int bits, unsigned int lowest)
{
	int64_t value = 0;
	unsigned int i;

	for (i = lowest; i < bits; i++)
		value += (int64_t)(word >> to[i - lowest] & 1) << i;
	return (int32_t)(word >> 31 ? value - ((int64_t)1 << bits) : value);
}

static int32_t imm_i(uint32_t word)
{
	static const uint8_t at[] = { 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };

	return gather(word, at, 12, 0);
}

static int32_t imm_s(uint32_t word)
{
	static const uint8_t at[] = { 7, 8, 9, 10, 11, 25, 26, 27, 28, 29, 30, 31 };

	return gather(word, at, 12, 0);
}

static int32_t imm_b(uint32_t word)
{
	static const uint8_t at[] = { 8, 9, 10, 11, 25, 26, 27, 28, 29, 30, 7, 31 };

	return gather(word, at, 13, 1);
}

static int32_t imm_j(uint32_t word)
{
	static const uint8_t at[] = { 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
				      20, 12, 13, 14, 15, 16, 17, 18, 19, 31 };

	return gather(word, at, 21, 1);
}

static bool in_memory(const struct ref_machine *m, uint32_t addr, unsigned int size)
{
	return addr >= m->mem_base && (uint64_t)addr + size <= (uint64_t)m->mem_base + m->mem_size;
}

static void trap(struct ref_outcome *out, uint32_t cause, uint32_t tval)
{
	out->traps = true;
	out->cause = cause;
	out->tval = tval;
}

static void set_rd(struct ref_machine *m, uint32_t word, uint32_t value)
{
	if (word >> 7 & 31)
		m->x[word >> 7 & 31] = value;
}

static void load(struct ref_machine *m, uint32_t word, struct ref_outcome *out)
{
	uint32_t addr = m->x[word >> 15 & 31] + (uint32_t)imm_i(word);
	unsigned int size = out->insn->size, i;
	uint32_t raw = 0;

	if (addr % size) {
		trap(out, 4, addr);
	} else if (!in_memory(m, addr, size)) {
		trap(out, 5, addr);
	} else {
		for (i = 0; i < size; i++)
			raw += (uint32_t)m->mem[addr - m->mem_base + i] << (8 * i);
		set_rd(m, word, out->insn->f(raw, 0));
		m->pc += 4;
	}
}

static void store(struct ref_machine *m, uint32_t word, struct ref_outcome *out)
{
	uint32_t addr = m->x[word >> 15 & 31] + (uint32_t)imm_s(word);
	unsigned int size = out->insn->size, i;

	if (addr % size) {
		trap(out, 6, addr);
	} else if (!in_memory(m, addr, size)) {
		trap(out, 7, addr);
	} else {
		for (i = 0; i < size; i++)
			m->mem[addr - m->mem_base + i] =
				(uint8_t)(m->x[word >> 20 & 31] >> (8 * i));
		m->pc += 4;
	}
}

static void jump(struct ref_machine *m, uint32_t word, uint32_t target, struct ref_outcome *out)
{
	if (target % 4) {
		trap(out, 0, target);
		return;
	}
	if (out->insn->kind != REF_BRANCH)
		set_rd(m, word, m->pc + 4);
	m->pc = target;
	out->cycles = 2;
}

static void compute(struct ref_machine *m, uint32_t word, uint32_t value)
{
	set_rd(m, word, value);
	m->pc += 4;
}

static void step_control(struct ref_machine *m, uint32_t word, struct ref_outcome *out)
{
	uint32_t a = m->x[word >> 15 & 31];
	uint32_t b = m->x[word >> 20 & 31];

	switch (out->insn->kind) {
	case REF_JAL:
		jump(m, word, m->pc + (uint32_t)imm_j(word), out);
		break;
	case REF_JALR:
		jump(m, word, (a + (uint32_t)imm_i(word)) / 2 * 2, out);
		break;
	case REF_BRANCH:
		if (out->insn->f(a, b))
			jump(m, word, m->pc + (uint32_t)imm_b(word), out);
		else
			m->pc += 4;
		break;
	case REF_ECALL:
		trap(out, 11, 0);
		break;
	case REF_EBREAK:
		trap(out, 3, m->pc);
		break;
	case REF_CSR:
		if (ref_csr_legal(word))
			m->pc += 4;
		else
			trap(out, 2, word);
		break;
	case REF_MRET:
		break;
	default: /* fences and WFI */
		m->pc += 4;
	}
}

struct ref_outcome ref_step(struct ref_machine *m, uint32_t word)
{
	struct ref_outcome out = { .insn = ref_decode(word) };
	uint32_t a = m->x[word >> 15 & 31];

	if (!out.insn) {
		trap(&out, 2, word);
		return out;
	}
	out.cycles = out.insn->cycles;
	switch (out.insn->kind) {
	case REF_OP:
		compute(m, word, out.insn->f(a, m->x[word >> 20 & 31]));
		break;
	case REF_OP_IMM:
		compute(m, word, out.insn->f(a, (uint32_t)imm_i(word)));
		break;
	case REF_SHIFT_IMM:
		compute(m, word, out.insn->f(a, word >> 20 & 31));
		break;
	case REF_LUI:
		compute(m, word, word / 4096 * 4096);
		break;
	case REF_AUIPC:
		compute(m, word, m->pc + word / 4096 * 4096);
		break;
	case REF_LOAD:
		load(m, word, &out);
		break;
	case REF_STORE:
		store(m, word, &out);
		break;
	default:
		step_control(m, word, &out);
	}
	return out;
}
