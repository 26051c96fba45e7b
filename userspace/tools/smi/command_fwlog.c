// SPDX-License-Identifier: MIT
/* onpu-smi fwlog: prints the firmware's messages, which the driver writes to the kernel's log. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "kernel_log.h"
#include "smi.h"
#include "text.h"
#include "tree.h"

enum { KEY_ON = 0x600, KEY_OFF };

/* The bit of drivers' messages in DRM's debug mask: DRM_UT_DRIVER. */
#define DEBUG_DRIVER 2u
#define DEBUG_FILE   "/sys/module/drm/parameters/debug"
#define LEVEL_FILE   "/sys/module/onpu/parameters/fw_log_level"

static const struct argp_option fwlog_options[] = {
	{ "follow", 'f', NULL, 0, "Wait for more, until it is interrupted", 0 },
	{ "level", 'l', "N", 0,
	  "Let the firmware log from its next start on: 0 nothing, 1 errors, 2 more, 3 all (as root)",
	  0 },
	{ "on", KEY_ON, NULL, 0, "Let the driver pass on what the firmware logs (as root)", 0 },
	{ "off", KEY_OFF, NULL, 0, "Let the driver no longer pass it on (as root)", 0 },
	{ 0 }
};

struct fwlog {
	struct options common;
	bool follow, on, off;
	const char *level;
	const struct devices *devices;
	json_t *list;
	size_t lines;
	bool failed;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct fwlog *fwlog = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &fwlog->common;
		break;
	case 'f':
		fwlog->follow = true;
		break;
	case 'l':
		if (strlen(arg) != 1 || *arg < '0' || *arg > '3')
			argp_error(state, "--level %s: a number from 0 to 3 is needed", arg);
		fwlog->level = arg;
		break;
	case KEY_ON:
		fwlog->on = true;
		break;
	case KEY_OFF:
		fwlog->off = true;
		break;
	case ARGP_KEY_END:
		if (fwlog->on && fwlog->off)
			argp_error(state, "--on and --off contradict each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- what is logged */

static int complain_setting(const char *file, int error)
{
	if (error == -EACCES || error == -EPERM)
		return complain(FAILED,
				"only root may change what is logged: sudo onpu-smi fwlog …");
	if (error == -ENOENT)
		return complain(FAILED,
				"%s is not there: the driver is not loaded; onpu-smi check "
				"tells what helps",
				file);
	return complain(FAILED, "%s: %s", file, strerror(-error));
}

static int change_settings(const struct fwlog *fwlog)
{
	uint64_t debug = tree_number(0, DEBUG_FILE);
	char text[24];
	int error;

	if (fwlog->level) {
		error = tree_write(fwlog->level, LEVEL_FILE);
		if (error)
			return complain_setting(LEVEL_FILE, error);
	}
	if (!fwlog->on && !fwlog->off)
		return DONE;
	debug = fwlog->on ? debug | DEBUG_DRIVER : debug & ~(uint64_t)DEBUG_DRIVER;
	snprintf(text, sizeof(text), "0x%" PRIx64, debug);
	error = tree_write(text, DEBUG_FILE);
	return error ? complain_setting(DEBUG_FILE, error) : DONE;
}

/* ---- the log */

/*
 * Returns the firmware's text in a debugging message, "[drm:… [onpu]] firmware: …"; NULL: it has
 * none.
 */
static const char *said_by_firmware(const char *text)
{
	const char *at = strstr(text, "] firmware: ");

	return !strncmp(text, "[drm:", 5) && at ? at + strlen("] firmware: ") : NULL;
}

static void tell(struct fwlog *fwlog, const struct device *device, const struct log_line *line,
		 const char *text)
{
	json_t *object;

	fwlog->lines++;
	if (!fwlog->common.json) {
		printf("[%5" PRIu64 ".%06" PRIu64 "] %s%s%s\n", line->us / 1000000,
		       line->us % 1000000, fwlog->devices->count > 1 ? device->address : "",
		       fwlog->devices->count > 1 ? ": " : "", text);
		return;
	}
	object = json_pack("{s:I, s:s, s:o}", "us", (json_int_t)line->us, "address",
			   device->address, "text", text_as_json(text));
	if (!fwlog->follow)
		fwlog->failed |= json_array_append_new(fwlog->list, object) != 0;
	else
		fwlog->failed |= write_json(object, JSON_COMPACT) != DONE;
}

static bool look_at_line(void *ctx, const struct log_line *line)
{
	struct fwlog *fwlog = ctx;

	for (size_t i = 0; i < fwlog->devices->count; i++) {
		const struct device *device = &fwlog->devices->list[i];
		const char *text = kernel_log_about(line, device->address);

		text = text ? said_by_firmware(text) : NULL;
		if (text)
			tell(fwlog, device, line, text);
	}
	if (fwlog->follow && fflush(stdout))
		fwlog->failed = true;
	return !fwlog->failed;
}

static int show_log(struct fwlog *fwlog)
{
	const bool off = !(tree_number(0, DEBUG_FILE) & DEBUG_DRIVER);
	int error;

	fwlog->list = json_array();
	error = kernel_log_read(fwlog->follow, look_at_line, fwlog);
	if (error || fwlog->failed || !fwlog->list) {
		json_decref(fwlog->list);
		if (error == -EPERM || error == -EACCES)
			return complain(FAILED,
					"this user may not read the kernel's log, which has "
					"that of the firmware: sudo onpu-smi fwlog");
		return complain(FAILED,
				error ? "the kernel's log cannot be read: %s" :
					"the firmware's messages cannot be written: %s",
				error ? strerror(-error) : "memory or room is exhausted");
	}
	if (fwlog->common.json)
		return write_json(json_pack("{s:b, s:o}", "on", !off, "lines", fwlog->list),
				  JSON_INDENT(2));
	json_decref(fwlog->list);
	if (!fwlog->lines)
		printf("The kernel's log has nothing of the firmware.\n");
	if (off)
		printf("The driver does not pass on what the firmware says: "
		       "sudo onpu-smi fwlog --on\n");
	return DONE;
}

int command_fwlog(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = fwlog_options,
		.parser = parse,
		.doc = "What the firmware says. The driver passes it on to the kernel's log after "
		       "--on; without that, there is nothing to read.",
		.children = children,
	};
	struct fwlog fwlog = { .follow = false };
	struct devices devices;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &fwlog);
	devices = devices_find(false);
	fwlog.devices = &devices;
	ret = devices_choose(&devices, fwlog.common.device);
	if (ret == DONE)
		ret = change_settings(&fwlog);
	if (ret == DONE && (fwlog.follow || (!fwlog.on && !fwlog.off && !fwlog.level)))
		ret = show_log(&fwlog);
	devices_free(&devices);
	return ret;
}
