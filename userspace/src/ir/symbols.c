// SPDX-License-Identifier: MIT
/*
 * Numbers that are known only at dispatch: names with ranges, expressions of them, and the graphs
 * that a graph with names becomes when the names have numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/attrs.h"
#include "ir/ir.h"
#include "ir/shapes.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/number.h"

int ir_add_name(struct ir_graph *graph, const char *name, uint32_t min, uint32_t max)
{
	char *copy = wnn_arena_strdup(graph->arena, name);

	if (!copy || !ir_grow((void **)&graph->names, graph->num_names, &graph->cap_names,
			      sizeof(*graph->names)))
		return -1;
	graph->names[graph->num_names++] = (struct ir_name){ copy, min, max };
	return 0;
}

uint32_t ir_find_name(const struct ir_graph *graph, const char *name)
{
	uint32_t i = 0;

	while (i < graph->num_names && strcmp(graph->names[i].name, name))
		i++;
	return i;
}

/*
 * Returns the number of an expression when its name has the number n; -1 when the result is not
 * from 0 to 2^31 - 1.
 */
static int64_t checked(const struct ir_symbol *symbol, uint32_t n)
{
	int64_t number;

	if (__builtin_mul_overflow(symbol->multiply, (int64_t)n, &number) ||
	    __builtin_add_overflow(number, symbol->add, &number) || number < 0)
		return -1;
	number /= symbol->divide;
	return number <= INT32_MAX ? number : -1;
}

bool ir_symbol_is_valid(const struct ir_graph *graph, const struct ir_symbol *symbol)
{
	if (symbol->name >= graph->num_names || !symbol->multiply || symbol->divide < 1)
		return false;
	/*
	 * An expression only rises, or only falls, with its name, so that all its numbers lie
	 * between those at both ends of the range.
	 */
	return checked(symbol, graph->names[symbol->name].min) >= 0 &&
	       checked(symbol, graph->names[symbol->name].max) >= 0;
}

int64_t ir_symbol_at(const struct ir_symbol *symbol, int64_t n)
{
	return (symbol->multiply * n + symbol->add) / symbol->divide;
}

/* Returns an expression of equal value whose `multiply` and `divide` have no common divisor. */
static struct ir_symbol reduced(struct ir_symbol symbol)
{
	int64_t by = wnn_gcd(symbol.multiply, symbol.divide);
	int64_t below = symbol.add % by < 0;

	symbol.multiply /= by;
	symbol.divide /= by;
	symbol.add = symbol.add / by - below;
	return symbol;
}

uint32_t ir_add_symbol(struct ir_graph *graph, struct ir_symbol symbol)
{
	symbol = reduced(symbol);
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		const struct ir_symbol *s = &graph->symbols[i];

		if (s->name == symbol.name && s->multiply == symbol.multiply &&
		    s->add == symbol.add && s->divide == symbol.divide)
			return i + 1;
	}
	if (!ir_grow((void **)&graph->symbols, graph->num_symbols, &graph->cap_symbols,
		     sizeof(*graph->symbols)))
		return 0;
	graph->symbols[graph->num_symbols++] = symbol;
	return graph->num_symbols;
}

const char *ir_symbol_text(const struct ir_graph *graph, uint32_t symbol, char *buffer, size_t size)
{
	const struct ir_symbol *s = &graph->symbols[symbol - 1];
	const char *name = graph->names[s->name].name;
	char sum[IR_SYMBOL_TEXT_SIZE], product[IR_SYMBOL_TEXT_SIZE / 2];

	if (s->multiply == 1)
		snprintf(product, sizeof(product), "%.48s", name);
	else
		snprintf(product, sizeof(product), "%" PRId64 "*%.48s", s->multiply, name);
	if (s->add)
		snprintf(sum, sizeof(sum), "%s%+" PRId64, product, s->add);
	else
		snprintf(sum, sizeof(sum), "%s", product);
	if (s->divide == 1)
		snprintf(buffer, size, "%s", sum);
	else
		snprintf(buffer, size, s->add || s->multiply != 1 ? "(%s)/%" PRId64 : "%s/%" PRId64,
			 sum, s->divide);
	return buffer;
}

bool ir_has_symbols(const struct ir_graph *graph)
{
	for (uint32_t i = 0; i < graph->num_values; i++)
		for (uint32_t d = 0; d < graph->values[i]->type.rank; d++)
			if (graph->values[i]->type.dim[d].symbol)
				return true;
	for (uint32_t i = 0; i < graph->num_nodes; i++)
		if (graph->nodes[i]->num_late)
			return true;
	return false;
}

int ir_copy_symbols(struct ir_graph *to, const struct ir_graph *from)
{
	for (uint32_t i = 0; i < from->num_names; i++)
		if (ir_add_name(to, from->names[i].name, from->names[i].min, from->names[i].max))
			return -1;
	for (uint32_t i = 0; i < from->num_symbols; i++)
		if (!ir_add_symbol(to, from->symbols[i]))
			return -1;
	return 0;
}

int ir_copy_late(struct ir_graph *graph, struct ir_node *node, uint32_t count,
		 const struct ir_late *late)
{
	if (!count)
		return 0;
	node->late = wnn_arena_alloc(graph->arena, count * sizeof(*late));
	if (!node->late)
		return -1;
	memcpy(node->late, late, count * sizeof(*late));
	node->num_late = count;
	return 0;
}

static int64_t number_at(const struct ir_graph *graph, uint32_t symbol, const uint32_t *numbers)
{
	const struct ir_symbol *s = &graph->symbols[symbol - 1];

	return ir_symbol_at(s, numbers[s->name]);
}

struct ir_type ir_type_at(const struct ir_graph *graph, const struct ir_type *type,
			  const uint32_t *numbers)
{
	struct ir_type at = *type;

	for (uint32_t i = 0; i < type->rank; i++)
		if (type->dim[i].symbol)
			at.dim[i] = (struct ir_dim){ .value = number_at(graph, type->dim[i].symbol,
									numbers) };
	return at;
}

/*
 * Adds the copy of a node, with numbers for symbols; map has the copies of values by their ids.
 * Returns 0, or -1 when out of memory.
 */
static int add_node_at(struct ir_graph *to, const struct ir_graph *from, const struct ir_node *node,
		       const uint32_t *numbers, struct ir_value **map)
{
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type *types = wnn_calloc(node->num_results + 1, sizeof(*types));
	union ir_attrs attrs = node->attrs;
	struct ir_node *copy = NULL;

	for (uint32_t i = 0; i < node->num_late; i++)
		*ir_attr_number(node->op, &attrs, node->results[0]->type.rank, node->late[i].field,
				node->late[i].element) =
			(uint32_t)number_at(from, node->late[i].symbol, numbers);
	if (operands && types) {
		for (uint32_t i = 0; i < node->num_operands; i++)
			operands[i] = node->operands[i] ? map[node->operands[i]->id] : NULL;
		for (uint32_t i = 0; i < node->num_results; i++)
			types[i] = ir_type_at(from, &node->results[i]->type, numbers);
		copy = ir_add_node(to, node->op, operands, node->num_operands, types,
				   node->num_results, &attrs, node->label, node->source);
	}
	for (uint32_t i = 0; copy && i < node->num_results; i++)
		map[node->results[i]->id] = copy->results[i];
	wnn_free(operands);
	wnn_free(types);
	return copy ? 0 : -1;
}

/*
 * Calls @take for each contiguous run of elements of a block, which has the first elements of a
 * tensor along each axis. @at is the number of bytes before the run in the tensor, @in_block that
 * in the block. Returns true; when @take returns false, stops and returns false.
 */
static bool each_run(const struct ir_type *whole, const struct ir_type *block,
		     bool (*take)(size_t at, size_t in_block, size_t bytes, void *userdata),
		     void *userdata)
{
	size_t width = ir_dtype_bits(whole->dtype) / 8;
	uint32_t rank = whole->rank;
	int64_t index[IR_MAX_RANK] = { 0 };
	size_t run = width * (size_t)(rank ? ir_type_dim(block, rank - 1) : 1), done = 0;

	for (;;) {
		int64_t at = 0;
		uint32_t d;

		for (d = 0; d < rank; d++)
			at = at * ir_type_dim(whole, d) + index[d];
		if (!take((size_t)at * width, done, run, userdata))
			return false;
		done += run;
		for (d = rank ? rank - 1 : 0; d-- > 0 && ++index[d] == ir_type_dim(block, d);)
			index[d] = 0;
		if (done >= (size_t)ir_type_bytes(block))
			return true;
	}
}

struct runs {
	const uint8_t *whole;
	uint8_t *block;
};

static bool same_run(size_t at, size_t in_block, size_t bytes, void *userdata)
{
	const struct runs *runs = userdata;

	return !memcmp(runs->whole + at, runs->block + in_block, bytes);
}

static bool copy_run(size_t at, size_t in_block, size_t bytes, void *userdata)
{
	const struct runs *runs = userdata;

	memcpy(runs->block + in_block, runs->whole + at, bytes);
	return true;
}

int ir_constant_is_block(const struct ir_value *of, const struct ir_value *value)
{
	struct runs runs = { ir_constant_data(of->constant),
			     (uint8_t *)ir_constant_data(value->constant) };
	bool same = ir_type_same_shape(&of->type, &value->type);

	if (!runs.whole || !runs.block)
		return -1;
	for (uint32_t d = 0; d < of->type.rank; d++)
		if (ir_type_dim(&value->type, d) > ir_type_dim(&of->type, d))
			return 0;
	if (ir_dtype_bits(of->type.dtype) < 8 || same)
		return same && (runs.whole == runs.block ||
				!memcmp(runs.whole, runs.block, (size_t)ir_type_bytes(&of->type)));
	return each_run(&of->type, &value->type, same_run, &runs);
}

/*
 * Returns a new constant of the shape of @type, with the first elements of a constant along each
 * axis. NULL: no memory.
 */
static struct ir_constant *cut_block(const struct ir_value *of, const struct ir_type *type)
{
	struct runs runs = { ir_constant_data(of->constant),
			     wnn_malloc((size_t)ir_type_bytes(type)) };

	if (!runs.whole || !runs.block) {
		wnn_free(runs.block);
		return NULL;
	}
	each_run(&of->type, type, copy_run, &runs);
	return ir_constant_own(runs.block, (size_t)ir_type_bytes(type));
}

/*
 * Adds the copy of an input or constant, with numbers for symbols. Returns NULL when out of memory.
 */
static struct ir_value *add_leaf_at(struct ir_graph *to, const struct ir_graph *from,
				    const struct ir_value *value, const uint32_t *numbers)
{
	struct ir_type type = ir_type_at(from, &value->type, numbers);
	struct ir_constant *constant;
	struct ir_value *leaf;

	if (value->kind == IR_VALUE_INPUT)
		return ir_add_input(to, value->name, &type);
	constant = ir_type_bytes(&type) == ir_type_bytes(&value->type) ?
			   ir_constant_ref(value->constant) :
			   cut_block(value, &type);
	leaf = constant ? ir_add_constant(to, &type, constant) : NULL;
	if (!leaf)
		ir_constant_unref(constant);
	return leaf;
}

/* Adds the copies of all values, nodes and outputs; -1: no memory. */
static int add_all_at(struct ir_graph *to, const struct ir_graph *from, const uint32_t *numbers,
		      struct ir_value **map)
{
	for (uint32_t i = 0; i < from->num_values; i++) {
		const struct ir_value *value = from->values[i];

		if (value->kind == IR_VALUE_RESULT)
			continue;
		map[i] = add_leaf_at(to, from, value, numbers);
		if (!map[i])
			return -1;
	}
	for (uint32_t i = 0; i < from->num_nodes; i++)
		if (add_node_at(to, from, from->nodes[i], numbers, map))
			return -1;
	for (uint32_t i = 0; i < from->num_outputs; i++) {
		const struct ir_output *output = &from->outputs[i];

		if (ir_add_output(to, output->name, map[output->value->id],
				  output->updates ? map[output->updates->id] : NULL))
			return -1;
	}
	return 0;
}

struct ir_graph *ir_specialise(const struct ir_graph *graph, const uint32_t *numbers,
			       struct wnn_error *err)
{
	struct ir_value **map = wnn_calloc((size_t)graph->num_values + 1, sizeof(*map));
	struct ir_graph *to = ir_graph_create();
	char name[IR_NODE_NAME_SIZE];
	int ret = map && to && !add_all_at(to, graph, numbers, map) ?
			  ir_verify(to, err) :
			  wnn_error_nomem(err, "a graph");

	for (uint32_t i = 0; !ret && i < to->num_nodes; i++)
		if (!ir_shapes_fit(to->nodes[i]))
			ret = wnn_error_set(
				err, WNN_OPERATION_ERROR,
				"internal error, please report it: %s is not valid for these "
				"dimensions",
				ir_node_name(to->nodes[i], name, sizeof(name)));
	wnn_free(map);
	if (!ret)
		return to;
	ir_graph_destroy(to);
	return NULL;
}
