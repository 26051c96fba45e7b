// SPDX-License-Identifier: MIT
/*
 * Fuzz target of slot tables: runs one instruction with slots that fit it, after some bytes of the
 * slots were changed.
 *
 * The input is flags of twins.h, the instruction, its template, the initial semaphores, then
 * records of template_flip() for the whole table.
 */
#include "twins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct twins_program p;
	const struct onpu_insn end = { .op = ONPU_OP_END, .code = 7 };
	struct fuzz_input in = { data, size };
	struct template t;

	p.flags = fuzz_u8(&in) & (uint8_t)~(TWINS_PREEMPT | TWINS_DAMAGE);
	template_make(&in, (enum onpu_op)(fuzz_u8(&in) % ONPU_OP_COUNT), 1, &t);
	template_program_slot(&in, &p.slot[0]);
	memcpy(&p.slot[1], t.slot, sizeof(t.slot));
	p.num_slots = 1 + ONPU_OPERAND_COUNT;
	while (in.left)
		template_flip(&in, p.slot, p.num_slots * sizeof(p.slot[0]));
	p.num_insns = 0;
	twins_append(&p, &t.insn);
	twins_append(&p, &end);
	twins_run(&p);
	return 0;
}
