// SPDX-License-Identifier: MIT
/*
 * Checks of quantised types: where they are allowed, and how those of operands and results must
 * agree.
 */
#include "check.h"
#include "text.h"

/* Returns why a range of stored values is invalid; NULL: it is valid. */
static const char *range_flaw(struct shlo_arena *arena, const struct shlo_quant *quant)
{
	unsigned int bits = shlo_elements[quant->storage].bits;
	int64_t least = INT64_MIN >> (64 - bits), most = INT64_MAX >> (64 - bits);

	if (quant->storage == SHLO_UI64)
		return "stored values of 64 bits without a sign are not supported";
	if (shlo_class(quant->storage) == SHLO_UNSIGNED) {
		least = 0;
		most = 2 * most + 1;
	}
	if (quant->least >= quant->most)
		return shlo_arena_printf(arena,
					 "stored values from %lld to %lld are fewer than two",
					 (long long)quant->least, (long long)quant->most);
	if (quant->least < least || quant->most > most)
		return shlo_arena_printf(
			arena, "stored values from %lld to %lld are not within %lld to %lld of %s",
			(long long)quant->least, (long long)quant->most, (long long)least,
			(long long)most, shlo_elements[quant->storage].text);
	return NULL;
}

const char *shlo_type_flaw(struct shlo_arena *arena, const struct shlo_type *type)
{
	const struct shlo_quant *quant = type->quant;
	double least, most;
	const char *flaw;

	for (int i = 0; type->bounds && i < type->rank; i++)
		if (type->bounds[i] != SHLO_DYNAMIC && type->dims[i] != SHLO_DYNAMIC)
			return shlo_arena_printf(arena, "dimension %d is %lld, it takes no bound",
						 i, (long long)type->dims[i]);
	if (!quant)
		return NULL;
	least = shlo_float_least(quant->expressed);
	most = shlo_float_most(quant->expressed);
	flaw = range_flaw(arena, quant);
	if (flaw)
		return flaw;
	for (size_t i = 0; i < quant->count; i++) {
		if (!(quant->scales[i] >= least) || quant->scales[i] > most)
			return shlo_arena_printf(
				arena,
				"scale %g is not within %s, whose positive numbers are from %g to "
				"%g",
				quant->scales[i], shlo_elements[quant->expressed].text, least,
				most);
		if (quant->zeros[i] < quant->least || quant->zeros[i] > quant->most)
			return shlo_arena_printf(arena, "zero point %lld is not from %lld to %lld",
						 (long long)quant->zeros[i],
						 (long long)quant->least, (long long)quant->most);
	}
	if (quant->axis >= 0 && type->rank >= 0 && quant->axis >= type->rank)
		return shlo_arena_printf(arena,
					 "it has scales for dimension %d, but only %d dimensions, "
					 "counted from 0",
					 quant->axis, type->rank);
	if (quant->axis >= 0 && type->rank >= 0 &&
	    shlo_dim_meet(type->dims[quant->axis], (int64_t)quant->count) == -1)
		return shlo_arena_printf(arena, "it has %zu scales, dimension %d is %lld",
					 quant->count, quant->axis,
					 (long long)type->dims[quant->axis]);
	return NULL;
}

/* ---- which tensors may be quantised */

static void need_allowed(struct shlo_check *check, const struct shlo_type *type, const char *what,
			 size_t i)
{
	enum shlo_quantised quantised = check->op->kind->quantised;

	if (type->kind != SHLO_TENSOR || !type->quant || quantised == SHLO_AXES)
		return;
	if (quantised == SHLO_PLAIN)
		shlo_wrong(check, "%s %zu is quantised, which this operation does not allow: %s",
			   what, i, shlo_type_brief(check->arena, type));
	if (type->quant->axis >= 0)
		shlo_wrong(check, "%s %zu has a scale for each index, expected one for all: %s",
			   what, i, shlo_type_brief(check->arena, type));
}

/* ---- operations of elements */

static bool same_base(const struct shlo_type *a, const struct shlo_type *b)
{
	return a->kind == SHLO_TENSOR && b->kind == SHLO_TENSOR && a->quant && b->quant &&
	       a->quant->storage == b->quant->storage && a->quant->expressed == b->quant->expressed;
}

static void need_same_base(struct shlo_check *check, const struct shlo_type *first,
			   const struct shlo_type *type, const char *what, size_t i)
{
	if (!same_base(first, type))
		shlo_wrong(check,
			   "%s %zu is %s, operand 0 is %s: as one operand or result is quantised, "
			   "all must be, with equal storage and expressed types",
			   what, i, shlo_type_brief(check->arena, type),
			   shlo_type_brief(check->arena, first));
}

/*
 * Demands that all scales by index run along one dimension: operands that have such scales have
 * them along the same dimension as the result, and the result has none if no operand has any.
 */
static void need_axis_of_operands(struct shlo_check *check)
{
	int axis = shlo_declared(check, 0)->quant->axis;
	bool any = false;

	for (size_t i = 0; i < check->in_count; i++) {
		int own = check->in[i]->quant->axis;

		any |= own >= 0;
		if (own >= 0 && axis < 0)
			shlo_wrong(check,
				   "operand %zu has scales along dimension %d, the result has one "
				   "scale for all",
				   i, own);
		if (own >= 0 && own != axis)
			shlo_wrong(check,
				   "operand %zu has scales along dimension %d, the result along %d",
				   i, own, axis);
	}
	if (!any && axis >= 0)
		shlo_wrong(check, "the result has scales along dimension %d, the operands have not",
			   axis);
}

static bool gives_bool(const struct shlo_kind *kind)
{
	return kind->family == SHLO_COMPARE ||
	       (kind->family == SHLO_UNARY &&
		(kind->code == SHLO_U_IS_FINITE || kind->code == SHLO_U_IS_INF ||
		 kind->code == SHLO_U_IS_NEG_INF || kind->code == SHLO_U_IS_POS_INF));
}

void shlo_need_same_base(struct shlo_check *check)
{
	const struct shlo_type *first = check->in[0], *out = shlo_declared(check, 0);

	for (size_t i = 1; i < check->in_count; i++)
		need_same_base(check, first, check->in[i], "operand", i);
	if (gives_bool(check->op->kind) && !out->quant)
		return;
	need_same_base(check, first, out, "result", 0);
}

void shlo_check_quantised(struct shlo_check *check)
{
	const struct shlo_op *op = check->op;
	bool any = false;

	for (size_t i = 0; i < check->in_count; i++) {
		need_allowed(check, check->in[i], "operand", i);
		any |= check->in[i]->kind == SHLO_TENSOR && check->in[i]->quant;
	}
	for (size_t i = 0; i < op->result_count; i++) {
		need_allowed(check, op->results[i]->type, "result", i);
		any |= op->results[i]->type->kind == SHLO_TENSOR && op->results[i]->type->quant;
	}
	if (any && check->in_count &&
	    (op->kind->family == SHLO_UNARY || op->kind->family == SHLO_BINARY ||
	     op->kind->family == SHLO_COMPARE || op->kind->family == SHLO_CLAMP))
		shlo_need_same_base(check);
	if (any && op->kind->family == SHLO_BINARY)
		need_axis_of_operands(check);
}

/* ---- operations that move elements */

/* Returns the number with all digits that tell it from others. */
static const char *scale_text(struct shlo_arena *arena, double scale)
{
	struct shlo_text text = { .arena = arena };

	shlo_text_add_real(&text, scale);
	return text.data;
}

void shlo_need_scales(struct shlo_check *check, int axis)
{
	const struct shlo_type *x = check->in[0], *out = shlo_declared(check, 0);
	const struct shlo_quant *a = x->quant, *b = out->quant;
	bool stretched = a && a->axis >= 0 && a->count == 1;

	if (!a && !b)
		return;
	need_same_base(check, x, out, "result", 0);
	if (a->least != b->least || a->most != b->most || (a->axis < 0) != (b->axis < 0) ||
	    (a->count != b->count && !stretched))
		shlo_wrong(check, "the operand is %s, the result is quantised in another way: %s",
			   shlo_type_brief(check->arena, x), shlo_type_brief(check->arena, out));
	if (b->axis >= 0 && axis < 0)
		shlo_wrong(check,
			   "the result has scales along dimension %d, the operand along %d: these "
			   "dimensions must have equal sizes, and equally many elements in front "
			   "of them",
			   b->axis, a->axis);
	if (b->axis >= 0 && b->axis != axis)
		shlo_wrong(check, "the result has scales along dimension %d, expected %d", b->axis,
			   axis);
	for (size_t i = 0; i < b->count; i++) {
		size_t from = stretched ? 0 : i;

		if (a->scales[from] != b->scales[i] || a->zeros[from] != b->zeros[i])
			shlo_wrong(
				check,
				"the result has scale %s and zero point %lld, the operand %s and "
				"%lld",
				scale_text(check->arena, b->scales[i]), (long long)b->zeros[i],
				scale_text(check->arena, a->scales[from]),
				(long long)a->zeros[from]);
	}
}

/* ---- products */

void shlo_need_product_scales(struct shlo_check *check)
{
	const struct shlo_type *x = check->in[0], *y = check->in[1], *out = shlo_declared(check, 0);

	if (!x->quant && !y->quant && !out->quant)
		return;
	if (!y->quant || !x->quant != !out->quant)
		shlo_wrong(
			check,
			"in a quantised product the right operand has to be quantised, and the left "
			"operand and the result both or neither");
	if (x->quant && x->quant->axis >= 0)
		shlo_wrong(check, "operand 0 has a scale for each index, expected one for all: %s",
			   shlo_type_brief(check->arena, x));
	if (!x->quant && (x->element != y->quant->expressed || out->element != x->element))
		shlo_wrong(check,
			   "the right operand expresses %s, the left operand and the "
			   "result %s and %s: all must be equal",
			   shlo_elements[y->quant->expressed].text, shlo_elements[x->element].text,
			   shlo_elements[out->element].text);
	if (!x->quant)
		return;
	need_same_base(check, x, y, "operand", 1);
	if (out->quant->expressed != x->quant->expressed)
		shlo_wrong(check,
			   "the result expresses %s, the operands express %s: both must be "
			   "equal",
			   shlo_elements[out->quant->expressed].text,
			   shlo_elements[x->quant->expressed].text);
	if (y->quant->axis < 0 && out->quant->axis >= 0)
		shlo_wrong(check,
			   "the result has a scale for each index, the right operand has one "
			   "for all");
}
