// SPDX-License-Identifier: MIT
/*
 * ir-opt PASS...: reads the text of a graph from standard input, runs passes in the given order,
 * and prints the graph. With "supports" as the last word it prints for each node whether the NPU
 * takes it, or why not. With "views" it prints for each node in which value's memory its result is
 * on the CPU, and whether it needs a step; in front of these lines, the strides with which nodes
 * read and write, as if the processor had all kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fast.h"
#include "ir/parse.h"
#include "pass/rewrite.h"
#include "plan/report.h"
#include "run/compiled_private.h"
#include "run/device.h"
#include "util/malloc.h"
#include "util/number.h"

static bool can_evaluate(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return cpu_supports(node);
}

static int evaluate(const struct ir_node *node, const void *const *in, void *const *out,
		    void *userdata, struct wnn_error *err)
{
	return cpu_run_node(userdata, CPU_REFERENCE, node, in, out, err);
}

static int run_pass(struct ir_graph **graph, pass_fn pass, const struct pass_context *context)
{
	struct rewrite rw;
	int ret = rewrite_begin(&rw, *graph, context->err);

	ret = ret ? ret : pass(&rw, context);
	ret = ret ? ret : rewrite_end(&rw);
	ret = ret ? ret : ir_verify(rw.to, context->err);
	if (!ret) {
		ir_graph_destroy(*graph);
		*graph = rw.to;
		rw.to = NULL;
	}
	rewrite_destroy(&rw);
	return ret;
}

static int run_named(struct ir_graph **graph, const char *name, const struct pass_context *context)
{
	static const struct {
		const char *name;
		pass_fn pass;
	} passes[] = {
		{ "simplify", pass_simplify },
		{ "tidy", pass_tidy },
		{ "sink_transposes", pass_sink_transposes },
		{ "absorb", pass_absorb },
		{ "fold", pass_fold },
		{ "merge", pass_merge },
		{ "rotary", pass_rotary },
		{ "fuse_bias", pass_fuse_bias },
		{ "fuse_activation", pass_fuse_activation },
		{ "recognise", pass_recognise },
		{ "join_products", pass_join_products },
		{ "sink_dequantize", pass_sink_dequantize },
		{ "fuse_integers", pass_fuse_integers },
		{ "fuse_sums", pass_fuse_sums },
		{ "fuse_weights", pass_fuse_weights },
		{ "widen", pass_widen },
		{ "channels_last", pass_channels_last },
		{ "drop_dead", pass_drop_dead },
	};

	for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
		if (!strcmp(passes[i].name, name))
			return run_pass(graph, passes[i].pass, context);
	return wnn_error_set(context->err, WNN_TYPE_ERROR, "there is no pass \"%s\"", name);
}

static void print_support(const struct ir_graph *graph)
{
	static const struct npu_caps caps = { .sram_bytes = 16 << 10,
					      .lanes = ONPU_CAP_LANES__RESET,
					      .mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
					      .mxu_cols = ONPU_CAP_MXU_COLS__RESET,
					      .fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
					      .dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET };

	for (uint32_t i = 0; i < graph->num_nodes; i++) {
		struct npu_reason reason = { 0 };
		bool taken = npu_supports(graph->nodes[i], &caps, &reason);

		printf("%s: %s\n", ir_op_name(graph->nodes[i]->op), taken ? "npu" : reason.text);
	}
}

struct cpu_plan *__wrap_cpu_plan_arrangeable(struct cpu_context *cpu, const struct ir_node *node);

/*
 * Prints the strides of an operand, or of the result for -1, if our own kernels would accept them:
 * rows are contiguous or, in the second matrix of a product, columns. Returns whether they would.
 */
static bool print_steps(struct cpu_plan *plan, const struct ir_node *node, int operand,
			const int64_t *strides)
{
	const struct ir_value *value = operand < 0 ? node->results[0] : node->operands[operand];
	uint32_t rank = value->type.rank;

	(void)plan;
	if (strides[rank - 1] != 1 &&
	    (node->op != IR_OP_MATMUL || operand != 1 || strides[rank - 2] != 1))
		return false;
	printf("%%%u in steps", value->id);
	for (uint32_t i = 0; i < rank; i++)
		printf("%c%lld", i ? ',' : ' ', (long long)strides[i]);
	putchar('\n');
	return true;
}

static void keep(struct cpu_plan *plan)
{
	(void)plan;
}

struct cpu_plan *__wrap_cpu_plan_arrangeable(struct cpu_context *cpu, const struct ir_node *node)
{
	static struct cpu_plan some = { .destroy = keep, .arrange = print_steps };

	(void)cpu;
	return node->op == IR_OP_MATMUL || node->op == IR_OP_UNARY || node->op == IR_OP_BINARY ?
		       &some :
		       NULL;
}

static int print_views(struct ir_graph *graph, struct wnn_error *err)
{
	struct run_device device = { .cpu = NULL };
	struct run_compiled c = { .graph = graph, .device = &device };
	bool *on_npu = calloc(graph->num_nodes + 1, sizeof(*on_npu));
	int ret = run_find_views(&c, on_npu, err);

	for (uint32_t i = 0; i < graph->num_nodes && !ret; i++) {
		struct run_home home = c.homes[graph->nodes[i]->results[0]->id];

		printf("%s in %%%u at %llu%s\n", ir_op_name(graph->nodes[i]->op), home.value,
		       (unsigned long long)home.at, c.is_view[i] ? ", a view" : "");
	}
	wnn_free(c.homes);
	wnn_free(c.is_view);
	wnn_free(c.early);
	free(on_npu);
	return ret;
}

static char *read_all(FILE *f)
{
	size_t size = 0, room = 4096, got;
	char *text = malloc(room);

	while (text && (got = fread(text + size, 1, room - size - 1, f))) {
		size += got;
		if (size + 1 == room)
			text = realloc(text, room *= 2);
	}
	if (text)
		text[size] = 0;
	return text;
}

int main(int argc, char **argv)
{
	char *text = read_all(stdin), *printed;
	struct wnn_error error = { 0 };
	struct wnn_pass_options options = { .evaluator = { can_evaluate, evaluate,
							   cpu_context_create(1) },
					    .channels_last_work = 4 };
	const struct pass_context context = { .options = &options, .err = &error };
	struct ir_graph *graph = text ? ir_parse(text, &error) : NULL;
	int ret = graph ? 0 : -1;
	bool support = argc > 1 && !strcmp(argv[argc - 1], "supports");
	bool views = argc > 1 && !strcmp(argv[argc - 1], "views");

	for (int i = 1; !ret && i < argc - (support || views); i++) {
		ret = run_named(&graph, argv[i], &context);
		/*
		 * The pass "widen" runs only when all nodes are on the CPU; later passes then
		 * assume that, too.
		 */
		options.widen |= !strcmp(argv[i], "widen");
	}
	if (!ret && views)
		ret = print_views(graph, &error);
	if (!ret && support) {
		print_support(graph);
	} else if (!ret && !views) {
		printed = ir_print(graph);
		fputs(printed, stdout);
		wnn_free(printed);
	}
	if (ret)
		fprintf(stderr, "%s\n", error.message);
	ir_graph_destroy(graph);
	cpu_context_destroy(options.evaluator.userdata);
	free(text);
	return ret ? 1 : 0;
}
