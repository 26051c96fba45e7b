// SPDX-License-Identifier: MIT
/*
 * webnn-run: changes the graph of a decoder as Hugging Face's exporters write it. In such a graph,
 * Concat appends the rows of new tokens to caches, which are inputs, and attention reads all rows.
 * So each token would need a graph of its own, and a copy of all caches. The changed graph has
 * caches with all positions from the start: ScatterND takes the place of Concat, and a mask is
 * added in front of Softmax.
 *
 * The graph also computes shapes from the number of past rows, which Shape reads from a cache. A
 * cache of all positions has more rows, so the number of new tokens is subtracted from what Shape
 * reads: past and new tokens together are then all positions.
 */
#include "change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "run.h"

/* Most tensors that are followed from a cache to its Softmax. */
#define MAX_FOLLOWED 256
/*
 * The tensor [0, 0, tokens, 0], with the number of new tokens: the shape of a cache minus this
 * tensor takes the place of the shape of the past.
 */
#define NEW_ROWS CHANGE_NEXT "new"
/* The input by which a merged decoder chooses the branch with a past or the one without. */
#define CHOICE "use_cache_branch"

/* ---- parts of a graph */

bool change_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

void change_text(struct change *c, char **slot, const char *text)
{
	char *copy = strdup(text);

	if (!copy) {
		c->full = true;
		return;
	}
	if (*slot != protobuf_c_empty_string)
		free(*slot);
	*slot = copy;
}

static void clear_attributes(Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		onnx__attribute_proto__free_unpacked(node->attribute[i], NULL);
	free(node->attribute);
	node->attribute = NULL;
	node->n_attribute = 0;
}

void change_node(struct change *c, Onnx__NodeProto *node, const char *kind, size_t count,
		 const char *const *inputs)
{
	char **list = calloc(3, sizeof(*list));

	clear_attributes(node);
	change_text(c, &node->op_type, kind);
	for (size_t i = 0; list && i < count; i++) {
		list[i] = strdup(inputs[i]);
		c->full |= !list[i];
	}
	/* @inputs may point to the old texts, which are therefore freed after they were copied. */
	for (size_t i = 0; i < node->n_input; i++)
		if (node->input[i] != protobuf_c_empty_string)
			free(node->input[i]);
	free(node->input);
	c->full |= !list;
	node->input = list;
	node->n_input = list && !c->full ? count : 0;
}

static int64_t attribute(const Onnx__NodeProto *node, const char *name, int64_t otherwise)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (change_same(node->attribute[i]->name, name))
			return node->attribute[i]->i;
	return otherwise;
}

/* Gives a node the attribute axis. */
static void add_axis(struct change *c, Onnx__NodeProto *node, int64_t axis)
{
	Onnx__AttributeProto *value = malloc(sizeof(*value));

	node->attribute = calloc(1, sizeof(Onnx__AttributeProto *));
	if (!value || !node->attribute) {
		free(value);
		c->full = true;
		return;
	}
	onnx__attribute_proto__init(value);
	value->has_type = true;
	value->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
	value->has_i = true;
	value->i = axis;
	node->attribute[node->n_attribute++] = value;
	change_text(c, &value->name, "axis");
}

void change_add_node(struct change *c, const char *kind, int64_t axis, size_t count,
		     const char *const *inputs, const char *output)
{
	Onnx__GraphProto *graph = c->graph;
	Onnx__NodeProto **list = realloc(graph->node, (graph->n_node + 1) * sizeof(*list));
	Onnx__NodeProto *node = malloc(sizeof(*node));

	graph->node = list ? list : graph->node;
	if (!list || !node) {
		free(node);
		c->full = true;
		return;
	}
	onnx__node_proto__init(node);
	graph->node[graph->n_node++] = node;
	change_node(c, node, kind, count, inputs);
	if (axis)
		add_axis(c, node, axis);
	node->output = calloc(1, sizeof(*node->output));
	if (node->output) {
		node->output[0] = strdup(output);
		node->n_output = node->output[0] ? 1 : 0;
	}
	c->full |= !node->n_output;
}

void change_add_input(struct change *c, const char *name, int32_t type)
{
	Onnx__GraphProto *graph = c->graph;
	Onnx__ValueInfoProto **list = realloc(graph->input, (graph->n_input + 1) * sizeof(*list));
	Onnx__ValueInfoProto *value = cut_value(name);
	Onnx__TypeProto *kind = malloc(sizeof(*kind));
	Onnx__TypeProto__Tensor *tensor = malloc(sizeof(*tensor));

	graph->input = list ? list : graph->input;
	if (!list || !value || !kind || !tensor) {
		if (value)
			onnx__value_info_proto__free_unpacked(value, NULL);
		free(kind);
		free(tensor);
		c->full = true;
		return;
	}
	onnx__type_proto__init(kind);
	onnx__type_proto__tensor__init(tensor);
	tensor->has_elem_type = true;
	tensor->elem_type = type;
	kind->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	kind->tensor_type = tensor;
	value->type = kind;
	graph->input[graph->n_input++] = value;
}

/* Adds a constant, int64 [count]. Writes its name to @name and returns @name. */
static const char *add_numbers(struct change *c, size_t count, const int64_t *numbers,
			       char name[CHANGE_NAME_SIZE])
{
	Onnx__GraphProto *graph = c->graph;
	Onnx__TensorProto **list =
		realloc(graph->initializer, (graph->n_initializer + 1) * sizeof(*list));
	Onnx__TensorProto *tensor = malloc(sizeof(*tensor));
	int64_t *dims = malloc(sizeof(*dims)), *data = malloc(count * sizeof(*data));

	snprintf(name, CHANGE_NAME_SIZE, CHANGE_NEXT "number/%zu", c->constants++);
	graph->initializer = list ? list : graph->initializer;
	if (!list || !tensor || !dims || !data) {
		free(tensor);
		free(dims);
		free(data);
		c->full = true;
		return name;
	}
	onnx__tensor_proto__init(tensor);
	*dims = (int64_t)count;
	memcpy(data, numbers, count * sizeof(*data));
	tensor->n_dims = 1;
	tensor->dims = dims;
	tensor->has_data_type = true;
	tensor->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
	tensor->n_int64_data = count;
	tensor->int64_data = data;
	list[graph->n_initializer++] = tensor;
	change_text(c, &tensor->name, name);
	return name;
}

/* Gives a tensor another name in all nodes. */
static void rename_tensor(struct change *c, const char *from, const char *to)
{
	char *old = strdup(from);

	c->full |= !old;
	for (size_t n = 0; old && n < c->graph->n_node; n++) {
		Onnx__NodeProto *node = c->graph->node[n];

		for (size_t i = 0; i < node->n_input; i++)
			if (change_same(node->input[i], old))
				change_text(c, &node->input[i], to);
		for (size_t i = 0; i < node->n_output; i++)
			if (change_same(node->output[i], old))
				change_text(c, &node->output[i], to);
	}
	free(old);
}

Onnx__NodeProto *change_producer(const struct change *c, const char *name)
{
	for (size_t n = 0; n < c->graph->n_node; n++)
		for (size_t i = 0; i < c->graph->node[n]->n_output; i++)
			if (change_same(c->graph->node[n]->output[i], name))
				return c->graph->node[n];
	return NULL;
}

/*
 * Takes the description of an output out of the list and returns it. For a tensor that is no
 * output, returns a new description; NULL: memory is exhausted.
 */
static Onnx__ValueInfoProto *take_value(struct change *c, const char *name)
{
	for (size_t i = 0; i < c->graph->n_output; i++) {
		Onnx__ValueInfoProto *value = c->graph->output[i];

		if (!value || !change_same(value->name, name))
			continue;
		c->graph->output[i] = NULL;
		return value;
	}
	return cut_value(name);
}

void change_set_outputs(struct change *c, size_t count, const char *const *names)
{
	Onnx__GraphProto *graph = c->graph;
	Onnx__ValueInfoProto **list = calloc(count + 1, sizeof(*list));
	size_t made = 0;

	c->full |= !list;
	for (size_t i = 0; i < count && !c->full; i++) {
		list[i] = take_value(c, names[i]);
		c->full |= !list[i];
		made += list[i] != NULL;
	}
	for (size_t i = 0; i < graph->n_output; i++)
		if (graph->output[i])
			onnx__value_info_proto__free_unpacked(graph->output[i], NULL);
	free(graph->output);
	graph->output = list;
	graph->n_output = made;
}

/* ---- a merged decoder */

/* Returns the node that chooses between the branches with and without a past; sets its index. */
static Onnx__NodeProto *find_choice(const Onnx__GraphProto *graph, size_t *at)
{
	for (*at = 0; *at < graph->n_node; ++*at) {
		Onnx__NodeProto *node = graph->node[*at];

		if (change_same(node->op_type, "If") && node->n_input == 1 &&
		    change_same(node->input[0], CHOICE))
			return node;
	}
	return NULL;
}

static Onnx__GraphProto **branch_of(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (change_same(node->attribute[i]->name, name) && node->attribute[i]->g)
			return &node->attribute[i]->g;
	return NULL;
}

/* Moves all items of a list of @from to the end of that of @to. */
#define MOVE_LIST(c, to, from, list)                                                        \
	do {                                                                                \
		size_t size = sizeof(*(to)->list), all = (to)->n_##list + (from)->n_##list; \
		void *longer = realloc((to)->list, (all + 1) * size);                       \
                                                                                            \
		(c)->full |= !longer;                                                       \
		if (longer) {                                                               \
			(to)->list = longer;                                                \
			for (size_t i = 0; i < (from)->n_##list; i++)                       \
				(to)->list[(to)->n_##list++] = (from)->list[i];             \
			(from)->n_##list = 0;                                               \
		}                                                                           \
	} while (0)

/* Removes the input that chose a branch. */
static void remove_choice(Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_input; i++) {
		if (!change_same(graph->input[i]->name, CHOICE))
			continue;
		onnx__value_info_proto__free_unpacked(graph->input[i], NULL);
		memmove(&graph->input[i], &graph->input[i + 1],
			(graph->n_input - i - 1) * sizeof(*graph->input));
		graph->n_input--;
		return;
	}
}

/*
 * Replaces the node that chooses, if there is one, by the nodes of the branch with a past. Returns
 * 0, or -1 with an error.
 */
static int take_branch(struct change *c)
{
	Onnx__GraphProto *graph = c->graph, **slot, *branch;
	size_t at;
	Onnx__NodeProto *choice = find_choice(graph, &at);

	if (!choice)
		return 0;
	slot = branch_of(choice, "then_branch");
	if (!slot || (*slot)->n_output != choice->n_output)
		return gguf_fail(
			c->error,
			"node \"%s\", which chooses between the branches with and without a past, "
			"has no then_branch of its outputs; export the model again",
			node_label(choice));
	branch = *slot;
	*slot = NULL;
	graph->node[at] = graph->node[--graph->n_node];
	MOVE_LIST(c, graph, branch, node);
	MOVE_LIST(c, graph, branch, initializer);
	/* An output that no node computes is an input that the branch passes on. */
	for (size_t i = 0; i < choice->n_output; i++)
		if (branch->output[i]->name && change_producer(c, branch->output[i]->name))
			rename_tensor(c, branch->output[i]->name, choice->output[i]);
	onnx__node_proto__free_unpacked(choice, NULL);
	onnx__graph_proto__free_unpacked(branch, NULL);
	remove_choice(graph);
	return 0;
}

/* ---- the model */

int change_init(struct change *c, const char *path, struct gguf_error *error)
{
	*c = (struct change){ .path = path, .error = error };
	if (model_file_refer(path, &c->proto, error))
		return -1;
	c->graph = c->proto->graph;
	return take_branch(c) ? -1 : c->full ? gguf_fail_memory(error) : 0;
}

void change_exit(struct change *c)
{
	model_file_free(c->proto);
	c->proto = NULL;
}

int change_load(struct change *c, WNNOnnxModel *model)
{
	const char *slash = strrchr(c->path, '/');
	WNNOnnxLoadOptions options = WNN_ONNX_LOAD_OPTIONS_INIT;
	WNNError last = WNN_ERROR_INIT;
	WNNStatus status;
	uint8_t *bytes;

	*model = NULL;
	bytes = c->full ? NULL : malloc(onnx__model_proto__get_packed_size(c->proto) + 1);
	if (!bytes)
		return gguf_fail_memory(c->error);
	options.folder =
		slash ? WNN_VALUE(WNNStringView, { c->path, (size_t)(slash - c->path) + 1 }) :
			WNN_STR(".");
	status =
		wnnOnnxLoadMemory(bytes, onnx__model_proto__pack(c->proto, bytes), &options, model);
	free(bytes);
	if (status == WNNStatus_Success)
		return 0;
	wnnOnnxGetLastError(&last);
	gguf_fail(c->error, "%.*s", (int)last.message.length, last.message.data);
	c->error->machine = last.status == WNNStatus_UnknownError;
	return -1;
}

/* ---- caches */

static int64_t operator_set(const struct change *c)
{
	for (size_t i = 0; i < c->proto->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *set = c->proto->opset_import[i];

		if (!set->domain || !*set->domain || !strcmp(set->domain, "ai.onnx"))
			return set->version;
	}
	return 0;
}

/* Adds the nodes that compute NEW_ROWS from the shape of input_ids. */
static void add_new_rows(struct change *c)
{
	char one[CHANGE_NAME_SIZE], two[CHANGE_NAME_SIZE], third[CHANGE_NAME_SIZE];

	add_numbers(c, 1, (const int64_t[]){ 1 }, one);
	add_numbers(c, 1, (const int64_t[]){ 2 }, two);
	add_numbers(c, 4, (const int64_t[]){ 0, 0, 1, 0 }, third);
	change_add_node(c, "Shape", 0, 1, (const char *const[]){ "input_ids" }, NEW_ROWS "/ids");
	change_add_node(c, "Slice", 0, 3, (const char *const[]){ NEW_ROWS "/ids", one, two },
			NEW_ROWS "/count");
	change_add_node(c, "Mul", 0, 2, (const char *const[]){ NEW_ROWS "/count", third },
			NEW_ROWS);
}

/* Changes a node Shape of a cache: its result becomes the shape of the cache minus NEW_ROWS. */
static void reduce_shape(struct change *c, Onnx__NodeProto *node, const char *cache)
{
	int64_t start = attribute(node, "start", 0), end = attribute(node, "end", 4);
	char whole[CHANGE_NAME_SIZE], past[CHANGE_NAME_SIZE], from[CHANGE_NAME_SIZE],
		to[CHANGE_NAME_SIZE];

	snprintf(past, sizeof(past), CHANGE_NEXT "past/%.150s", cache);
	snprintf(whole, sizeof(whole), CHANGE_NEXT "whole/%.150s", cache);
	if (!change_producer(c, NEW_ROWS))
		add_new_rows(c);
	if (!change_producer(c, past)) {
		change_add_node(c, "Shape", 0, 1, (const char *const[]){ cache }, whole);
		change_add_node(c, "Sub", 0, 2, (const char *const[]){ whole, NEW_ROWS }, past);
	}
	add_numbers(c, 1, &start, from);
	add_numbers(c, 1, &end, to);
	change_node(c, node, "Slice", 3, (const char *const[]){ past, from, to });
}

/*
 * Returns the Softmax that is reached first from a tensor, or NULL; *budget bounds how many tensors
 * are looked at.
 */
static Onnx__NodeProto *find_softmax(const Onnx__GraphProto *graph, const char *name,
				     unsigned int *budget)
{
	if (!*budget)
		return NULL;
	--*budget;
	for (size_t n = 0; n < graph->n_node; n++) {
		Onnx__NodeProto *node = graph->node[n], *found = NULL;
		bool reads = false;

		for (size_t i = 0; i < node->n_input; i++)
			reads |= change_same(node->input[i], name);
		if (!reads || change_same(node->op_type, "Shape"))
			continue;
		if (change_same(node->op_type, "Softmax"))
			return node;
		for (size_t i = 0; i < node->n_output && !found; i++)
			found = find_softmax(graph, node->output[i], budget);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Adds the mask to the attention scores that are computed from a cache of keys, in front of their
 * Softmax. @keys is the tensor with the updated cache. Returns 0, or -1 with an error.
 */
static int mask_scores(struct change *c, const char *cache, const char *keys)
{
	const size_t front = strlen(CHANGE_NEXT "masked/");
	unsigned int budget = MAX_FOLLOWED;
	Onnx__NodeProto *softmax = find_softmax(c->graph, keys, &budget);
	char name[CHANGE_NAME_SIZE], mask[CHANGE_NAME_SIZE];

	if (!softmax || !softmax->n_input)
		return gguf_fail(
			c->error,
			"no Softmax is found in the attention that reads the cache \"%s\"; "
			"export the model without fused attention",
			cache);
	if (!strncmp(softmax->input[0], CHANGE_NEXT "masked/", front))
		return gguf_fail(c->error,
				 "the cache \"%s\" and another one count as keys of one Softmax, "
				 "as \"key\" is in their names; name caches of keys with \"key\", "
				 "those of values with \"value\", and export the model again",
				 cache);
	snprintf(name, sizeof(name), CHANGE_NEXT "masked/%zu", c->masks);
	snprintf(mask, sizeof(mask), CHANGE_MASK "/%zu", c->masks++);
	/* Scores may have another type than caches; operator sets before 15 have no CastLike. */
	if (operator_set(c) >= 15)
		change_add_node(c, "CastLike", 0, 2,
				(const char *const[]){ CHANGE_MASK, softmax->input[0] }, mask);
	else
		strcpy(mask, CHANGE_MASK);
	change_add_node(c, "Add", 0, 2, (const char *const[]){ softmax->input[0], mask }, name);
	change_text(c, &softmax->input[0], name);
	return 0;
}

/* Returns whether the node appends rows to the cache, which is its first input. */
static bool appends(const Onnx__NodeProto *node, const char *cache)
{
	int64_t axis = attribute(node, "axis", 0);

	return change_same(node->op_type, "Concat") && node->n_input == 2 && node->n_output == 1 &&
	       change_same(node->input[0], cache) && (axis == 2 || axis == -2);
}

/* Returns whether the name of a cache is that of keys, such as past_key_values.0.key. */
static bool has_keys(const char *cache)
{
	const char *key = NULL, *value = NULL;

	for (const char *at = cache; (at = strstr(at, "key")); at++)
		key = at;
	for (const char *at = cache; (at = strstr(at, "value")); at++)
		value = at;
	return key && key > value;
}

int change_cache(struct change *c, const char *cache)
{
	Onnx__NodeProto *append = NULL;
	size_t count = c->graph->n_node;
	char next[CHANGE_NAME_SIZE];

	for (size_t n = 0; n < count; n++) {
		Onnx__NodeProto *node = c->graph->node[n];
		bool reads = false;

		for (size_t i = 0; i < node->n_input; i++)
			reads |= change_same(node->input[i], cache);
		if (!reads)
			continue;
		if (change_same(node->op_type, "Shape"))
			reduce_shape(c, node, cache);
		else if (!append && appends(node, cache))
			append = node;
		else
			return gguf_fail(
				c->error,
				"node \"%s\" (%s) reads the cache \"%s\", but only Shape and "
				"one Concat may, which appends to the cache on axis 2; "
				"export the model without optimisation",
				node_label(node), node->op_type ? node->op_type : "", cache);
	}
	if (!append)
		return gguf_fail(c->error,
				 "no Concat of the model appends to its cache, the input \"%s\"; "
				 "export the model with caches that grow by new tokens",
				 cache);
	snprintf(next, sizeof(next), CHANGE_NEXT "%.150s", cache);
	change_node(c, append, "ScatterND", 3,
		    (const char *const[]){ cache, CHANGE_ROWS, append->input[1] });
	if (c->full)
		return gguf_fail_memory(c->error);
	rename_tensor(c, append->output[0], next);
	return has_keys(cache) ? mask_scores(c, cache, next) : 0;
}

/* Returns the type of the elements of an input, one of TensorProto.DataType. */
static int32_t type_of(const struct change *c, const char *name)
{
	for (size_t i = 0; i < c->graph->n_input; i++) {
		const Onnx__ValueInfoProto *input = c->graph->input[i];

		if (change_same(input->name, name) && input->type &&
		    input->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			return input->type->tensor_type->elem_type;
	}
	return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

int change_outputs(struct change *c, size_t count, const char *const *caches)
{
	const char **names = calloc(count + 1, sizeof(*names));
	char(*next)[CHANGE_NAME_SIZE] = calloc(count + 1, sizeof(*next));

	if (names && next) {
		names[0] = "logits";
		for (size_t i = 0; i < count; i++) {
			snprintf(next[i], sizeof(next[i]), CHANGE_NEXT "%.150s", caches[i]);
			names[1 + i] = next[i];
		}
		change_set_outputs(c, count + 1, names);
		change_add_input(c, CHANGE_ROWS, ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
		change_add_input(c, CHANGE_MASK, type_of(c, caches[0]));
	} else {
		c->full = true;
	}
	free(names);
	free(next);
	return c->full ? gguf_fail_memory(c->error) : 0;
}
