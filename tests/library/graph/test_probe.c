// SPDX-License-Identifier: MIT
/* Tests the limits that opSupportLimits computes for each back end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/limits.h"
#include "codegen/program.h"

#define BIT(type) WNN_DATA_TYPE_BIT(WNNOperandDataType_##type)
#define FLOATS	  (BIT(Float32) | BIT(Float16))

static const struct wnn_limits everything = { .ir_ops = UINT64_MAX, .four_bit = true };

/* The IR operators, ranks and types that a back end was asked about. */
struct seen {
	uint64_t ops;
	uint32_t nodes, ranks, types;
};

static bool note(const struct ir_node *node, void *userdata)
{
	struct seen *seen = userdata;

	seen->ops |= UINT64_C(1) << node->op;
	seen->nodes++;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		if (!node->operands[i])
			continue;
		seen->ranks |= 1u << node->operands[i]->type.rank;
		seen->types |= 1u << node->operands[i]->type.dtype;
	}
	return true;
}

static void probe(bool (*can)(const struct ir_node *node, void *userdata), void *userdata,
		  WNNOpSupportLimits *out, uint32_t *calls)
{
	const WNNOpSupportLimits none = WNN_OP_SUPPORT_LIMITS_INIT;
	struct wnn_error err = { 0 };

	*out = none;
	wnn_limits_fill(&everything, out);
	assert_int_equal(wnn_limits_probe(&everything, can, userdata, out, calls, &err), 0);
	assert_int_equal(err.status, WNN_OK);
}

/* Operators that only passes or chained structures make. */
#define MADE_BY_PASSES                                                                             \
	(UINT64_C(1) << IR_OP_QCONV | UINT64_C(1) << IR_OP_QMATMUL | UINT64_C(1) << IR_OP_QUNARY | \
	 UINT64_C(1) << IR_OP_QBINARY | UINT64_C(1) << IR_OP_WMATMUL |                             \
	 UINT64_C(1) << IR_OP_QPOOL | UINT64_C(1) << IR_OP_ROTARY | UINT64_C(1) << IR_OP_TOPK)

/*
 * Tests that the back end is asked about every IR operator that builders record, and that no limit
 * is lost when it can run all.
 */
static void everything_is_asked(void **state)
{
	WNNOpSupportLimits full = WNN_OP_SUPPORT_LIMITS_INIT, out;
	struct seen seen = { 0 };
	uint32_t calls;

	(void)state;
	probe(note, &seen, &out, &calls);
	wnn_limits_fill(&everything, &full);
	assert_memory_equal(&full, &out, sizeof(out));
	assert_int_equal(seen.ops | MADE_BY_PASSES, (UINT64_C(1) << IR_OP_COUNT) - 1);
	assert_int_equal(seen.ops & MADE_BY_PASSES, 0);
	assert_int_equal(seen.ranks, 0x1ff);
	assert_int_equal(seen.types, 0x3ff);
	/* The 95 operators are asked about with more than 4 calls each, on average. */
	assert_true(calls > 95 * 4);
	assert_true(seen.nodes >= calls);
}

/* Compiles the node alone for the least SRAM; returns whether that works. */
static bool compiles(const struct ir_node *node, void *userdata)
{
	const struct npu_caps *caps = userdata;
	struct ir_graph *graph = ir_graph_create();
	struct ir_value *operands[16] = { NULL };
	struct ir_type types[4];
	struct npu_program *program;
	struct wnn_error err = { 0 };
	uint32_t live[4];
	struct ir_node *copy;

	if (!npu_supports(node, caps, NULL))
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i])
			operands[i] = ir_add_input(graph, "x", &node->operands[i]->type);
	for (uint32_t i = 0; i < node->num_results; i++)
		types[i] = node->results[i]->type;
	copy = ir_add_node(graph, node->op, operands, node->num_operands, types, node->num_results,
			   &node->attrs, "", "test");
	assert_non_null(copy);
	for (uint32_t i = 0; i < copy->num_results; i++)
		live[i] = copy->results[i]->id;
	if (npu_compile(graph, 0, 1, live, copy->num_results, caps, false, NULL, &program, &err))
		fail_msg("%s: %s", ir_op_name(node->op), err.message);
	npu_program_destroy(program);
	ir_graph_destroy(graph);
	return true;
}

/*
 * Tests that the NPU supports all that the documentation's table of operators, types and ranks
 * lists.
 */
static void the_npu_offers_everything(void **state)
{
	struct npu_caps caps = { .sram_bytes = 16 << 10,
				 .lanes = ONPU_CAP_LANES__RESET,
				 .mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
				 .mxu_cols = ONPU_CAP_MXU_COLS__RESET,
				 .fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
				 .dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET };
	WNNOpSupportLimits full = WNN_OP_SUPPORT_LIMITS_INIT, out;
	uint32_t calls;

	(void)state;
	probe(compiles, &caps, &out, &calls);
	wnn_limits_fill(&everything, &full);
	assert_memory_equal(&full, &out, sizeof(out));
	assert_true(calls > 95 * 4);
}

/* Returns false: no node can run, so that no operator may be listed. */
static bool never(const struct ir_node *node, void *userdata)
{
	(void)node;
	(void)userdata;
	return false;
}

static void nothing_is_left(void **state)
{
	WNNOpSupportLimits out;

	(void)state;
	probe(never, NULL, &out, NULL);
	for (int op = 0; op < WNN_OP_COUNT; op++) {
		const struct wnn_op_info *info = &wnn_op_info[op];

		for (uint32_t i = 0; i < info->operand_count + info->output_count; i++) {
			const struct wnn_op_operand *operand =
				i < info->operand_count ? &info->operands[i] :
							  &info->outputs[i - info->operand_count];
			const WNNTensorLimits *limits =
				wnn_op_operand_limits(&out, (enum wnn_op)op, operand);

			if (limits->dataTypes || limits->rankRange.max)
				fail_msg("%s %s is still listed", info->name, operand->name);
		}
	}
}

static bool no_gather_no_integers(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	if (node->op == IR_OP_GATHER)
		return false;
	return node->operands[0]->type.dtype == IR_F32 || node->operands[0]->type.dtype == IR_F16;
}

static void types_are_narrowed(void **state)
{
	WNNOpSupportLimits out;

	(void)state;
	probe(no_gather_no_integers, NULL, &out, NULL);
	assert_int_equal(out.gather.input.dataTypes, 0);
	assert_int_equal(out.gather.indices.dataTypes, 0);
	assert_int_equal(out.gatherND.output.rankRange.max, 0);
	assert_int_equal(out.add.a.dataTypes, FLOATS);
	assert_int_equal(out.add.output.dataTypes, FLOATS);
	assert_int_equal(out.cast.input.dataTypes, FLOATS);
	assert_int_equal(out.cast.output.dataTypes, 0x1fe);
	assert_int_equal(out.argMax.output.dataTypes, BIT(Int32) | BIT(Int64));
	assert_int_equal(out.dequantizeLinear.input.dataTypes, 0);
	assert_int_equal(out.quantizeLinear.output.dataTypes, BIT(Int8) | BIT(Uint8) | BIT(Int32) |
								      BIT(Uint32) | BIT(Int4) |
								      BIT(Uint4));
	/* Its first operand, the condition, can only be uint8. */
	assert_int_equal(out.where.trueValue.dataTypes, 0);
}

/* Returns true for all nodes except scatters of int8 with indices of int64. */
static bool no_int8_by_int64(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return node->op != IR_OP_SCATTER || node->operands[0]->type.dtype != IR_I8 ||
	       node->operands[1]->type.dtype != IR_I64;
}

static void pairs_are_narrowed(void **state)
{
	WNNOpSupportLimits out;

	(void)state;
	probe(no_int8_by_int64, NULL, &out, NULL);
	assert_false(out.scatterElements.input.dataTypes & BIT(Int8) &&
		     out.scatterElements.indices.dataTypes & BIT(Int64));
	assert_true(out.scatterElements.input.dataTypes & BIT(Float32));
	assert_true(out.scatterElements.indices.dataTypes & BIT(Int32));
}

static bool up_to_rank_5(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return node->op != IR_OP_SOFTMAX || node->operands[0]->type.rank <= 5;
}

static void ranks_are_narrowed(void **state)
{
	WNNOpSupportLimits out;

	(void)state;
	probe(up_to_rank_5, NULL, &out, NULL);
	assert_int_equal(out.softmax.input.rankRange.min, 1);
	assert_int_equal(out.softmax.input.rankRange.max, 5);
	assert_int_equal(out.relu.input.rankRange.max, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_asked), cmocka_unit_test(the_npu_offers_everything),
		cmocka_unit_test(nothing_is_left),     cmocka_unit_test(types_are_narrowed),
		cmocka_unit_test(pairs_are_narrowed),  cmocka_unit_test(ranks_are_narrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
