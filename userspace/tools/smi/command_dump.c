// SPDX-License-Identifier: MIT
/* onpu-smi dump: prints the core dump that the driver kept of a failure. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <onpu/registers.h>

#include "device.h"
#include "dump.h"
#include "isa/assembler.h"
#include "smi.h"
#include "tree.h"

enum { KEY_DROP = 0x700 };

#define DUMPS "/sys/class/devcoredump"

static const struct argp_option dump_options[] = {
	{ "drop", KEY_DROP, NULL, 0,
	  "Show the dump, then delete it from the kernel, to make room for the next one", 0 },
	{ 0 }
};

struct dump_command {
	struct options common;
	const char *file;
	bool drop;
	char found[NAME_MAX + 1]; /* devcdN of the kernel; empty: a file was given */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump_command *command = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->common;
		break;
	case KEY_DROP:
		command->drop = true;
		break;
	case ARGP_KEY_ARG:
		if (command->file)
			argp_error(state, "only one file can be given; '%s' is a second one", arg);
		command->file = arg;
		break;
	case ARGP_KEY_END:
		if (command->file && command->drop)
			argp_error(state,
				   "--drop is for the dump that the kernel has, not for a file");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- where it is */

static bool is_wanted(const struct devices *devices, const char *name)
{
	char target[PATH_MAX];

	if (tree_link(target, sizeof(target), DUMPS "/%s/failing_device", name))
		return false;
	for (size_t i = 0; i < devices->count; i++)
		if (!strcmp(tree_base(target), devices->list[i].address))
			return true;
	return false;
}

/* Reads the first dump of one of the devices; NULL after a message, with an exit code in *ret. */
static char *read_kernel(struct dump_command *command, const struct devices *devices, int *ret)
{
	struct tree_names names = tree_list(DUMPS);
	char *text = NULL;
	size_t i = 0;

	while (i < names.count && !is_wanted(devices, names.names[i]))
		i++;
	if (i == names.count) {
		*ret = complain(WRONG,
				"the kernel has no core dump of an Open NPU; it keeps one for "
				"five minutes after a failure");
	} else {
		snprintf(command->found, sizeof(command->found), "%s", names.names[i]);
		text = tree_read(NULL, DUMPS "/%s/data", command->found);
		if (!text && (errno == EACCES || errno == EPERM))
			*ret = complain(FAILED,
					"only root may read a core dump: sudo onpu-smi dump");
		else if (!text)
			*ret = complain(FAILED, DUMPS "/%s/data: %s", command->found,
					strerror(errno));
	}
	tree_names_free(&names);
	return text;
}

/* ---- for people */

static void print_value(const struct dump *dump, const char *name, const char *section,
			const char *key)
{
	const char *value = dump_value(dump, section, key);

	if (value)
		printf("  %-10s %s\n", name, value);
}

static void print_time(const struct dump *dump)
{
	uint64_t seconds;
	struct tm parts;
	char text[64];
	time_t when;

	if (!dump_number(dump, "failure", "time", &seconds))
		return;
	when = (time_t)seconds;
	if (gmtime_r(&when, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts))
		printf("  %-10s %s\n", "time", text);
}

/* Returns the line of [clients] about this client; NULL: there is none. */
static const char *find_client(const struct dump *dump, uint64_t client)
{
	const struct dump_section *clients = dump_find(dump, "clients");

	for (size_t i = 0; clients && i < clients->count; i++) {
		uint64_t number;

		if (dump_field(clients->lines[i], "client", &number) && number == client)
			return clients->lines[i];
	}
	return NULL;
}

static void print_culprit(const struct dump *dump)
{
	uint64_t client, context, pid;
	const char *line;

	if (!dump_number(dump, "failure", "client", &client))
		return;
	line = find_client(dump, client);
	printf("  %-10s", "program");
	if (line && dump_field(line, "pid", &pid) && dump_rest(line, "name"))
		printf(" %s, process %" PRIu64 ",", dump_rest(line, "name"), pid);
	printf(" client %" PRIu64, client);
	if (dump_number(dump, "failure", "context", &context))
		printf(", context %" PRIu64, context);
	putchar('\n');
}

static void print_failure(const struct dump *dump)
{
	const char *kind = dump_value(dump, "failure", "kind");
	const char *reason = dump_value(dump, "failure", "reason");
	uint64_t error;

	printf("%s%s%s\n", kind ? kind : "failure", reason ? ": " : "", reason ? reason : "");
	print_time(dump);
	print_value(dump, "device", "failure", "device");
	print_value(dump, "firmware", "failure", "firmware");
	print_value(dump, "kernel", "failure", "kernel");
	print_value(dump, "resets", "failure", "resets");
	print_culprit(dump);
	if (dump_number(dump, "failure", "error", &error))
		printf("  %-10s %s\n", "error", strerror((int)error));
}

static void print_fault(const struct dump *dump)
{
	uint64_t code, pc, value;

	if (!dump_number(dump, "fault", "code", &code))
		return;
	printf("\nFault %s: %s\n", dump_fault_name(code), dump_fault_text(code));
	if (dump_number(dump, "fault", "pc", &pc))
		printf("  %-10s %" PRIu64 "\n", "at", pc);
	if (dump_number(dump, "fault", "engine", &value))
		printf("  %-10s %s\n", "engine", dump_engine_name(value));
	if (dump_number(dump, "fault", "operand", &value))
		printf("  %-10s %s\n", "operand", dump_operand_name(value));
	if (dump_number(dump, "fault", "address", &value))
		printf("  %-10s 0x%" PRIx64 "\n", "address", value);
	if (dump_number(dump, "fault", "cycle", &value))
		printf("  %-10s %" PRIu64 " of the job\n", "cycle", value);
}

/* Prints the program, with ">" before the instruction that failed. */
static void print_program(const struct dump *dump)
{
	const struct dump_section *program = dump_find(dump, "program");
	uint64_t pc = UINT64_MAX;

	dump_number(dump, "fault", "pc", &pc);
	if (program && program->count)
		printf("\nProgram\n");
	for (size_t i = 0; program && i < program->count; i++) {
		char text[ONPU_TEXT_MAX];
		uint32_t words[4];
		uint64_t index;

		if (!dump_instruction(program->lines[i], &index, words))
			continue;
		onpu_disasm(words, text, sizeof(text));
		printf("%c %8" PRIu64 "  %s\n", index == pc ? '>' : ' ', index, text);
	}
}

static void print_context(const char *line)
{
	static const char *const names[] = { "client",	  "context", "queue",	 "state",
					     "submitted", "fed",     "completed" };
	uint64_t v[7] = { 0 }, left;

	/* This is the last line of a list that was cut off. */
	if (dump_field(line, "left_out", &left)) {
		printf("  and %" PRIu64 " more\n", left);
		return;
	}
	for (size_t j = 0; j < 7; j++)
		dump_field(line, names[j], &v[j]);
	printf("  %-6" PRIu64 "  %-7" PRIu64 "  %-5" PRId64 "  %-9s  %-9" PRIu64 "  %-9" PRIu64
	       "  %" PRIu64 "\n",
	       v[0], v[1], (int64_t)v[2], dump_ctx_state_name(v[3]), v[4], v[5], v[6]);
}

static void print_contexts(const struct dump *dump)
{
	const struct dump_section *contexts = dump_find(dump, "contexts");

	if (contexts && contexts->count)
		printf("\n  CLIENT  CONTEXT  QUEUE  STATE      SUBMITTED  FED        COMPLETED\n");
	for (size_t i = 0; contexts && i < contexts->count; i++)
		print_context(contexts->lines[i]);
}

/* Prints a section that needs no explanation, unchanged. */
static void print_plain(const struct dump *dump, const char *name, const char *title)
{
	const struct dump_section *section = dump_find(dump, name);

	if (section && section->count)
		printf("\n%s\n", title);
	for (size_t i = 0; section && i < section->count; i++)
		printf("  %s\n", section->lines[i]);
}

/* Prints the registers or, when all of them read as ones, that the device was not reachable. */
static void print_registers(const struct dump *dump)
{
	const struct dump_section *registers = dump_find(dump, "registers");
	bool ones = true;

	for (size_t i = 0; registers && i < registers->count; i++)
		ones &= strstr(registers->lines[i], ": 0xffffffff") != NULL;
	if (registers && ones)
		printf("\nRegisters\n  %s\n",
		       registers->count ? "The device did not answer." : "The bus was cut off.");
	else
		print_plain(dump, "registers", "Registers");
}

static void print_dump(const struct dump *dump)
{
	print_failure(dump);
	print_fault(dump);
	print_program(dump);
	print_plain(dump, "job", "Job");
	print_plain(dump, "ring", "Ring");
	print_contexts(dump);
	print_plain(dump, "clients", "Clients");
	print_plain(dump, "mailbox", "Messages to and from the firmware");
	print_plain(dump, "log", "Firmware's log");
	print_registers(dump);
	if (!dump->whole)
		printf("\nThe dump was cut off: what came after this is missing.\n");
}

/* ---- for programs: the lines unchanged, and their interpretation */

static json_t *section_json(const struct dump_section *section)
{
	json_t *list = json_array();

	for (size_t i = 0; i < section->count; i++)
		json_array_append_new(list, json_string(section->lines[i]));
	return list;
}

static json_t *fault_json(const struct dump *dump)
{
	static const char *const keys[] = { "pc", "queue", "seqno", "address", "cycle" };
	uint64_t value;
	json_t *object;

	if (!dump_number(dump, "fault", "code", &value))
		return json_null();
	object = json_pack("{s:s, s:s}", "name", dump_fault_name(value), "text",
			   dump_fault_text(value));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (dump_number(dump, "fault", keys[i], &value))
			json_object_set_new(object, keys[i], json_integer((json_int_t)value));
	if (dump_number(dump, "fault", "engine", &value))
		json_object_set_new(object, "engine", json_string(dump_engine_name(value)));
	if (dump_number(dump, "fault", "operand", &value))
		json_object_set_new(object, "operand", json_string(dump_operand_name(value)));
	return object;
}

static json_t *program_json(const struct dump *dump)
{
	const struct dump_section *program = dump_find(dump, "program");
	json_t *list = json_array();

	for (size_t i = 0; program && i < program->count; i++) {
		char text[ONPU_TEXT_MAX];
		uint32_t words[4];
		uint64_t index;

		if (!dump_instruction(program->lines[i], &index, words))
			continue;
		onpu_disasm(words, text, sizeof(text));
		json_array_append_new(list, json_pack("{s:I, s:s}", "index", (json_int_t)index,
						      "text", text));
	}
	return list;
}

static int print_json(const struct dump *dump)
{
	const char *kind = dump_value(dump, "failure", "kind");
	const char *reason = dump_value(dump, "failure", "reason");
	json_t *sections = json_object();

	for (size_t i = 0; i < dump->count; i++)
		json_object_set_new(sections, dump->sections[i].name,
				    section_json(&dump->sections[i]));
	return write_json(json_pack("{s:s?, s:s?, s:b, s:o, s:o, s:o}", "kind", kind, "reason",
				    reason, "whole", dump->whole, "fault", fault_json(dump),
				    "program", program_json(dump), "sections", sections),
			  JSON_INDENT(2));
}

static int show(const struct dump_command *command, char *text)
{
	const char *name = command->file ? command->file : command->found;
	struct dump dump;
	const char *wrong = dump_parse(text, &dump);
	int ret = DONE;

	if (wrong)
		return complain(FAILED, "%s: %s", name, wrong);
	if (command->common.json)
		ret = print_json(&dump);
	else
		print_dump(&dump);
	dump_free(&dump);
	return ret;
}

int command_dump(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = dump_options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "What the driver kept of a failure: why, where in the program, and how things "
		       "stood. FILE is a copy of /sys/class/devcoredump/devcdN/data, or - for standard "
		       "input; without it, the dump that the kernel has now, as root.",
		.children = children,
	};
	struct dump_command command = { .file = NULL };
	struct devices devices = { NULL, 0 };
	int ret = DONE, error;
	char *text = NULL;

	argp_parse(&argp, argc, argv, 0, NULL, &command);
	if (command.file) {
		text = read_text(command.file, &ret);
	} else {
		devices = devices_find(false);
		ret = devices_choose(&devices, command.common.device);
		if (ret == DONE)
			text = read_kernel(&command, &devices, &ret);
	}
	if (text)
		ret = show(&command, text);
	if (text && ret == DONE && command.drop) {
		error = tree_write("1", DUMPS "/%s/data", command.found);
		if (error)
			ret = complain(FAILED, DUMPS "/%s/data: %s", command.found,
				       strerror(-error));
	}
	free(text);
	devices_free(&devices);
	return ret;
}
