// SPDX-License-Identifier: MIT
/*
 * Fast products of 8-bit integers on the kernels for float32: a sum of products is exact there in
 * any order while it stays below 2^24. A longer sum is cut into slices, whose sums are added as
 * integers. Element-wise functions of one 8-bit integer use tables of 256 entries.
 */
#include <math.h>
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/ref/reference.h"
#include "util/malloc.h"
#include "cpu/kernel/kernels.h"

#define EXACT	   ((int64_t)1 << 24) /* all integers up to here are exact in float32 */
#define CHUNK	   4096
#define BLOCK	   256 /* floats that are converted to results at a time */
#define NUM_VALUES 256

/* --- The product as products of float32 --- */

struct product {
	const struct ir_node *node;
	const struct ir_integer_attrs *attrs;
	uint32_t axis[2];     /* for each operand, the axis along which the sum runs */
	uint32_t channel;     /* the axis of the result that has scales and biases */
	int64_t depth, parts; /* depth of the sum along `axis`; number of its slices */
	int64_t part;	      /* depth of each slice but the last */
};

/* A slice of the product, as a node of float32. */
struct part {
	struct ir_node node;
	struct ir_value values[3], *operands[2], *results[1];
	int64_t begin, depth;
};

/* Returns the largest distance of an integer of the type from the zero point. */
static int64_t largest(enum ir_dtype dtype, int64_t zero)
{
	int64_t below = zero - cpu_int_min(dtype), above = cpu_int_max(dtype) - zero;

	return below > above ? below : above;
}

/*
 * Fills in *p. Returns false when even the sum for a single index along the axis may be too large
 * to be exact, or when the sum is too long and cannot be cut.
 */
static bool product_of(const struct ir_node *node, struct product *p)
{
	const struct ir_type *a = &node->operands[0]->type, *b = &node->operands[1]->type;
	bool conv = node->op == IR_OP_QCONV;
	const struct ir_conv_attrs *c = &node->attrs.conv;
	const struct ir_matmul_attrs *m = &node->attrs.matmul;
	int64_t taps = 1, limit;

	memset(p, 0, sizeof(*p));
	p->node = node;
	p->attrs = conv ? &node->attrs.qconv.integer : &node->attrs.qmatmul.integer;
	if (conv) {
		const uint8_t *axes = ir_filter_axes(c->filter_layout);

		p->axis[0] = p->channel = c->layout == IR_NHWC ? 3 : 1;
		p->axis[1] = axes[1];
		taps = ir_type_dim(b, axes[2]) * ir_type_dim(b, axes[3]);
		p->depth = ir_type_dim(a, p->axis[0]) / c->groups;
	} else {
		p->axis[0] = a->rank - (m->a_transpose ? 2 : 1);
		p->axis[1] = b->rank - (m->b_transpose ? 1 : 2);
		p->channel = node->results[0]->type.rank - 1;
		p->depth = ir_type_dim(a, p->axis[0]);
	}
	limit = EXACT / (largest(a->dtype, p->attrs->a_zero) * largest(b->dtype, p->attrs->b_zero));
	if (taps > limit)
		return false;
	p->part = limit / taps < p->depth ? limit / taps : p->depth;
	p->parts = (p->depth + p->part - 1) / p->part;
	return p->parts == 1 || !conv || c->groups == 1;
}

static void part_init(struct part *part, const struct product *p, int64_t number)
{
	const struct ir_node *node = p->node;

	memset(part, 0, sizeof(*part));
	part->begin = number * p->part;
	part->depth = p->depth - part->begin < p->part ? p->depth - part->begin : p->part;
	part->node = *node;
	part->node.op = node->op == IR_OP_QCONV ? IR_OP_CONV : IR_OP_MATMUL;
	part->node.num_operands = 2;
	if (node->op == IR_OP_QCONV) {
		part->node.attrs.conv.act.kind = IR_UNARY_NONE;
	} else {
		part->node.attrs.matmul.alpha = part->node.attrs.matmul.beta = 1;
		part->node.attrs.matmul.act.kind = IR_UNARY_NONE;
	}
	part->node.operands = part->operands;
	part->node.results = part->results;
	for (int i = 0; i < 2; i++) {
		part->values[i] = *node->operands[i];
		part->values[i].type.dtype = IR_F32;
		/*
		 * The data of this operand are floats, which the caller provides, not the constant
		 * integers.
		 */
		part->values[i].constant = NULL;
		if (p->parts > 1)
			part->values[i].type.dim[p->axis[i]].value = part->depth;
		part->operands[i] = &part->values[i];
	}
	part->values[2] = *node->results[0];
	part->values[2].type.dtype = IR_F32;
	part->results[0] = &part->values[2];
}

static size_t float_bytes(const struct part *part, int operand)
{
	return cpu_round_up((size_t)ir_type_bytes(&part->values[operand].type));
}

/*
 * The conversion of an operand's data for a slice: for each index of the axes before the cut axis,
 * a run of contiguous elements.
 */
struct share {
	const struct cpu_simd *simd;
	bool is_signed;
	const uint8_t *from;
	float *to;
	int32_t zero;
	/* step: elements from one run to the next; length: elements of a run */
	int64_t step, length;
};

static void convert_run(const struct share *s, int64_t i, int64_t n)
{
	s->simd->widen(s->to + i * s->length, s->from + i * s->step, s->is_signed, s->zero, n);
}

static void convert_runs(void *argument, int64_t begin, int64_t end)
{
	const struct share *s = argument;

	for (int64_t i = begin; i < end; i++)
		convert_run(s, i, s->length);
}

/* Converts the data of an operand for a slice to float32. @pool: its threads help; NULL: none. */
static void convert(const struct cpu_simd *simd, struct cpu_context *pool, const struct product *p,
		    const struct part *part, int operand, const void *from, float *to)
{
	const struct ir_value *value = p->node->operands[operand];
	int64_t inner = 1, count = ir_type_elements(&value->type);
	int64_t dim = ir_type_dim(&value->type, p->axis[operand]);
	struct share s = {
		.simd = simd,
		.is_signed = value->type.dtype == IR_I8,
		.to = to,
		.zero = (int32_t)(operand ? p->attrs->b_zero : p->attrs->a_zero),
	};

	for (uint32_t i = p->axis[operand] + 1; i < value->type.rank; i++)
		inner *= ir_type_dim(&value->type, i);
	/*
	 * Without slices the data need not be cut along the axis: they are converted in runs of
	 * CHUNK elements and a shorter last run.
	 */
	s.from = (const uint8_t *)from + (p->parts > 1 ? part->begin * inner : 0);
	s.step = p->parts > 1 ? dim * inner : count < CHUNK ? count : CHUNK;
	s.length = p->parts > 1 ? part->depth * inner : s.step;
	if (pool)
		cpu_parallel_ranges(pool, count / s.step, CHUNK / s.length + 1, convert_runs, &s);
	else
		convert_runs(&s, 0, count / s.step);
	if (count % s.step)
		convert_run(&s, count / s.step, count % s.step);
}

/* --- Packed constants: those of all slices in order, then memory for one slice in float32 --- */

/* The plan of a product; it owns the plans of its slices. */
struct integer_product {
	struct cpu_plan base;
	struct product p;
	struct part *parts;
	struct cpu_plan **plans; /* by slice: the plan of its node */
};

static size_t part_pack_bytes(const struct integer_product *t, int64_t i)
{
	size_t bytes = t->plans[i]->packed_bytes;

	return bytes ? cpu_round_up(bytes) : float_bytes(&t->parts[i], 1);
}

static size_t pack_bytes(const struct integer_product *t)
{
	size_t bytes = 0;

	for (int64_t i = 0; i < t->p.parts; i++)
		bytes += part_pack_bytes(t, i);
	return bytes + float_bytes(&t->parts[0], 1);
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct integer_product *t = (const struct integer_product *)plan;
	float *room = (float *)((char *)to + plan->packed_bytes);
	char *at = to;
	int ret = 0;

	room -= float_bytes(&t->parts[0], 1) / sizeof(*room);
	for (int64_t i = 0; i < t->p.parts && !ret; i++) {
		bool packed = t->plans[i]->packed_bytes;

		convert(plan->cpu->simd, NULL, &t->p, &t->parts[i], 1, from,
			packed ? room : (float *)at);
		if (packed)
			ret = cpu_plan_pack(t->plans[i], room, at, err);
		at += part_pack_bytes(t, i);
	}
	return ret;
}

/* --- Conversion of sums to results --- */

struct finish {
	const struct cpu_simd *simd;
	const struct product *p;
	const float *sums;     /* sums of the last slice */
	const int32_t *before; /* sums of the other slices; NULL: there are none */
	const float *scale;
	const int32_t *bias; /* or NULL */
	uint32_t scale_step, bias_step;
	int64_t inner, channels;
	void *out;
	struct cpu_finish limits; /* limits and zero point; scale and bias are set for each run */
	/* For a float result: its type, its activation, and an addend or NULL. */
	enum ir_dtype dtype;
	const struct ir_unary_attrs *act;
	const void *addend;
	enum ir_dtype addend_dtype;
	uint32_t addend_step;
};

/*
 * Converts n sums from `at` on to results. @each: they belong to consecutive channels, from
 * `channel` on; else all belong to `channel`.
 */
static void finish_run(const struct finish *f, int64_t at, int64_t n, int64_t channel, bool each)
{
	struct cpu_finish to = f->limits;

	to.scale = f->scale + channel * f->scale_step;
	to.bias = f->bias ? f->bias + channel * f->bias_step : NULL;
	f->simd->finish_floats(&to, (uint8_t *)f->out + at, f->sums + at,
			       f->before ? f->before + at : NULL, each && f->scale_step,
			       each && f->bias_step, n);
}

/*
 * Converts sums like finish_run(), for float results; in chunks, because float16 results are
 * float32 in a buffer first.
 */
static void finish_real(const struct finish *f, int64_t at, int64_t n, int64_t channel, bool each)
{
	float block[BLOCK];

	for (int64_t begin = 0; begin < n; begin += BLOCK) {
		int64_t count = n - begin < BLOCK ? n - begin : BLOCK;

		for (int64_t i = 0; i < count; i++) {
			int64_t place = at + begin + i, c = channel + (each ? begin + i : 0);
			int32_t sum = (int32_t)f->sums[place];

			sum += f->before ? f->before[place] : 0;
			sum += f->bias ? f->bias[c * f->bias_step] : 0;
			block[i] = (float)sum * f->scale[c * f->scale_step];
			if (f->addend)
				block[i] += (float)cpu_load(f->addend_dtype, f->addend,
							    c * f->addend_step);
		}
		cpu_activate(f->simd, f->act, block, count);
		if (f->dtype == IR_F32)
			memcpy((float *)f->out + at + begin, block, count * sizeof(*block));
		else
			for (int64_t i = 0; i < count; i++)
				cpu_store(f->dtype, f->out, at + begin + i, block[i]);
	}
}

/*
 * Converts runs of results: f->inner of one channel, or one of each channel when channels are
 * innermost.
 */
static void finish_runs(void *argument, int64_t begin, int64_t end)
{
	const struct finish *f = argument;
	int64_t length = f->inner > 1 ? f->inner : f->channels;

	for (int64_t i = begin; i < end; i++)
		(ir_dtype_is_float(f->dtype) ? finish_real : finish_run)(
			f, i * length, length, f->inner > 1 ? i % f->channels : 0, f->inner == 1);
}

static void finish(struct cpu_context *cpu, const struct product *p, const void *const *in,
		   const float *sums, const int32_t *before, void *out)
{
	const struct ir_node *node = p->node;
	const struct ir_type *y = &node->results[0]->type;
	struct finish f = {
		.simd = cpu->simd,
		.p = p,
		.sums = sums,
		.before = before,
		.scale = in[2],
		.scale_step = ir_type_elements(&node->operands[2]->type) > 1,
		.inner = 1,
		.channels = ir_type_dim(y, p->channel),
		.out = out,
		.limits = { .zero = (float)p->attrs->zero,
			    .lo = (float)p->attrs->lo,
			    .hi = (float)p->attrs->hi },
		.dtype = y->dtype,
		.act = node->op == IR_OP_QCONV ? &node->attrs.conv.act : &node->attrs.matmul.act,
	};
	int64_t length;

	if (node->num_operands > 3 && node->operands[3]) {
		f.bias = in[3];
		f.bias_step = ir_type_elements(&node->operands[3]->type) > 1;
	}
	if (node->num_operands > 4 && node->operands[4]) {
		f.addend = in[4];
		f.addend_dtype = node->operands[4]->type.dtype;
		f.addend_step = ir_type_elements(&node->operands[4]->type) > 1;
	}
	for (uint32_t i = p->channel + 1; i < y->rank; i++)
		f.inner *= ir_type_dim(y, i);
	length = f.inner > 1 ? f.inner : f.channels;
	cpu_parallel_ranges(cpu, ir_type_elements(y) / length, CHUNK / length + 1, finish_runs, &f);
}

struct sums {
	const struct cpu_simd *simd;
	const float *part;
	int32_t *total;
};

static void add_part(void *argument, int64_t begin, int64_t end)
{
	const struct sums *s = argument;

	s->simd->add_floats(s->total + begin, s->part + begin, end - begin);
}

/* --- Running --- */

/*
 * Memory of one run: data, filter and sums of a slice; total: the sums of all slices but the last
 * together, NULL when there is one slice.
 */
struct room {
	float *a, *b, *sums;
	int32_t *total;
};

static int run_parts(struct integer_product *t, struct cpu_context *cpu, const char *packed,
		     struct room *room, const void *const *in, struct wnn_error *err)
{
	int64_t count = ir_type_elements(&t->base.node->results[0]->type);
	const struct product *p = &t->p;
	int ret = 0;

	for (int64_t i = 0; i < p->parts && !ret; i++) {
		const struct part *part = &t->parts[i];
		bool is_packed = packed && t->plans[i]->packed_bytes;
		const void *operands[2] = { room->a, packed ? packed : (const void *)room->b };

		convert(cpu->simd, cpu, p, part, 0, in[0], room->a);
		if (!packed)
			convert(cpu->simd, cpu, p, part, 1, in[1], room->b);
		ret = cpu_plan_run(t->plans[i], cpu, is_packed ? packed : NULL, operands,
				   (void *[]){ room->sums }, err);
		if (packed)
			packed += part_pack_bytes(t, i);
		if (i + 1 < p->parts)
			cpu_parallel_ranges(cpu, count, CHUNK, add_part,
					    &(struct sums){ cpu->simd, room->sums, room->total });
	}
	return ret;
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	struct integer_product *t = (struct integer_product *)plan;
	size_t a = float_bytes(&t->parts[0], 0), y = float_bytes(&t->parts[0], 2);
	size_t b = packed ? 0 : float_bytes(&t->parts[0], 1);
	bool several = t->p.parts > 1;
	struct room room;
	char *memory;
	int ret;

	memory = wnn_aligned_alloc(64, a + b + y * (several ? 2 : 1));
	if (!memory)
		return wnn_error_nomem(err, "the operands of an integer product");
	room.a = (float *)memory;
	room.b = (float *)(memory + a);
	room.sums = (float *)(memory + a + b);
	room.total = several ? memset(memory + a + b + y, 0, y) : NULL;
	ret = run_parts(t, cpu, packed, &room, in, err);
	if (!ret)
		finish(cpu, &t->p, in, room.sums, room.total, out[0]);
	wnn_free(memory);
	return ret;
}

static void destroy(struct cpu_plan *plan)
{
	struct integer_product *t = (struct integer_product *)plan;

	for (int64_t i = 0; t->plans && i < t->p.parts; i++)
		cpu_plan_destroy(t->plans[i]);
	wnn_free(t->plans);
	wnn_free(t->parts);
	wnn_free(t);
}

static bool plan_parts(struct integer_product *t, const struct cpu_ask *ask)
{
	t->parts = wnn_calloc((size_t)t->p.parts, sizeof(*t->parts));
	t->plans = wnn_calloc((size_t)t->p.parts, sizeof(struct cpu_plan *));
	if (!t->parts || !t->plans)
		return false;
	for (int64_t i = 0; i < t->p.parts; i++) {
		part_init(&t->parts[i], &t->p, i);
		t->plans[i] = cpu_choose(&(struct cpu_ask){ .cpu = ask->cpu,
							    .node = &t->parts[i].node,
							    .packs = ask->packs,
							    .err = ask->err });
		if (!t->plans[i])
			return false;
	}
	return true;
}

const char *cpu_integer_product_refuses(const struct cpu_ask *ask)
{
	struct product p;

	return product_of(ask->node, &p) ? NULL : "its sums are too long to be exact in float32";
}

struct cpu_plan *cpu_integer_product_plan(const struct cpu_ask *ask)
{
	struct integer_product *t = wnn_calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->base = (struct cpu_plan){ .pack = pack, .run = run, .destroy = destroy };
	if (!product_of(ask->node, &t->p) || !plan_parts(t, ask)) {
		destroy(&t->base);
		return NULL;
	}
	t->base.packed_bytes = ask->packs ? pack_bytes(t) : 0;
	return &t->base;
}

/* --- Element-wise --- */

/* Sets values to all 256 bytes, in ascending order. */
static void all_values(uint8_t *values)
{
	for (int i = 0; i < NUM_VALUES; i++)
		values[i] = (uint8_t)i;
}

struct lookup {
	const uint8_t *from;
	uint8_t *to, table[NUM_VALUES];
};

static void look_up(void *argument, int64_t begin, int64_t end)
{
	const struct lookup *l = argument;

	for (int64_t i = begin; i < end; i++)
		l->to[i] = l->table[l->from[i]];
}

struct binary {
	const struct cpu_simd *simd;
	struct cpu_integers op;
	const uint8_t *a, *b;
	uint8_t *out;
};

static void combine_range(void *argument, int64_t begin, int64_t end)
{
	const struct binary *b = argument;

	b->simd->integers(&b->op, b->out + begin, b->a + begin, b->b + begin, end - begin);
}

bool cpu_integer_is_byte(const struct ir_value *value)
{
	return value->type.dtype == IR_I8 || value->type.dtype == IR_U8;
}

struct cpu_integers cpu_integers_of(const struct ir_node *node, const void *const *in)
{
	bool binary = node->op == IR_OP_QBINARY;
	const struct ir_unary_attrs *act = &node->attrs.binary.act;
	enum ir_dtype a = node->operands[0]->type.dtype, y = node->results[0]->type.dtype;
	uint32_t result = node->num_operands - 2; /* the scale of the result */
	struct cpu_integers op = {
		.a_signed = a == IR_I8,
		.a_zero = (int32_t)cpu_load_int(a, in[2], 0),
		.a_scale = *(const float *)in[1],
		.scale = *(const float *)in[result],
		.zero = (float)cpu_load_int(y, in[result + 1], 0),
		.lo = -INFINITY,
		.hi = INFINITY,
		.least = (float)cpu_int_min(y),
		.most = (float)cpu_int_max(y),
	};

	if (!binary)
		return op;
	op.kind = node->attrs.binary.kind;
	op.b_signed = node->operands[3]->type.dtype == IR_I8;
	op.b_zero = (int32_t)cpu_load_int(node->operands[3]->type.dtype, in[5], 0);
	op.b_scale = *(const float *)in[4];
	if (act->kind == IR_RELU || act->kind == IR_CLAMP)
		op.lo = act->kind == IR_RELU ? 0 : act->alpha;
	if (act->kind == IR_CLAMP)
		op.hi = act->beta;
	return op;
}

/*
 * Whether x = fma(v, inverse, v * rest) rounds to the integer that the float32 v / scale rounds to,
 * for quotients below 512.
 *
 * Before its last rounding, which is that of the division, x differs from v / scale by little more
 * than 2^-47 of it: 2^-48 since rest is rounded, and 2^-48 since v * rest is. Integers can only
 * differ when the middle m of a tie, odd / 2, and of a float32 next to it is between the two.
 *
 * Let scale = s * 2^f and v = w * 2^e with integers s and w of 24 bits, and 2^p <= odd < 2^(p + 1),
 * where p <= 9. Then m = (odd * 2^(24 - p) +- 1) * 2^(p - 25), or (2^25 - 1) * 2^-26 below 1/2. v
 * is near odd / 2 * scale, so that e >= p + f - 2. Thus v - m * scale is 2^(p - 25 + f), or
 * 2^(f - 26), times an integer that is s or -s modulo 2^15. It is not 0, since m has 25 bits from
 * its first to its last, and v has 24. Let d be the distance of s to the next multiple of 2^15, or
 * 2^15 when s is one. The distance of v / scale to m is then at least d * 2^-49 of m: enough when
 * d is above 4.
 */
static bool divides_by_inverse(float scale)
{
	int exponent;
	uint32_t low = (uint32_t)(frexpf(scale, &exponent) * 0x1p24f) % (1u << 15);

	return !low || (low >= 8 && low <= (1u << 15) - 8);
}

bool cpu_integers_are_tame(struct cpu_integers *op)
{
	float zero = op->zero, least = op->least;

	if (!(op->scale >= 0x1p-40f && op->scale <= 0x1p40f) || !divides_by_inverse(op->scale) ||
	    !(512 * (fabsf(op->a_scale) + fabsf(op->b_scale)) <= 0x1p20f * op->scale))
		return false;
	op->least = fminf(fmaxf(least, zero + nearbyintf(op->lo / op->scale)), op->most);
	op->most = fmaxf(fminf(op->most, zero + nearbyintf(op->hi / op->scale)), least);
	op->lo = -INFINITY;
	op->hi = INFINITY;
	op->inverse = 1 / op->scale;
	op->inverse_rest = fmaf(-op->inverse, op->scale, 1) / op->scale;
	return true;
}

int cpu_integer_binary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		       void *const *out, struct wnn_error *err)
{
	struct binary work = {
		.simd = cpu->simd,
		.op = cpu_integers_of(node, in),
		.a = in[0],
		.b = in[3],
		.out = out[0],
	};

	(void)err;
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), CHUNK, combine_range,
			    &work);
	return 0;
}

/*
 * Converts integers to another scale and zero point. The loop for sums does it: the second addend
 * is the operand once more, with scale 0. Returns 0.
 */
static int convert_scale(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			 void *const *out)
{
	struct binary work = {
		.simd = cpu->simd,
		.op = cpu_integers_of(node, in),
		.a = in[0],
		.b = in[0],
		.out = out[0],
	};

	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), CHUNK, combine_range,
			    &work);
	return 0;
}

/*
 * Computes all 256 results of a function with the reference kernel, and looks the results up in
 * that table.
 */
int cpu_integer_unary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		      void *const *out, struct wnn_error *err)
{
	struct lookup l = { .from = in[0], .to = out[0] };
	struct ir_value result = *node->results[0], *results[1] = { &result };
	const void *operands[5] = { NULL, in[1], in[2], in[3], in[4] };
	uint8_t values[NUM_VALUES];
	struct ir_node table = *node;

	(void)err;
	if (node->attrs.unary.kind == IR_UNARY_NONE)
		return convert_scale(cpu, node, in, out);
	result.type = ir_type_make(result.type.dtype, 1, (int64_t[]){ NUM_VALUES });
	table.results = results;
	operands[0] = values;
	all_values(values);
	cpu_ref_qunary(&table, operands, (void *[]){ l.table });
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), CHUNK, look_up, &l);
	return 0;
}

const char *cpu_integer_binary_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_binary_attrs *attrs = &node->attrs.binary;

	if (attrs->kind != IR_ADD && attrs->kind != IR_SUB && attrs->kind != IR_MUL)
		return "it is no sum, difference or product";
	if (attrs->act.kind != IR_UNARY_NONE && attrs->act.kind != IR_RELU &&
	    attrs->act.kind != IR_CLAMP)
		return "its activation is more than a pair of limits";
	return ir_type_same_shape(&node->operands[0]->type, &node->results[0]->type) &&
			       ir_type_same_shape(&node->operands[3]->type,
						  &node->results[0]->type) ?
		       NULL :
		       "its operands have other shapes than its result";
}
