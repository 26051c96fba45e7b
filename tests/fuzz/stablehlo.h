/* SPDX-License-Identifier: MIT */
/*
 * A program of StableHLO, as text or bytecode: whatever it holds, loading it ends with a status; what it
 * takes and gives and why it is refused can be asked, and it prints. Nothing runs, as a loop takes long.
 */
#ifndef ONPU_TESTS_FUZZ_STABLEHLO_H
#define ONPU_TESTS_FUZZ_STABLEHLO_H

#include <stdlib.h>
#include <webnn/stablehlo.h>

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
	/* What was printed is read, whatever comes of it. */
	if (!wnnStablehloProgramGetText(program, &text) &&
	    !wnnStablehloLoadMemory(text.data, text.length, NULL, &again))
		wnnStablehloProgramRelease(again);
	wnnStablehloProgramRelease(program);
	return 0;
}

#endif
