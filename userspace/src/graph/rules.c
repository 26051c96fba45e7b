// SPDX-License-Identifier: MIT
/* Functions that several rules share: broadcasting, axes, sizes, and recording of nodes. */
#include "graph/rules.h"

#include <stdio.h>
#include <string.h>

#include "graph/label.h"
#include "util/malloc.h"

const char *rule_operand_name(const struct wnn_rule *rule, size_t i)
{
	const struct wnn_op_info *info = &wnn_op_info[rule->call->op];

	/* All operands of concat have one description. */
	return info->operands[i < info->operand_count ? i : 0].name;
}

int rule_check_result(struct wnn_rule *rule, const struct ir_type *type)
{
	char what[256];

	snprintf(what, sizeof(what), "%s: the output", rule->name);
	return wnn_limits_check_type(&rule->builder->config.limits, type, what, rule->err);
}

static int check_executable(struct wnn_rule *rule, enum ir_op op)
{
	if (rule->builder->config.limits.ir_ops >> op & 1)
		return 0;
	return wnn_error_set(rule->err, WNN_NOT_SUPPORTED,
			     "%s: this version of the library cannot execute %s; "
			     "wnnContextGetOpSupportLimits lists no data types for it",
			     rule->name, wnn_op_info[rule->call->op].name);
}

static const char *source_name(const struct wnn_rule *rule)
{
	return wnn_op_info[rule->call->op].name;
}

/* Makes room for one more node in the tables beside the graph. Returns 0 or -1. */
static int reserve_node(struct wnn_rule *rule)
{
	struct wnn_builder *builder = rule->builder;
	uint32_t want = builder->cap_nodes ? builder->cap_nodes * 2 : 64;
	uint32_t *operators;
	bool *computed;

	if (builder->graph->num_nodes < builder->cap_nodes)
		return 0;
	operators = wnn_reallocarray(builder->node_operator, want, sizeof(*operators));
	if (operators)
		builder->node_operator = operators;
	computed = wnn_reallocarray(builder->computed, want, sizeof(*computed));
	if (computed)
		builder->computed = computed;
	if (!operators || !computed)
		return wnn_error_nomem(rule->err, rule->name);
	builder->cap_nodes = want;
	return 0;
}

/*
 * Whether a node will be computed when the graph is built, judged by what is known when it is
 * recorded.
 */
static bool is_computed(const struct wnn_builder *builder, const struct ir_node *node)
{
	if (!builder->config.folds)
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (value && value->kind != IR_VALUE_CONSTANT &&
		    !(value->def && builder->computed[value->def->id]))
			return false;
	}
	return true;
}

/*
 * Checks that a device may run a node. A refused node stays in the graph, but no operand stands for
 * its result, so that no output depends on it. Returns 0, or -1 when no device may run it.
 */
static int check_place(struct wnn_rule *rule, const struct ir_node *node)
{
	struct wnn_builder *builder = rule->builder;

	builder->computed[node->id] = is_computed(builder, node);
	if (builder->computed[node->id] || !builder->config.place)
		return 0;
	return builder->config.place(node, builder->config.userdata, rule->err);
}

int rule_emit_results(struct wnn_rule *rule, enum ir_op op, struct ir_value *const *operands,
		      uint32_t num_operands, const struct ir_type *types, uint32_t num_results,
		      const union ir_attrs *attrs)
{
	struct wnn_builder *builder = rule->builder;
	struct ir_node *node;
	char *label;

	for (uint32_t i = 0; i < num_results; i++)
		if (rule_check_result(rule, &types[i]))
			return -1;
	if (check_executable(rule, op) || reserve_node(rule))
		return -1;
	label = wnn_label_printable(builder->arena, rule->call->label);
	node = label ? ir_add_node(builder->graph, op, operands, num_operands, types, num_results,
				   attrs, label, source_name(rule)) :
		       NULL;
	if (!node)
		return wnn_error_nomem(rule->err, rule->name);
	if (check_place(rule, node))
		return -1;
	builder->node_operator[node->id] = builder->num_operators;
	for (uint32_t i = 0; i < num_results; i++)
		wnn_operand_publish(rule->outputs[rule->emitted++], node->results[i]);
	return 0;
}

int rule_emit(struct wnn_rule *rule, enum ir_op op, struct ir_value *const *operands,
	      uint32_t num_operands, const struct ir_type *type, const union ir_attrs *attrs)
{
	return rule_emit_results(rule, op, operands, num_operands, type, 1, attrs);
}

int rule_emit_call(struct wnn_rule *rule, enum ir_op op, const struct ir_type *type,
		   const union ir_attrs *attrs)
{
	struct ir_value *operands[8];
	uint32_t n = (uint32_t)rule->call->operand_count;

	for (uint32_t i = 0; i < n; i++)
		operands[i] = rule_value(rule, i);
	return rule_emit(rule, op, operands, n, type, attrs);
}

int rule_output_count(struct wnn_rule *rule, size_t count)
{
	if (rule->output_count != count)
		return rule_error(rule, "outputCount is %zu, but the operator makes %zu operand%s",
				  rule->output_count, count, count == 1 ? "" : "s");
	return 0;
}

int rule_shape_is(struct wnn_rule *rule, size_t i, uint32_t rank, const int64_t *dims)
{
	const struct ir_type *type = rule_type(rule, i);
	struct ir_type expected = ir_type_make(IR_F32, rank, dims);

	if (!type || ir_type_same_shape(type, &expected))
		return 0;
	return rule_error(rule, "%s has shape %s, expected %s", rule_operand_name(rule, i),
			  SHAPE(type), SHAPE(&expected));
}

int rule_axis(struct wnn_rule *rule, const char *what, uint32_t axis, uint32_t rank)
{
	if (axis < rank)
		return 0;
	return rule_error(rule, "%s is %" PRIu32 "; it must be below the rank, %" PRIu32, what,
			  axis, rank);
}

int rule_axes(struct wnn_rule *rule, WNNUint32Array axes, uint32_t rank, uint32_t *mask)
{
	*mask = 0;
	if (!axes.data) {
		*mask = (1u << rank) - 1;
		return 0;
	}
	for (size_t i = 0; i < axes.count; i++) {
		if (axes.data[i] >= rank)
			return rule_error(rule,
					  "options.axes[%zu] is %" PRIu32
					  "; it must be below the rank, %" PRIu32,
					  i, axes.data[i], rank);
		if (*mask >> axes.data[i] & 1)
			return rule_error(rule, "options.axes has %" PRIu32 " twice", axes.data[i]);
		*mask |= 1u << axes.data[i];
	}
	return 0;
}

int rule_list(struct wnn_rule *rule, const char *what, WNNUint32Array list, uint32_t count,
	      uint32_t otherwise, bool zero, uint32_t *out)
{
	if (list.data && list.count != count)
		return rule_error(rule, "%s has %zu items, expected %" PRIu32, what, list.count,
				  count);
	for (uint32_t i = 0; i < count; i++) {
		out[i] = list.data ? list.data[i] : otherwise;
		if (!out[i] && !zero)
			return rule_error(rule, "%s[%" PRIu32 "] is 0; it must be at least 1", what,
					  i);
	}
	return 0;
}

/* Returns dimension `i` of a shape that is extended to `rank` with ones at the front. */
static int64_t padded_dim(const struct ir_type *type, uint32_t rank, uint32_t i)
{
	uint32_t missing = rank - type->rank;

	return i < missing ? 1 : ir_type_dim(type, i - missing);
}

int rule_broadcast(struct wnn_rule *rule, const struct ir_type *a, const char *a_name,
		   const struct ir_type *b, const char *b_name, struct ir_type *out)
{
	uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < rank; i++) {
		int64_t x = padded_dim(a, rank, i), y = padded_dim(b, rank, i);

		if (x != y && x != 1 && y != 1)
			return rule_error(rule,
					  "%s of shape %s and %s of shape %s cannot be broadcast "
					  "together: %" PRId64 " and %" PRId64 " differ",
					  a_name, SHAPE(a), b_name, SHAPE(b), x, y);
		dims[i] = x > y ? x : y;
	}
	*out = ir_type_make(a->dtype, rank, dims);
	return 0;
}

bool rule_broadcasts_to(const struct ir_type *from, const struct ir_type *to)
{
	if (from->rank > to->rank)
		return false;
	for (uint32_t i = 0; i < to->rank; i++) {
		int64_t d = padded_dim(from, to->rank, i);

		if (d != 1 && d != ir_type_dim(to, i))
			return false;
	}
	return true;
}

int64_t rule_effective_size(int64_t window, int64_t dilation)
{
	int64_t size;

	if (__builtin_mul_overflow(window - 1, dilation, &size) || size > INT64_MAX / 4)
		return INT64_MAX / 4;
	return size + 1;
}
