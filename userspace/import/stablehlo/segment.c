// SPDX-License-Identifier: MIT
/*
 * Runs sequences of operations as graphs on a context: selects them, builds their graphs and
 * dispatches these.
 */
#include "segment.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "device.h"
#include "graph_files.h"
#include "kept.h"
#include "lower.h"
#include "port.h"

/*
 * In loops and branches, a graph is worth its cost only for values of at least this many elements.
 */
#define LEAST_INNER_ELEMENTS 1024
/*
 * In loops and branches, an operation stays out of graphs when it touches at most 1 / LEAST_SHARE
 * of an array's elements.
 */
#define LEAST_SHARE 16

struct segment {
	size_t first, end; /* range of operations in the block */
	/*
	 * built: make() has tried to load or build the graph; only_constants: all operands from
	 * outside are constants, which become inputs
	 */
	bool built, only_constants;
	bool lacked_memory; /* the last try to build the graph lacked memory */
	WNNGraph graph;	    /* NULL although @built: there is none, reference kernels run */
	struct shlo_ports inputs, outputs;
	size_t operations;
	uint64_t cpu_operators;
};

/* The sequences of a region that may become graphs. */
struct shlo_plan {
	struct shlo_plan *next;
	const struct shlo_region *region;
	size_t count;
	struct segment *segments;
	uint64_t reached; /* number of the last run that came here */
};

struct shlo_device {
	WNNContext context;
	/* processes that share the device take turns to find, build and dispatch graphs */
	pthread_mutex_t lock;
	struct shlo_plan *plans;
	uint64_t run; /* number of the run, from 1 */
	/* numbers of plans that the run, and the one before it, have reached */
	size_t reached, reached_before;
	bool news; /* the run has reached a plan that the run before it had not */
	bool lacked_memory;
	bool lost;	/* the context takes no more graphs */
	uint64_t built; /* number of graphs that this run has built */
	size_t bytes;	/* of the values in all graphs */
	struct shlo_graph_files files;
};

struct shlo_device *shlo_device_create(WNNContext context)
{
	struct shlo_device *device = context ? import_alloc(sizeof(*device)) : NULL;

	if (!device)
		return NULL;
	device->context = context;
	pthread_mutex_init(&device->lock, NULL);
	return device;
}

static void segment_clear(struct segment *segment)
{
	shlo_ports_clear(&segment->inputs);
	shlo_ports_clear(&segment->outputs);
	wnnGraphRelease(segment->graph);
	segment->graph = NULL;
	segment->operations = 0;
}

void shlo_device_destroy(struct shlo_device *device)
{
	while (device && device->plans) {
		struct shlo_plan *next = device->plans->next;

		for (size_t i = 0; i < device->plans->count; i++)
			segment_clear(&device->plans->segments[i]);
		import_free(device->plans->segments);
		import_free(device->plans);
		device->plans = next;
	}
	if (device)
		pthread_mutex_destroy(&device->lock);
	import_free(device);
}

void shlo_device_begin(struct shlo_device *device, const struct shlo_graph_files *files)
{
	device->files = *files;
	device->run++;
	device->reached_before = device->reached;
	device->reached = 0;
	device->news = false;
	device->built = 0;
}

uint64_t shlo_device_cpu_operators(const struct shlo_device *device)
{
	uint64_t sum = 0;

	for (const struct shlo_plan *plan = device->plans; plan; plan = plan->next)
		for (size_t i = 0; plan->reached == device->run && i < plan->count; i++)
			sum += plan->segments[i].cpu_operators;
	return sum;
}

uint64_t shlo_device_built(const struct shlo_device *device)
{
	return device->built;
}

bool shlo_device_lacked_memory(const struct shlo_device *device)
{
	return device->lacked_memory;
}

size_t shlo_device_bytes(const struct shlo_device *device)
{
	return device->bytes;
}

bool shlo_device_differs(const struct shlo_device *device)
{
	return device->news || device->reached != device->reached_before;
}

static void reach(struct shlo_device *device, struct shlo_plan *plan)
{
	if (plan->reached == device->run)
		return;
	device->news |= plan->reached + 1 != device->run;
	plan->reached = device->run;
	device->reached++;
}

/* ---- which operations become graphs */

/* Returns how many elements of its arrays an operation reads or writes; -1: all of them. */
static int64_t touched(const struct shlo_op *op)
{
	if (!strcmp(op->name, "stablehlo.dynamic_slice") || !strcmp(op->name, "stablehlo.gather"))
		return shlo_type_count(op->results[0]->type);
	if (!strcmp(op->name, "stablehlo.dynamic_update_slice"))
		return shlo_type_count(op->operands[1]->type);
	if (!strcmp(op->name, "stablehlo.scatter"))
		return shlo_type_count(op->operands[op->operand_count / 2 + 1]->type);
	return -1;
}

/*
 * Whether an operation touches few elements of its array, or a small share of them: a graph needs a
 * copy of all of it, which costs more than the kernel that works in place.
 */
static bool is_sparse(const struct shlo_op *op)
{
	int64_t count = touched(op);

	return count >= 0 && (count < LEAST_INNER_ELEMENTS ||
			      count <= shlo_type_count(op->operands[0]->type) / LEAST_SHARE);
}

static bool is_large(const struct shlo_op *op)
{
	if (is_sparse(op))
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (shlo_type_count(op->operands[i]->type) >= LEAST_INNER_ELEMENTS)
			return true;
	return false;
}

/*
 * Returns the end of the sequence of operations from @first on that a graph can hold, constants
 * included; @first: there is none.
 */
static size_t run_end(const struct shlo_block *block, size_t first, bool outer)
{
	size_t end = first;

	for (size_t i = first; i + 1 < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->chain)
			break;
		if (shlo_is_constant(op))
			continue;
		if (!shlo_can_lower(op) || (!outer && !is_large(op)))
			break;
		end = i + 1;
	}
	return end;
}

static struct shlo_plan *plan_new(const struct shlo_region *region, bool outer)
{
	struct shlo_plan *plan = import_alloc(sizeof(*plan));
	const struct shlo_block *block = &region->block;

	if (!plan)
		return NULL;
	plan->region = region;
	plan->segments = import_alloc(block->op_count * sizeof(*plan->segments));
	if (!plan->segments) {
		import_free(plan);
		return NULL;
	}
	for (size_t i = 0; i < block->op_count;) {
		size_t end = shlo_is_constant(block->ops[i]) ? i : run_end(block, i, outer);

		if (end > i) {
			plan->segments[plan->count].first = i;
			plan->segments[plan->count++].end = end;
		}
		i = end > i ? end : i + 1;
	}
	return plan;
}

/* ---- building */

static WNNOperandDescriptor descriptor_of(const struct shlo_type *type, struct shlo_sizes *sizes)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	shlo_sizes_init(sizes, type->dims, type->rank);
	descriptor.dataType = shlo_held_type(type->element);
	descriptor.shape = sizes->array;
	return descriptor;
}

/*
 * Returns an operand from outside of the sequence: a constant, or else an input. If all operands
 * would be constants, they become inputs, because a graph needs at least one. A graph holds only
 * what the program has, so that it serves all runs: values of a run are inputs.
 */
static WNNOperand outside(struct segment *segment, struct shlo_lower *l, struct shlo_frame *frame,
			  const struct shlo_value *value)
{
	const struct shlo_tensor *tensor = frame->slots[value->slot];
	struct shlo_sizes sizes;
	WNNOperandDescriptor descriptor = descriptor_of(value->type, &sizes);
	struct shlo_port *port;

	if (shlo_is_constant(value->op) && !segment->only_constants)
		return tensor ? wnnGraphBuilderConstant(l->b, &descriptor, tensor->data,
							shlo_type_bytes(value->type)) :
				NULL;
	port = shlo_port_add(&segment->inputs, 'i', value);
	return port ? wnnGraphBuilderInput(l->b, WNN_STR(port->name), &descriptor) : NULL;
}

static void label_of(const struct shlo_op *op, char *label, size_t room)
{
	if (op->location.line)
		snprintf(label, room, "%s at %u:%u", op->name, op->location.line,
			 op->location.column);
	else
		snprintf(label, room, "%s at byte %u", op->name, op->location.column);
}

/* Adds all operations to a builder; false: one of them was refused. */
static bool add_operations(struct segment *segment, struct shlo_frame *frame,
			   const struct shlo_region *region, struct shlo_lower *l)
{
	for (size_t i = segment->first; i < segment->end; i++) {
		const struct shlo_op *op = region->block.ops[i];
		char label[80];

		if (shlo_is_constant(op))
			continue;
		for (size_t k = 0; k < op->operand_count; k++) {
			const struct shlo_value *value = op->operands[k];

			if (l->operands[value->slot])
				continue;
			l->operands[value->slot] = outside(segment, l, frame, value);
			if (!l->operands[value->slot])
				return false;
		}
		label_of(op, label, sizeof(label));
		l->op = op;
		l->options.label = WNN_STR(label);
		if (!shlo_lower(l))
			return false;
		segment->operations++;
		for (size_t k = 0; k < op->result_count; k++)
			if (shlo_used_after(&region->block, segment->end, op->results[k]) &&
			    !shlo_ports_have(&segment->outputs, op->results[k]) &&
			    !shlo_port_add(&segment->outputs, 'o', op->results[k]))
				return false;
	}
	return true;
}

/*
 * Returns whether @status is success. Notes a failure that another try may not have, so that the
 * segment is not given up for ever.
 */
static bool is_made(struct segment *segment, WNNStatus status)
{
	segment->lacked_memory |= status == WNNStatus_UnknownError;
	return status == WNNStatus_Success;
}

/* Drops the inputs that the graph has left out because no output depends on them. */
static void drop_unused(struct segment *segment)
{
	WNNNamedOperandDescriptorArray used = wnnGraphGetInputs(segment->graph);
	size_t kept = 0;

	for (size_t i = 0; i < segment->inputs.count; i++) {
		const struct shlo_port *port = &segment->inputs.items[i];

		for (size_t k = 0; k < used.count; k++)
			if (used.data[k].name.length == strlen(port->name) &&
			    !memcmp(used.data[k].name.data, port->name, used.data[k].name.length)) {
				segment->inputs.items[kept++] = *port;
				break;
			}
	}
	segment->inputs.count = kept;
}

/* Takes a graph as that of the segment; false: the graph reads no input. */
static bool take_graph(struct segment *segment, WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	segment->graph = graph;
	drop_unused(segment);
	if (!segment->inputs.count)
		return false;
	if (wnnGraphGetPlacement(graph, &placement) == WNNStatus_Success)
		segment->cpu_operators = placement.cpuCount;
	return true;
}

static bool finish(struct segment *segment, struct shlo_lower *l)
{
	WNNNamedOperand *outputs = import_alloc(segment->outputs.count * sizeof(*outputs));
	WNNGraph graph = NULL;
	WNNStatus status = WNNStatus_UnknownError;

	for (size_t i = 0; outputs && i < segment->outputs.count; i++) {
		const struct shlo_port *port = &segment->outputs.items[i];

		outputs[i] =
			(WNNNamedOperand){ WNN_STR(port->name), l->operands[port->value->slot] };
	}
	if (outputs)
		status = wnnGraphBuilderBuildSync(l->b, segment->outputs.count, outputs,
						  WNN_WAIT_FOREVER, &graph);
	import_free(outputs);
	return is_made(segment, status) && take_graph(segment, graph);
}

static size_t bytes_of_segment(const struct segment *segment, const struct shlo_region *region)
{
	size_t bytes = 0;

	for (size_t i = segment->first; i < segment->end; i++)
		for (size_t k = 0; k < region->block.ops[i]->result_count; k++)
			bytes += shlo_type_bytes(region->block.ops[i]->results[k]->type);
	return bytes + shlo_ports_bytes(&segment->inputs);
}

static bool try_to_build(struct shlo_device *device, struct segment *segment,
			 struct shlo_frame *frame, const struct shlo_region *region)
{
	struct shlo_lower l = { .options = WNN_OPERATOR_OPTIONS_INIT };
	uint64_t failures = import_memory_failures;
	bool done = false;

	segment->lacked_memory = false;
	l.frame = frame;
	l.operands = import_alloc(frame->count * sizeof(*l.operands));
	l.narrow = import_alloc(frame->count * sizeof(*l.narrow));
	l.b = l.operands && l.narrow ? wnnContextCreateGraphBuilder(device->context) : NULL;
	if (l.operands && l.narrow && !l.b) {
		WNNStatus status = wnnGetLastError(NULL);

		device->lost |= status == WNNStatus_InvalidStateError;
		is_made(segment, status);
	}
	/* On the NPU an expand is a view, and products fuse what follows in the result's shape. */
	if (l.b && !import_runs_on_cpu(l.b)) {
		import_free(l.narrow);
		l.narrow = NULL;
	}
	if (l.b)
		done = add_operations(segment, frame, region, &l) && segment->outputs.count;
	if (l.b && !done)
		is_made(segment, wnnGraphBuilderGetLastError(l.b, NULL));
	segment->only_constants = done && !segment->inputs.count;
	done = done && segment->inputs.count && finish(segment, &l);
	wnnGraphBuilderRelease(l.b);
	import_free(l.operands);
	import_free(l.narrow);
	segment->lacked_memory |= !done && import_memory_failures > failures;
	if (done) {
		device->built++;
		device->bytes += bytes_of_segment(segment, region);
	} else {
		segment_clear(segment);
	}
	return done;
}

/* Returns whether a graph that an earlier process saved is that of the segment now. */
static bool load(struct shlo_device *device, struct segment *segment,
		 const struct shlo_graph_place *place, size_t slots)
{
	WNNGraph graph = shlo_graph_load(&device->files, device->context, place);

	if (!graph)
		return false;
	segment->operations = shlo_ports_find(place, slots, &segment->inputs, &segment->outputs);
	if (!segment->operations) {
		wnnGraphRelease(graph);
		return false;
	}
	if (!take_graph(segment, graph) ||
	    !shlo_ports_fit(&segment->inputs, wnnGraphGetInputs(graph)) ||
	    !shlo_ports_fit(&segment->outputs, wnnGraphGetOutputs(graph)))
		return false;
	device->bytes += bytes_of_segment(segment, place->region);
	return true;
}

static bool build(struct shlo_device *device, struct segment *segment, struct shlo_frame *frame,
		  const struct shlo_region *region)
{
	if (try_to_build(device, segment, frame, region))
		return true;
	if (segment->only_constants && try_to_build(device, segment, frame, region))
		return true;
	/* Graphs that other programs keep for later may have the memory. */
	if (segment->lacked_memory && shlo_kept_drop(NULL) &&
	    try_to_build(device, segment, frame, region))
		return true;
	device->lacked_memory |= segment->lacked_memory;
	return false;
}

/* Loads the graph of a segment, or else builds and saves it; segment->graph may stay NULL. */
static void make(const struct shlo_run *run, struct segment *segment, struct shlo_frame *frame,
		 const struct shlo_region *region)
{
	struct shlo_device *device = run->device;
	struct shlo_graph_place place = { run->module, region, segment->first, segment->end };

	segment->built = true;
	if (load(device, segment, &place, frame->count))
		return;
	segment_clear(segment);
	if (build(device, segment, frame, region))
		shlo_graph_save(&device->files, segment->graph, &place);
}

/* ---- running */

/* Puts all tensors into the memory of values: inputs of the frame, outputs of @results. */
static WNNStatus bind(struct shlo_device *device, struct segment *segment,
		      const struct shlo_frame *frame, const struct shlo_tensor *results)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; !status && i < segment->inputs.count; i++) {
		struct shlo_port *port = &segment->inputs.items[i];

		status = shlo_port_bind(port, device->context, frame->slots[port->value->slot],
					false);
	}
	for (size_t i = 0; !status && i < segment->outputs.count; i++)
		status = shlo_port_bind(&segment->outputs.items[i], device->context,
					results->items[i], true);
	return status;
}

/* Runs the graph; without memory to do so, sets *lacks. */
static WNNStatus dispatch(struct shlo_device *device, struct segment *segment, bool *lacks)
{
	size_t in = segment->inputs.count, out = segment->outputs.count;
	WNNNamedTensor *named = import_alloc((in + out) * sizeof(*named));
	WNNStatus status;

	if (!named) {
		*lacks = device->lacked_memory = true;
		return WNNStatus_UnknownError;
	}
	for (size_t i = 0; i < in + out; i++) {
		const struct shlo_port *port = i < in ? &segment->inputs.items[i] :
							&segment->outputs.items[i - in];

		named[i] = (WNNNamedTensor){ WNN_STR(port->name), port->tensor };
	}
	status = wnnContextDispatchMeasuredSync(device->context, segment->graph, in, named, out,
						named + in, WNN_WAIT_FOREVER, NULL);
	import_free(named);
	return status;
}

/*
 * Runs the graph. When there is no memory for its tensors, frees the graphs of other programs and
 * tries again; when there is none then, sets *lacks.
 */
static WNNStatus run_graph(struct shlo_device *device, struct segment *segment,
			   const struct shlo_frame *frame, const struct shlo_tensor *results,
			   bool *lacks)
{
	WNNStatus status = bind(device, segment, frame, results);

	if (status == WNNStatus_UnknownError && shlo_kept_drop(NULL))
		status = bind(device, segment, frame, results);
	if (status == WNNStatus_Success)
		return dispatch(device, segment, lacks);
	*lacks = status == WNNStatus_UnknownError;
	device->lacked_memory |= *lacks;
	return status;
}

/*
 * Whether a region runs once for a run: that of a function, or of a computation on slices in one.
 * Regions of other operations may be loops.
 */
static bool is_outer(const struct shlo_module *module, const struct shlo_region *region)
{
	for (size_t i = 0; i < module->function_count; i++) {
		const struct shlo_region *body = module->functions[i]->region;

		if (body == region)
			return true;
		for (size_t k = 0; body && k < body->block.op_count; k++)
			if (body->block.ops[k]->cut && body->block.ops[k]->regions[0] == region)
				return true;
	}
	return false;
}

/* Returns the item of run->bare that notes when this region has no graphs. */
static const struct shlo_region **bare_place(struct shlo_run *run, const struct shlo_region *region)
{
	return &run->bare[((uintptr_t)region >> 6) % (sizeof(run->bare) / sizeof(run->bare[0]))];
}

static struct segment *segment_at(struct shlo_run *run, const struct shlo_region *region, size_t at)
{
	struct shlo_device *device = run->device;
	struct shlo_plan *plan = device->plans;

	while (plan && plan->region != region)
		plan = plan->next;
	if (!plan) {
		plan = plan_new(region, is_outer(run->module, region));
		if (!plan) {
			device->lacked_memory = true;
			return NULL;
		}
		plan->next = device->plans;
		device->plans = plan;
	}
	reach(device, plan);
	if (!plan->count)
		*bare_place(run, region) = region;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->segments[i].first == at)
			return &plan->segments[i];
	return NULL;
}

static void set_results(struct shlo_frame *frame, const struct segment *segment,
			struct shlo_tensor *results)
{
	for (size_t i = 0; i < segment->outputs.count; i++) {
		struct shlo_tensor **slot = &frame->slots[segment->outputs.items[i].value->slot];

		shlo_tensor_put(*slot);
		*slot = shlo_tensor_get(results->items[i]);
	}
}

size_t shlo_run_segment(struct shlo_run *run, struct shlo_frame *frame,
			const struct shlo_region *region, size_t at)
{
	struct shlo_device *device = run->device;
	struct shlo_type type = { .kind = SHLO_TUPLE };
	WNNError error = WNN_ERROR_INIT;
	struct segment *segment;
	struct shlo_tensor *results;
	WNNStatus status;
	bool lost, lacks = false;

	if (!device || *bare_place(run, region) == region)
		return 0;
	pthread_mutex_lock(&device->lock);
	segment = segment_at(run, region, at);
	pthread_mutex_unlock(&device->lock);
	if (!segment)
		return 0;
	for (size_t i = segment->first; i < segment->end; i++)
		if (shlo_is_constant(region->block.ops[i]))
			shlo_eval_op(run, frame, region->block.ops[i]);
	pthread_mutex_lock(&device->lock);
	if (!segment->built)
		make(run, segment, frame, region);
	lost = device->lost;
	pthread_mutex_unlock(&device->lock);
	/* A lost context is an error with graphs of an earlier run, too. */
	if (lost)
		shlo_run_error(run, "the context is lost: the program needs a new one");
	if (!segment->graph)
		return 0;
	type.item_count = segment->outputs.count;
	results = shlo_tensor_new(run, &type);
	for (size_t i = 0; i < segment->outputs.count; i++)
		results->items[i] = shlo_tensor_unset(run, segment->outputs.items[i].value->type);
	run->at = region->block.ops[segment->first];
	pthread_mutex_lock(&device->lock);
	status = run_graph(device, segment, frame, results, &lacks);
	pthread_mutex_unlock(&device->lock);
	/* In this run, reference kernels compute the operations. */
	if (lacks) {
		shlo_tensor_put(results);
		return 0;
	}
	if (status != WNNStatus_Success) {
		wnnGetLastError(&error);
		shlo_run_error(run, "the device failed: %.*s", (int)error.message.length,
			       error.message.data);
	}
	set_results(frame, segment, results);
	shlo_tensor_put(results);
	run->device_ops += segment->operations;
	run->copied_bytes +=
		shlo_ports_bytes(&segment->inputs) + shlo_ports_bytes(&segment->outputs);
	return segment->end - segment->first;
}

/* ---- telling where operations ran */

struct placements {
	struct shlo_arena *arena;
	WNNStablehloPlacement *items;
	size_t count;
};

static WNNStringView copy_view(struct shlo_arena *arena, const char *text, size_t length)
{
	return (WNNStringView){ shlo_arena_text(arena, text, length), length };
}

static void add_placement(struct placements *p, WNNStringView label, WNNStringView name,
			  const char *device, WNNStringView reason)
{
	p->items = shlo_arena_grow(p->arena, p->items, p->count, sizeof(*p->items));
	p->items[p->count++] = (WNNStablehloPlacement){
		copy_view(p->arena, label.data, label.length),
		copy_view(p->arena, name.data, name.length),
		{ device, strlen(device) },
		copy_view(p->arena, reason.data, reason.length),
	};
}

static void add_graph(struct placements *p, WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	if (wnnGraphGetPlacement(graph, &placement) != WNNStatus_Success)
		return;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		add_placement(p, node->label, node->operatorName,
			      node->device == WNNNodeDevice_NPU ? "npu" :
			      node->device == WNNNodeDevice_CPU ? "cpu" :
								  "folded",
			      node->reasonText);
	}
}

/* @segment: the sequence that the operation belongs to and that has no graph, or NULL. */
static void add_reference(struct placements *p, const struct shlo_op *op,
			  const struct segment *segment)
{
	static const char has_none[] = "WebNN has no operators that give the same result";
	static const char small[] =
		"in loops and branches values of fewer than 1024 elements are not worth a graph";
	static const char sparse[] =
		"in loops and branches, fewer than 1024 elements or a sixteenth of an array "
		"are not worth a graph";
	static const char control[] = "the library walks through its regions";
	static const char chained[] =
		"it runs block by block with operations that WebNN has no operators for";
	static const char lacking[] = "too little memory was free for a graph with it";
	static const char refused[] = "the context takes no graph with it";
	bool can = shlo_can_lower(op);
	const char *reason = segment && segment->lacked_memory ? lacking :
			     segment			       ? refused :
			     op->region_count && !can	       ? control :
			     can && op->chain		       ? chained :
			     can && is_sparse(op)	       ? sparse :
			     can			       ? small :
								 has_none;
	char label[120];

	label_of(op, label, sizeof(label));
	add_placement(p, (WNNStringView){ label, strlen(label) }, (WNNStringView){ "", 0 },
		      "reference", (WNNStringView){ reason, strlen(reason) });
}

static bool is_told(const struct shlo_op *op)
{
	return op->kind->family != SHLO_CONSTANT && op->kind->family != SHLO_CHECK &&
	       op->kind->family != SHLO_RETURN && strcmp(op->name, "func.call");
}

static void add_plan(struct placements *p, const struct shlo_plan *plan)
{
	const struct shlo_block *block = &plan->region->block;
	size_t next = 0;

	for (size_t i = 0; i < block->op_count; i++) {
		while (next < plan->count && plan->segments[next].end <= i)
			next++;
		if (next < plan->count && plan->segments[next].first == i &&
		    plan->segments[next].graph)
			add_graph(p, plan->segments[next].graph);
		if (next < plan->count && plan->segments[next].first <= i &&
		    plan->segments[next].graph)
			continue;
		if (is_told(block->ops[i]))
			add_reference(p, block->ops[i],
				      next < plan->count && plan->segments[next].first <= i ?
					      &plan->segments[next] :
					      NULL);
	}
}

WNNStablehloPlacementArray shlo_device_placement(const struct shlo_device *device,
						 struct shlo_arena *arena)
{
	struct placements p = { .arena = arena };

	for (const struct shlo_plan *plan = device->plans; plan; plan = plan->next)
		if (plan->reached == device->run)
			add_plan(&p, plan);
	return (WNNStablehloPlacementArray){ p.count, p.items };
}
