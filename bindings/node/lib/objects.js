// SPDX-License-Identifier: MIT
//
// MLOperand, MLTensor and MLGraph: handles of the addon with their attributes. Scripts cannot make
// them; the functions below do.
'use strict';

const { native } = require('./native.js');
const { apply, enumeration, fail, finish, frozenArray, illegalConstructor, illegalInvocation, list, record, interfaceType,
	sequence, unsignedLong, dictionary, boolean } = require('./webidl.js');
const idl = require('./idl.js');

const NativeDOMException = DOMException;
const NativeSet = Set;
const { add: setAdd, delete: setDelete, forEach: setForEach } = Set.prototype;
const key = Symbol('webnn-npu');
const typeNames = [];

for (const [name, value] of Object.entries(idl.enums.MLOperandDataType))
	typeNames[value] = name;

const access = {};

class MLOperand {
	#builder;
	#place;
	#dataType;
	#shape;

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('MLOperand');
		this.#builder = init[1];
		this.#place = init[2];
	}

	get dataType() {
		if (!isOperand(this))
			illegalInvocation();
		this.#read();
		return this.#dataType;
	}

	get shape() {
		if (!isOperand(this))
			illegalInvocation();
		this.#read();
		return this.#shape;
	}

	// Type and shape are read on demand, because scripts ask few operands for them.
	#read() {
		if (this.#shape)
			return;
		const numbers = native.operandInfo(this.#builder, this.#place);
		const shape = list();

		for (let i = 1; i < numbers.length; i++)
			shape[i - 1] = numbers[i];
		this.#dataType = typeNames[numbers[0]];
		this.#shape = frozenArray(shape);
	}

	static {
		access.isOperand = (value) => value !== null && typeof value === 'object' && #place in value;
		// Returns what the addon takes for an operand: its index, or [builder, index] for another builder's operand.
		access.operandPlace = (operand, builder) => {
			if (operand === undefined)
				return undefined;
			return operand.#builder === builder ? operand.#place : [operand.#builder, operand.#place];
		};
		access.createOperand = (builder, place) => new MLOperand(key, builder, place);
	}
}

// Reads in progress. Destroying the tensor or context rejects them at once, whatever the library has done already.
class PendingReads {
	#rejections = new NativeSet();

	add(reject) {
		apply(setAdd, this.#rejections, [reject]);
	}

	remove(reject) {
		apply(setDelete, this.#rejections, [reject]);
	}

	rejectAll(message) {
		const rejections = this.#rejections;

		this.#rejections = new NativeSet();
		apply(setForEach, rejections, [(reject) => reject(new NativeDOMException(message, 'InvalidStateError'))]);
	}
}

class MLTensor {
	#handle;
	#descriptor;
	#reads = new PendingReads();

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('MLTensor');
		this.#handle = init[1];
		this.#descriptor = init[2];
	}

	get dataType() {
		return access.tensorDescriptor(this).dataType;
	}

	get shape() {
		return access.tensorDescriptor(this).shape;
	}

	get readable() {
		return access.tensorDescriptor(this).readable;
	}

	get writable() {
		return access.tensorDescriptor(this).writable;
	}

	get constant() {
		return access.tensorDescriptor(this).constant;
	}

	destroy() {
		if (!isTensor(this))
			illegalInvocation();
		native.tensorDestroy(this.#handle);
		this.#reads.rejectAll('The tensor was destroyed before it was read.');
	}

	static {
		access.isTensor = (value) => value !== null && typeof value === 'object' && #handle in value;
		access.tensorHandle = (tensor) => tensor.#handle;
		access.tensorReads = (tensor) => tensor.#reads;
		access.tensorDescriptor = (tensor) => {
			if (!access.isTensor(tensor))
				illegalInvocation();
			return tensor.#descriptor;
		};
		// Makes a tensor; the descriptor's shape becomes the attribute.
		access.createTensor = (handle, type, shape, readable, writable, constant) => new MLTensor(key, handle, {
			dataType: typeNames[type], shape: frozenArray(shape), readable, writable, constant,
		});
	}
}

class MLGraph {
	#handle;

	constructor(...init) {
		if (init[0] !== key)
			illegalConstructor('MLGraph');
		this.#handle = init[1];
	}

	destroy() {
		if (!isGraph(this))
			illegalInvocation();
		native.graphDestroy(this.#handle);
	}

	static {
		access.isGraph = (value) => value !== null && typeof value === 'object' && #handle in value;
		access.graphHandle = (graph) => graph.#handle;
		access.createGraph = (handle) => new MLGraph(key, handle);
	}
}

const { isOperand, isTensor, isGraph } = access;

finish(MLOperand, 'MLOperand');
finish(MLTensor, 'MLTensor');
finish(MLGraph, 'MLGraph');

const dataType = enumeration('MLOperandDataType', idl.enums.MLOperandDataType);
const operandType = interfaceType('MLOperand', isOperand);
const tensorType = interfaceType('MLTensor', isTensor);
const graphType = interfaceType('MLGraph', isGraph);
const shape = sequence(unsignedLong);
const operandDescriptor = dictionary('MLOperandDescriptor',
	[['dataType', dataType, undefined, true], ['shape', shape, undefined, true]]);
// Inherited members come first.
const tensorDescriptorType = dictionary('MLTensorDescriptor',
	[['dataType', dataType, undefined, true], ['shape', shape, undefined, true],
		['readable', boolean, false, false], ['writable', boolean, false, false]]);
const namedTensors = record(tensorType);
const namedOperands = record(operandType);

module.exports = {
	...access, MLOperand, MLTensor, MLGraph, PendingReads, dataType, fail, graphType, namedOperands, namedTensors, operandDescriptor,
	operandType, tensorDescriptorType, tensorType, typeNames,
};
