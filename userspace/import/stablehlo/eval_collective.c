// SPDX-License-Identifier: MIT
/*
 * Operations on several devices: replica groups, channels, and results that are made of exchanged
 * values.
 */
#include <string.h>

#include "collective.h"
#include "numbers.h"

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

/*
 * Ends the run, because an attribute has an id that no replica, partition or process (@what) has.
 */
_Noreturn static void no_such_id(struct shlo_call *call, const char *name, int64_t id,
				 const char *what)
{
	size_t replicas, partitions;

	sizes(call->run, &replicas, &partitions);
	shlo_run_error(call->run,
		       "%s has the id %lld, which no %s has: there are %zu replicas of %zu "
		       "partitions",
		       name, (long long)id, what, replicas, partitions);
}

/* A table of ids: a dense attribute of rank 2, in which -1 pads the rows of smaller groups. */
struct table {
	const struct shlo_attr *attr;
	int64_t rows, columns;
};

static struct table table_of(struct shlo_call *call, const char *name)
{
	struct table table = { .attr = shlo_attr_find(&call->op->attrs, name) };

	if (table.attr && table.attr->kind == SHLO_ATTR_DICT)
		table.attr = call->op->groups;
	if (!table.attr && shlo_attr_find(&call->op->attrs, name))
		shlo_run_error(call->run, "%s names axes of a mesh that is not in the file", name);
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

/*
 * Sets @members to the processes of a row and returns their number. For one row there may be a
 * group for each replica or partition, which @other selects.
 */
static size_t members_of(struct shlo_call *call, const struct table *table, int64_t row,
			 enum shlo_grouping grouping, size_t other, size_t *members)
{
	static const char *const whats[] = {
		[CROSS_REPLICA] = "replica",
		[CROSS_PARTITION] = "partition",
		[CROSS_BOTH] = "replica",
		[FLATTENED] = "process",
	};
	size_t replicas, partitions, limit, count = 0;

	sizes(call->run, &replicas, &partitions);
	limit = grouping == CROSS_PARTITION ? partitions :
		grouping == FLATTENED	    ? replicas * partitions :
					      replicas;
	for (size_t p = 0; p < (grouping == CROSS_BOTH ? partitions : 1); p++)
		for (int64_t i = 0; i < table->columns; i++) {
			int64_t id = id_at(table, row, i);
			size_t process = (size_t)id;

			if (id < 0)
				continue;
			if ((uint64_t)id >= limit)
				no_such_id(call, "replica_groups", id, whats[grouping]);
			if (grouping == CROSS_REPLICA)
				process = (size_t)id * partitions + other;
			else if (grouping == CROSS_PARTITION)
				process = other * partitions + (size_t)id;
			else if (grouping == CROSS_BOTH)
				process = (size_t)id * partitions + p;
			members[count++] = process;
		}
	return count;
}

struct shlo_tensor *shlo_scratch(struct shlo_run *run, size_t count)
{
	int64_t numbers = (int64_t)count;
	struct shlo_type type = { .element = SHLO_UI64, .rank = 1, .dims = &numbers };

	return shlo_tensor_new(run, &type);
}

struct shlo_tensor *shlo_group_of(struct shlo_call *call, enum shlo_grouping grouping,
				  struct shlo_group *group)
{
	struct table table = table_of(call, "replica_groups");
	size_t replicas, partitions, self = call->run->process, other;
	struct shlo_tensor *room;
	size_t *members;

	sizes(call->run, &replicas, &partitions);
	other = grouping == CROSS_REPLICA ? self % partitions : self / partitions;
	room = shlo_scratch(call->run,
			    (table.columns > 0 ? (size_t)table.columns * partitions : 0) +
				    replicas * partitions);
	members = room->data;
	for (int64_t row = 0; row < table.rows; row++) {
		group->count = members_of(call, &table, row, grouping, other, members);
		group->members = members;
		for (group->own = 0; group->own < group->count; group->own++)
			if (members[group->own] == self)
				return room;
	}
	/* Without any groups, all processes are one group. */
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

void shlo_need_group(struct shlo_call *call, const struct shlo_group *group)
{
	if (group->own == group->count)
		shlo_run_error(call->run, "process %zu belongs to none of its groups",
			       call->run->process);
}

struct shlo_exchange shlo_exchange_new(struct shlo_run *run, size_t count)
{
	struct shlo_tensor *room = shlo_scratch(run, 4 * count);

	return (struct shlo_exchange){
		.room = room,
		.out = room->data,
		.in = (struct shlo_shard *)room->data + count,
	};
}

void shlo_exchange_swap(struct shlo_call *call, const struct shlo_group *group,
			struct shlo_exchange *exchange)
{
	if (group->count > 1)
		call->run->world->swap(call->run, group, channel_of(call->op), exchange->out,
				       exchange->in);
	shlo_tensor_put(exchange->room);
}

static struct shlo_shard whole(const struct shlo_tensor *x)
{
	return (struct shlo_shard){ x->data, shlo_bytes_of(x) };
}

static struct shlo_tensor *tuple_of(struct shlo_run *run, size_t count)
{
	struct shlo_type type = { .kind = SHLO_TUPLE, .item_count = count };

	return shlo_tensor_new(run, &type);
}

/*
 * Returns a tuple with a tensor for the value of each other member of the group. Where the file
 * leaves dimensions open, members first exchange their dimensions.
 */
static struct shlo_tensor *receive_buffers(struct shlo_call *call, const struct shlo_group *group,
					   const struct shlo_tensor *x,
					   const struct shlo_value *operand)
{
	struct shlo_tensor *all = tuple_of(call->run, group->count), *dims;
	size_t bytes = (size_t)x->type.rank * sizeof(*x->dims);
	struct shlo_exchange exchange;

	if (shlo_type_is_static(operand->type)) {
		for (size_t i = 0; i < group->count; i++)
			if (i != group->own)
				all->items[i] = shlo_tensor_new(call->run, &x->type);
		return all;
	}
	dims = shlo_scratch(call->run, group->count * (size_t)x->type.rank);
	exchange = shlo_exchange_new(call->run, group->count);
	for (size_t i = 0; i < group->count; i++) {
		exchange.out[i] = (struct shlo_shard){ (void *)x->dims, bytes };
		exchange.in[i] = (struct shlo_shard){ (char *)dims->data + i * bytes, bytes };
	}
	shlo_exchange_swap(call, group, &exchange);
	for (size_t i = 0; i < group->count; i++)
		if (i != group->own)
			all->items[i] = shlo_tensor_like(call->run, &x->type, x->type.rank,
							 (const int64_t *)dims->data +
								 i * (size_t)x->type.rank);
	shlo_tensor_put(dims);
	return all;
}

struct shlo_tensor *shlo_gathered(struct shlo_call *call, const struct shlo_group *group,
				  size_t operand)
{
	struct shlo_tensor *x = call->in[operand];
	struct shlo_tensor *all = receive_buffers(call, group, x, call->op->operands[operand]);
	struct shlo_exchange exchange = shlo_exchange_new(call->run, group->count);

	all->items[group->own] = shlo_tensor_get(x);
	for (size_t i = 0; i < group->count; i++) {
		exchange.out[i] = whole(x);
		exchange.in[i] = whole(all->items[i]);
	}
	shlo_exchange_swap(call, group, &exchange);
	return all;
}

enum shlo_grouping shlo_grouping_by_flag(const struct shlo_op *op)
{
	bool channel = channel_of(op) > 0;

	if (shlo_attr_int(op, "use_global_device_ids", 0))
		return FLATTENED;
	return channel ? CROSS_BOTH : CROSS_REPLICA;
}

/* Returns the grouping of all_to_all, collective_broadcast and collective_permute. */
static enum shlo_grouping by_channel(const struct shlo_op *op)
{
	return channel_of(op) > 0 ? CROSS_PARTITION : CROSS_REPLICA;
}

/*
 * Returns the bytes of one slice: all elements with equal indices in front of @dim, which are
 * contiguous.
 */
static size_t row_bytes(const struct shlo_tensor *x, int dim)
{
	size_t bytes = shlo_elements[x->type.element].bytes;

	for (int i = dim; i < x->type.rank; i++)
		bytes *= (size_t)x->dims[i];
	return bytes;
}

static size_t row_count(const struct shlo_tensor *x, int dim)
{
	size_t count = 1;

	for (int i = 0; i < dim; i++)
		count *= (size_t)x->dims[i];
	return count;
}

/*
 * Returns values of one type concatenated along a dimension; the caller owns the result. It is a
 * run error if their other dimensions differ.
 */
static struct shlo_tensor *concatenated(struct shlo_run *run, struct shlo_tensor *const *values,
					size_t count, int dim)
{
	const struct shlo_tensor *first = values[0];
	size_t rows = row_count(first, dim), stride, at = 0;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_tensor *out;

	memcpy(dims, first->dims, sizeof(dims));
	for (size_t i = 1; i < count; i++) {
		dims[dim] = shlo_size_add(dims[dim], values[i]->dims[dim]);
		for (int k = 0; k < first->type.rank; k++)
			if (k != dim && values[i]->dims[k] != first->dims[k])
				shlo_run_differ(run);
	}
	out = shlo_tensor_like(run, &first->type, first->type.rank, dims);
	stride = row_bytes(out, dim);
	for (size_t i = 0; i < count; i++) {
		size_t bytes = row_bytes(values[i], dim);

		for (size_t row = 0; bytes && row < rows; row++)
			memcpy((char *)out->data + row * stride + at,
			       (const char *)values[i]->data + row * bytes, bytes);
		at += bytes;
	}
	return out;
}

/* Returns slice @at of @count equal slices along a dimension. */
static struct shlo_tensor *slice_of(struct shlo_run *run, const struct shlo_tensor *x, int dim,
				    size_t count, size_t at)
{
	int64_t dims[SHLO_MAX_RANK];
	size_t rows = row_count(x, dim), stride = row_bytes(x, dim), bytes;
	struct shlo_tensor *out;

	if (x->dims[dim] % (int64_t)count)
		shlo_run_error(run,
			       "dimension %d has size %lld, which cannot be split into %zu equal "
			       "slices",
			       dim, (long long)x->dims[dim], count);
	memcpy(dims, x->dims, sizeof(dims));
	dims[dim] /= (int64_t)count;
	out = shlo_tensor_like(run, &x->type, x->type.rank, dims);
	bytes = row_bytes(out, dim);
	for (size_t row = 0; bytes && row < rows; row++)
		memcpy((char *)out->data + row * bytes,
		       (const char *)x->data + row * stride + at * bytes, bytes);
	return out;
}

/*
 * Cuts x along @dim into a slice for each member of the group, and returns a tuple of the slices
 * that the members have sent to this process. Where a dimension is open, these may have different
 * sizes, which is an error of the run that the exchange finds.
 */
struct shlo_tensor *shlo_dealt(struct shlo_call *call, const struct shlo_group *group,
			       const struct shlo_tensor *x, int dim)
{
	struct shlo_tensor *mine = tuple_of(call->run, group->count);
	struct shlo_tensor *theirs = tuple_of(call->run, group->count);
	struct shlo_exchange exchange = shlo_exchange_new(call->run, group->count);

	for (size_t i = 0; i < group->count; i++) {
		mine->items[i] = slice_of(call->run, x, dim, group->count, i);
		theirs->items[i] = i == group->own ?
					   shlo_tensor_get(mine->items[i]) :
					   shlo_tensor_new(call->run, &mine->items[i]->type);
		exchange.out[i] = whole(mine->items[i]);
		exchange.in[i] = whole(theirs->items[i]);
	}
	shlo_exchange_swap(call, group, &exchange);
	shlo_tensor_put(mine);
	return theirs;
}

void shlo_eval_all_gather(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, shlo_grouping_by_flag(call->op), &group);
	int dim = (int)shlo_attr_int(call->op, "all_gather_dim", 0);

	shlo_need_group(call, &group);
	for (size_t i = 0; i < call->op->operand_count; i++) {
		struct shlo_tensor *all = shlo_gathered(call, &group, i);

		call->out[i] = concatenated(call->run, all->items, group.count, dim);
		shlo_tensor_put(all);
	}
	shlo_tensor_put(room);
}

void shlo_eval_all_to_all(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, by_channel(call->op), &group);
	int split = (int)shlo_attr_int(call->op, "split_dimension", 0);
	int concat = (int)shlo_attr_int(call->op, "concat_dimension", 0);
	int64_t exchange = shlo_attr_int(call->op, "split_count", 1);

	shlo_need_group(call, &group);
	if ((size_t)exchange != group.count)
		shlo_run_error(call->run,
			       "split_count is %lld, the group has %zu members: both must be equal",
			       (long long)exchange, group.count);
	for (size_t i = 0; i < call->op->operand_count; i++) {
		struct shlo_tensor *mine = shlo_dealt(call, &group, call->in[i], split);

		call->out[i] = concatenated(call->run, mine->items, group.count, concat);
		shlo_tensor_put(mine);
	}
	shlo_tensor_put(room);
}

static struct shlo_tensor *zeros(struct shlo_call *call, size_t operand)
{
	return shlo_tensor_new(call->run, &call->in[operand]->type);
}

static bool has_dynamic_root(const struct shlo_op *op)
{
	return shlo_attr_int(op, "has_dynamic_root", 0);
}

size_t shlo_root_of(struct shlo_call *call, const struct shlo_group *group, size_t i)
{
	const struct shlo_tensor *roots = call->in[call->op->operand_count - 1];
	int64_t root;

	if (!has_dynamic_root(call->op))
		return 0;
	if (i >= (size_t)roots->count)
		shlo_run_error(call->run,
			       "the last operand, the roots, has too few elements: that with "
			       "index %zu is missing",
			       i);
	root = shlo_load(roots->type.element, roots->data, i).i;
	if (root < 0 || (uint64_t)root >= group->count)
		shlo_run_error(call->run,
			       "root %lld is out of range: the group has %zu members, counted "
			       "from 0",
			       (long long)root, group->count);
	return (size_t)root;
}

/* Broadcasts: the first member of the group sends its value to the others. Returns that value. */
static struct shlo_tensor *broadcast(struct shlo_call *call, const struct shlo_group *group,
				     size_t operand)
{
	struct shlo_tensor *x = call->in[operand];
	struct shlo_tensor *out = group->own ? zeros(call, operand) : shlo_tensor_get(x);
	struct shlo_exchange exchange = shlo_exchange_new(call->run, group->count);

	for (size_t i = 0; !group->own && i < group->count; i++)
		exchange.out[i] = whole(x);
	if (group->own)
		exchange.in[0] = whole(out);
	shlo_exchange_swap(call, group, &exchange);
	return out;
}

/*
 * Returns the value of this member's root. Members do not know the roots of other members, so each
 * member gets all values.
 */
static struct shlo_tensor *broadcast_from(struct shlo_call *call, const struct shlo_group *group,
					  size_t operand)
{
	size_t root = shlo_root_of(call, group, operand);
	struct shlo_tensor *all = shlo_gathered(call, group, operand);
	struct shlo_tensor *out = shlo_tensor_get(all->items[root]);

	shlo_tensor_put(all);
	return out;
}

void shlo_eval_collective_broadcast(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, by_channel(call->op), &group);

	for (size_t i = 0; i < call->op->result_count; i++) {
		if (group.own >= group.count)
			call->out[i] = zeros(call, i);
		else if (has_dynamic_root(call->op))
			call->out[i] = broadcast_from(call, &group, i);
		else
			call->out[i] = broadcast(call, &group, i);
	}
	shlo_tensor_put(room);
}

/*
 * Fills in the group of all processes that have this process's partition, or with @by_partition of
 * those that have its replica: source_target_pairs number the processes of that group. Returns the
 * memory of group->members, which the caller releases.
 */
static struct shlo_tensor *group_along(struct shlo_call *call, bool by_partition,
				       struct shlo_group *group)
{
	size_t replicas, partitions, self = call->run->process;
	struct shlo_tensor *room;
	size_t *members;

	sizes(call->run, &replicas, &partitions);
	room = shlo_scratch(call->run, replicas * partitions);
	members = room->data;
	*group = (struct shlo_group){ .members = members };
	for (size_t i = 0; i < replicas * partitions; i++) {
		if (by_partition ? i / partitions != self / partitions :
				   i % partitions != self % partitions)
			continue;
		if (i == self)
			group->own = group->count;
		members[group->count++] = i;
	}
	return room;
}

void shlo_eval_collective_permute(struct shlo_call *call)
{
	struct table pairs = table_of(call, "source_target_pairs");
	struct shlo_group group;
	bool by_partition = by_channel(call->op) == CROSS_PARTITION;
	struct shlo_tensor *room = group_along(call, by_partition, &group);
	struct shlo_exchange exchange = shlo_exchange_new(call->run, group.count);

	for (int64_t row = 0; row < pairs.rows; row++) {
		int64_t source = id_at(&pairs, row, 0), target = id_at(&pairs, row, 1);

		if (source < 0 || (uint64_t)source >= group.count || target < 0 ||
		    (uint64_t)target >= group.count)
			no_such_id(call, "source_target_pairs",
				   source < 0 || (uint64_t)source >= group.count ? source : target,
				   by_partition ? "partition" : "replica");
		if ((size_t)source == group.own)
			exchange.out[target] = whole(call->in[0]);
		if ((size_t)target != group.own)
			continue;
		if (source == target) {
			call->out[0] = shlo_tensor_get(call->in[0]);
			continue;
		}
		call->out[0] = zeros(call, 0);
		exchange.in[source] = whole(call->out[0]);
	}
	shlo_exchange_swap(call, &group, &exchange);
	if (!call->out[0])
		call->out[0] = zeros(call, 0);
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

/*
 * Returns the process at the other end of a transfer from source_target_pairs: these are pairs of
 * replicas if there is one partition, and of partitions if there is one replica. -1: the channel
 * alone selects it.
 */
static int64_t partner_of(struct shlo_call *call, int own_column)
{
	struct table pairs = table_of(call, "source_target_pairs");
	size_t replicas, partitions;

	sizes(call->run, &replicas, &partitions);
	if (!pairs.rows)
		return -1;
	if (replicas > 1 && partitions > 1)
		shlo_run_error(call->run, "it has source_target_pairs, which are not supported "
					  "with several replicas and several partitions");
	for (int64_t row = 0; row < pairs.rows; row++) {
		int64_t other = id_at(&pairs, row, !own_column);

		if (id_at(&pairs, row, own_column) != (int64_t)call->run->process)
			continue;
		if (other < 0 || (uint64_t)other >= replicas * partitions)
			no_such_id(call, "source_target_pairs", other, "process");
		return other;
	}
	return -1;
}

/* Whether an operation in the block receives from the host on a channel. */
static bool is_received(const struct shlo_block *block, int64_t channel)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->kind->eval == shlo_eval_recv && channel_of(op) == channel &&
		    shlo_attr_int(op, "is_host_transfer", 0))
			return true;
		for (size_t k = 0; k < op->region_count; k++)
			if (is_received(&op->regions[k]->block, channel))
				return true;
	}
	return false;
}

/*
 * Whether a send to the host has no effect: the host only forwards values that some process
 * receives.
 */
static bool is_dropped(const struct shlo_call *call)
{
	const struct shlo_module *module = call->run->module;

	if (!shlo_attr_int(call->op, "is_host_transfer", 0))
		return false;
	for (size_t i = 0; call->run->world && i < module->function_count; i++)
		if (module->functions[i]->region &&
		    is_received(&module->functions[i]->region->block, channel_of(call->op)))
			return false;
	return true;
}

void shlo_eval_send(struct shlo_call *call)
{
	if (is_dropped(call)) {
		shlo_eval_token(call);
		return;
	}
	if (!call->run->world)
		shlo_run_error(call->run,
			       "it sends to another process, but the program runs in a single "
			       "one");
	call->run->world->send(call->run, channel_of(call->op), partner_of(call, 0),
			       call->op->operand_count - 1, call->in);
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
	struct shlo_tensor *types;

	if (!call->run->world && shlo_attr_int(call->op, "is_host_transfer", 0))
		shlo_run_error(call->run,
			       "it receives from the host, which only passes on what other "
			       "processes send, but the program runs in a single one");
	if (!call->run->world)
		shlo_run_error(call->run,
			       "it receives from another process, but the program runs in a "
			       "single one");
	add_token(call);
	types = shlo_scratch(call->run, call->op->result_count);
	for (size_t i = 0; i < call->op->result_count; i++)
		((const struct shlo_type **)types->data)[i] = call->op->results[i]->type;
	call->run->world->receive(call->run, channel_of(call->op), partner_of(call, 1),
				  call->op->result_count - 1, types->data, call->out);
	shlo_tensor_put(types);
}

void shlo_eval_infeed(struct shlo_call *call)
{
	const char *name = call->run->world ? call->run->world->infeed(call->run) : NULL;
	const struct shlo_function *function = name ? shlo_function_find(call->run->module, name) :
						      NULL;

	if (!name)
		shlo_run_error(call->run,
			       "the infeed is empty: attribute infeed of interpreter.run_parallel "
			       "names the functions that give its values, one for each call");
	if (!function || !function->region)
		shlo_run_error(call->run, "the infeed names the function @%s, which is not there",
			       name);
	if (function->type->item_count ||
	    function->type->result_count + 1 != call->op->result_count)
		shlo_run_error(
			call->run,
			"the infeed names the function @%s, which takes %zu values and gives "
			"%zu; it must take none and give %zu",
			name, function->type->item_count, function->type->result_count,
			call->op->result_count ? call->op->result_count - 1 : 0);
	shlo_call_function(call->run, function, NULL, call->out);
	add_token(call);
}

void shlo_eval_outfeed(struct shlo_call *call)
{
	shlo_eval_token(call);
}
