/* SPDX-License-Identifier: MIT */
/* onpu-smi: chosen fields of devices, for programs. */
#ifndef ONPU_TOOLS_SMI_QUERY_H
#define ONPU_TOOLS_SMI_QUERY_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define QUERY_FIELDS 40

/* The fields that were requested; they are keys of the JSON objects of devices. */
struct query {
	const char *fields[QUERY_FIELDS];
	size_t count;
};

/*
 * Parses names that are separated by commas, at most QUERY_FIELDS; ends the program with a message
 * when a name is unknown.
 */
void query_parse(struct query *query, const char *text, struct argp_state *state);
/* Selects all fields. */
void query_all(struct query *query);

/*
 * Returns a new object with these fields of @device; null for fields that it lacks. NULL when
 * memory is exhausted.
 */
json_t *query_select(const struct query *query, const json_t *device);

/*
 * Print CSV (RFC 4180, with line feeds): the names of the fields, or the values of a device, empty
 * for fields that it lacks.
 */
void query_print_names(const struct query *query);
void query_print(const struct query *query, const json_t *device);

#endif
