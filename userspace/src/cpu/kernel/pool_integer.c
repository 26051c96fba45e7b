// SPDX-License-Identifier: MIT
/* Pools of 8-bit integers: maxima, and averages with scales (IR_OP_QPOOL). */
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/ref/requantize.h"
#include "util/malloc.h"
#include "cpu/kernel/kernels.h"

struct pool {
	const struct ir_pool_attrs *attrs;
	bool is_signed;
	int64_t c, h, w, out_h, out_w;
	const uint8_t *x;
	uint8_t *y;
	/*
	 * For averages: attributes, the type of the result and the scale by which averages are
	 * divided; for nhwc, also memory of each thread for the sums of the channels of one pixel.
	 */
	const struct ir_qpool_attrs *average;
	enum ir_dtype to;
	float scale;
	int32_t *sums;
};

/* The range of a window's taps that lie inside the image. */
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

static void pool_row(void *argument, int64_t item, unsigned int worker)
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

static void pool_channel(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const uint8_t *x = p->x + item * p->h * p->w;
	uint8_t *y = p->y + item * p->out_h * p->out_w;
	/* Flips the sign bit: signed integers then compare as unsigned ones. */
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

static void add_to(const struct pool *p, int32_t *restrict sums, const uint8_t *restrict x)
{
	if (p->is_signed)
		for (int64_t i = 0; i < p->c; i++)
			sums[i] += (int8_t)x[i];
	else
		for (int64_t i = 0; i < p->c; i++)
			sums[i] += x[i];
}

/* Returns the average for the sum of a window. @count: its taps inside the image. */
static uint8_t average_of(const struct pool *p, int64_t sum, int64_t count)
{
	sum -= count * p->average->a_zero;
	if (p->attrs->counts_padding)
		count = (int64_t)p->attrs->window[0] * p->attrs->window[1];
	return (uint8_t)cpu_average(p->to, sum, count, p->scale, p->average->zero);
}

static void average_row(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const uint8_t *x = p->x + item / p->out_h * p->h * p->w * p->c;
	uint8_t *y = p->y + item * p->out_w * p->c;
	struct range rows = inside(p, 0, item % p->out_h);
	int32_t *sums = p->sums + worker * p->c;

	for (int64_t ow = 0; ow < p->out_w; ow++, y += p->c) {
		struct range columns = inside(p, 1, ow);
		int64_t count = 0;

		memset(sums, 0, (size_t)p->c * sizeof(*sums));
		for (int64_t h = rows.begin; h < rows.end; h++)
			for (int64_t w = columns.begin; w < columns.end; w++, count++)
				add_to(p, sums, x + (h * p->w + w) * p->c);
		for (int64_t i = 0; i < p->c; i++)
			y[i] = average_of(p, sums[i], count);
	}
}

static void average_channel(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const uint8_t *x = p->x + item * p->h * p->w;
	uint8_t *y = p->y + item * p->out_h * p->out_w;

	(void)worker;
	for (int64_t oh = 0; oh < p->out_h; oh++) {
		struct range rows = inside(p, 0, oh);

		for (int64_t ow = 0; ow < p->out_w; ow++) {
			struct range columns = inside(p, 1, ow);
			int64_t count = 0;
			int32_t sum = 0;

			for (int64_t h = rows.begin; h < rows.end; h++)
				for (int64_t w = columns.begin; w < columns.end; w++, count++)
					sum += p->is_signed ? (int8_t)x[h * p->w + w] :
							      x[h * p->w + w];
			*y++ = average_of(p, sum, count);
		}
	}
}

static int run_averages(struct cpu_context *cpu, struct pool *p, int64_t batch,
			struct wnn_error *err)
{
	if (p->attrs->layout != IR_NHWC) {
		cpu_threads_run(cpu->workers, batch * p->c, average_channel, p);
		return 0;
	}
	p->sums = wnn_calloc((size_t)p->c * (size_t)cpu->threads, sizeof(*p->sums));
	if (!p->sums)
		return wnn_error_nomem(err, "the sums of a pool");
	cpu_threads_run(cpu->workers, batch * p->out_h, average_row, p);
	wnn_free(p->sums);
	return 0;
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

	if (node->op == IR_OP_QPOOL) {
		p.average = &node->attrs.qpool;
		p.to = y->dtype;
		p.scale = ((const float *)in[1])[0];
		return run_averages(cpu, &p, batch, err);
	}
	if (nhwc)
		cpu_threads_run(cpu->workers, batch * p.out_h, pool_row, &p);
	else
		cpu_threads_run(cpu->workers, batch * p.c, pool_channel, &p);
	return 0;
}

/*
 * Returns why the kernel cannot compute a node; NULL: it can. Each window must have an element of
 * the image, so that there is a maximum, and no dilation.
 */
const char *cpu_pool_integer_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_pool_attrs *a = &node->attrs.pool;
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	uint32_t h = a->layout == IR_NHWC ? 1 : 2;

	if (x->dtype != IR_I8 && x->dtype != IR_U8)
		return "its type is neither int8 nor uint8";
	if (a->kind != IR_POOL_MAX && node->op != IR_OP_QPOOL)
		return "it computes another function than the maximum";
	for (uint32_t i = 0; i < 2; i++) {
		int64_t last = (ir_type_dim(y, h + i) - 1) * a->strides[i] - a->padding[2 * i];

		if (a->dilations[i] != 1 || a->padding[2 * i] >= a->window[i] ||
		    last >= ir_type_dim(x, h + i))
			return "its windows have dilations, or one reads padding alone";
	}
	return NULL;
}
