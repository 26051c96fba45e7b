// SPDX-License-Identifier: MIT
//
// ML and MLContext.
'use strict';

const { native, escapeName, inScript } = require('./native.js');
const { bufferSource, bytesOf, copyInto, viewFits } = require('./buffer.js');
const { supportLimits } = require('./limits.js');
const objects = require('./objects.js');
const { boolean, dictionary, enumeration, fail, finish, illegalConstructor, illegalInvocation, isObject, list,
	promise, requireArguments } = require('./webidl.js');
const idl = require('./idl.js');

const key = Symbol('webnn-npu');
const NativeTypeError = TypeError;
const access = {};

function handles(tensors) {
	const result = list();

	for (let i = 0; i < tensors.length; i++)
		result[i] = objects.tensorHandle(tensors[i]);
	return result;
}

function escaped(names) {
	for (let i = 0; i < names.length; i++)
		names[i] = escapeName(names[i]);
	return names;
}

// Returns a promise and the function that settles it. The addon holds that function as long as the context lives, so
// that the function must not refer to the context.
function lostPromise() {
	let told;
	const lost = promise((done) => {
		told = (error, message) => done(error, error === undefined ? { message: inScript(message) } : undefined);
	});

	return [lost, told];
}

class MLContext {
	#handle;
	#lost;
	#reads = new objects.PendingReads();

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('MLContext');
		this.#handle = init[1];
		const [lost, told] = lostPromise();

		native.contextLost(this.#handle, told);
		this.#lost = lost;
	}

	get accelerated() {
		if (!isContext(this))
			illegalInvocation();
		return native.contextAccelerated(this.#handle);
	}

	get lost() {
		// An attribute whose type is a promise returns a rejected promise instead of throwing.
		if (!isContext(this))
			return promise(illegalInvocation);
		return this.#lost;
	}

	dispatch(graph, inputs, outputs) {
		const where = "Failed to execute 'dispatch' on 'MLContext'";

		if (!isContext(this))
			illegalInvocation();
		requireArguments(where, 3, arguments.length);
		const graphObject = objects.graphType(graph, where);
		const inputTensors = objects.namedTensors(inputs, where);
		const outputTensors = objects.namedTensors(outputs, where);

		native.dispatch(this.#handle, objects.graphHandle(graphObject), escaped(inputTensors.names),
			handles(inputTensors.values), escaped(outputTensors.names), handles(outputTensors.values));
	}

	createTensor(descriptor) {
		const where = "Failed to execute 'createTensor' on 'MLContext'";
		const given = arguments.length;

		return promise((done) => {
			if (!isContext(this))
				illegalInvocation();
			requireArguments(where, 1, given);
			const { dataType, shape, readable, writable } = objects.tensorDescriptorType(descriptor, where);

			native.createTensor(this.#handle, dataType, shape, readable, writable, (error, handle) => {
				done(error, error === undefined ?
					objects.createTensor(handle, dataType, shape, readable, writable, false) : undefined);
			});
		});
	}

	createConstantTensor(descriptor, inputData) {
		const where = "Failed to execute 'createConstantTensor' on 'MLContext'";
		const given = arguments.length;

		return promise((done) => {
			if (!isContext(this))
				illegalInvocation();
			requireArguments(where, 2, given);
			const { dataType, shape } = objects.operandDescriptor(descriptor, where);
			const data = bufferSource(inputData, where);
			const fits = viewFits(data, objects.typeNames[dataType]);

			// A view of a wrong type is refused, but only after the checks of the library that come before.
			native.createConstantTensor(this.#handle, dataType, shape, fits ? bytesOf(data) : new Uint8Array(0),
				(error, handle) => {
					if (error instanceof NativeTypeError && !fits)
						error = wrongView(where, data, dataType);
					done(error, error === undefined ?
						objects.createTensor(handle, dataType, shape, false, false, true) : undefined);
				});
		});
	}

	readTensor(tensor) {
		const where = "Failed to execute 'readTensor' on 'MLContext'";
		const given = arguments.length;
		const outputData = arguments[1];

		return promise((done, reject) => {
			if (!isContext(this))
				illegalInvocation();
			requireArguments(where, 1, given);
			const source = objects.tensorType(tensor, where);

			// Web IDL's overload resolution ignores an optional argument that is undefined.
			if (given === 1) {
				this.#read(source, done, reject);
				return;
			}
			const target = bufferSource(outputData, where);

			// As in browsers, only the number of bytes is checked: onnxruntime-web reads into an Int8Array.
			const size = byteLength(source);

			if (bytesOf(target).length !== size)
				fail(where, `outputData has ${bytesOf(target).length} bytes, the tensor has ${size}.`);
			this.#read(source, (error, data) => {
				if (error === undefined) {
					const bytes = bytesOf(target);

					if (bytes.length === size)
						copyInto(bytes, data);
					else
						error = new NativeTypeError(`${where}: outputData was detached meanwhile.`);
				}
				done(error, undefined);
			}, reject);
		});
	}

	// Starts a read, which is rejected at once when the tensor or the context is destroyed.
	#read(tensor, done, reject) {
		const lists = [this.#reads, objects.tensorReads(tensor)];

		native.readTensor(this.#handle, objects.tensorHandle(tensor), (error, data) => {
			lists[0].remove(reject);
			lists[1].remove(reject);
			done(error, data);
		});
		lists[0].add(reject);
		lists[1].add(reject);
	}

	writeTensor(tensor, inputData) {
		const where = "Failed to execute 'writeTensor' on 'MLContext'";

		if (!isContext(this))
			illegalInvocation();
		requireArguments(where, 2, arguments.length);
		const target = objects.tensorType(tensor, where);
		const data = bufferSource(inputData, where);

		// Views of any type are allowed, as in readTensor().
		native.writeTensor(this.#handle, objects.tensorHandle(target), bytesOf(data));
	}

	opSupportLimits() {
		if (!isContext(this))
			illegalInvocation();
		return supportLimits(native.contextLimits(this.#handle));
	}

	destroy() {
		if (!isContext(this))
			illegalInvocation();
		native.contextDestroy(this.#handle);
		this.#reads.rejectAll('The context was destroyed before the tensor was read.');
	}

	static {
		access.isContext = (value) => value !== null && typeof value === 'object' && #handle in value;
		access.contextHandle = (context) => context.#handle;
		access.createContext = (handle) => new MLContext(key, handle);
	}
}

const { isContext } = access;

function wrongView(where, data, dataType) {
	return new NativeTypeError(`${where}: The type of the view, ${data.name}, does not fit ` +
		`the data type, ${objects.typeNames[dataType]}.`);
}

const elementBits = { float32: 32, float16: 16, int32: 32, uint32: 32, int64: 64, uint64: 64, int8: 8, uint8: 8, int4: 4,
	uint4: 4 };

function byteLength(tensor) {
	let bits = elementBits[tensor.dataType];

	for (let i = 0; i < tensor.shape.length; i++)
		bits *= tensor.shape[i];
	return (bits + 7 - (bits + 7) % 8) / 8;
}

const toNamedType = enumeration('MLDeviceType', { cpu: 'cpu', gpu: 'gpu', npu: 'npu', sim: 'sim' });

// Returns whether a text is "npu:" and a number.
function isNumberedNpu(text) {
	for (let i = 0; i < text.length; i++) {
		if (i < 4 ? text[i] !== 'npu:'[i] : text[i] < '0' || text[i] > '9')
			return false;
	}
	return text.length > 4;
}

// Converts a deviceType. "npu:1" is an extension; the library tells whether there is such an NPU.
function toDeviceType(value, where) {
	const text = `${value}`;

	return isNumberedNpu(text) ? text : toNamedType(text, where);
}

// Options of createContext() with extensions: deviceType with "sim" and "npu:1", and members of earlier drafts. The members are
// sorted by name.
const contextOptions = dictionary('MLContextOptions', [
	['accelerated', boolean, true, false],
	['deviceType', toDeviceType, undefined, false],
	['powerPreference', enumeration('MLPowerPreference', idl.enums.MLPowerPreference),
		idl.enums.MLPowerPreference.default, false],
]);

// Returns the library's name of the device to open. WEBNN_DEVICE has priority, because a page does not know the
// machine. There is no GPU here, so that "gpu" leaves the choice to the library.
function deviceOf(deviceType) {
	if (process.env.WEBNN_DEVICE || deviceType === undefined || deviceType === 'gpu')
		return '';
	return deviceType;
}

class ML {
	#brand;

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('ML');
	}

	createContext() {
		const where = "Failed to execute 'createContext' on 'ML'";
		const argument = arguments[0];

		// openContext() returns a promise, which is rejected when something in it throws.
		return isObject(this) && #brand in this ? openContext(argument, where, false) : promise(illegalInvocation);
	}
}

// Opens a context. profile is an extension: graphs of the context keep profiles of their dispatches.
function openContext(argument, where, profile) {
	return promise((done) => {
		if (isGpuDevice(argument)) {
			done(new DOMException('No WebGPU device can share memory with this library.', 'NotSupportedError'));
			return;
		}
		const { accelerated, deviceType, powerPreference } = contextOptions(argument, where);

		native.createContext(powerPreference, accelerated, deviceOf(deviceType), profile, (error, handle) => {
			done(error, error === undefined ? access.createContext(handle) : undefined);
		});
	});
}

function isGpuDevice(value) {
	const constructor = globalThis.GPUDevice;

	return isObject(value) && typeof constructor === 'function' && value instanceof constructor;
}

finish(MLContext, 'MLContext');
finish(ML, 'ML');

module.exports = { ...access, byteLength, ML, MLContext, ml: new ML(key), openContext, wrongView };
