/* SPDX-License-Identifier: MIT */
/* webnn-run generate --server: replies to requests, as JSON. */
#ifndef ONPU_TOOLS_RUN_REPLY_H
#define ONPU_TOOLS_RUN_REPLY_H

#include "request.h"

/* The members that all JSON objects of one reply have. */
struct reply {
	bool chat;
	const char *model;
	uint64_t number; /* number of the request, counted from the start of the server */
	int64_t created; /* seconds since 1970 */
};

/* A text so far, and how many tokens it took. */
struct reply_text {
	const char *data;
	size_t size, prompt_tokens, tokens;
	const char *end; /* why it ended, as in struct answer */
};

/* Each returns a new object, or NULL: memory is exhausted. */
json_t *reply_whole(const struct reply *reply, const struct reply_text *text);
/* A part of a stream. The first part of a conversation has no text, but the role. */
json_t *reply_first(const struct reply *reply);
json_t *reply_part(const struct reply *reply, const char *data, size_t size);
json_t *reply_last(const struct reply *reply, const char *end);
json_t *reply_usage(const struct reply *reply, const struct reply_text *text);
json_t *reply_refusal(const struct refusal *refusal);

#endif
