// SPDX-License-Identifier: MIT
/*
 * webnn-run: computes costs of a model from its shapes: multiply-accumulates, and bytes of weights.
 */
#include "cost.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes */

static int compare_views(WNNStringView a, WNNStringView b)
{
	size_t length = a.length < b.length ? a.length : b.length;
	int order = length ? memcmp(a.data, b.data, length) : 0;

	return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_values(const void *a, const void *b)
{
	return compare_views((*(WNNOnnxValueInfo const *const *)a)->name,
			     (*(WNNOnnxValueInfo const *const *)b)->name);
}

int shapes_init(struct shapes *shapes, WNNOnnxModel model)
{
	WNNOnnxValueInfoArray inputs = wnnOnnxModelGetInputs(model);
	WNNOnnxValueInfoArray values = wnnOnnxModelGetValues(model);

	*shapes = (struct shapes){ 0 };
	shapes->values = calloc(inputs.count + values.count + 1, sizeof(*shapes->values));
	if (!shapes->values)
		return -1;
	for (size_t i = 0; i < inputs.count; i++)
		shapes->values[shapes->count++] = &inputs.data[i];
	for (size_t i = 0; i < values.count; i++)
		shapes->values[shapes->count++] = &values.data[i];
	if (shapes->count)
		qsort(shapes->values, shapes->count, sizeof(*shapes->values), compare_values);
	return 0;
}

void shapes_exit(struct shapes *shapes)
{
	free(shapes->values);
	*shapes = (struct shapes){ 0 };
}

const WNNOnnxValueInfo *shapes_find(const struct shapes *shapes, const char *name)
{
	const WNNOnnxValueInfo key = { .name = { name, name ? strlen(name) : 0 } }, *at = &key;
	const WNNOnnxValueInfo **found = shapes->count ? bsearch(&at, shapes->values, shapes->count,
								 sizeof(at), compare_values) :
							 NULL;

	return found ? *found : NULL;
}

bool shape_is_static(const WNNOnnxValueInfo *value)
{
	if (value->kind != WNNOnnxKind_Tensor || value->rank == WNN_ONNX_RANK_UNKNOWN)
		return false;
	for (size_t i = 0; i < value->rank; i++)
		if (value->dimensions[i].size < 0)
			return false;
	return true;
}

/* ---- operators */

/* A shape with known dimensions, and its number of elements. */
struct known {
	size_t rank;
	const WNNOnnxDimension *dims;
	uint64_t elements;
};

static bool product(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static bool know(const struct shapes *shapes, const char *name, struct known *known)
{
	const WNNOnnxValueInfo *value = name && *name ? shapes_find(shapes, name) : NULL;

	if (!value || !shape_is_static(value))
		return false;
	*known = (struct known){ value->rank, value->dimensions, 1 };
	for (size_t i = 0; i < value->rank; i++)
		if (!product(known->elements, (uint64_t)value->dimensions[i].size,
			     &known->elements))
			return false;
	return true;
}

static bool know_input(const struct shapes *shapes, const Onnx__NodeProto *node, size_t index,
		       struct known *known)
{
	return index < node->n_input && know(shapes, node->input[index], known);
}

static uint64_t size_of(const struct known *known, size_t dim)
{
	return (uint64_t)known->dims[dim].size;
}

static const Onnx__AttributeProto *find_attribute(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (node->attribute[i]->name && !strcmp(node->attribute[i]->name, name))
			return node->attribute[i];
	return NULL;
}

static int64_t number(const Onnx__NodeProto *node, const char *name)
{
	const Onnx__AttributeProto *attribute = find_attribute(node, name);

	return attribute ? attribute->i : 0;
}

/*
 * The arguments of the functions below, each of which is for one kind of operator: it sets *macs to
 * the number of multiply-accumulates and returns true, or returns false when that number is not
 * known.
 */
struct work {
	const Onnx__NodeProto *node;
	const struct shapes *shapes;
	struct known out;
	size_t second; /* index of the input that is the second operand */
};

/*
 * Sets *macs for a convolution: each element of the result takes as many multiply-accumulates as a
 * filter has elements. Returns false when a shape is unknown, or *macs would overflow.
 */
static bool convolution(const struct work *work, uint64_t *macs)
{
	struct known filter;

	return know_input(work->shapes, work->node, work->second, &filter) && filter.rank &&
	       size_of(&filter, 0) &&
	       product(work->out.elements, filter.elements / size_of(&filter, 0), macs);
}

/*
 * Sets *macs for a transposed convolution: each element of the input is multiplied with every
 * element of a filter. Returns false when a shape is unknown, or *macs would overflow.
 */
static bool transposed(const struct work *work, uint64_t *macs)
{
	struct known x, filter;

	return know_input(work->shapes, work->node, 0, &x) &&
	       know_input(work->shapes, work->node, work->second, &filter) && filter.rank &&
	       size_of(&filter, 0) &&
	       product(x.elements, filter.elements / size_of(&filter, 0), macs);
}

static bool matrices(const struct work *work, uint64_t *macs)
{
	bool turned = number(work->node, "transA");
	struct known a;

	if (!know_input(work->shapes, work->node, 0, &a) || !a.rank ||
	    number(work->node, "transBatchA") || number(work->node, "transBatchB"))
		return false;
	return product(work->out.elements, size_of(&a, a.rank - (turned && a.rank > 1 ? 2 : 1)),
		       macs);
}

static bool packed_matrices(const struct work *work, uint64_t *macs)
{
	return product(work->out.elements, (uint64_t)number(work->node, "K"), macs);
}

/* A recurrent network multiplies each step and row of the batch with both weight matrices. */
static bool recurrent(const struct work *work, uint64_t *macs)
{
	struct known x, w, r;

	return know_input(work->shapes, work->node, 0, &x) && x.rank == 3 &&
	       know_input(work->shapes, work->node, 1, &w) &&
	       know_input(work->shapes, work->node, 2, &r) &&
	       product(size_of(&x, 0) * size_of(&x, 1), w.elements + r.elements, macs);
}

/*
 * Sets *macs for attention, which has two products: queries times keys, and scores times values.
 * Returns false when a shape is unknown or its rank is not one of those below, or *macs would
 * overflow.
 */
static bool attention(const struct work *work, uint64_t *macs)
{
	struct known query, key, past;
	uint64_t length;

	if (!know_input(work->shapes, work->node, 0, &query) ||
	    !know_input(work->shapes, work->node, 1, &key) || key.rank < 3 || key.rank > 4)
		return false;
	length = size_of(&key, key.rank - 2);
	if (work->node->n_input > 4 && *work->node->input[4]) {
		if (!know_input(work->shapes, work->node, 4, &past) || past.rank != 4)
			return false;
		length += size_of(&past, 2);
	}
	return product(query.elements + work->out.elements, length, macs);
}

/*
 * An einsum of two operands takes as many multiply-accumulates as the product of the sizes of all
 * its letters.
 */
static bool einsum(const struct work *work, uint64_t *macs)
{
	const Onnx__AttributeProto *equation = find_attribute(work->node, "equation");
	uint64_t sizes[256] = { 0 };
	struct known operand;
	size_t input = 0, dim = 0;

	*macs = 1;
	if (!equation || work->node->n_input != 2 ||
	    !know_input(work->shapes, work->node, 0, &operand))
		return false;
	for (size_t i = 0; i < equation->s.len && equation->s.data[i] != '-'; i++) {
		unsigned char letter = equation->s.data[i];

		if (letter == ',') {
			dim = 0;
			if (++input > 1 || !know_input(work->shapes, work->node, input, &operand))
				return false;
		} else if (isalpha(letter)) {
			if (dim == operand.rank)
				return false;
			if (!sizes[letter] && !product(*macs, size_of(&operand, dim), macs))
				return false;
			sizes[letter] = 1;
			dim++;
		} else if (!isspace(letter)) {
			return false;
		}
	}
	return input == 1;
}

static bool never(const struct work *work, uint64_t *macs)
{
	(void)work;
	(void)macs;
	return false;
}

static const struct {
	const char *name;
	bool (*macs)(const struct work *work, uint64_t *macs);
	size_t second;
} operators[] = {
	{ "Conv", convolution, 1 },
	{ "FusedConv", convolution, 1 },
	{ "NhwcConv", convolution, 1 },
	{ "ConvInteger", convolution, 1 },
	{ "DeformConv", convolution, 1 },
	{ "QLinearConv", convolution, 3 },
	{ "ConvTranspose", transposed, 1 },
	{ "MatMul", matrices, 1 },
	{ "MatMulInteger", matrices, 1 },
	{ "MatMulIntegerToFloat", matrices, 1 },
	{ "DynamicQuantizeMatMul", matrices, 1 },
	{ "QLinearMatMul", matrices, 3 },
	{ "FusedMatMul", matrices, 1 },
	{ "Gemm", matrices, 1 },
	{ "FusedGemm", matrices, 1 },
	{ "QGemm", matrices, 3 },
	{ "MatMulNBits", packed_matrices, 1 },
	{ "RNN", recurrent, 1 },
	{ "GRU", recurrent, 1 },
	{ "LSTM", recurrent, 1 },
	{ "DynamicQuantizeLSTM", recurrent, 1 },
	{ "MultiHeadAttention", attention, 1 },
	{ "Einsum", einsum, 1 },
	{ "GroupQueryAttention", never, 0 },
	{ "LinearAttention", never, 0 },
	{ "CausalConvWithState", never, 0 },
	{ "FlexAttention", never, 0 },
};

static bool has_graph(const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (node->attribute[i]->g || node->attribute[i]->n_graphs)
			return true;
	return false;
}

bool cost_macs(const Onnx__NodeProto *node, const struct shapes *shapes, uint64_t *macs)
{
	const char *domain = node->domain ? node->domain : "";
	bool onnx = !*domain || !strcmp(domain, "ai.onnx");
	struct work work = { .node = node, .shapes = shapes };

	*macs = 0;
	if ((!onnx && strcmp(domain, "com.microsoft")) || !node->op_type || has_graph(node))
		return false;
	/* com.microsoft has a different operator of this name. */
	if (!strcmp(node->op_type, "Attention"))
		return onnx && node->n_output && know(shapes, node->output[0], &work.out) &&
		       attention(&work, macs);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strcmp(operators[i].name, node->op_type))
			continue;
		work.second = operators[i].second;
		if (node->n_output && know(shapes, node->output[0], &work.out) &&
		    operators[i].macs(&work, macs))
			return true;
		*macs = 0;
		return false;
	}
	return true;
}

/* ---- weights */

static uint64_t bits_of(int32_t type)
{
	switch (type) {
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
		return 32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
	case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64:
		return 64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128:
		return 128;
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
	case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
		return 16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__STRING:
	case ONNX__TENSOR_PROTO__DATA_TYPE__UNDEFINED:
		return 0;
	case 21: /* UINT4 */
	case 22: /* INT4 */
	case 23: /* FLOAT4E2M1 */
		return 4;
	case 25: /* UINT2 */
	case 26: /* INT2 */
		return 2;
	default: /* integers of 8 bits, bool, floats of 8 bits */
		return 8;
	}
}

uint64_t cost_bytes(const Onnx__TensorProto *tensor)
{
	uint64_t bits = bits_of(tensor->data_type);

	for (size_t i = 0; i < tensor->n_dims; i++)
		if (tensor->dims[i] < 0 || !product(bits, (uint64_t)tensor->dims[i], &bits))
			return 0;
	return (bits + 7) / 8;
}
