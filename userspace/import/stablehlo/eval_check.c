// SPDX-License-Identifier: MIT
/* Checks of a program's own results, with the tolerances of StableHLO's tests. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "run.h"

static const char *number_text(const struct shlo_tensor *x, int64_t at, char text[80])
{
	struct shlo_num number = shlo_get(x, at);

	switch (shlo_class(x->type.element)) {
	case SHLO_FLOAT:
		snprintf(text, 80, "%.17g", number.re);
		break;
	case SHLO_COMPLEX:
		snprintf(text, 80, "(%.17g, %.17g)", number.re, number.im);
		break;
	case SHLO_UNSIGNED:
		snprintf(text, 80, "%" PRIu64, number.u);
		break;
	default:
		snprintf(text, 80, "%" PRId64, number.i);
		break;
	}
	return text;
}

_Noreturn static void differ(struct shlo_call *call, const struct shlo_tensor *x,
			     const struct shlo_tensor *y, int64_t at, const char *how)
{
	char has[80], wants[80];

	shlo_run_error(call->run, "element %" PRId64 " is %s, expected is %s%s", at,
		       number_text(x, at, has), number_text(y, at, wants), how);
}

static void need_comparable(struct shlo_call *call, const struct shlo_tensor *x,
			    const struct shlo_tensor *y)
{
	if (x->type.kind != SHLO_TENSOR || y->type.kind != SHLO_TENSOR ||
	    x->type.element != y->type.element || x->type.rank != y->type.rank ||
	    !shlo_dims_fit(&x->type, &y->type))
		shlo_run_error(call->run, "the values are of different types");
}

static void expect_eq(struct shlo_call *call, const struct shlo_tensor *x,
		      const struct shlo_tensor *y)
{
	need_comparable(call, x, y);
	for (int64_t i = 0; i < x->count; i++)
		if (!shlo_compare(SHLO_EQ, x->type.element, false, shlo_get(x, i), shlo_get(y, i)))
			differ(call, x, y, i, "");
}

static bool almost(double x, double y, double tolerance)
{
	if (x == y)
		return true;
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y);
	return isfinite(x) && isfinite(y) && fabs(x - y) <= tolerance;
}

static void expect_almost_eq(struct shlo_call *call, const struct shlo_tensor *x,
			     const struct shlo_tensor *y, double tolerance)
{
	need_comparable(call, x, y);
	for (int64_t i = 0; i < x->count; i++) {
		struct shlo_num a = shlo_get(x, i), b = shlo_get(y, i);
		bool real = shlo_is_float(x->type.element);

		if (real || shlo_is_complex(x->type.element) ?
			    !almost(a.re, b.re, tolerance) ||
				    (!real && !almost(a.im, b.im, tolerance)) :
			    a.i != b.i)
			differ(call, x, y, i, "");
	}
}

/*
 * Returns how many numbers of the type y is away from x: 1 for neighbours; the maximum when one is
 * not finite and they differ.
 */
static uint64_t distance(enum shlo_element element, double x, double y)
{
	uint64_t a = shlo_float_bits(element, x), b = shlo_float_bits(element, y);

	if (a == b || (isnan(x) && isnan(y)))
		return 0;
	if (!isfinite(x) || !isfinite(y))
		return UINT64_MAX;
	a = shlo_float_bits(element, fabs(x));
	b = shlo_float_bits(element, fabs(y));
	if (signbit(x) != signbit(y))
		return a + b;
	return a > b ? a - b : b - a;
}

static void expect_close(struct shlo_call *call, const struct shlo_tensor *x,
			 const struct shlo_tensor *y, uint64_t min, uint64_t max)
{
	enum shlo_element part = shlo_element_part(x->type.element);
	char how[120] = "";

	need_comparable(call, x, y);
	if (!shlo_is_float(part))
		shlo_run_error(call->run, "the values are no floats");
	for (int64_t i = 0; i < x->count; i++) {
		struct shlo_num a = shlo_get(x, i), b = shlo_get(y, i);
		uint64_t far = distance(part, a.re, b.re);

		if (part != x->type.element && distance(part, a.im, b.im) > far)
			far = distance(part, a.im, b.im);
		if (far >= min && far <= max)
			continue;
		if (far != UINT64_MAX)
			snprintf(how, sizeof(how),
				 ": it is %" PRIu64
				 " numbers of this type away, expected are %" PRIu64 " to %" PRIu64,
				 far, min, max);
		differ(call, x, y, i, how);
	}
}

/* Returns the expected value, which is an attribute. */
static struct shlo_tensor *constant(struct shlo_call *call)
{
	const struct shlo_attr *value = shlo_attr_find(&call->op->attrs, "value");
	struct shlo_tensor *out;
	size_t bytes;

	if (!value || value->kind != SHLO_ATTR_DENSE)
		shlo_run_error(call->run, "attribute value, the elements, is missing");
	out = shlo_tensor_new(call->run, value->type);
	bytes = shlo_elements[out->type.element].bytes;
	for (int64_t i = 0; i < out->count; i++)
		memcpy((char *)out->data + (size_t)i * bytes,
		       (const char *)value->data + (value->splat ? 0 : (size_t)i * bytes), bytes);
	return out;
}

void shlo_eval_expect_eq(struct shlo_call *call)
{
	expect_eq(call, call->in[0], call->in[1]);
}

void shlo_eval_expect_eq_const(struct shlo_call *call)
{
	struct shlo_tensor *expected = constant(call);

	expect_eq(call, call->in[0], expected);
	shlo_tensor_put(expected);
}

void shlo_eval_expect_almost_eq(struct shlo_call *call)
{
	expect_almost_eq(call, call->in[0], call->in[1],
			 shlo_attr_real(call->op, "tolerance", 1e-4));
}

void shlo_eval_expect_almost_eq_const(struct shlo_call *call)
{
	struct shlo_tensor *expected = constant(call);

	expect_almost_eq(call, call->in[0], expected, shlo_attr_real(call->op, "tolerance", 1e-4));
	shlo_tensor_put(expected);
}

void shlo_eval_expect_close(struct shlo_call *call)
{
	expect_close(call, call->in[0], call->in[1],
		     (uint64_t)shlo_attr_int(call->op, "min_ulp_difference", 0),
		     (uint64_t)shlo_attr_int(call->op, "max_ulp_difference", 1));
}

/* The tolerances that StableHLO's own interpreter has for custom calls. */
#define CALL_ULPS      3
#define CALL_TOLERANCE 1e-3
#define EQ_TOLERANCE   1e-4

void shlo_check_comparison(struct shlo_check *check, const char *name)
{
	/* check.eq returns that the values are equal. */
	size_t results = !strcmp(name, "check.eq");

	if (check->in_count != 2 || check->op->result_count != results)
		shlo_wrong(check, "%s has %zu operands and %zu results, expected 2 operands and %s",
			   name, check->in_count, check->op->result_count,
			   results ? "1 result" : "no result");
	if (results)
		check->out[0] = shlo_tensor_type(check->arena, SHLO_I1, 0, NULL);
}

void shlo_eval_custom_call(struct shlo_call *call)
{
	const char *name = shlo_attr_text(call->op, "call_target_name", "");

	if (!strcmp(name, "shape_assertion")) {
		shlo_eval_assertion(call);
		return;
	}
	if (shlo_is_factor(name)) {
		shlo_eval_factor(call);
		return;
	}
	if (shlo_is_callback(call->op)) {
		shlo_eval_callback(call);
		return;
	}
	if (strncmp(name, "check.", 6)) {
		shlo_eval_mark(call);
		return;
	}
	/* A check does not count among the operations of the program. */
	call->run->reference_ops--;
	if (!strcmp(name, "check.expect_close")) {
		expect_close(call, call->in[0], call->in[1], 0, CALL_ULPS);
	} else if (!strcmp(name, "check.expect_almost_eq")) {
		expect_almost_eq(call, call->in[0], call->in[1], CALL_TOLERANCE);
	} else if (!strcmp(name, "check.expect_eq")) {
		expect_eq(call, call->in[0], call->in[1]);
	} else {
		expect_almost_eq(call, call->in[0], call->in[1], EQ_TOLERANCE);
		shlo_set(shlo_result(call, 0), 0, shlo_int(1));
	}
}

/* ---- probes: values are kept under a name, and compared later */

void shlo_eval_probe(struct shlo_call *call)
{
	struct shlo_probe *probe = import_alloc(sizeof(*probe)), **end = &call->run->probes;

	if (!probe)
		shlo_run_lack(call->run, 0);
	probe->id = shlo_attr_text(call->op, "probe_id", "");
	while (*end)
		end = &(*end)->next;
	*end = probe;
	probe->value = shlo_tensor_get(call->in[0]);
	call->out[0] = shlo_tensor_get(call->in[0]);
}

void shlo_eval_expect_serialized_eq(struct shlo_call *call)
{
	const char *id = shlo_attr_text(call->op, "probe_id", "");
	const char *iter = shlo_attr_find(&call->op->attrs, "iter") ? "iter" : "iteration";
	int64_t left = shlo_attr_int(call->op, iter, 0);

	if (left < 0)
		shlo_run_error(call->run, "attribute %s is %" PRId64 ", which is less than 0", iter,
			       left);
	for (struct shlo_probe *probe = call->run->probes; probe; probe = probe->next)
		if (!strcmp(probe->id, id) && left-- == 0) {
			/* The operand is what the value of the probe is expected to be. */
			expect_eq(call, probe->value, call->in[0]);
			return;
		}
	shlo_run_error(call->run, "probe '%s' ran fewer times than attribute %s expects", id, iter);
}
