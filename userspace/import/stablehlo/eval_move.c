// SPDX-License-Identifier: MIT
/* Reference kernels of operations that move elements. */
#include "numbers.h"

#include <string.h>

#include "run.h"

/* Returns a copy with other dimensions, and the quantisation of the declared result. */
static struct shlo_tensor *reshaped(struct shlo_call *call, int rank, const int64_t *dims)
{
	const struct shlo_type *declared = call->op->results[0]->type;

	return shlo_tensor_reshaped(call->run, call->in[0], declared, rank, dims);
}

static int64_t clamped(int64_t value, int64_t most)
{
	return value < 0 ? 0 : value > most ? most : value;
}

/*
 * Returns an index of any integer type; an unsigned one beyond int64 becomes INT64_MAX, which is
 * beyond every dimension.
 */
static int64_t index_of(const struct shlo_tensor *tensor, int64_t at)
{
	int64_t value = shlo_get(tensor, at).i;

	return value < 0 && shlo_class(tensor->type.element) == SHLO_UNSIGNED ? INT64_MAX : value;
}

static void iota(struct shlo_tensor *out, int dim)
{
	size_t bytes = shlo_elements[out->type.element].bytes;
	int64_t inner = 1, block;

	if (!out->count)
		return;
	for (int i = dim + 1; i < out->type.rank; i++)
		inner *= out->dims[i];
	block = inner * out->dims[dim];
	for (int64_t i = 0; i < out->dims[dim]; i++) {
		shlo_set(out, i * inner, shlo_convert(out->type.element, SHLO_I64, shlo_int(i)));
		for (int64_t k = 1; k < inner; k++)
			shlo_move(out, i * inner + k, out, i * inner);
	}
	/* The outer dimensions repeat it. */
	for (int64_t at = block; at < out->count; at += block)
		memcpy((char *)out->data + (size_t)at * bytes, out->data, (size_t)block * bytes);
}

void shlo_eval_iota(struct shlo_call *call)
{
	iota(shlo_result(call, 0), (int)shlo_attr_int(call->op, "iota_dimension", 0));
}

void shlo_eval_dynamic_iota(struct shlo_call *call)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = shlo_ints(call->run, call->in[0], dims);

	call->out[0] = shlo_tensor_like(call->run, call->op->results[0]->type, rank, dims);
	if (shlo_attr_int(call->op, "iota_dimension", 0) >= rank)
		shlo_run_error(call->run,
			       "iota_dimension is %lld, but the shape has %d dimensions, counted "
			       "from 0",
			       (long long)shlo_attr_int(call->op, "iota_dimension", 0), rank);
	iota(call->out[0], (int)shlo_attr_int(call->op, "iota_dimension", 0));
}

/* Sets all elements to the only one of @x, by copies of twice as many each time. */
static void repeat(struct shlo_tensor *out, const struct shlo_tensor *x)
{
	size_t bytes = shlo_elements[out->type.element].bytes, all = shlo_bytes_of(out), more;

	memcpy(out->data, x->data, bytes);
	for (size_t done = bytes; done < all; done += more) {
		more = done < all - done ? done : all - done;
		memcpy((char *)out->data + done, out->data, more);
	}
}

static void broadcast_in_dim(struct shlo_call *call, struct shlo_tensor *out, const int64_t *map)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], at = 0;

	for (int i = 0; i < x->type.rank; i++) {
		if (map[i] >= out->type.rank)
			shlo_run_error(call->run,
				       "broadcast_dimensions has %lld, but the result has %d "
				       "dimensions, counted from 0",
				       (long long)map[i], out->type.rank);
		if (x->dims[i] != 1 && x->dims[i] != out->dims[map[i]])
			shlo_run_error(call->run,
				       "dimension %d of the operand has size %lld, which is "
				       "neither 1 nor that of dimension %lld of the result, %lld",
				       i, (long long)x->dims[i], (long long)map[i],
				       (long long)out->dims[map[i]]);
	}
	if (!out->count)
		return;
	if (x->count == 1) {
		repeat(out, x);
		return;
	}
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[i] = x->dims[i] == 1 ? 0 : index[map[i]];
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(out->type.rank, out->dims, index));
}

static void attr_ints(struct shlo_call *call, const char *name, int64_t *numbers)
{
	shlo_ints_of(shlo_attr_find(&call->op->attrs, name), numbers, SHLO_MAX_RANK);
}

void shlo_eval_broadcast_in_dim(struct shlo_call *call)
{
	int64_t map[SHLO_MAX_RANK];

	attr_ints(call, "broadcast_dimensions", map);
	broadcast_in_dim(call, shlo_result(call, 0), map);
}

void shlo_eval_dynamic_broadcast_in_dim(struct shlo_call *call)
{
	int64_t map[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	int rank = shlo_ints(call->run, call->in[1], dims);

	attr_ints(call, "broadcast_dimensions", map);
	call->out[0] = shlo_tensor_like(call->run, call->op->results[0]->type, rank, dims);
	broadcast_in_dim(call, call->out[0], map);
}

void shlo_eval_broadcast(struct shlo_call *call)
{
	int64_t map[SHLO_MAX_RANK];
	struct shlo_tensor *out = shlo_result(call, 0);

	for (int i = 0; i < call->in[0]->type.rank; i++)
		map[i] = out->type.rank - call->in[0]->type.rank + i;
	broadcast_in_dim(call, out, map);
}

void shlo_eval_reshape(struct shlo_call *call)
{
	const struct shlo_type *type = call->types[0];

	if (!type)
		shlo_run_error(call->run, "the dimensions of the result are not known");
	call->out[0] = reshaped(call, type->rank, type->dims);
}

void shlo_eval_dynamic_reshape(struct shlo_call *call)
{
	int64_t dims[SHLO_MAX_RANK];
	int rank = shlo_ints(call->run, call->in[1], dims);

	call->out[0] = reshaped(call, rank, dims);
}

void shlo_eval_transpose(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t order[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], at = 0;

	attr_ints(call, "permutation", order);
	if (!out->count)
		return;
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[order[i]] = index[i];
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(out->type.rank, out->dims, index));
}

void shlo_eval_reverse(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], at = 0;
	struct shlo_list dims;

	dims.count = (int)shlo_ints_of(shlo_attr_find(&call->op->attrs, "dimensions"), dims.at,
				       SHLO_MAX_RANK);
	if (!out->count)
		return;
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[i] = shlo_list_has(&dims, i) ? x->dims[i] - 1 - index[i] : index[i];
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(out->type.rank, out->dims, index));
}

void shlo_eval_concatenate(struct shlo_call *call)
{
	int dim = (int)shlo_attr_int(call->op, "dimension", 0);
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t base = 0;

	for (size_t k = 0; k < call->op->operand_count; k++) {
		const struct shlo_tensor *x = call->in[k];
		int64_t index[SHLO_MAX_RANK] = { 0 }, to[SHLO_MAX_RANK], at = 0;

		if (x->count)
			do {
				memcpy(to, index, (size_t)x->type.rank * sizeof(*to));
				to[dim] += base;
				shlo_move(out, shlo_offset(out, to), x, at++);
			} while (shlo_next(x->type.rank, x->dims, index));
		base += x->dims[dim];
	}
}

void shlo_copy_box(struct shlo_tensor *out, const int64_t *to, const struct shlo_tensor *x,
		   const int64_t *from, const int64_t *dims)
{
	int64_t index[SHLO_MAX_RANK] = { 0 }, a[SHLO_MAX_RANK], b[SHLO_MAX_RANK];
	size_t bytes = shlo_elements[x->type.element].bytes, row = bytes;
	int rank = x->type.rank, outer = rank ? rank - 1 : 0;

	/* After the last dimension of which the box has only a slice, elements are contiguous. */
	while (outer > 0 && dims[outer] == x->dims[outer] && dims[outer] == out->dims[outer])
		outer--;
	for (int i = outer; i < rank; i++)
		row *= (size_t)dims[i];
	do {
		for (int i = 0; i < rank; i++) {
			a[i] = to[i] + index[i];
			b[i] = from[i] + index[i];
		}
		memcpy((char *)out->data + (size_t)shlo_offset(out, a) * bytes,
		       (const char *)x->data + (size_t)shlo_offset(x, b) * bytes, row);
	} while (shlo_next(outer, dims, index));
}

/* Copies to @out, for each index of @out, the element of x at start + index * stride. */
static void slice(struct shlo_tensor *out, const struct shlo_tensor *x, const int64_t *start,
		  const int64_t *stride)
{
	int64_t index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], at = 0;

	if (!out->count)
		return;
	do {
		for (int i = 0; i < x->type.rank; i++)
			from[i] = start[i] + index[i] * stride[i];
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(out->type.rank, out->dims, index));
}

void shlo_eval_slice(struct shlo_call *call)
{
	int64_t start[SHLO_MAX_RANK], stride[SHLO_MAX_RANK];

	attr_ints(call, "start_indices", start);
	attr_ints(call, "strides", stride);
	slice(shlo_result(call, 0), call->in[0], start, stride);
}

void shlo_eval_real_dynamic_slice(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t at[3][SHLO_MAX_RANK], dims[SHLO_MAX_RANK];

	for (size_t k = 0; k < 3; k++)
		if (shlo_ints(call->run, call->in[k + 1], at[k]) != x->type.rank)
			shlo_run_error(call->run, "operand %zu must have %d numbers", k + 1,
				       x->type.rank);
	for (int i = 0; i < x->type.rank; i++) {
		if (at[0][i] < 0 || at[1][i] < at[0][i] || at[1][i] > x->dims[i] || at[2][i] < 1)
			shlo_run_error(call->run,
				       "start:limit:stride is %lld:%lld:%lld in dimension %d of "
				       "size %lld: 0 <= start <= limit <= size and 1 <= stride are "
				       "allowed",
				       (long long)at[0][i], (long long)at[1][i],
				       (long long)at[2][i], i, (long long)x->dims[i]);
		dims[i] = at[1][i] == at[0][i] ? 0 : (at[1][i] - at[0][i] - 1) / at[2][i] + 1;
	}
	call->out[0] = shlo_tensor_like(call->run, &x->type, x->type.rank, dims);
	slice(call->out[0], x, at[0], at[2]);
}

void shlo_eval_dynamic_slice(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t start[SHLO_MAX_RANK], first[SHLO_MAX_RANK] = { 0 };

	for (int i = 0; i < x->type.rank; i++) {
		if (out->dims[i] > x->dims[i])
			shlo_run_error(call->run,
				       "the slice has size %lld in dimension %d, the operand only "
				       "%lld",
				       (long long)out->dims[i], i, (long long)x->dims[i]);
		start[i] = clamped(index_of(call->in[1 + i], 0), x->dims[i] - out->dims[i]);
	}
	if (out->count)
		shlo_copy_box(out, first, x, start, out->dims);
}

void shlo_eval_dynamic_update_slice(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *update = call->in[1];
	int64_t start[SHLO_MAX_RANK], first[SHLO_MAX_RANK] = { 0 };

	for (int i = 0; i < x->type.rank; i++) {
		if (update->dims[i] > x->dims[i])
			shlo_run_error(call->run,
				       "the update has size %lld in dimension %d, the operand only "
				       "%lld",
				       (long long)update->dims[i], i, (long long)x->dims[i]);
		start[i] = clamped(index_of(call->in[2 + i], 0), x->dims[i] - update->dims[i]);
	}
	shlo_result_from(call, 0, 0);
	if (update->count)
		shlo_copy_box(call->out[0], start, update, first, update->dims);
}

static void pad(struct shlo_call *call, const int64_t *low, const int64_t *high,
		const int64_t *interior)
{
	const struct shlo_tensor *x = call->in[0], *value = call->in[1];
	int64_t dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, to[SHLO_MAX_RANK], at = -1;
	struct shlo_tensor *out;
	struct shlo_check check = { .guard = &call->run->guard, .run = call->run, .op = call->op };

	shlo_need_from(&check, "edge_padding_low", low, x->type.rank, -INT32_MAX);
	shlo_need_from(&check, "edge_padding_high", high, x->type.rank, -INT32_MAX);
	shlo_need_from(&check, "interior_padding", interior, x->type.rank, 0);
	for (int i = 0; i < x->type.rank; i++) {
		dims[i] = x->dims[i];
		if (dims[i] > 1)
			dims[i] = shlo_size_add(dims[i], shlo_size_mul(dims[i] - 1, interior[i]));
		dims[i] = shlo_size_add(dims[i], low[i] + high[i]);
	}
	out = shlo_tensor_like(call->run, call->op->results[0]->type, x->type.rank, dims);
	call->out[0] = out;
	for (int64_t i = 0; i < out->count; i++)
		shlo_move(out, i, value, 0);
	if (!x->count)
		return;
	do {
		bool within = true;

		at++;
		for (int i = 0; i < x->type.rank; i++) {
			to[i] = low[i] + index[i] * (interior[i] + 1);
			within = within && to[i] >= 0 && to[i] < dims[i];
		}
		if (within)
			shlo_move(out, shlo_offset(out, to), x, at);
	} while (shlo_next(x->type.rank, x->dims, index));
}

void shlo_eval_pad(struct shlo_call *call)
{
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];

	attr_ints(call, "edge_padding_low", low);
	attr_ints(call, "edge_padding_high", high);
	attr_ints(call, "interior_padding", interior);
	pad(call, low, high, interior);
}

void shlo_eval_dynamic_pad(struct shlo_call *call)
{
	int64_t at[3][SHLO_MAX_RANK];

	for (size_t k = 0; k < 3; k++)
		if (shlo_ints(call->run, call->in[k + 2], at[k]) != call->in[0]->type.rank)
			shlo_run_error(call->run, "operand %zu must have %d numbers", k + 2,
				       call->in[0]->type.rank);
	pad(call, at[0], at[1], at[2]);
}

/* ---- bits */

static uint64_t bits_at(const struct shlo_tensor *x, unsigned int bits, int64_t bit)
{
	unsigned int own = shlo_elements[x->type.element].bits;
	unsigned int bytes = shlo_elements[x->type.element].bytes;
	const uint8_t *data = (const uint8_t *)x->data + (uint64_t)bit / own * bytes;
	unsigned int within = (unsigned int)((uint64_t)bit % own);
	uint64_t word = 0;

	/* An element of 128 bits consists of two words. */
	memcpy(&word, data + within / 64 * 8, bytes < 8 ? bytes : 8);
	return word >> within % 64 & (UINT64_MAX >> (64 - bits));
}

void shlo_eval_bitcast_convert(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);
	unsigned int from = shlo_elements[x->type.element].bits;
	unsigned int to = shlo_elements[out->type.element].bits;
	unsigned int bytes = shlo_elements[out->type.element].bytes;
	unsigned int step = from < to ? from : to;

	step = step > 64 ? 64 : step;
	if ((uint64_t)x->count * from != (uint64_t)out->count * to)
		shlo_run_error(call->run, "operand and result must have equally many bits");
	for (int64_t i = 0; i < out->count; i++) {
		uint64_t words[2] = { 0 };

		for (unsigned int bit = 0; bit < to; bit += step)
			words[bit / 64] |= bits_at(x, step, i * to + bit) << bit % 64;
		memcpy((uint8_t *)out->data + (size_t)i * bytes, words, bytes);
		/* Small signed integers are stored with their sign extended. */
		if (to < 8 && shlo_class(out->type.element) == SHLO_SIGNED)
			shlo_set(out, i, shlo_get(out, i));
	}
}

/* ---- dimensions */

void shlo_eval_get_dimension_size(struct shlo_call *call)
{
	shlo_set(shlo_result(call, 0), 0,
		 shlo_int(call->in[0]->dims[shlo_attr_int(call->op, "dimension", 0)]));
}

/* Sets a size: a smaller one cuts elements off, a larger one adds zeros. */
void shlo_eval_set_dimension_size(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t dim = shlo_attr_int(call->op, "dimension", 0), size = shlo_get(call->in[1], 0).i;
	int64_t dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, at = 0;
	struct shlo_tensor *out;

	memcpy(dims, x->dims, (size_t)x->type.rank * sizeof(*dims));
	dims[dim] = size;
	out = shlo_tensor_like(call->run, call->op->results[0]->type, x->type.rank, dims);
	call->out[0] = out;
	if (!out->count)
		return;
	do {
		if (index[dim] < x->dims[dim])
			shlo_move(out, at, x, shlo_offset(x, index));
		at++;
	} while (shlo_next(x->type.rank, dims, index));
}

void shlo_eval_torch_index_select(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *indices = call->in[1];
	struct shlo_tensor *out = shlo_result(call, 0);
	int dim = (int)shlo_attr_int(call->op, "dim", 0);
	int batch = (int)shlo_attr_int(call->op, "batch_dims", 0),
	    inner = indices->type.rank - batch;
	int64_t index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], which[SHLO_MAX_RANK], at = 0;

	if (!out->count)
		return;
	if (!x->dims[dim])
		shlo_run_error(call->run,
			       "dimension %d of the operand has no elements, of which the index "
			       "could select one",
			       dim);
	do {
		memcpy(which, index, (size_t)batch * sizeof(*which));
		memcpy(which + batch, index + dim, (size_t)inner * sizeof(*which));
		memcpy(from, index, (size_t)dim * sizeof(*from));
		from[dim] =
			clamped(index_of(indices, shlo_offset(indices, which)), x->dims[dim] - 1);
		memcpy(from + dim + 1, index + dim + inner,
		       (size_t)(x->type.rank - dim - 1) * sizeof(*from));
		shlo_move(out, at++, x, shlo_offset(x, from));
	} while (shlo_next(out->type.rank, out->dims, index));
}
