/* SPDX-License-Identifier: MIT */
/* Chooses the next token from logits. */
#ifndef GGUF_SAMPLE_H
#define GGUF_SAMPLE_H

#include <math.h>

#include "gguf.h"

struct gguf_choice {
	uint32_t token;
	float logit;
};

struct gguf_sampler {
	double temperature; /* 0 or less: the token with the largest logit */
	uint32_t top_k;	    /* how many tokens are drawn from; 0: all */
	double top_p;	    /* the least sum of the probabilities of these tokens */
	/* the least probability of a token, divided by that of the likeliest one */
	double min_p;
	uint64_t state; /* of the random numbers; its first value is the seed */
	struct gguf_choice *choices;
	size_t room;
};

/* Numbers that replace those of a sampler; NAN and for top_k -1 stand for one that is not given. */
struct gguf_sampling {
	double temperature, top_p, min_p;
	int64_t top_k;
};

#define GGUF_SAMPLING_INIT ((struct gguf_sampling){ NAN, NAN, NAN, -1 })

/*
 * Sets llama.cpp's defaults, and what the file has for general.sampling.*, for seed 0. Returns 0,
 * or -1 with a message.
 */
int gguf_sampler_init(struct gguf_sampler *sampler, const struct gguf *gguf,
		      struct gguf_error *error);
void gguf_sampler_exit(struct gguf_sampler *sampler);
/* Replaces the numbers that are given. */
void gguf_sampler_set(struct gguf_sampler *sampler, const struct gguf_sampling *sampling);

/*
 * Sets *token to the token that is chosen by its @count logits. Returns 0, or -1 with a message:
 * memory is exhausted, or a logit is infinite or no number.
 */
int gguf_sample(struct gguf_sampler *sampler, const float *logits, size_t count, uint32_t *token,
		struct gguf_error *error);

#endif
