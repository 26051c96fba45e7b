// SPDX-License-Identifier: MIT
/*
 * Dimensions with a range: adds the model to several builders, each time with other sizes, from
 * which wnnGraphBuilderSetSizes() finds the numbers of the graph that depend on the sizes.
 */
#include "range.h"

#include <string.h>

/* How many of the smallest sizes of a range are tried: they show strides and remainders. */
#define NEAR 4

struct points {
	size_t count, ranges;
	WNNBuilderSizes *items;
	uint32_t *sizes; /* for each item the size of each range */
};

/* Returns the dimension of the model that a range is for. */
static struct onnx_dimension *dimension_of(const struct onnx_model *model, size_t range)
{
	size_t i = 0;

	while (strcmp(model->dimensions[i].name, model->ranges[range].name))
		i++;
	return &model->dimensions[i];
}

WNNStatus wnnOnnxModelSetDimensionRange(WNNOnnxModel handle, WNNStringView name, uint32_t min,
					uint32_t max)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	size_t length = !name.data		  ? 0 :
			name.length == WNN_STRLEN ? strlen(name.data) :
						    name.length;
	struct onnx_range *ranges;
	size_t i = 0;

	if (!model)
		return onnx_error(WNNStatus_TypeError, "model is missing");
	if (!min || min > max || max > INT32_MAX)
		return onnx_error(
			WNNStatus_TypeError,
			"dimension \"%.*s\" ranges from %u to %u; a range is from at least "
			"1 to at most %d, and its end is no less than its begin",
			(int)length, name.data ? name.data : "", min, max, INT32_MAX);
	while (i < model->dimension_count && (strlen(model->dimensions[i].name) != length ||
					      memcmp(model->dimensions[i].name, name.data, length)))
		i++;
	if (i == model->dimension_count &&
	    wnnOnnxModelSetDimension(handle, name, max) != WNNStatus_Success)
		return wnnOnnxGetLastError(NULL);
	if (model->dimensions[i].size < min || model->dimensions[i].size > max)
		return onnx_error(WNNStatus_TypeError,
				  "dimension \"%s\" is %u, which is not in the range from %u to %u",
				  model->dimensions[i].name, model->dimensions[i].size, min, max);
	for (size_t k = 0; k < model->range_count; k++)
		if (!strcmp(model->ranges[k].name, model->dimensions[i].name))
			return onnx_error(WNNStatus_TypeError,
					  "dimension \"%s\" ranges from %u to %u already",
					  model->ranges[k].name, model->ranges[k].min,
					  model->ranges[k].max);
	ranges = onnx_arena_alloc(&model->arena, (model->range_count + 1) * sizeof(*ranges));
	if (!ranges)
		return onnx_nomem();
	if (model->range_count)
		memcpy(ranges, model->ranges, model->range_count * sizeof(*ranges));
	ranges[model->range_count++] = (struct onnx_range){ model->dimensions[i].name, min, max };
	model->ranges = ranges;
	return WNNStatus_Success;
}

/* ---- points */

static void forget_shape(struct onnx_input *input)
{
	for (size_t i = 0; i < input->item_count; i++)
		forget_shape(&input->items[i]);
	if (input->learned)
		input->has_shape = input->learned = false;
}

/* Sets the dimensions that have ranges; shapes of inputs follow when the model is added next. */
static void set_sizes(struct onnx_model *model, const uint32_t *sizes)
{
	for (size_t i = 0; i < model->range_count; i++)
		dimension_of(model, i)->size = sizes[i];
	for (size_t i = 0; i < model->input_count; i++)
		forget_shape(&model->inputs[i]);
}

static uint32_t *add_point(const struct onnx_model *model, struct points *points)
{
	uint32_t *sizes = points->sizes + points->count * points->ranges;

	for (size_t i = 0; i < model->range_count; i++)
		sizes[i] = model->ranges[i].max;
	points->items[points->count++].sizes = (WNNUint32Array){ points->ranges, sizes };
	return sizes;
}

/*
 * Lists the combinations of sizes to try: for each range, some sizes from both ends and the middle,
 * with the maxima of the other ranges; then the minima of all ranges, if there are several.
 */
static WNNStatus list_points(const struct onnx_model *model, struct points *points)
{
	size_t most = model->range_count * (NEAR + 2) + 1;
	uint32_t *sizes;

	points->ranges = model->range_count;
	points->items = import_alloc(most * sizeof(*points->items));
	points->sizes = import_alloc(most * points->ranges * sizeof(*points->sizes));
	if (!points->items || !points->sizes)
		return onnx_nomem();
	for (size_t i = 0; i < model->range_count; i++) {
		uint32_t min = model->ranges[i].min, max = model->ranges[i].max, next = min;

		for (; next < max && next - min < NEAR; next++)
			add_point(model, points)[i] = next;
		if (next < max)
			add_point(model, points)[i] = next + (max - next) / 2;
		if (next + 2 < max)
			add_point(model, points)[i] = max - 1;
	}
	sizes = model->range_count > 1 ? add_point(model, points) : NULL;
	for (size_t i = 0; sizes && i < model->range_count; i++)
		sizes[i] = model->ranges[i].min;
	return WNNStatus_Success;
}

/*
 * Adds the model for each point to a builder of its own. When one fails, returns its error and
 * names the first size that is below its maximum.
 */
static WNNStatus add_points(struct onnx_model *model, WNNContext context, struct points *points)
{
	WNNNamedOperand const *outputs;
	WNNError error = WNN_ERROR_INIT;
	size_t count;

	for (size_t i = 0; i < points->count; i++) {
		WNNBuilderSizes *item = &points->items[i];
		size_t named = 0;

		item->builder = wnnContextCreateGraphBuilder(context);
		if (!item->builder) {
			WNNStatus status = wnnGetLastError(&error);

			return onnx_error(status, "no builder can be made: %.*s",
					  (int)error.message.length, error.message.data);
		}
		set_sizes(model, item->sizes.data);
		if (wnnOnnxModelAddToBuilder((WNNOnnxModel)model, item->builder, &count,
					     &outputs) == WNNStatus_Success)
			continue;
		wnnOnnxGetLastError(&error);
		while (named + 1 < model->range_count &&
		       item->sizes.data[named] == model->ranges[named].max)
			named++;
		return onnx_error(error.status, "with \"%s\" = %u, of %u to %u: %.*s",
				  model->ranges[named].name, item->sizes.data[named],
				  model->ranges[named].min, model->ranges[named].max,
				  (int)error.message.length, error.message.data);
	}
	return WNNStatus_Success;
}

static WNNStatus merge(struct onnx_model *model, WNNGraphBuilder builder,
		       const struct points *points)
{
	WNNDimensionRange *ranges = import_alloc(model->range_count * sizeof(*ranges));
	WNNError error = WNN_ERROR_INIT;
	WNNStatus status;

	if (!ranges)
		return onnx_nomem();
	for (size_t i = 0; i < model->range_count; i++)
		ranges[i] = (WNNDimensionRange){ WNN_STR(model->ranges[i].name),
						 model->ranges[i].min, model->ranges[i].max };
	status = wnnGraphBuilderSetSizes(builder, model->range_count, ranges, points->count,
					 points->items);
	import_free(ranges);
	if (status == WNNStatus_Success)
		return status;
	wnnGetLastError(&error);
	return onnx_error(status, "%.*s", (int)error.message.length, error.message.data);
}

/*
 * Adds the model with its largest sizes to @builder, after adding it for all points, and makes the
 * builder's graph one for the ranges. Sets *outputs and *count; returns the first error.
 */
static WNNStatus add_all(struct onnx_model *model, WNNContext context, WNNGraphBuilder builder,
			 struct points *points, size_t *count, WNNNamedOperand const **outputs)
{
	uint32_t *largest = import_alloc(model->range_count * sizeof(*largest));
	WNNStatus status = largest ? list_points(model, points) : onnx_nomem();

	for (size_t i = 0; largest && i < model->range_count; i++)
		largest[i] = model->ranges[i].max;
	if (status == WNNStatus_Success)
		status = add_points(model, context, points);
	/*
	 * The list of outputs is valid until the model is added again, so the largest sizes are
	 * added last.
	 */
	if (status == WNNStatus_Success) {
		set_sizes(model, largest);
		status = wnnOnnxModelAddToBuilder((WNNOnnxModel)model, builder, count, outputs);
	}
	if (status == WNNStatus_Success)
		status = merge(model, builder, points);
	import_free(largest);
	return status;
}

WNNStatus onnx_range_add(struct onnx_model *model, WNNContext context, WNNGraphBuilder builder,
			 size_t *count, WNNNamedOperand const **outputs)
{
	uint32_t *before = import_alloc(model->range_count * sizeof(*before));
	struct points points = { 0 };
	WNNStatus status;

	if (!before)
		return onnx_nomem();
	for (size_t i = 0; i < model->range_count; i++)
		before[i] = dimension_of(model, i)->size;
	status = add_all(model, context, builder, &points, count, outputs);
	set_sizes(model, before);
	import_free(before);
	for (size_t i = 0; i < points.count; i++)
		if (points.items[i].builder)
			wnnGraphBuilderRelease(points.items[i].builder);
	import_free(points.items);
	import_free(points.sizes);
	return status;
}
