// SPDX-License-Identifier: MIT
//
// onnxruntime-web on navigator.ml, as Node needs it; voice.mjs and ocr.mjs share it:
//
//	npm install webnn-npu onnxruntime-web
//	node --liftoff-only PROGRAM.mjs …
//
// --liftoff-only leaves out the optimising compiler of WebAssembly, which works for minutes on this runtime.
import 'webnn-npu/register';
import * as ort from 'onnxruntime-web/all';

ort.env.wasm.numThreads = 1; // the scripts of its threads are read by fetch(), which in Node takes no files
ort.env.logLevel = 'error';

export { ort };

// A session whose operators run on the context. sizes are those of the dimensions that the file leaves open.
export async function openSession(model, context, sizes = {}, outputLocation = 'cpu') {
	// Compilation of WebAssembly keeps no event loop alive, and a loop that runs dry waits for all compilers.
	const alive = setInterval(() => {}, 1000);

	try {
		return await ort.InferenceSession.create(model, {
			executionProviders: [{ name: 'webnn', context }], freeDimensionOverrides: sizes,
			preferredOutputLocation: outputLocation, logSeverityLevel: 3,
		});
	} finally {
		clearInterval(alive);
	}
}
