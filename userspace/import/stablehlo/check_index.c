// SPDX-License-Identifier: MIT
/* Checks of gather, scatter, products and windows. */
#include "check.h"

#include <string.h>

static void need_sorted(struct shlo_check *check, const char *name, const struct shlo_list *list,
			int rank)
{
	shlo_need_dims(check, name, list->at, list->count, rank);
	for (int i = 1; i < list->count; i++)
		if (list->at[i] < list->at[i - 1])
			shlo_wrong(check, "%s must be in ascending order", name);
}

/* The attributes that have the dimension numbers of gather and scatter. */
struct gather_names {
	const char *offset, *collapsed, *operand_batching, *indices_batching, *start_map, *left_out;
	const char *rank_of; /* whose rank the batch and window dimensions make up */
};

static const struct gather_names gather_names = {
	.offset = "offset_dims",
	.collapsed = "collapsed_slice_dims",
	.operand_batching = "operand_batching_dims",
	.indices_batching = "start_indices_batching_dims",
	.start_map = "start_index_map",
	.left_out = "the list of collapsed_slice_dims and operand_batching_dims",
	.rank_of = "result",
};

static const struct gather_names scatter_names = {
	.offset = "update_window_dims",
	.collapsed = "inserted_window_dims",
	.operand_batching = "input_batching_dims",
	.indices_batching = "scatter_indices_batching_dims",
	.start_map = "scatter_dims_to_operand_dims",
	.left_out = "the list of inserted_window_dims and input_batching_dims",
	.rank_of = "updates",
};

/* Demands that dimensions of the operand and the indices that go together have equal sizes. */
static void need_batching(struct shlo_check *check, const struct shlo_gather_numbers *n,
			  const struct gather_names *names, const struct shlo_type *x,
			  const struct shlo_type *indices)
{
	if (n->indices_batching.count != n->operand_batching.count)
		shlo_wrong(check, "%s has %d numbers and %s %d: both must be equal",
			   names->operand_batching, n->operand_batching.count,
			   names->indices_batching, n->indices_batching.count);
	for (int i = 0; i < n->operand_batching.count; i++) {
		int64_t to = n->operand_batching.at[i], from = n->indices_batching.at[i];

		if (shlo_list_has(&n->start_map, to))
			shlo_wrong(check, "dimension %lld is in both %s and %s", (long long)to,
				   names->start_map, names->operand_batching);
		if (shlo_dim_meet(x->dims[to], indices->dims[from]) == -1)
			shlo_wrong(check,
				   "batching dimensions must have equal sizes, but dimension %lld "
				   "of the operand is %lld and dimension %lld of the indices %lld",
				   (long long)to, (long long)x->dims[to], (long long)from,
				   (long long)indices->dims[from]);
	}
}

/* Checks the dimension numbers that gather and scatter share. */
static void check_numbers(struct shlo_check *check, const struct shlo_gather_numbers *n,
			  const struct gather_names *names, const struct shlo_type *x,
			  const struct shlo_type *indices)
{
	struct shlo_list all = n->collapsed;
	int rank = x->rank;

	if (!shlo_is_integer(indices->element))
		shlo_wrong(check, "the indices are of %s, they should be integers",
			   shlo_elements[indices->element].text);
	if (n->offset.count + n->collapsed.count + n->operand_batching.count != rank)
		shlo_wrong(check,
			   "%s, %s and %s have %d, %d and %d numbers; together they must have "
			   "the rank of the operand, %d",
			   names->offset, names->collapsed, names->operand_batching,
			   n->offset.count, n->collapsed.count, n->operand_batching.count, rank);
	if (n->index_vector < 0 || n->index_vector > indices->rank)
		shlo_wrong(check,
			   "index_vector_dim is %lld, expected one from 0 to the rank of the "
			   "indices, %d",
			   (long long)n->index_vector, indices->rank);
	for (int i = 0; i < n->operand_batching.count; i++)
		all.at[all.count++] = n->operand_batching.at[i];
	shlo_need_dims(check, names->left_out, all.at, all.count, rank);
	need_sorted(check, names->collapsed, &n->collapsed, rank);
	need_sorted(check, names->operand_batching, &n->operand_batching, rank);
	shlo_need_dims(check, names->start_map, n->start_map.at, n->start_map.count, rank);
	shlo_need_dims(check, names->indices_batching, n->indices_batching.at,
		       n->indices_batching.count, indices->rank);
	need_batching(check, n, names, x, indices);
	if (shlo_list_has(&n->indices_batching, n->index_vector))
		shlo_wrong(check, "index_vector_dim is %lld, which is also in %s",
			   (long long)n->index_vector, names->indices_batching);
	if (n->index_vector == indices->rank && n->start_map.count != 1)
		shlo_wrong(check,
			   "%s has %d numbers, expected 1, as index_vector_dim is the rank of the "
			   "indices",
			   names->start_map, n->start_map.count);
	if (n->index_vector < indices->rank && indices->dims[n->index_vector] != SHLO_DYNAMIC &&
	    indices->dims[n->index_vector] != n->start_map.count)
		shlo_wrong(check,
			   "%s has %d numbers, expected %lld, as dimension index_vector_dim of the "
			   "indices has this size",
			   names->start_map, n->start_map.count,
			   (long long)indices->dims[n->index_vector]);
}

/*
 * Sets @dims to the batch dimensions of the indices and the window dimensions combined, and returns
 * the rank of the result or the updates.
 */
static int combined(struct shlo_check *check, const struct shlo_gather_numbers *n,
		    const struct gather_names *names, const struct shlo_type *indices,
		    const int64_t *window, int64_t *dims)
{
	int batch = indices->rank - (n->index_vector < indices->rank);
	int rank = batch + n->offset.count, from = 0, offset = 0;

	if (rank > SHLO_MAX_RANK)
		shlo_wrong(check, "the rank of the %s would be %d, expected at most %d",
			   names->rank_of, rank, SHLO_MAX_RANK);
	need_sorted(check, names->offset, &n->offset, rank);
	for (int i = 0; i < rank; i++) {
		if (shlo_list_has(&n->offset, i)) {
			dims[i] = window[offset++];
			continue;
		}
		from += from == n->index_vector;
		dims[i] = indices->dims[from++];
	}
	return rank;
}

static void gather(struct shlo_check *check, const int64_t *sizes)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	const struct shlo_type *indices = shlo_need_tensor(check, 1);
	int64_t window[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	struct shlo_gather_numbers n;
	int count = 0, rank;

	shlo_need_numbers(check, "dimension_numbers");
	shlo_gather_numbers(check->op, false, &n);
	check_numbers(check, &n, &gather_names, x, indices);
	if (sizes)
		shlo_need_slice_sizes(check, sizes, x);
	for (int i = 0; i < x->rank; i++) {
		bool collapsed = shlo_list_has(&n.collapsed, i) ||
				 shlo_list_has(&n.operand_batching, i);

		if (sizes && collapsed && sizes[i] > 1)
			shlo_wrong(check,
				   "slice size %lld of dimension %d, which is collapsed or a "
				   "batching dimension, is more than 1",
				   (long long)sizes[i], i);
		if (!collapsed)
			window[count++] = sizes ? sizes[i] : SHLO_DYNAMIC;
	}
	rank = combined(check, &n, &gather_names, indices, window, dims);
	shlo_out_like(check, 0, x, rank, dims);
}

void shlo_check_gather(struct shlo_check *check)
{
	int64_t sizes[SHLO_MAX_RANK];

	int count = shlo_need_ints(check, "slice_sizes", sizes);

	if (count != shlo_need_tensor(check, 0)->rank)
		shlo_wrong(check,
			   "slice_sizes has %d numbers, expected %d, one for each dimension of the "
			   "operand",
			   count, check->in[0]->rank);
	gather(check, sizes);
}

void shlo_check_dynamic_gather(struct shlo_check *check)
{
	int64_t sizes[SHLO_MAX_RANK];
	int rank = shlo_need_tensor(check, 0)->rank;

	shlo_need_list(check, 2, rank);
	gather(check, shlo_known_ints(check, 2, sizes) == rank ? sizes : NULL);
}

void shlo_check_scatter(struct shlo_check *check)
{
	size_t n_inputs = check->in_count / 2;
	const struct shlo_type *x = shlo_need_tensor(check, 0), *indices, *updates;
	int64_t window[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	struct shlo_gather_numbers n;
	int count = 0, rank;

	if (check->in_count % 2 == 0 || check->in_count < 3)
		shlo_wrong(check,
			   "it has %zu operands, expected inputs, indices and as many updates as "
			   "inputs",
			   check->in_count);
	if (check->op->result_count != n_inputs)
		shlo_wrong(check, "it has %zu results, expected %zu, one for each input",
			   check->op->result_count, n_inputs);
	indices = shlo_need_tensor(check, n_inputs);
	updates = shlo_need_tensor(check, n_inputs + 1);
	shlo_need_numbers(check, "scatter_dimension_numbers");
	shlo_gather_numbers(check->op, true, &n);
	check_numbers(check, &n, &scatter_names, x, indices);
	for (int i = 0; i < x->rank; i++)
		if (!shlo_list_has(&n.collapsed, i) && !shlo_list_has(&n.operand_batching, i))
			window[count++] = x->dims[i];
	rank = combined(check, &n, &scatter_names, indices, window, dims);
	if (updates->rank != rank)
		shlo_wrong(check, "the updates have rank %d, they should have %d", updates->rank,
			   rank);
	for (int i = 0; i < rank; i++) {
		int64_t size = updates->dims[i];
		bool is_window = shlo_list_has(&n.offset, i);

		if (size != SHLO_DYNAMIC && dims[i] != SHLO_DYNAMIC &&
		    (is_window ? size > dims[i] : size != dims[i]))
			shlo_wrong(
				check,
				"dimension %d of the updates is %lld, expected %s%lld, as in the "
				"%s",
				i, (long long)size, is_window ? "at most " : "", (long long)dims[i],
				is_window ? "input" : "indices");
	}
	shlo_need_reducer(check, 0, n_inputs);
	for (size_t i = 0; i < n_inputs; i++) {
		const struct shlo_type *in = shlo_need_tensor(check, i);
		const struct shlo_type *like = check->op->regions[0]->block.arguments[i]->type;

		if (!shlo_dims_fit(in, x) ||
		    !shlo_dims_fit(shlo_need_tensor(check, n_inputs + 1 + i), updates))
			shlo_wrong(
				check,
				"all inputs must have equal dimensions, and so must all updates");
		shlo_need_promoted(check, i, 0, i);
		shlo_need_promoted(check, n_inputs + 1 + i, 0, i);
		shlo_out_like(check, i, like, in->rank, in->dims);
	}
}

/* ---- products */

/* Demands that the dimensions of the operands that two lists pair have equal sizes. */
static void need_equal_sizes(struct shlo_check *check, const char *what,
			     const struct shlo_list *lists)
{
	for (int i = 0; i < lists[0].count; i++) {
		int64_t x = check->in[0]->dims[lists[0].at[i]];
		int64_t y = check->in[1]->dims[lists[1].at[i]];

		if (shlo_dim_meet(x, y) == -1)
			shlo_wrong(check,
				   "%s dimensions must have equal sizes, but dimension %lld of "
				   "operand 0 is %lld and dimension %lld of operand 1 %lld",
				   what, (long long)lists[0].at[i], (long long)x,
				   (long long)lists[1].at[i], (long long)y);
	}
}

static void check_contraction(struct shlo_check *check, const struct shlo_dot_numbers *n)
{
	const struct shlo_type *x[2] = { shlo_need_tensor(check, 0), shlo_need_tensor(check, 1) };

	if (n->batch[0].count != n->batch[1].count || n->contract[0].count != n->contract[1].count)
		shlo_wrong(
			check,
			"the operands must have equally many batching and contracting dimensions");
	for (int k = 0; k < 2; k++) {
		struct shlo_list all = n->batch[k];

		if (n->batch[k].count + n->contract[k].count > x[k]->rank)
			shlo_wrong(check, "operand %d has rank %d, and more dimensions are named",
				   k, x[k]->rank);

		for (int i = 0; i < n->contract[k].count && all.count < SHLO_MAX_RANK; i++)
			all.at[all.count++] = n->contract[k].at[i];
		shlo_need_dims(check,
			       k ? "the list of batching and contracting dimensions of operand 1" :
				   "the list of batching and contracting dimensions of operand 0",
			       all.at, all.count, x[k]->rank);
	}
	need_equal_sizes(check, "batching", n->batch);
	need_equal_sizes(check, "contracting", n->contract);
}

/*
 * Demands that a quantised right operand has zero points of 0, and no scales along a dimension that
 * is summed up.
 */
static void need_right_scales(struct shlo_check *check, const struct shlo_dot_numbers *n)
{
	const struct shlo_quant *quant = check->in[1]->quant;

	if (!quant)
		return;
	for (size_t i = 0; i < quant->count; i++)
		if (quant->zeros[i])
			shlo_wrong(check, "the right operand has zero point %lld, expected 0",
				   (long long)quant->zeros[i]);
	if (quant->axis >= 0 && shlo_list_has(&n->contract[1], quant->axis))
		shlo_wrong(check,
			   "the right operand has scales along dimension %d, which is summed up",
			   quant->axis);
}

static void out_product(struct shlo_check *check, const struct shlo_dot_numbers *n)
{
	int64_t dims[2 * SHLO_MAX_RANK];
	int rank = 0;

	check_contraction(check, n);
	shlo_need_product_scales(check);
	for (int i = 0; i < n->batch[0].count; i++)
		dims[rank++] = shlo_dim_meet(check->in[0]->dims[n->batch[0].at[i]],
					     check->in[1]->dims[n->batch[1].at[i]]);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < check->in[k]->rank; i++)
			if (!shlo_list_has(&n->batch[k], i) && !shlo_list_has(&n->contract[k], i))
				dims[rank++] = check->in[k]->dims[i];
	if (rank > SHLO_MAX_RANK)
		shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
	/* The element type of the result is the declared one. */
	shlo_out_like(check, 0, shlo_declared(check, 0), rank, dims);
}

void shlo_check_dot_general(struct shlo_check *check)
{
	struct shlo_dot_numbers n;

	shlo_need_numbers(check, "dot_dimension_numbers");
	shlo_dot_numbers(check->op, &n);
	out_product(check, &n);
	need_right_scales(check, &n);
}

/* Checks the sizes of groups; their number is the last dimension of operand 2. */
static void need_group_sizes(struct shlo_check *check, const struct shlo_ragged_numbers *n)
{
	const struct shlo_type *x = check->in[0], *y = check->in[1];
	const struct shlo_type *sizes = shlo_need_tensor(check, 2);
	int64_t groups;

	if (!shlo_is_integer(sizes->element) ||
	    (sizes->rank != 1 && sizes->rank != n->prefix.count + 1))
		shlo_wrong(check, "the sizes of groups are %s, expected integers of rank 1%s",
			   shlo_type_brief(check->arena, sizes),
			   n->prefix.count ?
				   shlo_arena_printf(check->arena, " or %d", n->prefix.count + 1) :
				   "");
	for (int i = 0; i + 1 < sizes->rank; i++)
		if (shlo_dim_meet(sizes->dims[i], x->dims[n->prefix.at[i]]) == -1)
			shlo_wrong(check,
				   "dimension %d of the sizes of groups is %lld, dimension %lld of "
				   "operand 0 %lld: both must be equal",
				   i, (long long)sizes->dims[i], (long long)n->prefix.at[i],
				   (long long)x->dims[n->prefix.at[i]]);
	groups = sizes->dims[sizes->rank - 1];
	if (n->mode == SHLO_RAGGED_FREE && shlo_dim_meet(groups, y->dims[n->group.at[0]]) == -1)
		shlo_wrong(check, "there are %lld sizes of groups, the right side has %lld groups",
			   (long long)groups, (long long)y->dims[n->group.at[0]]);
}

void shlo_check_ragged_dot(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *y = shlo_need_tensor(check, 1);
	int64_t dims[2 * SHLO_MAX_RANK + 1];
	struct shlo_ragged_numbers n;
	struct shlo_list right;
	int rank = 0;

	if (!shlo_attr_find(&check->op->attrs, "ragged_dot_dimension_numbers"))
		shlo_wrong(check, "attribute ragged_dot_dimension_numbers is missing");
	shlo_need_numbers(check, "ragged_dot_dimension_numbers");
	shlo_ragged_numbers(check->op, &n);
	check_contraction(check, &n.dot);
	if (n.ragged.count != 1)
		shlo_wrong(check, "lhs_ragged_dimensions has %d numbers, expected 1",
			   n.ragged.count);
	shlo_need_dims(check, "lhs_ragged_dimensions", n.ragged.at, 1, x->rank);
	if (n.group.count != (n.mode == SHLO_RAGGED_FREE))
		shlo_wrong(check,
			   "rhs_group_dimensions has %d numbers, expected %d, as the ragged "
			   "dimension is %s",
			   n.group.count, n.mode == SHLO_RAGGED_FREE,
			   n.mode == SHLO_RAGGED_FREE ? "neither a batching nor a contracting one" :
							"a batching or contracting one");
	right = n.dot.batch[1];
	for (int i = 0; i < n.dot.contract[1].count; i++)
		right.at[right.count++] = n.dot.contract[1].at[i];
	if (n.group.count) {
		shlo_need_dims(check, "rhs_group_dimensions", n.group.at, 1, y->rank);
		if (shlo_list_has(&right, n.group.at[0]))
			shlo_wrong(check,
				   "dimension %lld of the right side is a group dimension, and a "
				   "batching or contracting dimension",
				   (long long)n.group.at[0]);
		right.at[right.count++] = n.group.at[0];
	}
	need_group_sizes(check, &n);
	if (n.mode == SHLO_RAGGED_CONTRACTED)
		dims[rank++] = check->in[2]->dims[check->in[2]->rank - 1];
	for (int i = 0; i < n.dot.batch[0].count; i++)
		dims[rank++] =
			shlo_dim_meet(x->dims[n.dot.batch[0].at[i]], y->dims[n.dot.batch[1].at[i]]);
	for (int i = 0; i < x->rank; i++)
		if (!shlo_list_has(&n.dot.batch[0], i) && !shlo_list_has(&n.dot.contract[0], i))
			dims[rank++] = x->dims[i];
	for (int i = 0; i < y->rank; i++)
		if (!shlo_list_has(&right, i))
			dims[rank++] = y->dims[i];
	if (rank > SHLO_MAX_RANK)
		shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
	shlo_out_like(check, 0, shlo_declared(check, 0), rank, dims);
}

void shlo_check_dot(struct shlo_check *check)
{
	struct shlo_dot_numbers n = { 0 };

	if (shlo_need_tensor(check, 0)->rank < 1 || check->in[0]->rank > 2 ||
	    shlo_need_tensor(check, 1)->rank < 1 || check->in[1]->rank > 2)
		shlo_wrong(check, "the operands are %s and %s, expected vectors or matrices",
			   shlo_type_brief(check->arena, check->in[0]),
			   shlo_type_brief(check->arena, check->in[1]));
	n.contract[0].count = n.contract[1].count = 1;
	n.contract[0].at[0] = check->in[0]->rank - 1;
	out_product(check, &n);
}

static void need_conv_scales(struct shlo_check *check, const struct shlo_conv_numbers *n)
{
	const struct shlo_quant *kernel = check->in[1]->quant,
				*out = shlo_declared(check, 0)->quant;

	shlo_need_product_scales(check);
	if (!kernel && check->in[0]->element != check->in[1]->element)
		shlo_wrong(check, "operands 0 and 1 are of %s and %s: both must be equal",
			   shlo_elements[check->in[0]->element].text,
			   shlo_elements[check->in[1]->element].text);
	if (kernel && kernel->axis >= 0 && kernel->axis != n->kernel_output)
		shlo_wrong(check,
			   "the kernel has scales along dimension %d, expected %lld, that of "
			   "the output features",
			   kernel->axis, (long long)n->kernel_output);
	if (out && out->axis >= 0 && out->axis != n->output_feature)
		shlo_wrong(check,
			   "the result has scales along dimension %d, expected %lld, that of "
			   "its features",
			   out->axis, (long long)n->output_feature);
}

static void convolution(struct shlo_check *check, const int64_t *padding, bool known)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *k = shlo_need_tensor(check, 1);
	int64_t dims[SHLO_MAX_RANK], input, output;
	struct shlo_conv_numbers n;

	shlo_conv_numbers(check, padding, &n);
	need_conv_scales(check, &n);
	if (n.feature_groups < 1 || n.batch_groups < 1 ||
	    (n.feature_groups > 1 && n.batch_groups > 1))
		shlo_wrong(check,
			   "feature_group_count is %lld and batch_group_count %lld; they "
			   "must be at least 1, and one of them must be 1",
			   (long long)n.feature_groups, (long long)n.batch_groups);
	input = x->dims[n.input_feature];
	output = k->dims[n.kernel_output];
	if (input != SHLO_DYNAMIC && k->dims[n.kernel_input] != SHLO_DYNAMIC &&
	    (input % n.feature_groups || input / n.feature_groups != k->dims[n.kernel_input]))
		shlo_wrong(check,
			   "the operand has %lld input features in %lld groups, the kernel "
			   "takes %lld for each group",
			   (long long)input, (long long)n.feature_groups,
			   (long long)k->dims[n.kernel_input]);
	if (output != SHLO_DYNAMIC && (output % n.feature_groups || output % n.batch_groups))
		shlo_wrong(check,
			   "the kernel has %lld output features, which the %lld groups do not "
			   "divide",
			   (long long)output, (long long)(n.feature_groups * n.batch_groups));
	dims[n.output_feature] = output;
	dims[n.output_batch] = x->dims[n.input_batch];
	if (dims[n.output_batch] != SHLO_DYNAMIC) {
		if (dims[n.output_batch] % n.batch_groups)
			shlo_wrong(
				check,
				"the batch has size %lld, which batch_group_count does not divide",
				(long long)dims[n.output_batch]);
		dims[n.output_batch] /= n.batch_groups;
	}
	for (int i = 0; i < n.spatial; i++)
		dims[n.output_spatial.at[i]] =
			known ? shlo_window_count(x->dims[n.input_spatial.at[i]], n.window.size[i],
						  n.window.stride[i], n.window.low[i],
						  n.window.high[i], n.window.base_dilation[i],
						  n.window.window_dilation[i]) :
				SHLO_DYNAMIC;
	shlo_out_like(check, 0, shlo_declared(check, 0), x->rank, dims);
}

void shlo_check_convolution(struct shlo_check *check)
{
	convolution(check, NULL, true);
}

void shlo_check_dynamic_conv(struct shlo_check *check)
{
	static const int64_t none[2 * SHLO_MAX_RANK];
	const struct shlo_type *padding = shlo_need_tensor(check, 2);
	int spatial = shlo_need_tensor(check, 0)->rank - 2;

	/* A rank below 2 is refused as for any convolution. */
	if (spatial >= 0 && (padding->rank != 2 || !shlo_is_integer(padding->element) ||
			     shlo_dim_meet(padding->dims[0], spatial) == -1 ||
			     shlo_dim_meet(padding->dims[1], 2) == -1))
		shlo_wrong(check,
			   "the padding is %s, expected two integers for each of %d dimensions",
			   shlo_type_brief(check->arena, padding), spatial);
	convolution(check, none, false);
}

/* ---- windows */

static void window_dims(const struct shlo_window *w, const int64_t *from, int64_t *dims)
{
	for (int i = 0; i < w->rank; i++)
		dims[i] = shlo_window_count(from[i], w->size[i], w->stride[i], w->low[i],
					    w->high[i], w->base_dilation[i], w->window_dilation[i]);
}

void shlo_check_reduce_window(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	size_t count = check->in_count / 2;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_window window;

	shlo_need_initial(check);
	shlo_window_numbers(check, x->rank, &window);
	window_dims(&window, x->dims, dims);
	shlo_need_reducer(check, 0, count);
	for (size_t i = 0; i < count; i++) {
		if (!shlo_dims_fit(shlo_need_tensor(check, i), x))
			shlo_wrong(check, "the inputs must have equal dimensions");
		if (shlo_need_tensor(check, count + i)->rank)
			shlo_wrong(check, "initial value %zu is no scalar", i);
		shlo_need_promoted(check, i, 0, i);
		shlo_need_promoted(check, count + i, 0, i);
		shlo_out_like(check, i, check->op->regions[0]->block.arguments[i]->type, x->rank,
			      dims);
	}
}

void shlo_check_select_and_scatter(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0),
			       *source = shlo_need_tensor(check, 1);
	const struct shlo_type *windows;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_window window;

	shlo_window_numbers(check, x->rank, &window);
	window_dims(&window, x->dims, dims);
	shlo_need_region(check, 0, 2, 1);
	shlo_need_element_argument(check, 0, 0, 0);
	shlo_need_element_argument(check, 0, 0, 1);
	shlo_need_predicate(check, 0);
	shlo_need_reducer(check, 1, 1);
	for (size_t i = 0; i < 3; i++) {
		shlo_need_tensor(check, i);
		shlo_need_promoted(check, i, 1, 0);
	}
	if (check->in[2]->rank)
		shlo_wrong(check, "the initial value is no scalar");
	if (source->element != x->element)
		shlo_wrong(check,
			   "the operand has elements of %s, the source of %s: both must be equal",
			   shlo_elements[x->element].text, shlo_elements[source->element].text);
	windows = shlo_tensor_type(check->arena, x->element, x->rank, dims);
	if (!shlo_dims_fit(source, windows))
		shlo_wrong(check,
			   "the source is %s, expected %s, with an element for each window of the "
			   "operand",
			   shlo_type_brief(check->arena, source),
			   shlo_type_brief(check->arena, windows));
	shlo_out_like(check, 0, check->op->regions[1]->block.arguments[0]->type, x->rank, x->dims);
}
