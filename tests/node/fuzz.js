// SPDX-License-Identifier: MIT
//
// Tests hostile scripts: fuzz.js PACKAGE [SECONDS [SEED]]. Calls everything with values that throw,
// detach buffers, destroy objects, re-enter, or are no numbers, and checks that each error is one
// that Web IDL and the specification allow: a TypeError, a DOMException of a known name, or the
// error that the script threw.
'use strict';

const path = require('node:path');

const { ml, MLGraphBuilder, MLContext, MLTensor, MLGraph, MLOperand } = require(path.resolve(process.argv[2], 'index.js'));
const idl = require(path.resolve(process.argv[2], 'idl.js'));
const seconds = Number(process.argv[3] || 10);
const seed = Number(process.argv[4] || Date.now() % 2 ** 31);

const NAMES = new Set(['InvalidStateError', 'NotSupportedError', 'OperationError', 'UnknownError', 'DataCloneError']);
const MINE = new Error('thrown by the script');

let state = seed;

// Returns a random integer from 0 to limit - 1, by xorshift: the same seed makes the same calls.
function random(limit) {
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	return (state >>> 0) % limit;
}

function pick(list) {
	return list[random(list.length)];
}

const pool = { contexts: [], builders: [], operands: [], tensors: [], graphs: [], buffers: [] };
let calls = 0;
let succeeded = 0;
let pending = 0;
let depth = 0;

function keep(kind, item) {
	if (pool[kind].length > 40)
		pool[kind].splice(random(40), 1);
	pool[kind].push(item);
}

function check(error, what) {
	if (error === MINE || (error instanceof TypeError && !/ERR_WEBNN_INTERNAL/.test(error.code)) ||
		(error instanceof DOMException && NAMES.has(error.name)) ||
		// A RangeError may come from the fuzzer's own recursion and giant arrays.
		(error instanceof RangeError && !/webnn/.test(error.stack.split('\n')[1])))
		return;
	console.error(`seed ${seed}, call ${calls}: ${what}:`, error);
	process.exit(1);
}

// Disturbs the conversion of an argument: throws, detaches a buffer, destroys an object or makes
// another call.
function disturb() {
	switch (random(8)) {
	case 0:
		throw MINE;
	case 1: {
		const buffer = pick(pool.buffers);

		if (buffer instanceof ArrayBuffer)
			structuredClone(buffer, { transfer: [buffer] });
		break;
	}
	case 2:
		pick(pool.tensors)?.destroy();
		break;
	case 3:
		pick(pool.graphs)?.destroy();
		break;
	case 4:
		if (random(20) === 0)
			pick(pool.contexts)?.destroy();
		break;
	default:
		if (depth < 3)
			step();
	}
}

const NUMBERS = [0, 1, 2, 3, 4, 8, -1, -0, 0.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 32 - 1, 2 ** 53, -(2 ** 53),
	1e308, 5e-324, 1n, -1n, 2n ** 64n, 2n ** 200n, '3', '', 'NaN', null, undefined, true];

function hostileNumber() {
	return { valueOf() {
		disturb();
		return random(4);
	} };
}

function anyNumber() {
	return random(12) ? pick(NUMBERS) : hostileNumber();
}

function smallShape() {
	return Array.from({ length: random(5) }, () => 1 + random(4));
}

function anyList() {
	switch (random(8)) {
	case 0:
		return Array.from({ length: random(6) }, anyNumber);
	case 1:
		return { * [Symbol.iterator]() {
			for (let i = random(5); i; i--) {
				disturb();
				yield random(4);
			}
		} };
	case 2:
		return new Proxy(smallShape(), { get(target, key, receiver) {
			disturb();
			return Reflect.get(target, key, receiver);
		} });
	case 3:
		return pick([undefined, null, 1, 'ab', {}, { length: 2 ** 53 }, { [Symbol.iterator]: 1 }]);
	default:
		return smallShape();
	}
}

function anyBuffer() {
	if (random(3) === 0 && pool.buffers.length)
		return pick(pool.buffers);
	const size = random(2) ? 4 * (1 << random(6)) : random(100);
	const buffer = pick([() => new ArrayBuffer(size), () => new SharedArrayBuffer(size),
		() => new ArrayBuffer(size, { maxByteLength: size + random(8) })])();

	keep('buffers', buffer);
	const View = pick([null, Float32Array, Uint8Array, Int8Array, DataView, Uint16Array, BigInt64Array]);

	if (!View)
		return buffer;
	return View === DataView ? new View(buffer) : new View(buffer, 0, Math.floor(size / View.BYTES_PER_ELEMENT));
}

function anyType() {
	return random(20) ? pick(['float32', 'float32', 'float32', 'float16', 'int32', 'int64', 'int8', 'uint8']) :
		pick(['', 'float64', null, Symbol('s'), { toString: disturb }]);
}

function hostile(object) {
	return random(6) ? object : new Proxy(object, {
		get(target, key) {
			disturb();
			return target[key];
		},
		ownKeys(target) {
			disturb();
			return Reflect.ownKeys(target);
		},
		getOwnPropertyDescriptor(target, key) {
			disturb();
			return Reflect.getOwnPropertyDescriptor(target, key);
		},
	});
}

function descriptor() {
	return hostile({ dataType: anyType(), shape: random(3) ? smallShape() : anyList(), readable: random(4) > 0,
		writable: random(4) > 0 });
}

function anyValue(type) {
	if (random(25) === 0)
		return pick([undefined, null, {}, 1, Symbol('s'), pick(pool.tensors), hostileNumber()]);
	if (type === 'MLOperand')
		return pick(pool.operands);
	if (type === 'sequence<MLOperand>')
		return [pick(pool.operands), pick(pool.operands)];
	if (type === 'sequence<float>')
		return [1 + random(3), anyNumber()];
	if (type.includes('sequence<unsigned long>') || type.includes('sequence<wrapping'))
		return anyList();
	if (type === 'boolean')
		return pick([true, false, 0, 'x']);
	if (type === 'MLOperandDataType')
		return anyType();
	if (type.startsWith('sequence<ML'))
		return Array.from({ length: random(4) }, () => pick(['relu', 'tanh', 'sigmoid', 'none']));
	if (idl.enums[type])
		return pick([...Object.keys(idl.enums[type]), 'other']);
	return random(3) ? random(4) : anyNumber();
}

function options(name) {
	const result = random(4) ? {} : { label: pick(['label', '\ud800', '\0', { toString: disturb }]) };

	for (const [member, type] of idl.dictionaries[name] || []) {
		if (random(3) === 0)
			result[member] = anyValue(type);
	}
	return random(10) ? hostile(result) : pick([undefined, null, 1, () => {}]);
}

function named(items) {
	const result = {};

	for (let i = random(3); i; i--)
		result[pick(['x', 'y', 'z', '', '\0'])] = pick(items);
	return hostile(result);
}

function track(promise, then) {
	pending++;
	promise.then(then, (error) => check(error, 'promise')).finally(() => pending--);
}

const ACTIONS = [
	() => track(ml.createContext(hostile({ deviceType: 'cpu' })), (context) => keep('contexts', context)),
	() => keep('builders', new MLGraphBuilder(pick(pool.contexts))),
	() => keep('operands', pick(pool.builders).input(pick(['x', 'y', 'z', '', '\0', `i${calls}`]), descriptor())),
	() => keep('operands', pick(pool.builders).constant(descriptor(), anyBuffer())),
	() => keep('operands', pick(pool.builders).constant(anyType(), anyNumber())),
	() => keep('operands', pick(pool.builders).constant(pick(pool.tensors))),
	() => track(pick(pool.builders).build(named(pool.operands)), (graph) => keep('graphs', graph)),
	() => track(pick(pool.contexts).createTensor(descriptor()), (tensor) => keep('tensors', tensor)),
	() => track(pick(pool.contexts).createConstantTensor(descriptor(), anyBuffer()), (tensor) => keep('tensors', tensor)),
	() => track(pick(pool.contexts).readTensor(pick(pool.tensors)), () => {}),
	() => track(pick(pool.contexts).readTensor(pick(pool.tensors), anyBuffer()), () => {}),
	() => pick(pool.contexts).writeTensor(pick(pool.tensors), anyBuffer()),
	() => pick(pool.contexts).dispatch(pick(pool.graphs), named(pool.tensors), named(pool.tensors)),
	() => pick(pool.operands).shape.length,
	() => disturb(),
	() => pick([MLGraphBuilder, MLContext, MLTensor, MLGraph, MLOperand]).prototype[pick(['destroy', 'relu', 'shape'])]
		.call(pick([{}, null, pick(pool.tensors)])),
];

function operator() {
	const entry = pick(idl.operators);
	const given = entry.arguments.map(([, type]) => anyValue(type));

	if (random(30) === 0)
		given.pop();
	else
		given.push(options(entry.options));
	const result = pick(pool.builders)[entry.name](...given);

	for (const operand of Array.isArray(result) ? result.slice(0, 4) : [result])
		keep('operands', operand);
}

function step() {
	calls++;
	depth++;
	try {
		if (random(3))
			operator();
		else
			pick(ACTIONS)();
		succeeded++;
	} finally {
		depth--;
	}
}

// Makes a new context and builder: after some time, most older ones are lost or have built.
async function refresh() {
	const context = await ml.createContext({ deviceType: 'cpu' });

	pool.contexts = [context];
	pool.builders = [new MLGraphBuilder(context)];
	pool.operands = [pool.builders[0].input('x', { dataType: 'float32', shape: [2, 3, 4, 4] }),
		pool.builders[0].input('y', { dataType: 'float32', shape: [3, 3, 1, 1] })];
	pool.tensors = [await context.createTensor({ dataType: 'float32', shape: [2], readable: true, writable: true })];
}

async function main() {
	const end = Date.now() + seconds * 1000;

	process.on('uncaughtException', (error) => check(error, 'uncaught'));
	while (Date.now() < end) {
		await refresh();
		for (let i = 0; i < 400; i++) {
			try {
				step();
			} catch (error) {
				check(error, 'call');
			}
			if (i % 40 === 0)
				await new Promise(setImmediate);
		}
		while (pending > 0)
			await new Promise(setImmediate);
		if (global.gc && random(4) === 0)
			global.gc();
	}
	console.log(`fuzz: ${calls} calls, of which ${succeeded} succeeded, seed ${seed}: nothing but what the specification says`);
}

main().then(() => process.exit(0));
