// SPDX-License-Identifier: MIT
/*
 * Packs memory with known live ranges into one arena: values whose live ranges do not overlap may
 * share bytes. The largest value comes first; each gets the lowest address that is free over its
 * whole live range. The planner uses it for intermediates and for the registers of a tile, run/ for
 * the arena of the CPU.
 */
#include "util/intervals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/malloc.h"
#include "util/number.h"

static int by_size(const void *a, const void *b)
{
	const struct memory_interval *x = *(struct memory_interval *const *)a;
	const struct memory_interval *y = *(struct memory_interval *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x < y ? -1 : x > y;
}

static uint64_t top_of(const struct memory_interval *interval)
{
	return interval->offset + interval->bytes;
}

/* --- Few intervals: each one is compared with all intervals that have an address --- */

/* Returns the lowest free offset for an interval; `placed` is sorted by offset. */
static uint64_t place_among_few(struct memory_interval *const *placed, uint32_t count,
				const struct memory_interval *interval)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count && placed[i]->offset < at + interval->bytes; i++)
		if (placed[i]->begin <= interval->end && placed[i]->end >= interval->begin &&
		    top_of(placed[i]) > at)
			at = top_of(placed[i]);
	return at;
}

static void pack_few(struct memory_interval **order, uint32_t count)
{
	struct memory_interval *placed[MEMORY_FEW];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		order[i]->offset = place_among_few(placed, i, order[i]);
		for (; at && placed[at - 1]->offset > order[i]->offset; at--)
			placed[at] = placed[at - 1];
		placed[at] = order[i];
	}
}

/* --- Many intervals --- */

/* Intervals with one offset, sorted by time; no two of them are live at the same time. */
struct group {
	uint64_t offset, reach; /* reach: end of the highest interval */
	struct memory_interval **members;
	size_t count, room;
};

/*
 * A proof that a new interval does not fit between `bottom` and `top`. It holds for an interval
 * that begins at `first_end` or earlier, ends at `latest_begin` or later, and needs more than `gap`
 * bytes: such an interval is live together with all intervals that the proof has from the first
 * `groups` groups of a block, and no gap between these has more than `gap` bytes. None of these
 * groups reaches beyond `top`.
 */
struct proof {
	uint64_t bottom, top, gap;
	uint32_t latest_begin, first_end;
	uint32_t groups; /* 0: there is no proof */
};

/*
 * The most groups of a block, which are groups with adjacent offsets and one proof. Intervals get
 * their offsets mostly in the order of time, so that a block without a gap for one interval often
 * has none for the next interval, either: the proof shows that without visiting the groups.
 */
#define BLOCK_GROUPS 128

struct block {
	struct proof proof;
	uint32_t count;
	struct group groups[BLOCK_GROUPS];
};

struct blocks {
	struct block **list; /* the blocks, sorted by offset */
	size_t count, room;
};

/* Returns the index of the first member that is live at `time` or later; `count`: there is none. */
static size_t first_alive(const struct group *group, uint32_t time)
{
	size_t at = 0, end = group->count;

	while (at < end) {
		size_t middle = at + (end - at) / 2;

		if (group->members[middle]->end < time)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

/* Returns the highest member that is live together with an interval; NULL: there is none. */
static const struct memory_interval *highest_alive(const struct group *group,
						   const struct memory_interval *interval)
{
	const struct memory_interval *highest = NULL;

	for (size_t i = first_alive(group, interval->begin);
	     i < group->count && group->members[i]->begin <= interval->end; i++) {
		if (!highest || group->members[i]->bytes > highest->bytes)
			highest = group->members[i];
		if (top_of(highest) == group->reach)
			break;
	}
	return highest;
}

/* Adds an interval, which ends above `top`, to the proof; `gap` becomes the largest gap. */
static void proof_add(struct proof *proof, const struct memory_interval *interval)
{
	if (proof->top == proof->bottom) {
		proof->bottom = interval->offset;
		proof->latest_begin = interval->begin;
		proof->first_end = interval->end;
	} else if (interval->offset > proof->top && interval->offset - proof->top > proof->gap) {
		proof->gap = interval->offset - proof->top;
	}
	proof->top = top_of(interval);
	if (interval->begin > proof->latest_begin)
		proof->latest_begin = interval->begin;
	if (interval->end < proof->first_end)
		proof->first_end = interval->end;
}

static bool proof_holds(const struct proof *proof, const struct memory_interval *interval,
			uint64_t at)
{
	return proof->groups && interval->end >= proof->latest_begin &&
	       interval->begin <= proof->first_end && interval->bytes > proof->gap &&
	       at + interval->bytes > proof->bottom;
}

/*
 * Raises *at above the members of a block that overlap the interval; returns true when the interval
 * fits there, below the other members.
 */
static bool pass_block(struct block *block, const struct memory_interval *interval, uint64_t *at)
{
	struct proof proof = { 0 };
	uint64_t reach = 0;
	uint32_t i = 0;
	bool found = false;

	if (proof_holds(&block->proof, interval, *at)) {
		proof = block->proof;
		i = proof.groups;
		reach = proof.top;
		if (proof.top > *at)
			*at = proof.top;
	}
	for (; i < block->count; i++) {
		const struct group *group = &block->groups[i];
		const struct memory_interval *highest;

		found = group->offset >= *at + interval->bytes;
		if (found)
			break;
		highest = highest_alive(group, interval);
		if (highest && top_of(highest) > *at)
			*at = top_of(highest);
		if (highest && top_of(highest) > proof.top)
			proof_add(&proof, highest);
		if (group->reach > reach)
			reach = group->reach;
		if (proof.top >= reach) {
			proof.groups = i + 1;
			block->proof = proof;
		}
	}
	return found;
}

static uint64_t place_among_many(struct blocks *blocks, const struct memory_interval *interval)
{
	uint64_t at = 0;

	for (size_t i = 0; i < blocks->count; i++)
		if (pass_block(blocks->list[i], interval, &at))
			break;
	return at;
}

/*
 * Returns the index of the block to which an offset belongs: the last one that does not begin above
 * it.
 */
static size_t find_block(const struct blocks *blocks, uint64_t offset)
{
	size_t at = 0, end = blocks->count;

	while (end - at > 1) {
		size_t middle = at + (end - at) / 2;

		if (blocks->list[middle]->groups[0].offset <= offset)
			at = middle;
		else
			end = middle;
	}
	return at;
}

/* Inserts an empty block at index `at` of the list; NULL: no memory. */
static struct block *add_block(struct blocks *blocks, size_t at)
{
	struct block *block = wnn_calloc(1, sizeof(*block));

	if (!block || wnn_array_reserve(&blocks->list, &blocks->room, blocks->count + 1,
					sizeof(*blocks->list))) {
		wnn_free(block);
		return NULL;
	}
	memmove(blocks->list + at + 1, blocks->list + at,
		(blocks->count - at) * sizeof(*blocks->list));
	blocks->list[at] = block;
	blocks->count++;
	return block;
}

/*
 * Moves the upper half of a full block to a new block; when @offset is above the last group, moves
 * that group only, as more offsets will follow there. Returns 0 or -1.
 */
static int split_block(struct blocks *blocks, size_t at, uint64_t offset)
{
	struct block *block = blocks->list[at], *upper = add_block(blocks, at + 1);
	bool behind = offset > block->groups[block->count - 1].offset;
	uint32_t keep = behind ? block->count - 1 : block->count / 2;

	if (!upper)
		return -1;
	upper->count = block->count - keep;
	memcpy(upper->groups, block->groups + keep, upper->count * sizeof(*upper->groups));
	block->count = keep;
	if (block->proof.groups > keep)
		block->proof.groups = 0;
	return 0;
}

/* Returns the index of an offset's group, which it adds if there is none; the block is not full. */
static uint32_t find_group(struct block *block, uint64_t offset)
{
	uint32_t at = 0, end = block->count;

	while (at < end) {
		uint32_t middle = at + (end - at) / 2;

		if (block->groups[middle].offset < offset)
			at = middle + 1;
		else
			end = middle;
	}
	if (at < block->count && block->groups[at].offset == offset)
		return at;
	memmove(block->groups + at + 1, block->groups + at,
		(block->count - at) * sizeof(*block->groups));
	block->groups[at] = (struct group){ .offset = offset };
	block->count++;
	if (at < block->proof.groups)
		block->proof.groups++;
	return at;
}

static int insert_sorted(struct blocks *blocks, struct memory_interval *interval)
{
	size_t b = blocks->count ? find_block(blocks, interval->offset) : 0, member;
	struct block *block;
	struct group *group;
	uint32_t at;

	if (!blocks->count && !add_block(blocks, 0))
		return -1;
	if (blocks->list[b]->count == BLOCK_GROUPS) {
		if (split_block(blocks, b, interval->offset))
			return -1;
		b = find_block(blocks, interval->offset);
	}
	block = blocks->list[b];
	at = find_group(block, interval->offset);
	group = &block->groups[at];
	if (wnn_array_reserve(&group->members, &group->room, group->count + 1,
			      sizeof(*group->members)))
		return -1;
	member = first_alive(group, interval->begin);
	memmove(group->members + member + 1, group->members + member,
		(group->count - member) * sizeof(*group->members));
	group->members[member] = interval;
	group->count++;
	if (top_of(interval) > group->reach)
		group->reach = top_of(interval);
	if (at < block->proof.groups && group->reach > block->proof.top)
		block->proof.groups = 0;
	return 0;
}

static int pack_many(struct memory_interval **order, uint32_t count)
{
	struct blocks blocks = { 0 };
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++) {
		order[i]->offset = place_among_many(&blocks, order[i]);
		ret = insert_sorted(&blocks, order[i]);
	}
	for (size_t b = 0; b < blocks.count; b++) {
		for (uint32_t i = 0; i < blocks.list[b]->count; i++)
			wnn_free(blocks.list[b]->groups[i].members);
		wnn_free(blocks.list[b]);
	}
	wnn_free(blocks.list);
	return ret;
}

/*
 * Sorts the intervals, largest first; intervals without bytes come last, and need no offset.
 * Returns the number of intervals with bytes.
 */
static uint32_t sort_intervals(struct memory_interval *intervals, uint32_t count,
			       struct memory_interval **order)
{
	uint32_t placed = 0;

	for (uint32_t i = 0; i < count; i++) {
		intervals[i].bytes = wnn_align_up(intervals[i].bytes, MEMORY_ALIGN);
		intervals[i].offset = 0;
		placed += intervals[i].bytes > 0;
		order[i] = &intervals[i];
	}
	qsort(order, count, sizeof(*order), by_size);
	return placed;
}

int memory_pack(struct memory_interval *intervals, uint32_t count, uint64_t *total)
{
	/*
	 * Few intervals need no allocation: callers that try tiles cannot report that memory is
	 * exhausted.
	 */
	struct memory_interval *few[MEMORY_FEW], **many = NULL;
	int ret = 0;

	if (count <= MEMORY_FEW) {
		pack_few(few, sort_intervals(intervals, count, few));
	} else {
		many = wnn_calloc(count, sizeof(*many));
		ret = many ? pack_many(many, sort_intervals(intervals, count, many)) : -1;
		wnn_free(many);
	}
	*total = 0;
	for (uint32_t i = 0; i < count; i++)
		if (intervals[i].bytes && top_of(&intervals[i]) > *total)
			*total = top_of(&intervals[i]);
	return ret;
}
