// SPDX-License-Identifier: MIT
/*
 * Transposes matrices of GGUF, whose rows are the columns of matmul's second operand, and packs
 * their integers: 4 bits where all numbers of the type fit, else 8. WebNN's scales are positive, so
 * a block with a negative one has its numbers mirrored.
 */
#include "weight.h"

#include <math.h>
#include <string.h>

#include "../common/memory.h"

/* Columns that are transposed at once, so that the rows that are written stay in the cache. */
#define COLUMNS 64

static const struct gguf_tensor *find(const struct gguf *gguf, const char *name, uint32_t inner,
				      uint32_t outer, struct gguf_error *error)
{
	const struct gguf_tensor *tensor = gguf_tensor(gguf, name);

	if (!tensor) {
		gguf_fail(error, "tensor \"%s\" is missing", name);
		return NULL;
	}
	if (tensor->size[0] != inner || tensor->size[1] != outer || tensor->size[2] != 1 ||
	    tensor->size[3] != 1) {
		gguf_fail(error, "tensor \"%s\" is [%llu, %llu], but it must be [%u, %u]", name,
			  (unsigned long long)tensor->size[1], (unsigned long long)tensor->size[0],
			  outer, inner);
		return NULL;
	}
	if (!gguf_type_is_read(tensor->type)) {
		gguf_fail(error, "tensor \"%s\" has type %s, which cannot be read", name,
			  tensor->type->name);
		return NULL;
	}
	return tensor;
}

float *gguf_vector(const struct gguf *gguf, const char *name, uint32_t count,
		   struct gguf_error *error)
{
	const struct gguf_tensor *tensor = find(gguf, name, count, 1, error);
	float *values;

	if (!tensor)
		return NULL;
	values = import_alloc(count * sizeof(*values));
	if (!values) {
		gguf_fail_memory(error);
		return NULL;
	}
	gguf_dequantise(tensor->type, tensor->data, 0, count, values);
	return values;
}

/* Returns the row of the file that becomes a column. */
static uint32_t source(const struct gguf_heads *heads, uint32_t column)
{
	uint32_t half = heads->rotated / 2, at;

	if (!heads->count)
		return column;
	at = column % heads->size;
	if (at >= heads->rotated)
		return column;
	return column - at + (at < half ? 2 * at : 2 * (at - half) + 1);
}

static void put(const struct gguf_weight *weight, uint8_t *numbers, size_t at, int number)
{
	if (weight->type == WNNOperandDataType_Uint8)
		numbers[at] = (uint8_t)number;
	else
		numbers[at / 2] |= (uint8_t)(number << (at % 2 * 4));
}

/* Writes a group of a block, at row @row. Returns whether scale and offset are finite. */
static bool put_group(const struct gguf_weight *weight, const struct gguf_type *type,
		      const struct gguf_block *block, uint32_t group, uint32_t row, uint32_t column)
{
	float scale = block->scale[group];
	size_t place = (size_t)(row / type->group) * weight->columns + column;
	bool mirrored = scale < 0;
	int zero = mirrored ? type->highest : -type->lowest;

	for (uint32_t i = 0; i < type->group; i++) {
		int number = block->number[group * type->group + i];

		/* With scale 0 all numbers are 0, whatever they are in the file. */
		if (scale == 0)
			number = 0;
		put(weight, weight->numbers, (size_t)(row + i) * weight->columns + column,
		    mirrored ? zero - number : zero + number);
	}
	weight->scales[place] = scale == 0 ? 1 : fabsf(scale);
	put(weight, weight->zeros, place, zero);
	if (weight->offsets)
		weight->offsets[place] = block->offset[group];
	return isfinite(scale) && isfinite(block->offset[group]);
}

static int pack(struct gguf_weight *weight, const struct gguf_tensor *tensor,
		const struct gguf_heads *heads, struct gguf_error *error)
{
	const struct gguf_type *type = tensor->type;
	uint32_t per_row = weight->depth / type->elements;
	struct gguf_block block;
	bool finite = true;

	for (uint32_t first = 0; first < weight->columns; first += COLUMNS)
		for (uint32_t b = 0; b < per_row; b++)
			for (uint32_t n = first; n < first + COLUMNS && n < weight->columns; n++) {
				size_t at = (size_t)source(heads, n) * per_row + b;

				type->unpack(tensor->data + at * type->bytes, &block);
				for (uint32_t g = 0; g < type->elements / type->group; g++)
					finite &= put_group(weight, type, &block, g,
							    b * type->elements + g * type->group,
							    n);
			}
	if (finite)
		return 0;
	return gguf_fail(error, "tensor \"%.*s\" has a scale that is infinite or no number",
			 GGUF_ARGS(tensor->name));
}

static void transpose(struct gguf_weight *weight, const struct gguf_tensor *tensor,
		      const struct gguf_heads *heads)
{
	const struct gguf_type *type = tensor->type;

	for (uint32_t first = 0; first < weight->columns; first += COLUMNS)
		for (uint32_t k = 0; k < weight->depth; k++)
			for (uint32_t n = first; n < first + COLUMNS && n < weight->columns; n++) {
				size_t at = (size_t)source(heads, n) * weight->depth + k;

				weight->values[(size_t)k * weight->columns + n] =
					type->element(tensor->data + at * type->bytes);
			}
}

int gguf_weight_init(struct gguf_weight *weight, const struct gguf *gguf, const char *name,
		     uint32_t depth, uint32_t columns, struct gguf_heads heads,
		     struct gguf_error *error)
{
	const struct gguf_tensor *tensor = find(gguf, name, depth, columns, error);
	size_t count = (size_t)depth * columns, groups;

	*weight = (struct gguf_weight){ .depth = depth, .columns = columns };
	if (!tensor)
		return -1;
	if (tensor->type->element) {
		weight->values = import_alloc(count * sizeof(*weight->values));
		if (!weight->values)
			return gguf_fail_memory(error);
		transpose(weight, tensor, &heads);
		return 0;
	}
	weight->group = tensor->type->group;
	weight->type = tensor->type->highest - tensor->type->lowest < 16 ?
			       WNNOperandDataType_Uint4 :
			       WNNOperandDataType_Uint8;
	groups = count / weight->group;
	/* One byte for each number of 8 bits, or for two of 4. */
	weight->numbers =
		import_alloc(weight->type == WNNOperandDataType_Uint8 ? count : (count + 1) / 2);
	weight->zeros =
		import_alloc(weight->type == WNNOperandDataType_Uint8 ? groups : (groups + 1) / 2);
	weight->scales = import_alloc(groups * sizeof(*weight->scales));
	if (tensor->type->offsets)
		weight->offsets = import_alloc(groups * sizeof(*weight->offsets));
	if (!weight->numbers || !weight->zeros || !weight->scales ||
	    (tensor->type->offsets && !weight->offsets))
		return gguf_fail_memory(error);
	return pack(weight, tensor, &heads, error);
}

void gguf_weight_exit(struct gguf_weight *weight)
{
	import_free(weight->values);
	import_free(weight->scales);
	import_free(weight->offsets);
	import_free(weight->numbers);
	import_free(weight->zeros);
	*weight = (struct gguf_weight){ 0 };
}

/* ---- the graph */

WNNOperand gguf_constant(WNNGraphBuilder builder, WNNOperandDataType type, const void *data,
			 size_t size, WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;

	descriptor.nextInChain = &loan.chain;
	descriptor.dataType = type;
	descriptor.shape = shape;
	return wnnGraphBuilderConstant(builder, &descriptor, data, size);
}

static WNNOperand constant(const struct gguf_weight *weight, WNNGraphBuilder builder,
			   WNNOperandDataType type, const void *data, uint32_t rows)
{
	uint32_t shape[] = { rows, weight->columns };
	size_t count = (size_t)rows * weight->columns;

	if (type == WNNOperandDataType_Float32)
		count *= sizeof(float);
	else if (type == WNNOperandDataType_Uint4)
		count = (count + 1) / 2;
	return gguf_constant(builder, type, data, count, WNN_UINT32_ARRAY(shape));
}

/*
 * Returns what the offsets add to the product: the sum of x over each group of rows, times their
 * offsets. The integers stay packed.
 */
static WNNOperand add_offsets(const struct gguf_weight *weight, WNNGraphBuilder builder,
			      WNNOperand x, uint32_t rows, WNNOperand product)
{
	uint32_t groups = weight->depth / weight->group, axis[] = { 2 };
	uint32_t shape[] = { rows, groups, weight->group };
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	WNNOperand offsets =
		constant(weight, builder, WNNOperandDataType_Float32, weight->offsets, groups);

	reduce.axes = WNN_UINT32_ARRAY(axis);
	x = wnnGraphBuilderReshape(builder, x, WNN_UINT32_ARRAY(shape), NULL);
	x = x ? wnnGraphBuilderReduceSum(builder, x, &reduce) : NULL;
	x = x && offsets ? wnnGraphBuilderMatmul(builder, x, offsets, NULL) : NULL;
	return x && product ? wnnGraphBuilderAdd(builder, product, x, NULL) : NULL;
}

WNNOperand gguf_weight_multiply(const struct gguf_weight *weight, WNNGraphBuilder builder,
				WNNOperand x, uint32_t rows)
{
	WNNOperand matrix, scales, zeros;
	uint32_t groups;

	if (!x)
		return NULL;
	if (weight->values) {
		matrix = constant(weight, builder, WNNOperandDataType_Float32, weight->values,
				  weight->depth);
		return matrix ? wnnGraphBuilderMatmul(builder, x, matrix, NULL) : NULL;
	}
	groups = weight->depth / weight->group;
	matrix = constant(weight, builder, weight->type, weight->numbers, weight->depth);
	scales = constant(weight, builder, WNNOperandDataType_Float32, weight->scales, groups);
	zeros = constant(weight, builder, weight->type, weight->zeros, groups);
	if (matrix && scales && zeros)
		matrix = wnnGraphBuilderDequantizeLinear(builder, matrix, scales, zeros, NULL);
	else
		matrix = NULL;
	matrix = matrix ? wnnGraphBuilderMatmul(builder, x, matrix, NULL) : NULL;
	return weight->offsets ? add_offsets(weight, builder, x, rows, matrix) : matrix;
}
