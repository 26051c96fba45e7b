/* SPDX-License-Identifier: MIT */
/* webnn-run generate --server: an interface of HTTP to a language model. */
#ifndef ONPU_TOOLS_RUN_SERVER_H
#define ONPU_TOOLS_RUN_SERVER_H

#include "language.h"

struct server_options {
	const char *host; /* the address to listen on */
	uint16_t port;	  /* 0: any that is free */
	size_t slots, queue;
	/* most tokens of a prompt with its answer, and of an answer where the request does not say */
	uint64_t context, max_tokens;
	uint64_t seed;
	bool seeded; /* a request without a seed uses @seed; false: it gets one from the clock */
};

/*
 * Blocks the signals that end the server, until server_run() takes them, and ignores SIGPIPE. Must
 * be called before the threads of a device are made, which inherit the blocked signals.
 */
void server_block_signals(void);
/* Serves until SIGINT or SIGTERM. The graphs were built. Returns DONE or an exit code. */
int server_run(struct language *language, const struct server_options *options);

#endif
