// SPDX-License-Identifier: MIT
/* The patterns of byte-pair tokenizers, by the name that a file gives; PCRE2 matches them. */
#include "split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define ENDINGS	  "'s|'t|'re|'ve|'m|'ll|'d"
#define ENDINGS_I "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define GPT2	  ENDINGS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define NEWER(digits)                                      \
	ENDINGS_I "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
		  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* The tokenizers; the members mean what those of struct gguf_splitter do. */
static const struct way {
	const char *name;
	bool whole, add_bos;
	const char *patterns[GGUF_MAX_PATTERNS];
} ways[] = {
	{ "default",
	  false,
	  false,
	  { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" } },
	{ "gpt-2", false, false, { GPT2 } },
	{ "llama-bpe", true, true, { NEWER("\\p{N}{1,3}") } },
	{ "smollm", false, false, { "\\p{N}", GPT2 } },
	{ "qwen2", false, false, { NEWER("\\p{N}") } },
};

#define NUM_WAYS (sizeof(ways) / sizeof(ways[0]))

static int add_pattern(void **code, const char *pattern, struct gguf_error *error)
{
	PCRE2_SIZE where;
	int number;

	*code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
			      &number, &where, NULL);
	if (*code)
		return 0;
	if (number == PCRE2_ERROR_HEAP_FAILED)
		return gguf_fail_memory(error);
	return gguf_fail(error,
			 "PCRE2 does not take the pattern of the tokenizer at byte %zu: "
			 "error %d",
			 where, number);
}

int gguf_splitter_init(struct gguf_splitter *splitter, const struct gguf_text *name,
		       struct gguf_error *error)
{
	const struct way *way = NULL;

	*splitter = (struct gguf_splitter){ 0 };
	for (size_t i = 0; name && i < NUM_WAYS; i++)
		if (gguf_text_is(*name, ways[i].name))
			way = &ways[i];
	if (name && !way)
		return gguf_fail(error,
				 "tokenizer.ggml.pre is \"%.*s\", which is unknown; known are "
				 "default, gpt-2, llama-bpe, smollm and qwen2",
				 GGUF_ARGS(*name));
	splitter->match = pcre2_match_data_create(1, NULL);
	if (!splitter->match)
		return gguf_fail_memory(error);
	if (add_pattern(&splitter->utf8, "", error))
		return -1;
	for (size_t i = 0; way && i < GGUF_MAX_PATTERNS && way->patterns[i]; i++) {
		if (add_pattern(&splitter->codes[i], way->patterns[i], error))
			return -1;
		splitter->count++;
	}
	splitter->whole = way && way->whole;
	splitter->add_bos = !way || way->add_bos;
	return 0;
}

void gguf_splitter_exit(struct gguf_splitter *splitter)
{
	for (size_t i = 0; i < splitter->count; i++)
		pcre2_code_free(splitter->codes[i]);
	pcre2_code_free(splitter->utf8);
	pcre2_match_data_free(splitter->match);
}

int gguf_check_text(const struct gguf_splitter *splitter, struct gguf_text text,
		    struct gguf_error *error)
{
	int found = pcre2_match(splitter->utf8, (PCRE2_SPTR)text.data, text.size, 0, 0,
				splitter->match, NULL);

	if (found >= 0)
		return 0;
	if (found == PCRE2_ERROR_NOMEMORY)
		return gguf_fail_memory(error);
	return gguf_fail(error, "the text is not UTF-8 at byte %zu",
			 pcre2_get_startchar(splitter->match));
}

/*
 * Splits a text by pattern @at and all later patterns, and calls @fn for each piece. Returns 0; -1:
 * PCRE2 failed, with a message, or @fn returned -1.
 */
static int split(const struct gguf_splitter *splitter, size_t at, struct gguf_text text,
		 gguf_piece_fn fn, void *data, struct gguf_error *error)
{
	size_t done = 0;

	if (!text.size)
		return 0;
	if (at == splitter->count)
		return fn(data, text);
	while (done < text.size) {
		PCRE2_SIZE *ends;
		int found = pcre2_match(splitter->codes[at], (PCRE2_SPTR)text.data, text.size, done,
					PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, splitter->match, NULL);
		size_t begin = text.size, end = text.size;

		if (found == PCRE2_ERROR_NOMEMORY)
			return gguf_fail_memory(error);
		if (found < 0 && found != PCRE2_ERROR_NOMATCH)
			return gguf_fail(error, "PCRE2 cannot split the text: error %d", found);
		if (found >= 0) {
			ends = pcre2_get_ovector_pointer(splitter->match);
			begin = ends[0];
			end = ends[1];
		}
		/* The text between two matches is a piece, too. */
		if (split(splitter, at + 1, (struct gguf_text){ text.data + done, begin - done },
			  fn, data, error) ||
		    split(splitter, at + 1, (struct gguf_text){ text.data + begin, end - begin },
			  fn, data, error))
			return -1;
		done = end;
	}
	return 0;
}

int gguf_split(const struct gguf_splitter *splitter, struct gguf_text text, gguf_piece_fn fn,
	       void *data, struct gguf_error *error)
{
	return split(splitter, 0, text, fn, data, error);
}
