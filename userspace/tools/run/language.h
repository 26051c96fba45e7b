/* SPDX-License-Identifier: MIT */
/* webnn-run generate: a language model that is read from its file, and its graphs on a device. */
#ifndef ONPU_TOOLS_RUN_LANGUAGE_H
#define ONPU_TOOLS_RUN_LANGUAGE_H

#include <gguf/sample.h>
#include <gguf/session.h>
#include <gguf/vocabulary.h>

#include "bytes.h"
#include "decoder.h"
#include "generated.h"
#include "subject.h"

/* Where the caches of a decoder of ONNX are: inputs and outputs that begin with these texts. */
struct language_names {
	const char *past, *present;
};

struct language {
	const char *path;
	struct gguf gguf; /* a file, or for a model of ONNX the keys of its tokenizer */
	struct bytes keys;
	struct gguf_vocabulary vocabulary;
	uint32_t rows;	  /* number of logits; the vocabulary may have fewer tokens */
	uint32_t context; /* most tokens of a text for which the model is made */
	bool limited;	  /* whether its files tell @context; else that is DEFAULT_CONTEXT */
	struct gguf_llama model;
	struct gguf_sampler sampler; /* how tokens are drawn unless options say otherwise */
	struct target target;
	struct gguf_session session;
	bool onnx; /* a decoder in place of model and session */
	struct decoder decoder;
	float *logits; /* room for @rows logits */
	char *piece;   /* room for the text of any token */
};

/*
 * Reads a model from its file; @names are for a decoder of ONNX. Returns DONE, or an exit code
 * after a message; call language_close() in both cases, also after language_build().
 */
int language_read(struct language *language, const char *path, const struct language_names *names);
/*
 * Opens the device of the options and builds the graphs for texts of up to @length tokens; prompts
 * are read in blocks of @block tokens if the model can. Returns DONE, or the exit code after a
 * message.
 */
int language_build(struct language *language, const struct options *options, uint64_t length,
		   uint64_t block);
void language_close(struct language *language);
/*
 * Return the graph of one token, how many positions its caches have, and how many tokens of a
 * prompt are read at once.
 */
WNNGraph language_graph(const struct language *language);
uint32_t language_length(const struct language *language);
uint32_t language_block(const struct language *language);

/* Each does what the function of gguf/session.h does that has gguf_ in place of language_. */
int language_caches_open(struct gguf_caches *caches, const struct language *language,
			 struct gguf_error *error);
int language_caches_clear(struct gguf_caches *caches, const struct language *language,
			  struct gguf_error *error);
void language_caches_close(struct gguf_caches *caches, const struct language *language);
/* Returns whether a model takes more than @most tokens, as far as its files say. */
bool language_takes_more(const struct language *language, uint64_t most);
/* Returns a seed from the clock. */
uint64_t language_seed(void);

/* Tokens of a prompt that are read at once, where the prompt is that long. */
#define LANGUAGE_BLOCK 32

/* A prompt, and the text that goes on from it. */
struct answer {
	/* Set by the caller. answer_exit() frees tokens and sampler; both may be zeros. */
	struct gguf_tokens tokens; /* the prompt, at least one */
	struct gguf_sampler sampler;
	const struct pairs *stops;
	uint64_t most; /* tokens that are generated; at least 1 */
	struct gguf_caches *caches;
	/* The result. */
	struct generated text;
	/* Tokens of the prompt that were fed to the model, and tokens that were generated. */
	size_t fed, count;
	uint32_t last;	 /* the token that was drawn last */
	const char *end; /* why the answer has ended: "end", "stop" or "length"; NULL: it has not */
	/*
	 * Measured: nanoseconds for the prompt; then nanoseconds, NPU cycles and bytes for the
	 * @evaluated tokens that were fed after it.
	 */
	uint64_t prompt_ns, ns, cycles, bytes_read, bytes_written;
	size_t evaluated;
};

/*
 * Computes the next block of the prompt or the next token, and adds to the text. Returns 0, or -1
 * with a message.
 */
int answer_step(struct answer *answer, struct language *language, struct gguf_error *error);
void answer_exit(struct answer *answer);

#endif
