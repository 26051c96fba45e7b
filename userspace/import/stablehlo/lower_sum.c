// SPDX-License-Identifier: MIT
/* Translates reductions, products and batch normalisation to operators of WebNN. */
#include "lower.h"

#include <string.h>

#include "numbers.h"

/*
 * Reductions and products of f32 have the order of the reference kernel where they add few terms,
 * fewer than LEAST_INNER for an element and at most MOST_IN_ORDER in all; each step is an operator.
 * Products of f16 have it where they add fewer than LEAST_INNER for an element. The order of others
 * is left to the device.
 */
#define LEAST_INNER   16
#define MOST_IN_ORDER 256
#define MOST_STEPS    64		 /* steps that are done one after the other */
#define MOST_PRODUCTS (INT64_C(1) << 22) /* products that a graph holds as separate elements */

static int64_t product(const struct shlo_type *x, const struct shlo_list *dims)
{
	int64_t size = 1;

	for (int i = 0; i < dims->count; i++)
		size *= x->dims[dims->at[i]];
	return size;
}

/* ---- reductions */

typedef WNNOperand (*reduce_fn)(WNNGraphBuilder, WNNOperand, WNNReduceOptions const *);

bool shlo_is_commutative(int op)
{
	return op == SHLO_B_ADD || op == SHLO_B_MULTIPLY || op == SHLO_B_MAXIMUM ||
	       op == SHLO_B_MINIMUM || op == SHLO_B_AND || op == SHLO_B_OR || op == SHLO_B_XOR;
}

int shlo_only_binary(const struct shlo_region *region)
{
	const struct shlo_block *block = &region->block;
	const struct shlo_op *op = block->op_count == 2 ? block->ops[0] : NULL;

	if (!op || block->argument_count != 2 || op->kind->family != SHLO_BINARY ||
	    block->ops[1]->operands[0] != op->results[0])
		return -1;
	if (op->operands[0] == block->arguments[0] && op->operands[1] == block->arguments[1])
		return op->kind->code;
	return op->operands[0] == block->arguments[1] && op->operands[1] == block->arguments[0] &&
			       shlo_is_commutative(op->kind->code) ?
		       op->kind->code :
		       -1;
}

static bool reducer(int op, enum shlo_element element, reduce_fn *reduce, shlo_combine_fn *combine)
{
	if (element == SHLO_I1) {
		bool any = op == SHLO_B_OR || op == SHLO_B_MAXIMUM || op == SHLO_B_ADD;

		if (!any && op != SHLO_B_AND && op != SHLO_B_MINIMUM && op != SHLO_B_MULTIPLY)
			return false;
		*reduce = any ? wnnGraphBuilderReduceMax : wnnGraphBuilderReduceMin;
		*combine = any ? wnnGraphBuilderLogicalOr : wnnGraphBuilderLogicalAnd;
		return true;
	}
	if (!shlo_is_computed(element))
		return false;
	switch (op) {
	case SHLO_B_MAXIMUM:
		*reduce = wnnGraphBuilderReduceMax;
		*combine = wnnGraphBuilderMax;
		return true;
	case SHLO_B_MINIMUM:
		*reduce = wnnGraphBuilderReduceMin;
		*combine = wnnGraphBuilderMin;
		return true;
	case SHLO_B_ADD:
		*reduce = wnnGraphBuilderReduceSum;
		*combine = wnnGraphBuilderAdd;
		return true;
	case SHLO_B_MULTIPLY:
		*reduce = wnnGraphBuilderReduceProduct;
		*combine = wnnGraphBuilderMul;
		return true;
	default:
		return false;
	}
}

/* Returns @size elements from @at on along dimension @dim, which is kept. */
static WNNOperand slice_at(const struct shlo_lower *l, WNNOperand x, const int64_t *dims, int rank,
			   int dim, int64_t at, int64_t size)
{
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	int64_t starts[SHLO_MAX_RANK] = { 0 }, counts[SHLO_MAX_RANK];
	struct shlo_sizes start, count;

	memcpy(counts, dims, (size_t)rank * sizeof(*dims));
	starts[dim] = at;
	counts[dim] = size;
	shlo_sizes_init(&start, starts, rank);
	shlo_sizes_init(&count, counts, rank);
	options.label = l->options.label;
	return x ? wnnGraphBuilderSlice(l->b, x, start.array, count.array, &options) : NULL;
}

/*
 * Reduces in the order of the elements: brings the operand to [kept, reduced] and combines slice by
 * slice. Returns NULL when the builder refuses.
 */
static WNNOperand reduce_in_order(const struct shlo_lower *l, const struct shlo_list *over,
				  int64_t cells, shlo_combine_fn combine)
{
	const struct shlo_type *x = shlo_operand_type(l, 0), *to = shlo_result_type(l);
	int64_t order[SHLO_MAX_RANK], dims[2] = { shlo_type_count(to), cells };
	WNNOperand all, sum = shlo_lowered(l, 1);
	int count = 0;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < x->rank; i++)
			if (shlo_list_has(over, i) == (k == 1))
				order[count++] = i;
	all = shlo_lower_reshape(l, shlo_lower_transpose(l, shlo_lowered(l, 0), order, x->rank),
				 dims, 2);
	for (int64_t i = 0; i < cells && sum; i++) {
		WNNOperand part = slice_at(l, all, dims, 2, 1, i, 1);

		sum = part ? combine(l->b, sum, part, &l->options) : NULL;
	}
	return shlo_lower_reshape(l, sum, to->dims, to->rank);
}

/*
 * Returns the type in which sums and products are computed: WebNN's sums over dimensions do not
 * take 8-bit integers, and float16 is to be rounded only once.
 */
static WNNOperandDataType computed_type(enum shlo_element element)
{
	if (element == SHLO_F16)
		return WNNOperandDataType_Float32;
	return shlo_elements[element].bits == 8 ? WNNOperandDataType_Int32 :
						  shlo_held_type(element);
}

/*
 * Translates a reduction. Sums and products of f32 depend on their order. For few elements this
 * uses the order of the reference kernel, for more the device's, which the specification allows.
 */
bool shlo_lower_reduce(struct shlo_lower *l, WNNOperand *out)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	int code = shlo_only_binary(l->op->regions[0]);
	struct shlo_sizes axes;
	struct shlo_list over;
	reduce_fn reduce;
	shlo_combine_fn combine;
	int64_t cells;
	bool adds = code == SHLO_B_ADD || code == SHLO_B_MULTIPLY;
	WNNOperand x, initial;

	over.count = shlo_lower_ints(l, "dimensions", over.at);
	if (l->op->operand_count != 2 || shlo_result_type(l)->element != element ||
	    !reducer(code, element, &reduce, &combine))
		return shlo_lower_reduce_any(l, &over, out);
	if (!l->b)
		return true;
	cells = product(shlo_operand_type(l, 0), &over);
	if (element == SHLO_F32 && adds && cells < LEAST_INNER &&
	    shlo_type_count(shlo_operand_type(l, 0)) <= MOST_IN_ORDER) {
		*out = reduce_in_order(l, &over, cells, combine);
		return true;
	}
	shlo_sizes_init(&axes, over.at, over.count);
	options.label = l->options.label;
	options.axes = axes.array;
	x = shlo_lowered(l, 0);
	initial = shlo_lowered(l, 1);
	if (adds && element != SHLO_I1) {
		x = shlo_lower_cast(l, x, computed_type(element));
		initial = shlo_lower_cast(l, initial, computed_type(element));
	}
	x = shlo_lower_both(l, combine, x ? reduce(l->b, x, &options) : NULL, initial);
	*out = shlo_lower_cast(l, x, shlo_held_type(element));
	return true;
}

/* ---- products */

static void append(struct shlo_list *list, const struct shlo_list *more)
{
	for (int i = 0; i < more->count; i++)
		list->at[list->count++] = more->at[i];
}

/*
 * Returns one operand as [batch, rows, columns], or [rows, columns] if @rank is 2: the contracted
 * dimensions are the columns on the left side, the rows on the right.
 */
static WNNOperand as_matrices(const struct shlo_lower *l, size_t side, int rank,
			      const struct shlo_dot_numbers *n, int64_t *free_size)
{
	const struct shlo_type *x = shlo_operand_type(l, side);
	const struct shlo_list *batch = &n->batch[side], *contract = &n->contract[side];
	struct shlo_list order = *batch, swapped = *batch, free = { 0 };
	static const int64_t swap[2][3] = { { 1, 0 }, { 0, 2, 1 } };
	bool is_swapped;
	int64_t dims[3];

	for (int i = 0; i < x->rank; i++)
		if (!shlo_list_has(batch, i) && !shlo_list_has(contract, i))
			free.at[free.count++] = i;
	append(&order, side ? contract : &free);
	append(&order, side ? &free : contract);
	append(&swapped, side ? &free : contract);
	append(&swapped, side ? contract : &free);
	is_swapped = free.count && contract->count;
	for (int i = 0; i < x->rank; i++)
		is_swapped &= swapped.at[i] == i;
	*free_size = product(x, &free);
	dims[0] = product(x, batch);
	dims[1] = (side == 0) == is_swapped ? product(x, contract) : *free_size;
	dims[2] = (side == 0) == is_swapped ? *free_size : product(x, contract);
	/*
	 * The compiler's passes turn a transpose that swaps the last two dimensions into a flag of
	 * the product.
	 */
	if (is_swapped)
		return shlo_lower_transpose(
			l, shlo_lower_reshape(l, shlo_lowered(l, side), dims + 3 - rank, rank),
			swap[rank - 2], rank);
	return shlo_lower_reshape(l,
				  shlo_lower_transpose(l, shlo_lowered(l, side), order.at, x->rank),
				  dims + 3 - rank, rank);
}

/* Returns a product of few terms, added one after the other as the reference kernel does. */
static WNNOperand dot_in_order(const struct shlo_lower *l, WNNOperand a, WNNOperand b,
			       const int64_t *dims)
{
	const int64_t a_dims[3] = { dims[0], dims[1], dims[3] };
	const int64_t b_dims[3] = { dims[0], dims[3], dims[2] };
	WNNOperand sum = NULL;

	for (int64_t i = 0; i < dims[3]; i++) {
		WNNOperand term = shlo_lower_both(l, wnnGraphBuilderMul,
						  slice_at(l, a, a_dims, 3, 2, i, 1),
						  slice_at(l, b, b_dims, 3, 1, i, 1));

		sum = i ? shlo_lower_both(l, wnnGraphBuilderAdd, sum, term) : term;
		if (!sum)
			return NULL;
	}
	return sum;
}

/*
 * Products of 8-bit integers run on the matrix engine in float32. A sum of this many of them is
 * exact there: each is below 2^16 and their sum below 2^24.
 */
#define EXACT_TERMS 256

static WNNOperand dot_of_bytes(const struct shlo_lower *l, WNNOperand a, WNNOperand b,
			       const int64_t *dims)
{
	const int64_t a_dims[3] = { dims[0], dims[1], dims[3] };
	const int64_t b_dims[3] = { dims[0], dims[3], dims[2] };
	WNNOperand sum = NULL;

	a = shlo_lower_cast(l, a, WNNOperandDataType_Float32);
	b = shlo_lower_cast(l, b, WNNOperandDataType_Float32);
	for (int64_t at = 0; at < dims[3]; at += EXACT_TERMS) {
		int64_t size = dims[3] - at < EXACT_TERMS ? dims[3] - at : EXACT_TERMS;
		WNNOperand part = shlo_lower_both(l, wnnGraphBuilderMatmul,
						  slice_at(l, a, a_dims, 3, 2, at, size),
						  slice_at(l, b, b_dims, 3, 1, at, size));

		part = shlo_lower_cast(l, part, WNNOperandDataType_Int32);
		sum = at ? shlo_lower_both(l, wnnGraphBuilderAdd, sum, part) : part;
		if (!sum)
			return NULL;
	}
	return sum;
}

/*
 * Returns a matrix product as the sums of all products of two elements, which are an operand of
 * their own.
 */
static WNNOperand dot_in_full(const struct shlo_lower *l, WNNOperand a, WNNOperand b,
			      const int64_t *dims)
{
	static const int64_t last = 3, order[3] = { 0, 2, 1 };
	const int64_t a_dims[4] = { dims[0], dims[1], 1, dims[3] };
	const int64_t b_dims[4] = { dims[0], 1, dims[2], dims[3] };
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	struct shlo_sizes axes;
	WNNOperand terms;

	shlo_sizes_init(&axes, &last, 1);
	options.axes = axes.array;
	options.label = l->options.label;
	a = shlo_lower_reshape(l, a, a_dims, 4);
	b = shlo_lower_reshape(l, shlo_lower_transpose(l, b, order, 3), b_dims, 4);
	terms = shlo_lower_both(l, wnnGraphBuilderMul, a, b);
	return terms ? wnnGraphBuilderReduceSum(l->b, terms, &options) : NULL;
}

static bool are_bytes(const struct shlo_lower *l)
{
	return shlo_elements[shlo_operand_type(l, 0)->element].bits == 8 &&
	       shlo_elements[shlo_operand_type(l, 1)->element].bits == 8;
}

/*
 * Whether the types allow a product. Integers may have several types, because their sums are exact
 * in the result's.
 */
static bool can_dot(const struct shlo_lower *l, int64_t terms)
{
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	enum shlo_element other = shlo_operand_type(l, 1)->element;
	enum shlo_element to = shlo_result_type(l)->element;

	if (!shlo_is_computed(element) || !shlo_is_computed(other) || !shlo_is_computed(to))
		return false;
	if (shlo_is_float(element) || shlo_is_float(other) || shlo_is_float(to))
		return element == other && element == to;
	return (are_bytes(l) && shlo_elements[to].bits <= 32) || terms <= MOST_STEPS ||
	       shlo_type_count(shlo_result_type(l)) <= MOST_PRODUCTS / terms;
}

/*
 * Translates dot_general. Long products of floats run on the matrix engine, which sums in its own
 * order.
 */
bool shlo_lower_dot(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	const struct shlo_type *to = shlo_result_type(l);
	struct shlo_dot_numbers n;
	WNNOperand a, b, c;
	int64_t dims[4]; /* batch, rows, columns, terms */
	bool few, is_float = shlo_is_float(element);
	int rank;

	shlo_dot_numbers(l->op, &n);
	dims[3] = product(shlo_operand_type(l, 0), &n.contract[0]);
	if (!can_dot(l, dims[3]))
		return false;
	if (!l->b)
		return true;
	few = dims[3] < (is_float ? LEAST_INNER : MOST_STEPS + 1);
	if (element == SHLO_F32)
		few &= shlo_type_count(to) * dims[3] <= MOST_IN_ORDER;
	/*
	 * Without a reshape behind the product, the compiler's passes join the product with a
	 * transpose of its result.
	 */
	rank = is_float && !few && !n.batch[0].count ? 2 : 3;
	dims[0] = product(shlo_operand_type(l, 0), &n.batch[0]);
	a = as_matrices(l, 0, rank, &n, &dims[1]);
	b = as_matrices(l, 1, rank, &n, &dims[2]);
	if (few || !is_float) {
		WNNOperandDataType type = computed_type(to->element);

		if (!few && are_bytes(l) && shlo_elements[to->element].bits <= 32) {
			c = dot_of_bytes(l, a, b, dims);
		} else {
			a = shlo_lower_cast(l, a, type);
			b = shlo_lower_cast(l, b, type);
			c = few ? dot_in_order(l, a, b, dims) : dot_in_full(l, a, b, dims);
		}
		c = shlo_lower_cast(l, c, shlo_held_type(to->element));
	} else {
		c = shlo_lower_both(l, wnnGraphBuilderMatmul, a, b);
	}
	*out = shlo_lower_reshape(l, c, to->dims, to->rank);
	return true;
}

/* ---- normalisation */

bool shlo_lower_batch_norm(struct shlo_lower *l, WNNOperand *out)
{
	WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;

	for (size_t i = 0; i < l->op->operand_count; i++)
		if (shlo_operand_type(l, i)->element != SHLO_F32 &&
		    shlo_operand_type(l, i)->element != SHLO_F16)
			return false;
	if (!l->b)
		return true;
	options.label = l->options.label;
	options.scale = shlo_lowered(l, 1);
	options.bias = shlo_lowered(l, 2);
	options.axis = (uint32_t)shlo_attr_int(l->op, "feature_index", 0);
	options.epsilon = shlo_attr_real(l->op, "epsilon", 0);
	*out = wnnGraphBuilderBatchNormalization(l->b, shlo_lowered(l, 0), shlo_lowered(l, 3),
						 shlo_lowered(l, 4), &options);
	return true;
}
