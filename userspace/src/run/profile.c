// SPDX-License-Identifier: MIT
/* Converts the time stamps that the device wrote for a dispatch into the events of a profile. */
#include "run/profile.h"

#include <onpu/isa.h>
#include <onpu/registers.h>
#include <string.h>

#include "codegen/program.h"
#include "run/traffic.h"
#include "util/array.h"
#include "util/malloc.h"

static int nomem(struct wnn_error *err)
{
	return wnn_error_nomem(err, "the profile of a dispatch");
}

struct run_profile *run_profile_create(struct wnn_error *err)
{
	struct run_profile *profile = wnn_calloc(1, sizeof(*profile));

	if (!profile)
		nomem(err);
	return profile;
}

void run_profile_destroy(struct run_profile *profile)
{
	if (!profile)
		return;
	wnn_free(profile->events);
	wnn_free(profile->spans);
	wnn_free(profile);
}

int run_profile_add_span(struct run_profile *profile, const struct run_profile_span *span,
			 struct wnn_error *err)
{
	if (wnn_array_reserve(&profile->spans, &profile->cap_spans, profile->num_spans + 1,
			      sizeof(*profile->spans)))
		return nomem(err);
	profile->spans[profile->num_spans++] = *span;
	return 0;
}

/*
 * Fills in the next event from a record; false when the device wrote no record, because it has no
 * time stamps, or the job skipped the instruction.
 */
static bool fill_event(const struct run_profile *profile, const struct npu_program *program,
		       const struct npu_job *job, uint32_t first_node,
		       const struct onpu_profile_record *record, struct run_profile_event *event)
{
	struct onpu_insn insn;
	uint32_t node;

	if (record->index >= job->num_insns || record->engine >= ONPU_ENG_COUNT ||
	    onpu_insn_unpack(program->insns[job->first_insn + record->index], &insn) !=
		    ONPU_FAULT_NONE)
		return false;
	node = program->insn_node[job->first_insn + record->index];
	*event = (struct run_profile_event){
		.node = insn.op == ONPU_OP_END ? RUN_NO_NODE : first_node + node,
		.engine = (uint8_t)record->engine,
		.op = (uint16_t)insn.op,
		.insn = job->first_insn + record->index,
		.start = profile->cycles + record->start,
		.end = profile->cycles + record->end,
		.stall = record->stall,
	};
	return true;
}

int run_profile_add_job(struct run_profile *profile, const struct npu_program *program,
			const struct npu_job *job, uint32_t first_node, const void *records,
			uint64_t cycles, uint64_t sram_bytes, struct wnn_error *err)
{
	size_t first = profile->num_events;

	if (wnn_array_reserve(&profile->events, &profile->cap_events,
			      profile->num_events + job->num_insns, sizeof(*profile->events)))
		return nomem(err);
	for (uint32_t i = 0; i < job->num_insns; i++) {
		struct onpu_profile_record record;

		memcpy(&record, (const char *)records + (size_t)i * sizeof(record), sizeof(record));
		profile->num_events += fill_event(profile, program, job, first_node, &record,
						  &profile->events[profile->num_events]);
	}
	profile->cycles += cycles;
	return run_traffic_fill(program, job, sram_bytes, profile->events + first,
				(uint32_t)(profile->num_events - first), err);
}
