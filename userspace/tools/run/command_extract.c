// SPDX-License-Identifier: MIT
/* webnn-run extract: a part of a model, between tensors, as a model of its own. */
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cut.h"
#include "model_write.h"
#include "program.h"
#include "saved.h"

enum { KEY_INPUTS = 0x100 };

/* Names of tensors, which are allocated. */
struct names {
	char **items;
	size_t count;
};

struct extraction {
	struct options options;
	struct pairs inputs;
	const char *file;
	Onnx__ModelProto *model;
	struct tensors tensors;
	struct names begin, end;
	bool *nodes;
	size_t node_count; /* of the whole model */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Part:", 4 },
	{ "inputs", KEY_INPUTS, "TENSOR,...", 0,
	  "The part begins with these tensors (default: with the inputs of the model)", 4 },
	{ "output", 'o', "FILE", 0, "Where the part is saved, as ONNX", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct extraction *extraction = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &extraction->options;
		return 0;
	case KEY_INPUTS:
		pairs_add(&extraction->inputs, "", false, "--inputs", state);
		extraction->inputs.items[extraction->inputs.count - 1].text = arg;
		return 0;
	case 'o':
		extraction->file = arg;
		return 0;
	case JSON_KEY:
		extraction->options.json = arg;
		return 0;
	case ARGP_KEY_END:
		if (!extraction->file)
			argp_error(state, "it needs --output FILE, for the part");
		if (!extraction->inputs.count && !extraction->options.cuts.count)
			argp_error(state, "it needs --inputs or --outputs: where to cut");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- names */

static int no_memory(const struct extraction *extraction)
{
	return complain(BAD_DEVICE, "%s: memory is exhausted", extraction->options.model);
}

static int add_name(const struct extraction *extraction, struct names *names, const char *name,
		    size_t length, const char *option)
{
	char *copy = strndup(name, length), similar[400];
	char **items = realloc(names->items, (names->count + 1) * sizeof(char *));

	if (items)
		names->items = items;
	if (!copy || !items) {
		free(copy);
		return no_memory(extraction);
	}
	names->items[names->count++] = copy;
	if (!tensors_find(&extraction->tensors, copy)) {
		tensors_similar(&extraction->tensors, copy, similar, sizeof(similar));
		return complain(BAD_MODEL, "%s: %s: the model has no tensor \"%s\"%s",
				extraction->options.model, option, copy, similar);
	}
	for (size_t i = 0; i + 1 < names->count; i++)
		if (!strcmp(names->items[i], copy))
			return complain(BAD_MODEL, "%s: %s: tensor \"%s\" is given twice",
					extraction->options.model, option, copy);
	return DONE;
}

/* Names with commas between; a name that has commas itself stands alone. */
static int add_names(const struct extraction *extraction, struct names *names,
		     const struct pairs *texts, const char *option)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < texts->count; i++) {
		const char *at = texts->items[i].text;

		if (tensors_find(&extraction->tensors, at)) {
			ret = add_name(extraction, names, at, strlen(at), option);
			continue;
		}
		for (;;) {
			size_t length = strcspn(at, ",");

			ret = add_name(extraction, names, at, length, option);
			if (ret || !at[length])
				break;
			at += length + 1;
		}
	}
	return ret;
}

static int choose(struct extraction *extraction)
{
	const Onnx__GraphProto *graph = extraction->model->graph;
	int ret = add_names(extraction, &extraction->begin, &extraction->inputs, "--inputs");

	if (!ret)
		ret = add_names(extraction, &extraction->end, &extraction->options.cuts,
				"--outputs");
	for (size_t i = 0; !ret && !extraction->options.cuts.count && i < graph->n_output; i++)
		ret = add_name(extraction, &extraction->end, graph->output[i]->name,
			       strlen(graph->output[i]->name), "outputs");
	for (size_t i = 0; !ret && i < extraction->begin.count; i++)
		tensors_find(&extraction->tensors, extraction->begin.items[i])->cut = true;
	for (size_t i = 0; !ret && i < extraction->end.count; i++)
		if (tensors_find(&extraction->tensors, extraction->end.items[i])->cut)
			ret = complain(BAD_MODEL,
				       "%s: tensor \"%s\" is input and output of the part",
				       extraction->options.model, extraction->end.items[i]);
	return ret;
}

static int mark(struct extraction *extraction)
{
	extraction->node_count = extraction->model->graph->n_node;
	extraction->nodes = calloc(extraction->node_count + 1, sizeof(bool));
	if (!extraction->nodes ||
	    cut_mark(&extraction->tensors, (const char *const *)extraction->end.items,
		     extraction->end.count, extraction->nodes))
		return no_memory(extraction);
	for (size_t i = 0; i < extraction->begin.count; i++)
		if (!tensors_find(&extraction->tensors, extraction->begin.items[i])->needed)
			return complain(
				BAD_MODEL,
				"%s: --inputs: no output of the part depends on tensor \"%s\"",
				extraction->options.model, extraction->begin.items[i]);
	return DONE;
}

/* ---- types of what was inside */

/* The type of WebNN tells the one of ONNX where nothing else does. */
static int type_of_webnn(WNNOperandDataType type)
{
	switch (type) {
	case WNNOperandDataType_Float32:
		return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
	case WNNOperandDataType_Float16:
		return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
	case WNNOperandDataType_Int32:
		return ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
	case WNNOperandDataType_Uint32:
		return ONNX__TENSOR_PROTO__DATA_TYPE__UINT32;
	case WNNOperandDataType_Int64:
		return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
	case WNNOperandDataType_Uint64:
		return ONNX__TENSOR_PROTO__DATA_TYPE__UINT64;
	case WNNOperandDataType_Int8:
		return ONNX__TENSOR_PROTO__DATA_TYPE__INT8;
	case WNNOperandDataType_Uint8:
		return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
	default:
		return 0;
	}
}

/* What onnx__value_info_proto__free_unpacked() frees, piece by piece. 0, or -1 when memory is exhausted. */
static int set_type(Onnx__ValueInfoProto *value, int type)
{
	value->type = malloc(sizeof(*value->type));
	if (!value->type)
		return -1;
	onnx__type_proto__init(value->type);
	value->type->tensor_type = malloc(sizeof(*value->type->tensor_type));
	if (!value->type->tensor_type)
		return -1;
	value->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	onnx__type_proto__tensor__init(value->type->tensor_type);
	value->type->tensor_type->has_elem_type = true;
	value->type->tensor_type->elem_type = type;
	return 0;
}

static int set_shape(Onnx__TypeProto__Tensor *type, size_t rank, const int64_t *sizes)
{
	type->shape = malloc(sizeof(*type->shape));
	if (!type->shape)
		return -1;
	onnx__tensor_shape_proto__init(type->shape);
	type->shape->dim = calloc(rank + 1, sizeof(*type->shape->dim));
	if (!type->shape->dim)
		return -1;
	for (size_t i = 0; i < rank; i++) {
		Onnx__TensorShapeProto__Dimension *dim = malloc(sizeof(*dim));

		if (!dim)
			return -1;
		onnx__tensor_shape_proto__dimension__init(dim);
		dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		dim->dim_value = sizes[i];
		type->shape->dim[type->shape->n_dim++] = dim;
	}
	return 0;
}

static bool is_tensor_type(const Onnx__TypeProto *type)
{
	return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
}

static bool lacks_type(const struct tensor *tensor)
{
	const Onnx__TypeProto *type = tensor->info ? tensor->info->type : NULL;

	return !type || (is_tensor_type(type) && !type->tensor_type->shape);
}

/*
 * Tensors whose type or shape the file does not say become outputs of a graph, which knows both. Where there is none,
 * since a shape is open or an operator is refused, they stay unknown.
 */
static int build_unknown(struct extraction *extraction, struct subject *subject,
			 struct target *target)
{
	const struct names *lists[] = { &extraction->begin, &extraction->end };
	WNNStringView *names =
		calloc(extraction->begin.count + extraction->end.count + 1, sizeof(*names));
	size_t count = 0;
	char open[600];
	int ret = DONE;

	if (!names)
		return no_memory(extraction);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->count; i++) {
			const struct tensor *tensor =
				tensors_find(&extraction->tensors, lists[k]->items[i]);

			if (tensor->node != NO_NODE && lacks_type(tensor))
				names[count++] = WNN_STR(lists[k]->items[i]);
		}
	if (count && subject_is_open(subject, open, sizeof(open))) {
		complain(DONE, "%s: shapes of the part stay unknown: %s", extraction->options.model,
			 open);
	} else if (count) {
		subject->told = true;
		ret = target_open(target, &extraction->options, "cpu");
		if (!ret &&
		    (wnnOnnxModelSetOutputs(subject->model, count, names) != WNNStatus_Success ||
		     target_try_build(target, subject) != WNNStatus_Success))
			complain_wnn(DONE, true, "%s: shapes of the part stay unknown",
				     extraction->options.model);
	}
	free(names);
	return ret;
}

static const WNNNamedOperandDescriptor *find_built(const struct target *target, const char *name)
{
	WNNNamedOperandDescriptorArray outputs = { 0 };

	if (target->graph)
		outputs = wnnGraphGetOutputs(target->graph);
	for (size_t i = 0; i < outputs.count; i++)
		if (same_text(outputs.data[i].name, name))
			return &outputs.data[i];
	return NULL;
}

/* What is known of a tensor, before the model is cut. */
struct known {
	int type;
	bool has_shape;
	size_t rank;
	int64_t sizes[VALUE_MAX_RANK];
};

static int learn(const struct extraction *extraction, const struct target *target, const char *name,
		 bool input, struct known *known)
{
	const struct tensor *tensor = tensors_find(&extraction->tensors, name);
	const WNNNamedOperandDescriptor *built = find_built(target, name);

	*known = (struct known){ .type = tensors_type(&extraction->tensors, name) };
	if (tensor->initializer && tensor->initializer->n_dims <= VALUE_MAX_RANK) {
		known->has_shape = true;
		known->rank = tensor->initializer->n_dims;
		for (size_t i = 0; i < known->rank; i++)
			known->sizes[i] = tensor->initializer->dims[i];
	} else if (built && built->shape.count <= VALUE_MAX_RANK) {
		known->has_shape = true;
		known->rank = built->shape.count;
		for (size_t i = 0; i < known->rank; i++)
			known->sizes[i] = built->shape.data[i];
	}
	if (!known->type && built)
		known->type = type_of_webnn(built->dataType);
	if (known->type || !input || (tensor->info && tensor->info->type))
		return DONE;
	return complain(BAD_MODEL,
			"%s: the type of tensor \"%s\" is not known: add it to the model with "
			"onnx.shape_inference.infer_shapes in Python, or cut elsewhere",
			extraction->options.model, name);
}

static int apply_known(Onnx__ValueInfoProto *value, const struct known *known)
{
	if (!value->type && known->type && set_type(value, known->type))
		return -1;
	if (is_tensor_type(value->type) && !value->type->tensor_type->shape && known->has_shape)
		return set_shape(value->type->tensor_type, known->rank, known->sizes);
	return 0;
}

static int cut(struct extraction *extraction, const struct target *target)
{
	Onnx__GraphProto *graph = extraction->model->graph;
	size_t begin = extraction->begin.count, end = extraction->end.count;
	struct known *known = calloc(begin + end + 1, sizeof(*known));
	int ret = known ? DONE : no_memory(extraction);

	for (size_t i = 0; !ret && i < begin + end; i++)
		ret = learn(extraction, target,
			    i < begin ? extraction->begin.items[i] :
					extraction->end.items[i - begin],
			    i < begin, &known[i]);
	if (!ret && cut_apply(extraction->model, &extraction->tensors,
			      (const char *const *)extraction->begin.items, begin,
			      (const char *const *)extraction->end.items, end, extraction->nodes))
		ret = no_memory(extraction);
	for (size_t i = 0; !ret && i < begin + end; i++)
		if (apply_known(i < begin ? graph->input[i] : graph->output[i - begin], &known[i]))
			ret = no_memory(extraction);
	free(known);
	return ret;
}

/* ---- the result */

/* Whether both are in the same folder, so that references to other files stay right. */
static bool same_folder(const char *a, const char *b)
{
	char *first = strdup(a), *second = strdup(b);
	struct stat one, two;
	bool same = first && second && !stat(dirname(first), &one) &&
		    !stat(dirname(second), &two) && one.st_dev == two.st_dev &&
		    one.st_ino == two.st_ino;

	free(first);
	free(second);
	return same;
}

static json_t *names_json(Onnx__ValueInfoProto *const *values, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_text(WNN_STR(values[i]->name)));
	return list;
}

static void print_names(const char *title, Onnx__ValueInfoProto *const *values, size_t count)
{
	printf("%s: ", title);
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? ", " : "", values[i]->name);
	printf(count ? "\n" : "none\n");
}

static int write_result(const struct extraction *extraction)
{
	const struct options *common = &extraction->options;
	const Onnx__GraphProto *graph = extraction->model->graph;
	size_t size = 0;
	int ret = DONE;

	if (!same_folder(common->model, extraction->file))
		ret = model_take_data(extraction->model, common->model);
	if (!ret)
		ret = model_write(extraction->model, extraction->file, &size);
	if (ret)
		return ret;
	if (text_wanted(common)) {
		printf("%s: %zu bytes, %zu of %zu nodes, %zu weights\n", extraction->file, size,
		       graph->n_node, extraction->node_count,
		       graph->n_initializer + graph->n_sparse_initializer);
		print_names("inputs", graph->input, graph->n_input);
		print_names("outputs", graph->output, graph->n_output);
	}
	if (!common->json)
		return DONE;
	return write_json(
		common, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "model",
				  common->model, "file", extraction->file, "bytes",
				  (json_int_t)size, "nodes", (json_int_t)graph->n_node,
				  "nodes_of_model", (json_int_t)extraction->node_count, "weights",
				  (json_int_t)(graph->n_initializer + graph->n_sparse_initializer),
				  "inputs", names_json(graph->input, graph->n_input), "outputs",
				  names_json(graph->output, graph->n_output)));
}

static int extract(struct extraction *extraction)
{
	struct options whole = extraction->options;
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	if (program_is(whole.model) || saved_is(whole.model))
		return complain(BAD_MODEL, "%s: only models of ONNX can be cut", whole.model);
	/* Its message about names would not name similar ones. */
	whole.cuts = (struct pairs){ 0 };
	ret = subject_open(&subject, &whole);
	if (!ret)
		ret = model_file_load(whole.model, &extraction->model);
	if (!ret && tensors_init(&extraction->tensors, extraction->model->graph))
		ret = no_memory(extraction);
	if (!ret)
		ret = choose(extraction);
	if (!ret)
		ret = mark(extraction);
	if (!ret)
		ret = build_unknown(extraction, &subject, &target);
	if (!ret)
		ret = cut(extraction, &target);
	target_close(&target);
	subject_close(&subject);
	return ret ? ret : write_result(extraction);
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

int command_extract(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Saves a part of a model as a model of ONNX: what lies between the tensors of "
		"--inputs and those of --outputs, whose names may have commas between.",
		children,
		NULL,
		NULL
	};
	struct extraction extraction = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &extraction);
	ret = extract(&extraction);
	names_free(&extraction.begin);
	names_free(&extraction.end);
	free(extraction.nodes);
	tensors_exit(&extraction.tensors);
	model_file_free(extraction.model);
	pairs_free(&extraction.inputs);
	options_free(&extraction.options);
	return ret;
}
