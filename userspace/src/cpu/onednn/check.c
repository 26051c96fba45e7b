// SPDX-License-Identifier: MIT
/*
 * The self-test of oneDNN: computes a few small nodes of each kind below, most with channels that
 * are not multiples of oneDNN's blocks, and compares the results with the reference kernels. It
 * finds versions of oneDNN and processors with which results are wrong. onednn.c calls it before
 * oneDNN is used.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/onednn/onednn.h"
#include "util/malloc.h"
#include "util/number.h"

#define MAX_OPERANDS 3
#define TOLERANCE    1e-4

enum kind { CONV, QCONV, LINES, MATRICES };

/*
 * The shape of a test node. Nodes are small: all of them together take some hundred microseconds.
 */
struct check {
	enum kind kind;
	enum ir_dtype input;
	int64_t zero; /* zero point of the input */
	uint32_t groups;
	/*
	 * convolution: channels of a group, rows and columns of image and filter; product: depth
	 * (in), columns (out), rows (pixels)
	 */
	int64_t in, out, pixels, taps;
};

static const struct check checks[] = {
	{ CONV, IR_F32, 0, 1, 24, 20, 3, 3 },	   { CONV, IR_F32, 0, 1, 2, 33, 2, 1 },
	{ CONV, IR_F32, 0, 1, 1, 17, 5, 3 },	   { CONV, IR_F32, 0, 2, 5, 9, 4, 2 },
	{ QCONV, IR_U8, 0, 1, 24, 20, 3, 3 },	   { QCONV, IR_I8, 3, 1, 5, 33, 3, 2 },
	{ QCONV, IR_I8, 0, 1, 17, 9, 2, 1 },	   { QCONV, IR_U8, 128, 2, 6, 10, 3, 3 },
	{ LINES, IR_F32, 0, 1, 20, 24, 9, 0 },	   { LINES, IR_F32, 0, 1, 65, 41, 16, 0 },
	{ MATRICES, IR_F32, 0, 1, 19, 37, 17, 0 },
};

/* A node without a graph, with the data of its operands. */
struct trial {
	struct ir_node node;
	struct ir_value values[MAX_OPERANDS + 1];
	struct ir_value *operands[MAX_OPERANDS], *results[1];
	const void *in[MAX_OPERANDS];
	void *data[MAX_OPERANDS];
};

/*
 * Fills data with numbers from -1 to 1 in steps of 1/16, or with any bytes, in a pseudo-random
 * order.
 */
static void fill(enum ir_dtype dtype, void *data, int64_t count)
{
	uint32_t state = 1;

	for (int64_t i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		if (dtype == IR_F32)
			((float *)data)[i] = (float)((int32_t)(state >> 24) % 33 - 16) / 16;
		else
			((uint8_t *)data)[i] = (uint8_t)(state >> 24);
	}
}

static int add_value(struct trial *t, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	uint32_t n = t->node.num_operands++;
	struct ir_value *value = &t->values[n];

	value->kind = n == 1 && t->node.op != IR_OP_MATMUL ? IR_VALUE_CONSTANT : IR_VALUE_INPUT;
	value->type = ir_type_make(dtype, rank, dims);
	t->operands[n] = value;
	t->data[n] = wnn_malloc((size_t)ir_type_bytes(&value->type));
	t->in[n] = t->data[n];
	if (!t->data[n])
		return -1;
	fill(dtype, t->data[n], ir_type_elements(&value->type));
	return 0;
}

static void set_result(struct trial *t, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	struct ir_value *value = &t->values[MAX_OPERANDS];

	value->kind = IR_VALUE_RESULT;
	value->type = ir_type_make(dtype, rank, dims);
	t->node.results = t->results;
	t->node.num_results = 1;
	t->results[0] = value;
}

static int make_conv(struct trial *t, const struct check *c)
{
	bool integers = c->kind == QCONV;
	uint32_t pad = c->taps > 1;
	int64_t size = c->pixels + pad - c->taps + 1, channels = c->out * c->groups, one = 1;
	const int64_t x[] = { 1, c->pixels, c->pixels, c->in * c->groups };
	const int64_t filter[] = { channels, c->in, c->taps, c->taps };
	const int64_t y[] = { 1, size, size, channels };

	t->node.op = integers ? IR_OP_QCONV : IR_OP_CONV;
	t->node.attrs.conv = (struct ir_conv_attrs){
		.padding = { pad, 0, 0, pad },
		.strides = { 1, 1 },
		.dilations = { 1, 1 },
		.groups = c->groups,
		.layout = IR_NHWC,
		.filter_layout = IR_OIHW,
		.act = { .kind = IR_UNARY_NONE },
	};
	if (integers)
		t->node.attrs.qconv.integer =
			(struct ir_integer_attrs){ .a_zero = c->zero, .zero = 128, .hi = 255 };
	set_result(t, integers ? IR_U8 : IR_F32, 4, y);
	if (add_value(t, c->input, 4, x) || add_value(t, integers ? IR_I8 : IR_F32, 4, filter))
		return -1;
	if (!integers)
		return 0;
	if (add_value(t, IR_F32, 1, &one))
		return -1;
	*(float *)t->data[2] = 0x1p-12f;
	return 0;
}

static int make_product(struct trial *t, const struct check *c)
{
	const int64_t a[] = { c->pixels, c->in }, b[] = { c->out, c->in },
		      y[] = { c->pixels, c->out };

	t->node.op = IR_OP_MATMUL;
	t->node.attrs.matmul = (struct ir_matmul_attrs){
		.b_transpose = true, .alpha = 1, .beta = 1, .act = { .kind = IR_UNARY_NONE }
	};
	set_result(t, IR_F32, 2, y);
	if (add_value(t, IR_F32, 2, a) || add_value(t, IR_F32, 2, b))
		return -1;
	if (c->kind == LINES)
		t->values[1].kind = IR_VALUE_CONSTANT;
	return 0;
}

static int run(const struct onednn *dnn, struct cpu_context *cpu, struct trial *t, void *out,
	       bool *taken, struct wnn_error *err)
{
	struct cpu_plan *plan = onednn_matmul_plan(dnn, cpu, &t->node);
	void *packed = NULL;
	int ret = 0;

	if (!plan)
		plan = onednn_conv_plan(dnn, cpu, &t->node);
	*taken = plan != NULL;
	if (!plan)
		return 0;
	if (plan->packed_bytes) {
		packed = wnn_aligned_alloc(64, cpu_round_up(plan->packed_bytes));
		ret = packed ? plan->pack(plan, t->in[1], packed, err) : -1;
	}
	if (!ret)
		ret = plan->run(plan, cpu, packed, t->in, &out, err);
	cpu_plan_destroy(plan);
	wnn_free(packed);
	return ret;
}

static int64_t first_wrong(const struct ir_type *type, const void *expected, const void *actual)
{
	for (int64_t i = 0; i < ir_type_elements(type); i++) {
		double a, b;

		if (type->dtype == IR_U8) {
			if (((const uint8_t *)expected)[i] != ((const uint8_t *)actual)[i])
				return i;
			continue;
		}
		a = cpu_load(type->dtype, expected, i);
		b = cpu_load(type->dtype, actual, i);
		if (!(fabs(a - b) <= TOLERANCE * (1 + fabs(a))))
			return i;
	}
	return -1;
}

static int compare(const struct onednn *dnn, struct cpu_context *cpu, struct trial *t,
		   struct wnn_error *err)
{
	static const char *const kinds[] = {
		[IR_F32] = "float32", [IR_I8] = "int8", [IR_U8] = "uint8"
	};
	const struct ir_type *type = &t->results[0]->type;
	size_t bytes = (size_t)ir_type_bytes(type);
	void *expected = wnn_calloc(1, bytes), *actual = wnn_calloc(1, bytes);
	bool taken = false;
	int ret = -1;

	if (expected && actual &&
	    !cpu_run_node(cpu, CPU_REFERENCE, &t->node, t->in, &expected, err))
		ret = run(dnn, cpu, t, actual, &taken, err);
	if (!ret && taken && first_wrong(type, expected, actual) >= 0)
		ret = wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"oneDNN %d.%d.%d computes a %s of %s wrong on this processor, so it is not "
			"used: install another version of oneDNN, and please report this one with "
			"the processor's name",
			dnn->version()->major, dnn->version()->minor, dnn->version()->patch,
			t->node.op == IR_OP_MATMUL ? "product" : "convolution",
			kinds[t->values[0].type.dtype]);
	wnn_free(expected);
	wnn_free(actual);
	return ret;
}

static int run_check(const struct onednn *dnn, struct cpu_context *cpu, const struct check *c,
		     struct wnn_error *err)
{
	struct trial t = { .node = { .label = "", .source = "" } };
	bool conv = c->kind == CONV || c->kind == QCONV;
	int ret;

	t.node.operands = t.operands;
	ret = conv ? make_conv(&t, c) : make_product(&t, c);
	if (!ret)
		ret = compare(dnn, cpu, &t, err);
	for (int i = 0; i < MAX_OPERANDS; i++)
		wnn_free(t.data[i]);
	return ret;
}

int onednn_check(const struct onednn *dnn, struct wnn_error *err)
{
	struct cpu_context *cpu = cpu_context_create(1);
	int ret = cpu ? 0 : -1;

	for (size_t i = 0; i < ARRAY_SIZE(checks) && !ret; i++)
		ret = run_check(dnn, cpu, &checks[i], err);
	cpu_context_destroy(cpu);
	return ret;
}
