// SPDX-License-Identifier: MIT
/* Chooses the device of a context from the options, the environment, and the devices that exist. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "cpu/simd/simd.h"
#include "graph/label.h"
#include "graph/op_table.h"
#include "onpu/isa.h"
#include "onpu/machines.h"
#include "pass/pass.h"
#include "util/malloc.h"
#include "util/printable.h"
#include "util/thread.h"

#define DEVICE_VARIABLE "WEBNN_DEVICE"

#define MAX_NUMBER_DIGITS 4 /* the most digits of the number of an NPU */

/* The most that WNNContextDeviceOptions.threads may be. */
#define MAX_THREADS 1024
/* How long threads spin before they sleep, in microseconds. */
#define CPU_SPIN_VARIABLE "WEBNN_CPU_SPIN"
#define NPU_SPIN_VARIABLE "WEBNN_NPU_SPIN"
#define MAX_SPIN	  1000000
#define CPU_SPIN_UNSET	  UINT32_MAX /* the CPU has its own time */
#define NPU_SPIN	  50 /* about the time in which a thread falls asleep and wakes up */
/* Limits of the device model, see struct onpu_sim_config. */
#define MAX_SIM_SRAM   (UINT64_C(1) << 30)
#define SIM_SRAM_ALIGN 64 /* in full mode ONPU_PAGE_SIZE */

/* Copies a path to new memory; an empty view leaves *path unchanged. Returns 0 or -1. */
static int copy_path(char **path, WNNStringView view, const char *what, struct wnn_error *err)
{
	if (!wnn_view_length(&view))
		return 0;
	*path = api_string(view);
	return *path ? 0 : wnn_error_nomem(err, what);
}

/* Reads "npu:NUMBER". Returns the number of the device node, or -1 for another name. */
static int parse_number(const char *name, size_t length)
{
	int number = 0;

	/*
	 * MAX_NUMBER_DIGITS keeps the number in range. A leading 0 is refused, so that no number
	 * has two names.
	 */
	if (length < 5 || length > 4 + MAX_NUMBER_DIGITS || memcmp(name, "npu:", 4) ||
	    (name[4] == '0' && length > 5))
		return -1;
	for (size_t i = 4; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		number = number * 10 + name[i] - '0';
	}
	return number;
}

/*
 * Chooses the NPU that "npu:NUMBER" names. Returns 0, or -1 with *err when the options have a path
 * of a device node, too, or memory runs out.
 */
static int choose_number(int number, struct context_config *config, struct wnn_error *err)
{
	char node[64], text[64];

	if (config->node) {
		wnn_text_printable(text, sizeof(text), config->node, strlen(config->node));
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"WNNContextDeviceOptions.nodePath is \"%s\", and "
			"WNNContextDeviceOptions.device is \"npu:%d\": only one of them may choose "
			"the NPU, so leave out the path or the number",
			text, number);
	}
	snprintf(node, sizeof(node), WINSYS_NODE, (unsigned int)number);
	config->device = CONTEXT_NPU;
	return copy_path(&config->node, api_view(node), "the path of the device node", err);
}

static int parse_device(const char *name, size_t length, const char *named_by,
			struct context_config *config, struct wnn_error *err)
{
	static const char *const names[] = {
		[CONTEXT_NPU] = "npu", [CONTEXT_SIM] = "sim", [CONTEXT_CPU] = "cpu"
	};
	const int number = parse_number(name, length);
	char text[64];

	config->named_by = named_by;
	if (number >= 0)
		return choose_number(number, config, err);
	for (int i = CONTEXT_NPU; i <= CONTEXT_CPU; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length)) {
			config->device = (enum context_device)i;
			return 0;
		}
	wnn_text_printable(text, sizeof(text), name, length);
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"there is no device \"%s\", which is asked for by %s; allowed are npu, npu:NUMBER, "
		"sim and cpu, with a NUMBER from 0 to 9999 and no zeros in front",
		text, named_by);
}

/*
 * Reads the layer of the CPU's kernels from WEBNN_CPU_LAYER, which is for tests and measurements.
 * Returns 0, also when the variable is not set, or -1 with *err for an unknown layer.
 */
static int parse_layer(struct context_config *config, struct wnn_error *err)
{
	const char *name = secure_getenv("WEBNN_CPU_LAYER");
	char text[64];

	if (!name || !*name)
		return 0;
	if (!strcmp(name, "onednn"))
		config->cpu_layer = CPU_ONEDNN;
	else if (!strcmp(name, "openblas"))
		config->cpu_layer = CPU_FAST;
	if (config->cpu_layer)
		return 0;
	wnn_text_printable(text, sizeof(text), name, strlen(name));
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the environment variable WEBNN_CPU_LAYER is \"%s\"; allowed are onednn and "
		"openblas, the layers of kernels on the CPU",
		text);
}

/*
 * Reads the level of vector instructions from WEBNN_CPU_LEVEL; it changes results by rounding only.
 * Returns 0, also when the variable is not set, or -1 with *err for an unknown level.
 */
static int parse_level(struct context_config *config, struct wnn_error *err)
{
	const char *name = secure_getenv("WEBNN_CPU_LEVEL");
	char text[64], known[64];

	if (!name || !*name)
		return 0;
	config->cpu_level = cpu_simd_named(name);
	if (config->cpu_level)
		return 0;
	wnn_text_printable(text, sizeof(text), name, strlen(name));
	cpu_simd_list(known, sizeof(known));
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the environment variable WEBNN_CPU_LEVEL is \"%s\"; allowed on this processor "
		"with this build of the library are %s",
		text, known);
}

/*
 * Sets *named to the name of the machine that the device sim is; to NULL for the default one.
 * Returns 0, or -1 with *err.
 */
static int parse_machine(const char **named, struct wnn_error *err)
{
	const char *name = secure_getenv("WEBNN_SIM_MACHINE");
	const struct onpu_machine_info *machine;
	char text[64];

	*named = NULL;
	if (!name || !*name)
		return 0;
	machine = onpu_machine_by_name(name);
	if (machine) {
		*named = machine->name;
		return 0;
	}
	wnn_text_printable(text, sizeof(text), name, strlen(name));
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the environment variable WEBNN_SIM_MACHINE is \"%s\"; allowed are the machines %s",
		text, ONPU_MACHINE_NAMES);
}

/*
 * Reads WEBNN_RULES, such as "-name,-name": names of rules that are disabled, to find out which
 * rule changes results. Returns 0, or -1 with *err.
 */
static int parse_rules(struct context_config *config, struct wnn_error *err)
{
	const char *text = secure_getenv("WEBNN_RULES");
	char shown[64], known[1024];

	while (text && *text) {
		size_t length = strcspn(text, ",");
		uint64_t mask = *text == '-' ? wnn_rules_mask(text + 1, length - 1) : 0;

		if (!mask) {
			wnn_text_printable(shown, sizeof(shown), text, length);
			return wnn_error_set(
				err, WNN_NOT_SUPPORTED,
				"the environment variable WEBNN_RULES has \"%s\"; allowed are "
				"names of rules to turn off, each with \"-\" in front and commas "
				"between: all, %s",
				shown, wnn_rules_list(known, sizeof(known)));
		}
		config->rules_off |= mask;
		text += length + (text[length] == ',');
	}
	return 0;
}

/*
 * Reads from a variable how long threads spin before they sleep, which does not change results.
 * *spin stays as it is when the variable is not set. Returns 0, or -1 with *err.
 */
static int parse_spin(const char *variable, uint32_t *spin, struct wnn_error *err)
{
	const char *text = secure_getenv(variable);
	unsigned long long microseconds;
	char shown[64], *end;

	if (!text || !*text)
		return 0;
	microseconds = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && microseconds <= MAX_SPIN) {
		*spin = (uint32_t)microseconds;
		return 0;
	}
	wnn_text_printable(shown, sizeof(shown), text, strlen(text));
	return wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the environment variable %s is \"%s\"; allowed is a whole number of microseconds, in "
		"digits alone, from 0 to %d",
		variable, shown, MAX_SPIN);
}

static int check_device_enums(const WNNContextDeviceOptions *options, struct wnn_error *err)
{
	if (options->placementPolicy &&
	    !wnn_enum_name(&wnn_enum_placement_policy, options->placementPolicy))
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"WNNContextDeviceOptions.placementPolicy is %u, which is not a value of "
			"WNNPlacementPolicy: begin with WNN_CONTEXT_DEVICE_OPTIONS_INIT, and set a "
			"value of the enumeration",
			(unsigned int)options->placementPolicy);
	if (options->simMode && !wnn_enum_name(&wnn_enum_sim_mode, options->simMode))
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"WNNContextDeviceOptions.simMode is %u, which is not a value of "
			"WNNSimMode: begin with WNN_CONTEXT_DEVICE_OPTIONS_INIT, and set a value "
			"of the enumeration",
			(unsigned int)options->simMode);
	return 0;
}

/*
 * Refuses structs that were initialised with { 0 }, in which options are off that are on by
 * default. @zero: whether all of @members are 0; the INIT macro sets none of them to 0.
 */
static int check_made(bool zero, const char *type, const char *macro, const char *members,
		      struct wnn_error *err)
{
	if (!zero)
		return 0;
	return wnn_error_set(
		err, WNN_TYPE_ERROR,
		"the structure %s was not initialised with %s, as its members %s are 0: use this "
		"macro, which sets the defaults",
		type, macro, members);
}

static int check_device_numbers(const WNNContextDeviceOptions *options, struct wnn_error *err)
{
	bool full = options->simMode == WNNSimMode_Full;
	uint64_t sram = options->simSramBytes, align = full ? ONPU_PAGE_SIZE : SIM_SRAM_ALIGN;

	if (options->threads > MAX_THREADS)
		return wnn_error_set(err, WNN_NOT_SUPPORTED,
				     "WNNContextDeviceOptions.threads is %" PRIu32
				     ", but the CPU may have at most %d threads: set a smaller "
				     "number",
				     options->threads, MAX_THREADS);
	if (sram > MAX_SIM_SRAM || sram % align)
		return wnn_error_set(err, WNN_NOT_SUPPORTED,
				     "the device sim%s cannot have %" PRIu64
				     " bytes of SRAM: give a multiple of %" PRIu64
				     " bytes, at most %" PRIu64,
				     full ? " in full mode" : "", sram, align, MAX_SIM_SRAM);
	return 0;
}

static int parse_device_options(const WNNContextDeviceOptions *options,
				struct context_config *config, struct wnn_error *err)
{
	size_t length = wnn_view_length(&options->device);
	char text[64];

	if (check_made(!options->placementPolicy && !options->simMode && !options->constantFolding,
		       "WNNContextDeviceOptions", "WNN_CONTEXT_DEVICE_OPTIONS_INIT",
		       "placementPolicy, simMode and constantFolding", err) ||
	    check_device_enums(options, err) || check_device_numbers(options, err))
		return -1;
	if (options->placementPolicy)
		config->policy = options->placementPolicy;
	config->threads = options->threads;
	config->no_folding = !options->constantFolding;
	config->profile = options->profile;
	config->memory_limit = options->memoryLimit;
	config->sim_full = options->simMode == WNNSimMode_Full;
	config->sim_sram_bytes = (uint32_t)options->simSramBytes;
	config->sim_threads = options->simThreads;
	if (copy_path(&config->firmware, options->simFirmwarePath, "the path of the firmware",
		      err) ||
	    copy_path(&config->node, options->nodePath, "the path of the device node", err))
		return -1;
	if (length &&
	    parse_device(options->device.data, length, "WNNContextDeviceOptions", config, err))
		return -1;
	/*
	 * An application that names a device node wants that NPU; using another device would be an
	 * error without a message.
	 */
	if (length && config->node && config->device != CONTEXT_NPU) {
		wnn_text_printable(text, sizeof(text), config->node, strlen(config->node));
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"WNNContextDeviceOptions.nodePath is \"%s\", the node of an NPU, but "
			"WNNContextDeviceOptions.device is \"%s\": leave out the path, or set the "
			"device to \"npu\"",
			text, config->device == CONTEXT_SIM ? "sim" : "cpu");
	}
	if (!length && config->node) {
		config->device = CONTEXT_NPU;
		config->named_by = "WNNContextDeviceOptions.nodePath";
	}
	return 0;
}

static int parse_chain(const WNNContextOptions *options, struct context_config *config,
		       struct wnn_error *err)
{
	bool seen = false;

	for (const WNNChainedStruct *s = options->nextInChain; s; s = s->next) {
		if (s->sType != WNNSType_ContextDeviceOptions || seen)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"WNNContextOptions.nextInChain holds %s structure of sType %#x: "
				"only one WNNContextDeviceOptions is allowed",
				s->sType == WNNSType_ContextDeviceOptions ? "a second" :
									    "an unknown",
				(unsigned int)s->sType);
		seen = true;
		if (parse_device_options((const void *)s, config, err))
			return -1;
	}
	return 0;
}

static enum winsys_power winsys_power_of(WNNPowerPreference preference)
{
	switch (preference) {
	case WNNPowerPreference_HighPerformance:
		return WINSYS_POWER_HIGH_PERFORMANCE;
	case WNNPowerPreference_LowPower:
		return WINSYS_POWER_LOW;
	default:
		return WINSYS_POWER_DEFAULT;
	}
}

int context_config_parse(const WNNContextOptions *options, struct context_config *config,
			 struct wnn_error *err)
{
	const WNNContextOptions defaults = WNN_CONTEXT_OPTIONS_INIT;
	const char *variable;

	memset(config, 0, sizeof(*config));
	config->policy = WNNPlacementPolicy_PreferNPU;
	config->cpu_spin = CPU_SPIN_UNSET;
	config->npu_spin = NPU_SPIN;
	if (!options)
		options = &defaults;
	if (check_made(!options->powerPreference && !options->accelerated, "WNNContextOptions",
		       "WNN_CONTEXT_OPTIONS_INIT", "powerPreference and accelerated", err))
		return -1;
	if (options->powerPreference &&
	    !wnn_enum_name(&wnn_enum_power_preference, options->powerPreference))
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"WNNContextOptions.powerPreference is %u, which is not a value of "
			"WNNPowerPreference: begin with WNN_CONTEXT_OPTIONS_INIT, and set a value "
			"of the enumeration",
			(unsigned int)options->powerPreference);
	config->want_accelerated = options->accelerated ||
				   options->powerPreference == WNNPowerPreference_HighPerformance;
	/* The driver of an NPU uses the hint, too, to decide when the device sleeps. */
	config->power = winsys_power_of(options->powerPreference);
	if (parse_chain(options, config, err) || parse_layer(config, err) ||
	    parse_level(config, err) || parse_machine(&config->sim_machine, err) ||
	    parse_spin(CPU_SPIN_VARIABLE, &config->cpu_spin, err) ||
	    parse_spin(NPU_SPIN_VARIABLE, &config->npu_spin, err) || parse_rules(config, err))
		return -1;
	if (config->device != CONTEXT_AUTO)
		return 0;
	variable = secure_getenv(DEVICE_VARIABLE);
	if (!variable || !*variable)
		return 0;
	return parse_device(variable, strlen(variable), "the environment variable " DEVICE_VARIABLE,
			    config, err);
}

void context_config_free(struct context_config *config)
{
	wnn_free(config->firmware);
	wnn_free(config->node);
	config->firmware = config->node = NULL;
}

/* Returns the device, or NULL with *err when it cannot run the programs that this library makes. */
static struct winsys *check_instructions(struct winsys *ws, struct wnn_error *err)
{
	if (!ws || ws->caps.isa_major >= ONPU_ISA_MAJOR)
		return ws;
	wnn_error_set(
		err, WNN_NOT_SUPPORTED,
		"the device %s has version %" PRIu32
		" of the instruction set, but this library needs version %d: update the device or "
		"its emulator, or use an older library",
		ws->caps.machine, ws->caps.isa_major, ONPU_ISA_MAJOR);
	ws->ops->destroy(ws);
	return NULL;
}

/* Sets the layer that WEBNN_CPU_LAYER asks for. Returns 0, or -1 with *err. */
static int set_layer(const struct context_config *config, struct cpu_context *cpu,
		     struct wnn_error *err)
{
	struct wnn_error why = { 0 };

	if (!config->cpu_layer || !cpu_set_layer(cpu, config->cpu_layer, &why))
		return 0;
	return wnn_error_set(
		err, why.status,
		"the environment variable WEBNN_CPU_LAYER is \"onednn\", but %s; leave "
		"the variable out, and the library computes without oneDNN",
		why.message);
}

static int init_device(WNNContext context, struct winsys *ws, struct wnn_error *err)
{
	const struct context_config *config = &context->config;

	if (run_device_init(&context->device, ws, config->threads, err))
		return -1;
	if (config->cpu_spin != CPU_SPIN_UNSET)
		cpu_set_spin(context->device.cpu, config->cpu_spin);
	if (config->cpu_level)
		cpu_set_level(context->device.cpu, config->cpu_level);
	return set_layer(config, context->device.cpu, err);
}

static int use_winsys(WNNContext context, struct winsys *ws, const char *name,
		      struct wnn_error *err)
{
	context->caps = ws->caps;
	memcpy(context->machine, ws->caps.machine, sizeof(context->machine));
	context->machine[sizeof(context->machine) - 1] = '\0';
	context->device_name = name;
	context->accelerated = true;
	return init_device(context, ws, err);
}

static int open_sim(WNNContext context, struct wnn_error *err)
{
	const struct context_config *config = &context->config;
	struct winsys_sim_config sim = {
		.full = config->sim_full,
		.machine = config->sim_machine,
		.sram_bytes = config->sim_sram_bytes,
		.threads = config->sim_threads,
		.simd = -1,
		.firmware = config->firmware,
	};
	struct winsys *ws;

	if (!sim.threads)
		sim.threads = wnn_thread_processors();
	ws = check_instructions(winsys_sim_create(&sim, err), err);
	if (!ws)
		return -1;
	snprintf(context->reason, sizeof(context->reason), "%s asks for the device model",
		 config->named_by);
	return use_winsys(context, ws, "sim", err);
}

/*
 * Opens the NPU. Returns 0, -1 with *err, or 1 with *why when no NPU opens, and neither the options
 * nor the environment demand one.
 */
static int open_npu(WNNContext context, struct wnn_error *why, struct wnn_error *err)
{
	const struct context_config *config = &context->config;
	struct winsys *ws = winsys_drm_create(config->node, config->npu_spin, why);

	ws = check_instructions(ws, why);
	if (!ws && config->device == CONTEXT_NPU)
		return wnn_error_set(err, why->status, "%s asks for the device npu, but %s",
				     config->named_by, why->message);
	if (!ws)
		return 1;
	if (config->device == CONTEXT_NPU)
		snprintf(context->reason, sizeof(context->reason), "%s asks for the NPU %s",
			 config->named_by, ws->node);
	else
		snprintf(context->reason, sizeof(context->reason), "%s is an NPU", ws->node);
	return use_winsys(context, ws, "npu", err);
}

/*
 * Opens the CPU as device. Returns 0 or -1. @no_npu: why there is no NPU, if one was searched for.
 */
static int open_cpu(WNNContext context, const struct wnn_error *no_npu, struct wnn_error *err)
{
	const struct context_config *config = &context->config;

	context->device_name = "cpu";
	if (config->device == CONTEXT_CPU)
		snprintf(context->reason, sizeof(context->reason), "%s asks for the CPU",
			 config->named_by);
	else if (!config->want_accelerated)
		snprintf(context->reason, sizeof(context->reason),
			 "the options ask for no accelerator");
	else
		snprintf(context->reason, sizeof(context->reason), "no NPU opens: %.230s",
			 no_npu->message);
	if (config->policy == WNNPlacementPolicy_NPUOnly)
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the placement policy is NPUOnly, but the device is the CPU (%s): choose "
			"another policy, or a device npu or sim that opens",
			context->reason);
	return init_device(context, NULL, err);
}

int context_open_device(WNNContext context, struct wnn_error *err)
{
	const struct context_config *config = &context->config;
	struct wnn_error no_npu = { 0 };
	int ret;

	if (config->device == CONTEXT_SIM)
		return open_sim(context, err);
	if (config->device == CONTEXT_NPU ||
	    (config->device == CONTEXT_AUTO && config->want_accelerated)) {
		ret = open_npu(context, &no_npu, err);
		if (ret <= 0)
			return ret;
	}
	return open_cpu(context, &no_npu, err);
}

struct listed {
	char machine[32], node[64], reason[256];
};

static void describe_caps(WNNDeviceInfo *info, const struct npu_caps *caps)
{
	info->sramBytes = caps->sram_bytes;
	info->peakMacsPerCycle =
		(uint64_t)caps->mxu_rows * caps->mxu_cols / npu_factor(caps, ONPU_OP_MMA_F16);
	info->clockHz = (uint64_t)caps->clock_khz * 1000;
}

/*
 * Fills in an entry of the list, and destroys @ws; @ws is NULL when the device cannot be opened,
 * and *err says why.
 */
static void describe(WNNDeviceInfo *info, struct listed *text, struct winsys *ws,
		     const struct wnn_error *err, const char *reason)
{
	info->accelerated = WNN_TRUE;
	info->reason = api_view(reason);
	if (!ws) {
		snprintf(text->reason, sizeof(text->reason), "%.255s", err->message);
		info->reason = api_view(text->reason);
		return;
	}
	info->usable = WNN_TRUE;
	snprintf(text->machine, sizeof(text->machine), "%s", ws->caps.machine);
	snprintf(text->node, sizeof(text->node), "%s", ws->node);
	info->machine = api_view(text->machine);
	info->nodePath = api_view(text->node);
	describe_caps(info, &ws->caps);
	ws->ops->destroy(ws);
}

/*
 * Fills in one entry for each of @count NPUs; when there is no NPU, @count is 1, and the entry says
 * so.
 */
static void describe_npus(WNNDeviceInfo *infos, struct listed *texts, size_t count)
{
	int number = winsys_drm_next(0);
	struct wnn_error err = { 0 };
	char node[64];

	for (size_t i = 0; i < count; i++) {
		/*
		 * The entry of an NPU that was removed after the NPUs were counted says that it
		 * does not open.
		 */
		snprintf(node, sizeof(node), WINSYS_NODE, (unsigned int)number);
		describe(&infos[i], &texts[i],
			 check_instructions(winsys_drm_create(number < 0 ? NULL : node, 0, &err),
					    &err),
			 &err, "an NPU behind the kernel's driver");
		if (number >= 0)
			number = winsys_drm_next((unsigned int)number + 1);
	}
}

static size_t count_npus(void)
{
	size_t count = 0;

	for (int number = winsys_drm_next(0); number >= 0;
	     number = winsys_drm_next((unsigned int)number + 1))
		count++;
	return count;
}

/* Returns the device model that a context on sim would have, or NULL with *err. */
static struct winsys *create_listed_sim(struct wnn_error *err)
{
	struct winsys_sim_config sim = { .threads = 1, .simd = -1 };

	if (parse_machine(&sim.machine, err))
		return NULL;
	return check_instructions(winsys_sim_create(&sim, err), err);
}

WNNStatus wnnInstanceGetDevices(WNNInstance instance, WNNDeviceInfoArray *devices)
{
	struct wnn_error err = { 0 };
	size_t npus, count;
	struct listed *texts;
	WNNDeviceInfo *infos;

	if (!api_check(instance, "wnnInstanceGetDevices", "instance") ||
	    !api_check(devices, "wnnInstanceGetDevices", "devices"))
		return wnnGetLastError(NULL);
	npus = count_npus();
	npus += !npus;
	count = npus + 2;
	infos = wnn_calloc(count, sizeof(*infos) + sizeof(*texts));
	if (!infos)
		return api_error_status(
			WNNStatus_UnknownError,
			"too little memory is free for the list of the devices: end other "
			"programs");
	texts = (struct listed *)(infos + count);
	for (size_t i = 0; i < count; i++) {
		infos[i].device = api_view(i < npus ? "npu" : i == npus ? "sim" : "cpu");
		infos[i].nodePath = infos[i].machine = api_view("");
	}
	describe_npus(infos, texts, npus);
	describe(&infos[npus], &texts[npus], create_listed_sim(&err), &err,
		 "the device model in this process, never chosen unless named");
	infos[count - 1].usable = WNN_TRUE;
	infos[count - 1].reason = api_view("every host has one");
	devices->count = count;
	devices->data = infos;
	return WNNStatus_Success;
}

void wnnDeviceInfoArrayFreeMembers(WNNDeviceInfoArray devices)
{
	/* The entries are at the start of the allocated block. */
	if (!api_forked())
		wnn_free((void *)devices.data);
}

WNNStatus wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info)
{
	if (!api_check(context, "wnnContextGetDeviceInfo", "context") ||
	    !api_check(info, "wnnContextGetDeviceInfo", "info"))
		return wnnGetLastError(NULL);
	info->device = api_view(context->device_name);
	info->nodePath = api_view(context->device.ws ? context->device.ws->node : "");
	info->machine = api_view(context->machine);
	info->reason = api_view(context->reason);
	info->usable = !atomic_load(&context->lost);
	info->accelerated = context->accelerated;
	describe_caps(info, &context->caps);
	info->memoryLimit = context->config.memory_limit;
	info->memoryUsed = atomic_load(&context->device.heap.used);
	return WNNStatus_Success;
}

static const char *level_reason(const struct WNNContextImpl *context)
{
	if (context->config.cpu_level)
		return "the environment variable WEBNN_CPU_LEVEL asks for it";
	if (!context->description.best)
		return "this processor is an emulated one, on which the higher levels are slower";
	return "it is the best that this processor and this build of the library have";
}

WNNStatus wnnContextGetCpuInfo(WNNContext context, WNNCpuInfo *info)
{
	const struct cpu_description *d;

	if (!api_check(context, "wnnContextGetCpuInfo", "context") ||
	    !api_check(info, "wnnContextGetCpuInfo", "info"))
		return wnnGetLastError(NULL);
	d = &context->description;
	pthread_mutex_lock(&context->lock);
	if (!context->has_description)
		cpu_describe(context->device.cpu, &context->description);
	context->has_description = true;
	pthread_mutex_unlock(&context->lock);
	info->level = api_view(d->level);
	info->levels = api_view(d->levels);
	info->levelReason = api_view(level_reason(context));
	info->layer = api_view(d->layer);
	info->oneDnnVersion = api_view(d->onednn_version);
	info->oneDnnLevel = api_view(d->onednn_level);
	info->oneDnnProblem = api_view(d->onednn_problem);
	info->oneDnnBroken = d->onednn_broken;
	info->openBlasVersion = api_view(d->openblas_version);
	info->openBlasCore = api_view(d->openblas_core);
	info->openBlasProblem = api_view(d->openblas_problem);
	info->threads = d->threads;
	return WNNStatus_Success;
}
