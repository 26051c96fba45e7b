// SPDX-License-Identifier: MIT
/*
 * Translates NonMaxSuppression of boxes that are not constant. Each iteration takes one box of each
 * batch and class. The number of boxes is not known when the graph is built: rows after the last
 * one are -1.
 */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "probe.h"
#include "select.h"

struct boxes {
	int64_t batches, classes, count, most;
	double overlap, least; /* thresholds of overlap and score */
	/* low and high corners, y and x: [batches, classes, count] */
	WNNOperand low[2], high[2], area;
};

int onnx_threshold(struct onnx_node *node, size_t input, const char *name, double *number)
{
	if (onnx_is_empty(node, input))
		return 0;
	return onnx_in_float(node, input, name, number);
}

static int read_boxes(struct onnx_node *node, struct boxes *s)
{
	const struct onnx_shape *boxes = onnx_in_shape(node, 0), *scores = onnx_in_shape(node, 1);
	const int64_t *most;
	size_t count;

	*s = (struct boxes){ .least = -INFINITY };
	if (!onnx_has(node, 0) || !onnx_has(node, 1))
		return onnx_refuse(node, "", "boxes or scores are missing");
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
	    boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2])
		return onnx_refuse(
			node, "",
			"the shapes of boxes and scores do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	if (onnx_in_ints(node, 2, "max_output_boxes_per_class", &most, &count) ||
	    onnx_threshold(node, 3, "iou_threshold", &s->overlap) ||
	    onnx_threshold(node, 4, "score_threshold", &s->least))
		return -1;
	s->batches = boxes->dim[0];
	s->count = boxes->dim[1];
	s->classes = scores->dim[1];
	s->most = count ? most[0] : 0;
	s->most = s->most < 0 ? 0 : s->most > s->count ? s->count : s->most;
	return onnx_unroll(node, (uint64_t)s->most * 24);
}

/* Computes the corners of all boxes, once for each class. Returns 0 or -1. */
static int find_corners(struct onnx_node *node, struct boxes *s, WNNOperand boxes)
{
	struct onnx_shape all = { 3, { s->batches, s->classes, s->count } };
	bool centred = onnx_attr_int(node, "center_point_box", 0);
	WNNOperand sides[4], size[2];

	for (uint32_t i = 0; i < 4; i++)
		sides[i] = x_expand(node, x_unsqueeze(node, x_at(node, boxes, 2, i), 1), &all);
	for (int d = 0; d < 2; d++) {
		/* A box by its corners has y first, a box by its centre and size has x first. */
		WNNOperand a = sides[centred ? 1 - d : d], b = sides[centred ? 3 - d : 2 + d];
		WNNOperand half = centred ? x_linear(node, b, 0.5, 0) : NULL;

		s->low[d] = centred ? x_sub(node, a, half) : x_min(node, a, b);
		s->high[d] = centred ? x_add(node, a, half) : x_max(node, a, b);
		size[d] = x_sub(node, s->high[d], s->low[d]);
	}
	s->area = x_mul(node, size[0], size[1]);
	return s->area ? 0 : -1;
}

static WNNOperand taken_from(struct onnx_node *node, WNNOperand x, WNNOperand best)
{
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;

	options.label = node->options.label;
	options.axis = 2;
	return x && best ? wnnGraphBuilderGatherElements(node->b, x, best, &options) : NULL;
}

/* Returns which boxes overlap the best box of their class by more than the threshold. */
static WNNOperand overlapping(struct onnx_node *node, const struct boxes *s, WNNOperand best)
{
	WNNOperand zero = x_like(node, s->area, 0), common = NULL, both;

	for (int d = 0; d < 2; d++) {
		WNNOperand low = x_max(node, s->low[d], taken_from(node, s->low[d], best));
		WNNOperand high = x_min(node, s->high[d], taken_from(node, s->high[d], best));
		WNNOperand length = x_max(node, x_sub(node, high, low), zero);

		common = common ? x_mul(node, common, length) : length;
	}
	both = x_add(node, s->area, taken_from(node, s->area, best));
	both = x_sub(node, both, common);
	both = x_greater(node, x_div(node, common, both), x_like(node, s->area, s->overlap));
	return x_and(node, both, x_greater(node, common, zero));
}

/*
 * Sets @indices to the boxes that are taken and @found to whether there was one, both [batches,
 * classes, most]. Returns 0 or -1.
 */
static int take_boxes(struct onnx_node *node, const struct boxes *s, WNNOperand scores,
		      WNNOperand *indices, WNNOperand *found)
{
	WNNArgMinMaxOptions first = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand *at = onnx_node_alloc(node, (size_t)s->most * sizeof(*at));
	WNNOperand *is = onnx_node_alloc(node, (size_t)s->most * sizeof(*is));
	WNNOperand none = x_like(node, scores, -INFINITY), steps;

	steps = onnx_iota(node, 3, 2, s->count);
	if (!at || !is || !steps)
		return -1;
	first.label = node->options.label;
	first.keepDimensions = WNN_TRUE;
	first.outputDataType = WNNOperandDataType_Int32;
	if (!isinf(s->least))
		scores = x_where(node, x_greater(node, scores, x_like(node, scores, s->least)),
				 scores, none);
	for (int64_t k = 0; scores && k < s->most; k++) {
		WNNOperand gone;

		is[k] = x_greater(node, x_reduce1(node, X_MAX, scores, 2, true), none);
		at[k] = wnnGraphBuilderArgMax(node->b, scores, 2, &first);
		gone = x_or(node, overlapping(node, s, at[k]), x_equal(node, steps, at[k]));
		scores = x_where(node, gone, none, scores);
	}
	*indices = scores ? x_concat(node, (size_t)s->most, at, 2) : NULL;
	*found = scores ? x_concat(node, (size_t)s->most, is, 2) : NULL;
	return *indices && *found ? 0 : -1;
}

static WNNOperand running_sum(struct onnx_node *node, WNNOperand x)
{
	WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;

	options.label = node->options.label;
	options.exclusive = WNN_TRUE;
	return x ? wnnGraphBuilderCumulativeSum(node->b, x, 0, &options) : NULL;
}

/* Returns rows of batch, class and box: the boxes that were found come first, other rows are -1. */
static WNNOperand make_rows(struct onnx_node *node, const struct boxes *s, WNNOperand indices,
			    WNNOperand found)
{
	int64_t rows = s->batches * s->classes * s->most;
	struct onnx_shape flat = { 1, { rows } }, column = { 2, { rows, 1 } };
	struct onnx_shape table = { 2, { rows, 2 } }, result = { 2, { rows, 3 } };
	WNNOperandDataType type = WNNOperandDataType_Int32;
	int32_t *numbers = onnx_node_alloc(node, (size_t)rows * 2 * sizeof(*numbers));
	WNNOperand is, place, total, parts[2];
	static const uint32_t zero;

	if (!numbers)
		return NULL;
	for (int64_t i = 0; i < rows; i++) {
		numbers[2 * i] = (int32_t)(i / s->most / s->classes);
		numbers[2 * i + 1] = (int32_t)(i / s->most % s->classes);
	}
	is = x_cast(node, x_reshape(node, found, &flat), type);
	total = x_reduce(node, X_SUM, is, 1, &zero, true);
	place = running_sum(node, x_sub(node, x_integer(node, type, 1), is));
	place = x_where(node, x_reshape(node, found, &flat), running_sum(node, is),
			x_add(node, total, place));
	parts[0] = x_constant(node, type, &table, numbers);
	parts[1] = x_reshape(node, indices, &column);
	indices = x_where(node, x_reshape(node, found, &column), x_concat(node, 2, parts, 1),
			  x_integer(node, type, -1));
	total = x_expand(node, x_integer(node, type, 0), &result);
	place = x_reshape(node, place, &column);
	if (!total || !place || !indices)
		return NULL;
	return wnnGraphBuilderScatterND(node->b, total, place, indices, &node->options);
}

int onnx_op_non_max_suppression(struct onnx_node *node)
{
	WNNOperand scores, indices, found, rows;
	struct onnx_shape none = { 2, { 0, 3 } };
	struct boxes s;

	if (read_boxes(node, &s))
		return -1;
	if (!s.most || !s.batches || !s.classes)
		return onnx_out_empty(node, 0, ONNX_INT64, &none);
	if (onnx_probe_refuses_rows(node))
		return -1;
	if (s.batches * s.classes * s.most > ONNX_INDICES)
		return onnx_refuse(
			node, "",
			"there are too many boxes: %lld for each of %lld batches and %lld "
			"classes, at most %lld in all",
			(long long)s.most, (long long)s.batches, (long long)s.classes,
			(long long)ONNX_INDICES);
	scores = onnx_in(node, 1);
	if (!scores || find_corners(node, &s, onnx_in(node, 0)) ||
	    take_boxes(node, &s, scores, &indices, &found))
		return -1;
	rows = make_rows(node, &s, indices, found);
	onnx_notice(node, NULL,
		    "how many boxes NonMaxSuppression takes is not known before: rows behind them "
		    "are -1");
	return onnx_out(node, 0, rows ? x_cast(node, rows, WNNOperandDataType_Int64) : NULL);
}
