// SPDX-License-Identifier: MIT
/* Matrix products with weights of 4 or 8 bits: dequantised as a whole, then multiplied. */
#include "cpu/fast.h"
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

static const struct cpu_fast_kernel kernels[] = {
	{ .name = "cpu/dequantize-matmul", .run = multiply },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	(void)node;
	return &kernels[0];
}

const struct cpu_fast_family cpu_fast_weights = CPU_FAST_FAMILY(kernels, find);
