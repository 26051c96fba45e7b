// SPDX-License-Identifier: MIT
/* Fast softmax for float32: contiguous lines as they are, others through a buffer. */
#include "cpu/element.h"
#include "cpu/fast.h"

/* Elements that are worth a piece of the work. */
#define GRAIN 4096

struct softmax {
	const struct cpu_simd *simd;
	const float *x;
	float *y, *lines; /* one a thread */
	int64_t n, step;
};

static void softmax_lines(void *argument, int64_t begin, int64_t end)
{
	const struct softmax *s = argument;

	s->simd->softmax(s->y + begin * s->n, s->x + begin * s->n, end - begin, s->n);
}

/* Whose elements lie apart. */
static void softmax_apart(void *argument, int64_t item, unsigned int worker)
{
	const struct softmax *s = argument;
	int64_t at = item / s->step * s->n * s->step + item % s->step;
	float *line = s->lines + worker * s->n;

	for (int64_t i = 0; i < s->n; i++)
		line[i] = s->x[at + i * s->step];
	s->simd->softmax(line, line, 1, s->n);
	for (int64_t i = 0; i < s->n; i++)
		s->y[at + i * s->step] = line[i];
}

static int softmax(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	uint32_t axis = node->attrs.axis;
	struct softmax s = { .simd = cpu->simd,
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
