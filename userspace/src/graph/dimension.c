// SPDX-License-Identifier: MIT
/* Names and ranges of the dimensions of inputs that are known only at dispatch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/label.h"
#include "graph/late.h"
#include "ir/symbols.h"
#include "util/arena.h"
#include "util/printable.h"

#define TEXT_SIZE 96

/* Checks a range, and that its name has no other range in the builder. Returns 0 or -1. */
static int check_range(const struct wnn_builder *builder, const WNNDimensionRange *range,
		       uint32_t size, const char *what, uint32_t d, const char *name,
		       struct wnn_error *err)
{
	const struct ir_graph *graph = builder->graph;
	uint32_t known = ir_find_name(graph, name);
	char text[TEXT_SIZE];

	wnn_text_printable(text, sizeof(text), name, strlen(name));
	if (memchr(range->name.data, 0, wnn_view_length(&range->name)))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the name \"%s\" of dimension %" PRIu32 " has a NUL in it",
				     what, text, d);
	if (!range->min || range->min > range->max || range->max > WNN_MAX_DIMENSION)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: dimension %" PRIu32 ", \"%s\", ranges from %" PRIu32
				     " to %" PRIu32 "; a range is from at least 1 to at most %d, "
				     "and its end is no less than its begin",
				     what, d, text, range->min, range->max, WNN_MAX_DIMENSION);
	if (size != range->max)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the shape has %" PRIu32 " for dimension %" PRIu32
				     ", \"%s\", which ranges from %" PRIu32 " to %" PRIu32
				     "; it must have the maximum",
				     what, size, d, text, range->min, range->max);
	if (known < graph->num_names &&
	    (graph->names[known].min != range->min || graph->names[known].max != range->max))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: dimension %" PRIu32 ", \"%s\", ranges from %" PRIu32
				     " to %" PRIu32 ", but in an earlier input from %" PRIu32
				     " to %" PRIu32 "; a name has one range in a builder",
				     what, d, text, range->min, range->max, graph->names[known].min,
				     graph->names[known].max);
	return 0;
}

static int nomem(const char *what, struct wnn_error *err)
{
	return wnn_error_nomem(err, what);
}

/*
 * Sets *symbol to the symbol that stands for the size of the range's name; adds a new name to the
 * graph. Returns 0 or -1.
 */
static int use_name(struct wnn_builder *builder, const WNNDimensionRange *range, uint32_t size,
		    const char *what, uint32_t d, uint32_t *symbol, struct wnn_error *err)
{
	struct ir_symbol plain = { .multiply = 1, .divide = 1 };
	const char *name = wnn_label_copy(builder->arena, &range->name);

	if (!name)
		return nomem(what, err);
	if (check_range(builder, range, size, what, d, name, err))
		return -1;
	plain.name = ir_find_name(builder->graph, name);
	if (plain.name == builder->graph->num_names &&
	    ir_add_name(builder->graph, name, range->min, range->max))
		return nomem(what, err);
	*symbol = ir_add_symbol(builder->graph, plain);
	return *symbol ? 0 : nomem(what, err);
}

static int check_ranges(const WNNOperandDescriptor *descriptor, const WNNDimensionRanges *ranges,
			const char *what, struct wnn_error *err)
{
	if (ranges->rangeCount != descriptor->shape.count)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: there are %zu ranges, expected %zu, one for each "
				     "dimension",
				     what, ranges->rangeCount, descriptor->shape.count);
	if (ranges->rangeCount && !ranges->ranges)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s: ranges is NULL, but has %zu items",
				     what, ranges->rangeCount);
	return 0;
}

/*
 * Sets the number and symbol of a dimension whose size in the shape is @size. @range: NULL, or the
 * range of the dimension. Returns 0 or -1.
 */
static int make_dim(struct wnn_builder *builder, uint32_t size, const WNNDimensionRange *range,
		    const char *what, uint32_t d, uint32_t *number, uint32_t *symbol,
		    struct wnn_error *err)
{
	const struct ir_graph *graph = builder->graph;

	*number = size;
	*symbol = 0;
	if (range && wnn_view_length(&range->name))
		return use_name(builder, range, size, what, d, symbol, err);
	if (size < WNN_FIRST_DIMENSION || !graph->num_symbols)
		return 0;
	*symbol = size - WNN_FIRST_DIMENSION;
	if (!*symbol || *symbol > graph->num_symbols)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: dimension %" PRIu32 " is %" PRIu32
				     ", which is no number that wnnGraphBuilderDimension gave for "
				     "this builder; sizes are below %u",
				     what, d, size, WNN_FIRST_DIMENSION);
	*number = (uint32_t)ir_symbol_at(&graph->symbols[*symbol - 1],
					 graph->names[graph->symbols[*symbol - 1].name].max);
	return 0;
}

/*
 * Checks that each dimension with a symbol is at least 1 at the minimum and at the maximum of its
 * name. Returns 0 or -1.
 */
static int check_least(const struct wnn_builder *builder, const struct ir_type *type,
		       const char *what, struct wnn_error *err)
{
	const struct ir_graph *graph = builder->graph;
	char text[IR_SYMBOL_TEXT_SIZE];

	for (uint32_t d = 0; d < type->rank; d++) {
		const struct ir_symbol *symbol = ir_symbol_of(graph, type->dim[d].symbol);
		const struct ir_name *name;

		if (!symbol)
			continue;
		name = &graph->names[symbol->name];
		if (ir_symbol_at(symbol, name->min) < 1 || ir_symbol_at(symbol, name->max) < 1)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"%s: dimension %" PRIu32 ", %s, is 0 for a size from %" PRIu32
				" to %" PRIu32 "; it must be at least 1 for all of them",
				what, d,
				ir_symbol_text(graph, type->dim[d].symbol, text, sizeof(text)),
				name->min, name->max);
	}
	return 0;
}

static int make_type(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
		     const WNNDimensionRanges *ranges, const char *what, struct ir_type *type,
		     struct wnn_error *err)
{
	uint32_t numbers[IR_MAX_RANK] = { 0 }, symbols[IR_MAX_RANK] = { 0 };
	WNNUint32Array shape = descriptor->shape;

	if (ranges && check_ranges(descriptor, ranges, what, err))
		return -1;
	if (shape.data && shape.count <= IR_MAX_RANK) {
		for (uint32_t d = 0; d < shape.count; d++)
			if (make_dim(builder, shape.data[d], ranges ? &ranges->ranges[d] : NULL,
				     what, d, &numbers[d], &symbols[d], err))
				return -1;
		shape.data = numbers;
	}
	if (wnn_limits_type_of(&builder->config.limits, descriptor->dataType, shape, what, type,
			       err))
		return -1;
	for (uint32_t d = 0; d < type->rank; d++)
		type->dim[d].symbol = symbols[d];
	return check_least(builder, type, what, err);
}

int wnn_builder_late_type(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			  const WNNDimensionRanges *ranges, const char *what, struct ir_type *type,
			  struct wnn_error *err)
{
	uint32_t names = builder->graph->num_names, symbols = builder->graph->num_symbols;

	if (!make_type(builder, descriptor, ranges, what, type, err))
		return 0;
	/* Drops the names and symbols that the refused input has added. */
	builder->graph->num_names = names;
	builder->graph->num_symbols = symbols;
	return -1;
}

uint32_t wnn_builder_dimension(struct wnn_builder *builder, WNNStringView name, int32_t multiply,
			       int32_t add, uint32_t divide, struct wnn_error *err)
{
	struct ir_symbol symbol = { .multiply = multiply, .add = add, .divide = divide };
	struct ir_graph *graph = builder->graph;
	char text[TEXT_SIZE];
	const char *copy;
	uint32_t index;

	if (wnn_builder_can_build(builder, err))
		return 0;
	wnn_text_printable(text, sizeof(text), name.data, wnn_view_length(&name));
	copy = wnn_label_copy(builder->arena, &name);
	if (!copy) {
		nomem("a dimension", err);
		return 0;
	}
	symbol.name = ir_find_name(graph, copy);
	if (symbol.name == graph->num_names)
		wnn_error_set(err, WNN_TYPE_ERROR,
			      "dimension: no input of the builder has a dimension that is called "
			      "\"%s\"",
			      text);
	else if (!multiply || !divide)
		wnn_error_set(err, WNN_TYPE_ERROR, "dimension \"%s\": %s is 0; it must be %s", text,
			      multiply ? "divide" : "multiply",
			      multiply ? "at least 1" : "another number");
	else if (!ir_symbol_is_valid(graph, &symbol))
		wnn_error_set(err, WNN_TYPE_ERROR,
			      "dimension \"%s\": (%" PRId32 " * n + %" PRId32 ") / %" PRIu32
			      " is negative or above %d for some n from %" PRIu32 " to %" PRIu32,
			      text, multiply, add, divide, WNN_MAX_DIMENSION,
			      graph->names[symbol.name].min, graph->names[symbol.name].max);
	else if ((index = ir_add_symbol(graph, symbol)))
		return WNN_FIRST_DIMENSION + index;
	else
		nomem("a dimension", err);
	return 0;
}

/*
 * Whether an input that the graph keeps has a dimension from which the size of a name follows: one
 * that is not divided, and so is different for each size.
 */
static bool is_told(const struct ir_graph *graph, const bool *reached, uint32_t name)
{
	for (uint32_t i = 0; i < graph->num_inputs; i++) {
		const struct ir_type *type = &graph->inputs[i]->type;

		for (uint32_t d = 0; reached[graph->inputs[i]->id] && d < type->rank; d++) {
			uint32_t symbol = type->dim[d].symbol;

			if (symbol && graph->symbols[symbol - 1].name == name &&
			    graph->symbols[symbol - 1].divide == 1)
				return true;
		}
	}
	return false;
}

static int check_symbol(const struct ir_graph *graph, const bool *reached, uint32_t symbol,
			struct wnn_error *err)
{
	const char *name;
	char text[TEXT_SIZE];

	if (!symbol || is_told(graph, reached, graph->symbols[symbol - 1].name))
		return 0;
	name = graph->names[graph->symbols[symbol - 1].name].name;
	wnn_text_printable(text, sizeof(text), name, strlen(name));
	return wnn_error_set(err, WNN_TYPE_ERROR,
			     "the graph depends on the size of \"%s\", but on no input with a "
			     "dimension that tells it; an output must depend on such an input",
			     text);
}

int wnn_builder_check_names(const struct wnn_builder *builder, const bool *reached,
			    struct wnn_error *err)
{
	const struct ir_graph *graph = builder->graph;

	for (uint32_t i = 0; graph->num_names && i < graph->num_values; i++) {
		const struct ir_value *value = graph->values[i];

		for (uint32_t d = 0; reached[i] && d < value->type.rank; d++)
			if (check_symbol(graph, reached, value->type.dim[d].symbol, err))
				return -1;
		for (uint32_t k = 0; reached[i] && value->def && k < value->def->num_late; k++)
			if (check_symbol(graph, reached, value->def->late[k].symbol, err))
				return -1;
	}
	return 0;
}
