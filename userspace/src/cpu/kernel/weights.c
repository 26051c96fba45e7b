// SPDX-License-Identifier: MIT
/*
 * Matrix products with weights of 4 or 8 bits: packed weights stay integers in memory and become
 * floats a few at a time (weights_matmul.c); others are dequantised completely first.
 */
#include "cpu/kernel/weights_matmul.h"

#include "util/malloc.h"

static int multiply(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		    void *const *out, struct wnn_error *err)
{
	bool has_bias = node->num_operands > 4 && node->operands[4];
	struct ir_value weights = *node->operands[1];
	struct ir_value *result[1] = { &weights };
	struct ir_value *from[3] = { node->operands[1], node->operands[2], node->operands[3] };
	struct ir_value *factors[3] = { node->operands[0], &weights,
					has_bias ? node->operands[4] : NULL };
	struct ir_node dequantize = { .op = IR_OP_DEQUANTIZE,
				      .num_operands = 3,
				      .num_results = 1,
				      .operands = from,
				      .results = result };
	struct ir_node matmul = *node;
	void *data;
	int ret;

	if (cpu->packed)
		return cpu_weights_matmul(cpu, node, in, out, err);
	weights.type.dtype = node->operands[0]->type.dtype;
	weights.kind = IR_VALUE_RESULT;
	matmul.op = IR_OP_MATMUL;
	matmul.num_operands = has_bias ? 3 : 2;
	matmul.operands = factors;
	data = wnn_aligned_alloc(64, cpu_round_up((size_t)ir_type_bytes(&weights.type)));
	if (!data)
		return wnn_error_nomem(err, "the weights of a product");
	ret = cpu_run_node(cpu, CPU_FAST, &dequantize, (const void *[]){ in[1], in[2], in[3] },
			   (void *[]){ data }, err);
	if (!ret)
		ret = cpu_run_node(cpu, CPU_FAST, &matmul,
				   (const void *[]){ in[0], data, has_bias ? in[4] : NULL }, out,
				   err);
	wnn_free(data);
	return ret;
}

enum { PACKED, DEQUANTIZED };

static const struct cpu_fast_kernel kernels[] = {
	[PACKED] = { "cpu/matmul-weights", multiply, cpu_weights_pack_bytes, cpu_weights_pack },
	[DEQUANTIZED] = { .name = "cpu/dequantize-matmul", .run = multiply },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	return &kernels[cpu_weights_take(node) ? PACKED : DEQUANTIZED];
}

const struct cpu_fast_family cpu_fast_weights = CPU_FAST_FAMILY(kernels, find);
