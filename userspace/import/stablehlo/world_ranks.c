// SPDX-License-Identifier: MIT
/* Implements processes as ranks, for a program that mpirun has started several times. */
#include "world_ranks.h"

#include <string.h>

static struct shlo_ranks_world *world_of(const struct shlo_run *run)
{
	return (struct shlo_ranks_world *)run->world;
}

static uint64_t mixed(uint64_t key, uint64_t with)
{
	key = (key ^ with) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

static uint64_t key_of(const struct shlo_group *group, int64_t channel)
{
	uint64_t key = mixed(group->count, (uint64_t)channel);

	for (size_t i = 0; i < group->count; i++)
		key = mixed(key, group->members[i]);
	return key;
}

/* ---- exchanging slices */

/*
 * Returns the member that is @away from this one: every rank begins with another neighbour, so that
 * not all send to one rank at a time.
 */
static size_t neighbour(const struct shlo_group *group, size_t away)
{
	return (group->own + away) % group->count;
}

static void swap_shards(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
			const struct shlo_shard *out, const struct shlo_shard *in)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	uint64_t key = shlo_ranks_key(ranks, key_of(group, channel), &run->guard);

	ranks->key = key;
	/* The key depends on the size: a message of another size than expected is not received. */
	for (size_t k = group->count - 1; k; k--) {
		const struct shlo_shard *shard = &in[neighbour(group, k)];

		if (shard->size)
			shlo_ranks_receive(ranks, group->members[neighbour(group, k)],
					   mixed(key, shard->size), shard->data, shard->size,
					   &run->guard);
	}
	for (size_t k = 1; k < group->count; k++) {
		const struct shlo_shard *shard = &out[neighbour(group, k)];

		if (shard->size)
			shlo_ranks_send(ranks, group->members[neighbour(group, k)],
					mixed(key, shard->size), shard->data, shard->size,
					&run->guard);
	}
	shlo_ranks_wait(ranks, &run->guard);
}

/* ---- values with their dimensions as bytes */

static size_t packed_size(struct shlo_run *run, struct shlo_tensor *const *values, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++) {
		const struct shlo_type *type = &values[i]->type;

		if (type->kind == SHLO_TOKEN)
			continue;
		if (type->kind != SHLO_TENSOR)
			shlo_run_error(
				run,
				"a value that goes from rank to rank must be a tensor or a token, "
				"but this is a tuple or future: send or return the elements of a "
				"tuple one by one, and the results of async_done in place of a "
				"future");
		size += (size_t)(type->rank + 1) * sizeof(int64_t) +
			(size_t)values[i]->count * shlo_elements[type->element].bytes;
	}
	return size;
}

static struct shlo_tensor *bytes_new(struct shlo_run *run, size_t size)
{
	int64_t words = (int64_t)((size + 15) / 16);
	struct shlo_type type = { .element = SHLO_C128, .rank = 1, .dims = &words };

	return shlo_tensor_unset(run, &type);
}

static void put_bytes(uint8_t **to, const void *data, size_t size)
{
	if (size)
		memcpy(*to, data, size);
	*to += size;
}

static void pack(uint8_t *to, struct shlo_tensor *const *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct shlo_tensor *x = values[i];
		int64_t rank = x->type.rank;

		if (x->type.kind == SHLO_TOKEN)
			continue;
		put_bytes(&to, &rank, sizeof(rank));
		put_bytes(&to, x->dims, (size_t)rank * sizeof(*x->dims));
		put_bytes(&to, x->data, shlo_bytes_of(x));
	}
}

static const uint8_t *get_bytes(struct shlo_run *run, const uint8_t **from, const uint8_t *end,
				size_t size)
{
	const uint8_t *at = *from;

	if ((size_t)(end - at) < size)
		shlo_run_differ(run);
	*from += size;
	return at;
}

/* Restores values; @types are the types in the file, which all ranks have. */
static void unpack(struct shlo_run *run, const uint8_t *from, size_t size, size_t count,
		   const struct shlo_type *const *types, struct shlo_tensor **values)
{
	const uint8_t *end = from + size;

	for (size_t i = 0; i < count; i++) {
		int64_t rank, dims[SHLO_MAX_RANK];
		size_t bytes;

		if (types[i]->kind == SHLO_TOKEN) {
			values[i] = shlo_tensor_new(run, types[i]);
			continue;
		}
		memcpy(&rank, get_bytes(run, &from, end, sizeof(rank)), sizeof(rank));
		if (types[i]->kind != SHLO_TENSOR || rank < 0 || rank > SHLO_MAX_RANK)
			shlo_run_differ(run);
		memcpy(dims, get_bytes(run, &from, end, (size_t)rank * sizeof(*dims)),
		       (size_t)rank * sizeof(*dims));
		values[i] = shlo_tensor_like(run, types[i], (int)rank, dims);
		bytes = (size_t)values[i]->count * shlo_elements[types[i]->element].bytes;
		memcpy(values[i]->data, get_bytes(run, &from, end, bytes), bytes);
	}
	if (from != end)
		shlo_run_differ(run);
}

/*
 * The key of values on channels. One key is enough, because rank 0 has paired the two ends of a
 * transfer before.
 */
#define MAIL_KEY 0

/* ---- channels: rank 0 says who the other end is */

static void send_values(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			struct shlo_tensor *const *values)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	size_t size = packed_size(run, values, count);
	struct shlo_tensor *room = bytes_new(run, size);
	struct shlo_note offer = { .kind = SHLO_NOTE_OFFER,
				   .numbers = { channel, process, (int64_t)size } };

	pack(room->data, values, count);
	ranks->matched = false;
	shlo_ranks_ask(ranks, &offer, &ranks->matched, &run->guard);
	ranks->key = MAIL_KEY;
	shlo_ranks_send(ranks, (size_t)ranks->match.numbers[0], MAIL_KEY, room->data, size,
			&run->guard);
	shlo_ranks_wait(ranks, &run->guard);
	shlo_tensor_put(room);
}

static void receive_values(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			   const struct shlo_type *const *types, struct shlo_tensor **values)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	struct shlo_note want = { .kind = SHLO_NOTE_WANT, .numbers = { channel, process } };
	struct shlo_tensor *room;
	size_t size;

	ranks->matched = false;
	shlo_ranks_ask(ranks, &want, &ranks->matched, &run->guard);
	size = (size_t)ranks->match.numbers[1];
	room = bytes_new(run, size);
	ranks->key = MAIL_KEY;
	shlo_ranks_receive(ranks, (size_t)ranks->match.numbers[0], MAIL_KEY, room->data, size,
			   &run->guard);
	shlo_ranks_wait(ranks, &run->guard);
	unpack(run, room->data, size, count, types, values);
	shlo_tensor_put(room);
}

static const char *next_infeed(struct shlo_run *run)
{
	struct shlo_ranks_world *world = world_of(run);
	struct WNNStablehloWorldImpl *ranks = world->ranks;
	struct shlo_note feed = { .kind = SHLO_NOTE_FEED, .numbers = { ranks->infeeds } };

	if (!world->infeed)
		return NULL;
	ranks->is_fed = false;
	shlo_ranks_ask(ranks, &feed, &ranks->is_fed, &run->guard);
	return ranks->fed.numbers[0] < (int64_t)world->infeed->count ?
		       world->infeed->items[ranks->fed.numbers[0]]->text :
		       NULL;
}

/* ---- interpreter.run_parallel: a rank for each process; all ranks go on with all results */

/*
 * Returns the function of @process, or NULL, and the indices of its first argument and first result
 * among the arguments and results of all processes.
 */
static const struct shlo_function *place_of(struct shlo_call *call,
					    const struct shlo_attr *programs, size_t process,
					    size_t *argument, size_t *result)
{
	size_t count = programs->count * programs->items[0]->count;
	size_t arguments = 0, results = 0;
	const struct shlo_function *own = NULL;

	shlo_parallel_check(call, programs);
	for (size_t i = 0; i < count; i++) {
		const struct shlo_function *function = shlo_parallel_function(call, programs, i);

		if (i == process) {
			own = function;
			*argument = arguments;
			*result = results;
		}
		arguments += function->type->item_count;
		results += function->type->result_count;
	}
	return own;
}

/*
 * Gathers the bytes of every rank on all ranks. Returns a tuple with an item for each rank, and
 * sets the elements of @sizes to their sizes in bytes.
 */
static struct shlo_tensor *gathered(struct shlo_run *run, const struct shlo_tensor *own,
				    uint64_t own_size, struct shlo_tensor *sizes)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	int64_t count = (int64_t)ranks->seat.count, receive_buffers = 5 * count;
	struct shlo_type numbers = { .element = SHLO_UI64, .rank = 1, .dims = &receive_buffers };
	struct shlo_type tuple = { .kind = SHLO_TUPLE, .item_count = ranks->seat.count };
	struct shlo_tensor *room = shlo_tensor_new(run, &numbers);
	struct shlo_tensor *all = shlo_tensor_new(run, &tuple);
	size_t *members = room->data;
	struct shlo_shard *out = (struct shlo_shard *)(members + count), *in = out + count;
	struct shlo_group group = { ranks->seat.count, members, ranks->seat.rank };
	uint64_t *size = sizes->data;

	for (size_t i = 0; i < ranks->seat.count; i++) {
		members[i] = i;
		out[i] = (struct shlo_shard){ &own_size, sizeof(own_size) };
		in[i] = (struct shlo_shard){ &size[i], sizeof(*size) };
	}
	swap_shards(run, &group, 0, out, in);
	size[ranks->seat.rank] = own_size;
	for (size_t i = 0; i < ranks->seat.count; i++) {
		all->items[i] = bytes_new(run, size[i]);
		out[i] = (struct shlo_shard){ own->data, own_size };
		in[i] = (struct shlo_shard){ all->items[i]->data, size[i] };
	}
	if (own_size)
		memcpy(all->items[ranks->seat.rank]->data, own->data, own_size);
	swap_shards(run, &group, 0, out, in);
	shlo_tensor_put(room);
	return all;
}

/*
 * Runs the function of this rank in a world that has only the processes of @programs. Returns a
 * tuple of its results, which is empty when @function is NULL.
 */
static struct shlo_tensor *run_own(struct shlo_call *call, const struct shlo_function *function,
				   size_t argument, const struct shlo_attr *programs)
{
	struct shlo_ranks_world world;
	struct shlo_world *outer = call->run->world;
	size_t process = call->run->process;
	struct shlo_type type = { .kind = SHLO_TUPLE };
	struct shlo_tensor *results;

	shlo_ranks_world_init(&world, world_of(call->run)->ranks, programs->count,
			      programs->items[0]->count);
	world.world.run_parallel = NULL;
	world.infeed = shlo_attr_find(&call->op->attrs, "infeed");
	type.item_count = function ? function->type->result_count : 0;
	results = shlo_tensor_new(call->run, &type);
	if (!function)
		return results;
	call->run->world = &world.world;
	call->run->process = world.ranks->seat.rank;
	shlo_call_function(call->run, function, call->in + argument, results->items);
	call->run->world = outer;
	call->run->process = process;
	return results;
}

static void run_parallel(struct shlo_call *call, const struct shlo_attr *programs)
{
	struct WNNStablehloWorldImpl *ranks = world_of(call->run)->ranks;
	size_t count = programs->count * programs->items[0]->count, argument = 0, result = 0, size;
	const struct shlo_function *own =
		place_of(call, programs, ranks->seat.rank, &argument, &result);
	int64_t all_count = (int64_t)ranks->seat.count;
	struct shlo_type numbers = { .element = SHLO_UI64, .rank = 1, .dims = &all_count };
	struct shlo_tensor *results, *packed, *sizes, *all;

	if (count > ranks->seat.count)
		shlo_throw(
			&call->run->guard, WNNStatus_NotSupportedError,
			"%s: the program has %zu processes, each of which needs a rank, but there "
			"are %u ranks: start it with mpirun -n and the number of processes",
			shlo_location_text(call->op->location).text, count, ranks->seat.count);
	ranks->infeeds++;
	results = run_own(call, own, argument, programs);
	size = packed_size(call->run, results->items, results->type.item_count);
	packed = bytes_new(call->run, size);
	pack(packed->data, results->items, results->type.item_count);
	sizes = shlo_tensor_new(call->run, &numbers);
	all = gathered(call->run, packed, size, sizes);
	for (size_t i = 0, at = 0; i < count; i++) {
		const struct shlo_type *type = shlo_parallel_function(call, programs, i)->type;

		unpack(call->run, all->items[i]->data, ((uint64_t *)sizes->data)[i],
		       type->result_count, type->results, call->out + at);
		at += type->result_count;
	}
	shlo_tensor_put(all);
	shlo_tensor_put(sizes);
	shlo_tensor_put(packed);
	shlo_tensor_put(results);
}

void shlo_ranks_world_init(struct shlo_ranks_world *world, struct WNNStablehloWorldImpl *ranks,
			   size_t replicas, size_t partitions)
{
	*world = (struct shlo_ranks_world){
		.world = {
			.replicas = replicas,
			.partitions = partitions,
			.swap = swap_shards,
			.send = send_values,
			.receive = receive_values,
			.infeed = next_infeed,
			.run_parallel = run_parallel,
		},
		.ranks = ranks,
	};
}
