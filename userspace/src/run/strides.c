// SPDX-License-Identifier: MIT
/*
 * Finds what products on the CPU read and write in steps: matrices between others, as the heads of an attention are before they
 * are transposed, or parts along columns of what one product has made. No step has to make such a value.
 */
#include <string.h>

#include "cpu/cpu.h"
#include "run/device.h"
#include "run/views.h"
#include "util/malloc.h"

/* As many operators at the most are between a product and what it reads or writes in steps. */
#define MAX_CHAIN 6

/* Where the elements of a value lie in another one: elements from its begin, and for each axis from one to the next. */
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

/* Strides of one shape in place of those of another; false: there are none that say the same. */
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

/* From where the operand of a node lies to where its result does. */
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

/* The other way, for what is no slice. */
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

/* Whether a node only says where elements lie, and its result need not lie densely yet. */
static bool is_link(const struct finder *f, const struct ir_node *node)
{
	return (node->op == IR_OP_TRANSPOSE || node->op == IR_OP_RESHAPE ||
		node->op == IR_OP_SLICE) &&
	       (views_show_all(node) || !f->c->is_view[node->id]);
}

/* Takes what the nodes make off what lives, or adds it again. */
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

/* Has a value live until node n in the place of what the nodes make; false: that would cost memory. */
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

/* The nodes make nothing any more: what they would lies in that value, as its readers or the writer know. */
static void link_chain(struct finder *f, const struct ir_node *const *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		f->lives[chain[i]->results[0]->id].first = NEVER;
		f->c->is_view[chain[i]->id] = true;
	}
}

/* The nodes that make an operand of which it is the only reader, the last one first, as far as they only say where it lies. */
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

/* Whether one of the nodes has a step of its own so far. */
static bool has_step(const struct finder *f, const struct ir_node *const *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!f->c->is_view[chain[i]->id])
			return true;
	return false;
}

/* A product's kernel, if it has one that knows steps. */
static struct cpu_prepared *prepare(struct finder *f, uint32_t n)
{
	if (!f->c->early[n])
		f->c->early[n] = cpu_prepare_arrangeable(f->c->device->cpu, f->c->graph->nodes[n]);
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
		if (!known)
			continue;
		if (!prepare(f, n))
			return false;
		if (!live_instead(f, chain, count, source, n))
			continue;
		if (!cpu_prepared_arrange(f->c->early[n], node, operand, s.stride)) {
			add_chain(f, chain, count, 1);
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

/* The result of a product goes where those that alone read it would bring it. */
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
		if (!known || f->lives[node->results[0]->id].first == NEVER || !prepare(f, n) ||
		    !cpu_prepared_arrange(f->c->early[n], node, CPU_RESULT, s.stride))
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

static void count_uses(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t v = 0; v < graph->num_values; v++)
		f->reader[v] = NEVER;
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		for (uint32_t i = 0; i < graph->nodes[n]->num_operands; i++)
			if (graph->nodes[n]->operands[i]) {
				f->uses[graph->nodes[n]->operands[i]->id]++;
				f->reader[graph->nodes[n]->operands[i]->id] = n;
			}
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		f->uses[graph->outputs[i].value->id]++;
}

/* Their elements are float32. */
static void arrange_products(struct finder *f)
{
	const struct ir_graph *graph = f->c->graph;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];
		bool arranged;

		if (node->op != IR_OP_MATMUL || node->results[0]->type.dtype != IR_F32 ||
		    node->operands[1]->kind == IR_VALUE_CONSTANT)
			continue;
		arranged = try_operand(f, n, 0);
		arranged |= try_operand(f, n, 1);
		arranged |= try_result(f, n);
		/* Where all is dense, another kernel may be faster. */
		if (!arranged) {
			cpu_prepared_destroy(f->c->early[n]);
			f->c->early[n] = NULL;
		}
	}
}

/* What is known before products are arranged. */
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
		cpu_prepared_destroy(f->c->early[n]);
		f->c->early[n] = NULL;
	}
}

/* Parts of one value may cost memory each that they save together: at first all are taken, and one by one if that is too much. */
void views_find_strided(struct finder *f)
{
	struct state before = { 0 };

	count_uses(f);
	f->bold = save(f, &before);
	arrange_products(f);
	if (f->bold && !views_stay_below(f, 0, f->c->graph->num_nodes)) {
		restore(f, &before);
		f->bold = false;
		arrange_products(f);
	}
	wnn_free(before.homes);
	wnn_free(before.lives);
	wnn_free(before.live);
	wnn_free(before.is_view);
}
