// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: changes the graph of a decoder when it is loaded. Caches that the graph
 * appends to are then updated in place, and only one token of a dispatch gets logits.
 */
#include "decoder_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static bool has_value(Onnx__ValueInfoProto *const *values, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (change_same(values[i]->name, name))
			return true;
	return false;
}

/* The names of caches as inputs and as outputs of the file; NULL for an output that it lacks. */
struct caches {
	const char **past, **present;
	size_t count;
};

static void free_caches(struct caches *caches)
{
	for (size_t i = 0; caches->present && i < caches->count; i++)
		free((char *)caches->present[i]);
	free(caches->past);
	free(caches->present);
}

/*
 * Lists the caches. Returns 0, or -1 with an error; the caller calls free_caches() in both cases.
 */
static int find_caches(const struct change *c, const char *past, const char *present,
		       struct caches *caches)
{
	const Onnx__GraphProto *graph = c->graph;

	*caches = (struct caches){ calloc(graph->n_input + 1, sizeof(char *)),
				   calloc(graph->n_input + 1, sizeof(char *)), 0 };
	if (!caches->past || !caches->present)
		return gguf_fail_memory(c->error);
	for (size_t i = 0; i < graph->n_input; i++) {
		const char *name = graph->input[i]->name;
		char *other = NULL;

		if (!name || strncmp(name, past, strlen(past)))
			continue;
		if (asprintf(&other, "%s%s", present, name + strlen(past)) < 0)
			return gguf_fail_memory(c->error);
		if (!has_value(graph->output, graph->n_output, other)) {
			free(other);
			other = NULL;
		}
		caches->past[caches->count] = name;
		caches->present[caches->count++] = other;
	}
	return 0;
}

/* Makes logits, and those outputs of the file that are caches, the outputs of the graph. */
static void keep_outputs(struct change *c, const struct caches *caches)
{
	const char **names = calloc(caches->count + 1, sizeof(*names));
	size_t count = 0;

	if (!names) {
		c->full = true;
		return;
	}
	names[count++] = "logits";
	for (size_t i = 0; i < caches->count; i++)
		if (caches->present[i])
			names[count++] = caches->present[i];
	change_set_outputs(c, count, names);
	free(names);
}

/*
 * Makes the graph compute the logits of one token. Most graphs end with a product, which gets one
 * row then, unless the name of its operand is longer than @from.
 */
static void pick_token(struct change *c, char from[CHANGE_NAME_SIZE])
{
	static const char *const products[] = { "MatMul", "MatMulNBits", "MatMulInteger" };
	const char *const picked = CHANGE_NEXT "picked", *const all = CHANGE_NEXT "logits";
	Onnx__NodeProto *last = change_producer(c, "logits"), *node = last;
	bool product = false;

	while (node && change_same(node->op_type, "Cast") && node->n_input == 1)
		node = change_producer(c, node->input[0]);
	for (size_t i = 0; node && i < sizeof(products) / sizeof(products[0]); i++)
		product |= change_same(node->op_type, products[i]) && node->n_input >= 2 &&
			   strlen(node->input[0]) < CHANGE_NAME_SIZE;
	if (!last)
		return;
	if (product) {
		strcpy(from, node->input[0]);
		change_add_node(c, "Gather", 1, 2, (const char *const[]){ from, DECODER_PICK },
				picked);
		change_text(c, &node->input[0], picked);
	} else {
		for (size_t i = 0; i < last->n_output; i++)
			if (change_same(last->output[i], "logits"))
				change_text(c, &last->output[i], all);
		strcpy(from, all);
		change_add_node(c, "Gather", 1, 2, (const char *const[]){ all, DECODER_PICK },
				"logits");
	}
	change_add_input(c, DECODER_PICK, ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
}

/* Makes the graph update all caches in place. */
static int change_all(struct change *c, const struct caches *caches)
{
	if (!has_value(c->graph->input, c->graph->n_input, "position_ids"))
		return gguf_fail(
			c->error,
			"the model has no input \"position_ids\"; export it with that input");
	for (size_t i = 0; i < caches->count; i++)
		if (change_cache(c, caches->past[i]))
			return -1;
	return caches->count ? change_outputs(c, caches->count, caches->past) : 0;
}

static int change_graph(struct decoder_change *change, struct change *c, const char *past,
			const char *present, bool in_place)
{
	struct caches caches;
	int ret = find_caches(c, past, present, &caches);

	for (size_t n = 0; n < c->graph->n_node; n++)
		change->sums |= change_same(c->graph->node[n]->op_type, "CumSum");
	if (!ret && has_value(c->graph->output, c->graph->n_output, "logits")) {
		pick_token(c, change->from);
		if (in_place)
			ret = change_all(c, &caches);
		else
			keep_outputs(c, &caches);
	}
	free_caches(&caches);
	return ret;
}

int decoder_change_load(struct decoder_change *change, const char *path, const char *past,
			const char *present, bool in_place, struct gguf_error *error)
{
	struct change c;
	int ret;

	change->model = NULL;
	change->in_place = in_place;
	change->sums = false;
	ret = change_init(&c, path, error);
	if (!ret && in_place) {
		c.error = &change->reason;
		ret = change_graph(change, &c, past, present, true);
		c.error = error;
		if (ret && !c.full) {
			/* The failure may come after some changes, so begin with the file again. */
			change_exit(&c);
			change->in_place = false;
			ret = change_init(&c, path, error);
		}
	}
	if (!ret && !change->in_place)
		ret = change_graph(change, &c, past, present, false);
	if (c.full)
		ret = gguf_fail_memory(error);
	if (!ret)
		ret = change_load(&c, &change->model);
	change_exit(&c);
	return ret;
}
