// SPDX-License-Identifier: MIT
/*
 * bench-npu-graph: builds a network for the device model, npu-only, runs it and prints its cost as
 * JSON. The network is a table of layers (networks.py) with seeded weights, or that of a shared
 * model with its own weights. The program can instead only build a graph of many nodes: "chain"; a
 * chain with a constant for each node; a mesh whose nodes use any of the thousand nodes before
 * them; a tree that begins with half of its nodes side by side; or "outputs", a chain of which
 * every node is an output.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "api/graph.h"
#include "../table.h"
#include "models.h"
#include "run/compiled_private.h"
#include "util/float16.h"

#define LOADS	   5
#define MAX_INPUTS 4
#define SIDE	   32 /* values of generated graphs are SIDE x SIDE */

struct options {
	const char *table, *model, *models;
	uint64_t weights; /* how many float32 numbers the table needs */
	enum bench_type type;
	uint32_t rank, input[4];
	uint32_t dispatches; /* how often to dispatch; the last dispatch counts */
	uint64_t sram_bytes;
	/* shape and device of a generated graph, which is only built and timed */
	const char *many, *device;
	uint32_t count; /* nodes of the generated graph */
	bool nodes;
};

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns @count random numbers between -scale and scale. */
static float *seeded(uint64_t count, float scale)
{
	float *data = malloc((count + 1) * sizeof(*data));
	uint32_t x = 1;

	bench_check(data, "memory");
	for (uint64_t i = 0; i < count; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = ((float)(x >> 8) / (1 << 23) - 1) * scale;
	}
	return data;
}

static WNNTensor make_tensor(WNNContext context, const WNNNamedOperandDescriptor *like, bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = like->dataType;
	desc.shape = like->shape;
	desc.writable = input;
	desc.readable = !input;
	bench_check(wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor) ==
			    WNNStatus_Success,
		    "tensor");
	return tensor;
}

static WNNTensor make_input(WNNContext context, const WNNNamedOperandDescriptor *like)
{
	WNNTensor tensor = make_tensor(context, like, true);
	bool half = like->dataType == WNNOperandDataType_Float16;
	uint64_t count = 1;
	float *data;

	for (size_t i = 0; i < like->shape.count; i++)
		count *= like->shape.data[i];
	data = seeded(count, 1);
	for (uint64_t i = 0; half && i < count; i++)
		((uint16_t *)data)[i] = wnn_float_to_half(data[i]);
	bench_check(wnnContextWriteTensor(context, tensor, data, count * (half ? 2 : 4)) ==
			    WNNStatus_Success,
		    "write");
	free(data);
	return tensor;
}

static void run(WNNContext context, WNNGraph graph, uint32_t dispatches)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(graph),
				       outputs = wnnGraphGetOutputs(graph);
	WNNNamedTensor in[MAX_INPUTS], out[BENCH_MAX_OUTPUTS];

	bench_check(inputs.count <= MAX_INPUTS && outputs.count <= BENCH_MAX_OUTPUTS,
		    "inputs and outputs");
	for (size_t i = 0; i < inputs.count; i++)
		in[i] = (WNNNamedTensor){ inputs.data[i].name,
					  make_input(context, &inputs.data[i]) };
	for (size_t i = 0; i < outputs.count; i++)
		out[i] = (WNNNamedTensor){ outputs.data[i].name,
					   make_tensor(context, &outputs.data[i], false) };
	for (uint32_t i = 0; i < dispatches; i++)
		bench_check(wnnContextDispatch(context, graph, inputs.count, in, outputs.count,
					       out) == WNNStatus_Success &&
				    wnnContextWaitIdle(context, WNN_WAIT_FOREVER) ==
					    WNNStatus_Success,
			    "dispatch");
	for (size_t i = 0; i < inputs.count; i++)
		wnnTensorRelease(in[i].tensor);
	for (size_t i = 0; i < outputs.count; i++)
		wnnTensorRelease(out[i].tensor);
}

/* ---- graphs of many nodes */

#define MESH_REACH 1000

struct many {
	WNNGraphBuilder builder;
	WNNOperand *values; /* 0: the input; i: result of node i */
	uint32_t count;
	float *constant;
};

static WNNOperand chain_node(const struct many *m, uint32_t i)
{
	switch (i % 3) {
	case 0:
		return wnnGraphBuilderMatmul(m->builder, m->values[i - 1], m->values[0], NULL);
	case 1:
		return wnnGraphBuilderTanh(m->builder, m->values[i - 1], NULL);
	default:
		return wnnGraphBuilderAdd(m->builder, m->values[i - 1], m->values[i - 2], NULL);
	}
}

static WNNOperand constants_node(const struct many *m, uint32_t i)
{
	static const uint32_t shape[] = { SIDE, SIDE };
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperand constant;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ 2, shape };
	m->constant[0] = (float)i;
	constant = wnnGraphBuilderConstant(m->builder, &desc, m->constant,
					   SIDE * SIDE * sizeof(*m->constant));
	return i % 2 ? wnnGraphBuilderMul(m->builder, m->values[i - 1], constant, NULL) :
		       wnnGraphBuilderMatmul(m->builder, m->values[i - 1], constant, NULL);
}

static WNNOperand mesh_node(const struct many *m, uint32_t i)
{
	static uint32_t x = 1;
	uint32_t back = i < MESH_REACH ? i : MESH_REACH;

	x = x * 1664525 + 1013904223;
	return i % 4 ? wnnGraphBuilderAdd(m->builder, m->values[i - 1],
					  m->values[i - 1 - (x >> 8) % back], NULL) :
		       wnnGraphBuilderTanh(m->builder, m->values[i - 1], NULL);
}

static WNNOperand tree_node(const struct many *m, uint32_t i)
{
	uint32_t leaves = m->count / 2 + 1;
	WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;

	linear.alpha = i;
	if (i <= leaves)
		return wnnGraphBuilderLinear(m->builder, m->values[0], &linear);
	i = 2 * (i - leaves);
	return wnnGraphBuilderAdd(m->builder, m->values[i - 1], m->values[i], NULL);
}

static const struct {
	const char *name;
	WNNOperand (*add)(const struct many *m, uint32_t i);
} many_graphs[] = {
	{ "chain", chain_node }, { "constants", constants_node }, { "mesh", mesh_node },
	{ "tree", tree_node },	 { "outputs", chain_node },
};

static void add_nodes(struct many *m, const char *name)
{
	for (size_t g = 0; g < sizeof(many_graphs) / sizeof(many_graphs[0]); g++) {
		if (strcmp(many_graphs[g].name, name))
			continue;
		for (uint32_t i = 1; i <= m->count; i++) {
			m->values[i] = many_graphs[g].add(m, i);
			bench_check(m->values[i], "operator");
		}
		return;
	}
	bench_check(false, name);
}

/*
 * Returns an array of named outputs: the last value or, with @all, each computed value. Exits when
 * memory is exhausted.
 */
static WNNNamedOperand *name_outputs(const struct many *m, bool all)
{
	WNNNamedOperand *outputs = calloc(m->count, sizeof(*outputs));

	bench_check(outputs, "outputs");
	for (uint32_t i = 0; i < (all ? m->count : 1); i++) {
		char *name = malloc(16);

		bench_check(name, "outputs");
		snprintf(name, 16, "y%u", i);
		outputs[i] = (WNNNamedOperand){ .name = { name, strlen(name) },
						.operand = m->values[all ? i + 1 : m->count] };
	}
	return outputs;
}

static void measure_many(WNNContext context, const struct options *options)
{
	static const uint32_t shape[] = { SIDE, SIDE };
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	struct many m = { .builder = wnnContextCreateGraphBuilder(context),
			  .values = calloc(options->count + 1, sizeof(WNNOperand)),
			  .count = options->count,
			  .constant = seeded(SIDE * SIDE, 1) };
	bool all = !strcmp(options->many, "outputs");
	WNNNamedOperand *outputs;
	double begin, end;
	WNNGraph graph;

	bench_check(m.builder && m.values, "graph builder");
	begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ 2, shape };
	m.values[0] = wnnGraphBuilderInput(m.builder, WNN_STR("x"), &desc);
	add_nodes(&m, options->many);
	outputs = name_outputs(&m, all);
	bench_check(wnnGraphBuilderBuildSync(m.builder, all ? m.count : 1, outputs,
					     WNN_WAIT_FOREVER, &graph) == WNNStatus_Success,
		    "build");
	end = seconds(CLOCK_PROCESS_CPUTIME_ID);
	printf("{\"build_s\": %.4f}\n", end - begin);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(m.builder);
	for (uint32_t i = 0; i < (all ? m.count : 1); i++)
		free((char *)outputs[i].name.data);
	free(outputs);
	free(m.values);
	free(m.constant);
}

/* ---- networks */

/*
 * Returns an array with operator, kernel and cycles of each node, from the time stamps. Nodes
 * without instructions, such as views, are left out.
 */
static json_t *describe_nodes(WNNGraph graph)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	json_t *nodes = json_array();

	bench_check(wnnGraphGetProfile(graph, &profile) == WNNStatus_Success, "profile");
	for (size_t i = 0; i < profile.nodeCount; i++) {
		const WNNProfileNode *node = &profile.nodes[i];

		if (!node->instructionCount)
			continue;
		json_array_append_new(nodes,
				      json_pack("{s:s%, s:s%, s:I, s:I, s:I, s:I, s:I}", "op",
						node->operatorName.data, node->operatorName.length,
						"kernel", node->kernel.data, node->kernel.length,
						"cycles", (json_int_t)node->cycles, "ld",
						(json_int_t)node->loadCycles, "st",
						(json_int_t)node->storeCycles, "mxu",
						(json_int_t)node->matrixCycles, "vpu",
						(json_int_t)node->vectorCycles));
	}
	wnnGraphProfileFreeMembers(profile);
	return nodes;
}

/*
 * Returns the bytes of the results between nodes, and of the memory that results share when their
 * live ranges do not overlap.
 */
static json_t *describe_memory(WNNGraph graph)
{
	const struct ir_graph *ir = run_compiled_graph(graph->compiled);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ir->num_nodes; i++)
		for (uint32_t r = 0; r < ir->nodes[i]->num_results; r++)
			bytes += (uint64_t)ir_type_bytes(&ir->nodes[i]->results[r]->type);
	for (uint32_t i = 0; i < ir->num_outputs; i++)
		bytes -= (uint64_t)ir_type_bytes(&ir->outputs[i].value->type);
	return json_pack("{s:I, s:I}", "between_nodes", (json_int_t)bytes, "arena",
			 (json_int_t)run_compiled_arena_bytes(graph->compiled));
}

/* Returns the CPU seconds of loading the graph from a file, the least of LOADS measurements. */
static double measure_load(WNNContext context, WNNGraph graph)
{
	char path[] = "/tmp/bench-npu-XXXXXX";
	int fd = mkstemp(path);
	double least = 1e9;

	bench_check(fd >= 0, "temporary file");
	close(fd);
	bench_check(wnnGraphSave(graph, WNN_STR(path)) == WNNStatus_Success, "save");
	for (int i = 0; i < LOADS; i++) {
		double begin = seconds(CLOCK_PROCESS_CPUTIME_ID), took;
		WNNGraph loaded = NULL;

		bench_check(wnnContextLoadGraphSync(context, WNN_STR(path), WNN_WAIT_FOREVER,
						    &loaded) == WNNStatus_Success,
			    "load");
		took = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
		least = took < least ? took : least;
		wnnGraphRelease(loaded);
	}
	unlink(path);
	return least;
}

/* Returns the cycles that the compiler expects of the first dispatch. */
static uint64_t estimate(WNNGraph graph)
{
	const struct run_compiled *compiled = graph->compiled;
	uint64_t cycles = 0;

	for (uint32_t i = 0; i < compiled->num_steps; i++)
		if (compiled->steps[i].program)
			cycles += compiled->steps[i].program->est_cycles;
	return cycles;
}

static json_t *describe(WNNGraph graph, const struct options *options, double build_seconds,
			double load_seconds)
{
	const struct run_statistics *s = &graph->statistics;
	const WNNGraphPlacement *placement = &graph->placement;
	json_t *result = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:f, s:f}",
		"cycles", (json_int_t)s->npu_cycles, "estimate", (json_int_t)estimate(graph),
		"macs", (json_int_t)s->macs, "bytes_ld", (json_int_t)s->bytes_read, "bytes_st",
		(json_int_t)s->bytes_written, "busy", "cp", (json_int_t)s->busy[0], "ld",
		(json_int_t)s->busy[1], "st", (json_int_t)s->busy[2], "mxu", (json_int_t)s->busy[3],
		"vpu", (json_int_t)s->busy[4], "nodes", "npu", (json_int_t)placement->npuCount,
		"cpu", (json_int_t)placement->cpuCount, "folded",
		(json_int_t)placement->foldedCount, "build_s", build_seconds, "load_s",
		load_seconds);

	bench_check(result, "memory");
	json_object_set_new(result, "memory", describe_memory(graph));
	if (options->nodes)
		json_object_set_new(result, "plan", describe_nodes(graph));
	return result;
}

static WNNGraph build(const struct options *options, WNNContext context, float *weights)
{
	struct model_paths paths = { NULL, options->models };
	struct model model;

	if (options->table)
		return bench_table_build(context, options->table, weights, false, options->type,
					 options->rank, options->input);
	if (model_build(&model, options->model, &paths, context, 1))
		exit(1);
	return model.graph;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		options->table = arg;
		return 0;
	case 'w':
		options->weights = strtoull(arg, NULL, 0);
		return 0;
	case 'i':
		for (char *at = arg; options->rank < 4 && *at; at += *at == ',')
			options->input[options->rank++] = (uint32_t)strtoul(at, &at, 10);
		return 0;
	case 'T':
		if (bench_type_find(arg) < 0)
			argp_error(state, "no type '%s'", arg);
		options->type = (enum bench_type)bench_type_find(arg);
		return 0;
	case 'D':
		options->dispatches = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case 'm':
		options->model = arg;
		return 0;
	case 'M':
		options->models = arg;
		return 0;
	case 'g':
		options->many = arg;
		return 0;
	case 'c':
		options->count = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case 'd':
		options->device = arg;
		return 0;
	case 's':
		options->sram_bytes = strtoull(arg, NULL, 0);
		return 0;
	case 'n':
		options->nodes = true;
		return 0;
	case ARGP_KEY_END:
		if (!options->many + !options->model + !options->table != 2 ||
		    !options->table == !!options->rank || !options->many != !options->count)
			argp_error(state,
				   "give --model, --graph and --count, or --table and --input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void measure(const struct options *options, WNNContext context)
{
	/* The weights are so small that sums over many products stay finite. */
	float *weights = options->table ? seeded(options->weights, .05f) : NULL;
	double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
	WNNGraph graph = build(options, context, weights);
	double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
	json_t *result;

	run(context, graph, options->dispatches);
	result = describe(graph, options, took, measure_load(context, graph));
	json_dumpf(result, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(result);
	wnnGraphRelease(graph);
	free(weights);
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "table", 't', "FILE", 0, "A table of layers", 0 },
		{ "weights", 'w', "N", 0, "Numbers that the weights of the table have", 0 },
		{ "input", 'i', "N,...", 0, "The shape of the table's input", 0 },
		{ "type", 'T', "TYPE", 0, "The type of the table: f32, f16, int8, w8, w4, f8 or mx",
		  0 },
		{ "dispatches", 'D', "N", 0, "So many, of which the last one counts", 0 },
		{ "model", 'm', "NAME", 0, "squeezenet, mobilenetv2 or lenet instead", 0 },
		{ "models", 'M', "DIR", 0, "Folder of the shared models", 0 },
		{ "graph", 'g', "NAME", 0, "Only build a chain, mesh, tree, constants or outputs",
		  0 },
		{ "count", 'c', "N", 0, "Nodes of the graph of --graph", 0 },
		{ "device", 'd', "NAME", 0, "Instead of sim: cpu", 0 },
		{ "sram", 's', "BYTES", 0, "Another size of the SRAM", 0 },
		{ "nodes", 'n', NULL, 0, "The profile of each node as well", 0 },
		{ 0 }
	};
	static const struct argp argp = { known, parse, NULL, "Runs a network of bench_npu.py.",
					  NULL,	 NULL,	NULL };
	struct options options = { .dispatches = 1, .device = "sim" };
	struct model_device device = { .threads = 1 };
	WNNInstance instance;
	WNNContext context;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	device.name = options.device;
	device.npu_only = strcmp(options.device, "cpu") != 0;
	device.sram_bytes = options.sram_bytes;
	device.profile = options.nodes;
	instance = wnnCreateInstance(NULL);
	bench_check(instance, "instance");
	context = model_context(instance, &device);
	if (!context)
		return 1;
	if (options.many)
		measure_many(context, &options);
	else
		measure(&options, context);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
