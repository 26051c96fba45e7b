// SPDX-License-Identifier: MIT
/*
 * Translates sorts of few elements: compares all pairs of a row at once; the position of an element
 * is the number of elements that come before it. Equal elements keep their order.
 */
#include "lower.h"

#include "../common/memory.h"

#define MOST_PAIRS 65536 /* pairs of elements in all rows */

/*
 * How operands are sorted: values of @type become [rows, length], sorted along the second
 * dimension.
 */
struct vectors {
	const struct shlo_lower *l;
	const struct shlo_type *type;
	int dim;
	int64_t rows, length;
};

static bool vectors_init(struct vectors *s, const struct shlo_lower *l, int64_t dim)
{
	const struct shlo_type *type = shlo_operand_type(l, 0);

	*s = (struct vectors){ .l = l,
			       .type = type,
			       .dim = (int)(dim < 0 ? dim + type->rank : dim) };
	s->length = type->dims[s->dim];
	s->rows = shlo_type_count(type) / s->length;
	return s->length <= MOST_PAIRS && s->rows * s->length * s->length <= MOST_PAIRS;
}

/* Returns x as [rows, length]: the sorted dimension is moved to the end. */
static WNNOperand as_vectors(const struct vectors *s, WNNOperand x)
{
	const int64_t dims[2] = { s->rows, s->length };
	int64_t order[SHLO_MAX_RANK];
	int count = 0;

	for (int i = 0; i < s->type->rank; i++)
		if (i != s->dim)
			order[count++] = i;
	order[count] = s->dim;
	return shlo_lower_reshape(s->l, shlo_lower_transpose(s->l, x, order, s->type->rank), dims,
				  2);
}

static WNNOperand from_vectors(const struct vectors *s, WNNOperand x)
{
	int64_t dims[SHLO_MAX_RANK], order[SHLO_MAX_RANK];
	int count = 0;

	for (int i = 0; i < s->type->rank; i++) {
		order[i] = i == s->dim ? s->type->rank - 1 : count;
		if (i != s->dim)
			dims[count++] = s->type->dims[i];
	}
	dims[count] = s->length;
	return shlo_lower_transpose(s->l, shlo_lower_reshape(s->l, x, dims, s->type->rank), order,
				    s->type->rank);
}

/*
 * These return x for comparison of all pairs: dimension 1 counts the first element of a pair,
 * dimension 2 the second.
 */
static WNNOperand first_of(const struct vectors *s, WNNOperand x)
{
	const int64_t dims[3] = { s->rows, s->length, 1 };

	return shlo_lower_reshape(s->l, x, dims, 3);
}

static WNNOperand second_of(const struct vectors *s, WNNOperand x)
{
	const int64_t dims[3] = { s->rows, 1, s->length };

	return shlo_lower_reshape(s->l, x, dims, 3);
}

/* Returns 0, 1 and so on, as [1, length]. */
static WNNOperand numbers(const struct vectors *s)
{
	const int64_t dims[2] = { 1, s->length };
	int32_t *data = import_alloc((size_t)s->length * sizeof(*data));
	WNNOperand list;

	if (!data)
		return NULL;
	for (int64_t i = 0; i < s->length; i++)
		data[i] = (int32_t)i;
	list = shlo_lower_list(s->l, WNNOperandDataType_Int32, data, s->length, sizeof(*data));
	import_free(data);
	return shlo_lower_reshape(s->l, list, dims, 2);
}

/* Returns [1, length, length]: whether the first element of a pair is after the second. */
static WNNOperand comes_after(const struct vectors *s)
{
	const int64_t row[3] = { 1, 1, s->length }, column[3] = { 1, s->length, 1 };
	WNNOperand list = numbers(s);

	return shlo_lower_both(s->l, wnnGraphBuilderGreater,
			       shlo_lower_reshape(s->l, list, column, 3),
			       shlo_lower_reshape(s->l, list, row, 3));
}

/* Counts the pairs that are true along @dim, and returns [rows, length]. */
static WNNOperand count(const struct vectors *s, WNNOperand pairs, int64_t dim)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	struct shlo_sizes axes;

	shlo_sizes_init(&axes, &dim, 1);
	options.axes = axes.array;
	options.label = s->l->options.label;
	pairs = shlo_lower_cast(s->l, pairs, WNNOperandDataType_Int32);
	return pairs ? wnnGraphBuilderReduceSum(s->l->b, pairs, &options) : NULL;
}

/*
 * Returns the position to which each element moves, [rows, length]. @before: for all pairs, whether
 * the first must come before the second. Only pairs count whose first element is after the second:
 * the first passes the second when it must come before it, else both stay. A comparator may be no
 * order, such as one of floats with NaN; two elements could then get one position. So elements are
 * ranked once more by position, and equal positions by index.
 */
static WNNOperand positions(const struct vectors *s, WNNOperand before)
{
	const struct shlo_lower *l = s->l;
	const int32_t length = (int32_t)s->length;
	WNNOperand passes, at, factor;

	passes = shlo_lower_both(l, wnnGraphBuilderLogicalAnd, before, comes_after(s));
	at = shlo_lower_both(l, wnnGraphBuilderSub, count(s, passes, 1), count(s, passes, 2));
	at = shlo_lower_both(l, wnnGraphBuilderAdd, at, numbers(s));
	factor = shlo_lower_list(l, WNNOperandDataType_Int32, &length, 1, sizeof(length));
	at = shlo_lower_both(l, wnnGraphBuilderMul, at, factor);
	at = shlo_lower_both(l, wnnGraphBuilderAdd, at, numbers(s));
	return count(
		s, shlo_lower_both(l, wnnGraphBuilderLesser, first_of(s, at), second_of(s, at)), 1);
}

/* Returns x with each element moved to its position in @at; NULL: refused. */
static WNNOperand put(const struct vectors *s, WNNOperand x, WNNOperand at)
{
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;

	options.axis = 1;
	options.label = s->l->options.label;
	return x && at ? wnnGraphBuilderScatterElements(s->l->b, x, at, x, &options) : NULL;
}

/*
 * Translates a sort: the rank of each element is the number of elements before it, which is fast to
 * count for few elements. Returns false for too many elements or operands, or a comparator that
 * does more than to compare and choose.
 */
bool shlo_lower_sort(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_region *comparator = l->op->regions[0];
	WNNOperand x[SHLO_MOST_LOWERED / 2], pairs[SHLO_MOST_LOWERED], before, at;
	size_t inputs = l->op->operand_count;
	struct vectors s;

	/*
	 * A comparator that only compares and selects can be computed on a column and a row, which
	 * are broadcast to all pairs.
	 */
	if (inputs > SHLO_MOST_LOWERED / 2 ||
	    !vectors_init(&s, l, shlo_attr_int(l->op, "dimension", -1)) ||
	    !shlo_only_chooses(comparator) || !shlo_can_lower_region(comparator))
		return false;
	if (!l->b)
		return true;
	for (size_t i = 0; i < inputs; i++) {
		x[i] = as_vectors(&s, shlo_lowered(l, i));
		pairs[2 * i] = first_of(&s, x[i]);
		pairs[2 * i + 1] = second_of(&s, x[i]);
		if (!pairs[2 * i] || !pairs[2 * i + 1])
			return true;
	}
	if (!shlo_lower_region(l, comparator, pairs, &before))
		return true;
	at = positions(&s, before);
	for (size_t i = 0; i < inputs; i++)
		out[i] = from_vectors(&s, put(&s, x[i], at));
	return true;
}

/*
 * Lowers top_k: the largest elements of each row and their indices. Floats are left to the
 * reference kernel, since WebNN's comparison is not the total order that top_k demands.
 */
bool shlo_lower_top_k(struct shlo_lower *l, WNNOperand *out)
{
	static const int64_t none[SHLO_MAX_RANK];
	const struct shlo_type *type = shlo_operand_type(l, 0), *to = shlo_result_type(l);
	WNNOperand x, at, all[2], after;
	struct shlo_sizes starts, sizes;
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	struct vectors s;

	/* largest, an attribute of mhlo.topk, selects the smallest elements when it is false. */
	if (!shlo_attr_int(l->op, "largest", 1))
		return false;
	if (type->element != SHLO_I1 &&
	    (!shlo_is_computed(type->element) || shlo_is_float(type->element)))
		return false;
	if (!vectors_init(&s, l, -1))
		return false;
	if (!l->b)
		return true;
	x = as_vectors(&s, shlo_lowered(l, 0));
	at = positions(&s, shlo_lower_both(l, wnnGraphBuilderGreater, first_of(&s, x),
					   second_of(&s, x)));
	after = numbers(&s);
	shlo_sizes_init(&sizes, (const int64_t[]){ s.rows, s.length }, 2);
	after = after ? wnnGraphBuilderExpand(l->b, after, sizes.array, &l->options) : NULL;
	all[0] = from_vectors(&s, put(&s, x, at));
	all[1] = from_vectors(&s, put(&s, after, at));
	shlo_sizes_init(&starts, none, type->rank);
	shlo_sizes_init(&sizes, to->dims, type->rank);
	options.label = l->options.label;
	for (int i = 0; i < 2; i++)
		out[i] = all[i] ? wnnGraphBuilderSlice(l->b, all[i], starts.array, sizes.array,
						       &options) :
				  NULL;
	return true;
}
