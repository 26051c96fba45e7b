// SPDX-License-Identifier: MIT
/*
 * Moves transposes after the nodes that follow them, until they meet transposes that undo them or
 * are merged with them, become part of a matrix product or a reduction, or have fewer elements to
 * move.
 *
 * Precondition: a verified graph, tidied. A region is a set of connected nodes whose operands come
 * from transposes with the same permutation; it ends at nodes that need the order after the
 * transpose. Postcondition: a region works in the order before the transpose if fewer elements are
 * moved then. When as many are, a region of element-wise functions does too, so that functions come
 * next to the nodes that make their operands. All results keep their bits, except
 * where sums are made in another order.
 *
 *	%1 = transpose(%0) [0, 2, 3, 1]
 *	%2 = unary(%1) sigmoid			%2 = unary(%0) sigmoid
 *	%3 = binary(%1, %2) mul		->	%4 = binary(%0, %2) mul
 *	%4 = transpose(%3) [0, 3, 1, 2]
 */

#include "pass/rewrite.h"

#include <string.h>

#include "pass/permute.h"
#include "util/malloc.h"

/* The role of a node for the region that its operand comes from. */
enum role {
	ROLE_NONE,     /* a node that needs operands in their original order */
	ROLE_SOURCE,   /* a transpose with which a region begins */
	ROLE_INSIDE,   /* a node that can work in the order before the transpose */
	ROLE_UNDOES,   /* a transpose that undoes the region's transpose */
	ROLE_COMPOSES, /* another transpose, which is merged with the region's transpose */
	ROLE_PRODUCT,  /* a matrix product, which can transpose an operand itself */
	ROLE_REDUCES,  /* a reduction that removes axes */
};

struct region {
	uint32_t parent; /* another node of the region, or the node itself */
	/* The members below are valid for the node that represents the region. */
	/*
	 * Elements that need not be moved any more if the region changes its order, minus those
	 * that must be moved then.
	 */
	int64_t gain;
	bool has_work;	/* whether it has nodes other than its transposes */
	bool has_heavy; /* whether some node is not element-wise */
	bool permuted;
};

struct sinking {
	struct rewrite *rw;
	const struct wnn_pass_options *options;
	enum role *roles;	/* by old node id */
	struct region *regions; /* by old node id */
	const uint32_t **perms; /* by old value id: the perm of its region, or NULL */
	uint32_t *makers;	/* by old value id, if it has a perm: a node of its region */
	/*
	 * by old value id: whether the value depends on constants alone and is small enough to be
	 * computed when the graph is built
	 */
	bool *fixed;
	/*
	 * by old value id: whether the gain of its region includes the transpose that the value
	 * needs when it leaves the region
	 */
	bool *counted;
	/* by old value id: the new value in the order before the transpose, or NULL */
	struct ir_value **permuted;
};

/* ---- regions */

static uint32_t region_of(const struct sinking *s, uint32_t node)
{
	while (s->regions[node].parent != node)
		node = s->regions[node].parent = s->regions[s->regions[node].parent].parent;
	return node;
}

static struct region *region_of_value(const struct sinking *s, const struct ir_value *value)
{
	return &s->regions[region_of(s, s->makers[value->id])];
}

static bool same_perm(const uint32_t *a, const uint32_t *b, uint32_t rank)
{
	return !memcmp(a, b, rank * sizeof(*a));
}

static bool undoes(const struct ir_node *transpose, const uint32_t *perm)
{
	for (uint32_t i = 0; i < transpose->results[0]->type.rank; i++)
		if (perm[transpose->attrs.transpose.perm[i]] != i)
			return false;
	return true;
}

static bool swaps_last(const uint32_t *perm, uint32_t rank)
{
	for (uint32_t i = 0; i + 2 < rank; i++)
		if (perm[i] != i)
			return false;
	return rank >= 2 && perm[rank - 2] == rank - 1;
}

/* Whether an operand of a node inside a region must have the order of the region. */
static bool shares_order(const struct sinking *s, const struct ir_node *node, uint32_t i)
{
	const struct ir_value *value = node->operands[i];

	return permute_takes(node, i) && s->perms[value->id] &&
	       value->type.rank == node->results[0]->type.rank;
}

/*
 * Whether an operand that comes from no region can be brought to the order before the transpose
 * without cost.
 */
static bool is_free(const struct sinking *s, const struct ir_node *node,
		    const struct ir_value *value, const uint32_t *perm)
{
	uint32_t rank = node->results[0]->type.rank, more = rank - value->type.rank;
	struct ir_type type = value->type;

	if (value->kind == IR_VALUE_CONSTANT || s->fixed[value->id])
		return true;
	for (uint32_t i = rank; i-- > 0;)
		type.dim[i] = i < more ? (struct ir_dim){ 1, 0 } : value->type.dim[i - more];
	type.rank = rank;
	type = permute_shape_back(&type, perm);
	return permute_moves_nothing(&type, perm);
}

/* Returns the perm of the region in which a node can work, or NULL. */
static const uint32_t *perm_inside(const struct sinking *s, const struct ir_node *node)
{
	uint32_t rank = node->results[0]->type.rank;
	const uint32_t *perm = NULL;

	if (node->num_results != 1)
		return NULL;
	for (uint32_t i = 0; i < node->num_operands && !perm; i++)
		if (node->operands[i] && shares_order(s, node, i))
			perm = s->perms[node->operands[i]->id];
	if (!perm || !permute_can(node, perm))
		return NULL;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (!value || !permute_takes(node, i))
			continue;
		if (shares_order(s, node, i) ? !same_perm(perm, s->perms[value->id], rank) :
					       !is_free(s, node, value, perm))
			return NULL;
	}
	return perm;
}

/*
 * Returns the role of a node that is not inside a region: a matrix product is ROLE_PRODUCT; another
 * node has a role only when its first operand comes from a region.
 */
static enum role role_outside(const struct sinking *s, const struct ir_node *node)
{
	const struct ir_value *value = node->num_operands ? node->operands[0] : NULL;
	const uint32_t *perm = value ? s->perms[value->id] : NULL;

	if (node->op == IR_OP_MATMUL)
		return ROLE_PRODUCT;
	if (!perm)
		return ROLE_NONE;
	if (node->op == IR_OP_TRANSPOSE)
		return undoes(node, perm) ? ROLE_UNDOES : ROLE_COMPOSES;
	return node->op == IR_OP_REDUCE && !node->attrs.reduce.keep_dims ? ROLE_REDUCES : ROLE_NONE;
}

static void set_perm(struct sinking *s, const struct ir_node *node, const uint32_t *perm)
{
	s->perms[node->results[0]->id] = perm;
	s->makers[node->results[0]->id] = node->id;
}

static void note_fixed(struct sinking *s, const struct ir_node *node)
{
	bool fixed = node->num_operands > 0 && pass_fold_allows(node, s->options);

	for (uint32_t i = 0; i < node->num_operands; i++)
		fixed &= !node->operands[i] || node->operands[i]->kind == IR_VALUE_CONSTANT ||
			 s->fixed[node->operands[i]->id];
	for (uint32_t i = 0; i < node->num_results; i++)
		s->fixed[node->results[i]->id] = fixed;
}

static void find_regions(struct sinking *s)
{
	const struct ir_graph *graph = s->rw->from;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];
		const uint32_t *perm;

		s->regions[n].parent = n;
		note_fixed(s, node);
		if (node->op == IR_OP_TRANSPOSE && !s->perms[node->operands[0]->id] &&
		    !s->fixed[node->results[0]->id]) {
			s->roles[n] = ROLE_SOURCE;
			set_perm(s, node, node->attrs.transpose.perm);
			continue;
		}
		perm = perm_inside(s, node);
		if (!perm) {
			s->roles[n] = role_outside(s, node);
			continue;
		}
		s->roles[n] = ROLE_INSIDE;
		set_perm(s, node, perm);
		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i] && shares_order(s, node, i))
				s->regions[region_of(s, s->makers[node->operands[i]->id])].parent =
					region_of(s, n);
	}
}

/* ---- gain of a region */

static int64_t moved_elements(const struct ir_value *value, const uint32_t *perm)
{
	struct ir_type before = permute_shape_back(&value->type, perm);

	return permute_moves_nothing(&before, perm) ? 0 : ir_type_elements(&value->type);
}

/*
 * Sets `left` to the perm of a reduction's result when the reduction works in the order before the
 * transpose; false when its axes keep their order.
 */
static bool perm_left(const struct ir_node *node, const uint32_t *perm, uint32_t *left)
{
	uint32_t rank = node->operands[0]->type.rank, count = 0;
	bool moves = false;

	for (uint32_t i = 0; i < rank; i++) {
		if (node->attrs.reduce.axes >> i & 1)
			continue;
		left[count] = 0;
		for (uint32_t k = 0; k < rank; k++)
			left[count] += !(node->attrs.reduce.axes >> k & 1) && perm[k] < perm[i];
		moves |= left[count] != count;
		count++;
	}
	return moves;
}

/*
 * Whether a product can transpose operand i itself. It cannot if the operand is dequantised, as the
 * dequantisation must stay next to the product.
 */
static bool transposes(const struct sinking *s, const struct ir_node *node, uint32_t i)
{
	const struct ir_value *value = node->operands[i];
	const struct ir_node *source;

	if (s->roles[node->id] != ROLE_PRODUCT || i > 1 || !s->perms[value->id] ||
	    !swaps_last(s->perms[value->id], value->type.rank))
		return false;
	source = value->def->op == IR_OP_TRANSPOSE ? value->def->operands[0]->def : value->def;
	return !source || source->op != IR_OP_DEQUANTIZE;
}

/*
 * Returns how many elements of operand i a node must move when the region is in the order before
 * the transpose; -1: the operand leaves its region, and must be transposed.
 */
static int64_t moved_for(const struct sinking *s, const struct ir_node *node, uint32_t i)
{
	const struct ir_value *value = node->operands[i];
	uint32_t left[IR_MAX_RANK];

	switch (s->roles[node->id]) {
	case ROLE_INSIDE:
		return shares_order(s, node, i) ? 0 : -1;
	case ROLE_COMPOSES:
		return ir_type_elements(&value->type);
	case ROLE_PRODUCT:
		return transposes(s, node, i) ? 0 : -1;
	case ROLE_REDUCES:
		return perm_left(node, s->perms[value->id], left) ?
			       ir_type_elements(&node->results[0]->type) :
			       0;
	default:
		return -1;
	}
}

static void count_leaving(struct sinking *s, const struct ir_value *value)
{
	if (s->counted[value->id])
		return;
	s->counted[value->id] = true;
	region_of_value(s, value)->gain -= moved_elements(value, s->perms[value->id]);
}

/*
 * Adds to the gain of a region the elements that a node need not move any more, and subtracts those
 * that it must move instead.
 */
static void count_node(struct sinking *s, const struct ir_node *node)
{
	const struct ir_value *result = node->results[0];
	enum role role = s->roles[node->id];

	if (role == ROLE_SOURCE)
		s->regions[region_of(s, node->id)].gain += ir_type_elements(&result->type);
	if (role == ROLE_INSIDE) {
		struct region *region = &s->regions[region_of(s, node->id)];

		region->has_work = true;
		region->has_heavy |= !permute_is_elementwise(node->op);
	}
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];
		int64_t moved;

		if (!value || !s->perms[value->id])
			continue;
		if (role == ROLE_UNDOES || role == ROLE_COMPOSES)
			region_of_value(s, value)->gain += ir_type_elements(&result->type);
		if (role == ROLE_UNDOES)
			continue;
		moved = moved_for(s, node, i);
		if (moved < 0)
			count_leaving(s, value);
		else
			region_of_value(s, value)->gain -= moved;
	}
}

static void choose_regions(struct sinking *s)
{
	const struct ir_graph *graph = s->rw->from;

	for (uint32_t n = 0; n < graph->num_nodes; n++)
		count_node(s, graph->nodes[n]);
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		if (s->perms[graph->outputs[i].value->id])
			count_leaving(s, graph->outputs[i].value);
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		struct region *region = &s->regions[n];

		region->permuted = region->gain > 0 ||
				   (region->gain == 0 && region->has_work && !region->has_heavy);
	}
}

/* ---- the new graph */

static bool is_permuted(const struct sinking *s, const struct ir_value *value)
{
	return s->perms[value->id] && region_of_value(s, value)->permuted;
}

static struct ir_value *add_move(struct sinking *s, enum ir_op op, struct ir_value *value,
				 const struct ir_type *type, const uint32_t *perm)
{
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };
	struct ir_node *node;

	if (op == IR_OP_TRANSPOSE)
		memcpy(attrs.transpose.perm, perm, type->rank * sizeof(*perm));
	node = ir_add_node(s->rw->to, op, &value, 1, type, 1, &attrs, "",
			   op == IR_OP_RESHAPE ? "reshape" : "transpose");
	return node ? node->results[0] : NULL;
}

/* Returns the new value of an old one in the original order; NULL when out of memory. */
static struct ir_value *in_order(struct sinking *s, const struct ir_value *old)
{
	struct ir_value **value = &s->rw->value[old->id], *permuted = s->permuted[old->id];
	const uint32_t *perm = s->perms[old->id];

	if (!*value && permuted)
		*value = add_move(s,
				  permute_moves_nothing(&permuted->type, perm) ? IR_OP_RESHAPE :
										 IR_OP_TRANSPOSE,
				  permuted, &old->type, perm);
	return *value;
}

/* Returns a constant with another shape that shares the data; NULL when out of memory. */
static struct ir_value *share_constant(struct sinking *s, const struct ir_value *constant,
				       const struct ir_type *type)
{
	struct ir_value *value =
		ir_add_constant(s->rw->to, type, ir_constant_ref(constant->constant));

	if (!value)
		ir_constant_unref(constant->constant);
	return value;
}

/*
 * Returns the new value of an operand that is_free(), in the order before @perm, with @rank
 * dimensions. Adds a reshape or transpose where that takes one; that of a constant is computed when
 * the graph is built. NULL: out of memory.
 */
static struct ir_value *permute_leaf(struct sinking *s, const struct ir_value *old,
				     const uint32_t *perm, uint32_t rank)
{
	struct ir_value *value = in_order(s, old);
	uint32_t more = rank - old->type.rank, back[IR_MAX_RANK];
	struct ir_type whole = old->type, type;

	if (!value)
		return NULL;
	for (uint32_t i = rank; i-- > 0;)
		whole.dim[i] = i < more ? (struct ir_dim){ 1, 0 } : old->type.dim[i - more];
	whole.rank = rank;
	type = permute_shape_back(&whole, perm);
	if (permute_moves_nothing(&type, perm))
		return value->kind == IR_VALUE_CONSTANT ?
			       share_constant(s, value, &type) :
			       add_move(s, IR_OP_RESHAPE, value, &type, NULL);
	if (more)
		value = add_move(s, IR_OP_RESHAPE, value, &whole, NULL);
	for (uint32_t i = 0; i < rank; i++)
		back[perm[i]] = i;
	return value ? add_move(s, IR_OP_TRANSPOSE, value, &type, back) : NULL;
}

/* Returns the new value of operand i of a node inside a region; NULL when out of memory. */
static struct ir_value *operand_inside(struct sinking *s, const struct ir_node *node, uint32_t i)
{
	const struct ir_value *value = node->operands[i];
	uint32_t rank = node->results[0]->type.rank;

	if (!permute_takes(node, i))
		return in_order(s, value);
	if (shares_order(s, node, i))
		return s->permuted[value->id];
	return permute_leaf(s, value, s->perms[node->results[0]->id], rank);
}

static int keep(struct sinking *s, const struct ir_node *node, const struct ir_node *emitted)
{
	if (!emitted)
		return rewrite_nomem(s->rw);
	s->rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_KEPT, emitted->id };
	return 0;
}

static int emit_inside(struct sinking *s, const struct ir_node *node)
{
	const uint32_t *perm = s->perms[node->results[0]->id];
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type type = permute_shape_back(&node->results[0]->type, perm);
	union ir_attrs attrs = node->attrs;
	struct ir_node *emitted = NULL;
	bool complete = operands != NULL;

	for (uint32_t i = 0; i < node->num_operands && complete; i++) {
		if (!node->operands[i])
			continue;
		operands[i] = operand_inside(s, node, i);
		complete = operands[i] != NULL;
	}
	permute_attributes(node->op, &attrs, perm, type.rank);
	if (complete)
		emitted = ir_add_node(s->rw->to, node->op, operands, node->num_operands, &type, 1,
				      &attrs, node->label, node->source);
	wnn_free(operands);
	if (emitted)
		s->permuted[node->results[0]->id] = emitted->results[0];
	return keep(s, node, emitted);
}

/*
 * Replaces the result of a transpose that undoes that of the region; an output still needs a node.
 * Returns 0 or -1.
 */
static int emit_undone(struct sinking *s, const struct ir_node *node)
{
	struct ir_value *permuted = s->permuted[node->operands[0]->id];

	if (permuted->kind != IR_VALUE_RESULT && s->rw->is_output[node->results[0]->id])
		return in_order(s, node->operands[0]) ? rewrite_copy(s->rw, node) :
							rewrite_nomem(s->rw);
	rewrite_bypass(s->rw, node, permuted, WNN_FATE_VIEW);
	return 0;
}

static int emit_composed(struct sinking *s, const struct ir_node *node)
{
	const uint32_t *perm = s->perms[node->operands[0]->id];
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };

	for (uint32_t i = 0; i < node->results[0]->type.rank; i++)
		attrs.transpose.perm[i] = perm[node->attrs.transpose.perm[i]];
	return rewrite_emit(s->rw, IR_OP_TRANSPOSE, &s->permuted[node->operands[0]->id], 1, &attrs,
			    node, NULL) ?
		       0 :
		       -1;
}

static int emit_product(struct sinking *s, const struct ir_node *node)
{
	struct ir_value *operands[3] = { NULL };
	union ir_attrs attrs = node->attrs;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (!value)
			continue;
		if (is_permuted(s, value) && transposes(s, node, i)) {
			bool *flag = i ? &attrs.matmul.b_transpose : &attrs.matmul.a_transpose;

			*flag = !*flag;
			operands[i] = s->permuted[value->id];
		} else {
			operands[i] = in_order(s, value);
		}
		if (!operands[i])
			return rewrite_nomem(s->rw);
	}
	return rewrite_emit(s->rw, IR_OP_MATMUL, operands, node->num_operands, &attrs, node, NULL) ?
		       0 :
		       -1;
}

static int emit_reduced(struct sinking *s, const struct ir_node *node)
{
	const uint32_t *perm = s->perms[node->operands[0]->id];
	struct ir_type type = node->results[0]->type;
	union ir_attrs attrs = node->attrs;
	uint32_t left[IR_MAX_RANK] = { 0 };
	struct ir_value *value;
	struct ir_node *emitted;
	bool moves = perm_left(node, perm, left);

	permute_attributes(node->op, &attrs, perm, node->operands[0]->type.rank);
	type = permute_shape_back(&type, left);
	emitted = ir_add_node(s->rw->to, node->op, &s->permuted[node->operands[0]->id], 1, &type, 1,
			      &attrs, node->label, node->source);
	value = emitted ? emitted->results[0] : NULL;
	if (value && moves)
		value = add_move(s, IR_OP_TRANSPOSE, value, &node->results[0]->type, left);
	if (!value)
		return rewrite_nomem(s->rw);
	s->rw->value[node->results[0]->id] = value;
	return keep(s, node, emitted);
}

static int emit(struct sinking *s, const struct ir_node *node)
{
	const struct ir_value *value = node->num_operands ? node->operands[0] : NULL;
	bool permuted = value && is_permuted(s, value);

	switch (s->roles[node->id]) {
	case ROLE_SOURCE:
		s->permuted[node->results[0]->id] = s->rw->value[value->id];
		break;
	case ROLE_INSIDE:
		if (is_permuted(s, node->results[0]))
			return emit_inside(s, node);
		break;
	case ROLE_UNDOES:
		if (permuted)
			return emit_undone(s, node);
		break;
	case ROLE_COMPOSES:
		if (permuted)
			return emit_composed(s, node);
		break;
	case ROLE_PRODUCT:
		return emit_product(s, node);
	case ROLE_REDUCES:
		if (permuted)
			return emit_reduced(s, node);
		break;
	case ROLE_NONE:
		break;
	}
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] && !in_order(s, node->operands[i]))
			return rewrite_nomem(s->rw);
	return rewrite_copy(s->rw, node);
}

static int rebuild(struct sinking *s)
{
	const struct ir_graph *from = s->rw->from;

	for (uint32_t n = 0; n < from->num_nodes; n++)
		if (emit(s, from->nodes[n]))
			return -1;
	for (uint32_t i = 0; i < from->num_outputs; i++)
		if (!in_order(s, from->outputs[i].value))
			return rewrite_nomem(s->rw);
	return 0;
}

int pass_sink_transposes(struct rewrite *rw, const struct pass_context *ctx)
{
	size_t nodes = (size_t)rw->from->num_nodes + 1;
	size_t values = (size_t)rw->from->num_values + 1;
	struct sinking s = {
		.rw = rw,
		.options = ctx->options,
		.roles = wnn_calloc(nodes, sizeof(*s.roles)),
		.regions = wnn_calloc(nodes, sizeof(*s.regions)),
		.perms = wnn_calloc(values, sizeof(*s.perms)),
		.makers = wnn_calloc(values, sizeof(*s.makers)),
		.fixed = wnn_calloc(values, sizeof(*s.fixed)),
		.counted = wnn_calloc(values, sizeof(*s.counted)),
		.permuted = wnn_calloc(values, sizeof(struct ir_value *)),
	};
	int ret;

	if (s.roles && s.regions && s.perms && s.makers && s.fixed && s.counted && s.permuted) {
		find_regions(&s);
		choose_regions(&s);
		ret = rebuild(&s);
	} else {
		ret = rewrite_nomem(rw);
	}
	wnn_free(s.roles);
	wnn_free(s.regions);
	wnn_free((void *)s.perms);
	wnn_free(s.makers);
	wnn_free(s.fixed);
	wnn_free(s.counted);
	wnn_free((void *)s.permuted);
	return ret;
}
