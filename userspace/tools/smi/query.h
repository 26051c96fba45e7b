/* SPDX-License-Identifier: MIT */
/* onpu-smi: chosen fields of devices, for programs. */
#ifndef ONPU_TOOLS_SMI_QUERY_H
#define ONPU_TOOLS_SMI_QUERY_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define QUERY_FIELDS 40

/* The fields that were asked for, which are keys of the objects of devices. */
struct query {
	const char *fields[QUERY_FIELDS];
	size_t count;
};

/*
 * Takes names with commas between, at most QUERY_FIELDS; ends the program with a message when one
 * is none.
 */
void query_parse(struct query *query, const char *text, struct argp_state *state);
/* All fields that there are. */
void query_all(struct query *query);

/*
 * A new object with these fields of @device; null for what it lacks. NULL when memory is exhausted.
 */
json_t *query_select(const struct query *query, const json_t *device);

/*
 * Print CSV (RFC 4180, with line feeds): the names of the fields, or those of a device, empty for
 * what it lacks.
 */
void query_print_names(const struct query *query);
void query_print(const struct query *query, const json_t *device);

#endif
