/* SPDX-License-Identifier: MIT */
/* Values of a model while it is imported: tensors, which may be constant, and lists of them. */
#ifndef ONNX_VALUE_H
#define ONNX_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <webnn/webnn.h>

#include "file.h"
#include "memory.h"
#include "onnx.pb-c.h"

#define ONNX_MAX_RANK 8

/* Element types: the numbers of TensorProto.DataType. */
enum onnx_type {
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_BFLOAT16 = 16,
	ONNX_FLOAT8E4M3FN = 17,
	ONNX_FLOAT8E4M3FNUZ = 18,
	ONNX_FLOAT8E5M2 = 19,
	ONNX_FLOAT8E5M2FNUZ = 20,
	ONNX_UINT4 = 21,
	ONNX_INT4 = 22,
	ONNX_FLOAT4E2M1 = 23,
	ONNX_FLOAT8E8M0 = 24,
	ONNX_UINT2 = 25,
	ONNX_INT2 = 26,
	ONNX_FLOAT6E2M3 = 27,
	ONNX_FLOAT6E3M2 = 28,
};

const char *onnx_type_name(int type);
unsigned int onnx_type_bits(int type); /* 0: not a type of numbers that are kept as constants */
bool onnx_type_is_float(int type);
bool onnx_type_is_unsigned(int type);
/*
 * The type of WebNN whose elements stand for those of a type: its own one, or the carrier of a type
 * that WebNN has not, which holds all its numbers, but for those of double. Undefined: there is none.
 */
WNNOperandDataType onnx_type_webnn(int type);
bool onnx_type_is_carried(int type);		      /* WebNN has it not, but a carrier */
enum onnx_type onnx_type_of(WNNOperandDataType type); /* never bool or a carried type */

struct onnx_shape {
	uint32_t rank;
	int64_t dim[ONNX_MAX_RANK];
};

/* Number of elements; -1 when it is beyond 2^47. */
int64_t onnx_shape_elements(const struct onnx_shape *shape);
bool onnx_shape_same(const struct onnx_shape *a, const struct onnx_shape *b);
/* Whether it has more elements than an array of WebNN may have. */
bool onnx_shape_is_too_big(const struct onnx_shape *shape);
/* How two shapes are broadcast; false when they cannot be. */
bool onnx_shape_broadcast(const struct onnx_shape *a, const struct onnx_shape *b,
			  struct onnx_shape *out);
/* "[2,3]"; lives in the arena. */
const char *onnx_shape_text(struct onnx_arena *arena, const struct onnx_shape *shape);

struct onnx_draw;
struct onnx_value;
/* "float [2,3]" or "a sequence of 2"; lives in the arena. */
const char *onnx_value_text(struct onnx_arena *arena, const struct onnx_value *value);

struct onnx_value {
	int type; /* enum onnx_type */
	struct onnx_shape shape;
	const void *data;	      /* elements of a constant, else NULL */
	struct onnx_file *file;	      /* where they are; NULL: in the importer's memory */
	WNNOperand operand;	      /* NULL at first for a constant, and for what is drawn */
	const struct onnx_draw *draw; /* how it is drawn, else NULL */
	const char *origin;	      /* input of the model that it was made of; may be NULL */
	const char *frozen; /* an input that was made a constant, where it is one because of it */
	bool refused;	    /* what it depends on was refused */
	const char *unsaid; /* the reason, where no refusal was recorded yet */
	bool absent;	    /* an optional value that is not there */
	bool given;	    /* an input of the graph */
	bool sequence;
	size_t count; /* of a sequence */
	struct onnx_value **items;
	struct onnx_value *carrier; /* the same in the type of WebNN, once it was needed */
};

/* Elements of constants, as a number of either kind, whatever their type. */
double onnx_value_float(const struct onnx_value *value, size_t index);
int64_t onnx_value_int(const struct onnx_value *value, size_t index);
void onnx_put_float(int type, void *data, size_t index, double number);
void onnx_put_int(int type, void *data, size_t index, int64_t number);
/* Copies one element between two lists of the type. */
void onnx_copy_element(int type, void *to, size_t at, const void *from, size_t from_at);
size_t onnx_data_size(int type, int64_t elements); /* bytes */

/* format.c: how floats of few bits are rounded. */
enum onnx_rounding { ONNX_NEAREST, ONNX_UP, ONNX_DOWN };

struct onnx_format {
	int mantissa;	 /* bits of it; 0: only powers of two, without a sign */
	int bias;	 /* of the exponent */
	int least;	 /* exponent of the least normal number */
	double largest;	 /* finite number */
	bool infinities; /* what is too big becomes infinite where it does not saturate */
	bool nan;	 /* and else NaN, if there is one */
	bool signed_nan; /* NaN is what -0 would be */
};

const struct onnx_format *onnx_format_of(int type); /* NULL: no float of few bits, or bfloat16 */
double onnx_format_get(int type, unsigned int code);
unsigned int onnx_format_put(int type, double number, bool saturate, enum onnx_rounding rounding);
void onnx_put_rounded(int type, void *data, size_t index, double number, bool saturate,
		      enum onnx_rounding rounding);

struct onnx_model;
/* Makes a constant of a tensor of the file. The last error says why not. */
WNNStatus onnx_value_of_tensor(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__TensorProto *tensor, struct onnx_value *value);

/* Makes a dense value of a sparse tensor. */
WNNStatus onnx_value_of_sparse(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__SparseTensorProto *tensor, struct onnx_value *value);

#endif
