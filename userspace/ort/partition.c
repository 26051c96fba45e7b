// SPDX-License-Identifier: MIT
/*
 * Groups nodes by stages. Along an edge the stage never falls, and it rises from a supported to an
 * unsupported node. So a path that leaves the supported nodes of a stage never returns to them, and
 * connected supported nodes of one stage can become one node.
 */
#include "partition.h"

#include <string.h>

static struct ort_status *name_values(struct onpu_partition *p)
{
	const WNNOnnxGraph *graph = &p->read->graph;
	struct import_chunk **chunks = p->reading->chunks;
	int bad = onpu_names_begin(&p->producer, chunks, graph->nodeCount * 2) ||
		  onpu_names_begin(&p->output, chunks, graph->outputCount * 2) ||
		  onpu_names_begin(&p->type, chunks, (graph->inputCount + graph->valueCount) * 2);

	for (size_t i = 0; i < graph->nodeCount && !bad; i++)
		for (size_t k = 0; k < graph->nodes[i].outputCount && !bad; k++)
			if (graph->nodes[i].outputs[k].length)
				bad = onpu_names_set(&p->producer, chunks,
						     graph->nodes[i].outputs[k], i);
	for (size_t i = 0; i < graph->outputCount && !bad; i++)
		bad = onpu_names_set(&p->output, chunks, graph->outputs[i].name, i);
	for (size_t i = 0; i < graph->inputCount && !bad; i++)
		bad = onpu_names_set(&p->type, chunks, graph->inputs[i].name, i);
	for (size_t i = 0; i < graph->valueCount && !bad; i++)
		bad = onpu_names_set(&p->type, chunks, graph->values[i].name,
				     graph->inputCount + i);
	return bad ? onpu_nomem(p->reading->ort) : NULL;
}

/*
 * Sets *names to the *count names that a node reads, including those that graphs within it use;
 * absent inputs are empty names. Returns NULL, or an error.
 */
static struct ort_status *node_reads(const struct onpu_partition *p, size_t node, size_t *count,
				     WNNStringView **names)
{
	const struct ort_value_info **values;

	ORT_TRY(onpu_node_inputs(p->reading, p->read->nodes[node], count, &values));
	*names = onpu_take(p->reading, *count * sizeof(**names));
	if (!*names)
		return onpu_nomem(p->reading->ort);
	for (size_t i = 0; i < *count; i++) {
		const char *text = "";

		if (values[i])
			ORT_TRY(p->reading->ort->GetValueInfoName(values[i], &text));
		(*names)[i] = onpu_view(p->reading, text);
	}
	return NULL;
}

static struct ort_status *find_edges(struct onpu_partition *p)
{
	for (size_t i = 0; i < p->read->graph.nodeCount; i++) {
		WNNStringView *names;
		size_t count;

		ORT_TRY(node_reads(p, i, &count, &names));
		p->before[i].nodes = onpu_take(p->reading, count * sizeof(size_t));
		if (!p->before[i].nodes)
			return onpu_nomem(p->reading->ort);
		for (size_t k = 0; k < count; k++) {
			size_t from = names[k].length ? onpu_names_get(&p->producer, names[k]) :
							SIZE_MAX;

			if (from != SIZE_MAX)
				p->before[i].nodes[p->before[i].count++] = from;
		}
	}
	return NULL;
}

struct ort_status *onpu_partition_begin(struct onpu_partition *p,
					const struct onpu_reading *reading,
					const struct onpu_read *read, WNNBool *supported)
{
	size_t count = read->graph.nodeCount;

	*p = (struct onpu_partition){ .reading = reading, .read = read, .supported = supported };
	p->group = onpu_take(reading, count * sizeof(*p->group));
	p->stage = onpu_take(reading, count * sizeof(*p->stage));
	p->before = onpu_take(reading, count * sizeof(*p->before));
	p->reason = onpu_take(reading, count * sizeof(*p->reason));
	if (!p->group || !p->stage || !p->before || !p->reason)
		return onpu_nomem(reading->ort);
	ORT_TRY(name_values(p));
	return find_edges(p);
}

/* Sets the lowest stage of each node; nodes are sorted after those that they depend on. */
static void find_stages(struct onpu_partition *p)
{
	for (size_t i = 0; i < p->read->graph.nodeCount; i++) {
		p->stage[i] = 0;
		for (size_t k = 0; k < p->before[i].count; k++) {
			size_t from = p->before[i].nodes[k];
			size_t least =
				p->stage[from] + (p->supported[from] && !p->supported[i] ? 1 : 0);

			if (least > p->stage[i])
				p->stage[i] = least;
		}
	}
}

static bool is_output(const struct onpu_partition *p, size_t node)
{
	const WNNOnnxNode *described = &p->read->graph.nodes[node];

	for (size_t k = 0; k < described->outputCount; k++)
		if (described->outputs[k].length &&
		    onpu_names_get(&p->output, described->outputs[k]) != SIZE_MAX)
			return true;
	return false;
}

/*
 * Moves nodes that only later stages use to these stages, so that their results, such as shapes,
 * stay in the group of their consumers. Returns NULL; an error: no memory.
 */
static struct ort_status *delay(struct onpu_partition *p)
{
	size_t count = p->read->graph.nodeCount;
	size_t *latest = onpu_take(p->reading, count * sizeof(*latest));

	if (!latest)
		return onpu_nomem(p->reading->ort);
	for (size_t i = 0; i < count; i++)
		latest[i] = SIZE_MAX;
	for (size_t i = count; i-- > 0;) {
		if (p->supported[i] && latest[i] != SIZE_MAX && latest[i] > p->stage[i] &&
		    !is_output(p, i))
			p->stage[i] = latest[i];
		for (size_t k = 0; k < p->before[i].count; k++) {
			size_t from = p->before[i].nodes[k];
			size_t most = p->stage[i];

			if (p->supported[from] && !p->supported[i])
				most--;
			if (most < latest[from])
				latest[from] = most;
		}
	}
	return NULL;
}

static size_t root_of(size_t *parent, size_t node)
{
	while (parent[node] != node)
		node = parent[node] = parent[parent[node]];
	return node;
}

struct ort_status *onpu_partition_group(struct onpu_partition *p)
{
	size_t count = p->read->graph.nodeCount;
	size_t *parent = onpu_take(p->reading, count * sizeof(*parent));
	size_t *number = onpu_take(p->reading, count * sizeof(*number));

	if (!parent || !number)
		return onpu_nomem(p->reading->ort);
	find_stages(p);
	ORT_TRY(delay(p));
	for (size_t i = 0; i < count; i++) {
		parent[i] = i;
		number[i] = SIZE_MAX;
		for (size_t k = 0; p->supported[i] && k < p->before[i].count; k++) {
			size_t from = p->before[i].nodes[k];

			if (p->supported[from] && p->stage[from] == p->stage[i])
				parent[root_of(parent, from)] = root_of(parent, i);
		}
	}
	p->group_count = 0;
	for (size_t i = 0; i < count; i++) {
		size_t root = root_of(parent, i);

		p->group[i] = ONPU_NO_GROUP;
		if (!p->supported[i])
			continue;
		if (number[root] == SIZE_MAX)
			number[root] = p->group_count++;
		p->group[i] = number[root];
	}
	return NULL;
}

static const WNNOnnxValue *type_of(const struct onpu_partition *p, WNNStringView name)
{
	const WNNOnnxGraph *graph = &p->read->graph;
	size_t index = onpu_names_get(&p->type, name);

	if (index == SIZE_MAX)
		return NULL;
	return index < graph->inputCount ? &graph->inputs[index] :
					   &graph->values[index - graph->inputCount];
}

#define DOUBLE 11 /* TensorProto.DataType of ONNX */

static void refuse(struct onpu_partition *p, size_t node, const char *reason)
{
	p->supported[node] = WNN_FALSE;
	p->reason[node] = reason;
}

static bool is_double(const struct onpu_partition *p, WNNStringView name)
{
	const WNNOnnxValue *type = name.length ? type_of(p, name) : NULL;

	return type && type->elementType == DOUBLE;
}

struct ort_status *onpu_partition_refuse_doubles(struct onpu_partition *p, size_t *refused)
{
	const WNNOnnxGraph *graph = &p->read->graph;

	for (size_t i = 0; i < graph->nodeCount; i++) {
		WNNStringView *names;
		bool found = false;
		size_t count;

		if (!p->supported[i])
			continue;
		ORT_TRY(node_reads(p, i, &count, &names));
		for (size_t k = 0; k < count; k++)
			found = found || is_double(p, names[k]);
		for (size_t k = 0; k < graph->nodes[i].outputCount; k++)
			found = found || is_double(p, graph->nodes[i].outputs[k]);
		if (!found)
			continue;
		refuse(p, i, "double numbers would be computed in single precision");
		++*refused;
	}
	return NULL;
}

/*
 * Notes in @leaving all names that nodes outside of a group read: values of the group among these
 * leave it. Returns NULL, or an error.
 */
static struct ort_status *mark_leaving(const struct onpu_partition *p, size_t group,
				       struct onpu_names *leaving)
{
	if (onpu_names_begin(leaving, p->reading->chunks, 64))
		return onpu_nomem(p->reading->ort);
	for (size_t i = 0; i < p->read->graph.nodeCount; i++) {
		WNNStringView *names;
		size_t count;

		if (p->group[i] == group)
			continue;
		ORT_TRY(node_reads(p, i, &count, &names));
		for (size_t k = 0; k < count; k++)
			if (onpu_names_set(leaving, p->reading->chunks, names[k], i))
				return onpu_nomem(p->reading->ort);
	}
	return NULL;
}

/*
 * Adds the values that a node of a group reads to the inputs of the group, unless they come from
 * the group or are constants. When the type or rank of an input is unknown, or the type is not one
 * of the library's, the node that reads it becomes unsupported, and *changed is set. Returns NULL,
 * or an error.
 */
static struct ort_status *find_inputs(struct onpu_partition *p, size_t group, size_t node,
				      struct onpu_names *seen, WNNOnnxGraph *out,
				      WNNOnnxValue **inputs, bool *changed)
{
	WNNOnnxValue *more;
	WNNStringView *names;
	size_t count;

	ORT_TRY(node_reads(p, node, &count, &names));
	more = onpu_take(p->reading, (out->inputCount + count) * sizeof(*more));
	if (!more)
		return onpu_nomem(p->reading->ort);
	if (out->inputCount)
		memcpy(more, *inputs, out->inputCount * sizeof(*more));
	*inputs = more;
	for (size_t k = 0; k < count; k++) {
		size_t from = onpu_names_get(&p->producer, names[k]);
		const WNNOnnxValue *type;

		if (!names[k].length || (from != SIZE_MAX && p->group[from] == group) ||
		    onpu_names_get(seen, names[k]) != SIZE_MAX)
			continue;
		type = type_of(p, names[k]);
		if (!type && from == SIZE_MAX)
			continue; /* the value is a constant */
		if (!type || type->kind != WNNOnnxKind_Tensor ||
		    type->rank == WNN_ONNX_RANK_UNKNOWN) {
			refuse(p, node, "an input is no tensor, or its type or rank is not known");
			*changed = true;
			continue;
		}
		if (!onpu_is_webnn_type(type->elementType)) {
			refuse(p, node, "WebNN does not have the type of an input");
			*changed = true;
			continue;
		}
		if (onpu_names_set(seen, p->reading->chunks, names[k], 0))
			return onpu_nomem(p->reading->ort);
		(*inputs)[out->inputCount++] = *type;
	}
	return NULL;
}

struct ort_status *onpu_partition_describe(struct onpu_partition *p, size_t group,
					   WNNOnnxGraph *out, size_t **indices, bool *changed)
{
	const WNNOnnxGraph *graph = &p->read->graph;
	WNNOnnxNode *nodes = onpu_take(p->reading, graph->nodeCount * sizeof(*nodes));
	WNNOnnxValue *outputs = onpu_take(p->reading, (graph->valueCount + 1) * sizeof(*outputs));
	struct onpu_names seen = { 0 }, leaving = { 0 };
	WNNOnnxValue *inputs = NULL;

	*indices = onpu_take(p->reading, graph->nodeCount * sizeof(**indices));
	if (!nodes || !outputs || !*indices || onpu_names_begin(&seen, p->reading->chunks, 64))
		return onpu_nomem(p->reading->ort);
	ORT_TRY(mark_leaving(p, group, &leaving));
	*out = *graph;
	out->nodeCount = out->inputCount = out->outputCount = out->valueCount = 0;
	for (size_t i = 0; i < graph->nodeCount; i++) {
		if (p->group[i] != group)
			continue;
		(*indices)[out->nodeCount] = i;
		nodes[out->nodeCount++] = graph->nodes[i];
		ORT_TRY(find_inputs(p, group, i, &seen, out, &inputs, changed));
		for (size_t k = 0; k < graph->nodes[i].outputCount; k++) {
			WNNStringView name = graph->nodes[i].outputs[k];
			const WNNOnnxValue *type;

			if (!name.length || (onpu_names_get(&p->output, name) == SIZE_MAX &&
					     onpu_names_get(&leaving, name) == SIZE_MAX))
				continue;
			type = type_of(p, name);
			if (type && !onpu_is_webnn_type(type->elementType)) {
				refuse(p, i, "WebNN does not have the type of an output");
				*changed = true;
			}
			if (type)
				outputs[out->outputCount++] = *type;
		}
	}
	out->nodes = nodes;
	out->inputs = inputs;
	out->outputs = outputs;
	return NULL;
}
