// SPDX-License-Identifier: MIT
/* webnn-run: sorts and sums a profile. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "saved.h"

/* ---- the operators of ONNX */

struct origin {
	const char *label, *operator;
};

struct origins {
	struct origin *list;
	size_t count;
};

/* Adds the nodes of a graph, and of graphs within its nodes. Returns 0 or -1. */
static int add_graph(struct origins *origins, const Onnx__GraphProto *graph)
{
	struct origin *list = realloc(origins->list, (origins->count + graph->n_node + 1) *
							     sizeof(*origins->list));

	if (!list)
		return -1;
	origins->list = list;
	for (size_t i = 0; i < graph->n_node; i++)
		origins->list[origins->count++] = (struct origin){
			node_label(graph->node[i]),
			graph->node[i]->op_type ? graph->node[i]->op_type : "",
		};
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
			if (graph->node[i]->attribute[k]->g &&
			    add_graph(origins, graph->node[i]->attribute[k]->g))
				return -1;
	return 0;
}

static int compare_origins(const void *a, const void *b)
{
	return strcmp(((const struct origin *)a)->label, ((const struct origin *)b)->label);
}

static WNNStringView find_operator(const struct origins *origins, const WNNProfileNode *node)
{
	char label[1000];
	const struct origin key = { label, NULL }, *found = NULL;

	snprintf(label, sizeof(label), "%.*s", (int)node->label.length,
		 node->label.data ? node->label.data : "");
	if (origins->count)
		found = bsearch(&key, origins->list, origins->count, sizeof(key), compare_origins);
	return found ? (WNNStringView){ found->operator, strlen(found->operator) } :
		       node->operatorName;
}

static int find_operators(struct report *report)
{
	struct origins origins = { 0 };
	int ret;

	/* A saved graph has no names of ONNX operators. */
	if (saved_is(report->model)) {
		for (size_t i = 0; i < report->profile.nodeCount; i++)
			report->nodes[i].onnx = report->profile.nodes[i].operatorName;
		return DONE;
	}
	ret = model_file_load(report->model, &report->file);
	if (ret)
		return ret;
	if (add_graph(&origins, report->file->graph)) {
		free(origins.list);
		return complain(
			BAD_DEVICE,
			"too little memory is free for the profile: end other programs, or profile "
			"a part of the model");
	}
	if (origins.count)
		qsort(origins.list, origins.count, sizeof(*origins.list), compare_origins);
	for (size_t i = 0; i < report->profile.nodeCount; i++)
		report->nodes[i].onnx = find_operator(&origins, &report->profile.nodes[i]);
	free(origins.list);
	return DONE;
}

/* ---- sums */

static double milliseconds(const struct report *report, uint64_t cycles, uint64_t nanoseconds)
{
	return 1e3 * (double)cycles / (double)report->clock_hz + (double)nanoseconds / 1e6;
}

static WNNStringView label_of(const struct report *report, size_t node)
{
	const WNNProfileNode *of = &report->profile.nodes[node];

	return of->label.length ? of->label : of->operatorName;
}

static WNNStringView operator_of(const struct report *report, size_t node)
{
	return report->nodes[node].onnx;
}

static struct report_sum *find_sum(struct report_sums *sums, WNNStringView name)
{
	for (size_t i = 0; i < sums->count; i++)
		if (same_view(sums->list[i].name, name))
			return &sums->list[i];
	sums->list[sums->count].name = name;
	return &sums->list[sums->count++];
}

static int compare_sums(const void *a, const void *b)
{
	double left = ((const struct report_sum *)a)->ms,
	       right = ((const struct report_sum *)b)->ms;

	return (left < right) - (left > right);
}

static int sum_by(const struct report *report, struct report_sums *sums,
		  WNNStringView (*name_of)(const struct report *report, size_t node))
{
	sums->list = calloc(report->profile.nodeCount + 1, sizeof(*sums->list));
	if (!sums->list)
		return -1;
	for (size_t i = 0; i < report->profile.nodeCount; i++) {
		const WNNProfileNode *node = &report->profile.nodes[i];
		struct report_sum *sum = find_sum(sums, name_of(report, i));

		sum->nodes++;
		sum->cycles += node->cycles;
		sum->cpu_nanoseconds += node->cpuNanoseconds;
		sum->macs += node->macs;
		sum->bytes_read += node->bytesRead;
		sum->bytes_written += node->bytesWritten;
		sum->share_of_time += report->nodes[i].share_of_time;
	}
	for (size_t i = 0; i < sums->count; i++)
		sums->list[i].ms =
			milliseconds(report, sums->list[i].cycles, sums->list[i].cpu_nanoseconds);
	qsort(sums->list, sums->count, sizeof(*sums->list), compare_sums);
	return 0;
}

/*
 * Compares nodes for sorting by descending time; nodes of equal time keep the order of the graph.
 */
static int compare_nodes(const void *a, const void *b, void *of)
{
	const struct report *report = of;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	double more = report->nodes[right].ms - report->nodes[left].ms;

	return more > 0 ? 1 : more < 0 ? -1 : (left > right) - (left < right);
}

int report_sum(struct report *report)
{
	size_t count = report->profile.nodeCount;
	double all = 0;
	int ret;

	for (size_t i = 0; i < count; i++) {
		const WNNProfileNode *node = &report->profile.nodes[i];

		report->nodes[i].ms = milliseconds(report, node->cycles, node->cpuNanoseconds);
		all += report->nodes[i].ms;
	}
	for (size_t i = 0; all > 0 && i < count; i++)
		report->nodes[i].share_of_time = report->nodes[i].ms / all;
	ret = find_operators(report);
	if (ret)
		return ret;
	report->order = calloc(count + 1, sizeof(*report->order));
	if (!report->order || sum_by(report, &report->by_label, label_of) ||
	    sum_by(report, &report->by_operator, operator_of))
		return complain(
			BAD_DEVICE,
			"too little memory is free for the profile: end other programs, or profile "
			"a part of the model");
	for (size_t i = 0; i < count; i++)
		report->order[i] = i;
	qsort_r(report->order, count, sizeof(*report->order), compare_nodes, report);
	return DONE;
}

void report_sum_exit(struct report *report)
{
	free(report->order);
	free(report->by_label.list);
	free(report->by_operator.list);
	model_file_free(report->file);
}
