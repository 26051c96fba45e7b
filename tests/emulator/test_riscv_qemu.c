// SPDX-License-Identifier: MIT
/*
 * Runs random programs on the management core and in qemu-riscv32 (Debian: qemu-user); both must
 * leave the same registers and the same memory. Without qemu-riscv32 the test is skipped (exit code
 * 77).
 *
 * RV32_QEMU names another qemu-riscv32, RV32_QEMU_PROGRAMS sets the number of programs. A program
 * that fails stays in the working directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rv32_reference.h"
#include "rv32_rig.h"

#define EXIT_SKIP 77
#define PROGRAMS  50
#define BODY	  200 /* random instructions in a program */

/*
 * The image: code, then data; x31 points to the middle of the data. Both sides map the image at the
 * same address.
 */
#define BASE	      0x00010000u
#define CODE_SIZE     0x1000u
#define DATA	      (BASE + CODE_SIZE)
#define DATA_SIZE     0x1000u
#define IMAGE_SIZE    (CODE_SIZE + DATA_SIZE)
#define POINTER	      (DATA + 0x800) /* value of x31, from which every offset is in the data */
#define REGISTERS     0x100	     /* offset from x31 of the registers' start and end values */
#define FILE_OFFSET   0x1000u
#define SYSCALL_WRITE 64
#define SYSCALL_EXIT  93

static uint8_t image[IMAGE_SIZE];
static uint32_t code_words;
static struct rng rng = { 0xda942042e4dd58b5 };
static const char *qemu;

static void put32(uint8_t *p, uint32_t value)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

static void emit(uint32_t word)
{
	if (4 * code_words >= CODE_SIZE)
		fail_msg("the program is too long");
	put32(image + 4 * code_words++, word);
}

static void emit_addi(unsigned int rd, unsigned int rs1, int32_t imm)
{
	emit(ref_encode_i(ref_find("addi"), rd, rs1, imm));
}

/* Emits lui and addi, which set rd to value. */
static void emit_pointer(unsigned int rd, uint32_t value)
{
	emit(ref_encode_u(ref_find("lui"), rd, (value + 0x800) >> 12));
	emit_addi(rd, rd, (int32_t)(value << 20) >> 20);
}

/* Returns a destination register: any but x31, which points at the data. */
static unsigned int random_rd(void)
{
	return rng_u32(&rng) % 31;
}

static unsigned int random_rs(void)
{
	return rng_u32(&rng) % 32;
}

static int32_t random_imm(void)
{
	return (int32_t)(rng_u32(&rng) % 4096) - 2048;
}

/*
 * Emits the instruction with random fields with which it neither traps nor leaves the program.
 * Returns false when there are none, and emits nothing.
 */
static bool emit_random(const struct ref_insn *insn, unsigned int left)
{
	int32_t offset = random_imm() & -(int32_t)(insn->size ? insn->size : 1);
	int32_t ahead = 4 + 4 * (int32_t)(rng_u32(&rng) % 4);

	switch (insn->kind) {
	case REF_OP:
		emit(ref_encode_r(insn, random_rd(), random_rs(), random_rs()));
		return true;
	case REF_OP_IMM:
		emit(ref_encode_i(insn, random_rd(), random_rs(), random_imm()));
		return true;
	case REF_SHIFT_IMM:
		emit(ref_encode_shift(insn, random_rd(), random_rs(), rng_u32(&rng) % 32));
		return true;
	case REF_LUI:
	case REF_AUIPC:
		emit(ref_encode_u(insn, random_rd(), rng_u32(&rng) >> 12));
		return true;
	case REF_LOAD:
		emit(ref_encode_i(insn, random_rd(), 31, offset));
		return true;
	case REF_STORE:
		emit(ref_encode_s(insn, random_rs(), 31, offset));
		return true;
	case REF_BRANCH:
		if (left < 4)
			return false;
		emit(ref_encode_b(insn, random_rs(), random_rs(), ahead));
		return true;
	case REF_JAL:
		if (left < 4)
			return false;
		emit(ref_encode_j(insn, random_rd(), ahead));
		return true;
	default:
		return false;
	}
}

static void make_program(void)
{
	unsigned int i;

	code_words = 0;
	memset(image, 0, sizeof(image));
	for (i = CODE_SIZE; i < IMAGE_SIZE; i += 4)
		put32(image + i, rig_random_operand(&rng));
	emit_pointer(31, POINTER);
	for (i = 1; i < 31; i++)
		emit(ref_encode_i(ref_find("lw"), i, 31, REGISTERS + 4 * (int32_t)i));
	for (i = 0; i < BODY;)
		i += emit_random(&ref_insns[rng_u32(&rng) % ref_insn_count], BODY - i - 1);
	for (i = 1; i < 31; i++)
		emit(ref_encode_s(ref_find("sw"), i, 31, REGISTERS + 4 * (int32_t)i));
	/* write(1, data, size); exit(0) */
	emit_addi(10, 0, 1);
	emit_pointer(11, DATA);
	emit(ref_encode_u(ref_find("lui"), 12, DATA_SIZE >> 12));
	emit_addi(17, 0, SYSCALL_WRITE);
	emit(ref_find("ecall")->match);
	emit_addi(10, 0, 0);
	emit_addi(17, 0, SYSCALL_EXIT);
	emit(ref_find("ecall")->match);
}

/* Writes a static RISC-V executable of one segment, as the ELF specification says. */
static void write_elf(const char *path)
{
	static uint8_t file[FILE_OFFSET + IMAGE_SIZE];
	static const uint8_t ident[] = { 0x7f, 'E', 'L', 'F', 1, 1, 1 };
	FILE *out = fopen(path, "wb");

	if (!out)
		fail_msg("cannot write %s", path);
	memset(file, 0, sizeof(file));
	memcpy(file, ident, sizeof(ident));
	put32(file + 16, 2 | 243 << 16); /* ET_EXEC, EM_RISCV */
	put32(file + 20, 1);		 /* version */
	put32(file + 24, BASE);		 /* entry */
	put32(file + 28, 52);		 /* program headers */
	put32(file + 40, 52 | 32 << 16); /* header size, size of a program header */
	put32(file + 44, 1 | 40 << 16);	 /* how many, size of a section header */
	put32(file + 52, 1);		 /* PT_LOAD */
	put32(file + 56, FILE_OFFSET);
	put32(file + 60, BASE);
	put32(file + 64, BASE);
	put32(file + 68, IMAGE_SIZE);
	put32(file + 72, IMAGE_SIZE);
	put32(file + 76, 7); /* read, write, execute */
	put32(file + 80, 0x1000);
	memcpy(file + FILE_OFFSET, image, sizeof(image));
	if (fwrite(file, 1, sizeof(file), out) != sizeof(file) || fclose(out))
		fail_msg("cannot write %s", path);
}

static void run_in_qemu(const char *path, uint8_t *data)
{
	char command[512];
	size_t size;
	FILE *pipe;

	snprintf(command, sizeof(command), "%s %s", qemu, path);
	pipe = popen(command, "r");
	if (!pipe)
		fail_msg("cannot run %s", command);
	size = fread(data, 1, DATA_SIZE, pipe);
	if (pclose(pipe) || size != DATA_SIZE)
		fail_msg("%s: %zu bytes of %u", command, size, DATA_SIZE);
}

/* Runs the program up to the first ECALL; there is no handler, so that the core locks up there. */
static void run_here(uint8_t *data)
{
	static uint8_t tcm[IMAGE_SIZE];
	struct onpu_rv32_bus bus = { .tcm = tcm, .tcm_base = BASE, .tcm_size = IMAGE_SIZE };
	struct onpu_rv32 core;

	memcpy(tcm, image, sizeof(tcm));
	assert_true(onpu_rv32_init(&core, &bus, 0, BASE));
	assert_int_equal(onpu_rv32_run(&core, 100000), ONPU_RV32_HALTED);
	if (core.mcause != 11)
		fail_msg("cause %u at %#x, mtval %#x", core.mcause, core.mepc, core.mtval);
	memcpy(data, tcm + CODE_SIZE, DATA_SIZE);
}

static void compare(unsigned int program, const uint8_t *here, const uint8_t *there)
{
	unsigned int i;

	for (i = 0; i < DATA_SIZE; i++)
		if (here[i] != there[i])
			fail_msg("program %u: byte at x31%+d is %#x here, %#x in qemu", program,
				 (int)(DATA + i - POINTER), here[i], there[i]);
}

static void test_against_qemu(void **state)
{
	static uint8_t here[DATA_SIZE], there[DATA_SIZE];
	const char *number = getenv("RV32_QEMU_PROGRAMS");
	unsigned int i, programs = number ? (unsigned int)strtoul(number, NULL, 0) : PROGRAMS;
	char path[] = "./rv32-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	for (i = 0; i < programs; i++) {
		make_program();
		write_elf(path);
		run_in_qemu(path, there);
		run_here(here);
		compare(i, here, there);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_qemu),
	};
	char probe[300];

	qemu = getenv("RV32_QEMU");
	if (!qemu)
		qemu = "qemu-riscv32";
	snprintf(probe, sizeof(probe), "%s --version >/dev/null 2>&1", qemu);
	if (system(probe) != 0) {
		printf("no %s: install qemu-user for the comparison\n", qemu);
		return EXIT_SKIP;
	}
	ref_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
