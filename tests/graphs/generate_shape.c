// SPDX-License-Identifier: MIT
/* Draws calls of element-wise operators, of operators that move elements, and of reductions. */
#include <string.h>

#include "generate.h"

#define RNG (&d->g->rng)

static uint32_t product(const uint32_t *dims, uint32_t rank)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < rank; i++)
		n *= dims[i];
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int draw_plain(struct draw *d)
{
	(void)d;
	return 0;
}

int draw_alpha(struct draw *d)
{
	maybe_real(d, "alpha", -1, 2);
	return 0;
}

int draw_alpha_beta(struct draw *d)
{
	maybe_real(d, "alpha", -1, 2);
	maybe_real(d, "beta", -2, 2);
	return 0;
}

static WNNNumber number(struct draw *d, double lo, double hi)
{
	double value = rng_real(RNG, lo, hi);

	/*
	 * The bounds may exceed what a double or another integer type can hold; the lower one is at
	 * most 0.
	 */
	if (!type_is_float(d->x->type) && rng_chance(RNG, 20))
		return lo < 0 ? WNN_NUMBER_INT64(INT64_MIN + (int64_t)(rng_bits(RNG) >> 2)) :
				WNN_NUMBER_UINT64(rng_bits(RNG) >> rng_below(RNG, 2));

	if (type_is_float(d->x->type) || rng_chance(RNG, 20))
		return WNN_NUMBER_DOUBLE(value);
	return WNN_NUMBER_INT64((int64_t)value);
}

static void set_number(struct draw *d, const char *name, double lo, double hi)
{
	struct graph_attr *attr = graph_option(d->node, name);

	attr->set = true;
	attr->number = number(d, lo, hi);
}

int draw_clamp(struct draw *d)
{
	if (rng_chance(RNG, 60))
		set_number(d, "minValue", -5, 0.4);
	if (rng_chance(RNG, 60))
		set_number(d, "maxValue", 0.5, 9);
	return 0;
}

int draw_cast(struct draw *d)
{
	WNNOperandDataTypeSet types = wnn_op_info[WNN_OP_CAST].outputs[0].types;

	if (d->g->limits)
		types &= d->g->limits->cast.output.dataTypes;
	if (d->g->compose && rng_chance(RNG, 50))
		types &= WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32) |
			 WNN_DATA_TYPE_BIT(WNNOperandDataType_Float16);
	if (!types)
		return -1;
	set_word(graph_argument(d->node, "dataType"), (uint32_t)pick_type(RNG, types));
	return 0;
}

/* Sets dims to the shape of a bias, which has one value for each channel, and returns its rank. */
static uint32_t bias_shape(struct draw *d, uint32_t *dims)
{
	uint32_t rank = d->x->rank, axis = rank == 4 && rng_chance(RNG, 50) ? 1 : rank - 1;
	uint32_t lead = rng_below(RNG, axis + 1);

	for (uint32_t i = lead; i < rank; i++)
		dims[i - lead] = i == axis ? d->x->dims[i] : 1;
	return rank - lead;
}

/* Sets dims to a shape that broadcasts with that of the main operand, and returns its rank. */
static uint32_t partner(struct draw *d, uint32_t *dims)
{
	uint32_t rank = d->x->rank, drop = 0;
	uint64_t more = d->g->budget / (graph_elements(d->x) + 1) + 1;

	if (rank && rng_chance(RNG, 15))
		return bias_shape(d, dims);
	if (rng_chance(RNG, 30) && rank)
		drop = rng_below(RNG, rank + 1);
	for (uint32_t i = drop; i < rank; i++) {
		uint32_t dim = d->x->dims[i];

		if (rng_chance(RNG, 20))
			dim = 1;
		else if (dim == 1 && more > 1 && rng_chance(RNG, 50))
			dim = rng_between(RNG, 1, more < 9 ? (uint32_t)more : 9);
		dims[i - drop] = dim;
	}
	return rank - drop;
}

static int broadcast_operand(struct draw *d, uint32_t which, WNNOperandDataType type,
			     struct fill fill)
{
	uint32_t dims[IR_MAX_RANK], rank = partner(d, dims);

	d->node->operands[which] = generator_operand(d->g, type, rank, dims, fill);
	return d->node->operands[which] < 0 ? -1 : 0;
}

static int draw_binary(struct draw *d)
{
	struct fill fill = generator_fill(d->g, d->node->op, d->x->type);
	int ret;

	if (d->node->op == WNN_OP_POW && fill.kind != GRAPH_BITS)
		fill = (struct fill){ GRAPH_UNIFORM, type_is_float(d->x->type) ? -2 : 0, 3 };
	ret = broadcast_operand(d, 1, d->x->type, fill);
	/* Half of the time the main operand is the second one. */
	if (!ret && rng_chance(RNG, 50) && d->node->op != WNN_OP_PRELU &&
	    d->node->op != WNN_OP_POW) {
		d->node->operands[0] = d->node->operands[1];
		d->node->operands[1] = d->main;
	}
	return ret;
}

int draw_where(struct draw *d)
{
	if (broadcast_operand(d, 0, WNNOperandDataType_Uint8, (struct fill){ GRAPH_UNIFORM, 0, 2 }))
		return -1;
	return broadcast_operand(d, 2, d->x->type, generator_fill(d->g, d->node->op, d->x->type));
}

static int axis_option(struct draw *d, const char *name, uint32_t axis)
{
	if (axis || rng_chance(RNG, 50))
		set_word(graph_option(d->node, name), axis);
	return 0;
}

static void axis_argument(struct draw *d)
{
	set_word(graph_argument(d->node, "axis"), rng_below(RNG, d->x->rank));
}

static void axes_option(struct draw *d)
{
	uint32_t axes[IR_MAX_RANK], count = 0;

	if (rng_chance(RNG, 30))
		return;
	for (uint32_t i = 0; i < d->x->rank; i++)
		if (rng_chance(RNG, 45)) {
			uint32_t j = rng_below(RNG, count + 1);

			axes[count] = axes[j];
			axes[j] = i;
			count++;
		}
	set_list(graph_option(d->node, "axes"), count, axes);
}

int draw_reduce(struct draw *d)
{
	axes_option(d);
	maybe_bool(d, "keepDimensions");
	return 0;
}

int draw_arg(struct draw *d)
{
	struct graph_attr *type = graph_option(d->node, "outputDataType");

	axis_argument(d);
	maybe_bool(d, "keepDimensions");
	if (rng_chance(RNG, 75))
		set_word(type, rng_chance(RNG, 50) ? (uint32_t)WNNOperandDataType_Int64 :
						     (uint32_t)WNNOperandDataType_Int32);
	return 0;
}

int draw_softmax(struct draw *d)
{
	axis_argument(d);
	return 0;
}

int draw_cumulative_sum(struct draw *d)
{
	axis_argument(d);
	maybe_bool(d, "exclusive");
	maybe_bool(d, "reversed");
	return 0;
}

int draw_concat(struct draw *d)
{
	struct fill fill = generator_fill(d->g, d->node->op, d->x->type);
	uint32_t count = rng_between(RNG, 1, 4), dims[IR_MAX_RANK];
	uint32_t axis = rng_below(RNG, d->x->rank), place = rng_below(RNG, count);

	set_word(graph_argument(d->node, "axis"), axis);
	d->node->num_operands = count;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(dims, d->x->dims, sizeof(dims));
		if (rng_chance(RNG, 60))
			dims[axis] = rng_between(RNG, 1, dims[axis]);
		d->node->operands[i] =
			i == place ? d->main :
				     generator_operand(d->g, d->x->type, d->x->rank, dims, fill);
		if (d->node->operands[i] < 0)
			return -1;
	}
	return 0;
}

int draw_split(struct draw *d)
{
	uint32_t axis = rng_below(RNG, d->x->rank), size = d->x->dims[axis], parts[GRAPH_MAX_LIST];
	uint32_t count = rng_between(RNG, 1, size < GRAPH_MAX_RESULTS ? size : GRAPH_MAX_RESULTS);

	axis_option(d, "axis", axis);
	d->node->num_results = count;
	if (size % count == 0 && rng_chance(RNG, 40)) {
		d->node->equal_split = true;
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		parts[i] = i + 1 == count ? size : rng_between(RNG, 1, size - (count - 1 - i));
		size -= parts[i];
	}
	set_list(graph_argument(d->node, "splits"), count, parts);
	return 0;
}

int draw_slice(struct draw *d)
{
	uint32_t starts[IR_MAX_RANK], sizes[IR_MAX_RANK], strides[IR_MAX_RANK];

	for (uint32_t i = 0; i < d->x->rank; i++) {
		starts[i] = rng_chance(RNG, 50) ? 0 : rng_below(RNG, d->x->dims[i]);
		sizes[i] = d->x->dims[i] - starts[i];
		if (rng_chance(RNG, 50))
			sizes[i] = rng_between(RNG, 1, sizes[i]);
		strides[i] = rng_chance(RNG, 60) ? 1 : rng_between(RNG, 1, 4);
	}
	set_list(graph_argument(d->node, "starts"), d->x->rank, starts);
	set_list(graph_argument(d->node, "sizes"), d->x->rank, sizes);
	if (rng_chance(RNG, 50))
		set_list(graph_option(d->node, "strides"), d->x->rank, strides);
	return 0;
}

int draw_expand(struct draw *d)
{
	uint32_t lead = rng_below(RNG, 3), dims[IR_MAX_RANK];

	if (lead + d->x->rank > IR_MAX_RANK)
		lead = IR_MAX_RANK - d->x->rank;
	for (uint32_t i = 0; i < lead; i++)
		dims[i] = rng_between(RNG, 1, 4);
	for (uint32_t i = 0; i < d->x->rank; i++) {
		dims[lead + i] = d->x->dims[i];
		if (d->x->dims[i] == 1 && rng_chance(RNG, 60))
			dims[lead + i] = rng_between(RNG, 1, 12);
	}
	set_list(graph_argument(d->node, "newShape"), lead + d->x->rank, dims);
	return 0;
}

int draw_pad(struct draw *d)
{
	uint32_t begin[IR_MAX_RANK], end[IR_MAX_RANK];
	struct graph_attr *mode = graph_option(d->node, "mode");

	maybe_enum(d, "mode", 3);
	for (uint32_t i = 0; i < d->x->rank; i++) {
		uint32_t most = d->x->rank > 4 ? 2 : 4;

		if (mode->set && mode->word[0] == WNNPaddingMode_Reflection &&
		    most > d->x->dims[i] - 1)
			most = d->x->dims[i] - 1;
		begin[i] = rng_chance(RNG, 50) ? rng_between(RNG, 0, most) : 0;
		end[i] = rng_chance(RNG, 50) ? rng_between(RNG, 0, most) : 0;
	}
	set_list(graph_argument(d->node, "beginningPadding"), d->x->rank, begin);
	set_list(graph_argument(d->node, "endingPadding"), d->x->rank, end);
	if (rng_chance(RNG, 60))
		set_number(d, "value", -9, 9);
	return 0;
}

int draw_reverse(struct draw *d)
{
	axes_option(d);
	return 0;
}

int draw_tile(struct draw *d)
{
	uint32_t repetitions[IR_MAX_RANK];
	uint64_t room = d->g->budget * 2 / (graph_elements(d->x) + 1) + 1;

	for (uint32_t i = 0; i < d->x->rank; i++) {
		repetitions[i] = rng_between(RNG, 1, room < 4 ? (uint32_t)room : 4);
		room = room / repetitions[i] + 1;
	}
	set_list(graph_argument(d->node, "repetitions"), d->x->rank, repetitions);
	return 0;
}

int draw_transpose(struct draw *d)
{
	uint32_t order[IR_MAX_RANK];

	for (uint32_t i = 0; i < d->x->rank; i++) {
		uint32_t j = rng_below(RNG, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	if (rng_chance(RNG, 75))
		set_list(graph_option(d->node, "permutation"), d->x->rank, order);
	return 0;
}

int draw_triangular(struct draw *d)
{
	maybe_bool(d, "upper");
	if (rng_chance(RNG, 60))
		set_word(graph_option(d->node, "diagonal"), rng_below(RNG, 9) - 4);
	return 0;
}

/*
 * Draws a new shape for the operand: distributes the prime factors of its element count over a
 * random number of dimensions. Returns 0; -1: the operand has too many elements.
 */
int draw_reshape(struct draw *d)
{
	uint32_t rank = rng_below(RNG, IR_MAX_RANK + 1), dims[IR_MAX_RANK];
	uint32_t left = product(d->x->dims, d->x->rank);

	if (left == UINT32_MAX)
		return -1;
	if (!rank && left > 1)
		rank = rng_between(RNG, 1, 4);
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = 1;
	for (uint32_t p = 2; left > 1; p++) {
		if ((uint64_t)p * p > left)
			p = left;
		for (; left % p == 0; left /= p)
			dims[rng_below(RNG, rank)] *= p;
	}
	set_list(graph_argument(d->node, "newShape"), rank, dims);
	return 0;
}

draw_fn draw_function(enum wnn_op op)
{
	static const draw_fn functions[WNN_OP_COUNT] = {
#define GRAPH_DRAW(op, function, floats) [WNN_OP_##op] = draw_##function,
#define GRAPH_BOUND(op, function)
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND
	};

	if (functions[op])
		return functions[op];
	return wnn_op_info[op].positional_count == 2 ? draw_binary : draw_plain;
}
