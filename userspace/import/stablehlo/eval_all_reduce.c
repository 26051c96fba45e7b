// SPDX-License-Identifier: MIT
/*
 * Reductions over several devices. They combine values in the order of the group, so that all
 * members get equal bits.
 */
#include <string.h>

#include "collective.h"
#include "combine.h"
#include "lower.h"

struct reducer {
	struct shlo_run *run;
	struct shlo_applier applier;
	/* the operation of enum shlo_binary that is the whole region; -1: the region has more */
	int only;
	/* element types of the sum, and of the values that are added */
	enum shlo_element element, other;
};

static void reducer_init(struct reducer *r, struct shlo_call *call, enum shlo_element from)
{
	const struct shlo_region *region = call->op->region_count ? call->op->regions[0] : NULL;

	*r = (struct reducer){
		.run = call->run, .only = SHLO_B_ADD, .element = from, .other = from
	};
	if (!region)
		return;
	r->only = shlo_only_binary(region);
	r->element = shlo_argument_element(region, 0);
	r->other = shlo_argument_element(region, 1);
	shlo_applier_init(&r->applier, call->run, call->frame, region);
}

static void reducer_exit(struct reducer *r)
{
	shlo_tensor_put(r->applier.room);
}

/* Converts the first member's elements to the type of the sum. */
static void reducer_first(const struct reducer *r, void *sum, const void *x, size_t count,
			  enum shlo_element from)
{
	if (from == r->element)
		memcpy(sum, x, count * shlo_elements[from].bytes);
	for (size_t i = 0; from != r->element && i < count; i++)
		shlo_store(r->element, sum, i,
			   shlo_convert(r->element, from, shlo_load(from, x, i)));
}

/* Returns the combination of two elements. Without a region there is no applier. */
static struct shlo_num reducer_apply(struct reducer *r, struct shlo_num x, struct shlo_num y)
{
	const struct shlo_num arguments[2] = { x, y };
	struct shlo_num result;
	bool done;

	if (r->only >= 0 && r->other == r->element)
		return shlo_binary((enum shlo_binary)r->only, r->element, x, y, &done);
	shlo_apply(&r->applier, arguments, &result);
	return result;
}

static void reducer_add(struct reducer *r, void *sum, const void *x, size_t count,
			enum shlo_element from)
{
	for (size_t i = 0; i < count; i++)
		shlo_store(r->element, sum, i,
			   reducer_apply(r, shlo_load(r->element, sum, i),
					 shlo_convert(r->other, from, shlo_load(from, x, i))));
}

/*
 * Elements of a block. A block of the sum stays in the first-level cache while the values of all
 * members are added to it.
 */
#define BLOCK 2048

/*
 * Combines the values of all members in their order with vectorised loops; false, with nothing
 * done: there is no such loop.
 */
static bool reducer_run_fast(const struct reducer *r, void *sum, const void *const *values,
			     size_t n, size_t count, enum shlo_element from)
{
	enum shlo_binary op = (enum shlo_binary)r->only;
	size_t bytes = shlo_elements[from].bytes;

	if (r->only < 0 || from != r->element || r->other != r->element || n < 2)
		return false;
	for (size_t at = 0; at < count; at += BLOCK) {
		size_t part = count - at < BLOCK ? count - at : BLOCK, offset = at * bytes;
		char *to = (char *)sum + offset;

		for (size_t i = 1; i < n; i++)
			if (!shlo_combine(op, from, to,
					  i == 1 ? (const char *)values[0] + offset : to,
					  (const char *)values[i] + offset, part))
				return false;
	}
	return true;
}

/* Combines the values of @n members; their elements have the operand's type. */
static void reducer_run(struct reducer *r, void *sum, const void *const *values, size_t n,
			size_t count, enum shlo_element from)
{
	if (reducer_run_fast(r, sum, values, n, count, from))
		return;
	reducer_first(r, sum, values[0], count, from);
	for (size_t i = 1; i < n; i++)
		reducer_add(r, sum, values[i], count, from);
}

/*
 * Up to this size every member gets all values and reduces them itself, which takes one exchange
 * instead of two.
 */
#define SMALL_BYTES 2048

static struct shlo_tensor *reduced_small(struct shlo_call *call, const struct shlo_group *group,
					 size_t operand, struct reducer *r)
{
	struct shlo_tensor *all = shlo_gathered(call, group, operand), *values, *out;
	enum shlo_element from = call->in[operand]->type.element;
	struct shlo_type type = call->in[operand]->type;

	type.element = r->element;
	out = shlo_tensor_new(call->run, &type);
	values = shlo_scratch(call->run, group->count);
	for (size_t i = 0; i < group->count; i++) {
		if (all->items[i]->count != out->count)
			shlo_run_differ(call->run);
		((const void **)values->data)[i] = all->items[i]->data;
	}
	reducer_run(r, out->data, values->data, group->count, (size_t)out->count, from);
	shlo_tensor_put(values);
	shlo_tensor_put(all);
	return out;
}

static void *at_bytes(const struct shlo_tensor *x, size_t element)
{
	return (char *)x->data + element * shlo_elements[x->type.element].bytes;
}

/* A range of elements that one member of a group reduces. */
struct range {
	size_t first, count;
};

static struct range range_of(size_t count, size_t n, size_t member)
{
	size_t first = count * member / n;

	return (struct range){ first, count * (member + 1) / n - first };
}

/*
 * Sets @to[i] to the memory for this member's range of elements from member i. That memory is in
 * the result, at the range that member i reduces and sends later, so that its pages are in the
 * cache by then. When ranges differ in size, or types in bytes, the memory is a buffer, which is
 * returned; else returns NULL.
 */
static struct shlo_tensor *make_buffers(struct shlo_call *call, const struct shlo_group *group,
					const struct shlo_tensor *out, size_t bytes, void **to)
{
	size_t n = group->count, count = (size_t)out->count;
	struct range own = range_of(count, n, group->own);
	int64_t size = (int64_t)(own.count * n * bytes);
	struct shlo_type type = { .element = SHLO_UI8, .rank = 1, .dims = &size };
	struct shlo_tensor *room = NULL;

	if (count % n || bytes != shlo_elements[out->type.element].bytes)
		room = shlo_tensor_unset(call->run, &type);
	for (size_t i = 0; i < n; i++)
		to[i] = (char *)(room ? room->data : out->data) + i * own.count * bytes;
	return room;
}

/*
 * Returns the reduction of large values: every member reduces one range of the elements and sends
 * the result to the others. Each member sends and receives 2 (n - 1) / n of the bytes, which is the
 * minimum.
 */
static struct shlo_tensor *reduced_large(struct shlo_call *call, const struct shlo_group *group,
					 const struct shlo_tensor *x, struct reducer *r)
{
	size_t n = group->count, bytes = shlo_elements[x->type.element].bytes;
	struct range own = range_of((size_t)x->count, n, group->own);
	struct shlo_exchange exchange = shlo_exchange_new(call->run, n);
	struct shlo_tensor *values = shlo_scratch(call->run, n), *room, *out;
	struct shlo_type type = x->type;
	void **from = values->data;

	type.element = r->element;
	out = shlo_tensor_unset(call->run, &type);
	room = make_buffers(call, group, out, bytes, from);
	for (size_t i = 0; i < n; i++) {
		struct range range = range_of((size_t)x->count, n, i);

		exchange.out[i] =
			(struct shlo_shard){ at_bytes(x, range.first), range.count * bytes };
		exchange.in[i] = (struct shlo_shard){ from[i], own.count * bytes };
	}
	shlo_exchange_swap(call, group, &exchange);
	from[group->own] = at_bytes(x, own.first);
	reducer_run(r, at_bytes(out, own.first), (const void *const *)from, n, own.count,
		    x->type.element);
	shlo_tensor_put(values);
	shlo_tensor_put(room);
	exchange = shlo_exchange_new(call->run, n);
	bytes = shlo_elements[r->element].bytes;
	for (size_t i = 0; i < n; i++) {
		struct range range = range_of((size_t)x->count, n, i);

		exchange.out[i] =
			(struct shlo_shard){ at_bytes(out, own.first), own.count * bytes };
		exchange.in[i] =
			(struct shlo_shard){ at_bytes(out, range.first), range.count * bytes };
	}
	shlo_exchange_swap(call, group, &exchange);
	return out;
}

/* ---- by halves, where the members are a power of two */

/* Groups of up to this size do not halve: a message costs less than the wait between levels. */
#define MOST_DIRECT 8

/* Most levels of halving; a group has fewer than 2^MOST_LEVELS members. */
#define MOST_LEVELS 32

/* The elements that a member keeps at a level, and those that its partner reduces. */
struct level {
	size_t partner;
	struct range kept, left;
};

static void plan_levels(struct level *levels, const struct shlo_group *group, size_t count)
{
	struct range range = { 0, count };

	for (size_t bit = 1; bit < group->count; bit *= 2, levels++) {
		struct range low = { range.first, range.count / 2 }, high;

		high.first = low.first + low.count;
		high.count = range.count - low.count;
		levels->partner = group->own ^ bit;
		levels->kept = range = group->own & bit ? high : low;
		levels->left = group->own & bit ? low : high;
	}
}

static void swap_pair(struct shlo_call *call, const struct shlo_group *group, size_t partner,
		      struct shlo_shard out, struct shlo_shard in)
{
	bool first = group->own < partner;
	size_t members[2] = { group->members[first ? group->own : partner],
			      group->members[first ? partner : group->own] };
	struct shlo_group pair = { 2, members, !first };
	struct shlo_exchange exchange = shlo_exchange_new(call->run, 2);

	exchange.out[first] = out;
	exchange.in[first] = in;
	shlo_exchange_swap(call, &pair, &exchange);
}

/*
 * Combines this member's elements with the partner's; the first in the group is the first operand.
 */
static void reduce_pair(struct reducer *r, void *sum, const void *mine, const void *theirs,
			bool mine_first, size_t count)
{
	const void *first = mine_first ? mine : theirs, *second = mine_first ? theirs : mine;

	/* @sum may be @mine, which the vectorised loops take as the first operand only. */
	if (r->only >= 0 && (mine_first || shlo_is_commutative(r->only)) &&
	    shlo_combine((enum shlo_binary)r->only, r->element, sum, mine, theirs, count))
		return;
	for (size_t i = 0; i < count; i++)
		shlo_store(r->element, sum, i,
			   reducer_apply(r, shlo_load(r->element, first, i),
					 shlo_load(r->element, second, i)));
}

/*
 * Returns the reduction by recursive halving: neighbours exchange halves and reduce one each, then
 * pairs of neighbours exchange quarters, and so on; the results then go back the same way. This
 * sends as many bytes as the direct way, but 2 log n messages instead of 2 (n - 1). Every element
 * is reduced along the same tree, with members in order.
 */
static struct shlo_tensor *reduced_by_halves(struct shlo_call *call, const struct shlo_group *group,
					     const struct shlo_tensor *x, struct reducer *r)
{
	size_t bytes = shlo_elements[r->element].bytes, count = 0;
	struct level levels[MOST_LEVELS];
	struct shlo_tensor *out = shlo_tensor_unset(call->run, &x->type), *room;
	const struct shlo_tensor *from = x;
	int64_t half = (x->count + 1) / 2;
	struct shlo_type type = { .element = r->element, .rank = 1, .dims = &half };

	plan_levels(levels, group, (size_t)x->count);
	room = shlo_tensor_unset(call->run, &type);
	for (size_t bit = 1; bit < group->count; bit *= 2, count++) {
		const struct level *level = &levels[count];

		swap_pair(call, group, level->partner,
			  (struct shlo_shard){ at_bytes(from, level->left.first),
					       level->left.count * bytes },
			  (struct shlo_shard){ room->data, level->kept.count * bytes });
		reduce_pair(r, at_bytes(out, level->kept.first), at_bytes(from, level->kept.first),
			    room->data, group->own < level->partner, level->kept.count);
		from = out;
	}
	shlo_tensor_put(room);
	while (count--) {
		const struct level *level = &levels[count];

		swap_pair(call, group, level->partner,
			  (struct shlo_shard){ at_bytes(out, level->kept.first),
					       level->kept.count * bytes },
			  (struct shlo_shard){ at_bytes(out, level->left.first),
					       level->left.count * bytes });
	}
	return out;
}

static struct shlo_tensor *all_reduced(struct shlo_call *call, const struct shlo_group *group,
				       size_t operand)
{
	const struct shlo_tensor *x = call->in[operand];
	struct shlo_tensor *out;
	struct reducer r;

	/* A group of one member has nothing to add. */
	reducer_init(&r, call, x->type.element);
	if (group->count == 1 && r.element == x->type.element) {
		reducer_exit(&r);
		return shlo_tensor_get(call->in[operand]);
	}
	/* Only reduced_small() compares the sizes of open dimensions. */
	if (shlo_bytes_of(x) <= SMALL_BYTES ||
	    !shlo_type_is_static(call->op->operands[operand]->type))
		out = reduced_small(call, group, operand, &r);
	else if (group->count > MOST_DIRECT && !(group->count & (group->count - 1)) &&
		 r.element == x->type.element && r.other == r.element)
		out = reduced_by_halves(call, group, x, &r);
	else
		out = reduced_large(call, group, x, &r);
	reducer_exit(&r);
	return out;
}

void shlo_eval_all_reduce(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, shlo_grouping_by_flag(call->op), &group);

	shlo_need_group(call, &group);
	for (size_t i = 0; i < call->op->operand_count; i++)
		call->out[i] = all_reduced(call, &group, i);
	shlo_tensor_put(room);
}

/* Evaluates collective_reduce: the root of a group gets the result, all other members get zeros. */
void shlo_eval_collective_reduce(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, shlo_grouping_by_flag(call->op), &group);
	struct shlo_type type;

	for (size_t i = 0; i < call->op->result_count; i++) {
		if (group.own < group.count) {
			call->out[i] = all_reduced(call, &group, i);
			if (group.own != shlo_root_of(call, &group, i))
				memset(call->out[i]->data, 0, shlo_bytes_of(call->out[i]));
			continue;
		}
		type = call->in[i]->type;
		type.element = shlo_argument_element(call->op->regions[0], 0);
		call->out[i] = shlo_tensor_new(call->run, &type);
	}
	shlo_tensor_put(room);
}

void shlo_eval_cross_replica_sum(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, CROSS_REPLICA, &group);

	shlo_need_group(call, &group);
	call->out[0] = all_reduced(call, &group, 0);
	shlo_tensor_put(room);
}

void shlo_eval_reduce_scatter(struct shlo_call *call)
{
	struct shlo_group group;
	struct shlo_tensor *room = shlo_group_of(call, shlo_grouping_by_flag(call->op), &group),
			   *exchange, *values;
	int dim = (int)shlo_attr_int(call->op, "scatter_dimension", 0);
	enum shlo_element from = call->in[0]->type.element;
	struct shlo_type type;
	struct reducer r;

	shlo_need_group(call, &group);
	reducer_init(&r, call, from);
	exchange = shlo_dealt(call, &group, call->in[0], dim);
	type = exchange->items[0]->type;
	type.element = r.element;
	call->out[0] = shlo_tensor_new(call->run, &type);
	values = shlo_scratch(call->run, group.count);
	for (size_t i = 0; i < group.count; i++)
		((const void **)values->data)[i] = exchange->items[i]->data;
	reducer_run(&r, call->out[0]->data, values->data, group.count, (size_t)call->out[0]->count,
		    from);
	shlo_tensor_put(values);
	reducer_exit(&r);
	shlo_tensor_put(exchange);
	shlo_tensor_put(room);
}
