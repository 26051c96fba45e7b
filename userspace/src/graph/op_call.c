// SPDX-License-Identifier: MIT
/*
 * The checks that all operators have in common; they know the operators only from the table
 * (op_table.h).
 */
#include "graph/op_call.h"

#include <stdio.h>
#include <string.h>

#include "util/printable.h"

#define NAME_SIZE 160

const char *wnn_op_call_name(const struct wnn_op_call *call, char *buffer, size_t size)
{
	const WNNStringView *label = call->label;
	const char *op = wnn_op_info[call->op].name;
	char text[96];
	size_t length = 0;

	if (label->data)
		length = label->length == WNN_STRLEN ? strlen(label->data) : label->length;
	if (wnn_text_printable(text, sizeof(text), label->data, length))
		snprintf(buffer, size, "%s \"%s\"", op, text);
	else
		snprintf(buffer, size, "%s", op);
	return buffer;
}

static int check_operands(const struct wnn_op_call *call, const char *name, struct wnn_error *err)
{
	const struct wnn_op_info *info = &wnn_op_info[call->op];
	const struct wnn_op_operand *first = &info->operands[0];

	if (first->flags & WNN_OPERAND_VARIADIC) {
		if (call->operand_count && !call->operands)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "%s: %s is NULL, but has %zu items", name, first->name,
					     call->operand_count);
		for (size_t i = 0; i < call->operand_count; i++)
			if (!call->operands[i])
				return wnn_error_missing(err, "%s: operand %s[%zu] is NULL", name,
							 first->name, i);
		return 0;
	}
	for (uint32_t i = 0; i < info->positional_count; i++)
		if (!call->operands[i])
			return wnn_error_missing(err, "%s: operand %s is NULL", name,
						 info->operands[i].name);
	return 0;
}

/* Sets an error for an enumerator; @item: its place in a list, such as "[1]", or "". */
static int bad_value(const struct wnn_attribute *attribute, const char *item, uint32_t value,
		     const char *name, const char *where, struct wnn_error *err)
{
	return wnn_error_set(err, WNN_TYPE_ERROR, "%s: %s%s%s is %u, which is no value of %s", name,
			     where, attribute->name, item, (unsigned int)value,
			     attribute->values->type);
}

static int check_enum(const struct wnn_attribute *attribute, void *field, const char *name,
		      const char *where, struct wnn_error *err)
{
	uint32_t value;

	memcpy(&value, field, sizeof(value));
	if (!value && attribute->undefined) {
		memcpy(field, &attribute->undefined, sizeof(value));
		return 0;
	}
	if (!wnn_enum_name(attribute->values, value))
		return bad_value(attribute, "", value, name, where, err);
	return 0;
}

/* The layout of all array structs of the API; only the type of the elements differs. */
struct any_array {
	size_t count;
	const void *data;
};

_Static_assert(sizeof(struct any_array) == sizeof(WNNUint32Array) &&
		       sizeof(struct any_array) == sizeof(WNNFloatArray) &&
		       sizeof(struct any_array) == sizeof(WNNRecurrentNetworkActivationArray) &&
		       offsetof(struct any_array, data) == offsetof(WNNUint32Array, data),
	       "arrays of the API differ in layout");

static int check_array(const struct wnn_attribute *attribute, const void *field, const char *name,
		       const char *where, struct wnn_error *err)
{
	struct any_array array;
	char item[32];

	memcpy(&array, field, sizeof(array));
	if (array.count && !array.data)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: %s%s has %zu items, but its data is NULL", name, where,
				     attribute->name, array.count);
	if (attribute->kind != WNN_ATTRIBUTE_ENUM_ARRAY)
		return 0;
	for (size_t i = 0; i < array.count; i++) {
		uint32_t value;

		memcpy(&value, (const char *)array.data + i * sizeof(value), sizeof(value));
		if (wnn_enum_name(attribute->values, value))
			continue;
		snprintf(item, sizeof(item), "[%zu]", i);
		return bad_value(attribute, item, value, name, where, err);
	}
	return 0;
}

static int check_number(const struct wnn_attribute *attribute, const void *field, const char *name,
			const char *where, struct wnn_error *err)
{
	WNNNumber number;

	memcpy(&number, field, sizeof(number));
	if (number.kind != WNNNumberKind_None && !wnn_enum_name(&wnn_enum_number_kind, number.kind))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the kind of %s%s is %u, which is no value of %s", name,
				     where, attribute->name, (unsigned int)number.kind,
				     wnn_enum_number_kind.type);
	return 0;
}

static int check_attributes(const struct wnn_attribute *attributes, uint32_t count, void *base,
			    const char *name, const char *where, struct wnn_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct wnn_attribute *attribute = &attributes[i];
		void *field = (char *)base + attribute->offset;
		int ret = 0;

		switch (attribute->kind) {
		case WNN_ATTRIBUTE_ENUM:
			ret = check_enum(attribute, field, name, where, err);
			break;
		case WNN_ATTRIBUTE_U32_ARRAY:
		case WNN_ATTRIBUTE_F32_ARRAY:
		case WNN_ATTRIBUTE_ENUM_ARRAY:
			ret = check_array(attribute, field, name, where, err);
			break;
		case WNN_ATTRIBUTE_NUMBER:
			ret = check_number(attribute, field, name, where, err);
			break;
		default: /* all values are allowed */
			break;
		}
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Returns the first struct of a chain that is not the one struct which the operator knows, once;
 * NULL: there is none.
 */
static const WNNChainedStruct *find_unknown(const struct wnn_op_info *info,
					    const WNNChainedStruct *chain)
{
	return chain && info->details && chain->sType == info->details ? chain->next : chain;
}

int wnn_op_call_check(struct wnn_op_call *call, struct wnn_error *err)
{
	const struct wnn_op_info *info = &wnn_op_info[call->op];
	const WNNChainedStruct *unknown =
		find_unknown(info, ((const WNNOperatorOptions *)call->options)->nextInChain);
	char name[NAME_SIZE];

	wnn_op_call_name(call, name, sizeof(name));
	if (check_operands(call, name, err))
		return -1;
	if (unknown)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"%s: the chain of %s holds a struct of sType %u that is not known "
			"for this operator, or given twice",
			name, info->options->type, (unsigned int)unknown->sType);
	if (check_attributes(info->arguments, info->argument_count, &call->arguments, name, "",
			     err))
		return -1;
	return check_attributes(info->options->members, info->options->member_count, call->options,
				name, "options.", err);
}
