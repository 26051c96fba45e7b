// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the graph builder: the input is a list of calls, hostile ones included. A graph
 * that could be recorded is built and dispatched on the CPU when it is small.
 *
 * The first byte of a call chooses the function, and its arguments follow. Numbers are small unless
 * a byte of 0xff announces four raw ones. An operand is the number of one that exists; 0xff is
 * NULL, and 0xfe one of another builder. An operator takes a byte for every member of its options:
 * 0 leaves the default.
 */
#include "../random.h"
#include "fuzz.h"

#include <webnn/webnn_npu.h>

#include "api/record.h"
#include "graph/op_table.h"

#define MAX_OPERANDS 48
#define MAX_CALLS    32
#define MAX_LIST     12
#define MAX_TENSORS  64
/* Graphs with larger operands or numbers are recorded but not run. */
#define MAX_ELEMENTS 2048
#define MAX_NUMBER   64

struct fuzz_state {
	struct fuzz_input in;
	WNNGraphBuilder builder;
	WNNOperand operands[MAX_OPERANDS];
	uint32_t count;
	bool is_output[MAX_OPERANDS]; /* @is_output[i]: operand i is the result of an operator */
	uint32_t inputs, outputs;
	bool big;
	/* Arrays and strings that the current call's options and arguments point to. */
	uint32_t lists[16][MAX_LIST];
	char texts[4][MAX_LIST];
	uint32_t used_lists, used_texts;
};

static WNNInstance instance;
static WNNContext context;
/* A second builder, whose operands do not belong to the tested one. */
static WNNGraphBuilder other;
static WNNOperand foreign;

static void open_context(void)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNOperandDescriptor scalar = WNN_OPERAND_DESCRIPTOR_INIT;

	instance = wnnCreateInstance(NULL);
	device.device = WNN_STR("cpu");
	device.threads = 1;
	device.memoryLimit = 256 << 20;
	options.nextInChain = &device.chain;
	FUZZ_CHECK(!wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context),
		   "no context");
	other = wnnContextCreateGraphBuilder(context);
	scalar.dataType = WNNOperandDataType_Float32;
	foreign = wnnGraphBuilderInput(other, WNN_STR("foreign"), &scalar);
	FUZZ_CHECK(foreign, "no operand");
}

/* --- Reading the input --- */

static uint32_t number(struct fuzz_state *s)
{
	uint8_t small = fuzz_u8(&s->in);
	uint32_t value = small == 0xff ? fuzz_u32(&s->in) : small;

	if (value > MAX_NUMBER)
		s->big = true;
	return value;
}

static WNNOperand operand(struct fuzz_state *s)
{
	uint8_t which = fuzz_u8(&s->in);

	if (which == 0xff)
		return NULL;
	if (which == 0xfe)
		return foreign;
	return s->count ? s->operands[which % s->count] : NULL;
}

static WNNUint32Array list(struct fuzz_state *s)
{
	WNNUint32Array array = WNN_UINT32_ARRAY_INIT;
	uint8_t count = fuzz_u8(&s->in);
	uint32_t *items = s->lists[s->used_lists++ % 16];

	array.count = count == 0xff ? MAX_LIST : count % MAX_LIST;
	/* 0xfe makes a list with a count but no data, which the library must refuse. */
	if (count == 0xfe)
		return array;
	for (size_t i = 0; i < array.count; i++)
		items[i] = number(s);
	array.data = items;
	return array;
}

static WNNStringView text(struct fuzz_state *s)
{
	char *bytes = s->texts[s->used_texts++ % 4];
	uint8_t length = fuzz_u8(&s->in) % (MAX_LIST + 1);

	fuzz_bytes(&s->in, bytes, length);
	return (WNNStringView){ bytes, length };
}

static WNNNumber any_number(struct fuzz_state *s)
{
	WNNNumber value = { (WNNNumberKind)(fuzz_u8(&s->in) % 6), 0, 0, 0 };

	fuzz_bytes(&s->in, &value.doubleValue, 8);
	value.int64Value = (int64_t)fuzz_u8(&s->in) - 100;
	value.uint64Value = fuzz_u8(&s->in);
	return value;
}

/* --- Checks of the results of calls --- */

static void check_operand(WNNOperand made)
{
	WNNUint32Array shape = wnnOperandGetShape(made);
	uint64_t elements = 1;

	FUZZ_CHECK(shape.count <= 8, "rank %zu", shape.count);
	FUZZ_CHECK(wnnOperandGetDataType(made) >= WNNOperandDataType_Float32 &&
			   wnnOperandGetDataType(made) <= WNNOperandDataType_Uint4,
		   "data type %d", (int)wnnOperandGetDataType(made));
	for (size_t i = 0; i < shape.count; i++) {
		FUZZ_CHECK(shape.data[i] >= 1 && shape.data[i] <= INT32_MAX, "dimension %u",
			   shape.data[i]);
		elements *= shape.data[i];
		FUZZ_CHECK(elements <= INT32_MAX, "too many elements");
	}
}

static uint64_t count_elements(WNNOperand made)
{
	WNNUint32Array shape = wnnOperandGetShape(made);
	uint64_t elements = 1;

	for (size_t i = 0; i < shape.count; i++)
		elements *= shape.data[i];
	return elements;
}

static void keep(struct fuzz_state *s, WNNOperand made, bool is_output)
{
	if (!made)
		return;
	check_operand(made);
	if (count_elements(made) > MAX_ELEMENTS)
		s->big = true;
	if (s->count == MAX_OPERANDS)
		return;
	s->is_output[s->count] = is_output;
	s->operands[s->count++] = made;
}

/*
 * Checks that a failed call has left a message in the builder, and that its status is one of the
 * two that calls may return.
 */
static void check_error(struct fuzz_state *s, WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	FUZZ_CHECK(status == WNNStatus_TypeError || status == WNNStatus_UnknownError, "status %d",
		   (int)status);
	FUZZ_CHECK(wnnGraphBuilderGetLastError(s->builder, &error) == status, "another status");
	FUZZ_CHECK(error.message.length > 8, "no message");
}

/* --- Calls --- */

static void set_shape(struct fuzz_state *s, WNNOperandDescriptor *descriptor)
{
	*descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	descriptor->dataType = (WNNOperandDataType)(fuzz_u8(&s->in) % 12);
	descriptor->shape = list(s);
}

static void call_input(struct fuzz_state *s)
{
	WNNOperandDescriptor descriptor;
	char name[8];
	WNNOperand made;

	set_shape(s, &descriptor);
	snprintf(name, sizeof(name), "x%u", (unsigned int)s->inputs);
	made = wnnGraphBuilderInput(s->builder, WNN_STR(name), &descriptor);
	if (made)
		s->inputs++;
	else
		check_error(s, wnnGetLastError(NULL));
	keep(s, made, false);
}

static void call_named_input(struct fuzz_state *s)
{
	WNNOperandDescriptor descriptor;
	WNNStringView name = text(s);

	set_shape(s, &descriptor);
	/*
	 * This checks only whether the name is accepted: graphs with such inputs are not
	 * dispatched.
	 */
	if (wnnGraphBuilderInput(s->builder, name, &descriptor))
		s->big = true;
}

static void call_constant(struct fuzz_state *s)
{
	static unsigned char bytes[MAX_ELEMENTS * 8];
	uint32_t random = fuzz_u8(&s->in) + 1, size;
	WNNOperandDescriptor descriptor;
	uint64_t elements = 1;

	set_shape(s, &descriptor);
	for (size_t i = 0; descriptor.shape.data && i < descriptor.shape.count; i++)
		elements *= descriptor.shape.data[i] < 65536 ? descriptor.shape.data[i] : 65536;
	if (elements > MAX_ELEMENTS)
		elements = MAX_ELEMENTS;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(random < 8 ? random : rng_xorshift32(&random));
	size = (uint32_t)elements * (uint32_t)wnnOperandDataTypeGetSize(descriptor.dataType);
	if (descriptor.dataType >= WNNOperandDataType_Int4)
		size = (uint32_t)(elements + 1) / 2;
	keep(s, wnnGraphBuilderConstant(s->builder, &descriptor, bytes, size), false);
}

static void call_number(struct fuzz_state *s)
{
	WNNOperandDataType type = (WNNOperandDataType)(fuzz_u8(&s->in) % 12);

	keep(s, wnnGraphBuilderConstantFromNumber(s->builder, type, any_number(s)), false);
}

static void set_member(struct fuzz_state *s, const struct wnn_attribute *member, void *field)
{
	WNNUint32Array array;
	WNNStringView view;
	WNNNumber value;
	uint32_t word;
	double real;

	switch (member->kind) {
	case WNN_ATTRIBUTE_U32:
	case WNN_ATTRIBUTE_I32:
	case WNN_ATTRIBUTE_BOOL:
	case WNN_ATTRIBUTE_ENUM:
		word = number(s);
		memcpy(field, &word, sizeof(word));
		break;
	case WNN_ATTRIBUTE_F64:
		fuzz_bytes(&s->in, &real, sizeof(real));
		memcpy(field, &real, sizeof(real));
		break;
	case WNN_ATTRIBUTE_NUMBER:
		value = any_number(s);
		memcpy(field, &value, sizeof(value));
		break;
	case WNN_ATTRIBUTE_STRING:
		view = text(s);
		memcpy(field, &view, sizeof(view));
		break;
	case WNN_ATTRIBUTE_U32_ARRAY:
	case WNN_ATTRIBUTE_F32_ARRAY: /* same size as U32: any bits are a float */
	case WNN_ATTRIBUTE_ENUM_ARRAY:
		array = list(s);
		memcpy(field, &array, sizeof(array));
		break;
	case WNN_ATTRIBUTE_OPERAND: /* operands are chosen elsewhere */
		break;
	}
}

static void set_members(struct fuzz_state *s, const struct wnn_attribute *members, uint32_t count,
			void *base, bool always)
{
	for (uint32_t i = 0; i < count; i++)
		if (members[i].kind != WNN_ATTRIBUTE_OPERAND && (always || fuzz_u8(&s->in)))
			set_member(s, &members[i], (char *)base + members[i].offset);
}

static uint32_t choose_operands(struct fuzz_state *s, const struct wnn_op_info *info,
				WNNOperand *operands)
{
	uint32_t count = info->operand_count;

	if (info->operands[0].flags & WNN_OPERAND_VARIADIC) {
		count = fuzz_u8(&s->in) % MAX_LIST;
		for (uint32_t i = 0; i < count; i++)
			operands[i] = operand(s);
		return count;
	}
	for (uint32_t i = 0; i < count; i++)
		operands[i] = operand(s);
	return count;
}

static void call_operator(struct fuzz_state *s)
{
	enum wnn_op op = (enum wnn_op)(fuzz_u8(&s->in) % WNN_OP_COUNT);
	const struct wnn_op_info *info = &wnn_op_info[op];
	_Alignas(max_align_t) char options[256];
	WNNOperand operands[MAX_LIST] = { NULL }, outputs[MAX_LIST];
	struct wnn_op_call call = {
		.op = op,
		.operands = operands,
		.options = options,
		.label = &((WNNOperatorOptions *)(void *)options)->label,
	};
	uint32_t count;
	WNNStatus status;

	memcpy(options, info->options->defaults, info->options->size);
	call.operand_count = choose_operands(s, info, operands);
	set_members(s, info->arguments, info->argument_count, &call.arguments, true);
	set_members(s, info->options->members, info->options->member_count, options, false);
	call.overload = op == WNN_OP_SPLIT && call.arguments.splits.count == 0;
	count = info->returns_list ? fuzz_u8(&s->in) % MAX_LIST : 1;
	status = wnn_builder_record(s->builder, &call, count, outputs);
	if (status)
		check_error(s, status);
	for (uint32_t i = 0; i < count; i++) {
		FUZZ_CHECK(!!outputs[i] == !status, "%s: status %d, output %u %s", info->name,
			   (int)status, (unsigned int)i, outputs[i] ? "is there" : "is not");
		keep(s, outputs[i], true);
	}
}

/* --- Running --- */

static WNNTensor make_tensor(const WNNNamedOperandDescriptor *port, bool writable)
{
	static unsigned char bytes[MAX_ELEMENTS * 8];
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t random = 77;
	WNNTensor tensor;

	descriptor.dataType = port->dataType;
	descriptor.shape = port->shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	FUZZ_CHECK(!wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor),
		   "no tensor");
	for (size_t i = 0; writable && i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)rng_xorshift32(&random);
	if (writable)
		FUZZ_CHECK(!wnnContextWriteTensor(context, tensor, bytes,
						  wnnTensorGetByteLength(tensor)),
			   "no write");
	return tensor;
}

static void bind(WNNNamedOperandDescriptorArray ports, bool writable, WNNNamedTensor *named)
{
	FUZZ_CHECK(ports.count <= MAX_TENSORS, "%zu ports", ports.count);
	for (size_t i = 0; i < ports.count; i++)
		named[i] = (WNNNamedTensor){ ports.data[i].name,
					     make_tensor(&ports.data[i], writable) };
}

static void run(WNNGraph graph)
{
	static unsigned char bytes[MAX_ELEMENTS * 8];
	WNNNamedOperandDescriptorArray in = wnnGraphGetInputs(graph),
				       out = wnnGraphGetOutputs(graph);
	WNNNamedTensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];

	bind(in, true, inputs);
	bind(out, false, outputs);
	FUZZ_CHECK(!wnnContextDispatch(context, graph, in.count, inputs, out.count, outputs),
		   "no dispatch");
	FUZZ_CHECK(!wnnContextWaitIdle(context, WNN_WAIT_FOREVER), "the dispatch failed");
	for (size_t i = 0; i < out.count; i++) {
		size_t size = wnnTensorGetByteLength(outputs[i].tensor);

		FUZZ_CHECK(!wnnContextReadTensorIntoSync(context, outputs[i].tensor, bytes, size,
							 WNN_WAIT_FOREVER),
			   "no read");
		wnnTensorRelease(outputs[i].tensor);
	}
	for (size_t i = 0; i < in.count; i++)
		wnnTensorRelease(inputs[i].tensor);
}

static void build(struct fuzz_state *s)
{
	WNNNamedOperand outputs[MAX_OPERANDS];
	char names[MAX_OPERANDS][8];
	WNNGraph graph = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		if (!s->is_output[i])
			continue;
		snprintf(names[n], sizeof(names[n]), "y%u", (unsigned int)i);
		outputs[n] = (WNNNamedOperand){ WNN_STR(names[n]), s->operands[i] };
		n++;
	}
	if (s->big)
		return;
	if (!n) {
		FUZZ_CHECK(wnnGraphBuilderBuildSync(s->builder, 0, outputs, WNN_WAIT_FOREVER,
						    &graph) == WNNStatus_TypeError,
			   "no outputs");
		return;
	}
	FUZZ_CHECK(!wnnGraphBuilderBuildSync(s->builder, n, outputs, WNN_WAIT_FOREVER, &graph),
		   "no graph");
	run(graph);
	wnnGraphRelease(graph);
	FUZZ_CHECK(!wnnGraphBuilderAbs(s->builder, s->operands[0], NULL) &&
			   wnnGetLastError(NULL) == WNNStatus_InvalidStateError,
		   "it builds twice");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_state s = { .in = { data, size } };

	if (!context)
		open_context();
	s.builder = wnnContextCreateGraphBuilder(context);
	FUZZ_CHECK(s.builder, "no builder");
	for (uint32_t i = 0; i < MAX_CALLS && s.in.left; i++) {
		switch (fuzz_u8(&s.in) % 8) {
		case 0:
			call_input(&s);
			break;
		case 1:
			call_constant(&s);
			break;
		case 2:
			call_number(&s);
			break;
		case 3:
			call_named_input(&s);
			break;
		default:
			call_operator(&s);
			break;
		}
	}
	build(&s);
	wnnGraphBuilderRelease(s.builder);
	return 0;
}
