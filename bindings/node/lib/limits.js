// SPDX-License-Identifier: MIT
//
// Builds the result of opSupportLimits() from the numbers that the addon returns.
'use strict';

const idl = require('./idl.js');

const dataTypes = Object.entries(idl.enums.MLOperandDataType);
const layouts = Object.entries(idl.enums.MLInputOperandLayout);

// Web IDL converts dictionaries to objects with their members in lexicographical order.
const order = ['maxTensorByteLength', 'preferredInputLayout', ...idl.limits.map(([name]) => name)].sort();

function nameOf(entries, value) {
	for (let i = 0; i < entries.length; i++) {
		if (entries[i][1] === value)
			return entries[i][0];
	}
	return undefined;
}

function tensorLimits(numbers, at) {
	const types = [];

	for (let i = 0; i < dataTypes.length; i++) {
		if (numbers[at] & (1 << dataTypes[i][1]))
			types[types.length] = dataTypes[i][0];
	}
	return { dataTypes: types, rankRange: { max: numbers[at + 2], min: numbers[at + 1] } };
}

function supportLimits(numbers) {
	const found = {
		__proto__: null,
		preferredInputLayout: nameOf(layouts, numbers[0]),
		maxTensorByteLength: numbers[1],
	};
	const result = {};
	let at = 2;

	for (let i = 0; i < idl.limits.length; i++) {
		const entry = idl.limits[i];
		const members = { __proto__: null };

		if (entry.length === 1) {
			found[entry[0]] = tensorLimits(numbers, at);
			at += 3;
			continue;
		}
		for (let k = 1; k < entry.length; k++, at += 3)
			members[entry[k]] = tensorLimits(numbers, at);
		const sorted = {};

		for (const name of Object.keys(members).sort())
			sorted[name] = members[name];
		found[entry[0]] = sorted;
	}
	for (let i = 0; i < order.length; i++)
		result[order[i]] = found[order[i]];
	return result;
}

module.exports = { supportLimits };
