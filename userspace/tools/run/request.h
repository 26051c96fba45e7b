/* SPDX-License-Identifier: MIT */
/* webnn-run generate --server: the bodies of requests. */
#ifndef ONPU_TOOLS_RUN_REQUEST_H
#define ONPU_TOOLS_RUN_REQUEST_H

#include <gguf/chat.h>
#include <gguf/sample.h>
#include <jansson.h>

#include "run.h"

/* The status of HTTP and the message with which a request is refused. */
struct refusal {
	unsigned int status;
	const char *field; /* the field that is wrong, or NULL; it may point into the JSON */
	char text[500];
};

/* Sets @refusal, with a message as its text, and returns -1. */
int refuse(struct refusal *refusal, unsigned int status, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A request to go on with a text, or to answer a conversation. Texts point into the JSON. */
struct request {
	json_t *root;
	bool chat;
	struct gguf_text prompt;
	uint32_t *tokens; /* the prompt as numbers of tokens; NULL: it is a text, or messages */
	size_t token_count;
	struct gguf_message *messages;
	size_t message_count;
	char **joined; /* for each message: its text, if the message came in parts, or NULL */
	struct pairs stops;
	struct gguf_sampling sampling;
	/* Options that are not given are -1, and for max_tokens 0. */
	int64_t seed;
	uint64_t max_tokens;
	bool stream, usage; /* usage: a stream tells the counts of tokens at its end */
};

/*
 * Reads the body of a request. Returns 0, or -1 with a refusal; the caller must call request_exit()
 * in both cases.
 */
int request_read(struct request *request, const char *body, size_t size, bool chat,
		 struct refusal *refusal);
/* Frees prompt and messages, and all of the JSON but the texts of "stop". */
void request_trim(struct request *request);
void request_exit(struct request *request);

#endif
