// SPDX-License-Identifier: MIT
/* Fast softmax for float32 along any axis. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/fast.h"

static void row(const float *x, float *y, int64_t n, int64_t step)
{
	float max = -INFINITY, sum = 0;

	for (int64_t i = 0; i < n; i++)
		max = max != max || max > x[i * step] ? max : x[i * step];
	for (int64_t i = 0; i < n; i++) {
		y[i * step] = expf(x[i * step] - max);
		sum += y[i * step];
	}
	for (int64_t i = 0; i < n; i++)
		y[i * step] /= sum;
}

static int softmax(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	struct cpu_shape s = cpu_shape_of(&node->results[0]->type);
	uint32_t axis = node->attrs.axis;
	int64_t step = s.stride[axis], n = s.dim[axis];

	(void)cpu;
	(void)err;
	for (int64_t outer = 0; outer < s.count; outer += n * step)
		for (int64_t inner = 0; inner < step; inner++)
			row((const float *)in[0] + outer + inner, (float *)out[0] + outer + inner, n,
			    step);
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_softmax(const struct ir_node *node)
{
	static const struct cpu_fast_kernel kernel = { "cpu/softmax", softmax };

	return node->results[0]->type.dtype == IR_F32 ? &kernel : NULL;
}
