// SPDX-License-Identifier: MIT
/*
 * Searches for the groups to stream and for their blocks. Each candidate is planned as it would
 * run, without packing constants, and its simulated cycles decide. First each group is planned with
 * a few nodes around it; then all groups that save time are planned together. The code generator
 * calls stream_search() for each range.
 */
#include <string.h>

#include "plan/lower/range.h"
#include "plan/stream/stream.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/malloc.h"

/*
 * The budget of the search: the number of instructions of all candidates together, except for the
 * first one and for repeated plans of a candidate in other manners (plan_set_manner()); an
 * instruction takes about a microsecond to plan. The budget is SEARCH_PLANS times the number of
 * instructions of the range, at least SEARCH_LEAST, which a small network needs, and at most
 * SEARCH_MOST, so that a long network compiles in time.
 */
#define SEARCH_PLANS 12
#define SEARCH_LEAST 60000
#define SEARCH_MOST  250000
#define FEW_NODES    2000 /* the most nodes of a range for which all manners are tried */
#define MARGIN	     2	  /* nodes on each side of a group that are planned together with it */
/*
 * A manner with which a plan takes longer than the best by more than 1/HOPELESS is not tried
 * with other groups.
 */
#define HOPELESS 100
/*
 * All other manners are tried in the end, unless the plan takes longer than a finished one by more
 * than 1/BEHIND.
 */
#define BEHIND 50
/*
 * The search ends after this number of candidates in a row that are not faster, because the groups
 * that take longest are tried first.
 */
#define FAILURES 5
/*
 * When streaming changes the cycles of a group and the few nodes around it by more than 1/CLEAR,
 * the group is kept or dropped for good.
 */
#define CLEAR 50

/*
 * In the end, nodes get manners of their own. A change of the manner between two nodes must save
 * 1/CHANGE_SHARE of the cycles in the first mixture. Up to MIXED_PLANS more are planned, each with
 * another manner for a run of nodes that may save more than 1/LEAST_RUN of the cycles.
 */
#define CHANGE_SHARE 400
#define MIXED_PLANS  12
#define LEAST_RUN    2000

/* A range to plan, and the values that are read after the range. */
struct range {
	struct plan fresh; /* the plan before planning, which each candidate copies */
	const uint32_t *live_out;
	uint32_t num_live_out;
};

struct search {
	struct range all;
	struct stream_groups groups;
	uint64_t *apart; /* by group: the cycles of its nodes without streaming */
	/* by value: the last node of the range that reads it; UINT32_MAX: it is read later, too */
	uint32_t *last_use;
	struct stream_graph best;
	uint64_t cycles;      /* cycles of the best candidate, or without streaming */
	uint64_t settled;     /* cycles of the best candidate when other manners were last tried */
	uint8_t manner;	      /* manner of the candidates */
	uint32_t hopeless;    /* mask of the manners that are not tried again */
	uint64_t best_groups; /* hash_groups() of the best candidate */
	uint64_t *known;      /* hashes of candidates, so that none is planned twice */
	size_t num_known, cap_known;
	uint64_t room;	       /* number of instructions that may still be planned */
	uint32_t failures;     /* number of candidates in a row that were not faster */
	bool crowded;	       /* there may be too many different views for one job */
	struct plan_list kept; /* the memory of the last candidate's lists, for the next one */
	/*
	 * by manner, by node of the best candidate: the cycle at which it ends when all nodes have
	 * that manner; NULL: not planned
	 */
	uint64_t *ends[PLAN_MANNERS];
	uint64_t *last_ends; /* by node: the cycle at which it ends in the last plan of the range */
};

/* The results of planning a candidate, besides its cycles. */
struct tried {
	uint64_t insns; /* number of its instructions */
	bool crowded;	/* all views and parameters together might not fit into one job */
};

/*
 * Plans a range, or the graph with its groups, and returns the cycles. UINT64_MAX: it does not
 * compile, or would be cut into several jobs, which run in the order of emission.
 */
static uint64_t plan_once(struct search *s, const struct range *range,
			  const struct stream_graph *graph, uint8_t manner, struct tried *tried)
{
	struct plan plan = range->fresh;
	uint64_t cycles;

	if (graph->graph) {
		plan.graph = graph->graph;
		plan.first = 0;
		plan.count = graph->graph->num_nodes;
	}
	plan.constants.dry = true;
	plan_set_manner(&plan, manner);
	plan.manners = graph->manners;
	plan.ends = range == &s->all ? wnn_calloc(plan.count + 1, sizeof(*plan.ends)) : NULL;
	plan.list.unlisted = !s->crowded;
	plan_lend(&plan, &s->kept);
	if (plan_locate(&plan, graph->graph ? graph->live_out : range->live_out,
			range->num_live_out) ||
	    plan_nodes(&plan, &cycles) ||
	    plan.list.views.num + plan.list.params.num >= plan_max_slots(&plan))
		cycles = UINT64_MAX;
	tried->crowded = plan.list.views.uses + plan.list.params.uses >= plan_max_slots(&plan);
	/* Counts each node at least once, as a plan that fails early takes time, too. */
	tried->insns = plan.list.num_ops > plan.count ? plan.list.num_ops : plan.count;
	wnn_free(s->last_ends);
	s->last_ends = plan.ends;
	plan_keep(&plan, &s->kept);
	return cycles;
}

/* Keeps the ends of the nodes in the last plan, in which all had this manner. */
static void keep_ends(struct search *s, uint8_t manner)
{
	wnn_free(s->ends[manner]);
	s->ends[manner] = s->last_ends;
	s->last_ends = NULL;
}

static void forget_ends(struct search *s)
{
	for (int m = 0; m < PLAN_MANNERS; m++) {
		wnn_free(s->ends[m]);
		s->ends[m] = NULL;
	}
}

/*
 * Returns the cycles of a candidate and charges its instructions to the budget. Views and
 * parameters are deduplicated only when all their uses together might not fit into a job, as this
 * takes time.
 */
static uint64_t simulate(struct search *s, const struct range *range,
			 const struct stream_graph *graph, uint8_t manner)
{
	struct tried tried;
	uint64_t cycles = plan_once(s, range, graph, manner, &tried);

	s->room -= s->room < tried.insns ? s->room : tried.insns;
	if (!tried.crowded || s->crowded)
		return cycles;
	s->crowded = true;
	return plan_once(s, range, graph, manner, &tried);
}

/* ---- candidates that were planned before */

static uint64_t hash_group(uint64_t hash, const struct stream_group *group)
{
	const uint64_t state[] = { group->nodes[0], group->num_nodes, group->lag, group->keys,
				   group->carry };

	hash = wnn_hash_words(hash, state, sizeof(state));
	return wnn_hash_words(hash, group->block, sizeof(group->block));
}

/*
 * Returns the hash of a group that is planned with a few nodes around it; its first node
 * distinguishes it from other groups.
 */
static uint64_t hash_in_excerpt(const struct stream_group *group)
{
	return hash_group(~WNN_HASH_SEED, group);
}

static uint64_t hash_groups(const struct search *s)
{
	uint64_t hash = WNN_HASH_SEED;

	for (uint32_t i = 0; i < s->groups.num; i++)
		if (!s->groups.groups[i].dropped)
			hash = hash_group(hash, &s->groups.groups[i]);
	return hash;
}

/* Returns true if a candidate was not planned before, and notes that it is known now. */
static bool is_new(struct search *s, uint64_t hash, uint8_t manner)
{
	const uint64_t with = manner;

	hash = wnn_hash_words(hash, &with, sizeof(with));
	for (size_t i = 0; i < s->num_known; i++)
		if (s->known[i] == hash)
			return false;
	/* Without memory for its hash, a candidate may be planned twice. */
	if (!wnn_array_reserve(&s->known, &s->cap_known, s->num_known + 1, sizeof(hash)))
		s->known[s->num_known++] = hash;
	return true;
}

/* ---- one group, with few nodes around it */

/* The range of a group and the nodes around it. */
struct excerpt {
	struct range range;
	/*
	 * The memory of range.live_out, and `nodes` and `of_node` of the group in the excerpt's
	 * indices.
	 */
	uint32_t *live_out, *nodes, *of_node;
	uint32_t begin; /* index of the first node in the whole range */
};

static void excerpt_release(struct excerpt *excerpt)
{
	wnn_free(excerpt->live_out);
	wnn_free(excerpt->nodes);
	wnn_free(excerpt->of_node);
}

static bool excerpt_init(const struct search *s, const struct stream_group *group,
			 struct excerpt *excerpt)
{
	const struct plan *all = &s->all.fresh;
	uint32_t first = group->nodes[0], last = group->nodes[group->num_nodes - 1], results = 0;

	excerpt->begin = first < MARGIN ? 0 : first - MARGIN;
	excerpt->range.fresh = *all;
	excerpt->range.fresh.first += excerpt->begin;
	excerpt->range.fresh.count =
		(last + MARGIN < all->count ? last + MARGIN + 1 : all->count) - excerpt->begin;
	for (uint32_t n = 0; n < excerpt->range.fresh.count; n++)
		results += all->graph->nodes[excerpt->range.fresh.first + n]->num_results;
	excerpt->live_out = wnn_calloc(results + 1, sizeof(*excerpt->live_out));
	excerpt->nodes = wnn_calloc(group->num_nodes, sizeof(*excerpt->nodes));
	excerpt->of_node = wnn_calloc(excerpt->range.fresh.count, sizeof(*excerpt->of_node));
	excerpt->range.live_out = excerpt->live_out;
	if (!excerpt->live_out || !excerpt->nodes || !excerpt->of_node)
		return false;
	for (uint32_t n = 0; n < excerpt->range.fresh.count; n++) {
		const struct ir_node *node = all->graph->nodes[excerpt->range.fresh.first + n];

		excerpt->of_node[n] = STREAM_NO_GROUP;
		for (uint32_t r = 0; r < node->num_results; r++)
			if (s->last_use[node->results[r]->id] >=
			    excerpt->begin + excerpt->range.fresh.count)
				excerpt->live_out[excerpt->range.num_live_out++] =
					node->results[r]->id;
	}
	for (uint32_t i = 0; i < group->num_nodes; i++) {
		excerpt->nodes[i] = group->nodes[i] - excerpt->begin;
		excerpt->of_node[excerpt->nodes[i]] = 0;
	}
	return true;
}

/* Returns the cycles of a group in its present blocks, with the nodes around it. */
static uint64_t excerpt_cycles(struct search *s, const struct excerpt *excerpt,
			       const struct stream_group *group)
{
	struct stream_group moved = *group;
	struct stream_groups groups = { .groups = &moved, .num = 1, .of_node = excerpt->of_node };
	struct stream_graph graph = { .graph = NULL };
	uint64_t cycles = UINT64_MAX;

	moved.nodes = excerpt->nodes;
	if (!stream_build(&excerpt->range.fresh, &groups, excerpt->range.live_out,
			  excerpt->range.num_live_out, &graph))
		cycles = simulate(s, &excerpt->range, &graph, s->manner);
	stream_graph_release(&graph);
	return cycles;
}

/* Applies a change to a group again and again, as long as the group becomes faster by it. */
static void try_in_excerpt(struct search *s, const struct excerpt *excerpt,
			   struct stream_group *group, enum stream_change change, uint64_t *cycles)
{
	while (s->room) {
		struct stream_group other = *group;
		uint64_t changed = UINT64_MAX;

		if (stream_change(&s->all.fresh, &other, change) &&
		    is_new(s, hash_in_excerpt(&other), s->manner))
			changed = excerpt_cycles(s, excerpt, &other);
		if (changed >= *cycles)
			return;
		*group = other;
		*cycles = changed;
	}
}

/* Finds the fastest blocks of a group; drops the group when it is faster without streaming. */
static void settle_group(struct search *s, struct stream_group *group)
{
	static const struct stream_graph none;
	struct excerpt excerpt = { .begin = 0 };
	uint64_t least, cycles;

	group->dropped = true;
	if (!excerpt_init(s, group, &excerpt)) {
		excerpt_release(&excerpt);
		return;
	}
	least = simulate(s, &excerpt.range, &none, s->manner);
	group->dropped = false;
	cycles = excerpt_cycles(s, &excerpt, group);
	is_new(s, hash_in_excerpt(group), s->manner);
	for (int change = 0; change < STREAM_CHANGES; change++)
		try_in_excerpt(s, &excerpt, group, change, &cycles);
	/*
	 * Finer blocks may be faster when no row is computed twice; coarser blocks may be faster
	 * when there are blocks of keys.
	 */
	if (group->carry)
		try_in_excerpt(s, &excerpt, group, STREAM_FINER, &cycles);
	if (group->keys)
		try_in_excerpt(s, &excerpt, group, STREAM_COARSER, &cycles);
	group->dropped = cycles >= least;
	group->clear = (group->dropped ? cycles - least : least - cycles) > least / CLEAR;
	excerpt_release(&excerpt);
}

/* ---- all groups together */

/* Plans the groups in their present blocks; true: they are the fastest so far. */
static bool try_groups(struct search *s)
{
	struct stream_graph graph = { .graph = NULL };
	uint64_t cycles = UINT64_MAX, hash = hash_groups(s);

	if (!is_new(s, hash, s->manner))
		return false;
	if (!stream_build(&s->all.fresh, &s->groups, s->all.live_out, s->all.num_live_out, &graph))
		cycles = simulate(s, &s->all, &graph, s->manner);
	if (cycles >= s->cycles) {
		stream_graph_release(&graph);
		s->failures++;
		return false;
	}
	s->failures = 0;
	stream_graph_release(&s->best);
	forget_ends(s);
	keep_ends(s, s->manner);
	s->best = graph;
	s->best.manner = s->manner;
	s->best_groups = hash;
	s->cycles = cycles;
	return true;
}

/* Plans the best candidate with another manner; true: it is faster, and becomes the best. */
static bool try_manner(struct search *s, uint8_t manner)
{
	uint64_t cycles;

	_Static_assert(PLAN_MANNERS <= 32, "the manners have bits in search.hopeless");

	if (s->hopeless >> manner & 1 || !is_new(s, s->best_groups, manner))
		return false;
	cycles = simulate(s, &s->all, &s->best, manner);
	if (cycles != UINT64_MAX)
		keep_ends(s, manner);
	if (cycles > s->cycles + s->cycles / HOPELESS)
		s->hopeless |= 1u << manner;
	if (cycles >= s->cycles)
		return false;
	if (s->cycles > cycles + cycles / HOPELESS)
		s->hopeless |= 1u << s->best.manner;
	s->best.manner = manner;
	s->cycles = cycles;
	return true;
}

/* Tries more, or less, eagerness for the best candidate, as long as it becomes faster. */
static void search_eagerness(struct search *s)
{
	uint8_t begin = s->best.manner;

	while ((s->best.manner + 1) % PLAN_EAGERNESS && try_manner(s, s->best.manner + 1))
		;
	while (s->best.manner == begin && begin % PLAN_EAGERNESS && try_manner(s, --begin))
		;
}

/*
 * Tries other manners for the best candidate, as long as it becomes faster; the next candidates
 * have the fastest manner. The instructions planned here are not charged to the budget.
 */
static void search_manners(struct search *s)
{
	uint64_t before, room = s->room;

	/* The best candidate is still the one of the last call. */
	if (s->cycles == s->settled)
		return;
	do {
		uint8_t begin;

		before = s->cycles;
		search_eagerness(s);
		begin = s->best.manner;
		for (int i = 1; i < PLAN_EARLY_COUNT; i++)
			try_manner(s, (uint8_t)((begin + i * PLAN_EAGERNESS) % PLAN_MANNERS));
	} while (s->cycles < before);
	s->room = room;
	s->manner = s->best.manner;
	s->settled = s->cycles;
}

/* Returns true if the budget allows more candidates and not too many have failed in a row. */
static bool goes_on(const struct search *s)
{
	return s->room && s->failures < FAILURES;
}

/*
 * Calls look() for each group, in the order of falling cycles, as the budget may end before the
 * last group. Sets the cycles of groups that had their call to 0.
 */
static void for_each_group(struct search *s, uint64_t *cycles,
			   void (*look)(struct search *s, struct stream_group *group))
{
	for (uint32_t done = 0; done < s->groups.num && goes_on(s); done++) {
		uint32_t next = 0;

		for (uint32_t i = 1; i < s->groups.num; i++)
			if (cycles[i] > cycles[next])
				next = i;
		cycles[next] = 0;
		look(s, &s->groups.groups[next]);
	}
}

/* Applies a change to a group again and again, as long as all groups together become faster. */
static void try_change(struct search *s, struct stream_group *group, enum stream_change change)
{
	while (goes_on(s)) {
		struct stream_group kept = *group;

		if (!stream_change(&s->all.fresh, group, change))
			return;
		if (!try_groups(s)) {
			*group = kept;
			return;
		}
	}
}

/*
 * Tries a group the other way (dropped or not), and in other blocks, among all groups: the change
 * may save time with the other groups although it saved none when the group was planned by itself.
 */
static void improve_group(struct search *s, struct stream_group *group)
{
	if (!group->clear) {
		group->dropped = !group->dropped;
		if (try_groups(s))
			return;
		group->dropped = !group->dropped;
	}
	for (int change = 0; change < STREAM_CHANGES && !group->dropped; change++)
		try_change(s, group, change);
}

static void search_groups(struct search *s)
{
	uint64_t *cycles = wnn_malloc(s->groups.num * sizeof(*cycles));

	if (!cycles)
		return;
	for (uint32_t i = 0; i < s->groups.num; i++)
		s->groups.groups[i].dropped = true;
	memcpy(cycles, s->apart, s->groups.num * sizeof(*cycles));
	search_manners(s);
	for_each_group(s, cycles, settle_group);
	if (try_groups(s)) {
		uint64_t before = UINT64_MAX;

		while (goes_on(s) && s->cycles < before) {
			before = s->cycles;
			search_manners(s);
			memcpy(cycles, s->apart, s->groups.num * sizeof(*cycles));
			for_each_group(s, cycles, improve_group);
		}
	}
	wnn_free(cycles);
}

static int find_last_uses(struct search *s)
{
	const struct plan *all = &s->all.fresh;

	s->last_use = wnn_calloc(all->graph->num_values + 1, sizeof(*s->last_use));
	if (!s->last_use)
		return -1;
	for (uint32_t n = 0; n < all->count; n++) {
		const struct ir_node *node = all->graph->nodes[all->first + n];

		for (uint32_t k = 0; k < node->num_operands; k++)
			if (node->operands[k])
				s->last_use[node->operands[k]->id] = n;
	}
	for (uint32_t i = 0; i < s->all.num_live_out; i++)
		s->last_use[s->all.live_out[i]] = UINT32_MAX;
	return 0;
}

static uint64_t room_for(uint64_t insns)
{
	uint64_t room = insns * SEARCH_PLANS;

	if (room < SEARCH_LEAST)
		return SEARCH_LEAST;
	return room < SEARCH_MOST ? room : SEARCH_MOST;
}

/*
 * Plans candidates that stream these groups, with other blocks or without some of the groups, and
 * keeps in *s the fastest one of all so far.
 */
static void search_with(struct search *s, const struct plan *plan,
			const struct stream_groups *groups)
{
	if (!groups->num)
		return;
	s->groups = *groups;
	s->failures = 0;
	s->room = room_for(plan->list.num_ops);
	s->apart = wnn_calloc(groups->num, sizeof(*s->apart));
	if (!s->apart)
		return;
	for (uint32_t n = 0; n < plan->count; n++)
		if (groups->of_node[n] != STREAM_NO_GROUP)
			s->apart[groups->of_node[n]] += plan->report.nodes[n].est_cycles;
	search_groups(s);
	wnn_free(s->apart);
}

/* ---- a manner for each node */

/* Returns the cycles from the end of all nodes before `n` to its own end; *last is the former. */
static uint64_t cycles_of(const uint64_t *ends, uint32_t n, uint64_t *last)
{
	uint64_t cycles = ends[n] > *last ? ends[n] - *last : 0;

	*last += cycles;
	return cycles;
}

/*
 * Chooses a manner for each node: the sum of their cycles, each in the plan of its manner, is
 * least, when each change of the manner from one node to the next costs `change` cycles. `before`
 * is memory for a manner by node and manner.
 */
static void choose_manners(const struct search *s, uint32_t count, uint64_t change,
			   uint8_t (*before)[PLAN_MANNERS], uint8_t *manners)
{
	uint64_t sum[PLAN_MANNERS] = { 0 }, last[PLAN_MANNERS] = { 0 };
	uint8_t least = s->best.manner;

	for (uint32_t n = 0; n < count; n++) {
		uint8_t from = least;
		uint64_t most = sum[from] + change;

		for (uint8_t m = 0; m < PLAN_MANNERS; m++) {
			if (!s->ends[m])
				continue;
			before[n][m] = sum[m] > most ? from : m;
			if (sum[m] > most)
				sum[m] = most;
			sum[m] += cycles_of(s->ends[m], n, &last[m]);
		}
		for (uint8_t m = 0; m < PLAN_MANNERS; m++)
			if (s->ends[m] && sum[m] < sum[least])
				least = m;
	}
	for (uint32_t n = count; n-- > 0;) {
		manners[n] = least;
		least = before[n][least];
	}
}

/* Nodes in a row, and a manner in whose plan they took `gain` cycles less than in the best plan. */
struct run {
	uint32_t first, end;
	uint8_t manner;
	int64_t gain;
};

/* The search for a manner of each node. */
struct mix {
	uint32_t count;		/* number of nodes */
	uint8_t *best, *manner; /* by node: its manner in the best plan, and in the next one */
	uint64_t *ends;		/* by node: the cycle at which it ends in the best plan */
	uint32_t left_out;	/* mask of manners of which no run is tried */
	struct run failed[MIXED_PLANS];
	uint32_t num_failed;
};

/* Returns the run with the highest gain. */
static struct run find_run(const struct search *s, const struct mix *mix)
{
	struct run most = { .gain = 0 };

	for (uint8_t m = 0; m < PLAN_MANNERS; m++) {
		uint64_t last = 0, last_best = 0;
		struct run run = { .manner = m };

		if (!s->ends[m] || mix->left_out >> m & 1)
			continue;
		for (uint32_t n = 0; n < mix->count; n++) {
			run.gain += (int64_t)cycles_of(mix->ends, n, &last_best);
			run.gain -= (int64_t)cycles_of(s->ends[m], n, &last);
			run.end = n + 1;
			if (run.gain > most.gain)
				most = run;
			if (run.gain <= 0)
				run = (struct run){ .manner = m, .first = n + 1 };
		}
	}
	return most;
}

static bool has_failed(const struct mix *mix, const struct run *run)
{
	for (uint32_t i = 0; i < mix->num_failed; i++)
		if (mix->failed[i].first == run->first && mix->failed[i].end == run->end)
			return true;
	return false;
}

/* Plans the best candidate with mix->manner; true: it is faster, and becomes the best plan. */
static bool try_mix(struct search *s, struct mix *mix)
{
	uint8_t *manner = mix->manner;
	uint64_t cycles;

	s->best.manners = manner;
	cycles = simulate(s, &s->all, &s->best, s->best.manner);
	s->best.manners = NULL;
	if (cycles >= s->cycles || !s->last_ends)
		return false;
	s->cycles = cycles;
	mix->manner = mix->best;
	mix->best = manner;
	memcpy(mix->ends, s->last_ends, mix->count * sizeof(*mix->ends));
	return true;
}

/*
 * Changes the manner of a run of nodes in the best plan, again and again; true: the plan has become
 * faster. Runs in which nothing was gained are not tried again.
 */
static bool try_runs(struct search *s, struct mix *mix)
{
	bool faster = false;

	for (int plans = 0; plans < MIXED_PLANS;) {
		struct run run = find_run(s, mix);

		if ((uint64_t)run.gain <= s->cycles / LEAST_RUN)
			break;
		if (has_failed(mix, &run)) {
			mix->left_out |= 1u << run.manner;
			continue;
		}
		plans++;
		memcpy(mix->manner, mix->best, mix->count);
		memset(mix->manner + run.first, run.manner, run.end - run.first);
		if (try_mix(s, mix)) {
			mix->left_out = 0;
			faster = true;
		} else {
			mix->failed[mix->num_failed++] = run;
		}
	}
	return faster;
}

/*
 * Plans the best candidate with other manners for some of its nodes: those in whose plans they took
 * less time. The time of a node depends on the nodes around it, so that only a plan of the whole
 * shows whether a mixture is faster.
 */
static void mix_manners(struct search *s)
{
	uint32_t count = s->best.graph ? s->best.graph->num_nodes : s->all.fresh.count;
	uint8_t(*before)[PLAN_MANNERS] = wnn_malloc(count * sizeof(*before));
	struct mix mix = { .count = count,
			   .best = wnn_malloc(count),
			   .manner = wnn_malloc(count),
			   .ends = wnn_malloc(count * sizeof(*mix.ends)) };
	bool mixed = false;

	if (before && mix.best && mix.manner && mix.ends && s->ends[s->best.manner]) {
		memset(mix.best, s->best.manner, count);
		memcpy(mix.ends, s->ends[s->best.manner], count * sizeof(*mix.ends));
		choose_manners(s, count, s->cycles / CHANGE_SHARE, before, mix.manner);
		mixed = try_mix(s, &mix);
		mixed |= try_runs(s, &mix);
	}
	if (mixed) {
		s->best.manners = mix.best;
		mix.best = NULL;
	}
	wnn_free(before);
	wnn_free(mix.best);
	wnn_free(mix.manner);
	wnn_free(mix.ends);
}

/*
 * Does what stream_search() does for one value of fresh->first_form; returns the plan's cycles.
 * @rival: cycles of a finished plan; UINT64_MAX: there is none.
 */
static uint64_t search_view(const struct plan *fresh, const uint32_t *live_out,
			    uint32_t num_live_out, uint64_t rival, struct stream_graph *out)
{
	struct search s = { .all = { *fresh, live_out, num_live_out },
			    .room = SEARCH_LEAST,
			    .cycles = UINT64_MAX,
			    .best_groups = WNN_HASH_SEED };
	bool few = fresh->count <= FEW_NODES, planned;
	struct stream_groups groups[2];
	struct plan plan;

	memset(groups, 0, sizeof(groups));
	/* A candidate that fails must not report refusals: another candidate is used then. */
	s.all.fresh.report.refusals = NULL;
	plan = s.all.fresh;
	plan_set_manner(&plan, s.manner);
	plan.constants.dry = plan.list.unlisted = true;
	plan.ends = wnn_calloc(plan.count + 1, sizeof(*plan.ends));
	s.ends[s.manner] = plan.ends;
	planned = !plan_locate(&plan, live_out, num_live_out) &&
		  !stream_find(&plan, false, &groups[0]) && !stream_find(&plan, true, &groups[1]) &&
		  (groups[0].num || groups[1].num || few) && !plan_nodes(&plan, &s.cycles) &&
		  !find_last_uses(&s);
	is_new(&s, s.best_groups, s.manner);
	for (int i = 0; planned && i < 2; i++)
		search_with(&s, &plan, &groups[i]);
	if (planned && few) {
		search_manners(&s);
		for (uint8_t m = 0; m < PLAN_MANNERS && s.cycles - s.cycles / BEHIND <= rival; m++)
			try_manner(&s, m);
	}
	if (planned && few && s.cycles - s.cycles / BEHIND <= rival)
		mix_manners(&s);
	forget_ends(&s);
	wnn_free(s.last_ends);
	wnn_free(s.last_use);
	wnn_free(s.known);
	stream_groups_release(&groups[0]);
	stream_groups_release(&groups[1]);
	plan_release(&plan);
	plan_list_release(&s.kept);
	*out = s.best;
	out->first_form = fresh->first_form;
	return s.cycles;
}

void stream_search(const struct plan *fresh, const uint32_t *live_out, uint32_t num_live_out,
		   struct stream_graph *out)
{
	uint64_t cycles = search_view(fresh, live_out, num_live_out, UINT64_MAX, out);
	struct plan first = *fresh;
	struct stream_graph other;

	if (!npu_mxu_forms(fresh->caps))
		return;
	/*
	 * Tiles for other forms of the matrix array are smaller, so that all that is around them
	 * differs; only a plan of the whole shows whether it is faster.
	 */
	first.first_form = true;
	if (search_view(&first, live_out, num_live_out, cycles, &other) < cycles) {
		stream_graph_release(out);
		*out = other;
	} else {
		stream_graph_release(&other);
	}
}
