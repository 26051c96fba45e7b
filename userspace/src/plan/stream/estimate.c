// SPDX-License-Identifier: MIT
/*
 * Estimates the cycles of a slice of a node coarsely, from shapes alone; group.c compares groups
 * and blocks by these estimates.
 */
#include "plan/kernel/vprog.h"
#include "plan/list/cost.h"
#include "plan/stream/slices.h"

/* Returns the cycles of a vector instruction for this number of elements, a whole lane each. */
static uint64_t lanes_of(const struct plan *plan, int64_t elements)
{
	return plan_cost_lanes(plan->caps, (uint64_t)elements, 4);
}

/*
 * Returns the cycles of a vector instruction that only moves, compares or adds elements of a
 * value's type, several of which may share a lane.
 */
static uint64_t short_lanes_of(const struct plan *plan, int64_t elements,
			       const struct ir_value *value)
{
	return plan_cost_lanes(plan->caps, (uint64_t)elements,
			       plan_dtype_bytes(plan_dtype(value->type.dtype)));
}

/* Returns how many passes over the elements the instructions of a function take together. */
static uint32_t unary_factor(const struct plan *plan, const struct ir_unary_attrs *unary)
{
	struct unary_step steps[UNARY_MAX_STEPS];
	uint32_t factor = 0, count;

	if (unary->kind == IR_UNARY_NONE)
		return 0;
	count = unary_steps(unary, ONPU_DT_F32, steps);
	for (uint32_t i = 0; i < count; i++)
		factor += npu_factor(plan->caps, steps[i].op);
	return factor;
}

static void product_load(const struct plan *plan, const struct ir_node *node, const struct box *box,
			 struct stream_load *load)
{
	const struct ir_type *to = &node->results[0]->type;
	uint64_t elements = (uint64_t)box_elements(box, to->rank), n, k, groups = 1;
	uint8_t dtype = plan_dtype(node->operands[0]->type.dtype);

	if (box_row_axis(node) != UINT32_MAX) {
		const struct ir_conv_attrs *conv = &node->attrs.conv;
		const uint8_t *axes = ir_filter_axes(conv->filter_layout);
		const struct ir_type *filter = &node->operands[1]->type;

		groups = conv->groups;
		n = (uint64_t)ir_type_dim(filter, axes[0]) / (conv->transposed ? 1 : groups);
		k = (uint64_t)(ir_type_dim(filter, axes[1]) * ir_type_dim(filter, axes[2]) *
			       ir_type_dim(filter, axes[3]));
	} else {
		const struct ir_type *a = &node->operands[0]->type;

		n = (uint64_t)ir_type_dim(to, to->rank - 1);
		k = (uint64_t)ir_type_dim(a, a->rank - (node->attrs.matmul.a_transpose ? 2 : 1));
	}
	if (groups > 1 && n == 1)
		load->vpu += lanes_of(plan, (int64_t)(elements * k));
	else
		load->mxu += plan_weigh_mma(plan, groups, elements / n / groups, n, k, dtype);
	load->vpu += lanes_of(plan, (int64_t)elements);
}

void stream_node_load(const struct plan *plan, const struct ir_node *node, const struct box *box,
		      struct stream_load *load)
{
	int64_t elements = box_elements(box, node->results[0]->type.rank);
	uint32_t factor;

	switch (node->op) {
	case IR_OP_CONV:
	case IR_OP_QCONV:
	case IR_OP_MATMUL:
	case IR_OP_QMATMUL:
	case IR_OP_WMATMUL:
		product_load(plan, node, box, load);
		break;
	case IR_OP_POOL:
	case IR_OP_QPOOL:
		load->vpu += lanes_of(plan, elements * node->attrs.pool.window[0] *
						    node->attrs.pool.window[1]);
		break;
	case IR_OP_UNARY:
		factor = unary_factor(plan, &node->attrs.unary);
		load->vpu += (factor > 1 ? lanes_of(plan, elements) :
					   short_lanes_of(plan, elements, node->results[0])) *
			     factor;
		break;
	case IR_OP_BINARY:
		load->vpu += short_lanes_of(plan, elements, node->results[0]) +
			     lanes_of(plan, elements) * unary_factor(plan, &node->attrs.binary.act);
		break;
	case IR_OP_SOFTMAX:
	case IR_OP_BATCHNORM:
	case IR_OP_LAYERNORM:
		load->vpu += lanes_of(plan, elements) * 8;
		break;
	case IR_OP_ROTARY:
		load->vpu += lanes_of(plan, elements) * 3;
		break;
	case IR_OP_CONCAT:
		break;
	default:
		load->vpu += short_lanes_of(plan, elements, node->results[0]);
	}
}

uint64_t stream_slice_bytes(const struct ir_value *value, const struct box *box)
{
	return (uint64_t)box_elements(box, value->type.rank) * ir_dtype_bits(value->type.dtype) / 8;
}
