// SPDX-License-Identifier: MIT
/*
 * Tests the layer on oneDNN: packed formats of operands, bit by bit; and, against the reference
 * kernels, convolutions and products whose channels do not fill whole blocks, some of which oneDNN
 * 3.7 computes wrong.
 *
 * The argument is how many convolutions and products of each type are drawn; "all" means every
 * number of channels with every layout of filters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/onednn/onednn.h"
#include "cpu/onednn/form.h"
#include "rig.h"
#include "util/number.h"

#define MOST 70 /* most channels that a test draws */

static long wanted = 400;

/* --- Packed formats --- */

/*
 * Returns the position of an element in the packed memory, as the description of oneDNN's format
 * defines it: computed digit by digit, from the innermost block outwards.
 */
static int64_t position_of(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
			   const int64_t *index)
{
	const dnnl_dims_t *strides, *blocks, *dims;
	int64_t rest[ONEDNN_MAX_RANK], place = 0, size = 1;
	int rank, count;

	dnn->memory_desc_query(desc, dnnl_query_ndims_s32, &rank);
	dnn->memory_desc_query(desc, dnnl_query_strides, &strides);
	dnn->memory_desc_query(desc, dnnl_query_inner_nblks_s32, &count);
	dnn->memory_desc_query(desc, dnnl_query_inner_blks, &blocks);
	dnn->memory_desc_query(desc, dnnl_query_inner_idxs, &dims);
	memcpy(rest, index, sizeof(rest[0]) * (size_t)rank);
	for (int i = count - 1; i >= 0; i--) {
		int64_t *digit = &rest[(*dims)[i]], block = (*blocks)[i];

		place += *digit % block * size;
		*digit /= block;
		size *= block;
	}
	for (int i = 0; i < rank; i++)
		place += rest[i] * (*strides)[i];
	return place;
}

/* Advances to the next index of a shape; returns false after the last one. */
static bool next(int rank, const int64_t *size, int64_t *index)
{
	for (int i = rank - 1; i >= 0; i--) {
		if (++index[i] < size[i])
			return true;
		index[i] = 0;
	}
	return false;
}

/* Draws the strides of a dense operand whose dimensions are in any order. */
static void draw_strides(int rank, const int64_t *size, int64_t *strides)
{
	int64_t stride = 1;
	int order[ONEDNN_MAX_RANK];

	for (int i = 0; i < rank; i++) {
		int k = (int)random_below((uint32_t)i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (int i = 0; i < rank; i++) {
		strides[order[i]] = stride;
		stride *= size[order[i]];
	}
}

/* Returns the one or four bytes of an element as a number. */
static uint32_t element_at(const struct onednn_form *form, const uint8_t *data, int64_t i)
{
	uint32_t x = 0;

	memcpy(&x, data + (size_t)i * form->element, form->element);
	return x;
}

static void compare_form(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
			 struct onednn_input input)
{
	struct onednn_form form;
	int64_t strides[ONEDNN_MAX_RANK], index[ONEDNN_MAX_RANK] = { 0 }, count = 1;
	uint8_t *plain, *packed, *back, *expected;

	assert_true(onednn_form_read(dnn, desc, input, &form));
	for (int i = 0; i < form.rank; i++)
		count *= form.size[i];
	draw_strides(form.rank, form.size, strides);
	plain = malloc((size_t)count * form.element);
	back = malloc((size_t)count * form.element);
	packed = malloc(form.bytes);
	expected = calloc(1, form.bytes);
	assert_true(plain && back && packed && expected);
	for (size_t i = 0; i < (size_t)count * form.element; i++)
		plain[i] = (uint8_t)(1 + random_below(255));
	memset(packed, 0x5a, form.bytes);
	do {
		int64_t from = 0;

		for (int i = 0; i < form.rank; i++)
			from += index[i] * strides[i];
		memcpy(expected + (size_t)position_of(dnn, desc, index) * form.element,
		       plain + (size_t)from * form.element, form.element);
	} while (next(form.rank, form.size, index));
	onednn_form_pack(&form, plain, strides, packed);
	assert_memory_equal(packed, expected, form.data_bytes);
	onednn_form_unpack(&form, packed, strides, back);
	for (int64_t i = 0; i < count; i++)
		assert_int_equal(element_at(&form, plain, i), element_at(&form, back, i));
	free(plain);
	free(back);
	free(packed);
	free(expected);
}

/*
 * Formats that oneDNN asks for, some of them on other processors only: for batches of matrices
 * (rank 3), filters (rank 4) and filters in groups (rank 5).
 */
static const struct {
	dnnl_format_tag_t tag;
	int rank;
} tags[] = {
	{ dnnl_abc, 3 },	   { dnnl_acb, 3 },	     { dnnl_aCB16b16c, 3 },
	{ dnnl_aCB16b32c, 3 },	   { dnnl_aCB16b64c, 3 },    { dnnl_aCB16b64c4b, 3 },
	{ dnnl_aCB16b32c4b, 3 },   { dnnl_abcd, 4 },	     { dnnl_acdb, 4 },
	{ dnnl_cdba, 4 },	   { dnnl_ABcd8b8a, 4 },     { dnnl_ABcd16b16a, 4 },
	{ dnnl_Acdb16a, 4 },	   { dnnl_Acdb32a, 4 },	     { dnnl_Acdb64a, 4 },
	{ dnnl_Acdb8a, 4 },	   { dnnl_AcdB16b64a4b, 4 }, { dnnl_AcdB16b32a4b, 4 },
	{ dnnl_ABcd4b16a4b, 4 },   { dnnl_ABcd2b8a4b, 4 },   { dnnl_ABcd16b64a4b, 4 },
	{ dnnl_BAcd16a16b, 4 },	   { dnnl_AcdB16a4b, 4 },    { dnnl_AcdB64a4b, 4 },
	{ dnnl_abcde, 5 },	   { dnnl_acbde, 5 },	     { dnnl_Abcde8a, 5 },
	{ dnnl_Abcde16a, 5 },	   { dnnl_aBdec16b, 5 },     { dnnl_aBdec64b, 5 },
	{ dnnl_aBCde16c16b, 5 },   { dnnl_aBCde8c8b, 5 },    { dnnl_aBCde4c16b4c, 5 },
	{ dnnl_aBdeC16c64b4c, 5 }, { dnnl_aBdeC16b4c, 5 },   { dnnl_aBCde2c8b4c, 5 },
};

/*
 * oneDNN as this program is linked with it: formats are compared even when the layer's self-test
 * fails.
 */
static const struct onednn linked = {
#define ONEDNN_FUNCTION(name) .name = dnnl_##name,
	ONEDNN_FUNCTIONS(ONEDNN_FUNCTION)
#undef ONEDNN_FUNCTION
};

static void test_forms(void **state)
{
	const struct onednn *dnn = &linked;

	(void)state;
	for (size_t t = 0; t < sizeof(tags) / sizeof(tags[0]); t++)
		for (int channels = 1; channels <= MOST; channels++) {
			bool grouped = tags[t].rank == 5;
			const dnnl_dims_t dims = { grouped ? (dnnl_dim_t)between(1, 20) : channels,
						   grouped ? channels :
							     (dnnl_dim_t)between(1, MOST),
						   between(1, 5), between(1, 3), between(1, 3) };
			dnnl_data_type_t type = random_below(2) ? dnnl_f32 : dnnl_s8;
			dnnl_memory_desc_t desc = NULL;

			assert_int_equal(dnn->memory_desc_create_with_tag(&desc, tags[t].rank, dims,
									  type, tags[t].tag),
					 0);
			compare_form(dnn, desc, (struct onednn_input){ 0 });
			dnn->memory_desc_destroy(desc);
		}
}

/*
 * Tests the sums of weights that follow the 8-bit elements of a packed filter: it has 3 groups of 5
 * channels, which the format pads to 8.
 */
static void test_sums(void **state)
{
	enum { GROUPS = 3, CHANNELS = 5, PADDED = 8, IN = 2, H = 3, W = 2, EACH = IN * H * W };
	const dnnl_dims_t dims = { GROUPS, CHANNELS, IN, H, W };
	const int64_t strides[] = { CHANNELS * EACH, EACH, H * W, W, 1 };
	const size_t room = sizeof(int32_t) * GROUPS * PADDED;
	dnnl_memory_desc_t desc = NULL;
	struct onednn_form form;
	int8_t plain[GROUPS * CHANNELS * EACH];
	int32_t expected[2][GROUPS][PADDED] = { 0 };
	uint8_t *packed;

	(void)state;
	assert_int_equal(dnnl_memory_desc_create_with_tag(&desc, 5, dims, dnnl_s8, dnnl_aBcde8b),
			 0);
	assert_true(onednn_form_read(&linked, desc, (struct onednn_input){ 0 }, &form));
	dnnl_memory_desc_destroy(desc);
	form.group = PADDED;
	form.sums_128 = wnn_align_up(form.data_bytes, sizeof(int32_t));
	form.sums = form.sums_128 + room;
	form.bytes = form.sums + room;
	for (size_t i = 0; i < sizeof(plain); i++) {
		int32_t *sum = &expected[1][i / EACH / CHANNELS][i / EACH % CHANNELS];

		plain[i] = (int8_t)random_below(256);
		*sum -= plain[i];
		expected[0][i / EACH / CHANNELS][i / EACH % CHANNELS] = *sum * 128;
	}
	packed = malloc(form.bytes);
	assert_non_null(packed);
	memset(packed, 0x5a, form.bytes);
	onednn_form_pack(&form, plain, strides, packed);
	assert_memory_equal(packed + form.sums_128, expected, 2 * room);
	free(packed);
}

/* --- Convolutions and products --- */

enum type { FLOATS, SIGNED, UNSIGNED, TYPES };

struct drawn {
	enum type type;
	int64_t in, out, height, width, kh, kw, groups;
	enum ir_filter_layout layout;
};

/*
 * Adds the operands of a convolution of @d. @real: the result of a convolution of integers is a
 * float, with a bias for its sums and perhaps an addend.
 */
static void add_operands(struct rig *rig, const struct drawn *d, bool real, const int64_t *x,
			 const int64_t *filter)
{
	const enum ir_dtype dtypes[] = { IR_F32, IR_I8, IR_U8 };
	int64_t channels = d->out * d->groups;
	double most = 1.0 / (100.0 * (double)(d->in * d->kh * d->kw));

	rig_add(rig, dtypes[d->type], 4, x);
	rig_add(rig, d->type == FLOATS ? IR_F32 : IR_I8, 4, filter);
	rig_make_constant(rig, 1);
	if (d->type != FLOATS)
		rig_add_between(rig, IR_F32, 1, &channels, most / 8, most * 2);
	if (real)
		rig_add_between(rig, IR_I32, 1, &channels, -1e5, 1e5);
	if (real && random_below(3))
		rig_add_between(rig, IR_F32, 1, random_below(2) ? &channels : &(int64_t){ 1 }, -30,
				30);
}

static void compare_conv(const struct drawn *d, const struct ir_conv_attrs *conv)
{
	const uint8_t *axes = ir_filter_axes(d->layout);
	const int64_t oihw[] = { d->out * d->groups, d->in, d->kh, d->kw };
	const int64_t x[] = { 1, d->height, d->width, d->in * d->groups };
	const int64_t y[] = {
		1, (d->height + conv->padding[0] + conv->padding[1] - d->kh) / conv->strides[0] + 1,
		(d->width + conv->padding[2] + conv->padding[3] - d->kw) / conv->strides[1] + 1,
		d->out * d->groups
	};
	union ir_attrs attrs = { .conv = *conv };
	int64_t filter[4], zero = random_below(3) ? (int64_t)random_below(128) : 0;
	bool real = d->type != FLOATS && random_below(2);
	struct ir_type type = ir_type_make(d->type == FLOATS || real ? IR_F32 : IR_U8, 4, y);
	struct rig rig;

	for (int i = 0; i < 4; i++)
		filter[axes[i]] = oihw[i];
	rig_init(&rig);
	rig.by_largest = true;
	add_operands(&rig, d, real, x, filter);
	if (d->type != FLOATS)
		attrs.qconv.integer =
			real ? (struct ir_integer_attrs){ .a_zero = zero } :
			       (struct ir_integer_attrs){ .a_zero = zero, .zero = 128, .hi = 255 };
	if (real)
		attrs.qconv.conv.act.kind = random_below(2) ? IR_RELU : IR_UNARY_NONE;
	rig_compare_onednn(&rig, d->type == FLOATS ? IR_OP_CONV : IR_OP_QCONV, &attrs, &type,
			   d->type == FLOATS ? 1e-5 : 0);
}

static void compare_product(const struct drawn *d)
{
	int64_t lines = between(8, 40);
	bool transposed = random_below(2);
	const int64_t a[] = { lines, d->in }, y[] = { lines, d->out };
	const int64_t b[] = { transposed ? d->out : d->in, transposed ? d->in : d->out };
	const union ir_attrs attrs = { .matmul = { .alpha = 1,
						   .beta = 1,
						   .b_transpose = transposed,
						   .act = { .kind = IR_UNARY_NONE } } };
	struct ir_type type = ir_type_make(IR_F32, 2, y);
	struct rig rig;

	rig_init(&rig);
	rig.by_largest = true;
	rig_add(&rig, IR_F32, 2, a);
	rig_add(&rig, IR_F32, 2, b);
	rig_make_constant(&rig, 1);
	rig_compare_onednn(&rig, IR_OP_MATMUL, &attrs, &type, 1e-5);
}

static void compare_channels(enum type type, int64_t in, int64_t out, enum ir_filter_layout layout)
{
	struct drawn d = { .type = type,
			   .in = in,
			   .out = out,
			   .height = between(3, 9),
			   .width = between(3, 9),
			   .kh = between(1, 3),
			   .kw = between(1, 3),
			   .groups = random_below(8) ? 1 : between(2, 3),
			   .layout = layout };
	bool depthwise = !random_below(8);
	struct ir_conv_attrs conv = { .strides = { between(1, 2), between(1, 2) },
				      .dilations = { 1, 1 },
				      .layout = IR_NHWC,
				      .filter_layout = layout,
				      .act = { .kind = IR_UNARY_NONE } };

	if (depthwise) {
		d.groups = between(2, MOST);
		d.in = d.out = 1;
	}
	conv.groups = (uint32_t)d.groups;
	for (int i = 0; i < 4; i++)
		conv.padding[i] = random_below(2) && (i < 2 ? d.kh : d.kw) > 1;
	compare_conv(&d, &conv);
	if (type == FLOATS)
		compare_product(&d);
}

static void test_channels(void **state)
{
	(void)state;
	for (enum type type = FLOATS; type < TYPES; type++)
		for (long i = 0; wanted && i < wanted; i++)
			compare_channels(type, between(1, MOST), between(1, MOST),
					 (enum ir_filter_layout)random_below(4));
	for (int64_t i = 0; !wanted && i < MOST * MOST; i++)
		for (enum type type = FLOATS; type < TYPES; type++)
			for (int layout = 0; layout < 4; layout++)
				compare_channels(type, i / MOST + 1, i % MOST + 1,
						 (enum ir_filter_layout)layout);
}

/*
 * Tests convolutions with few channels in their results; those of floats have one or two input
 * channels.
 */
static void test_narrow(void **state)
{
	(void)state;
	for (long i = 0; i < (wanted ? wanted : 10000); i++) {
		enum type type = (enum type)random_below(TYPES);
		struct drawn d = { .type = type,
				   .in = between(1, type == FLOATS ? 2 : 40),
				   .out = between(1, 40),
				   .kh = between(1, 4),
				   .kw = between(1, 5),
				   .groups = 1,
				   .layout = (enum ir_filter_layout)random_below(4) };
		struct ir_conv_attrs conv = { .strides = { between(1, 3), between(1, 3) },
					      .dilations = { 1, 1 },
					      .groups = 1,
					      .layout = IR_NHWC,
					      .filter_layout = d.layout,
					      .act = { .kind = IR_UNARY_NONE } };

		for (int k = 0; k < 4; k++)
			conv.padding[k] = random_below(3);
		d.height = d.kh + between(0, 8);
		d.width = between(1, 3) * conv.strides[1];
		if (d.width + conv.padding[2] + conv.padding[3] < d.kw)
			d.width = d.kw;
		compare_conv(&d, &conv);
	}
}

/* --- The self-test --- */

static dnnl_primitive_kind_t damaged;
static int num_damaged;

/*
 * Executes a primitive and returns its status. When the primitive is of the kind `damaged`, changes
 * one bit of its result: the highest bit of byte 3, which is the sign of the first float.
 */
static dnnl_status_t execute_wrong(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
				   int count, const dnnl_exec_arg_t *args)
{
	dnnl_status_t status = dnnl_primitive_execute(primitive, stream, count, args);
	const_dnnl_primitive_desc_t desc;
	dnnl_primitive_kind_t kind;
	void *data;

	dnnl_primitive_get_primitive_desc(primitive, &desc);
	dnnl_primitive_desc_query(desc, dnnl_query_primitive_kind, 0, &kind);
	for (int i = 0; i < count && kind == damaged; i++)
		if (args[i].arg == DNNL_ARG_DST) {
			dnnl_memory_get_data_handle(args[i].memory, &data);
			((uint8_t *)data)[3] ^= 0x80;
			num_damaged++;
		}
	return status;
}

static void test_self(void **state)
{
	const dnnl_primitive_kind_t kinds[] = { dnnl_convolution, dnnl_matmul };
	const struct onednn *right = onednn_get();
	struct onednn wrong;
	struct wnn_error err = { 0 };

	(void)state;
	if (!right) {
		print_message("%s\n",
			      cpu_onednn_complaint() ? cpu_onednn_complaint() : cpu_onednn_absent);
		skip();
	}
	assert_null(cpu_onednn_complaint());
	assert_int_equal(onednn_check(right, &err), 0);
	wrong = *right;
	wrong.primitive_execute = execute_wrong;
	for (int i = 0; i < 2; i++) {
		damaged = kinds[i];
		num_damaged = 0;
		/*
		 * Below AVX-512, our own kernels replace some kinds, which the self-test does not
		 * run.
		 */
		if (!onednn_check(&wrong, &err)) {
			assert_int_equal(num_damaged, 0);
			continue;
		}
		assert_non_null(
			strstr(err.message,
			       i ? "computes a product of float32 wrong on this processor" :
				   "computes a convolution of float32 wrong on this processor"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),	 cmocka_unit_test(test_sums),
		cmocka_unit_test(test_channels), cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_self),
	};

	if (argc > 1)
		wanted = !strcmp(argv[1], "all") ? 0 : strtol(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
