// SPDX-License-Identifier: MIT
/*
 * Tests that instructions are packed and unpacked as isa.xml says, and the tables of instructions
 * and fields.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "onpu/isa.h"
#include "random_insn.h"

#define ROUNDS 2000

static void test_roundtrip(void **state)
{
	struct rng rng = { 7 };
	unsigned int op, round;

	(void)state;
	for (op = 0; op < ONPU_OP_COUNT; op++) {
		for (round = 0; round < ROUNDS; round++) {
			struct onpu_insn insn, back;
			uint32_t w[ONPU_INSN_WORDS];

			random_insn(&rng, (enum onpu_op)op, &insn);
			assert_int_equal(onpu_insn_pack(&insn, w), 0);
			assert_int_equal(onpu_insn_unpack(w, &back), ONPU_FAULT_NONE);
			assert_memory_equal(&insn, &back, sizeof(insn));
		}
	}
}

/* Tests encodings that were computed by hand, so that an error in the generator cannot hide. */
static void test_known_words(void **state)
{
	static const struct {
		struct onpu_insn insn;
		uint32_t w[ONPU_INSN_WORDS];
	} known[] = {
		{ { .op = ONPU_OP_NOP }, { 0, 0, 0, 0 } },
		{ { .op = ONPU_OP_END, .code = 0xabcd }, { 0xabcd, 0, 0, 0x01000000 } },
		{ { .op = ONPU_OP_SEM_WAIT, .sem = 5, .eng = ONPU_ENG_VPU, .count = 300 },
		  { 300u << 16 | 4 << 8 | 5, 0, 0, 0x02000000 } },
		{ { .op = ONPU_OP_PREEMPT, .live = 0x12345678 }, { 0x12345678, 0, 0, 0x08000000 } },
		{ { .op = ONPU_OP_DMA_GATHER_ND,
		    .dst = 1,
		    .s0 = 2,
		    .s1 = 3,
		    .param = 4,
		    .ch = 1,
		    .neg = 1,
		    .clamp = 1 },
		  { 1 << 16 | 0x8003, 3 << 16 | 2, 4u << 16, 0x11020000 } },
		{ { .op = ONPU_OP_MMA_I8,
		    .dst = 1,
		    .s0 = 2,
		    .s1 = 3,
		    .s2 = 4,
		    .param = 5,
		    .acc = 1,
		    .ts = 1,
		    .sv = 1,
		    .ssem = 63,
		    .wv = 1,
		    .wsem = 62 },
		  { 1 << 16 | 1, 3 << 16 | 2, 5 << 16 | 4,
		    0x20000000 | 1 << 15 | 62 << 9 | 1 << 8 | 63 << 2 | 1 << 1 } },
		{ { .op = ONPU_OP_MMA_F32, .dst = 1, .s0 = 2, .s1 = 3, .piece = 2, .acc = 1 },
		  { 1 << 16 | 2 << 1 | 1, 3 << 16 | 2, 0, 0x20030000 } },
		{ { .op = ONPU_OP_RSUM, .dst = 1, .s0 = 2, .axes = 0xff, .acc = 1, .part = 1 },
		  { 1 << 16 | 0x3ff, 2, 0, 0x38000000 } },
		{ { .op = ONPU_OP_SCAN_SUM,
		    .dst = 1,
		    .s0 = 2,
		    .s1 = 3,
		    .axis = 7,
		    .excl = 1,
		    .rev = 1 },
		  { 1 << 16 | 0x1f, 3 << 16 | 2, 0, 0x39000000 } },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct onpu_insn back;
		uint32_t w[ONPU_INSN_WORDS];

		assert_int_equal(onpu_insn_pack(&known[i].insn, w), 0);
		assert_memory_equal(w, known[i].w, sizeof(w));
		assert_int_equal(onpu_insn_unpack(w, &back), ONPU_FAULT_NONE);
		assert_memory_equal(&back, &known[i].insn, sizeof(back));
	}
}

/*
 * Tests that every bit is fixed or belongs to a field. A changed fixed bit makes another
 * instruction or a fault.
 */
static void test_reserved_bits(void **state)
{
	unsigned int op, bit;

	(void)state;
	for (op = 0; op < ONPU_OP_COUNT; op++) {
		const struct onpu_op_info *info = &onpu_op_info[op];
		struct onpu_insn insn = { .op = (enum onpu_op)op }, back;
		uint32_t w[ONPU_INSN_WORDS];

		assert_int_equal(onpu_insn_pack(&insn, w), 0);
		for (bit = 0; bit < 128; bit++) {
			enum onpu_fault fault;

			if (!(info->fixed[bit / 32] >> bit % 32 & 1))
				continue;
			w[bit / 32] ^= 1u << bit % 32;
			fault = onpu_insn_unpack(w, &back);
			if (bit < 112)
				assert_int_equal(fault, ONPU_FAULT_RESERVED_BITS);
			else
				assert_int_not_equal(back.op, op);
			w[bit / 32] ^= 1u << bit % 32;
		}
	}
}

static void expect_fault(uint32_t w0, uint32_t w3, enum onpu_fault expected)
{
	const uint32_t w[ONPU_INSN_WORDS] = { w0, 0, 0, w3 };
	struct onpu_insn insn;

	assert_int_equal(onpu_insn_unpack(w, &insn), expected);
}

static void test_illegal(void **state)
{
	(void)state;
	expect_fault(0, 0x05000000, ONPU_FAULT_ILLEGAL_OPCODE); /* no OPC 5 */
	expect_fault(0, 0x10030000, ONPU_FAULT_ILLEGAL_OPCODE); /* no SUB 3 */
	expect_fault(0, 0xff000000, ONPU_FAULT_ILLEGAL_OPCODE);
	expect_fault(0, 1 << 9, ONPU_FAULT_RESERVED_BITS);	    /* WSEM without WV */
	expect_fault(0, 1 << 2, ONPU_FAULT_RESERVED_BITS);	    /* SSEM without SV */
	expect_fault(5 << 8, 0x02000000, ONPU_FAULT_RESERVED_BITS); /* no engine 5 */
	expect_fault(1 << 8, 0x38000000, ONPU_FAULT_RESERVED_BITS); /* ACC without PART */
	expect_fault(6 << 8, 0x38000000, ONPU_FAULT_RESERVED_BITS); /* LANES with PART */
	expect_fault(0, 1, ONPU_FAULT_RESERVED_BITS);		    /* bit 96 */
}

static void expect_no_pack(struct onpu_insn insn)
{
	uint32_t w[ONPU_INSN_WORDS];

	assert_int_equal(onpu_insn_pack(&insn, w), -1);
}

static void test_pack_refuses(void **state)
{
	(void)state;
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_COUNT });
	expect_no_pack((struct onpu_insn){ .op = (enum onpu_op)1000 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .dst = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_VEXP, .param = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_VADD, .acc = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .wv = 2 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .wv = 1, .wsem = 64 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .wsem = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .sv = 1, .ssem = 255 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_NOP, .ts = 2 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_MMA_F32, .acc = 2 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_MMA_F32, .part = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_MMA_F32, .piece = 4 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_MMA_F16, .piece = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_SEM_WAIT, .eng = 5 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_RARGMAX, .axis = 8 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_RSUM, .acc = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_RSUM, .lanes = 1, .part = 1 });
	expect_no_pack((struct onpu_insn){ .op = ONPU_OP_BARRIER, .mask = 0x20 });
}

/* Tests entries of the table of instructions: their number, factors, operands and types. */
static void test_tables(void **state)
{
	unsigned int op, i;

	(void)state;
	assert_int_equal(ONPU_OP_COUNT, 91);
	for (op = 0; op < ONPU_OP_COUNT; op++) {
		const struct onpu_op_info *info = &onpu_op_info[op];

		assert_true(info->name[0] && info->doc[0] && info->factor);
		assert_int_equal(info->operands[ONPU_OPERAND_PARAM].present,
				 info->schema != ONPU_SCHEMA_NONE);
		for (i = 0; i < ONPU_OPERAND_PARAM; i++)
			assert_int_equal(info->operands[i].present, info->operands[i].dtypes != 0);
	}
	assert_int_equal(onpu_op_info[ONPU_OP_VPOW].factor, 8);
	assert_int_equal(onpu_op_info[ONPU_OP_MMA_F32].factor, 4);
	assert_int_equal(onpu_op_info[ONPU_OP_MMA_F16].operands[ONPU_OPERAND_S0].dtypes,
			 1u << ONPU_DT_F16);
	assert_true(onpu_op_info[ONPU_OP_MMA_I8].operands[ONPU_OPERAND_S2].optional);
	assert_int_equal(onpu_op_info[ONPU_OP_MMA_W].feature, ONPU_CAP_FEATURES_WEIGHTS__MASK);
	assert_int_equal(onpu_op_info[ONPU_OP_MMA_F16].feature, 0);
	assert_int_equal(onpu_op_info[ONPU_OP_VEQ].same_ints,
			 1u << ONPU_OPERAND_S0 | 1u << ONPU_OPERAND_S1);
}

static void test_engines(void **state)
{
	struct onpu_insn insn = { .op = ONPU_OP_DMA_COPY };

	(void)state;
	assert_int_equal(onpu_insn_engine(&insn), ONPU_ENG_LD);
	insn.ch = 1;
	assert_int_equal(onpu_insn_engine(&insn), ONPU_ENG_ST);
	insn = (struct onpu_insn){ .op = ONPU_OP_SEM_SIGNAL, .eng = ONPU_ENG_MXU };
	assert_int_equal(onpu_insn_engine(&insn), ONPU_ENG_MXU);
	insn = (struct onpu_insn){ .op = ONPU_OP_TRI };
	assert_int_equal(onpu_insn_engine(&insn), ONPU_ENG_VPU);
}

static void test_slots(void **state)
{
	union onpu_slot slot;

	(void)state;
	memset(&slot, 0, sizeof(slot));
	slot.tensor.kind = ONPU_SLOT_TENSOR;
	slot.tensor.dtype = ONPU_DT_BF16;
	slot.tensor.rank = 8;
	slot.tensor.space = ONPU_SPACE_VA;
	slot.tensor.stride[7] = -2;
	assert_int_equal(slot.words[0], 0x01080901);
	assert_int_equal(slot.words[30], 0xfffffffe);
	assert_int_equal(slot.words[31], 0xffffffff);
	slot.program.sem_init[63] = 9;
	assert_int_equal(slot.bytes[0x47], 9);
	slot.taps.loop[2].dst_step = 0x1122334455667788;
	assert_int_equal(slot.words[0x64 / 4], 0x11223344);
	assert_int_equal(onpu_dtype_bits(ONPU_DT_U4), 4);
	assert_int_equal(onpu_dtype_bits(ONPU_DT_F32), 32);
	assert_int_equal(onpu_dtype_bits(ONPU_DT_COUNT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),     cmocka_unit_test(test_known_words),
		cmocka_unit_test(test_reserved_bits), cmocka_unit_test(test_illegal),
		cmocka_unit_test(test_pack_refuses),  cmocka_unit_test(test_tables),
		cmocka_unit_test(test_engines),	      cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
