// SPDX-License-Identifier: MIT
/*
 * Fuzz target of command streams: instructions with operands that fit, instructions with random
 * fields, and random words, mixed.
 *
 * The input is flags of twins.h, the initial semaphores, 16 bytes of damage, then instructions,
 * each with a byte that says its kind.
 */
#include "twins.h"

/*
 * The value of an instruction's first byte gives its kind, as below. For a template, bits 2 and 3
 * of that byte are the number of calls of template_flip(), which changes its slots, if bits 0 and 1
 * are 0; else the slots stay as they are.
 */
#define KIND_RAW    0x40 /* first bytes below: 16 raw bytes follow */
#define KIND_FIELDS 0x80 /* first bytes below: an opcode with random fields; others: a template */

static void append_words(struct twins_program *p, const uint32_t w[ONPU_INSN_WORDS])
{
	memcpy(p->insn[p->num_insns++], w, sizeof(p->insn[0]));
}

/*
 * Appends an instruction with random fields. Slot indices are 16 bits at 16, 32, 48, 64, 80; most
 * must be in the table.
 */
static void any_fields(struct fuzz_input *in, struct twins_program *p)
{
	const struct onpu_op_info *info = &onpu_op_info[fuzz_u8(in) % ONPU_OP_COUNT];
	struct onpu_insn insn;
	uint32_t w[ONPU_INSN_WORDS];
	uint16_t *const index[] = { &insn.dst, &insn.s0, &insn.s1, &insn.s2, &insn.param };

	fuzz_bytes(in, w, sizeof(w));
	for (unsigned int i = 0; i < ONPU_INSN_WORDS; i++)
		w[i] = (w[i] & ~info->fixed[i]) | info->match[i];
	if (!onpu_insn_unpack(w, &insn)) {
		for (unsigned int i = 0; i < ONPU_OPERAND_COUNT; i++) {
			if (info->operands[i].present && *index[i] >= 0x100)
				*index[i] = (uint16_t)(*index[i] % p->num_slots);
		}
		twins_append(p, &insn);
	} else {
		append_words(p, w);
	}
}

static void from_template(struct fuzz_input *in, struct twins_program *p, unsigned int changes)
{
	enum onpu_op op = (enum onpu_op)(fuzz_u8(in) % ONPU_OP_COUNT);
	struct template t;

	template_make(in, op, (uint16_t)p->num_slots, &t);
	while (changes--)
		template_flip(in, t.slot, sizeof(t.slot));
	memcpy(&p->slot[p->num_slots], t.slot, sizeof(t.slot));
	p->num_slots += ONPU_OPERAND_COUNT;
	twins_append(p, &t.insn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct twins_program p;
	const struct onpu_insn end = { .op = ONPU_OP_END };
	struct fuzz_input in = { data, size };

	p.flags = fuzz_u8(&in);
	p.num_insns = 0;
	p.num_slots = 1;
	template_program_slot(&in, &p.slot[0]);
	fuzz_bytes(&in, p.damage, sizeof(p.damage));
	while (in.left && p.num_insns < 24 && p.num_slots < TWINS_MAX_SLOTS - ONPU_OPERAND_COUNT) {
		uint8_t kind = fuzz_u8(&in);

		if (kind < KIND_RAW) {
			uint32_t w[ONPU_INSN_WORDS];

			fuzz_bytes(&in, w, sizeof(w));
			append_words(&p, w);
		} else if (kind < KIND_FIELDS) {
			any_fields(&in, &p);
		} else {
			from_template(&in, &p, kind & 3 ? 0 : kind >> 2 & 3);
		}
	}
	/* Some programs have no END and run past their end. */
	if (!(p.damage[15] & 1))
		twins_append(&p, &end);
	twins_run(&p);
	return 0;
}
