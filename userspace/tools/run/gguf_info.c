// SPDX-License-Identifier: MIT
/* webnn-run info: describes language models in files of GGUF. */
#include "gguf_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <common/blocks.h>
#include <common/printable.h>
#include <gguf/gguf.h>

#include "model_file.h"

/* More types than import_block_type() knows. */
#define MAX_TYPES 64

/* The tensors of one type. */
struct kind {
	const struct import_block_type *type;
	size_t tensors;
	uint64_t bytes;
};

struct facts {
	struct gguf_text architecture, name, tokenizer, pre;
	uint64_t context, parameters, bytes, tokens;
	bool has_context, has_tokens;
	struct kind kinds[MAX_TYPES];
	size_t kind_count;
};

static void count_tensors(const struct gguf *gguf, struct facts *facts)
{
	for (size_t i = 0; i < gguf->tensor_count; i++) {
		const struct gguf_tensor *tensor = &gguf->tensors[i];
		size_t k = 0;

		facts->parameters += tensor->elements;
		facts->bytes += tensor->bytes;
		while (k < facts->kind_count && facts->kinds[k].type != tensor->type)
			k++;
		if (k == MAX_TYPES)
			continue;
		if (k == facts->kind_count)
			facts->kinds[facts->kind_count++].type = tensor->type;
		facts->kinds[k].tensors++;
		facts->kinds[k].bytes += tensor->bytes;
	}
}

static int read_facts(const struct gguf *gguf, struct facts *facts, struct gguf_error *error)
{
	const struct gguf_key *tokens = gguf_key(gguf, "tokenizer.ggml.tokens");
	char key[200];

	if (gguf_string(gguf, "general.architecture", &facts->architecture, error) ||
	    gguf_string(gguf, "general.name", &facts->name, error) ||
	    gguf_string(gguf, "tokenizer.ggml.model", &facts->tokenizer, error) ||
	    gguf_string(gguf, "tokenizer.ggml.pre", &facts->pre, error))
		return -1;
	if (facts->architecture.size) {
		snprintf(key, sizeof(key), "%.*s.context_length", GGUF_ARGS(facts->architecture));
		facts->has_context = gguf_key(gguf, key);
		if (gguf_number(gguf, key, INT64_MAX, &facts->context, error))
			return -1;
	}
	facts->has_tokens = tokens;
	facts->tokens = tokens ? tokens->count : 0;
	count_tensors(gguf, facts);
	return 0;
}

/* Returns a copy of a text of the file that can be printed; a long one is cut off. */
static const char *shown(char copy[128], struct gguf_text text)
{
	snprintf(copy, 128, "%.*s", GGUF_ARGS(text));
	import_printable(copy);
	return copy;
}

static void print(const char *model, const struct gguf *gguf, const struct facts *facts)
{
	char copy[128];

	printf("%s: GGUF, version %" PRIu32, model, gguf->version);
	if (facts->name.size)
		printf(", \"%s\"", shown(copy, facts->name));
	printf("\narchitecture   %s\n",
	       facts->architecture.size ? shown(copy, facts->architecture) : "unknown");
	printf("parameters     %" PRIu64 " in %zu tensor%s, %.1f MiB\n", facts->parameters,
	       gguf->tensor_count, gguf->tensor_count == 1 ? "" : "s",
	       (double)facts->bytes / (1 << 20));
	for (size_t i = 0; i < facts->kind_count; i++)
		printf("  %-12s %zu tensor%s, %.1f MiB%s\n", facts->kinds[i].type->name,
		       facts->kinds[i].tensors, facts->kinds[i].tensors == 1 ? "" : "s",
		       (double)facts->kinds[i].bytes / (1 << 20),
		       import_block_is_read(facts->kinds[i].type) ? "" : ", which cannot be read");
	if (facts->has_context)
		printf("context        %" PRIu64 " tokens\n", facts->context);
	if (facts->tokenizer.size) {
		printf("tokenizer      %s", shown(copy, facts->tokenizer));
		if (facts->pre.size)
			printf(" (%s)", shown(copy, facts->pre));
		if (facts->has_tokens)
			printf(", %" PRIu64 " tokens", facts->tokens);
		putchar('\n');
	}
}

static json_t *gguf_json(struct gguf_text text)
{
	return json_text(WNN_VALUE(WNNStringView, { text.data ? text.data : "", text.size }));
}

static json_t *to_json(const char *model, const struct gguf *gguf, const struct facts *facts)
{
	json_t *types = json_object(), *root;

	for (size_t i = 0; i < facts->kind_count; i++)
		json_object_set_new(types, facts->kinds[i].type->name,
				    json_pack("{s:I, s:I, s:b}", "tensors",
					      (json_int_t)facts->kinds[i].tensors, "bytes",
					      (json_int_t)facts->kinds[i].bytes, "read",
					      import_block_is_read(facts->kinds[i].type)));
	root = json_pack("{s:o, s:s, s:i, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "model",
			 json_text(WNN_STR(model)), "format", "gguf", "version", (int)gguf->version,
			 "architecture", gguf_json(facts->architecture), "name",
			 gguf_json(facts->name), "parameters", (json_int_t)facts->parameters,
			 "tensors", (json_int_t)gguf->tensor_count, "bytes",
			 (json_int_t)facts->bytes, "types", types, "tokenizer",
			 gguf_json(facts->tokenizer), "pre", gguf_json(facts->pre));
	if (root && facts->has_context)
		json_object_set_new(root, "context", json_integer((json_int_t)facts->context));
	if (root && facts->has_tokens)
		json_object_set_new(root, "tokens", json_integer((json_int_t)facts->tokens));
	return root;
}

int gguf_info(const struct options *options)
{
	struct facts facts = { 0 };
	struct gguf_error error;
	struct gguf gguf;
	int ret = DONE;

	if (gguf_open(&gguf, options->model, &error))
		return complain_model(options->model, &error);
	if (read_facts(&gguf, &facts, &error))
		ret = complain_model(options->model, &error);
	if (!ret && text_wanted(options))
		print(options->model, &gguf, &facts);
	if (!ret && options->json)
		ret = write_json(options, to_json(options->model, &gguf, &facts));
	gguf_close(&gguf);
	return ret;
}
