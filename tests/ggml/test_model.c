// SPDX-License-Identifier: MIT
/*
 * Compares a language model in llama.cpp, whose layers are on the device, with llama.cpp's own
 * results on the processor: a prompt in two blocks, then single tokens.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define STEPS	8
#define AT_ONCE 8 /* llama.cpp computes so many tokens at once; the prompt has more */

/* llama.cpp rounds activations of quantised products to 8 bits, which the device does not. */
#define BOUND 2e-3

static bool is_on_device;

static void read_log(int level, const char *text, void *data)
{
	(void)level;
	(void)data;
	if (strstr(text, "ONPU model buffer size"))
		is_on_device = true;
	if (getenv("GGML_VERBOSE"))
		fputs(text, stderr);
}

/*
 * Calls llama_decode() STEPS times: with a prompt of @prompt tokens, with one of 4 tokens less, and
 * then with single tokens. Sets *logits to new memory with a row for each call, the logits of its
 * last token. Returns the number of tokens in the vocabulary.
 */
static int run(const char *path, struct gg_device *device, uint32_t prompt, float **logits)
{
	struct llama_params params = gg.llama_model_default_params(), settings;
	/* The first member of the structure is the list of devices beside the processor. */
	struct gg_device *devices[] = { device, NULL }, **list = devices;
	struct llama_model *model;
	struct llama_context *context;
	int32_t tokens[64], count;
	/*
	 * The first three members of the settings: how many tokens the context has, how many a
	 * batch, and how many of them are computed at once.
	 */
	uint32_t sizes[3];

	memcpy(params.bytes, &list, sizeof(list));
	model = gg.llama_model_load_from_file(path, params);
	if (!model)
		fail("%s is not loaded", path);
	settings = gg.llama_context_default_params();
	memcpy(sizes, settings.bytes, sizeof(sizes));
	if (sizes[1] < sizes[2] || sizes[2] < prompt)
		fail("the parameters of llama.cpp are others");
	/* The first part of the prompt has no output: its last operators have no elements. */
	sizes[2] = AT_ONCE;
	memcpy(settings.bytes, sizes, sizeof(sizes));
	context = gg.llama_init_from_model(model, settings);
	if (!context)
		fail("there is no context for %s", path);
	/* Threads of ggml poll while they wait, which takes the processor from others. */
	gg.llama_set_n_threads(context, 1, 1);
	count = gg.llama_vocab_n_tokens(gg.llama_model_get_vocab(model));
	*logits = malloc((size_t)(STEPS * count) * sizeof(**logits));
	for (int i = 0; i < 64; i++)
		tokens[i] = (i * i * 7 + 3 * i + 1) % count;
	for (int step = 0, at = 0; step < STEPS; step++) {
		int n = step < 2 ? (int)prompt - 4 * step : 1;

		if (gg.llama_decode(context, gg.llama_batch_get_one(tokens + at, n)))
			fail("step %d is not computed", step);
		memcpy(*logits + step * count, gg.llama_get_logits_ith(context, -1),
		       (size_t)count * sizeof(**logits));
		at += n;
	}
	gg.llama_free(context);
	gg.llama_model_free(model);
	return count;
}

int main(int argc, char **argv)
{
	float *wanted, *got;
	double worst = 0;
	int count;

	if (argc != 4)
		fail("usage: %s LIBRARY FOLDER MODEL", argv[0]);
	if (access(argv[3], R_OK)) {
		printf("SKIP: %s is not there; scripts/fetch-samples.sh fetches it\n", argv[3]);
		return 77;
	}
	client_load(argv[2], argv[1]);
	gg.llama_log_set(read_log, NULL);
	gg.llama_backend_init();
	count = run(argv[3], NULL, 12, &wanted);
	if (is_on_device)
		fail("the reference has weights on the device");
	run(argv[3], gg.onpu, 12, &got);
	if (!is_on_device)
		fail("the device has no weights");
	for (int step = 0; step < STEPS; step++) {
		double difference = 0, whole = 0;

		for (int i = step * count; i < (step + 1) * count; i++) {
			difference += pow((double)got[i] - wanted[i], 2);
			whole += pow(wanted[i], 2);
		}
		printf("step %d: %g\n", step, difference / whole);
		if (!(difference / whole <= BOUND) || !(whole > 0))
			fail("step %d: the mean square of the difference is %g of the logits'",
			     step, difference / whole);
		worst = fmax(worst, difference / whole);
	}
	free(wanted);
	free(got);
	printf("ok: the logits of %d steps agree, %g at worst\n", STEPS, worst);
	return 0;
}
