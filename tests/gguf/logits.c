// SPDX-License-Identifier: MIT
/*
 * Writes logits of a model to standard output, for tests. gguf-logits FILE LENGTH BLOCK
 * TOKEN,TOKEN… TOKEN… feeds each list of tokens on the device of WEBNN_DEVICE, and writes the
 * logits after each list as floats.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gguf/session.h>

static int feed(struct gguf_session *session, struct gguf_caches *caches, char *text,
		struct gguf_error *error)
{
	size_t size = session->model->vocabulary;
	float *logits = calloc(size, sizeof(*logits));
	uint32_t tokens[256];
	size_t count = 0;
	int ret;

	for (char *item = strtok(text, ","); item && count < 256; item = strtok(NULL, ","))
		tokens[count++] = (uint32_t)strtoul(item, NULL, 10);
	ret = logits ? gguf_session_feed(session, caches, tokens, count, logits, error) : -1;
	if (!ret)
		fwrite(logits, sizeof(*logits), size, stdout);
	free(logits);
	return ret;
}

int main(int argc, char **argv)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	struct gguf_session session = { 0 };
	struct gguf_caches caches = { 0 };
	struct gguf_llama model = { 0 };
	struct gguf_error error = { .text = "" };
	WNNContext context = NULL;
	struct gguf gguf = { 0 };
	int ret = -1;

	if (argc < 4)
		return 64;
	if (wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context) ==
	    WNNStatus_Success)
		ret = gguf_open(&gguf, argv[1], &error);
	if (!ret)
		ret = gguf_llama_init(&model, &gguf, &error);
	if (!ret)
		ret = gguf_session_open(&session, &model, context, (uint32_t)atoi(argv[2]),
					(uint32_t)atoi(argv[3]), &error);
	if (!ret)
		ret = gguf_caches_open(&caches, &session, &error);
	for (int i = 4; i < argc && !ret; i++)
		ret = feed(&session, &caches, argv[i], &error);
	if (ret)
		fprintf(stderr, "%s\n", error.text);
	gguf_caches_close(&caches, &session);
	gguf_session_close(&session);
	gguf_llama_exit(&model);
	gguf_close(&gguf);
	if (context)
		wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return ret ? 2 : 0;
}
