// SPDX-License-Identifier: MIT
/* Graph builders: operands, constants, build. operators.c has the operators. */
#include <stdio.h>
#include <stdlib.h>

#include "addon.h"

bool shape_fits(WNNOperandDataType type, uint32_t const *shape, size_t count)
{
	uint64_t bytes = wnnOperandDataTypeGetSize(type);

	for (size_t i = 0; i < count && bytes <= MAX_TENSOR_BYTES; i++)
		bytes *= shape[i];
	return bytes <= MAX_TENSOR_BYTES;
}

static void throw_too_big(struct object *builder, char const *what, WNNStringView label)
{
	char text[512];
	int shown = label.length < 256 ? (int)label.length : 256, length;

	if (shown)
		length = snprintf(text, sizeof(text),
				  "%s \"%.*s\": the result has more than %d bytes", what, shown,
				  label.data, MAX_TENSOR_BYTES);
	else
		length = snprintf(text, sizeof(text), "%s: the result has more than %d bytes", what,
				  MAX_TENSOR_BYTES);

	throw_status(builder->addon, WNNStatus_TypeError, (WNNStringView){ text, (size_t)length });
}

napi_value operand_value(napi_env env, struct object *builder, WNNOperand operand, char const *what,
			 WNNStringView label)
{
	WNNUint32Array shape = wnnOperandGetShape(operand);
	napi_value value;

	if (!shape_fits(wnnOperandGetDataType(operand), shape.data, shape.count)) {
		throw_too_big(builder, what, label);
		return NULL;
	}
	if (builder->operand_count == builder->operand_capacity) {
		size_t capacity = builder->operand_capacity ? 2 * builder->operand_capacity : 64;
		WNNOperand *operands =
			realloc(builder->operands, capacity * sizeof(builder->operands[0]));

		if (!operands) {
			throw_status(builder->addon, WNNStatus_UnknownError,
				     WNN_STR("memory is exhausted"));
			return NULL;
		}
		builder->operands = operands;
		builder->operand_capacity = capacity;
	}
	builder->operands[builder->operand_count] = operand;
	if (napi_create_uint32(env, (uint32_t)builder->operand_count, &value) != napi_ok)
		return NULL;
	builder->operand_count++;
	return value;
}

static bool get_place(napi_env env, struct object *builder, napi_value value, WNNOperand *operand)
{
	uint32_t place;

	if (napi_get_value_uint32(env, value, &place) != napi_ok ||
	    place >= builder->operand_count) {
		throw_internal(
			env, "call the package webnn-npu, not its addon: the value is no operand");
		return false;
	}
	*operand = builder->operands[place];
	return true;
}

bool get_operand(napi_env env, struct object *builder, napi_value value, WNNOperand *operand)
{
	napi_valuetype type;
	napi_value other, place;
	struct object *foreign;

	napi_typeof(env, value, &type);
	if (type == napi_undefined)
		return true;
	if (type == napi_number)
		return get_place(env, builder, value, operand);
	if (napi_get_element(env, value, 0, &other) != napi_ok ||
	    napi_get_element(env, value, 1, &place) != napi_ok) {
		throw_internal(
			env, "call the package webnn-npu, not its addon: the value is no operand");
		return false;
	}
	foreign = object_get(env, other, OBJECT_BUILDER);
	return foreign && get_place(env, foreign, place, operand);
}

bool get_number(napi_env env, napi_value value, WNNNumber *number)
{
	bool lossless = false;
	napi_valuetype type;

	napi_typeof(env, value, &type);
	if (type == napi_undefined)
		return true;
	if (type == napi_number) {
		number->kind = WNNNumberKind_Double;
		return napi_get_value_double(env, value, &number->doubleValue) == napi_ok;
	}
	/* JavaScript has brought the number into the range of int64 or uint64. */
	number->kind = WNNNumberKind_Int64;
	if (napi_get_value_bigint_int64(env, value, &number->int64Value, &lossless) == napi_ok &&
	    lossless)
		return true;
	number->kind = WNNNumberKind_Uint64;
	if (napi_get_value_bigint_uint64(env, value, &number->uint64Value, &lossless) == napi_ok)
		return true;
	throw_internal(env, "call the package webnn-npu, not its addon: the value is no number");
	return false;
}

/* createBuilder(context): returns a new builder. */
napi_value native_create_builder(napi_env env, napi_callback_info info)
{
	struct object *context;
	WNNGraphBuilder builder;
	napi_value value;

	if (!arguments(env, info, 1, &value))
		return NULL;
	context = object_get(env, value, OBJECT_CONTEXT);
	if (!context)
		return NULL;
	builder = wnnContextCreateGraphBuilder(context->context);
	if (!builder) {
		throw_last_error(context->addon);
		return NULL;
	}
	return object_create(context->addon, OBJECT_BUILDER, builder, 0, NULL);
}

/* Returns the new operand's index, or throws the library's error. */
static napi_value result(napi_env env, struct object *builder, WNNOperand operand, char const *what)
{
	if (operand)
		return operand_value(env, builder, operand, what, WNN_STR(""));
	throw_last_error(builder->addon);
	return NULL;
}

/* input(builder, name, dataType, shape): adds an input and returns its operand. */
napi_value native_input(napi_env env, napi_callback_info info)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNStringView name = WNN_STRING_VIEW_INIT;
	napi_value values[4], value = NULL;
	struct object *builder;
	uint32_t *shape, type = 0;

	if (!arguments(env, info, 4, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (!builder || !get_text(env, values[1], &name))
		return NULL;
	if (get_u32s(env, values[3], &shape, &descriptor.shape.count)) {
		napi_get_value_uint32(env, values[2], &type);
		descriptor.dataType = (WNNOperandDataType)type;
		descriptor.shape.data = shape;
		value = result(env, builder,
			       wnnGraphBuilderInput(builder->builder, name, &descriptor), "input");
		free(shape);
	}
	free((void *)name.data);
	return value;
}

/* constant(builder, dataType, shape, bytes): adds a constant and returns its operand. */
napi_value native_constant(napi_env env, napi_callback_info info)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct object *builder;
	WNNOperand operand;
	napi_value values[4];
	uint32_t *shape, type = 0;
	int64_t total;
	void *data;
	size_t size;

	if (!arguments(env, info, 4, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (!builder || !get_bytes(env, values[3], &data, &size) ||
	    !get_u32s(env, values[2], &shape, &descriptor.shape.count))
		return NULL;
	napi_get_value_uint32(env, values[1], &type);
	descriptor.dataType = (WNNOperandDataType)type;
	descriptor.shape.data = shape;
	operand = wnnGraphBuilderConstant(builder->builder, &descriptor, size ? data : "", size);
	free(shape);
	if (operand) {
		builder->bytes += (int64_t)size;
		napi_adjust_external_memory(env, (int64_t)size, &total);
	}
	return result(env, builder, operand, "constant");
}

/* constantTensor(builder, tensor): adds the tensor as a constant and returns its operand. */
napi_value native_constant_tensor(napi_env env, napi_callback_info info)
{
	struct object *builder, *tensor;
	napi_value values[2];

	if (!arguments(env, info, 2, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	tensor = builder ? object_get(env, values[1], OBJECT_TENSOR) : NULL;
	if (!tensor)
		return NULL;
	return result(env, builder,
		      wnnGraphBuilderConstantFromTensor(builder->builder, tensor->tensor),
		      "constant");
}

/* constantNumber(builder, dataType, value): adds a scalar constant and returns its operand. */
napi_value native_constant_number(napi_env env, napi_callback_info info)
{
	WNNNumber number = WNN_NUMBER_INIT;
	struct object *builder;
	napi_value values[3];
	uint32_t type = 0;

	if (!arguments(env, info, 3, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (!builder || !get_number(env, values[2], &number))
		return NULL;
	napi_get_value_uint32(env, values[1], &type);
	return result(env, builder,
		      wnnGraphBuilderConstantFromNumber(builder->builder, (WNNOperandDataType)type,
							number),
		      "constant");
}

/* updateInput(builder, input, output): declares that the output updates the input in place. */
napi_value native_update_input(napi_env env, napi_callback_info info)
{
	WNNOperand input = NULL, output = NULL;
	struct object *builder;
	napi_value values[3];

	if (!arguments(env, info, 3, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (builder && get_operand(env, builder, values[1], &input) &&
	    get_operand(env, builder, values[2], &output) &&
	    wnnGraphBuilderUpdateInput(builder->builder, input, output) != WNNStatus_Success)
		throw_last_error(builder->addon);
	return NULL;
}

/* operandInfo(builder, operand): returns an array of the data type and then the dimensions. */
napi_value native_operand_info(napi_env env, napi_callback_info info)
{
	struct object *builder;
	WNNUint32Array shape;
	WNNOperand operand;
	napi_value values[2], list, value;

	if (!arguments(env, info, 2, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (!builder || !get_place(env, builder, values[1], &operand))
		return NULL;
	shape = wnnOperandGetShape(operand);
	if (napi_create_array_with_length(env, shape.count + 1, &list) != napi_ok)
		return NULL;
	napi_create_uint32(env, wnnOperandGetDataType(operand), &value);
	napi_set_element(env, list, 0, value);
	for (size_t i = 0; i < shape.count; i++) {
		napi_create_uint32(env, shape.data[i], &value);
		napi_set_element(env, list, (uint32_t)i + 1, value);
	}
	return list;
}

static void on_graph(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
		     void *userdata2)
{
	struct request *request = userdata1;
	napi_handle_scope scope;
	napi_value value = NULL;

	(void)userdata2;
	if (!request_begin(request, &scope)) {
		wnnGraphRelease(graph);
		request_free(request);
		return;
	}
	/* request->size has the bytes of the constants, which the graph holds from now on. */
	if (status == WNNStatus_Success)
		value = object_create(request->addon, OBJECT_GRAPH, graph, (int64_t)request->size,
				      NULL);
	request_end(request, scope, status, message, value);
}

static void free_named(WNNNamedOperand *named, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((void *)named[i].name.data);
	free(named);
}

static void start_build(struct object *builder, WNNNamedOperand const *named, size_t count,
			napi_value done)
{
	WNNBuildCallbackInfo callback = WNN_BUILD_CALLBACK_INFO_INIT;
	struct request *request = request_create(builder->addon, done);

	if (!request)
		return;
	request->size = (size_t)builder->bytes;
	callback.callback = on_graph;
	callback.userdata1 = request;
	request_started(request, wnnGraphBuilderBuild(builder->builder, count, named, callback));
}

/* build(builder, names, operands, done): starts a build with these outputs; done gets the graph. */
napi_value native_build(napi_env env, napi_callback_info info)
{
	struct object *builder;
	WNNNamedOperand *named;
	napi_value values[4];
	uint32_t count, done = 0;

	if (!arguments(env, info, 4, values))
		return NULL;
	builder = object_get(env, values[0], OBJECT_BUILDER);
	if (!builder || napi_get_array_length(env, values[1], &count) != napi_ok)
		return NULL;
	named = calloc((size_t)count + 1, sizeof(*named));
	if (!named) {
		throw_status(builder->addon, WNNStatus_UnknownError,
			     WNN_STR("build: memory is exhausted"));
		return NULL;
	}
	for (; done < count; done++) {
		napi_value name, operand;

		if (napi_get_element(env, values[1], done, &name) != napi_ok ||
		    napi_get_element(env, values[2], done, &operand) != napi_ok ||
		    !get_text(env, name, &named[done].name) ||
		    !get_operand(env, builder, operand, &named[done].operand))
			break;
	}
	if (done == count)
		start_build(builder, named, count, values[3]);
	free_named(named, count);
	return NULL;
}
