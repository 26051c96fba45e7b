// SPDX-License-Identifier: MIT
/*
 * Applies the rules of rules.def.
 *
 * Precondition: a verified graph. Postcondition: no rule of the group applies to a node that an
 * output depends on, unless there were too many applications. Nodes that nothing uses may be left.
 */
#include "pass/rules.h"

#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/malloc.h"
#include "util/number.h"

/*
 * The most applications of rules, on average for each node of the old graph. The limit stops rules
 * that replace each other's nodes for ever, which would be a defect.
 */
#define MAX_PER_NODE 16

const struct rule rules_table[] = {
#define PASS_RULE(name, group, op, function) { name, RULES_##group, IR_OP_##op, rule_##function },
#include "pass/rules.def"
#undef PASS_RULE
};
const uint32_t rules_count = ARRAY_SIZE(rules_table);

static const char *const passes[] = {
	[RULES_SINK_TRANSPOSES] = "sink-transposes",
	[RULES_JOIN_PRODUCTS] = "join-products",
};
/* The rules, and behind them these passes. */
#define NUM_ROWS ((uint32_t)(ARRAY_SIZE(rules_table) + ARRAY_SIZE(passes)))

static const char *name_of(uint32_t i)
{
	return i < rules_count ? rules_table[i].name : passes[i - rules_count];
}

/*
 * Returns the mask of a row. Rows with the same name, which are adjacent, have the same bit, so that
 * there may be more rows than bits; a test compares the masks of all names.
 */
static uint64_t mask_of(uint32_t row)
{
	uint32_t bit = 0;

	for (uint32_t i = 1; i <= row; i++)
		bit += strcmp(name_of(i), name_of(i - 1)) != 0;
	return bit < 64 ? UINT64_C(1) << bit : 0;
}

bool rules_pass_is_on(const struct wnn_pass_options *options, enum rules_pass pass)
{
	return !(options->rules_off & mask_of(rules_count + pass));
}

uint64_t wnn_rules_mask(const char *name, size_t length)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < NUM_ROWS; i++)
		if ((length == 3 && !memcmp(name, "all", 3)) ||
		    (strlen(name_of(i)) == length && !memcmp(name, name_of(i), length)))
			mask |= mask_of(i);
	return mask;
}

const char *wnn_rules_list(char *buffer, size_t size)
{
	size_t at = 0;

	for (uint32_t i = 0; i < NUM_ROWS && at < size; i++) {
		int length;

		if (i && !strcmp(name_of(i), name_of(i - 1)))
			continue;
		length = snprintf(buffer + at, size - at, "%s%s", i ? ", " : "", name_of(i));
		at += (size_t)length;
	}
	return buffer;
}

struct value_state {
	uint32_t uses;
	bool is_output;
};

struct node_state {
	const struct ir_node *main; /* the node that it mainly replaces, for the report */
	uint32_t first, last;	    /* list of the old nodes whose work it does; UINT32_MAX: none */
	struct rules_scaling *scaling;
};

struct rules {
	struct rewrite *rw;
	const struct pass_context *ctx;
	enum rules_group group;
	struct value_state *values;
	size_t values_room, num_values;
	struct node_state *nodes;
	size_t nodes_room, num_nodes;
	uint32_t *next; /* by old node: the next one in the list of a new node */
	/* by old node: whether the report says "kept", as the node is the first in its list */
	bool *kept;
	const struct rule *current; /* the rule that was applied last */
	uint32_t left;		    /* how many more rules may be applied */
	int failed;
};

int rules_nomem(struct rules *rules)
{
	rules->failed = -1;
	return rewrite_nomem(rules->rw);
}

bool rules_failed(const struct rules *rules)
{
	return rules->failed;
}

/* Allocates the states of new nodes and values. Returns 0 or -1. */
static int keep_up(struct rules *rules)
{
	const struct ir_graph *to = rules->rw->to;

	if (wnn_array_reserve(&rules->values, &rules->values_room, to->num_values,
			      sizeof(*rules->values)) ||
	    wnn_array_reserve(&rules->nodes, &rules->nodes_room, to->num_nodes,
			      sizeof(*rules->nodes)))
		return rules_nomem(rules);
	for (; rules->num_values < to->num_values; rules->num_values++)
		rules->values[rules->num_values] = (struct value_state){ 0 };
	for (; rules->num_nodes < to->num_nodes; rules->num_nodes++)
		rules->nodes[rules->num_nodes] =
			(struct node_state){ NULL, UINT32_MAX, UINT32_MAX, NULL };
	return 0;
}

uint32_t rules_uses(const struct rules *rules, const struct ir_value *value)
{
	return rules->values[value->id].uses;
}

bool rules_is_output(const struct rules *rules, const struct ir_value *value)
{
	return rules->values[value->id].is_output;
}

bool rules_may_pass(const struct rules *rules, const struct ir_node *node,
		    const struct ir_value *value)
{
	return value->kind == IR_VALUE_RESULT || !rules_is_output(rules, node->results[0]);
}

struct ir_node *rules_sole(const struct rules *rules, const struct ir_value *value)
{
	if (value->kind != IR_VALUE_RESULT || rules_uses(rules, value) != 1 ||
	    rules_is_output(rules, value) || value->def->num_results != 1)
		return NULL;
	return value->def;
}

const struct ir_node *rules_maker(const struct ir_value *value, enum ir_op op)
{
	return value->kind == IR_VALUE_RESULT && value->def->op == op ? value->def : NULL;
}

bool rules_bits(const struct ir_value *value, uint64_t *bits)
{
	size_t bytes = ir_dtype_bits(value->type.dtype) / 8;
	const char *data;

	while (value->kind == IR_VALUE_RESULT &&
	       (value->def->op == IR_OP_EXPAND || value->def->op == IR_OP_RESHAPE))
		value = value->def->operands[0];
	if (value->kind != IR_VALUE_CONSTANT || !bytes)
		return false;
	data = ir_constant_data(value->constant);
	if (!data)
		return false;
	*bits = 0;
	memcpy(bits, data, bytes);
	for (int64_t i = 1; i < ir_type_elements(&value->type); i++)
		if (memcmp(data, data + (size_t)i * bytes, bytes))
			return false;
	return true;
}

uint64_t rules_infinity(enum ir_dtype dtype, bool negative)
{
	uint64_t sign = (uint64_t)negative << (ir_dtype_bits(dtype) - 1);

	switch (dtype) {
	case IR_F32:
		return sign | 0x7f800000;
	case IR_F16:
		return sign | 0x7c00;
	case IR_BF16:
		return sign | 0x7f80;
	case IR_F64:
		return sign | UINT64_C(0x7ff) << 52;
	default:
		return 0;
	}
}

struct rules_scaling *rules_scaling_of(const struct rules *rules, const struct ir_node *product)
{
	return rules->nodes[product->id].scaling;
}

/*
 * Moves the list of old nodes from one new node to another. With `first`, the moved nodes come
 * first in the list of `to` and keep their mark `kept`; without it, they lose the mark.
 */
static void hand_over(struct rules *rules, struct node_state *from, struct node_state *to,
		      bool first)
{
	if (from->first == UINT32_MAX)
		return;
	for (uint32_t old = from->first; old != UINT32_MAX; old = rules->next[old]) {
		rules->kept[old] &= first;
		rules->rw->rule[old] = rules->current->name;
	}
	if (to->first == UINT32_MAX) {
		to->first = from->first;
		to->last = from->last;
	} else if (first) {
		rules->next[from->last] = to->first;
		to->first = from->first;
	} else {
		rules->next[to->last] = from->first;
		to->last = from->last;
	}
	from->first = from->last = UINT32_MAX;
}

/*
 * Reports the old nodes of a new node as without effect: they did nothing, or were computed when
 * the graph was built.
 */
static void let_go(struct rules *rules, struct node_state *from)
{
	for (uint32_t old = from->first; old != UINT32_MAX; old = rules->next[old]) {
		rules->rw->fate[old] = (struct rewrite_fate){ WNN_FATE_VIEW, UINT32_MAX };
		rules->rw->rule[old] = rules->current->name;
	}
	from->first = from->last = UINT32_MAX;
}

/*
 * Removes one use from each operand of a node that is not used any more. `heir` takes over the
 * node's old nodes; NULL: they had no effect. A node that makes an operand and has no other use is
 * removed likewise.
 */
static void release(struct rules *rules, const struct ir_node *node, struct ir_node *heir)
{
	struct node_state *state = &rules->nodes[node->id];

	if (heir) {
		struct node_state *to = &rules->nodes[heir->id];
		bool is_main = to->main == node;

		hand_over(rules, state, to, is_main);
		/*
		 * The removed node may have been made by a rule for another node, which `heir` then
		 * replaces.
		 */
		if (is_main)
			to->main = state->main;
	} else {
		let_go(rules, state);
	}
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];
		bool dead = value && !--rules->values[value->id].uses;

		if (!dead || value->kind != IR_VALUE_RESULT)
			continue;
		for (uint32_t k = 0; k < value->def->num_results; k++)
			dead &= !rules->values[value->def->results[k]->id].uses;
		if (dead)
			release(rules, value->def, heir);
	}
}

/*
 * Replaces the result of `node` by `value`, also as operand of nodes from `alive` on. `first` is
 * the first of the nodes that were just added, and `alive` the first of them that still has uses.
 */
static void replace(struct rules *rules, const struct ir_node *node, struct ir_value *value,
		    uint32_t first, uint32_t alive)
{
	const struct ir_graph *to = rules->rw->to;
	const struct ir_value *old = node->results[0];
	struct value_state *from = &rules->values[old->id], *state = &rules->values[value->id];
	bool made = value->kind == IR_VALUE_RESULT && value->def->id >= first;

	for (uint32_t n = alive; n < to->num_nodes; n++)
		for (uint32_t i = 0; i < to->nodes[n]->num_operands; i++)
			if (to->nodes[n]->operands[i] == old)
				to->nodes[n]->operands[i] = value;
	state->uses += from->uses;
	state->is_output |= from->is_output;
	*from = (struct value_state){ 0 };
	release(rules, node, made ? value->def : NULL);
}

/*
 * Applies the first rule that fits a node. Returns the value that replaces the node's result; NULL
 * when no rule fits.
 */
static struct ir_value *apply(struct rules *rules, struct ir_node *node)
{
	for (uint32_t i = 0; i < rules_count && rules->left; i++) {
		const struct rule *rule = &rules_table[i];
		struct ir_value *value;

		if (rule->op != node->op || rule->group != rules->group ||
		    (rules->ctx->options->rules_off &&
		     (rules->ctx->options->rules_off & mask_of(i))))
			continue;
		value = rule->apply(rules, node);
		if (rules->failed)
			return NULL;
		if (value) {
			rules->left--;
			rules->current = rule;
			return value;
		}
	}
	return NULL;
}

static bool is_dead(const struct rules *rules, const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_results; i++)
		if (rules->values[node->results[i]->id].uses ||
		    rules->values[node->results[i]->id].is_output)
			return false;
	return true;
}

/*
 * Applies rules to the last node of the new graph and to all nodes that they make. Returns the
 * value that replaces the node's result in the end.
 */
static struct ir_value *apply_all(struct rules *rules)
{
	struct ir_graph *to = rules->rw->to;
	uint32_t first = to->num_nodes - 1, alive = first;
	struct ir_value *current = to->nodes[first]->results[0];

	for (uint32_t n = first; n < to->num_nodes; n++) {
		struct ir_node *node = to->nodes[n];
		struct ir_value *value;

		if (n > first && !rules->values[node->results[0]->id].uses)
			continue;
		value = apply(rules, node);
		if (!value)
			continue;
		replace(rules, node, value, first, alive);
		if (current == node->results[0])
			current = value;
		while (alive < n && is_dead(rules, to->nodes[alive]))
			alive++;
	}
	return current;
}

/*
 * Adds a node to the new graph. Rules are applied to it after the current rule. NULL when out of
 * memory.
 */
static struct ir_node *add(struct rules *rules, enum ir_op op, struct ir_value *const *operands,
			   uint32_t num_operands, const struct ir_type *type,
			   const union ir_attrs *attrs, const struct ir_node *main,
			   const struct ir_node *other)
{
	struct ir_node *node =
		rewrite_add(rules->rw, op, operands, num_operands, type, attrs, main, other);

	if (!node || keep_up(rules)) {
		rules->failed = -1;
		return NULL;
	}
	for (uint32_t i = 0; i < num_operands; i++)
		if (operands[i])
			rules->values[operands[i]->id].uses++;
	rules->nodes[node->id].main = main;
	return node;
}

struct ir_value *rules_emit(struct rules *rules, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other)
{
	struct ir_node *node = add(rules, op, operands, num_operands, type, attrs, main, other);

	return node ? node->results[0] : NULL;
}

struct ir_value *rules_emit_product(struct rules *rules, const struct ir_node *product,
				    struct ir_value *const *operands, const union ir_attrs *attrs,
				    struct rules_scaling *scaling, const struct ir_node *other)
{
	struct ir_node *node = add(rules, product->op, operands, 3, &product->results[0]->type,
				   attrs, product, other);

	if (!node) {
		rules_scaling_destroy(scaling);
		return NULL;
	}
	if (scaling)
		rules_scaling_destroy(rules->nodes[product->id].scaling);
	else
		scaling = rules->nodes[product->id].scaling;
	rules->nodes[node->id].scaling = scaling;
	rules->nodes[product->id].scaling = NULL;
	return node->results[0];
}

/*
 * Adds a constant, whose reference it takes over in any case; constant is NULL when the caller had
 * no memory for it. NULL when out of memory.
 */
static struct ir_value *add_constant(struct rules *rules, const struct ir_type *type,
				     struct ir_constant *constant)
{
	struct ir_value *value = constant ? ir_add_constant(rules->rw->to, type, constant) : NULL;

	if (!value || keep_up(rules)) {
		if (!value)
			ir_constant_unref(constant);
		rules_nomem(rules);
		return NULL;
	}
	return value;
}

struct ir_value *rules_constant(struct rules *rules, const struct ir_type *type, void *data)
{
	return add_constant(rules, type, ir_constant_own(data, (size_t)ir_type_bytes(type)));
}

struct ir_value *rules_later(struct rules *rules, const struct ir_type *type,
			     const struct ir_recipe *recipe, void *userdata)
{
	return add_constant(rules, type,
			    ir_constant_later(recipe, userdata, (size_t)ir_type_bytes(type),
					      type->dtype, true));
}

struct ir_value *rules_reshaped(struct rules *rules, const struct ir_value *constant,
				const struct ir_type *type)
{
	return add_constant(rules, type, ir_constant_ref(constant->constant));
}

/* Copies an old node to the new graph and applies rules to the copy. Returns 0 or -1. */
static int take_over(struct rules *rules, const struct ir_node *node)
{
	struct rewrite *rw = rules->rw;
	struct ir_node *copy;

	if (rewrite_copy(rw, node) || keep_up(rules))
		return -1;
	copy = rw->to->nodes[rw->to->num_nodes - 1];
	for (uint32_t i = 0; i < node->num_results; i++)
		rules->values[copy->results[i]->id] =
			(struct value_state){ rw->uses[node->results[i]->id],
					      rw->is_output[node->results[i]->id] };
	rules->nodes[copy->id].first = rules->nodes[copy->id].last = node->id;
	rules->next[node->id] = UINT32_MAX;
	rules->kept[node->id] = true;
	if (node->num_results == 1)
		rw->value[node->results[0]->id] = apply_all(rules);
	return rules->failed;
}

/*
 * Appends a node to `order` after the nodes that make its operands, which rules may have added
 * later.
 */
static void put_in_order(struct ir_graph *graph, struct ir_node *node, struct ir_node **order,
			 bool *done)
{
	if (done[node->id])
		return;
	done[node->id] = true;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && node->operands[i]->kind == IR_VALUE_RESULT)
			put_in_order(graph, node->operands[i]->def, order, done);
	order[graph->num_nodes++] = node;
}

/*
 * Sorts the nodes so that operands come first. *before gets the nodes in their old order; the
 * caller frees it. Returns 0, or -1 when out of memory.
 */
static int sort(struct rules *rules, struct ir_node ***before)
{
	struct ir_graph *to = rules->rw->to;
	uint32_t count = to->num_nodes;
	bool *done = wnn_calloc(count + 1, sizeof(*done));

	*before = wnn_calloc(count + 1, sizeof(**before));
	if (!done || !*before) {
		wnn_free(done);
		return rules_nomem(rules);
	}
	if (count)
		memcpy(*before, to->nodes, count * sizeof(**before));
	to->num_nodes = 0;
	for (uint32_t n = 0; n < count; n++)
		put_in_order(to, (*before)[n], to->nodes, done);
	for (uint32_t n = 0; n < count; n++)
		to->nodes[n]->id = n;
	wnn_free(done);
	return 0;
}

/* Writes scaled weights, and sets the fates of the old nodes in the rewrite. Returns 0 or -1. */
static int conclude(struct rules *rules)
{
	uint32_t count = rules->rw->to->num_nodes;
	struct ir_node **nodes;
	int ret = sort(rules, &nodes);

	for (uint32_t n = 0; n < count && !ret; n++) {
		struct node_state *state = &rules->nodes[n];
		struct rules_scaling *scaling = state->scaling;

		for (uint32_t old = state->first; old != UINT32_MAX; old = rules->next[old])
			rules->rw->fate[old] = (struct rewrite_fate){
				rules->kept[old] ? WNN_FATE_KEPT : WNN_FATE_FUSED, nodes[n]->id
			};
		state->scaling = NULL;
		if (scaling)
			ret = rules_scale_weights(rules, nodes[n], scaling);
	}
	wnn_free(nodes);
	return ret;
}

static int begin(struct rules *rules)
{
	const struct ir_graph *from = rules->rw->from;

	rules->next = wnn_calloc(from->num_nodes + 1, sizeof(*rules->next));
	rules->kept = wnn_calloc(from->num_nodes + 1, sizeof(*rules->kept));
	if (!rules->next || !rules->kept)
		return rules_nomem(rules);
	if (keep_up(rules))
		return -1;
	for (uint32_t i = 0; i < from->num_values; i++)
		if (rules->rw->value[i])
			rules->values[rules->rw->value[i]->id] =
				(struct value_state){ rules->rw->uses[i], rules->rw->is_output[i] };
	return 0;
}

static int run(struct rewrite *rw, const struct pass_context *ctx, enum rules_group group)
{
	struct rules rules = { .rw = rw, .ctx = ctx, .group = group };
	int ret = begin(&rules);

	rules.left = MAX_PER_NODE * rw->from->num_nodes;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		ret = take_over(&rules, rw->from->nodes[n]);
	if (!ret)
		ret = conclude(&rules);
	for (size_t n = 0; n < rules.num_nodes; n++)
		rules_scaling_destroy(rules.nodes[n].scaling);
	wnn_free(rules.values);
	wnn_free(rules.nodes);
	wnn_free(rules.next);
	wnn_free(rules.kept);
	return ret;
}

int pass_tidy(struct rewrite *rw, const struct pass_context *ctx)
{
	return run(rw, ctx, RULES_TIDY);
}

int pass_absorb(struct rewrite *rw, const struct pass_context *ctx)
{
	return run(rw, ctx, RULES_ABSORB);
}
