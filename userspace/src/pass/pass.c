// SPDX-License-Identifier: MIT
/* Runs the passes in order, and keeps the report that follows every operator through them. */
#include "pass/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pass/rules.h"
#include "util/malloc.h"

/* The fates, so far, of the nodes of the graph before the first pass. */
struct trail {
	uint32_t num_nodes;
	struct rewrite_fate *fates;
	const char **rules; /* by node: the rule or pass that last changed it */
};

/*
 * Updates the fate of each node of the application after a pass. A change that no rule claims is
 * attributed to the pass.
 */
static void follow(struct trail *trail, const struct rewrite *rw, const char *pass)
{
	for (uint32_t i = 0; i < trail->num_nodes; i++) {
		struct rewrite_fate *fate = &trail->fates[i];
		const struct rewrite_fate *next;
		const char *rule;

		if (fate->fate != WNN_FATE_KEPT && fate->fate != WNN_FATE_FUSED)
			continue;
		next = &rw->fate[fate->node];
		/* A fused node stays fused as long as the node that it is part of exists. */
		rule = rw->rule[fate->node];
		if (next->fate != WNN_FATE_KEPT && next->fate != WNN_FATE_FUSED)
			trail->rules[i] = rule ? rule : pass;
		else if (fate->fate == WNN_FATE_KEPT && rule)
			trail->rules[i] = rule;
		else if (next->fate == WNN_FATE_FUSED && !trail->rules[i])
			trail->rules[i] = pass;
		if (next->fate != WNN_FATE_KEPT)
			fate->fate = next->fate;
		fate->node = next->node;
	}
}

static int run_pass(struct ir_graph **graph, pass_fn pass, const char *name,
		    const struct pass_context *ctx, struct trail *trail)
{
	struct rewrite rw;
	int ret = rewrite_begin(&rw, *graph, ctx->err);

	if (!ret)
		ret = pass(&rw, ctx);
	if (!ret)
		ret = rewrite_end(&rw);
	if (!ret)
		ret = ir_verify(rw.to, ctx->err);
	if (!ret) {
		follow(trail, &rw, name);
		ir_graph_destroy(*graph);
		*graph = rw.to;
		rw.to = NULL;
	}
	rewrite_destroy(&rw);
	return ret;
}

/*
 * Whether 8-bit values that are not constant are dequantised, so that operators on integers may be
 * found.
 */
static bool has_integers(const struct ir_graph *graph)
{
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];

		if (node->op == IR_OP_DEQUANTIZE && node->operands[0]->kind != IR_VALUE_CONSTANT &&
		    (node->operands[0]->type.dtype == IR_I8 ||
		     node->operands[0]->type.dtype == IR_U8))
			return true;
	}
	return false;
}

static bool has_halves(const struct ir_graph *graph)
{
	for (uint32_t i = 0; i < graph->num_values; i++)
		if (graph->values[i]->type.dtype == IR_F16)
			return true;
	return false;
}

static bool has_transposes(const struct ir_graph *graph)
{
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		if (graph->nodes[n]->op == IR_OP_TRANSPOSE)
			return true;
	return false;
}

/* A pass and its name, as two arguments. */
#define PASS(name) pass_##name, #name

/*
 * Runs all passes. Their order decides how many nodes each finds, never whether the graph is right:
 * a folded node need not be fused, and fused nodes are not merged. In a quantised graph, constants
 * that were left as integers are dequantised after the passes that fuse integers. Returns 0 or -1.
 */
static int run_all(struct ir_graph **graph, const struct pass_context *ctx, struct trail *trail)
{
	const struct wnn_pass_options *options = ctx->options;
	bool fold = !options->no_fold && options->evaluator.can && options->evaluator.run;
	bool fuse = !options->no_fuse, integers = fuse && has_integers(*graph);
	bool sink = !options->no_simplify && has_transposes(*graph) &&
		    rules_pass_is_on(options, RULES_SINK_TRANSPOSES);
	bool join = fuse && rules_pass_is_on(options, RULES_JOIN_PRODUCTS);
	const struct {
		bool enabled;
		pass_fn pass;
		const char *name;
		bool keep_integers;
	} passes[] = {
		{ !options->no_simplify, PASS(simplify), false },
		{ !options->no_simplify, PASS(tidy), false },
		{ sink, PASS(sink_transposes), false },
		{ sink, PASS(tidy), false },
		{ true, PASS(drop_dead), false },
		{ fold, PASS(fold), integers },
		{ !options->no_merge, PASS(merge), false },
		/*
		 * A function that is written as several operators is found before absorb makes some
		 * of them part of weights.
		 */
		{ fuse, PASS(recognise), false },
		{ fuse, PASS(absorb), false },
		{ fuse, PASS(drop_dead), false },
		{ fuse, PASS(recognise), false },
		{ fuse && !options->widen, PASS(rotary), false },
		{ fuse, PASS(fuse_bias), false },
		{ fuse, PASS(fuse_activation), false },
		{ join, PASS(join_products), false },
		{ integers, PASS(sink_dequantize), false },
		{ integers, PASS(drop_dead), false },
		{ integers, PASS(fuse_integers), false },
		{ integers, PASS(drop_dead), false },
		{ integers, PASS(fuse_sums), false },
		{ integers, PASS(drop_dead), false },
		{ integers && fold, PASS(fold), false },
		{ fuse, PASS(fuse_weights), false },
		{ options->widen && has_halves(*graph), PASS(widen), false },
		{ options->channels_last_work, PASS(channels_last), false },
		{ true, PASS(drop_dead), false },
	};

	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		struct pass_context own = *ctx;

		own.keep_integers = passes[i].keep_integers;
		if (passes[i].enabled &&
		    run_pass(graph, passes[i].pass, passes[i].name, &own, trail))
			return -1;
	}
	return 0;
}

/*
 * Updates an operator's entry with the fate of one of its nodes. An operator that became several
 * nodes gets the first of their fates in the order of enum wnn_fate: kept, then fused, folded, and
 * so on.
 */
static void note_node(struct wnn_pass_entry *entry, const struct rewrite_fate *fate,
		      const char *rule)
{
	if (fate->fate == WNN_FATE_KEPT)
		entry->num_nodes++;
	if (fate->fate < entry->fate) {
		entry->fate = fate->fate;
		entry->node = fate->node;
		entry->rule = rule;
	} else if (fate->fate == entry->fate && !entry->rule) {
		entry->rule = rule;
	}
}

/* Assigns each node that a pass has added to the operator of a node that uses its result. */
static void adopt_orphans(const struct ir_graph *graph, uint32_t *node_entry)
{
	for (uint32_t n = graph->num_nodes; n-- > 0;) {
		const struct ir_node *node = graph->nodes[n];

		for (uint32_t i = 0; i < node->num_operands; i++) {
			const struct ir_value *value = node->operands[i];

			if (value && value->def && node_entry[value->def->id] == UINT32_MAX)
				node_entry[value->def->id] = node_entry[n];
		}
	}
}

static int make_report(const struct wnn_recording *recording, const struct trail *trail,
		       struct wnn_pass_report *report, struct wnn_error *err)
{
	report->num_entries = recording->num_operators;
	report->entries = wnn_calloc(recording->num_operators + 1, sizeof(*report->entries));
	report->node_entry =
		wnn_calloc(recording->graph->num_nodes + 1, sizeof(*report->node_entry));
	if (!report->entries || !report->node_entry) {
		wnn_pass_report_destroy(report);
		return wnn_error_nomem(err, "the placement report");
	}
	for (uint32_t i = 0; i < report->num_entries; i++)
		report->entries[i] = (struct wnn_pass_entry){
			.op = recording->operators[i].op,
			.name = wnn_op_info[recording->operators[i].op].name,
			.label = recording->operators[i].label,
			.fate = WNN_FATE_UNUSED,
			.node = UINT32_MAX,
		};
	for (uint32_t n = 0; n < recording->graph->num_nodes; n++)
		report->node_entry[n] = UINT32_MAX;
	for (uint32_t n = 0; n < trail->num_nodes; n++) {
		const struct rewrite_fate *fate = &trail->fates[n];
		uint32_t entry = recording->node_operator[n];

		note_node(&report->entries[entry], fate, trail->rules[n]);
		if (fate->fate == WNN_FATE_KEPT ||
		    (fate->fate == WNN_FATE_FUSED && report->node_entry[fate->node] == UINT32_MAX))
			report->node_entry[fate->node] = entry;
	}
	adopt_orphans(recording->graph, report->node_entry);
	return 0;
}

int wnn_run_passes(struct wnn_recording *recording, const struct wnn_pass_options *options,
		   struct wnn_pass_report *report, struct wnn_error *err)
{
	const struct pass_context ctx = { .options = options, .err = err };
	struct trail trail = { .num_nodes = recording->graph->num_nodes };
	int ret;

	memset(report, 0, sizeof(*report));
	trail.fates = wnn_calloc(trail.num_nodes + 1, sizeof(*trail.fates));
	trail.rules = wnn_calloc(trail.num_nodes + 1, sizeof(*trail.rules));
	if (!trail.fates || !trail.rules) {
		wnn_free(trail.fates);
		wnn_free(trail.rules);
		return wnn_error_nomem(err, "the passes over a graph");
	}
	for (uint32_t n = 0; n < trail.num_nodes; n++)
		trail.fates[n] = (struct rewrite_fate){ WNN_FATE_KEPT, n };
	ret = ir_verify(recording->graph, err);
	if (!ret)
		ret = run_all(&recording->graph, &ctx, &trail);
	if (!ret)
		ret = make_report(recording, &trail, report, err);
	wnn_free(trail.fates);
	wnn_free(trail.rules);
	return ret;
}

void wnn_pass_report_destroy(struct wnn_pass_report *report)
{
	wnn_free(report->entries);
	wnn_free(report->node_entry);
	memset(report, 0, sizeof(*report));
}

const char *wnn_fate_name(enum wnn_fate fate)
{
	static const char *const names[] = {
		[WNN_FATE_KEPT] = "kept",     [WNN_FATE_FUSED] = "fused",
		[WNN_FATE_FOLDED] = "folded", [WNN_FATE_VIEW] = "view",
		[WNN_FATE_UNUSED] = "unused",
	};

	return names[fate];
}

char *wnn_pass_report_print(const struct wnn_pass_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < report->num_entries; i++) {
		const struct wnn_pass_entry *entry = &report->entries[i];

		fprintf(f, "%" PRIu32 " %s %s", i, entry->name, wnn_fate_name(entry->fate));
		if (entry->node != UINT32_MAX)
			fprintf(f, " %" PRIu32, entry->node);
		fputc('\n', f);
	}
	if (fclose(f)) {
		wnn_free(text);
		return NULL;
	}
	return text;
}
