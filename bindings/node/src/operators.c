// SPDX-License-Identifier: MIT
/*
 * The operators. JavaScript passes the converted arguments as one array: operands, arguments,
 * label, then the options in the order of webnn.json. operators.inc, which is generated from that
 * file, has a function for each operator, which reads the array item by item.
 */
#include <stdio.h>
#include <stdlib.h>

#include "addon.h"

/* One more than the most results that the library allows for an operator. */
#define MAX_OUTPUTS 8193

struct block {
	struct block *next;
	max_align_t data[];
};

struct call {
	napi_env env;
	struct object *object;
	WNNGraphBuilder builder;
	char const *name;
	WNNStringView label;
	napi_value arguments;
	uint32_t next;
	/* Whether an exception is pending. */
	bool failed;
	/* Results of operators that have several. */
	WNNOperand *outputs;
	size_t count;
	/* split: the number of equal slices, instead of their sizes. */
	bool equal_parts;
	uint32_t parts;
	napi_value result;
	/* Memory of this call, freed at its end. */
	struct block *blocks;
};

struct operator_entry {
	char const *name;
	void (*run)(struct call *call);
};

/* Returns memory that is freed at the end of the call; NULL with a pending exception. */
static void *keep(struct call *call, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block) {
		call->failed = true;
		throw_status(call->object->addon, WNNStatus_UnknownError,
			     WNN_STR("memory is exhausted"));
		return NULL;
	}
	block->next = call->blocks;
	call->blocks = block;
	return block->data;
}

static void bad_argument(struct call *call, char const *name)
{
	char text[160];

	call->failed = true;
	snprintf(text, sizeof(text),
		 "call the package webnn-npu, not its addon: the argument %s is of another kind "
		 "than is needed",
		 name);
	throw_internal(call->env, text);
}

/*
 * Sets *value to the next argument. Returns false when it is undefined, so that the option keeps
 * its default, or when the call has failed already.
 */
static bool next(struct call *call, char const *name, napi_value *value)
{
	napi_valuetype type = napi_undefined;

	if (call->failed)
		return false;
	if (napi_get_element(call->env, call->arguments, call->next++, value) != napi_ok ||
	    napi_typeof(call->env, *value, &type) != napi_ok)
		bad_argument(call, name);
	return type != napi_undefined;
}

static void read_u32(struct call *call, char const *name, uint32_t *target)
{
	napi_value value;

	if (next(call, name, &value) && napi_get_value_uint32(call->env, value, target) != napi_ok)
		bad_argument(call, name);
}

static void read_enum(struct call *call, char const *name, uint32_t *target)
{
	*target = 0;
	read_u32(call, name, target);
}

static void read_i32(struct call *call, char const *name, int32_t *target)
{
	napi_value value;

	if (next(call, name, &value) && napi_get_value_int32(call->env, value, target) != napi_ok)
		bad_argument(call, name);
}

static void read_f64(struct call *call, char const *name, double *target)
{
	napi_value value;

	if (next(call, name, &value) && napi_get_value_double(call->env, value, target) != napi_ok)
		bad_argument(call, name);
}

static void read_bool(struct call *call, char const *name, WNNBool *target)
{
	napi_value value;
	bool flag = false;

	if (!next(call, name, &value))
		return;
	if (napi_get_value_bool(call->env, value, &flag) != napi_ok)
		bad_argument(call, name);
	*target = flag;
}

static void read_number(struct call *call, char const *name, WNNNumber *target)
{
	napi_value value;

	if (next(call, name, &value) && !get_number(call->env, value, target))
		bad_argument(call, name);
}

static void read_string(struct call *call, char const *name, WNNStringView *target)
{
	napi_value value;
	size_t length;
	char *text;

	if (!next(call, name, &value))
		return;
	if (napi_get_value_string_utf8(call->env, value, NULL, 0, &length) != napi_ok) {
		bad_argument(call, name);
		return;
	}
	text = keep(call, length + 1);
	if (!text)
		return;
	napi_get_value_string_utf8(call->env, value, text, length + 1, &length);
	target->data = text;
	target->length = length;
	/* The label is the only string among the arguments. */
	call->label = *target;
}

static void read_operand(struct call *call, char const *name, WNNOperand *target)
{
	napi_value value;

	if (next(call, name, &value) && !get_operand(call->env, call->object, value, target))
		bad_argument(call, name);
}

/*
 * Reads the length of a list and allocates room for its items. Returns false when the list is
 * undefined, or with a pending exception.
 */
static bool list(struct call *call, char const *name, size_t size, napi_value *value,
		 uint32_t *count, void *items)
{
	void *memory;

	if (!next(call, name, value))
		return false;
	if (napi_get_array_length(call->env, *value, count) != napi_ok) {
		bad_argument(call, name);
		return false;
	}
	memory = keep(call, ((size_t)*count + 1) * size);
	*(void **)items = memory;
	return memory;
}

static void read_u32s(struct call *call, char const *name, WNNUint32Array *target)
{
	napi_value value, item;
	uint32_t count;
	uint32_t *items;

	if (!list(call, name, sizeof(*items), &value, &count, &items))
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (napi_get_element(call->env, value, i, &item) != napi_ok ||
		    napi_get_value_uint32(call->env, item, &items[i]) != napi_ok) {
			bad_argument(call, name);
			return;
		}
	}
	target->count = count;
	target->data = items;
}

static void read_floats(struct call *call, char const *name, WNNFloatArray *target)
{
	napi_value value, item;
	uint32_t count;
	float *items;

	if (!list(call, name, sizeof(*items), &value, &count, &items))
		return;
	for (uint32_t i = 0; i < count; i++) {
		double number;

		if (napi_get_element(call->env, value, i, &item) != napi_ok ||
		    napi_get_value_double(call->env, item, &number) != napi_ok) {
			bad_argument(call, name);
			return;
		}
		items[i] = (float)number;
	}
	target->count = count;
	target->data = items;
}

static void read_activations(struct call *call, char const *name,
			     WNNRecurrentNetworkActivationArray *target)
{
	WNNRecurrentNetworkActivation *items;
	napi_value value, item;
	uint32_t count;

	if (!list(call, name, sizeof(*items), &value, &count, &items))
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number;

		if (napi_get_element(call->env, value, i, &item) != napi_ok ||
		    napi_get_value_uint32(call->env, item, &number) != napi_ok) {
			bad_argument(call, name);
			return;
		}
		items[i] = (WNNRecurrentNetworkActivation)number;
	}
	target->count = count;
	target->data = items;
}

static void read_operands(struct call *call, char const *name, size_t *length, WNNOperand **target)
{
	napi_value value, item;
	WNNOperand *items;
	uint32_t count;

	if (!list(call, name, sizeof(WNNOperand), &value, &count, &items))
		return;
	for (uint32_t i = 0; i < count; i++) {
		items[i] = NULL;
		if (napi_get_element(call->env, value, i, &item) != napi_ok ||
		    !get_operand(call->env, call->object, item, &items[i])) {
			bad_argument(call, name);
			return;
		}
	}
	*length = count;
	*target = items;
}

static void give_operand(struct call *call, WNNOperand operand)
{
	if (operand)
		call->result =
			operand_value(call->env, call->object, operand, call->name, call->label);
	else
		throw_last_error(call->object->addon);
}

static void give_operands(struct call *call, WNNStatus status)
{
	if (status != WNNStatus_Success) {
		throw_last_error(call->object->addon);
		return;
	}
	if (napi_create_array_with_length(call->env, call->count, &call->result) != napi_ok)
		return;
	for (size_t i = 0; i < call->count; i++) {
		napi_value value = operand_value(call->env, call->object, call->outputs[i],
						 call->name, call->label);

		if (!value)
			return;
		napi_set_element(call->env, call->result, (uint32_t)i, value);
	}
}

#include "operators.inc"

/* operator(builder, index, arguments, outputCount, parts): returns the indices of the results. */
napi_value native_operator(napi_env env, napi_callback_info info)
{
	struct call call = { .env = env };
	napi_valuetype type;
	napi_value values[5];
	uint32_t index = 0, count = 0;

	if (!arguments(env, info, 5, values))
		return NULL;
	call.object = object_get(env, values[0], OBJECT_BUILDER);
	if (!call.object)
		return NULL;
	if (napi_get_value_uint32(env, values[1], &index) != napi_ok ||
	    index >= sizeof(operator_table) / sizeof(operator_table[0]) ||
	    napi_get_value_uint32(env, values[3], &count) != napi_ok) {
		throw_internal(
			env,
			"call the package webnn-npu, not its addon: there is no such operator");
		return NULL;
	}
	call.builder = call.object->builder;
	call.name = operator_table[index].name;
	call.arguments = values[2];
	napi_typeof(env, values[4], &type);
	call.equal_parts = type == napi_number;
	if (call.equal_parts)
		napi_get_value_uint32(env, values[4], &call.parts);
	/* The library refuses MAX_OUTPUTS results, and any larger number as well. */
	call.count = count < MAX_OUTPUTS ? count : MAX_OUTPUTS;
	call.outputs = count ? keep(&call, call.count * sizeof(WNNOperand)) : NULL;
	if (!call.failed)
		operator_table[index].run(&call);
	while (call.blocks) {
		struct block *block = call.blocks;

		call.blocks = block->next;
		free(block);
	}
	return call.result;
}
