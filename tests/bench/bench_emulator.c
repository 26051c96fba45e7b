// SPDX-License-Identifier: MIT
/* Measures how fast the host executes the device model's main instructions; prints a table. */
#include <stdlib.h>
#include <time.h>

#include "math/functions.h"
#include "program.h"

#define D(...)              \
	(const uint32_t[])  \
	{                   \
		__VA_ARGS__ \
	}
#define S(...)              \
	(const int64_t[])   \
	{                   \
		__VA_ARGS__ \
	}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint16_t sram(struct program *p, enum onpu_dtype dtype, uint64_t base, unsigned int rank,
		     const uint32_t *dim, const int64_t *stride)
{
	struct onpu_slot_tensor t = program_tensor(dtype, ONPU_SPACE_SRAM, base, rank, dim, stride);

	return program_slot(p, &t);
}

/*
 * Runs a program of 20 copies of the instruction ten times; returns the seconds per copy in the
 * fastest run. When a run faults, ends the process with an error, as its time means nothing.
 */
static double measure(struct onpu_machine *m, struct program *p, struct onpu_insn insn)
{
	double best = 1e9;
	const int copies = 20;

	for (int i = 0; i < copies; i++)
		program_insn(p, insn);
	program_end(p);
	for (int i = 0; i < 10; i++) {
		double start, time;
		enum onpu_step step = ONPU_STEP_RUNNING;

		program_begin(p, m);
		start = now();
		while (step == ONPU_STEP_RUNNING)
			step = onpu_machine_step(m);
		p->result = *onpu_machine_result(m);
		if (step != ONPU_STEP_DONE) {
			fprintf(stderr, "an instruction %u ends with fault %u at operand %u\n",
				insn.op, p->result.fault.code, p->result.fault.operand);
			exit(1);
		}
		time = (now() - start) / copies;
		best = time < best ? time : best;
	}
	return best;
}

static struct program *program(void)
{
	struct program *p = program_create(4 << 20, 8 << 20);
	static float f[1 << 20];

	for (int i = 0; i < 1 << 20; i++)
		f[i] = (float)(i % 1013) * 0.01f - 5.0f;
	p->sram = f;
	p->sram_size = sizeof(f);
	return p;
}

/*
 * Measures C = A B, where A is [M, K] and B is [K, N], and prints the rate. @ta, @tb and @tc say
 * that A, B and C are stored by columns.
 */
static void bench_mma(struct onpu_machine *m, const char *name, enum onpu_op op,
		      enum onpu_dtype type, uint32_t M, uint32_t N, uint32_t K, int ta, int tb,
		      int tc)
{
	struct program *p = program();
	unsigned int e = type == ONPU_DT_F32 ? 4 : type == ONPU_DT_I8 ? 1 : 2;
	enum onpu_dtype out = op == ONPU_OP_MMA_I8 ? ONPU_DT_I32 : ONPU_DT_F32;
	uint64_t a = 0, b = a + (uint64_t)M * K * e, c = (b + (uint64_t)K * N * e + 63) & ~63ull;
	struct onpu_insn insn = { .op = op };
	double t;

	insn.s0 = sram(p, type, a, 2, D(M, K), ta ? S(e, e * M) : S(K * e, e));
	insn.s1 = sram(p, type, b, 3, D(M, K, N), tb ? S(0, e, e * K) : S(0, N * e, e));
	insn.dst = sram(p, out, c, 2, D(M, N), tc ? S(4, 4 * M) : S(4 * N, 4));
	t = measure(m, p, insn);
	printf("%-28s %4u x %4u x %4u %s%s%s %8.1f GFLOP/s\n", name, M, N, K, ta ? "T" : "n",
	       tb ? "T" : "n", tc ? "T" : "n", 2e-9 * M * N * K / t);
	program_destroy(p);
}

/* Measures a 3x3 convolution over a padded NHWC tile, and prints the rate. */
static void bench_conv(struct onpu_machine *m, uint32_t h, uint32_t w, uint32_t c, uint32_t n)
{
	struct program *p = program();
	struct onpu_insn insn = { .op = ONPU_OP_MMA_F32 };
	struct onpu_slot_param_taps taps = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };
	uint64_t b = (uint64_t)(h + 2) * (w + 2) * c * 4, d = b + (uint64_t)9 * c * n * 4;
	struct onpu_slot_tensor t;
	double time;

	t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 3, D(h, w, c),
			   S((w + 2) * c * 4, c * 4, 4));
	t.size = b;
	insn.s0 = program_slot(p, &t);
	t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, b, 4, D(h, w, c, n), S(0, 0, n * 4, 4));
	t.size = d - b;
	insn.s1 = program_slot(p, &t);
	insn.dst = sram(p, ONPU_DT_F32, d, 3, D(h, w, n), NULL);
	taps.loop[0].count = 3;
	taps.loop[0].s0_step = (w + 2) * c * 4;
	taps.loop[0].s1_step = 3 * c * n * 4;
	taps.loop[1].count = 3;
	taps.loop[1].s0_step = c * 4;
	taps.loop[1].s1_step = c * n * 4;
	taps.loop[2].count = 1;
	insn.param = program_slot(p, &taps);
	time = measure(m, p, insn);
	printf("%-28s %3ux%3u x %4u x 9*%3u     %8.1f GFLOP/s\n", "mma.f32 conv3x3 NHWC", h, w, n,
	       c, 18e-9 * h * w * c * n / time);
	program_destroy(p);
}

static void bench_vector(struct onpu_machine *m, const char *name, struct onpu_insn insn,
			 unsigned int sources, enum onpu_dtype from, enum onpu_dtype to,
			 const void *param, uint32_t rows, uint32_t columns, int bcast, int rev)
{
	struct program *p = program();
	uint32_t n = rows * columns;
	unsigned int e = from == ONPU_DT_F32 ? 4 : from == ONPU_DT_F16 ? 2 : 1;
	unsigned int eo = to == ONPU_DT_F32 || to == ONPU_DT_I32 ? 4 : to == ONPU_DT_F16 ? 2 : 1;
	double t;

	insn.dst = rev ? sram(p, to, 0, 2, D(rows, columns), S(eo, eo * rows)) :
			 sram(p, to, 0, 2, D(rows, columns), NULL);
	insn.s0 = sram(p, from, 1 << 20, 2, D(rows, columns), NULL);
	if (sources > 1)
		insn.s1 = sram(p, from, 2 << 20, 2, D(rows, columns),
			       bcast ? S(0, e) : S(e * columns, e));
	if (sources > 2)
		insn.s2 = sram(p, from, 3 << 20, 2, D(rows, columns), NULL);
	if (param)
		insn.param = program_slot(p, param);
	t = measure(m, p, insn);
	printf("%-28s %6u x %6u %s          %8.3f ns/element\n", name, rows, columns,
	       bcast ? "bcast" : "     ", 1e9 * t / n);
	program_destroy(p);
}

static void bench_reduce(struct onpu_machine *m, const char *name, unsigned int axes, uint32_t rows,
			 uint32_t columns)
{
	struct program *p = program();
	struct onpu_insn insn = { .op = ONPU_OP_RSUM, .axes = axes };
	double t;

	insn.s0 = sram(p, ONPU_DT_F32, 1 << 20, 2, D(rows, columns), NULL);
	insn.dst = sram(p, ONPU_DT_F32, 0, 2, D(axes & 1 ? 1 : rows, axes & 2 ? 1 : columns), NULL);
	t = measure(m, p, insn);
	printf("%-28s %6u x %6u                %8.3f ns/element\n", name, rows, columns,
	       1e9 * t / (rows * columns));
	program_destroy(p);
}

/* Measures @op on 3x3 windows with stride 1, and prints the time per element and tap. */
static void bench_window(struct onpu_machine *m, const char *name, enum onpu_op op, uint32_t h,
			 uint32_t w, uint32_t c)
{
	struct program *p = program();
	struct onpu_insn insn = { .op = op };
	struct onpu_slot_param_taps taps = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };
	struct onpu_slot_tensor t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 1 << 20, 3,
						   D(h, w, c), S((w + 2) * c * 4, c * 4, 4));
	double time;

	t.size = 1 << 20;
	insn.s0 = program_slot(p, &t);
	insn.dst = sram(p, ONPU_DT_F32, 0, 3, D(h, w, c), NULL);
	for (int i = 0; i < 3; i++)
		taps.loop[i].count = i < 2 ? 3 : 1;
	taps.loop[0].s0_step = (w + 2) * c * 4;
	taps.loop[1].s0_step = c * 4;
	if (op == ONPU_OP_WIN_MAC) {
		t = program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 3 << 20, 3, D(h, w, c),
				   S(0, 0, 4));
		t.size = 9 * c * 4;
		insn.s1 = program_slot(p, &t);
		taps.loop[0].s1_step = 3 * c * 4;
		taps.loop[1].s1_step = c * 4;
	}
	insn.param = program_slot(p, &taps);
	time = measure(m, p, insn);
	printf("%-28s %ux%ux%u                    %8.3f ns/element/tap\n", name, h, w, c,
	       1e9 * time / (h * w * c * 9));
	program_destroy(p);
}

static void bench_dma(struct onpu_machine *m, const char *name, unsigned int rank,
		      const uint32_t *dim, const int64_t *va, const int64_t *stride, int store)
{
	struct program *p = program();
	struct onpu_insn insn = { .op = ONPU_OP_DMA_COPY };
	struct onpu_slot_tensor t =
		program_tensor(ONPU_DT_F32, ONPU_SPACE_VA, DATA_VA, rank, dim, va);
	uint16_t memory = program_slot(p, &t), local = sram(p, ONPU_DT_F32, 0, rank, dim, stride);
	double n = 1, time;

	for (unsigned int i = 0; i < rank; i++)
		n *= dim[i];
	insn.dst = store ? memory : local;
	insn.s0 = store ? local : memory;
	time = measure(m, p, insn);
	printf("%-40s                %8.3f ns/element\n", name, 1e9 * time / n);
	program_destroy(p);
}

int main(int argc, char **argv)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	const struct onpu_slot_param_scalar scalar = { .kind = ONPU_SLOT_PARAM,
						       .schema = ONPU_SCHEMA_SCALAR,
						       .alpha = 0x3f000000 };
	struct onpu_machine *m;
	const char *error;

	if (argc > 1)
		config.simd = atoi(argv[1]);
	if (argc > 2)
		config.threads = (unsigned int)atoi(argv[2]);
	m = onpu_machine_create(&config, &error);
	if (!m) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	printf("level %s, %u threads\n",
	       onpu_simd_name((enum onpu_simd)onpu_machine_config(m)->simd), config.threads);
	for (int i = 0; i < 8; i++)
		bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 256, 256, 256, i & 1,
			  i >> 1 & 1, i >> 2 & 1);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 64, 64, 64, 0, 0, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 512, 16, 64, 0, 0, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 512, 64, 16, 0, 0, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 196, 1000, 512, 0, 0, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 1, 500, 1024, 0, 0, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 1, 500, 1024, 0, 1, 0);
	bench_mma(m, "mma.f32", ONPU_OP_MMA_F32, ONPU_DT_F32, 512, 1, 512, 0, 0, 0);
	bench_conv(m, 26, 55, 16, 64);
	bench_conv(m, 13, 13, 64, 256);
	bench_mma(m, "mma.f16", ONPU_OP_MMA_F16, ONPU_DT_F16, 256, 256, 256, 0, 0, 0);
	bench_mma(m, "mma.bf16", ONPU_OP_MMA_BF16, ONPU_DT_BF16, 256, 256, 256, 0, 0, 0);
	bench_mma(m, "mma.i8", ONPU_OP_MMA_I8, ONPU_DT_I8, 256, 256, 256, 0, 0, 0);
	bench_vector(m, "vrelu", (struct onpu_insn){ .op = ONPU_OP_VRELU }, 1, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vrelu short rows", (struct onpu_insn){ .op = ONPU_OP_VRELU }, 1,
		     ONPU_DT_F32, ONPU_DT_F32, NULL, 16384, 4, 0, 1);
	bench_vector(m, "vrelu transposed", (struct onpu_insn){ .op = ONPU_OP_VRELU }, 1,
		     ONPU_DT_F32, ONPU_DT_F32, NULL, 256, 256, 0, 1);
	bench_vector(m, "vrelu f16", (struct onpu_insn){ .op = ONPU_OP_VRELU }, 1, ONPU_DT_F16,
		     ONPU_DT_F16, NULL, 256, 256, 0, 0);
	bench_vector(m, "vadd", (struct onpu_insn){ .op = ONPU_OP_VADD }, 2, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vadd", (struct onpu_insn){ .op = ONPU_OP_VADD }, 2, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 1024, 64, 1, 0);
	bench_vector(m, "vmax", (struct onpu_insn){ .op = ONPU_OP_VMAX }, 2, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vdiv", (struct onpu_insn){ .op = ONPU_OP_VDIV }, 2, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vadd i8", (struct onpu_insn){ .op = ONPU_OP_VADD }, 2, ONPU_DT_I8,
		     ONPU_DT_I8, NULL, 256, 256, 0, 0);
	bench_vector(m, "vfma", (struct onpu_insn){ .op = ONPU_OP_VFMA }, 3, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vexp", (struct onpu_insn){ .op = ONPU_OP_VEXP }, 1, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vsigmoid", (struct onpu_insn){ .op = ONPU_OP_VSIGMOID }, 1, ONPU_DT_F32,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_vector(m, "vlinear", (struct onpu_insn){ .op = ONPU_OP_VLINEAR }, 1, ONPU_DT_F32,
		     ONPU_DT_F32, &scalar, 256, 256, 0, 0);
	bench_vector(m, "cvt f32 i8", (struct onpu_insn){ .op = ONPU_OP_CVT }, 1, ONPU_DT_F32,
		     ONPU_DT_I8, NULL, 256, 256, 0, 0);
	bench_vector(m, "cvt i8 f32", (struct onpu_insn){ .op = ONPU_OP_CVT }, 1, ONPU_DT_I8,
		     ONPU_DT_F32, NULL, 256, 256, 0, 0);
	bench_reduce(m, "rsum inner", 2, 256, 256);
	bench_reduce(m, "rsum outer", 1, 256, 256);
	bench_reduce(m, "rsum both", 3, 256, 256);
	bench_reduce(m, "rsum inner short", 2, 8192, 8);
	bench_window(m, "win.max 3x3", ONPU_OP_WIN_MAX, 27, 27, 64);
	bench_window(m, "win.sum 3x3", ONPU_OP_WIN_SUM, 27, 27, 64);
	bench_window(m, "win.mac 3x3", ONPU_OP_WIN_MAC, 27, 27, 64);
	bench_dma(m, "dma load dense", 1, D(1 << 18), NULL, NULL, 0);
	bench_dma(m, "dma load rows of 64", 2, D(2048, 64), S(512, 4), S(256, 4), 0);
	bench_dma(m, "dma load transposed 256x256", 2, D(256, 256), S(1024, 4), S(4, 1024), 0);
	bench_dma(m, "dma store transposed 256x256", 2, D(256, 256), S(1024, 4), S(4, 1024), 1);
	bench_dma(m, "dma store stride 512", 1, D(8192), S(512), S(4), 1);
	onpu_machine_destroy(m);
	return 0;
}
