// SPDX-License-Identifier: MIT
/* Reference kernels of linear algebra, by LAPACK and BLAS, and of batch normalisation. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "lapack.h"
#include "run.h"

void shlo_need_lapack(struct shlo_run *run)
{
	const char *problem = shlo_lapack_problem();

	if (problem)
		shlo_run_error(run, "%s", problem);
}

/*
 * Returns matrices as f64, or complex<f64>. LAPACK's column-major order swaps upper and lower
 * triangle.
 */
static struct shlo_tensor *matrices(struct shlo_run *run, const struct shlo_tensor *x)
{
	bool is_complex = shlo_is_complex(x->type.element);
	struct shlo_type type = { .element = is_complex ? SHLO_C128 : SHLO_F64,
				  .rank = x->type.rank,
				  .dims = x->dims };
	struct shlo_tensor *copy = shlo_tensor_unset(run, &type);

	for (int64_t i = 0; i < x->count; i++)
		shlo_set(copy, i, shlo_get(x, i));
	return copy;
}

/* Returns the address of an element. */
static void *at(const struct shlo_tensor *matrices, int64_t index)
{
	size_t bytes = shlo_elements[matrices->type.element].bytes;

	return (char *)matrices->data + (size_t)index * bytes;
}

static void conjugate(struct shlo_tensor *matrices)
{
	double complex *a = matrices->data;

	for (int64_t i = 0; shlo_is_complex(matrices->type.element) && i < matrices->count; i++)
		a[i] = conj(a[i]);
}

void shlo_eval_cholesky(struct shlo_call *call)
{
	const struct shlo_num none = { .re = NAN, .im = NAN }, zero = { 0 };
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0), *work = matrices(call->run, x);
	int64_t n = x->dims[x->type.rank - 1], size;
	bool lower = shlo_attr_int(call->op, "lower", 0);

	shlo_need_lapack(call->run);
	/* A batch of no matrices may have matrices of any size. */
	size = x->count ? n * n : 1;
	/*
	 * Rows here are LAPACK's columns: the lower triangle is LAPACK's upper one, and the factor
	 * is conjugated.
	 */
	conjugate(work);
	for (int64_t first = 0; first < x->count; first += size) {
		bool definite = shlo_cholesky(shlo_is_complex(work->type.element), !lower, (int)n,
					      at(work, first));

		for (int64_t i = 0; i < size; i++) {
			bool keep = lower ? i % n <= i / n : i % n >= i / n;
			struct shlo_num number = definite ? shlo_get(work, first + i) : none;

			number.im = shlo_is_complex(work->type.element) ? -number.im : 0;
			shlo_set(out, first + i, keep ? number : zero);
		}
	}
	shlo_tensor_put(work);
}

void shlo_eval_triangular_solve(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *y = call->in[1];
	const char *transpose = shlo_attr_text(call->op, "transpose_a", "");
	struct shlo_tensor *out = shlo_result(call, 0);
	struct shlo_tensor *a = matrices(call->run, x), *b = matrices(call->run, y);
	int64_t n = x->dims[x->type.rank - 1], rows = y->dims[y->type.rank - 2];
	int64_t columns = y->dims[y->type.rank - 1], size = y->count ? rows * columns : 1;
	struct shlo_solve solve = {
		.is_complex = shlo_is_complex(a->type.element),
		/*
		 * LAPACK sees row-major matrices as transposed: it solves x op(a) = b instead of
		 * op(a) x = b.
		 */
		.left = !shlo_attr_int(call->op, "left_side", 0),
		.lower = !shlo_attr_int(call->op, "lower", 0),
		.unit = shlo_attr_int(call->op, "unit_diagonal", 0) != 0,
		.transpose = !strcmp(transpose, "NO_TRANSPOSE") ? 'N' :
			     !strcmp(transpose, "TRANSPOSE")	? 'T' :
								  'C',
	};

	shlo_need_lapack(call->run);
	for (int64_t m = 0; m < y->count / size; m++)
		shlo_triangular_solve(&solve, (int)columns, (int)rows, at(a, m * n * n), (int)n,
				      at(b, m * size));
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i, shlo_get(b, i));
	shlo_tensor_put(a);
	shlo_tensor_put(b);
}

/* ---- batch normalisation */

/* Sizes from which feature_at() computes an element's feature by its index. */
struct features {
	int64_t count, inner, each;
};

static struct features features_of(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int feature = (int)shlo_attr_int(call->op, "feature_index", 0);
	struct features f = { .count = x->dims[feature], .inner = 1 };

	for (int i = feature + 1; x->count && i < x->type.rank; i++)
		f.inner *= x->dims[i];
	f.each = f.count ? x->count / f.count : 0;
	return f;
}

static int64_t feature_at(const struct features *f, int64_t index)
{
	return index / f->inner % f->count;
}

void shlo_eval_batch_norm_inference(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	double epsilon = shlo_attr_real(call->op, "epsilon", 0);
	struct features f = features_of(call);

	for (int64_t i = 0; i < x->count; i++) {
		int64_t at = feature_at(&f, i);
		double deviation = sqrt(shlo_get(call->in[4], at).re + epsilon);

		shlo_set(out, i,
			 shlo_real((shlo_get(x, i).re - shlo_get(call->in[3], at).re) / deviation *
					   shlo_get(call->in[1], at).re +
				   shlo_get(call->in[2], at).re));
	}
}

/* Returns the sum of @value over each feature, in a tensor of the run. */
static struct shlo_tensor *sums(struct shlo_call *call, const struct features *f,
				double (*value)(struct shlo_call *call, int64_t i, double mean),
				const struct shlo_tensor *means)
{
	struct shlo_type type = { .element = SHLO_F64, .rank = 1, .dims = &f->count };
	struct shlo_tensor *out = shlo_tensor_new(call->run, &type);
	double *data = out->data;

	for (int64_t i = 0; i < call->in[0]->count; i++) {
		int64_t at = feature_at(f, i);

		data[at] += value(call, i, means ? shlo_get(means, at).re : 0);
	}
	return out;
}

static double plain(struct shlo_call *call, int64_t i, double mean)
{
	return shlo_get(call->in[0], i).re - mean;
}

static double square(struct shlo_call *call, int64_t i, double mean)
{
	double x = plain(call, i, mean);

	return x * x;
}

static double gradient(struct shlo_call *call, int64_t i, double mean)
{
	(void)mean;
	return shlo_get(call->in[4], i).re;
}

static double gradient_times(struct shlo_call *call, int64_t i, double mean)
{
	return shlo_get(call->in[4], i).re * plain(call, i, mean);
}

void shlo_eval_batch_norm_training(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0), *mean = shlo_result(call, 1);
	struct shlo_tensor *variance = shlo_result(call, 2), *first, *second;
	double epsilon = shlo_attr_real(call->op, "epsilon", 0);
	struct features f = features_of(call);
	double *means, *variances;

	first = sums(call, &f, plain, NULL);
	means = first->data;
	for (int64_t i = 0; i < f.count; i++)
		means[i] /= (double)f.each;
	second = sums(call, &f, square, first);
	variances = second->data;
	for (int64_t i = 0; i < f.count; i++) {
		variances[i] /= (double)f.each;
		shlo_set(mean, i, shlo_real(means[i]));
		shlo_set(variance, i, shlo_real(variances[i]));
	}
	for (int64_t i = 0; i < x->count; i++) {
		int64_t at = feature_at(&f, i);

		shlo_set(out, i,
			 shlo_real((shlo_get(x, i).re - means[at]) / sqrt(variances[at] + epsilon) *
					   shlo_get(call->in[1], at).re +
				   shlo_get(call->in[2], at).re));
	}
	shlo_tensor_put(first);
	shlo_tensor_put(second);
}

void shlo_eval_batch_norm_grad(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *mean = call->in[2];
	struct shlo_tensor *out = shlo_result(call, 0), *scale = shlo_result(call, 1);
	struct shlo_tensor *offset = shlo_result(call, 2), *first, *second;
	double epsilon = shlo_attr_real(call->op, "epsilon", 0);
	struct features f = features_of(call);

	first = sums(call, &f, gradient, NULL);
	second = sums(call, &f, gradient_times, mean);
	for (int64_t i = 0; i < x->count; i++) {
		int64_t at = feature_at(&f, i);
		double variance = shlo_get(call->in[3], at).re + epsilon;
		double each = (double)f.each * shlo_get(call->in[4], i).re;
		double centred = plain(call, i, shlo_get(mean, at).re);

		each -= shlo_get(first, at).re;
		each -= centred * shlo_get(second, at).re / variance;
		shlo_set(out, i,
			 shlo_real(shlo_get(call->in[1], at).re / sqrt(variance) / (double)f.each *
				   each));
	}
	for (int64_t i = 0; i < f.count; i++) {
		shlo_set(scale, i,
			 shlo_real(shlo_get(second, i).re /
				   sqrt(shlo_get(call->in[3], i).re + epsilon)));
		shlo_set(offset, i, shlo_get(first, i));
	}
	shlo_tensor_put(first);
	shlo_tensor_put(second);
}
