// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample. Each dimension is resized by itself: a gather picks its elements, or a
 * matrix of constant weights is multiplied. Where resample2d gives the same for two dimensions, it
 * is used instead.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

#define MAX_WEIGHTS ((int64_t)1 << 24)

enum transform {
	HALF_PIXEL,
	HALF_PIXEL_SYMMETRIC,
	PYTORCH_HALF_PIXEL,
	ALIGN_CORNERS,
	ASYMMETRIC,
	TF_HALF_PIXEL,
	TF_CROP,
	TRANSFORMS
};
enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, SIMPLE, ROUNDINGS };
enum kernel { NEAREST, LINEAR, CUBIC, KERNELS };

struct resize {
	enum kernel kernel;
	enum transform transform;
	enum rounding rounding;
	double cubic, extrapolation;
	bool antialias, exclude_outside;
	int64_t size[ONNX_MAX_RANK];
	/* begin and end are for tf_crop_and_resize */
	double scale[ONNX_MAX_RANK], begin[ONNX_MAX_RANK], end[ONNX_MAX_RANK];
};

/* One dimension that is resized. */
struct resized {
	const struct resize *resize;
	int64_t in, out, taps;
	double scale, begin, end;
};

static int read_modes(struct onnx_node *node, struct resize *r)
{
	static const char *const kernels[] = { "nearest", "linear", "cubic" };
	static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
						 "ceil" };
	static const char *const transforms[] = {
		"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
		"asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize",
	};
	bool old = node->op->variant || node->version < 11;
	int kernel, transform = ASYMMETRIC, rounding = node->op->variant ? FLOOR : SIMPLE;

	kernel = onnx_attr_choice(node, "mode", "nearest", kernels, KERNELS);
	if (!old) {
		transform = onnx_attr_choice(node, "coordinate_transformation_mode", "half_pixel",
					     transforms, TRANSFORMS);
		rounding = onnx_attr_choice(node, "nearest_mode", "round_prefer_floor", roundings,
					    SIMPLE);
	}
	if (kernel < 0 || transform < 0 || rounding < 0)
		return -1;
	r->kernel = (enum kernel)kernel;
	r->transform = (enum transform)transform;
	r->rounding = (enum rounding)rounding;
	r->cubic = onnx_attr_float(node, "cubic_coeff_a", -0.75);
	r->extrapolation = onnx_attr_float(node, "extrapolation_value", 0);
	r->antialias = onnx_attr_int(node, "antialias", 0) && kernel != NEAREST;
	r->exclude_outside = onnx_attr_int(node, "exclude_outside", 0) != 0;
	return 0;
}

/* Reads the dimensions that scales, sizes and roi refer to. Returns 0 or -1. */
static int read_axes(struct onnx_node *node, uint32_t rank, uint32_t *axes, size_t *count)
{
	const int64_t *given = onnx_attr_ints(node, "axes", count);

	if (*count > rank)
		return onnx_refuse(node, "axes", "there are more axes than dimensions");
	if (!*count)
		for (*count = 0; *count < rank; ++*count)
			axes[*count] = (uint32_t)*count;
	for (size_t i = 0; given && i < *count; i++)
		if (onnx_axis(node, "axes", given[i], rank, &axes[i]))
			return -1;
	return 0;
}

static int read_roi(struct onnx_node *node, struct resize *r, const uint32_t *axes, size_t n_axes)
{
	const double *roi;
	size_t count;

	if (r->transform != TF_CROP)
		return 0;
	if (onnx_in_floats(node, 1, "roi", &roi, &count))
		return -1;
	if (count != 2 * n_axes)
		return onnx_refuse(node, "roi", "roi has %zu items: %zu dimensions need two each",
				   count, n_axes);
	for (size_t i = 0; i < n_axes; i++) {
		r->begin[axes[i]] = roi[i];
		r->end[axes[i]] = roi[n_axes + i];
		if (!isfinite(roi[i]) || !isfinite(roi[n_axes + i]))
			return onnx_refuse(node, "roi", "roi has an item that is infinite or NaN");
	}
	return 0;
}

/*
 * Where keep_aspect_ratio_policy says so, sets one factor for all axes, so that the image fits into
 * the sizes or fills them. Returns 0 or -1.
 */
static int keep_aspect(struct onnx_node *node, struct resize *r, const struct onnx_shape *shape,
		       const uint32_t *axes, size_t n_axes)
{
	static const char *const names[] = { "stretch", "not_larger", "not_smaller" };
	int policy = onnx_attr_choice(node, "keep_aspect_ratio_policy", "stretch", names, 3);
	double scale;

	if (policy < 1)
		return policy;
	scale = r->scale[axes[0]];
	for (size_t i = 1; i < n_axes; i++)
		scale = policy == 1 ? fmin(scale, r->scale[axes[i]]) :
				      fmax(scale, r->scale[axes[i]]);
	for (size_t i = 0; i < n_axes; i++) {
		r->scale[axes[i]] = scale;
		r->size[axes[i]] = (int64_t)(scale * (double)shape->dim[axes[i]] + 0.5);
	}
	return 0;
}

static int read_sizes(struct onnx_node *node, struct resize *r, const struct onnx_shape *shape)
{
	uint32_t axes[ONNX_MAX_RANK];
	size_t n_axes, n_scales = 0, n_sizes = 0;
	const double *scales = NULL;
	const int64_t *sizes = NULL;
	bool old = node->op->variant || node->version < 11;

	if (read_axes(node, shape->rank, axes, &n_axes) || read_roi(node, r, axes, n_axes))
		return -1;
	if (node->op->variant && node->version < 9) {
		const Onnx__AttributeProto *attr = onnx_attr(node, "scales");
		double *copy =
			onnx_node_alloc(node, (attr ? attr->n_floats : 0) * sizeof(*copy) + 1);

		for (size_t i = 0; copy && attr && i < attr->n_floats; i++)
			copy[n_scales++] = (double)attr->floats[i];
		scales = copy;
	} else if (onnx_in_floats(node, old ? 1 : 2, "scales", &scales, &n_scales) ||
		   (!old && onnx_in_ints(node, 3, "sizes", &sizes, &n_sizes))) {
		return -1;
	}
	if ((n_scales ? n_scales : n_sizes) != n_axes || (n_scales && n_sizes))
		return onnx_refuse(node, n_sizes ? "sizes" : "scales",
				   "there are %zu scales and %zu sizes for %zu dimensions",
				   n_scales, n_sizes, n_axes);
	for (size_t i = 0; i < n_axes; i++) {
		double in = (double)shape->dim[axes[i]];
		double out = n_scales ? floor((double)((float)scales[i] * (float)in)) :
					(double)sizes[i];

		if (!(out >= 1 && out <= INT32_MAX))
			return onnx_refuse(
				node, n_sizes ? "sizes" : "scales",
				"dimension %u of %lld would become %g, which is not from 1 to %d",
				axes[i], (long long)in, out, INT32_MAX);
		r->size[axes[i]] = (int64_t)out;
		r->scale[axes[i]] = n_scales ? scales[i] : out / in;
	}
	return n_sizes ? keep_aspect(node, r, shape, axes, n_axes) : 0;
}

/* Returns the position in the input of element @at of the output. */
static double position(const struct resized *resized, int64_t at)
{
	double x = (double)at, in = (double)resized->in, width = resized->scale * in;

	switch (resized->resize->transform) {
	case ALIGN_CORNERS:
		return width == 1 ? 0 : x * (in - 1) / (width - 1);
	case ASYMMETRIC:
		return x / resized->scale;
	case TF_HALF_PIXEL:
		return (x + 0.5) / resized->scale;
	case TF_CROP:
		return resized->begin * (in - 1) +
		       (width == 1 ? (resized->end - resized->begin) * (in - 1) / 2 :
				     x * (resized->end - resized->begin) * (in - 1) / (width - 1));
	case PYTORCH_HALF_PIXEL:
		return width == 1 ? 0 : (x + 0.5) / resized->scale - 0.5;
	case HALF_PIXEL_SYMMETRIC:
		return in / 2 * (1 - (double)resized->out / width) + (x + 0.5) / resized->scale -
		       0.5;
	default:
		return (x + 0.5) / resized->scale - 0.5;
	}
}

static int64_t limit(double position, int64_t in)
{
	return position<0 ? 0 : position>(double)(in - 1) ? in - 1 : (int64_t)position;
}

/*
 * Returns the index of the nearest element. The position is rounded to float first: exporters write
 * scales such as 4/3, with which positions are ties only in float arithmetic.
 */
static int64_t nearest(const struct resized *resized, int64_t at)
{
	double exact = position(resized, at), x = (double)(float)exact;

	switch (resized->resize->rounding) {
	case PREFER_FLOOR:
		return limit(ceil(x - 0.5), resized->in);
	case PREFER_CEIL:
		return limit(floor(x + 0.5), resized->in);
	case CEIL:
		return limit(ceil(x), resized->in);
	case SIMPLE:
		return limit(resized->scale < 1 ? ceil(x) : trunc(x), resized->in);
	default:
		return limit(floor(x), resized->in);
	}
}

static double kernel(const struct resize *r, double x)
{
	double a = r->cubic;

	x = fabs(x);
	if (r->kernel == LINEAR)
		return x < 1 ? 1 - x : 0;
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/*
 * Returns the factor by which distances shrink inside of an antialiasing kernel, so that the kernel
 * is wider when the output is smaller; 1: no antialiasing.
 */
static double shrink(const struct resized *resized)
{
	return resized->resize->antialias && resized->scale < 1 ? resized->scale : 1;
}

/* The elements of the input, with weights, whose sum is one element of the output. */
struct taps {
	int64_t *index;
	double *weight;
};

static bool taps_alloc(struct onnx_node *node, const struct resized *resized, struct taps *taps)
{
	taps->index = onnx_node_alloc(node, (size_t)resized->taps * sizeof(*taps->index));
	taps->weight = onnx_node_alloc(node, (size_t)resized->taps * sizeof(*taps->weight));
	return taps->index && taps->weight;
}

static bool outside(const struct resized *resized, int64_t at)
{
	double x = position(resized, at);

	return resized->resize->transform == TF_CROP && !(x >= 0 && x <= (double)(resized->in - 1));
}

static void weigh(const struct resized *resized, int64_t at, struct taps *taps)
{
	double x = position(resized, at), narrow = shrink(resized), sum = 0;
	int64_t first;

	/*
	 * A position far outside would overflow: it is clamped, since only the last element counts
	 * there.
	 */
	x = fmax(-(double)resized->taps, fmin(x, (double)(resized->in + resized->taps)));
	first = (int64_t)ceil(x) - resized->taps / 2;
	for (int64_t k = 0; k < resized->taps; k++) {
		int64_t i = first + k;
		bool excluded = resized->resize->exclude_outside && (i < 0 || i >= resized->in);

		taps->index[k] = limit((double)i, resized->in);
		taps->weight[k] = excluded ? 0 : kernel(resized->resize, ((double)i - x) * narrow);
		sum += taps->weight[k];
	}
	for (int64_t k = 0; k < resized->taps; k++)
		taps->weight[k] /= sum != 0 ? sum : 1;
}

static int prepare(struct onnx_node *node, const struct resize *r, const struct onnx_shape *shape,
		   uint32_t axis, struct resized *resized)
{
	*resized = (struct resized){
		.resize = r,
		.in = shape->dim[axis],
		.out = r->size[axis],
		.scale = r->scale[axis],
		.begin = r->begin[axis],
		.end = r->end[axis],
	};
	resized->taps = 2 * (int64_t)ceil((r->kernel == CUBIC ? 2 : 1) / shrink(resized)) + 2;
	return onnx_work(node, (uint64_t)resized->out *
				       (r->kernel == NEAREST ? 1 : (uint64_t)resized->taps));
}

static bool unchanged(const struct resize *r, const struct onnx_shape *shape, uint32_t axis)
{
	bool whole = r->transform != TF_CROP || (r->begin[axis] == 0 && r->end[axis] == 1);

	return r->size[axis] == shape->dim[axis] && r->scale[axis] == 1 && whole &&
	       r->transform != TF_HALF_PIXEL;
}

/*
 * Returns x with the extrapolation value in place of all elements outside of the crop along @axis;
 * x itself when there are none; NULL: no memory, or refused.
 */
static WNNOperand extrapolate(struct onnx_node *node, WNNOperand x, uint32_t axis,
			      const struct resized *resized)
{
	struct onnx_shape shape = { .rank = x_shape(x).rank };
	uint8_t *mask = onnx_node_alloc(node, (size_t)resized->out);
	bool any = false;

	for (int64_t i = 0; mask && i < resized->out; i++) {
		mask[i] = outside(resized, i);
		any |= mask[i];
	}
	if (!mask || !any)
		return mask ? x : NULL;
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = i == axis ? resized->out : 1;
	return x_where(node, x_constant(node, WNNOperandDataType_Uint8, &shape, mask),
		       x_like(node, x, resized->resize->extrapolation), x);
}

static WNNOperand pick(struct onnx_node *node, WNNOperand x, uint32_t axis,
		       const struct resized *resized)
{
	int64_t *indices = onnx_node_alloc(node, (size_t)resized->out * sizeof(*indices));

	if (!indices)
		return NULL;
	for (int64_t i = 0; i < resized->out; i++)
		indices[i] = nearest(resized, i);
	return x_gather(node, x, x_constant_ints(node, (size_t)resized->out, indices), axis);
}

/*
 * Multiplies x along one dimension with the matrix of weights. Returns NULL when refused, as for
 * more than MAX_WEIGHTS weights.
 */
static WNNOperand blend(struct onnx_node *node, WNNOperand x, uint32_t axis,
			const struct resized *resized)
{
	WNNOperandDataType type = wnnOperandGetDataType(x);
	uint32_t rank = x_shape(x).rank, last = rank - 1;
	/* For the last dimension but one, the matrix is on the left, which saves two transposes. */
	bool left = rank > 1 && axis == rank - 2;
	struct onnx_shape shape = {
		2, { left ? resized->out : resized->in, left ? resized->in : resized->out }
	};
	int64_t by_out = left ? resized->in : 1, by_in = left ? 1 : resized->out;
	struct taps taps;
	WNNOperand weights;
	double *matrix;
	void *data;

	if (resized->in > MAX_WEIGHTS / resized->out) {
		onnx_refuse(
			node, "mode",
			"its weights from %lld to %lld of dimension %u are too big: the product is "
			"at most %lld",
			(long long)resized->in, (long long)resized->out, axis,
			(long long)MAX_WEIGHTS);
		return NULL;
	}
	matrix = onnx_node_alloc(node, (size_t)(resized->in * resized->out) * sizeof(*matrix));
	data = onnx_node_alloc(node, (size_t)(resized->in * resized->out) * sizeof(float));
	if (!taps_alloc(node, resized, &taps) || !matrix || !data ||
	    onnx_work(node, (uint64_t)(resized->in * resized->out)))
		return NULL;
	for (int64_t o = 0; o < resized->out; o++) {
		weigh(resized, o, &taps);
		for (int64_t k = 0; k < resized->taps; k++)
			matrix[o * by_out + taps.index[k] * by_in] += taps.weight[k];
	}
	for (int64_t i = 0; i < resized->in * resized->out; i++)
		onnx_put_float(onnx_type_of(type), data, (size_t)i, matrix[i]);
	weights = x_constant(node, type, &shape, data);
	if (left)
		return x_matmul(node, weights, x);
	x = rank == 1 ? x_unsqueeze(node, x, 0) : x_move_axis(node, x, axis, last);
	x = x_matmul(node, x, weights);
	return rank == 1 ? x_at(node, x, 0, 0) : x_move_axis(node, x, last, axis);
}

/* Whether resample2d takes the same elements with the same weights along this dimension. */
static bool fits_resample(struct onnx_node *node, const struct resized *resized)
{
	struct taps taps;

	if (!taps_alloc(node, resized, &taps))
		return false;
	for (int64_t i = 0; i < resized->out; i++) {
		double x = ((double)i + 0.5) * (double)resized->in / (double)resized->out - 0.5,
		       sum = 0;
		double rest = x - floor(x);
		int64_t low = limit(floor(x), resized->in), high = limit(floor(x) + 1, resized->in);

		if (resized->resize->kernel == NEAREST) {
			if (nearest(resized, i) != limit(ceil(x - 0.5), resized->in))
				return false;
			continue;
		}
		weigh(resized, i, &taps);
		/*
		 * resample2d uses only the elements low and high: a weight of any other element
		 * rules resample2d out.
		 */
		for (int64_t k = 0; k < resized->taps; k++)
			sum += fabs(taps.weight[k]) *
			       (taps.index[k] != low && taps.index[k] != high);
		for (int64_t k = 0; k < resized->taps && low != high; k++)
			rest -= taps.index[k] == high ? taps.weight[k] : 0;
		if (sum > 1e-6 || (low != high && fabs(rest) > 1e-6))
			return false;
	}
	return true;
}

/*
 * Returns the resize as resample2d. NULL without a refusal: resample2d would give another result.
 */
static WNNOperand resample(struct onnx_node *node, const struct resize *r, WNNOperand x)
{
	WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x);
	uint32_t axes[2], sizes[2], count = 0;

	if (shape.rank != 4 || r->kernel == CUBIC || r->transform == TF_CROP ||
	    !onnx_type_is_float(onnx_type_of(wnnOperandGetDataType(x))))
		return NULL;
	for (uint32_t i = 0; i < 4; i++)
		if (!unchanged(r, &shape, i)) {
			struct resized resized;

			if (count == 2 || prepare(node, r, &shape, i, &resized) ||
			    !fits_resample(node, &resized))
				return NULL;
			axes[count++] = i;
		}
	if (!count)
		return NULL;
	if (count == 1)
		axes[count++] = axes[0] == 3 ? 2 : 3;
	for (uint32_t i = 0; i < 2; i++)
		sizes[i] = (uint32_t)r->size[axes[i]];
	options.label = node->options.label;
	options.mode = r->kernel == LINEAR ? WNNInterpolationMode_Linear :
					     WNNInterpolationMode_NearestNeighbor;
	options.sizes = (WNNUint32Array){ 2, sizes };
	options.axes = (WNNUint32Array){ 2, axes };
	return wnnGraphBuilderResample2d(node->b, x, &options);
}

/*
 * Converts interpolated floats back to the integer type; the fraction is cut off, and int8 and
 * uint8 are clamped to their range first. NULL: refused.
 */
static WNNOperand back(struct onnx_node *node, WNNOperand x, WNNOperandDataType type)
{
	if (type == WNNOperandDataType_Uint8)
		x = x_clamp(node, x, 0, 255);
	else if (type == WNNOperandDataType_Int8)
		x = x_clamp(node, x, -128, 127);
	return x ? x_cast(node, x, type) : NULL;
}

int onnx_op_resize(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), done;
	struct resize r = { 0 };
	struct onnx_shape shape;
	WNNOperandDataType type;

	if (!x)
		return -1;
	shape = x_shape(x);
	for (uint32_t i = 0; i < shape.rank; i++) {
		r.size[i] = shape.dim[i];
		r.scale[i] = 1;
		r.end[i] = 1;
	}
	if (read_modes(node, &r) || read_sizes(node, &r, &shape))
		return -1;
	type = wnnOperandGetDataType(x);
	if (r.kernel != NEAREST && !onnx_type_is_float(onnx_in_type(node, 0)))
		x = x_cast(node, x, WNNOperandDataType_Float32);
	done = x ? resample(node, &r, x) : NULL;
	/* Resizing the smaller dimensions first would be less work, but ONNX sums in this order. */
	for (uint32_t i = shape.rank; x && !done && i--;) {
		struct resized resized;

		if (unchanged(&r, &shape, i))
			continue;
		if (prepare(node, &r, &shape, i, &resized))
			return -1;
		x = r.kernel == NEAREST ? pick(node, x, i, &resized) : blend(node, x, i, &resized);
		x = x ? extrapolate(node, x, i, &resized) : NULL;
	}
	x = back(node, done ? done : x, type);
	return onnx_out_as(node, 0, x, onnx_in_type(node, 0));
}
