// SPDX-License-Identifier: MIT
/*
 * Counts the bytes that the instructions of a job move to and from the device's memory, and the
 * bytes of SRAM that hold data which a later instruction reads. profile.c calls it for each job.
 */
#include "run/traffic.h"

#include <onpu/isa.h>
#include <onpu/slots.h>
#include <string.h>

#include "codegen/program.h"
#include "util/malloc.h"

/* Bytes of the granules in which use of the SRAM is tracked. */
#define GRANULE 64

#define NONE UINT32_MAX

/* The data in a granule of SRAM: the event that wrote them, and the last event that read them. */
struct granule {
	uint32_t from, to;
};

struct job {
	const union onpu_slot *slots;
	struct granule *granules;
	uint32_t num_granules;
	/*
	 * By event: the number of granules whose live range begins there, less the number of those
	 * whose live range ended with the event before.
	 */
	int64_t *change;
};

/* ---- bytes of memory */

static uint64_t tensor_bytes(const struct onpu_slot_tensor *tensor)
{
	uint64_t elements = 1;

	for (uint32_t i = 0; i < tensor->rank; i++)
		elements *= tensor->dim[i];
	return elements * onpu_dtype_bits(tensor->dtype) / 8;
}

/*
 * Counts the bytes that an instruction reads and writes, with the rules of the device's own
 * counters.
 */
static void count_bytes(const struct job *job, const struct onpu_insn *insn,
			struct run_profile_event *event)
{
	const struct onpu_slot_tensor *dst = &job->slots[insn->dst].tensor;
	const struct onpu_slot_tensor *s0 = &job->slots[insn->s0].tensor;
	const struct onpu_slot_tensor *s1 = &job->slots[insn->s1].tensor;
	/*
	 * A scatter writes only its updates; a pad with a constant reads only the elements that are
	 * not padding.
	 */
	bool scatter = insn->op == ONPU_OP_DMA_SCATTER_ELEM || insn->op == ONPU_OP_DMA_SCATTER_ND;
	bool pad = insn->op == ONPU_OP_DMA_PAD &&
		   job->slots[insn->param].pad.mode == ONPU_PAD_CONSTANT;
	uint64_t moved = tensor_bytes(scatter ? s0 : dst);

	if (insn->s0 && s0->space == ONPU_SPACE_VA)
		event->bytes_read += pad ? tensor_bytes(s0) : moved;
	if (insn->s1 && s1->space == ONPU_SPACE_VA)
		event->bytes_read += tensor_bytes(s1);
	if (dst->space == ONPU_SPACE_VA)
		event->bytes_written += moved;
}

/* ---- use of the SRAM */

/*
 * Ends the live range of the data in a granule, because event `before` overwrites them, or because
 * the job ends before that event.
 */
static void end_use(struct job *job, const struct granule *granule, uint32_t before)
{
	uint32_t to = granule->to < before ? granule->to : before - 1;

	if (granule->from == NONE || granule->from > to)
		return;
	job->change[granule->from]++;
	job->change[to + 1]--;
}

static void touch(struct job *job, int64_t lo, int64_t hi, bool write, uint32_t event)
{
	uint32_t first = (uint32_t)(lo / GRANULE), last = (uint32_t)((hi - 1) / GRANULE);

	for (uint32_t i = first; i <= last && i < job->num_granules; i++) {
		struct granule *granule = &job->granules[i];

		if (write && granule->from != event)
			end_use(job, granule, event);
		if (write || granule->from == NONE)
			granule->from = event;
		granule->to = event;
	}
}

/* A loop over a block of bytes: `count` iterations, `step` bytes apart. */
struct loop {
	int64_t count, step;
};

/*
 * Sorts loops by step, smallest first. Merges loops whose iterations are adjacent, or nearly so,
 * into the block from *lo to *hi. Returns the number of remaining loops.
 */
static uint32_t join_loops(struct loop *loops, uint32_t count, int64_t *lo, int64_t *hi)
{
	uint32_t left = 0;

	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i; k && loops[k].step < loops[k - 1].step; k--) {
			struct loop other = loops[k];

			loops[k] = loops[k - 1];
			loops[k - 1] = other;
		}
	for (uint32_t i = 0; i < count; i++)
		if (!left && loops[i].step <= *hi - *lo + GRANULE)
			*hi += (loops[i].count - 1) * loops[i].step;
		else
			loops[left++] = loops[i];
	return left;
}

static void add_loop(struct loop *loops, uint32_t *count, int64_t iterations, int64_t step,
		     int64_t *lo)
{
	if (iterations < 2 || !step)
		return;
	if (step < 0)
		*lo += (iterations - 1) * step;
	loops[(*count)++] = (struct loop){ iterations, step < 0 ? -step : step };
}

static void touch_loops(struct job *job, const struct loop *loops, uint32_t count, int64_t lo,
			int64_t hi, bool write, uint32_t event)
{
	if (!count) {
		touch(job, lo, hi, write, event);
		return;
	}
	for (int64_t i = 0; i < loops[count - 1].count; i++) {
		int64_t at = i * loops[count - 1].step;

		touch_loops(job, loops, count - 1, lo + at, hi + at, write, event);
	}
}

/* Marks the granules that an operand of an instruction uses. @operand: 0 DST, 1 S0, 2 S1, 3 S2. */
static void use_operand(struct job *job, const struct onpu_insn *insn, int operand, bool write,
			uint32_t event)
{
	const uint16_t index[] = { insn->dst, insn->s0, insn->s1, insn->s2 };
	const struct onpu_slot_tensor *tensor = &job->slots[index[operand]].tensor;
	const struct onpu_slot_param_taps *taps = &job->slots[insn->param].taps;
	struct loop loops[ONPU_MAX_RANK + ONPU_TAPS_LOOPS];
	unsigned int bits = onpu_dtype_bits(tensor->dtype);
	/* Strides and offsets of 4-bit types count nibbles. */
	int64_t unit = bits == 4 ? 2 : 1;
	int64_t lo = (int64_t)tensor->base + (int64_t)tensor->offset / unit, hi;
	uint32_t count = 0;

	if (tensor->space != ONPU_SPACE_SRAM)
		return;
	for (uint32_t i = 0; i < tensor->rank; i++)
		add_loop(loops, &count, tensor->dim[i], tensor->stride[i] / unit, &lo);
	for (int i = 0;
	     insn->param && taps->schema == ONPU_SCHEMA_TAPS && operand < 3 && i < ONPU_TAPS_LOOPS;
	     i++) {
		const int64_t step[] = { taps->loop[i].dst_step, taps->loop[i].s0_step,
					 taps->loop[i].s1_step };

		add_loop(loops, &count, taps->loop[i].count, step[operand], &lo);
	}
	hi = lo + (bits + 7) / 8;
	count = join_loops(loops, count, &lo, &hi);
	touch_loops(job, loops, count, lo, hi, write, event);
}

static void use_sram(struct job *job, const struct onpu_insn *insn, uint32_t event)
{
	if (insn->s0)
		use_operand(job, insn, 1, false, event);
	if (insn->s1)
		use_operand(job, insn, 2, false, event);
	if (insn->s2)
		use_operand(job, insn, 3, false, event);
	/* An accumulating instruction does not overwrite the data to which it adds. */
	if (insn->dst)
		use_operand(job, insn, 0, !insn->acc, event);
}

int run_traffic_fill(const struct npu_program *program, const struct npu_job *of,
		     uint64_t sram_bytes, struct run_profile_event *events, uint32_t count,
		     struct wnn_error *err)
{
	struct job job = {
		.slots = (const union onpu_slot *)program->slots + of->first_slot,
		.num_granules = (uint32_t)(sram_bytes / GRANULE),
	};
	int64_t used = 0;

	job.granules = wnn_malloc((job.num_granules + (size_t)1) * sizeof(*job.granules));
	job.change = wnn_calloc(count + (size_t)1, sizeof(*job.change));
	if (!job.granules || !job.change) {
		wnn_free(job.granules);
		wnn_free(job.change);
		return wnn_error_nomem(err, "the profile of a dispatch");
	}
	memset(job.granules, 0xff, job.num_granules * sizeof(*job.granules));
	for (uint32_t i = 0; i < count; i++) {
		struct onpu_insn insn;

		if (onpu_insn_unpack(program->insns[events[i].insn], &insn) != ONPU_FAULT_NONE ||
		    !insn.dst)
			continue;
		count_bytes(&job, &insn, &events[i]);
		use_sram(&job, &insn, i);
	}
	for (uint32_t i = 0; i < job.num_granules; i++)
		end_use(&job, &job.granules[i], count);
	for (uint32_t i = 0; i < count; i++) {
		used += job.change[i];
		events[i].sram_bytes = (uint64_t)used * GRANULE;
	}
	wnn_free(job.granules);
	wnn_free(job.change);
	return 0;
}
