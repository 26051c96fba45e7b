// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the assembler, the disassembler and the checker.
 *
 * An input whose first byte is below 0x09 is binary: that byte is the number of slots, and the
 * slots and then words follow. All other inputs are text. Text that assembles must survive a round
 * trip through the disassembler, and so must every word, legal or not; errors must point into their
 * line.
 */
#include "fuzz.h"
#include "isa/assembler.h"

#define LINE_MAX_BYTES 512
#define MAX_SLOTS      8
#define MAX_WORDS      64

/*
 * Disassembles an instruction into memory of exactly @size bytes and returns this memory; sets
 * *@fault to the result of onpu_disasm().
 */
static char *disassemble(const uint32_t w[ONPU_INSN_WORDS], size_t size, enum onpu_fault *fault)
{
	char *text = malloc(size);

	FUZZ_CHECK(text, "no memory");
	memset(text, 'x', size);
	*fault = onpu_disasm(w, text, size);
	FUZZ_CHECK(memchr(text, 0, size), "text without an end");
	return text;
}

/*
 * Checks that an instruction which is disassembled and assembled again is the same, and that with
 * too little memory the text is the beginning of the whole text.
 */
static void check_word(const uint32_t w[ONPU_INSN_WORDS], size_t cut)
{
	enum onpu_fault fault, cut_fault;
	char *text = disassemble(w, ONPU_TEXT_MAX, &fault);
	char *part = disassemble(w, cut, &cut_fault);
	uint32_t back[ONPU_INSN_WORDS], packed[ONPU_INSN_WORDS];
	struct onpu_asm_error err;
	struct onpu_insn insn;

	FUZZ_CHECK(strlen(text) < ONPU_TEXT_MAX - 1, "ONPU_TEXT_MAX is too small for '%s'", text);
	FUZZ_CHECK(fault == cut_fault && !strncmp(text, part, strlen(part)),
		   "'%s' cut at %zu is '%s'", text, cut, part);
	FUZZ_CHECK(onpu_asm_line(text, back, &err) == 1, "'%s' column %u: %s", text, err.column,
		   err.message);
	FUZZ_CHECK(!memcmp(w, back, sizeof(back)),
		   "'%s' is %08x %08x %08x %08x, not %08x %08x %08x %08x", text, back[0], back[1],
		   back[2], back[3], w[0], w[1], w[2], w[3]);
	FUZZ_CHECK(onpu_insn_unpack(w, &insn) == fault, "'%s' has two opinions", text);
	if (!fault) {
		FUZZ_CHECK(!onpu_insn_pack(&insn, packed), "'%s' does not pack", text);
		FUZZ_CHECK(!memcmp(w, packed, sizeof(packed)), "'%s' packs differently", text);
	}
	free(part);
	free(text);
}

static void check_line(const char *line)
{
	uint32_t w[ONPU_INSN_WORDS];
	struct onpu_asm_error err;
	int result = onpu_asm_line(line, w, &err);

	if (result > 0)
		check_word(w, 1 + strlen(line) % 40);
	if (result >= 0)
		return;
	FUZZ_CHECK(err.column >= 1 && err.column <= strlen(line) + 1, "'%s': column %u", line,
		   err.column);
	FUZZ_CHECK(err.message[0] && memchr(err.message, 0, sizeof(err.message)),
		   "'%s': no message", line);
	FUZZ_CHECK(memchr(err.token, 0, sizeof(err.token)), "'%s': token without an end", line);
}

/* Checks each line in memory of its own, so that reading past the end of the line is noticed. */
static void check_text(struct fuzz_input in)
{
	while (in.left) {
		const uint8_t *end = memchr(in.at, '\n', in.left);
		size_t length = end ? (size_t)(end - in.at) : in.left;
		size_t size = length < LINE_MAX_BYTES ? length : LINE_MAX_BYTES;
		char *line = malloc(size + 1);

		FUZZ_CHECK(line, "no memory");
		memcpy(line, in.at, size);
		line[size] = 0;
		check_line(line);
		free(line);
		in.at += length + (end != NULL);
		in.left -= length + (end != NULL);
	}
}

struct findings {
	unsigned int errors;
	uint32_t count;
};

static void finding(void *ctx, uint32_t insn, int is_error, const char *message)
{
	struct findings *f = ctx;

	FUZZ_CHECK(insn == ONPU_CHECK_PROGRAM || insn < f->count, "instruction %u of %u", insn,
		   f->count);
	FUZZ_CHECK(message[0], "no message");
	f->errors += is_error != 0;
}

static void check_binary(struct fuzz_input in)
{
	uint32_t num_slots = fuzz_u8(&in) % (MAX_SLOTS + 1), count = 0;
	union onpu_slot *slots = calloc(num_slots + 1, sizeof(*slots));
	uint32_t words[MAX_WORDS][ONPU_INSN_WORDS];
	struct findings f = { 0, 0 };
	struct onpu_check_report report = { finding, &f };
	unsigned int errors;

	FUZZ_CHECK(slots, "no memory");
	fuzz_bytes(&in, slots, num_slots * sizeof(*slots));
	while (in.left && count < MAX_WORDS)
		fuzz_bytes(&in, words[count++], sizeof(words[0]));
	for (uint32_t i = 0; i < count; i++)
		check_word(words[i], 1 + words[i][0] % 100);
	f.count = count;
	errors = onpu_check_program((const uint32_t(*)[ONPU_INSN_WORDS])words, count,
				    num_slots ? slots : NULL, num_slots, &report);
	FUZZ_CHECK(errors == f.errors, "%u errors were counted, %u reported", errors, f.errors);
	free(slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (size && data[0] <= MAX_SLOTS)
		check_binary(in);
	else
		check_text(in);
	return 0;
}
