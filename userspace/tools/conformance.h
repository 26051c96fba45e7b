/* SPDX-License-Identifier: MIT */
/*
 * wnn-conformance: declarations that its files share. Cases stay JSON; conformance_case.c has the
 * schemas.
 */
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
 * A tensor of a case: type, shape, and elements in the type's representation; a 4-bit element takes
 * a byte.
 */
struct values {
	WNNOperandDataType type;
	uint32_t rank;
	uint32_t *dims;
	/* bytes: size of the tensor, in which two 4-bit elements share a byte */
	size_t count, bytes;
	void *data; /* NULL: the case gives no elements */
};

/*
 * Read a JSON number, or a string that holds one: "NaN", "-Infinity", "9007199254740993". They
 * return 0 or -1.
 */
int value_to_double(const json_t *json, double *value);
int value_to_number(const json_t *json, WNNNumber *number);
/* Returns whether a value is an integer beyond int64, which value_load() has made a string. */
bool value_is_large(const json_t *json);
/*
 * Reads a JSON file; returns NULL and *error on failure. Integers beyond int64, which jansson
 * refuses, become strings.
 */
json_t *value_load(const char *path, json_error_t *error);

WNNOperandDataType value_type(const char *name); /* returns Undefined for an unknown name */

/*
 * Reads {"name", "dataType", "shape"} and, if it is there, "data" (all elements) or "fill" (one
 * element for all). Returns 0, or -1 and @reason when the tensor is malformed or too large.
 */
int values_read(const json_t *tensor, struct values *values, char *reason);
void values_free(struct values *values);
/*
 * Convert elements to the form in which a tensor holds them, and back. The caller frees the result;
 * NULL: memory is exhausted.
 */
void *values_pack(const struct values *values);
void *values_unpack(const struct values *values, void *packed); /* takes packed over */

/* Returns the element as the nearest double, for messages and for tolerances other than ULP. */
double values_get(const struct values *values, const void *data, size_t index);
void values_print(const struct values *values, const void *data, size_t index, char text[32]);

/* --- Comparison (conformance_compare.c) ------------------------------------------------------ */

struct tolerance {
	enum metric { METRIC_ULP, METRIC_ATOL, METRIC_RTOL } metric;
	double value, atol;
};

struct comparison {
	bool agree;
	double error; /* largest error, in units of the metric; infinity: no tolerance would do */
	size_t index; /* index of the element that exceeds its bound the most */
};

/* Returns 0, or -1 and @reason when the tolerance is malformed. */
int tolerance_read(const json_t *json, struct tolerance *tolerance, char *reason);
const char *metric_name(enum metric metric);
void compare_values(const struct values *expected, const void *actual,
		    const struct tolerance *tolerance, struct comparison *out);

/* --- Calls (conformance_call.c, conformance_table.c) ------------------------------------------ */

struct named {
	const char *name;
	WNNOperand operand;
};

/* The operands of a case, found by name. */
struct names {
	size_t count, room;
	struct named *items;
	size_t slot_count; /* a power of two; a slot holds the index of an item plus one, or 0 */
	size_t *slots;
};

void names_free(struct names *names);

/*
 * names_add() keeps the pointer to the name, and returns 0, or -1 when memory is exhausted.
 * names_find() returns the first operand that was added with the name; NULL: there is none.
 */
int names_add(struct names *names, const char *name, WNNOperand operand);
WNNOperand names_find(const struct names *names, const char *name);

enum call_status {
	CALL_DONE,
	CALL_REFUSED,	/* the builder refused the call */
	CALL_MALFORMED, /* the case does not follow the schema */
};

/* The outcome of a call; @status is set when it was refused, @reason when it did not succeed. */
struct call {
	enum call_status kind;
	WNNStatus status;
	char reason[REASON_SIZE];
};

/* Calls the builder for an item of "operators", and adds the outputs to @names. */
void call_operator(WNNGraphBuilder builder, const json_t *item, struct names *names,
		   struct call *out);
/* Fills @out with the error of the builder's last call. */
void call_refused(WNNGraphBuilder builder, struct call *out);

/* --- Cases (conformance_case.c) -------------------------------------------------------------- */

struct runner {
	const char *device;
	uint64_t sram;
	uint32_t threads;
	bool npu;   /* whether the device has an NPU */
	bool mixed; /* whether the policy of an NPU is PreferNPU; else NPUOnly */
	WNNInstance instance;
	WNNContext context;
	/* context with policy PreferNPU, which gives the reasons of the placement */
	WNNContext explainer;
};

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct result {
	enum outcome outcome;
	bool measured, placed;
	struct tolerance tolerance;
	double error;		  /* largest error of all outputs, if measured */
	size_t on_npu, folded;	  /* numbers of nodes, if the graph was placed */
	uint64_t cycles;	  /* cycles of the NPU, if measured */
	char reason[REASON_SIZE]; /* reason of a failure or skip */
};

/* Opens the context of runner->device. Returns 0, or -1 after a message. */
int runner_open(struct runner *runner);
void runner_close(struct runner *runner);
void run_case(struct runner *runner, const json_t *item, bool validation, struct result *result);

/* --- Report (conformance_report.c) ----------------------------------------------------------- */

struct counts {
	size_t passed, failed, skipped;
};

struct report {
	struct counts total;
	json_t *files; /* NULL: no JSON report was requested */
};

struct file_report;

struct file_report *report_file_begin(struct report *report, const char *path,
				      const char *operator);
void report_case(struct file_report *file, const char *name, const struct result *result);
void report_file_end(struct report *report, struct file_report *file);
int report_write(struct report *report, const struct runner *runner, const char *path);

#endif
