// SPDX-License-Identifier: MIT
/*
 * Matrix products with integer weights that weights_matmul.c does not take: all weights become
 * floats before the product.
 */
#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"
#include "util/malloc.h"

/* The weights as floats: a node makes them, and another one multiplies with them. */
struct dequantized {
	struct cpu_plan base;
	struct ir_value weights;
	struct ir_value *result[1], *from[3], *factors[3];
	struct ir_node dequantize, matmul;
	struct cpu_plan *steps[2]; /* of dequantize and matmul */
	bool has_bias;
};

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	struct dequantized *d = (struct dequantized *)plan;
	void *data = wnn_aligned_alloc(64, cpu_round_up((size_t)ir_type_bytes(&d->weights.type)));
	int ret;

	(void)packed;
	if (!data)
		return wnn_error_nomem(err, "the weights of a product");
	ret = cpu_plan_run(d->steps[0], cpu, NULL, (const void *[]){ in[1], in[2], in[3] },
			   (void *[]){ data }, err);
	if (!ret)
		ret = cpu_plan_run(d->steps[1], cpu, NULL,
				   (const void *[]){ in[0], data, d->has_bias ? in[4] : NULL }, out,
				   err);
	wnn_free(data);
	return ret;
}

static void destroy(struct cpu_plan *plan)
{
	struct dequantized *d = (struct dequantized *)plan;

	cpu_plan_destroy(d->steps[0]);
	cpu_plan_destroy(d->steps[1]);
	wnn_free(d);
}

static void set_nodes(struct dequantized *d, const struct ir_node *node)
{
	d->has_bias = node->num_operands > 4 && node->operands[4];
	d->weights = *node->operands[1];
	d->weights.type.dtype = node->operands[0]->type.dtype;
	d->weights.kind = IR_VALUE_RESULT;
	d->result[0] = &d->weights;
	memcpy(d->from, node->operands + 1, sizeof(d->from));
	d->dequantize = (struct ir_node){ .op = IR_OP_DEQUANTIZE,
					  .num_operands = 3,
					  .num_results = 1,
					  .operands = d->from,
					  .results = d->result };
	d->factors[0] = node->operands[0];
	d->factors[1] = &d->weights;
	d->factors[2] = d->has_bias ? node->operands[4] : NULL;
	d->matmul = *node;
	d->matmul.op = IR_OP_MATMUL;
	d->matmul.num_operands = d->has_bias ? 3 : 2;
	d->matmul.operands = d->factors;
}

struct cpu_plan *cpu_dequantize_matmul_plan(const struct cpu_ask *ask)
{
	struct dequantized *d = wnn_calloc(1, sizeof(*d));
	struct cpu_ask step = { .cpu = ask->cpu, .err = ask->err };

	if (!d)
		return NULL;
	d->base.run = run;
	d->base.destroy = destroy;
	set_nodes(d, ask->node);
	step.node = &d->dequantize;
	d->steps[0] = cpu_choose(&step);
	step.node = &d->matmul;
	d->steps[1] = cpu_choose(&step);
	if (d->steps[0] && d->steps[1])
		return &d->base;
	destroy(&d->base);
	return NULL;
}
