// SPDX-License-Identifier: MIT
/* Collects the time stamps of a dispatch. */
#include "run/profile.h"

#include <onpu/isa.h>
#include <onpu/registers.h>
#include <string.h>

#include "codegen/program.h"
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

/* Tells which node each instruction of a job belongs to. */
static void name_nodes(const struct npu_program *program, uint32_t first_node,
		       const struct npu_job *job, uint32_t *node_of)
{
	for (uint32_t i = 0; i < job->num_insns; i++)
		node_of[i] = RUN_NO_NODE;
	for (uint32_t n = 0; n < program->num_nodes; n++) {
		const struct npu_node_info *info = &program->nodes[n];

		uint32_t begin = info->first_insn, end = begin + info->num_insns;

		begin = begin > job->first_insn ? begin : job->first_insn;
		if (end > job->first_insn + job->num_insns)
			end = job->first_insn + job->num_insns;
		for (uint32_t i = begin; i < end; i++)
			node_of[i - job->first_insn] = first_node + n;
	}
}

/* False when the record is none of the job: a device without time stamps does not write records. */
static bool fill_event(const struct run_profile *profile, const struct npu_program *program,
		       const struct npu_job *job, const uint32_t *node_of,
		       const struct onpu_profile_record *record, struct run_profile_event *event)
{
	struct onpu_insn insn;

	if (record->index >= job->num_insns || record->engine >= ONPU_ENG_COUNT ||
	    onpu_insn_unpack(program->insns[job->first_insn + record->index], &insn) !=
		    ONPU_FAULT_NONE)
		return false;
	*event = (struct run_profile_event){
		.node = insn.op == ONPU_OP_END ? RUN_NO_NODE : node_of[record->index],
		.engine = (uint8_t)record->engine,
		.op = (uint16_t)insn.op,
		.start = profile->cycles + record->start,
		.end = profile->cycles + record->end,
		.stall = record->stall,
	};
	return true;
}

int run_profile_add_job(struct run_profile *profile, const struct npu_program *program,
			const struct npu_job *job, uint32_t first_node, const void *records,
			uint64_t cycles, struct wnn_error *err)
{
	uint32_t *node_of = wnn_malloc(((size_t)job->num_insns + 1) * sizeof(*node_of));

	if (!node_of)
		return nomem(err);
	if (wnn_array_reserve(&profile->events, &profile->cap_events,
			      profile->num_events + job->num_insns, sizeof(*profile->events))) {
		nomem(err);
		wnn_free(node_of);
		return -1;
	}
	name_nodes(program, first_node, job, node_of);
	for (uint32_t i = 0; i < job->num_insns; i++) {
		struct onpu_profile_record record;

		memcpy(&record, (const char *)records + (size_t)i * sizeof(record), sizeof(record));
		profile->num_events += fill_event(profile, program, job, node_of, &record,
						  &profile->events[profile->num_events]);
	}
	profile->cycles += cycles;
	wnn_free(node_of);
	return 0;
}
