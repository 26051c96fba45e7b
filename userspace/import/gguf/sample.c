// SPDX-License-Identifier: MIT
/*
 * Draws a token. The choices are the likeliest tokens (top-k), of these as many as a sum of
 * probabilities needs (top-p), without those that are unlikely compared to the first (min-p). The
 * temperature changes the probabilities by which one of them is drawn.
 */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

#include "../common/memory.h"

/* Up to this number of choices, inserting tokens into a sorted list is faster than sorting all. */
#define MOST_INSERTED 256

int gguf_sampler_init(struct gguf_sampler *s, const struct gguf *gguf, struct gguf_error *error)
{
	uint64_t top_k = 40;

	*s = (struct gguf_sampler){ .temperature = 0.8, .top_p = 0.95, .min_p = 0.05 };
	if (gguf_number(gguf, "general.sampling.top_k", INT32_MAX, &top_k, error) ||
	    gguf_real(gguf, "general.sampling.temp", &s->temperature, error) ||
	    gguf_real(gguf, "general.sampling.top_p", &s->top_p, error) ||
	    gguf_real(gguf, "general.sampling.min_p", &s->min_p, error))
		return -1;
	s->top_k = (uint32_t)top_k;
	return 0;
}

void gguf_sampler_exit(struct gguf_sampler *s)
{
	import_free(s->choices);
}

void gguf_sampler_set(struct gguf_sampler *sampler, const struct gguf_sampling *sampling)
{
	if (!isnan(sampling->temperature))
		sampler->temperature = sampling->temperature;
	if (!isnan(sampling->top_p))
		sampler->top_p = sampling->top_p;
	if (!isnan(sampling->min_p))
		sampler->min_p = sampling->min_p;
	if (sampling->top_k >= 0)
		sampler->top_k = (uint32_t)sampling->top_k;
}

/* Returns a random number from 0 to less than 1; the generator is SplitMix64. */
static double draw(struct gguf_sampler *s)
{
	uint64_t x = s->state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/*
 * Compares choices for qsort(): the largest logit comes first, and of equal ones the lower token.
 */
static int compare(const void *a, const void *b)
{
	const struct gguf_choice *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit < y->logit ? 1 : -1;
	return (x->token > y->token) - (x->token < y->token);
}

/* Returns the probability of a choice, times a factor that is the same for all choices. */
static double weight(const struct gguf_sampler *s, size_t i, double temperature)
{
	return exp(((double)s->choices[i].logit - (double)s->choices[0].logit) / temperature);
}

/* Returns how many of the sorted choices top-k, top-p and min-p leave: one at least. */
static size_t keep(const struct gguf_sampler *s, size_t count)
{
	double all = 0, sum = 0;
	size_t kept = 0;

	if (s->top_k && s->top_k < count)
		count = s->top_k;
	for (size_t i = 0; i < count; i++)
		all += weight(s, i, 1);
	while (kept < count && (!kept || sum < s->top_p * all))
		sum += weight(s, kept++, 1);
	while (kept > 1 && weight(s, kept - 1, 1) < s->min_p)
		kept--;
	return kept;
}

static uint32_t draw_token(struct gguf_sampler *s, size_t count)
{
	double all = 0, at;

	for (size_t i = 0; i < count; i++)
		all += weight(s, i, s->temperature);
	at = draw(s) * all;
	for (size_t i = 0; i + 1 < count; i++) {
		at -= weight(s, i, s->temperature);
		if (at < 0)
			return s->choices[i].token;
	}
	return s->choices[count - 1].token;
}

/*
 * Makes tokens the choices, in the order of compare(): the likeliest ones, as many as top-k says;
 * or all tokens, when top-k is 0, above MOST_INSERTED or not below their number; keep() selects
 * from them later. Returns the number of choices.
 */
static size_t choose(struct gguf_sampler *s, const float *logits, size_t count)
{
	bool is_list = s->top_k && s->top_k <= MOST_INSERTED && s->top_k < count;
	size_t most = is_list ? s->top_k : count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = kept < most ? kept : most - 1;

		if (kept == most && logits[i] <= s->choices[at].logit)
			continue;
		kept += kept < most;
		for (; is_list && at > 0 && s->choices[at - 1].logit < logits[i]; at--)
			s->choices[at] = s->choices[at - 1];
		s->choices[at] = (struct gguf_choice){ (uint32_t)i, logits[i] };
	}
	if (!is_list)
		qsort(s->choices, count, sizeof(*s->choices), compare);
	return kept;
}

int gguf_sample(struct gguf_sampler *s, const float *logits, size_t count, uint32_t *token,
		struct gguf_error *error)
{
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(logits[i]))
			return gguf_fail(error,
					 "the model's score for entry %zu of its vocabulary is "
					 "infinite or no number: get the file again, as it may be "
					 "damaged, or try --device cpu",
					 i);
		if (logits[i] > logits[best])
			best = i;
	}
	*token = (uint32_t)best;
	if (s->temperature <= 0)
		return 0;
	if (s->room < count) {
		import_free(s->choices);
		s->choices = import_alloc(count * sizeof(*s->choices));
		s->room = s->choices ? count : 0;
		if (!s->choices)
			return gguf_fail_memory(error);
	}
	*token = draw_token(s, keep(s, choose(s, logits, count)));
	return 0;
}
