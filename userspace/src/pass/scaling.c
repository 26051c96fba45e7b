// SPDX-License-Identifier: MIT
/*
 * Scales the weights and the bias of a product. The weights are read once for the first rule, to
 * find the largest weight of each channel, and once when they are written. For later rules the
 * largest weights suffice, unless they are not precise enough. Weights are written when they are
 * first read, mostly in order to be packed: packing then finds many of them in a cache.
 */
#include "pass/scaling.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "pass/channels.h"
#include "util/float16.h"
#include "util/floats.h"
#include "util/malloc.h"

#define MAX_HALF   65504.0
#define LEAST_HALF 0x1p-14

void rules_scaling_destroy(struct rules_scaling *scaling)
{
	if (!scaling)
		return;
	wnn_free(scaling->out_scale);
	wnn_free(scaling);
}

/* Allocates a scaling without effect; all its arrays are one block. NULL when out of memory. */
static struct rules_scaling *make_scaling(int64_t outs, int64_t ins)
{
	struct rules_scaling *s = wnn_calloc(1, sizeof(*s));
	double *numbers = wnn_calloc((size_t)(3 * outs + 2 * ins), sizeof(*numbers));

	if (!s || !numbers) {
		wnn_free(s);
		wnn_free(numbers);
		return NULL;
	}
	s->outs = outs;
	s->ins = ins;
	s->out_scale = numbers;
	s->out_shift = numbers + outs;
	s->in_scale = numbers + 2 * outs;
	s->in_shift = numbers + 2 * outs + ins;
	s->largest = numbers + 2 * outs + 2 * ins;
	for (int64_t i = 0; i < outs; i++)
		s->out_scale[i] = 1;
	for (int64_t i = 0; i < ins; i++)
		s->in_scale[i] = 1;
	return s;
}

/* ---- iteration over weights in the order of memory, row after row */

/*
 * The weights as rows. The axes of result channels and input channels are an outer and an inner
 * one: a row has one index of the outer axis and consists of runs, each with one index of the inner
 * axis. The channel of a weight is the sum of a number of its row and one of its run.
 */
struct rows {
	/* count: number of rows; repeat: number of consecutive rows with the same channels */
	int64_t count, repeat;
	/* outer: size of the outer axis; runs: runs of a row; run: weights of a run */
	int64_t outer, runs, run;
	bool one_out;  /* whether all runs of a row have the same result channel */
	bool in_order; /* whether run i has result channel i */
	int64_t row_out, row_in;
	int64_t *run_out, *run_in;
};

static int64_t out_of(const struct rows *l, int64_t run)
{
	return l->row_out + l->run_out[run];
}

static int64_t in_of(const struct rows *l, int64_t run)
{
	return l->row_in + l->run_in[run];
}

struct axis {
	int64_t dim, stride;
};

static struct axis axis_of(const struct ir_type *type, uint32_t axis)
{
	struct axis a = { ir_type_dim(type, axis), 1 };

	for (uint32_t i = axis + 1; i < type->rank; i++)
		a.stride *= ir_type_dim(type, i);
	return a;
}

struct walk {
	struct rows rows;
	bool outer_is_out, transposed;
	/* channels of a group of the result and of the input */
	int64_t outs_per_group, ins_per_group;
};

/*
 * Sets the channels of each run. A transposed convolution has the filters of all groups along the
 * input's channels, other convolutions along the result's. Along the other axis the weights count
 * channels within a group, so that the first channel of the group is added.
 */
static void set_runs(struct walk *w)
{
	for (int64_t i = 0; i < w->rows.runs; i++) {
		if (w->outer_is_out) {
			w->rows.run_in[i] = i;
			w->rows.run_out[i] =
				w->transposed ? i / w->ins_per_group * w->outs_per_group : 0;
		} else {
			w->rows.run_out[i] = i;
			w->rows.run_in[i] =
				w->transposed ? 0 : i / w->outs_per_group * w->ins_per_group;
		}
	}
}

static bool walk_begin(struct walk *w, const struct ir_node *product, const struct rules_scaling *s)
{
	const struct ir_type *type = &product->operands[1]->type;
	bool conv = product->op == IR_OP_CONV;
	int64_t groups = conv ? product->attrs.conv.groups : 1;
	uint32_t in_axis = conv ? ir_filter_axes(product->attrs.conv.filter_layout)[1] :
				  type->rank - (product->attrs.matmul.b_transpose ? 1 : 2);
	struct axis out = axis_of(type, channels_filter_axis(product)), in = axis_of(type, in_axis),
		    outer, inner;

	w->outer_is_out = out.stride == in.stride ? out.dim > 1 : out.stride > in.stride;
	w->transposed = conv && product->attrs.conv.transposed;
	w->outs_per_group = s->outs / groups;
	w->ins_per_group = s->ins / groups;
	outer = w->outer_is_out ? out : in;
	inner = w->outer_is_out ? in : out;
	w->rows = (struct rows){
		.count = ir_type_elements(type) / (inner.dim * inner.stride),
		.repeat = outer.stride / (inner.dim * inner.stride),
		.outer = outer.dim,
		.runs = inner.dim,
		.run = inner.stride,
		.one_out = w->outer_is_out && (!w->transposed || groups == 1),
		.in_order = !w->outer_is_out && groups == 1,
		.run_out = wnn_calloc(2 * (size_t)inner.dim, sizeof(*w->rows.run_out)),
	};
	if (!w->rows.run_out)
		return false;
	w->rows.run_in = w->rows.run_out + inner.dim;
	set_runs(w);
	return true;
}

static void walk_end(struct walk *w)
{
	wnn_free(w->rows.run_out);
}

static void walk_row(struct walk *w, int64_t row)
{
	int64_t at = row / w->rows.repeat % w->rows.outer;

	w->rows.row_out = w->outer_is_out ? at :
			  w->transposed	  ? at / w->ins_per_group * w->outs_per_group :
					    0;
	w->rows.row_in = !w->outer_is_out ? at :
			 w->transposed	  ? 0 :
					    at / w->outs_per_group * w->ins_per_group;
}

/* ---- the largest weight of each channel */

/*
 * Returns the bits of the larger of two floats without sign: such bits have the order of the
 * numbers, and NaN is the largest.
 */
static uint32_t larger_bits(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void scan_row(const struct rows *l, const float *from, uint32_t *largest)
{
	const uint32_t *bits = (const uint32_t *)(const void *)from;

	if (l->one_out) {
		uint32_t *most = &largest[out_of(l, 0)];

		*most = larger_bits(*most, wnn_floats_largest(from, l->runs * l->run));
	} else if (l->in_order && l->run == 1) {
		for (int64_t i = 0; i < l->runs; i++)
			largest[i] = larger_bits(largest[i], bits[i] & INT32_MAX);
	} else {
		for (int64_t i = 0; i < l->runs; i++) {
			uint32_t *most = &largest[out_of(l, i)];

			*most = larger_bits(*most, wnn_floats_largest(from + i * l->run, l->run));
		}
	}
}

/*
 * Returns n weights from index `at` on as float32: the weights themselves, or converted numbers in
 * `room`.
 */
static const float *as_floats(enum ir_dtype dtype, const void *weights, int64_t at, int64_t n,
			      float *room)
{
	if (dtype == IR_F32)
		return (const float *)weights + at;
	for (int64_t i = 0; i < n; i++)
		room[i] = wnn_half_to_float(((const uint16_t *)weights)[at + i]);
	return room;
}

static bool find_largest(const struct ir_node *product, struct rules_scaling *s)
{
	uint32_t *largest = wnn_calloc((size_t)s->outs, sizeof(*largest));
	const struct ir_value *weights = product->operands[1];
	const void *data = ir_constant_data(weights->constant);
	struct walk w = { 0 };
	float *room = NULL;
	bool made = largest && data && walk_begin(&w, product, s);
	int64_t size = w.rows.runs * w.rows.run;

	if (made)
		room = wnn_malloc((size_t)size * sizeof(*room));
	for (int64_t row = 0; room && row < w.rows.count; row++) {
		const float *from = as_floats(weights->type.dtype, data, row * size, size, room);

		walk_row(&w, row);
		scan_row(&w.rows, from, largest);
	}
	for (int64_t i = 0; room && i < s->outs; i++) {
		float number;

		memcpy(&number, &largest[i], sizeof(number));
		s->largest[i] = (double)number;
	}
	walk_end(&w);
	wnn_free(largest);
	wnn_free(room);
	return room != NULL;
}

struct rules_scaling *scaling_begin(struct rules *rules, const struct ir_node *product)
{
	const struct ir_type *result = &product->results[0]->type, *a = &product->operands[0]->type;
	const struct rules_scaling *old = rules_scaling_of(rules, product);
	uint32_t axis = product->op == IR_OP_MATMUL ?
				a->rank - (product->attrs.matmul.a_transpose ? 2 : 1) :
			product->attrs.conv.layout == IR_NCHW ? 1 :
								a->rank - 1;
	struct rules_scaling *s =
		make_scaling(ir_type_dim(result, channels_axis(product)), ir_type_dim(a, axis));

	if (s && old) {
		memcpy(s->out_scale, old->out_scale,
		       (size_t)(3 * s->outs + 2 * s->ins) * sizeof(*s->out_scale));
		s->has_in = old->has_in;
		s->has_out = old->has_out;
		s->shifts_input = old->shifts_input;
	}
	if (!s || (!old && !find_largest(product, s))) {
		rules_scaling_destroy(s);
		rules_nomem(rules);
		return NULL;
	}
	return s;
}

/* ---- checks that the constants stay finite */

/* Whether the largest weight of a channel is finite and normal in its type, or 0. */
static bool weight_fits(double number, bool half)
{
	return number == 0 || (number <= (half ? MAX_HALF : (double)FLT_MAX) &&
			       number >= (half ? LEAST_HALF : (double)FLT_MIN));
}

/* The least and the largest absolute value of some numbers. */
struct span {
	double least, most;
};

static struct span span_of(const double *numbers, int64_t count)
{
	struct span span = { INFINITY, 0 };

	for (int64_t i = 0; i < count; i++) {
		span.least = fmin(span.least, fabs(numbers[i]));
		span.most = fmax(span.most, fabs(numbers[i]));
	}
	return span;
}

/*
 * Returns true only when the scaled weights fit, judged by the largest ones alone. False: they do
 * not fit, or, where the factors of inputs differ, perhaps do not.
 */
static bool weights_surely_fit(const struct ir_node *product, const struct rules_scaling *s)
{
	struct span in = span_of(s->in_scale, s->ins);
	bool half = product->operands[1]->type.dtype == IR_F16;

	for (int64_t i = 0; i < s->outs; i++) {
		double out = s->largest[i] * fabs(s->out_scale[i]);

		if (!weight_fits(out * in.least, half) || !weight_fits(out * in.most, half) ||
		    (in.least == 0 && in.most != 0))
			return false;
	}
	return true;
}

static void find_scaled(const struct rows *l, const struct rules_scaling *s, const float *from,
			double *largest)
{
	for (int64_t i = 0; i < l->runs; i++) {
		double factor = s->in_scale[in_of(l, i)] * s->out_scale[out_of(l, i)];

		for (int64_t k = 0; k < l->run; k++) {
			double number = fabs((double)from[i * l->run + k] * factor);

			/* The negated comparison is true for NaN, too. */
			if (!(number <= largest[out_of(l, i)]))
				largest[out_of(l, i)] = number;
		}
	}
}

static void add_shifted(const struct rows *l, const struct rules_scaling *s, const float *from,
			double *sums)
{
	for (int64_t i = 0; i < l->runs; i++)
		for (int64_t k = 0; k < l->run; k++)
			sums[out_of(l, i)] +=
				(double)from[i * l->run + k] * s->in_shift[in_of(l, i)];
}

/*
 * Computes a number for each result channel with `fold`, which is called for each row of weights.
 * Returns 0, or -1 when out of memory.
 */
static int fold_weights(const struct ir_node *product, const struct rules_scaling *s,
			void (*fold)(const struct rows *l, const struct rules_scaling *s,
				     const float *from, double *numbers),
			double *numbers)
{
	const struct ir_value *weights = product->operands[1];
	const void *data = ir_constant_data(weights->constant);
	struct walk w = { 0 };
	float *room = NULL;
	int64_t size;

	memset(numbers, 0, (size_t)s->outs * sizeof(*numbers));
	if (data && walk_begin(&w, product, s))
		room = wnn_malloc((size_t)(w.rows.runs * w.rows.run) * sizeof(*room));
	size = w.rows.runs * w.rows.run;
	for (int64_t row = 0; room && row < w.rows.count; row++) {
		walk_row(&w, row);
		fold(&w.rows, s, as_floats(weights->type.dtype, data, row * size, size, room),
		     numbers);
	}
	walk_end(&w);
	wnn_free(room);
	return room ? 0 : -1;
}

static const struct ir_value *bias_of(const struct ir_node *product)
{
	return product->num_operands > 2 ? product->operands[2] : NULL;
}

static double own_bias(const struct ir_node *product, int64_t i)
{
	const struct ir_value *bias = bias_of(product);

	if (!bias)
		return 0;
	return (double)quantized_float(bias, ir_type_elements(&bias->type) == 1 ? 0 : i);
}

/*
 * Returns the new bias of a result channel. @sum: the sum of its weights times the inputs'
 * summands.
 */
static double new_bias(const struct ir_node *product, const struct rules_scaling *s, int64_t i,
		       double sum)
{
	double own = own_bias(product, i);

	if (product->op == IR_OP_MATMUL) {
		sum *= (double)product->attrs.matmul.alpha;
		own *= (double)product->attrs.matmul.beta;
	}
	return s->out_scale[i] * (sum + own) + s->out_shift[i];
}

/* Computes the scaled bias into `bias`. Returns 0, or -1 when out of memory. */
static int find_bias(const struct ir_node *product, const struct rules_scaling *s, double *bias)
{
	memset(bias, 0, (size_t)s->outs * sizeof(*bias));
	if (s->shifts_input && fold_weights(product, s, add_shifted, bias))
		return -1;
	for (int64_t i = 0; i < s->outs; i++)
		bias[i] = new_bias(product, s, i, bias[i]);
	return 0;
}

/*
 * Returns true only when the new biases fit, judged by a bound for the sums of weights times
 * summands. False: perhaps they do not fit.
 */
static bool bias_surely_fits(const struct ir_node *product, const struct rules_scaling *s)
{
	double most = product->operands[1]->type.dtype == IR_F16 ? MAX_HALF : (double)FLT_MAX;
	double terms = channels_depth(product), shift = span_of(s->in_shift, s->ins).most;

	for (int64_t i = 0; i < s->outs; i++) {
		double sum = s->shifts_input ? terms * s->largest[i] * shift : 0;

		if (!(fabs(new_bias(product, s, i, sum)) <= most &&
		      fabs(new_bias(product, s, i, -sum)) <= most))
			return false;
	}
	return true;
}

/*
 * Sets *right to whether the scaled weights and biases fit, which it computes. Returns 0, or -1
 * when out of memory.
 */
static int look_again(const struct ir_node *product, const struct rules_scaling *s, bool *right)
{
	bool half = product->operands[1]->type.dtype == IR_F16;
	double *numbers = wnn_calloc((size_t)s->outs, sizeof(*numbers));
	int ret = numbers ? fold_weights(product, s, find_scaled, numbers) : -1;

	*right = true;
	for (int64_t i = 0; i < s->outs && !ret; i++)
		*right &= weight_fits(numbers[i], half);
	if (!ret)
		ret = find_bias(product, s, numbers);
	for (int64_t i = 0; i < s->outs && !ret; i++)
		*right &= fabs(numbers[i]) <= (half ? MAX_HALF : (double)FLT_MAX);
	wnn_free(numbers);
	return ret;
}

bool scaling_fits(struct rules *rules, const struct ir_node *product, const struct rules_scaling *s)
{
	bool right = true;

	/* The arrays are contiguous, so this loop checks all of them. */
	for (int64_t i = 0; i < 3 * s->outs + 2 * s->ins; i++)
		if (!isfinite(s->out_scale[i]))
			return false;
	if (((s->has_in || s->has_out) && !weights_surely_fit(product, s)) ||
	    !bias_surely_fits(product, s)) {
		if (look_again(product, s, &right)) {
			rules_nomem(rules);
			return false;
		}
	}
	return right;
}

/* ---- writing the constants */

static void put_number(enum ir_dtype dtype, void *data, int64_t i, double number)
{
	if (dtype == IR_F16)
		((uint16_t *)data)[i] = wnn_double_to_half(number);
	else
		((float *)data)[i] = (float)number;
}

static void write_row(const struct rows *l, const struct rules_scaling *s, const float *from,
		      enum ir_dtype dtype, void *to, int64_t at)
{
	float *floats = dtype == IR_F32 ? (float *)to + at : NULL;

	if (floats && l->one_out && !s->has_in) {
		wnn_floats_scale(floats, from, l->runs * l->run, s->out_scale[out_of(l, 0)]);
		return;
	}
	if (floats && l->in_order && l->run == 1 && !s->has_in) {
		for (int64_t i = 0; i < l->runs; i++)
			floats[i] = (float)((double)from[i] * s->out_scale[i]);
		return;
	}
	for (int64_t i = 0; i < l->runs; i++) {
		double factor = s->in_scale[in_of(l, i)] * s->out_scale[out_of(l, i)];

		if (floats)
			wnn_floats_scale(floats + i * l->run, from + i * l->run, l->run, factor);
		for (int64_t k = i * l->run; k < (i + 1) * l->run && !floats; k++)
			put_number(dtype, to, at + k, (double)from[k] * factor);
	}
}

/*
 * All that is needed to write scaled weights later, when the graph from which they come may be
 * gone.
 */
struct recipe {
	struct ir_constant *from;
	enum ir_dtype dtype;
	struct rules_scaling *scaling;
	struct walk walk;
};

static void drop_recipe(void *userdata)
{
	struct recipe *r = userdata;

	ir_constant_unref(r->from);
	rules_scaling_destroy(r->scaling);
	walk_end(&r->walk);
	wnn_free(r);
}

static int write_weights(void *userdata, void *data)
{
	struct recipe *r = userdata;
	struct rows *rows = &r->walk.rows;
	int64_t size = rows->runs * rows->run;
	const void *from = ir_constant_data(r->from);
	float *room = from ? wnn_malloc((size_t)size * sizeof(*room)) : NULL;

	for (int64_t row = 0; room && row < rows->count; row++) {
		walk_row(&r->walk, row);
		write_row(rows, r->scaling, as_floats(r->dtype, from, row * size, size, room),
			  r->dtype, data, row * size);
	}
	wnn_free(room);
	return room ? 0 : -1;
}

/*
 * Returns the weights if the scaling has no factors, else a constant that scales them when it is
 * first read; NULL when out of memory. Takes the scaling over in any case.
 */
static struct ir_value *scaled_weights(struct rules *rules, const struct ir_node *product,
				       struct rules_scaling *s)
{
	static const struct ir_recipe later = { write_weights, drop_recipe };
	struct ir_value *weights = product->operands[1];
	struct recipe *r;

	if (!s->has_in && !s->has_out) {
		rules_scaling_destroy(s);
		return weights;
	}
	r = wnn_calloc(1, sizeof(*r));
	if (!r || !walk_begin(&r->walk, product, s)) {
		wnn_free(r);
		rules_scaling_destroy(s);
		rules_nomem(rules);
		return NULL;
	}
	r->from = ir_constant_ref(weights->constant);
	r->dtype = weights->type.dtype;
	r->scaling = s;
	return rules_later(rules, &weights->type, &later, r);
}

static bool is_zero(const double *numbers, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (numbers[i] != 0)
			return false;
	return true;
}

/* Returns the scaled bias; NULL when it is zero for all channels, or out of memory. */
static struct ir_value *scaled_bias(struct rules *rules, const struct ir_node *product,
				    const struct rules_scaling *s)
{
	struct ir_type type = ir_type_make(product->results[0]->type.dtype, 1, &s->outs);
	double *bias = wnn_calloc((size_t)s->outs, sizeof(*bias));
	void *data = wnn_malloc((size_t)ir_type_bytes(&type));
	bool zero;

	if (!bias || !data || find_bias(product, s, bias)) {
		wnn_free(bias);
		wnn_free(data);
		rules_nomem(rules);
		return NULL;
	}
	for (int64_t i = 0; i < s->outs; i++)
		put_number(type.dtype, data, i, bias[i]);
	zero = is_zero(bias, s->outs);
	wnn_free(bias);
	if (zero)
		wnn_free(data);
	return zero ? NULL : rules_constant(rules, &type, data);
}

int rules_scale_weights(struct rules *rules, struct ir_node *product, struct rules_scaling *s)
{
	/* Both functions read the unscaled constants, so operands change after both. */
	struct ir_value *bias = scaled_bias(rules, product, s);
	struct ir_value *weights = scaled_weights(rules, product, s);

	if (rules_failed(rules))
		return -1;
	product->operands[1] = weights;
	product->operands[2] = bias;
	if (product->op == IR_OP_MATMUL)
		product->attrs.matmul.beta = 1;
	return 0;
}
