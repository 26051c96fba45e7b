/* SPDX-License-Identifier: MIT */
/*
 * Elements and shapes for the reference kernels: every computed value passes through double
 * (floats) or 64-bit integers, and is rounded or wrapped when it is stored.
 */
#ifndef WNN_CPU_ELEMENT_H
#define WNN_CPU_ELEMENT_H

#include <string.h>

#include "ir/ir.h"
#include "util/float16.h"

/* A shape with its row-major strides in elements. */
struct cpu_shape {
	uint32_t rank;
	int64_t dim[IR_MAX_RANK], stride[IR_MAX_RANK];
	int64_t count;
};

static inline struct cpu_shape cpu_shape_of(const struct ir_type *type)
{
	struct cpu_shape s = { .rank = type->rank, .count = 1 };

	for (uint32_t i = type->rank; i-- > 0;) {
		s.dim[i] = ir_type_dim(type, i);
		s.stride[i] = s.count;
		s.count *= s.dim[i];
	}
	return s;
}

/* Sets the strides with which `from` is read while iterating over `to`: 0 along broadcast axes. */
static inline void cpu_broadcast_strides(const struct cpu_shape *from, const struct cpu_shape *to,
					 int64_t *stride)
{
	uint32_t lead = to->rank - from->rank;

	for (uint32_t i = 0; i < to->rank; i++)
		stride[i] = i < lead || from->dim[i - lead] == 1 ? 0 : from->stride[i - lead];
}

/* Returns the offset, under other strides, of the element with row-major index `i` of a shape. */
static inline int64_t cpu_offset(const struct cpu_shape *shape, int64_t i, const int64_t *stride)
{
	int64_t offset = 0;

	for (uint32_t d = shape->rank; d-- > 0;) {
		offset += i % shape->dim[d] * stride[d];
		i /= shape->dim[d];
	}
	return offset;
}

/*
 * Returns element i of a float tensor. Only tests' oracles have float64, to run these kernels
 * without rounding.
 */
static inline double cpu_load(enum ir_dtype dtype, const void *p, int64_t i)
{
	if (dtype == IR_F64)
		return ((const double *)p)[i];
	return dtype == IR_F16 ? (double)wnn_half_to_float(((const uint16_t *)p)[i]) :
				 (double)((const float *)p)[i];
}

static inline void cpu_store(enum ir_dtype dtype, void *p, int64_t i, double v)
{
	if (dtype == IR_F16)
		((uint16_t *)p)[i] = wnn_double_to_half(v);
	else if (dtype == IR_F64)
		((double *)p)[i] = v;
	else
		((float *)p)[i] = (float)v;
}

/* Returns a 4-bit element: two share a byte, the first in its low half. */
static inline int64_t cpu_load_nibble(enum ir_dtype dtype, const void *p, int64_t i)
{
	int64_t v = ((const uint8_t *)p)[i / 2] >> (i % 2 * 4) & 15;

	return dtype == IR_I4 && v > 7 ? v - 16 : v;
}

/* Stores a 4-bit element. The first one of a byte sets the unused half to 0. */
static inline void cpu_store_nibble(void *p, int64_t i, int64_t v)
{
	uint8_t *byte = (uint8_t *)p + i / 2;

	*byte = (uint8_t)(i % 2 ? (*byte & 15) | (v & 15) << 4 : v & 15);
}

static inline int64_t cpu_load_int(enum ir_dtype dtype, const void *p, int64_t i)
{
	switch (dtype) {
	case IR_I4:
	case IR_U4:
		return cpu_load_nibble(dtype, p, i);
	case IR_I8:
		return ((const int8_t *)p)[i];
	case IR_U8:
		return ((const uint8_t *)p)[i];
	case IR_I32:
		return ((const int32_t *)p)[i];
	case IR_U32:
		return ((const uint32_t *)p)[i];
	default:
		return ((const int64_t *)p)[i]; /* uint64: the bits of the element as int64 */
	}
}

/* Stores the low bits of v. 4-bit elements must be stored in ascending order. */
static inline void cpu_store_int(enum ir_dtype dtype, void *p, int64_t i, int64_t v)
{
	switch (dtype) {
	case IR_I4:
	case IR_U4:
		cpu_store_nibble(p, i, v);
		break;
	case IR_I8:
	case IR_U8:
		((uint8_t *)p)[i] = (uint8_t)v;
		break;
	case IR_I32:
	case IR_U32:
		((uint32_t *)p)[i] = (uint32_t)v;
		break;
	default:
		((uint64_t *)p)[i] = (uint64_t)v;
	}
}

/*
 * Compares integers of one type. Returns a number below 0 if a < b, 0 if they are equal, else a
 * number above 0. uint64 needs the unsigned order.
 */
static inline int cpu_compare_int(enum ir_dtype dtype, int64_t a, int64_t b)
{
	if (dtype == IR_U64)
		return (uint64_t)a<(uint64_t)b ? -1 : (uint64_t)a>(uint64_t) b;
	return a < b ? -1 : a > b;
}

/*
 * Returns an index as the gather and scatter operators read it: clamped to [-n, n); n is added to
 * negative ones.
 */
static inline int64_t cpu_load_index(enum ir_dtype dtype, const void *p, int64_t i, int64_t n)
{
	int64_t v = cpu_load_int(dtype, p, i);

	v = v < -n ? -n : v;
	v = v > n - 1 ? n - 1 : v;
	return v < 0 ? v + n : v;
}

/* Return the least and the greatest value of an integer type of at most 32 bits. */
static inline int64_t cpu_int_min(enum ir_dtype dtype)
{
	bool is_signed = dtype == IR_I4 || dtype == IR_I8 || dtype == IR_I32;

	return is_signed ? -(INT64_C(1) << (ir_dtype_bits(dtype) - 1)) : 0;
}

static inline int64_t cpu_int_max(enum ir_dtype dtype)
{
	return cpu_int_min(dtype) + (INT64_C(1) << ir_dtype_bits(dtype)) - 1;
}

/*
 * Returns the offset of the scale and zero point of a quantised element: all elements of a block
 * share them.
 */
static inline int64_t cpu_block_offset(const struct cpu_shape *shape, const struct cpu_shape *scale,
				       int64_t i)
{
	int64_t offset = 0;

	for (uint32_t d = shape->rank; d-- > 0; i /= shape->dim[d])
		offset += i % shape->dim[d] / (shape->dim[d] / scale->dim[d]) * scale->stride[d];
	return offset;
}

/* Returns the source index of a padded position, or -1 for the padding value. */
static inline int64_t cpu_pad_index(enum ir_pad_mode mode, int64_t i, int64_t n)
{
	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case IR_PAD_EDGE:
		return i < 0 ? 0 : n - 1;
	case IR_PAD_REFLECTION:
		return i < 0 ? -i : 2 * (n - 1) - i;
	case IR_PAD_SYMMETRIC:
		return i < 0 ? -1 - i : 2 * n - 1 - i;
	default:
		return -1;
	}
}

static inline void cpu_copy_element(enum ir_dtype dtype, void *dst, int64_t di, const void *src,
				    int64_t si)
{
	size_t n = ir_dtype_bits(dtype) / 8;

	memcpy((char *)dst + (size_t)di * n, (const char *)src + (size_t)si * n, n);
}

#endif
