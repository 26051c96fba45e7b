// SPDX-License-Identifier: MIT
/* Checks of element-wise operations. */
#include "check.h"

#include <string.h>

void shlo_check_any(struct shlo_check *check)
{
	(void)check;
}

/* Sets the type of the result to that of the only operand. */
void shlo_check_like(struct shlo_check *check)
{
	check->out[0] = check->in[0];
}

static void same_dims(struct shlo_check *check, const struct shlo_type *a,
		      const struct shlo_type *b)
{
	if (!shlo_dims_fit(a, b))
		shlo_wrong(check, "%s and %s must have equal dimensions",
			   shlo_type_brief(check->arena, a), shlo_type_brief(check->arena, b));
}

/*
 * Sets @dims to the dimensions of the operands from @first on, which must agree. A size is known if
 * any of these operands knows it.
 */
static void merged_dims(struct shlo_check *check, size_t first, int64_t *dims)
{
	const struct shlo_type *a = shlo_need_tensor(check, first);

	memcpy(dims, a->dims, (size_t)a->rank * sizeof(*dims));
	for (size_t i = first + 1; i < check->in_count; i++) {
		const struct shlo_type *b = shlo_need_tensor(check, i);

		same_dims(check, a, b);
		for (int k = 0; k < a->rank; k++)
			dims[k] = dims[k] == SHLO_DYNAMIC ? b->dims[k] : dims[k];
	}
}

static void out_element(struct shlo_check *check, enum shlo_element element, int rank,
			const int64_t *dims)
{
	check->out[0] = shlo_tensor_type(check->arena, element, rank, dims);
}

/*
 * Sets a result with the element type that the file declares, because the scales of a quantised
 * result are written only there.
 */
static void out_quantised(struct shlo_check *check, int rank, const int64_t *dims)
{
	const struct shlo_type *declared = shlo_declared(check, 0);

	shlo_out_like(check, 0, declared, rank, dims);
}

static void refuse_type(struct shlo_check *check, const struct shlo_type *type)
{
	shlo_wrong(check, "it does not take elements of type %s",
		   shlo_elements[type->element].text);
}

static bool gives_bool(int op)
{
	return op == SHLO_U_IS_FINITE || op == SHLO_U_IS_INF || op == SHLO_U_IS_NEG_INF ||
	       op == SHLO_U_IS_POS_INF;
}

void shlo_check_unary(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int op = check->op->kind->code;
	bool done;

	if (x->quant) {
		out_quantised(check, x->rank, x->dims);
		return;
	}
	shlo_unary((enum shlo_unary)op, x->element, shlo_one(x->element), &done);
	if (!done || (gives_bool(op) && !shlo_is_float(x->element)))
		refuse_type(check, x);
	if (gives_bool(op))
		out_element(check, SHLO_I1, x->rank, x->dims);
	else if (op == SHLO_U_ABS || op == SHLO_U_REAL || op == SHLO_U_IMAG)
		out_element(check, shlo_element_part(x->element), x->rank, x->dims);
	else
		out_element(check, x->element, x->rank, x->dims);
}

static void need_same_element(struct shlo_check *check, size_t a, size_t b)
{
	if (check->in[a]->element != check->in[b]->element)
		shlo_wrong(check, "operands %zu and %zu are %s and %s: element types must be equal",
			   a, b, shlo_type_brief(check->arena, check->in[a]),
			   shlo_type_brief(check->arena, check->in[b]));
}

/* Demands that no dimension of @type exceeds the bound of that dimension in an operand. */
static void need_within_bounds(struct shlo_check *check, const struct shlo_type *type)
{
	for (size_t i = 0; i < check->in_count; i++) {
		const struct shlo_type *x = check->in[i];

		for (int k = 0; x->bounds && k < x->rank && k < type->rank; k++)
			if (x->bounds[k] != SHLO_DYNAMIC && type->dims[k] != SHLO_DYNAMIC &&
			    type->dims[k] > x->bounds[k])
				shlo_wrong(
					check,
					"dimension %d of %s is more than that of operand %zu may "
					"be, %lld",
					k, shlo_type_brief(check->arena, type), i,
					(long long)x->bounds[k]);
	}
}

void shlo_check_binary(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *y = shlo_need_tensor(check, 1);
	int64_t dims[SHLO_MAX_RANK];
	bool done;

	merged_dims(check, 0, dims);
	if (x->quant || y->quant) {
		out_quantised(check, x->rank, dims);
		return;
	}
	need_same_element(check, 0, 1);
	need_within_bounds(check, x);
	need_within_bounds(check, y);
	need_within_bounds(check, shlo_declared(check, 0));
	if (check->op->kind->code == SHLO_B_MULHI && !shlo_is_integer(x->element))
		refuse_type(check, x);
	shlo_binary((enum shlo_binary)check->op->kind->code, x->element, shlo_one(x->element),
		    shlo_one(x->element), &done);
	if (!done)
		refuse_type(check, x);
	out_element(check, x->element, x->rank, dims);
}

static void need_direction(struct shlo_check *check)
{
	static const char *const directions[] = { "EQ", "NE", "GE", "GT", "LE", "LT" };
	const char *text = shlo_attr_text(check->op, "comparison_direction", "");

	for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++)
		if (!strcmp(directions[i], text))
			return;
	shlo_wrong(check, "comparison_direction is '%s', it should be EQ, NE, GE, GT, LE or LT",
		   text);
}

void shlo_check_compare(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dims[SHLO_MAX_RANK];

	need_direction(check);
	merged_dims(check, 0, dims);
	need_same_element(check, 0, 1);
	out_element(check, SHLO_I1, x->rank, dims);
}

static void need_predicate(struct shlo_check *check)
{
	const struct shlo_type *pred = shlo_need_tensor(check, 0);

	if (pred->element != SHLO_I1)
		shlo_wrong(check, "the predicate is of %s, it should be of i1",
			   shlo_elements[pred->element].text);
}

void shlo_check_select(struct shlo_check *check)
{
	const struct shlo_type *pred = shlo_need_tensor(check, 0);
	const struct shlo_type *a = shlo_need_tensor(check, 1);
	int64_t dims[SHLO_MAX_RANK];

	need_predicate(check);
	merged_dims(check, 1, dims);
	need_same_element(check, 1, 2);
	if (pred->rank)
		same_dims(check, pred, a);
	for (int i = 0; pred->rank && i < a->rank; i++)
		dims[i] = dims[i] == SHLO_DYNAMIC ? pred->dims[i] : dims[i];
	shlo_out_like(check, 0, a, a->rank, dims);
}

void shlo_check_clamp(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 1);

	for (size_t i = 0; i < 3; i += 2) {
		if (shlo_need_tensor(check, i)->rank)
			same_dims(check, check->in[i], x);
		need_same_element(check, i, 1);
	}
	if (shlo_is_complex(x->element))
		refuse_type(check, x);
	check->out[0] = x;
}

void shlo_check_convert(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);

	shlo_out_like(check, 0, shlo_declared(check, 0), x->rank, x->dims);
}

void shlo_check_complex(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dims[SHLO_MAX_RANK];

	merged_dims(check, 0, dims);
	need_same_element(check, 0, 1);
	if (x->element != SHLO_F32 && x->element != SHLO_F64)
		refuse_type(check, x);
	out_element(check, shlo_element_complex(x->element), x->rank, dims);
}

bool shlo_is_stored_as(const struct shlo_type *elements, const struct shlo_type *type)
{
	return elements->element == type->element ||
	       (type->quant && shlo_element_unsigned(elements->element) == type->element);
}

void shlo_check_constant(struct shlo_check *check)
{
	const struct shlo_attr *value = shlo_attr_find(&check->op->attrs, "value");

	if (!value || value->kind != SHLO_ATTR_DENSE)
		shlo_wrong(check, "attribute value is missing, or has no elements such as "
				  "dense<[1, 2]> : tensor<2xi32>");
	check->out[0] = value->type;
	/* The elements of a quantised constant are stored values. */
	if (shlo_declared(check, 0)->quant && !value->type->quant)
		shlo_out_like(check, 0, shlo_declared(check, 0), value->type->rank,
			      value->type->dims);
	if (!shlo_is_stored_as(value->type, shlo_declared(check, 0)))
		shlo_wrong(check, "its elements are of %s, the result is %s",
			   shlo_elements[value->type->element].text,
			   shlo_type_brief(check->arena, shlo_declared(check, 0)));
}

void shlo_check_constant_like(struct shlo_check *check)
{
	const struct shlo_attr *value = shlo_attr_find(&check->op->attrs, "value");
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);

	if (!value || (value->kind != SHLO_ATTR_INT && value->kind != SHLO_ATTR_FLOAT))
		shlo_wrong(check, "attribute value is missing, or no number such as 1.5 : f32");
	/* A number without a type has the element type of the result. */
	if (value->type && value->type->kind == SHLO_TENSOR)
		out = value->type;
	out_element(check, out->element, x->rank, x->dims);
}

void shlo_check_reduce_precision(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);

	if (!shlo_is_float(shlo_computed_element(x)))
		refuse_type(check, x);
	if (shlo_need_int(check, "exponent_bits") < 1)
		shlo_wrong(check, "exponent_bits is %lld, expected one from 1 on",
			   (long long)shlo_need_int(check, "exponent_bits"));
	if (shlo_need_int(check, "mantissa_bits") < 0)
		shlo_wrong(check, "mantissa_bits is %lld, expected one from 0 on",
			   (long long)shlo_need_int(check, "mantissa_bits"));
	check->out[0] = x;
}

void shlo_check_uniform_quantize(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *to = shlo_declared(check, 0);

	if (!to->quant)
		shlo_wrong(check, "the result is not quantised");
	if (!x->quant && !shlo_is_float(x->element))
		refuse_type(check, x);
	if (shlo_computed_element(x) != to->quant->expressed)
		shlo_wrong(check,
			   "the operand is of %s, the result expresses %s: both must be "
			   "equal",
			   shlo_elements[shlo_computed_element(x)].text,
			   shlo_elements[to->quant->expressed].text);
	shlo_out_like(check, 0, to, x->rank, x->dims);
}

void shlo_check_uniform_dequantize(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);

	if (!x->quant)
		shlo_wrong(check, "the operand is not quantised");
	out_element(check, x->quant->expressed, x->rank, x->dims);
}

void shlo_check_rng(struct shlo_check *check)
{
	const char *kind = shlo_attr_text(check->op, "rng_distribution", "");

	if (strcmp(kind, "UNIFORM") && strcmp(kind, "NORMAL"))
		shlo_wrong(check, "rng_distribution is '%s', it should be UNIFORM or NORMAL", kind);
	for (size_t i = 0; i < 2; i++)
		if (shlo_need_tensor(check, i)->rank)
			shlo_wrong(check, "operand %zu is %s, expected a scalar", i,
				   shlo_type_brief(check->arena, check->in[i]));
	need_same_element(check, 0, 1);
	if (!strcmp(kind, "NORMAL") && !shlo_is_float(check->in[0]->element))
		refuse_type(check, check->in[0]);
	if (shlo_is_complex(check->in[0]->element))
		refuse_type(check, check->in[0]);
	if (shlo_declared(check, 0)->element != check->in[0]->element)
		shlo_wrong(check, "operands and result must have equal element types");
	shlo_need_shape(check, 2);
}

void shlo_check_rng_bit_generator(struct shlo_check *check)
{
	const char *kind = shlo_attr_text(check->op, "rng_algorithm", "");
	const struct shlo_type *state = shlo_need_tensor(check, 0), *out = shlo_declared(check, 1);
	bool philox = !strcmp(kind, "PHILOX");

	if (strcmp(kind, "DEFAULT") && strcmp(kind, "THREE_FRY") && !philox)
		shlo_wrong(check,
			   "rng_algorithm is '%s', it should be DEFAULT, THREE_FRY or PHILOX",
			   kind);
	if (state->element != SHLO_UI64 || state->rank != 1 ||
	    (shlo_dim_meet(state->dims[0], 2) == -1 && !(philox && state->dims[0] == 3)))
		shlo_wrong(check, "the state is %s, it should be tensor<2xui64>%s",
			   shlo_type_brief(check->arena, state),
			   philox ? " or tensor<3xui64>" : "");
	if (out->kind != SHLO_TENSOR || shlo_class(out->element) == SHLO_BOOL ||
	    shlo_is_complex(out->element) || shlo_elements[out->element].bits < 8)
		shlo_wrong(check,
			   "result 1 is %s, expected a tensor of integers or floats of at least 8 "
			   "bits",
			   shlo_type_brief(check->arena, out));
	check->out[0] = state;
}

/* ---- with implicit broadcast, as chlo has it */

/*
 * Sets @dims to the broadcast dimensions of the operands from @first on, aligned at the end or by
 * broadcast_dimensions, and returns the rank; sizes of 1 are stretched.
 */
static int broadcast(struct shlo_check *check, size_t first, int64_t *dims)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, "broadcast_dimensions");
	int rank = 0;

	for (size_t i = first; i < check->in_count; i++)
		rank = shlo_need_tensor(check, i)->rank > rank ? check->in[i]->rank : rank;
	for (int k = 0; k < rank; k++)
		dims[k] = 1;
	for (size_t i = first; i < check->in_count; i++) {
		const struct shlo_type *x = check->in[i];
		int64_t map[SHLO_MAX_RANK];

		for (int k = 0; k < x->rank; k++)
			map[k] = rank - x->rank + k;
		if (x->rank < rank && attr && shlo_ints_of(attr, map, (size_t)x->rank) != x->rank)
			shlo_wrong(check,
				   "broadcast_dimensions must be a list of %d integers, one for "
				   "each dimension of operand %zu",
				   x->rank, i);
		shlo_need_dims(check, "broadcast_dimensions", map, x->rank, rank);
		for (int k = 0; k < x->rank; k++) {
			int64_t *dim = &dims[map[k]], size = x->dims[k];

			if (*dim != 1 && size != 1 && shlo_dim_meet(*dim, size) < 0 &&
			    shlo_dim_meet(*dim, size) != SHLO_DYNAMIC)
				shlo_wrong(check,
					   "%s cannot be broadcast together with the other "
					   "operands: in each dimension, sizes must be equal or 1",
					   shlo_type_brief(check->arena, x));
			if (*dim == 1 || (*dim == SHLO_DYNAMIC && size != 1))
				*dim = size;
		}
	}
	return rank;
}

void shlo_check_broadcast_binary(struct shlo_check *check)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = broadcast(check, 0, dims);
	enum shlo_element element = check->in[0]->element;
	bool done;

	need_same_element(check, 0, 1);
	if (check->in[0]->quant || check->in[1]->quant || shlo_declared(check, 0)->quant) {
		shlo_need_same_base(check);
		out_quantised(check, rank, dims);
		return;
	}
	shlo_binary((enum shlo_binary)check->op->kind->code, element, shlo_one(element),
		    shlo_one(element), &done);
	if (!done)
		refuse_type(check, check->in[0]);
	out_element(check, element, rank, dims);
}

void shlo_check_broadcast_compare(struct shlo_check *check)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = broadcast(check, 0, dims);

	need_direction(check);
	need_same_element(check, 0, 1);
	out_element(check, SHLO_I1, rank, dims);
}

void shlo_check_broadcast_complex(struct shlo_check *check)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = broadcast(check, 0, dims);

	need_same_element(check, 0, 1);
	if (check->in[0]->element != SHLO_F32 && check->in[0]->element != SHLO_F64)
		refuse_type(check, check->in[0]);
	out_element(check, shlo_element_complex(check->in[0]->element), rank, dims);
}

void shlo_check_broadcast_select(struct shlo_check *check)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = broadcast(check, 0, dims);

	need_predicate(check);
	need_same_element(check, 1, 2);
	out_element(check, check->in[1]->element, rank, dims);
}
