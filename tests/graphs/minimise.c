// SPDX-License-Identifier: MIT
/*
 * Makes a failing graph smaller: fewer outputs, calls, options and elements, as long as it fails.
 * Every step changes the description of the graph; the rules of the builder decide whether the
 * result is valid.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph.h"

struct minimiser {
	struct graph *graph, *trial;
	bool (*fails)(const struct graph *graph, void *userdata);
	void *userdata;
	struct timespec end;
};

static bool out_of_time(const struct minimiser *m)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > m->end.tv_sec;
}

/* --- Unused calls and values --- */

/*
 * Removes calls that no output needs and values that no call uses any more, and renumbers the
 * remaining values.
 */
static void compact(struct graph *graph)
{
	bool needed[GRAPH_MAX_VALUES] = { false }, keep[GRAPH_MAX_NODES] = { false };
	int number[GRAPH_MAX_VALUES];
	uint32_t nodes = 0, values = 0;

	for (uint32_t v = 0; v < graph->num_values; v++)
		needed[v] = graph->values[v].output;
	for (uint32_t n = graph->num_nodes; n-- > 0;) {
		struct graph_node *node = &graph->nodes[n];

		for (uint32_t i = 0; i < node->num_results; i++)
			keep[n] |= needed[node->results[i]];
		for (uint32_t i = 0; keep[n] && i < node->num_results; i++)
			needed[node->results[i]] = true;
		for (uint32_t i = 0; keep[n] && i < node->num_operands; i++)
			if (node->operands[i] >= 0)
				needed[node->operands[i]] = true;
	}
	for (uint32_t v = 0; v < graph->num_values; v++) {
		number[v] = needed[v] ? (int)values : GRAPH_ABSENT;
		if (needed[v])
			graph->values[values++] = graph->values[v];
	}
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		struct graph_node *node = &graph->nodes[nodes];

		if (!keep[n])
			continue;
		*node = graph->nodes[n];
		for (uint32_t i = 0; i < node->num_results; i++)
			node->results[i] = number[node->results[i]];
		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i] >= 0)
				node->operands[i] = number[node->operands[i]];
		nodes++;
	}
	graph->num_nodes = nodes;
	graph->num_values = values;
}

static void begin(struct minimiser *m)
{
	*m->trial = *m->graph;
}

/*
 * Makes the trial the new graph and returns true when it is valid and still fails; false when not,
 * and after the time limit.
 */
static bool accept(struct minimiser *m)
{
	struct wnn_error err;

	compact(m->trial);
	if (!m->trial->num_nodes || graph_infer(m->trial, &err) || out_of_time(m) ||
	    !m->fails(m->trial, m->userdata))
		return false;
	*m->graph = *m->trial;
	return true;
}

/* --- Steps; each returns true when it made the graph smaller --- */

static bool drop_outputs(struct minimiser *m)
{
	bool any = false;

	for (uint32_t v = 0; v < m->graph->num_values; v++) {
		if (!m->graph->values[v].output)
			continue;
		begin(m);
		m->trial->values[v].output = false;
		any |= accept(m);
	}
	return any;
}

/* Makes one value in the middle the only output. */
static bool cut_end(struct minimiser *m)
{
	for (uint32_t v = 0; v < m->graph->num_values; v++) {
		begin(m);
		if (m->trial->values[v].kind != GRAPH_RESULT || m->trial->values[v].output)
			continue;
		for (uint32_t i = 0; i < m->trial->num_values; i++)
			m->trial->values[i].output = i == v;
		if (accept(m))
			return true;
	}
	return false;
}

static void become_leaf(struct graph_value *value)
{
	bool is_unsigned = value->type == WNNOperandDataType_Uint4 ||
			   value->type == WNNOperandDataType_Uint8 ||
			   value->type == WNNOperandDataType_Uint32 ||
			   value->type == WNNOperandDataType_Uint64;

	value->kind = GRAPH_INPUT;
	value->output = false;
	value->fill = GRAPH_UNIFORM;
	value->lo = is_unsigned ? 0 : -2;
	value->hi = 2;
	value->seed = 1;
}

/* Replaces the results of a call by inputs. */
static bool cut_begin(struct minimiser *m)
{
	for (uint32_t n = 0; n < m->graph->num_nodes; n++) {
		struct graph_node *node;

		begin(m);
		node = &m->trial->nodes[n];
		for (uint32_t i = 0; i < node->num_results; i++)
			become_leaf(&m->trial->values[node->results[i]]);
		memmove(node, node + 1, (m->trial->num_nodes - n - 1) * sizeof(*node));
		m->trial->num_nodes--;
		if (accept(m))
			return true;
	}
	return false;
}

/* Makes later calls use an operand of a call in place of the call's first result. */
static bool bypass(struct minimiser *m)
{
	for (uint32_t n = 0; n < m->graph->num_nodes; n++)
		for (uint32_t k = 0; k < m->graph->nodes[n].num_operands; k++) {
			int from = m->graph->nodes[n].results[0];
			int to = m->graph->nodes[n].operands[k];

			if (to < 0 || m->graph->values[from].type != m->graph->values[to].type)
				continue;
			begin(m);
			for (uint32_t i = n + 1; i < m->trial->num_nodes; i++)
				for (uint32_t j = 0; j < m->trial->nodes[i].num_operands; j++)
					if (m->trial->nodes[i].operands[j] == from)
						m->trial->nodes[i].operands[j] = to;
			m->trial->values[from].output = false;
			if (accept(m))
				return true;
		}
	return false;
}

static bool drop_option(struct minimiser *m)
{
	for (uint32_t n = 0; n < m->graph->num_nodes; n++) {
		const struct wnn_op_info *info = &wnn_op_info[m->graph->nodes[n].op];

		for (uint32_t i = 0; i < info->options->member_count; i++) {
			begin(m);
			if (!m->trial->nodes[n].options[i].set)
				continue;
			m->trial->nodes[n].options[i].set = false;
			if (accept(m))
				return true;
		}
		for (uint32_t i = 0; i < info->operand_count && i < GRAPH_MAX_OPERANDS; i++) {
			begin(m);
			if (m->trial->nodes[n].operands[i] < 0 ||
			    !(info->operands[i].flags & WNN_OPERAND_OPTIONAL))
				continue;
			m->trial->nodes[n].operands[i] = GRAPH_ABSENT;
			if (accept(m))
				return true;
		}
	}
	return false;
}

/* Replaces @from by @to in the dimensions of all values and in the arguments of all calls. */
static void replace_size(struct graph *graph, uint32_t from, uint32_t to)
{
	for (uint32_t v = 0; v < graph->num_values; v++)
		for (uint32_t i = 0; i < graph->values[v].rank; i++)
			if (graph->values[v].dims[i] == from)
				graph->values[v].dims[i] = to;
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		for (uint32_t a = 0; a < GRAPH_MAX_ARGUMENTS; a++)
			for (uint32_t i = 0; i < graph->nodes[n].arguments[a].count; i++)
				if (graph->nodes[n].arguments[a].word[i] == from)
					graph->nodes[n].arguments[a].word[i] = to;
}

static bool try_size(struct minimiser *m, uint32_t v, uint32_t i, uint32_t to)
{
	uint32_t from = m->graph->values[v].dims[i];

	if (to == from || !to)
		return false;
	begin(m);
	m->trial->values[v].dims[i] = to;
	if (accept(m))
		return true;
	begin(m);
	replace_size(m->trial, from, to);
	return accept(m);
}

static bool shrink(struct minimiser *m)
{
	for (uint32_t v = 0; v < m->graph->num_values; v++) {
		if (m->graph->values[v].kind == GRAPH_RESULT)
			continue;
		for (uint32_t i = 0; i < m->graph->values[v].rank; i++) {
			uint32_t from = m->graph->values[v].dims[i];

			if (try_size(m, v, i, 1) || try_size(m, v, i, from / 2) ||
			    try_size(m, v, i, from - from / 4) || try_size(m, v, i, from - 1))
				return true;
		}
	}
	return false;
}

/*
 * Sets one number of one attribute to 0 or 1, if the graph still fails then; returns whether it has
 * done so.
 */
static bool shrink_arguments(struct minimiser *m)
{
	for (uint32_t n = 0; n < m->graph->num_nodes; n++)
		for (uint32_t a = 0; a < GRAPH_MAX_ARGUMENTS + GRAPH_MAX_OPTIONS; a++)
			for (uint32_t i = 0; i < GRAPH_MAX_LIST; i++)
				for (uint32_t to = 0; to < 2; to++) {
					struct graph_node *node;
					struct graph_attr *attr;

					begin(m);
					node = &m->trial->nodes[n];
					attr = a < GRAPH_MAX_ARGUMENTS ?
						       &node->arguments[a] :
						       &node->options[a - GRAPH_MAX_ARGUMENTS];
					if (!attr->set || i >= attr->count || attr->word[i] <= to)
						continue;
					attr->word[i] = to;
					if (accept(m))
						return true;
				}
	return false;
}

void graph_minimise(struct graph *graph, bool (*fails)(const struct graph *graph, void *userdata),
		    void *userdata, unsigned int seconds)
{
	static bool (*const steps[])(struct minimiser *m) = {
		drop_outputs, cut_end, cut_begin, bypass, drop_option, shrink, shrink_arguments,
	};
	struct minimiser m = { graph, malloc(sizeof(*m.trial)), fails, userdata, { 0 } };
	size_t step = 0;

	if (!m.trial)
		return;
	clock_gettime(CLOCK_MONOTONIC, &m.end);
	m.end.tv_sec += seconds;
	while (step < ARRAY_SIZE(steps) && !out_of_time(&m))
		step = steps[step](&m) ? 0 : step + 1;
	free(m.trial);
}
