// SPDX-License-Identifier: MIT
/* webnn-run run: runs one dispatch; saves or prints outputs, or lists their largest elements. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "subject.h"
#include "wav.h"

enum {
	KEY_PRINT = 0x100,
	KEY_TOP,
	KEY_LABELS,
	KEY_FOLDER,
	KEY_PARTITIONS,
	KEY_LOOPS,
	KEY_RATE,
	KEY_KEEP
};

#define MAX_RATE 1000000 /* samples a second, of --rate and of the configuration of a voice */

/* The steps of saving an output to a file. */
enum step {
	SAVE, /* for a single rank: writes the file directly */
	/* for one of several ranks: writes a temporary file beside the final one */
	SAVE_PART,
	PLACE_PART, /* gives the temporary file the final name */
	DROP_PART,  /* removes the temporary file */
};

struct run {
	struct options options;
	struct ranks ranks;
	char node[64];
	struct pairs outputs;
	const char *folder, *labels;
	size_t top;
	/* samples a second of a .wav file; 0: as the configuration beside the model says */
	uint32_t rate;
	bool print;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Outputs:", 4 },
	{ "output", 'o', "[OUTPUT=]FILE", 0, "Save an output as .npy, or as sound in a .wav", 4 },
	{ "output-dir", KEY_FOLDER, "DIR", 0, "Save all outputs as DIR/OUTPUT.npy", 4 },
	{ "print", KEY_PRINT, NULL, 0, "Print all elements", 4 },
	{ "keep", KEY_KEEP, "DIR", 0,
	  "Keep compiled graphs in this folder, and take those that it has", 4 },
	{ "rate", KEY_RATE, "N", 0,
	  "Samples a second of a .wav (default: audio.sample_rate of MODEL.json)", 4 },
	{ "top", KEY_TOP, "K", 0, "List the K largest elements", 4 },
	{ "labels", KEY_LABELS, "FILE", 0,
	  "The names of the elements for --top, one in each "
	  "line",
	  4 },
	{ NULL, 0, NULL, 0, "Programs of StableHLO:", 5 },
	{ "loop-limit", KEY_LOOPS, "N", 0,
	  "The most iterations of a loop; more are an error (default: 4194304)", 5 },
	{ "partitions", KEY_PARTITIONS, "N", 0,
	  "Ranks of a replica (default: as the program says, else 1)", 5 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &run->options;
		return 0;
	case 'o':
		pairs_add(&run->outputs, arg, false, "--output", state);
		return 0;
	case KEY_FOLDER:
		run->folder = arg;
		return 0;
	case KEY_PRINT:
		run->print = true;
		return 0;
	case KEY_RATE:
		run->rate = (uint32_t)parse_number(arg, 1, MAX_RATE, "--rate", state);
		return 0;
	case KEY_TOP:
		run->top = parse_number(arg, 1, INT32_MAX, "--top", state);
		return 0;
	case KEY_KEEP:
		run->options.kept = arg;
		return 0;
	case KEY_LABELS:
		run->labels = arg;
		return 0;
	case KEY_PARTITIONS:
		run->options.partitions = parse_number(arg, 1, UINT16_MAX, "--partitions", state);
		return 0;
	case KEY_LOOPS:
		run->options.loop_limit = parse_number(arg, 1, UINT64_MAX, "--loop-limit", state);
		return 0;
	case ARGP_KEY_END:
		if (run->labels && !run->top)
			argp_error(state, "--labels needs --top");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- saving */

/*
 * Sets *rate to that of --rate, or else to that of the configuration beside a Piper voice. Returns
 * DONE, or an exit code after a message.
 */
static int find_rate(const struct run *run, const char *path, uint32_t *rate)
{
	json_int_t number;
	json_t *config;
	char *name;

	*rate = run->rate;
	if (*rate)
		return DONE;
	if (asprintf(&name, "%s.json", run->options.model) < 0)
		return complain_memory(path);
	config = json_load_file(name, 0, NULL);
	number = json_integer_value(
		json_object_get(json_object_get(config, "audio"), "sample_rate"));
	json_decref(config);
	free(name);
	if (number < 1 || number > MAX_RATE)
		return complain(
			BAD_FILE,
			"--output %s: nothing tells how many samples a second it has: give --rate, "
			"or %s.json with audio.sample_rate from 1 to %d",
			path, run->options.model, MAX_RATE);
	*rate = (uint32_t)number;
	return DONE;
}

static int save_sound(const struct run *run, const struct value *value, const char *path)
{
	float *samples = malloc((value->count + 1) * sizeof(*samples));
	uint32_t rate;
	int ret;

	if (!samples)
		return complain(
			BAD_DEVICE,
			"output \"%s\": too little memory is free to save it; end other programs",
			value->name);
	for (size_t i = 0; i < value->count; i++)
		samples[i] = (float)value_get(value, i);
	ret = find_rate(run, path, &rate);
	if (!ret && !value_is_float(value))
		ret = complain(
			BAD_FILE,
			"--output %s: the output \"%s\" has integers, but a .wav file takes an "
			"output of floats; choose one, or save this output as .npy",
			path, value->name);
	if (!ret)
		ret = wav_write(path, rate, samples, value->count);
	free(samples);
	return ret;
}

/* Saves a value for one rank to @path; the final name @as tells the format. */
static int save_value(const struct run *run, const struct value *value, const char *path,
		      const char *as)
{
	size_t length = strlen(as);

	return length > 4 && !strcmp(as + length - 4, ".wav") ? save_sound(run, value, path) :
								value_save(value, path);
}

static int step_file(const struct run *run, const struct value *value, const char *path,
		     enum step step)
{
	char *part;
	int ret = DONE;

	if (step == SAVE)
		return save_value(run, value, path, path);
	part = calloc(1, strlen(path) + sizeof(".part"));
	if (!part)
		return complain(
			BAD_DEVICE,
			"output \"%s\": too little memory is free to save it; end other programs",
			value->name);
	sprintf(part, "%s.part", path);
	if (step == SAVE_PART)
		ret = save_value(run, value, part, path);
	else if (step == DROP_PART)
		unlink(part);
	else if (rename(part, path))
		ret = complain_unwritten(path, errno);
	free(part);
	return ret;
}

/* Complains about an argument of --output that is for no output. Returns BAD_FILE. */
static int no_output(const struct target *target, const struct pair *pair)
{
	size_t count = target->empty_count + target->output_count, used = 0;
	char names[600] = "";

	for (size_t i = 0; i < count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s\"%s\"",
					 i ? ", " : "", target->results[i].name);
	return complain(BAD_FILE, "--output %s=%s: there is no such output; there are %s",
			pair->name, pair->text, names);
}

static int step_named(const struct run *run, const struct target *target, enum step step)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < run->outputs.count; i++) {
		const struct pair *pair = &run->outputs.items[i];
		const struct value *found = NULL;
		char *path;

		for (size_t k = 0; k < target->empty_count + target->output_count && !found; k++)
			if (!strcmp(pair->name, target->results[k].name) ||
			    (!*pair->name && target->empty_count + target->output_count == 1))
				found = &target->results[k];
		if (!found && !*pair->name)
			return complain(BAD_FILE,
					"--output %s: the model has %zu outputs: say which as "
					"OUTPUT=%s",
					pair->text, target->empty_count + target->output_count,
					pair->text);
		if (!found)
			return no_output(target, pair);
		/* A file without %r in its name is written by rank 0 alone. */
		if (run->ranks.rank && !ranks_has_number(pair->text))
			continue;
		path = ranks_path(&run->ranks, pair->text);
		ret = path ? step_file(run, found, path, step) :
			     complain(BAD_DEVICE,
				      "output \"%s\": too little memory is free to save it; end "
				      "other programs",
				      found->name);
		free(path);
	}
	return ret;
}

static int step_folder(const struct run *run, const struct target *target, const char *folder,
		       enum step step)
{
	int ret = DONE;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return complain(BAD_FILE, "%s: %s", folder, strerror(errno));
	for (size_t i = 0; !ret && i < target->empty_count + target->output_count; i++) {
		char *path = value_path(folder, target->results[i].name);

		ret = path ? step_file(run, &target->results[i], path, step) :
			     complain_memory(folder);
		free(path);
	}
	return ret;
}

static int step_all(const struct run *run, const struct target *target, enum step step)
{
	char *folder;
	int ret = step_named(run, target, step);

	if (ret || !run->folder || (run->ranks.rank && !ranks_has_number(run->folder)))
		return ret;
	folder = ranks_path(&run->ranks, run->folder);
	ret = folder ? step_folder(run, target, folder, step) : complain_memory(run->folder);
	free(folder);
	return ret;
}

/*
 * Saves the outputs. Files of several ranks are renamed to their final names when all ranks have
 * written theirs, and are removed when one fails. Returns DONE, or the exit status after a message.
 */
static int save(const struct run *run, const struct target *target)
{
	int ret;

	if (run->ranks.count == 1)
		return step_all(run, target, SAVE);
	ret = step_all(run, target, SAVE_PART);
	if (!ret)
		ret = ranks_agree(&run->ranks);
	if (!ret)
		return step_all(run, target, PLACE_PART);
	step_all(run, target, DROP_PART);
	return ret;
}

/* ---- printing */

static void summarise(const struct ranks *ranks, const struct value *value)
{
	double least = INFINITY, most = -INFINITY, sum = 0;
	char text[300];

	value_describe(value, text, sizeof(text));
	if (ranks->count > 1)
		printf("rank %u: ", ranks->rank);
	if (!value->count) {
		printf("%s: %s, without elements\n", value->name, text);
		return;
	}
	for (size_t i = 0; i < value->count; i++) {
		double number = value_get(value, i);

		least = fmin(least, number);
		most = fmax(most, number);
		sum += number;
	}
	printf("%s: %s, from %.6g to %.6g, mean %.6g\n", value->name, text, least, most,
	       sum / (double)value->count);
}

/*
 * Returns whether element a comes before b in descending order; NaN counts as smaller than all
 * numbers.
 */
static bool is_before(const struct value *value, size_t a, size_t b)
{
	double x = value_get(value, a), y = value_get(value, b);

	if (isnan(x) || isnan(y))
		return isnan(y) && !isnan(x);
	return x > y;
}

static int print_top(const struct value *value, size_t top, char *const *labels, size_t label_count)
{
	size_t count = 0;
	size_t *best;

	if (top > value->count)
		top = value->count;
	best = calloc(top + 1, sizeof(*best));
	if (!best)
		return complain(
			BAD_DEVICE,
			"output \"%s\": too little memory is free to sort its elements; give "
			"a smaller number with --top",
			value->name);
	for (size_t i = 0; i < value->count; i++) {
		size_t at = count < top ? count++ : top;

		/*
		 * The list has one more item, which an element that falls out of the best goes to.
		 */
		for (; at && is_before(value, i, best[at - 1]); at--)
			best[at] = best[at - 1];
		best[at] = i;
	}
	for (size_t i = 0; i < count; i++)
		printf("%4zu  %12.6g  %s%s%zu\n", i + 1, value_get(value, best[i]),
		       best[i] < label_count ? labels[best[i]] : "",
		       best[i] < label_count ? "  #" : "#", best[i]);
	free(best);
	return DONE;
}

/*
 * Appends the lines of a file to *labels; does nothing if @path is NULL. Returns DONE or an exit
 * code; the caller frees the labels in any case.
 */
static int read_labels(const char *path, char ***labels, size_t *count)
{
	FILE *file = path ? fopen(path, "r") : NULL;
	char *line = NULL;
	size_t room = 0;
	int ret = DONE;

	if (path && !file)
		return complain(BAD_FILE, "%s: %s", path, strerror(errno));
	while (file && getline(&line, &room, file) >= 0) {
		char **more = realloc(*labels, (*count + 1) * sizeof(*more));

		if (!more) {
			ret = complain_memory(path);
			break;
		}
		*labels = more;
		line[strcspn(line, "\r\n")] = 0;
		more[(*count)++] = line;
		line = NULL;
		room = 0;
	}
	if (file && !ret && !feof(file))
		ret = complain(BAD_FILE, "%s: %s", path, strerror(errno));
	free(line);
	if (file)
		fclose(file);
	return ret;
}

static int print(const struct run *run, const struct target *target)
{
	size_t label_count = 0;
	char **labels = NULL;
	int ret = read_labels(run->labels, &labels, &label_count);

	for (size_t i = 0; !ret && i < target->empty_count + target->output_count; i++) {
		summarise(&run->ranks, &target->results[i]);
		if (run->print)
			value_print(&target->results[i], stdout);
		if (run->top)
			ret = print_top(&target->results[i], run->top, labels, label_count);
	}
	for (size_t i = 0; i < label_count; i++)
		free(labels[i]);
	free(labels);
	return ret;
}

/*
 * Prints the device and the times. A StableHLO program is built during its run, so that there is
 * one time for both.
 */
static void print_times(const struct run *run, const struct subject *subject,
			const struct target *target)
{
	if (run->ranks.count > 1)
		printf("rank %u: ", run->ranks.rank);
	printf("on %.*s: loaded in %.3f ms, ", (int)target->device.device.length,
	       target->device.device.data, (double)subject->load_ns / 1e6);
	if (program_is(run->options.model))
		printf("built and computed in %.3f ms\n", (double)target->dispatch_ns / 1e6);
	else
		printf("built in %.3f ms, computed in %.3f ms\n", (double)target->build_ns / 1e6,
		       (double)target->dispatch_ns / 1e6);
	if (run->options.kept && subject->model)
		printf("%zu graph%s compiled, %zu taken from %s\n", subject->compiled,
		       subject->compiled == 1 ? "" : "s", subject->taken, run->options.kept);
}

/* Prints the outputs of one rank after the other. Returns DONE or an exit code. */
static int print_in_turn(const struct run *run, const struct subject *subject,
			 const struct target *target)
{
	int ret = DONE;

	for (uint32_t i = 0; !ret && i < run->ranks.count; i++) {
		if (i == run->ranks.rank)
			ret = print(run, target);
		if (!ret && i == run->ranks.rank)
			print_times(run, subject, target);
		fflush(stdout);
		if (!ret && run->ranks.count > 1)
			ret = ranks_agree(&run->ranks);
	}
	return ret;
}

/* Runs a StableHLO program, or a model. Returns DONE or an exit code. */
static int compute(struct run *run, struct subject *subject, struct target *target)
{
	bool program = program_is(run->options.model);
	int ret = DONE;

	if (program)
		ret = ranks_join(&run->ranks);
	else
		ret = subject_open(subject, &run->options);
	if (!ret && !program)
		ret = values_read(subject, NULL);
	if (!ret && ranks_node(&run->ranks, run->options.device, run->node, sizeof(run->node)))
		run->options.node = run->node;
	if (!ret)
		ret = program ? target_open(target, &run->options, run->options.device) :
				target_open_for(target, subject, run->options.device);
	if (!ret)
		ret = program ? program_run(&run->options, &run->ranks, subject, target) :
				target_run(target, subject);
	return ret;
}

int command_run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options,  parse, "MODEL.onnx", "Runs a model once.",
					  children, NULL,  NULL };
	struct run run = { .ranks = { .count = 1 } };
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &run);
	ret = compute(&run, &subject, &target);
	if (!ret)
		ret = save(&run, &target);
	if (!ret)
		ret = print_in_turn(&run, &subject, &target);
	ranks_leave(&run.ranks, ret);
	target_close(&target);
	subject_close(&subject);
	pairs_free(&run.outputs);
	options_free(&run.options);
	return ret;
}
