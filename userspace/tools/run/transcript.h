/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: the text of a recording. */
#ifndef ONPU_TOOLS_RUN_TRANSCRIPT_H
#define ONPU_TOOLS_RUN_TRANSCRIPT_H

#include "generated.h"
#include "whisper.h"

/* A part of the recording that the model hears at once, and where its text begins. */
struct transcript_part {
	size_t begin, end; /* in samples */
	size_t text, tokens;
	uint32_t language; /* the token of the language that it was taken for, or GGUF_NO_TOKEN */
};

struct transcript {
	/* Set by the caller. */
	struct whisper *whisper;
	const char *language; /* NULL: as the model hears */
	bool translate;
	uint64_t most; /* tokens of a part */
	bool stream;   /* print the text while it is written */
	/* Made by transcript_begin(). */
	uint32_t start, end, task, plain; /* tokens; plain: without time stamps */
	bool *suppressed, *first_suppressed;
	/* The result. */
	struct generated text;
	struct transcript_part *parts;
	size_t part_count, tokens;
	/* Measured; the tokens that were fed are those of prompts, too. */
	uint64_t listen_ns, ns, cycles;
	size_t fed;
};

/*
 * Looks up the tokens that begin a text. Returns DONE, or an exit code after a message;
 * transcript_exit() is called in any case.
 */
int transcript_begin(struct transcript *transcript);
/* Adds the text of a whole recording. Returns DONE, or an exit code after a message. */
int transcript_add(struct transcript *transcript, const float *samples, size_t count);
void transcript_exit(struct transcript *transcript);

#endif
