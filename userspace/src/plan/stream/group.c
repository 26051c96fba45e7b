// SPDX-License-Identifier: MIT
/*
 * Chooses groups of nodes that are streamed together, and the size of their blocks, by a coarse
 * estimate: the cycles of the busiest engine, and those of the other engines that a block cannot
 * hide. search.c plans the groups to find out which of them save time.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/stream/slices.h"
#include "util/malloc.h"

#define MAX_BLOCKS 128
/* The share of the SRAM for values between nodes; kernels need the rest. */
#define SRAM_SHARE(bytes) ((bytes) / 8 * 5)

struct finder {
	const struct plan *plan;
	uint32_t *group; /* by node of the range: its group or another node of it (union-find) */
	uint32_t *last;	 /* by value id: 1 + the last node of the range that uses it; 0: none */
	uint32_t *uses;	 /* by value id: number of its uses in the range */
	/* The nodes that use a value, in order: users[user_at[id]] and the following. */
	uint32_t *user_at, *users;
	/* The nodes of a group, in order: first[group], then next[node] up to NO_NODE. */
	uint32_t *first, *next;
};

#define NO_NODE UINT32_MAX

static const struct ir_node *node_at(const struct finder *f, uint32_t n)
{
	return stream_node(f->plan, n);
}

/* ---- blocks of a group */

/* Returns true if a block takes some rows of this slice from the block before. */
static bool is_carried(const struct ir_value *value, const struct stream_slice *slice)
{
	return !box_equal(&slice->need, &slice->fresh, value->type.rank);
}

static bool any_carried(const struct plan *plan, const struct stream_set *set,
			const struct stream_slice *slices)
{
	for (uint32_t i = 0; i < set->num; i++)
		if (is_carried(stream_node(plan, set->node[i])->results[0], &slices[i]))
			return true;
	return false;
}

static bool in_memory(const struct finder *f, const struct ir_value *value)
{
	return values_in_memory(f->plan, value);
}

/* Adds the cycles of all engines for a block to *load. */
static void block_load(const struct finder *f, const struct stream_set *set,
		       const struct stream_slice *slices, struct stream_load *load)
{
	uint64_t bytes = 0;
	const struct ir_value *result = node_at(f, set->node[set->num - 1])->results[0];

	for (uint32_t i = 0; i < set->num; i++) {
		const struct ir_node *node = node_at(f, set->node[i]);

		stream_node_load(f->plan, node, &slices[i].need, load);
		for (uint32_t k = 0; k < node->num_operands; k++) {
			const struct ir_value *value = node->operands[k];
			struct box slice;

			if (value && !stream_is_internal(f->plan, set, value) &&
			    in_memory(f, value) && box_operand(node, k, &slices[i].need, &slice))
				bytes += stream_slice_bytes(value, &slice);
		}
	}
	if (in_memory(f, result))
		bytes += stream_slice_bytes(result, &slices[set->num - 1].need);
	load->dma += bytes / f->plan->caps->dma_bytes_per_cycle;
}

/* Sets end[i] to the last node of a set that reads the result of node i; to i if none does. */
static void find_ends(const struct finder *f, const struct stream_set *set, uint32_t *end)
{
	for (uint32_t i = 0; i < set->num; i++) {
		const struct ir_node *node = node_at(f, set->node[i]);

		end[i] = i;
		for (uint32_t k = 0; k < node->num_operands; k++)
			if (node->operands[k] &&
			    stream_is_internal(f->plan, set, node->operands[k]))
				end[stream_index(f->plan, set, node->operands[k])] = i;
	}
}

/*
 * Returns the most bytes of values between nodes that are live at a time, when each block begins
 * `lag` nodes after the one before. A value of which the next block takes rows lives until that
 * block has them.
 */
static uint64_t alive_bytes(const struct finder *f, const struct stream_set *set,
			    const struct stream_slice *slices, const uint32_t *end, uint32_t lag)
{
	uint64_t at[STREAM_MAX_NODES] = { 0 }, most = 0;

	for (uint32_t i = 0; i + 1 < set->num; i++) {
		const struct ir_value *value = node_at(f, set->node[i])->results[0];

		uint32_t last = is_carried(value, &slices[i]) && end[i] < i + lag ? i + lag :
										    end[i];

		/* Blocks repeat with a period of `lag` nodes: counts all of them in one period. */
		for (uint32_t t = i; t <= last; t++)
			at[t % lag] += plan_align(stream_slice_bytes(value, &slices[i].need));
	}
	for (uint32_t t = 0; t < lag; t++)
		if (at[t] > most)
			most = at[t];
	return most;
}

uint64_t stream_room(const struct plan *plan)
{
	return SRAM_SHARE((uint64_t)plan->caps->sram_bytes);
}

static uint64_t max3(const struct stream_load *load)
{
	uint64_t most = load->mxu > load->vpu ? load->mxu : load->vpu;

	return load->dma / 2 > most ? load->dma / 2 : most;
}

/*
 * Returns the estimated time: the cycles of the busiest engine, plus those of the other engines
 * divided by `overlapped`, the number of blocks that overlap.
 */
static uint64_t time_of(const struct stream_load *load, uint64_t overlapped)
{
	uint64_t most = max3(load), all = load->mxu + load->vpu + load->dma / 2;

	return most + (all - most) / overlapped;
}

uint64_t stream_count_blocks(const struct ir_type *type, const int64_t *block)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < type->rank; i++)
		count *= wnn_div_up((uint64_t)ir_type_dim(type, i), (uint64_t)block[i]);
	return count;
}

/* Computes the slices of an inner block, which has neighbours on both sides. */
static bool middle_slices(const struct finder *f, const struct stream_set *set,
			  const struct ir_type *type, const int64_t *block,
			  struct stream_slice *slices)
{
	struct box box = { { 0 }, { 0 } };

	for (uint32_t i = 0; i < type->rank; i++) {
		uint64_t count = wnn_div_up((uint64_t)ir_type_dim(type, i), (uint64_t)block[i]);

		box.begin[i] = count > 2 ? block[i] : 0;
		box.dim[i] = block[i];
	}
	return stream_find_slices(f->plan, set, &box, NULL, slices);
}

/* Puts blocks of a size in *best if faster; false: neither these nor smaller ones are possible. */
static bool try_blocks(const struct finder *f, const struct stream_set *set, const int64_t *block,
		       struct stream_blocks *best)
{
	const struct ir_type *type = &node_at(f, set->node[set->num - 1])->results[0]->type;
	struct stream_blocks b = { .num = stream_count_blocks(type, block) };
	uint64_t room = stream_room(f->plan);
	uint32_t end[STREAM_MAX_NODES];
	struct stream_load load = { 0 };
	struct stream_slice slices[STREAM_MAX_NODES];

	if (b.num > MAX_BLOCKS || !middle_slices(f, set, type, block, slices))
		return false;
	find_ends(f, set, end);
	while (++b.lag <= set->num && alive_bytes(f, set, slices, end, b.lag) > room)
		;
	if (b.lag > set->num)
		return true;
	block_load(f, set, slices, &load);
	load.mxu *= b.num;
	load.vpu *= b.num;
	load.dma *= b.num;
	b.cycles = time_of(&load, b.lag < set->num ? b.num : 1);
	memcpy(b.block, block, sizeof(b.block));
	if (b.cycles < best->cycles)
		*best = b;
	return true;
}

/*
 * Returns a mask of the axes along which blocks divide the result: images and rows of images; for
 * groups without images, such as products and softmax, all axes but the last.
 */
static uint32_t cut_axes(const struct finder *f, const struct stream_set *set)
{
	const struct ir_node *last = node_at(f, set->node[set->num - 1]);
	uint32_t rank = last->results[0]->type.rank;

	for (uint32_t i = 0; i < set->num; i++) {
		uint32_t axis = box_row_axis(node_at(f, set->node[i]));

		if (axis != UINT32_MAX)
			return 1u | 1u << axis;
	}
	return rank ? (1u << (rank - 1)) - 1 : 0;
}

/* Finds the fastest blocks: divides outer dims first, as these need no recomputing; false: none. */
static bool choose_blocks(const struct finder *f, const struct stream_set *set,
			  struct stream_blocks *best)
{
	const struct ir_type *type = &node_at(f, set->node[set->num - 1])->results[0]->type;
	uint32_t axes = cut_axes(f, set);
	int64_t block[IR_MAX_RANK] = { 0 };

	best->cycles = UINT64_MAX;
	for (uint32_t i = 0; i < type->rank; i++)
		block[i] = ir_type_dim(type, i);
	for (uint32_t axis = 0; axis < type->rank; axis++)
		while ((axes >> axis & 1) && block[axis] > 1) {
			uint64_t whole = (uint64_t)ir_type_dim(type, axis);
			uint64_t slices = wnn_div_up(whole, (uint64_t)block[axis]) + 1;

			while (wnn_div_up(whole, slices) == (uint64_t)block[axis])
				slices++;
			block[axis] = (int64_t)wnn_div_up(whole, slices);
			if (!try_blocks(f, set, block, best))
				break;
		}
	return best->cycles != UINT64_MAX;
}

/* ---- growing groups */

/* Returns the node that stands for the group of a node: each group is named by one of its nodes. */
static uint32_t find_group(struct finder *f, uint32_t n)
{
	while (f->group[n] != n)
		n = f->group[n] = f->group[f->group[n]];
	return n;
}

/* Lists the nodes from `from` to `to` of a group, in order; false: there are too many. */
static bool collect(const struct finder *f, uint32_t group, struct stream_set *set, uint32_t from,
		    uint32_t to)
{
	for (uint32_t n = f->first[group]; n != NO_NODE && n <= to; n = f->next[n]) {
		if (n < from)
			continue;
		if (set->num == STREAM_MAX_NODES)
			return false;
		set->node[set->num++] = n;
	}
	return true;
}

/* Returns true if nodes have one result each, and only that of the last is read outside the set. */
static bool is_closed(const struct finder *f, const struct stream_set *set)
{
	for (uint32_t i = 0; i < set->num; i++) {
		const struct ir_node *node = node_at(f, set->node[i]);
		const struct ir_value *value = node->results[0];
		uint32_t inside = 0;

		if (node->num_results != 1)
			return false;
		if (i + 1 == set->num)
			return true;
		for (uint32_t j = i + 1; j < set->num; j++) {
			const struct ir_node *user = node_at(f, set->node[j]);

			for (uint32_t k = 0; k < user->num_operands; k++)
				inside += user->operands[k] == value;
		}
		if (inside != f->uses[value->id] || values_live_out(f->plan, value))
			return false;
	}
	return false;
}

/* Returns the estimated cycles of a set that is not streamed; resident values need no loads. */
static uint64_t unstreamed(const struct finder *f, const struct stream_set *set)
{
	uint64_t cycles = 0;

	for (uint32_t i = 0; i < set->num; i++) {
		const struct ir_node *node = node_at(f, set->node[i]);
		struct stream_set one = { .node = { set->node[i] }, .num = 1 };
		struct stream_slice slice;
		struct stream_load load = { 0 };

		slice.need = box_whole(&node->results[0]->type);
		block_load(f, &one, &slice, &load);
		cycles += time_of(&load, 8);
	}
	return cycles;
}

/*
 * Returns true if the set is no attention, or can be streamed in blocks of whole rows of scores:
 * SRAM can hold as many rows as the matrix unit has, and the blocks are not too many.
 */
static bool rows_fit(const struct finder *f, const struct stream_set *set)
{
	struct stream_blocks blocks;

	return !stream_is_attention(f->plan, set) ||
	       (stream_rows_fit(f->plan, set) && choose_blocks(f, set, &blocks));
}

static uint64_t set_cycles(const struct finder *f, const struct stream_set *set)
{
	struct stream_blocks blocks;

	if (set->num > 1 && choose_blocks(f, set, &blocks))
		return blocks.cycles;
	return unstreamed(f, set);
}

/* Lists the groups of the nodes that define and use a value; returns how many. */
static uint32_t groups_at(struct finder *f, const struct ir_value *value,
			  uint32_t groups[STREAM_MAX_NODES])
{
	const uint32_t *users = f->users + f->user_at[value->id];
	uint32_t num = 1;

	groups[0] = find_group(f, value->def->id - f->plan->first);
	for (uint32_t u = 0; u < f->uses[value->id] && num < STREAM_MAX_NODES; u++) {
		uint32_t group = find_group(f, users[u]), i = 0;

		while (i < num && groups[i] != group)
			i++;
		if (i == num)
			groups[num++] = group;
	}
	return num;
}

/* Inserts a node into an ordered set; false: the set is full. */
static bool insert(struct stream_set *set, uint32_t n)
{
	uint32_t at = set->num;

	if (set->num == STREAM_MAX_NODES)
		return false;
	for (; at && set->node[at - 1] > n; at--)
		set->node[at] = set->node[at - 1];
	set->node[at] = n;
	set->num++;
	return true;
}

static void merge(struct finder *f, uint32_t group, uint32_t other)
{
	uint32_t *end = &f->first[group], more = f->first[other];

	while (more != NO_NODE) {
		uint32_t n = more;

		while (*end < n)
			end = &f->next[*end];
		more = f->next[n];
		f->next[n] = *end;
		*end = n;
	}
	f->group[other] = group;
}

/* Merges the groups of the nodes that define and use a value, if the estimate says it is faster. */
static void try_merge(struct finder *f, const struct ir_value *value)
{
	uint32_t def = value->def->id - f->plan->first, last = f->last[value->id];
	uint32_t groups[STREAM_MAX_NODES], from = 0, to = f->plan->count - 1;
	uint32_t num = groups_at(f, value, groups);
	struct stream_set all = { .num = 0 };
	struct stream_blocks blocks;
	uint64_t apart = 0;

	if (num < 2)
		return;
	from = def > STREAM_MAX_NODES * 2 ? def - STREAM_MAX_NODES * 2 : 0;
	if (last + STREAM_MAX_NODES * 2 < to)
		to = last + STREAM_MAX_NODES * 2;
	for (uint32_t i = 0; i < num; i++) {
		struct stream_set one = { .num = 0 };

		if (!collect(f, groups[i], &one, from, to))
			return;
		apart += set_cycles(f, &one);
		for (uint32_t k = 0; k < one.num; k++)
			if (!insert(&all, one.node[k]))
				return;
	}
	if (!is_closed(f, &all) || !choose_blocks(f, &all, &blocks) || blocks.cycles >= apart)
		return;
	for (uint32_t i = 1; i < num; i++)
		merge(f, groups[0], groups[i]);
}

static int by_bytes(const void *a, const void *b)
{
	const struct ir_value *x = *(const struct ir_value *const *)a,
			      *y = *(const struct ir_value *const *)b;
	int64_t bx = ir_type_bytes(&x->type), by = ir_type_bytes(&y->type);

	return bx != by ? (bx < by ? 1 : -1) : x->id < y->id ? -1 : x->id > y->id;
}

/* Merges groups at all values, the largest value first. Returns 0, or -1 when out of memory. */
static int merge_all(struct finder *f)
{
	const struct plan *plan = f->plan;
	const struct ir_value **values = wnn_calloc(plan->count + 1, sizeof(*values));
	uint32_t num = 0;

	if (!values)
		return -1;
	for (uint32_t n = 0; n < plan->count; n++) {
		const struct ir_node *node = node_at(f, n);

		if (node->num_results == 1 && !values_live_out(plan, node->results[0]) &&
		    f->last[node->results[0]->id])
			values[num++] = node->results[0];
	}
	qsort(values, num, sizeof(*values), by_bytes);
	for (uint32_t i = 0; i < num; i++)
		try_merge(f, values[i]);
	wnn_free(values);
	return 0;
}

/*
 * Sets group->lag to the least distance of blocks, in nodes, with which their values fit into SRAM;
 * false: they do not fit at any distance.
 */
static bool settle_lag(const struct plan *plan, const struct stream_set *set,
		       const struct stream_slice *slices, struct stream_group *group)
{
	const struct finder f = { .plan = plan };
	uint64_t room = stream_room(plan);
	uint32_t end[STREAM_MAX_NODES];

	if (group->keys)
		return stream_attend_fits(plan, set, slices);
	find_ends(&f, set, end);
	for (group->lag = 1; group->lag <= set->num; group->lag++)
		if (alive_bytes(&f, set, slices, end, group->lag) <= room)
			return true;
	return false;
}

/*
 * Checks that each block can be computed, as the estimate was made for one block in the middle, and
 * sets the group's lag. Returns false when a block cannot be computed, the values of a block do not
 * fit, or rows are not carried as group->carry says.
 */
static bool settle_group(const struct plan *plan, struct stream_group *group)
{
	struct stream_slice slices[2][STREAM_MAX_NODES];
	struct stream_set set = { .num = group->num_nodes };
	bool carried = false;

	memcpy(set.node, group->nodes, set.num * sizeof(*set.node));
	for (uint64_t b = 0; b < stream_steps(group); b++) {
		if (!stream_slices(plan, group, b, b ? slices[(b + 1) % 2] : NULL, slices[b % 2]) ||
		    (b == stream_steps(group) / 2 && !settle_lag(plan, &set, slices[b % 2], group)))
			return false;
		carried |= !group->keys && any_carried(plan, &set, slices[b % 2]);
	}
	return carried == group->carry;
}

/*
 * Doubles (finer) or halves the number of blocks along the last axis where that is possible; false:
 * there is no such axis, or the group would have too many blocks.
 */
static bool resize(const struct plan *plan, struct stream_group *group, bool finer)
{
	const struct finder f = { .plan = plan };
	const struct ir_type *type =
		&node_at(&f, group->nodes[group->num_nodes - 1])->results[0]->type;
	struct stream_set set = { .num = group->num_nodes };
	uint32_t axis = type->rank, axes;

	memcpy(set.node, group->nodes, set.num * sizeof(*set.node));
	axes = cut_axes(&f, &set);
	while (axis-- > 0) {
		uint64_t whole = (uint64_t)ir_type_dim(type, axis),
			 slices = wnn_div_up(whole, (uint64_t)group->block[axis]);

		if (!(axes >> axis & 1) || (finer ? group->block[axis] == 1 : slices == 1))
			continue;
		slices = finer ? slices * 2 : slices / 2;
		group->block[axis] = (int64_t)wnn_div_up(whole, slices < whole ? slices : whole);
		group->num_blocks = stream_count_blocks(type, group->block);
		return stream_steps(group) <= (group->keys ? STREAM_MAX_STEPS : MAX_BLOCKS);
	}
	return false;
}

/* Chooses blocks of keys for a group without them; false: it is no attention, or none fit. */
static bool attend_group(const struct plan *plan, struct stream_group *group)
{
	struct stream_set set = { .num = group->num_nodes };
	struct stream_blocks blocks;

	memcpy(set.node, group->nodes, set.num * sizeof(*set.node));
	if (!stream_choose_keys(plan, &set, &blocks))
		return false;
	memcpy(group->block, blocks.block, sizeof(group->block));
	group->num_blocks = blocks.num;
	group->keys = blocks.keys;
	group->carry = false;
	return true;
}

bool stream_change(const struct plan *plan, struct stream_group *group, enum stream_change change)
{
	struct stream_group changed = *group;

	if (change == STREAM_CARRY) {
		changed.carry = !group->carry;
	} else if (change == STREAM_ATTEND && group->keys) {
		changed.keys *= 2;
		if (stream_steps(&changed) > STREAM_MAX_STEPS)
			return false;
	} else if (change == STREAM_ATTEND) {
		if (!attend_group(plan, &changed))
			return false;
	} else if (!resize(plan, &changed, change == STREAM_FINER)) {
		return false;
	}
	if (!settle_group(plan, &changed))
		return false;
	*group = changed;
	return true;
}

static int take_group(const struct finder *f, uint32_t root, bool attention,
		      struct stream_groups *out)
{
	struct stream_set set = { .num = 0 };
	struct stream_group *group = &out->groups[out->num];
	struct stream_blocks blocks = { .keys = 0 };

	if (!collect(f, root, &set, 0, f->plan->count - 1) || !is_closed(f, &set) ||
	    !((attention && !rows_fit(f, &set) && stream_choose_keys(f->plan, &set, &blocks)) ||
	      choose_blocks(f, &set, &blocks)))
		return 0;
	group->nodes = wnn_malloc(set.num * sizeof(*group->nodes));
	if (!group->nodes)
		return -1;
	memcpy(group->nodes, set.node, set.num * sizeof(*group->nodes));
	group->num_nodes = set.num;
	memcpy(group->block, blocks.block, sizeof(group->block));
	group->num_blocks = blocks.num;
	group->keys = blocks.keys;
	if (!settle_group(f->plan, group)) {
		wnn_free(group->nodes);
		return 0;
	}
	for (uint32_t i = 0; i < set.num; i++)
		out->of_node[set.node[i]] = out->num;
	out->num++;
	return 0;
}

/* Makes each node a group; the two nodes of a fused kernel are one. */
static void begin_groups(struct finder *f)
{
	for (uint32_t n = 0; n < f->plan->count; n++) {
		uint32_t fused = values_fused(f->plan, n), group = fused < n ? fused : n;

		f->group[n] = f->first[n] = n;
		f->next[n] = NO_NODE;
		if (group != n)
			merge(f, find_group(f, group), n);
	}
}

/*
 * Collects the nodes that compute the scores of attention, from the last back to a product; false
 * when they are not a chain of single results, each of which only the next node reads.
 */
static bool collect_scores(const struct finder *f, const struct ir_value *scores,
			   struct stream_set *set)
{
	const struct ir_node *node = scores->def;
	const struct ir_value *before = NULL;

	if (!stream_in_range(f->plan, node) || node->num_results != 1 || f->uses[scores->id] != 1 ||
	    values_live_out(f->plan, scores) || !insert(set, node->id - f->plan->first))
		return false;
	if (node->op == IR_OP_MATMUL)
		return true;
	for (uint32_t k = 0; k < node->num_operands; k++) {
		const struct ir_value *value = node->operands[k];

		if (!value || !stream_in_range(f->plan, value->def) ||
		    !ir_type_same_shape(&value->type, &scores->type))
			continue;
		if (before)
			return false;
		before = value;
	}
	return before && collect_scores(f, before, set);
}

/*
 * Makes a group of the attention that ends with product `n`, if SRAM cannot hold as many rows of
 * scores as the matrix unit has: such a group does not grow from smaller ones. Returns true when it
 * has made one.
 */
static bool try_attention(struct finder *f, uint32_t n)
{
	const struct ir_node *product = node_at(f, n), *softmax;
	struct stream_set set = { .num = 0 };
	struct stream_blocks blocks;

	if (product->op != IR_OP_MATMUL)
		return false;
	softmax = product->operands[0]->def;
	if (!stream_in_range(f->plan, softmax) || !stream_is_plain_softmax(softmax) ||
	    !collect_scores(f, softmax->operands[0], &set) ||
	    !insert(&set, softmax->id - f->plan->first) || !insert(&set, n) ||
	    !is_closed(f, &set) || !stream_choose_keys(f->plan, &set, &blocks) || rows_fit(f, &set))
		return false;
	for (uint32_t i = 1; i < set.num; i++)
		if (find_group(f, set.node[i]) != find_group(f, set.node[0]))
			merge(f, find_group(f, set.node[0]), find_group(f, set.node[i]));
	return true;
}

static void find_users(struct finder *f)
{
	const struct plan *plan = f->plan;
	uint32_t at = 0;

	for (uint32_t n = 0; n < plan->count; n++) {
		const struct ir_node *node = node_at(f, n);

		for (uint32_t k = 0; k < node->num_operands; k++)
			if (node->operands[k])
				f->uses[node->operands[k]->id]++;
	}
	for (uint32_t v = 0; v < plan->graph->num_values; v++) {
		f->user_at[v] = at;
		at += f->uses[v];
		f->uses[v] = 0;
	}
	for (uint32_t n = 0; n < plan->count; n++) {
		const struct ir_node *node = node_at(f, n);

		for (uint32_t k = 0; k < node->num_operands; k++) {
			const struct ir_value *value = node->operands[k];

			if (!value)
				continue;
			f->users[f->user_at[value->id] + f->uses[value->id]++] = n;
			f->last[value->id] = n + 1;
		}
	}
}

static int finder_init(struct finder *f)
{
	const struct plan *plan = f->plan;
	size_t nodes = plan->count + 1, values = plan->graph->num_values + 1, operands = 1;

	for (uint32_t n = 0; n < plan->count; n++)
		operands += node_at(f, n)->num_operands;
	f->group = wnn_calloc(nodes, sizeof(*f->group));
	f->first = wnn_calloc(nodes, sizeof(*f->first));
	f->next = wnn_calloc(nodes, sizeof(*f->next));
	f->last = wnn_calloc(values, sizeof(*f->last));
	f->uses = wnn_calloc(values, sizeof(*f->uses));
	f->user_at = wnn_calloc(values, sizeof(*f->user_at));
	f->users = wnn_calloc(operands, sizeof(*f->users));
	if (!f->group || !f->first || !f->next || !f->last || !f->uses || !f->user_at || !f->users)
		return -1;
	begin_groups(f);
	find_users(f);
	return 0;
}

static void finder_exit(struct finder *f)
{
	wnn_free(f->group);
	wnn_free(f->first);
	wnn_free(f->next);
	wnn_free(f->last);
	wnn_free(f->uses);
	wnn_free(f->user_at);
	wnn_free(f->users);
}

int stream_find(const struct plan *plan, bool attention, struct stream_groups *out)
{
	struct finder f = { .plan = plan };
	uint32_t *grouped = wnn_calloc(plan->count + 1, sizeof(*grouped));
	bool found = !attention;
	int ret = -1;

	out->groups = wnn_calloc(plan->count + 1, sizeof(*out->groups));
	out->of_node = wnn_malloc((plan->count + 1) * sizeof(*out->of_node));
	if (out->groups && out->of_node && grouped && !finder_init(&f)) {
		for (uint32_t n = 0; n < plan->count; n++)
			out->of_node[n] = STREAM_NO_GROUP;
		for (uint32_t n = 0; attention && n < plan->count; n++)
			found |= try_attention(&f, n);
		ret = found ? merge_all(&f) : 0;
		for (uint32_t n = 0; !ret && n < plan->count; n++)
			grouped[find_group(&f, n)]++;
		for (uint32_t n = 0; !ret && n < plan->count; n++)
			if (grouped[n] > (values_fused(plan, n) != NOT_FUSED ? 2u : 1u))
				ret = take_group(&f, n, attention, out);
	}
	finder_exit(&f);
	wnn_free(grouped);
	return ret;
}

void stream_groups_release(struct stream_groups *groups)
{
	for (uint32_t i = 0; i < groups->num; i++)
		wnn_free(groups->groups[i].nodes);
	wnn_free(groups->groups);
	wnn_free(groups->of_node);
	memset(groups, 0, sizeof(*groups));
}
