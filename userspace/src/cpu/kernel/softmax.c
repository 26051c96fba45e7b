// SPDX-License-Identifier: MIT
/*
 * Fast softmax for float32: contiguous rows as they lie in memory; interleaved rows through a
 * buffer, or many at a time without one.
 */
#include <math.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

/* The least elements of an item of work. */
#define GRAIN 4096
/*
 * Interleaved rows that are transposed together. There are fewer when COLUMNS rows have more than
 * CACHED elements, the most that stay in the second-level cache.
 */
#define COLUMNS 16
/*
 * With at least BESIDE interleaved rows, TOGETHER rows at a time are computed element by element
 * without a transpose.
 */
#define BESIDE	 32
#define TOGETHER 256
#define CACHED	 (1 << 17)

struct softmax {
	const struct cpu_simd *simd;
	const struct ir_softmax_attrs *attrs;
	const float *x;
	float *y, *lines; /* lines: a buffer for each thread */
	int64_t n, step;
	int64_t columns; /* interleaved rows that are computed together */
};

double cpu_exp_sum(const struct cpu_simd *simd, const float *x, int64_t n, float infinite,
		   float *max)
{
	*max = (float)simd->fold(CPU_FOLD_MAX, x, n, 0);
	if (isinf(*max))
		*max = copysignf(infinite, *max);
	return simd->exp_sum(x, n, *max);
}

/*
 * Computes a row of logarithms of softmax, or of guarded softmax, which WebNN does not have; x may
 * be y.
 */
static void other_vector(const struct softmax *s, float *y, const float *x)
{
	float max, part;
	double sum = cpu_exp_sum(s->simd, x, s->n, s->attrs->guarded ? 0 : INFINITY, &max);

	part = (float)(s->attrs->log ? log(sum) : sum);
	s->simd->binary(IR_SUB, y, x, 1, &max, 0, s->n);
	if (!s->attrs->log)
		s->simd->unary(IR_EXP, 0, 0, y, y, s->n);
	s->simd->binary(s->attrs->log ? IR_SUB : IR_DIV, y, y, 1, &part, 0, s->n);
}

static void some_vectors(const struct softmax *s, float *y, const float *x, int64_t lines)
{
	if (!s->attrs->log && !s->attrs->guarded)
		s->simd->softmax(y, x, lines, s->n);
	else
		for (int64_t i = 0; i < lines; i++)
			other_vector(s, y + i * s->n, x + i * s->n);
	for (int64_t i = 0; s->attrs->nan_to_zero && i < lines * s->n; i++)
		y[i] = isnan(y[i]) ? 0 : y[i];
}

static void softmax_vectors(void *argument, int64_t begin, int64_t end)
{
	const struct softmax *s = argument;

	some_vectors(s, s->y + begin * s->n, s->x + begin * s->n, end - begin);
}

/*
 * Computes rows whose elements are not contiguous, several adjacent rows at a time: they are
 * transposed to a buffer and back, so that whole cache lines are read.
 */
static void softmax_apart(void *argument, int64_t item, unsigned int worker)
{
	const struct softmax *s = argument;
	int64_t parts = (s->step + s->columns - 1) / s->columns;
	int64_t first = item % parts * s->columns;
	int64_t at = item / parts * s->n * s->step + first;
	int64_t count = s->step - first < s->columns ? s->step - first : s->columns;
	float *lines = s->lines + worker * s->n * s->columns;

	s->simd->transpose(lines, s->n, s->x + at, s->step, s->n, count);
	some_vectors(s, lines, lines, count);
	s->simd->transpose(s->y + at, s->step, lines, s->n, count, s->n);
}

static void softmax_beside(void *argument, int64_t item, unsigned int worker)
{
	const struct softmax *s = argument;
	int64_t parts = (s->step + TOGETHER - 1) / TOGETHER, first = item % parts * TOGETHER;
	int64_t at = item / parts * s->n * s->step + first;

	(void)worker;
	s->simd->softmax_columns(s->y + at, s->x + at, s->n, s->step,
				 s->step - first < TOGETHER ? s->step - first : TOGETHER);
}

int cpu_softmax(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		void *const *out, struct wnn_error *err)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	uint32_t axis = node->attrs.axis;
	struct softmax s = { .simd = cpu->simd,
			     .attrs = &node->attrs.softmax,
			     .x = in[0],
			     .y = out[0],
			     .n = shape.dim[axis],
			     .step = shape.stride[axis] };
	int64_t lines = shape.count / s.n;

	if (s.step == 1) {
		cpu_parallel_ranges(cpu, lines, s.n < GRAIN ? GRAIN / s.n : 1, softmax_vectors, &s);
		return 0;
	}
	if (s.step >= BESIDE && !s.attrs->log && !s.attrs->guarded && !s.attrs->nan_to_zero) {
		cpu_threads_run(cpu->workers, lines / s.step * ((s.step + TOGETHER - 1) / TOGETHER),
				softmax_beside, &s);
		return 0;
	}
	s.columns = s.step < COLUMNS ? s.step : COLUMNS;
	if (s.columns * s.n > CACHED)
		s.columns = s.n < CACHED ? CACHED / s.n : 1;
	s.lines = cpu_scratch(cpu, cpu->threads * (size_t)(s.n * s.columns) * sizeof(float));
	if (!s.lines)
		return wnn_error_nomem(err, "the lines of softmax");
	cpu_threads_run(cpu->workers, lines / s.step * ((s.step + s.columns - 1) / s.columns),
			softmax_apart, &s);
	return 0;
}

const char *cpu_softmax_refuses(const struct cpu_ask *ask)
{
	return ask->node->results[0]->type.dtype == IR_F32 ? NULL : "its type is not float32";
}
