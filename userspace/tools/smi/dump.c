// SPDX-License-Identifier: MIT
/* onpu-smi: parses core dumps of the device, in the format of Documentation/coredump.rst. */
#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <drm/onpu_accel.h>
#include <onpu/registers.h>

static const char first_line[] = "onpu core dump, format ";

/* ---- lines and sections */

static size_t count_lines(const char *text)
{
	size_t lines = 1;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void make_printable(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || (unsigned char)*line > '~')
			*line = '?';
}

static bool is_heading(const char *line)
{
	size_t length = strlen(line);

	return length > 2 && line[0] == '[' && line[length - 1] == ']';
}

static void begin_section(struct dump *dump, char *line, char **lines)
{
	line[strlen(line) - 1] = '\0';
	dump->sections[dump->count++] = (struct dump_section){ line + 1, lines, 0 };
}

/* Adds a line to its section. A line of a log begins with a bar, so that it is no heading. */
static void take_line(struct dump *dump, char *line, size_t *used)
{
	make_printable(line);
	if (is_heading(line)) {
		dump->whole = !strcmp(line, "[end]");
		begin_section(dump, line, dump->lines + *used);
	} else if (dump->count && *line) {
		dump->lines[(*used)++] = line;
		dump->sections[dump->count - 1].count++;
	}
}

const char *dump_parse(char *text, struct dump *dump)
{
	size_t lines = count_lines(text), used = 0;
	char *line = text, *next;

	memset(dump, 0, sizeof(*dump));
	if (strncmp(text, first_line, sizeof(first_line) - 1))
		return "it is no core dump of an Open NPU";
	if (strtoul(text + sizeof(first_line) - 1, NULL, 10) != DUMP_FORMAT)
		return "its format is not known to this version of onpu-smi: take a newer one";
	dump->sections = calloc(lines, sizeof(*dump->sections));
	dump->lines = calloc(lines, sizeof(*dump->lines));
	if (!dump->sections || !dump->lines) {
		dump_free(dump);
		return "memory is exhausted";
	}
	for (; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (line != text)
			take_line(dump, line, &used);
	}
	return NULL;
}

void dump_free(struct dump *dump)
{
	free(dump->sections);
	free(dump->lines);
	memset(dump, 0, sizeof(*dump));
}

const struct dump_section *dump_find(const struct dump *dump, const char *name)
{
	for (size_t i = 0; i < dump->count; i++)
		if (!strcmp(dump->sections[i].name, name))
			return &dump->sections[i];
	return NULL;
}

const char *dump_value(const struct dump *dump, const char *name, const char *key)
{
	const struct dump_section *section = dump_find(dump, name);
	size_t length = strlen(key);

	for (size_t i = 0; section && i < section->count; i++) {
		const char *line = section->lines[i];

		if (!strncmp(line, key, length) && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " ");
	}
	return NULL;
}

/* ---- numbers */

/*
 * Reads a decimal number, or a hexadecimal one with 0x; *end is set after it. Returns false when
 * there is none.
 */
static bool read_number(const char *text, char **end, uint64_t *value)
{
	int base = !strncmp(text, "0x", 2) ? 16 : 10;

	errno = 0;
	*value = strtoull(text, end, base);
	return *end != text && !errno;
}

bool dump_number(const struct dump *dump, const char *section, const char *key, uint64_t *value)
{
	const char *text = dump_value(dump, section, key);
	char *end;

	return text && read_number(text, &end, value);
}

const char *dump_rest(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = line; (at = strstr(at, name)); at += length)
		if ((at == line || at[-1] == ' ') && at[length] == '=')
			return at + length + 1;
	return NULL;
}

bool dump_field(const char *line, const char *name, uint64_t *value)
{
	const char *text = dump_rest(line, name);
	char *end;

	return text && read_number(text, &end, value);
}

size_t dump_numbers(const char *text, uint64_t *values, size_t count)
{
	size_t found = 0;
	char *end;

	while (found < count && read_number(text, &end, &values[found])) {
		found++;
		text = end + strspn(end, " ");
	}
	return found;
}

bool dump_instruction(const char *line, uint64_t *index, uint32_t words[4])
{
	uint64_t values[4];
	char *end;

	if (!read_number(line, &end, index) || *end != ':' ||
	    dump_numbers(end + 1 + strspn(end + 1, " "), values, 4) != 4)
		return false;
	for (size_t i = 0; i < 4; i++)
		words[i] = (uint32_t)values[i];
	return true;
}

/* ---- names */

static const struct {
	const char *name, *text;
} faults[] = {
	[ONPU_FAULT_NONE] = { "NONE", "no fault" },
	[ONPU_FAULT_ILLEGAL_OPCODE] = { "ILLEGAL_OPCODE", "there is no such instruction" },
	[ONPU_FAULT_RESERVED_BITS] = { "RESERVED_BITS", "a field holds no legal value" },
	[ONPU_FAULT_SLOT_INDEX] = { "SLOT_INDEX", "the slot is beyond the table, or missing" },
	[ONPU_FAULT_SLOT_FORMAT] = { "SLOT_FORMAT", "the slot is not well formed" },
	[ONPU_FAULT_SPACE] = { "SPACE", "an operand that must be in SRAM is not" },
	[ONPU_FAULT_DTYPE] = { "DTYPE", "the element type is not allowed there" },
	[ONPU_FAULT_SHAPE] = { "SHAPE", "shapes do not fit" },
	[ONPU_FAULT_BOUNDS] = { "BOUNDS", "an element is outside its window or of SRAM" },
	[ONPU_FAULT_INDEX_RANGE] = { "INDEX_RANGE", "an index is outside its dimension" },
	[ONPU_FAULT_MMU_NOT_PRESENT] = { "MMU_NOT_PRESENT", "there is no memory at the address" },
	[ONPU_FAULT_MMU_PERM] = { "MMU_PERM", "the access is not permitted" },
	[ONPU_FAULT_SEM_OVERFLOW] = { "SEM_OVERFLOW", "a semaphore has counted too far" },
	[ONPU_FAULT_SEM_OWNER] = { "SEM_OWNER", "two engines signal or wait for a semaphore" },
	[ONPU_FAULT_DEADLOCK] = { "DEADLOCK", "all engines wait for each other" },
	[ONPU_FAULT_TIMEOUT] = { "TIMEOUT", "the cycle limit, or no preemption point in time" },
	[ONPU_FAULT_TRAP] = { "TRAP", "the program has given up by itself" },
	[ONPU_FAULT_PARITY] = { "PARITY", "a memory error in the device" },
};

_Static_assert(sizeof(faults) / sizeof(faults[0]) == ONPU_FAULT_COUNT, "a name for every code");

const char *dump_fault_name(uint64_t code)
{
	return code < ONPU_FAULT_COUNT ? faults[code].name : "unknown";
}

const char *dump_fault_text(uint64_t code)
{
	return code < ONPU_FAULT_COUNT ? faults[code].text : "this version does not know the code";
}

const char *dump_engine_name(uint64_t engine)
{
	static const char *const names[] = {
		[ONPU_ENG_CP] = "command processor", [ONPU_ENG_LD] = "DMA engine LD",
		[ONPU_ENG_ST] = "DMA engine ST",     [ONPU_ENG_MXU] = "matrix unit",
		[ONPU_ENG_VPU] = "vector unit",
	};

	return engine < ONPU_ENG_COUNT ? names[engine] : "unknown";
}

const char *dump_operand_name(uint64_t operand)
{
	static const char *const names[] = {
		[ONPU_OPERAND_DST] = "dst",	[ONPU_OPERAND_S0] = "s0",
		[ONPU_OPERAND_S1] = "s1",	[ONPU_OPERAND_S2] = "s2",
		[ONPU_OPERAND_PARAM] = "param",
	};

	if (operand == ONPU_OPERAND_NONE)
		return "none";
	return operand < ONPU_OPERAND_COUNT ? names[operand] : "unknown";
}

const char *dump_ctx_state_name(uint64_t state)
{
	static const char *const names[] = {
		[DRM_ONPU_CTX_ACTIVE] = "active", [DRM_ONPU_CTX_INNOCENT] = "innocent",
		[DRM_ONPU_CTX_FAULT] = "fault",	  [DRM_ONPU_CTX_TIMEDOUT] = "timed out",
		[DRM_ONPU_CTX_LOST] = "lost",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}
