/* SPDX-License-Identifier: MIT */
/* The dimension numbers of gather, scatter, dot_general, ragged_dot, convolution and windows. */
#ifndef SHLO_NUMBERS_H
#define SHLO_NUMBERS_H

#include "kinds.h"

/* Dimensions that an attribute lists. */
struct shlo_list {
	int count;
	int64_t at[SHLO_MAX_RANK];
};

bool shlo_list_has(const struct shlo_list *list, int64_t number);

/*
 * Demands that an attribute with dimension numbers has integers and lists of integers, which the
 * functions below read; the attribute may be absent.
 */
void shlo_need_numbers(struct shlo_check *check, const char *name);

/*
 * The dimension numbers of gather, and those of scatter under gather's names: operand stands for
 * input, offset for update window.
 */
struct shlo_gather_numbers {
	struct shlo_list offset, collapsed, operand_batching, indices_batching, start_map;
	int64_t index_vector;
};

void shlo_gather_numbers(const struct shlo_op *op, bool scatter, struct shlo_gather_numbers *n);

struct shlo_dot_numbers {
	struct shlo_list batch[2], contract[2];
};

void shlo_dot_numbers(const struct shlo_op *op, struct shlo_dot_numbers *n);

/*
 * The kind of dimension of the left operand that chlo.ragged_dot divides into groups, each with a
 * product of its own.
 */
enum shlo_ragged_mode { SHLO_RAGGED_FREE, SHLO_RAGGED_CONTRACTED, SHLO_RAGGED_BATCH };

struct shlo_ragged_numbers {
	struct shlo_dot_numbers dot;
	struct shlo_list ragged; /* the ragged dimension of the left operand */
	/* the group dimension of the right operand, for SHLO_RAGGED_FREE */
	struct shlo_list group;
	/* dimensions of the left operand that may have group sizes of their own */
	struct shlo_list prefix;
	enum shlo_ragged_mode mode;
};

void shlo_ragged_numbers(const struct shlo_op *op, struct shlo_ragged_numbers *n);

/*
 * Returns how many operands of chlo.scan are inputs; the others are initial values. A number below
 * 1 means that the operation does not say it.
 */
int64_t shlo_scan_inputs(const struct shlo_op *op);

struct shlo_window {
	int rank;
	int64_t size[SHLO_MAX_RANK], stride[SHLO_MAX_RANK], low[SHLO_MAX_RANK], high[SHLO_MAX_RANK],
		base_dilation[SHLO_MAX_RANK], window_dilation[SHLO_MAX_RANK],
		reversed[SHLO_MAX_RANK];
};

/*
 * Demands that all numbers are from @least to 2^31 - 1, because sums of larger ones could overflow.
 */
void shlo_need_from(struct shlo_check *check, const char *name, const int64_t *numbers, int count,
		    int64_t least);
/* Reads the window of reduce_window or select_and_scatter. */
void shlo_window_numbers(struct shlo_check *check, int rank, struct shlo_window *window);

struct shlo_conv_numbers {
	int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch,
		output_feature, feature_groups, batch_groups;
	int spatial;
	struct shlo_list input_spatial, kernel_spatial, output_spatial;
	struct shlo_window window; /* the window over the spatial dimensions */
};

/*
 * Reads a convolution's numbers. @padding: the low and high padding of each spatial dimension;
 * NULL: the attribute padding has them.
 */
void shlo_conv_numbers(struct shlo_check *check, const int64_t *padding,
		       struct shlo_conv_numbers *n);

#endif
