// SPDX-License-Identifier: MIT
/*
 * Lowers matrix products as contractions: the rows of a matrix are the positions of one image row,
 * its columns are channels, and a batch of products is groups or images.
 */
#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/integer.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"

#include <string.h>

bool supports_matmul(const struct ir_node *node, struct npu_reason *reason)
{
	return supports_contraction(node, &node->attrs.matmul.act, reason);
}

/*
 * Returns true if the NPU can compute a product with integer weights (IR_OP_WMATMUL), which passes
 * make from constants; false with *reason.
 */
bool supports_weights(const struct ir_node *node, struct npu_reason *reason)
{
	for (uint32_t i = 1; i < 4; i++)
		if (node->operands[i]->kind != IR_VALUE_CONSTANT)
			return supports_not(
				reason, NPU_REASON_OPERATOR,
				"the NPU multiplies by quantised weights only when the weights, "
				"scales and zero points are constants; make them initializers of "
				"the model");
	if (!supports_is_float(node->operands[0]))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU multiplies quantised weights by operands of float32 or float16 "
			"only: cast the other operand");
	return supports_fused(&node->attrs.matmul.act, IR_F32, reason);
}

/*
 * The operands and the result: views over the batch dims of the result, and the strides of the last
 * two dims separately.
 */
struct matmul {
	struct npu_view a, b, out;
	int64_t a_last[2], b_last[2], out_last[2]; /* strides of the last two dims */
	struct npu_view bias, scale, addend;	   /* shared by all products; rank 0: none */
	int64_t m, n, k;
	struct ir_constant *b_constant;
	/*
	 * When the second operand consists of slices along k or n (place/slices.c): the view of
	 * each; b is that of the largest.
	 */
	uint32_t num_slices, slice_axis;
	struct {
		struct npu_view view;
		int64_t last[2], extent;
	} slice[VALUES_MAX_SLICES];
};

#define MAX_VIEWS (3 + VALUES_MAX_SLICES) /* the result, a, b, and the slices of b */

/*
 * Returns the view of an operand. With `constant`, a constant that is not pinned gets a dense view
 * without an address, of type `dtype`, and *constant is set to it.
 */
static struct npu_view operand_view(struct plan *plan, const struct ir_value *value, uint8_t dtype,
				    struct ir_constant **constant)
{
	struct npu_view v = { .base = NPU_BASE_NONE, .dtype = dtype, .rank = value->type.rank };
	int64_t bytes = plan_dtype_bytes(v.dtype);

	bool pinned = values_pinned(plan, value);

	if (!constant || value->kind != IR_VALUE_CONSTANT ||
	    (pinned && plan_dtype(value->type.dtype) == dtype))
		return values_view(plan, value);
	for (uint32_t i = v.rank; i-- > 0;) {
		v.dim[i] = ir_type_dim(&value->type, i);
		v.stride[i] = bytes;
		bytes *= v.dim[i];
	}
	if (pinned) {
		/* Pinned weights in SRAM are dequantised already. */
		v.window = values_view(plan, value).window;
		v.window_bytes = (uint64_t)bytes;
		return v;
	}
	*constant = value->constant;
	return v;
}

/*
 * Sets last[] and dim[] to the strides and extents of the last two dims of *v, and reduces *v to
 * its batch dims, broadcast to those of `out`.
 */
static void split_batch(struct npu_view *v, const struct npu_view *out, int64_t last[2],
			int64_t dim[2])
{
	struct npu_view from = *v;
	uint32_t batch = out->rank - 2;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t from_right = 2 - i;

		dim[i] = from.rank >= from_right ? from.dim[from.rank - from_right] : 1;
		last[i] = from.rank >= from_right && dim[i] > 1 ?
				  from.stride[from.rank - from_right] :
				  0;
	}
	v->rank = batch;
	for (uint32_t i = 0; i < batch; i++) {
		int64_t at = (int64_t)from.rank - out->rank + i;

		v->dim[i] = out->dim[i];
		v->stride[i] = at >= 0 && from.dim[at] > 1 ? from.stride[at] : 0;
	}
}

static void swap(int64_t pair[2])
{
	int64_t first = pair[0];

	pair[0] = pair[1];
	pair[1] = first;
}

/*
 * Returns the view of a bias, scale or addend over the five dims of a contraction's result; only
 * its last two can be above 1.
 */
static struct npu_view bias_view(struct plan *plan, const struct ir_value *value)
{
	struct npu_view from = values_view(plan, value), bias = from;

	bias.rank = 5;
	for (uint32_t i = 0; i < bias.rank; i++) {
		bool there = i + from.rank >= bias.rank;

		bias.dim[i] = there ? from.dim[i + from.rank - bias.rank] : 1;
		bias.stride[i] = bias.dim[i] > 1 ? from.stride[i + from.rank - bias.rank] : 0;
	}
	return bias;
}

/* Fills in the slices of the second operand, and sets b to the largest; false: it has none. */
static bool find_slices(struct plan *plan, const struct ir_node *node, struct matmul *mm)
{
	struct value_slices slices;
	uint32_t last = node->operands[1]->type.rank - 2;

	values_slices(plan, node->operands[1], &slices);
	mm->num_slices = slices.count;
	mm->slice_axis = slices.axis - last;
	for (uint32_t i = 0; i < slices.count; i++) {
		const struct npu_view *view = &slices.view[i];

		mm->slice[i].view = *view;
		mm->slice[i].extent = view->dim[slices.axis];
		if (!i || view->dim[slices.axis] > mm->b.dim[slices.axis])
			mm->b = *view;
	}
	if (slices.count)
		mm->b.dim[slices.axis] = ir_type_dim(&node->operands[1]->type, slices.axis);
	return slices.count > 0;
}

/* Splits the slices into batch dims and last two dims, as split_batch() does for b. */
static void split_slices(struct matmul *mm, const struct npu_view *out, bool transposed)
{
	int64_t dim[2];

	for (uint32_t i = 0; i < mm->num_slices; i++) {
		split_batch(&mm->slice[i].view, out, mm->slice[i].last, dim);
		if (transposed)
			swap(mm->slice[i].last);
	}
	if (transposed)
		mm->slice_axis = 1 - mm->slice_axis;
}

static void analyse(struct plan *plan, const struct ir_node *node, struct matmul *mm)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct npu_view *all[MAX_VIEWS] = { &mm->out, &mm->a, &mm->b }, whole;
	int64_t a_dim[2], b_dim[2], out_dim[2];
	uint32_t bias = node->op == IR_OP_QMATMUL ? 3 : node->op == IR_OP_WMATMUL ? 4 : 2;

	memset(mm, 0, sizeof(*mm));
	whole = mm->out = values_view(plan, node->results[0]);
	mm->a = operand_view(plan, node->operands[0], 0, NULL);
	if (!find_slices(plan, node, mm))
		mm->b = operand_view(plan, node->operands[1],
				     node->op == IR_OP_WMATMUL ?
					     mm->a.dtype :
					     plan_dtype(node->operands[1]->type.dtype),
				     &mm->b_constant);
	if (node->op == IR_OP_QMATMUL) {
		mm->scale = bias_view(plan, node->operands[2]);
		if (integer_addend(node))
			mm->addend = bias_view(plan, integer_addend(node));
	}
	if (node->num_operands > bias && node->operands[bias])
		mm->bias = bias_view(plan, node->operands[bias]);
	split_batch(&mm->a, &whole, mm->a_last, a_dim);
	split_batch(&mm->b, &whole, mm->b_last, b_dim);
	split_batch(&mm->out, &whole, mm->out_last, out_dim);
	split_slices(mm, &whole, attrs->b_transpose);
	if (attrs->a_transpose) {
		swap(mm->a_last);
		swap(a_dim);
	}
	if (attrs->b_transpose) {
		swap(mm->b_last);
		swap(b_dim);
	}
	mm->m = out_dim[0];
	mm->n = out_dim[1];
	mm->k = a_dim[1];
	for (uint32_t i = 0; i < mm->num_slices; i++)
		all[3 + i] = &mm->slice[i].view;
	if (mm->out.rank)
		views_simplify(all, 3 + mm->num_slices);
}

static struct npu_view with_dims(const struct npu_view *base, int64_t offset, const int64_t *dim,
				 const int64_t *stride)
{
	struct npu_view v = *base;

	v.rank = 5;
	v.offset += offset;
	memcpy(v.dim, dim, 5 * sizeof(*dim));
	memcpy(v.stride, stride, 5 * sizeof(*stride));
	return v;
}

/* Adds the factor, the bias and the activation of a float product to the epilogue. */
static void add_posts(struct contract *c, const struct ir_matmul_attrs *attrs,
		      const struct npu_view *bias)
{
	struct contract_post *post;

	if (attrs->alpha != 1) {
		post = &c->post[c->num_posts++];
		*post = (struct contract_post){ .op = ONPU_OP_VLINEAR,
						.has_param = true,
						.extra = -1 };
		post->param.schema = PLAN_SCALAR;
		post->param.scalar.alpha = vp_f32(attrs->alpha);
	}
	if (bias->rank) {
		c->extra[0] = (struct contract_extra){ .mem = *bias, .scale = attrs->beta };
		c->num_extras = 1;
		c->post[c->num_posts++] = (struct contract_post){ .op = ONPU_OP_VADD, .extra = 0 };
	}
	contract_add_function(c, &attrs->act);
}

static bool all_zero(const struct ir_value *value)
{
	const uint8_t *data = value->constant->data;

	for (int64_t i = 0; i < ir_type_bytes(&value->type); i++)
		if (data[i])
			return false;
	return true;
}

/*
 * Describes integer weights and the blocks of their scales along k and n. The view mm->b is dense,
 * and its strides are in bytes of the dequantised type.
 */
static void set_weights(struct contract_weights *w, const struct ir_node *node,
			const struct matmul *mm)
{
	const struct ir_value *b = node->operands[1], *scale = node->operands[2];
	int64_t size = plan_dtype_bytes(mm->b.dtype), blocks[2], last[2];
	uint32_t rank = b->type.rank;

	*w = (struct contract_weights){
		.dtype = plan_dtype(b->type.dtype),
		.packed = plan_dtype(b->type.dtype),
		.data = b->constant,
		.scale = scale->constant,
		.zero = all_zero(node->operands[3]) ? NULL : node->operands[3]->constant,
		.k_stride = mm->b_last[0] / size,
		.n_stride = mm->b_last[1] / size,
	};
	for (int i = 0; i < 2; i++)
		blocks[i] = ir_type_dim(&scale->type, rank - 2 + i);
	last[0] = blocks[1];
	last[1] = 1;
	if (node->attrs.matmul.b_transpose) {
		swap(blocks);
		swap(last);
	}
	w->block = blocks[0] > 1 ? mm->k / blocks[0] : 0;
	w->k_scale_stride = blocks[0] > 1 ? last[0] : 0;
	w->n_block = mm->n / blocks[1];
	w->n_scale_stride = last[1];
}

/* Returns whether the double of each scale is a float16 number. */
static bool can_double(const struct ir_constant *scale)
{
	const uint16_t *half = scale->data;

	/* The exponents of 32768 and more, infinities and NaN. */
	for (size_t i = 0; i < scale->bytes / sizeof(*half); i++)
		if ((half[i] & 0x7c00) >= 0x7800)
			return false;
	return true;
}

/*
 * Lets the matrix unit read packed tiles, if the machine can: integers with their scales, and short
 * floats where these hold the integers, or a float16 constant. The bits of the result stay the
 * same.
 */
static void set_direct(struct plan *plan, struct contract_weights *w, struct contract *c,
		       enum ir_dtype dtype)
{
	enum ir_few few;

	if (!(plan->caps->features & ONPU_CAP_FEATURES_WEIGHTS__MASK) || c->a.dtype != ONPU_DT_F16)
		return;
	few = dtype == IR_I8 || dtype == IR_F16 ? ir_constant_few(w->data, dtype) : IR_FEW_NONE;
	if (!w->scale && few == IR_FEW_NONE)
		return;
	w->direct = true;
	if (few == IR_FEW_E4M3 || few == IR_FEW_E5M2)
		w->packed = few == IR_FEW_E4M3 ? ONPU_DT_F8E4M3 : ONPU_DT_F8E5M2;
	else if (few == IR_FEW_E2M1 && !w->zero && can_double(w->scale))
		w->packed = ONPU_DT_F4E2M1;
	c->weights = w;
	c->b_constant = NULL;
	c->kernel = "mma.w";
	c->op = ONPU_OP_MMA_W;
}

/* Describes a float16 constant of one matrix, which short floats may hold, as weights. */
static void set_floats(struct contract_weights *w, const struct matmul *mm)
{
	int64_t size = plan_dtype_bytes(mm->b.dtype);

	*w = (struct contract_weights){
		.dtype = mm->b.dtype,
		.packed = mm->b.dtype,
		.data = mm->b_constant,
		.k_stride = mm->b_last[0] / size,
		.n_stride = mm->b_last[1] / size,
		.n_block = 1,
	};
}

/* Describes the slices of the second operand for the contraction; false: it has none. */
static bool set_slices(struct contract_slices *slices, const struct matmul *mm,
		       const int64_t offset[MAX_VIEWS])
{
	uint32_t last = mm->out.rank ? mm->out.rank - 1 : 0;
	int64_t dim[5];

	slices->count = mm->num_slices;
	slices->axis = mm->slice_axis ? CB_N : CB_K;
	memcpy(dim, (int64_t[]){ mm->out.rank ? mm->out.dim[last] : 1, 1, 1, mm->k, mm->n },
	       sizeof(dim));
	for (uint32_t i = 0; i < mm->num_slices; i++) {
		const struct npu_view *view = &mm->slice[i].view;

		dim[slices->axis] = mm->slice[i].extent;
		slices->view[i] =
			with_dims(view, offset[3 + i], dim,
				  (int64_t[]){ mm->out.rank ? view->stride[last] : 0, 0, 0,
					       mm->slice[i].last[0], mm->slice[i].last[1] });
	}
	return slices->count > 0;
}

/* Returns true if products along a dim of the batch have different second operands. */
static bool varies(const struct matmul *mm, uint32_t axis)
{
	bool varies = mm->b.stride[axis] != 0;

	for (uint32_t i = 0; i < mm->num_slices; i++)
		varies |= mm->slice[i].view.stride[axis] != 0;
	return varies;
}

/*
 * Emits a product whose batch is a single dim, from byte offsets on: as groups when the second
 * operand varies along that dim, otherwise as images.
 */
static void emit_one(struct plan *plan, const struct ir_node *node, const struct matmul *mm,
		     const int64_t offset[MAX_VIEWS])
{
	uint32_t last = mm->out.rank ? mm->out.rank - 1 : 0;
	int64_t batch = mm->out.rank ? mm->out.dim[last] : 1;
	int64_t sa = mm->out.rank ? mm->a.stride[last] : 0,
		sb = mm->out.rank ? mm->b.stride[last] : 0;
	int64_t so = mm->out.rank ? mm->out.stride[last] : 0;
	bool groups = mm->out.rank && varies(mm, last), half = mm->a.dtype == ONPU_DT_F16;
	int64_t g = groups ? batch : 1, b = groups ? 1 : batch;
	struct contract c = {
		.acc_dtype = ONPU_DT_F32,
		.dim = { g, b, 1, mm->m, mm->n },
		.k = mm->k,
		.taps = { 1, 1 },
		.in = { 1, mm->m },
		.step = { 1, 1 },
		.dilation = { 1, 1 },
		.up = { 1, 1 },
		.kernel = half ? "mma.f16" : "mma.f32",
		.op = half ? ONPU_OP_MMA_F16 : ONPU_OP_MMA_F32,
	};
	struct contract_weights weights;
	struct contract_slices slices;

	c.a = with_dims(&mm->a, offset[1], (int64_t[]){ g, b, 1, mm->m, mm->k },
			(int64_t[]){ groups ? sa : 0, groups ? 0 : sa, 0, mm->a_last[0],
				     mm->a_last[1] });
	c.b = with_dims(&mm->b, offset[2], (int64_t[]){ g, 1, 1, mm->k, mm->n },
			(int64_t[]){ sb, 0, 0, mm->b_last[0], mm->b_last[1] });
	if (node->op == IR_OP_WMATMUL && mm->b_constant) {
		set_weights(&weights, node, mm);
		c.weights = &weights;
		c.kernel = half ? "mma.f16 weights" : "mma.f32 weights";
		set_direct(plan, &weights, &c, node->operands[1]->type.dtype);
	} else if (set_slices(&slices, mm, offset)) {
		c.slices = &slices;
	} else if (mm->b_constant) {
		c.b_constant = mm->b_constant;
		c.b_offset = offset[2];
		if (half && g == 1 && !offset[2] && !mm->b_constant->recipe) {
			set_floats(&weights, mm);
			set_direct(plan, &weights, &c, IR_F16);
		}
	}
	c.out = with_dims(&mm->out, offset[0], c.dim,
			  (int64_t[]){ groups ? so : 0, groups ? 0 : so, 0, mm->out_last[0],
				       mm->out_last[1] });
	if (node->op == IR_OP_QMATMUL) {
		c.kernel = "int8 mma.i8";
		integer_contract(plan, &c,
				 &(struct integer_finish){
					 .attrs = &node->attrs.qmatmul.integer,
					 .act = &node->attrs.matmul.act,
					 .scale = &mm->scale,
					 .bias = mm->bias.rank ? &mm->bias : NULL,
					 .addend = mm->addend.rank ? &mm->addend : NULL,
				 });
	} else {
		add_posts(&c, &node->attrs.matmul, &mm->bias);
	}
	/*
	 * A single row times a matrix is one sum without partial sums, so that both units give
	 * equal bits, wherever the matrix is.
	 */
	if (node->op != IR_OP_MATMUL || g * b * mm->m > 1)
		c.piece = contract_piece(c.op, c.k, 1);
	else if (!c.b_constant && !c.weights && !c.slices && c.a.base == NPU_BASE_NONE &&
		 c.b.base == NPU_BASE_NONE)
		contract_make_window(&c);
	contract_emit(plan, &c);
}

void lower_matmul(struct plan *plan, const struct ir_node *node)
{
	uint32_t outer;
	uint64_t count = 1;
	struct matmul mm;

	analyse(plan, node, &mm);
	outer = mm.out.rank ? mm.out.rank - 1 : 0;
	for (uint32_t i = 0; i < outer; i++)
		count *= mm.out.dim[i];
	for (uint64_t n = 0; n < count && !plan->report.failed; n++) {
		int64_t offset[MAX_VIEWS] = { 0 };
		uint64_t rest = n;

		for (uint32_t i = outer; i-- > 0;) {
			int64_t at = rest % mm.out.dim[i];

			rest /= mm.out.dim[i];
			offset[0] += at * mm.out.stride[i];
			offset[1] += at * mm.a.stride[i];
			offset[2] += at * mm.b.stride[i];
			for (uint32_t p = 0; p < mm.num_slices; p++)
				offset[3 + p] += at * mm.slice[p].view.stride[i];
		}
		emit_one(plan, node, &mm, offset);
	}
	plan_macs(plan, ir_type_elements(&node->results[0]->type) * mm.k);
}
