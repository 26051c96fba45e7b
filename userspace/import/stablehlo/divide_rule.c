// SPDX-License-Identifier: MIT
/* The rules by which operations are divided: which dimensions go together. */
#include "divide.h"

#include <string.h>

#include "check.h"
#include "lower.h"
#include "sharding.h"

#define WHOLE (-1) /* in place of an index: the dimension must be whole */

static int add_index(struct shlo_rule *rule, int64_t size, bool is_sum)
{
	rule->size[rule->count] = size;
	rule->is_sum[rule->count] = is_sum;
	return rule->count++;
}

/*
 * Whether parts of a value can be computed: its dimensions are known and few, and it is neither
 * quantised nor empty.
 */
static bool is_divisible(const struct shlo_type *type)
{
	return type->kind == SHLO_TENSOR && !type->quant && type->rank >= 0 &&
	       type->rank <= SHLO_DIVIDED_RANK && shlo_type_count(type) > 0;
}

static const struct shlo_type *in_type(const struct shlo_op *op, size_t operand)
{
	return op->operands[operand]->type;
}

static const struct shlo_type *out_type(const struct shlo_op *op)
{
	return op->results[0]->type;
}

static bool is_named(const struct shlo_op *op, const char *name)
{
	return !strcmp(op->name + strcspn(op->name, ".") + 1, name);
}

#define MOST_HOPS 16 /* operations between a constant and its use */

/* Whether a value is a constant whose elements are all equal to this number. */
static bool is_number(const struct shlo_divider *d, size_t value, int64_t number)
{
	const struct shlo_op *op = NULL;
	const struct shlo_attr *attr;
	struct shlo_num is;

	for (int hop = 0; hop < MOST_HOPS && d->values[value].maker; hop++) {
		const struct shlo_step *step = &d->steps[d->values[value].maker - 1];

		op = step->op;
		if (!is_named(op, "broadcast_in_dim") && !is_named(op, "convert") &&
		    !shlo_is_constraint(op))
			break;
		value = step->in[0];
	}
	attr = op ? shlo_attr_find(&op->attrs, "value") : NULL;
	if (!attr || op->kind->family != SHLO_CONSTANT || attr->kind != SHLO_ATTR_DENSE ||
	    !(attr->splat || shlo_type_count(attr->type) == 1))
		return false;
	is = shlo_load(attr->type->element, attr->data, 0);
	return shlo_class(attr->type->element) == SHLO_FLOAT ? is.re == (double)number && !is.im :
	       shlo_is_integer(attr->type->element)	     ? is.i == number :
							       false;
}

/* Gives each dimension of the results an index, which operands of the same rank have, too. */
static void by_element(const struct shlo_op *op, struct shlo_rule *rule)
{
	for (int i = 0; i < out_type(op)->rank; i++) {
		int index = add_index(rule, out_type(op)->dims[i], false);

		for (size_t k = 0; k < op->operand_count; k++)
			if (in_type(op, k)->rank == out_type(op)->rank)
				rule->in[k][i] = index;
		for (size_t k = 0; k < op->result_count; k++)
			rule->out[k][i] = index;
	}
}

static void by_map(const struct shlo_op *op, struct shlo_rule *rule, const char *name,
		   bool is_order)
{
	const struct shlo_type *x = in_type(op, 0), *y = out_type(op);
	int64_t map[SHLO_MAX_RANK];

	if (shlo_ints_of(shlo_attr_find(&op->attrs, name), map, SHLO_MAX_RANK) != x->rank)
		return;
	for (int i = 0; i < y->rank; i++)
		rule->out[0][i] = add_index(rule, y->dims[i], false);
	/* A transpose's map goes from results to operands, that of a broadcast the other way. */
	for (int i = 0; i < x->rank; i++) {
		int64_t from = is_order ? map[i] : i, to = is_order ? i : map[i];

		if (x->dims[from] == y->dims[to])
			rule->in[0][from] = rule->out[0][to];
	}
}

/*
 * For a reshape: finds groups of dimensions with equal products in operand and result, and gives
 * the outermost dimensions of a group one index.
 */
static void by_groups(const struct shlo_op *op, struct shlo_rule *rule)
{
	const struct shlo_type *x = in_type(op, 0), *y = out_type(op);
	int i = 0, k = 0;

	while (i < x->rank && k < y->rank) {
		int64_t a = x->dims[i], b = y->dims[k], less = a < b ? a : b;
		int first_i = i, first_k = k;

		if (a == 1 || b == 1) {
			i += a == 1;
			k += a != 1;
			continue;
		}
		while (a != b) {
			if (a < b)
				a *= x->dims[++i];
			else
				b *= y->dims[++k];
		}
		if (x->dims[first_i] % less == 0 && y->dims[first_k] % less == 0)
			rule->in[0][first_i] = rule->out[0][first_k] = add_index(rule, less, false);
		i++;
		k++;
	}
}

static void by_dot(const struct shlo_op *op, struct shlo_rule *rule)
{
	struct shlo_dot_numbers n;
	int at = 0;

	shlo_dot_numbers(op, &n);
	for (int i = 0; i < n.batch[0].count; i++, at++)
		rule->in[0][n.batch[0].at[i]] = rule->in[1][n.batch[1].at[i]] = rule->out[0][at] =
			add_index(rule, out_type(op)->dims[at], false);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < in_type(op, (size_t)k)->rank; i++) {
			if (shlo_list_has(&n.batch[k], i) || shlo_list_has(&n.contract[k], i))
				continue;
			rule->in[k][i] = rule->out[0][at] =
				add_index(rule, out_type(op)->dims[at], false);
			at++;
		}
	for (int i = 0; i < n.contract[0].count; i++)
		rule->in[0][n.contract[0].at[i]] = rule->in[1][n.contract[1].at[i]] =
			add_index(rule, in_type(op, 0)->dims[n.contract[0].at[i]], true);
}

static void by_convolution(const struct shlo_divider *d, const struct shlo_op *op,
			   struct shlo_rule *rule)
{
	const struct shlo_type *in[2] = { in_type(op, 0), in_type(op, 1) };
	struct shlo_check check = { .arena = d->arena,
				    .guard = &d->file->guard,
				    .op = op,
				    .module = d->module,
				    .in = in,
				    .in_count = 2 };
	struct shlo_conv_numbers n;

	shlo_conv_numbers(&check, NULL, &n);
	if (n.batch_groups != 1)
		return;
	rule->in[0][n.input_batch] = rule->out[0][n.output_batch] =
		add_index(rule, in[0]->dims[n.input_batch], false);
	if (n.feature_groups != 1)
		return;
	rule->in[1][n.kernel_output] = rule->out[0][n.output_feature] =
		add_index(rule, in[1]->dims[n.kernel_output], false);
	rule->in[0][n.input_feature] = rule->in[1][n.kernel_input] =
		add_index(rule, in[0]->dims[n.input_feature], true);
}

/*
 * Whether every device may start its part of a reduction with the initial value, which is operand
 * 1, without a change of the combined result.
 */
static bool is_neutral(const struct shlo_divider *d, const struct shlo_step *step, int code)
{
	switch (code) {
	case SHLO_B_ADD:
		return is_number(d, step->in[1], 0);
	case SHLO_B_MULTIPLY:
		return is_number(d, step->in[1], 1);
	case SHLO_B_MAXIMUM:
	case SHLO_B_MINIMUM:
	case SHLO_B_AND:
	case SHLO_B_OR:
		return true;
	default:
		return false;
	}
}

static void by_reduction(const struct shlo_divider *d, const struct shlo_step *step,
			 struct shlo_rule *rule)
{
	const struct shlo_op *op = step->op;
	const struct shlo_type *x = in_type(op, 0);
	struct shlo_list over;
	bool sums = op->result_count == 1 && is_neutral(d, step, shlo_only_binary(op->regions[0]));
	int at = 0;

	over.count =
		(int)shlo_ints_of(shlo_attr_find(&op->attrs, "dimensions"), over.at, SHLO_MAX_RANK);
	for (int i = 0; i < x->rank; i++) {
		bool is_sum = shlo_list_has(&over, i);
		int index = is_sum && !sums ? WHOLE : add_index(rule, x->dims[i], is_sum);

		for (size_t k = 0; k < op->result_count; k++)
			rule->in[k][i] = index;
		for (size_t k = 0; !is_sum && k < op->result_count; k++)
			rule->out[k][at] = index;
		at += !is_sum;
	}
}

/*
 * Gives an index to each dimension that has equal sizes in the first @operands operands and in
 * result 0.
 */
static void by_equal(const struct shlo_op *op, struct shlo_rule *rule, size_t operands)
{
	for (int i = 0; i < out_type(op)->rank; i++) {
		bool is_equal = true;
		int index;

		for (size_t k = 0; k < operands; k++)
			is_equal = is_equal && in_type(op, k)->dims[i] == out_type(op)->dims[i];
		if (!is_equal)
			continue;
		index = add_index(rule, out_type(op)->dims[i], false);
		for (size_t k = 0; k < operands; k++)
			rule->in[k][i] = index;
		rule->out[0][i] = index;
	}
}

/* Leaves dimension @dim of all operands and results without an index. */
static void keep_whole(const struct shlo_op *op, struct shlo_rule *rule, int64_t dim)
{
	if (dim < 0 || dim >= SHLO_DIVIDED_RANK)
		return;
	for (size_t k = 0; k < op->operand_count; k++)
		rule->in[k][dim] = WHOLE;
	for (size_t k = 0; k < op->result_count; k++)
		rule->out[k][dim] = WHOLE;
}

static void by_windows(const struct shlo_divider *d, const struct shlo_op *op,
		       struct shlo_rule *rule, size_t arrays)
{
	const struct shlo_type **in = shlo_arena_alloc(d->arena, op->operand_count, sizeof(*in));
	struct shlo_check check = { .arena = d->arena,
				    .guard = &d->file->guard,
				    .op = op,
				    .module = d->module,
				    .in = in,
				    .in_count = op->operand_count };
	struct shlo_window w;

	for (size_t k = 0; k < op->operand_count; k++)
		in[k] = in_type(op, k);
	shlo_window_numbers(&check, in[0]->rank, &w);
	for (int i = 0; i < in[0]->rank; i++) {
		int index;

		if (w.size[i] != 1 || w.stride[i] != 1 || w.low[i] || w.high[i] ||
		    w.base_dilation[i] != 1)
			continue;
		index = add_index(rule, in[0]->dims[i], false);
		for (size_t k = 0; k < arrays; k++)
			rule->in[k][i] = index;
		for (size_t k = 0; k < op->result_count; k++)
			rule->out[k][i] = index;
	}
}

/*
 * Gives indices to the dimensions of the array that windows have whole, and to those that select
 * windows. Sets @array, the indices of the array's dimensions, and @of, those of the dimensions of
 * @windows, an operand or result.
 */
static void by_indices(const struct shlo_op *op, struct shlo_rule *rule, bool scatter,
		       const struct shlo_type *windows, int *array, int *of, bool is_sum)
{
	const struct shlo_type *x = in_type(op, 0), *indices = in_type(op, 1);
	struct shlo_gather_numbers n;
	int64_t at_index = 0;
	int at = 0;

	shlo_gather_numbers(op, scatter, &n);
	for (int i = 0; i < x->rank; i++) {
		if (shlo_list_has(&n.collapsed, i) || shlo_list_has(&n.operand_batching, i))
			continue;
		if (at < n.offset.count && windows->dims[n.offset.at[at]] == x->dims[i] &&
		    !shlo_list_has(&n.start_map, i))
			array[i] = of[n.offset.at[at]] = add_index(rule, x->dims[i], false);
		at++;
	}
	for (int i = 0; i < windows->rank; i++) {
		if (shlo_list_has(&n.offset, i))
			continue;
		at_index += at_index == n.index_vector;
		if (!shlo_list_has(&n.indices_batching, at_index) && (!scatter || is_sum) &&
		    at_index < indices->rank)
			rule->in[1][at_index] = of[i] = add_index(rule, windows->dims[i], is_sum);
		at_index++;
	}
}

static void by_gather(const struct shlo_op *op, struct shlo_rule *rule)
{
	by_indices(op, rule, false, out_type(op), rule->in[0], rule->out[0], false);
	rule->sizes = "slice_sizes";
}

/*
 * Fills in the rule of a scatter. If it adds its updates to zeros, devices may divide the updates:
 * their results are added up.
 */
static void by_scatter(const struct shlo_divider *d, const struct shlo_step *step,
		       struct shlo_rule *rule)
{
	const struct shlo_op *op = step->op;

	if (op->operand_count != 3)
		return;
	by_indices(op, rule, true, in_type(op, 2), rule->in[0], rule->in[2],
		   shlo_only_binary(op->regions[0]) == SHLO_B_ADD && is_number(d, step->in[0], 0));
	memcpy(rule->out[0], rule->in[0], sizeof(rule->out[0]));
}

static void by_slices(const struct shlo_op *op, struct shlo_rule *rule)
{
	int64_t strides[SHLO_MAX_RANK];
	int count =
		(int)shlo_ints_of(shlo_attr_find(&op->attrs, "strides"), strides, SHLO_MAX_RANK);

	by_equal(op, rule, 1);
	for (int i = 0; i < count; i++)
		if (strides[i] != 1)
			keep_whole(op, rule, i);
	rule->sizes = is_named(op, "slice") ? "limit_indices" : "slice_sizes";
}

static void by_padding(const struct shlo_op *op, struct shlo_rule *rule)
{
	static const char *const names[] = { "edge_padding_low", "edge_padding_high",
					     "interior_padding" };
	int64_t numbers[SHLO_MAX_RANK];

	by_equal(op, rule, 1);
	for (size_t k = 0; k < 3; k++) {
		int64_t count =
			shlo_ints_of(shlo_attr_find(&op->attrs, names[k]), numbers, SHLO_MAX_RANK);

		for (int i = 0; i < count; i++)
			if (numbers[i])
				keep_whole(op, rule, i);
	}
}

static void by_other(const struct shlo_divider *d, const struct shlo_step *step,
		     struct shlo_rule *rule)
{
	const struct shlo_op *op = step->op;
	int64_t dims[SHLO_MAX_RANK];

	if (is_named(op, "broadcast_in_dim")) {
		by_map(op, rule, "broadcast_dimensions", false);
	} else if (is_named(op, "transpose")) {
		by_map(op, rule, "permutation", true);
	} else if (is_named(op, "reshape")) {
		by_groups(op, rule);
	} else if (is_named(op, "dot_general")) {
		by_dot(op, rule);
	} else if (is_named(op, "convolution")) {
		by_convolution(d, op, rule);
	} else if (is_named(op, "reduce")) {
		by_reduction(d, step, rule);
	} else if (is_named(op, "slice") || is_named(op, "dynamic_slice")) {
		by_slices(op, rule);
	} else if (is_named(op, "dynamic_update_slice")) {
		by_equal(op, rule, 2);
	} else if (is_named(op, "pad")) {
		by_padding(op, rule);
	} else if (is_named(op, "concatenate")) {
		by_element(op, rule);
		keep_whole(op, rule, shlo_attr_int(op, "dimension", 0));
	} else if (is_named(op, "sort")) {
		int64_t dim = shlo_attr_int(op, "dimension", -1);

		by_element(op, rule);
		keep_whole(op, rule, dim < 0 ? dim + in_type(op, 0)->rank : dim);
	} else if (is_named(op, "top_k")) {
		by_equal(op, rule, 1);
		memcpy(rule->out[1], rule->out[0], sizeof(rule->out[1]));
		keep_whole(op, rule, out_type(op)->rank - 1);
	} else if (is_named(op, "reverse")) {
		int64_t count =
			shlo_ints_of(shlo_attr_find(&op->attrs, "dimensions"), dims, SHLO_MAX_RANK);

		by_element(op, rule);
		for (int i = 0; i < count; i++)
			keep_whole(op, rule, dims[i]);
	} else if (is_named(op, "reduce_window")) {
		by_windows(d, op, rule, op->result_count);
	} else if (is_named(op, "select_and_scatter")) {
		by_windows(d, op, rule, 2);
	} else if (is_named(op, "gather")) {
		by_gather(op, rule);
	} else if (is_named(op, "scatter")) {
		by_scatter(d, step, rule);
	} else if (is_named(op, "optimization_barrier") || shlo_is_constraint(op) ||
		   is_named(op, "propagation_barrier") || is_named(op, "reduce_precision") ||
		   is_named(op, "complex")) {
		by_element(op, rule);
	}
}

void shlo_divide_rule(const struct shlo_divider *d, struct shlo_step *step)
{
	const struct shlo_op *op = step->op;
	struct shlo_rule *rule = &step->rule;
	size_t values = op->operand_count + op->result_count;
	int(*positions)[SHLO_DIVIDED_RANK] = shlo_arena_alloc(d->arena, values, sizeof(*positions));

	memset(positions, -1, values * sizeof(*positions));
	rule->in = positions;
	rule->out = positions + op->operand_count;
	rule->size = shlo_arena_alloc(d->arena, values * SHLO_DIVIDED_RANK, sizeof(*rule->size));
	rule->is_sum =
		shlo_arena_alloc(d->arena, values * SHLO_DIVIDED_RANK, sizeof(*rule->is_sum));
	for (size_t k = 0; k < op->operand_count; k++)
		/* Around a call, a value has types with more and with fewer known dimensions. */
		if (!is_divisible(in_type(op, k)) ||
		    !shlo_type_same(in_type(op, k), d->values[step->in[k]].type))
			return;
	for (size_t k = 0; k < op->result_count; k++)
		if (!is_divisible(op->results[k]->type))
			return;
	if (!op->result_count || step->captured_count)
		return;
	if (op->kind->family == SHLO_CONSTANT) {
		const struct shlo_attr *value = shlo_attr_find(&op->attrs, "value");

		if (is_named(op, "iota") || (value && value->splat))
			by_element(op, rule);
		if (is_named(op, "iota"))
			keep_whole(op, rule, shlo_attr_int(op, "iota_dimension", 0));
	} else if (op->kind->family >= SHLO_UNARY && op->kind->family <= SHLO_CONVERT) {
		by_element(op, rule);
	} else {
		by_other(d, step, rule);
	}
}

/*
 * Whether a conversion keeps sums, but for rounding. A sum of integers that wraps around differs
 * from the sum of the same integers in more bits.
 */
static bool keeps_sums(enum shlo_element from, enum shlo_element to)
{
	return shlo_class(from) == shlo_class(to) && from != SHLO_I1 && to != SHLO_I1 &&
	       (!shlo_is_integer(from) || shlo_elements[to].bits <= shlo_elements[from].bits);
}

enum shlo_linear shlo_divide_linear(const struct shlo_divider *d, const struct shlo_step *step,
				    size_t *first, size_t *end)
{
	static const char *const of_all[] = {
		"add",	     "subtract",	 "concatenate", "negate",  "reshape",
		"transpose", "broadcast_in_dim", "slice",	"reverse", "real",
		"imag",	     "complex"
	};
	static const char *const of_first[] = { "dynamic_slice", "gather" };
	const struct shlo_op *op = step->op;

	*first = 0;
	*end = op->operand_count;
	for (size_t i = 0; i < sizeof(of_all) / sizeof(*of_all); i++)
		if (is_named(op, of_all[i]))
			return SHLO_LINEAR_ALL;
	if (is_named(op, "multiply") || is_named(op, "dot_general"))
		return SHLO_LINEAR_ONE;
	if (is_named(op, "select")) {
		*first = 1;
		return SHLO_LINEAR_ALL;
	}
	*end = is_named(op, "dynamic_update_slice") ? 2 : 1;
	if (*end == 2)
		return SHLO_LINEAR_ALL;
	for (size_t i = 0; i < sizeof(of_first) / sizeof(*of_first); i++)
		if (is_named(op, of_first[i]))
			return SHLO_LINEAR_ALL;
	/* Quotients of integers lose their remainders. */
	if ((is_named(op, "divide") && !shlo_is_integer(out_type(op)->element)) ||
	    (is_named(op, "pad") && is_number(d, step->in[1], 0)) ||
	    (is_named(op, "convert") &&
	     keeps_sums(in_type(op, 0)->element, out_type(op)->element)) ||
	    (is_named(op, "reduce") && op->result_count == 1 &&
	     shlo_only_binary(op->regions[0]) == SHLO_B_ADD && is_number(d, step->in[1], 0)))
		return SHLO_LINEAR_ALL;
	return SHLO_LINEAR_NOT;
}
