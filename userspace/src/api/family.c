// SPDX-License-Identifier: MIT
/*
 * Families of graphs: a graph with dimensions that are known only at dispatch is compiled for each
 * combination of sizes when it is first dispatched with these sizes.
 */
#include "api/family.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "api/tensor.h"
#include "graph/label.h"
#include "ir/symbols.h"
#include "util/clock.h"
#include "util/malloc.h"
#include "util/printable.h"

#define NAME_SIZE 96

/* A graph that is compiled for certain sizes. */
struct member {
	struct run_compiled *compiled; /* a reference; NULL: this entry is empty */
	uint32_t *numbers;	       /* the size of each named dimension */
	uint64_t used;		       /* the family's clock at the last use */
	uint64_t uses, build_ns;
};

struct graph_family {
	/* The template: the graph whose dimensions have names; constant once the graph is built. */
	struct wnn_recording *recording;
	/* The members below are protected by the lock of the graph. */
	uint64_t clock; /* how often a member was added or used again */
	uint64_t compilations;
	struct member members[FAMILY_MEMBERS];
};

static const struct ir_graph *template_of(WNNGraph graph)
{
	return graph->family->recording->graph;
}

uint32_t family_names(WNNGraph graph)
{
	return template_of(graph)->num_names;
}

struct ir_type family_type(WNNGraph graph, const struct graph_port *port, const uint32_t *numbers)
{
	return ir_type_at(template_of(graph), &port->type, numbers);
}

/* ---- sizes of tensors */

/* Writes the name of an input for messages; returns buffer. */
static const char *input_text(WNNGraph graph, uint32_t i, char *buffer)
{
	const char *name = template_of(graph)->inputs[i]->name;

	wnn_text_printable(buffer, NAME_SIZE, name, strlen(name));
	return buffer;
}

static int check_rank(WNNGraph graph, uint32_t i, const WNNTensor tensor, const char *what,
		      struct wnn_error *err)
{
	const struct ir_type *type = &graph->inputs[i].type;
	char name[NAME_SIZE];

	if (type->dtype == tensor->type.dtype && type->rank == tensor->type.rank)
		return 0;
	return wnn_error_set(err, WNN_TYPE_ERROR,
			     "%s: input \"%s\": the tensor%s is %s of rank %" PRIu32
			     "; the graph has %s of rank %" PRIu32,
			     what, input_text(graph, i, name), tensor_label(tensor),
			     ir_dtype_name(tensor->type.dtype), tensor->type.rank,
			     ir_dtype_name(type->dtype), type->rank);
}

/*
 * Stores in `numbers` the size of the name that dimension d of input i contains, when that
 * dimension is @size. Returns 0, also when the size is stored already, or when it does not follow
 * from the dimension, which is a quotient; -1 with *err when no size in the range of the name makes
 * the dimension @size.
 */
static int find_size(WNNGraph graph, uint32_t i, uint32_t d, int64_t size, const char *what,
		     uint32_t *numbers, struct wnn_error *err)
{
	const struct ir_graph *ir = template_of(graph);
	uint32_t index = graph->inputs[i].type.dim[d].symbol;
	const struct ir_symbol *symbol = ir_symbol_of(ir, index);
	const struct ir_name *name = &ir->names[symbol->name];
	char input[NAME_SIZE], text[IR_SYMBOL_TEXT_SIZE];
	int64_t n = (size - symbol->add) / symbol->multiply;

	if (symbol->divide != 1 || numbers[symbol->name])
		return 0;
	if (n >= name->min && n <= name->max && ir_symbol_at(symbol, n) == size) {
		numbers[symbol->name] = (uint32_t)n;
		return 0;
	}
	return wnn_error_set(err, WNN_TYPE_ERROR,
			     "%s: input \"%s\": dimension %" PRIu32 " of the tensor is %" PRId64
			     "; it must be %s, where \"%s\" is from %" PRIu32 " to %" PRIu32,
			     what, input_text(graph, i, input), d, size,
			     ir_symbol_text(ir, index, text, sizeof(text)), name->name, name->min,
			     name->max);
}

/*
 * Checks the shape of a tensor. A dimension passes if its name has no size yet: that size follows
 * only from inputs for which wnnGraphComputeShapes was given no tensor.
 */
static int check_shape(WNNGraph graph, uint32_t i, const WNNTensor tensor, const char *what,
		       const uint32_t *numbers, struct wnn_error *err)
{
	const struct ir_graph *ir = template_of(graph);
	struct ir_type type = family_type(graph, &graph->inputs[i], numbers);
	char input[NAME_SIZE], text[IR_SYMBOL_TEXT_SIZE];

	for (uint32_t d = 0; d < type.rank; d++) {
		int64_t size = ir_type_dim(&tensor->type, d);
		uint32_t index = graph->inputs[i].type.dim[d].symbol;
		const struct ir_symbol *symbol = ir_symbol_of(ir, index);

		if (size == ir_type_dim(&type, d) || (symbol && !numbers[symbol->name]))
			continue;
		input_text(graph, i, input);
		if (!symbol)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "%s: input \"%s\": dimension %" PRIu32
					     " of the tensor%s is %" PRId64
					     "; the graph has %" PRId64,
					     what, input, d, tensor_label(tensor), size,
					     ir_type_dim(&type, d));
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: input \"%s\": dimension %" PRIu32
				     " of the tensor%s is %" PRId64
				     "; it must be %s, which is %" PRId64 ", as \"%s\" is %" PRIu32
				     " by another dimension",
				     what, input, d, tensor_label(tensor), size,
				     ir_symbol_text(ir, index, text, sizeof(text)),
				     ir_type_dim(&type, d), ir->names[symbol->name].name,
				     numbers[symbol->name]);
	}
	return 0;
}

/*
 * Gives the maximum to each name whose size does not follow from the shapes of the given tensors.
 * Returns 0, or -1 with *err when an output has a dimension that depends on such a name.
 */
static int complete_sizes(WNNGraph graph, const char *what, uint32_t *numbers,
			  struct wnn_error *err)
{
	const struct ir_graph *ir = template_of(graph);
	const struct ir_type *type;

	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		type = &graph->outputs[i].type;
		for (uint32_t d = 0; d < type->rank; d++) {
			const struct ir_symbol *symbol = ir_symbol_of(ir, type->dim[d].symbol);

			if (symbol && !numbers[symbol->name])
				return wnn_error_set(err, WNN_TYPE_ERROR,
						     "%s: no tensor is given that tells the size "
						     "of \"%s\"; give that of an input with this "
						     "dimension",
						     what, ir->names[symbol->name].name);
		}
	}
	for (uint32_t k = 0; k < ir->num_names; k++)
		if (!numbers[k])
			numbers[k] = ir->names[k].max;
	return 0;
}

int family_find_sizes(WNNGraph graph, const WNNTensor *tensors, const char *what, uint32_t *numbers,
		      struct wnn_error *err)
{
	memset(numbers, 0, family_names(graph) * sizeof(*numbers));
	for (uint32_t i = 0; i < graph->num_inputs; i++) {
		const struct ir_type *type = &graph->inputs[i].type;

		if (!tensors[i])
			continue;
		if (check_rank(graph, i, tensors[i], what, err))
			return -1;
		for (uint32_t d = 0; d < type->rank; d++)
			if (type->dim[d].symbol &&
			    find_size(graph, i, d, ir_type_dim(&tensors[i]->type, d), what, numbers,
				      err))
				return -1;
	}
	for (uint32_t i = 0; i < graph->num_inputs; i++)
		if (tensors[i] && check_shape(graph, i, tensors[i], what, numbers, err))
			return -1;
	return complete_sizes(graph, what, numbers, err);
}

/* ---- members */

static bool same_sizes(WNNGraph graph, const uint32_t *a, const uint32_t *b)
{
	return !memcmp(a, b, family_names(graph) * sizeof(*a));
}

/* Returns the member for these sizes; NULL: there is none. Call it with the graph's lock held. */
static struct member *find_member(WNNGraph graph, const uint32_t *numbers)
{
	struct member *members = graph->family->members;

	for (int i = 0; i < FAMILY_MEMBERS; i++)
		if (members[i].compiled && same_sizes(graph, members[i].numbers, numbers))
			return &members[i];
	return NULL;
}

bool family_has(WNNGraph graph, const uint32_t *numbers)
{
	bool has;

	pthread_mutex_lock(&graph->lock);
	has = find_member(graph, numbers);
	pthread_mutex_unlock(&graph->lock);
	return has;
}

/*
 * Adds a member, in the place of the one that was used least recently when there are enough. Takes
 * over a reference and the numbers.
 */
static void add_member(WNNGraph graph, struct run_compiled *compiled, uint32_t *numbers,
		       uint64_t build_ns)
{
	struct graph_family *family = graph->family;
	struct member *to = family->members, before;

	pthread_mutex_lock(&graph->lock);
	for (int i = 1; i < FAMILY_MEMBERS && to->compiled; i++)
		if (!family->members[i].compiled || family->members[i].used < to->used)
			to = &family->members[i];
	before = *to;
	*to = (struct member){ compiled, numbers, ++family->clock, 0, build_ns };
	family->compilations++;
	pthread_mutex_unlock(&graph->lock);
	/* Dispatches in flight have references of their own. */
	run_compiled_unref(before.compiled);
	wnn_free(before.numbers);
}

static uint32_t *copy_numbers(WNNGraph graph, const uint32_t *numbers)
{
	size_t bytes = family_names(graph) * sizeof(*numbers);
	uint32_t *copy = wnn_malloc(bytes);

	return copy ? memcpy(copy, numbers, bytes) : NULL;
}

/* Writes sizes, such as: "rows" = 3. Returns buffer. */
static const char *sizes_text(WNNGraph graph, const uint32_t *numbers, char *buffer, size_t size)
{
	const struct ir_graph *ir = template_of(graph);
	size_t at = 0;
	char name[NAME_SIZE];

	for (uint32_t i = 0; i < ir->num_names && at < size; i++) {
		wnn_text_printable(name, sizeof(name), ir->names[i].name,
				   strlen(ir->names[i].name));
		at += (size_t)snprintf(buffer + at, size - at, "%s\"%s\" = %" PRIu32,
				       at ? ", " : "", name, numbers[i]);
	}
	return buffer;
}

/* Whether a compiled graph has the template's inputs, in their order, and as many outputs. */
static bool has_inputs(WNNGraph graph, const struct run_compiled *compiled)
{
	const struct ir_graph *of = template_of(graph), *ir = run_compiled_graph(compiled);

	for (uint32_t i = 0; i < of->num_inputs; i++)
		if (i >= ir->num_inputs || strcmp(of->inputs[i]->name, ir->inputs[i]->name))
			return false;
	return ir->num_inputs == of->num_inputs && ir->num_outputs == of->num_outputs;
}

/* Compiles the graph for these sizes. Returns the result with a reference; NULL with *err. */
static struct run_compiled *compile(WNNGraph graph, const uint32_t *numbers, struct wnn_error *err)
{
	struct wnn_recording *recording =
		wnn_recording_specialise(graph->family->recording, numbers, err);
	WNNGraph member = recording ? graph_create(graph->context, err) : NULL;
	struct run_compiled *compiled = NULL;

	if (member && !graph_build(member, recording, err)) {
		compiled = member->compiled;
		member->compiled = NULL;
	}
	wnn_recording_destroy(recording);
	if (member)
		graph_abandon(member);
	if (!compiled || has_inputs(graph, compiled))
		return compiled;
	run_compiled_unref(compiled);
	wnn_error_set(
		err, WNN_OPERATION_ERROR,
		"internal error, please report it: the compiled graph does not have the inputs and "
		"outputs of the graph that was built");
	return NULL;
}

static struct run_compiled *compile_member(WNNGraph graph, const uint32_t *numbers,
					   struct wnn_error *err)
{
	uint64_t begin = wnn_clock_ns();
	uint32_t *copy = copy_numbers(graph, numbers);
	struct wnn_error cause = { 0 };
	struct run_compiled *compiled = NULL;
	char sizes[3 * NAME_SIZE];

	if (copy)
		compiled = compile(graph, numbers, &cause);
	else
		wnn_error_nomem(&cause, "a graph");
	if (!compiled) {
		wnn_free(copy);
		wnn_error_set(err, cause.status, "the graph%s cannot be compiled for %s: %s",
			      object_label_text(&graph->label),
			      sizes_text(graph, numbers, sizes, sizeof(sizes)), cause.message);
		return NULL;
	}
	run_compiled_ref(compiled);
	add_member(graph, compiled, copy, wnn_clock_ns() - begin);
	wnn_log_write(&graph->context->instance->log, WNN_LOG_INFO, "graph%s compiled for %s",
		      object_label_text(&graph->label),
		      sizes_text(graph, numbers, sizes, sizeof(sizes)));
	return compiled;
}

struct run_compiled *family_get(WNNGraph graph, const uint32_t *numbers, struct wnn_error *err)
{
	struct run_compiled *compiled = NULL;
	struct member *member;

	pthread_mutex_lock(&graph->lock);
	member = find_member(graph, numbers);
	if (member) {
		compiled = run_compiled_ref(member->compiled);
		member->used = ++graph->family->clock;
		member->uses++;
	}
	pthread_mutex_unlock(&graph->lock);
	if (compiled)
		return compiled;
	compiled = compile_member(graph, numbers, err);
	if (compiled) {
		pthread_mutex_lock(&graph->lock);
		find_member(graph, numbers)->uses++;
		pthread_mutex_unlock(&graph->lock);
	}
	return compiled;
}

int family_make(WNNGraph graph, struct wnn_recording *recording, struct wnn_error *err)
{
	const struct ir_graph *ir = recording->graph;
	uint32_t *largest = wnn_malloc(ir->num_names * sizeof(*largest));
	struct graph_family *family = wnn_calloc(1, sizeof(*family));
	uint64_t begin = wnn_clock_ns();
	struct wnn_recording *numbers = NULL;
	size_t nodes;

	if (!largest || !family) {
		wnn_free(largest);
		wnn_free(family);
		wnn_recording_destroy(recording);
		return wnn_error_nomem(err, "a graph");
	}
	family->recording = recording;
	graph->family = family;
	for (uint32_t i = 0; i < ir->num_names; i++)
		largest[i] = ir->names[i].max;
	numbers = wnn_recording_specialise(recording, largest, err);
	if (!numbers || graph_build(graph, numbers, err)) {
		wnn_recording_destroy(numbers);
		wnn_free(largest);
		return -1;
	}
	wnn_recording_destroy(numbers);
	add_member(graph, run_compiled_ref(graph->compiled), largest, wnn_clock_ns() - begin);
	/* Inputs and outputs are those of the template; the nodes are those that were compiled. */
	nodes = graph->node_count;
	if (graph_describe_ports(graph, ir, err))
		return -1;
	graph->node_count = nodes;
	return 0;
}

void family_drop(WNNGraph graph)
{
	struct member dropped[FAMILY_MEMBERS];

	pthread_mutex_lock(&graph->lock);
	memcpy(dropped, graph->family->members, sizeof(dropped));
	memset(graph->family->members, 0, sizeof(graph->family->members));
	pthread_mutex_unlock(&graph->lock);
	for (int i = 0; i < FAMILY_MEMBERS; i++) {
		run_compiled_unref(dropped[i].compiled);
		wnn_free(dropped[i].numbers);
	}
}

void family_destroy(struct graph_family *family)
{
	if (!family)
		return;
	wnn_recording_destroy(family->recording);
	wnn_free(family);
}

/* ---- texts */

static void print_type(FILE *f, const struct ir_graph *ir, const struct ir_type *type)
{
	char text[IR_SYMBOL_TEXT_SIZE];

	fprintf(f, "%s[", ir_dtype_name(type->dtype));
	for (uint32_t d = 0; d < type->rank; d++) {
		fputs(d ? "," : "", f);
		if (type->dim[d].symbol)
			fputs(ir_symbol_text(ir, type->dim[d].symbol, text, sizeof(text)), f);
		else
			fprintf(f, "%" PRId64, ir_type_dim(type, d));
	}
	fputs("]\n", f);
}

/* Returns the bytes of the constants that the template keeps for graphs that are compiled later. */
static uint64_t constant_bytes(const struct ir_graph *ir)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ir->num_values; i++)
		if (ir->values[i]->kind == IR_VALUE_CONSTANT)
			bytes += ir->values[i]->constant->bytes;
	return bytes;
}

static void print_members(FILE *f, WNNGraph graph)
{
	const struct graph_family *family = graph->family;
	char sizes[3 * NAME_SIZE];
	uint32_t count = 0;

	for (int i = 0; i < FAMILY_MEMBERS; i++) {
		const struct member *member = &family->members[i];

		if (!member->compiled)
			continue;
		count++;
		fprintf(f,
			"compiled for %s: %" PRIu64 " dispatches, compiled in %.1f ms, %" PRIu64
			" bytes of programs and constants, %" PRIu64 " bytes for each dispatch\n",
			sizes_text(graph, member->numbers, sizes, sizeof(sizes)), member->uses,
			(double)member->build_ns / 1e6, run_compiled_bytes(member->compiled),
			run_compiled_arena_bytes(member->compiled));
	}
	fprintf(f,
		"%" PRIu32 " of at most %d combinations of sizes are compiled, after %" PRIu64
		" compilations; %" PRIu64 " bytes of constants are kept for further ones\n",
		count, FAMILY_MEMBERS, family->compilations,
		constant_bytes(family->recording->graph));
}

static void print_family(FILE *f, WNNGraph graph)
{
	const struct ir_graph *ir = template_of(graph);
	char name[NAME_SIZE];

	for (uint32_t i = 0; i < ir->num_names; i++) {
		wnn_text_printable(name, sizeof(name), ir->names[i].name,
				   strlen(ir->names[i].name));
		fprintf(f,
			"\"%s\" is from %" PRIu32 " to %" PRIu32
			", by value: each size is compiled when it is first dispatched\n",
			name, ir->names[i].min, ir->names[i].max);
	}
	for (uint32_t i = 0; i < ir->num_inputs; i++) {
		fprintf(f, "input \"%s\": ", input_text(graph, i, name));
		print_type(f, ir, &ir->inputs[i]->type);
	}
	for (uint32_t i = 0; i < ir->num_outputs; i++) {
		wnn_text_printable(name, sizeof(name), ir->outputs[i].name,
				   strlen(ir->outputs[i].name));
		fprintf(f, "output \"%s\": ", name);
		print_type(f, ir, &ir->outputs[i].value->type);
	}
	print_members(f, graph);
}

char *family_text(WNNGraph graph, struct wnn_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = graph->family ? open_memstream(&text, &size) : NULL;
	locale_t plain, before;

	if (!graph->family) {
		wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"getText: the graph%s has no dimension that is known only at dispatch",
			object_label_text(&graph->label));
		return NULL;
	}
	plain = newlocale(LC_ALL_MASK, "C", NULL);
	if (f && plain) {
		before = uselocale(plain);
		pthread_mutex_lock(&graph->lock);
		print_family(f, graph);
		pthread_mutex_unlock(&graph->lock);
		uselocale(before);
	}
	if (f && (fclose(f) || !plain)) {
		wnn_free(text);
		text = NULL;
	}
	if (plain)
		freelocale(plain);
	if (!text)
		wnn_error_nomem(err, "the text of a graph");
	return text;
}

/* ---- wnnGraphComputeShapes */

/*
 * Makes the list of outputs: one block of the descriptors, the shapes and the names. Returns 0, or
 * -1 when out of memory.
 */
static int list_outputs(WNNGraph graph, const uint32_t *numbers, WNNNamedOperandDescriptors *out)
{
	size_t bytes = graph->num_outputs * (sizeof(*out->data) + IR_MAX_RANK * sizeof(uint32_t));
	WNNNamedOperandDescriptor *data;
	uint32_t *shape;
	char *name;

	for (uint32_t i = 0; i < graph->num_outputs; i++)
		bytes += graph->output_list[i].name.length + 1;
	data = wnn_calloc(1, bytes);
	if (!data)
		return -1;
	shape = (uint32_t *)(data + graph->num_outputs);
	name = (char *)(shape + (size_t)graph->num_outputs * IR_MAX_RANK);
	for (uint32_t i = 0; i < graph->num_outputs; i++, shape += IR_MAX_RANK) {
		const WNNNamedOperandDescriptor *from = &graph->output_list[i];
		struct ir_type type =
			graph_find_port(graph->num_outputs, graph->output_list, from->name)->type;

		if (graph->family)
			type = ir_type_at(template_of(graph), &type, numbers);
		for (uint32_t d = 0; d < type.rank; d++)
			shape[d] = (uint32_t)ir_type_dim(&type, d);
		data[i] = *from;
		data[i].shape = (WNNUint32Array){ type.rank, shape };
		data[i].name.data = memcpy(name, from->name.data, from->name.length);
		name += from->name.length + 1;
	}
	*out = (WNNNamedOperandDescriptors){ graph->num_outputs, data };
	return 0;
}

static int compute_shapes(WNNGraph graph, size_t count, const WNNNamedTensor *inputs,
			  WNNNamedOperandDescriptors *outputs, struct wnn_error *err)
{
	WNNTensor *tensors = wnn_calloc(graph->num_inputs + 1, sizeof(WNNTensor));
	uint32_t *numbers =
		wnn_calloc((graph->family ? family_names(graph) : 0) + 1, sizeof(*numbers));
	int ret = tensors && numbers ? 0 : wnn_error_nomem(err, "computeShapes");

	for (size_t i = 0; !ret && i < count; i++)
		ret = graph_bind(graph, &inputs[i], false, "computeShapes", tensors, err);
	if (!ret && graph->family)
		ret = family_find_sizes(graph, tensors, "computeShapes", numbers, err);
	if (!ret && list_outputs(graph, numbers, outputs))
		ret = wnn_error_nomem(err, "computeShapes");
	wnn_free(tensors);
	wnn_free(numbers);
	return ret;
}

WNNStatus wnnGraphComputeShapes(WNNGraph graph, size_t inputCount, WNNNamedTensor const *inputs,
				WNNNamedOperandDescriptors *outputs)
{
	struct wnn_error err = { 0 };
	int ret;

	if (!api_check(graph, "wnnGraphComputeShapes", "graph") ||
	    !api_check(outputs, "wnnGraphComputeShapes", "outputs"))
		return wnnGetLastError(NULL);
	*outputs = (WNNNamedOperandDescriptors){ 0, NULL };
	if (atomic_load(&graph->destroyed))
		ret = graph_is_destroyed(graph, "computeShapes", &err);
	else if (inputCount && !inputs)
		ret = wnn_error_set(&err, WNN_TYPE_ERROR, "computeShapes: inputs is NULL");
	else
		ret = compute_shapes(graph, inputCount, inputs, outputs, &err);
	return ret ? api_error(&err) : WNNStatus_Success;
}

void wnnNamedOperandDescriptorsFreeMembers(WNNNamedOperandDescriptors descriptors)
{
	if (!api_forked())
		wnn_free((void *)descriptors.data);
}
