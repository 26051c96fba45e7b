// SPDX-License-Identifier: MIT
/*
 * Tests that the watch function is called inside long instructions of every kind, and that it can
 * end them there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "program.h"

#define SRAM	    (256u << 10)
#define DIM(...)    ((const uint32_t[]){ __VA_ARGS__ })
#define STRIDE(...) ((const int64_t[]){ __VA_ARGS__ })
/* Each long instruction must call the watch at least this often. */
#define MIN_LOOKS 50

struct watch {
	unsigned int looks, give_up_at; /* calls so far; the call that ends the instruction, or 0 */
};

static bool look(void *ctx)
{
	struct watch *w = ctx;

	return ++w->looks == w->give_up_at;
}

static uint16_t sram(struct program *p, enum onpu_dtype dtype, uint64_t base, unsigned int rank,
		     const uint32_t *dim, const int64_t *stride)
{
	struct onpu_slot_tensor t = program_tensor(dtype, ONPU_SPACE_SRAM, base, rank, dim, stride);

	return program_slot(p, &t);
}

static uint16_t data(struct program *p, enum onpu_dtype dtype, uint32_t n, int64_t stride)
{
	struct onpu_slot_tensor t = program_tensor(dtype, ONPU_SPACE_VA, DATA_VA, 1, &n, &stride);

	return program_slot(p, &t);
}

static uint16_t taps(struct program *p, uint32_t count, int64_t dst_step)
{
	struct onpu_slot_param_taps t = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };

	for (unsigned int i = 0; i < ONPU_TAPS_LOOPS; i++)
		t.loop[i].count = 1;
	t.loop[2].count = count;
	t.loop[2].dst_step = dst_step;
	return program_slot(p, &t);
}

/* ---- One long instruction of each kind; sources repeat their elements ---- */

static struct onpu_insn product(struct program *p, uint32_t k, uint16_t param)
{
	struct onpu_slot_tensor dst =
		program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 2, DIM(64, 64), NULL);

	/* The window is larger than the tensor, since the taps move the tensor in it. */
	dst.size = 131072;
	return (struct onpu_insn){
		.op = ONPU_OP_MMA_F32,
		.acc = param != 0,
		.param = param,
		.dst = program_slot(p, &dst),
		.s0 = sram(p, ONPU_DT_F32, 131072, 2, DIM(64, k), STRIDE(4, 0)),
		.s1 = sram(p, ONPU_DT_F32, 196608, 3, DIM(64, k, 64), STRIDE(0, 0, 4)),
	};
}

static struct onpu_insn long_mma(struct program *p)
{
	return product(p, 200000, 0);
}

static struct onpu_insn long_moving(struct program *p)
{
	return product(p, 1, taps(p, 16000, 4));
}

static struct onpu_insn long_vector(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_TRI,
		.dst = sram(p, ONPU_DT_U8, 0, 2, DIM(65536, 1), NULL),
		.s0 = sram(p, ONPU_DT_U8, 131072, 2, DIM(65536, 1), STRIDE(0, 0)),
		.param =
			program_slot(p, &(union onpu_slot){ .tri = { .kind = ONPU_SLOT_PARAM,
								     .schema = ONPU_SCHEMA_TRI } }),
	};
}

/*
 * Returns an element-wise instruction with many rows. The gaps between them keep the machine from
 * merging rows, so that each is a vector of its own.
 */
static struct onpu_insn long_elementwise(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_VRELU,
		.dst = sram(p, ONPU_DT_U8, 0, 2, DIM(5000, 32), STRIDE(48, 1)),
		.s0 = sram(p, ONPU_DT_U8, 250000, 2, DIM(5000, 32), STRIDE(0, 1)),
	};
}

static struct onpu_insn reduction(struct program *p, enum onpu_op op, uint32_t across)
{
	enum onpu_dtype out = op == ONPU_OP_RARGMAX ? ONPU_DT_I32 : ONPU_DT_F16;

	return (struct onpu_insn){
		.op = op,
		.axes = op == ONPU_OP_RARGMAX ? 0 : 1,
		.axis = 0,
		.dst = sram(p, out, 0, 2, DIM(1, across), NULL),
		.s0 = sram(p, ONPU_DT_F16, 131072, 2, DIM(16000000 / across, across), STRIDE(0, 2)),
	};
}

static struct onpu_insn long_along(struct program *p)
{
	return reduction(p, ONPU_OP_RSUM, 1);
}

static struct onpu_insn long_across(struct program *p)
{
	return reduction(p, ONPU_OP_RSUM, 512);
}

static struct onpu_insn long_arg(struct program *p)
{
	return reduction(p, ONPU_OP_RARGMAX, 1);
}

static struct onpu_insn long_scan(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_SCAN_SUM,
		.dst = sram(p, ONPU_DT_F32, 0, 1, DIM(32768), NULL),
		.s0 = sram(p, ONPU_DT_F32, 131072, 1, DIM(32768), STRIDE(0)),
	};
}

static struct onpu_insn long_window(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_WIN_SUM,
		.dst = sram(p, ONPU_DT_F32, 0, 1, DIM(128), NULL),
		.s0 = sram(p, ONPU_DT_F32, 131072, 1, DIM(128), NULL),
		.param = taps(p, 1000000, 0),
	};
}

static struct onpu_insn long_load(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_DMA_COPY,
		.dst = sram(p, ONPU_DT_U8, 0, 1, DIM(100000), NULL),
		.s0 = data(p, ONPU_DT_U8, 100000, 0),
	};
}

static struct onpu_insn long_store(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_DMA_COPY,
		.dst = data(p, ONPU_DT_U8, 100000, 8),
		.ch = 1,
		.s0 = sram(p, ONPU_DT_U8, 0, 1, DIM(100000), NULL),
	};
}

static struct onpu_insn long_fill(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_DMA_FILL,
		.dst = data(p, ONPU_DT_U8, 100000, 8),
		.param = program_slot(p, &(union onpu_slot){ .fill = { .kind = ONPU_SLOT_PARAM,
								       .schema = ONPU_SCHEMA_FILL,
								       .value = 3 } }),
	};
}

static struct onpu_insn long_gather(struct program *p)
{
	return (struct onpu_insn){
		.op = ONPU_OP_DMA_GATHER_AXIS,
		.dst = sram(p, ONPU_DT_U8, 0, 1, DIM(100000), NULL),
		.s0 = data(p, ONPU_DT_U8, 8, 1),
		.s1 = sram(p, ONPU_DT_I32, 131072, 1, DIM(100000), STRIDE(0)),
		.param = program_slot(
			p, &(union onpu_slot){ .index = { .kind = ONPU_SLOT_PARAM,
							  .schema = ONPU_SCHEMA_INDEX } }),
	};
}

static const struct kind {
	const char *name;
	struct onpu_insn (*make)(struct program *p);
} kinds[] = {
	{ "product", long_mma },
	{ "moving product", long_moving },
	{ "triangle", long_vector },
	{ "elementwise", long_elementwise },
	{ "reduction along", long_along },
	{ "reduction across", long_across },
	{ "arg", long_arg },
	{ "scan", long_scan },
	{ "window", long_window },
	{ "load", long_load },
	{ "store", long_store },
	{ "fill", long_fill },
	{ "gather", long_gather },
};

static struct onpu_machine *make_machine(unsigned int threads)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	struct onpu_machine *m;

	config.sram_bytes = SRAM;
	config.threads = threads;
	m = onpu_machine_create(&config, NULL);
	assert_non_null(m);
	return m;
}

static void check_kind(const struct kind *kind, struct onpu_machine *m, struct watch *w)
{
	struct program *p = program_create(SRAM, 1 << 20);
	enum onpu_step step;

	program_insn(p, kind->make(p));
	program_end(p);
	*w = (struct watch){ 0 };
	if (!program_run(p, m))
		fail_msg("%s: fault %u of operand %u", kind->name, p->result.fault.code,
			 p->result.fault.operand);
	if (w->looks < MIN_LOOKS)
		fail_msg("%s: %u looks only", kind->name, w->looks);
	/* After the watch has given up, it is not called any more, and the job does not go on. */
	*w = (struct watch){ .give_up_at = MIN_LOOKS / 2 };
	onpu_machine_begin(m, &p->mem, &p->job);
	do {
		step = onpu_machine_step(m);
	} while (step == ONPU_STEP_RUNNING);
	assert_int_equal(step, ONPU_STEP_IDLE);
	assert_int_equal(w->looks, MIN_LOOKS / 2);
	assert_int_equal(onpu_machine_step(m), ONPU_STEP_IDLE);
	*w = (struct watch){ 0 };
	assert_true(program_run(p, m));
	program_destroy(p);
}

static void test_kinds(void **state)
{
	struct onpu_machine *m = make_machine(1);
	struct watch w;

	(void)state;
	onpu_machine_watch(m, look, &w);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		check_kind(&kinds[i], m, &w);
	onpu_machine_destroy(m);
}

/* With several threads, only the thread that steps calls the watch, and all of them stop. */
static void test_threads(void **state)
{
	struct program *p = program_create(SRAM, 0);
	struct onpu_machine *m = make_machine(3);
	struct watch w = { 0 };

	(void)state;
	onpu_machine_watch(m, look, &w);
	program_insn(p, long_mma(p));
	program_end(p);
	assert_true(program_run(p, m));
	assert_true(w.looks > 1);
	w = (struct watch){ .give_up_at = 1 };
	assert_false(program_run(p, m));
	assert_int_equal(onpu_machine_step(m), ONPU_STEP_IDLE);
	assert_int_equal(w.looks, 1);
	w = (struct watch){ 0 };
	assert_true(program_run(p, m));
	onpu_machine_destroy(m);
	program_destroy(p);
}

static struct onpu_machine *aborted;

static bool abort_inside(void *ctx)
{
	struct watch *w = ctx;

	if (++w->looks == MIN_LOOKS)
		onpu_machine_abort(aborted);
	return false;
}

static void test_abort(void **state)
{
	struct program *p = program_create(SRAM, 0);
	struct watch w = { 0 };

	(void)state;
	aborted = make_machine(1);
	onpu_machine_watch(aborted, abort_inside, &w);
	program_insn(p, long_mma(p));
	program_end(p);
	assert_false(program_run(p, aborted));
	assert_true(w.looks <= MIN_LOOKS + 1);
	assert_int_equal(p->result.fault.code, ONPU_FAULT_NONE);
	onpu_machine_watch(aborted, NULL, NULL);
	assert_true(program_run(p, aborted));
	onpu_machine_destroy(aborted);
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
