// SPDX-License-Identifier: MIT
/* onpu-smi info: prints the devices, their properties and their state. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onpu/machines.h>
#include <onpu/registers.h>

#include "../size_text.h"
#include "device.h"
#include "query.h"
#include "smi.h"
#include "text.h"
#include "tree.h"

static void row(const char *name, char *text)
{
	printf("  %-10s %s\n", name, text);
	free(text);
}

static const char *machine_name(const struct device *device)
{
	return onpu_machine_name(device_cap(device, ONPU_REG_CAP_MACHINE));
}

static void print_machine(const struct device *device)
{
	char size[SIZE_TEXT], dma[SIZE_TEXT];

	row("engines", text_of("matrix unit of %u x %u, vector unit of %u lanes, DMA of %s a cycle",
			       device_cap(device, ONPU_REG_CAP_MXU_ROWS),
			       device_cap(device, ONPU_REG_CAP_MXU_COLS),
			       device_cap(device, ONPU_REG_CAP_LANES),
			       size_text(dma, device_cap(device, ONPU_REG_CAP_DMA_BYTES))));
	row("SRAM", text_of("%s", size_text(size, device_cap(device, ONPU_REG_CAP_SRAM_BYTES))));
	row("queues",
	    text_of("%u, and %u address spaces", device_cap(device, ONPU_REG_CAP_NUM_QUEUES),
		    device_cap(device, ONPU_REG_CAP_NUM_VMS)));
	size_text(size, device_cap(device, ONPU_REG_CAP_SAVE_BYTES));
	/* Drivers with version 1.0 of the interface have no limit for a user. */
	if (device->info.max_user_contexts)
		row("contexts",
		    text_of("%u for an open file, %u for a user, %s each",
			    device->info.max_contexts, device->info.max_user_contexts, size));
	else
		row("contexts",
		    text_of("%u for an open file, %s each", device->info.max_contexts, size));
	row("timeout", text_of("%g s without progress, if a program asks for no other",
			       device->info.timeout_ms / 1000.0));
}

static void print_memory(const struct device *device)
{
	char used[SIZE_TEXT], limit[SIZE_TEXT];

	size_text(used, device->memory);
	if (device->state == STATE_READY)
		row("memory", text_of("%s in use, a user may have %s", used,
				      size_text(limit, device->info.memory_limit)));
	else
		row("memory", text_of("%s in use", used));
}

static void print_driver(const struct device *device)
{
	char release[128];

	if (!*device->driver)
		return;
	tree_line(release, sizeof(release), "/proc/sys/kernel/osrelease");
	if (device->state == STATE_READY)
		row("driver",
		    text_of("%s, interface %u.%u, kernel %s", device->driver,
			    device->info.interface_major, device->info.interface_minor, release));
	else
		row("driver", text_of("%s, kernel %s", device->driver, release));
	if (*device->firmware)
		row("firmware", text_of("%s", device->firmware));
}

static void print_pci(const struct device *device)
{
	char *text = text_of("revision %u, %u interrupts", device->revision, device->vectors),
	     *next;

	if (device->link_width && *device->link_speed) {
		next = text_of("%s, %s x%u", text, device->link_speed, device->link_width);
		free(text);
		text = next;
	}
	if (*device->power) {
		next = text_of("%s, power %s", text, device->power);
		free(text);
		text = next;
	}
	row("PCI", text);
}

static void print_device(const struct device *device)
{
	const bool ours = !strcmp(device->driver, "onpu");

	printf("%s  Open NPU%s%s\n", device->address, device->state == STATE_READY ? ", " : "",
	       device->state == STATE_READY ? machine_name(device) : "");
	row("state",
	    text_of("%s: %s", device_state_name(device->state), device_state_text(device->state)));
	if (*device->node)
		row("node", text_of("/dev/accel/%s", device->node));
	print_driver(device);
	if (device->state == STATE_READY)
		print_machine(device);
	if (ours) {
		row("clock", text_of("%" PRIu64 " MHz at most, %" PRIu64 " MHz now",
				     device->max_clock_mhz, device->clock_mhz));
		print_memory(device);
		row("busy",
		    text_of("%.3f s since the driver was bound", (double)device->busy_us / 1e6));
	}
	if (device->state == STATE_READY)
		row("jobs", text_of("%" PRIu64 " have ended, %" PRIu64 " of them with an error",
				    (uint64_t)device->counters.jobs,
				    (uint64_t)device->counters.failed_jobs));
	if (ours)
		row("resets", text_of("%" PRIu64, device->resets));
	print_pci(device);
}

/* ---- for programs */

static int set(json_t *object, const char *name, uint64_t value)
{
	return json_object_set_new(object, name, json_integer((json_int_t)value));
}

static int set_text(json_t *object, const char *name, const char *text)
{
	return json_object_set_new(object, name, *text ? text_as_json(text) : json_null());
}

static int set_caps(json_t *object, const struct device *device)
{
	static const struct {
		const char *name;
		uint32_t reg;
	} caps[] = {
		{ "sram_bytes", ONPU_REG_CAP_SRAM_BYTES },
		{ "vector_lanes", ONPU_REG_CAP_LANES },
		{ "matrix_rows", ONPU_REG_CAP_MXU_ROWS },
		{ "matrix_columns", ONPU_REG_CAP_MXU_COLS },
		{ "features", ONPU_REG_CAP_FEATURES },
		{ "dma_bytes_per_cycle", ONPU_REG_CAP_DMA_BYTES },
		{ "queues", ONPU_REG_CAP_NUM_QUEUES },
		{ "address_spaces", ONPU_REG_CAP_NUM_VMS },
		{ "context_bytes", ONPU_REG_CAP_SAVE_BYTES },
		{ "clock_khz", ONPU_REG_CAP_CLOCK_KHZ },
	};
	int ret = set_text(object, "machine", machine_name(device));

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		ret |= set(object, caps[i].name, device_cap(device, caps[i].reg));
	return ret;
}

/*
 * Sets the fields that only the device itself can answer. Returns 0, or another number when one
 * could not be set.
 */
static int set_answers(json_t *object, const struct device *device)
{
	const struct drm_onpu_dev_info *info = &device->info;
	const struct drm_onpu_counters *counters = &device->counters;
	char version[48];
	int ret;

	snprintf(version, sizeof(version), "%u.%u", info->interface_major, info->interface_minor);
	ret = set_text(object, "interface", version) | set_caps(object, device);
	ret |= set(object, "memory_limit", info->memory_limit);
	ret |= set(object, "max_contexts", info->max_contexts);
	if (info->max_user_contexts)
		ret |= set(object, "max_user_contexts", info->max_user_contexts);
	ret |= set(object, "timeout_ms", info->timeout_ms);
	ret |= set(object, "jobs", counters->jobs);
	ret |= set(object, "failed_jobs", counters->failed_jobs);
	return ret;
}

static json_t *device_json(const struct device *device)
{
	json_t *object = json_object();
	int ret = set_text(object, "address", device->address);

	ret |= set_text(object, "state", device_state_name(device->state));
	ret |= set_text(object, "driver", device->driver);
	ret |= set_text(object, "node", device->node);
	ret |= set_text(object, "firmware", device->firmware);
	ret |= set_text(object, "power", device->power);
	ret |= set_text(object, "link_speed", device->link_speed);
	ret |= set(object, "link_width", device->link_width);
	ret |= set(object, "revision", device->revision);
	ret |= set(object, "interrupts", device->vectors);
	ret |= json_object_set_new(object, "numa_node", json_integer(device->numa_node));
	if (!strcmp(device->driver, "onpu")) {
		ret |= set(object, "busy_us", device->busy_us);
		ret |= set(object, "memory", device->memory);
		ret |= set(object, "clock_mhz", device->clock_mhz);
		ret |= set(object, "max_clock_mhz", device->max_clock_mhz);
		ret |= set(object, "resets", device->resets);
	}
	if (device->state == STATE_READY)
		ret |= set_answers(object, device);
	if (ret) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* ---- the command */

enum { KEY_QUERY = 0x400, KEY_FORMAT };

enum format { TEXT, CSV, CSV_ROWS, JSON };

static const struct argp_option info_options[] = {
	{ "query", KEY_QUERY, "FIELD[,FIELD...]", 0,
	  "Only these fields, whose names are those of --json; as CSV unless told otherwise", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "text, csv, csv,noheader or json, which is the same as --json", 0 },
	{ "loop", 'l', "SECONDS", 0, "Print again every SECONDS, until it is interrupted", 0 },
	{ "count", 'n', "N", 0, "With --loop: end after so many times", 0 },
	{ 0 }
};

struct command {
	struct options common;
	struct query query; /* no fields: --query was not given */
	enum format format;
	bool has_format;
	double interval;    /* seconds between readings; 0: one reading */
	unsigned int count; /* number of readings; 0: until interrupted */
};

static void set_format(struct command *command, const char *text, struct argp_state *state)
{
	static const char *const formats[] = {
		[TEXT] = "text", [CSV] = "csv", [CSV_ROWS] = "csv,noheader", [JSON] = "json"
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(text, formats[i])) {
			command->format = (enum format)i;
			command->has_format = true;
			return;
		}
	argp_error(state, "--format must be text, csv, csv,noheader or json, not '%s'", text);
}

static void check_options(struct command *command, struct argp_state *state)
{
	if (command->common.json && command->has_format && command->format != JSON)
		argp_error(state, "--json and another --format do not go together");
	if (command->query.count && command->has_format && command->format == TEXT)
		argp_error(state, "--query takes --format csv, csv,noheader or json");
	if (command->count && !command->interval)
		argp_error(state, "--count needs --loop");
	if (command->common.json)
		command->format = JSON;
	else if (command->query.count && !command->has_format)
		command->format = CSV;
	if (!command->query.count && (command->format == CSV || command->format == CSV_ROWS))
		query_all(&command->query);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->common;
		break;
	case KEY_QUERY:
		query_parse(&command->query, arg, state);
		break;
	case KEY_FORMAT:
		set_format(command, arg, state);
		break;
	case 'l':
		command->interval = parse_seconds(arg, "--loop", state);
		break;
	case 'n':
		command->count = parse_count(arg, "--count", state);
		break;
	case ARGP_KEY_END:
		check_options(command, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static json_t *selected_json(const struct command *command, const struct device *device)
{
	json_t *object = device_json(device), *selected;

	if (!object || !command->query.count)
		return object;
	selected = query_select(&command->query, object);
	json_decref(object);
	return selected;
}

static int print_json(const struct command *command, const struct devices *devices)
{
	json_t *list = json_array();
	char release[128];
	int wrong = 0;

	tree_line(release, sizeof(release), "/proc/sys/kernel/osrelease");
	for (size_t i = 0; i < devices->count; i++)
		wrong |= json_array_append_new(list, selected_json(command, &devices->list[i]));
	if (wrong) {
		json_decref(list);
		list = NULL;
	}
	/* Each reading is one line, unless there is only one. */
	return write_json(json_pack("{s:s, s:o}", "kernel", release, "devices", list),
			  command->interval && command->count != 1 ? JSON_COMPACT : JSON_INDENT(2));
}

static int print_rows(const struct command *command, const struct devices *devices)
{
	for (size_t i = 0; i < devices->count; i++) {
		json_t *object = device_json(&devices->list[i]);

		if (!object)
			return complain(FAILED, "memory is exhausted");
		query_print(&command->query, object);
		json_decref(object);
	}
	return DONE;
}

static void print_devices(const struct devices *devices)
{
	for (size_t i = 0; i < devices->count; i++) {
		if (i)
			putchar('\n');
		print_device(&devices->list[i]);
	}
}

/* Prints one reading; without a device its lists are empty. Returns an exit code. */
static int tell(const struct command *command, bool first)
{
	struct devices devices = devices_find(true);
	int none, ret = DONE;

	if (first && command->format == CSV)
		query_print_names(&command->query);
	if (!first && command->format == TEXT)
		putchar('\n');
	none = devices_choose(&devices, command->common.device);
	if (command->format == JSON)
		ret = print_json(command, &devices);
	else if (command->format == TEXT)
		print_devices(&devices);
	else
		ret = print_rows(command, &devices);
	if (ret == DONE && fflush(stdout))
		ret = complain(FAILED, "the result cannot be written: %s", strerror(errno));
	devices_free(&devices);
	return ret == DONE ? none : ret;
}

int command_info(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = info_options,
		.parser = parse,
		.doc = "What the Open NPUs of this machine are, what they have, and how they are.",
		.children = children,
	};
	struct command command = { .interval = 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &command);
	ret = tell(&command, true);
	for (unsigned int i = 1;
	     ret == DONE && command.interval && (!command.count || i < command.count); i++) {
		wait_seconds(command.interval);
		ret = tell(&command, false);
	}
	return ret;
}
