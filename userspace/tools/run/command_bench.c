// SPDX-License-Identifier: MIT
/*
 * webnn-run bench: measures dispatches, from the call to the end of the work, one after the other
 * or in several streams at once; and the steps before them.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "subject.h"

#define DEFAULT_REPEATS 20
#define MOST_REPEATS	1000000
#define MOST_STREAMS	1024

enum { KEY_WARM_UP = 0x100, KEY_REPEATS, KEY_DURATION, KEY_STREAMS };

struct bench;

/* Dispatches one after the other in a thread, with a context, a graph and tensors of their own. */
struct stream {
	struct bench *bench;
	struct target target;
	pthread_t thread;
	uint64_t *ns, end;
	size_t count, room;
	int ret;
};

struct bench {
	const struct subject *subject;
	struct options options;
	size_t warm_up, repeats; /* repeats 0: dispatches for duration_ns */
	uint64_t duration_ns;
	size_t stream_count;
	struct stream *streams;
	pthread_barrier_t start;
	uint64_t begin, end;
	size_t count;
	uint64_t *ns; /* times of all streams, sorted once all have ended */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Measuring:", 4 },
	{ "warm-up", KEY_WARM_UP, "N", 0, "Dispatches before the timed ones (default 3)", 4 },
	{ "repeats", KEY_REPEATS, "N", 0, "Timed dispatches of each stream (default 20)", 4 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "Dispatch for this time instead of --repeats",
	  4 },
	{ "streams", KEY_STREAMS, "N", 0,
	  "Dispatch in N threads at once, each with a context of its own (default 1)", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct bench *bench = state->input;
	double seconds;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &bench->options;
		return 0;
	case KEY_WARM_UP:
		bench->warm_up = parse_number(arg, 0, MOST_REPEATS, "--warm-up", state);
		return 0;
	case KEY_REPEATS:
		bench->repeats = parse_number(arg, 1, MOST_REPEATS, "--repeats", state);
		return 0;
	case KEY_DURATION:
		seconds = parse_real(arg, "--duration", state);
		if (!(seconds > 0 && seconds <= 1e6))
			argp_error(
				state,
				"--duration takes a number of seconds above 0, up to 1000000, not '%s'",
				arg);
		bench->duration_ns = (uint64_t)(seconds * 1e9);
		return 0;
	case KEY_STREAMS:
		bench->stream_count = parse_number(arg, 1, MOST_STREAMS, "--streams", state);
		return 0;
	case JSON_KEY:
		bench->options.json = arg;
		return 0;
	case ARGP_KEY_END:
		if (bench->repeats && bench->duration_ns)
			argp_error(state, "--repeats and --duration exclude each other");
		if (!bench->duration_ns && !bench->repeats)
			bench->repeats = DEFAULT_REPEATS;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has_room(struct stream *stream)
{
	size_t room = stream->bench->repeats ? stream->bench->repeats :
		      stream->room	     ? stream->room * 2 :
					       1024;
	uint64_t *ns;

	if (stream->count < stream->room)
		return true;
	ns = realloc(stream->ns, room * sizeof(*ns));
	if (!ns)
		return false;
	stream->ns = ns;
	stream->room = room;
	return true;
}

static bool goes_on(const struct stream *stream, uint64_t now)
{
	const struct bench *bench = stream->bench;

	return bench->repeats ? stream->count < bench->repeats :
				now - bench->begin < bench->duration_ns;
}

static void *run_stream(void *argument)
{
	struct stream *stream = argument;
	struct bench *bench = stream->bench;
	uint64_t now;

	for (size_t i = 0; i < bench->warm_up && !stream->ret; i++)
		stream->ret = target_dispatch(&stream->target);
	/* One of the streams, no matter which, sets the start time for all. */
	if (pthread_barrier_wait(&bench->start) == PTHREAD_BARRIER_SERIAL_THREAD)
		bench->begin = nanoseconds();
	pthread_barrier_wait(&bench->start);
	now = bench->begin;
	while (!stream->ret && (goes_on(stream, now) || !stream->count)) {
		uint64_t begin = nanoseconds();

		if (has_room(stream))
			stream->ret = target_dispatch(&stream->target);
		else
			stream->ret = complain(
				BAD_DEVICE, "too little memory is free for the times: give fewer "
					    "--repeats or a shorter --duration");
		now = nanoseconds();
		if (!stream->ret)
			stream->ns[stream->count++] = now - begin;
	}
	stream->end = now;
	return NULL;
}

/* Collects the times of all streams. Returns DONE or an exit code. */
static int gather(struct bench *bench)
{
	size_t at = 0;

	for (size_t i = 0; i < bench->stream_count; i++)
		bench->count += bench->streams[i].count;
	bench->ns = calloc(bench->count, sizeof(*bench->ns));
	if (!bench->ns)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the times: give fewer --repeats or a "
			"shorter --duration");
	for (size_t i = 0; i < bench->stream_count; i++) {
		const struct stream *stream = &bench->streams[i];

		memcpy(bench->ns + at, stream->ns, stream->count * sizeof(*stream->ns));
		at += stream->count;
		if (stream->end > bench->end)
			bench->end = stream->end;
	}
	qsort(bench->ns, bench->count, sizeof(*bench->ns), compare);
	return DONE;
}

static int measure(struct bench *bench)
{
	size_t started = 0;
	int ret = DONE;

	if (pthread_barrier_init(&bench->start, NULL, (unsigned int)bench->stream_count))
		return complain(
			BAD_DEVICE,
			"--streams: too little memory is free for so many streams; give fewer");
	/*
	 * The first stream runs in this thread. The barrier opens only when all streams have
	 * started, so the program ends when one cannot start.
	 */
	for (started = 1; started < bench->stream_count && !ret; started++)
		if (pthread_create(&bench->streams[started].thread, NULL, run_stream,
				   &bench->streams[started]))
			ret = complain(BAD_DEVICE,
				       "--streams: there is no thread for stream %zu; give fewer, "
				       "or raise the limit of threads (ulimit -u)",
				       started + 1);
	if (ret)
		exit(ret);
	run_stream(&bench->streams[0]);
	for (size_t i = 1; i < bench->stream_count; i++)
		pthread_join(bench->streams[i].thread, NULL);
	pthread_barrier_destroy(&bench->start);
	for (size_t i = 0; i < bench->stream_count && !ret; i++)
		ret = bench->streams[i].ret;
	return ret ? ret : gather(bench);
}

/* Returns the smallest time, in milliseconds, that at least @percent of all times do not exceed. */
static double percentile(const struct bench *bench, size_t percent)
{
	size_t rank = (bench->count * percent + 99) / 100;

	return (double)bench->ns[rank ? rank - 1 : 0] / 1e6;
}

static double median(const struct bench *bench)
{
	size_t half = bench->count / 2;

	if (bench->count % 2)
		return (double)bench->ns[half] / 1e6;
	return ((double)bench->ns[half - 1] + (double)bench->ns[half]) / 2e6;
}

static double mean(const struct bench *bench)
{
	double sum = 0;

	for (size_t i = 0; i < bench->count; i++)
		sum += (double)bench->ns[i];
	return sum / (double)bench->count / 1e6;
}

static json_t *statistics_json(const WNNGraphStatistics *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "cycles", (json_int_t)s->npuCycles,
			 "macs", (json_int_t)s->macs, "peak_macs", (json_int_t)s->peakMacs,
			 "bytes_read", (json_int_t)s->bytesRead, "bytes_written",
			 (json_int_t)s->bytesWritten, "share_of_peak",
			 s->peakMacs ? (double)s->macs / (double)s->peakMacs : 0);
}

/*
 * Returns the names of inputs that are constants of the graph: what is computed from them alone is
 * not timed.
 */
static json_t *frozen_json(const struct subject *subject)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);
	json_t *list = json_array();

	for (size_t i = 0; i < inputs.count; i++)
		if (inputs.data[i].fixed)
			json_array_append_new(list, json_text(inputs.data[i].name));
	return list;
}

static double per_second(const struct bench *bench)
{
	return (double)bench->count / ((double)(bench->end - bench->begin) / 1e9);
}

/* Returns the largest memory that the process has used, in MiB. */
static double peak_mib(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/*
 * Returns the least number of dispatches for which this percentile is not simply the largest time.
 */
static size_t needed_for(size_t percent)
{
	return 100 / (100 - percent);
}

static const size_t percents[] = { 90, 95, 99 };

#define NUM_PERCENTS (sizeof(percents) / sizeof(percents[0]))

/* Returns the percentiles that equal the largest time, because there are too few dispatches. */
static json_t *unmeasured_percentiles(const struct bench *bench)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NUM_PERCENTS; i++)
		if (bench->count < needed_for(percents[i]))
			json_array_append_new(list, json_sprintf("p%zu", percents[i]));
	return list;
}

static json_t *to_json(const struct bench *bench, const WNNGraphStatistics *statistics)
{
	const struct target *target = &bench->streams[0].target;
	json_t *times = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min",
				  percentile(bench, 0), "median", median(bench), "mean",
				  mean(bench), "p90", percentile(bench, 90), "p95",
				  percentile(bench, 95), "p99", percentile(bench, 99), "max",
				  percentile(bench, 100));
	json_t *root = json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o}",
				 "model", json_text(WNN_STR(bench->options.model)), "device",
				 json_text(target->device.device), "threads",
				 (json_int_t)bench->options.threads, "streams",
				 (json_int_t)bench->stream_count, "warm_up",
				 (json_int_t)bench->warm_up, "repeats", (json_int_t)bench->count,
				 "load_ms", (double)bench->subject->load_ns / 1e6, "build_ms",
				 (double)target->build_ns / 1e6, "per_second", per_second(bench),
				 "peak_mib", peak_mib(), "ms", times, "too_few_for",
				 unmeasured_percentiles(bench));

	if (root)
		json_object_set_new(root, "frozen_inputs", frozen_json(bench->subject));
	if (root && statistics->npuCycles)
		json_object_set_new(root, "npu", statistics_json(statistics));
	return root;
}

static void print_percentiles(const struct bench *bench)
{
	for (size_t i = 0; i < NUM_PERCENTS; i++)
		if (bench->count >= needed_for(percents[i]))
			printf("%zu%% %.3f ms, ", percents[i], percentile(bench, percents[i]));
	printf("maximum %.3f ms\n", percentile(bench, 100));
	if (bench->count < needed_for(99))
		printf("%zu dispatches are too few for the 99%% percentile, which takes at least %zu\n",
		       bench->count, needed_for(99));
}

static int report(const struct bench *bench)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	const struct target *target = &bench->streams[0].target;

	wnnGraphGetLastStatistics(target->graph, &statistics);
	if (text_wanted(&bench->options)) {
		printf("%s on %.*s, %zu dispatches ", bench->options.model,
		       (int)target->device.device.length, target->device.device.data, bench->count);
		if (bench->stream_count > 1)
			printf("in %zu streams, each ", bench->stream_count);
		printf("after %zu\n", bench->warm_up);
		printf("loaded in %.3f ms, built in %.3f ms, peak of memory %.1f MiB\n",
		       (double)bench->subject->load_ns / 1e6, (double)target->build_ns / 1e6,
		       peak_mib());
		printf("median %.3f ms, minimum %.3f ms, mean %.3f ms, %.1f dispatches per second\n",
		       median(bench), percentile(bench, 0), mean(bench), per_second(bench));
		print_percentiles(bench);
		if (statistics.npuCycles)
			printf("%" PRIu64 " cycles of the NPU, %.1f%% of its peak\n",
			       statistics.npuCycles,
			       statistics.peakMacs ? 100.0 * (double)statistics.macs /
							     (double)statistics.peakMacs :
						     0);
	}
	if (!bench->options.json)
		return DONE;
	return write_json(&bench->options, to_json(bench, &statistics));
}

/*
 * Opens a stream and makes one dispatch, to find failures before anything is measured. Returns
 * DONE, or the exit status after a message.
 */
static int open_stream(struct stream *stream, struct bench *bench, struct subject *subject)
{
	int ret;

	stream->bench = bench;
	ret = target_open_for(&stream->target, subject, bench->options.device);
	if (!ret)
		ret = target_build(&stream->target, subject);
	if (!ret)
		ret = target_prepare(&stream->target, subject);
	if (!ret)
		ret = target_dispatch(&stream->target);
	if (!ret && !stream->target.graph)
		ret = complain(BAD_MODEL, "%s: no output has elements: there is nothing to time",
			       bench->options.model);
	return ret;
}

static int open_streams(struct bench *bench, struct subject *subject)
{
	int ret = DONE;

	bench->streams = calloc(bench->stream_count, sizeof(*bench->streams));
	if (!bench->streams) {
		bench->stream_count = 0;
		return complain(
			BAD_DEVICE,
			"--streams: too little memory is free for so many streams; give fewer");
	}
	for (size_t i = 0; i < bench->stream_count && !ret; i++)
		ret = open_stream(&bench->streams[i], bench, subject);
	return ret;
}

static void close_streams(struct bench *bench)
{
	for (size_t i = 0; bench->streams && i < bench->stream_count; i++) {
		target_close(&bench->streams[i].target);
		free(bench->streams[i].ns);
	}
	free(bench->streams);
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
	struct bench bench = { .warm_up = 3, .stream_count = 1 };
	const uint64_t seed = 1;
	struct subject subject = { 0 };
	int ret;

	bench.subject = &subject;
	argp_parse(&argp, argc, argv, 0, NULL, &bench);
	ret = subject_open(&subject, &bench.options);
	if (!ret)
		ret = values_read(&subject, &seed);
	if (!ret)
		ret = open_streams(&bench, &subject);
	if (!ret)
		ret = measure(&bench);
	if (!ret)
		ret = report(&bench);
	close_streams(&bench);
	subject_close(&subject);
	free(bench.ns);
	options_free(&bench.options);
	return ret;
}
