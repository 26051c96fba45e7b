// SPDX-License-Identifier: MIT
/* Reference kernels of gather and scatter. */
#include "offsets.h"

#include <string.h>

#include "combine.h"
#include "lower.h"
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

/* A part of the dimensions of the result, or of a scatter's updates: the batch, or a slice. */
struct span {
	int rank;
	int64_t dims[SHLO_MAX_RANK];
	/*
	 * distance of neighbours along a dimension, in elements: in the result or the updates, and
	 * in the indices (batch) or the operand (slice)
	 */
	int64_t to_steps[SHLO_MAX_RANK], from_steps[SHLO_MAX_RANK];
};

static void set_steps(const struct shlo_tensor *tensor, int64_t *steps)
{
	int64_t step = 1;

	for (int i = tensor->type.rank - 1; i >= 0; i--) {
		steps[i] = step;
		/* A tensor without elements may have other dimensions of any size. */
		step = shlo_size_mul(step, tensor->dims[i]);
	}
}

static void add_dimension(struct span *span, int64_t dim, int64_t to_step, int64_t from_step)
{
	span->dims[span->rank] = dim;
	span->to_steps[span->rank] = to_step;
	span->from_steps[span->rank++] = from_step;
}

/* Sorts the dimensions of @out, a result or updates, into those of the batch and of a slice. */
static void part(const struct shlo_gather_numbers *n, const struct shlo_tensor *out,
		 const struct shlo_tensor *x, const struct shlo_tensor *indices, struct span *batch,
		 struct span *slice)
{
	int64_t to[SHLO_MAX_RANK], in[SHLO_MAX_RANK], from[SHLO_MAX_RANK];
	int next = 0, window = 0;

	set_steps(out, to);
	set_steps(indices, in);
	set_steps(x, from);
	for (int i = 0; i < out->type.rank; i++) {
		if (shlo_list_has(&n->offset, i))
			continue;
		next += next == n->index_vector;
		add_dimension(batch, out->dims[i], to[i], in[next++]);
	}
	for (int i = 0; i < x->type.rank; i++) {
		int64_t d;

		if (shlo_list_has(&n->collapsed, i) || shlo_list_has(&n->operand_batching, i))
			continue;
		d = n->offset.at[window++];
		add_dimension(slice, out->dims[d], to[d], from[i]);
	}
}

/* Removes the last dimensions that are dense on both sides. Returns how many elements they have. */
static int64_t take_run(struct span *slice)
{
	int64_t run = 1;

	while (slice->rank &&
	       (slice->dims[slice->rank - 1] == 1 || (slice->to_steps[slice->rank - 1] == run &&
						      slice->from_steps[slice->rank - 1] == run)))
		run *= slice->dims[--slice->rank];
	return run;
}

/* Returns the sum of the products of an index and steps. */
static int64_t offset_at(int rank, const int64_t *index, const int64_t *steps)
{
	int64_t offset = 0;

	for (int i = 0; i < rank; i++)
		offset += index[i] * steps[i];
	return offset;
}

/* Copies @size bytes. A run is often one element, which a memcpy() of fixed size copies faster. */
static void copy_run(char *to, const char *from, size_t size)
{
	switch (size) {
	case 1:
		*to = *from;
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, size);
	}
}

/* Returns an element of a tensor of indices. */
static int64_t index_at(const struct shlo_tensor *indices, int64_t at)
{
	switch (indices->type.element) {
	case SHLO_I32:
		return ((const int32_t *)indices->data)[at];
	case SHLO_UI32:
		return ((const uint32_t *)indices->data)[at];
	case SHLO_I64:
		return ((const int64_t *)indices->data)[at];
	default:
		return shlo_get(indices, at).i;
	}
}

/*
 * Sets @start to where the slice for an index of the batch begins in the operand, without the
 * indices of batching dimensions.
 */
static void read_start(const struct shlo_gather_numbers *n, const struct shlo_tensor *indices,
		       const struct span *batch, const int64_t *at, int rank, int64_t *start)
{
	int64_t first = offset_at(batch->rank, at, batch->from_steps), step = 1;

	memset(start, 0, (size_t)rank * sizeof(*start));
	for (int i = (int)n->index_vector + 1; i < indices->type.rank; i++)
		step *= indices->dims[i];
	for (int i = 0; i < n->start_map.count; i++)
		start[n->start_map.at[i]] = index_at(indices, first + i * step);
}

/* How an index of the batch leads to the offset of its slice in the operand. */
struct starts {
	const struct shlo_tensor *indices;
	bool is_unsigned;
	int64_t distance; /* of two numbers of a start in the indices */
	int count;	  /* numbers of a start; for each: */
	int64_t most[SHLO_MAX_RANK],
		steps[SHLO_MAX_RANK]; /* the most it may be; operand's stride */
	/* for each dimension of the batch: operand's strides of the dimensions that follow it */
	int64_t batch_steps[SHLO_MAX_RANK];
};

static void starts_init(struct starts *s, const struct shlo_gather_numbers *n,
			const struct shlo_tensor *x, const struct shlo_tensor *indices,
			const int64_t *sizes)
{
	int64_t steps[SHLO_MAX_RANK];

	*s = (struct starts){ .indices = indices, .distance = 1, .count = n->start_map.count };
	s->is_unsigned = shlo_class(indices->type.element) == SHLO_UNSIGNED;
	for (int i = (int)n->index_vector + 1; i < indices->type.rank; i++)
		s->distance *= indices->dims[i];
	set_steps(x, steps);
	for (int i = 0; i < s->count; i++) {
		int64_t d = n->start_map.at[i];

		s->most[i] = x->dims[d] - sizes[d];
		s->steps[i] = steps[d];
	}
	for (int i = 0; i < n->operand_batching.count; i++) {
		int64_t d = n->indices_batching.at[i];

		s->batch_steps[d - (d > n->index_vector)] += steps[n->operand_batching.at[i]];
	}
}

/* Returns the offset in the operand of the start whose first number is element @at of the indices. */
static int64_t start_at(const struct starts *s, int64_t at)
{
	int64_t offset = 0;

	for (int i = 0; i < s->count; i++)
		offset += s->steps[i] * shlo_clamped(index_at(s->indices, at + i * s->distance),
						     s->most[i], s->is_unsigned);
	return offset;
}

/* Copies a slice from one offset to another; @bytes are those of an element. */
static void copy_slice(const struct span *slice, int64_t run, size_t bytes, char *to,
		       const char *from)
{
	int64_t cell[SHLO_MAX_RANK] = { 0 };

	if (!slice->rank) {
		copy_run(to, from, (size_t)run * bytes);
		return;
	}
	do {
		copy_run(to + offset_at(slice->rank, cell, slice->to_steps) * (int64_t)bytes,
			 from + offset_at(slice->rank, cell, slice->from_steps) * (int64_t)bytes,
			 (size_t)run * bytes);
	} while (shlo_next(slice->rank, slice->dims, cell));
}

static void gather(struct shlo_call *call, struct shlo_tensor *out, const int64_t *sizes)
{
	const struct shlo_tensor *x = call->in[0], *indices = call->in[1];
	const size_t bytes = shlo_elements[x->type.element].bytes;
	int64_t at[SHLO_MAX_RANK] = { 0 }, run, inner;
	struct span batch = { 0 }, slice = { 0 };
	struct shlo_gather_numbers n;
	struct starts starts;

	shlo_gather_numbers(call->op, false, &n);
	if (!out->count)
		return;
	for (int i = 0; i < x->type.rank; i++)
		if (!sizes[i])
			shlo_run_error(call->run,
				       "slice size 0 of dimension %d leaves no element for the "
				       "result",
				       i);
	part(&n, out, x, indices, &batch, &slice);
	starts_init(&starts, &n, x, indices, sizes);
	run = take_run(&slice);
	/* The last dimension of the batch has a loop of its own. */
	if (!batch.rank)
		add_dimension(&batch, 1, 0, 0);
	inner = batch.dims[--batch.rank];
	do {
		int64_t to = offset_at(batch.rank, at, batch.to_steps);
		int64_t from = offset_at(batch.rank, at, starts.batch_steps);
		int64_t index = offset_at(batch.rank, at, batch.from_steps);

		for (int64_t i = 0; i < inner; i++) {
			copy_slice(&slice, run, bytes, (char *)out->data + (size_t)to * bytes,
				   (const char *)x->data +
					   (size_t)(from + start_at(&starts, index)) * bytes);
			to += batch.to_steps[batch.rank];
			from += starts.batch_steps[batch.rank];
			index += batch.from_steps[batch.rank];
		}
	} while (shlo_next(batch.rank, batch.dims, at));
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
	for (int i = 0; i < count; i++)
		if (sizes[i] < 0 || sizes[i] > x->dims[i])
			shlo_run_error(call->run,
				       "slice size %lld of dimension %d is not from 0 to %lld",
				       (long long)sizes[i], i, (long long)x->dims[i]);
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

/* The state of a scatter: how updates are combined, and their slices. */
struct scatter {
	struct shlo_call *call;
	struct shlo_gather_numbers n;
	struct shlo_applier applier;
	size_t count; /* inputs */
	struct span batch, window;
	struct span rest; /* the window without the dimensions of a run */
	int64_t run;	  /* elements that are dense in operand and updates */
	int64_t sizes[SHLO_MAX_RANK];
	bool sets; /* an update takes the place of the element */
	int only;  /* SHLO_B_* that combines element and update, or -1 */
};

/*
 * Finds how slices are combined as a whole, which only works with one input and one type of
 * elements.
 */
static void find_manner(struct scatter *s)
{
	const struct shlo_op *op = s->call->op;
	const struct shlo_region *region = op->regions[0];
	enum shlo_element element = s->call->in[0]->type.element;

	s->only = -1;
	if (s->count != 1 || s->call->in[2]->type.element != element ||
	    op->results[0]->type->element != element ||
	    shlo_argument_element(region, 0) != element ||
	    shlo_argument_element(region, 1) != element)
		return;
	s->only = shlo_only_binary(region);
	s->sets = shlo_only_second(region);
}

static void measure(struct scatter *s)
{
	const struct shlo_tensor *x = s->call->in[0], *updates = s->call->in[s->count + 1];
	int window = 0;

	part(&s->n, updates, x, s->call->in[s->count], &s->batch, &s->window);
	for (int i = 0; i < x->type.rank; i++)
		s->sizes[i] = shlo_list_has(&s->n.collapsed, i) ||
					      shlo_list_has(&s->n.operand_batching, i) ?
				      1 :
				      updates->dims[s->n.offset.at[window++]];
	s->rest = s->window;
	s->run = take_run(&s->rest);
}

/* Combines a slice that is within the operand; false: scatter_elements() must do it. */
static bool scatter_whole(struct scatter *s, const int64_t *place, int64_t from)
{
	struct shlo_tensor *out = s->call->out[0];
	const struct shlo_tensor *updates = s->call->in[s->count + 1];
	size_t bytes = shlo_elements[out->type.element].bytes;
	int64_t cell[SHLO_MAX_RANK] = { 0 }, to;

	if (!s->sets && s->only < 0)
		return false;
	for (int i = 0; i < out->type.rank; i++)
		if (place[i] < 0 || place[i] > out->dims[i] - s->sizes[i])
			return false;
	to = shlo_offset(out, place);
	do {
		int64_t a = to + offset_at(s->rest.rank, cell, s->rest.from_steps);
		int64_t b = from + offset_at(s->rest.rank, cell, s->rest.to_steps);
		char *at = (char *)out->data + (size_t)a * bytes;
		const char *update = (const char *)updates->data + (size_t)b * bytes;

		if (s->sets)
			copy_run(at, update, (size_t)s->run * bytes);
		else if (!shlo_combine((enum shlo_binary)s->only, out->type.element, at, at, update,
				       (size_t)s->run))
			return false; /* No loop for this type: nothing is combined yet. */
	} while (shlo_next(s->rest.rank, s->rest.dims, cell));
	return true;
}

/* Combines the elements of a slice that are within the operand, one by one. */
static void scatter_elements(struct scatter *s, const int64_t *place, int64_t from)
{
	const struct shlo_tensor *x = s->call->in[0];
	int64_t cell[SHLO_MAX_RANK] = { 0 }, at[SHLO_MAX_RANK];

	do {
		bool within = true;
		int window = 0;

		for (int i = 0; i < x->type.rank; i++) {
			int64_t add = shlo_list_has(&s->n.collapsed, i) ||
						      shlo_list_has(&s->n.operand_batching, i) ?
					      0 :
					      cell[window++];

			/* An index that overflows 64 bits is out of bounds, too. */
			if (__builtin_add_overflow(place[i], add, &at[i]))
				at[i] = -1;
			within = within && at[i] >= 0 && at[i] < x->dims[i];
		}
		if (within)
			scatter_one(s->call, &s->applier, s->count, shlo_offset(x, at),
				    from + offset_at(s->window.rank, cell, s->window.to_steps));
	} while (shlo_next(s->window.rank, s->window.dims, cell));
}

/* Sets the results to the inputs, with elements of the results' types. */
static void begin_results(struct shlo_call *call, size_t count)
{
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
}

void shlo_eval_scatter(struct shlo_call *call)
{
	struct scatter s = { .call = call, .count = call->op->operand_count / 2 };
	int64_t at[SHLO_MAX_RANK] = { 0 }, place[SHLO_MAX_RANK];
	int rank = call->in[0]->type.rank;

	if (s.count > 64)
		shlo_run_error(call->run, "it has more than 64 inputs");
	begin_results(call, s.count);
	if (!call->in[s.count + 1]->count)
		return;
	shlo_gather_numbers(call->op, true, &s.n);
	measure(&s);
	find_manner(&s);
	shlo_applier_init(&s.applier, call->run, call->frame, call->op->regions[0]);
	do {
		int64_t from = offset_at(s.batch.rank, at, s.batch.to_steps);

		read_start(&s.n, call->in[s.count], &s.batch, at, rank, place);
		shlo_add_batching(&s.n, at, place);
		if (!scatter_whole(&s, place, from))
			scatter_elements(&s, place, from);
	} while (shlo_next(s.batch.rank, s.batch.dims, at));
	shlo_applier_exit(&s.applier);
}
