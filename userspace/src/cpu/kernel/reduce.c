// SPDX-License-Identifier: MIT
/*
 * Fast reductions, and normalizations for float32. The reduced axes are adjacent, so that a tensor
 * is [outer, n, inner]: contiguous rows of n where inner is 1, else n rows of `inner` that are
 * folded onto each other.
 */
#include <float.h>
#include <math.h>

#include "cpu/fast.h"
#include "cpu/ref/reference.h"
#include "cpu/kernel/kernels.h"

/* The least elements that are worth a thread. */
#define GRAIN 16384
/*
 * Longer rows are folded in parts of this many elements. The size does not depend on the number of
 * threads, so that the bits of results do not, either.
 */
#define PART 65536
/* Results that are computed together when `inner` is not 1. */
#define COLUMNS 256

struct axes {
	int64_t outer, n, inner;
};

/*
 * Finds the sizes of [outer, n, inner]; false when other axes lie between those of the mask. Axes
 * of size 1 may lie anywhere.
 */
static bool split_axes(const struct ir_type *type, uint32_t mask, struct axes *a)
{
	enum { OUTER, FOLDED, INNER } part = OUTER;

	*a = (struct axes){ 1, 1, 1 };
	for (uint32_t d = 0; d < type->rank; d++) {
		int64_t dim = ir_type_dim(type, d);

		if (dim == 1)
			continue;
		if (mask >> d & 1) {
			if (part == INNER)
				return false;
			part = FOLDED;
			a->n *= dim;
		} else if (part == OUTER) {
			a->outer *= dim;
		} else {
			part = INNER;
			a->inner *= dim;
		}
	}
	return true;
}

static int64_t grain_of(int64_t elements)
{
	return GRAIN / elements + 1;
}

/* --- Reductions --- */

struct reduction {
	const struct cpu_simd *simd;
	enum ir_reduce kind;
	enum cpu_fold fold;
	struct axes a;
	int64_t blocks; /* number of blocks of columns in `inner` */
	float infinite; /* the number that replaces an infinite maximum */
	const float *x;
	float *y;
	int64_t parts;	/* number of parts of a row */
	double *folded; /* [outer, parts]: the folded parts, if a row has several; else NULL */
};

static bool fold_of(enum ir_reduce kind, enum cpu_fold *fold)
{
	switch (kind) {
	case IR_REDUCE_SUM:
	case IR_REDUCE_MEAN:
	case IR_REDUCE_LOG_SUM:
		*fold = CPU_FOLD_SUM;
		return true;
	case IR_REDUCE_L1:
		*fold = CPU_FOLD_ABS;
		return true;
	case IR_REDUCE_L2:
	case IR_REDUCE_SUM_SQUARE:
		*fold = CPU_FOLD_SQUARES;
		return true;
	case IR_REDUCE_MAX:
	case IR_REDUCE_LOG_SUM_EXP:
	case IR_REDUCE_SHIFTED_LOG_SUM_EXP:
		*fold = CPU_FOLD_MAX;
		return true;
	case IR_REDUCE_MIN:
		*fold = CPU_FOLD_MIN;
		return true;
	default:
		return false;
	}
}

static void reduce_vectors(void *argument, int64_t begin, int64_t end)
{
	const struct reduction *r = argument;

	for (int64_t i = begin; i < end; i++)
		r->y[i] = (float)cpu_finish_reduce(
			r->kind, r->simd->fold(r->fold, r->x + i * r->a.n, r->a.n, 0), r->a.n);
}

static void fold_parts(void *argument, int64_t begin, int64_t end)
{
	const struct reduction *r = argument;

	for (int64_t i = begin; i < end; i++) {
		int64_t at = i % r->parts * PART, rest = r->a.n - at;

		r->folded[i] = r->simd->fold(r->fold, r->x + i / r->parts * r->a.n + at,
					     rest < PART ? rest : PART, 0);
	}
}

/* Returns two parts folded into one. A NaN is both the largest and the smallest number. */
static double joined(enum cpu_fold fold, double a, double b)
{
	if (fold == CPU_FOLD_MAX)
		return isnan(a) || a > b ? a : b;
	if (fold == CPU_FOLD_MIN)
		return isnan(a) || a < b ? a : b;
	return a + b;
}

static int reduce_long_vectors(struct cpu_context *cpu, struct reduction *r, struct wnn_error *err)
{
	int64_t count = r->a.outer * r->parts;

	r->folded = cpu_scratch(cpu, (size_t)count * sizeof(*r->folded));
	if (!r->folded)
		return wnn_error_nomem(err, "the parts of a reduction");
	cpu_parallel_ranges(cpu, count, 1, fold_parts, r);
	for (int64_t i = 0; i < r->a.outer; i++) {
		const double *part = r->folded + i * r->parts;
		double all = part[0];

		for (int64_t k = 1; k < r->parts; k++)
			all = joined(r->fold, all, part[k]);
		r->y[i] = (float)cpu_finish_reduce(r->kind, all, r->a.n);
	}
	return 0;
}

static void reduce_columns(void *argument, int64_t begin, int64_t end)
{
	const struct reduction *r = argument;
	double first = r->fold == CPU_FOLD_MAX ? -INFINITY : r->fold == CPU_FOLD_MIN ? INFINITY : 0;
	double columns[COLUMNS];

	for (int64_t item = begin; item < end; item++) {
		int64_t o = item / r->blocks, at = item % r->blocks * COLUMNS;
		int64_t n = r->a.inner - at < COLUMNS ? r->a.inner - at : COLUMNS;

		for (int64_t i = 0; i < n; i++)
			columns[i] = first;
		for (int64_t k = 0; k < r->a.n; k++)
			r->simd->fold_row(r->fold, columns,
					  r->x + (o * r->a.n + k) * r->a.inner + at, n);
		for (int64_t i = 0; i < n; i++)
			r->y[o * r->a.inner + at + i] =
				(float)cpu_finish_reduce(r->kind, columns[i], r->a.n);
	}
}

/* --- log(sum(exp(x - max))) + max --- */

static void log_vectors(void *argument, int64_t begin, int64_t end)
{
	const struct reduction *r = argument;

	for (int64_t i = begin; i < end; i++) {
		float max;
		double sum = cpu_exp_sum(r->simd, r->x + i * r->a.n, r->a.n, r->infinite, &max);

		r->y[i] = (float)((double)max + log(sum));
	}
}

static void largest_in_columns(const struct reduction *r, const float *x, float *max, int64_t n)
{
	double columns[COLUMNS];

	for (int64_t i = 0; i < n; i++)
		columns[i] = (double)-INFINITY;
	for (int64_t k = 0; k < r->a.n; k++)
		r->simd->fold_row(CPU_FOLD_MAX, columns, x + k * r->a.inner, n);
	for (int64_t i = 0; i < n; i++) {
		max[i] = (float)columns[i];
		if (isinf(max[i]))
			max[i] = copysignf(r->infinite, max[i]);
	}
}

static void log_columns(void *argument, int64_t begin, int64_t end)
{
	const struct reduction *r = argument;
	float max[COLUMNS], powers[COLUMNS];

	for (int64_t item = begin; item < end; item++) {
		int64_t o = item / r->blocks, at = item % r->blocks * COLUMNS;
		int64_t n = r->a.inner - at < COLUMNS ? r->a.inner - at : COLUMNS;
		const float *x = r->x + o * r->a.n * r->a.inner + at;
		double sums[COLUMNS] = { 0 };

		largest_in_columns(r, x, max, n);
		for (int64_t k = 0; k < r->a.n; k++) {
			r->simd->binary(IR_SUB, powers, x + k * r->a.inner, 1, max, 1, n);
			r->simd->unary(IR_EXP, 0, 0, powers, powers, n);
			r->simd->fold_row(CPU_FOLD_SUM, sums, powers, n);
		}
		for (int64_t i = 0; i < n; i++)
			r->y[o * r->a.inner + at + i] = (float)((double)max[i] + log(sums[i]));
	}
}

static bool is_log(enum ir_reduce kind)
{
	return kind == IR_REDUCE_LOG_SUM_EXP || kind == IR_REDUCE_SHIFTED_LOG_SUM_EXP;
}

int cpu_reduce(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	struct reduction r = {
		.simd = cpu->simd, .kind = node->attrs.reduce.kind, .x = in[0], .y = out[0]
	};

	fold_of(r.kind, &r.fold);
	r.infinite = r.kind == IR_REDUCE_LOG_SUM_EXP ? FLT_MAX : INFINITY;
	split_axes(&node->operands[0]->type, node->attrs.reduce.axes, &r.a);
	r.blocks = (r.a.inner + COLUMNS - 1) / COLUMNS;
	r.parts = (r.a.n + PART - 1) / PART;
	if (r.a.inner == 1 && r.parts > 1 && !is_log(r.kind))
		return reduce_long_vectors(cpu, &r, err);
	if (r.a.inner == 1)
		cpu_parallel_ranges(cpu, r.a.outer, grain_of(r.a.n),
				    is_log(r.kind) ? log_vectors : reduce_vectors, &r);
	else
		cpu_parallel_ranges(cpu, r.a.outer * r.blocks, grain_of(r.a.n * COLUMNS),
				    is_log(r.kind) ? log_columns : reduce_columns, &r);
	return 0;
}

/* --- Reductions of integers, which wrap around as in the reference kernel --- */

struct integer_reduction {
	enum ir_reduce kind;
	struct axes a;
	int64_t blocks; /* number of blocks of columns in `inner` */
	const void *x;
	void *y;
};

/*
 * Folds rows of n columns onto y; `value` is the next number of a column, `before` what those in
 * front of it gave. A single column stays in a register.
 */
#define FOLD(expression)                                                        \
	do {                                                                    \
		wide before = (wide)y[0];                                       \
                                                                                \
		for (int64_t k = 0; n == 1 && k < r->a.n; k++) {                \
			const wide value = (wide)x[k * r->a.inner];             \
                                                                                \
			before = (wide)(type)(expression);                      \
		}                                                               \
		y[0] = (type)before;                                            \
		for (int64_t k = 0; n > 1 && k < r->a.n; k++)                   \
			for (int64_t i = 0; i < n; i++) {                       \
				const wide value = (wide)x[k * r->a.inner + i]; \
                                                                                \
				before = (wide)y[i];                            \
				y[i] = (type)(expression);                      \
			}                                                       \
		return;                                                         \
	} while (0)

/*
 * Reduces n columns of a tensor from x on. `wide` is an unsigned type, in which sums and products
 * may overflow; the result has the low bits.
 */
#define INTEGERS(name, type_, wide_, is_negative)                                             \
	static void columns_##name(const struct integer_reduction *r, const type_ *x,         \
				   type_ *restrict y, int64_t n)                              \
	{                                                                                     \
		typedef type_ type;                                                           \
		typedef wide_ wide;                                                           \
                                                                                              \
		for (int64_t i = 0; i < n; i++)                                               \
			y[i] = r->kind == IR_REDUCE_MAX || r->kind == IR_REDUCE_MIN ? x[i] :  \
			       r->kind == IR_REDUCE_PROD			    ? 1 :     \
										      0;                                 \
		switch (r->kind) {                                                            \
		case IR_REDUCE_MAX:                                                           \
			FOLD((type)value > (type)before ? value : before);                    \
		case IR_REDUCE_MIN:                                                           \
			FOLD((type)value < (type)before ? value : before);                    \
		case IR_REDUCE_PROD:                                                          \
			FOLD(before *value);                                                  \
		case IR_REDUCE_SUM_SQUARE:                                                    \
			FOLD(before + value * value);                                         \
		case IR_REDUCE_L1:                                                            \
			FOLD(is_negative ? before - value : before + value);                  \
		default:                                                                      \
			FOLD(before + value);                                                 \
		}                                                                             \
	}                                                                                     \
                                                                                              \
	static void reduce_##name(void *argument, int64_t begin, int64_t end)                 \
	{                                                                                     \
		const struct integer_reduction *r = argument;                                 \
                                                                                              \
		for (int64_t item = begin; item < end; item++) {                              \
			int64_t o = r->blocks > 1 ? item / r->blocks : item;                  \
			int64_t at = (item - o * r->blocks) * COLUMNS;                        \
			int64_t n = r->a.inner - at < COLUMNS ? r->a.inner - at : COLUMNS;    \
                                                                                              \
			columns_##name(r, (const type_ *)r->x + o * r->a.n * r->a.inner + at, \
				       (type_ *)r->y + o * r->a.inner + at, n);               \
		}                                                                             \
	}

INTEGERS(i8, int8_t, uint32_t, (type)value < 0)
INTEGERS(u8, uint8_t, uint32_t, false)
INTEGERS(i32, int32_t, uint32_t, (type)value < 0)
INTEGERS(u32, uint32_t, uint32_t, false)
INTEGERS(i64, int64_t, uint64_t, (type)value < 0)
INTEGERS(u64, uint64_t, uint64_t, false)

/* Returns the function that reduces integers of this type, or NULL. */
static void (*integers_of(enum ir_dtype dtype))(void *argument, int64_t begin, int64_t end)
{
	switch (dtype) {
	case IR_I8:
		return reduce_i8;
	case IR_U8:
		return reduce_u8;
	case IR_I32:
		return reduce_i32;
	case IR_U32:
		return reduce_u32;
	case IR_I64:
		return reduce_i64;
	case IR_U64:
		return reduce_u64;
	default:
		return NULL;
	}
}

int cpu_reduce_integers(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->operands[0]->type;
	struct integer_reduction r = { .kind = node->attrs.reduce.kind, .x = in[0], .y = out[0] };

	(void)err;
	split_axes(type, node->attrs.reduce.axes, &r.a);
	r.blocks = (r.a.inner + COLUMNS - 1) / COLUMNS;
	cpu_parallel_ranges(cpu, r.a.outer * r.blocks,
			    grain_of(r.a.n * (r.a.inner < COLUMNS ? r.a.inner : COLUMNS)),
			    integers_of(type->dtype), &r);
	return 0;
}

/* --- Normalizations --- */

struct normalization {
	const struct cpu_simd *simd;
	struct axes a;
	const float *x, *mean, *variance, *scale, *bias;
	float *y;
	double epsilon;
	bool rms;
	/*
	 * Row i has the parameters of `in_row` channels, from i * in_row modulo this number on;
	 * 0: each element of a row has parameters of its own.
	 */
	int64_t channels;
	int64_t in_row; /* channels of a row: those of one group */
};

static void set_statistics(const struct normalization *z, int64_t channel, const float *x,
			   struct cpu_normal *m)
{
	double n = (double)z->a.n, variance;

	if (z->mean) {
		m->mean = (double)z->mean[channel];
		variance = (double)z->variance[channel];
	} else {
		m->mean = z->rms ? 0 : z->simd->fold(CPU_FOLD_SUM, x, z->a.n, 0) / n;
		variance = z->simd->fold(CPU_FOLD_SQUARES, x, z->a.n, m->mean) / n;
	}
	m->factor = 1 / sqrt(variance + z->epsilon);
}

static void normalize_vectors(void *argument, int64_t begin, int64_t end)
{
	const struct normalization *z = argument;

	for (int64_t i = begin; i < end; i++) {
		const float *x = z->x + i * z->a.n;
		int64_t channel = z->channels ? i * z->in_row % z->channels : 0;
		int64_t n = z->a.n / z->in_row;
		struct cpu_normal m = { .scale = z->scale ? z->scale + channel : NULL,
					.bias = z->bias ? z->bias + channel : NULL,
					.each = !z->channels };

		set_statistics(z, channel, x, &m);
		for (int64_t k = 0; k < z->in_row; k++) {
			z->simd->normalize(&m, z->y + i * z->a.n + k * n, x + k * n, n);
			m.scale += m.scale ? 1 : 0;
			m.bias += m.bias ? 1 : 0;
		}
	}
}

static const float *optional(const struct ir_node *node, const void *const *in, uint32_t operand)
{
	return node->num_operands > operand ? in[operand] : NULL;
}

/* Returns the axes of one row as a mask; for batchNormalization, those after attrs->axis. */
static uint32_t vector_axes(const struct ir_node *node)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	uint32_t axes = 0;

	if (node->op == IR_OP_INSTNORM)
		return ~UINT32_C(3);
	if (node->op == IR_OP_BATCHNORM)
		return ~UINT32_C(0) << (attrs->axis + 1);
	for (uint32_t i = 0; i < attrs->num_axes; i++)
		axes |= UINT32_C(1) << attrs->axes[i];
	return axes;
}

int cpu_normalize(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->results[0]->type;
	bool given = node->op == IR_OP_BATCHNORM;
	struct normalization z = {
		.simd = cpu->simd,
		.x = in[0],
		.mean = given ? in[1] : NULL,
		.variance = given ? in[2] : NULL,
		.scale = optional(node, in, given ? 3 : 1),
		.bias = optional(node, in, given ? 4 : 2),
		.y = out[0],
		.epsilon = (double)node->attrs.norm.epsilon,
		.rms = node->attrs.norm.rms,
		.in_row = 1,
	};

	(void)err;
	split_axes(type, vector_axes(node), &z.a);
	if (node->op == IR_OP_INSTNORM && node->attrs.norm.groups) {
		z.in_row = ir_type_dim(type, 1) / node->attrs.norm.groups;
		z.a.outer /= z.in_row;
		z.a.n *= z.in_row;
	}
	if (node->op != IR_OP_LAYERNORM)
		z.channels = ir_type_dim(type, given ? node->attrs.norm.axis : 1);
	cpu_parallel_ranges(cpu, z.a.outer, grain_of(z.a.n), normalize_vectors, &z);
	return 0;
}

/* --- Interleaved channels: each element has a mean, a factor and a bias of its own --- */

/*
 * ROW: the least elements of a row, for which row_of() repeats the period of channels. BLOCK: the
 * most elements that are computed at a time.
 */
#define ROW   1024
#define BLOCK 2048

struct by_channels {
	const struct cpu_simd *simd;
	/* mean, factor and bias of each element of a row; bias may be NULL */
	const float *x, *mean, *factor, *bias;
	float *y;
	int64_t row, count;
};

static void normalize_rows(void *argument, int64_t begin, int64_t end)
{
	const struct by_channels *b = argument;
	int64_t n;

	end = end * b->row < b->count ? end * b->row : b->count;
	for (int64_t i = begin * b->row; i < end; i += n) {
		int64_t at = i % b->row;
		float *y = b->y + i;

		n = b->row - at < BLOCK ? b->row - at : BLOCK;
		n = end - i < n ? end - i : n;
		b->simd->binary(IR_SUB, y, b->x + i, 1, b->mean + at, 1, n);
		b->simd->binary(IR_MUL, y, y, 1, b->factor + at, 1, n);
		if (b->bias)
			b->simd->binary(IR_ADD, y, y, 1, b->bias + at, 1, n);
	}
}

/*
 * Returns the elements of a row: a multiple of the period of channels that is at least ROW, or all
 * elements when they are fewer.
 */
static int64_t row_of(const struct ir_type *type, uint32_t axis, int64_t *inner)
{
	int64_t count = ir_type_elements(type), period, times;

	*inner = 1;
	for (uint32_t d = axis + 1; d < type->rank; d++)
		*inner *= ir_type_dim(type, d);
	period = *inner * ir_type_dim(type, axis);
	times = (ROW + period - 1) / period;
	return times * period < count ? times * period : count;
}

int cpu_normalize_channels(struct cpu_context *cpu, const struct ir_node *node,
			   const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->results[0]->type;
	const float *mean = in[1], *variance = in[2], *scale = optional(node, in, 3);
	const float *bias = optional(node, in, 4);
	int64_t inner, channels = ir_type_dim(type, node->attrs.norm.axis);
	struct by_channels b = { .simd = cpu->simd,
				 .x = in[0],
				 .y = out[0],
				 .row = row_of(type, node->attrs.norm.axis, &inner),
				 .count = ir_type_elements(type) };
	float *numbers = cpu_scratch(cpu, (size_t)(3 * b.row) * sizeof(*numbers));

	if (!numbers)
		return wnn_error_nomem(err, "a normalisation");
	for (int64_t i = 0; i < b.row; i++) {
		int64_t c = i / inner % channels;
		double under = (double)variance[c] + (double)node->attrs.norm.epsilon;

		numbers[i] = mean[c];
		numbers[b.row + i] = (float)((scale ? (double)scale[c] : 1) / sqrt(under));
		numbers[2 * b.row + i] = bias ? bias[c] : 0;
	}
	b.mean = numbers;
	b.factor = numbers + b.row;
	b.bias = bias ? numbers + 2 * b.row : NULL;
	cpu_parallel_ranges(cpu, (b.count + b.row - 1) / b.row, grain_of(b.row), normalize_rows,
			    &b);
	return 0;
}

/*
 * Whether the axes are ascending: layerNormalization's parameters are in the order of its axes, and
 * the kernel needs the order of the tensor.
 */
static bool in_order(const struct ir_norm_attrs *attrs)
{
	for (uint32_t i = 1; i < attrs->num_axes; i++)
		if (attrs->axes[i] < attrs->axes[i - 1])
			return false;
	return true;
}

const char *cpu_reduce_refuses(const struct cpu_ask *ask)
{
	const struct ir_type *type = &ask->node->operands[0]->type;
	enum cpu_fold fold;
	struct axes a;

	if (type->dtype != IR_F32)
		return "its type is not float32";
	if (!fold_of(ask->node->attrs.reduce.kind, &fold))
		return "this kernel does not compute its kind of reduction";
	return split_axes(type, ask->node->attrs.reduce.axes, &a) ? NULL :
								    "its axes are not adjacent";
}

const char *cpu_reduce_integers_refuses(const struct cpu_ask *ask)
{
	const struct ir_type *type = &ask->node->operands[0]->type;
	struct axes a;

	if (!integers_of(type->dtype))
		return "its type is not an integer of 8, 32 or 64 bits";
	return split_axes(type, ask->node->attrs.reduce.axes, &a) ? NULL :
								    "its axes are not adjacent";
}

const char *cpu_normalize_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_type *type = &node->operands[0]->type;
	struct axes a;

	if (type->dtype != IR_F32)
		return "its type is not float32";
	if (node->op == IR_OP_INSTNORM && node->attrs.norm.layout != IR_NCHW)
		return "its channels come last";
	if (node->op == IR_OP_LAYERNORM && !in_order(&node->attrs.norm))
		return "its axes are not ascending";
	/* Vectors do not pay for rows of fewer than 4 elements. */
	return split_axes(type, vector_axes(node), &a) && a.inner == 1 && a.n >= 4 ?
		       NULL :
		       "it has no rows of 4 elements or more that are contiguous";
}

const char *cpu_normalize_channels_refuses(const struct cpu_ask *ask)
{
	return ask->node->operands[0]->type.dtype == IR_F32 ? NULL : "its type is not float32";
}
