// SPDX-License-Identifier: MIT
//
// onnxruntime-web, unmodified, on navigator.ml: onnx.js PACKAGE MODULES DEVICE MODEL….
//
// MODULES is a folder where 'npm install onnxruntime-web onnxruntime-node' was done. Each model runs on
// numbers made here, through the WebNN execution provider and on the CPU provider of onnxruntime-node;
// the outputs must agree within 1e-4 of their range. Prints how many nodes the provider took over; what
// it left runs in WebAssembly. Inputs and outputs of the second run are MLTensor where that is possible.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');

const [folder, modules, device, ...models] = process.argv.slice(2);
// Dimensions that a model leaves open.
const OPEN = 1;

function values(type, count) {
	if (type === 'int64')
		return new BigInt64Array(count).fill(16000n);
	return Float32Array.from({ length: count }, (_, i) => ((i * 7919) % 1009) / 1009 - 0.5);
}

function feedsOf(ort, session) {
	const feeds = {};

	for (const { name, type, shape } of session.inputMetadata) {
		const dims = shape.map((size) => (typeof size === 'number' && size > 0 ? size : OPEN));

		feeds[name] = new ort.Tensor(type, values(type, dims.reduce((a, b) => a * b, 1)), dims);
	}
	return feeds;
}

// The largest difference as a share of the range of what is expected.
function distance(actual, expected) {
	let [low, high, most] = [Infinity, -Infinity, 0];

	if (actual.length !== expected.length)
		return Infinity;
	for (let i = 0; i < expected.length; i++) {
		low = Math.min(low, expected[i]);
		high = Math.max(high, expected[i]);
		most = Math.max(most, Math.abs(actual[i] - expected[i]));
	}
	return most === 0 ? 0 : most / Math.max(high - low, Number.MIN_VALUE);
}

// Notes what the provider says about its share; its lines come through console.
function listen(lines) {
	for (const name of ['log', 'warn', 'error', 'info', 'debug'])
		console[name] = (...given) => lines.push(given.join(' '));
}

async function runModel(web, node, file, print, lines) {
	const model = fs.readFileSync(file);
	const reference = await node.InferenceSession.create(model);
	const expected = await reference.run(feedsOf(node, reference));
	const options = { executionProviders: [{ name: 'webnn', deviceType: device === 'cpu' ? 'cpu' : 'npu' }],
		logSeverityLevel: 0 };
	let worst = 0;

	lines.length = 0;
	for (const location of ['cpu', 'ml-tensor']) {
		let session;

		try {
			session = await web.InferenceSession.create(model, { ...options, preferredOutputLocation: location });
		} catch (error) {
			if (location === 'cpu')
				throw error;
			print(`${path.basename(file)}: no output in an MLTensor: ${error.message}`);
			continue;
		}
		const outputs = await session.run(feedsOf(web, session));

		for (const [name, tensor] of Object.entries(outputs)) {
			const data = tensor.location === 'ml-tensor' ? await tensor.getData() : tensor.data;

			if (expected[name].type === 'float32')
				worst = Math.max(worst, distance(data, expected[name].data));
		}
		await session.release();
	}
	const share = lines.map((line) => /nodes in the graph: (\d+) number of nodes supported by WebNN: (\d+)/.exec(line))
		.find(Boolean);

	print(`${path.basename(file)}: ${share ? `${share[2]} of ${share[1]} nodes on WebNN` : 'share unknown'}, ` +
		`worst difference ${worst.toExponential(1)} of the range`);
	return worst <= 1e-4;
}

async function main() {
	const print = console.log.bind(console);
	const lines = [];
	let failed = 0;

	if (!fs.existsSync(path.join(modules, 'node_modules/onnxruntime-web'))) {
		print(`onnx: nothing was tested: onnxruntime-web is not in ${modules}`);
		return 0;
	}
	process.env.WEBNN_DEVICE = device;
	require(path.resolve(folder, 'register.js'));
	const load = createRequire(path.resolve(modules, 'package.json'));
	const node = load('onnxruntime-node');
	const bundle = path.join(path.resolve(modules), 'node_modules/onnxruntime-web/dist/ort.all.bundle.min.mjs');
	// The bundle takes the functions of console when it is loaded.
	listen(lines);
	const web = await import(pathToFileURL(bundle));

	web.env.wasm.numThreads = 1;
	web.env.logLevel = 'verbose';
	for (const file of models) {
		try {
			if (!await runModel(web, node, file, print, lines))
				failed++;
		} catch (error) {
			print(`${path.basename(file)}: ${error.stack || error}`);
			failed++;
		}
	}
	print(`onnx: ${models.length} models on ${device}, ${failed} failed`);
	return failed ? 1 : 0;
}

main().then((status) => process.exit(status));
