// SPDX-License-Identifier: MIT
/* Names of operators and functions, as the printer and messages show them. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

#include "util/printable.h"

/* Makes a table entry from a row of the lists of ir.h: identifier, printed name. */
#define NAME(id, name, ...) [IR_##id] = name,

static const char *const op_names[] = {
#define IR_OPERATOR(id, name, ...) [IR_OP_##id] = name,
#include "ir/ops.def"
#undef IR_OPERATOR
};
static const char *const unary_names[] = { IR_UNARY_KINDS(NAME) };
static const char *const binary_names[] = { IR_BINARY_KINDS(NAME) };
static const char *const reduce_names[] = { IR_REDUCE_KINDS(NAME) };

const char *ir_op_name(enum ir_op op)
{
	return op_names[op];
}

const char *ir_unary_name(int kind)
{
	return kind == IR_UNARY_NONE ? "none" : unary_names[kind];
}

enum ir_unary_class ir_unary_class(int kind)
{
#define CLASS(id, name, class) [IR_##id] = IR_UNARY_##class,
	static const uint8_t classes[] = { IR_UNARY_KINDS(CLASS) };
#undef CLASS

	return (enum ir_unary_class)classes[kind];
}

const char *ir_binary_name(enum ir_binary kind)
{
	return binary_names[kind];
}

const char *ir_reduce_name(enum ir_reduce kind)
{
	return reduce_names[kind];
}

const char *ir_filter_layout_name(enum ir_filter_layout layout)
{
	static const char *const names[] = { IR_FILTER_LAYOUTS(NAME) };

	return names[layout];
}

const uint8_t *ir_filter_axes(enum ir_filter_layout layout)
{
#define AXES(id, name, ...) [IR_##id] = { __VA_ARGS__ },
	static const uint8_t axes[][4] = { IR_FILTER_LAYOUTS(AXES) };
#undef AXES

	return axes[layout];
}

const char *ir_node_name(const struct ir_node *node, char *buffer, size_t size)
{
	char label[96];

	if (!node)
		snprintf(buffer, size, "the graph");
	else if (wnn_text_printable(label, sizeof(label), node->label, strlen(node->label)))
		snprintf(buffer, size, "%s \"%s\"", node->source, label);
	else
		snprintf(buffer, size, "%s", node->source);
	return buffer;
}
