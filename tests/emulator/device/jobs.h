/* SPDX-License-Identifier: MIT */
/* Programs that the device's tests run. */
#ifndef TESTS_DEVICE_JOBS_H
#define TESTS_DEVICE_JOBS_H

#include "onpu/machines.h"
#include "program.h"

#define JOB_SRAM     (256u << 10)
#define JOB_ELEMENTS 4096u
#define JOB_DATA     (64u << 10)
/* Offset of the result from the start of a program's data, in bytes. */
#define JOB_OUT (32u << 10)

#define DIM(...) ((const uint32_t[]){ __VA_ARGS__ })

static inline uint16_t job_sram(struct program *p, uint64_t base, uint32_t n)
{
	return program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, base, 1, DIM(n));
}

static inline uint16_t job_data(struct program *p, uint64_t offset, uint32_t n)
{
	return program_dense(p, ONPU_DT_F32, ONPU_SPACE_VA, DATA_VA + offset, 1, DIM(n));
}

/*
 * Returns a program that loads JOB_ELEMENTS floats, @stages times executes preempt and two
 * additions of sin(x) to x, and stores the result. At every preemption point SRAM holds the floats;
 * semaphore 9 has a token at the first point, and semaphore 10 at the last one.
 */
static inline struct program *job_stages(unsigned int stages, float seed)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	const uint32_t bytes = JOB_ELEMENTS * sizeof(float);
	uint16_t in = job_data(p, 0, JOB_ELEMENTS), out = job_data(p, JOB_OUT, JOB_ELEMENTS);
	uint16_t x = job_sram(p, 0, JOB_ELEMENTS), y = job_sram(p, bytes, JOB_ELEMENTS);

	for (uint32_t i = 0; i < JOB_ELEMENTS; i++)
		((float *)p->data)[i] = seed + (float)i * 0.37f;
	program_insn(
		p,
		(struct onpu_insn){
			.op = ONPU_OP_DMA_COPY, .dst = x, .s0 = in, .sv = 1, .ssem = 9, .ts = 1 });
	for (unsigned int i = 0; i < stages; i++) {
		program_insn(p, (struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = bytes });
		for (unsigned int half = 0; half < 2; half++) {
			bool first = !i && !half, last = i + 1 == stages && half;

			program_insn(p, (struct onpu_insn){ .op = ONPU_OP_VSIN,
							    .dst = y,
							    .s0 = x,
							    .wv = first,
							    .wsem = first ? 9 : 0,
							    .ts = 1 });
			program_insn(p, (struct onpu_insn){ .op = ONPU_OP_VADD,
							    .dst = x,
							    .s0 = x,
							    .s1 = y,
							    .sv = last,
							    .ssem = last ? 10 : 0 });
		}
	}
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = bytes });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
					    .dst = out,
					    .s0 = x,
					    .ch = 1,
					    .wv = 1,
					    .wsem = 10 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_END, .code = (uint16_t)stages });
	program_job(p);
	return p;
}

/* Returns a program without a preemption point that runs for at least @cycles cycles. */
static inline struct program *job_stubborn(uint64_t cycles)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	const uint32_t n = JOB_SRAM / sizeof(float);
	uint16_t x = job_sram(p, 0, n);
	uint8_t factor = onpu_machine_factors(ONPU_CAP_FEATURES__RESET)[ONPU_OP_VSIN];
	/* The cycles of one instruction on the default machine. */
	uint64_t each = ONPU_CYCLES_VECTOR + (uint64_t)n / ONPU_CAP_LANES__RESET * factor;

	for (uint64_t i = 0; i * each < cycles; i++)
		program_insn(p, (struct onpu_insn){ .op = ONPU_OP_VSIN, .dst = x, .s0 = x });
	program_end(p);
	program_job(p);
	return p;
}

#endif
