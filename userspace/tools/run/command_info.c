// SPDX-License-Identifier: MIT
/* webnn-run info: prints inputs, outputs and operators of a model, and where the operators run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gguf/gguf.h>

#include "../size_text.h"
#include "cost.h"
#include "drawing.h"
#include "gguf_info.h"
#include "model_file.h"
#include "program.h"
#include "quantity.h"
#include "saved.h"
#include "subject.h"

/* An operator of ONNX, and counts of its nodes in the model. */
struct kind {
	const char *domain, *name;
	size_t nodes;
	/* by WNNNodeDevice: number of operators of the graph that its nodes became */
	size_t placed[4];
	size_t refused;
	uint64_t macs;
	char *reason; /* why a node of it is refused or on the CPU; or NULL */
};

/* A node of the model, found by its label. */
struct known {
	const char *label;
	size_t kind;
	unsigned int marks; /* flags of enum mark */
};

struct info {
	struct options options;
	Onnx__ModelProto *model;
	struct kind *kinds;
	size_t kind_count;
	struct known *nodes;
	size_t node_count;
	size_t weights;
	uint64_t weight_elements, weight_bytes;
	struct shapes shapes;
	uint64_t macs;
	size_t macs_unknown; /* nodes whose multiply-accumulates are not known */
	bool built;
	const char *svg, *html;
	char problem[600]; /* why no graph could be built */
};

enum { KEY_SVG = 0x100, KEY_HTML };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Results:", 4 },
	{ "svg", KEY_SVG, "FILE", 0, "A picture of the model, with colours for where its nodes run",
	  4 },
	{ "html", KEY_HTML, "FILE", 0, "A page with this picture", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info *info = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &info->options;
		return 0;
	case KEY_SVG:
		info->svg = arg;
		return 0;
	case KEY_HTML:
		info->html = arg;
		return 0;
	case JSON_KEY:
		info->options.json = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the file */

static struct kind *find_kind(struct info *info, const char *domain, const char *name)
{
	struct kind *kinds;

	domain = domain && strcmp(domain, "ai.onnx") ? domain : "";
	name = name ? name : "";
	for (size_t i = 0; i < info->kind_count; i++)
		if (!strcmp(info->kinds[i].name, name) && !strcmp(info->kinds[i].domain, domain))
			return &info->kinds[i];
	kinds = realloc(info->kinds, (info->kind_count + 1) * sizeof(*kinds));
	if (!kinds)
		return NULL;
	info->kinds = kinds;
	kinds[info->kind_count] = (struct kind){ .domain = domain, .name = name };
	return &kinds[info->kind_count++];
}

static int add_node(struct info *info, const Onnx__NodeProto *node)
{
	struct kind *kind = find_kind(info, node->domain, node->op_type);
	struct known *nodes;

	if (!kind)
		return -1;
	kind->nodes++;
	nodes = realloc(info->nodes, (info->node_count + 1) * sizeof(*nodes));
	if (!nodes)
		return -1;
	info->nodes = nodes;
	nodes[info->node_count++] =
		(struct known){ node_label(node), (size_t)(kind - info->kinds), 0 };
	return 0;
}

static void add_weight(struct info *info, const Onnx__TensorProto *tensor)
{
	uint64_t elements = 1;

	for (size_t i = 0; i < tensor->n_dims; i++)
		elements *= tensor->dims[i] > 0 ? (uint64_t)tensor->dims[i] : 0;
	info->weights++;
	info->weight_elements += elements;
	info->weight_bytes += cost_bytes(tensor);
}

static bool is_constant(const Onnx__NodeProto *node)
{
	return node->op_type && !strcmp(node->op_type, "Constant");
}

/* Counts nodes and weights of a graph, and of graphs in attributes of nodes. Returns 0 or -1. */
static int scan_graph(struct info *info, const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_initializer; i++)
		add_weight(info, graph->initializer[i]);
	for (size_t i = 0; i < graph->n_node; i++) {
		const Onnx__NodeProto *node = graph->node[i];

		if (add_node(info, node))
			return -1;
		for (size_t k = 0; k < node->n_attribute; k++) {
			if (is_constant(node) && node->attribute[k]->t)
				add_weight(info, node->attribute[k]->t);
			if (node->attribute[k]->g && scan_graph(info, node->attribute[k]->g))
				return -1;
		}
	}
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->label, ((const struct known *)b)->label);
}

static int scan(struct info *info)
{
	int ret = model_file_load(info->options.model, &info->model);

	if (ret)
		return ret;
	if (scan_graph(info, info->model->graph))
		return complain_memory(info->options.model);
	if (info->node_count)
		qsort(info->nodes, info->node_count, sizeof(*info->nodes), compare_labels);
	return DONE;
}

/* ---- the graph */

static struct known *find_known(const struct info *info, const char *label)
{
	const struct known key = { label, 0, 0 };

	return info->node_count ?
		       bsearch(&key, info->nodes, info->node_count, sizeof(key), compare_labels) :
		       NULL;
}

/* Marks the node of this label, and returns its kind; NULL: there is no such node. */
static struct kind *mark(struct info *info, WNNStringView label, enum mark mark)
{
	char text[1000];
	struct known *found;

	snprintf(text, sizeof(text), "%.*s", (int)label.length, label.data ? label.data : "");
	found = find_known(info, text);
	if (!found)
		return NULL;
	found->marks |= mark;
	return &info->kinds[found->kind];
}

static void set_reason(struct kind *kind, WNNStringView reason)
{
	if (!kind->reason)
		kind->reason = strndup(reason.data ? reason.data : "", reason.length);
}

static void place(struct info *info, const struct target *target)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	if (wnnGraphGetPlacement(target->graph, &placement) != WNNStatus_Success)
		return;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		static const enum mark marks[] = { [WNNNodeDevice_NPU] = MARK_NPU,
						   [WNNNodeDevice_CPU] = MARK_CPU,
						   [WNNNodeDevice_Folded] = MARK_FOLDED };
		const WNNNodePlacement *node = &placement.nodes[i];
		struct kind *kind;

		if ((size_t)node->device >= 4)
			continue;
		kind = mark(info, node->label, marks[node->device]);
		if (!kind)
			continue;
		kind->placed[node->device]++;
		if (node->device == WNNNodeDevice_CPU && target->device.accelerated)
			set_reason(kind, node->reasonText);
	}
}

/* Tries to build a graph. A failure is a result to print, and no error. */
static void try_build(struct info *info, struct subject *subject, struct target *target)
{
	WNNOnnxRefusalArray refusals;
	WNNError error = WNN_ERROR_INIT;

	if (target_try_build(target, subject) == WNNStatus_Success) {
		info->built = true;
		place(info, target);
		return;
	}
	wnnOnnxGetLastError(&error);
	if (!subject_is_open(subject, info->problem, sizeof(info->problem)))
		snprintf(info->problem, sizeof(info->problem), "%.*s", (int)error.message.length,
			 error.message.data);
	refusals = wnnOnnxModelGetRefusals(subject->model);
	for (size_t i = 0; i < refusals.count; i++) {
		struct kind *kind = mark(info, refusals.data[i].node, MARK_REFUSED);

		if (!kind)
			continue;
		kind->refused++;
		set_reason(kind, refusals.data[i].reason);
	}
}

/* ---- what follows from the shapes */

static int add_costs(struct info *info, const struct subject *subject)
{
	const Onnx__GraphProto *graph = info->model->graph;

	if (shapes_init(&info->shapes, subject->model))
		return complain_memory(info->options.model);
	for (size_t i = 0; i < graph->n_node; i++) {
		struct kind *kind =
			find_kind(info, graph->node[i]->domain, graph->node[i]->op_type);
		uint64_t macs;

		info->macs_unknown += !cost_macs(graph->node[i], &info->shapes, &macs);
		info->macs += macs;
		if (kind)
			kind->macs += macs;
	}
	return DONE;
}

/*
 * Returns the bytes of the weights that a node reads, even if other nodes read them too, and of a
 * constant's value.
 */
static uint64_t parameter_bytes(const struct info *info, const Onnx__NodeProto *node)
{
	const Onnx__GraphProto *graph = info->model->graph;
	uint64_t bytes = 0;

	for (size_t i = 0; i < node->n_input; i++) {
		const WNNOnnxValueInfo *value = shapes_find(&info->shapes, node->input[i]);

		for (size_t k = 0; value && value->fixed && k < graph->n_initializer; k++)
			if (graph->initializer[k]->name &&
			    !strcmp(graph->initializer[k]->name, node->input[i]))
				bytes += cost_bytes(graph->initializer[k]);
	}
	for (size_t i = 0; i < node->n_attribute; i++)
		if (is_constant(node) && node->attribute[i]->t)
			bytes += cost_bytes(node->attribute[i]->t);
	return bytes;
}

/* ---- as text */

static void print_dimension(const WNNOnnxDimension *dimension)
{
	if (dimension->size != WNN_ONNX_DIMENSION_UNKNOWN)
		printf("%" PRId64, dimension->size);
	else if (dimension->name.length)
		printf("%.*s", (int)dimension->name.length, dimension->name.data);
	else
		printf("?");
}

static const char *kind_text(WNNOnnxKind kind)
{
	switch (kind) {
	case WNNOnnxKind_Tensor:
		return "tensor";
	case WNNOnnxKind_Sequence:
		return "sequence";
	case WNNOnnxKind_Optional:
		return "optional";
	default:
		return "other";
	}
}

static void print_type(const WNNOnnxValueInfo *value)
{
	if (value->kind != WNNOnnxKind_Tensor)
		printf("%s ", kind_text(value->kind));
	printf("%.*s", (int)value->elementType.length, value->elementType.data);
	if (value->rank == WNN_ONNX_RANK_UNKNOWN) {
		printf(" of unknown shape");
		return;
	}
	printf(" [");
	for (size_t k = 0; k < value->rank; k++) {
		printf(k ? ", " : "");
		print_dimension(&value->dimensions[k]);
	}
	putchar(']');
}

static void print_values(const char *title, WNNOnnxValueInfoArray values)
{
	printf("%s:\n", title);
	for (size_t i = 0; i < values.count; i++) {
		printf("  %-24.*s ", (int)values.data[i].name.length, values.data[i].name.data);
		print_type(&values.data[i]);
		putchar('\n');
	}
}

/* Prints a line for a node with its first output, and a line for each further output. */
static void print_node(const struct info *info, const Onnx__NodeProto *node)
{
	char count[QUANTITY_TEXT] = "?", bytes[SIZE_TEXT];
	uint64_t macs;
	size_t shown = 0;

	if (cost_macs(node, &info->shapes, &macs))
		quantity_count(count, macs);
	printf("  %-24s %-18s %8s %11s", node_label(node), node->op_type ? node->op_type : "",
	       count, size_text(bytes, parameter_bytes(info, node)));
	for (size_t i = 0; i < node->n_output; i++) {
		const WNNOnnxValueInfo *value = shapes_find(&info->shapes, node->output[i]);

		if (!*node->output[i] || !value)
			continue;
		if (shown++)
			printf("\n%66s", "");
		printf("  %s: ", node->output[i]);
		print_type(value);
	}
	putchar('\n');
}

static void print_nodes(const struct info *info)
{
	const Onnx__GraphProto *graph = info->model->graph;

	printf("nodes: %-18s %-18s %8s %11s  outputs\n", "", "operator", "MACs", "weights");
	for (size_t i = 0; i < graph->n_node; i++)
		print_node(info, graph->node[i]);
}

static void print_sums(const struct info *info)
{
	char count[QUANTITY_TEXT], bytes[SIZE_TEXT];

	printf("weights: %zu tensors, %" PRIu64 " elements, %" PRIu64 " bytes", info->weights,
	       info->weight_elements, info->weight_bytes);
	if (info->weight_bytes >= 1024)
		printf(" (%s)", size_text(bytes, info->weight_bytes));
	printf("\nmultiply-accumulates: %" PRIu64, info->macs);
	if (info->macs >= 1000)
		printf(" (%s)", quantity_count(count, info->macs));
	if (info->macs_unknown)
		printf(", and those of %zu nodes, which are not known", info->macs_unknown);
	putchar('\n');
}

static void print_kind(const struct info *info, const struct kind *kind)
{
	char name[200];

	snprintf(name, sizeof(name), "%s%s%s", kind->domain, *kind->domain ? "." : "", kind->name);
	printf("  %-28s %6zu", name, kind->nodes);
	if (info->built)
		printf(" %6zu %6zu %6zu", kind->placed[WNNNodeDevice_NPU],
		       kind->placed[WNNNodeDevice_CPU], kind->placed[WNNNodeDevice_Folded]);
	else if (kind->refused)
		printf(" %6zu refused", kind->refused);
	printf("%s%s\n", kind->reason ? "  " : "", kind->reason ? kind->reason : "");
}

static void print_info(const struct info *info, const struct subject *subject,
		       const struct target *target)
{
	const Onnx__ModelProto *model = info->model;
	size_t on_cpu = 0;

	printf("%s: ONNX, version %" PRId64 " of the format", info->options.model,
	       model->ir_version);
	if (model->producer_name && *model->producer_name)
		printf(", made by %s %s", model->producer_name,
		       model->producer_version ? model->producer_version : "");
	putchar('\n');
	for (size_t i = 0; i < model->n_opset_import; i++) {
		const char *domain = model->opset_import[i]->domain;

		printf("operator set %s %" PRId64 "\n", domain && *domain ? domain : "ai.onnx",
		       model->opset_import[i]->version);
	}
	print_values("inputs", subject_inputs(subject));
	print_values("outputs", wnnOnnxModelGetOutputs(subject->model));
	print_sums(info);
	print_nodes(info);
	printf("operators: %-19s nodes%s\n", "",
	       info->built ? "    NPU    CPU folded, in the graph made of them" : "");
	for (size_t i = 0; i < info->kind_count; i++) {
		print_kind(info, &info->kinds[i]);
		on_cpu += info->kinds[i].placed[WNNNodeDevice_CPU];
	}
	if (info->built)
		target_print_runs(target, on_cpu);
	else
		printf("it does not run on %.*s: %s\n", (int)target->device.device.length,
		       target->device.device.data, info->problem);
}

/* ---- as JSON */

static json_t *text_json(const char *text)
{
	return json_text(WNN_STR(text));
}

static json_t *value_json(const WNNOnnxValueInfo *value)
{
	json_t *shape = value->rank == WNN_ONNX_RANK_UNKNOWN ? json_null() : json_array();

	for (size_t i = 0; value->rank != WNN_ONNX_RANK_UNKNOWN && i < value->rank; i++) {
		const WNNOnnxDimension *dimension = &value->dimensions[i];

		json_array_append_new(shape, dimension->size != WNN_ONNX_DIMENSION_UNKNOWN ?
						     json_integer(dimension->size) :
					     dimension->name.length ? json_text(dimension->name) :
								      json_null());
	}
	return json_pack("{s:o, s:s, s:o, s:o}", "name", json_text(value->name), "kind",
			 kind_text(value->kind), "type", json_text(value->elementType), "shape",
			 shape);
}

static json_t *values_json(WNNOnnxValueInfoArray values)
{
	json_t *list = json_array();

	for (size_t i = 0; i < values.count; i++)
		json_array_append_new(list, value_json(&values.data[i]));
	return list;
}

static json_t *node_json(const struct info *info, const Onnx__NodeProto *node)
{
	json_t *outputs = json_array();
	uint64_t macs;
	bool known = cost_macs(node, &info->shapes, &macs);

	for (size_t i = 0; i < node->n_output; i++) {
		const WNNOnnxValueInfo *value = shapes_find(&info->shapes, node->output[i]);

		if (*node->output[i] && value)
			json_array_append_new(outputs, value_json(value));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:o}", "name", text_json(node_label(node)),
			 "domain", text_json(node->domain ? node->domain : ""), "operator",
			 text_json(node->op_type ? node->op_type : ""), "macs",
			 known ? json_integer((json_int_t)macs) : json_null(), "parameter_bytes",
			 (json_int_t)parameter_bytes(info, node), "outputs", outputs);
}

static json_t *nodes_json(const struct info *info)
{
	json_t *list = json_array();

	for (size_t i = 0; i < info->model->graph->n_node; i++)
		json_array_append_new(list, node_json(info, info->model->graph->node[i]));
	return list;
}

static json_t *kinds_json(const struct info *info)
{
	json_t *list = json_array();

	for (size_t i = 0; i < info->kind_count; i++) {
		const struct kind *kind = &info->kinds[i];
		json_t *json = json_pack("{s:o, s:o, s:I, s:I, s:I}", "domain",
					 text_json(kind->domain), "operator", text_json(kind->name),
					 "nodes", (json_int_t)kind->nodes, "refused",
					 (json_int_t)kind->refused, "macs", (json_int_t)kind->macs);

		if (json && info->built)
			for (int k = WNNNodeDevice_NPU; k <= WNNNodeDevice_Folded; k++)
				json_object_set_new(
					json, (const char *[]){ "", "npu", "cpu", "folded" }[k],
					json_integer((json_int_t)kind->placed[k]));
		if (json && kind->reason)
			json_object_set_new(json, "reason", text_json(kind->reason));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *notices_json(const struct subject *subject)
{
	WNNOnnxRefusalArray notices = wnnOnnxModelGetNotices(subject->model);
	json_t *list = json_array();

	for (size_t i = 0; i < notices.count; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "node",
						      json_text(notices.data[i].node), "reason",
						      json_text(notices.data[i].reason), "input",
						      json_text(notices.data[i].input)));
	return list;
}

static json_t *info_json(const struct info *info, const struct subject *subject,
			 const struct target *target)
{
	const Onnx__ModelProto *model = info->model;
	json_t *sets = json_object();
	json_t *root;

	for (size_t i = 0; i < model->n_opset_import; i++) {
		const char *domain = model->opset_import[i]->domain;

		json_object_set_new(sets, domain && *domain ? domain : "ai.onnx",
				    json_integer(model->opset_import[i]->version));
	}
	root = json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I}, s:o, s:b, s:o}",
			 "model", text_json(info->options.model), "ir_version",
			 (json_int_t)model->ir_version, "producer",
			 text_json(model->producer_name ? model->producer_name : ""),
			 "operator_sets", sets, "inputs", values_json(subject_inputs(subject)),
			 "outputs", values_json(wnnOnnxModelGetOutputs(subject->model)),
			 "operators", kinds_json(info), "weights", "tensors",
			 (json_int_t)info->weights, "elements", (json_int_t)info->weight_elements,
			 "bytes", (json_int_t)info->weight_bytes, "device",
			 json_text(target->device.device), "runs", info->built, "problem",
			 info->built ? json_null() : text_json(info->problem));
	if (!root)
		return NULL;
	json_object_set_new(root, "notices", notices_json(subject));
	json_object_set_new(root, "macs", json_integer((json_int_t)info->macs));
	json_object_set_new(root, "macs_unknown", json_integer((json_int_t)info->macs_unknown));
	json_object_set_new(root, "nodes", nodes_json(info));
	return root;
}

/* ---- the picture */

/*
 * Returns the marks of a node. MARK_FOLDED is left out when the node has another mark, too.
 */
static unsigned int marks_of(const struct info *info, const Onnx__NodeProto *node)
{
	const struct known *known = find_known(info, node_label(node));
	unsigned int marks = known ? known->marks : 0;

	return marks & ~(unsigned int)MARK_FOLDED ? marks & ~(unsigned int)MARK_FOLDED : marks;
}

static int draw(const struct info *info)
{
	const Onnx__GraphProto *graph = info->model->graph;
	unsigned int *marks = calloc(graph->n_node + 1, sizeof(*marks));
	const struct drawing drawing = { info->options.model, graph, &info->shapes, marks };
	int ret = DONE;

	if (!marks)
		return complain_memory(info->options.model);
	for (size_t i = 0; i < graph->n_node; i++)
		marks[i] = marks_of(info, graph->node[i]);
	if (info->svg)
		ret = drawing_write(&drawing, info->svg, false);
	if (!ret && info->html)
		ret = drawing_write(&drawing, info->html, true);
	free(marks);
	return ret;
}

/* ---- the command */

/*
 * Reads the values of inputs if options give any, since shapes may depend on them; without such
 * options does nothing. Returns DONE, or the exit status after a message.
 */
static int read_given(struct subject *subject)
{
	const uint64_t seed = 1;
	const struct options *common = subject->options;

	if (!common->inputs.count && !common->fills.count)
		return DONE;
	return values_read(subject, &seed);
}

static int inform(struct info *info, struct subject *subject, struct target *target)
{
	int ret = subject_open(subject, &info->options);

	if (!ret && subject->saved && (info->svg || info->html))
		ret = complain(BAD_MODEL, "%s: only models of ONNX are drawn", info->options.model);
	if (!ret && subject->saved) {
		ret = target_open_for(target, subject, info->options.device);
		return ret ? ret : saved_info(subject, target);
	}
	if (!ret)
		ret = scan(info);
	if (!ret)
		ret = read_given(subject);
	if (!ret)
		ret = target_open_for(target, subject, info->options.device);
	if (ret)
		return ret;
	try_build(info, subject, target);
	ret = add_costs(info, subject);
	if (ret)
		return ret;
	if (text_wanted(&info->options))
		print_info(info, subject, target);
	if (info->options.json)
		ret = write_json(&info->options, info_json(info, subject, target));
	if (!ret && (info->svg || info->html))
		ret = draw(info);
	return ret;
}

int command_info(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Tells what a model takes, gives and consists of, and what of it runs where. Values of "
		"inputs matter only where the model's shapes depend on them.",
		children,
		NULL,
		NULL
	};
	struct info info = { 0 };
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &info);
	if (!program_is(info.options.model) && !gguf_is(info.options.model))
		ret = inform(&info, &subject, &target);
	else if (info.svg || info.html)
		ret = complain(BAD_MODEL, "%s: only models of ONNX are drawn", info.options.model);
	else if (program_is(info.options.model))
		ret = program_info(&info.options);
	else
		ret = gguf_info(&info.options);
	for (size_t i = 0; i < info.kind_count; i++)
		free(info.kinds[i].reason);
	free(info.kinds);
	free(info.nodes);
	shapes_exit(&info.shapes);
	model_file_free(info.model);
	target_close(&target);
	subject_close(&subject);
	options_free(&info.options);
	return ret;
}
