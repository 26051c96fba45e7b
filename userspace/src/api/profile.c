// SPDX-License-Identifier: MIT
/* wnnGraphGetProfile: the time that each node of a dispatch took. */
#include <stdlib.h>
#include <string.h>

#include "api/graph.h"
#include "onpu/isa.h"
#include "util/malloc.h"

/* The memory of a profile: one block, which is freed by the address of `nodes`. */
struct block {
	WNNProfileNode *nodes;
	WNNProfileEvent *events;
	WNNProfileSpan *spans;
	WNNProfileEventMemory *memory; /* NULL: the application does not ask for it */
	char *text;
};

static size_t text_bytes(const struct ir_graph *ir, const struct run_compiled *compiled)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < ir->num_nodes; i++) {
		const struct npu_node_info *info = run_compiled_npu_info(compiled, ir->nodes[i]);
		const char *kernel = info ? info->kernel :
					    run_compiled_cpu_kernel(compiled, ir->nodes[i]);

		bytes += strlen(ir->nodes[i]->source) + strlen(ir->nodes[i]->label) +
			 (kernel ? strlen(kernel) : 0) + 3;
	}
	return bytes;
}

static int allocate(struct block *block, const struct ir_graph *ir,
		    const struct run_compiled *compiled, const struct run_profile *profile,
		    bool with_memory)
{
	size_t nodes = (ir->num_nodes + (size_t)1) * sizeof(*block->nodes);
	size_t events = profile->num_events * sizeof(*block->events);
	size_t spans = profile->num_spans * sizeof(*block->spans);
	size_t moved = with_memory ? profile->num_events * sizeof(*block->memory) : 0;
	char *memory = wnn_calloc(1, nodes + events + spans + moved + text_bytes(ir, compiled));

	if (!memory)
		return -1;
	block->nodes = (void *)memory;
	block->events = (void *)(memory + nodes);
	block->spans = (void *)(memory + nodes + events);
	block->memory = with_memory ? (void *)(memory + nodes + events + spans) : NULL;
	block->text = memory + nodes + events + spans + moved;
	return 0;
}

static WNNStringView put_text(struct block *block, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	WNNStringView view = { block->text, length };

	if (length)
		memcpy(block->text, text, length);
	block->text += length + 1;
	return view;
}

static void describe_nodes(struct block *block, const struct ir_graph *ir,
			   const struct run_compiled *compiled)
{
	for (uint32_t i = 0; i < ir->num_nodes; i++) {
		const struct npu_node_info *info = run_compiled_npu_info(compiled, ir->nodes[i]);
		WNNProfileNode *node = &block->nodes[i];

		node->operatorName = put_text(block, ir->nodes[i]->source);
		node->label = put_text(block, ir->nodes[i]->label);
		node->kernel =
			put_text(block, info ? info->kernel :
					       run_compiled_cpu_kernel(compiled, ir->nodes[i]));
		node->device = info ? WNNNodeDevice_NPU : WNNNodeDevice_CPU;
		if (!info)
			continue;
		node->macs = info->macs;
		node->bytesRead = info->bytes_ld;
		node->bytesWritten = info->bytes_st;
	}
}

static uint32_t node_of(uint32_t node)
{
	return node == RUN_NO_NODE ? WNN_NODE_NONE : node;
}

static void count_busy(WNNProfileNode *node, uint8_t engine, uint64_t cycles)
{
	uint64_t *const busy[ONPU_ENG_COUNT] = {
		[ONPU_ENG_CP] = &node->controlCycles, [ONPU_ENG_LD] = &node->loadCycles,
		[ONPU_ENG_ST] = &node->storeCycles,   [ONPU_ENG_MXU] = &node->matrixCycles,
		[ONPU_ENG_VPU] = &node->vectorCycles,
	};

	*busy[engine] += cycles;
}

static void put_events(struct block *block, const struct run_profile *profile, WNNGraphProfile *out)
{
	static const WNNProfileEngine engines[ONPU_ENG_COUNT] = {
		[ONPU_ENG_CP] = WNNProfileEngine_Control, [ONPU_ENG_LD] = WNNProfileEngine_Load,
		[ONPU_ENG_ST] = WNNProfileEngine_Store,	  [ONPU_ENG_MXU] = WNNProfileEngine_Matrix,
		[ONPU_ENG_VPU] = WNNProfileEngine_Vector,
	};
	WNNProfileNode sum = { .controlCycles = 0 };

	for (size_t i = 0; i < profile->num_events; i++) {
		const struct run_profile_event *event = &profile->events[i];
		uint64_t cycles = event->end - event->start;

		block->events[i] = (WNNProfileEvent){
			.engine = engines[event->engine],
			.node = node_of(event->node),
			.instruction = api_view(onpu_op_info[event->op].name),
			.startCycle = event->start,
			.endCycle = event->end,
			.stallCycles = event->stall,
		};
		if (block->memory)
			block->memory[i] = (WNNProfileEventMemory){
				.bytesRead = event->bytes_read,
				.bytesWritten = event->bytes_written,
				.sramBytes = event->sram_bytes,
			};
		count_busy(&sum, event->engine, cycles);
		if (event->node == RUN_NO_NODE)
			continue;
		count_busy(&block->nodes[event->node], event->engine, cycles);
		block->nodes[event->node].stallCycles += event->stall;
		block->nodes[event->node].instructionCount++;
	}
	out->controlCycles = sum.controlCycles;
	out->loadCycles = sum.loadCycles;
	out->storeCycles = sum.storeCycles;
	out->matrixCycles = sum.matrixCycles;
	out->vectorCycles = sum.vectorCycles;
}

static int by_end(const void *a, const void *b)
{
	const struct run_profile_event *x = *(const struct run_profile_event *const *)a;
	const struct run_profile_event *y = *(const struct run_profile_event *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Assigns every cycle to the node whose instruction ends next. Returns 0 or -1. */
static int share_cycles(struct block *block, const struct run_profile *profile,
			WNNGraphProfile *out)
{
	const struct run_profile_event **order =
		wnn_malloc((profile->num_events + 1) * sizeof(struct run_profile_event *));
	uint64_t now = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < profile->num_events; i++)
		order[i] = &profile->events[i];
	qsort(order, profile->num_events, sizeof(struct run_profile_event *), by_end);
	for (size_t i = 0; i < profile->num_events; i++) {
		uint64_t cycles = order[i]->end > now ? order[i]->end - now : 0;

		if (order[i]->node == RUN_NO_NODE)
			out->endCycles += cycles;
		else
			block->nodes[order[i]->node].cycles += cycles;
		now += cycles;
	}
	wnn_free(order);
	return 0;
}

static void put_spans(struct block *block, const struct run_profile *profile)
{
	for (size_t i = 0; i < profile->num_spans; i++) {
		const struct run_profile_span *span = &profile->spans[i];

		block->spans[i] = (WNNProfileSpan){
			.device = span->npu ? WNNNodeDevice_NPU : WNNNodeDevice_CPU,
			.node = node_of(span->node),
			.startNanoseconds = span->start_ns,
			.endNanoseconds = span->end_ns,
			.startCycle = span->start_cycle,
			.cycles = span->cycles,
		};
		if (!span->npu)
			block->nodes[span->node].cpuNanoseconds += span->end_ns - span->start_ns;
	}
}

/*
 * Fills in the profile. Returns 0 or -1. @memory may be NULL. Call it with the graph's lock held.
 */
static int fill_profile(const struct WNNGraphImpl *graph, const struct run_compiled *compiled,
			WNNGraphProfile *out, WNNGraphProfileMemory *memory)
{
	const struct ir_graph *ir = run_compiled_graph(compiled);
	const struct run_profile *profile = graph->profile;
	WNNGraphProfile filled = { .nextInChain = out->nextInChain };
	struct block block;

	if (allocate(&block, ir, compiled, profile, memory))
		return -1;
	describe_nodes(&block, ir, compiled);
	put_events(&block, profile, &filled);
	put_spans(&block, profile);
	if (share_cycles(&block, profile, &filled)) {
		wnn_free(block.nodes);
		return -1;
	}
	filled.cycles = profile->cycles;
	filled.hostNanoseconds = graph->statistics.host_ns;
	filled.nodeCount = ir->num_nodes;
	filled.nodes = block.nodes;
	filled.eventCount = profile->num_events;
	filled.events = block.events;
	filled.spanCount = profile->num_spans;
	filled.spans = block.spans;
	*out = filled;
	if (memory) {
		memory->eventCount = profile->num_events;
		memory->events = block.memory;
	}
	return 0;
}

/*
 * Finds WNNGraphProfileMemory in the chain, the only extension; *memory is NULL without it. Returns
 * 0, or -1 with *err when the chain has another struct.
 */
static int find_memory(const WNNGraphProfile *profile, WNNGraphProfileMemory **memory,
		       struct wnn_error *err)
{
	*memory = NULL;
	for (WNNChainedStruct *s = profile->nextInChain; s; s = s->next) {
		if (s->sType != WNNSType_GraphProfileMemory || *memory)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "wnnGraphGetProfile: the chain of WNNGraphProfile "
					     "holds %s struct of sType %#x",
					     s->sType == WNNSType_GraphProfileMemory ? "a second" :
										       "an unknown",
					     (unsigned int)s->sType);
		*memory = (void *)s;
	}
	return 0;
}

WNNStatus wnnGraphGetProfile(WNNGraph graph, WNNGraphProfile *profile)
{
	WNNGraphProfileMemory *memory;
	struct wnn_error err = { 0 };
	bool complete;
	int ret = 0;

	if (!api_check(graph, "wnnGraphGetProfile", "graph") ||
	    !api_check(profile, "wnnGraphGetProfile", "profile"))
		return wnnGetLastError(NULL);
	if (!graph->context->config.profile)
		return api_error_status(WNNStatus_NotSupportedError,
					"wnnGraphGetProfile: the context%s keeps no profile; "
					"profile in WNNContextDeviceOptions asks for it",
					object_label_text(&graph->context->label));
	if (find_memory(profile, &memory, &err))
		return api_error(&err);
	pthread_mutex_lock(&graph->lock);
	complete = graph->profile;
	/*
	 * A dispatch of a family sets the profile together with the compiled graph that the profile
	 * describes.
	 */
	if (atomic_load(&graph->destroyed) || !graph->compiled)
		ret = graph_is_destroyed(graph, "wnnGraphGetProfile", &err);
	else if (complete && fill_profile(graph, graph->compiled, profile, memory))
		ret = wnn_error_nomem(&err, "the profile of a graph");
	pthread_mutex_unlock(&graph->lock);
	if (!ret && !complete)
		return api_error_status(WNNStatus_InvalidStateError,
					"wnnGraphGetProfile: no dispatch of the graph%s is "
					"complete yet",
					object_label_text(&graph->label));
	return ret ? api_error(&err) : WNNStatus_Success;
}

void wnnGraphProfileFreeMembers(WNNGraphProfile profile)
{
	/* The nodes are at the start of the allocated block. */
	if (!api_forked())
		wnn_free((void *)profile.nodes);
}
