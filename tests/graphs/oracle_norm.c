// SPDX-License-Identifier: MIT
/*
 * Computes the error bounds of operators that consist of several steps, from normalisations to
 * recurrent networks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "oracle.h"

/* --- Normalisation --- */

/* In groups of more elements, the error of one element hardly changes the others. */
#define SMALL_GROUP 32

/*
 * Returns an array with, for each element, the index of the group in which it is normalised. The
 * caller frees it.
 */
static int64_t *groups_of(const struct operand *in, uint32_t axes)
{
	struct cpu_shape s = cpu_shape_of(in->type);
	int64_t stride[IR_MAX_RANK], groups = 1, *group;

	for (uint32_t d = s.rank; d-- > 0;) {
		stride[d] = axes >> d & 1 ? 0 : groups;
		groups *= axes >> d & 1 ? 1 : s.dim[d];
	}
	group = calloc((size_t)in->count + 1, sizeof(*group));
	if (!group)
		oracle_fail("memory is exhausted");
	for (int64_t i = 0; i < in->count; i++)
		group[i] = cpu_offset(&s, i, stride);
	return group;
}

/* Computes for each element the mean, the largest absolute value and 1 / deviation of its group. */
static void statistics_of(const struct work *work, const int64_t *group, double *mean, double *rstd,
			  double *size)
{
	const struct operand *in = &work->in[0];
	double *count = new_doubles(in->count);

	memset(mean, 0, (size_t)in->count * sizeof(*mean));
	memset(rstd, 0, (size_t)in->count * sizeof(*rstd));
	for (int64_t i = 0; i < in->count; i++) {
		int64_t g = group[i];

		mean[g] += in->wide[i];
		size[g] = fmax(size[g], fabs(in->wide[i]));
		count[g]++;
	}
	for (int64_t i = 0; i < in->count; i++) {
		int64_t g = group[i];
		double d = in->wide[i] - mean[g] / count[g];

		rstd[g] += d * d;
	}
	/*
	 * Copy from groups to elements, the last element first: an element's group never has a
	 * larger index.
	 */
	for (int64_t i = in->count; i-- > 0;) {
		int64_t g = group[i];
		double variance = rstd[g] / count[g] + (double)work->node->attrs.norm.epsilon;

		mean[i] = mean[g] / count[g];
		size[i] = size[g];
		rstd[i] = 1 / sqrt(variance);
	}
	free(count);
}

/*
 * Adds to the bound twice the effect, to first order, that the operand's errors have on elements of
 * groups of n: the derivative of element i by element j is
 * rstd * ([i = j] - 1/n - z[i] * z[j] / n), where z are the normalised elements. sample_slack()
 * draws a few signs for all elements, which miss the worst case of one of many small groups.
 */
static void add_moved(const struct operand *in, const int64_t *group, int64_t n, const double *z,
		      const double *rstd, double scale, double *bound)
{
	int64_t *members = calloc((size_t)in->count + 1, sizeof(*members));
	int64_t *filled = calloc((size_t)in->count + 1, sizeof(*filled));

	if (!members || !filled)
		oracle_fail("memory is exhausted");
	for (int64_t i = 0; i < in->count; i++)
		members[group[i] * n + filled[group[i]]++] = i;
	for (int64_t i = 0; i < in->count; i++) {
		const int64_t *others = members + group[i] * n;
		double moved = 0;

		for (int64_t k = 0; k < n; k++) {
			int64_t j = others[k];

			moved += in->slack[j] * fabs((i == j) - (1 + z[i] * z[j]) / (double)n);
		}
		bound[i] += 2 * scale * rstd[i] * moved;
	}
	free(members);
	free(filled);
}

static int64_t group_size(const struct ir_type *type, uint32_t axes)
{
	int64_t size = 1;

	for (uint32_t i = 0; i < type->rank; i++)
		size *= axes >> i & 1 ? ir_type_dim(type, i) : 1;
	return size;
}

static void no_parameters(struct ir_node *node)
{
	node->num_operands = 1;
}

double *bound_norm(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	double *bound = new_doubles(out->count), *mean = new_doubles(out->count);
	double *rstd = new_doubles(out->count), *size = new_doubles(out->count), *plain, loss,
	       scale;
	const struct ir_norm_attrs *attrs = &work->node->attrs.norm;
	uint32_t axes = attrs->layout == IR_NCHW ? 0xc : 0x6;
	int64_t *group, n;

	if (work->node->op == IR_OP_LAYERNORM) {
		axes = 0;
		for (uint32_t i = 0; i < attrs->num_axes; i++)
			axes |= 1u << attrs->axes[i];
	}
	group = groups_of(&work->in[0], axes);
	n = group_size(&out->type, axes);
	statistics_of(work, group, mean, rstd, size);
	plain = run_on(work, ABSOLUTE, 0, no_parameters, r);
	loss = sum_loss((double)n);
	scale = work->num_operands > 1 && work->in[1].type ?
			largest(work->in[1].wide, work->in[1].count) :
			1;
	if (work->num_operands > 1 && work->in[1].type)
		for (int64_t i = 0; i < work->in[1].count; i++)
			scale = fmax(scale, fabs(work->in[1].wide[i]));
	for (int64_t i = 0; i < out->count; i++) {
		double shift = loss * size[i] * rstd[i], x = fabs(plain[i]);
		double bias = fabs(out->exact[i]) + scale * x;

		bound[i] = scale * (2 * shift + x * (4 * loss + 4 * shift)) + 4 * U32 * bias +
			   rounding(out->type.dtype, out->exact[i]);
	}
	if (work->slack) {
		double *moved = new_doubles(out->count);

		sample_slack(work, r, 4, moved);
		for (int64_t i = 0; i < out->count; i++)
			bound[i] += moved[i];
		free(moved);
		if (work->in[0].slack && n <= SMALL_GROUP)
			add_moved(&work->in[0], group, n, plain, rstd, scale, bound);
	}
	free(group);
	free(plain);
	free(mean);
	free(rstd);
	free(size);
	return bound;
}

/*
 * Returns the bound of scale * (x - mean) / sqrt(variance + epsilon) + bias, with an error for each
 * product.
 */
double *bound_batchnorm(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	struct cpu_shape s = cpu_shape_of(&out->type);
	uint32_t axis = work->node->attrs.norm.axis;
	const struct operand *scale = work->num_operands > 3 ? &work->in[3] : NULL;
	const struct operand *bias = work->num_operands > 4 ? &work->in[4] : NULL;
	double *bound = new_doubles(out->count);

	for (int64_t i = 0; i < out->count; i++) {
		int64_t c = i / s.stride[axis] % s.dim[axis];
		double k = scale && scale->type ? fabs(scale->wide[c]) : 1;
		double b = bias && bias->type ? fabs(bias->wide[c]) : 0;
		double rstd = 1 / sqrt(fabs(work->in[2].wide[c] +
					    (double)work->node->attrs.norm.epsilon));
		double terms =
			k * rstd * (fabs(work->in[0].wide[i]) + fabs(work->in[1].wide[c])) + b;

		bound[i] = 8 * U32 * terms + rounding(out->type.dtype, out->exact[i]);
	}
	if (work->slack) {
		double *moved = new_doubles(out->count);

		sample_slack(work, r, 4, moved);
		for (int64_t i = 0; i < out->count; i++)
			bound[i] += moved[i];
		free(moved);
	}
	return bound;
}

/* --- Quantisation, resampling, recurrent networks --- */

/*
 * Returns the error that a bias may cause: devices may compute a product of dequantised values with
 * integers, and then round its bias to a multiple of the scale of the sum, which costs up to a
 * sixteenth of a quantum. Operators between the values and the product, such as a transpose, do not
 * prevent that, so that all products count.
 */
static double integer_bias_error(const struct ir_value *value)
{
	while (value->def && (value->def->op == IR_OP_UNARY || value->def->op == IR_OP_BINARY))
		value = value->def->operands[0]->def ? value->def->operands[0] :
			value->def->num_operands > 1 ? value->def->operands[1] :
						       value->def->operands[0];
	return value->def && (value->def->op == IR_OP_CONV || value->def->op == IR_OP_MATMUL) ?
		       1.0 / 16 :
		       0;
}

double *bound_quantize(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	struct cpu_shape shape = cpu_shape_of(&out->type), scale = cpu_shape_of(work->in[1].type);
	double *bound, rounded = integer_bias_error(work->node->operands[0]);

	if (!work->slack)
		return NULL;
	bound = new_doubles(out->count);
	for (int64_t i = 0; i < out->count; i++) {
		int64_t k = cpu_block_offset(&shape, &scale, i);
		double x = work->in[0].wide[i], s = work->in[1].wide[k];
		double dx = work->in[0].slack ? work->in[0].slack[i] : 0;
		double ds = work->in[1].slack ? work->in[1].slack[k] : 0;
		double q = x / s, reach = (dx + fabs(q) * ds) / (fabs(s) - ds) + rounded;

		if ((work->in[2].slack && work->in[2].slack[k] > 0) || ds >= fabs(s) ||
		    !(reach < 1e9))
			bound[i] = INFINITY;
		else if (dx > 0 || ds > 0)
			bound[i] = fmax(fabs(nearbyint(q + reach * 1.01) - nearbyint(q)),
					fabs(nearbyint(q - reach * 1.01) - nearbyint(q)));
	}
	return bound;
}

double *bound_dequantize(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	struct cpu_shape shape = cpu_shape_of(&out->type), scale = cpu_shape_of(work->in[1].type);
	double *bound = new_doubles(out->count);

	for (int64_t i = 0; i < out->count; i++) {
		int64_t k = cpu_block_offset(&shape, &scale, i);
		double x = (double)cpu_load_int(work->in[0].type->dtype, work->in[0].native, i);
		double z = (double)cpu_load_int(work->in[2].type->dtype, work->in[2].native, k);
		double s = work->in[1].wide[k], slack = 0;

		/* The specification converts both numbers to float before it subtracts. */
		bound[i] = 2 * U32 * fabs(s) * (fabs(x) + fabs(z)) +
			   rounding(out->type.dtype, out->exact[i]);
		slack += work->in[0].slack ? work->in[0].slack[i] : 0;
		slack += work->in[2].slack ? work->in[2].slack[k] : 0;
		bound[i] += slack > 0 ? slack * fabs(s) : 0;
		if (work->in[1].slack && work->in[1].slack[k] > 0)
			bound[i] += work->in[1].slack[k] * (fabs(x - z) + slack);
	}
	return bound;
}

double *bound_resample(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	double *bound, *slack, *exact, most = 0, size = 0;

	if (!work->node->attrs.resample.linear)
		return bound_moved(work, r);
	slack = work->slack ? run_on(work, SLACK, ALL, NULL, r) : NULL;
	bound = run_on(work, ABSOLUTE, ALL, NULL, r);
	for (int k = 0; k < 2; k++)
		most += (double)ir_type_dim(&out->type, work->node->attrs.resample.axes[k]) +
			(double)ir_type_dim(work->in[0].type, work->node->attrs.resample.axes[k]);
	/* A weight of about 0 decides whether a large or infinite neighbour counts. */
	for (int64_t i = 0; i < work->in[0].count && out->exact; i++)
		size = isnan(work->in[0].wide[i]) ? INFINITY :
						    fmax(size, fabs(work->in[0].wide[i]));
	exact = out->exact;
	for (int64_t i = 0; i < out->count && exact; i++)
		bound[i] = bound[i] * U32 * 8 + (slack ? slack[i] : 0) + 4 * U32 * most * size +
			   rounding(out->type.dtype, exact[i]);
	if (!exact) {
		double *data = widened(&work->in[0]);
		struct kernel kernel;

		kernel_init(&kernel, work);
		kernel_widen_result(&kernel);
		kernel_set(&kernel, 0, data);
		exact = kernel_run(&kernel, r);
		for (int64_t i = 0; i < out->count; i++) {
			double tie = fabs(fabs(exact[i] - floor(exact[i])) - 0.5);

			bound[i] = slack && slack[i] > 0 ? INFINITY :
							   tie < 256 * U32 * (8 + 4 * most);
		}
		free(exact);
		free(data);
	}
	free(slack);
	return bound;
}

#define RECURRENT_WEIGHT 2 /* index of the operand with the recurrent weights */

/*
 * Returns the bound of a recurrent network. The errors of the gates' sums are taken into account by
 * moving weights, inputs and states. A state is an operand of the next step's products, and may be
 * rounded to the type in between.
 */
double *bound_recurrent(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	const struct ir_type *x = work->in[0].type;
	double hidden = work->node->attrs.rnn.hidden_size, steps = work->node->attrs.rnn.steps;
	double loss, most = 0, *bound = new_doubles(out->count);
	double state_loss = out->type.dtype == IR_F16 ? 0x1p-11 : 0;
	struct work moved = *work;
	double *slack[ORACLE_MAX_OPERANDS] = { NULL };

	loss = sum_loss((double)ir_type_dim(x, x->rank - 1) + hidden);
	for (uint32_t i = 0; i < work->num_operands; i++) {
		if (!work->in[i].type)
			continue;
		slack[i] = slack_of(&work->in[i]);
		for (int64_t k = 0; k < work->in[i].count; k++)
			slack[i][k] += (i == RECURRENT_WEIGHT ? state_loss + 4 * loss : 4 * loss) *
				       fabs(work->in[i].wide[k]);
		moved.in[i].slack = slack[i];
	}
	sample_slack(&moved, r, 6, bound);
	for (int64_t i = 0; i < out->count; i++)
		most = fmax(most, fabs(out->exact[i]));
	for (int64_t i = 0; i < out->count; i++)
		bound[i] += 16 * U32 * (steps > 1 ? steps : 1) * fmax(most, 1) +
			    state_loss * fmin(fmax(steps, 1), 8) * most +
			    rounding(out->type.dtype, out->exact[i]);
	for (uint32_t i = 0; i < work->num_operands; i++)
		free(slack[i]);
	return bound;
}
