// SPDX-License-Identifier: MIT
/*
 * Finds operands that CPU nodes can read with strides, and results that they can write with
 * strides, so that no step has to copy them into a dense layout. views.c calls
 * views_find_strided().
 *
 * Matrix products read and write matrices whose rows are not contiguous, such as the heads of an
 * attention before a transpose, or slices along columns of another product's result. Element-wise
 * functions read slices along any axis whose elements stay contiguous along the last axis, and
 * write operands of a concat along such an axis, as convolutions in channels-last layout do.
 */
#include <string.h>

#include "cpu/cpu.h"
#include "run/device.h"
#include "run/views.h"
#include "util/malloc.h"

/*
 * The most transposes, reshapes and slices between a node and the value that it reads or writes
 * with strides.
 */
#define MAX_CHAIN 6

/*
 * The position of a value's elements in the memory of another value: the offset of the first
 * element, and the stride of each axis, in elements.
 */
struct strided {
	int64_t offset, stride[IR_MAX_RANK];
};

static struct strided dense(const struct ir_type *type)
{
	struct strided s = { 0 };
	int64_t stride = 1;

	for (uint32_t i = type->rank; i-- > 0;) {
		s.stride[i] = stride;
		stride *= ir_type_dim(type, i);
	}
	return s;
}

static bool is_dense(const struct ir_type *type, const int64_t *stride)
{
	struct strided s = dense(type);

	for (uint32_t i = 0; i < type->rank; i++)
		if (ir_type_dim(type, i) > 1 && stride[i] != s.stride[i])
			return false;
	return true;
}

/*
 * Replaces the strides of shape `from` by strides of shape `to` for the same elements in memory;
 * false when there are no such strides.
 */
static bool reshape_strides(const struct ir_type *from, const struct ir_type *to, int64_t *stride)
{
	int64_t old[IR_MAX_RANK], step = 0, rest = 1;
	uint32_t at = from->rank;

	memcpy(old, stride, sizeof(old));
	for (uint32_t i = to->rank; i-- > 0;) {
		int64_t size = ir_type_dim(to, i);

		while (rest < size && at-- > 0) {
			int64_t more = ir_type_dim(from, at);

			if (more == 1)
				continue;
			if (rest > 1 && old[at] != step * rest)
				return false;
			step = rest > 1 ? step : old[at];
			rest *= more;
		}
		if (rest % size)
			return false;
		stride[i] = size > 1 ? step : 0;
		step *= size;
		rest /= size;
	}
	return rest == 1;
}

/*
 * Replaces the position of a node's operand in memory by the position of its result; false when
 * strides cannot describe the result.
 */
static bool follow(const struct ir_node *node, struct strided *s)
{
	struct strided old = *s;

	if (node->op == IR_OP_RESHAPE)
		return reshape_strides(&node->operands[0]->type, &node->results[0]->type,
				       s->stride);
	for (uint32_t i = 0; i < node->results[0]->type.rank; i++)
		if (node->op == IR_OP_TRANSPOSE) {
			s->stride[i] = old.stride[node->attrs.transpose.perm[i]];
		} else {
			s->offset += node->attrs.slice.starts[i] * old.stride[i];
			s->stride[i] = old.stride[i] * node->attrs.slice.strides[i];
		}
	return true;
}

/*
 * Replaces the position of a node's result by that of its operand, the inverse of follow(). The
 * node is no slice. Returns false when strides cannot describe the operand.
 */
static bool follow_back(const struct ir_node *node, struct strided *s)
{
	struct strided old = *s;

	if (node->op == IR_OP_RESHAPE)
		return reshape_strides(&node->results[0]->type, &node->operands[0]->type,
				       s->stride);
	for (uint32_t i = 0; i < node->results[0]->type.rank; i++)
		s->stride[node->attrs.transpose.perm[i]] = old.stride[i];
	return true;
}

/*
 * Whether a node only rearranges elements, and a chain may go through it. A node whose result is a
 * view already may be in a chain only when the view has all elements in the same order.
 */
static bool is_link(const struct finder *f, const struct ir_node *node)
{
	return (node->op == IR_OP_TRANSPOSE || node->op == IR_OP_RESHAPE ||
		node->op == IR_OP_SLICE) &&
	       (views_show_all(node) || !f->c->is_view[node->id]);
}

/* Adds the results of the chain's nodes to the live bytes (sign 1), or subtracts them (sign -1). */
static void add_chain(struct finder *f, const struct ir_node *const *chain, uint32_t count,
		      int sign)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t made = chain[i]->results[0]->id;
		const struct life *own = &f->lives[made];

		if (!f->c->is_view[chain[i]->id] && own->first != NEVER)
			views_add_live(f, own->first, own->last + 1,
				       sign * views_bytes_of(f, made));
	}
}

/*
 * Removes the results of a chain from the live bytes, and extends the live range of the value that
 * they then lie in to node n. Returns false, with nothing changed, when this would raise the peak
 * of live bytes, or when the check would take too long.
 */
static bool live_instead(struct finder *f, const struct ir_node *const *chain, uint32_t count,
			 const struct ir_value *source, uint32_t n)
{
	uint32_t home = views_home_of(f->c->homes, source->id).value;
	struct life *whole = &f->lives[home];
	bool longer = whole->first != NEVER && whole->last < n;

	if (longer && (uint64_t)(n - whole->last) * (count + 1) > f->patience)
		return false;
	add_chain(f, chain, count, -1);
	if (!longer)
		return true;
	views_add_live(f, whole->last + 1, n + 1, views_bytes_of(f, home));
	if (f->bold || views_stay_below(f, whole->last + 1, n + 1)) {
		whole->last = n;
		return true;
	}
	views_add_live(f, whole->last + 1, n + 1, -views_bytes_of(f, home));
	add_chain(f, chain, count, 1);
	return false;
}

/*
 * Makes the nodes of a chain views without memory of their own: the node that reads or writes the
 * value uses strides instead.
 */
static void link_chain(struct finder *f, const struct ir_node *const *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		f->lives[chain[i]->results[0]->id].first = NEVER;
		f->c->is_view[chain[i]->id] = true;
	}
}

/*
 * Sets `chain` to the nodes that rearrange a value into an operand, the last node first, as far
 * back as nothing else reads their results. Returns the number of nodes.
 */
static uint32_t chain_of_operand(const struct finder *f, const struct ir_value *value,
				 const struct ir_node **chain)
{
	uint32_t count = 0;

	while (count < MAX_CHAIN && value->def && f->uses[value->id] == 1 &&
	       is_link(f, value->def)) {
		chain[count++] = value->def;
		value = value->def->operands[0];
	}
	return count;
}

/* Whether a node of the chain needs a step of its own so far. */
static bool has_step(const struct finder *f, const struct ir_node *const *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!f->c->is_view[chain[i]->id])
			return true;
	return false;
}

/* Returns the plan of a node that may have strides; NULL when it has no kernel for them. */
static struct cpu_plan *plan_of(struct finder *f, uint32_t n)
{
	if (!f->c->early[n])
		f->c->early[n] = cpu_plan_arrangeable(f->c->device->cpu, f->c->graph->nodes[n]);
	return f->c->early[n];
}

static bool try_operand(struct finder *f, uint32_t n, int operand)
{
	const struct ir_node *node = f->c->graph->nodes[n], *chain[MAX_CHAIN];
	const struct ir_value *value = node->operands[operand];
	uint32_t count = chain_of_operand(f, value, chain);

	for (; count > 0 && has_step(f, chain, count); count--) {
		const struct ir_value *source = chain[count - 1]->operands[0];
		struct strided s = dense(&source->type);
		bool known = true;

		for (uint32_t i = count; i-- > 0 && known;)
			known = follow(chain[i], &s);
		/* A dense slice is found later, together with the other slices of its value. */
		if (!known || is_dense(&value->type, s.stride))
			continue;
		if (!plan_of(f, n))
			return false;
		if (!cpu_plan_arrange(f->c->early[n], node, operand, s.stride))
			continue;
		if (!live_instead(f, chain, count, source, n)) {
			cpu_plan_arrange(f->c->early[n], node, operand, dense(&value->type).stride);
			continue;
		}
		link_chain(f, chain, count);
		for (uint32_t i = 1; i < count; i++)
			f->c->homes[chain[i]->results[0]->id] = (struct run_home){ source->id, 0 };
		f->c->homes[value->id] =
			(struct run_home){ source->id, (uint64_t)s.offset * sizeof(float) };
		return true;
	}
	return false;
}

/*
 * Makes a node write its result directly in the layout into which transposes and reshapes, its only
 * readers, would bring it. Returns true when that was possible.
 */
static bool try_result(struct finder *f, uint32_t n)
{
	const struct ir_node *node = f->c->graph->nodes[n], *chain[MAX_CHAIN];
	const struct ir_value *value = node->results[0];
	uint32_t count = 0;

	for (; count < MAX_CHAIN && f->uses[value->id] == 1 && f->reader[value->id] != NEVER;
	     value = chain[count++]->results[0]) {
		chain[count] = f->c->graph->nodes[f->reader[value->id]];
		if (chain[count]->op == IR_OP_SLICE || !is_link(f, chain[count]))
			break;
	}
	for (; count > 0; count--) {
		const struct ir_value *to = chain[count - 1]->results[0];
		struct strided s = dense(&to->type);
		bool known = !views_show_all(chain[count - 1]);

		for (uint32_t i = count; i-- > 0 && known;)
			known = follow_back(chain[i], &s);
		if (!known || f->lives[node->results[0]->id].first == NEVER || !plan_of(f, n) ||
		    !cpu_plan_arrange(f->c->early[n], node, CPU_RESULT, s.stride))
			continue;
		add_chain(f, chain, count - 1, -1);
		link_chain(f, chain, count - 1);
		f->c->is_view[chain[count - 1]->id] = true;
		views_add_live(f, n, f->lives[node->results[0]->id].last + 1,
			       -views_bytes_of(f, node->results[0]->id));
		f->lives[node->results[0]->id].first = NEVER;
		if (f->lives[to->id].first != NEVER) {
			views_add_live(f, n, f->lives[to->id].first, views_bytes_of(f, to->id));
			f->lives[to->id].first = n;
		}
		for (uint32_t i = 0; i < count - 1; i++)
			f->c->homes[chain[i]->results[0]->id] = (struct run_home){ to->id, 0 };
		f->c->homes[node->results[0]->id] = (struct run_home){ to->id, 0 };
		return true;
	}
	return false;
}

static void find_readers(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t v = 0; v < graph->num_values; v++)
		f->reader[v] = NEVER;
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		for (uint32_t i = 0; i < graph->nodes[n]->num_operands; i++)
			if (graph->nodes[n]->operands[i])
				f->reader[graph->nodes[n]->operands[i]->id] = n;
}

/*
 * Whether the node may be fused with the step before it, a convolution, whose kernel reads and
 * writes dense tensors only.
 */
static bool may_join(const struct ir_node *node)
{
	if (node->attrs.binary.kind != IR_ADD)
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i]->def && node->operands[i]->def->op == IR_OP_CONV &&
		    node->operands[i]->def->id + 1 == node->id)
			return true;
	return false;
}

/*
 * Whether a node may get strides: its result is float32, and it is an element-wise function that
 * may not be fused with a convolution (may_join()), or a product of two computed matrices.
 */
static bool may_be_arranged(const struct ir_node *node)
{
	if (node->results[0]->type.dtype != IR_F32)
		return false;
	return node->op == IR_OP_UNARY || (node->op == IR_OP_BINARY && !may_join(node)) ||
	       (node->op == IR_OP_MATMUL && node->operands[1]->kind != IR_VALUE_CONSTANT);
}

static void arrange_node(struct finder *f, uint32_t n)
{
	const struct ir_node *node = f->c->graph->nodes[n];
	bool arranged = try_operand(f, n, 0);

	if (node->op != IR_OP_UNARY)
		arranged |= try_operand(f, n, 1);
	arranged |= try_result(f, n);
	/* With dense operands and result, another kernel may be faster. */
	if (!arranged) {
		cpu_plan_destroy(f->c->early[n]);
		f->c->early[n] = NULL;
	}
}

/* ---- operands of a concat */

/*
 * Whether a node may write an operand of a concat: a convolution, or an element-wise function that
 * may be arranged, with a result of float32.
 */
static bool may_write_part(const struct ir_node *node)
{
	if (node->op == IR_OP_CONV)
		return node->results[0]->type.dtype == IR_F32;
	return (node->op == IR_OP_UNARY || node->op == IR_OP_BINARY) && may_be_arranged(node);
}

/*
 * Returns the node that computes an operand, if the node can write with strides, and the operand
 * has one use and memory of its own; else NULL.
 */
static const struct ir_node *maker(const struct finder *f, const struct ir_value *operand)
{
	const struct ir_node *node = operand->def;

	return node && may_write_part(node) && f->uses[operand->id] == 1 &&
			       f->c->homes[operand->id].value == operand->id &&
			       f->lives[operand->id].first != NEVER ?
		       node :
		       NULL;
}

/*
 * Makes the producers of the first `count` operands write with the strides of the result
 * (`in_result`), or densely. Returns the number of operands before the first one whose producer
 * cannot; `count` when all can.
 */
static uint32_t arrange_operands(struct finder *f, const struct ir_node *concat, uint32_t count,
				 bool in_result)
{
	struct strided whole = dense(&concat->results[0]->type);

	for (uint32_t i = 0; i < count; i++) {
		const struct ir_node *node = concat->operands[i]->def;
		struct strided own = dense(&concat->operands[i]->type);

		if (!plan_of(f, node->id) ||
		    !cpu_plan_arrange(f->c->early[node->id], node, CPU_RESULT,
				      in_result ? whole.stride : own.stride))
			return i;
	}
	return count;
}

/*
 * Replaces the operands by the result in the live bytes, from the node that computes the first
 * operand on (sign 1), or undoes that (sign -1). Returns that node.
 */
static uint32_t live_as_result(struct finder *f, const struct ir_node *concat, int sign)
{
	uint32_t first = NEVER, result = concat->results[0]->id;

	for (uint32_t i = 0; i < concat->num_operands; i++) {
		const struct life *life = &f->lives[concat->operands[i]->id];

		views_add_live(f, life->first, life->last + 1,
			       -sign * views_bytes_of(f, concat->operands[i]->id));
		first = life->first < first ? life->first : first;
	}
	if (f->lives[result].first != NEVER)
		views_add_live(f, first, concat->id, sign * views_bytes_of(f, result));
	return first;
}

/*
 * Makes the producers of all operands write into the result of a concat, so that the concat needs
 * no step. Nothing changes when one of the producers cannot, or when it would cost memory.
 */
static void try_concat(struct finder *f, uint32_t n)
{
	const struct ir_node *node = f->c->graph->nodes[n];
	uint32_t result = node->results[0]->id, first;
	uint64_t stride = sizeof(float), at = 0, span = 0;
	uint32_t count = node->num_operands, arranged;

	for (uint32_t i = 0; i < count; i++) {
		const struct ir_node *made = maker(f, node->operands[i]);

		if (!made)
			return;
		span += n - made->id;
	}
	if (2 * span + n - node->operands[0]->def->id > f->patience)
		return;
	arranged = arrange_operands(f, node, count, true);
	if (arranged < count) {
		arrange_operands(f, node, arranged, false);
		return;
	}
	first = live_as_result(f, node, 1);
	if (!f->bold && !views_stay_below(f, first, n)) {
		live_as_result(f, node, -1);
		arrange_operands(f, node, count, false);
		return;
	}
	for (uint32_t i = node->results[0]->type.rank; i-- > node->attrs.axis + 1;)
		stride *= (uint64_t)ir_type_dim(&node->results[0]->type, i);
	for (uint32_t i = 0; i < count; i++) {
		const struct ir_value *operand = node->operands[i];

		f->c->homes[operand->id] = (struct run_home){ result, at };
		f->lives[operand->id].first = NEVER;
		at += stride * (uint64_t)ir_type_dim(&operand->type, node->attrs.axis);
	}
	if (f->lives[result].first != NEVER)
		f->lives[result].first = first;
	f->c->is_view[n] = true;
}

static void arrange_nodes(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t n = 0; n < graph->num_nodes; n++)
		if (may_be_arranged(graph->nodes[n]))
			arrange_node(f, n);
		else if (graph->nodes[n]->op == IR_OP_CONCAT && !views_join_whole(graph->nodes[n]))
			try_concat(f, n);
}

/* A copy of what views_find_strided() may change, to undo its first attempt. */
struct state {
	struct run_home *homes;
	struct life *lives;
	int64_t *live;
	bool *is_view;
};

static bool save(const struct finder *f, struct state *s)
{
	size_t values = f->c->graph->num_values, nodes = (size_t)f->c->graph->num_nodes + 2;

	s->homes = wnn_malloc((values + 1) * sizeof(*s->homes));
	s->lives = wnn_malloc((values + 1) * sizeof(*s->lives));
	s->live = wnn_malloc(nodes * sizeof(*s->live));
	s->is_view = wnn_malloc(nodes * sizeof(*s->is_view));
	if (!s->homes || !s->lives || !s->live || !s->is_view)
		return false;
	memcpy(s->homes, f->c->homes, values * sizeof(*s->homes));
	memcpy(s->lives, f->lives, values * sizeof(*s->lives));
	memcpy(s->live, f->live, nodes * sizeof(*s->live));
	memcpy(s->is_view, f->c->is_view, nodes * sizeof(*s->is_view));
	return true;
}

static void restore(struct finder *f, const struct state *s)
{
	size_t values = f->c->graph->num_values, nodes = (size_t)f->c->graph->num_nodes + 2;

	memcpy(f->c->homes, s->homes, values * sizeof(*s->homes));
	memcpy(f->lives, s->lives, values * sizeof(*s->lives));
	memcpy(f->live, s->live, nodes * sizeof(*s->live));
	memcpy(f->c->is_view, s->is_view, nodes * sizeof(*s->is_view));
	for (uint32_t n = 0; n < f->c->graph->num_nodes; n++) {
		cpu_plan_destroy(f->c->early[n]);
		f->c->early[n] = NULL;
	}
}

/*
 * Makes nodes read and write values with strides where steps can be left out. When one slice shares
 * the memory of its value, this may cost memory that is saved when all slices share it. The first
 * attempt therefore shares everything without a check; if this raises the peak of live bytes, a
 * second attempt checks each node by itself.
 */
void views_find_strided(struct finder *f)
{
	struct state before = { 0 };

	find_readers(f);
	f->bold = save(f, &before);
	arrange_nodes(f);
	if (f->bold && !views_stay_below(f, 0, f->c->graph->num_nodes)) {
		restore(f, &before);
		f->bold = false;
		arrange_nodes(f);
	}
	wnn_free(before.homes);
	wnn_free(before.lives);
	wnn_free(before.live);
	wnn_free(before.is_view);
}
