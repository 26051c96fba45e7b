// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: converts a tokenizer.json, as Hugging Face's tokenizers write it, to keys of
 * GGUF. Two kinds are known: merges of byte pairs within words, which a known pattern splits, and
 * merges of characters, where a character without a token becomes its bytes.
 */
#include "tokenizer.h"

#include <errno.h>
#include <gguf/vocabulary.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most tokens; a file with a token whose number is MAX_TOKENS or larger is refused. */
#define MAX_TOKENS (1 << 22)
/* The score of a token that is not the result of a merge. */
#define NEVER (-1e9f)

struct maker {
	struct bytes *file;
	uint64_t keys;
	json_t *root; /* contents of tokenizer.json */
	size_t count;
	const char **tokens; /* texts by number; NULL: no token has this number */
	int32_t *types;
	bool pairs, full; /* full: memory is exhausted */
	struct gguf_error *error;
};

/* ---- JSON */

json_t *tokenizer_json(const char *model, const char *name, struct gguf_error *error)
{
	const char *slash = strrchr(model, '/');
	int folder = slash ? (int)(slash - model) + 1 : 0;
	json_t *root = NULL;
	json_error_t what;
	char *path;

	error->text[0] = 0;
	for (int above = 0; above < 2 && !root; above++) {
		FILE *file;

		if (asprintf(&path, "%.*s%s%s", folder, model, above ? "../" : "", name) < 0) {
			gguf_fail_memory(error);
			return NULL;
		}
		file = fopen(path, "rb");
		root = file ? json_loadf(file, JSON_ALLOW_NUL, &what) : NULL;
		if (file && !root)
			gguf_fail(error, "%s: line %d: %s", name, what.line, what.text);
		else if (!file && errno != ENOENT && errno != ENOTDIR)
			gguf_fail(error, "%s cannot be read: %s", name, strerror(errno));
		if (file)
			fclose(file);
		free(path);
		if (file || error->text[0])
			break;
	}
	return root;
}

static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static bool is(const json_t *object, const char *type)
{
	return !strcmp(text_at(object, "type"), type);
}

/*
 * Returns step @i of a sequence, which has its steps in the member @name; a single step is its own
 * step 0. NULL: there are fewer steps.
 */
static const json_t *step_at(const json_t *step, const char *name, size_t i)
{
	if (is(step, "Sequence"))
		return json_array_get(json_object_get(step, name), i);
	return i || json_is_null(step) ? NULL : step;
}

static const json_t *find_step(const json_t *step, const char *name, const char *type)
{
	const json_t *item;

	for (size_t i = 0; (item = step_at(step, name, i)); i++)
		if (is(item, type))
			return item;
	return NULL;
}

/* ---- keys */

static void put(struct maker *m, const void *data, size_t size)
{
	m->full |= bytes_add(m->file, data, size) != 0;
}

static void put_text(struct maker *m, const char *text, size_t size)
{
	uint64_t length = size;

	put(m, &length, sizeof(length));
	put(m, text, size);
}

static void put_key(struct maker *m, const char *name, uint32_t kind)
{
	put_text(m, name, strlen(name));
	put(m, &kind, sizeof(kind));
	m->keys++;
}

static void put_array(struct maker *m, const char *name, uint32_t kind, uint64_t count)
{
	put_key(m, name, GGUF_ARRAY);
	put(m, &kind, sizeof(kind));
	put(m, &count, sizeof(count));
}

static void put_string_key(struct maker *m, const char *name, const char *text)
{
	put_key(m, name, GGUF_STRING);
	put_text(m, text, strlen(text));
}

static void put_flag(struct maker *m, const char *name, bool flag)
{
	uint8_t byte = flag;

	put_key(m, name, GGUF_BOOL);
	put(m, &byte, 1);
}

static void put_number(struct maker *m, const char *name, uint32_t number)
{
	put_key(m, name, GGUF_UINT32);
	put(m, &number, sizeof(number));
}

/* ---- tokens */

static int set_token(struct maker *m, const char *text, const json_t *number, int32_t type)
{
	json_int_t id = json_integer_value(number);

	if (!json_is_integer(number) || id < 0 || (size_t)id >= m->count)
		return gguf_fail(m->error,
				 "tokenizer.json: the number of the token \"%.60s\" is not "
				 "from 0 to %zu",
				 text, m->count - 1);
	m->tokens[id] = text;
	m->types[id] = type;
	return 0;
}

/* Returns one more than the largest number of a token; 0: there are no tokens, or too many. */
static size_t count_tokens(json_t *vocab, const json_t *added)
{
	json_int_t most = -1;
	const char *name;
	const json_t *item;
	json_t *number;
	size_t i;

	json_object_foreach(vocab, name, number) if (json_integer_value(number) > most)
		most = json_integer_value(number);
	json_array_foreach(added, i,
			   item) if (json_integer_value(json_object_get(item, "id")) > most)
		most = json_integer_value(json_object_get(item, "id"));
	return most < MAX_TOKENS ? (size_t)(most + 1) : 0;
}

static int read_tokens(struct maker *m)
{
	json_t *vocab = json_object_get(json_object_get(m->root, "model"), "vocab");
	const json_t *added = json_object_get(m->root, "added_tokens"), *item;
	const char *unknown = text_at(json_object_get(m->root, "model"), "unk_token"), *text;
	unsigned int byte;
	json_t *number;
	size_t i;
	char end;

	m->count = count_tokens(vocab, added);
	if (!m->count)
		return gguf_fail(m->error,
				 "tokenizer.json: model.vocab has no tokens, or numbers "
				 "beyond %d",
				 MAX_TOKENS - 1);
	m->tokens = calloc(m->count, sizeof(*m->tokens));
	m->types = calloc(m->count, sizeof(*m->types));
	if (!m->tokens || !m->types)
		return gguf_fail_memory(m->error);
	json_object_foreach(vocab, text, number)
	{
		bool is_byte = !m->pairs && sscanf(text, "<0x%2x%c", &byte, &end) == 2 &&
			       end == '>';

		if (set_token(m, text, number, is_byte ? GGUF_TOKEN_BYTE : GGUF_TOKEN_NORMAL))
			return -1;
	}
	json_array_foreach(added, i, item)
	{
		bool special = json_is_true(json_object_get(item, "special"));

		if (set_token(m, text_at(item, "content"), json_object_get(item, "id"),
			      special ? GGUF_TOKEN_CONTROL : GGUF_TOKEN_USER))
			return -1;
	}
	for (i = 0; i < m->count; i++) {
		if (!m->tokens[i]) {
			m->tokens[i] = "";
			m->types[i] = GGUF_TOKEN_UNUSED;
		} else if (unknown[0] && !strcmp(m->tokens[i], unknown)) {
			m->types[i] = GGUF_TOKEN_UNKNOWN;
			put_number(m, "tokenizer.ggml.unknown_token_id", (uint32_t)i);
		}
	}
	return 0;
}

/*
 * Sets *text to the two parts of a merge, which is "a b" or ["a", "b"], with a space between, in
 * memory that the caller frees. Returns 0; fails for another item, or without memory.
 */
static int merge_text(struct maker *m, const json_t *merge, char **text)
{
	const json_t *a = json_array_get(merge, 0), *b = json_array_get(merge, 1);
	int ret;

	if (json_is_string(merge))
		ret = asprintf(text, "%s", json_string_value(merge));
	else if (json_is_string(a) && json_is_string(b))
		ret = asprintf(text, "%s %s", json_string_value(a), json_string_value(b));
	else
		return gguf_fail(m->error, "tokenizer.json: model.merges has an item that is no "
					   "pair of texts");
	return ret < 0 ? gguf_fail_memory(m->error) : 0;
}

/* Sets the score of the token that results from merge @rank, unless an earlier merge set it. */
static void score_merge(const struct maker *m, float *scores, char *text, size_t rank)
{
	const json_t *vocab = json_object_get(json_object_get(m->root, "model"), "vocab");
	char *space = strchr(text, ' ');
	json_int_t id;

	if (!space)
		return;
	memmove(space, space + 1, strlen(space));
	id = json_object_get(vocab, text) ? json_integer_value(json_object_get(vocab, text)) : -1;
	if (id >= 0 && scores[id] == NEVER)
		scores[id] = -(float)rank;
}

static int put_merges(struct maker *m)
{
	const json_t *merges = json_object_get(json_object_get(m->root, "model"), "merges");
	float *scores = m->pairs ? NULL : malloc(m->count * sizeof(*scores));
	const json_t *merge;
	int ret = 0;
	size_t i;

	if (!m->pairs && !scores)
		return gguf_fail_memory(m->error);
	for (i = 0; scores && i < m->count; i++)
		scores[i] = NEVER;
	if (m->pairs)
		put_array(m, "tokenizer.ggml.merges", GGUF_STRING, json_array_size(merges));
	json_array_foreach(merges, i, merge)
	{
		char *text = NULL;

		ret = merge_text(m, merge, &text);
		if (ret)
			break;
		if (m->pairs)
			put_text(m, text, strlen(text));
		else
			score_merge(m, scores, text, i);
		free(text);
	}
	if (scores) {
		put_array(m, "tokenizer.ggml.scores", GGUF_FLOAT32, m->count);
		put(m, scores, m->count * sizeof(*scores));
	}
	free(scores);
	return ret;
}

static void put_tokens(struct maker *m)
{
	put_array(m, "tokenizer.ggml.tokens", GGUF_STRING, m->count);
	for (size_t i = 0; i < m->count; i++)
		put_text(m, m->tokens[i], strlen(m->tokens[i]));
	put_array(m, "tokenizer.ggml.token_type", GGUF_INT32, m->count);
	put(m, m->types, m->count * sizeof(*m->types));
}

/* ---- the steps before tokens */

#define ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
#define WORDS	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Returns the name that GGUF has for the way in which words are split, or NULL with a message. */
static const char *split_name(struct maker *m)
{
	const json_t *steps = json_object_get(m->root, "pre_tokenizer");
	const json_t *bytes = find_step(steps, "pretokenizers", "ByteLevel");
	const json_t *split = find_step(steps, "pretokenizers", "Split");
	const json_t *digits = find_step(steps, "pretokenizers", "Digits");
	const char *regex = text_at(json_object_get(split, "pattern"), "Regex");
	size_t known = !!bytes + !!split + !!digits;

	if (json_is_true(json_object_get(bytes, "add_prefix_space"))) {
		gguf_fail(m->error, "tokenizer.json: its pre_tokenizer puts a space before each "
				    "text (add_prefix_space), which cannot be done");
		return NULL;
	}
	if (!bytes || step_at(steps, "pretokenizers", known))
		known = 0;
	if (known == 1)
		return "gpt-2";
	if (known == 2 && digits && json_is_true(json_object_get(digits, "individual_digits")))
		return "smollm";
	if (known == 2 && split && !strcmp(regex, ENDINGS "{1,3}" WORDS))
		return "llama-bpe";
	if (known == 2 && split && !strcmp(regex, ENDINGS WORDS))
		return "qwen2";
	gguf_fail(m->error,
		  "tokenizer.json: its pre_tokenizer \"%.60s\" splits words in a way that is "
		  "unknown; known are those of GPT-2, SmolLM, Llama 3 and Qwen 2",
		  *regex ? regex : text_at(steps, "type"));
	return NULL;
}

/*
 * Returns the type of a step that changes texts in another way than the tokenizers of import/gguf
 * do; NULL: there is none. Sets *prefix to whether a space is put before a text.
 */
static const char *find_unknown(const struct maker *m, bool *prefix)
{
	const json_t *steps = json_object_get(m->root, "normalizer");
	const json_t *words = json_object_get(m->root, "pre_tokenizer"), *step;

	*prefix = is(words, "Metaspace") && strcmp(text_at(words, "prepend_scheme"), "never") != 0;
	for (size_t i = 0; (step = step_at(steps, "normalizers", i)); i++) {
		bool prepend = !m->pairs && is(step, "Prepend") &&
			       !strcmp(text_at(step, "prepend"), "\xe2\x96\x81");
		bool replace = !m->pairs && is(step, "Replace") &&
			       !strcmp(text_at(step, "content"), "\xe2\x96\x81");

		*prefix |= prepend;
		if (!prepend && !replace && !(m->pairs && is(step, "NFC")))
			return text_at(step, "type");
	}
	if (m->pairs || json_is_null(words) || !words || is(words, "Metaspace"))
		return NULL;
	return text_at(words, "type");
}

/* Writes the keys about the tokens with which texts begin and end. */
static void put_ends(struct maker *m, const json_t *config)
{
	const json_t *step = find_step(json_object_get(m->root, "post_processor"), "processors",
				       "TemplateProcessing");
	const json_t *items = json_object_get(step, "single");
	size_t count = json_array_size(items);
	const json_t *first = json_object_get(json_array_get(items, 0), "SpecialToken");
	const json_t *last =
		json_object_get(json_array_get(items, count ? count - 1 : 0), "SpecialToken");
	const json_t *bos = json_object_get(config, "bos_token_id");
	const json_t *eos = json_object_get(config, "eos_token_id");

	for (size_t i = 0; first && i < m->count; i++)
		if (!strcmp(m->tokens[i], text_at(first, "id"))) {
			put_number(m, "tokenizer.ggml.bos_token_id", (uint32_t)i);
			bos = NULL;
		}
	if (json_is_integer(bos))
		put_number(m, "tokenizer.ggml.bos_token_id", (uint32_t)json_integer_value(bos));
	put_flag(m, "tokenizer.ggml.add_bos_token", first != NULL);
	put_flag(m, "tokenizer.ggml.add_eos_token", last && count > 1);
	/* In a list, the first token ends a text and the second one a turn of a conversation. */
	if (json_is_array(eos)) {
		const json_t *turn = json_array_get(eos, 1);

		if (json_is_integer(turn))
			put_number(m, "tokenizer.ggml.eot_token_id",
				   (uint32_t)json_integer_value(turn));
		eos = json_array_get(eos, 0);
	}
	if (json_is_integer(eos))
		put_number(m, "tokenizer.ggml.eos_token_id", (uint32_t)json_integer_value(eos));
}

static int put_ways(struct maker *m)
{
	const json_t *model = json_object_get(m->root, "model");
	const char *unknown;
	bool prefix;

	if (model && !json_object_get(model, "merges") &&
	    (!*text_at(model, "type") || is(model, "BPE")))
		return gguf_fail(m->error, "tokenizer.json: its model has no merges, which one of "
					   "the kind BPE needs");
	if (model && !json_object_get(model, "merges"))
		return gguf_fail(
			m->error,
			"tokenizer.json: its model is \"%.40s\", which cannot be used; BPE "
			"can",
			text_at(model, "type"));
	m->pairs = !json_is_true(json_object_get(model, "byte_fallback"));
	unknown = find_unknown(m, &prefix);
	if (unknown)
		return gguf_fail(m->error,
				 "tokenizer.json: its normalizer or pre_tokenizer \"%.40s\" "
				 "changes texts in a way that is unknown; known are %s",
				 unknown,
				 m->pairs ? "NFC and none" :
					    "Metaspace, and Prepend and Replace with \xe2\x96\x81");
	put_string_key(m, "tokenizer.ggml.model", m->pairs ? "gpt2" : "llama");
	if (m->pairs) {
		const char *name = split_name(m);

		if (!name)
			return -1;
		put_string_key(m, "tokenizer.ggml.pre", name);
	}
	put_flag(m, "tokenizer.ggml.add_space_prefix", prefix);
	return 0;
}

/* ---- the files */

static int put_config(struct maker *m, const char *model)
{
	json_t *config = tokenizer_json(model, "config.json", m->error), *more = NULL;
	const json_t *length = json_object_get(config, "max_position_embeddings");
	const json_t *window = json_object_get(config, "sliding_window"), *template;

	if (m->error->text[0])
		return -1;
	put_ends(m, config);
	if (!length)
		length = json_object_get(config, "n_positions");
	if (json_integer_value(length) > 0 && json_integer_value(length) <= INT32_MAX)
		put_number(m, "onnx.context_length", (uint32_t)json_integer_value(length));
	if (json_integer_value(window) > 0 && json_integer_value(window) <= INT32_MAX &&
	    !json_is_false(json_object_get(config, "use_sliding_window")))
		put_number(m, "onnx.sliding_window", (uint32_t)json_integer_value(window));
	json_decref(config);
	more = tokenizer_json(model, "tokenizer_config.json", m->error);
	if (m->error->text[0])
		return -1;
	template = json_object_get(more, "chat_template");
	if (json_is_string(template))
		put_string_key(m, "tokenizer.chat_template", json_string_value(template));
	json_decref(more);
	return 0;
}

static int make(struct maker *m, const char *model)
{
	const uint32_t version = 3;
	const uint64_t none = 0;
	size_t at;

	m->root = tokenizer_json(model, "tokenizer.json", m->error);
	if (!m->root)
		return m->error->text[0] ?
			       -1 :
			       gguf_fail(m->error, "there is no tokenizer.json beside it or in the "
						   "folder above: copy that of the model there");
	put(m, "GGUF", 4);
	put(m, &version, sizeof(version));
	put(m, &none, sizeof(none));
	at = m->file->size;
	put(m, &none, sizeof(none));
	if (put_ways(m) || read_tokens(m) || put_merges(m) || put_config(m, model))
		return -1;
	put_tokens(m);
	if (m->full)
		return gguf_fail_memory(m->error);
	memcpy(m->file->data + at, &m->keys, sizeof(m->keys));
	return 0;
}

int tokenizer_read(const char *model, struct bytes *file, struct gguf_error *error)
{
	struct maker m = { .file = file, .error = error };
	int ret = make(&m, model);

	free(m.tokens);
	free(m.types);
	json_decref(m.root);
	return ret;
}
