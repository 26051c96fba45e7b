// SPDX-License-Identifier: MIT
/* onpu-smi trace: prints the driver's events while they happen: jobs, faults, resets, power. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "device.h"
#include "dump.h"
#include "smi.h"
#include "timeline.h"
#include "trace.h"
#include "tree.h"

#define TRACING	  "/sys/kernel/tracing"
#define INSTANCES TRACING "/instances"
#define OUR_NAME  "onpu-smi-"

/* Time between two readings of the trace, too short to notice on a screen. */
#define PAUSE_NS 100000000L

enum { KEY_CHROME = 0x700 };

static const struct argp_option trace_options[] = {
	{ "count", 'n', "N", 0, "End after so many events", 0 },
	{ "chrome", KEY_CHROME, "FILE", 0,
	  "Write driver, firmware and engines on one clock for Perfetto and chrome://tracing, in the end",
	  0 },
	{ 0 }
};

struct trace_command {
	struct options common;
	const char *file;   /* file to read; NULL: the kernel's trace is followed */
	unsigned int count; /* number of events; 0: until interrupted */
	const char *chrome; /* trace file to write for Perfetto; NULL: none */
	struct devices devices;
	struct trace_history history;
	struct timeline timeline;
	json_t *list; /* list of events, when a file is read */
	uint64_t lost;
	unsigned int told;
	bool failed;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace_command *command = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->common;
		break;
	case 'n':
		command->count = parse_count(arg, "--count", state);
		break;
	case KEY_CHROME:
		command->chrome = arg;
		break;
	case ARGP_KEY_ARG:
		if (command->file)
			argp_error(state, "only one file can be given; '%s' is a second one", arg);
		command->file = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- for people */

static const char *jobs_text(char text[64], const struct trace_event *event)
{
	if (event->count == 1)
		snprintf(text, 64, "job %" PRIu64, event->seqno);
	else
		snprintf(text, 64, "jobs %" PRIu64 " to %" PRIu64, event->seqno - event->count + 1,
			 event->seqno);
	return text;
}

static void print_who(const struct trace_command *command, const struct trace_event *event)
{
	const struct trace_client *client = trace_client(&command->history, event);

	if (client)
		printf("%s %d, ", client->command, client->pid);
	printf("client %" PRIu64 ": ", event->client);
}

/* Prints the progress of jobs; @us is the time since they were submitted, if that was seen. */
static void print_jobs(const struct trace_event *event, const uint64_t *us)
{
	const bool one = event->count == 1;
	char jobs[64];

	jobs_text(jobs, event);
	switch (event->kind) {
	case TRACE_SUBMIT:
		printf("%s submitted to context %" PRIu32, jobs, event->ctx);
		break;
	case TRACE_RAN:
		printf("%s of context %" PRIu32 " took %" PRIu64 " cycles:", jobs, event->ctx,
		       event->cycles);
		for (size_t i = 0; i < ONPU_ENG_COUNT; i++)
			printf("%s %s %.0f %%", i ? "," : "", trace_engine_name(i),
			       trace_busy_share(event, i) * 100);
		break;
	case TRACE_FEED:
		printf("%s of context %" PRIu32 " %s to queue %" PRId32, jobs, event->ctx,
		       one ? "goes" : "go", event->queue);
		break;
	case TRACE_COMPLETE:
		printf("%s of context %" PRIu32 " end%s", jobs, event->ctx, one ? "s" : "");
		if (us)
			printf(" after %" PRIu64 " us", *us);
		if (event->error)
			printf(" with an error: %s", strerror(-event->error));
		break;
	default:
		printf("%s of context %" PRIu32 " faults at instruction %" PRIu64 ": %s, %s", jobs,
		       event->ctx, event->pc, dump_fault_name(event->code),
		       dump_fault_text(event->code));
		if (event->address)
			printf(": 0x%" PRIx64, event->address);
		break;
	}
	putchar('\n');
}

static void print_device(const struct trace_event *event)
{
	const char *error = event->error ? strerror(-event->error) : NULL;

	if (event->kind == TRACE_FIRMWARE)
		printf("the firmware says: %s\n", event->what);
	else if (event->kind == TRACE_RESET && strcmp(event->what, "end"))
		printf("the device is reset: %s\n", event->what);
	else if (event->kind == TRACE_RESET)
		printf("%s%s\n", error ? "the device does not start: " : "the device works",
		       error ? error : "");
	else if (!strcmp(event->what, "suspend"))
		printf("the device goes to sleep\n");
	else if (error)
		printf("the device does not wake up: %s\n", error);
	else
		printf("the device wakes up\n");
}

static void print_event(const struct trace_command *command, const struct trace_event *event,
			const uint64_t *us)
{
	if (event->kind == TRACE_LOST) {
		printf("               %" PRIu64 " events were lost: there were more than could be "
		       "read\n",
		       event->count);
		return;
	}
	printf("[%5" PRIu64 ".%06" PRIu64 "] ", event->us / 1000000, event->us % 1000000);
	if (command->file || command->devices.count > 1)
		printf("%s: ", event->device);
	if (trace_is_of_jobs(event->kind)) {
		print_who(command, event);
		print_jobs(event, us);
	} else {
		print_device(event);
	}
}

/* ---- for programs */

static int add_jobs(json_t *object, const struct trace_command *command,
		    const struct trace_event *event, const uint64_t *us)
{
	const struct trace_client *client = trace_client(&command->history, event);
	json_t *more;
	int wrong;

	more = json_pack("{s:I, s:I, s:I, s:I, s:i}", "client", (json_int_t)event->client,
			 "context", (json_int_t)event->ctx, "seqno", (json_int_t)event->seqno,
			 "count", (json_int_t)event->count, "queue", (int)event->queue);
	wrong = json_object_update_new(object, more);
	if (client)
		wrong |= json_object_update_new(object, json_pack("{s:i, s:s}", "pid", client->pid,
								  "command", client->command));
	if (us)
		wrong |= json_object_set_new(object, "after_us", json_integer((json_int_t)*us));
	if (event->kind == TRACE_RAN) {
		json_t *busy = json_object();

		for (size_t i = 0; i < ONPU_ENG_COUNT; i++)
			wrong |= json_object_set_new(busy, trace_engine_name(i),
						     json_integer((json_int_t)event->busy[i]));
		wrong |= json_object_update_new(
			object, json_pack("{s:I, s:I, s:o}", "cycles", (json_int_t)event->cycles,
					  "end_cycle", (json_int_t)event->cycle, "busy", busy));
	}
	if (event->kind == TRACE_FAULT)
		wrong |= json_object_update_new(
			object, json_pack("{s:s, s:I, s:I}", "fault", dump_fault_name(event->code),
					  "pc", (json_int_t)event->pc, "fault_address",
					  (json_int_t)event->address));
	return wrong;
}

static json_t *event_json(const struct trace_command *command, const struct trace_event *event,
			  const uint64_t *us)
{
	json_t *object = json_pack("{s:s}", "event", trace_kind_name(event->kind));
	int wrong = 0;

	if (event->kind == TRACE_LOST) {
		wrong = json_object_set_new(object, "count",
					    json_integer((json_int_t)event->count));
	} else {
		wrong = json_object_update_new(
			object, json_pack("{s:I, s:s, s:i}", "us", (json_int_t)event->us, "address",
					  event->device, "error", -event->error));
		if (trace_is_of_jobs(event->kind))
			wrong |= add_jobs(object, command, event, us);
		else if (event->kind != TRACE_CLOCK)
			wrong |= json_object_set_new(object, "what", json_string(event->what));
		if (event->has_cycle && !trace_is_of_jobs(event->kind))
			wrong |= json_object_set_new(object, "cycle",
						     json_integer((json_int_t)event->cycle));
	}
	if (!wrong)
		return object;
	json_decref(object);
	return NULL;
}

/* ---- events */

static bool is_wanted(const struct trace_command *command, const struct trace_event *event)
{
	if (event->kind == TRACE_LOST || !command->common.device)
		return true;
	for (size_t i = 0; i < command->devices.count; i++)
		if (!strcmp(command->devices.list[i].address, event->device))
			return true;
	return false;
}

/*
 * Learns the process of a client from a submission: the task is a thread of the client's process,
 * or of one that received its file.
 */
static void learn(struct trace_command *command, const struct trace_event *event)
{
	char name[16] = "";

	if (event->kind != TRACE_SUBMIT)
		return;
	trace_submitted(&command->history, event);
	if (trace_client(&command->history, event))
		return;
	if (command->file || tree_line(name, sizeof(name), "/proc/%d/comm", event->pid) || !*name)
		snprintf(name, sizeof(name), "%s", event->command);
	trace_know(&command->history, event->device, event->client, event->pid, name);
}

/* Handles a line of the trace; false: no more lines are wanted. */
static bool take_line(struct trace_command *command, const char *line)
{
	struct trace_event event;
	uint64_t us;
	bool known;

	if (!trace_parse(line, &event) || !is_wanted(command, &event))
		return true;
	learn(command, &event);
	known = event.kind == TRACE_COMPLETE && trace_completed(&command->history, &event, &us);
	us = known && event.us > us ? event.us - us : 0;
	if (event.kind == TRACE_LOST)
		command->lost += event.count;
	if (command->chrome)
		timeline_add(&command->timeline, &event, known ? event.us - us : event.us);
	/*
	 * An event TRACE_CLOCK tells the device's clock, which only JSON shows; text has the
	 * host's.
	 */
	if (event.kind == TRACE_CLOCK && !command->common.json)
		return true;
	if (!command->common.json)
		print_event(command, &event, known ? &us : NULL);
	else if (command->list)
		command->failed |=
			json_array_append_new(command->list,
					      event_json(command, &event, known ? &us : NULL)) != 0;
	else
		command->failed |= write_json(event_json(command, &event, known ? &us : NULL),
					      JSON_COMPACT) != DONE;
	return !command->failed && (!command->count || ++command->told < command->count);
}

/*
 * Handles all complete lines of a text, and moves the rest to its start. False: no more lines are
 * wanted.
 */
static bool take_lines(struct trace_command *command, char *text)
{
	char *line = text, *end;
	bool more = true;

	while (more && (end = strchr(line, '\n'))) {
		*end = '\0';
		more = take_line(command, line);
		line = end + 1;
	}
	memmove(text, line, strlen(line) + 1);
	return more;
}

/* ---- a file, or a copy of a system */

static int complain_trace(const char *file, int error)
{
	if (error == EACCES || (error == EPERM && geteuid()))
		return complain(FAILED, "only root may follow the driver: sudo onpu-smi trace");
	if (error == ENOENT && strstr(file, "/events/"))
		return complain(FAILED,
				"the driver is not loaded, so it has no trace events; onpu-smi "
				"check tells what helps");
	if (error == ENOENT)
		return complain(FAILED,
				TRACING " is not there; this may help: sudo mount -t tracefs "
					"tracefs " TRACING);
	return complain(FAILED, "%s: %s", file, strerror(error));
}

static int show_file(struct trace_command *command)
{
	char *text, *line, *rest;
	int ret = DONE;

	text = command->file ? read_text(command->file, &ret) : tree_read(NULL, TRACING "/trace");
	if (!text)
		return ret == DONE ? complain_trace(TRACING "/trace", errno) : ret;
	if (command->common.json)
		command->list = json_array();
	line = strtok_r(text, "\n", &rest);
	while (line && take_line(command, line))
		line = strtok_r(NULL, "\n", &rest);
	free(text);
	if (command->failed)
		ret = complain(FAILED, "memory is exhausted");
	else if (command->list)
		ret = write_json(json_pack("{s:O, s:I}", "events", command->list, "lost",
					   (json_int_t)command->lost),
				 JSON_INDENT(2));
	else if (fflush(stdout))
		ret = complain(FAILED, "the events cannot be written: %s", strerror(errno));
	json_decref(command->list);
	return ret;
}

/* ---- the kernel's events: in an instance of the trace that nobody else uses */

/* Removes the trace instances of programs that were killed. */
static void remove_old(void)
{
	struct tree_names names = tree_list(INSTANCES);

	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.names[i];
		char path[PATH_MAX];

		if (!strncmp(name, OUR_NAME, strlen(OUR_NAME)) &&
		    !tree_exists("/proc/%s", name + strlen(OUR_NAME)))
			rmdir(tree_path(path, INSTANCES "/%s", name));
	}
	tree_names_free(&names);
}

static int begin(const char *folder)
{
	static const struct {
		const char *name, *value;
		bool is_needed;
	} settings[] = {
		{ "trace_clock", "mono", false },
		{ "options/record-tgid", "1", false },
		{ "events/onpu/enable", "1", true },
	};
	char path[PATH_MAX];

	remove_old();
	if (mkdir(tree_path(path, "%s", folder), 0700))
		return complain_trace(folder, errno);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int error = tree_write(settings[i].value, "%s/%s", folder, settings[i].name);

		if (error && settings[i].is_needed) {
			rmdir(path);
			snprintf(path, sizeof(path), "%s/%s", folder, settings[i].name);
			return complain_trace(path, -error);
		}
	}
	return DONE;
}

static void end(const char *folder)
{
	char path[PATH_MAX];

	tree_write("0", "%s/events/onpu/enable", folder);
	rmdir(tree_path(path, "%s", folder));
}

/*
 * Reads events until there are enough, a signal interrupts it, or nobody reads the output any more.
 * After a signal it prints the events before that, and stops new ones, as they might never end.
 * Returns DONE, or FAILED after a message.
 */
static int read_pipe(struct trace_command *command, const char *folder, int fd,
		     const sigset_t *ends)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	bool interrupted = false;
	char text[16384];
	size_t used = 0;

	for (;;) {
		ssize_t got = read(fd, text + used, sizeof(text) - 1 - used);

		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return complain(FAILED, "the trace cannot be read: %s", strerror(errno));
		if (got > 0) {
			used += (size_t)got;
			text[used] = '\0';
			if (!take_lines(command, text))
				return command->failed ? FAILED : DONE;
			used = strlen(text);
			/* No line is that long, so that the text is dropped. */
			if (used == sizeof(text) - 1)
				used = 0;
		} else if (fflush(stdout) && errno != EPIPE) {
			return complain(FAILED, "the events cannot be written: %s",
					strerror(errno));
		} else if (interrupted) {
			return DONE;
		}
		if (!interrupted &&
		    sigtimedwait(ends, NULL, got > 0 ? &(struct timespec){ 0 } : &pause) > 0) {
			interrupted = true;
			tree_write("0", "%s/events/onpu/enable", folder);
		}
	}
}

/* Adds the programs that had the device open before the trace began. */
static void know_clients(struct trace_command *command)
{
	struct clients clients = clients_find();

	for (size_t i = 0; i < clients.count; i++) {
		const struct client *client = &clients.list[i];
		char name[16];

		if (!tree_line(name, sizeof(name), "/proc/%d/comm", client->pid))
			trace_know(&command->history, client->address, client->id, client->pid,
				   name);
	}
	clients_free(&clients);
}

static int follow(struct trace_command *command)
{
	char *folder = text_of(INSTANCES "/" OUR_NAME "%d", (int)getpid());
	char path[PATH_MAX];
	sigset_t ends;
	int ret, fd;

	/* The signals are blocked, so that tracing is stopped in every case but SIGKILL. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGPIPE);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	ret = begin(folder);
	if (ret == DONE) {
		know_clients(command);
		fd = open(tree_path(path, "%s/trace_pipe", folder),
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ret = fd < 0 ? complain_trace(path, errno) : read_pipe(command, folder, fd, &ends);
		if (fd >= 0)
			close(fd);
		end(folder);
	}
	free(folder);
	return ret;
}

int command_trace(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = trace_options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "What the driver does, as it does it, until it is interrupted: who submits "
		       "jobs, when they begin and end, faults, resets, and sleep. As root. FILE is a "
		       "copy of /sys/kernel/tracing/trace in which events of the driver are, or - for "
		       "standard input.",
		.children = children,
	};
	struct trace_command command = { .file = NULL };
	int ret = DONE;

	argp_parse(&argp, argc, argv, 0, NULL, &command);
	command.devices = devices_find(false);
	if (!command.file || command.common.device)
		ret = devices_choose(&command.devices, command.common.device);
	if (ret == DONE)
		ret = command.file || tree_is_copy() ? show_file(&command) : follow(&command);
	if (ret == DONE && command.chrome)
		ret = timeline_write(&command.timeline, &command.history, command.chrome);
	timeline_free(&command.timeline);
	trace_history_free(&command.history);
	devices_free(&command.devices);
	return ret;
}
