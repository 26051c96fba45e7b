// SPDX-License-Identifier: MIT
/*
 * Lowers convolutions, transposed convolutions and pools as contractions, in which a layout is a
 * choice of strides.
 */
#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/integer.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"
#include "util/malloc.h"

#include <math.h>
#include <string.h>

/*
 * Returns true if padding can make NaN on the NPU: the NPU multiplies weights by padding of zeros,
 * and 0 times an infinite weight is NaN; the CPU leaves padding out. Filters that are computed at
 * run time are not checked; constants whose bytes are not computed yet count as finite.
 */
static bool pads_infinity(const struct ir_node *node)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	const struct ir_value *filter = node->operands[1];
	const uint8_t *axes = ir_filter_axes(attrs->filter_layout);
	bool pads = false;

	/* A transposed window of several taps reaches beyond the input also without padding. */
	for (int i = 0; i < 4; i++)
		pads |= attrs->padding[i] ||
			(attrs->transposed && ir_type_dim(&filter->type, axes[2 + i / 2]) > 1);
	return pads && filter->constant && filter->constant->data &&
	       !ir_constant_finite(filter->constant, filter->type.dtype);
}

bool supports_conv(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;

	if (!supports_strides(attrs, reason) || !supports_contraction(node, &attrs->act, reason))
		return false;
	return !pads_infinity(node) ||
	       supports_not(
		       reason, NPU_REASON_OPERATOR,
		       "the convolution is padded or transposed, and its weights have an infinity "
		       "or NaN, which the NPU multiplies by zeros around the input to NaN: make "
		       "the weights finite");
}

#define MAX_PADDED_TAPS 65536
#define WHOLE_FLOATS	((int64_t)1 << 24) /* float32 represents all integers up to this one */

bool supports_pool(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_pool_attrs *attrs = &node->attrs.pool;
	const struct ir_type *input = &node->operands[0]->type;
	uint32_t h = attrs->layout == IR_NHWC ? 1 : 2;
	enum ir_dtype dtype = input->dtype;

	/* The machine iterates over all taps, also over taps that reach only padding. */
	if ((uint64_t)attrs->window[0] * attrs->window[1] > MAX_PADDED_TAPS &&
	    (attrs->window[0] > ir_type_dim(input, h) ||
	     attrs->window[1] > ir_type_dim(input, h + 1)))
		return supports_not(
			reason, NPU_REASON_SIZE,
			"the pool's window is larger than its input and has more than 65536 "
			"elements, the most that the NPU takes in such a window: make it smaller");
	if (node->op == IR_OP_QPOOL)
		return true;
	if (attrs->kind != IR_POOL_MAX && !supports_is_float(node->operands[0]))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU computes average and L2 pools only of float32 and float16: cast "
			"the input");
	return supports_insn_takes(ONPU_OP_WIN_MAX, dtype) ||
	       supports_not(
		       reason, NPU_REASON_DATA_TYPE,
		       "internal error, please report it: the NPU computes no max pools of this "
		       "data type");
}

/* Sets axis[] to the axes of an image operand in the order N, C, H, W. */
static void image_axes(enum ir_layout layout, uint32_t axis[4])
{
	static const uint32_t axes[2][4] = { { 0, 1, 2, 3 }, { 0, 3, 1, 2 } };

	memcpy(axis, axes[layout == IR_NHWC], sizeof(axes[0]));
}

static struct npu_view five_dims(const struct npu_view *from, const int64_t *dim,
				 const int64_t *stride)
{
	struct npu_view view = *from;

	view.rank = 5;
	memcpy(view.dim, dim, 5 * sizeof(*dim));
	memcpy(view.stride, stride, 5 * sizeof(*stride));
	return view;
}

/* Returns the view of an image as [g, n, h, w, c]: c is the channels of a group. */
static struct npu_view image_view(struct plan *plan, const struct ir_value *value,
				  enum ir_layout layout, int64_t groups)
{
	struct npu_view v = values_view(plan, value);
	uint32_t axis[4];
	int64_t channels;

	image_axes(layout, axis);
	channels = v.dim[axis[1]] / groups;
	return five_dims(
		&v, (int64_t[]){ groups, v.dim[axis[0]], v.dim[axis[2]], v.dim[axis[3]], channels },
		(int64_t[]){ channels * v.stride[axis[1]], v.stride[axis[0]], v.stride[axis[2]],
			     v.stride[axis[3]], v.stride[axis[1]] });
}

/*
 * Describes the filter as [g, kh, kw, k, n]. A constant that is not in SRAM has no address, as the
 * kernel packs it.
 */
static void set_filter(struct plan *plan, struct contract *c, const struct ir_value *value,
		       const struct ir_conv_attrs *attrs)
{
	struct npu_view v = { .dtype = plan_dtype(value->type.dtype), .rank = 4 };
	bool flip = attrs->transposed;
	int64_t stride[5], dim[5], bytes = plan_dtype_bytes(v.dtype), offset = 0;
	const uint8_t *axis = ir_filter_axes(attrs->filter_layout);
	bool packed = value->kind == IR_VALUE_CONSTANT && !values_pinned(plan, value);

	if (packed) {
		for (uint32_t i = 4; i-- > 0;) {
			v.dim[i] = ir_type_dim(&value->type, i);
			v.stride[i] = bytes;
			bytes *= v.dim[i];
		}
	} else {
		v = values_view(plan, value);
	}
	dim[CB_G] = attrs->groups;
	dim[CB_KH] = v.dim[axis[2]];
	dim[CB_KW] = v.dim[axis[3]];
	dim[CB_K] = attrs->transposed ? v.dim[axis[1]] / attrs->groups : v.dim[axis[1]];
	dim[CB_N] = attrs->transposed ? v.dim[axis[0]] : v.dim[axis[0]] / attrs->groups;
	stride[CB_G] = attrs->transposed ? dim[CB_K] * v.stride[axis[1]] :
					   dim[CB_N] * v.stride[axis[0]];
	stride[CB_KH] = v.stride[axis[2]];
	stride[CB_KW] = v.stride[axis[3]];
	stride[CB_K] = v.stride[axis[1]];
	stride[CB_N] = v.stride[axis[0]];
	for (int i = CB_KH; flip && i <= CB_KW; i++) {
		offset += (dim[i] - 1) * stride[i];
		stride[i] = -stride[i];
	}
	c->b = five_dims(&v, dim, stride);
	c->b.offset += offset;
	if (packed) {
		c->b_constant = value->constant;
		c->b_offset = offset;
	}
}

static void add_extra(struct contract *c, enum onpu_op op, const struct npu_view *mem, float scale)
{
	c->extra[c->num_extras] = (struct contract_extra){ .mem = *mem, .scale = scale };
	c->post[c->num_posts++] = (struct contract_post){ .op = op, .extra = c->num_extras++ };
}

/* Returns the view of one value per output channel, or one for all, as [g, 1, 1, 1, n]. */
static struct npu_view channel_view(struct plan *plan, const struct contract *c,
				    const struct ir_value *value)
{
	struct npu_view v = values_view(plan, value);
	int64_t n = c->dim[CD_N], stride = v.stride[0];

	if (v.dim[0] == 1)
		return five_dims(&v, (int64_t[]){ 1, 1, 1, 1, 1 }, (int64_t[5]){ 0 });
	return five_dims(&v, (int64_t[]){ c->dim[CD_G], 1, 1, 1, n },
			 (int64_t[]){ n * stride, 0, 0, 0, stride });
}

/*
 * Returns true if the vector unit computes the convolution: with few channels in a group, most of
 * the matrix unit would be idle.
 */
static bool is_depthwise(const struct contract *c)
{
	return c->k == 1 && c->dim[CD_G] > 1 && c->dim[CD_N] * c->taps[0] * c->taps[1] < 128 &&
	       c->dim[CD_N] <= 8;
}

static void set_result(struct contract *c)
{
	memcpy(c->dim, c->out.dim, sizeof(c->dim));
	c->in[0] = c->a.dim[CA_H];
	c->in[1] = c->a.dim[CA_W];
}

static void set_conv_geometry(struct contract *c, const struct ir_conv_attrs *attrs)
{
	c->k = c->a.dim[CA_K];
	for (int i = 0; i < 2; i++) {
		c->taps[i] = c->b.dim[CB_KH + i];
		c->dilation[i] = attrs->dilations[i];
		c->step[i] = attrs->transposed ? 1 : attrs->strides[i];
		c->up[i] = attrs->transposed ? attrs->strides[i] : 1;
		c->pad[i] = attrs->padding[2 * i];
		if (attrs->transposed)
			c->pad[i] = (c->taps[i] - 1) * c->dilation[i] - c->pad[i];
	}
}

/* Adds the addition that is fused with the convolution to the epilogue, with its activation. */
static void add_residual(struct plan *plan, struct contract *c, const struct ir_node *conv,
			 const struct ir_node *add)
{
	const struct ir_conv_attrs *attrs = &conv->attrs.conv;
	bool first = add->operands[0] == conv->results[0];
	struct npu_view other =
		image_view(plan, add->operands[first], attrs->layout, attrs->groups);

	add_extra(c, ONPU_OP_VADD, &other, 1);
	contract_add_function(c, &add->attrs.binary.act);
}

/* Adds a scale or zero point for all elements as a further operand; returns its index. */
static int scalar_extra(struct plan *plan, struct contract *c, const struct ir_value *value)
{
	struct npu_view v = values_view(plan, value);

	v = five_dims(&v, (int64_t[]){ 1, 1, 1, 1, 1 }, (int64_t[5]){ 0 });
	c->extra[c->num_extras] = (struct contract_extra){ .mem = v, .scale = 1 };
	return (int)c->num_extras++;
}

static void add_quantization(struct plan *plan, struct contract *c, enum onpu_op op,
			     struct ir_value *const *scale_and_zero)
{
	struct contract_post post = { .op = op };

	post.extra = scalar_extra(plan, c, scale_and_zero[0]);
	post.third = 1 + scalar_extra(plan, c, scale_and_zero[1]);
	c->post[c->num_posts++] = post;
}

/*
 * Adds the addition of integers that is fused with the convolution to the epilogue. It dequantises
 * the convolution's result, rounded as if it were stored, and the other operand, and quantises the
 * sum.
 */
static void add_integer_residual(struct plan *plan, struct contract *c, const struct ir_node *conv,
				 const struct ir_node *add)
{
	struct ir_value *const *sum = &add->operands[0], *const *other = &add->operands[3];
	const struct ir_conv_attrs *attrs = &conv->attrs.conv;
	struct contract_extra *extra;
	struct npu_view mem;

	if (sum[0] != conv->results[0]) {
		sum = &add->operands[3];
		other = &add->operands[0];
	}
	c->again = true;
	c->rounded_dtype = c->out.dtype;
	c->out.dtype = plan_dtype(add->results[0]->type.dtype);
	add_quantization(plan, c, ONPU_OP_DEQUANT, sum + 1);
	mem = image_view(plan, other[0], attrs->layout, attrs->groups);
	add_extra(c, ONPU_OP_VADD, &mem, 1);
	extra = &c->extra[c->num_extras - 1];
	extra->real_scale = 1 + scalar_extra(plan, c, other[1]);
	extra->real_zero = 1 + scalar_extra(plan, c, other[2]);
	contract_add_function(c, &add->attrs.binary.act);
	add_quantization(plan, c, ONPU_OP_QUANT, &add->operands[6]);
}

/* Chooses the instruction of a float convolution, and adds bias and activation. */
static void set_float(struct plan *plan, struct contract *c, const struct ir_node *node)
{
	bool half = c->a.dtype == ONPU_DT_F16;
	struct npu_view bias;

	if (is_depthwise(c)) {
		c->op = ONPU_OP_WIN_MAC;
		c->kernel = "win.mac";
	} else {
		c->op = half ? ONPU_OP_MMA_F16 : ONPU_OP_MMA_F32;
		c->kernel = half ? "mma.f16 taps" : "mma.f32 taps";
		c->piece = contract_piece(c->op, c->k, c->taps[0] * c->taps[1]);
	}
	if (node->num_operands > 2 && node->operands[2]) {
		bias = channel_view(plan, c, node->operands[2]);
		add_extra(c, ONPU_OP_VADD, &bias, 1);
	}
	contract_add_function(c, &node->attrs.conv.act);
}

static int32_t bias_at(const struct ir_node *node, int64_t channel)
{
	const struct ir_value *bias = integer_bias(node);

	if (!bias)
		return 0;
	return ((const int32_t *)
			bias->constant->data)[ir_type_elements(&bias->type) > 1 ? channel : 0];
}

/*
 * Returns true if the vector unit computes an integer convolution: all sums must be integers that
 * float32 represents exactly.
 */
static bool takes_windows(const struct contract *c, const struct ir_node *node)
{
	const struct ir_value *bias = integer_bias(node);
	int64_t most = c->taps[0] * c->taps[1] * UINT8_MAX * UINT8_MAX;

	if (!is_depthwise(c) || !c->b_constant || (bias && bias->kind != IR_VALUE_CONSTANT))
		return false;
	for (int64_t i = 0; i < c->dim[CD_G] * c->dim[CD_N]; i++) {
		int64_t b = bias_at(node, i);

		if (most + (b < 0 ? -b : b) >= WHOLE_FLOATS)
			return false;
	}
	return true;
}

/*
 * Returns the filter as float32, with the zero point subtracted, and makes it the filter of the
 * contraction. The caller releases it after the contraction is emitted. NULL: no memory.
 */
static struct ir_constant *real_filter(struct contract *c, const struct ir_node *node)
{
	const struct ir_value *filter = node->operands[1];
	int64_t count = ir_type_elements(&filter->type), zero = node->attrs.qconv.integer.b_zero;
	const uint8_t *bytes = filter->constant->data;
	float *real = wnn_malloc((size_t)count * sizeof(*real));

	for (int64_t i = 0; real && i < count; i++)
		real[i] =
			(float)((filter->type.dtype == IR_I8 ? (int8_t)bytes[i] : bytes[i]) - zero);
	c->b_constant = real ? ir_constant_own(real, (size_t)count * sizeof(*real)) : NULL;
	c->b_offset *= (int64_t)sizeof(*real);
	c->b.dtype = ONPU_DT_F32;
	for (int i = 0; i < 5; i++)
		c->b.stride[i] *= (int64_t)sizeof(*real);
	return c->b_constant;
}

/* Adds the bias as float32 to the constants; returns its view as [g, 1, 1, 1, n]. */
static struct npu_view real_bias(struct plan *plan, const struct contract *c,
				 const struct ir_node *node)
{
	int64_t n = c->dim[CD_N], count = c->dim[CD_G] * n;
	float *real = wnn_malloc((size_t)count * sizeof(*real));
	struct npu_view v = { .base = NPU_BASE_CONST, .dtype = ONPU_DT_F32 };

	if (!real) {
		plan_nomem(plan);
		return v;
	}
	for (int64_t i = 0; i < count; i++)
		real[i] = (float)bias_at(node, i);
	v.window_bytes = (uint64_t)count * sizeof(*real);
	v.window = plan_constant(plan, real, v.window_bytes);
	wnn_free(real);
	return five_dims(&v, (int64_t[]){ c->dim[CD_G], 1, 1, 1, n },
			 (int64_t[]){ 4 * n, 0, 0, 0, 4 });
}

/*
 * Chooses the instructions of an integer convolution. Returns a constant that the caller releases
 * after the contraction is emitted, or NULL.
 */
static struct ir_constant *set_integer(struct plan *plan, struct contract *c,
				       const struct ir_node *node)
{
	const struct ir_value *has_bias = integer_bias(node), *has_addend = integer_addend(node);
	struct npu_view scale = channel_view(plan, c, node->operands[2]), bias, addend;
	const struct integer_finish finish = {
		.attrs = &node->attrs.qconv.integer,
		.act = &node->attrs.conv.act,
		.scale = &scale,
		.bias = has_bias ? &bias : NULL,
		.addend = has_addend ? &addend : NULL,
	};
	struct ir_constant *filter = NULL;

	c->pad_value = (uint8_t)finish.attrs->a_zero;
	if (has_addend)
		addend = channel_view(plan, c, has_addend);
	if (takes_windows(c, node)) {
		if (has_bias)
			bias = real_bias(plan, c, node);
		filter = real_filter(c, node);
		if (!filter)
			plan_nomem(plan);
		integer_windows(plan, c, &finish);
	} else {
		if (has_bias)
			bias = channel_view(plan, c, has_bias);
		c->kernel = "int8 mma.i8 taps";
		integer_contract(plan, c, &finish);
	}
	return filter;
}

static void emit_conv(struct plan *plan, const struct ir_node *node, const struct ir_node *add)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	struct contract c = { .acc_dtype = ONPU_DT_F32 };
	struct ir_constant *filter = NULL;

	c.a = image_view(plan, node->operands[0], attrs->layout, attrs->groups);
	c.out = image_view(plan, node->results[0], attrs->layout, attrs->groups);
	set_filter(plan, &c, node->operands[1], attrs);
	set_result(&c);
	c.halo_value = values_halo(plan, node->operands[0], c.halo);
	set_conv_geometry(&c, attrs);
	if (node->op == IR_OP_QCONV)
		filter = set_integer(plan, &c, node);
	else
		set_float(plan, &c, node);
	if (add && add->op == IR_OP_QBINARY)
		add_integer_residual(plan, &c, node, add);
	else if (add)
		add_residual(plan, &c, node, add);
	if (plan->report.failed) {
		ir_constant_unref(filter);
		return;
	}
	if (phases_apply(&c)) {
		phases_emit(plan, &c);
	} else {
		plan_macs(plan, view_elements(&c.out) * c.k * c.taps[0] * c.taps[1]);
		contract_emit(plan, &c);
	}
	ir_constant_unref(filter);
}

void lower_conv(struct plan *plan, const struct ir_node *node)
{
	emit_conv(plan, node, NULL);
}

void lower_conv_add(struct plan *plan, const struct ir_node *conv, const struct ir_node *add)
{
	emit_conv(plan, conv, add);
}

/* ---- pools */

/* Returns the number of a window's taps that are inside the image along an axis, but at least 1. */
static int64_t taps_inside(const struct contract *c, int axis, int64_t out)
{
	int64_t at = out * c->step[axis] - c->pad[axis], step = c->dilation[axis];
	int64_t first = at < 0 ? (int64_t)wnn_div_up(-at, step) : 0;
	int64_t end = at < c->in[axis] ? (c->in[axis] - 1 - at) / step + 1 : 0;

	if (end > c->taps[axis])
		end = c->taps[axis];
	return end > first ? end - first : 1;
}

/*
 * Adds the division of an average to the epilogue: by one number when the same number of taps
 * counts in all windows, otherwise by a number for each position.
 */
static void add_divisors(struct plan *plan, struct contract *c, bool counts_padding)
{
	int64_t h = c->dim[CD_H], w = c->dim[CD_W];
	struct npu_view v = { .base = NPU_BASE_CONST, .dtype = ONPU_DT_F32 };
	float *table = wnn_malloc(h * w * sizeof(*table));
	bool same = true;
	uint64_t bytes;

	if (!table) {
		plan_nomem(plan);
		return;
	}
	for (int64_t i = 0; i < h * w; i++) {
		table[i] = counts_padding ?
				   (float)(c->taps[0] * c->taps[1]) :
				   (float)(taps_inside(c, 0, i / w) * taps_inside(c, 1, i % w));
		same &= table[i] == table[0];
	}
	bytes = (same ? 1 : h * w) * sizeof(*table);
	v = five_dims(&v, (int64_t[]){ 1, 1, same ? 1 : h, same ? 1 : w, 1 },
		      (int64_t[]){ 0, 0, same ? 0 : w * 4, same ? 0 : 4, 0 });
	v.window = plan_constant(plan, table, bytes);
	v.window_bytes = bytes;
	wnn_free(table);
	add_extra(c, ONPU_OP_VDIV, &v, 1);
}

/* Returns the bits of the smallest element of a type, with which a maximum is padded. */
static uint64_t lowest_bits(uint8_t dtype)
{
	switch (dtype) {
	case ONPU_DT_F32:
		return vp_f32(-INFINITY);
	case ONPU_DT_F16:
		return 0xfc00;
	case ONPU_DT_I8:
		return 0x80;
	case ONPU_DT_I32:
		return 0x80000000u;
	case ONPU_DT_I64:
		return 1ull << 63;
	default:
		return 0;
	}
}

static void set_pool_kind(struct plan *plan, struct contract *c, const struct ir_pool_attrs *attrs)
{
	switch (attrs->kind) {
	case IR_POOL_MAX:
		c->op = ONPU_OP_WIN_MAX;
		c->kernel = "win.max";
		c->acc_dtype = c->a.dtype;
		c->pad_value = lowest_bits(c->a.dtype);
		break;
	case IR_POOL_AVERAGE:
		c->op = ONPU_OP_WIN_SUM;
		c->kernel = "win.sum";
		add_divisors(plan, c, attrs->counts_padding);
		break;
	case IR_POOL_L2:
		c->op = ONPU_OP_WIN_SUMSQ;
		c->kernel = "win.sumsq";
		c->post[c->num_posts++] =
			(struct contract_post){ .op = ONPU_OP_VSQRT, .extra = -1 };
		break;
	}
}

#define LONG_COLUMN 1024 /* taps from which on a column takes too many instructions */

/*
 * Takes a long column, in an image that is one element wide, as a row: an instruction has many taps
 * of a row, but few rows.
 */
static void lay_down(struct contract *c)
{
	if (c->taps[0] < LONG_COLUMN || c->in[1] != 1 || c->taps[1] != 1 || c->dim[CD_W] != 1 ||
	    c->pad[1] || c->halo[1][0] || c->halo[1][1])
		return;
	view_swap_dims(&c->a, CD_H, CD_W);
	view_swap_dims(&c->out, CD_H, CD_W);
	set_result(c);
	c->taps[1] = c->taps[0];
	c->step[1] = c->step[0];
	c->dilation[1] = c->dilation[0];
	c->pad[1] = c->pad[0];
	memcpy(c->halo[1], c->halo[0], sizeof(c->halo[0]));
	c->taps[0] = c->step[0] = c->dilation[0] = 1;
	c->pad[0] = c->halo[0][0] = c->halo[0][1] = 0;
}

void lower_pool(struct plan *plan, const struct ir_node *node)
{
	const struct ir_pool_attrs *attrs = &node->attrs.pool;
	struct contract c = { .acc_dtype = ONPU_DT_F32, .k = 1, .up = { 1, 1 } };
	int64_t channels = node->results[0]->type.dim[attrs->layout == IR_NHWC ? 3 : 1].value;
	struct npu_view scale;

	c.a = image_view(plan, node->operands[0], attrs->layout, channels);
	c.out = image_view(plan, node->results[0], attrs->layout, channels);
	set_result(&c);
	c.halo_value = values_halo(plan, node->operands[0], c.halo);
	for (int i = 0; i < 2; i++) {
		c.taps[i] = attrs->window[i];
		c.step[i] = attrs->strides[i];
		c.dilation[i] = attrs->dilations[i];
		c.pad[i] = attrs->padding[2 * i];
	}
	lay_down(&c);
	if (node->op == IR_OP_QPOOL) {
		scale = values_view(plan, node->operands[1]);
		scale = five_dims(&scale, (int64_t[]){ 1, 1, 1, 1, 1 }, (int64_t[5]){ 0 });
		integer_average_begin(plan, &c, &node->attrs.qpool);
		add_divisors(plan, &c, attrs->counts_padding);
		integer_average_end(plan, &c, &node->attrs.qpool, &scale);
	} else {
		set_pool_kind(plan, &c, attrs);
	}
	contract_emit(plan, &c);
}
