// SPDX-License-Identifier: MIT
/*
 * The search for the groups to stream, and for their blocks: each candidate is planned as it would run,
 * and what its simulation says decides. Nothing is packed meanwhile.
 */
#include <string.h>

#include "plan/lower/range.h"
#include "plan/stream/stream.h"
#include "util/malloc.h"

/* Planned in all candidates together, but for the first: some 30 microseconds each. */
#define SEARCH_NODES 6000

struct search {
	const struct plan *fresh; /* the range, not planned yet */
	const uint32_t *live_out;
	uint32_t num_live_out;
	struct stream_groups groups;
	uint64_t *apart; /* cycles of each group's nodes by themselves; 0: it was looked at */
	struct stream_graph best;
	uint64_t cycles; /* of the best, or without any */
	uint8_t eager;	 /* of the candidates */
	uint64_t room;	 /* nodes that may still be planned */
};

/*
 * Cycles of a graph that was made for the range, or of the range itself; UINT64_MAX when it does not compile, or
 * would be cut into jobs, which run in the order of emission.
 */
static uint64_t simulate(struct search *s, const struct stream_graph *graph, uint8_t eager)
{
	struct plan plan = *s->fresh;
	uint64_t cycles;

	if (graph->graph) {
		plan.graph = graph->graph;
		plan.first = 0;
		plan.count = graph->graph->num_nodes;
	}
	plan.constants.dry = true;
	plan.eager = eager;
	s->room -= s->room < plan.count ? s->room : plan.count;
	if (plan_places(&plan, graph->graph ? graph->live_out : s->live_out, s->num_live_out) ||
	    plan_nodes(&plan, &cycles) ||
	    plan.list.views.num + plan.list.params.num >= plan_max_slots(&plan))
		cycles = UINT64_MAX;
	plan_release(&plan);
	return cycles;
}

/* Plans the groups as they are; true when they are the best so far. */
static bool try_groups(struct search *s)
{
	struct stream_graph graph = { .graph = NULL };
	uint64_t cycles = UINT64_MAX;

	if (!stream_build(s->fresh, &s->groups, s->live_out, s->num_live_out, &graph))
		cycles = simulate(s, &graph, s->eager);
	if (cycles >= s->cycles) {
		stream_graph_release(&graph);
		return false;
	}
	stream_graph_release(&s->best);
	s->best = graph;
	s->best.eager = s->eager;
	s->cycles = cycles;
	return true;
}

/* Other sizes of a group's blocks, or none, as long as that is better. */
static void improve_group(struct search *s, struct stream_group *group)
{
	group->dropped = true;
	if (try_groups(s))
		return;
	group->dropped = false;
	for (int finer = 0; finer < 2; finer++)
		while (s->room) {
			struct stream_group kept = *group;

			if (!stream_resize(s->fresh, group, finer))
				break;
			if (!try_groups(s)) {
				*group = kept;
				break;
			}
		}
}

/* Other eagerness for the best, which the next candidates have, too. */
static void search_eagerness(struct search *s)
{
	for (uint8_t eager = 0; eager < PLAN_EAGERNESS; eager++) {
		uint64_t cycles;

		if (eager == s->best.eager)
			continue;
		cycles = simulate(s, &s->best, eager);
		if (cycles >= s->cycles)
			continue;
		s->best.eager = eager;
		s->cycles = cycles;
	}
	s->eager = s->best.eager;
}

static void search_groups(struct search *s)
{
	try_groups(s);
	if (s->room)
		search_eagerness(s);
	/* The longest first: time for this is limited. */
	for (uint32_t done = 0; done < s->groups.num && s->room; done++) {
		uint32_t next = 0;

		for (uint32_t i = 1; i < s->groups.num; i++)
			if (s->apart[i] > s->apart[next])
				next = i;
		s->apart[next] = 0;
		improve_group(s, &s->groups.groups[next]);
	}
}

void stream_search(const struct plan *fresh, const uint32_t *live_out, uint32_t num_live_out,
		   struct stream_graph *out)
{
	struct plan known = *fresh, plan;
	struct search s = { .live_out = live_out, .num_live_out = num_live_out };
	bool planned;

	/* Why a candidate fails is nobody's concern. */
	known.report.refusals = NULL;
	s.fresh = &known;
	s.room = SEARCH_NODES;
	plan = known;
	plan.constants.dry = true;
	planned = !plan_places(&plan, live_out, num_live_out) && !stream_find(&plan, &s.groups) &&
		  (s.groups.num || plan.count <= SEARCH_NODES / PLAN_EAGERNESS) &&
		  !plan_nodes(&plan, &s.cycles);
	if (planned && s.groups.num)
		s.apart = wnn_calloc(s.groups.num, sizeof(*s.apart));
	if (s.apart) {
		for (uint32_t n = 0; n < plan.count; n++)
			if (s.groups.of_node[n] != STREAM_NO_GROUP)
				s.apart[s.groups.of_node[n]] += plan.report.nodes[n].est_cycles;
		search_groups(&s);
	}
	if (planned && plan.count <= SEARCH_NODES / PLAN_EAGERNESS)
		search_eagerness(&s);
	wnn_free(s.apart);
	stream_groups_release(&s.groups);
	plan_release(&plan);
	*out = s.best;
}
