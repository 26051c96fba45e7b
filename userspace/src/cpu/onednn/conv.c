// SPDX-License-Identifier: MIT
/*
 * Convolutions in channels-last layout, and products with a constant matrix, on oneDNN: of float32,
 * and of 8-bit integers, whose exact sums this file converts to results. A slice of the work is
 * some rows of the result of one image, with the rows of the input that it reads: both are
 * contiguous. Where the filter is larger than the input, a slice is some channels of all rows
 * instead, so that each slice of the filter is read once.
 */
#include "cpu/onednn/onednn.h"

#include <stdatomic.h>
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/onednn/form.h"
#include "util/malloc.h"
#include "util/number.h"
#include "cpu/onednn/kernels.h"

/*
 * MAX_PARTS: the most slices of a node, unless it has more images. ELEMENT_WORK: multiplications
 * that take as long as moving one element.
 */
#define MAX_PARTS    8
#define MIN_PIXELS   24 /* least pixels of a slice: with fewer, the filter is read too often */
#define ELEMENT_WORK 8
/* Products of fewer rows are limited by the time to read the matrix. */
#define MIN_ROWS 8
/*
 * A slice of channels has a multiple of this many channels, except where slices of rows failed:
 * there it has a multiple of CPU_MAX_LANES.
 */
#define CHANNEL_BLOCK 64
/* A filter is large from cpu_context.part_work / LARGE_FILTER elements on: 1 MiB of floats. */
#define LARGE_FILTER 8

/* The most primitives: slices with equal numbers of rows of results and padding share one. */
#define MAX_FORMS 8

struct form {
	/* rows of the result and of the input; rows of padding above and below */
	int64_t rows, in_rows, above, below;
	dnnl_primitive_t primitive;
	size_t scratch_bytes;
	/* The members below are released when all workers' memories are made. */
	dnnl_memory_desc_t src, dst;
	const_dnnl_memory_desc_t scratch; /* belongs to `desc` */
	dnnl_primitive_desc_t desc;
};

/* The objects with which one thread calls oneDNN. */
struct worker {
	dnnl_stream_t stream;
	dnnl_memory_t weights, bias;
	struct {
		dnnl_memory_t src, dst, scratch;
	} forms[MAX_FORMS];
};

struct conv {
	struct cpu_plan base;
	const struct onednn *dnn;
	struct cpu_conv shape;
	struct cpu_as_conv as; /* a product as a convolution */
	/* whether it is 1x1 without strides and padding: for oneDNN all pixels are then one row */
	bool flat;
	bool has_bias;
	const struct ir_integer_attrs *integer; /* NULL: float32 */
	bool filter_unsigned; /* whether the filter is uint8 with zero point 128 */
	dnnl_data_type_t in_type, filter_type, out_type;
	int64_t in_bytes, filter_bytes, out_bytes; /* bytes of an element */
	uint32_t operands;			   /* operands of the node without fused ones */
	bool adds; /* whether an addition follows, and then the activation sum_act */
	struct ir_unary_attrs sum_act;
	int64_t parts, rows; /* parts: slices of an image; rows: result rows of a slice */
	int64_t channels;    /* channels of a slice: all, or fewer if slices divide them */
	unsigned int num_forms, threads;
	struct form forms[MAX_FORMS];
	dnnl_memory_desc_t packed, bias_desc; /* layouts for the channels of a slice */
	struct onednn_form filter_form;
	size_t part_bytes; /* bytes of the packed filter for the channels of a slice */
	dnnl_memory_t zero;
	int32_t zero_point;	  /* zero point of the input */
	struct cpu_finish finish; /* conversion of sums to 8-bit results in this run */
	float *scales;
	int32_t *biases;
	float *addends; /* addends of a float result, one for each channel; NULL: none */
	const struct ir_unary_attrs *real_act; /* activation of float results; or NULL */
	bool has_addend;
	bool each_scale, each_bias, each_addend; /* one per channel; false: one for all */
	struct worker *workers;
	size_t scratch_bytes; /* oneDNN's scratch memory for a thread */
	size_t sums_bytes;    /* a thread's integer sums, or results of a slice of channels */
};

struct run {
	struct conv *conv;
	struct cpu_context *cpu;
	const char *x, *filter, *bias;
	const float *addend;
	char *y;
	char *scratch;
	atomic_bool failed;
};

static bool is_flat(const struct cpu_conv *g)
{
	const struct ir_conv_attrs *a = g->attrs;

	return g->kh == 1 && g->kw == 1 && a->strides[0] == 1 && a->strides[1] == 1 &&
	       !a->padding[0] && !a->padding[1] && !a->padding[2] && !a->padding[3];
}

static bool by_channels(const struct conv *c)
{
	return c->channels < c->shape.out_c;
}

/* Returns the first channel of a slice; the last slice begins earlier, so that sizes are equal. */
static int64_t first_channel(const struct conv *c, int64_t part)
{
	int64_t first = part * c->channels, last = c->shape.out_c - c->channels;

	return first < last ? first : last;
}

/* Views all pixels of all images as one column: in_h and out_h become their number. */
static void flatten(struct cpu_conv *g)
{
	g->in_h = g->out_h = g->batch * g->out_h * g->out_w;
	g->in_w = g->out_w = g->batch = 1;
}

/* Returns the form of the slice that begins at result row `first`. */
static struct form form_of(const struct conv *c, int64_t first)
{
	const struct cpu_conv *g = &c->shape;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t stride = a->strides[0], pad = a->padding[0], rest = g->out_h - first;
	struct form form = { .rows = c->rows < rest ? c->rows : rest };
	int64_t begin = first * stride - pad;
	int64_t end = begin + (form.rows - 1) * stride + (g->kh - 1) * a->dilations[0] + 1;

	form.above = begin < 0 ? -begin : 0;
	form.below = end > g->in_h ? end - g->in_h : 0;
	form.in_rows = end - begin - form.above - form.below;
	return form;
}

static bool same_form(const struct form *a, const struct form *b)
{
	return a->rows == b->rows && a->in_rows == b->in_rows && a->above == b->above &&
	       a->below == b->below;
}

static const struct form *find_form(const struct conv *c, int64_t first)
{
	struct form form = form_of(c, first);
	unsigned int i = 0;

	while (!same_form(&c->forms[i], &form))
		i++;
	return &c->forms[i];
}

/* Lists the forms of slices; false when a slice has only padding, or there are too many forms. */
static bool list_forms(struct conv *c)
{
	for (int64_t first = 0; first < c->shape.out_h; first += c->rows) {
		struct form form = form_of(c, first);
		unsigned int i = 0;

		while (i < c->num_forms && !same_form(&c->forms[i], &form))
			i++;
		if (form.in_rows <= 0 || i == MAX_FORMS)
			return false;
		if (i == c->num_forms)
			c->forms[c->num_forms++] = form;
	}
	return true;
}

static int describe_filter(struct conv *c)
{
	const struct onednn *dnn = c->dnn;
	const struct cpu_conv *g = &c->shape;
	dnnl_dim_t groups = g->attrs->groups;
	const dnnl_dims_t dims = { groups, c->channels / groups, g->in_per_group, g->kh, g->kw };
	const dnnl_dims_t bias = { c->channels };
	bool grouped = groups > 1;

	return dnn->memory_desc_create_with_tag(&c->packed, grouped ? 5 : 4, dims + !grouped,
						c->filter_type, dnnl_format_tag_any) ||
	       dnn->memory_desc_create_with_tag(&c->bias_desc, 1, bias, dnnl_f32, dnnl_a);
}

static int describe_picture(const struct conv *c, dnnl_memory_desc_t *desc, dnnl_data_type_t type,
			    int64_t channels, int64_t rows, int64_t columns)
{
	const dnnl_dims_t dims = { 1, channels, c->flat ? 1 : rows, c->flat ? rows : columns };

	return c->dnn->memory_desc_create_with_tag(desc, 4, dims, type, dnnl_nhwc);
}

static int make_attributes(const struct conv *c, dnnl_primitive_attr_t *attr)
{
	const struct onednn *dnn = c->dnn;
	int ret = onednn_make_attributes(dnn, attr);

	if (!ret && c->zero_point)
		ret = dnn->primitive_attr_set_zero_points_mask(*attr, DNNL_ARG_SRC, 0);
	return ret;
}

/*
 * Keeps the layout of the filter that the first primitive chooses. Returns 0, or -1 when form.c
 * does not know this layout, or oneDNN fails.
 */
static int keep_filter_form(struct conv *c, const struct form *form)
{
	const struct onednn *dnn = c->dnn;
	const_dnnl_memory_desc_t chosen =
		dnn->primitive_desc_query_md(form->desc, dnnl_query_weights_md, 0);
	const struct onednn_input input = { c->in_type == dnnl_s8, c->zero_point != 0 };
	dnnl_memory_desc_t copy = NULL;

	if (!onednn_form_read(dnn, chosen, input, &c->filter_form) ||
	    dnn->memory_desc_clone(&copy, chosen))
		return -1;
	dnn->memory_desc_destroy(c->packed);
	c->packed = copy;
	c->part_bytes = cpu_round_up(dnn->memory_desc_get_size(copy));
	c->base.packed_bytes = c->part_bytes * (size_t)(by_channels(c) ? c->parts : 1);
	return 0;
}

/* Returns whether oneDNN adds the bias. The bias of integers is added by this file, to the sums. */
static bool has_float_bias(const struct conv *c)
{
	return c->has_bias && !c->integer;
}

static int make_form(struct conv *c, struct form *form, dnnl_primitive_attr_t attr)
{
	const struct onednn *dnn = c->dnn;
	const struct cpu_conv *g = &c->shape;
	const struct ir_conv_attrs *a = g->attrs;
	const dnnl_dims_t strides = { a->strides[0], a->strides[1] };
	const dnnl_dims_t dilations = { a->dilations[0] - 1, a->dilations[1] - 1 };
	const dnnl_dims_t begin = { form->above, a->padding[2] };
	const dnnl_dims_t end = { form->below, a->padding[3] };

	if (describe_picture(c, &form->src, c->in_type, g->in_c, form->in_rows, g->in_w) ||
	    describe_picture(c, &form->dst, c->out_type, c->channels, form->rows, g->out_w) ||
	    dnn->convolution_forward_primitive_desc_create(
		    &form->desc, dnn->engine, dnnl_forward_inference, dnnl_convolution_direct,
		    form->src, c->packed, has_float_bias(c) ? c->bias_desc : NULL, form->dst,
		    strides, dilations, begin, end, attr) ||
	    !onednn_is_fast(dnn, form->desc) || (form == c->forms && keep_filter_form(c, form)) ||
	    dnn->primitive_create(&form->primitive, form->desc))
		return -1;
	form->scratch = dnn->primitive_desc_query_md(form->desc, dnnl_query_scratchpad_md, 0);
	form->scratch_bytes = dnn->memory_desc_get_size(form->scratch);
	if (form->scratch_bytes > c->scratch_bytes)
		c->scratch_bytes = form->scratch_bytes;
	return 0;
}

static int make_memories(struct conv *c)
{
	const struct onednn *dnn = c->dnn;

	for (unsigned int t = 0; t < c->threads; t++) {
		struct worker *w = &c->workers[t];

		if (dnn->stream_create(&w->stream, dnn->engine, dnnl_stream_default_flags) ||
		    onednn_make_memory(dnn, &w->weights, c->packed) ||
		    (has_float_bias(c) && onednn_make_memory(dnn, &w->bias, c->bias_desc)))
			return -1;
		for (unsigned int f = 0; f < c->num_forms; f++) {
			if (onednn_make_memory(dnn, &w->forms[f].src, c->forms[f].src) ||
			    onednn_make_memory(dnn, &w->forms[f].dst, c->forms[f].dst) ||
			    onednn_make_memory(dnn, &w->forms[f].scratch, c->forms[f].scratch))
				return -1;
		}
	}
	return 0;
}

static void drop_descriptions(struct conv *c)
{
	const struct onednn *dnn = c->dnn;

	for (unsigned int f = 0; f < c->num_forms; f++) {
		struct form *form = &c->forms[f];

		dnn->primitive_desc_destroy(form->desc);
		dnn->memory_desc_destroy(form->src);
		dnn->memory_desc_destroy(form->dst);
		form->desc = NULL;
		form->scratch = NULL;
		form->src = form->dst = NULL;
	}
}

static void destroy(struct cpu_plan *plan)
{
	struct conv *c = (struct conv *)plan;
	const struct onednn *dnn = c->dnn;

	for (unsigned int t = 0; c->workers && t < c->threads; t++) {
		struct worker *w = &c->workers[t];

		for (unsigned int f = 0; f < c->num_forms; f++) {
			dnn->memory_destroy(w->forms[f].src);
			dnn->memory_destroy(w->forms[f].dst);
			dnn->memory_destroy(w->forms[f].scratch);
		}
		dnn->memory_destroy(w->weights);
		dnn->memory_destroy(w->bias);
		dnn->stream_destroy(w->stream);
	}
	for (unsigned int f = 0; f < c->num_forms; f++)
		dnn->primitive_destroy(c->forms[f].primitive);
	drop_descriptions(c);
	dnn->memory_destroy(c->zero);
	dnn->memory_desc_destroy(c->packed);
	dnn->memory_desc_destroy(c->bias_desc);
	wnn_free(c->scales);
	wnn_free(c->biases);
	wnn_free(c->addends);
	wnn_free(c->workers);
	wnn_free(c);
}

static void pack_parts(const struct conv *c, const char *from, char *to)
{
	int64_t strides[5];

	cpu_conv_filter_strides(&c->shape, strides + 1);
	strides[0] = strides[1] * c->shape.out_per_group;
	for (int64_t part = 0; part < (by_channels(c) ? c->parts : 1); part++)
		onednn_form_pack(&c->filter_form,
				 from + first_channel(c, part) * strides[1] * c->filter_bytes,
				 strides + 5 - c->filter_form.rank,
				 to + (size_t)part * c->part_bytes);
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct conv *c = (const struct conv *)plan;
	const struct cpu_conv *g = &c->shape;
	size_t bytes = (size_t)(g->out_c * g->in_per_group * g->kh * g->kw);
	char *moved;

	if (!c->filter_unsigned) {
		pack_parts(c, from, to);
		return 0;
	}
	/* Packs the filter as signed integers with zero point 0. */
	moved = wnn_malloc(bytes);
	if (!moved)
		return wnn_error_nomem(err, "a filter");
	for (size_t i = 0; i < bytes; i++)
		moved[i] = (char)(((const uint8_t *)from)[i] ^ 0x80);
	pack_parts(c, moved, to);
	wnn_free(moved);
	return 0;
}

/* Returns the scratch memory of a thread during the run; NULL when it needs none. */
static char *room_of(const struct run *run, unsigned int worker)
{
	size_t size = run->conv->scratch_bytes + run->conv->sums_bytes;

	return size ? run->scratch + worker * size : NULL;
}

/*
 * Calls oneDNN for one slice; y gets results or integer sums. Returns 1 when oneDNN fails, else 0.
 */
static int execute(const struct run *run, const struct form *form, unsigned int worker,
		   const char *x, int64_t part, void *y)
{
	struct conv *c = run->conv;
	const struct onednn *dnn = c->dnn;
	const struct worker *w = &c->workers[worker];
	size_t f = (size_t)(form - c->forms);
	const char *filter = run->filter, *bias = run->bias;
	dnnl_exec_arg_t args[6] = { { DNNL_ARG_SRC, w->forms[f].src },
				    { DNNL_ARG_WEIGHTS, w->weights },
				    { DNNL_ARG_DST, w->forms[f].dst },
				    { DNNL_ARG_SCRATCHPAD, w->forms[f].scratch } };
	int count = 4;

	if (by_channels(c)) {
		filter += (size_t)part * c->part_bytes;
		bias = bias ? bias + (size_t)first_channel(c, part) * sizeof(float) : NULL;
	}
	if (w->bias)
		args[count++] = (dnnl_exec_arg_t){ DNNL_ARG_BIAS, w->bias };
	if (c->zero)
		args[count++] =
			(dnnl_exec_arg_t){ DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, c->zero };
	return dnn->memory_set_data_handle(w->forms[f].src, (void *)x) ||
	       dnn->memory_set_data_handle(w->weights, (void *)filter) ||
	       (w->bias && dnn->memory_set_data_handle(w->bias, (void *)bias)) ||
	       dnn->memory_set_data_handle(w->forms[f].dst, y) ||
	       dnn->memory_set_data_handle(w->forms[f].scratch, room_of(run, worker)) ||
	       dnn->primitive_execute(form->primitive, w->stream, count, args);
}

/* Sets y = activation(x + addend); y lies in the result, and the addends have the same offsets. */
static void add_addend(const struct run *run, float *y, const float *x, int64_t n)
{
	const struct cpu_simd *simd = run->cpu->simd;

	simd->binary(IR_ADD, y, x, 1, run->addend + (y - (const float *)run->y), 1, n);
	cpu_activate(simd, &run->conv->sum_act, y, n);
}

/* Copies the results of a slice of channels, except those that the slice before has as well. */
static void spread_channels(const struct run *run, int64_t part, int64_t pixels, const float *from,
			    float *y)
{
	const struct conv *c = run->conv;
	int64_t first = part * c->channels, doubled = first - first_channel(c, part);
	int64_t n = c->channels - doubled;

	for (int64_t i = 0; i < pixels; i++) {
		const float *x = from + i * c->channels + doubled;
		float *to = y + i * c->shape.out_c + first;

		if (run->addend)
			add_addend(run, to, x, n);
		else
			memcpy(to, x, (size_t)n * sizeof(float));
	}
}

static void finish_real(const struct run *run, float *y, const int32_t *sums, int64_t pixels)
{
	const struct conv *c = run->conv;
	int64_t channels = c->shape.out_c;

	for (int64_t i = 0; i < pixels; i++) {
		for (int64_t k = 0; k < channels; k++) {
			float sum = (float)(sums[i * channels + k] + c->biases[k]);

			y[i * channels + k] = sum * c->scales[k];
		}
		for (int64_t k = 0; c->addends && k < channels; k++)
			y[i * channels + k] += c->addends[k];
	}
	cpu_activate(run->cpu->simd, c->real_act, y, pixels * channels);
}

static void run_part(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	struct conv *c = run->conv;
	const struct cpu_conv *g = &c->shape;
	int64_t image = item / c->parts, part = item % c->parts;
	int64_t first = by_channels(c) ? 0 : part * c->rows;
	const struct form *form = find_form(c, first);
	int64_t row = first * g->attrs->strides[0] - g->attrs->padding[0] + form->above;
	const char *x = run->x + (image * g->in_h + row) * g->in_w * g->in_c * c->in_bytes;
	char *y = run->y + (image * g->out_h + first) * g->out_w * g->out_c * c->out_bytes;
	void *sums = c->sums_bytes ? room_of(run, worker) + c->scratch_bytes : NULL;
	void *to = sums ? sums : y;
	int64_t pixels = form->rows * g->out_w;
	int threads = onednn_enter(c->dnn);

	if (execute(run, form, worker, x, part, to))
		atomic_store(&run->failed, true);
	onednn_leave(c->dnn, threads);
	if (c->real_act)
		finish_real(run, (float *)y, sums, pixels);
	else if (c->integer)
		run->cpu->simd->finish(&c->finish, (uint8_t *)y, sums, pixels, g->out_c);
	else
		cpu_activate(run->cpu->simd, &g->attrs->act, to, pixels * c->channels);
	if (by_channels(c))
		spread_channels(run, part, pixels, sums, (float *)y);
	else if (run->addend)
		add_addend(run, (float *)y, (const float *)y, pixels * g->out_c);
}

static void spread(struct conv *c, const void *const *in)
{
	const float *scale = in[2], *addend = c->addends ? in[4] : NULL;
	const int32_t *bias = c->has_bias ? in[3] : NULL;

	for (int64_t i = 0; i < c->shape.out_c; i++) {
		c->scales[i] = scale[c->each_scale ? i : 0];
		c->biases[i] = bias ? bias[c->each_bias ? i : 0] : 0;
		if (addend)
			c->addends[i] = addend[c->each_addend ? i : 0];
	}
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	struct conv *c = (struct conv *)plan;
	struct run r = { .conv = c, .cpu = cpu, .x = in[0], .filter = packed, .y = out[0] };

	if (c->integer)
		spread(c, in);
	if (c->scratch_bytes + c->sums_bytes) {
		r.scratch = cpu_scratch(cpu, c->threads * (c->scratch_bytes + c->sums_bytes));
		if (!r.scratch)
			return wnn_error_nomem(err, "a convolution");
	}
	if (has_float_bias(c))
		r.bias = in[2];
	if (c->adds)
		r.addend = in[c->operands];
	cpu_threads_run(cpu->workers, c->shape.batch * c->parts, run_part, &r);
	return atomic_load(&r.failed) ? onednn_failed(err) : 0;
}

/* Returns the largest power of two up to n: it divides work evenly among 2, 4 or 8 threads. */
static int64_t power_of_two(int64_t n)
{
	int64_t power = 1;

	while (power <= n / 2)
		power *= 2;
	return power;
}

/*
 * Divides the work of a float32 node without groups by channels instead of rows, and returns true,
 * when the filter has at least `least` elements and at least as many as the input, and few channels
 * are computed twice. There are up to `parts` slices, each with a multiple of `block` channels.
 */
static bool share_channels(struct conv *c, int64_t least, int64_t parts, uint64_t block)
{
	const struct cpu_conv *g = &c->shape;
	int64_t filter = g->out_c * g->in_per_group * g->kh * g->kw;
	int64_t channels = (int64_t)wnn_align_up((uint64_t)((g->out_c + parts - 1) / parts), block);
	int64_t needed = (g->out_c + channels - 1) / channels;

	if (g->attrs->groups > 1 || c->integer || filter < least ||
	    filter < g->in_h * g->in_w * g->in_c || channels >= g->out_c ||
	    needed * channels - g->out_c > g->out_c / 16)
		return false;
	c->rows = g->out_h;
	c->channels = channels;
	c->parts = needed;
	return true;
}

/*
 * The ways to divide the work, in the order in which they are tried: BY_WORK fails where slices
 * with other numbers of rows need another layout of the filter; then the channels are divided, and
 * at last nothing.
 */
enum division { BY_WORK, BY_CHANNELS, WHOLE };

/* Divides the work into slices by the shape alone; false when this division is impossible. */
static bool divide(struct conv *c, int64_t part_work, enum division division)
{
	const struct cpu_conv *g = &c->shape;
	int64_t pixels = g->out_h * g->out_w, in_pixels = g->in_h * g->in_w;
	int64_t work = pixels * g->out_c * g->in_per_group * g->kh * g->kw +
		       ELEMENT_WORK * (pixels * g->out_c + in_pixels * g->in_c);
	int64_t share = work / part_work, most = division == WHOLE ? 1 : MAX_PARTS;
	/* The number of slices is small, since each is a call of oneDNN. */
	int64_t parts = share < 1 ? 1 : share < 4 ? 2 : share < 16 ? 4 : MAX_PARTS;

	parts = parts > most / g->batch ? most / g->batch : parts;
	c->channels = g->out_c;
	if (division == BY_CHANNELS)
		return parts > 1 && share_channels(c, 0, power_of_two(parts), CPU_MAX_LANES);
	if (parts > 1 &&
	    share_channels(c, part_work / LARGE_FILTER, power_of_two(parts), CHANNEL_BLOCK))
		return true;
	parts = parts > pixels / MIN_PIXELS ? pixels / MIN_PIXELS : parts;
	parts = parts > g->out_h ? g->out_h : parts;
	parts = power_of_two(parts);
	c->rows = (g->out_h + parts - 1) / parts;
	c->parts = (g->out_h + c->rows - 1) / c->rows;
	return true;
}

static int make_integer(struct conv *c)
{
	const struct onednn *dnn = c->dnn;
	size_t channels = (size_t)c->shape.out_c;
	dnnl_memory_desc_t desc = NULL;
	const dnnl_dims_t one = { 1 };
	int ret = 0;

	c->scales = wnn_calloc(channels, sizeof(*c->scales));
	c->biases = wnn_calloc(channels, sizeof(*c->biases));
	c->addends = c->has_addend ? wnn_calloc(channels, sizeof(*c->addends)) : NULL;
	c->finish = (struct cpu_finish){ c->scales, c->biases, (float)c->integer->zero,
					 (float)c->integer->lo, (float)c->integer->hi };
	c->sums_bytes =
		cpu_round_up((size_t)(c->rows * c->shape.out_w) * channels * sizeof(int32_t));
	if (c->zero_point)
		ret = dnn->memory_desc_create_with_tag(&desc, 1, one, dnnl_s32, dnnl_a) ||
		      dnn->memory_create(&c->zero, desc, dnn->engine, &c->zero_point);
	dnn->memory_desc_destroy(desc);
	return ret || !c->scales || !c->biases || (c->has_addend && !c->addends) ? -1 : 0;
}

static int make(struct conv *c)
{
	const struct onednn *dnn = c->dnn;
	dnnl_primitive_attr_t attr = NULL;
	int ret;

	if (!list_forms(c) || describe_filter(c) || (c->integer && make_integer(c)))
		return -1;
	if (by_channels(c))
		c->sums_bytes = cpu_round_up((size_t)(c->rows * c->shape.out_w * c->channels) *
					     sizeof(float));
	ret = make_attributes(c, &attr);
	for (unsigned int f = 0; f < c->num_forms && !ret; f++)
		ret = make_form(c, &c->forms[f], attr);
	dnn->primitive_attr_destroy(attr);
	if (ret || make_memories(c))
		return -1;
	drop_descriptions(c);
	return 0;
}

/* Sets the shape of a node; returns false when this kernel cannot compute it. */
static bool set_shape(struct conv *c, const struct ir_node *node)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;

	if (node->op == IR_OP_CONV || node->op == IR_OP_QCONV) {
		c->shape = cpu_conv_of(node);
		return !attrs->transposed && attrs->layout == IR_NHWC;
	}
	if (!cpu_matmul_as_conv(node, &c->as))
		return false;
	c->shape = c->as.conv;
	return c->shape.out_w >= MIN_ROWS;
}

static void set_float(struct conv *c, const struct ir_node *node)
{
	c->in_type = c->filter_type = c->out_type = dnnl_f32;
	c->in_bytes = c->filter_bytes = c->out_bytes = sizeof(float);
	c->has_bias = node->num_operands > 2 && node->operands[2];
}

/*
 * Sets up an integer node; false when oneDNN cannot compute it exactly, for a float16 result, and
 * for an addend that is not float32.
 */
static bool set_integer(struct conv *c, const struct ir_node *node)
{
	const struct ir_value *addend = node->num_operands > 4 ? node->operands[4] : NULL;
	enum ir_dtype to = node->results[0]->type.dtype;

	if (to == IR_F16 || (addend && addend->type.dtype != IR_F32))
		return false;
	c->has_addend = addend;
	c->each_addend = addend && ir_type_elements(&addend->type) > 1;
	if (to == IR_F32)
		c->real_act = node->op == IR_OP_QCONV ? &node->attrs.conv.act :
							&node->attrs.matmul.act;
	c->integer = node->op == IR_OP_QCONV ? &node->attrs.qconv.integer :
					       &node->attrs.qmatmul.integer;
	c->filter_unsigned = node->operands[1]->type.dtype == IR_U8;
	c->in_type = node->operands[0]->type.dtype == IR_U8 ? dnnl_u8 : dnnl_s8;
	c->filter_type = dnnl_s8;
	c->out_type = dnnl_s32;
	c->in_bytes = c->filter_bytes = 1;
	c->out_bytes = to == IR_F32 ? sizeof(float) : 1;
	c->zero_point = (int32_t)c->integer->a_zero;
	c->has_bias = node->num_operands > 3 && node->operands[3];
	c->each_scale = ir_type_elements(&node->operands[2]->type) > 1;
	c->each_bias = c->has_bias && ir_type_elements(&node->operands[3]->type) > 1;
	return c->dnn->exact_integers && c->integer->b_zero == (c->filter_unsigned ? 128 : 0) &&
	       onednn_sums_are_right(c->dnn, &c->shape, c->zero_point);
}

static bool set_types(struct conv *c, const struct ir_node *node)
{
	if (node->op == IR_OP_QCONV || node->op == IR_OP_QMATMUL)
		return set_integer(c, node);
	set_float(c, node);
	return onednn_floats_are_right(&c->shape);
}

static bool fuse(struct cpu_plan *plan, const struct cpu_context *cpu, const struct ir_node *next)
{
	struct conv *c = (struct conv *)plan;

	(void)cpu;
	if (c->integer || next->op != IR_OP_BINARY)
		return false;
	c->adds = true;
	c->sum_act = next->attrs.binary.act;
	return true;
}

static struct cpu_plan *make_plan(const struct onednn *dnn, const struct cpu_context *cpu,
				  const struct ir_node *node, enum division division)
{
	struct conv *c = wnn_calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = (struct cpu_plan){ .pack = pack, .run = run, .destroy = destroy, .fuse = fuse };
	c->dnn = dnn;
	c->operands = node->num_operands;
	if (!set_shape(c, node) || !set_types(c, node)) {
		wnn_free(c);
		return NULL;
	}
	c->flat = is_flat(&c->shape);
	if (c->flat)
		flatten(&c->shape);
	c->threads = cpu->threads;
	c->workers = wnn_calloc(c->threads, sizeof(*c->workers));
	if (c->workers && divide(c, cpu->part_work, division) && !make(c))
		return &c->base;
	destroy(&c->base);
	return NULL;
}

struct cpu_plan *onednn_conv_plan(const struct onednn *dnn, const struct cpu_context *cpu,
				  const struct ir_node *node)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct cpu_plan *plan = NULL;
	int threads;

	if ((dtype != IR_F32 && dtype != IR_I8 && dtype != IR_U8) ||
	    node->operands[1]->kind != IR_VALUE_CONSTANT)
		return NULL;
	threads = onednn_enter(dnn);
	for (enum division division = BY_WORK; division <= WHOLE && !plan; division++)
		plan = make_plan(dnn, cpu, node, division);
	onednn_leave(dnn, threads);
	return plan;
}

/* Returns the condition of set_shape() that the node does not fulfil. */
static const char *shape_refused(const struct ir_node *node)
{
	const char *no_conv;

	if (node->op == IR_OP_CONV || node->op == IR_OP_QCONV)
		return node->attrs.conv.transposed ? "it is transposed" :
						     "its channels do not come last";
	no_conv = cpu_matmul_no_conv(node);
	return no_conv ? no_conv : "it has fewer than 8 rows";
}

const char *cpu_onednn_conv_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct conv c = { 0 };

	if (dtype != IR_F32 && dtype != IR_I8 && dtype != IR_U8)
		return "its type is neither float32 nor an integer of 8 bits";
	if (!ask->packs)
		return "its filter or second matrix is not constant";
	if (!set_shape(&c, node))
		return shape_refused(node);
	if (node->op == IR_OP_CONV && !cpu_conv_can_pack(node))
		return "its filter has a NaN or infinity, which padding must not be multiplied "
		       "with";
	return dtype != IR_F32 || onednn_floats_are_right(&c.shape) ?
		       NULL :
		       "oneDNN computes windows of this shape wrong";
}

struct cpu_plan *cpu_onednn_conv_plan(const struct cpu_ask *ask)
{
	return onednn_conv_plan(onednn_get(), ask->cpu, ask->node);
}
