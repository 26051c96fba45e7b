// SPDX-License-Identifier: MIT
/* TopK and ReverseSequence, composed of operators of WebNN; on the CPU TopK is one operator. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "select.h"

#define MAX_COMPARISONS (1 << 24)
#define PART		256 /* elements of one slice of a long row, which are ranked at once */

WNNOperand onnx_extreme(struct onnx_node *node, WNNOperandDataType type, bool largest)
{
	switch (type) {
	case WNNOperandDataType_Int32:
		return x_integer(node, type, largest ? INT32_MAX : INT32_MIN);
	case WNNOperandDataType_Uint32:
		return x_integer(node, type, largest ? UINT32_MAX : 0);
	case WNNOperandDataType_Int64:
		return x_integer(node, type, largest ? INT64_MAX : INT64_MIN);
	case WNNOperandDataType_Uint64:
		return wnnGraphBuilderConstantFromNumber(
			node->b, type, WNN_NUMBER_UINT64(largest ? UINT64_MAX : 0));
	default:
		return x_number(node, type, largest ? INFINITY : -INFINITY);
	}
}

WNNOperand onnx_iota(struct onnx_node *node, uint32_t rank, uint32_t axis, int64_t count)
{
	struct onnx_shape shape = { .rank = rank };
	int32_t *numbers = NULL;

	if (count > ONNX_INDICES)
		onnx_refuse(node, "axis", "dimension %u is too long: %lld, at most %lld", axis,
			    (long long)count, (long long)ONNX_INDICES);
	else
		numbers = onnx_node_alloc(node, (size_t)count * sizeof(*numbers));
	if (!numbers)
		return NULL;
	for (uint32_t i = 0; i < rank; i++)
		shape.dim[i] = i == axis ? count : 1;
	for (int64_t i = 0; i < count; i++)
		numbers[i] = (int32_t)i;
	return x_constant(node, WNNOperandDataType_Int32, &shape, numbers);
}

static int read_k(struct onnx_node *node, int64_t size, int64_t *k)
{
	const int64_t *given;
	size_t count;

	*k = onnx_attr_int(node, "k", 0);
	if (node->version >= 10) {
		if (onnx_in_ints(node, 1, "k", &given, &count))
			return -1;
		if (count != 1)
			return onnx_refuse(node, "k", "k must be one number");
		*k = given[0];
	}
	if (*k < 0 || *k > size)
		return onnx_refuse(node, "k", "k is %lld of %lld elements", (long long)*k,
				   (long long)size);
	return 0;
}

/* Sets both outputs from values and indices of int32. Returns 0 or -1. */
static int top_k_out(struct onnx_node *node, WNNOperand values, WNNOperand indices)
{
	WNNOperandDataType type = onnx_type_webnn(onnx_in_type(node, 0));

	if (onnx_wants(node, 0) &&
	    onnx_out_as(node, 0, values ? x_cast(node, values, type) : NULL, onnx_in_type(node, 0)))
		return -1;
	if (!onnx_wants(node, 1))
		return 0;
	return onnx_out(node, 1, indices ? x_cast(node, indices, WNNOperandDataType_Int64) : NULL);
}

/* The best k elements of each row of [rows, size], with their int32 indices. */
struct best {
	WNNOperand values, indices;
};

static bool wants_largest(struct onnx_node *node)
{
	return onnx_attr_int(node, "largest", 1);
}

/*
 * Returns the best k of each row by ranking: the rank of an element is the number of elements that
 * come before it. Needs the square of the elements, but no operators for each result.
 */
static struct best best_of_rows(struct onnx_node *node, WNNOperand x, int64_t k)
{
	WNNArgMinMaxOptions first = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNGatherOptions along = WNN_GATHER_OPTIONS_INIT;
	WNNOperandDataType type = WNNOperandDataType_Float32;
	WNNOperand one, other, before, rank;
	struct best best = { NULL, NULL };
	int64_t size;

	if (!x)
		return best;
	size = x_shape(x).dim[1];
	first.label = node->options.label;
	first.outputDataType = WNNOperandDataType_Int32;
	along.label = node->options.label;
	along.axis = 1;
	one = x_unsqueeze(node, x, 2);
	other = x_unsqueeze(node, x, 1);
	/*
	 * Ranks are whole numbers below 2^24, for which floats are exact, and fast on every device.
	 */
	before = x_less(node, onnx_iota(node, 3, 2, size), onnx_iota(node, 3, 1, size));
	before = x_mul(node, x_cast(node, x_equal(node, one, other), type),
		       x_cast(node, before, type));
	rank = wants_largest(node) ? x_less(node, one, other) : x_greater(node, one, other);
	before = x_add(node, x_cast(node, rank, type), before);
	rank = x_reduce1(node, X_SUM, before, 2, false);
	rank = rank ? x_unsqueeze(node, rank, 1) : NULL;
	rank = x_equal(node, rank, x_cast(node, onnx_iota(node, 3, 1, k), type));
	rank = x_cast(node, rank, type);
	best.indices = rank ? wnnGraphBuilderArgMax(node->b, rank, 2, &first) : NULL;
	best.values = best.indices ?
			      wnnGraphBuilderGatherElements(node->b, x, best.indices, &along) :
			      NULL;
	return best;
}

static WNNOperand half_of(struct onnx_node *node, WNNOperand pairs, int64_t which)
{
	return x_at(node, pairs, 1, which);
}

static WNNOperand to_places(struct onnx_node *node, WNNOperand left, WNNOperand right,
			    WNNOperand places, int64_t k)
{
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
	WNNOperand both[2] = { left, right }, all = x_concat(node, 2, both, 1);

	options.label = node->options.label;
	options.axis = 1;
	if (!all || !places)
		return NULL;
	all = wnnGraphBuilderScatterElements(node->b, all, places, all, &options);
	return x_part(node, all, 1, 0, k, 1);
}

/*
 * Merges each row with the next one, both in order: the position of an element in the result is its
 * own plus the number of elements of the other row that come before it. Equal elements keep the
 * order of the two rows.
 */
static struct best merge_rows(struct onnx_node *node, struct best rows, int64_t k)
{
	struct onnx_shape shape = x_shape(rows.values), pairs, line;
	int64_t size = shape.dim[1], most = 2 * size < k ? 2 * size : k;
	WNNOperandDataType type = WNNOperandDataType_Float32;
	WNNOperand left, right, later, place[2], values, indices;

	pairs = (struct onnx_shape){ 3, { shape.dim[0] / 2, 2, size } };
	line = (struct onnx_shape){ 2, { 1, size } };
	values = x_reshape(node, rows.values, &pairs);
	indices = x_reshape(node, rows.indices, &pairs);
	left = half_of(node, values, 0);
	right = half_of(node, values, 1);
	if (!left || !right || !indices)
		return (struct best){ NULL, NULL };
	later = (wants_largest(node) ? x_less : x_greater)(node, x_unsqueeze(node, left, 2),
							   x_unsqueeze(node, right, 1));
	later = x_cast(node, later, type);
	place[0] = x_cast(node, x_reshape(node, onnx_iota(node, 2, 1, size), &line), type);
	place[1] = x_add(node, place[0], x_number(node, type, (double)size));
	place[0] = x_add(node, x_reduce1(node, X_SUM, later, 2, false), place[0]);
	place[1] = x_sub(node, place[1], x_reduce1(node, X_SUM, later, 1, false));
	place[0] = x_cast(node, x_concat(node, 2, place, 1), WNNOperandDataType_Int32);
	return (struct best){ to_places(node, left, right, place[0], most),
			      to_places(node, half_of(node, indices, 0), half_of(node, indices, 1),
					place[0], most) };
}

/* Cuts long rows into slices, ranks each slice and merges the results by pairs. */
static struct best best_of_parts(struct onnx_node *node, WNNOperand x, int64_t k)
{
	struct onnx_shape shape = x_shape(x), cut, column;
	int64_t rows = shape.dim[0], size = shape.dim[1], parts = 1, part;
	struct best best = { NULL, NULL };
	WNNOperand fill[2];
	int32_t *starts;

	while ((size + parts - 1) / parts > PART)
		parts *= 2;
	part = (size + parts - 1) / parts;
	starts = onnx_node_alloc(node, (size_t)(rows * parts) * sizeof(*starts));
	if (!starts)
		return best;
	for (int64_t i = 0; i < rows * parts; i++)
		starts[i] = (int32_t)(i % parts * part);
	if (parts * part > size) {
		struct onnx_shape rest = { 2, { rows, parts * part - size } };

		fill[0] = x;
		fill[1] = x_expand(
			node, onnx_extreme(node, wnnOperandGetDataType(x), !wants_largest(node)),
			&rest);
		x = x_concat(node, 2, fill, 1);
	}
	cut = (struct onnx_shape){ 2, { rows * parts, part } };
	column = (struct onnx_shape){ 2, { rows * parts, 1 } };
	best = best_of_rows(node, x_reshape(node, x, &cut), k < part ? k : part);
	best.indices = x_add(node, best.indices,
			     x_constant(node, WNNOperandDataType_Int32, &column, starts));
	for (; best.values && best.indices && parts > 1; parts /= 2)
		best = merge_rows(node, best, k);
	return best;
}

static int top_k_by_rank(struct onnx_node *node, WNNOperand x, uint32_t axis, int64_t k)
{
	struct onnx_shape shape = x_shape(x), rows = { 2, { 1, 0 } };
	int64_t size = shape.dim[axis];
	struct best best;

	rows.dim[1] = size;
	rows.dim[0] = onnx_shape_elements(&shape) / size;
	x = x_reshape(node, x_move_axis(node, x, axis, shape.rank - 1), &rows);
	if (!x)
		return onnx_out(node, 0, NULL);
	best = size > 2 * PART ? best_of_parts(node, x, k) : best_of_rows(node, x, k);
	/* Moves the dimension back to its original index. */
	for (uint32_t i = axis; i + 1 < shape.rank; i++)
		shape.dim[i] = onnx_in_shape(node, 0)->dim[i + 1];
	shape.dim[shape.rank - 1] = k;
	return top_k_out(
		node, x_move_axis(node, x_reshape(node, best.values, &shape), shape.rank - 1, axis),
		x_move_axis(node, x_reshape(node, best.indices, &shape), shape.rank - 1, axis));
}

/*
 * Whether ranking needs few enough comparisons: rows, times the pairs of elements or of slices in
 * each.
 */
static bool ranks_in_reach(const struct onnx_shape *shape, uint32_t axis, int64_t k)
{
	int64_t size = shape->dim[axis], rows = onnx_shape_elements(shape) / size;

	if (size <= 2 * PART)
		return rows * size <= MAX_COMPARISONS / size;
	return rows * size <= MAX_COMPARISONS / PART && k <= 2048 &&
	       rows * (size / PART + 1) <= MAX_COMPARISONS / k / k * 2;
}

static int top_none(struct onnx_node *node, const struct onnx_shape *like, uint32_t axis)
{
	struct onnx_shape shape = *like;

	shape.dim[axis] = 0;
	for (size_t i = 0; i < 2 && i < node->output_count; i++)
		if (onnx_out_empty(node, i, i ? ONNX_INT64 : onnx_in_type(node, 0), &shape))
			return -1;
	return 0;
}

static int top_k_by_selection(struct onnx_node *node, WNNOperand x, uint32_t axis, int64_t k)
{
	WNNArgMinMaxDetails details = WNN_ARG_MIN_MAX_DETAILS_INIT;
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNGatherOptions along = WNN_GATHER_OPTIONS_INIT;
	WNNOperand indices;

	details.count = (uint32_t)k;
	options.nextInChain = &details.chain;
	options.label = along.label = node->options.label;
	options.outputDataType = WNNOperandDataType_Int32;
	along.axis = axis;
	indices = wants_largest(node) ? wnnGraphBuilderArgMax(node->b, x, axis, &options) :
					wnnGraphBuilderArgMin(node->b, x, axis, &options);
	return top_k_out(
		node, indices ? wnnGraphBuilderGatherElements(node->b, x, indices, &along) : NULL,
		indices);
}

/*
 * Translates TopK. Without ranking, takes the extreme element k times and remembers the taken
 * elements; overwriting them by an infinity would fail where the input holds infinities. Among
 * equal elements the first is taken.
 */
int onnx_op_top_k(struct onnx_node *node)
{
	bool largest = onnx_attr_int(node, "largest", 1);
	enum x_reduction kind = largest ? X_MAX : X_MIN;
	WNNArgMinMaxOptions first = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), steps, worst, taken = NULL, *values, *indices;
	WNNOperandDataType type;
	struct onnx_shape shape;
	uint32_t axis;
	int64_t k;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), shape.rank, &axis) ||
	    read_k(node, shape.dim[axis], &k))
		return -1;
	if (!k)
		return top_none(node, &shape, axis);
	if (import_runs_on_cpu(node->b))
		return top_k_by_selection(node, x, axis, k);
	type = wnnOperandGetDataType(x);
	if (type == WNNOperandDataType_Int8 || type == WNNOperandDataType_Uint8)
		x = x_cast(node, x, WNNOperandDataType_Int32);
	if (x && k > 4 && ranks_in_reach(&shape, axis, k))
		return top_k_by_rank(node, x, axis, k);
	if (onnx_unroll(node, (uint64_t)k * 8))
		return -1;
	values = onnx_node_alloc(node, (size_t)k * sizeof(*values));
	indices = onnx_node_alloc(node, (size_t)k * sizeof(*indices));
	steps = onnx_iota(node, shape.rank, axis, shape.dim[axis]);
	if (!x || !values || !indices || !steps)
		return onnx_out(node, 0, NULL);
	worst = onnx_extreme(node, wnnOperandGetDataType(x), !largest);
	first.label = node->options.label;
	first.keepDimensions = WNN_TRUE;
	first.outputDataType = WNNOperandDataType_Int32;
	for (int64_t i = 0; i < k; i++) {
		WNNOperand left = taken ? x_where(node, taken, worst, x) : x, here;

		values[i] = x_reduce1(node, kind, left, axis, true);
		here = x_equal(node, x, values[i]);
		if (taken)
			here = x_and(node, here, x_not(node, taken));
		here = x_cast(node, here, WNNOperandDataType_Int32);
		indices[i] = wnnGraphBuilderArgMax(node->b, here, axis, &first);
		here = x_equal(node, steps, indices[i]);
		taken = taken ? x_or(node, taken, here) : here;
		if (!taken)
			return onnx_out(node, 0, NULL);
	}
	return top_k_out(node, x_concat(node, (size_t)k, values, axis),
			 x_concat(node, (size_t)k, indices, axis));
}

/*
 * ReverseSequence: gathers rows of batch and time; the first rows of each batch come in reverse
 * order.
 */
int onnx_op_reverse_sequence(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), lengths = x ? onnx_in(node, 1) : NULL, steps, starts, at;
	int64_t batch_axis = onnx_attr_int(node, "batch_axis", 1), batches, times;
	struct onnx_shape shape, rows, line = { 2, { 1, 1 } };

	if (!lengths)
		return -1;
	shape = x_shape(x);
	if (shape.rank < 2 || batch_axis < 0 || batch_axis > 1 ||
	    onnx_attr_int(node, "time_axis", 0) != 1 - batch_axis)
		return onnx_refuse(node, "time_axis",
				   "batch_axis and time_axis are not the first two dimensions");
	batches = shape.dim[batch_axis];
	times = shape.dim[1 - batch_axis];
	if (x_shape(lengths).rank != 1 || x_shape(lengths).dim[0] != batches)
		return onnx_refuse(
			node, "sequence_lens",
			"sequence_lens has shape %s instead of [%lld], one item for each batch",
			onnx_shape_text(node->import->arena, onnx_in_shape(node, 1)),
			(long long)batches);
	if (batches * times > ONNX_INDICES)
		return onnx_refuse(
			node, "", "the sequences are too long: %lld of %lld, at most %lld together",
			(long long)batches, (long long)times, (long long)ONNX_INDICES);
	steps = onnx_iota(node, 2, (uint32_t)(1 - batch_axis), times);
	starts = onnx_iota(node, 2, (uint32_t)batch_axis, batches);
	line.dim[batch_axis] = batches;
	lengths = x_cast(node, x_reshape(node, lengths, &line), WNNOperandDataType_Int32);
	at = x_sub(node, x_sub(node, lengths, x_integer(node, WNNOperandDataType_Int32, 1)), steps);
	at = x_where(node, x_less(node, steps, lengths), at, steps);
	if (batch_axis)
		at = x_add(node,
			   x_mul(node, at, x_integer(node, WNNOperandDataType_Int32, batches)),
			   starts);
	else
		at = x_add(node,
			   x_mul(node, starts, x_integer(node, WNNOperandDataType_Int32, times)),
			   at);
	rows = (struct onnx_shape){
		2, { batches * times, onnx_shape_elements(&shape) / (batches * times) }
	};
	line = (struct onnx_shape){ 1, { batches * times } };
	x = x_gather(node, x_reshape(node, x, &rows), x_reshape(node, at, &line), 0);
	return onnx_out_as(node, 0, x_reshape(node, x, &shape), onnx_in_type(node, 0));
}
