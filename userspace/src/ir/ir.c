// SPDX-License-Identifier: MIT
/* Builds IR graphs: types, constants, values, nodes. The rules and the passes call it. */
#include "ir/ir.h"

#include <string.h>

#include "util/arena.h"
#include "util/finite.h"
#include "util/malloc.h"

static const struct {
	const char *name;
	uint8_t bits;
	bool is_float;
} dtypes[IR_DTYPE_COUNT] = {
	[IR_F32] = { "float32", 32, true }, [IR_F16] = { "float16", 16, true },
	[IR_I32] = { "int32", 32, false },  [IR_U32] = { "uint32", 32, false },
	[IR_I64] = { "int64", 64, false },  [IR_U64] = { "uint64", 64, false },
	[IR_I8] = { "int8", 8, false },	    [IR_U8] = { "uint8", 8, false },
	[IR_I4] = { "int4", 4, false },	    [IR_U4] = { "uint4", 4, false },
	[IR_PRED] = { "pred", 8, false },   [IR_I16] = { "int16", 16, false },
	[IR_U16] = { "uint16", 16, false }, [IR_BF16] = { "bfloat16", 16, true },
	[IR_F64] = { "float64", 64, true },
};

size_t ir_dtype_bits(enum ir_dtype dtype)
{
	return dtypes[dtype].bits;
}

const char *ir_dtype_name(enum ir_dtype dtype)
{
	return dtypes[dtype].name;
}

bool ir_dtype_is_float(enum ir_dtype dtype)
{
	return dtypes[dtype].is_float;
}

bool ir_dtype_is_unsigned(enum ir_dtype dtype)
{
	return dtype == IR_U32 || dtype == IR_U64 || dtype == IR_U8 || dtype == IR_U4 ||
	       dtype == IR_U16;
}

struct ir_type ir_type_make(enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	struct ir_type type = { .dtype = dtype, .rank = rank };

	for (uint32_t i = 0; i < rank; i++)
		type.dim[i].value = dims[i];
	return type;
}

int64_t ir_type_dim(const struct ir_type *type, uint32_t axis)
{
	return ir_dim_value(type->dim[axis]);
}

int64_t ir_type_elements(const struct ir_type *type)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < type->rank; i++)
		n *= ir_type_dim(type, i);
	return n;
}

int64_t ir_type_bytes(const struct ir_type *type)
{
	return (ir_type_elements(type) * (int64_t)ir_dtype_bits(type->dtype) + 7) / 8;
}

bool ir_type_same_shape(const struct ir_type *a, const struct ir_type *b)
{
	if (a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++)
		if (a->dim[i].value != b->dim[i].value || a->dim[i].symbol != b->dim[i].symbol)
			return false;
	return true;
}

struct ir_constant *ir_constant_borrow(const void *data, size_t bytes,
				       void (*release)(void *, const void *), void *userdata)
{
	struct ir_constant *constant = wnn_calloc(1, sizeof(*constant));

	if (!constant)
		return NULL;
	constant->refs = 1;
	constant->bytes = bytes;
	constant->data = data;
	constant->release = release;
	constant->userdata = userdata;
	return constant;
}

static void release_own(void *userdata, const void *data)
{
	wnn_free_pages((void *)data, (size_t)(uintptr_t)userdata);
}

struct ir_constant *ir_constant_own(void *data, size_t bytes)
{
	struct ir_constant *constant =
		ir_constant_borrow(data, bytes, release_own, (void *)(uintptr_t)bytes);

	if (!constant)
		wnn_free(data);
	return constant;
}

struct ir_constant *ir_constant_copy(const void *data, size_t bytes)
{
	void *copy = wnn_malloc(bytes ? bytes : 1);

	if (!copy)
		return NULL;
	memcpy(copy, data, bytes);
	return ir_constant_own(copy, bytes);
}

static uint8_t finite_mark(enum ir_dtype dtype, bool finite)
{
	return (uint8_t)(1 + 2 * (dtype == IR_F16) + finite);
}

struct ir_constant *ir_constant_later(const struct ir_recipe *recipe, void *userdata, size_t bytes,
				      enum ir_dtype dtype, bool finite)
{
	struct ir_constant *constant = ir_constant_borrow(NULL, bytes, NULL, userdata);

	if (!constant) {
		recipe->drop(userdata);
		return NULL;
	}
	constant->recipe = recipe;
	if (finite)
		constant->finite = finite_mark(dtype, true);
	return constant;
}

/*
 * Frees the memory to the process, not to the system as wnn_free_pages() does, so that the next
 * constant is computed in these pages.
 */
static void release_computed(void *userdata, const void *data)
{
	(void)userdata;
	wnn_free((void *)data);
}

const void *ir_constant_data(struct ir_constant *constant)
{
	const struct ir_recipe *recipe = constant->recipe;
	void *data;

	if (!recipe)
		return constant->data;
	data = wnn_malloc(constant->bytes);
	if (!data || recipe->make(constant->userdata, data)) {
		wnn_free(data);
		return NULL;
	}
	recipe->drop(constant->userdata);
	constant->recipe = NULL;
	constant->userdata = NULL;
	constant->release = release_computed;
	constant->data = data;
	return data;
}

const void *ir_constant_data_in(struct ir_constant *constant, void *room)
{
	if (!constant->recipe)
		return constant->data;
	return constant->recipe->make(constant->userdata, room) ? NULL : room;
}

struct ir_constant *ir_constant_ref(struct ir_constant *constant)
{
	__atomic_add_fetch(&constant->refs, 1, __ATOMIC_RELAXED);
	return constant;
}

void ir_constant_unref(struct ir_constant *constant)
{
	if (!constant || __atomic_sub_fetch(&constant->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (constant->recipe)
		constant->recipe->drop(constant->userdata);
	else if (constant->release)
		constant->release(constant->userdata, constant->data);
	wnn_free(constant);
}

bool ir_constant_finite(struct ir_constant *constant, enum ir_dtype dtype)
{
	uint8_t known = __atomic_load_n(&constant->finite, __ATOMIC_RELAXED),
		half = dtype == IR_F16;
	const void *data;
	bool finite;

	if (known && (known - 1) / 2 == half)
		return (known - 1) % 2;
	data = ir_constant_data(constant);
	finite = data && (half ? wnn_halves_finite(data, constant->bytes / 2) :
				 wnn_floats_finite(data, constant->bytes / 4));
	__atomic_store_n(&constant->finite, finite_mark(dtype, finite), __ATOMIC_RELAXED);
	return finite;
}

/*
 * Returns whether E4M3 has a float16 number: at most 448, with 3 bits of fraction, or with fewer
 * bits where E4M3 is subnormal.
 */
static bool is_e4m3(uint16_t h)
{
	uint16_t magnitude = h & 0x7fff, exponent = magnitude >> 10;
	/*
	 * In E4M3, 2^-6 is the least normal number and 448 the greatest; below 2^-6 the distance of
	 * two numbers is 2^-9.
	 */
	unsigned int dropped = exponent >= 9 ? 7 : 16 - exponent;

	if (!magnitude)
		return true;
	return magnitude <= 0x5f00 && exponent >= 6 && !(magnitude & ((1u << dropped) - 1));
}

static bool all_e2m1(const int8_t *data, size_t count)
{
	/* A bit for each magnitude that is twice a number of E2M1: 0, 1, 2, 3, 4, 6, 8 and 12. */
	const uint32_t numbers = 0x115f;

	for (size_t i = 0; i < count; i++) {
		int magnitude = data[i] < 0 ? -data[i] : data[i];

		if (magnitude > 12 || !(numbers >> magnitude & 1))
			return false;
	}
	return true;
}

static enum ir_few find_few(const void *data, size_t bytes, enum ir_dtype dtype)
{
	const uint16_t *half = data;
	bool e4m3 = dtype == IR_F16, e5m2 = e4m3;

	if (dtype == IR_I8)
		return all_e2m1(data, bytes) ? IR_FEW_E2M1 : IR_FEW_NONE;
	for (size_t i = 0; i < bytes / sizeof(*half) && (e4m3 || e5m2); i++) {
		e4m3 = e4m3 && is_e4m3(half[i]);
		e5m2 = e5m2 && !(half[i] & 0xff);
	}
	return e4m3 ? IR_FEW_E4M3 : e5m2 ? IR_FEW_E5M2 : IR_FEW_NONE;
}

enum ir_few ir_constant_few(struct ir_constant *constant, enum ir_dtype dtype)
{
	uint8_t few = __atomic_load_n(&constant->few, __ATOMIC_RELAXED);

	if (!few) {
		few = (uint8_t)find_few(constant->data, constant->bytes, dtype);
		__atomic_store_n(&constant->few, few, __ATOMIC_RELAXED);
	}
	return (enum ir_few)few;
}

struct ir_graph *ir_graph_create(void)
{
	struct ir_graph *graph = wnn_calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->arena = wnn_arena_create();
	if (!graph->arena) {
		wnn_free(graph);
		return NULL;
	}
	return graph;
}

void ir_graph_destroy(struct ir_graph *graph)
{
	if (!graph)
		return;
	for (uint32_t i = 0; i < graph->num_values; i++)
		if (graph->values[i])
			ir_constant_unref(graph->values[i]->constant);
	wnn_free(graph->nodes);
	wnn_free(graph->values);
	wnn_free(graph->inputs);
	wnn_free(graph->outputs);
	wnn_free(graph->names);
	wnn_free(graph->symbols);
	wnn_arena_destroy(graph->arena);
	wnn_free(graph);
}

bool ir_grow(void **array, uint32_t count, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 16;
	void *p;

	if (count < *cap)
		return true;
	if (want < *cap)
		return false;
	p = wnn_reallocarray(*array, want, size);
	if (!p)
		return false;
	*array = p;
	*cap = want;
	return true;
}

static struct ir_value *new_value(struct ir_graph *graph, enum ir_value_kind kind,
				  const struct ir_type *type)
{
	struct ir_value *value;

	if (!ir_grow((void **)&graph->values, graph->num_values, &graph->cap_values,
		     sizeof(*graph->values)))
		return NULL;
	value = wnn_arena_alloc(graph->arena, sizeof(*value));
	if (!value)
		return NULL;
	value->id = graph->num_values;
	value->kind = kind;
	value->type = *type;
	graph->values[graph->num_values++] = value;
	return value;
}

struct ir_value *ir_add_input(struct ir_graph *graph, const char *name, const struct ir_type *type)
{
	struct ir_value *value;
	char *copy = wnn_arena_strdup(graph->arena, name);

	if (!copy || !ir_grow((void **)&graph->inputs, graph->num_inputs, &graph->cap_inputs,
			      sizeof(*graph->inputs)))
		return NULL;
	value = new_value(graph, IR_VALUE_INPUT, type);
	if (!value)
		return NULL;
	value->name = copy;
	graph->inputs[graph->num_inputs++] = value;
	return value;
}

struct ir_value *ir_add_constant(struct ir_graph *graph, const struct ir_type *type,
				 struct ir_constant *constant)
{
	struct ir_value *value = new_value(graph, IR_VALUE_CONSTANT, type);

	if (value)
		value->constant = constant;
	return value;
}

struct ir_value *ir_copy_leaf(struct ir_graph *graph, const struct ir_value *value)
{
	struct ir_value *copy;

	if (value->kind == IR_VALUE_INPUT)
		return ir_add_input(graph, value->name, &value->type);
	copy = ir_add_constant(graph, &value->type, ir_constant_ref(value->constant));
	if (!copy)
		ir_constant_unref(value->constant);
	return copy;
}

struct ir_node *ir_add_node(struct ir_graph *graph, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *result_types,
			    uint32_t num_results, const union ir_attrs *attrs, const char *label,
			    const char *source)
{
	struct ir_node *node;

	if (!ir_grow((void **)&graph->nodes, graph->num_nodes, &graph->cap_nodes,
		     sizeof(*graph->nodes)))
		return NULL;
	node = wnn_arena_alloc(graph->arena, sizeof(*node));
	if (!node)
		return NULL;
	node->op = op;
	node->id = graph->num_nodes;
	node->num_operands = num_operands;
	node->num_results = num_results;
	node->operands = wnn_arena_alloc(graph->arena, num_operands * sizeof(*node->operands));
	node->results = wnn_arena_alloc(graph->arena, num_results * sizeof(*node->results));
	node->label = wnn_arena_strdup(graph->arena, label ? label : "");
	node->source = wnn_arena_strdup(graph->arena, source ? source : ir_op_name(op));
	if (!node->operands || !node->results || !node->label || !node->source)
		return NULL;
	if (num_operands)
		memcpy(node->operands, operands, num_operands * sizeof(*operands));
	if (attrs)
		node->attrs = *attrs;
	for (uint32_t i = 0; i < num_results; i++) {
		node->results[i] = new_value(graph, IR_VALUE_RESULT, &result_types[i]);
		if (!node->results[i])
			return NULL;
		node->results[i]->def = node;
		node->results[i]->result_index = i;
	}
	graph->nodes[graph->num_nodes++] = node;
	return node;
}

int ir_add_output(struct ir_graph *graph, const char *name, struct ir_value *value,
		  struct ir_value *updates)
{
	char *copy = wnn_arena_strdup(graph->arena, name);

	if (!copy || !ir_grow((void **)&graph->outputs, graph->num_outputs, &graph->cap_outputs,
			      sizeof(*graph->outputs)))
		return -1;
	graph->outputs[graph->num_outputs++] = (struct ir_output){ copy, value, updates };
	return 0;
}

uint32_t *ir_count_uses(const struct ir_graph *graph)
{
	uint32_t *uses = wnn_calloc((size_t)graph->num_values + 1, sizeof(*uses));

	if (!uses)
		return NULL;
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		for (uint32_t i = 0; i < graph->nodes[n]->num_operands; i++)
			if (graph->nodes[n]->operands[i])
				uses[graph->nodes[n]->operands[i]->id]++;
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		uses[graph->outputs[i].value->id]++;
	return uses;
}
