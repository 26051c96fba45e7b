// SPDX-License-Identifier: MIT
/* Reads cases of the conformance data. */
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct case_call *c;
	case_find find;
	void *userdata;
	char *problem;
	size_t problem_size;
};

static int problem(const struct reader *r, const char *what, const char *name)
{
	snprintf(r->problem, r->problem_size, "%s: %s", what, name);
	return -1;
}

static void *keep(struct case_call *c, void *memory)
{
	if (!memory || c->num_memory == sizeof(c->memory) / sizeof(c->memory[0]))
		abort();
	c->memory[c->num_memory++] = memory;
	return memory;
}

static double number_of(const json_t *json)
{
	return json_is_string(json) ? strtod(json_string_value(json), NULL) :
				      json_number_value(json);
}

static WNNNumber mlnumber_of(const json_t *json)
{
	const char *text = json_string_value(json);
	char *end;

	if (json_is_integer(json))
		return WNN_NUMBER_INT64(json_integer_value(json));
	if (!text || strspn(text, "-0123456789") != strlen(text))
		return WNN_NUMBER_DOUBLE(number_of(json));
	if (text[0] == '-')
		return WNN_NUMBER_INT64(strtoll(text, &end, 10));
	return WNN_NUMBER_UINT64(strtoull(text, &end, 10));
}

static int read_array(const struct reader *r, const struct wnn_attribute *attribute,
		      const json_t *json, void *field)
{
	size_t count = json_array_size(json);
	uint32_t *items = keep(r->c, calloc(count + 1, sizeof(*items)));
	WNNUint32Array array = { count, items };

	if (!json_is_array(json))
		return problem(r, "not a list", attribute->name);
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(json, i);
		float f = (float)number_of(item);

		if (attribute->kind == WNN_ATTRIBUTE_F32_ARRAY)
			memcpy(&items[i], &f, sizeof(f));
		else if (attribute->kind == WNN_ATTRIBUTE_ENUM_ARRAY)
			items[i] = wnn_enum_find(attribute->values, json_string_value(item));
		else
			items[i] = (uint32_t)json_integer_value(item);
	}
	/* All array structures have this layout. */
	memcpy(field, &array, sizeof(array));
	return 0;
}

static int read_attribute(const struct reader *r, const struct wnn_attribute *attribute,
			  const json_t *json, char *base)
{
	void *field = base + attribute->offset;
	uint32_t u32;
	double f64;
	WNNNumber number;
	WNNOperand operand;

	switch (attribute->kind) {
	case WNN_ATTRIBUTE_U32:
	case WNN_ATTRIBUTE_I32:
		u32 = (uint32_t)json_integer_value(json);
		memcpy(field, &u32, sizeof(u32));
		return 0;
	case WNN_ATTRIBUTE_BOOL:
		u32 = json_is_true(json);
		memcpy(field, &u32, sizeof(u32));
		return 0;
	case WNN_ATTRIBUTE_F64:
		f64 = number_of(json);
		memcpy(field, &f64, sizeof(f64));
		return 0;
	case WNN_ATTRIBUTE_NUMBER:
		number = mlnumber_of(json);
		memcpy(field, &number, sizeof(number));
		return 0;
	case WNN_ATTRIBUTE_ENUM:
		u32 = wnn_enum_find(attribute->values, json_string_value(json));
		memcpy(field, &u32, sizeof(u32));
		return 0;
	case WNN_ATTRIBUTE_OPERAND:
		operand = r->find(json_string_value(json_object_get(json, "operand")), r->userdata);
		memcpy(field, &operand, sizeof(operand));
		return 0;
	case WNN_ATTRIBUTE_STRING:
		memcpy(field, &(WNNStringView){ json_string_value(json), WNN_STRLEN },
		       sizeof(WNNStringView));
		return 0;
	default:
		return read_array(r, attribute, json, field);
	}
}

static const struct wnn_attribute *find_attribute(const struct wnn_attribute *list, uint32_t count,
						  const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static int read_options(const struct reader *r, const json_t *json)
{
	const struct wnn_options_info *info = wnn_op_info[r->c->call.op].options;
	const char *key;
	json_t *value;

	r->c->call.options = keep(r->c, malloc(info->size));
	memcpy(r->c->call.options, info->defaults, info->size);
	r->c->call.label = &((const WNNOperatorOptions *)r->c->call.options)->label;
	json_object_foreach((json_t *)json, key, value)
	{
		const struct wnn_attribute *member =
			find_attribute(info->members, info->member_count, key);

		if (!member)
			return problem(r, "unknown option", key);
		if (read_attribute(r, member, value, r->c->call.options))
			return -1;
	}
	return 0;
}

static WNNOperand operand_of(const struct reader *r, const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "operand"));

	return name ? r->find(name, r->userdata) : NULL;
}

static int read_operands(const struct reader *r, const json_t *arguments)
{
	const struct wnn_op_info *info = &wnn_op_info[r->c->call.op];
	const json_t *options = json_object_get(arguments, "options");
	const json_t *first = json_object_get(arguments, info->operands[0].name);
	bool list = info->operands[0].flags & WNN_OPERAND_VARIADIC;
	size_t count = list ? json_array_size(first) : info->operand_count;
	WNNOperand *operands = keep(r->c, calloc(count + 1, sizeof(*operands)));

	r->c->call.operands = operands;
	r->c->call.operand_count = count;
	for (size_t i = 0; i < count; i++) {
		const json_t *json =
			list ? json_array_get(first, i) :
			       json_object_get(i < info->positional_count ? arguments : options,
					       info->operands[i].name);

		if (!json && !list && i >= info->positional_count)
			continue;
		operands[i] = operand_of(r, json);
		if (!operands[i])
			return problem(r, "no such operand", info->operands[list ? 0 : i].name);
	}
	return 0;
}

static bool is_operand_name(const struct wnn_op_info *info, const char *name)
{
	for (uint32_t i = 0; i < info->positional_count; i++)
		if (!strcmp(info->operands[i].name, name))
			return true;
	return false;
}

static int read_arguments(const struct reader *r, const json_t *arguments)
{
	const struct wnn_op_info *info = &wnn_op_info[r->c->call.op];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)arguments, key, value)
	{
		const struct wnn_attribute *argument =
			find_attribute(info->arguments, info->argument_count, key);

		if (!strcmp(key, "options") || is_operand_name(info, key))
			continue;
		if (!strcmp(key, "splits") && json_is_integer(value)) {
			r->c->call.overload = 1;
			r->c->call.arguments.split_count = (uint32_t)json_integer_value(value);
			continue;
		}
		if (!argument)
			return problem(r, "unknown argument", key);
		if (read_attribute(r, argument, value, (char *)&r->c->call.arguments))
			return -1;
	}
	return 0;
}

int case_call_make(struct case_call *c, const json_t *op, case_find find, void *userdata,
		   char *text, size_t text_size)
{
	struct reader r = { c, find, userdata, text, text_size };
	const json_t *arguments = json_object_get(op, "arguments");
	const char *name = json_string_value(json_object_get(op, "name"));

	memset(c, 0, sizeof(*c));
	c->call.op = wnn_op_find(name ? name : "");
	if (c->call.op == WNN_OP_COUNT)
		return problem(&r, "unknown operator", name ? name : "(none)");
	c->num_outputs = json_array_size(json_object_get(op, "outputs"));
	if (read_options(&r, json_object_get(arguments, "options")) ||
	    read_operands(&r, arguments) || read_arguments(&r, arguments))
		return -1;
	return 0;
}

void case_call_free(struct case_call *c)
{
	for (size_t i = 0; i < c->num_memory; i++)
		free(c->memory[i]);
	c->num_memory = 0;
}

int case_shape(const json_t *json, WNNUint32Array *shape)
{
	size_t count = json_array_size(json);
	uint32_t *items = calloc(count + 1, sizeof(*items));

	if (!json_is_array(json) || !items) {
		free(items);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = (uint32_t)json_integer_value(json_array_get(json, i));
	*shape = (WNNUint32Array){ count, items };
	return 0;
}
