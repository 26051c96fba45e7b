// SPDX-License-Identifier: MIT
/* Checks operations with regions, calls, tuples and tokens, and operations on several devices. */
#include "check.h"

#include <string.h>

static const struct shlo_type *token(struct shlo_check *check)
{
	struct shlo_type *type = shlo_arena_alloc(check->arena, 1, sizeof(*type));

	type->kind = SHLO_TOKEN;
	return type;
}

void shlo_check_token(struct shlo_check *check)
{
	check->out[0] = token(check);
}

void shlo_check_after_all(struct shlo_check *check)
{
	for (size_t i = 0; i < check->in_count; i++)
		if (check->in[i]->kind != SHLO_TOKEN)
			shlo_wrong(check, "operand %zu is %s, expected a token", i,
				   shlo_type_brief(check->arena, check->in[i]));
	shlo_check_token(check);
}

void shlo_check_id(struct shlo_check *check)
{
	check->out[0] = shlo_tensor_type(check->arena, SHLO_UI32, 0, NULL);
}

static void need_as_many(struct shlo_check *check)
{
	if (check->op->result_count != check->in_count)
		shlo_wrong(check, "it has %zu results, expected %zu, one for each operand",
			   check->op->result_count, check->in_count);
}

void shlo_check_reduce(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	size_t count = check->in_count / 2;
	struct shlo_list over, left = { 0 };

	shlo_need_initial(check);
	over.count = shlo_need_ints(check, "dimensions", over.at);
	shlo_need_dims(check, "dimensions", over.at, over.count, x->rank);
	for (int i = 0; i < x->rank; i++)
		if (!shlo_list_has(&over, i))
			left.at[left.count++] = x->dims[i];
	for (size_t i = 0; i < count; i++) {
		if (!shlo_dims_fit(shlo_need_tensor(check, i), x))
			shlo_wrong(check, "the inputs must have equal dimensions");
		if (shlo_need_tensor(check, count + i)->rank)
			shlo_wrong(check, "initial value %zu is no scalar", i);
	}
	shlo_need_reducer(check, 0, count);
	for (size_t i = 0; i < count; i++) {
		shlo_need_promoted(check, i, 0, i);
		shlo_need_promoted(check, count + i, 0, i);
		shlo_out_like(check, i, check->op->regions[0]->block.arguments[i]->type, left.count,
			      left.at);
	}
}

void shlo_check_sort(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dim = shlo_attr_int(check->op, "dimension", -1);

	if (dim < -x->rank || dim >= x->rank)
		shlo_wrong(check, "dimension is %lld; a tensor of rank %d has no such dimension",
			   (long long)dim, x->rank);
	need_as_many(check);
	shlo_need_region(check, 0, 2 * check->in_count, 1);
	for (size_t i = 0; i < check->in_count; i++) {
		if (!shlo_dims_fit(shlo_need_tensor(check, i), x))
			shlo_wrong(check, "the operands must have equal dimensions");
		shlo_need_element_argument(check, i, 0, 2 * i);
		shlo_need_element_argument(check, i, 0, 2 * i + 1);
		check->out[i] = check->in[i];
	}
	shlo_need_predicate(check, 0);
}

void shlo_check_map(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *gives;
	int64_t over[SHLO_MAX_RANK];

	shlo_need_region(check, 0, check->in_count, 1);
	for (size_t i = 0; i < check->in_count; i++) {
		if (!shlo_dims_fit(shlo_need_tensor(check, i), x))
			shlo_wrong(check, "the operands must have equal dimensions");
		shlo_need_element_argument(check, i, 0, i);
	}
	if (shlo_need_ints(check, "dimensions", over) != x->rank)
		shlo_wrong(check, "dimensions must have %d numbers", x->rank);
	for (int i = 0; i < x->rank; i++)
		if (over[i] != i)
			shlo_wrong(check,
				   "dimensions has %lld at position %d, but must list all "
				   "dimensions in order: 0, 1, 2 and so on",
				   (long long)over[i], i);
	gives = shlo_return_of(check->op, 0)->operands[0]->type;
	if (gives->kind != SHLO_TENSOR || gives->rank > 0)
		shlo_wrong(check, "region 0 returns %s, expected a scalar",
			   shlo_type_brief(check->arena, gives));
	shlo_out_like(check, 0, gives, x->rank, x->dims);
}

static void need_returns(struct shlo_check *check, size_t region, size_t count)
{
	const struct shlo_op *op = check->op;

	for (size_t i = 0; i < count; i++)
		if (!shlo_type_fits(shlo_return_of(op, region)->operands[i]->type,
				    op->results[i]->type))
			shlo_wrong(check, "region %zu returns %s as value %zu, the result is %s",
				   region,
				   shlo_type_brief(check->arena,
						   shlo_return_of(op, region)->operands[i]->type),
				   i, shlo_type_brief(check->arena, op->results[i]->type));
}

/* Demands that both regions of a loop take what its body returns. */
static void need_turns(struct shlo_check *check)
{
	const struct shlo_op *last = shlo_return_of(check->op, 1);

	for (size_t i = 0; i < 2 * last->operand_count; i++) {
		size_t region = i / last->operand_count, k = i % last->operand_count;
		const struct shlo_type *takes =
			check->op->regions[region]->block.arguments[k]->type;

		if (!shlo_type_fits(last->operands[k]->type, takes))
			shlo_wrong(check,
				   "region 1 returns %s as value %zu, but argument %zu of region "
				   "%zu is %s",
				   shlo_type_brief(check->arena, last->operands[k]->type), k, k,
				   region, shlo_type_brief(check->arena, takes));
	}
}

void shlo_check_while(struct shlo_check *check)
{
	const struct shlo_op *op = check->op;
	const struct shlo_type *cond;

	need_as_many(check);
	shlo_need_region(check, 0, check->in_count, 1);
	shlo_need_region(check, 1, check->in_count, check->in_count);
	cond = shlo_return_of(op, 0)->operands[0]->type;
	if (cond->kind != SHLO_TENSOR || cond->element != SHLO_I1 || cond->rank > 0)
		shlo_wrong(check, "the condition is %s, it should be tensor<i1>",
			   shlo_type_brief(check->arena, cond));
	for (size_t i = 0; i < check->in_count; i++) {
		if (!shlo_type_fits(check->in[i], op->results[i]->type))
			shlo_wrong(check, "operand %zu is %s, result %zu is %s: both must be equal",
				   i, shlo_type_brief(check->arena, check->in[i]), i,
				   shlo_type_brief(check->arena, op->results[i]->type));
		shlo_need_argument(check, i, 0, i);
		shlo_need_argument(check, i, 1, i);
	}
	need_returns(check, 1, check->in_count);
	need_turns(check);
}

static void need_branches(struct shlo_check *check)
{
	const struct shlo_op *op = check->op;

	for (size_t i = 0; i < op->region_count; i++) {
		shlo_need_region(check, i, 0, op->result_count);
		need_returns(check, i, op->result_count);
	}
}

void shlo_check_if(struct shlo_check *check)
{
	if (shlo_need_tensor(check, 0)->element != SHLO_I1 || check->in[0]->rank > 0)
		shlo_wrong(check, "the predicate is %s, it should be tensor<i1>",
			   shlo_type_brief(check->arena, check->in[0]));
	need_branches(check);
}

void shlo_check_case(struct shlo_check *check)
{
	if (shlo_need_tensor(check, 0)->element != SHLO_I32 || check->in[0]->rank > 0)
		shlo_wrong(check, "the index is %s, it should be tensor<i32>",
			   shlo_type_brief(check->arena, check->in[0]));
	if (!check->op->region_count)
		shlo_wrong(check, "it has no region: a region for each branch is needed");
	need_branches(check);
}

static void need_callee(struct shlo_check *check, const char *attr)
{
	const char *name = shlo_attr_text(check->op, attr, "");
	const struct shlo_function *callee = shlo_function_find(check->module, name);
	const struct shlo_type *type;

	if (!*name)
		shlo_wrong(check, "attribute %s, the name of a function, is missing", attr);
	if (!callee)
		shlo_wrong(check, "there is no function @%s", name);
	if (!callee->region)
		shlo_wrong(check, "@%s has no body", name);
	type = callee->type;
	if (type->item_count != check->in_count || type->result_count != check->op->result_count)
		shlo_wrong(check,
			   "@%s takes %zu values and returns %zu, but the call has %zu operands "
			   "and %zu results",
			   name, type->item_count, type->result_count, check->in_count,
			   check->op->result_count);
	for (size_t i = 0; i < check->in_count; i++)
		if (!shlo_type_fits(check->in[i], type->items[i]))
			shlo_wrong(check, "operand %zu is %s, @%s takes %s", i,
				   shlo_type_brief(check->arena, check->in[i]), name,
				   shlo_type_brief(check->arena, type->items[i]));
	for (size_t i = 0; i < check->op->result_count; i++)
		if (!shlo_type_fits(type->results[i], check->op->results[i]->type))
			shlo_wrong(check, "result %zu is %s, @%s returns %s", i,
				   shlo_type_brief(check->arena, check->op->results[i]->type), name,
				   shlo_type_brief(check->arena, type->results[i]));
}

void shlo_check_call(struct shlo_check *check)
{
	need_callee(check, "callee");
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* Whether a text has the form DIALECT.NAME of an operation. */
static bool is_op_name(const char *text)
{
	if (!is_letter(*text))
		return false;
	while (in_name(*text))
		text++;
	if (*text != '.')
		return false;
	while (*text == '.') {
		if (!in_name(*++text) && *text != '$')
			return false;
		while (in_name(*text) || *text == '$')
			text++;
	}
	return !*text;
}

void shlo_check_composite(struct shlo_check *check)
{
	const char *name = shlo_attr_text(check->op, "name", "");

	if (!is_op_name(name))
		shlo_wrong(check, "its name is '%s', expected one like dialect.operation", name);
	need_callee(check, "decomposition");
}

void shlo_check_optimization_barrier(struct shlo_check *check)
{
	need_as_many(check);
	for (size_t i = 0; i < check->in_count; i++)
		check->out[i] = check->in[i];
}

void shlo_check_tuple(struct shlo_check *check)
{
	struct shlo_type *type = shlo_arena_alloc(check->arena, 1, sizeof(*type));
	const struct shlo_type **items =
		shlo_arena_alloc(check->arena, check->in_count, sizeof(*items));

	for (size_t i = 0; i < check->in_count; i++)
		items[i] = check->in[i];
	type->kind = SHLO_TUPLE;
	type->item_count = check->in_count;
	type->items = items;
	check->out[0] = type;
}

void shlo_check_get_tuple_element(struct shlo_check *check)
{
	int64_t index = shlo_need_int(check, "index");

	if (check->in[0]->kind != SHLO_TUPLE)
		shlo_wrong(check, "the operand is no tuple");
	if (index < 0 || (size_t)index >= check->in[0]->item_count)
		shlo_wrong(check, "index is %lld, the tuple has %zu elements, counted from 0",
			   (long long)index, check->in[0]->item_count);
	check->out[0] = check->in[0]->items[index];
}

void shlo_check_top_k(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t k = shlo_need_int(check, "k"), dims[SHLO_MAX_RANK];

	if (x->rank < 1 || shlo_is_complex(x->element))
		shlo_wrong(check,
			   "the operand is %s, expected a tensor of rank 1 or more that is not "
			   "complex",
			   shlo_type_brief(check->arena, x));
	memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
	if (k < 0)
		shlo_wrong(check, "k is %lld, which is less than 0", (long long)k);
	if (dims[x->rank - 1] != SHLO_DYNAMIC && k > dims[x->rank - 1])
		shlo_wrong(check,
			   "k is %lld, which is more than the size of the last dimension, %lld",
			   (long long)k, (long long)dims[x->rank - 1]);
	dims[x->rank - 1] = k;
	shlo_out_like(check, 0, x, x->rank, dims);
	check->out[1] = shlo_tensor_type(check->arena, SHLO_I32, x->rank, dims);
}

/* Returns the type without a dimension; NULL: it is no tensor with that dimension. */
static const struct shlo_type *without(struct shlo_check *check, const struct shlo_type *type,
				       int64_t dim)
{
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_type *slice;

	if (type->kind != SHLO_TENSOR || dim >= type->rank)
		return NULL;
	memcpy(dims, type->dims, (size_t)dim * sizeof(*dims));
	memcpy(dims + dim, type->dims + dim + 1, (size_t)(type->rank - 1 - dim) * sizeof(*dims));
	slice = (struct shlo_type *)shlo_tensor_type(check->arena, type->element, type->rank - 1,
						     dims);
	slice->quant = type->quant;
	return slice;
}

/* Demands that the region of a scan takes the slices of the inputs; returns their number. */
static int64_t need_scanned(struct shlo_check *check, int64_t dim, size_t inputs)
{
	int64_t length = shlo_attr_int(check->op, "scan_dim_size", SHLO_DYNAMIC);

	if (length < 0 && length != SHLO_DYNAMIC)
		shlo_wrong(check, "scan_dim_size is %lld, which is less than 0", (long long)length);
	for (size_t i = 0; i < inputs; i++) {
		const struct shlo_type *x = shlo_need_tensor(check, i), *slice;
		const struct shlo_type *takes = check->op->regions[0]->block.arguments[i]->type;

		shlo_need_dims(check, "dimension", &dim, 1, x->rank);
		if (shlo_dim_meet(length, x->dims[dim]) == -1)
			shlo_wrong(check,
				   "dimension %lld of operand %zu is %lld, expected %lld as in "
				   "other operands or scan_dim_size",
				   (long long)dim, i, (long long)x->dims[dim], (long long)length);
		length = shlo_dim_meet(length, x->dims[dim]);
		slice = without(check, x, dim);
		if (!shlo_type_fits(slice, takes))
			shlo_wrong(check,
				   "argument %zu of region 0 is %s, slices of operand %zu are %s",
				   i, shlo_type_brief(check->arena, takes), i,
				   shlo_type_brief(check->arena, slice));
	}
	return length;
}

/* Sets the type of an output of a scan: the slices that the region returns, along @dim. */
static void set_scanned(struct shlo_check *check, int64_t dim, size_t i, int64_t length)
{
	const struct shlo_type *gives = shlo_return_of(check->op, 0)->operands[i]->type;
	const struct shlo_type *out = shlo_declared(check, i);
	const struct shlo_type *slice = without(check, out, dim);
	int64_t dims[SHLO_MAX_RANK];

	if (!slice || !shlo_type_fits(gives, slice) || gives->rank < 0)
		shlo_wrong(check,
			   "result %zu is %s, but the region returns %s for each position of "
			   "dimension %lld",
			   i, shlo_type_brief(check->arena, out),
			   shlo_type_brief(check->arena, gives), (long long)dim);
	memcpy(dims, gives->dims, (size_t)dim * sizeof(*dims));
	dims[dim] = length;
	memcpy(dims + dim + 1, gives->dims + dim, (size_t)(gives->rank - dim) * sizeof(*dims));
	shlo_out_like(check, i, out, out->rank, dims);
}

void shlo_check_scan(struct shlo_check *check)
{
	int64_t inputs = shlo_scan_inputs(check->op), dim = shlo_need_int(check, "dimension");
	size_t carries, outputs;
	int64_t length;

	if (inputs < 1 || (size_t)inputs > check->in_count)
		shlo_wrong(check,
			   "%lld of its %zu operands are inputs, by input_count or "
			   "operandSegmentSizes: expected at least one, and at most all",
			   (long long)inputs, check->in_count);
	carries = check->in_count - (size_t)inputs;
	if (check->op->result_count < carries)
		shlo_wrong(check, "it has %zu results, fewer than its %zu initial values",
			   check->op->result_count, carries);
	outputs = check->op->result_count - carries;
	shlo_need_region(check, 0, check->in_count, check->op->result_count);
	length = need_scanned(check, dim, (size_t)inputs);
	for (size_t i = 0; i < outputs; i++)
		set_scanned(check, dim, i, length);
	for (size_t i = 0; i < carries; i++) {
		size_t operand = (size_t)inputs + i;
		const struct shlo_type *takes =
			check->op->regions[0]->block.arguments[operand]->type;
		const struct shlo_type *gives =
			shlo_return_of(check->op, 0)->operands[outputs + i]->type;

		shlo_need_argument(check, operand, 0, operand);
		if (!shlo_type_fits(gives, takes))
			shlo_wrong(
				check,
				"argument %zu of region 0 is %s, but the region returns %s for it",
				operand, shlo_type_brief(check->arena, takes),
				shlo_type_brief(check->arena, gives));
	}
}

/* ---- several devices */

/*
 * Demands that result @i has the dimensions of operand @i, but for the size of dimension @dim, which
 * attribute @name says.
 */
static void scaled(struct shlo_check *check, size_t i, const char *name, int64_t dim)
{
	const struct shlo_type *x = shlo_need_tensor(check, i), *out = shlo_declared(check, i);

	bool fits = out->kind == SHLO_TENSOR && out->rank == x->rank;

	shlo_need_dims(check, name, &dim, 1, x->rank);
	for (int k = 0; fits && k < x->rank; k++)
		fits = k == dim || shlo_dim_meet(x->dims[k], out->dims[k]) != -1;
	if (!fits)
		shlo_wrong(check,
			   "operand %zu is %s, result %zu is %s: they may differ only in the size "
			   "of dimension %lld, %s",
			   i, shlo_type_brief(check->arena, x), i,
			   shlo_type_brief(check->arena, out), (long long)dim, name);
}

/*
 * Demands that @whole, which is an operand or a result as @what says, can be cut along a dimension
 * into slices of the size of @part.
 */
static void need_slices(struct shlo_check *check, const char *what, size_t i,
			const struct shlo_type *whole, const struct shlo_type *part, int64_t dim)
{
	int64_t all = whole->dims[dim], one = part->dims[dim];

	if (all == SHLO_DYNAMIC || one == SHLO_DYNAMIC)
		return;
	if (!one || !all || all % one)
		shlo_wrong(check,
			   "dimension %lld of %s %zu has size %lld, which cannot be cut into "
			   "slices of %lld",
			   (long long)dim, what, i, (long long)all, (long long)one);
}

void shlo_check_all_gather(struct shlo_check *check)
{
	int64_t dim = shlo_need_int(check, "all_gather_dim");

	need_as_many(check);
	shlo_need_groups(check, SHLO_GROUPED_ALL | SHLO_GROUPED_EVEN, 0);
	for (size_t i = 0; i < check->in_count; i++) {
		scaled(check, i, "all_gather_dim", dim);
		need_slices(check, "result", i, shlo_declared(check, i), check->in[i], dim);
		shlo_out_like(check, i, check->in[i], check->in[i]->rank,
			      shlo_declared(check, i)->dims);
	}
}

/*
 * Checks the first @count operands of a reduction over devices, and sets the types of the results:
 * their element type is that of the region's arguments.
 */
static void sums(struct shlo_check *check, size_t count)
{
	shlo_need_reducer(check, 0, 1);
	for (size_t i = 0; i < count; i++) {
		shlo_need_tensor(check, i);
		shlo_need_promoted(check, i, 0, 0);
		shlo_out_like(check, i, check->op->regions[0]->block.arguments[0]->type,
			      check->in[i]->rank, check->in[i]->dims);
	}
}

void shlo_check_all_reduce(struct shlo_check *check)
{
	need_as_many(check);
	shlo_need_groups(check, SHLO_GROUPED_ALL, 0);
	sums(check, check->in_count);
}

void shlo_check_cross_replica_sum(struct shlo_check *check)
{
	shlo_need_groups(check, SHLO_GROUPED_ALL, 0);
	check->out[0] = shlo_need_tensor(check, 0);
}

/*
 * Checks the last operand, if it names a root for each other operand; returns the number of the
 * other operands.
 */
static size_t need_roots(struct shlo_check *check)
{
	bool dynamic = shlo_attr_int(check->op, "has_dynamic_root", 0);
	size_t count = check->in_count - (dynamic && check->in_count);
	const struct shlo_type *roots;

	if (!count)
		shlo_wrong(check, "it has no operand%s", dynamic ? " but that of the roots" : "");
	if (check->op->result_count != count)
		shlo_wrong(check, "it has %zu results, expected %zu, one for each operand%s",
			   check->op->result_count, count, dynamic ? " but the roots" : "");
	if (!dynamic)
		return count;
	roots = shlo_need_tensor(check, count);
	if (roots->element != SHLO_I32 || roots->rank != 1 ||
	    shlo_dim_meet(roots->dims[0], (int64_t)count) == -1)
		shlo_wrong(check, "the roots, its last operand, are %s, expected tensor<%zuxi32>",
			   shlo_type_brief(check->arena, roots), count);
	return count;
}

void shlo_check_collective_broadcast(struct shlo_check *check)
{
	size_t count = need_roots(check);

	shlo_need_groups(check, SHLO_GROUPED_ANY, 0);
	for (size_t i = 0; i < count; i++)
		check->out[i] = shlo_need_tensor(check, i);
}

void shlo_check_collective_reduce(struct shlo_check *check)
{
	size_t count = need_roots(check);

	shlo_need_groups(check, SHLO_GROUPED_ANY, 0);
	sums(check, count);
}

void shlo_check_reduce_scatter(struct shlo_check *check)
{
	int64_t dim = shlo_need_int(check, "scatter_dimension");

	shlo_need_reducer(check, 0, 1);
	shlo_need_groups(check, SHLO_GROUPED_ALL | SHLO_GROUPED_EVEN, 0);
	scaled(check, 0, "scatter_dimension", dim);
	shlo_need_promoted(check, 0, 0, 0);
	need_slices(check, "operand", 0, check->in[0], shlo_declared(check, 0), dim);
	shlo_out_like(check, 0, check->op->regions[0]->block.arguments[0]->type, check->in[0]->rank,
		      shlo_declared(check, 0)->dims);
}

void shlo_check_all_to_all(struct shlo_check *check)
{
	int64_t split = shlo_need_int(check, "split_dimension"), dims[SHLO_MAX_RANK];
	int64_t concat = shlo_need_int(check, "concat_dimension");
	int64_t count = shlo_need_int(check, "split_count");

	need_as_many(check);
	if (count < 1)
		shlo_wrong(check, "split_count is %lld, expected one from 1 on", (long long)count);
	shlo_need_groups(check, SHLO_GROUPED_ALL | SHLO_GROUPED_EVEN, count);
	for (size_t i = 0; i < check->in_count; i++) {
		const struct shlo_type *x = shlo_need_tensor(check, i);

		shlo_need_dims(check, "split_dimension", &split, 1, x->rank);
		shlo_need_dims(check, "concat_dimension", &concat, 1, x->rank);
		memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
		if (dims[split] != SHLO_DYNAMIC) {
			if (dims[split] % count)
				shlo_wrong(check,
					   "dimension %lld of operand %zu has size %lld, which "
					   "cannot be split into %lld equal slices",
					   (long long)split, i, (long long)dims[split],
					   (long long)count);
			dims[split] /= count;
		}
		if (dims[concat] != SHLO_DYNAMIC)
			dims[concat] = shlo_size_mul(dims[concat], count);
		shlo_out_like(check, i, x, x->rank, dims);
	}
}
