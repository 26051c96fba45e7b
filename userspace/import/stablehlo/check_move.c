// SPDX-License-Identifier: MIT
/* Checks of operations that move elements: shapes, slices, padding. */
#include "check.h"

#include <string.h>

static void out_moved(struct shlo_check *check, const struct shlo_type *x, int rank,
		      const int64_t *dims)
{
	shlo_out_like(check, 0, x, rank, dims);
}

/*
 * Sets a result with the operand's element type, for operations that move dimensions: scales then
 * run along dimension @axis of the result.
 */
static void out_permuted(struct shlo_check *check, int axis, int rank, const int64_t *dims)
{
	shlo_need_scales(check, axis);
	shlo_out_like(check, 0, check->in[0]->quant ? shlo_declared(check, 0) : check->in[0], rank,
		      dims);
}

/* Demands that at most one dimension of the result is open, and that it has a bound. */
static void need_sized(struct shlo_check *check)
{
	const struct shlo_type *out = shlo_declared(check, 0);
	int open = 0;

	if (out->kind != SHLO_TENSOR)
		shlo_wrong(check, "the result is no tensor");
	if (out->rank < 0)
		shlo_wrong(check, "the result is a tensor of no known rank");
	for (int i = 0; i < out->rank; i++) {
		if (out->dims[i] != SHLO_DYNAMIC)
			continue;
		open++;
		if (!out->bounds || out->bounds[i] == SHLO_DYNAMIC)
			shlo_wrong(check,
				   "the result is %s, whose dimension %d is open and has no bound",
				   shlo_type_brief(check->arena, out), i);
	}
	if (open > 1)
		shlo_wrong(check, "the result is %s, which has more than one open dimension",
			   shlo_type_brief(check->arena, out));
}

void shlo_check_iota(struct shlo_check *check)
{
	const struct shlo_type *out = shlo_declared(check, 0);
	int64_t dim = shlo_need_int(check, "iota_dimension");

	if (out->kind != SHLO_TENSOR || out->element == SHLO_I1)
		shlo_wrong(check, "the result is no tensor of numbers");
	if (!shlo_type_is_static(out))
		shlo_wrong(check, "the result has dimensions that are not known");
	shlo_need_dims(check, "iota_dimension", &dim, 1, out->rank);
}

/* Returns the rank of a tensor, or the most that it can be if the type does not tell. */
static int most_rank(const struct shlo_type *type)
{
	return type->rank < 0 ? SHLO_MAX_RANK : type->rank;
}

void shlo_check_dynamic_iota(struct shlo_check *check)
{
	int64_t dim = shlo_need_int(check, "iota_dimension");

	shlo_need_tensor(check, 0);
	shlo_need_shape(check, 0);
	shlo_need_dims(check, "iota_dimension", &dim, 1, most_rank(shlo_declared(check, 0)));
}

/*
 * Demands that each dimension of the operand is 1, or as large as the result's dimension that it
 * becomes.
 */
static void need_stretched(struct shlo_check *check, const int64_t *map, const int64_t *out)
{
	const struct shlo_type *x = check->in[0];

	for (int i = 0; i < x->rank; i++)
		if (x->dims[i] != 1 && shlo_dim_meet(x->dims[i], out[map[i]]) == -1)
			shlo_wrong(
				check,
				"dimension %d of the operand is %lld, but becomes dimension %lld "
				"of the result, which is %lld: the first must be as large, or 1",
				i, (long long)x->dims[i], (long long)map[i],
				(long long)out[map[i]]);
}

/* Fills in @map: the dimension of the result that each dimension of the operand becomes. */
static void check_broadcast_dims(struct shlo_check *check, int64_t *map)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int count = shlo_need_ints(check, "broadcast_dimensions", map);

	if (count != x->rank)
		shlo_wrong(check, "broadcast_dimensions has %d numbers for an operand of rank %d",
			   count, x->rank);
	shlo_need_dims(check, "broadcast_dimensions", map, count, most_rank(out));
	if (out->rank >= 0)
		need_stretched(check, map, out->dims);
}

/*
 * Returns the dimension of the result along which the operand's scales run; -1: there is one scale
 * for all.
 */
static int broadcast_axis(const struct shlo_type *x, const int64_t *map)
{
	return x->quant && x->quant->axis >= 0 ? (int)map[x->quant->axis] : -1;
}

void shlo_check_broadcast_in_dim(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int64_t map[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];

	need_sized(check);
	check_broadcast_dims(check, map);
	/*
	 * An open dimension has the size of the operand's dimension that becomes it; without one,
	 * it has its own bound.
	 */
	for (int i = 0; i < out->rank; i++)
		dims[i] = out->dims[i] == SHLO_DYNAMIC ? out->bounds[i] : out->dims[i];
	for (int i = 0; i < x->rank; i++)
		if (out->dims[map[i]] == SHLO_DYNAMIC)
			dims[map[i]] = x->dims[i];
	out_permuted(check, broadcast_axis(x, map), out->rank, dims);
}

/* Demands that known_expanding_dimensions and known_nonexpanding_dimensions share no dimension. */
static void need_hints(struct shlo_check *check)
{
	static const char *const names[] = { "known_expanding_dimensions",
					     "known_nonexpanding_dimensions" };
	int64_t dims[2 * SHLO_MAX_RANK];
	int count = 0;

	for (int i = 0; i < 2; i++) {
		int64_t more = shlo_ints_of(shlo_attr_find(&check->op->attrs, names[i]),
					    dims + count, SHLO_MAX_RANK);

		if (more > SHLO_MAX_RANK)
			shlo_wrong(check, "%s has more than %d numbers", names[i], SHLO_MAX_RANK);
		count += more > 0 ? (int)more : 0;
	}
	shlo_need_dims(check,
		       "the list of known_expanding_dimensions and known_nonexpanding_dimensions",
		       dims, count, shlo_need_tensor(check, 0)->rank);
}

void shlo_check_dynamic_broadcast_in_dim(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int64_t map[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];

	shlo_need_shape(check, 1);
	check_broadcast_dims(check, map);
	need_hints(check);
	if (out->rank >= 0 && shlo_known_ints(check, 1, dims) == out->rank)
		need_stretched(check, map, dims);
	shlo_need_scales(check, broadcast_axis(x, map));
	if (out->element != x->element)
		shlo_wrong(check, "operand and result must have equal element types");
}

void shlo_check_broadcast(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dims[2 * SHLO_MAX_RANK];
	int count = shlo_need_ints(check, "broadcast_sizes", dims);

	for (int i = 0; i < count; i++)
		if (dims[i] < 0)
			shlo_wrong(check, "broadcast_sizes has %lld, which is less than 0",
				   (long long)dims[i]);
	if (count + x->rank > SHLO_MAX_RANK)
		shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
	memcpy(dims + count, x->dims, (size_t)x->rank * sizeof(*dims));
	out_moved(check, x, count + x->rank, dims);
}

static int64_t product(const int64_t *dims, int count)
{
	int64_t all = 1;

	for (int i = 0; i < count; i++)
		if (dims[i] == SHLO_DYNAMIC || __builtin_mul_overflow(all, dims[i], &all))
			return -1;
	return all;
}

/*
 * Returns the dimension of the result along which the operand's scales run: it has the size of the
 * operand's dimension, and the dimensions in front of both have equal products, as far as sizes are
 * known. -1: there is none.
 */
static int reshaped_axis(struct shlo_check *check)
{
	const struct shlo_type *x = check->in[0], *out = shlo_declared(check, 0);
	int axis = x->quant ? x->quant->axis : -1, to = out->quant ? out->quant->axis : -1;

	if (axis < 0 || to < 0 || out->rank < 0)
		return -1;
	if (shlo_dim_meet(x->dims[axis], out->dims[to]) == -1)
		return -1;
	return product(x->dims, axis) == product(out->dims, to) || product(x->dims, axis) < 0 ||
			       product(out->dims, to) < 0 ?
		       to :
		       -1;
}

void shlo_check_reshape(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int64_t from = shlo_type_count(x), to = shlo_type_count(out);

	if (out->kind != SHLO_TENSOR || out->element != x->element)
		shlo_wrong(check, "operand and result must have equal element types");
	if (from >= 0 && to >= 0 && from != to)
		shlo_wrong(check, "the operand has %lld elements, the result %lld", (long long)from,
			   (long long)to);
	need_sized(check);
	shlo_need_scales(check, reshaped_axis(check));
	if (to >= 0)
		out_permuted(check, reshaped_axis(check), out->rank, out->dims);
}

void shlo_check_dynamic_reshape(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int64_t from = shlo_type_count(x), to = shlo_type_count(out), dims[SHLO_MAX_RANK];
	int rank;

	shlo_need_shape(check, 1);
	if (out->element != x->element)
		shlo_wrong(check, "operand and result must have equal element types");
	rank = shlo_known_ints(check, 1, dims);
	if (to < 0 && rank >= 0)
		to = shlo_type_count(shlo_tensor_type(check->arena, x->element, rank, dims));
	if (from >= 0 && to >= 0 && from != to)
		shlo_wrong(check, "the operand has %lld elements, the result %lld", (long long)from,
			   (long long)to);
	shlo_need_scales(check, reshaped_axis(check));
}

void shlo_check_transpose(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t order[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	int axis = -1;

	if (shlo_need_ints(check, "permutation", order) != x->rank)
		shlo_wrong(check, "permutation has %d numbers, expected %d",
			   shlo_need_ints(check, "permutation", order), x->rank);
	shlo_need_dims(check, "permutation", order, x->rank, x->rank);
	for (int i = 0; i < x->rank; i++) {
		dims[i] = x->dims[order[i]];
		if (x->quant && order[i] == x->quant->axis)
			axis = i;
	}
	out_permuted(check, axis, x->rank, dims);
}

void shlo_check_reverse(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dims[SHLO_MAX_RANK];
	int count = shlo_need_ints(check, "dimensions", dims);

	shlo_need_dims(check, "dimensions", dims, count, x->rank);
	check->out[0] = x;
}

void shlo_check_concatenate(struct shlo_check *check)
{
	const struct shlo_type *first = shlo_need_tensor(check, 0);
	int64_t at = shlo_need_int(check, "dimension"), dims[SHLO_MAX_RANK];

	shlo_need_dims(check, "dimension", &at, 1, first->rank);
	memcpy(dims, first->dims, (size_t)first->rank * sizeof(*dims));
	for (size_t i = 1; i < check->in_count; i++) {
		const struct shlo_type *x = shlo_need_tensor(check, i);

		if (x->rank != first->rank || x->element != first->element)
			shlo_wrong(check,
				   "operand %zu is %s, operand 0 is %s: they must have equal "
				   "ranks and element types",
				   i, shlo_type_brief(check->arena, x),
				   shlo_type_brief(check->arena, first));
		for (int k = 0; k < x->rank; k++) {
			int64_t meet = shlo_dim_meet(dims[k], x->dims[k]);

			if (k == at)
				dims[k] = dims[k] == SHLO_DYNAMIC || x->dims[k] == SHLO_DYNAMIC ?
						  SHLO_DYNAMIC :
						  shlo_size_add(dims[k], x->dims[k]);
			else if (meet == -1)
				shlo_wrong(check,
					   "dimension %d of operand %zu is %lld, but %lld in "
					   "operands before it",
					   k, i, (long long)x->dims[k], (long long)dims[k]);
			else
				dims[k] = meet;
		}
	}
	out_moved(check, first, first->rank, dims);
}

void shlo_check_slice(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t start[SHLO_MAX_RANK], limit[SHLO_MAX_RANK], stride[SHLO_MAX_RANK];
	int64_t dims[SHLO_MAX_RANK];

	if (shlo_need_ints(check, "start_indices", start) != x->rank ||
	    shlo_need_ints(check, "limit_indices", limit) != x->rank ||
	    shlo_need_ints(check, "strides", stride) != x->rank)
		shlo_wrong(check,
			   "it must have a start, limit and stride for each of %d dimensions",
			   x->rank);
	for (int i = 0; i < x->rank; i++) {
		if (stride[i] < 1)
			shlo_wrong(check, "the stride of dimension %d is %lld, expected at least 1",
				   i, (long long)stride[i]);
		if (start[i] < 0 || limit[i] < start[i])
			shlo_wrong(check,
				   "dimension %d has start %lld and limit %lld; the start must be "
				   "from 0 to the limit",
				   i, (long long)start[i], (long long)limit[i]);
		if (x->dims[i] != SHLO_DYNAMIC && limit[i] > x->dims[i])
			shlo_wrong(check,
				   "start:limit:stride is %lld:%lld:%lld, which is not within "
				   "dimension %d, of size %lld",
				   (long long)start[i], (long long)limit[i], (long long)stride[i],
				   i, (long long)x->dims[i]);
		dims[i] = limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / stride[i] + 1;
	}
	out_moved(check, x, x->rank, dims);
}

void shlo_check_real_dynamic_slice(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);

	for (size_t i = 1; i < 4; i++)
		shlo_need_list(check, i, x->rank);
	if (out->kind != SHLO_TENSOR || out->rank != x->rank || out->element != x->element)
		shlo_wrong(check, "operand and result must have equal ranks and element types");
}

static void need_index_scalars(struct shlo_check *check, size_t first, int count)
{
	if (check->in_count != first + (size_t)count)
		shlo_wrong(check, "it has %zu indices, expected %d", check->in_count - first,
			   count);
	for (size_t i = first; i < check->in_count; i++)
		if (shlo_need_tensor(check, i)->rank || !shlo_is_integer(check->in[i]->element))
			shlo_wrong(check, "operand %zu is no scalar of integers", i);
	for (size_t i = first + 1; i < check->in_count; i++)
		if (check->in[i]->element != check->in[first]->element)
			shlo_wrong(check,
				   "operands %zu and %zu are of %s and %s: both must be equal",
				   first, i, shlo_elements[check->in[first]->element].text,
				   shlo_elements[check->in[i]->element].text);
}

void shlo_check_dynamic_slice(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t sizes[SHLO_MAX_RANK];

	need_index_scalars(check, 1, x->rank);
	if (shlo_need_ints(check, "slice_sizes", sizes) != x->rank)
		shlo_wrong(check, "slice_sizes must have %d numbers", x->rank);
	shlo_need_slice_sizes(check, sizes, x);
	out_moved(check, x, x->rank, sizes);
}

void shlo_check_dynamic_update_slice(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	const struct shlo_type *update = shlo_need_tensor(check, 1);

	need_index_scalars(check, 2, x->rank);
	if (update->rank != x->rank || update->element != x->element)
		shlo_wrong(check, "operand and update must have equal ranks and element types");
	for (int i = 0; i < x->rank; i++)
		if (x->dims[i] != SHLO_DYNAMIC && update->dims[i] > x->dims[i])
			shlo_wrong(check,
				   "dimension %d of the update is %lld, which is more than the "
				   "operand has, %lld",
				   i, (long long)update->dims[i], (long long)x->dims[i]);
	check->out[0] = x;
}

/*
 * Sets @dims to the operand's dimensions with these paddings; SHLO_DYNAMIC where a size is not
 * known.
 */
static void padded(struct shlo_check *check, const int64_t *low, const int64_t *high,
		   const int64_t *interior, int64_t *dims)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t size;

	shlo_need_from(check, "edge_padding_low", low, x->rank, -INT32_MAX);
	shlo_need_from(check, "edge_padding_high", high, x->rank, -INT32_MAX);
	for (int i = 0; i < x->rank; i++) {
		if (interior[i] < 0)
			shlo_wrong(check, "interior_padding has %lld, which is less than 0",
				   (long long)interior[i]);
		size = x->dims[i] == SHLO_DYNAMIC && x->bounds ? x->bounds[i] : x->dims[i];
		dims[i] = SHLO_DYNAMIC;
		if (size == SHLO_DYNAMIC)
			continue;
		shlo_need_from(check, "interior_padding", interior + i, 1, 0);
		if (size > 1)
			size = shlo_size_add(size, shlo_size_mul(size - 1, interior[i]));
		size = shlo_size_add(size, low[i] + high[i]);
		if (size < 0)
			shlo_wrong(check,
				   "the paddings of dimension %d, %lld and %lld, take more than it "
				   "has",
				   i, (long long)low[i], (long long)high[i]);
		if (x->dims[i] != SHLO_DYNAMIC)
			dims[i] = size;
	}
}

static void need_padding_value(struct shlo_check *check, const struct shlo_type *x)
{
	if (shlo_need_tensor(check, 1)->rank || check->in[1]->element != x->element)
		shlo_wrong(check,
			   "the padding value is %s, the operand %s: expected a scalar of "
			   "the operand's element type",
			   shlo_type_brief(check->arena, check->in[1]),
			   shlo_type_brief(check->arena, x));
}

void shlo_check_pad(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];
	int64_t dims[SHLO_MAX_RANK];

	need_padding_value(check, x);
	if (shlo_need_ints(check, "edge_padding_low", low) != x->rank ||
	    shlo_need_ints(check, "edge_padding_high", high) != x->rank ||
	    shlo_need_ints(check, "interior_padding", interior) != x->rank)
		shlo_wrong(check, "it must have a padding for each of %d dimensions", x->rank);
	padded(check, low, high, interior, dims);
	out_moved(check, x, x->rank, dims);
}

void shlo_check_dynamic_pad(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	int64_t paddings[3][SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	bool known = true;

	need_padding_value(check, x);
	for (size_t i = 0; i < 3; i++) {
		shlo_need_list(check, 2 + i, x->rank);
		known &= shlo_known_ints(check, 2 + i, paddings[i]) == x->rank;
	}
	if (out->kind != SHLO_TENSOR || out->rank != x->rank || out->element != x->element)
		shlo_wrong(check, "operand and result must have equal ranks and element types");
	for (int i = 0; shlo_known_ints(check, 4, paddings[2]) == x->rank && i < x->rank; i++)
		if (paddings[2][i] < 0)
			shlo_wrong(check, "interior_padding has %lld, which is less than 0",
				   (long long)paddings[2][i]);
	if (!known)
		return;
	padded(check, paddings[0], paddings[1], paddings[2], dims);
	out_moved(check, x, x->rank, dims);
}

void shlo_check_bitcast_convert(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0), *out = shlo_declared(check, 0);
	unsigned int from = shlo_elements[x->element].bits, to;
	int64_t dims[SHLO_MAX_RANK + 1];
	int rank = x->rank;

	if (out->kind != SHLO_TENSOR)
		shlo_wrong(check, "the result is no tensor");
	to = shlo_elements[out->element].bits;
	if (from % to && to % from)
		shlo_wrong(check, "%u bits do not become elements of %u bits", from, to);
	memcpy(dims, x->dims, (size_t)rank * sizeof(*dims));
	if (from > to) {
		if (rank == SHLO_MAX_RANK)
			shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
		dims[rank++] = from / to;
	} else if (to > from) {
		if (!rank || (dims[rank - 1] != to / from && dims[rank - 1] != SHLO_DYNAMIC))
			shlo_wrong(check,
				   "the operand is %s, but needs a last dimension of %u, whose "
				   "elements become one",
				   shlo_type_brief(check->arena, x), to / from);
		rank--;
	}
	shlo_out_like(check, 0, out, rank, dims);
}

void shlo_check_get_dimension_size(struct shlo_check *check)
{
	int64_t dim = shlo_need_int(check, "dimension");

	shlo_need_dims(check, "dimension", &dim, 1, shlo_need_tensor(check, 0)->rank);
	check->out[0] = shlo_tensor_type(check->arena, SHLO_I32, 0, NULL);
}

void shlo_check_set_dimension_size(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t dim = shlo_need_int(check, "dimension"), dims[SHLO_MAX_RANK];

	shlo_need_dims(check, "dimension", &dim, 1, x->rank);
	if (shlo_need_tensor(check, 1)->rank || !shlo_is_integer(check->in[1]->element))
		shlo_wrong(check, "the size is %s, expected an integer",
			   shlo_type_brief(check->arena, check->in[1]));
	memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
	dims[dim] = SHLO_DYNAMIC;
	shlo_out_like(check, 0, x, x->rank, dims);
}

void shlo_check_torch_index_select(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	const struct shlo_type *index = shlo_need_tensor(check, 1);
	int64_t dim = shlo_need_int(check, "dim"), batch = shlo_need_int(check, "batch_dims");
	int64_t dims[2 * SHLO_MAX_RANK];
	int rank = 0;

	shlo_need_dims(check, "dim", &dim, 1, x->rank);
	if (!shlo_is_integer(index->element))
		shlo_wrong(check, "the index is %s, expected integers",
			   shlo_type_brief(check->arena, index));
	if (batch < 0 || batch > index->rank || batch > dim)
		shlo_wrong(check,
			   "batch_dims is %lld, expected one from 0 to %lld, as dim is %lld and "
			   "the rank of the index %d",
			   (long long)batch, (long long)(dim < index->rank ? dim : index->rank),
			   (long long)dim, index->rank);
	for (int i = 0; i < batch; i++)
		if (shlo_dim_meet(x->dims[i], index->dims[i]) == -1)
			shlo_wrong(check,
				   "batching dimension %d is %lld in the operand and %lld in the "
				   "index: both must be equal",
				   i, (long long)x->dims[i], (long long)index->dims[i]);
	for (int i = 0; i < dim; i++)
		dims[rank++] = x->dims[i];
	for (int i = (int)batch; i < index->rank; i++)
		dims[rank++] = index->dims[i];
	for (int i = (int)dim + 1; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	if (rank > SHLO_MAX_RANK)
		shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
	out_moved(check, x, rank, dims);
}
