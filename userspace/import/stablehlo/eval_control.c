// SPDX-License-Identifier: MIT
/* Reference kernels of control flow, calls, tuples and scan. */
#include "numbers.h"

#include <string.h>

#include "run.h"

/* Returns a tuple of @count items, all NULL yet; the end of the run frees it on errors, too. */
static struct shlo_tensor *bundle(struct shlo_run *run, size_t count)
{
	struct shlo_type type = { .kind = SHLO_TUPLE, .item_count = count };

	return shlo_tensor_new(run, &type);
}

/*
 * Demands that the values for the next iteration have the types that both regions take. The check
 * of the file leaves open dimensions to this.
 */
static void need_next(struct shlo_call *call, const struct shlo_tensor *values)
{
	call->run->at = call->op;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < call->op->operand_count; i++)
			shlo_need_value(call->run, values->items[i],
					call->op->regions[k]->block.arguments[i]->type,
					"for the next iteration, value", i);
}

/* Whether the body of a loop returns a value whose type leaves a dimension open. */
static bool is_open(const struct shlo_region *body)
{
	const struct shlo_op *last = body->block.ops[body->block.op_count - 1];

	for (size_t i = 0; i < last->operand_count; i++)
		if (!shlo_type_is_static(last->operands[i]->type))
			return true;
	return false;
}

void shlo_eval_while(struct shlo_call *call)
{
	const struct shlo_op *op = call->op;
	size_t count = op->operand_count;
	struct shlo_tensor *values = bundle(call->run, count);
	bool open = is_open(op->regions[1]);

	for (size_t i = 0; i < count; i++)
		values->items[i] = shlo_tensor_get(call->in[i]);
	for (uint64_t iteration = 0;; iteration++) {
		struct shlo_tensor *cond, *next;
		bool go;

		shlo_call_region(call->run, call->frame, op->regions[0], values->items, &cond);
		go = shlo_get(cond, 0).i != 0;
		shlo_tensor_put(cond);
		if (!go)
			break;
		call->run->at = op;
		if (iteration == call->run->loop_limit)
			shlo_run_error(
				call->run,
				"it has not ended after %llu iterations, the limit: --loop-limit "
				"of webnn-run and stablehlo-test sets another, and "
				"wnnStablehloProgramSetLoopLimit() in C",
				(unsigned long long)iteration);
		next = bundle(call->run, count);
		shlo_give_region(call->run, call->frame, op->regions[1], values->items,
				 next->items);
		shlo_tensor_put(values);
		values = next;
		if (open)
			need_next(call, values);
	}
	for (size_t i = 0; i < count; i++)
		call->out[i] = shlo_tensor_get(values->items[i]);
	shlo_tensor_put(values);
}

void shlo_eval_if(struct shlo_call *call)
{
	size_t branch = shlo_get(call->in[0], 0).i ? 0 : 1;

	shlo_call_region(call->run, call->frame, call->op->regions[branch], NULL, call->out);
}

void shlo_eval_case(struct shlo_call *call)
{
	int64_t index = shlo_get(call->in[0], 0).i, count = (int64_t)call->op->region_count;

	/* An index that names no branch selects the last one. */
	if (index < 0 || index >= count)
		index = count - 1;
	shlo_call_region(call->run, call->frame, call->op->regions[index], NULL, call->out);
}

static void call_named(struct shlo_call *call, const char *attr)
{
	const char *name = shlo_attr_text(call->op, attr, "");
	const struct shlo_function *callee = shlo_function_find(call->run->module, name);

	if (!callee || !callee->region)
		shlo_run_error(call->run, "there is no function @%s", name);
	call->run->reference_ops--;
	shlo_call_function(call->run, callee, call->in, call->out);
}

void shlo_eval_call(struct shlo_call *call)
{
	call_named(call, "callee");
}

void shlo_eval_composite(struct shlo_call *call)
{
	call_named(call, "decomposition");
}

void shlo_eval_optimization_barrier(struct shlo_call *call)
{
	for (size_t i = 0; i < call->op->operand_count; i++)
		call->out[i] = shlo_tensor_get(call->in[i]);
}

void shlo_eval_tuple(struct shlo_call *call)
{
	size_t count = call->op->operand_count;

	call->out[0] = bundle(call->run, count);
	for (size_t i = 0; i < count; i++)
		call->out[0]->items[i] = shlo_tensor_get(call->in[i]);
}

void shlo_eval_get_tuple_element(struct shlo_call *call)
{
	call->out[0] = shlo_tensor_get(call->in[0]->items[shlo_attr_int(call->op, "index", 0)]);
}

void shlo_eval_token(struct shlo_call *call)
{
	static const struct shlo_type type = { .kind = SHLO_TOKEN };

	call->out[0] = shlo_tensor_new(call->run, &type);
}

/* Runs the region at once: StableHLO allows any order between async_start and async_done. */
void shlo_eval_async_start(struct shlo_call *call)
{
	const struct shlo_region *region = call->op->regions[0];
	const struct shlo_op *last = region->block.ops[region->block.op_count - 1];
	struct shlo_type type = { .kind = SHLO_FUTURE, .item_count = last->operand_count };

	if (region->block.argument_count != call->op->operand_count)
		shlo_run_error(call->run, "its region takes %zu values, but it has %zu operands",
			       region->block.argument_count, call->op->operand_count);
	call->out[0] = shlo_tensor_new(call->run, &type);
	shlo_call_region(call->run, call->frame, region, call->in, call->out[0]->items);
}

void shlo_eval_async_done(struct shlo_call *call)
{
	if (call->in[0]->type.item_count != call->op->result_count)
		shlo_run_error(call->run, "the future has %zu values, but it has %zu results",
			       call->in[0]->type.item_count, call->op->result_count);
	for (size_t i = 0; i < call->op->result_count; i++)
		call->out[i] = shlo_tensor_get(call->in[0]->items[i]);
}

void shlo_eval_map(struct shlo_call *call)
{
	struct shlo_tensor *out = shlo_result(call, 0);
	struct shlo_num arguments[64], result;
	struct shlo_applier applier;

	if (call->op->operand_count > 64)
		shlo_run_error(call->run, "it has more than 64 inputs");
	shlo_applier_init(&applier, call->run, call->frame, call->op->regions[0]);
	for (int64_t i = 0; i < out->count; i++) {
		for (size_t k = 0; k < call->op->operand_count; k++)
			arguments[k] = shlo_get(call->in[k], i);
		shlo_apply(&applier, arguments, &result);
		shlo_set(out, i, result);
	}
	shlo_applier_exit(&applier);
}

/* ---- scan */

/*
 * Returns a copy of the slice of an input at position @at of a dimension, which the slice lacks;
 * put_at() copies such a slice into an output.
 */
static struct shlo_tensor *slice_at(struct shlo_run *run, const struct shlo_tensor *x, int64_t dim,
				    int64_t at, const struct shlo_type *like)
{
	int64_t dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], to = 0;
	struct shlo_tensor *out;
	int rank = 0;

	for (int i = 0; i < x->type.rank; i++)
		if (i != dim)
			dims[rank++] = x->dims[i];
	out = shlo_tensor_like(run, like, rank, dims);
	if (!out->count)
		return out;
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[i] = i == dim ? at : index[i - (i > dim)];
		shlo_move(out, to++, x, shlo_offset(x, from));
	} while (shlo_next(rank, dims, index));
	return out;
}

static void put_at(struct shlo_tensor *out, int64_t dim, int64_t at, const struct shlo_tensor *x)
{
	int64_t index[SHLO_MAX_RANK] = { 0 }, to[SHLO_MAX_RANK], from = 0;

	if (!x->count)
		return;
	do {
		for (int i = 0; i < out->type.rank; i++)
			to[i] = i == dim ? at : index[i - (i > dim)];
		shlo_move(out, shlo_offset(out, to), x, from++);
	} while (shlo_next(x->type.rank, x->dims, index));
}

/*
 * Demands that a value which a step returns has the dimensions of a slice of the result, or for a
 * carried value the type that the region takes: types of the file may leave dimensions open.
 */
static void need_step(struct shlo_call *call, const struct shlo_tensor *value, int64_t dim,
		      size_t i, size_t inputs, size_t outputs)
{
	const struct shlo_block *block = &call->op->regions[0]->block;
	const struct shlo_type *type = i < outputs ?
					       block->ops[block->op_count - 1]->operands[i]->type :
					       block->arguments[inputs + i - outputs]->type;

	shlo_need_value(call->run, value, type, "at a step, returned value", i);
	for (int k = 0; i < outputs && k < value->type.rank; k++)
		if (value->dims[k] != call->out[i]->dims[k + (k >= dim)])
			shlo_run_error(call->run,
				       "at a step, dimension %d of returned value %zu is %lld, but "
				       "the result has slices of %lld",
				       k, i, (long long)value->dims[k],
				       (long long)call->out[i]->dims[k + (k >= dim)]);
}

void shlo_eval_scan(struct shlo_call *call)
{
	const struct shlo_op *op = call->op;
	int64_t dim = shlo_attr_int(op, "dimension", 0), length;
	int64_t reverse = shlo_attr_int(op, "is_reverse", 0);
	size_t inputs = (size_t)shlo_scan_inputs(op), carries, outputs;
	struct shlo_tensor *values = bundle(call->run, op->operand_count);
	struct shlo_tensor *results = bundle(call->run, op->result_count);

	carries = op->operand_count - inputs;
	outputs = op->result_count - carries;
	length = call->in[0]->dims[dim];
	for (size_t i = 0; i < outputs; i++)
		shlo_result(call, i);
	for (size_t i = 0; i < carries; i++)
		values->items[inputs + i] = shlo_tensor_get(call->in[inputs + i]);
	for (int64_t step = 0; step < length; step++) {
		int64_t at = reverse ? length - 1 - step : step;

		for (size_t i = 0; i < inputs; i++) {
			shlo_tensor_put(values->items[i]);
			values->items[i] = NULL;
			values->items[i] =
				slice_at(call->run, call->in[i], dim, at, &call->in[i]->type);
		}
		shlo_call_region(call->run, call->frame, op->regions[0], values->items,
				 results->items);
		call->run->at = op;
		for (size_t i = 0; i < op->result_count; i++) {
			need_step(call, results->items[i], dim, i, inputs, outputs);
			if (i < outputs) {
				put_at(call->out[i], dim, at, results->items[i]);
				shlo_tensor_put(results->items[i]);
			} else {
				shlo_tensor_put(values->items[inputs + i - outputs]);
				values->items[inputs + i - outputs] = results->items[i];
			}
			results->items[i] = NULL;
		}
	}
	for (size_t i = 0; i < carries; i++)
		call->out[outputs + i] = shlo_tensor_get(values->items[inputs + i]);
	shlo_tensor_put(values);
	shlo_tensor_put(results);
}
