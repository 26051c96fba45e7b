// SPDX-License-Identifier: MIT
/* Operations on several devices: replica groups, channels, and what is made of exchanged values. */
#include <string.h>

#include "numbers.h"
#include "world.h"

/* How the ids of replica_groups become processes. */
enum grouping { CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED };

static int64_t channel_of(const struct shlo_op *op)
{
	const struct shlo_attr *dict = shlo_attr_find(&op->attrs, "channel_handle");
	const struct shlo_attr *handle = shlo_attr_find(dict, "handle");

	if (handle)
		return handle->number;
	return shlo_attr_int(op, "channel_id", 0);
}

static void sizes(const struct shlo_run *run, size_t *replicas, size_t *partitions)
{
	*replicas = run->world ? run->world->replicas : 1;
	*partitions = run->world ? run->world->partitions : 1;
}

/* A table of ids: dense of rank 2, -1 fills up the rows of smaller groups. */
struct table {
	const struct shlo_attr *attr;
	int64_t rows, columns;
};

static struct table table_of(struct shlo_call *call, const char *name)
{
	struct table table = { .attr = shlo_attr_find(&call->op->attrs, name) };

	if (table.attr && table.attr->kind == SHLO_ATTR_DENSE && table.attr->type->rank == 2) {
		table.rows = table.attr->type->dims[0];
		table.columns = table.attr->type->dims[1];
	}
	return table;
}

static int64_t id_at(const struct table *table, int64_t row, int64_t column)
{
	size_t at = table->attr->splat ? 0 : (size_t)(row * table->columns + column);

	return shlo_load(table->attr->type->element, table->attr->data, at).i;
}

/* The processes of one row, for each of which there may be several groups: @other picks one. */
static size_t members_of(struct shlo_call *call, const struct table *table, int64_t row,
			 enum grouping grouping, size_t other, size_t *members)
{
	size_t replicas, partitions, count = 0;

	sizes(call->run, &replicas, &partitions);
	for (size_t p = 0; p < (grouping == CROSS_BOTH ? partitions : 1); p++)
		for (int64_t i = 0; i < table->columns; i++) {
			int64_t id = id_at(table, row, i);
			size_t process = (size_t)id;

			if (id < 0)
				continue;
			if (grouping == CROSS_REPLICA)
				process = (size_t)id * partitions + other;
			else if (grouping == CROSS_PARTITION)
				process = other * partitions + (size_t)id;
			else if (grouping == CROSS_BOTH)
				process = (size_t)id * partitions + p;
			if ((uint64_t)id >= replicas * partitions ||
			    process >= replicas * partitions)
				shlo_run_error(call->run, "there is no process %lld",
					       (long long)id);
			members[count++] = process;
		}
	return count;
}

static struct shlo_tensor *numbers(struct shlo_run *run, int64_t count)
{
	struct shlo_type type = { .element = SHLO_UI64, .rank = 1, .dims = &count };

	return shlo_tensor_new(run, &type);
}

/* The group of this process; its members are in a value, which is returned. */
static struct shlo_tensor *group_of(struct shlo_call *call, enum grouping grouping,
				    struct shlo_group *group)
{
	struct table table = table_of(call, "replica_groups");
	size_t replicas, partitions, self = call->run->process, other;
	struct shlo_tensor *room;
	size_t *members;

	sizes(call->run, &replicas, &partitions);
	other = grouping == CROSS_REPLICA ? self % partitions : self / partitions;
	room = numbers(call->run,
		       (int64_t)(table.columns > 0 ? (size_t)table.columns * partitions : 0) +
			       (int64_t)(replicas * partitions));
	members = room->data;
	for (int64_t row = 0; row < table.rows; row++) {
		group->count = members_of(call, &table, row, grouping, other, members);
		group->members = members;
		for (group->own = 0; group->own < group->count; group->own++)
			if (members[group->own] == self)
				return room;
	}
	/* No groups at all: all are one. */
	group->count = 0;
	group->members = members;
	for (size_t i = 0; table.rows * table.columns == 0 && i < replicas * partitions; i++)
		if (grouping == CROSS_BOTH || grouping == FLATTENED ||
		    (grouping == CROSS_REPLICA ? i % partitions : i / partitions) == other)
			members[group->count++] = i;
	for (group->own = 0; group->own < group->count; group->own++)
		if (members[group->own] == self)
			return room;
	return room;
}

/* Values of all members, as a tuple of them. */
static struct shlo_tensor *exchange(struct shlo_call *call, const struct shlo_group *group,
				    size_t count)
{
	struct shlo_type type = { .kind = SHLO_TUPLE, .item_count = group->count * count };
	struct shlo_tensor *all = shlo_tensor_new(call->run, &type);

	if (group->own == group->count)
		shlo_run_error(call->run, "process %zu belongs to none of its groups",
			       call->run->process);
	if (group->count > 1)
		call->run->world->exchange(call->run, group, channel_of(call->op), count, call->in,
					   all->items);
	else
		for (size_t i = 0; i < count; i++)
			all->items[i] = shlo_tensor_get(call->in[i]);
	return all;
}

/* all_gather, all_reduce, reduce_scatter */
static enum grouping by_flag(const struct shlo_op *op)
{
	bool channel = channel_of(op) > 0;

	if (shlo_attr_int(op, "use_global_device_ids", 0))
		return FLATTENED;
	return channel ? CROSS_BOTH : CROSS_REPLICA;
}

/* all_to_all, collective_broadcast, collective_permute */
static enum grouping by_channel(const struct shlo_op *op)
{
	return channel_of(op) > 0 ? CROSS_PARTITION : CROSS_REPLICA;
}

/* Values of the same type, joined along a dimension; the result belongs to the caller. */
static struct shlo_tensor *joined(struct shlo_run *run, struct shlo_tensor *const *values,
				  size_t count, size_t step, int dim)
{
	const struct shlo_tensor *first = values[0];
	int64_t dims[SHLO_MAX_RANK], base = 0;
	struct shlo_tensor *out;

	memcpy(dims, first->dims, sizeof(dims));
	for (size_t i = 1; i < count; i++)
		dims[dim] += values[i * step]->dims[dim];
	out = shlo_tensor_like(run, &first->type, first->type.rank, dims);
	for (size_t i = 0; i < count; i++) {
		const struct shlo_tensor *x = values[i * step];
		int64_t index[SHLO_MAX_RANK] = { 0 }, to[SHLO_MAX_RANK], from = 0;

		if (x->type.rank != first->type.rank || x->type.element != first->type.element)
			shlo_run_error(run, "the processes have values of different types");
		if (x->count)
			do {
				memcpy(to, index, sizeof(to));
				to[dim] += base;
				shlo_move(out, shlo_offset(out, to), x, from++);
			} while (shlo_next(x->type.rank, x->dims, index));
		base += x->dims[dim];
	}
	return out;
}

/* Part @at of @count parts along a dimension. */
static struct shlo_tensor *part_of(struct shlo_run *run, const struct shlo_tensor *x, int dim,
				   int64_t count, int64_t at)
{
	int64_t dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, from[SHLO_MAX_RANK], to = 0;
	struct shlo_tensor *out;

	if (x->dims[dim] % count)
		shlo_run_error(run, "dimension %d does not part into %lld", dim, (long long)count);
	memcpy(dims, x->dims, sizeof(dims));
	dims[dim] /= count;
	out = shlo_tensor_like(run, &x->type, x->type.rank, dims);
	if (!out->count)
		return out;
	do {
		memcpy(from, index, sizeof(from));
		from[dim] += at * dims[dim];
		shlo_move(out, to++, x, shlo_offset(x, from));
	} while (shlo_next(x->type.rank, dims, index));
	return out;
}

void shlo_eval_all_gather(struct shlo_call *call)
{
	size_t count = call->op->operand_count;
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, by_flag(call->op), &group);
	struct shlo_tensor *all = exchange(call, &group, count);
	int dim = (int)shlo_attr_int(call->op, "all_gather_dim", 0);

	for (size_t i = 0; i < count; i++)
		call->out[i] = joined(call->run, all->items + i, group.count, count, dim);
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

/* In the order of the group, so that every member has the same bits. */
static struct shlo_tensor *reduced(struct shlo_call *call, struct shlo_tensor *const *values,
				   size_t count, size_t step)
{
	const struct shlo_region *region = call->op->regions[0];
	struct shlo_type type = values[0]->type;
	struct shlo_applier applier;
	struct shlo_tensor *out;

	type.element = shlo_argument_element(region, 0);
	out = shlo_tensor_new(call->run, &type);
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 shlo_convert(type.element, values[0]->type.element,
				      shlo_get(values[0], i)));
	shlo_applier_init(&applier, call->run, call->frame, region);
	for (size_t k = 1; k < count; k++) {
		const struct shlo_tensor *x = values[k * step];

		if (x->count != out->count)
			shlo_run_error(call->run, "the processes have values of different types");
		for (int64_t i = 0; i < out->count; i++) {
			struct shlo_num arguments[2] = {
				shlo_get(out, i),
				shlo_convert(shlo_argument_element(region, 1), x->type.element,
					     shlo_get(x, i)),
			};
			struct shlo_num result;

			shlo_apply(&applier, arguments, &result);
			shlo_set(out, i, result);
		}
	}
	shlo_applier_exit(&applier);
	return out;
}

void shlo_eval_all_reduce(struct shlo_call *call)
{
	size_t count = call->op->operand_count;
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, by_flag(call->op), &group);
	struct shlo_tensor *all = exchange(call, &group, count);
	/* collective_reduce gives the result to the first of the group, zeros to the others. */
	bool to_first = !strcmp(call->op->name, "stablehlo.collective_reduce");

	for (size_t i = 0; i < count; i++) {
		call->out[i] = reduced(call, all->items + i, group.count, count);
		if (to_first && group.own)
			memset(call->out[i]->data, 0,
			       (size_t)call->out[i]->count *
				       shlo_elements[call->out[i]->type.element].bytes);
	}
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

void shlo_eval_cross_replica_sum(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, CROSS_REPLICA, &group);
	struct shlo_tensor *all = exchange(call, &group, 1);
	struct shlo_tensor *out = shlo_tensor_copy(call->run, all->items[0]);
	bool done;

	for (size_t k = 1; k < group.count; k++)
		for (int64_t i = 0; i < out->count && i < all->items[k]->count; i++)
			shlo_set(out, i,
				 shlo_binary(SHLO_B_ADD, out->type.element, shlo_get(out, i),
					     shlo_get(all->items[k], i), &done));
	call->out[0] = out;
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

void shlo_eval_reduce_scatter(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, by_flag(call->op), &group);
	struct shlo_tensor *all = exchange(call, &group, 1);
	struct shlo_tensor *whole = reduced(call, all->items, group.count, 1);
	int dim = (int)shlo_attr_int(call->op, "scatter_dimension", 0);

	call->out[0] = part_of(call->run, whole, dim, (int64_t)group.count, (int64_t)group.own);
	shlo_tensor_put(whole);
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

void shlo_eval_all_to_all(struct shlo_call *call)
{
	size_t count = call->op->operand_count;
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, by_channel(call->op), &group);
	struct shlo_tensor *all = exchange(call, &group, count);
	int split = (int)shlo_attr_int(call->op, "split_dimension", 0);
	int concat = (int)shlo_attr_int(call->op, "concat_dimension", 0);
	int64_t parts = shlo_attr_int(call->op, "split_count", 1);

	if ((size_t)parts != group.count)
		shlo_run_error(call->run, "split_count is %lld for a group of %zu",
			       (long long)parts, group.count);
	for (size_t i = 0; i < group.count * count; i++) {
		struct shlo_tensor *x = all->items[i];

		all->items[i] = part_of(call->run, x, split, parts, (int64_t)group.own);
		shlo_tensor_put(x);
	}
	for (size_t i = 0; i < count; i++)
		call->out[i] = joined(call->run, all->items + i, group.count, count, concat);
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

static struct shlo_tensor *zeros(struct shlo_call *call)
{
	return shlo_tensor_new(call->run, &call->in[0]->type);
}

void shlo_eval_collective_broadcast(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = group_of(call, by_channel(call->op), &group), *all;

	/* Who is in no group gets zeros. */
	if (group.own == group.count) {
		call->out[0] = zeros(call);
	} else {
		all = exchange(call, &group, 1);
		call->out[0] = shlo_tensor_get(all->items[0]);
		shlo_tensor_put(all);
	}
	shlo_tensor_put(room);
}

void shlo_eval_collective_permute(struct shlo_call *call)
{
	struct table pairs = table_of(call, "source_target_pairs");
	size_t replicas, partitions, self = call->run->process, own;
	bool by_partition = by_channel(call->op) == CROSS_PARTITION;
	int64_t source = -1;
	struct shlo_tensor *room, *all;
	struct shlo_group group = { 0 };

	sizes(call->run, &replicas, &partitions);
	own = by_partition ? self % partitions : self / partitions;
	room = numbers(call->run, (int64_t)(replicas * partitions));
	group.members = room->data;
	/* All that differ in the dimension that counts meet; each takes what is for it. */
	for (size_t i = 0; i < replicas * partitions; i++) {
		if (by_partition ? i / partitions != self / partitions :
				   i % partitions != self % partitions)
			continue;
		if (i == self)
			group.own = group.count;
		((size_t *)room->data)[group.count++] = i;
	}
	for (int64_t row = 0; row < pairs.rows; row++)
		if (id_at(&pairs, row, 1) == (int64_t)own)
			source = id_at(&pairs, row, 0);
	all = exchange(call, &group, 1);
	if (source >= (int64_t)group.count)
		shlo_run_error(call->run, "there is no process %lld", (long long)source);
	call->out[0] = source < 0 ? zeros(call) : shlo_tensor_get(all->items[source]);
	shlo_tensor_put(all);
	shlo_tensor_put(room);
}

void shlo_eval_replica_id(struct shlo_call *call)
{
	size_t partitions = call->run->world ? call->run->world->partitions : 1;

	shlo_set(shlo_result(call, 0), 0, shlo_int((int64_t)(call->run->process / partitions)));
}

void shlo_eval_partition_id(struct shlo_call *call)
{
	size_t partitions = call->run->world ? call->run->world->partitions : 1;

	shlo_set(shlo_result(call, 0), 0, shlo_int((int64_t)(call->run->process % partitions)));
}

/* ---- to and from others and the host */

void shlo_eval_send(struct shlo_call *call)
{
	if (shlo_attr_int(call->op, "is_host_transfer", 0)) {
		/* The host takes it, and there is nobody there who would look at it. */
		shlo_eval_token(call);
		return;
	}
	if (!call->run->world)
		shlo_run_error(call->run, "there is no other device");
	call->run->world->send(call->run, channel_of(call->op), call->op->operand_count - 1,
			       call->in);
	shlo_eval_token(call);
}

static void add_token(struct shlo_call *call)
{
	static const struct shlo_type type = { .kind = SHLO_TOKEN };

	if (!call->op->result_count)
		shlo_run_error(call->run, "it has no token as its result");
	call->out[call->op->result_count - 1] = shlo_tensor_new(call->run, &type);
}

void shlo_eval_recv(struct shlo_call *call)
{
	if (!call->run->world || shlo_attr_int(call->op, "is_host_transfer", 0))
		shlo_run_error(call->run, "there is nobody who sends");
	add_token(call);
	call->run->world->receive(call->run, channel_of(call->op), call->op->result_count - 1,
				  call->out);
}

void shlo_eval_infeed(struct shlo_call *call)
{
	const char *name = call->run->world ? call->run->world->infeed(call->run) : NULL;
	const struct shlo_function *function = name ? shlo_function_find(call->run->module, name) :
						      NULL;

	if (!function || !function->region || function->type->item_count ||
	    function->type->result_count + 1 != call->op->result_count)
		shlo_run_error(call->run, "the infeed has no such value");
	shlo_call_function(call->run, function, NULL, call->out);
	add_token(call);
}

void shlo_eval_outfeed(struct shlo_call *call)
{
	shlo_eval_token(call);
}
