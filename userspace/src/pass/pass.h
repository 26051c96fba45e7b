/* SPDX-License-Identifier: MIT */
/*
 * Passes: they transform a recorded graph into the graph that is executed. Each pass makes a new
 * graph and records the fate of every node of the old one; the report follows each WebNN operator
 * through all passes. The graph is verified after every pass. pass.c has the list of passes.
 */
#ifndef WNN_PASS_PASS_H
#define WNN_PASS_PASS_H

#include "graph/builder.h"
#include "ir/ir.h"
#include "util/error.h"

/*
 * How constant folding computes nodes on the CPU: the layer above wraps cpu_supports() and
 * cpu_run_node().
 */
struct wnn_pass_evaluator {
	bool (*can)(const struct ir_node *node, void *userdata);
	int (*run)(const struct ir_node *node, const void *const *in, void *const *out,
		   void *userdata, struct wnn_error *err);
	void *userdata;
};

struct wnn_pass_options {
	bool no_simplify; /* keep nodes that do nothing */
	bool no_fold;	  /* compute no nodes when the graph is built */
	bool no_merge;	  /* keep equal nodes apart */
	bool no_fuse;	  /* skip all passes that make one node of several */
	/*
	 * All nodes run on the CPU: float16 is computed in float32, and rotary embeddings are not
	 * fused.
	 */
	bool widen;
	uint64_t rules_off; /* mask of disabled rules, see wnn_rules_mask() */
	/*
	 * The least number of multiplications per transposed element for which a region of
	 * convolutions is changed to channels-last layout, in which they are faster. 0: no region
	 * is changed.
	 */
	uint32_t channels_last_work;
	/* With NULL members nothing is folded. */
	struct wnn_pass_evaluator evaluator;
	uint64_t fold_max_bytes; /* the most bytes of a folded node's results together; 0: 64 MiB */
	/* most multiplications, or similar operations, of a folded node; 0: 2^24 */
	uint64_t fold_max_work;
};

/* The fate of an operator: what became of it in the final graph. */
enum wnn_fate {
	WNN_FATE_KEPT,	 /* the operator became node `node` */
	WNN_FATE_FUSED,	 /* node `node` computes it, too */
	WNN_FATE_FOLDED, /* the operator was computed when the graph was built */
	WNN_FATE_VIEW,	 /* the operator did nothing: its result is its operand */
	WNN_FATE_UNUSED, /* no output depends on it, so it was removed */
};

struct wnn_pass_entry {
	enum wnn_op op;
	const char *name;  /* "conv2d" */
	const char *label; /* the label that the application gave */
	enum wnn_fate fate;
	uint32_t node; /* id in the final graph; UINT32_MAX: there is no node */
	/* number of nodes that it became: a split becomes one node for each slice */
	uint32_t num_nodes;
	const char *rule; /* the rule or pass that changed it; NULL: nothing did */
};

/*
 * One entry for each recorded operator, in the order of the calls. Names and labels belong to the
 * recording.
 */
struct wnn_pass_report {
	uint32_t num_entries;
	struct wnn_pass_entry *entries;
	/* For each node of the final graph: index of the operator that it mainly stands for. */
	uint32_t *node_entry;
};

/**
 * wnn_run_passes - optimise a recorded graph
 * @recording: its graph is replaced, so that node_operator no longer belongs to it; the rest must
 *	outlive the report
 * @report: to be destroyed with wnn_pass_report_destroy when this succeeds
 *
 * Returns 0, or -1 with *err: the recording's graph then is the one before the pass that failed.
 */
int wnn_run_passes(struct wnn_recording *recording, const struct wnn_pass_options *options,
		   struct wnn_pass_report *report, struct wnn_error *err);
void wnn_pass_report_destroy(struct wnn_pass_report *report);

/* Returns the mask of the rules of that name, "all" for all rules; 0: no rule has that name. */
uint64_t wnn_rules_mask(const char *name, size_t length);
/*
 * Writes the names of all rules, separated by commas, to buffer; cuts what does not fit. Returns
 * buffer.
 */
const char *wnn_rules_list(char *buffer, size_t size);

const char *wnn_fate_name(enum wnn_fate fate);

/* Returns the report as text with a line for each operator; the caller frees it with free(). */
char *wnn_pass_report_print(const struct wnn_pass_report *report);

#endif
