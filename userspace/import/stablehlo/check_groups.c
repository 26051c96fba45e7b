// SPDX-License-Identifier: MIT
/* Checks that operations on several devices share: groups, pairs, channels, programs. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* The most ids of an attribute such as replica_groups. */
#define MAX_IDS (1 << 20)

/*
 * Returns the handle or type of the operation's channel: of channel_handle, or a handle that is the
 * attribute channel_id; @otherwise: there is neither.
 */
static int64_t channel_number(struct shlo_check *check, const char *name, int64_t otherwise)
{
	const struct shlo_attr *number =
		shlo_attr_find(shlo_attr_find(&check->op->attrs, "channel_handle"), name);

	if (number && number->kind == SHLO_ATTR_INT)
		return number->number;
	return strcmp(name, "handle") ? otherwise :
					shlo_attr_int(check->op, "channel_id", otherwise);
}

/*
 * Returns the ids of a table attribute, row by row, and sets its number of rows and columns. NULL,
 * with no rows and columns: there is no such attribute, or it names axes of a mesh that is not in
 * the file.
 */
static int64_t *table_of(struct shlo_check *check, const char *name, int64_t *rows,
			 int64_t *columns)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, name);
	int64_t *ids, count;

	if (attr && attr->kind == SHLO_ATTR_DICT)
		attr = check->op->groups;
	if (attr && attr->kind != SHLO_ATTR_DENSE)
		shlo_wrong(check,
			   "%s is no table of integers, such as dense<[[0, 1]]> : "
			   "tensor<1x2xi64>",
			   name);
	if (!attr) {
		*rows = *columns = 0;
		return NULL;
	}
	if (attr->type->rank != 2 || !shlo_is_integer(attr->type->element))
		shlo_wrong(check, "%s is %s, expected a table of integers, of rank 2", name,
			   shlo_type_brief(check->arena, attr->type));
	*rows = attr->type->dims[0];
	*columns = attr->type->dims[1];
	if (*rows > MAX_IDS || *columns > MAX_IDS || *rows * *columns > MAX_IDS)
		shlo_wrong(check, "%s has more than %d rows, columns or ids", name, MAX_IDS);
	count = *rows * *columns;
	ids = shlo_arena_alloc(check->arena, (size_t)count + 1, sizeof(*ids));
	shlo_ints_of(attr, ids, (size_t)count);
	return ids;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Sorts the ids; demands that none is less than @least, and that none occurs twice but negative
 * ones.
 */
static void need_once(struct shlo_check *check, const char *name, const char *what, int64_t *ids,
		      int64_t count, int64_t least)
{
	qsort(ids, (size_t)count, sizeof(*ids), by_number);
	if (count && ids[0] < least)
		shlo_wrong(check, "%s has the id %lld, which is less than 0", name,
			   (long long)ids[0]);
	for (int64_t i = 1; i < count; i++)
		if (ids[i] >= 0 && ids[i] == ids[i - 1])
			shlo_wrong(check, "%s has the %s %lld twice", name, what,
				   (long long)ids[i]);
}

/* Checks the ids of groups; -1 pads smaller groups, unless all must have equal sizes. */
static void need_ids(struct shlo_check *check, int64_t *ids, int64_t count, int grouped)
{
	int64_t fill = 0;

	need_once(check, "replica_groups", "id", ids, count, grouped & SHLO_GROUPED_EVEN ? 0 : -1);
	while (fill < count && ids[fill] < 0)
		fill++;
	for (int64_t i = fill; (grouped & SHLO_GROUPED_ALL) && i < count; i++)
		if (ids[i] != i - fill)
			shlo_wrong(check, "replica_groups has %lld ids, and %lld is not among them",
				   (long long)(count - fill), (long long)(i - fill));
}

void shlo_need_groups(struct shlo_check *check, int grouped, int64_t size)
{
	bool flat = shlo_attr_int(check->op, "use_global_device_ids", 0);
	int64_t rows, columns;
	int64_t *ids = table_of(check, "replica_groups", &rows, &columns);

	if (flat && channel_number(check, "handle", 0) <= 0)
		shlo_wrong(check,
			   "use_global_device_ids needs a channel_handle whose handle is 1 or "
			   "more, not %lld",
			   (long long)channel_number(check, "handle", 0));
	if (!ids)
		return;
	if (flat && (!rows || !columns))
		shlo_wrong(check, "replica_groups are empty, with use_global_device_ids");
	need_ids(check, ids, rows * columns, grouped | (flat ? SHLO_GROUPED_EVEN : 0));
	if (size && columns != size)
		shlo_wrong(check,
			   "the groups of replica_groups have %lld members, expected %lld, as "
			   "split_count is",
			   (long long)columns, (long long)size);
}

/*
 * Demands that pairs of source and target have each source and each target once. Returns whether
 * there are such pairs.
 */
static bool need_pairs(struct shlo_check *check)
{
	int64_t rows, columns, *half;
	int64_t *ids = table_of(check, "source_target_pairs", &rows, &columns);

	if (!ids)
		return false;
	if (columns != 2)
		shlo_wrong(check, "source_target_pairs has rows of %lld numbers, expected 2",
			   (long long)columns);
	half = shlo_arena_alloc(check->arena, (size_t)rows + 1, sizeof(*half));
	for (int k = 0; k < 2; k++) {
		for (int64_t i = 0; i < rows; i++)
			half[i] = ids[2 * i + k];
		need_once(check, "source_target_pairs", k ? "target" : "source", half, rows, 0);
	}
	return true;
}

void shlo_check_collective_permute(struct shlo_check *check)
{
	if (!need_pairs(check))
		shlo_wrong(check, "attribute source_target_pairs, a table of integers, is missing");
	check->out[0] = shlo_need_tensor(check, 0);
}

/* ---- transfers */

/*
 * Demands that the channel's type is 1, between devices, or for a transfer to or from the host the
 * type @to_host, whose name is @name.
 */
static void need_channel(struct shlo_check *check, int64_t to_host, const char *name)
{
	bool host = shlo_attr_int(check->op, "is_host_transfer", 0);
	int64_t expected = host ? to_host : 1, type = channel_number(check, "type", expected);

	if (type != expected)
		shlo_wrong(check,
			   "the type of channel_handle is %lld, expected %lld, %s, %s "
			   "is_host_transfer",
			   (long long)type, (long long)expected, host ? name : "DEVICE_TO_DEVICE",
			   host ? "with" : "without");
	need_pairs(check);
}

/* Demands that the results are tensors, followed by a token, and that operand 0 is a token. */
static void need_received(struct shlo_check *check)
{
	const struct shlo_op *op = check->op;

	if (!op->result_count)
		shlo_wrong(check, "it has no result, expected a token at least");
	for (size_t i = 0; i < op->result_count; i++) {
		bool last = i + 1 == op->result_count;

		if (op->results[i]->type->kind != (last ? SHLO_TOKEN : SHLO_TENSOR))
			shlo_wrong(check, "result %zu is %s, expected a %s", i,
				   shlo_type_brief(check->arena, op->results[i]->type),
				   last ? "token" : "tensor");
	}
	if (check->in[0]->kind != SHLO_TOKEN)
		shlo_wrong(check, "operand 0 is %s, expected a token",
			   shlo_type_brief(check->arena, check->in[0]));
}

void shlo_check_send(struct shlo_check *check)
{
	need_channel(check, 2, "DEVICE_TO_HOST");
	if (!check->in_count)
		shlo_wrong(check, "it has no operand, expected a token at least");
	for (size_t i = 0; i < check->in_count; i++) {
		bool last = i + 1 == check->in_count;

		if (check->in[i]->kind != (last ? SHLO_TOKEN : SHLO_TENSOR))
			shlo_wrong(check, "operand %zu is %s, expected a %s", i,
				   shlo_type_brief(check->arena, check->in[i]),
				   last ? "token" : "tensor");
	}
	shlo_check_token(check);
}

void shlo_check_recv(struct shlo_check *check)
{
	need_channel(check, 3, "HOST_TO_DEVICE");
	need_received(check);
}

void shlo_check_infeed(struct shlo_check *check)
{
	const struct shlo_attr *layout = shlo_attr_find(&check->op->attrs, "layout");

	need_received(check);
	if (!layout)
		return;
	if (layout->kind != SHLO_ATTR_ARRAY || layout->count != check->op->result_count - 1)
		shlo_wrong(
			check,
			"layout has to have a list for each tensor among the results, of which there are %zu",
			check->op->result_count - 1);
	for (size_t i = 0; i < layout->count; i++) {
		const struct shlo_attr *item = layout->items[i];
		bool good = item->kind == SHLO_ATTR_ARRAY;

		for (size_t k = 0; good && k < item->count; k++)
			good = item->items[k]->kind == SHLO_ATTR_INT;
		if (!good)
			shlo_wrong(check, "item %zu of layout is no list of integers", i);
	}
}

/* ---- run_parallel */

static const struct shlo_function *need_function(struct shlo_check *check,
						 const struct shlo_attr *symbol)
{
	const struct shlo_function *function;

	if (symbol->kind != SHLO_ATTR_SYMBOL)
		shlo_wrong(check, "programs and infeed must name functions as @main does");
	function = shlo_function_find(check->module, symbol->text);
	if (!function)
		shlo_wrong(check, "there is no function @%s", symbol->text);
	if (!function->region)
		shlo_wrong(check, "@%s has no body", symbol->text);
	return function;
}

static void need_infeed(struct shlo_check *check)
{
	const struct shlo_attr *infeed = shlo_attr_find(&check->op->attrs, "infeed");

	if (!infeed)
		return;
	if (infeed->kind != SHLO_ATTR_ARRAY || !infeed->count)
		shlo_wrong(check, "infeed names no function");
	for (size_t i = 0; i < infeed->count; i++) {
		const struct shlo_function *function = need_function(check, infeed->items[i]);

		if (function->type->result_count != 1 ||
		    function->type->results[0]->kind != SHLO_TENSOR)
			shlo_wrong(check, "@%s of infeed does not give one tensor", function->name);
	}
}

/* Demands that operands and results, from @takes and @gives on, have the types of a function. */
static void need_program(struct shlo_check *check, const struct shlo_function *function,
			 size_t takes, size_t gives)
{
	const struct shlo_type *type = function->type;

	for (size_t i = 0; i < type->item_count; i++)
		if (!shlo_type_fits(check->in[takes + i], type->items[i]))
			shlo_wrong(check, "operand %zu is %s, @%s takes %s", takes + i,
				   shlo_type_brief(check->arena, check->in[takes + i]),
				   function->name, shlo_type_brief(check->arena, type->items[i]));
	for (size_t i = 0; i < type->result_count; i++)
		if (!shlo_type_fits(type->results[i], shlo_declared(check, gives + i)))
			shlo_wrong(check, "result %zu is %s, @%s returns %s", gives + i,
				   shlo_type_brief(check->arena, shlo_declared(check, gives + i)),
				   function->name, shlo_type_brief(check->arena, type->results[i]));
}

void shlo_check_run_parallel(struct shlo_check *check)
{
	const struct shlo_attr *programs = shlo_attr_find(&check->op->attrs, "programs");
	size_t takes = 0, gives = 0;

	if (!programs || programs->kind != SHLO_ATTR_ARRAY || !programs->count)
		shlo_wrong(check, "programs names no function");
	for (size_t i = 0; i < programs->count; i++) {
		const struct shlo_attr *row = programs->items[i];

		if (row->kind != SHLO_ATTR_ARRAY || !row->count)
			shlo_wrong(check,
				   "row %zu of programs is no list of functions, such as [@main]",
				   i);
		if (row->count != programs->items[0]->count)
			shlo_wrong(check,
				   "row %zu of programs must have as many functions as the first",
				   i);
		for (size_t k = 0; k < row->count; k++) {
			const struct shlo_type *type = need_function(check, row->items[k])->type;

			takes += type->item_count;
			gives += type->result_count;
		}
	}
	need_infeed(check);
	if (takes != check->in_count || gives != check->op->result_count)
		shlo_wrong(check,
			   "it has %zu operands and %zu results, its programs have %zu and %zu",
			   check->in_count, check->op->result_count, takes, gives);
	takes = gives = 0;
	for (size_t i = 0; i < programs->count; i++)
		for (size_t k = 0; k < programs->items[i]->count; k++) {
			const struct shlo_function *function =
				need_function(check, programs->items[i]->items[k]);

			need_program(check, function, takes, gives);
			takes += function->type->item_count;
			gives += function->type->result_count;
		}
}

/* ---- asynchronous operations */

void shlo_check_async_start(struct shlo_check *check)
{
	const struct shlo_block *block = &check->op->regions[0]->block;
	const struct shlo_type *future = shlo_declared(check, 0);
	const struct shlo_op *last;

	if (future->kind != SHLO_FUTURE)
		shlo_wrong(check, "the result is %s, expected a future",
			   shlo_type_brief(check->arena, future));
	shlo_need_region(check, 0, check->in_count, future->item_count);
	if (block->op_count != 2 || !block->ops[0]->kind || !block->ops[0]->kind->async)
		shlo_wrong(check, "its region must have one operation and the return; this "
				  "operation is on several devices, such as all_reduce, or it is "
				  "slice, dynamic_slice or dynamic_update_slice");
	for (size_t i = 0; i < block->argument_count; i++)
		shlo_need_argument(check, i, 0, i);
	last = shlo_return_of(check->op, 0);
	for (size_t i = 0; i < last->operand_count; i++)
		if (!shlo_type_fits(last->operands[i]->type, future->items[i]))
			shlo_wrong(check, "the future has %s, its region returns %s",
				   shlo_type_brief(check->arena, future->items[i]),
				   shlo_type_brief(check->arena, last->operands[i]->type));
}

void shlo_check_async_done(struct shlo_check *check)
{
	if (check->in[0]->kind != SHLO_FUTURE)
		shlo_wrong(check, "the operand is no future");
	if (check->op->result_count != check->in[0]->item_count)
		shlo_wrong(check,
			   "it has %zu results, expected %zu, one for each value of the future",
			   check->op->result_count, check->in[0]->item_count);
	for (size_t i = 0; i < check->op->result_count; i++)
		check->out[i] = check->in[0]->items[i];
}
