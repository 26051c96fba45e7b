// SPDX-License-Identifier: MIT
/*
 * Reference kernels for convolutions, pooling and matrix products. Sums are computed in double,
 * exactly for integers.
 */
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"
#include "cpu/ref/requantize.h"

/* The dimensions and strides of an image tensor in either layout. */
struct picture {
	int64_t n, c, h, w;
	int64_t sn, sc, sh, sw;
};

static struct picture picture_of(const struct ir_type *type, enum ir_layout layout)
{
	struct cpu_shape s = cpu_shape_of(type);
	int c = layout == IR_NCHW ? 1 : 3, h = layout == IR_NCHW ? 2 : 1, w = h + 1;

	return (struct picture){ s.dim[0],    s.dim[c],	   s.dim[h],	s.dim[w],
				 s.stride[0], s.stride[c], s.stride[h], s.stride[w] };
}

struct filter {
	int64_t o, i, h, w;
	int64_t so, si, sh, sw;
};

static struct filter filter_of(const struct ir_type *type, enum ir_filter_layout layout)
{
	const uint8_t *p = ir_filter_axes(layout);
	struct cpu_shape s = cpu_shape_of(type);

	return (struct filter){ s.dim[p[0]],	s.dim[p[1]],	s.dim[p[2]],	s.dim[p[3]],
				s.stride[p[0]], s.stride[p[1]], s.stride[p[2]], s.stride[p[3]] };
}

/* An operand of a sum of products: floats, or integers from which a zero point is subtracted. */
struct factor {
	enum ir_dtype dtype;
	int64_t zero;
	const void *data;
};

static double factor_at(const struct factor *f, int64_t i)
{
	if (ir_dtype_is_float(f->dtype))
		return cpu_load(f->dtype, f->data, i);
	return (double)(cpu_load_int(f->dtype, f->data, i) - f->zero);
}

struct conv {
	const struct ir_conv_attrs *attrs;
	struct picture x, y;
	struct filter f;
	struct factor in, filter;
};

/* Returns one result of a convolution: batch n, channel o (of all groups), row h, column w. */
static double conv_at(const struct conv *c, int64_t n, int64_t o, int64_t h, int64_t w)
{
	int64_t out_per_group = c->y.c / c->attrs->groups;
	int64_t first = o / out_per_group * c->f.i;
	double sum = 0;

	for (int64_t i = 0; i < c->f.i; i++)
		for (int64_t kh = 0; kh < c->f.h; kh++)
			for (int64_t kw = 0; kw < c->f.w; kw++) {
				int64_t ih = h * c->attrs->strides[0] +
					     kh * c->attrs->dilations[0] - c->attrs->padding[0];
				int64_t iw = w * c->attrs->strides[1] +
					     kw * c->attrs->dilations[1] - c->attrs->padding[2];

				if (ih < 0 || ih >= c->x.h || iw < 0 || iw >= c->x.w)
					continue;
				sum += factor_at(&c->in, n * c->x.sn + (first + i) * c->x.sc +
								 ih * c->x.sh + iw * c->x.sw) *
				       factor_at(&c->filter, o * c->f.so + i * c->f.si +
								     kh * c->f.sh + kw * c->f.sw);
			}
	return sum;
}

/*
 * Returns one result of a transposed convolution: the sum over the inputs that reach (h, w). The
 * filter's o counts within a group, its i counts all input channels.
 */
static double conv_transposed_at(const struct conv *c, int64_t n, int64_t o, int64_t h, int64_t w)
{
	int64_t in_per_group = c->x.c / c->attrs->groups, group = o / c->f.o;
	double sum = 0;

	for (int64_t i = group * in_per_group; i < (group + 1) * in_per_group; i++)
		for (int64_t kh = 0; kh < c->f.h; kh++)
			for (int64_t kw = 0; kw < c->f.w; kw++) {
				int64_t ih = h + c->attrs->padding[0] - kh * c->attrs->dilations[0];
				int64_t iw = w + c->attrs->padding[2] - kw * c->attrs->dilations[1];

				if (ih % c->attrs->strides[0] || iw % c->attrs->strides[1])
					continue;
				ih /= c->attrs->strides[0];
				iw /= c->attrs->strides[1];
				if (ih < 0 || ih >= c->x.h || iw < 0 || iw >= c->x.w)
					continue;
				sum += factor_at(&c->in, n * c->x.sn + i * c->x.sc + ih * c->x.sh +
								 iw * c->x.sw) *
				       factor_at(&c->filter, o % c->f.o * c->f.so + i * c->f.si +
								     kh * c->f.sh + kw * c->f.sw);
			}
	return sum;
}

static struct conv conv_of(const struct ir_node *node, const void *const *in)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;

	return (struct conv){
		.attrs = attrs,
		.x = picture_of(&node->operands[0]->type, attrs->layout),
		.y = picture_of(&node->results[0]->type, attrs->layout),
		.f = filter_of(&node->operands[1]->type, attrs->filter_layout),
		.in = { .dtype = node->operands[0]->type.dtype, .data = in[0] },
		.filter = { .dtype = node->operands[1]->type.dtype, .data = in[1] },
	};
}

/* Returns result i in row-major order; *channel becomes its channel. */
static double conv_result(const struct conv *c, int64_t i, int64_t *channel)
{
	int64_t n = i / c->y.sn, o = i / c->y.sc % c->y.c, h = i / c->y.sh % c->y.h,
		w = i / c->y.sw % c->y.w;

	*channel = o;
	return c->attrs->transposed ? conv_transposed_at(c, n, o, h, w) : conv_at(c, n, o, h, w);
}

void cpu_ref_conv(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;
	const void *bias = node->num_operands > 2 ? in[2] : NULL;
	int64_t count = ir_type_elements(&node->results[0]->type), o;
	struct conv c = conv_of(node, in);

	for (int64_t i = 0; i < count; i++) {
		double v = conv_result(&c, i, &o);

		if (bias)
			v += cpu_load(dtype, bias, o);
		cpu_store(dtype, out[0], i, cpu_apply_unary(&node->attrs.conv.act, v));
	}
}

/*
 * Returns a float result, computed from the sum, a scale and an addend, which may be NULL; each
 * step is rounded to float32.
 */
static double real_of_sum(const struct ir_node *node, const void *addend, int64_t sum, float scale,
			  int64_t o)
{
	const struct ir_unary_attrs *act = node->op == IR_OP_QCONV ? &node->attrs.conv.act :
								     &node->attrs.matmul.act;
	float v = (float)sum * scale;

	if (addend)
		v += (float)cpu_load(node->operands[4]->type.dtype, addend,
				     ir_type_elements(&node->operands[4]->type) > 1 ? o : 0);
	return cpu_apply_unary(act, v);
}

/* Adds the bias of channel `o` to a sum, and stores the result. */
static void store_integer(const struct ir_node *node, const void *const *in, void *const *out,
			  int64_t i, double sum, int64_t o)
{
	const struct ir_integer_attrs *attrs =
		node->op == IR_OP_QCONV ? &node->attrs.qconv.integer : &node->attrs.qmatmul.integer;
	float scale =
		((const float *)in[2])[ir_type_elements(&node->operands[2]->type) > 1 ? o : 0];
	enum ir_dtype dtype = node->results[0]->type.dtype;
	int64_t s = (int64_t)sum;

	if (node->num_operands > 3 && node->operands[3])
		s += ((const int32_t *)
			      in[3])[ir_type_elements(&node->operands[3]->type) > 1 ? o : 0];
	if (ir_dtype_is_float(dtype))
		cpu_store(dtype, out[0], i,
			  real_of_sum(node, node->num_operands > 4 ? in[4] : NULL, s, scale, o));
	else
		cpu_store_int(dtype, out[0], i, cpu_requantize(attrs, dtype, s, scale));
}

void cpu_ref_qconv(const struct ir_node *node, const void *const *in, void *const *out)
{
	int64_t count = ir_type_elements(&node->results[0]->type), o;
	struct conv c = conv_of(node, in);

	c.in.zero = node->attrs.qconv.integer.a_zero;
	c.filter.zero = node->attrs.qconv.integer.b_zero;
	for (int64_t i = 0; i < count; i++) {
		double sum = conv_result(&c, i, &o);

		store_integer(node, in, out, i, sum, o);
	}
}

struct matmul {
	struct cpu_shape y;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK], ka, kb, depth;
	struct factor a, b;
};

/*
 * Returns the strides of a product. Batch axes broadcast; of an operand's last two axes, one
 * follows the result and the other is summed over.
 */
static struct matmul matmul_of(const struct ir_node *node, const void *const *in)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	struct matmul mm = {
		.y = cpu_shape_of(&node->results[0]->type),
		.a = { .dtype = node->operands[0]->type.dtype, .data = in[0] },
		.b = { .dtype = node->operands[1]->type.dtype, .data = in[1] },
	};
	uint32_t m = mm.y.rank - 2, n = mm.y.rank - 1;

	cpu_broadcast_strides(&a, &mm.y, mm.sa);
	cpu_broadcast_strides(&b, &mm.y, mm.sb);
	mm.depth = a.dim[a.rank - (attrs->a_transpose ? 2 : 1)];
	mm.sa[m] = a.stride[a.rank - (attrs->a_transpose ? 1 : 2)];
	mm.ka = a.stride[a.rank - (attrs->a_transpose ? 2 : 1)];
	mm.sa[n] = 0;
	mm.sb[n] = b.stride[b.rank - (attrs->b_transpose ? 2 : 1)];
	mm.kb = b.stride[b.rank - (attrs->b_transpose ? 1 : 2)];
	mm.sb[m] = 0;
	return mm;
}

static double matmul_result(const struct matmul *mm, int64_t i)
{
	int64_t ia = cpu_offset(&mm->y, i, mm->sa), ib = cpu_offset(&mm->y, i, mm->sb);
	double sum = 0;

	for (int64_t k = 0; k < mm->depth; k++)
		sum += factor_at(&mm->a, ia + k * mm->ka) * factor_at(&mm->b, ib + k * mm->kb);
	return sum;
}

void cpu_ref_matmul(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	bool has_bias = node->num_operands > 2 && node->operands[2];
	enum ir_dtype dtype = node->results[0]->type.dtype;
	struct matmul mm = matmul_of(node, in);
	int64_t sc[IR_MAX_RANK] = { 0 };

	if (has_bias) {
		struct cpu_shape c = cpu_shape_of(&node->operands[2]->type);

		cpu_broadcast_strides(&c, &mm.y, sc);
	}
	for (int64_t i = 0; i < mm.y.count; i++) {
		double sum = attrs->alpha * matmul_result(&mm, i);

		if (has_bias)
			sum += attrs->beta * cpu_load(dtype, in[2], cpu_offset(&mm.y, i, sc));
		cpu_store(dtype, out[0], i, cpu_apply_unary(&attrs->act, sum));
	}
}

/*
 * Returns an element of the second operand, dequantised and rounded to the type of the first
 * operand.
 */
static double weight_at(const struct ir_node *node, const void *const *in, int64_t i)
{
	const struct ir_type *type = &node->operands[1]->type, *scales = &node->operands[2]->type;
	struct cpu_shape shape = cpu_shape_of(type), scale = cpu_shape_of(scales);
	int64_t k = cpu_block_offset(&shape, &scale, i);
	int64_t difference =
		cpu_load_int(type->dtype, in[1], i) - cpu_load_int(type->dtype, in[3], k);
	double rounded; /* memory for one element of any type */

	cpu_store(scales->dtype, &rounded, 0,
		  (double)difference * cpu_load(scales->dtype, in[2], k));
	return cpu_load(scales->dtype, &rounded, 0);
}

void cpu_ref_wmatmul(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	bool has_bias = node->num_operands > 4 && node->operands[4];
	enum ir_dtype dtype = node->results[0]->type.dtype;
	struct matmul mm = matmul_of(node, in);
	int64_t sc[IR_MAX_RANK] = { 0 };

	if (has_bias) {
		struct cpu_shape c = cpu_shape_of(&node->operands[4]->type);

		cpu_broadcast_strides(&c, &mm.y, sc);
	}
	for (int64_t i = 0; i < mm.y.count; i++) {
		int64_t ia = cpu_offset(&mm.y, i, mm.sa), ib = cpu_offset(&mm.y, i, mm.sb);
		double sum = 0;

		for (int64_t k = 0; k < mm.depth; k++)
			sum += factor_at(&mm.a, ia + k * mm.ka) *
			       weight_at(node, in, ib + k * mm.kb);
		sum *= attrs->alpha;
		if (has_bias)
			sum += attrs->beta * cpu_load(dtype, in[4], cpu_offset(&mm.y, i, sc));
		cpu_store(dtype, out[0], i, cpu_apply_unary(&attrs->act, sum));
	}
}

void cpu_ref_qmatmul(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct matmul mm = matmul_of(node, in);

	mm.a.zero = node->attrs.qmatmul.integer.a_zero;
	mm.b.zero = node->attrs.qmatmul.integer.b_zero;
	for (int64_t i = 0; i < mm.y.count; i++)
		store_integer(node, in, out, i, matmul_result(&mm, i), i % mm.y.dim[mm.y.rank - 1]);
}

struct pool {
	const struct ir_pool_attrs *attrs;
	enum ir_dtype dtype;
	struct picture x;
	const void *in;
};

/*
 * The taps of a window that lie inside the image along one axis: from `first` to before `end`;
 * `next` is the next tap to visit.
 */
struct span {
	int64_t first, end, next;
};

/*
 * Returns the taps of result `out` that lie inside the image, which has `in` elements along the
 * axis. It does not visit all taps, because padding may make a window much larger than the image.
 */
static struct span span_of(const struct ir_pool_attrs *a, int axis, int64_t out, int64_t in)
{
	int64_t dilation = a->dilations[axis];
	int64_t start = out * a->strides[axis] - a->padding[axis * 2];
	struct span span = { 0 };

	if (start < 0)
		span.first = (-start + dilation - 1) / dilation;
	if (start < in)
		span.end = (in - 1 - start) / dilation + 1;
	if (span.end > a->window[axis])
		span.end = a->window[axis];
	span.next = span.first;
	return span;
}

/*
 * One window: offset of the image's first element, row and column at which the window begins, its
 * taps.
 */
struct window {
	int64_t base, row, col;
	struct span h, w;
};

static struct window window_of(const struct pool *p, int64_t base, int64_t h, int64_t w)
{
	const struct ir_pool_attrs *a = p->attrs;

	return (struct window){
		.base = base,
		.row = h * a->strides[0] - a->padding[0],
		.col = w * a->strides[1] - a->padding[2],
		.h = span_of(a, 0, h, p->x.h),
		.w = span_of(a, 1, w, p->x.w),
	};
}

/* Returns the offset of the window's next element; -1 at the end. */
static int64_t window_next(const struct pool *p, struct window *win)
{
	int64_t ih, iw;

	if (win->w.next >= win->w.end) {
		win->w.next = win->w.first;
		win->h.next++;
	}
	if (win->h.next >= win->h.end || win->w.next >= win->w.end)
		return -1;
	ih = win->row + win->h.next * p->attrs->dilations[0];
	iw = win->col + win->w.next++ * p->attrs->dilations[1];
	return win->base + ih * p->x.sh + iw * p->x.sw;
}

static double pool_float(const struct pool *p, struct window win)
{
	double sum = 0, square = 0, max = -INFINITY;
	int64_t count = 0, at;

	while ((at = window_next(p, &win)) >= 0) {
		double x = cpu_load(p->dtype, p->in, at);

		count++;
		sum += x;
		square += x * x;
		max = isnan(max) || max > x ? max : x;
	}
	if (p->attrs->counts_padding)
		count = (int64_t)p->attrs->window[0] * p->attrs->window[1];
	switch (p->attrs->kind) {
	case IR_POOL_MAX:
		return max;
	case IR_POOL_AVERAGE:
		return count ? sum / (double)count : 0;
	default:
		return sqrt(square);
	}
}

static int64_t pool_int_max(const struct pool *p, struct window win)
{
	static const int64_t lowest[] = {
		[IR_I8] = INT8_MIN, [IR_I32] = INT32_MIN, [IR_I64] = INT64_MIN, [IR_U64] = 0, [IR_U8] = 0
	};
	int64_t max = lowest[p->dtype], at;

	while ((at = window_next(p, &win)) >= 0) {
		int64_t x = cpu_load_int(p->dtype, p->in, at);

		max = cpu_compare_int(p->dtype, x, max) > 0 ? x : max;
	}
	return max;
}

void cpu_ref_pool(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct pool p = {
		.attrs = &node->attrs.pool,
		.dtype = node->operands[0]->type.dtype,
		.x = picture_of(&node->operands[0]->type, node->attrs.pool.layout),
		.in = in[0],
	};
	struct picture y = picture_of(&node->results[0]->type, p.attrs->layout);

	for (int64_t n = 0; n < y.n; n++)
		for (int64_t c = 0; c < y.c; c++)
			for (int64_t h = 0; h < y.h; h++)
				for (int64_t w = 0; w < y.w; w++) {
					struct window win =
						window_of(&p, n * p.x.sn + c * p.x.sc, h, w);
					int64_t at = n * y.sn + c * y.sc + h * y.sh + w * y.sw;

					if (ir_dtype_is_float(p.dtype))
						cpu_store(p.dtype, out[0], at, pool_float(&p, win));
					else
						cpu_store_int(p.dtype, out[0], at,
							      pool_int_max(&p, win));
				}
}

/*
 * Returns the sum of the integers in a window, without their zero points; *count becomes the
 * divisor of the average.
 */
static int64_t pool_int_sum(const struct pool *p, struct window win, int64_t zero, int64_t *count)
{
	int64_t sum = 0, at;

	for (*count = 0; (at = window_next(p, &win)) >= 0; ++*count)
		sum += cpu_load_int(p->dtype, p->in, at) - zero;
	if (p->attrs->counts_padding)
		*count = (int64_t)p->attrs->window[0] * p->attrs->window[1];
	return sum;
}

void cpu_ref_qpool(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_qpool_attrs *attrs = &node->attrs.qpool;
	enum ir_dtype dtype = node->results[0]->type.dtype;
	struct pool p = {
		.attrs = &attrs->pool,
		.dtype = node->operands[0]->type.dtype,
		.x = picture_of(&node->operands[0]->type, attrs->pool.layout),
		.in = in[0],
	};
	struct picture y = picture_of(&node->results[0]->type, attrs->pool.layout);

	for (int64_t i = 0; i < ir_type_elements(&node->results[0]->type); i++) {
		int64_t n = i / y.sn, c = i / y.sc % y.c, h = i / y.sh % y.h, w = i / y.sw % y.w;
		struct window win = window_of(&p, n * p.x.sn + c * p.x.sc, h, w);
		int64_t count, sum = pool_int_sum(&p, win, attrs->a_zero, &count);

		cpu_store_int(dtype, out[0], i,
			      cpu_average(dtype, sum, count, ((const float *)in[1])[0],
					  attrs->zero));
	}
}
