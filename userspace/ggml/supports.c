// SPDX-License-Identifier: MIT
/*
 * Tells whether the device computes an operator: it is tried in a graph of its own, which is not
 * built. Answers are kept, since ggml asks for each node of each graph.
 */
#include <string.h>

#include "plan.h"

#define MOST_ANSWERS 4096 /* a power of two */

static struct answer {
	uint64_t hash;
	bool is_known, supported;
} answers[MOST_ANSWERS];

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

static uint64_t mix_tensor(uint64_t hash, const struct gg_tensor *tensor)
{
	const struct gg_tensor *root = onpu_root(tensor);

	hash = mix(hash, &tensor->type, sizeof(tensor->type));
	hash = mix(hash, tensor->ne, sizeof(tensor->ne));
	hash = mix(hash, tensor->nb, sizeof(tensor->nb));
	hash = mix(hash, &tensor->view_offs, sizeof(tensor->view_offs));
	hash = mix(hash, root->ne, sizeof(root->ne));
	return mix(hash, root->nb, sizeof(root->nb));
}

static bool try_op(const struct gg_tensor *op)
{
	struct onpu_emit e = { .check = true };
	bool supported;

	e.builder = wnnContextCreateGraphBuilder(onpu.context);
	supported = e.builder && onpu_emit_op(&e, op);
	onpu_emit_exit(&e);
	return supported;
}

bool onpu_supports(const struct gg_tensor *op)
{
	enum onpu_kind kind = onpu_kind(op);
	struct answer *answer;
	uint64_t hash = 0xcbf29ce484222325;

	/* Nothing is computed for a node without elements: see is_computed(). */
	if (kind != KIND_GRAPH || !onpu_count(op))
		return kind != KIND_NONE;
	for (size_t i = 0; i < GG_SOURCES; i++)
		if (op->src[i] && !onpu_count(op->src[i]))
			return false; /* operands of WebNN have elements */
	hash = mix_tensor(mix(hash, &op->op, sizeof(op->op)), op);
	hash = mix(hash, op->params, sizeof(op->params));
	for (size_t i = 0; i < GG_SOURCES; i++) {
		hash = mix(hash, &i, sizeof(i));
		if (op->src[i])
			hash = mix_tensor(hash, op->src[i]);
	}
	answer = &answers[hash % MOST_ANSWERS];
	if (!answer->is_known || answer->hash != hash)
		*answer = (struct answer){ hash, true, try_op(op) };
	return answer->supported;
}
