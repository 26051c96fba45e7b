// SPDX-License-Identifier: MIT
/* Fast softmax for float32: contiguous lines as they are, others through a buffer. */
#include <math.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/fast.h"

/* Elements that are worth a piece of the work. */
#define GRAIN 4096
/* Elements whose powers stay in the cache. */
#define AT_ONCE 512

struct softmax {
	const struct cpu_simd *simd;
	const struct ir_softmax_attrs *attrs;
	const float *x;
	float *y, *lines; /* one a thread */
	int64_t n, step;
};

double cpu_exp_sum(const struct cpu_simd *simd, const float *x, int64_t n, float infinite,
		   float *max)
{
	float powers[AT_ONCE];
	double sum = 0;

	*max = (float)simd->fold(CPU_FOLD_MAX, x, n, 0);
	if (isinf(*max))
		*max = copysignf(infinite, *max);
	for (int64_t i = 0; i < n; i += AT_ONCE) {
		int64_t count = n - i < AT_ONCE ? n - i : AT_ONCE;

		simd->binary(IR_SUB, powers, x + i, 1, max, 0, count);
		simd->unary(IR_EXP, 0, 0, powers, powers, count);
		sum += simd->fold(CPU_FOLD_SUM, powers, count, 0);
	}
	return sum;
}

/* A line of the forms that WebNN does not have; x may be y. */
static void other_line(const struct softmax *s, float *y, const float *x)
{
	float max, part;
	double sum = cpu_exp_sum(s->simd, x, s->n, s->attrs->guarded ? 0 : INFINITY, &max);

	part = (float)(s->attrs->log ? log(sum) : sum);
	s->simd->binary(IR_SUB, y, x, 1, &max, 0, s->n);
	if (!s->attrs->log)
		s->simd->unary(IR_EXP, 0, 0, y, y, s->n);
	s->simd->binary(s->attrs->log ? IR_SUB : IR_DIV, y, y, 1, &part, 0, s->n);
}

static void some_lines(const struct softmax *s, float *y, const float *x, int64_t lines)
{
	if (!s->attrs->log && !s->attrs->guarded)
		s->simd->softmax(y, x, lines, s->n);
	else
		for (int64_t i = 0; i < lines; i++)
			other_line(s, y + i * s->n, x + i * s->n);
	for (int64_t i = 0; s->attrs->nan_to_zero && i < lines * s->n; i++)
		y[i] = isnan(y[i]) ? 0 : y[i];
}

static void softmax_lines(void *argument, int64_t begin, int64_t end)
{
	const struct softmax *s = argument;

	some_lines(s, s->y + begin * s->n, s->x + begin * s->n, end - begin);
}

/* Whose elements lie apart. */
static void softmax_apart(void *argument, int64_t item, unsigned int worker)
{
	const struct softmax *s = argument;
	int64_t at = item / s->step * s->n * s->step + item % s->step;
	float *line = s->lines + worker * s->n;

	for (int64_t i = 0; i < s->n; i++)
		line[i] = s->x[at + i * s->step];
	some_lines(s, line, line, 1);
	for (int64_t i = 0; i < s->n; i++)
		s->y[at + i * s->step] = line[i];
}

static int softmax(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
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
		cpu_parallel_ranges(cpu, lines, s.n < GRAIN ? GRAIN / s.n : 1, softmax_lines, &s);
		return 0;
	}
	s.lines = cpu_scratch(cpu, cpu->threads * (size_t)s.n * sizeof(float));
	if (!s.lines)
		return wnn_error_nomem(err, "the lines of softmax");
	cpu_threads_run(cpu->workers, lines, softmax_apart, &s);
	return 0;
}

static const struct cpu_fast_kernel kernels[] = {
	{ .name = "cpu/softmax", .run = softmax },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	return node->results[0]->type.dtype == IR_F32 ? kernels : NULL;
}

const struct cpu_fast_family cpu_fast_softmax = CPU_FAST_FAMILY(kernels, find);
