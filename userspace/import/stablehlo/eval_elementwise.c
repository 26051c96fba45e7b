// SPDX-License-Identifier: MIT
/* Reference kernels of element-wise operations. */
#include "run.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "combine.h"
#include "program.h"

void shlo_eval_none(struct shlo_call *call)
{
	(void)call;
}

static void need_done(struct shlo_call *call, enum shlo_element element, bool done)
{
	if (!done)
		shlo_run_error(call->run, "it does not take elements of type %s",
			       shlo_elements[element].text);
}

/*
 * Evaluates the operation with vectorised loops; false: it must be evaluated element by element.
 * Operands have as many elements as the result; @y and @z may be NULL.
 */
static bool at_once(const struct shlo_call *call, struct shlo_tensor *out,
		    const struct shlo_tensor *x, const struct shlo_tensor *y,
		    const struct shlo_tensor *z)
{
	const void *in[] = { x->data, y ? y->data : NULL, z ? z->data : NULL };
	struct shlo_step step = shlo_step_of(call->op);

	/* The values of a quantised operation have other types than the file says. */
	step.element = z ? y->type.element : x->type.element;
	step.to = out->type.element;
	return shlo_combine_step(&step, out->data, in, false, (size_t)out->count);
}

void shlo_eval_unary(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	enum shlo_unary op = (enum shlo_unary)call->op->kind->code;
	bool done = true;

	if (at_once(call, out, x, NULL, NULL))
		return;
	for (int64_t i = 0; i < out->count && done; i++)
		shlo_set(out, i, shlo_unary(op, x->type.element, shlo_get(x, i), &done));
	need_done(call, x->type.element, done);
}

static void binary(struct shlo_call *call, const struct shlo_tensor *x, const struct shlo_tensor *y)
{
	struct shlo_tensor *out = shlo_result(call, 0);
	enum shlo_binary op = (enum shlo_binary)call->op->kind->code;
	bool done = true;

	if (at_once(call, out, x, y, NULL))
		return;
	for (int64_t i = 0; i < out->count && done; i++)
		shlo_set(out, i,
			 shlo_binary(op, x->type.element, shlo_get(x, i), shlo_get(y, i), &done));
	need_done(call, x->type.element, done);
}

static void compare(struct shlo_call *call, const struct shlo_tensor *x,
		    const struct shlo_tensor *y)
{
	struct shlo_tensor *out = shlo_result(call, 0);
	enum shlo_direction direction = shlo_direction_of(call->op);
	bool total = !strcmp(shlo_attr_text(call->op, "compare_type", ""), "TOTALORDER");

	if (at_once(call, out, x, y, NULL))
		return;
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 shlo_int(shlo_compare(direction, x->type.element, total, shlo_get(x, i),
					       shlo_get(y, i))));
}

static void complex_of(struct shlo_call *call, const struct shlo_tensor *x,
		       const struct shlo_tensor *y)
{
	struct shlo_tensor *out = shlo_result(call, 0);

	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 (struct shlo_num){ .re = shlo_get(x, i).re, .im = shlo_get(y, i).re });
}

/* Selects between the elements of two operands; a condition of rank 0 is used for all elements. */
static void select_from(struct shlo_call *call, const struct shlo_tensor *pred,
			const struct shlo_tensor *x, const struct shlo_tensor *y)
{
	struct shlo_tensor *out = shlo_result(call, 0);

	if (pred->count == out->count && at_once(call, out, pred, x, y))
		return;
	for (int64_t i = 0; i < out->count; i++)
		shlo_move(out, i, shlo_get(pred, pred->type.rank ? i : 0).i ? x : y, i);
}

void shlo_eval_binary(struct shlo_call *call)
{
	binary(call, call->in[0], call->in[1]);
}

void shlo_eval_compare(struct shlo_call *call)
{
	compare(call, call->in[0], call->in[1]);
}

void shlo_eval_complex(struct shlo_call *call)
{
	complex_of(call, call->in[0], call->in[1]);
}

void shlo_eval_select(struct shlo_call *call)
{
	select_from(call, call->in[0], call->in[1], call->in[2]);
}

void shlo_eval_clamp(struct shlo_call *call)
{
	const struct shlo_tensor *least = call->in[0], *x = call->in[1], *most = call->in[2];
	struct shlo_tensor *out = shlo_result(call, 0);
	enum shlo_element element = x->type.element;
	bool done;

	for (int64_t i = 0; i < out->count; i++) {
		struct shlo_num value = shlo_get(x, i);

		value = shlo_binary(SHLO_B_MAXIMUM, element, value,
				    shlo_get(least, least->type.rank ? i : 0), &done);
		value = shlo_binary(SHLO_B_MINIMUM, element, value,
				    shlo_get(most, most->type.rank ? i : 0), &done);
		shlo_set(out, i, value);
	}
}

void shlo_eval_convert(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);

	if (at_once(call, out, x, NULL, NULL))
		return;
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i, shlo_convert(out->type.element, x->type.element, shlo_get(x, i)));
}

void shlo_eval_constant(struct shlo_call *call)
{
	const struct shlo_attr *value = shlo_attr_find(&call->op->attrs, "value");
	struct shlo_tensor *out = shlo_result(call, 0);
	size_t bytes = shlo_elements[out->type.element].bytes;

	if (value->type->element != out->type.element) {
		if (!shlo_is_stored_as(value->type, &out->type))
			shlo_run_error(call->run,
				       "attribute value has elements of another type than the "
				       "result");
		for (int64_t i = 0; i < out->count; i++)
			shlo_set(out, i,
				 shlo_load(value->type->element, value->data,
					   value->splat ? 0 : (size_t)i));
		return;
	}
	for (int64_t i = 0; value->splat && i < out->count; i++)
		memcpy((char *)out->data + (size_t)i * bytes, value->data, bytes);
	if (!value->splat)
		memcpy(out->data, value->data, (size_t)out->count * bytes);
}

void shlo_eval_constant_like(struct shlo_call *call)
{
	const struct shlo_attr *value = shlo_attr_find(&call->op->attrs, "value");
	struct shlo_tensor *out = shlo_result(call, 0);
	struct shlo_num number =
		value->kind == SHLO_ATTR_FLOAT ?
			shlo_convert(out->type.element, SHLO_F64, shlo_real(value->real)) :
			shlo_convert(out->type.element, SHLO_I64, shlo_int(value->number));

	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i, number);
}

void shlo_eval_reduce_precision(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	int exponent = (int)shlo_attr_int(call->op, "exponent_bits", 11);
	int mantissa = (int)shlo_attr_int(call->op, "mantissa_bits", 52);

	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 shlo_real(shlo_reduce_precision(x->type.element, shlo_get(x, i).re,
							 exponent, mantissa)));
}

/* ---- with implicit broadcast */

/* Returns the operand broadcast to the dimensions of the result. */
static struct shlo_tensor *stretched(struct shlo_call *call, size_t operand)
{
	const struct shlo_tensor *x = call->in[operand];
	const struct shlo_type *type = call->types[0];
	int64_t map[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK];
	struct shlo_tensor *out;
	int64_t at = 0;

	if (!type)
		shlo_run_error(call->run, "the dimensions of the result are not known");
	out = shlo_tensor_like(call->run, &x->type, type->rank, type->dims);
	for (int i = 0; i < x->type.rank; i++)
		map[i] = type->rank - x->type.rank + i;
	if (x->type.rank < type->rank)
		shlo_ints_of(shlo_attr_find(&call->op->attrs, "broadcast_dimensions"), map,
			     (size_t)x->type.rank);
	if (!out->count)
		return out;
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[i] = x->dims[i] == 1 ? 0 : index[map[i]];
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(type->rank, type->dims, index));
	return out;
}

static void with_two(struct shlo_call *call,
		     void (*eval)(struct shlo_call *call, const struct shlo_tensor *x,
				  const struct shlo_tensor *y))
{
	struct shlo_tensor *x = stretched(call, 0), *y = stretched(call, 1);

	eval(call, x, y);
	shlo_tensor_put(x);
	shlo_tensor_put(y);
}

void shlo_eval_broadcast_binary(struct shlo_call *call)
{
	with_two(call, binary);
}

void shlo_eval_broadcast_compare(struct shlo_call *call)
{
	with_two(call, compare);
}

void shlo_eval_broadcast_complex(struct shlo_call *call)
{
	with_two(call, complex_of);
}

void shlo_eval_broadcast_select(struct shlo_call *call)
{
	struct shlo_tensor *pred = stretched(call, 0), *x = stretched(call, 1);
	struct shlo_tensor *y = stretched(call, 2);

	select_from(call, pred, x, y);
	shlo_tensor_put(pred);
	shlo_tensor_put(x);
	shlo_tensor_put(y);
}
