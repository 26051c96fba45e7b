// SPDX-License-Identifier: MIT
/* Reads lines that ask for faults while the server runs: see control.h. */
#include "vfu/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void vfu_control_init(struct vfu_control *control)
{
	memset(control, 0, sizeof(*control));
	control->in = -1;
	control->out = -1;
}

static void obey(const struct vfu_control *control, const char *line, struct vfu_injector *injector)
{
	const bool asks = !strncmp(line, "hits ", 5);
	struct vfu_arm arm;
	const char *wrong = vfu_inject_parse(asks ? line + 5 : line, &arm);

	if (!wrong && asks && arm.fault == VFU_FAULTS)
		wrong = "hits takes the name of a fault";
	if (!wrong && asks) {
		dprintf(control->out, "ok %u\n", vfu_inject_hits(injector, arm.fault));
		return;
	}
	if (!wrong && arm.fault == VFU_FAULTS)
		vfu_inject_clear(injector);
	else if (!wrong)
		vfu_inject_arm(injector, &arm);
	dprintf(control->out, wrong ? "error: %s\n" : "ok\n", wrong);
}

void vfu_control_read(struct vfu_control *control, struct vfu_injector *injector)
{
	char data[sizeof(control->line)];
	ssize_t got = read(control->in, data, sizeof(data));

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0)
		control->in = -1;
	for (ssize_t i = 0; i < got; i++) {
		if (data[i] != '\n') {
			if (control->length < sizeof(control->line) - 1)
				control->line[control->length++] = data[i];
			continue;
		}
		control->line[control->length] = '\0';
		control->length = 0;
		obey(control, control->line, injector);
	}
}
