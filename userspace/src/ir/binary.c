// SPDX-License-Identifier: MIT
/*
 * Writes and reads graphs as bytes, for saved graphs. The bytes list the calls that build the
 * graph: inputs, constants and nodes in the order of the ids of their values.
 */
#include "ir/binary.h"

#include <string.h>

#include "ir/attrs.h"
#include "util/arena.h"
#include "util/malloc.h"

#define NO_DATA	     UINT64_MAX
#define MAX_ELEMENTS (INT64_C(1) << 40)

/* ---- attributes: the fields of the operator's table */

static void put_attrs(struct wnn_writer *w, const struct ir_node *node)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(node->op, &count);

	for (uint32_t i = 0; i < count; i++)
		wnn_put(w, (const uint8_t *)&node->attrs + fields[i].offset,
			ir_field_bytes(&fields[i]));
}

static void get_attrs(struct wnn_reader *r, enum ir_op op, union ir_attrs *attrs)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(op, &count);

	memset(attrs, 0, sizeof(*attrs));
	/* Integer operators have fixed values here, for which their tables have no fields. */
	if (op == IR_OP_QPOOL)
		attrs->pool.kind = IR_POOL_AVERAGE;
	if (op == IR_OP_QMATMUL)
		attrs->matmul.alpha = attrs->matmul.beta = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *to = (uint8_t *)attrs + fields[i].offset;

		wnn_get(r, to, ir_field_bytes(&fields[i]));
		if (fields[i].kind == IR_FIELD_BOOL && *to > 1) {
			r->failed = true;
			*to = 0;
		}
	}
}

/* ---- types */

static void put_type(struct wnn_writer *w, const struct ir_type *type)
{
	wnn_put_u32(w, type->dtype);
	wnn_put_u32(w, type->rank);
	for (uint32_t i = 0; i < type->rank; i++) {
		wnn_put_u64(w, (uint64_t)ir_type_dim(type, i));
		wnn_put_u32(w, type->dim[i].symbol);
	}
}

static struct ir_type get_type(struct wnn_reader *r)
{
	uint32_t dtype = wnn_get_u32(r), rank = wnn_get_u32(r);
	struct ir_type type = { .dtype = IR_F32 };
	int64_t elements = 1;

	r->failed |= dtype >= IR_DTYPE_COUNT || rank > IR_MAX_RANK;
	for (uint32_t i = 0; i < rank && !r->failed; i++) {
		type.dim[i].value = (int64_t)wnn_get_u64(r);
		type.dim[i].symbol = wnn_get_u32(r);
		if (type.dim[i].value < 1 || type.dim[i].value > MAX_ELEMENTS / elements)
			r->failed = true;
		else
			elements *= type.dim[i].value;
	}
	if (r->failed)
		return ir_type_make(IR_F32, 0, NULL);
	type.dtype = (enum ir_dtype)dtype;
	type.rank = rank;
	return type;
}

/* ---- writing */

static void put_string(struct wnn_writer *w, const char *text)
{
	wnn_put_text(w, text ? text : "", text ? strlen(text) : 0);
}

static void put_constant(struct wnn_writer *w, struct wnn_writer *data,
			 const struct ir_value *value)
{
	const void *from = value->constant ? ir_constant_data(value->constant) : NULL;

	put_type(w, &value->type);
	if (!from) {
		w->failed |= value->constant != NULL;
		wnn_put_u64(w, NO_DATA);
		return;
	}
	wnn_put_zeros(data, IR_DATA_ALIGNMENT);
	wnn_put_u64(w, data->size);
	wnn_put(data, from, (size_t)ir_type_bytes(&value->type));
}

static void put_node(struct wnn_writer *w, const struct ir_node *node)
{
	wnn_put_u32(w, node->op);
	wnn_put_u32(w, node->num_operands);
	for (uint32_t i = 0; i < node->num_operands; i++)
		wnn_put_u32(w, node->operands[i] ? node->operands[i]->id + 1 : 0);
	wnn_put_u32(w, node->num_results);
	for (uint32_t i = 0; i < node->num_results; i++)
		put_type(w, &node->results[i]->type);
	put_attrs(w, node);
	wnn_put_u32(w, node->num_late);
	for (uint32_t i = 0; i < node->num_late; i++) {
		wnn_put_u32(w, node->late[i].field);
		wnn_put_u32(w, node->late[i].element);
		wnn_put_u32(w, node->late[i].symbol);
	}
	put_string(w, node->label);
	put_string(w, node->source);
}

static void put_symbols(struct wnn_writer *w, const struct ir_graph *graph)
{
	wnn_put_u32(w, graph->num_names);
	for (uint32_t i = 0; i < graph->num_names; i++) {
		put_string(w, graph->names[i].name);
		wnn_put_u32(w, graph->names[i].min);
		wnn_put_u32(w, graph->names[i].max);
	}
	wnn_put_u32(w, graph->num_symbols);
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		wnn_put_u32(w, graph->symbols[i].name);
		wnn_put_u64(w, (uint64_t)graph->symbols[i].multiply);
		wnn_put_u64(w, (uint64_t)graph->symbols[i].add);
		wnn_put_u64(w, (uint64_t)graph->symbols[i].divide);
	}
}

/* The next value, node and input of the graph to write. */
struct position {
	uint32_t value, node, input;
};

/* Writes the next value. Returns false when the graph is not in the order of its values. */
static bool put_value(const struct ir_graph *graph, struct position *at, struct wnn_writer *w,
		      struct wnn_writer *data)
{
	const struct ir_value *value = graph->values[at->value];
	const struct ir_node *node;

	if (!value)
		return false;
	wnn_put_u32(w, value->kind);
	if (value->kind == IR_VALUE_INPUT) {
		put_string(w, value->name);
		put_type(w, &value->type);
		at->value++;
		return at->input < graph->num_inputs && graph->inputs[at->input++] == value;
	}
	if (value->kind == IR_VALUE_CONSTANT) {
		put_constant(w, data, value);
		at->value++;
		return true;
	}
	node = at->node < graph->num_nodes ? graph->nodes[at->node++] : NULL;
	for (uint32_t i = 0; node && i < node->num_results; i++)
		if (node->results[i]->id != at->value++)
			return false;
	if (!node || node->results[0] != value || node->id + 1 != at->node)
		return false;
	put_node(w, node);
	return true;
}

int ir_write(const struct ir_graph *graph, struct wnn_writer *w, struct wnn_writer *data,
	     struct wnn_error *err)
{
	struct position at = { 0 };
	bool sound = true;

	put_symbols(w, graph);
	wnn_put_u32(w, graph->num_values);
	while (sound && at.value < graph->num_values)
		sound = put_value(graph, &at, w, data);
	if (!sound || at.node != graph->num_nodes || at.input != graph->num_inputs)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: the graph is not in the order of its "
			"values");
	wnn_put_u32(w, graph->num_outputs);
	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		put_string(w, graph->outputs[i].name);
		wnn_put_u32(w, graph->outputs[i].value->id);
		/* 0: the output updates no input. */
		wnn_put_u32(w, graph->outputs[i].updates ? graph->outputs[i].updates->id + 1 : 0);
	}
	return 0;
}

/* ---- reading */

struct source {
	struct wnn_reader *r;
	struct ir_graph *graph;
	const uint8_t *data;
	size_t data_bytes;
	bool nomem;
};

static struct ir_value *value_of(struct source *s, uint32_t id)
{
	if (id < s->graph->num_values)
		return s->graph->values[id];
	s->r->failed = true;
	return NULL;
}

static void get_constant(struct source *s)
{
	struct ir_type type = get_type(s->r);
	uint64_t offset = wnn_get_u64(s->r), bytes = (uint64_t)ir_type_bytes(&type);
	struct ir_constant *constant = NULL;

	if (offset != NO_DATA) {
		s->r->failed |= offset % IR_DATA_ALIGNMENT || offset > s->data_bytes ||
				bytes > s->data_bytes - offset;
		if (s->r->failed)
			return;
		constant = ir_constant_borrow(s->data + offset, bytes, NULL, NULL);
		s->nomem |= !constant;
	}
	if (ir_add_constant(s->graph, &type, constant))
		return;
	ir_constant_unref(constant);
	s->nomem = true;
}

static void get_input(struct source *s)
{
	const char *name = wnn_get_text(s->r, s->graph->arena);
	struct ir_type type = get_type(s->r);

	s->nomem |= !ir_add_input(s->graph, name, &type);
}

static struct ir_late get_late(struct wnn_reader *r)
{
	uint32_t field = wnn_get_u32(r), element = wnn_get_u32(r);

	r->failed |= field > UINT16_MAX || element > UINT16_MAX;
	return (struct ir_late){ (uint16_t)field, (uint16_t)element, wnn_get_u32(r) };
}

/*
 * Reads the rest of a node and adds it to the graph. Returns false when out of memory; true, with
 * s->r->failed set, when the data is invalid.
 */
static bool add_node(struct source *s, enum ir_op op, uint32_t operands, struct ir_value **operand)
{
	uint32_t results;
	struct ir_type *types;
	union ir_attrs attrs;
	struct ir_late *late = NULL;
	struct ir_node *node = NULL;
	const char *label, *name;
	uint32_t num_late;

	for (uint32_t i = 0; i < operands; i++) {
		uint32_t id = wnn_get_u32(s->r);

		operand[i] = id ? value_of(s, id - 1) : NULL;
	}
	results = wnn_get_count(s->r, 2 * sizeof(uint32_t));
	types = wnn_malloc(((size_t)results + 1) * sizeof(*types));
	if (!types)
		return false;
	for (uint32_t i = 0; i < results; i++)
		types[i] = get_type(s->r);
	get_attrs(s->r, op, &attrs);
	num_late = wnn_get_count(s->r, 3 * sizeof(uint32_t));
	late = wnn_malloc(((size_t)num_late + 1) * sizeof(*late));
	for (uint32_t i = 0; late && i < num_late; i++)
		late[i] = get_late(s->r);
	label = wnn_get_text(s->r, s->graph->arena);
	name = wnn_get_text(s->r, s->graph->arena);
	s->r->failed |= !results;
	if (late && !s->r->failed)
		node = ir_add_node(s->graph, op, operand, operands, types, results, &attrs, label,
				   name);
	if (node && ir_copy_late(s->graph, node, num_late, late))
		node = NULL;
	wnn_free(late);
	wnn_free(types);
	return s->r->failed || node;
}

static void get_node(struct source *s)
{
	uint32_t op = wnn_get_u32(s->r), operands = wnn_get_count(s->r, sizeof(uint32_t));
	struct ir_value **operand;

	s->r->failed |= op >= IR_OP_COUNT;
	if (s->r->failed)
		return;
	operand = wnn_malloc(((size_t)operands + 1) * sizeof(*operand));
	s->nomem |= !operand || !add_node(s, (enum ir_op)op, operands, operand);
	wnn_free(operand);
}

static void get_symbols(struct source *s)
{
	uint32_t names = wnn_get_count(s->r, 3 * sizeof(uint32_t)), symbols;

	for (uint32_t i = 0; i < names && !s->r->failed && !s->nomem; i++) {
		const char *name = wnn_get_text(s->r, s->graph->arena);
		uint32_t min = wnn_get_u32(s->r), max = wnn_get_u32(s->r);

		s->nomem |= ir_add_name(s->graph, name, min, max) != 0;
	}
	symbols = wnn_get_count(s->r, sizeof(uint32_t) + 3 * sizeof(uint64_t));
	for (uint32_t i = 0; i < symbols && !s->r->failed && !s->nomem; i++) {
		struct ir_symbol symbol = { .name = wnn_get_u32(s->r) };
		uint32_t added;

		symbol.multiply = (int64_t)wnn_get_u64(s->r);
		symbol.add = (int64_t)wnn_get_u64(s->r);
		symbol.divide = (int64_t)wnn_get_u64(s->r);
		if (s->r->failed || !ir_symbol_is_valid(s->graph, &symbol)) {
			s->r->failed = true;
			return;
		}
		added = ir_add_symbol(s->graph, symbol);
		s->nomem |= !added;
		s->r->failed |= added != i + 1;
	}
}

static void get_graph(struct source *s)
{
	uint32_t values, outputs;

	get_symbols(s);
	values = wnn_get_u32(s->r);

	while (s->graph->num_values < values && !s->r->failed && !s->nomem) {
		switch (wnn_get_u32(s->r)) {
		case IR_VALUE_INPUT:
			get_input(s);
			break;
		case IR_VALUE_CONSTANT:
			get_constant(s);
			break;
		case IR_VALUE_RESULT:
			get_node(s);
			break;
		default:
			s->r->failed = true;
		}
	}
	outputs = wnn_get_count(s->r, 3 * sizeof(uint32_t));
	s->r->failed |= s->graph->num_values != values;
	for (uint32_t i = 0; i < outputs && !s->r->failed && !s->nomem; i++) {
		const char *name = wnn_get_text(s->r, s->graph->arena);
		struct ir_value *value = value_of(s, wnn_get_u32(s->r));
		uint32_t updates = wnn_get_u32(s->r);
		struct ir_value *input = updates ? value_of(s, updates - 1) : NULL;

		if (value && !s->r->failed)
			s->nomem |= ir_add_output(s->graph, name, value, input) != 0;
	}
}

struct ir_graph *ir_read(struct wnn_reader *r, const uint8_t *data, size_t data_bytes,
			 struct wnn_error *err)
{
	struct source s = {
		.r = r, .graph = ir_graph_create(), .data = data, .data_bytes = data_bytes
	};

	s.nomem = !s.graph;
	if (s.graph)
		get_graph(&s);
	if (s.nomem)
		wnn_error_nomem(err, "a graph");
	else if (r->failed)
		wnn_error_set(err, WNN_OPERATION_ERROR, "its graph is damaged");
	else if (!ir_verify_dropped(s.graph, err))
		return s.graph;
	ir_graph_destroy(s.graph);
	return NULL;
}

uint64_t ir_binary_form(void)
{
	uint64_t hash = IR_OP_COUNT;

	for (int op = 0; op < IR_OP_COUNT; op++) {
		const char *name = ir_op_name((enum ir_op)op);
		uint32_t count;
		const struct ir_field *fields = ir_attr_fields((enum ir_op)op, &count);

		hash = wnn_checksum(hash, name, strlen(name));
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t field[] = { fields[i].kind, fields[i].count,
						   fields[i].offset, fields[i].num_words };

			hash = wnn_checksum(hash, field, sizeof(field));
		}
	}
	return hash;
}
