// SPDX-License-Identifier: MIT
/* Reads bytecode types in the encodings of the dialects VHLO and builtin. */
#include <string.h>

#include "bytecode.h"

/* The numbers that VHLO gives its types. */
enum vhlo_type {
	VHLO_COMPLEX = 1,
	VHLO_FUNCTION = 8,
	VHLO_RANKED_TENSOR = 20,
	VHLO_RANKED_TENSOR_ENCODED = 21,
	VHLO_TOKEN = 22,
	VHLO_TUPLE = 23,
	VHLO_QUANTIZED = 24,
	VHLO_UNRANKED_TENSOR = 25,
	VHLO_WITNESS = 26,
	VHLO_QUANTIZED_PER_AXIS = 30,
	VHLO_NONE = 33,
	VHLO_TF32 = 34,
	VHLO_BUFFER = 41,
	VHLO_FUTURE = 42,
};

static const struct {
	uint64_t code;
	enum shlo_element element;
} vhlo_elements[] = {
	{ 0, SHLO_I1 },
	{ 2, SHLO_BF16 },
	{ 3, SHLO_F16 },
	{ 4, SHLO_F32 },
	{ 5, SHLO_F64 },
	{ 6, SHLO_F8E4M3FN },
	{ 7, SHLO_F8E5M2 },
	{ 9, SHLO_I64 }, /* index */
	{ 10, SHLO_I4 },
	{ 11, SHLO_I8 },
	{ 12, SHLO_I16 },
	{ 13, SHLO_I32 },
	{ 14, SHLO_I64 },
	{ 15, SHLO_UI4 },
	{ 16, SHLO_UI8 },
	{ 17, SHLO_UI16 },
	{ 18, SHLO_UI32 },
	{ 19, SHLO_UI64 },
	{ 27, SHLO_F8E4M3FNUZ },
	{ 28, SHLO_F8E5M2FNUZ },
	{ 29, SHLO_F8E4M3B11FNUZ },
	{ 31, SHLO_I2 },
	{ 32, SHLO_UI2 },
	{ 35, SHLO_F8E4M3 },
	{ 36, SHLO_F8E3M4 },
	{ 37, SHLO_F4E2M1FN },
	{ 38, SHLO_F6E2M3FN },
	{ 39, SHLO_F6E3M2FN },
	{ 40, SHLO_F8E8M0FNU },
};

const int64_t *shlo_bytes_ints(struct shlo_bytes *b, size_t *count)
{
	int64_t *numbers;

	*count = shlo_bytes_count(b);
	numbers = shlo_arena_alloc(b->code->reader.arena, *count, sizeof(*numbers));
	for (size_t i = 0; i < *count; i++)
		numbers[i] = shlo_bytes_signed(b);
	return numbers;
}

double shlo_bytes_real(struct shlo_bytes *b, enum shlo_element element)
{
	/* Floats of up to 8 bits are stored as a byte, wider ones as a signed number. */
	if (shlo_elements[element].bits <= 8)
		return shlo_float_value(element, shlo_bytes_byte(b));
	return shlo_float_value(element, (uint64_t)shlo_bytes_signed(b));
}

/*
 * Reads and returns a type that elements of tensors can have, as a tensor of rank 0; any other type
 * is an error of reading.
 */
static const struct shlo_type *element_type(struct shlo_bytes *b)
{
	const struct shlo_type *type = shlo_bytes_type(b);

	if (type->kind != SHLO_TENSOR || type->rank)
		shlo_bytes_error(b, "elements cannot be of type %s",
				 shlo_type_text(b->code->reader.arena, type));
	return type;
}

static const struct shlo_type *complex_type(struct shlo_bytes *b)
{
	enum shlo_element part = element_type(b)->element;

	if (part != SHLO_F32 && part != SHLO_F64)
		shlo_bytes_error(b, "complex numbers have parts of f32 or f64");
	return shlo_tensor_type(b->code->reader.arena, shlo_element_complex(part), 0, NULL);
}

static const struct shlo_type *ranked(struct shlo_bytes *b, const struct shlo_attr *encoding)
{
	size_t rank;
	const int64_t *numbers = shlo_bytes_ints(b, &rank);
	int64_t dims[SHLO_MAX_RANK], *bounds;
	const struct shlo_type *element = element_type(b);
	struct shlo_type *type;

	if (rank > SHLO_MAX_RANK)
		shlo_bytes_error(b, "a tensor has at most %d dimensions", SHLO_MAX_RANK);
	for (size_t i = 0; i < rank; i++) {
		/*
		 * An open dimension is INT64_MIN; before version 0.10 of StableHLO it could be -1.
		 */
		dims[i] = numbers[i] == INT64_MIN || numbers[i] == -1 ? SHLO_DYNAMIC : numbers[i];
		if (dims[i] != SHLO_DYNAMIC && dims[i] < 0)
			shlo_bytes_error(b, "a dimension cannot be %lld", (long long)dims[i]);
	}
	type = (struct shlo_type *)shlo_tensor_type(b->code->reader.arena, element->element,
						    (int)rank, dims);
	type->quant = element->quant;
	encoding = shlo_attr_find(encoding, "bounds");
	if (encoding) {
		bounds = shlo_arena_alloc(b->code->reader.arena, rank + 1, sizeof(*bounds));
		if (shlo_ints_of(encoding, bounds, rank) != (int64_t)rank)
			shlo_bytes_error(b, "there are not as many bounds as dimensions");
		type->bounds = bounds;
	}
	if (shlo_type_is_static(type) && shlo_type_count(type) < 0)
		shlo_bytes_error(b, "this tensor has more than 2^31 elements");
	return type;
}

static const struct shlo_type *unranked(struct shlo_bytes *b)
{
	const struct shlo_type *element = element_type(b);
	struct shlo_type *type = (struct shlo_type *)shlo_tensor_type(b->code->reader.arena,
								      element->element, -1, NULL);

	type->quant = element->quant;
	return type;
}

static struct shlo_type *new_type(struct shlo_bytes *b, enum shlo_type_kind kind)
{
	struct shlo_type *type = shlo_arena_alloc(b->code->reader.arena, 1, sizeof(*type));

	type->kind = kind;
	return type;
}

static const struct shlo_type *list_type(struct shlo_bytes *b, enum shlo_type_kind kind)
{
	struct shlo_type *type = new_type(b, kind);

	type->items = shlo_bytes_types(b, &type->item_count);
	if (kind == SHLO_FUNCTION)
		type->results = shlo_bytes_types(b, &type->result_count);
	shlo_type_weigh(&b->code->reader, type);
	return type;
}

static const struct shlo_type *opaque_type(struct shlo_bytes *b, const char *text)
{
	struct shlo_type *type = new_type(b, SHLO_OPAQUE);

	type->text = text;
	return type;
}

static const struct shlo_type *buffer_type(struct shlo_bytes *b)
{
	const char *text = shlo_type_text(b->code->reader.arena, ranked(b, NULL));

	/* A memref's text is the text of a tensor with another first word. */
	return opaque_type(b, shlo_arena_printf(b->code->reader.arena, "memref%s",
						text + strlen("tensor")));
}

static const struct shlo_type *quantized(struct shlo_bytes *b, bool per_axis)
{
	struct shlo_arena *arena = b->code->reader.arena;
	struct shlo_quant *quant = shlo_arena_alloc(arena, 1, sizeof(*quant));
	struct shlo_type *type;
	/* MLIR writes the storage type i8 for u8, too. */
	bool is_signed = shlo_bytes_varint(b) & 1;
	double *scales;
	size_t count;

	quant->storage = element_type(b)->element;
	if (!is_signed)
		quant->storage = shlo_element_unsigned(quant->storage);
	quant->expressed = element_type(b)->element;
	if (!shlo_is_integer(quant->storage) || !shlo_is_float(quant->expressed))
		shlo_bytes_error(b, "quantised values are stored as integers and express floats");
	quant->axis = -1;
	if (per_axis) {
		uint64_t axis = shlo_bytes_varint(b);

		if (axis >= SHLO_MAX_RANK)
			shlo_bytes_error(b,
					 "the scales are for dimension %llu; allowed are 0 to %d",
					 (unsigned long long)axis, SHLO_MAX_RANK - 1);
		quant->axis = (int)axis;
		quant->least = shlo_bytes_signed(b);
		quant->most = shlo_bytes_signed(b);
	}
	quant->count = per_axis ? shlo_bytes_count(b) : 1;
	scales = shlo_arena_alloc(arena, quant->count, sizeof(*scales));
	for (size_t i = 0; i < quant->count; i++)
		scales[i] = shlo_bytes_real(b, SHLO_F64);
	quant->scales = scales;
	if (per_axis) {
		quant->zeros = shlo_bytes_ints(b, &count);
		if (count != quant->count || !count)
			shlo_bytes_error(b,
					 "there are %zu scales and %zu zero points: there must be "
					 "equally many, at least one",
					 quant->count, count);
	} else {
		int64_t *zero = shlo_arena_alloc(arena, 1, sizeof(*zero));

		*zero = shlo_bytes_signed(b);
		quant->zeros = zero;
		quant->least = shlo_bytes_signed(b);
		quant->most = shlo_bytes_signed(b);
	}
	type = (struct shlo_type *)shlo_tensor_type(arena, quant->storage, 0, NULL);
	type->quant = quant;
	return type;
}

const struct shlo_type *shlo_vhlo_read_type(struct shlo_bytes *b)
{
	uint64_t code = shlo_bytes_varint(b);

	for (size_t i = 0; i < sizeof(vhlo_elements) / sizeof(vhlo_elements[0]); i++)
		if (vhlo_elements[i].code == code)
			return shlo_tensor_type(b->code->reader.arena, vhlo_elements[i].element, 0,
						NULL);
	switch (code) {
	case VHLO_COMPLEX:
		return complex_type(b);
	case VHLO_FUNCTION:
		return list_type(b, SHLO_FUNCTION);
	case VHLO_RANKED_TENSOR:
		return ranked(b, NULL);
	case VHLO_RANKED_TENSOR_ENCODED:
		return ranked(b, shlo_bytes_attr(b));
	case VHLO_TOKEN:
		return new_type(b, SHLO_TOKEN);
	case VHLO_TUPLE:
		return list_type(b, SHLO_TUPLE);
	case VHLO_FUTURE:
		return list_type(b, SHLO_FUTURE);
	case VHLO_QUANTIZED:
	case VHLO_QUANTIZED_PER_AXIS:
		return quantized(b, code == VHLO_QUANTIZED_PER_AXIS);
	case VHLO_UNRANKED_TENSOR:
		return unranked(b);
	case VHLO_BUFFER:
		return buffer_type(b);
	case VHLO_WITNESS:
		return opaque_type(b, "!shape.witness");
	case VHLO_NONE:
		return opaque_type(b, "none");
	case VHLO_TF32:
		return opaque_type(b, "tf32");
	default:
		shlo_bytes_error(b,
				 "vhlo has no type %llu: the file is newer than this reader, or "
				 "damaged",
				 (unsigned long long)code);
	}
}

/* ---- types of MLIR itself */

enum builtin_type {
	BUILTIN_INTEGER,
	BUILTIN_INDEX,
	BUILTIN_FUNCTION,
	BUILTIN_BF16,
	BUILTIN_F16,
	BUILTIN_F32,
	BUILTIN_F64,
	BUILTIN_F80,
	BUILTIN_F128,
	BUILTIN_COMPLEX,
	BUILTIN_MEMREF,
	BUILTIN_MEMREF_IN_SPACE,
	BUILTIN_NONE,
	BUILTIN_RANKED_TENSOR,
	BUILTIN_RANKED_TENSOR_ENCODED,
	BUILTIN_TUPLE,
	BUILTIN_UNRANKED_TENSOR = 18,
};

static const struct shlo_type *integer_type(struct shlo_bytes *b)
{
	enum { SIGN_BITS = 2, UNSIGNED = 2 };
	uint64_t number = shlo_bytes_varint(b);
	const char *text =
		shlo_arena_printf(b->code->reader.arena, "%s%llu",
				  (number & ((1 << SIGN_BITS) - 1)) == UNSIGNED ? "ui" : "i",
				  (unsigned long long)(number >> SIGN_BITS));
	int element = shlo_element_find(text, strlen(text));

	if (element < 0)
		return opaque_type(b, text);
	return shlo_tensor_type(b->code->reader.arena, (enum shlo_element)element, 0, NULL);
}

const struct shlo_type *shlo_builtin_read_type(struct shlo_bytes *b)
{
	static const enum shlo_element floats[] = { SHLO_BF16, SHLO_F16, SHLO_F32, SHLO_F64 };
	uint64_t code = shlo_bytes_varint(b);

	switch (code) {
	case BUILTIN_INTEGER:
		return integer_type(b);
	case BUILTIN_INDEX:
		return shlo_tensor_type(b->code->reader.arena, SHLO_I64, 0, NULL);
	case BUILTIN_FUNCTION:
		return list_type(b, SHLO_FUNCTION);
	case BUILTIN_BF16:
	case BUILTIN_F16:
	case BUILTIN_F32:
	case BUILTIN_F64:
		return shlo_tensor_type(b->code->reader.arena, floats[code - BUILTIN_BF16], 0,
					NULL);
	case BUILTIN_COMPLEX:
		return complex_type(b);
	case BUILTIN_NONE:
		return opaque_type(b, "none");
	case BUILTIN_RANKED_TENSOR:
		return ranked(b, NULL);
	case BUILTIN_RANKED_TENSOR_ENCODED:
		return ranked(b, shlo_bytes_attr(b));
	case BUILTIN_TUPLE:
		return list_type(b, SHLO_TUPLE);
	case BUILTIN_UNRANKED_TENSOR:
		return unranked(b);
	default:
		shlo_bytes_error(b, "type %llu of MLIR is not read", (unsigned long long)code);
	}
}
