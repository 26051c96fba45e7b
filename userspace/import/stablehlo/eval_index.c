// SPDX-License-Identifier: MIT
/* Reference kernels of gather and scatter. */
#include "offsets.h"

#include <string.h>

#include "run.h"

void shlo_start_of(const struct shlo_gather_numbers *n, const struct shlo_tensor *indices,
		   const int64_t *batch, int rank, int64_t *start)
{
	int64_t at[SHLO_MAX_RANK];
	int from = 0;

	memset(start, 0, (size_t)rank * sizeof(*start));
	for (int i = 0; i < indices->type.rank; i++)
		at[i] = i == n->index_vector ? 0 : batch[from++];
	for (int i = 0; i < n->start_map.count; i++) {
		if (n->index_vector < indices->type.rank)
			at[n->index_vector] = i;
		start[n->start_map.at[i]] = shlo_get(indices, shlo_offset(indices, at)).i;
	}
}

void shlo_add_batching(const struct shlo_gather_numbers *n, const int64_t *batch, int64_t *place)
{
	for (int i = 0; i < n->operand_batching.count; i++) {
		int64_t d = n->indices_batching.at[i];

		place[n->operand_batching.at[i]] += batch[d - (d < n->index_vector ? 0 : 1)];
	}
}

void shlo_split_index(const struct shlo_gather_numbers *n, int rank, const int64_t *index,
		      int operand_rank, int64_t *batch, int64_t *window)
{
	int b = 0, w = 0;

	for (int i = 0; i < rank; i++)
		if (!shlo_list_has(&n->offset, i))
			batch[b++] = index[i];
	for (int i = 0; i < operand_rank; i++)
		window[i] = shlo_list_has(&n->collapsed, i) ||
					    shlo_list_has(&n->operand_batching, i) ?
				    0 :
				    index[n->offset.at[w++]];
}

int64_t shlo_clamped(int64_t value, int64_t most, bool is_unsigned)
{
	if (is_unsigned && value < 0)
		return most;
	return value < 0 ? 0 : value > most ? most : value;
}

static void gather(struct shlo_call *call, struct shlo_tensor *out, const int64_t *sizes)
{
	const struct shlo_tensor *x = call->in[0], *indices = call->in[1];
	int64_t index[SHLO_MAX_RANK] = { 0 }, batch[SHLO_MAX_RANK], window[SHLO_MAX_RANK];
	int64_t start[SHLO_MAX_RANK], at = 0;
	bool is_unsigned = shlo_class(indices->type.element) == SHLO_UNSIGNED;
	struct shlo_gather_numbers n;

	shlo_gather_numbers(call->op, false, &n);
	if (!out->count)
		return;
	do {
		shlo_split_index(&n, out->type.rank, index, x->type.rank, batch, window);
		shlo_start_of(&n, indices, batch, x->type.rank, start);
		for (int i = 0; i < x->type.rank; i++)
			start[i] = shlo_clamped(start[i], x->dims[i] - sizes[i], is_unsigned) +
				   window[i];
		shlo_add_batching(&n, batch, start);
		for (int i = 0; i < x->type.rank; i++)
			if (start[i] < 0 || start[i] >= x->dims[i])
				shlo_run_error(call->run, "a slice is larger than the operand");
		shlo_move(out, at++, x, shlo_offset(x, start));
	} while (shlo_next(out->type.rank, out->dims, index));
}

void shlo_eval_gather(struct shlo_call *call)
{
	int64_t sizes[SHLO_MAX_RANK];

	shlo_ints_of(shlo_attr_find(&call->op->attrs, "slice_sizes"), sizes, SHLO_MAX_RANK);
	gather(call, shlo_result(call, 0), sizes);
}

void shlo_eval_dynamic_gather(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *indices = call->in[1];
	int64_t sizes[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	int count = shlo_ints(call->run, call->in[2], sizes), rank, from = 0, window = 0;
	struct shlo_gather_numbers n;

	if (count != x->type.rank)
		shlo_run_error(call->run, "slice_sizes must have %d numbers", x->type.rank);
	shlo_gather_numbers(call->op, false, &n);
	rank = indices->type.rank - (n.index_vector < indices->type.rank) + n.offset.count;
	for (int i = 0; i < rank; i++) {
		if (!shlo_list_has(&n.offset, i)) {
			from += from == n.index_vector;
			dims[i] = indices->dims[from++];
			continue;
		}
		while (shlo_list_has(&n.collapsed, window) ||
		       shlo_list_has(&n.operand_batching, window))
			window++;
		dims[i] = sizes[window++];
	}
	call->out[0] = shlo_tensor_like(call->run, &x->type, rank, dims);
	gather(call, call->out[0], sizes);
}

/* Combines element @from of each update with element @to of its result. */
static void scatter_one(struct shlo_call *call, struct shlo_applier *applier, size_t count,
			int64_t to, int64_t from)
{
	const struct shlo_region *region = call->op->regions[0];
	struct shlo_num arguments[128], results[64];

	for (size_t i = 0; i < count; i++) {
		const struct shlo_tensor *update = call->in[count + 1 + i];

		arguments[i] = shlo_get(call->out[i], to);
		arguments[count + i] = shlo_convert(shlo_argument_element(region, count + i),
						    update->type.element, shlo_get(update, from));
	}
	shlo_apply(applier, arguments, results);
	for (size_t i = 0; i < count; i++)
		shlo_set(call->out[i], to, results[i]);
}

void shlo_eval_scatter(struct shlo_call *call)
{
	size_t count = call->op->operand_count / 2;
	const struct shlo_tensor *x = call->in[0], *indices = call->in[count];
	const struct shlo_tensor *updates = call->in[count + 1];
	int64_t index[SHLO_MAX_RANK] = { 0 }, batch[SHLO_MAX_RANK], window[SHLO_MAX_RANK];
	int64_t place[SHLO_MAX_RANK], at = -1;
	struct shlo_gather_numbers n;
	struct shlo_applier applier;

	if (count > 64)
		shlo_run_error(call->run, "it has more than 64 inputs");
	for (size_t i = 0; i < count; i++) {
		struct shlo_tensor *out;

		if (call->op->results[i]->type->element == call->in[i]->type.element) {
			shlo_result_from(call, i, i);
			continue;
		}
		out = shlo_result(call, i);
		for (int64_t k = 0; k < out->count; k++)
			shlo_set(out, k,
				 shlo_convert(out->type.element, call->in[i]->type.element,
					      shlo_get(call->in[i], k)));
	}
	if (!updates->count)
		return;
	shlo_gather_numbers(call->op, true, &n);
	shlo_applier_init(&applier, call->run, call->frame, call->op->regions[0]);
	do {
		bool within = true;

		at++;
		shlo_split_index(&n, updates->type.rank, index, x->type.rank, batch, window);
		shlo_start_of(&n, indices, batch, x->type.rank, place);
		shlo_add_batching(&n, batch, place);
		for (int i = 0; i < x->type.rank; i++) {
			/* An index that overflows 64 bits is out of bounds, too. */
			if (__builtin_add_overflow(place[i], window[i], &place[i]))
				place[i] = -1;
			within = within && place[i] >= 0 && place[i] < x->dims[i];
		}
		if (within)
			scatter_one(call, &applier, count, shlo_offset(x, place), at);
	} while (shlo_next(updates->type.rank, updates->dims, index));
	shlo_applier_exit(&applier);
}
