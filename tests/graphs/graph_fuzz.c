/* SPDX-License-Identifier: MIT */
/*
 * graph-fuzz: random graphs on a device against the oracle in double precision. On the CPU these
 * are the fast kernels; on sim and npu everything runs on the NPU, for several sizes of its SRAM
 * on sim, whose results must have the same bits where the placement says so.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph.h"

#define MAX_TARGETS	4
#define MAX_REASONS	200
#define COMPOSED_OF_20	9

struct options {
	const char *device, *replay, *work, *only;
	uint64_t seed, count, sram;
	double minutes, min_coverage;
	uint32_t per_operator, compositions;
	bool unfilled, verbose, keep_going, print, as_is;
};

/* What a run of the program found. */
struct tally {
	uint64_t graphs, failed, refused, large, tiled, calls, checked, unbounded;
	double ulps[WNN_OP_COUNT], share[WNN_OP_COUNT];
};

struct fuzzer {
	struct options options;
	struct target targets[MAX_TARGETS];
	uint32_t num_targets;
	struct tally tally;
	struct {
		char text[200];
		uint64_t count;
	} reasons[MAX_REASONS];
	char problem[1000];		/* of the last graph that failed */
};

/* --- One graph --- */

static void note_refusal(struct fuzzer *fuzzer, const struct graph *graph, const char *message)
{
	char text[sizeof(fuzzer->reasons[0].text)];
	size_t i = 0;

	snprintf(text, sizeof(text), "%s: %.160s",
		 graph->num_nodes == 1 ? wnn_op_info[graph->nodes[0].op].name : "(graph)", message);
	while (i < MAX_REASONS - 1 && fuzzer->reasons[i].count &&
	       strcmp(fuzzer->reasons[i].text, text))
		i++;
	memcpy(fuzzer->reasons[i].text, text, sizeof(text));
	fuzzer->reasons[i].count++;
}

static bool check_values(struct fuzzer *fuzzer, const struct graph *graph,
			 const struct truths *truths, const struct target *target,
			 const struct run *run)
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
		 "values on %s, SRAM %" PRIu64 ", %u threads: v%d element %lld is %s, expected %s within "
		 "%.3g",
		 target->device, target->sram, (unsigned int)target->threads, c.value,
		 (long long)c.element, c.is, c.wanted, c.bound);
	return false;
}

static bool check_bits(struct fuzzer *fuzzer, const struct graph *graph, const struct run *a,
		       const struct run *b, uint32_t number)
{
	for (uint32_t v = 0; v < graph->num_values; v++) {
		/* The compiler has no other way to split a node yet. */
		if (!a->exact[v] || !b->exact[v]) {
			snprintf(fuzzer->problem, sizeof(fuzzer->problem),
				 "marks on %s: v%u is not exact", fuzzer->targets[0].device,
				 (unsigned int)v);
			return false;
		}
		if (!a->outputs[v] || !b->outputs[v] ||
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

/* Runs the graph everywhere; false with fuzzer->problem when something is wrong. */
static bool check(struct fuzzer *fuzzer, const struct graph *graph, bool *refused, bool *tiled)
{
	struct run runs[MAX_TARGETS];
	struct wnn_error err = { 0 };
	struct truths truths;
	bool good = true, known = false;

	*refused = *tiled = false;
	memset(runs, 0, sizeof(runs));
	for (uint32_t t = 0; t < fuzzer->num_targets && good && !*refused; t++) {
		run_graph(&fuzzer->targets[t], graph, &runs[t]);
		*tiled |= runs[t].tiled;
		if (runs[t].status == RUN_REFUSED && t == 0) {
			*refused = true;
			snprintf(fuzzer->problem, sizeof(fuzzer->problem), "%.900s", runs[t].message);
			continue;
		}
		if (runs[t].status != RUN_DONE) {
			snprintf(fuzzer->problem, sizeof(fuzzer->problem), "%s, SRAM %" PRIu64 ": %.600s",
				 fuzzer->targets[t].device, fuzzer->targets[t].sram,
				 runs[t].message);
			good = false;
		}
		if (good && !known) {
			known = !truths_make(graph, &truths, &err);
			good = known;
			if (!good)
				snprintf(fuzzer->problem, sizeof(fuzzer->problem), "oracle: %.900s",
					 err.message);
		}
		if (good)
			good = check_values(fuzzer, graph, &truths, &fuzzer->targets[t], &runs[t]);
		/* On the CPU, folding decides what is fused and rounded once. */
		if (good && t && runs[t].on_npu)
			good = check_bits(fuzzer, graph, &runs[0], &runs[t], t);
	}
	if (known)
		truths_free(&truths);
	for (uint32_t t = 0; t < fuzzer->num_targets; t++)
		run_free(&runs[t]);
	return good;
}

/* The kind of a problem: its words up to the first number. */
struct suspect {
	struct fuzzer *fuzzer;
	char kind[16];
};

static bool still_fails(const struct graph *graph, void *userdata)
{
	struct suspect *suspect = userdata;
	bool refused, tiled;

	return !check(suspect->fuzzer, graph, &refused, &tiled) && !refused &&
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
	bool refused, tiled, good;

	if (fuzzer->options.print)
		graph_print(graph, stdout);
	write_file(fuzzer, graph, "current.txt");
	good = check(fuzzer, graph, &refused, &tiled);
	tally->graphs++;
	tally->calls += graph->num_nodes;
	tally->large += graph->num_nodes >= 5;
	tally->tiled += tiled;
	tally->refused += refused;
	if (refused) {
		note_refusal(fuzzer, graph, fuzzer->problem);
	} else if (good) {
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

/* Every operator so often, then compositions. */
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

/* Single calls in turn; operators with many combinations of type and rank come twice as often. */
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

static void run_mixed(struct fuzzer *fuzzer, struct graph *graph)
{
	const struct options *options = &fuzzer->options;
	time_t end = time(NULL) + (time_t)(options->minutes * 60);
	uint32_t variant[WNN_OP_COUNT] = { 0 }, turn = 0;

	for (uint64_t number = 1; number <= options->count; number++) {
		uint64_t seed = rng_mix(options->seed, number);

		if (options->minutes > 0 && time(NULL) >= end)
			break;
		if (number % 20 < COMPOSED_OF_20 && !options->only) {
			graph_compose(graph, seed, &fuzzer->targets[0].limits);
		} else {
			enum wnn_op op = options->only ? wnn_op_find(options->only) : next_op(&turn);

			graph_single(graph, op, variant[op]++, seed);
		}
		run_one(fuzzer, graph, number, seed);
		if (fuzzer->tally.failed && !options->keep_going)
			return;
	}
}

static int replay(struct fuzzer *fuzzer, struct graph *graph)
{
	FILE *file = fopen(fuzzer->options.replay, "r");
	bool refused, tiled, good;
	char message[1000];

	if (!file) {
		perror(fuzzer->options.replay);
		return 2;
	}
	if (graph_parse(graph, file, message, sizeof(message))) {
		fprintf(stderr, "graph-fuzz: %s: %s\n", fuzzer->options.replay, message);
		fclose(file);
		return 2;
	}
	fclose(file);
	good = check(fuzzer, graph, &refused, &tiled);
	printf("%s\n", refused ? "refused" : good ? "agrees" : "FAILED");
	if (refused || !good)
		printf("%s\n", fuzzer->problem);
	return good && !refused ? 0 : 1;
}

static int summary(struct fuzzer *fuzzer)
{
	const struct tally *t = &fuzzer->tally;
	double ran = (double)(t->graphs - t->refused), share;

	for (size_t i = 0; i < MAX_REASONS && fuzzer->reasons[i].count; i++)
		printf("refused %6" PRIu64 "  %s\n", fuzzer->reasons[i].count,
		       fuzzer->reasons[i].text);
	if (fuzzer->options.verbose) {
		printf("%-24s %12s %12s\n", "operator", "error/ulp", "error/bound");
		for (uint32_t op = 0; op < WNN_OP_COUNT; op++)
			printf("%-24s %12.4g %12.3f\n", wnn_op_info[op].name, t->ulps[op],
			       t->share[op]);
	}
	run_print_kernels();
	share = coverage_print(&fuzzer->targets[0].limits, fuzzer->options.unfilled);
	printf("seed %#" PRIx64 ": %" PRIu64 " graphs, %" PRIu64 " calls, %" PRIu64 " refused, %" PRIu64
	       " failed; %.1f %% of those run have 5 calls or more, %.1f %% several tiles; %" PRIu64
	       " elements, %.2f %% without a bound\n",
	       fuzzer->options.seed, t->graphs, t->calls, t->refused, t->failed,
	       ran > 0 ? 100 * (double)t->large / ran : 0,
	       ran > 0 ? 100 * (double)t->tiled / ran : 0, t->checked,
	       t->checked ? 100 * (double)t->unbounded / (double)t->checked : 0);
	if (share * 100 < fuzzer->options.min_coverage) {
		printf("coverage is below the %.1f %% asked for\n", fuzzer->options.min_coverage);
		return 1;
	}
	return t->failed || ran < 1 ? 1 : 0;
}

/* --- Options --- */

static int open_targets(struct fuzzer *fuzzer)
{
	static const uint64_t srams[] = { 16 << 10, 512 << 10, 4 << 20 };
	const struct options *o = &fuzzer->options;
	bool cpu = !strcmp(o->device, "cpu"), sim = !strcmp(o->device, "sim");

	fuzzer->num_targets = cpu ? 2 : sim && !o->sram ? ARRAY_SIZE(srams) : 1;
	for (uint32_t t = 0; t < fuzzer->num_targets; t++) {
		struct target *target = &fuzzer->targets[t];

		target->device = o->device;
		target->threads = cpu ? t + 1 : 1;
		target->sram = cpu ? 0 : sim ? (o->sram ? o->sram : srams[t]) : 0;
		target->policy = cpu ? WNNPlacementPolicy_CPUOnly : WNNPlacementPolicy_NPUOnly;
		/* Half of the runs of the CPU with what folding makes of constants. */
		target->folding = cpu && t;
		if (target_open(target))
			return -1;
	}
	return 0;
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
		o->replay = arg;
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
	case 'P':
		o->print = true;
		return 0;
	case 'a':
		o->as_is = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "device", 'd', "cpu|sim|npu", 0, "where the graphs run (sim)", 0 },
	{ "count", 'n', "N", 0, "graphs; 45 % of them have 5 to 15 calls (1000)", 0 },
	{ "seed", 's', "SEED", 0, "of the campaign (1)", 0 },
	{ "minutes", 'm', "N", 0, "stop after so long instead of after a number of graphs", 0 },
	{ "sram", 'S', "BYTES", 0, "only this size of the simulated NPU's SRAM", 0 },
	{ "replay", 'r', "FILE", 0, "run the graph in the file", 0 },
	{ "work", 'w', "FOLDER", 0, "keep the current graph and failing ones there", 0 },
	{ "only", 'o', "OPERATOR", 0, "only single calls of this operator", 0 },
	{ "per-operator", 'p', "N", 0, "instead of --count: N calls of each operator", 0 },
	{ "compositions", 'c', "N", 0, "with --per-operator: N compositions after that (0)", 0 },
	{ "min-coverage", 'C', "PERCENT", 0, "fail when fewer pairs are filled (0)", 0 },
	{ "unfilled", 'u', NULL, 0, "list the pairs that are not filled", 0 },
	{ "verbose", 'v', NULL, 0, "the largest error of each operator", 0 },
	{ "keep-going", 'k', NULL, 0, "go on after a failure", 0 },
	{ "as-is", 'a', NULL, 0, "do not make failing graphs smaller", 0 },
	{ "print", 'P', NULL, 0, "print every graph before it runs", 0 },
	{ 0 }
};

int main(int argc, char **argv)
{
	static struct fuzzer fuzzer = {
		.options = { .device = "sim", .seed = 1, .count = 1000 },
	};
	static const struct argp argp = {
		option_list, parse, NULL,
		"Random WebNN graphs on a device against an oracle in double precision.",
		NULL, NULL, NULL,
	};
	struct graph *graph = calloc(1, sizeof(*graph));
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &fuzzer.options);
	if (!graph || open_targets(&fuzzer))
		return 2;
	if (fuzzer.options.replay) {
		ret = replay(&fuzzer, graph);
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
	return ret;
}
