// SPDX-License-Identifier: MIT
/*
 * Custom calls that factor matrices by LAPACK, for programs of JAX: StableHLO has no operations for
 * eigenvalues, singular values, triangular factors, and the Hessenberg, Schur and tridiagonal forms of
 * a matrix.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "lapack.h"
#include "run.h"

/* LAPACK counts rows, columns and SHLO_FACTOR_WORK numbers for each of them as int. */
#define MOST_ROWS (1 << 24)

enum part { SAME, REAL, COMPLEX, INDEX };

/*
 * The type of a result for a matrix of m rows and n columns; each matrix of a batch has a result of
 * its own. Letters stand for dimensions: k is the smaller of m and n; s is k, or with all singular
 * vectors the dimension beside it; and l is n - 1, at least 0.
 */
struct result {
	enum part part;
	const char *dims;
};

static const struct factor {
	const char *name;
	bool square;
	char triangle;	     /* L, U: the triangle that is read of a Hermitian matrix */
	size_t least, count; /* number of results: without singular vectors, and with them */
	struct result results[4];
	bool (*make)(const struct shlo_factors *f);
} factors[] = {
	{ .name = "onpu.eig",
	  .square = true,
	  .least = 3,
	  .count = 3,
	  .results = { { COMPLEX, "n" }, { COMPLEX, "nn" }, { COMPLEX, "nn" } },
	  .make = shlo_factor_eig },
	{ .name = "onpu.eigh",
	  .square = true,
	  .triangle = 'L',
	  .least = 2,
	  .count = 2,
	  .results = { { SAME, "nn" }, { REAL, "n" } },
	  .make = shlo_factor_eigh },
	{ .name = "onpu.hessenberg",
	  .square = true,
	  .least = 2,
	  .count = 2,
	  .results = { { SAME, "nn" }, { SAME, "l" } },
	  .make = shlo_factor_hessenberg },
	{ .name = "onpu.lu",
	  .least = 3,
	  .count = 3,
	  .results = { { SAME, "mn" }, { INDEX, "k" }, { INDEX, "m" } },
	  .make = shlo_factor_lu },
	{ .name = "onpu.schur",
	  .square = true,
	  .least = 2,
	  .count = 2,
	  .results = { { SAME, "nn" }, { SAME, "nn" } },
	  .make = shlo_factor_schur },
	{ .name = "onpu.svd",
	  .least = 1,
	  .count = 3,
	  .results = { { REAL, "k" }, { SAME, "ms" }, { SAME, "sn" } },
	  .make = shlo_factor_svd },
	{ .name = "onpu.tridiagonal_lower",
	  .square = true,
	  .triangle = 'L',
	  .least = 4,
	  .count = 4,
	  .results = { { SAME, "nn" }, { REAL, "n" }, { REAL, "l" }, { SAME, "l" } },
	  .make = shlo_factor_tridiagonal },
	{ .name = "onpu.tridiagonal_upper",
	  .square = true,
	  .triangle = 'U',
	  .least = 4,
	  .count = 4,
	  .results = { { SAME, "nn" }, { REAL, "n" }, { REAL, "l" }, { SAME, "l" } },
	  .make = shlo_factor_tridiagonal },
};

static const struct factor *find(const char *name)
{
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		if (!strcmp(factors[i].name, name))
			return &factors[i];
	return NULL;
}

bool shlo_is_factor(const char *name)
{
	return find(name);
}

static int64_t size_of(char letter, int64_t m, int64_t n, bool full, char beside)
{
	int64_t k = m < n ? m : n;

	switch (letter) {
	case 'm':
		return m;
	case 'n':
		return n;
	case 'l':
		return n ? n - 1 : 0;
	case 's':
		return !full ? k : beside == 'm' ? m : n;
	default:
		return k;
	}
}

static enum shlo_element element_of(enum part part, enum shlo_element element)
{
	if (part == REAL)
		return shlo_element_part(element);
	if (part == INDEX)
		return SHLO_I32;
	return part == COMPLEX ? shlo_element_complex(element) : element;
}

/*
 * Whether results 1 and 2 are square, so that they have singular vectors for all rows and all
 * columns.
 */
static bool is_full(const struct factor *factor, const struct shlo_op *op)
{
	const struct shlo_type *u, *v;

	if (factor->square || op->result_count < 3)
		return false;
	u = op->results[1]->type;
	v = op->results[2]->type;
	if (u->kind != SHLO_TENSOR || v->kind != SHLO_TENSOR || u->rank < 2 || v->rank < 2)
		return false;
	return u->dims[u->rank - 1] == u->dims[u->rank - 2] &&
	       v->dims[v->rank - 1] == v->dims[v->rank - 2];
}

void shlo_check_factor(struct shlo_check *check, const char *name)
{
	const struct factor *factor = find(name);
	const struct shlo_type *x = check->in_count == 1 ? check->in[0] : NULL;
	int64_t dims[SHLO_MAX_RANK], m, n;
	bool full = is_full(factor, check->op);

	if (!x || x->kind != SHLO_TENSOR || x->quant || x->rank < 2 || !shlo_type_is_static(x) ||
	    (x->element != SHLO_F32 && x->element != SHLO_F64 && !shlo_is_complex(x->element)))
		shlo_wrong(check,
			   "%s takes one tensor of matrices, of f32, f64 or complex numbers, whose "
			   "dimensions are known",
			   name);
	m = x->dims[x->rank - 2];
	n = x->dims[x->rank - 1];
	if (factor->square && m != n)
		shlo_wrong(check,
			   "%s takes square matrices, not those of %lld rows and %lld columns",
			   name, (long long)m, (long long)n);
	if (m > MOST_ROWS || n > MOST_ROWS)
		shlo_wrong(check, "%s takes at most %d rows and columns, not %lld and %lld", name,
			   MOST_ROWS, (long long)m, (long long)n);
	if (check->op->result_count != factor->least && check->op->result_count != factor->count)
		shlo_wrong(check, "%s has %zu results%s, not %zu", name, factor->count,
			   factor->least == 1 ? " or 1" : "", check->op->result_count);
	for (size_t i = 0; i < check->op->result_count; i++) {
		const struct result *result = &factor->results[i];
		int rank = x->rank - 2;
		const struct shlo_type *type;

		memcpy(dims, x->dims, (size_t)rank * sizeof(*dims));
		for (const char *at = result->dims; *at; at++)
			dims[rank++] =
				size_of(*at, m, n, full, at == result->dims ? at[1] : at[-1]);
		type = shlo_tensor_type(check->arena, element_of(result->part, x->element), rank,
					dims);
		if (!shlo_type_fits(check->op->results[i]->type, type))
			shlo_wrong(check, "result %zu of %s must be %s, not %s", i, name,
				   shlo_type_text(check->arena, type),
				   shlo_type_text(check->arena, check->op->results[i]->type));
	}
}

/* ---- evaluation */

static struct shlo_tensor *numbers(struct shlo_run *run, int64_t count)
{
	struct shlo_type type = { .element = SHLO_C128, .rank = 1, .dims = &count };

	return shlo_tensor_new(run, &type);
}

/*
 * Copies a matrix to column-major order. False: a number in the triangle that is read is not
 * finite; LAPACK may not end then.
 */
static bool take(const struct shlo_tensor *x, int64_t matrix, char triangle, double complex *a)
{
	int64_t m = x->dims[x->type.rank - 2], n = x->dims[x->type.rank - 1];
	bool finite = true;

	for (int64_t i = 0; i < m; i++)
		for (int64_t k = 0; k < n; k++) {
			bool read = triangle == 'L' ? k <= i : triangle == 'U' ? k >= i : true;
			struct shlo_num number = shlo_get(x, (matrix * m + i) * n + k);

			if (!shlo_is_complex(x->type.element))
				number.im = 0;
			finite = finite && (!read || (isfinite(number.re) && isfinite(number.im)));
			a[k * m + i] = CMPLX(number.re, number.im);
		}
	return finite;
}

/*
 * Copies matrix number @matrix from column-major order to @out. Unless @done, it is filled with NaN,
 * or with the indices of rows that stay where they are.
 */
static void give(struct shlo_tensor *out, int64_t matrix, int64_t rows, int64_t columns,
		 const double complex *a, bool done)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < columns; k++) {
			double complex value = done ? a[k * rows + i] : CMPLX(NAN, NAN);
			struct shlo_num number = { .re = creal(value), .im = cimag(value) };

			if (shlo_is_integer(out->type.element))
				number = shlo_int(done ? (int64_t)number.re : i);
			shlo_set(out, (matrix * rows + i) * columns + k, number);
		}
}

/*
 * Makes the results, and returns the number of matrices; 0: no result has elements. The number of
 * matrices may be beyond int64_t then.
 */
static int64_t batch_of(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t batch = 1;
	bool any = false;

	for (size_t i = 0; i < call->op->result_count; i++)
		any |= shlo_result(call, i)->count > 0;
	for (int i = 0; any && i < x->type.rank - 2; i++)
		batch *= x->dims[i];
	return any ? batch : 0;
}

void shlo_eval_factor(struct shlo_call *call)
{
	const struct factor *factor = find(shlo_attr_text(call->op, "call_target_name", ""));
	const struct shlo_tensor *x = call->in[0];
	int64_t m = x->dims[x->type.rank - 2], n = x->dims[x->type.rank - 1], batch;
	struct shlo_tensor *outputs[4] = { 0 }, *a = numbers(call->run, m * n);
	struct shlo_tensor *work = numbers(call->run, SHLO_FACTOR_ROOM(m, n));
	struct shlo_factors f = {
		.m = (int)m,
		.n = (int)n,
		.is_real = !shlo_is_complex(x->type.element),
		.full = is_full(factor, call->op),
		.vectors = call->op->result_count > 1,
		.triangle = factor->triangle,
		.a = a->data,
		.work = work->data,
	};

	shlo_need_lapack(call->run);
	batch = batch_of(call);
	for (size_t i = 0; i < call->op->result_count; i++) {
		const struct shlo_tensor *out = call->out[i];

		outputs[i] = numbers(call->run, batch ? out->count / batch : 0);
		f.outputs[i] = outputs[i]->data;
	}
	for (int64_t b = 0; b < batch; b++) {
		bool done = take(x, b, factor->triangle, f.a) &&
			    ((factor->square && !n) || factor->make(&f));

		for (size_t i = 0; i < call->op->result_count; i++) {
			const char *dims = factor->results[i].dims;
			struct shlo_tensor *out = call->out[i];
			int64_t last = dims[1] ? out->dims[out->type.rank - 1] : 1;

			give(out, b, last ? outputs[i]->count / last : 0, last, f.outputs[i], done);
		}
	}
	for (size_t i = 0; i < call->op->result_count; i++)
		shlo_tensor_put(outputs[i]);
	shlo_tensor_put(work);
	shlo_tensor_put(a);
}
