/* SPDX-License-Identifier: MIT */
/*
 * A program of StableHLO, as text or bytecode: whatever it holds, loading it ends with a status; what it
 * takes and gives and why it is refused can be asked, and it prints. Nothing runs, as a loop takes long; but
 * loops whose turns are known become operations in a row, of which there are not too many.
 */
#ifndef ONPU_TESTS_FUZZ_STABLEHLO_H
#define ONPU_TESTS_FUZZ_STABLEHLO_H

#include <stdlib.h>
#include <webnn/stablehlo.h>

#include "run.h"
#include "unroll.h"

#define FUZZ_UNROLLED 300 /* operations of a loop */

static inline void fuzz_unroll(const uint8_t *data, size_t size)
{
	static struct shlo_file file; /* not among what a jump leaves open */
	const struct shlo_unroll with = { .arena = &file.arena,
					  .loop_limit = UINT64_MAX,
					  .limit = FUZZ_UNROLLED };

	file = (struct shlo_file){ 0 };
	file.arena.guard = &file.guard;
	if (!setjmp(file.guard.jump)) {
		if (shlo_is_bytecode(data, size)) {
			shlo_read_bytecode(&file, data, size);
		} else {
			/* Numbers are read up to what ends them. */
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

static inline int fuzz_stablehlo(const uint8_t *data, size_t size)
{
	WNNStablehloProgram program, again;
	WNNStablehloRefusalArray refusals;
	WNNStringView text;

	if (wnnStablehloLoadMemory(data, size, NULL, &program))
		return 0;
	refusals = wnnStablehloProgramGetRefusals(program);
	for (size_t i = 0; i < refusals.count; i++)
		if (!refusals.data[i].column || !refusals.data[i].reason.length)
			abort();
	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++) {
		wnnStablehloProgramGetInputs(program, i);
		wnnStablehloProgramGetOutputs(program, i);
	}
	/* The printed text is read again, whatever comes of it. */
	if (!wnnStablehloProgramGetText(program, &text) &&
	    !wnnStablehloLoadMemory(text.data, text.length, NULL, &again))
		wnnStablehloProgramRelease(again);
	if (!refusals.count)
		fuzz_unroll(data, size);
	wnnStablehloProgramRelease(program);
	return 0;
}

#endif
