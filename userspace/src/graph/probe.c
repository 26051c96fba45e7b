// SPDX-License-Identifier: MIT
/*
 * Finds out what a back end can run, for opSupportLimits: it records calls of every operator with
 * every combination of types, and with every rank, and asks the back end whether it can run the
 * resulting nodes. So the answer cannot differ from that of a build.
 */
#include <stdio.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/operand.h"
#include "graph/rules.h"

#define MAX_OPERANDS 10
#define MAX_OUTPUTS  3
#define SIZE	     2 /* size of every dimension, of the sequence and of the hidden state */
#define RANK_DEFAULT UINT32_MAX

struct probe {
	const struct wnn_limits *limits;
	bool (*can)(const struct ir_node *node, void *userdata);
	void *userdata;
	struct wnn_builder *builder; /* a new builder for each operator */
	enum wnn_op op;
	uint32_t rank;	 /* the rank for operands whose rank is free, or RANK_DEFAULT */
	uint32_t inputs; /* number of inputs made so far, for their names */
	uint32_t calls;
	struct wnn_error *err;
};

/*
 * Types by index of the operand; the last one is the type of an output that depends on no operand.
 */
typedef WNNOperandDataType type_list[MAX_OPERANDS + 1];

static bool is_cell(enum wnn_op op)
{
	return op == WNN_OP_GRU_CELL || op == WNN_OP_LSTM_CELL;
}

static bool is_lstm(enum wnn_op op)
{
	return op == WNN_OP_LSTM || op == WNN_OP_LSTM_CELL;
}

/*
 * Sets the shape of an operand of gru, lstm or their cells, and returns its rank. Weights and
 * biases have SIZE rows for each gate. All operands but input begin with a dimension for the
 * direction, except in cells.
 */
static uint32_t recurrent_shape(enum wnn_op op, const char *name, uint32_t *shape)
{
	uint32_t gates = is_lstm(op) ? 4 : 3, n = 0;
	bool state = strstr(name, "State"), peephole = !strcmp(name, "peepholeWeight");

	if (!strcmp(name, "input")) {
		for (n = 0; n < (is_cell(op) ? 2 : 3); n++)
			shape[n] = SIZE;
		return n;
	}
	if (!is_cell(op))
		shape[n++] = 1;
	if (state) {
		shape[n++] = SIZE;
		shape[n++] = SIZE;
		return n;
	}
	shape[n++] = (peephole ? 3 : gates) * SIZE;
	if (strstr(name, "eight") && !peephole)
		shape[n++] = SIZE;
	return n;
}

static bool is_recurrent(enum wnn_op op)
{
	return op == WNN_OP_GRU || op == WNN_OP_LSTM || is_cell(op);
}

static uint32_t clamp_rank(uint32_t rank, const struct wnn_op_operand *operand)
{
	uint32_t most = operand->rank_max < IR_MAX_RANK ? operand->rank_max : IR_MAX_RANK;

	return rank < operand->rank_min ? operand->rank_min : rank > most ? most : rank;
}

/* Returns the rank of an operand all of whose dimensions are 2. */
static uint32_t plain_rank(const struct probe *probe, const struct wnn_op_operand *operand)
{
	uint32_t rank = probe->rank == RANK_DEFAULT ? 2 : probe->rank;
	int sample = operand->sample_rank;

	if (sample > 0)
		rank = (uint32_t)sample;
	else if (sample < 0)
		rank = rank > (uint32_t)-sample ? rank - (uint32_t)-sample : 0;
	return clamp_rank(rank, operand);
}

static uint32_t sample_shape(const struct probe *probe, const struct wnn_op_operand *operand,
			     uint32_t *shape)
{
	uint32_t rank;

	if (is_recurrent(probe->op))
		return recurrent_shape(probe->op, operand->name, shape);
	rank = plain_rank(probe, operand);
	for (uint32_t i = 0; i < rank; i++)
		shape[i] = SIZE;
	return rank;
}

static WNNOperand make_input(struct probe *probe, WNNOperandDataType type, const uint32_t *shape,
			     uint32_t rank)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	char name[16];
	WNNStringView view = { name, WNN_STRLEN };
	WNNOperand operand = NULL;
	struct wnn_error err = { 0 };

	snprintf(name, sizeof(name), "%u", (unsigned int)probe->inputs++);
	descriptor.dataType = type;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	if (wnn_builder_input(probe->builder, view, &descriptor, NULL, &operand, &err))
		*probe->err = err;
	return operand;
}

struct lists {
	uint32_t ones[IR_MAX_RANK], sizes[IR_MAX_RANK], zeros[IR_MAX_RANK];
};

static void set_arguments(struct wnn_op_call *call, struct lists *lists, uint32_t rank)
{
	struct wnn_op_arguments *a = &call->arguments;

	for (uint32_t i = 0; i < IR_MAX_RANK; i++) {
		lists->ones[i] = 1;
		lists->sizes[i] = SIZE;
		lists->zeros[i] = 0;
	}
	a->new_shape = a->repetitions = (WNNUint32Array){ rank, lists->sizes };
	a->beginning_padding = a->ending_padding = a->sizes = (WNNUint32Array){ rank, lists->ones };
	a->starts = (WNNUint32Array){ rank, lists->zeros };
	a->splits = (WNNUint32Array){ SIZE, lists->ones };
	a->steps = a->hidden_size = SIZE;
}

/* Sets the argument or option that gives the output its type. */
static void set_output_type(struct wnn_op_call *call, WNNOperandDataType type)
{
	const struct wnn_options_info *options = wnn_op_info[call->op].options;

	call->arguments.data_type = type;
	for (uint32_t i = 0; i < options->member_count; i++)
		if (!strcmp(options->members[i].name, "outputDataType"))
			memcpy((char *)call->options + options->members[i].offset, &type,
			       sizeof(type));
}

static uint32_t count_outputs(enum wnn_op op)
{
	uint32_t n = 0;

	if (op == WNN_OP_SPLIT)
		return SIZE;
	for (uint32_t i = 0; i < wnn_op_info[op].output_count; i++)
		n += !(wnn_op_info[op].outputs[i].flags & WNN_OPERAND_CONDITIONAL);
	return n;
}

/* Whether the back end can run all nodes from `first` on. */
static bool can_all(const struct probe *probe, uint32_t first)
{
	const struct ir_graph *graph = probe->builder->graph;

	for (uint32_t i = first; i < graph->num_nodes; i++)
		if (!probe->can(graph->nodes[i], probe->userdata))
			return false;
	return true;
}

/*
 * Returns 1 when the back end can run a call, and also when the rules refuse the call, as they may
 * for a rank; 0 when the back end cannot run it; -1: out of memory.
 */
static int try_call(struct probe *probe, const type_list types)
{
	const struct wnn_op_info *info = &wnn_op_info[probe->op];
	WNNOperand operands[MAX_OPERANDS] = { NULL }, outputs[MAX_OUTPUTS];
	uint32_t first = probe->builder->graph->num_nodes, rank = 0;
	_Alignas(max_align_t) char options[256];
	struct wnn_op_call call = {
		.op = probe->op,
		.operands = operands,
		.operand_count = info->operand_count,
		.options = options,
		.label = &((const WNNOperatorOptions *)info->options->defaults)->label,
	};
	struct wnn_error err = { 0 };
	struct lists lists;

	memcpy(options, info->options->defaults, info->options->size);
	for (uint32_t i = 0; i < info->operand_count; i++) {
		uint32_t shape[IR_MAX_RANK];
		uint32_t n = sample_shape(probe, &info->operands[i], shape);

		rank = i ? rank : n;
		operands[i] = make_input(probe, types[i], shape, n);
		if (!operands[i])
			return -1;
	}
	set_arguments(&call, &lists, rank);
	set_output_type(&call, types[MAX_OPERANDS]);
	if (wnn_builder_record_op(probe->builder, &call, count_outputs(probe->op), outputs, &err)) {
		*probe->err = err;
		return err.status == WNN_TYPE_ERROR ? 1 : -1;
	}
	probe->calls++;
	return can_all(probe, first);
}

/* --- Types --- */

/* A type that can vary: of an operand that has its own type, or of the output. */
struct variable {
	uint32_t operand; /* index of the operand; MAX_OPERANDS: the output */
	WNNOperandDataTypeSet types;
	WNNOperandDataType now;
};

static bool output_varies(enum wnn_op op)
{
	return op == WNN_OP_CAST || op == WNN_OP_ARG_MIN || op == WNN_OP_ARG_MAX;
}

static uint32_t find_variables(const struct probe *probe, struct variable *variables)
{
	const struct wnn_op_info *info = &wnn_op_info[probe->op];
	uint32_t n = 0;

	for (uint32_t i = 0; i < info->operand_count; i++)
		if (info->operands[i].type_as < 0)
			variables[n++] = (struct variable){
				i, wnn_limits_types(probe->limits, &info->operands[i]), 0
			};
	if (output_varies(probe->op))
		variables[n++] = (struct variable){ MAX_OPERANDS, info->outputs[0].types, 0 };
	return n;
}

static WNNOperandDataType next_type(WNNOperandDataTypeSet types, WNNOperandDataType after)
{
	for (uint32_t t = after + 1; t < 32; t++)
		if (types & WNN_DATA_TYPE_BIT(t))
			return (WNNOperandDataType)t;
	return WNNOperandDataType_Undefined;
}

/* Advances to the next combination of types; false after the last one. */
static bool next_combination(struct variable *variables, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		variables[i].now = next_type(variables[i].types, variables[i].now);
		if (variables[i].now)
			return true;
		variables[i].now = next_type(variables[i].types, WNNOperandDataType_Undefined);
	}
	return false;
}

static bool first_combination(struct variable *variables, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		variables[i].now = next_type(variables[i].types, WNNOperandDataType_Undefined);
		if (!variables[i].now)
			return false;
	}
	return true;
}

static void set_types(const struct probe *probe, const struct variable *variables, uint32_t count,
		      type_list types)
{
	const struct wnn_op_info *info = &wnn_op_info[probe->op];

	types[MAX_OPERANDS] = WNNOperandDataType_Undefined;
	for (uint32_t i = 0; i < count; i++)
		types[variables[i].operand] = variables[i].now;
	for (uint32_t i = 0; i < info->operand_count; i++)
		if (info->operands[i].type_as >= 0)
			types[i] = types[info->operands[i].type_as];
}

/*
 * How often each type of each variable was tried and failed. In the end no combination of the
 * variables' types may fail: a type that fails with every partner is removed from the set of its
 * variable; when there is none, the types of the last variable with which a call has failed are
 * removed.
 */
struct refusals {
	uint32_t tried[MAX_OPERANDS + 1][32], failed[MAX_OPERANDS + 1][32];
};

static void note_refusal(struct refusals *r, const struct variable *variables, uint32_t count,
			 bool failed)
{
	for (uint32_t i = 0; i < count; i++) {
		r->tried[i][variables[i].now]++;
		r->failed[i][variables[i].now] += failed;
	}
}

/*
 * Tries all combinations once. Returns 1 when none failed or there is none, 0 when some failed, -1
 * when out of memory.
 */
static int try_types(struct probe *probe, struct variable *variables, uint32_t count,
		     struct refusals *r)
{
	bool clean = true;
	type_list types;

	memset(r, 0, sizeof(*r));
	if (!first_combination(variables, count))
		return true;
	do {
		int ret;

		set_types(probe, variables, count, types);
		ret = try_call(probe, types);
		if (ret < 0)
			return ret;
		note_refusal(r, variables, count, !ret);
		clean &= ret;
	} while (next_combination(variables, count));
	return clean;
}

static void remove_refused(struct variable *variables, uint32_t count, const struct refusals *r)
{
	bool removed = false;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t t = 0; t < 32; t++)
			if (r->failed[i][t] && r->failed[i][t] == r->tried[i][t]) {
				variables[i].types &= ~WNN_DATA_TYPE_BIT(t);
				removed = true;
			}
	for (uint32_t t = 0; t < 32 && !removed; t++)
		if (r->failed[count - 1][t])
			variables[count - 1].types &= ~WNN_DATA_TYPE_BIT(t);
}

static int probe_types(struct probe *probe, struct variable *variables, uint32_t count)
{
	struct refusals r;
	int ret;

	for (;;) {
		ret = try_types(probe, variables, count, &r);
		if (ret)
			return ret < 0 ? ret : 0;
		remove_refused(variables, count, &r);
	}
}

/* --- Ranks --- */

/*
 * Sets *highest to the highest rank such that the back end can run all ranks from the operands' own
 * lowest rank to it. Returns 0 or -1.
 */
static int probe_ranks(struct probe *probe, struct variable *variables, uint32_t count,
		       uint32_t *highest)
{
	const struct wnn_op_operand *input = &wnn_op_info[probe->op].operands[0];
	type_list types;

	*highest = IR_MAX_RANK;
	if (input->rank_max != WNN_RANK_ANY || !first_combination(variables, count))
		return 0;
	set_types(probe, variables, count, types);
	for (uint32_t rank = input->rank_min; rank <= IR_MAX_RANK; rank++) {
		int ret;

		probe->rank = rank;
		ret = try_call(probe, types);
		if (ret < 0)
			return ret;
		if (!ret) {
			*highest = rank ? rank - 1 : 0;
			return 0;
		}
	}
	return 0;
}

/* --- The answer --- */

static WNNTensorLimits *limits_of(WNNOpSupportLimits *out, enum wnn_op op,
				  const struct wnn_op_operand *operand)
{
	return (WNNTensorLimits *)wnn_op_operand_limits(out, op, operand);
}

static void narrow(WNNTensorLimits *limits, WNNOperandDataTypeSet types, uint32_t highest,
		   bool empty)
{
	limits->dataTypes &= empty ? 0 : types;
	if (limits->rankRange.max > highest)
		limits->rankRange.max = highest;
	if (!limits->dataTypes)
		limits->rankRange.min = limits->rankRange.max = 0;
}

static void write_limits(const struct probe *probe, const struct variable *variables,
			 uint32_t count, uint32_t highest, WNNOpSupportLimits *out)
{
	const struct wnn_op_info *info = &wnn_op_info[probe->op];
	WNNOperandDataTypeSet sets[MAX_OPERANDS + 1];
	bool empty = false;

	memset(sets, 0xff, sizeof(sets));
	for (uint32_t i = 0; i < count; i++) {
		sets[variables[i].operand] = variables[i].types;
		empty |= !variables[i].types;
	}
	for (uint32_t i = 0; i < info->operand_count; i++) {
		if (info->operands[i].type_as >= 0)
			sets[i] = sets[info->operands[i].type_as];
		narrow(limits_of(out, probe->op, &info->operands[i]), sets[i], highest, empty);
	}
	for (uint32_t i = 0; i < info->output_count; i++) {
		int as = info->outputs[i].type_as;

		narrow(limits_of(out, probe->op, &info->outputs[i]),
		       sets[as < 0 ? MAX_OPERANDS : as], IR_MAX_RANK, empty);
	}
}

static int probe_op(struct probe *probe, WNNOpSupportLimits *out)
{
	const struct wnn_builder_config config = { .limits = *probe->limits };
	struct variable variables[MAX_OPERANDS + 1];
	uint32_t count = find_variables(probe, variables), highest;
	int ret;

	probe->builder = wnn_builder_create(&config, probe->err);
	if (!probe->builder)
		return -1;
	probe->rank = RANK_DEFAULT;
	ret = probe_types(probe, variables, count);
	if (!ret)
		ret = probe_ranks(probe, variables, count, &highest);
	if (!ret)
		write_limits(probe, variables, count, highest, out);
	wnn_builder_destroy(probe->builder);
	return ret;
}

int wnn_limits_probe(const struct wnn_limits *limits,
		     bool (*can)(const struct ir_node *node, void *userdata), void *userdata,
		     WNNOpSupportLimits *out, uint32_t *count, struct wnn_error *err)
{
	struct wnn_error ignored;
	struct probe probe = {
		.limits = limits, .can = can, .userdata = userdata, .err = err ? err : &ignored
	};

	for (int op = 0; op < WNN_OP_COUNT; op++) {
		probe.op = (enum wnn_op)op;
		if (wnn_limits_has_op(limits, probe.op) && probe_op(&probe, out))
			return -1;
	}
	if (err)
		memset(err, 0, sizeof(*err));
	if (count)
		*count = probe.calls;
	return 0;
}
