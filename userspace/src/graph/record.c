// SPDX-License-Identifier: MIT
/*
 * Records a call of an operator: the checks that all operators share, then the rule of the
 * operator.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/label.h"
#include "graph/late.h"
#include "graph/rules.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/number.h"

static const struct {
	wnn_rule_fn rule;
	enum ir_op ir;
} rules[] = {
#define WNN_RULE(op, function, ir_op) [WNN_OP_##op] = { rule_##function, IR_OP_##ir_op },
#include "graph/rules.def"
#undef WNN_RULE
};
_Static_assert(ARRAY_SIZE(rules) == WNN_OP_COUNT, "a rule for every operator");

enum ir_op wnn_op_ir(enum wnn_op op)
{
	return rules[op].ir;
}

/* Writes the name of operand `i` for messages, with an index for lists; returns buffer. */
static const char *operand_text(const struct wnn_rule *rule, size_t i, char *buffer, size_t size)
{
	if (wnn_op_info[rule->call->op].operands[0].flags & WNN_OPERAND_VARIADIC)
		snprintf(buffer, size, "%s[%zu]", rule_operand_name(rule, 0), i);
	else
		snprintf(buffer, size, "%s", rule_operand_name(rule, i));
	return buffer;
}

static int check_owner(struct wnn_rule *rule)
{
	char what[64];

	for (size_t i = 0; i < rule->call->operand_count; i++)
		if (rule->call->operands[i] && rule->call->operands[i]->builder != rule->builder)
			return rule_error(rule, "%s belongs to another builder",
					  operand_text(rule, i, what, sizeof(what)));
	return 0;
}

/* Returns the types that an operand may have; a structure in the chain may change them. */
static WNNOperandDataTypeSet types_of(struct wnn_rule *rule, const struct wnn_op_operand *info)
{
	const WNNOperatorOptions *options = rule->call->options;
	WNNOperandDataTypeSet types = wnn_op_info[rule->call->op].details_types;

	return options->nextInChain && types ?
		       types :
		       wnn_limits_types(&rule->builder->config.limits, info);
}

static int check_data_type(struct wnn_rule *rule, size_t i, const struct wnn_op_operand *info)
{
	const struct ir_type *type = rule_type(rule, i);
	WNNOperandDataTypeSet bit = WNN_DATA_TYPE_BIT(wnn_dtype_from_ir(type->dtype));
	WNNOperandDataTypeSet types = types_of(rule, info);
	char what[64], allowed[128];

	operand_text(rule, i, what, sizeof(what));
	if (!(types & bit))
		return rule_error(rule, "%s has type %s; allowed are %s", what,
				  ir_dtype_name(type->dtype),
				  wnn_types_text(types, allowed, sizeof(allowed)));
	if (info->type_as >= 0 && rule_type(rule, info->type_as)->dtype != type->dtype)
		return rule_error(rule, "%s has type %s, but %s has %s; they must be the same",
				  what, ir_dtype_name(type->dtype),
				  rule_operand_name(rule, info->type_as),
				  ir_dtype_name(rule_type(rule, info->type_as)->dtype));
	return 0;
}

static int check_rank(struct wnn_rule *rule, size_t i, const struct wnn_op_operand *info)
{
	uint32_t rank = rule_type(rule, i)->rank;
	uint32_t most = info->rank_max < IR_MAX_RANK ? info->rank_max : IR_MAX_RANK;
	char what[64];

	operand_text(rule, i, what, sizeof(what));
	if (rank < info->rank_min || rank > most) {
		if (info->rank_min == most)
			return rule_error(rule, "%s has rank %" PRIu32 ", expected %" PRIu32, what,
					  rank, most);
		return rule_error(rule,
				  "%s has rank %" PRIu32 "; ranks from %u to %" PRIu32
				  " are allowed",
				  what, rank, info->rank_min, most);
	}
	if (info->rank_as >= 0 && rule_type(rule, info->rank_as)->rank != rank)
		return rule_error(rule,
				  "%s has rank %" PRIu32 ", but %s has %" PRIu32
				  "; they must be the same",
				  what, rank, rule_operand_name(rule, info->rank_as),
				  rule_type(rule, info->rank_as)->rank);
	return 0;
}

/* Checks the types and ranks of the operands against the operator table. Returns 0 or -1. */
static int check_operand_types(struct wnn_rule *rule)
{
	const struct wnn_op_info *info = &wnn_op_info[rule->call->op];
	bool variadic = info->operands[0].flags & WNN_OPERAND_VARIADIC;

	for (size_t i = 0; i < rule->call->operand_count; i++) {
		const struct wnn_op_operand *operand = &info->operands[variadic ? 0 : i];

		if (!rule->call->operands[i])
			continue;
		if (check_data_type(rule, i, operand) || check_rank(rule, i, operand))
			return -1;
	}
	return 0;
}

/* Whether a number or boolean of the options is 0 although its default is not. */
static bool lost_default(const struct wnn_rule *rule, const struct wnn_attribute *member)
{
	const char *field = (const char *)rule->call->options + member->offset;
	const char *usual =
		(const char *)wnn_op_info[rule->call->op].options->defaults + member->offset;
	static const char zeros[sizeof(double)];
	size_t size = sizeof(uint32_t);

	if (member->kind == WNN_ATTRIBUTE_F64)
		size = sizeof(double);
	else if (member->kind != WNN_ATTRIBUTE_U32 && member->kind != WNN_ATTRIBUTE_I32 &&
		 member->kind != WNN_ATTRIBUTE_BOOL)
		return false;
	return !memcmp(field, zeros, size) && memcmp(usual, zeros, size);
}

/*
 * Refuses options that the application initialised with { 0 }, so that factors are 0 whose default
 * is 1. Such options have a label without data and with length 0: the INIT macro sets the length
 * WNN_STRLEN, and a label of the application has data. Returns 0 or -1.
 */
static int check_made(struct wnn_rule *rule)
{
	const struct wnn_options_info *options = wnn_op_info[rule->call->op].options;
	const WNNStringView *label = rule->call->label;

	if (label->data || label->length)
		return 0;
	for (uint32_t i = 0; i < options->member_count; i++)
		if (lost_default(rule, &options->members[i]))
			return rule_error(rule,
					  "the options were not made with %s: label is { NULL, 0 } "
					  "and %s is 0, which is not its default; begin with the "
					  "macro, or give \"\" as the label",
					  options->init, options->members[i].name);
	return 0;
}

/* Checks that members of type double and float are neither NaN nor infinite. Returns 0 or -1. */
static int check_finite(struct wnn_rule *rule)
{
	const struct wnn_options_info *options = wnn_op_info[rule->call->op].options;

	for (uint32_t i = 0; i < options->member_count; i++) {
		const struct wnn_attribute *member = &options->members[i];
		const char *field = (const char *)rule->call->options + member->offset;
		WNNFloatArray floats;
		double number;

		if (member->kind == WNN_ATTRIBUTE_F64) {
			memcpy(&number, field, sizeof(number));
			if (!isfinite(number))
				return rule_error(rule, "options.%s is %f; it must be finite",
						  member->name, number);
		} else if (member->kind == WNN_ATTRIBUTE_F32_ARRAY) {
			memcpy(&floats, field, sizeof(floats));
			for (size_t k = 0; k < floats.count; k++)
				if (!isfinite(floats.data[k]))
					return rule_error(rule,
							  "options.%s[%zu] is %f; it must be "
							  "finite",
							  member->name, k, (double)floats.data[k]);
		}
	}
	return 0;
}

/*
 * Makes room for one more operator and fills in its entry; the caller counts the operator when the
 * rule has succeeded. Returns 0 or -1.
 */
static int reserve_operator(struct wnn_rule *rule)
{
	struct wnn_builder *builder = rule->builder;
	struct wnn_operator *operators;
	uint32_t want = builder->cap_operators ? builder->cap_operators * 2 : 64;
	char *label;

	if (builder->num_operators == builder->cap_operators) {
		operators = wnn_reallocarray(builder->operators, want, sizeof(*operators));
		if (!operators)
			return wnn_error_nomem(rule->err, rule->name);
		builder->operators = operators;
		builder->cap_operators = want;
	}
	label = wnn_label_copy(builder->arena, rule->call->label);
	if (!label)
		return wnn_error_nomem(rule->err, rule->name);
	builder->operators[builder->num_operators] =
		(struct wnn_operator){ .op = rule->call->op, .label = label };
	return 0;
}

int wnn_rule_run(struct wnn_rule *rule, WNNOperand *outputs)
{
	int ret = -1;

	rule->outputs = wnn_calloc(rule->output_count + 1, sizeof(*rule->outputs));
	if (!rule->outputs)
		return wnn_error_nomem(rule->err, rule->name);
	for (size_t i = 0; i < rule->output_count; i++) {
		rule->outputs[i] = wnn_operand_create(rule->builder);
		if (!rule->outputs[i]) {
			wnn_error_nomem(rule->err, rule->name);
			goto out;
		}
	}
	if (reserve_operator(rule) || rules[rule->call->op].rule(rule))
		goto out;
	rule->builder->num_operators++;
	memcpy(outputs, rule->outputs, rule->output_count * sizeof(*outputs));
	ret = 0;
out:
	/*
	 * Operands that already have a value belong to the builder, also when a later node failed.
	 */
	for (size_t i = rule->emitted; i < rule->output_count; i++)
		wnn_free(rule->outputs[i]);
	wnn_free(rule->outputs);
	return ret;
}

int wnn_builder_record_op(struct wnn_builder *builder, struct wnn_op_call *call,
			  size_t output_count, WNNOperand *outputs, struct wnn_error *err)
{
	const struct wnn_op_info *info = &wnn_op_info[call->op];
	char name[160];
	struct wnn_rule rule = {
		.builder = builder,
		.call = call,
		.name = name,
		.output_count = output_count,
		.err = err,
	};

	for (size_t i = 0; outputs && i < output_count && i < WNN_MAX_TENSOR_COUNT; i++)
		outputs[i] = NULL;
	if (wnn_builder_can_build(builder, err))
		return -1;
	wnn_op_call_name(call, name, sizeof(name));
	if (wnn_op_call_check(call, err) || check_owner(&rule) || check_operand_types(&rule) ||
	    check_made(&rule) || check_finite(&rule))
		return -1;
	if (output_count > WNN_MAX_TENSOR_COUNT)
		return rule_error(&rule, "outputCount is %zu; at most %d are allowed", output_count,
				  WNN_MAX_TENSOR_COUNT);
	if (output_count && !outputs)
		return rule_error(&rule, "outputCount is %zu, but outputs is NULL", output_count);
	if (!info->returns_list && output_count != 1)
		return rule_error(&rule, "outputCount is %zu, but the operator makes 1 operand",
				  output_count);
	return wnn_call_is_late(builder, call) ? wnn_late_record(&rule, outputs) :
						 wnn_rule_run(&rule, outputs);
}
