// SPDX-License-Identifier: MIT
/* webnn-run generate: reads a language model, builds its graphs, and generates token by token. */
#include "language.h"

#include <stdlib.h>
#include <time.h>

static int fail_model(const struct language *l, const struct gguf_error *error)
{
	return complain(BAD_MODEL, "%s: %s", l->path, error->text);
}

int language_read(struct language *l, const char *path)
{
	struct gguf_error error;
	size_t longest = 0;

	*l = (struct language){ .path = path };
	if (gguf_open(&l->gguf, path, &error) ||
	    gguf_vocabulary_init(&l->vocabulary, &l->gguf, &error) ||
	    gguf_llama_init(&l->model, &l->gguf, &error) ||
	    gguf_sampler_init(&l->sampler, &l->gguf, &error))
		return fail_model(l, &error);
	if (l->vocabulary.count > l->model.vocabulary)
		return complain(BAD_MODEL, "%s: its tokenizer has %zu tokens, its model only %u",
				path, l->vocabulary.count, l->model.vocabulary);
	for (size_t i = 0; i < l->vocabulary.count; i++)
		if (l->vocabulary.texts[i].size > longest)
			longest = l->vocabulary.texts[i].size;
	l->piece = malloc(longest + 1);
	l->logits = calloc(l->model.vocabulary, sizeof(*l->logits));
	if (!l->piece || !l->logits)
		return complain(BAD_DEVICE, "%s: memory is exhausted", path);
	return DONE;
}

int language_build(struct language *l, const struct options *options, uint64_t length,
		   uint64_t block)
{
	int ret = target_open(&l->target, options, options->device);
	struct gguf_error error;

	if (ret)
		return ret;
	if (gguf_session_open(&l->session, &l->model, l->target.context, (uint32_t)length,
			      (uint32_t)block, &error))
		return fail_model(l, &error);
	return DONE;
}

void language_close(struct language *l)
{
	gguf_session_close(&l->session);
	target_close(&l->target);
	gguf_sampler_exit(&l->sampler);
	gguf_llama_exit(&l->model);
	gguf_vocabulary_exit(&l->vocabulary);
	gguf_close(&l->gguf);
	free(l->logits);
	free(l->piece);
}

uint64_t language_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	/* JSON has integers of 64 bits with a sign. */
	return ((uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 20) & INT64_MAX;
}

/* ---- the answer */

/* Feeds the next block of the prompt. The logits are read behind its last token alone. */
static int feed_prompt(struct answer *a, struct language *l, struct gguf_error *error)
{
	size_t count = a->tokens.count - a->fed, block = l->session.block.tokens;
	uint64_t begin = nanoseconds();

	if (count > block)
		count = block;
	if (gguf_session_feed(&l->session, a->caches, a->tokens.items + a->fed, count,
			      a->fed + count == a->tokens.count ? l->logits : NULL, error))
		return -1;
	a->fed += count;
	a->prompt_ns += nanoseconds() - begin;
	return 0;
}

/* Feeds the token that was drawn last, and adds what that took. */
static int feed_last(struct answer *a, struct language *l, struct gguf_error *error)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	uint64_t begin = nanoseconds();

	if (gguf_session_feed(&l->session, a->caches, &a->last, 1, l->logits, error))
		return -1;
	a->ns += nanoseconds() - begin;
	a->evaluated++;
	if (wnnGraphGetLastStatistics(l->session.one.graph, &statistics) == WNNStatus_Success) {
		a->cycles += statistics.npuCycles;
		a->bytes_read += statistics.bytesRead;
		a->bytes_written += statistics.bytesWritten;
	}
	return 0;
}

/* Adds the text of the token that was drawn, or ends the answer. */
static int take(struct answer *a, struct language *l, struct gguf_error *error)
{
	const struct gguf_vocabulary *v = &l->vocabulary;

	if (a->last < v->count && v->ends[a->last]) {
		a->end = "end";
		return 0;
	}
	a->count++;
	if (a->count == a->most)
		a->end = "length";
	/* Some models have more rows than the tokenizer has tokens, to make a rounder number. */
	if (a->last >= v->count)
		return 0;
	if (generated_add(&a->text, l->piece, gguf_piece(v, a->last, false, l->piece), a->stops))
		return gguf_fail_memory(error);
	if (a->text.stopped)
		a->end = "stop";
	return 0;
}

int answer_step(struct answer *a, struct language *l, struct gguf_error *error)
{
	bool prompt = a->fed < a->tokens.count;

	if (prompt ? feed_prompt(a, l, error) : feed_last(a, l, error))
		return -1;
	if (a->fed < a->tokens.count)
		return 0;
	if (gguf_sample(&a->sampler, l->logits, l->model.vocabulary, &a->last, error))
		return -1;
	return take(a, l, error);
}

void answer_exit(struct answer *a)
{
	gguf_tokens_free(&a->tokens);
	gguf_sampler_exit(&a->sampler);
	free(a->text.data);
}
