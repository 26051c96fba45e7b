// SPDX-License-Identifier: MIT
//
// The addon, its errors, and the encoding of names for it.
'use strict';

const native = require('./webnn_npu.node');

const { apply } = Reflect;
const NativeTypeError = TypeError;
const NativeDOMException = DOMException;
const replace = String.prototype.replace;
const { indexOf, slice } = String.prototype;
const includes = String.prototype.includes;

// Names of JavaScript's errors, by WNNStatus.
const names = [
	'Error', 'TypeError', 'InvalidStateError', 'NotSupportedError', 'OperationError', 'UnknownError',
	'SecurityError', 'DataError', 'AbortError', 'TimeoutError',
];

// Converts the library's 'add "label": …' to the form of browsers, which put a label in brackets.
function webLabel(message) {
	const start = apply(indexOf, message, ['"']);
	const end = apply(indexOf, message, ['": ']);

	// Only the name of an operator may come before the label.
	if (start < 2 || end <= start || apply(indexOf, message, [' ']) !== start - 1)
		return message;
	return `${apply(slice, message, [0, start])}[${apply(slice, message, [start + 1, end])}]` +
		apply(slice, message, [end + 1]);
}

// C names in messages of the library, and the names that scripts know instead.
const scriptNames = [
	[/\bprofile in WNNContextDeviceOptions asks for it/, 'createProfilingContext() makes one that does'],
	[/\bWNNContextDeviceOptions asks for/, 'deviceType asks for'],
	[/\bwnnContextCreateGraphBuilder\b/, 'MLGraphBuilder'],
	[/\bwnnContextDestroy was called/, 'destroy() was called'],
	[/\bwnnContextGetLost\(\) tells/, 'context.lost tells'],
	[/\bwnnContextGetOpSupportLimits lists/, 'opSupportLimits() lists'],
	[/\bwnnGraphGetPlacement\b/, 'placement'],
	[/\bwnnGraphGetProfile\b/, 'profile'],
];

function inScript(message) {
	let text = message;

	for (let i = 0; i < scriptNames.length; i++)
		text = apply(replace, text, scriptNames[i]);
	return text;
}

native.initialize((status, message) => {
	const text = inScript(webLabel(unescapeName(message)));

	if (status === 1)
		return new NativeTypeError(text);
	return new NativeDOMException(text, names[status] || 'UnknownError');
});

// Encodes a name of an input or output, which may hold NUL here but not in the library: NUL and U+0001 become U+0001
// with a digit.
function escapeName(name) {
	if (!apply(includes, name, ['\0']) && !apply(includes, name, ['\x01']))
		return name;
	return apply(replace, apply(replace, name, [/\x01/g, '\x011']), [/\0/g, '\x010']);
}

function unescapeName(name) {
	if (!apply(includes, name, ['\x01']))
		return name;
	return apply(replace, apply(replace, name, [/\x010/g, '\0']), [/\x011/g, '\x01']);
}

module.exports = { native, escapeName, inScript };
