// SPDX-License-Identifier: MIT
//
// webnn-npu/onnx: loads ONNX models and builds WebNN graphs from them.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { fileURLToPath } = require('node:url');

const { native } = require('./native.js');
const { bufferSource, bytesOf, viewFits } = require('./buffer.js');
const contexts = require('./context.js');
const objects = require('./objects.js');
const { boolean, dictionary, fail, illegalConstructor, interfaceType, isObject, promise, sequence, unsignedLong,
	usvString } = require('./webidl.js');
const idl = require('./idl.js');

const key = Symbol('webnn-npu');
const contextType = interfaceType('MLContext', contexts.isContext);
const shapeType = sequence(unsignedLong);
const namesType = sequence(usvString);
const loadOptions = dictionary('OnnxLoadOptions', [['folder', usvString, '', false]]);
const buildOptions = dictionary('OnnxBuildOptions', [['seed', unsigned64, 0n, false]]);
const kinds = ['', 'tensor', 'sequence', 'optional', 'other'];
const INPUTS = 0;
const OUTPUTS = 1;
const RANDOM = 2;
const EMPTY = 3;

function unsigned64(value, where) {
	let number;

	try {
		number = BigInt(value);
	} catch {
		fail(where, 'Value is not an integer.');
	}
	if (number < 0n || number >= 2n ** 64n)
		fail(where, 'Value is outside the range of 64 bits without a sign.');
	return number;
}

function invalidState(where, message) {
	return new DOMException(`${where}: ${message}`, 'InvalidStateError');
}

// Returns the name of a data type; null for a type that only ONNX has, such as string.
function typeName(number) {
	return objects.typeNames[number] ?? null;
}

function valueInfo([name, kind, elementType, dataType, dimensions, fixed]) {
	return {
		name, kind: kinds[kind], elementType, dataType: typeName(dataType),
		shape: dimensions === -1 ? null : dimensions.map((size) => (size === '' ? null : size)), fixed: boolean(fixed),
	};
}

function values(handle, which) {
	return native.onnxValues(handle, which).map(valueInfo);
}

function descriptors(rows) {
	return Object.fromEntries(rows.map(([name, dataType, shape]) => [name, { dataType: typeName(dataType), shape }]));
}

// Returns the path or the bytes of a model from a path, a URL of a file, or bytes.
function sourceOf(source, where) {
	if (source instanceof URL) {
		if (source.protocol !== 'file:')
			fail(where, `${source.protocol} is no kind of URL that is read here: fetch the bytes, or give a file: URL.`);
		return path.resolve(fileURLToPath(source));
	}
	if (typeof source === 'string') {
		if (source.includes('\0'))
			fail(where, 'The path has a NUL in it.');
		return path.resolve(source);
	}
	if (!isObject(source))
		fail(where, 'A model is a path, a URL of a file, an ArrayBuffer or a view of one.');
	return bytesOf(bufferSource(source, where));
}

// Returns the bytes of data for elements of this type; refuses a view of another type, which would hold other numbers.
function dataOf(data, dataType, where) {
	const source = bufferSource(data, where);

	if (dataType !== null && !viewFits(source, dataType))
		throw contexts.wrongView(where, source, objects.typeNames.indexOf(dataType));
	return bytesOf(source);
}

class OnnxModel {
	#handle;
	#bytes;
	#busy = false;
	// The number of builds so far; the random inputs belong to the last build.
	#built = 0;

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('OnnxModel');
		this.#handle = init[1];
		this.#bytes = init[2];
	}

	static load(source, options) {
		const where = "Failed to execute 'load' on 'OnnxModel'";

		return promise((done) => {
			const { folder } = loadOptions(options, where);
			const model = sourceOf(source, where);
			// The approximate size of a graph, for the garbage collector: weights are most of the file.
			const bytes = typeof model === 'string' ? fs.statSync(model).size : model.length;

			native.onnxLoad(model, folder === '' ? '' : path.resolve(folder), (error, handle) => {
				done(error, error === undefined ? new OnnxModel(key, handle, bytes) : undefined);
			});
		});
	}

	// Throws while a graph of the model is being built, as one thread at a time may use a model. It is called after the
	// conversion of arguments, which may run a script that starts a build.
	#idle(name, type = 'OnnxModel') {
		if (this.#busy) {
			throw invalidState(`Failed to execute '${name}' on '${type}'`,
				'A graph of the model is being built: wait for the promise of build().');
		}
		return this.#handle;
	}

	#input(name, where) {
		const inputs = values(this.#handle, INPUTS);
		const input = inputs.find((item) => item.name === name);

		// Names of items of sequences, NAME/NUMBER, are left to the library.
		if (!input && !/\/\d+$/.test(name))
			fail(where, `The model has no input '${name}'; it has ${inputs.map((item) => item.name).join(', ') || 'none'}.`);
		return input;
	}

	get inputs() {
		return values(this.#idle('inputs'), INPUTS);
	}

	get outputs() {
		return values(this.#idle('outputs'), OUTPUTS);
	}

	get refusals() {
		return native.onnxReasons(this.#idle('refusals'), false)
			.map(([node, operator, attribute, reason, input]) => ({ node, operator, attribute, reason, input }));
	}

	get notices() {
		return native.onnxReasons(this.#idle('notices'), true)
			.map(([node, operator, , reason, input]) => ({ node, operator, reason, input }));
	}

	setDimension(name, size) {
		const where = "Failed to execute 'setDimension' on 'OnnxModel'";
		const text = usvString(name);
		const number = unsignedLong(size, where);

		native.onnxSetDimension(this.#idle('setDimension'), text, number);
		return this;
	}

	setShape(name, shape) {
		const where = "Failed to execute 'setShape' on 'OnnxModel'";
		const text = usvString(name);
		const sizes = shapeType(shape, where);

		native.onnxSetShape(this.#idle('setShape'), text, sizes);
		return this;
	}

	setValue(name, data) {
		const where = "Failed to execute 'setValue' on 'OnnxModel'";
		const text = usvString(name);
		const handle = this.#idle('setValue');
		const input = this.#input(text, where);

		native.onnxSetValue(handle, text,
			data === null ? undefined : dataOf(data, input ? input.dataType : null, where));
		return this;
	}

	setOutputs(names) {
		const where = "Failed to execute 'setOutputs' on 'OnnxModel'";
		const texts = namesType(names, where);

		native.onnxSetOutputs(this.#idle('setOutputs'), texts);
		return this;
	}

	build(context, options) {
		const where = "Failed to execute 'build' on 'OnnxModel'";

		return promise((done) => {
			const target = contexts.contextHandle(contextType(context, where));
			const { seed } = buildOptions(options, where);
			const handle = this.#idle('build');
			const open = values(handle, INPUTS).find(({ kind, shape }) =>
				kind === 'tensor' && shape && shape.some((size) => typeof size !== 'number'));

			if (open) {
				fail(where, `The input '${open.name}' has the shape [${open.shape.map((size) => size ?? '?').join(', ')}]: ` +
					'setDimension() or setShape() says how large it is.');
			}
			native.onnxBuild(handle, target, this.#bytes, (error, graph) => {
				this.#busy = false;
				// This function keeps the context alive, because the building thread uses it.
				done(error, error === undefined ? this.#finish(context, graph, seed) : undefined);
			});
			this.#busy = true;
		});
	}

	#finish(context, graph, seed) {
		const number = ++this.#built;
		const random = values(this.#handle, RANDOM).map(({ name }) => name);
		const draw = (name, dispatch, bytes) => {
			if (number !== this.#built)
				throw invalidState("Failed to execute 'run' on 'OnnxGraph'",
					'Its random numbers are those of the model, of which another graph was built since.');
			native.onnxDraw(this.#idle('run', 'OnnxGraph'), name, seed, dispatch, bytes);
		};

		return new OnnxGraph(key, context, graph, { names: random, draw }, values(this.#handle, EMPTY));
	}
}

// Returns an array of a data type over bytes.
function arrayOf(dataType, bytes) {
	const View = globalThis[idl.views[dataType]] ?? Uint16Array;

	return new View(bytes);
}

class OnnxGraph {
	#context;
	#graph;
	#inputs;
	#outputs;
	#random;
	#empty;
	// Sets of tensors that finished runs have left for later ones.
	#sets = [];
	#dispatches = 0n;

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('OnnxGraph');
		const [, context, handle, random, empty] = init;
		const [inputs, outputs] = native.graphDescriptors(handle).map(descriptors);

		this.#context = context;
		this.#graph = objects.createGraph(handle);
		this.#inputs = inputs;
		this.#outputs = outputs;
		this.#random = random;
		this.#empty = empty;
	}

	get context() {
		return this.#context;
	}

	get graph() {
		return this.#graph;
	}

	get inputs() {
		return structuredClone(this.#inputs);
	}

	get outputs() {
		return structuredClone(this.#outputs);
	}

	async #tensors() {
		const set = this.#sets.pop();
		const make = async (list, usage) => Object.fromEntries(await Promise.all(Object.entries(list).map(
			async ([name, descriptor]) => [name, await this.#context.createTensor({ ...descriptor, ...usage })])));

		return set ?? { inputs: await make(this.#inputs, { writable: true }), outputs: await make(this.#outputs, { readable: true }) };
	}

	// Returns the bytes of each input; refuses other names.
	#bytes(feeds, where) {
		if (!isObject(feeds))
			fail(where, 'Inputs are an object: names with their data.');
		for (const name of Object.keys(feeds)) {
			if (!Object.hasOwn(this.#inputs, name) || this.#random.names.includes(name))
				fail(where, `The graph has no input '${name}'; it has ${this.#given().join(', ') || 'none'}.`);
		}
		return new Map(this.#given().map((name) => {
			const { dataType, shape } = this.#inputs[name];

			if (feeds[name] === undefined || feeds[name] === null)
				fail(where, `The input '${name}' is missing: it is ${dataType} [${shape}].`);
			const bytes = dataOf(feeds[name], dataType, `${where}: input '${name}'`);
			const size = contexts.byteLength(this.#inputs[name]);

			if (bytes.length !== size)
				fail(where, `The input '${name}' has ${bytes.length} bytes, and ${dataType} [${shape}] has ${size}.`);
			return [name, bytes];
		}));
	}

	#given() {
		return Object.keys(this.#inputs).filter((name) => !this.#random.names.includes(name));
	}

	async run(feeds = {}) {
		const where = "Failed to execute 'run' on 'OnnxGraph'";
		// Copies the data, because a script may change its arrays while the tensors are created.
		const data = new Map([...this.#bytes(feeds, where)].map(([name, bytes]) => [name, bytes.slice()]));
		const dispatch = this.#dispatches++;
		const tensors = await this.#tensors();

		for (const name of this.#random.names) {
			data.set(name, new Uint8Array(contexts.byteLength(this.#inputs[name])));
			this.#random.draw(name, dispatch, data.get(name));
		}
		for (const [name, bytes] of data)
			this.#context.writeTensor(tensors.inputs[name], bytes);
		this.#context.dispatch(this.#graph, tensors.inputs, tensors.outputs);
		const results = await Promise.all(Object.entries(tensors.outputs).map(async ([name, tensor]) =>
			[name, arrayOf(this.#outputs[name].dataType, await this.#context.readTensor(tensor))]));

		this.#sets.push(tensors);
		return Object.fromEntries([...results, ...this.#empty.map(({ name, dataType }) => [name, arrayOf(dataType ?? 'uint8', 0)])]);
	}

	destroy() {
		for (const { inputs, outputs } of this.#sets.splice(0))
			[...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.destroy());
		this.#graph.destroy();
	}
}

if (!native.onnxLoad)
	throw new DOMException('webnn-npu was built without libwebnn-onnx, which reads models of ONNX.', 'NotSupportedError');

module.exports = { OnnxGraph, OnnxModel };
