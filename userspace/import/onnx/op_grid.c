// SPDX-License-Identifier: MIT
/*
 * GridSample: computes positions with elementwise operators, gathers the elements there and adds
 * them up with their weights.
 */
#include <string.h>

#include "grid.h"
#include "ops.h"

#define MAX_REACH 4

/*
 * One of the elements that a sample combines along a dimension: its index, its weight, and whether
 * it lies in the image (NULL: always).
 */
struct tap {
	WNNOperand index, weight, inside;
};

static int read_grid(struct onnx_node *node, struct onnx_grid *g)
{
	const char *mode = onnx_attr_string(node, "mode", "linear");
	const char *padding = onnx_attr_string(node, "padding_mode", "zeros");
	const struct onnx_shape *x = onnx_in_shape(node, 0), *grid = onnx_in_shape(node, 1);

	*g = (struct onnx_grid){ .corners = onnx_attr_int(node, "align_corners", 0), .points = 1 };
	if (!strcmp(mode, "nearest"))
		g->reach = 1;
	else if (!strcmp(mode, "linear") || !strcmp(mode, "bilinear"))
		g->reach = 2;
	else if (!strcmp(mode, "cubic") || !strcmp(mode, "bicubic"))
		g->reach = 4;
	else
		return onnx_refuse(
			node, "mode",
			"mode is \"%s\": nearest, linear, bilinear, cubic and bicubic are allowed",
			mode);
	if (!strcmp(padding, "border"))
		g->padding = ONNX_PAD_BORDER;
	else if (!strcmp(padding, "reflection"))
		g->padding = ONNX_PAD_REFLECTION;
	else if (strcmp(padding, "zeros"))
		return onnx_refuse(
			node, "padding_mode",
			"padding_mode is \"%s\": zeros, border and reflection are allowed",
			padding);
	if (x->rank < 3 || x->rank > 2 + ONNX_GRID_SPATIAL)
		return onnx_refuse(node, "", "X has %u dimensions instead of 3 to 5", x->rank);
	g->rank = x->rank - 2;
	if (grid->rank != x->rank || grid->dim[grid->rank - 1] != g->rank ||
	    grid->dim[0] != x->dim[0])
		return onnx_refuse(node, "",
				   "grid must have as many dimensions as X, its first one must be "
				   "that of X, and its last one %u: the inputs are %s",
				   g->rank, onnx_inputs_text(node));
	g->image = *x;
	g->batch = x->dim[0];
	g->channels = x->dim[1];
	for (uint32_t i = 0; i < g->rank; i++)
		g->points *= grid->dim[1 + i];
	return 0;
}

/*
 * Reflects positions outside of low to high back into that range, as often as needed. All become
 * @low when the range has no length.
 */
static WNNOperand reflect(struct onnx_node *node, WNNOperand x, double low, double high)
{
	double period = 2 * (high - low);
	WNNOperand times;

	if (period <= 0)
		return x_linear(node, x, 0, low);
	x = x_abs(node, x_linear(node, x, 1, -low));
	times = x_floor(node, x_linear(node, x, 1 / period, 0));
	x = x_sub(node, x, x_linear(node, times, period, 0));
	return x_linear(node, x_min(node, x, x_linear(node, x, -1, period)), 1, low);
}

static WNNOperand fold(struct onnx_node *node, const struct onnx_grid *g, WNNOperand x,
		       int64_t size)
{
	double low = g->corners ? 0 : -0.5;

	if (g->padding == ONNX_PAD_BORDER)
		return x_clamp(node, x, 0, (double)(size - 1));
	return g->padding == ONNX_PAD_REFLECTION ? reflect(node, x, low, (double)(size - 1) - low) :
						   x;
}

/*
 * Returns the positions along dimension @d in elements, from the grid's [-1, 1]; the grid has x
 * first.
 */
static WNNOperand position(struct onnx_node *node, const struct onnx_grid *g, WNNOperand grid,
			   uint32_t d)
{
	double size = (double)g->image.dim[2 + d];
	WNNOperand x = x_slice_axis(node, grid, 2, g->rank - 1 - d, 1, 1);

	x = g->corners ? x_linear(node, x, (size - 1) / 2, (size - 1) / 2) :
			 x_linear(node, x, size / 2, (size - 1) / 2);
	if (g->reach == 1)
		x = x_round(node, x);
	/*
	 * Cubic samples keep the position: the index of each of their elements is folded into the
	 * image later, as the frameworks that export such models do.
	 */
	return g->reach == 4 ? x : fold(node, g, x, g->image.dim[2 + d]);
}

/* Returns the weight of the element at @offset for a position that is @rest after element 0. */
static WNNOperand weight(struct onnx_node *node, const struct onnx_grid *g, WNNOperand rest,
			 int offset)
{
	double a = -0.75;
	WNNOperand x, y;

	if (g->reach == 2)
		return offset ? rest : x_linear(node, rest, -1, 1);
	x = offset > 0 ? x_linear(node, rest, -1, offset) : x_linear(node, rest, 1, -offset);
	if (offset == 0 || offset == 1) {
		y = x_linear(node, x, a + 2, -(a + 3));
		return x_linear(node, x_mul(node, x_mul(node, y, x), x), 1, 1);
	}
	y = x_linear(node, x, a, -5 * a);
	y = x_linear(node, x_mul(node, y, x), 1, 8 * a);
	return x_linear(node, x_mul(node, y, x), 1, -4 * a);
}

static void make_taps(struct onnx_node *node, const struct onnx_grid *g, WNNOperand x, uint32_t d,
		      struct tap *taps)
{
	int64_t size = g->image.dim[2 + d];
	WNNOperand low = x, rest = NULL;

	if (g->reach > 1) {
		low = x_floor(node, x);
		rest = x_sub(node, x, low);
	}
	for (uint32_t i = 0; i < g->reach; i++) {
		int offset = (int)i - (g->reach == 4);
		WNNOperand at = x_linear(node, low, 1, offset), kept;

		at = fold(node, g, at, size);
		kept = x_clamp(node, at, 0, (double)(size - 1));
		taps[i] = (struct tap){ .index = x_cast(node, kept, WNNOperandDataType_Int32) };
		if (g->padding == ONNX_PAD_ZEROS)
			taps[i].inside = x_equal(node, at, kept);
		if (rest)
			taps[i].weight = weight(node, g, rest, offset);
	}
}

/* Returns the index of the first row of each batch in the image as one matrix: n times @size. */
static WNNOperand batch_starts(struct onnx_node *node, const struct onnx_grid *g, int64_t size)
{
	struct onnx_shape shape = { 3, { g->batch, 1, 1 } };
	int32_t *starts = onnx_node_alloc(node, (size_t)g->batch * sizeof(*starts));

	for (int64_t i = 0; starts && i < g->batch; i++)
		starts[i] = (int32_t)(i * size);
	return starts ? x_constant(node, WNNOperandDataType_Int32, &shape, starts) : NULL;
}

/*
 * Returns [batch, points, channels] for one combination of taps, one tap for each dimension: the
 * gathered elements, 0 where a tap is outside, times the weights of the taps.
 */
static WNNOperand corner(struct onnx_node *node, const struct onnx_grid *g, WNNOperand rows,
			 WNNOperand starts, struct tap *const *taps)
{
	struct onnx_shape shape = { 2, { g->batch, g->points } };
	WNNOperand index = starts, weights = NULL, inside = NULL, y;
	int64_t stride = 1;

	for (uint32_t d = g->rank; d--; stride *= g->image.dim[2 + d]) {
		WNNOperand step = taps[d]->index;

		if (stride > 1)
			step = x_mul(node, step, x_integer(node, WNNOperandDataType_Int32, stride));
		index = x_add(node, index, step);
		if (taps[d]->weight)
			weights = weights ? x_mul(node, weights, taps[d]->weight) : taps[d]->weight;
		if (taps[d]->inside)
			inside = inside ? x_and(node, inside, taps[d]->inside) : taps[d]->inside;
	}
	y = x_gather(node, rows, x_reshape(node, index, &shape), 0);
	if (inside)
		y = x_where(node, inside, y, x_like(node, y, 0));
	return weights ? x_mul(node, x_cast(node, y, WNNOperandDataType_Float32), weights) : y;
}

WNNOperand onnx_grid_sample(struct onnx_node *node, const struct onnx_grid *g, WNNOperand x,
			    const WNNOperand *positions)
{
	struct tap taps[ONNX_GRID_SPATIAL][MAX_REACH], *chosen[ONNX_GRID_SPATIAL];
	int64_t size = onnx_shape_elements(&g->image) / (g->batch * g->channels);
	struct onnx_shape rows = { 2, { g->batch * size, g->channels } };
	WNNOperand sum = NULL, starts;
	uint32_t corners = 1;

	x = x_reshape(node, x_move_axis(node, x, 1, g->rank + 1), &rows);
	starts = batch_starts(node, g, size);
	for (uint32_t d = 0; d < g->rank; d++) {
		make_taps(node, g, positions[d], d, taps[d]);
		corners *= g->reach;
	}
	for (uint32_t i = 0; i < corners; i++) {
		uint32_t rest = i;
		WNNOperand y;

		for (uint32_t d = 0; d < g->rank; d++, rest /= g->reach)
			chosen[d] = &taps[d][rest % g->reach];
		y = corner(node, g, x, starts, chosen);
		sum = sum ? x_add(node, sum, y) : y;
	}
	return sum;
}

int onnx_op_grid_sample(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), grid = x ? onnx_in(node, 1) : NULL;
	WNNOperand at[ONNX_GRID_SPATIAL], y;
	struct onnx_shape points, out;
	struct onnx_grid g;

	if (!grid || read_grid(node, &g))
		return -1;
	points = (struct onnx_shape){ 3, { g.batch, g.points, g.rank } };
	out = (struct onnx_shape){ g.rank + 2, { g.batch, g.channels } };
	for (uint32_t i = 0; i < g.rank; i++)
		out.dim[2 + i] = onnx_in_shape(node, 1)->dim[1 + i];
	/* Positions are float32, because float16 has too few digits. */
	grid = x_cast(node, x_reshape(node, grid, &points), WNNOperandDataType_Float32);
	for (uint32_t d = 0; d < g.rank; d++)
		at[d] = position(node, &g, grid, d);
	y = onnx_grid_sample(node, &g, x, at);
	y = y ? x_cast(node, y, onnx_type_webnn(onnx_in_type(node, 0))) : NULL;
	y = x_reshape(node, x_move_axis(node, y, 2, 1), &out);
	return onnx_out_as(node, 0, y, onnx_in_type(node, 0));
}
