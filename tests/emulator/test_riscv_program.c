// SPDX-License-Identifier: MIT
/*
 * Programs of the stock RISC-V C compiler on the management core, compared
 * with results of the host.
 *
 * usage: test_riscv_program PROGRAM.bin...
 * where each file is rv32/compute.c or rv32/interrupts.c, compiled and linked
 * to a flat image whose name begins with "compute" or "interrupts". Without
 * arguments the test is skipped (exit code 77).
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/riscv.h"
#include "rv32/compute.h"
#include "rv32/device.h"
#include "rv32/interrupts.h"
#include "rv32_rig.h"

#define EXIT_SKIP   77
#define MAX_OUTPUT  4096
#define CYCLE_LIMIT UINT64_C(100000000)
#define SEED	    UINT64_C(0x853c49e6748fea9b)

struct board {
	struct onpu_rv32 core;
	uint8_t tcm[PROGRAM_TCM_SIZE];
	struct rng numbers;
	uint32_t output[MAX_OUTPUT];
	unsigned int outputs;
	uint64_t timer; /* cycle at which the timer line rises */
	unsigned int parks;
	bool done;
};

static struct board board;

static bool device_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	struct board *b = ctx;

	if (addr != PROGRAM_DEVICE + DEVICE_IN || size != 4)
		return false;
	*value = rng_u32(&b->numbers);
	return true;
}

static bool device_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct board *b = ctx;

	if (size != 4)
		return false;
	switch (addr - PROGRAM_DEVICE) {
	case DEVICE_OUT:
		if (b->outputs == MAX_OUTPUT)
			return false;
		b->output[b->outputs++] = value;
		return true;
	case DEVICE_TIMER:
		onpu_rv32_set_irq(&b->core, ONPU_RV32_IRQ_TIMER, false);
		b->timer = b->core.cycle + value;
		onpu_rv32_yield(&b->core);
		return true;
	case DEVICE_DOORBELL:
		onpu_rv32_set_irq(&b->core, ONPU_RV32_IRQ_SOFTWARE, value & 1);
		return true;
	case DEVICE_DONE:
		b->done = true;
		onpu_rv32_yield(&b->core);
		return true;
	}
	return false;
}

static void load_image(const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file)
		fail_msg("cannot open %s", path);
	memset(board.tcm, 0, sizeof(board.tcm));
	size = fread(board.tcm, 1, sizeof(board.tcm), file);
	fclose(file);
	if (size < 64)
		fail_msg("%s: %zu bytes are no program", path, size);
}

static void boot(const char *path)
{
	struct onpu_rv32_bus bus = {
		.ctx = &board,
		.load = device_load,
		.store = device_store,
		.tcm = board.tcm,
		.tcm_base = PROGRAM_TCM_BASE,
		.tcm_size = PROGRAM_TCM_SIZE,
	};

	memset(&board, 0, sizeof(board));
	board.numbers.state = SEED;
	board.timer = UINT64_MAX;
	load_image(path);
	assert_true(onpu_rv32_init(&board.core, &bus, 0, PROGRAM_TCM_BASE));
}

/*
 * Runs the core as a device does: up to the next event, which it handles, and so on until the
 * program is done.
 */
static void run_to_end(const char *path)
{
	while (!board.done) {
		uint64_t until = board.timer < CYCLE_LIMIT ? board.timer : CYCLE_LIMIT;

		switch (onpu_rv32_run(&board.core, until)) {
		case ONPU_RV32_PARKED:
			board.parks++;
			onpu_rv32_advance(&board.core, until);
			break;
		case ONPU_RV32_HALTED:
			fail_msg("%s: locked up at %#x, cause %u", path, board.core.mepc,
				 board.core.mcause);
			break;
		case ONPU_RV32_BUDGET:
		case ONPU_RV32_YIELDED:
			break;
		}
		if (board.core.cycle >= board.timer) {
			onpu_rv32_set_irq(&board.core, ONPU_RV32_IRQ_TIMER, true);
			board.timer = UINT64_MAX;
		}
		if (board.core.cycle >= CYCLE_LIMIT)
			fail_msg("%s: no end after %" PRIu64 " cycles", path, board.core.cycle);
	}
	print_message("%s: %" PRIu64 " instructions, %" PRIu64 " cycles\n", path,
		      board.core.retired, board.core.cycle);
}

/* Checks the next result of the program; @what names it. */
static void expect_output(unsigned int *at, uint32_t value, const char *what)
{
	if (*at >= board.outputs)
		fail_msg("%s: the program wrote only %u results", what, board.outputs);
	if (board.output[*at] != value)
		fail_msg("%s (result %u): %#x, not %#x", what, *at, board.output[*at], value);
	(*at)++;
}

/*
 * Returns the CRC-32 of @size bytes. It is computed bit by bit, in the bit order that the program
 * does not use.
 */
static uint32_t host_crc32(const uint8_t *p, size_t size)
{
	uint32_t crc = 0xffffffff, reflected = 0;
	unsigned int bit;

	while (size--) {
		for (bit = 0; bit < 8; bit++) {
			uint32_t in = *p >> bit & 1;

			crc = (crc >> 31 ^ in) ? crc << 1 ^ 0x04c11db7 : crc << 1;
		}
		p++;
	}
	for (bit = 0; bit < 32; bit++)
		reflected |= (crc >> bit & 1) << (31 - bit);
	return ~reflected;
}

static int compare_words(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void expect_arithmetic(unsigned int *at, struct rng *numbers)
{
	uint32_t a = rng_u32(numbers), b = rng_u32(numbers);
	uint32_t divisor = rng_u32(numbers) >> (a & 31) | 1;
	uint64_t n = (uint64_t)a << 32 | b;
	uint64_t product = (uint64_t)a * b;
	int64_t signed_product = (int64_t)(int32_t)a * (int32_t)b;

	expect_output(at, (uint32_t)(product >> 32), "high product");
	expect_output(at, (uint32_t)product, "low product");
	expect_output(at, (uint32_t)((uint64_t)signed_product >> 32), "signed high product");
	expect_output(at, (uint32_t)(n % divisor), "64-bit remainder");
	expect_output(at, (uint32_t)(n / divisor >> 32), "64-bit quotient, high");
	expect_output(at, (uint32_t)(n / divisor), "64-bit quotient, low");
	expect_output(at, a / divisor, "unsigned quotient");
	expect_output(at, a % divisor, "unsigned remainder");
	/* in 64 bits, in which INT_MIN / -1 does not overflow */
	expect_output(at, (uint32_t)((int64_t)(int32_t)a / (int32_t)divisor), "signed quotient");
	expect_output(at, (uint32_t)((int64_t)(int32_t)a % (int32_t)divisor), "signed remainder");
}

static void test_compute(void **state)
{
	static uint8_t bytes[COMPUTE_BYTES];
	static int32_t words[COMPUTE_WORDS];
	struct rng numbers = { SEED };
	unsigned int at = 0, i;

	boot(*state);
	run_to_end(*state);
	assert_int_equal(host_crc32((const uint8_t *)"123456789", 9), 0xcbf43926);
	for (i = 0; i < COMPUTE_BYTES; i++)
		bytes[i] = (uint8_t)rng_u32(&numbers);
	expect_output(&at, host_crc32(bytes, sizeof(bytes)), "CRC-32");
	for (i = 0; i < COMPUTE_WORDS; i++)
		words[i] = (int32_t)rng_u32(&numbers);
	qsort(words, COMPUTE_WORDS, sizeof(words[0]), compare_words);
	for (i = 0; i < COMPUTE_WORDS; i++)
		expect_output(&at, (uint32_t)words[i], "sorted word");
	for (i = 0; i < COMPUTE_DIVISIONS; i++)
		expect_arithmetic(&at, &numbers);
	expect_output(&at, 92, "eight queens");
	assert_int_equal(at, board.outputs);
}

static void test_interrupts(void **state)
{
	struct rng numbers = { SEED };
	uint32_t seed, i, slept;
	unsigned int at = 0;

	boot(*state);
	run_to_end(*state);
	seed = rng_u32(&numbers);
	for (i = 0; i < INTERRUPTS_STEPS; i++) {
		seed = seed * 1664525 + 1013904223;
		seed ^= seed / (i + 1);
	}
	expect_output(&at, seed, "interrupted computation");
	/*
	 * A tick's handler asks for the next tick some instructions after the tick came, so that
	 * ticks come late.
	 */
	assert_int_equal(board.outputs, 4);
	slept = board.output[at++];
	assert_in_range(slept, INTERRUPTS_IDLE_TICKS * INTERRUPTS_IDLE_PERIOD,
			INTERRUPTS_IDLE_TICKS * (INTERRUPTS_IDLE_PERIOD + 200));
	assert_int_equal(board.parks, INTERRUPTS_IDLE_TICKS);
	expect_output(&at, 1, "doorbells");
	expect_output(&at, 1, "calls");
	assert_int_equal(board.core.mcause, 11);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	if (argc < 2) {
		printf("no programs given: riscv64-unknown-elf-gcc was not found\n");
		return EXIT_SKIP;
	}
	for (i = 1; i < argc; i++) {
		bool computes = !strncmp(base_name(argv[i]), "compute", 7);
		const struct CMUnitTest tests[] = {
			{ argv[i], computes ? test_compute : test_interrupts, NULL, NULL, argv[i] },
		};

		failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return failed != 0;
}
