// SPDX-License-Identifier: MIT
/*
 * Finds expressions of names that give the numbers which a graph has at several sizes of the names.
 */
#include "graph/express.h"

#include <stdio.h>
#include <string.h>

#include "ir/attrs.h"
#include "util/arena.h"
#include "util/printable.h"

#define NAME_SIZE  320
#define MAX_DIVIDE 64 /* the largest divisor that is tried; divisors are products of strides */

#define express_error(l, fmt, ...) \
	wnn_error_set((l)->err, WNN_TYPE_ERROR, "%s: " fmt, (l)->name, ##__VA_ARGS__)

const char *point_text(const struct late *l, const struct point *point, char *buffer, size_t size)
{
	const struct ir_name *names = l->symbols->names;
	size_t at = 0;
	char name[64];

	*buffer = '\0';
	for (uint32_t i = 0; i < l->symbols->num_names && at < size; i++) {
		if (!l->used[i])
			continue;
		wnn_text_printable(name, sizeof(name), names[i].name, strlen(names[i].name));
		at += (size_t)snprintf(buffer + at, size - at,
				       "%s\"%s\" = %" PRIu32 ", of %" PRIu32 " to %" PRIu32,
				       at ? ", and " : "", name, point->numbers[i], names[i].min,
				       names[i].max);
	}
	return buffer;
}

static bool fits(const struct late *l, const struct ir_symbol *symbol)
{
	if (!symbol->multiply || !ir_symbol_is_valid(l->symbols, symbol))
		return false;
	for (uint32_t p = 0; p < l->num_points; p++)
		if (ir_symbol_at(symbol, l->points[p].numbers[symbol->name]) != l->numbers[p])
			return false;
	return true;
}

/*
 * Finds the expression of a name that gives the numbers of all points, with the least divisor up to
 * MAX_DIVIDE. Returns false when there is none. @p: a point where the name has its minimum
 */
static bool find_expression(const struct late *l, uint32_t name, uint32_t p,
			    struct ir_symbol *symbol)
{
	int64_t min = l->symbols->names[name].min;
	int64_t rise = l->numbers[0] - l->numbers[p], run = l->symbols->names[name].max - min;

	/* `multiply` is near rise * divide / run, not equal to it, as numbers are rounded down. */
	for (int64_t divide = 1; divide <= MAX_DIVIDE; divide++)
		for (int64_t near = -1; near <= 1; near++) {
			int64_t multiply = rise * divide / run + near;
			int64_t add = l->numbers[p] * divide - multiply * min;

			for (int64_t rest = 0; rest < divide; rest++) {
				*symbol = (struct ir_symbol){ name, multiply, add + rest, divide };
				if (fits(l, symbol))
					return true;
			}
		}
	return false;
}

/*
 * Sets *symbol to 1 + the index of the expression for l->numbers; 0: all numbers are equal.
 * Returns 0, or -1 with an error that begins with the call and @what.
 */
static int express(struct late *l, const char *what, uint32_t index, uint32_t *symbol)
{
	char one[NAME_SIZE / 2], other[NAME_SIZE / 2];
	struct ir_symbol found;
	uint32_t p, differs = 0;

	*symbol = 0;
	for (uint32_t i = 1; i < l->num_points && !differs; i++)
		differs = l->numbers[i] != l->numbers[0] ? i : 0;
	if (!differs)
		return 0;
	for (uint32_t name = 0; name < l->symbols->num_names; name++) {
		if (!l->used[name] || l->symbols->names[name].min == l->symbols->names[name].max)
			continue;
		p = 1;
		while (l->points[p].numbers[name] != l->symbols->names[name].min)
			p++;
		if (!find_expression(l, name, p, &found))
			continue;
		*symbol = ir_add_symbol(l->symbols, found);
		return *symbol ? 0 : wnn_error_nomem(l->err, l->name);
	}
	return express_error(
		l,
		"%s %" PRIu32 " is %" PRId64 " with %s, and %" PRId64
		" with %s; it must be a multiple of one name plus a number, divided by a "
		"number and rounded down",
		what, index, l->numbers[differs],
		point_text(l, &l->points[differs], one, sizeof(one)), l->numbers[0],
		point_text(l, &l->points[0], other, sizeof(other)));
}

bool same_nodes(const struct late *l, const struct ir_graph *graph)
{
	const struct ir_graph *first = l->points[0].graph;

	if (graph->num_nodes != first->num_nodes || graph->num_values != first->num_values)
		return false;
	for (uint32_t i = 0; i < graph->num_nodes; i++) {
		const struct ir_node *a = first->nodes[i], *b = graph->nodes[i];

		if (a->op != b->op || a->num_operands != b->num_operands ||
		    a->num_results != b->num_results)
			return false;
		for (uint32_t k = 0; k < a->num_operands; k++)
			if (!a->operands[k] != !b->operands[k] ||
			    (a->operands[k] && a->operands[k]->id != b->operands[k]->id))
				return false;
		for (uint32_t k = 0; k < a->num_results; k++)
			if (a->results[k]->type.dtype != b->results[k]->type.dtype ||
			    a->results[k]->type.rank != b->results[k]->type.rank)
				return false;
	}
	return true;
}

int express_type(struct late *l, uint32_t value, struct ir_type *type)
{
	for (uint32_t d = 0; d < type->rank; d++) {
		for (uint32_t p = 0; p < l->num_points; p++)
			l->numbers[p] = ir_type_dim(&l->points[p].graph->values[value]->type, d);
		if (express(l, "dimension", d, &type->dim[d].symbol))
			return -1;
	}
	return 0;
}

/*
 * Finds expressions for the items of attribute f that differ between the points, and adds them to
 * @late. Returns 0; -1 for an item without an expression, or an attribute that must not differ.
 */
static int express_field(struct late *l, struct ir_node *node, uint32_t f,
			 const struct ir_field *field, struct ir_late *late)
{
	uint32_t rank = node->results[0]->type.rank, *number;
	char what[64];

	if (field->kind != IR_FIELD_U32) {
		const uint8_t *first = (const uint8_t *)&node->attrs + field->offset;

		for (uint32_t p = 1; p < l->num_points; p++)
			if (memcmp(first,
				   (uint8_t *)&l->points[p].graph->nodes[node->id]->attrs +
					   field->offset,
				   ir_field_bytes(field)))
				return express_error(
					l,
					"attribute %s depends on the size of a dimension "
					"that is known only at dispatch; it must be equal "
					"for all sizes",
					field->name ? field->name : "");
		return 0;
	}
	snprintf(what, sizeof(what), "attribute %s, item", field->name);
	for (uint32_t e = 0; (number = ir_attr_number(node->op, &node->attrs, rank, f, e)); e++) {
		struct ir_late item = { (uint16_t)f, (uint16_t)e, 0 };

		for (uint32_t p = 0; p < l->num_points; p++)
			l->numbers[p] = *ir_attr_number(
				node->op, &l->points[p].graph->nodes[node->id]->attrs, rank, f, e);
		if (express(l, what, e, &item.symbol))
			return -1;
		if (item.symbol)
			late[node->num_late++] = item;
	}
	return 0;
}

int express_node(struct late *l, struct ir_node *node)
{
	struct ir_graph *graph = l->points[0].graph;
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(node->op, &count);

	for (uint32_t k = 0; k < node->num_results; k++)
		if (express_type(l, node->results[k]->id, &node->results[k]->type))
			return -1;
	node->late = wnn_arena_alloc(graph->arena, (count * IR_MAX_RANK + 1) * sizeof(*node->late));
	if (!node->late)
		return wnn_error_nomem(l->err, l->name);
	for (uint32_t f = 0; f < count; f++)
		if (express_field(l, node, f, &fields[f], node->late))
			return -1;
	return 0;
}
