// SPDX-License-Identifier: MIT
/*
 * Tests that the scalar path and every SIMD path give the same bits, with one or two host threads.
 * The test runs random instructions of every kind and compares memory, SRAM and result byte by
 * byte. A fault is a valid result, but for every instruction enough runs must end without a fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "math/functions.h"
#include "random_insn.h"

#define SRAM (256u << 10)
#define RUNS 40

struct machine_kind {
	int simd;
	unsigned int threads;
};

/* The results of all other machines are compared with those of the first machine. */
static const struct machine_kind kinds[] = {
	{ ONPU_SIMD_SCALAR, 1 }, { ONPU_SIMD_SCALAR, 2 }, { ONPU_SIMD_AVX2, 1 },
	{ ONPU_SIMD_AVX2, 2 },	 { ONPU_SIMD_AVX512, 1 }, { ONPU_SIMD_AVX512, 2 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct onpu_machine *machine[KINDS];

static int setup(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < KINDS; i++) {
		struct onpu_sim_config config = onpu_sim_config_default();
		const char *error;

		if (!onpu_simd_supported((enum onpu_simd)kinds[i].simd))
			continue;
		config.sram_bytes = SRAM;
		config.features = ONPU_CAP_FEATURES_WEIGHTS__MASK; /* all instructions */
		config.simd = kinds[i].simd;
		config.threads = kinds[i].threads;
		machine[i] = onpu_machine_create(&config, &error);
		if (!machine[i]) {
			fprintf(stderr, "%s\n", error);
			return -1;
		}
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < KINDS; i++)
		onpu_machine_destroy(machine[i]);
	return 0;
}

static bool same_result(const struct program *p, const struct onpu_job_result *first,
			const uint8_t *data, const uint8_t *sram, struct onpu_machine *m)
{
	return !memcmp(&p->result, first, sizeof(*first)) && !memcmp(p->data, data, SRAM) &&
	       !memcmp(onpu_machine_sram(m), sram, SRAM);
}

/* Runs a program on all machines and compares; returns whether it ended without fault. */
static bool compare(struct program *p, const uint8_t *start, const char *name)
{
	static uint8_t data[SRAM], sram[SRAM];
	struct onpu_job_result first;
	bool ok = false;

	for (unsigned int i = 0; i < KINDS; i++) {
		if (!machine[i])
			continue;
		memcpy(p->data, start, SRAM);
		p->sram = start + SRAM;
		p->sram_size = SRAM;
		ok = program_run(p, machine[i]);
		if (!i) {
			first = p->result;
			memcpy(data, p->data, SRAM);
			memcpy(sram, onpu_machine_sram(machine[i]), SRAM);
		} else if (!same_result(p, &first, data, sram, machine[i])) {
			fail_msg("%s differs: level %s, %u threads", name,
				 onpu_simd_name((enum onpu_simd)kinds[i].simd), kinds[i].threads);
		}
	}
	return ok;
}

static void test_every_instruction(void **state)
{
	static uint8_t start[2 * SRAM];
	struct rng r = { 20 };

	(void)state;
	for (int op = ONPU_OP_DMA_COPY; op < ONPU_OP_COUNT; op++) {
		unsigned int good = 0;

		for (int run = 0; run < RUNS; run++) {
			struct program *p = program_create(SRAM, SRAM);

			random_data(&r, start, sizeof(start));
			random_insn(&r, p, (enum onpu_op)op, SRAM);
			program_end(p);
			good += compare(p, start, onpu_op_info[op].name);
			program_destroy(p);
		}
		if (good < RUNS / 2)
			fail_msg("%s: only %u of %u runs without fault", onpu_op_info[op].name,
				 good, RUNS);
	}
}

/* Some bits of instructions and slots are flipped: all machines must still give the same result. */
static void test_mutated(void **state)
{
	static uint8_t start[2 * SRAM];
	struct rng r = { 22 };

	(void)state;
	for (int run = 0; run < 1500; run++) {
		struct program *p = program_create(SRAM, SRAM);
		unsigned int insns = 1 + rng_below(&r, 4);
		unsigned int flips = rng_below(&r, 6);

		if (run % 50 == 0)
			random_data(&r, start, sizeof(start));
		for (unsigned int i = 0; i < insns; i++)
			random_insn(&r, p,
				    (enum onpu_op)(ONPU_OP_DMA_COPY +
						   rng_below(&r, ONPU_OP_COUNT - ONPU_OP_DMA_COPY)),
				    SRAM);
		program_end(p);
		for (unsigned int i = 0; i < flips; i++) {
			uint32_t slot = rng_below(&r, p->num_slots);
			uint32_t at = rng_below(&r, 4) ? rng_below(&r, ONPU_SLOT_SIZE) :
							 8 + rng_below(&r, 24);

			if (rng_below(&r, 16))
				p->slots[slot][at] ^= 1u << rng_below(&r, 8);
			else
				p->insns[rng_below(&r, insns)][rng_below(&r, 4)] ^=
					1u << rng_below(&r, 32);
		}
		p->job.cycle_limit = 1 << 22;
		compare(p, start, "a mutated program");
		program_destroy(p);
	}
}

/* The instructions are so large that two threads share the work. */
static void test_large(void **state)
{
	static uint8_t start[2 * SRAM];
	const uint32_t a[] = { 100, 70 }, b[] = { 100, 70, 90 }, c[] = { 100, 90 }, v[] = { 8000 };
	const int64_t b_stride[] = { 0, 360, 4 };
	struct program *p = program_create(SRAM, SRAM);
	struct rng r = { 21 };
	struct onpu_slot_tensor t =
		program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 32768, 3, b, b_stride);

	(void)state;
	random_data(&r, start, sizeof(start));
	program_insn(p, (struct onpu_insn){
				.op = ONPU_OP_MMA_F32,
				.s0 = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 2, a),
				.s1 = program_slot(p, &t),
				.dst = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 65536, 2, c),
				.sv = 1,
			});
	program_insn(p, (struct onpu_insn){
				.op = ONPU_OP_VEXP,
				.s0 = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 65536, 1, v),
				.dst = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 131072, 1, v),
				.wv = 1,
			});
	program_end(p);
	assert_true(compare(p, start, "mma.f32, vexp"));
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instruction),
		cmocka_unit_test(test_mutated),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
