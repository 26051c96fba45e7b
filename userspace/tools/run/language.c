// SPDX-License-Identifier: MIT
/* webnn-run generate: reads a language model, builds its graphs, and generates token by token. */
#include "language.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model_file.h"
#include "tokenizer.h"

/* The context, in tokens, of a model of ONNX if its config.json gives no other length. */
#define DEFAULT_CONTEXT 2048

static int read_gguf(struct language *l, struct gguf_error *error)
{
	if (gguf_open(&l->gguf, l->path, error) ||
	    gguf_vocabulary_init(&l->vocabulary, &l->gguf, error) ||
	    gguf_llama_init(&l->model, &l->gguf, error))
		return -1;
	l->rows = l->model.vocabulary;
	l->context = l->model.context;
	l->limited = true;
	return 0;
}

static int read_onnx(struct language *l, const struct language_names *names,
		     struct gguf_error *error)
{
	uint64_t context = DEFAULT_CONTEXT, window = INT32_MAX;

	l->onnx = true;
	if (decoder_read(&l->decoder, l->path, names->past, names->present, error) ||
	    tokenizer_read(l->path, &l->keys, error) ||
	    gguf_read(&l->gguf, l->keys.data, l->keys.size, error) ||
	    gguf_vocabulary_init(&l->vocabulary, &l->gguf, error) ||
	    gguf_number(&l->gguf, "onnx.context_length", INT32_MAX, &context, error) ||
	    gguf_number(&l->gguf, "onnx.sliding_window", INT32_MAX, &window, error))
		return -1;
	l->rows = l->decoder.rows;
	/*
	 * The graph measures a window of attention from the end of the caches: in caches that are
	 * updated in place, no token may be outside of it.
	 */
	l->context = (uint32_t)(l->decoder.change.in_place && window < context ? window : context);
	l->limited = gguf_key(&l->gguf, "onnx.context_length") || l->context == window;
	return 0;
}

int language_read(struct language *l, const char *path, const struct language_names *names)
{
	struct gguf_error error;
	size_t longest = 0;
	bool onnx;

	*l = (struct language){ .path = path };
	onnx = !gguf_is(path) && strlen(path) > 5 && !strcmp(path + strlen(path) - 5, ".onnx");
	if ((onnx ? read_onnx(l, names, &error) : read_gguf(l, &error)) ||
	    gguf_sampler_init(&l->sampler, &l->gguf, &error))
		return complain_model(path, &error);
	if (l->vocabulary.count > l->rows)
		return complain(BAD_MODEL,
				"%s: the tokenizer has %zu tokens, but the model only %u: use the "
				"tokenizer of this model",
				path, l->vocabulary.count, l->rows);
	for (size_t i = 0; i < l->vocabulary.count; i++)
		if (l->vocabulary.texts[i].size > longest)
			longest = l->vocabulary.texts[i].size;
	l->piece = malloc(longest + 1);
	l->logits = calloc(l->rows, sizeof(*l->logits));
	if (!l->piece || !l->logits)
		return complain_memory(path);
	return DONE;
}

int language_build(struct language *l, const struct options *options, uint64_t length,
		   uint64_t block)
{
	int ret = target_open(&l->target, options, options->device);
	struct gguf_error error;

	if (ret)
		return ret;
	if (l->onnx ? decoder_open(&l->decoder, l->target.context, (uint32_t)length,
				   (uint32_t)block, &error) :
		      gguf_session_open(&l->session, &l->model, l->target.context, (uint32_t)length,
					(uint32_t)block, &error))
		return complain_model(l->path, &error);
	return DONE;
}

void language_close(struct language *l)
{
	decoder_close(&l->decoder);
	gguf_session_close(&l->session);
	target_close(&l->target);
	gguf_sampler_exit(&l->sampler);
	gguf_llama_exit(&l->model);
	gguf_vocabulary_exit(&l->vocabulary);
	gguf_close(&l->gguf);
	free(l->keys.data);
	free(l->logits);
	free(l->piece);
}

bool language_takes_more(const struct language *l, uint64_t most)
{
	return !l->limited || most < l->context;
}

WNNGraph language_graph(const struct language *l)
{
	return l->onnx ? l->decoder.one.graph : l->session.one.graph;
}

uint32_t language_length(const struct language *l)
{
	return l->onnx ? l->decoder.length : l->session.length;
}

uint32_t language_block(const struct language *l)
{
	return l->onnx ? l->decoder.block.tokens : l->session.block.tokens;
}

int language_caches_open(struct gguf_caches *caches, const struct language *l,
			 struct gguf_error *error)
{
	return l->onnx ? decoder_caches_open(caches, &l->decoder, error) :
			 gguf_caches_open(caches, &l->session, error);
}

int language_caches_clear(struct gguf_caches *caches, const struct language *l,
			  struct gguf_error *error)
{
	return l->onnx ? decoder_caches_clear(caches, &l->decoder, error) :
			 gguf_caches_clear(caches, &l->session, error);
}

void language_caches_close(struct gguf_caches *caches, const struct language *l)
{
	if (l->onnx)
		decoder_caches_close(caches, &l->decoder);
	else
		gguf_caches_close(caches, &l->session);
}

static int feed(struct language *l, struct gguf_caches *caches, const uint32_t *tokens,
		size_t count, float *logits, struct gguf_error *error)
{
	return l->onnx ? decoder_feed(&l->decoder, caches, tokens, count, logits, error) :
			 gguf_session_feed(&l->session, caches, tokens, count, logits, error);
}

uint64_t language_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	/* Integers of Jansson, which writes the seed as JSON, have 64 bits with a sign. */
	return ((uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 20) & INT64_MAX;
}

/* ---- the answer */

/*
 * Feeds the next block of the prompt. Logits are read only after the last token of the prompt.
 * Returns 0, or -1 with @error.
 */
static int feed_prompt(struct answer *a, struct language *l, struct gguf_error *error)
{
	size_t count = a->tokens.count - a->fed, block = language_block(l);
	uint64_t begin = nanoseconds();

	if (count > block)
		count = block;
	if (feed(l, a->caches, a->tokens.items + a->fed, count,
		 a->fed + count == a->tokens.count ? l->logits : NULL, error))
		return -1;
	a->fed += count;
	a->prompt_ns += nanoseconds() - begin;
	return 0;
}

/*
 * Feeds the token that was drawn last, and adds time, cycles and bytes to those of the answer.
 * Returns 0, or -1 with @error.
 */
static int feed_last(struct answer *a, struct language *l, struct gguf_error *error)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	uint64_t begin = nanoseconds();

	if (feed(l, a->caches, &a->last, 1, l->logits, error))
		return -1;
	a->ns += nanoseconds() - begin;
	a->evaluated++;
	if (wnnGraphGetLastStatistics(language_graph(l), &statistics) == WNNStatus_Success) {
		a->cycles += statistics.npuCycles;
		a->bytes_read += statistics.bytesRead;
		a->bytes_written += statistics.bytesWritten;
	}
	return 0;
}

/*
 * Adds the text of the token that was drawn to the answer, unless this token ends texts, and sets
 * a->end when the answer is complete. Returns 0; fails when memory is exhausted.
 */
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
	/* Models may have more logits than the tokenizer has tokens: further tokens have no text. */
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
	if (gguf_sample(&a->sampler, l->logits, l->rows, &a->last, error))
		return -1;
	return take(a, l, error);
}

void answer_exit(struct answer *a)
{
	gguf_tokens_free(&a->tokens);
	gguf_sampler_exit(&a->sampler);
	free(a->text.bytes.data);
}
