// SPDX-License-Identifier: MIT
/*
 * Writes and reads compiled graphs as bytes: the optimised graph, where each of its nodes runs,
 * programs, constants and packed operands. Steps, addresses and offsets are not stored but computed
 * again from the graph, so that no bytes of a file can make them wrong.
 */
#include "run/store.h"

#include <inttypes.h>
#include <string.h>

#include "ir/binary.h"
#include "ir/shapes.h"
#include "run/compiled_private.h"
#include "util/malloc.h"
#include "util/number.h"
#include "util/printable.h"

#define MAX_VALUE_BYTES (UINT64_C(1) << 56) /* limit of the bytes of all values together */

/*
 * How a node runs, which the file says because other builds of the library may combine other CPU
 * nodes into a step.
 */
enum place { PLACE_CPU, PLACE_NPU, PLACE_CPU_JOINED, PLACE_CPU_VIEW, PLACE_COUNT };

static enum place place_of(const struct run_step *step, uint32_t node)
{
	if (step->program)
		return PLACE_NPU;
	return node == step->first ? PLACE_CPU : PLACE_CPU_JOINED;
}

/* Writes how each node runs. Nodes that belong to no step are views. */
static void put_places(struct run_image *image, const struct run_compiled *c)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < c->num_steps; s++) {
		const struct run_step *step = &c->steps[s];

		for (; n < step->first; n++)
			wnn_put_u32(&image->graph, PLACE_CPU_VIEW);
		for (; n < step->first + step->count; n++)
			wnn_put_u32(&image->graph, place_of(step, n));
	}
	for (; n < c->graph->num_nodes; n++)
		wnn_put_u32(&image->graph, PLACE_CPU_VIEW);
}

/* ---- writing */

/*
 * Writes the name of a node's kernel, which determines the layout of its packed operand, and that
 * operand.
 */
static void put_packed(struct run_image *image, const struct run_compiled *c,
		       const struct run_step *step)
{
	const char *kernel = run_compiled_cpu_kernel(c, c->graph->nodes[step->first]);

	wnn_put_u32(&image->graph, cpu_plan_version(step->plan));
	wnn_put_text(&image->graph, kernel, strlen(kernel));
	wnn_put_u64(&image->graph, step->packed ? step->packed_bytes : 0);
	if (!step->packed)
		return;
	wnn_put_zeros(&image->data, IR_DATA_ALIGNMENT);
	wnn_put_u64(&image->graph, image->data.size);
	wnn_put(&image->data, step->packed, step->packed_bytes);
}

int run_save(const struct run_compiled *c, struct run_image *image, struct wnn_error *err)
{
	if (ir_write(c->graph, &image->graph, &image->data, err))
		return -1;
	put_places(image, c);
	for (uint32_t s = 0; s < c->num_steps; s++) {
		if (c->steps[s].program)
			npu_program_write(c->steps[s].program, &image->graph);
		else
			put_packed(image, c, &c->steps[s]);
	}
	image->code = c->code.map;
	image->code_bytes = c->code_bytes;
	if (image->graph.failed || image->data.failed)
		return wnn_error_nomem(err, "the bytes of a graph");
	return 0;
}

void run_image_release(struct run_image *image)
{
	wnn_free(image->graph.data);
	wnn_free(image->data.data);
}

/* ---- reading */

static int unsound(struct wnn_error *err, const char *what)
{
	return wnn_error_set(err, WNN_OPERATION_ERROR, "%s", what);
}

/* Reads where each node runs. Returns an array with an entry for each node; NULL with *err. */
static uint32_t *get_places(struct run_stored *stored, const struct run_compiled *c,
			    struct wnn_error *err)
{
	uint32_t count = c->graph->num_nodes;
	uint32_t *places = wnn_calloc((size_t)count + 1, sizeof(*places));

	if (!places) {
		wnn_error_nomem(err, "the placement of a graph");
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		places[i] = wnn_get_u32(&stored->graph);
		stored->graph.failed |= places[i] >= PLACE_COUNT;
	}
	if (!stored->graph.failed)
		return places;
	wnn_free(places);
	unsound(err, "its placement is damaged");
	return NULL;
}

static bool *on_npu_of(const uint32_t *places, uint32_t count, struct wnn_error *err)
{
	bool *on_npu = wnn_calloc((size_t)count + 1, sizeof(*on_npu));

	if (!on_npu)
		wnn_error_nomem(err, "the placement of a graph");
	for (uint32_t i = 0; i < count && on_npu; i++)
		on_npu[i] = places[i] == PLACE_NPU;
	return on_npu;
}

/*
 * Checks that the steps of the file are those that this library makes of the graph. Returns 0, or
 * -1 with *err.
 */
static int check_steps(const struct run_compiled *c, const uint32_t *places, struct wnn_error *err)
{
	static const char *const how[] = {
		[PLACE_CPU] = "by itself",
		[PLACE_NPU] = "",
		[PLACE_CPU_JOINED] = "with the node before",
		[PLACE_CPU_VIEW] = "without a step, as a view",
	};
	uint32_t s = 0;

	for (uint32_t n = 0; n < c->graph->num_nodes; n++) {
		enum place here = PLACE_CPU_VIEW;

		while (s < c->num_steps && n >= c->steps[s].first + c->steps[s].count)
			s++;
		if (s < c->num_steps && n >= c->steps[s].first)
			here = place_of(&c->steps[s], n);
		/* NPU nodes have no program yet, so place_of() cannot recognise them. */
		if (places[n] != PLACE_NPU && places[n] != here)
			return wnn_error_set(
				err, WNN_NOT_SUPPORTED,
				"the saved graph is of another build of the library, or of a "
				"processor with other caches, where the CPU computed node %" PRIu32
				" (%s) %s, but here %s: build the graph and save it anew",
				n, ir_op_name(c->graph->nodes[n]->op), how[places[n]], how[here]);
	}
	return 0;
}

static int check_values(const struct ir_graph *graph, struct wnn_error *err)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < graph->num_values && bytes < MAX_VALUE_BYTES; i++)
		bytes += (uint64_t)ir_type_bytes(&graph->values[i]->type);
	return bytes < MAX_VALUE_BYTES ? 0 : unsound(err, "its values are too big");
}

/*
 * Checks that the values which a program expects in memory have a location there. Returns 0, or -1
 * with *err.
 */
static int check_bindings(const struct run_compiled *c, const struct npu_program *program,
			  struct wnn_error *err)
{
	for (uint32_t i = 0; i < program->num_bindings; i++) {
		const struct run_location *location =
			run_home_location(c, program->bindings[i].value_id);

		if (location->where == RUN_CONSTANT ||
		    (location->where == RUN_NOWHERE && !location->needed))
			return unsound(err, "a program of it has a value that is not in memory");
	}
	return 0;
}

static int read_program(struct run_compiled *c, struct run_step *step, struct run_stored *stored,
			struct wnn_error *err)
{
	const struct npu_caps *caps = &c->device->ws->caps;
	struct npu_program *program;
	uint32_t insn;

	program = npu_program_read(&stored->graph, c->graph, step->first, step->count, err);
	if (!program)
		return -1;
	step->program = program;
	run_set_offsets(c, step);
	if (c->code_bytes > stored->code_bytes)
		return unsound(err, "its programs do not fit its code");
	program->insns = wnn_malloc(((size_t)program->num_insns + 1) * sizeof(*program->insns));
	if (!program->insns)
		return wnn_error_nomem(err, "an NPU program");
	memcpy(program->insns, (const uint8_t *)stored->code + step->insns,
	       program->num_insns * sizeof(*program->insns));
	if (check_bindings(c, program, err))
		return -1;
	return npu_program_verify(program, caps, &insn, err);
}

/*
 * Plans a node of the CPU with the kernel that the file names, for which the file's operand was
 * packed. Returns 0, or -1 with *err.
 */
static int read_plan(struct run_compiled *c, struct run_step *step, struct run_stored *stored,
		     struct wnn_error *err)
{
	const struct ir_node *node = c->graph->nodes[step->first];
	uint32_t version = wnn_get_u32(&stored->graph);
	const char *kernel = wnn_get_text(&stored->graph, c->graph->arena);
	char name[64];

	if (stored->graph.failed)
		return unsound(err, "its CPU nodes are damaged");
	if (!step->plan)
		step->plan = cpu_plan_named(c->device->cpu, node, kernel, version, err);
	if (step->plan && !strcmp(kernel, cpu_plan_name(step->plan)) &&
	    version == cpu_plan_version(step->plan))
		return 0;
	if (err->status)
		return -1;
	wnn_text_printable(name, sizeof(name), kernel, strlen(kernel));
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the saved graph is of another build of the library, in which the CPU ran node "
		"%" PRIu32
		" (%s) with kernel %s, which cannot run it in this build: build the graph and save "
		"it anew",
		node->id, ir_op_name(node->op), name);
}

static int read_packed(struct run_step *step, struct run_stored *stored, struct wnn_error *err)
{
	uint64_t bytes = wnn_get_u64(&stored->graph), offset;

	if (bytes != cpu_plan_pack_bytes(step->plan))
		return unsound(err, "a packed operand has another size than its kernel reads");
	if (!bytes)
		return stored->graph.failed ? unsound(err, "its CPU nodes are damaged") : 0;
	offset = wnn_get_u64(&stored->graph);
	if (stored->graph.failed || offset % IR_DATA_ALIGNMENT || offset > stored->data_bytes ||
	    bytes > stored->data_bytes - offset)
		return unsound(err, "a packed operand lies outside of it");
	step->packed = (void *)(stored->data + offset);
	step->packed_bytes = bytes;
	return 0;
}

/*
 * Checks that the CPU can run its nodes and that their shapes fit: kernels rely on both. Returns 0,
 * or -1 with *err.
 */
static int check_cpu_nodes(const struct ir_graph *graph, const bool *on_npu, struct wnn_error *err)
{
	for (uint32_t i = 0; i < graph->num_nodes; i++) {
		const struct ir_node *node = graph->nodes[i];

		if (on_npu[i])
			continue;
		if (!cpu_supports(node))
			return unsound(err, "the CPU cannot run one of its nodes");
		if (!ir_shapes_fit(node))
			return wnn_error_set(
				err, WNN_OPERATION_ERROR,
				"node %" PRIu32
				" (%s) of the saved graph, which the CPU computes, has shapes or "
				"types that do not fit each other, so the file was changed: build "
				"the graph and save it anew",
				node->id, ir_op_name(node->op));
	}
	return 0;
}

/* Whether a value lies in a constant that the file does not contain. */
static bool is_missing(const struct run_compiled *c, const struct ir_value *value)
{
	const struct ir_value *home = c->graph->values[c->homes[value->id].value];

	return home->kind == IR_VALUE_CONSTANT && !home->constant;
}

/*
 * Checks that the file contains the constants that a step on the CPU reads. Returns 0, or -1 with
 * *err.
 */
static int check_constants(const struct run_compiled *c, const struct run_step *step,
			   struct wnn_error *err)
{
	for (uint32_t n = step->first; n < step->first + step->count; n++) {
		const struct ir_node *node = c->graph->nodes[n];

		for (uint32_t i = 0; i < node->num_operands; i++) {
			const struct ir_value *value = node->operands[i];
			bool packed = value && value->kind == IR_VALUE_CONSTANT &&
				      n == step->first && i == 1 && step->packed;

			if (value && !packed && is_missing(c, value))
				return unsound(err, "a constant of a CPU node is not in it");
		}
	}
	return 0;
}

static int read_steps(struct run_compiled *c, const bool *on_npu, struct run_stored *stored,
		      struct wnn_error *err)
{
	for (uint32_t s = 0; s < c->num_steps; s++) {
		struct run_step *step = &c->steps[s];

		if (!on_npu[step->first]) {
			if (read_plan(c, step, stored, err) || read_packed(step, stored, err) ||
			    check_constants(c, step, err))
				return -1;
			continue;
		}
		if (!c->device->ws)
			return unsound(err, "it has NPU programs, but the device is the CPU");
		if (read_program(c, step, stored, err))
			return -1;
	}
	if (stored->graph.at != stored->graph.end || c->code_bytes != stored->code_bytes)
		return unsound(err, "there is more in it than its graph");
	for (uint32_t i = 0; i < c->num_copies; i++)
		if (is_missing(c, c->copies[i].value))
			return unsound(err, "a constant that is an output is not in it");
	return 0;
}

static int load(struct run_compiled *c, struct run_stored *stored, struct wnn_error *err)
{
	uint32_t *places;
	bool *on_npu;
	int ret = -1;

	c->graph = ir_read(&stored->graph, stored->data, stored->data_bytes, err);
	if (!c->graph || check_values(c->graph, err))
		return -1;
	if (c->graph->num_names)
		return unsound(err, "it has dimensions that are known only at dispatch");
	places = get_places(stored, c, err);
	if (!places)
		return -1;
	on_npu = on_npu_of(places, c->graph->num_nodes, err);
	if (on_npu)
		ret = check_cpu_nodes(c->graph, on_npu, err) || run_make_steps(c, on_npu, err) ||
		      check_steps(c, places, err) || run_locate_values(c, on_npu, err) ||
		      read_steps(c, on_npu, stored, err) || run_make_arena(c, err);
	wnn_free(places);
	wnn_free(on_npu);
	if (ret || !c->code_bytes)
		return ret ? -1 : 0;
	return run_buffer_wrap(&c->device->heap, &c->code, stored->code, c->code_bytes,
			       "the program of a graph and its constants", err);
}

int run_load(struct run_device *device, struct run_stored *stored, struct run_compiled **out,
	     struct wnn_error *err)
{
	struct run_compiled *c = wnn_calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return wnn_error_nomem(err, "a graph");
	atomic_init(&c->refs, 1);
	c->device = device;
	if (load(c, stored, err)) {
		run_compiled_unref(c);
		return -1;
	}
	c->owner = stored->owner;
	c->release = stored->release;
	*out = c;
	return 0;
}
