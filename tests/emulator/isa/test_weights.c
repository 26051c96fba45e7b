// SPDX-License-Identifier: MIT
/*
 * Tests the types of mma.w: each bit pattern of each type against the reference, numbers that the
 * formats' specifications (OCP 8-bit floats, OCP MX) name, and the faults of instructions and
 * machines without these types.
 */
#include <stdio.h>
#include <string.h>

#include "isa_rig.h"
#include "reference.h"

/* Addresses in SRAM: the result, data, weights, scales. */
enum { RESULT = 0, DATA = 4096, WEIGHTS = 8192, SCALES = 16384 };

static struct rig_job job;
static unsigned int checks, failures;

static void fail(const char *what, unsigned int dtype, unsigned int bits)
{
	printf("%s: type %u, pattern 0x%x\n", what, dtype, bits);
	failures++;
}

/* Puts a dense tensor of two dims, or of one when @rows is 0, into a slot. */
static void tensor(unsigned int index, unsigned int dtype, uint64_t base, uint32_t rows,
		   uint32_t columns)
{
	union onpu_slot slot;
	struct onpu_slot_tensor *t = &slot.tensor;
	unsigned int last = rows ? 1 : 0;

	memset(&slot, 0, sizeof(slot));
	t->kind = ONPU_SLOT_TENSOR;
	t->dtype = (uint8_t)dtype;
	t->rank = (uint8_t)(last + 1);
	t->space = ONPU_SPACE_SRAM;
	t->base = base;
	t->size = 4096;
	t->dim[0] = rows;
	t->dim[last] = columns;
	t->stride[0] = (int64_t)ref_size(dtype) * columns;
	t->stride[last] = ref_size(dtype);
	rig_put_slot(&job, index, &slot);
}

static void program(enum onpu_op op, bool scales)
{
	const struct onpu_insn end = { .op = ONPU_OP_END };

	rig_put_insn(
		&job, 0,
		&(struct onpu_insn){ .op = op, .dst = 1, .s0 = 2, .s1 = 3, .s2 = scales ? 4 : 0 });
	rig_put_insn(&job, 1, &end);
}

/*
 * Multiplies 1 by each bit pattern of a type, in one row; the machines must agree. With @as_scales,
 * the patterns are the scales.
 */
static void all_patterns(unsigned int dtype, unsigned int data, bool as_scales)
{
	uint32_t count = ref_is_nibble(dtype) ? 16 : 256;
	uint16_t one = data == ONPU_DT_F16 ? 0x3c00 : 0x3f80;

	rig_clear(&job, RIG_LARGE, RIG_DATA);
	tensor(1, ONPU_DT_F32, RESULT, 0, count);
	tensor(2, data, DATA, 0, 1);
	tensor(3, as_scales ? ONPU_DT_I8 : dtype, WEIGHTS, 1, count);
	tensor(4, dtype, SCALES, 1, count);
	memcpy(job.sram + DATA, &one, sizeof(one));
	for (uint32_t i = 0; i < count; i++) {
		if (as_scales) {
			job.sram[WEIGHTS + i] = 1;
			job.sram[SCALES + i] = (uint8_t)i;
		} else if (ref_is_nibble(dtype)) {
			job.sram[WEIGHTS + i / 2] |= (uint8_t)(i << (i % 2 * 4));
		} else {
			job.sram[WEIGHTS + i] = (uint8_t)i;
		}
	}
	program(ONPU_OP_MMA_W, as_scales);
	checks++;
	if (!rig_check_fault(&job, ONPU_FAULT_NONE, ONPU_OPERAND_NONE))
		fail("all patterns", dtype, 0);
}

static void known_numbers(void)
{
	static const struct {
		unsigned int dtype, bits;
		float value;
	} numbers[] = {
		{ ONPU_DT_F8E4M3, 0x7e, 448 },
		{ ONPU_DT_F8E4M3, 0x08, 0x1p-6F },
		{ ONPU_DT_F8E4M3, 0x07, 0.875F * 0x1p-6F },
		{ ONPU_DT_F8E4M3, 0x81, -0x1p-9F },
		{ ONPU_DT_F8E5M2, 0x7b, 57344 },
		{ ONPU_DT_F8E5M2, 0x04, 0x1p-14F },
		{ ONPU_DT_F8E5M2, 0x83, -0.75F * 0x1p-14F },
		{ ONPU_DT_F4E2M1, 0x7, 6 },
		{ ONPU_DT_F4E2M1, 0x9, -0.5F },
		{ ONPU_DT_F8E8M0, 0x00, 0x1p-127F },
		{ ONPU_DT_F8E8M0, 0xfe, 0x1p127F },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		checks++;
		if (ref_from_small(numbers[i].dtype, numbers[i].bits) != numbers[i].value)
			fail("known number", numbers[i].dtype, numbers[i].bits);
	}
}

/*
 * Runs @op with weights of float8, which only mma.w takes, and expects the fault @code at @operand;
 * @has_weights: whether the machine has mma.w.
 */
static void faults(bool has_weights, enum onpu_op op, enum onpu_fault code, unsigned int operand)
{
	rig_clear(&job, has_weights ? RIG_LARGE : RIG_SMALL, RIG_DATA);
	tensor(1, ONPU_DT_F32, RESULT, 0, 1);
	tensor(2, ONPU_DT_F16, DATA, 0, 1);
	tensor(3, ONPU_DT_F8E4M3, WEIGHTS, 1, 1);
	program(op, false);
	checks++;
	if (!rig_check_fault(&job, code, operand))
		fail("fault", ONPU_DT_F8E4M3, has_weights);
}

int main(void)
{
	static const unsigned int types[] = { ONPU_DT_I8,    ONPU_DT_U8,     ONPU_DT_I4,
					      ONPU_DT_U4,    ONPU_DT_F8E4M3, ONPU_DT_F8E5M2,
					      ONPU_DT_F4E2M1 };

	rig_open();
	known_numbers();
	for (unsigned int data = ONPU_DT_F16; data <= ONPU_DT_BF16; data++) {
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			all_patterns(types[i], data, false);
		all_patterns(ONPU_DT_F8E8M0, data, true);
	}
	faults(true, ONPU_OP_MMA_W, ONPU_FAULT_NONE, ONPU_OPERAND_NONE);
	faults(true, ONPU_OP_MMA_F16, ONPU_FAULT_DTYPE, ONPU_OPERAND_S1);
	faults(false, ONPU_OP_MMA_W, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_OPERAND_NONE);
	faults(false, ONPU_OP_MMA_F16, ONPU_FAULT_SLOT_FORMAT, ONPU_OPERAND_S1);
	rig_close();
	printf("%u checks, %u failed\n", checks, failures);
	return failures ? 1 : 0;
}
