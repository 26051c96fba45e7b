// SPDX-License-Identifier: MIT
/*
 * Tests the assembler and the disassembler, and the errors that assembler and checker report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "isa/assembler.h"
#include "random_insn.h"

#define ROUNDS 500

static void assemble(const char *line, uint32_t w[ONPU_INSN_WORDS])
{
	struct onpu_asm_error err;

	if (onpu_asm_line(line, w, &err) != 1)
		fail_msg("'%s': column %u: %s", line, err.column, err.message);
}

/*
 * Checks that the disassembled text of a word assembles to the same word, and that this word has
 * the same text.
 */
static void roundtrip(const uint32_t w[ONPU_INSN_WORDS])
{
	char text[ONPU_TEXT_MAX], again[ONPU_TEXT_MAX];
	uint32_t back[ONPU_INSN_WORDS];

	onpu_disasm(w, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text) - 1);
	assemble(text, back);
	if (memcmp(w, back, sizeof(back)))
		fail_msg("'%s' has other words", text);
	onpu_disasm(back, again, sizeof(again));
	assert_string_equal(text, again);
}

static void test_every_instruction(void **state)
{
	struct rng rng = { 3 };
	unsigned int op, round;

	(void)state;
	for (op = 0; op < ONPU_OP_COUNT; op++) {
		for (round = 0; round < ROUNDS; round++) {
			struct onpu_insn insn;
			uint32_t w[ONPU_INSN_WORDS];

			random_insn(&rng, (enum onpu_op)op, &insn);
			assert_int_equal(onpu_insn_pack(&insn, w), 0);
			roundtrip(w);
		}
	}
}

/*
 * Tests that any 128 bits are the same after disassembling and assembling; words that are no
 * instruction become .word.
 */
static void test_every_word(void **state)
{
	struct rng rng = { 5 };
	unsigned int round, illegal = 0;

	(void)state;
	for (round = 0; round < 20000; round++) {
		uint32_t w[ONPU_INSN_WORDS] = { rng_u32(&rng), rng_u32(&rng), rng_u32(&rng),
						rng_u32(&rng) };
		char text[ONPU_TEXT_MAX];

		/* Most words have an existing opcode. */
		w[3] = (w[3] & 0xffff) | onpu_op_info[rng_u32(&rng) % ONPU_OP_COUNT].match[3];
		if (rng_u32(&rng) % 4 == 0)
			w[3] ^= 1u << (16 + rng_u32(&rng) % 16);
		illegal += onpu_disasm(w, text, sizeof(text)) != ONPU_FAULT_NONE;
		roundtrip(w);
	}
	assert_true(illegal > 1000);
}

static void test_known_text(void **state)
{
	static const char *const lines[] = {
		"nop",
		"end 65535",
		"sem.wait mxu, s63, 0",
		"sem.signal st, s0, 65535",
		"barrier 0x1f",
		"timestamp d7",
		"preempt 4294967295",
		"trap 1",
		"dma.copy.st.ts d1, d2",
		"dma.gather.axis.st.neg.clamp d1, d2, d3, p4",
		"?s1 mma.i8.acc d1, d2, d3, zp=d4, p5 !s2",
		"mma.f32.by32.acc.ts d1, d2, d3, p4",
		"mma.f32.by8 d1, d2, d3, p0",
		"vadd d1, d2, d3",
		"velu d1, d2, p3",
		"rsumsq.part.acc.ts d1, d2, axes=0xff",
		"rmax.lanes d1, d2, axes=0x0",
		"rargmin.last d1, d2, p0, axis=7",
		"scan.sum.excl.rev d1, d2, carry=d0, axis=1",
		"quant d1, d2, scale=d3, zp=d4",
		"win.mac.acc d1, d2, d3, p4",
		"tri d1, d2, p3",
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint32_t w[ONPU_INSN_WORDS];
		char text[ONPU_TEXT_MAX];

		assemble(lines[i], w);
		assert_int_equal(onpu_disasm(w, text, sizeof(text)), ONPU_FAULT_NONE);
		assert_string_equal(text, lines[i]);
	}
}

/* Tests that spaces, comments and the base of numbers do not change the instruction. */
static void test_free_form(void **state)
{
	static const char *const same[] = {
		"?s1 vadd d1, d2, d16 !s2",	      "  ?s1   vadd   d1,d2,d0x10!s2",
		"\t?s1\tvadd d1 , d2 ,\td16 !s2 ; x", "?s1 vadd d1, d2, d16 !s2# y",
		"?s1 vadd d1, d2, d16 !s2   \n",
	};
	struct onpu_asm_error err;
	uint32_t first[ONPU_INSN_WORDS], w[ONPU_INSN_WORDS];
	unsigned int i;

	(void)state;
	assemble(same[0], first);
	for (i = 1; i < sizeof(same) / sizeof(same[0]); i++) {
		assemble(same[i], w);
		assert_memory_equal(first, w, sizeof(w));
	}
	assert_int_equal(onpu_asm_line("", w, &err), 0);
	assert_int_equal(onpu_asm_line("   ; nothing", w, &err), 0);
	assert_int_equal(onpu_asm_line("# nothing", w, &err), 0);
}

static void test_errors(void **state)
{
	static const struct {
		const char *line;
		unsigned int column;
		const char *token, *message;
	} cases[] = {
		{ "vad d1, d2, d3", 1, "vad", "is it vadd?" },
		{ "zzzzzzzzzz d1", 1, "zzzzzzzzzz", "no such instruction" },
		{ "?s1", 4, "", "expected an instruction" },
		{ "vadd d1 d2", 9, "d2", "expected ','" },
		{ "vadd d1, d2", 12, "", "vadd dDST, dS0, dS1" },
		{ "vadd p1, d2, d3", 6, "p1", "expected 'd'" },
		{ "vadd d1, d2, d70000", 15, "70000", "at most 65535" },
		{ "vadd d1, d2, d99999999999999999999", 15, "99999999999999999999",
		  "at most 65535" },
		{ "vadd d1, d2, d3x", 15, "3x", "decimal number" },
		{ "vadd d1, d2, d", 15, "", "decimal number" },
		{ "?s64 nop", 1, "?s64", "?s0 to ?s63" },
		{ "nop !s64", 5, "!s64", "!s0 to !s63" },
		{ "sem.wait gpu, s1, 2", 10, "gpu", "cp, ld, st, mxu, vpu" },
		{ "sem.wait cp, s64, 2", 15, "64", "at most 63" },
		{ "rsum.acc d1, d2, axes=0x3", 5, ".acc", "rsum[.part|.part.acc|.lanes] dDST" },
		{ "rsum d1, d2, axes=3", 19, "3", "axes=0xAXES" },
		{ "barrier 0xg", 11, "g", "hexadecimal number" },
		{ "rargmax d1, d2, p3, axis=8", 26, "8", "at most 7" },
		{ "end 5 6", 7, "6", "end of the line" },
		{ ".word 0x1 0x2 0x3", 18, "", "four numbers" },
		{ ".word 0x1 0x2 0x3 0x100000000", 19, "0x100000000", "at most 4294967295" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct onpu_asm_error err;
		uint32_t w[ONPU_INSN_WORDS];

		assert_int_equal(onpu_asm_line(cases[i].line, w, &err), -1);
		if (err.column != cases[i].column || strcmp(err.token, cases[i].token) ||
		    !strstr(err.message, cases[i].message))
			fail_msg("'%s': column %u, token '%s': %s", cases[i].line, err.column,
				 err.token, err.message);
	}
}

/*
 * Tests that random characters do no harm. A line that is accepted has the same words after
 * disassembling and assembling.
 */
static void test_garbage(void **state)
{
	static const char alphabet[] = "vadmxsrecp.?!0123456789x, =d;#\t\x7f\xff";
	struct rng rng = { 11 };
	unsigned int round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		char line[64];
		struct onpu_asm_error err;
		uint32_t w[ONPU_INSN_WORDS];
		unsigned int length = rng_u32(&rng) % (sizeof(line) - 1);

		for (i = 0; i < length; i++)
			line[i] = alphabet[rng_u32(&rng) % (sizeof(alphabet) - 1)];
		line[length] = 0;
		if (onpu_asm_line(line, w, &err) == 1)
			roundtrip(w);
	}
}

struct findings {
	char text[2048];
};

static void collect(void *ctx, uint32_t insn, int is_error, const char *message)
{
	struct findings *f = ctx;
	size_t used = strlen(f->text);

	snprintf(f->text + used, sizeof(f->text) - used, "%s %d: %s\n", is_error ? "error" : "hint",
		 insn == ONPU_CHECK_PROGRAM ? -1 : (int)insn, message);
}

static unsigned int check(const char *program, const union onpu_slot *slots, uint32_t num_slots,
			  struct findings *f)
{
	const struct onpu_check_report report = { collect, f };
	uint32_t words[16][ONPU_INSN_WORDS];
	uint32_t count = 0;
	const char *line;

	f->text[0] = 0;
	for (line = program; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		assert_true(count < 16);
		assemble(line, words[count++]);
	}
	return onpu_check_program((const uint32_t(*)[ONPU_INSN_WORDS])words, count, slots,
				  num_slots, &report);
}

static void expect_error(const char *program, const union onpu_slot *slots, uint32_t num_slots,
			 const char *message)
{
	struct findings f;

	assert_int_equal(check(program, slots, num_slots, &f), 1);
	if (!strstr(f.text, message))
		fail_msg("'%s' is not in: %s", message, f.text);
}

static void test_check(void **state)
{
	struct findings f;

	(void)state;
	assert_int_equal(check("dma.copy d1, d2 !s1\n?s1 vadd d3, d1, d1\nend 0", NULL, 0, &f), 0);
	assert_string_equal(f.text, "");
	expect_error("vadd d1, d2, d3", NULL, 0, "error -1: the last instruction must be: end 0");
	expect_error("vadd d0, d2, d3\nend 0", NULL, 0, "error 0: vadd: DST is required");
	expect_error("velu d1, d2, p0\nend 0", NULL, 0, "velu: PARAM is required");
	expect_error(".word 0 0 0 0xff000000\nend 0", NULL, 0, "error 0: no such opcode");
	expect_error(".word 1 0 0 0\nend 0", NULL, 0, "nop: a reserved bit");
	expect_error("nop !s1\nvadd d1, d2, d3 !s1\n?s1 dma.copy d1, d2\nend 0", NULL, 0,
		     "error 1: semaphore s1 is signalled by vpu here, by cp before");
	expect_error("sem.signal cp, s1, 2\n?s1 dma.copy d1, d2\n?s1 dma.copy.st d1, d2\nend 0",
		     NULL, 0, "error 2: semaphore s1 is waited for by st here, by ld before");
	assert_int_equal(check("mma.i8 d1, d2, d3, zp=d0, p0\nend 0", NULL, 0, &f), 0);
	assert_int_equal(check("?s1 nop\nend 0", NULL, 0, &f), 0);
	assert_non_null(strstr(f.text, "hint 0: semaphore s1 is waited for 1 times"));
	assert_int_equal(check("nop !s1\nend 0", NULL, 0, &f), 0);
	assert_non_null(
		strstr(f.text, "hint -1: semaphore s1 is signalled, but nothing waits for it"));
}

static void test_check_slots(void **state)
{
	union onpu_slot slots[4];
	struct findings f;

	(void)state;
	memset(slots, 0, sizeof(slots));
	slots[0].program.kind = ONPU_SLOT_PROGRAM;
	slots[0].program.isa_major = ONPU_ISA_MAJOR;
	slots[0].program.sem_init[1] = 1;
	slots[1].tensor.kind = ONPU_SLOT_TENSOR;
	slots[1].tensor.dtype = ONPU_DT_F32;
	slots[2] = slots[1];
	slots[2].tensor.space = ONPU_SPACE_VA;
	slots[3].scalar.kind = ONPU_SLOT_PARAM;
	slots[3].scalar.schema = ONPU_SCHEMA_SCALAR;
	assert_int_equal(check("?s1 velu d1, d1, p3\nend 0", slots, 4, &f), 0);
	assert_string_equal(f.text, "");
	expect_error("?s1 nop\n?s1 nop\nend 0", slots, 4, "waited for 2 times but gets 1 tokens");
	expect_error("velu d1, d1, p4\nend 0", slots, 4,
		     "PARAM is slot 4, but slots count from 0 and their number is 4");
	expect_error("velu d1, d1, p1\nend 0", slots, 4, "PARAM must be a PARAM slot of schema 1");
	expect_error("velu d1, d3, p3\nend 0", slots, 4, "S0 is slot 3 of kind 2");
	expect_error("velu d1, d2, p3\nend 0", slots, 4, "S0 must be in SRAM");
	slots[2].tensor.space = ONPU_SPACE_SRAM;
	slots[1].tensor.dtype = ONPU_DT_I4;
	expect_error("velu d2, d1, p3\nend 0", slots, 4, "S0 does not take element type 11");
	slots[0].program.isa_major = 1;
	assert_int_equal(check("end 0", slots, 4, &f), 0);
	slots[0].program.isa_major = 3;
	expect_error("end 0", slots, 4, "for instruction set 3, not 1 to 2");
	slots[0].program.kind = ONPU_SLOT_PARAM;
	expect_error("end 0", slots, 4, "slot 0 must be the PROGRAM slot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instruction),
		cmocka_unit_test(test_every_word),
		cmocka_unit_test(test_known_text),
		cmocka_unit_test(test_free_form),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
