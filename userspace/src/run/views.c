// SPDX-License-Identifier: MIT
/*
 * Finds CPU values that can lie in the memory of another value, so that no step has to compute
 * them: the result of a reshape in the operand, a slice of a split in the operand, and an operand
 * of a concat in the result, where the operand's producer then writes it. Products and
 * element-wise functions read and write with strides (strides.c), so that transposes of an
 * attention's heads, and slices along any axis, need no step either. compile.c calls
 * run_find_views() before it makes steps.
 *
 * Sharing memory is always correct: each value is written once, and no other node reads what an
 * update in place overwrites. It may cost memory where the larger value then lives longer, so that
 * slices share memory only where the peak of all live bytes does not rise above the peak without
 * sharing.
 */
#include "pass/permute.h"
#include "run/views.h"
#include "util/malloc.h"

/*
 * Makes the values on the way point to the returned value directly, for later calls (union-find).
 */
struct run_home views_home_of(struct run_home *homes, uint32_t value)
{
	struct run_home home = { value, 0 };

	while (homes[home.value].value != home.value) {
		home.at += homes[home.value].at;
		home.value = homes[home.value].value;
	}
	for (uint64_t at = home.at; value != home.value;) {
		struct run_home next = homes[value];

		homes[value] = (struct run_home){ home.value, at };
		at -= next.at;
		value = next.value;
	}
	return home;
}

int64_t views_bytes_of(const struct finder *f, uint32_t value)
{
	return ir_type_bytes(&f->c->graph->values[value]->type);
}

/* ---- inputs that are updated in place */

/* Makes the values of each chain of updates lie in the memory of the input. */
static void find_updates(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		const struct ir_value *value = graph->outputs[i].value, *old;

		for (; graph->outputs[i].updates && value != graph->outputs[i].updates;
		     value = old) {
			old = ir_updated(value->def);
			f->c->homes[value->id] = (struct run_home){ old->id, 0 };
		}
	}
}

/* ---- values that are views of all of another value */

bool views_show_all(const struct ir_node *node)
{
	const struct ir_type *from, *to;

	if (node->op == IR_OP_TRANSPOSE)
		return permute_moves_nothing(&node->operands[0]->type, node->attrs.transpose.perm);
	if (node->op != IR_OP_RESHAPE && node->op != IR_OP_COPY && node->op != IR_OP_EXPAND)
		return false;
	from = &node->operands[0]->type;
	to = &node->results[0]->type;
	return from->dtype == to->dtype && ir_type_elements(from) == ir_type_elements(to);
}

static void find_whole_views(struct finder *f, const bool *on_npu, bool has_npu)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];

		/*
		 * Programs have copies of the constants, and cannot address the constants of the
		 * graph.
		 */
		if (on_npu[n] || !views_show_all(node) ||
		    (has_npu &&
		     graph->values[views_home_of(f->c->homes, node->operands[0]->id).value]->kind ==
			     IR_VALUE_CONSTANT))
			continue;
		f->c->homes[node->results[0]->id] = (struct run_home){ node->operands[0]->id, 0 };
		f->c->is_view[n] = true;
	}
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		f->is_output[views_home_of(f->c->homes, graph->outputs[i].value->id).value] = true;
}

/* ---- live bytes at each node */

static void note_life(struct finder *f, const struct ir_value *value, uint32_t n)
{
	uint32_t home = views_home_of(f->c->homes, value->id).value;
	struct life *life = &f->lives[home];

	if (f->c->graph->values[home]->kind != IR_VALUE_RESULT || f->is_output[home])
		return;
	if (life->first == NEVER)
		life->first = n;
	life->last = n;
}

void views_add_live(struct finder *f, uint32_t first, uint32_t end, int64_t bytes)
{
	for (uint32_t n = first; n < end; n++)
		f->live[n] += bytes;
	if (end > first)
		f->patience -= end - first < f->patience ? end - first : f->patience;
}

static void find_lives(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;
	int64_t live = 0;

	for (uint32_t v = 0; v < graph->num_values; v++)
		f->lives[v].first = NEVER;
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];

		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i])
				note_life(f, node->operands[i], n);
		for (uint32_t i = 0; i < node->num_results; i++)
			note_life(f, node->results[i], n);
	}
	/* First f->live gets the changes at each node; the next loop sums them up. */
	for (uint32_t v = 0; v < graph->num_values; v++) {
		if (f->lives[v].first == NEVER)
			continue;
		f->live[f->lives[v].first] += views_bytes_of(f, v);
		f->live[f->lives[v].last + 1] -= views_bytes_of(f, v);
	}
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		f->live[n] = live += f->live[n];
		f->peak = live > f->peak ? live : f->peak;
	}
	f->patience = 256 * (uint64_t)graph->num_nodes + (1 << 20);
}

bool views_stay_below(struct finder *f, uint32_t first, uint32_t end)
{
	for (uint32_t n = first; n < end; n++)
		if (f->live[n] > f->peak)
			return false;
	return true;
}

/* ---- slices of a value */

/*
 * Whether the elements of a slice are contiguous; *offset becomes the offset of its first element,
 * in elements.
 */
static bool is_contiguous(const struct ir_node *node, int64_t *offset)
{
	const struct ir_type *from = &node->operands[0]->type, *to = &node->results[0]->type;
	const struct ir_slice_attrs *slice = &node->attrs.slice;
	int64_t stride = 1;
	bool cut = false; /* whether a later axis is cut */

	*offset = 0;
	for (uint32_t i = to->rank; i-- > 0;) {
		int64_t size = ir_type_dim(to, i);

		if (size != 1 && (cut || slice->strides[i] != 1))
			return false;
		cut |= size != ir_type_dim(from, i);
		*offset += slice->starts[i] * stride;
		stride *= ir_type_dim(from, i);
	}
	return true;
}

/*
 * Extends the live range of a value to the end of a slice's live range; the slice then has no
 * memory of its own. Returns false, with nothing changed, when this would raise the peak of live
 * bytes, or when the check would take too long.
 */
static bool extend_life(struct finder *f, struct life *whole, const struct life *part,
			int64_t bytes, int64_t part_bytes)
{
	uint32_t end = part->last + 1;

	if (part->last - part->first > f->patience || part->last - whole->last > f->patience)
		return false;
	views_add_live(f, part->first, end, -part_bytes);
	views_add_live(f, whole->last + 1, end, bytes);
	if (views_stay_below(f, whole->last + 1, end)) {
		whole->last = part->last;
		return true;
	}
	views_add_live(f, part->first, end, part_bytes);
	views_add_live(f, whole->last + 1, end, -bytes);
	return false;
}

static bool can_be_view(const struct finder *f, const struct ir_node *node, int64_t *offset)
{
	const struct ir_value *part = node->results[0];

	return !f->c->is_view[node->id] && ir_dtype_bits(part->type.dtype) >= 8 &&
	       !f->is_output[part->id] && is_contiguous(node, offset);
}

/* Makes a slice share the memory of its operand, unless that costs memory. */
static void try_slice(struct finder *f, uint32_t n)
{
	const struct ir_node *node = f->c->graph->nodes[n];
	uint32_t part = node->results[0]->id;
	uint32_t home = views_home_of(f->c->homes, node->operands[0]->id).value;
	struct life *own = &f->lives[part], *whole = &f->lives[home];
	size_t bits = ir_dtype_bits(node->results[0]->type.dtype);
	int64_t offset;

	if (!can_be_view(f, node, &offset))
		return;
	if (whole->first != NEVER && own->last > whole->last &&
	    !extend_life(f, whole, own, views_bytes_of(f, home), views_bytes_of(f, part)))
		return;
	own->first = NEVER;
	f->c->homes[part] =
		(struct run_home){ node->operands[0]->id, (uint64_t)offset * (bits / 8) };
	f->c->is_view[n] = true;
}

/* Adds the slices of a split to the live bytes (sign 1), or subtracts them (sign -1). */
static void add_parts(struct finder *f, uint32_t begin, uint32_t end, int sign)
{
	int64_t offset;

	for (uint32_t n = begin; n < end; n++) {
		const struct ir_node *node = f->c->graph->nodes[n];
		const struct life *own = &f->lives[node->results[0]->id];

		if (can_be_view(f, node, &offset))
			views_add_live(f, own->first, own->last + 1,
				       sign * views_bytes_of(f, node->results[0]->id));
	}
}

/*
 * Returns the last node at which a slice of a split is live; 0 when no slice can share the memory,
 * or when the check would take too long.
 */
static uint32_t last_of_parts(const struct finder *f, uint32_t begin, uint32_t end)
{
	uint64_t work = 0;
	uint32_t last = 0;
	int64_t offset;

	for (uint32_t n = begin; n < end; n++) {
		const struct ir_node *node = f->c->graph->nodes[n];
		const struct life *own = &f->lives[node->results[0]->id];

		if (!can_be_view(f, node, &offset))
			continue;
		work += own->last - own->first;
		last = own->last > last ? own->last : last;
	}
	return work + (last - begin) <= f->patience ? last : 0;
}

/*
 * Makes all slices of a split, which are consecutive nodes, share the memory of their operand.
 * All slices together may save memory where each slice by itself would cost memory.
 */
static void try_slices(struct finder *f, uint32_t begin, uint32_t end)
{
	const struct ir_value *from = f->c->graph->nodes[begin]->operands[0];
	uint32_t home = views_home_of(f->c->homes, from->id).value;
	struct life *whole = &f->lives[home];
	uint32_t old = whole->last, last = end - begin > 1 ? last_of_parts(f, begin, end) : 0;

	if (whole->first != NEVER && last > old) {
		add_parts(f, begin, end, -1);
		views_add_live(f, old + 1, last + 1, views_bytes_of(f, home));
		if (views_stay_below(f, old + 1, last + 1))
			whole->last = last;
		else
			views_add_live(f, old + 1, last + 1, -views_bytes_of(f, home));
		if (whole->last == old)
			add_parts(f, begin, end, 1);
	}
	for (uint32_t n = begin; n < end; n++)
		if (!f->c->is_view[n])
			try_slice(f, n);
}

/* ---- operands of a concat */

bool views_join_whole(const struct ir_node *node)
{
	const struct ir_type *type = &node->results[0]->type;

	for (uint32_t i = 0; i < node->attrs.axis; i++)
		if (ir_type_dim(type, i) != 1)
			return false;
	return ir_dtype_bits(type->dtype) >= 8;
}

/* Whether an operand of a concat may be computed in the concat's result. */
static bool can_be_part(const struct finder *f, const struct ir_value *operand)
{
	struct run_home home = views_home_of(f->c->homes, operand->id);

	return f->lives[home.value].first != NEVER &&
	       ir_type_bytes(&operand->type) == views_bytes_of(f, home.value);
}

/*
 * Replaces the operands that are computed from node `since` on by the result in the live bytes
 * (sign 1), or undoes that (sign -1). Returns the live range that the result then has.
 */
static struct life move_parts(struct finder *f, const struct ir_node *node, uint32_t since,
			      int sign)
{
	uint32_t result = node->results[0]->id;
	struct life life = f->lives[result], own = life;

	f->rounds++;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		uint32_t home = views_home_of(f->c->homes, node->operands[i]->id).value;
		const struct life *part = &f->lives[home];

		if (!can_be_part(f, node->operands[i]) || part->first < since ||
		    f->round[home] == f->rounds)
			continue;
		f->round[home] = f->rounds;
		views_add_live(f, part->first, part->last + 1, -sign * views_bytes_of(f, home));
		if (part->first < life.first)
			life.first = part->first;
		if (part->last > life.last)
			life.last = part->last;
	}
	if (own.first == NEVER)
		return own;
	views_add_live(f, life.first, own.first, sign * views_bytes_of(f, result));
	views_add_live(f, own.last + 1, life.last + 1, sign * views_bytes_of(f, result));
	return life;
}

/* Returns the first node from `since` on that computes an operand of a concat; NEVER: none. */
static uint32_t next_part(const struct finder *f, const struct ir_node *node, uint32_t since)
{
	uint32_t next = NEVER;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		uint32_t first =
			f->lives[views_home_of(f->c->homes, node->operands[i]->id).value].first;

		if (first >= since && first < next && can_be_part(f, node->operands[i]))
			next = first;
	}
	return next;
}

/*
 * Gives the operands that are computed from node `since` on their offsets in the result. The concat
 * is a view when all operands have one.
 */
static void place_parts(struct finder *f, uint32_t n, uint32_t since, struct life life)
{
	const struct ir_node *node = f->c->graph->nodes[n];
	uint32_t result = node->results[0]->id;
	uint64_t at = 0;
	bool all = true;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		uint32_t home = views_home_of(f->c->homes, node->operands[i]->id).value;
		bool moves = can_be_part(f, node->operands[i]) && f->lives[home].first >= since;

		if (moves) {
			f->c->homes[home] = (struct run_home){ result, at };
			f->lives[home].first = NEVER;
		}
		all &= moves;
		at += (uint64_t)ir_type_bytes(&node->operands[i]->type);
	}
	f->lives[result] = life;
	f->c->is_view[n] = all;
}

/*
 * Makes operands of a concat be computed directly in its result. Operands that are computed long
 * before the others keep their own memory if the result would have to live too long for them.
 */
static void try_concat(struct finder *f, uint32_t n)
{
	const struct ir_node *node = f->c->graph->nodes[n];
	uint32_t since = views_join_whole(node) ? next_part(f, node, 0) : NEVER;

	while (since != NEVER && (uint64_t)(n - since + 1) * node->num_operands <= f->patience) {
		struct life life = move_parts(f, node, since, 1);

		if (life.first == NEVER || views_stay_below(f, life.first, life.last + 1)) {
			place_parts(f, n, since, life);
			return;
		}
		move_parts(f, node, since, -1);
		f->patience -= node->num_operands;
		since = next_part(f, node, since + 1);
	}
}

static void find_parts(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;
	uint32_t behind = 0; /* first node after the slices that are handled together */

	find_lives(f);
	views_find_strided(f);
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		if (graph->nodes[n]->op == IR_OP_SLICE && n >= behind) {
			behind = n + 1;
			while (behind < graph->num_nodes &&
			       graph->nodes[behind]->op == IR_OP_SLICE &&
			       graph->nodes[behind]->operands[0] == graph->nodes[n]->operands[0])
				behind++;
			try_slices(f, n, behind);
		} else if (graph->nodes[n]->op == IR_OP_CONCAT) {
			try_concat(f, n);
		}
	}
}

/* Finds all views. In a graph with NPU programs only whole values share memory. */
static void find_views(struct finder *f, const bool *on_npu)
{
	const struct ir_graph *graph = f->c->graph;
	bool has_npu = false;

	for (uint32_t v = 0; v < graph->num_values; v++)
		f->c->homes[v] = (struct run_home){ v, 0 };
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		has_npu |= on_npu[n];
	find_updates(f);
	find_whole_views(f, on_npu, has_npu);
	if (!has_npu)
		find_parts(f);
	for (uint32_t v = 0; v < graph->num_values; v++)
		f->c->homes[v] = views_home_of(f->c->homes, v);
}

int run_find_views(struct run_compiled *c, const bool *on_npu, struct wnn_error *err)
{
	size_t values = (size_t)c->graph->num_values + 1, nodes = (size_t)c->graph->num_nodes + 2;
	struct finder f = {
		.c = c,
		.is_output = wnn_calloc(values, sizeof(*f.is_output)),
		.lives = wnn_calloc(values, sizeof(*f.lives)),
		.live = wnn_calloc(nodes, sizeof(*f.live)),
		.round = wnn_calloc(values, sizeof(*f.round)),
		.uses = ir_count_uses(c->graph),
		.reader = wnn_calloc(values, sizeof(*f.reader)),
	};
	bool complete = f.is_output && f.lives && f.live && f.round && f.uses && f.reader;

	c->homes = wnn_calloc(values, sizeof(*c->homes));
	c->is_view = wnn_calloc(nodes, sizeof(*c->is_view));
	c->early = wnn_calloc(nodes, sizeof(*c->early));
	complete = complete && c->homes && c->is_view && c->early;
	if (complete)
		find_views(&f, on_npu);
	wnn_free(f.is_output);
	wnn_free(f.lives);
	wnn_free(f.live);
	wnn_free(f.round);
	wnn_free(f.uses);
	wnn_free(f.reader);
	return complete ? 0 : wnn_error_nomem(err, "the values of a graph");
}

void run_place_views(struct run_compiled *c)
{
	for (uint32_t v = 0; v < c->graph->num_values; v++) {
		if (c->homes[v].value == v)
			continue;
		c->locations[v] = c->locations[c->homes[v].value];
		c->locations[v].offset += c->homes[v].at;
	}
}
