// SPDX-License-Identifier: MIT
/* Checks that operations with regions of scalars share, such as reductions and comparisons. */
#include "check.h"

const struct shlo_op *shlo_return_of(const struct shlo_op *op, size_t region)
{
	const struct shlo_block *block = &op->regions[region]->block;

	return block->ops[block->op_count - 1];
}

enum shlo_element shlo_computed_element(const struct shlo_type *type)
{
	return type->quant ? type->quant->expressed : type->element;
}

void shlo_need_argument(struct shlo_check *check, size_t operand, size_t region, size_t argument)
{
	const struct shlo_type *takes = check->op->regions[region]->block.arguments[argument]->type;

	if (!shlo_type_fits(check->in[operand], takes))
		shlo_wrong(check, "operand %zu is %s, argument %zu of region %zu is %s", operand,
			   shlo_type_brief(check->arena, check->in[operand]), argument, region,
			   shlo_type_brief(check->arena, takes));
}

static bool is_scalar(const struct shlo_type *type)
{
	return type->kind == SHLO_TENSOR && type->rank <= 0;
}

void shlo_need_initial(struct shlo_check *check)
{
	size_t count = check->in_count / 2;

	if (check->in_count % 2 || !count)
		shlo_wrong(check, "it has %zu operands, expected inputs and as many initial values",
			   check->in_count);
	if (check->op->result_count != count)
		shlo_wrong(check, "it has %zu results, expected %zu, one for each input",
			   check->op->result_count, count);
}

void shlo_need_reducer(struct shlo_check *check, size_t region, size_t count)
{
	const struct shlo_block *block = &check->op->regions[region]->block;

	shlo_need_region(check, region, 2 * count, count);
	for (size_t i = 0; i < 2 * count; i++) {
		const struct shlo_type *takes = block->arguments[i]->type;
		const struct shlo_type *gives =
			shlo_return_of(check->op, region)->operands[i % count]->type;

		if (!is_scalar(takes))
			shlo_wrong(check, "argument %zu of region %zu is %s, expected a scalar", i,
				   region, shlo_type_brief(check->arena, takes));
		if (!shlo_type_fits(takes, gives))
			shlo_wrong(check,
				   "argument %zu of region %zu is %s, but the region "
				   "returns %s for it",
				   i, region, shlo_type_brief(check->arena, takes),
				   shlo_type_brief(check->arena, gives));
	}
}

static bool promotes(const struct shlo_type *from, const struct shlo_type *to)
{
	enum shlo_class a = shlo_class(from->element), b = shlo_class(to->element);

	if (!from->quant != !to->quant ||
	    (from->quant && from->quant->expressed != to->quant->expressed))
		return false;
	if (shlo_is_integer(from->element) ? !shlo_is_integer(to->element) : a != b)
		return false;
	return shlo_elements[from->element].bits <= shlo_elements[to->element].bits;
}

static const char *scalar_text(struct shlo_check *check, const struct shlo_type *type)
{
	struct shlo_type scalar = *type;

	scalar.rank = 0;
	scalar.bounds = NULL;
	return shlo_type_brief(check->arena, &scalar);
}

void shlo_need_promoted(struct shlo_check *check, size_t operand, size_t region, size_t argument)
{
	const struct shlo_type *from = check->in[operand];
	const struct shlo_type *to = check->op->regions[region]->block.arguments[argument]->type;

	if (from->kind != SHLO_TENSOR || !promotes(from, to))
		shlo_wrong(check,
			   "region %zu computes with %s, but the elements of operand %zu are %s: "
			   "they must be of the same kind, such as float, and not have more bits",
			   region, shlo_type_brief(check->arena, to), operand,
			   from->kind == SHLO_TENSOR ? scalar_text(check, from) :
						       shlo_type_brief(check->arena, from));
}

void shlo_need_element_argument(struct shlo_check *check, size_t operand, size_t region,
				size_t argument)
{
	const struct shlo_type *to = check->op->regions[region]->block.arguments[argument]->type;
	struct shlo_type scalar = *check->in[operand];

	scalar.rank = 0;
	scalar.bounds = NULL;
	if (!is_scalar(to) || !shlo_type_fits(&scalar, to))
		shlo_wrong(check,
			   "argument %zu of region %zu is %s, but an element of operand %zu is %s",
			   argument, region, shlo_type_brief(check->arena, to), operand,
			   shlo_type_brief(check->arena, &scalar));
}

void shlo_need_predicate(struct shlo_check *check, size_t region)
{
	const struct shlo_type *type = shlo_return_of(check->op, region)->operands[0]->type;

	if (!is_scalar(type) || type->element != SHLO_I1)
		shlo_wrong(check, "region %zu returns %s, expected tensor<i1>", region,
			   shlo_type_brief(check->arena, type));
}

/* ---- operands that say dimensions */

int shlo_known_ints(struct shlo_check *check, size_t operand, int64_t *numbers)
{
	const struct shlo_op *from = check->op->operands[operand]->op;
	const struct shlo_attr *value = from ? shlo_attr_find(&from->attrs, "value") : NULL;
	int64_t count;

	if (!value || !from->kind || from->kind->family != SHLO_CONSTANT)
		return -1;
	count = shlo_ints_of(value, numbers, SHLO_MAX_RANK);
	return count > SHLO_MAX_RANK ? -1 : (int)count;
}

static const struct shlo_type *need_integers(struct shlo_check *check, size_t operand)
{
	const struct shlo_type *type = shlo_need_tensor(check, operand);

	if (type->rank != 1 || !shlo_is_integer(type->element))
		shlo_wrong(check, "operand %zu is %s, expected a list of integers", operand,
			   shlo_type_brief(check->arena, type));
	return type;
}

int shlo_need_list(struct shlo_check *check, size_t operand, int64_t count)
{
	const struct shlo_type *type = need_integers(check, operand);

	if (type->dims[0] == SHLO_DYNAMIC || type->dims[0] > SHLO_MAX_RANK)
		shlo_wrong(check, "operand %zu is %s, its length has to be known and at most %d",
			   operand, shlo_type_brief(check->arena, type), SHLO_MAX_RANK);
	if (count >= 0 && type->dims[0] != count)
		shlo_wrong(check, "operand %zu has %lld numbers, expected %lld", operand,
			   (long long)type->dims[0], (long long)count);
	return (int)type->dims[0];
}

void shlo_need_shape(struct shlo_check *check, size_t operand)
{
	const struct shlo_type *out = shlo_declared(check, 0);
	int64_t dims[SHLO_MAX_RANK];

	if (out->kind != SHLO_TENSOR)
		shlo_wrong(check, "the result is no tensor");
	need_integers(check, operand);
	if (out->rank >= 0)
		shlo_need_list(check, operand, out->rank);
	if (out->rank < 0 || shlo_known_ints(check, operand, dims) != out->rank)
		return;
	for (int i = 0; i < out->rank; i++)
		if (dims[i] < 0 || shlo_dim_meet(dims[i], out->dims[i]) == -1)
			shlo_wrong(check,
				   "operand %zu gives dimension %d the size %lld, but the result "
				   "is %s",
				   operand, i, (long long)dims[i],
				   shlo_type_brief(check->arena, out));
}
