// SPDX-License-Identifier: MIT
/*
 * StableHLO's text: whatever it holds, loading it ends with a status, and what it takes and gives and
 * why it is refused can be asked. Nothing runs, as a loop may have no end.
 */
#include <stdlib.h>
#include <webnn/stablehlo.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	WNNStablehloProgram program;
	WNNStablehloRefusalArray refusals;

	if (wnnStablehloLoadMemory(data, size, NULL, &program))
		return 0;
	refusals = wnnStablehloProgramGetRefusals(program);
	for (size_t i = 0; i < refusals.count; i++)
		if (!refusals.data[i].line || !refusals.data[i].reason.length)
			abort();
	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++) {
		wnnStablehloProgramGetInputs(program, i);
		wnnStablehloProgramGetOutputs(program, i);
	}
	wnnStablehloProgramRelease(program);
	return 0;
}
