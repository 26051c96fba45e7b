// SPDX-License-Identifier: MIT
/*
 * The rules of quantizeLinear and dequantizeLinear: they check a call, infer the types of its
 * results and emit IR nodes.
 */
#include "graph/rules.h"

/*
 * Checks that every size of input is a multiple of that of operand `i`: each element of the scale
 * belongs to a block of the input. Returns 0 or -1.
 */
static int check_blocks(struct wnn_rule *rule, size_t i)
{
	const struct ir_type *input = rule_type(rule, 0), *from = rule_type(rule, i);

	for (uint32_t d = 0; d < input->rank; d++)
		if (ir_type_dim(input, d) % ir_type_dim(from, d))
			return rule_error(rule,
					  "%s of shape %s does not divide input of shape %s "
					  "into blocks: %" PRId64 " is no multiple of %" PRId64,
					  rule_operand_name(rule, i), SHAPE(from), SHAPE(input),
					  ir_type_dim(input, d), ir_type_dim(from, d));
	return 0;
}

int rule_quantize(struct wnn_rule *rule)
{
	bool quantize = rule->call->op == WNN_OP_QUANTIZE_LINEAR;
	const struct ir_type *scale = rule_type(rule, 1), *zero = rule_type(rule, 2);
	struct ir_type type = *rule_type(rule, 0);

	if (!ir_type_same_shape(scale, zero))
		return rule_error(rule,
				  "scale has shape %s, but zeroPoint has %s; they must be "
				  "the same",
				  SHAPE(scale), SHAPE(zero));
	if (check_blocks(rule, 1) || check_blocks(rule, 2))
		return -1;
	type.dtype = quantize ? zero->dtype : scale->dtype;
	return rule_emit_call(rule, quantize ? IR_OP_QUANTIZE : IR_OP_DEQUANTIZE, &type, NULL);
}
