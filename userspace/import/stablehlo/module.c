// SPDX-License-Identifier: MIT
/* Finds functions and attributes of modules, makes and compares types, and records refusals. */
#include "module.h"

#include <stdio.h>
#include <string.h>

struct shlo_location_text shlo_location_text(struct shlo_location location)
{
	struct shlo_location_text text;

	if (location.line)
		snprintf(text.text, sizeof(text.text), "line %u, column %u", location.line,
			 location.column);
	else
		snprintf(text.text, sizeof(text.text), "byte %u", location.column);
	return text;
}

void shlo_refuse(struct shlo_file *file, struct shlo_location location, const char *op,
		 const char *format, ...)
{
	struct shlo_refusal *refusal;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	file->refusals = shlo_arena_grow(&file->arena, file->refusals, file->refusal_count,
					 sizeof(*file->refusals));
	refusal = &file->refusals[file->refusal_count++];
	refusal->location = location;
	refusal->op = op;
	refusal->reason = shlo_arena_text(&file->arena, text, strlen(text));
}

struct shlo_function *shlo_function_find(const struct shlo_module *module, const char *name)
{
	for (size_t i = 0; i < module->function_count; i++)
		if (!strcmp(module->functions[i]->name, name))
			return module->functions[i];
	return NULL;
}

struct shlo_function *shlo_module_entry(const struct shlo_module *module)
{
	struct shlo_function *main = shlo_function_find(module, "main");

	return main ? main : module->function_count == 1 ? module->functions[0] : NULL;
}

size_t shlo_module_said(const struct shlo_module *module, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(&module->attrs, name);

	return attr && attr->kind == SHLO_ATTR_INT && attr->number > 0 ? (size_t)attr->number : 0;
}

const struct shlo_attr *shlo_attr_find(const struct shlo_attr *dict, const char *name)
{
	for (size_t i = 0; dict && dict->kind == SHLO_ATTR_DICT && i < dict->count; i++)
		if (!strcmp(dict->names[i], name))
			return dict->items[i];
	return NULL;
}

int64_t shlo_attr_int(const struct shlo_op *op, const char *name, int64_t otherwise)
{
	const struct shlo_attr *attr = shlo_attr_find(&op->attrs, name);

	if (attr && attr->kind == SHLO_ATTR_UNIT)
		return 1;
	return attr && (attr->kind == SHLO_ATTR_INT || attr->kind == SHLO_ATTR_BOOL) ?
		       attr->number :
		       otherwise;
}

double shlo_attr_real(const struct shlo_op *op, const char *name, double otherwise)
{
	const struct shlo_attr *attr = shlo_attr_find(&op->attrs, name);

	if (attr && attr->kind == SHLO_ATTR_INT)
		return (double)attr->number;
	return attr && attr->kind == SHLO_ATTR_FLOAT ? attr->real : otherwise;
}

const char *shlo_attr_text(const struct shlo_op *op, const char *name, const char *otherwise)
{
	const struct shlo_attr *attr = shlo_attr_find(&op->attrs, name);

	return attr && attr->text ? attr->text : otherwise;
}

int64_t shlo_ints_of(const struct shlo_attr *attr, int64_t *numbers, size_t room)
{
	int64_t count;

	if (!attr)
		return -1;
	if (attr->kind == SHLO_ATTR_DENSE) {
		if (shlo_class(attr->type->element) > SHLO_UNSIGNED)
			return -1;
		count = shlo_type_count(attr->type);
		for (int64_t i = 0; i < count && (size_t)i < room; i++)
			numbers[i] = shlo_load(attr->type->element, attr->data,
					       attr->splat ? 0 : (size_t)i)
					     .i;
		return count;
	}
	if (attr->kind != SHLO_ATTR_ARRAY)
		return -1;
	for (size_t i = 0; i < attr->count; i++) {
		if (attr->items[i]->kind != SHLO_ATTR_INT && attr->items[i]->kind != SHLO_ATTR_BOOL)
			return -1;
		if (i < room)
			numbers[i] = attr->items[i]->number;
	}
	return (int64_t)attr->count;
}

/* ---- types */

const struct shlo_type *shlo_tensor_type(struct shlo_arena *arena, enum shlo_element element,
					 int rank, const int64_t *dims)
{
	struct shlo_type *type = shlo_arena_alloc(arena, 1, sizeof(*type));
	int64_t *copy = shlo_arena_alloc(arena, rank > 0 ? (size_t)rank : 0, sizeof(*copy));

	if (rank > 0)
		memcpy(copy, dims, (size_t)rank * sizeof(*copy));
	type->kind = SHLO_TENSOR;
	type->element = element;
	type->rank = rank;
	type->dims = copy;
	return type;
}

bool shlo_type_is_static(const struct shlo_type *type)
{
	if (type->kind == SHLO_TUPLE || type->kind == SHLO_FUTURE) {
		for (size_t i = 0; i < type->item_count; i++)
			if (!shlo_type_is_static(type->items[i]))
				return false;
		return true;
	}
	if (type->kind != SHLO_TENSOR)
		return true;
	for (int i = 0; i < type->rank; i++)
		if (type->dims[i] == SHLO_DYNAMIC)
			return false;
	return type->rank >= 0;
}

int64_t shlo_type_count(const struct shlo_type *type)
{
	int64_t count = 1;

	if (type->kind != SHLO_TENSOR || !shlo_type_is_static(type))
		return -1;
	for (int i = 0; i < type->rank; i++)
		if (!type->dims[i])
			return 0;
	for (int i = 0; i < type->rank; i++)
		if (__builtin_mul_overflow(count, type->dims[i], &count) ||
		    count > SHLO_MAX_ELEMENTS)
			return -1;
	return count;
}

size_t shlo_type_bytes(const struct shlo_type *type)
{
	return (size_t)shlo_type_count(type) * shlo_elements[type->element].bytes;
}

static bool same_quant(const struct shlo_quant *a, const struct shlo_quant *b)
{
	if (!a || !b)
		return a == b;
	if (a->storage != b->storage || a->expressed != b->expressed || a->axis != b->axis ||
	    a->count != b->count || a->least != b->least || a->most != b->most)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->scales[i] != b->scales[i] || a->zeros[i] != b->zeros[i])
			return false;
	return true;
}

bool shlo_dims_fit(const struct shlo_type *a, const struct shlo_type *b)
{
	if (a->rank < 0 || b->rank < 0)
		return true;
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != SHLO_DYNAMIC && b->dims[i] != SHLO_DYNAMIC &&
		    a->dims[i] != b->dims[i])
			return false;
	return true;
}

bool shlo_type_fits(const struct shlo_type *a, const struct shlo_type *b)
{
	if (a->kind != b->kind || a->item_count != b->item_count)
		return false;
	for (size_t i = 0; i < a->item_count; i++)
		if (!shlo_type_fits(a->items[i], b->items[i]))
			return false;
	if (a->kind != SHLO_TENSOR)
		return true;
	return a->element == b->element && same_quant(a->quant, b->quant) && shlo_dims_fit(a, b);
}

bool shlo_type_same(const struct shlo_type *a, const struct shlo_type *b)
{
	if (!shlo_type_fits(a, b))
		return false;
	for (size_t i = 0; i < a->item_count; i++)
		if (!shlo_type_same(a->items[i], b->items[i]))
			return false;
	if (a->kind != SHLO_TENSOR)
		return true;
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}
