// SPDX-License-Identifier: MIT
/* Maxima of windows of 8-bit integers. */
#include <string.h>

#include "cpu/conv.h"

struct pool {
	const struct ir_pool_attrs *attrs;
	bool is_signed;
	int64_t c, h, w, out_h, out_w;
	const uint8_t *x;
	uint8_t *y;
};

/* What of a window lies in the image. */
struct range {
	int64_t begin, end;
};

static struct range inside(const struct pool *p, int axis, int64_t out)
{
	int64_t begin = out * p->attrs->strides[axis] - p->attrs->padding[2 * axis];
	int64_t end = begin + p->attrs->window[axis], in = axis ? p->w : p->h;

	return (struct range){ begin > 0 ? begin : 0, end < in ? end : in };
}

static void larger_unsigned(uint8_t *restrict y, const uint8_t *restrict x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] > y[i] ? x[i] : y[i];
}

static void larger_signed(int8_t *restrict y, const int8_t *restrict x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] > y[i] ? x[i] : y[i];
}

static void larger(const struct pool *p, uint8_t *y, const uint8_t *x, int64_t n)
{
	if (p->is_signed)
		larger_signed((int8_t *)y, (const int8_t *)x, n);
	else
		larger_unsigned(y, x, n);
}

/* One line of results in nhwc. */
static void pool_line(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const uint8_t *x = p->x + item / p->out_h * p->h * p->w * p->c;
	uint8_t *y = p->y + item * p->out_w * p->c;
	struct range rows = inside(p, 0, item % p->out_h);

	(void)worker;
	for (int64_t ow = 0; ow < p->out_w; ow++, y += p->c) {
		struct range columns = inside(p, 1, ow);

		memcpy(y, x + (rows.begin * p->w + columns.begin) * p->c, (size_t)p->c);
		for (int64_t h = rows.begin; h < rows.end; h++)
			for (int64_t w = columns.begin; w < columns.end; w++)
				larger(p, y, x + (h * p->w + w) * p->c, p->c);
	}
}

/* One channel in nchw. */
static void pool_channel(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const uint8_t *x = p->x + item * p->h * p->w;
	uint8_t *y = p->y + item * p->out_h * p->out_w;
	/* Signed integers in the order of unsigned ones. */
	uint8_t flip = p->is_signed ? 0x80 : 0;

	(void)worker;
	for (int64_t oh = 0; oh < p->out_h; oh++) {
		struct range rows = inside(p, 0, oh);

		for (int64_t ow = 0; ow < p->out_w; ow++) {
			struct range columns = inside(p, 1, ow);
			uint8_t most = 0;

			for (int64_t h = rows.begin; h < rows.end; h++)
				for (int64_t w = columns.begin; w < columns.end; w++) {
					uint8_t v = x[h * p->w + w] ^ flip;

					most = v > most ? v : most;
				}
			*y++ = most ^ flip;
		}
	}
}

int cpu_pool_integer(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	bool nhwc = node->attrs.pool.layout == IR_NHWC;
	uint32_t h = nhwc ? 1 : 2;
	struct pool p = {
		.attrs = &node->attrs.pool,
		.is_signed = x->dtype == IR_I8,
		.c = ir_type_dim(x, nhwc ? 3 : 1),
		.h = ir_type_dim(x, h),
		.w = ir_type_dim(x, h + 1),
		.out_h = ir_type_dim(y, h),
		.out_w = ir_type_dim(y, h + 1),
		.x = in[0],
		.y = out[0],
	};
	int64_t batch = ir_type_dim(x, 0);

	(void)err;
	if (nhwc)
		cpu_threads_run(cpu->workers, batch * p.out_h, pool_line, &p);
	else
		cpu_threads_run(cpu->workers, batch * p.c, pool_channel, &p);
	return 0;
}

/* Nodes of which each window has an element of the image, so that there is always a greatest one. */
bool cpu_pool_integer_takes(const struct ir_node *node)
{
	const struct ir_pool_attrs *a = &node->attrs.pool;
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	uint32_t h = a->layout == IR_NHWC ? 1 : 2;

	if ((x->dtype != IR_I8 && x->dtype != IR_U8) || a->kind != IR_POOL_MAX)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		int64_t last = (ir_type_dim(y, h + i) - 1) * a->strides[i] - a->padding[2 * i];

		if (a->dilations[i] != 1 || a->padding[2 * i] >= a->window[i] ||
		    last >= ir_type_dim(x, h + i))
			return false;
	}
	return true;
}
