/* SPDX-License-Identifier: MIT */
/*
 * Assembles, disassembles and checks instructions. The text has an instruction a line, in the
 * syntax of the display strings of isa.xml. Comments begin with ';' or '#'. A word that is no
 * instruction is written ".word 0xA 0xB 0xC 0xD".
 */
#ifndef ONPU_ASSEMBLER_H
#define ONPU_ASSEMBLER_H

#include <stddef.h>
#include <stdint.h>

#include "onpu/isa.h"

/* The most bytes of the text of an instruction. */
#define ONPU_TEXT_MAX 128

/* The column and text of a wrong token, and a message that says what would be right. */
struct onpu_asm_error {
	unsigned int column; /* column in the line, from 1 on */
	char token[32];	     /* empty: the end of the line */
	char message[256];
};

/* Assembles a line. Returns 1: w has the instruction; 0: the line has none; -1: *err says why. */
int onpu_asm_line(const char *line, uint32_t w[ONPU_INSN_WORDS], struct onpu_asm_error *err);

/*
 * Disassembles a word. Returns ONPU_FAULT_NONE, or why the word is no instruction; the text then is
 * a .word line.
 */
enum onpu_fault onpu_disasm(const uint32_t w[ONPU_INSN_WORDS], char *text, size_t size);

/* The instruction of a finding that concerns the whole program. */
#define ONPU_CHECK_PROGRAM UINT32_MAX

/* The function that is called for each finding: an error, or (is_error 0) a hint. */
struct onpu_check_report {
	void (*finding)(void *ctx, uint32_t insn, int is_error, const char *message);
	void *ctx;
};

/*
 * Checks a program without running it: encodings, required operands, the end of the program, and
 * that semaphores have one signaller and one waiter. With slots (NULL: there are none) it also
 * checks their indices, kinds, types and schemas, and that semaphores get as many tokens as are
 * waited for. Returns the number of errors.
 */
unsigned int onpu_check_program(const uint32_t (*words)[ONPU_INSN_WORDS], uint32_t count,
				const union onpu_slot *slots, uint32_t num_slots,
				const struct onpu_check_report *report);

#endif
