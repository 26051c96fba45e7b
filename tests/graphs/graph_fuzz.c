// SPDX-License-Identifier: MIT
/*
 * Runs random graphs on a device and compares the results with the oracle in double precision. On
 * the CPU, the fast kernels run and the reference kernels, too; on sim and npu, all operators run
 * on the NPU. sim has several sizes of SRAM: results must have the same bits for all of them,
 * except where a node's WNNNodePlacement.exactness says that they may differ. With --digest the
 * graphs run on each layer and level of the CPU, and the program prints a digest of the results for
 * each.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph.h"

#define MAX_TARGETS 8
#define MAX_REPLAYS 100
/* two threads, so that nodes are divided; the bits do not depend on the number */
#define DIGEST_THREADS 2
#define COMPOSED       45 /* percent of the graphs that are compositions */

struct options {
	const char *device, *work, *only;
	const char *replay[MAX_REPLAYS];
	uint32_t replays;
	uint64_t seed, count, sram;
	double minutes, min_coverage;
	uint32_t per_operator, compositions, composed;
	bool unfilled, verbose, keep_going, print, as_is, saved, late, digest, rules;
	FILE *values;
};

/* The findings of a run of the program. */
struct tally {
	uint64_t graphs, failed, large, shaped, tiled, calls, checked, unbounded;
	/* graphs with a named dimension: those that ran, and those that the library refused */
	uint64_t named, refused;
	double ulps[WNN_OP_COUNT], share[WNN_OP_COUNT];
};

struct fuzzer {
	struct options options;
	struct target targets[MAX_TARGETS];
	struct digest digests[MAX_TARGETS + 1]; /* by target; the last is for the reference */
	uint32_t num_targets;
	bool reference; /* the reference kernels of the CPU run, too */
	struct tally tally;
	uint64_t seed;	    /* of the graph */
	char problem[1000]; /* what is wrong with the last graph that failed */
};

/* --- One graph --- */

static bool check_values(struct fuzzer *fuzzer, const struct graph *graph,
			 const struct truths *truths, const char *where, const struct run *run)
{
	struct tally *tally = &fuzzer->tally;
	struct comparison c;

	compare_outputs(graph, truths, run, &c);
	tally->checked += c.checked;
	tally->unbounded += c.unbounded;
	if (graph->num_nodes == 1 && c.agree) {
		enum wnn_op op = graph->nodes[0].op;

		tally->ulps[op] = c.ulps > tally->ulps[op] ? c.ulps : tally->ulps[op];
		tally->share[op] = c.share > tally->share[op] ? c.share : tally->share[op];
	}
	if (c.agree)
		return true;
	snprintf(fuzzer->problem, sizeof(fuzzer->problem),
		 "values on %s: v%d element %lld is %s, expected %s within %.3g", where, c.value,
		 (long long)c.element, c.is, c.wanted, c.bound);
	return false;
}

static bool check_bits(struct fuzzer *fuzzer, const struct graph *graph, const struct run *a,
		       const struct run *b, uint32_t number)
{
	/* Only attention in blocks of keys may be inexact: see has_mark() in run.c. */
	if (a->marked || b->marked) {
		snprintf(fuzzer->problem, sizeof(fuzzer->problem),
			 "marks on %s: a node is not exact", fuzzer->targets[0].device);
		return false;
	}
	for (uint32_t v = 0; v < graph->num_values; v++) {
		if (!a->exact[v] || !b->exact[v] || !a->outputs[v] || !b->outputs[v] ||
		    !memcmp(a->outputs[v], b->outputs[v], graph_bytes(&graph->values[v])))
			continue;
		snprintf(fuzzer->problem, sizeof(fuzzer->problem),
			 "bits on %s: v%u differs between SRAM %" PRIu64 " and %" PRIu64
			 ", though every node is exact",
			 fuzzer->targets[0].device, (unsigned int)v, fuzzer->targets[0].sram,
			 fuzzer->targets[number].sram);
		return false;
	}
	return true;
}

/*
 * Runs the graph on the target and compares the results with @truths, unless an earlier check has
 * failed. Returns false, with fuzzer->problem, when they differ. The caller frees @run in any case.
 */
static bool check_target(struct fuzzer *fuzzer, const struct graph *graph,
			 const struct truths *truths, uint32_t number, struct run *run)
{
	struct target *target = &fuzzer->targets[number];
	char where[64];

	snprintf(where, sizeof(where), "%s, SRAM %" PRIu64 ", %u threads%s", target->device,
		 target->sram, (unsigned int)target->threads, target->plain ? ", no rules" : "");
	run_graph(target, graph, run);
	if (run->status == RUN_DONE)
		return check_values(fuzzer, graph, truths, where, run);
	snprintf(fuzzer->problem, sizeof(fuzzer->problem), "%s on %s: %.700s",
		 run->status == RUN_REFUSED ? "refused" : "failure", where, run->message);
	return false;
}

static bool check_reference(struct fuzzer *fuzzer, const struct graph *graph,
			    const struct truths *truths)
{
	struct run run;
	bool good;

	run_reference(truths, &run);
	good = check_values(fuzzer, graph, truths, "the reference kernels", &run);
	run_free(&run);
	return good;
}

/*
 * Runs the graph on the reference kernels and on all targets, and adds the results to the digest of
 * each. Returns false, with fuzzer->problem, when a run on a target fails.
 */
static bool take_digests(struct fuzzer *fuzzer, const struct graph *graph,
			 const struct truths *truths)
{
	bool good = true;
	struct run run;

	run_reference(truths, &run);
	digest_add(&fuzzer->digests[MAX_TARGETS], graph, &run);
	run_free(&run);
	for (uint32_t t = 0; t < fuzzer->num_targets && good; t++) {
		struct target *target = &fuzzer->targets[t];

		run_graph(target, graph, &run);
		digest_add(&fuzzer->digests[t], graph, &run);
		good = run.status == RUN_DONE;
		if (!good)
			snprintf(fuzzer->problem, sizeof(fuzzer->problem),
				 "failure on the layer %s, level %s: %.700s", target->layer,
				 target->level, run.message);
		run_free(&run);
	}
	return good;
}

/*
 * Runs the graph on all targets; returns false, with fuzzer->problem, when something is wrong.
 * Every device runs every operator, so that a graph that one refuses is wrong, too.
 */
static bool check(struct fuzzer *fuzzer, const struct graph *graph, bool *tiled)
{
	struct run runs[MAX_TARGETS];
	struct wnn_error err = { 0 };
	struct truths truths;
	bool good = true;

	*tiled = false;
	if (truths_make(graph, &truths, &err)) {
		snprintf(fuzzer->problem, sizeof(fuzzer->problem), "oracle: %.900s", err.message);
		return false;
	}
	if (fuzzer->options.digest) {
		good = take_digests(fuzzer, graph, &truths);
		truths_free(&truths);
		return good;
	}
	memset(runs, 0, sizeof(runs));
	if (fuzzer->reference)
		good = check_reference(fuzzer, graph, &truths);
	for (uint32_t t = 0; t < fuzzer->num_targets && good; t++) {
		good = check_target(fuzzer, graph, &truths, t, &runs[t]);
		*tiled |= runs[t].tiled;
		/*
		 * This holds for the NPU only: on the CPU, folding changes what is fused and
		 * rounded once. Rules do so on both.
		 */
		if (good && t && runs[t].on_npu && !fuzzer->targets[t].plain)
			good = check_bits(fuzzer, graph, &runs[0], &runs[t], t);
	}
	if (good && fuzzer->options.values)
		graph_print_values(graph, &runs[fuzzer->num_targets - 1], fuzzer->options.values);
	truths_free(&truths);
	for (uint32_t t = 0; t < fuzzer->num_targets; t++)
		run_free(&runs[t]);
	return good;
}

/*
 * Runs the graph with a named dimension on all targets. Returns false, with fuzzer->problem, when a
 * run fails; else true, also when no dimension can get a name or the library refuses the graph with
 * the name.
 */
static bool check_late(struct fuzzer *fuzzer, const struct graph *graph)
{
	struct late late;
	struct run run;

	if (!late_draw(graph, fuzzer->seed, &late))
		return true;
	for (uint32_t t = 0; t < fuzzer->num_targets; t++) {
		run_late(&fuzzer->targets[t], graph, &late, &run);
		if (run.status == RUN_REFUSED) {
			if (fuzzer->options.print)
				printf("refused with a name: %s\n", run.message);
			fuzzer->tally.refused++;
			return true;
		}
		if (run.status == RUN_FAILED) {
			snprintf(fuzzer->problem, sizeof(fuzzer->problem), "%.800s", run.message);
			return false;
		}
	}
	fuzzer->tally.named++;
	return true;
}

static bool check_any(struct fuzzer *fuzzer, const struct graph *graph, bool *tiled)
{
	*tiled = false;
	return fuzzer->options.late ? check_late(fuzzer, graph) : check(fuzzer, graph, tiled);
}

/* The failure that still_fails() must find again in a smaller graph: its text begins with @kind. */
struct suspect {
	struct fuzzer *fuzzer;
	char kind[16];
};

static bool still_fails(const struct graph *graph, void *userdata)
{
	struct suspect *suspect = userdata;
	bool tiled;

	return !check_any(suspect->fuzzer, graph, &tiled) &&
	       !strncmp(suspect->fuzzer->problem, suspect->kind, strlen(suspect->kind));
}

static void write_file(const struct fuzzer *fuzzer, const struct graph *graph, const char *name)
{
	char path[4096];
	FILE *file;

	if (!fuzzer->options.work)
		return;
	snprintf(path, sizeof(path), "%s/%s", fuzzer->options.work, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(2);
	}
	graph_print(graph, file);
	fclose(file);
}

static void report(struct fuzzer *fuzzer, struct graph *graph, uint64_t number, uint64_t seed)
{
	struct suspect suspect = { .fuzzer = fuzzer };
	char name[64];

	printf("FAILED graph %" PRIu64 ", seed %#" PRIx64 ": %s\n", number, seed, fuzzer->problem);
	snprintf(name, sizeof(name), "failed-%016" PRIx64 ".txt", seed);
	write_file(fuzzer, graph, name);
	if (fuzzer->options.as_is) {
		graph_print(graph, stdout);
		return;
	}
	memcpy(suspect.kind, fuzzer->problem, 6);
	graph_minimise(graph, still_fails, &suspect, 60);
	still_fails(graph, &suspect);
	printf("minimised: %s\n", fuzzer->problem);
	graph_print(graph, stdout);
	snprintf(name, sizeof(name), "small-%016" PRIx64 ".txt", seed);
	write_file(fuzzer, graph, name);
	if (fuzzer->options.work)
		printf("replay: --replay %s/%s\n", fuzzer->options.work, name);
	fflush(stdout);
}

static void run_one(struct fuzzer *fuzzer, struct graph *graph, uint64_t number, uint64_t seed)
{
	struct tally *tally = &fuzzer->tally;
	bool tiled, good;

	if (fuzzer->options.print)
		graph_print(graph, stdout);
	write_file(fuzzer, graph, "current.txt");
	fuzzer->seed = seed;
	good = check_any(fuzzer, graph, &tiled);
	tally->graphs++;
	tally->calls += graph->num_nodes;
	tally->large += graph->num_nodes >= 5;
	tally->tiled += tiled;
	if (good) {
		coverage_add(graph);
	} else {
		tally->failed++;
		report(fuzzer, graph, number, seed);
	}
}

/* --- Campaigns --- */

static bool wanted(const struct options *options, enum wnn_op op)
{
	return !options->only || !strcmp(options->only, wnn_op_info[op].name);
}

/* Runs every operator a given number of times, then compositions. */
static void run_layers(struct fuzzer *fuzzer, struct graph *graph)
{
	const struct options *options = &fuzzer->options;
	uint64_t number = 0;

	for (uint32_t variant = 0; variant < options->per_operator; variant++)
		for (uint32_t op = 0; op < WNN_OP_COUNT; op++) {
			uint64_t seed = rng_mix(options->seed, ++number);

			if (!wanted(options, (enum wnn_op)op))
				continue;
			graph_single(graph, (enum wnn_op)op, variant, seed);
			run_one(fuzzer, graph, number, seed);
			if (fuzzer->tally.failed && !options->keep_going)
				return;
		}
	for (uint32_t i = 0; i < options->compositions; i++) {
		uint64_t seed = rng_mix(options->seed, ++number);

		graph_compose(graph, seed, &fuzzer->targets[0].limits);
		run_one(fuzzer, graph, number, seed);
		if (fuzzer->tally.failed && !options->keep_going)
			return;
	}
}

/*
 * Single calls go through all operators in turn. Operators with many combinations of type and rank
 * come twice in each round.
 */
#define MANY_VARIANTS 40

static enum wnn_op next_op(uint32_t *turn)
{
	for (;; ++*turn) {
		enum wnn_op op = (enum wnn_op)(*turn / 2 % WNN_OP_COUNT);

		if (*turn % 2 == 0 || graph_variants(op) >= MANY_VARIANTS) {
			++*turn;
			return op;
		}
	}
}

/* Draws a graph of several calls: a third of them are quantised, a sixth may be streamed. */
static void compose(struct fuzzer *fuzzer, struct graph *graph, uint64_t number, uint64_t seed)
{
	graph_limits limits = &fuzzer->targets[0].limits;

	if (number % 3 == 0)
		graph_quantised(graph, seed, limits);
	else if (number % 6 == 1)
		graph_streamed(graph, seed, limits);
	else
		graph_compose(graph, seed, limits);
	fuzzer->tally.shaped += number % 3 == 0 || number % 6 == 1;
}

static void run_mixed(struct fuzzer *fuzzer, struct graph *graph)
{
	const struct options *options = &fuzzer->options;
	time_t end = time(NULL) + (time_t)(options->minutes * 60);
	uint32_t variant[WNN_OP_COUNT] = { 0 }, turn = 0;

	for (uint64_t number = 1; number <= options->count; number++) {
		uint64_t seed = rng_mix(options->seed, number);

		if (options->minutes > 0 && time(NULL) >= end)
			break;
		if (number % 20 * 5 < options->composed && !options->only) {
			compose(fuzzer, graph, number, seed);
		} else {
			enum wnn_op op = options->only ? wnn_op_find(options->only) :
							 next_op(&turn);

			graph_single(graph, op, variant[op]++, seed);
		}
		run_one(fuzzer, graph, number, seed);
		if (fuzzer->tally.failed && !options->keep_going)
			return;
	}
}

static bool replay(struct fuzzer *fuzzer, struct graph *graph, const char *path)
{
	FILE *file = fopen(path, "r");
	char message[1000];
	bool tiled, good;

	if (!file) {
		perror(path);
		return false;
	}
	good = !graph_parse(graph, file, message, sizeof(message));
	fclose(file);
	if (!good) {
		fprintf(stderr, "graph-fuzz: %s: %s\n", path, message);
		return false;
	}
	good = check_any(fuzzer, graph, &tiled);
	printf("%s: %s\n", path,
	       !good		      ? fuzzer->problem :
	       fuzzer->options.digest ? "ran" :
					"agrees");
	return good;
}

static void print_digests(const struct fuzzer *fuzzer)
{
	run_print_kernels();
	for (uint32_t i = 0; i < fuzzer->num_targets; i++)
		digest_print(&fuzzer->targets[i], &fuzzer->digests[i]);
	digest_print(&(struct target){ .layer = "reference", .level = "" },
		     &fuzzer->digests[MAX_TARGETS]);
}

static int replay_all(struct fuzzer *fuzzer, struct graph *graph)
{
	bool good = true;

	for (uint32_t i = 0; i < fuzzer->options.replays; i++)
		good &= replay(fuzzer, graph, fuzzer->options.replay[i]);
	if (fuzzer->options.digest)
		print_digests(fuzzer);
	return good ? 0 : 1;
}

static int summary(struct fuzzer *fuzzer)
{
	const struct tally *t = &fuzzer->tally;
	double ran = t->graphs ? (double)t->graphs : 1, share;

	if (fuzzer->options.digest) {
		print_digests(fuzzer);
		return t->failed || !t->graphs ? 1 : 0;
	}
	if (fuzzer->options.verbose) {
		printf("%-24s %12s %12s\n", "operator", "error/ulp", "error/bound");
		for (uint32_t op = 0; op < WNN_OP_COUNT; op++)
			printf("%-24s %12.4g %12.3f\n", wnn_op_info[op].name, t->ulps[op],
			       t->share[op]);
	}
	run_print_kernels();
	share = coverage_print(&fuzzer->targets[0].limits, fuzzer->options.unfilled);
	printf("seed %#" PRIx64 ": %" PRIu64 " graphs, %" PRIu64 " calls, %" PRIu64
	       " failed; %.1f %% have 5 calls or more, %.1f %% are quantised or streamed, %.1f %% several "
	       "tiles; %" PRIu64 " elements, %.2f %% without a bound\n",
	       fuzzer->options.seed, t->graphs, t->calls, t->failed, 100 * (double)t->large / ran,
	       100 * (double)t->shaped / ran, 100 * (double)t->tiled / ran, t->checked,
	       t->checked ? 100 * (double)t->unbounded / (double)t->checked : 0);
	if (fuzzer->options.late)
		printf("%" PRIu64 " graphs with a name for a dimension agree at 4 sizes; %" PRIu64
		       " were refused, as they are not valid for all sizes\n",
		       t->named, t->refused);
	if (share * 100 < fuzzer->options.min_coverage) {
		printf("coverage is below the %.1f %% asked for\n", fuzzer->options.min_coverage);
		return 1;
	}
	return t->failed || !t->graphs ? 1 : 0;
}

/* --- Options --- */

/* Adds a target without rules, which is like an earlier one otherwise. Returns 0 or -1. */
static int add_plain(struct fuzzer *fuzzer)
{
	struct target *target = &fuzzer->targets[fuzzer->num_targets];

	*target = fuzzer->targets[fuzzer->num_targets > 1];
	target->plain = true;
	fuzzer->num_targets++;
	return target_open(target);
}

static int open_targets(struct fuzzer *fuzzer)
{
	static const uint64_t srams[] = { 16 << 10, 512 << 10, 4 << 20 };
	const struct options *o = &fuzzer->options;
	bool cpu = o->digest || !strcmp(o->device, "cpu"), sim = !strcmp(o->device, "sim");

	fuzzer->reference = cpu;
	if (o->digest)
		fuzzer->num_targets = digest_targets(fuzzer->targets, MAX_TARGETS);
	else
		fuzzer->num_targets = cpu ? 2 : sim && !o->sram ? ARRAY_SIZE(srams) : 1;
	for (uint32_t t = 0; t < fuzzer->num_targets; t++) {
		struct target *target = &fuzzer->targets[t];

		target->device = cpu ? "cpu" : o->device;
		target->threads = !cpu ? 1 : o->digest ? DIGEST_THREADS : t + 1;
		target->sram = cpu ? 0 : sim ? (o->sram ? o->sram : srams[t]) : 0;
		target->policy = cpu ? WNNPlacementPolicy_CPUOnly : WNNPlacementPolicy_NPUOnly;
		/* On the CPU, only the second target folds constants. */
		target->folding = cpu && (t || o->digest);
		target->saved = o->saved;
		if (target_open(target))
			return -1;
	}
	return o->rules && !o->digest ? add_plain(fuzzer) : 0;
}

static uint64_t number_of(const char *text, struct argp_state *state)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		argp_error(state, "'%s' is no number", text);
	return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = arg;
		return 0;
	case 'n':
		o->count = number_of(arg, state);
		return 0;
	case 's':
		o->seed = number_of(arg, state);
		return 0;
	case 'm':
		o->minutes = strtod(arg, NULL);
		o->count = UINT64_MAX;
		return 0;
	case 'S':
		o->sram = number_of(arg, state);
		return 0;
	case 'r':
		if (o->replays == MAX_REPLAYS)
			argp_error(state, "there are more than %d graphs", MAX_REPLAYS);
		o->replay[o->replays++] = arg;
		return 0;
	case 'w':
		o->work = arg;
		return 0;
	case 'o':
		o->only = arg;
		if (wnn_op_find(arg) == WNN_OP_COUNT)
			argp_error(state, "there is no operator '%s'", arg);
		return 0;
	case 'p':
		o->per_operator = (uint32_t)number_of(arg, state);
		return 0;
	case 'c':
		o->compositions = (uint32_t)number_of(arg, state);
		return 0;
	case 'l':
		o->composed = (uint32_t)number_of(arg, state);
		return 0;
	case 'C':
		o->min_coverage = strtod(arg, NULL);
		return 0;
	case 'u':
		o->unfilled = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'k':
		o->keep_going = true;
		return 0;
	case 'D':
		o->digest = true;
		return 0;
	case 'f':
		o->saved = true;
		return 0;
	case 'N':
		o->late = true;
		return 0;
	case 'R':
		o->rules = true;
		return 0;
	case 'P':
		o->print = true;
		return 0;
	case 'a':
		o->as_is = true;
		return 0;
	case 'V':
		o->values = fopen(arg, "w");
		if (!o->values)
			argp_failure(state, 2, errno, "%s", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "device", 'd', "cpu|sim|npu", 0, "where the graphs run (sim)", 0 },
	{ "count", 'n', "N", 0, "graphs (1000)", 0 },
	{ "layers", 'l', "PERCENT", 0,
	  "so many of them have several calls, a half of these as in quantised networks or in "
	  "attention (45)",
	  0 },
	{ "seed", 's', "SEED", 0, "of the campaign (1)", 0 },
	{ "minutes", 'm', "N", 0, "stop after so long instead of after a number of graphs", 0 },
	{ "sram", 'S', "BYTES", 0, "only this size of the simulated NPU's SRAM", 0 },
	{ "replay", 'r', "FILE", 0, "run the graph in the file; may be repeated", 0 },
	{ "work", 'w', "FOLDER", 0, "keep the current graph and failing ones there", 0 },
	{ "only", 'o', "OPERATOR", 0, "only single calls of this operator", 0 },
	{ "per-operator", 'p', "N", 0, "instead of --count: N calls of each operator", 0 },
	{ "compositions", 'c', "N", 0, "with --per-operator: N compositions after that (0)", 0 },
	{ "min-coverage", 'C', "PERCENT", 0, "fail when fewer pairs are filled (0)", 0 },
	{ "unfilled", 'u', NULL, 0, "list the pairs that are not filled", 0 },
	{ "verbose", 'v', NULL, 0, "the largest error of each operator", 0 },
	{ "keep-going", 'k', NULL, 0, "go on after a failure", 0 },
	{ "as-is", 'a', NULL, 0, "do not make failing graphs smaller", 0 },
	{ "names", 'N', NULL, 0,
	  "give a dimension of each graph a name and a range, and compare with graphs of numbers",
	  0 },
	{ "digest", 'D', NULL, 0,
	  "compare nothing; print a number for the bits, and one for the kernels, of each layer and "
	  "level of the CPU",
	  0 },
	{ "rules", 'R', NULL, 0,
	  "run each graph once more, with all rules of the compiler turned off", 0 },
	{ "saved", 'f', NULL, 0, "save and load each graph before it runs", 0 },
	{ "values", 'V', "FILE", 0,
	  "write every graph that agrees there, with its data and what the last device gave", 0 },
	{ "print", 'P', NULL, 0, "print every graph before it runs", 0 },
	{ 0 }
};

int main(int argc, char **argv)
{
	static struct fuzzer fuzzer = {
		.options = { .device = "sim", .seed = 1, .count = 1000, .composed = COMPOSED },
	};
	static const struct argp argp = {
		option_list,
		parse,
		NULL,
		"Random WebNN graphs on a device against an oracle in double precision.",
		NULL,
		NULL,
		NULL,
	};
	struct graph *graph = calloc(1, sizeof(*graph));
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &fuzzer.options);
	if (!graph || open_targets(&fuzzer))
		return 2;
	if (fuzzer.options.replays) {
		ret = replay_all(&fuzzer, graph);
	} else {
		if (fuzzer.options.per_operator)
			run_layers(&fuzzer, graph);
		else
			run_mixed(&fuzzer, graph);
		ret = summary(&fuzzer);
	}
	for (uint32_t t = 0; t < fuzzer.num_targets; t++)
		target_close(&fuzzer.targets[t]);
	free(graph);
	if (fuzzer.options.values && fclose(fuzzer.options.values))
		ret = 2;
	return ret;
}
