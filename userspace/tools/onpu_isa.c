// SPDX-License-Identifier: MIT
/*
 * onpu-isa: assembles, disassembles and checks programs of the Open NPU.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/assembler.h"

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "onpu-isa " ONPU_VERSION ", instruction set %u\n", ONPU_ISA_MAJOR);
}

void (*argp_program_version_hook)(FILE *out, struct argp_state *state) = print_version;

static const char doc[] =
	"Assemble, disassemble and check programs of the Open NPU.\v"
	"Commands:\n"
	"  asm FILE   text to instruction words (needs -o)\n"
	"  dis FILE   instruction words to text\n"
	"  check FILE report what is wrong in a program, text or words\n\n"
	"FILE may be - for standard input. One instruction a line, such as\n"
	"  ?s1 mma.f32.acc d4, d5, d6, p7 !s2   ; waits for s1, signals s2\n"
	"Comments begin with ; or #. The exit status is 1 when something is wrong.";

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE", 0 },
	{ "slots", 's', "FILE", 0, "check: the program's slot table, 128 bytes a slot", 0 },
	{ "addresses", 'a', NULL, 0, "dis: put index and words behind each instruction", 0 },
	{ 0 }
};

struct arguments {
	const char *command, *file, *output, *slots;
	bool addresses;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		break;
	case 's':
		a->slots = arg;
		break;
	case 'a':
		a->addresses = true;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			a->command = arg;
		else if (state->arg_num == 1)
			a->file = arg;
		else
			argp_error(state, "too many arguments: '%s'", arg);
		break;
	case ARGP_KEY_END:
		if (!a->file)
			argp_error(state, "needs a command (asm, dis, check) and a file");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

struct buffer {
	char *data; /* NUL-terminated after size */
	size_t size;
};

static bool read_stream(FILE *file, struct buffer *b)
{
	size_t room = 0, n;

	b->data = NULL;
	b->size = 0;
	do {
		if (room - b->size < 4096) {
			char *grown = realloc(b->data, room = room * 2 + 65536);

			if (!grown)
				return false;
			b->data = grown;
		}
		n = fread(b->data + b->size, 1, room - b->size - 1, file);
		b->size += n;
	} while (n);
	b->data[b->size] = 0;
	return !ferror(file);
}

static bool read_file(const char *path, struct buffer *b)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	bool ok = file && read_stream(file, b);

	if (!ok)
		fprintf(stderr, "onpu-isa: cannot read %s: %s\n", path, strerror(errno));
	if (file && file != stdin)
		fclose(file);
	return ok;
}

static FILE *open_output(const char *path)
{
	FILE *file = path && strcmp(path, "-") ? fopen(path, "wb") : stdout;

	if (!file)
		fprintf(stderr, "onpu-isa: cannot write %s: %s\n", path, strerror(errno));
	return file;
}

static int close_output(FILE *file, const char *path)
{
	bool bad = ferror(file) != 0;

	/* An error while the file was written need not come again when it is closed. */
	bad |= (file == stdout ? fflush(file) : fclose(file)) != 0;
	if (!bad)
		return 0;
	fprintf(stderr, "onpu-isa: cannot write %s: %s\n", path ? path : "-", strerror(errno));
	return 1;
}

struct program {
	uint32_t (*words)[ONPU_INSN_WORDS];
	uint32_t count;
	uint32_t *lines; /* source line of each instruction, or NULL */
};

/* Assembles all lines and reports their errors; returns the number of errors. */
static unsigned int assemble(const char *name, struct buffer *text, struct program *p)
{
	unsigned int errors = 0;
	uint32_t line_number = 0;
	size_t lines = 1, i;
	char *line, *next;

	for (i = 0; i < text->size; i++)
		lines += text->data[i] == '\n';
	p->words = calloc(lines, sizeof(*p->words));
	p->lines = calloc(lines, sizeof(*p->lines));
	if (!p->words || !p->lines) {
		fprintf(stderr, "onpu-isa: out of memory\n");
		return 1;
	}
	for (line = text->data; line; line = next) {
		struct onpu_asm_error err;
		int result;

		line_number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		result = onpu_asm_line(line, p->words[p->count], &err);
		if (result < 0) {
			fprintf(stderr, "%s:%u:%u: at '%s': %s\n", name, line_number, err.column,
				err.token, err.message);
			errors++;
		} else if (result) {
			p->lines[p->count++] = line_number;
		}
	}
	return errors;
}

static uint32_t little_endian(const char *bytes)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static bool load_words(const char *name, const struct buffer *binary, struct program *p)
{
	size_t i;

	if (binary->size % ONPU_INSN_BYTES) {
		fprintf(stderr,
			"onpu-isa: %s: %zu bytes are no whole number of instructions, which have %u "
			"bytes each\n",
			name, binary->size, ONPU_INSN_BYTES);
		return false;
	}
	p->count = (uint32_t)(binary->size / ONPU_INSN_BYTES);
	p->words = calloc(p->count + 1u, sizeof(*p->words));
	if (!p->words) {
		fprintf(stderr, "onpu-isa: out of memory\n");
		return false;
	}
	for (i = 0; i < binary->size / 4; i++)
		p->words[i / ONPU_INSN_WORDS][i % ONPU_INSN_WORDS] =
			little_endian(binary->data + 4 * i);
	return true;
}

static int command_asm(const struct arguments *a, struct buffer *input, struct program *p)
{
	FILE *out;
	uint32_t i;

	if (!a->output) {
		fprintf(stderr, "onpu-isa: asm needs an output file: -o FILE\n");
		return 1;
	}
	if (assemble(a->file, input, p))
		return 1;
	out = open_output(a->output);
	if (!out)
		return 1;
	for (i = 0; i < p->count * ONPU_INSN_WORDS; i++) {
		uint32_t w = p->words[i / ONPU_INSN_WORDS][i % ONPU_INSN_WORDS];
		unsigned char bytes[4] = { w & 0xff, w >> 8 & 0xff, w >> 16 & 0xff, w >> 24 };

		fwrite(bytes, 1, sizeof(bytes), out);
	}
	return close_output(out, a->output);
}

static int command_dis(const struct arguments *a, const struct buffer *input, struct program *p)
{
	char text[ONPU_TEXT_MAX];
	int status = 0;
	uint32_t i;
	FILE *out;

	if (!load_words(a->file, input, p))
		return 1;
	out = open_output(a->output);
	if (!out)
		return 1;
	for (i = 0; i < p->count; i++) {
		const uint32_t *w = p->words[i];
		enum onpu_fault fault = onpu_disasm(w, text, sizeof(text));

		fputs(text, out);
		if (fault) {
			fputs(fault == ONPU_FAULT_ILLEGAL_OPCODE ?
				      " ; no such opcode" :
				      " ; a reserved bit is set or a field holds no legal value",
			      out);
			status = 1;
		}
		if (a->addresses)
			fprintf(out, "\t; %u: %08x %08x %08x %08x", i, w[0], w[1], w[2], w[3]);
		fputc('\n', out);
	}
	return close_output(out, a->output) | status;
}

struct check_context {
	const char *file;
	const struct program *program;
};

static void print_finding(void *ctx, uint32_t insn, int is_error, const char *message)
{
	const struct check_context *c = ctx;
	const char *kind = is_error ? "error" : "hint";

	if (insn == ONPU_CHECK_PROGRAM)
		fprintf(stderr, "%s: %s: %s\n", c->file, kind, message);
	else if (c->program->lines)
		fprintf(stderr, "%s:%u: %s: %s\n", c->file, c->program->lines[insn], kind, message);
	else
		fprintf(stderr, "%s: instruction %u: %s: %s\n", c->file, insn, kind, message);
}

static int command_check(const struct arguments *a, struct buffer *input, struct program *p)
{
	struct check_context context = { a->file, p };
	const struct onpu_check_report report = { print_finding, &context };
	struct buffer slots = { NULL, 0 };
	unsigned int errors;
	bool binary = memchr(input->data, 0, input->size) != NULL;

	if (binary ? !load_words(a->file, input, p) : assemble(a->file, input, p) != 0)
		return 1;
	if (a->slots && !read_file(a->slots, &slots))
		return 1;
	if (slots.size % ONPU_SLOT_SIZE) {
		fprintf(stderr,
			"onpu-isa: %s: %zu bytes are no whole number of slots, which have %d bytes "
			"each\n",
			a->slots, slots.size, ONPU_SLOT_SIZE);
		free(slots.data);
		return 1;
	}
	errors = onpu_check_program((const uint32_t(*)[ONPU_INSN_WORDS])p->words, p->count,
				    (const union onpu_slot *)slots.data,
				    (uint32_t)(slots.size / ONPU_SLOT_SIZE), &report);
	free(slots.data);
	return errors != 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { options, parse, "COMMAND FILE", doc, NULL, NULL, NULL };
	struct arguments a = { 0 };
	struct program p = { 0 };
	struct buffer input = { NULL, 0 };
	int status = 1;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (strcmp(a.command, "asm") && strcmp(a.command, "dis") && strcmp(a.command, "check")) {
		fprintf(stderr,
			"onpu-isa: there is no command '%s'; there are asm, dis and check\n",
			a.command);
		return 1;
	}
	if (!read_file(a.file, &input))
		return 1;
	if (!strcmp(a.command, "asm"))
		status = command_asm(&a, &input, &p);
	else if (!strcmp(a.command, "dis"))
		status = command_dis(&a, &input, &p);
	else
		status = command_check(&a, &input, &p);
	free(p.words);
	free(p.lines);
	free(input.data);
	return status;
}
