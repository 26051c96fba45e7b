// SPDX-License-Identifier: MIT
/*
 * Fuzz target of requests to webnn-run generate --server: the first byte says whether the request
 * is a conversation, the rest is its body. A body that is taken has texts and numbers within their
 * bounds; one that is refused has a reply that is JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		abort();
}

/* Reads all bytes, so that a sanitizer finds those that are outside. */
static void look(struct gguf_text text)
{
	volatile unsigned int total = 0;

	for (size_t i = 0; i < text.size; i++)
		total += (uint8_t)text.data[i];
}

static void check(const struct request *r)
{
	const struct gguf_sampling *s = &r->sampling;

	demand(r->chat ? r->message_count > 0 : r->prompt.data || r->token_count);
	look(r->prompt);
	for (size_t i = 0; i < r->token_count; i++)
		demand(r->tokens[i] <= INT32_MAX);
	for (size_t i = 0; i < r->message_count; i++) {
		demand(r->messages[i].role < GGUF_ROLES);
		look(r->messages[i].text);
	}
	for (size_t i = 0; i < r->stops.count; i++)
		demand(r->stops.items[i].text[0]);
	demand(isnan(s->temperature) || (s->temperature >= 0 && isfinite(s->temperature)));
	demand(isnan(s->top_p) || (s->top_p >= 0 && s->top_p <= 1));
	demand(isnan(s->min_p) || (s->min_p >= 0 && s->min_p <= 1));
	demand(s->top_k >= -1 && s->top_k <= INT32_MAX && r->seed >= -1);
	demand(r->max_tokens <= INT32_MAX);
}

static void check_refusal(const struct refusal *refusal)
{
	json_t *root = reply_refusal(refusal);

	demand(root && refusal->status >= 400 && refusal->text[0]);
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct refusal refusal;
	struct request request;
	/* Memory of exactly this size, so that reading past it is found. */
	char *body = malloc(size > 1 ? size - 1 : 1);

	demand(body);
	if (size > 1)
		memcpy(body, data + 1, size - 1);
	if (size && !request_read(&request, body, size - 1, data[0] & 1, &refusal))
		check(&request);
	else if (size)
		check_refusal(&refusal);
	if (size)
		request_exit(&request);
	free(body);
	return 0;
}
