// SPDX-License-Identifier: MIT
//
// Tests the conversions of Web IDL where a script can see them: the order of reads, ranges,
// defaults, iterators, buffers, and that a script that replaces built-in functions changes nothing.
'use strict';

const assert = require('node:assert');
const path = require('node:path');
const test = require('node:test');
const { MessageChannel } = require('node:worker_threads');

const { ml, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor } = require(path.join(process.argv[2], 'index.js'));

const float = (shape) => ({ dataType: 'float32', shape });
let context;

test.before(async () => {
	context = await ml.createContext({ deviceType: 'cpu' });
});

function builderWithInput(shape = [1, 4, 4, 4]) {
	const builder = new MLGraphBuilder(context);

	return { builder, x: builder.input('x', float(shape)) };
}

// Returns a proxy of the object that logs which of its properties are read.
function recorder(target, log, name) {
	return new Proxy(target, {
		get(object, key) {
			log.push(`${name}.${String(key)}`);
			return object[key];
		},
	});
}

test('dictionaries are read in lexicographical order, inherited members first', () => {
	const { builder, x } = builderWithInput();
	const filter = builder.input('f', float([4, 4, 1, 1]));
	const log = [];

	builder.conv2d(x, filter, recorder({}, log, 'o'));
	assert.deepStrictEqual(log, ['o.label', 'o.bias', 'o.dilations', 'o.filterLayout', 'o.groups', 'o.inputLayout',
		'o.padding', 'o.strides']);
});

test('arguments are converted from left to right, and all before anything is done', () => {
	const { builder } = builderWithInput();
	const log = [];
	const shape = { [Symbol.iterator]() {
		log.push('shape');
		return [][Symbol.iterator]();
	} };

	assert.throws(() => builder.input({ toString() {
		log.push('name');
		return 'n';
	} }, recorder({ dataType: 'float32', shape }, log, 'd')).shape.x.y, TypeError);
	assert.deepStrictEqual(log, ['name', 'd.dataType', 'd.shape', 'shape']);
});

test('[EnforceRange] refuses what is no integer of the range and truncates fractions', () => {
	const { builder, x } = builderWithInput();

	for (const value of [-1, 4294967296, NaN, Infinity, -Infinity, 2 ** 53, 'abc', {}, 1n, Symbol('s')])
		assert.throws(() => builder.softmax(x, value), TypeError, String(value));
	assert.throws(() => builder.softmax(x, undefined), TypeError);
	builder.softmax(x, 1.9);
	builder.softmax(x, -0.5);
	builder.softmax(x, '1');
	builder.softmax(x, null);
});

test('what has no [EnforceRange] wraps modulo 2^32', () => {
	const { builder, x } = builderWithInput();

	builder.cumulativeSum(x, 4294967296 + 1);
	assert.throws(() => builder.cumulativeSum(x, -1), /rank|axis/);
	assert.deepStrictEqual(builder.tile(x, [4294967297, 1, 1, 2]).shape, [1, 4, 4, 8]);
});

test('doubles must be finite, numbers need not', () => {
	const { builder, x } = builderWithInput();

	assert.throws(() => builder.elu(x, { alpha: NaN }), /non-finite/);
	assert.throws(() => builder.linear(x, { beta: Infinity }), /non-finite/);
	assert.throws(() => builder.resample2d(x, { scales: [1e39, 1] }), /non-finite/);
	builder.clamp(x, { minValue: -Infinity, maxValue: 10n ** 30n });
	builder.constant('int64', 2n ** 63n);
	builder.constant('uint64', 2n ** 64n - 1n);
	builder.constant('float16', NaN);
	assert.throws(() => builder.constant('int8', Symbol('s')), TypeError);
});

test('enumerations and required members have their errors', () => {
	const { builder, x } = builderWithInput();

	assert.throws(() => builder.cast(x, 'float64'), /'float64' is not a valid enum value of type MLOperandDataType/);
	assert.throws(() => builder.input('y', {}), /'dataType' property from 'MLOperandDescriptor': Required member/);
	assert.throws(() => builder.input('y', { dataType: 'int8' }), /'shape' property/);
	assert.throws(() => builder.relu(x, 1), /not of type 'MLOperatorOptions'/);
	assert.throws(() => builder.relu(), /1 argument required, but only 0 present/);
	assert.throws(() => builder.relu({}), /not of type 'MLOperand'/);
	builder.relu(x, null);
	builder.relu(x, () => {});
});

test('sequences take any iterable, once, and do not close it', () => {
	const { builder, x } = builderWithInput();
	let closed = false;
	let steps = 0;

	assert.deepStrictEqual(builder.reshape(x, new Set([16, 4])).shape, [16, 4]);
	assert.throws(() => builder.reshape(x, 'ab'), TypeError);
	assert.throws(() => builder.reshape(x, { length: 0 }), /@@iterator/);
	assert.throws(() => builder.reshape(x, { [Symbol.iterator]: 1 }), TypeError);
	assert.throws(() => builder.reshape(x, { [Symbol.iterator]: () => ({
		next: () => ({ value: ++steps === 3 ? -1 : 4, done: false }),
		return: () => {
			closed = true;
		},
	}) }), TypeError);
	assert.strictEqual(steps, 3);
	assert.strictEqual(closed, false);
});

test('split takes a number or a sequence', () => {
	const { builder, x } = builderWithInput();

	assert.deepStrictEqual(builder.split(x, 2, { axis: 1 }).map((part) => part.shape), [[1, 2, 4, 4], [1, 2, 4, 4]]);
	assert.deepStrictEqual(builder.split(x, [1, 3], { axis: 1 }).map((part) => part.shape[1]), [1, 3]);
	assert.ok(Array.isArray(builder.split(x, 1)));
	for (const splits of [0, [], 8193, 4294967295, -1, NaN, [0, 4], {}])
		assert.throws(() => builder.split(x, splits, { axis: 1 }), TypeError);
});

test('records keep the order of keys and leave out what cannot be enumerated', async () => {
	const { builder, x } = builderWithInput([2]);
	const hidden = Object.defineProperty({ y: builder.relu(x) }, 'z', { value: 1, enumerable: false });

	await builder.build(hidden);
	const { builder: other, x: y } = builderWithInput([2]);

	await assert.rejects(other.build({ [Symbol('s')]: other.relu(y) }), TypeError);
	await assert.rejects(other.build({ a: 1 }), TypeError);
	await assert.rejects(other.build(), /1 argument required/);
	await assert.rejects(other.build({}), TypeError);
});

test('what a script throws in a conversion comes out, and leaves the builder as it was', () => {
	const { builder, x } = builderWithInput();
	const mine = new Error('mine');
	const throwing = { get alpha() {
		throw mine;
	} };

	assert.throws(() => builder.elu(x, throwing), (error) => error === mine);
	assert.throws(() => builder.concat({ [Symbol.iterator]() {
		throw mine;
	} }, 0), (error) => error === mine);
	builder.elu(x);
});

test('buffers: every kind that the IDL allows, none that is resizable', async () => {
	const builder = new MLGraphBuilder(context);
	const shape = [4];
	const make = (dataType, data) => builder.constant({ dataType, shape }, data);

	make('float32', new Float32Array(4));
	make('float32', new ArrayBuffer(16));
	make('float32', new SharedArrayBuffer(16));
	make('float32', new Float32Array(new SharedArrayBuffer(32), 8, 4));
	make('float32', new Uint8Array(16));
	make('float16', new Uint16Array(4));
	make('int64', new BigInt64Array(4));
	make('uint64', new BigUint64Array(4));
	for (const wrong of [new Int32Array(4), new DataView(new ArrayBuffer(16)), new Uint8ClampedArray(16)])
		assert.throws(() => make('float32', wrong), /does not fit/);
	for (const wrong of [new Float32Array(3), new ArrayBuffer(17), 16, null, undefined, {}, 'text'])
		assert.throws(() => make('float32', wrong), TypeError);
	assert.throws(() => make('float32', new ArrayBuffer(16, { maxByteLength: 32 })), /resizable/);
	assert.throws(() => make('float32', new Float32Array(new ArrayBuffer(16, { maxByteLength: 32 }))), /resizable/);
	assert.throws(() => make('float32', new SharedArrayBuffer(16, { maxByteLength: 32 })), /resizable/);
	const detached = new Float32Array(4);

	new MessageChannel().port1.postMessage(null, [detached.buffer]);
	assert.throws(() => make('float32', detached), TypeError);
});

test('methods refuse a wrong this; those that give promises reject', async () => {
	assert.throws(() => MLGraphBuilder.prototype.relu.call({}), /Illegal invocation/);
	assert.throws(() => MLContext.prototype.destroy.call(null), /Illegal invocation/);
	assert.throws(() => MLTensor.prototype.destroy.call(new Proxy({}, {})), /Illegal invocation/);
	assert.throws(() => Object.getOwnPropertyDescriptor(MLOperand.prototype, 'shape').get.call(1), /Illegal/);
	await assert.rejects(MLContext.prototype.createTensor.call({}, {}), /Illegal invocation/);
	await assert.rejects(Object.getOwnPropertyDescriptor(MLContext.prototype, 'lost').get.call({}), TypeError);
	for (const constructor of [MLContext, MLGraph, MLOperand, MLTensor])
		assert.throws(() => new constructor(), /Illegal constructor/);
	assert.throws(() => new MLGraphBuilder({}), TypeError);
	assert.throws(() => MLGraphBuilder(context), TypeError);
});

test('replaced built-in functions change nothing', async () => {
	const saved = { iterator: Array.prototype[Symbol.iterator], push: Array.prototype.push };

	Array.prototype.push = () => assert.fail('push');
	Object.defineProperty(Array.prototype, 0, { set: () => assert.fail('setter'), configurable: true });
	try {
		const { builder, x } = builderWithInput(new Set([2, 3]));

		builder.reshape(x, new Set([3, 2]));
		builder.concat(new Set([x, x]), 0);
	} finally {
		delete Array.prototype[0];
		Array.prototype.push = saved.push;
	}
});

test('labels and names: lone surrogates are replaced, NUL is allowed', async () => {
	const builder = new MLGraphBuilder(context);
	const x = builder.input('in\0\x01\ud800', float([1]));
	const graph = await builder.build({ 'out\0': builder.relu(x) });
	const options = { dataType: 'float32', shape: [1] };
	const from = await context.createTensor({ ...options, writable: true });
	const to = await context.createTensor({ ...options, readable: true });

	context.writeTensor(from, new Float32Array([3]));
	context.dispatch(graph, { 'in\0\x01\ufffd': from }, { 'out\0': to });
	assert.strictEqual(new Float32Array(await context.readTensor(to))[0], 3);
	const other = new MLGraphBuilder(context);
	const y = other.input('y', float([2]));

	assert.throws(() => other.softmax(y, 5, { label: 'mine' }), /softmax \[mine\]: /);
});
