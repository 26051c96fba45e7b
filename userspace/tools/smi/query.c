// SPDX-License-Identifier: MIT
/* onpu-smi: prints chosen fields of devices, for programs. */
#include "query.h"

#include <stdio.h>
#include <string.h>

/* The names of the fields, as command_info.c writes them. */
static const char *const names[] = {
	"address",
	"state",
	"driver",
	"node",
	"firmware",
	"power",
	"link_speed",
	"link_width",
	"revision",
	"interrupts",
	"numa_node",
	"busy_us",
	"memory",
	"clock_mhz",
	"max_clock_mhz",
	"resets",
	"interface",
	"machine",
	"sram_bytes",
	"vector_lanes",
	"matrix_rows",
	"matrix_columns",
	"features",
	"dma_bytes_per_cycle",
	"queues",
	"address_spaces",
	"context_bytes",
	"clock_khz",
	"memory_limit",
	"max_contexts",
	"max_user_contexts",
	"timeout_ms",
	"jobs",
	"failed_jobs",
};

#define NUM_NAMES (sizeof(names) / sizeof(names[0]))

_Static_assert(NUM_NAMES <= QUERY_FIELDS, "a query has no room for all fields");

static const char *find_name(const char *text, size_t length)
{
	for (size_t i = 0; i < NUM_NAMES; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], text, length))
			return names[i];
	return NULL;
}

static void list_names(char *text, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < NUM_NAMES && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", names[i]);
}

void query_parse(struct query *query, const char *text, struct argp_state *state)
{
	char all[1000];

	query->count = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		const char *name = find_name(text, length);

		if (!name) {
			list_names(all, sizeof(all));
			argp_error(state, "--query: there is no field '%.*s'; there are: %s",
				   (int)length, text, all);
		}
		if (query->count == QUERY_FIELDS)
			argp_error(state, "--query: at most %d fields are allowed", QUERY_FIELDS);
		query->fields[query->count++] = name;
		if (!text[length])
			return;
		text += length + 1;
	}
}

void query_all(struct query *query)
{
	memcpy(query->fields, names, sizeof(names));
	query->count = NUM_NAMES;
}

json_t *query_select(const struct query *query, const json_t *device)
{
	json_t *selected = json_object();

	for (size_t i = 0; i < query->count; i++) {
		json_t *value = json_object_get(device, query->fields[i]);

		if (json_object_set_new(selected, query->fields[i],
					value ? json_incref(value) : json_null())) {
			json_decref(selected);
			return NULL;
		}
	}
	return selected;
}

/* Prints a text, in quotes if it contains a separator. */
static void print_text(const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

void query_print_names(const struct query *query)
{
	for (size_t i = 0; i < query->count; i++)
		printf("%s%s", i ? "," : "", query->fields[i]);
	putchar('\n');
}

void query_print(const struct query *query, const json_t *device)
{
	for (size_t i = 0; i < query->count; i++) {
		const json_t *value = json_object_get(device, query->fields[i]);

		if (i)
			putchar(',');
		if (json_is_string(value))
			print_text(json_string_value(value));
		else if (json_is_integer(value))
			printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	}
	putchar('\n');
}
