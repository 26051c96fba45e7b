// SPDX-License-Identifier: MIT
/* Processes as ranks: the world of a program that mpirun has started several times. */
#include "world_ranks.h"

#include <string.h>

/* Comes before the bytes of a part, and tells whether both ranks are at the same operation. */
struct head {
	uint64_t key, size;
};

/* Parts up to this size travel with their heads. */
#define MOST_INLINE 4096
#define SLOT	    (sizeof(struct head) + MOST_INLINE)

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

/* ---- swapping parts */

/* One swap: its group, and how many transfers are begun. */
struct swap {
	struct shlo_run *run;
	struct WNNStablehloWorldImpl *ranks;
	const struct shlo_group *group;
	const struct shlo_part *out, *in;
	uint64_t key;
	size_t begun;
};

/* Heads come into the first half, and go from the second. */
static uint8_t *slot_of(const struct swap *s, bool out, size_t member)
{
	return s->ranks->heads + ((out ? s->group->count : 0) + member) * SLOT;
}

static void make_slots(struct swap *s)
{
	size_t size = 2 * s->group->count * SLOT;
	uint8_t *more;

	if (size <= s->ranks->heads_size)
		return;
	more = import_realloc(s->ranks->heads, size);
	if (!more)
		shlo_run_error(s->run, "memory is exhausted");
	s->ranks->heads = more;
	s->ranks->heads_size = size;
}

static void begin(struct swap *s, bool send, size_t member, void *data, size_t size)
{
	const struct shlo_transport *t = s->ranks->transport;
	uint32_t rank = (uint32_t)s->group->members[member];

	if (send ? t->send(rank, data, size) : t->receive(rank, data, size))
		shlo_ranks_lost(s->ranks, &s->run->guard);
	s->begun++;
}

/* Everybody begins with another neighbour, so that not all go to one at a time. */
static size_t neighbour(const struct shlo_group *group, size_t away)
{
	return (group->own + away) % group->count;
}

static size_t begin_heads(struct swap *s)
{
	for (size_t k = 1; k < s->group->count; k++) {
		size_t from = neighbour(s->group, s->group->count - k);

		if (s->in[from].size)
			begin(s, false, from, slot_of(s, false, from), SLOT);
	}
	return s->begun;
}

static void begin_parts(struct swap *s)
{
	for (size_t k = 1; k < s->group->count; k++) {
		size_t from = neighbour(s->group, s->group->count - k);

		if (s->in[from].size > MOST_INLINE)
			begin(s, false, from, s->in[from].data, s->in[from].size);
	}
	for (size_t k = 1; k < s->group->count; k++) {
		size_t to = neighbour(s->group, k), size = s->out[to].size;
		struct head head = { s->key, size };
		uint8_t *slot = slot_of(s, true, to);

		if (!size)
			continue;
		memcpy(slot, &head, sizeof(head));
		if (size <= MOST_INLINE)
			memcpy(slot + sizeof(head), s->out[to].data, size);
		begin(s, true, to, slot, sizeof(head) + (size <= MOST_INLINE ? size : 0));
		if (size > MOST_INLINE)
			begin(s, true, to, s->out[to].data, size);
	}
}

static void check_heads(const struct swap *s)
{
	for (size_t i = 0; i < s->group->count; i++) {
		size_t size = i == s->group->own ? 0 : s->in[i].size;
		const uint8_t *slot = slot_of(s, false, i);
		struct head head;

		if (!size)
			continue;
		memcpy(&head, slot, sizeof(head));
		if (head.key != s->key)
			shlo_run_error(s->run,
				       "rank %zu is at another operation on several devices",
				       s->group->members[i]);
		if (head.size != size)
			shlo_run_error(s->run, "the processes have values of different types");
		if (size <= MOST_INLINE)
			memcpy(s->in[i].data, slot + sizeof(head), size);
	}
}

static void swap_parts(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
		       const struct shlo_part *out, const struct shlo_part *in)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	struct swap s = { run, ranks, group, out, in, key_of(group, channel), 0 };
	size_t heads;

	make_slots(&s);
	ranks->busy = true;
	heads = begin_heads(&s);
	begin_parts(&s);
	shlo_ranks_wait(ranks, heads, &run->guard);
	check_heads(&s);
	shlo_ranks_wait(ranks, s.begun, &run->guard);
	ranks->transport->clear();
	ranks->busy = false;
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
			shlo_run_error(run, "only tensors and tokens go from rank to rank");
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
		put_bytes(&to, x->data, (size_t)x->count * shlo_elements[x->type.element].bytes);
	}
}

static const uint8_t *get_bytes(struct shlo_run *run, const uint8_t **from, const uint8_t *end,
				size_t size)
{
	const uint8_t *at = *from;

	if ((size_t)(end - at) < size)
		shlo_run_error(run, "the processes have values of different types");
	*from += size;
	return at;
}

/* The types are those of the file, which all ranks have. */
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
			shlo_run_error(run, "the processes have values of different types");
		memcpy(dims, get_bytes(run, &from, end, (size_t)rank * sizeof(*dims)),
		       (size_t)rank * sizeof(*dims));
		values[i] = shlo_tensor_like(run, types[i], (int)rank, dims);
		bytes = (size_t)values[i]->count * shlo_elements[types[i]->element].bytes;
		memcpy(values[i]->data, get_bytes(run, &from, end, bytes), bytes);
	}
	if (from != end)
		shlo_run_error(run, "the processes have values of different types");
}

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
	ranks->busy = true;
	if (ranks->transport->send((uint32_t)ranks->match.numbers[0], room->data, size))
		shlo_ranks_lost(ranks, &run->guard);
	shlo_ranks_wait(ranks, 1, &run->guard);
	ranks->transport->clear();
	ranks->busy = false;
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
	ranks->busy = true;
	if (ranks->transport->receive((uint32_t)ranks->match.numbers[0], room->data, size))
		shlo_ranks_lost(ranks, &run->guard);
	shlo_ranks_wait(ranks, 1, &run->guard);
	ranks->transport->clear();
	ranks->busy = false;
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

/* What all processes take and give, one after the other; returns the function of @process or NULL. */
static const struct shlo_function *place_of(struct shlo_call *call,
					    const struct shlo_attr *programs, size_t process,
					    size_t *argument, size_t *result)
{
	size_t count = programs->count * programs->items[0]->count;
	size_t arguments = 0, results = 0;
	const struct shlo_function *own = NULL;

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
	if (arguments != call->op->operand_count || results != call->op->result_count)
		shlo_run_error(call->run, "its programs take or give another number of values");
	return own;
}

/* What every rank has as bytes comes to all: an item for each rank. */
static struct shlo_tensor *gathered(struct shlo_run *run, const struct shlo_tensor *own,
				    uint64_t own_size, struct shlo_tensor *sizes)
{
	struct WNNStablehloWorldImpl *ranks = world_of(run)->ranks;
	int64_t count = (int64_t)ranks->count, rooms = 5 * count;
	struct shlo_type numbers = { .element = SHLO_UI64, .rank = 1, .dims = &rooms };
	struct shlo_type tuple = { .kind = SHLO_TUPLE, .item_count = ranks->count };
	struct shlo_tensor *room = shlo_tensor_new(run, &numbers);
	struct shlo_tensor *all = shlo_tensor_new(run, &tuple);
	size_t *members = room->data;
	struct shlo_part *out = (struct shlo_part *)(members + count), *in = out + count;
	struct shlo_group group = { ranks->count, members, ranks->rank };
	uint64_t *size = sizes->data;

	for (size_t i = 0; i < ranks->count; i++) {
		members[i] = i;
		out[i] = (struct shlo_part){ &own_size, sizeof(own_size) };
		in[i] = (struct shlo_part){ &size[i], sizeof(*size) };
	}
	swap_parts(run, &group, 0, out, in);
	size[ranks->rank] = own_size;
	for (size_t i = 0; i < ranks->count; i++) {
		all->items[i] = bytes_new(run, size[i]);
		out[i] = (struct shlo_part){ own->data, own_size };
		in[i] = (struct shlo_part){ all->items[i]->data, size[i] };
	}
	if (own_size)
		memcpy(all->items[ranks->rank]->data, own->data, own_size);
	swap_parts(run, &group, 0, out, in);
	shlo_tensor_put(room);
	return all;
}

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
	call->run->process = world.ranks->rank;
	shlo_call_function(call->run, function, call->in + argument, results->items);
	call->run->world = outer;
	call->run->process = process;
	return results;
}

static void run_parallel(struct shlo_call *call, const struct shlo_attr *programs)
{
	struct WNNStablehloWorldImpl *ranks = world_of(call->run)->ranks;
	size_t count = programs->count * programs->items[0]->count, argument = 0, result = 0, size;
	const struct shlo_function *own = place_of(call, programs, ranks->rank, &argument, &result);
	int64_t all_count = (int64_t)ranks->count;
	struct shlo_type numbers = { .element = SHLO_UI64, .rank = 1, .dims = &all_count };
	struct shlo_tensor *results, *packed, *sizes, *all;

	if (count > ranks->count)
		shlo_throw(&call->run->guard, WNNStatus_NotSupportedError,
			   "line %u, column %u: %zu processes need as many ranks, there are %u",
			   call->op->place.line, call->op->place.column, count, ranks->count);
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
			.swap = swap_parts,
			.send = send_values,
			.receive = receive_values,
			.infeed = next_infeed,
			.run_parallel = run_parallel,
		},
		.ranks = ranks,
	};
}
