// SPDX-License-Identifier: MIT
/*
 * Records calls whose shapes or options follow names of dimensions. The rule of the operator knows
 * numbers only: it runs in scratch graphs at several sizes of the names, and each number of its
 * results and attributes that differs becomes an expression of one name that gives these numbers.
 * An error at one of the sizes is an error of the call.
 */
#include "graph/late.h"

#include <stdio.h>
#include <string.h>

#include "graph/express.h"
#include "graph/rules.h"
#include "ir/symbols.h"
#include "util/arena.h"
#include "util/malloc.h"

#define NAME_SIZE 320
/*
 * How many sizes from the minimum of a name on are tried, besides the maximum. In a longer range
 * the size in the middle of the rest and the second largest one are tried, too.
 */
#define WHOLE_RANGE 24

/* ---- names on which a call depends */

/*
 * Calls a function with each list of numbers among the attributes at @base, and with each number as
 * a list of one; the function may replace the list. Stops at a result other than 0, and returns the
 * last result.
 */
static int each_list(const struct wnn_attribute *attributes, uint32_t count, void *base,
		     int (*take)(WNNUint32Array *list, void *userdata), void *userdata)
{
	for (uint32_t i = 0; i < count; i++) {
		void *field = (char *)base + attributes[i].offset;
		WNNUint32Array list = { 1, field };
		int ret;

		if (attributes[i].kind == WNN_ATTRIBUTE_U32_ARRAY)
			memcpy(&list, field, sizeof(list));
		else if (attributes[i].kind != WNN_ATTRIBUTE_U32)
			continue;
		ret = take(&list, userdata);
		if (ret)
			return ret;
		if (attributes[i].kind == WNN_ATTRIBUTE_U32_ARRAY)
			memcpy(field, &list, sizeof(list));
		else
			memcpy(field, list.data, sizeof(uint32_t));
	}
	return 0;
}

static int each_option(struct wnn_op_call *call, int (*take)(WNNUint32Array *list, void *userdata),
		       void *userdata)
{
	const struct wnn_op_info *info = &wnn_op_info[call->op];

	return each_list(info->arguments, info->argument_count, &call->arguments, take, userdata) ||
			       each_list(info->options->members, info->options->member_count,
					 call->options, take, userdata) ?
		       -1 :
		       0;
}

static int has_symbol(WNNUint32Array *list, void *userdata)
{
	(void)userdata;
	for (size_t i = 0; i < list->count; i++)
		if (list->data[i] >= WNN_FIRST_DIMENSION)
			return -1;
	return 0;
}

bool wnn_call_is_late(const struct wnn_builder *builder, struct wnn_op_call *call)
{
	if (!builder->graph->num_names)
		return false;
	for (size_t i = 0; i < call->operand_count; i++) {
		const struct ir_type *type = call->operands[i] ? &call->operands[i]->value->type :
								 NULL;

		for (uint32_t d = 0; type && d < type->rank; d++)
			if (type->dim[d].symbol)
				return true;
	}
	return each_option(call, has_symbol, NULL) != 0;
}

static int note_symbols(WNNUint32Array *list, void *userdata)
{
	struct late *l = userdata;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t symbol = list->data[i] - WNN_FIRST_DIMENSION;

		if (list->data[i] < WNN_FIRST_DIMENSION)
			continue;
		if (!symbol || symbol > l->symbols->num_symbols)
			return rule_error(l->rule,
					  "%" PRIu32 " is no number that wnnGraphBuilderDimension "
					  "gave for this builder; sizes are below %u",
					  list->data[i], WNN_FIRST_DIMENSION);
		l->used[l->symbols->symbols[symbol - 1].name] = true;
	}
	return 0;
}

static int find_used(struct late *l)
{
	struct wnn_op_call *call = l->rule->call;

	for (size_t i = 0; i < call->operand_count; i++) {
		const struct ir_type *type = rule_type(l->rule, i);

		for (uint32_t d = 0; type && d < type->rank; d++)
			if (type->dim[d].symbol)
				l->used[l->symbols->symbols[type->dim[d].symbol - 1].name] = true;
	}
	return each_option(call, note_symbols, l);
}

/* ---- points */

/*
 * Adds a point with the maximum of each name, and returns its numbers, which the caller may change;
 * NULL: no memory.
 */
static uint32_t *add_point(struct late *l)
{
	const struct ir_graph *graph = l->symbols;
	struct point *point;

	if (!ir_grow((void **)&l->points, l->num_points, &l->cap_points, sizeof(*l->points)))
		return NULL;
	point = &l->points[l->num_points];
	*point = (struct point){
		.numbers = wnn_arena_alloc(l->arena, (graph->num_names + 1) * sizeof(uint32_t)),
		.graph = ir_graph_create(),
	};
	l->num_points++;
	if (!point->numbers || !point->graph)
		return NULL;
	for (uint32_t i = 0; i < graph->num_names; i++)
		point->numbers[i] = graph->names[i].max;
	return point->numbers;
}

static int add_size(struct late *l, uint32_t name, uint32_t size)
{
	uint32_t *numbers = add_point(l);

	if (numbers)
		numbers[name] = size;
	return numbers ? 0 : -1;
}

/*
 * Adds points where this name has other sizes than its maximum, and all others have theirs. Returns
 * 0 or -1.
 */
static int add_sizes(struct late *l, uint32_t name)
{
	const struct ir_name *n = &l->symbols->names[name];
	uint32_t size = n->min;
	int ret = 0;

	for (; size < n->max && size - n->min < WHOLE_RANGE && !ret; size++)
		ret = add_size(l, name, size);
	if (size < n->max && !ret)
		ret = add_size(l, name, size + (n->max - size) / 2);
	if (size + 1 < n->max && !ret)
		ret = add_size(l, name, n->max - 1);
	return ret;
}

/* Adds points where all names have their minimum, or one more. Returns 0 or -1. */
static int add_joint(struct late *l)
{
	for (uint32_t more = 0; more < 2; more++) {
		uint32_t *numbers = add_point(l);

		if (!numbers)
			return -1;
		for (uint32_t i = 0; i < l->symbols->num_names; i++)
			if (l->used[i] &&
			    l->symbols->names[i].max - l->symbols->names[i].min >= more)
				numbers[i] = l->symbols->names[i].min + more;
	}
	return 0;
}

static int add_points(struct late *l)
{
	uint32_t count = 0;

	if (!add_point(l))
		return -1;
	for (uint32_t i = 0; i < l->symbols->num_names; i++) {
		count += l->used[i];
		if (l->used[i] && add_sizes(l, i))
			return -1;
	}
	return count > 1 ? add_joint(l) : 0;
}

/* ---- the rule at a point */

struct substitution {
	struct late *late;
	const struct point *point;
};

static int put_numbers(WNNUint32Array *list, void *userdata)
{
	const struct substitution *s = userdata;
	uint32_t *copy;

	if (!has_symbol(list, NULL))
		return 0;
	copy = wnn_arena_alloc(s->late->arena, list->count * sizeof(*copy));
	if (!copy)
		return wnn_error_nomem(s->late->rule->err, s->late->rule->name);
	for (size_t i = 0; i < list->count; i++) {
		uint32_t item = list->data[i];
		const struct ir_symbol *of =
			item < WNN_FIRST_DIMENSION ?
				NULL :
				ir_symbol_of(s->late->symbols, item - WNN_FIRST_DIMENSION);

		copy[i] = of ? (uint32_t)ir_symbol_at(of, s->point->numbers[of->name]) : item;
	}
	list->data = copy;
	return 0;
}

/*
 * Makes *call a copy of the recorded call in which numbers at the point replace symbols. Returns 0
 * or -1.
 */
static int make_call(struct late *l, const struct point *point, struct wnn_op_call *call)
{
	struct substitution s = { l, point };
	size_t size = wnn_op_info[l->rule->call->op].options->size;
	void *options = wnn_arena_alloc(l->arena, size);

	if (!options)
		return wnn_error_nomem(l->rule->err, l->rule->name);
	*call = *l->rule->call;
	memcpy(options, call->options, size);
	call->options = options;
	return each_option(call, put_numbers, &s);
}

/* Returns the leaf of a scratch graph that stands for operand i; NULL: no memory. */
static struct ir_value *make_leaf(struct late *l, const struct point *point,
				  const struct WNNOperandImpl *operands, size_t i)
{
	const struct ir_value *value = rule_value(l->rule, i);
	struct ir_value *leaf;

	for (size_t k = 0; k < i; k++)
		if (rule_value(l->rule, k) == value)
			return operands[k].value;
	leaf = value->kind == IR_VALUE_CONSTANT ?
		       ir_copy_leaf(point->graph, value) :
		       ir_add_input(point->graph, value->name ? value->name : "", &value->type);
	if (leaf)
		leaf->type = ir_type_at(l->symbols, &value->type, point->numbers);
	return leaf;
}

/* Makes operands in the scratch graph. Returns 0, or -1 when out of memory. */
static int make_operands(struct late *l, const struct point *point, struct wnn_builder *scratch,
			 struct wnn_op_call *call)
{
	struct WNNOperandImpl *operands =
		wnn_arena_alloc(l->arena, (call->operand_count + 1) * sizeof(*operands));
	WNNOperand *list = wnn_arena_alloc(l->arena, (call->operand_count + 1) * sizeof(*list));

	if (!operands || !list)
		return -1;
	for (size_t i = 0; i < call->operand_count; i++) {
		list[i] = NULL;
		if (!call->operands[i])
			continue;
		operands[i] = *call->operands[i];
		operands[i].builder = scratch;
		operands[i].value = make_leaf(l, point, operands, i);
		if (!operands[i].value)
			return -1;
		list[i] = &operands[i];
	}
	call->operands = list;
	return 0;
}

static void drop_scratch(struct wnn_builder *scratch)
{
	for (struct WNNOperandImpl *o = scratch->operands, *next; o; o = next) {
		next = o->next;
		wnn_free(o);
	}
	wnn_free(scratch->operators);
	wnn_free(scratch->node_operator);
	wnn_free(scratch->computed);
}

/* Runs the rule at a point. Returns 0, or -1 with an error that names the sizes. */
static int run_at(struct late *l, const struct point *point)
{
	struct wnn_rule *rule = l->rule;
	struct wnn_builder scratch = { .config = rule->builder->config,
				       .graph = point->graph,
				       .arena = l->arena };
	WNNOperand *outputs =
		wnn_arena_alloc(l->arena, (rule->output_count + 1) * sizeof(*outputs));
	char name[NAME_SIZE], text[NAME_SIZE / 2];
	struct wnn_op_call call;
	struct wnn_rule at = *rule;
	int ret;

	/* Where nodes may run is checked when the rule runs in the builder's graph. */
	scratch.config.place = NULL;
	if (make_call(l, point, &call))
		return -1;
	if (!outputs || make_operands(l, point, &scratch, &call))
		return wnn_error_nomem(rule->err, rule->name);
	snprintf(name, sizeof(name), "%s with %s", rule->name,
		 point_text(l, point, text, sizeof(text)));
	at.builder = &scratch;
	at.call = &call;
	at.name = name;
	ret = wnn_rule_run(&at, outputs);
	drop_scratch(&scratch);
	return ret;
}

/*
 * Finds the expressions of the nodes of the first point, and stores them in these nodes. Returns 0
 * or -1.
 */
static int express_nodes(struct late *l)
{
	struct ir_graph *graph = l->points[0].graph;

	for (uint32_t i = 0; i < graph->num_nodes; i++)
		if (express_node(l, graph->nodes[i]))
			return -1;
	return 0;
}

/* Tries the rule at all points, and finds the expressions. Returns 0 or -1. */
static int try_all(struct late *l)
{
	char text[NAME_SIZE / 2];

	if (find_used(l))
		return -1;
	if (add_points(l))
		return wnn_error_nomem(l->rule->err, l->rule->name);
	l->numbers = wnn_arena_alloc(l->arena, l->num_points * sizeof(*l->numbers));
	if (!l->numbers)
		return wnn_error_nomem(l->rule->err, l->rule->name);
	for (uint32_t p = 0; p < l->num_points; p++) {
		if (run_at(l, &l->points[p]))
			return -1;
		if (!same_nodes(l, l->points[p].graph))
			return rule_error(l->rule,
					  "with %s, this call needs other operators than with "
					  "other sizes: build a graph for each size",
					  point_text(l, &l->points[p], text, sizeof(text)));
	}
	return express_nodes(l);
}

/* ---- recording */

/*
 * Runs the rule in the builder's graph with the maximum of all names, because the rule knows
 * numbers only: the types of operands have no symbols meanwhile. Returns 0 or -1.
 */
static int run_plainly(struct late *l, WNNOperand *outputs)
{
	struct wnn_op_call call;
	struct wnn_rule *rule = l->rule;
	struct wnn_op_call *original = rule->call;
	size_t count = original->operand_count;
	struct ir_type *types = wnn_arena_alloc(l->arena, (count + 1) * sizeof(*types));
	int ret;

	if (!types)
		return wnn_error_nomem(rule->err, rule->name);
	if (make_call(l, &l->points[0], &call))
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct ir_value *value = rule_value(rule, i);

		if (!value)
			continue;
		types[i] = value->type;
		value->type = ir_type_at(l->symbols, &value->type, l->points[0].numbers);
	}
	rule->call = &call;
	ret = wnn_rule_run(rule, outputs);
	rule->call = original;
	/* Backwards, as a value may be several operands. */
	for (size_t i = count; i-- > 0;)
		if (rule_value(rule, i))
			rule_value(rule, i)->type = types[i];
	return ret;
}

/*
 * Copies the expressions from the nodes of the first point to those of the builder's graph. Returns
 * 0, or -1 when out of memory.
 */
static int copy_expressions(struct late *l, uint32_t first)
{
	const struct ir_graph *from = l->points[0].graph;
	struct ir_graph *to = l->symbols;

	for (uint32_t i = 0; i < from->num_nodes; i++) {
		struct ir_node *node = to->nodes[first + i];

		for (uint32_t k = 0; k < node->num_results; k++)
			node->results[k]->type = from->nodes[i]->results[k]->type;
		if (ir_copy_late(to, node, from->nodes[i]->num_late, from->nodes[i]->late))
			return wnn_error_nomem(l->rule->err, l->rule->name);
	}
	return 0;
}

/*
 * Returns true if a call has lengths of sequences: an operand in the chain of the options, which is
 * not among the operands of the call.
 */
static bool has_lengths(const struct wnn_op_call *call)
{
	const WNNOperatorOptions *options = call->options;

	return wnn_op_info[call->op].details == WNNSType_RecurrentDetails && options->nextInChain &&
	       ((const WNNRecurrentDetails *)options->nextInChain)->sequenceLengths;
}

static int record(struct late *l, WNNOperand *outputs)
{
	uint32_t first = l->symbols->num_nodes;

	l->used = wnn_arena_alloc(l->arena, l->symbols->num_names * sizeof(*l->used));
	if (!l->used)
		return wnn_error_nomem(l->rule->err, l->rule->name);
	memset(l->used, 0, l->symbols->num_names * sizeof(*l->used));
	if (has_lengths(l->rule->call))
		return rule_error(l->rule, "sequenceLengths of WNNRecurrentDetails cannot be used "
					   "where a dimension is known only at dispatch");
	if (try_all(l) || run_plainly(l, outputs))
		return -1;
	return copy_expressions(l, first);
}

int wnn_late_record(struct wnn_rule *rule, WNNOperand *outputs)
{
	struct late l = {
		.rule = rule,
		.err = rule->err,
		.name = rule->name,
		.arena = wnn_arena_create(),
		.symbols = rule->builder->graph,
	};
	int ret = l.arena ? record(&l, outputs) : wnn_error_nomem(rule->err, rule->name);

	for (size_t i = 0; ret && i < rule->output_count; i++)
		outputs[i] = NULL;
	for (uint32_t p = 0; p < l.num_points; p++)
		ir_graph_destroy(l.points[p].graph);
	wnn_free(l.points);
	wnn_arena_destroy(l.arena);
	return ret;
}
