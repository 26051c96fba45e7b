// SPDX-License-Identifier: MIT
//
// Runs unmodified onnxruntime-web on navigator.ml, and onnxruntime-node on the CPU: onnx.js PACKAGE
// MODULES.
//
// MODULES is a folder where 'npm install onnxruntime-web onnxruntime-node' was done. Each line of
// standard input is the file of a case that test_onnx.py has made; its answer is a line of JSON.
// The log of onnxruntime-web is on standard error, with a line SESSION in front of each session.
//
// Node is to be started with --liftoff-only: its optimising compiler works for minutes on the WebAssembly
// of onnxruntime-web, and a process does not end before that does.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');

const [folder, modules] = process.argv.slice(2);
const ARRAYS = { float32: Float32Array, int64: BigInt64Array };

function readInput({ type, file }) {
	const bytes = fs.readFileSync(file);

	return new ARRAYS[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

function feedsOf(ort, inputs) {
	return Object.fromEntries(inputs.map((input) =>
		[input.name, new ort.Tensor(input.type, readInput(input), input.dims)]));
}

async function tensorFeeds(ort, inputs, context) {
	const feeds = {};

	for (const input of inputs) {
		const tensor = await context.createTensor({ dataType: input.type, shape: input.dims, writable: true, readable: true });

		context.writeTensor(tensor, readInput(input));
		feeds[input.name] = ort.Tensor.fromMLTensor(tensor, { dataType: input.type, dims: input.dims });
	}
	return feeds;
}

// Returns the largest difference as a share of the range of the expected elements, or of their size
// when all are equal. Returns infinity when the lengths differ.
function distance(actual, expected) {
	let [low, high, most] = [Infinity, -Infinity, 0];

	if (actual.length !== expected.length)
		return Infinity;
	for (let i = 0; i < expected.length; i++) {
		const difference = Math.abs(Number(actual[i]) - Number(expected[i]));

		low = Math.min(low, Number(expected[i]));
		high = Math.max(high, Number(expected[i]));
		most = difference <= most ? most : difference;
	}
	return most === 0 ? 0 : most / (high > low ? high - low : Math.abs(high));
}

async function compare(outputs, expected, location) {
	let worst = 0;

	for (const [name, { data, dims }] of Object.entries(expected)) {
		const tensor = outputs[name];

		if (tensor.location !== location)
			throw new Error(`output ${name} is in ${tensor.location}, and not in ${location}`);
		const far = tensor.dims.join() === dims.join() ? distance(await tensor.getData(), data) : Infinity;

		worst = far <= worst ? worst : far;
		tensor.dispose();
	}
	// JSON has no infinity.
	return Number.isFinite(worst) ? worst : 1e300;
}

// Runs a session of onnxruntime-web; location says where its inputs and outputs are ('cpu' or
// 'ml-tensor').
async function runSession(web, model, { inputs, freeDimensions }, location, expected) {
	const context = await navigator.ml.createContext();
	const options = {
		executionProviders: [{ name: 'webnn', context }], freeDimensionOverrides: freeDimensions,
		preferredOutputLocation: location, logSeverityLevel: 0,
	};

	fs.writeSync(2, 'SESSION\n');
	const session = await web.InferenceSession.create(model, options);
	const feeds = location === 'cpu' ? feedsOf(web, inputs) : await tensorFeeds(web, inputs, context);
	const worst = await compare(await session.run(feeds), expected, location);

	await session.release();
	context.destroy();
	return worst;
}

async function runCase(web, node, file) {
	const description = JSON.parse(fs.readFileSync(file));
	const model = fs.readFileSync(description.model);
	const reference = await node.InferenceSession.create(model);
	const expected = await reference.run(feedsOf(node, description.inputs));
	const result = { worst: await runSession(web, model, description, 'cpu', expected) };

	// Tensors of the context as inputs and outputs are possible only where the provider
	// computes all of them.
	try {
		result.tensors = await runSession(web, model, description, 'ml-tensor', expected);
	} catch (error) {
		result.tensorError = error.message;
	}
	return result;
}

async function main() {
	// While WebAssembly is compiled, nothing else keeps the event loop alive. If the loop ran
	// empty, Node would wait for all compiling threads before it looks at the loop again.
	const alive = setInterval(() => {}, 1000);

	require(path.resolve(folder, 'register.js'));
	const load = createRequire(path.resolve(modules, 'package.json'));
	const node = load('onnxruntime-node');
	const bundle = path.join(path.resolve(modules), 'node_modules/onnxruntime-web/dist/ort.all.bundle.min.mjs');
	const web = await import(pathToFileURL(bundle));

	// With more threads, onnxruntime-web would fetch() their scripts, and fetch() of Node reads
	// no files.
	web.env.wasm.numThreads = 1;
	web.env.logLevel = 'verbose';
	for await (const file of readline.createInterface({ input: process.stdin })) {
		let result;

		try {
			result = await runCase(web, node, file);
		} catch (error) {
			result = { error: String(error.stack || error) };
		}
		fs.writeSync(1, `${JSON.stringify(result)}\n`);
	}
	clearInterval(alive);
}

main();
