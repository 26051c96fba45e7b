// SPDX-License-Identifier: MIT
/*
 * Hostile programs for the management core: every class of illegal encoding traps as it should,
 * random words do exactly what the independent reference says, and no memory full of them makes the
 * core leave its bounds.
 *
 * RV32_FUZZ_WORDS in the environment sets the number of random words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rv32_reference.h"
#include "rv32_rig.h"

#define PC	   (RIG_TCM_BASE + 0x1000)
#define FUZZ_WORDS 20000000u
#define HANDLER	   (RIG_TCM_BASE + 0x2000)

static struct rig rig;
static struct rng rng;

static int setup(void **state)
{
	unsigned int i;

	(void)state;
	rig_init(&rig);
	rng.state = 0x2545f4914f6cdd1d;
	for (i = 1; i < 32; i++)
		rig.core.x[i] = rng_u32(&rng);
	rig_csr_write(&rig, 0x305, HANDLER);
	return 0;
}

static void expect_illegal(uint32_t word)
{
	uint32_t x[32];

	memcpy(x, rig.core.x, sizeof(x));
	rig_execute(&rig, PC, word);
	if (rig.core.mcause != 2 || rig.core.mtval != word || rig.core.mepc != PC ||
	    rig.core.pc != HANDLER || memcmp(x, rig.core.x, sizeof(x)))
		fail_msg("%08x: no illegal instruction trap: cause %#x, mtval %#x, pc %#x", word,
			 rig.core.mcause, rig.core.mtval, rig.core.pc);
}

/*
 * Words shorter or longer than 32 bits, and the two words that the manual defines as illegal, trap.
 */
static void test_illegal_lengths(void **state)
{
	uint32_t low, n;

	(void)state;
	expect_illegal(0);
	expect_illegal(0xffffffff);
	for (low = 0; low < 3; low++)
		for (n = 0; n < 1000; n++)
			expect_illegal((rng_u32(&rng) & ~3u) | low);
	for (n = 0; n < 1000; n++)
		expect_illegal(rng_u32(&rng) | 0x1f);
}

/* Tests that the 21 major opcodes that RV32IM lacks are illegal whatever the other bits. */
static void test_illegal_opcodes(void **state)
{
	static const uint8_t legal[] = { 0x03, 0x0f, 0x13, 0x17, 0x23, 0x33,
					 0x37, 0x63, 0x67, 0x6f, 0x73 };
	uint32_t opcode, n, refused = 0;

	(void)state;
	for (opcode = 3; opcode < 128; opcode += 4) {
		if (memchr(legal, (int)opcode, sizeof(legal)))
			continue;
		refused++;
		for (n = 0; n < 1000; n++)
			expect_illegal((rng_u32(&rng) & ~0x7fu) | opcode);
	}
	assert_int_equal(refused, 32 - 11);
}

/* funct3 values that an opcode does not define are illegal. */
static void test_illegal_funct3(void **state)
{
	static const struct {
		uint8_t opcode;
		uint8_t illegal; /* one bit for each funct3 */
	} rows[] = {
		{ 0x03, 0xc8 }, /* load: 3, 6, 7 (ld, lwu are RV64) */
		{ 0x23, 0xf8 }, /* store: 3 (sd is RV64) to 7 */
		{ 0x63, 0x0c }, /* branch: 2, 3 */
		{ 0x67, 0xfe }, /* jalr: all but 0 */
		{ 0x0f, 0xfc }, /* misc-mem: 2 and up */
		{ 0x73, 0x10 }, /* system: 4 (hypervisor) */
	};
	unsigned int i, f, n;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (f = 0; f < 8; f++)
			for (n = 0; n < 1000 && rows[i].illegal & 1u << f; n++)
				expect_illegal((rng_u32(&rng) & ~0x707fu) | f << 12 |
					       rows[i].opcode);
}

/* Every funct7 of OP and of the shifts by immediate is illegal, but for those that exist. */
static void test_illegal_funct7(void **state)
{
	uint32_t f7, f3, base;

	(void)state;
	for (f7 = 0; f7 < 128; f7++)
		for (f3 = 0; f3 < 8; f3++) {
			base = f7 << 25 | f3 << 12 | (rng_u32(&rng) & 0x01ff8f80);
			if (f7 > 1 && !(f7 == 0x20 && (f3 == 0 || f3 == 5)))
				expect_illegal(base | 0x33);
			if ((f3 == 1 && f7) || (f3 == 5 && f7 && f7 != 0x20))
				expect_illegal(base | 0x13);
		}
}

/* SYSTEM with funct3 0: four words exist; sret, uret, sfence.vma and all others are illegal. */
static void test_illegal_system(void **state)
{
	uint32_t imm, fields;

	(void)state;
	for (imm = 0; imm < 4096; imm++) {
		if (imm != 0 && imm != 1 && imm != 0x302 && imm != 0x105)
			expect_illegal(imm << 20 | 0x73);
		for (fields = 1; fields < 1024; fields += 31)
			expect_illegal(imm << 20 | (fields >> 5) << 15 | (fields & 31) << 7 | 0x73);
	}
}

/* Tests all 4096 CSR numbers with all six instructions, reading and writing. */
static void test_illegal_csr(void **state)
{
	static const char *const names[] = {
		"csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"
	};
	uint32_t csr, i, operand, word, refused = 0;

	(void)state;
	for (csr = 0; csr < 4096; csr++)
		for (i = 0; i < 6; i++)
			for (operand = 0; operand < 32; operand += 31) {
				word = ref_encode_csr(names[i], 3, operand, csr);
				if (ref_csr_legal(word))
					continue;
				expect_illegal(word);
				refused++;
			}
	assert_true(refused > 40000);
}

/* Random words run in lockstep on the core and on the reference. */
static uint8_t ref_mem[RIG_TCM_SIZE];
static struct ref_machine ref = {
	.mem = ref_mem,
	.mem_base = RIG_TCM_BASE,
	.mem_size = RIG_TCM_SIZE,
};

/* Returns a random word: half are any bits, half are close to an instruction that exists. */
static uint32_t random_word(void)
{
	const struct ref_insn *insn;
	uint32_t r = rng_u32(&rng);

	if (r & 1)
		return rng_u32(&rng);
	insn = &ref_insns[rng_u32(&rng) % ref_insn_count];
	r = (rng_u32(&rng) & ~insn->mask) | insn->match;
	if (rng_u32(&rng) % 8 == 0)
		r ^= 1u << rng_u32(&rng) % 32;
	return r;
}

static uint32_t random_register_value(void)
{
	uint32_t r = rng_u32(&rng);

	if (r & 1)
		return RIG_TCM_BASE - 2048 + rng_u32(&rng) % (RIG_TCM_SIZE + 4096);
	return rig_random_operand(&rng);
}

static void fuzz_fail(uint32_t word, const char *what, uint32_t is, uint32_t wanted)
{
	const struct ref_insn *insn = ref_decode(word);

	fail_msg("%08x (%s) at %#x: %s is %#x, not %#x", word, insn ? insn->name : "illegal",
		 ref.pc, what, is, wanted);
}

static void compare_trap(uint32_t word, const struct ref_outcome *out, uint32_t pc,
			 const struct onpu_rv32 *before)
{
	const struct onpu_rv32 *core = &rig.core;
	uint32_t mpie = before->mstatus & 8 ? 0x80 : 0;

	if (core->mcause != out->cause)
		fuzz_fail(word, "mcause", core->mcause, out->cause);
	if (core->mtval != out->tval)
		fuzz_fail(word, "mtval", core->mtval, out->tval);
	if (core->mepc != pc)
		fuzz_fail(word, "mepc", core->mepc, pc);
	if (core->pc != (before->mtvec & ~3u))
		fuzz_fail(word, "pc", core->pc, before->mtvec & ~3u);
	if (core->mstatus != mpie)
		fuzz_fail(word, "mstatus", core->mstatus, mpie);
	if (core->cycle - before->cycle != 4 || core->retired != before->retired)
		fuzz_fail(word, "trap cost", (uint32_t)(core->cycle - before->cycle), 4);
}

static void compare_done(uint32_t word, const struct ref_outcome *out,
			 const struct onpu_rv32 *before)
{
	const struct onpu_rv32 *core = &rig.core;
	uint32_t next = out->insn->kind == REF_MRET ? before->mepc : ref.pc;

	if (core->pc != next)
		fuzz_fail(word, "pc", core->pc, next);
	if (core->cycle - before->cycle != out->cycles)
		fuzz_fail(word, "cost", (uint32_t)(core->cycle - before->cycle), out->cycles);
	if (core->retired - before->retired != 1)
		fuzz_fail(word, "retired", (uint32_t)(core->retired - before->retired), 1);
	if (core->parked != (out->insn->kind == REF_WFI))
		fuzz_fail(word, "parked", core->parked, !core->parked);
	/* Another test checks the values of CSRs: the reference takes over the core's. */
	if (out->insn->kind == REF_CSR)
		ref.x[word >> 7 & 31] = word >> 7 & 31 ? core->x[word >> 7 & 31] : 0;
}

static void fuzz_one(uint32_t word)
{
	uint32_t pc = RIG_TCM_BASE + (rng_u32(&rng) % RIG_TCM_SIZE & ~3u);
	unsigned int reg = rng_u32(&rng) % 32;
	struct onpu_rv32 before;
	struct ref_outcome out;
	unsigned int i;

	if (reg)
		rig.core.x[reg] = ref.x[reg] = random_register_value();
	rig_poke(&rig, pc, word);
	memcpy(ref_mem + (pc - RIG_TCM_BASE), rig.tcm + (pc - RIG_TCM_BASE), 4);
	rig.core.pc = ref.pc = pc;
	before = rig.core;
	out = ref_step(&ref, word);
	rig_step(&rig);
	if (rig.core.halted) {
		/* The core halts only on an exception after an exception, in the handler. */
		if (!out.traps || !before.excepted || pc != (before.mtvec & ~3u) ||
		    rig.core.halt_cause != out.cause || rig.core.halt_tval != out.tval)
			fuzz_fail(word, "halt cause", rig.core.halt_cause, out.cause);
	} else if (out.traps) {
		compare_trap(word, &out, pc, &before);
	} else {
		compare_done(word, &out, &before);
	}
	for (i = 0; i < 32; i++)
		if (rig.core.x[i] != ref.x[i])
			fuzz_fail(word, "a register", rig.core.x[i], ref.x[i]);
	if (rig.core.halted || rig.core.parked) {
		onpu_rv32_reset(&rig.core, 0);
		memcpy(rig.core.x, ref.x, sizeof(ref.x));
	}
}

static unsigned int fuzz_words(void)
{
	const char *words = getenv("RV32_FUZZ_WORDS");

	return words ? (unsigned int)strtoul(words, NULL, 0) : FUZZ_WORDS;
}

static void test_fuzz_lockstep(void **state)
{
	unsigned int n, words = fuzz_words();

	(void)state;
	/* The reference has no device: every access outside the TCM faults. */
	rig.core.bus.load = NULL;
	rig.core.bus.store = NULL;
	memcpy(ref_mem, rig.tcm, sizeof(ref_mem));
	memcpy(ref.x, rig.core.x, sizeof(ref.x));
	for (n = 0; n < words; n++) {
		fuzz_one(random_word());
		if (n % 65536 == 0 && memcmp(ref_mem, rig.tcm, sizeof(ref_mem)))
			fail_msg("TCM differs after %u words", n);
	}
	assert_memory_equal(ref_mem, rig.tcm, sizeof(ref_mem));
}

static void check_invariants(const struct onpu_rv32 *core)
{
	assert_int_equal(core->x[0], 0);
	assert_int_equal(core->pc & 3, 0);
	assert_int_equal(core->mepc & 3, 0);
	assert_int_equal(core->mtvec & 2, 0);
	assert_int_equal(core->mstatus & ~0x88u, 0);
	assert_int_equal(core->mie & ~0x888u, 0);
	assert_int_equal(core->mcause & 0x7fffffe0, 0);
}

static void run_random_memory(unsigned int slices)
{
	struct onpu_rv32 *core = &rig.core;
	unsigned int i;

	for (i = 0; i < RIG_TCM_SIZE; i += 4)
		rig_poke(&rig, RIG_TCM_BASE + i, random_word());
	onpu_rv32_reset(core, RIG_TCM_BASE + rng_u32(&rng) % RIG_TCM_SIZE);
	for (i = 1; i < 32; i++)
		core->x[i] = random_register_value();
	core->mtvec = HANDLER | (rng_u32(&rng) & 1);
	for (i = 0; i < slices && !core->halted; i++) {
		uint64_t until = core->cycle + rng_u32(&rng) % 100;
		enum onpu_rv32_stop stop;

		onpu_rv32_set_irq(core, rng_u32(&rng), rng_u32(&rng) & 1);
		rig.raise = rng_u32(&rng);
		rig.yield = rng_u32(&rng) & 1;
		rig.answer = rng_u32(&rng);
		stop = onpu_rv32_run(core, until);
		check_invariants(core);
		assert_int_equal(core->halted, stop == ONPU_RV32_HALTED);
		if (stop == ONPU_RV32_BUDGET && core->cycle < until)
			fail_msg("budget not used: %u cycles left",
				 (unsigned int)(until - core->cycle));
		if (core->cycle > until + ONPU_RV32_COST_DIV)
			fail_msg("clock ran past its budget");
	}
}

static void test_fuzz_memory(void **state)
{
	uint64_t retired = 0;
	unsigned int n;

	(void)state;
	for (n = 0; n < 2000; n++) {
		run_random_memory(200);
		retired += rig.core.retired;
	}
	/* Most cores lock up soon, but not all. */
	assert_true(retired > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_illegal_lengths, setup),
		cmocka_unit_test_setup(test_illegal_opcodes, setup),
		cmocka_unit_test_setup(test_illegal_funct3, setup),
		cmocka_unit_test_setup(test_illegal_funct7, setup),
		cmocka_unit_test_setup(test_illegal_system, setup),
		cmocka_unit_test_setup(test_illegal_csr, setup),
		cmocka_unit_test_setup(test_fuzz_lockstep, setup),
		cmocka_unit_test_setup(test_fuzz_memory, setup),
	};

	ref_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
