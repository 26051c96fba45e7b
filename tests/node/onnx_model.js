// SPDX-License-Identifier: MIT
//
// Makes small models of ONNX, in the encoding of protocol buffers. The numbers of fields are those
// of onnx.proto.
'use strict';

const FLOAT = 1;
const INT64 = 7;
const BOOL = 9;

function varint(value) {
	const bytes = [];
	let rest = BigInt.asUintN(64, BigInt(value));

	do {
		bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
		rest >>= 7n;
	} while (rest);
	return Buffer.from(bytes);
}

// Returns the encoded field of a message. value is a number, a string, the bytes of a message, or a
// list of these.
function field(number, value) {
	if (value === undefined)
		return Buffer.alloc(0);
	if (Array.isArray(value))
		return Buffer.concat(value.map((item) => field(number, item)));
	if (typeof value === 'number')
		return Buffer.concat([varint(number << 3), varint(value)]);
	const bytes = Buffer.from(value);

	return Buffer.concat([varint(number << 3 | 2), varint(bytes.length), bytes]);
}

function value(name, type, shape) {
	const dimensions = shape?.map((size) => field(1, typeof size === 'number' ? field(1, size) : field(2, size)));
	const tensor = Buffer.concat([field(1, type), shape ? field(2, Buffer.concat(dimensions)) : Buffer.alloc(0)]);

	return Buffer.concat([field(1, name), field(2, field(1, tensor))]);
}

function tensor(name, type, shape, data) {
	return Buffer.concat([field(1, shape), field(2, type), field(8, name),
		field(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength))]);
}

// Returns a node. Its attributes are integers and lists of them.
function node(operator, inputs, outputs, { name, domain, ...attributes } = {}) {
	const list = Object.entries(attributes).map(([key, item]) => Buffer.concat([field(1, key),
		...(Array.isArray(item) ? [field(8, item), field(20, 7)] : [field(3, item), field(20, 2)])]));

	return Buffer.concat([field(1, inputs), field(2, outputs), field(3, name), field(4, operator), field(5, list), field(7, domain)]);
}

function model(nodes, inputs, outputs, tensors = []) {
	const graph = Buffer.concat([field(1, nodes), field(2, 'graph'), field(5, tensors), field(11, inputs), field(12, outputs)]);

	return Buffer.concat([field(1, 8), field(7, graph), field(8, field(2, 17))]);
}

module.exports = { BOOL, FLOAT, INT64, model, node, tensor, value };
