// SPDX-License-Identifier: MIT
/*
 * Computes NonMaxSuppression at import when its inputs are constants: the number of selected boxes
 * is then a constant shape.
 */
#include <math.h>
#include <stdlib.h>

#include "ops.h"

struct box {
	double low[2], high[2];
};

struct candidate {
	double score;
	int64_t index;
};

static struct box read_box(const struct onnx_value *boxes, size_t at, bool center)
{
	struct box box;

	for (size_t i = 0; i < 2; i++) {
		double a = onnx_value_float(boxes, at * 4 + i);
		double b = onnx_value_float(boxes, at * 4 + 2 + i);

		box.low[i] = center ? a - b / 2 : fmin(a, b);
		box.high[i] = center ? a + b / 2 : fmax(a, b);
	}
	return box;
}

static double area(const struct box *box)
{
	double x = box->high[0] - box->low[0], y = box->high[1] - box->low[1];

	return x > 0 && y > 0 ? x * y : 0;
}

/* Returns the intersection over union of two boxes, from 0 to 1. */
static double overlap(const struct box *a, const struct box *b)
{
	struct box both;
	double common;

	for (int i = 0; i < 2; i++) {
		both.low[i] = fmax(a->low[i], b->low[i]);
		both.high[i] = fmin(a->high[i], b->high[i]);
	}
	common = area(&both);
	return common > 0 ? common / (area(a) + area(b) - common) : 0;
}

/* Orders candidates by descending score, and equal scores by their index. */
static int compare(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->score != b->score)
		return a->score < b->score ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

struct suppression {
	struct onnx_value *boxes, *scores;
	int64_t batches, classes, count, most;
	double overlap, score;
	bool has_score, center;
};

static int read_inputs(struct onnx_node *node, struct suppression *s)
{
	const struct onnx_shape *b, *c;
	double most = 0;

	if (node->input_count < 2 || !node->inputs[0] || !node->inputs[1] ||
	    node->inputs[0]->sequence || node->inputs[1]->sequence)
		return onnx_refuse(node, "", "boxes or scores are missing");
	if (onnx_threshold(node, 2, "max_output_boxes_per_class", &most) ||
	    onnx_threshold(node, 3, "iou_threshold", &s->overlap) ||
	    onnx_threshold(node, 4, "score_threshold", &s->score))
		return -1;
	s->boxes = node->inputs[0];
	s->scores = node->inputs[1];
	s->has_score = onnx_has(node, 4) && !onnx_is_empty(node, 4);
	s->center = onnx_attr_int(node, "center_point_box", 0);
	b = &s->boxes->shape;
	c = &s->scores->shape;
	if (b->rank != 3 || c->rank != 3 || b->dim[2] != 4 || b->dim[0] != c->dim[0] ||
	    b->dim[1] != c->dim[2])
		return onnx_refuse(
			node, "",
			"the shapes of boxes and scores do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	s->batches = b->dim[0];
	s->classes = c->dim[1];
	s->count = b->dim[1];
	s->most = most > 0 ? (int64_t)fmin(most, (double)s->count) : 0;
	return 0;
}

/*
 * Selects boxes of one class of one batch and moves them to the front of @candidates. Returns how
 * many are selected, or -1.
 */
static int64_t suppress(struct onnx_node *node, const struct suppression *s, int64_t batch,
			int64_t class, struct candidate *candidates, struct box *boxes)
{
	int64_t total = 0, kept = 0;

	for (int64_t i = 0; i < s->count; i++) {
		size_t at = (size_t)((batch * s->classes + class) * s->count + i);
		double score = onnx_value_float(s->scores, at);

		if (s->has_score ? score > s->score : !isnan(score))
			candidates[total++] = (struct candidate){ score, i };
	}
	qsort(candidates, (size_t)total, sizeof(*candidates), compare);
	for (int64_t i = 0; i < total && kept < s->most; i++) {
		size_t at = (size_t)(batch * s->count + candidates[i].index);
		bool good = true;

		boxes[kept] = read_box(s->boxes, at, s->center);
		for (int64_t k = 0; k < kept && good; k++)
			good = overlap(&boxes[kept], &boxes[k]) <= s->overlap;
		if (onnx_work(node, (uint64_t)kept))
			return -1;
		if (good)
			candidates[kept++] = candidates[i];
	}
	return kept;
}

int onnx_fold_non_max_suppression(struct onnx_node *node)
{
	struct onnx_shape shape = { 2, { 0, 3 } };
	struct suppression s = { 0 };
	struct candidate *candidates;
	int64_t *found, *data, used = 0;
	struct box *boxes;

	if (read_inputs(node, &s))
		return -1;
	if (onnx_work(node, (uint64_t)onnx_shape_elements(&s.scores->shape)))
		return -1;
	candidates = onnx_node_alloc(node, (size_t)s.count * sizeof(*candidates));
	boxes = onnx_node_alloc(node, (size_t)s.count * sizeof(*boxes));
	found = onnx_node_alloc(node,
				(size_t)(s.batches * s.classes * s.most) * 3 * sizeof(*found) + 1);
	if (!candidates || !boxes || !found)
		return -1;
	for (int64_t b = 0; b < s.batches; b++)
		for (int64_t c = 0; c < s.classes; c++) {
			int64_t kept = suppress(node, &s, b, c, candidates, boxes);

			if (kept < 0)
				return -1;
			for (int64_t i = 0; i < kept; i++) {
				found[used++] = b;
				found[used++] = c;
				found[used++] = candidates[i].index;
			}
		}
	shape.dim[0] = used / 3;
	data = onnx_out_constant(node, 0, ONNX_INT64, &shape);
	for (int64_t i = 0; data && i < used; i++)
		data[i] = found[i];
	return data ? 0 : -1;
}
