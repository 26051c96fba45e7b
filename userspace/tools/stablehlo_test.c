// SPDX-License-Identifier: MIT
/*
 * stablehlo-test: runs StableHLO's own test programs on a device. They compare their results with
 * expected ones: a module passes when it runs to its end.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "json_text.h"

struct options {
	const char *device, *json;
	char **paths;
	size_t path_count;
	bool list, print;
	const char *ranks;
	uint64_t loop_limit, unroll_limit;
};

struct count {
	size_t total, passed, refused, failed, no_cpu_operator;
};

struct tester {
	const struct options *options;
	WNNContext context;
	WNNStablehloWorld world;    /* NULL: there are no other ranks */
	WNNStablehloWorldInfo info; /* all ranks run all programs, and rank 0 prints */
	struct count count;
	json_t *cases;
	bool disabled; /* whether the current file says RUN-DISABLED */
};

enum outcome { PASSED, REFUSED, FAILED };

static const char *const outcome_names[] = { "passed", "refused", "failed" };

static void say(struct tester *tester, const char *path, enum outcome outcome, bool no_cpu,
		const char *message)
{
	json_t *entry = json_object();
	struct count *count = &tester->count;

	count->total++;
	count->passed += outcome == PASSED;
	count->refused += outcome == REFUSED;
	count->failed += outcome == FAILED;
	count->no_cpu_operator += outcome == PASSED && no_cpu;
	json_object_set_new(entry, "name", json_text(WNN_STR(path)));
	json_object_set_new(entry, "outcome", json_string(outcome_names[outcome]));
	if (outcome == PASSED)
		json_object_set_new(entry, "noCpuOperator", json_boolean(no_cpu));
	else
		json_object_set_new(entry, "message", json_string_nocheck(message));
	json_array_append_new(tester->cases, entry);
	if (!tester->info.rank && (outcome != PASSED || tester->options->list))
		fprintf(stderr, "%s: %s%s%s\n", path, outcome_names[outcome],
			outcome == PASSED ? (no_cpu ? ", no operator on the CPU" : "") : ": ",
			outcome == PASSED ? "" : message);
}

static const char *last_message(void)
{
	static char text[1200];
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	snprintf(text, sizeof(text), "%.*s", (int)error.message.length, error.message.data);
	return text;
}

/*
 * The size for dimensions that a program leaves open. Arguments of type tensor<i64>, which hold
 * such sizes, have the same value; the elements of all other arguments are 0.
 */
#define OPEN_SIZE 4

static bool make_input(const WNNStablehloValueInfo *info, WNNStablehloTensor *value)
{
	int64_t *sizes = calloc(info->rank + 1, sizeof(*sizes));
	char *data;

	value->size = info->elementSize;
	value->rank = info->rank;
	value->dimensions = sizes;
	for (size_t k = 0; sizes && k < info->rank; k++) {
		sizes[k] = info->dimensions[k] < 0 ? OPEN_SIZE : info->dimensions[k];
		value->size *= (size_t)sizes[k];
	}
	data = calloc(1, value->size + 1);
	value->data = data;
	if (data && !info->rank && info->elementType.length == 3 &&
	    !memcmp(info->elementType.data, "i64", 3))
		*data = OPEN_SIZE;
	return sizes && data;
}

static void free_input(WNNStablehloTensor *value)
{
	free((void *)value->data);
	free((void *)value->dimensions);
}

/* Runs a module. *memory: whether memory was exhausted before, so that there is no last message. */
static WNNStatus run_module(struct tester *tester, WNNStablehloProgram program, size_t module,
			    bool *memory)
{
	WNNStablehloValueInfoArray inputs = wnnStablehloProgramGetInputs(program, module);
	WNNStablehloTensor *values = calloc(inputs.count + 1, sizeof(*values));
	WNNStatus status = WNNStatus_UnknownError;
	bool complete = values;

	for (size_t i = 0; complete && i < inputs.count; i++)
		complete = make_input(&inputs.data[i], &values[i]);
	if (tester->options->loop_limit)
		wnnStablehloProgramSetLoopLimit(program, tester->options->loop_limit);
	wnnStablehloProgramSetUnrollLimit(program, tester->options->unroll_limit);
	*memory = !complete;
	if (complete)
		status = wnnStablehloProgramRunSync(program, module, tester->context, inputs.count,
						    values);
	for (size_t i = 0; values && i < inputs.count; i++)
		free_input(&values[i]);
	free(values);
	return status;
}

static void test_module(struct tester *tester, const char *path, WNNStablehloProgram program,
			size_t module)
{
	bool memory;
	WNNStatus status = run_module(tester, program, module, &memory);
	WNNStablehloRunInfo info = wnnStablehloProgramGetRunInfo(program);
	bool no_cpu = !info.referenceOperations && !info.cpuOperators && info.graphOperations;

	if (memory)
		say(tester, path, FAILED, false, "memory is exhausted");
	else if (status == WNNStatus_NotSupportedError)
		say(tester, path, REFUSED, false, last_message());
	else if (status != WNNStatus_Success && tester->disabled)
		say(tester, path, REFUSED, false, "the file says that it is not to be run");
	else if (status != WNNStatus_Success)
		say(tester, path, FAILED, false, last_message());
	else
		say(tester, path, PASSED, no_cpu, NULL);
}

/*
 * Returns whether a line of the file says RUN-DISABLED: StableHLO's own interpreter fails such a
 * test, too.
 */
static bool is_disabled(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[400];
	bool disabled = false;

	while (file && !disabled && fgets(line, sizeof(line), file))
		disabled = !strncmp(line, "// RUN-DISABLED", 15);
	if (file)
		fclose(file);
	return disabled;
}

/* Writes a message with the first line in which two texts differ, from both of them. */
static void say_difference(char *text, size_t room, WNNStringView a, WNNStringView b)
{
	size_t at = 0, start = 0, line = 1;

	while (at < a.length && at < b.length && a.data[at] == b.data[at])
		if (a.data[at++] == '\n') {
			start = at;
			line++;
		}
	snprintf(text, room,
		 "line %zu of the program is '%.*s' in the text, '%.*s' in the bytecode", line,
		 (int)strcspn(a.data + start, "\n"), a.data + start,
		 (int)strcspn(b.data + start, "\n"), b.data + start);
}

/* Tests that bytecode and text, when they are read, give one and the same program. */
static void test_pair(struct tester *tester, const char *text_path, const char *path)
{
	WNNStablehloProgram text = NULL, code = NULL;
	WNNStringView a, b;
	char message[2000];

	if (wnnStablehloLoadFile(WNN_STR(text_path), NULL, &text) != WNNStatus_Success ||
	    wnnStablehloLoadFile(WNN_STR(path), NULL, &code) != WNNStatus_Success ||
	    wnnStablehloProgramGetText(text, &a) != WNNStatus_Success ||
	    wnnStablehloProgramGetText(code, &b) != WNNStatus_Success) {
		say(tester, path, FAILED, false, last_message());
	} else if (a.length != b.length || memcmp(a.data, b.data, a.length)) {
		say_difference(message, sizeof(message), a, b);
		say(tester, path, FAILED, false, message);
	} else {
		say(tester, path, PASSED, false, NULL);
	}
	wnnStablehloProgramRelease(text);
	wnnStablehloProgramRelease(code);
}

static void print_program(struct tester *tester, const char *path, WNNStablehloProgram program)
{
	WNNStringView text;

	if (wnnStablehloProgramGetText(program, &text) != WNNStatus_Success) {
		say(tester, path, FAILED, false, last_message());
		return;
	}
	fwrite(text.data, 1, text.length, stdout);
	say(tester, path, PASSED, false, NULL);
}

/*
 * Returns whether the program at @path is in the form that @bytecode asks for (true: bytecode,
 * false: text) and its other form is a file beside it. Writes the path of the other form to @other.
 */
static bool has_pair(const char *path, bool bytecode, char *other, size_t room)
{
	size_t length = strlen(path);
	bool is_bytecode = length > 3 && !strcmp(path + length - 3, ".bc");

	snprintf(other, room, "%.*s%s", (int)(length - (is_bytecode ? 3 : 0)), path,
		 is_bytecode ? "" : ".bc");
	return is_bytecode == bytecode && !access(other, R_OK);
}

static void test_file(struct tester *tester, const char *path)
{
	WNNStablehloProgram program;
	WNNStablehloRefusalArray refusals;
	size_t modules;
	char name[4200], text[700], place[48];

	if (!tester->options->print && has_pair(path, true, name, sizeof(name))) {
		test_pair(tester, name, path);
		return;
	}
	if (wnnStablehloLoadFile(WNN_STR(path), NULL, &program) != WNNStatus_Success) {
		say(tester, path, FAILED, false, last_message());
		return;
	}
	wnnStablehloProgramSetWorld(program, tester->world, 0);
	if (tester->options->print) {
		print_program(tester, path, program);
		wnnStablehloProgramRelease(program);
		return;
	}
	tester->disabled = is_disabled(path);
	modules = wnnStablehloProgramGetModuleCount(program);
	refusals = wnnStablehloProgramGetRefusals(program);
	if (refusals.count) {
		const WNNStablehloRefusal *first = refusals.data;

		if (first->line)
			snprintf(place, sizeof(place), "line %u, column %u", first->line,
				 first->column);
		else
			snprintf(place, sizeof(place), "byte %u", first->column);
		snprintf(text, sizeof(text), "%s: %.*s: %.*s (%zu in all)", place,
			 (int)first->operatorName.length, first->operatorName.data,
			 (int)first->reason.length, first->reason.data, refusals.count);
		for (size_t i = 0; i < (modules ? modules : 1); i++)
			say(tester, path, REFUSED, false, text);
	}
	for (size_t i = 0; !refusals.count && i < modules; i++) {
		snprintf(name, sizeof(name), modules > 1 ? "%s:%zu" : "%s", path, i);
		test_module(tester, name, program, i);
	}
	wnnStablehloProgramRelease(program);
}

static int is_program(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' &&
	       (!end || !strcmp(end, ".mlir") || !strcmp(end, ".bc") || entry->d_type == DT_DIR);
}

/* Tests a file, or all files in and below a folder. Returns 0 or -1. */
static int test_path(struct tester *tester, const char *path)
{
	struct dirent **entries;
	struct stat status;
	char name[4096], other[4100];
	int count, ret = 0;

	if (stat(path, &status)) {
		fprintf(stderr, "stablehlo-test: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(status.st_mode)) {
		test_file(tester, path);
		return 0;
	}
	count = scandir(path, &entries, is_program, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		/* A text beside its bytecode is tested together with the bytecode. */
		if (!has_pair(name, false, other, sizeof(other)) && test_path(tester, name))
			ret = -1;
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	else
		fprintf(stderr, "stablehlo-test: %s: %s\n", path, strerror(errno));
	return count >= 0 ? ret : -1;
}

static json_t *result_of(const struct tester *tester)
{
	const struct count *count = &tester->count;

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "device",
			 tester->options->device ? tester->options->device : "cpu", "ranks",
			 (json_int_t)(tester->world ? tester->info.rankCount : 1), "total",
			 (json_int_t)count->total, "passed", (json_int_t)count->passed, "refused",
			 (json_int_t)count->refused, "failed", (json_int_t)count->failed,
			 "no_cpu_operator", (json_int_t)count->no_cpu_operator, "cases",
			 tester->cases);
}

static uint64_t parse_count(const char *text, uint64_t least, const char *option,
			    struct argp_state *state)
{
	uint64_t count;
	char *end;

	errno = 0;
	count = strtoull(text, &end, 10);
	if (*text == '-' || end == text || *end || errno || count < least)
		argp_error(state, "%s is a number from %d on, not '%s'", option, (int)least, text);
	return count;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		options->device = argument;
		return 0;
	case 'j':
		options->json = argument;
		return 0;
	case 'l':
		options->list = true;
		return 0;
	case 'm':
		options->ranks = argument;
		return 0;
	case 'l' << 8:
		options->loop_limit = parse_count(argument, 1, "--loop-limit", state);
		return 0;
	case 'u' << 8:
		options->unroll_limit = parse_count(argument, 0, "--unroll-limit", state);
		return 0;
	case 'p':
		options->print = true;
		return 0;
	case ARGP_KEY_ARGS:
		options->paths = state->argv + state->next;
		options->path_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "give files or folders of programs");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "device", 'd', "DEVICE", 0,
	  "Where the operations run that WebNN has: npu, npu:1 or sim; cpu (the default): the "
	  "reference kernels run all operations",
	  0 },
	{ "json", 'j', "FILE", 0, "Write the counts and all cases as JSON", 0 },
	{ "mpi", 'm', "N", 0,
	  "Start N ranks with mpirun: processes of interpreter.run_parallel run on the ranks, not "
	  "in threads; so they do, without this option, when mpirun has started this program",
	  0 },
	{ "list", 'l', NULL, 0, "List the cases that passed, too", 0 },
	{ "loop-limit", 'l' << 8, "N", 0,
	  "The most iterations of a loop; more are an error (4194304)", 0 },
	{ "unroll-limit", 'u' << 8, "OPERATIONS", 0,
	  "The most operations of all iterations of a loop that is unrolled (4096); 0: no loop is",
	  0 },
	{ "print", 'p', NULL, 0, "Print the programs as they were read, and run nothing", 0 },
	{ 0 },
};

static const struct argp parser = {
	option_list,
	parse_option,
	"PATH...",
	"Runs test programs of StableHLO, which compare their results themselves. Bytecode beside its text "
	"(x.mlir.bc, x.mlir) passes when both are the same program.",
	NULL,
	NULL,
	NULL,
};

static WNNContext open_context(WNNInstance instance, const char *device)
{
	WNNContextDeviceOptions chained = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions wanted = WNN_CONTEXT_OPTIONS_INIT;
	WNNError error = WNN_ERROR_INIT;
	WNNContext context;

	chained.device = WNN_STR(device);
	wanted.nextInChain = &chained.chain;
	if (instance && wnnInstanceCreateContextSync(instance, &wanted, WNN_WAIT_FOREVER,
						     &context) == WNNStatus_Success)
		return context;
	wnnGetLastError(&error);
	fprintf(stderr, "stablehlo-test: device %s: %.*s\n", device, (int)error.message.length,
		error.message.data);
	return NULL;
}

/*
 * Replaces this process by mpirun, with the same arguments for each rank. Returns only on failure.
 */
static int start_ranks(const char *ranks, int argc, char **argv)
{
	char **line = calloc((size_t)argc + 6, sizeof(*line));
	int at = 0;

	if (!line) {
		fprintf(stderr, "stablehlo-test: memory is exhausted\n");
		return 2;
	}
	line[at++] = "mpirun";
	/* Tests may start more ranks than there are processors. */
	line[at++] = "--oversubscribe";
	line[at++] = "-n";
	line[at++] = (char *)ranks;
	for (int i = 0; i < argc; i++)
		line[at++] = argv[i];
	execvp(line[0], line);
	fprintf(stderr, "stablehlo-test: mpirun, which starts ranks, cannot be started: %s\n",
		strerror(errno));
	free(line);
	return 2;
}

static int join_ranks(struct tester *tester)
{
	if (!wnnStablehloWorldIsStarted())
		return 0;
	if (wnnStablehloWorldJoin(&tester->world) != WNNStatus_Success) {
		fprintf(stderr, "stablehlo-test: %s\n", last_message());
		return 2;
	}
	tester->info = wnnStablehloWorldGetInfo(tester->world);
	return 0;
}

static int report(const struct tester *tester)
{
	json_t *result = result_of(tester);
	int ret = 0;

	fprintf(tester->options->print ? stderr : stdout,
		"%zu programs: %zu passed, %zu refused, %zu failed; %zu without an operator on the "
		"CPU\n",
		tester->count.total, tester->count.passed, tester->count.refused,
		tester->count.failed, tester->count.no_cpu_operator);
	errno = 0;
	if (tester->options->json &&
	    (!result || json_dump_file(result, tester->options->json, JSON_INDENT(1)))) {
		fprintf(stderr, "stablehlo-test: %s: cannot be written: %s\n",
			tester->options->json, errno ? strerror(errno) : "memory is exhausted");
		ret = 2;
	}
	json_decref(result);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = { .unroll_limit = WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT };
	struct tester tester = { .options = &options };
	WNNInstance instance = NULL;
	int ret = 0;

	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (options.ranks && !wnnStablehloWorldIsStarted())
		return start_ranks(options.ranks, argc, argv);
	if (join_ranks(&tester))
		return 2;
	tester.cases = json_array();
	if (options.device && strcmp(options.device, "cpu")) {
		instance = wnnCreateInstance(NULL);
		tester.context = open_context(instance, options.device);
		if (!tester.context)
			return 2;
	}
	for (size_t i = 0; i < options.path_count; i++)
		if (test_path(&tester, options.paths[i]))
			ret = 2;
	if (!tester.info.rank && report(&tester))
		ret = 2;
	/*
	 * Synchronises the ranks once more: after a program that failed on all ranks, leaving them
	 * without this call would end them.
	 */
	if (tester.world)
		wnnStablehloWorldAgreeSync(tester.world);
	wnnStablehloWorldRelease(tester.world);
	json_decref(tester.cases);
	wnnContextRelease(tester.context);
	wnnInstanceRelease(instance);
	return ret ? ret : tester.count.failed ? 1 : 0;
}
