/* SPDX-License-Identifier: MIT */
/* onpu-smi: core dumps of the device, in the format of Documentation/coredump.rst. */
#ifndef ONPU_TOOLS_SMI_DUMP_H
#define ONPU_TOOLS_SMI_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMP_FORMAT 1u

struct dump_section {
	const char *name; /* name without brackets */
	char **lines;
	size_t count;
};

struct dump {
	struct dump_section *sections;
	size_t count;
	char **lines;
	bool whole; /* whether the text has its last line, [end] */
};

/*
 * Parses a text, which is modified and must outlive the dump; unprintable characters become '?'.
 * Returns NULL, or what is wrong with the text.
 */
const char *dump_parse(char *text, struct dump *dump);
void dump_free(struct dump *dump);

/*
 * Return a section, and the value of a key in a section; NULL when there is no such section or key.
 */
const struct dump_section *dump_find(const struct dump *dump, const char *name);
const char *dump_value(const struct dump *dump, const char *section, const char *key);
/*
 * Sets *value to the number that a key in a section has. Returns false when the value is absent, or
 * no number.
 */
bool dump_number(const struct dump *dump, const char *section, const char *key, uint64_t *value);

/*
 * Reads the number after "name=" in a line of fields; a negative one as two's complement. Returns
 * false when there is none.
 */
bool dump_field(const char *line, const char *name, uint64_t *value);
/* Returns the text after "name=" up to the end of the line; NULL: there is none. */
const char *dump_rest(const char *line, const char *name);

/* Reads up to @count numbers that are separated by blanks; returns their count. */
size_t dump_numbers(const char *text, uint64_t *values, size_t count);
/* Reads a line of [program], such as "12: 0x0 0x0 0x0 0x0". Returns false for another line. */
bool dump_instruction(const char *line, uint64_t *index, uint32_t words[4]);

/* Return the names of numbers; "unknown" for numbers without a name. */
const char *dump_fault_name(uint64_t code);
const char *dump_fault_text(uint64_t code);
const char *dump_engine_name(uint64_t engine);
const char *dump_operand_name(uint64_t operand);
const char *dump_ctx_state_name(uint64_t state);

#endif
