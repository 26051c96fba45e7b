// SPDX-License-Identifier: MIT
/*
 * Fast convolution for float32: a matrix product per image and group, over a copy of the windows (im2col) unless the
 * filter is 1x1; depthwise filters directly.
 */
#include <string.h>

#include "cpu/fast.h"

struct geometry {
	const struct ir_conv_attrs *attrs;
	int64_t batch, in_c, in_h, in_w, out_c, out_h, out_w;
	int64_t kh, kw, in_per_group, out_per_group;
	bool nhwc;
};

/* Index of o, i, h, w in a filter layout. */
static const uint8_t filter_axes[][4] = {
	[IR_OIHW] = { 0, 1, 2, 3 }, [IR_HWIO] = { 3, 2, 0, 1 }, [IR_OHWI] = { 0, 3, 1, 2 },
	[IR_IHWO] = { 3, 0, 1, 2 },
};

static struct geometry geometry_of(const struct ir_node *node)
{
	const struct ir_type *x = &node->operands[0]->type, *f = &node->operands[1]->type;
	const struct ir_type *y = &node->results[0]->type;
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	bool nhwc = attrs->layout == IR_NHWC;
	const uint8_t *axes = filter_axes[attrs->filter_layout];
	int c = nhwc ? 3 : 1, h = nhwc ? 1 : 2;

	return (struct geometry){
		.attrs = attrs,
		.batch = ir_type_dim(x, 0),
		.in_c = ir_type_dim(x, c), .in_h = ir_type_dim(x, h), .in_w = ir_type_dim(x, h + 1),
		.out_c = ir_type_dim(y, c), .out_h = ir_type_dim(y, h),
		.out_w = ir_type_dim(y, h + 1),
		.kh = ir_type_dim(f, axes[2]), .kw = ir_type_dim(f, axes[3]),
		.in_per_group = ir_type_dim(x, c) / attrs->groups,
		.out_per_group = ir_type_dim(y, c) / attrs->groups,
		.nhwc = nhwc,
	};
}

/* Copies the filter to [o][h][w][i] (nhwc) or [o][i][h][w] (nchw). */
static void pack_filter(const struct geometry *g, const struct ir_type *type, const float *from,
			float *to)
{
	const uint8_t *axes = filter_axes[g->attrs->filter_layout];
	int64_t stride[4] = { 0 }, s = 1, at[4];

	for (int i = 3; i >= 0; i--) {
		for (int a = 0; a < 4; a++)
			if (axes[a] == i)
				stride[a] = s;
		s *= ir_type_dim(type, (uint32_t)i);
	}
	at[0] = g->out_c;
	at[1] = g->nhwc ? g->kh : g->in_per_group;
	at[2] = g->nhwc ? g->kw : g->kh;
	at[3] = g->nhwc ? g->in_per_group : g->kw;
	for (int64_t o = 0; o < at[0]; o++)
		for (int64_t p = 0; p < at[1]; p++)
			for (int64_t q = 0; q < at[2]; q++)
				for (int64_t r = 0; r < at[3]; r++) {
					int64_t i = g->nhwc ? r : p, h = g->nhwc ? p : q;
					int64_t w = g->nhwc ? q : r;

					*to++ = from[o * stride[0] + i * stride[1] +
						     h * stride[2] + w * stride[3]];
				}
}

/* Rows of one output line: [out_w][kh][kw][channels of the group]. */
static void windows_nhwc(const struct geometry *g, const float *x, int64_t oh, float *to)
{
	const struct ir_conv_attrs *a = g->attrs;
	size_t run = (size_t)g->in_per_group * sizeof(float);

	for (int64_t ow = 0; ow < g->out_w; ow++)
		for (int64_t kh = 0; kh < g->kh; kh++) {
			int64_t ih = oh * a->strides[0] + kh * a->dilations[0] - a->padding[0];

			for (int64_t kw = 0; kw < g->kw; kw++, to += g->in_per_group) {
				int64_t iw = ow * a->strides[1] + kw * a->dilations[1] -
					     a->padding[2];

				if (ih < 0 || ih >= g->in_h || iw < 0 || iw >= g->in_w)
					memset(to, 0, run);
				else
					memcpy(to, x + (ih * g->in_w + iw) * g->in_c, run);
			}
		}
}

/* [channel][kh][kw][out_h * out_w] of one group. */
static void windows_nchw(const struct geometry *g, const float *x, float *to)
{
	const struct ir_conv_attrs *a = g->attrs;

	for (int64_t c = 0; c < g->in_per_group; c++)
		for (int64_t kh = 0; kh < g->kh; kh++)
			for (int64_t kw = 0; kw < g->kw; kw++)
				for (int64_t oh = 0; oh < g->out_h; oh++) {
					int64_t ih = oh * a->strides[0] + kh * a->dilations[0] -
						     a->padding[0];
					const float *row = x + (c * g->in_h + ih) * g->in_w;

					for (int64_t ow = 0; ow < g->out_w; ow++) {
						int64_t iw = ow * a->strides[1] +
							     kw * a->dilations[1] - a->padding[2];
						bool in = ih >= 0 && ih < g->in_h && iw >= 0 &&
							  iw < g->in_w;

						*to++ = in ? row[iw] : 0;
					}
				}
}

static bool pointwise(const struct geometry *g)
{
	const struct ir_conv_attrs *a = g->attrs;

	return g->kh == 1 && g->kw == 1 && a->strides[0] == 1 && a->strides[1] == 1 &&
	       !a->padding[0] && !a->padding[1] && !a->padding[2] && !a->padding[3];
}

static void finish(const struct geometry *g, const float *bias, float *y)
{
	int64_t plane = g->out_h * g->out_w;

	if (g->nhwc) {
		for (int64_t p = 0; bias && p < plane; p++)
			for (int64_t c = 0; c < g->out_c; c++)
				y[p * g->out_c + c] += bias[c];
	} else {
		for (int64_t c = 0; bias && c < g->out_c; c++)
			for (int64_t p = 0; p < plane; p++)
				y[c * plane + p] += bias[c];
	}
	cpu_activate(&g->attrs->act, y, g->out_c * plane);
}

/* One image in nhwc: lines of windows are multiplied as soon as a block of them is there. */
static void image_nhwc(struct cpu_context *cpu, const struct geometry *g, const float *x,
		       const float *filter, float *y, float *cols)
{
	int64_t depth = g->kh * g->kw * g->in_per_group, lines = g->out_h;

	for (int64_t group = 0; group < g->attrs->groups; group++) {
		const float *in = x + group * g->in_per_group;
		const float *f = filter + group * g->out_per_group * depth;
		float *out = y + group * g->out_per_group;

		if (pointwise(g)) {
			cpu_sgemm(cpu, false, true, g->out_h * g->out_w, g->out_per_group, depth, 1,
				  in, g->in_c, f, depth, 0, out, g->out_c);
			continue;
		}
		for (int64_t oh = 0; oh < lines; oh++)
			windows_nhwc(g, in, oh, cols + oh * g->out_w * depth);
		cpu_sgemm(cpu, false, true, lines * g->out_w, g->out_per_group, depth, 1, cols,
			  depth, f, depth, 0, out, g->out_c);
	}
}

static void image_nchw(struct cpu_context *cpu, const struct geometry *g, const float *x,
		       const float *filter, float *y, float *cols)
{
	int64_t depth = g->kh * g->kw * g->in_per_group, plane = g->out_h * g->out_w;

	for (int64_t group = 0; group < g->attrs->groups; group++) {
		const float *in = x + group * g->in_per_group * g->in_h * g->in_w;

		if (!pointwise(g))
			windows_nchw(g, in, cols);
		cpu_sgemm(cpu, false, false, g->out_per_group, plane, depth, 1,
			  filter + group * g->out_per_group * depth, depth,
			  pointwise(g) ? in : cols, plane, 0,
			  y + group * g->out_per_group * plane, plane);
	}
}

static int conv_gemm(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	struct geometry g = geometry_of(node);
	int64_t depth = g.kh * g.kw * g.in_per_group;
	int64_t weights = g.out_c * depth;
	int64_t windows = pointwise(&g) ? 0 : g.out_h * g.out_w * depth;
	float *scratch = cpu_scratch(cpu, (size_t)(weights + windows + 1) * sizeof(float));
	const float *filter = in[1];

	if (!scratch)
		return wnn_error_nomem(err, "the windows of a convolution");
	if (g.attrs->filter_layout != (g.nhwc ? IR_OHWI : IR_OIHW)) {
		pack_filter(&g, &node->operands[1]->type, in[1], scratch);
		filter = scratch;
	}
	for (int64_t n = 0; n < g.batch; n++) {
		const float *x = (const float *)in[0] + n * g.in_c * g.in_h * g.in_w;
		float *y = (float *)out[0] + n * g.out_c * g.out_h * g.out_w;

		if (g.nhwc)
			image_nhwc(cpu, &g, x, filter, y, scratch + weights);
		else
			image_nchw(cpu, &g, x, filter, y, scratch + weights);
		finish(&g, node->num_operands > 2 ? in[2] : NULL, y);
	}
	return 0;
}

static void depthwise_nhwc(const struct geometry *g, const float *x, const float *filter, float *y)
{
	const struct ir_conv_attrs *a = g->attrs;

	for (int64_t oh = 0; oh < g->out_h; oh++)
		for (int64_t ow = 0; ow < g->out_w; ow++, y += g->out_c) {
			memset(y, 0, (size_t)g->out_c * sizeof(*y));
			for (int64_t k = 0; k < g->kh * g->kw; k++) {
				int64_t ih = oh * a->strides[0] + k / g->kw * a->dilations[0] -
					     a->padding[0];
				int64_t iw = ow * a->strides[1] + k % g->kw * a->dilations[1] -
					     a->padding[2];
				const float *p = x + (ih * g->in_w + iw) * g->in_c;
				const float *f = filter + k * g->out_c;

				if (ih < 0 || ih >= g->in_h || iw < 0 || iw >= g->in_w)
					continue;
				for (int64_t c = 0; c < g->out_c; c++)
					y[c] += p[c] * f[c];
			}
		}
}

/* First and one past the last output whose tap `k` lies inside a line of n inputs. */
static void tap_range(int64_t k, int64_t dilation, int64_t pad, int64_t stride, int64_t n, int64_t out,
		      int64_t *first, int64_t *end)
{
	int64_t at = k * dilation - pad;

	*first = at >= 0 ? 0 : (-at + stride - 1) / stride;
	*end = n - 1 - at < 0 ? 0 : (n - 1 - at) / stride + 1;
	if (*end > out)
		*end = out;
	if (*first > *end)
		*first = *end;
}

static void depthwise_plane(const struct geometry *g, const float *x, const float *filter, float *y)
{
	const struct ir_conv_attrs *a = g->attrs;
	int64_t h0, h1, w0, w1, stride = a->strides[1];

	memset(y, 0, (size_t)(g->out_h * g->out_w) * sizeof(*y));
	for (int64_t kh = 0; kh < g->kh; kh++) {
		tap_range(kh, a->dilations[0], a->padding[0], a->strides[0], g->in_h, g->out_h, &h0,
			  &h1);
		for (int64_t kw = 0; kw < g->kw; kw++) {
			float f = filter[kh * g->kw + kw];

			tap_range(kw, a->dilations[1], a->padding[2], stride, g->in_w, g->out_w,
				  &w0, &w1);
			for (int64_t oh = h0; oh < h1; oh++) {
				int64_t ih = oh * a->strides[0] + kh * a->dilations[0] -
					     a->padding[0];
				const float *row = x + ih * g->in_w + kw * a->dilations[1] -
						   a->padding[2];
				float *to = y + oh * g->out_w;

				for (int64_t ow = w0; ow < w1; ow++)
					to[ow] += row[ow * stride] * f;
			}
		}
	}
}

static int conv_depthwise(struct cpu_context *cpu, const struct ir_node *node,
			  const void *const *in, void *const *out, struct wnn_error *err)
{
	struct geometry g = geometry_of(node);
	int64_t taps = g.kh * g.kw, plane = g.out_h * g.out_w;
	float *packed = cpu_scratch(cpu, (size_t)(2 * g.out_c * taps) * sizeof(float));
	float *by_tap = packed + g.out_c * taps;

	if (!packed)
		return wnn_error_nomem(err, "a depthwise filter");
	pack_filter(&g, &node->operands[1]->type, in[1], packed);
	for (int64_t c = 0; c < g.out_c; c++)
		for (int64_t k = 0; k < taps; k++)
			by_tap[k * g.out_c + c] = packed[c * taps + k];
	for (int64_t n = 0; n < g.batch; n++) {
		const float *x = (const float *)in[0] + n * g.in_c * g.in_h * g.in_w;
		float *y = (float *)out[0] + n * g.out_c * plane;

		if (g.nhwc)
			depthwise_nhwc(&g, x, by_tap, y);
		for (int64_t c = 0; !g.nhwc && c < g.out_c; c++)
			depthwise_plane(&g, x + c * g.in_h * g.in_w, packed + c * taps,
					y + c * plane);
		finish(&g, node->num_operands > 2 ? in[2] : NULL, y);
	}
	return 0;
}

const struct cpu_fast_kernel *cpu_fast_find_conv(const struct ir_node *node)
{
	static const struct cpu_fast_kernel gemm = { "cpu/conv-openblas", conv_gemm };
	static const struct cpu_fast_kernel depthwise = { "cpu/conv-depthwise", conv_depthwise };
	struct geometry g;

	if (node->results[0]->type.dtype != IR_F32 || node->attrs.conv.transposed)
		return NULL;
	g = geometry_of(node);
	return g.in_per_group == 1 && g.out_per_group == 1 ? &depthwise : &gemm;
}
