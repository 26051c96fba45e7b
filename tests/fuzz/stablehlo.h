/* SPDX-License-Identifier: MIT */
/*
 * Loads a program of StableHLO, as text or bytecode, for one partition and for several. Whatever it
 * holds, loading ends with a status; its inputs, outputs and refusals can be queried, and the
 * program can be printed. Nothing runs, because loops take long; but loops with a known number of
 * iterations are unrolled into a limited number of operations.
 */
#ifndef ONPU_TESTS_FUZZ_STABLEHLO_H
#define ONPU_TESTS_FUZZ_STABLEHLO_H

#include <stdlib.h>
#include <webnn/stablehlo.h>

#include "run.h"
#include "unroll.h"

#define FUZZ_UNROLLED 300 /* operations that a loop may become */

static inline void fuzz_unroll(const uint8_t *data, size_t size)
{
	static struct shlo_file file; /* static, so that a longjmp() does not make it undefined */
	const struct shlo_unroll with = { .arena = &file.arena,
					  .loop_limit = UINT64_MAX,
					  .limit = FUZZ_UNROLLED };

	file = (struct shlo_file){ 0 };
	file.arena.guard = &file.guard;
	if (!setjmp(file.guard.jump)) {
		if (shlo_is_bytecode(data, size)) {
			shlo_read_bytecode(&file, data, size);
		} else {
			/* The text needs a terminator, up to which numbers are read. */
			shlo_read_text(&file,
				       shlo_arena_text(&file.arena, (const char *)data, size),
				       size);
		}
		shlo_verify(&file);
		for (size_t i = 0; !file.refusal_count && i < file.module_count; i++)
			shlo_unroll(&with, file.modules[i]);
	}
	shlo_arena_exit(&file.arena);
}

/*
 * Aborts unless each device has a slice that exists and, if values are sums of addends, an addend
 * that exists.
 */
static inline void fuzz_slices(WNNStablehloSlices slices)
{
	size_t count = 1;

	for (size_t i = 0; i < slices.rank; i++)
		count *= (size_t)slices.parts[i];
	if (slices.rank && count > slices.partitions)
		abort();
	for (size_t i = 0; slices.rank && i < slices.partitions; i++)
		if (slices.slices[i] >= count)
			abort();
	for (size_t i = 0; slices.addends && i < slices.partitions; i++)
		if (slices.addend[i] >= slices.addends)
			abort();
}

/*
 * Loads a program for a number of partitions, and calls each function that returns something about
 * it. Prints the program and loads the text again.
 */
static inline void fuzz_partitions(const uint8_t *data, size_t size, size_t partitions)
{
	WNNStablehloProgram program, again;
	WNNStablehloRefusalArray refusals;
	WNNStringView text;

	if (wnnStablehloLoadPartitioned(data, size, NULL, partitions, &program))
		return;
	refusals = wnnStablehloProgramGetRefusals(program);
	for (size_t i = 0; i < refusals.count; i++)
		if (!refusals.data[i].column || !refusals.data[i].reason.length)
			abort();
	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++) {
		size_t inputs = wnnStablehloProgramGetInputs(program, i).count, output;
		size_t outputs = wnnStablehloProgramGetOutputs(program, i).count;

		for (size_t k = 0; k < inputs; k++) {
			fuzz_slices(wnnStablehloProgramGetInputSlices(program, i, k));
			wnnStablehloProgramGetDonation(program, i, k, &output);
		}
		for (size_t k = 0; k < outputs; k++)
			fuzz_slices(wnnStablehloProgramGetOutputSlices(program, i, k));
	}
	wnnStablehloProgramGetDeviceText(program, &text);
	/* The printed text is loaded again; any status will do. */
	if (!wnnStablehloProgramGetText(program, &text) &&
	    !wnnStablehloLoadPartitioned(text.data, text.length, NULL, partitions, &again))
		wnnStablehloProgramRelease(again);
	if (!refusals.count && partitions == 1)
		fuzz_unroll(data, size);
	wnnStablehloProgramRelease(program);
}

/*
 * Loads the fuzzer's input as a program for one device, and again for 2, 4 or 6 devices: the sum of
 * the input's bytes chooses the number. Returns 0.
 */
static inline int fuzz_stablehlo(const uint8_t *data, size_t size)
{
	static const size_t numbers[] = { 2, 4, 6 };
	size_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += data[i];
	fuzz_partitions(data, size, 1);
	fuzz_partitions(data, size, numbers[sum % 3]);
	return 0;
}

#endif
