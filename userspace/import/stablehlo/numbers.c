// SPDX-License-Identifier: MIT
/* Reads the dimension numbers of operations from their attributes. */
#include "numbers.h"

#include <string.h>

bool shlo_list_has(const struct shlo_list *list, int64_t number)
{
	for (int i = 0; i < list->count; i++)
		if (list->at[i] == number)
			return true;
	return false;
}

static void list_of(const struct shlo_attr *dict, const char *name, struct shlo_list *list)
{
	int64_t count = shlo_ints_of(shlo_attr_find(dict, name), list->at, SHLO_MAX_RANK);

	list->count = count < 0 ? 0 : count > SHLO_MAX_RANK ? SHLO_MAX_RANK : (int)count;
}

/* Tells whether a member of dimension numbers is one dimension; the others are lists. */
static bool is_one(const char *name)
{
	const char *last = strrchr(name, '_');

	return last && (!strcmp(last, "_dim") || !strcmp(last, "_dimension"));
}

void shlo_need_numbers(struct shlo_check *check, const char *name)
{
	const struct shlo_attr *dict = shlo_attr_find(&check->op->attrs, name);

	if (!dict)
		return;
	if (dict->kind != SHLO_ATTR_DICT)
		shlo_wrong(check, "attribute %s has no dimension numbers", name);
	for (size_t i = 0; i < dict->count; i++) {
		const struct shlo_attr *item = dict->items[i];
		int64_t count = shlo_ints_of(item, NULL, 0);

		if (is_one(dict->names[i])) {
			if (item->kind != SHLO_ATTR_INT)
				shlo_wrong(check, "%s of %s is no integer", dict->names[i], name);
			continue;
		}
		if (count < 0)
			shlo_wrong(check, "%s of %s is no list of integers", dict->names[i], name);
		if (count > SHLO_MAX_RANK)
			shlo_wrong(check, "%s of %s has %lld numbers, expected at most %d",
				   dict->names[i], name, (long long)count, SHLO_MAX_RANK);
	}
}

static int64_t number_of(const struct shlo_attr *dict, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(dict, name);

	return attr && attr->kind == SHLO_ATTR_INT ? attr->number : 0;
}

void shlo_gather_numbers(const struct shlo_op *op, bool scatter, struct shlo_gather_numbers *n)
{
	const struct shlo_attr *dict = shlo_attr_find(
		&op->attrs, scatter ? "scatter_dimension_numbers" : "dimension_numbers");

	list_of(dict, scatter ? "update_window_dims" : "offset_dims", &n->offset);
	list_of(dict, scatter ? "inserted_window_dims" : "collapsed_slice_dims", &n->collapsed);
	list_of(dict, scatter ? "input_batching_dims" : "operand_batching_dims",
		&n->operand_batching);
	list_of(dict, scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims",
		&n->indices_batching);
	list_of(dict, scatter ? "scatter_dims_to_operand_dims" : "start_index_map", &n->start_map);
	n->index_vector = number_of(dict, "index_vector_dim");
}

static void dot_numbers(const struct shlo_attr *dict, struct shlo_dot_numbers *n)
{
	list_of(dict, "lhs_batching_dimensions", &n->batch[0]);
	list_of(dict, "rhs_batching_dimensions", &n->batch[1]);
	list_of(dict, "lhs_contracting_dimensions", &n->contract[0]);
	list_of(dict, "rhs_contracting_dimensions", &n->contract[1]);
}

void shlo_dot_numbers(const struct shlo_op *op, struct shlo_dot_numbers *n)
{
	dot_numbers(shlo_attr_find(&op->attrs, "dot_dimension_numbers"), n);
}

/* Appends the numbers of @from that come in front of @before. */
static void add_before(struct shlo_list *list, const struct shlo_list *from, int64_t before)
{
	for (int i = 0; i < from->count && from->at[i] != before && list->count < SHLO_MAX_RANK;
	     i++)
		list->at[list->count++] = from->at[i];
}

void shlo_ragged_numbers(const struct shlo_op *op, struct shlo_ragged_numbers *n)
{
	const struct shlo_attr *dict = shlo_attr_find(&op->attrs, "ragged_dot_dimension_numbers");
	struct shlo_list free = { 0 };
	int64_t dim;

	dot_numbers(dict, &n->dot);
	list_of(dict, "lhs_ragged_dimensions", &n->ragged);
	list_of(dict, "rhs_group_dimensions", &n->group);
	dim = n->ragged.count ? n->ragged.at[0] : -1;
	n->mode = shlo_list_has(&n->dot.contract[0], dim) ? SHLO_RAGGED_CONTRACTED :
		  shlo_list_has(&n->dot.batch[0], dim)	  ? SHLO_RAGGED_BATCH :
							    SHLO_RAGGED_FREE;
	n->prefix.count = 0;
	add_before(&n->prefix, &n->dot.batch[0], dim);
	if (n->mode == SHLO_RAGGED_CONTRACTED)
		add_before(&n->prefix, &n->dot.contract[0], dim);
	for (int64_t i = 0; i < dim && i < SHLO_MAX_RANK; i++)
		if (!shlo_list_has(&n->dot.batch[0], i) && !shlo_list_has(&n->dot.contract[0], i))
			free.at[free.count++] = i;
	if (n->mode == SHLO_RAGGED_FREE)
		add_before(&n->prefix, &free, dim);
}

int64_t shlo_scan_inputs(const struct shlo_op *op)
{
	int64_t segments[2], count = shlo_attr_int(op, "input_count", 0);

	if (!count &&
	    shlo_ints_of(shlo_attr_find(&op->attrs, "operandSegmentSizes"), segments, 2) == 2)
		count = segments[0];
	return count;
}

void shlo_need_from(struct shlo_check *check, const char *name, const int64_t *numbers, int count,
		    int64_t least)
{
	for (int i = 0; i < count; i++)
		if (numbers[i] < least || numbers[i] > INT32_MAX)
			shlo_wrong(check, "%s has %lld, it should be from %lld to %d", name,
				   (long long)numbers[i], (long long)least, INT32_MAX);
}

/* Reads pairs of low and high padding, from nested lists or dense elements. */
static void paddings(struct shlo_check *check, int rank, struct shlo_window *window)
{
	const struct shlo_attr *attr = shlo_attr_find(&check->op->attrs, "padding");
	int64_t numbers[2 * SHLO_MAX_RANK] = { 0 }, count = 0;

	if (attr && attr->kind == SHLO_ATTR_ARRAY) {
		for (size_t i = 0; i < attr->count && i < SHLO_MAX_RANK; i++)
			if (shlo_ints_of(attr->items[i], numbers + 2 * i, 2) != 2)
				shlo_wrong(check, "padding has no pairs of numbers");
		count = 2 * (int64_t)attr->count;
	} else if (attr) {
		count = shlo_ints_of(attr, numbers, 2 * SHLO_MAX_RANK);
		if (count && (attr->kind != SHLO_ATTR_DENSE || attr->type->rank != 2 ||
			      attr->type->dims[1] != 2))
			count = -1;
	}
	if (attr && count && count != 2 * rank)
		shlo_wrong(check, "padding must have a pair for each of %d dimensions", rank);
	shlo_need_from(check, "padding", numbers, 2 * rank, -INT32_MAX);
	for (int i = 0; i < rank; i++) {
		window->low[i] = numbers[2 * i];
		window->high[i] = numbers[2 * i + 1];
	}
}

void shlo_window_numbers(struct shlo_check *check, int rank, struct shlo_window *window)
{
	window->rank = rank;
	if (shlo_need_ints(check, "window_dimensions", window->size) != rank)
		shlo_wrong(check, "window_dimensions must have %d numbers", rank);
	shlo_ints_or(check, "window_strides", window->stride, rank, 1);
	shlo_ints_or(check, "base_dilations", window->base_dilation, rank, 1);
	shlo_ints_or(check, "window_dilations", window->window_dilation, rank, 1);
	memset(window->reversed, 0, sizeof(window->reversed));
	paddings(check, rank, window);
	shlo_need_from(check, "window_dimensions", window->size, rank, 1);
	shlo_need_from(check, "window_strides", window->stride, rank, 1);
	shlo_need_from(check, "base_dilations", window->base_dilation, rank, 1);
	shlo_need_from(check, "window_dilations", window->window_dilation, rank, 1);
}

static void conv_dims(struct shlo_check *check, struct shlo_conv_numbers *n)
{
	const struct shlo_attr *dict = shlo_attr_find(&check->op->attrs, "dimension_numbers");

	if (!dict || dict->kind != SHLO_ATTR_DICT)
		shlo_wrong(check, "attribute dimension_numbers, a #stablehlo.conv, is missing");
	shlo_need_numbers(check, "dimension_numbers");
	n->input_batch = number_of(dict, "input_batch_dimension");
	n->input_feature = number_of(dict, "input_feature_dimension");
	n->kernel_input = number_of(dict, "kernel_input_feature_dimension");
	n->kernel_output = number_of(dict, "kernel_output_feature_dimension");
	n->output_batch = number_of(dict, "output_batch_dimension");
	n->output_feature = number_of(dict, "output_feature_dimension");
	list_of(dict, "input_spatial_dimensions", &n->input_spatial);
	list_of(dict, "kernel_spatial_dimensions", &n->kernel_spatial);
	list_of(dict, "output_spatial_dimensions", &n->output_spatial);
}

/* Demands that the two special dimensions and the spatial ones are all dimensions, each once. */
static void need_partition(struct shlo_check *check, const char *what, int64_t a, int64_t b,
			   const struct shlo_list *spatial, int rank)
{
	struct shlo_list all = *spatial;

	if (spatial->count + 2 != rank)
		shlo_wrong(check, "%s has %d spatial dimensions for a rank of %d", what,
			   spatial->count, rank);
	all.at[all.count++] = a;
	all.at[all.count++] = b;
	shlo_need_dims(check, what, all.at, all.count, rank);
}

void shlo_conv_numbers(struct shlo_check *check, const int64_t *padding,
		       struct shlo_conv_numbers *n)
{
	const struct shlo_type *input = shlo_need_tensor(check, 0);
	const struct shlo_type *kernel = shlo_need_tensor(check, 1);
	struct shlo_window *window = &n->window;
	const struct shlo_op *op = check->op;

	conv_dims(check, n);
	n->spatial = window->rank = input->rank - 2;
	if (n->spatial < 0 || kernel->rank != input->rank)
		shlo_wrong(check,
			   "operands of rank %d and %d make no convolution: both must have one "
			   "rank, at least 2",
			   input->rank, kernel->rank);
	need_partition(check, "the input", n->input_batch, n->input_feature, &n->input_spatial,
		       input->rank);
	need_partition(check, "the kernel", n->kernel_input, n->kernel_output, &n->kernel_spatial,
		       input->rank);
	need_partition(check, "the output", n->output_batch, n->output_feature, &n->output_spatial,
		       input->rank);
	n->feature_groups = shlo_attr_int(op, "feature_group_count", 1);
	n->batch_groups = shlo_attr_int(op, "batch_group_count", 1);
	shlo_ints_or(check, "window_strides", window->stride, n->spatial, 1);
	shlo_ints_or(check, "lhs_dilation", window->base_dilation, n->spatial, 1);
	shlo_ints_or(check, "rhs_dilation", window->window_dilation, n->spatial, 1);
	shlo_ints_or(check, "window_reversal", window->reversed, n->spatial, 0);
	shlo_need_from(check, "window_strides", window->stride, n->spatial, 1);
	shlo_need_from(check, "lhs_dilation", window->base_dilation, n->spatial, 1);
	shlo_need_from(check, "rhs_dilation", window->window_dilation, n->spatial, 1);
	for (int i = 0; i < n->spatial; i++) {
		window->size[i] = kernel->dims[n->kernel_spatial.at[i]];
		if (!window->size[i])
			shlo_wrong(check, "the kernel has no elements in spatial dimension %d", i);
	}
	if (padding) {
		shlo_need_from(check, "the padding", padding, 2 * n->spatial, -INT32_MAX);
		for (int i = 0; i < n->spatial; i++) {
			window->low[i] = padding[2 * i];
			window->high[i] = padding[2 * i + 1];
		}
	} else {
		paddings(check, n->spatial, window);
	}
}
