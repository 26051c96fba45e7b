// SPDX-License-Identifier: MIT
/* Tests the counter of energy: its sum over jobs, by hand from the figures of silicon.xml. */
#include "rig.h"

#include "jobs.h"

/*
 * Femtojoules of a byte of SRAM and of memory, of an element of vsin and vadd, and of a product of
 * binary32.
 */
#define SRAM   2500ull
#define MEMORY 162500ull
#define SIN    238390ull
#define ADD    100ull
#define MULADD 4920ull

#define STAGES 40u

#define STRIDE(...) ((const int64_t[]){ __VA_ARGS__ })

static struct rig rig;
static struct rig_vm vms[2];
static struct rig_context contexts[2];

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

static void start(void)
{
	rig_start(&rig, JOB_SRAM, 4, false);
	for (unsigned int i = 0; i < 2; i++) {
		rig_vm_create(&rig, &vms[i], i);
		rig_context_create(&rig, &contexts[i], &vms[i], 10 + i, i);
	}
}

static uint64_t energy(void)
{
	return rig_read64(&rig, ONPU_REG_COUNTER_LO(ONPU_COUNTER_ENERGY));
}

static void submit(struct rig_context *c, const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, c, &job, true);
}

/* Jobs that interrupt each other take the energy of their instructions, and none for the switches. */
static void test_vectors(void **state)
{
	const uint64_t bytes = JOB_ELEMENTS * sizeof(float);
	const uint64_t copies = 2 * bytes * (MEMORY + SRAM);
	const uint64_t halves = 2 * STAGES * (JOB_ELEMENTS * (SIN + ADD) + 5 * bytes * SRAM);
	struct program *p = job_stages(STAGES, 1.0f);

	(void)state;
	start();
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, 150, 0), ONPU_MSG_OK);
	assert_int_equal(energy(), 0);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	rig_settle(&rig);
	/* Each job's energy is rounded down to whole picojoules. */
	assert_int_equal(energy(), 2 * ((copies + halves) / 1000));
	onpu_device_reset(rig.device);
	assert_int_equal(energy(), 2 * ((copies + halves) / 1000));
	program_destroy(p);
}

/* A product reads its operands once for each block of the array. */
static void test_product(void **state)
{
	const uint32_t m = 32, n = 64, k = 16;
	const uint64_t macs = (uint64_t)m * n * k;
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_slot_tensor columns = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 16384, 3,
							 DIM(m, k, n), STRIDE(0, 4 * n, 4));
	uint64_t want;

	(void)state;
	program_insn(
		p,
		(struct onpu_insn){
			.op = ONPU_OP_MMA_F32,
			.dst = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 2, DIM(m, n)),
			.s0 = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, 32768, 2, DIM(m, k)),
			.s1 = program_slot(p, &columns),
		});
	program_end(p);
	program_job(p);
	start();
	rig_load(&rig, &contexts[0], p);
	submit(&contexts[0], p);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
	want = macs * MULADD +
	       (macs / rig.config.sim.mxu_rows + macs / rig.config.sim.mxu_cols + m * n) *
		       sizeof(float) * SRAM;
	assert_int_equal(energy(), want / 1000);
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_vectors, teardown),
		cmocka_unit_test_teardown(test_product, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
