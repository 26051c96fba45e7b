// SPDX-License-Identifier: MIT
/*
 * Draws calls of operators whose operands have shapes of their own, such as convolutions and
 * scatters.
 */
#include <math.h>
#include <string.h>

#include "generate.h"

#define RNG (&d->g->rng)

static const struct fill weights = { GRAPH_UNIFORM, -1, 1 };
static const struct fill positive = { GRAPH_UNIFORM, 0.05, 2 };

static int operand(struct draw *d, uint32_t which, uint32_t rank, const uint32_t *dims,
		   struct fill fill)
{
	d->node->operands[which] = generator_operand(d->g, d->x->type, rank, dims, fill);
	return d->node->operands[which] < 0 ? -1 : 0;
}

static int maybe_operand(struct draw *d, uint32_t which, uint32_t rank, const uint32_t *dims,
			 struct fill fill)
{
	return rng_chance(RNG, 50) ? operand(d, which, rank, dims, fill) : 0;
}

/* --- Windows --- */

/*
 * The properties that conv2d and the pools share: sizes of the image, and the numbers of the
 * window.
 */
struct window {
	uint32_t c, h, w;
	uint32_t size[2], stride[2], dilation[2], pad[4];
};

static void draw_window(struct draw *d, const char *layout, struct window *win, bool limit_pad)
{
	bool wide = rng_chance(RNG, 12);
	uint32_t hwc;

	if (!d->g->same_size)
		maybe_enum(d, layout, 2);
	hwc = graph_option(d->node, layout)->set &&
	      graph_option(d->node, layout)->word[0] == WNNInputOperandLayout_Nhwc;
	win->c = d->x->dims[hwc ? 3 : 1];
	win->h = d->x->dims[hwc ? 1 : 2];
	win->w = d->x->dims[hwc ? 2 : 3];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t most = (i ? win->w : win->h) < 5 ? (i ? win->w : win->h) : 5;

		win->size[i] = rng_chance(RNG, 30) ? 1 : rng_between(RNG, 1, most);
		/* Windows of networks are 3x3 where they fit, and rarely 1x1. */
		if (d->g->depthwise || d->g->same_size)
			win->size[i] = most < 3 ? most : 3;
		win->stride[i] = rng_chance(RNG, 50) ? 1 : rng_between(RNG, 1, wide ? 12 : 3);
		win->dilation[i] = rng_chance(RNG, 70) ? 1 : rng_between(RNG, 1, 3);
		for (uint32_t k = 0; k < 2; k++)
			win->pad[2 * i + k] = rng_chance(RNG, 50) ?
						      0 :
						      rng_below(RNG, limit_pad ? win->size[i] :
								     wide      ? 12 :
										 4);
		if (!d->g->same_size)
			continue;
		win->stride[i] = win->dilation[i] = 1;
		win->pad[2 * i] = win->pad[2 * i + 1] = win->size[i] / 2;
	}
}

static void window_options(struct draw *d, const struct window *win)
{
	if (rng_chance(RNG, 65))
		set_list(graph_option(d->node, "strides"), 2, win->stride);
	if (rng_chance(RNG, 50))
		set_list(graph_option(d->node, "dilations"), 2, win->dilation);
	if (d->g->same_size || rng_chance(RNG, 65))
		set_list(graph_option(d->node, "padding"), 4, win->pad);
}

static uint32_t draw_groups(struct draw *d, uint32_t channels)
{
	uint32_t groups = 1;

	if (d->g->depthwise || rng_chance(RNG, 25))
		groups = channels;
	else if (rng_chance(RNG, 35))
		groups = rng_between(RNG, 1, channels);
	while (channels % groups)
		groups--;
	if (groups > 1 || rng_chance(RNG, 30))
		set_word(graph_option(d->node, "groups"), groups);
	return groups;
}

/*
 * Returns a random number of output channels of each group, so small that the convolution's work
 * stays within the generator's limit; 0: a single channel is too much work.
 */
static uint32_t draw_width(struct draw *d, uint64_t work_of_one)
{
	uint64_t most = d->g->work / (work_of_one + 1);

	if (!most)
		return 0;
	return rng_between(RNG, 1, most < 40 ? (uint32_t)most : 40);
}

static int filter_of(struct draw *d, const uint8_t (*order)[4], uint32_t layouts,
		     const uint32_t parts[4], uint32_t bias)
{
	struct graph_attr *layout = graph_option(d->node, "filterLayout");
	uint32_t dims[4];

	maybe_enum(d, "filterLayout", layouts);
	for (uint32_t i = 0; i < 4; i++)
		dims[order[layout->set ? layout->word[0] - 1 : 0][i]] = parts[i];
	if (operand(d, 1, 4, dims, weights))
		return -1;
	return maybe_operand(d, 2, 1, &bias, weights);
}

int draw_conv(struct draw *d)
{
	/* Dimensions of output channels, input channels, height and width. */
	static const uint8_t order[][4] = {
		{ 0, 1, 2, 3 },
		{ 3, 2, 0, 1 },
		{ 0, 3, 1, 2 },
		{ 3, 0, 1, 2 },
	};
	struct window win;
	uint32_t groups, width;

	draw_window(d, "inputLayout", &win, false);
	window_options(d, &win);
	groups = draw_groups(d, win.c);
	width = d->g->depthwise ? 1 :
				  draw_width(d, graph_elements(d->x) * win.size[0] * win.size[1]);
	if (!width)
		return -1;
	return filter_of(d, order, 4,
			 (uint32_t[]){ groups * width, win.c / groups, win.size[0], win.size[1] },
			 groups * width);
}

int draw_conv_transpose(struct draw *d)
{
	static const uint8_t order[][4] = { { 1, 0, 2, 3 }, { 2, 3, 0, 1 }, { 0, 3, 1, 2 } };
	struct window win;
	uint32_t groups, width, extra[2], sizes[2];

	draw_window(d, "inputLayout", &win, true);
	window_options(d, &win);
	groups = draw_groups(d, win.c);
	width = draw_width(d, graph_elements(d->x) * win.size[0] * win.size[1] * 9);
	if (!width)
		return -1;
	for (uint32_t i = 0; i < 2; i++) {
		const struct graph_attr *strides = graph_option(d->node, "strides");
		const struct graph_attr *dilations = graph_option(d->node, "dilations");
		const struct graph_attr *pads = graph_option(d->node, "padding");
		uint32_t stride = strides->set ? win.stride[i] : 1;
		uint32_t dilation = dilations->set ? win.dilation[i] : 1;
		uint32_t cut = pads->set ? win.pad[2 * i] + win.pad[2 * i + 1] : 0;

		extra[i] = rng_below(RNG, stride);
		sizes[i] = ((i ? win.w : win.h) - 1) * stride + (win.size[i] - 1) * dilation + 1 -
			   cut + extra[i];
	}
	if (rng_chance(RNG, 40))
		set_list(graph_option(d->node, "outputPadding"), 2, extra);
	if (rng_chance(RNG, 25))
		set_list(graph_option(d->node, "outputSizes"), 2, sizes);
	return filter_of(d, order, 3, (uint32_t[]){ width, win.c, win.size[0], win.size[1] },
			 groups * width);
}

int draw_pool(struct draw *d)
{
	struct window win;
	uint32_t sizes[2];
	bool ceil;

	draw_window(d, "layout", &win, true);
	window_options(d, &win);
	if (rng_chance(RNG, 75))
		set_list(graph_option(d->node, "windowDimensions"), 2, win.size);
	maybe_enum(d, "outputShapeRounding", 2);
	ceil = rng_chance(RNG, 50);
	for (uint32_t i = 0; i < 2; i++) {
		const struct graph_attr *strides = graph_option(d->node, "strides");
		uint32_t full = i ? win.w : win.h, stride = strides->set ? win.stride[i] : 1;
		uint32_t size = graph_option(d->node, "windowDimensions")->set ? win.size[i] : full;
		uint32_t dilation = graph_option(d->node, "dilations")->set ? win.dilation[i] : 1;
		uint32_t pads = graph_option(d->node, "padding")->set ?
					win.pad[2 * i] + win.pad[2 * i + 1] :
					0;
		int64_t room = (int64_t)full + pads - (size - 1) * (int64_t)dilation - 1;

		if (room < 0)
			return -1;
		sizes[i] = (uint32_t)((room + (ceil ? stride - 1 : 0)) / stride) + 1;
	}
	if (rng_chance(RNG, 25))
		set_list(graph_option(d->node, "outputSizes"), 2, sizes);
	return 0;
}

int draw_resample(struct draw *d)
{
	uint32_t axes[2] = { 2, 3 }, sizes[2];
	struct graph_attr *scales = graph_option(d->node, "scales");

	maybe_enum(d, "mode", 2);
	if (rng_chance(RNG, 60)) {
		axes[0] = rng_below(RNG, 4);
		axes[1] = (axes[0] + rng_between(RNG, 1, 3)) % 4;
		set_list(graph_option(d->node, "axes"), 2, axes);
	}
	if (rng_chance(RNG, 50)) {
		scales->set = true;
		scales->count = 2;
		for (uint32_t i = 0; i < 2; i++)
			scales->real[i] = (float)rng_real(RNG, 1.01 / d->x->dims[axes[i]], 3);
	}
	if (rng_chance(RNG, 40)) {
		for (uint32_t i = 0; i < 2; i++)
			sizes[i] = rng_between(RNG, 1, 2 * d->x->dims[axes[i]] + 3);
		set_list(graph_option(d->node, "sizes"), 2, sizes);
	}
	return 0;
}

/* --- Products --- */

int draw_gemm(struct draw *d)
{
	uint32_t k, m, n, b[2], c[2], lead;
	bool flip;

	maybe_real(d, "alpha", -1, 2);
	maybe_real(d, "beta", -1, 2);
	maybe_bool(d, "aTranspose");
	maybe_bool(d, "bTranspose");
	flip = graph_option(d->node, "aTranspose")->word[0];
	m = d->x->dims[flip];
	k = d->x->dims[!flip];
	n = draw_width(d, (uint64_t)m * k);
	if (!n)
		return -1;
	flip = graph_option(d->node, "bTranspose")->word[0];
	b[flip] = k;
	b[!flip] = n;
	if (operand(d, 1, 2, b, weights))
		return -1;
	c[0] = rng_chance(RNG, 60) ? m : 1;
	c[1] = rng_chance(RNG, 60) ? n : 1;
	lead = rng_chance(RNG, 60) ? 0 : rng_between(RNG, 1, 2);
	return maybe_operand(d, 2, 2 - lead, c + lead, weights);
}

int draw_matmul(struct draw *d)
{
	uint32_t rank = d->x->rank, dims[IR_MAX_RANK], drop = 0;
	uint32_t n = draw_width(d, graph_elements(d->x));

	if (!n)
		return -1;
	memcpy(dims, d->x->dims, sizeof(dims));
	dims[rank - 2] = d->x->dims[rank - 1];
	dims[rank - 1] = n;
	for (uint32_t i = 0; i + 2 < rank; i++)
		if (rng_chance(RNG, 25))
			dims[i] = 1;
		else if (dims[i] == 1 && rng_chance(RNG, 40))
			dims[i] = rng_between(RNG, 1, 4);
	if (rng_chance(RNG, 30))
		drop = rng_below(RNG, rank - 1);
	return operand(d, 1, rank - drop, dims + drop, weights);
}

/* --- Recurrent networks --- */

struct cell {
	bool lstm, single;
	uint32_t gates, hidden, batch, input, directions;
};

static struct cell cell_of(struct draw *d)
{
	struct cell c = { 0 };

	c.lstm = d->node->op == WNN_OP_LSTM || d->node->op == WNN_OP_LSTM_CELL;
	c.single = d->node->op == WNN_OP_LSTM_CELL || d->node->op == WNN_OP_GRU_CELL;
	c.gates = c.lstm ? 4 : 3;
	c.hidden = rng_between(RNG, 1, rng_chance(RNG, 20) ? 40 : 9);
	c.directions = 1;
	c.batch = d->x->dims[c.single ? 0 : 1];
	c.input = d->x->dims[c.single ? 1 : 2];
	return c;
}

static bool many_steps(const struct draw *d, const struct cell *c)
{
	return !c->single && d->x->dims[0] > 3;
}

/*
 * Draws operand @i of a cell. Its first dimension is the directions, unless the cell is a single
 * step. Returns -1 when the operand cannot be drawn.
 */
static int cell_operand(struct draw *d, const struct cell *c, uint32_t i)
{
	const struct wnn_op_operand *row = &wnn_op_info[d->node->op].operands[i];
	uint32_t dims[3], n = 0;
	bool state = strstr(row->name, "State") != NULL;
	struct fill fill = weights;

	if (!c->single)
		dims[n++] = c->directions;
	if (state)
		dims[n++] = c->batch;
	dims[n++] = state ? c->hidden :
			    (strcmp(row->name, "peepholeWeight") ? c->gates : 3) * c->hidden;
	if (!strcmp(row->name, "weight"))
		dims[n++] = c->input;
	if (!strcmp(row->name, "recurrentWeight")) {
		dims[n++] = c->hidden;
		/*
		 * Over many steps, growing states would make tiny differences large: these weights
		 * keep states from growing.
		 */
		if (many_steps(d, c)) {
			fill.hi = 1 / sqrt(c->hidden);
			fill.lo = -fill.hi;
		}
	}
	if (row->flags & WNN_OPERAND_OPTIONAL)
		return maybe_operand(d, i, n, dims, fill);
	return operand(d, i, n, dims, fill);
}

int draw_recurrent(struct draw *d)
{
	struct cell c = cell_of(d);
	uint32_t activations[3];
	bool sequence = false;

	set_word(graph_argument(d->node, "hiddenSize"), c.hidden);
	maybe_enum(d, "layout", 2);
	if (!c.lstm)
		maybe_bool(d, "resetAfter");
	for (uint32_t i = 0; i < 3; i++)
		activations[i] = rng_between(RNG, rng_chance(RNG, 80) ? 2 : 1, 3);
	/* A gate above 1 would make the state grow with every step. */
	if (many_steps(d, &c) && activations[0] == WNNRecurrentNetworkActivation_Relu)
		activations[0] = WNNRecurrentNetworkActivation_Sigmoid;
	if (rng_chance(RNG, 50))
		set_list(graph_option(d->node, "activations"), c.lstm ? 3 : 2, activations);
	if (!c.single) {
		struct graph_attr *direction = graph_option(d->node, "direction");

		set_word(graph_argument(d->node, "steps"), d->x->dims[0]);
		maybe_bool(d, "returnSequence");
		sequence = graph_option(d->node, "returnSequence")->word[0];
		maybe_enum(d, "direction", 3);
		if (direction->set && direction->word[0] == WNNRecurrentNetworkDirection_Both)
			c.directions = 2;
	}
	/* At most 24 steps are drawn, as a state forgets the errors of early steps only slowly. */
	if (!c.single && d->x->dims[0] > 24)
		return -1;
	if (graph_elements(d->x) * c.hidden * c.gates * c.directions > d->g->work ||
	    (uint64_t)c.gates * c.hidden * c.input > d->g->budget * 8)
		return -1;
	d->node->num_results = (c.lstm ? 2 : 1) + sequence;
	for (uint32_t i = 1; i < d->node->num_operands; i++)
		if (cell_operand(d, &c, i))
			return -1;
	return 0;
}

/* --- Indices --- */

static WNNOperandDataType index_type(struct draw *d)
{
	const struct wnn_op_operand *row = &wnn_op_info[d->node->op].operands[1];
	WNNOperandDataTypeSet types = row->types;

	if (d->g->limits)
		types &= wnn_op_operand_limits(d->g->limits, d->node->op, row)->dataTypes;
	return pick_type(RNG, types);
}

/*
 * Draws an input or constant of indices into a dimension of @n elements, as operand 1: mostly from
 * -n, or 0 for uint32, to n - 1, now and then also beyond. Returns 0, or -1 when the indices cannot
 * be drawn.
 */
static int index_operand(struct draw *d, uint32_t rank, const uint32_t *dims, uint32_t n)
{
	WNNOperandDataType type = index_type(d);
	struct fill fill = { GRAPH_UNIFORM, -(double)n, n - 1.0 };

	if (!type)
		return -1;
	if (rng_chance(RNG, 20))
		fill = (struct fill){ GRAPH_UNIFORM, -2.0 * n - 2, 2.0 * n + 2 };
	if (type == WNNOperandDataType_Uint32)
		fill.lo = 0;
	if (rng_chance(RNG, 20))
		fill.kind = GRAPH_BITS;
	d->node->operands[1] = generator_leaf(d->g, type, rank, dims, fill);
	return d->node->operands[1] < 0 ? -1 : 0;
}

static uint32_t axis_of(struct draw *d)
{
	uint32_t axis = rng_below(RNG, d->x->rank);

	if (axis || rng_chance(RNG, 50))
		set_word(graph_option(d->node, "axis"), axis);
	return axis;
}

int draw_gather(struct draw *d)
{
	uint32_t axis = axis_of(d), room = IR_MAX_RANK + 1 - d->x->rank, dims[IR_MAX_RANK];
	uint32_t rank = rng_below(RNG, (room < 3 ? room : 3) + 1);

	generator_dims(d->g, rank, 1, 2 * (uint64_t)d->x->dims[axis] + 4, dims);
	return index_operand(d, rank, dims, d->x->dims[axis]);
}

int draw_gather_elements(struct draw *d)
{
	uint32_t axis = axis_of(d), dims[IR_MAX_RANK];

	memcpy(dims, d->x->dims, sizeof(dims));
	dims[axis] = rng_between(RNG, 1, dims[axis] + 2);
	return index_operand(d, d->x->rank, dims, d->x->dims[axis]);
}

/*
 * Sets dims to a shape of indices, which are tuples of k coordinates, and returns its rank; k and
 * the number of tuples are random.
 */
static uint32_t tuples(struct draw *d, uint32_t *dims)
{
	uint32_t k = rng_between(RNG, 1, d->x->rank);
	uint32_t rank = 1 + rng_below(RNG, 3), rest = d->x->rank - k;

	if (rank - 1 + rest > IR_MAX_RANK)
		rank = IR_MAX_RANK + 1 - rest;
	generator_dims(d->g, rank - 1, 1, graph_elements(d->x) / (k == d->x->rank ? 1 : 4) + 2,
		       dims);
	dims[rank - 1] = k;
	return rank;
}

static uint32_t smallest(const struct graph_value *x, uint32_t k)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < k; i++)
		least = x->dims[i] < least ? x->dims[i] : least;
	return least;
}

int draw_gather_nd(struct draw *d)
{
	uint32_t dims[IR_MAX_RANK], rank = tuples(d, dims);

	return index_operand(d, rank, dims, smallest(d->x, dims[rank - 1]) * 2);
}

int draw_scatter_elements(struct draw *d)
{
	uint32_t axis = axis_of(d), dims[IR_MAX_RANK];

	memcpy(dims, d->x->dims, sizeof(dims));
	dims[axis] = rng_between(RNG, 1, dims[axis] + 2);
	if (index_operand(d, d->x->rank, dims, d->x->dims[axis]))
		return -1;
	return operand(d, 2, d->x->rank, dims, generator_fill(d->g, d->node->op, d->x->type));
}

int draw_scatter_nd(struct draw *d)
{
	uint32_t dims[IR_MAX_RANK + 1], rank = tuples(d, dims), k = dims[rank - 1];
	uint32_t shape[2 * IR_MAX_RANK], n = rank - 1;

	memcpy(shape, dims, n * sizeof(*dims));
	for (uint32_t i = k; i < d->x->rank; i++)
		shape[n++] = d->x->dims[i];
	if (n > IR_MAX_RANK || index_operand(d, rank, dims, smallest(d->x, k) * 2))
		return -1;
	return operand(d, 2, n, shape, generator_fill(d->g, d->node->op, d->x->type));
}

/* --- Quantisation and normalisation --- */

/*
 * Returns a divisor of dim as a dimension of the scale: dim, 1, or a number of blocks, at random;
 * with @all, the largest that is at most half of dim, rounded up.
 */
static uint32_t blocks(struct draw *d, uint32_t dim, bool all)
{
	uint32_t n = rng_chance(RNG, 40) ? 1 : rng_chance(RNG, 50) ? dim : rng_between(RNG, 1, dim);

	if (all)
		n = (dim + 1) / 2;
	while (dim % n)
		n--;
	return n;
}

int draw_quantize(struct draw *d)
{
	bool quantize = d->node->op == WNN_OP_QUANTIZE_LINEAR;
	const struct wnn_op_operand *row = &wnn_op_info[d->node->op].operands[quantize ? 2 : 1];
	WNNOperandDataTypeSet types = row->types | row->extension_types;
	bool all = rng_chance(RNG, 30);
	struct fill scales = positive;
	WNNOperandDataType type;
	uint32_t dims[IR_MAX_RANK];

	/* Many quotients are halfway between integers. */
	if (d->x->fill == GRAPH_STEPS || rng_chance(RNG, 20))
		scales = (struct fill){ GRAPH_STEPS, 0.25, 2 };
	if (d->g->limits)
		types &= wnn_op_operand_limits(d->g->limits, d->node->op, row)->dataTypes;
	type = pick_type(RNG, types);
	if (!type)
		return -1;
	for (uint32_t i = 0; i < d->x->rank; i++)
		dims[i] = blocks(d, d->x->dims[i], all);
	d->node->operands[1] =
		generator_leaf(d->g, quantize ? d->x->type : type, d->x->rank, dims, scales);
	if (!quantize)
		type = d->x->type;
	d->node->operands[2] =
		generator_leaf(d->g, type, d->x->rank, dims, (struct fill){ GRAPH_UNIFORM, 0, 7 });
	return d->node->operands[1] < 0 || d->node->operands[2] < 0 ? -1 : 0;
}

int draw_batch_norm(struct draw *d)
{
	uint32_t axis = rng_below(RNG, d->x->rank);

	if (d->x->rank > 1 && rng_chance(RNG, 40))
		axis = 1;
	if (axis != 1 || rng_chance(RNG, 30))
		set_word(graph_option(d->node, "axis"), axis);
	maybe_real(d, "epsilon", 1e-6, 0.1);
	if (operand(d, 1, 1, &d->x->dims[axis], weights))
		return -1;
	/* The variance must be a new leaf, as an existing value may be negative. */
	d->node->operands[2] = generator_leaf(d->g, d->x->type, 1, &d->x->dims[axis], positive);
	if (d->node->operands[2] < 0 || maybe_operand(d, 3, 1, &d->x->dims[axis], weights))
		return -1;
	return maybe_operand(d, 4, 1, &d->x->dims[axis], weights);
}

int draw_instance_norm(struct draw *d)
{
	const struct graph_attr *layout = graph_option(d->node, "layout");
	uint32_t c;

	maybe_enum(d, "layout", 2);
	maybe_real(d, "epsilon", 1e-6, 0.1);
	c = d->x->dims[layout->set && layout->word[0] == WNNInputOperandLayout_Nhwc ? 3 : 1];
	return maybe_operand(d, 1, 1, &c, weights) || maybe_operand(d, 2, 1, &c, weights) ? -1 : 0;
}

int draw_layer_norm(struct draw *d)
{
	uint32_t axes[IR_MAX_RANK], dims[IR_MAX_RANK], count = 0;

	maybe_real(d, "epsilon", 1e-6, 0.1);
	if (rng_chance(RNG, 65)) {
		for (uint32_t i = 0; i < d->x->rank; i++)
			if (rng_chance(RNG, 50)) {
				uint32_t j = rng_below(RNG, count + 1);

				axes[count] = axes[j];
				axes[j] = i;
				count++;
			}
		set_list(graph_option(d->node, "axes"), count, axes);
	} else {
		for (uint32_t i = 1; i < d->x->rank; i++)
			axes[count++] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		dims[i] = d->x->dims[axes[i]];
	for (uint32_t i = 1; i < wnn_op_info[d->node->op].operand_count; i++)
		if (maybe_operand(d, i, count, dims, weights))
			return -1;
	return 0;
}
