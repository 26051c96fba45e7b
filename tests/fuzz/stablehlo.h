/* SPDX-License-Identifier: MIT */
/*
 * Loads a program of StableHLO, as text or bytecode. Whatever it holds, loading ends with a status;
 * its inputs, outputs and refusals can be queried, and it prints. Nothing runs, as loops take long;
 * but loops with a known number of iterations are unrolled into a limited number of operations.
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
	/* The printed text is loaded again; any status will do. */
	if (!wnnStablehloProgramGetText(program, &text) &&
	    !wnnStablehloLoadMemory(text.data, text.length, NULL, &again))
		wnnStablehloProgramRelease(again);
	if (!refusals.count)
		fuzz_unroll(data, size);
	wnnStablehloProgramRelease(program);
	return 0;
}

#endif
