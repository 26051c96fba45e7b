// SPDX-License-Identifier: MIT
/* Fast pooling for float32, a line of channels (nhwc) or of pixels (nchw) at a time. */
#include <math.h>

#include "cpu/fast.h"

struct pool {
	const struct ir_pool_attrs *attrs;
	int64_t c, h, w, out_h, out_w;
};

static float start(enum ir_pool kind)
{
	return kind == IR_POOL_MAX ? -INFINITY : 0;
}

static void add_line(enum ir_pool kind, const float *x, int64_t step, float *y, int64_t n)
{
	if (kind == IR_POOL_MAX)
		for (int64_t i = 0; i < n; i++)
			y[i] = y[i] != y[i] || y[i] > x[i * step] ? y[i] : x[i * step];
	else if (kind == IR_POOL_AVERAGE)
		for (int64_t i = 0; i < n; i++)
			y[i] += x[i * step];
	else
		for (int64_t i = 0; i < n; i++)
			y[i] += x[i * step] * x[i * step];
}

static float finish(enum ir_pool kind, float v, int64_t count)
{
	if (kind == IR_POOL_MAX)
		return v;
	if (kind == IR_POOL_L2)
		return sqrtf(v);
	return count ? v / (float)count : 0;
}

static int64_t tap(const struct pool *p, int axis, int64_t out, int64_t k)
{
	return out * p->attrs->strides[axis] + k * p->attrs->dilations[axis] -
	       p->attrs->padding[axis * 2];
}

static void pool_nhwc(const struct pool *p, const float *x, float *y)
{
	const struct ir_pool_attrs *a = p->attrs;

	for (int64_t oh = 0; oh < p->out_h; oh++)
		for (int64_t ow = 0; ow < p->out_w; ow++, y += p->c) {
			int64_t count = 0;

			for (int64_t c = 0; c < p->c; c++)
				y[c] = start(a->kind);
			for (int64_t k = 0; k < (int64_t)a->window[0] * a->window[1]; k++) {
				int64_t ih = tap(p, 0, oh, k / a->window[1]);
				int64_t iw = tap(p, 1, ow, k % a->window[1]);

				if (ih < 0 || ih >= p->h || iw < 0 || iw >= p->w)
					continue;
				count++;
				add_line(a->kind, x + (ih * p->w + iw) * p->c, 1, y, p->c);
			}
			for (int64_t c = 0; c < p->c; c++)
				y[c] = finish(a->kind, y[c], count);
		}
}

static float pool_cell(const struct pool *p, const float *x, int64_t oh, int64_t ow)
{
	const struct ir_pool_attrs *a = p->attrs;
	float v = start(a->kind);
	int64_t count = 0;

	for (int64_t kh = 0; kh < a->window[0]; kh++)
		for (int64_t kw = 0; kw < a->window[1]; kw++) {
			int64_t ih = tap(p, 0, oh, kh), iw = tap(p, 1, ow, kw);

			if (ih < 0 || ih >= p->h || iw < 0 || iw >= p->w)
				continue;
			count++;
			add_line(a->kind, x + ih * p->w + iw, 1, &v, 1);
		}
	return finish(a->kind, v, count);
}

static int pool(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		void *const *out, struct wnn_error *err)
{
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	const struct ir_pool_attrs *a = &node->attrs.pool;
	bool nhwc = a->layout == IR_NHWC;
	int h = nhwc ? 1 : 2, c = nhwc ? 3 : 1;
	struct pool p = { a, ir_type_dim(x, c), ir_type_dim(x, h), ir_type_dim(x, h + 1),
			  ir_type_dim(y, h), ir_type_dim(y, h + 1) };
	const float *from = in[0];
	float *to = out[0];

	(void)cpu;
	(void)err;
	for (int64_t n = 0; n < ir_type_dim(x, 0); n++) {
		if (nhwc) {
			pool_nhwc(&p, from, to);
			from += p.c * p.h * p.w;
			to += p.c * p.out_h * p.out_w;
			continue;
		}
		for (int64_t i = 0; i < p.c; i++, from += p.h * p.w)
			for (int64_t oh = 0; oh < p.out_h; oh++)
				for (int64_t ow = 0; ow < p.out_w; ow++)
					*to++ = pool_cell(&p, from, oh, ow);
	}
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_pool(const struct ir_node *node)
{
	static const struct cpu_fast_kernel kernel = { "cpu/pool", pool };

	return node->results[0]->type.dtype == IR_F32 ? &kernel : NULL;
}
