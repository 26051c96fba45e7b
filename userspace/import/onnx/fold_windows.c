// SPDX-License-Identifier: MIT
/*
 * Computes windows of signals and the matrix of mel frequencies at import, because their sizes are
 * shapes.
 */
#include <math.h>

#include "ops.h"

/*
 * Makes the constant output and returns its memory; NULL: refused. Sets *type to the type of its
 * elements, which the attribute output_datatype names.
 */
static void *output(struct onnx_node *node, const struct onnx_shape *shape, int *type)
{
	*type = (int)onnx_attr_int(node, "output_datatype", ONNX_FLOAT);
	if (onnx_type_bits(*type) < 8) {
		onnx_refuse(node, "output_datatype",
			    "output_datatype must be a type of numbers of at least 8 bits");
		return NULL;
	}
	return onnx_out_constant(node, 0, *type, shape);
}

/*
 * Computes a window as a sum of cosines. Their period is the window's size, or size - 1 when the
 * attribute periodic is 0. Returns 0 or -1.
 */
int onnx_fold_window(struct onnx_node *node)
{
	static const double factors[][3] = {
		[W_BLACKMAN] = { 0.42, -0.5, 0.08 },
		[W_HAMMING] = { 25.0 / 46, -21.0 / 46, 0 },
		[W_HANN] = { 0.5, -0.5, 0 },
	};
	const double *f = factors[node->op->variant];
	struct onnx_shape shape = { 1, { 0 } };
	const int64_t *size;
	size_t count;
	double steps;
	int type;
	void *data;

	if (onnx_in_ints(node, 0, "size", &size, &count))
		return -1;
	if (count != 1 || size[0] < 1)
		return onnx_refuse(node, "size", "size must be one number from 1 on");
	shape.dim[0] = size[0];
	steps = (double)size[0] - !onnx_attr_int(node, "periodic", 1);
	data = output(node, &shape, &type);
	for (int64_t i = 0; data && i < size[0]; i++) {
		double angle = steps > 0 ? 2 * M_PI * (double)i / steps : 0;

		onnx_put_float(type, data, (size_t)i,
			       f[0] + f[1] * cos(angle) + f[2] * cos(2 * angle));
	}
	return data ? 0 : -1;
}

/*
 * Writes column @band of the matrix: numbers that rise from 0 in row edges[0] to 1 in row edges[1]
 * and fall to 0 in row edges[2].
 */
static void triangle(int type, void *data, const struct onnx_shape *shape, int64_t band,
		     const int64_t *edges)
{
	int64_t low = edges[0], centre = edges[1], high = edges[2];

	for (int64_t i = 0; i < shape->dim[0]; i++) {
		double number = 0;

		if (i >= centre && i < high)
			number = (double)(high - i) / (double)(high - centre);
		else if (i == centre)
			number = 1;
		else if (i >= low && i < centre)
			number = (double)(i - low) / (double)(centre - low);
		onnx_put_float(type, data, (size_t)(i * shape->dim[1] + band), number);
	}
}

int onnx_fold_mel(struct onnx_node *node)
{
	static const char *const names[] = { "num_mel_bins", "dft_length", "sample_rate",
					     "lower_edge_hertz", "upper_edge_hertz" };
	double given[5] = { 0 }, low, step;
	struct onnx_shape shape = { 2, { 0 } };
	int64_t *edges;
	void *data;
	int type;

	for (size_t i = 0; i < 5; i++)
		if (onnx_in_float(node, i, names[i], &given[i]))
			return -1;
	if (!(given[0] >= 1) || !(given[1] >= 1) || !(given[2] >= 1) || !(given[3] >= 0) ||
	    !(given[4] >= given[3]) || given[0] > ONNX_INDICES || given[1] > ONNX_INDICES)
		return onnx_refuse(
			node, "",
			"num_mel_bins and dft_length must be from 1 to %lld, sample_rate at least "
			"1, and the frequencies from 0 on, the upper one not below the lower",
			(long long)ONNX_INDICES);
	shape.dim[0] = (int64_t)given[1] / 2 + 1;
	shape.dim[1] = (int64_t)given[0];
	edges = onnx_node_alloc(node, (size_t)(shape.dim[1] + 2) * sizeof(*edges));
	data = edges ? output(node, &shape, &type) : NULL;
	if (!data)
		return -1;
	low = 2595 * log10(1 + given[3] / 700);
	step = (2595 * log10(1 + given[4] / 700) - low) / (double)(shape.dim[1] + 2);
	for (int64_t i = 0; i < shape.dim[1] + 2; i++) {
		double hertz = 700 * (pow(10, (low + step * (double)i) / 2595) - 1);

		edges[i] = (int64_t)fmin(floor(((double)(int64_t)given[1] + 1) * hertz / given[2]),
					 1e9);
	}
	for (int64_t i = 0; i < shape.dim[1]; i++)
		triangle(type, data, &shape, i, edges + i);
	return 0;
}
