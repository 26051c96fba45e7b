// SPDX-License-Identifier: MIT
/* Prints attributes; the different forms of one attribute have one text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "vhlo.h"

/* Dictionaries that StableHLO prints as attributes with names of their own. */
static const struct {
	const char *attr, *dialect_name, *members;
} named[] = {
	{ "channel_handle", "channel_handle", "handle type" },
	{ "result_accuracy", "result_accuracy", "atol rtol ulps mode" },
	{ "replica_groups", "replica_group_mesh_axes", "mesh axes" },
	{ "axes", "axis_ref", "name sub_axis_info" },
	{ "mesh", "mesh", "axes device_ids" },
	{ "algorithm", "dot_algorithm",
	  "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count "
	  "rhs_component_count num_primitive_operations allow_imprecise_accumulation" },
	{ "output_operand_aliases", "output_operand_alias",
	  "output_tuple_indices operand_index operand_tuple_indices" },
};

static bool is_one(const struct shlo_type *type, enum shlo_element element)
{
	return !type || (type->kind == SHLO_TENSOR && type->element == element && !type->rank);
}

static void add_real(struct shlo_text *text, const struct shlo_attr *attr)
{
	enum shlo_element element = attr->type && attr->type->kind == SHLO_TENSOR &&
						    shlo_is_float(attr->type->element) ?
					    attr->type->element :
					    SHLO_F64;
	double value = shlo_round(element, shlo_real(attr->real)).re;

	if (isfinite(value)) {
		shlo_text_add_real(text, value);
		if (element == SHLO_F64)
			return;
	} else {
		shlo_text_add(text, "0x%llX", (unsigned long long)shlo_float_bits(element, value));
	}
	shlo_text_add(text, " : %s", shlo_elements[element].text);
}

static void add_number(struct shlo_text *text, enum shlo_element element, struct shlo_num number)
{
	enum shlo_element part = shlo_element_part(element);

	if (shlo_is_complex(element)) {
		shlo_text_add(text, "(");
		add_number(text, part, shlo_real(number.re));
		shlo_text_add(text, ", ");
		add_number(text, part, shlo_real(number.im));
		shlo_text_add(text, ")");
	} else if (element == SHLO_I1) {
		shlo_text_add(text, number.i ? "true" : "false");
	} else if (!shlo_is_float(element)) {
		shlo_text_add(text, shlo_class(element) == SHLO_UNSIGNED ? "%llu" : "%lld",
			      (unsigned long long)number.u);
	} else if (isfinite(number.re)) {
		shlo_text_add_real(text, number.re);
	} else {
		shlo_text_add(text, "0x%llX",
			      (unsigned long long)shlo_float_bits(element, number.re));
	}
}

/*
 * Whether elements are printed as bytes: more than 64 elements that are not booleans, and NaN,
 * whose bits decimal text would lose.
 */
static bool wants_bytes(const struct shlo_attr *attr, int64_t count)
{
	enum shlo_element element = attr->type->element;

	if (count > 64 && element != SHLO_I1)
		return true;
	for (int64_t i = 0; shlo_class(element) >= SHLO_FLOAT && i < count; i++) {
		struct shlo_num number = shlo_load(element, attr->data, (size_t)i);

		if (isnan(number.re) || isnan(number.im))
			return true;
	}
	return false;
}

static void add_nested(struct shlo_text *text, const struct shlo_attr *attr, int level, int64_t *at)
{
	const struct shlo_type *type = attr->type;

	if (level == type->rank) {
		add_number(text, type->element,
			   shlo_load(type->element, attr->data, (size_t)(*at)++));
		return;
	}
	shlo_text_add(text, "[");
	for (int64_t i = 0; i < type->dims[level]; i++) {
		shlo_text_add(text, i ? ", " : "");
		add_nested(text, attr, level + 1, at);
	}
	shlo_text_add(text, "]");
}

static bool all_same(const struct shlo_attr *attr, int64_t count, size_t size)
{
	const char *data = attr->data;

	for (int64_t i = 1; !attr->splat && i < count; i++)
		if (memcmp(data, data + (size_t)i * size, size))
			return false;
	return true;
}

/* Adds bytes as hexadecimal digits: weights are millions of bytes, too many to format each. */
static void add_bytes(struct shlo_text *text, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789ABCDEF";
	char block[1024];
	size_t length = 0;

	for (size_t i = 0; i < count; i++) {
		block[length++] = digits[bytes[i] >> 4];
		block[length++] = digits[bytes[i] & 15];
		if (length == sizeof(block) || i + 1 == count) {
			shlo_text_add(text, "%.*s", (int)length, block);
			length = 0;
		}
	}
}

static void add_dense(struct shlo_text *text, const struct shlo_attr *attr)
{
	const struct shlo_type *type = attr->type;
	int64_t count = shlo_type_count(type), at = 0;
	size_t size = shlo_elements[type->element].bytes;
	bool splat = count > 0 && all_same(attr, count, size);

	shlo_text_add(text, "dense<");
	if (count && wants_bytes(attr, splat ? 1 : count)) {
		shlo_text_add(text, "\"0x");
		add_bytes(text, attr->data, (splat ? 1 : (size_t)count) * size);
		shlo_text_add(text, "\"");
	} else if (splat) {
		add_number(text, type->element, shlo_load(type->element, attr->data, 0));
	} else if (count) {
		add_nested(text, attr, 0, &at);
	}
	shlo_text_add(text, "> : ");
	shlo_text_add_type(text, type);
}

/* ---- numbers in lists */

/*
 * Returns the numbers of an array, or of dense elements of rank 1 or 2, and sets their rows and
 * columns; *rows is -1 for a single row without outer brackets. NULL: it is something else. With
 * @nested, an array of arrays counts as dense elements of rank 2.
 */
static const int64_t *numbers_of(struct shlo_arena *arena, const struct shlo_attr *attr,
				 bool nested, int64_t *rows, int64_t *columns)
{
	int64_t *numbers, count = 0;
	bool dense = attr->kind == SHLO_ATTR_DENSE;

	*rows = -1;
	if (dense && (attr->type->rank < 1 || attr->type->rank > 2 ||
		      attr->type->element != SHLO_I64 || attr->type->quant))
		return NULL;
	if (dense && attr->type->rank == 2)
		*rows = attr->type->dims[0];
	*columns = dense ? attr->type->dims[attr->type->rank - 1] : (int64_t)attr->count;
	if (nested && !dense && attr->count && attr->items[0]->kind == SHLO_ATTR_ARRAY) {
		*rows = (int64_t)attr->count;
		*columns = (int64_t)attr->items[0]->count;
	}
	for (size_t i = 0; !dense && i < attr->count; i++) {
		const struct shlo_attr *item = attr->items[i];

		if (item->kind != (*rows < 0 ? SHLO_ATTR_INT : SHLO_ATTR_ARRAY) ||
		    (*rows >= 0 && (int64_t)item->count != *columns))
			return NULL;
		for (size_t k = 0; *rows >= 0 && k < item->count; k++)
			if (item->items[k]->kind != SHLO_ATTR_INT)
				return NULL;
	}
	count = (*rows < 0 ? 1 : *rows) * *columns;
	numbers = shlo_arena_alloc(arena, (size_t)count + 1, sizeof(*numbers));
	if (dense || *rows < 0) {
		shlo_ints_of(attr, numbers, (size_t)count);
		return numbers;
	}
	for (int64_t i = 0; i < *rows; i++)
		shlo_ints_of(attr->items[i], numbers + i * *columns, (size_t)*columns);
	return numbers;
}

static void add_row(struct shlo_text *text, const int64_t *numbers, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		shlo_text_add(text, "%s%lld", i ? ", " : "", (long long)numbers[i]);
}

/*
 * Prints a list of numbers: a single row as [1, 2] if @bare, else as array<i64: 1, 2>; returns
 * false, and prints nothing, if the attribute is no such list.
 */
static bool add_numbers(struct shlo_text *text, const char *name, const struct shlo_attr *attr,
			bool bare)
{
	int64_t rows, columns;
	const int64_t *numbers =
		numbers_of(text->arena, attr, !strcmp(name, "padding"), &rows, &columns);

	if (!numbers)
		return false;
	if (rows < 0) {
		shlo_text_add(text, bare ? "[" : columns ? "array<i64: " : "array<i64");
		add_row(text, numbers, columns);
		shlo_text_add(text, bare ? "]" : ">");
		return true;
	}
	shlo_text_add(text, "dense<");
	if (rows && columns) {
		for (int64_t i = 0; i < rows; i++) {
			shlo_text_add(text, i ? ", [" : "[[");
			add_row(text, numbers + i * columns, columns);
			shlo_text_add(text, "]");
		}
		shlo_text_add(text, "]");
	}
	shlo_text_add(text, "> : tensor<%lldx%lldxi64>", (long long)rows, (long long)columns);
	return true;
}

static bool add_booleans(struct shlo_text *text, const struct shlo_attr *attr)
{
	bool dense = attr->kind == SHLO_ATTR_DENSE;
	size_t count = dense ? (size_t)shlo_type_count(attr->type) : attr->count;

	if (dense && (attr->type->rank != 1 || attr->type->element != SHLO_I1))
		return false;
	for (size_t i = 0; !dense && i < count; i++)
		if (attr->items[i]->kind != SHLO_ATTR_BOOL)
			return false;
	shlo_text_add(text, count ? "array<i1: " : "array<i1");
	for (size_t i = 0; i < count; i++)
		shlo_text_add(text, "%s%s", i ? ", " : "",
			      (dense ? ((const uint8_t *)attr->data)[attr->splat ? 0 : i] :
				       attr->items[i]->number) ?
				      "true" :
				      "false");
	shlo_text_add(text, ">");
	return true;
}

/* ---- dictionaries */

/*
 * Prints members as "a = 1, b = [2]", in the order of @members; members that are missing or empty
 * are left out, and numbers that are 0, except type.
 */
static void add_members(struct shlo_text *text, const char *op, const struct shlo_attr *dict,
			const char *members)
{
	bool first = true;

	while (*members) {
		size_t length = strcspn(members, " ");
		const char *name = shlo_arena_text(text->arena, members, length);
		const struct shlo_attr *attr = shlo_attr_find(dict, name);

		members += length + (members[length] == ' ');
		if (!attr || (attr->kind == SHLO_ATTR_ARRAY && !attr->count) ||
		    (attr->kind == SHLO_ATTR_DENSE && !shlo_type_count(attr->type)))
			continue;
		if (attr->kind == SHLO_ATTR_INT && !attr->number && strcmp(name, "type"))
			continue;
		shlo_text_add(text, "%s%s = ", first ? "" : ", ", name);
		first = false;
		/* Numbers are printed without a type, and types without quotes. */
		if (attr->kind == SHLO_ATTR_INT)
			shlo_text_add(text, "%lld", (long long)attr->number);
		else if (attr->kind == SHLO_ATTR_ENUM && !shlo_enum_of_attr(name))
			shlo_text_add(text, "%s", attr->text);
		else if (attr->kind == SHLO_ATTR_TYPE && attr->type->kind == SHLO_TENSOR)
			shlo_text_add(text, "%s", shlo_elements[attr->type->element].text);
		else if ((attr->kind != SHLO_ATTR_ARRAY && attr->kind != SHLO_ATTR_DENSE) ||
			 !add_numbers(text, name, attr, true))
			shlo_text_add_attr(text, op, name, attr);
	}
}

static void add_dict(struct shlo_text *text, const char *op, const char *name,
		     const struct shlo_attr *dict)
{
	const char *members = shlo_group_members(op, name);

	if (members) {
		bool scatter = !strcmp(name, "scatter_dimension_numbers");

		shlo_text_add(text, "#stablehlo.%s<",
			      scatter				     ? "scatter" :
			      !strcmp(name, "dot_dimension_numbers") ? "dot" :
			      !strcmp(name, "algorithm")	     ? "dot_algorithm" :
			      strstr(members, "kernel_")	     ? "conv" :
								       "gather");
		shlo_text_add(text, strstr(members, "kernel_") ? "raw " : "");
		add_members(text, op, dict, members);
		shlo_text_add(text, ">");
		return;
	}
	if (!strcmp(name, "sub_axis_info")) {
		const struct shlo_attr *before = shlo_attr_find(dict, "pre_size");
		const struct shlo_attr *size = shlo_attr_find(dict, "size");

		shlo_text_add(text, "(%lld)%lld", before ? (long long)before->number : 0,
			      size ? (long long)size->number : 0);
		return;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(named[i].attr, name)) {
			bool mesh_axis = !strcmp(name, "axes") && shlo_attr_find(dict, "size");

			shlo_text_add(text, "#stablehlo.%s<",
				      mesh_axis ? "mesh_axis" : named[i].dialect_name);
			add_members(text, op, dict, mesh_axis ? "name size" : named[i].members);
			shlo_text_add(text, ">");
			return;
		}
	if (dict->count)
		shlo_text_add_attrs(text, "", "", dict);
	else
		shlo_text_add(text, "{}");
}

void shlo_text_add_attr(struct shlo_text *text, const char *op, const char *name,
			const struct shlo_attr *attr)
{
	switch (attr->kind) {
	case SHLO_ATTR_INT:
		shlo_text_add(text, "%lld", (long long)attr->number);
		if (!is_one(attr->type, SHLO_I64)) {
			shlo_text_add(text, " : ");
			shlo_text_add(text, "%s", shlo_elements[attr->type->element].text);
		}
		return;
	case SHLO_ATTR_FLOAT:
		add_real(text, attr);
		return;
	case SHLO_ATTR_BOOL:
		shlo_text_add(text, attr->number ? "true" : "false");
		return;
	case SHLO_ATTR_STRING:
		shlo_text_add_string(text, attr->text, attr->count);
		return;
	case SHLO_ATTR_SYMBOL:
		shlo_text_add(text, "@");
		shlo_text_add_string(text, attr->text, strlen(attr->text));
		return;
	case SHLO_ATTR_ENUM:
		shlo_text_add(text, "#stablehlo<%s %s>",
			      shlo_enum_of_attr(name) ? shlo_enum_of_attr(name) : name,
			      attr->text ? attr->text : "");
		return;
	case SHLO_ATTR_TYPE:
		shlo_text_add_type(text, attr->type);
		return;
	case SHLO_ATTR_DICT:
		add_dict(text, op, name, attr);
		return;
	case SHLO_ATTR_DENSE:
		/* The elements of a constant are printed with their type. */
		if (!strcmp(name, "value") ||
		    (!add_numbers(text, name, attr, false) && !add_booleans(text, attr)))
			add_dense(text, attr);
		return;
	case SHLO_ATTR_ARRAY:
		if (add_numbers(text, name, attr, false) || add_booleans(text, attr))
			return;
		shlo_text_add(text, "[");
		for (size_t i = 0; i < attr->count; i++) {
			shlo_text_add(text, i ? ", " : "");
			shlo_text_add_attr(text, op, name, attr->items[i]);
		}
		shlo_text_add(text, "]");
		return;
	default:
		shlo_text_add(text, "unit");
	}
}

struct item {
	const char *name;
	const struct shlo_attr *attr;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

void shlo_text_add_attrs(struct shlo_text *text, const char *before, const char *op,
			 const struct shlo_attr *attrs)
{
	struct item *items = shlo_arena_alloc(text->arena, attrs->count + 1, sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < attrs->count; i++)
		if (!shlo_attr_is_default(op, attrs->names[i], attrs->items[i]))
			items[count++] = (struct item){ attrs->names[i], attrs->items[i] };
	if (!count)
		return;
	qsort(items, count, sizeof(*items), compare);
	for (size_t i = 0; i < count; i++) {
		shlo_text_add(text, "%s", i ? ", " : before);
		if (!i)
			shlo_text_add(text, "{");
		if (strcspn(items[i].name, " \"<>{}(),:=") == strlen(items[i].name))
			shlo_text_add(text, "%s", items[i].name);
		else
			shlo_text_add_string(text, items[i].name, strlen(items[i].name));
		if (items[i].attr->kind == SHLO_ATTR_UNIT)
			continue;
		shlo_text_add(text, " = ");
		shlo_text_add_attr(text, op, items[i].name, items[i].attr);
	}
	shlo_text_add(text, "}");
}
