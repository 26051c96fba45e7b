/* SPDX-License-Identifier: MIT */
/* webnn-run generate: the text that a model writes, up to a text at which it ends. */
#ifndef ONPU_TOOLS_RUN_GENERATED_H
#define ONPU_TOOLS_RUN_GENERATED_H

#include "bytes.h"
#include "run.h"

struct generated {
	struct bytes bytes;
	size_t printed;
	bool stopped; /* a text of stops was found; it and all after it were dropped */
};

/* Appends bytes; those from a text of @stops on are dropped. Returns 0; -1: memory is exhausted. */
int generated_add(struct generated *text, const char *bytes, size_t size,
		  const struct pairs *stops);
/*
 * Returns the size of the part that is sure to stay: unless @last, an end with which a text of
 * @stops may begin can still go.
 */
size_t generated_sure(const struct generated *text, bool last, const struct pairs *stops);
/* Prints the part that is sure to stay and was not printed yet. */
void generated_print(struct generated *text, bool last, const struct pairs *stops);

#endif
