// SPDX-License-Identifier: MIT
/*
 * Compares our instruction tables with Mesa's isaspec, both made from isa.xml: encodings and texts
 * of random instructions, and which words are instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/assembler.h"
#include "random_insn.h"

struct encode_state {
	unsigned int gen;
};

static inline enum onpu_op __instruction_case(struct encode_state *s, const struct onpu_insn *i)
{
	(void)s;
	return i->op;
}

#include "onpu-encode.h"
#include "onpu-isa.h"

#define ROUNDS 200

static unsigned int errors;

static void mesa_text(uint32_t w[ONPU_INSN_WORDS], char *text, size_t size, unsigned int *unmatched)
{
	static const struct isa_decode_options options = { .show_errors = true, .max_errors = 1 };
	FILE *out = fmemopen(text, size, "w");

	if (!out)
		abort();
	memset(text, 0, size);
	onpu_isa_disasm(w, ONPU_INSN_BYTES, out, &options);
	fclose(out);
	*unmatched = strstr(text, "no match") || strstr(text, "unexpected");
	text[strcspn(text, "\n")] = 0;
}

static void compare(const struct onpu_insn *insn)
{
	struct encode_state state = { 0 };
	uint32_t ours[ONPU_INSN_WORDS], theirs[ONPU_INSN_WORDS];
	char our_text[ONPU_TEXT_MAX], their_text[1024];
	const char *name = onpu_op_info[insn->op].name;
	unsigned int unmatched;

	if (onpu_insn_pack(insn, ours)) {
		printf("%s: a legal instruction does not pack\n", name);
		errors++;
		return;
	}
	store_instruction(theirs, encode__instruction(&state, NULL, insn));
	if (memcmp(ours, theirs, sizeof(ours))) {
		printf("%s: ours %08x %08x %08x %08x, isaspec %08x %08x %08x %08x\n", name, ours[0],
		       ours[1], ours[2], ours[3], theirs[0], theirs[1], theirs[2], theirs[3]);
		errors++;
	}
	onpu_disasm(ours, our_text, sizeof(our_text));
	mesa_text(ours, their_text, sizeof(their_text), &unmatched);
	if (strcmp(our_text, their_text) || unmatched) {
		printf("%s: ours '%s', isaspec '%s'\n", name, our_text, their_text);
		errors++;
	}
}

/* Changes each bit outside of all fields: both decoders must agree whether the word is valid. */
static void flip_fixed_bits(const struct onpu_insn *insn)
{
	const struct onpu_op_info *op = &onpu_op_info[insn->op];
	uint32_t w[ONPU_INSN_WORDS];
	char our_text[ONPU_TEXT_MAX], their_text[1024];
	unsigned int bit, unmatched, fault;

	onpu_insn_pack(insn, w);
	for (bit = 0; bit < 128; bit++) {
		if (!(op->fixed[bit / 32] >> bit % 32 & 1))
			continue;
		w[bit / 32] ^= 1u << bit % 32;
		fault = onpu_disasm(w, our_text, sizeof(our_text));
		mesa_text(w, their_text, sizeof(their_text), &unmatched);
		if (!fault != !unmatched) {
			printf("%s, bit %u changed: ours '%s', isaspec '%s'\n", op->name, bit,
			       our_text, their_text);
			errors++;
		}
		w[bit / 32] ^= 1u << bit % 32;
	}
}

int main(void)
{
	struct rng rng = { 1 };
	struct onpu_insn insn;
	unsigned int op, round;

	for (op = 0; op < ONPU_OP_COUNT; op++) {
		for (round = 0; round < ROUNDS; round++) {
			random_insn(&rng, (enum onpu_op)op, &insn);
			compare(&insn);
		}
		memset(&insn, 0, sizeof(insn));
		insn.op = (enum onpu_op)op;
		flip_fixed_bits(&insn);
	}
	printf("%u instructions compared, %u differences\n", ONPU_OP_COUNT * ROUNDS, errors);
	return errors != 0;
}
