// SPDX-License-Identifier: MIT
/*
 * wnn-conformance: runs one case.
 *
 * webnn-conformance/1: {"name", "inputs", "operators", "expectedOutputs", "tolerance"}: a graph of
 * inputs and constants ("constant": true) with their elements, and the expected results.
 * webnn-validation/1: a graph without elements and tolerance, with "expect": "success" (then with
 * type and shape of the outputs) or "TypeError". A case with "outsideSpec" asks for what the
 * specification does not allow, and must be refused with a TypeError; only if it has operands of
 * int4 or uint4, it runs like other cases. Any case with int4 or uint4 is skipped on a device whose
 * opSupportLimits do not list that type.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* A graph that is built from a case. */
struct trial {
	const json_t *item;
	WNNGraphBuilder builder;
	WNNGraph graph;
	struct names names;
	size_t input_count, output_count;
	struct values *inputs, *outputs;
	WNNTensor *input_tensors, *output_tensors;
};

__attribute__((format(printf, 3, 4))) static int end(struct result *result, enum outcome outcome,
						     const char *format, ...)
{
	va_list ap;

	result->outcome = outcome;
	va_start(ap, format);
	vsnprintf(result->reason, sizeof(result->reason), format, ap);
	va_end(ap);
	return -1;
}

static WNNStatus last_error(char *reason)
{
	WNNError error = WNN_ERROR_INIT;
	WNNStatus status = wnnGetLastError(&error);

	snprintf(reason, REASON_SIZE, "%.*s", (int)error.message.length,
		 error.message.data ? error.message.data : "");
	return status;
}

static int end_with_error(struct result *result, const char *what)
{
	char reason[REASON_SIZE];
	WNNStringView name = wnnStatusGetName(last_error(reason));

	return end(result, OUTCOME_FAILED, "%s: %.*s: %.400s", what, (int)name.length, name.data,
		   reason);
}

/* --- Contexts -------------------------------------------------------------------------------- */

static WNNContext open_context(const struct runner *runner, WNNPlacementPolicy policy)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	device.device = WNN_STR(runner->device);
	device.placementPolicy = policy;
	device.simSramBytes = runner->sram;
	device.threads = runner->threads;
	device.simThreads = runner->threads;
	/* Folding is off for an NPU, which would not compute a folded node. */
	device.constantFolding = !runner->npu;
	options.nextInChain = &device.chain;
	wnnInstanceCreateContextSync(runner->instance, &options, WNN_WAIT_FOREVER, &context);
	return context;
}

static WNNPlacementPolicy policy_of(const struct runner *runner)
{
	if (!runner->npu)
		return WNNPlacementPolicy_CPUOnly;
	return runner->mixed ? WNNPlacementPolicy_PreferNPU : WNNPlacementPolicy_NPUOnly;
}

int runner_open(struct runner *runner)
{
	char reason[REASON_SIZE];

	runner->npu = strcmp(runner->device, "cpu") != 0;
	runner->instance = wnnCreateInstance(NULL);
	if (runner->instance)
		runner->context = open_context(runner, policy_of(runner));
	if (runner->context)
		return 0;
	last_error(reason);
	fprintf(stderr, "wnn-conformance: no context on the device '%s': %s\n", runner->device,
		reason);
	runner_close(runner);
	return -1;
}

void runner_close(struct runner *runner)
{
	if (runner->context)
		wnnContextRelease(runner->context);
	if (runner->explainer)
		wnnContextRelease(runner->explainer);
	if (runner->instance)
		wnnInstanceRelease(runner->instance);
	runner->context = runner->explainer = NULL;
	runner->instance = NULL;
}

/*
 * Opens a new context for the next case, because a fault may have made the old one unusable. If no
 * new context opens, the old one stays.
 */
static void renew_context(struct runner *runner)
{
	WNNContext context = open_context(runner, policy_of(runner));

	if (!context)
		return;
	wnnContextRelease(runner->context);
	runner->context = context;
}

/* --- Graphs ---------------------------------------------------------------------------------- */

static const json_t *list_of(const struct trial *trial, const char *key)
{
	return json_object_get(trial->item, key);
}

static WNNOperand make_operand(const struct trial *trial, const json_t *json,
			       const struct values *values)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	const char *name = json_string_value(json_object_get(json, "name"));
	WNNOperand operand;
	void *packed;

	desc.dataType = values->type;
	desc.shape = (WNNUint32Array){ values->rank, values->dims };
	if (!json_is_true(json_object_get(json, "constant")))
		return wnnGraphBuilderInput(trial->builder, WNN_STR(name), &desc);
	packed = values_pack(values);
	operand = wnnGraphBuilderConstant(trial->builder, &desc, packed, values->bytes);
	free(packed);
	return operand;
}

static void malformed(struct call *out, const char *reason)
{
	out->kind = CALL_MALFORMED;
	snprintf(out->reason, REASON_SIZE, "%s", reason);
}

static int make_inputs(struct trial *trial, struct call *out)
{
	const json_t *list = list_of(trial, "inputs");

	for (size_t i = 0; i < trial->input_count; i++) {
		const json_t *json = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(json, "name"));
		char reason[REASON_SIZE];
		WNNOperand operand;

		if (values_read(json, &trial->inputs[i], reason)) {
			malformed(out, reason);
			return -1;
		}
		if (json_is_true(json_object_get(json, "constant")) && !trial->inputs[i].data) {
			malformed(out, "a constant has no elements");
			return -1;
		}
		operand = make_operand(trial, json, &trial->inputs[i]);
		if (!operand) {
			call_refused(trial->builder, out);
			return -1;
		}
		if (names_add(&trial->names, name, operand)) {
			malformed(out, "memory is exhausted");
			return -1;
		}
	}
	return 0;
}

/*
 * Makes all operands, up to the first that is refused. *at_operator is set to whether an operator,
 * and not an input or a constant, was the last one that was made or refused.
 */
static void make_operands(struct trial *trial, struct call *out, bool *at_operator)
{
	const json_t *operators = list_of(trial, "operators");

	*out = (struct call){ .kind = CALL_DONE };
	*at_operator = false;
	if (make_inputs(trial, out))
		return;
	*at_operator = true;
	for (size_t i = 0; out->kind == CALL_DONE && i < json_array_size(operators); i++)
		call_operator(trial->builder, json_array_get(operators, i), &trial->names, out);
}

static int trial_begin(struct trial *trial, WNNContext context, const json_t *item)
{
	memset(trial, 0, sizeof(*trial));
	trial->item = item;
	trial->input_count = json_array_size(list_of(trial, "inputs"));
	trial->output_count = json_array_size(list_of(trial, "expectedOutputs"));
	trial->inputs = calloc(trial->input_count + 1, sizeof(*trial->inputs));
	trial->outputs = calloc(trial->output_count + 1, sizeof(*trial->outputs));
	trial->input_tensors = calloc(trial->input_count + 1, sizeof(WNNTensor));
	trial->output_tensors = calloc(trial->output_count + 1, sizeof(WNNTensor));
	trial->builder = wnnContextCreateGraphBuilder(context);
	return trial->inputs && trial->outputs && trial->input_tensors && trial->output_tensors &&
			       trial->builder ?
		       0 :
		       -1;
}

static void free_values(struct values *values, size_t count)
{
	for (size_t i = 0; values && i < count; i++)
		values_free(&values[i]);
	free(values);
}

static void free_tensors(WNNTensor *tensors, size_t count)
{
	for (size_t i = 0; tensors && i < count; i++)
		if (tensors[i])
			wnnTensorRelease(tensors[i]);
	free(tensors);
}

static void trial_end(struct trial *trial)
{
	free_tensors(trial->input_tensors, trial->input_count);
	free_tensors(trial->output_tensors, trial->output_count);
	free_values(trial->inputs, trial->input_count);
	free_values(trial->outputs, trial->output_count);
	names_free(&trial->names);
	if (trial->graph)
		wnnGraphRelease(trial->graph);
	if (trial->builder)
		wnnGraphBuilderRelease(trial->builder);
}

static void shape_text(char *text, size_t size, const uint32_t *dims, size_t rank)
{
	int used = snprintf(text, size, "[");

	for (size_t i = 0; i < rank && used < (int)size; i++)
		used += snprintf(text + used, size - (size_t)used, "%s%u", i ? ", " : "", dims[i]);
	if (used < (int)size)
		snprintf(text + used, size - (size_t)used, "]");
}

/*
 * Compares type and shape of an output, as the builder gives them, with the expected ones. Returns
 * 0 when both are equal, else what end() does for a failure.
 */
static int check_descriptor(const char *name, WNNOperand operand, const struct values *expected,
			    struct result *result)
{
	WNNOperandDataType type = wnnOperandGetDataType(operand);
	WNNStringView is = wnnOperandDataTypeGetName(type);
	WNNStringView wanted = wnnOperandDataTypeGetName(expected->type);
	WNNUint32Array shape = wnnOperandGetShape(operand);
	char got[200], want[200];

	if (type != expected->type)
		return end(result, OUTCOME_FAILED, "output '%s' is %.*s, expected %.*s", name,
			   (int)is.length, is.data, (int)wanted.length, wanted.data);
	if (shape.count == expected->rank &&
	    !memcmp(shape.data, expected->dims, shape.count * sizeof(*shape.data)))
		return 0;
	shape_text(got, sizeof(got), shape.data, shape.count);
	shape_text(want, sizeof(want), expected->dims, expected->rank);
	return end(result, OUTCOME_FAILED, "output '%s' has shape %s, expected %s", name, got,
		   want);
}

static int check_outputs(struct trial *trial, bool elements, struct result *result)
{
	const json_t *list = list_of(trial, "expectedOutputs");

	if (!trial->output_count)
		return end(result, OUTCOME_FAILED, "malformed case: no expectedOutputs");
	for (size_t i = 0; i < trial->output_count; i++) {
		const json_t *json = json_array_get(list, i);
		struct values *expected = &trial->outputs[i];
		char reason[REASON_SIZE];
		const char *name;
		WNNOperand operand;

		if (values_read(json, expected, reason))
			return end(result, OUTCOME_FAILED, "malformed case: %.500s", reason);
		name = json_string_value(json_object_get(json, "name"));
		operand = names_find(&trial->names, name);
		if (!operand || (elements && !expected->data))
			return end(result, OUTCOME_FAILED, "malformed case: output '%s' %s", name,
				   operand ? "has no elements" : "is of no operator");
		if (check_descriptor(name, operand, expected, result))
			return -1;
	}
	return 0;
}

/* --- Build ----------------------------------------------------------------------------------- */

static WNNStatus build(struct trial *trial)
{
	const json_t *list = list_of(trial, "expectedOutputs");
	WNNNamedOperand *named = calloc(trial->output_count + 1, sizeof(*named));
	WNNStatus status;

	if (!named)
		return WNNStatus_UnknownError;
	for (size_t i = 0; i < trial->output_count; i++) {
		const char *name =
			json_string_value(json_object_get(json_array_get(list, i), "name"));

		named[i] = (WNNNamedOperand){ WNN_STR(name), names_find(&trial->names, name) };
	}
	status = wnnGraphBuilderBuildSync(trial->builder, trial->output_count, named,
					  WNN_WAIT_FOREVER, &trial->graph);
	free(named);
	return status;
}

/*
 * Skips the case because a node of the graph runs on the CPU, and gives the first such node as the
 * reason. Returns false and skips nothing when no node does, or when that node runs there for a
 * limit of the compiler, which no case of the suite may reach.
 */
static bool skip_for_placement(WNNGraph graph, struct result *result)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	if (wnnGraphGetPlacement(graph, &placement) != WNNStatus_Success)
		return false;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		if (node->device != WNNNodeDevice_CPU)
			continue;
		if (node->reason == WNNPlacementReason_CompilerLimit)
			return false;
		end(result, OUTCOME_SKIPPED, "%.*s: %.*s", (int)node->operatorName.length,
		    node->operatorName.data, (int)node->reasonText.length, node->reasonText.data);
		return true;
	}
	return false;
}

static int open_explainer(struct runner *runner)
{
	if (!runner->explainer)
		runner->explainer = open_context(runner, WNNPlacementPolicy_PreferNPU);
	return runner->explainer ? 0 : -1;
}

/*
 * Finds out why the build of a graph failed on an NPU: builds it again with the policy PreferNPU.
 * Returns true when that places a node on the CPU, for which the case is skipped; otherwise the
 * case stays a failure.
 */
static bool explain(struct runner *runner, const struct trial *refused, struct result *result)
{
	struct trial trial;
	struct call call;
	bool at_operator, skip = false;

	if (open_explainer(runner))
		return false;
	if (!trial_begin(&trial, runner->explainer, refused->item)) {
		make_operands(&trial, &call, &at_operator);
		if (call.kind == CALL_DONE && build(&trial) == WNNStatus_Success)
			skip = skip_for_placement(trial.graph, result);
	}
	trial_end(&trial);
	return skip;
}

static int build_or_skip(struct runner *runner, struct trial *trial, struct result *result)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNStatus status = build(trial);
	char reason[REASON_SIZE];

	if (status == WNNStatus_Success) {
		result->placed = wnnGraphGetPlacement(trial->graph, &placement) ==
				 WNNStatus_Success;
		result->on_npu = placement.npuCount;
		result->folded = placement.foldedCount;
		return 0;
	}
	if (status == WNNStatus_NotSupportedError) {
		last_error(reason);
		return end(result, OUTCOME_SKIPPED, "not implemented: %.500s", reason);
	}
	end_with_error(result, "build");
	if (status == WNNStatus_OperationError && runner->npu)
		explain(runner, trial, result);
	return -1;
}

/* --- Execution ------------------------------------------------------------------------------- */

static WNNTensor make_tensor(WNNContext context, const struct values *values, bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	desc.dataType = values->type;
	desc.shape = values->rank ? (WNNUint32Array){ values->rank, values->dims } :
				    WNN_UINT32_EMPTY;
	desc.readable = !input;
	desc.writable = input;
	wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor);
	return tensor;
}

static WNNStatus write_tensor(WNNContext context, WNNTensor tensor, const struct values *values)
{
	void *packed = values_pack(values);
	WNNStatus status = wnnContextWriteTensor(context, tensor, packed, values->bytes);

	free(packed);
	return status;
}

static bool is_graph_input(WNNGraph graph, const char *name)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(graph);

	for (size_t i = 0; i < inputs.count; i++)
		if (strlen(name) == inputs.data[i].name.length &&
		    !memcmp(name, inputs.data[i].name.data, inputs.data[i].name.length))
			return true;
	return false;
}

/*
 * Creates and writes tensors for the graph's inputs, which are those that an output depends on.
 * Returns 0 or -1.
 */
static int write_inputs(WNNContext context, struct trial *trial, WNNNamedTensor *named,
			size_t *count, struct result *result)
{
	const json_t *list = list_of(trial, "inputs");

	for (size_t i = 0; i < trial->input_count; i++) {
		const struct values *values = &trial->inputs[i];
		const char *name =
			json_string_value(json_object_get(json_array_get(list, i), "name"));
		WNNTensor tensor;

		if (!is_graph_input(trial->graph, name))
			continue;
		if (!values->data)
			return end(result, OUTCOME_FAILED,
				   "malformed case: input '%s' has no elements", name);
		tensor = trial->input_tensors[i] = make_tensor(context, values, true);
		if (!tensor || write_tensor(context, tensor, values) != WNNStatus_Success)
			return end_with_error(result, "input tensor");
		named[(*count)++] = (WNNNamedTensor){ WNN_STR(name), tensor };
	}
	return 0;
}

static int dispatch(WNNContext context, struct trial *trial, struct result *result)
{
	WNNNamedTensor *in = calloc(trial->input_count + 1, sizeof(*in));
	WNNNamedTensor *out = calloc(trial->output_count + 1, sizeof(*out));
	const json_t *list = list_of(trial, "expectedOutputs");
	size_t in_count = 0;
	int ret = -1;

	if (!in || !out) {
		end(result, OUTCOME_FAILED, "memory is exhausted");
		goto done;
	}
	if (write_inputs(context, trial, in, &in_count, result))
		goto done;
	for (size_t i = 0; i < trial->output_count; i++) {
		const char *name =
			json_string_value(json_object_get(json_array_get(list, i), "name"));

		trial->output_tensors[i] = make_tensor(context, &trial->outputs[i], false);
		if (!trial->output_tensors[i]) {
			end_with_error(result, "output tensor");
			goto done;
		}
		out[i] = (WNNNamedTensor){ WNN_STR(name), trial->output_tensors[i] };
	}
	if (wnnContextDispatch(context, trial->graph, in_count, in, trial->output_count, out) !=
		    WNNStatus_Success ||
	    wnnContextWaitIdle(context, WNN_WAIT_FOREVER) != WNNStatus_Success)
		end_with_error(result, "dispatch");
	else
		ret = 0;
done:
	free(in);
	free(out);
	return ret;
}

static int compare_output(WNNContext context, const struct trial *trial, size_t i,
			  struct result *result)
{
	const json_t *json = json_array_get(list_of(trial, "expectedOutputs"), i);
	const struct values *expected = &trial->outputs[i];
	struct comparison comparison;
	void *actual = malloc(expected->bytes + 1);
	int ret = 0;

	if (!actual)
		return end(result, OUTCOME_FAILED, "memory is exhausted");
	if (wnnContextReadTensorIntoSync(context, trial->output_tensors[i], actual, expected->bytes,
					 WNN_WAIT_FOREVER) != WNNStatus_Success) {
		free(actual);
		return end_with_error(result, "readTensor");
	}
	actual = values_unpack(expected, actual);
	if (!actual)
		return end(result, OUTCOME_FAILED, "memory is exhausted");
	compare_values(expected, actual, &result->tolerance, &comparison);
	if (comparison.error > result->error)
		result->error = comparison.error;
	if (!comparison.agree) {
		char is[32], wanted[32];

		values_print(expected, actual, comparison.index, is);
		values_print(expected, expected->data, comparison.index, wanted);
		ret = end(result, OUTCOME_FAILED,
			  "output '%s': element %zu of %zu is %s, expected %s (largest error %.6g, "
			  "%s %.6g allowed)",
			  json_string_value(json_object_get(json, "name")), comparison.index,
			  expected->count, is, wanted, comparison.error,
			  metric_name(result->tolerance.metric), result->tolerance.value);
	}
	free(actual);
	return ret;
}

static void execute(struct runner *runner, struct trial *trial, struct result *result)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	char reason[REASON_SIZE];

	if (tolerance_read(json_object_get(trial->item, "tolerance"), &result->tolerance, reason)) {
		end(result, OUTCOME_FAILED, "malformed case: %.500s", reason);
		return;
	}
	if (build_or_skip(runner, trial, result))
		return;
	if (dispatch(runner->context, trial, result)) {
		renew_context(runner);
		return;
	}
	result->measured = true;
	if (wnnGraphGetLastStatistics(trial->graph, &statistics) == WNNStatus_Success)
		result->cycles = statistics.npuCycles;
	for (size_t i = 0; i < trial->output_count; i++)
		compare_output(runner->context, trial, i, result);
}

/* --- Cases ----------------------------------------------------------------------------------- */

/* Returns the bit of int4 or uint4 when the tensor @name in the list has that type, else 0. */
static WNNOperandDataTypeSet four_bits(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *tensor = json_array_get(list, i);
		const char *type = json_string_value(json_object_get(tensor, "dataType"));
		const char *own = json_string_value(json_object_get(tensor, "name"));

		if (!type || !own || strcmp(own, name))
			continue;
		if (!strcmp(type, "int4"))
			return WNN_DATA_TYPE_BIT(WNNOperandDataType_Int4);
		if (!strcmp(type, "uint4"))
			return WNN_DATA_TYPE_BIT(WNNOperandDataType_Uint4);
	}
	return 0;
}

/* Returns the 4-bit types of all operands that are named in an operator's arguments. */
static WNNOperandDataTypeSet four_bits_of(const json_t *item, json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "operand")), *key;
	WNNOperandDataTypeSet types = 0;
	json_t *part;

	if (name)
		return four_bits(json_object_get(item, "inputs"), name) |
		       four_bits(json_object_get(item, "expectedOutputs"), name);
	for (size_t i = 0; i < json_array_size(value); i++)
		types |= four_bits_of(item, json_array_get(value, i));
	json_object_foreach(value, key, part) types |= four_bits_of(item, part);
	return types;
}

/*
 * Returns the types that the context lists for the input of dequantizeLinear or the zero point of
 * quantizeLinear; 0 for other operators. The output of quantizeLinear has its zero point's type.
 */
static WNNOperandDataTypeSet listed_types(WNNContext context, const char *operator)
{
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;

	if (!operator|| wnnContextGetOpSupportLimits(context, &limits) != WNNStatus_Success)
		return 0;
	if (!strcmp(operator, "dequantizeLinear"))
		return limits.dequantizeLinear.input.dataTypes;
	return strcmp(operator, "quantizeLinear") ? 0 : limits.quantizeLinear.zeroPoint.dataTypes;
}

/*
 * Returns whether to skip a case with 4-bit types that the context does not list; *used: whether it
 * has such types.
 */
static bool skip_four_bits(WNNContext context, const json_t *item, bool *used,
			   struct result *result)
{
	const json_t *list = json_object_get(item, "operators");

	*used = false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *operator= json_array_get(list, i);
		const char *name = json_string_value(json_object_get(operator, "name"));
		WNNOperandDataTypeSet types =
			four_bits_of(item, json_object_get(operator, "arguments"));
		WNNOperandDataTypeSet missing = types ? types & ~listed_types(context, name) : 0;

		*used |= types != 0;
		if (!missing)
			continue;
		end(result, OUTCOME_SKIPPED, "opSupportLimits of the device lists no %s for %s",
		    missing & WNN_DATA_TYPE_BIT(WNNOperandDataType_Int4) ? "int4" : "uint4",
		    name ? name : "");
		return true;
	}
	return false;
}

static bool expects_refusal(const json_t *item, bool validation)
{
	const char *expect = json_string_value(json_object_get(item, "expect"));

	return validation && expect && !strcmp(expect, "TypeError");
}

static void judge_refusal(const struct call *call, struct result *result)
{
	WNNStringView name = wnnStatusGetName(call->status);

	if (call->kind == CALL_DONE)
		end(result, OUTCOME_FAILED, "accepted, expected a TypeError");
	else if (call->status != WNNStatus_TypeError)
		end(result, OUTCOME_FAILED, "refused with %.*s, expected a TypeError: %.400s",
		    (int)name.length, name.data, call->reason);
}

/*
 * Returns whether a call that policy NPUOnly refused succeeds under PreferNPU, where the CPU runs
 * such nodes.
 */
static bool only_policy_refuses(struct runner *runner, const json_t *item)
{
	struct trial trial;
	struct call call = { .kind = CALL_REFUSED };
	bool at_operator;

	if (!runner->npu || runner->mixed || open_explainer(runner))
		return false;
	if (!trial_begin(&trial, runner->explainer, item))
		make_operands(&trial, &call, &at_operator);
	trial_end(&trial);
	return call.kind == CALL_DONE;
}

static void judge_call(struct runner *runner, struct trial *trial, const struct call *call,
		       bool validation, bool outside, bool at_operator, struct result *result)
{
	const json_t *item = trial->item;
	WNNStringView name = wnnStatusGetName(call->status);

	if (call->kind == CALL_MALFORMED) {
		end(result, OUTCOME_FAILED, "malformed case: %.500s", call->reason);
	} else if (outside || (expects_refusal(item, validation) && at_operator)) {
		judge_refusal(call, result);
	} else if (call->kind == CALL_REFUSED) {
		if (call->status == WNNStatus_NotSupportedError)
			end(result, OUTCOME_SKIPPED, "not implemented: %.500s", call->reason);
		else if (only_policy_refuses(runner, item))
			end(result, OUTCOME_SKIPPED, "%.500s", call->reason);
		else
			end(result, OUTCOME_FAILED, "refused with %.*s: %.400s", (int)name.length,
			    name.data, call->reason);
	} else if (!check_outputs(trial, !validation, result) && !validation) {
		execute(runner, trial, result);
	}
}

static bool well_formed(const json_t *item, bool validation, struct result *result)
{
	const char *expect = json_string_value(json_object_get(item, "expect"));

	if (!json_is_array(json_object_get(item, "inputs")) ||
	    !json_array_size(json_object_get(item, "operators")))
		end(result, OUTCOME_FAILED, "malformed case: it needs 'inputs' and 'operators'");
	else if (validation &&
		 (!expect || (strcmp(expect, "success") && strcmp(expect, "TypeError"))))
		end(result, OUTCOME_FAILED,
		    "malformed case: 'expect' is neither \"success\" nor \"TypeError\"");
	else
		return true;
	return false;
}

void run_case(struct runner *runner, const json_t *item, bool validation, struct result *result)
{
	struct trial trial;
	struct call call;
	bool at_operator, extension, outside;

	memset(result, 0, sizeof(*result));
	if (!well_formed(item, validation, result))
		return;
	if (skip_four_bits(runner->context, item, &extension, result))
		return;
	outside = json_object_get(item, "outsideSpec") && !extension;
	if (trial_begin(&trial, runner->context, item)) {
		end_with_error(result, "graph builder");
	} else {
		make_operands(&trial, &call, &at_operator);
		judge_call(runner, &trial, &call, validation, outside, at_operator, result);
	}
	trial_end(&trial);
}
