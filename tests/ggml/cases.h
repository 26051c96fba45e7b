/* SPDX-License-Identifier: MIT */
/* Declares small graphs of ggml with random operands; most have one or two operators. */
#ifndef TESTS_GGML_CASES_H
#define TESTS_GGML_CASES_H

#include "client.h"

/* How a leaf of a graph is filled. */
enum fill {
	FILL_REAL,     /* -1 to 1 */
	FILL_POSITIVE, /* 0.1 to 2 */
	FILL_ROWS,     /* int32 below limit */
	FILL_DISTINCT, /* int64, all different, below limit */
	FILL_MASK,     /* 0 in the first column; 0 or -infinity in the others */
};

struct leaf {
	struct gg_tensor *tensor;
	enum fill fill;
	int64_t limit;
};

/* A graph that is being made. Weights are in a buffer of their own. */
struct world {
	struct gg_context *context, *weights;
	struct leaf leaves[16];
	int leaf_count;
	bool is_weight; /* whether the leaves that are made next are weights */
	int variant;	/* number of the graph within the case */
};

struct test_case {
	const char *name;
	int variants;
	struct gg_tensor *(*make)(struct world *w);
};

/* Ends with a row without a name. */
extern const struct test_case cases[];

#endif
