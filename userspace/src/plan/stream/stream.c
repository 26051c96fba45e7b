// SPDX-License-Identifier: MIT
/*
 * Builds the graph of a range in which the nodes of streamed groups are repeated for each block.
 * search.c calls stream_build() for each candidate.
 */
#include "plan/stream/slices.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/malloc.h"

/* A node of a group in one block; instances are made in the order of `when`. */
struct instance {
	uint64_t when, block;
	uint32_t node; /* index in the group */
};

struct maker {
	const struct plan *plan;
	const struct stream_groups *groups;
	struct stream_graph *out;
	size_t cap_nodes, cap_values;
	struct ir_value **value; /* by value id in the old graph: the value in the new graph */
	uint32_t origin;	 /* the node of the range for which nodes are being made */
	size_t cap_split;
	bool split; /* the bits of the nodes that are being made depend on the blocks */
	bool failed;
	/* The group that is being built: */
	const struct stream_group *group;
	struct stream_slice *slices; /* by block and node: the slices of its result */
	struct ir_value **made;	     /* by block and node: the slice of its result that is read */
	uint64_t *grid;		     /* by axis of the result: the number of blocks */
};

static const struct ir_node *node_at(const struct maker *m, uint32_t n)
{
	return m->plan->graph->nodes[m->plan->first + n];
}

static int grow(struct maker *m, void *array, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap;
	void *grown;

	if (need <= want)
		return 0;
	while (want < need)
		want = want ? 2 * want : 64;
	grown = wnn_realloc(*(void **)array, want * size);
	if (!grown) {
		m->failed = true;
		return -1;
	}
	*(void **)array = grown;
	*cap = want;
	return 0;
}

/* Notes the value of the old graph that a new value stands for; `old` is NULL for a slice. */
static void note_value(struct maker *m, const struct ir_value *value, const struct ir_value *old)
{
	if (!value ||
	    grow(m, &m->out->value, &m->cap_values, value->id + 1, sizeof(*m->out->value))) {
		m->failed = true;
		return;
	}
	m->out->value[value->id] = old ? old->id : UINT32_MAX;
}

static int note_node(struct maker *m, const struct ir_node *node)
{
	if (!node || grow(m, &m->out->node, &m->cap_nodes, node->id + 1, sizeof(*m->out->node)) ||
	    grow(m, &m->out->split, &m->cap_split, node->id + 1, sizeof(*m->out->split))) {
		m->failed = true;
		return -1;
	}
	m->out->node[node->id] = m->origin;
	m->out->split[node->id] = m->split;
	return 0;
}

static struct ir_value *add_node(struct maker *m, const struct ir_node *like, enum ir_op op,
				 struct ir_value **operands, uint32_t num_operands,
				 const struct ir_type *type, const union ir_attrs *attrs)
{
	struct ir_node *node;

	for (uint32_t i = 0; i < num_operands; i++)
		if (!operands[i] && (op == IR_OP_SLICE || op == IR_OP_CONCAT))
			m->failed = true;
	if (m->failed)
		return NULL;
	node = ir_add_node(m->out->graph, op, operands, num_operands, type, 1, attrs, like->label,
			   like->source);
	if (note_node(m, node))
		return NULL;
	note_value(m, node->results[0], NULL);
	return node->results[0];
}

/* Returns the value of the new graph for a value from outside of a group; makes it if need be. */
static struct ir_value *outer_value(struct maker *m, const struct ir_value *old)
{
	struct ir_value **value = &m->value[old->id];

	if (*value || m->failed)
		return *value;
	*value = old->kind == IR_VALUE_RESULT ? ir_add_input(m->out->graph, "", &old->type) :
						ir_copy_leaf(m->out->graph, old);
	note_value(m, *value, old);
	return *value;
}

static struct ir_type slice_type(const struct ir_type *type, const struct box *box)
{
	return ir_type_make(type->dtype, type->rank, box->dim);
}

/*
 * Adds a node that takes slice `box` of a value; the value begins at `origin` in the coordinates of
 * the box. Returns the slice.
 */
static struct ir_value *slice(struct maker *m, const struct ir_node *like, struct ir_value *value,
			      const struct box *box, const int64_t *origin)
{
	union ir_attrs attrs;
	struct ir_type type = slice_type(&value->type, box);

	memset(&attrs, 0, sizeof(attrs));
	for (uint32_t i = 0; i < type.rank; i++) {
		attrs.slice.starts[i] = (uint32_t)(box->begin[i] - origin[i]);
		attrs.slice.strides[i] = 1;
	}
	return add_node(m, like, IR_OP_SLICE, &value, 1, &type, &attrs);
}

/* ---- nodes outside of groups */

static void copy_node(struct maker *m, const struct ir_node *node)
{
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type *types = wnn_calloc(node->num_results + 1, sizeof(*types));
	struct ir_node *copy = NULL;

	for (uint32_t i = 0; operands && i < node->num_operands; i++)
		if (node->operands[i])
			operands[i] = outer_value(m, node->operands[i]);
	for (uint32_t i = 0; types && i < node->num_results; i++)
		types[i] = node->results[i]->type;
	if (operands && types && !m->failed)
		copy = ir_add_node(m->out->graph, node->op, operands, node->num_operands, types,
				   node->num_results, &node->attrs, node->label, node->source);
	wnn_free(operands);
	wnn_free(types);
	if (note_node(m, copy))
		return;
	for (uint32_t i = 0; i < node->num_results; i++) {
		m->value[node->results[i]->id] = copy->results[i];
		note_value(m, copy->results[i], node->results[i]);
	}
}

/* ---- groups */

/* Returns the index in the group of the node that defines a value; num_nodes: none does. */
static uint32_t maker_of(const struct maker *m, const struct ir_value *value)
{
	for (uint32_t i = 0; i < m->group->num_nodes; i++)
		if (node_at(m, m->group->nodes[i])->results[0] == value)
			return i;
	return m->group->num_nodes;
}

/* Returns the slice of operand k that a node needs in a block; NULL: the operand is absent. */
static struct ir_value *instance_operand(struct maker *m, const struct instance *instance,
					 uint32_t k)
{
	uint32_t num = m->group->num_nodes;
	const struct ir_node *node = node_at(m, m->group->nodes[instance->node]);
	const struct ir_value *old = node->operands[k];
	struct stream_slice *of = &m->slices[instance->block * num];
	static const int64_t origin[IR_MAX_RANK];
	struct ir_value *value;
	struct box want;
	uint32_t at;

	if (!old || !box_operand(node, k, &of[instance->node].fresh, &want))
		return NULL;
	at = maker_of(m, old);
	if (at < num) {
		value = m->made[instance->block * num + at];
		if (box_equal(&want, &of[at].need, old->type.rank) || m->failed)
			return value;
		return slice(m, node, value, &want, of[at].need.begin);
	}
	value = outer_value(m, old);
	if (box_is_whole(&want, &old->type) || m->failed)
		return value;
	return slice(m, node, value, &want, origin);
}

/*
 * Returns the rows of a result that a block needs: those that the block before has computed,
 * concatenated with the fresh rows of this block.
 */
static struct ir_value *after_kept(struct maker *m, const struct instance *instance,
				   struct ir_value *fresh)
{
	uint32_t num = m->group->num_nodes, axis = 0;
	const struct ir_node *node = node_at(m, m->group->nodes[instance->node]);
	const struct stream_slice *of = &m->slices[instance->block * num + instance->node];
	struct ir_type type = slice_type(&node->results[0]->type, &of->need);
	struct box kept = of->need;
	struct ir_value *both[2];
	union ir_attrs attrs;

	if (m->failed || box_equal(&of->need, &of->fresh, type.rank))
		return fresh;
	while (of->need.begin[axis] == of->fresh.begin[axis])
		axis++;
	kept.dim[axis] -= of->fresh.dim[axis];
	both[0] = slice(m, node, m->made[(instance->block - 1) * num + instance->node], &kept,
			of[-(ptrdiff_t)num].need.begin);
	both[1] = fresh;
	memset(&attrs, 0, sizeof(attrs));
	attrs.axis = axis;
	return add_node(m, node, IR_OP_CONCAT, both, 2, &type, &attrs);
}

/* Makes a node of the group for a block. */
static void make_instance(struct maker *m, const struct instance *instance)
{
	uint32_t n = m->group->nodes[instance->node], num = m->group->num_nodes;
	const struct ir_node *node = node_at(m, n);
	const struct box *box = &m->slices[instance->block * num + instance->node].fresh;
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type type = slice_type(&node->results[0]->type, box);
	union ir_attrs attrs = box_attrs(node, box);
	struct ir_value *fresh = NULL;

	m->origin = n;
	m->failed |= !operands;
	for (uint32_t k = 0; k < node->num_operands && !m->failed; k++)
		operands[k] = instance_operand(m, instance, k);
	if (!m->failed)
		fresh = add_node(m, node, node->op, operands, node->num_operands, &type, &attrs);
	m->made[instance->block * num + instance->node] = after_kept(m, instance, fresh);
	wnn_free(operands);
}

/* ---- attention: attend.c has the formulas */

/*
 * The running state of a block of rows: the maximum and the sum of each row (m and l of attend.c),
 * and the rows of the result (o).
 */
struct attention {
	struct ir_value *most, *sum, *rows;
};

/* The contribution of a block of keys. */
struct attended {
	/* change: the factor exp(m - m') of the running state; NULL for the first block of keys */
	struct ir_value *weights, *sum, *change;
};

static struct ir_value *add_unary(struct maker *m, const struct ir_node *like, struct ir_value *x,
				  const struct ir_unary_attrs *unary)
{
	const union ir_attrs attrs = { .unary = *unary };

	return m->failed ? NULL : add_node(m, like, IR_OP_UNARY, &x, 1, &x->type, &attrs);
}

static struct ir_value *add_binary(struct maker *m, const struct ir_node *like, enum ir_binary kind,
				   struct ir_value *a, struct ir_value *b, int act,
				   enum ir_dtype dtype)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act.kind = act } };
	struct ir_value *both[2] = { a, b };
	struct ir_type type;

	if (m->failed)
		return NULL;
	type = a->type;
	type.dtype = dtype;
	return add_node(m, like, IR_OP_BINARY, both, 2, &type, &attrs);
}

/* Adds the reduction of each row to one float32 number. Returns the new value; NULL on failure. */
static struct ir_value *add_reduce(struct maker *m, const struct ir_node *like, enum ir_reduce kind,
				   struct ir_value *x)
{
	union ir_attrs attrs;
	struct ir_type type;

	if (m->failed)
		return NULL;
	type = x->type;
	type.dtype = IR_F32;
	type.dim[type.rank - 1].value = 1;
	memset(&attrs, 0, sizeof(attrs));
	attrs.reduce.kind = kind;
	attrs.reduce.axes = 1u << (type.rank - 1);
	attrs.reduce.keep_dims = true;
	return add_node(m, like, IR_OP_REDUCE, &x, 1, &type, &attrs);
}

/*
 * Adds the product of the weights of a block of keys and the values of these keys, in float32.
 * Returns the new value; NULL on failure.
 */
static struct ir_value *add_product(struct maker *m, const struct ir_node *product,
				    struct ir_value *weights, const struct stream_slice *slices,
				    const struct box *result)
{
	static const int64_t origin[IR_MAX_RANK];
	struct ir_value *both[2] = { weights, outer_value(m, product->operands[1]) };
	struct ir_type type = slice_type(&product->results[0]->type, result);
	struct box values;

	if (m->failed || !stream_attend_values(product, result, &slices->need, &values)) {
		m->failed = true;
		return NULL;
	}
	if (!box_is_whole(&values, &both[1]->type))
		both[1] = slice(m, product, both[1], &values, origin);
	type.dtype = IR_F32;
	return add_node(m, product, IR_OP_MATMUL, both, 2, &type, &product->attrs);
}

/* Returns a node of the group, counted from its end; 1: the last. */
static const struct ir_node *group_node(const struct maker *m, uint32_t from_end)
{
	return node_at(m, m->group->nodes[m->group->num_nodes - from_end]);
}

/*
 * Makes the nodes that compute the weights of a block of keys, their sum, and the factor of the
 * running state; sets *next to these values, and a->most to the new maximum.
 */
static void make_weights(struct maker *m, uint64_t step, struct attention *a, struct attended *next)
{
	static const struct ir_unary_attrs finite = { .kind = IR_CLAMP,
						      .alpha = -FLT_MAX,
						      .beta = INFINITY };
	const struct ir_node *softmax = group_node(m, 2);
	struct ir_value *scores = m->made[(step + 1) * m->group->num_nodes - 3], *most;
	bool first = !(step % m->group->keys), last = !((step + 1) % m->group->keys);

	m->origin = softmax->id - m->plan->first;
	most = add_reduce(m, softmax, IR_REDUCE_MAX, scores);
	/* A block whose keys are all masked with -Infinity must not make later blocks NaN. */
	if (first && !last)
		most = add_unary(m, softmax, most, &finite);
	else if (!first)
		most = add_binary(m, softmax, IR_MAX, a->most, most, IR_UNARY_NONE, IR_F32);
	next->weights = add_binary(m, softmax, IR_SUB, scores, most, IR_EXP,
				   softmax->results[0]->type.dtype);
	next->sum = add_reduce(m, softmax, IR_REDUCE_SUM, next->weights);
	next->change = first ? NULL : add_binary(m, softmax, IR_SUB, a->most, most, IR_EXP, IR_F32);
	a->most = most;
}

/*
 * Adds the product of weights and values to the running rows; after the last block of keys it
 * divides them by the sums, which gives the result.
 */
static void make_rows(struct maker *m, uint64_t step, struct attention *a,
		      const struct attended *next)
{
	const struct ir_node *product = group_node(m, 1);
	uint32_t num = m->group->num_nodes;
	const struct stream_slice *slices = &m->slices[step * num];
	struct ir_value *sum = next->sum, *rows;

	m->origin = product->id - m->plan->first;
	rows = add_product(m, product, next->weights, &slices[num - 2], &slices[num - 1].need);
	if (next->change) {
		sum = add_binary(m, product, IR_MUL, a->sum, next->change, IR_UNARY_NONE, IR_F32);
		sum = add_binary(m, product, IR_ADD, sum, next->sum, IR_UNARY_NONE, IR_F32);
		a->rows = add_binary(m, product, IR_MUL, a->rows, next->change, IR_UNARY_NONE,
				     IR_F32);
		rows = add_binary(m, product, IR_ADD, a->rows, rows, IR_UNARY_NONE, IR_F32);
	}
	a->sum = sum;
	a->rows = rows;
	if (!((step + 1) % m->group->keys))
		m->made[step / m->group->keys * num + num - 1] =
			add_binary(m, product, IR_DIV, rows, sum, IR_UNARY_NONE,
				   product->results[0]->type.dtype);
}

/*
 * Makes a node of the scores for a step (a block of rows and a block of keys). A result that
 * depends on the rows alone is computed once for all blocks of keys.
 */
static void make_scores(struct maker *m, uint64_t step, uint32_t node)
{
	uint32_t num = m->group->num_nodes;
	const struct stream_slice *own = &m->slices[step * num + node];
	const struct ir_type *type = &group_node(m, num - node)->results[0]->type;

	if (step % m->group->keys && box_equal(&own->need, &own[-(ptrdiff_t)num].need, type->rank))
		m->made[step * num + node] = m->made[(step - 1) * num + node];
	else
		make_instance(m, &(struct instance){ .block = step, .node = node });
}

/*
 * Makes the nodes of attention, software-pipelined: in an iteration come the scores of step n, the
 * weights of step n - 1, and the rows of step n - 2, so that the engines do not wait for each
 * other.
 */
static void make_attention(struct maker *m)
{
	uint32_t num = m->group->num_nodes;
	uint64_t steps = stream_steps(m->group);
	struct attended next[2] = { { NULL, NULL, NULL } };
	struct attention a = { NULL, NULL, NULL };

	for (uint64_t step = 0; step < steps + 2 && !m->failed; step++) {
		for (uint32_t node = 0; step < steps && node + 2 < num; node++)
			make_scores(m, step, node);
		m->split = true;
		if (step > 0 && step <= steps)
			make_weights(m, step - 1, &a, &next[(step - 1) % 2]);
		if (step > 1)
			make_rows(m, step - 2, &a, &next[step % 2]);
		m->split = false;
	}
}

/* Concatenates the results of all blocks, along the innermost axis first. */
static void concat_blocks(struct maker *m)
{
	uint32_t num = m->group->num_nodes, last = m->group->nodes[num - 1];
	const struct ir_node *node = node_at(m, last);
	struct ir_type type = slice_type(&node->results[0]->type, &m->slices[num - 1].need);
	uint64_t count = m->group->num_blocks;
	struct ir_value **slices = wnn_calloc(count, sizeof(*slices));

	m->origin = last;
	m->failed |= !slices;
	for (uint64_t b = 0; b < count && !m->failed; b++)
		slices[b] = m->made[b * num + num - 1];
	for (uint32_t axis = type.rank; axis-- > 0;) {
		union ir_attrs attrs;

		if (m->grid[axis] == 1)
			continue;
		memset(&attrs, 0, sizeof(attrs));
		attrs.axis = axis;
		count /= m->grid[axis];
		for (uint64_t i = 0; i < count && !m->failed; i++) {
			struct ir_value **from = &slices[i * m->grid[axis]];
			struct ir_type whole = from[0]->type;

			whole.dim[axis].value = ir_type_dim(&node->results[0]->type, axis);
			slices[i] = add_node(m, node, IR_OP_CONCAT, from, (uint32_t)m->grid[axis],
					     &whole, &attrs);
		}
	}
	if (!m->failed) {
		m->value[node->results[0]->id] = slices[0];
		note_value(m, slices[0], node->results[0]);
	}
	wnn_free(slices);
}

static int by_time(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	if (x->when != y->when)
		return x->when < y->when ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Makes the nodes of all blocks of a group, and the concat of their results. */
static void make_group(struct maker *m, const struct stream_group *group)
{
	const struct ir_type *type =
		&node_at(m, group->nodes[group->num_nodes - 1])->results[0]->type;
	uint64_t steps = stream_steps(group), count = steps * group->num_nodes, grid[IR_MAX_RANK];
	struct instance *instances = wnn_calloc(count, sizeof(*instances));

	m->group = group;
	m->grid = grid;
	m->slices = wnn_calloc(count, sizeof(*m->slices));
	m->made = wnn_calloc(count, sizeof(*m->made));
	m->failed |= !instances || !m->slices || !m->made;
	for (uint32_t i = 0; i < type->rank; i++)
		grid[i] = wnn_div_up((uint64_t)ir_type_dim(type, i), (uint64_t)group->block[i]);
	for (uint64_t b = 0; b < steps && !m->failed; b++)
		stream_slices(m->plan, group, b, b ? &m->slices[(b - 1) * group->num_nodes] : NULL,
			      &m->slices[b * group->num_nodes]);
	for (uint64_t i = 0; i < count && !m->failed; i++) {
		uint32_t node = (uint32_t)(i % group->num_nodes);
		uint64_t block = i / group->num_nodes;

		instances[i] = (struct instance){ block * group->lag + node, block, node };
	}
	if (!m->failed && group->keys) {
		make_attention(m);
		count = 0;
	}
	if (!m->failed)
		qsort(instances, count, sizeof(*instances), by_time);
	for (uint64_t i = 0; i < count && !m->failed; i++)
		make_instance(m, &instances[i]);
	if (!m->failed)
		concat_blocks(m);
	wnn_free(instances);
	wnn_free(m->slices);
	wnn_free(m->made);
}

int stream_build(const struct plan *plan, const struct stream_groups *groups,
		 const uint32_t *live_out, uint32_t num_live_out, struct stream_graph *out)
{
	struct maker m = { .plan = plan, .groups = groups, .out = out };

	m.value = wnn_calloc(plan->graph->num_values + 1, sizeof(*m.value));
	out->graph = ir_graph_create();
	out->live_out = wnn_calloc(num_live_out + 1, sizeof(*out->live_out));
	m.failed = !m.value || !out->graph || !out->live_out;
	for (uint32_t n = 0; n < plan->count && !m.failed; n++) {
		uint32_t g = groups->of_node[n];
		const struct stream_group *group = g == STREAM_NO_GROUP ? NULL : &groups->groups[g];

		m.origin = n;
		if (!group || group->dropped)
			copy_node(&m, node_at(&m, n));
		else if (n == group->nodes[group->num_nodes - 1])
			make_group(&m, group);
	}
	for (uint32_t i = 0; i < num_live_out && !m.failed; i++)
		out->live_out[i] = m.value[live_out[i]]->id;
	wnn_free(m.value);
	return m.failed ? -1 : 0;
}

void stream_graph_release(struct stream_graph *graph)
{
	ir_graph_destroy(graph->graph);
	wnn_free(graph->node);
	wnn_free(graph->value);
	wnn_free(graph->split);
	wnn_free(graph->live_out);
	wnn_free(graph->manners);
	memset(graph, 0, sizeof(*graph));
}
