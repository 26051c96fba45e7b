/* SPDX-License-Identifier: MIT */
/* wnn-conformance: what its parts share. Cases stay JSON; conformance_case.c has the schemas. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <webnn/webnn_npu.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define REASON_SIZE 600

/* --- Values (conformance_value.c) ------------------------------------------------------------ */

/*
 * A tensor of a case: its type, its shape, and its elements in the type's own form, of 4 bits
 * in a byte each.
 */
struct values {
	WNNOperandDataType type;
	uint32_t rank;
	uint32_t *dims;
	size_t count, bytes; /* bytes: of the tensor, where two elements of 4 bits share one */
	void *data;	     /* NULL: the case has no elements for it */
};

/* A JSON number, or a string that holds one: "NaN", "-Infinity", "9007199254740993". */
int value_to_double(const json_t *json, double *value);
int value_to_number(const json_t *json, WNNNumber *number);
/* Whether it is an integer of more than 64 bits, which value_load() has made a string. */
bool value_is_large(const json_t *json);
/*
 * A file of JSON; NULL with *error. Integers of more than 64 bits, which jansson refuses, become
 * strings.
 */
json_t *value_load(const char *path, json_error_t *error);

WNNOperandDataType value_type(const char *name); /* Undefined: there is no such type */

/* Reads {"dataType","shape","data" or "fill"}; -1 and @reason when it is malformed. */
int values_read(const json_t *tensor, struct values *values, char *reason);
void values_free(struct values *values);
/*
 * The elements as a tensor holds them, and back; both to be freed, NULL when memory is
 * exhausted.
 */
void *values_pack(const struct values *values);
void *values_unpack(const struct values *values, void *packed); /* takes packed over */

/* The element as the nearest double, for messages and for tolerances other than ULP. */
double values_get(const struct values *values, const void *data, size_t index);
void values_print(const struct values *values, const void *data, size_t index, char text[32]);

/* --- Comparison (conformance_compare.c) ------------------------------------------------------ */

struct tolerance {
	enum metric { METRIC_ULP, METRIC_ATOL, METRIC_RTOL } metric;
	double value, atol;
};

struct comparison {
	bool agree;
	double error; /* the largest, in units of the metric; infinity: of none */
	size_t index; /* of the element that is furthest from what is allowed */
};

int tolerance_read(const json_t *json, struct tolerance *tolerance, char *reason);
const char *metric_name(enum metric metric);
void compare_values(const struct values *expected, const void *actual,
		    const struct tolerance *tolerance, struct comparison *out);

/* --- Calls (conformance_call.c, conformance_table.c) ------------------------------------------ */

struct named {
	const char *name;
	WNNOperand operand;
};

/* The operands of a case, by name. */
struct names {
	size_t count, room;
	struct named *items;
	size_t slot_count; /* a power of two; slots hold the index of an item, plus one */
	size_t *slots;
};

void names_free(struct names *names);

int names_add(struct names *names, const char *name, WNNOperand operand);
WNNOperand names_find(const struct names *names, const char *name);

enum call_status {
	CALL_DONE,
	CALL_REFUSED,	/* the builder said no */
	CALL_MALFORMED, /* the case is not what the schema says */
};

/* The outcome of a call; @status is set when it was refused, @reason when it was not made. */
struct call {
	enum call_status kind;
	WNNStatus status;
	char reason[REASON_SIZE];
};

/* Calls the builder for an item of "operators"; the outputs are added to @names. */
void call_operator(WNNGraphBuilder builder, const json_t *item, struct names *names,
		   struct call *out);
/* Fills @out with what a call of the builder failed of. */
void call_refused(WNNGraphBuilder builder, struct call *out);

/* --- Cases (conformance_case.c) -------------------------------------------------------------- */

struct runner {
	const char *device;
	uint64_t sram;
	uint32_t threads;
	bool npu;   /* the device has one */
	bool mixed; /* then: policy PreferNPU, else NPUOnly */
	WNNInstance instance;
	WNNContext context;
	WNNContext explainer; /* policy PreferNPU, for the reasons of the placement */
};

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct result {
	enum outcome outcome;
	bool measured, placed;
	struct tolerance tolerance;
	double error;		  /* if measured: the largest of all outputs */
	size_t on_npu, folded;	  /* if placed: nodes */
	uint64_t cycles;	  /* if measured: of the NPU */
	char reason[REASON_SIZE]; /* unless passed */
};

int runner_open(struct runner *runner);
void runner_close(struct runner *runner);
void run_case(struct runner *runner, const json_t *item, bool validation, struct result *result);

/* --- Report (conformance_report.c) ----------------------------------------------------------- */

struct counts {
	size_t passed, failed, skipped;
};

struct report {
	struct counts total;
	json_t *files; /* NULL: no JSON report is wanted */
};

struct file_report;

struct file_report *report_file_begin(struct report *report, const char *path,
				      const char *operator);
void report_case(struct file_report *file, const char *name, const struct result *result);
void report_file_end(struct report *report, struct file_report *file);
int report_write(struct report *report, const struct runner *runner, const char *path);

#endif
