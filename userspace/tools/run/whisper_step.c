// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: changes the graph of a decoder as Hugging Face's exporters write it. There,
 * each token appends a row to caches that are inputs (Concat), its position is the length of the
 * caches, and all rows take part. So each token would need a graph of its own, and a copy of all
 * caches. Here caches have all positions from the start: ScatterND takes the place of Concat, a
 * mask is added in front of Softmax, and the position is an input.
 *
 * The graph computes other shapes from the length of the past, which is one less than the length of
 * the caches after Concat. It gets this number, so that these shapes fit.
 */
#include "whisper_step.h"

#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "run.h"

/* Most tensors that are followed from a cache to its Softmax. */
#define MAX_FOLLOWED 256

struct change {
	const char *path;
	const struct whisper_sizes *sizes;
	Onnx__GraphProto *graph;
	size_t masks;
	int32_t type; /* of the elements of caches */
	bool full;    /* memory is exhausted */
};

static int refuse_memory(const struct change *c)
{
	return complain(
		BAD_DEVICE,
		"%s: too little memory is free for this file or folder; end other programs, or "
		"raise the limit (ulimit -v)",
		c->path);
}

/* ---- parts of a graph */

/* Whether two texts are equal; those that a file leaves out are NULL. */
static bool same(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

static void set_text(struct change *c, char **slot, const char *text)
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

/* Makes the node one of operator @kind without attributes, with @count inputs, at most 3. */
static void set_node(struct change *c, Onnx__NodeProto *node, const char *kind, size_t count,
		     const char *const *inputs)
{
	char **list = calloc(3, sizeof(*list));

	clear_attributes(node);
	set_text(c, &node->op_type, kind);
	for (size_t i = 0; list && i < count; i++) {
		list[i] = strdup(inputs[i]);
		c->full |= !list[i];
	}
	/* The old texts may be among the new ones, and are freed after them. */
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
		if (same(node->attribute[i]->name, name))
			return node->attribute[i]->i;
	return otherwise;
}

static void add_node(struct change *c, const char *kind, size_t count, const char *const *inputs,
		     const char *output)
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
	set_node(c, node, kind, count, inputs);
	node->output = calloc(1, sizeof(*node->output));
	if (node->output) {
		node->output[0] = strdup(output);
		node->n_output = node->output[0] ? 1 : 0;
	}
	c->full |= !node->n_output;
}

/* Appends to the inputs of a graph one with a type and without a shape. */
static void add_input(struct change *c, const char *name, int32_t type)
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

/* Gives a tensor another name in all nodes. */
static void rename_tensor(struct change *c, const char *from, const char *to)
{
	char *old = strdup(from);

	c->full |= !old;
	for (size_t n = 0; old && n < c->graph->n_node; n++) {
		Onnx__NodeProto *node = c->graph->node[n];

		for (size_t i = 0; i < node->n_input; i++)
			if (same(node->input[i], old))
				set_text(c, &node->input[i], to);
		for (size_t i = 0; i < node->n_output; i++)
			if (same(node->output[i], old))
				set_text(c, &node->output[i], to);
	}
	free(old);
}

/* ---- a merged decoder */

/* Finds the node that chooses between the branches with and without a past, and its index. */
static Onnx__NodeProto *find_choice(const Onnx__GraphProto *graph, size_t *at)
{
	for (*at = 0; *at < graph->n_node; ++*at) {
		Onnx__NodeProto *node = graph->node[*at];

		if (same(node->op_type, "If") && node->n_input == 1 &&
		    same(node->input[0], "use_cache_branch"))
			return node;
	}
	return NULL;
}

static Onnx__GraphProto **branch_of(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (same(node->attribute[i]->name, name) && node->attribute[i]->g)
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

/*
 * Puts the nodes of the branch with a past in the place of the choice. Returns DONE, or an exit
 * code after a message.
 */
static int take_branch(struct change *c)
{
	Onnx__GraphProto *graph = c->graph, **slot, *branch;
	Onnx__ValueInfoProto **outputs = graph->output;
	size_t at, count = graph->n_output;
	Onnx__NodeProto *choice = find_choice(graph, &at);
	char *logits = NULL;

	if (!choice)
		return DONE;
	slot = branch_of(choice, "then_branch");
	if (!slot || (*slot)->n_output != choice->n_output)
		return complain(BAD_MODEL, "%s: the branch of its node \"%s\" does not fit it",
				c->path, node_label(choice));
	branch = *slot;
	*slot = NULL;
	for (size_t i = 0; i < choice->n_output && !logits; i++)
		if (same(choice->output[i], "logits"))
			logits = strdup(branch->output[i]->name ? branch->output[i]->name : "");
	graph->node[at] = graph->node[--graph->n_node];
	onnx__node_proto__free_unpacked(choice, NULL);
	MOVE_LIST(c, graph, branch, node);
	MOVE_LIST(c, graph, branch, initializer);
	if (logits)
		rename_tensor(c, logits, "logits");
	free(logits);
	graph->output = branch->output;
	graph->n_output = branch->n_output;
	branch->output = outputs;
	branch->n_output = count;
	onnx__graph_proto__free_unpacked(branch, NULL);
	return DONE;
}

/* ---- caches */

static bool is_cache(const Onnx__ValueInfoProto *input)
{
	return input->name && !strncmp(input->name, WHISPER_PAST, strlen(WHISPER_PAST)) &&
	       strstr(input->name, ".decoder.");
}

/*
 * Makes a node that tells the shape of a cache a constant, where the cache has one position less
 * than there are.
 */
static void make_shape(struct change *c, Onnx__NodeProto *node)
{
	const struct whisper_sizes *s = c->sizes;
	const int64_t shape[] = { 1, s->heads, (int64_t)s->positions - 1, s->width / s->heads };
	int64_t start = attribute(node, "start", 0), end = attribute(node, "end", 4);
	Onnx__AttributeProto *value = malloc(sizeof(*value));
	Onnx__TensorProto *tensor = malloc(sizeof(*tensor));
	int64_t *dims = malloc(sizeof(*dims)), *data = malloc(sizeof(shape));

	start += start < 0 ? 4 : 0;
	end += end < 0 ? 4 : 0;
	start = start < 0 ? 0 : start > 4 ? 4 : start;
	end = end < start ? start : end > 4 ? 4 : end;
	set_node(c, node, "Constant", 0, NULL);
	node->attribute = calloc(1, sizeof(Onnx__AttributeProto *));
	if (!value || !tensor || !dims || !data || !node->attribute) {
		free(value);
		free(tensor);
		free(dims);
		free(data);
		c->full = true;
		return;
	}
	onnx__attribute_proto__init(value);
	onnx__tensor_proto__init(tensor);
	dims[0] = end - start;
	memcpy(data, shape + start, (size_t)dims[0] * sizeof(*data));
	tensor->n_dims = 1;
	tensor->dims = dims;
	tensor->has_data_type = true;
	tensor->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
	tensor->n_int64_data = (size_t)dims[0];
	tensor->int64_data = data;
	value->has_type = true;
	value->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
	value->t = tensor;
	node->attribute[node->n_attribute++] = value;
	set_text(c, &value->name, "value");
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
			reads |= same(node->input[i], name);
		if (!reads || same(node->op_type, "Shape"))
			continue;
		if (same(node->op_type, "Softmax"))
			return node;
		for (size_t i = 0; i < node->n_output && !found; i++)
			found = find_softmax(graph, node->output[i], budget);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Adds the mask to the scores that a cache of keys makes. Returns DONE, or an exit code after a
 * message.
 */
static int mask_scores(struct change *c, const char *keys)
{
	unsigned int budget = MAX_FOLLOWED;
	Onnx__NodeProto *softmax = find_softmax(c->graph, keys, &budget);
	char name[60];

	if (!softmax || !softmax->n_input)
		return complain(
			BAD_MODEL,
			"%s: the attention that reads the cache \"%s\" has no Softmax node, which "
			"is needed; export the model without fused attention",
			c->path, keys + strlen(WHISPER_NEXT));
	snprintf(name, sizeof(name), WHISPER_MASK "ed/%zu", c->masks++);
	add_node(c, "Add", 2, (const char *const[]){ softmax->input[0], WHISPER_MASK }, name);
	set_text(c, &softmax->input[0], name);
	return DONE;
}

/* Returns whether the node appends rows to the cache, which is its first input. */
static bool appends(const Onnx__NodeProto *node, const char *cache)
{
	int64_t axis = attribute(node, "axis", 0);

	return same(node->op_type, "Concat") && node->n_input == 2 && node->n_output == 1 &&
	       same(node->input[0], cache) && (axis == 2 || axis == -2);
}

/*
 * Has a cache be updated in place of being appended to. Returns DONE, or an exit code after a
 * message.
 */
static int change_cache(struct change *c, const char *cache)
{
	size_t length = strlen(cache);
	Onnx__NodeProto *append = NULL;
	char next[200];

	for (size_t n = 0; n < c->graph->n_node; n++) {
		Onnx__NodeProto *node = c->graph->node[n];
		bool reads = false;

		for (size_t i = 0; i < node->n_input; i++)
			reads |= same(node->input[i], cache);
		if (!reads)
			continue;
		if (same(node->op_type, "Shape"))
			make_shape(c, node);
		else if (!append && appends(node, cache))
			append = node;
		else
			return complain(
				BAD_MODEL,
				"%s: node \"%s\" (%s) reads the cache \"%s\", but only the Concat "
				"that appends to this cache may read it; export the model without "
				"optimisation",
				c->path, node_label(node), node->op_type ? node->op_type : "",
				cache);
	}
	if (!append)
		return complain(BAD_MODEL, "%s: nothing is appended to its input \"%s\"", c->path,
				cache);
	snprintf(next, sizeof(next), WHISPER_NEXT "%.150s", cache + strlen(WHISPER_PAST));
	set_node(c, append, "ScatterND", 3,
		 (const char *const[]){ cache, WHISPER_ROWS, append->input[1] });
	if (c->full)
		return refuse_memory(c);
	rename_tensor(c, append->output[0], next);
	return length > 4 && same(cache + length - 4, ".key") ? mask_scores(c, next) : DONE;
}

/* Has the graph take the position of the token from an input. Returns DONE, or an exit code. */
static int change_position(struct change *c)
{
	const struct whisper_sizes *s = c->sizes;
	Onnx__NodeProto *reader = NULL;
	size_t readers = 0;

	for (size_t i = 0; i < c->graph->n_initializer; i++) {
		const Onnx__TensorProto *t = c->graph->initializer[i];

		if (t->n_dims != 2 || t->dims[0] != s->positions || t->dims[1] != s->width)
			continue;
		for (size_t n = 0; n < c->graph->n_node; n++) {
			Onnx__NodeProto *node = c->graph->node[n];

			if (!node->n_input || !same(t->name, node->input[0]) ||
			    (!same(node->op_type, "Gather") && !same(node->op_type, "Slice")))
				continue;
			reader = node;
			readers++;
		}
	}
	if (readers != 1)
		return complain(
			BAD_MODEL,
			"%s: %zu nodes read rows of the weights of positions [max_target_positions "
			"%u, d_model %u], but exactly one must; use the config.json of this model",
			c->path, readers, s->positions, s->width);
	set_node(c, reader, "Gather", 2,
		 (const char *const[]){ reader->input[0], WHISPER_POSITION });
	return DONE;
}

/* ---- the whole graph */

/* Takes the place of the outputs: logits, and the caches. */
static void change_outputs(struct change *c)
{
	Onnx__GraphProto *graph = c->graph;
	Onnx__ValueInfoProto **list = calloc(graph->n_input + 1, sizeof(*list));
	size_t count = 0;

	if (!list) {
		c->full = true;
		return;
	}
	list[count++] = cut_value("logits");
	for (size_t i = 0; i < graph->n_input; i++)
		if (is_cache(graph->input[i])) {
			char next[200];

			snprintf(next, sizeof(next), WHISPER_NEXT "%.150s",
				 graph->input[i]->name + strlen(WHISPER_PAST));
			list[count++] = cut_value(next);
		}
	for (size_t i = 0; i < count; i++)
		c->full |= !list[i];
	for (size_t i = 0; i < graph->n_output; i++)
		onnx__value_info_proto__free_unpacked(graph->output[i], NULL);
	free(graph->output);
	graph->output = list;
	graph->n_output = c->full ? 0 : count;
}

static int change_caches(struct change *c)
{
	Onnx__GraphProto *graph = c->graph;
	size_t count = graph->n_input, caches = 0;
	int ret = DONE;

	for (size_t i = 0; !ret && i < count; i++) {
		const Onnx__ValueInfoProto *input = graph->input[i];

		if (!is_cache(input))
			continue;
		if (input->type && input->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			c->type = input->type->tensor_type->elem_type;
		ret = change_cache(c, input->name);
		caches++;
	}
	if (!ret && !caches)
		ret = complain(BAD_MODEL,
			       "%s: it has no input \"past_key_values.0.decoder.key\": a decoder "
			       "with a past is needed, which the task "
			       "automatic-speech-recognition-with-past exports",
			       c->path);
	return ret;
}

static int change_graph(struct change *c)
{
	int ret = take_branch(c);

	if (!ret && !c->full)
		ret = change_caches(c);
	if (!ret && !c->full)
		ret = change_position(c);
	if (ret)
		return ret;
	change_outputs(c);
	add_input(c, WHISPER_ROWS, ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
	add_input(c, WHISPER_POSITION, ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
	add_input(c, WHISPER_MASK, c->type);
	return c->full ? refuse_memory(c) : DONE;
}

/* Loads the changed model. Returns DONE, or an exit code after a message. */
static int load_changed(const char *path, const Onnx__ModelProto *proto, WNNOnnxModel *model)
{
	const char *slash = strrchr(path, '/');
	size_t size = onnx__model_proto__get_packed_size(proto);
	WNNOnnxLoadOptions options = WNN_ONNX_LOAD_OPTIONS_INIT;
	uint8_t *bytes = malloc(size + 1);
	int ret = DONE;

	if (!bytes)
		return complain(BAD_DEVICE,
				"%s: too little memory is free for this file or folder; end other "
				"programs, or raise the limit (ulimit -v)",
				path);
	onnx__model_proto__pack(proto, bytes);
	options.folder = slash ? WNN_VALUE(WNNStringView, { path, (size_t)(slash - path) + 1 }) :
				 WNN_STR(".");
	if (wnnOnnxLoadMemory(bytes, size, &options, model) != WNNStatus_Success)
		ret = complain_wnn(BAD_MODEL, true, "%s", path);
	free(bytes);
	return ret;
}

int whisper_step_load(const char *path, const struct whisper_sizes *sizes, WNNOnnxModel *model)
{
	struct change c = { .path = path, .sizes = sizes };
	Onnx__ModelProto *proto = NULL;
	int ret;

	*model = NULL;
	/* The library checks how deep graphs are nested, which model_file_load() relies on. */
	if (wnnOnnxLoadFile(WNN_STR(path), NULL, model) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", path);
	wnnOnnxModelRelease(*model);
	*model = NULL;
	ret = model_file_load(path, &proto);
	if (!ret) {
		c.graph = proto->graph;
		ret = change_graph(&c);
	}
	if (!ret)
		ret = load_changed(path, proto, model);
	model_file_free(proto);
	return ret;
}
