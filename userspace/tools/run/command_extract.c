// SPDX-License-Identifier: MIT
/* webnn-run extract: writes the part of a model between given tensors as a model of its own. */
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
#include "trial.h"

enum { KEY_INPUTS = 0x100 };

/* A list of allocated names of tensors. */
struct names {
	char **items;
	size_t count;
};

struct extraction {
	struct options options, whole; /* whole: the options without the cuts */
	struct pairs inputs;
	const char *file;
	Onnx__ModelProto *model;
	struct tensors tensors;
	struct names begin, end;
	bool *nodes;
	size_t node_count; /* number of nodes of the whole model */
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
			argp_error(state, "give --output FILE, where the part is saved");
		if (!extraction->inputs.count && !extraction->options.cuts.count)
			argp_error(
				state,
				"give --inputs or --outputs, the tensors where the model is cut");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- names */

static int no_memory(const struct extraction *extraction)
{
	return complain_memory(extraction->options.model);
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

/*
 * Adds names that are separated by commas; a name that contains commas must be given alone. Returns
 * DONE, or the exit status after a message.
 */
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

/* Returns the ONNX type of a type of WebNN, for a tensor whose type the model lacks; 0: none. */
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

/*
 * Sets the type of a tensor, in memory that onnx__value_info_proto__free_unpacked() frees. Returns
 * 0, or -1 when memory is exhausted.
 */
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

static Onnx__TensorShapeProto__Dimension *make_dimension(int64_t size, const char *name)
{
	Onnx__TensorShapeProto__Dimension *dimension = malloc(sizeof(*dimension));

	if (!dimension)
		return NULL;
	onnx__tensor_shape_proto__dimension__init(dimension);
	if (size >= 0) {
		dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		dimension->dim_value = size;
	} else if (name && (dimension->dim_param = strdup(name))) {
		dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
	}
	return dimension;
}

static int set_shape(Onnx__TypeProto__Tensor *type, const struct trial *trial)
{
	type->shape = malloc(sizeof(*type->shape));
	if (!type->shape)
		return -1;
	onnx__tensor_shape_proto__init(type->shape);
	type->shape->dim = calloc(trial->rank + 1, sizeof(*type->shape->dim));
	if (!type->shape->dim)
		return -1;
	for (size_t i = 0; i < trial->rank; i++) {
		type->shape->dim[i] = make_dimension(trial->sizes[i], trial->names[i]);
		if (!type->shape->dim[i])
			return -1;
		type->shape->n_dim++;
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

static const char *name_at(const struct extraction *extraction, size_t index)
{
	size_t begin = extraction->begin.count;

	return index < begin ? extraction->begin.items[index] :
			       extraction->end.items[index - begin];
}

/*
 * Finds shapes of the part's inputs and outputs: in the file for weights, and by trial_run() for
 * tensors that nodes compute and whose type or shape the file lacks. Returns DONE or an exit code.
 */
static int learn_shapes(const struct extraction *extraction, struct trial *known)
{
	size_t count = extraction->begin.count + extraction->end.count, wanted = 0;
	const char **names = calloc(count + 1, sizeof(*names));
	struct trial *trials = calloc(count + 1, sizeof(*trials));
	size_t *places = calloc(count + 1, sizeof(*places));
	int ret = names && trials && places ? DONE : no_memory(extraction);

	for (size_t i = 0; !ret && i < count; i++) {
		const struct tensor *tensor =
			tensors_find(&extraction->tensors, name_at(extraction, i));

		if (tensor->initializer && tensor->initializer->n_dims <= VALUE_MAX_RANK) {
			known[i].known = true;
			known[i].rank = tensor->initializer->n_dims;
			for (size_t k = 0; k < known[i].rank; k++)
				known[i].sizes[k] = tensor->initializer->dims[k];
		} else if (tensor->node != NO_NODE && lacks_type(tensor)) {
			names[wanted] = name_at(extraction, i);
			places[wanted++] = i;
		}
	}
	if (!ret && wanted)
		ret = trial_run(&extraction->whole, names, wanted, trials);
	for (size_t i = 0; trials && i < wanted; i++) {
		known[places[i]] = trials[i];
		trials[i] = (struct trial){ 0 };
	}
	free(names);
	free(places);
	trial_exit(trials, wanted);
	return ret;
}

static int learn_type(const struct extraction *extraction, const struct trial *known, size_t index,
		      int *type)
{
	const char *name = name_at(extraction, index);
	const struct tensor *tensor = tensors_find(&extraction->tensors, name);

	*type = tensors_type(&extraction->tensors, name);
	if (!*type && known->known)
		*type = type_of_webnn(known->type);
	if (*type || index >= extraction->begin.count || (tensor->info && tensor->info->type))
		return DONE;
	return complain(BAD_MODEL,
			"%s: the type of tensor \"%s\" is not known: add it to the model with "
			"onnx.shape_inference.infer_shapes in Python, or cut elsewhere",
			extraction->options.model, name);
}

static int apply_known(Onnx__ValueInfoProto *value, int type, const struct trial *known)
{
	if (!value->type && type && set_type(value, type))
		return -1;
	if (is_tensor_type(value->type) && !value->type->tensor_type->shape && known->known)
		return set_shape(value->type->tensor_type, known);
	return 0;
}

static int cut(struct extraction *extraction)
{
	Onnx__GraphProto *graph = extraction->model->graph;
	size_t begin = extraction->begin.count, end = extraction->end.count;
	struct trial *known = calloc(begin + end + 1, sizeof(*known));
	int *types = calloc(begin + end + 1, sizeof(*types));
	int ret = known && types ? learn_shapes(extraction, known) : no_memory(extraction);

	for (size_t i = 0; !ret && i < begin + end; i++)
		ret = learn_type(extraction, &known[i], i, &types[i]);
	if (!ret && cut_apply(extraction->model, &extraction->tensors,
			      (const char *const *)extraction->begin.items, begin,
			      (const char *const *)extraction->end.items, end, extraction->nodes))
		ret = no_memory(extraction);
	for (size_t i = 0; !ret && i < begin + end; i++)
		if (apply_known(i < begin ? graph->input[i] : graph->output[i - begin], types[i],
				&known[i]))
			ret = no_memory(extraction);
	trial_exit(known, begin + end);
	free(types);
	return ret;
}

/* ---- the result */

/* Returns whether both files are in one folder, so that references to other files stay valid. */
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
		common, json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "model",
				  json_text(WNN_STR(common->model)), "file",
				  json_text(WNN_STR(extraction->file)), "bytes", (json_int_t)size,
				  "nodes", (json_int_t)graph->n_node, "nodes_of_model",
				  (json_int_t)extraction->node_count, "weights",
				  (json_int_t)(graph->n_initializer + graph->n_sparse_initializer),
				  "inputs", names_json(graph->input, graph->n_input), "outputs",
				  names_json(graph->output, graph->n_output)));
}

static int extract(struct extraction *extraction)
{
	struct options *whole = &extraction->whole;
	struct subject subject = { 0 };
	int ret;

	*whole = extraction->options;
	if (program_is(whole->model) || saved_is(whole->model))
		return complain(BAD_MODEL, "%s: only models of ONNX can be cut", whole->model);
	/*
	 * The whole model is opened, only to check it, without --outputs: choose() reads that
	 * option.
	 */
	whole->cuts = (struct pairs){ 0 };
	ret = subject_open(&subject, whole);
	subject_close(&subject);
	if (!ret)
		ret = model_file_load(whole->model, &extraction->model);
	if (!ret && tensors_init(&extraction->tensors, extraction->model->graph))
		ret = no_memory(extraction);
	if (!ret)
		ret = choose(extraction);
	if (!ret)
		ret = mark(extraction);
	if (!ret)
		ret = cut(extraction);
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
