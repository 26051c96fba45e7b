/* SPDX-License-Identifier: MIT */
/* Values of a model during the import: tensors, which may be constant, and sequences of tensors. */
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
/* Returns the name of a type for a message, or its number where it has none. */
const char *onnx_type_text(struct onnx_arena *arena, int type);
unsigned int onnx_type_bits(int type); /* 0: the type has no numbers that constants can hold */
bool onnx_type_is_float(int type);
bool onnx_type_is_unsigned(int type);
/*
 * Returns the WebNN type for elements of a type: the type itself, or the type of its carrier, which
 * holds all numbers of the type except for double. WNNOperandDataType_Undefined: there is neither.
 */
WNNOperandDataType onnx_type_webnn(int type);
/* Whether WebNN lacks the type, but has a carrier for it. */
bool onnx_type_is_carried(int type);
enum onnx_type onnx_type_of(WNNOperandDataType type); /* never bool or a carried type */

struct onnx_shape {
	uint32_t rank;
	int64_t dim[ONNX_MAX_RANK];
};

/* Returns the number of elements; -1: it is beyond 2^47, or a dimension is negative. */
int64_t onnx_shape_elements(const struct onnx_shape *shape);
bool onnx_shape_same(const struct onnx_shape *a, const struct onnx_shape *b);
/* Whether the shape has more elements than a WebNN array may have. */
bool onnx_shape_is_too_big(const struct onnx_shape *shape);
/* Sets *out to the broadcast shape of a and b; false: they cannot be broadcast. */
bool onnx_shape_broadcast(const struct onnx_shape *a, const struct onnx_shape *b,
			  struct onnx_shape *out);
/* Returns a text such as "[2,3]", which lives in the arena. */
const char *onnx_shape_text(struct onnx_arena *arena, const struct onnx_shape *shape);

struct onnx_draw;
struct onnx_value;
/* Returns a text such as "float [2,3]" or "a sequence of 2", which lives in the arena. */
const char *onnx_value_text(struct onnx_arena *arena, const struct onnx_value *value);

struct onnx_value {
	int type; /* enum onnx_type */
	struct onnx_shape shape;
	const void *data; /* elements of a constant, else NULL */
	/*
	 * elements that the program has computed, or NULL: the value becomes an input of the graph
	 * unless a node needs these elements at import
	 */
	const void *computed;
	/* file that holds the data; NULL: it is in the importer's memory */
	struct onnx_file *file;
	/* NULL for constants and random values until a node needs the operand */
	WNNOperand operand;
	const struct onnx_draw *draw; /* how the elements are drawn; NULL: they are not random */
	/* model input that the value was computed from; may be NULL */
	const char *origin;
	/* the input whose given constant makes this value a constant, or NULL */
	const char *frozen;
	/* The value is an input, or would be a constant if the model's inputs were. */
	bool folds;
	bool refused;	    /* the value, or one that it depends on, was refused */
	const char *unsaid; /* reason of a refusal that is not recorded yet, or NULL */
	bool absent;	    /* an optional value that is not there */
	bool given;	    /* the value is an input of the graph */
	/* input of the graph, of which this value is a copy with new rows; NULL: there is none */
	struct onnx_value *updates;
	bool sequence;
	size_t count; /* number of items of a sequence */
	struct onnx_value **items;
	/* the value in WebNN's carrier type, once a node has needed it */
	struct onnx_value *carrier;
};

/* Read and write elements of constants of any type, converted from or to the number. */
double onnx_value_float(const struct onnx_value *value, size_t index);
int64_t onnx_value_int(const struct onnx_value *value, size_t index);
void onnx_put_float(int type, void *data, size_t index, double number);
void onnx_put_int(int type, void *data, size_t index, int64_t number);
/* Copies one element between two arrays of a type. */
void onnx_copy_element(int type, void *to, size_t at, const void *from, size_t from_at);
size_t onnx_data_size(int type, int64_t elements); /* size in bytes */

/* format.c: rounding of floats of few bits. */
enum onnx_rounding { ONNX_NEAREST, ONNX_UP, ONNX_DOWN };

struct onnx_format {
	int mantissa;	 /* bits of the mantissa; 0: powers of two, without a sign */
	int bias;	 /* bias of the exponent */
	int least;	 /* exponent of the least normal number */
	double largest;	 /* largest finite number */
	bool infinities; /* numbers beyond the range become infinite unless they saturate */
	/*
	 * Whether the format has NaN. Without infinities, numbers beyond the range become NaN
	 * unless they saturate.
	 */
	bool nan;
	bool signed_nan; /* the code of -0 is NaN */
};

/* Returns the format of a type; NULL: the type is bfloat16, or no float of few bits. */
const struct onnx_format *onnx_format_of(int type);
double onnx_format_get(int type, unsigned int code);
unsigned int onnx_format_put(int type, double number, bool saturate, enum onnx_rounding rounding);
void onnx_put_rounded(int type, void *data, size_t index, double number, bool saturate,
		      enum onnx_rounding rounding);

struct onnx_model;
/* Fills in a constant from a tensor of the file. After a failure the last error has the reason. */
WNNStatus onnx_value_of_tensor(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__TensorProto *tensor, struct onnx_value *value);

/*
 * Fills in a dense constant from a sparse tensor of the file. After a failure the last error has
 * the reason.
 */
WNNStatus onnx_value_of_sparse(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__SparseTensorProto *tensor, struct onnx_value *value);

#endif
