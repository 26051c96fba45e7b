// SPDX-License-Identifier: MIT
/*
 * Rules for group normalisation, which exporters write with the channels of a group as one channel
 * of an instance normalisation:
 *
 *	%1 = reshape(%0)	; [1,8,4,4] as [1,2,64,1]
 *	%2 = instnorm(%1)
 *	%3 = reshape(%2)	; as [1,8,4,4]
 *	%4 = binary(%3, %8) mul
 *	%5 = binary(%4, %9) add-> %5 = instnorm(%0, %8, %9) groups=2 ; instanceNormalization+mul+add
 *
 * Where each group has one channel, the rule only removes the reshapes, which exporters add for
 * images whose rank is not 4. All numbers are computed as before, with fewer roundings.
 */
#include "pass/rules.h"
#include "util/malloc.h"

#include <string.h>

static struct ir_value *operand_of(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands ? node->operands[i] : NULL;
}

static bool is_all(const struct ir_value *value, double wanted)
{
	static const uint64_t ones[] = { [IR_F32] = 0x3f800000, [IR_F16] = 0x3c00 };
	uint64_t bits;

	return rules_bits(value, &bits) && bits == (wanted == 1 ? ones[value->type.dtype] : 0);
}

/* Returns a constant with each element repeated `times` times in a row; NULL when out of memory. */
static struct ir_value *repeated_elements(struct rules *rules, const struct ir_value *value,
					  int64_t times)
{
	int64_t count = ir_type_elements(&value->type), all = count * times;
	struct ir_type type = ir_type_make(value->type.dtype, 1, &all);
	size_t bytes = ir_dtype_bits(type.dtype) / 8;
	const char *from = ir_constant_data(value->constant);
	char *data = from ? wnn_malloc((size_t)all * bytes) : NULL;

	if (!data) {
		rules_nomem(rules);
		return NULL;
	}
	for (int64_t i = 0; i < all; i++)
		memcpy(data + (size_t)i * bytes, from + (size_t)(i / times) * bytes, bytes);
	return rules_constant(rules, &type, data);
}

/*
 * Repeats the scale or bias of each group for the channels of the group. *result is NULL when the
 * value has no effect, being @neutral everywhere. Returns false when the value is not constant, or
 * out of memory.
 */
static bool spread(struct rules *rules, struct ir_value *value, int64_t times, double neutral,
		   struct ir_value **result)
{
	*result = value;
	if (!value || times == 1)
		return true;
	*result = NULL;
	if (is_all(value, neutral))
		return true;
	if (value->kind != IR_VALUE_CONSTANT)
		return false;
	*result = repeated_elements(rules, value, times);
	return *result != NULL;
}

/*
 * Whether an image is [batch, channels, ...] and its channels can be divided into the groups of
 * `normal`, the type that is normalised.
 */
static bool has_groups(const struct ir_type *image, const struct ir_type *normal)
{
	return image->rank >= 3 && image->rank < IR_MAX_RANK &&
	       ir_type_dim(image, 0) == ir_type_dim(normal, 0) &&
	       ir_type_dim(image, 1) % ir_type_dim(normal, 1) == 0 &&
	       (image->dtype == IR_F32 || image->dtype == IR_F16);
}

struct ir_value *rule_group_norm(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *norm = rules_sole(rules, node->operands[0]), *before;
	const struct ir_type *image = &node->results[0]->type;
	struct ir_value *operands[3];
	union ir_attrs attrs;
	int64_t times;

	if (!norm || norm->op != IR_OP_INSTNORM || norm->attrs.norm.layout != IR_NCHW ||
	    norm->attrs.norm.groups || !has_groups(image, &norm->results[0]->type))
		return NULL;
	before = rules_maker(norm->operands[0], IR_OP_RESHAPE);
	if (!before || !ir_type_same_shape(&before->operands[0]->type, image))
		return NULL;
	attrs = norm->attrs;
	times = ir_type_dim(image, 1) / ir_type_dim(&norm->results[0]->type, 1);
	attrs.norm.groups = times > 1 ? (uint32_t)ir_type_dim(&norm->results[0]->type, 1) : 0;
	operands[0] = before->operands[0];
	if (!spread(rules, operand_of(norm, 1), times, 1, &operands[1]) ||
	    !spread(rules, operand_of(norm, 2), times, 0, &operands[2]))
		return NULL;
	return rules_emit(rules, IR_OP_INSTNORM, operands, 3, image, &attrs, norm, NULL);
}

/*
 * Whether a value has one element for each channel of an image, along the image's second dimension.
 */
static bool lies_along_channels(const struct ir_type *type, const struct ir_type *image)
{
	int64_t channels = ir_type_dim(image, 1);
	uint32_t missing = image->rank - type->rank;

	return type->rank <= image->rank && missing <= 1 && ir_type_elements(type) == channels &&
	       ir_type_dim(type, 1 - missing) == channels && type->dtype == image->dtype;
}

/* Returns a value as a vector [channels]; NULL when out of memory. */
static struct ir_value *as_channels(struct rules *rules, struct ir_value *value,
				    const struct ir_node *node)
{
	int64_t count = ir_type_elements(&value->type);
	struct ir_type type = ir_type_make(value->type.dtype, 1, &count);

	if (value->type.rank == 1)
		return value;
	return value->kind == IR_VALUE_CONSTANT ?
		       rules_reshaped(rules, value, &type) :
		       rules_emit(rules, IR_OP_RESHAPE, &value, 1, &type, NULL, node, NULL);
}

/* Whether an operand of a normalisation is absent, or this number for all channels. */
static bool is_number(const struct ir_value *value, double wanted)
{
	double number;

	return !value || (rewrite_number(value, &number) && number == wanted);
}

/*
 * Fuses a product or sum with one number per channel with the instance normalisation before it, as
 * its scale or bias.
 */
struct ir_value *rule_scale_of_norm(struct rules *rules, struct ir_node *node)
{
	bool mul = node->attrs.binary.kind == IR_MUL;
	struct ir_value *operands[3];

	if ((!mul && node->attrs.binary.kind != IR_ADD) ||
	    node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int side = 0; side < 2; side++) {
		const struct ir_node *norm = rules_sole(rules, node->operands[side]);
		struct ir_value *other = node->operands[!side];

		if (!norm || norm->op != IR_OP_INSTNORM || norm->attrs.norm.layout != IR_NCHW ||
		    !is_number(operand_of(norm, 2), 0) ||
		    (mul && !is_number(operand_of(norm, 1), 1)) ||
		    !ir_type_same_shape(&norm->results[0]->type, &node->results[0]->type) ||
		    !lies_along_channels(&other->type, &norm->results[0]->type))
			continue;
		other = as_channels(rules, other, node);
		operands[0] = norm->operands[0];
		operands[1] = mul ? other : operand_of(norm, 1);
		operands[2] = mul ? NULL : other;
		return other ? rules_emit(rules, IR_OP_INSTNORM, operands, 3,
					  &node->results[0]->type, &norm->attrs, norm, node) :
			       NULL;
	}
	return NULL;
}
