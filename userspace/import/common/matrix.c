// SPDX-License-Identifier: MIT
/*
 * Transposes tensors of quantised weights, whose rows are the columns of matmul's second operand,
 * and packs their integers: 4 bits where all numbers of the type fit, else 8. WebNN's scales are
 * positive, so that the numbers of a block with a negative scale are negated.
 */
#include "matrix.h"

#include <math.h>
#include <string.h>

#include "memory.h"

/* Columns that are transposed at once, so that the rows that are written stay in the cache. */
#define COLUMNS 64

static const uint8_t *row_of(const struct import_rows *rows, uint32_t column)
{
	uint32_t row = rows->source ? rows->source(rows->argument, column) : column;

	return rows->data + row * rows->stride;
}

/* The blocks of columns that are transposed at once, one of each column. */
struct strip {
	uint8_t number[IMPORT_MAX_BLOCK][COLUMNS], zero[IMPORT_MAX_SCALES][COLUMNS];
};

/*
 * Writes a row of a strip, @count numbers, to element @at and on of the matrix's numbers or zeros.
 * Unless the type is uint8, two numbers share a byte, which must be 0 at first: a row may begin
 * within one.
 */
static void put(const struct import_matrix *matrix, uint8_t *to, size_t at, const uint8_t *from,
		uint32_t count)
{
	uint32_t i = 0;

	if (matrix->type == WNNOperandDataType_Uint8) {
		memcpy(to + at, from, count);
		return;
	}
	for (; at % 2 == 0 && i + 1 < count; i += 2)
		to[(at + i) / 2] = (uint8_t)(from[i] | from[i + 1] << 4);
	for (; i < count; i++)
		to[(at + i) / 2] |= (uint8_t)(from[i] << ((at + i) % 2 * 4));
}

/* Puts a group of a block into column @n of a strip. Returns whether its numbers are finite. */
static bool put_group(struct import_matrix *matrix, const struct import_block_type *type,
		      const struct import_block *block, uint32_t group, size_t place,
		      struct strip *strip, uint32_t n)
{
	float scale = block->scale[group];
	bool mirrored = scale < 0;
	int zero = mirrored ? type->highest : -type->lowest;
	/* With scale 0 all numbers are 0, whatever they are in the file. */
	int sign = scale == 0 ? 0 : mirrored ? -1 : 1;

	for (uint32_t i = group * type->group; i < (group + 1) * type->group; i++)
		strip->number[i][n] = (uint8_t)(zero + sign * block->number[i]);
	strip->zero[group][n] = (uint8_t)zero;
	matrix->scales[place] = scale == 0 ? 1 : fabsf(scale);
	if (matrix->offsets)
		matrix->offsets[place] = block->offset[group];
	return isfinite(scale) && isfinite(block->offset[group]);
}

/* Packs one block of each of some columns. Returns whether all numbers are finite. */
static bool pack_strip(struct import_matrix *matrix, const struct import_rows *rows, uint32_t k,
		       uint32_t first, uint32_t count, struct strip *strip)
{
	const struct import_block_type *type = rows->type;
	uint32_t groups = type->elements / type->group;
	size_t group = k / type->group, columns = matrix->columns;
	struct import_block block;
	bool finite = true;

	for (uint32_t n = 0; n < count; n++) {
		type->unpack(row_of(rows, first + n) + (size_t)(k / type->elements) * type->bytes,
			     &block);
		for (uint32_t g = 0; g < groups; g++)
			finite &= put_group(matrix, type, &block, g,
					    (group + g) * columns + first + n, strip, n);
	}
	for (uint32_t i = 0; i < type->elements; i++)
		put(matrix, matrix->numbers, (k + i) * columns + first, strip->number[i], count);
	for (uint32_t g = 0; g < groups; g++)
		put(matrix, matrix->zeros, (group + g) * columns + first, strip->zero[g], count);
	return finite;
}

static enum import_packed pack(struct import_matrix *matrix, const struct import_rows *rows)
{
	struct strip *strip = import_alloc(sizeof(*strip));
	bool finite = true;

	if (!strip)
		return IMPORT_NO_MEMORY;
	for (uint32_t first = 0; first < matrix->columns; first += COLUMNS) {
		uint32_t rest = matrix->columns - first;

		for (uint32_t k = 0; k < matrix->depth; k += rows->type->elements)
			finite &= pack_strip(matrix, rows, k, first,
					     rest < COLUMNS ? rest : COLUMNS, strip);
	}
	import_free(strip);
	return finite ? IMPORT_PACKED : IMPORT_NOT_FINITE;
}

static void transpose(struct import_matrix *matrix, const struct import_rows *rows)
{
	const struct import_block_type *type = rows->type;

	for (uint32_t first = 0; first < matrix->columns; first += COLUMNS)
		for (uint32_t k = 0; k < matrix->depth; k++)
			for (uint32_t n = first; n < first + COLUMNS && n < matrix->columns; n++)
				matrix->values[(size_t)k * matrix->columns + n] =
					type->element(row_of(rows, n) + (size_t)k * type->bytes);
}

/* Returns the number of bytes that @count numbers of the matrix's type take. */
static size_t bytes_of(const struct import_matrix *matrix, size_t count)
{
	return matrix->type == WNNOperandDataType_Uint8 ? count : (count + 1) / 2;
}

enum import_packed import_matrix_init(struct import_matrix *matrix, const struct import_rows *rows)
{
	const struct import_block_type *type = rows->type;
	size_t count = (size_t)rows->depth * rows->columns, groups;

	*matrix = (struct import_matrix){ .depth = rows->depth, .columns = rows->columns };
	if (type->element) {
		matrix->values = import_alloc(count * sizeof(*matrix->values));
		if (!matrix->values)
			return IMPORT_NO_MEMORY;
		transpose(matrix, rows);
		return IMPORT_PACKED;
	}
	matrix->group = type->group;
	matrix->type = type->highest - type->lowest < 16 ? WNNOperandDataType_Uint4 :
							   WNNOperandDataType_Uint8;
	groups = count / matrix->group;
	matrix->numbers = import_alloc(bytes_of(matrix, count));
	matrix->zeros = import_alloc(bytes_of(matrix, groups));
	matrix->scales = import_alloc(groups * sizeof(*matrix->scales));
	if (type->offsets)
		matrix->offsets = import_alloc(groups * sizeof(*matrix->offsets));
	if (!matrix->numbers || !matrix->zeros || !matrix->scales ||
	    (type->offsets && !matrix->offsets))
		return IMPORT_NO_MEMORY;
	return pack(matrix, rows);
}

void import_matrix_exit(struct import_matrix *matrix)
{
	import_free(matrix->values);
	import_free(matrix->scales);
	import_free(matrix->offsets);
	import_free(matrix->numbers);
	import_free(matrix->zeros);
	*matrix = (struct import_matrix){ 0 };
}

/* ---- the graph */

WNNOperand import_borrow(WNNGraphBuilder builder, WNNOperandDataType type, const void *data,
			 size_t size, WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;

	descriptor.nextInChain = &loan.chain;
	descriptor.dataType = type;
	descriptor.shape = shape;
	return wnnGraphBuilderConstant(builder, &descriptor, data, size);
}

static WNNOperand constant(const struct import_matrix *matrix, WNNGraphBuilder builder,
			   WNNOperandDataType type, const void *data, uint32_t rows)
{
	uint32_t shape[] = { rows, matrix->columns };
	size_t count = (size_t)rows * matrix->columns;

	return import_borrow(builder, type, data,
			     type == WNNOperandDataType_Float32 ? count * sizeof(float) :
								  bytes_of(matrix, count),
			     WNN_UINT32_ARRAY(shape));
}

/*
 * Returns what the offsets add to the product: the sum of x over each group of rows, times their
 * offsets. The integers stay packed.
 */
static WNNOperand add_offsets(const struct import_matrix *matrix, WNNGraphBuilder builder,
			      WNNOperand x, WNNOperand product)
{
	WNNUint32Array whole = wnnOperandGetShape(x);
	uint32_t groups = matrix->depth / matrix->group, shape[9], axis[1];
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	WNNOperand offsets;

	/* x has at most eight dimensions, as all operands; the builder refuses to add a ninth. */
	memcpy(shape, whole.data, (whole.count - 1) * sizeof(*shape));
	shape[whole.count - 1] = groups;
	shape[whole.count] = matrix->group;
	axis[0] = (uint32_t)whole.count;
	reduce.axes = WNN_UINT32_ARRAY(axis);
	offsets = constant(matrix, builder, WNNOperandDataType_Float32, matrix->offsets, groups);
	x = wnnGraphBuilderReshape(builder, x, (WNNUint32Array){ whole.count + 1, shape }, NULL);
	x = x ? wnnGraphBuilderReduceSum(builder, x, &reduce) : NULL;
	x = x && offsets ? wnnGraphBuilderMatmul(builder, x, offsets, NULL) : NULL;
	return x ? wnnGraphBuilderAdd(builder, product, x, NULL) : NULL;
}

WNNOperand import_matrix_multiply(const struct import_matrix *matrix, WNNGraphBuilder builder,
				  WNNOperand x)
{
	WNNOperand weights, scales, zeros;
	uint32_t groups;

	if (!x)
		return NULL;
	if (matrix->values) {
		weights = constant(matrix, builder, WNNOperandDataType_Float32, matrix->values,
				   matrix->depth);
		return weights ? wnnGraphBuilderMatmul(builder, x, weights, NULL) : NULL;
	}
	groups = matrix->depth / matrix->group;
	weights = constant(matrix, builder, matrix->type, matrix->numbers, matrix->depth);
	scales = constant(matrix, builder, WNNOperandDataType_Float32, matrix->scales, groups);
	zeros = constant(matrix, builder, matrix->type, matrix->zeros, groups);
	if (!weights || !scales || !zeros)
		return NULL;
	weights = wnnGraphBuilderDequantizeLinear(builder, weights, scales, zeros, NULL);
	weights = weights ? wnnGraphBuilderMatmul(builder, x, weights, NULL) : NULL;
	return weights && matrix->offsets ? add_offsets(matrix, builder, x, weights) : weights;
}
