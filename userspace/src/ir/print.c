// SPDX-License-Identifier: MIT
/* The text form of a graph, for logs, tests and introspection. */
#include "ir/ir.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/malloc.h"

static void print_type(FILE *f, const struct ir_type *type)
{
	fprintf(f, "%s[", ir_dtype_name(type->dtype));
	for (uint32_t i = 0; i < type->rank; i++) {
		if (i)
			fputc(',', f);
		if (type->dim[i].symbol)
			fprintf(f, "s%" PRIu32 "<=", type->dim[i].symbol);
		fprintf(f, "%" PRId64, ir_type_dim(type, i));
	}
	fputc(']', f);
}

static void print_act(FILE *f, const struct ir_unary_attrs *act)
{
	if (act->kind != IR_UNARY_NONE)
		fprintf(f, " act=%s(%g,%g)", ir_unary_name(act->kind), act->alpha, act->beta);
}

static void print_u32s(FILE *f, const char *name, const uint32_t *v, uint32_t n)
{
	fprintf(f, " %s=", name);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", v[i]);
}

static void print_conv(FILE *f, const struct ir_conv_attrs *a)
{
	print_u32s(f, "pad", a->padding, 4);
	print_u32s(f, "stride", a->strides, 2);
	print_u32s(f, "dilation", a->dilations, 2);
	fprintf(f, " groups=%" PRIu32 " %s %s%s", a->groups, a->layout == IR_NCHW ? "nchw" : "nhwc",
		ir_filter_layout_name(a->filter_layout), a->transposed ? " transposed" : "");
	print_act(f, &a->act);
}

static void print_pool(FILE *f, const struct ir_pool_attrs *a)
{
	static const char *const kinds[] = { "max", "average", "l2" };

	fprintf(f, " %s", kinds[a->kind]);
	print_u32s(f, "window", a->window, 2);
	print_u32s(f, "pad", a->padding, 4);
	print_u32s(f, "stride", a->strides, 2);
	print_u32s(f, "dilation", a->dilations, 2);
	fprintf(f, " %s", a->layout == IR_NCHW ? "nchw" : "nhwc");
}

static void print_attrs(FILE *f, const struct ir_node *node)
{
	const union ir_attrs *a = &node->attrs;
	uint32_t rank = node->results[0]->type.rank;

	switch (node->op) {
	case IR_OP_CONV:
		print_conv(f, &a->conv);
		break;
	case IR_OP_MATMUL:
		fprintf(f, "%s%s alpha=%g beta=%g", a->matmul.a_transpose ? " ta" : "",
			a->matmul.b_transpose ? " tb" : "", a->matmul.alpha, a->matmul.beta);
		print_act(f, &a->matmul.act);
		break;
	case IR_OP_POOL:
		print_pool(f, &a->pool);
		break;
	case IR_OP_UNARY:
		fprintf(f, " %s(%g,%g)", ir_unary_name(a->unary.kind), a->unary.alpha,
			a->unary.beta);
		break;
	case IR_OP_BINARY:
	case IR_OP_COMPARE:
		fprintf(f, " %s", ir_binary_name(a->binary.kind));
		if (node->op == IR_OP_BINARY)
			print_act(f, &a->binary.act);
		break;
	case IR_OP_REDUCE:
		fprintf(f, " %s axes=%#" PRIx32 "%s", ir_reduce_name(a->reduce.kind),
			a->reduce.axes, a->reduce.keep_dims ? " keep" : "");
		break;
	case IR_OP_SLICE:
		print_u32s(f, "start", a->slice.starts, rank);
		print_u32s(f, "stride", a->slice.strides, rank);
		break;
	case IR_OP_PAD:
		print_u32s(f, "begin", a->pad.begin, rank);
		print_u32s(f, "end", a->pad.end, rank);
		break;
	case IR_OP_TRANSPOSE:
		print_u32s(f, "perm", a->transpose.perm, rank);
		break;
	case IR_OP_CONCAT:
	case IR_OP_SOFTMAX:
		fprintf(f, " axis=%" PRIu32, a->axis);
		break;
	case IR_OP_REVERSE:
		fprintf(f, " axes=%#" PRIx32, a->axes);
		break;
	case IR_OP_ARG:
		fprintf(f, " %s axis=%" PRIu32, a->arg.max ? "max" : "min", a->arg.axis);
		break;
	case IR_OP_CUMSUM:
		fprintf(f, " axis=%" PRIu32 "%s%s", a->cumsum.axis,
			a->cumsum.exclusive ? " exclusive" : "",
			a->cumsum.reversed ? " reversed" : "");
		break;
	default:
		break;
	}
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
	print_attrs(f, node);
	fprintf(f, " ; %s", node->source);
	if (node->label[0])
		fprintf(f, " \"%s\"", node->label);
	fputc('\n', f);
}

char *ir_print(const struct ir_graph *graph)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < graph->num_values; i++) {
		const struct ir_value *value = graph->values[i];

		if (value->kind == IR_VALUE_RESULT)
			continue;
		fprintf(f, "%%%" PRIu32 " ", value->id);
		print_type(f, &value->type);
		if (value->kind == IR_VALUE_INPUT)
			fprintf(f, " = input \"%s\"\n", value->name);
		else
			fputs(" = constant\n", f);
	}
	for (uint32_t i = 0; i < graph->num_nodes; i++)
		print_node(f, graph->nodes[i]);
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		fprintf(f, "output \"%s\" = %%%" PRIu32 "\n", graph->outputs[i].name,
			graph->outputs[i].value->id);
	if (fclose(f)) {
		wnn_free(text);
		return NULL;
	}
	return text;
}
