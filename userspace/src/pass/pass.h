/* SPDX-License-Identifier: MIT */
/*
 * Passes: from a recorded graph to the one that is executed. Each pass makes a new graph from the
 * old one and says what became of every node; the report follows each WebNN operator through all
 * of them. The graph is verified after every pass. pass.c holds the list and its order.
 */
#ifndef WNN_PASS_PASS_H
#define WNN_PASS_PASS_H

#include "graph/builder.h"
#include "ir/ir.h"
#include "util/error.h"

/* The CPU, as constant folding needs it: the layer above wraps cpu_supports and cpu_run_node. */
struct wnn_pass_evaluator {
	bool (*can)(const struct ir_node *node, void *userdata);
	int (*run)(const struct ir_node *node, const void *const *in, void *const *out,
		   void *userdata, struct wnn_error *err);
	void *userdata;
};

struct wnn_pass_options {
	bool no_simplify; /* keep nodes that do nothing */
	bool no_fold;	  /* compute nothing at build */
	bool no_merge;	  /* keep equal nodes apart */
	bool no_fuse;	  /* keep bias and activations as nodes */
	/*
	 * All nodes run on the CPU: float16 is computed in float32, and rotary embeddings stay
	 * unfused.
	 */
	bool widen;
	uint64_t rules_off; /* of wnn_rules_mask() */
	/*
	 * Convolutions are faster on channels-last data: the layout of a region changes where it
	 * has at least this many multiplications for each element that is transposed for it. 0:
	 * never.
	 */
	uint32_t channels_last_work;
	/* NULL members: nothing is folded. */
	struct wnn_pass_evaluator evaluator;
	uint64_t fold_max_bytes; /* largest result of a folded node; 0: 64 MiB */
	uint64_t fold_max_work;	 /* multiplications and the like for one; 0: 2^24 */
};

/* The fate of an operator. */
enum wnn_fate {
	WNN_FATE_KEPT,	 /* it is node `node` */
	WNN_FATE_FUSED,	 /* node `node` does its work as well */
	WNN_FATE_FOLDED, /* computed at build */
	WNN_FATE_VIEW,	 /* it did nothing: its result is its operand */
	WNN_FATE_UNUSED, /* no output depends on it */
};

struct wnn_pass_entry {
	enum wnn_op op;
	const char *name;  /* "conv2d" */
	const char *label; /* as the application gave it */
	enum wnn_fate fate;
	uint32_t node;	    /* id in the final graph; UINT32_MAX when there is none */
	uint32_t num_nodes; /* how many nodes it became: split has one for each part */
	const char *rule; /* the local rule, or else the pass, that changed it; NULL: nothing did */
};

/*
 * One entry for each recorded operator, in the order of the calls. Names and labels are the
 * recording's.
 */
struct wnn_pass_report {
	uint32_t num_entries;
	struct wnn_pass_entry *entries;
	/*
	 * For each node of the final graph: index of the operator that it stands for in the first
	 * place.
	 */
	uint32_t *node_entry;
};

/**
 * wnn_run_passes - optimise a recorded graph
 * @recording: its graph is replaced, so that node_operator no longer belongs to it; the rest must
 *	outlive the report
 * @report: to be destroyed with wnn_pass_report_destroy when this succeeds
 *
 * On error the recording's graph is the one before the pass that failed.
 */
int wnn_run_passes(struct wnn_recording *recording, const struct wnn_pass_options *options,
		   struct wnn_pass_report *report, struct wnn_error *err);
void wnn_pass_report_destroy(struct wnn_pass_report *report);

/* Returns the mask of the local rules of that name, "all" for all; 0: no rule has it. */
uint64_t wnn_rules_mask(const char *name, size_t length);
/* The names of all rules with commas between; cut where there is no room. Returns buffer. */
const char *wnn_rules_list(char *buffer, size_t size);

const char *wnn_fate_name(enum wnn_fate fate);

/* The report as text, a line for each operator; malloc'ed. */
char *wnn_pass_report_print(const struct wnn_pass_report *report);

#endif
