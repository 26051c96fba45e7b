// SPDX-License-Identifier: MIT
/*
 * Runs a compiled graph step by step: writes addresses into slot tables, submits programs, computes
 * CPU nodes. The API calls run_dispatch_start() on the timeline for each dispatch.
 */
#include <inttypes.h>
#include <string.h>

#include "onpu/registers.h"
#include "onpu/slots.h"
#include "run/compiled_private.h"
#include "run/fault.h"
#include "util/clock.h"
#include "util/malloc.h"
#include "util/printable.h"

/*
 * Returns the address of a value's bytes in this dispatch; NULL when they are nowhere: a constant
 * that was dropped after packing, or a result that only its own step reads.
 */
static void *value_map(const struct run_dispatch *d, const struct ir_value *value)
{
	const struct run_location *location = &d->compiled->locations[value->id];
	const struct ir_constant *constant;

	switch (location->where) {
	case RUN_CONSTANT:
		constant = d->compiled->graph->values[location->index]->constant;
		return constant ? (char *)constant->data + location->offset : NULL;
	case RUN_INPUT:
		return (char *)d->inputs[location->index]->map + location->offset;
	case RUN_OUTPUT:
		return (char *)d->outputs[location->index]->map + location->offset;
	case RUN_ARENA:
		return (char *)d->instance->arena.map + location->offset;
	default:
		return NULL;
	}
}

static uint64_t value_va(const struct run_dispatch *d, uint32_t value_id)
{
	const struct run_location *location = &d->compiled->locations[value_id];

	switch (location->where) {
	case RUN_INPUT:
		return d->inputs[location->index]->va + location->offset;
	case RUN_OUTPUT:
		return d->outputs[location->index]->va + location->offset;
	default:
		return d->instance->arena.va + location->offset;
	}
}

/* Writes the addresses of this dispatch into the slots of a step. */
static void patch_step(const struct run_dispatch *d, const struct run_step *step)
{
	const struct npu_program *program = step->program;
	char *table = (char *)d->instance->slots.map + step->slots;

	for (uint32_t i = 0; i < program->num_patches; i++) {
		const struct npu_patch *patch = &program->patches[i];
		struct onpu_slot_tensor slot;
		uint64_t base = 0;

		switch (patch->base) {
		case NPU_BASE_NONE:
			break;
		case NPU_BASE_CONST:
			base = d->compiled->code.va + step->constants;
			break;
		case NPU_BASE_ARENA:
			base = d->instance->arena.va + step->scratch;
			break;
		case NPU_BASE_VALUE:
			base = value_va(d, program->bindings[patch->value].value_id);
			break;
		}
		memcpy(&slot, (const char *)program->slots + (size_t)patch->slot * sizeof(slot),
		       sizeof(slot));
		slot.base += base;
		memcpy(table + (size_t)patch->slot * sizeof(slot), &slot, sizeof(slot));
	}
	run_buffer_flush(&d->instance->slots, step->slots,
			 (size_t)program->num_slots * sizeof(union onpu_slot));
}

/* Copies the slots of step s, and sets the `keep` number of programs that keep data in SRAM. */
static void copy_slots(const struct run_compiled *c, uint32_t s, char *table)
{
	const struct npu_program *program = c->steps[s].program;
	uint64_t keep = c->first_keep + s;

	memcpy(table, program->slots, (size_t)program->num_slots * sizeof(union onpu_slot));
	for (uint32_t i = 0; i < program->num_jobs; i++) {
		union onpu_slot *slot = (union onpu_slot *)table + program->jobs[i].first_slot;

		if (slot->program.keep_start)
			slot->program.keep = keep;
	}
}

static int make_instance(struct run_compiled *c, struct run_instance *instance,
			 struct wnn_error *err)
{
	struct run_heap *heap = &c->device->heap;

	if (c->arena_bytes && run_buffer_create(heap, &instance->arena, c->arena_bytes,
						"the intermediate results of a graph", err))
		return -1;
	if (!c->slots_bytes)
		return 0;
	if (run_buffer_create(heap, &instance->slots, c->slots_bytes, "the slots of a graph",
			      err) ||
	    (c->record_bytes && run_buffer_create(heap, &instance->records, c->record_bytes,
						  "the time stamps of a graph", err))) {
		run_buffer_destroy(heap, &instance->arena);
		run_buffer_destroy(heap, &instance->slots);
		return -1;
	}
	for (uint32_t s = 0; s < c->num_steps; s++)
		if (c->steps[s].program)
			copy_slots(c, s, (char *)instance->slots.map + c->steps[s].slots);
	return 0;
}

static struct run_instance *idle_instance(struct run_compiled *c)
{
	for (uint32_t i = 0; i < c->ring_made; i++)
		if (!c->ring[i].busy)
			return &c->ring[i];
	return NULL;
}

/* Takes an idle instance, makes one, or waits until one is idle. Returns 0, or -1 with d->error. */
static int take_instance(struct run_dispatch *d)
{
	struct run_compiled *c = d->compiled;
	struct run_instance *instance = idle_instance(c);

	if (!instance && c->ring_made < RUN_RING) {
		instance = &c->ring[c->ring_made];
		if (!make_instance(c, instance, &d->error))
			c->ring_made++;
		else if (!c->ring_made)
			return -1;
		else
			instance = NULL; /* no memory: wait for one of the existing instances */
	}
	while (!instance && run_device_wait_one(c->device))
		instance = idle_instance(c);
	instance->busy = true;
	d->instance = instance;
	return 0;
}

/*
 * Ends the processor's access to inputs, outputs and intermediate results. The access to outputs
 * was begun for reads and writes, as steps may read them.
 */
static void end_access(const struct run_dispatch *d)
{
	const struct ir_graph *graph = d->compiled->graph;

	for (uint32_t i = 0; i < graph->num_inputs; i++)
		run_buffer_end(d->inputs[i], false);
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		run_buffer_end(d->outputs[i], true);
	run_buffer_end(&d->instance->arena, true);
}

static int begin_access(struct run_dispatch *d)
{
	const struct ir_graph *graph = d->compiled->graph;
	uint32_t in = 0, out = 0;

	while (in < graph->num_inputs && !run_buffer_begin(d->inputs[in], false, &d->error))
		in++;
	while (in == graph->num_inputs && out < graph->num_outputs &&
	       !run_buffer_begin(d->outputs[out], true, &d->error))
		out++;
	if (in == graph->num_inputs && out == graph->num_outputs)
		return run_buffer_begin(&d->instance->arena, true, &d->error);
	while (in--)
		run_buffer_end(d->inputs[in], false);
	while (out--)
		run_buffer_end(d->outputs[out], true);
	return -1;
}

/*
 * Returns true if the processor accesses buffers during the whole dispatch: without a device, and
 * on a device without fences, whose work the processor does.
 */
static bool by_processor(const struct run_dispatch *d)
{
	const struct winsys *ws = d->compiled->device->ws;

	return !ws || !ws->ops->fence;
}

/*
 * Copies inputs from memory of the application that the device cannot use. Earlier work may still
 * use the copies, so the function waits for that work first.
 */
static void fetch_inputs(struct run_dispatch *d)
{
	const struct ir_graph *graph = d->compiled->graph;

	for (uint32_t i = 0; i < graph->num_inputs; i++) {
		if (d->inputs[i]->host)
			run_device_settle(d->compiled->device);
		d->statistics.copied_in += run_buffer_fetch(d->inputs[i]);
	}
}

/*
 * Copies the inputs that are updated in place to the outputs that have other memory; in the same
 * memory there is nothing to do. Returns 0, or -1 with d->error.
 */
static int copy_updated(struct run_dispatch *d)
{
	const struct run_compiled *c = d->compiled;
	uint32_t n = 0;

	while (n < c->num_updates &&
	       d->inputs[c->updates[n].input] == d->outputs[c->updates[n].output])
		n++;
	if (n == c->num_updates)
		return 0;
	run_device_settle(c->device);
	if (!d->accessed && begin_access(d))
		return -1;
	for (; n < c->num_updates; n++) {
		const struct run_buffer *from = d->inputs[c->updates[n].input];
		const struct run_buffer *to = d->outputs[c->updates[n].output];

		if (from != to)
			memcpy(to->map, from->map,
			       (size_t)ir_type_bytes(&c->graph->inputs[c->updates[n].input]->type));
	}
	if (!d->accessed)
		end_access(d);
	return 0;
}

static void return_outputs(struct run_dispatch *d)
{
	for (uint32_t i = 0; i < d->compiled->graph->num_outputs; i++)
		d->statistics.copied_out += run_buffer_return(d->outputs[i]);
}

static void finish(struct run_dispatch *d)
{
	cpu_end(d->compiled->device->cpu);
	if (!d->failed)
		return_outputs(d);
	if (d->accessed)
		end_access(d);
	if (d->instance)
		d->instance->busy = false;
	d->statistics.host_ns = wnn_clock_ns() - d->start_ns;
	d->done(d, d->failed ? &d->error : NULL, &d->statistics);
}

/* Adds the work since `begin` to the profile of the dispatch. Returns 0 or -1. */
static int note_span(struct run_dispatch *d, uint64_t begin, struct run_profile_span span)
{
	if (!d->profile)
		return 0;
	span.start_ns = begin - d->start_ns;
	span.end_ns = wnn_clock_ns() - d->start_ns;
	return run_profile_add_span(d->profile, &span, &d->error);
}

static int copy_outputs(struct run_dispatch *d)
{
	const struct run_compiled *c = d->compiled;

	if (!c->num_copies)
		return 0;
	if (!d->accessed && begin_access(d))
		return -1;
	for (uint32_t i = 0; i < c->num_copies; i++) {
		const struct run_copy *copy = &c->copies[i];

		memcpy(d->outputs[copy->output]->map, value_map(d, copy->value),
		       (size_t)ir_type_bytes(&copy->value->type));
	}
	if (!d->accessed)
		end_access(d);
	return 0;
}

/*
 * Lists the operands of a step: the operands of its first node, then the operands of its second
 * node except the result of the first node.
 */
static void find_operands(const struct run_dispatch *d, const struct ir_node *first,
			  const struct ir_node *second, const void **in)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < first->num_operands; i++)
		in[n++] = first->operands[i] ? value_map(d, first->operands[i]) : NULL;
	for (uint32_t i = 0; second && i < second->num_operands; i++)
		if (second->operands[i] != first->results[0])
			in[n++] = second->operands[i] ? value_map(d, second->operands[i]) : NULL;
}

static int run_cpu(struct run_dispatch *d, const struct run_step *step)
{
	const struct ir_node *node = d->compiled->graph->nodes[step->first];
	const struct ir_node *last = d->compiled->graph->nodes[step->first + step->count - 1];
	uint32_t n = node->num_operands, m = last->num_results;
	struct cpu_context *cpu = d->compiled->device->cpu;
	const void *few_in[16], **in = few_in;
	void *few_out[4], **out = few_out;
	uint64_t begin = wnn_clock_ns();
	int ret;

	if (last != node)
		n += last->num_operands - 1;
	if (n > 16)
		in = wnn_malloc(n * sizeof(*in));
	if (m > 4)
		out = wnn_malloc(m * sizeof(*out));
	if (!in || !out) {
		ret = wnn_error_nomem(&d->error, "the operands of an operator");
	} else {
		find_operands(d, node, last != node ? last : NULL, in);
		for (uint32_t i = 0; i < m; i++)
			out[i] = value_map(d, last->results[i]);
		ret = cpu_plan_run(step->plan, cpu, step->packed, in, out, &d->error);
	}
	if (in != few_in)
		wnn_free(in);
	if (out != few_out)
		wnn_free(out);
	d->statistics.cpu_ns += wnn_clock_ns() - begin;
	if (ret)
		return ret;
	return note_span(d, begin,
			 (struct run_profile_span){ .node = d->compiled->steps[d->step].first });
}

/*
 * Returns the node of a step to which the instruction at pc belongs; NULL when it belongs to none.
 */
static const struct ir_node *node_of_insn(const struct run_compiled *c, const struct run_step *step,
					  uint64_t pc)
{
	const struct npu_program *program = step->program;
	uint32_t node = pc < program->num_insns ? program->insn_node[pc] : program->num_nodes;

	for (uint32_t k = step->first; node < program->num_nodes && k < step->first + step->count;
	     k++)
		if (c->graph->nodes[k]->id == program->nodes[node].node_id)
			return c->graph->nodes[k];
	return NULL;
}

/*
 * Adds the counters of a job to the statistics, or the compiler's estimates when the device has no
 * counters.
 */
static void add_counters(struct run_statistics *statistics, const struct winsys_result *result,
			 const struct npu_program *program)
{
	statistics->npu_cycles += result->cycles;
	if (result->has_counters) {
		statistics->macs += result->macs;
		statistics->bytes_read += result->bytes_ld;
		statistics->bytes_written += result->bytes_st;
		for (int e = 0; e < 5; e++)
			statistics->busy[e] += result->busy[e];
		return;
	}
	for (uint32_t i = 0; i < program->num_nodes; i++) {
		statistics->macs += program->nodes[i].macs;
		statistics->bytes_read += program->nodes[i].bytes_ld;
		statistics->bytes_written += program->nodes[i].bytes_st;
	}
}

static int note_job(struct run_dispatch *d, const struct winsys_result *result)
{
	const struct run_step *step = &d->compiled->steps[d->step];
	const struct npu_job *job = &step->program->jobs[d->job_of_step];
	const char *records = d->instance->records.map;
	const struct run_profile_span span = {
		.npu = true,
		.node = RUN_NO_NODE,
		.start_cycle = d->profile->cycles,
		.cycles = result->cycles,
	};

	if (note_span(d, d->submit_ns, span) ||
	    run_buffer_begin(&d->instance->records, false, &d->error))
		return -1;
	return run_profile_add_job(
		d->profile, step->program, job, step->first,
		records + step->records +
			(size_t)job->first_insn * sizeof(struct onpu_profile_record),
		result->cycles, d->compiled->device->ws->caps.sram_bytes, &d->error);
}

static void job_done(struct run_job *job, const struct winsys_result *result,
		     const struct wnn_error *err)
{
	struct run_dispatch *d = (void *)((char *)job - offsetof(struct run_dispatch, job));
	const struct run_compiled *c = d->compiled;
	const struct run_step *step = &c->steps[d->step];

	d->statistics.npu_ns += wnn_clock_ns() - d->submit_ns;
	if (err) {
		d->error = *err;
		d->failed = true;
	} else {
		add_counters(&d->statistics, result, step->program);
		if (result->fault_code) {
			struct winsys_result fault = *result;

			fault.fault_pc += step->program->jobs[d->job_of_step].first_insn;
			run_fault_error(&fault, node_of_insn(c, step, fault.fault_pc), &d->error);
			d->failed = true;
		} else if (d->profile && note_job(d, result)) {
			d->failed = true;
		}
	}
	/* submit_step(), which submits the other jobs of the step, checks d->failed before each. */
	if (++d->job_of_step < step->program->num_jobs)
		return;
	d->job_of_step = 0;
	d->step++;
	if (d->step == c->num_steps && !c->num_copies)
		finish(d);
}

static int submit_job(struct run_dispatch *d, const struct run_step *step,
		      const struct npu_job *job)
{
	const struct run_compiled *c = d->compiled;

	d->job.desc = (struct winsys_job){
		.program_va = c->code.va + step->insns +
			      (uint64_t)job->first_insn * sizeof(*step->program->insns),
		.slots_va = d->instance->slots.va + step->slots +
			    (uint64_t)job->first_slot * sizeof(struct onpu_slot_tensor),
		.num_insns = job->num_insns,
		.num_slots = job->num_slots,
	};
	if (d->profile) {
		size_t records = (size_t)step->records +
				 (size_t)job->first_insn * sizeof(struct onpu_profile_record);

		d->job.desc.profile_va = d->instance->records.va + records;
		d->job.desc.profile_size =
			(uint64_t)job->num_insns * sizeof(struct onpu_profile_record);
		/*
		 * A job that finds its first loads in SRAM skips these instructions and writes no
		 * records for them. Records that an earlier job left there must not be taken for
		 * its own.
		 */
		memset((char *)d->instance->records.map + records, 0xff, d->job.desc.profile_size);
		run_buffer_flush(&d->instance->records, records, d->job.desc.profile_size);
	}
	d->job.done = job_done;
	d->submit_ns = wnn_clock_ns();
	return run_device_submit(c->device, &d->job, &d->error);
}

/* Submits the jobs of a step in order, and returns while the device still runs the last one. */
static int submit_step(struct run_dispatch *d, const struct run_step *step)
{
	const struct npu_program *program = step->program;

	patch_step(d, step);
	for (uint32_t i = 0; i < program->num_jobs; i++) {
		/* A dispatch has a single struct run_job, so the job before must end first. */
		if (i)
			run_device_drain(d->compiled->device);
		if (d->failed || submit_job(d, step, &program->jobs[i]))
			return -1;
	}
	return 0;
}

/*
 * Returns whether a branch is taken in this dispatch. The processor must have access to buffers,
 * and the steps before those of the branch must have ended.
 */
static bool is_taken(const struct run_dispatch *d, uint32_t branch)
{
	const struct run_branch *branches = d->compiled->branches;

	/*
	 * When the parent of a branch is not taken, nothing has computed the branch's condition,
	 * and its bytes are arbitrary. The function returns false all the same: at the latest,
	 * because of the parent's condition.
	 */
	for (; branch != RUN_ALWAYS; branch = branches[branch].parent) {
		const uint8_t *condition = value_map(d, branches[branch].condition);

		if ((*condition != 0) != branches[branch].taken)
			return false;
	}
	return true;
}

/*
 * Runs one step. Returns 0; -1 after an error; 1 when the device has the last work of this
 * dispatch, which job_done() will finish.
 */
static int run_step(struct run_dispatch *d)
{
	const struct run_compiled *c = d->compiled;
	const struct run_step *step = &c->steps[d->step];

	if (!step->program) {
		int ret;

		cpu_begin(c->device->cpu);
		run_device_settle(c->device);
		if (!d->accessed && begin_access(d))
			return -1;
		ret = is_taken(d, step->branch) ? run_cpu(d, step) : 0;
		if (!d->accessed)
			end_access(d);
		if (ret)
			return -1;
		d->step++;
		return 0;
	}
	cpu_end(c->device->cpu);
	if (submit_step(d, step))
		return -1;
	if (d->step + 1 == c->num_steps && !c->num_copies)
		return 1;
	run_device_drain(c->device);
	return d->failed ? -1 : 0;
}

void run_dispatch_start(struct run_dispatch *d)
{
	const struct run_compiled *c = d->compiled;

	memset(&d->statistics, 0, sizeof(d->statistics));
	d->start_ns = wnn_clock_ns();
	d->step = 0;
	d->job_of_step = 0;
	d->instance = NULL;
	d->failed = false;
	d->accessed = false;
	d->profile = c->device->profile ? run_profile_create(&d->error) : NULL;
	if ((c->device->profile && !d->profile) || take_instance(d))
		goto fail;
	if (by_processor(d)) {
		if (begin_access(d))
			goto fail;
		d->accessed = true;
	}
	fetch_inputs(d);
	if (copy_updated(d))
		goto fail;
	while (d->step < c->num_steps) {
		int ret;

		if (d->aborted && d->aborted(d)) {
			wnn_error_set(
				&d->error, WNN_INVALID_STATE,
				"an earlier error, or wnnContextDestroy, has ended this context, "
				"so it computes nothing more: make a new context");
			goto fail;
		}
		ret = run_step(d);
		if (ret > 0)
			return;
		if (ret)
			goto fail;
	}
	run_device_settle(c->device);
	if (copy_outputs(d))
		goto fail;
	finish(d);
	return;
fail:
	/* Jobs of this and of earlier dispatches end before this dispatch reports its error. */
	run_device_drain(c->device);
	d->failed = true;
	finish(d);
}
