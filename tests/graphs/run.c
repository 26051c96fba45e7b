// SPDX-License-Identifier: MIT
/* Runs a graph on a context of the public API, as an application would. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/graph.h"
#include "api/record.h"
#include "graph.h"

static void say(struct run *run, enum run_status status, const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	run->status = status;
	snprintf(run->message, sizeof(run->message), "%s: %.*s", what, (int)error.message.length,
		 error.message.data ? error.message.data : "");
}

/* --- Contexts --- */

/*
 * Creates the context of a target. Only that of a target without rules has them turned off, also
 * when other targets are opened again after a failure. Returns its status.
 */
static WNNStatus create_context(struct target *target, const WNNContextOptions *options)
{
	const char *variable = "WEBNN_RULES", *value = getenv(variable);
	char *before = value ? strdup(value) : NULL;
	WNNStatus status;

	if (target->plain)
		setenv(variable, "-all", 1);
	status = wnnInstanceCreateContextSync(target->instance, options, WNN_WAIT_FOREVER,
					      &target->context);
	if (before)
		setenv(variable, before, 1);
	else
		unsetenv(variable);
	free(before);
	return status;
}

int target_open(struct target *target)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNError error = WNN_ERROR_INIT;

	if (target->layer)
		setenv("WEBNN_CPU_LAYER", target->layer, 1);
	if (target->level)
		setenv("WEBNN_CPU_LEVEL", target->level, 1);
	device.device = WNN_STR(target->device);
	device.placementPolicy = target->policy;
	device.simSramBytes = target->sram;
	device.threads = device.simThreads = target->threads;
	device.constantFolding = target->folding;
	options.nextInChain = &device.chain;
	target->limits = limits;
	target->instance = wnnCreateInstance(NULL);
	if (target->instance && !create_context(target, &options) &&
	    !wnnContextGetOpSupportLimits(target->context, &target->limits))
		return 0;
	wnnGetLastError(&error);
	fprintf(stderr, "graph-fuzz: no context on the device '%s': %.*s\n", target->device,
		(int)error.message.length, error.message.data ? error.message.data : "");
	return -1;
}

void target_close(struct target *target)
{
	if (target->context)
		wnnContextRelease(target->context);
	if (target->instance)
		wnnInstanceRelease(target->instance);
	target->context = NULL;
	target->instance = NULL;
}

/* --- Kernels --- */

static struct kernel_count {
	char name[40];
	uint64_t count;
} kernels[96];

void run_count_kernel(const char *name, size_t length)
{
	size_t i = 0;

	if (length >= sizeof(kernels[0].name))
		length = sizeof(kernels[0].name) - 1;
	while (i < ARRAY_SIZE(kernels) - 1 && kernels[i].count &&
	       (strlen(kernels[i].name) != length || memcmp(kernels[i].name, name, length)))
		i++;
	memcpy(kernels[i].name, name, length);
	kernels[i].name[length] = '\0';
	kernels[i].count++;
}

void run_print_kernels(void)
{
	printf("kernels:");
	for (size_t i = 0; i < ARRAY_SIZE(kernels) && kernels[i].count; i++)
		printf("%s %s %llu", i ? "," : "", kernels[i].name,
		       (unsigned long long)kernels[i].count);
	printf("\n");
}

/* --- Recording --- */

/*
 * Returns a new input whose dimensions of the size late->size have a name and a range; NULL on
 * error.
 */
static WNNOperand record_late(WNNGraphBuilder builder, const struct graph_value *value,
			      const char *name, const struct late *late)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNDimensionRanges ranges = WNN_DIMENSION_RANGES_INIT;
	WNNDimensionRange list[IR_MAX_RANK];
	uint32_t shape[IR_MAX_RANK];

	for (uint32_t d = 0; d < value->rank; d++) {
		const WNNDimensionRange plain = WNN_DIMENSION_RANGE_INIT;

		list[d] = plain;
		shape[d] = value->dims[d];
		if (shape[d] != late->size)
			continue;
		list[d] = (WNNDimensionRange){ WNN_STR("size"), late->min, late->max };
		shape[d] = late->max;
	}
	ranges.rangeCount = value->rank;
	ranges.ranges = list;
	desc.nextInChain = &ranges.chain;
	desc.dataType = value->type;
	desc.shape = (WNNUint32Array){ value->rank, shape };
	return wnnGraphBuilderInput(builder, WNN_STR(name), &desc);
}

static int record_leaf(WNNGraphBuilder builder, const struct graph_value *value, int id,
		       const struct late *late, WNNOperand *out)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	char name[16];
	void *data;

	desc.dataType = value->type;
	desc.shape = value->rank ? (WNNUint32Array){ value->rank, value->dims } : WNN_UINT32_EMPTY;
	snprintf(name, sizeof(name), "v%d", id);
	if (late_leaf(late, value)) {
		*out = record_late(builder, value, name, late);
	} else if (value->kind == GRAPH_INPUT) {
		*out = wnnGraphBuilderInput(builder, WNN_STR(name), &desc);
	} else {
		data = graph_data(value);
		*out = wnnGraphBuilderConstant(builder, &desc, data, graph_bytes(value));
		free(data);
	}
	return *out ? 0 : -1;
}

static int record_node(WNNGraphBuilder builder, const struct graph_node *node,
		       const struct late *late, WNNOperand *values)
{
	WNNOperand outputs[GRAPH_MAX_RESULTS] = { NULL };
	struct graph_node named = *node;
	struct graph_call call;

	if (late)
		late_node(late, &named,
			  wnnGraphBuilderDimension(builder, WNN_STR("size"), 1, 0, 1));
	graph_call_make(&call, &named, values);
	if (wnn_builder_record(builder, &call.call, node->num_results, outputs))
		return -1;
	for (uint32_t i = 0; i < node->num_results; i++)
		values[node->results[i]] = outputs[i];
	return 0;
}

static size_t name_outputs(const struct graph *graph, const WNNOperand *values,
			   WNNNamedOperand *named, char (*names)[16])
{
	size_t count = 0;

	for (uint32_t v = 0; v < graph->num_values; v++) {
		if (!graph->values[v].output)
			continue;
		snprintf(names[count], sizeof(names[count]), "o%u", (unsigned int)v);
		named[count] = (WNNNamedOperand){ WNN_STR(names[count]), values[v] };
		count++;
	}
	return count;
}

/*
 * Builds the graph; some dimensions have a name unless @late is NULL. Returns NULL, and sets the
 * status of the run, on failure.
 */
static WNNGraph build(struct target *target, const struct graph *graph, const struct late *late,
		      struct run *run)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(target->context);
	WNNOperand values[GRAPH_MAX_VALUES] = { NULL };
	WNNNamedOperand named[GRAPH_MAX_VALUES];
	char names[GRAPH_MAX_VALUES][16];
	WNNGraph built = NULL;
	WNNStatus status;
	size_t count;

	for (uint32_t v = 0; v < graph->num_values; v++)
		if (graph->values[v].kind != GRAPH_RESULT &&
		    record_leaf(builder, &graph->values[v], (int)v, late, &values[v])) {
			say(run, RUN_REFUSED, "leaf");
			goto done;
		}
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		if (record_node(builder, &graph->nodes[n], late, values)) {
			say(run, RUN_REFUSED, "record");
			goto done;
		}
	count = name_outputs(graph, values, named, names);
	status = wnnGraphBuilderBuildSync(builder, count, named, WNN_WAIT_FOREVER, &built);
	if (status)
		say(run,
		    status == WNNStatus_OperationError || status == WNNStatus_NotSupportedError ||
				    /* With a name: no used input tells its size. */
				    (late && status == WNNStatus_TypeError) ?
			    RUN_REFUSED :
			    RUN_FAILED,
		    "build");
done:
	wnnGraphBuilderRelease(builder);
	return built;
}

/* --- Placement --- */

/*
 * Returns whether a node may be inexact: only softmax and matmul of an attention that processes
 * keys in blocks may have other bits.
 */
static bool has_mark(const struct graph_node *node, WNNExactness exactness)
{
	return exactness == WNNExactness_SplitKeys &&
	       (node->op == WNN_OP_SOFTMAX || node->op == WNN_OP_MATMUL);
}

/*
 * Sets run->exact of each result: whether its bits are the same for every size of SRAM, because
 * its node is exact and the operands have such bits, too.
 */
static void follow_exactness(const struct graph *graph, const WNNGraphPlacement *placement,
			     struct run *run)
{
	bool used[GRAPH_MAX_NODES] = { false }, needed[GRAPH_MAX_VALUES];
	size_t next = 0;

	for (uint32_t v = 0; v < graph->num_values; v++) {
		needed[v] = graph->values[v].output;
		run->exact[v] = true;
	}
	for (uint32_t n = graph->num_nodes; n-- > 0;) {
		for (uint32_t i = 0; i < graph->nodes[n].num_results; i++)
			used[n] |= needed[graph->nodes[n].results[i]];
		for (uint32_t i = 0; used[n] && i < graph->nodes[n].num_operands; i++)
			if (graph->nodes[n].operands[i] >= 0)
				needed[graph->nodes[n].operands[i]] = true;
	}
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct graph_node *node = &graph->nodes[n];
		bool exact = true;

		if (used[n] && next < placement->nodeCount) {
			const WNNNodePlacement *place = &placement->nodes[next++];

			exact = place->exactness == WNNExactness_Undefined ||
				place->exactness == WNNExactness_Exact;
			run->marked |= !exact && !has_mark(node, place->exactness);
		}
		for (uint32_t i = 0; i < node->num_operands; i++)
			exact &= node->operands[i] < 0 || run->exact[node->operands[i]];
		for (uint32_t i = 0; i < node->num_results; i++)
			run->exact[node->results[i]] = exact;
	}
}

static void note_placement(const struct graph *graph, WNNGraph built, struct run *run)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	const struct ir_graph *ir;

	if (wnnGraphGetPlacement(built, &placement))
		return;
	run->on_npu = (uint32_t)placement.npuCount;
	run->on_cpu = (uint32_t)placement.cpuCount;
	run->folded = (uint32_t)placement.foldedCount;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		WNNStringView kernel = placement.nodes[i].kernel;

		if (kernel.length)
			run_count_kernel(kernel.data, kernel.length);
		run->kernels = digest_bytes(run->kernels, kernel.data, kernel.length);
	}
	follow_exactness(graph, &placement, run);
	ir = run_compiled_graph(built->compiled);
	for (uint32_t n = 0; n < ir->num_nodes; n++) {
		const struct npu_node_info *info =
			run_compiled_npu_info(built->compiled, ir->nodes[n]);

		run->tiled |= info && info->num_tiles > 1;
	}
}

/* --- Dispatch --- */

static WNNTensor make_tensor(WNNContext context, const struct graph_value *value, bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	desc.dataType = value->type;
	desc.shape = (WNNUint32Array){ value->rank, value->dims };
	desc.readable = !input;
	desc.writable = input;
	wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor);
	return tensor;
}

static int make_ports(struct target *target, const struct graph *graph,
		      WNNNamedOperandDescriptorArray ports, bool input, WNNNamedTensor *tensors)
{
	for (size_t i = 0; i < ports.count; i++) {
		const struct graph_value *value =
			&graph->values[strtoul(ports.data[i].name.data + 1, NULL, 10)];
		void *data;

		tensors[i] = (WNNNamedTensor){ ports.data[i].name,
					       make_tensor(target->context, value, input) };
		if (!tensors[i].tensor)
			return -1;
		if (!input)
			continue;
		data = graph_data(value);
		wnnContextWriteTensor(target->context, tensors[i].tensor, data, graph_bytes(value));
		free(data);
	}
	return 0;
}

static void read_outputs(struct target *target, const struct graph *graph,
			 WNNNamedOperandDescriptorArray ports, const WNNNamedTensor *tensors,
			 struct run *run)
{
	for (size_t i = 0; i < ports.count; i++) {
		unsigned long v = strtoul(ports.data[i].name.data + 1, NULL, 10);
		size_t bytes = graph_bytes(&graph->values[v]);

		run->outputs[v] = malloc(bytes + 1);
		if (wnnContextReadTensorIntoSync(target->context, tensors[i].tensor,
						 run->outputs[v], bytes, WNN_WAIT_FOREVER))
			say(run, RUN_FAILED, "readTensor");
	}
}

/*
 * Dispatches twice and waits; returns success or the first error. The results are those of the
 * second dispatch, because it may use weights that the first one left in SRAM.
 */
static WNNStatus dispatch_twice(struct target *target, WNNGraph built,
				WNNNamedOperandDescriptorArray inputs, WNNNamedTensor const *in,
				WNNNamedOperandDescriptorArray outputs, WNNNamedTensor const *out)
{
	WNNStatus status = WNNStatus_Success;

	for (int i = 0; i < 2 && !status; i++)
		status = wnnContextDispatch(target->context, built, inputs.count, in, outputs.count,
					    out);
	return status ? status : wnnContextWaitIdle(target->context, WNN_WAIT_FOREVER);
}

static void dispatch(struct target *target, const struct graph *graph, WNNGraph built,
		     struct run *run)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(built);
	WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(built);
	WNNNamedTensor in[GRAPH_MAX_VALUES] = { 0 }, out[GRAPH_MAX_VALUES] = { 0 };

	if (make_ports(target, graph, inputs, true, in) ||
	    make_ports(target, graph, outputs, false, out))
		say(run, RUN_FAILED, "createTensor");
	else if (dispatch_twice(target, built, inputs, in, outputs, out))
		say(run, RUN_FAILED, "dispatch");
	else
		read_outputs(target, graph, outputs, out, run);
	for (size_t i = 0; i < inputs.count; i++)
		wnnTensorRelease(in[i].tensor);
	for (size_t i = 0; i < outputs.count; i++)
		wnnTensorRelease(out[i].tensor);
}

/* --- Files --- */

/*
 * Saves the graph and returns the one that is loaded from the file; NULL, with a failed run, on
 * error.
 */
static WNNGraph save_and_load(struct target *target, WNNGraph built, struct run *run)
{
	char path[] = "/tmp/graph-fuzz-XXXXXX";
	int fd = mkstemp(path);
	WNNGraph loaded = NULL;

	if (fd < 0) {
		run->status = RUN_FAILED;
		snprintf(run->message, sizeof(run->message), "no temporary file");
		return NULL;
	}
	close(fd);
	if (wnnGraphSave(built, WNN_STR(path)))
		say(run, RUN_FAILED, "save");
	else if (wnnContextLoadGraphSync(target->context, WNN_STR(path), WNN_WAIT_FOREVER, &loaded))
		say(run, RUN_FAILED, "load");
	unlink(path);
	return loaded;
}

static bool same_text(WNNGraph a, WNNGraph b, WNNGraphText kind)
{
	WNNString text[2] = { WNN_STRING_INIT, WNN_STRING_INIT };
	bool same = wnnGraphGetText(a, kind, &text[0]) == wnnGraphGetText(b, kind, &text[1]) &&
		    text[0].length == text[1].length &&
		    (!text[0].length || !memcmp(text[0].data, text[1].data, text[0].length));

	wnnStringFreeMembers(text[0]);
	wnnStringFreeMembers(text[1]);
	return same;
}

/*
 * Makes the run a failed one unless the saved and the loaded graph have the same texts and results.
 */
static void compare_saved(struct target *target, const struct graph *graph, WNNGraph built,
			  WNNGraph loaded, struct run *run)
{
	struct run before = { 0 };
	bool same = same_text(built, loaded, WNNGraphText_Nodes) &&
		    same_text(built, loaded, WNNGraphText_Plan) &&
		    same_text(built, loaded, WNNGraphText_Program);

	dispatch(target, graph, built, &before);
	for (uint32_t v = 0; v < graph->num_values; v++)
		same &= !before.outputs[v] == !run->outputs[v] &&
			(!before.outputs[v] || !memcmp(before.outputs[v], run->outputs[v],
						       graph_bytes(&graph->values[v])));
	if (!same && before.status == RUN_DONE && run->status == RUN_DONE) {
		run->status = RUN_FAILED;
		snprintf(run->message, sizeof(run->message),
			 "the graph is another one after it was saved and loaded");
	}
	run_free(&before);
}

void run_graph(struct target *target, const struct graph *graph, struct run *run)
{
	WNNGraph built, loaded = NULL;

	memset(run, 0, sizeof(*run));
	built = build(target, graph, NULL, run);
	if (!built)
		return;
	if (target->saved)
		loaded = save_and_load(target, built, run);
	if (run->status == RUN_DONE) {
		note_placement(graph, loaded ? loaded : built, run);
		dispatch(target, graph, loaded ? loaded : built, run);
	}
	if (loaded)
		compare_saved(target, graph, built, loaded, run);
	wnnGraphRelease(loaded);
	wnnGraphRelease(built);
	/* A fault may have made the context unusable. */
	if (run->status == RUN_FAILED) {
		target_close(target);
		if (target_open(target))
			exit(2);
	}
}

/* --- Names for dimensions --- */

/*
 * Compares the outputs of the graph with the named dimension, for one size, with those of a graph
 * that is built for this size.
 */
static void compare_late(struct target *target, const struct graph *graph, const struct late *late,
			 uint32_t size, WNNGraph built, struct run *run)
{
	struct graph *at = malloc(sizeof(*at));
	struct run named = { 0 }, fixed = { 0 };

	if (!at || late_graph(graph, late, size, at)) {
		run->status = RUN_FAILED;
		snprintf(run->message, sizeof(run->message),
			 "late: the graph is built with a name, but invalid with the size %u",
			 (unsigned int)size);
		free(at);
		return;
	}
	dispatch(target, at, built, &named);
	run_graph(target, at, &fixed);
	if (named.status == RUN_FAILED || fixed.status != RUN_DONE) {
		run->status = RUN_FAILED;
		snprintf(run->message, sizeof(run->message), "late, size %u: %s%.600s",
			 (unsigned int)size, named.status ? "named, " : "fixed, ",
			 named.status ? named.message : fixed.message);
	}
	for (uint32_t v = 0; v < at->num_values && run->status == RUN_DONE; v++)
		if (fixed.outputs[v] &&
		    memcmp(named.outputs[v], fixed.outputs[v], graph_bytes(&at->values[v]))) {
			run->status = RUN_FAILED;
			snprintf(run->message, sizeof(run->message),
				 "late: v%u has other bits with a name than with the size %u, of "
				 "%u to %u in the place of %u",
				 (unsigned int)v, (unsigned int)size, (unsigned int)late->min,
				 (unsigned int)late->max, (unsigned int)late->size);
		}
	run_free(&named);
	run_free(&fixed);
	free(at);
}

void run_late(struct target *target, const struct graph *graph, const struct late *late,
	      struct run *run)
{
	const uint32_t sizes[] = { late->max, late->min, (late->min + late->max) / 2, late->size };
	WNNGraph built;

	memset(run, 0, sizeof(*run));
	built = build(target, graph, late, run);
	for (size_t i = 0; built && i < ARRAY_SIZE(sizes) && run->status == RUN_DONE; i++)
		compare_late(target, graph, late, sizes[i], built, run);
	wnnGraphRelease(built);
}

void run_free(struct run *run)
{
	for (size_t v = 0; v < GRAPH_MAX_VALUES; v++) {
		free(run->outputs[v]);
		run->outputs[v] = NULL;
	}
}
