// SPDX-License-Identifier: MIT
/* Parses faults given as text: a name, and settings after commas. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfu/inject.h"

/*
 * The names of faults, their default milliseconds, whether they have any, and whether a vector is
 * allowed.
 */
static const struct {
	const char *name;
	unsigned int ms;
	bool timed, of_interrupts;
} faults[] = {
	[VFU_FAULT_LOST_INTERRUPT] = { "lost-interrupt", 0, false, true },
	[VFU_FAULT_DOUBLED_INTERRUPT] = { "doubled-interrupt", 5, true, true },
	[VFU_FAULT_LATE_INTERRUPT] = { "late-interrupt", 500, true, true },
	[VFU_FAULT_LATE_MESSAGE] = { "late-message", 1000, true, false },
	[VFU_FAULT_MISSING_MESSAGE] = { "missing-message", 0, false, false },
	[VFU_FAULT_CORRUPT_MESSAGE] = { "corrupt-message", 0, false, false },
	[VFU_FAULT_STUCK_ENGINE] = { "stuck-engine", 0, false, false },
	[VFU_FAULT_DEAD_FIRMWARE] = { "dead-firmware", 0, false, false },
	[VFU_FAULT_PARITY] = { "parity", 0, false, false },
	[VFU_FAULT_ALL_ONES] = { "all-ones", 0, true, false },
	[VFU_FAULT_LINK_DOWN] = { "link-down", 0, true, false },
};

static const char no_fault[] =
	"there is no such fault; there are lost-interrupt, doubled-interrupt, late-interrupt, "
	"late-message, missing-message, corrupt-message, stuck-engine, dead-firmware, parity, "
	"all-ones, link-down, and none";

static const char setting_form[] =
	"commas separate the fault and its settings after=N, times=N, ms=N and vector=N, and N is "
	"from 0 to 1000000000";

static bool parse_number(const char *text, size_t length, unsigned int *value)
{
	unsigned long number;
	char copy[16], *end;

	if (!length || length >= sizeof(copy) || *text < '0' || *text > '9')
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	errno = 0;
	number = strtoul(copy, &end, 10);
	*value = (unsigned int)number;
	return !errno && !*end && number <= 1000000000;
}

/* Parses KEY=N. Returns NULL, or a message about the error. */
static const char *parse_setting(const char *text, size_t length, struct vfu_arm *arm)
{
	const char *equals = memchr(text, '=', length);
	size_t key = equals ? (size_t)(equals - text) : length;
	unsigned int value;

	if (!equals || !parse_number(equals + 1, length - key - 1, &value))
		return setting_form;
	if (key == 5 && !memcmp(text, "after", 5)) {
		arm->after = value;
	} else if (key == 5 && !memcmp(text, "times", 5)) {
		arm->times = value;
	} else if (key == 2 && !memcmp(text, "ms", 2)) {
		if (!faults[arm->fault].timed)
			return "this fault has no time: ms is for doubled-interrupt, "
			       "late-interrupt, late-message, all-ones and link-down";
		arm->ms = value;
	} else if (key == 6 && !memcmp(text, "vector", 6)) {
		if (!faults[arm->fault].of_interrupts)
			return "this fault has no vector: vector is for lost-interrupt, "
			       "doubled-interrupt and late-interrupt";
		arm->vector = (int)value;
	} else {
		return setting_form;
	}
	return NULL;
}

const char *vfu_inject_parse(const char *text, struct vfu_arm *arm)
{
	size_t length = strcspn(text, ",");
	const char *wrong = NULL;

	*arm = (struct vfu_arm){ .fault = 0, .times = 1, .vector = -1 };
	if (!strcmp(text, "none")) {
		arm->fault = VFU_FAULTS;
		return NULL;
	}
	while (arm->fault < VFU_FAULTS && (strlen(faults[arm->fault].name) != length ||
					   memcmp(faults[arm->fault].name, text, length)))
		arm->fault++;
	if (arm->fault == VFU_FAULTS)
		return no_fault;
	arm->ms = faults[arm->fault].ms;
	for (text += length; *text && !wrong; text += length) {
		text++;
		length = strcspn(text, ",");
		wrong = parse_setting(text, length, arm);
	}
	return wrong;
}
