// SPDX-License-Identifier: MIT
/* onpu-emu: the device model as a PCI function for QEMU, over the vfio-user protocol. */
#define _GNU_SOURCE
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "onpu/machines.h"
#include "vfu/replay.h"
#include "vfu/server.h"

/* The longest time that a reply may stay unread: QEMU's own default for waiting. */
#define PATIENCE_MS 5000

enum {
	KEY_SOCKET = 's',
	KEY_QUIET = 'q',
	KEY_SYNC = 0x100,
	KEY_NO_MSIX,
	KEY_TLB,
	KEY_MACHINE,
	KEY_SRAM,
	KEY_QUEUES,
	KEY_THREADS,
	KEY_ONCE,
	KEY_INJECT,
	KEY_RECORD,
	KEY_RECORD_LIMIT,
	KEY_REPLAY,
};

#define MAX_FAULTS 32

/* The exit status of --replay when the device differs from the recorded one. */
#define EXIT_DIFFERS 2

static const struct argp_option options[] = {
	{ "socket", KEY_SOCKET, "PATH", 0, "listen on this unix socket (needed)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "end when the first client is gone", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "say nothing about clients on standard error", 0 },
	{ NULL, 0, NULL, 0, "The function:", 1 },
	{ "no-msix", KEY_NO_MSIX, NULL, 0, "no MSI-X, one MSI vector: QEMU can then unplug it", 1 },
	{ "sync", KEY_SYNC, NULL, 0,
	  "the device comes to rest before a write is answered: what a guest sees depends on its "
	  "accesses alone",
	  1 },
	{ NULL, 0, NULL, 0, "The device:", 2 },
	{ "machine", KEY_MACHINE, "NAME", 0,
	  "the machine that the device is: " ONPU_MACHINE_NAMES "; other options change parts of "
	  "it",
	  2 },
	{ "sram", KEY_SRAM, "BYTES", 0, "scratchpad, a multiple of 4096, such as 512K", 2 },
	{ "queues", KEY_QUEUES, "N", 0, "hardware queues, 1 to 64", 2 },
	{ "threads", KEY_THREADS, "N", 0, "host threads that work inside one instruction, 1 to 64",
	  2 },
	{ "tlb", KEY_TLB, "MODE", 0,
	  "'sticky': translations stay until they are invalidated, so that a forgotten "
	  "invalidation is seen; 'evict': their number is fixed, and a new one may replace an "
	  "old one (default)",
	  2 },
	{ NULL, 0, NULL, 0, "Faults of the hardware:", 3 },
	{ "inject", KEY_INJECT, "FAULT[,...]", 0,
	  "such as late-interrupt,after=10,ms=300, see onpu-emu(1); with -: lines on standard input ask "
	  "for them later. Not with --sync",
	  3 },
	{ NULL, 0, NULL, 0, "Recordings:", 4 },
	{ "record", KEY_RECORD, "FILE", 0,
	  "record all that crosses the device's interface; with one thread, which is the default",
	  4 },
	{ "record-limit", KEY_RECORD_LIMIT, "MIB", 0,
	  "the recording ends with this size, the server goes on (default: no limit)", 4 },
	{ "replay", KEY_REPLAY, "FILE", 0,
	  "do not serve: replay a recording on a device, and print what the device does "
	  "differently",
	  4 },
	{ 0 }
};

static const char documentation[] =
	"Serves the Open NPU as a PCI function over the vfio-user protocol, to one client after "
	"the other.\v"
	"Prints 'listening on PATH' once a client can connect. With QEMU 10.1 or later:\n\n"
	"  onpu-emu --socket npu.sock &\n"
	"  qemu-system-x86_64 -M q35,memory-backend=mem0 -m 1024 \\\n"
	"    -object memory-backend-memfd,id=mem0,size=1G,share=on \\\n"
	"    -device '{\"driver\":\"vfio-user-pci\",\"x-msg-timeout\":60000,\n"
	"              \"socket\":{\"type\":\"unix\",\"path\":\"npu.sock\"}}' ...\n\n"
	"The guest's memory must be a memfd that is shared: the device reaches no other. SIGTERM "
	"and SIGINT end the server and remove its socket.";

struct arguments {
	const char *socket;
	struct vfu_server_config config;
	struct vfu_arm faults[MAX_FAULTS];
	unsigned int num_faults;
	bool asks; /* take requests for more faults from standard input */
	const char *record, *replay;
	uint32_t record_mib;		 /* 0: no limit */
	uint32_t sram_bytes, num_queues; /* 0: those of the machine */
};

/* Returns the base of a number: 16 after 0x, otherwise 10, even after a 0. */
static int base_of(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

static uint32_t number(struct argp_state *state, const char *name, const char *text, uint32_t max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, base_of(text));
	if (errno || !*text || *end || *text == '-' || !value || value > max)
		argp_error(state,
			   "--%s %s: this is not a number that is allowed; give one from 1 to %u",
			   name, text, max);
	return (uint32_t)value;
}

/*
 * Returns the size in bytes that @text tells, with K or M after it for KiB or MiB: a multiple of
 * @unit, from 1 to @max. Any other text ends the program with an error.
 */
static uint32_t size(struct argp_state *state, const char *name, const char *text, uint32_t unit,
		     uint32_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, base_of(text));
	if (toupper(*end) == 'K' || toupper(*end) == 'M')
		value = value > max ? ULLONG_MAX : value << (toupper(*end++) == 'K' ? 10 : 20);
	if (errno || end == text || *end || *text == '-' || !value || value % unit || value > max)
		argp_error(
			state,
			"--%s %s: this is not a size that is allowed; give a multiple of %u bytes "
			"up to %u, with K or M behind the number for KiB or MiB",
			name, text, unit, max);
	return (uint32_t)value;
}

static void choose_machine(struct argp_state *state, struct onpu_sim_config *sim, const char *name)
{
	if (!onpu_sim_config_name(sim, name))
		argp_error(state, "--machine %s: there is no such machine; there are %s", name,
			   ONPU_MACHINE_NAMES);
}

static bool sticky(struct argp_state *state, const char *mode)
{
	if (strcmp(mode, "sticky") && strcmp(mode, "evict"))
		argp_error(state, "--tlb=%s: there is no such mode; give sticky or evict", mode);
	return !strcmp(mode, "sticky");
}

static void add_fault(struct argp_state *state, struct arguments *arguments, const char *text)
{
	const char *wrong;

	if (!strcmp(text, "-")) {
		arguments->asks = true;
		return;
	}
	if (arguments->num_faults == MAX_FAULTS)
		argp_error(state,
			   "--inject %s: this fault is one too many, at most %u are allowed; give "
			   "more as lines on standard input, with --inject=-",
			   text, MAX_FAULTS);
	wrong = vfu_inject_parse(text, &arguments->faults[arguments->num_faults]);
	if (!wrong && arguments->faults[arguments->num_faults].fault == VFU_FAULTS)
		return;
	if (wrong)
		argp_error(state, "--inject %s cannot be used: %s", text, wrong);
	arguments->num_faults++;
}

/* Checks the options together, and completes the machine. */
static void finish(struct argp_state *state, struct arguments *arguments)
{
	struct onpu_sim_config *sim = &arguments->config.function.device.sim;

	if (!arguments->socket == !arguments->replay)
		argp_error(
			state,
			"give either --socket PATH, to be a device for QEMU, or --replay FILE, to "
			"repeat a recording");
	if (arguments->record_mib && !arguments->record)
		argp_error(state,
			   "--record-limit limits the size of a recording, and none is made: give "
			   "--record FILE, too");
	if (arguments->record && sim->threads > 1)
		argp_error(state, "--record needs one thread, as recordings with more cannot be "
				  "replayed: leave out --threads");
	if (arguments->config.function.sync && (arguments->num_faults || arguments->asks))
		argp_error(state, "--inject and --sync exclude each other: leave out one of them");
	if (arguments->sram_bytes)
		sim->sram_bytes = arguments->sram_bytes;
	if (arguments->num_queues)
		sim->num_queues = (uint16_t)arguments->num_queues;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct vfu_server_config *config = &arguments->config;
	struct onpu_sim_config *sim = &config->function.device.sim;

	switch (key) {
	case KEY_SOCKET:
		arguments->socket = arg;
		break;
	case KEY_ONCE:
		config->once = true;
		break;
	case KEY_QUIET:
		config->quiet = true;
		break;
	case KEY_INJECT:
		add_fault(state, arguments, arg);
		break;
	case KEY_RECORD:
		arguments->record = arg;
		break;
	case KEY_RECORD_LIMIT:
		arguments->record_mib = number(state, "record-limit", arg, UINT32_MAX);
		break;
	case KEY_REPLAY:
		arguments->replay = arg;
		break;
	case KEY_NO_MSIX:
		config->function.msix = false;
		break;
	case KEY_SYNC:
		config->function.sync = true;
		break;
	case KEY_MACHINE:
		choose_machine(state, sim, arg);
		break;
	case KEY_SRAM:
		arguments->sram_bytes = size(state, "sram", arg, ONPU_PAGE_SIZE, 1u << 30);
		break;
	case KEY_QUEUES:
		arguments->num_queues = number(state, "queues", arg, ONPU_MAX_QUEUES);
		break;
	case KEY_THREADS:
		sim->threads = number(state, "threads", arg, ONPU_SIM_MAX_THREADS);
		break;
	case KEY_TLB:
		config->function.device.tlb_sticky = sticky(state, arg);
		break;
	case ARGP_KEY_ARG:
		argp_error(
			state,
			"there is no option '%s': onpu-emu takes options alone, and --help lists "
			"them",
			arg);
		break;
	case ARGP_KEY_END:
		finish(state, arguments);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/*
 * Returns a descriptor that becomes readable at a signal to stop. Blocks the signals before any
 * thread is created: threads inherit the mask.
 */
static int make_stop_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int serve(const struct arguments *arguments, int stop_fd)
{
	const char *error = "";
	struct vfu_server server;
	int listening = vfu_listen(arguments->socket);

	if (listening < 0) {
		fprintf(stderr, "onpu-emu: the socket %s cannot be made: %s\n", arguments->socket,
			strerror(errno));
		return EXIT_FAILURE;
	}
	if (!vfu_server_init(&server, &arguments->config, listening, stop_fd, &error)) {
		fprintf(stderr, "onpu-emu: the device cannot be made: %s\n", error);
		close(listening);
		unlink(arguments->socket);
		return EXIT_FAILURE;
	}
	for (unsigned int i = 0; i < arguments->num_faults; i++)
		vfu_inject_arm(&server.function.injector, &arguments->faults[i]);
	if (arguments->asks) {
		server.control.in = STDIN_FILENO;
		server.control.out = STDOUT_FILENO;
	}
	printf("listening on %s\n", arguments->socket);
	fflush(stdout);
	while (vfu_server_poll(&server, -1))
		;
	unlink(arguments->socket);
	vfu_server_destroy(&server);
	return EXIT_SUCCESS;
}

static int replay(const char *path)
{
	static const int statuses[] = {
		[VFU_REPLAY_SAME] = EXIT_SUCCESS,
		[VFU_REPLAY_DIFFERS] = EXIT_DIFFERS,
		[VFU_REPLAY_REFUSED] = EXIT_FAILURE,
	};
	struct vfu_replay_report report;
	enum vfu_replay_result result = vfu_replay_file(path, &report);

	fprintf(result == VFU_REPLAY_REFUSED ? stderr : stdout, "%s%s: %s\n",
		result == VFU_REPLAY_REFUSED ? "onpu-emu: " : "", path, report.text);
	return statuses[result];
}

/* Serves with a recorder, if one is wanted; returns the exit status. */
static int serve_recorded(struct arguments *arguments, int stop_fd)
{
	struct vfu_recorder recorder;
	int status, error;

	if (!arguments->record)
		return serve(arguments, stop_fd);
	if (!vfu_recorder_init(&recorder, arguments->record,
			       (uint64_t)arguments->record_mib << 20)) {
		fprintf(stderr, "onpu-emu: the recording %s cannot be written: %s\n",
			arguments->record, strerror(errno));
		return EXIT_FAILURE;
	}
	arguments->config.function.recorder = &recorder;
	status = serve(arguments, stop_fd);
	if (recorder.full)
		fprintf(stderr,
			"onpu-emu: %s: the recording stopped at its limit of %u MiB, before the "
			"server ended; give a larger --record-limit to record all\n",
			arguments->record, arguments->record_mib);
	error = vfu_recorder_destroy(&recorder);
	if (!error)
		return status;
	fprintf(stderr,
		"onpu-emu: %s: the recording is not whole, because it could not be written: %s\n",
		arguments->record, strerror(error));
	return EXIT_FAILURE;
}

const char *argp_program_version = "onpu-emu " ONPU_VERSION;

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = options,
					  .parser = parse,
					  .doc = documentation };
	struct arguments arguments = {
		.config = {
			.function = { .device = onpu_device_config_default(), .msix = true },
			.patience_ms = PATIENCE_MS,
		},
	};
	int stop_fd, status;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.replay)
		return replay(arguments.replay);
	stop_fd = make_stop_fd();
	if (stop_fd < 0) {
		fprintf(stderr,
			"onpu-emu: it cannot receive the signals that would end it: %s; close files or "
			"end other programs\n",
			strerror(errno));
		return EXIT_FAILURE;
	}
	status = serve_recorded(&arguments, stop_fd);
	close(stop_fd);
	return status;
}
