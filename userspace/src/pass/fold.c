// SPDX-License-Identifier: MIT
/*
 * Computes nodes whose operands are all constants.
 *
 * Precondition: a verified graph; the evaluator computes as the CPU back end does. Postcondition: a
 * node with only constant operands is left where its result is an output of the graph, where the
 * evaluator has no kernel, and where the result would break a limit: it has too many bytes, takes
 * too much work, or is much larger than the operands (a small constant that is expanded when the
 * graph runs takes less memory). When all nodes run on the CPU, dequantised filters of convolutions
 * may be much larger than their integers. With keep_integers, constants of 8 bits are not
 * dequantised.
 *
 *	%0 = constant				%0 = constant (transposed)
 *	%2 = transpose(%0) perm=1,0	->	%3 = matmul(%1, %0)
 *	%3 = matmul(%1, %2)
 */

#include "pass/rewrite.h"

#include "util/malloc.h"

#define DEFAULT_MAX_BYTES (UINT64_C(64) << 20)
#define DEFAULT_MAX_WORK  (UINT64_C(1) << 24)
/* A result may always be larger than the operands by this many bytes. */
#define FREE_GROWTH (UINT64_C(64) << 10)

/*
 * Returns about how many elements a node reads for one element of its result. For a convolution
 * this is an upper bound: all elements of the filter.
 */
static uint64_t depth(const struct ir_node *node)
{
	const struct ir_type *b =
		node->num_operands > 1 && node->operands[1] ? &node->operands[1]->type : NULL;
	uint64_t in = (uint64_t)ir_type_elements(&node->operands[0]->type);
	uint64_t out = (uint64_t)ir_type_elements(&node->results[0]->type);

	switch (node->op) {
	case IR_OP_CONV:
		return (uint64_t)ir_type_elements(b);
	case IR_OP_MATMUL:
		return (uint64_t)ir_type_dim(b, b->rank - (node->attrs.matmul.b_transpose ? 1 : 2));
	case IR_OP_POOL:
		return (uint64_t)node->attrs.pool.window[0] * node->attrs.pool.window[1];
	default:
		return in > out ? in / out : 1;
	}
}

static bool within_limits(const struct ir_node *node, const struct wnn_pass_options *options,
			  bool may_grow)
{
	uint64_t max_bytes = options->fold_max_bytes ? options->fold_max_bytes : DEFAULT_MAX_BYTES;
	uint64_t max_work = options->fold_max_work ? options->fold_max_work : DEFAULT_MAX_WORK;
	uint64_t in = 0, out = 0, elements = 0;

	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i])
			in += (uint64_t)ir_type_bytes(&node->operands[i]->type);
	for (uint32_t i = 0; i < node->num_results; i++) {
		out += (uint64_t)ir_type_bytes(&node->results[i]->type);
		elements += (uint64_t)ir_type_elements(&node->results[i]->type);
	}
	return out <= max_bytes && (may_grow || out <= in + FREE_GROWTH) &&
	       depth(node) <= max_work / elements;
}

bool pass_fold_allows(const struct ir_node *node, const struct wnn_pass_options *options)
{
	return within_limits(node, options, false);
}

static bool can_fold(const struct rewrite *rw, const struct ir_node *node,
		     const struct wnn_pass_options *options, bool may_grow)
{
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] &&
		    rw->value[node->operands[i]->id]->kind != IR_VALUE_CONSTANT)
			return false;
	for (uint32_t i = 0; i < node->num_results; i++)
		if (rw->is_output[node->results[i]->id])
			return false;
	return within_limits(node, options, may_grow) &&
	       options->evaluator.can(node, options->evaluator.userdata);
}

/* Adds a constant of computed bytes, which it takes over; NULL when out of memory. */
static struct ir_value *add_computed(struct rewrite *rw, const struct ir_type *type, void *data)
{
	struct ir_constant *constant = ir_constant_own(data, (size_t)ir_type_bytes(type));
	struct ir_value *value = constant ? ir_add_constant(rw->to, type, constant) : NULL;

	if (!value)
		ir_constant_unref(constant);
	return value;
}

static int compute(struct rewrite *rw, const struct ir_node *node, const void **in, void **out,
		   const struct wnn_pass_options *options)
{
	for (uint32_t i = 0; i < node->num_operands; i++) {
		if (!node->operands[i])
			continue;
		in[i] = ir_constant_data(rw->value[node->operands[i]->id]->constant);
		if (!in[i])
			return rewrite_nomem(rw);
	}
	for (uint32_t i = 0; i < node->num_results; i++) {
		out[i] = wnn_malloc((size_t)ir_type_bytes(&node->results[i]->type));
		if (!out[i])
			return rewrite_nomem(rw);
	}
	return options->evaluator.run(node, in, out, options->evaluator.userdata, rw->err);
}

static int fold(struct rewrite *rw, const struct ir_node *node,
		const struct wnn_pass_options *options)
{
	const void **in = wnn_calloc(node->num_operands + 1, sizeof(*in));
	void **out = wnn_calloc(node->num_results + 1, sizeof(*out));
	int ret = in && out ? compute(rw, node, in, out, options) : rewrite_nomem(rw);

	for (uint32_t i = 0; out && i < node->num_results; i++) {
		struct ir_value *value;

		if (ret) {
			wnn_free(out[i]);
			continue;
		}
		value = add_computed(rw, &node->results[i]->type, out[i]);
		rw->value[node->results[i]->id] = value;
		ret = value ? 0 : rewrite_nomem(rw);
	}
	wnn_free(in);
	wnn_free(out);
	rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_FOLDED, UINT32_MAX };
	return ret;
}

static bool dequantizes_bytes(const struct ir_node *node)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;

	return node->op == IR_OP_DEQUANTIZE && (dtype == IR_I8 || dtype == IR_U8);
}

/* Counts how often each value is the filter of a convolution; NULL when out of memory. */
static uint32_t *count_filters(const struct ir_graph *graph)
{
	uint32_t *filters = wnn_calloc(graph->num_values + 1, sizeof(*filters));

	for (uint32_t n = 0; n < graph->num_nodes && filters; n++)
		if (graph->nodes[n]->op == IR_OP_CONV)
			filters[graph->nodes[n]->operands[1]->id]++;
	return filters;
}

int pass_fold(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t *filters = count_filters(rw->from);
	int ret = filters ? 0 : rewrite_nomem(rw);

	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];
		uint32_t result = node->results[0]->id;
		/*
		 * Kernels of the CPU pack constant filters once; a filter that is not constant
		 * would be packed in each run.
		 */
		bool may_grow = ctx->options->widen && node->op == IR_OP_DEQUANTIZE &&
				rw->uses[result] == filters[result];

		if (!(ctx->keep_integers && dequantizes_bytes(node)) &&
		    can_fold(rw, node, ctx->options, may_grow))
			ret = fold(rw, node, ctx->options);
		else
			ret = rewrite_copy(rw, node);
	}
	wnn_free(filters);
	return ret;
}
