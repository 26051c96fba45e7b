// SPDX-License-Identifier: MIT
/* The walk over a file that checks each operation, and helpers that these checks share. */
#include "check.h"
#include "cut.h"
#include "divide.h"
#include "mesh.h"
#include "run.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

void shlo_wrong(struct shlo_check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (check->run)
		shlo_run_verror(check->run, format, args);
	shlo_vthrow(check->guard, WNNStatus_OperationError, format, args);
}

int64_t shlo_size_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t shlo_size_mul(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t shlo_dim_meet(int64_t a, int64_t b)
{
	if (a == SHLO_DYNAMIC)
		return b;
	return b == SHLO_DYNAMIC || a == b ? a : -1;
}

int shlo_need_ints(struct shlo_check *check, const char *name, int64_t *numbers)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, name);
	int64_t count = shlo_ints_of(attr, numbers, SHLO_MAX_RANK);

	if (!attr)
		shlo_wrong(check, "attribute %s, a list of integers, is missing", name);
	if (count < 0)
		shlo_wrong(check, "attribute %s is no list of integers", name);
	if (count > SHLO_MAX_RANK)
		shlo_wrong(check, "attribute %s has %lld numbers, expected at most %d", name,
			   (long long)count, SHLO_MAX_RANK);
	return (int)count;
}

void shlo_ints_or(struct shlo_check *check, const char *name, int64_t *numbers, int count,
		  int64_t otherwise)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, name);
	int64_t has = shlo_ints_of(attr, numbers, SHLO_MAX_RANK);

	if (attr && has < 0)
		shlo_wrong(check, "attribute %s is no list of integers", name);
	if (has > 0 && has != count)
		shlo_wrong(check, "attribute %s has %lld numbers, expected %d", name,
			   (long long)has, count);
	for (int i = 0; has <= 0 && i < count; i++)
		numbers[i] = otherwise;
}

int64_t shlo_need_int(struct shlo_check *check, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, name);

	if (!attr)
		shlo_wrong(check, "attribute %s, an integer, is missing", name);
	if (attr->kind != SHLO_ATTR_INT)
		shlo_wrong(check, "attribute %s is no integer", name);
	return attr->number;
}

const struct shlo_type *shlo_need_tensor(struct shlo_check *check, size_t operand)
{
	if (operand >= check->in_count)
		shlo_wrong(check, "it has %zu operands, expected at least %zu", check->in_count,
			   operand + 1);
	if (check->in[operand]->kind != SHLO_TENSOR)
		shlo_wrong(check, "operand %zu is no tensor", operand);
	if (check->in[operand]->rank < 0)
		shlo_wrong(check, "operand %zu is a tensor of no known rank", operand);
	return check->in[operand];
}

void shlo_need_dims(struct shlo_check *check, const char *name, const int64_t *dims, int count,
		    int rank)
{
	for (int i = 0; i < count; i++) {
		if (dims[i] < 0 || dims[i] >= rank)
			shlo_wrong(check, "%s has %lld; a tensor of rank %d has no such dimension",
				   name, (long long)dims[i], rank);
		for (int k = 0; k < i; k++)
			if (dims[k] == dims[i])
				shlo_wrong(check, "%s has %lld twice", name, (long long)dims[i]);
	}
}

void shlo_need_slice_sizes(struct shlo_check *check, const int64_t *sizes,
			   const struct shlo_type *x)
{
	for (int i = 0; i < x->rank; i++) {
		if (sizes[i] < 0)
			shlo_wrong(check, "slice size %lld of dimension %d is less than 0",
				   (long long)sizes[i], i);
		if (x->dims[i] != SHLO_DYNAMIC && sizes[i] > x->dims[i])
			shlo_wrong(check,
				   "slice size %lld of dimension %d is more than the operand has, "
				   "%lld",
				   (long long)sizes[i], i, (long long)x->dims[i]);
	}
}

void shlo_out_like(struct shlo_check *check, size_t result, const struct shlo_type *like, int rank,
		   const int64_t *dims)
{
	struct shlo_type *type =
		(struct shlo_type *)shlo_tensor_type(check->arena, like->element, rank, dims);

	type->quant = like->quant;
	check->out[result] = type;
}

const struct shlo_type *shlo_declared(struct shlo_check *check, size_t result)
{
	if (result >= check->op->result_count)
		shlo_wrong(check, "result %zu is missing", result);
	return check->op->results[result]->type;
}

void shlo_need_region(struct shlo_check *check, size_t region, size_t arguments, size_t results)
{
	const struct shlo_block *block = &check->op->regions[region]->block;
	const struct shlo_op *last;

	if (block->argument_count != arguments)
		shlo_wrong(check, "region %zu takes %zu arguments, it should take %zu", region,
			   block->argument_count, arguments);
	last = block->op_count ? block->ops[block->op_count - 1] : NULL;
	if (!last || !last->kind || last->kind->family != SHLO_RETURN)
		shlo_wrong(check, "region %zu does not end with a return", region);
	if (last->operand_count != results)
		shlo_wrong(check, "region %zu returns %zu values, it should return %zu", region,
			   last->operand_count, results);
}

int64_t shlo_window_count(int64_t dim, int64_t size, int64_t stride, int64_t low, int64_t high,
			  int64_t base_dilation, int64_t window_dilation)
{
	int64_t padded, window;

	if (dim == SHLO_DYNAMIC || size == SHLO_DYNAMIC || low == SHLO_DYNAMIC)
		return SHLO_DYNAMIC;
	padded = dim ? shlo_size_add(shlo_size_mul(dim - 1, base_dilation), 1) : 0;
	padded = shlo_size_add(padded, low + high);
	window = size ? shlo_size_add(shlo_size_mul(size - 1, window_dilation), 1) : 0;
	return padded <= 0 || window > padded ? 0 : (padded - window) / stride + 1;
}

const char *shlo_type_brief(struct shlo_arena *arena, const struct shlo_type *type)
{
	enum { MOST = 200, END = 40 };
	const char *text = shlo_type_text(arena, type);
	size_t length = strlen(text);

	if (length <= MOST)
		return text;
	return shlo_arena_printf(arena, "%.*s…%s", MOST - END, text, text + length - END);
}

/* ---- the walk */

static void check_block(struct shlo_file *file, const struct shlo_module *module,
			const struct shlo_block *block);

static void check_counts(struct shlo_check *check)
{
	const struct shlo_op *op = check->op;
	const struct shlo_kind *kind = op->kind;

	if (kind->operands >= 0 && op->operand_count != (size_t)kind->operands)
		shlo_wrong(check, "it has %zu operands, expected %d", op->operand_count,
			   kind->operands);
	if (kind->results >= 0 && op->result_count != (size_t)kind->results)
		shlo_wrong(check, "it has %zu results, expected %d", op->result_count,
			   kind->results);
	if (kind->regions >= 0 && op->region_count != (size_t)kind->regions)
		shlo_wrong(check, "it has %zu regions, expected %d", op->region_count,
			   kind->regions);
}

static void check_op(struct shlo_file *file, const struct shlo_module *module,
		     const struct shlo_op *op)
{
	struct shlo_guard guard;
	struct shlo_check check = {
		.arena = &file->arena,
		.guard = &guard,
		.op = op,
		.module = module,
		.in_count = op->operand_count,
	};
	const struct shlo_type **in;
	const char *flaw;

	if (!op->kind) {
		shlo_refuse(file, op->location, op->name, "this operation is not known");
		return;
	}
	for (size_t i = 0; i < op->operand_count + op->result_count; i++) {
		const struct shlo_value *value = i < op->operand_count ?
							 op->operands[i] :
							 op->results[i - op->operand_count];

		if (value->type->kind == SHLO_OPAQUE) {
			shlo_refuse(file, op->location, op->name, "no value can have type %s",
				    value->type->text);
			return;
		}
		flaw = shlo_type_flaw(&file->arena, value->type);
		if (flaw) {
			shlo_refuse(file, op->location, op->name, "%s is not a valid type: %s",
				    shlo_type_brief(&file->arena, value->type), flaw);
			return;
		}
	}
	in = shlo_arena_alloc(&file->arena, op->operand_count, sizeof(*in));
	check.out = shlo_arena_alloc(&file->arena, op->result_count, sizeof(*check.out));
	for (size_t i = 0; i < op->operand_count; i++)
		in[i] = op->operands[i]->type;
	check.in = in;
	if (setjmp(guard.jump)) {
		shlo_refuse(file, op->location, op->name, "%s", guard.message);
		return;
	}
	check_counts(&check);
	op->kind->check(&check);
	shlo_check_quantised(&check);
	shlo_need_accuracy(&check);
	shlo_need_precision(&check);
	for (size_t i = 0; i < op->result_count; i++)
		if (check.out[i] && !shlo_type_fits(check.out[i], op->results[i]->type))
			shlo_wrong(&check, "result %zu is %s, it should be %s", i,
				   shlo_type_brief(&file->arena, op->results[i]->type),
				   shlo_type_brief(&file->arena, check.out[i]));
}

static void check_block(struct shlo_file *file, const struct shlo_module *module,
			const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		check_op(file, module, op);
		if (op->kind && op->kind->family == SHLO_RETURN && i + 1 < block->op_count)
			shlo_refuse(file, op->location, op->name,
				    "it is not the last operation of its region");
		for (size_t k = 0; k < op->region_count; k++)
			check_block(file, module, &op->regions[k]->block);
	}
}

static void check_function(struct shlo_file *file, const struct shlo_module *module,
			   const struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;
	const struct shlo_type *type = function->type;

	check_block(file, module, block);
	if (!last || !last->kind || last->kind->family != SHLO_RETURN) {
		shlo_refuse(file, function->location, "func.func", "@%s does not end with a return",
			    function->name);
		return;
	}
	if (last->operand_count != type->result_count) {
		shlo_refuse(file, last->location, last->name,
			    "@%s returns %zu values, its type has %zu", function->name,
			    last->operand_count, type->result_count);
		return;
	}
	for (size_t i = 0; i < type->result_count; i++)
		if (!shlo_type_fits(last->operands[i]->type, type->results[i]))
			shlo_refuse(file, last->location, last->name,
				    "value %zu is %s, but the function's type has %s", i,
				    shlo_type_brief(&file->arena, last->operands[i]->type),
				    shlo_type_brief(&file->arena, type->results[i]));
}

static int call_depth(const struct shlo_module *module, struct shlo_function *function, int above);
static int block_depth(const struct shlo_module *module, const struct shlo_block *block, int above);

/*
 * Raises *depth to the depth of a call of the function @name, if this is deeper; @name may be NULL
 * or name no function with a body. Returns -1 if the function calls itself or the call is too deep,
 * else 0.
 */
static int note_call(const struct shlo_module *module, const char *name, int above, int *depth)
{
	struct shlo_function *callee = name ? shlo_function_find(module, name) : NULL;
	int inner;

	if (!callee || !callee->region)
		return 0;
	inner = call_depth(module, callee, above + 1);
	if (!inner)
		return -1;
	*depth = inner + 1 > *depth ? inner + 1 : *depth;
	return 0;
}

/*
 * Calls note_call() for the functions of run_parallel, whose attribute @programs names them in
 * rows. Returns 0, or -1 after the first call that fails. @left: number of rows and names that may
 * still be looked at; at 0 the rest is left out.
 */
static int note_programs(const struct shlo_module *module, const struct shlo_attr *programs,
			 int above, int *depth, size_t *left)
{
	if (!programs || !*left)
		return 0;
	--*left;
	if (programs->kind == SHLO_ATTR_SYMBOL)
		return note_call(module, programs->text, above, depth);
	for (size_t i = 0; programs->kind == SHLO_ATTR_ARRAY && i < programs->count && *left; i++)
		if (note_programs(module, programs->items[i], above, depth, left))
			return -1;
	return 0;
}

static int op_depth(const struct shlo_module *module, const struct shlo_op *op, int above)
{
	/* The list itself, and at most a row and a name for each process. */
	size_t left = 1 + 2 * SHLO_MAX_PROCESSES;
	int depth = 1;

	for (size_t k = 0; k < op->region_count; k++) {
		int inner = block_depth(module, &op->regions[k]->block, above);

		if (!inner)
			return 0;
		depth = inner > depth ? inner : depth;
	}
	if (note_call(module, shlo_attr_text(op, "callee", NULL), above, &depth) ||
	    note_call(module, shlo_attr_text(op, "decomposition", NULL), above, &depth) ||
	    (!strcmp(op->name, "interpreter.run_parallel") &&
	     note_programs(module, shlo_attr_find(&op->attrs, "programs"), above, &depth, &left)))
		return 0;
	return depth;
}

static int block_depth(const struct shlo_module *module, const struct shlo_block *block, int above)
{
	int depth = 1;

	for (size_t i = 0; i < block->op_count; i++) {
		int inner = op_depth(module, block->ops[i], above);

		if (!inner)
			return 0;
		depth = inner > depth ? inner : depth;
	}
	return depth;
}

/*
 * Returns how deep calls are in a function that has been called at depth @above: 1 if it calls
 * none, 0 if it calls itself, directly or through others, or if this depth is beyond
 * SHLO_MAX_DEPTH. The depth of a function is computed once, because many chains of calls may lead
 * to it.
 */
static int call_depth(const struct shlo_module *module, struct shlo_function *function, int above)
{
	if (above > SHLO_MAX_DEPTH || function->call_depth < 0)
		return 0;
	if (!function->call_depth) {
		int depth;

		/* It stays -1 when this fails: the file is refused, and nothing is walked twice. */
		function->call_depth = -1;
		depth = block_depth(module, &function->region->block, above);
		if (!depth)
			return 0;
		function->call_depth = depth;
	}
	return function->call_depth;
}

static void check_file(struct shlo_file *file)
{
	if (file->partitions > 1)
		shlo_cut_resolve(file);
	for (size_t m = 0; m < file->module_count; m++) {
		const struct shlo_module *module = file->modules[m];

		for (size_t i = 0; i < module->function_count; i++) {
			struct shlo_function *function = module->functions[i];
			int depth;

			/*
			 * A function may be only declared. A call of it is refused, and so is a run
			 * that would start with it.
			 */
			if (!function->region)
				continue;
			depth = call_depth(module, function, 0);
			if (!depth || depth > SHLO_MAX_DEPTH + 1)
				shlo_refuse(
					file, function->location, "func.func",
					"@%s calls itself, directly or through others, or is in "
					"a chain of calls that is more than %d deep",
					function->name, SHLO_MAX_DEPTH);
			else
				check_function(file, module, function);
		}
	}
}

void shlo_verify(struct shlo_file *file)
{
	shlo_resolve_meshes(file);
	check_file(file);
	if (file->partitions > 1 && !file->refusal_count && shlo_divide(file))
		check_file(file);
}
