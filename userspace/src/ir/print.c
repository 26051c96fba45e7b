// SPDX-License-Identifier: MIT
/* Prints a graph as text, for logs, tests and introspection. */
#include "ir/ir.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "ir/attrs.h"
#include "util/float16.h"
#include "util/malloc.h"

static void print_type(FILE *f, const struct ir_type *type)
{
	fprintf(f, "%s[", ir_dtype_name(type->dtype));
	for (uint32_t i = 0; i < type->rank; i++) {
		if (i)
			fputc(',', f);
		if (type->dim[i].symbol)
			fprintf(f, "s%" PRIu32 ":", type->dim[i].symbol);
		fprintf(f, "%" PRId64, ir_type_dim(type, i));
	}
	fputc(']', f);
}

/* Prints a string in quotes; quotes, backslashes and all but printable ASCII become \xNN. */
static void print_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			fprintf(f, "\\x%02x", (uint8_t)*text);
		else
			fputc(*text, f);
	}
	fputc('"', f);
}

static void print_element(FILE *f, enum ir_dtype dtype, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	switch (dtype) {
	case IR_F32:
		memcpy(&value, &low, sizeof(value));
		ir_print_float(f, value);
		break;
	case IR_F16:
		value = wnn_half_to_float((uint16_t)bits);
		if (value == value)
			ir_print_float(f, value);
		else
			fprintf(f, "nan:%04" PRIx64, bits);
		break;
	case IR_I4:
	case IR_I8:
	case IR_I16:
	case IR_I32:
	case IR_I64:
		fprintf(f, "%" PRId64,
			(int64_t)(bits << (64 - ir_dtype_bits(dtype))) >>
				(64 - ir_dtype_bits(dtype)));
		break;
	case IR_BF16:
	case IR_F64:
		fprintf(f, "%#" PRIx64, bits);
		break;
	default:
		fprintf(f, "%" PRIu64, bits);
		break;
	}
}

static uint64_t element(const struct ir_value *value, int64_t i)
{
	const uint8_t *data = value->constant->data;
	size_t bits = ir_dtype_bits(value->type.dtype);
	uint64_t element = 0;

	if (bits == 4)
		return data[i / 2] >> (i % 2 * 4) & 0xf;
	memcpy(&element, data + (size_t)i * (bits / 8), bits / 8);
	return element;
}

/*
 * Prints a constant: all elements if they are few, or one if all are equal; otherwise no elements.
 */
static void print_constant(FILE *f, const struct ir_value *value)
{
	int64_t count = ir_type_elements(&value->type), same = 1;

	fputs(" = constant", f);
	/* A compiled graph has dropped the constants that only NPU programs use. */
	if (!value->constant || !ir_constant_data(value->constant)) {
		fputc('\n', f);
		return;
	}
	while (same < count && element(value, same) == element(value, 0))
		same++;
	if (same == count && count > 1) {
		fputs(" fill ", f);
		print_element(f, value->type.dtype, element(value, 0));
	} else if (count <= IR_PRINT_ELEMENTS) {
		for (int64_t i = 0; i < count; i++) {
			fputs(i ? "," : " ", f);
			print_element(f, value->type.dtype, element(value, i));
		}
	}
	fputc('\n', f);
}

static void print_node(FILE *f, const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_results; i++) {
		fprintf(f, "%s%%%" PRIu32 " ", i ? ", " : "", node->results[i]->id);
		print_type(f, &node->results[i]->type);
	}
	fprintf(f, " = %s(", ir_op_name(node->op));
	for (uint32_t i = 0; i < node->num_operands; i++) {
		fputs(i ? ", " : "", f);
		if (node->operands[i])
			fprintf(f, "%%%" PRIu32, node->operands[i]->id);
		else
			fputc('-', f);
	}
	fputc(')', f);
	ir_attrs_print(f, node);
	fprintf(f, " ; %s", node->source);
	if (node->label[0]) {
		fputc(' ', f);
		print_string(f, node->label);
	}
	fputc('\n', f);
}

static void print_symbols(FILE *f, const struct ir_graph *graph)
{
	for (uint32_t i = 0; i < graph->num_names; i++) {
		fprintf(f, "name n%" PRIu32 " ", i);
		print_string(f, graph->names[i].name);
		fprintf(f, " %" PRIu32 " to %" PRIu32 "\n", graph->names[i].min,
			graph->names[i].max);
	}
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		const struct ir_symbol *symbol = &graph->symbols[i];

		fprintf(f,
			"symbol s%" PRIu32 " (%" PRId64 " * n%" PRIu32 " + %" PRId64 ") / %" PRId64
			"\n",
			i + 1, symbol->multiply, symbol->name, symbol->add, symbol->divide);
	}
}

static void print_graph(FILE *f, const struct ir_graph *graph)
{
	print_symbols(f, graph);
	for (uint32_t i = 0; i < graph->num_values; i++) {
		const struct ir_value *value = graph->values[i];

		if (value->kind == IR_VALUE_RESULT)
			continue;
		fprintf(f, "%%%" PRIu32 " ", value->id);
		print_type(f, &value->type);
		if (value->kind == IR_VALUE_INPUT) {
			fputs(" = input ", f);
			print_string(f, value->name);
			fputc('\n', f);
		} else {
			print_constant(f, value);
		}
	}
	for (uint32_t i = 0; i < graph->num_nodes; i++)
		print_node(f, graph->nodes[i]);
	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		fputs("output ", f);
		print_string(f, graph->outputs[i].name);
		fprintf(f, " = %%%" PRIu32, graph->outputs[i].value->id);
		if (graph->outputs[i].updates)
			fprintf(f, " updates %%%" PRIu32, graph->outputs[i].updates->id);
		fputc('\n', f);
	}
}

char *ir_print(const struct ir_graph *graph)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	/* Numbers have a decimal point for every locale of the application. */
	locale_t plain = newlocale(LC_ALL_MASK, "C", NULL), before;

	if (f && plain) {
		before = uselocale(plain);
		print_graph(f, graph);
		uselocale(before);
	}
	if (f && fclose(f)) {
		wnn_free(text);
		text = NULL;
	}
	if (!plain) {
		wnn_free(text);
		return NULL;
	}
	freelocale(plain);
	return text;
}
