// SPDX-License-Identifier: MIT
/* Graph builders: creates and releases them, makes inputs and constants. */
#include "api/builder.h"

#include <string.h>

#include "api/lend.h"
#include "api/record.h"
#include "api/tensor.h"
#include "util/malloc.h"

void builder_note_error(WNNGraphBuilder builder, struct wnn_error *err)
{
	struct wnn_error short_one = *err;

	/* `cause` keeps the first error, because later ones may be consequences of it. */
	if (!err->missing && !builder->cause.status)
		builder->cause = *err;
	else if (err->missing && builder->cause.status)
		wnn_error_set(err, WNN_TYPE_ERROR, "%s, perhaps because of an earlier error: %s",
			      short_one.message, builder->cause.message);
	builder->last_error = *err;
}

WNNStatus builder_error(WNNGraphBuilder builder, struct wnn_error *err)
{
	builder_note_error(builder, err);
	return context_error(builder->context, err);
}

static bool is_lost(void *userdata)
{
	return atomic_load(&((WNNContext)userdata)->lost);
}

static WNNGraphBuilder make_builder(WNNContext context, struct wnn_error *err)
{
	struct wnn_builder_config config = {
		.limits = context->limits,
		.lost = is_lost,
		.folds = !context->config.no_folding,
		.userdata = context,
	};
	WNNGraphBuilder builder;

	if (instance_permits(context->instance, WNNPermissionAction_CreateGraphBuilder, err) ||
	    context_check_lost(context, "wnnContextCreateGraphBuilder", err))
		return NULL;
	builder = wnn_calloc(1, sizeof(*builder));
	if (!builder) {
		wnn_error_nomem(err, "a graph builder");
		return NULL;
	}
	/* With other policies the CPU runs what the NPU cannot, so that nodes need no check. */
	if (context->config.policy == WNNPlacementPolicy_NPUOnly)
		config.place = context_place;
	config.owner = builder;
	builder->builder = wnn_builder_create(&config, err);
	if (!builder->builder) {
		wnn_free(builder);
		return NULL;
	}
	atomic_init(&builder->refs, 1);
	builder->context = context;
	context_get(context);
	return builder;
}

WNNGraphBuilder wnnContextCreateGraphBuilder(WNNContext context)
{
	struct wnn_error err = { 0 };
	struct debug_location location;
	WNNGraphBuilder builder;

	if (!api_check(context, "wnnContextCreateGraphBuilder", "context"))
		return NULL;
	builder = make_builder(context, &err);
	if (!builder)
		context_error(context, &err);
	if (builder && debug_on) {
		debug_here(&location, "wnnContextCreateGraphBuilder");
		debug_made(DEBUG_GRAPH_BUILDER, builder, NULL, &location);
	}
	return builder;
}

WNNStatus wnnGraphBuilderGetDeviceInfo(WNNGraphBuilder builder, WNNDeviceInfo *info)
{
	if (!api_check(builder, "wnnGraphBuilderGetDeviceInfo", "builder") ||
	    !api_check(info, "wnnGraphBuilderGetDeviceInfo", "info"))
		return wnnGetLastError(NULL);
	return wnnContextGetDeviceInfo(builder->context, info);
}

void builder_get(WNNGraphBuilder builder)
{
	if (builder && !api_forked())
		atomic_fetch_add(&builder->refs, 1);
}

void builder_put(WNNGraphBuilder builder)
{
	WNNContext context;

	if (!builder || api_forked() || atomic_fetch_sub(&builder->refs, 1) != 1)
		return;
	context = builder->context;
	if (debug_on)
		debug_owner_gone(builder);
	wnn_builder_destroy(builder->builder);
	object_label_exit(&builder->label);
	api_free_object(builder);
	context_put(context);
}

void operand_get(WNNOperand operand)
{
	if (operand)
		builder_get(wnn_builder_owner(operand->builder));
}

void operand_put(WNNOperand operand)
{
	if (operand)
		builder_put(wnn_builder_owner(operand->builder));
}

WNNOperandDataType wnnOperandGetDataType(WNNOperand operand)
{
	return api_check(operand, "wnnOperandGetDataType", "operand") ?
		       operand->data_type :
		       WNNOperandDataType_Undefined;
}

WNNUint32Array wnnOperandGetShape(WNNOperand operand)
{
	WNNUint32Array none = WNN_UINT32_ARRAY_INIT;

	if (!api_check(operand, "wnnOperandGetShape", "operand"))
		return none;
	return (WNNUint32Array){ operand->rank, operand->shape };
}

WNNStatus wnnGraphBuilderGetLastError(WNNGraphBuilder builder, WNNError *error)
{
	if (!api_check(builder, "wnnGraphBuilderGetLastError", "builder"))
		return wnnGetLastError(error);
	if (error) {
		error->status = (WNNStatus)builder->last_error.status;
		error->message = api_view(builder->last_error.message);
	}
	return (WNNStatus)builder->last_error.status;
}

/* Makes an operand known to the debug layer; returns the operand. */
static WNNOperand hand_out(WNNGraphBuilder builder, WNNOperand operand, const char *function)
{
	struct debug_location location;

	if (debug_on && operand) {
		debug_here(&location, function);
		debug_made(DEBUG_OPERAND, operand, builder, &location);
	}
	return operand;
}

/*
 * Sets *ranges to the WNNDimensionRanges in the chain, or to NULL when the chain is empty. Returns
 * 0, or -1 with *err when the chain has another struct.
 */
static int find_ranges(const WNNOperandDescriptor *descriptor, const WNNDimensionRanges **ranges,
		       struct wnn_error *err)
{
	*ranges = NULL;
	for (const WNNChainedStruct *s = descriptor->nextInChain; s; s = s->next) {
		if (s->sType != WNNSType_DimensionRanges || *ranges)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"input: the chain of the descriptor holds %s struct of "
				"sType %#x",
				s->sType == WNNSType_DimensionRanges ? "a second" : "an unknown",
				(unsigned int)s->sType);
		*ranges = (const void *)s;
	}
	return 0;
}

WNNOperand wnnGraphBuilderInput(WNNGraphBuilder builder, WNNStringView name,
				WNNOperandDescriptor const *descriptor)
{
	struct wnn_error err = { 0 };
	const WNNDimensionRanges *ranges;
	WNNOperand operand = NULL;

	if (!api_check(builder, "wnnGraphBuilderInput", "builder"))
		return NULL;
	if (!descriptor)
		wnn_error_set(&err, WNN_TYPE_ERROR, "input: descriptor is NULL");
	else if (!find_ranges(descriptor, &ranges, &err) &&
		 !wnn_builder_input(builder->builder, name, descriptor, ranges, &operand, &err))
		return hand_out(builder, operand, "wnnGraphBuilderInput");
	builder_error(builder, &err);
	return NULL;
}

uint32_t wnnGraphBuilderDimension(WNNGraphBuilder builder, WNNStringView name, int32_t multiply,
				  int32_t add, uint32_t divide)
{
	struct wnn_error err = { 0 };
	uint32_t number;

	if (!api_check(builder, "wnnGraphBuilderDimension", "builder"))
		return 0;
	number = wnn_builder_dimension(builder->builder, name, multiply, add, divide, &err);
	if (!number)
		builder_error(builder, &err);
	return number;
}

/*
 * Checks the builders of wnnGraphBuilderSetSizes, and writes them to `builders` and their sizes to
 * `numbers`, @range_count sizes for each builder. Returns 0, or -1 with *err.
 */
static int list_sizes(WNNGraphBuilder builder, size_t range_count, size_t count,
		      const WNNBuilderSizes *sizes, struct wnn_builder **builders,
		      uint32_t *numbers, struct wnn_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!sizes[i].builder || sizes[i].builder->context != builder->context ||
		    sizes[i].builder == builder)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"setSizes: the builder of sizes[%zu] is NULL, is the one "
				"that is called, or belongs to another context",
				i);
		if (sizes[i].sizes.count && !sizes[i].sizes.data)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "setSizes: sizes[%zu] has %zu sizes, but their data "
					     "is NULL",
					     i, sizes[i].sizes.count);
		if (sizes[i].sizes.count != range_count)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"setSizes: sizes[%zu] has %zu sizes, expected %zu, one "
				"for each range",
				i, sizes[i].sizes.count, range_count);
		builders[i] = sizes[i].builder->builder;
		if (range_count)
			memcpy(numbers + i * range_count, sizes[i].sizes.data,
			       range_count * sizeof(*numbers));
	}
	return 0;
}

WNNStatus wnnGraphBuilderSetSizes(WNNGraphBuilder builder, size_t rangeCount,
				  WNNDimensionRange const *ranges, size_t sizesCount,
				  WNNBuilderSizes const *sizes)
{
	struct wnn_error err = { 0 };
	struct wnn_builder **builders;
	uint32_t *numbers;
	int ret;

	if (!api_check(builder, "wnnGraphBuilderSetSizes", "builder") ||
	    (rangeCount && !api_check(ranges, "wnnGraphBuilderSetSizes", "ranges")) ||
	    (sizesCount && !api_check(sizes, "wnnGraphBuilderSetSizes", "sizes")))
		return wnnGetLastError(NULL);
	builders = wnn_reallocarray(NULL, sizesCount + 1, sizeof(*builders));
	numbers = wnn_reallocarray(NULL, (sizesCount + 1) * (rangeCount + 1), sizeof(*numbers));
	if (!builders || !numbers)
		ret = wnn_error_nomem(&err, "setSizes");
	else
		ret = list_sizes(builder, rangeCount, sizesCount, sizes, builders, numbers, &err);
	if (!ret)
		ret = wnn_builder_set_sizes(builder->builder, rangeCount, ranges, sizesCount,
					    builders, numbers, &err);
	wnn_free(builders);
	wnn_free(numbers);
	return ret ? builder_error(builder, &err) : WNNStatus_Success;
}

WNNStatus wnnGraphBuilderUpdateInput(WNNGraphBuilder builder, WNNOperand input, WNNOperand output)
{
	struct wnn_error err = { 0 };

	if (!api_check(builder, "wnnGraphBuilderUpdateInput", "builder"))
		return wnnGetLastError(NULL);
	if ((debug_on && ((input && debug_verify(DEBUG_OPERAND, input, "updateInput", &err)) ||
			  (output && debug_verify(DEBUG_OPERAND, output, "updateInput", &err)))) ||
	    wnn_builder_update(builder->builder, input, output, &err))
		return builder_error(builder, &err);
	return WNNStatus_Success;
}

/* --- Constants --- */

/* The application's memory of a borrowed constant. */
struct loan {
	WNNContext context;
	size_t size;
	/* the request that runs the application's callback; NULL: there is no callback */
	struct request *request;
};

/* Gives the memory back, on any thread; the application's callback runs on the callback thread. */
static void end_loan(void *userdata, const void *data)
{
	struct loan *loan = userdata;

	if (loan->request) {
		loan->request->result.bytes.data = (void *)data;
		loan->request->result.bytes.size = loan->size;
		request_post(loan->request, WNNStatus_Success, "");
	}
	context_put(loan->context);
	wnn_free(loan);
}

static const WNNBorrowedConstant *find_loan(const WNNOperandDescriptor *descriptor)
{
	for (const WNNChainedStruct *s = descriptor ? descriptor->nextInChain : NULL; s;
	     s = s->next)
		if (s->sType == WNNSType_BorrowedConstant)
			return (const void *)s;
	return NULL;
}

static struct loan *make_loan(WNNContext context, const WNNBorrowedConstant *borrowed, size_t size,
			      struct wnn_error *err)
{
	struct request_callback callback = {
		.mode = WNNCallbackMode_AllowSpontaneous,
		.function = (void (*)(void))borrowed->releaseCallback,
		.userdata1 = borrowed->userdata1,
		.userdata2 = borrowed->userdata2,
	};
	struct loan *loan = wnn_calloc(1, sizeof(*loan));

	if (loan && callback.function)
		loan->request =
			request_create(context->instance, REQUEST_RELEASE_CONSTANT, callback);
	if (!loan || (callback.function && !loan->request)) {
		wnn_free(loan);
		wnn_error_nomem(err, "a borrowed constant");
		return NULL;
	}
	loan->context = context;
	loan->size = size;
	context_get(context);
	return loan;
}

static int check_chain(const WNNOperandDescriptor *descriptor, struct wnn_error *err)
{
	bool seen = false;

	for (const WNNChainedStruct *s = descriptor->nextInChain; s; s = s->next) {
		if (s->sType != WNNSType_BorrowedConstant || seen)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"constant: the chain of the descriptor holds %s struct of "
				"sType %#x",
				s->sType == WNNSType_BorrowedConstant ? "a second" : "an unknown",
				(unsigned int)s->sType);
		seen = true;
	}
	return 0;
}

static int copied_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
			   const void *data, size_t size, WNNOperand *operand,
			   struct wnn_error *err)
{
	struct context_copy *copy;

	/* The application's size is checked against the shape before that many bytes are copied. */
	if (wnn_builder_check_constant(builder->builder, descriptor, data, size, err))
		return -1;
	copy = context_copy(builder->context, data, size, "a constant", err);
	if (!copy)
		return -1;
	return wnn_builder_constant(builder->builder, descriptor, copy->data, size,
				    context_copy_release, copy, operand, err);
}

/* Makes a constant; takes over the loan, which may be NULL, also on error. Returns 0 or -1. */
static int make_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
			 const void *data, size_t size, struct loan *loan, WNNOperand *operand,
			 struct wnn_error *err)
{
	WNNOperandDescriptor plain;
	int ret = -1;

	if (!descriptor || !data) {
		wnn_error_set(err, WNN_TYPE_ERROR, "constant: %s is NULL",
			      descriptor ? "data" : "descriptor");
	} else if (!check_chain(descriptor, err)) {
		plain = *descriptor;
		plain.nextInChain = NULL;
		if (loan && lend_aligned(data, descriptor->dataType)) {
			bool told = loan->request;

			ret = wnn_builder_constant(builder->builder, &plain, data, size, end_loan,
						   loan, operand, err);
			if (!ret)
				(*operand)->value->constant->lent = !told;
			return ret;
		}
		ret = copied_constant(builder, &plain, data, size, operand, err);
	}
	if (loan)
		end_loan(loan, data);
	return ret;
}

/*
 * Runs the release callback of a borrowed constant on this thread, when wnnGraphBuilderConstant
 * fails before a request for the callback exists. The callback so runs exactly once in any case.
 * Does nothing when @borrowed is NULL.
 */
static void refuse_loan(const WNNBorrowedConstant *borrowed, const void *data, size_t size)
{
	if (borrowed && borrowed->releaseCallback)
		borrowed->releaseCallback(data, size, borrowed->userdata1, borrowed->userdata2);
}

WNNOperand wnnGraphBuilderConstant(WNNGraphBuilder builder, WNNOperandDescriptor const *descriptor,
				   void const *data, size_t size)
{
	const WNNBorrowedConstant *borrowed = find_loan(descriptor);
	struct wnn_error err = { 0 };
	WNNOperand operand = NULL;
	struct loan *loan = NULL;

	if (!api_check(builder, "wnnGraphBuilderConstant", "builder")) {
		refuse_loan(borrowed, data, size);
		return NULL;
	}
	if (borrowed) {
		loan = make_loan(builder->context, borrowed, size, &err);
		if (!loan)
			refuse_loan(borrowed, data, size);
	}
	if ((!borrowed || loan) &&
	    !make_constant(builder, descriptor, data, size, loan, &operand, &err))
		return hand_out(builder, operand, "wnnGraphBuilderConstant");
	builder_error(builder, &err);
	return NULL;
}

/* Whether a constant tensor has been destroyed; called when the graph is built. */
static bool tensor_is_destroyed(void *tensor)
{
	return atomic_load(&((WNNTensor)tensor)->destroyed);
}

static void release_tensor(void *tensor)
{
	tensor_put(tensor);
}

/* Returns a new reference to the constant of a tensor; NULL with *err. */
static struct ir_constant *tensor_constant(WNNContext context, WNNTensor tensor,
					   struct wnn_error *err)
{
	struct ir_constant *constant = NULL;

	pthread_mutex_lock(&context->lock);
	if (!tensor_check(context, tensor, "constant", err)) {
		if (tensor->is_constant)
			constant = ir_constant_ref(tensor->constant);
		else
			wnn_error_set(err, WNN_TYPE_ERROR,
				      "constant: the tensor was not made by createConstantTensor");
	}
	pthread_mutex_unlock(&context->lock);
	return constant;
}

WNNOperand wnnGraphBuilderConstantFromTensor(WNNGraphBuilder builder, WNNTensor tensor)
{
	const struct wnn_constant_tensor use = { tensor, tensor_is_destroyed, release_tensor };
	struct wnn_error err = { 0 };
	struct ir_constant *constant;
	WNNOperand operand = NULL;

	if (!api_check(builder, "wnnGraphBuilderConstantFromTensor", "builder"))
		return NULL;
	constant = tensor_constant(builder->context, tensor, &err);
	if (constant) {
		tensor_get(tensor);
		if (!wnn_builder_constant_tensor(builder->builder, &tensor->type, constant, &use,
						 &operand, &err))
			return hand_out(builder, operand, "wnnGraphBuilderConstantFromTensor");
	}
	builder_error(builder, &err);
	return NULL;
}

WNNOperand wnnGraphBuilderConstantFromNumber(WNNGraphBuilder builder, WNNOperandDataType dataType,
					     WNNNumber value)
{
	struct wnn_error err = { 0 };
	WNNOperand operand = NULL;

	if (!api_check(builder, "wnnGraphBuilderConstantFromNumber", "builder"))
		return NULL;
	if (!wnn_builder_constant_number(builder->builder, dataType, &value, &operand, &err))
		return hand_out(builder, operand, "wnnGraphBuilderConstantFromNumber");
	builder_error(builder, &err);
	return NULL;
}

static int verify_operands(const struct wnn_op_call *call, struct wnn_error *err)
{
	char what[128];

	wnn_op_call_name(call, what, sizeof(what));
	for (size_t i = 0; i < call->operand_count; i++)
		if (call->operands && call->operands[i] &&
		    debug_verify(DEBUG_OPERAND, call->operands[i], what, err))
			return -1;
	return 0;
}

WNNStatus wnn_builder_record(WNNGraphBuilder builder, struct wnn_op_call *call, size_t output_count,
			     WNNOperand *outputs)
{
	struct wnn_error err = { 0 };

	for (size_t i = 0; outputs && i < output_count; i++)
		outputs[i] = NULL;
	if (!api_check(builder, wnn_op_info[call->op].name, "builder"))
		return wnnGetLastError(NULL);
	if ((debug_on && verify_operands(call, &err)) ||
	    wnn_builder_record_op(builder->builder, call, output_count, outputs, &err))
		return builder_error(builder, &err);
	for (size_t i = 0; debug_on && i < output_count; i++)
		hand_out(builder, outputs[i], wnn_op_info[call->op].name);
	return WNNStatus_Success;
}
