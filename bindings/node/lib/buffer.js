// SPDX-License-Identifier: MIT
//
// Converts AllowSharedBufferSource: ArrayBuffer, SharedArrayBuffer and views of both, none of them resizable.
'use strict';

const { isArrayBuffer, isSharedArrayBuffer } = require('node:util').types;
const { apply, fail } = require('./webidl.js');
const idl = require('./idl.js');

const NativeUint8Array = Uint8Array;
const { isView } = ArrayBuffer;
const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);

function getter(prototype, name) {
	return Object.getOwnPropertyDescriptor(prototype, name)?.get;
}

const typedArrayName = getter(typedArrayPrototype, Symbol.toStringTag);
const resizable = getter(ArrayBuffer.prototype, 'resizable');
const growable = getter(SharedArrayBuffer.prototype, 'growable');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
const sharedLength = getter(SharedArrayBuffer.prototype, 'byteLength');
const viewGetters = [typedArrayPrototype, DataView.prototype].map((prototype) => ({
	buffer: getter(prototype, 'buffer'),
	byteLength: getter(prototype, 'byteLength'),
	byteOffset: getter(prototype, 'byteOffset'),
}));
const typedArraySet = typedArrayPrototype.set;

// The view for each data type. Uint8Array also fits every data type, and Uint16Array fits float16, as scripts used it
// before Float16Array existed.
const views = { ...idl.views };

function checkFixed(buffer, where) {
	const getFlag = isSharedArrayBuffer(buffer) ? growable : resizable;

	if (getFlag && apply(getFlag, buffer, []))
		fail(where, 'The provided buffer is resizable, which is not allowed.');
}

// Returns { source, name }: name is the name of the view's type, or undefined for a buffer.
function bufferSource(value, where) {
	if (isArrayBuffer(value) || isSharedArrayBuffer(value)) {
		checkFixed(value, where);
		return { source: value, name: undefined };
	}
	if (!isView(value))
		fail(where, "The provided value is not of type '(ArrayBuffer or ArrayBufferView)'.");
	const name = apply(typedArrayName, value, []);
	const get = viewGetters[name === undefined ? 1 : 0];

	checkFixed(apply(get.buffer, value, []), where);
	return { source: value, name: name === undefined ? 'DataView' : name };
}

// Returns the current bytes of a source; no bytes when the buffer is detached.
function bytesOf({ source, name }) {
	if (name === undefined) {
		const length = apply(isSharedArrayBuffer(source) ? sharedLength : bufferLength, source, []);

		return length ? new NativeUint8Array(source, 0, length) : new NativeUint8Array(0);
	}
	const get = viewGetters[name === 'DataView' ? 1 : 0];

	try {
		const length = apply(get.byteLength, source, []);

		if (length)
			return new NativeUint8Array(apply(get.buffer, source, []), apply(get.byteOffset, source, []), length);
	} catch {
		// Reading the length of a DataView throws when its buffer is detached.
	}
	return new NativeUint8Array(0);
}

// Returns whether the type of the view fits the data type; the number of bytes is not checked here.
function viewFits({ name }, dataType) {
	return name === undefined || name === 'Uint8Array' || name === views[dataType] ||
		(name === 'Uint16Array' && dataType === 'float16') || (name === 'Int8Array' && dataType === 'int4');
}

function copyInto(target, arrayBuffer) {
	apply(typedArraySet, target, [new NativeUint8Array(arrayBuffer)]);
}

module.exports = { bufferSource, bytesOf, copyInto, viewFits };
