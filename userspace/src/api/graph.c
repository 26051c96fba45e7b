// SPDX-License-Identifier: MIT
/* Built graphs: creation and release, inputs and outputs, texts and statistics. */
#include "api/family.h"

#include <stdlib.h>
#include <string.h>

#include "graph/label.h"
#include "onpu/isa.h"
#include "util/arena.h"
#include "util/malloc.h"

/* --- The end of a graph --- */

static void drop_compiled(WNNGraph graph)
{
	struct run_compiled *compiled;

	/* Jobs on the device may still use the graph's buffers. */
	run_device_drain(&graph->context->device);
	pthread_mutex_lock(&graph->lock);
	compiled = graph->compiled;
	graph->compiled = NULL;
	pthread_mutex_unlock(&graph->lock);
	run_compiled_unref(compiled);
	if (graph->family)
		family_drop(graph);
}

static void free_graph(struct timeline_task *task, bool cancelled)
{
	WNNGraph graph = (void *)((char *)task - offsetof(struct WNNGraphImpl, task));
	WNNContext context = graph->context;

	(void)cancelled;
	drop_compiled(graph);
	pthread_mutex_destroy(&graph->lock);
	run_profile_destroy(graph->profile);
	family_destroy(graph->family);
	wnn_arena_destroy(graph->arena);
	object_label_exit(&graph->label);
	api_free_object(graph);
	context_put(context);
}

static void give_up(struct timeline_task *task, bool cancelled)
{
	WNNGraph graph = (void *)((char *)task - offsetof(struct WNNGraphImpl, task));

	(void)cancelled;
	drop_compiled(graph);
	graph_put(graph);
}

static bool try_get(WNNGraph graph)
{
	unsigned int refs = atomic_load(&graph->refs);

	while (refs && !atomic_compare_exchange_weak(&graph->refs, &refs, refs + 1))
		;
	return refs;
}

void graph_lose(struct WNNGraphImpl *graph)
{
	if (atomic_exchange(&graph->destroyed, true) || !try_get(graph))
		return;
	graph->task.run = give_up;
	timeline_push(graph->context->timeline, &graph->task);
}

void wnnGraphDestroy(WNNGraph graph)
{
	if (!api_check(graph, "wnnGraphDestroy", "graph"))
		return;
	pthread_mutex_lock(&graph->context->lock);
	graph_lose(graph);
	pthread_mutex_unlock(&graph->context->lock);
}

void graph_get(WNNGraph graph)
{
	if (graph && !api_forked())
		atomic_fetch_add(&graph->refs, 1);
}

void graph_put(WNNGraph graph)
{
	WNNContext context;

	if (!graph || api_forked() || atomic_fetch_sub(&graph->refs, 1) != 1)
		return;
	context = graph->context;
	pthread_mutex_lock(&context->lock);
	if (graph->link) {
		*graph->link = graph->next;
		if (graph->next)
			graph->next->link = graph->link;
	}
	pthread_mutex_unlock(&context->lock);
	graph->task.run = free_graph;
	timeline_push(context->timeline, &graph->task);
}

/* --- Making --- */

static bool evaluator_can(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return cpu_supports(node);
}

static int evaluator_run(const struct ir_node *node, const void *const *in, void *const *out,
			 void *userdata, struct wnn_error *err)
{
	WNNContext context = userdata;

	return cpu_run_node(context->device.cpu, CPU_FAST, node, in, out, err);
}

/*
 * The state of placing a graph: its context, and the nodes that the NPU's compiler has refused so
 * far.
 */
struct place_state {
	WNNContext context;
	struct npu_refusals refusals;
};

static WNNPlacementReason place_npu(const struct ir_node *node, void *userdata, const char **text)
{
	static const WNNPlacementReason reasons[] = {
		[NPU_REASON_OPERATOR] = WNNPlacementReason_Operator,
		[NPU_REASON_DATA_TYPE] = WNNPlacementReason_DataType,
		[NPU_REASON_RANK] = WNNPlacementReason_Rank,
		[NPU_REASON_SIZE] = WNNPlacementReason_Size,
	};
	const struct place_state *state = userdata;
	struct npu_reason reason = { 0 };

	if (!npu_supports(node, &state->context->caps, &reason)) {
		*text = reason.text;
		return reasons[reason.class];
	}
	*text = npu_refusals_why(&state->refusals, node);
	return *text ? WNNPlacementReason_CompilerLimit : WNNPlacementReason_Supported;
}

bool context_can_run(const struct ir_node *node, void *userdata)
{
	WNNContext context = userdata;

	if (context->accelerated && context->config.policy != WNNPlacementPolicy_CPUOnly &&
	    npu_supports(node, &context->caps, NULL))
		return true;
	return context->config.policy != WNNPlacementPolicy_NPUOnly && cpu_supports(node);
}

/* Allocates the entries of inputs or outputs, and their list for the API. Returns 0 or -1. */
static int describe_ports(WNNGraph graph, uint32_t count, struct graph_port **ports,
			  WNNNamedOperandDescriptor **list)
{
	*ports = wnn_arena_alloc(graph->arena, (count + 1) * sizeof(**ports));
	*list = wnn_arena_alloc(graph->arena, (count + 1) * sizeof(**list));
	return *ports && *list ? 0 : -1;
}

static int by_name(const void *a, const void *b)
{
	return wnn_view_compare(&((const WNNNamedOperandDescriptor *)a)->name,
				&((const WNNNamedOperandDescriptor *)b)->name);
}

const struct graph_port *graph_find_port(uint32_t count, const WNNNamedOperandDescriptor *list,
					 WNNStringView name)
{
	const WNNNamedOperandDescriptor key = { .name = name };
	const WNNNamedOperandDescriptor *entry = bsearch(&key, list, count, sizeof(*list), by_name);

	return entry ? (const void *)((const char *)entry->shape.data -
				      offsetof(struct graph_port, shape)) :
		       NULL;
}

static int set_port(WNNGraph graph, struct graph_port *port, WNNNamedOperandDescriptor *entry,
		    const char *name, const struct ir_type *type)
{
	char *copy = wnn_arena_strdup(graph->arena, name);

	if (!copy)
		return -1;
	port->type = *type;
	port->updates = NO_UPDATE;
	for (uint32_t i = 0; i < type->rank; i++)
		port->shape[i] = (uint32_t)ir_type_dim(type, i);
	entry->name = api_view(copy);
	entry->dataType = wnn_dtype_from_ir(type->dtype);
	entry->shape = (WNNUint32Array){ type->rank, port->shape };
	return 0;
}

static int describe_all(WNNGraph graph, const struct ir_graph *ir)
{
	if (describe_ports(graph, ir->num_inputs, &graph->inputs, &graph->input_list) ||
	    describe_ports(graph, ir->num_outputs, &graph->outputs, &graph->output_list))
		return -1;
	for (uint32_t i = 0; i < ir->num_inputs; i++)
		if (set_port(graph, &graph->inputs[i], &graph->input_list[i], ir->inputs[i]->name,
			     &ir->inputs[i]->type))
			return -1;
	for (uint32_t i = 0; i < ir->num_outputs; i++) {
		if (set_port(graph, &graph->outputs[i], &graph->output_list[i], ir->outputs[i].name,
			     &ir->outputs[i].value->type))
			return -1;
		for (uint32_t k = 0; k < ir->num_inputs; k++)
			if (ir->outputs[i].updates == ir->inputs[k])
				graph->outputs[i].updates = k;
	}
	return 0;
}

int graph_describe_ports(WNNGraph graph, const struct ir_graph *ir, struct wnn_error *err)
{
	if (describe_all(graph, ir))
		return wnn_error_nomem(err, "a graph");
	graph->num_inputs = ir->num_inputs;
	graph->num_outputs = ir->num_outputs;
	qsort(graph->input_list, graph->num_inputs, sizeof(*graph->input_list), by_name);
	qsort(graph->output_list, graph->num_outputs, sizeof(*graph->output_list), by_name);
	graph->node_count = ir->num_nodes;
	return 0;
}

static int compile(WNNGraph graph, struct wnn_recording *recording,
		   const struct wnn_placement *placement, struct npu_refusals *refusals,
		   struct wnn_error *err)
{
	struct ir_graph *ir = recording->graph;
	bool *on_npu = wnn_calloc((size_t)ir->num_nodes + 1, sizeof(*on_npu));
	int ret;

	if (!on_npu)
		return wnn_error_nomem(err, "the placement of a graph");
	for (uint32_t i = 0; i < ir->num_nodes; i++)
		on_npu[i] = placement->nodes[ir->nodes[i]->id].device == WNNNodeDevice_NPU;
	ret = run_compile(&graph->context->device, ir, on_npu, refusals, &graph->compiled, err);
	if (!ret)
		recording->graph = NULL;
	wnn_free(on_npu);
	return ret;
}

void graph_log_placement(WNNContext context, const WNNGraphPlacement *placement)
{
	wnn_log_write(&context->instance->log, WNN_LOG_INFO,
		      "graph of %zu operators: %zu on the NPU, %zu on the CPU, %zu folded; %zu met "
		      "a limit of the compiler",
		      placement->nodeCount, placement->npuCount, placement->cpuCount,
		      placement->foldedCount, placement->compilerLimitCount);
	for (size_t i = 0; i < placement->nodeCount; i++) {
		const WNNNodePlacement *node = &placement->nodes[i];

		const char *quote = node->label.length ? "\"" : "";

		if (node->device == WNNNodeDevice_CPU && context->accelerated)
			wnn_log_write(&context->instance->log, WNN_LOG_WARNING,
				      "%.*s%s%s%.*s%s runs on the CPU: %.*s",
				      (int)node->operatorName.length, node->operatorName.data,
				      *quote ? " " : "", quote, (int)node->label.length,
				      node->label.data, quote, (int)node->reasonText.length,
				      node->reasonText.data);
	}
}

/*
 * Logs every operator that no allowed device can run; the error message has room for some of them
 * only.
 */
static void log_failures(WNNContext context, const struct ir_graph *ir,
			 const struct wnn_placement *placement)
{
	char name[IR_NODE_NAME_SIZE];

	for (uint32_t i = 0; placement->nodes && i < ir->num_nodes; i++)
		if (placement->nodes[i].failed)
			wnn_log_write(&context->instance->log, WNN_LOG_ERROR, "%s cannot run: %s",
				      ir_node_name(ir->nodes[i], name, sizeof(name)),
				      placement->nodes[i].text);
}

static struct wnn_place_options place_options(struct place_state *state)
{
	return (struct wnn_place_options){
		.policy = state->context->config.policy,
		.cpu_device = !state->context->accelerated,
		.npu = place_npu,
		.cpu = evaluator_can,
		.userdata = state,
	};
}

int context_place(const struct ir_node *node, void *userdata, struct wnn_error *err)
{
	struct place_state state = { .context = userdata };
	const struct wnn_place_options places = place_options(&state);

	return wnn_place_node(node, &places, err);
}

/*
 * Places and compiles the graph. When nodes do not compile, it places them again and compiles the
 * graph again, at most once for each node. Returns 0 or -1.
 */
static int place_and_compile(WNNGraph graph, struct wnn_recording *recording,
			     struct wnn_placement *placement, struct wnn_error *err)
{
	WNNContext context = graph->context;
	struct place_state state = { .context = context };
	const struct wnn_place_options places = place_options(&state);
	uint32_t refused;
	int ret;

	do {
		refused = state.refusals.count;
		wnn_placement_destroy(placement);
		ret = wnn_place(recording->graph, &places, placement, err);
		if (ret)
			log_failures(context, recording->graph, placement);
		else
			ret = compile(graph, recording, placement, &state.refusals, err);
	} while (ret && state.refusals.count > refused);
	npu_refusals_destroy(&state.refusals);
	return ret;
}

/*
 * Returns wnn_pass_options.channels_last_work: the least work per element for which channels-last
 * layout makes the CPU's convolutions faster; 0 when there is none, or the device is not the CPU
 * alone.
 */
static uint32_t channels_last_work(WNNContext context, const struct ir_graph *graph)
{
	for (uint32_t n = 0; !context->accelerated && n < graph->num_nodes; n++)
		if (graph->nodes[n]->op == IR_OP_CONV)
			return cpu_channels_last_work(context->device.cpu, graph);
	return 0;
}

int graph_build(WNNGraph graph, struct wnn_recording *recording, struct wnn_error *err)
{
	WNNContext context = graph->context;
	const struct wnn_pass_options passes = {
		.no_fold = context->config.no_folding,
		.rules_off = context->config.rules_off,
		.widen = !context->accelerated,
		.channels_last_work = channels_last_work(context, recording->graph),
		.evaluator = { evaluator_can, evaluator_run, context },
	};
	struct wnn_pass_report report = { 0 };
	struct wnn_placement placement = { 0 };
	int ret = wnn_run_passes(recording, &passes, &report, err);

	if (ret)
		return ret;
	ret = graph_describe_ports(graph, recording->graph, err);
	if (!ret)
		ret = place_and_compile(graph, recording, &placement, err);
	if (!ret)
		ret = graph_describe_placement(graph, recording, &report, &placement, err);
	wnn_placement_destroy(&placement);
	wnn_pass_report_destroy(&report);
	if (!ret)
		graph_log_placement(context, &graph->placement);
	return ret;
}

WNNGraph graph_create(WNNContext context, struct wnn_error *err)
{
	WNNGraph graph = wnn_calloc(1, sizeof(*graph));
	struct wnn_arena *arena = wnn_arena_create();

	if (!graph || !arena) {
		wnn_free(graph);
		wnn_arena_destroy(arena);
		wnn_error_nomem(err, "a graph");
		return NULL;
	}
	atomic_init(&graph->refs, 1);
	pthread_mutex_init(&graph->lock, NULL);
	graph->arena = arena;
	graph->context = context;
	context_get(context);
	return graph;
}

void graph_link(WNNGraph graph)
{
	WNNContext context = graph->context;

	pthread_mutex_lock(&context->lock);
	graph->next = context->graphs;
	graph->link = &context->graphs;
	if (graph->next)
		graph->next->link = &graph->next;
	context->graphs = graph;
	if (atomic_load(&context->lost))
		atomic_store(&graph->destroyed, true);
	pthread_mutex_unlock(&context->lock);
}

void graph_abandon(WNNGraph graph)
{
	/* This thread runs the timeline, so the task need not be queued. */
	free_graph(&graph->task, true);
}

WNNGraph graph_make(WNNContext context, struct wnn_recording *recording, struct wnn_error *err)
{
	WNNGraph graph = graph_create(context, err);
	int ret = -1;

	if (graph && recording->graph->num_names) {
		ret = family_make(graph, recording, err);
	} else {
		if (graph)
			ret = graph_build(graph, recording, err);
		wnn_recording_destroy(recording);
	}
	if (!ret) {
		graph_link(graph);
		return graph;
	}
	if (graph)
		graph_abandon(graph);
	return NULL;
}

/* --- Queries --- */

WNNNamedOperandDescriptorArray wnnGraphGetInputs(WNNGraph graph)
{
	WNNNamedOperandDescriptorArray list = { 0, NULL };

	if (api_check(graph, "wnnGraphGetInputs", "graph"))
		list = (WNNNamedOperandDescriptorArray){ graph->num_inputs, graph->input_list };
	return list;
}

WNNNamedOperandDescriptorArray wnnGraphGetOutputs(WNNGraph graph)
{
	WNNNamedOperandDescriptorArray list = { 0, NULL };

	if (api_check(graph, "wnnGraphGetOutputs", "graph"))
		list = (WNNNamedOperandDescriptorArray){ graph->num_outputs, graph->output_list };
	return list;
}

int graph_is_destroyed(WNNGraph graph, const char *what, struct wnn_error *err)
{
	return wnn_error_set(err, WNN_INVALID_STATE, "%s: the graph%s is destroyed", what,
			     object_label_text(&graph->label));
}

struct run_compiled *graph_compiled(WNNGraph graph, const char *what, struct wnn_error *err)
{
	struct run_compiled *compiled = NULL;

	pthread_mutex_lock(&graph->lock);
	if (!atomic_load(&graph->destroyed) && graph->compiled)
		compiled = run_compiled_ref(graph->compiled);
	pthread_mutex_unlock(&graph->lock);
	if (!compiled)
		graph_is_destroyed(graph, what, err);
	return compiled;
}

size_t wnnGraphGetNodeCount(WNNGraph graph)
{
	if (!api_check(graph, "wnnGraphGetNodeCount", "graph") || atomic_load(&graph->destroyed))
		return 0;
	return graph->node_count;
}

/*
 * Finds WNNGraphPlacementRules in the chain, the only extension; *rules is NULL without it. Returns
 * 0, or -1 with *err when the chain has another struct.
 */
static int find_rules(const WNNGraphPlacement *placement, WNNGraphPlacementRules **rules,
		      struct wnn_error *err)
{
	*rules = NULL;
	for (WNNChainedStruct *s = placement->nextInChain; s; s = s->next) {
		if (s->sType != WNNSType_GraphPlacementRules || *rules)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "wnnGraphGetPlacement: the chain of WNNGraphPlacement "
					     "holds %s struct of sType %#x",
					     s->sType == WNNSType_GraphPlacementRules ?
						     "a second" :
						     "an unknown",
					     (unsigned int)s->sType);
		*rules = (void *)s;
	}
	return 0;
}

WNNStatus wnnGraphGetPlacement(WNNGraph graph, WNNGraphPlacement *placement)
{
	struct wnn_error err = { 0 };
	WNNGraphPlacementRules *rules;
	WNNChainedStruct *chain;

	if (!api_check(graph, "wnnGraphGetPlacement", "graph") ||
	    !api_check(placement, "wnnGraphGetPlacement", "placement"))
		return wnnGetLastError(NULL);
	if (atomic_load(&graph->destroyed)) {
		graph_is_destroyed(graph, "wnnGraphGetPlacement", &err);
		return api_error(&err);
	}
	if (find_rules(placement, &rules, &err))
		return api_error(&err);
	chain = placement->nextInChain;
	*placement = graph->placement;
	placement->nextInChain = chain;
	if (rules) {
		rules->ruleCount = placement->nodeCount;
		rules->rules = graph->rules;
	}
	return WNNStatus_Success;
}

static WNNStatus check_text(WNNGraph graph, WNNGraphText kind, const WNNString *text)
{
	if (!api_check(graph, "wnnGraphGetText", "graph") ||
	    !api_check(text, "wnnGraphGetText", "text"))
		return wnnGetLastError(NULL);
	if (!wnn_enum_name(&wnn_enum_graph_text, kind))
		return api_error_status(WNNStatus_TypeError,
					"wnnGraphGetText: kind is %u, which is no value of "
					"WNNGraphText",
					(unsigned int)kind);
	return WNNStatus_Success;
}

WNNStatus wnnGraphGetText(WNNGraph graph, WNNGraphText kind, WNNString *text)
{
	static const enum run_text kinds[] = {
		[WNNGraphText_Nodes] = RUN_TEXT_NODES,
		[WNNGraphText_Plan] = RUN_TEXT_PLAN,
		[WNNGraphText_Program] = RUN_TEXT_PROGRAM,
	};
	struct run_compiled *compiled;
	struct wnn_error err = { 0 };
	WNNStatus status = check_text(graph, kind, text);
	char *data;

	if (status)
		return status;
	compiled = graph_compiled(graph, "wnnGraphGetText", &err);
	if (!compiled)
		return api_error(&err);
	data = kind == WNNGraphText_Dimensions ? family_text(graph, &err) :
						 run_compiled_text(compiled, kinds[kind], &err);
	run_compiled_unref(compiled);
	if (!data)
		return api_error(&err);
	text->data = data;
	text->length = strlen(data);
	return WNNStatus_Success;
}

void wnnStringFreeMembers(WNNString string)
{
	if (!api_forked())
		wnn_free(string.data);
}

/*
 * Returns how many cells of the matrix unit one multiply-accumulate of a type occupies for a cycle.
 */
static uint64_t cells_per_mac(const struct npu_caps *caps, enum ir_dtype dtype)
{
	switch (dtype) {
	case IR_F32:
		return npu_factor(caps, ONPU_OP_MMA_F32);
	case IR_F16:
		return npu_factor(caps, ONPU_OP_MMA_F16);
	default:
		return npu_factor(caps, ONPU_OP_MMA_I8);
	}
}

/*
 * Returns how many multiply-accumulates the matrix unit can do in @cycles, with the graph's mix of
 * types.
 */
static uint64_t peak_macs(const WNNGraph graph, uint64_t cycles)
{
	const struct npu_caps *caps = &graph->context->caps;
	uint64_t cells = (uint64_t)caps->mxu_rows * caps->mxu_cols, macs = 0, taken = 0;
	const struct ir_graph *ir = graph->compiled ? run_compiled_graph(graph->compiled) : NULL;

	for (uint32_t i = 0; ir && i < ir->num_nodes; i++) {
		const struct npu_node_info *info =
			run_compiled_npu_info(graph->compiled, ir->nodes[i]);

		if (!info || !info->macs)
			continue;
		macs += info->macs;
		taken += info->macs * cells_per_mac(caps, ir->nodes[i]->operands[0]->type.dtype);
	}
	if (!macs)
		return cycles * (cells / cells_per_mac(caps, IR_F32));
	return (uint64_t)((double)cycles * (double)cells * ((double)macs / (double)taken));
}

static void fill_statistics(const WNNGraph graph, WNNGraphStatistics *to)
{
	const struct run_statistics *from = &graph->statistics;

	to->dispatchCount = graph->dispatch_count;
	to->npuCycles = from->npu_cycles;
	to->macs = from->macs;
	to->peakMacs = peak_macs(graph, from->npu_cycles);
	to->bytesRead = from->bytes_read;
	to->bytesWritten = from->bytes_written;
	/* The NPU and the CPU use one memory, so nothing is copied between them. */
	to->bytesCopied = 0;
	to->compilerLimitNodes = graph->placement.compilerLimitCount;
	to->spilledPrograms = graph->compiled ? run_compiled_spilled(graph->compiled) : 0;
	to->npuNanoseconds = from->npu_ns;
	to->cpuNanoseconds = from->cpu_ns;
	to->hostNanoseconds = from->host_ns;
}

WNNStatus wnnGraphGetLastStatistics(WNNGraph graph, WNNGraphStatistics *statistics)
{
	struct wnn_error err = { 0 };
	bool valid;

	if (!api_check(graph, "wnnGraphGetLastStatistics", "graph") ||
	    !api_check(statistics, "wnnGraphGetLastStatistics", "statistics"))
		return wnnGetLastError(NULL);
	pthread_mutex_lock(&graph->lock);
	valid = graph->dispatch_count && !atomic_load(&graph->destroyed);
	if (valid)
		fill_statistics(graph, statistics);
	pthread_mutex_unlock(&graph->lock);
	if (valid)
		return WNNStatus_Success;
	if (atomic_load(&graph->destroyed))
		graph_is_destroyed(graph, "wnnGraphGetLastStatistics", &err);
	else
		wnn_error_set(
			&err, WNN_INVALID_STATE,
			"wnnGraphGetLastStatistics: no dispatch of the graph%s is complete yet",
			object_label_text(&graph->label));
	return api_error(&err);
}
