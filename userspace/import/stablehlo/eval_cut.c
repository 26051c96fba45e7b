// SPDX-License-Identifier: MIT
/* Cuts values into the slices of devices, and concatenates the slices of all devices of a group. */
#include <string.h>

#include "collective.h"
#include "combine.h"
#include "cut.h"

/* The channel of exchanges that no operation of the file asks for. */
#define CUT_CHANNEL INT64_MIN

static size_t device_of(const struct shlo_run *run)
{
	return run->process % run->world->partitions;
}

/* Finds the index in the whole value at which a slice begins. */
static void find_start(const struct shlo_tensor *slice, const struct shlo_slices *slices,
		       size_t number, int64_t *start)
{
	for (int i = slices->rank - 1; i >= 0; i--) {
		start[i] = (int64_t)(number % (size_t)slices->parts[i]) * slice->dims[i];
		number /= (size_t)slices->parts[i];
	}
}

struct shlo_tensor *shlo_cut_slice(struct shlo_run *run, const struct shlo_tensor *whole,
				   const struct shlo_slices *slices)
{
	int64_t dims[SHLO_MAX_RANK], start[SHLO_MAX_RANK], first[SHLO_MAX_RANK] = { 0 };
	struct shlo_tensor *slice;

	for (int i = 0; i < slices->rank; i++)
		dims[i] = whole->dims[i] / slices->parts[i];
	slice = shlo_tensor_like(run, &whole->type, slices->rank, dims);
	find_start(slice, slices, slices->own[device_of(run)], start);
	if (slices->own_addend[device_of(run)])
		memset(slice->data, 0, shlo_bytes_of(slice));
	else if (slice->count)
		shlo_copy_box(slice, first, whole, start, slice->dims);
	return slice;
}

/*
 * Exchanges values between @count devices of a replica, whose numbers are @members; this one is
 * members[own] and gives @mine. Returns a tuple of the values of all of them.
 */
static struct shlo_tensor *exchanged(struct shlo_run *run, const struct shlo_tensor *mine,
				     size_t count, const size_t *members, size_t own)
{
	struct shlo_type tuple = { .kind = SHLO_TUPLE, .item_count = count };
	struct shlo_tensor *all = shlo_tensor_new(run, &tuple), *room = shlo_scratch(run, count);
	struct shlo_exchange parts = shlo_exchange_new(run, count);
	struct shlo_group group = { count, room->data, own };

	for (size_t i = 0; i < count; i++) {
		((size_t *)room->data)[i] = run->process - device_of(run) + members[i];
		all->items[i] = i == own ? shlo_tensor_get((struct shlo_tensor *)mine) :
					   shlo_tensor_unset(run, &mine->type);
		parts.out[i] = (struct shlo_shard){ mine->data, shlo_bytes_of(mine) };
		parts.in[i] = (struct shlo_shard){ all->items[i]->data, shlo_bytes_of(mine) };
	}
	run->world->swap(run, &group, CUT_CHANNEL, parts.out, parts.in);
	shlo_tensor_put(parts.room);
	shlo_tensor_put(room);
	return all;
}

/* Returns the sum of the addends that the devices have, added up in their order. */
static struct shlo_tensor *added(struct shlo_run *run, const struct shlo_tensor *addend,
				 const struct shlo_slices *slices)
{
	size_t device = device_of(run), bytes = shlo_bytes_of(addend);
	enum shlo_element element = addend->type.element;
	struct shlo_tensor *all = exchanged(run, addend, slices->addends,
					    slices->adding + device * slices->addends,
					    slices->own_addend[device]);
	struct shlo_tensor *sum =
		shlo_tensor_like(run, &addend->type, addend->type.rank, addend->dims);
	bool done;

	if (bytes)
		memcpy(sum->data, all->items[0]->data, bytes);
	for (size_t i = 1; i < slices->addends; i++) {
		const void *other = all->items[i]->data;

		if (shlo_combine(SHLO_B_ADD, element, sum->data, sum->data, other,
				 (size_t)sum->count))
			continue;
		for (size_t k = 0; k < (size_t)sum->count; k++)
			shlo_store(element, sum->data, k,
				   shlo_binary(SHLO_B_ADD, element,
					       shlo_load(element, sum->data, k),
					       shlo_load(element, other, k), &done));
	}
	shlo_tensor_put(all);
	return sum;
}

/* Returns the whole value, of which each device of the group has a slice. */
static struct shlo_tensor *joined(struct shlo_run *run, const struct shlo_tensor *slice,
				  const struct shlo_slices *slices)
{
	size_t device = device_of(run);
	struct shlo_tensor *all = exchanged(run, slice, slices->count,
					    slices->devices + device * slices->count,
					    slices->own[device]);
	int64_t dims[SHLO_MAX_RANK], start[SHLO_MAX_RANK], first[SHLO_MAX_RANK] = { 0 };
	struct shlo_tensor *whole;

	for (int i = 0; i < slices->rank; i++)
		dims[i] = slice->dims[i] * slices->parts[i];
	whole = shlo_tensor_like(run, &slice->type, slices->rank, dims);
	for (size_t i = 0; i < slices->count && slice->count; i++) {
		find_start(slice, slices, i, start);
		shlo_copy_box(whole, start, all->items[i], first, slice->dims);
	}
	shlo_tensor_put(all);
	return whole;
}

struct shlo_tensor *shlo_cut_concat(struct shlo_run *run, const struct shlo_tensor *slice,
				    const struct shlo_slices *slices)
{
	struct shlo_tensor *sum = slices->addends > 1 ?
					  added(run, slice, slices) :
					  shlo_tensor_get((struct shlo_tensor *)slice);
	struct shlo_tensor *whole;

	if (slices->count == 1)
		return sum;
	whole = joined(run, sum, slices);
	shlo_tensor_put(sum);
	return whole;
}

void shlo_cut_share(struct shlo_run *run, struct shlo_tensor *value)
{
	size_t count = run->world->partitions, own = device_of(run);
	struct shlo_tensor *room = shlo_scratch(run, count);
	struct shlo_exchange parts = shlo_exchange_new(run, count);
	struct shlo_shard elements = { value->data, shlo_bytes_of(value) };
	struct shlo_group group = { count, room->data, own };

	for (size_t i = 0; i < count; i++) {
		((size_t *)room->data)[i] = run->process - own + i;
		if (own == 0)
			parts.out[i] = elements;
	}
	if (own)
		parts.in[0] = elements;
	run->world->swap(run, &group, CUT_CHANNEL, parts.out, parts.in);
	shlo_tensor_put(parts.room);
	shlo_tensor_put(room);
}

/* Calls the region of a manual computation with the slices of this device. */
static void compute_slices(struct shlo_call *call, const struct shlo_cut *cut)
{
	const struct shlo_op *op = call->op;
	struct shlo_type type = { .kind = SHLO_TUPLE, .item_count = op->operand_count };
	size_t partitions = call->run->world->partitions;
	struct shlo_tensor *in;

	/* The functions of interpreter.run_parallel have a world of their own. */
	if (partitions != cut->partitions)
		shlo_run_error(call->run,
			       "the program is loaded for %zu partitions, and the operation runs "
			       "on %zu; interpreter.run_parallel must have a column for each "
			       "partition",
			       cut->partitions, partitions);
	in = shlo_tensor_new(call->run, &type);
	for (size_t i = 0; i < op->operand_count; i++)
		in->items[i] = cut->in[i] && !cut->in_local[i] ?
				       shlo_cut_slice(call->run, call->in[i], cut->in[i]) :
				       shlo_tensor_get(call->in[i]);
	shlo_call_region(call->run, call->frame, op->regions[0], in->items, call->out);
	shlo_tensor_put(in);
	call->run->at = op;
	for (size_t i = 0; i < op->result_count; i++) {
		struct shlo_tensor *slice = call->out[i];

		if (!cut->out[i] || cut->out_local[i])
			continue;
		call->out[i] = shlo_cut_concat(call->run, slice, cut->out[i]);
		shlo_tensor_put(slice);
	}
}

void shlo_eval_manual_computation(struct shlo_call *call)
{
	call->run->reference_ops--;
	if (call->op->cut)
		compute_slices(call, call->op->cut);
	else
		shlo_call_region(call->run, call->frame, call->op->regions[0], call->in, call->out);
}
