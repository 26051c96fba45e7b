// SPDX-License-Identifier: MIT
/* The operators of older drafts, implemented by operators of the current specification. */
#include <inttypes.h>
#include <stdio.h>

#include "api/builder.h"
#include "graph/op_call.h"
#include "graph/operand.h"
#include "graph/op_table.h"

/*
 * Checks the builder and the input of an operator. Messages begin with @name, the operator's name
 * in the drafts. Returns false after an error, which is reported.
 */
static bool check(WNNGraphBuilder builder, WNNOperand input, const char *name)
{
	struct wnn_error err = { 0 };

	if (!api_check(builder, name, "builder"))
		return false;
	if (input)
		return true;
	wnn_error_missing(&err, "%s: operand input is NULL", name);
	builder_error(builder, &err);
	return false;
}

#define FAIL(builder, ...) fail((builder), &(struct wnn_error){ 0 }, __VA_ARGS__)

static WNNOperand fail(WNNGraphBuilder builder, struct wnn_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static WNNOperand fail(WNNGraphBuilder builder, struct wnn_error *err, const char *fmt, ...)
{
	char message[sizeof(err->message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	wnn_error_set(err, WNN_TYPE_ERROR, "%s", message);
	builder_error(builder, err);
	return NULL;
}

/* Returns a list of axes as a bit mask; -1 after an error, which it reports. */
static int64_t axes_mask(WNNGraphBuilder builder, const char *name, WNNUint32Array axes,
			 size_t rank)
{
	uint32_t mask = 0;

	if (axes.count && !axes.data) {
		FAIL(builder, "%s: axes has %zu items, but its data is NULL", name, axes.count);
		return -1;
	}
	for (size_t i = 0; i < axes.count; i++) {
		if (axes.data[i] >= rank) {
			FAIL(builder, "%s: axes[%zu] is %" PRIu32 ", but the rank is %zu", name, i,
			     axes.data[i], rank);
			return -1;
		}
		if (mask >> axes.data[i] & 1) {
			FAIL(builder, "%s: axes has %" PRIu32 " twice", name, axes.data[i]);
			return -1;
		}
		mask |= 1u << axes.data[i];
	}
	return mask;
}

static WNNOperand reshape(WNNGraphBuilder builder, WNNOperand input, const uint32_t *shape,
			  size_t rank, const WNNOperatorOptions *options)
{
	const WNNUint32Array empty = WNN_UINT32_EMPTY;
	const WNNUint32Array list = rank ? (WNNUint32Array){ rank, shape } : empty;

	return wnnGraphBuilderReshape(builder, input, list, options);
}

WNNOperand wnnCompatSqueeze(WNNGraphBuilder builder, WNNOperand input, WNNUint32Array axes,
			    WNNOperatorOptions const *options)
{
	uint32_t shape[IR_MAX_RANK], n = 0;
	int64_t mask;

	if (!check(builder, input, "squeeze"))
		return NULL;
	mask = axes_mask(builder, "squeeze", axes, input->rank);
	if (mask < 0)
		return NULL;
	for (uint32_t i = 0; i < input->rank; i++) {
		bool wanted = axes.data ? mask >> i & 1 : input->shape[i] == 1;

		if (wanted && input->shape[i] != 1)
			return FAIL(builder,
				    "squeeze: dimension %" PRIu32 " of input has size %" PRIu32
				    "; only those of size 1 can be removed",
				    i, input->shape[i]);
		if (!wanted)
			shape[n++] = input->shape[i];
	}
	return reshape(builder, input, shape, n, options);
}

WNNOperand wnnCompatUnsqueeze(WNNGraphBuilder builder, WNNOperand input, WNNUint32Array axes,
			      WNNOperatorOptions const *options)
{
	uint32_t shape[IR_MAX_RANK], from = 0;
	size_t rank;
	int64_t mask;

	if (!check(builder, input, "unsqueeze"))
		return NULL;
	if (axes.count > IR_MAX_RANK - input->rank)
		return FAIL(builder,
			    "unsqueeze: %zu axes added to rank %" PRIu32 "; ranks up to %d "
			    "are supported",
			    axes.count, input->rank, IR_MAX_RANK);
	rank = input->rank + axes.count;
	mask = axes_mask(builder, "unsqueeze", axes, rank);
	if (mask < 0)
		return NULL;
	for (size_t i = 0; i < rank; i++)
		shape[i] = mask >> i & 1 ? 1 : input->shape[from++];
	return reshape(builder, input, shape, rank, options);
}

WNNOperand wnnCompatFlatten(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
			    WNNOperatorOptions const *options)
{
	uint32_t shape[2] = { 1, 1 };

	if (!check(builder, input, "flatten"))
		return NULL;
	if (axis > input->rank)
		return FAIL(builder,
			    "flatten: axis is %" PRIu32 ", but the rank of input is %" PRIu32, axis,
			    input->rank);
	for (uint32_t i = 0; i < input->rank; i++)
		shape[i >= axis] *= input->shape[i];
	return reshape(builder, input, shape, 2, options);
}

/*
 * Returns the size that replaces -1 in a shape so that the number of elements stays; 0: there is no
 * such size.
 */
static uint32_t infer(const struct WNNOperandImpl *input, const int32_t *shape, size_t count)
{
	uint64_t elements = 1, known = 1;

	for (uint32_t i = 0; i < input->rank; i++)
		elements *= input->shape[i];
	for (size_t i = 0; i < count; i++) {
		known *= shape[i] == -1 ? 1 : (uint64_t)shape[i];
		if (known > elements)
			return 0;
	}
	return elements % known ? 0 : (uint32_t)(elements / known);
}

WNNOperand wnnCompatReshape(WNNGraphBuilder builder, WNNOperand input, size_t newShapeCount,
			    int32_t const *newShape, WNNOperatorOptions const *options)
{
	uint32_t shape[IR_MAX_RANK];
	size_t unknown = SIZE_MAX;

	if (!check(builder, input, "reshape"))
		return NULL;
	if (newShapeCount > IR_MAX_RANK || (newShapeCount && !newShape))
		return FAIL(builder, "reshape: newShape has %zu items%s", newShapeCount,
			    newShape ? "; ranks up to 8 are supported" : ", but its data is NULL");
	for (size_t i = 0; i < newShapeCount; i++) {
		if (newShape[i] < -1 || !newShape[i] || (newShape[i] == -1 && unknown != SIZE_MAX))
			return FAIL(builder, "reshape: newShape[%zu] is %" PRId32 "%s", i,
				    newShape[i],
				    newShape[i] == -1 ?
					    " for the second time" :
					    "; positive numbers and one -1 are allowed");
		if (newShape[i] == -1)
			unknown = i;
		shape[i] = (uint32_t)newShape[i];
	}
	if (unknown != SIZE_MAX) {
		shape[unknown] = infer(input, newShape, newShapeCount);
		if (!shape[unknown])
			return FAIL(builder,
				    "reshape: no size for newShape[%zu] gives as many "
				    "elements as input has",
				    unknown);
	}
	return reshape(builder, input, shape, newShapeCount, options);
}

WNNOperand wnnCompatSoftmax(WNNGraphBuilder builder, WNNOperand input,
			    WNNOperatorOptions const *options)
{
	if (!check(builder, input, "softmax"))
		return NULL;
	if (input->rank != 2)
		return FAIL(builder, "softmax: input has rank %" PRIu32 ", expected 2",
			    input->rank);
	return wnnGraphBuilderSoftmax(builder, input, 1, options);
}

WNNStatus wnnCompatAutoPadding(WNNCompatAutoPad autoPad, uint32_t inputSize, uint32_t windowSize,
			       uint32_t stride, uint32_t dilation, uint32_t *padding)
{
	uint64_t effective, covered, total;

	if (!api_check(padding, "wnnCompatAutoPadding", "padding"))
		return wnnGetLastError(NULL);
	if (autoPad != WNNCompatAutoPad_SameUpper && autoPad != WNNCompatAutoPad_SameLower)
		return api_error_status(WNNStatus_TypeError,
					"wnnCompatAutoPadding: autoPad is %u; "
					"allowed are SameUpper and SameLower",
					(unsigned int)autoPad);
	if (!inputSize || !windowSize || !stride || !dilation)
		return api_error_status(WNNStatus_TypeError,
					"wnnCompatAutoPadding: a size, stride or dilation is 0");
	effective = (uint64_t)(windowSize - 1) * dilation + 1;
	covered = (uint64_t)((inputSize - 1) / stride) * stride;
	if (effective > UINT32_MAX)
		return api_error_status(WNNStatus_TypeError,
					"wnnCompatAutoPadding: the dilated window has "
					"%" PRIu64 " elements; at most %" PRIu32 " are allowed",
					effective, UINT32_MAX);
	total = covered + effective > inputSize ? covered + effective - inputSize : 0;
	padding[autoPad == WNNCompatAutoPad_SameLower] = (uint32_t)(total / 2);
	padding[autoPad == WNNCompatAutoPad_SameUpper] = (uint32_t)(total - total / 2);
	return WNNStatus_Success;
}
