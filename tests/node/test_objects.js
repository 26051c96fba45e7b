// SPDX-License-Identifier: MIT
//
// Tests the life of objects: destruction, loss, collection, worker threads, the event loop.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { execFileSync } = require('node:child_process');
const { setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('node:worker_threads');

const folder = process.argv[2];
const { ml, MLGraphBuilder } = require(path.join(folder, 'index.js'));

const vector = { dataType: 'float32', shape: [1024] };

async function makeGraph(context, label = '') {
	const builder = new MLGraphBuilder(context);
	const x = builder.input('x', vector);
	const weights = builder.constant(vector, new Float32Array(1024).fill(2));
	const graph = await builder.build({ y: builder.mul(x, weights, { label }) });
	const x1 = await context.createTensor({ ...vector, writable: true });
	const y1 = await context.createTensor({ ...vector, readable: true });

	return { graph, x: x1, y: y1 };
}

for (const deviceType of ['cpu', 'sim']) {
	test(`a graph runs on ${deviceType}`, async () => {
		const context = await ml.createContext({ deviceType });
		const { graph, x, y } = await makeGraph(context);

		assert.strictEqual(context.accelerated, deviceType !== 'cpu');
		context.writeTensor(x, new Float32Array(1024).fill(21));
		context.dispatch(graph, { x }, { y });
		assert.deepStrictEqual(new Float32Array(await context.readTensor(y)), new Float32Array(1024).fill(42));
	});
}

test('the device comes from WEBNN_DEVICE, whatever is asked for', () => {
	const program = `require(${JSON.stringify(path.join(folder, 'register.js'))});
		navigator.ml.createContext({ deviceType: 'cpu' }).then((c) => console.log(c.accelerated))`;
	const run = (device) => execFileSync(process.execPath, ['-e', program],
		{ env: { ...process.env, WEBNN_DEVICE: device }, encoding: 'utf8' }).trim();

	assert.strictEqual(run('sim'), 'true');
	assert.strictEqual(run('cpu'), 'false');
});

test('options of a context that are wrong reject', async () => {
	await assert.rejects(ml.createContext({ deviceType: 'tpu' }), /MLDeviceType/);
	await assert.rejects(ml.createContext({ powerPreference: 'none' }), /MLPowerPreference/);
	await assert.rejects(ml.createContext(1), TypeError);
	globalThis.GPUDevice = class {};
	await assert.rejects(ml.createContext(new globalThis.GPUDevice()), { name: 'NotSupportedError' });
	delete globalThis.GPUDevice;
});

test('destroying a tensor rejects its reads at once', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const tensor = await context.createTensor({ ...vector, readable: true, writable: true });
	const reads = [context.readTensor(tensor), context.readTensor(tensor, new ArrayBuffer(4096))];

	tensor.destroy();
	for (const read of reads)
		await assert.rejects(read, { name: 'InvalidStateError' });
	tensor.destroy();
	await assert.rejects(context.readTensor(tensor), TypeError);
	assert.throws(() => context.writeTensor(tensor, new Float32Array(1024)), TypeError);
});

test('destroying a context loses it', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const { graph, x, y } = await makeGraph(context);
	const builder = new MLGraphBuilder(context);
	const read = context.readTensor(y);

	assert.strictEqual(context.lost, context.lost);
	context.destroy();
	context.destroy();
	await assert.rejects(read, { name: 'InvalidStateError' });
	assert.strictEqual(typeof (await context.lost).message, 'string');
	assert.throws(() => context.dispatch(graph, { x }, { y }), { name: 'InvalidStateError' });
	assert.throws(() => builder.input('x', vector), { name: 'InvalidStateError' });
	assert.throws(() => new MLGraphBuilder(context), { name: 'InvalidStateError' });
	assert.throws(() => builder.constant(vector, new Int8Array(4096)), { name: 'InvalidStateError' });
	await assert.rejects(context.createTensor(vector), { name: 'InvalidStateError' });
	await assert.rejects(context.createConstantTensor(vector, new Int8Array(4096)), { name: 'InvalidStateError' });
});

test('a destroyed graph cannot be dispatched; a builder builds once', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const { graph, x, y } = await makeGraph(context);
	const builder = new MLGraphBuilder(context);
	const operand = builder.relu(builder.input('x', vector));

	graph.destroy();
	graph.destroy();
	assert.throws(() => context.dispatch(graph, { x }, { y }), { name: 'InvalidStateError' });
	await builder.build({ y: operand });
	await assert.rejects(builder.build({ y: operand }), { name: 'InvalidStateError' });
	assert.throws(() => builder.relu(operand), { name: 'InvalidStateError' });
});

test('what belongs to others is refused', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const other = await ml.createContext({ deviceType: 'cpu' });
	const { graph, x, y } = await makeGraph(context);
	const builder = new MLGraphBuilder(context);
	const foreign = new MLGraphBuilder(context).input('f', vector);

	assert.throws(() => other.dispatch(graph, { x }, { y }), TypeError);
	assert.throws(() => context.dispatch(graph, { x }, { y: x }), TypeError);
	assert.throws(() => context.dispatch(graph, { x }, {}), TypeError);
	assert.throws(() => context.dispatch(graph, { z: x }, { y }), TypeError);
	assert.throws(() => other.writeTensor(x, new Float32Array(1024)), TypeError);
	assert.throws(() => context.writeTensor(y, new Float32Array(1024)), TypeError);
	await assert.rejects(other.readTensor(y), TypeError);
	await assert.rejects(context.readTensor(x), TypeError);
	assert.throws(() => builder.relu(foreign), TypeError);
	await assert.rejects(builder.build({ y: foreign }), TypeError);
	assert.throws(() => builder.constant(x), TypeError);
});

test('constant tensors are operands, and live on in the graph', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const constant = await context.createConstantTensor(vector, new Float32Array(1024).fill(3));
	const builder = new MLGraphBuilder(context);
	const x = builder.input('x', vector);
	const graph = await builder.build({ y: builder.add(x, builder.constant(constant)) });
	const from = await context.createTensor({ ...vector, writable: true });
	const to = await context.createTensor({ ...vector, readable: true });

	assert.strictEqual(constant.constant, true);
	constant.destroy();
	context.writeTensor(from, new Float32Array(1024).fill(4));
	context.dispatch(graph, { x: from }, { y: to });
	const result = new Float32Array(1024);

	assert.strictEqual(await context.readTensor(to, result), undefined);
	assert.deepStrictEqual(result, new Float32Array(1024).fill(7));
});

test('a buffer that is detached during a read rejects it', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const tensor = await context.createTensor({ ...vector, readable: true });
	const target = new ArrayBuffer(4096);
	const read = context.readTensor(tensor, target);

	structuredClone(target, { transfer: [target] });
	await assert.rejects(read, TypeError);
});

// Returns a promise of a graph whose values, 2 GiB each, are all needed once more after the last
// one is computed: they take terabytes.
async function makeGiant(context) {
	const builder = new MLGraphBuilder(context);
	const values = [builder.expand(builder.input('x', { dataType: 'float32', shape: [1, 1] }), [32767, 16384])];

	for (let i = 1; i < 2048; i++)
		values[i] = builder.cumulativeSum(values[i - 1], i % 2);
	const sum = values.reduceRight((all, value) => builder.add(builder.cumulativeSum(all, 0), value));

	return builder.build({ y: builder.reduceSum(sum) });
}

test('a dispatch that memory does not suffice for is heard by who reads', async () => {
	const context = await ml.createContext({ deviceType: 'cpu' });
	const giant = await makeGiant(context);
	const one = { dataType: 'float32', shape: [1, 1] };
	const x = await context.createTensor({ ...one, writable: true });
	const y = await context.createTensor({ dataType: 'float32', shape: [], readable: true, writable: true });
	const z = await context.createTensor({ dataType: 'float32', shape: [], readable: true });
	const builder = new MLGraphBuilder(context);
	const next = await builder.build({ z: builder.neg(builder.input('y', { dataType: 'float32', shape: [] })) });
	const failure = { name: 'UnknownError', message: /has no data, as the work that should write it failed: .*intermediate/ };

	context.dispatch(giant, { x }, { y });
	await assert.rejects(context.readTensor(y), failure);
	await assert.rejects(context.readTensor(y, new Float32Array(1)), failure);
	context.dispatch(next, { y }, { z });
	await assert.rejects(context.readTensor(z), failure);
	context.writeTensor(y, new Float32Array([2]));
	assert.deepStrictEqual(new Float32Array(await context.readTensor(y)), new Float32Array([2]));
	context.dispatch(next, { y }, { z });
	assert.deepStrictEqual(new Float32Array(await context.readTensor(z)), new Float32Array([-2]));
});

test('what the library tells beyond WebNN', async () => {
	const { createProfilingContext, deviceInfo, placement, profile } = require(path.join(folder, 'npu.js'));
	const context = await createProfilingContext({ deviceType: 'sim' });
	const { graph, x, y } = await makeGraph(context, 'mine');

	assert.strictEqual(deviceInfo(context).device, 'sim');
	assert.ok(deviceInfo(context).memoryUsed >= 3 * 4096);
	assert.deepStrictEqual(placement(graph).map(({ operator, label, device }) => [operator, label, device]),
		[['mul', 'mine', 'npu']]);
	assert.throws(() => profile(graph), { name: 'InvalidStateError' });
	context.dispatch(graph, { x }, { y });
	await context.readTensor(y);
	const { cycles, nodes, events, spans } = profile(graph);

	assert.ok(cycles > 0 && nodes.length === 1 && spans.length > 0);
	for (const { engine, instruction, start, end } of events) {
		assert.ok(['control', 'load', 'store', 'matrix', 'vector'].includes(engine), engine);
		assert.ok(instruction && start <= end && end <= cycles);
	}
	assert.ok(events.some(({ engine, node }) => engine === 'vector' && node === 0));
	const plain = await ml.createContext({ deviceType: 'sim' });
	const other = await makeGraph(plain);

	plain.dispatch(other.graph, { x: other.x }, { y: other.y });
	await plain.readTensor(other.y);
	assert.throws(() => profile(other.graph), { name: 'NotSupportedError' });
	for (const wrong of [undefined, {}, graph])
		assert.throws(() => deviceInfo(wrong), TypeError);
	for (const wrong of [null, context, new Proxy(graph, {})]) {
		assert.throws(() => placement(wrong), TypeError);
		assert.throws(() => profile(wrong), TypeError);
	}
	await assert.rejects(createProfilingContext({ deviceType: 'tpu' }), /MLDeviceType/);
	await assert.rejects(Object.getPrototypeOf(ml).createContext.call(1), TypeError);
});

test('an output updates an input in place', async () => {
	const { updateInput } = require(path.join(folder, 'npu.js'));
	const tensor = (context, dataType, shape) => context.createTensor({ dataType, shape, readable: true, writable: true });

	for (const deviceType of ['cpu', 'sim']) {
		const context = await ml.createContext({ deviceType });
		const builder = new MLGraphBuilder(context);
		const cache = builder.input('cache', { dataType: 'float32', shape: [4, 2] });
		const place = builder.input('place', { dataType: 'int32', shape: [1, 1] });
		const stored = builder.scatterND(cache, place, builder.input('row', { dataType: 'float32', shape: [1, 2] }));

		for (const wrong of [undefined, {}, context])
			assert.throws(() => updateInput(builder, cache, wrong), TypeError);
		assert.throws(() => updateInput(cache, cache, stored), TypeError);
		assert.throws(() => updateInput(builder, cache), TypeError);
		assert.throws(() => updateInput(builder, cache, new MLGraphBuilder(context).input('x',
			{ dataType: 'float32', shape: [4, 2] })), TypeError);
		updateInput(builder, cache, stored);
		assert.throws(() => updateInput(builder, cache, stored),
			/^TypeError: updateInput of "cache": the input has an update already/);
		const graph = await builder.build({ stored });
		const state = await tensor(context, 'float32', [4, 2]);
		const row = await tensor(context, 'float32', [1, 2]);
		const at = await tensor(context, 'int32', [1, 1]);

		for (const token of [2, 0]) {
			context.writeTensor(row, new Float32Array([token + 1, token + 5]));
			context.writeTensor(at, new Int32Array([token]));
			context.dispatch(graph, { cache: state, row, place: at }, { stored: state });
		}
		assert.deepStrictEqual(new Float32Array(await context.readTensor(state)),
			new Float32Array([1, 5, 0, 0, 3, 7, 0, 0]));
	}
});

// Runs an action and returns the bytes of memory of the process. Waits until they are below the
// limit, as a busy machine gives collected memory back late.
async function memoryAfter(action, limit = 0) {
	await action();
	for (let i = 0; i < 5 || (limit && i < 3000 && process.memoryUsage().rss >= limit); i++) {
		global.gc();
		await sleep(20);
	}
	return process.memoryUsage().rss;
}

// Returns the number of threads of the process; each context has one.
const threads = () => fs.readdirSync('/proc/self/task').length;

test('what is dropped is collected, and with it the memory of the library', async () => {
	// Each object has 4 MiB, so that kept ones are seen beside all other memory.
	const big = { dataType: 'float32', shape: [1024, 1024] };
	const round = async () => {
		const context = await ml.createContext({ deviceType: 'cpu' });

		await context.createTensor(big);
		await makeGraph(context);
		const builder = new MLGraphBuilder(context);

		builder.constant(big, new Float32Array(1024 * 1024));
	};
	const some = async (count) => {
		for (let i = 0; i < count; i++) {
			await round();
			if (i % 8 === 7)
				global.gc();
		}
	};
	const before = await memoryAfter(() => some(16));
	// 64 rounds that leak are at least 256 MiB.
	const limit = before + 128 * 1024 * 1024;
	const after = await memoryAfter(() => some(64), limit);

	for (let i = 0; i < 3000 && threads() >= 64; i++)
		await sleep(20);
	assert.ok(threads() < 64, `${threads()} threads`);
	assert.ok(after < limit, `${before} bytes before, ${after} after`);
});

test('the event loop goes on beside the work, and ends without it', () => {
	const program = `const { ml } = require(${JSON.stringify(path.join(folder, 'index.js'))});
		ml.createContext({ deviceType: 'cpu' }).then((context) => console.log(context.constructor.name))`;

	assert.strictEqual(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }).trim(), 'MLContext');
});

test('worker threads have contexts of their own, and may end at any time', async () => {
	const program = `require(${JSON.stringify(path.join(folder, 'register.js'))});
		const { parentPort } = require('node:worker_threads');
		const vector = { dataType: 'float32', shape: [65536], readable: true };
		navigator.ml.createContext({ deviceType: 'cpu' }).then(async (context) => {
			const tensor = await context.createTensor(vector);
			parentPort.postMessage((await context.readTensor(tensor)).byteLength);
			for (;;)
				context.readTensor(tensor), await null;
		});`;

	await Promise.all(Array.from({ length: 6 }, async () => {
		const worker = new Worker(program, { eval: true });
		const message = await new Promise((resolve, reject) => {
			worker.on('message', resolve);
			worker.on('error', reject);
		});

		assert.strictEqual(message, 262144);
		await worker.terminate();
	}));
});

test('an exception in a callback is the process\'s, and the others still come', () => {
	const program = `const { ml } = require(${JSON.stringify(path.join(folder, 'index.js'))});
		process.on('uncaughtException', (error) => console.log(error.message));
		(async () => {
			const context = await ml.createContext({ deviceType: 'cpu' });
			context.createTensor({ dataType: 'int8', shape: [1] }).then(() => { queueMicrotask(() => { throw Error('mine'); }); });
			await context.createTensor({ dataType: 'int8', shape: [1] });
			console.log('after');
		})();`;

	assert.deepStrictEqual(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }).trim().split('\n'),
		['mine', 'after']);
});

test('messages name what a script has, not what C has', async () => {
	const npu = require(path.join(folder, 'npu.js'));
	const context = await ml.createContext({ deviceType: 'cpu' });
	const { graph } = await makeGraph(context);
	const told = [];
	const note = async (call, pattern) => assert.rejects(async () => call(), (error) => {
		told.push(error.message);
		return pattern.test(error.message);
	});

	if (!fs.existsSync('/dev/accel'))
		await note(() => ml.createContext({ deviceType: 'npu' }), /^deviceType asks for the device npu/);
	await note(() => ml.createContext({ deviceType: 'npu:63' }),
		/^deviceType asks for the device npu, but the NPU's node \/dev\/accel\/accel63 does not open: .*; NPUs that open: /);
	for (const deviceType of ['npu:', 'npu:x', 'npu:-1', ' npu:1'])
		await assert.rejects(ml.createContext({ deviceType }), /MLDeviceType/);
	await note(() => npu.profile(graph), /^profile: .*createProfilingContext\(\) makes one that does/);
	graph.destroy();
	await note(() => npu.placement(graph), /^placement: /);
	context.destroy();
	await note(() => context.createTensor(vector), /^createTensor: .*: destroy\(\) was called$/);
	await note(() => new MLGraphBuilder(context), /^MLGraphBuilder: .*: destroy\(\) was called$/);
	told.push((await context.lost).message);
	for (const message of told)
		assert.doesNotMatch(message, /wnn[A-Z]|WNN|NULL/);
});
