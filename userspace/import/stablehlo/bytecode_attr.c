// SPDX-License-Identifier: MIT
/* Reads bytecode attributes in the encodings of the dialects VHLO and builtin. */
#include <string.h>

#include "bytecode.h"
#include "vhlo.h"

/* The numbers that VHLO gives its attributes; those of enumerations are in vhlo_enum.c. */
enum vhlo_attr {
	VHLO_ARRAY = 1,
	VHLO_BOOLEAN = 2,
	VHLO_DICTIONARY = 6,
	VHLO_FLOAT = 8,
	VHLO_INTEGER = 9,
	VHLO_OUTPUT_OPERAND_ALIAS = 10,
	VHLO_STRING = 14,
	VHLO_TENSOR = 15,
	VHLO_TYPE = 17,
	VHLO_TYPE_EXTENSIONS = 18,
	VHLO_RESULT_ACCURACY = 20,
	VHLO_SUB_AXIS_INFO = 21,
	VHLO_AXIS_REF = 22,
	VHLO_REPLICA_GROUP_MESH_AXES = 23,
	VHLO_MESH_AXIS = 24,
	VHLO_MESH = 25,
};

static struct shlo_attr *new_attr(struct shlo_bytes *b, enum shlo_attr_kind kind)
{
	return shlo_attr_new(&b->code->reader, kind);
}

static void add(struct shlo_bytes *b, struct shlo_attr *dict, const char *name,
		const struct shlo_attr *attr)
{
	shlo_dict_add(&b->code->reader, dict, name, attr);
}

static const struct shlo_attr *ints(struct shlo_bytes *b)
{
	size_t count;
	const int64_t *numbers = shlo_bytes_ints(b, &count);

	return shlo_attr_ints(&b->code->reader, numbers, count);
}

static const struct shlo_attr *number(struct shlo_bytes *b)
{
	return shlo_attr_number(&b->code->reader, shlo_bytes_signed(b));
}

static const struct shlo_attr *real(struct shlo_bytes *b, const struct shlo_type *type)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_FLOAT);

	if (type->kind != SHLO_TENSOR || !shlo_is_float(type->element))
		shlo_bytes_error(b, "a float cannot have type %s",
				 shlo_type_text(b->code->reader.arena, type));
	attr->type = type;
	attr->real = shlo_bytes_real(b, type->element);
	return attr;
}

static const struct shlo_attr *integer(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_INT);
	unsigned int bits;

	attr->type = shlo_bytes_type(b);
	if (attr->type->kind != SHLO_TENSOR || shlo_class(attr->type->element) > SHLO_UNSIGNED)
		shlo_bytes_error(b, "an integer cannot have type %s",
				 shlo_type_text(b->code->reader.arena, attr->type));
	bits = shlo_elements[attr->type->element].bits;
	attr->number = bits <= 8 ? shlo_bytes_byte(b) : shlo_bytes_signed(b);
	attr->number = shlo_round(attr->type->element, shlo_int(attr->number)).i;
	if (attr->type->element == SHLO_I1)
		attr->kind = SHLO_ATTR_BOOL;
	return attr;
}

static const struct shlo_attr *array(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_ARRAY);
	const struct shlo_attr **items;

	attr->count = shlo_bytes_count(b);
	items = shlo_arena_alloc(b->code->reader.arena, attr->count, sizeof(*items));
	for (size_t i = 0; i < attr->count; i++)
		items[i] = shlo_bytes_attr(b);
	attr->items = items;
	shlo_attr_weigh(&b->code->reader, attr);
	return attr;
}

static const struct shlo_attr *dictionary(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_DICT);

	for (size_t count = shlo_bytes_count(b); count; count--) {
		const struct shlo_attr *name = shlo_bytes_attr(b);

		if (!name->text)
			shlo_bytes_error(b, "the name of an attribute is no string");
		add(b, attr, name->text, shlo_bytes_attr(b));
	}
	shlo_attr_weigh(&b->code->reader, attr);
	return attr;
}

static const struct shlo_attr *string(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_STRING);

	attr->text = shlo_bytes_string(b, &attr->count);
	return attr;
}

static const struct shlo_attr *boolean(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_BOOL);

	attr->number = shlo_bytes_varint(b) != 0;
	return attr;
}

static const struct shlo_attr *type_attr(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_TYPE);

	attr->type = shlo_bytes_type(b);
	return attr;
}

static const struct shlo_attr *elements(struct shlo_bytes *b, const struct shlo_type *type,
					const uint8_t *data, size_t size)
{
	enum { ALL_TRUE = 0xff };
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_DENSE);
	int64_t count;
	static const uint8_t yes = 1;

	if (type->kind != SHLO_TENSOR || !shlo_type_is_static(type))
		shlo_bytes_error(b, "elements cannot have type %s",
				 shlo_type_text(b->code->reader.arena, type));
	attr->type = type;
	count = shlo_type_count(type);
	/*
	 * A single byte 0xff says that all elements are true: it holds up to eight booleans, or
	 * stands for any number of them.
	 */
	if (type->element == SHLO_I1 && size == 1 && count && *data == ALL_TRUE) {
		attr->splat = true;
		attr->data = &yes;
		return attr;
	}
	if (!shlo_dense_fill(b->code->reader.arena, attr, data, size))
		shlo_bytes_error(b, "there are %zu bytes for the elements of %s, which take %zu",
				 size, shlo_type_text(b->code->reader.arena, type),
				 shlo_type_bytes(type));
	return attr;
}

static const struct shlo_attr *tensor(struct shlo_bytes *b)
{
	const struct shlo_type *type = shlo_bytes_type(b);
	struct shlo_bytes blob = shlo_bytes_take(b, shlo_bytes_varint(b));

	return elements(b, type, blob.at, (size_t)(blob.end - blob.at));
}

static const struct shlo_attr *alias(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_DICT);

	add(b, attr, "output_tuple_indices", ints(b));
	add(b, attr, "operand_index", number(b));
	add(b, attr, "operand_tuple_indices", ints(b));
	return attr;
}

static const struct shlo_attr *accuracy(struct shlo_bytes *b)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_DICT);
	const struct shlo_type *f64 = shlo_tensor_type(b->code->reader.arena, SHLO_F64, 0, NULL);

	add(b, attr, "atol", real(b, f64));
	add(b, attr, "rtol", real(b, f64));
	add(b, attr, "ulps", number(b));
	add(b, attr, "mode", shlo_bytes_attr(b));
	return attr;
}

/*
 * Reads an attribute of meshes whose kind is @code; returns it as a dictionary of the members of
 * that kind.
 */
static const struct shlo_attr *mesh_part(struct shlo_bytes *b, enum vhlo_attr code)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_DICT);
	const struct shlo_attr *ids;

	switch (code) {
	case VHLO_SUB_AXIS_INFO:
		add(b, attr, "pre_size", number(b));
		add(b, attr, "size", number(b));
		break;
	case VHLO_AXIS_REF:
		add(b, attr, "name", shlo_bytes_attr(b));
		if (shlo_bytes_varint(b))
			add(b, attr, "sub_axis_info", shlo_bytes_attr(b));
		break;
	case VHLO_REPLICA_GROUP_MESH_AXES:
		add(b, attr, "mesh", shlo_vhlo_symbol(&b->code->reader, shlo_bytes_attr(b)));
		add(b, attr, "axes", shlo_bytes_attr(b));
		break;
	case VHLO_MESH_AXIS:
		add(b, attr, "name", shlo_bytes_attr(b));
		add(b, attr, "size", number(b));
		break;
	default:
		add(b, attr, "axes", shlo_bytes_attr(b));
		ids = shlo_bytes_optional_attr(b);
		if (ids)
			add(b, attr, "device_ids", ids);
	}
	shlo_attr_weigh(&b->code->reader, attr);
	return attr;
}

static const struct shlo_attr *enumerant(struct shlo_bytes *b, uint64_t code)
{
	struct shlo_attr *attr = new_attr(b, SHLO_ATTR_ENUM);
	const char *text;
	uint64_t value;

	if (!shlo_vhlo_enum_name(code))
		shlo_bytes_error(b,
				 "vhlo has no attribute %llu: the file is newer than this reader, "
				 "or damaged",
				 (unsigned long long)code);
	value = shlo_bytes_varint(b);
	text = shlo_vhlo_enum_text(code, value);
	if (!text)
		shlo_bytes_error(b,
				 "%s has no value %llu: the file is newer than this reader, or "
				 "damaged",
				 shlo_vhlo_enum_name(code), (unsigned long long)value);
	attr->text = text;
	return attr;
}

const struct shlo_attr *shlo_vhlo_read_attr(struct shlo_bytes *b)
{
	uint64_t code = shlo_bytes_varint(b);
	struct shlo_attr *attr;

	switch (code) {
	case VHLO_ARRAY:
		return array(b);
	case VHLO_BOOLEAN:
		return boolean(b);
	case VHLO_DICTIONARY:
		return dictionary(b);
	case VHLO_FLOAT:
		return real(b, shlo_bytes_type(b));
	case VHLO_INTEGER:
		return integer(b);
	case VHLO_OUTPUT_OPERAND_ALIAS:
		return alias(b);
	case VHLO_STRING:
		return string(b);
	case VHLO_TENSOR:
		return tensor(b);
	case VHLO_TYPE:
		return type_attr(b);
	case VHLO_TYPE_EXTENSIONS:
		attr = new_attr(b, SHLO_ATTR_DICT);
		add(b, attr, "bounds", ints(b));
		return attr;
	case VHLO_RESULT_ACCURACY:
		return accuracy(b);
	case VHLO_SUB_AXIS_INFO:
	case VHLO_AXIS_REF:
	case VHLO_REPLICA_GROUP_MESH_AXES:
	case VHLO_MESH_AXIS:
	case VHLO_MESH:
		return mesh_part(b, (enum vhlo_attr)code);
	default:
		return enumerant(b, code);
	}
}

/* ---- attributes of MLIR itself */

enum builtin_attr {
	BUILTIN_ARRAY,
	BUILTIN_DICTIONARY,
	BUILTIN_STRING,
	BUILTIN_STRING_TYPED,
	BUILTIN_FLAT_SYMBOL,
	BUILTIN_SYMBOL,
	BUILTIN_TYPE,
	BUILTIN_UNIT,
	BUILTIN_INTEGER,
	BUILTIN_FLOAT,
	BUILTIN_CALL_SITE,
	BUILTIN_FILE_LINE_COLUMN,
	BUILTIN_FUSED,
	BUILTIN_FUSED_METADATA,
	BUILTIN_NAME,
	BUILTIN_UNKNOWN,
	BUILTIN_DENSE_RESOURCE,
	BUILTIN_DENSE_ARRAY,
	BUILTIN_DENSE,
	BUILTIN_FILE_LINE_COLUMN_RANGE = 22,
};

static const struct shlo_attr *symbol(struct shlo_bytes *b, bool nested)
{
	const struct shlo_attr *name = shlo_bytes_attr(b);

	/* Only the last name of a path counts, since all functions are in one module. */
	if (nested)
		for (size_t count = shlo_bytes_count(b); count; count--)
			name = shlo_bytes_attr(b);
	return shlo_vhlo_symbol(&b->code->reader, name);
}

static const struct shlo_attr *dense_resource(struct shlo_bytes *b)
{
	const struct shlo_type *type = shlo_bytes_type(b);
	uint64_t index = shlo_bytes_varint(b);

	if (index >= b->code->blob_count)
		shlo_bytes_error(b, "there is no resource %llu, there are %zu",
				 (unsigned long long)index, b->code->blob_count);
	return elements(b, type, b->code->blobs[index].data, b->code->blobs[index].size);
}

static const struct shlo_attr *dense_array(struct shlo_bytes *b)
{
	const struct shlo_type *element = shlo_bytes_type(b);
	int64_t count = (int64_t)shlo_bytes_varint(b);
	struct shlo_bytes blob = shlo_bytes_take(b, shlo_bytes_varint(b));

	if (element->kind != SHLO_TENSOR || element->rank || count < 0 || count > SHLO_MAX_ELEMENTS)
		shlo_bytes_error(b, "an array must have numbers of one type, at most 2^31 of them");
	return elements(b, shlo_tensor_type(b->code->reader.arena, element->element, 1, &count),
			blob.at, (size_t)(blob.end - blob.at));
}

const struct shlo_attr *shlo_builtin_read_attr(struct shlo_bytes *b)
{
	uint64_t code = shlo_bytes_varint(b);
	const struct shlo_attr *text;

	switch (code) {
	case BUILTIN_ARRAY:
		return array(b);
	case BUILTIN_DICTIONARY:
		return dictionary(b);
	case BUILTIN_STRING:
		return string(b);
	case BUILTIN_STRING_TYPED:
		text = string(b);
		shlo_bytes_type(b);
		return text;
	case BUILTIN_FLAT_SYMBOL:
	case BUILTIN_SYMBOL:
		return symbol(b, code == BUILTIN_SYMBOL);
	case BUILTIN_TYPE:
		return type_attr(b);
	case BUILTIN_INTEGER:
		return integer(b);
	case BUILTIN_FLOAT:
		return real(b, shlo_bytes_type(b));
	case BUILTIN_DENSE_RESOURCE:
		return dense_resource(b);
	case BUILTIN_DENSE_ARRAY:
		return dense_array(b);
	case BUILTIN_DENSE:
		return tensor(b);
	default:
		/* Locations and other attributes that do not affect values. */
		return new_attr(b, SHLO_ATTR_UNIT);
	}
}

/*
 * Sets *location to the line and column of a location, which is nested in @depth others; false: the
 * location has neither.
 */
static bool find_location(struct shlo_bytes *b, struct shlo_location *location, int depth)
{
	struct shlo_bytecode *code = b->code;
	uint64_t index = shlo_bytes_varint(b), kind, numbers = 2;
	struct shlo_bytes bytes;

	if (index >= code->attr_count || depth > SHLO_MAX_DEPTH ||
	    strcmp(code->attrs[index].dialect, "builtin") || !code->attrs[index].custom)
		return false;
	bytes = code->attrs[index].bytes;
	kind = shlo_bytes_varint(&bytes);
	switch (kind) {
	case BUILTIN_FILE_LINE_COLUMN_RANGE:
	case BUILTIN_FILE_LINE_COLUMN:
		shlo_bytes_varint(&bytes); /* skips the name of the file */
		if (kind == BUILTIN_FILE_LINE_COLUMN_RANGE)
			numbers = shlo_bytes_varint(&bytes);
		if (numbers)
			location->line = (unsigned int)shlo_bytes_varint(&bytes);
		if (numbers > 1)
			location->column = (unsigned int)shlo_bytes_varint(&bytes);
		/* MLIR writes 0 when the column is not known. */
		if (!location->column)
			location->column = 1;
		return numbers > 0 && location->line;
	case BUILTIN_NAME:
		shlo_bytes_varint(&bytes);
		return find_location(&bytes, location, depth + 1);
	case BUILTIN_CALL_SITE:
		return find_location(&bytes, location, depth + 1);
	case BUILTIN_FUSED:
	case BUILTIN_FUSED_METADATA:
		return shlo_bytes_count(&bytes) && find_location(&bytes, location, depth + 1);
	default:
		return false;
	}
}

struct shlo_location shlo_bytes_location(struct shlo_bytes *b, struct shlo_location otherwise)
{
	struct shlo_location location = { 0 };

	return find_location(b, &location, 0) ? location : otherwise;
}
