// SPDX-License-Identifier: MIT
/*
 * Reads types and attributes of VHLO text. They are those of StableHLO with a version:
 * !vhlo.tensor_v1<2x!vhlo.f32_v1>, #vhlo.integer_v1<3 : i64>.
 */
#include <stdlib.h>
#include <string.h>

#include "vhlo.h"

/* Returns the name in front of its version: "name" for "name_v1". */
static const char *without_version(struct shlo_reader *r, const char *word)
{
	const char *version = word ? strrchr(word, '_') : NULL;

	if (!version || version[1] != 'v')
		shlo_read_error(r, "names of vhlo end with a version, such as _v1");
	return shlo_arena_text(r->arena, word, (size_t)(version - word));
}

/* ---- types */

static struct shlo_type *scalar(struct shlo_reader *r, enum shlo_element element)
{
	return (struct shlo_type *)shlo_tensor_type(r->arena, element, 0, NULL);
}

static const struct shlo_type *opaque(struct shlo_reader *r, const char *text)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));

	type->kind = SHLO_OPAQUE;
	type->text = text;
	return type;
}

static const struct shlo_type *read_complex(struct shlo_reader *r)
{
	const struct shlo_type *part;

	shlo_expect(r, "<");
	part = shlo_read_type(r);
	shlo_expect(r, ">");
	if (part->kind != SHLO_TENSOR || part->rank ||
	    (part->element != SHLO_F32 && part->element != SHLO_F64))
		shlo_read_error(r, "complex numbers have parts of f32 or f64");
	return scalar(r, shlo_element_complex(part->element));
}

static const struct shlo_type *read_unranked(struct shlo_reader *r)
{
	const struct shlo_type *element;
	struct shlo_type *type;

	shlo_expect(r, "<");
	element = shlo_read_type(r);
	shlo_expect(r, ">");
	if (element->kind != SHLO_TENSOR || element->rank)
		shlo_read_error(r, "the elements of a tensor cannot have type %s",
				shlo_type_text(r->arena, element));
	type = scalar(r, element->element);
	type->rank = -1;
	type->quant = element->quant;
	return type;
}

static const struct shlo_type *read_function(struct shlo_reader *r)
{
	const struct shlo_type *type;

	shlo_expect(r, "<");
	type = shlo_read_type(r);
	shlo_expect(r, ">");
	if (type->kind != SHLO_FUNCTION)
		shlo_read_error(r, "expected the type of a function here");
	return type;
}

static enum shlo_element read_element(struct shlo_reader *r)
{
	const struct shlo_type *type = shlo_read_type(r);

	if (type->kind != SHLO_TENSOR || type->rank || type->quant)
		shlo_read_error(r, "quantised values are stored as integers and express floats");
	return type->element;
}

static double read_real(struct shlo_reader *r)
{
	char *end;
	double value;

	shlo_skip(r);
	value = strtod(r->at, &end);
	if (end == r->at || end > r->end)
		shlo_read_error(r, "expected a number here");
	r->at = end;
	return value;
}

/*
 * Reads scales to @reals, or when that is NULL, zero points to @ints: "[a, b]", or with @list false
 * a single number. Returns their count.
 */
static size_t read_numbers(struct shlo_reader *r, bool list, double **reals, int64_t **ints)
{
	size_t count = 0;

	if (list)
		shlo_expect(r, "[");
	do {
		if (reals) {
			*reals = shlo_arena_grow(r->arena, *reals, count, sizeof(**reals));
			(*reals)[count++] = read_real(r);
		} else {
			*ints = shlo_arena_grow(r->arena, *ints, count, sizeof(**ints));
			(*ints)[count++] = shlo_read_integer(r);
		}
	} while (list && shlo_take(r, ","));
	if (list)
		shlo_expect(r, "]");
	return count;
}

/*
 * Reads a quantised type, <i8:f32, 3.4E-02:16, -128:127, 1>, or one with scales by axis, <i8:f32,
 * 0, [0.1, 0.2], [0, 0], -128:127, 1>.
 */
static const struct shlo_type *read_quantized(struct shlo_reader *r, bool per_axis)
{
	struct shlo_quant *quant = shlo_arena_alloc(r->arena, 1, sizeof(*quant));
	struct shlo_type *type;
	double *scales = NULL;
	int64_t *zeros = NULL;

	shlo_expect(r, "<");
	quant->storage = read_element(r);
	shlo_expect(r, ":");
	quant->expressed = read_element(r);
	shlo_expect(r, ",");
	if (!shlo_is_integer(quant->storage) || !shlo_is_float(quant->expressed))
		shlo_read_error(r, "quantised values are stored as integers and express floats");
	quant->axis = per_axis ? shlo_read_axis(r) : -1;
	if (per_axis)
		shlo_expect(r, ",");
	quant->count = read_numbers(r, per_axis, &scales, NULL);
	shlo_expect(r, per_axis ? "," : ":");
	if (read_numbers(r, per_axis, NULL, &zeros) != quant->count)
		shlo_read_error(r, "there are not as many zero points as scales");
	shlo_expect(r, ",");
	quant->least = shlo_read_integer(r);
	shlo_expect(r, ":");
	quant->most = shlo_read_integer(r);
	shlo_expect(r, ",");
	/* A flag says whether storage is signed: MLIR writes the storage type i8 for u8, too. */
	if (!(shlo_read_integer(r) & 1))
		quant->storage = shlo_element_unsigned(quant->storage);
	shlo_expect(r, ">");
	quant->scales = scales;
	quant->zeros = zeros;
	type = scalar(r, quant->storage);
	type->quant = quant;
	return type;
}

const struct shlo_type *shlo_read_vhlo_type(struct shlo_reader *r)
{
	const char *name = without_version(r, shlo_read_word(r));
	struct shlo_type *type;
	int element = shlo_element_find(name, strlen(name));

	if (element >= 0)
		return scalar(r, (enum shlo_element)element);
	if (!strcmp(name, "bool"))
		return scalar(r, SHLO_I1);
	if (!strcmp(name, "index"))
		return scalar(r, SHLO_I64);
	if (!strcmp(name, "complex"))
		return read_complex(r);
	if (!strcmp(name, "tensor"))
		return shlo_read_tensor(r);
	if (!strcmp(name, "unranked_tensor"))
		return read_unranked(r);
	if (!strcmp(name, "tuple"))
		return shlo_read_list(r, SHLO_TUPLE);
	if (!strcmp(name, "future"))
		return shlo_read_list(r, SHLO_FUTURE);
	if (!strcmp(name, "func"))
		return read_function(r);
	if (!strcmp(name, "quant") || !strcmp(name, "quant_per_axis"))
		return read_quantized(r, name[5]);
	if (!strcmp(name, "none"))
		return opaque(r, "none");
	if (!strcmp(name, "witness"))
		return opaque(r, "!shape.witness");
	/* VHLO's text spells tf32 "tf31", by an error that it keeps for compatibility. */
	if (!strcmp(name, "tf31") || !strcmp(name, "tf32"))
		return opaque(r, "tf32");
	if (!strcmp(name, "buffer")) {
		const char *text = shlo_type_text(r->arena, shlo_read_tensor(r));

		return opaque(r, shlo_arena_printf(r->arena, "memref%s", text + 6));
	}
	if (strcmp(name, "token"))
		shlo_read_error(r, "vhlo has no type '%s'", name);
	type = shlo_arena_alloc(r->arena, 1, sizeof(*type));
	type->kind = SHLO_TOKEN;
	return type;
}

/* ---- attributes */

/* Reads a dictionary such as {#vhlo.string_v1<"a"> = …, …}. */
static const struct shlo_attr *read_dictionary(struct shlo_reader *r)
{
	struct shlo_attr *dict = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_expect(r, "{");
	while (!shlo_take(r, "}")) {
		const struct shlo_attr *name;

		if (dict->count)
			shlo_expect(r, ",");
		name = shlo_read_attr(r);
		if (!name->text)
			shlo_read_error(r, "the name of an attribute is no string");
		shlo_expect(r, "=");
		shlo_dict_add(r, dict, name->text, shlo_read_attr(r));
	}
	shlo_attr_weigh(r, dict);
	return dict;
}

/* Reads a float with its type; a number that is written as an integer counts as a float. */
static const struct shlo_attr *read_float(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_FLOAT);

	attr->real = read_real(r);
	shlo_expect(r, ":");
	attr->type = shlo_read_type(r);
	return attr;
}

static const struct shlo_attr *read_mesh_axes(struct shlo_reader *r)
{
	struct shlo_attr *dict = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_read_dict(r, dict, '>');
	for (size_t i = 0; i < dict->count; i++)
		if (!strcmp(dict->names[i], "mesh"))
			((const struct shlo_attr **)dict->items)[i] =
				shlo_vhlo_symbol(r, dict->items[i]);
	return dict;
}

const struct shlo_attr *shlo_read_vhlo_attr(struct shlo_reader *r, const char *name)
{
	const struct shlo_attr *value;
	struct shlo_attr *attr;

	/* #vhlo<fft_type_v1 FFT> is an enumeration, other attributes are #vhlo.type_v1<…> */
	if (!strcmp(name, "vhlo")) {
		attr = shlo_attr_new(r, SHLO_ATTR_ENUM);
		shlo_expect(r, "<");
		without_version(r, shlo_read_word(r));
		attr->text = shlo_read_word(r);
		if (!attr->text)
			shlo_read_error(r, "expected a word here");
		shlo_expect(r, ">");
		return attr;
	}
	name = without_version(r, name + strlen("vhlo."));
	shlo_expect(r, "<");
	if (!strcmp(name, "replica_group_mesh_axes"))
		return read_mesh_axes(r);
	if (!strcmp(name, "type_extensions") || !strcmp(name, "output_operand_alias") ||
	    !strcmp(name, "result_accuracy") || !strcmp(name, "sub_axis_info") ||
	    !strcmp(name, "axis_ref") || !strcmp(name, "mesh_axis") || !strcmp(name, "mesh")) {
		attr = shlo_attr_new(r, SHLO_ATTR_DICT);
		shlo_read_dict(r, attr, '>');
		return attr;
	}
	if (!strcmp(name, "dict")) {
		value = read_dictionary(r);
	} else if (!strcmp(name, "float")) {
		value = read_float(r);
	} else if (!strcmp(name, "type")) {
		attr = shlo_attr_new(r, SHLO_ATTR_TYPE);
		attr->type = shlo_read_type(r);
		value = attr;
	} else if (!strcmp(name, "integer") || !strcmp(name, "bool") || !strcmp(name, "string") ||
		   !strcmp(name, "tensor") || !strcmp(name, "array")) {
		value = shlo_read_attr(r);
	} else {
		shlo_read_error(r, "vhlo has no attribute '%s'", name);
	}
	shlo_expect(r, ">");
	return value;
}
