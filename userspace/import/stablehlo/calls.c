// SPDX-License-Identifier: MIT
/*
 * Replaces custom calls that exporters write for operations of StableHLO or CHLO by these
 * operations, right after a file is read.
 */
#include "calls.h"

#include <string.h>

#include "kinds.h"

struct expander {
	struct shlo_file *file;
	/* the function that gets the new operations and their values */
	struct shlo_function *function;
};

static const struct shlo_attr *attr_int(struct expander *e, int64_t number)
{
	struct shlo_attr *attr = shlo_arena_alloc(&e->file->arena, 1, sizeof(*attr));

	attr->kind = SHLO_ATTR_INT;
	attr->number = number;
	return attr;
}

static const struct shlo_attr *attr_ints(struct expander *e, const int64_t *numbers, int count)
{
	struct shlo_attr *attr = shlo_arena_alloc(&e->file->arena, 1, sizeof(*attr));
	const struct shlo_attr **items =
		shlo_arena_alloc(&e->file->arena, (size_t)count + 1, sizeof(*items));

	for (int i = 0; i < count; i++)
		items[i] = attr_int(e, numbers[i]);
	attr->kind = SHLO_ATTR_ARRAY;
	attr->count = (size_t)count;
	attr->items = items;
	return attr;
}

static void set_attrs(struct expander *e, struct shlo_op *op, size_t count,
		      const char *const *names, const struct shlo_attr *const *values)
{
	const char **own = shlo_arena_alloc(&e->file->arena, count + 1, sizeof(*own));
	const struct shlo_attr **items =
		shlo_arena_alloc(&e->file->arena, count + 1, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		own[i] = names[i];
		items[i] = values[i];
	}
	op->attrs = (struct shlo_attr){
		.kind = SHLO_ATTR_DICT, .count = count, .items = items, .names = own
	};
}

static void become(struct shlo_op *op, const char *name)
{
	op->name = name;
	op->kind = shlo_kind_find(name);
}

static struct shlo_value *new_value(struct expander *e, const struct shlo_type *type,
				    struct shlo_op *op)
{
	struct shlo_value *value = shlo_arena_alloc(&e->file->arena, 1, sizeof(*value));

	value->name = "";
	value->type = type;
	value->op = op;
	value->slot = e->function->slot_count++;
	return value;
}

static struct shlo_op *new_op(struct expander *e, const struct shlo_op *like, const char *name,
			      size_t operands, size_t results)
{
	struct shlo_op *op = shlo_arena_alloc(&e->file->arena, 1, sizeof(*op));

	op->location = like->location;
	op->operand_count = operands;
	op->operands = shlo_arena_alloc(&e->file->arena, operands + 1, sizeof(*op->operands));
	op->result_count = results;
	op->results = shlo_arena_alloc(&e->file->arena, results + 1, sizeof(*op->results));
	op->attrs.kind = SHLO_ATTR_DICT;
	become(op, name);
	return op;
}

/* Returns a region that calls a function with the region's arguments and returns the results. */
static struct shlo_region *calling(struct expander *e, const struct shlo_op *like,
				   const struct shlo_attr *callee, size_t arguments,
				   const struct shlo_type *const *types, size_t results,
				   const struct shlo_type *const *gives)
{
	static const char *const name = "callee";
	struct shlo_region *region = shlo_arena_alloc(&e->file->arena, 1, sizeof(*region));
	struct shlo_op *call = new_op(e, like, "func.call", arguments, results);
	struct shlo_op *end = new_op(e, like, "stablehlo.return", results, 0);
	struct shlo_block *block = &region->block;

	block->argument_count = arguments;
	block->arguments = shlo_arena_alloc(&e->file->arena, arguments, sizeof(*block->arguments));
	for (size_t i = 0; i < arguments; i++) {
		block->arguments[i] = new_value(e, types[i], NULL);
		call->operands[i] = block->arguments[i];
	}
	for (size_t i = 0; i < results; i++) {
		call->results[i] = new_value(e, gives[i], call);
		end->operands[i] = call->results[i];
	}
	set_attrs(e, call, 1, &name, &callee);
	block->op_count = 2;
	block->ops = shlo_arena_alloc(&e->file->arena, 2, sizeof(*block->ops));
	block->ops[0] = call;
	block->ops[1] = end;
	return region;
}

static void set_region(struct expander *e, struct shlo_op *op, struct shlo_region *region)
{
	op->region_count = 1;
	op->regions = shlo_arena_alloc(&e->file->arena, 1, sizeof(*op->regions));
	op->regions[0] = region;
}

static const struct shlo_attr *called(const struct shlo_op *op)
{
	const struct shlo_attr *list = shlo_attr_find(&op->attrs, "called_computations");

	return list && list->kind == SHLO_ATTR_ARRAY && list->count == 1 &&
			       list->items[0]->kind == SHLO_ATTR_SYMBOL ?
		       list->items[0] :
		       NULL;
}

static bool is_tensor(const struct shlo_type *type, int least)
{
	return type->kind == SHLO_TENSOR && type->rank >= least && !type->quant;
}

/* ---- functions of one operand */

static bool expand_function(struct expander *e, struct shlo_op *op, const char *name)
{
	static const char *const functions[] = { "acos",      "acosh",	 "asin",   "asinh",
						 "atan",      "atanh",	 "cosh",   "digamma",
						 "erf",	      "erf_inv", "erfc",   "is_inf",
						 "lgamma",    "sinh",	 "square", "tan",
						 "bessel_i1e" };

	if (strncmp(name, "mhlo.", 5) && strncmp(name, "chlo.", 5))
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(name + 5, functions[i]) && op->operand_count == 1 &&
		    op->result_count == 1) {
			become(op, shlo_arena_printf(&e->file->arena, "chlo.%s", functions[i]));
			set_attrs(e, op, 0, NULL, NULL);
			return true;
		}
	return false;
}

/* ---- the largest elements */

/*
 * Returns an attribute from the dictionary in which exporters put attributes of the operation that
 * a call stands for.
 */
static const struct shlo_attr *inner(const struct shlo_op *op, const char *dictionary,
				     const char *name)
{
	const struct shlo_attr *dict = shlo_attr_find(&op->attrs, dictionary);

	return dict && dict->kind == SHLO_ATTR_DICT ? shlo_attr_find(dict, name) : NULL;
}

static bool expand_top_k(struct expander *e, struct shlo_op *op, bool dynamic)
{
	static const char *const names[] = { "k", "largest" };
	const struct shlo_attr *k = inner(op, "mhlo.attributes", "k");
	const struct shlo_attr *largest = inner(op, "mhlo.attributes", "largest");
	const struct shlo_attr *values[2];
	const struct shlo_type *type;

	if (op->operand_count != (dynamic ? 2 : 1) || op->result_count != 2)
		return false;
	type = op->results[0]->type;
	/* k is the length of the last dimension of the result, when the file says it. */
	if (dynamic && is_tensor(type, 1) && type->dims[type->rank - 1] != SHLO_DYNAMIC)
		k = attr_int(e, type->dims[type->rank - 1]);
	if (!k || k->kind != SHLO_ATTR_INT)
		return false;
	values[0] = k;
	values[1] = attr_int(e, !largest || largest->number);
	op->operand_count = 1;
	become(op, "chlo.top_k");
	set_attrs(e, op, values[1]->number ? 1 : 2, names, values);
	return true;
}

/*
 * Appends operations to @block that do what the call ApproxTopK @op does, but exactly, where the
 * call may miss some of the largest elements: they sort the inputs, the first half of the operands,
 * together with the call's comparator and take the first elements. The other half, the initial
 * values, is not needed. Returns the sort; NULL: the call has another form, nothing is appended.
 */
static struct shlo_op *expand_approximate(struct expander *e, struct shlo_op *op,
					  struct shlo_block *block)
{
	static const char *const sorting[] = { "dimension", "is_stable" };
	static const char *const slicing[] = { "start_indices", "limit_indices", "strides" };
	const struct shlo_attr *dim = inner(op, "mhlo.backend_config", "reduction_dim");
	const struct shlo_attr *compare = called(op), *values[3];
	size_t count = op->result_count;
	const struct shlo_type *scalars[8], *flag;
	int64_t numbers[3][SHLO_MAX_RANK], axis;
	struct shlo_op *sort;
	int rank;

	if (!dim || dim->kind != SHLO_ATTR_INT || !compare || !count || count > 4 ||
	    op->operand_count != 2 * count || !is_tensor(op->operands[0]->type, 1))
		return NULL;
	rank = op->operands[0]->type->rank;
	axis = dim->number < 0 ? dim->number + rank : dim->number;
	for (size_t i = 0; i < count; i++) {
		const struct shlo_type *x = op->operands[i]->type, *y = op->results[i]->type;

		if (!is_tensor(x, 1) || !is_tensor(y, 1) || x->rank != rank || y->rank != rank ||
		    axis < 0 || axis >= rank || !shlo_type_is_static(y))
			return NULL;
		scalars[2 * i] = scalars[2 * i + 1] =
			shlo_tensor_type(&e->file->arena, x->element, 0, NULL);
	}
	flag = shlo_tensor_type(&e->file->arena, SHLO_I1, 0, NULL);
	sort = new_op(e, op, "stablehlo.sort", count, count);
	values[0] = attr_int(e, axis);
	values[1] = attr_int(e, 1);
	((struct shlo_attr *)(uintptr_t)values[1])->kind = SHLO_ATTR_BOOL;
	set_attrs(e, sort, 2, sorting, values);
	for (size_t i = 0; i < count; i++) {
		sort->operands[i] = op->operands[i];
		sort->results[i] = new_value(e, op->operands[i]->type, sort);
	}
	set_region(e, sort, calling(e, op, compare, 2 * count, scalars, 1, &flag));
	block->ops = shlo_arena_grow(&e->file->arena, block->ops, block->op_count, sizeof(sort));
	block->ops[block->op_count++] = sort;
	for (size_t i = 0; i < count; i++) {
		struct shlo_op *slice = new_op(e, op, "stablehlo.slice", 1, 1);

		for (int d = 0; d < rank; d++) {
			numbers[0][d] = 0;
			numbers[1][d] = op->results[i]->type->dims[d];
			numbers[2][d] = 1;
		}
		for (int k = 0; k < 3; k++)
			values[k] = attr_ints(e, numbers[k], rank);
		set_attrs(e, slice, 3, slicing, values);
		slice->operands[0] = sort->results[i];
		slice->results[0] = op->results[i];
		slice->results[0]->op = slice;
		block->ops = shlo_arena_grow(&e->file->arena, block->ops, block->op_count,
					     sizeof(slice));
		block->ops[block->op_count++] = slice;
	}
	return sort;
}

/* ---- windows */

/*
 * Expands a reduction over windows whose sizes are operands, which must be constants. Returns false
 * when they are not, or the call has another form.
 */
static bool expand_window(struct expander *e, struct shlo_op *op)
{
	static const char *const names[] = { "window_dimensions", "window_strides",
					     "base_dilations", "window_dilations", "padding" };
	size_t count = op->operand_count > 5 ? (op->operand_count - 5) / 2 : 0;
	const struct shlo_attr *values[5], *body = called(op);
	const struct shlo_type *scalars[16];

	if (!count || count > 8 || op->operand_count != 2 * count + 5 ||
	    op->result_count != count || !body)
		return false;
	for (size_t i = 0; i < 5; i++) {
		const struct shlo_op *from = op->operands[2 * count + i]->op;

		if (!from || !from->kind || from->kind->family != SHLO_CONSTANT)
			return false;
		values[i] = shlo_attr_find(&from->attrs, "value");
		if (!values[i] || values[i]->kind != SHLO_ATTR_DENSE)
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!is_tensor(op->operands[i]->type, 0))
			return false;
		scalars[i] = scalars[count + i] =
			shlo_tensor_type(&e->file->arena, op->operands[i]->type->element, 0, NULL);
	}
	op->operand_count = 2 * count;
	set_region(e, op, calling(e, op, body, 2 * count, scalars, count, scalars));
	become(op, "stablehlo.reduce_window");
	set_attrs(e, op, 5, names, values);
	return true;
}

/* ---- the walk */

static void expand_block(struct expander *e, struct shlo_block *block)
{
	struct shlo_block made = { .op_count = 0 };

	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];
		const char *name;

		for (size_t k = 0; k < op->region_count; k++)
			expand_block(e, &op->regions[k]->block);
		if (op->kind && !strcmp(op->name, "stablehlo.custom_call")) {
			name = shlo_attr_text(op, "call_target_name", "");
			if (!strcmp(name, "mhlo.topk") || !strcmp(name, "stablehlo.dynamic_top_k"))
				expand_top_k(e, op, *name == 's');
			else if (!strcmp(name, "stablehlo.dynamic_reduce_window"))
				expand_window(e, op);
			else if (!strcmp(name, "ApproxTopK") && expand_approximate(e, op, &made))
				continue;
			else
				expand_function(e, op, name);
		}
		made.ops = shlo_arena_grow(&e->file->arena, made.ops, made.op_count, sizeof(op));
		made.ops[made.op_count++] = op;
	}
	block->ops = made.ops;
	block->op_count = made.op_count;
}

void shlo_expand_calls(struct shlo_file *file)
{
	for (size_t i = 0; i < file->module_count; i++)
		for (size_t k = 0; k < file->modules[i]->function_count; k++) {
			struct expander e = { file, file->modules[i]->functions[k] };

			if (e.function->region)
				expand_block(&e, &e.function->region->block);
		}
}
