// SPDX-License-Identifier: MIT
/* Checks a program without running it, and reports findings; onpu-isa and tests call it. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isa/assembler.h"

#define NOBODY 0xff

static const char *const operand_names[] = { "DST", "S0", "S1", "S2", "PARAM" };
static const char *const engine_names[] = { "cp", "ld", "st", "mxu", "vpu" };

struct semaphore {
	uint8_t signaller, waiter; /* enum onpu_engine or NOBODY */
	uint64_t signalled, waited;
	uint32_t first_wait;
};

struct check {
	const union onpu_slot *slots;
	uint32_t num_slots;
	const struct onpu_check_report *report;
	unsigned int errors;
	struct semaphore sem[ONPU_NUM_SEMAPHORES];
};

__attribute__((format(printf, 4, 5))) static void find(struct check *c, uint32_t insn,
						       bool is_error, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	c->errors += is_error;
	c->report->finding(c->report->ctx, insn, is_error, message);
}

static void check_tensor(struct check *c, uint32_t index, unsigned int operand,
			 const struct onpu_op_info *op, uint32_t slot)
{
	const struct onpu_slot_tensor *tensor = &c->slots[slot].tensor;
	bool local = op->engine == ONPU_ENG_MXU || op->engine == ONPU_ENG_VPU;

	if (tensor->kind != ONPU_SLOT_TENSOR) {
		find(c, index, true, "%s: %s is slot %u of kind %u, it must be a TENSOR", op->name,
		     operand_names[operand], slot, tensor->kind);
		return;
	}
	if (tensor->dtype >= ONPU_DT_COUNT || !(op->operands[operand].dtypes >> tensor->dtype & 1))
		find(c, index, true, "%s: %s does not take element type %u (slot %u)", op->name,
		     operand_names[operand], tensor->dtype, slot);
	if (local && tensor->space != ONPU_SPACE_SRAM)
		find(c, index, true, "%s: %s must be in SRAM (slot %u)", op->name,
		     operand_names[operand], slot);
}

static void check_operand(struct check *c, uint32_t index, unsigned int operand,
			  const struct onpu_op_info *op, uint32_t slot)
{
	if (!slot) {
		if (!op->operands[operand].optional)
			find(c, index, true, "%s: %s is required, slot 0 is not an operand",
			     op->name, operand_names[operand]);
		return;
	}
	if (!c->slots)
		return;
	if (slot >= c->num_slots)
		find(c, index, true,
		     "%s: %s is slot %u, but slots count from 0 and their number is %u", op->name,
		     operand_names[operand], slot, c->num_slots);
	else if (operand != ONPU_OPERAND_PARAM)
		check_tensor(c, index, operand, op, slot);
	else if (c->slots[slot].param.kind != ONPU_SLOT_PARAM ||
		 c->slots[slot].param.schema != op->schema)
		find(c, index, true, "%s: PARAM must be a PARAM slot of schema %u (slot %u)",
		     op->name, op->schema, slot);
}

/* Notes the engine that signals, or waits for, a semaphore; only one engine may. */
static void take_role(struct check *c, uint32_t index, uint32_t sem, uint8_t *role,
		      enum onpu_engine engine, const char *verb)
{
	if (*role == NOBODY)
		*role = (uint8_t)engine;
	else if (*role != engine)
		find(c, index, true, "semaphore s%u is %s by %s here, by %s before; only one may",
		     sem, verb, engine_names[engine], engine_names[*role]);
}

static void wait_for(struct check *c, uint32_t index, const struct onpu_insn *insn, uint32_t sem,
		     uint32_t count)
{
	struct semaphore *s = &c->sem[sem];

	take_role(c, index, sem, &s->waiter, onpu_insn_engine(insn), "waited for");
	if (!s->waited)
		s->first_wait = index;
	s->waited += count;
}

static void signal(struct check *c, uint32_t index, const struct onpu_insn *insn, uint32_t sem,
		   uint32_t count)
{
	take_role(c, index, sem, &c->sem[sem].signaller, onpu_insn_engine(insn), "signalled");
	c->sem[sem].signalled += count;
}

static void check_instruction(struct check *c, uint32_t index, const struct onpu_insn *insn)
{
	const struct onpu_op_info *op = &onpu_op_info[insn->op];
	const uint32_t slots[] = { insn->dst, insn->s0, insn->s1, insn->s2, insn->param };
	unsigned int i;

	for (i = 0; i < ONPU_OPERAND_COUNT; i++)
		if (op->operands[i].present)
			check_operand(c, index, i, op, slots[i]);
	if (insn->wv)
		wait_for(c, index, insn, insn->wsem, 1);
	if (insn->op == ONPU_OP_SEM_WAIT)
		wait_for(c, index, insn, insn->sem, insn->count);
	if (insn->op == ONPU_OP_SEM_SIGNAL)
		signal(c, index, insn, insn->sem, insn->count);
	if (insn->sv)
		signal(c, index, insn, insn->ssem, 1);
}

static void check_semaphores(struct check *c)
{
	uint32_t i;

	for (i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		const struct semaphore *s = &c->sem[i];
		uint64_t given = s->signalled;

		if (c->slots && c->num_slots)
			given += c->slots[0].program.sem_init[i];
		if (s->waited > given)
			find(c, s->first_wait, c->slots != NULL,
			     "semaphore s%u is waited for %llu times but gets %llu tokens%s", i,
			     (unsigned long long)s->waited, (unsigned long long)given,
			     c->slots ? "" : ", unless the PROGRAM slot has initial ones");
		if (s->signaller != NOBODY && s->waiter == NOBODY)
			find(c, ONPU_CHECK_PROGRAM, false,
			     "semaphore s%u is signalled, but nothing waits for it", i);
	}
}

static void check_program_slot(struct check *c)
{
	if (!c->slots)
		return;
	if (!c->num_slots || c->slots[0].program.kind != ONPU_SLOT_PROGRAM)
		find(c, ONPU_CHECK_PROGRAM, true, "slot 0 must be the PROGRAM slot");
	else if (!c->slots[0].program.isa_major || c->slots[0].program.isa_major > ONPU_ISA_MAJOR)
		find(c, ONPU_CHECK_PROGRAM, true,
		     "the PROGRAM slot is for instruction set %u, not 1 to %u",
		     c->slots[0].program.isa_major, ONPU_ISA_MAJOR);
}

unsigned int onpu_check_program(const uint32_t (*words)[ONPU_INSN_WORDS], uint32_t count,
				const union onpu_slot *slots, uint32_t num_slots,
				const struct onpu_check_report *report)
{
	struct check c = { slots, num_slots, report, 0, { { 0 } } };
	struct onpu_insn insn = { 0 };
	uint32_t i;

	for (i = 0; i < ONPU_NUM_SEMAPHORES; i++)
		c.sem[i].signaller = c.sem[i].waiter = NOBODY;
	check_program_slot(&c);
	for (i = 0; i < count; i++) {
		enum onpu_fault fault = onpu_insn_unpack(words[i], &insn);

		if (fault)
			find(&c, i, true,
			     fault == ONPU_FAULT_ILLEGAL_OPCODE ?
				     "no such opcode" :
				     "%s: a reserved bit is set or a field holds no legal value",
			     fault == ONPU_FAULT_ILLEGAL_OPCODE ? "" : onpu_op_info[insn.op].name);
		else
			check_instruction(&c, i, &insn);
	}
	if (!count || insn.op != ONPU_OP_END)
		find(&c, ONPU_CHECK_PROGRAM, true, "the last instruction must be: end 0");
	check_semaphores(&c);
	return c.errors;
}
