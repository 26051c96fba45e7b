// SPDX-License-Identifier: MIT
/* webnn-run bench: how long dispatches take, from the call to the end of the work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "subject.h"

enum { KEY_WARM_UP = 0x100, KEY_REPEATS };

struct bench {
	const struct subject *subject;
	struct options options;
	size_t warm_up, repeats;
	uint64_t *ns; /* sorted, once all are there */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Measuring:", 4 },
	{ "warm-up", KEY_WARM_UP, "N", 0, "Dispatches before those that count (default 3)", 4 },
	{ "repeats", KEY_REPEATS, "N", 0, "Dispatches that count (default 20)", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct bench *bench = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &bench->options;
		return 0;
	case KEY_WARM_UP:
		bench->warm_up = parse_number(arg, 0, 1000000, "--warm-up", state);
		return 0;
	case KEY_REPEATS:
		bench->repeats = parse_number(arg, 1, 1000000, "--repeats", state);
		return 0;
	case JSON_KEY:
		bench->options.json = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int measure(struct bench *bench, struct target *target)
{
	bench->ns = calloc(bench->repeats, sizeof(*bench->ns));
	if (!bench->ns)
		return complain(BAD_DEVICE, "--repeats: memory is exhausted");
	for (size_t i = 0; i < bench->warm_up + bench->repeats; i++) {
		uint64_t begin = nanoseconds();
		int ret = target_dispatch(target);

		if (ret)
			return ret;
		if (i >= bench->warm_up)
			bench->ns[i - bench->warm_up] = nanoseconds() - begin;
	}
	qsort(bench->ns, bench->repeats, sizeof(*bench->ns), compare);
	return DONE;
}

/* The smallest time that @percent of all are not above. */
static double percentile(const struct bench *bench, size_t percent)
{
	size_t rank = (bench->repeats * percent + 99) / 100;

	return (double)bench->ns[rank ? rank - 1 : 0] / 1e6;
}

static double median(const struct bench *bench)
{
	size_t half = bench->repeats / 2;

	if (bench->repeats % 2)
		return (double)bench->ns[half] / 1e6;
	return ((double)bench->ns[half - 1] + (double)bench->ns[half]) / 2e6;
}

static double mean(const struct bench *bench)
{
	double sum = 0;

	for (size_t i = 0; i < bench->repeats; i++)
		sum += (double)bench->ns[i];
	return sum / (double)bench->repeats / 1e6;
}

static json_t *statistics_json(const WNNGraphStatistics *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "cycles", (json_int_t)s->npuCycles,
			 "macs", (json_int_t)s->macs, "peak_macs", (json_int_t)s->peakMacs,
			 "bytes_read", (json_int_t)s->bytesRead, "bytes_written",
			 (json_int_t)s->bytesWritten, "share_of_peak",
			 s->peakMacs ? (double)s->macs / (double)s->peakMacs : 0);
}

/* Inputs that are constants of the graph: what follows from them alone is not timed. */
static json_t *frozen_json(const struct subject *subject)
{
	WNNOnnxValueInfoArray inputs = wnnOnnxModelGetInputs(subject->model);
	json_t *list = json_array();

	for (size_t i = 0; i < inputs.count; i++)
		if (inputs.data[i].fixed)
			json_array_append_new(list, json_text(inputs.data[i].name));
	return list;
}

static json_t *to_json(const struct bench *bench, const struct target *target,
		       const WNNGraphStatistics *statistics)
{
	json_t *times = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min",
				  percentile(bench, 0), "median", median(bench), "mean",
				  mean(bench), "p90", percentile(bench, 90), "p95",
				  percentile(bench, 95), "p99", percentile(bench, 99), "max",
				  percentile(bench, 100));
	json_t *root = json_pack("{s:s, s:o, s:I, s:I, s:I, s:o}", "model", bench->options.model,
				 "device", json_text(target->device.device), "threads",
				 (json_int_t)bench->options.threads, "warm_up",
				 (json_int_t)bench->warm_up, "repeats", (json_int_t)bench->repeats,
				 "ms", times);

	if (root)
		json_object_set_new(root, "frozen_inputs", frozen_json(bench->subject));
	if (root && statistics->npuCycles)
		json_object_set_new(root, "npu", statistics_json(statistics));
	return root;
}

static int report(const struct bench *bench, const struct target *target)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	wnnGraphGetLastStatistics(target->graph, &statistics);
	if (text_wanted(&bench->options)) {
		printf("%s on %.*s, %zu dispatches after %zu\n", bench->options.model,
		       (int)target->device.device.length, target->device.device.data,
		       bench->repeats, bench->warm_up);
		printf("median %.3f ms, minimum %.3f ms, mean %.3f ms\n", median(bench),
		       percentile(bench, 0), mean(bench));
		printf("90%% %.3f ms, 95%% %.3f ms, 99%% %.3f ms, maximum %.3f ms\n",
		       percentile(bench, 90), percentile(bench, 95), percentile(bench, 99),
		       percentile(bench, 100));
		if (statistics.npuCycles)
			printf("%" PRIu64 " cycles of the NPU, %.1f%% of its peak\n",
			       statistics.npuCycles,
			       statistics.peakMacs ? 100.0 * (double)statistics.macs /
							     (double)statistics.peakMacs :
						     0);
	}
	if (!bench->options.json)
		return DONE;
	return write_json(&bench->options, to_json(bench, target, &statistics));
}

int command_bench(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,      parse,
		"MODEL.onnx", "Times a model. Inputs that are not given are random, with seed 1.",
		children,     NULL,
		NULL
	};
	struct bench bench = { .warm_up = 3, .repeats = 20 };
	const uint64_t seed = 1;
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	bench.subject = &subject;
	argp_parse(&argp, argc, argv, 0, NULL, &bench);
	ret = subject_open(&subject, &bench.options);
	if (!ret)
		ret = values_read(&subject, &seed);
	if (!ret)
		ret = target_open(&target, &bench.options, bench.options.device);
	if (!ret)
		ret = target_run(&target, &subject);
	if (!ret && !target.graph)
		ret = complain(BAD_MODEL, "%s: no output has elements: there is nothing to time",
			       bench.options.model);
	if (!ret)
		ret = measure(&bench, &target);
	if (!ret)
		ret = report(&bench, &target);
	target_close(&target);
	subject_close(&subject);
	free(bench.ns);
	options_free(&bench.options);
	return ret;
}
