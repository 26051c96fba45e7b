// SPDX-License-Identifier: MIT
/*
 * Runs cases of ONNX's backend tests: each is a folder with model.onnx, test_data_set_0 and further
 * sets, and perhaps a file "tolerance". Usage: onnx-cases --device NAME [--json FILE]
 * [--range TOLERANCE] [--steps N] [--text] [--verbose] CASE…; when no case is given, the program
 * reads them from standard input, one a line. It exits with 1 when a case failed; refusals are no
 * failures. --operators prints the table of operators, --refusals MODEL… the refusals of models.
 */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <webnn/webnn_npu.h>

#include "cases.h"
#include "model.h"
#include "node.h"

enum outcome { PASSED, REFUSED, FAILED };
static const char *const outcomes[] = { "passed", "refused", "failed" };

struct run {
	WNNContext context;
	WNNOnnxModel model;
	char why[700]; /* reason of a refusal or failure */
	char refused_operator[100];
	size_t fixed;	  /* number of inputs that became constants */
	size_t npu_nodes; /* NPU nodes of all graphs of the case */
	struct pb_values inputs[MAX_VALUES];
	size_t input_count;
	char names[MAX_VALUES][300];
};

/*
 * Relative and absolute tolerance of the current case; these are the defaults of ONNX's Python
 * code.
 */
static double relative = 1e-3;
static double absolute = 1e-7;
/* Largest allowed error relative to the range of the output; 0: not used. */
static double of_range;
static bool drawn;    /* the recorded outputs are random, so that only shapes are compared */
static int64_t steps; /* largest allowed error of integers */
static bool texts;    /* print compiled graphs */

static enum outcome wrong(struct run *run, enum outcome outcome, const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&error);
	snprintf(run->why, sizeof(run->why), "%s: %.*s", what, (int)error.message.length,
		 error.message.data);
	return outcome;
}

static void copy_view(char *out, size_t room, WNNStringView view)
{
	snprintf(out, room, "%.*s", (int)view.length, view.data);
}

/*
 * Adds one input tensor of the graph, which may be an item of a sequence. Takes the tensor over and
 * returns true, or returns false when there are MAX_VALUES inputs.
 */
static bool add_input(struct run *run, const char *name, const struct pb_tensor *tensor,
		      bool set_shape)
{
	struct pb_values *values = &run->inputs[run->input_count];

	if (run->input_count == MAX_VALUES)
		return false;
	snprintf(run->names[run->input_count++], sizeof(run->names[0]), "%s", name);
	*values = (struct pb_values){ .count = 1, .items = { *tensor } };
	if (set_shape)
		wnnOnnxModelSetInputShape(run->model, WNN_STR(name),
					  (WNNUint32Array){ tensor->rank, values->items[0].shape });
	return true;
}

/*
 * Reads input @number from its file. Returns PASSED, or another outcome with the reason in
 * run->why. The recorded value's type may be narrower than the model's.
 */
static enum outcome read_input(struct run *run, const char *folder, size_t number,
			       const WNNOnnxValueInfo *info, bool set_shape)
{
	static struct pb_values values;
	char path[5000], name[200], item[300];
	bool sequence = info->kind == WNNOnnxKind_Sequence;

	copy_view(name, sizeof(name), info->name);
	snprintf(path, sizeof(path), "%s/input_%zu.pb", folder, number);
	if (!pb_read(path, info, &values)) {
		snprintf(run->why, sizeof(run->why), "input \"%s\" is of type %.*s", name,
			 (int)info->elementType.length, info->elementType.data);
		return REFUSED;
	}
	for (size_t i = 0; i < values.count; i++)
		if (pb_is_beyond(&values.items[i])) {
			snprintf(run->why, sizeof(run->why),
				 "input \"%s\" has numbers of type double beyond float32", name);
			pb_free(&values);
			return REFUSED;
		}
	if (info->kind != WNNOnnxKind_Tensor && !values.count)
		wnnOnnxModelSetInputValue(run->model, info->name, NULL, 0);
	for (size_t i = 0; i < values.count; i++) {
		if (sequence)
			snprintf(item, sizeof(item), "%s/%zu", name, i);
		if (!add_input(run, sequence ? item : name, &values.items[i],
			       set_shape || sequence))
			return FAILED;
	}
	return PASSED;
}

static enum outcome read_inputs(struct run *run, const char *folder, bool set_shapes)
{
	WNNOnnxValueInfoArray infos = wnnOnnxModelGetInputs(run->model);
	enum outcome outcome = PASSED;

	run->input_count = 0;
	for (size_t i = 0; i < infos.count && outcome == PASSED; i++)
		outcome = read_input(run, folder, i, &infos.data[i], set_shapes);
	return outcome;
}

/*
 * Builds the graph. When it is refused because shapes depend on an input's elements, makes that
 * input a constant and builds it again. Returns PASSED, also without a graph when all outputs are
 * empty, or another outcome with the reason in run->why.
 */
static enum outcome build(struct run *run, WNNGraph *graph)
{
	for (int round = 0; round < 40; round++) {
		WNNStatus status =
			wnnOnnxModelBuildSync(run->model, run->context, WNN_WAIT_FOREVER, graph);
		WNNOnnxRefusalArray refusals = wnnOnnxModelGetRefusals(run->model);
		bool again = false;

		if (status == WNNStatus_Success)
			return PASSED;
		/* All outputs are empty, so that there is nothing to build. */
		if (!refusals.count && wnnOnnxModelGetEmptyOutputs(run->model).count)
			return PASSED;
		if (!refusals.count)
			return wrong(run, FAILED, "build");
		for (size_t i = 0; i < refusals.count && !again; i++)
			for (size_t k = 0; k < run->input_count && !again; k++) {
				char name[200];

				copy_view(name, sizeof(name), refusals.data[i].input);
				again = *name && !strcmp(name, run->names[k]) &&
					run->inputs[k].count == 1 &&
					wnnOnnxModelSetInputValue(run->model,
								  WNN_STR(run->names[k]),
								  run->inputs[k].items[0].data,
								  run->inputs[k].items[0].size) ==
						WNNStatus_Success;
				run->fixed += again;
			}
		if (again)
			continue;
		copy_view(run->refused_operator, sizeof(run->refused_operator),
			  refusals.data[0].operatorName);
		return wrong(run, REFUSED, "refused");
	}
	return wrong(run, FAILED, "inputs become constants without end");
}

static WNNTensor make_tensor(struct run *run, const WNNNamedOperandDescriptor *named)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	descriptor.dataType = named->dataType;
	descriptor.shape = named->shape;
	descriptor.readable = WNN_TRUE;
	descriptor.writable = WNN_TRUE;
	wnnContextCreateTensorSync(run->context, &descriptor, WNN_WAIT_FOREVER, &tensor);
	return tensor;
}

static bool draw(struct run *run, WNNStringView name, WNNTensor tensor)
{
	size_t size = wnnTensorGetByteLength(tensor);
	void *data = malloc(size + 1);
	bool good = wnnOnnxModelDraw(run->model, name, 1, 0, data, size) == WNNStatus_Success &&
		    wnnContextWriteTensor(run->context, tensor, data, size) == WNNStatus_Success;

	free(data);
	return good;
}

static bool fill(struct run *run, WNNStringView name, WNNTensor tensor)
{
	for (size_t i = 0; i < run->input_count; i++) {
		uint8_t *data;
		size_t size;
		bool good;

		if (strlen(run->names[i]) != name.length ||
		    memcmp(run->names[i], name.data, name.length))
			continue;
		data = pb_to_graph(&run->inputs[i].items[0], &size);
		good = wnnContextWriteTensor(run->context, tensor, data, size) == WNNStatus_Success;
		free(data);
		return good;
	}
	return draw(run, name, tensor);
}

/*
 * Reads the expected values of output @name. If the name is that of an item of a sequence, *item is
 * its index, else 0. Returns false when there are no such values.
 */
static bool expected(struct run *run, const char *folder, WNNStringView name,
		     struct pb_values *values, size_t *item)
{
	WNNOnnxValueInfoArray outputs = wnnOnnxModelGetOutputs(run->model);
	char path[5000];

	*item = 0;
	for (size_t i = 0; i < outputs.count; i++) {
		WNNStringView own = outputs.data[i].name;
		bool sequence = outputs.data[i].kind != WNNOnnxKind_Tensor &&
				name.length > own.length && name.data[own.length] == '/';

		if (own.length > name.length || memcmp(own.data, name.data, own.length) ||
		    (!sequence && own.length != name.length))
			continue;
		if (sequence)
			*item = (size_t)atoi(name.data + own.length + 1);
		snprintf(path, sizeof(path), "%s/output_%zu.pb", folder, i);
		return pb_read(path, &outputs.data[i], values) && *item < values->count;
	}
	return false;
}

/*
 * Returns whether our result of NonMaxSuppression is the recorded rows followed by rows of -1, and
 * a notice of the library announces such rows.
 */
static bool is_padded(struct run *run, const struct pb_tensor *want,
		      const WNNNamedOperandDescriptor *named, const uint8_t *data, size_t size)
{
	WNNOnnxRefusalArray notices = wnnOnnxModelGetNotices(run->model);
	bool told = false;

	for (size_t i = 0; i < notices.count; i++)
		told |= memmem(notices.data[i].reason.data, notices.data[i].reason.length,
			       "rows behind them are -1", 23) != NULL;
	if (!told || want->rank != 2 || named->shape.count != 2 || want->type != ONNX_INT64 ||
	    want->size > size || memcmp(want->data, data, want->size))
		return false;
	for (size_t i = want->size; i < size; i++)
		if (data[i] != 0xff)
			return false;
	return true;
}

static enum outcome check_output(struct run *run, const char *folder,
				 const WNNNamedOperandDescriptor *named, WNNTensor tensor)
{
	size_t size = wnnTensorGetByteLength(tensor), item;
	uint8_t *data = malloc(size + 1);
	struct pb_values want = { 0 };
	enum outcome outcome = FAILED;
	const struct pb_tensor *one;
	char why[300];

	if (wnnContextReadTensorIntoSync(run->context, tensor, data, size, WNN_WAIT_FOREVER)) {
		snprintf(run->why, sizeof(run->why), "the output cannot be read");
	} else if (!expected(run, folder, named->name, &want, &item)) {
		snprintf(run->why, sizeof(run->why), "output \"%.*s\" was not recorded",
			 (int)named->name.length, named->name.data);
	} else {
		uint8_t *own;

		one = &want.items[item];
		own = pb_from_graph(one, data, &size);
		free(data);
		data = own;
		outcome = PASSED;
		if (is_padded(run, one, named, data, size)) {
			outcome = PASSED;
		} else if (one->rank != named->shape.count ||
			   memcmp(one->shape, named->shape.data, one->rank * sizeof(uint32_t))) {
			snprintf(run->why, sizeof(run->why), "output \"%.*s\" has another shape",
				 (int)named->name.length, named->name.data);
			outcome = FAILED;
		} else if (!drawn &&
			   !pb_same(one, data, size, of_range > 0 ? 0 : pb_relative(one, relative),
				    of_range > 0 ? of_range * pb_range(one) : absolute, steps, why,
				    sizeof(why))) {
			snprintf(run->why, sizeof(run->why), "output \"%.*s\": %s",
				 (int)named->name.length, named->name.data, why);
			outcome = FAILED;
		}
	}
	pb_free(&want);
	free(data);
	return outcome;
}

static enum outcome dispatch(struct run *run, const char *folder, WNNGraph graph)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(graph);
	WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(graph);
	WNNNamedTensor in[MAX_VALUES], out[4 * MAX_VALUES];
	enum outcome outcome = PASSED;
	WNNError error = WNN_ERROR_INIT;

	if (inputs.count > MAX_VALUES || outputs.count > 4 * MAX_VALUES)
		return FAILED;
	for (size_t i = 0; i < inputs.count; i++) {
		in[i] = (WNNNamedTensor){ inputs.data[i].name, make_tensor(run, &inputs.data[i]) };
		if (!in[i].tensor || !fill(run, in[i].name, in[i].tensor))
			outcome = FAILED;
	}
	for (size_t i = 0; i < outputs.count; i++) {
		out[i] = (WNNNamedTensor){ outputs.data[i].name,
					   make_tensor(run, &outputs.data[i]) };
		if (!out[i].tensor)
			outcome = FAILED;
	}
	if (outcome == PASSED && wnnContextDispatch(run->context, graph, inputs.count, in,
						    outputs.count, out) != WNNStatus_Success) {
		wnnGetLastError(&error);
		snprintf(run->why, sizeof(run->why), "dispatch: %.*s", (int)error.message.length,
			 error.message.data);
		outcome = FAILED;
	}
	for (size_t i = 0; i < outputs.count && outcome == PASSED; i++)
		outcome = check_output(run, folder, &outputs.data[i], out[i].tensor);
	for (size_t i = 0; i < inputs.count; i++)
		wnnTensorRelease(in[i].tensor);
	for (size_t i = 0; i < outputs.count; i++)
		wnnTensorRelease(out[i].tensor);
	return outcome;
}

/* Returns PASSED if empty outputs have the recorded shapes, else FAILED. */
static enum outcome check_empty(struct run *run, const char *folder)
{
	WNNOnnxValueInfoArray empty = wnnOnnxModelGetEmptyOutputs(run->model);
	enum outcome outcome = PASSED;

	for (size_t i = 0; i < empty.count && outcome == PASSED; i++) {
		struct pb_values want = { 0 };
		size_t item;
		bool same;

		same = expected(run, folder, empty.data[i].name, &want, &item) &&
		       want.items[item].rank == empty.data[i].rank;
		for (size_t k = 0; same && k < empty.data[i].rank; k++)
			same = want.items[item].shape[k] == empty.data[i].dimensions[k].size;
		if (!same) {
			snprintf(run->why, sizeof(run->why),
				 "output \"%.*s\" has no elements, or another shape",
				 (int)empty.data[i].name.length, empty.data[i].name.data);
			outcome = FAILED;
		}
		pb_free(&want);
	}
	return outcome;
}

/* Prints the nodes of a compiled graph, for tests of what it makes of composed operators. */
static void print_nodes(WNNGraph graph)
{
	WNNString text = { 0 };

	if (wnnGraphGetText(graph, WNNGraphText_Nodes, &text) == WNNStatus_Success)
		printf("%.*s", (int)text.length, text.data);
	wnnStringFreeMembers(text);
}

static size_t count_npu_nodes(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	return wnnGraphGetPlacement(graph, &placement) == WNNStatus_Success ? placement.npuCount :
									      0;
}

/*
 * Runs one data set and returns its outcome. The model is loaded anew, since shapes may differ from
 * those of another data set.
 */
static enum outcome run_set(struct run *run, const char *file, const char *folder)
{
	WNNGraph graph = NULL;
	enum outcome outcome;

	if (wnnOnnxLoadFile(WNN_STR(file), NULL, &run->model) != WNNStatus_Success)
		return wrong(run, FAILED, "load");
	outcome = read_inputs(run, folder, true);
	if (outcome == PASSED)
		outcome = build(run, &graph);
	if (outcome == PASSED && graph && texts)
		print_nodes(graph);
	run->npu_nodes += graph ? count_npu_nodes(graph) : 0;
	if (outcome == PASSED && graph)
		outcome = dispatch(run, folder, graph);
	if (outcome == PASSED)
		outcome = check_empty(run, folder);
	wnnGraphRelease(graph);
	for (size_t i = 0; i < run->input_count; i++)
		pb_free(&run->inputs[i]);
	return outcome;
}

struct tally {
	char name[100];
	size_t count[3];
};

static struct tally tallies[400];
static size_t tally_count, totals[3], fixed_total;

static void tally(const char *name, enum outcome outcome)
{
	size_t i;

	for (i = 0; i < tally_count && strcmp(tallies[i].name, name); i++)
		;
	if (i == sizeof(tallies) / sizeof(tallies[0]))
		return;
	snprintf(tallies[i].name, sizeof(tallies[i].name), "%s", name);
	tallies[i].count[outcome]++;
	tally_count += i == tally_count;
}

/* Counts each operator of the model once; a refusal counts only for the refused operator. */
static void tally_operators(struct run *run, enum outcome outcome)
{
	const struct onnx_model *model = (const struct onnx_model *)run->model;

	if (outcome == REFUSED && *run->refused_operator) {
		tally(run->refused_operator, outcome);
		return;
	}
	for (size_t i = 0; model && i < model->proto->graph->n_node; i++) {
		const char *name = model->proto->graph->node[i]->op_type;
		bool again = !name;

		for (size_t k = 0; !again && k < i; k++) {
			const char *other = model->proto->graph->node[k]->op_type;

			again = other && !strcmp(name, other);
		}
		if (!again)
			tally(name, outcome);
	}
}

static void json_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		if ((unsigned char)*text >= ' ')
			fputc(*text, file);
	}
	fputc('"', file);
}

/*
 * Returns the reason why a case of Debian's data is disputed, or NULL: its recorded outputs
 * contradict the specification. ONNX Runtime disagrees with them, too, and newer releases of ONNX
 * have corrected them. Such a case counts as refused.
 */
static const char *disputed(const char *name)
{
	if (strstr(name, "test_qlinearmatmul_2D_int8_") ||
	    strstr(name, "test_qlinearmatmul_3D_int8_"))
		return "the recorded output wraps where the specification saturates";
	if (strstr(name,
		   "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"))
		return "the recorded output counts what lies behind the padding";
	if (strstr(name, "test_cast_FLOAT") &&
	    (strstr(name, "_to_INT4") || strstr(name, "_to_UINT4")))
		return "the recorded output saturates where newer ones of ONNX wrap";
	return NULL;
}

/*
 * Sets the tolerance of a case, from its own file if it has one; returns whether it has. For an
 * inverse transform the absolute tolerance is at least 1e-6, because its recorded zeros are
 * rounding errors of sums of 10 terms.
 */
static bool read_tolerance(const char *name)
{
	char path[4200];
	FILE *file;

	relative = 1e-3;
	absolute = 1e-7;
	snprintf(path, sizeof(path), "%s/tolerance", name);
	file = fopen(path, "r");
	if (file && fscanf(file, "%lf %lf", &relative, &absolute) != 2)
		fprintf(stderr, "%s has not two numbers\n", path);
	if (file)
		fclose(file);
	if (strstr(name, "test_dft_inverse") && absolute < 1e-6)
		absolute = 1e-6;
	return file != NULL;
}

static void run_case(WNNContext context, const char *name, FILE *json, bool verbose)
{
	struct run *run = calloc(1, sizeof(*run));
	enum outcome outcome = PASSED;
	struct stat status;
	size_t sets = 0;
	bool own;
	char file[4200], folder[4200];

	run->context = context;
	own = read_tolerance(name);
	drawn = strstr(name, "test_bernoulli") != NULL;
	snprintf(file, sizeof(file), "%s/model.onnx", name);
	if (!own && disputed(name)) {
		snprintf(run->why, sizeof(run->why), "%s", disputed(name));
		outcome = REFUSED;
		sets = 1;
	}
	for (; outcome == PASSED; sets++) {
		snprintf(folder, sizeof(folder), "%s/test_data_set_%zu", name, sets);
		if (stat(folder, &status))
			break;
		wnnOnnxModelRelease(run->model);
		run->model = NULL;
		outcome = run_set(run, file, folder);
	}
	if (!sets) {
		snprintf(run->why, sizeof(run->why), "there is no data set");
		outcome = FAILED;
	}
	tally_operators(run, outcome);
	totals[outcome]++;
	fixed_total += outcome == PASSED && run->fixed;
	if (outcome == FAILED || verbose)
		printf("%s %s%s%s\n", outcomes[outcome],
		       strrchr(name, '/') ? strrchr(name, '/') + 1 : name,
		       outcome == PASSED ? "" : ": ", outcome == PASSED ? "" : run->why);
	if (json) {
		fprintf(json,
			"%s\n    {\"name\": ", totals[0] + totals[1] + totals[2] > 1 ? "," : "");
		json_text(json, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
		fprintf(json, ", \"outcome\": \"%s\", \"fixed_inputs\": %zu, \"npu_nodes\": %zu",
			outcomes[outcome], run->fixed, run->npu_nodes);
		if (outcome != PASSED) {
			fprintf(json, ", \"operator\": ");
			json_text(json, run->refused_operator);
			fprintf(json, ", \"reason\": ");
			json_text(json, run->why);
		}
		fputc('}', json);
	}
	fflush(stdout);
	wnnOnnxModelRelease(run->model);
	free(run);
}

/* Imports the model and prints each refusal: file, operator, attribute and reason. */
static void print_refusals(WNNContext context, const char *file)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand const *outputs;
	WNNError error = WNN_ERROR_INIT;
	WNNOnnxRefusalArray refusals;
	WNNOnnxModel model = NULL;
	size_t count;
	WNNStatus status = wnnOnnxLoadFile(WNN_STR(file), NULL, &model);

	if (status == WNNStatus_Success)
		status = wnnOnnxModelAddToBuilder(model, builder, &count, &outputs);
	refusals = wnnOnnxModelGetRefusals(model);
	for (size_t i = 0; i < refusals.count; i++) {
		const WNNOnnxRefusal *one = &refusals.data[i];

		printf("%s\t%.*s\t%.*s\t%.*s\n", file, (int)one->operatorName.length,
		       one->operatorName.data, (int)one->attribute.length, one->attribute.data,
		       (int)one->reason.length, one->reason.data);
	}
	if (status != WNNStatus_Success && !refusals.count) {
		wnnOnnxGetLastError(&error);
		printf("%s\t\t\t%.*s\n", file, (int)error.message.length, error.message.data);
	}
	wnnOnnxModelRelease(model);
	wnnGraphBuilderRelease(builder);
}

static WNNContext open_context(const char *device)
{
	WNNContextDeviceOptions chain = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = NULL;

	chain.device = WNN_STR(device);
	options.nextInChain = &chain.chain;
	wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context);
	wnnInstanceRelease(instance);
	return context;
}

static void finish_json(FILE *json, const char *device)
{
	fprintf(json, "\n  ],\n  \"device\": \"%s\",\n", device);
	fprintf(json, "  \"total\": %zu,\n", totals[0] + totals[1] + totals[2]);
	for (int i = 0; i < 3; i++)
		fprintf(json, "  \"%s\": %zu,\n", outcomes[i], totals[i]);
	fprintf(json, "  \"passed_with_fixed_inputs\": %zu,\n  \"by_op\": {", fixed_total);
	for (size_t i = 0; i < tally_count; i++) {
		fprintf(json, "%s\n    ", i ? "," : "");
		json_text(json, tallies[i].name);
		fprintf(json, ": {\"passed\": %zu, \"refused\": %zu, \"failed\": %zu}",
			tallies[i].count[0], tallies[i].count[1], tallies[i].count[2]);
	}
	fprintf(json, "\n  }\n}\n");
	fclose(json);
}

static int print_operators(void)
{
	size_t count;
	const struct onnx_op *table = onnx_op_table(&count);

	for (size_t i = 0; i < count; i++)
		printf("%s%s%s\t%d\t%s\n", table[i].domain, *table[i].domain ? "." : "",
		       table[i].name, table[i].since, table[i].remark);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", required_argument, NULL, 'j' },
		{ "range", required_argument, NULL, 'r' },
		{ "operators", no_argument, NULL, 'o' },
		{ "refusals", no_argument, NULL, 'f' },
		{ "steps", required_argument, NULL, 's' },
		{ "text", no_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 },
	};
	const char *device = "cpu", *path = NULL;
	bool verbose = false, refusals = false;
	WNNContext context;
	FILE *json = NULL;
	char line[4096];
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd')
			device = optarg;
		else if (option == 'j')
			path = optarg;
		else if (option == 'r')
			of_range = atof(optarg);
		else if (option == 'o')
			return print_operators();
		else if (option == 'f')
			refusals = true;
		else if (option == 's')
			steps = atoi(optarg);
		else if (option == 't')
			texts = true;
		else if (option == 'v')
			verbose = true;
		else
			return 2;
	}
	context = open_context(device);
	if (!context || (path && !(json = fopen(path, "w")))) {
		fprintf(stderr, "%s cannot be opened\n", context ? path : device);
		return 2;
	}
	for (int i = optind; refusals && i < argc; i++)
		print_refusals(context, argv[i]);
	if (refusals) {
		wnnContextRelease(context);
		return 0;
	}
	if (json)
		fprintf(json, "{\n  \"cases\": [");
	for (int i = optind; i < argc; i++)
		run_case(context, argv[i], json, verbose);
	while (optind == argc && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		run_case(context, line, json, verbose);
	}
	if (json)
		finish_json(json, device);
	printf("%zu passed (%zu of them with inputs made constants), %zu refused, %zu failed on %s\n",
	       totals[PASSED], fixed_total, totals[REFUSED], totals[FAILED], device);
	wnnContextRelease(context);
	return totals[FAILED] ? 1 : 0;
}
