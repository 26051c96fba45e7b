// SPDX-License-Identifier: MIT
/*
 * Fuses matrix products that have their first operand in common, such as those of queries, keys and
 * values, so that the operand is read once.
 *
 * Precondition: a verified graph in which bias and activation are part of their products.
 * Postcondition: products of one value with constant matrices and equal attributes, whose results
 * follow each other in a concat along the columns, are one product. Other products of one value are
 * one product, too, when slicing its columns costs nothing: on the NPU, and on the CPU for a single
 * row (slices of several rows would be copied). Products are only fused when that saves time. Sums
 * may be computed in another order.
 *
 *	%3 = matmul(%0, %1)			%3 = matmul(%0, %1|%2)
 *	%4 = matmul(%0, %2)		->	%4 = slice(%3)
 *						%5 = slice(%3)
 *
 * A matrix that has another use is not taken, as it would be in memory twice. Products whose
 * results are outputs stay: they need memory of their own.
 */
#include "pass/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "pass/channels.h"
#include "util/malloc.h"

/* The most kinds of products of one value that are distinguished. */
#define MAX_KINDS 8
/* The most rows for which the NPU's matrix unit waits for weights. */
#define FEW_ROWS 64
/*
 * From so many rows on, the NPU gains by one product even where the weights leave the SRAM before
 * the next run.
 */
#define SOME_ROWS 16
/* The most bytes of weights that stay in the SRAM of large machines from one run to the next. */
#define MOST_KEPT (INT64_C(2) << 20)
/*
 * The most bytes of weights that stay in the SRAM when the product is an output of the graph: its
 * columns are computed in several tiles then, and each run loads the weights of all tiles but one
 * again.
 */
#define MOST_OF_OUTPUT (INT64_C(24) << 10)
/*
 * The most bytes of weights for which the CPU fuses products of a single row: it reads each weight
 * once anyway, so that only the overhead of a step is saved, which matters for small matrices.
 */
#define MOST_OF_LINE (INT64_C(256) << 10)

/* ---- products that may be fused */

/*
 * The state of a node. Products that can be fused with each other are of one kind; the products of
 * a kind are a linked list in the order of the graph.
 */
struct candidate {
	uint32_t leader; /* the first product of its kind; UINT32_MAX: the node cannot be fused */
	/* next: next product of the kind; last: last one, in the leader only */
	uint32_t next, last;
	uint32_t next_leader; /* leader of another kind with the same operand; in leaders only */
	bool joined;	      /* whether it is part of a fused product already */
	/* whether a concat reads it beside other products, but fusing these would not save time */
	bool alone;
};

struct joining {
	struct rewrite *rw;
	struct candidate *nodes; /* [node id] */
	uint32_t *first_leader;	 /* [value id]: the first leader of the products that read it */
	bool cpu;
};

static const struct ir_value *bias_of(const struct ir_node *product)
{
	return product->num_operands > 2 ? product->operands[2] : NULL;
}

static int64_t columns_of(const struct ir_node *product)
{
	return ir_type_dim(&product->results[0]->type, product->results[0]->type.rank - 1);
}

/*
 * Whether one product takes less time than `count` products that have `bytes` of weights.
 * @output: the one product is an output of the graph.
 *
 * Measured on the NPU with 3 matrices of 16 to 768 rows and columns: with few rows, one product
 * takes 35 to 98 % of the time, as it starts once and reads the rows once, unless the weights are
 * so many that three products keep more of them in SRAM than one does. With many rows the matrix
 * unit is busy anyway, and reading the rows only once saves time when the reads that are saved have
 * at least half as many bytes as the weights.
 */
static bool pays(const struct joining *j, const struct ir_node *product, int64_t bytes,
		 uint32_t count, bool output)
{
	int64_t rows = ir_type_elements(&product->results[0]->type) / columns_of(product);

	if (count < 2)
		return false;
	if (j->cpu)
		return rows > 1 || bytes <= MOST_OF_LINE;
	if (rows > FEW_ROWS)
		return 2 * (count - 1) * ir_type_bytes(&product->operands[0]->type) >= bytes;
	if (output)
		return bytes <= MOST_OF_OUTPUT || (rows >= SOME_ROWS && bytes > MOST_KEPT);
	return bytes <= MOST_KEPT || rows >= SOME_ROWS;
}

static bool is_candidate(const struct rewrite *rw, const struct ir_node *node)
{
	const struct ir_value *b = node->op == IR_OP_MATMUL ? node->operands[1] : NULL, *bias;
	enum ir_dtype dtype;

	if (!b || b->kind != IR_VALUE_CONSTANT || b->type.rank != 2 || rw->uses[b->id] != 1 ||
	    node->operands[0]->kind == IR_VALUE_CONSTANT || rw->is_output[node->results[0]->id])
		return false;
	bias = bias_of(node);
	dtype = node->results[0]->type.dtype;
	return (dtype == IR_F32 || dtype == IR_F16) && b->type.dtype == dtype &&
	       node->operands[0]->type.dtype == dtype &&
	       (!bias || (bias->kind == IR_VALUE_CONSTANT && bias->type.dtype == dtype &&
			  channels_each(node, &bias->type)));
}

/*
 * Whether two products are of one kind. Attributes are compared as bytes: a difference in padding
 * bytes only misses a fusion.
 */
static bool is_same_kind(const struct ir_node *a, const struct ir_node *b)
{
	return !memcmp(&a->attrs.matmul, &b->attrs.matmul, sizeof(a->attrs.matmul)) &&
	       !bias_of(a) == !bias_of(b) && a->results[0]->type.dtype == b->results[0]->type.dtype;
}

static void list_candidate(struct joining *j, const struct ir_node *node)
{
	uint32_t *link = &j->first_leader[node->operands[0]->id], kinds = 0;
	struct candidate *own = &j->nodes[node->id];

	for (; *link != UINT32_MAX && kinds < MAX_KINDS; kinds++) {
		struct candidate *leader = &j->nodes[*link];

		if (is_same_kind(j->rw->from->nodes[*link], node)) {
			own->leader = *link;
			j->nodes[leader->last].next = node->id;
			leader->last = node->id;
			return;
		}
		link = &leader->next_leader;
	}
	if (kinds == MAX_KINDS)
		return;
	*link = own->leader = own->last = node->id;
}

/* ---- fused constants */

/* A constant that concatenates the rows of several matrices, or several vectors. */
struct recipe {
	size_t rows;
	uint32_t count;
	struct ir_constant *from[];
};

static void drop_recipe(void *userdata)
{
	struct recipe *r = userdata;

	for (uint32_t i = 0; i < r->count; i++)
		ir_constant_unref(r->from[i]);
	wnn_free(r);
}

static int write_joined(void *userdata, void *data)
{
	const struct recipe *r = userdata;
	size_t pitch = 0, at = 0;

	for (uint32_t i = 0; i < r->count; i++)
		pitch += r->from[i]->bytes / r->rows;
	for (uint32_t i = 0; i < r->count; i++) {
		size_t bytes = r->from[i]->bytes / r->rows;
		const char *from = ir_constant_data(r->from[i]);

		if (!from)
			return -1;
		for (size_t row = 0; row < r->rows; row++)
			memcpy((char *)data + row * pitch + at, from + row * bytes, bytes);
		at += bytes;
	}
	return 0;
}

/*
 * Returns a constant that concatenates operand `operand` of all products; NULL when out of memory.
 */
static struct ir_value *join_constants(const struct rewrite *rw,
				       const struct ir_node *const *products, uint32_t count,
				       uint32_t operand, const struct ir_type *type, size_t rows)
{
	static const struct ir_recipe later = { write_joined, drop_recipe };
	struct recipe *r = wnn_malloc(sizeof(*r) + count * sizeof(struct ir_constant *));
	struct ir_constant *constant;
	struct ir_value *value;

	if (!r)
		return NULL;
	r->rows = rows;
	r->count = count;
	for (uint32_t i = 0; i < count; i++)
		r->from[i] = ir_constant_ref(products[i]->operands[operand]->constant);
	constant = ir_constant_later(&later, r, (size_t)ir_type_bytes(type), type->dtype, false);
	value = constant ? ir_add_constant(rw->to, type, constant) : NULL;
	if (!value)
		ir_constant_unref(constant);
	return value;
}

/* ---- fused products */

static struct ir_type with_columns(const struct ir_type *type, uint32_t axis, int64_t columns)
{
	struct ir_type joined = *type;

	joined.dim[axis] = (struct ir_dim){ .value = columns };
	return joined;
}

/* Writes the names of all products, such as "matmul+matmul+add"; a longer name is cut. */
static void name_all(char *name, size_t size, const struct ir_node *const *products, uint32_t count)
{
	size_t at = 0;

	name[0] = 0;
	for (uint32_t i = 0; i < count && at < size; i++)
		at += (size_t)snprintf(name + at, size - at, "%s%s", i ? "+" : "",
				       products[i]->source);
}

/* Adds one product with the columns of all products, in their order; NULL when out of memory. */
static struct ir_node *emit_joined(struct joining *j, const struct ir_node *const *products,
				   uint32_t count)
{
	const struct ir_node *main = products[0];
	const struct ir_type *type = &main->results[0]->type, *b = &main->operands[1]->type;
	bool transposed = main->attrs.matmul.b_transpose;
	struct ir_value *operands[3] = { j->rw->value[main->operands[0]->id] };
	struct ir_node named = *main, *node;
	struct ir_type joined, matrix;
	int64_t columns = 0;
	char name[IR_NODE_NAME_SIZE];

	for (uint32_t i = 0; i < count; i++)
		columns += columns_of(products[i]);
	joined = with_columns(type, type->rank - 1, columns);
	matrix = with_columns(b, transposed ? 0 : 1, columns);
	operands[1] = join_constants(j->rw, products, count, 1, &matrix,
				     transposed ? 1 : (size_t)ir_type_dim(b, 0));
	if (operands[1] && bias_of(main)) {
		struct ir_type vector = ir_type_make(type->dtype, 1, &columns);

		operands[2] = join_constants(j->rw, products, count, 2, &vector, 1);
	}
	if (!operands[1] || (bias_of(main) && !operands[2])) {
		rewrite_nomem(j->rw);
		return NULL;
	}
	name_all(name, sizeof(name), products, count);
	named.source = name;
	node = rewrite_add(j->rw, IR_OP_MATMUL, operands, 3, &joined, &main->attrs, &named, NULL);
	for (uint32_t i = 0; i < count && node; i++) {
		j->rw->fate[products[i]->id] =
			(struct rewrite_fate){ i ? WNN_FATE_FUSED : WNN_FATE_KEPT, node->id };
		j->nodes[products[i]->id].joined = true;
	}
	return node;
}

/* ---- a concat of products */

/*
 * Returns how many operands of a concat, from `first` on, are products of one kind that can still
 * be fused.
 */
static uint32_t run_length(const struct joining *j, const struct ir_node *concat, uint32_t first)
{
	uint32_t leader = UINT32_MAX, count = 0;

	for (uint32_t i = first; i < concat->num_operands; i++, count++) {
		const struct ir_node *product = rewrite_sole_producer(j->rw, concat->operands[i]);

		if (!product || j->nodes[product->id].leader == UINT32_MAX ||
		    j->nodes[product->id].joined || j->nodes[product->id].alone ||
		    (count && j->nodes[product->id].leader != leader))
			break;
		leader = j->nodes[product->id].leader;
	}
	return count;
}

static bool joins_columns(const struct ir_node *concat)
{
	return concat->op == IR_OP_CONCAT &&
	       concat->attrs.axis + 1 == concat->results[0]->type.rank;
}

/*
 * Marks the products that are fused because a concat reads them: run() reaches them before their
 * concat, and must leave them out.
 */
static void mark_runs(struct joining *j, const struct ir_node *concat, bool *taken)
{
	uint32_t count;

	for (uint32_t i = 0; i < concat->num_operands; i += count ? count : 1) {
		int64_t bytes = 0;
		bool gains;

		count = run_length(j, concat, i);
		for (uint32_t k = i; k < i + count; k++)
			bytes += ir_type_bytes(&concat->operands[k]->def->operands[1]->type);
		gains = count && pays(j, concat->operands[i]->def, bytes, count,
				      count == concat->num_operands &&
					      j->rw->is_output[concat->results[0]->id]);
		for (uint32_t k = i; k < i + count && count > 1; k++) {
			taken[concat->operands[k]->def->id] = gains;
			j->nodes[concat->operands[k]->def->id].alone = !gains;
		}
	}
}

static int join_concat(struct joining *j, const struct ir_node *concat)
{
	const struct ir_node **products = wnn_calloc(concat->num_operands, sizeof(*products));
	struct ir_value **operands = wnn_calloc(concat->num_operands, sizeof(*operands));
	uint32_t num = 0, count;
	struct ir_node *node = NULL;
	int ret = products && operands ? 0 : rewrite_nomem(j->rw);

	for (uint32_t i = 0; i < concat->num_operands && !ret; i += count > 1 ? count : 1) {
		count = run_length(j, concat, i);
		for (uint32_t k = 0; k < count; k++)
			products[k] = concat->operands[i + k]->def;
		node = count > 1 ? emit_joined(j, products, count) : NULL;
		if (count > 1 && !node)
			ret = -1;
		else
			operands[num++] = node ? node->results[0] :
						 j->rw->value[concat->operands[i]->id];
	}
	if (!ret && num > 1) {
		node = rewrite_emit(j->rw, IR_OP_CONCAT, operands, num, &concat->attrs, concat,
				    NULL);
		ret = node ? 0 : -1;
	} else if (!ret && num == 1 && node) {
		j->rw->value[concat->results[0]->id] = node->results[0];
		j->rw->fate[concat->id] = (struct rewrite_fate){ WNN_FATE_FUSED, node->id };
	} else if (!ret) {
		ret = rewrite_copy(j->rw, concat);
	}
	wnn_free(products);
	wnn_free(operands);
	return ret;
}

/* ---- products whose results are read separately */

static bool reads_parts(const struct joining *j, const struct ir_node *product)
{
	const struct ir_type *type = &product->results[0]->type;

	return !j->cpu || ir_type_elements(type) == columns_of(product);
}

/* Adds slices of the fused product as the results of the single products. Returns 0 or -1. */
static int cut(struct joining *j, const struct ir_node *joined,
	       const struct ir_node *const *products, uint32_t count)
{
	union ir_attrs attrs = { .slice = { .starts = { 0 } } };
	uint32_t rank = joined->results[0]->type.rank;

	for (uint32_t i = 0; i < rank; i++)
		attrs.slice.strides[i] = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct ir_node *part = rewrite_add(j->rw, IR_OP_SLICE, joined->results, 1,
						   &products[i]->results[0]->type, &attrs,
						   products[i], NULL);

		if (!part)
			return -1;
		j->rw->value[products[i]->results[0]->id] = part->results[0];
		attrs.slice.starts[rank - 1] += (uint32_t)columns_of(products[i]);
	}
	return 0;
}

/*
 * Fuses the products of a kind that are not fused for a concat, and adds a slice for each, unless
 * that would save no time. Returns 0 or -1.
 */
static int join_kind(struct joining *j, const struct ir_node *leader, const bool *taken)
{
	const struct ir_node **products;
	struct ir_node *node = NULL;
	uint32_t count = 0, at = 0;
	int64_t bytes = 0;
	int ret;

	for (uint32_t n = leader->id; n != UINT32_MAX; n = j->nodes[n].next) {
		if (taken[n] || j->nodes[n].alone)
			continue;
		bytes += ir_type_bytes(&j->rw->from->nodes[n]->operands[1]->type);
		count++;
	}
	if (!pays(j, leader, bytes, count, false))
		return 0;
	products = wnn_calloc(count, sizeof(*products));
	if (!products)
		return rewrite_nomem(j->rw);
	for (uint32_t n = leader->id; n != UINT32_MAX; n = j->nodes[n].next)
		if (!taken[n] && !j->nodes[n].alone)
			products[at++] = j->rw->from->nodes[n];
	node = emit_joined(j, products, count);
	ret = node ? cut(j, node, products, count) : -1;
	wnn_free(products);
	return ret;
}

static int run(struct joining *j, const bool *taken)
{
	const struct ir_graph *from = j->rw->from;

	for (uint32_t n = 0; n < from->num_nodes; n++) {
		const struct ir_node *node = from->nodes[n];
		const struct candidate *own = &j->nodes[n];

		/*
		 * If results may be slices, all products of a kind are fused at the position of the
		 * first one.
		 */
		if (own->leader == n && own->next != UINT32_MAX && reads_parts(j, node) &&
		    join_kind(j, node, taken))
			return -1;
		if (own->joined || taken[n])
			continue;
		if (joins_columns(node) ? join_concat(j, node) : rewrite_copy(j->rw, node))
			return -1;
	}
	return 0;
}

int pass_join_products(struct rewrite *rw, const struct pass_context *ctx)
{
	const struct ir_graph *from = rw->from;
	struct joining j = { .rw = rw, .cpu = ctx->options->widen };
	bool *taken = wnn_calloc(from->num_nodes + 1, sizeof(*taken));
	int ret;

	j.nodes = wnn_calloc(from->num_nodes + 1, sizeof(*j.nodes));
	j.first_leader = wnn_calloc(from->num_values + 1, sizeof(*j.first_leader));
	ret = j.nodes && j.first_leader && taken ? 0 : rewrite_nomem(rw);
	for (uint32_t i = 0; i < from->num_values && !ret; i++)
		j.first_leader[i] = UINT32_MAX;
	for (uint32_t n = 0; n < from->num_nodes && !ret; n++) {
		j.nodes[n] =
			(struct candidate){ UINT32_MAX, UINT32_MAX, n, UINT32_MAX, false, false };
		if (is_candidate(rw, from->nodes[n]))
			list_candidate(&j, from->nodes[n]);
	}
	for (uint32_t n = 0; n < from->num_nodes && !ret; n++)
		if (joins_columns(from->nodes[n]))
			mark_runs(&j, from->nodes[n], taken);
	if (!ret)
		ret = run(&j, taken);
	wnn_free(j.nodes);
	wnn_free(j.first_leader);
	wnn_free(taken);
	return ret;
}
