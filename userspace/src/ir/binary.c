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

static size_t field_bytes(const struct ir_field *field)
{
	size_t count = field->count == IR_FIELD_RANK ? IR_MAX_RANK : field->count;

	switch (field->kind) {
	case IR_FIELD_LIST:
		return (1 + IR_MAX_RANK) * sizeof(uint32_t);
	case IR_FIELD_I64:
	case IR_FIELD_U64:
		return count * sizeof(uint64_t);
	case IR_FIELD_BOOL:
		return sizeof(bool);
	case IR_FIELD_FUNCTION:
	case IR_FIELD_FUSED:
		return sizeof(struct ir_unary_attrs);
	default:
		return count * sizeof(uint32_t);
	}
}

static void put_attrs(struct wnn_writer *w, const struct ir_node *node)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(node->op, &count);

	for (uint32_t i = 0; i < count; i++)
		wnn_put(w, (const uint8_t *)&node->attrs + fields[i].offset,
			field_bytes(&fields[i]));
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

		wnn_get(r, to, field_bytes(&fields[i]));
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
	for (uint32_t i = 0; i < type->rank; i++)
		wnn_put_u64(w, (uint64_t)ir_type_dim(type, i));
}

static struct ir_type get_type(struct wnn_reader *r)
{
	uint32_t dtype = wnn_get_u32(r), rank = wnn_get_u32(r);
	int64_t dims[IR_MAX_RANK] = { 0 }, elements = 1;

	r->failed |= dtype >= IR_DTYPE_COUNT || rank > IR_MAX_RANK;
	for (uint32_t i = 0; i < rank && !r->failed; i++) {
		dims[i] = (int64_t)wnn_get_u64(r);
		if (dims[i] < 1 || dims[i] > MAX_ELEMENTS / elements)
			r->failed = true;
		else
			elements *= dims[i];
	}
	return r->failed ? ir_type_make(IR_F32, 0, NULL) :
			   ir_type_make((enum ir_dtype)dtype, rank, dims);
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
	put_string(w, node->label);
	put_string(w, node->source);
}

/* The next value, node and input of the graph to write. */
struct position {
	uint32_t value, node, input;
};

/* Writes the next value; false: the graph is not in the order of its values. */
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

	wnn_put_u32(w, graph->num_values);
	while (sound && at.value < graph->num_values)
		sound = put_value(graph, &at, w, data);
	if (!sound || at.node != graph->num_nodes || at.input != graph->num_inputs)
		return wnn_error_set(err, WNN_OPERATION_ERROR,
				     "internal: the graph is not in the order of its values");
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

/* Reads the rest of a node and adds it to the graph; false: no memory. */
static bool add_node(struct source *s, enum ir_op op, uint32_t operands, struct ir_value **operand)
{
	uint32_t results;
	struct ir_type *types;
	union ir_attrs attrs;
	const char *label, *name;
	bool done;

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
	label = wnn_get_text(s->r, s->graph->arena);
	name = wnn_get_text(s->r, s->graph->arena);
	s->r->failed |= !results;
	done = s->r->failed ||
	       ir_add_node(s->graph, op, operand, operands, types, results, &attrs, label, name);
	wnn_free(types);
	return done;
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

static void get_graph(struct source *s)
{
	uint32_t values = wnn_get_u32(s->r), outputs;

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
