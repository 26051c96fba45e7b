/* SPDX-License-Identifier: MIT */
/*
 * Instructions as text: one a line, in the syntax of the display strings of isa.xml. Comments begin
 * with ';' or '#'. A word that is no instruction is written ".word 0xA 0xB 0xC 0xD".
 */
#ifndef ONPU_ASSEMBLER_H
#define ONPU_ASSEMBLER_H

#include <stddef.h>
#include <stdint.h>

#include "onpu/isa.h"

/* Room for the text of any instruction. */
#define ONPU_TEXT_MAX 128

/* Column and text of a wrong token, and a message that says what would be right. */
struct onpu_asm_error {
	unsigned int column; /* from 1 */
	char token[32];	     /* empty: the end of the line */
	char message[256];
};

/* 1: w holds the instruction; 0: the line has none; -1: *err says why. */
int onpu_asm_line(const char *line, uint32_t w[ONPU_INSN_WORDS], struct onpu_asm_error *err);

/* Returns ONPU_FAULT_NONE, or why the word is no instruction; the text is a .word line then. */
enum onpu_fault onpu_disasm(const uint32_t w[ONPU_INSN_WORDS], char *text, size_t size);

/* One finding; insn is ONPU_CHECK_PROGRAM when it concerns the whole. */
#define ONPU_CHECK_PROGRAM UINT32_MAX

struct onpu_check_report {
	void (*finding)(void *ctx, uint32_t insn, int is_error, const char *message);
	void *ctx;
};

/*
 * Checks what can be told without running: encodings, required operands, the end of the program,
 * semaphores with one signaller and one waiter. With slots (num_slots of them, or NULL) also their
 * indices, kinds, types and schemas, and that semaphores get as many tokens as are waited for.
 * Returns the number of errors; findings that are no errors are hints.
 */
unsigned int onpu_check_program(const uint32_t (*words)[ONPU_INSN_WORDS], uint32_t count,
				const union onpu_slot *slots, uint32_t num_slots,
				const struct onpu_check_report *report);

#endif
