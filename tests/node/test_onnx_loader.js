// SPDX-License-Identifier: MIT
//
// Tests webnn-npu/onnx: test_onnx_loader.js PACKAGE DEVICE. Models are loaded, shaped, cut, built
// and run; messages of errors use names that scripts know.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { pathToFileURL } = require('node:url');
const { Worker } = require('node:worker_threads');

const { BOOL, FLOAT, INT64, model, node, tensor, value } = require('./onnx_model.js');

const [folder, device] = [path.resolve(process.argv[2]), process.argv[3]];
const { ml, MLGraph } = require(path.join(folder, 'index.js'));
const { placement } = require(path.join(folder, 'npu.js'));
const onnx = require(path.join(folder, 'onnx.js'));
const { OnnxGraph, OnnxModel } = onnx;
const WEIGHTS = Float32Array.from({ length: 12 }, (_, i) => (i - 5) / 4);

// Returns the model y = relu(x · w), for any number of rows.
function layer() {
	return model([node('MatMul', ['x', 'w'], ['t'], { name: 'scores' }), node('Relu', ['t'], ['y'])],
		[value('x', FLOAT, ['batch', 4])], [value('y', FLOAT, ['batch', 3])], [tensor('w', FLOAT, [4, 3], WEIGHTS)]);
}

function expected(x) {
	return Array.from({ length: x.length / 4 * 3 }, (_, i) => {
		const row = Math.floor(i / 3);
		let sum = 0;

		for (let k = 0; k < 4; k++)
			sum += x[row * 4 + k] * WEIGHTS[k * 3 + i % 3];
		return Math.max(sum, 0);
	});
}

// Returns multiples of 1/4, whose products and sums are exact also in float16.
function rows(count, shift) {
	return Float32Array.from({ length: count * 4 }, (_, i) => ((i + shift) % 7 - 3) / 4);
}

function createContext() {
	return ml.createContext({ deviceType: device });
}

// Checks that a promise is rejected with an error of that name whose message matches the pattern.
// The message must not name functions of C and constants of the library, which scripts do not know.
async function rejects(promise, name, pattern) {
	await assert.rejects(promise, (error) => {
		assert.strictEqual(error.name, name, error.stack);
		assert.match(error.message, pattern);
		assert.doesNotMatch(error.message, /wnn[A-Z]|WNN|NULL|ERR_WEBNN/);
		return true;
	});
}

test('a file is loaded by path and URL, and runs with several shapes', async (context) => {
	const top = fs.mkdtempSync(path.join(os.tmpdir(), 'webnn-onnx-'));
	const file = path.join(top, 'model.onnx');

	context.after(() => fs.rmSync(top, { recursive: true }));
	fs.writeFileSync(file, layer());
	const target = await createContext();

	for (const [source, count] of [[file, 1], [pathToFileURL(file), 3]]) {
		const loaded = await OnnxModel.load(source);

		assert.deepStrictEqual(loaded.inputs,
			[{ name: 'x', kind: 'tensor', elementType: 'float', dataType: 'float32', shape: ['batch', 4], fixed: false }]);
		assert.deepStrictEqual(loaded.outputs.map(({ name }) => name), ['y']);
		const graph = await loaded.setDimension('batch', count).build(target);
		const x = rows(count, count);

		assert.ok(graph instanceof OnnxGraph && graph.graph instanceof MLGraph && graph.context === target);
		assert.deepStrictEqual(graph.inputs, { x: { dataType: 'float32', shape: [count, 4] } });
		assert.deepStrictEqual(graph.outputs, { y: { dataType: 'float32', shape: [count, 3] } });
		const { y } = await graph.run({ x });

		assert.ok(y instanceof Float32Array);
		assert.deepStrictEqual([...y], expected(x));
		assert.ok(placement(graph.graph).some(({ label, device: where }) => label === 'scores' && where === (device === 'cpu' ? 'cpu' : 'npu')));
		graph.destroy();
	}
});

test('bytes are a model, several runs are under way, and dispatch() takes the graph', async () => {
	const context = await createContext();
	const bytes = layer();
	const loading = OnnxModel.load(bytes);

	bytes.fill(0);
	const graph = await (await loading).setShape('x', [2, 4]).build(context);
	const inputs = Array.from({ length: 6 }, (_, i) => rows(2, i));
	const results = await Promise.all(inputs.map((x) => {
		const given = x.slice();
		const run = graph.run({ x: given });

		given.fill(9);
		return run;
	}));

	inputs.forEach((x, i) => assert.deepStrictEqual([...results[i].y], expected(x)));
	const x = await context.createTensor({ ...graph.inputs.x, writable: true });
	const y = await context.createTensor({ ...graph.outputs.y, readable: true });

	context.writeTensor(x, inputs[1]);
	context.dispatch(graph.graph, { x }, { y });
	assert.deepStrictEqual([...new Float32Array(await context.readTensor(y))], expected(inputs[1]));
	graph.destroy();
	await rejects(graph.run({ x: inputs[0] }), 'InvalidStateError', /destroyed/);
});

test('values decide about shapes, and a model is cut', async () => {
	const context = await createContext();
	const bytes = model([node('Relu', ['x'], ['t']), node('Reshape', ['t', 's'], ['y']), node('Greater', ['x', 't'], ['z'])],
		[value('x', FLOAT, [2, 6]), value('s', INT64, [2])], [value('y', FLOAT), value('z', BOOL, [2, 6])]);
	const loaded = await OnnxModel.load(bytes);
	const x = Float32Array.from({ length: 12 }, (_, i) => i - 6);

	await rejects(loaded.build(context), 'NotSupportedError', /Reshape/);
	assert.deepStrictEqual(loaded.refusals.map(({ operator, input }) => [operator, input]), [['Reshape', 's']]);
	loaded.setValue('s', new BigInt64Array([3n, -1n]));
	assert.ok(loaded.inputs[1].fixed);
	const graph = await loaded.build(context);

	assert.deepStrictEqual(graph.outputs, { y: { dataType: 'float32', shape: [3, 4] }, z: { dataType: 'uint8', shape: [2, 6] } });
	const { y, z } = await graph.run({ x });

	assert.deepStrictEqual([...y], [...x].map((item) => Math.max(item, 0)));
	assert.ok(z instanceof Uint8Array && z.every((item) => item === 0));
	const cut = await loaded.setOutputs(['t']).build(context);

	assert.deepStrictEqual(Object.keys(await cut.run({ x })), ['t']);
});

test('random numbers follow the seed', async () => {
	const context = await createContext();
	const loaded = await OnnxModel.load(model([node('RandomUniform', [], ['r'], { shape: [8] }), node('Add', ['x', 'r'], ['y'])],
		[value('x', FLOAT, [8])], [value('y', FLOAT, [8])]));
	const runs = async (seed) => {
		const graph = await loaded.build(context, { seed });

		return [[...(await graph.run({ x: new Float32Array(8) })).y], [...(await graph.run({ x: new Float32Array(8) })).y]];
	};
	const first = await runs(7);

	assert.deepStrictEqual(await runs(7n), first);
	assert.notDeepStrictEqual(await runs(8), first);
	assert.notDeepStrictEqual(first[0], first[1]);
	assert.ok(first.flat().every((item) => item >= 0 && item < 1));
	const old = await loaded.build(context);

	// A set of tensors for a later run, which then asks for random numbers before the build ends.
	await old.run({ x: new Float32Array(8) });
	const building = loaded.build(context);

	await rejects(old.run({ x: new Float32Array(8) }), 'InvalidStateError', /'run' on 'OnnxGraph': .* is being built/);
	await building;
	await rejects(old.run({ x: new Float32Array(8) }), 'InvalidStateError', /another graph was built since/);
});

test('what is wrong is told in words of the script', async () => {
	const context = await createContext();
	const loaded = await OnnxModel.load(layer());
	const graph = await (await OnnxModel.load(layer())).setDimension('batch', 1).build(context);
	const strange = await OnnxModel.load(model([node('Frobnicate', ['x'], ['y'], { domain: 'org.example' })],
		[value('x', FLOAT, [1])], [value('y', FLOAT, [1])]));
	const x = new Float32Array(4);
	const wrong = async (call) => call();

	await rejects(OnnxModel.load('/nowhere/model.onnx'), 'Error', /ENOENT.*\/nowhere\/model.onnx/);
	await rejects(OnnxModel.load(layer().subarray(0, 40)), 'OperationError', /damaged/);
	await rejects(OnnxModel.load(Buffer.from('{"a": 1}')), 'OperationError', /JSON/);
	await rejects(OnnxModel.load(new URL('https://example.org/model.onnx')), 'TypeError', /https: is no kind of URL/);
	await rejects(OnnxModel.load(7), 'TypeError', /a path, a URL of a file/);
	await rejects(loaded.build(context), 'TypeError', /'x' has the shape \[batch, 4\]: setDimension\(\)/);
	await rejects(loaded.build({}), 'TypeError', /MLContext/);
	await rejects(loaded.build(context, { seed: -1 }), 'TypeError', /64 bits/);
	await rejects(strange.build(context), 'NotSupportedError', /Frobnicate/);
	await rejects(wrong(() => loaded.setDimension('height', 2)), 'TypeError', /height/);
	await rejects(wrong(() => loaded.setDimension('batch', 0)), 'TypeError', /0/);
	await rejects(wrong(() => loaded.setShape('x', [1, 5])), 'TypeError', /x/);
	await rejects(wrong(() => loaded.setValue('w', x)), 'TypeError', /no input 'w'; it has x/);
	await rejects(wrong(() => loaded.setOutputs(['q'])), 'TypeError', /q/);
	await rejects(wrong(() => loaded.setOutputs([])), 'TypeError', /./);
	await rejects(graph.run({}), 'TypeError', /input 'x' is missing: it is float32 \[1,4\]/);
	await rejects(graph.run({ x, q: x }), 'TypeError', /no input 'q'; it has x/);
	await rejects(graph.run({ x, toString: x }), 'TypeError', /no input 'toString'; it has x/);
	await rejects(graph.run({ x: new Float32Array(5) }), 'TypeError', /'x' has 20 bytes, and float32 \[1,4\] has 16/);
	await rejects(graph.run({ x: new Int32Array(4) }), 'TypeError', /Int32Array, does not fit the data type, float32/);
	await rejects(wrong(() => new OnnxModel()), 'TypeError', /Illegal constructor/);
	await rejects(wrong(() => new OnnxGraph()), 'TypeError', /Illegal constructor/);
	const building = loaded.setDimension('batch', 1).build(context);

	await rejects(wrong(() => loaded.inputs), 'InvalidStateError', /being built/);
	await building;
	// While this object is converted to a number, it starts a build.
	let inside;
	const size = { valueOf: () => {
		inside = loaded.build(context);
		return 2;
	} };

	await rejects(wrong(() => loaded.setDimension('batch', size)), 'InvalidStateError', /being built/);
	await inside;
	await rejects(wrong(() => loaded.setShape('x', [size, 4])), 'InvalidStateError', /being built/);
	await inside;
	assert.strictEqual(loaded.inputs.length, 1);
});

test('import gives the same, and a worker may end while it builds', async () => {
	const module = await import(pathToFileURL(path.join(folder, 'onnx.mjs')));

	for (const [name, item] of Object.entries(onnx))
		assert.strictEqual(module[name], item, name);
	const worker = new Worker(`const { parentPort, workerData: { folder, device, bytes } } = require('node:worker_threads');
		const { ml } = require(folder + '/index.js');
		const { OnnxModel } = require(folder + '/onnx.js');
		ml.createContext({ deviceType: device }).then(async (context) => {
			parentPort.postMessage('ready');
			for (;;)
				await (await OnnxModel.load(bytes)).setDimension('batch', 1).build(context);
		});`, { eval: true, workerData: { folder, device, bytes: layer() } });

	await new Promise((resolve) => worker.once('message', resolve));
	await worker.terminate();
});
