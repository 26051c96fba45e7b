// SPDX-License-Identifier: MIT
//
// Sets up onnxruntime-web to run on navigator.ml in Node, for voice.mjs and ocr.mjs:
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

// Returns a session whose operators run on the context. sizes has the sizes of the dimensions that
// the file leaves open, by name.
export async function openSession(model, context, sizes = {}, outputLocation = 'cpu') {
	// The compilation of WebAssembly does not keep the event loop alive; when the loop is
	// empty, Node waits for all compilers. A timer keeps it alive.
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
