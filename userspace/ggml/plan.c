// SPDX-License-Identifier: MIT
/*
 * Cuts a graph of ggml into steps and keeps them for later graphs with the same nodes at the same
 * addresses.
 *
 * A graph of WebNN cannot write into its operands. So a node that writes into another tensor's
 * memory is the last of its graph: the results of earlier nodes are in memory by then, and later
 * nodes read them from there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* A conversation needs a plan for each size of a block of tokens and for each part of a cache. */
#define MOST_PLANS 16

/* Memory of a tensor. */
struct range {
	uintptr_t begin, end;
};

struct plan {
	struct plan *next;
	char *key;
	size_t key_size;
	struct onpu_step *steps;
	struct range *ranges; /* memory that the steps read, write or have as constants */
	size_t range_count;
};

struct onpu_counts onpu_counts;

static struct plan *plans; /* the plan that was used last comes first */

static void free_plan(struct plan *plan)
{
	while (plan->steps)
		plan->steps = onpu_step_free(plan->steps);
	free(plan->ranges);
	free(plan->key);
	free(plan);
}

static bool uses(const struct plan *plan, uintptr_t begin, uintptr_t end)
{
	for (size_t i = 0; i < plan->range_count; i++)
		if (plan->ranges[i].begin < end && begin < plan->ranges[i].end)
			return true;
	return false;
}

void onpu_forget(const void *data, size_t size)
{
	struct plan **at = &plans;

	while (*at) {
		struct plan *plan = *at;

		if (!uses(plan, (uintptr_t)data, (uintptr_t)data + size)) {
			at = &plan->next;
			continue;
		}
		*at = plan->next;
		free_plan(plan);
	}
	onpu_weights_forget(data, size);
}

/*
 * Adds to the plan's ranges the memory of a tensor or, for a view, of the tensor it is a view of.
 * Returns 0, also when the range is there already; -1: memory is exhausted.
 */
static int add_range(struct plan *plan, const struct gg_tensor *tensor)
{
	uintptr_t begin = (uintptr_t)onpu_root(tensor)->data;
	struct range range = { begin, begin + base.nbytes(onpu_root(tensor)) };
	size_t count = plan->range_count;

	for (size_t i = 0; i < count; i++)
		if (!memcmp(&plan->ranges[i], &range, sizeof(range)))
			return 0;
	/* The memory doubles when the count is a power of two. */
	if (!(count & (count - 1))) {
		void *ranges =
			realloc(plan->ranges, (count ? 2 * count : 1) * sizeof(*plan->ranges));

		if (!ranges) {
			onpu_say("memory is exhausted");
			return -1;
		}
		plan->ranges = ranges;
	}
	plan->ranges[plan->range_count++] = range;
	return 0;
}

static int add_ranges(struct plan *plan, const struct gg_tensor *node)
{
	int error = add_range(plan, node);

	for (uint32_t i = 0; i < GG_SOURCES && !error; i++)
		error = node->src[i] ? add_range(plan, node->src[i]) : 0;
	return error;
}

/* ---- keys */

struct key {
	char *bytes;
	size_t size, space;
};

static int append(struct key *key, const void *data, size_t size)
{
	if (key->space - key->size < size) {
		size_t space = 2 * key->space + size;
		char *bytes = realloc(key->bytes, space);

		if (!bytes)
			return -1;
		key->bytes = bytes;
		key->space = space;
	}
	memcpy(key->bytes + key->size, data, size);
	key->size += size;
	return 0;
}

/*
 * Appends to the key all facts of a tensor on which a plan depends. Returns 0, or another number
 * when memory is exhausted.
 */
static int append_tensor(struct key *key, const struct gg_tensor *tensor)
{
	const struct gg_tensor *root = onpu_root(tensor);
	struct {
		uint64_t type, op, is_weight, view_offs;
		const void *data, *root;
	} facts = { tensor->type,      tensor->op,   onpu_is_weight(tensor),
		    tensor->view_offs, tensor->data, root->data };

	return append(key, &facts, sizeof(facts)) || append(key, tensor->ne, sizeof(tensor->ne)) ||
	       append(key, tensor->nb, sizeof(tensor->nb)) ||
	       append(key, root->ne, sizeof(root->ne)) || append(key, root->nb, sizeof(root->nb));
}

/* Returns whether a node is to be computed: ggml wants it, it is no view, and it has elements. */
static bool is_computed(const struct gg_tensor *node)
{
	return node->flags & GG_FLAG_COMPUTE && onpu_kind(node) != KIND_VIEW && onpu_count(node);
}

static int make_key(struct key *key, struct gg_graph *graph)
{
	for (int i = 0; i < base.graph_n_nodes(graph); i++) {
		const struct gg_tensor *node = base.graph_node(graph, i);

		if (!is_computed(node))
			continue;
		if (append_tensor(key, node) || append(key, node->params, sizeof(node->params)))
			return -1;
		for (uint32_t j = 0; j < GG_SOURCES; j++)
			if (node->src[j] &&
			    (append(key, &j, sizeof(j)) || append_tensor(key, node->src[j])))
				return -1;
	}
	return 0;
}

/* ---- making a plan */

/* Steps of a plan that is being made. */
struct maker {
	struct onpu_step **end;
	/* what the current graph of WebNN consists of; without a builder, there is no such graph */
	struct onpu_emit emit;
};

static int add_step(struct maker *maker, struct onpu_step *step)
{
	if (!step)
		return -1;
	*maker->end = step;
	maker->end = onpu_step_next(step);
	return 0;
}

/*
 * Builds the current graph of WebNN and adds its step. Returns what add_step() does; 0 when there
 * is no current graph.
 */
static int finish(struct maker *maker)
{
	struct onpu_emit emit = maker->emit;

	memset(&maker->emit, 0, sizeof(maker->emit));
	return emit.builder ? add_step(maker, onpu_step_build(&emit)) : 0;
}

static int add_node(struct maker *maker, const struct gg_tensor *node)
{
	struct onpu_emit *e = &maker->emit;
	WNNOperand operand;
	char what[160];

	if (!e->builder)
		e->builder = wnnContextCreateGraphBuilder(onpu.context);
	operand = e->builder ? onpu_emit_op(e, node) : NULL;
	if (operand && !onpu_value_set(e, node, operand))
		return 0;
	snprintf(what, sizeof(what), "%s %s", base.op_name(node->op), node->name);
	if (e->refusal)
		onpu_say("%s: %s", what, e->refusal);
	else
		onpu_say_error(what);
	return -1;
}

/*
 * Adds a node to the current graph, or as a step of its own when it moves data. A node that writes
 * into the memory of another tensor is the last of its graph. Returns 0 or -1.
 */
static int add(struct maker *maker, const struct gg_tensor *node)
{
	enum onpu_kind kind = onpu_kind(node);

	if (kind == KIND_NONE) {
		onpu_say("%s is not supported", base.op_name(node->op));
		return -1;
	}
	if (kind == KIND_MOVE)
		return finish(maker) || add_step(maker, onpu_step_move(node)) ? -1 : 0;
	if (!node->view_src)
		return add_node(maker, node);
	if (onpu_value_has(&maker->emit, node->view_src) && finish(maker))
		return -1;
	return add_node(maker, node) || finish(maker) ? -1 : 0;
}

/* Says how many dispatches and moves a plan has, if WEBNN_LOG asks for all messages. */
static void tell(const struct plan *plan, struct gg_graph *graph)
{
	const char *log = getenv("WEBNN_LOG");
	size_t dispatches = 0, moves = 0;

	if (!log || strcmp(log, "debug"))
		return;
	for (struct onpu_step *step = plan->steps; step; step = *onpu_step_next(step))
		++*(onpu_step_is_move(step) ? &moves : &dispatches);
	onpu_say("a graph of %d nodes has %zu dispatches, and %zu moves by the host",
		 base.graph_n_nodes(graph), dispatches, moves);
}

static struct plan *make_plan(struct gg_graph *graph, struct key *key)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct maker maker;
	int error = 0;

	if (!plan) {
		onpu_say("memory is exhausted");
		return NULL;
	}
	memset(&maker, 0, sizeof(maker));
	maker.end = &plan->steps;
	for (int i = 0; i < base.graph_n_nodes(graph) && !error; i++)
		if (is_computed(base.graph_node(graph, i)))
			error = add_ranges(plan, base.graph_node(graph, i)) ||
				add(&maker, base.graph_node(graph, i));
	if (error || finish(&maker)) {
		onpu_emit_exit(&maker.emit);
		free_plan(plan);
		return NULL;
	}
	onpu_counts.plans++;
	tell(plan, graph);
	plan->key = key->bytes;
	plan->key_size = key->size;
	key->bytes = NULL;
	return plan;
}

/* Returns the plan with a key and takes it out of the list, or NULL. */
static struct plan *take_plan(const struct key *key)
{
	for (struct plan **at = &plans; *at; at = &(*at)->next) {
		struct plan *plan = *at;

		if (plan->key_size != key->size || memcmp(plan->key, key->bytes, key->size))
			continue;
		*at = plan->next;
		return plan;
	}
	return NULL;
}

/* Puts a plan first, and forgets the last one when there are more than MOST_PLANS. */
static void keep_plan(struct plan *plan)
{
	struct plan **at = &plans;

	plan->next = plans;
	plans = plan;
	for (int i = 0; i < MOST_PLANS && *at; i++)
		at = &(*at)->next;
	if (*at) {
		free_plan(*at);
		*at = NULL;
	}
}

int onpu_compute(struct gg_graph *graph)
{
	struct key key = { 0 };
	struct plan *plan = NULL;
	int error = make_key(&key, graph);

	if (error)
		onpu_say("memory is exhausted");
	else if (key.size)
		plan = take_plan(&key);
	if (!error && key.size && !plan) {
		plan = make_plan(graph, &key);
		error = plan ? 0 : -1;
	}
	free(key.bytes);
	if (!plan)
		return error;
	keep_plan(plan);
	onpu_counts.runs++;
	for (struct onpu_step *step = plan->steps; step; step = *onpu_step_next(step))
		if (onpu_step_run(step))
			return -1;
	return 0;
}
