// SPDX-License-Identifier: MIT
/*
 * Compares random nodes on the fast kernels with the reference; the allowed difference is the error
 * of float32 sums of that length. A node that no fast kernel takes fails the test, as nothing would
 * be compared.
 */
#include "rig.h"

#include <math.h>
#include <string.h>

#include <cblas.h>

static void add(struct rig *rig, uint32_t rank, const int64_t *dims)
{
	rig_add(rig, IR_F32, rank, dims);
}

static bool compare(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, uint32_t rank,
		    const int64_t *dims, double tolerance)
{
	struct ir_type type = ir_type_make(IR_F32, rank, dims);

	return rig_compare(rig, op, attrs, 1, &type, tolerance);
}

/* Returns the output size of one axis, 0 if the window does not fit. */
static int64_t out_size(int64_t in, uint32_t k, uint32_t dilation, uint32_t stride, uint32_t p0,
			uint32_t p1)
{
	int64_t span = (int64_t)(k - 1) * dilation + 1, room = in + p0 + p1 - span;

	return room < 0 ? 0 : room / stride + 1;
}

static void place4(enum ir_layout layout, int64_t *dims, int64_t n, int64_t c, int64_t h, int64_t w)
{
	int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	memcpy(dims, layout == IR_NCHW ? nchw : nhwc, sizeof(nchw));
}

static bool conv_round(void)
{
	static const uint8_t axes[][4] = {
		{ 0, 1, 2, 3 }, { 3, 2, 0, 1 }, { 0, 3, 1, 2 }, { 3, 0, 1, 2 }
	};
	union ir_attrs attrs = { 0 };
	struct ir_conv_attrs *a = &attrs.conv;
	int64_t x[4], f[4], y[4], parts[4], c_in, c_out, h, w, oh, ow;
	uint32_t k[2] = { between(1, 4), between(1, 4) }, batch = between(1, 2);
	bool depthwise = random_below(3) == 0;
	struct rig rig;

	for (int i = 0; i < 4; i++)
		a->padding[i] = random_below(3);
	for (int i = 0; i < 2; i++) {
		a->strides[i] = between(1, 3);
		a->dilations[i] = between(1, 2);
	}
	if (random_below(3) == 0) {
		k[0] = k[1] = a->strides[0] = a->strides[1] = 1;
		memset(a->padding, 0, sizeof(a->padding));
	}
	a->groups = between(1, 3);
	c_in = a->groups * between(1, random_below(4) ? 5 : 40);
	c_out = a->groups * between(1, random_below(4) ? 6 : 80);
	/* oneDNN takes groups with these numbers of channels. */
	if (random_below(8) == 0) {
		c_in = a->groups * 16;
		c_out = a->groups * 16 * between(1, 2);
	}
	if (depthwise) {
		a->groups = between(2, 20);
		c_in = c_out = a->groups;
	}
	a->layout = random_below(2) ? IR_NCHW : IR_NHWC;
	a->filter_layout = (enum ir_filter_layout)random_below(4);
	a->act = rig_random_act();
	h = between(1, random_below(4) ? 12 : 24);
	w = between(1, random_below(4) ? 12 : 60);
	/* The rows are cut into several slices, also with strides. */
	if (a->layout == IR_NHWC && random_below(4) == 0) {
		h = between(20, 50);
		w = between(10, 30);
	}
	/* The channels are cut into several slices, as the filter is larger than the input. */
	if (random_below(8) == 0) {
		a->groups = 1;
		c_in = between(20, 60);
		c_out = 64 * between(2, 4) - random_below(9);
		h = between(2, 6);
		w = between(2, 6);
	}
	/* Sums take several steps, also with 1x1 filters. */
	if (random_below(8) == 0) {
		a->groups = 1;
		c_in = between(250, 530);
		c_out = between(1, 20);
		h = between(3, 6);
		w = between(3, 6);
	}
	oh = out_size(h, k[0], a->dilations[0], a->strides[0], a->padding[0], a->padding[1]);
	ow = out_size(w, k[1], a->dilations[1], a->strides[1], a->padding[2], a->padding[3]);
	if (!oh || !ow)
		return true;
	rig_init(&rig);
	place4(a->layout, x, batch, c_in, h, w);
	place4(a->layout, y, batch, c_out, oh, ow);
	parts[0] = c_out;
	parts[1] = c_in / a->groups;
	parts[2] = k[0];
	parts[3] = k[1];
	for (int i = 0; i < 4; i++)
		f[axes[a->filter_layout][i]] = parts[i];
	add(&rig, 4, x);
	add(&rig, 4, f);
	if (random_below(2))
		add(&rig, 1, &c_out);
	return compare(&rig, IR_OP_CONV, &attrs, 4, y, 1e-5);
}

/*
 * Compares a random depthwise 3x3 convolution of 8 channels or more with the reference, if the
 * window fits; returns false when only the reference takes the node.
 */
static bool depthwise_round(void)
{
	union ir_attrs attrs = { .conv = { .layout = random_below(2) ? IR_NCHW : IR_NHWC,
					   .filter_layout = IR_OHWI,
					   .act = rig_random_act() } };
	struct ir_conv_attrs *a = &attrs.conv;
	int64_t n = between(8, 50), in[2], out[2], x[4], y[4];
	struct rig rig;

	a->groups = (uint32_t)n;
	for (int i = 0; i < 2; i++) {
		in[i] = between(1, 17);
		a->strides[i] = between(1, 3);
		a->dilations[i] = between(1, random_below(4) ? 1 : 2);
		a->padding[2 * i] = random_below(4);
		a->padding[2 * i + 1] = random_below(4);
		out[i] = out_size(in[i], 3, a->dilations[i], a->strides[i], a->padding[2 * i],
				  a->padding[2 * i + 1]);
		if (!out[i])
			return true;
	}
	rig_init(&rig);
	place4(a->layout, x, 2, n, in[0], in[1]);
	place4(a->layout, y, 2, n, out[0], out[1]);
	add(&rig, 4, x);
	add(&rig, 4, (int64_t[]){ n, 3, 3, 1 });
	if (random_below(2))
		add(&rig, 1, &n);
	return compare(&rig, IR_OP_CONV, &attrs, 4, y, 1e-5);
}

/*
 * Compares a random transposed convolution with the reference, if it has results; returns false
 * when only the reference takes the node. The filter's "output channels" are those of one group.
 */
static bool transposed_round(void)
{
	static const uint8_t axes[][4] = {
		{ 0, 1, 2, 3 }, { 3, 2, 0, 1 }, { 0, 3, 1, 2 }, { 3, 0, 1, 2 }
	};
	union ir_attrs attrs = { 0 };
	struct ir_conv_attrs *a = &attrs.conv;
	int64_t x[4], f[4], y[4], parts[4], in[2], out[2];
	int64_t c_in = between(1, random_below(8) ? 5 : 150), c_out = between(1, 20);
	struct rig rig;

	a->transposed = true;
	a->groups = between(1, 3);
	a->layout = random_below(2) ? IR_NCHW : IR_NHWC;
	a->filter_layout = (enum ir_filter_layout)random_below(4);
	a->act = rig_random_act();
	for (int i = 0; i < 2; i++) {
		uint32_t k = between(1, random_below(4) ? 4 : 9);
		int64_t span;

		a->strides[i] = between(1, 4);
		a->dilations[i] = between(1, 3);
		a->padding[2 * i] = random_below(6);
		a->padding[2 * i + 1] = random_below(6);
		in[i] = between(1, c_in > 5 || random_below(4) ? 9 : 40);
		span = (in[i] - 1) * a->strides[i] + (int64_t)(k - 1) * a->dilations[i] + 1;
		out[i] = span - a->padding[2 * i] - a->padding[2 * i + 1] +
			 (int64_t)random_below(a->strides[i]);
		parts[2 + i] = k;
		if (out[i] <= 0)
			return true;
	}
	parts[0] = c_out;
	parts[1] = c_in * a->groups;
	for (int i = 0; i < 4; i++)
		f[axes[a->filter_layout][i]] = parts[i];
	c_out *= a->groups;
	place4(a->layout, x, between(1, 2), parts[1], in[0], in[1]);
	place4(a->layout, y, x[0], c_out, out[0], out[1]);
	rig_init(&rig);
	add(&rig, 4, x);
	add(&rig, 4, f);
	if (random_below(2))
		add(&rig, 1, &c_out);
	return compare(&rig, IR_OP_CONV, &attrs, 4, y, 1e-5);
}

static bool pool_round(void)
{
	union ir_attrs attrs = { 0 };
	struct ir_pool_attrs *a = &attrs.pool;
	int64_t x[4], y[4], oh, ow, c = between(1, 20), h = between(1, 12), w = between(1, 70);
	struct rig rig;
	bool integers = random_below(3) == 0;
	struct ir_type type;

	a->kind = (enum ir_pool)random_below(3);
	a->layout = random_below(2) ? IR_NCHW : IR_NHWC;
	a->counts_padding = random_below(2);
	for (int i = 0; i < 2; i++) {
		a->window[i] = between(1, 3);
		a->strides[i] = between(1, 3);
		a->dilations[i] = between(1, 2);
		a->padding[2 * i] = random_below(a->window[i]);
		a->padding[2 * i + 1] = random_below(a->window[i]);
	}
	if (integers) {
		a->kind = IR_POOL_MAX;
		a->dilations[0] = a->dilations[1] = 1;
	}
	if (random_below(8) == 0) { /* the window is the whole image */
		memset(a->padding, 0, sizeof(a->padding));
		h = a->window[0] = between(1, 12);
		w = a->window[1] = between(1, 12);
	}
	oh = out_size(h, a->window[0], a->dilations[0], a->strides[0], a->padding[0],
		      a->padding[1]);
	ow = out_size(w, a->window[1], a->dilations[1], a->strides[1], a->padding[2],
		      a->padding[3]);
	/* No fast kernel takes windows that are much larger than the image. */
	if (!oh || !ow || a->window[0] > 2 * h || a->window[1] > 2 * w)
		return true;
	/* A window in the padding alone has no largest integer. */
	if (integers && ((oh - 1) * a->strides[0] >= h + a->padding[0] ||
			 (ow - 1) * a->strides[1] >= w + a->padding[2]))
		return true;
	rig_init(&rig);
	place4(a->layout, x, 2, c, h, w);
	place4(a->layout, y, 2, c, oh, ow);
	if (integers) {
		type = ir_type_make(random_below(2) ? IR_U8 : IR_I8, 4, y);
		rig_add(&rig, type.dtype, 4, x);
		return rig_compare(&rig, IR_OP_POOL, &attrs, 1, &type, 0);
	}
	add(&rig, 4, x);
	return compare(&rig, IR_OP_POOL, &attrs, 4, y, 1e-6);
}

static bool matmul_round(void)
{
	union ir_attrs attrs = { 0 };
	struct ir_matmul_attrs *a = &attrs.matmul;
	int64_t m = random_below(3) ? between(1, random_below(2) ? 20 : 70) : 1;
	int64_t n = between(1, 90), k = between(1, 70);
	int64_t b0 = between(1, 4);
	int64_t b1 = between(1, 2), x[4], f[4], y[4], bias[2];
	struct rig rig;

	a->a_transpose = random_below(2);
	a->b_transpose = random_below(2);
	a->alpha = random_below(4) ? 1 : 0.5f;
	a->beta = random_below(4) ? 1 : 2;
	a->act = rig_random_act();
	memcpy(x,
	       (int64_t[]){ b0, random_below(2) ? b1 : 1, a->a_transpose ? k : m,
			    a->a_transpose ? m : k },
	       sizeof(x));
	memcpy(f,
	       (int64_t[]){ random_below(2) ? b0 : 1, b1, a->b_transpose ? n : k,
			    a->b_transpose ? k : n },
	       sizeof(f));
	memcpy(y, (int64_t[]){ b0, b1, m, n }, sizeof(y));
	rig_init(&rig);
	add(&rig, 4, x);
	if (random_below(2))
		add(&rig, 4, f);
	else
		add(&rig, 2, f + 2);
	bias[0] = random_below(2) ? m : 1;
	bias[1] = random_below(2) ? n : 1;
	if (random_below(3))
		add(&rig, 2, bias);
	else
		rig_skip(&rig);
	return compare(&rig, IR_OP_MATMUL, &attrs, 4, y, 1e-5);
}

/*
 * Draws @lo to 8 dimensions, each up to 7 or, if there are more than 4, up to 3; returns their
 * number.
 */
static uint32_t random_dims(uint32_t lo, int64_t *dims)
{
	uint32_t rank = between(lo, random_below(3) ? 4 : 8);

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, rank > 4 ? 3 : 7);
	return rank;
}

static enum ir_dtype random_type(void)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I64, IR_U8 };

	return types[random_below(4)];
}

static bool compare_moved(struct rig *rig, enum ir_op op, const union ir_attrs *attrs,
			  enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);

	return rig_compare(rig, op, attrs, 1, &type, 0);
}

static bool concat_round(void)
{
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(1, dims), parts = between(1, 4);
	union ir_attrs attrs = { .axis = random_below(rank) };
	enum ir_dtype dtype = random_type();
	struct rig rig;

	memcpy(y, dims, sizeof(y));
	y[attrs.axis] = 0;
	rig_init(&rig);
	for (uint32_t i = 0; i < parts; i++) {
		dims[attrs.axis] = between(1, 5);
		y[attrs.axis] += dims[attrs.axis];
		rig_add(&rig, dtype, rank, dims);
	}
	return compare_moved(&rig, IR_OP_CONCAT, &attrs, dtype, rank, y);
}

static bool transpose_round(void)
{
	union ir_attrs attrs = { 0 };
	int64_t x[8], y[8];
	uint32_t rank = random_dims(0, x);
	enum ir_dtype dtype = random_type();
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++) {
		uint32_t j = random_below(i + 1);

		attrs.transpose.perm[i] = attrs.transpose.perm[j];
		attrs.transpose.perm[j] = i;
	}
	for (uint32_t i = 0; i < rank; i++)
		y[i] = x[attrs.transpose.perm[i]];
	rig_init(&rig);
	rig_add(&rig, dtype, rank, x);
	return compare_moved(&rig, IR_OP_TRANSPOSE, &attrs, dtype, rank, y);
}

static bool slice_round(void)
{
	union ir_attrs attrs = { 0 };
	int64_t x[8], y[8];
	uint32_t rank = random_dims(0, x);
	enum ir_dtype dtype = random_type();
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++) {
		uint32_t size;

		attrs.slice.starts[i] = random_below((uint32_t)x[i]);
		attrs.slice.strides[i] = between(1, 3);
		size = between(1, (uint32_t)x[i] - attrs.slice.starts[i]);
		y[i] = (size + attrs.slice.strides[i] - 1) / attrs.slice.strides[i];
	}
	rig_init(&rig);
	rig_add(&rig, dtype, rank, x);
	return compare_moved(&rig, IR_OP_SLICE, &attrs, dtype, rank, y);
}

static bool expand_round(void)
{
	int64_t x[8], y[8];
	uint32_t rank = random_dims(0, y), lead = random_below(rank + 1);
	enum ir_dtype dtype = random_type();
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++)
		x[i] = random_below(2) ? y[i] : 1;
	rig_init(&rig);
	rig_add(&rig, dtype, rank - lead, x + lead);
	return compare_moved(&rig, IR_OP_EXPAND, NULL, dtype, rank, y);
}

static bool reverse_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(0, dims);
	union ir_attrs attrs = { .axes = random_below(1u << rank) };
	enum ir_dtype dtype = random_type();
	struct rig rig;

	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return compare_moved(&rig, IR_OP_REVERSE, &attrs, dtype, rank, dims);
}

static bool softmax_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(1, dims);
	union ir_attrs attrs = { .softmax = { .axis = random_below(rank) } };
	struct rig rig;

	attrs.softmax.log = random_below(2);
	attrs.softmax.guarded = random_below(3) == 0;
	attrs.softmax.nan_to_zero = random_below(3) == 0;
	dims[attrs.axis] = random_below(8) ? between(1, 40) : between(500, 1100);
	rig_init(&rig);
	add(&rig, rank, dims);
	return compare(&rig, IR_OP_SOFTMAX, &attrs, rank, dims, 1e-5);
}

static bool reduce_round(void)
{
	static const enum ir_reduce kinds[] = {
		IR_REDUCE_SUM,	       IR_REDUCE_MEAN,
		IR_REDUCE_MAX,	       IR_REDUCE_MIN,
		IR_REDUCE_L1,	       IR_REDUCE_L2,
		IR_REDUCE_SUM_SQUARE,  IR_REDUCE_LOG_SUM,
		IR_REDUCE_LOG_SUM_EXP, IR_REDUCE_SHIFTED_LOG_SUM_EXP
	};
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(0, dims), first = between(0, rank), end = between(first, rank),
		 n = 0;
	union ir_attrs attrs = { .reduce = { .kind = kinds[random_below(10)] } };
	struct rig rig;

	if (rank && random_below(2))
		dims[random_below(rank)] = between(1, 300);
	for (uint32_t i = 0; i < rank; i++) {
		if (i >= first && i < end)
			attrs.reduce.axes |= 1u << i;
		else
			y[n++] = dims[i];
	}
	rig_init(&rig);
	if (random_below(2)) {
		attrs.reduce.kind = IR_REDUCE_MAX;
		rig_add(&rig, IR_U8, rank, dims);
		return compare_moved(&rig, IR_OP_REDUCE, &attrs, IR_U8, n, y);
	}
	rig_add_between(&rig, IR_F32, rank, dims, attrs.reduce.kind == IR_REDUCE_LOG_SUM ? 0.5 : -1,
			1);
	return compare(&rig, IR_OP_REDUCE, &attrs, n, y, 1e-6);
}

/*
 * Tests reductions of rows so long that threads share the slices of a row. In half of the cases
 * each row has a NaN or an infinity: the first row in its last slice, the second in an earlier one.
 */
static void test_long_reductions(void **state)
{
	const int64_t dims[2] = { 2, 150000 };

	(void)state;
	for (int kind = 0; kind < 20; kind++) {
		static const enum ir_reduce kinds[] = { IR_REDUCE_SUM,	      IR_REDUCE_MEAN,
							IR_REDUCE_MAX,	      IR_REDUCE_MIN,
							IR_REDUCE_L1,	      IR_REDUCE_L2,
							IR_REDUCE_SUM_SQUARE, IR_REDUCE_LOG_SUM,
							IR_REDUCE_MAX,	      IR_REDUCE_MIN };
		union ir_attrs attrs = { .reduce = { .kind = kinds[kind % 10], .axes = 2 } };
		struct rig rig;
		float *data;

		rig_init(&rig);
		data = rig_add_between(&rig, IR_F32, 2, dims,
				       attrs.reduce.kind == IR_REDUCE_LOG_SUM ? 0.5 : -1, 1);
		if (kind >= 10)
			data[140000] = data[220000] = kind == 18 || kind % 2 ? NAN : INFINITY;
		assert_true(compare(&rig, IR_OP_REDUCE, &attrs, 1, dims, 1e-6));
	}
}

/* Tests operators that move so much that threads share a tensor, a row, or a contiguous run. */
static void test_large_moves(void **state)
{
	static const struct {
		enum ir_op op;
		enum ir_dtype dtype;
		uint32_t rank;
		int64_t x[6], y[6];
		union ir_attrs attrs;
	} cases[] = {
		{ IR_OP_SLICE,
		  IR_I32,
		  2,
		  { 300, 400 },
		  { 280, 390 },
		  { .slice = { .starts = { 10, 5 }, .strides = { 1, 1 } } } },
		{ IR_OP_SLICE,
		  IR_U8,
		  3,
		  { 3, 50, 700 },
		  { 2, 40, 233 },
		  { .slice = { .starts = { 1, 9, 2 }, .strides = { 1, 1, 3 } } } },
		{ IR_OP_SLICE,
		  IR_F16,
		  2,
		  { 3, 60000 },
		  { 2, 50001 },
		  { .slice = { .starts = { 1, 100 }, .strides = { 1, 1 } } } },
		{ IR_OP_EXPAND, IR_U8, 2, { 300, 1 }, { 300, 401 }, { .axis = 0 } },
		{ IR_OP_EXPAND, IR_F32, 2, { 1, 401 }, { 300, 401 }, { .axis = 0 } },
		{ IR_OP_EXPAND, IR_I64, 3, { 3, 1, 30000 }, { 3, 2, 30000 }, { .axis = 0 } },
		{ IR_OP_REVERSE, IR_F32, 3, { 4, 60, 300 }, { 4, 60, 300 }, { .axes = 5 } },
		{ IR_OP_TRANSPOSE,
		  IR_F16,
		  6,
		  { 1, 2, 3, 40, 25, 30 },
		  { 1, 40, 25, 2, 30, 3 },
		  { .transpose = { .perm = { 0, 3, 4, 1, 5, 2 } } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;

		rig_init(&rig);
		rig_add(&rig, cases[i].dtype, cases[i].rank, cases[i].x);
		assert_true(compare_moved(&rig, cases[i].op, &cases[i].attrs, cases[i].dtype,
					  cases[i].rank, cases[i].y));
	}
}

static void maybe_add(struct rig *rig, uint32_t rank, const int64_t *dims)
{
	if (random_below(2))
		add(rig, rank, dims);
	else
		rig_skip(rig);
}

static bool layernorm_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(1, dims), first = random_below(rank);
	union ir_attrs attrs = { .norm.epsilon = 1e-3f };
	struct rig rig;

	dims[rank - 1] = between(4, 100);
	for (uint32_t i = first; i < rank; i++)
		attrs.norm.axes[attrs.norm.num_axes++] = i;
	attrs.norm.rms = random_below(2);
	rig_init(&rig);
	add(&rig, rank, dims);
	maybe_add(&rig, rank - first, dims + first);
	maybe_add(&rig, rank - first, dims + first);
	return compare(&rig, IR_OP_LAYERNORM, &attrs, rank, dims, 1e-6);
}

static bool instnorm_round(void)
{
	int64_t dims[4] = { between(1, 3), between(1, 9), between(1, 12), between(4, 60) };
	union ir_attrs attrs = { .norm = { .epsilon = 1e-3f, .layout = IR_NCHW } };
	struct rig rig;

	if (random_below(2)) {
		attrs.norm.groups = between(1, 3);
		dims[1] = attrs.norm.groups * between(1, 4);
	}
	rig_init(&rig);
	add(&rig, 4, dims);
	maybe_add(&rig, 1, dims + 1);
	maybe_add(&rig, 1, dims + 1);
	return compare(&rig, IR_OP_INSTNORM, &attrs, 4, dims, 1e-6);
}

static bool batchnorm_round(void)
{
	int64_t dims[8];
	uint32_t rank = between(2, 5), axis = random_below(rank);
	union ir_attrs attrs = { .norm = { .epsilon = 1e-3f, .axis = axis } };
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, 6);
	dims[rank - 1] = between(1, 60);
	/* There are many channels, or many rows with few channels. */
	if (random_below(8) == 0)
		dims[random_below(2) ? 0 : axis] = between(300, 3000);
	rig_init(&rig);
	add(&rig, rank, dims);
	add(&rig, 1, dims + axis);
	rig_add_between(&rig, IR_F32, 1, dims + axis, 0.125, 2);
	maybe_add(&rig, 1, dims + axis);
	maybe_add(&rig, 1, dims + axis);
	return compare(&rig, IR_OP_BATCHNORM, &attrs, rank, dims, 2e-6);
}

FAMILY(conv)
FAMILY(transposed)
FAMILY(pool)
FAMILY(depthwise)
FAMILY(matmul)
FAMILY(concat)
FAMILY(transpose)
FAMILY(slice)
FAMILY(expand)
FAMILY(reverse)
FAMILY(softmax)
FAMILY(reduce)
FAMILY(layernorm)
FAMILY(instnorm)
FAMILY(batchnorm)

/* The library leaves the application's number of OpenBLAS threads alone. */
static void test_blas_threads(void **state)
{
	int64_t dims[2] = { 160, 160 };
	union ir_attrs attrs = { .matmul = { .alpha = 1, .beta = 1, .act.kind = IR_UNARY_NONE } };
	struct rig rig;

	(void)state;
	for (int threads = 1; threads <= 2; threads++) {
		openblas_set_num_threads(threads);
		rig_init(&rig);
		add(&rig, 2, dims);
		add(&rig, 2, dims);
		assert_true(compare(&rig, IR_OP_MATMUL, &attrs, 2, dims, 1e-4));
		assert_int_equal(openblas_get_num_threads(), threads);
	}
}

/*
 * Tests products that are shared out between threads by rows, by columns or by batch; one product
 * has a single row.
 */
static void test_shared_products(void **state)
{
	static const int64_t sizes[][4] = { { 1, 130, 300, 150 }, { 1, 3, 900, 800 },
					    { 2, 900, 3, 800 },	  { 1, 1, 3000, 700 },
					    { 6, 100, 120, 90 },  { 1, 500, 13, 300 },
					    { 1, 70, 200, 2100 } };
	union ir_attrs attrs = { .matmul = { .alpha = 1, .beta = 1, .act.kind = IR_UNARY_NONE } };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int transposed = 0; transposed < (is_short() ? 1 : 4); transposed++) {
			int64_t batch = sizes[i][0], m = sizes[i][1], n = sizes[i][2];
			int64_t k = sizes[i][3], y[3] = { batch, m, n };
			struct rig rig;

			attrs.matmul.a_transpose = transposed & 1;
			attrs.matmul.b_transpose = transposed & 2;
			rig_init(&rig);
			add(&rig, 3,
			    transposed & 1 ? (int64_t[]){ batch, k, m } :
					     (int64_t[]){ batch, m, k });
			add(&rig, 3,
			    transposed & 2 ? (int64_t[]){ batch, n, k } :
					     (int64_t[]){ batch, k, n });
			assert_true(compare(&rig, IR_OP_MATMUL, &attrs, 3, y, 1e-4));
		}
}

/*
 * Tests products of batches of matrices, the second of which is a constant in half of the cases;
 * the last columns may not fill a vector. The bias has one number for each column, another shape,
 * or is missing.
 */
static void test_computed_products(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		bool transposed = random_below(2);
		int64_t m = between(32, 70), n = between(1, 70), k = between(1, 300);
		int64_t batch = between(1, 3), y[3] = { batch, m, n };
		union ir_attrs attrs = { .matmul = { .b_transpose = transposed,
						     .alpha = random_below(2) ? 1 : -0.375f,
						     .beta = random_below(4) ? 1 : 2,
						     .act = rig_random_act() } };
		struct rig rig;

		rig_init(&rig);
		add(&rig, 3, (int64_t[]){ batch, m, k });
		add(&rig, 3, transposed ? (int64_t[]){ batch, n, k } : (int64_t[]){ batch, k, n });
		if (random_below(4))
			add(&rig, 2,
			    (int64_t[]){ random_below(4) ? 1 : m, random_below(4) ? n : 1 });
		assert_true(compare(&rig, IR_OP_MATMUL, &attrs, 3, y, 1e-5));
	}
}

/*
 * Tests products with a constant matrix that is larger than the rows; threads share out its
 * columns, with a bias for each.
 */
static void test_shared_columns(void **state)
{
	const int64_t x[2] = { 9, 80 }, y[2] = { 9, 300 };

	(void)state;
	for (int i = 0; i < 16; i++) {
		union ir_attrs attrs = { .matmul = { .b_transpose = i & 1,
						     .alpha = i & 2 ? 1 : 3,
						     .beta = 1,
						     .act = rig_random_act() } };
		struct rig rig;

		rig_init(&rig);
		add(&rig, 2, x);
		add(&rig, 2, i & 1 ? (int64_t[]){ 300, 80 } : (int64_t[]){ 80, 300 });
		add(&rig, 1, &y[1]);
		rig_make_constant(&rig, 1);
		assert_true(compare(&rig, IR_OP_MATMUL, &attrs, 2, y, 1e-5));
	}
}

/*
 * Convolutions of 1x1 are products of rows, which are the pixels, and a constant matrix. The sizes
 * give one block of rows or several, and sums in one step or several. Only for the largest matrix
 * does the kernel pack the rows before it multiplies. With strides above 1, some pixels of the
 * input are in no row.
 */
static void test_many_columns(void **state)
{
	static const int64_t sizes[][3] = { { 9, 136, 300 }, { 61, 128, 520 }, { 200, 264, 257 },
					    { 800, 128, 9 }, { 11, 40, 40 },   { 100, 432, 1024 } };

	(void)state;
	for (int i = 0; i < (is_short() ? 6 : 24); i++) {
		const int64_t *size = sizes[i % 6];
		int64_t m = size[0], n = size[1], k = size[2], width = between(1, 2);
		uint32_t down = between(1, 2), right = between(1, 2);
		int64_t y[4] = { 1, m / width, width, n };
		union ir_attrs attrs = { .conv = { .strides = { down, right },
						   .dilations = { 1, 1 },
						   .groups = 1,
						   .layout = IR_NHWC,
						   .filter_layout = IR_OHWI,
						   .act = rig_random_act() } };
		struct rig rig;

		rig_init(&rig);
		add(&rig, 4,
		    (int64_t[]){ 1, y[1] * down - random_below(down),
				 width * right - random_below(right), k });
		add(&rig, 4, (int64_t[]){ n, 1, 1, k });
		if (random_below(2))
			add(&rig, 1, &n);
		rig_make_constant(&rig, 1);
		assert_true(compare(&rig, IR_OP_CONV, &attrs, 4, y, k > 300 ? 1e-4 : 1e-5));
	}
}

static void test_all_seen(void **state)
{
	(void)state;
	rig_expect_all_seen(RIG_OPS_FAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_transposed),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_depthwise),
		cmocka_unit_test(test_matmul),
		cmocka_unit_test(test_concat),
		cmocka_unit_test(test_transpose),
		cmocka_unit_test(test_slice),
		cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_blas_threads),
		cmocka_unit_test(test_shared_products),
		cmocka_unit_test(test_computed_products),
		cmocka_unit_test(test_shared_columns),
		cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_long_reductions),
		cmocka_unit_test(test_large_moves),
		cmocka_unit_test(test_layernorm),
		cmocka_unit_test(test_instnorm),
		cmocka_unit_test(test_batchnorm),
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_reverse),
		cmocka_unit_test(test_many_columns),
		cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
