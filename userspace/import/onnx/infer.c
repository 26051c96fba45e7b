// SPDX-License-Identifier: MIT
/*
 * Finds the results of operators on tensors without elements, for all operators alike. The
 * translator runs on stand-ins: inputs that have another size in place of each dimension of 0. From
 * the shapes of the results for several sizes, the shapes for 0 are computed. Operators that the
 * stand-ins add have no users, so the build of the graph drops them.
 */
#include <string.h>

#include "ops.h"

#define SIZES 3

/*
 * Sizes of the stand-ins: each row has those of three attempts. The second row is for operators
 * that split a dimension into equal parts: its sizes are multiples of many numbers.
 */
static const int64_t sizes[][SIZES] = { { 5, 6, 7 }, { 120, 240, 360 } };

/*
 * Operators that give the right results when a stand-in of size 1 with elements of 0 replaces an
 * input without elements: they add up products, and a sum of no products is 0; CenterCropPad puts
 * zeros around its input. Bit i of @zeros is set when input i is a zero point: the translator then
 * runs without it, since a zero point would give the stand-in another value than 0.
 */
static const struct sum {
	int (*translate)(struct onnx_node *node);
	uint64_t zeros;
} sums[] = {
	{ onnx_op_center_crop_pad, 0 },
	{ onnx_op_conv, 0 },
	{ onnx_op_dynamic_quantize_matmul, 1 << 3 },
	{ onnx_op_einsum, 0 },
	{ onnx_op_fused_conv, 0 },
	{ onnx_op_fused_matmul, 0 },
	{ onnx_op_gemm, 0 },
	{ onnx_op_gemm_fast_gelu, 0 },
	{ onnx_op_integer_product, 1 << 2 | 1 << 3 },
	{ onnx_op_matmul, 0 },
	{ onnx_op_matmul_integer_to_float, 1 << 4 | 1 << 5 },
	{ onnx_op_qgemm, 1 << 2 | 1 << 5 },
	{ onnx_op_qlinear_conv, 1 << 2 | 1 << 5 },
	{ onnx_op_qlinear_matmul, 1 << 2 | 1 << 5 },
};

struct trial {
	uint64_t read;	       /* bit i: the translator reads the elements of input i */
	WNNOnnxRefusal choice; /* a refusal because an input must be a constant; else zeros */
};

/* Returns the row of the node's translator; NULL: it has none. */
static const struct sum *sum_of(const struct onnx_node *node)
{
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (sums[i].translate == node->op->translate)
			return &sums[i];
	return NULL;
}

/*
 * Whether the node is a recurrent network. Each step of it adds up products with the features of
 * the input.
 */
static bool is_network(const struct onnx_node *node)
{
	return node->op->translate == onnx_op_gru || node->op->translate == onnx_op_lstm ||
	       node->op->translate == onnx_op_rnn ||
	       node->op->translate == onnx_op_dynamic_quantize_lstm;
}

/* Whether the node runs graphs of its own, whose nodes must not be translated more than once. */
static bool has_graph(struct onnx_node *node)
{
	for (size_t i = 0; i < node->proto->n_attribute; i++) {
		const char *name = node->proto->attribute[i]->name;
		const Onnx__AttributeProto *attr = name ? onnx_attr(node, name) : NULL;

		if (attr && attr->g)
			return true;
	}
	return false;
}

/* One operator counts as this many elements, which take about as much memory. */
#define OPERATOR_WORK 64

/* The counts that are set back after a translator has failed, or has run on stand-ins. */
struct mark {
	size_t refusals, notices;
	uint64_t work, operators;
};

static struct mark set_mark(const struct onnx_import *import)
{
	return (struct mark){ import->model->refusal_count, import->model->notice_count,
			      import->work, import->operators };
}

static void take_back(struct onnx_import *import, const struct mark *mark)
{
	import->model->refusal_count = mark->refusals;
	import->model->notice_count = mark->notices;
	import->tried += import->work - mark->work;
	import->tried += (import->operators - mark->operators) * OPERATOR_WORK;
	import->work = mark->work;
	import->operators = mark->operators;
}

/* Returns a value like an empty one with dimensions of @size instead of 0; all elements are 0. */
static struct onnx_value *stand_in(struct onnx_node *node, const struct onnx_value *empty,
				   int64_t size)
{
	struct onnx_value *value = onnx_node_alloc(node, sizeof(*value)), *carrier;
	WNNOperandDataType type = onnx_type_webnn(empty->type);

	if (!value)
		return NULL;
	*value = (struct onnx_value){ .type = empty->type, .shape = empty->shape };
	for (uint32_t i = 0; i < value->shape.rank; i++)
		if (!value->shape.dim[i])
			value->shape.dim[i] = size;
	if (type == WNNOperandDataType_Undefined || onnx_shape_is_too_big(&value->shape))
		return NULL;
	/* WebNN expands no int4 and uint4. */
	value->operand = type == WNNOperandDataType_Int4 || type == WNNOperandDataType_Uint4 ?
				 onnx_filled(node, type, &value->shape, 0) :
				 x_expand(node, x_number(node, type, 0), &value->shape);
	if (!value->operand)
		return NULL;
	if (!onnx_type_is_carried(value->type))
		return value;
	carrier = onnx_node_alloc(node, sizeof(*carrier));
	if (!carrier)
		return NULL;
	*carrier = *value;
	carrier->type = (int)onnx_type_of(type);
	value->carrier = carrier;
	return value;
}

/*
 * Runs the translator of a copy of the node, whose inputs without elements are replaced by
 * stand-ins, unless @size is 0 or the input's bit in *read is set. With a @size of 1, the inputs
 * that struct sum names as zero points are left out. Sets the bits in *read of the inputs whose
 * elements the translator reads. Fills in @results, an array of as many items as the node has
 * outputs. Returns 0 or -1.
 */
static int attempt(struct onnx_node *node, int64_t size, uint64_t *read,
		   struct onnx_value **results)
{
	struct onnx_node copy = *node;
	size_t inputs = node->input_count * sizeof(*copy.inputs);
	const struct sum *sum = sum_of(node);
	int ret;

	copy.inputs = onnx_node_alloc(node, inputs + 1);
	if (!copy.inputs)
		return -1;
	if (inputs)
		memcpy(copy.inputs, node->inputs, inputs);
	memset(results, 0, node->output_count * sizeof(*results));
	copy.outputs = results;
	copy.read = 0;
	for (size_t i = 0; size && i < node->input_count; i++) {
		struct onnx_value *value = copy.inputs[i];

		if (!value || value->absent || (i < 64 && *read >> i & 1))
			continue;
		/*
		 * Inputs with elements stay. Only a random value is replaced by a stand-in when
		 * shapes are tried, because it would become an input of the graph.
		 */
		if (onnx_shape_elements(&value->shape) && !(size > 1 && value->draw))
			continue;
		copy.inputs[i] = stand_in(node, value, size);
		if (!copy.inputs[i])
			return -1;
	}
	for (size_t i = 0; size == 1 && sum && i < node->input_count && i < 64; i++)
		if (sum->zeros >> i & 1)
			copy.inputs[i] = NULL;
	node->import->draws_nothing = size > 1;
	ret = onnx_translate(&copy);
	node->import->draws_nothing = false;
	*read |= copy.read;
	return ret;
}

/*
 * Copies to *choice the last refusal after @mark that names an input: the program can make this
 * input a constant.
 */
static void keep_choice(const struct onnx_model *model, const struct mark *mark,
			WNNOnnxRefusal *choice)
{
	for (size_t i = mark->refusals; i < model->refusal_count; i++)
		if (model->refusals[i].input.length)
			*choice = model->refusals[i];
}

/*
 * Calls attempt(), and again when it failed and the translator has read the elements of one more
 * stand-in: the next attempt gives the translator that input itself. Returns 0 or -1.
 */
static int attempt_all(struct onnx_node *node, int64_t size, struct trial *trial,
		       struct onnx_value **results)
{
	struct mark mark = set_mark(node->import);
	uint64_t before;
	int ret;

	do {
		before = trial->read;
		ret = attempt(node, size, &trial->read, results);
		if (ret)
			keep_choice(node->import->model, &mark, &trial->choice);
		if (ret)
			take_back(node->import, &mark);
	} while (ret && trial->read != before && node->import->status == WNNStatus_Success);
	return ret;
}

/*
 * Sets *size to the size that a dimension of a result has for empty inputs, from the three sizes
 * @dims that it has for stand-ins of sizes @from. Returns whether it is known: the dimension grows
 * linearly with the stand-ins, or is a multiple of them.
 */
static bool at_zero(const int64_t *from, const int64_t *dims, int64_t *size)
{
	int64_t step = dims[1] - dims[0], by = from[1] - from[0];

	if (dims[2] - dims[1] == step && step * from[0] % by == 0) {
		*size = dims[0] - step * from[0] / by;
		return *size >= 0;
	}
	*size = 0;
	return dims[0] % from[0] == 0 && dims[1] % from[1] == 0 && dims[2] % from[2] == 0;
}

/* Sets *shape to the shape that a result has for empty inputs; false: it is not known. */
static bool shape_at_zero(const int64_t *from, struct onnx_value *const *values,
			  struct onnx_shape *shape)
{
	if (!values[0] || !values[1] || !values[2] || values[0]->sequence)
		return false;
	*shape = values[0]->shape;
	for (uint32_t i = 0; i < shape->rank; i++) {
		int64_t dims[SIZES];

		for (int k = 0; k < SIZES; k++) {
			if (values[k]->shape.rank != shape->rank)
				return false;
			dims[k] = values[k]->shape.dim[i];
		}
		if (!at_zero(from, dims, &shape->dim[i]))
			return false;
	}
	return true;
}

/*
 * Whether an attention has no keys at all: no past keys, and no bias, which would be added to the
 * zeros of a stand-in. Then the sum of the values is 0.
 */
static bool attends_to_nothing(struct onnx_node *node)
{
	const struct onnx_shape *key = onnx_in_shape(node, 1);

	return node->op->translate == onnx_op_multi_head_attention && onnx_has(node, 1) &&
	       !onnx_has(node, 3) && !onnx_has(node, 6) && key->rank > 2 &&
	       !key->dim[key->rank == 4 ? 2 : 1];
}

/*
 * Whether a node has equal results for empty inputs and for stand-ins of size 1, whose elements are
 * 0.
 */
static bool adds_up(struct onnx_node *node)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0);

	if (sum_of(node) || attends_to_nothing(node))
		return true;
	/* A network adds up zeros if its input has steps and a batch, but no features. */
	return is_network(node) && x->rank == 3 && x->dim[0] && x->dim[1];
}

/* Whether a network has no steps, so that its last states are the first ones. */
static bool has_no_steps(struct onnx_node *node)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0);

	return is_network(node) && x->rank == 3 && !x->dim[onnx_attr_int(node, "layout", 0) == 1];
}

static int make_zeros(struct onnx_node *node, size_t output, int type,
		      const struct onnx_shape *shape)
{
	WNNOperand zero = x_number(node, onnx_type_webnn(type), 0);

	return onnx_out_as(node, output, zero ? x_expand(node, zero, shape) : NULL, type);
}

/*
 * Makes the outputs of a network without steps: output 0 has no elements, a last state is the first
 * state that the node has as an input, or else 0. Returns 0 or -1.
 */
static int make_states(struct onnx_node *node, struct onnx_value *const *made,
		       const struct onnx_shape *shapes)
{
	for (size_t i = 0; i < node->output_count; i++) {
		int ret;

		if (!made[i])
			continue;
		if (!i)
			ret = onnx_out_value(node, i, made[i]);
		else if (onnx_has(node, 4 + i))
			ret = onnx_out_value(node, i, node->inputs[4 + i]);
		else
			ret = make_zeros(node, i, made[i]->type, &shapes[i]);
		if (ret)
			return -1;
	}
	return 0;
}

/*
 * Sets the output of a transposed convolution over no elements, which is the bias, or zeros without
 * a bias. Returns 0; -1: refused.
 */
static int make_bias(struct onnx_node *node, int type, const struct onnx_shape *shape)
{
	struct onnx_shape wide = { shape->rank, { 0 } };
	WNNOperand bias;

	if (!onnx_has(node, 2))
		return make_zeros(node, 0, type, shape);
	for (uint32_t i = 0; i < wide.rank; i++)
		wide.dim[i] = i == 1 ? shape->dim[1] : 1;
	bias = x_reshape(node, onnx_in(node, 2), &wide);
	return onnx_out(node, 0, bias ? x_expand(node, bias, shape) : NULL);
}

/*
 * Makes outputs with elements from stand-ins of size 1, whose elements are 0. Returns 0; -1:
 * refused; 1: the stand-ins do not show the results.
 */
static int make_sums(struct onnx_node *node, struct trial *trial, const struct onnx_shape *shapes)
{
	struct onnx_value **results = node->outputs;

	if (!adds_up(node) || attempt_all(node, 1, trial, results))
		return node->import->status == WNNStatus_Success ? 1 : -1;
	for (size_t i = 0; i < node->output_count; i++)
		if (onnx_wants(node, i) &&
		    (!results[i] || !onnx_shape_same(&results[i]->shape, &shapes[i])))
			return 1;
	return 0;
}

/*
 * Makes the outputs, if their shapes follow from those for three sizes of the empty dimensions:
 * constants if none has elements; else first states of a network, the bias of a transposed
 * convolution, or sums of no products. Returns 0; -1: refused; 1: a shape is not known, or the
 * elements are not.
 */
static int make_outputs(struct onnx_node *node, const int64_t *from, struct trial *trial)
{
	size_t count = node->output_count;
	struct onnx_value **results =
		onnx_node_alloc(node, (SIZES * count + 1) * sizeof(struct onnx_value *));
	struct onnx_value **made = onnx_node_alloc(node, (count + 1) * sizeof(*made));
	struct onnx_shape *shapes = onnx_node_alloc(node, (count + 1) * sizeof(*shapes));
	bool filled = false;

	if (!results || !made || !shapes)
		return -1;
	for (int k = 0; k < SIZES; k++)
		if (attempt_all(node, from[k], trial, results + (size_t)k * count))
			return node->import->status == WNNStatus_Success ? 1 : -1;
	for (size_t i = 0; i < count; i++) {
		struct onnx_value *values[SIZES];

		if (!onnx_wants(node, i))
			continue;
		for (size_t k = 0; k < SIZES; k++)
			values[k] = results[k * count + i];
		if (!shape_at_zero(from, values, &shapes[i]))
			return 1;
		filled = filled || onnx_shape_elements(&shapes[i]);
		made[i] = onnx_empty_value(node, values[0]->type, &shapes[i]);
		if (!made[i])
			return -1;
	}
	if (filled && has_no_steps(node))
		return make_states(node, made, shapes);
	if (filled && node->op->translate == onnx_op_conv_transpose)
		return make_bias(node, made[0]->type, &shapes[0]);
	if (filled)
		return make_sums(node, trial, shapes);
	for (size_t i = 0; i < count; i++)
		if (made[i])
			onnx_out_value(node, i, made[i]);
	return 0;
}

/* Makes the outputs by stand-ins. Returns 0; -1: refused; 1: stand-ins do not show the result. */
static int from_stand_ins(struct onnx_node *node, struct trial *trial)
{
	int ret = 1;

	for (size_t i = 0; ret == 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mark mark = set_mark(node->import);

		ret = make_outputs(node, sizes[i], trial);
		take_back(node->import, &mark);
	}
	return ret;
}

int onnx_infer_empty(struct onnx_node *node)
{
	struct onnx_model *model = node->import->model;
	struct mark mark = set_mark(node->import), refused;
	WNNOnnxRefusal *own;
	struct trial trial = { 0 };
	int ret;

	/*
	 * Reshape does not run on stand-ins: for them it could compute a dimension of -1, for an
	 * empty input it cannot.
	 */
	if (has_graph(node) || node->op->translate == onnx_op_reshape)
		return 1;
	if (!attempt(node, 0, &trial.read, node->outputs))
		return 0;
	if (node->import->status != WNNStatus_Success)
		return -1;
	/*
	 * The refusals of the translator are set aside: they are dropped if stand-ins show the
	 * results, else put back at the end.
	 */
	if (mark.refusals == model->refusal_count)
		onnx_value_of(node, NULL, 0);
	refused = set_mark(node->import);
	own = onnx_node_alloc(node, (refused.refusals - mark.refusals + 1) * sizeof(*own));
	if (!own)
		return -1;
	if (refused.refusals > mark.refusals)
		memcpy(own, model->refusals + mark.refusals,
		       (refused.refusals - mark.refusals) * sizeof(*own));
	take_back(node->import, &mark);
	/*
	 * The memory of attempts is freed only when the import ends, so all attempts share one
	 * limit.
	 */
	ret = node->import->tried < ONNX_MAX_WORK ? from_stand_ins(node, &trial) : 1;
	if (ret <= 0)
		return ret;
	if (trial.choice.input.length && refused.refusals > mark.refusals) {
		own[0] = trial.choice;
		refused.refusals = mark.refusals + 1;
	}
	if (refused.refusals > mark.refusals)
		memcpy(model->refusals + mark.refusals, own,
		       (refused.refusals - mark.refusals) * sizeof(*own));
	model->refusal_count = refused.refusals;
	return -1;
}
