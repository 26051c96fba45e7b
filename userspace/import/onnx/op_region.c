// SPDX-License-Identifier: MIT
/*
 * RoiAlign, as two matrix products for each region. A bilinear sample is a weighted sum of two rows
 * and two columns of the image: one matrix has the weights of all rows for each sample, the other
 * those of all columns, and weights of rows and columns that a sample does not use are 0.
 */
#include "ops.h"
#include "select.h"

struct regions {
	/* each item of size and bins: rows, then columns */
	int64_t count, samples, size[2], bins[2];
	double scale, offset;
	bool largest;
};

/* Weights of the lower and upper neighbour for each sample: [regions, bins * samples, size]. */
struct weights {
	WNNOperand low, high;
};

static int read_regions(struct onnx_node *node, struct regions *r)
{
	static const char *const modes[] = { "avg", "max" };
	static const char *const places[] = { "output_half_pixel", "half_pixel" };
	int largest = onnx_attr_choice(node, "mode", "avg", modes, 2);
	int half = onnx_attr_choice(node, "coordinate_transformation_mode",
				    places[node->version >= 16], places, 2);
	const struct onnx_shape *x = onnx_in_shape(node, 0), *rois = onnx_in_shape(node, 1);

	*r = (struct regions){ .samples = onnx_attr_int(node, "sampling_ratio", 0),
			       .scale = onnx_attr_float(node, "spatial_scale", 1),
			       .largest = largest == 1,
			       .offset = half == 1 ? 0.5 : 0 };
	r->bins[0] = onnx_attr_int(node, "output_height", 1);
	r->bins[1] = onnx_attr_int(node, "output_width", 1);
	if (largest < 0 || half < 0)
		return -1;
	r->count = rois->rank == 2 ? rois->dim[0] : 0;
	/* Without regions, nothing is sampled. */
	if ((r->count || r->samples) && (r->samples < 1 || r->samples > 64))
		return onnx_refuse(node, "sampling_ratio",
				   "sampling_ratio is %lld: 1 to 64 are allowed, as with 0 the "
				   "number of samples would depend on the regions",
				   (long long)r->samples);
	if (r->bins[0] < 1 || r->bins[1] < 1 || r->bins[0] > 4096 || r->bins[1] > 4096)
		return onnx_refuse(
			node, "output_height",
			"output_height and output_width are %lld and %lld instead of 1 to "
			"4096",
			(long long)r->bins[0], (long long)r->bins[1]);
	if (x->rank != 4 || rois->rank != 2 || rois->dim[1] != 4 ||
	    onnx_in_shape(node, 2)->rank != 1 || onnx_in_shape(node, 2)->dim[0] != rois->dim[0])
		return onnx_refuse(node, "",
				   "the shapes of X, rois and batch_indices do not "
				   "fit together: the inputs are %s",
				   onnx_inputs_text(node));
	r->size[0] = x->dim[2];
	r->size[1] = x->dim[3];
	return 0;
}

/*
 * Returns the positions of the samples along dimension @d, in elements: [regions, bins * samples,
 * 1].
 */
static WNNOperand positions(struct onnx_node *node, const struct regions *r, WNNOperand rois,
			    uint32_t d)
{
	int64_t count = r->bins[d] * r->samples;
	struct onnx_shape column = { 3, { r->count, 1, 1 } }, row = { 3, { 1, count, 1 } };
	WNNOperand from = x_slice_axis(node, rois, 1, 1 - d, 1, 1),
		   to = x_slice_axis(node, rois, 1, 3 - d, 1, 1);
	float *steps = onnx_node_alloc(node, (size_t)count * sizeof(*steps));

	for (int64_t i = 0; steps && i < count; i++)
		steps[i] = (float)(((double)i + 0.5) / (double)count);
	if (!steps)
		return NULL;
	from = x_linear(node, x_reshape(node, from, &column), r->scale, -r->offset);
	to = x_linear(node, x_reshape(node, to, &column), r->scale, -r->offset);
	to = x_sub(node, to, from);
	/* Without the half-pixel offset, a region is at least one element wide. */
	if (r->offset == 0)
		to = x_max(node, to, x_like(node, to, 1));
	return x_add(node, from,
		     x_mul(node, to, x_constant(node, WNNOperandDataType_Float32, &row, steps)));
}

static struct weights make_weights(struct onnx_node *node, const struct regions *r, WNNOperand rois,
				   uint32_t d)
{
	double size = (double)r->size[d];
	WNNOperand at = positions(node, r, rois, d), inside, low, rest, steps, zero;
	struct weights w = { NULL, NULL };

	if (!at)
		return w;
	zero = x_like(node, at, 0);
	inside = x_not(node, x_or(node, x_less(node, at, x_like(node, at, -1)),
				  x_greater(node, at, x_like(node, at, size))));
	at = x_clamp(node, at, 0, size - 1);
	low = x_floor(node, at);
	rest = x_sub(node, at, low);
	steps = onnx_iota(node, 3, 2, r->size[d]);
	steps = steps ? x_cast(node, steps, WNNOperandDataType_Float32) : NULL;
	w.low = x_where(node, inside, x_linear(node, rest, -1, 1), zero);
	w.high = x_where(node, inside, rest, zero);
	w.low = x_where(node, x_equal(node, steps, low), w.low, zero);
	w.high = x_where(node, x_equal(node, steps, x_linear(node, low, 1, 1)), w.high, zero);
	return w;
}

/* Returns rows * X * columns^T: [regions, channels, samples of rows, samples of columns]. */
static WNNOperand sample(struct onnx_node *node, WNNOperand x, WNNOperand rows, WNNOperand columns)
{
	rows = rows ? x_unsqueeze(node, rows, 1) : NULL;
	columns = columns ? x_move_axis(node, x_unsqueeze(node, columns, 1), 3, 2) : NULL;
	return x_matmul(node, x_matmul(node, rows, x), columns);
}

static int align_nothing(struct onnx_node *node, const struct regions *r)
{
	int64_t channels = onnx_in_shape(node, 0)->dim[1];
	struct onnx_shape shape = { 4, { 0, channels, r->bins[0], r->bins[1] } };

	return onnx_out_empty(node, 0, onnx_in_type(node, 0), &shape);
}

int onnx_op_roi_align(struct onnx_node *node)
{
	static const uint32_t axes[] = { 3, 5 };
	WNNOperand x, rois, batch, y, more;
	struct weights rows, columns;
	struct onnx_shape wide;
	struct regions r;

	if (onnx_is_empty(node, 1))
		return read_regions(node, &r) ? -1 : align_nothing(node, &r);
	x = onnx_in(node, 0);
	if (!x || !(rois = onnx_in(node, 1)) || !(batch = onnx_in(node, 2)) ||
	    read_regions(node, &r))
		return -1;
	rois = x_cast(node, rois, WNNOperandDataType_Float32);
	x = x_cast(node, x, WNNOperandDataType_Float32);
	if (x && x_shape(x).dim[0] > 1)
		x = x_gather(node, x, batch, 0);
	rows = make_weights(node, &r, rois, 0);
	columns = make_weights(node, &r, rois, 1);
	if (!r.largest) {
		y = sample(node, x, x_add(node, rows.low, rows.high),
			   x_add(node, columns.low, columns.high));
	} else {
		/*
		 * In mode max, ONNX takes the maximum of the four weighted neighbours of each
		 * sample, not of their sums.
		 */
		y = sample(node, x, rows.low, columns.low);
		for (int i = 1; i < 4; i++) {
			more = sample(node, x, i & 1 ? rows.high : rows.low,
				      i & 2 ? columns.high : columns.low);
			y = x_max(node, y, more);
		}
	}
	if (!y)
		return onnx_out(node, 0, NULL);
	wide = (struct onnx_shape){
		6, { r.count, x_shape(y).dim[1], r.bins[0], r.samples, r.bins[1], r.samples }
	};
	y = x_reduce(node, r.largest ? X_MAX : X_MEAN, x_reshape(node, y, &wide), 2, axes, false);
	return onnx_out(node, 0,
			y ? x_cast(node, y, onnx_type_webnn(onnx_in_type(node, 0))) : NULL);
}
